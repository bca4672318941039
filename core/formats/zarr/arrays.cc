#include "formats/zarr/arrays.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/error.h"
#include "formats/choose.h"
#include "formats/zarr/attributes.h"
#include "formats/zarr/codecs.h"
#include "formats/zarr/elements.h"

namespace swath::zarr {
namespace {

using formats::CodedLayout;
using formats::Description;
using formats::LibraryLayout;
using formats::Variable;

struct Coded {
  ElementType type = {};
  CodedLayout layout = {};
};

// The shape of a chunk; a length of 0 becomes 1, if the array has no elements along the dimension.
Shape chunk_lengths(const Field& chunks, const Shape& shape) {
  Shape found = chunks.lengths(0);
  for (size_t i = 0; i < std::min(found.size(), shape.size()); ++i) {
    if (found[i] == 0 && shape[i] > 0) {
      throw chunks.wrong("lengths of chunks of at least 1 element, for an array of shape " +
                         shown(Json::integers(shape)));
    }
  }
  for (int64_t& length : found) length = std::max<int64_t>(length, 1);
  return found;
}

Coded coded_of_v2(const Node& node, const Shape& shape) {
  const Field& array = node.metadata;
  Coded found{.type = type_of_v2(array.of("dtype"))};
  const std::string order = array.of("order").text({"C", "F"}, "C");
  CodedLayout& layout = found.layout;
  layout.path = node.folder();
  layout.codecs = codecs_of_v2(array.of("filters"), array.of("compressor"), found.type.bytes);
  const std::string separator = array.of("dimension_separator").text({".", "/"}, ".");
  layout.chunk_shape = chunk_lengths(array.of("chunks"), shape);
  layout.order = c_order(shape.size());
  if (order == "F") std::reverse(layout.order.begin(), layout.order.end());
  layout.places = ChunkFiles{"", separator, "0"};
  return found;
}

// Version 3: a reader must refuse metadata that it does not know, unless they may be ignored.
void refuse_extensions(const Field& array) {
  constexpr std::array<std::string_view, 12> kKnown = {
      "zarr_format", "node_type", "shape",      "data_type",       "chunk_grid",           "chunk_key_encoding",
      "fill_value",  "codecs",    "attributes", "dimension_names", "storage_transformers", "consolidated_metadata"};
  std::string unknown;
  const auto add = [&](const std::string& name) { unknown += (unknown.empty() ? "" : ", ") + name; };
  for (const auto& [key, value] : array.members()) {
    if (std::find(kKnown.begin(), kKnown.end(), key) != kKnown.end()) continue;
    const Json* must = value.find("must_understand");
    const bool may_be_ignored = must != nullptr && must->flag() != nullptr && !*must->flag();
    if (!may_be_ignored) add(key);
  }
  if (!array.of("storage_transformers").items().empty()) add("storage_transformers");
  if (!unknown.empty()) {
    throw Error(ErrorKind::kUnsupported, array.file() + ": the metadata have what Swath does not know: " + unknown);
  }
}

ChunkFiles chunk_files(const Field& encoding) {
  const auto [name, settings] = encoding.named();
  const Field separator = settings.of("separator");
  if (name == "default") {
    const std::string between = separator.text({".", "/"}, "/");
    return {"c" + between, between, "c"};
  }
  if (name == "v2") return {"", separator.text({".", "/"}, "."), "0"};
  throw Error(ErrorKind::kUnsupported,
              encoding.file() + ": chunk_key_encoding " + shown(Json(name)) + "; Swath reads default and v2");
}

Shards shards_of(ChunkFiles files, const Shape& shape, const Field& settings) {
  const std::string location = settings.of("index_location").text({"start", "end"}, "end");
  const Field codecs = settings.of("index_codecs");
  const Chain index = chain_of_v3(codecs, shape.size() + 1, 8);
  if (index.sharding || index.is_big_endian || index.order != c_order(shape.size() + 1)) {
    throw Error(ErrorKind::kUnsupported,
                codecs.file() + ": " + codecs.key() + " " + shown(codecs.value()) + "; Swath reads little-endian ones");
  }
  for (const Codec& codec : index.codecs) {
    if (codec.kind == CodecKind::kCrc32c || codec.kind == CodecKind::kFletcher32) continue;
    throw Error(ErrorKind::kUnsupported, codecs.file() + ": a compressed index of shards has no known length");
  }
  return {std::move(files), shape, CodecChain(index.codecs), location == "end"};
}

bool is_whole_chunks(const Shape& shards, const Shape& chunks) {
  if (shards.size() != chunks.size()) return false;
  for (size_t i = 0; i < shards.size(); ++i) {
    if (shards[i] % chunks[i] != 0) return false;
  }
  return true;
}

Coded coded_of_v3(const Node& node, const Shape& shape) {
  const Field& array = node.metadata;
  refuse_extensions(array);
  Coded found{.type = type_of_v3(array.of("data_type"))};
  CodedLayout& layout = found.layout;
  layout.path = node.folder();
  const auto [grid, settings] = array.of("chunk_grid").named();
  if (grid != "regular") {
    throw Error(ErrorKind::kUnsupported,
                array.file() + ": chunk_grid " + shown(Json(grid)) + "; Swath reads regular ones");
  }
  layout.chunk_shape = chunk_lengths(settings.of("chunk_shape"), shape);
  const ChunkFiles files = chunk_files(array.of("chunk_key_encoding"));
  layout.places = files;
  Chain chain = chain_of_v3(array.of("codecs"), shape.size(), found.type.bytes);
  if (chain.sharding) {
    const Field sharding = *chain.sharding;
    const Shape shard_shape = std::exchange(layout.chunk_shape, chunk_lengths(sharding.of("chunk_shape"), shape));
    if (!is_whole_chunks(shard_shape, layout.chunk_shape)) {
      throw Error(ErrorKind::kFormat, array.file() + ": shards of " + to_string(shard_shape) +
                                          " are not whole chunks of " + to_string(layout.chunk_shape));
    }
    layout.places = shards_of(files, shard_shape, sharding);
    chain = chain_of_v3(sharding.of("codecs"), shape.size(), found.type.bytes);
    if (chain.sharding) {
      throw Error(ErrorKind::kUnsupported, array.file() + ": shards within shards; Swath reads one level");
    }
  }
  found.type = found.type.in_byte_order(chain.is_big_endian);  // of every field of a structure
  layout.order = chain.order;
  layout.codecs = chain.codecs;
  return found;
}

// Throws Error{kUnsupported} if Swath lacks a type or a codec of the array.
Coded coded(const Node& node) {
  const Shape shape = node.shape();
  Coded found = node.version == 3 ? coded_of_v3(node, shape) : coded_of_v2(node, shape);
  if (found.layout.chunk_shape.size() != shape.size()) {
    throw Error(ErrorKind::kFormat, node.folder() + ": chunks of " + to_string(found.layout.chunk_shape) +
                                        " for an array of shape " + to_string(shape));
  }
  fill_of(node.metadata.of("fill_value"), found.type);  // throws if it is not valid
  return found;
}

// ---- What Swath has not

// "text" or "bytes" for elements of variable length, "" for others.
std::string variable_length_of(const Node& node) {
  const auto word_of = [](const Json* name, const char* key) -> std::string {
    if (name != nullptr && name->members() != nullptr) name = name->find(key);
    return name != nullptr && name->text() != nullptr ? *name->text() : "";
  };
  if (node.version == 3) {
    const std::string name = word_of(node.metadata.members().find("data_type"), "name");
    if (name == "string" || name == "variable_length_utf8") return "text";
    return name == "bytes" || name == "variable_length_bytes" ? "bytes" : "";
  }
  const Json* filters = node.metadata.members().find("filters");
  if (filters == nullptr || filters->list() == nullptr || filters->list()->empty()) return "";
  if (word_of(node.metadata.members().find("dtype"), "") != "|O") return "";
  const Json& first = filters->list()->front();
  const std::string name = first.members() == nullptr ? "" : word_of(&first, "id");
  return name == "vlen-utf8" ? "text" : name == "vlen-bytes" ? "bytes" : "";
}

// Whether the metadata name the codec that pickles, at any level.
bool names_pickle(const Json& value) {
  if (const std::string* text = value.text()) return *text == "pickle" || *text == "numcodecs.pickle";
  if (const Json::List* items = value.list()) return std::any_of(items->begin(), items->end(), names_pickle);
  const JsonObject* members = value.members();
  return members != nullptr && std::any_of(members->begin(), members->end(),
                                           [](const Json::Member& member) { return names_pickle(member.second); });
}

// None if the metadata have no regular grid of chunks.
std::optional<Shape> library_chunks(const Node& node) {
  if (node.version == 2) return node.metadata.of("chunks").lengths(1);
  const auto [grid, settings] = node.metadata.of("chunk_grid").named();
  if (grid != "regular") return std::nullopt;
  return settings.of("chunk_shape").lengths(1);
}

std::optional<ElementType> type_that_is_known(const Node& node) {
  try {
    ElementType type =
        node.version == 3 ? type_of_v3(node.metadata.of("data_type")) : type_of_v2(node.metadata.of("dtype"));
    fill_of(node.metadata.of("fill_value"), type);
    return type;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUnsupported && error.kind() != ErrorKind::kFormat) throw;
    return std::nullopt;
  }
}

Stored stored_for_library(const Node& node, std::string why) {
  const std::string text = variable_length_of(node);
  const std::string& file = node.metadata.file();
  if (why.starts_with(file + ": ")) why.erase(0, file.size() + 2);
  const std::string reason = text.empty() ? why : text + " of variable length";
  if (names_pickle(node.metadata.value())) {
    throw Error(ErrorKind::kUnsupported, file + ": " + reason +
                                             "; its elements are pickled objects, which can run any code when they are "
                                             "read: Swath never does");
  }
  if (!text.empty()) return {ElementType::text(), LibraryLayout{reason, library_chunks(node), std::vector<Codec>{}}};
  LibraryLayout layout{.reason = reason};
  try {
    layout.chunk_shape = library_chunks(node);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kFormat) throw;
  }
  return {type_that_is_known(node), layout};
}

bool is_text(const Stored& stored) { return stored.type && stored.type->is_text(); }

// If Swath has no such type, zarr-python may know more about it.
ElementType described_type(const Stored& stored) { return stored.type.value_or(ElementType{.kind = 'V', .bytes = 0}); }

struct Described {
  Variable variable = {};
  std::set<std::string> describes;  // names of the variables that others refer to
};

Described described(const Node& node) {
  Described found;
  Variable& variable = found.variable;
  variable.path = node.name;
  variable.shape = node.shape();
  variable.dimensions = node.dimensions();
  try {
    const Stored where = stored(node);
    variable.type = where.type;
    if (const auto* coded = std::get_if<CodedLayout>(&where.layout)) {
      variable.chunks = coded->chunk_shape;
      variable.codecs = coded->codecs;
      if (const auto* shards = std::get_if<Shards>(&coded->places)) variable.shards = shards->shape;
    } else {
      const auto& library = std::get<LibraryLayout>(where.layout);
      variable.chunks = library.chunk_shape;
      variable.unsupported = library.reason;
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUnsupported) throw;
    variable.unsupported = error.what();
  }
  variable.attributes = typed_attributes(node, variable.type);
  formats::add_described_by(variable.attributes, found.describes);
  const bool is_its_own_dimension = variable.dimensions == std::vector<std::string>{node.short_name()};
  const bool has_numbers =
      variable.type && !variable.type->is_structure() && (variable.type->is_number() || variable.type->kind == 'b');
  variable.is_coordinate = is_its_own_dimension || !has_numbers;
  return found;
}

}  // namespace

Stored stored(const Node& node) {
  try {
    Coded found = coded(node);
    return {std::move(found.type), std::move(found.layout)};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUnsupported) throw;
    return stored_for_library(node, error.what());
  }
}

Description describe(const Node& node, std::optional<std::string> variable, const Names& unlimited) {
  Description found;
  found.path = node.path;
  found.format = "zarr";
  found.variable = std::move(variable);
  found.shape = node.shape();
  found.dimensions = node.dimensions();
  Stored where = stored(node);
  found.type = described_type(where);
  if (!is_text(where) && where.type) found.fill = fill_of(node.metadata.of("fill_value"), found.type);
  std::visit([&](auto& layout) { found.layout = std::move(layout); }, where.layout);
  found.attributes = typed_attributes(node, where.type);
  for (const std::string& name : found.dimensions) found.unlimited.push_back(unlimited.contains(name));
  if (std::find(found.unlimited.begin(), found.unlimited.end(), true) == found.unlimited.end()) found.unlimited.clear();
  return found;
}

std::vector<Variable> variables_of(const std::vector<Node>& nodes) {
  std::vector<Variable> found;
  std::set<std::string> describing;
  for (const Node& node : nodes) {
    if (!node.is_array) continue;
    auto [variable, describes] = described(node);
    describing.merge(describes);
    found.push_back(std::move(variable));
  }
  for (Variable& variable : found) variable.is_coordinate |= describing.contains(variable.name());
  return found;
}

Variable variable_of(const Node& node) { return described(node).variable; }

}  // namespace swath::zarr
