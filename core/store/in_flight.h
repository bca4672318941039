// Operations on their way to several servers: so many at each at a time, and so many bytes at all of them together, in
// turns with other processes where those are taken.
//
// An operation takes the turn of its own server when everything is ready for it to begin, and a turn is given back by
// whoever brings the answer, before anybody is told of it.
//
// Theorem: nobody waits for ever for a turn. A turn is always that of an operation that a server is working on: between
// taking it and beginning the thread waits for nothing, and giving it back waits for no thread of ours, least of all
// for one that waits for another turn. Operations end, at their timeout at the latest. So whoever waits for a turn, and
// whatever other turns its operations hold, waits for servers only; there is no circle.
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

// Whoever waits for operations: woken when one of them ends.
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

  // Begins it; it must not be let go of before it is done.
  void begin(std::unique_ptr<ServerTurn> turn);
  virtual void cancel() = 0;
  // After it is done. Throws Error{kStore}; else its bytes are where they belong.
  virtual void complete(Counters& counters) = 0;

  // For lanes: operations of one number share a server. A negative one: which it is, is not known yet.
  virtual int64_t server() const = 0;
  // The server's name among all, for turns.
  virtual std::string target() const = 0;
  virtual Direction direction() const = 0;
  virtual int64_t bytes() const = 0;
  virtual std::string text() const = 0;  // for messages

  bool is_done() const { return done_; }  // under the arrival's mutex

 protected:
  // Sends it off; is_answered() follows, on any thread, also where it is refused.
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
  // Of what is under way, or answered and not completed: its memory. One operation may have more.
  static constexpr int64_t kBytesMax = int64_t{64} << 20;
  // Waits for what is under way, whose memory is the caller's.
  ~InFlight();
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  Arrival& arrival() { return arrival_; }
  void begin(std::unique_ptr<ServedOperation> operation);
  // Until all is done. Throws the first error.
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
