// One open file for any number of threads: each operation leases an engine of its own, with its other exclusive
// resources.
//
// A lock around one engine would make threads wait for one another's reads; engines are cheap, and they share one open
// file. A forked child does not use the parent's engines: their rings and threads belong to the parent.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/per_process.h"
#include "comm/comm.h"
#include "store/engine.h"

namespace swath {

class SharedEngine {
 public:
  // Called for each engine that is needed; the first is made at once. All engines must be of the same open file.
  using Make = std::function<std::unique_ptr<Engine>()>;

  explicit SharedEngine(Make make);

  class Lease {
   public:
    ~Lease();
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&&) = delete;

    Engine* operator->() const { return engine_.get(); }
    Engine& operator*() const { return *engine_; }
    // The communicator for an operation of `asked`. If `asked` has one rank, the lease has a communicator of its own: a
    // communicator keeps windows, which operations of several threads must not share.
    Comm& ranks(Comm& asked) const { return asked.size() == 1 ? *alone_ : asked; }

   private:
    friend class SharedEngine;
    Lease(SharedEngine& owner, std::unique_ptr<Engine> engine, std::unique_ptr<Comm> alone);

    SharedEngine* owner_;
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Comm> alone_;
    int exceptions_;  // exceptions in flight when it was leased
  };

  // For one operation. The engine of a failed operation is destroyed, with its requests in flight.
  Lease lease();

 private:
  struct Idle {
    std::unique_ptr<Engine> engine;
    std::unique_ptr<Comm> alone;
    bool rests = false;
  };
  struct Idles {
    std::mutex mutex;
    std::vector<Idle> list;  // an engine that does not rest is the first
  };

  void give_back(std::unique_ptr<Engine> engine, std::unique_ptr<Comm> alone);

  const Make make_;
  PerProcess<Idles> idles_;
};

}  // namespace swath
