#include <utility>

#include "array/array.h"
#include "array/file.h"
#include "base/bytes.h"
#include "base/error.h"
#include "comm/nodes.h"
#include "files/array_form.h"
#include "files/data_file.h"
#include "files/file_array.h"
#include "files/file_changes.h"
#include "files/first_rank.h"
#include "files/one_change.h"
#include "formats/description.h"
#include "formats/format.h"
#include "formats/serialise.h"
#include "store/atomic_file.h"

namespace swath {

using formats::Description;

void DataFile::finish_started() {
  for (const auto& [path, array] : arrays_) array->array().finish_started();
}

void DataFile::fill_unwritten() {
  for (const auto& [path, array] : arrays_) array->array().fill_unwritten();
}

void DataFile::sync() {
  const OneChange one_change(changing_);
  const CollectiveTurnScope turn(comm_->size() > 1 ? &comm_->turn() : nullptr, "sync", final_path_);
  refuse_closed("sync");
  finish_started();
  complete_records();
  if (records_) records_->synced();
  const bool gets_name = atomic_file_ != nullptr && records_ && !records_->is_empty();
  if (gets_name || atomic_file_ == nullptr) fill_unwritten();  // an array that is added stays from now on
  if (gets_name) do_on_first_rank(*comm_, words("finish"), [&] { format_.finish(changes_->path()); });
  sync_bytes();
  if (gets_name) give_name();
  for (const auto& [path, array] : arrays_) array->array().expect_sync();
}

void DataFile::sync_bytes() {
  run_collectively(*comm_, question_of(words("sync")), [&] {
    if (mode_ != OpenMode::kReadWrite) return;
    refuse_writing("sync");
    if (is_first_of_node(*comm_)) file_->sync();
  });
  do_on_first_rank(*comm_, words("keep changes"), [&] { changes_->end(); });
  changes_->note_synced();
}

void DataFile::give_name() {
  do_on_first_rank(*comm_, words("complete"), [&] {
    changes_->close();
    atomic_file_->complete();
  });
  atomic_file_.reset();
  changes_->has_name(final_path_);
  const auto others = on_first_rank(*comm_, words("describe again"), [&] {
    ByteWriter writer;
    writer.put(std::ssize(arrays_));
    for (const auto& [path, array] : arrays_) {
      formats::put(writer, changes_->read([&](formats::FormatFile& file) { return file.describe(path); }));
    }
    return writer.take();
  });
  open_bytes(words("open again"));
  ByteReader reader("what rank 0 found", others);
  for (int64_t i = reader.count(1); i > 0; --i) {
    Description described = formats::next_description(reader);
    const std::string identity = identity_of(described, final_path_, number_);
    arrays_.at(described.variable.value_or(""))->relocate(std::move(described), identity, file_);
  }
}

void DataFile::close() {
  const OneChange one_change(changing_);
  if (is_closed_) return;
  if (changes_->is_forked()) {  // nothing of it is this process's
    is_closed_ = true;
    release();
    return;
  }
  const CollectiveTurnScope turn(comm_->size() > 1 ? &comm_->turn() : nullptr, "close", final_path_);
  try {
    complete_records();
    for (const auto& [path, array] : arrays_) array->array().stop();
    is_closed_ = true;
    agree_same(*comm_, words("close"));
    complete();
  } catch (...) {
    is_closed_ = true;
    take_back();
    release();
    throw;
  }
  release();
}

void DataFile::complete() {
  if (atomic_file_ != nullptr || changes_->has_changed()) {
    fill_unwritten();
    if (atomic_file_ != nullptr) do_on_first_rank(*comm_, words("finish"), [&] { format_.finish(changes_->path()); });
    sync_bytes();
  } else if (file_->may_lose_writes()) {
    run_collectively(*comm_, question_of(words("check")), [&] { file_->check_written(); });
  }
  if (atomic_file_ != nullptr) do_on_first_rank(*comm_, words("complete"), [&] { atomic_file_->complete(); });
}

void DataFile::take_back() noexcept {
  if (comm_->rank() != 0 || changes_ == nullptr || changes_->is_forked()) return;
  const auto ignored = failure_of([&] {
    changes_->take_back();
    if (atomic_file_ != nullptr) atomic_file_->remove();
  });
  static_cast<void>(ignored);  // what went wrong before is what is thrown
}

void DataFile::release() noexcept {
  const auto ignored = failure_of([&] {
    if (changes_ != nullptr) changes_->close();
  });
  static_cast<void>(ignored);
  for (const auto& [path, array] : arrays_) array->array().release_file();
  arrays_.clear();
  file_.reset();
}

}  // namespace swath
