#include "mpi_io/nonblocking.h"

#include <optional>
#include <utility>

#include "mpi_io/errors.h"
#include "mpi_io/status.h"
#include "mpi_io/thread_level.h"

namespace swath::mpi_io {
namespace {

struct Started {
  std::shared_ptr<ServedFile> file;
  std::function<int64_t()> move;
  int64_t bytes = 0;
  std::optional<Error> failure;

  void carry_out() {
    failure = failure_in([this] { bytes = move(); });
    move = nullptr;
  }
};

int query(void* state, MPI_Status* status) {
  auto* const started = static_cast<Started*>(state);
  set_bytes(status, started->bytes);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return started->failure ? raise(started->file->handle(), *started->failure) : MPI_SUCCESS;
}

int free_state(void* state) {
  delete static_cast<Started*>(state);
  return MPI_SUCCESS;
}

int cancel(void* /*state*/, int /*is_complete*/) { return MPI_SUCCESS; }  // it goes on to its end

}  // namespace

MPI_Request start_beside(const std::shared_ptr<ServedFile>& file, bool collective, std::function<int64_t()> move) {
  auto* const started = new Started{file, std::move(move)};
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Grequest_start(&query, &free_state, &cancel, started, &request);
  if (code != MPI_SUCCESS) {
    delete started;
    throw MpiError(code, "MPI_Grequest_start failed");
  }
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

}  // namespace swath::mpi_io
