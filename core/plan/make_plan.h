// Makes a plan from a request. Pure: no MPI, no file, no clock; the same request gives the same plan on every rank.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
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
  FileDomains domains;              // of two-phase, even if another method was chosen
  bool staged = false;              // two-phase: ranks of a node exchange packed elements (window_exchange.h)
  Runs runs;

  // Rounds of two-phase. Counted when first asked for, since it takes a time that grows with the windows.
  int64_t rounds() const;

  // How two-phase moves windows with holes: kSieve, kList or kDatatype. kAuto: by the length of their runs, or the
  // method is not two-phase.
  Method inner() const { return method == Method::kTwoPhase ? request.tuning.inner : Method::kAuto; }
  // The predicted counts of `rank`, computed on demand: a plan holds nothing that grows with ranks or regions.
  IoCounts cost(Method of_method, int rank) const;
  int64_t local_bytes(int rank) const;
  // Seconds of the rank with the most work, by the chosen method. Computed on demand.
  CostEstimate price() const;
  // The costs of all methods, from which the choice was made, for `explain`. Computed on demand.
  std::vector<Candidate> candidates() const;

 private:
  // Of copies of a plan together; threads that count at the same time get the same number. -1: not counted.
  std::shared_ptr<std::atomic<int64_t>> rounds_ = std::make_shared<std::atomic<int64_t>>(-1);
};

Plan make_plan(Request request);

}  // namespace swath
