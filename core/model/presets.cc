#include "model/presets.h"

#include "base/error.h"

namespace swath {
namespace {

constexpr int64_t kKiB = 1 << 10;
constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kGB = 1'000'000'000;
constexpr double kMB = 1e6;
constexpr double kMs = 1e-3;

// What of each preset is told and what is fitted:
//   told (section 5.1, table 2): kind and number of disks, turns a minute, capacity, MB/s at the best;
//   follows: half a turn (7,200 a minute: 4.17 ms; 15,000: 2 ms);
//   fitted: seeks, the host's time, segments, stripes, allocation, to the ratios of reading times beside each, with 16
//   bins, one writer, and a token held for a chunk (presets_test.cc). Some stand for what the model has not: the long
//   shortest seek of the cluster for a server that also reads its file system's metadata.

// Table 6, InvD, TIO + LBSTIO: 1 reader 58 s (19.9 MB/s), 4 readers 86 s (13.4 MB/s): 1.48.
// Of files that four wrote at once: 1 reader 66 s, 1.14 times as long, which makes extents of about 1 MiB.
DiskParameters xeon_eide() {
  return {
      .name = "xeon-eide",
      .description = "7,200 RPM EIDE disk of 10.2 GB, 23 MB/s",
      .capacity_bytes = 10'200'000'000,
      .media_bytes_per_second = 23 * kMB,
      .seek_shortest_seconds = 2.5 * kMs,
      .seek_longest_seconds = 18 * kMs,
      .rotation_seconds = 4.17 * kMs,
      .near_bytes = 128 * kKiB,
      .request_seconds = 1.0 * kMs,
      .request_bytes = 256 * kKiB,
      .allocation_bytes = 1 * kMiB,
  };
}

// Table 7, InvD, TIO + LBSTIO: 1 reader 105 s (30.5 MB/s), 16 readers 159 to 163 s (20 MB/s): 1.51 to 1.55.
// Of files that 16 wrote at once: 1 reader 108 s, hardly longer, which makes extents of about 4 MiB.
DiskParameters p690_scsi() {
  return {
      .name = "p690-scsi",
      .description = "7,200 RPM SCSI disk of 140 GB, 35 MB/s",
      .capacity_bytes = 140 * kGB,
      .media_bytes_per_second = 35 * kMB,
      .seek_shortest_seconds = 1.3 * kMs,
      .seek_longest_seconds = 16 * kMs,
      .rotation_seconds = 4.17 * kMs,
      .near_bytes = 128 * kKiB,
      .request_seconds = 0.7 * kMs,
      .request_bytes = 256 * kKiB,
      .allocation_bytes = 4 * kMiB,
  };
}

// Figure 3 (a), total time: 1 reader 1.13, 2 and 4 within 2 %, 16 1.40; with reading two thirds of the whole, reading
// times of 1.2, 1, 1 and 1.6.
DiskParameters p690_raid5() {
  return {
      .name = "p690-raid5",
      .description = "RAID-5 of six 15,000 RPM SCSI disks, 125 MB/s",
      .disks = 6,
      .capacity_bytes = 70 * kGB,
      .media_bytes_per_second = 65 * kMB,
      .seek_shortest_seconds = 1.3 * kMs,
      .seek_longest_seconds = 8 * kMs,
      .rotation_seconds = 2 * kMs,
      .near_bytes = 128 * kKiB,
      .stripe_bytes = 64 * kKiB,
      .parity = true,
      .segments = 8,
      .segment_bytes = 2 * kMiB,
      .request_seconds = 0.1 * kMs,
      .link_bytes_per_second = 125 * kMB,
      .request_bytes = 256 * kKiB,
      .allocation_bytes = 1 * kMiB,
  };
}

// Table 8, InvD + W, TIO + LBSTIO: 1 reader 1.53, 2 1.34 (W alone), 4 1.06, 8 best, 16 1.08. The best is the link's 45
// MB/s here; the paper's clients had part of the data in memory.
DiskParameters cluster_nfs_raid5() {
  return {
      .name = "cluster-nfs-raid5",
      .description = "NFS on a RAID-5 of six 7,200 RPM SATA disks, 45 MB/s",
      .disks = 6,
      .capacity_bytes = 250 * kGB,
      .media_bytes_per_second = 40 * kMB,
      .seek_shortest_seconds = 6 * kMs,
      .seek_longest_seconds = 18 * kMs,
      .rotation_seconds = 4.17 * kMs,
      .near_bytes = 128 * kKiB,
      .stripe_bytes = 64 * kKiB,
      .parity = true,
      .segments = 8,
      .segment_bytes = 1 * kMiB,
      .request_seconds = 3 * kMs,
      .link_bytes_per_second = 45 * kMB,
      .request_bytes = 512 * kKiB,
      .allocation_bytes = 512 * kKiB,
  };
}

// Of no paper: something without seeks that one stream cannot fill and many do not slow down. Its rate is low, so that
// two cores can carry it through FUSE.
DiskParameters ssd() {
  return {
      .name = "ssd",
      .description = "SSD of 8 channels, 140 MB/s",
      .disks = 8,
      .capacity_bytes = 32 * kGB,
      .media_bytes_per_second = 25 * kMB,
      .stripe_bytes = 64 * kKiB,
      .request_seconds = 0.1 * kMs,
      .link_bytes_per_second = 140 * kMB,
      .request_bytes = 256 * kKiB,
      .allocation_bytes = 1 * kMiB,
  };
}

}  // namespace

const std::vector<DiskParameters>& disk_presets() {
  static const std::vector<DiskParameters> presets = {xeon_eide(), p690_scsi(), p690_raid5(), cluster_nfs_raid5(),
                                                      ssd()};
  return presets;
}

const DiskParameters& disk_preset(const std::string& name) {
  std::string names;
  for (const DiskParameters& preset : disk_presets()) {
    if (preset.name == name) return preset;
    names += (names.empty() ? "" : ", ") + preset.name;
  }
  fail_argument("modelled disk \"" + name + "\": expected one of " + names);
}

}  // namespace swath
