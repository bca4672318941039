"""`swath bench layout`: advice compared with measured layouts, on modelled disks in virtual time."""

from __future__ import annotations

import io
import math
import os
import zlib
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from swath.errors import ArgumentError
from swath.store import profile
from swath_bench import layout
from swath_bench.__main__ import measured


def test_advice_is_set_beside_at_least_ten_measured_layouts_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "files"
    folder.mkdir()
    result = measured("layout", layout.Options(bytes=1 << 20, disks=("p690-scsi",), mixes=1), str(folder))
    (cell,) = result["cells"]
    assert len(cell["measured"]) >= 10
    assert all(one["seconds"] > 0 for one in cell["measured"])
    (row,) = result["summary"]["rows"]
    assert 1 <= row["advised"] < row["C order"]
    assert list(folder.iterdir()) == []
    shown = io.StringIO()
    layout.show(Console(file=shown, width=120), result)
    assert "[i, :]" in shown.getvalue()


@pytest.mark.slow
def test_real_files_are_measured_compressed_ones_too(tmp_path: Path) -> None:
    disks = (layout.HERE, layout.CACHE)
    result = measured("layout", layout.Options(bytes=1 << 19, disks=disks, mixes=2), str(tmp_path))
    assert list(tmp_path.iterdir()) == []
    assert set(result["summary"]["errors"]) == {"here", "here, compressed", "cache", "cache, compressed"}
    coded = [one for cell in result["cells"] for one in cell["measured"] if one["is_coded"]]
    assert coded
    assert all(one["seconds"] > 0 and one["predicted"] > 0 for one in coded)
    values = layout.values_of((300, 400))
    assert 2 < values.nbytes / len(zlib.compress(values.tobytes())) < 10
    shown = io.StringIO()
    layout.show(Console(file=shown, width=120), result)
    assert "here, compressed: predicted beside measured seconds, median error" in shown.getvalue()


def test_files_are_opened_by_the_profile_that_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other disk's state is used: each file has a separate disk."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SWATH_PROFILE", "none")
    opened: list[tuple[str, str]] = []
    really = layout._seconds_of

    def seen(access: Any, path: str, how: Any, conditions: Any) -> float:
        found = profile.for_path(path, conditions.engine)
        opened.append((conditions.engine, "" if found is None else found.core.source))
        return really(access, path, how, conditions)

    monkeypatch.setattr(layout, "_seconds_of", seen)
    layout.measure(layout.Options(bytes=1 << 19, disks=("p690-scsi",), mixes=4), str(tmp_path), lambda _: None)
    engines = {engine for engine, _ in opened}
    assert len(engines) >= 4 * 10
    assert all(source.startswith("measured on the modelled disk p690-scsi") for _, source in opened)
    assert os.environ["SWATH_PROFILE"] == "none"
    assert os.environ["XDG_CACHE_HOME"] == str(tmp_path / "cache")


def test_a_peer_that_is_not_to_be_had_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout.Environments, "get", lambda self, name: "no network")
    options = layout.Options(bytes=1 << 19, disks=("p690-scsi",), mixes=1, peers=layout.PEERS)
    result = layout.measure(options, str(tmp_path), lambda _: None)
    assert result["refused"] == {"dynamic-chunks": "no network"}
    result.update(summary=layout.summarise(result), options={"bytes": 1 << 19})
    shown = io.StringIO()
    layout.show(Console(file=shown, width=120), result)
    assert "dynamic-chunks: no network" in shown.getvalue()
    with pytest.raises(ArgumentError, match="dynamic-chunks"):
        layout.Options(peers=("guess",))


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
def test_dynamic_chunks_gives_chunks_of_about_the_size_that_it_is_asked_for(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    found = layout.chunks_of_peer("dynamic-chunks", [(1024, 2048), (203, 203, 203)], str(tmp_path))
    if isinstance(found, str):
        pytest.skip(found)
    for shape, chunks in found.items():
        assert all(1 <= c <= n for c, n in zip(chunks, shape, strict=True))
        assert layout.CHUNK_BYTES / 2 <= math.prod(chunks) * 8 <= layout.CHUNK_BYTES * 3 / 2


def test_there_are_twenty_mixes() -> None:
    assert len(layout.MIXES) == len(set(layout.MIXES)) == 20
    for mixes in (0, 21):
        with pytest.raises(ArgumentError):
            layout.Options(mixes=mixes)
