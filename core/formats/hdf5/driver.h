// Our file driver for HDF5's library: a DriverFile does the library's reads and writes of a file, instead of the
// library's own system calls.
//
//     const Handle driver = register_driver();
//     set_driver(access, driver.get(), file);      // properties for the open or the creation of a file
//
// Sources: H5FDpublic.h of HDF5 1.10.8 and H5FDdevelop.h of 1.14 and 2.0, which declare the same functions in two
// layouts (decision 0053).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "formats/hdf5/calls.h"

namespace swath::formats::hdf5 {

// A file as the library sees it. Offsets count from the begin of the file, also before a user block. The library is not
// told of failed writes: otherwise it would keep the file open, with metadata that refer to missing data.
class DriverFile {
 public:
  virtual ~DriverFile() = default;

  // Reads zeros after the end. Returns false if the system refuses.
  virtual bool read(int64_t offset, std::span<std::byte> target) noexcept = 0;
  virtual void write(int64_t offset, std::span<const std::byte> data) noexcept = 0;
  virtual void truncate(int64_t bytes) noexcept = 0;
  virtual int64_t size() const noexcept = 0;
  // The file's descriptor, for callers that ask the library for it.
  virtual int* descriptor() noexcept = 0;
};

// Throws Error{kUnsupported} if we do not know the driver interface of this version of the library.
Handle register_driver();

// A file that is open through a driver. HDF5 1.10 uses the driver after it has closed the file: the driver is closed
// after the file.
class DrivenFile {
 public:
  DrivenFile() = default;
  DrivenFile(Handle driver, Handle file) : driver_(std::move(driver)), file_(std::move(file)) {}

  hid_t get() const { return file_.get(); }
  bool is_open() const { return file_.is_open(); }
  void release() {
    driver_.release();
    file_.release();
  }

 private:
  Handle driver_;
  Handle file_;
};

// The library keeps `file` alive while it has the file open.
void set_driver(hid_t access, hid_t driver, const std::shared_ptr<DriverFile>& file);

}  // namespace swath::formats::hdf5
