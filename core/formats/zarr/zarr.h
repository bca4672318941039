// Zarr stores in a local folder, versions 3 and 2: their contents, the positions of chunks, creation and changes.
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
  // `journal` must outlive this object; null: the store is only read.
  ZarrFile(std::string path, std::unique_ptr<StoreJournal> journal);

  // 2 or 3.
  int version();
  // From valid consolidated metadata if the store is only read; otherwise from the metadata of each node, since other
  // programs change these without writing the consolidated ones again.
  const formats::Contents& contents() override;
  const formats::Contents& contents_to_change() override;
  // From the array's own metadata, not from consolidated ones.
  formats::Description describe(const std::optional<std::string>& variable) override;

  // If a dimension exists already, in the array's group or one above, the array uses it; if the dimension grows, the
  // array gets its length.
  formats::Description add(const formats::NewArray& array) override;
  void set_attributes(const std::string& holder, const formats::Attributes& changes) override;
  // Changes no file, since each chunk is a file. The array gets the rows in `set_length`.
  formats::Description extend(const std::string& variable, int64_t rows, std::optional<int64_t> written_from) override;
  // If an array's dimensions have no names, only this array has its first dimension; its name here is the array's name.
  // Chunks stay as they are: rows that were cut off before may show their old values again until they are written.
  void set_length(const std::string& dimension, int64_t rows) override;
  formats::Description allocate(const std::string& variable) override { return describe(variable); }
  // Writes consolidated metadata, as zarr-python does: other readers then open the store with one file.
  void consolidate();

 private:
  StoreJournal& journal();
  // The node that a name in `describe` means.
  Node node_of(const std::optional<std::string>& variable);
  void note_added(const std::string& name, const formats::Description& added);

  Nodes nodes_;
  std::unique_ptr<StoreJournal> journal_;
  std::optional<formats::Contents> contents_ = {};
  bool is_walked_ = false;  // contents_ are from the metadata of each node
};

}  // namespace swath::zarr
