#pragma once

namespace swath {

enum class Direction { kRead, kWrite };

}  // namespace swath
