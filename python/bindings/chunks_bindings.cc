// Arrays of coded chunks.

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "base/error.h"
#include "bindings.h"
#include "calibrate/codecs.h"
#include "chunks/checksums.h"
#include "chunks/codec.h"
#include "chunks/coded_array.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using swath::Codec;
using swath::CodedArray;

// (name, settings) of every codec, in the order of encoding.
using CodecTuples = std::vector<std::tuple<std::string, std::map<std::string, std::variant<int64_t, std::string>>>>;

swath::CodecChain chain_of(const CodecTuples& tuples) {
  std::vector<Codec> codecs;
  for (const auto& [name, settings] : tuples) {
    Codec codec;
    codec.kind = swath::codec_named(name);
    for (const auto& [key, value] : settings) {
      const auto* number = std::get_if<int64_t>(&value);
      if (key == "level" && number != nullptr) {
        codec.level = static_cast<int>(*number);
      } else if (key == "checksum" && number != nullptr) {
        codec.checksum = *number != 0;
      } else if (key == "element_bytes" && number != nullptr) {
        codec.element_bytes = *number;
      } else if (key == "shuffle" && number != nullptr) {
        codec.shuffle = static_cast<int>(*number);
      } else if (key == "block_bytes" && number != nullptr) {
        codec.block_bytes = *number;
      } else if (key == "compressor" && number == nullptr) {
        codec.compressor = std::get<std::string>(value);
      } else {
        throw swath::Error(swath::ErrorKind::kInternal, "codec " + name + " has no setting " + key);
      }
    }
    codecs.push_back(std::move(codec));
  }
  return swath::CodecChain(std::move(codecs));
}

// All bytes of an ndarray. Raises ValueError if its elements are not contiguous.
std::span<const std::byte> packed_bytes(const char* what, const StridedMemory& memory) {
  if (!memory.is_packed()) {
    throw nb::value_error((std::string(what) + ": expected elements one behind the other").c_str());
  }
  int64_t bytes = memory.element_bytes();
  for (const int64_t length : memory.shape()) bytes *= length;
  return {memory.address(), static_cast<size_t>(bytes)};
}

std::vector<std::byte> bytes_of(const nb::bytes& bytes) {
  const auto* first = reinterpret_cast<const std::byte*>(bytes.c_str());
  return {first, first + bytes.size()};
}

std::shared_ptr<CodedArray> make_array(std::string path, swath::Shape shape, int64_t element_bytes,
                                       swath::Shape chunk_shape, const std::vector<int>& order,
                                       const CodecTuples& codecs, const nb::bytes& fill,
                                       std::variant<swath::ChunkTable, swath::ChunkFiles, swath::Shards> places) {
  auto array = std::make_shared<CodedArray>();
  array->path = std::move(path);
  array->chunk_strides = swath::strides_in_order(chunk_shape, element_bytes, order);
  array->shape = std::move(shape);
  array->element_bytes = element_bytes;
  array->chunk_shape = std::move(chunk_shape);
  array->codecs = chain_of(codecs);
  array->fill = bytes_of(fill);
  array->places = std::move(places);
  array->check();
  return array;
}

}  // namespace

void bind_chunks(nb::module_& m) {
  nb::class_<CodedArray>(m, "CodedArray", "An array whose chunks are coded.")
      .def_static(
          "table",
          [](std::string path, swath::Shape shape, int64_t element_bytes, swath::Shape chunk_shape,
             const std::vector<int>& order, const CodecTuples& codecs, const nb::bytes& fill,
             std::vector<int64_t> offsets, std::vector<int64_t> bytes, std::vector<uint32_t> skipped) {
            return make_array(std::move(path), std::move(shape), element_bytes, std::move(chunk_shape), order, codecs,
                              fill, swath::ChunkTable{std::move(offsets), std::move(bytes), std::move(skipped)});
          },
          "path"_a, "shape"_a, "element_bytes"_a, "chunk_shape"_a, "order"_a, "codecs"_a, "fill"_a, "offsets"_a,
          "bytes"_a, "skipped"_a, "All chunks in one file.")
      .def_static(
          "files",
          [](std::string path, swath::Shape shape, int64_t element_bytes, swath::Shape chunk_shape,
             const std::vector<int>& order, const CodecTuples& codecs, const nb::bytes& fill, std::string first,
             std::string separator, std::string scalar) {
            return make_array(std::move(path), std::move(shape), element_bytes, std::move(chunk_shape), order, codecs,
                              fill, swath::ChunkFiles{std::move(first), std::move(separator), std::move(scalar)});
          },
          "path"_a, "shape"_a, "element_bytes"_a, "chunk_shape"_a, "order"_a, "codecs"_a, "fill"_a, "first"_a,
          "separator"_a, "scalar"_a, "A file a chunk.")
      .def_static(
          "shards",
          [](std::string path, swath::Shape shape, int64_t element_bytes, swath::Shape chunk_shape,
             const std::vector<int>& order, const CodecTuples& codecs, const nb::bytes& fill, std::string first,
             std::string separator, std::string scalar, swath::Shape shard_shape, const CodecTuples& index_codecs,
             bool index_at_end) {
            swath::ChunkFiles files{std::move(first), std::move(separator), std::move(scalar)};
            return make_array(
                std::move(path), std::move(shape), element_bytes, std::move(chunk_shape), order, codecs, fill,
                swath::Shards{std::move(files), std::move(shard_shape), chain_of(index_codecs), index_at_end});
          },
          "path"_a, "shape"_a, "element_bytes"_a, "chunk_shape"_a, "order"_a, "codecs"_a, "fill"_a, "first"_a,
          "separator"_a, "scalar"_a, "shard_shape"_a, "index_codecs"_a, "index_at_end"_a, "A file a shard.")
      .def_prop_ro("chunk_bytes", &CodedArray::chunk_bytes)
      .def_prop_ro(
          "stored_chunks",
          [](const CodedArray& array) -> std::optional<int64_t> {
            const auto* table = std::get_if<swath::ChunkTable>(&array.places);
            if (table == nullptr) return std::nullopt;
            return std::ranges::count_if(table->offsets, [](int64_t offset) { return offset >= 0; });
          },
          "How many chunks of a table are stored; None where each is looked for when it is needed.");

  m.def(
      "check_codec", [](const std::string& name) { swath::codec_named(name); }, "name"_a,
      "Raises UnsupportedError for a codec that this build has not.");
  m.def(
      "time_coding",
      [](const CodecTuples& codecs, const package_types::AnyArray& elements, int64_t chunk_bytes, double seconds_max) {
        const StridedMemory memory(elements);
        const std::span<const std::byte> bytes = packed_bytes("time_coding", memory);
        const swath::CodecChain chain = chain_of(codecs);
        swath::CodingTimes found;
        {
          const Interruptible unlocked;
          found = swath::time_coding(chain, bytes, chunk_bytes, seconds_max);
        }
        const double ratio = static_cast<double>(found.decoded_bytes) / static_cast<double>(found.stored_bytes);
        return std::make_tuple(std::move(found.encode), std::move(found.decode), ratio);
      },
      "codecs"_a, "elements"_a, "chunk_bytes"_a, "seconds_max"_a,
      "Processor seconds a byte of encoding and decoding chunks of the elements, and decoded bytes to stored ones.");
  m.def(
      "crc32c",
      [](const package_types::AnyArray& array) {
        const StridedMemory memory(array);
        const std::span<const std::byte> bytes = packed_bytes("crc32c", memory);
        const nb::gil_scoped_release release;
        return swath::crc32c(bytes);
      },
      "array"_a, "The checksum of a packed ndarray's bytes.");
}
