#include "formats/hdf5/hdf5_format.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "formats/added.h"
#include "formats/choose.h"
#include "formats/files.h"
#include "formats/hdf5/changed_file.h"
#include "formats/hdf5/dataset.h"
#include "formats/hdf5/growing.h"
#include "formats/hdf5/names.h"
#include "formats/hdf5/new_dataset.h"
#include "formats/hdf5/new_storage.h"
#include "formats/hdf5/objects.h"
#include "formats/hdf5/reading.h"
#include "formats/hdf5/survey.h"
#include "formats/hdf5/whole.h"
#include "formats/hdf5/write_attributes.h"
#include "formats/one_array.h"
#include "formats/refusals.h"
#include "store/file_calls.h"

namespace swath::formats::hdf5 {
namespace {

constexpr std::string_view kNetcdf4 = "netcdf4";

// A file that is only read: it is opened for each read of its metadata.
class ReadFile : public FormatFile {
 public:
  explicit ReadFile(std::string path) : path_(std::move(path)) {}

  const Contents& contents() override {
    if (!contents_) with_file([&](const OpenFile& file) { contents_ = survey(file); });
    return *contents_;
  }

  Description describe(const std::optional<std::string>& variable) override {
    Description found;
    const SeenArrays seen = seen_of(variable);
    if (is_of_one_moment()) {
      found = std::move(hdf5::describe(path_, {variable}, seen).front());
    } else {
      with_file([&](const OpenFile& file) { found = std::move(describe_open(file, {variable}, seen).front()); });
    }
    check_whole(found, StoredFile(path_).bytes());
    return found;
  }

  Description add(const NewArray&) override { refuse(); }
  void set_attributes(const std::string&, const Attributes&) override { refuse(); }
  Description extend(const std::string&, int64_t, std::optional<int64_t>) override { refuse(); }
  void set_length(const std::string&, int64_t) override { refuse(); }
  Description allocate(const std::string&) override { refuse(); }

 protected:
  virtual void with_file(const FileWork& work) { with_open_file(path_, work); }
  // Whether all results describe one moment: arrays keep their shapes while other processes extend them.
  virtual bool is_of_one_moment() const { return true; }

  // The known shape of a variable; nothing if the contents were not read.
  SeenArrays seen_of(const std::optional<std::string>& variable) const {
    const Variable* known = contents_ && variable ? contents_->variable(*variable) : nullptr;
    if (known == nullptr) return {};
    return {{known->path, {known->shape, known->dimensions, is_of_one_moment()}}};
  }

  const std::string path_;
  std::optional<Contents> contents_;

 private:
  [[noreturn]] void refuse() const { fail_argument(path_ + ": it was opened to be read; open it to be changed"); }
};

// HDF5 may reuse space that it had freed: set it to zeros.
void clear_old_room(Changes& changes, const Description& made, int64_t size_before) {
  std::vector<FileRange> used;
  const auto add = [&](int64_t begin, int64_t end) {
    if (begin >= 0 && begin < std::min(end, size_before)) used.push_back({begin, std::min(end, size_before)});
  };
  if (const auto* strided = std::get_if<StridedLayout>(&made.layout)) {
    add(strided->offset, made.end);
  } else if (const auto* chunked = std::get_if<ChunkedLayout>(&made.layout)) {
    const int64_t bytes = element_count(chunked->chunk_shape) * made.type.bytes;
    for (const int64_t offset : chunked->offsets) add(offset, offset + bytes);
  }
  if (used.empty()) return;
  store_errors(changes.path(), "clear room in it", [&] {
    const Descriptor file = file_calls::open_file(changes.path(), O_RDWR);
    std::vector<KeptRange> kept;
    for (const FileRange& range : used) kept.push_back({range.begin, range.end - range.begin});
    changes.keep_all(file.get(), kept);
    for (const FileRange& range : used) clear(file.get(), range);
  });
}

// A file that is changed: HDF5's library keeps it open from the first change on.
class EditedFile final : public ReadFile {
 public:
  explicit EditedFile(Changes& changes) : ReadFile(changes.path()), changed_(changes) {}

  Description add(const NewArray& array) override {
    refuse_other_orders(array, "HDF5");
    const bool is_delayed = may_delay(array);
    if (!is_number(array.type)) has_only_numbers_ = false;
    const int64_t size_before = StoredFile(path_).bytes();
    struct Added {
      Description description;
      std::optional<std::vector<std::byte>> fill;
    };
    const auto added = std::make_shared<Added>();
    const FileWork make = [this, array, added](const OpenFile& file) {
      Scales scales(file, changed_.dimensions());
      MadeDataset dataset = make_dataset(file, scales, array, chunks_of_rows(array));
      const std::string name = shown_name(name_of(dataset.dataset.get()));
      added->description = describe_open(file, dataset.dataset.get(), {{name, dataset.seen}});
      added->fill = std::move(dataset.fill);
    };
    is_delayed ? changed_.change_later(make) : changed_.change(make);
    Description made = added->description;
    if (!is_delayed) {
      clear_old_room(changed_.changes(), made, size_before);
      formats::extend(path_, made.end);
    }
    if (added->fill) made.fill = *added->fill;
    if (contents_) add_to(*contents_, made);
    return made;
  }

  // HDF5 allocates no space for the elements of an array with codecs. HDF5's own library, which moves the elements of
  // other types, opens the file itself.
  bool may_delay(const NewArray& array) override {
    const bool has_codecs = array.codecs && !array.codecs->empty();
    return has_codecs && is_number(array.type) && may_delay();
  }

  void write_delayed() override { changed_.write_delayed(); }

  void set_attributes(const std::string& holder, const Attributes& changes) override {
    const FileWork write = [this, holder, changes](const OpenFile& file) {
      Scales scales(file, changed_.dimensions());
      const bool is_file = without_slashes(holder).empty();
      Handle found = is_file ? item_at(file, "") : dataset_called(file, holder);
      if (!found.is_open() && is_name(holder)) found = item_at(file, holder);
      const int kind = found.is_open() ? library().H5Iget_type(found.get()) : -1;
      const bool is_dataset = kind == H5I_DATASET;
      if ((!is_dataset && kind != H5I_GROUP) || (is_dataset && is_dimension_only(found.get()))) {
        fail_argument(path_ + ": there is no group and no variable '" + holder + "'");
      }
      std::optional<ElementType> type;
      if (is_dataset && changes.find("_FillValue") != nullptr)
        type = element_type_of(path_ + ":" + holder, found.get());
      const bool is_text = type && type->is_text();
      write_attributes({found.get(), without_slashes(holder), type && !is_text ? &*type : nullptr}, changes,
                       scales.is_netcdf4());
    };
    may_delay() ? changed_.change_later(write) : changed_.change(write);
    if (contents_) contents_->set_attributes(holder, changes);
  }

  Description extend(const std::string& variable, int64_t rows, std::optional<int64_t> written_from) override {
    contents();
    const SeenArrays seen = seen_of(variable);
    const Seen known = seen.empty() ? Seen{} : seen.begin()->second;
    return with_provided_filters([&] { return hdf5::extend(changed_, variable, {rows, written_from}, known); });
  }

  // A dimension without a name belongs to one variable, which already has its length.
  void set_length(const std::string& dimension, int64_t rows) override {
    if (dimension.starts_with(':')) return;
    with_provided_filters([&] { hdf5::set_length(changed_, dimension, rows); });
    if (contents_) contents_->set_length(dimension, rows);
  }

  void written(Room room, const std::string& variable) override { changed_.written(room, variable); }

  Description allocate(const std::string& variable) override {
    contents();
    return hdf5::allocate(changed_, describe(variable));
  }

  std::vector<int64_t> place_chunks(const std::string& variable, const Shape& shape,
                                    std::span<const NewChunk> chunks) override {
    return hdf5::place_chunks(changed_, variable, shape, chunks);
  }

 private:
  void with_file(const FileWork& work) override { changed_.read(work); }
  bool is_of_one_moment() const override { return false; }

  static bool is_number(const ElementType& type) { return type.kind == 'i' || type.kind == 'u' || type.kind == 'f'; }
  bool may_delay() {
    if (changed_.changes().is_durable()) return false;
    if (!has_only_numbers_) {
      const auto& variables = contents().variables();
      has_only_numbers_ = std::all_of(variables.begin(), variables.end(),
                                      [](const Variable& one) { return one.type && is_number(*one.type); });
    }
    return *has_only_numbers_;
  }

  ChangedFile changed_;
  std::optional<bool> has_only_numbers_;
};

// netCDF-4 files are HDF5 files; only the creation differs.
class Hdf5Format final : public Format {
 public:
  explicit Hdf5Format(bool is_netcdf4) : is_netcdf4_(is_netcdf4) {}

  std::string_view name() const override { return is_netcdf4_ ? kNetcdf4 : "hdf5"; }
  std::vector<std::string_view> flavours() const override {
    if (is_netcdf4_) return {};
    return {kNetcdf4};
  }
  std::vector<std::string_view> suffixes() const override {
    if (is_netcdf4_) return {".nc", ".nc4"};
    return {".h5", ".hdf5"};
  }
  // An existing file always has the format "hdf5".
  bool matches(const std::string& path, std::string_view) const override {
    return !is_netcdf4_ && read_superblock(path).is_there;
  }
  bool fills_rows() const override { return true; }

  std::unique_ptr<FormatFile> open(const std::string& path, Changes* changes) const override {
    if (changes == nullptr) return std::make_unique<ReadFile>(path);
    return std::make_unique<EditedFile>(*changes);
  }
  void create(const std::string& path, const NewContents& contents) const override {
    create_file(path, contents, is_netcdf4_ || contents.flavour == kNetcdf4);
  }
  std::vector<std::string> refusals(const NewContents& contents) const override {
    return hdf5::refusals(contents, is_netcdf4_ || contents.flavour == kNetcdf4);
  }

 private:
  bool is_netcdf4_;
};

}  // namespace

const Format& format() {
  static const Hdf5Format format(false);
  return format;
}

const Format& netcdf4_format() {
  static const Hdf5Format format(true);
  return format;
}

}  // namespace swath::formats::hdf5
