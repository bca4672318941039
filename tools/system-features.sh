#!/usr/bin/env bash
# Prints, one line each, which optional headers and libraries for a build of Swath the system has. When this
# output changes, Swath is built again (Makefile). CXX names the compiler.
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
  # The compiler prints the path of a library that it finds, and the bare name of one that it does not find.
  case $("$CXX" -print-file-name="lib$library.so") in
    /*) echo "library $library: found" ;;
    *) echo "library $library: missing" ;;
  esac
done
