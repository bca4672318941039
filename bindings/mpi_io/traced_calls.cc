// MPI's calls on files, passed on to the MPI and traced: what the stub gets of this library with SWATH_MPI_IO=trace.
// Calls that only return what MPI knows of a file (its view, its size, its hints) are not traced.

#include <mpi.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "mpi_io/errors.h"
#include "mpi_io/offsets.h"
#include "mpi_io/real.h"
#include "mpi_io/served.h"
#include "mpi_io/traced_file.h"
#include "mpi_io/type_map.h"
#include "trace/json.h"

namespace swath::mpi_io {
namespace {

enum class By { kOffset, kPointer, kSharedPointer };

// The individual file pointer, in etypes.
std::optional<int64_t> pointer_of(MPI_File file, const TracedFile& known) {
  if ((known.access_mode & MPI_MODE_SEQUENTIAL) != 0) return std::nullopt;  // MPI would report an error
  MPI_Offset etypes = 0;
  if (real().File_get_position(file, &etypes) != MPI_SUCCESS) return std::nullopt;
  return etypes;
}

// A call that moves data, from the constructor to end().
class Transfer {
 public:
  Transfer(const CallName& name, MPI_File file, By by, MPI_Offset offset)
      : known_(traced_file(file).value_or(TracedFile{})),
        etypes_(by == By::kOffset    ? std::optional<int64_t>(offset)
                : by == By::kPointer ? pointer_of(file, known_)
                                     : std::nullopt),
        call_(name) {}

  // The status or request for MPI's function: the program's, or one of ours if the program wants no status.
  MPI_Status* result(MPI_Status* given) { return status_ = given == MPI_STATUS_IGNORE ? &own_status_ : given; }
  static MPI_Request* result(MPI_Request* given) { return given; }

  int end(int code, MPI_Count count, MPI_Datatype type) {
    CallBytes bytes{.is_started = status_ == nullptr};
    if (code == MPI_SUCCESS) {
      // A call whose bytes cannot be told has succeeded all the same.
      static_cast<void>(failure_in([&] {
        bytes.moved = status_ != nullptr ? finished_bytes() : checked_product(count, type_map_of(type)->size());
        put_place(bytes);
      }));
    }
    return call_.end(known_.path, code, bytes);
  }

 private:
  int64_t finished_bytes() const {
    MPI_Count bytes = 0;
    MPI_Get_elements_x(status_, MPI_BYTE, &bytes);
    return bytes == MPI_UNDEFINED ? 0 : bytes;
  }

  void put_place(CallBytes& bytes) const {
    if (!etypes_ || *etypes_ < 0 || known_.view == nullptr || bytes.moved <= 0) return;
    const FileView& view = *known_.view;
    const int64_t first = checked_product(*etypes_, view.etype_bytes());
    bytes.offset = view.offset_of_run(first, bytes.moved);
    if (bytes.offset || !view.is_ascending()) return;
    bytes.begin = view.offset_of(first);
    bytes.end = view.offset_of(first + bytes.moved - 1) + 1;
  }

  const TracedFile known_;
  const std::optional<int64_t> etypes_;  // where the call begins in the view
  const TracedCall call_;
  MPI_Status own_status_{};
  MPI_Status* status_ = nullptr;  // null: the call only starts the transfer
};

// MPI's calls of one name that move data.
struct Moves {
  const CallName name;
  const By by;

  // Makes a call. `function`: a member of Real. The two forms are those of MPI's functions with and without an explicit
  // offset.
  template <auto function, typename Data, typename Count, typename... Result>
  int call(MPI_File file, MPI_Offset offset, Data* data, Count count, MPI_Datatype type, Result... result) const {
    Transfer transfer(name, file, by, offset);
    return transfer.end((real().*function)(file, offset, data, count, type, transfer.result(result)...), count, type);
  }
  template <auto function, typename Data, typename Count, typename... Result>
  int call(MPI_File file, Data* data, Count count, MPI_Datatype type, Result... result) const {
    Transfer transfer(name, file, by, 0);
    return transfer.end((real().*function)(file, data, count, type, transfer.result(result)...), count, type);
  }
};

// A call on an open file that moves no data.
template <auto function, typename... Arguments>
int call_on(const CallName& name, MPI_File file, Arguments... arguments) {
  const auto known = traced_file(file);
  const TracedCall call(name);
  const int code = (real().*function)(file, arguments...);
  return call.end(known ? known->path : "", code);
}

int open(MPI_Comm ranks, const char* path, int access_mode, MPI_Info info, MPI_File* file) {
  const TracedCall call({"open", "MPI_File_open", true});
  const int code = real().File_open(ranks, path, access_mode, info, file);
  const std::string absolute = absolute_path(path);
  if (code == MPI_SUCCESS && *file != MPI_FILE_NULL) remember(*file, {absolute, access_mode});
  return call.end(absolute, code);
}

int close(MPI_File* file) {
  const auto known = file == nullptr ? std::nullopt : traced_file(*file);
  if (known) forget(*file);  // before MPI can give the handle to another file
  const TracedCall call({"close", "MPI_File_close", true});
  return call.end(known ? known->path : "", real().File_close(file));
}

int remove(const char* path, MPI_Info info) {
  const TracedCall call({"unlink", "MPI_File_delete", false});
  return call.end(absolute_path(path), real().File_delete(path, info));
}

std::string words_of(const FileView& view) {
  const auto type = type_map_of(view.filetype().get());
  std::string text;
  {
    trace::JsonObject words(text);
    words.put("displacement", view.displacement());
    words.put("etype_bytes", view.etype_bytes());
    words.put("filetype_bytes", type->size());
    words.put("filetype_extent", type->extent);
    words.put("filetype", type->nest.to_string());
  }
  return text;
}

int set_view(MPI_File file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
             const char* representation, MPI_Info info) {
  auto known = traced_file(file);
  const TracedCall call({"view", "MPI_File_set_view", true});
  const int code = real().File_set_view(file, displacement, etype, filetype, representation, info);
  std::string words;
  if (known && code == MPI_SUCCESS) {
    known->view = nullptr;
    static_cast<void>(failure_in([&] {
      const bool is_read_only = (known->access_mode & MPI_MODE_RDONLY) != 0;
      auto view = std::make_shared<const FileView>(displacement, etype, filetype, is_read_only);
      words = words_of(*view);
      if (representation != nullptr && std::strcmp(representation, "native") == 0) known->view = std::move(view);
    }));
    remember(file, *known);
  }
  return call.end(known ? known->path : "", code, {}, words);
}

}  // namespace

// A function of MPI, as a call of the form `call`: the arguments behind the file follow.
#define SWATH_TRACED(function, call) \
  served_as<decltype(Real::function)>("MPI_" #function, [](MPI_File file, auto... arguments) { return call; })
#define SWATH_MOVES(word, function, by, is_collective) \
  SWATH_TRACED(function,                               \
               (Moves{{#word, "MPI_" #function, is_collective}, By::by}.call<&Real::function>(file, arguments...)))
#define SWATH_CALLS_ON(name, function, is_collective) \
  SWATH_TRACED(function,                              \
               (call_on<&Real::function>(CallName{name, "MPI_" #function, is_collective}, file, arguments...)))

// The calls of one direction; `c` is empty or _c.
#define SWATH_ALL_MOVES(word, c)                                                                                       \
  SWATH_MOVES(word, File_##word##_at##c, kOffset, false), SWATH_MOVES(word, File_##word##_at_all##c, kOffset, true),   \
      SWATH_MOVES(word, File_##word##c, kPointer, false), SWATH_MOVES(word, File_##word##_all##c, kPointer, true),     \
      SWATH_MOVES(word, File_##word##_shared##c, kSharedPointer, false),                                               \
      SWATH_MOVES(word, File_##word##_ordered##c, kSharedPointer, true),                                               \
      SWATH_MOVES(word, File_i##word##_at##c, kOffset, false),                                                         \
      SWATH_MOVES(word, File_i##word##_at_all##c, kOffset, true), SWATH_MOVES(word, File_i##word##c, kPointer, false), \
      SWATH_MOVES(word, File_i##word##_all##c, kPointer, true),                                                        \
      SWATH_MOVES(word, File_i##word##_shared##c, kSharedPointer, false),                                              \
      SWATH_MOVES(word, File_##word##_all_begin##c, kPointer, true),                                                   \
      SWATH_MOVES(word, File_##word##_at_all_begin##c, kOffset, true),                                                 \
      SWATH_MOVES(word, File_##word##_ordered_begin##c, kSharedPointer, true)
#define SWATH_ENDS(word)                                                                                       \
  SWATH_CALLS_ON("wait", File_##word##_all_end, true), SWATH_CALLS_ON("wait", File_##word##_at_all_end, true), \
      SWATH_CALLS_ON("wait", File_##word##_ordered_end, true)

std::span<const Served> traced_calls() {
  static const std::array table{
      SWATH_SERVED(File_open, open),
      SWATH_SERVED(File_close, close),
      SWATH_SERVED(File_delete, remove),
      SWATH_SERVED(File_set_view, set_view),
      SWATH_CALLS_ON("sync", File_sync, true),
      SWATH_CALLS_ON("truncate", File_set_size, true),
      SWATH_CALLS_ON("allocate", File_preallocate, true),
      SWATH_CALLS_ON("seek", File_seek, false),
      SWATH_CALLS_ON("seek", File_seek_shared, true),
      SWATH_ALL_MOVES(read, ),
      SWATH_ALL_MOVES(write, ),
      SWATH_ENDS(read),
      SWATH_ENDS(write),
      SWATH_ALL_MOVES(read, _c),
      SWATH_ALL_MOVES(write, _c),
  };
  return table;
}

}  // namespace swath::mpi_io
