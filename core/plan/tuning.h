// Sizes of the methods. A caller may set them by name; the others are chosen by cost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/method.h"
#include "store/capabilities.h"

namespace swath {

// Sizes in bytes.
struct Tuning {
  int64_t sieve_bytes = int64_t{4} << 20;        // window of independent sieving
  int64_t bounce_bytes = int64_t{512} << 10;     // direct, if memory is not contiguous: fits in a core's cache
  int64_t request_bytes_max = int64_t{1} << 30;  // longer runs are cut: the kernel stops at 2 GiB - 4096
  int64_t list_pieces = 1024;                    // of one list batch; no more than the store takes
  int64_t window_bytes = int64_t{512} << 10;     // one aggregator's window of one round (docs/performance.md)
  int64_t domain_bytes_min = int64_t{64} << 10;  // the number of aggregators is limited so that each has at least this
                                                 // much
  int64_t runs_bytes_min = int64_t{64} << 10;    // windows whose runs are longer are written run by run, not sieved
  int64_t staged_run_bytes = 64;                 // mean runs shorter than this are staged: a cache line
  int64_t look_bytes_min = 256 << 10;            // cached windows at least this long are mapped, not copied
  std::optional<StripeMap> stripes;              // file domains end at stripe boundaries, if these are known
  int aggregators = 0;                           // 0: as many as ranks
  // How an aggregator moves a window with holes: kSieve (as a whole), kList or kDatatype. kAuto: by runs_bytes_min.
  Method inner = Method::kAuto;
};

// The sizes that the caller has set; the others are chosen by cost.
struct AskedTuning {
  bool sieve_bytes = false;
  bool window_bytes = false;
  bool aggregators = false;
  bool runs_bytes_min = false;
  bool inner = false;

  static AskedTuning all() { return {true, true, true, true, true}; }
};

// The sizes that a caller sets, sorted by name; each name once.
using TuningSettings = std::vector<std::pair<std::string, int64_t>>;

// Applies the settings. Throws Error{kArgument} for an unknown name, or a size below 1.
void apply(const TuningSettings& settings, Tuning& tuning, AskedTuning& asked);
// The size of that name, or `otherwise`.
int64_t setting_or(const TuningSettings& settings, const std::string& name, int64_t otherwise);

}  // namespace swath
