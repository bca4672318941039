"""`swath bench layout`: advice beside measured layouts, on modelled disks in virtual time."""

from __future__ import annotations

import io
import math
import os
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from swath.bench import layout
from swath.bench.__main__ import measured
from swath.errors import ArgumentError
from swath.store import profile


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


def test_files_are_opened_by_the_profile_that_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And by no other disk's state: each file has a disk of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SWATH_PROFILE", "none")
    opened: list[tuple[str, str]] = []
    really = layout._seconds_of

    def seen(access: Any, path: str, how: Any, engine: str) -> float:
        found = profile.for_path(path, engine)
        opened.append((engine, "" if found is None else found.core.source))
        return really(access, path, how, engine)

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


@pytest.mark.slow
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
