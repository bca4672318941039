#include "mpi_io/file_view.h"

#include <algorithm>
#include <string>
#include <utility>

#include "mpi_io/errors.h"
#include "mpi_io/offsets.h"

namespace swath::mpi_io {

namespace {

#ifdef OPEN_MPI
constexpr bool kIsStrict = false;  // Open MPI accepts invalid views: such bytes are moved in view order
#else
constexpr bool kIsStrict = true;
#endif

// MPI-4.1, section 14.3: the displacements of an etype and of a file type are not negative and do not decrease. If the
// file may be written, no byte occurs twice.
void check_places(const Nest& nest, const std::string& what, bool is_read_only) {
  if (!kIsStrict || nest.empty()) return;
  if (nest.low() < 0) {
    throw refused(MPI_ERR_IO, "set_view: the " + what + " begins " + std::to_string(-nest.low()) +
                                  " bytes before its own beginning: its displacements must not be negative");
  }
  if (nest.is_ascending()) return;
  int64_t before = 0;
  for (int64_t position = 0; position < nest.bytes();) {
    const Nest::Run run = nest.run_at(position, nest.bytes());
    if (run.offset < before) {
      throw refused(MPI_ERR_IO, "set_view: the " + what + " goes back from byte " + std::to_string(before) +
                                    " to byte " + std::to_string(run.offset) + ": its displacements must not decrease");
    }
    before = run.offset;
    position += run.bytes;
  }
  if (!is_read_only) {
    throw refused(MPI_ERR_IO, "set_view: the " + what +
                                  " has bytes twice: only a file that is opened with "
                                  "MPI_MODE_RDONLY may have such a view");
  }
}

}  // namespace

FileView::FileView(int64_t displacement, Part etype, Part filetype, bool is_read_only)
    : displacement_(displacement), etype_(std::move(etype.owned)), filetype_(std::move(filetype.owned)) {
  if (displacement < 0) {
    throw refused(MPI_ERR_ARG, "set_view: displacement " + std::to_string(displacement) + " is negative");
  }
  const auto& element = etype.map;
  const auto& file = filetype.map;
  check_places(element->nest, "etype", is_read_only);
  check_places(file->nest, "file type", is_read_only);
  etype_bytes_ = element->size();
  if (etype_bytes_ == 0 && file->size() > 0) {
    throw refused(MPI_ERR_ARG, "set_view: the etype has no bytes");
  }
  if (etype_bytes_ > 0 && file->size() % etype_bytes_ != 0) {
    throw refused(MPI_ERR_ARG, "set_view: the file type has " + std::to_string(file->size()) +
                                   " bytes, which is no multiple of the etype's " + std::to_string(etype_bytes_));
  }
  etype_bytes_ = std::max<int64_t>(etype_bytes_, 1);
  tile_ = file->nest;
  extent_ = file->extent;
  if (tile_.empty()) return;
  if (displacement + tile_.low() < 0) {
    throw refused(MPI_ERR_ARG, "set_view: the file type begins " + std::to_string(-tile_.low()) +
                                   " bytes before its displacement, " + std::to_string(displacement) +
                                   ": before the file");
  }
  is_ascending_ = Nest::strided(2, extent_, tile_).is_ascending();
}

bool FileView::is_contiguous() const {
  constexpr int64_t kLongRunBytes = int64_t{64} << 10;
  return tile_.empty() || tiles_touch() || (tile_.runs() == 1 && tile_.bytes() >= kLongRunBytes && is_ascending_);
}

View FileView::at(int64_t first, int64_t bytes) const {
  if (bytes == 0) return {};
  if (tile_.empty()) throw refused(MPI_ERR_ARG, "the view's file type has no bytes, but some are read or written");
  return View::repeated(tile_.shifted(displacement_), extent_, first, bytes);
}

Nest FileView::nest(int64_t bytes) const {
  if (bytes == 0) return {};
  if (tile_.empty()) throw refused(MPI_ERR_ARG, "the view's file type has no bytes, but some are read or written");
  return Nest::strided(tiles(bytes), extent_, tile_.shifted(displacement_));
}

int64_t FileView::bytes_before(int64_t offset) const {
  if (tile_.empty() || offset <= displacement_) return 0;
  const int64_t whole = std::max<int64_t>((offset - displacement_ - tile_.low()) / extent_ + 1, 1);
  return Nest::strided(whole, extent_, tile_.shifted(displacement_)).bytes_before(offset);
}

int64_t FileView::offset_of(int64_t byte) const {
  if (tile_.empty()) return displacement_;
  const int64_t tile = checked_sum(displacement_, checked_product(byte / tile_.bytes(), extent_));
  return checked_sum(tile, tile_.offset_of(byte % tile_.bytes()));
}

std::optional<int64_t> FileView::offset_of_run(int64_t first, int64_t bytes) const {
  if (tile_.empty()) return std::nullopt;
  const int64_t within = first % tile_.bytes();
  const Nest::Run run = tile_.run_at(within, tile_.bytes());
  if (run.bytes < bytes && !tiles_touch()) return std::nullopt;
  return displacement_ + first / tile_.bytes() * extent_ + run.offset;
}

}  // namespace swath::mpi_io
