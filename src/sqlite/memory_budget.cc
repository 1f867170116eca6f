#include "sqlite/memory_budget.h"

#include <sqlite3.h>

#include <chrono>

#include "base/check.h"

namespace drover {
namespace {

struct Budget {
  bool exists = false;
  std::int64_t left = 0;  // bytes
  std::int64_t deadline_ns = 0;
};
thread_local Budget budget;

sqlite3_mem_methods usual;

bool grants(std::int64_t bytes) {
  if (!budget.exists) return true;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return bytes <= budget.left && std::chrono::nanoseconds(now).count() <= budget.deadline_ns;
}

void spend(std::int64_t bytes) {
  if (budget.exists) budget.left -= bytes;
}

void* allocate(int bytes) {
  if (!grants(bytes)) return nullptr;
  void* memory = usual.xMalloc(bytes);
  if (memory != nullptr) spend(usual.xSize(memory));
  return memory;
}

void release(void* memory) {
  if (memory != nullptr) spend(-std::int64_t{usual.xSize(memory)});
  usual.xFree(memory);
}

void* resize(void* memory, int bytes) {
  const int before = usual.xSize(memory);
  if (!grants(std::int64_t{bytes} - before)) return nullptr;
  void* moved = usual.xRealloc(memory, bytes);
  if (moved != nullptr) spend(std::int64_t{usual.xSize(moved)} - before);
  return moved;
}

bool wrap_allocator() {
  if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &usual) != SQLITE_OK) return false;
  sqlite3_mem_methods ours = usual;
  ours.xMalloc = allocate;
  ours.xFree = release;
  ours.xRealloc = resize;
  return sqlite3_config(SQLITE_CONFIG_MALLOC, &ours) == SQLITE_OK;
}

}  // namespace

void MemoryBudget::install() {
  static const bool is_installed = wrap_allocator();
  DROVER_CHECK(is_installed, "SQLite was used before its memory could be bounded");
}

MemoryBudget::MemoryBudget(std::int64_t bytes, std::int64_t deadline_ns) {
  budget = {.exists = true, .left = bytes, .deadline_ns = deadline_ns};
}

MemoryBudget::~MemoryBudget() {
  budget = {};
}

}  // namespace drover
