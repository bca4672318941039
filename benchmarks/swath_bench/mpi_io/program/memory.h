// The memory of this process at its most, as Linux tells it: VmHWM of /proc/self/status.
#pragma once

#include <stdint.h>

// Counts from now on; returns what there is now, bytes.
int64_t begin_peak(void);

// The most there was since then; 0: the kernel does not tell.
int64_t peak_bytes(void);
