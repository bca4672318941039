// Stores several nodes together, with the consolidated metadata of the groups above them.
//
// A metadata file is replaced as a whole: the new one is written in the same folder, then renamed. If several are
// replaced, all are written before the first rename: a full disk changes nothing. The journal gets its records first,
// and its undo removes the changes after a kill before the commit.
//
// Consolidated metadata of a store are written again with each change, as the last step: a reader that uses them never
// finds an array that does not exist, or a record that is not written.
#pragma once

#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/zarr/nodes.h"
#include "journal/changes.h"

namespace swath::zarr {

// The journal of a store, which gets its records before a change.
class StoreJournal {
 public:
  virtual ~StoreJournal() = default;
  // Call this before a file or folder is made; `relative` is its path in the store.
  virtual void adds(const std::string& relative) = 0;
  // Call this before files are replaced or made.
  virtual void replaces_all(std::span<const std::string> relative) = 0;
};

// The journal of an existing store that is changed.
class JournalOfChanges : public StoreJournal {
 public:
  explicit JournalOfChanges(Changes& changes) : changes_(changes) {}
  void adds(const std::string& relative) override { changes_.adds(relative); }
  void replaces_all(std::span<const std::string> relative) override { changes_.replaces_all(relative); }

 private:
  Changes& changes_;
};

// For a new store, which is removed after an error.
class NoJournal : public StoreJournal {
 public:
  void adds(const std::string& /*relative*/) override {}
  void replaces_all(std::span<const std::string> /*relative*/) override {}
};

class Edit {
 public:
  explicit Edit(Nodes& nodes, StoreJournal& journal) : nodes_(nodes), journal_(journal) {}

  // Stores a new node, or replaces one.
  void put(Node node);
  // Stores all metadata below a group in the group.
  void consolidate(const Node& group);

  using Files = std::vector<std::pair<std::string, Json>>;
  // The files that change, by their paths in the store, with their new content, in the order of their renames;
  // consolidated metadata are last.
  Files files();
  // Makes the changes. Throws Error{kStore} if the system refuses: then nothing has changed, or the journal can undo
  // it. `folder` is created first.
  void apply(const std::string& folder = "");

 private:
  void find_holders();
  std::unordered_map<std::string, Node> every_node();
  void replace(const Files& files, const std::string& made);

  Nodes& nodes_;
  StoreJournal& journal_;
  std::vector<Node> changed_ = {};
  std::unordered_map<std::string, size_t> place_ = {};  // the position of each in `changed_`
  std::map<std::string, Node> holders_ = {};
};

}  // namespace swath::zarr
