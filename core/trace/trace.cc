#include "trace/trace.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/notice.h"
#include "base/per_process.h"
#include "base/thread.h"
#include "trace/trace_file.h"

namespace swath::trace {
namespace {

constexpr int64_t kVersion = 2;
// The maximum number of lines that wait to be written. A thread that adds more waits.
constexpr size_t kPendingMax = 16384;
constexpr size_t kPendingToWake = 4096;
// The maximum number of remembered keys of definitions.
constexpr size_t kDefinitionsMax = 1 << 20;
constexpr auto kInterval = std::chrono::milliseconds(200);
constexpr int64_t kBytesMax = int64_t{4} << 30;

int64_t bytes_max() {
  const char* const said = std::getenv("SWATH_TRACE_LIMIT");
  const int64_t bytes = said == nullptr ? 0 : std::strtoll(said, nullptr, 10);
  return bytes > 0 ? bytes : kBytesMax;
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text;
  for (std::string word; std::getline(file, word, '\0') && text.size() < 4096;)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

// Nanoseconds since 1970.
int64_t epoch_now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The trace of one process.
class Writer {
 public:
  explicit Writer(const std::string& folder)
      : rank_(rank_of_environment()),
        epoch_(epoch_now() - std::llround(real_clock().now() * 1e9)),
        file_(folder, rank_, bytes_max()) {
    append(first_lines());
    thread_ = start_thread([this] { write_until_ended(); });
  }

  ~Writer() {
    {
      const std::lock_guard guard(mutex_);
      is_ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  bool needs_definition(uint64_t key) {
    if (defined_.size() >= kDefinitionsMax) defined_.clear();
    return defined_.insert(key).second;
  }

  void add(std::unique_ptr<Line> line) {
    std::unique_lock lock(mutex_);
    written_.wait(lock, [this] { return pending_.size() < kPendingMax || has_stopped_; });
    if (has_stopped_) return;
    pending_.push_back(std::move(line));
    ++added_;
    if (pending_.size() != kPendingToWake) return;
    lock.unlock();
    changed_.notify_one();
  }

  void flush() {
    std::unique_lock lock(mutex_);
    const int64_t wanted = added_;
    is_wanted_ = true;
    changed_.notify_one();
    written_.wait(lock, [&] { return written_count_ >= wanted || has_stopped_; });
  }

 private:
  std::string first_lines() const {
    std::string text = "[\n";
    append_metadata(text, "process_name", rank_,
                    [&](JsonObject& arguments) { arguments.put("name", "rank " + std::to_string(rank_)); });
    append_metadata(text, "process_sort_index", rank_,
                    [&](JsonObject& arguments) { arguments.put("sort_index", int64_t{rank_}); });
    append_metadata(text, "swath_trace", rank_, [&](JsonObject& arguments) {
      arguments.put("version", kVersion);
      arguments.put("rank", int64_t{rank_});
      if (const int ranks = ranks_of_environment(); ranks > 0) arguments.put("ranks", int64_t{ranks});
      arguments.put("process", int64_t{getpid()});
      arguments.put("command", command_line());
      arguments.put_json("began", microseconds(epoch_now()));
    });
    return text;
  }

  std::string last_line() const {
    std::string text;
    append_metadata(text, "swath_trace_end", rank_, [&](JsonObject& arguments) {
      arguments.put("lines", written_count_);
      arguments.put_json("ended", microseconds(epoch_now()));
    });
    return text;
  }

  void write_until_ended() {
    std::unique_lock lock(mutex_);
    while (!has_stopped_) {
      changed_.wait_for(lock, kInterval,
                        [this] { return pending_.size() >= kPendingToWake || is_ended_ || is_wanted_; });
      is_wanted_ = false;
      const bool is_last = is_ended_;
      const auto lines = std::exchange(pending_, {});
      lock.unlock();
      const std::string text = text_of(lines);
      const bool is_written = text.empty() || append(text);
      lock.lock();
      written_count_ += std::ssize(lines);
      has_stopped_ = !is_written;
      written_.notify_all();
      if (is_last && is_written) append(last_line());
      if (is_last) return;
    }
    pending_.clear();
  }

  std::string text_of(const std::vector<std::unique_ptr<Line>>& lines) const {
    std::string text;
    for (const auto& line : lines) line->write(text, rank_, epoch_);
    return text;
  }

  // Returns whether the trace goes on.
  bool append(const std::string& text) {
    const std::string why_not = file_.append(text);
    if (why_not.empty()) return true;
    print_error_line("swath: trace " + file_.path() + ": " + why_not +
                     "; the trace of this process ends here, and the program goes on");
    return false;
  }

  const int rank_;
  const int64_t epoch_;  // the zero of real_clock(), in nanoseconds since 1970
  TraceFile file_;
  std::unordered_set<uint64_t> defined_;
  std::mutex mutex_;
  std::condition_variable changed_;  // lines were added, or the trace ends
  std::condition_variable written_;  // lines were written
  std::vector<std::unique_ptr<Line>> pending_;
  int64_t added_ = 0;
  int64_t written_count_ = 0;
  bool is_wanted_ = false;
  bool is_ended_ = false;
  bool has_stopped_ = false;
  std::thread thread_;
};

// The trace of one process. A forked child has its own trace, without the lines that its parent has not written yet.
struct OfProcess {
  std::mutex mutex;
  std::unique_ptr<Writer> writer;
  bool has_failed = false;
};

std::atomic<bool> active{false};

std::string& folder() {
  static auto* const kept = new std::string();
  return *kept;
}

PerProcess<OfProcess>& of_process() {
  static auto* const kept = new PerProcess<OfProcess>();
  return *kept;
}

// Requires the mutex. Null if the process is not traced, or if the file cannot be created, which is reported once. A
// child of vfork() uses its parent's; one that it made would have its number, and a thread that ends with it.
Writer* writer(OfProcess& own) {
  if (!is_active()) return nullptr;
  if (own.writer != nullptr || own.has_failed || has_memory_of_parent()) return own.writer.get();
  try {
    own.writer = std::make_unique<Writer>(folder());
  } catch (const Error& error) {
    own.has_failed = true;
    print_error_line(std::string("swath: ") + error.what() + "; this process is not traced, and goes on");
  }
  return own.writer.get();
}

[[maybe_unused]] const bool started = [] {
  const char* const said = std::getenv("SWATH_TRACE");
  if (said == nullptr || *said == '\0') return false;
  folder() = said;
  active.store(true);
  std::atexit(stop);
  return true;
}();

}  // namespace

bool is_active() { return active.load(std::memory_order_relaxed); }

void add(std::unique_ptr<Line> line) noexcept {
  OfProcess& own = of_process().get();
  const std::lock_guard guard(own.mutex);
  if (Writer* const found = writer(own); found != nullptr) found->add(std::move(line));
}

bool needs_definition(uint64_t key) noexcept {
  OfProcess& own = of_process().get();
  const std::lock_guard guard(own.mutex);
  Writer* const found = writer(own);
  return found != nullptr && found->needs_definition(key);
}

void flush() noexcept {
  if (has_memory_of_parent()) return;  // the trace is its parent's
  OfProcess& own = of_process().get();
  const std::lock_guard guard(own.mutex);
  if (own.writer != nullptr) own.writer->flush();
}

void start(const std::string& into) {
  stop();
  folder() = into;
  OfProcess& own = of_process().get();
  const std::lock_guard guard(own.mutex);
  own.has_failed = false;
  own.writer = std::make_unique<Writer>(into);
  active.store(true);
}

void stop() noexcept {
  if (has_memory_of_parent()) return;  // the trace is its parent's
  OfProcess& own = of_process().get();
  active.store(false);
  const std::lock_guard guard(own.mutex);
  own.writer.reset();
}

namespace {

// The number in the first of these environment variables that is set; else `otherwise`.
int number_of_environment(std::initializer_list<const char*> names, int otherwise) {
  for (const char* const name : names) {
    const char* const said = std::getenv(name);
    if (said != nullptr && *said != '\0') return static_cast<int>(std::strtol(said, nullptr, 10));
  }
  return otherwise;
}

}  // namespace

int rank_of_environment() {
  return number_of_environment({"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}, 0);
}

int ranks_of_environment() {
  return number_of_environment({"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}, 0);
}

}  // namespace swath::trace
