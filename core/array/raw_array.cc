#include "array/raw_array.h"

#include <atomic>
#include <numeric>
#include <span>
#include <utility>

#include "array/collectively.h"
#include "base/error.h"
#include "base/hash.h"
#include "layout/access.h"

namespace swath {
namespace {

// What ranks compare; the second argument and those behind it are lines of their own (comm/agreement.h).
std::string words_of(const std::string& doing, const RawArray& raw) {
  std::string order;
  for (const int d : raw.order) order += (order.empty() ? "" : ", ") + std::to_string(d);
  return doing + " " + raw.path + "\nshape=" + to_string(raw.shape) +
         "\nelement_bytes=" + std::to_string(raw.element_bytes) + "\noffset=" + std::to_string(raw.offset) +
         "\norder=(" + order + ")";
}

Question question_of(const std::string& words) {
  return {hash_text(words), [words] { return words; }};
}

std::shared_ptr<const Layout> layout_of(const RawArray& raw) {
  std::vector<int> order = raw.order;
  if (order.empty()) {
    order.resize(raw.shape.size());
    std::iota(order.begin(), order.end(), 0);
  }
  return std::make_shared<const Layout>(Layout::ordered(raw.shape, raw.element_bytes, raw.offset, order));
}

int64_t end_of(const Layout& layout) {
  const Access all(layout, {selected_part(select_all(layout.shape()), layout.element_bytes())});
  return all.last_end(INT64_MAX).value_or(0);
}

void check_length(const RawArray& raw, File& file, int64_t end) {
  const int64_t bytes = file.size();
  if (bytes >= end) return;
  throw Error(ErrorKind::kFormat, "open " + raw.path + ": the file has " + std::to_string(bytes) +
                                      " bytes, an array of shape " + to_string(raw.shape) + " with elements of " +
                                      std::to_string(raw.element_bytes) + " bytes ends at byte " + std::to_string(end) +
                                      ": give the shape, the element size and the offset that it was written with");
}

// A number that no other opening of this process has: what is open twice has two states, which ranks must not mix up.
int64_t opening_number(Comm& comm) {
  static std::atomic<int64_t> openings = 0;
  int64_t number = ++openings;
  comm.broadcast(std::as_writable_bytes(std::span(&number, 1)), 0);
  return number;
}

std::string broadcast_text(Comm& comm, std::string text) {
  int64_t size = std::ssize(text);
  comm.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0);
  text.resize(static_cast<size_t>(size));
  comm.broadcast(std::as_writable_bytes(std::span(text)), 0);
  return text;
}

Array::Options options_of(const RawArray& raw, Comm& comm, std::shared_ptr<const Layout> layout) {
  Array::Options options;
  options.name = raw.path;
  const std::string identity = raw.path + " (elements of " + std::to_string(raw.element_bytes) + " bytes, " +
                               to_string(raw.shape) + ", " + layout->to_string() + ", opened as number " +
                               std::to_string(opening_number(comm)) + ")";
  options.form = std::make_shared<const ArrayForm>(identity, raw.shape, raw.element_bytes, std::move(layout));
  return options;
}

// Rank 0 makes the file, aside; all get to know where it is.
std::shared_ptr<AtomicFile> new_file_of(Comm& comm, const NewRawArray& raw, int64_t end, const std::string& words) {
  std::shared_ptr<AtomicFile> file;
  run_collectively(comm, question_of(words), [&] {
    if (comm.rank() != 0) return;
    file = std::make_shared<AtomicFile>(raw.array.path, AtomicFileOptions{.overwrite = raw.overwrite});
    open_engine(file->working_path(), OpenMode::kCreateNew, {})->resize(end);
  });
  const bool is_first = comm.rank() == 0;
  const std::string final_path = broadcast_text(comm, is_first ? file->final_path() : "");
  const std::string working_path = broadcast_text(comm, is_first ? file->working_path() : "");
  if (is_first) return file;
  return std::make_shared<AtomicFile>(
      AtomicFile::made_elsewhere(final_path, {.overwrite = raw.overwrite, .working_path = working_path}));
}

}  // namespace

std::unique_ptr<Array> open_raw(std::shared_ptr<Comm> comm, const RawArray& raw, OpenMode mode,
                                const FileOptions& options) {
  std::shared_ptr<File> file;
  std::shared_ptr<const Layout> layout;
  run_collectively(*comm, question_of(words_of("open", raw)), [&] {
    layout = layout_of(raw);
    file = File::open(raw.path, mode, options);
    check_length(raw, *file, end_of(*layout));
  });
  const Array::Options given = options_of(raw, *comm, std::move(layout));
  return std::make_unique<Array>(std::move(comm), std::move(file), given);
}

std::unique_ptr<Array> create_raw(std::shared_ptr<Comm> comm, const NewRawArray& raw, const FileOptions& options) {
  const std::string words = words_of("create", raw.array) + "\noverwrite=" + (raw.overwrite ? "true" : "false") +
                            "\nfill=" + std::to_string(hash_bytes(raw.fill));
  std::shared_ptr<const Layout> layout;
  run_collectively(*comm, question_of(words), [&] {  // before anything is made
    layout = layout_of(raw.array);
    if (!raw.fill.empty() && std::ssize(raw.fill) != raw.array.element_bytes) {
      fail_argument("create " + raw.array.path + ": a fill value of " + std::to_string(raw.fill.size()) +
                    " bytes; expected one element, " + std::to_string(raw.array.element_bytes));
    }
  });
  const auto new_file = new_file_of(*comm, raw, end_of(*layout), words + "\n: file");
  std::shared_ptr<File> file;
  run_collectively(*comm, question_of(words + "\n: engines"),
                   [&] { file = File::open(new_file->working_path(), OpenMode::kReadWrite, options); });
  Array::Options given = options_of(raw.array, *comm, std::move(layout));
  given.fill = raw.fill;
  given.new_file = new_file;
  return std::make_unique<Array>(std::move(comm), std::move(file), std::move(given));
}

}  // namespace swath
