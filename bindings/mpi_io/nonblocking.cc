#include "mpi_io/nonblocking.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "mpi_io/errors.h"
#include "mpi_io/status.h"
#include "mpi_io/thread_level.h"

namespace swath::mpi_io {
namespace {

std::atomic<int64_t> started_count{0};

struct Started {
  std::shared_ptr<ServedFile> file;
  std::function<int64_t()> move;
  int64_t bytes = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  std::optional<Error> failure;

  void carry_out() {
    failure = failure_in([this] { bytes = move(); });
    move = nullptr;
  }
};

std::vector<FailedRequest>& failed_of_this_thread() {
  static thread_local std::vector<FailedRequest> failed;
  return failed;
}

// MPI calls it in the call that completes the request, by the same thread; and in MPI_Request_get_status, which
// completes nothing.
int query(void* state, MPI_Status* status) {
  auto* const started = static_cast<Started*>(state);
  set_bytes(status, started->bytes);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  auto& failed = failed_of_this_thread();
  const bool is_known = std::any_of(failed.begin(), failed.end(),
                                    [&](const FailedRequest& one) { return one.request == started->request; });
  if (started->failure && !is_known) failed.push_back({started->request, started->file, *started->failure});
  return MPI_SUCCESS;
}

// By whichever thread: that of the program, or the one that has completed the operation.
int free_state(void* state) {
  --started_count;
  delete static_cast<Started*>(state);
  return MPI_SUCCESS;
}

int cancel(void* /*state*/, int /*is_complete*/) { return MPI_SUCCESS; }  // it goes on to its end

}  // namespace

MPI_Request start_beside(const std::shared_ptr<ServedFile>& file, bool collective, std::function<int64_t()> move) {
  auto* const started = new Started{.file = file, .move = std::move(move)};
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Grequest_start(&query, &free_state, &cancel, started, &request);
  if (code != MPI_SUCCESS) {
    delete started;
    throw MpiError(code, "MPI_Grequest_start failed");
  }
  started->request = request;
  ++started_count;
  const auto job = [started, request] {
    started->carry_out();
    MPI_Grequest_complete(request);
  };
  if (thread_level() == MPI_THREAD_MULTIPLE) {
    file->queue(collective).add(job);
  } else {
    file->report().note("nonblocking calls were done at their start: MPI serves one thread only");
    job();
  }
  return request;
}

bool any_is_started() { return started_count > 0; }

std::vector<FailedRequest> take_failed_requests() { return std::exchange(failed_of_this_thread(), {}); }

}  // namespace swath::mpi_io
