#include "formats/serialise.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/bytes.h"
#include "chunks/codec.h"

namespace swath::formats {
namespace {

// There is one overload per type for writing, and one function per type for reading; both use the order of the members.

void write(ByteWriter& writer, const ElementType& type);
void write(ByteWriter& writer, const ElementField& field);
void write(ByteWriter& writer, const Codec& codec);
void write(ByteWriter& writer, const std::vector<Codec>& codecs);
void write(ByteWriter& writer, const Dimension& dimension);
void write(ByteWriter& writer, const Group& group);
void write(ByteWriter& writer, const Enumeration& enumeration);
void write(ByteWriter& writer, const Variable& variable);

void write(ByteWriter& writer, const std::string& text) { writer.put(std::string_view(text)); }
void write(ByteWriter& writer, const std::vector<int64_t>& numbers) { writer.put(std::span(numbers)); }

void write(ByteWriter& writer, const std::vector<std::byte>& bytes) {
  writer.put(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

std::vector<std::byte> read_bytes(ByteReader& reader) {
  const std::string text = reader.text();
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

template <typename Item>
void write_list(ByteWriter& writer, const std::vector<Item>& items) {
  writer.put(std::ssize(items));
  for (const Item& item : items) write(writer, item);
}

template <typename Read>
auto read_list(ByteReader& reader, const Read& read) {
  std::vector<decltype(read(reader))> items(static_cast<size_t>(reader.count(1)));
  for (auto& item : items) item = read(reader);
  return items;
}

std::string read_text(ByteReader& reader) { return reader.text(); }

template <typename Item>
void write_optional(ByteWriter& writer, const std::optional<Item>& item) {
  writer.put(item ? 1 : 0);
  if (item) write(writer, *item);
}

template <typename Read>
auto read_optional(ByteReader& reader, const Read& read) -> std::optional<decltype(read(reader))> {
  if (!reader.flag("whether there is one")) return std::nullopt;
  return read(reader);
}

ElementField read_field(ByteReader& reader);

void write(ByteWriter& writer, const ElementType& type) {
  writer.put(int64_t{type.kind});
  writer.put(type.bytes);
  writer.put(type.is_big_endian ? 1 : 0);
  write(writer, type.unit);
  write_list(writer, type.fields);
}

ElementType read_type(ByteReader& reader) {
  ElementType type;
  type.kind = static_cast<char>(reader.number_in(0, 128, "kind"));
  type.bytes = reader.number();
  type.is_big_endian = reader.flag("byte order");
  type.unit = reader.text();
  type.fields = read_list(reader, read_field);
  return type;
}

void write(ByteWriter& writer, const ElementField& field) {
  write(writer, field.name);
  write(writer, field.type);
  writer.put(field.offset);
  write(writer, field.shape);
  write(writer, field.title);
}

ElementField read_field(ByteReader& reader) {
  ElementField field;
  field.name = reader.text();
  field.type = read_type(reader);
  field.offset = reader.number();
  field.shape = reader.numbers();
  field.title = reader.text();
  return field;
}

// The index of the type in the variant comes first, as for all variants here.
void write(ByteWriter& writer, const AttributeValue& value) {
  writer.put(static_cast<int64_t>(value.index()));
  if (const auto* text = std::get_if<std::string>(&value)) write(writer, *text);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) write_list(writer, *texts);
  if (const auto* json = std::get_if<JsonValue>(&value)) write(writer, json->text);
  if (const auto* numbers = std::get_if<NumbersValue>(&value)) {
    write(writer, numbers->type);
    write(writer, numbers->shape);
    write(writer, numbers->bytes);
  }
}

AttributeValue read_value(ByteReader& reader) {
  switch (reader.number_in(0, std::variant_size_v<AttributeValue>, "kind of an attribute")) {
    case 1:
      return reader.text();
    case 2:
      return read_list(reader, read_text);
    case 3: {
      NumbersValue numbers;
      numbers.type = read_type(reader);
      numbers.shape = reader.numbers();
      numbers.bytes = read_bytes(reader);
      return numbers;
    }
    case 4:
      return JsonValue{reader.text()};
    default:
      return NullValue{};
  }
}

void write(ByteWriter& writer, const Attributes& attributes) {
  writer.put(std::ssize(attributes.entries()));
  for (const auto& [name, value] : attributes.entries()) {
    write(writer, name);
    write(writer, value);
  }
}

Attributes read_attributes(ByteReader& reader) {
  Attributes attributes;
  const int64_t count = reader.count(1);
  for (int64_t i = 0; i < count; ++i) {
    std::string name = reader.text();
    attributes.add(std::move(name), read_value(reader));
  }
  return attributes;
}

void write(ByteWriter& writer, const std::map<std::string, std::string>& words) {
  writer.put(std::ssize(words));
  for (const auto& [name, text] : words) {
    write(writer, name);
    write(writer, text);
  }
}

std::map<std::string, std::string> read_words(ByteReader& reader) {
  std::map<std::string, std::string> words;
  const int64_t count = reader.count(1);
  for (int64_t i = 0; i < count; ++i) {
    std::string name = reader.text();
    words[std::move(name)] = reader.text();
  }
  return words;
}

void write(ByteWriter& writer, const std::vector<bool>& flags) {
  writer.put(std::ssize(flags));
  for (const bool flag : flags) writer.put(flag ? 1 : 0);
}

std::vector<bool> read_flags(ByteReader& reader) {
  const auto numbers = read_list(reader, [](ByteReader& one) { return one.number_in(0, 2, "flag"); });
  return {numbers.begin(), numbers.end()};
}

void write(ByteWriter& writer, const Codec& codec) {
  write(writer, to_string(codec.kind));
  writer.put(codec.level);
  writer.put(codec.checksum ? 1 : 0);
  writer.put(codec.element_bytes);
  write(writer, codec.compressor);
  writer.put(codec.shuffle);
  writer.put(codec.block_bytes);
}

Codec read_codec(ByteReader& reader) {
  Codec codec;
  codec.kind = codec_named(reader.text());
  codec.level = static_cast<int>(reader.number());
  codec.checksum = reader.flag("checksum");
  codec.element_bytes = reader.number();
  codec.compressor = reader.text();
  codec.shuffle = static_cast<int>(reader.number());
  codec.block_bytes = reader.number();
  return codec;
}

void write(ByteWriter& writer, const std::vector<Codec>& codecs) { write_list(writer, codecs); }
std::vector<Codec> read_codecs(ByteReader& reader) { return read_list(reader, read_codec); }
Shape read_shape(ByteReader& reader) { return reader.numbers(); }

void write(ByteWriter& writer, const ChunkFiles& files) {
  write(writer, files.first);
  write(writer, files.separator);
  write(writer, files.scalar);
}

ChunkFiles read_files(ByteReader& reader) {
  ChunkFiles files;
  files.first = reader.text();
  files.separator = reader.text();
  files.scalar = reader.text();
  return files;
}

void write(ByteWriter& writer, const ChunkTable& table) {
  write(writer, table.offsets);
  write(writer, table.bytes);
  write(writer, std::vector<int64_t>(table.skipped.begin(), table.skipped.end()));
}

ChunkTable read_table(ByteReader& reader) {
  ChunkTable table;
  table.offsets = reader.numbers();
  table.bytes = reader.numbers();
  for (const int64_t mask : reader.numbers()) table.skipped.push_back(static_cast<uint32_t>(mask));
  return table;
}

void write(ByteWriter& writer, const Shards& shards) {
  write(writer, shards.files);
  write(writer, shards.shape);
  write(writer, shards.index_codecs.codecs());
  writer.put(shards.index_at_end ? 1 : 0);
}

Shards read_shards(ByteReader& reader) {
  Shards shards;
  shards.files = read_files(reader);
  shards.shape = reader.numbers();
  shards.index_codecs = CodecChain(read_codecs(reader));
  shards.index_at_end = reader.flag("where the index is");
  return shards;
}

void write(ByteWriter& writer, const StridedLayout& layout) {
  writer.put(layout.offset);
  write(writer, layout.strides);
}

void write(ByteWriter& writer, const ChunkedLayout& layout) {
  write(writer, layout.chunk_shape);
  write(writer, layout.offsets);
}

void write(ByteWriter& writer, const TiledLayout& layout) {
  writer.put(layout.offset);
  write(writer, layout.chunk_shape);
}

void write(ByteWriter& writer, const CodedLayout& layout) {
  write(writer, layout.path);
  write(writer, layout.chunk_shape);
  write(writer, std::vector<int64_t>(layout.order.begin(), layout.order.end()));
  write(writer, layout.codecs);
  writer.put(static_cast<int64_t>(layout.places.index()));
  std::visit([&](const auto& one) { write(writer, one); }, layout.places);
}

void write(ByteWriter& writer, const LibraryLayout& layout) {
  write(writer, layout.reason);
  write_optional(writer, layout.chunk_shape);
  write_optional(writer, layout.codecs);
}

CodedLayout read_coded(ByteReader& reader) {
  CodedLayout layout;
  layout.path = reader.text();
  layout.chunk_shape = reader.numbers();
  for (const int64_t axis : reader.numbers()) layout.order.push_back(static_cast<int>(axis));
  layout.codecs = read_codecs(reader);
  switch (reader.number_in(0, 3, "kind of layout")) {
    case 0:
      layout.places = read_table(reader);
      break;
    case 1:
      layout.places = read_files(reader);
      break;
    default:
      layout.places = read_shards(reader);
  }
  return layout;
}

void write(ByteWriter& writer, const StorageLayout& layout) {
  writer.put(static_cast<int64_t>(layout.index()));
  std::visit([&](const auto& one) { write(writer, one); }, layout);
}

StorageLayout read_layout(ByteReader& reader) {
  switch (reader.number_in(0, std::variant_size_v<StorageLayout>, "kind of layout")) {
    case 0: {
      StridedLayout layout;
      layout.offset = reader.number();
      layout.strides = reader.numbers();
      return layout;
    }
    case 1: {
      ChunkedLayout layout;
      layout.chunk_shape = reader.numbers();
      layout.offsets = reader.numbers();
      return layout;
    }
    case 2: {
      TiledLayout layout;
      layout.offset = reader.number();
      layout.chunk_shape = reader.numbers();
      return layout;
    }
    case 3:
      return read_coded(reader);
    default: {
      LibraryLayout layout;
      layout.reason = reader.text();
      layout.chunk_shape = read_optional(reader, read_shape);
      layout.codecs = read_optional(reader, read_codecs);
      return layout;
    }
  }
}

void write(ByteWriter& writer, const Dimension& dimension) {
  write(writer, dimension.name);
  writer.put(dimension.length);
  writer.put(dimension.is_unlimited ? 1 : 0);
}

Dimension read_dimension(ByteReader& reader) {
  Dimension dimension;
  dimension.name = reader.text();
  dimension.length = reader.number();
  dimension.is_unlimited = reader.flag("unlimited");
  return dimension;
}

void write(ByteWriter& writer, const Group& group) {
  write(writer, group.path);
  write(writer, group.attributes);
  write_list(writer, group.dimensions);
  write(writer, group.other_attributes);
}

Group read_group(ByteReader& reader) {
  Group group;
  group.path = reader.text();
  group.attributes = read_attributes(reader);
  group.dimensions = read_list(reader, read_dimension);
  group.other_attributes = read_words(reader);
  return group;
}

void write(ByteWriter& writer, const Enumeration& enumeration) {
  write(writer, enumeration.name);
  writer.put(std::ssize(enumeration.members));
  for (const auto& [name, number] : enumeration.members) {
    write(writer, name);
    writer.put(number);
  }
}

Enumeration read_enumeration(ByteReader& reader) {
  Enumeration enumeration;
  enumeration.name = reader.text();
  enumeration.members = read_list(reader, [](ByteReader& one) {
    std::string name = one.text();
    return std::pair(std::move(name), one.number());
  });
  return enumeration;
}

void write(ByteWriter& writer, const Variable& variable) {
  write(writer, variable.path);
  write(writer, variable.shape);
  write_optional(writer, variable.type);
  write_list(writer, variable.dimensions);
  write(writer, variable.attributes);
  write_optional(writer, variable.chunks);
  writer.put(variable.is_coordinate ? 1 : 0);
  write(writer, variable.unsupported);
  write_optional(writer, variable.shards);
  write_optional(writer, variable.codecs);
  write_optional(writer, variable.enumeration);
  write(writer, variable.other_attributes);
  write(writer, variable.same_as);
  writer.put(std::ssize(variable.maxshape));
  for (const auto& longest : variable.maxshape) writer.put(longest.value_or(-1));
}

Variable read_variable(ByteReader& reader) {
  Variable variable;
  variable.path = reader.text();
  variable.shape = reader.numbers();
  variable.type = read_optional(reader, read_type);
  variable.dimensions = read_list(reader, read_text);
  variable.attributes = read_attributes(reader);
  variable.chunks = read_optional(reader, read_shape);
  variable.is_coordinate = reader.flag("coordinate");
  variable.unsupported = reader.text();
  variable.shards = read_optional(reader, read_shape);
  variable.codecs = read_optional(reader, read_codecs);
  variable.enumeration = read_optional(reader, read_enumeration);
  variable.other_attributes = read_words(reader);
  variable.same_as = reader.text();
  variable.maxshape = read_list(reader, [](ByteReader& one) {
    const int64_t longest = one.number();
    return longest < 0 ? std::nullopt : std::optional(longest);
  });
  return variable;
}

}  // namespace

std::vector<std::byte> serialise(const Description& description) {
  ByteWriter writer;
  write(writer, description.path);
  write(writer, description.format);
  write_optional(writer, description.variable);
  write(writer, description.shape);
  write(writer, description.type);
  write(writer, description.layout);
  write(writer, description.fill);
  write(writer, description.attributes);
  writer.put(description.end);
  write_list(writer, description.dimensions);
  write(writer, description.unlimited);
  write_optional(writer, description.stored_shape);
  write(writer, description.other_attributes);
  return writer.take();
}

Description parse_description(std::span<const std::byte> bytes) {
  ByteReader reader("a description of an array", bytes);
  Description description;
  description.path = reader.text();
  description.format = reader.text();
  description.variable = read_optional(reader, read_text);
  description.shape = reader.numbers();
  description.type = read_type(reader);
  description.layout = read_layout(reader);
  description.fill = read_bytes(reader);
  description.attributes = read_attributes(reader);
  description.end = reader.number();
  description.dimensions = read_list(reader, read_text);
  description.unlimited = read_flags(reader);
  description.stored_shape = read_optional(reader, read_shape);
  description.other_attributes = read_words(reader);
  reader.expect_end();
  return description;
}

std::vector<std::byte> serialise(const Contents& contents) {
  ByteWriter writer;
  write(writer, contents.format());
  write(writer, contents.version());
  write_list(writer, contents.groups());
  write_list(writer, contents.variables());
  write(writer, contents.others());
  return writer.take();
}

Contents parse_contents(std::span<const std::byte> bytes) {
  ByteReader reader("the contents of a file", bytes);
  std::string format = reader.text();
  std::string version = reader.text();
  Contents contents(std::move(format), std::move(version));
  for (Group& group : read_list(reader, read_group)) contents.add(std::move(group));
  for (Variable& variable : read_list(reader, read_variable)) contents.add(std::move(variable));
  for (auto& [path, words] : read_words(reader)) contents.set_other(path, std::move(words));
  reader.expect_end();
  return contents;
}

namespace {

void put_bytes(ByteWriter& writer, const std::vector<std::byte>& bytes) {
  writer.put(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace

void put(ByteWriter& writer, const Description& description) { put_bytes(writer, serialise(description)); }

void put(ByteWriter& writer, const Contents& contents) { put_bytes(writer, serialise(contents)); }

Description next_description(ByteReader& reader) {
  const std::string text = reader.text();
  return parse_description(std::as_bytes(std::span(text)));
}

Contents next_contents(ByteReader& reader) {
  const std::string text = reader.text();
  return parse_contents(std::as_bytes(std::span(text)));
}

}  // namespace swath::formats
