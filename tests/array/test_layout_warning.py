"""The warning about a slow layout: once, with the factor, on one rank, and only if a program waits long."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath.calibration.modelled import calibrate_modelled
from swath.simulated import run_ranks

COLUMNS = (1024, 2048)
ENGINE = "model:p690-scsi"


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a file whose columns take seconds on a slow, simulated disk."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SWATH_PROFILE", raising=False)
    calibrate_modelled(ENGINE, str(tmp_path)).save()
    np.save(tmp_path / "a.npy", np.zeros(COLUMNS, "f8"))
    return tmp_path / "a.npy"


def warned(path: Path, reads: int, ranks: int, rules: tuple[Any, Any]) -> list[warnings.WarningMessage]:
    """Return the warnings of this many reads by all ranks, on a modelled disk in simulated time."""
    distribution = swath.Distribution(rules, swath.balanced_grid(rules, ranks))

    def work(comm: Any) -> None:
        with swath.open(path, comm=comm, engine=ENGINE) as a:
            for _ in range(reads):
                a.read(distribution, method="direct")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run_ranks(ranks, work)
    return [one for one in caught if issubclass(one.category, swath.LayoutWarning)]


def test_columns_of_a_c_ordered_file_warn_once_with_the_factor(slow: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swath.array.layout_warning.SECONDS_MIN", 0.0)
    (one,) = warned(slow, 2, 2, (swath.Whole(), swath.Cyclic(256)))
    text = str(one.message)
    assert "C order" in text
    assert " x)" in text
    assert "advise_layout" in text
    assert one.filename == __file__


@pytest.mark.parametrize("rules", [(swath.Block(), swath.Whole())])
def test_a_conforming_distribution_warns_of_nothing(slow: Path, rules: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swath.array.layout_warning.SECONDS_MIN", 0.0)
    assert warned(slow, 1, 2, rules) == []


def test_a_variable_turns_it_off(slow: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swath.array.layout_warning.SECONDS_MIN", 0.0)
    monkeypatch.setenv("SWATH_LAYOUT_WARNING", "0")
    assert warned(slow, 1, 2, (swath.Whole(), swath.Cyclic(256))) == []


def test_what_is_read_in_no_time_is_not_looked_at(slow: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Any] = []
    monkeypatch.setattr("swath.array.layout_warning.warn_of", lambda *given: looked.append(given))
    with swath.open(slow) as a:
        a[:, 7]
    assert looked == []


@pytest.fixture
def coded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An array in compressed chunks of 64 by 64."""
    monkeypatch.setattr("swath.array.layout_warning.SECONDS_MIN", 0.0)
    with swath.create(tmp_path / "a.zarr", (256, 256), "f8", chunks=(64, 64)) as a:
        a.write(np.zeros((256, 256)))
    return tmp_path / "a.zarr"


def of_chunks(path: Path, work: Any, **how: Any) -> list[str]:
    """Return the warnings of work on the array by the ranks."""

    def on_rank(comm: Any) -> None:
        with swath.open(path, comm=comm) as a:
            work(a)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run_ranks(4, on_rank, **how)
    return [str(one.message) for one in caught if issubclass(one.category, swath.LayoutWarning)]


def test_chunks_that_every_rank_decodes_warn_once_where_they_share_no_memory(coded: Path) -> None:
    columns = swath.Distribution((swath.Whole(), swath.Cyclic(1)), (1, 4))

    def read_twice(a: swath.Array) -> None:
        a.read(columns)
        a.read(columns)

    (text,) = of_chunks(coded, read_twice, shared_memory=False)
    assert "(4 x)" in text
    assert "each chunk 4.0 times" in text
    assert "advise_layout" in text
    assert of_chunks(coded, read_twice) == [], "on one node each is decoded once"


def test_chunks_that_are_decoded_for_few_of_their_elements_warn_with_the_factor(coded: Path) -> None:
    rows = swath.Distribution((swath.Block(),), (4,))
    (text,) = of_chunks(coded, lambda a: a.read(rows, selection=np.s_[:, 7]))
    assert "(64 x)" in text
    assert "each chunk 1.0 times" in text


@pytest.mark.parametrize("selection", [np.s_[:], np.s_[:, 64:128], np.s_[:, ::2]])
def test_chunks_that_are_mostly_wanted_warn_of_nothing(coded: Path, selection: Any) -> None:
    blocks = swath.Distribution((swath.Block(), swath.Whole()), (4, 1))
    assert of_chunks(coded, lambda a: a.read(blocks, selection=selection), shared_memory=False) == []


def test_chunks_that_are_not_compressed_warn_of_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swath.array.layout_warning.SECONDS_MIN", 0.0)
    with swath.create(tmp_path / "a.zarr", (256, 256), "f8", chunks=(64, 64), codecs=[]) as a:
        a.write(np.zeros((256, 256)))
    rows = swath.Distribution((swath.Block(),), (4,))
    assert of_chunks(tmp_path / "a.zarr", lambda a: a.read(rows, selection=np.s_[:, 7])) == []
