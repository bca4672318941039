// The parts of _core that have a file of their own.
#pragma once

#include <nanobind/nanobind.h>

void bind_calibrate(nanobind::module_& m);
void bind_model(nanobind::module_& m);
void bind_profile(nanobind::module_& m);
void bind_throttle(nanobind::module_& m);
