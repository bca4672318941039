#include "array/plan_cache.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "base/hash.h"

namespace swath {
namespace {

constexpr size_t kOperationsKept = 64;
constexpr size_t kPlansOfOperation = 4;  // for different inputs: partly cached, memory that is not packed, …

Request request_of(const Operation& operation, const PlanInputs& inputs) {
  Request request = swath::request_of(operation);
  request.messages = inputs.messages;
  request.profile = inputs.profile;
  request.cached = inputs.agreed_inputs.cached_part();
  request.memory_block_bytes = inputs.agreed_inputs.memory.block_bytes;
  request.memory_span_bytes = inputs.agreed_inputs.memory.span_bytes;
  request.ranks_of_node = inputs.ranks_of_node;
  request.synced = operation.direction() == Direction::kWrite && inputs.will_sync;
  request.capabilities = inputs.capabilities;
  request.capabilities.shows_cache = inputs.agreed_inputs.shows_cache;
  return request;
}

// GCC 12 compares vectors of std::byte one byte at a time: this took a quarter of all instructions of a short
// operation.
bool is_equal(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

// A hash of the inputs of an operation and its plan that all ranks know.
uint64_t group_of(const Operation& operation, const PlanInputs& inputs) {
  const std::array<uint64_t, 4> all{operation.key(), inputs.agreed_inputs.key(), inputs.shares,
                                    inputs.will_sync ? 1U : 0U};
  return hash_bytes(operation.access_bytes(), hash_bytes(std::as_bytes(std::span(all))));
}

FileRange touched_by(const Operation& operation) {
  const Layout& layout = *operation.array().layout();
  const Decomposition& decomposition = operation.decomposition();
  std::vector<Part> parts = decomposition.together(layout.element_bytes());
  // A rank without boxes does not know the boxes of the others, so it assumes the whole array.
  if (parts.empty() && !decomposition.knows_all_ranks()) {
    parts.push_back(selected_part(select_all(layout.shape()), layout.element_bytes()));
  }
  const Access together(layout, std::move(parts));
  if (together.empty()) return {};
  const int64_t begin = *together.next_start(0);
  return {begin, *together.last_end(INT64_MAX) - begin};
}

}  // namespace

PlanCache::Entry& PlanCache::State::entry_of(const Operation& operation) {
  const auto is_same = [&](const std::unique_ptr<Entry>& entry) {
    return entry->key == operation.key() && is_equal(entry->access_bytes, operation.access_bytes());
  };
  const auto found = std::find_if(entries.rbegin(), entries.rend(), is_same);
  if (found != entries.rend()) {
    std::rotate(std::prev(found.base()), found.base(), entries.end());
    return *entries.back();
  }
  if (entries.size() == kOperationsKept) entries.erase(entries.begin());
  entries.push_back(std::make_unique<Entry>());
  entries.back()->key = operation.key();
  entries.back()->access_bytes = operation.access_bytes();
  return *entries.back();
}

CachedPlan PlanCache::plan(const Operation& operation, const PlanInputs& inputs) {
  State& state = state_.get();
  {
    const std::lock_guard guard(state.mutex);
    auto& plans = state.entry_of(operation).plans;
    const auto found =
        std::find_if(plans.begin(), plans.end(), [&](const auto& planned) { return planned.inputs == inputs; });
    if (found != plans.end()) {
      std::rotate(found, std::next(found), plans.end());
      return plans.back().plan;
    }
  }
  ++made_;
  auto made = std::make_shared<const Plan>(make_plan(request_of(operation, inputs)));
  const uint64_t group = group_of(operation, inputs);
  CachedPlan cached{made, std::make_shared<const Estimate>(group, [made] { return made->price(); })};
  const std::lock_guard guard(state.mutex);
  auto& plans = state.entry_of(operation).plans;
  if (plans.size() == kPlansOfOperation) plans.erase(plans.begin());
  plans.push_back({inputs, cached});
  return cached;
}

FileRange PlanCache::touched(const Operation& operation) {
  if (operation.decomposition().is_gathered())
    return touched_by(operation);  // the key does not distinguish gathered
                                   // boxes
  State& state = state_.get();
  const std::lock_guard guard(state.mutex);
  auto& touched = state.entry_of(operation).touched;
  if (!touched) touched = touched_by(operation);
  return *touched;
}

std::optional<PlanCache::Last> PlanCache::last(const Operation& operation) {
  State& state = state_.get();
  const std::lock_guard guard(state.mutex);
  return state.entry_of(operation).last;
}

void PlanCache::keep_last(const Operation& operation, const Last& last) {
  State& state = state_.get();
  const std::lock_guard guard(state.mutex);
  state.entry_of(operation).last = last;
}

void PlanCache::clear() {
  State& state = state_.get();
  const std::lock_guard guard(state.mutex);
  state.entries.clear();
}

}  // namespace swath
