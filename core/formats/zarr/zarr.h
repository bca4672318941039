// Zarr stores in a local folder, versions 3 and 2: what they hold, where the chunks are, and how a store is made and
// changed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/format.h"
#include "formats/zarr/edit.h"
#include "formats/zarr/nodes.h"

namespace swath::zarr {

const formats::Format& format();

class ZarrFile : public formats::FormatFile {
 public:
  // `journal` (may be null: the store is only read) outlives this.
  ZarrFile(std::string path, std::unique_ptr<StoreJournal> journal);

  // 2 or 3.
  int version();
  // From consolidated metadata where the store has valid ones and is only read; else from the metadata of each node:
  // other programs change them without consolidating them again.
  const formats::Contents& contents() override;
  const formats::Contents& contents_to_change() override;
  // By the array's own metadata, not by consolidated ones.
  formats::Description describe(const std::optional<std::string>& variable) override;

  // A dimension that is there already, in the array's group or one above it, is that dimension: where it grows the
  // array has its length.
  formats::Description add(const formats::NewArray& array) override;
  void set_attributes(const std::string& holder, const formats::Attributes& changes) override;
  // Nothing is touched: a chunk is a file of its own. The rows are not the array's before `set_length`.
  formats::Description extend(const std::string& variable, int64_t rows, std::optional<int64_t> written_from) override;
  // An array whose dimensions have no names is the only one along its first dimension, which has the array's name here.
  // Chunks stay as they are: rows that nobody has written since may have what was written before they were cut off.
  void set_length(const std::string& dimension, int64_t rows) override;
  formats::Description allocate(const std::string& variable) override { return describe(variable); }
  // Writes consolidated metadata, as zarr-python does: other readers open the store by reading one file.
  void consolidate();

 private:
  StoreJournal& journal();
  // What `describe` means by a name; its node.
  Node node_of(const std::optional<std::string>& variable);
  void note_added(const std::string& name, const formats::Description& added);

  Nodes nodes_;
  std::unique_ptr<StoreJournal> journal_;
  std::optional<formats::Contents> contents_ = {};
  bool is_walked_ = false;  // whether contents_ are of the metadata of each node
};

}  // namespace swath::zarr
