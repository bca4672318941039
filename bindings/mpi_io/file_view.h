// What MPI_File_set_view says of a file: which of its bytes the program has, in which order.
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
  // All bytes of the file, in etypes of one byte.
  FileView() = default;
  // The file type, repeated without end from the displacement on. Local: nothing is sent, and it costs the memory of
  // what the program listed. Throws MpiError, or Error with MPI's class, for what cannot be a view.
  // `is_read_only`: then bytes may be there twice.
  FileView(int64_t displacement, MPI_Datatype etype, MPI_Datatype filetype, bool is_read_only)
      : FileView(displacement, Part(etype), Part(filetype), is_read_only) {}

  int64_t displacement() const { return displacement_; }
  const OwnedType& etype() const { return etype_; }
  const OwnedType& filetype() const { return filetype_; }
  int64_t etype_bytes() const { return etype_bytes_; }

  // Whether each byte lies behind the one before it, as views that are written must: then at() tells the bytes.
  bool is_ascending() const { return is_ascending_; }
  // Whether what a call moves is one run, or runs so long that a rank moves them by itself as well as with others.
  bool is_contiguous() const;
  // Data bytes [first, first + bytes). Requires is_ascending().
  View at(int64_t first, int64_t bytes) const;
  // The first `bytes` data bytes, in whichever order.
  Nest nest(int64_t bytes) const;
  // How many data bytes lie before `offset` of the file. Requires is_ascending().
  int64_t bytes_before(int64_t offset) const;
  int64_t offset_of(int64_t byte) const;
  // Where data bytes [first, first + bytes) begin, if each lies right behind the one before it. Costs no memory.
  std::optional<int64_t> offset_of_run(int64_t first, int64_t bytes) const;

 private:
  // What a view is made of. It is decoded first: MPI would tell an error of a null datatype to the program's own
  // handlers.
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
  Nest tile_ = Nest::block(1);  // from the displacement on; empty: no bytes at all
  int64_t extent_ = 1;
  bool is_ascending_ = true;
};

}  // namespace swath::mpi_io
