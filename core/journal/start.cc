#include "journal/start.h"

#include <nlohmann/json.hpp>

namespace swath {
namespace {

using Json = nlohmann::json;

constexpr int64_t kVersion = 1;

// Returns null if there is no such member.
const Json* member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::optional<int64_t> signed_number(const Json* value) {
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  if (value->is_number_unsigned() && value->get<uint64_t>() > uint64_t{INT64_MAX}) return std::nullopt;
  return value->get<int64_t>();
}

std::optional<uint64_t> unsigned_number(const Json* value) {
  if (value == nullptr || !value->is_number_unsigned()) return std::nullopt;
  return value->get<uint64_t>();
}

// `born` may be absent (null); anything else but a number is an error.
std::optional<FileIdentity> identity_of(const Json* inode, const Json* born) {
  const std::optional<uint64_t> number = unsigned_number(inode);
  const std::optional<int64_t> birth = signed_number(born);
  if (!number || (born != nullptr && !birth)) return std::nullopt;
  return FileIdentity{*number, birth};
}

// "4243, 1790000000000000001"; each is null if it is not known.
std::string born_text(const FileIdentity& identity) { return identity.born ? std::to_string(*identity.born) : "null"; }

}  // namespace

std::optional<Start> Start::parse(std::string_view text) {
  const Json said = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!said.is_object() || signed_number(member(said, "swath")) != kVersion) return std::nullopt;
  const std::optional<FileIdentity> file = identity_of(member(said, "file"), member(said, "born"));
  const std::optional<int64_t> size = signed_number(member(said, "size"));
  if (!file || !size || *size < 0) return std::nullopt;
  Start start{*file, *size, std::nullopt};
  if (const Json* journal = member(said, "journal")) {
    if (!journal->is_array() || journal->size() != 2) return std::nullopt;
    const Json& born = (*journal)[1];
    start.journal = identity_of(&(*journal)[0], born.is_null() ? nullptr : &born);
    if (!start.journal) return std::nullopt;
  }
  return start;
}

std::string Start::text() const {
  const std::string of_journal =
      journal ? "[" + std::to_string(journal->inode) + ", " + born_text(*journal) + "]" : "null";
  return "{\"swath\": " + std::to_string(kVersion) + ", \"file\": " + std::to_string(file.inode) +
         ", \"born\": " + born_text(file) + ", \"size\": " + std::to_string(size) + ", \"journal\": " + of_journal +
         "}";
}

bool Start::was_replaced_by(const FileIdentity& now, const std::optional<FileIdentity>& journal_now) const {
  if (!journal || journal != journal_now || !journal->born || !now.born) return false;
  return !file.may_be(now) && *now.born > *journal->born;
}

}  // namespace swath
