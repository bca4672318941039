// Modelled disks: the presets, the statistics of a disk, and replacing a disk.

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <vector>

#include "bindings.h"
#include "model/modelled_disk.h"
#include "model/presets.h"

namespace nb = nanobind;
using namespace nb::literals;
using package_types::Facts;

namespace {

Facts dict_of(const swath::DiskParameters& parameters) {
  Facts values;
  values["name"] = parameters.name;
  values["description"] = parameters.description;
  values["disks"] = parameters.disks;
  values["capacity_bytes"] = parameters.capacity_bytes;
  values["media_bytes_per_second"] = parameters.media_bytes_per_second;
  values["seek_shortest_seconds"] = parameters.seek_shortest_seconds;
  values["seek_longest_seconds"] = parameters.seek_longest_seconds;
  values["rotation_seconds"] = parameters.rotation_seconds;
  values["near_bytes"] = parameters.near_bytes;
  values["stripe_bytes"] = parameters.stripe_bytes;
  values["parity"] = parameters.parity;
  values["segments"] = parameters.segments;
  values["segment_bytes"] = parameters.segment_bytes;
  values["request_seconds"] = parameters.request_seconds;
  values["link_bytes_per_second"] = parameters.link_bytes_per_second;
  values["request_bytes"] = parameters.request_bytes;
  values["allocation_bytes"] = parameters.allocation_bytes;
  return values;
}

Facts statistics_of(const std::string& name) {
  const auto disk = swath::find_modelled_disk(name);
  const swath::DiskStatistics statistics = disk->statistics();
  Facts values;
  values["what"] = "modelled disk";
  values["preset"] = disk->parameters().name;
  values["requests"] = statistics.requests;
  values["read_bytes"] = statistics.read_bytes;
  values["written_bytes"] = statistics.written_bytes;
  values["seeks"] = statistics.seeks;
  values["skips"] = statistics.skips;
  values["prefetched_bytes"] = statistics.prefetched_bytes;
  values["prefetch_hits"] = statistics.prefetch_hits;
  values["busy_seconds"] = statistics.busy_seconds;
  values["seek_seconds"] = statistics.seek_seconds;
  return values;
}

using Position = std::tuple<double, int, int64_t, int64_t, int64_t, bool, bool>;

std::vector<Position> trace_of(const std::string& name) {
  std::vector<Position> positions;
  for (const swath::HeadPosition& at : swath::find_modelled_disk(name)->trace()) {
    positions.emplace_back(at.seconds, at.disk, at.position, at.bytes, at.stream,
                           at.direction == swath::Direction::kWrite, at.seeked);
  }
  return positions;
}

}  // namespace

void bind_model(nb::module_& m) {
  m.def("modelled_disk_presets", [] {
    std::vector<Facts> presets;
    for (const swath::DiskParameters& preset : swath::disk_presets()) presets.push_back(dict_of(preset));
    return presets;
  });
  m.def(
      "modelled_disk_set",
      [](const std::string& name, const std::string& preset) {
        swath::modelled_disk(name, preset)->replace(swath::disk_preset(preset));
      },
      "name"_a, "preset"_a, "The disk of that name is of that preset from now on; made where there is none.");
  m.def("modelled_disk_stats", &statistics_of, "name"_a, "What the disk did since it was made.");
  m.def(
      "modelled_disk_record", [](const std::string& name, bool on) { swath::find_modelled_disk(name)->record(on); },
      "name"_a, "on"_a = true, "Whether the positions of its heads are kept.");
  m.def("modelled_disk_trace", &trace_of, "name"_a, "(seconds, disk, position, bytes, stream, write, seek) of each.");
}
