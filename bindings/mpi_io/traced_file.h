// The calls of a program whose MPI-IO is traced and not served (SWATH_MPI_IO=trace). Each call becomes one event of the
// process's trace (docs/formats/trace.md, category "mpi-io").
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "mpi_io/file_view.h"

namespace swath::mpi_io {

// An open file of MPI.
struct TracedFile {
  std::string path;  // absolute
  int access_mode = 0;
  std::shared_ptr<const FileView> view = std::make_shared<const FileView>();  // null: its bytes are not known
};

// Empty if the handle is not that of an open file.
std::optional<TracedFile> traced_file(MPI_File file);
void remember(MPI_File file, TracedFile known);
void forget(MPI_File file);
std::string absolute_path(const char* name);

// The names of a call: string literals.
struct CallName {
  const char* name;      // of the event: "read", "open"
  const char* function;  // of MPI: "MPI_File_read_at_all"
  bool is_collective;
};

// The bytes of a call in the file.
struct CallBytes {
  std::optional<int64_t> offset;  // if they are contiguous
  std::optional<int64_t> begin;   // if they are not: they lie in [begin, end)
  std::optional<int64_t> end;
  int64_t moved = 0;
  bool is_started = false;  // the call has only started the transfer, and `moved` is what it is to move
};

// A call from the constructor to end().
class TracedCall {
 public:
  explicit TracedCall(const CallName& name) : name_(name), began_(real_clock().now()) {}

  // Adds the event, and returns MPI's code. `more`: further members of its arguments, as JSON.
  int end(const std::string& path, int code, const CallBytes& bytes = {}, const std::string& more = "") const;

 private:
  const CallName name_;
  const double began_;
};

}  // namespace swath::mpi_io
