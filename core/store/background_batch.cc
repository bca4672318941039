#include "store/background_batch.h"

#include "store/open_file.h"

namespace swath {

void BackgroundBatch::start(const std::string& path, std::span<const Transfer> batch, const Move& move) {
  if (background_.busy()) fail_already_started(path);
  check_batch(batch);
  batch_.assign(batch.begin(), batch.end());
  start(path, [this, move](Counters& counters) { move(batch_, counters); });
}

void BackgroundBatch::start(const std::string& path, const Job& job) {
  if (background_.busy()) fail_already_started(path);
  counters_ = {};
  background_.start([this, job] { job(counters_); });
}

void BackgroundBatch::wait(Counters& counters) {
  if (!background_.busy()) return;
  struct AddAlways {
    Counters& to;
    const Counters& from;
    ~AddAlways() { to += from; }
  } add{counters, counters_};
  background_.wait();
}

}  // namespace swath
