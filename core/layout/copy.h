// Copying between two strided places: the one loop that every method moves bytes with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "layout/regions.h"

namespace swath {

// One loop around a block of bytes.
struct CopyLevel {
  int64_t count;
  int64_t source_stride;
  int64_t target_stride;
};

// What becomes of the target next. Stores past the cache spare the reading of a line that will be overwritten whole,
// and keep the window in the cache; they pay for memory that is larger than the cache and is not used at once.
enum class Target { kCached, kStreamed };

// The instruction set of the copies, for reports: "avx512", "avx2", "sse2" or "portable". It is the best that the
// processor has, or a lower one that the environment variable SWATH_SIMD names (SWATH_SIMD=sse2), which is read once;
// a name that is none of these, or more than the processor has, changes nothing.
std::string copy_instruction_set();

// Copies a block of `bytes` at every combination of the levels (slowest first). Source and target must not overlap.
void copy_levels(std::byte* target, const std::byte* source, int64_t bytes, std::vector<CopyLevel> levels,
                 Target use = Target::kCached);

// Several ranks' elements in one pass over a window: those of the next rank lie `file_stride` and `memory_stride` bytes
// further on than those of the one before. One pass reads each cache line once.
struct Lanes {
  int64_t count = 1;
  int64_t file_stride = 0;
  int64_t memory_stride = 0;
};

// A window of the file that is held in memory: its first byte, which is byte `offset` of the file.
template <typename Byte>
struct FileWindow {
  Byte* bytes;
  int64_t offset;
};

struct GatherOptions {
  Target use = Target::kCached;
  Lanes lanes = {};
};

// Copies the elements at positions [first, last) between a window of the file and user memory at `memory` (offset 0 of
// the regions' memory places).
void gather_from_window(const Regions& regions, int64_t first, int64_t last, FileWindow<const std::byte> window,
                        std::byte* memory, const GatherOptions& options = {});
void scatter_to_window(const Regions& regions, int64_t first, int64_t last, FileWindow<std::byte> window,
                       const std::byte* memory, const Lanes& lanes = {});
// Which way to read into a rank's share of this size.
Target target_of(int64_t local_bytes);
// Copies the elements from one window of the file to the same places of another window of the same offset.
void copy_between_windows(const Regions& regions, int64_t first, int64_t last, std::byte* target,
                          const std::byte* source, int64_t window_offset);

}  // namespace swath
