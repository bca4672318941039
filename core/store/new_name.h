// How each kind of store names a file when it is complete: the implementation of AtomicFile.
#pragma once

#include <memory>
#include <string>

namespace swath {

struct AtomicFileOptions;

class NewName {
 public:
  virtual ~NewName() = default;
  // Throws Error{kStore} with EEXIST if the name is taken and overwriting is not allowed.
  virtual void check() const = 0;
  // Gives the file its name, durably. Throws as AtomicFile::complete().
  virtual void complete() = 0;
  // Removes the written file; does nothing if it has its final name, also after a failed complete().
  virtual void remove() const noexcept = 0;
  // Removes the old file that remove() would restore.
  virtual void drop_replaced() noexcept {}
  virtual bool is_aside() const = 0;
};

// 12 unpredictable hexadecimal digits.
std::string random_digits();

}  // namespace swath
