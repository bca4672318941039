#include "formats/netcdf/rewrite.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <vector>

#include "base/error.h"
#include "formats/files.h"
#include "formats/netcdf/move.h"
#include "formats/netcdf/values.h"
#include "store/atomic_file.h"
#include "store/file_calls.h"

namespace swath::formats::netcdf {
namespace {

using file_calls::write_at;

constexpr int64_t kFilledBytes = int64_t{1} << 20;  // bytes of one write
constexpr int64_t kRecordsBytesMax = 8;             // the bytes of the number of records
constexpr int64_t kSameBytesMin = 64;               // parts of a header that are closer than this are written together

// The change of the header of a file that is open as `descriptor`.
struct Rewriting {
  Changes& changes;
  int descriptor;
  const Version& before;
  const Header& header;
  const Version& after;
};

// Writes the fill value to existing records of the variables that are new.
void fill_records(int descriptor, const Rewriting& rewriting) {
  const DataLayout& layout = rewriting.after.layout;
  for (size_t i = rewriting.before.layout.variables.size(); i < layout.variables.size(); ++i) {
    const VariableData& data = layout.variables[i];
    if (!data.is_record || data.slab_bytes == 0 || layout.records == 0) continue;
    const StoredVariable& variable = rewriting.header.variables[i];
    const Attributes attributes = attributes_of(variable.attributes);
    const std::vector<std::byte> fill = fill_of(element_type(variable.type), attributes.find("_FillValue"));
    const int64_t count = std::min(kFilledBytes, data.slab_bytes) / std::ssize(fill);
    std::string slab;
    for (int64_t element = 0; element < count; ++element) {
      slab.append(reinterpret_cast<const char*>(fill.data()), fill.size());
    }
    for (int64_t record = 0; record < layout.records; ++record) {
      const int64_t begin = data.begin + record * layout.record_bytes;
      for (int64_t at = 0; at < data.slab_bytes; at += std::ssize(slab)) {
        const auto bytes = static_cast<size_t>(std::min<int64_t>(std::ssize(slab), data.slab_bytes - at));
        write_at(descriptor, std::string_view(slab).substr(0, bytes), begin + at);
      }
    }
  }
}

// The parts of `now` that differ from `there`, the last one first. The first part is a count or a length: until it is
// written, a reader sees the old header.
std::vector<FileRange> differing_parts(std::string_view there, std::string_view now) {
  std::vector<FileRange> parts;
  for (int64_t at = std::ssize(now) - 1; at >= 0; --at) {
    const auto i = static_cast<size_t>(at);
    if (i < there.size() && there[i] == now[i]) continue;
    if (!parts.empty() && parts.back().begin - at <= kSameBytesMin) {
      parts.back().begin = at;
    } else {
      parts.push_back({at, at + 1});
    }
  }
  return parts;
}

// The new header, with zeros for the rest of a longer old one, and the parts that must be written.
struct HeaderParts {
  std::string bytes;
  std::vector<FileRange> parts;
};

HeaderParts header_parts(const Rewriting& rewriting) {
  HeaderParts found{rewriting.after.header, {}};
  found.bytes.resize(std::max(found.bytes.size(), rewriting.before.header.size()));
  const std::string there = file_calls::read_at(rewriting.descriptor, std::ssize(found.bytes), 0);
  found.parts = differing_parts(there, found.bytes);
  return found;
}

// Clears new data and extends the file before it writes the header that refers to them.
void write_header(const Rewriting& rewriting, const HeaderParts& header) {
  const DataLayout& layout = rewriting.after.layout;
  for (size_t i = rewriting.before.layout.variables.size(); i < layout.variables.size(); ++i) {
    const VariableData& data = layout.variables[i];
    if (!data.is_record) clear(rewriting.descriptor, {data.begin, data.end()});
  }
  extend(rewriting.changes.path(), rewriting.descriptor, layout.file_end());
  for (const FileRange& part : header.parts) {
    const auto begin = static_cast<size_t>(part.begin);
    write_at(rewriting.descriptor, std::string_view(header.bytes).substr(begin, static_cast<size_t>(part.end) - begin),
             part.begin);
  }
}

// Runs `work`; undoes its changes if it throws.
template <typename Work>
void or_undo(Changes& changes, Work work) {
  const Mark mark = changes.mark();
  try {
    work();
  } catch (...) {
    changes.undo(mark);
    throw;
  }
}

void write_in_place(const Rewriting& rewriting) {
  or_undo(rewriting.changes, [&] {
    const HeaderParts header = header_parts(rewriting);
    // Keeps the number of records, too: an undo cuts off the records that set_length() has counted since.
    std::vector<KeptRange> kept{{kRecordsAt, kRecordsBytesMax}};
    for (const FileRange& part : header.parts) kept.push_back({part.begin, part.end - part.begin});
    rewriting.changes.keep_all(rewriting.descriptor, kept);
    fill_records(rewriting.descriptor, rewriting);
    write_header(rewriting, header);
  });
}

void move_all_in_place(const Rewriting& rewriting, const std::vector<Move>& needed) {
  move_in_place(rewriting.descriptor, needed);
  fill_records(rewriting.descriptor, rewriting);
  write_header(rewriting, header_parts(rewriting));
}

// Moves data in a file without a name: after an error the file is lost, which harms nobody.
void move_without_journal(const Rewriting& rewriting, const std::vector<Move>& needed) {
  try {
    store_errors(rewriting.changes.path(), "change", [&] { move_all_in_place(rewriting, needed); });
  } catch (const std::exception& error) {
    rewriting.changes.lose(error.what());
    throw;
  }
  rewriting.changes.commit();
}

// Moves data in a file with several names, which all stay names of the same file; the journal keeps the whole file.
void move_with_journal(const Rewriting& rewriting, const std::vector<Move>& needed) {
  or_undo(rewriting.changes, [&] {
    rewriting.changes.keep(rewriting.descriptor, 0, file_calls::status_of(rewriting.descriptor).st_size);
    move_all_in_place(rewriting, needed);
  });
}

bool is_refused_to_this_user(int error) { return error == EPERM || error == EACCES || error == ENOTSUP; }

// Copies extended attributes, also access control lists; leaves out those that the user or the file system may not set.
void keep_extended_attributes(int source, int target) {
  const ssize_t room = flistxattr(source, nullptr, 0);
  if (room <= 0) return;
  std::string names(static_cast<size_t>(room), '\0');
  const ssize_t listed = flistxattr(source, names.data(), names.size());
  if (listed <= 0) return;
  names.resize(static_cast<size_t>(listed));
  for (size_t at = 0; at < names.size(); at = names.find('\0', at) + 1) {
    const std::string name = names.c_str() + at;
    const ssize_t bytes = fgetxattr(source, name.c_str(), nullptr, 0);
    if (bytes < 0) continue;
    std::string value(static_cast<size_t>(bytes), '\0');
    if (fgetxattr(source, name.c_str(), value.data(), value.size()) != bytes) continue;
    if (fsetxattr(target, name.c_str(), value.data(), value.size(), 0) != 0 && !is_refused_to_this_user(errno)) {
      throw Refusal(errno);
    }
  }
}

// Copies the owner, as far as this user may, and the permissions to a file that replaces another.
void keep_owner(int source, int target) {
  const struct stat status = file_calls::status_of(source);
  if (fchown(target, status.st_uid, status.st_gid) != 0 && !is_refused_to_this_user(errno)) throw Refusal(errno);
  keep_extended_attributes(source, target);
  file_calls::set_mode(target, status.st_mode & 07777);
}

// Writes a new file and renames it: after a kill, the name has the old file or the new one.
void write_aside(const Rewriting& rewriting, const std::vector<Move>& all) {
  const std::string& path = rewriting.changes.path();
  AtomicFileOptions replaces;
  replaces.overwrite = true;
  AtomicFile aside(path, replaces);
  const std::string& working = aside.working_path();
  store_errors(path, "write it anew, as " + working, [&] {
    constexpr mode_t kMode = 0600;
    const Descriptor target = file_calls::open_file(working, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR, kMode);
    copy_moved(rewriting.descriptor, target.get(), all);
    fill_records(target.get(), rewriting);
    write_at(target.get(), rewriting.after.header, 0);
    const int64_t size = file_calls::status_of(target.get()).st_size;
    file_calls::set_size(target.get(), std::max(rewriting.after.layout.file_end(), size));
    keep_owner(rewriting.descriptor, target.get());
    file_calls::sync_data(target.get());
  });
  aside.complete();
}

}  // namespace

Version Version::of(const Header& header) {
  std::string bytes = to_bytes(header);
  DataLayout layout = DataLayout::of(header, std::ssize(bytes));
  return {std::move(bytes), std::move(layout)};
}

Rewritten rewrite(Changes& changes, const Version& before, const Header& now) {
  const std::string& path = changes.path();
  return store_errors(path, "change", [&] {
    const Descriptor file = file_calls::open_file(path, O_RDWR);
    const Version after = Version::of(now);
    const Rewriting rewriting{changes, file.get(), before, now, after};
    const struct stat status = file_calls::status_of(file.get());
    const std::vector<Move> all = moves(before.layout, after.layout, status.st_size);
    std::vector<Move> needed;
    std::copy_if(all.begin(), all.end(), std::back_inserter(needed), [](const Move& move) { return move.is_needed(); });
    const bool has_more = before.layout.variables.size() < after.layout.variables.size();
    if ((!needed.empty() || has_more) && !before.layout.is_in_order()) {
      throw Error(ErrorKind::kUnsupported,
                  path +
                      ": its variables lie in an order that netCDF's library does not know, so that nothing can be "
                      "added; copy it with swath.copy, or with the library that wrote it");
    }
    if (needed.empty()) {
      write_in_place(rewriting);
      return Rewritten::kInPlace;
    }
    if (!changes.is_durable()) {
      move_without_journal(rewriting, needed);
      return Rewritten::kMovedInPlace;
    }
    if (status.st_nlink > 1) {
      move_with_journal(rewriting, needed);
      return Rewritten::kMovedInPlace;
    }
    changes.commit();
    write_aside(rewriting, all);
    changes.commit();
    return Rewritten::kReplaced;
  });
}

}  // namespace swath::formats::netcdf
