#include "mpi_io/nonblocking.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "mpi_io/errors.h"
#include "mpi_io/real.h"
#include "mpi_io/status.h"
#include "mpi_io/thread_level.h"

namespace swath::mpi_io {
namespace {

std::atomic<int64_t> started_count{0};

std::vector<FailedRequest>& failed_of_this_thread() {
  static thread_local std::vector<FailedRequest> failed;
  return failed;
}

class Started {
 public:
  Started(std::shared_ptr<ServedFile> file, std::function<int64_t()> move)
      : file_(std::move(file)), move_(std::move(move)) {
    ++started_count;
  }
  ~Started() { --started_count; }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  // Any thread may call it.
  void carry_out() {
    failure_ = failure_in([this] { bytes_ = move_(); });
    const std::lock_guard guard(mutex_);
    is_done_ = true;
    changed_.notify_all();
  }
  bool is_done() {
    const std::lock_guard guard(mutex_);
    return is_done_;
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_done_; });
  }

  // MPI calls this from the call that completes the request; the same thread then reports a failure. It also calls this
  // from MPI_Request_get_status, which completes nothing.
  void tell(MPI_Status* status) const {
    set_bytes(status, bytes_);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    auto& failed = failed_of_this_thread();
    const bool is_known =
        std::any_of(failed.begin(), failed.end(), [this](const FailedRequest& one) { return one.request == request; });
    if (failure_ && !is_known) failed.push_back({request, file_, *failure_});
  }

  MPI_Request request = MPI_REQUEST_NULL;
  bool is_complete = false;  // MPI was notified

 private:
  const std::shared_ptr<ServedFile> file_;
  const std::function<int64_t()> move_;
  int64_t bytes_ = 0;
  std::optional<Error> failure_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;
};

// The state that MPI keeps. The job has its own reference, and may still be running its last steps when MPI drops this
// one.
using State = std::shared_ptr<Started>;

// References to finished operations, which hold MPI datatypes and perhaps a file. They are released later, in a call of
// the program outside of MPI: the background thread must make no MPI calls, and MPI may hold its lock while it frees a
// request (MPICH 4.0 ends the program if it is called then).
class Finished {
 public:
  void add(State share) {
    const std::lock_guard guard(mutex_);
    shares_.push_back(std::move(share));
  }
  void release() {
    std::vector<State> shares;
    {
      const std::lock_guard guard(mutex_);
      shares.swap(shares_);
    }
  }

 private:
  std::mutex mutex_;
  std::vector<State> shares_;
};

// Never destroyed: late destructors may use it.
Finished& finished() {
  static auto* const shares = new Finished;
  return *shares;
}

Started& started_of(void* state) { return **static_cast<State*>(state); }

void complete(Started& started) {
  if (std::exchange(started.is_complete, true)) return;
  MPI_Grequest_complete(started.request);
}

extern "C" {

int swath_mpi_io_query(void* state, MPI_Status* status) {
  started_of(state).tell(status);
  return MPI_SUCCESS;
}

int swath_mpi_io_free(void* state) {
  const std::unique_ptr<State> freed(static_cast<State*>(state));
  finished().add(std::move(*freed));
  return MPI_SUCCESS;
}

int swath_mpi_io_cancel(void* /*state*/, int /*is_complete*/) { return MPI_SUCCESS; }  // the operation continues

// MPICH calls these from MPI_Test and MPI_Wait.
int swath_mpi_io_poll(void* state, MPI_Status* /*status*/) {
  Started& started = started_of(state);
  if (started.is_done()) {
    complete(started);
  } else {
    sched_yield();  // gives the core to the background thread while the program polls
  }
  return MPI_SUCCESS;
}

int swath_mpi_io_wait(int count, void** states, double /*timeout*/, MPI_Status* /*statuses*/) {
  for (int i = 0; i < count; ++i) {
    Started& started = started_of(states[i]);
    started.wait();
    complete(started);
  }
  return MPI_SUCCESS;
}
}

// MPICH's generalized requests with a poll function. Other threads then make no MPI calls: a waiting rank takes MPI's
// lock so often that no other thread gets it (MPICH 4.0).
using StartAsking = int (*)(MPI_Grequest_query_function*, MPI_Grequest_free_function*, MPI_Grequest_cancel_function*,
                            int (*poll)(void*, MPI_Status*), int (*wait)(int, void**, double, MPI_Status*), void* state,
                            MPI_Request*);

// Null if this MPI has none, or if the ranks share no memory: then the background work calls MPI, and must not wait
// inside an MPI call.
StartAsking start_asking(const ServedFile& file) {
  static const auto function = reinterpret_cast<StartAsking>(real_symbol("MPIX_Grequest_start"));
  return file.serves_without_mpi() ? function : nullptr;
}

}  // namespace

MPI_Request start_in_background(const std::shared_ptr<ServedFile>& file, bool collective,
                                std::function<int64_t()> move) {
  release_finished();
  auto started = std::make_shared<Started>(file, std::move(move));
  auto* const state = new State(started);
  const StartAsking asking = start_asking(*file);
  const int code = asking != nullptr ? asking(&swath_mpi_io_query, &swath_mpi_io_free, &swath_mpi_io_cancel,
                                              &swath_mpi_io_poll, &swath_mpi_io_wait, state, &started->request)
                                     : MPI_Grequest_start(&swath_mpi_io_query, &swath_mpi_io_free, &swath_mpi_io_cancel,
                                                          state, &started->request);
  if (code != MPI_SUCCESS) {
    delete state;
    throw MpiError(code, "MPI_Grequest_start failed");
  }
  if (asking != nullptr) {
    const MPI_Request request = started->request;
    file->queue(collective).add([started = std::move(started)]() mutable {
      started->carry_out();
      finished().add(std::move(started));
    });
    return request;
  }
  const MPI_Request request = started->request;  // the program may free it once it is complete
  auto job = [started = std::move(started)]() mutable {
    started->carry_out();
    complete(*started);
    finished().add(std::move(started));
  };
  if (thread_level() == MPI_THREAD_MULTIPLE) {
    file->queue(collective).add(std::move(job));
  } else {
    file->report().note("nonblocking calls were done at their start: MPI serves one thread only");
    job();
  }
  return request;
}

bool any_is_started() { return started_count > 0; }

void release_finished() { finished().release(); }

std::vector<FailedRequest> take_failed_requests() {
  release_finished();
  return std::exchange(failed_of_this_thread(), {});
}

}  // namespace swath::mpi_io
