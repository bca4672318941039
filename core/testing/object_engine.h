// An object store without servers: a file that is accessed, and whose requests are counted, as in a pool. Lists and
// descriptions are cut as for objects; another engine moves the bytes of each request.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "layout/as_view.h"
#include "plan/object_counts.h"
#include "rados_class/cut_requests.h"
#include "store/background_batch.h"
#include "store/engine.h"
#include "testing/naive.h"

namespace swath::testing {

inline StripeMap random_stripes(Random& random) {
  const int64_t unit = random.one_of<int64_t>({1, 7, 64, 500, 64 << 10});
  return {unit, static_cast<int32_t>(random.between(1, 4)), unit * random.one_of<int64_t>({1, 3, 50})};
}

class ObjectEngine final : public Engine {
 public:
  ObjectEngine(std::unique_ptr<Engine> engine, const StripeMap& stripes, bool takes_descriptions = true)
      : engine_(std::move(engine)), able_(capabilities_of(stripes, takes_descriptions)) {}

  static Capabilities capabilities_of(const StripeMap& stripes, bool takes_descriptions = true) {
    return {.read_ranges_max = 40,
            .write_ranges_max = 7,
            .structured_requests = takes_descriptions,
            .lock_for_holes = false,
            .reads_ahead = false,
            .durable_when_answered = true,
            .stripes = stripes};
  }

  std::string name() const override { return "objects in " + engine_->name(); }
  const std::string& path() const override { return engine_->path(); }
  Capabilities capabilities() const override { return able_; }

  void transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) override {
    ListCounter lists(stripes_of(*able_.stripes), able_.ranges_max(direction), kObjectOperationBytesMax);
    int64_t bytes = 0;
    for (const Transfer& transfer : batch) {
      lists.add(transfer.offset, transfer.bytes);
      bytes += transfer.bytes;
    }
    lists.flush();
    move(direction, batch);
    count(direction, lists.counted().operations, bytes, counters);
  }

  void transfer_structured(Direction direction, const StructuredTransfer& structured, Counters& counters) override {
    if (!structured.as_described || !able_.structured_requests) {
      return Engine::transfer_structured(direction, structured, counters);
    }
    structured.access.visit(structured.begin, structured.end, [&](const Slice& slice) {
      const ViewRegions regions = as_view(slice.regions);
      const Nest& nest = regions.file().nest;
      const int64_t skipped = regions.file().first;
      const Regions all = ViewRegions(View::all(nest), regions.memory(), regions.memory_first() - skipped);
      const int64_t element_bytes = slice.regions.element_bytes();
      RequestCuts cuts(stripes_of(*able_.stripes), nest);
      cuts.visit(slice.first * element_bytes + skipped, slice.last * element_bytes + skipped,
                 [&](const RequestCut& cut) {
                   move(direction, pieces_of(structured, cut, all, slice.part));
                   count(direction, 1, cut.bytes, counters);
                 });
      if (structured.bytes_done != nullptr) *structured.bytes_done += slice.bytes();
    });
    descriptions += 1;
  }

  void start(Direction direction, std::span<const Transfer> batch) override {
    background_.start(path(), batch, [this, direction](std::span<const Transfer> started, Counters& counters) {
      transfer(direction, started, counters);
    });
  }
  void start_structured(Direction direction, const StructuredTransfer& structured) override {
    background_.start(path(), [this, direction, structured](Counters& counters) {
      transfer_structured(direction, structured, counters);
    });
  }
  void wait(Counters& counters) override { background_.wait(counters); }

  // Other writers' bytes are not lost: this uses a lock of the file, which is not counted.
  void update(const Transfer& image, bool has_holes, const std::function<void(std::byte*)>& fill_in,
              Counters& counters) override {
    const auto held = engine_->lock(image.offset, image.offset + image.bytes);
    Engine::update(image, has_holes, fill_in, counters);
  }
  std::unique_ptr<RangeLock> lock(int64_t /*begin*/, int64_t /*end*/) override { return nullptr; }
  int64_t size() const override { return engine_->size(); }
  void resize(int64_t bytes) override { engine_->resize(bytes); }
  void sync() override { engine_->sync(); }

  int64_t descriptions = 0;  // structured transfers that were executed from their description

 private:
  std::vector<Transfer> pieces_of(const StructuredTransfer& structured, const RequestCut& cut, const Regions& all,
                                  size_t part) const {
    const StripeLayout stripes = stripes_of(*able_.stripes);
    std::vector<Transfer> pieces;
    for (const auto& [first, last] : cut.parts) {
      const Slice slice{all, first, last, part};
      StructuredTransfer unbounded = structured;
      unbounded.pieces_max = INT64_MAX;
      flatten(unbounded, slice, pieces, [] {});
    }
    for (const Transfer& piece : pieces) {  // a request may contain bytes of its own object only
      const StripePiece placed = stripes.piece_at(piece.offset, piece.bytes);
      if (placed.object != cut.object || placed.bytes != piece.bytes) {
        throw Error(ErrorKind::kInternal, "a request for object " + std::to_string(cut.object) + " names bytes of " +
                                              std::to_string(placed.object));
      }
    }
    return pieces;
  }

  void move(Direction direction, std::span<const Transfer> pieces) {
    Counters ignored;
    engine_->transfer(direction, pieces, ignored);
  }

  static void count(Direction direction, int64_t operations, int64_t bytes, Counters& counters) {
    if (direction == Direction::kRead) {
      counters.read_requests += operations;
      counters.read_bytes += bytes;
    } else {
      counters.write_requests += operations;
      counters.written_bytes += bytes;
    }
  }

  const std::unique_ptr<Engine> engine_;
  const Capabilities able_;
  BackgroundBatch background_;  // declared last, so that its thread ends before the members that it uses
};

}  // namespace swath::testing
