"""Names are the field's: words that only this project used are in no name any more."""

from __future__ import annotations

import re

import pytest

from tree import ROOT

SOURCES = ("core", "bindings", "include", "python")

RENAMED = {
    "KnownShares": "ShareCache",
    "known_shares": "share_cache",
    "RankHints": "RankInputs",
    "own_hints": "own_inputs",
    "is_told": "is_gathered",
    "with_told": "with_gathered",
    "told_by": "share_bytes_of",
    "told_key": "gathered_key",
    "set_meanwhile": "set_progress_hook",
    "has_meanwhile": "has_progress_hook",
    "do_meanwhile": "run_progress_hook",
    "wait_meanwhile": "wait_with_progress",
    "_let_go": "_cancel, _release",
    "let_go_of_finished": "release_finished",
    "let_go_of_file": "release_file",
    "Beside": "BackgroundQueue",
    "OperationsBeside": "AsyncOperations",
    "may_go_beside": "may_run_in_background",
    "goes_beside_ranks": "ranks_allow_background",
    "may_be_called_beside": "may_be_called_in_background",
    "comm_beside": "background_comm",
    "start_beside": "start_in_background",
    "stream_beside": "second_stream",
    "kBeside": "kConcurrent",
    "Companions": "ExecuteOptions",
    "companions": "execute_options",
    "_become": "_set_pieces",
    "_shut": "_stop_arrays",
    "settle": "checkpoint, drop_replaced, complete, finish_attempt, start_holding",
    "settled": "checkpoint",
    "SettledState": "CheckpointState",
    "SettledFile": "CheckpointFile",
    "Unsettled": "SinceCheckpoint",
    "is_settled": "is_conclusive",
    "ChunkPlaces": "ChunkAllocator",
    "GatePlace": "GateReservation",
    "RecordPlace": "RecordPosition",
    "StridedPlaces": "StridedLayout",
    "ChunkPlacesInFile": "ChunkedLayout",
    "TiledPlaces": "TiledLayout",
    "CodedPlaces": "CodedLayout",
    "LibraryPlaces": "LibraryLayout",
    "pools_new": "new_in_store",
    "crowd": "unlimited_streams",
    "kCompany": "kConcurrencyKept",
    "kPatience": "kTooFewMost, kWaitMost",
    "champion": "reference_rung",
    "deaf": "no_interrupts",
}
MODULES_RENAMED = {
    "core/array/conditions.h": "core/array/agreed_inputs.h",
    "core/array/known_shares.h": "core/array/share_cache.h",
    "core/base/meanwhile.h": "core/base/progress_hook.h",
    "core/array/beside.h": "core/array/background_queue.h",
    "core/journal/settled_state.h": "core/journal/checkpoint_state.h",
    "python/swath/array/beside.py": "python/swath/array/async_operations.py",
    "python/swath/copying/sides.py": "python/swath/copying/copy_layout.py",
    "python/swath/formats/pools.py": "python/swath/base/stored_path.py",
    "python/swath/xarray/there.py": "python/swath/xarray/existing_variables.py",
}


def names_in(source: str) -> set[str]:
    return set(re.findall(r"\b[A-Za-z_]\w*\b", source))


def test_names_are_found() -> None:
    assert names_in("KnownShares known; own.told_by(2)") == {"KnownShares", "known", "own", "told_by"}
    assert "told_by" not in names_in("retold_by told_bytes")


@pytest.mark.parametrize("folder", SOURCES)
def test_no_old_word_is_left(folder: str) -> None:
    sources = [path for path in (ROOT / folder).rglob("*") if path.suffix in (".h", ".cc", ".c", ".py", ".pyi")]
    assert sources
    for path in sources:
        left = names_in(path.read_text(encoding="utf-8", errors="surrogateescape")) & RENAMED.keys()
        assert {old: RENAMED[old] for old in left} == {}, path.relative_to(ROOT)
