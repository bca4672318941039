// Creates files of any format and changes their lengths; errors name the path.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "formats/description.h"

namespace swath::formats {

// Creates an empty file, and removes it again unless it is kept. Throws Error{kStore}, with EEXIST if the name exists.
class FreshFile {
 public:
  explicit FreshFile(std::string path);
  ~FreshFile();
  FreshFile(const FreshFile&) = delete;
  FreshFile& operator=(const FreshFile&) = delete;

  // Writes after the bytes that were written before.
  void write(const std::string& bytes);
  // Makes the file at least this long: the new part is a hole, which reads as zeros.
  void extend(int64_t bytes);
  void keep() { is_kept_ = true; }

 private:
  const std::string path_;
  int descriptor_ = -1;
  bool is_kept_ = false;
};

// Makes an open file at least this long, without writing; errors call it `path`.
void extend(const std::string& path, int descriptor, int64_t bytes);
// The same for a file by its name.
void extend(const std::string& path, int64_t bytes);

// A part of a file: [begin, end).
struct FileRange {
  int64_t begin;
  int64_t end;
  bool operator==(const FileRange& other) const = default;
};

// The parts of a range of an open file that are not holes; the whole range if the file system does not report holes.
std::vector<FileRange> stored_ranges(int descriptor, FileRange range);

// Sets a range of an open file to zeros. Holes stay holes, and the file does not grow. Throws Refusal.
void clear(int descriptor, FileRange range);

// Throws Error{kFormat}, with both lengths, if the file is too short for the data.
void check_whole(const Description& description, int64_t file_bytes);

}  // namespace swath::formats
