// The kernels of copy.h: how each instruction set moves a row of blocks, or a tile of a transpose.
//
// copy_kernels.cc selects one; copy_sse2.cc, copy_avx2.cc and copy_avx512.cc contain them. Each kernel was measured to
// gain more than the noise. No kernel reads a byte before the first or after the last block (a window may end there),
// or writes a byte between blocks (another rank may write it at the same time).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout/copy.h"

namespace swath {

// Each includes those before it. kAvx512 is that of Ice Lake and Zen 4 on, with permutations of single bytes.
enum class InstructionSet { kPortable, kSse2, kAvx2, kAvx512 };

// "portable", "sse2", "avx2", "avx512".
std::optional<InstructionSet> instruction_set_of(const std::string& name);
// The best one of this processor.
InstructionSet instruction_set_of_processor();
// The one in use: the processor's best, or a lower one named by SWATH_SIMD.
InstructionSet instruction_set_in_use();

// The size of a cache line, and an address's offset in its line.
constexpr int64_t kLine = 64;
inline int64_t into_line(const std::byte* place) { return reinterpret_cast<intptr_t>(place) & (kLine - 1); }

struct RowShape {
  int64_t bytes;  // of a block
  int64_t source_stride;
  int64_t target_stride;
};

// What the kernels of AVX2 and AVX-512 work out of a shape, and keep for the next row. Which lane of a vector of packed
// blocks is where ...
struct alignas(kLine) LinePattern {
  // ... in the lines of the strided side, for rows whose first block starts `phase` bytes into a line;
  static constexpr int64_t kLines = 17;
  std::array<std::array<uint8_t, kLine>, kLines> lanes;
  std::array<uint64_t, kLines> masks;
  int64_t phase = -1;  // -1: not computed
  int64_t lane_bytes;
  int64_t lines;          // that a whole vector touches
  int64_t vector_stride;  // from the blocks of one vector to those of the next
  // ... in the pieces of 16 bytes from the first block on.
  static constexpr int64_t kPieces = 8;
  alignas(16) std::array<std::array<uint8_t, 16>, kPieces> places;
  bool has_places = false;
};

using RowKernel = void (*)(std::byte* target, const std::byte* source, int64_t count, const RowShape& shape,
                           LinePattern& pattern);

// The rows of one copy: blocks of one size at constant strides, with the kernel that suits them.
class RowCopy {
 public:
  RowCopy(const RowShape& shape, InstructionSet set);
  RowCopy(const RowShape& shape, RowKernel kernel) : shape_(shape), kernel_(kernel) {}
  void operator()(std::byte* target, const std::byte* source, int64_t count) {
    kernel_(target, source, count, shape_, pattern_);
  }

 private:
  RowShape shape_;
  RowKernel kernel_;
  LinePattern pattern_;
};

// For rows of whole target lines with non-temporal stores; null if only an intermediate buffer can stream them.
RowKernel streamed_kernel(const RowShape& shape, InstructionSet set);

// target[column][row] = source[row][column], rows of packed blocks on both sides, `stride` bytes from row to row.
using TransposeKernel = void (*)(std::byte* target, int64_t target_stride, const std::byte* source,
                                 int64_t source_stride, int64_t rows, int64_t columns);
// Null if blocks are best moved one by one; to_buffer: the target is in the first-level cache.
TransposeKernel transpose_kernel(int64_t bytes, int64_t rows, int64_t columns, bool to_buffer, InstructionSet set);

// Copies with non-temporal stores to whole target lines; other ranks see them after finish_streaming().
void stream(std::byte* target, const std::byte* source, int64_t bytes, InstructionSet set);
void finish_streaming();

// copy_levels with the kernels of an instruction set that the processor has.
void copy_levels_with(InstructionSet set, std::byte* target, const std::byte* source, int64_t bytes,
                      std::vector<CopyLevel> levels, Target use);

// The loop in plain C++ for blocks of this size.
RowKernel portable_row(int64_t bytes);
// The kernel of an instruction set for a shape; null if a lower set is as fast.
#ifdef __x86_64__
RowKernel gather_with_sse2(const RowShape& shape);
RowKernel gather_with_avx2(const RowShape& shape);
RowKernel gather_with_avx512(const RowShape& shape);
RowKernel streamed_gather_with_sse2(const RowShape& shape);
RowKernel streamed_gather_with_avx512(const RowShape& shape);
RowKernel scatter_with_avx512(const RowShape& shape);
TransposeKernel transpose_with_sse2(int64_t bytes, int64_t rows, int64_t columns);
TransposeKernel transpose_with_avx512(int64_t bytes, int64_t rows, int64_t columns);
void stream_with_sse2(std::byte* target, const std::byte* source, int64_t bytes);
#endif

}  // namespace swath
