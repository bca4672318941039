#include "comm/call.h"

namespace swath {
namespace {

std::string describe_kind(const Call& call) {
  const std::string bytes = std::to_string(call.bytes) + " bytes";
  switch (call.kind) {
    case Call::Kind::kBarrier:
      return "barrier";
    case Call::Kind::kNodeBarrier:
      return "node_barrier";
    case Call::Kind::kAllgather:
      return "allgather(" + bytes + ")";
    case Call::Kind::kAllreduce:
      return "allreduce(" + bytes + ")";
    case Call::Kind::kBroadcast:
      return "broadcast(" + bytes + " from rank " + std::to_string(call.root) + ")";
    case Call::Kind::kExchange:
      return "exchange";
    case Call::Kind::kSharedWindows:
      return "shared_windows(" + bytes + ")";
    case Call::Kind::kDuplicate:
      return "duplicate";
  }
  return "an unknown call";
}

}  // namespace

std::string describe(const Call& call) {
  return describe_kind(call) + (call.duplicate > 0 ? " of duplicate " + std::to_string(call.duplicate) : "");
}

}  // namespace swath
