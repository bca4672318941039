#!/usr/bin/env bash
# Prints which of the system's headers and libraries that Swath can be built with are there, one line each. What was
# built before one of them came is built again when this text has changed (Makefile). CXX names the compiler.
set -euo pipefail

CXX=${CXX:-c++}
HEADERS=(liburing.h rados/objclass.h rados/buffer.h zstd.h blosc.h lz4.h libdeflate.h fuse3/fuse.h
  gtest/gtest.h)
LIBRARIES=(uring zstd blosc lz4 deflate fuse3 gtest)

for header in "${HEADERS[@]}"; do
  printf '#if __has_include(<%s>)\nheader %s: found\n#else\nheader %s: missing\n#endif\n' "$header" "$header" "$header"
done | "$CXX" -E -P -x c++ - | grep '^header '
echo "gfortran: $(command -v gfortran >/dev/null && echo found || echo missing)"
for library in "${LIBRARIES[@]}"; do
  # The compiler prints a path for what it finds, and the bare name for what it does not.
  case $("$CXX" -print-file-name="lib$library.so") in
    /*) echo "library $library: found" ;;
    *) echo "library $library: missing" ;;
  esac
done
