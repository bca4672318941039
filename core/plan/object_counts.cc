#include "plan/object_counts.h"

#include <algorithm>

#include "base/error.h"
#include "base/math.h"
#include "layout/as_view.h"
#include "rados_class/cut_requests.h"

namespace swath {
namespace {

// Objects that the access has something of, as if it had something of each in its span.
int64_t objects_touched(const Access& access, const StripeLayout& stripes) {
  if (access.empty()) return 0;
  const int64_t begin = *access.next_start(0);
  const int64_t end = *access.last_end(INT64_MAX);
  const int64_t sets = (end - 1) / stripes.set_bytes() - begin / stripes.set_bytes() + 1;
  const int64_t in_one_set = std::min(stripes.count, (end - begin) / stripes.unit + 1);
  return std::min(sets == 1 ? in_one_set : sets * stripes.count, std::max<int64_t>(access.runs(), 1) + stripes.count);
}

int64_t runs_cut_by_stripes(const Access& access, const StripeLayout& stripes) {
  const int64_t span = access.empty() ? 0 : *access.last_end(INT64_MAX) - *access.next_start(0);
  const int64_t runs = access.runs();
  // Where runs are long each is cut at every stripe's end; where they are short a few are.
  const double filled = span == 0 ? 0 : static_cast<double>(access.bytes()) / static_cast<double>(span);
  const int64_t units = span / stripes.unit;
  return runs + static_cast<int64_t>(filled * static_cast<double>(units));
}

enum class Pieces { kOfFile, kOfMemory };  // cut where the file has a hole; and where memory has one

// The ranges of a slice, as store/structured.h cuts it.
void add_pieces(ListCounter& counter, const Slice& slice, Pieces pieces) {
  const Regions& regions = slice.regions;
  for (int64_t position = slice.first; position < slice.last;) {
    const Run run = regions.run_at(position, slice.last);
    const int64_t end = position + run.bytes / regions.element_bytes();
    while (position < end) {
      const int64_t piece_end = pieces == Pieces::kOfMemory ? regions.memory_end(position, end) : end;
      counter.add(run.offset + (position - run.position) * regions.element_bytes(),
                  (piece_end - position) * regions.element_bytes());
      position = piece_end;
    }
  }
}

// The requests for a slice; false where a list is sent, because its description would be too deep or too long.
bool add_described(ObjectOperations& counted, const StripeLayout& stripes, const Slice& slice) {
  ViewRegions regions;
  try {
    regions = as_view(slice.regions);
  } catch (const Error&) {
    return false;
  }
  if (!can_be_described(regions.file().nest)) return false;
  const int64_t element_bytes = slice.regions.element_bytes();
  const int64_t skipped = regions.file().first;
  RequestCuts cuts(stripes, regions.file().nest);
  cuts.visit(slice.first * element_bytes + skipped, slice.last * element_bytes + skipped,
             [&](const RequestCut&) { ++counted.operations; });
  return true;
}

}  // namespace

StripeLayout stripes_of(const StripeMap& map) { return {map.stripe_bytes, map.servers, map.object_bytes}; }

void ListCounter::add(int64_t offset, int64_t bytes) {
  while (bytes > 0) {
    const StripePiece piece = stripes_.piece_at(offset, std::min(bytes, bytes_max_));
    List& list = lists_[piece.object];
    const int64_t joined = list.range_bytes + piece.bytes;
    if (list.end == piece.object_offset && joined <= std::min(kObjectRangeJoinedMax, bytes_max_)) {
      list.range_bytes = joined;
    } else {
      list.range_bytes = piece.bytes;
      ++list.ranges;
      ++kept_;
      ++counted_.ranges;
    }
    list.end = piece.object_offset + piece.bytes;
    list.bytes += piece.bytes;
    offset += piece.bytes;
    bytes -= piece.bytes;
    if (list.ranges == ranges_max_ || list.bytes >= bytes_max_) {
      ++counted_.operations;
      kept_ -= list.ranges;
      lists_.erase(piece.object);
    }
  }
  if (kept_ >= kObjectRangesKept) flush();
}

void ListCounter::flush() {
  counted_.operations += std::ssize(lists_);
  lists_.clear();
  kept_ = 0;
}

int64_t operations_of_range(const StripeLayout& stripes, int64_t ranges_max, int64_t offset, int64_t bytes) {
  ListCounter counter(stripes, ranges_max, kObjectOperationBytesMax);
  if (bytes / stripes.unit > 100'000) {  // all of its objects, each whole
    ListCounter whole(stripes, ranges_max, kObjectOperationBytesMax);
    for (int64_t at = 0; at < stripes.object_bytes; at += stripes.unit) whole.add(at * stripes.count, stripes.unit);
    whole.flush();
    return stripes.objects(bytes) * whole.counted().operations;
  }
  counter.add(offset, bytes);
  counter.flush();
  return counter.counted().operations;
}

ObjectOperations count_list_operations(const Access& access, const Capabilities& able, int64_t ranges_max,
                                       int64_t counted_max) {
  const StripeLayout stripes = stripes_of(*able.stripes);
  if (access.empty()) return {};
  const int64_t ranges = runs_cut_by_stripes(access, stripes);
  if (ranges > counted_max) {
    const int64_t objects = objects_touched(access, stripes);
    const int64_t by_bytes = ceil_div(access.bytes(), kObjectOperationBytesMax);
    const int64_t full = objects * (ranges / std::max<int64_t>(objects * ranges_max, 1));
    const int64_t rest = ranges % std::max<int64_t>(objects * ranges_max, 1) == 0 ? 0 : std::min(objects, ranges);
    return {std::max({full + rest, ceil_div(ranges, ranges_max), by_bytes}), ranges, 0, false};
  }
  ListCounter counter(stripes, ranges_max, kObjectOperationBytesMax);
  access.visit_all([&](const Slice& slice) { add_pieces(counter, slice, Pieces::kOfMemory); });
  counter.flush();
  return counter.counted();
}

ObjectOperations count_described_operations(const Access& access, const Capabilities& able, int64_t counted_max) {
  const StripeLayout stripes = stripes_of(*able.stripes);
  ObjectOperations counted;
  counted.regions = runs_cut_by_stripes(access, stripes);
  const int64_t units = access.empty() ? 0 : (*access.last_end(INT64_MAX) - *access.next_start(0)) / stripes.unit + 1;
  if (std::min(units, counted.regions) > counted_max) {
    counted.operations = std::max(objects_touched(access, stripes), access.bytes() / RequestCuts::kDataBytesMost);
    counted.exact = false;
    return counted;
  }
  access.visit_all([&](const Slice& slice) {
    if (add_described(counted, stripes, slice)) return;
    counted.exact = false;  // a list is sent
    counted.operations += ceil_div(slice.regions.runs(slice.first, slice.last), able.read_ranges_max);
  });
  return counted;
}

ObjectOperations count_listed_window(const Access& together, const Capabilities& able, int64_t ranges_max,
                                     const Window& window) {
  ListCounter counter(stripes_of(*able.stripes), ranges_max, kObjectOperationBytesMax);
  together.visit(window.begin, window.limit, [&](const Slice& slice) { add_pieces(counter, slice, Pieces::kOfFile); });
  counter.flush();
  return counter.counted();
}

ObjectOperations count_described_window(const Access& together, const Capabilities& able, int64_t ranges_max,
                                        const Window& window) {
  const StripeLayout stripes = stripes_of(*able.stripes);
  ObjectOperations counted;
  together.visit(window.begin, window.limit, [&](const Slice& slice) {
    if (add_described(counted, stripes, slice)) return;
    ListCounter counter(stripes, ranges_max, kObjectOperationBytesMax);
    add_pieces(counter, slice, Pieces::kOfFile);
    counter.flush();
    counted.operations += counter.counted().operations;
  });
  return counted;
}

}  // namespace swath
