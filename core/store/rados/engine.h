// Requests as RADOS operations: each reads or writes many ranges of one object.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "store/background_batch.h"
#include "store/rados/file.h"
#include "store/rados/lists.h"
#include "store/rados/operation.h"

namespace swath {

class RadosEngine : public Engine {
 public:
  RadosEngine(std::shared_ptr<RadosFile> file, const EngineOptions& options);

  std::string name() const override { return "rados"; }
  const std::string& path() const override { return file_->path(); }
  Capabilities capabilities() const override;
  void transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) override;
  // Transfers lists of ranges, each as long as its object allows, with many in flight.
  void transfer_structured(Direction direction, const StructuredTransfer& structured, Counters& counters) override;
  void start(Direction direction, std::span<const Transfer> batch) override;
  void start_structured(Direction direction, const StructuredTransfer& structured) override;
  void wait(Counters& counters) override { background_.wait(counters); }
  // Without a lock: each object is written only if it did not change since it was read; else the update is repeated.
  void update(const Transfer& image, bool has_holes, const std::function<void(std::byte*)>& fill_in,
              Counters& counters) override;
  std::unique_ptr<RangeLock> lock(int64_t /*begin*/, int64_t /*end*/) override { return nullptr; }
  int64_t size() const override { return file_->size(); }
  void resize(int64_t bytes) override { file_->resize(bytes); }
  void sync() override { file_->sync(); }
  void check_written() override { file_->check_written(); }

 private:
  void check(Direction direction, std::span<const Transfer> batch, Flight& flight) const;
  void check_end(Direction direction, const Transfer& last, Flight& flight) const;
  void grow(const Transfer& last) const;
  void move_slice(Direction direction, const StructuredTransfer& structured, const Slice& slice, Flight& flight) const;
  void transfer_batch(Direction direction, std::span<const Transfer> batch, Counters& counters) const;
  void move_structured(Direction direction, const StructuredTransfer& structured, Counters& counters) const;

  // Lists of ranges; each is started when it is full.
  ObjectLists lists(Direction direction, Flight& flight) const;

  const std::shared_ptr<RadosFile> file_;
  const int64_t operation_bytes_max_;
  const int64_t in_flight_max_;  // for the objects at one position in a stripe
  BackgroundBatch background_;   // last, so that its thread ends before what it uses
};

}  // namespace swath
