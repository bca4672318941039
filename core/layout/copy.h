// Copies between two strided places: the one loop with which every method moves bytes.
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

// The next use of the target. Non-temporal stores avoid reading lines that are overwritten as a whole, and keep the
// window in the cache; they pay for memory that is larger than the cache and not used soon.
enum class Target { kCached, kStreamed };

// The instruction set of the copies, for reports: "avx512", "avx2", "sse2" or "portable". It is the best of the
// processor, or a lower one named by the environment variable SWATH_SIMD (SWATH_SIMD=sse2), which is read once; other
// names, and sets that the processor lacks, are ignored.
std::string copy_instruction_set();

// Copies a block of `bytes` at every combination of the levels (slowest first). Source and target must not overlap.
void copy_levels(std::byte* target, const std::byte* source, int64_t bytes, std::vector<CopyLevel> levels,
                 Target use = Target::kCached);

// Several ranks' elements in one pass over a window: each rank's are `file_stride` and `memory_stride` bytes after
// those of the previous one. One pass reads each cache line once.
struct Lanes {
  int64_t count = 1;
  int64_t file_stride = 0;
  int64_t memory_stride = 0;
};

// A window of the file in memory: its first byte is byte `offset` of the file.
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
// The kind of stores for a read of this size.
Target target_of(int64_t local_bytes);
// Copies the elements from one window of the file to the same places of another window at the same offset.
void copy_between_windows(const Regions& regions, int64_t first, int64_t last, std::byte* target,
                          const std::byte* source, int64_t window_offset);

}  // namespace swath
