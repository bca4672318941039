// What was done with a file: told at its close where SWATH_MPI_IO_REPORT asks for it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "array/execution.h"
#include "base/counters.h"
#include "base/direction.h"
#include "comm/comm.h"
#include "plan/profile.h"

namespace swath::mpi_io {

bool report_is_wanted();

// Of one rank, by any of its threads.
class Report {
 public:
  // Operations of one kind: "collective read by two-phase".
  struct Kind {
    int64_t operations = 0;
    int64_t bytes = 0;  // that the program has got or given
    double predicted_seconds = 0;
    Counters counters;
  };

  void add(const std::string& kind, int64_t bytes, const Execution& done);
  // What contiguous transfers are priced by.
  void set_medium(Medium medium) { medium_ = std::move(medium); }
  // One contiguous transfer that was not planned: of these there are many, and each is short.
  void add_contiguous(Direction direction, bool is_collective, const Counters& done);
  // Why operations went the way they did: each reason once.
  void note(const std::string& text);

  // Collective. Rank 0 says it on standard error, once a file: lines that begin with "swath mpi-io: ".
  void tell(Comm& comm, const std::string& path);

 private:
  // "collective write"; without a plan, and so without a reason.
  struct Contiguous {
    int64_t operations = 0;
    Counters counters;
  };
  std::map<std::string, Kind> all_kinds() const;
  // Of requests that follow each other, by the seconds of one; 0 where these are not known.
  static double seconds_of_requests(const Curve& one, const Kind& kind);

  std::mutex mutex_;
  Medium medium_;
  std::array<std::array<Contiguous, 2>, 2> contiguous_;  // independent and collective, by direction
  std::map<std::string, Kind> kinds_;
  std::map<std::string, std::string> reasons_;  // of a kind: that of its largest operation
  std::map<std::string, int64_t> largest_;
  std::vector<std::string> notes_;
};

// A line on standard error.
void say(const std::string& text);
// Of a file that is not served: rank 0 says so.
void tell_given_back(const std::string& path, const std::string& reason);

}  // namespace swath::mpi_io
