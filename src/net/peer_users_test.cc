#include "net/peer_users.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace drover {
namespace {

constexpr std::string_view kHead =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
const TcpEnds kEnds{.peer_ip = "127.0.0.1", .peer_port = 8750, .own_ip = "127.0.0.1", .own_port = 40000};

std::string line(std::string_view local, std::string_view remote, std::string_view state, int uid, int inode) {
  return std::string("   0: ") + std::string(local) + " " + std::string(remote) + " " + std::string(state) +
         " 00000000:00000000 00:00000000 00000000 " + std::to_string(uid) + " 0 " + std::to_string(inode) + " 1 0\n";
}

TEST(PeerUsers, TheListenerCountsWhileNobodyHasAccepted) {
  const std::string table = std::string(kHead) + line("0100007F:222E", "00000000:0000", "0A", 65534, 77) +
                            line("0100007F:222E", "0100007F:9C40", "01", 0, 0) +
                            line("0100007F:9C40", "0100007F:222E", "01", 1000, 78);
  EXPECT_EQ(users_behind(kEnds, table), std::set<uid_t>{65534});
}

TEST(PeerUsers, TheOwnerOfTheAcceptedSocketCountsToo) {
  const std::string table = std::string(kHead) + line("0100007F:222E", "00000000:0000", "0A", 1000, 77) +
                            line("0100007F:222E", "0100007F:9C40", "01", 65534, 79);
  EXPECT_EQ(users_behind(kEnds, table), (std::set<uid_t>{1000, 65534}));
}

TEST(PeerUsers, WildcardsListenForEveryAddress) {
  EXPECT_EQ(users_behind(kEnds, line("00000000:222E", "00000000:0000", "0A", 7, 1)), std::set<uid_t>{7});
  const std::string everything = "00000000000000000000000000000000:222E";
  EXPECT_EQ(users_behind(kEnds, line(everything, "00000000000000000000000000000000:0000", "0A", 8, 1)),
            std::set<uid_t>{8});
  const TcpEnds six{.peer_ip = "::1", .peer_port = 8750, .own_ip = "::1", .own_port = 40000};
  EXPECT_EQ(users_behind(six, line("00000000:222E", "00000000:0000", "0A", 7, 1)), std::set<uid_t>{});
  EXPECT_EQ(users_behind(six, line("00000000000000000000000001000000:222E", everything, "0A", 9, 1)),
            std::set<uid_t>{9});
}

TEST(PeerUsers, OtherPortsAndAddressesAreNobody) {
  const std::string table = std::string(kHead) + line("0100007F:222F", "00000000:0000", "0A", 1, 1) +
                            line("0200007F:222E", "00000000:0000", "0A", 2, 2) + "rubbish\n";
  EXPECT_EQ(users_behind(kEnds, table), std::set<uid_t>{});
}

}  // namespace
}  // namespace drover
