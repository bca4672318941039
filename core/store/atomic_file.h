// Files and folders that are written under a hidden name in the same folder, then renamed when complete. At any time,
// and after a crash at any point, the name is that of the old file or of the complete new one. For a name in a pool
// (rados:POOL/NAME) see rados/new_name.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/fork.h"
#include "store/new_name.h"

namespace swath {

// ".NAME.swath-RANDOM" in the folder of `name`: unique, and unpredictable.
std::string new_working_name(const std::string& name);

enum class Existing { kRefuse, kReplace };

// Renames the file `working` to `name`; both are in `folder`, an open one or AT_FDCWD. Returns an errno value, or 0. An
// existing file is replaced atomically, or the call is refused (EEXIST).
int give_name(int folder, const std::string& working, const std::string& name, Existing existing);

struct AtomicFileOptions {
  bool overwrite = false;  // an existing file of that name may be replaced
  bool atomic = true;      // false: it is written under its final name
  bool is_folder = false;  // a folder is written (a Zarr store)
  // The path to write to, in the same folder. Empty: a new working name. A given path is not removed by the destructor,
  // so that a later process can continue with it; remove() removes it.
  std::string working_path;
  // Set by AtomicFile if it is not atomic: where the old file is kept until the new one is complete. Not in a pool.
  std::string replaced_path;
};

// The path at which a new file of the user's is written, and its final name. Does not create the file: the caller does.
// A symbolic link stays, and its target is replaced.
class AtomicFile {
 public:
  // Throws Error{kStore}: EEXIST if the name is taken and overwriting is not allowed, or if a folder would replace
  // something that is no store; ENOENT if its folder does not exist; the system's error if an old file cannot be
  // removed (not atomic).
  AtomicFile(const std::string& path, const AtomicFileOptions& options);
  // The file of another rank or process, described by its fields; kept.
  static AtomicFile made_elsewhere(std::string final_path, AtomicFileOptions options);
  // Removes an incomplete file with a working name, unless it is kept; never in a forked child.
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;

  const std::string& final_path() const { return final_path_; }
  const std::string& working_path() const { return options_.working_path; }
  const AtomicFileOptions& options() const { return options_; }
  // True if the file has a working name until it is complete.
  bool is_aside() const;

  // Throws Error{kStore} with EEXIST if the name is taken and overwriting is not allowed.
  void check_name() const;
  // For a file that is not atomic: removes the old one. Until then remove() restores it.
  void drop_replaced() noexcept;
  // Renames the written and synced file, and syncs the folder, so that the name is durable. Throws Error{kStore}; with
  // EEXIST if the name was taken meanwhile and overwriting is not allowed, or if a folder would replace something that
  // is no store.
  void complete();
  // The destructor does not remove the file: the caller removes it, or continues with it.
  void keep() { is_kept_ = true; }
  // Removes the written file, if it exists. Does nothing in a forked child: the file is the parent's.
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
