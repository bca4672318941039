// Tokens: they decide which streams a target serves now. First come, first served; waiting sleeps in the kernel.
//
// Each target has a small file of shared memory, which the streams of all processes use: it has seats for waiting and
// served streams, two lanes (reads, writes), and the controllers that find the number to serve (controller.h). A stream
// that gives a token back hands it to the next one. There is no server: waiting streams detect a process that died in
// the queue or with a token, and one that keeps its token for longer than hold_seconds_max. A token is a hint, and no
// stream waits for it for ever. Nodes of a job that share a target use the table of one node (token_server.h).
//
// A forked child does not own its parent's tokens: they do nothing in the child, which opens its own.
//
// The paper's token passing (section 3.1) has one token for N tasks in the application's code; here the target of a
// file determines its tokens.
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

// A request's limit on a target's streams: a fixed number, or the one that the target's controller finds.
struct StreamLimit {
  static StreamLimit adaptive() { return {.streams = 0}; }
  static StreamLimit fixed(int32_t streams) { return {.streams = streams}; }

  int32_t streams = 0;  // 0: adaptive
};

// Streams are classified by their request size, since each size has another best number.
enum class Pattern : int32_t { kLarge, kMedium, kSmall };
inline constexpr int kPatterns = 3;
std::string to_string(Pattern pattern);
Pattern pattern_of(int64_t request_bytes);  // up to 64 KiB small, from 1 MiB on large

struct Grant {
  int32_t seat = -1;  // -1: admitted without a token
  uint64_t ticket = 0;
  int32_t limit = 0;  // in force at the grant; 0: none
  double granted_at = 0;
  double waited = 0;                        // seconds
  uint64_t generation = fork_generation();  // of the holding process
};

// The visible state of a target.
struct PatternStatus {
  Pattern pattern;
  int32_t limit;             // 0: none
  bool holding;              // false: still searching
  double rate;               // expected bytes a second at the limit; 0: unknown
  double unlimited_streams;  // concurrent streams without a limit
};
struct LaneStatus {
  int32_t active;
  int32_t waiting;
  int64_t grants;
  int64_t waits;  // grants after a wait
  double wait_seconds;
  double wait_seconds_max;
  int64_t taken_back;  // tokens taken back from dead processes, or after too long a time
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

// One process' use of a target's tokens, for any number of threads. In a forked child it does nothing: streams are not
// counted, and get no token; the parent's tokens are not affected.
class Tokens : public std::enable_shared_from_this<Tokens> {
 public:
  virtual ~Tokens() = default;

  // This object in the process that opened it; in a forked child, the same target's tokens, opened again. Never throws
  // if shared memory or a server is missing.
  virtual std::shared_ptr<Tokens> for_this_process() = 0;

  // A stream begins or ends: an open file, or a block of the program. A single stream is never throttled.
  virtual void enter() = 0;
  virtual void leave() = 0;
  virtual int32_t streams() const = 0;

  // Called every quarter of a second while a stream waits; false: it stops waiting, and gets no token.
  using Patience = std::function<bool()>;

  // Waits until the target serves one more stream in `direction`.
  virtual Grant acquire(Direction direction, Pattern pattern, StreamLimit limit, Clock& clock,
                        const Patience& patience = {}) = 0;
  // Gives the token back. `bytes`, and whether the device moved them, are input for the controller.
  virtual void give_back(const Grant& grant, int64_t bytes, bool from_device, Clock& clock) = 0;

  // Starts a new controller from the result of an earlier run.
  virtual void remember(Direction direction, Pattern pattern, int32_t limit, double rate, double unlimited_streams) = 0;
  virtual TargetStatus status() const = 0;
};

struct TokenTable;

// Shared by the processes of one node, through shared memory.
class NodeTokens final : public Tokens {
 public:
  // The tokens of `target`, shared by all processes of this user on this node with the same `scope`. Without shared
  // memory, of this process alone; `reason` (may be null) gets the reason.
  static std::shared_ptr<NodeTokens> open(const std::string& scope, const std::string& target,
                                          std::string* reason = nullptr);
  // Every target that a process of this user uses on this node. Removes files without users, and dead processes from
  // the counts. `reason` (may be null): why nothing is visible, or not all.
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
  void remember(Direction direction, Pattern pattern, int32_t limit, double rate, double unlimited_streams) override;
  TargetStatus status() const override;

  void set_hold_seconds_max(double seconds);

 private:
  class Locked;

  // The table: in shared memory, or, without a folder, in memory of this process.
  struct Location {
    std::string scope;
    std::string target;
    std::shared_ptr<const SharedFolder> folder;
    std::string name;
    Descriptor file;  // holds a shared lock as long as it is in use
  };

  NodeTokens(TokenTable* table, Location place);

  // Which tokens to take back: those of dead processes only, or also those that were kept for too long.
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
