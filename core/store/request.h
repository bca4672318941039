// Requests to the kernel: the size of one attempt, and the handling of its result. Every engine uses it, so that all
// count alike.
#pragma once

#include <cstdint>

#include "base/counters.h"
#include "base/direction.h"
#include "store/batch.h"

namespace swath {

class OpenFile;

// The bytes of the next attempt: all that are left, or, if the work is interruptible (base/interrupt.h), at most the
// limit of one call. Notes in the request that it is a part.
int64_t bytes_to_attempt(FileRequest& request);

// Handles the result of one attempt: `result` is the bytes moved, or a negative errno. Counts it, and continues, lets
// the caller retry (EINTR, unless the signal interrupts the work; EAGAIN after a pause), or throws the Error. All parts
// of a request count as one, so that counters match the plan, interruptible or not.
void finish_attempt(const OpenFile& file, Direction direction, FileRequest& request, int64_t result,
                    Counters& counters);

}  // namespace swath
