// MPI's calls that complete requests. A nonblocking operation on a file is a generalized request; MPI would report its
// error to the communicator's error handler, which ends the program by default. So MPI gets no error, and these calls
// report it to the file's error handler, as MPI requires, and return it.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "comm/backoff.h"
#include "comm/mpi_communicator.h"
#include "mpi_io/errors.h"
#include "mpi_io/files.h"
#include "mpi_io/nonblocking.h"
#include "mpi_io/real.h"
#include "mpi_io/served.h"

namespace swath::mpi_io {
namespace {

int tell(const FailedRequest& failed) {
  const MPI_File handle = failed.file->handle();
  return raise(served_file(handle) == failed.file ? handle : MPI_FILE_NULL, failed.error);
}

// MPICH's MPI_Wait and MPI_Waitall make no progress on messages while they wait for generalized requests: another rank
// that waits for such a message could not do its part of the operation. So this polls with MPI_Test, and lets MPI make
// progress in between. `test` calls it, and sets its argument when the request is done.
template <typename Test>
int wait_by_asking(const Test& test) {
  Backoff backoff;
  int is_done = 0;
  while (true) {
    const int code = test(&is_done);
    if (code != MPI_SUCCESS || is_done != 0) return code;
    backoff.wait();
    let_mpi_progress();
  }
}

int wait(MPI_Request* request, MPI_Status* status) {
  if (!any_is_started()) return real().Wait(request, status);
  static_cast<void>(take_failed_requests());
  int code = wait_by_asking([&](int* is_done) { return real().Test(request, is_done, status); });
  for (const FailedRequest& failed : take_failed_requests()) code = tell(failed);
  return code;
}

// A call that completes one request.
template <auto function, typename... Argument>
int complete_one(Argument... argument) {
  if (!any_is_started()) return (real().*function)(argument...);
  static_cast<void>(take_failed_requests());
  int code = (real().*function)(argument...);
  for (const FailedRequest& failed : take_failed_requests()) code = tell(failed);
  return code;
}

// The requests of a call that completes several of them, copied before the call.
class Requests {
 public:
  Requests(int count, const MPI_Request* requests) : requests_(requests, requests + std::max(count, 0)) {
    static_cast<void>(take_failed_requests());
  }

  // Reports failed requests, and sets their status. `status_of`: the index in `statuses` of a request's status. `code`:
  // the result of MPI's call.
  template <typename StatusOf>
  int tell_failed(int code, std::span<MPI_Status> statuses, const StatusOf& status_of) const {
    const std::vector<FailedRequest> all = take_failed_requests();
    if (all.empty()) return code;
    if (code == MPI_SUCCESS) {
      for (MPI_Status& status : statuses) status.MPI_ERROR = MPI_SUCCESS;
    }
    for (const FailedRequest& failed : all) {
      const auto found = std::find(requests_.begin(), requests_.end(), failed.request);
      const int code_of_one = tell(failed);
      const size_t place = status_of(static_cast<int>(found - requests_.begin()));
      if (place < statuses.size()) statuses[place].MPI_ERROR = code_of_one;
    }
    return MPI_ERR_IN_STATUS;
  }

 private:
  std::vector<MPI_Request> requests_;
};

std::span<MPI_Status> statuses_of(MPI_Status* statuses, int count) {
  if (statuses == MPI_STATUSES_IGNORE || count < 0) return {};
  return {statuses, static_cast<size_t>(count)};
}

size_t itself(int index) { return static_cast<size_t>(index); }

int wait_all(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (!any_is_started()) return real().Waitall(count, requests, statuses);
  const Requests before(count, requests);
  const int code = wait_by_asking([&](int* are_done) { return real().Testall(count, requests, are_done, statuses); });
  return before.tell_failed(code, statuses_of(statuses, count), itself);
}

int test_all(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  if (!any_is_started()) return real().Testall(count, requests, flag, statuses);
  const Requests before(count, requests);
  const int code = real().Testall(count, requests, flag, statuses);
  return before.tell_failed(code, statuses_of(statuses, count), itself);
}

template <auto function>
int complete_some(int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses) {
  if (!any_is_started()) return (real().*function)(count, requests, completed, indices, statuses);
  const Requests before(count, requests);
  const int code = (real().*function)(count, requests, completed, indices, statuses);
  const int found = *completed == MPI_UNDEFINED ? 0 : *completed;
  return before.tell_failed(code, statuses_of(statuses, found), [&](int index) {
    return static_cast<size_t>(std::find(indices, indices + found, index) - indices);
  });
}

}  // namespace

std::span<const Served> served_waits() {
  static const std::array table{
      SWATH_SERVED(Wait, wait),
      SWATH_SERVED(Waitany, (complete_one<&Real::Waitany, int, MPI_Request*, int*, MPI_Status*>)),
      SWATH_SERVED(Test, (complete_one<&Real::Test, MPI_Request*, int*, MPI_Status*>)),
      SWATH_SERVED(Testany, (complete_one<&Real::Testany, int, MPI_Request*, int*, int*, MPI_Status*>)),
      SWATH_SERVED(Waitall, wait_all),
      SWATH_SERVED(Testall, test_all),
      SWATH_SERVED(Waitsome, complete_some<&Real::Waitsome>),
      SWATH_SERVED(Testsome, complete_some<&Real::Testsome>),
  };
  return table;
}

}  // namespace swath::mpi_io
