// A pool of engines of one open file, for any number of threads. Each operation leases an engine of its own, and what
// else only one operation at a time can use.
//
// A lock around one engine would make threads wait for one another's reads. Engines are cheap, and the file is open
// once for all of them. A forked child does not use the engines of its parent: their rings and threads are the
// parent's.
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
  // Called for each engine that is needed, the first one at once; all must be of the same open file.
  using Make = std::function<std::unique_ptr<Engine>()>;

  explicit SharedEngine(Make make);

  class Lease {
   public:
    ~Lease();
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&&) = delete;

    Engine* operator->() const { return engine_.get(); }
    Engine& operator*() const { return *engine_; }
    // The ranks to carry out an operation of `asked` with: of one rank alone not itself, for it keeps windows, which
    // operations of several threads would share.
    Comm& ranks(Comm& asked) const { return asked.size() == 1 ? *alone_ : asked; }

   private:
    friend class SharedEngine;
    Lease(SharedEngine& owner, std::unique_ptr<Engine> engine, std::unique_ptr<Comm> alone);

    SharedEngine* owner_;
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Comm> alone_;
    int exceptions_;  // on their way when it was leased
  };

  // For one operation. The engine of an operation that failed is destroyed: it may have transfers under way.
  Lease lease();

 private:
  struct Idle {
    std::unique_ptr<Engine> engine;
    std::unique_ptr<Comm> alone;
    bool rests = false;
  };
  struct Idles {
    std::mutex mutex;
    std::vector<Idle> list;  // one that does not rest is the first
  };

  void give_back(std::unique_ptr<Engine> engine, std::unique_ptr<Comm> alone);

  const Make make_;
  PerProcess<Idles> idles_;
};

}  // namespace swath
