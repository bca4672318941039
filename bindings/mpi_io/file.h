// An MPI file that Swath serves: three arrays of bytes over it (for collective operations, for independent operations,
// and for atomic mode), and the state that MPI defines for a file: a view, pointers, an access mode, atomicity.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "array/array.h"
#include "array/file.h"
#include "comm/comm.h"
#include "mpi_io/file_view.h"
#include "mpi_io/hints.h"
#include "mpi_io/job_queue.h"
#include "mpi_io/report.h"
#include "mpi_io/shared_pointer.h"

namespace swath::mpi_io {

// The arguments of one call that moves data.
struct DataCall {
  Direction direction;
  void* buffer;
  int64_t count;
  MPI_Datatype type;
};

// The bytes of a call: data bytes of a view, and their places in memory. It owns what it needs: it may run in the
// background while the program sets another view.
struct DataTransfer {
  Direction direction = Direction::kRead;
  std::shared_ptr<const FileView> view;
  int64_t first = 0;  // data bytes [first, first + bytes)
  int64_t bytes = 0;
  std::byte* address = nullptr;
  Nest scattered;  // their places relative to `address`; empty: contiguous

  bool is_packed() const { return scattered.empty(); }
  Nest memory() const { return is_packed() && bytes > 0 ? Nest::block(bytes) : scattered; }
};

// A reduction over all ranks at each of their meetings.
struct OfAllRanks {
  int64_t alone_is_cheaper[2] = {1, 1};  // by direction
  int64_t views_are_contiguous = 1;

  void combine(const OfAllRanks& other);
};

class ServedFile {
 public:
  struct Opening {
    MPI_File file;
    MPI_Comm ranks;
    std::string path;
    int access_mode;
    MPI_Info info;
  };
  struct Opened {
    std::shared_ptr<ServedFile> file;  // null, on all ranks: MPI must serve the file
    std::string reason;                // why it is null
  };
  // Collective, after MPI's own open.
  static Opened open(const Opening& opening);

  MPI_File handle() const { return handle_; }
  const std::string& path() const { return path_; }
  bool is_read_only() const { return (access_mode_ & MPI_MODE_RDONLY) != 0; }
  bool serves_without_mpi() const { return serves_without_mpi_; }
  int rank() const { return comm_->rank(); }
  const Hints& hints() const { return hints_; }
  Report& report() { return report_; }
  JobQueue& queue(bool collective) { return collective ? collective_jobs_ : own_jobs_; }

  // ---- the view, and pointers in etypes of it ----
  std::shared_ptr<const FileView> view() const;
  // Collective. Sets all pointers to the beginning. `make` makes this rank's view. Ranks meet unless a hint forbids it;
  // if they meet, an error of any rank is an error of all, and no view changes.
  void set_view(const std::function<FileView()>& make);
  int64_t position() const;
  void seek(int64_t etypes, int whence);
  SharedPointer& shared_pointer() { return shared_pointer_; }
  // Collective. Ranks agree on the target; rank 0 evaluates MPI_SEEK_CUR and MPI_SEEK_END.
  void seek_shared(int64_t etypes, int whence);
  // Collective. Applies to later operations; earlier ones are finished on all ranks.
  void set_atomicity(bool atomic);
  bool is_atomic() const { return is_atomic_; }
  // Collective.
  void set_hints(MPI_Info info);
  // Takes the hints of a call without communication.
  void take_hints_of_rank(MPI_Info info) { hints_.take_of_rank(known_hints(info)); }

  // ---- the transfer of a call. These throw if the call is not allowed, and advance the pointers. ----
  DataTransfer at(const DataCall& call, int64_t offset) const;
  DataTransfer at_pointer(const DataCall& call);
  DataTransfer at_shared_pointer(const DataCall& call);
  // Collective: each rank's bytes follow those of the previous rank. An error of any rank is an error of all.
  DataTransfer in_order(const DataCall& call);

  // ---- carrying it out. Returns the bytes moved: fewer than requested for a read at the end of the file. ----
  int64_t move(const DataTransfer& transfer);
  // Collective. An error of any rank, or `failure`, is an error of all: at once if the ranks meet; otherwise this rank
  // returns it at once, and the others at their next meeting.
  int64_t move_collectively(const DataTransfer& transfer, const std::optional<Error>& failure);

  // Collective. Finishes earlier collective operations on all ranks.
  void finish_together();
  // Collective. Puts the file on the medium.
  void sync();
  // Collective. Allocates storage for the first `bytes` bytes; existing bytes do not change. An error of any rank is an
  // error of all.
  void preallocate(int64_t bytes);
  // Collective. Finishes all operations and prints the report. Its own error is thrown after the file is closed.
  void close();

  // A split collective call between its begin and its end.
  struct Split {
    std::string call;  // "read_all"
    int64_t bytes;
  };
  std::optional<Split> split;

 private:
  ServedFile(const Opening& opening, std::shared_ptr<Comm> comm, std::string shared_pointer_name);

  void open_files();
  void check_may(const DataCall& call) const;
  DataTransfer transfer_of(const DataCall& call) const;
  int64_t etypes_of(const DataTransfer& transfer) const;
  int64_t byte_of(const DataTransfer& transfer, int64_t etype) const;
  int64_t clipped_bytes(const DataTransfer& transfer, File& file) const;
  int64_t end_in_etypes() const;
  Execution carry_out(Array& array, const DataTransfer& transfer, Method method) const;
  bool ranks_go_alone(Direction direction) const;
  OfAllRanks meet(const std::optional<Error>& failure, const OfAllRanks& mine = {});
  std::optional<Error> with_pending(const std::optional<Error>& failure);
  int64_t move_by_itself(const DataTransfer& transfer, bool is_collective);
  int64_t move_atomically(const DataTransfer& transfer, bool is_collective);
  int64_t move_run(const DataTransfer& transfer, int64_t offset, bool is_collective);
  int64_t move_in_order_of_view(const DataTransfer& transfer, File& file, bool is_collective);
  int64_t move_alone(const DataTransfer& transfer, const std::optional<Error>& failure);
  int64_t move_together(const DataTransfer& transfer, const std::optional<Error>& failure);

  const MPI_File handle_;
  const std::string path_;
  const int access_mode_;
  const std::shared_ptr<Comm> comm_;
  const bool serves_without_mpi_;  // collective operations make no MPI calls
  Hints hints_;
  const bool is_reported_ = report_is_wanted();  // false: seconds are not needed, and the clock is not read
  Report report_;

  std::shared_ptr<File> file_;  // of collective_
  std::unique_ptr<Array> collective_;
  std::shared_ptr<File> own_file_;  // of own_: a second open file, so that the locks of the two exclude each other
  std::unique_ptr<Array> own_;
  std::shared_ptr<File> atomic_file_;  // its writes take no locks, since their caller has locked the range
  std::unique_ptr<Array> atomic_;

  // Serialises operations with a locked range of atomic_file_: threads of this rank share its open file, whose locks do
  // not exclude each other.
  std::mutex atomic_turn_;

  mutable std::mutex mutex_;  // guards the members below
  std::shared_ptr<const FileView> view_ = std::make_shared<const FileView>();
  int64_t position_ = 0;

  // State of collective calls, which come in one order. It is the same on all ranks, except for the latest call.
  OfAllRanks of_all_;
  std::optional<Direction> last_direction_;  // of the last collective call that moved data
  std::optional<Error> pending_error_;       // returned by this rank, not yet sent to the others

  SharedPointer shared_pointer_;
  std::atomic<bool> is_atomic_ = false;
  JobQueue collective_jobs_;
  JobQueue own_jobs_;
};

}  // namespace swath::mpi_io
