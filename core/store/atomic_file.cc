// Left after a kill: ".NAME.swath-RANDOM", the new file until it takes the name. Nobody needs it: its
// user may remove it.
#include "store/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "store/open_file.h"
#include "store/rados/driver.h"
#include "store/rados/name.h"

namespace swath {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
  throw Error(ErrorKind::kStore, "create " + path + ": " + what, error);
}

struct FolderAndName {
  std::string place;  // with the slash
  std::string name;
};

FolderAndName split(const std::string& path) {
  const size_t base = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  return {path.substr(0, base), path.substr(base)};
}

bool exists(const std::string& path) {
  struct stat status = {};
  return ::lstat(path.c_str(), &status) == 0;
}

bool is_folder(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Removes "..", "." and a final slash; keeps links.
std::string absolute_path(const std::string& path) {
  std::error_code error;
  std::string name = fs::absolute(path.empty() ? "." : path, error).lexically_normal().string();
  if (error) fail(path, "there is no folder that this process is in: " + error.message(), error.value());
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  return name;
}

// The target of a path's symbolic links; the last link may lead to nothing.
std::string path_without_links(const std::string& path) {
  constexpr int kLinksMax = 40;  // the kernel's bound
  fs::path at = path;
  std::error_code ignored;
  for (int links = 0; links < kLinksMax && fs::is_symlink(at, ignored); ++links) {
    at = at.parent_path() / fs::read_symlink(at, ignored);
  }
  const fs::path folder = fs::canonical(at.parent_path(), ignored);
  return absolute_path(folder.empty() ? at.string() : (folder / at.filename()).string());
}

int sync_folder_of(const std::string& path) {
  const Descriptor folder(::open(split(path).place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return folder.is_open() && ::fsync(folder.get()) == 0 ? 0 : errno;
}

// renameat2 if kernel and file system support these flags; else ENOSYS.
int rename_with(int folder, const std::string& from, const std::string& to, unsigned flags) {
  if (::renameat2(folder, from.c_str(), folder, to.c_str(), flags) == 0) return 0;
  return errno == EINVAL ? ENOSYS : errno;
}

int rename_plainly(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

void remove_all(const std::string& path) noexcept {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

// True for a Zarr store, or an empty folder. A store never replaces any other folder.
bool is_store(const std::string& folder) {
  std::error_code ignored;
  if (!is_folder(folder)) return false;
  if (fs::is_empty(folder, ignored)) return true;
  return exists(folder + "/zarr.json") || exists(folder + "/.zarray") || exists(folder + "/.zgroup");
}

[[noreturn]] void fail_by_what_is_no_store(const std::string& path) {
  fail(path, "there is something else than a Zarr store; remove it yourself", EEXIST);
}

struct Naming {
  int error = 0;             // an errno value
  bool is_no_store = false;  // the existing folder is no store, and keeps its name
};

// Exchanges an existing store with the new one, and removes it.
Naming give_name_to_folder(const std::string& working, const std::string& name, Existing existing) {
  int error = rename_with(AT_FDCWD, working, name, RENAME_NOREPLACE);
  if (error == ENOSYS && !exists(name)) error = rename_plainly(working, name);
  if (error == 0 || existing == Existing::kRefuse) return {error == ENOSYS ? EEXIST : error};
  if (error != ENOSYS && error != EEXIST) return {error};
  if (!is_store(name)) return {.is_no_store = true};
  error = rename_with(AT_FDCWD, working, name, RENAME_EXCHANGE);
  if (error == 0 && !is_store(working)) {  // another process has created it meanwhile
    return {rename_with(AT_FDCWD, working, name, RENAME_EXCHANGE), true};
  }
  if (error == 0) remove_all(working);
  if (error != ENOSYS) return {error};
  // If the file system cannot exchange, the name does not exist for a moment.
  const std::string old = working + "-old";
  error = rename_plainly(name, old);
  if (error != 0) return {error};
  if (!is_store(old)) return {rename_plainly(old, name), true};
  error = rename_plainly(working, name);
  if (error == 0) {
    remove_all(old);
  } else {
    rename_plainly(old, name);
  }
  return {error};
}

}  // namespace

std::string new_working_name(const std::string& name) {
  const FolderAndName in = split(name);
  return in.place + "." + in.name + ".swath-" + random_digits();
}

int give_name(int folder, const std::string& working, const std::string& name, Existing existing) {
  if (existing == Existing::kReplace) {
    return ::renameat(folder, working.c_str(), folder, name.c_str()) == 0 ? 0 : errno;
  }
  const int error = rename_with(folder, working, name, RENAME_NOREPLACE);
  if (error != ENOSYS) return error;
  // The same in two steps: adds the new name, which fails if it exists, then removes the old name.
  if (::linkat(folder, working.c_str(), folder, name.c_str(), 0) != 0) return errno;
  return ::unlinkat(folder, working.c_str(), 0) == 0 ? 0 : errno;
}

namespace {

class NewFileName final : public NewName {
 public:
  NewFileName(std::string final_path, AtomicFileOptions options)
      : final_path_(std::move(final_path)), options_(std::move(options)) {}

  // Sets options.working_path. If it is not atomic, renames the old file first, and writes under the final name.
  static std::unique_ptr<NewName> begin(const std::string& path, const std::string& final_path,
                                        AtomicFileOptions& options) {
    if (!options.is_folder && is_folder(final_path)) fail(path, "it is a directory", EISDIR);
    const std::string target = path_without_links(final_path);
    const std::string place = split(target).place;
    if (!is_folder(place)) fail(path, "there is no folder " + absolute_path(place), ENOENT);
    if (options.is_folder && exists(target) && !is_store(target)) fail_by_what_is_no_store(path);
    NewFileName(final_path, options).check();
    if (options.atomic) {
      if (options.working_path.empty()) options.working_path = new_working_name(target);
    } else {
      options.working_path = target;
      options.replaced_path = new_working_name(target);
      const int error = rename_plainly(target, options.replaced_path);
      if (error == ENOENT) options.replaced_path.clear();
      if (error != 0 && error != ENOENT) fail(path, "cannot remove the old one: " + system_message(error), error);
    }
    return std::make_unique<NewFileName>(final_path, options);
  }

  bool is_aside() const override { return options_.working_path != path_without_links(final_path_); }

  void check() const override {
    if (options_.overwrite || !exists(final_path_)) return;
    fail(final_path_, "the file exists; give overwrite=True to replace it", EEXIST);
  }

  void complete() override {
    const std::string target = path_without_links(final_path_);
    if (options_.working_path == target) return drop_replaced();
    const Existing existing = options_.overwrite ? Existing::kReplace : Existing::kRefuse;
    Naming named = options_.is_folder ? give_name_to_folder(options_.working_path, target, existing)
                                      : Naming{give_name(AT_FDCWD, options_.working_path, target, existing)};
    if (named.error == 0 && named.is_no_store) fail_by_what_is_no_store(final_path_);
    if (named.error == 0) named.error = sync_folder_of(target);
    if (named.error != 0) fail(final_path_, "cannot give it its name: " + system_message(named.error), named.error);
  }

  void remove() const noexcept override {
    if (is_put_back_) return;
    remove_at(options_.working_path);
    if (options_.replaced_path.empty()) return;
    is_put_back_ = rename_plainly(options_.replaced_path, options_.working_path) == 0;
  }

  void drop_replaced() noexcept override {
    if (!options_.replaced_path.empty()) remove_at(options_.replaced_path);
  }

 private:
  void remove_at(const std::string& path) const noexcept {
    if (options_.is_folder) {
      remove_all(path);
    } else {
      ::unlink(path.c_str());
    }
  }

  const std::string final_path_;
  const AtomicFileOptions options_;
  mutable bool is_put_back_ = false;  // the old file has its name again
};

std::unique_ptr<NewName> name_of(const std::string& final_path, const AtomicFileOptions& options) {
  if (is_rados(final_path)) return rados_new_name(final_path, options);
  return std::make_unique<NewFileName>(final_path, options);
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path, const AtomicFileOptions& options)
    : final_path_(is_rados(path) ? path : absolute_path(path)),
      options_(options),
      is_kept_(!options.working_path.empty() || !options.atomic) {
  name_ = is_rados(path) ? begin_rados_name(path, options_) : NewFileName::begin(path, final_path_, options_);
}

AtomicFile AtomicFile::made_elsewhere(std::string final_path, AtomicFileOptions options) {
  AtomicFile file;
  file.final_path_ = std::move(final_path);
  file.options_ = std::move(options);
  file.name_ = name_of(file.final_path_, file.options_);
  return file;
}

AtomicFile::~AtomicFile() {
  if (!is_kept_) remove();
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : final_path_(std::move(other.final_path_)),
      options_(std::move(other.options_)),
      name_(std::move(other.name_)),
      is_kept_(std::exchange(other.is_kept_, true)),
      made_in_(other.made_in_) {}

bool AtomicFile::is_aside() const { return name_->is_aside(); }

void AtomicFile::check_name() const { name_->check(); }

void AtomicFile::drop_replaced() noexcept {
  if (made_in_ == fork_generation()) name_->drop_replaced();
}

void AtomicFile::complete() {
  name_->complete();
  is_kept_ = true;
}

void AtomicFile::remove() const noexcept {
  if (made_in_ == fork_generation()) name_->remove();
}

}  // namespace swath
