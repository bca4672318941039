// Access to the C library's functions, which this library's functions of the same names hide.
#pragma once

#include <dlfcn.h>

namespace swath::posix_trace {

template <typename Function>
Function* real_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace swath::posix_trace

// The next function of this name in the symbol search order; found once.
#define SWATH_REAL(name)                                                                                             \
  ([] {                                                                                                              \
    static auto* const found = ::swath::posix_trace::real_function<std::remove_pointer_t<decltype(&::name)>>(#name); \
    return found;                                                                                                    \
  }())

#define SWATH_CALLER __builtin_return_address(0)
#define SWATH_EXPORT extern "C" __attribute__((visibility("default")))
