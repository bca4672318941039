#include "files/first_rank.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace swath {
namespace {

// The first message: what follows, and the first bytes of it. Most results fit into it.
struct First {
  int64_t bytes = 0;  // of the result; of the text, if there is an error
  ErrorKind kind = ErrorKind::kNone;
  int32_t os_error = 0;
  std::array<std::byte, 1008> begin{};
};
static_assert(sizeof(First) == 1024);

}  // namespace

std::vector<std::byte> broadcast_from_first(Comm& comm, std::vector<std::byte> bytes,
                                            const std::optional<Error>& failure) {
  if (comm.size() == 1) {
    if (failure) throw Error(*failure);
    return bytes;
  }
  First first;
  if (comm.rank() == 0 && failure) {
    const auto text = std::as_bytes(std::span(std::string_view(failure->what())));
    bytes.assign(text.begin(), text.end());
    first.kind = failure->kind();
    first.os_error = failure->os_error();
  }
  first.bytes = std::ssize(bytes);
  std::copy_n(bytes.begin(), std::min(bytes.size(), first.begin.size()), first.begin.begin());
  comm.broadcast(std::as_writable_bytes(std::span(&first, 1)), 0);
  bytes.resize(static_cast<size_t>(first.bytes));
  const size_t known = std::min(bytes.size(), first.begin.size());
  std::copy_n(first.begin.begin(), known, bytes.begin());
  if (known < bytes.size()) comm.broadcast(std::span(bytes).subspan(known), 0);
  if (first.kind == ErrorKind::kNone) return bytes;
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  throw Error(first.kind, "rank 0: " + text, first.os_error);
}

}  // namespace swath
