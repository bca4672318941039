#include "posix_trace/callers.h"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace swath::posix_trace {
namespace {

thread_local int untraced = 0;

bool is_library_of_swath(const void* address) {
  Dl_info found{};
  if (dladdr(address, &found) == 0 || found.dli_fname == nullptr) return false;
  const std::string_view path(found.dli_fname);
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libswath") ||
         (name.starts_with("_core.") && path.find("/swath/") != std::string_view::npos) ||
         (name.starts_with("_mpi") && path.find("/swath/") != std::string_view::npos);
}

// Cache of the answers by address, for any number of threads. Two addresses with the same slot replace each other.
constexpr size_t kSlots = 4096;
constexpr uintptr_t kIsOfSwath = uintptr_t{1} << 63;  // no address of a program has this bit
std::array<std::atomic<uintptr_t>, kSlots> answers{};

}  // namespace

bool is_of_swath(const void* address) {
  const auto key = reinterpret_cast<uintptr_t>(address);
  std::atomic<uintptr_t>& slot = answers[(key ^ (key >> 12)) % kSlots];
  const uintptr_t known = slot.load(std::memory_order_relaxed);
  if ((known & ~kIsOfSwath) == key) return (known & kIsOfSwath) != 0;
  const bool found = is_library_of_swath(address);
  slot.store(key | (found ? kIsOfSwath : 0), std::memory_order_relaxed);
  return found;
}

Untraced::Untraced() { ++untraced; }
Untraced::~Untraced() { --untraced; }
bool Untraced::is_active() { return untraced > 0; }

}  // namespace swath::posix_trace
