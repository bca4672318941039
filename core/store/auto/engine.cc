#include "store/auto/engine.h"

#include "store/mapped_view.h"
#include "store/uring/engine.h"

namespace swath {
namespace {

// With fewer requests than this, a ring has nothing to overlap.
constexpr size_t kRequestsWorthARing = 8;

}  // namespace

AutoEngine::AutoEngine(const std::shared_ptr<OpenFile>& file, const EngineOptions& options)
    : FileEngine(file, options.request_bytes_max), options_(options), posix_(file, options.request_bytes_max) {}

std::string AutoEngine::name() const { return name_of(uring_ == nullptr ? "posix" : "posix, uring for cold batches"); }

Capabilities AutoEngine::capabilities() const {
  Capabilities able = FileEngine::capabilities();
  able.shows_cache = file_->faults() == nullptr && able.reports_cached;
  return able;
}

void AutoEngine::transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) {
  if (direction == Direction::kRead && waits_for_device(batch)) {
    if (Engine* engine = uring()) {
      engine->transfer(direction, batch, counters);
      return;
    }
  }
  posix_.transfer(direction, batch, counters);
}

std::unique_ptr<CachedView> AutoEngine::cached_view() {
  return capabilities().shows_cache ? std::make_unique<MappedView>(file_) : nullptr;
}

// Checks three offsets of the batch only: asking the kernel costs about as much as a small read.
bool AutoEngine::waits_for_device(std::span<const Transfer> batch) const {
  if (batch.size() < kRequestsWorthARing || uring_refused_) return false;
  for (const Transfer& probe : {batch.front(), batch[batch.size() / 2], batch.back()}) {
    if (probe.bytes > 0 && file_->cached_part(probe.offset, 1).value_or(0) < 1) return true;
  }
  return false;
}

Engine* AutoEngine::uring() {
  if (uring_ == nullptr && !uring_refused_) {
    std::string reason;
    uring_ = make_uring_engine(file_, options_, reason);
    uring_refused_ = uring_ == nullptr;
  }
  return uring_.get();
}

}  // namespace swath
