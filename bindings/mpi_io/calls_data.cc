// All MPI calls that move data: {read, write} x {explicit offset, individual pointer, shared pointer} x {independent,
// collective, ordered} x {blocking, nonblocking, split} x {int, MPI_Count}.

#include <mpi.h>

#include <array>
#include <type_traits>

#include "mpi_io/errors.h"
#include "mpi_io/files.h"
#include "mpi_io/nonblocking.h"
#include "mpi_io/real.h"
#include "mpi_io/served.h"
#include "mpi_io/status.h"

namespace swath::mpi_io {
namespace {

enum class By { kOffset, kPointer, kSharedPointer };
enum class Ranks { kAlone, kTogether, kInOrder };

struct Kind {
  Direction direction;
  By by;
  Ranks ranks;
};

constexpr bool is_collective(const Kind& kind) { return kind.ranks != Ranks::kAlone; }

DataTransfer transfer_of(ServedFile& file, const Kind& kind, const DataCall& call, MPI_Offset offset) {
  if (kind.ranks == Ranks::kInOrder) return file.in_order(call);
  switch (kind.by) {
    case By::kOffset:
      return file.at(call, offset);
    case By::kPointer:
      return file.at_pointer(call);
    case By::kSharedPointer:
      return file.at_shared_pointer(call);
  }
  return {};
}

// Errors of a collective call are thrown on all ranks.
int64_t move(ServedFile& file, const Kind& kind, const DataCall& call, MPI_Offset offset) {
  if (!is_collective(kind)) return file.move(transfer_of(file, kind, call, offset));
  file.queue(true).finish();
  if (kind.ranks == Ranks::kInOrder) return file.move_collectively(file.in_order(call), std::nullopt);
  DataTransfer transfer;
  const auto failure = failure_in([&] { transfer = transfer_of(file, kind, call, offset); });
  return file.move_collectively(transfer, failure);
}

int move_now(ServedFile& file, const Kind& kind, const DataCall& call, MPI_Offset offset, MPI_Status* status) {
  return guarded(file.handle(), [&] { set_bytes(status, move(file, kind, call, offset)); });
}

int start(const std::shared_ptr<ServedFile>& file, const Kind& kind, const DataCall& call, MPI_Offset offset,
          MPI_Request* request) {
  return guarded(file->handle(), [&] {
    DataTransfer transfer;
    const auto failure = failure_in([&] { transfer = transfer_of(*file, kind, call, offset); });
    if (failure && !is_collective(kind)) throw Error(*failure);
    *request = start_in_background(file, is_collective(kind), [=, file = file.get()] {
      return is_collective(kind) ? file->move_collectively(transfer, failure) : file->move(transfer);
    });
  });
}

int begin(ServedFile& file, const Kind& kind, const DataCall& call, MPI_Offset offset, const char* name) {
  return guarded(file.handle(), [&] {
    if (file.split) {
      throw refused(MPI_ERR_IO, std::string(name) + "_begin: " + file.split->call + "_begin was not ended");
    }
    file.split = ServedFile::Split{name, move(file, kind, call, offset)};
  });
}

int end(ServedFile& file, MPI_Status* status, const char* name) {
  return guarded(file.handle(), [&] {
    if (!file.split || file.split->call != name) {
      throw refused(MPI_ERR_IO,
                    std::string(name) + "_end: " +
                        (file.split ? file.split->call + "_begin was the last to begin" : "nothing was begun"));
    }
    set_bytes(status, file.split->bytes);
    file.split.reset();
  });
}

template <Direction direction>
using Buffer = std::conditional_t<direction == Direction::kRead, void*, const void*>;

DataCall call_of(Direction direction, const void* buffer, MPI_Count count, MPI_Datatype type) {
  return {direction, const_cast<void*>(buffer), count, type};
}

// The implementations of MPI's functions. If the file is not served, each calls MPI's own: `function`, a member of
// Real.
template <Direction direction, Ranks ranks, auto function, typename Count>
int at_offset(MPI_File file, MPI_Offset offset, Buffer<direction> buffer, Count count, MPI_Datatype type,
              MPI_Status* status) {
  const auto served = served_file(file);
  if (served == nullptr) return (real().*function)(file, offset, buffer, count, type, status);
  return move_now(*served, {direction, By::kOffset, ranks}, call_of(direction, buffer, count, type), offset, status);
}

template <Direction direction, By by, Ranks ranks, auto function, typename Count>
int at_pointer(MPI_File file, Buffer<direction> buffer, Count count, MPI_Datatype type, MPI_Status* status) {
  const auto served = served_file(file);
  if (served == nullptr) return (real().*function)(file, buffer, count, type, status);
  return move_now(*served, {direction, by, ranks}, call_of(direction, buffer, count, type), 0, status);
}

template <Direction direction, Ranks ranks, auto function, typename Count>
int start_at_offset(MPI_File file, MPI_Offset offset, Buffer<direction> buffer, Count count, MPI_Datatype type,
                    MPI_Request* request) {
  const auto served = served_file(file);
  if (served == nullptr) return (real().*function)(file, offset, buffer, count, type, request);
  return start(served, {direction, By::kOffset, ranks}, call_of(direction, buffer, count, type), offset, request);
}

template <Direction direction, By by, Ranks ranks, auto function, typename Count>
int start_at_pointer(MPI_File file, Buffer<direction> buffer, Count count, MPI_Datatype type, MPI_Request* request) {
  const auto served = served_file(file);
  if (served == nullptr) return (real().*function)(file, buffer, count, type, request);
  return start(served, {direction, by, ranks}, call_of(direction, buffer, count, type), 0, request);
}

constexpr std::array kSplitCalls{"read_all",  "read_at_all",  "read_ordered",
                                 "write_all", "write_at_all", "write_ordered"};

template <Direction direction, size_t name, auto function, typename Count>
int begin_at_offset(MPI_File file, MPI_Offset offset, Buffer<direction> buffer, Count count, MPI_Datatype type) {
  const auto served = served_file(file);
  if (served == nullptr) return (real().*function)(file, offset, buffer, count, type);
  return begin(*served, {direction, By::kOffset, Ranks::kTogether}, call_of(direction, buffer, count, type), offset,
               kSplitCalls[name]);
}

template <Direction direction, Ranks ranks, size_t name, auto function, typename Count>
int begin_at_pointer(MPI_File file, Buffer<direction> buffer, Count count, MPI_Datatype type) {
  const auto served = served_file(file);
  if (served == nullptr) return (real().*function)(file, buffer, count, type);
  const By by = ranks == Ranks::kInOrder ? By::kSharedPointer : By::kPointer;
  return begin(*served, {direction, by, ranks}, call_of(direction, buffer, count, type), 0, kSplitCalls[name]);
}

template <Direction direction, size_t name, auto function>
int end_of(MPI_File file, Buffer<direction> buffer, MPI_Status* status) {
  const auto served = served_file(file);
  if (served == nullptr) return (real().*function)(file, buffer, status);
  return end(*served, status, kSplitCalls[name]);
}

}  // namespace

// The calls of one direction, with counts of one type; `c` is empty or _c.
#define SWATH_CALLS(word, way, first, c, Count)                                                                      \
  SWATH_SERVED(File_##word##_at##c, (at_offset<way, Ranks::kAlone, &Real::File_##word##_at##c, Count>)),             \
      SWATH_SERVED(File_##word##_at_all##c,                                                                          \
                   (at_offset<way, Ranks::kTogether, &Real::File_##word##_at_all##c, Count>)),                       \
      SWATH_SERVED(File_##word##c, (at_pointer<way, By::kPointer, Ranks::kAlone, &Real::File_##word##c, Count>)),    \
      SWATH_SERVED(File_##word##_all##c,                                                                             \
                   (at_pointer<way, By::kPointer, Ranks::kTogether, &Real::File_##word##_all##c, Count>)),           \
      SWATH_SERVED(File_##word##_shared##c,                                                                          \
                   (at_pointer<way, By::kSharedPointer, Ranks::kAlone, &Real::File_##word##_shared##c, Count>)),     \
      SWATH_SERVED(File_##word##_ordered##c,                                                                         \
                   (at_pointer<way, By::kSharedPointer, Ranks::kInOrder, &Real::File_##word##_ordered##c, Count>)),  \
      SWATH_SERVED(File_i##word##_at##c, (start_at_offset<way, Ranks::kAlone, &Real::File_i##word##_at##c, Count>)), \
      SWATH_SERVED(File_i##word##_at_all##c,                                                                         \
                   (start_at_offset<way, Ranks::kTogether, &Real::File_i##word##_at_all##c, Count>)),                \
      SWATH_SERVED(File_i##word##c,                                                                                  \
                   (start_at_pointer<way, By::kPointer, Ranks::kAlone, &Real::File_i##word##c, Count>)),             \
      SWATH_SERVED(File_i##word##_all##c,                                                                            \
                   (start_at_pointer<way, By::kPointer, Ranks::kTogether, &Real::File_i##word##_all##c, Count>)),    \
      SWATH_SERVED(                                                                                                  \
          File_i##word##_shared##c,                                                                                  \
          (start_at_pointer<way, By::kSharedPointer, Ranks::kAlone, &Real::File_i##word##_shared##c, Count>)),       \
      SWATH_SERVED(File_##word##_all_begin##c,                                                                       \
                   (begin_at_pointer<way, Ranks::kTogether, (first), &Real::File_##word##_all_begin##c, Count>)),    \
      SWATH_SERVED(File_##word##_at_all_begin##c,                                                                    \
                   (begin_at_offset<way, (first) + 1, &Real::File_##word##_at_all_begin##c, Count>)),                \
      SWATH_SERVED(                                                                                                  \
          File_##word##_ordered_begin##c,                                                                            \
          (begin_at_pointer<way, Ranks::kInOrder, (first) + 2, &Real::File_##word##_ordered_begin##c, Count>))
#define SWATH_ENDS(word, way, first)                                                                       \
  SWATH_SERVED(File_##word##_all_end, (end_of<way, (first), &Real::File_##word##_all_end>)),               \
      SWATH_SERVED(File_##word##_at_all_end, (end_of<way, (first) + 1, &Real::File_##word##_at_all_end>)), \
      SWATH_SERVED(File_##word##_ordered_end, (end_of<way, (first) + 2, &Real::File_##word##_ordered_end>))

std::span<const Served> served_data() {
  static const std::array table{
      SWATH_CALLS(read, Direction::kRead, 0, , int),
      SWATH_CALLS(write, Direction::kWrite, 3, , int),
      SWATH_ENDS(read, Direction::kRead, 0),
      SWATH_ENDS(write, Direction::kWrite, 3),
#if MPI_VERSION >= 4
      SWATH_CALLS(read, Direction::kRead, 0, _c, MPI_Count),
      SWATH_CALLS(write, Direction::kWrite, 3, _c, MPI_Count),
#endif
  };
  return table;
}

}  // namespace swath::mpi_io
