// A batch of transfers in the background: what Engine::start() and wait() do where a thread does the work.
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

  // Throws Error{kInternal} where one is under way, Error{kArgument} for what is no batch. `path`: for messages.
  void start(const std::string& path, std::span<const Transfer> batch, const Move& move);
  void start(const std::string& path, const Job& job);
  // Returns when it is done and throws what it threw; what was moved before an error is counted all the same.
  void wait(Counters& counters);

 private:
  std::vector<Transfer> batch_;
  Counters counters_;
  Background background_;  // last, so that its thread ends before what it uses
};

}  // namespace swath
