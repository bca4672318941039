// What was asked: which elements, of which rank, in which direction. Everything that planning may look at, and nothing
// that differs between ranks: the same request gives the same plan everywhere.
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
  bool messages = false;  // not every rank shares memory with every other: two-phase packs what it sends

  // What only a look at the ranks, the file and the store can tell, agreed on by all ranks; prices are made from it.
  std::shared_ptr<const Profile> profile;  // null: stated defaults
  std::optional<double> cached;            // part of what is asked for that is in the page cache; nothing: not known
  int64_t memory_block_bytes = 0;          // smallest piece of any rank's memory that is contiguous; 0: packed
  int64_t memory_span_bytes = 0;           // from the first byte of any rank's memory to its last; 0: packed
  int ranks_of_node = 0;                   // of the fullest node; 0: not known, taken to be one a core
  bool synced = false;                     // a write will be: the device begins while it goes on (Engine)
  Capabilities capabilities;               // of the store

  // What is not known is priced as not cached (decision record 0027).
  double cached_or_none() const { return cached.value_or(0); }
};

}  // namespace swath
