// One netCDF classic file whose header is kept: it is read again only where the file has another one.
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
  // Throws Error{kFormat}, with the byte and the field, for a header that cannot be true.
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
  // Reads the header where the file has another one than the one that is known. Everything begins with it: another
  // process, or a change that was taken back, may have written it.
  void refresh();
  void take_header(Header header, std::string stored);
  // Changes the header by `change`, and then the file. Where it throws the file is as it was.
  template <typename Change>
  void rewrite_with(Change change);
  Changes& changes();
  // Throws Error{kFormat} for a file that lacks data: it must not be made long enough by zeros.
  void check_has_all_data() const;
  size_t index_of(const std::optional<std::string>& variable);
  // With as many records as told.
  Description described(const StoredVariable& variable, int64_t records) const;
  Dimension counted(const StoredDimension& dimension, int64_t records) const;
  void list_contents();

  const std::string path_;
  Changes* const changes_;
  Header header_ = {};
  std::string stored_ = {};  // the header's bytes in the file; empty where it must be read
  int64_t file_bytes_ = 0;
  std::unordered_map<std::string, size_t> index_ = {};  // of the variables, by name
  std::optional<Contents> contents_ = {};
  bool has_moved_ = false;
  bool has_replaced_ = false;
};

}  // namespace swath::formats::netcdf
