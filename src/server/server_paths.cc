// Where a server's files are.
#include <filesystem>

#include "base/text.h"
#include "keys/key_ring.h"
#include "server/server.h"

namespace drover {

std::string server_address_file(const std::string& root) {
  return concat(root, "/server/address");
}

std::string server_key_file(const std::string& root) {
  return concat(root, "/server/", kKeyRingFile);
}

std::string server_socket_file(const std::string& root) {
  return std::filesystem::absolute(concat(root, "/server/api.sock")).string();
}

}  // namespace drover
