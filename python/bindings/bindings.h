// The parts of _core that have a file of their own.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "method/run.h"

void bind_calibrate(nanobind::module_& m);
void bind_chunks(nanobind::module_& m);
void bind_model(nanobind::module_& m);
void bind_profile(nanobind::module_& m);
void bind_throttle(nanobind::module_& m);

// A rank's parts and where they are. `arrays`: ndarrays, one a part, which the caller keeps alive.
swath::LocalMemory memory_of(const swath::Sharing& sharing, int rank, int64_t element_bytes,
                             const nanobind::list& arrays);
