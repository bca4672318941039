// The number of this process' operations in the background: a file of thousands of arrays need not check each one.
#pragma once

namespace swath {

// False if no array of this process has an operation in the background (BackgroundQueue) that is not done.
bool may_have_background_jobs();

}  // namespace swath
