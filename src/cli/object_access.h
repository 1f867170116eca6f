// Which object stores a verb reaches, and how. "s3://" is the endpoint that --endpoint or $AWS_ENDPOINT_URL names, else
// the Drover server that other verbs speak to, else Amazon's.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/item_source.h"
#include "cli/server_client.h"
#include "cli/verb.h"
#include "objects/store_opener.h"

namespace drover {

struct ObjectFlags {
  CommonFlags common;
  ServerFlags server;
  std::string endpoint;
};
void add_object_flags(const Verb& verb, ObjectFlags& flags);

/// What "s3://" of a server is reached by; behind a socket of this machine it still has to have a host's name.
std::string object_endpoint(const ServerAccess& server);

/// What store openers of this program reach the network and the disk by. `server`: not nullptr: it is reached in the
/// way that this says.
StoreOpener::Outside object_network(const ServerAccess* server);

/// Looks for a server only if it takes one.
Result<StoreOpener> object_opener(const ObjectFlags& flags);

/// Items that are objects, or lines of one, are read through an opener for these flags.
Result<void> open_source(const CommonFlags& common, const ServerFlags& server, ItemSource& source);

/// The place that a word on the command line names: a URI, or a path on this machine. A directory ends in a slash.
Result<ObjectUri> object_place(const std::string& word);
Result<std::vector<ObjectUri>> object_places(const std::vector<std::string>& words);

}  // namespace drover
