// The parts of drover stream that send and receive messages. Each is a file of its own.
#pragma once

#include "cli/server_verb.h"
#include "cli/verb.h"

namespace drover {

struct StreamFlags : AskingFlags {
  std::string stream;
};

std::string stream_path(const std::string& stream);
/// Fields of the API are flags here.
Error in_words_of_flags(Error error);

void add_stream_send(const Verb& parent, Invocation& invocation);
void add_stream_receive(const Verb& parent, Invocation& invocation);

}  // namespace drover
