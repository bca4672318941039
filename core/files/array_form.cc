#include "files/array_form.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/hash.h"
#include "formats/serialise.h"
#include "layout/layout.h"

namespace swath {
namespace {

using formats::Description;

std::shared_ptr<const Layout> layout_of(const Description& description) {
  const Shape& shape = description.shape;
  const int64_t bytes = description.type.bytes;
  if (const auto* strided = std::get_if<formats::StridedLayout>(&description.layout)) {
    return std::make_shared<const Layout>(Layout::strided(shape, bytes, strided->offset, strided->strides));
  }
  if (const auto* tiled = std::get_if<formats::TiledLayout>(&description.layout)) {
    return std::make_shared<const Layout>(Layout::tiled(shape, bytes, tiled->chunk_shape, tiled->offset));
  }
  if (const auto* chunked = std::get_if<formats::ChunkedLayout>(&description.layout)) {
    return std::make_shared<const Layout>(Layout::chunked(shape, bytes, chunked->chunk_shape, chunked->offsets));
  }
  return nullptr;
}

}  // namespace

std::string identity_of(const Description& description, const std::string& path, int64_t number) {
  // The path is left out, since a new file has a temporary one.
  Description alike = description;
  alike.path.clear();
  if (auto* coded = std::get_if<formats::CodedLayout>(&alike.layout)) coded->path.clear();
  alike.attributes = {};
  const std::string name = description.variable ? path + ":" + *description.variable : path;
  return name + " (" + description.type.to_string() + " " + to_string(description.shape) + ", " + description.format +
         ", layout " + std::to_string(hash_bytes(formats::serialise(alike))) + ", opened as number " +
         std::to_string(number) + ")";
}

std::shared_ptr<const ArrayForm> array_form(const Description& description, const std::string& identity) {
  try {
    return std::make_shared<const ArrayForm>(identity, description.shape, description.type.bytes,
                                             layout_of(description));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kFormat) throw;
    throw Error(ErrorKind::kFormat, description.name() + ": " + error.what());
  }
}

std::shared_ptr<const CodedArray> coded_chunks(const Description& description) {
  const auto* coded = std::get_if<formats::CodedLayout>(&description.layout);
  if (coded == nullptr) return nullptr;
  auto array = std::make_shared<CodedArray>();
  array->path = coded->path;
  array->shape = description.shape;
  array->element_bytes = description.type.bytes;
  array->chunk_shape = coded->chunk_shape;
  array->chunk_strides = strides_in_order(coded->chunk_shape, description.type.bytes, coded->order);
  array->codecs = CodecChain(coded->codecs);
  array->fill = description.fill;
  array->places = coded->places;
  array->check();
  return array;
}

bool may_have_chunk_table(const Description& description) {
  const auto* coded = std::get_if<formats::CodedLayout>(&description.layout);
  return coded != nullptr && std::holds_alternative<ChunkTable>(coded->places);
}

bool has_absent_chunks(const Description& description) {
  const auto* chunked = std::get_if<formats::ChunkedLayout>(&description.layout);
  if (chunked == nullptr) return false;
  return description.stored_shape ||
         std::any_of(chunked->offsets.begin(), chunked->offsets.end(), [](int64_t offset) { return offset < 0; });
}

}  // namespace swath
