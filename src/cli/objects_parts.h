// The parts of drover objects. Each is a file of its own.
#pragma once

#include "cli/verb.h"

namespace drover {

void add_objects_list(const Verb& parent, Invocation& invocation);
void add_objects_copy(const Verb& parent, Invocation& invocation);
void add_objects_print(const Verb& parent, Invocation& invocation);
void add_objects_remove(const Verb& parent, Invocation& invocation);
void add_objects_buckets(const Verb& parent, Invocation& invocation);
void add_objects_show(const Verb& parent, Invocation& invocation);

}  // namespace drover
