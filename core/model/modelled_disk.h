// A disk that files lie on: the model of its times, the places of its files, and a name by which a process shares it.
//
// A file is known by its device and inode, whatever engine or thread uses it. Files that were written otherwise than
// through the disk get their places when they are used first, as if one writer had made them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "model/block_allocator.h"
#include "model/disk.h"

namespace swath {

// Every function may be called by any thread.
class ModelledDisk {
 public:
  explicit ModelledDisk(const DiskParameters& parameters);

  // A new, empty file, made at time `born`: whatever had its inode before is forgotten.
  void create(const FileKey& file, int64_t born);
  // A file of so many bytes, which is given places where the disk does not know it yet. A file that was made at another
  // time is another file: file systems give the inode of a removed file to the next one.
  void adopt(const FileKey& file, int64_t born, int64_t bytes);
  void resize(const FileKey& file, int64_t bytes);
  void forget(const FileKey& file);

  // When a request is done that arrives now. `now` is asked while no other request can arrive, so that the disk gets
  // them in the order of their times. Throws kStore (ENOSPC) where a write finds the disk full.
  double transfer(const FileKey& file, Direction direction, int64_t offset, int64_t bytes,
                  const std::function<double()>& now);

  // Other disks from now on; files keep their places.
  void replace(const DiskParameters& parameters);

  DiskParameters parameters() const;
  int64_t request_bytes() const;
  DiskStatistics statistics() const;
  void record(bool on);
  std::vector<HeadPosition> trace() const;

 private:
  mutable std::mutex mutex_;
  DiskModel model_;
  BlockAllocator places_;
  struct KnownFile {
    int64_t born;
    int64_t stream;  // its number in the trace
  };
  std::map<FileKey, KnownFile> files_;
  int64_t next_stream_ = 0;
};

// The disk of that name in this process; made of `preset` where there is none yet, else as it is.
std::shared_ptr<ModelledDisk> modelled_disk(const std::string& name, const std::string& preset);

// Throws kArgument where there is none of that name.
std::shared_ptr<ModelledDisk> find_modelled_disk(const std::string& name);

}  // namespace swath
