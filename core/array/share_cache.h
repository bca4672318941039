// Cache of the ranks' boxes and views: repeating an operation sends nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "comm/comm.h"
#include "plan/operation.h"

namespace swath {

// Of one communicator; all ranks make the same calls in the same order, and so remember the same.
class ShareCache {
 public:
  // What this rank brings to the agreement: a hash of its boxes, or its view, and its number. The sum of
  // all ranks' tells all of them.
  static uint64_t key_of(const Operation& operation, int rank);

  // The same of all ranks, where they are known.
  static uint64_t key_of_all(const Operation& operation);

  // Collective where these are new: they then travel to each node once. The operation with the shares of all ranks.
  // Throws Error{kArgument}, on all ranks alike, for boxes that cannot be.
  Operation complete(const Operation& operation, uint64_t key_of_all, Comm& comm);

 private:
  std::vector<std::pair<uint64_t, Decomposition>> known_;  // the latest last
};

// Collective. The same without remembering anything.
Operation gather_shares(const Operation& operation, Comm& comm);

}  // namespace swath
