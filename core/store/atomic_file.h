// Files and folders that get their name when they are complete: written under a hidden name beside it, then renamed. At
// any time, and after a crash at any point, the name holds the old file or the complete new one. A name in a pool
// (rados:POOL/NAME) gets it as rados/new_name.h says.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/fork.h"
#include "store/new_name.h"

namespace swath {

// ".NAME.swath-RANDOM" in the folder of `name`: nobody else has it, nor can tell it beforehand.
std::string new_working_name(const std::string& name);

enum class Existing { kRefuse, kReplace };

// Gives the file `working` the name `name`, both in `folder`: an open one, or AT_FDCWD. An errno value, or 0. A file
// that has the name already is replaced in the same moment, or refused (EEXIST).
int give_name(int folder, const std::string& working, const std::string& name, Existing existing);

struct AtomicFileOptions {
  bool overwrite = false;  // the name may be taken from an existing file
  bool atomic = true;      // false: it is written under its name at once
  bool is_folder = false;  // what is written is a folder (a Zarr store)
  // Where to write meanwhile; in the same folder. Empty: a new working name. One that is given is found again by
  // whoever goes on with it, so that it is not removed unless remove() is called.
  std::string working_path;
  // Where the old one is until the new one, which is not atomic, is there to stay; set by AtomicFile. Not in a pool.
  std::string replaced_path;
};

// Where a new file of the user's is written, and the name that it gets. Makes no file itself: whoever writes it does.
// Symbolic links stay links: what they lead to is replaced.
class AtomicFile {
 public:
  // Throws Error{kStore}: EEXIST where the name is taken and may not be, or a folder would replace what is no store,
  // ENOENT where there is no folder for it, what the system says where an old file cannot be removed (not atomic).
  AtomicFile(const std::string& path, const AtomicFileOptions& options);
  // As another rank, or process, made it and tells of it; kept.
  static AtomicFile made_elsewhere(std::string final_path, AtomicFileOptions options);
  // Removes what was written aside, where it is not complete and was not kept; never in a forked child.
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;

  const std::string& final_path() const { return final_path_; }
  const std::string& working_path() const { return options_.working_path; }
  const AtomicFileOptions& options() const { return options_; }
  // Whether what is written has another name until it is complete.
  bool is_aside() const;

  // Throws Error{kStore} with EEXIST where the name is taken, and may not be.
  void check_name() const;
  // What was not written aside is there to stay, as far as it is: removes the old one, which remove() puts back before.
  void drop_replaced() noexcept;
  // Gives what was written, and synced, its name, and syncs the folder so that the name lasts. Throws Error{kStore}:
  // with EEXIST where the name was taken meanwhile and may not be, or, of a folder, by what is no store.
  void complete();
  // What was written stays when this is let go of: somebody else removes it, or goes on with it.
  void keep() { is_kept_ = true; }
  // Removes what was written, nothing where it is gone. Does nothing in a forked child: it is the parent's.
  void remove() const noexcept;

 private:
  AtomicFile() = default;

  std::string final_path_;  // absolute; perhaps a symbolic link
  AtomicFileOptions options_;
  std::unique_ptr<NewName> name_;  // by the store
  bool is_kept_ = true;
  uint64_t made_in_ = fork_generation();
};

}  // namespace swath
