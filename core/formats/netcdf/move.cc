#include "formats/netcdf/move.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <ranges>
#include <string>

#include "formats/files.h"
#include "store/file_calls.h"

namespace swath::formats::netcdf {

int64_t moved_bytes_max = int64_t{4} << 20;

namespace {

using file_calls::read_at;
using file_calls::write_at;

struct Files {
  int source;
  int target;

  bool are_one() const { return source == target; }
};

bool is_stored(int descriptor, int64_t begin, int64_t bytes) {
  return !stored_ranges(descriptor, {begin, begin + bytes}).empty();
}

// The file system copies the bytes itself if it can; the rest is read and written.
void copy(const Files& files, FileRange range, int64_t to) {
  while (range.begin < range.end) {
    off_t from = range.begin;
    off_t where = to;
    const ssize_t done =
        copy_file_range(files.source, &from, files.target, &where, static_cast<size_t>(range.end - range.begin), 0);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) break;
    range.begin += done;
    to += done;
  }
  if (range.begin < range.end) {
    write_at(files.target, read_at(files.source, range.end - range.begin, range.begin), to);
  }
}

std::vector<FileRange> merged(std::vector<FileRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const FileRange& a, const FileRange& b) {
    return a.begin < b.begin || (a.begin == b.begin && a.end < b.end);
  });
  std::vector<FileRange> found;
  for (const FileRange& range : ranges) {
    if (!found.empty() && range.begin <= found.back().end) {
      found.back().end = std::max(found.back().end, range.end);
    } else {
      found.push_back(range);
    }
  }
  return found;
}

// Moves bytes to a higher offset of the same file, the last bytes first.
void shift_in_place(int descriptor, FileRange range, int64_t by) {
  // A hole is moved, too, if there are bytes at its new place: they must become zeros.
  std::vector<FileRange> parts = stored_ranges(descriptor, range);
  for (const FileRange& covered : stored_ranges(descriptor, {range.begin + by, range.end + by})) {
    const FileRange part{std::max(covered.begin - by, range.begin), std::min(covered.end - by, range.end)};
    if (part.begin < part.end) parts.push_back(part);
  }
  parts = merged(std::move(parts));
  for (auto& part : std::views::reverse(parts)) {
    for (int64_t end = part.end; end > part.begin; end -= moved_bytes_max) {
      const int64_t at = std::max(end - moved_bytes_max, part.begin);
      write_at(descriptor, read_at(descriptor, end - at, at), at + by);
    }
  }
}

void shift(const Files& files, int64_t begin, int64_t bytes, int64_t to) {
  const int64_t end = std::min<int64_t>(begin + bytes, file_calls::status_of(files.source).st_size);
  if (files.are_one()) {
    if (to != begin) shift_in_place(files.source, {begin, end}, to - begin);
    return;
  }
  for (const FileRange& stored : stored_ranges(files.source, {begin, end})) {
    for (int64_t at = stored.begin; at < stored.end; at += moved_bytes_max) {
      copy(files, {at, std::min(at + moved_bytes_max, stored.end)}, at - begin + to);
    }
  }
}

// Moves several small pieces at once, with zeros between them.
void spread(const Files& files, const Move& move, int64_t first, int64_t count) {
  const int64_t begin = move.begin + first * move.step;
  const int64_t to = move.to + first * move.new_step;
  if (!is_stored(files.source, begin, count * move.step) && !is_stored(files.target, to, count * move.new_step)) return;
  std::string data = read_at(files.source, count * move.step, begin);
  data.resize(static_cast<size_t>(count * move.step));
  std::string pieces(static_cast<size_t>(count * move.new_step), '\0');
  for (int64_t piece = 0; piece < count; ++piece) {
    std::copy_n(data.begin() + piece * move.step, move.step, pieces.begin() + piece * move.new_step);
  }
  write_at(files.target, pieces, to);
}

// Moves the pieces from the last to the first: one large piece, or as many small ones as fit, at a time.
void move_pieces(const Files& files, const Move& move) {
  const int64_t at_once = std::max<int64_t>(1, moved_bytes_max / move.new_step);
  for (int64_t first = (move.count - 1) / at_once * at_once; first >= 0; first -= at_once) {
    const int64_t count = std::min(at_once, move.count - first);
    if (count > 1) {
      spread(files, move, first, count);
      continue;
    }
    const int64_t to = move.to + first * move.new_step;
    shift(files, move.begin + first * move.step, move.step, to);
    clear(files.target, {to + move.step, to + move.new_step});
  }
}

}  // namespace

void move_in_place(int descriptor, const std::vector<Move>& moves) {
  for (const Move& move : moves) move_pieces({descriptor, descriptor}, move);
}

void copy_moved(int source, int target, const std::vector<Move>& moves) {
  for (const Move& move : moves) move_pieces({source, target}, move);
}

}  // namespace swath::formats::netcdf
