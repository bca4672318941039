#include "files/file_changes.h"

#include <utility>

#include "formats/all.h"
#include "formats/files.h"

namespace swath {

using formats::Description;
using formats::FormatFile;

FileChanges::FileChanges(const formats::Format& format, std::string path, Options options)
    : format_(format), path_(std::move(path)), options_(std::move(options)) {}

FileChanges::~FileChanges() = default;

void FileChanges::refuse_replaced(const std::string& doing) const {
  if (open_name_ && !options_.is_new) open_name_->refuse_replaced(doing);
}

FormatFile& FileChanges::file_to_read() {
  if (file_ == nullptr) file_ = formats::open_with(format_, path_, journal_.get(), options_.raw);
  return *file_;
}

FormatFile& FileChanges::file_to_change(const std::string& doing) {
  refuse_replaced(doing);
  if (journal_ == nullptr) begin();
  return file_to_read();
}

void FileChanges::begin() {
  auto journal = changes_of(path_, !options_.is_new);
  refuse_replaced("change");  // checked again: with the journal open, no other program can replace it
  auto file = formats::open_with(format_, path_, journal.get(), options_.raw);
  if (options_.refuse_stale && !options_.is_new) {
    OwnRows own{.given_room = given_room_};
    own.are_variables_as_long_as_dimensions = format_.fills_rows();
    options_.refuse_stale(*file, std::move(own));
  }
  file_ = std::move(file);
  journal_ = std::move(journal);
}

Description FileChanges::extend(const std::string& variable, int64_t rows, std::optional<int64_t> written_from) {
  return change(
      [&](FormatFile& file) {
        given_room_[variable] = rows;
        Description longer = file.extend(variable, rows, written_from);
        if (longer.end > 0) formats::extend(path_, longer.end);
        return longer;
      },
      "append to");
}

Description FileChanges::allocate(const std::string& variable) {
  return change([&](FormatFile& file) {
    Description allocated = file.allocate(variable);
    checkpoint_written();
    return allocated;
  });
}

FileChanges::Moved FileChanges::moved() {
  return read([&](FormatFile& file) {
    const Moved found{file.has_moved_others(), file.has_replaced_file()};
    if (found.file && open_name_) note_name(std::string(open_name_->path()));
    return found;
  });
}

void FileChanges::written(formats::Room room, const std::string& variable) {
  const OneChange one_change(in_use_);
  if (journal_ != nullptr && file_ != nullptr) file_->written(room, variable);
}

bool FileChanges::has_begun() {
  const std::lock_guard one_at_a_time(in_use_.get());
  return journal_ != nullptr;
}

void FileChanges::write_delayed() {
  const OneChange one_change(in_use_);
  if (journal_ != nullptr && file_ != nullptr) file_->write_delayed();
}

Mark FileChanges::mark() {
  return change([&](FormatFile& file) {
    file.write_delayed();
    return journal_->mark();
  });
}

void FileChanges::checkpoint() {
  const OneChange one_change(in_use_);
  write_delayed();
  if (journal_ != nullptr) journal_->checkpoint();
}

void FileChanges::checkpoint_written() {
  if (!has_changed_) checkpoint();
}

void FileChanges::commit() {
  const OneChange one_change(in_use_);
  write_delayed();
  if (journal_ != nullptr) journal_->commit();
}

void FileChanges::end() {
  const OneChange one_change(in_use_);
  if (journal_ == nullptr) return;
  write_delayed();
  file_.reset();
  const std::unique_ptr<Changes> journal = std::move(journal_);
  journal->commit();
  journal->close();
}

// The open file is dropped, since its cached metadata may be outdated.
void FileChanges::undo(const std::optional<Mark>& mark) {
  const OneChange one_change(in_use_);
  file_.reset();
  if (journal_ == nullptr) return;
  mark ? journal_->undo(*mark) : journal_->undo();
}

void FileChanges::take_back() {
  const OneChange one_change(in_use_);
  file_.reset();
  if (journal_ == nullptr) return;
  options_.is_new || is_replaced() ? journal_->abandon() : journal_->undo();
}

void FileChanges::close() {
  if (is_forked()) return;  // the journal belongs to the parent process
  const OneChange one_change(in_use_);
  release();
}

void FileChanges::release() {
  file_.reset();
  if (const std::unique_ptr<Changes> journal = std::move(journal_)) journal->close();
}

void FileChanges::has_name(const std::string& path) {
  const OneChange one_change(in_use_);
  release();
  path_ = path;
  options_.is_new = false;
}

}  // namespace swath
