// Standard headers that nearly every file needs. Nothing of ours, and nothing heavy: a room that needs Boost,
// SQLite or CLI11 includes it itself.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>
