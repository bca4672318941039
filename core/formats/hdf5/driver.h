// A file driver of our own for HDF5's library: what it reads and writes of a file goes through a DriverFile, instead of
// through its own calls of the system.
//
//     const Handle driver = register_driver();
//     set_driver(access, driver.get(), file);      // properties to open, or to create, a file with
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

// A file as the library sees it. Offsets are those of the file, also where it begins with a user block. The library is
// told of no write that fails: it would keep the file open, with metadata that tell of what is nowhere.
class DriverFile {
 public:
  virtual ~DriverFile() = default;

  // Zeros behind the end. False where the system refuses.
  virtual bool read(int64_t offset, std::span<std::byte> target) noexcept = 0;
  virtual void write(int64_t offset, std::span<const std::byte> data) noexcept = 0;
  virtual void truncate(int64_t bytes) noexcept = 0;
  virtual int64_t size() const noexcept = 0;
  // Of the open file, for whoever asks the library.
  virtual int* descriptor() noexcept = 0;
};

// Throws Error{kUnsupported} for a version of the library whose drivers we do not know.
Handle register_driver();

// A file that is open through a driver. HDF5 1.10 looks into the driver when it has closed the file, also where nobody
// else has it: it goes after the file.
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

// `file` stays as long as the library has it open.
void set_driver(hid_t access, hid_t driver, const std::shared_ptr<DriverFile>& file);

}  // namespace swath::formats::hdf5
