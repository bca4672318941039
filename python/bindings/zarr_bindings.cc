// Zarr's metadata, for swath/formats/zarr.py.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "formats/default_chunks.h"
#include "formats/zarr/codecs.h"
#include "formats/zarr/new_metadata.h"
#include "formats/zarr/nodes.h"
#include "formats/zarr/zarr.h"
#include "formats_convert.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

namespace formats = swath::formats;
namespace zarr = swath::zarr;

using swath::Shape;

void bind_codecs(nb::module_& m) {
  m.def(
      "codec_of",
      [](const std::string& name, const std::string& settings, int64_t element_bytes) {
        const zarr::Field field(zarr::parse_json(settings, "codecs"), "codecs", "configuration");
        return formats::to_python(zarr::codec_of(name, field, element_bytes));
      },
      "name"_a, "settings"_a, "element_bytes"_a,
      "The codec of that name, configured as numcodecs and Zarr's version 3 do: by JSON.");
  m.def(
      "zarr_registered_codecs",
      [](const nb::typed<nb::sequence, package_types::Codec>& codecs,
         int64_t chunk_bytes) -> nb::typed<nb::tuple, package_types::Codec, nb::ellipsis> {
        nb::list found;
        for (const swath::Codec& codec : zarr::registered(formats::codecs_from(codecs), chunk_bytes)) {
          found.append(formats::to_python(codec));
        }
        return nb::tuple(found);
      },
      "codecs"_a, "chunk_bytes"_a, "Codecs that are registered for version 3 in place of those that are not.");
  m.def(
      "zarr_codec_json",
      [](const package_types::Codec& codec, int version) {
        const swath::Codec found = formats::codec_from(codec);
        return zarr::to_text(version == 2 ? zarr::codec_to_v2(found) : zarr::codec_to_v3(found), 0);
      },
      "codec"_a, "version"_a, "A codec as metadata of a version have it, as JSON.");
}

}  // namespace

void bind_zarr(nb::module_& m) {
  bind_codecs(m);
  m.def("zarr_is_store", &zarr::is_store, "path"_a, "Whether a folder holds a Zarr array or group.");
  m.def(
      "check_attribute", [](const std::string& name, const nb::object& value) { formats::attribute_from(name, value); },
      "name"_a, "value"_a.none(),
      "Raises ArgumentError for what is neither text nor numbers, and what JSON cannot hold.");
  m.def(
      "zarr_chunks_and_shards",
      [](const Shape& shape, int64_t element_bytes, const std::optional<Shape>& chunks,
         const std::optional<Shape>& shards) { return zarr::chunks_and_shards(shape, element_bytes, chunks, shards); },
      "shape"_a, "element_bytes"_a, "chunks"_a.none(), "shards"_a.none(),
      "The shapes of a new array's chunks and shards.");
  m.def(
      "default_chunks",
      [](const Shape& shape, int64_t element_bytes, int64_t bytes_max) {
        return formats::default_chunks(shape, element_bytes, bytes_max);
      },
      "shape"_a, "element_bytes"_a, "bytes_max"_a, "Chunks of at most so many bytes, where nobody says which.");
}
