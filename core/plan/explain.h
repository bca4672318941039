// A plan in words: what will be done, the cost by every method, the chosen method and the reason.
#pragma once

#include <string>

#include "plan/chunk_plan.h"
#include "plan/make_plan.h"

namespace swath {

// `title` names the array ("float32 (18, 432, 864) in sst.nc"). At most `ranks_shown` ranks get a line each.
std::string explain(const Plan& plan, const std::string& title, int ranks_shown = 16);

// The same of coded chunks; `layout` in words: "chunks of 16 by 15, zstd".
std::string explain(const ChunkPlan& plan, const std::string& title, const std::string& layout, int ranks_shown = 16);

}  // namespace swath
