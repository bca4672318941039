// The input of planning: which elements, of which rank, in which direction, with all else that a plan depends on. It is
// the same on all ranks: the same request gives the same plan everywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/direction.h"
#include "layout/layout.h"
#include "plan/method.h"
#include "plan/profile.h"
#include "plan/tuning.h"
#include "space/decomposition.h"
#include "store/capabilities.h"

namespace swath {

struct Request {
  Direction direction = Direction::kRead;
  std::shared_ptr<const Layout> layout;
  Decomposition decomposition;
  Method method = Method::kAuto;
  Tuning tuning;
  AskedTuning asked_tuning;
  bool messages = false;  // some ranks share no memory: two-phase packs what it sends

  // Inputs of the ranks, the file and the store, agreed on by all ranks; costs are computed from them.
  std::shared_ptr<const Profile> profile;  // null: the default profile
  std::optional<double> cached;            // the requested part that is in the page cache; nullopt: unknown
  int64_t memory_block_bytes = 0;          // the smallest contiguous piece of any rank's memory; 0: packed
  int64_t memory_span_bytes = 0;           // from the first byte of any rank's memory to its last; 0: packed
  int ranks_of_node = 0;                   // of the node with the most ranks; 0: unknown, assumed to be one rank a core
  bool synced = false;                     // a sync will follow a write: the device starts before it (Engine)
  Capabilities capabilities;               // of the store

  // An unknown cache state has the cost of an empty cache (decision record 0027).
  double cached_or_none() const { return cached.value_or(0); }
};

}  // namespace swath
