// A profile as text, for whoever has no Python: a number a line behind its name, "cache.read 512 1e-6 4096 2e-6" for a
// curve's points. `swath mpi-io` writes what `swath calibrate` measured so.
#pragma once

#include <string>
#include <string_view>

#include "plan/profile.h"

namespace swath {

std::string profile_text(const Profile& profile);
// What is not named has its stated default. Throws Error{kFormat} naming the line that is none.
Profile parse_profile(std::string_view text);

}  // namespace swath
