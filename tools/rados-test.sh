#!/usr/bin/env bash
# Runs the tests of files in Ceph pools, against a separate cluster (tools/ceph.sh): once in memory, once on bluestore.
# RADOS_STORES="memstore" leaves bluestore out.
# Usage: rados-test.sh BUILD_FOLDER [pytest's arguments]. Without Ceph it says so and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."

BUILD=$1
shift
if ! command -v ceph-osd >/dev/null || ! command -v ceph-mon >/dev/null || ! command -v rados >/dev/null; then
  echo "tests of files in Ceph pools: SKIPPED (Ceph is not installed: make rados-packages)"
  exit 0
fi
# Daemons run as nobody, so the folder must not be accessible to root alone.
FOLDER=$(mktemp -d /tmp/swath-ceph.XXXXXX)
chmod 755 "$FOLDER"
trap 'tools/ceph.sh stop "$FOLDER/cluster" || true; rm -rf "$FOLDER"' EXIT

TESTS=(tests/store/test_rados*.py benchmarks/tests/test_rados*.py)
for store in ${RADOS_STORES:-memstore bluestore}; do
  echo "=== $store"
  CEPH_STORE=$store CEPH_CLASSES=$PWD/$BUILD/core tools/ceph.sh start "$FOLDER/cluster" >/dev/null
  export SWATH_TEST_CEPH_CONF=$FOLDER/cluster/ceph.conf
  ctest --test-dir "$BUILD" -R Rados --output-on-failure -j2 --no-tests=error --quiet -O "$FOLDER/ctest.log" ||
    { cat "$FOLDER/ctest.log"; exit 1; }
  grep -E 'tests passed|tests failed' "$FOLDER/ctest.log"
  pytest -q "${TESTS[@]}" "$@"
  TESTS=(tests/store/test_rados.py tests/store/test_rados_counts.py)  # tests of failures use a separate bluestore
  tools/ceph.sh stop "$FOLDER/cluster"
done
