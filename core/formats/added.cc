#include "formats/added.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace swath::formats {

void add_to(Contents& contents, const Description& added) {
  Variable variable;
  variable.path = added.variable.value_or("");
  variable.shape = added.shape;
  variable.type = added.type;
  variable.dimensions = added.dimensions;
  variable.attributes = added.attributes;
  if (const auto* coded = std::get_if<CodedLayout>(&added.layout)) {
    variable.chunks = coded->chunk_shape;
    variable.codecs = coded->codecs;
    if (const auto* shards = std::get_if<Shards>(&coded->places)) variable.shards = shards->shape;
  }
  if (const auto* chunked = std::get_if<ChunkedLayout>(&added.layout)) {
    variable.chunks = chunked->chunk_shape;
  }
  variable.is_coordinate = added.dimensions == std::vector<std::string>{variable.name()} || !added.type.is_number();
  const std::string group = variable.group();
  for (size_t slash = 0; slash != std::string::npos && !group.empty();) {
    slash = group.find('/', slash + 1);
    const std::string above = group.substr(0, slash);
    if (contents.group(above) == nullptr) contents.add(Group{.path = above});
  }
  for (size_t axis = 0; axis < added.dimensions.size(); ++axis) {
    const std::string& name = added.dimensions[axis];
    if (name.empty() || contents.dimension(group, name) != nullptr) continue;
    contents.set(group, {name, added.shape[axis], axis < added.unlimited.size() && added.unlimited[axis]});
  }
  contents.add(std::move(variable));
}

}  // namespace swath::formats
