"""`swath bench layout`: advice beside measured layouts, on modelled disks in virtual time."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from swath.bench import layout
from swath.bench.__main__ import measured
from swath.errors import ArgumentError


def test_advice_is_set_beside_at_least_ten_measured_layouts_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "files"
    folder.mkdir()
    result = measured("layout", layout.Options(bytes=1 << 19, disks=("p690-scsi",), mixes=1), str(folder))
    (cell,) = result["cells"]
    assert len(cell["measured"]) >= 10
    assert all(one["seconds"] > 0 for one in cell["measured"])
    (row,) = result["summary"]["rows"]
    assert 1 <= row["advised"] < row["C order"]
    assert list(folder.iterdir()) == []
    shown = io.StringIO()
    layout.show(Console(file=shown, width=120), result)
    assert "[i, :]" in shown.getvalue()


def test_there_are_twenty_mixes() -> None:
    assert len(layout.MIXES) == len(set(layout.MIXES)) == 20
    for mixes in (0, 21):
        with pytest.raises(ArgumentError):
            layout.Options(mixes=mixes)
