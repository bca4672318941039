#include "comm/messages.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"

namespace swath {
namespace {

[[noreturn]] void fail_internal(const std::string& message) { throw Error(ErrorKind::kInternal, message); }

// `verb` reads "sends to" or "receives from". Its time and memory do not grow with the number of ranks.
void check_peers(int rank, const char* verb, std::vector<int> peers, int size) {
  std::sort(peers.begin(), peers.end());
  const auto fail_peer = [&](int peer, const std::string& why) {
    fail_internal("exchange: rank " + std::to_string(rank) + " " + verb + " rank " + std::to_string(peer) + why);
  };
  for (const int peer : peers) {
    if (peer < 0 || peer >= size) fail_peer(peer, ", which is none of the " + std::to_string(size) + " ranks");
  }
  const auto twice = std::adjacent_find(peers.begin(), peers.end());
  if (twice != peers.end()) {
    fail_peer(*twice, " twice in one exchange; at most one message goes from one rank to another");
  }
}

}  // namespace

void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to) {
  const size_t bytes = std::min(from.size(), to.size());
  if (bytes > 0) std::memcpy(to.data(), from.data(), bytes);
}

void check_messages(int rank, int size, std::span<const SendMessage> sends, std::span<const ReceiveMessage> receives) {
  std::vector<int> peers;
  for (const SendMessage& message : sends) peers.push_back(message.to);
  check_peers(rank, "sends to", peers, size);
  peers.clear();
  for (const ReceiveMessage& message : receives) peers.push_back(message.from);
  check_peers(rank, "receives from", peers, size);
  const size_t out = message_to(sends, rank).size();
  const size_t in = message_from(receives, rank).size();
  if (out != in) {
    fail_internal("exchange: rank " + std::to_string(rank) + " sends itself " + std::to_string(out) +
                  " bytes and expects " + std::to_string(in));
  }
}

void check_allgather(int size, std::span<const std::byte> mine, std::span<std::byte> all) {
  if (all.size() != mine.size() * static_cast<size_t>(size)) {
    fail_internal("allgather: " + std::to_string(size) + " ranks of " + std::to_string(mine.size()) +
                  " bytes do not fill a buffer of " + std::to_string(all.size()));
  }
}

void check_record(std::span<const std::byte> record) {
  if (std::ssize(record) > kRecordBytesMax) {
    fail_internal("allreduce: a record of " + std::to_string(record.size()) + " bytes; expected at most " +
                  std::to_string(kRecordBytesMax));
  }
}

void check_root(int size, int root) {
  if (root < 0 || root >= size) {
    fail_internal("broadcast: root " + std::to_string(root) + " is none of the " + std::to_string(size) + " ranks");
  }
}

void check_window_bytes(int64_t bytes) {
  if (bytes < 0) fail_internal("shared_windows: a window of " + std::to_string(bytes) + " bytes");
}

std::span<const std::byte> message_to(std::span<const SendMessage> sends, int peer) {
  const auto found = std::find_if(sends.begin(), sends.end(), [=](const SendMessage& m) { return m.to == peer; });
  return found == sends.end() ? std::span<const std::byte>() : found->data;
}

std::span<std::byte> message_from(std::span<const ReceiveMessage> receives, int peer) {
  const auto found =
      std::find_if(receives.begin(), receives.end(), [=](const ReceiveMessage& m) { return m.from == peer; });
  return found == receives.end() ? std::span<std::byte>() : found->data;
}

}  // namespace swath
