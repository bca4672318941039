#include "formats/hdf5/journalled_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "journal/target_lock.h"
#include "store/file_calls.h"

namespace swath::formats::hdf5 {
namespace {

constexpr int64_t kHeldBytesMax = int64_t{16} << 20;

std::string_view as_chars(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

JournalledFile::JournalledFile(Changes& changes) : changes_(changes) {
  store_errors(changes_.path(), "open", [&] {
    file_ = file_calls::open_file(changes_.path(), O_RDWR);
    size_ = file_calls::status_of(file_.get()).st_size;
  });
  number_ = file_.get();
}

// A forked child shares the lock with its parent; only the parent may release it.
JournalledFile::~JournalledFile() {
  if (made_in_ == fork_generation()) file_calls::unlock(file_.get());
}

// ---- a change -------------------------------------------------------------------------------------------------------

bool JournalledFile::begin() {
  if (!try_lock_target(file_.get())) return false;
  size_before_ = size_ =
      store_errors(changes_.path(), "change", [&] { return int64_t{file_calls::status_of(file_.get()).st_size}; });
  is_changing_ = true;
  return true;
}

void JournalledFile::end() noexcept {
  is_changing_ = false;
  mark_.reset();
}

bool JournalledFile::allow_readers() noexcept { return share_target(file_.get()); }

void JournalledFile::undo() {
  is_changing_ = false;
  held_.clear();
  held_bytes_ = 0;
  reserved_.clear();
  if (mark_) changes_.undo(*mark_);
  mark_.reset();
}

// Keeps the exception of `work`; later writes of this change are not done.
template <typename Work>
void JournalledFile::attempt(const Work& work) noexcept {
  try {
    store_errors(changes_.path(), "write", work);
  } catch (const Error& error) {
    failure_ = error;
  } catch (const std::exception& error) {
    failure_ = Error(ErrorKind::kStore, error.what(), ENOMEM);
  }
}

void JournalledFile::mark() {
  if (!mark_) mark_ = changes_.mark();
}

void JournalledFile::flush() noexcept {
  if (is_written_to() && (!held_.empty() || !reserved_.empty())) attempt([&] { write_held(); });
  held_.clear();
  held_bytes_ = 0;
  reserved_.clear();
}

void JournalledFile::write_held() {
  mark();
  changes_.keep_all(file_.get(), reserved_);
  std::vector<KeptRange> overwritten;
  for (const auto& [offset, data] : held_) overwritten.push_back({offset, std::ssize(data)});
  changes_.keep_all(file_.get(), overwritten);
  for (const auto& [offset, data] : held_) file_calls::write_at(file_.get(), data, offset);
}

bool JournalledFile::is_held(int64_t offset, int64_t bytes) const {
  return std::any_of(held_.begin(), held_.end(), [&](const auto& held) {
    return held.first < offset + bytes && offset < held.first + std::ssize(held.second);
  });
}

// ---- what the library calls -----------------------------------------------------------------------------------------

// After a failed write, the library reads zeros, or the old bytes.
bool JournalledFile::read(int64_t offset, std::span<std::byte> target) noexcept {
  if (is_held(offset, std::ssize(target))) flush();
  try {
    const std::string found = file_calls::read_at(file_.get(), std::ssize(target), offset);
    std::memcpy(target.data(), found.data(), found.size());
    std::memset(target.data() + found.size(), 0, target.size() - found.size());
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void JournalledFile::write(int64_t offset, std::span<const std::byte> data) noexcept {
  if (!is_changing_) return;
  const auto bytes = std::ssize(data);
  size_ = std::max(size_, offset + bytes);
  if (!is_written_to()) return;
  if (blank_ != nullptr && data.data() == blank_) return attempt([&] { reserve({offset, bytes}); });
  attempt([&] {
    const auto over = static_cast<size_t>(std::clamp<int64_t>(size_before_ - offset, 0, bytes));
    mark();
    if (over < data.size()) {
      file_calls::write_at(file_.get(), as_chars(data.subspan(over)), offset + static_cast<int64_t>(over));
    }
    if (over == 0) return;
    held_.emplace_back(offset, as_chars(data.first(over)));
    held_bytes_ += static_cast<int64_t>(over);
  });
  if (held_bytes_ > kHeldBytesMax) flush();
}

// A file that has no name yet needs no records here, which could be as long as all its data: an undo would lose the new
// elements anyway.
void JournalledFile::reserve(KeptRange range) {
  mark();
  room_.push_back(range);
  const int64_t over = std::min(size_before_ - range.offset, range.bytes);
  if (over > 0 && changes_.is_durable()) reserved_.push_back({range.offset, over});
}

void JournalledFile::truncate(int64_t bytes) noexcept {
  if (!is_changing_) return;
  flush();
  if (is_written_to()) {
    attempt([&] {
      // the file already includes the space that others write
      if (file_calls::status_of(file_.get()).st_size == bytes) return;
      mark();
      changes_.keep(file_.get(), bytes, std::max<int64_t>(size_before_ - bytes, 0));
      file_calls::set_size(file_.get(), bytes);
    });
  }
  size_ = bytes;
}

}  // namespace swath::formats::hdf5
