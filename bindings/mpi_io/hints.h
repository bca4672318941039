// Hints of a program that Swath obeys: its own, and those of ROMIO that apply here.
//
//   swath_method              auto, direct, sieve, list, two-phase: for all operations
//                             (independent operations take auto for two-phase)
//   swath_aggregators, swath_window_bytes, swath_sieve_bytes, …    sizes (core/plan/tuning.h)
//   swath_contiguous          automatic, alone, together: if ranks meet in collective calls on contiguous views
//   swath_set_view            barrier, local: if ranks meet in MPI_File_set_view
//   swath_streams             the ranks of a node that transfer at a time (core/throttle/); only for MPI_File_open
//   romio_cb_read, _write     enable: two-phase; disable: independent; automatic: the cheapest
//   romio_ds_read, _write     the same for sieving in independent operations
//   cb_nodes, cb_buffer_size  aggregators; window_bytes
//   ind_rd_buffer_size, ind_wr_buffer_size    sieve_bytes of reads, and of writes
//
// MPI_File_open and MPI_File_set_info take the hints of rank 0. MPI_File_set_view takes each rank's hints for its
// independent operations: romio_ds_… and ind_….
#pragma once

#include <mpi.h>

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/direction.h"
#include "plan/request.h"
#include "plan/tuning.h"

namespace swath::mpi_io {

using InfoPairs = std::vector<std::pair<std::string, std::string>>;

// The known keys: those with Swath's prefix, and those listed above.
InfoPairs known_hints(MPI_Info info);

class Hints {
 public:
  // Ignores hints that cannot be obeyed, as MPI allows; the report lists them.
  void take(const InfoPairs& pairs);
  // For a call without communication, whose hints may differ between ranks: takes those for independent operations.
  // Ignores the others; the report lists them unless they were given before.
  void take_of_rank(const InfoPairs& pairs);

  // True if ranks of a collective operation work together at all.
  bool together(Direction direction) const { return collective_[static_cast<size_t>(direction)].together; }
  Method collective_method(Direction direction) const { return collective_[static_cast<size_t>(direction)].method; }
  Method own_method(Direction direction) const { return own_method_[static_cast<size_t>(direction)]; }
  TuningSettings collective_tuning(Direction direction) const;
  TuningSettings own_tuning(Direction direction) const;
  // True if ranks do not meet in collective operations on contiguous views; `is_cheaper`: the result of the cost
  // estimate.
  bool goes_alone(Direction direction, bool is_cheaper) const;
  // True if ranks meet in MPI_File_set_view.
  bool set_view_meets() const { return set_view_meets_; }
  // The number of streams; nullopt: no throttling.
  std::optional<int> streams() const { return streams_; }

  // The hints in force, by Swath's names.
  InfoPairs in_force() const;
  const std::set<std::string>& ignored() const { return ignored_; }

 private:
  struct Collective {
    Method method = Method::kAuto;
    bool together = true;
  };

  enum class Contiguous { kAutomatic, kAlone, kTogether };

  // `is_of_all`: all ranks have this hint. Returns false if it cannot be obeyed.
  bool take_one(const std::string& key, const std::string& value, bool is_of_all);
  TuningSettings tuning(int64_t sieve_bytes) const;

  std::array<Collective, 2> collective_;
  std::array<Method, 2> own_method_{Method::kAuto, Method::kAuto};
  std::map<std::string, int64_t> sizes_;
  std::array<int64_t, 2> sieve_bytes_{};  // of collective operations; 0: not set
  std::array<int64_t, 2> own_sieve_bytes_{};
  Contiguous contiguous_ = Contiguous::kAutomatic;
  bool set_view_meets_ = true;
  std::optional<int> streams_;
  std::string method_ = "auto";
  std::map<std::string, std::string> taken_;
  std::set<std::string> ignored_;
};

}  // namespace swath::mpi_io
