// An engine with the timing of a modelled disk: posix moves the bytes, the model gives the completion time of each
// request, and the thread sleeps until then on its own clock. In a simulation (comm/simulated.h) this takes no real
// time.
//
//   model:PRESET          the disk with the preset's name (model/presets.h)
//   model:PRESET@NAME     the disk NAME; its first use creates it from the preset
//
// All files that a process opens with the same disk name are on one disk. The disk gets requests of the preset's size,
// one at a time from each thread, so that streams interleave as on a real disk. Nothing is ever cached.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/modelled_disk.h"
#include "store/background.h"
#include "store/open_file.h"
#include "store/posix/engine.h"

namespace swath {

class ModelEngine : public FileEngine {
 public:
  ModelEngine(const std::shared_ptr<OpenFile>& file, std::shared_ptr<ModelledDisk> disk, int64_t request_bytes_max);
  ~ModelEngine() override;
  ModelEngine(const ModelEngine&) = delete;
  ModelEngine& operator=(const ModelEngine&) = delete;

  // "modelled disk p690-raid5".
  std::string name() const override { return "modelled disk " + disk_->parameters().name; }
  // Reports that nothing is cached, independent of the page cache.
  Capabilities capabilities() const override;
  void transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) override;
  // In a simulation only the ranks' threads can wait: wait() carries out the batch.
  void start(Direction direction, std::span<const Transfer> batch) override;
  void wait(Counters& counters) override;
  bool read_cached(const Transfer& /*piece*/, Counters& /*counters*/) override { return false; }
  void will_need(int64_t /*offset*/, int64_t /*bytes*/) override {}
  void set_write_behind(bool /*wanted*/) override {}  // a modelled disk takes its own time for every write
  std::optional<double> cached_part(int64_t offset, int64_t bytes) const override;
  void resize(int64_t bytes) override;

 private:
  void transfer_batch(Direction direction, std::span<const Transfer> batch, Counters& counters);

  const std::shared_ptr<ModelledDisk> disk_;
  FileKey key_;
  PosixEngine posix_;
  bool remembered_ = false;  // a deferred batch, for wait()
  Direction started_direction_ = Direction::kRead;
  std::vector<Transfer> started_batch_;
  Counters started_counters_;
  Background background_;  // last, so that its thread ends before what it uses
};

// Tells the disk that a file was just created: its inode number may have belonged to another file.
void add_new_file(const OpenFile& file, ModelledDisk& disk);

// The disk named by "PRESET" or "PRESET@NAME". Throws Error{kArgument} with a list of the presets.
std::shared_ptr<ModelledDisk> modelled_disk_of(const std::string& rule);

}  // namespace swath
