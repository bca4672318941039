#include "mpi_io/files.h"

#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace swath::mpi_io {
namespace {

std::shared_mutex mutex;

// Never destroyed: late destructors may use it.
std::map<MPI_File, std::shared_ptr<ServedFile>>& all() {
  static auto* const files = new std::map<MPI_File, std::shared_ptr<ServedFile>>;
  return *files;
}

}  // namespace

std::shared_ptr<ServedFile> served_file(MPI_File file) {
  const std::shared_lock guard(mutex);
  const auto found = all().find(file);
  return found == all().end() ? nullptr : found->second;
}

void add_served(std::shared_ptr<ServedFile> file) {
  const std::unique_lock guard(mutex);
  const MPI_File handle = file->handle();
  all()[handle] = std::move(file);
}

void remove_served(MPI_File file) {
  const std::unique_lock guard(mutex);
  all().erase(file);
}

}  // namespace swath::mpi_io
