#include "formats/hdf5/links.h"

#include <optional>
#include <utility>

#include "formats/hdf5/names.h"
#include "formats/text.h"

namespace swath::formats::hdf5 {
namespace {

using Target = Link::Target;

struct FirstName {
  std::string path;
  Target kind;
};
using FirstNames = std::map<haddr_t, FirstName>;

// The target of a soft or external link, as stored.
std::string value_of(hid_t group, const LinkEntry& entry) {
  // For such links, HDF5 gives the length in the field for the address of a hard link.
  std::string value(static_cast<size_t>(entry.address) + 1, '\0');
  checked(library().H5Lget_val(group, entry.name.c_str(), value.data(), value.size(), H5P_DEFAULT));
  return value;
}

Link external_link(hid_t group, const LinkEntry& entry) {
  const std::string value = value_of(group, entry);
  unsigned flags = 0;
  const char* file = nullptr;
  const char* path = nullptr;
  checked(library().H5Lunpack_elink_val(value.data(), entry.address, &flags, &file, &path));
  return {Link::Kind::kExternal, text_of(file) + ":" + text_of(path), Target::kNone};
}

Link soft_link(hid_t group, const LinkEntry& entry, const FirstNames& first) {
  const std::string value = value_of(group, entry);
  const std::string says = text_of(std::string_view(value).substr(0, value.find('\0')));  // HDF5 counts the NUL, too
  const hid_t opened = library().H5Oopen(group, entry.name.c_str(), H5P_DEFAULT);
  if (opened < 0) return {Link::Kind::kSoft, says, Target::kNone};
  const Handle target(opened);
  const auto found = first.find(object_info(target.get()).addr);
  if (found == first.end()) return {Link::Kind::kSoft, says, Target::kNone};
  return {Link::Kind::kSoft, found->second.path, found->second.kind};
}

// Returns none for the first hard link to an object.
std::optional<Link> link_of(hid_t group, const LinkEntry& entry, const std::string& path, FirstNames& first) {
  switch (entry.type) {
    case H5L_TYPE_HARD: {
      const auto [known, is_new] = first.try_emplace(entry.address, FirstName{path, Target::kType});
      if (is_new) return Link{Link::Kind::kNamedType, path, Target::kType};  // the walk finds all other objects
      if (known->second.path == path) return std::nullopt;
      return Link{Link::Kind::kHard, known->second.path, known->second.kind};
    }
    case H5L_TYPE_EXTERNAL:
      return external_link(group, entry);
    case H5L_TYPE_SOFT:
      return soft_link(group, entry, first);
    default:
      return Link{};
  }
}

}  // namespace

std::string Link::words() const {
  constexpr const char* kTargets[] = {"", "dataset", "group", "type"};
  if (kind == Kind::kNamedType) return "a named type";
  if (kind == Kind::kExternal) return "a link into another file, " + to;
  if (kind == Kind::kOther) return "a link of a kind that the program defines";
  if (leads_to == Target::kNone) return "a link that leads nowhere, to " + to;
  return std::string("a link to the ") + kTargets[static_cast<int>(leads_to)] + " " + (to.empty() ? "/" : to);
}

std::vector<std::pair<std::string, Link>> links(const std::vector<Item>& walked) {
  FirstNames first;
  for (const Item& item : walked) first[item.address] = {item.path, item.is_group ? Target::kGroup : Target::kDataset};
  std::vector<std::pair<std::string, Link>> found;
  for (const Item& item : walked) {
    if (!item.is_group) continue;
    for (const LinkEntry& entry : links_by_name(item.handle.get())) {
      const std::string path = joined(item.path, path_text(entry.name));
      if (auto link = link_of(item.handle.get(), entry, path, first)) found.emplace_back(path, std::move(*link));
    }
  }
  return found;
}

}  // namespace swath::formats::hdf5
