// The disks of the paper as parameters: Seelam, Kerstens, Teller, "Throttling I/O Streams to Accelerate File-IO
// Performance" (2007), table 2 and tables 6 to 8. They are models: their results are not measurements of those
// machines, and all output says "modelled disk".
#pragma once

#include <string>
#include <vector>

#include "model/disk.h"

namespace swath {

const std::vector<DiskParameters>& disk_presets();

// Throws kArgument that lists the known names.
const DiskParameters& disk_preset(const std::string& name);

}  // namespace swath
