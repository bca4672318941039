// The operations on a file; printed at its close if SWATH_MPI_IO_REPORT is set.
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

// The report of one rank; any of its threads may use it.
class Report {
 public:
  // Operations of one kind: "collective read by two-phase".
  struct Kind {
    int64_t operations = 0;
    int64_t bytes = 0;  // read or written by the program
    double predicted_seconds = 0;
    Counters counters;
  };

  void add(const std::string& kind, int64_t bytes, const Execution& done);
  // The costs of contiguous transfers.
  void set_medium(Medium medium) { medium_ = std::move(medium); }
  // Adds one contiguous transfer without a plan: these are many and short.
  void add_contiguous(Direction direction, bool is_collective, const Counters& done);
  // Adds a reason why operations ran as they did; each is printed once.
  void note(const std::string& text);

  // Collective. Rank 0 prints it on standard error, once a file: lines that begin with "swath mpi-io: ".
  void tell(Comm& comm, const std::string& path);

 private:
  // "collective write"; it has no plan, and therefore no reason.
  struct Contiguous {
    int64_t operations = 0;
    Counters counters;
  };
  std::map<std::string, Kind> all_kinds() const;
  // The seconds of consecutive requests, from the seconds of one; 0: unknown.
  static double seconds_of_requests(const Curve& one, const Kind& kind);

  std::mutex mutex_;
  Medium medium_;
  std::array<std::array<Contiguous, 2>, 2> contiguous_;  // independent and collective, by direction
  std::map<std::string, Kind> kinds_;
  std::map<std::string, std::string> reasons_;  // of each kind: that of its largest operation
  std::map<std::string, int64_t> largest_;
  std::vector<std::string> notes_;
};

// Prints a line on standard error.
void say(const std::string& text);
// Rank 0 prints that the file is not served.
void tell_given_back(const std::string& path, const std::string& reason);

}  // namespace swath::mpi_io
