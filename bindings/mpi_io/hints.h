// Hints of a program that Swath obeys: its own, and those of ROMIO that mean something here.
//
//   swath_method              auto, direct, sieve, list, two-phase: of all operations; alone a rank takes auto for
//   two-phase swath_aggregators, swath_window_bytes, swath_sieve_bytes, …       sizes (core/plan/tuning.h)
//   swath_contiguous          automatic, alone, together: whether ranks meet in a collective call where every rank's
//   view is contiguous
//   swath_set_view            barrier, local: whether ranks meet in MPI_File_set_view
//   swath_streams             how many ranks of a node move bytes at a time (core/throttle/); when the file is opened
//   romio_cb_read, _write     enable: two-phase; disable: each rank by itself; automatic: the cheapest
//   romio_ds_read, _write     the same of sieving, where ranks are by themselves
//   cb_nodes, cb_buffer_size  aggregators; window_bytes
//   ind_rd_buffer_size, ind_wr_buffer_size    sieve_bytes of reads, and of writes
//
// MPI_File_open and MPI_File_set_info take those of rank 0, MPI_File_set_view those of each rank for what it does
// alone: romio_ds_… and ind_….
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

// Keys that begin so, or are named above; of anything else Swath knows nothing.
InfoPairs known_hints(MPI_Info info);

class Hints {
 public:
  // Those that cannot be obeyed are left as they were, and are told by the report: MPI lets hints be ignored.
  void take(const InfoPairs& pairs);
  // Of a call that sends nothing, and whose hints may be of one rank alone: those are taken that concern what a rank
  // does by itself. Others are ignored, and are told unless they were given before.
  void take_of_rank(const InfoPairs& pairs);

  // Whether ranks of a collective operation work together at all.
  bool together(Direction direction) const { return collective_[static_cast<size_t>(direction)].together; }
  Method collective_method(Direction direction) const { return collective_[static_cast<size_t>(direction)].method; }
  Method own_method(Direction direction) const { return own_method_[static_cast<size_t>(direction)]; }
  TuningSettings collective_tuning(Direction direction) const;
  TuningSettings own_tuning(Direction direction) const;
  // Whether ranks go alone in collective operations on contiguous views; `is_cheaper`: what the prices say.
  bool goes_alone(Direction direction, bool is_cheaper) const;
  // Whether ranks meet in MPI_File_set_view.
  bool set_view_meets() const { return set_view_meets_; }
  // How many streams; nothing: they are not counted.
  std::optional<int> streams() const { return streams_; }

  // What is in force, under Swath's names.
  InfoPairs in_force() const;
  const std::set<std::string>& ignored() const { return ignored_; }

 private:
  struct Collective {
    Method method = Method::kAuto;
    bool together = true;
  };

  enum class Contiguous { kAutomatic, kAlone, kTogether };

  // `is_of_all`: all ranks have it. False: it cannot be obeyed.
  bool take_one(const std::string& key, const std::string& value, bool is_of_all);
  TuningSettings tuning(int64_t sieve_bytes) const;

  std::array<Collective, 2> collective_;
  std::array<Method, 2> own_method_{Method::kAuto, Method::kAuto};
  std::map<std::string, int64_t> sizes_;
  std::array<int64_t, 2> sieve_bytes_{};  // of collective operations; 0: not asked for
  std::array<int64_t, 2> own_sieve_bytes_{};
  Contiguous contiguous_ = Contiguous::kAutomatic;
  bool set_view_meets_ = true;
  std::optional<int> streams_;
  std::string method_ = "auto";
  std::map<std::string, std::string> taken_;
  std::set<std::string> ignored_;
};

}  // namespace swath::mpi_io
