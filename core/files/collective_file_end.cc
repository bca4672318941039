#include <utility>

#include "array/background_jobs.h"
#include "base/bytes.h"
#include "base/error.h"
#include "comm/nodes.h"
#include "files/collective_file.h"
#include "files/first_rank.h"
#include "files/one_change.h"
#include "formats/serialise.h"
#include "journal/changes.h"

namespace swath {

// A file may have thousands of arrays, and most programs start nothing in the background.
void CollectiveFile::finish_started() const {
  if (!may_have_background_jobs()) return;
  for (const auto& array : arrays()) array->finish_started();
}

void CollectiveFile::fill_unwritten() const {
  for (const auto& array : arrays()) array->fill_unwritten();
}

void CollectiveFile::sync() {
  const OneChange one_change(changing_);
  refuse_closed("sync");
  finish_started();
  complete_records();
  const bool has_records = records_ && !of_records([](Records& all) {
                             all.synced();
                             return all.is_empty();
                           });
  const bool gets_name = is_new() && has_records;
  if (gets_name || !is_new()) fill_unwritten();  // after this sync, added arrays are permanent
  if (gets_name) finish();
  sync_bytes();
  if (gets_name) give_name();
  for (const auto& array : arrays()) array->expect_sync();
}

void CollectiveFile::finish() {
  do_on_first_rank(*comm_, words("finish"), [&] { format_.finish(path()); });
}

// Every write ended with an agreement of the ranks, so no write is in progress on any rank. First, one rank of each
// node syncs the file. Then, if there are changes, rank 0 commits the journal. Without changes the ranks synchronise
// only once.
void CollectiveFile::sync_bytes() {
  bool has_changes = false;
  const std::optional<Error> failure = failure_of([&] {
    if (options_.mode == OpenMode::kReadWrite) refuse_writing("sync");
    changes_->write_delayed();
    if (is_first_of_node(*comm_)) file_->sync();
    has_changes = changes_->has_begun();
  });
  if (agree_same(*comm_, failure ? "" : words("sync"), failure, has_changes)) {
    run_collectively(*comm_, question_of(words("keep changes")), [&] { changes_->commit(); });
  }
  changes_->note_synced();
  has_written_ = false;
}

namespace {

// Completes a new file. If it replaces an existing one, also removes the journal that a killed process has left for
// that one.
void complete_file(AtomicFile& file) {
  std::optional<Replacing> replacing;
  if (file.is_aside()) replacing.emplace(file.final_path());
  file.complete();
  if (replacing) replacing->taken();
}

}  // namespace

void CollectiveFile::give_name() {
  Changed changed = Changed::parse(on_first_rank(*comm_, words("complete"), [&] {
    changes_->close();
    complete_file(*new_file_);
    changes_->has_name(final_path());
    Changed made{.is_other_file = true};
    made.others = changes_->read([&](formats::FormatFile& file) { return described_again(file); });
    return made.serialise();
  }));
  new_file_.reset();
  changes_->has_name(final_path());
  apply(changed);
  changes_->note_synced();
}

bool CollectiveFile::stop() {
  for (const auto& array : arrays()) array->stop();
  return !is_closed_.exchange(true);
}

void CollectiveFile::refuse_lost_writes() const {
  if (has_written_) changes_->refuse_replaced("close");
}

void CollectiveFile::complete() {
  if (is_new() || changes_->has_changed()) {
    fill_unwritten();
    if (is_new()) finish();
    sync_bytes();
  } else if (file_->may_lose_writes()) {
    run_collectively(*comm_, question_of(words("check")), [&] { file_->check_written(); });
  }
  if (is_new()) do_on_first_rank(*comm_, words("complete"), [&] { complete_file(*new_file_); });
}

void CollectiveFile::take_back() {
  if (comm_->rank() != 0 || changes_->is_forked()) return;
  changes_->take_back();
  if (is_new()) new_file_->remove();
}

void CollectiveFile::release() {
  is_closed_ = true;
  const std::optional<Error> failure = failure_of([&] { changes_->close(); });
  for (const auto& array : arrays()) array->release_file();
  file_.reset();
  if (failure) throw *failure;
}

}  // namespace swath
