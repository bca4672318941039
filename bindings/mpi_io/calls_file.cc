// MPI's calls on a whole file: open, close, view, pointers, hints.

#include <mpi.h>
#include <strings.h>

#include <array>

#include "mpi_io/errors.h"
#include "mpi_io/files.h"
#include "mpi_io/handles.h"
#include "mpi_io/nonblocking.h"
#include "mpi_io/offsets.h"
#include "mpi_io/real.h"
#include "mpi_io/report.h"
#include "mpi_io/served.h"

namespace swath::mpi_io {
namespace {

// In all known MPIs, the representation "internal" is the native one.
bool is_native(const char* representation) {
  return representation != nullptr &&
         (strcasecmp(representation, "native") == 0 || strcasecmp(representation, "internal") == 0);
}

// True if MPI has set a view in this representation: an error handler may return MPI_SUCCESS after an error.
bool mpi_has_view_in(MPI_File file, const char* representation) {
  char word[MPI_MAX_DATAREP_STRING + 1] = {};
  MPI_Offset displacement = 0;
  MPI_Datatype etype = MPI_DATATYPE_NULL;
  MPI_Datatype filetype = MPI_DATATYPE_NULL;
  if (real().File_get_view(file, &displacement, &etype, &filetype, word) != MPI_SUCCESS) return false;
  free_unless_named(etype);
  free_unless_named(filetype);
  return representation != nullptr && strcasecmp(word, representation) == 0;
}

int rank_of(MPI_Comm ranks) {
  int rank = 0;
  MPI_Comm_rank(ranks, &rank);
  return rank;
}

int open(MPI_Comm ranks, const char* path, int access_mode, MPI_Info info, MPI_File* file) {
  if (file != nullptr) *file = MPI_FILE_NULL;
  const int code = real().File_open(ranks, path, access_mode, info, file);
  if (code != MPI_SUCCESS || *file == MPI_FILE_NULL) return code;  // an error handler may return MPI_SUCCESS
  return guarded(*file, [&] {
    ServedFile::Opened opened = ServedFile::open({*file, ranks, path, access_mode, info});
    if (opened.file != nullptr) {
      add_served(std::move(opened.file));
    } else if (report_is_wanted() && rank_of(ranks) == 0) {
      tell_given_back(path, opened.reason);
    }
  });
}

int close(MPI_File* file) {
  const auto served = file == nullptr ? nullptr : served_file(*file);
  if (served == nullptr) return real().File_close(file);
  remove_served(*file);
  const int code = guarded(*file, [&] { served->close(); });
  release_finished();
  const int of_mpi = real().File_close(file);
  return code != MPI_SUCCESS ? code : of_mpi;
}

// Collective. From now on MPI serves the file, since it has a view that Swath does not support.
int give_back(MPI_File file, ServedFile& served) {
  if (report_is_wanted()) served.report().note("given back to MPI at a view of another data representation");
  remove_served(file);
  const int closed = guarded(file, [&] { served.close(); });
  if (served.is_atomic()) real().File_set_atomicity(file, 1);
  return closed;
}

int set_view(MPI_File file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
             const char* representation, MPI_Info info) {
  const auto served = served_file(file);
  if (served == nullptr) return real().File_set_view(file, displacement, etype, filetype, representation, info);
  if (!is_native(representation)) {  // it is the same on all ranks
    served->queue(true).finish();
    const int code = real().File_set_view(file, displacement, etype, filetype, representation, info);
    const bool is_taken = code == MPI_SUCCESS && mpi_has_view_in(file, representation);
    return is_taken ? give_back(file, *served) : code;
  }
  const auto make_view = [&] { return FileView(displacement, etype, filetype, served->is_read_only()); };
  if (displacement < 0) {  // the other ranks get this error, too; this rank returns MPI's own, whose text programs
                           // check
    static_cast<void>(failure_in([&] { served->set_view(make_view); }));
    return real().File_set_view(file, displacement, etype, filetype, representation, info);
  }
  return guarded(file, [&] {
    served->set_view(make_view);
    if (info != MPI_INFO_NULL && !known_hints(info).empty()) {
      served->queue(false).finish();  // running operations use their old hints
      served->take_hints_of_rank(info);
    }
  });
}

int get_view(MPI_File file, MPI_Offset* displacement, MPI_Datatype* etype, MPI_Datatype* filetype,
             char* representation) {
  const auto served = served_file(file);
  if (served == nullptr) return real().File_get_view(file, displacement, etype, filetype, representation);
  return guarded(file, [&] {
    const auto view = served->view();
    *displacement = view->displacement();
    *etype = view->etype().duplicate();
    *filetype = view->filetype().duplicate();
    std::snprintf(representation, MPI_MAX_DATAREP_STRING, "native");
  });
}

int seek(MPI_File file, MPI_Offset offset, int whence) {
  const auto served = served_file(file);
  if (served == nullptr) return real().File_seek(file, offset, whence);
  return guarded(file, [&] { served->seek(offset, whence); });
}

int get_position(MPI_File file, MPI_Offset* offset) {
  const auto served = served_file(file);
  if (served == nullptr) return real().File_get_position(file, offset);
  return guarded(file, [&] { *offset = served->position(); });
}

int get_byte_offset(MPI_File file, MPI_Offset offset, MPI_Offset* byte) {
  const auto served = served_file(file);
  if (served == nullptr) return real().File_get_byte_offset(file, offset, byte);
  return guarded(file, [&] {
    if (offset < 0) throw refused(MPI_ERR_ARG, "get_byte_offset: offset " + std::to_string(offset) + " is negative");
    const auto view = served->view();
    *byte = view->offset_of(checked_product(offset, view->etype_bytes()));
  });
}

int seek_shared(MPI_File file, MPI_Offset offset, int whence) {
  const auto served = served_file(file);
  if (served == nullptr) return real().File_seek_shared(file, offset, whence);
  return guarded(file, [&] { served->seek_shared(offset, whence); });
}

int get_position_shared(MPI_File file, MPI_Offset* offset) {
  const auto served = served_file(file);
  if (served == nullptr) return real().File_get_position_shared(file, offset);
  return guarded(file, [&] { *offset = served->shared_pointer().value(); });
}

int set_atomicity(MPI_File file, int atomic) {
  const auto served = served_file(file);
  if (served == nullptr) return real().File_set_atomicity(file, atomic);
  return guarded(file, [&] { served->set_atomicity(atomic != 0); });
}

int get_atomicity(MPI_File file, int* atomic) {
  const auto served = served_file(file);
  if (served == nullptr) return real().File_get_atomicity(file, atomic);
  *atomic = served->is_atomic() ? 1 : 0;
  return MPI_SUCCESS;
}

int sync(MPI_File file) {
  const auto served = served_file(file);
  if (served == nullptr) return real().File_sync(file);
  return guarded(file, [&] { served->sync(); });
}

int set_size(MPI_File file, MPI_Offset size) {
  const auto served = served_file(file);
  const int code = served == nullptr ? MPI_SUCCESS : guarded(file, [&] { served->finish_together(); });
  return code != MPI_SUCCESS ? code : real().File_set_size(file, size);
}

int preallocate(MPI_File file, MPI_Offset size) {
  const auto served = served_file(file);
  if (served == nullptr) return real().File_preallocate(file, size);
  return guarded(file, [&] { served->preallocate(size); });
}

int set_info(MPI_File file, MPI_Info info) {
  const int code = real().File_set_info(file, info);
  const auto served = served_file(file);
  if (served == nullptr || code != MPI_SUCCESS) return code;
  return guarded(file, [&] { served->set_hints(info); });
}

int get_info(MPI_File file, MPI_Info* info) {
  const int code = real().File_get_info(file, info);
  const auto served = served_file(file);
  if (served == nullptr || code != MPI_SUCCESS) return code;
  for (const auto& [key, value] : served->hints().in_force()) MPI_Info_set(*info, key.c_str(), value.c_str());
  return MPI_SUCCESS;
}

}  // namespace

std::span<const Served> served_files() {
  static const std::array table{
      SWATH_SERVED(File_open, open),
      SWATH_SERVED(File_close, close),
      SWATH_SERVED(File_set_view, set_view),
      SWATH_SERVED(File_get_view, get_view),
      SWATH_SERVED(File_seek, seek),
      SWATH_SERVED(File_get_position, get_position),
      SWATH_SERVED(File_get_byte_offset, get_byte_offset),
      SWATH_SERVED(File_seek_shared, seek_shared),
      SWATH_SERVED(File_get_position_shared, get_position_shared),
      SWATH_SERVED(File_set_atomicity, set_atomicity),
      SWATH_SERVED(File_get_atomicity, get_atomicity),
      SWATH_SERVED(File_sync, sync),
      SWATH_SERVED(File_set_size, set_size),
      SWATH_SERVED(File_preallocate, preallocate),
      SWATH_SERVED(File_set_info, set_info),
      SWATH_SERVED(File_get_info, get_info),
  };
  return table;
}

}  // namespace swath::mpi_io
