// Cache of the ranks' boxes and views: repeating an operation sends nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "comm/comm.h"
#include "plan/operation.h"

namespace swath {

// Belongs to one communicator. All ranks make the same calls in the same order, so their caches are equal.
class ShareCache {
 public:
  // This rank's contribution to the agreement: a hash of its boxes or its view, and of its number. The sum over all
  // ranks is the key of all shares.
  static uint64_t key_of(const Operation& operation, int rank);

  // The same sum, computed locally; the shares of all ranks must be known.
  static uint64_t key_of_all(const Operation& operation);

  // Collective if the shares are new: they are then sent to each node once. Returns the operation with the shares of
  // all ranks. Throws Error{kArgument}, on all ranks alike, for invalid boxes.
  Operation complete(const Operation& operation, uint64_t key_of_all, Comm& comm);

 private:
  std::vector<std::pair<uint64_t, Decomposition>> known_;  // the latest last
};

// Collective. The same without a cache.
Operation gather_shares(const Operation& operation, Comm& comm);

}  // namespace swath
