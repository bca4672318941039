// A file of MPI that Swath serves: three arrays of bytes over it (one for what all ranks do together, one for what this
// rank does by itself, one for atomic mode), and what MPI says that a file has: a view, pointers, an access mode,
// atomicity.
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

// One call that moves data, as it was made.
struct DataCall {
  Direction direction;
  void* buffer;
  int64_t count;
  MPI_Datatype type;
};

// What it moves: data bytes of a view, and where they are in memory. Holds on to what it needs: it may go on beside the
// program, which may set another view meanwhile.
struct DataTransfer {
  Direction direction = Direction::kRead;
  std::shared_ptr<const FileView> view;
  int64_t first = 0;  // data bytes [first, first + bytes)
  int64_t bytes = 0;
  std::byte* address = nullptr;
  Nest scattered;  // where they are from `address` on; empty: one after another

  bool is_packed() const { return scattered.empty(); }
  Nest memory() const { return is_packed() && bytes > 0 ? Nest::block(bytes) : scattered; }
};

// What is combined of all ranks where they meet.
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
    std::shared_ptr<ServedFile> file;  // null, on all ranks, where MPI must serve it
    std::string reason;                // why
  };
  // Collective, behind MPI's own opening.
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
  // Collective. All pointers are at the beginning. `make` makes this rank's. Ranks meet, unless a hint says that they
  // do not; then an error of any is an error of all, and no view changes.
  void set_view(const std::function<FileView()>& make);
  int64_t position() const;
  void seek(int64_t etypes, int whence);
  SharedPointer& shared_pointer() { return shared_pointer_; }
  // Collective. Ranks agree on where to, of which MPI_SEEK_CUR and MPI_SEEK_END are what rank 0 says.
  void seek_shared(int64_t etypes, int whence);
  // Collective. Of what is begun after it; what was begun before is over on all ranks.
  void set_atomicity(bool atomic);
  bool is_atomic() const { return is_atomic_; }
  // Collective.
  void set_hints(MPI_Info info);
  // Of a call that sends nothing.
  void take_hints_of_rank(MPI_Info info) { hints_.take_of_rank(known_hints(info)); }

  // ---- what a call moves. They throw where it may not be made, and move pointers. ----
  DataTransfer at(const DataCall& call, int64_t offset) const;
  DataTransfer at_pointer(const DataCall& call);
  DataTransfer at_shared_pointer(const DataCall& call);
  // Collective: each rank's is behind that of the rank before. An error of any is an error of all.
  DataTransfer in_order(const DataCall& call);

  // ---- moving it. How many bytes were moved: of a read fewer than asked for at the end of the file. ----
  int64_t move(const DataTransfer& transfer);
  // Collective. An error of any rank, or `failure`, is an error of all: at once where they meet, else of this rank at
  // once and of the others where they meet next.
  int64_t move_collectively(const DataTransfer& transfer, const std::optional<Error>& failure);

  // Collective. What was begun together before is over on all ranks.
  void finish_together();
  // Collective. On the medium.
  void sync();
  // Collective. Storage for the first `bytes` bytes; none that is there changes. An error of any is an error of all.
  void preallocate(int64_t bytes);
  // Collective. Nothing is under way any more; tells the report. An error of it is told after the file is closed.
  void close();

  // A split collective call that has begun, and not ended.
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
  const bool serves_without_mpi_;  // what ranks do together
  Hints hints_;
  const bool is_reported_ = report_is_wanted();  // else nobody looks at seconds, and reading the clock costs some
  Report report_;

  std::shared_ptr<File> file_;  // of collective_
  std::unique_ptr<Array> collective_;
  std::shared_ptr<File> own_file_;  // of own_: opened anew, so that the locks of the two exclude each other
  std::unique_ptr<Array> own_;
  std::shared_ptr<File> atomic_file_;  // whose writes take no locks of their own, for they have the range locked
  std::unique_ptr<Array> atomic_;

  // Of operations that have a range of atomic_file_ locked: threads of this rank have the same open file, whose locks
  // do not exclude each other. Elsewhere they need no turn: of one view, what two operations write does not interleave.
  std::mutex atomic_turn_;

  mutable std::mutex mutex_;  // of what follows
  std::shared_ptr<const FileView> view_ = std::make_shared<const FileView>();
  int64_t position_ = 0;

  // Of collective calls, which come in one order; all ranks know the same but of the last.
  OfAllRanks of_all_;
  std::optional<Direction> last_direction_;  // of the last collective call that moved data
  std::optional<Error> pending_error_;       // which this rank has returned, and the others have not heard of

  SharedPointer shared_pointer_;
  std::atomic<bool> is_atomic_ = false;
  JobQueue collective_jobs_;
  JobQueue own_jobs_;
};

}  // namespace swath::mpi_io
