#include "comm/call.h"

namespace swath {

std::string describe(const Call& call) {
  const std::string bytes = std::to_string(call.bytes) + " bytes";
  switch (call.kind) {
    case Call::Kind::kBarrier:
      return "barrier";
    case Call::Kind::kNodeBarrier:
      return "node_barrier";
    case Call::Kind::kAllgather:
      return "allgather(" + bytes + ")";
    case Call::Kind::kBroadcast:
      return "broadcast(" + bytes + " from rank " + std::to_string(call.root) + ")";
    case Call::Kind::kExchange:
      return "exchange";
    case Call::Kind::kSharedWindows:
      return "shared_windows(" + bytes + ")";
  }
  return "an unknown call";
}

}  // namespace swath
