// Code that formats of one array without a name share: .npy, raw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/format.h"
#include "store/engine.h"

namespace swath::formats {

// An existing file, open for reading; also in a pool.
class StoredFile {
 public:
  explicit StoredFile(const std::string& path) : engine_(open_engine(path, OpenMode::kRead, {})) {}

  int64_t bytes() const { return engine_->size(); }
  // Returns fewer bytes at the end of the file.
  std::string read(int64_t offset, int64_t bytes) const;

 private:
  std::unique_ptr<Engine> engine_;
};

// Creates a file of this many bytes that begins with `header`; the rest is a hole. Throws Error{kStore} with EEXIST if
// the name exists. After an error nothing is left.
void create_stored_file(const std::string& path, std::string_view header, int64_t bytes);

// A description without the positions of the elements.
Description one_array(const std::string& path, std::string format, Shape shape, ElementType type);
// The metadata of a file of one array, which do not change.
std::unique_ptr<FormatFile> open_one_array(Description description, Changes* changes);

// Throws Error{kFormat} if an array of this shape, from byte `begin` on, is beyond 64-bit offsets.
int64_t bytes_of_array(const std::string& path, const Shape& shape, int64_t element_bytes, int64_t begin);
// Throws Error{kUnsupported} if the elements, or fields of them, are Python objects.
void refuse_objects(const std::string& path, const ElementType& type);

// The only array of a new file. Throws Error{kArgument} if there are none or several, or if the fill value is not one
// element. `format`: for messages.
const NewArray& only_array(const NewContents& contents, std::string_view format);
// Throws Error{kArgument} if the array has a name, names of dimensions, attributes, chunks or codecs.
void refuse_names_and_chunks(const NewArray& array, std::string_view format);

// The message of what an attempt throws; none if it succeeds.
template <typename Attempt>
std::vector<std::string> refused(const Attempt& attempt) {
  try {
    attempt();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kArgument && error.kind() != ErrorKind::kUnsupported) throw;
    return {error.what()};
  }
  return {};
}

}  // namespace swath::formats
