// Operations on an array as a whole: fill, sync, complete, close.
#include "array/array_turn.h"
#include "array/collectively.h"

namespace swath {

void Array::fill(Comm& comm) {
  run_collectively(comm, question("fill"), [this] { fill_own_part(); });
  is_unfilled_ = false;
}

void Array::fill_own_part() {
  const Layout& layout = *form()->layout();
  const int64_t element_bytes = layout.element_bytes();
  const int64_t elements = layout.is_chunked() ? layout.chunk_bytes() / element_bytes : element_count(layout.shape());
  const int64_t first = elements * comm_->rank() / comm_->size() * element_bytes;
  const int64_t last = elements * (comm_->rank() + 1) / comm_->size() * element_bytes;
  const auto lease = file_->engine().lease();
  for (int64_t panel = 0; panel < layout.panel_count(); ++panel) {
    const int64_t begin = layout.panel(panel).offset;
    fill_range(*lease, begin + first, begin + last, fill_);
  }
}

void Array::close() {
  const CollectiveTurnScope turn(comm_->size() > 1 ? &comm_->turn() : nullptr, "close", name_);
  if (!stop()) return;
  try {
    agree_on(*comm_, question("close"), std::nullopt, RankInputs{});
    if (new_file_ != nullptr) {
      finish();
    } else if (file()->may_lose_writes()) {
      run_collectively(*comm_, question("check"), [this] { file()->check_written(); });
    }
  } catch (...) {
    if (new_file_ != nullptr && comm_->rank() == 0) new_file_->remove();
    release_file();
    throw;
  }
  release_file();
}

bool Array::stop() {
  background_.finish();
  return gate_.close();
}

void Array::release_file() {
  plans_->clear();
  std::shared_ptr<File> file;
  const std::lock_guard guard(mutex_.get());
  file_.swap(file);
}

void Array::sync() {
  background_.finish();
  const Passage passage(*this, Gate::Use::kConcurrent, *comm_, "sync");
  sync_file();
}

void Array::sync_file() {
  // Every write ended with an agreement: no rank's write is still in progress.
  run_collectively(*comm_, question("sync"), [this] {
    if (is_first_of_node_) file()->sync();
  });
  will_sync_ = true;
}

void Array::fill_unwritten() {
  if (!is_unfilled_) return;
  const auto open = file();
  const File::WriteTurn turn(*open);
  if (is_unfilled_) fill(*comm_);
}

void Array::finish() {
  fill_unwritten();
  sync_file();
  run_collectively(*comm_, question("complete"), [this] {
    if (comm_->rank() == 0) new_file_->complete();
  });
}

}  // namespace swath
