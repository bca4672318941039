// Tokens: which streams a target serves now. First come, first served; waiting sleeps in the kernel.
//
// Streams of many processes meet in one small file of shared memory a target: seats for those that wait and those that
// are served, two lanes (reads, writes), and the controllers that find how many to serve (controller.h). Whoever gives
// a token back hands it to the next in line. There is no server: a process that dies in the queue or with a token is
// found by those that wait, and so is one that keeps its token for longer than hold_seconds_max: a token is advice, and
// nothing waits for it for ever. Nodes of a job that share a target meet at one of them (token_server.h).
//
// A forked child has no part in what its parent holds: to it the parent's tokens do nothing, and it opens its own.
//
// The paper's token passing (section 3.1) has one token for N tasks in the application's own code; here it is found by
// the target that a file lies on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/fork.h"
#include "base/shared_memory.h"
#include "store/engine.h"
#include "throttle/controller.h"

namespace swath {

// How many streams a request lets a target serve: a number, or what the target's controller finds.
struct StreamLimit {
  static StreamLimit adaptive() { return {.streams = 0}; }
  static StreamLimit fixed(int32_t streams) { return {.streams = streams}; }

  int32_t streams = 0;  // 0: adaptive
};

// What streams do is told apart by how large their requests are: other sizes, other best numbers.
enum class Pattern : int32_t { kLarge, kMedium, kSmall };
inline constexpr int kPatterns = 3;
std::string to_string(Pattern pattern);
Pattern pattern_of(int64_t request_bytes);  // up to 64 KiB small, from 1 MiB on large

struct Grant {
  int32_t seat = -1;  // -1: admitted without a token
  uint64_t ticket = 0;
  int32_t limit = 0;  // that was in force; 0: none
  double granted_at = 0;
  double waited = 0;                        // seconds
  uint64_t generation = fork_generation();  // of the process that holds it
};

// What can be seen of a target from outside.
struct PatternStatus {
  Pattern pattern;
  int32_t limit;  // 0: none
  bool holding;   // else it is being looked for
  double rate;    // bytes a second that are expected at the limit; 0: not known
  double crowd;   // streams at a time, without a limit
};
struct LaneStatus {
  int32_t active;
  int32_t waiting;
  int64_t grants;
  int64_t waits;  // grants that had to wait
  double wait_seconds;
  double wait_seconds_max;
  int64_t taken_back;  // tokens whose holder died, or kept them too long
  std::vector<PatternStatus> patterns;
};
struct TargetStatus {
  std::string target;
  std::string scope;
  int32_t streams;
  LaneStatus reads;
  LaneStatus writes;
  std::vector<Decision> decisions;  // the latest, oldest first
};

// One process' hold of a target's tokens; for any number of threads. In a forked child it does nothing: streams neither
// come nor go, and are admitted without a token; what the parent holds stays as it is.
class Tokens : public std::enable_shared_from_this<Tokens> {
 public:
  virtual ~Tokens() = default;

  // These in the process that opened them; in a forked child the same target's, opened anew. Never throws for want of
  // shared memory, or of a coordinator.
  virtual std::shared_ptr<Tokens> for_this_process() = 0;

  // A stream begins and ends: an open file, a block of the program's own. With one stream there is nothing to throttle.
  virtual void enter() = 0;
  virtual void leave() = 0;
  virtual int32_t streams() const = 0;

  // Called every quarter of a second while a stream waits; false: it waits no more, and gets no token.
  using Patience = std::function<bool()>;

  // Waits until `direction` may serve one more stream.
  virtual Grant acquire(Direction direction, Pattern pattern, StreamLimit limit, Clock& clock,
                        const Patience& patience = {}) = 0;
  // Gives it back; `bytes` that were moved, and whether the device moved them, teach the controller.
  virtual void give_back(const Grant& grant, int64_t bytes, bool from_device, Clock& clock) = 0;

  // Let a controller that knows nothing yet begin with what an earlier run held.
  virtual void remember(Direction direction, Pattern pattern, int32_t limit, double rate, double crowd) = 0;
  virtual TargetStatus status() const = 0;
};

struct TokenTable;

// Of the processes of one node, through shared memory.
class NodeTokens final : public Tokens {
 public:
  // Tokens of `target` that all who name the same `scope` share: processes of this user on this node. Where there is no
  // shared memory, of this process alone; `reason` (may be null) says so.
  static std::shared_ptr<NodeTokens> open(const std::string& scope, const std::string& target,
                                          std::string* reason = nullptr);
  // Every target that some process of this user has open on this node. Files that nobody has open are removed; what
  // died is counted no more. `reason` (may be null): why there is nothing to be seen, or not all.
  static std::vector<TargetStatus> status_of_all(std::string* reason = nullptr);

  ~NodeTokens() override;
  NodeTokens(const NodeTokens&) = delete;
  NodeTokens& operator=(const NodeTokens&) = delete;

  std::shared_ptr<Tokens> for_this_process() override;
  void enter() override;
  void leave() override;
  int32_t streams() const override;
  Grant acquire(Direction direction, Pattern pattern, StreamLimit limit, Clock& clock,
                const Patience& patience = {}) override;
  void give_back(const Grant& grant, int64_t bytes, bool from_device, Clock& clock) override;
  void remember(Direction direction, Pattern pattern, int32_t limit, double rate, double crowd) override;
  TargetStatus status() const override;

  void set_hold_seconds_max(double seconds);

 private:
  class Locked;

  // Of shared memory, or, without a folder, memory of this process alone.
  struct Location {
    std::string scope;
    std::string target;
    std::shared_ptr<const SharedFolder> folder;
    std::string name;
    Descriptor file;  // held (with others) as long as it is in use
  };

  NodeTokens(TokenTable* table, Location place);

  // Which tokens are taken back: of the dead, or also those that have been kept for too long.
  enum class Lost { kDead, kDeadOrLate };

  bool is_inherited() const { return generation_ != fork_generation(); }
  void look_for_lost(Lost lost, Clock& clock, double again_seconds) const;
  void forget_dead(const Locked& held) const;
  void take_back(const Locked& held, Lost lost, double now) const;
  void give_up(const Grant& grant, Clock& clock);
  void hand_out(const Locked& held, Direction direction, double now, std::vector<int32_t>& admitted) const;
  void wake(const std::vector<int32_t>& admitted, Clock& clock) const;

  TokenTable* const table_;
  const Location place_;
  const uint64_t generation_ = fork_generation();
};

}  // namespace swath
