#!/usr/bin/env bash
# Looks for the system packages of a build, and installs missing ones by apt-get if that is allowed (root, or
# sudo without a password). It prints a line for each package that is still missing, with its replacement.
# Usage: system-packages.sh PYTHON [for-developers|for-benchmarks]. It fails only if a missing package has no replacement.
set -uo pipefail

PYTHON=${1:-python3}
WHOM=${2:-for-users}
CXX=${CXX:-c++}

has_compiler() { command -v "$CXX" >/dev/null; }
has_header() { echo "#include <$1>" | "$CXX" -std=c++20 -E -x c++ - >/dev/null 2>&1; }
has_fuse() { [[ -n $(find /usr/include /usr/local/include -path '*fuse3/fuse.h' 2>/dev/null) ]]; }
has_venv() { "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null; }
has_python_headers() {
  "$PYTHON" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'
}
# Python's own packages serve only a Python that came from them.
from_system() { [[ $(readlink -f "$(command -v "$PYTHON")") == /usr/bin/* ]]; }

# What tests of programs in C and Fortran use beside: compilers, the MPIs of Debian, who else reads netCDF.
look_for_developers() {
  command -v gfortran >/dev/null || missing+=(gfortran)
  command -v mpicc.mpich >/dev/null || missing+=(mpich libmpich-dev)
  command -v mpicc.openmpi >/dev/null || missing+=(openmpi-bin libopenmpi-dev)
  command -v nf-config >/dev/null || missing+=(libnetcdff-dev)
  command -v ncdump >/dev/null || missing+=(netcdf-bin)
  command -v valgrind >/dev/null || missing+=(valgrind)
}

# The peers of `swath bench simulation`, libraries that programs of C write files with, and of `swath bench smpi`.
look_for_peers() {
  has_header netcdf.h || missing+=(libnetcdf-dev)
  pkg-config --exists pnetcdf || missing+=(libpnetcdf-dev)
  pkg-config --exists hdf5-mpich || missing+=(libhdf5-mpich-dev)
  pkg-config --exists hdf5-openmpi || missing+=(libhdf5-openmpi-dev)
  command -v smpirun >/dev/null || missing+=(libsimgrid-dev)
}

missing=()
look() {
  missing=()
  has_compiler || missing+=(g++)
  has_venv || { from_system && missing+=(python3-venv); }
  has_python_headers || { from_system && missing+=(python3-dev); }
  has_header liburing.h || missing+=(liburing-dev)
  has_header gtest/gtest.h || missing+=(libgtest-dev)
  command -v pkg-config >/dev/null || missing+=(pkg-config)
  has_fuse || missing+=(libfuse3-dev)
  has_header zstd.h || missing+=(libzstd-dev)
  has_header blosc.h || missing+=(libblosc-dev)
  has_header lz4.h || missing+=(liblz4-dev)
  has_header libdeflate.h || missing+=(libdeflate-dev)
  has_header nlohmann/json.hpp || missing+=(nlohmann-json3-dev)
  has_header utf8proc.h || missing+=(libutf8proc-dev)
  command -v h5dump >/dev/null || missing+=(hdf5-tools)
  [[ $WHOM == for-users ]] || look_for_developers
  [[ $WHOM != for-benchmarks ]] || look_for_peers
  command -v ccache >/dev/null || missing+=(ccache)
}

as_root=()
may_install() {
  command -v apt-get >/dev/null || return 1
  [[ $(id -u) == 0 ]] && return 0
  as_root=(sudo -n)
  command -v sudo >/dev/null && sudo -n true 2>/dev/null
}

if ! command -v "$PYTHON" >/dev/null; then
  echo "setup: $PYTHON not found: install Python 3.10 or newer, or say 'make PYTHON=/path/to/python3 setup'" >&2
  exit 1
fi

look
if ((${#missing[@]})) && may_install; then
  echo "setup: installing ${missing[*]} by apt-get"
  install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=60)
  # The package lists may be absent or old: refresh them only when the first try fails.
  "${install[@]}" install "${missing[@]}" >/dev/null 2>&1 ||
    { "${install[@]}" update && "${install[@]}" install "${missing[@]}"; } >/dev/null 2>&1 ||
    echo "setup: apt-get could not install them; going on without"
  look
fi

failed=0
for package in "${missing[@]}"; do
  case $package in
    liburing-dev) echo "setup: liburing-dev is missing: no io_uring engine, posix carries the bytes" ;;
    libzstd-dev | libblosc-dev | liblz4-dev)
      echo "setup: $package is missing: Zarr arrays with that codec will be refused" ;;
    libdeflate-dev)
      echo "setup: $package is missing: Zarr's gzip is refused, HDF5's goes through h5py, one chunk at a time" ;;
    hdf5-tools) echo "setup: hdf5-tools is missing: the test that asks h5dump will be skipped" ;;
    gfortran) echo "setup: gfortran is missing: the Fortran module is not built, its tests will be skipped" ;;
    libpnetcdf-dev | libhdf5-*-dev | libnetcdf-dev)
      echo "setup: $package is missing: swath bench simulation leaves out the peers that need it" ;;
    libsimgrid-dev) echo "setup: libsimgrid-dev is missing: swath bench smpi compares nothing" ;;
    *mpi* | libnetcdff-dev | netcdf-bin | valgrind) echo "setup: $package is missing: the tests that use it will be skipped" ;;
    ccache) echo "setup: ccache is missing: every checkout compiles all of its sources" ;;
    libgtest-dev) echo "setup: libgtest-dev is missing: the C++ unit tests will be reported as skipped" ;;
    libfuse3-dev | pkg-config) echo "setup: $package is missing: no swath-modelled-disk, its tests will be skipped" ;;
    *) echo "setup: $package is missing and nothing can take its place: install it" >&2 && failed=1 ;;
  esac
done
exit $failed
