#!/usr/bin/env bash
# Runs pytest with the given arguments. On a busy machine a test may fail because it waited too long for a disk, a
# program or its ranks: if at most three failed, they are named and run once more, alone. A second failure counts.
set -uo pipefail

CACHE=build/pytest-cache
RERUN_MAX=3
TESTS_FAILED=1  # pytest's status if tests failed, and nothing else went wrong

pytest --cache-clear -o cache_dir="$CACHE" "$@"
status=$?
((status == TESTS_FAILED)) || exit "$status"

mapfile -t failed < <(python -c 'import json, sys; print(*json.load(open(sys.argv[1])), sep="\n")' "$CACHE/v/cache/lastfailed")
((${#failed[@]} <= RERUN_MAX)) || exit "$status"
echo "=== once more, alone: ${failed[*]}"
pytest -o cache_dir="$CACHE" -q -n 0 -ra "${failed[@]}" || exit
echo "=== failed first, and passed alone: ${failed[*]}"
