// Operations in flight to several servers. Their number at each server is limited, and so are the bytes of all
// together; where tokens are used, operations take turns with those of other processes.
//
// An operation takes its server's turn when it is ready to start; the thread that receives the answer gives it back
// first, and then notifies the waiting thread.
//
// Theorem: no thread waits for a turn for ever. A turn always belongs to an operation that a server is working on:
// between taking it and starting, the thread waits for nothing, and giving it back waits for no thread of ours.
// Operations end, at their timeout at the latest. So a thread that waits for a turn waits for servers only, and no
// cycle exists.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/counters.h"
#include "base/direction.h"
#include "store/server_turns.h"

namespace swath {

// Wakes the thread that waits for operations when one of them ends.
struct Arrival {
  std::mutex mutex;
  std::condition_variable changed;
};

class ServedOperation {
 public:
  explicit ServedOperation(Arrival& arrival) : arrival_(arrival) {}
  virtual ~ServedOperation() = default;
  ServedOperation(const ServedOperation&) = delete;
  ServedOperation& operator=(const ServedOperation&) = delete;

  // Starts it; it must exist until it is done.
  void begin(std::unique_ptr<ServerTurn> turn);
  virtual void cancel() = 0;
  // Called after it is done. Throws Error{kStore}; otherwise its bytes are in place.
  virtual void complete(Counters& counters) = 0;

  // The lane: operations of one number share a server. Negative: not known yet.
  virtual int64_t server() const = 0;
  // The server's name, for turns.
  virtual std::string target() const = 0;
  virtual Direction direction() const = 0;
  virtual int64_t bytes() const = 0;
  virtual std::string text() const = 0;  // for messages

  bool is_done() const { return done_; }  // under the arrival's mutex

 protected:
  // Sends the operation; is_answered() follows on any thread, also if the operation is refused.
  virtual void submit() = 0;
  void is_answered();

 private:
  Arrival& arrival_;
  std::unique_ptr<ServerTurn> turn_;
  bool done_ = false;  // under arrival_.mutex
};

class InFlight {
 public:
  // `turns` may be null.
  InFlight(int64_t of_server_max, std::shared_ptr<ServerTurns> turns, Counters& counters);
  // The limit for the memory of operations in flight or not yet completed. One operation may exceed it.
  static constexpr int64_t kBytesMax = int64_t{64} << 20;
  // Waits for the operations in flight, since their memory is the caller's.
  ~InFlight();
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  Arrival& arrival() { return arrival_; }
  void begin(std::unique_ptr<ServedOperation> operation);
  // Waits until all operations are done. Throws the first error.
  void finish();

 private:
  struct Begun {
    std::unique_ptr<ServedOperation> operation;
    int64_t number;
  };
  using Lane = std::deque<Begun>;
  void complete_answered();
  void complete_first(Lane& lane);
  Lane& lane_begun_first();
  void wait_for_first(Lane& lane);

  const size_t of_server_max_;
  const std::shared_ptr<ServerTurns> turns_;
  Counters& counters_;
  Arrival arrival_;
  std::map<int64_t, Lane> lanes_;  // of each server
  int64_t begun_ = 0;
  int64_t bytes_ = 0;  // of all in lanes_
};

}  // namespace swath
