// A whole method in few lines, to copy: it moves one element at a time, and asks no other rank. It is compiled into the
// tests only. CONTRIBUTING.md says how a copy becomes a method of the library.
#pragma once

#include "method/run.h"

namespace swath {

void run_skeleton(const Job& job);

}  // namespace swath
