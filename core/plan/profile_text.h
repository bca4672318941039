// A profile as text, for programs without Python: one line a number or curve, its name first, "cache.read 512 1e-6 4096
// 2e-6" for the points of a curve. `swath mpi-io` writes the measurements of `swath calibrate` in this form.
#pragma once

#include <string>
#include <string_view>

#include "plan/profile.h"

namespace swath {

std::string profile_text(const Profile& profile);
// Names that are missing have their default. Throws Error{kFormat} that quotes an invalid line.
Profile parse_profile(std::string_view text);

}  // namespace swath
