// Traces a run: what happens in each process goes to a file of the folder that SWATH_TRACE names, in an open format
// (docs/formats/trace.md). Source of the idea: Pablo, as in Kandaswamy et al. 2002 (IEEE TPDS 13(12)), section 3.
//
// A call costs its thread the making of one Event. A thread of the trace turns events into text, compresses the text,
// and appends it to the file several times a second, so that a killed process leaves all but its last moments. Nothing
// is dropped in silence: whoever makes events faster than they are written waits, and where the trace has to stop (a
// full disk, the limit), the program goes on and a line on stderr says so. A trace without its last line was cut.
#pragma once

#include <memory>
#include <string>

#include "trace/event.h"

namespace swath::trace {

// Whether this process is traced. Costs a load.
bool is_active();

// Adds a line to the trace of this process; does nothing where it is not traced. Never throws.
void add(std::unique_ptr<Line> line) noexcept;

// Whether the trace of this process lacks a definition of the key. The caller adds one: it is asked once for each key,
// but for traces of very many, which say some twice.
bool needs_definition(uint64_t key) noexcept;

// Returns when everything that was added before is in the file.
void flush() noexcept;

// Traces this process into `folder` from now on, as SWATH_TRACE does from the beginning; empty: no longer. Throws
// Error{kStore} where the file cannot be made.
void start(const std::string& folder);
void stop() noexcept;

// The rank of this process among those that were started together, as far as the environment tells: MPI's and Slurm's
// variables; else 0.
int rank_of_environment();

}  // namespace swath::trace
