#include "model/modelled_disk.h"

#include "base/error.h"
#include "model/presets.h"

namespace swath {

ModelledDisk::ModelledDisk(const DiskParameters& parameters)
    : model_(parameters), places_(model_.capacity_bytes(), parameters.allocation_bytes) {}

void ModelledDisk::create(const FileKey& file, int64_t born) {
  const std::lock_guard guard(mutex_);
  places_.forget(file);
  files_[file] = {born, next_stream_++};
}

void ModelledDisk::adopt(const FileKey& file, int64_t born, int64_t bytes) {
  const std::lock_guard guard(mutex_);
  const auto known = files_.find(file);
  if (known != files_.end() && known->second.born == born) return;
  places_.forget(file);
  places_.write(file, 0, bytes);
  files_[file] = {born, next_stream_++};
}

void ModelledDisk::resize(const FileKey& file, int64_t bytes) {
  const std::lock_guard guard(mutex_);
  places_.resize(file, bytes);
}

void ModelledDisk::forget(const FileKey& file) {
  const std::lock_guard guard(mutex_);
  places_.forget(file);
  files_.erase(file);
}

double ModelledDisk::transfer(const FileKey& file, Direction direction, int64_t offset, int64_t bytes,
                              const std::function<double()>& now) {
  const std::lock_guard guard(mutex_);
  if (direction == Direction::kWrite) places_.write(file, offset, bytes);
  const auto known = files_.find(file);
  const DiskRequest request{
      .stream = known == files_.end() ? -1 : known->second.stream,
      .direction = direction,
      .ranges = places_.ranges(file, offset, bytes),
  };
  return model_.serve(request, now());
}

void ModelledDisk::replace(const DiskParameters& parameters) {
  const std::lock_guard guard(mutex_);
  model_.replace(parameters);
}

DiskParameters ModelledDisk::parameters() const {
  const std::lock_guard guard(mutex_);
  return model_.parameters();
}

int64_t ModelledDisk::request_bytes() const {
  const std::lock_guard guard(mutex_);
  return model_.parameters().request_bytes;
}

DiskStatistics ModelledDisk::statistics() const {
  const std::lock_guard guard(mutex_);
  return model_.statistics();
}

void ModelledDisk::record(bool on) {
  const std::lock_guard guard(mutex_);
  model_.record(on);
}

std::vector<HeadPosition> ModelledDisk::trace() const {
  const std::lock_guard guard(mutex_);
  return model_.trace();
}

namespace {

struct Names {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<ModelledDisk>> disks;
};

Names& names() {
  static Names all;
  return all;
}

}  // namespace

std::shared_ptr<ModelledDisk> modelled_disk(const std::string& name, const std::string& preset) {
  const DiskParameters& parameters = disk_preset(preset);
  const std::lock_guard guard(names().mutex);
  std::shared_ptr<ModelledDisk>& disk = names().disks[name];
  if (disk == nullptr) disk = std::make_shared<ModelledDisk>(parameters);
  return disk;
}

std::shared_ptr<ModelledDisk> find_modelled_disk(const std::string& name) {
  const std::lock_guard guard(names().mutex);
  const auto found = names().disks.find(name);
  if (found != names().disks.end()) return found->second;
  std::string known;
  for (const auto& [other, disk] : names().disks) known += (known.empty() ? "" : ", ") + other;
  fail_argument("modelled disk \"" + name + "\": expected one that a file was opened on (engine \"model:PRESET@" +
                name + "\"); there are " + (known.empty() ? "none" : known));
}

}  // namespace swath
