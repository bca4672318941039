// A folder on a modelled disk: the bytes are in the backing folder, the timing is the model's.
//
// Every read and write bypasses the page cache (direct_io) and is cut into requests of the preset's size; the thread
// that serves it sleeps until the model's time of completion, before it sends the next. Metadata operations (names,
// sizes, permissions) go to the backing folder and take no modelled time.
//
// The file .modelled-disk in the root is not listed. Reading it returns the preset and the statistics as JSON; writing
// the name of a preset to it switches to that preset at once.
#pragma once

#include <fuse3/fuse.h>

#include <memory>
#include <string>

#include "base/clock.h"
#include "model/modelled_disk.h"

namespace swath::instruments {

inline constexpr const char* kControlPath = "/.modelled-disk";

// Seconds of the model since it was made: `scale` of them are one second of the machine.
class ModelTime {
 public:
  explicit ModelTime(double scale) : scale_(scale), begin_(real_clock().now()) {}

  double now() const { return (real_clock().now() - begin_) * scale_; }
  void sleep_until(double time) const { real_clock().sleep_until(begin_ + time / scale_); }
  double scale() const { return scale_; }

 private:
  double scale_;
  double begin_;
};

struct FileSystem {
  std::string backing;  // absolute, without a slash at its end
  ModelledDisk disk;
  ModelTime time;

  FileSystem(std::string folder, const DiskParameters& parameters, double scale)
      : backing(std::move(folder)), disk(parameters), time(scale) {}

  // What .modelled-disk says.
  std::string report() const;
};

// To be given to fuse_new() with a FileSystem as private data, which must outlive the session.
fuse_operations operations();

}  // namespace swath::instruments
