// A view set by MPI_File_set_view: which bytes of the file the program accesses, in which order.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "mpi_io/handles.h"
#include "mpi_io/type_map.h"
#include "space/nest.h"
#include "space/view.h"

namespace swath::mpi_io {

class FileView {
 public:
  // All bytes of the file, with etypes of one byte.
  FileView() = default;
  // The file type, repeated without end from the displacement on. Local; needs the memory of the lists that the program
  // gave. Throws MpiError, or Error with an MPI class, for an invalid view. `is_read_only`: bytes may occur twice.
  FileView(int64_t displacement, MPI_Datatype etype, MPI_Datatype filetype, bool is_read_only)
      : FileView(displacement, Part(etype), Part(filetype), is_read_only) {}

  int64_t displacement() const { return displacement_; }
  const OwnedType& etype() const { return etype_; }
  const OwnedType& filetype() const { return filetype_; }
  int64_t etype_bytes() const { return etype_bytes_; }

  // True if each byte is after the previous one, as is required for writing: then at() has the bytes.
  bool is_ascending() const { return is_ascending_; }
  // True if a call's bytes are one run, or runs so long that a rank moves them as well alone as with others.
  bool is_contiguous() const;
  // Data bytes [first, first + bytes). Requires is_ascending().
  View at(int64_t first, int64_t bytes) const;
  // The first `bytes` data bytes, in any order.
  Nest nest(int64_t bytes) const;
  // The number of data bytes before `offset` of the file. Requires is_ascending().
  int64_t bytes_before(int64_t offset) const;
  int64_t offset_of(int64_t byte) const;
  // The offset of data bytes [first, first + bytes) if they are contiguous; else nullopt. Allocates nothing.
  std::optional<int64_t> offset_of_run(int64_t first, int64_t bytes) const;

 private:
  // The arguments of a view. They are decoded first: MPI would report a null datatype to the program's own error
  // handler.
  struct Part {
    explicit Part(MPI_Datatype type) : map(type_map_of(type)), owned(type) {}
    std::shared_ptr<const TypeMap> map;
    OwnedType owned;
  };

  FileView(int64_t displacement, Part etype, Part filetype, bool is_read_only);

  bool tiles_touch() const { return extent_ == tile_.bytes() && tile_.runs() == 1; }
  int64_t tiles(int64_t bytes) const { return bytes / tile_.bytes() + 1; }

  int64_t displacement_ = 0;
  OwnedType etype_;
  OwnedType filetype_;
  int64_t etype_bytes_ = 1;
  Nest tile_ = Nest::block(1);  // from the displacement on; empty: no bytes
  int64_t extent_ = 1;
  bool is_ascending_ = true;
};

}  // namespace swath::mpi_io
