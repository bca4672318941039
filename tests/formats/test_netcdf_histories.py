"""Files of random histories, written by netCDF's library and by Swath in turns: each reads the data of both.

SWATH_HISTORIES=N runs N of each kind, from the seed SWATH_FIRST_HISTORY on.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from netcdf_histories import History
from swath_histories import FORMATS, BegunBySwath

FIRST = int(os.environ.get("SWATH_FIRST_HISTORY", "0"))
HISTORIES = range(FIRST, FIRST + int(os.environ.get("SWATH_HISTORIES", "4")))


@pytest.mark.parametrize("kind", ["netcdf4", "netcdf3_64bit_data", "netcdf3_classic"])
@pytest.mark.parametrize("case", HISTORIES)
def test_what_netcdf_and_swath_write_in_turns_is_what_netcdf_alone_would_have_written(
    tmp_path: Path, kind: str, case: int
) -> None:
    history = History(tmp_path, case, kind)
    history.begin()
    history.write_by_netcdf()
    history.check()
    for turn in range(3):
        if turn % 2:
            history.write_by_netcdf()
        else:
            history.change_by_swath(1 + (case + turn) % 5)
        history.check()
    history.check_copies(tmp_path)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("case", HISTORIES)
def test_a_file_that_swath_begins_is_for_netcdf_as_if_it_had_made_it_itself(
    tmp_path: Path, kind: str, case: int
) -> None:
    history = BegunBySwath(tmp_path, case, kind)
    history.begin_by_swath(1 + case % 4)
    history.check()
    for turn in range(4):
        history.go_on(turn, 1 + (case + turn) % 5)
        history.check()
    history.check_copies(tmp_path)
