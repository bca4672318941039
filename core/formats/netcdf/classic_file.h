// An open netCDF classic file with its header in memory: the header is read again only if it differs in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "formats/format.h"
#include "formats/netcdf/header.h"
#include "formats/netcdf/rewrite.h"

namespace swath::formats::netcdf {

class ClassicFile : public FormatFile {
 public:
  // Throws Error{kFormat}, with the byte and the field, if the header is false.
  ClassicFile(std::string path, Changes* changes);

  const Contents& contents() override;
  Description describe(const std::optional<std::string>& variable) override;
  Description add(const NewArray& array) override;
  void set_attributes(const std::string& holder, const Attributes& changes) override;
  Description extend(const std::string& variable, int64_t rows, std::optional<int64_t> written_from) override;
  void set_length(const std::string& dimension, int64_t rows) override;
  Description allocate(const std::string& variable) override { return describe(variable); }
  bool has_moved_others() override { return std::exchange(has_moved_, false); }
  bool has_replaced_file() override { return std::exchange(has_replaced_, false); }

 private:
  // Reads the header again if it differs in the file. Every operation calls this first: another process, or an undo,
  // may have written the header.
  void refresh();
  void take_header(Header header, std::string stored);
  // Changes the header by `change`, and then the file. After an error the file is as it was before.
  template <typename Change>
  void rewrite_with(Change change);
  Changes& changes();
  // Throws Error{kFormat} if data are missing at the end: a longer file would have zeros there.
  void check_has_all_data() const;
  size_t index_of(const std::optional<std::string>& variable);
  // The description of a variable with this number of records.
  Description described(const StoredVariable& variable, int64_t records) const;
  Dimension counted(const StoredDimension& dimension, int64_t records) const;
  void list_contents();

  const std::string path_;
  Changes* const changes_;
  Header header_ = {};
  std::string stored_ = {};  // the bytes of the header in the file; empty if it must be read
  int64_t file_bytes_ = 0;
  std::unordered_map<std::string, size_t> index_ = {};  // of the variables, by name
  std::optional<Contents> contents_ = {};
  bool has_moved_ = false;
  bool has_replaced_ = false;
};

}  // namespace swath::formats::netcdf
