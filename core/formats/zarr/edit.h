// Nodes of a store that are stored together, and the consolidated metadata of the groups above them with them.
//
// A file of metadata is replaced as a whole: written aside in its folder, then renamed. Where several are replaced all
// of them are written aside first: a full disk changes nothing. The journal is told before, and takes them back where
// the process is killed before they are committed.
//
// Where a store has consolidated metadata they are written again with each change, last: who trusts them finds no array
// that is not there, and no record that is not written, at any time.
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

// What is told before a store changes: its journal.
class StoreJournal {
 public:
  virtual ~StoreJournal() = default;
  // A file or folder is made next, by its path in the store.
  virtual void adds(const std::string& relative) = 0;
  // Files are replaced next; those that are not there yet are made.
  virtual void replaces_all(std::span<const std::string> relative) = 0;
};

// Of a store that is open to be changed.
class JournalOfChanges : public StoreJournal {
 public:
  explicit JournalOfChanges(Changes& changes) : changes_(changes) {}
  void adds(const std::string& relative) override { changes_.adds(relative); }
  void replaces_all(std::span<const std::string> relative) override { changes_.replaces_all(relative); }

 private:
  Changes& changes_;
};

// Of a new store, which is removed where it fails.
class NoJournal : public StoreJournal {
 public:
  void adds(const std::string& /*relative*/) override {}
  void replaces_all(std::span<const std::string> /*relative*/) override {}
};

class Edit {
 public:
  explicit Edit(Nodes& nodes, StoreJournal& journal) : nodes_(nodes), journal_(journal) {}

  // Stores a node, which may be there already.
  void put(Node node);
  // Stores all metadata below a group with it.
  void consolidate(const Node& group);

  using Files = std::vector<std::pair<std::string, Json>>;
  // What is to be in which files, those that change, by their paths in the store: in the order in which they get their
  // names, consolidated metadata last.
  Files files();
  // Does it; throws Error{kStore} where the system refuses: all is as it was then, or the journal takes it back.
  // `folder`: is made first.
  void apply(const std::string& folder = "");

 private:
  void find_holders();
  std::unordered_map<std::string, Node> every_node();
  void replace(const Files& files, const std::string& made);

  Nodes& nodes_;
  StoreJournal& journal_;
  std::vector<Node> changed_ = {};
  std::unordered_map<std::string, size_t> place_ = {};  // of each in `changed_`
  std::map<std::string, Node> holders_ = {};
};

}  // namespace swath::zarr
