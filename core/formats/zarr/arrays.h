// Arrays of a Zarr store, versions 3 and 2: their metadata give the positions and the codecs of their chunks.
//
// This code parses every field. Arrays that Swath cannot read (text of variable length, rare codecs) have a
// LibraryLayout: programs in Python can read them by zarr-python.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "formats/contents.h"
#include "formats/description.h"
#include "formats/zarr/nodes.h"
#include "formats/zarr/numbers.h"

namespace swath::zarr {

// The type and the positions of an array's elements.
struct Stored {
  std::optional<ElementType> type = {};  // none where there are no words for it
  std::variant<formats::CodedLayout, formats::LibraryLayout> layout = {};
};

// The type and the chunks of an array. Throws Error{kFormat} for false metadata, Error{kUnsupported} for elements that
// are pickled objects: a read would run their code.
Stored stored(const Node& node);

// `variable`: its name; none if the whole store is one array. `unlimited`: names of dimensions that may grow.
formats::Description describe(const Node& node, std::optional<std::string> variable, const Names& unlimited = {});
// The `contents` of every array of a store, also of those that Swath cannot read, in the order of the nodes.
std::vector<formats::Variable> variables_of(const std::vector<Node>& nodes);
// The same for one array, without the references from other arrays to it.
formats::Variable variable_of(const Node& node);

}  // namespace swath::zarr
