// What an existing file is opened for, or whether there is none yet.
#pragma once

namespace swath {

enum class OpenMode { kRead, kReadWrite, kCreateNew };

}  // namespace swath
