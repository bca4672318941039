// The peak memory of this process in Linux: VmHWM of /proc/self/status.
#pragma once

#include <stdint.h>

// Starts the measurement of the peak; returns the memory now, in bytes.
int64_t begin_peak(void);

// The peak since then; 0 if the kernel does not tell.
int64_t peak_bytes(void);
