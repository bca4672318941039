// The number of this process' operations in the background, so that nobody asks each of a thousand arrays.
#pragma once

namespace swath {

// False if no array of this process has an operation in the background (BackgroundQueue) that is not done.
bool may_have_background_jobs();

}  // namespace swath
