// The methods of Array for loops that all ranks go through together (array/shared_loops.h).
#include <algorithm>
#include <utility>

#include "array/array.h"
#include "base/hash.h"

namespace swath {

void RankNumbers::combine(const RankNumbers& other) {
  for (size_t i = 0; i < largest.size(); ++i) largest[i] = std::max(largest[i], other.largest[i]);
}

Future Array::start_among_ranks(const BackgroundQueue::Job& job, bool is_waited_for) {
  const BackgroundQueue::How how{.by_thread = comm_->may_be_called_in_background()};
  return {background_, is_waited_for ? background_.start_and_wait(job, how) : background_.start(job, how)};
}

int Array::begin_loop() {
  const CollectiveTurnScope turn(comm_->size() > 1 ? &comm_->turn() : nullptr, "begin a loop over", name_);
  if (comm_->size() > 1) background_comm();
  return loops_.begin();
}

void Array::leave_loop(int loop, const std::string& text) {
  if (comm_->size() == 1) return;
  const auto job = [=, this, &comm = background_comm()] {
    loops_.leave(loop, comm, text);
    return Execution{};
  };
  const bool by_thread = comm_->may_be_called_in_background();
  const auto word = background_.start(job, {.by_thread = by_thread, .is_word = true});
  if (by_thread) return;
  const CollectiveTurnScope turn(&comm_->turn(), "leave a loop over", name_);
  background_.wait(word);
}

Future Array::start_comparing(int loop, const std::string& doing, std::shared_ptr<RankNumbers> numbers,
                              bool is_waited_for) {
  if (comm_->size() == 1) return {background_, BackgroundQueue::done_at_once([] { return Execution{}; })};
  const CollectiveTurnScope turn(&comm_->turn(), doing, name_);
  std::string words = doing + " " + name_;
  const auto job = [=, this, &comm = background_comm()] {
    return loops_.step(loop, [&] {
      *numbers = agree_on(comm, {hash_text(words), [&] { return words; }}, std::nullopt, *numbers);
      return Execution{};
    });
  };
  return start_among_ranks(job, is_waited_for);
}

}  // namespace swath
