#include "plan/make_plan.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"

namespace swath {
namespace {

// Takes over the sizes found for each method.
void take_sizes(Tuning& tuning, const std::vector<Option>& options) {
  for (const Option& option : options) {
    if (option.method == Method::kSieve) tuning.sieve_bytes = option.tuning.sieve_bytes;
    if (option.method == Method::kTwoPhase) {
      tuning.window_bytes = option.tuning.window_bytes;
      tuning.aggregators = option.tuning.aggregators;
      tuning.runs_bytes_min = option.tuning.runs_bytes_min;
      tuning.inner = option.tuning.inner;
    }
  }
}

// No comparison is needed: a share is one request, straight to memory. The exception needs a measured profile: on some
// machines a core copies runs of the page cache faster than the kernel does, if the ranks of a node exceed its caches.
std::string_view obvious(const Request& request, const Runs& runs) {
  constexpr int64_t kLeavesCachesBytes = int64_t{64} << 20;
  if (runs.bytes == 0) return "there is nothing to move";
  const bool is_measured = request.profile && request.profile->source != default_profile().source;
  const bool can_map =
      request.direction == Direction::kRead && request.capabilities.shows_cache && request.cached == 1.0;
  const int ranks_of_node = request.ranks_of_node > 0 ? request.ranks_of_node : request.decomposition.ranks();
  const bool leaves_caches = runs.bytes_max >= kLeavesCachesBytes / ranks_of_node;
  if (is_measured && can_map && leaves_caches) return "";
  const bool one_run_each = runs.count <= request.decomposition.ranks();
  const bool dense = request.memory_block_bytes == 0 || request.memory_block_bytes >= runs.bytes_max;
  if (one_run_each && dense) return "each rank's share is one contiguous run of the file";
  return "";
}

// Replaces a requested inner method that is not possible; returns why, for the plan's reason.
std::string_view choose_inner(Request& request, const Access& together) {
  Method& inner = request.tuning.inner;
  if (!request.asked_tuning.inner) {
    if (request.capabilities.is_of_objects()) inner = Method::kList;  // until costs are computed
    return "";
  }
  if (inner != Method::kSieve && request.direction == Direction::kRead && together.may_overlap()) {
    inner = Method::kSieve;
    return "; windows as a whole, since what is read by several may overlap";
  }
  if (inner == Method::kDatatype && !request.capabilities.structured_requests) {
    inner = Method::kList;
    return "; windows by list, since the store takes no descriptions of what is wanted";
  }
  return "";
}

}  // namespace

IoCounts Plan::cost(Method of_method, int rank) const {
  const Access mine = access_of(request, rank);
  switch (of_method) {
    case Method::kDirect:
      return count_direct(request, mine);
    case Method::kSieve:
      return count_sieve(request, mine);
    case Method::kList:
      return count_list(request, mine);
    case Method::kDatatype:
      return count_datatype(request, mine);
    case Method::kTwoPhase:
      return count_two_phase(request, domains, staged, access_together(request), rank);
    case Method::kAuto:
      break;
  }
  throw Error(ErrorKind::kInternal, "a plan has no cost of method auto");
}

int64_t Plan::rounds() const {
  if (*rounds_ < 0) *rounds_ = rounds_of(access_together(request), domains, request.tuning.window_bytes);
  return *rounds_;
}

int64_t Plan::local_bytes(int rank) const { return access_of(request, rank).bytes(); }

Plan make_plan(Request request) {
  Plan plan;
  plan.request = std::move(request);
  Request& asked = plan.request;
  asked.tuning.list_pieces =
      std::min(asked.tuning.list_pieces, std::max<int64_t>(asked.capabilities.ranges_max(asked.direction), 1));
  if (asked.direction == Direction::kWrite) asked.decomposition.check_written_once();
  if (asked.capabilities.is_of_objects()) asked.tuning.stripes = asked.capabilities.stripes;
  const Access together = access_together(asked);
  plan.runs = asked.decomposition.ranks() == 1 ? runs_of(together) : runs_of(*asked.layout, asked.decomposition);
  plan.staged = exchange_is_staged(*asked.layout, asked.decomposition, plan.runs, asked.tuning);
  plan.reason = asked.method == Method::kAuto ? obvious(asked, plan.runs) : "asked for";
  if (asked.method == Method::kDatatype && !asked.capabilities.structured_requests) {
    asked.method = Method::kList;
    plan.reason = "datatype was asked for, but the store takes no descriptions of what is wanted: lists of it instead";
  }
  const std::string_view instead = choose_inner(asked, together);
  if (asked.method == Method::kTwoPhase) plan.reason += instead;
  if (asked.method == Method::kAuto && !plan.reason.empty()) {
    plan.method = Method::kDirect;
  } else {
    const auto options = priced_options(asked, plan.staged, asked.method);
    take_sizes(asked.tuning, options);
    plan.method = cheapest(options).method;
    if (plan.reason.empty()) plan.reason = why_chosen(options);
  }
  asked.asked_tuning = AskedTuning::all();  // the sizes are decided: what the plan is asked later varies none
  plan.domains = FileDomains(together, asked.decomposition.ranks(), asked.tuning);
  return plan;
}

CostEstimate Plan::price() const {
  const Access together = access_together(request);
  const Access busiest = access_of(request, request.decomposition.busiest_rank());
  return estimate_cost(request, method, work_of(request, method, together, busiest, staged));
}

std::vector<Candidate> Plan::candidates() const {
  const Access together = access_together(request);
  std::vector<Candidate> all;
  for (const Option& option : priced_options(request, staged, Method::kAuto)) {
    Request sized = request;
    take_sizes(sized.tuning, {option});
    const FileDomains domains_then(together, sized.decomposition.ranks(), sized.tuning);
    all.push_back({option, count_total(sized, option.method, domains_then, staged, together)});
  }
  return all;
}

}  // namespace swath
