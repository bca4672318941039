// One array of an open file, with the current layout of its elements in the file. CollectiveFile makes it.
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
    std::string path;                   // in the file: "ocean/t"; "" if the format holds one array without a name
    bool can_grow = false;              // it can grow along its first dimension
    bool may_get_chunk_places = false;  // the file has a chunk table, and FileChanges allocates chunks in it
    // The format's description; null if the caller has described the array.
    std::shared_ptr<const formats::Description> description = nullptr;
  };

  StoredArray(std::shared_ptr<Comm> comm, std::shared_ptr<File> file, const Options& options, Known known);

  const std::string& path() const { return known_.path; }
  bool can_grow() const { return known_.can_grow; }
  // The format's latest description; null if the caller has described the array.
  std::shared_ptr<const formats::Description> description() const;
  // The number of calls of describe().
  int64_t times_described() const { return times_described_; }
  Shape shape() const { return form()->shape(); }
  // True if Swath transfers the elements itself; false if the format's library does.
  bool is_moved_by_us() const { return has_plans() || chunks() != nullptr; }

  // Sets a new description of the format. `identity`: see identity_of().
  Stored describe(formats::Description description, const std::string& identity);
  // Local, called on every rank. The same for an array that has moved, perhaps to another file: Array::relocate().
  void relocate_to(formats::Description description, const std::string& identity, std::shared_ptr<File> file);

  // Collective. Writes the fill value to rows [first, last); each rank writes a part.
  void fill_rows(int64_t first, int64_t last);

 private:
  Known known_;
  const std::vector<std::byte> fill_;
  std::atomic<int64_t> times_described_ = 0;
  mutable PerProcess<std::mutex> describing_;  // guards the description
};

}  // namespace swath
