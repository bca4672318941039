#include "layout/copy_kernels.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace swath {
namespace {

constexpr std::array<const char*, 4> kNames{"portable", "sse2", "avx2", "avx512"};

// A block whose size the compiler knows is one load and one store.
template <int64_t kBytes>
struct FixedBlock {
  static constexpr int64_t kSize = kBytes;
  static void copy(std::byte* target, const std::byte* source, int64_t) { std::memcpy(target, source, kBytes); }
};

// A block of any size from kPiece on, piece by piece; the last piece ends with the block and may repeat some of its
// bytes. Two pieces of 8 for a block of 12 take a third of the time of a call of memcpy.
template <int64_t kPiece>
struct PiecewiseBlock {
  static constexpr int64_t kSize = 0;
  static void copy(std::byte* target, const std::byte* source, int64_t bytes) {
    for (int64_t at = 0; at < bytes - kPiece; at += kPiece) std::memcpy(target + at, source + at, kPiece);
    std::memcpy(target + bytes - kPiece, source + bytes - kPiece, kPiece);
  }
};

struct LargeBlock {
  static constexpr int64_t kSize = 0;
  static void copy(std::byte* target, const std::byte* source, int64_t bytes) {
    std::memcpy(target, source, static_cast<size_t>(bytes));
  }
};

// Strides by value, because a store through std::byte* may change anything that is read through a reference.
template <typename Block, typename TargetStride, typename SourceStride>
void copy_blocks(std::byte* target, const std::byte* source, int64_t bytes, int64_t count, TargetStride target_stride,
                 SourceStride source_stride) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < count; ++i) {
    Block::copy(target + i * target_stride, source + i * source_stride, bytes);
  }
}

// Where one side is packed its stride is a constant too: the row of a gather, of a scatter.
template <typename Block>
void copy_row(std::byte* target, const std::byte* source, int64_t count, const RowShape& shape, LinePattern&) {
  using Packed = std::integral_constant<int64_t, Block::kSize>;
  if (shape.target_stride == Packed()) {
    copy_blocks<Block>(target, source, shape.bytes, count, Packed(), shape.source_stride);
  } else if (shape.source_stride == Packed()) {
    copy_blocks<Block>(target, source, shape.bytes, count, shape.target_stride, Packed());
  } else {
    copy_blocks<Block>(target, source, shape.bytes, count, shape.target_stride, shape.source_stride);
  }
}

RowKernel row_kernel(const RowShape& shape, InstructionSet set) {
  RowKernel kernel = nullptr;
#ifdef __x86_64__
  const bool gather = shape.target_stride == shape.bytes;
  const bool scatter = shape.source_stride == shape.bytes;
  if (set >= InstructionSet::kAvx512 && gather) kernel = gather_with_avx512(shape);
  if (set >= InstructionSet::kAvx512 && scatter) kernel = scatter_with_avx512(shape);
  if (kernel == nullptr && set >= InstructionSet::kAvx2 && gather) kernel = gather_with_avx2(shape);
  if (kernel == nullptr && set >= InstructionSet::kSse2 && gather) kernel = gather_with_sse2(shape);
#endif
  return kernel != nullptr ? kernel : portable_row(shape.bytes);
}

}  // namespace

RowKernel portable_row(int64_t bytes) {
  constexpr int64_t kPieceByPieceMax = 512;  // from here on memcpy is as fast
  switch (bytes) {
    case 1:
      return copy_row<FixedBlock<1>>;
    case 2:
      return copy_row<FixedBlock<2>>;
    case 4:
      return copy_row<FixedBlock<4>>;
    case 8:
      return copy_row<FixedBlock<8>>;
    case 16:
      return copy_row<FixedBlock<16>>;
    case 24:
      return copy_row<FixedBlock<24>>;
    case 32:
      return copy_row<FixedBlock<32>>;
    case 64:
      return copy_row<FixedBlock<64>>;
    default:
      if (bytes == 0 || bytes >= kPieceByPieceMax) return copy_row<LargeBlock>;
      if (bytes < 4) return copy_row<PiecewiseBlock<2>>;
      if (bytes < 8) return copy_row<PiecewiseBlock<4>>;
      if (bytes < 16) return copy_row<PiecewiseBlock<8>>;
      return copy_row<PiecewiseBlock<16>>;
  }
}

std::optional<InstructionSet> instruction_set_of(const std::string& name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<InstructionSet>(found - kNames.begin());
}

InstructionSet instruction_set_of_processor() {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512vbmi")) {
    return InstructionSet::kAvx512;
  }
  return __builtin_cpu_supports("avx2") ? InstructionSet::kAvx2 : InstructionSet::kSse2;
#else
  return InstructionSet::kPortable;
#endif
}

InstructionSet instruction_set_in_use() {
  static const InstructionSet set = [] {
    const char* wanted = std::getenv("SWATH_SIMD");
    const InstructionSet best = instruction_set_of_processor();
    return std::min(best, instruction_set_of(wanted == nullptr ? "" : wanted).value_or(best));
  }();
  return set;
}

std::string copy_instruction_set() { return kNames[static_cast<size_t>(instruction_set_in_use())]; }

RowCopy::RowCopy(const RowShape& shape, InstructionSet set) : shape_(shape), kernel_(row_kernel(shape, set)) {}

RowKernel streamed_kernel([[maybe_unused]] const RowShape& shape, [[maybe_unused]] InstructionSet set) {
  RowKernel kernel = nullptr;
#ifdef __x86_64__
  if (set >= InstructionSet::kAvx512) kernel = streamed_gather_with_avx512(shape);
  if (kernel == nullptr && set >= InstructionSet::kSse2) kernel = streamed_gather_with_sse2(shape);
#endif
  return kernel;
}

TransposeKernel transpose_kernel([[maybe_unused]] int64_t bytes, [[maybe_unused]] int64_t rows,
                                 [[maybe_unused]] int64_t columns, [[maybe_unused]] bool to_buffer,
                                 [[maybe_unused]] InstructionSet set) {
  TransposeKernel kernel = nullptr;
#ifdef __x86_64__
  // A kernel stores pieces of lines to many places; without a buffer that pays where the target's rows are short, and
  // so next to each other, or where the source's are long: else whole gathers, column by column, are as fast.
  const bool near = to_buffer || rows < 32;
  if (set >= InstructionSet::kAvx512 && (near || columns >= 16)) kernel = transpose_with_avx512(bytes, rows, columns);
  const bool pays = near || bytes <= 2 || (bytes == 4 && columns >= 32);
  if (kernel == nullptr && set >= InstructionSet::kSse2 && pays) kernel = transpose_with_sse2(bytes, rows, columns);
#endif
  return kernel;
}

void stream(std::byte* target, const std::byte* source, int64_t bytes, [[maybe_unused]] InstructionSet set) {
#ifdef __x86_64__
  if (set >= InstructionSet::kSse2) return stream_with_sse2(target, source, bytes);
#endif
  std::memcpy(target, source, static_cast<size_t>(bytes));
}

#ifndef __x86_64__
void finish_streaming() {}
#endif

}  // namespace swath
