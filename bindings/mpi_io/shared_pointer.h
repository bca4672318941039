// The file pointer that all ranks of a file share.
//
// It is kept in a small file that is made when it is used first: in shared memory where the ranks are on one node, else
// beside the data, as all ranks see that folder. What moves it for all (a view, a seek) is called by all ranks, and
// says the same on each: so that sends nothing. Each such call begins an epoch, with a value that all know, and whoever
// comes first in an epoch writes it down.
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
  // `name`: of this opening of the file, the same on all its ranks and of no other. `folder`: where its file is if not
  // in shared memory; empty for shared memory.
  SharedPointer(std::string name, std::string folder) : name_(std::move(name)), folder_(std::move(folder)) {}
  ~SharedPointer();
  SharedPointer(const SharedPointer&) = delete;
  SharedPointer& operator=(const SharedPointer&) = delete;

  // In etypes. Throw Error{kStore} where the small file cannot be had.
  int64_t value() { return advance(0); }
  // Adds to it, and returns what it was.
  int64_t advance(int64_t etypes);
  // On all ranks alike.
  void set(int64_t etypes);

  // Nobody uses it any more: the file goes.
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
  Record begun_{1, 0};  // the epoch that this rank has come to, and what it began with
  std::shared_ptr<const SharedFolder> shared_memory_;
  Descriptor file_;
};

}  // namespace swath::mpi_io
