#include "files/fitted.h"

#include <algorithm>
#include <span>

#include "base/hash.h"
#include "formats/refusals.h"
#include "formats/serialise.h"

namespace swath {

using formats::Contents;
using formats::Description;
using formats::Dimension;
using formats::NewArray;

NewArray fitted(const Contents& contents, NewArray array) {
  if (!array.dimensions) return array;
  array.unlimited.resize(array.shape.size());
  const std::string group = formats::group_and_name(array.path()).first;
  for (size_t axis = 0; axis < array.shape.size() && axis < array.dimensions->size(); ++axis) {
    const Dimension* found = contents.dimension(group, (*array.dimensions)[axis]);
    if (found == nullptr || !found->is_unlimited) continue;
    if (!array.unlimited[axis] && array.shape[axis] != found->length) continue;
    array.shape[axis] = found->length;
    array.unlimited[axis] = true;
  }
  if (!array.grows()) array.unlimited.clear();
  return array;
}

std::string words_of(const formats::Attributes& attributes) {
  formats::Contents holder("");
  holder.set_attributes("", attributes);
  std::string words;
  for (const auto& [name, value] : attributes.entries()) words += (words.empty() ? "" : ", ") + name;
  return words + " (" + std::to_string(hash_bytes(formats::serialise(holder))) + ")";
}

std::string words_of(const NewArray& array) {
  std::string words = array.path() + "\nshape=" + to_string(array.shape) + "\ntype=" + array.type.to_string();
  if (array.dimensions) {
    words += "\ndimensions=";
    for (const std::string& name : *array.dimensions) words += name + ", ";
  }
  words += "\nunlimited=";
  for (const bool grows : array.unlimited) words += grows ? "1" : "0";
  if (!array.order.empty()) words += "\norder=" + formats::tuple_text({array.order.begin(), array.order.end()});
  if (array.chunks) words += "\nchunks=" + to_string(*array.chunks);
  if (array.shards) words += "\nshards=" + to_string(*array.shards);
  if (array.codecs) {
    words += "\ncodecs=";
    for (const Codec& codec : *array.codecs) words += to_string(codec.kind) + " " + std::to_string(codec.level) + ", ";
  }
  if (array.fill) words += "\nfill=" + std::to_string(hash_bytes(*array.fill));
  return words + "\nattributes=" + words_of(array.attributes);
}

}  // namespace swath
