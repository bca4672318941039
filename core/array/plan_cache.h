// Cache of the plans of an array's latest operations: programs repeat operations at every time step.
//
// A plan is pure: the same operation with the same agreed inputs and the same profile has the same plan.
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

// All inputs of a plan besides the operation.
struct PlanInputs {
  AgreedInputs agreed_inputs;
  std::shared_ptr<const Profile> profile;
  uint64_t shares = 0;    // a hash of the shares of all ranks; 0: none
  int ranks_of_node = 0;  // of the fullest node
  bool messages = false;  // some ranks share no memory, so they exchange messages
  Capabilities capabilities;
  bool will_sync = false;  // written bytes will be synced

  // The capabilities of one array never change, so they are not compared.
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
  // `operation`: with the boxes of all ranks, if it has boxes.
  CachedPlan plan(const Operation& operation, const PlanInputs& inputs);
  // The range from the first to the last byte that any rank touches; if other ranks' boxes are unknown, that of this
  // rank.
  FileRange touched(const Operation& operation);

  // The last agreed inputs of the operation, and this rank's own memory then.
  struct Last {
    AgreedInputs agreed_inputs;
    MemoryPlacement own_memory;
  };
  std::optional<Last> last(const Operation& operation);
  void keep_last(const Operation& operation, const Last& last);

  void clear();

  // The number of plans made.
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

    Entry& entry_of(const Operation& operation);  // the mutex must be held; the reference is valid until the next call
  };

  std::atomic<int64_t> made_ = 0;
  PerProcess<State> state_;
};

}  // namespace swath
