// Names that are given to what was written aside, by each kind of store: what AtomicFile stands on.
#pragma once

#include <memory>
#include <string>

namespace swath {

struct AtomicFileOptions;

class NewName {
 public:
  virtual ~NewName() = default;
  // Throws Error{kStore} with EEXIST where the name is taken, and may not be.
  virtual void check() const = 0;
  // Gives what was written its name, which lasts when it returns. Throws as AtomicFile::complete().
  virtual void complete() = 0;
  // Removes what was written; nothing where it has its name, whether complete() said so or failed.
  virtual void remove() const noexcept = 0;
  // Lets go of an old one that remove() would put back.
  virtual void drop_replaced() noexcept {}
  virtual bool is_aside() const = 0;
};

// 12 hexadecimal digits that nobody can tell beforehand.
std::string random_digits();

}  // namespace swath
