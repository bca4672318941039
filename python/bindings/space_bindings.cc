// Distributions, layouts and decompositions.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bindings.h"
#include "layout/layout.h"
#include "space/decomposition.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// (rules, grid, ranks): rules are ("whole" | "block" | "cyclic", size).
swath::Distribution make_distribution(const std::vector<std::pair<std::string, int64_t>>& rules,
                                      std::vector<int64_t> grid, std::vector<int> ranks) {
  std::vector<swath::DimensionRule> parsed;
  for (const auto& [kind, size] : rules) {
    const auto rule_kind = kind == "whole"   ? swath::DimensionRule::Kind::kWhole
                           : kind == "block" ? swath::DimensionRule::Kind::kBlock
                                             : swath::DimensionRule::Kind::kCyclic;
    parsed.push_back({rule_kind, size});
  }
  return swath::Distribution(std::move(parsed), std::move(grid), std::move(ranks));
}

using IndexArray = nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>;

IndexArray index_array(const swath::IndexSet& set) {
  auto indices = std::make_unique<std::vector<int64_t>>(static_cast<size_t>(set.count()));
  for (size_t p = 0; p < indices->size(); ++p) (*indices)[p] = set.at(static_cast<int64_t>(p));
  int64_t* data = indices->data();
  const size_t count = indices->size();
  nb::capsule owner(indices.release(), [](void* owned) noexcept { delete static_cast<std::vector<int64_t>*>(owned); });
  return IndexArray(data, {count}, owner);
}

// (start, step, count, dropped) of every dimension.
using SelectionTuples = std::vector<std::tuple<int64_t, int64_t, int64_t, bool>>;

swath::Selection selection_of(const SelectionTuples& tuples) {
  swath::Selection selection;
  for (const auto& [start, step, count, dropped] : tuples) selection.push_back({start, step, count, dropped});
  return selection;
}

SelectionTuples tuples_of(const swath::Selection& selection) {
  SelectionTuples tuples;
  for (const auto& [start, step, count, dropped] : selection) tuples.emplace_back(start, step, count, dropped);
  return tuples;
}

// The rules in the form of make_distribution()'s argument.
std::vector<std::pair<std::string, int64_t>> rules_of(const swath::Distribution& distribution) {
  constexpr const char* kNames[] = {"whole", "block", "cyclic"};
  std::vector<std::pair<std::string, int64_t>> rules;
  for (const auto& [kind, size] : distribution.rules()) rules.emplace_back(kNames[static_cast<size_t>(kind)], size);
  return rules;
}

using Corners = std::pair<std::vector<int64_t>, std::vector<int64_t>>;

swath::Boxes boxes_of(const std::vector<Corners>& corners) {
  swath::Boxes boxes;
  for (const auto& [begin, end] : corners) boxes.push_back({begin, end});
  return boxes;
}

int64_t end_of(const swath::Layout& layout) {
  if (layout.panel_count() == 0 || swath::element_count(layout.shape()) == 0) return 0;
  const swath::Panel last = layout.panel(layout.panel_count() - 1);
  if (layout.is_chunked()) return last.offset + layout.chunk_bytes();  // a chunk is stored as a whole
  int64_t end = last.offset + layout.element_bytes();
  for (size_t d = 0; d < last.strides.size(); ++d) end += (layout.shape()[d] - 1) * last.strides[d];
  return end;
}

// Long lists are passed as ndarrays, never as Python lists.
using Numbers = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const int64_t> span_of(const Numbers& numbers) { return {numbers.data(), numbers.shape(0)}; }

void check_as_many(size_t displacements, size_t others) {
  if (displacements != others) {
    throw swath::Error(swath::ErrorKind::kInternal, "one displacement each is needed");
  }
}

void bind_nest(nb::module_& m) {
  using swath::Nest;
  nb::class_<Nest>(m, "Nest", "A sequence of bytes as nested levels (core/space/nest.h); it never changes.")
      .def(nb::init<>(), "No bytes.")
      .def_static("block", &Nest::block, "bytes"_a)
      .def_static("strided", &Nest::strided, "count"_a, "stride"_a, "child"_a)
      .def_static(
          "indexed",
          [](const Numbers& displacements, const Nest& child) { return Nest::indexed(span_of(displacements), child); },
          "displacements"_a, "child"_a, "The child at each of the displacements, in any order.")
      .def_static(
          "blocks",
          [](const Numbers& displacements, const Numbers& lengths) {
            check_as_many(displacements.shape(0), lengths.shape(0));
            const auto places = span_of(displacements);
            const auto bytes = span_of(lengths);
            return Nest::blocks({places.begin(), places.end()}, {bytes.begin(), bytes.end()});
          },
          "displacements"_a, "lengths"_a)
      .def_static(
          "sequence",
          [](const Numbers& displacements, const std::vector<Nest>& children) {
            check_as_many(displacements.shape(0), children.size());
            return Nest::sequence(span_of(displacements), children);
          },
          "displacements"_a, "children"_a, "Different children.")
      .def("shifted", &Nest::shifted, "distance"_a)
      .def_prop_ro("bytes", &Nest::bytes)
      .def_prop_ro("low", &Nest::low)
      .def_prop_ro("high", &Nest::high)
      .def_prop_ro("listed", &Nest::listed)
      .def_prop_ro("memory_bytes", &Nest::memory_bytes)
      .def("__str__", &Nest::to_string);
}

swath::Decomposition decomposition_of_boxes(const std::vector<std::vector<Corners>>& boxes_of_rank,
                                            const swath::Shape& shape) {
  std::vector<swath::Boxes> boxes;
  for (const auto& of_rank : boxes_of_rank) boxes.push_back(boxes_of(of_rank));
  return swath::Decomposition::boxes(std::move(boxes), shape);
}

std::optional<std::vector<std::vector<Corners>>> boxes_of_rank(const swath::Decomposition& decomposition) {
  if (!decomposition.is_boxes()) return std::nullopt;
  std::vector<std::vector<Corners>> boxes;
  for (const swath::Boxes& of_rank : decomposition.boxes_of_rank()) {
    boxes.emplace_back();
    for (const swath::Box& box : of_rank) boxes.back().emplace_back(box.begin, box.end);
  }
  return boxes;
}

}  // namespace

void bind_space(nb::module_& m) {
  bind_nest(m);
  nb::class_<swath::Distribution>(m, "Distribution")
      .def(
          "__init__",
          [](swath::Distribution* self, const std::vector<std::pair<std::string, int64_t>>& rules,
             std::vector<int64_t> grid, std::vector<int> ranks) {
            new (self) swath::Distribution(make_distribution(rules, std::move(grid), std::move(ranks)));
          },
          "rules"_a, "grid"_a, "ranks"_a)
      .def_prop_ro("rules", &rules_of)
      .def_prop_ro("grid", &swath::Distribution::grid)
      .def_prop_ro("ranks", &swath::Distribution::ranks)
      .def_prop_ro("places", &swath::Distribution::places)
      .def("holds", &swath::Distribution::holds, "rank"_a)
      .def("check", &swath::Distribution::check, "shape"_a)
      .def("local_shape", &swath::Distribution::local_shape, "shape"_a, "rank"_a)
      .def(
          "indices",
          [](const swath::Distribution& self, const swath::Shape& shape, int rank) {
            std::vector<IndexArray> arrays;
            for (const auto& set : self.local_sets(shape, rank)) arrays.push_back(index_array(set));
            return arrays;
          },
          "shape"_a, "rank"_a)
      .def("__str__", &swath::Distribution::to_string);

  nb::class_<swath::Layout>(m, "Layout", "Which byte of the file holds which element.")
      .def_static(
          "strided",
          [](swath::Shape shape, int64_t element_bytes, int64_t offset, std::vector<int64_t> strides) {
            return std::make_shared<swath::Layout>(
                swath::Layout::strided(std::move(shape), element_bytes, offset, std::move(strides)));
          },
          "shape"_a, "element_bytes"_a, "offset"_a, "strides"_a)
      .def_static(
          "chunked",
          [](swath::Shape shape, int64_t element_bytes, swath::Shape chunk_shape, std::vector<int64_t> offsets) {
            return std::make_shared<swath::Layout>(
                swath::Layout::chunked(std::move(shape), element_bytes, std::move(chunk_shape), std::move(offsets)));
          },
          "shape"_a, "element_bytes"_a, "chunk_shape"_a, "offsets"_a)
      .def_static(
          "tiled",
          [](swath::Shape shape, int64_t element_bytes, swath::Shape chunk_shape, int64_t offset) {
            return std::make_shared<swath::Layout>(
                swath::Layout::tiled(std::move(shape), element_bytes, std::move(chunk_shape), offset));
          },
          "shape"_a, "element_bytes"_a, "chunk_shape"_a, "offset"_a)
      .def_prop_ro("has_absent_chunks", &swath::Layout::has_absent_chunks)
      .def_prop_ro("end", &end_of, "The byte of the file behind the last one of the array.")
      .def("__str__", &swath::Layout::to_string);

  nb::class_<swath::Decomposition>(m, "Decomposition", "Whose elements are whose.")
      .def_static(
          "distributed",
          [](const swath::Distribution& distribution, const SelectionTuples& selection, int ranks) {
            return swath::Decomposition::distributed(distribution, selection_of(selection), ranks);
          },
          "distribution"_a, "selection"_a, "ranks"_a)
      .def_static(
          "share_of",
          [](const swath::Distribution& distribution, const SelectionTuples& selection, int rank) {
            return swath::Decomposition::share_of(distribution, selection_of(selection), rank);
          },
          "distribution"_a, "selection"_a, "rank"_a)
      .def_static(
          "alone",
          [](const SelectionTuples& selection) { return swath::Decomposition::alone(selection_of(selection)); },
          "selection"_a)
      .def_static("boxes", &decomposition_of_boxes, "boxes_of_rank"_a, "shape"_a)
      .def_static(
          "own_boxes",
          [](const std::vector<Corners>& own, int rank, int ranks, const swath::Shape& shape) {
            return swath::Decomposition::own_boxes(boxes_of(own), rank, ranks, shape);
          },
          "own"_a, "rank"_a, "ranks"_a, "shape"_a, "As one rank knows it, before the ranks have told each other.")
      .def_static(
          "own_view",
          [](const swath::Nest& own, int rank, int ranks, const swath::Shape& shape, bool allows_overlap) {
            return swath::Decomposition::own_view(swath::View::all(own), rank, ranks, shape, allows_overlap);
          },
          "own"_a, "rank"_a, "ranks"_a, "shape"_a, "allows_overlap"_a = false,
          "The same of the bytes of the file that one rank has.")
      .def_prop_ro("ranks", &swath::Decomposition::ranks)
      .def_prop_ro("is_views", &swath::Decomposition::is_views)
      .def_prop_ro(
          "selection", [](const swath::Decomposition& self) { return tuples_of(self.selection()); },
          "(start, step, count, dropped) of every dimension.")
      .def_prop_ro(
          "distribution",
          [](const swath::Decomposition& self) -> std::optional<swath::Distribution> {
            return self.distribution() == nullptr ? std::nullopt : std::optional(*self.distribution());
          },
          "Of the selection; None where one rank has all of it, and of boxes and views.")
      .def_prop_ro("only_rank", &swath::Decomposition::only_rank, "Whose share of a distribution one rank alone has.")
      .def_prop_ro("boxes_of_rank", &boxes_of_rank, "(start, stop) of every box; None where there are no boxes.")
      .def("check_written_once", &swath::Decomposition::check_written_once)
      .def("__str__", &swath::Decomposition::to_string);
}
