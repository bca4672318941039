// How an existing file is opened, or that a new one is created.
#pragma once

namespace swath {

enum class OpenMode { kRead, kReadWrite, kCreateNew };

}  // namespace swath
