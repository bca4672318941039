#include "mpi_io/nonblocking.h"

#include <sched.h>

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

class Started {
 public:
  Started(std::shared_ptr<ServedFile> file, std::function<int64_t()> move)
      : file_(std::move(file)), move_(std::move(move)) {}

  // By whichever thread.
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

  // By the program's thread, when it is done.
  int tell(MPI_Status* status) const {
    set_bytes(status, bytes_);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return failure_ ? raise(file_->handle(), *failure_) : MPI_SUCCESS;
  }

  MPI_Request request = MPI_REQUEST_NULL;
  bool is_complete = false;  // MPI has been told

 private:
  const std::shared_ptr<ServedFile> file_;
  const std::function<int64_t()> move_;
  int64_t bytes_ = 0;
  std::optional<Error> failure_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;
};

// What MPI keeps: the job has a share of its own, and may still be leaving when MPI lets go of the request.
using State = std::shared_ptr<Started>;
Started& started_of(void* state) { return **static_cast<State*>(state); }

void complete(Started& started) {
  if (std::exchange(started.is_complete, true)) return;
  MPI_Grequest_complete(started.request);
}

extern "C" {

int swath_mpi_io_query(void* state, MPI_Status* status) { return started_of(state).tell(status); }

int swath_mpi_io_free(void* state) {
  delete static_cast<State*>(state);
  return MPI_SUCCESS;
}

int swath_mpi_io_cancel(void* /*state*/, int /*is_complete*/) { return MPI_SUCCESS; }  // it goes on to its end

// MPICH calls these from MPI_Test and MPI_Wait.
int swath_mpi_io_poll(void* state, MPI_Status* /*status*/) {
  Started& started = started_of(state);
  if (started.is_done()) {
    complete(started);
  } else {
    sched_yield();  // whoever polls has the core that the work needs
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

// MPICH's generalized requests that ask whether they are done. Other threads then call nothing of MPI, whose lock a
// rank that waits takes again and again, and nobody else gets (MPICH 4.0).
using StartAsking = int (*)(MPI_Grequest_query_function*, MPI_Grequest_free_function*, MPI_Grequest_cancel_function*,
                            int (*poll)(void*, MPI_Status*), int (*wait)(int, void**, double, MPI_Status*), void* state,
                            MPI_Request*);

// Null where this MPI has none, and for ranks on several nodes: the work then calls MPI, which must not be waited in.
StartAsking start_asking(const ServedFile& file) {
  static const auto function = reinterpret_cast<StartAsking>(real_symbol("MPIX_Grequest_start"));
  return file.is_on_one_node() ? function : nullptr;
}

}  // namespace

MPI_Request start_beside(const std::shared_ptr<ServedFile>& file, bool collective, std::function<int64_t()> move) {
  const auto started = std::make_shared<Started>(file, std::move(move));
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
    file->queue(collective).add([started] { started->carry_out(); });
    return started->request;
  }
  const MPI_Request request = started->request;  // the program's once it is complete
  const auto job = [started] {
    started->carry_out();
    complete(*started);
  };
  if (thread_level() == MPI_THREAD_MULTIPLE) {
    file->queue(collective).add(job);
  } else {
    file->report().note("nonblocking calls were done at their start: MPI serves one thread only");
    job();
  }
  return request;
}

}  // namespace swath::mpi_io
