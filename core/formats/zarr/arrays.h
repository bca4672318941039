// Arrays of a Zarr store, versions 3 and 2: from their metadata where and how their chunks are.
//
// Every field is understood here. What Swath has not (text of variable length, rare codecs) is left to zarr-python,
// which programs in Python may have: such an array has LibraryLayout.
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

// Where an array's elements are.
struct Stored {
  std::optional<ElementType> type = {};  // none where there are no words for it
  std::variant<formats::CodedLayout, formats::LibraryLayout> layout = {};
};

// The type and the chunks of an array. Throws Error{kFormat} for metadata that cannot be true, Error{kUnsupported} for
// elements that are pickled objects: to read them is to run whatever is in them.
Stored stored(const Node& node);

// `variable`: its name, none for a store that is an array. `unlimited`: names of dimensions that may grow.
formats::Description describe(const Node& node, std::optional<std::string> variable, const Names& unlimited = {});
// What `contents` says of every array of a store, also of those that Swath cannot read, in the order of the nodes.
std::vector<formats::Variable> variables_of(const std::vector<Node>& nodes);
// The same of one, where the others do not say that it describes them.
formats::Variable variable_of(const Node& node);

}  // namespace swath::zarr
