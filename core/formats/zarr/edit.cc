#include "formats/zarr/edit.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/error.h"
#include "formats/contents.h"
#include "formats/zarr/unicode.h"

namespace swath::zarr {
namespace {

constexpr int kIndent = 2;

// The node's name, and those of all groups above it.
std::vector<std::string> with_above(std::string name) {
  std::vector<std::string> names{name};
  while (!name.empty()) {
    name = formats::group_and_name(name).first;
    names.push_back(name);
  }
  return names;
}

std::string in_node(const std::string& name, std::string_view file) {
  return name.empty() ? std::string(file) : name + "/" + std::string(file);
}

Json object_of(const Field& field) {
  return Json::object(Json::Members(field.members().begin(), field.members().end()));
}

// The files of a node; the last one is the file that makes the folder a node.
Edit::Files files_of(const Node& node) {
  if (node.version == 3) {
    return {{in_node(node.name, "zarr.json"), object_of(node.metadata).with("attributes", object_of(node.attributes))}};
  }
  return {{in_node(node.name, ".zattrs"), object_of(node.attributes)},
          {in_node(node.name, node.is_array ? ".zarray" : ".zgroup"), object_of(node.metadata)}};
}

bool holds(const Edit::Files& files, const std::pair<std::string, Json>& file) {
  return std::any_of(files.begin(), files.end(),
                     [&](const auto& one) { return one.first == file.first && one.second == file.second; });
}

// ---- Consolidated metadata, as zarr-python writes them

Json nothing_inline() {
  return Json::object({{"kind", "inline"}, {"must_understand", false}, {"metadata", Json::object(Json::Members{})}});
}

Json inline_node(const Node& node) {
  const Json held = object_of(node.metadata).with("attributes", object_of(node.attributes));
  return node.is_array ? held : held.with(kAllOfV3, nothing_inline());
}

struct Below {
  std::string name;  // relative to the holder, as the JSON has it
  const Node* node = nullptr;
};

// In the order of zarr-python.
std::vector<Below> in_order(std::vector<Below> below) {
  std::vector<std::tuple<size_t, std::u32string, size_t>> places;
  for (size_t i = 0; i < below.size(); ++i) {
    const std::string& name = below[i].name;
    places.emplace_back(std::count(name.begin(), name.end(), '/'), casefolded(name), i);
  }
  std::sort(places.begin(), places.end());
  std::vector<Below> sorted;
  for (const auto& place : places) sorted.push_back(std::move(below[std::get<2>(place)]));
  return sorted;
}

std::pair<std::string, Json> consolidated(const Node& holder, const std::vector<Below>& below) {
  Json::Members members;
  if (holder.version == 3) {
    for (const Below& one : below) members.emplace_back(one.name, inline_node(*one.node));
    const Json all = nothing_inline().with("metadata", Json::object(std::move(members)));
    const Json held = object_of(holder.metadata).with("attributes", object_of(holder.attributes));
    return {in_node(holder.name, "zarr.json"), held.with(kAllOfV3, all)};
  }
  members.emplace_back(".zgroup", Json::object({{"zarr_format", 2}}));
  members.emplace_back(".zattrs", object_of(holder.attributes));
  for (const Below& one : below) {
    members.emplace_back(one.name + "/.zattrs", object_of(one.node->attributes));
    if (one.node->is_array) {
      members.emplace_back(one.name + "/.zarray", object_of(one.node->metadata));
    } else {
      members.emplace_back(one.name + "/.zgroup",
                           Json::object({{"zarr_format", 2}, {kAllOfV3.data(), nothing_inline()}}));
    }
  }
  return {in_node(holder.name, kAllOfV2),
          Json::object({{"metadata", Json::object(std::move(members))}, {"zarr_consolidated_format", 1}})};
}

std::pair<std::string, Json> consolidated(const Node& holder, const std::unordered_map<std::string, Node>& every) {
  const std::string start = holder.name.empty() ? "" : holder.name + "/";
  std::vector<Below> below;
  for (const auto& [name, node] : every) {
    if (name != holder.name && name.starts_with(start))
      below.push_back({json_of_name(name.substr(start.size())), &node});
  }
  return consolidated(holder, in_order(std::move(below)));
}

// The first part of a path in the store that does not exist.
std::string first_missing(const std::string& path, const std::string& folder) {
  for (size_t slash = folder.find('/');; slash = folder.find('/', slash + 1)) {
    std::string part = folder.substr(0, slash);
    if (slash == std::string::npos || !is_taken(joined(path, part))) return part;
  }
}

}  // namespace

void Edit::put(Node node) {
  const auto [there, is_new] = place_.try_emplace(node.name, changed_.size());
  if (is_new) {
    changed_.push_back(std::move(node));
  } else {
    changed_[there->second] = std::move(node);
  }
}

void Edit::consolidate(const Node& group) { holders_.insert_or_assign(group.name, group); }

void Edit::find_holders() {
  Names names;
  for (const Node& node : changed_) {
    for (std::string& name : with_above(node.name)) names.insert(std::move(name));
  }
  for (const std::string& name : names) {
    if (holders_.contains(name)) continue;
    const std::optional<Node> group = nodes_.read(name);
    if (group && !group->is_array && is_consolidated(*group)) holders_.emplace(name, *group);
  }
}

std::unordered_map<std::string, Node> Edit::every_node() {
  std::unordered_map<std::string, Node> every;
  for (Node& node : nodes_.walk()) {
    std::string name = node.name;
    every.emplace(std::move(name), std::move(node));
  }
  for (const Node& node : changed_) every.insert_or_assign(node.name, node);
  return every;
}

Edit::Files Edit::files() {
  find_holders();
  Files changed;
  for (const Node& node : changed_) {
    const std::optional<Node> old = nodes_.read(node.name);
    const Files before = old ? files_of(*old) : Files{};
    for (auto& file : files_of(node)) {
      if (!holds(before, file)) changed.push_back(std::move(file));
    }
  }
  if (holders_.empty()) return changed;
  const std::unordered_map<std::string, Node> every = every_node();
  std::vector<std::string> names;
  for (const auto& [name, holder] : holders_) names.push_back(name);
  std::stable_sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  for (const std::string& name : names) {
    const auto found = every.find(name);
    auto file = consolidated(found == every.end() ? holders_.at(name) : found->second, every);
    std::erase_if(changed, [&](const auto& one) { return one.first == file.first; });
    changed.push_back(std::move(file));  // once, as the last file
  }
  return changed;
}

void Edit::apply(const std::string& folder) {
  const Files changed = files();
  if (folder.empty()) {
    replace(changed, "");
    return;
  }
  const std::string made = first_missing(nodes_.path(), folder);
  journal_.adds(made);
  try {
    make_folders(joined(nodes_.path(), folder), nodes_.path());
    replace(changed, made);
  } catch (...) {
    remove_folder(joined(nodes_.path(), made));
    throw;
  }
}

// Replaces files in this order. An undo of the folder `made` also removes the files in it.
void Edit::replace(const Files& changed, const std::string& made) {
  NewFiles files(nodes_.path());
  std::vector<std::string> replaced;
  for (const auto& [name, value] : changed) {
    files.write(joined(nodes_.path(), name), to_text(value, kIndent) + "\n");
    if (made.empty() || !name.starts_with(made + "/")) replaced.push_back(name);
  }
  journal_.replaces_all(replaced);
  files.rename();
}

}  // namespace swath::zarr
