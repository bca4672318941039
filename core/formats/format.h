// What every format offers. One folder a format; formats/all.h has the list.
//
// A format says where the bytes of an array are, and defines what a file holds. It moves no elements. Everything here
// is done on one rank, which tells the others; nothing is collective.
//
// Errors of all of them: kFormat for metadata that cannot be true, or a file that is too short; kArgument for what the
// format cannot store, or a name that is not there (listing what is); kUnsupported for what Swath has no words for;
// kStore where the system refuses, with EEXIST where something is there that may not be.
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

// What is known of an array that is described again.
struct Seen {
  Shape shape;
  std::vector<std::string> dimensions;
  bool is_exact = false;  // it is as long as it was, whatever others have added since; else it may be longer
};

// What a format gives room for: extend(), place_chunks().
enum class Room { kRows, kChunks };

// The metadata of one file, open for as long as the file is: what is read once is not read again.
class FormatFile {
 public:
  virtual ~FormatFile() = default;

  // Everything that it holds but the elements, as it was read, or as it was changed since.
  virtual const Contents& contents() = 0;
  // The same for who will change the file: what each array says of itself, where a copy of it may be older (Zarr).
  virtual const Contents& contents_to_change() { return contents(); }
  // Where the bytes of a variable are; none stands for the only one that can be meant.
  virtual Description describe(const std::optional<std::string>& variable) = 0;

  // ---- Changes. They go through the journal that the file was opened with; kUnsupported for formats of one array.
  // ---- Each leaves the file as it was where it throws.

  // Adds a variable, with its dimensions and groups, without writing its elements. Where the file has records already,
  // it has them at once, filled.
  virtual Description add(const NewArray& array) = 0;
  // Adds or replaces attributes of the file (""), a group or a variable; null removes one.
  virtual void set_attributes(const std::string& holder, const Attributes& changes) = 0;
  // Gives a variable room for so many rows, or takes room away again; readers need not see them yet. Rows from
  // `written_from` on are written next, or taken away: they may hold anything until then.
  virtual Description extend(const std::string& variable, int64_t rows, std::optional<int64_t> written_from) = 0;
  // Lets a dimension, by its path, have so many rows, for every variable along it and every reader.
  virtual void set_length(const std::string& dimension, int64_t rows) = 0;
  // Gives every part of an array that has no place in the file yet a place, filled; where everything is then.
  virtual Description allocate(const std::string& variable) = 0;
  // Gives coded chunks of an array of that shape room in the file, in place of that which they had, and returns where.
  // Nothing is written there; somebody else does so before anybody reads it.
  virtual std::vector<int64_t> place_chunks(const std::string& variable, const Shape& shape,
                                            std::span<const NewChunk> chunks);
  // The elements of a variable are written that extend() or place_chunks() gave room for: others may read them.
  virtual void written(Room room, const std::string& variable);
  // Whether the last change has moved elements of other variables: all are described again then. Once.
  virtual bool has_moved_others() { return false; }
  // Whether another file has the name now, with more in it: whoever has the old one open opens it again. Once.
  virtual bool has_replaced_file() { return false; }
};

class Format {
 public:
  virtual ~Format() = default;

  virtual std::string_view name() const = 0;  // "netcdf-classic"
  virtual bool holds_many() const { return true; }
  virtual bool is_folder() const { return false; }
  // Whether set_length() fills what gets longer, so that nobody else has to.
  virtual bool fills_rows() const { return false; }
  // Whether a file says what it holds; else whoever opens it does (RawElements).
  virtual bool describes_itself() const { return true; }
  // The suffixes of names that mean it: ".nc3".
  virtual std::vector<std::string_view> suffixes() const { return {}; }
  // Whether an existing file is of this format; `start`: its first bytes, none of a folder.
  virtual bool matches(const std::string& path, std::string_view start) const = 0;
  // What may follow the colon of its name.
  virtual std::vector<std::string_view> flavours() const { return {}; }

  // Opens an existing file. `changes`: its journal, which outlives what is returned; null: it is only read.
  virtual std::unique_ptr<FormatFile> open(const std::string& path, Changes* changes) const = 0;
  // Makes a file with everything that it is to hold but the elements, which are holes. Throws kStore with EEXIST where
  // the name is taken; nothing is left behind where it throws.
  virtual void create(const std::string& path, const NewContents& contents) const = 0;
  // In words, what the format cannot hold of a new file; nothing is made.
  virtual std::vector<std::string> refusals(const NewContents& contents) const = 0;
  // What other readers of a new file look for, when all is in it: a store's consolidated metadata.
  virtual void finish(const std::string& path) const { (void)path; }
};

}  // namespace swath::formats
