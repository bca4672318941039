#include "plan/cost_estimate.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/write_behind.h"
#include "plan/file_domains.h"
#include "plan/object_counts.h"
#include "plan/rank_share.h"
#include "rados_class/object_request.h"

namespace swath {
namespace {

constexpr double kBehindBytesMin = static_cast<double>(kWriteBehindBytesMin);
constexpr double kWindowBytes = 512 * 1024;     // of which the processor's cache holds what the kernel copies
constexpr double kCoreCacheBytesMax = 4 << 20;  // no core has a larger cache of its own
constexpr int kSampledWindows = 8;

// What the first windows of a range say of all of them.
struct WindowSample {
  double windows = 0;
  double bytes = 0;   // that the windows span
  double useful = 0;  // that are asked for
  double runs = 0;
  double slices = 0;      // a description each
  double with_holes = 0;  // windows
  double span = 0;        // of the file, what lies between windows included
};

// Windows [begin, end): a few are sampled; the rest of the range is taken to be like them.
WindowSample sample_windows(const Access& access, int64_t begin, int64_t end, int64_t window_bytes) {
  WindowSample sample;
  int64_t cursor = begin;
  int64_t first = -1;
  int64_t last = begin;
  for (int i = 0; i < kSampledWindows; ++i) {
    const auto window = access.next_window(cursor, end, window_bytes);
    if (!window) return sample;
    if (first < 0) first = window->begin;
    const int64_t useful = access.bytes_in(window->begin, window->limit);
    sample.windows += 1;
    sample.bytes += as_double(window->bytes());
    sample.useful += as_double(useful);
    access.visit(window->begin, window->limit, [&](const Slice& slice) {
      sample.runs += as_double(slice.regions.runs(slice.first, slice.last));
      sample.slices += 1;
    });
    sample.with_holes += useful < window->bytes() ? 1 : 0;
    cursor = window->limit;
    last = window->end;
    sample.span = as_double(last - first);
  }
  const auto next = access.next_start(cursor);
  if (!next || *next >= end) return sample;
  // Seen: [first, *next). To come: up to the last element.
  const double all = as_double(access.last_end(end).value_or(last) - first);
  const double factor = all / as_double(*next - first);
  for (double* number :
       {&sample.windows, &sample.bytes, &sample.useful, &sample.runs, &sample.slices, &sample.with_holes}) {
    *number *= factor;
  }
  sample.span = all;
  return sample;
}

// Bytes between so many neighbouring requests, on average.
double gap_between(double span, double bytes, double requests) {
  return std::max(0.0, span - bytes) / std::max(requests - 1, 1.0);
}

void add_transfer(Work& work, const Request& request, double requests, double bytes) {
  if (request.direction == Direction::kRead) {
    work.read_requests += requests;
    work.read_bytes += bytes;
  } else {
    work.write_requests += requests;
    work.written_bytes += bytes;
  }
}

Work direct_work(const Request& request, const RankShare& share) {
  Work work;
  const bool dense = share.memory_block >= share.run_bytes;
  const double most = as_double(dense ? request.tuning.request_bytes_max : request.tuning.bounce_bytes);
  add_transfer(work, request, std::max(share.runs, share.bytes / most), share.bytes);
  work.jumps = share.runs > 1;
  work.gap = gap_between(share.span, share.bytes, share.runs);
  if (dense) {
    work.straight_bytes = share.bytes;
  } else {
    work.copied_bytes = share.bytes;
    work.copied_block = share.memory_block;
    work.window_bytes = std::min(most, share.bytes);
  }
  if (request.direction == Direction::kWrite) work.partial_pages = partial_pages(share);
  return work;
}

Work list_work(const Request& request, const RankShare& share) {
  Work work = direct_work(request, share);
  work.copied_bytes = 0;
  work.straight_bytes = share.bytes;
  work.pieces = share.bytes / std::min(share.run_bytes, share.memory_block);
  const double pieces_max = as_double(request.tuning.list_pieces);
  const double requests = std::max(share.runs, work.pieces / pieces_max);
  (request.direction == Direction::kRead ? work.read_requests : work.write_requests) = requests;
  work.batched = share.runs > 1;
  work.visits = work.pieces / pieces_max;
  return work;
}

// Cached windows are mapped, not copied, where they are not too short; see view_of() in method/run.h.
void set_mapped(Work& work, const Request& request, const WindowSample& sample) {
  work.maps_cached = request.direction == Direction::kRead && request.capabilities.shows_cache &&
                     work.window_bytes >= as_double(request.tuning.look_bytes_min);
  work.mapped = mapped_use(sample.bytes, sample.useful, sample.runs);
}

Work sieve_work(const Request& request, const Access& access, const RankShare& share) {
  Work work;
  const WindowSample sample = sample_windows(access, 0, INT64_MAX, request.tuning.sieve_bytes);
  work.copied_bytes = share.bytes;
  work.copied_block = std::min(share.run_bytes, share.memory_block);
  work.visits = sample.windows;
  work.window_bytes = sample.bytes / std::max(sample.windows, 1.0);
  work.jumps = sample.bytes < sample.span * 0.9;
  work.gap = gap_between(sample.span, sample.bytes, sample.windows);
  if (request.direction == Direction::kRead) {
    add_transfer(work, request, sample.windows, sample.bytes);
    set_mapped(work, request, sample);
    return work;
  }
  add_transfer(work, request, sample.windows, sample.bytes);
  work.dirty_bytes = sample.bytes * request.decomposition.ranks();
  work.is_behind = sample.with_holes == 0 && work.window_bytes >= kBehindBytesMin;
  work.read_requests = sample.with_holes;
  work.read_bytes = sample.bytes * sample.with_holes / std::max(sample.windows, 1.0);
  work.locks = request.capabilities.lock_for_holes ? sample.windows : 0;
  return work;
}

// How most windows of two-phase that have holes are moved: kSieve, kList or kDatatype.
Method inner_of(const Request& request, const Access& together, const WindowSample& sample) {
  if (request.tuning.inner == Method::kAuto) {
    const bool by_runs =
        sample.runs > sample.windows && sample.useful >= sample.runs * as_double(request.tuning.runs_bytes_min);
    return by_runs ? Method::kList : Method::kSieve;
  }
  const bool are_read_whole = request.direction == Direction::kRead && together.may_overlap();
  return sample.with_holes > 0 && !are_read_whole ? request.tuning.inner : Method::kSieve;
}

// The aggregator with the first domain, which is as large as any.
Work two_phase_work(const Request& request, const Access& together, const RankShare& share, bool staged) {
  Work work;
  const auto domains = FileDomains(together, request.decomposition.ranks(), request.tuning);
  if (domains.empty()) return work;
  const FileDomain first = domains[0];
  const double aggregators = as_double(std::ssize(domains));
  const WindowSample sample = sample_windows(together, first.begin, first.end, request.tuning.window_bytes);
  const double windows = std::max(sample.windows, 1.0);
  work.inner = inner_of(request, together, sample);
  const bool by_runs = work.inner != Method::kSieve;
  work.descriptions = sample.slices;
  if (work.inner == Method::kDatatype) {  // between the window and what is sent
    work.packed_bytes += sample.useful;
    work.packed_block = share.run_bytes;
  }
  work.transfers_at_once = aggregators;
  work.overlaps = true;
  work.span = sample.span;
  if (by_runs) {
    add_transfer(work, request, sample.runs, sample.useful);
    work.jumps = work.batched = true;
    work.gap = gap_between(sample.span, sample.useful, sample.runs);
    work.pieces = sample.runs;
    if (request.direction == Direction::kWrite) work.partial_pages = 2 * sample.runs;
  } else {
    add_transfer(work, request, windows, sample.bytes);
    work.jumps = sample.bytes < sample.span * 0.9;
    work.gap = gap_between(sample.span, sample.bytes, windows);
    if (request.direction == Direction::kWrite && sample.with_holes > 0) {
      work.read_requests = sample.with_holes;
      work.read_bytes = sample.bytes * sample.with_holes / windows;
      work.locks = request.capabilities.lock_for_holes ? sample.with_holes : 0;
      work.packed_bytes += sample.useful;  // into the window as it was in the file
      work.packed_block = share.run_bytes;
    }
  }
  const double ranks = request.decomposition.ranks();
  work.rounds = windows;
  work.window_bytes = sample.bytes / windows;
  work.dirty_bytes = aggregators * (by_runs ? sample.useful + kPageBytes * sample.runs : sample.bytes);
  work.is_behind = !by_runs && work.window_bytes >= kBehindBytesMin;
  work.visits = windows * aggregators * (staged ? 2 : 1);
  if (staged) {
    if (!request.messages && !by_runs) set_mapped(work, request, sample);
    work.packed_bytes += sample.useful;
    work.packed_block = share.run_bytes;
    work.visits += windows * ranks;
  }
  work.exchanged_bytes = share.bytes;
  const double block = staged ? share.bytes / std::max(work.visits, 1.0) : share.run_bytes;
  work.exchanged_block = std::min(std::max(block, 1.0), share.memory_block);
  if (request.messages) {
    const double node = request.ranks_of_node > 0 ? request.ranks_of_node : 1;
    const double abroad = 1 - std::min(node / ranks, 1.0);
    work.messages = windows * (ranks + aggregators) * abroad;
    work.message_bytes = (share.bytes + sample.useful) * abroad;
  }
  return work;
}

// Runs in a store of objects: so many in a range of the file.
struct ObjectRuns {
  const StripeLayout stripes;
  double ranges_max = 1;  // of one list
  double span = 0;
  double runs = 0;
  double bytes = 0;

  double cut_runs() const { return runs + (span > 0 ? bytes / as_double(stripes.unit) : 0); }
  double objects() const {
    const double of_span = span / as_double(stripes.unit) + 1;
    const double most = std::ceil(span / as_double(stripes.set_bytes())) * as_double(stripes.count);
    return std::max(1.0, std::min({of_span, most, cut_runs()}));
  }
  double by_bytes() const { return bytes / as_double(kObjectOperationBytesMax); }
  double lists() const { return std::max({objects(), cut_runs() / ranges_max, by_bytes()}); }
  double descriptions() const { return std::max(objects(), by_bytes()); }
  // Whether the object class moves runs and holes together, in windows.
  bool is_in_windows() const {
    if (runs <= 1) return true;
    const double run = bytes / runs;
    const double distance = (span - run) / (runs - 1);
    const bool is_far = distance > as_double(stripes.unit);  // the next run is in another object
    const double in_object = is_far ? distance / as_double(stripes.count) : distance;
    return in_object - run <= as_double(ObjectRequest::kHoleBytesMax);
  }
};

// What servers do for so many descriptions of such runs: what lies far apart they read, and write, one by one, as they
// do lists.
void add_described(Work& work, const ObjectRuns& runs, double times) {
  const bool in_windows = runs.is_in_windows();
  (in_windows ? work.regions : work.ranges) = times * runs.cut_runs();
  work.described_bytes = in_windows ? times * runs.span : 0;
}

// Operations, ranges and regions of one rank, and how often it waits for them. Windows are transferred one after the
// other, each by its objects.
void add_object_work(Work& work, const Request& request, Method method, const RankShare& share) {
  const StripeLayout stripes = stripes_of(*request.capabilities.stripes);
  const double ranges_max = as_double(request.capabilities.ranges_max(request.direction));
  const ObjectRuns all{stripes, ranges_max, share.span, share.runs, share.bytes};
  const double requests = work.read_requests + work.write_requests;
  const double windows = std::max(work.rounds, 1.0);
  // Of a window of two-phase that is not moved as a whole.
  const ObjectRuns window{stripes, ranges_max, work.window_bytes, requests / windows,
                          (work.read_bytes + work.written_bytes) / windows};
  work.waits = 1;
  if (method == Method::kDirect) {
    const ObjectRuns run{stripes, ranges_max, share.run_bytes, 1, share.run_bytes};
    work.operations = share.runs * std::max(run.objects(), run.by_bytes());
    work.waits = share.runs;
  } else if (method == Method::kList) {
    work.ranges = all.cut_runs();
    work.operations = all.lists();
  } else if (method == Method::kDatatype) {
    add_described(work, all, 1);
    work.operations = all.descriptions();
  } else if (method == Method::kTwoPhase && work.inner == Method::kList) {
    work.ranges = windows * window.cut_runs();
    work.operations = windows * window.lists();
    work.waits = windows;
  } else if (method == Method::kTwoPhase && work.inner == Method::kDatatype) {
    add_described(work, window, windows);
    work.operations = std::max(windows * window.descriptions(), work.descriptions);
    work.waits = windows;
  } else {
    work.operations = requests * ObjectRuns{stripes, 1, work.window_bytes, 1, work.window_bytes}.objects();
    work.waits = requests;
  }
  work.batched = method != Method::kDirect;
}

// Seconds of all ranks' operations, which the servers share.
double object_seconds(const Request& request, const Work& work) {
  const Profile& profile = request.profile ? *request.profile : default_profile();
  const ObjectStore::Costs& each = profile.objects.of(request.direction);
  const double byte = work.described_bytes > 0 ? each.described : each.byte;
  const double served = work.operations * each.operation + work.ranges * each.range + work.regions * each.region +
                        work.described_bytes * each.window + (work.read_bytes + work.written_bytes) * byte;
  // Of ranks that fill in windows of the same objects one is let through at a time, the others read again.
  const bool fills_in = work.read_requests > 0 && work.write_requests > 0;
  const double in_turn = fills_in ? work.overlap : 1;
  return std::max(in_turn * work.waits * each.alone, served * work.transfers_at_once);
}

double requests_at(const Curve& each, double requests, double bytes, double jump) {
  return requests <= 0 ? 0 : requests * (each.at_or_in_proportion(bytes / requests) + jump);
}

// Of the page cache. Requests beyond a window cost what so many windows cost: that memory does not stay in the
// processor's cache is priced apart.
double cached_requests_at(const Curve& each, double requests, double bytes, double jump) {
  return requests_at(each, std::max(requests, std::floor(bytes / kWindowBytes)), bytes, jump);
}

// How much of a jump to another page each of so many requests of the page cache costs.
//
// Example: of 8 bytes of every 272, one request in 15 is in another page than the last one; the others cost 0.3 of
// that.
double jump_part(const Work& work, double requests) {
  constexpr double kWithinPage = 0.3;
  if (!work.jumps) return 0;
  const double to_others = std::min(1.0, work.span / std::max(requests, 1.0) / kPageBytes);
  return kWithinPage + (1 - kWithinPage) * to_others;
}

// Seconds more of each of so many requests that do not follow each other, if the medium prices gaps. Of ranks that
// alternate, every second one lies before the last request: who comes first in a round is not known.
double gap_of(const Medium& medium, Direction direction, const Work& work) {
  if (!work.jumps) return 0;
  const double near = medium.gap_seconds(direction, work.gap);
  if (!work.alternates) return near;
  return (near + medium.jump_seconds(direction)) / 2;
}

// The same in the page cache, which prices gaps if it stands for a disk.
double cached_gap_of(const Medium& cache, Direction direction, const Work& work, double requests) {
  if (cache.prices_gaps(direction)) return gap_of(cache, direction, work);
  const bool in_batches = work.batched && direction == Direction::kRead;
  return (in_batches ? cache.read_jump_batched : cache.jump_seconds(direction)) * jump_part(work, requests);
}

// How much of the memory that ranks share an operation uses, from 0, where its core's cache holds all, to 1.
double memory_part(const Profile& profile, const Work& work) {
  const Curve& byte = profile.memory_byte_load;
  return byte.at(std::max(work.memory_bytes, work.share_span)) / byte.points().back().y;
}

// How many times longer each of so many ranks at once takes: ranks are in each other's way where they share memory, and
// where they take turns on a core.
double slowdown_of(const Curve& in_memory, double ranks, double memory_part, double turns) {
  return std::max(turns, 1 + (in_memory.at_or_in_proportion(ranks) - 1) * memory_part);
}

// Reading what the page cache has.
double cached_read_seconds(const Profile& profile, const Work& work, double turns) {
  const Medium& cache = profile.cache;
  const double jump = cached_gap_of(cache, Direction::kRead, work, work.read_requests);
  return cached_requests_at(cache.read, work.read_requests, work.read_bytes, jump) *
         slowdown_of(cache.read_slowdown, work.transfers_at_once, memory_part(profile, work), turns);
}

// Reading what is cached from mapped pages. Of a page that is read in part the curve knows the part of its lines.
double mapped_seconds(const Profile& profile, const Work& work, double turns) {
  return (requests_at(profile.look, work.read_requests, work.mapped.bytes, 0) +
          work.mapped.partial_pages() * profile.look_page_seconds) *
         slowdown_of(profile.cache.read_slowdown, work.transfers_at_once, memory_part(profile, work), turns);
}

// Reading what it has not. Pages that several ranks want are read once; requests closer than a page make the kernel
// read ahead, as if all between were asked for. Whatever follows the first request, that one begins elsewhere than
// where the last operation ended.
double device_read_seconds(const Profile& profile, const Work& work, bool store_reads_ahead) {
  constexpr double kAheadBytes = 128 * 1024;
  const Medium& device = profile.device;
  const double slowdown = device.read_slowdown.at_or_in_proportion(work.transfers_at_once);
  double pages = 0;
  double copies = 0;
  double first_jump = 0;
  if (work.read_requests > 0) {
    const bool reads_ahead = store_reads_ahead && work.jumps && work.span / work.read_requests <= kPageBytes;
    const double most = work.batched ? device.read_jump_batched : device.read_jump;
    const double jump = work.jumps ? std::min(gap_of(device, Direction::kRead, work), most) : 0;
    pages = reads_ahead ? requests_at(device.read, std::max(work.span / kAheadBytes, 1.0), work.span, 0)
                        : requests_at(device.read, work.read_requests, work.read_bytes, jump);
    if (reads_ahead || !work.jumps) first_jump = device.read_jump;
    if (reads_ahead || work.overlap > 1) copies = cached_read_seconds(profile, work, 1);
  }
  // Pages that are written in part are read first, one after the other.
  const double partial =
      requests_at(device.read, work.partial_pages, work.partial_pages * kPageBytes, device.read_jump);
  return (pages + partial) * slowdown / work.overlap + first_jump + copies;
}

// Writing is in turns whatever the memory: the kernel lets one at a time write to a file.
double write_seconds(const Medium& cache, const Work& work, double turns) {
  const double jump = cached_gap_of(cache, Direction::kWrite, work, work.write_requests);
  return cached_requests_at(cache.write, work.write_requests, work.written_bytes, jump) *
         slowdown_of(cache.write_slowdown, work.transfers_at_once, 1, turns);
}

// Requests that are in flight together wait together: as often as there are batches.
double round_trips(const Work& work) {
  const double requests = work.read_requests + work.write_requests;
  return work.batched ? std::min(requests, std::max(work.visits, 1.0)) : requests;
}

// What a sync waits for after an operation of so many seconds: the device has used them where it could begin.
double sync_after(const Profile& profile, const Work& work, double seconds) {
  const double device = work.dirty_bytes * profile.sync_byte_seconds;
  return profile.sync_seconds + std::max(0.0, work.is_behind ? device - seconds : device);
}

// How often the ranks agree: on what is asked, and on how it went. A short read where they do not meet on the way has
// one agreement on both (array/array.cc), and of a long one agreements are no matter.
double agreements(bool reading, Method method) { return reading && method != Method::kTwoPhase ? 1 : 2; }

}  // namespace

Work work_of(const Request& request, Method method, const Access& together, const Access& busiest, bool staged) {
  if (busiest.empty()) return {};
  const RankShare share = share_of(request, busiest);
  Work work;
  switch (method) {
    case Method::kDirect:
      work = direct_work(request, share);
      break;
    case Method::kList:
    case Method::kDatatype:
      work = list_work(request, share);
      break;
    case Method::kSieve:
      work = sieve_work(request, busiest, share);
      break;
    case Method::kTwoPhase:
      work = two_phase_work(request, together, share, staged);
      break;
    case Method::kAuto:
      break;
  }
  work.memory_bytes = share.memory_span;
  work.partial_lines = partial_lines(share);
  work.share_span = share.span;
  if (request.capabilities.is_of_objects()) add_object_work(work, request, method, share);
  if (method == Method::kTwoPhase) return work;
  const double ranks = request.decomposition.ranks();
  const double span_together = as_double(*together.last_end(INT64_MAX) - *together.next_start(0));
  if (method == Method::kSieve) {
    work.dirty_bytes = std::min(work.dirty_bytes, span_together);
  } else {
    work.dirty_bytes = dirty_bytes(share, ranks, span_together);
    work.is_behind = share.run_bytes >= kBehindBytesMin;
  }
  work.transfers_at_once = ranks;
  work.span = share.span;
  work.overlap = std::clamp(ranks * share.span / span_together, 1.0, ranks);
  work.alternates = method != Method::kSieve && work.overlap >= 1.5;
  if (work.alternates) work.gap = gap_between(span_together, as_double(together.bytes()), ranks * share.runs);
  return work;
}

CostEstimate estimate_cost(const Request& request, Method method, const Work& work) {
  const Profile& profile = request.profile ? *request.profile : default_profile();
  const int ranks = request.decomposition.ranks();
  const double node = request.ranks_of_node > 0 ? request.ranks_of_node : std::min<double>(ranks, profile.cores);
  const double uncached = profile.device.known() ? 1 - request.cached_or_none() : 0;
  const bool reading = request.direction == Direction::kRead;
  const bool is_late = request.synced && !reading;
  // Ranks that share a core take turns on it, whatever they do but wait.
  const double turns = std::max(1.0, node / profile.cores);
  CostEstimate price;

  const double read_device = uncached > 0 ? device_read_seconds(profile, work, request.capabilities.reads_ahead) : 0;
  price.maps_cached = work.maps_cached && uncached < 1;
  const double in_memory =
      work.maps_cached ? mapped_seconds(profile, work, turns) : cached_read_seconds(profile, work, turns);
  const double read = (1 - uncached) * in_memory + uncached * read_device;
  // Written bytes stay in the page cache until they are synced.
  const double write = write_seconds(profile.cache, work, turns);
  const double piece = reading ? profile.read_piece_seconds : profile.write_piece_seconds;
  if (request.capabilities.is_of_objects()) {
    price.transfer = object_seconds(request, work);
  } else {
    price.transfer = read + write + (work.locks * profile.lock_seconds + work.pieces * piece) * turns +
                     round_trips(work) * request.capabilities.round_trip_seconds;
  }

  const double slowdown = slowdown_of(profile.copy_slowdown, node, memory_part(profile, work), turns);
  const auto copy = [&](const Curve& curve, double bytes, double block) {
    return bytes <= 0 ? 0 : bytes / block * curve.times_x_at(block);
  };
  const Curve& byte = reading ? profile.memory_byte_store : profile.memory_byte_load;
  const Curve& line = reading ? profile.memory_line_store : profile.memory_line_load;
  const Curve& own = reading ? profile.gather : profile.scatter;
  // A window that does not stay in the processor's cache is paid for when it is filled and when it is emptied.
  const double copied = work.maps_cached ? (uncached * work.copied_bytes) : work.copied_bytes;
  const double through_window = 2 * (copied + work.exchanged_bytes);
  // Ranks that share a core share its cache; what that cannot hold, all ranks of the node have in the caches they
  // share.
  const double on_core = work.memory_bytes * turns;
  const double memory = on_core <= kCoreCacheBytesMax ? on_core : work.memory_bytes * node;
  const double window = work.window_bytes * turns;
  const double copies = work.straight_bytes * byte.at(memory) + (window > 0 ? through_window * byte.at(window) : 0) +
                        work.partial_lines * line.at(memory) + copy(own, work.copied_bytes, work.copied_block) +
                        copy(own, work.packed_bytes, work.packed_block);
  price.copy = copies * slowdown + work.visits * profile.visit_seconds * turns;

  const Curve& exchange = reading ? profile.exchange_gather : profile.exchange_scatter;
  price.exchange = copy(exchange, work.exchanged_bytes, work.exchanged_block) * slowdown +
                   work.messages * profile.message_seconds + work.message_bytes * profile.message_byte_seconds;
  if (ranks > 1) {
    const double meeting = profile.barrier.at_or_in_proportion(node);
    price.exchange += work.rounds * profile.round.at_or_in_proportion(node);
    // One rank at a time writes to a file. Who finds it locked watches as long as the owner runs (Linux), but sleeps
    // where the owner has lost its core, and must be woken. All but the first windows meet those of others like that.
    if (!reading && turns > 1) {
      price.exchange += std::max(work.rounds - 1, 0.0) * work.transfers_at_once * profile.barrier.at(2);
    }
    // Of those that share a core, one is woken when the other waits again.
    price.fixed += agreements(reading, method) * meeting * turns;
  }
  // A write that will be synced is taken to follow a sync.
  price.fixed += (is_late ? profile.late_operation_seconds : profile.operation_seconds) * turns;
  // A transfer from the page cache is work of the same core that exchanges; one from a device is waiting.
  if (work.overlaps && request.capabilities.is_of_objects()) {
    price.hidden = std::min(price.transfer, price.copy + price.exchange) * (1 - 1 / std::max(work.rounds, 1.0));
  } else if (work.overlaps) {
    price.hidden = std::min(uncached * read_device, price.copy + price.exchange);
  }
  const Scale scale = scale_of(std::max(work.share_span, work.memory_bytes));
  // Looking at runs of the file that are wanted whole is another way of copying what `direct` copies.
  const bool copies_whole = method == Method::kSieve && price.maps_cached && work.copied_bytes >= work.read_bytes;
  price.place =
      correction_place(copies_whole ? Method::kDirect : method, request.direction, request.cached_or_none(), scale);
  price.correction = profile.corrections.factor(price.place);
  if (is_late && !request.capabilities.durable_when_answered) price.sync = sync_after(profile, work, price.seconds());
  return price;
}

size_t correction_place(Method method, Direction direction, double cached, Scale scale) {
  const auto of_method = static_cast<size_t>(method) - static_cast<size_t>(Method::kDirect);
  const size_t of_direction = direction == Direction::kRead ? 0 : 1;
  const size_t of_medium = cached >= 0.5 ? 0 : 1;
  return of_method * Corrections::kCommon + (of_direction * 2 + of_medium) * 3 + static_cast<size_t>(scale);
}

std::string correction_name(size_t place) {
  const size_t common = place % Corrections::kCommon;
  const auto method = static_cast<Method>(static_cast<size_t>(Method::kDirect) + place / Corrections::kCommon);
  return (place < Corrections::kMethods ? to_string(method) : "any") + (common / 6 == 0 ? "/read" : "/write") +
         (common / 3 % 2 == 0 ? "/cache/" : "/device/") + to_string(static_cast<Scale>(common % 3));
}

}  // namespace swath
