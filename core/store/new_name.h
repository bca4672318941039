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
  virtual void settle() noexcept {}
  virtual bool is_aside() const = 0;
};

// 12 hexadecimal digits that nobody can tell beforehand.
std::string random_digits();

// A name in a pool: `final_path` and `options.working_path` as rados_new_name.cc makes them. Throws Error{kUnsupported}
// where Swath was built without librados.
std::unique_ptr<NewName> rados_new_name(const std::string& final_path, const AtomicFileOptions& options);
// Where the new file is written meanwhile; its maker is known to be there from now on. Throws Error{kStore}.
std::unique_ptr<NewName> begin_rados_name(const std::string& final_path, AtomicFileOptions& options);

}  // namespace swath
