#include "calibrate/copies.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/stopwatch.h"
#include "calibrate/at_once.h"
#include "comm/heap_window.h"
#include "layout/copy.h"

namespace swath {
namespace {

constexpr int64_t kWindowsASample = 16;

// As CYCLIC(1) over two ranks: elements of one block, of which one rank holds every second one.
Regions every_second_block(const CopyPattern& pattern) {
  const int64_t block = pattern.block_bytes;
  if (block < 1 || pattern.window_bytes < 2 * block || pattern.window_bytes % (2 * block) != 0 ||
      pattern.memory_bytes < pattern.window_bytes || pattern.memory_bytes % pattern.window_bytes != 0) {
    fail_argument("calibrate: copies of blocks of " + std::to_string(block) + " bytes, window " +
                  std::to_string(pattern.window_bytes) + ", memory " + std::to_string(pattern.memory_bytes) +
                  ": expected two blocks to divide the window, and the window to divide the memory");
  }
  return {0, 0, block, {{IndexSet::strided(0, 2, pattern.memory_bytes / block), block, block}}};
}

// A window and memory, copied one window after another.
class Copier {
 public:
  explicit Copier(const CopyPattern& pattern)
      : pattern_(pattern),
        regions_(every_second_block(pattern)),
        elements_a_window_(pattern.window_bytes / (2 * pattern.block_bytes)),
        use_(target_of(pattern.memory_bytes)),
        window_(make_heap_window(static_cast<size_t>(pattern.window_bytes))),
        memory_(make_heap_window(static_cast<size_t>(pattern.memory_bytes))) {
    std::memset(memory_.get(), 1, static_cast<size_t>(pattern.memory_bytes));
    write_window();
  }

  void write_window() { std::memset(window_.get(), ++written_, static_cast<size_t>(pattern_.window_bytes)); }

  void copy_window() {
    const int64_t first = number_ * elements_a_window_;
    const int64_t last = first + elements_a_window_;
    const int64_t offset = number_ * pattern_.window_bytes;
    if (pattern_.gather) {
      gather_from_window(regions_, first, last, {window_.get(), offset}, memory_.get(), {use_});
    } else {
      scatter_to_window(regions_, first, last, {window_.get(), offset}, memory_.get());
    }
    number_ = last == regions_.count() ? 0 : number_ + 1;
  }

  double bytes_a_window() const { return static_cast<double>(pattern_.window_bytes) / 2; }

 private:
  const CopyPattern pattern_;
  const Regions regions_;
  const int64_t elements_a_window_;
  const Target use_;
  HeapWindow window_;
  HeapWindow memory_;
  int64_t number_ = 0;  // of the window of the file that the window stands for
  int written_ = 0;
};

// Keeps this thread on the n-th core that the process may use, where there are so many.
void stay_on_core(int n) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || n >= CPU_COUNT(&allowed)) return;
  int core = 0;
  while (!CPU_ISSET(core, &allowed) || n-- > 0) ++core;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  pthread_setaffinity_np(pthread_self(), sizeof one, &one);  // refused: the scheduler places it
}

std::vector<double> time_own_copies(const CopyPattern& pattern, double seconds_max) {
  Copier copier(pattern);
  copier.copy_window();
  std::vector<double> samples;
  const Stopwatch watch;
  do {
    const Stopwatch sample_watch;
    for (int64_t i = 0; i < kWindowsASample; ++i) copier.copy_window();
    samples.push_back(sample_watch.seconds() / (kWindowsASample * copier.bytes_a_window()));
  } while (watch.seconds() < seconds_max);
  return samples;
}

// One core writes the window, the other copies it, in turn; the copies are timed.
std::vector<double> time_exchanged_copies(const CopyPattern& pattern, double seconds_max) {
  Copier copier(pattern);
  std::vector<double> samples;
  std::barrier<> turn(2);
  std::atomic<bool> ended = false;
  std::jthread writer([&] {
    stay_on_core(1);
    for (;;) {
      turn.arrive_and_wait();
      if (ended) return;
      copier.write_window();
      turn.arrive_and_wait();
    }
  });
  std::jthread reader([&] {
    stay_on_core(0);
    const Stopwatch watch;
    do {
      double seconds = 0;
      for (int64_t i = 0; i < kWindowsASample; ++i) {
        turn.arrive_and_wait();
        turn.arrive_and_wait();
        const Stopwatch copy_watch;
        copier.copy_window();
        seconds += copy_watch.seconds();
      }
      samples.push_back(seconds / (kWindowsASample * copier.bytes_a_window()));
    } while (watch.seconds() < seconds_max);
    ended = true;
    turn.arrive_and_wait();
  });
  reader.join();
  return samples;
}

}  // namespace

std::vector<double> time_copies(const CopyPattern& pattern, double seconds_max) {
  return pattern.exchange ? time_exchanged_copies(pattern, seconds_max) : time_own_copies(pattern, seconds_max);
}

double time_copies_at_once(const CopyPattern& pattern, int threads, double seconds_max) {
  if (threads < 1) fail_argument("calibrate: at least one thread is needed");
  std::vector<double> seconds_a_byte(static_cast<size_t>(threads));
  run_at_once(threads, [&](int thread, const std::function<void()>& ready) {
    Copier copier(pattern);
    ready();
    int64_t windows = 0;
    const Stopwatch watch;
    do {
      for (int64_t i = 0; i < kWindowsASample; ++i) copier.copy_window();
      windows += kWindowsASample;
    } while (watch.seconds() < seconds_max);
    seconds_a_byte[static_cast<size_t>(thread)] =
        watch.seconds() / (static_cast<double>(windows) * copier.bytes_a_window());
  });
  double sum = 0;
  for (const double one : seconds_a_byte) sum += one;
  return sum / threads;
}

}  // namespace swath
