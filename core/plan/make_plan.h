// From a request to a plan: pure. No MPI, no file, no clock; the same request gives the same plan on every rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/choose.h"
#include "plan/file_domains.h"
#include "plan/io_counts.h"
#include "plan/request.h"

namespace swath {

struct Candidate {
  Option option;
  TotalIoCounts cost;
};

struct Plan {
  Request request;
  Method method = Method::kDirect;  // never kAuto
  std::string reason;               // why this method
  FileDomains domains;              // of two-phase, whichever method was chosen
  bool staged = false;              // two-phase: whether ranks of a node exchange packed elements (window_exchange.h)
  Runs runs;

  // How two-phase moves windows with holes: kSieve, kList or kDatatype. kAuto: by the length of their runs, or another
  // method was chosen.
  Method inner() const { return method == Method::kTwoPhase ? request.tuning.inner : Method::kAuto; }
  // What `method` costs `rank`, computed when asked: a plan holds nothing that grows with ranks or regions.
  IoCounts cost(Method of_method, int rank) const;
  int64_t local_bytes(int rank) const;
  // Seconds of the rank that has most to do, by the method chosen. Computed when asked.
  CostEstimate price() const;
  // All methods, for `explain`: what the choice was made from. Computed when asked.
  std::vector<Candidate> candidates() const;
};

Plan make_plan(Request request);

}  // namespace swath
