// Cache of the plans of an array's latest operations. Programs repeat an operation at every time step.
//
// A plan is pure: the same operation, by the same agreed inputs and the same profile, has the same plan.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "array/agreed_inputs.h"
#include "array/learning.h"
#include "base/per_process.h"
#include "plan/make_plan.h"
#include "plan/operation.h"

namespace swath {

// Part of the file, [begin, begin + bytes).
struct FileRange {
  int64_t begin = 0;
  int64_t bytes = 0;
};

// All that a plan depends on besides the operation.
struct PlanInputs {
  AgreedInputs agreed_inputs;
  std::shared_ptr<const Profile> profile;
  uint64_t shares = 0;    // of all ranks together; 0 without
  int ranks_of_node = 0;  // of the fullest node
  bool messages = false;  // some ranks share no memory
  Capabilities capabilities;
  bool will_sync = false;  // what is written will be synced

  // Of one array the capabilities are always the same.
  friend bool operator==(const PlanInputs& a, const PlanInputs& b) {
    return a.agreed_inputs == b.agreed_inputs && a.profile == b.profile && a.shares == b.shares &&
           a.ranks_of_node == b.ranks_of_node && a.messages == b.messages && a.will_sync == b.will_sync;
  }
};

struct CachedPlan {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const Estimate> estimate;
};

class PlanCache {
 public:
  // Of the operation, with the boxes of all ranks where there are boxes.
  CachedPlan plan(const Operation& operation, const PlanInputs& inputs);
  // From the first byte that any rank touches to the last; of boxes that other ranks have, this rank's own.
  FileRange touched(const Operation& operation);

  // What the operation was agreed on by the last time, with this rank's own memory then.
  struct Last {
    AgreedInputs agreed_inputs;
    MemoryPlacement own_memory;
  };
  std::optional<Last> last(const Operation& operation);
  void keep_last(const Operation& operation, const Last& last);

  void clear();

  // How many plans were made: operations whose plan was not in the cache.
  int64_t plans_made() const { return made_; }

 private:
  struct Entry {
    uint64_t key = 0;
    std::vector<std::byte> access_bytes;
    std::optional<FileRange> touched;
    std::optional<Last> last;
    struct Planned {
      PlanInputs inputs;
      CachedPlan plan;
    };
    std::vector<Planned> plans;  // the latest last
  };

  struct State {
    std::mutex mutex;
    std::vector<std::unique_ptr<Entry>> entries;  // the latest last

    Entry& entry_of(const Operation& operation);  // the mutex is held; the reference is good until the next call
  };

  std::atomic<int64_t> made_ = 0;
  PerProcess<State> state_;
};

}  // namespace swath
