#include "formats/netcdf/netcdf.h"

#include <memory>

#include "base/error.h"
#include "formats/files.h"
#include "formats/netcdf/classic_file.h"
#include "formats/netcdf/define.h"
#include "formats/netcdf/whole.h"

namespace swath::formats::netcdf {
namespace {

class ClassicFormat : public Format {
 public:
  std::string_view name() const override { return "netcdf-classic"; }
  std::vector<std::string_view> flavours() const override { return {"cdf1", "cdf2", "cdf5"}; }
  std::vector<std::string_view> suffixes() const override { return {".nc3"}; }
  bool matches(const std::string& /*path*/, std::string_view start) const override {
    return start.starts_with("CDF\1") || start.starts_with("CDF\2") || start.starts_with("CDF\5");
  }

  std::unique_ptr<FormatFile> open(const std::string& path, Changes* changes) const override {
    return std::make_unique<ClassicFile>(path, changes);
  }

  // The header is written at once: netCDF's library enters "redefine" mode for each attribute of a classic file, which
  // moves all data when the header grows.
  void create(const std::string& path, const NewContents& contents) const override {
    const WholeHeader whole = WholeHeader::of(contents);
    std::string why;
    for (const std::string& refusal : whole.refusals) why += (why.empty() ? "" : "; ") + refusal;
    if (!why.empty()) fail_argument(why);
    const std::string header = to_bytes(whole.header);
    FreshFile file(path);
    file.write(header);
    file.extend(DataLayout::of(whole.header, std::ssize(header)).file_end());
    file.keep();
  }

  std::vector<std::string> refusals(const NewContents& contents) const override {
    return WholeHeader::of(contents).refusals;
  }
};

}  // namespace

const Format& classic_format() {
  static const ClassicFormat format;
  return format;
}

}  // namespace swath::formats::netcdf
