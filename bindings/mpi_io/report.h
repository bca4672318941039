// What was done with a file: told at its close where SWATH_MPI_IO_REPORT asks for it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "array/execution.h"
#include "base/counters.h"
#include "comm/comm.h"

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
  // Why operations went the way they did: each reason once.
  void note(const std::string& text);

  // Collective. Rank 0 says it on standard error, once a file: lines that begin with "swath mpi-io: ".
  void tell(Comm& comm, const std::string& path);

 private:
  std::mutex mutex_;
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
