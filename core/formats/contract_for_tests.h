// Tests only: every format in each of its flavours, with its abilities, and a folder for files.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "chunks/coded_array.h"
#include "formats/all.h"
#include "formats/hdf5/library.h"
#include "formats/raw/raw.h"
#include "journal/journal_for_tests.h"
#include "testing/skeleton/format.h"

namespace swath::formats {

// How elements of a variable are stored by default.
enum class Stored { kContiguous, kChunks, kCoded, kShards };

// The abilities of a format; a test that needs one of them is skipped if the format lacks it.
struct Abilities {
  bool has_names = true;  // several named variables, dimensions, attributes; additions and changes after the creation
  bool has_groups = true;
  bool has_text_lists = true;          // attributes of several texts
  bool has_typed_numbers = true;       // numbers in attributes have a type; if not, they are 64-bit numbers
  bool has_lists_of_one = false;       // an attribute can be a list of one number; if not, it is the number
  bool has_null = false;               // in attributes
  bool has_byte_orders = true;         // if not, elements are big-endian
  bool has_no_length = true;           // dimensions of length 0 that do not grow
  bool grows_anywhere = true;          // along any dimension, and several; if not, along the first
  bool keeps_chunk_tables = false;     // a table in the file has the offset of each coded chunk
  bool says_fill_of_stored = true;     // the fill value is known also for an array that was allocated, and not filled
  bool journals_lengths_alone = true;  // set_length() is undone if it is the first change; if not, it stays
  // a header that becomes too long is undone; if not, it makes another file, which stays
  bool journals_long_headers = true;
  std::string_view types;         // of elements, without their byte order
  std::string_view orders = "C";  // of dimensions: "C", "CF" or "any"
};

struct Flavour {
  std::string name;  // the name in the names of the tests
  std::string format;
  std::string flavour;  // the text after the colon of the format
  Stored stored = Stored::kContiguous;
  Abilities can = {};
  bool needs_hdf5 = false;  // it needs a library that is found at run time
};

inline constexpr std::string_view kAllTypes =
    "b1 i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16 S1 S5 U3 V4 M8[s] m8[25s] structure structure_of_arrays O";
inline constexpr std::string_view kFixedTypes =
    "b1 i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16 S1 S5 U3 V4 M8[s] m8[25s] structure structure_of_arrays";

// Whether the formats of the library are joined by the one of testing/skeleton.
inline const bool kHasSkeleton = [] {
  add_format(skeleton::format());
  return true;
}();

inline std::vector<Flavour> flavours() {
  const Abilities raw{.has_names = false, .has_groups = false, .types = kFixedTypes, .orders = "any"};
  Abilities npy = raw;
  npy.orders = "CF";
  const Abilities classic{.has_groups = false,
                          .has_text_lists = false,
                          .has_byte_orders = false,
                          .has_no_length = false,
                          .grows_anywhere = false,
                          .journals_lengths_alone = false,
                          .journals_long_headers = false,
                          .types = "i1 i2 i4 f4 f8 S1"};
  Abilities cdf5 = classic;
  cdf5.types = "i1 u1 i2 u2 i4 u4 i8 u8 f4 f8 S1";
  const Abilities netcdf4{.keeps_chunk_tables = true, .types = "i1 u1 i2 u2 i4 u4 i8 u8 f4 f8 S1 O"};
  const Abilities hdf5{.keeps_chunk_tables = true,
                       .says_fill_of_stored = false,
                       .types = "b1 i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16 S1 S5 V4 structure structure_of_arrays O"};
  const Abilities zarr{.has_typed_numbers = false,
                       .has_lists_of_one = true,
                       .has_null = true,
                       .types = "b1 i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16 S1 S5 U3 V4 M8[s] m8[25s] O",
                       .orders = "any"};
  Abilities skeleton = raw;
  skeleton.types = "b1 i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16";
  skeleton.orders = "C";
  std::vector<Flavour> all{{"skeleton", "skeleton", "", Stored::kContiguous, skeleton},
                           {"raw", "raw", "", Stored::kContiguous, raw},
                           {"npy", "npy", "", Stored::kContiguous, npy},
                           {"cdf1", "netcdf-classic", "cdf1", Stored::kContiguous, classic},
                           {"cdf2", "netcdf-classic", "cdf2", Stored::kContiguous, classic},
                           {"cdf5", "netcdf-classic", "cdf5", Stored::kContiguous, cdf5}};
  for (const auto& [stored, suffix] :
       {std::pair{Stored::kContiguous, ""}, {Stored::kChunks, "_chunks"}, {Stored::kCoded, "_coded"}}) {
    all.push_back({std::string("netcdf4") + suffix, "netcdf4", "", stored, netcdf4, true});
    all.push_back({std::string("hdf5") + suffix, "hdf5", "", stored, hdf5, true});
  }
  Abilities zarr_v2 = zarr;
  zarr_v2.types = kAllTypes;
  zarr_v2.orders = "CF";
  for (const auto& [stored, suffix] :
       {std::pair{Stored::kChunks, ""}, {Stored::kCoded, "_coded"}, {Stored::kShards, "_shards"}}) {
    if (stored != Stored::kShards) all.push_back({std::string("zarr_v2") + suffix, "zarr", "v2", stored, zarr_v2});
    all.push_back({std::string("zarr_v3") + suffix, "zarr", "v3", stored, zarr});
  }
  return all;
}

// The position of one element: a file of the store, or "" for the file itself, and an offset.
struct ElementPosition {
  std::string file;
  int64_t offset = 0;
  auto operator<=>(const ElementPosition& other) const = default;
};

// The position of each element in C order; none if elements are coded or have no positions.
inline std::optional<std::vector<ElementPosition>> places_of(const Description& found) {
  const auto* strided = std::get_if<StridedLayout>(&found.layout);
  const auto* chunked = std::get_if<ChunkedLayout>(&found.layout);
  const auto* coded = std::get_if<CodedLayout>(&found.layout);
  const auto* files = coded == nullptr ? nullptr : std::get_if<ChunkFiles>(&coded->places);
  const bool is_plain = strided != nullptr || chunked != nullptr || (files != nullptr && coded->codecs.empty());
  if (!is_plain) return std::nullopt;
  std::vector<ElementPosition> places;
  for (int64_t i = 0; i < element_count(found.shape); ++i) {
    const Shape at = coordinates_of(found.shape, Shape(found.shape.size(), 1), i);
    ElementPosition place;
    if (strided != nullptr) {
      place.offset = strided->offset;
      for (size_t d = 0; d < at.size(); ++d) place.offset += at[d] * strided->strides[d];
    } else {
      const Shape& lengths = chunked != nullptr ? chunked->chunk_shape : coded->chunk_shape;
      Shape chunk;
      int64_t number = 0;
      for (size_t d = 0; d < at.size(); ++d) {
        chunk.push_back(at[d] / lengths[d]);
        number = number * ((found.shape[d] + lengths[d] - 1) / lengths[d]) + chunk[d];
      }
      int64_t inside = 0;
      for (size_t d = 0; d < at.size(); ++d) {
        const size_t axis = chunked != nullptr ? d : static_cast<size_t>(coded->order[d]);
        inside = inside * lengths[axis] + at[axis] % lengths[axis];
      }
      place.offset = inside * found.type.bytes;
      if (chunked != nullptr) {
        const int64_t begin = chunked->offsets.at(static_cast<size_t>(number));
        if (begin < 0) return std::nullopt;
        place.offset += begin;
      } else {
        place.file = std::filesystem::path(coded->path + "/" + files->name(chunk)).lexically_relative(found.path);
      }
    }
    places.push_back(std::move(place));
  }
  return places;
}

// The content of each file of a store, by name; a single file has the name "".
using Tree = std::map<std::string, std::string>;

inline Tree tree_of(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return {{"", content_of(path)}};
  Tree found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    const std::string name = entry.path().lexically_relative(path);
    if (!entry.is_directory()) found[name] = content_of(entry.path());
  }
  return found;
}

// Writes elements, which are in C order in `bytes`, by their positions alone.
inline void write_elements(const Description& found, const std::string& bytes) {
  const auto places = places_of(found);
  ASSERT_TRUE(places) << found.name();
  const auto each = static_cast<size_t>(found.type.bytes);
  for (size_t i = 0; i < places->size(); ++i) {
    const ElementPosition& place = (*places)[i];
    const std::string file = place.file.empty() ? found.path : found.path + "/" + place.file;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    const Descriptor open_file(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    EXPECT_EQ(::pwrite(open_file.get(), bytes.data() + i * each, each, place.offset), found.type.bytes);
  }
}

// Bytes after the end of a file, and missing files, read as zeros.
inline std::string read_elements(const Description& found) {
  const auto places = places_of(found);
  if (!places) return "it is nowhere";
  const Tree tree = tree_of(found.path);
  const auto each = static_cast<size_t>(found.type.bytes);
  std::string elements;
  for (const ElementPosition& place : *places) {
    const auto file = tree.find(place.file);
    const auto begin = static_cast<size_t>(place.offset);
    std::string one = file == tree.end() || begin > file->second.size() ? "" : file->second.substr(begin, each);
    one.resize(each);
    elements += one;
  }
  return elements;
}

// Bytes for all elements of an array; no byte is zero.
inline std::string numbered(const Description& found, int first = 0) {
  std::string bytes(static_cast<size_t>(element_count(found.shape) * found.type.bytes), '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(1 + (static_cast<size_t>(first) + i) % 250);
  return bytes;
}

inline NumbersValue numbers(const std::string& type, Shape shape, const auto& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {ElementType::parse(type), std::move(shape), {bytes.begin(), bytes.end()}};
}

class ContractTest : public testing::TestWithParam<Flavour> {
 protected:
  ContractTest() {
    std::string pattern = testing::TempDir() + "swath_contract_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ + "/a.file";
  }
  ~ContractTest() override { std::filesystem::remove_all(folder_); }

  void SetUp() override {
    if (!GetParam().needs_hdf5) return;
    try {
      hdf5::library();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  static const Abilities& can() { return GetParam().can; }
  static const Format& format() { return format_named(GetParam().format); }

  // An array as this flavour stores it, for example in chunks that do not divide its shape.
  static NewArray array(const std::string& name, Shape shape, const std::string& type = "<f4") {
    NewArray made{.shape = std::move(shape), .type = ElementType::parse(type)};
    if (!can().has_names) return made;
    made.variable = name;
    if (format().is_folder()) made.codecs = std::vector<Codec>{};
    if (GetParam().stored == Stored::kContiguous || made.shape.empty()) return made;
    made.chunks = Shape();
    for (const int64_t length : made.shape) made.chunks->push_back(length > 5 ? 3 : length == 1 ? 1 : 2);
    made.only_registered_codecs = false;
    if (GetParam().stored == Stored::kChunks) return made;
    made.codecs = std::vector<Codec>{{.kind = CodecKind::kZlib, .level = 5}};
    if (made.type.bytes > 1) {
      made.codecs->insert(made.codecs->begin(), {.kind = CodecKind::kShuffle, .element_bytes = made.type.bytes});
    }
    if (GetParam().stored != Stored::kShards) return made;
    made.shards = made.chunks;
    for (int64_t& length : *made.shards) length *= 2;
    return made;
  }

  static NewArray along(std::vector<std::string> dimensions, NewArray made) {
    made.dimensions = std::move(dimensions);
    return made;
  }

  // An array whose first dimension is unlimited.
  static NewArray growing(const std::string& name, std::vector<std::string> dimensions, Shape shape,
                          const std::string& type = "<f4") {
    NewArray made = along(std::move(dimensions), array(name, std::move(shape), type));
    made.unlimited.assign(made.shape.size(), false);
    made.unlimited.front() = true;
    return made;
  }

  void create(NewContents contents) {
    contents.flavour = GetParam().flavour;
    if (contents.groups.empty() && can().has_names) contents.groups.emplace_back();
    asked_ = contents.arrays;
    format().create(path_, contents);
  }
  void create(const NewArray& array) { create(NewContents{.arrays = {array}}); }

  std::vector<std::string> refusals(NewContents contents) const {
    contents.flavour = GetParam().flavour;
    if (contents.groups.empty() && can().has_names) contents.groups.emplace_back();
    return format().refusals(contents);
  }

  // The file as another program opens it. A raw file needs a description.
  std::unique_ptr<FormatFile> reopened() const {
    if (format().describes_itself()) return format_of(path_).open(path_, nullptr);
    const NewArray& array = asked_.front();
    return raw::open(path_, {array.shape, array.type, array.order});
  }
  Description described(const std::string& name) const {
    return reopened()->describe(can().has_names ? std::optional(name) : std::nullopt);
  }
  const Variable& variable_of(const Contents& contents, const std::string& name) const {
    const Variable* found = can().has_names ? contents.variable(name) : &contents.variables().front();
    if (found == nullptr) throw Error(ErrorKind::kInternal, "there is no " + name);
    return *found;
  }

  // Commits the changes that `work` makes.
  template <typename Work>
  void change(const Work& work) const {
    Changes changes(path_, {});
    work(*format_of(path_).open(path_, &changes));
    changes.commit();
  }

  // The type as this flavour stores it.
  static ElementType stored_type(const ElementType& asked) {
    return can().has_byte_orders ? asked : asked.in_byte_order(true);
  }
  static bool stores(std::string_view type) {
    return (" " + std::string(can().types) + " ").find(" " + std::string(type) + " ") != std::string::npos;
  }

  std::string folder_;
  std::string path_;
  std::vector<NewArray> asked_;
};

inline std::string name_of_flavour(const testing::TestParamInfo<Flavour>& info) { return info.param.name; }

}  // namespace swath::formats
