// A disk with files: the model of its timing, the places of its files, and a name by which a process shares it.
//
// A file is known by its device and inode, for every engine and thread. Files that were written without this disk get
// places at first use, as if one writer had made them.
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

// Any thread may call every function.
class ModelledDisk {
 public:
  explicit ModelledDisk(const DiskParameters& parameters);

  // A new, empty file, made at time `born`: an earlier file of its inode is forgotten.
  void create(const FileKey& file, int64_t born);
  // A file of so many bytes; it gets places if the disk does not know it yet. A file with another time of creation is
  // another file: file systems reuse inodes of removed files.
  void adopt(const FileKey& file, int64_t born, int64_t bytes);
  void resize(const FileKey& file, int64_t bytes);
  void forget(const FileKey& file);

  // The completion time of a request that arrives now. `now` is called under the disk's lock, so that requests arrive
  // in the order of their times. Throws kStore (ENOSPC) if a write finds the disk full.
  double transfer(const FileKey& file, Direction direction, int64_t offset, int64_t bytes,
                  const std::function<double()>& now);

  // Replaces the disks; files keep their places.
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

// The disk of that name in this process; made from `preset` if it does not exist.
std::shared_ptr<ModelledDisk> modelled_disk(const std::string& name, const std::string& preset);

// Throws kArgument if no disk has that name.
std::shared_ptr<ModelledDisk> find_modelled_disk(const std::string& name);

}  // namespace swath
