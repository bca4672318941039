// Requests as the kernel gets them: how much one attempt asks for, and what follows from its result. Shared by every
// engine, so that all count alike.
#pragma once

#include <cstdint>

#include "base/counters.h"
#include "base/direction.h"
#include "store/batch.h"

namespace swath {

class OpenFile;

// What the next attempt asks for: all that is left, or, where the work may be told to stop (base/interrupt.h), no more
// than one call should take. Notes in the request that it is a part.
int64_t bytes_to_attempt(FileRequest& request);

// What follows from one attempt: `result` is the bytes moved, or a negative errno. Counts it, and goes on, lets the
// caller try again (EINTR, unless that signal says stop; EAGAIN after a pause), or throws the Error. All parts of a
// request are one in the counters: they are what the plan says, whoever may stop it.
void finish_attempt(const OpenFile& file, Direction direction, FileRequest& request, int64_t result,
                    Counters& counters);

}  // namespace swath
