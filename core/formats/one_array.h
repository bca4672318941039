// What formats of one array without a name have in common: .npy, raw.
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

// An existing file, open for reading, in a pool too.
class StoredFile {
 public:
  explicit StoredFile(const std::string& path) : engine_(open_engine(path, OpenMode::kRead, {})) {}

  int64_t bytes() const { return engine_->size(); }
  // Of what lies behind the end nothing.
  std::string read(int64_t offset, int64_t bytes) const;

 private:
  std::unique_ptr<Engine> engine_;
};

// A file of so many bytes that begins with `header`; the rest are holes. Throws Error{kStore} with EEXIST where the
// name is taken; nothing is left behind where it throws.
void create_stored_file(const std::string& path, std::string_view header, int64_t bytes);

// A description but for its places.
Description one_array(const std::string& path, std::string format, Shape shape, ElementType type);
// Its metadata, which do not change.
std::unique_ptr<FormatFile> open_one_array(Description description, Changes* changes);

// Throws Error{kFormat} where an array of so many elements from byte `begin` on is beyond 64-bit offsets.
int64_t bytes_of_array(const std::string& path, const Shape& shape, int64_t element_bytes, int64_t begin);
// Throws Error{kUnsupported} where the elements, or fields of them, are Python objects.
void refuse_objects(const std::string& path, const ElementType& type);

// The array that a new file is to hold. Throws Error{kArgument} where there are several, or none, or its
// fill value is not one element. `format`: in messages.
const NewArray& only_array(const NewContents& contents, std::string_view format);
// Throws Error{kArgument} for a name, names of dimensions, attributes, chunks and codecs.
void refuse_names_and_chunks(const NewArray& array, std::string_view format);

// What an attempt throws, in words; nothing where it succeeds.
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
