// A batch of transfers in the background: Engine::start() and wait() for engines that use a thread.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/counters.h"
#include "store/background.h"
#include "store/batch.h"

namespace swath {

class BackgroundBatch {
 public:
  using Move = std::function<void(std::span<const Transfer> batch, Counters& counters)>;
  using Job = std::function<void(Counters& counters)>;

  // Throws Error{kInternal} if a batch is running, Error{kArgument} for an invalid batch. `path` is for messages.
  void start(const std::string& path, std::span<const Transfer> batch, const Move& move);
  void start(const std::string& path, const Job& job);
  // Returns when the batch is done, and throws its error; counts also what was moved before an error.
  void wait(Counters& counters);

 private:
  std::vector<Transfer> batch_;
  Counters counters_;
  Background background_;  // last, so that its thread ends before what it uses
};

}  // namespace swath
