#include "journal/start.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "store/file_calls.h"

namespace swath {
namespace {

using Json = nlohmann::json;

constexpr int64_t kVersion = 1;
constexpr int64_t kNanoseconds = 1'000'000'000;

// None where the system does not tell when files were made.
std::optional<FileIdentity> identity_with_birth(int folder, const char* path, int flags) {
  struct statx found = {};
  if (::statx(folder, path, flags, STATX_INO | STATX_BTIME, &found) != 0) return std::nullopt;
  if ((found.stx_mask & STATX_INO) == 0 || (found.stx_mask & STATX_BTIME) == 0) return std::nullopt;
  return FileIdentity{found.stx_ino, found.stx_btime.tv_sec * kNanoseconds + found.stx_btime.tv_nsec};
}

// Null where there is none.
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

// `born` may be absent (null), but no other thing than a number.
std::optional<FileIdentity> identity_of(const Json* inode, const Json* born) {
  const std::optional<uint64_t> number = unsigned_number(inode);
  const std::optional<int64_t> birth = signed_number(born);
  if (!number || (born != nullptr && !birth)) return std::nullopt;
  return FileIdentity{*number, birth};
}

// "4243, 1790000000000000001", each of them null where it is not known.
std::string born_text(const FileIdentity& identity) { return identity.born ? std::to_string(*identity.born) : "null"; }

}  // namespace

FileIdentity FileIdentity::of(const std::string& path) {
  const std::optional<FileIdentity> found = identity_with_birth(AT_FDCWD, path.c_str(), 0);
  return found ? *found : FileIdentity{file_calls::status_of(path).st_ino, std::nullopt};
}

FileIdentity FileIdentity::of(int descriptor) {
  const std::optional<FileIdentity> found = identity_with_birth(descriptor, "", AT_EMPTY_PATH);
  return found ? *found : FileIdentity{file_calls::status_of(descriptor).st_ino, std::nullopt};
}

bool FileIdentity::may_be(const FileIdentity& other) const {
  return inode == other.inode && (!born || !other.born || *born == *other.born);
}

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
