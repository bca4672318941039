// One array of an open file, as it is stored: its elements, and where the file has them now. CollectiveFile makes it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "array/array.h"
#include "base/per_process.h"
#include "formats/description.h"

namespace swath {

class StoredArray : public Array {
 public:
  struct Known {
    std::string path;                   // in the file: "ocean/t"; "" where the format holds one array without a name
    bool can_grow = false;              // along its first dimension
    bool may_get_chunk_places = false;  // coded chunks of it have their places in the file: FileChanges gives them
    // What the format says of it; null as long as the caller alone knows.
    std::shared_ptr<const formats::Description> description = nullptr;
  };

  StoredArray(std::shared_ptr<Comm> comm, std::shared_ptr<File> file, const Options& options, Known known);

  const std::string& path() const { return known_.path; }
  bool can_grow() const { return known_.can_grow; }
  // What the format has said of it last; null where the caller alone knows.
  std::shared_ptr<const formats::Description> description() const;
  // How often describe() was called.
  int64_t times_described() const { return times_described_; }
  Shape shape() const { return form()->shape(); }
  // Whether Swath moves its elements by itself, not by the format's library.
  bool is_moved_by_us() const { return has_plans() || chunks() != nullptr; }

  // The format says so from now on. `identity`: see identity_of().
  Stored describe(formats::Description description, const std::string& identity);
  // Local, on every rank. The same, in that file: Array::relocate().
  void place(formats::Description description, const std::string& identity, std::shared_ptr<File> file);

  // Collective. Writes the fill value to rows [first, last), this rank's part of each.
  void fill_rows(int64_t first, int64_t last);

 private:
  Known known_;
  const std::vector<std::byte> fill_;
  std::atomic<int64_t> times_described_ = 0;
  mutable PerProcess<std::mutex> describing_;  // guards the description
};

}  // namespace swath
