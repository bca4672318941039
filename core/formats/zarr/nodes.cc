#include "formats/zarr/nodes.h"

#include <algorithm>
#include <cctype>
#include <ctime>

#include "base/error.h"
#include "base/interrupt.h"
#include "formats/contents.h"
#include "formats/zarr/unicode.h"

namespace swath::zarr {
namespace {

constexpr std::array<std::string_view, 4> kFileNames = {"zarr.json", ".zarray", ".zgroup", ".zattrs"};
enum : size_t { kV3 = 0, kArrayOfV2 = 1, kGroupOfV2 = 2, kAttributesOfV2 = 3 };

// The resolution of file systems' clocks: a second change within this time may have the same time.
constexpr int64_t kClockNanoseconds = 20'000'000;

std::string child_of(const std::string& group, const std::string& name) {
  return group.empty() ? name : group + "/" + name;
}

Node node_of_v3(const std::string& path, std::string name, Field metadata) {
  metadata.of("zarr_format").integer(3, 3);
  const bool is_array = metadata.of("node_type").text({"array", "group"}) == "array";
  Field attributes = metadata.of("attributes");
  return {path, std::move(name), 3, is_array, std::move(metadata), std::move(attributes)};
}

Node node_of_v2(const std::string& path, std::string name, bool is_array, Field metadata, Field attributes) {
  metadata.of("zarr_format").integer(2, 2);
  return {path, std::move(name), 2, is_array, std::move(metadata), std::move(attributes)};
}

// The object that another object has as the value of a key; Error{kFormat} if it is no object.
Field object_in(const Field& holder, const std::string& key) {
  Field found = holder.of(key);
  if (found.value().members() == nullptr) throw found.wrong("an object");
  return found;
}

using MaybeNodes = std::optional<std::vector<Node>>;

MaybeNodes consolidated_of_v3(const std::string& path, const Node& root) {
  const Field kept = root.metadata.of(kAllOfV3);
  if (kept.is_missing()) return std::nullopt;
  kept.of("kind").text({"inline"});
  const Field every = kept.of("metadata");
  std::vector<Node> found;
  for (const auto& [key, value] : every.members()) {
    found.push_back(node_of_v3(path, name_of_json(key), object_in(every, key)));
  }
  return found;
}

MaybeNodes consolidated_of_v2(const std::string& path) {
  const std::optional<Field> kept = read_json(joined(path, std::string(kAllOfV2)));
  if (!kept) return std::nullopt;
  kept->of("zarr_consolidated_format").integer(1, 1);
  const Field every = kept->of("metadata");
  const JsonObject& members = every.members();
  std::vector<Node> found;
  for (const auto& [key, value] : members) {
    const auto [name, file] = formats::group_and_name(key);
    if ((file != ".zarray" && file != ".zgroup") || name.empty()) continue;
    const std::string attributes_key = name + "/.zattrs";
    Field attributes = members.find(attributes_key) != nullptr
                           ? object_in(every, attributes_key)
                           : Field(Json::object(Json::Members{}), kept->file(), attributes_key);
    found.push_back(node_of_v2(path, name_of_json(name), file == ".zarray", object_in(every, key), attributes));
  }
  return found;
}

// Sort key: the parts of the name, so that each group precedes its content.
std::vector<std::u32string> order_of(const std::string& name) {
  std::vector<std::u32string> parts(1);
  for (const char32_t point : code_points(name)) {
    if (point == U'/') {
      parts.emplace_back();
    } else {
      parts.back() += point;
    }
  }
  return parts;
}

std::vector<Node> sorted(std::vector<Node> nodes) {
  std::vector<std::pair<std::vector<std::u32string>, size_t>> places;
  for (size_t i = 0; i < nodes.size(); ++i) places.emplace_back(order_of(nodes[i].name), i);
  std::sort(places.begin(), places.end());
  std::vector<Node> found;
  for (const auto& [order, i] : places) found.push_back(std::move(nodes[i]));
  return found;
}

// All nodes in the root's consolidated metadata; none if there are no valid ones.
MaybeNodes consolidated(const std::string& path, const Node& root) {
  MaybeNodes found;
  try {
    found = root.version == 3 ? consolidated_of_v3(path, root) : consolidated_of_v2(path);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kFormat) throw;
  }
  if (!found) return std::nullopt;
  Names groups{""};
  for (const Node& node : *found) {
    if (!node.is_array) groups.insert(node.name);
  }
  const bool is_whole = std::all_of(found->begin(), found->end(), [&](const Node& node) {
    return is_name(node.name) && groups.contains(node.group());
  });
  if (!is_whole) return std::nullopt;
  std::vector<Node> every{root};
  for (Node& node : sorted(std::move(*found))) every.push_back(std::move(node));
  return every;
}

bool is_older_than_the_clock_tells(const std::optional<FileState>& state) {
  if (!state) return true;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const int64_t nanoseconds = int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec;
  return std::max(state->changed, state->modified) + kClockNanoseconds < nanoseconds;
}

struct Declared {
  FileState state = {};
  Names names;
};

Names names_in(const Field& attributes) {
  const Json* names = attributes.members().find(kUnlimited);
  Names found;
  if (names == nullptr || names->list() == nullptr) return found;
  for (const Json& name : *names->list()) {
    if (name.text() != nullptr) found.insert(*name.text());
  }
  return found;
}

// The dimensions that one attributes file of a group declares to grow. The file may also hold the metadata of all other
// nodes, so it is parsed only if it contains the attribute's name, and only once while it does not change.
Names declared_in(const std::string& file, bool has_metadata) {
  constexpr size_t kFilesKept = 256;
  thread_local std::unordered_map<std::string, Declared> kept;
  const std::optional<FileState> state = state_of(file);
  if (!state) return {};
  if (const auto known = kept.find(file); known != kept.end() && known->second.state == *state) {
    return known->second.names;
  }
  const std::optional<std::string> text = read_metadata(file);
  Names names;
  if (text && text->find(kUnlimited) != std::string::npos) {
    const Field found = parse_metadata(*text, file);
    names = names_in(has_metadata ? found.of("attributes") : found);
  }
  if (kept.size() >= kFilesKept) kept.clear();
  if (is_older_than_the_clock_tells(state)) kept.insert_or_assign(file, Declared{*state, names});
  return names;
}

}  // namespace

// ---- One node

std::string Node::group() const { return formats::group_and_name(name).first; }
std::string Node::short_name() const { return formats::group_and_name(name).second; }
std::string Node::folder() const { return joined(path, name); }
Shape Node::shape() const { return metadata.of("shape").lengths(0); }

std::vector<std::string> Node::dimensions() const {
  const size_t ndim = shape().size();
  std::vector<std::string> found;
  if (const Field names = metadata.of("dimension_names"); version == 3 && !names.is_missing()) {
    for (const Field& one : names.items()) found.push_back(one.text({}, ""));
    if (found.size() != ndim) throw names.wrong(std::to_string(ndim) + " names");
    const bool is_any = std::any_of(found.begin(), found.end(), [](const std::string& one) { return !one.empty(); });
    return is_any ? found : std::vector<std::string>{};
  }
  // it belongs to the user, who may use this attribute for another purpose
  const Json* others = attributes.members().find(kDimensionsOfV2);
  if (others == nullptr || others->list() == nullptr || others->list()->size() != ndim) return {};
  for (const Json& one : *others->list()) {
    if (one.text() == nullptr) return {};
    found.push_back(*one.text());
  }
  return found;
}

Names Node::unlimited() const { return names_in(attributes); }

Json::Members Node::own_attributes() const {
  Json::Members found;
  for (const Json::Member& member : attributes.members()) {
    if (is_array ? member.first != kDimensionsOfV2 : !is_own(member.first)) found.push_back(member);
  }
  return found;
}

Node Node::with_metadata(Json changed) const {
  Node node = *this;
  node.metadata = Field(std::move(changed), metadata.file());
  return node;
}

Node Node::with_attributes(Json changed) const {
  Node node = *this;
  node.attributes = Field(std::move(changed), attributes.file(), attributes.key());
  return node;
}

bool is_store(const std::string& path) {
  return std::any_of(kFileNames.begin(), kFileNames.begin() + kAttributesOfV2,
                     [&](std::string_view name) { return exists(joined(path, std::string(name))); });
}

std::string stripped(std::string_view name) {
  while (name.starts_with('/')) name.remove_prefix(1);
  while (name.ends_with('/')) name.remove_suffix(1);
  return std::string(name);
}

bool is_name(std::string_view name) {
  const std::string whole = stripped(name);
  for (size_t begin = 0;;) {
    const size_t end = std::min(whole.find('/', begin), whole.size());
    const std::string_view part = std::string_view(whole).substr(begin, end - begin);
    if (part.empty() || part == "." || part == ".." || part.starts_with("__")) return false;
    if (part.find('\0') != std::string_view::npos) return false;
    if (end == whole.size()) return true;
    begin = end + 1;
  }
}

bool is_own(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return c < 0x80 ? static_cast<char>(std::tolower(c)) : static_cast<char>(c); });
  return name == kUnlimited || name == "_NCProperties" || lower.starts_with("_nczarr") ||
         lower.starts_with("_ncproperties");
}

bool is_consolidated(const Node& group) {
  if (group.version == 2) return exists(joined(group.folder(), std::string(kAllOfV2)));
  const Json* found = group.metadata.members().find(kAllOfV3);
  return found != nullptr && !found->is_null();
}

Error no_store(const std::string& path) {
  return {ErrorKind::kFormat, path + ": no Zarr store: it has no zarr.json, .zarray or .zgroup"};
}

// ---- All nodes of a store

Nodes::States Nodes::states_of(const std::string& folder) const {
  States states;
  states[kV3] = state_of(joined(folder, std::string(kFileNames[kV3])));
  if (states[kV3]) return states;
  for (size_t i = kArrayOfV2; i < kFiles; ++i) states[i] = state_of(joined(folder, std::string(kFileNames[i])));
  return states;
}

std::optional<Node> Nodes::read(const std::string& name) {
  check_interrupt();
  States states = states_of(joined(path_, name));
  const auto known = read_.find(name);
  if (known != read_.end() && known->second.is_lasting && known->second.states == states) return known->second.node;
  std::optional<Node> node = read_anew(name);
  const bool is_lasting = node && std::all_of(states.begin(), states.end(),
                                              [](const auto& one) { return is_older_than_the_clock_tells(one); });
  if (node) {
    read_.insert_or_assign(name, Read{node, states, is_lasting});
  } else {
    read_.erase(name);
  }
  return node;
}

std::optional<Node> Nodes::read_anew(const std::string& name) {
  const std::string folder = joined(path_, name);
  const auto json = [&](size_t file) {
    std::optional<Field> found = read_json(joined(folder, std::string(kFileNames[file])));
    if (found) ++files_read_;
    return found;
  };
  if (std::optional<Field> found = json(kV3)) return node_of_v3(path_, name, std::move(*found));
  for (const size_t file : {kArrayOfV2, kGroupOfV2}) {
    std::optional<Field> found = json(file);
    if (!found) continue;
    std::optional<Field> attributes = json(kAttributesOfV2);
    if (!attributes) {
      attributes = Field(Json::object(Json::Members{}), joined(folder, std::string(kFileNames[kAttributesOfV2])));
    }
    return node_of_v2(path_, name, file == kArrayOfV2, std::move(*found), std::move(*attributes));
  }
  return std::nullopt;
}

const std::vector<std::string>& Nodes::names_below(const Node& group) {
  const std::string folder = group.folder();
  const std::optional<FileState> state = state_of(folder);
  Folders& known = folders_[group.name];
  if (known.is_lasting && state && known.state == state) return known.names;
  known = {};
  for (const std::string& name : folders_in(folder)) known.names.push_back(child_of(group.name, name));
  known.state = state;
  known.is_lasting = is_older_than_the_clock_tells(state);
  return known.names;
}

std::vector<Node> Nodes::walk() {
  std::set<std::pair<uint64_t, uint64_t>> found;
  std::vector<std::string> waiting{""};
  std::vector<Node> nodes;
  while (!waiting.empty()) {
    std::optional<Node> node = read(waiting.back());
    waiting.pop_back();
    if (!node) continue;
    if (!node->is_array) {
      const std::optional<FileState> state = state_of(node->folder());
      if (state && !found.emplace(state->device, state->inode).second) continue;
      const std::vector<std::string>& below = names_below(*node);
      waiting.insert(waiting.end(), below.rbegin(), below.rend());
    }
    nodes.push_back(std::move(*node));
  }
  return nodes;
}

std::vector<Node> Nodes::hierarchy() {
  const std::optional<Node> root = read("");
  if (root && !root->is_array) {
    if (MaybeNodes found = consolidated(path_, *root)) return std::move(*found);
  }
  return walk();
}

std::vector<Node> Nodes::arrays_in(const Node& group) {
  std::vector<Node> found;
  for (const std::string& name : names_below(group)) {
    std::optional<Node> node = read(name);
    if (node && node->is_array) found.push_back(std::move(*node));
  }
  return found;
}

Names declared_above(const std::string& path, std::string name) {
  Names found;
  while (!name.empty()) {
    name = formats::group_and_name(name).first;
    for (const size_t file : {kV3, kAttributesOfV2}) {
      found.merge(declared_in(joined(joined(path, name), std::string(kFileNames[file])), file == kV3));
    }
  }
  return found;
}

}  // namespace swath::zarr
