// Traces a run: each process writes its events to a file in the folder that SWATH_TRACE names, in an open format
// (docs/formats/trace.md). The idea is from Pablo, as used by Kandaswamy et al. 2002 (IEEE TPDS 13(12)), section 3.
//
// A traced call only makes one Event. The trace's own thread turns events into text, compresses it, and appends it to
// the file several times a second, so that a killed process loses only its last events. Events are never dropped
// without notice: a thread that makes events faster than they are written waits. If the trace must stop (full disk,
// size limit), a line on stderr reports it, and the program continues. A trace without its end line is incomplete.
#pragma once

#include <memory>
#include <string>

#include "trace/event.h"

namespace swath::trace {

// True if this process is traced. Costs one atomic load.
bool is_active();

// Adds a line to the trace of this process; does nothing if it is not traced. Never throws.
void add(std::unique_ptr<Line> line) noexcept;

// True if the trace of this process has no definition of the key yet; the caller must then add one. Returns true once
// for each key, except in traces with very many keys, where some are defined twice.
bool needs_definition(uint64_t key) noexcept;

// Returns when all lines added before are in the file.
void flush() noexcept;

// Begins to trace this process into `folder`, as SWATH_TRACE does at the program's start. Empty: ends the trace. Throws
// Error{kStore} if the file cannot be created.
void start(const std::string& folder);
void stop() noexcept;

// The rank of this process, from the environment variables of MPI and Slurm; 0 if there are none.
int rank_of_environment();
// The number of ranks, likewise; 0 if no launcher of MPI has started this process.
int ranks_of_environment();

}  // namespace swath::trace
