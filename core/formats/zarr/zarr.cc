#include "formats/zarr/zarr.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ranges>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "formats/choose.h"
#include "formats/zarr/arrays.h"
#include "formats/zarr/attributes.h"
#include "formats/zarr/changes.h"
#include "formats/zarr/dimensions.h"
#include "formats/zarr/new_metadata.h"
#include "store/open_file.h"

namespace swath::zarr {
namespace {

using formats::Attributes;
using formats::Contents;
using formats::Description;
using formats::Group;
using formats::NewArray;
using formats::NewContents;
using formats::Variable;

Contents contents_of(const std::string& path, const std::vector<Node>& nodes) {
  if (nodes.empty()) throw no_store(path);
  const Dimensions dimensions(nodes);
  Contents contents("zarr", "Zarr " + std::to_string(nodes.front().version));
  for (const Node& node : nodes) {
    if (node.is_array && !node.name.empty()) continue;
    contents.add(Group{.path = node.name,
                       .attributes = node.is_array ? Attributes{} : typed_attributes(node),
                       .dimensions = dimensions.of_group(node.name)});
  }
  for (Variable& variable : variables_of(nodes)) contents.add(std::move(variable));
  return contents;
}

void check_name(const std::string& name) {
  if (!is_name(name)) fail_argument("Zarr allows no name '" + name + "'");
}

// ---- New stores

// Whether the whole store is one array.
bool is_one_array(const NewContents& contents) {
  return contents.groups.empty() && contents.arrays.size() == 1 && !contents.arrays.front().variable;
}

Node new_group_of(const std::string& path, int version, const Group& group) {
  Names grows;
  for (const formats::Dimension& dimension : group.dimensions) {
    if (dimension.is_unlimited) grows.insert(dimension.name);
  }
  const Node node = new_group(path, group.path, version, grows);
  Json::Members attributes = attributes_to_json(group.attributes);
  for (const Json::Member& member : node.attributes.members()) attributes.push_back(member);
  return node.with_attributes(Json::object(std::move(attributes)));
}

// A group declares the dimensions along which its arrays grow, unless a group above does.
template <class GroupOf>
void declare_growing(const NewArray& array, const std::string& own, const GroupOf& group_of) {
  for (size_t axis = 0; array.dimensions && axis < array.dimensions->size(); ++axis) {
    if (!array.grows(axis)) continue;
    const std::string& name = (*array.dimensions)[axis];
    bool is_declared = false;
    for (std::string above = own; !is_declared; above = formats::group_and_name(above).first) {
      is_declared = group_of(above).dimension(name) != nullptr;
      if (above.empty()) break;
    }
    if (!is_declared) group_of(own).dimensions.push_back({name, array.shape[axis], true});
  }
}

// The root, then the other groups, each before the groups in it; includes groups that occur only in names of arrays.
std::vector<Group> groups_of(const NewContents& contents) {
  std::vector<Group> groups = contents.groups;
  std::unordered_map<std::string, size_t> places;
  for (const Group& group : groups) places.emplace(group.path, places.size());
  const auto add = [&](const std::string& name) {
    if (places.try_emplace(name, groups.size()).second) groups.push_back(Group{.path = name});
  };
  add("");
  for (const NewArray& array : contents.arrays) {
    const std::string name = stripped(array.path());
    for (size_t end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1)) add(name.substr(0, end));
    declare_growing(array, formats::group_and_name(name).first,
                    [&](const std::string& group) -> Group& { return groups[places.at(group)]; });
  }
  return groups;
}

std::vector<Node> new_nodes(const std::string& path, const NewContents& contents) {
  const int version = version_of(contents.flavour);
  if (is_one_array(contents)) return {new_array(path, "", version, contents.arrays.front())};
  std::vector<Node> nodes;
  for (const Group& group : groups_of(contents)) nodes.push_back(new_group_of(path, version, group));
  for (const NewArray& array : contents.arrays) {
    const std::string name = stripped(array.path());
    check_name(name);
    nodes.push_back(new_array(path, name, version, array));
  }
  return nodes;
}

// The first node is the root.
void make(const std::string& path, const std::vector<Node>& made, bool is_consolidated) {
  if (::mkdir(path.c_str(), 0777) != 0) {
    throw Error(ErrorKind::kStore, path + ": cannot create: " + system_message(errno), errno);
  }
  try {
    for (const Node& node : made) make_folders(node.folder(), path);
    Nodes nodes(path);
    NoJournal journal;
    Edit edit(nodes, journal);
    for (const Node& node : made) edit.put(node);
    if (is_consolidated) edit.consolidate(made.front());
    edit.apply();
  } catch (...) {
    remove_folder(path);
    throw;
  }
}

// ---- What cannot be stored

// The error of an attempt, with the name of its subject; none if it succeeds.
template <class Attempt>
void note_refusal(std::vector<std::string>& found, const std::string& what, const Attempt& attempt) {
  try {
    attempt();
  } catch (const Error& error) {
    const bool is_refusal = error.kind() == ErrorKind::kArgument || error.kind() == ErrorKind::kUnsupported;
    if (!is_refusal) throw;
    found.push_back(what.empty() ? error.what() : what + ": " + error.what());
  }
}

void note_attributes(std::vector<std::string>& found, const std::string& what, const Attributes& attributes) {
  for (const auto& one : attributes.entries()) {
    note_refusal(found, what + "attribute " + one.first, [&] { attributes_to_json({one}); });
  }
}

class ZarrFormat : public formats::Format {
 public:
  std::string_view name() const override { return "zarr"; }
  bool is_folder() const override { return true; }
  std::vector<std::string_view> flavours() const override { return {"v3", "v2"}; }
  std::vector<std::string_view> suffixes() const override { return {".zarr"}; }
  bool matches(const std::string& path, std::string_view /*start*/) const override { return is_store(path); }

  std::unique_ptr<formats::FormatFile> open(const std::string& path, Changes* changes) const override {
    return std::make_unique<ZarrFile>(path,
                                      changes == nullptr ? nullptr : std::make_unique<JournalOfChanges>(*changes));
  }

  void create(const std::string& path, const NewContents& contents) const override {
    make(path, new_nodes(path, contents), !contents.groups.empty());
  }

  std::vector<std::string> refusals(const NewContents& contents) const override {
    const int version = version_of(contents.flavour);
    std::vector<std::string> found;
    for (const Group& group : contents.groups) {
      const std::string where = group.path.empty() ? "" : "group " + group.path;
      if (!group.path.empty()) note_refusal(found, where, [&] { check_name(group.path); });
      note_attributes(found, where.empty() ? "" : where + ": ", group.attributes);
    }
    for (const NewArray& array : contents.arrays) {
      note_refusal(found, array.path(), [&] { check_name(stripped(array.path())); });
      NewArray bare = array;
      bare.attributes = {};
      note_refusal(found, array.path(), [&] { new_array("", stripped(array.path()), version, bare); });
      note_attributes(found, array.path() + ": ", array.attributes);
    }
    return found;
  }

  // A store of one array needs no consolidated metadata.
  void finish(const std::string& path) const override {
    const std::optional<Node> root = Nodes(path).read("");
    if (root && !root->is_array) ZarrFile(path, nullptr).consolidate();
  }
};

}  // namespace

const formats::Format& format() {
  static const ZarrFormat made;
  return made;
}

ZarrFile::ZarrFile(std::string path, std::unique_ptr<StoreJournal> journal)
    : nodes_(std::move(path)), journal_(std::move(journal)) {}

StoreJournal& ZarrFile::journal() {
  if (journal_ == nullptr) fail_argument(nodes_.path() + ": it was opened to be read; open it to be changed");
  return *journal_;
}

int ZarrFile::version() { return root_group(nodes_).version; }

const Contents& ZarrFile::contents() {
  if (journal_ != nullptr) return contents_to_change();
  if (!contents_) contents_ = contents_of(nodes_.path(), nodes_.hierarchy());
  return *contents_;
}

const Contents& ZarrFile::contents_to_change() {
  if (!is_walked_) contents_ = contents_of(nodes_.path(), nodes_.walk());
  is_walked_ = true;
  return *contents_;
}

Node ZarrFile::node_of(const std::optional<std::string>& variable) {
  if (!variable || is_name(*variable)) {
    std::optional<Node> node = nodes_.read(variable ? stripped(*variable) : "");
    if (node && node->is_array) return std::move(*node);
  }
  const std::string name =
      stripped(formats::choose_variable(nodes_.path(), variables_of(nodes_.hierarchy()), variable));
  std::optional<Node> node = nodes_.read(name);
  if (!node || !node->is_array) {
    throw Error(ErrorKind::kFormat,
                nodes_.path() + ": its consolidated metadata have an array '" + name + "' that is not there");
  }
  return std::move(*node);
}

Description ZarrFile::describe(const std::optional<std::string>& variable) {
  const Node node = node_of(variable);
  const auto name = node.name.empty() ? std::nullopt : std::optional(node.name);
  return zarr::describe(node, name, declared_above(nodes_.path(), node.name));
}

Description ZarrFile::add(const NewArray& array) {
  const Node root = root_group(nodes_);
  const std::string name = new_name(nodes_, root, array);
  const auto [there, missing] = groups_above(nodes_, name);
  const NewArray made = fitted(nodes_, array, name, there);
  Edit edit(nodes_, journal());
  edit.put(new_array(nodes_.path(), name, root.version, made));
  const Names grows = newly_unlimited(made, there);
  const std::string own = formats::group_and_name(name).first;
  for (const auto& group : std::views::reverse(missing)) {  // the outermost group is last, so that all appear at once
    edit.put(new_group(nodes_.path(), group, root.version, group == own ? grows : Names{}));
  }
  const Names declared = there.back().unlimited();
  const bool is_declared = std::includes(declared.begin(), declared.end(), grows.begin(), grows.end());
  if (missing.empty() && !is_declared) {
    Names all = declared;
    all.insert(grows.begin(), grows.end());
    const Json attributes = there.back().attributes.value();
    edit.put(there.back().with_attributes(attributes.with(kUnlimited, Json::texts({all.begin(), all.end()}))));
  }
  edit.apply(name);
  Description added = describe(name);
  if (array.grows()) added.unlimited = array.unlimited;
  note_added(name, added);
  return added;
}

void ZarrFile::note_added(const std::string& name, const Description& added) {
  if (!contents_) return;
  for (size_t end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1)) {
    const std::string group = name.substr(0, end);
    if (contents_->group(group) == nullptr) contents_->add(Group{.path = group});
  }
  contents_->add(variable_of(existing_node(nodes_, name)));
  const std::string group = formats::group_and_name(name).first;
  for (size_t axis = 0; axis < added.dimensions.size(); ++axis) {
    const std::string& dimension = added.dimensions[axis];
    if (dimension.empty() || contents_->dimension(group, dimension) != nullptr) continue;
    const bool grows = axis < added.unlimited.size() && added.unlimited[axis];
    contents_->set(group, {dimension, added.shape[axis], grows});
  }
}

void ZarrFile::set_attributes(const std::string& holder, const Attributes& changes) {
  const Node node = existing_node(nodes_, holder);
  const Node changed = with_changed_attributes(node, changes);
  Edit edit(nodes_, journal());
  edit.put(changed);
  edit.apply();
  if (!contents_) return;
  if (node.is_array) {
    contents_->add(variable_of(existing_node(nodes_, holder)));
  } else {
    contents_->set_attributes(node.name, changes);
  }
}

Description ZarrFile::extend(const std::string& variable, int64_t rows, std::optional<int64_t> /*written_from*/) {
  Description found = describe(variable);
  if (found.shape.empty() || rows < found.shape[0]) {
    fail_argument(found.name() + ": an array of shape " + to_string(found.shape) + " cannot be extended to " +
                  std::to_string(rows) + " rows");
  }
  if (std::holds_alternative<formats::LibraryLayout>(found.layout)) {
    throw Error(ErrorKind::kUnsupported, found.name() + ": Swath does not write what it reads through zarr-python");
  }
  found.shape[0] = rows;
  return found;
}

void ZarrFile::set_length(const std::string& dimension, int64_t rows) {
  if (rows < 0) {
    fail_argument(nodes_.path() + ": '" + dimension + "' cannot have the length " + std::to_string(rows));
  }
  const std::string name = stripped(dimension);
  const std::vector<Node> nodes = nodes_.walk();
  Edit edit(nodes_, journal());
  const Along along = arrays_along(nodes_.path(), nodes, name);
  for (const auto& [array, axes] : along) {
    Shape shape = array->shape();
    for (const size_t axis : axes) shape[axis] = rows;
    edit.put(array->with_metadata(array->metadata.value().with("shape", Json::integers(shape))));
  }
  edit.apply();
  if (!contents_) return;
  contents_->set_length(name, rows);
  for (const auto& [array, axes] : along) {
    if (array->dimensions().empty()) contents_->add(variable_of(existing_node(nodes_, array->name)));
  }
}

void ZarrFile::consolidate() {
  NoJournal journal;
  Edit edit(nodes_, journal);
  edit.consolidate(root_group(nodes_));
  edit.apply();
}

}  // namespace swath::zarr
