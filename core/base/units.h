// Numbers as text for people.
#pragma once

#include <cstdint>
#include <string>

namespace swath {

std::string with_commas(int64_t value);  // 1,048,576
// 512 B, 4.0 KiB, 1.5 MiB ...
std::string in_bytes(int64_t bytes);
// 850 ns, 12.3 us, 4.56 ms, 1.20 s: three digits.
std::string in_seconds(double seconds);

}  // namespace swath
