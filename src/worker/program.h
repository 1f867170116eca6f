// Finding the program a command names, before anything runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "ports/container.h"
#include "wire/definition.h"

namespace drover {

/// This process's environment with the definition's settings over it, and ours over those, as "NAME=value".
std::vector<std::string> attempt_environment(const Definition& definition,
                                             const std::map<std::string, std::string>& ours);

/// The same inside a container, which sees nothing of this process's own: the image's variables first.
std::vector<std::string> container_environment(const Definition& definition, const ContainerPlan& plan,
                                               const std::map<std::string, std::string>& ours);

/// The path to execute, if the command's first word is the same for every item; empty if it is not. A program that does
/// not exist or cannot be executed is an error, and so is a folder to run in that is not there.
Result<std::string> find_program(const Definition& definition);

}  // namespace drover
