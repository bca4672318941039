#include "store/mapped_view.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>

#include "store/open_file.h"

namespace swath {
namespace {

// The only data that the SIGBUS handler may access. A slot is free if `begin` is 0.
struct Mapped {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> broken{false};
};
std::array<Mapped, 256> mapped;

struct sigaction handler_before;
std::atomic<int> passed_on{0};

// For an address in a mapped view, maps a page of zeros there. For any other address, reinstalls the previous handler,
// which runs when the instruction is repeated. The second time the default action ends the process, since the previous
// handler may have called this one again.
void on_bus_error(int signal, siginfo_t* info, void* /*context*/) {
  const int error = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (Mapped& one : mapped) {
    if (address < one.begin.load() || address >= one.end.load()) continue;
    const auto page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    void* page = static_cast<std::byte*>(info->si_addr) - address % page_bytes;
    if (::mmap(page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) break;
    one.broken.store(true);
    errno = error;
    return;
  }
  struct sigaction fatal = {};
  fatal.sa_handler = SIG_DFL;
  ::sigaction(signal, passed_on.fetch_add(1) == 0 ? &handler_before : &fatal, nullptr);
  errno = error;
}

// Called for each map: other code (Python's faulthandler, for example) may have replaced the handler.
void install_handler() {
  static std::mutex mutex;
  const std::scoped_lock guard(mutex);
  struct sigaction now = {};
  if (::sigaction(SIGBUS, nullptr, &now) != 0) return;
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_bus_error) return;
  handler_before = now;
  struct sigaction ours = {};
  ours.sa_sigaction = on_bus_error;
  ours.sa_flags = SA_SIGINFO;
  sigemptyset(&ours.sa_mask);
  ::sigaction(SIGBUS, &ours, nullptr);
}

int take_slot(const std::byte* data, int64_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  for (size_t slot = 0; slot < mapped.size(); ++slot) {
    uintptr_t none = 0;
    if (!mapped[slot].begin.compare_exchange_strong(none, begin)) continue;
    mapped[slot].broken.store(false);
    mapped[slot].end.store(begin + static_cast<uintptr_t>(bytes));
    return static_cast<int>(slot);
  }
  return -1;
}

}  // namespace

MappedView::~MappedView() {
  if (data_ == nullptr) return;
  Mapped& own = mapped[static_cast<size_t>(slot_)];
  own.end.store(0);
  ::munmap(data_, static_cast<size_t>(bytes_));
  own.begin.store(0);
}

const std::byte* MappedView::at(int64_t offset, int64_t bytes) {
  if (bytes_ < 0) map();
  if (data_ == nullptr || offset + bytes > bytes_ || is_broken()) return nullptr;
  return file_->cached_part(offset, bytes).value_or(0) < 1 ? nullptr : data_ + offset;
}

bool MappedView::release(int64_t offset, int64_t bytes) {
  unmap_pages(offset, bytes);
  return !is_broken() && file_->size() >= offset + bytes;
}

// The pages stay in the page cache. If they stayed mapped, a large file would count as memory of the process.
void MappedView::unmap_pages(int64_t offset, int64_t bytes) {
  static const int64_t page_bytes = ::sysconf(_SC_PAGESIZE);
  const int64_t begin = offset / page_bytes * page_bytes;
  ::madvise(data_ + begin, static_cast<size_t>(offset + bytes - begin), MADV_DONTNEED);
}

bool MappedView::is_broken() const { return mapped[static_cast<size_t>(slot_)].broken.load(); }

// Maps the whole file: this uses address space, and memory only for the page tables of accessed pages.
void MappedView::map() {
  bytes_ = file_->size();
  if (bytes_ == 0) return;
  void* address = ::mmap(nullptr, static_cast<size_t>(bytes_), PROT_READ, MAP_SHARED, file_->descriptor(), 0);
  if (address == MAP_FAILED) return;
  auto* data = static_cast<std::byte*>(address);
  slot_ = take_slot(data, bytes_);
  if (slot_ < 0) {
    ::munmap(address, static_cast<size_t>(bytes_));
    return;
  }
  install_handler();
  data_ = data;
}

}  // namespace swath
