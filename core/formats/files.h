// Making and sizing the files of any format, with errors that name the path.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "formats/description.h"

namespace swath::formats {

// An empty file that was not there before, removed again unless it is kept. Throws Error{kStore}: with EEXIST where
// the name is taken.
class FreshFile {
 public:
  explicit FreshFile(std::string path);
  ~FreshFile();
  FreshFile(const FreshFile&) = delete;
  FreshFile& operator=(const FreshFile&) = delete;

  // Writes behind what was written before.
  void write(const std::string& bytes);
  // Makes the file so long that it has `bytes`: what is new is a hole that reads as zeros.
  void extend(int64_t bytes);
  void keep() { is_kept_ = true; }

 private:
  const std::string path_;
  int descriptor_ = -1;
  bool is_kept_ = false;
};

// Makes an open file, which is called `path` in errors, at least so long, without writing.
void extend(const std::string& path, int descriptor, int64_t bytes);
// The same of a file by its name.
void extend(const std::string& path, int64_t bytes);

// A part of a file: [begin, end).
struct FileRange {
  int64_t begin;
  int64_t end;
  bool operator==(const FileRange& other) const = default;
};

// The parts of a range of an open file that are not holes; all of it where the file system does not tell.
std::vector<FileRange> stored_ranges(int descriptor, FileRange range);

// Makes a range of an open file zeros. Holes stay holes, and the file does not grow. Throws Refusal.
void clear(int descriptor, FileRange range);

// Throws Error{kFormat}, with both numbers, for a file that is too short for the data.
void check_whole(const Description& description, int64_t file_bytes);

}  // namespace swath::formats
