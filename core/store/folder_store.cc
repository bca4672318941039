#include "store/folder_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"
#include "store/open_file.h"

namespace swath {
namespace {

constexpr Openable kOpenable = Openable::kRegularFiles;

[[noreturn]] void fail(const std::string& what, int error, const std::string& advice = "") {
  throw Error(ErrorKind::kStore, what + ": " + system_message(error) + advice, error);
}

// Returns a closed descriptor if the file does not exist.
Descriptor open_if_there(int folder, const std::string& name, const std::string& path) {
  const int descriptor = open_existing(folder, name, O_RDONLY | O_CLOEXEC, kOpenable);
  if (descriptor >= 0) return Descriptor(descriptor);
  if (descriptor == -ENOENT) return {};
  fail("open " + path + " for reading", -descriptor, expected_instead(-descriptor, kOpenable));
}

Descriptor open_file(const std::string& path) {
  Descriptor file = open_if_there(AT_FDCWD, path, path);
  if (!file.is_open()) fail("open " + path + " for reading", ENOENT);
  return file;
}

Descriptor open_folder(const std::string& path) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (!folder.is_open()) fail("open " + path + " for reading", errno);
  return folder;
}

}  // namespace

StoredFile::StoredFile(const std::string& path, const EngineOptions& options)
    : StoredFile(open_file(path), path, options) {}

StoredFile::StoredFile(Descriptor file, std::string path, const EngineOptions& options)
    : path_(std::move(path)),
      make_(engines_of(std::move(file), path_, OpenMode::kRead, options)),
      bytes_(make_(nullptr)->size()) {}

FolderStore::FolderStore(std::string path, EngineOptions options)
    : path_(std::move(path)), options_(std::move(options)), folder_(open_folder(path_)) {}

std::shared_ptr<StoredFile> FolderStore::open(const std::string& name) const {
  Descriptor file = open_if_there(folder_.get(), name, path_of(name));
  return file.is_open() ? std::make_shared<StoredFile>(std::move(file), path_of(name), options_) : nullptr;
}

void sync_folder(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open() || ::syncfs(folder.get()) != 0) fail("sync " + path, errno);
}

}  // namespace swath
