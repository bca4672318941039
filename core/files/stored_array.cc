#include "files/stored_array.h"

#include <mutex>
#include <utility>
#include <vector>

#include "files/array_form.h"
#include "plan/operation.h"
#include "space/decomposition.h"

namespace swath {

StoredArray::StoredArray(std::shared_ptr<Comm> comm, std::shared_ptr<File> file, const Options& options, Known known)
    : Array(std::move(comm), std::move(file), options), known_(std::move(known)), fill_(options.fill) {}

std::shared_ptr<const formats::Description> StoredArray::description() const {
  const std::lock_guard guard(describing_.get());
  return known_.description;
}

Array::Stored StoredArray::describe(formats::Description description, const std::string& identity) {
  Stored stored{array_form(description, identity), coded_chunks(description)};
  auto kept = std::make_shared<const formats::Description>(std::move(description));
  const std::lock_guard guard(describing_.get());
  known_.description.swap(kept);
  ++times_described_;
  return stored;
}

void StoredArray::relocate_to(formats::Description description, const std::string& identity,
                              std::shared_ptr<File> file) {
  relocate(describe(std::move(description), identity), std::move(file));
}

void StoredArray::fill_rows(int64_t first, int64_t last) {
  const auto form = this->form();
  const Shape& shape = form->shape();
  if (element_count(shape) == 0) return;
  const int ranks = comm().size();
  std::vector<DimensionRule> rules(shape.size());
  rules.front().kind = DimensionRule::Kind::kBlock;
  std::vector<int64_t> grid(shape.size(), 1);
  grid.front() = ranks;
  Selection rows = select_all(shape);
  rows.front() = {.start = first, .step = 1, .count = last - first, .dropped = false};
  const auto whose = Decomposition::distributed(Distribution(rules, grid), rows, ranks);
  // Memory strides of zero: one element in memory serves for all elements that are written.
  std::vector<std::byte> fill = fill_;
  LocalMemory memory{.is_packed = false};
  memory.parts = whose.parts(comm().rank(), form->element_bytes());
  for (Part& part : memory.parts) {
    part.memory_origin = 0;
    part.memory_strides.assign(part.memory_strides.size(), 0);
    memory.addresses.push_back(fill.data());
  }
  execute(Operation(form, {Direction::kWrite, whose}), memory);
}

}  // namespace swath
