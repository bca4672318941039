// Whole requests of several ranks for tests, each with the plain list of its elements and their ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "plan/request.h"
#include "testing/naive.h"

namespace swath::testing {

struct PartCase {
  Part part;                    // in the caller's memory
  std::vector<Element> list;    // sorted by file offset
  std::vector<Element> absent;  // elements that are not in the file
};

struct RequestCase {
  FilePositions file;
  std::shared_ptr<const Layout> layout;
  Decomposition decomposition = Decomposition::alone({});
  std::vector<std::vector<PartCase>> ranks;
  std::vector<PartCase> together;  // the parts of Decomposition::together()
  std::string text;

  Request request(Direction direction, Method method = Method::kAuto, const Tuning& tuning = {}) const {
    Request made;
    made.direction = direction;
    made.layout = layout;
    made.decomposition = decomposition;
    made.method = method;
    made.tuning = tuning;
    made.asked_tuning = AskedTuning::all();
    return made;
  }
  // The size of a file with every element of the array, and a few bytes more.
  int64_t file_bytes() const {
    int64_t end = file.origin;
    Shape index(file.shape.size(), 0);
    for (int64_t left = element_count(file.shape); left > 0; --left) {
      end = std::max(end, file.offset(index) + file.element_bytes);
      for (size_t d = index.size(); d > 0 && ++index[d - 1] == file.shape[d - 1];) index[--d] = 0;
    }
    return end + 13;
  }
};

struct ElementPosition {
  int64_t panel;
  size_t part;
  int64_t offset;
};

inline int64_t panel_of(const FilePositions& file, int64_t offset) {
  return std::count_if(file.chunk_offsets.begin(), file.chunk_offsets.end(),
                       [&](int64_t chunk) { return chunk >= 0 && chunk <= offset; });
}

// The elements of all parts in the order of Access::visit: by panel, part and offset.
inline std::vector<ElementPosition> in_visit_order(const FilePositions& file, const std::vector<PartCase>& parts) {
  std::vector<ElementPosition> all;
  for (size_t part = 0; part < parts.size(); ++part) {
    for (const auto& element : parts[part].list) all.push_back({panel_of(file, element.offset), part, element.offset});
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.panel < b.panel; });
  return all;
}

inline std::vector<int64_t> sorted_offsets(const std::vector<PartCase>& parts) {
  std::vector<int64_t> offsets;
  for (const auto& part : parts) {
    for (const auto& element : part.list) offsets.push_back(element.offset);
  }
  std::sort(offsets.begin(), offsets.end());
  return offsets;
}

// The elements of a part: the positions `sets` of a selection. `place_with` is the argument for place_in_memory().
struct PartElements {
  const Selection& selection;
  const Selection& place_with;
  std::vector<std::vector<int64_t>> sets;
};

inline PartCase part_case(Random& random, const FilePositions& file, const PartElements& of, Part part,
                          bool strided_memory) {
  const auto& [selection, place_with, sets] = of;
  PartCase result{std::move(part), {}, {}};
  Shape local;
  for (const auto& set : sets) local.push_back(static_cast<int64_t>(set.size()));
  auto strides = c_strides(local, file.element_bytes);
  if (strided_memory) {
    strides = random_strides(random, local, file.element_bytes, 30);
    for (auto& stride : strides) stride *= random.chance(30) ? -1 : 1;
    place_in_memory(result.part, place_with, strides);
  }
  if (!result.part.holds) return result;
  for (const auto& element : elements(file, selection, sets, strides)) {
    (element.offset < 0 ? result.absent : result.list).push_back(element);
  }
  sort_by_offset(result.list);
  return result;
}

inline std::vector<std::vector<int64_t>> all_positions(const Shape& shape) {
  std::vector<std::vector<int64_t>> sets;
  for (const int64_t extent : shape) {
    sets.emplace_back(static_cast<size_t>(extent));
    std::iota(sets.back().begin(), sets.back().end(), 0);
  }
  return sets;
}

// Slabs of the first dimension, with gaps before, between and after the boxes; `overlapping`: any boxes.
inline std::vector<std::vector<Box>> random_boxes(Random& random, const Shape& shape, int ranks, bool overlapping) {
  std::vector<std::vector<Box>> boxes_of_rank(static_cast<size_t>(ranks));
  for (int64_t row = 0; row < shape[0];) {
    const int64_t rows = random.between(1, shape[0] - row);
    Box box{shape, shape};
    for (size_t d = 0; d < shape.size(); ++d) {
      box.begin[d] = random.between(0, shape[d]);
      box.end[d] = random.between(box.begin[d], shape[d]);
    }
    if (!overlapping) {
      box.begin[0] = row;
      box.end[0] = row + rows;
    }
    if (random.chance(80)) boxes_of_rank[static_cast<size_t>(random.between(0, ranks - 1))].push_back(box);
    row += rows;
  }
  return boxes_of_rank;
}

struct CaseOptions {
  int ranks_max = 5;
  bool strided_memory = false;     // any order, padded, negative strides; if not, packed in C order
  bool overlapping_boxes = false;  // for reads
};

inline void share_as_boxes(Random& random, RequestCase& given, const CaseOptions& options) {
  const int ranks = static_cast<int>(random.between(1, options.ranks_max));
  const auto boxes = random_boxes(random, given.file.shape, ranks, options.overlapping_boxes);
  given.decomposition = Decomposition::boxes(boxes, given.file.shape);
  for (const auto& boxes_here : boxes) {
    given.ranks.emplace_back();
    const Selection whole = select_all(given.file.shape);
    for (const auto& box : boxes_here) {
      Selection selection;
      for (size_t d = 0; d < box.begin.size(); ++d) {
        selection.push_back({box.begin[d], 1, box.end[d] - box.begin[d], false});
      }
      given.ranks.back().push_back(
          part_case(random, given.file, {selection, whole, all_positions(selected_shape(selection))},
                    box_part(box.begin, box.end, given.file.element_bytes), options.strided_memory));
      given.together.push_back(given.ranks.back().back());
      given.text += " rank " + std::to_string(given.ranks.size() - 1) + " box " + text_of(box.begin) + text_of(box.end);
    }
  }
}

inline void share_as_distribution(Random& random, RequestCase& given, const Selection& selection,
                                  const CaseOptions& options) {
  const Shape selected = selected_shape(selection);
  const int64_t element_bytes = given.file.element_bytes;
  Distribution distribution = random_distribution(random, selected);
  while (distribution.highest_rank() >= options.ranks_max) distribution = random_distribution(random, selected);
  const auto share_of_rank = [&](int rank) {
    return part_case(random, given.file, {selection, selection, owned(distribution, selected, rank)},
                     distributed_part(distribution, selection, rank, element_bytes), options.strided_memory);
  };
  given.text += " " + distribution.to_string() + " of ranks " + text_of(distribution.ranks());
  if (random.chance(15)) {
    const auto rank = static_cast<int>(random.between(0, distribution.highest_rank() + 1));
    given.decomposition = Decomposition::share_of(distribution, selection, rank);
    given.ranks = {{share_of_rank(rank)}};
    given.together = given.ranks[0];
    given.text += " share of rank " + std::to_string(rank);
    return;
  }
  const auto ranks = static_cast<int>(random.between(distribution.highest_rank() + 1, options.ranks_max));
  given.decomposition = Decomposition::distributed(distribution, selection, ranks);
  for (int rank = 0; rank < ranks; ++rank) given.ranks.push_back({share_of_rank(rank)});
  given.together = {part_case(random, given.file, {selection, selection, all_positions(selected)},
                              selected_part(selection, element_bytes), false)};
  given.text += " over " + std::to_string(ranks) + " ranks";
}

inline RequestCase random_request(Random& random, const CaseOptions& options) {
  RequestCase given;
  const Shape shape = random_shape(random, static_cast<size_t>(random.between(random.chance(3) ? 0 : 1, 4)));
  const int64_t element_bytes = random.one_of<int64_t>({1, 2, 3, 8});
  given.file = random.chance(50) ? random_strided_file(random, shape, element_bytes)
                                 : random_chunked_file(random, shape, element_bytes, random.one_of({0, 0, 30}));
  given.layout = std::make_shared<Layout>(given.file.layout());
  given.text = given.file.text();
  if (!shape.empty() && random.chance(30)) {
    share_as_boxes(random, given, options);
    return given;
  }
  const Selection selection = random_selection(random, shape);
  given.text += " selection " + text_of(selection);
  if (random.chance(85)) {
    share_as_distribution(random, given, selection, options);
    return given;
  }
  given.decomposition = Decomposition::alone(selection);
  given.together = {part_case(random, given.file, {selection, selection, all_positions(selected_shape(selection))},
                              selected_part(selection, element_bytes), options.strided_memory)};
  given.ranks = {given.together};
  return given;
}

// The sizes are so small that a few hundred elements take many windows, rounds, batches and cuts.
inline Tuning random_tuning(Random& random) {
  Tuning tuning;
  tuning.sieve_bytes = random.one_of<int64_t>({1, 20, 64, 500, 4096, 4 << 20});
  tuning.window_bytes = random.one_of<int64_t>({1, 20, 64, 500, 4096, 1 << 20});
  tuning.domain_bytes_min = random.one_of<int64_t>({1, 1, 100, 64 << 10});
  tuning.runs_bytes_min = random.one_of<int64_t>({1, 8, 24, 64 << 10});
  tuning.staged_run_bytes = random.one_of<int64_t>({1, 64, 10'000});
  tuning.look_bytes_min = random.one_of<int64_t>({1, 256 << 10});
  tuning.aggregators = random.one_of({0, 0, 1, 2, 9});
  return tuning;
}

}  // namespace swath::testing
