// The interface of a format. Each format has a folder; formats/all.h has the list.
//
// A format knows the positions of an array's bytes, and defines the content of a file. It does not move elements. Rank
// 0 calls these functions, and sends the results to the other ranks; nothing is collective.
//
// All functions throw the same errors: kFormat for false metadata, or a file that is too short; kArgument for what the
// format cannot store, or a name that does not exist (with a list of those that do); kUnsupported for what Swath does
// not know; kStore if the system refuses, with EEXIST if something exists that must not.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chunks/new_chunk.h"
#include "formats/contents.h"
#include "formats/description.h"
#include "formats/new_array.h"
#include "journal/changes.h"

namespace swath::formats {

// What the caller knows already of an array that is described again.
struct Seen {
  Shape shape;
  std::vector<std::string> dimensions;
  bool is_exact = false;  // the array has this shape, even if others have extended it; if not, it may be longer
};

// The reason why a format allocated space: extend() or place_chunks().
enum class Room { kRows, kChunks };

// The metadata of one file. The object lives as long as the file is open, so that metadata are read once.
class FormatFile {
 public:
  virtual ~FormatFile() = default;

  // The contents of the file without the elements, as read, or as changed since.
  virtual const Contents& contents() = 0;
  // The same for a caller who will change the file: read from each array, not from a copy that may be older (Zarr).
  virtual const Contents& contents_to_change() { return contents(); }
  // The description of a variable; no name means the only one.
  virtual Description describe(const std::optional<std::string>& variable) = 0;

  // ---- Changes. They go through the journal that the file was opened with; kUnsupported for formats of one array.
  // ---- Each leaves the file as it was where it throws.

  // Adds a variable, with its dimensions and groups; the elements are not written. If the file already has records,
  // those of the variable are filled at once.
  virtual Description add(const NewArray& array) = 0;
  // Adds or replaces attributes of the file (""), a group or a variable; a null value removes one.
  virtual void set_attributes(const std::string& holder, const Attributes& changes) = 0;
  // Allocates space for this many rows of a variable, or frees it; readers need not see the rows yet. The caller writes
  // the rows from `written_from` on next, or removes them: until then their content is undefined.
  virtual Description extend(const std::string& variable, int64_t rows, std::optional<int64_t> written_from) = 0;
  // Gives a dimension (a path) this many rows, for every variable along it and for every reader.
  virtual void set_length(const std::string& dimension, int64_t rows) = 0;
  // Allocates and fills all parts of an array that have no space in the file yet; returns the new description.
  virtual Description allocate(const std::string& variable) = 0;
  // Allocates space for coded chunks of an array of this shape, in place of their old space, and returns the offsets.
  // The caller must write the chunks there before they are read.
  virtual std::vector<int64_t> place_chunks(const std::string& variable, const Shape& shape,
                                            std::span<const NewChunk> chunks);
  // Whether add() of this array may leave changes in memory, and set_attributes() after it. Only in a file that has no
  // name yet. The array is then described exactly as it was asked for.
  virtual bool may_delay(const NewArray& array);
  // Writes changes that are still in memory into the file. Call this before the file is synced, and before the journal
  // gets a mark.
  virtual void write_delayed() {}
  // The elements are written for which extend() or place_chunks() allocated space: readers may see them.
  virtual void written(Room room, const std::string& variable);
  // Whether the last change moved elements of other variables: all must be described again. Resets the answer.
  virtual bool has_moved_others() { return false; }
  // Whether another file took the name in a change: the old file must be opened again by its name. Resets the answer.
  virtual bool has_replaced_file() { return false; }
};

class Format {
 public:
  virtual ~Format() = default;

  virtual std::string_view name() const = 0;  // "netcdf-classic"
  virtual bool holds_many() const { return true; }
  virtual bool is_folder() const { return false; }
  // Whether set_length() fills the new rows, so that the caller need not.
  virtual bool fills_rows() const { return false; }
  // Whether a file describes its content; if not, the caller does (RawElements).
  virtual bool describes_itself() const { return true; }
  // The suffixes of file names that select this format: ".nc3".
  virtual std::vector<std::string_view> suffixes() const { return {}; }
  // Whether an existing file has this format; `start`: its first bytes, empty for a folder.
  virtual bool matches(const std::string& path, std::string_view start) const = 0;
  // The texts that may follow the colon after the format's name.
  virtual std::vector<std::string_view> flavours() const { return {}; }

  // Opens an existing file. `changes`: its journal, which must outlive the result; null: the file is only read.
  virtual std::unique_ptr<FormatFile> open(const std::string& path, Changes* changes) const = 0;
  // Creates a file with all its contents; the elements are holes. Throws kStore with EEXIST if the name exists. After
  // an error nothing is left.
  virtual void create(const std::string& path, const NewContents& contents) const = 0;
  // Describes what the format cannot store of a new file; creates nothing.
  virtual std::vector<std::string> refusals(const NewContents& contents) const = 0;
  // Writes what other readers expect in a complete file: a store's consolidated metadata.
  virtual void finish(const std::string& path) const { (void)path; }
};

}  // namespace swath::formats
