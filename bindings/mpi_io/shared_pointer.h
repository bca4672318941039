// The shared file pointer of MPI: one for all ranks of a file.
//
// It is in a small file that is created at first use: in shared memory if the ranks are on one node, else next to the
// data, where all ranks can see it. All ranks together make the calls that set it (a view, a seek), with the same
// value, so these send nothing. Each such call begins an epoch with a known value; the first rank that uses the pointer
// in an epoch writes this value to the file.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/descriptor.h"
#include "base/shared_memory.h"

namespace swath::mpi_io {

class SharedPointer {
 public:
  // `name`: unique for this opening of the file, the same on all its ranks. `folder`: of the small file; empty: shared
  // memory.
  SharedPointer(std::string name, std::string folder) : name_(std::move(name)), folder_(std::move(folder)) {}
  ~SharedPointer();
  SharedPointer(const SharedPointer&) = delete;
  SharedPointer& operator=(const SharedPointer&) = delete;

  // The value, in etypes. Throws Error{kStore} if the small file is not available.
  int64_t value() { return advance(0); }
  // Adds `etypes`, and returns the old value.
  int64_t advance(int64_t etypes);
  // To be called on all ranks, with the same value.
  void set(int64_t etypes);

  // Removes the small file; the pointer must not be used afterwards.
  void remove();

 private:
  struct Record {
    int64_t epoch;
    int64_t value;
  };

  void open();

  const std::string name_;
  const std::string folder_;
  std::mutex mutex_;
  Record begun_{1, 0};  // this rank's current epoch, and its first value
  std::shared_ptr<const SharedFolder> shared_memory_;
  Descriptor file_;
};

}  // namespace swath::mpi_io
