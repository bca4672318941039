// Operations on a simulated machine, from JSON to JSON.

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

#include "bindings.h"
#include "simulate/simulate.h"

namespace nb = nanobind;
using namespace nb::literals;

void bind_simulation(nb::module_& m) {
  m.def(
      "simulate",
      [](const std::string& machine, const std::string& operations, int ranks, uint64_t seed, double noise, bool data) {
        const Interruptible interruptible;
        return swath::simulate::run({machine, operations, ranks, seed, noise, data});
      },
      "machine"_a, "operations"_a, "ranks"_a, "seed"_a = 0, "noise"_a = 0.0, "data"_a = false,
      "Carries out operations (JSON) on a simulated machine (JSON). Returns what they took, as JSON.");
  m.def(
      "profile_of_machine",
      [](const std::string& machine) { return swath::simulate::profile_of(swath::simulate::parse_machine(machine)); },
      "machine"_a, "Return the profile of a machine (JSON): what its servers and its nodes cost a program.");
}
