// Converts exceptions, which must not leave C functions, to the returned error kind and the thread's last message.
#pragma once

#include <exception>
#include <new>

#include "base/error.h"

namespace swath::c_interface {

// Stores the thread's last error, and returns its kind.
int remember(const Error& error) noexcept;

template <typename Work>
int guarded(const Work& work) noexcept {
  try {
    work();
    return 0;
  } catch (const Error& error) {
    return remember(error);
  } catch (const std::bad_alloc&) {
    return remember(Error(ErrorKind::kStore, "out of memory", 12));
  } catch (const std::exception& error) {
    return remember(Error(ErrorKind::kInternal, error.what()));
  }
}

}  // namespace swath::c_interface
