"""Transforms of arrays in files equal scipy.fft's of arrays in memory, within the budget, with no half results."""

from __future__ import annotations

import itertools
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.fft

import swath
from mpi_runs import run_well
from swath.fft.passes import largest_prime_factor
from swath.simulated import run_ranks

MIB = 1 << 20
NAMES = ("fftn", "ifftn", "rfftn", "irfftn")
DTYPES = ("<f8", ">f8", "<f4", ">f4", "<c8", ">c8", "<c16", ">c16", "<i4", ">i2", "u1", "f2", "?")
SOURCES = (".npy", ".raw", ".h5", ".nc3", ".zarr", " of chunks.h5", " coded.h5", " coded.zarr")
TARGETS = (".npy", ".npy", ".npy", ".h5", " of chunks.h5", " coded.h5", ".zarr", " coded.zarr", ".raw", ".nc3")


def values_of(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    dice = np.random.default_rng(seed)
    values = dice.standard_normal(shape) * 8
    if np.dtype(dtype).kind == "c":
        values = values + 1j * dice.standard_normal(shape)
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype)


def same(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    if expected.size:
        rounding = np.finfo(expected.dtype).eps if expected.dtype.kind in "fc" else 0
        assert np.abs(found - expected).max() <= 50 * rounding * max(np.abs(expected).max(), 1)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def random_case(dice: random.Random) -> tuple[str, np.ndarray, dict[str, Any], dict[str, Any]]:
    """Return a transform's name, the array, the transform's arguments, and the target's."""
    name = dice.choice(NAMES)
    ndim = dice.randint(1, 4)
    longest = {1: 300, 2: 40, 3: 14, 4: 7}[ndim]
    shape = tuple(dice.choice([1, 2, 3, dice.randint(1, longest)]) for _ in range(ndim))
    dtype = dice.choice([one for one in DTYPES if name != "rfftn" or np.dtype(one).kind != "c"])
    axes = dice.sample(range(-ndim, 0), dice.randint(1, ndim))
    axes = [axis + ndim if dice.random() < 0.5 else axis for axis in axes]
    if name == "irfftn" and shape[axes[-1]] == 1:
        shape = tuple(5 if d == axes[-1] % ndim else n for d, n in enumerate(shape))
    how: dict[str, Any] = {"norm": dice.choice([None, "backward", "ortho", "forward"])}
    if dice.random() < 0.8:
        how["axes"] = axes
        if dice.random() < 0.3:
            how["s"] = [dice.randint(1, longest + 5) for _ in axes]
    elif name == "irfftn" and shape[-1] == 1:
        how["axes"] = axes
    return name, values_of(shape, dtype, dice.randrange(1000)), how, {"order": dice.choice(["C", "F", "fast"])}


def chunks_for(dice: random.Random, kind: str, shape: tuple[int, ...]) -> dict[str, Any]:
    """Arguments of `swath.create` and of transforms for a kind of file."""
    how: dict[str, Any] = {}
    if kind.endswith((".h5", ".nc3")):
        how["variable"] = "x"
    if "chunks" in kind or "coded" in kind or kind.endswith(".zarr"):
        how["chunks"] = tuple(dice.randint(1, n) for n in shape)
        coded = "zlib" if kind.endswith(".h5") else "zstd"
        how["codecs"] = coded if "coded" in kind else []
    return how


def stored(folder: Path, dice: random.Random, values: np.ndarray) -> tuple[Any, Any]:
    """Store the array in a file of some format and order; return its path, or the open array; and the array again."""
    kind = dice.choice(SOURCES)
    if values.dtype.kind not in "fiu" or values.dtype.itemsize < 4 or values.dtype.str == ">f4":
        kind = dice.choice((".npy", ".raw"))
    path = folder / f"a{kind}"
    order: Any = dice.choice(["C", "F"])
    if kind == ".npy":
        np.save(path, np.asarray(values, order=order))
        return path, None
    if kind == ".raw":
        order = dice.sample(range(values.ndim), values.ndim)
        np.ascontiguousarray(values.transpose(order)).tofile(path)
        array = swath.open(path, shape=values.shape, dtype=values.dtype, order=tuple(order))
        return array, array
    if kind == ".nc3":
        values = values.astype(values.dtype.newbyteorder(">"))
    with swath.create(path, values.shape, values.dtype, **chunks_for(dice, kind, values.shape)) as a:
        a.write(values)
    return path, None


def check_case(folder: Path, seed: int) -> int:
    """Check one random case on 1 to 4 ranks; return the number of passes."""
    dice = random.Random(seed)
    name, values, arguments, target = random_case(dice)
    expected = getattr(scipy.fft, name)(values, **arguments)
    folder = folder / str(seed)
    folder.mkdir()
    source, opened = stored(folder, dice, values)
    kind = dice.choice(TARGETS)
    if kind == ".nc3" and expected.dtype.kind == "c":
        kind = ".npy"
    made = folder / f"b{kind}"
    if kind not in (".npy", ".raw"):
        target = chunks_for(dice, kind, expected.shape)
        if "variable" in target:
            target["target_variable"] = target.pop("variable")
    if kind == ".raw":
        target = {"order": "F"}
    before = names(folder)
    ranks = dice.randint(1, 4)
    memory = dice.choice([20_000_000, 300_000, 1_000])
    try:
        swath.explain_fft(source, made, transform=name, memory=memory, **arguments, **target)
    except swath.ArgumentError as refused:
        memory = int(str(refused).split("give at least ")[1].split()[0])
    told = run_ranks(
        ranks,
        lambda comm: getattr(swath, name)(source, made, memory=memory, comm=comm, **arguments, **target),
        seed=seed,
    )
    if opened is not None:
        opened.close()
    described = {} if kind != ".raw" else {"shape": expected.shape, "dtype": expected.dtype, "order": "F"}
    with swath.open(made, **described) as b:
        same(b[...].astype(b.dtype.newbyteorder("=")), expected)
    assert told[0].plan.memory_bytes <= memory
    assert names(folder) == before | {made.name}
    return len(told[0].plan.passes)


@pytest.mark.parametrize("part", range(4))
def test_random_transforms_are_those_of_scipy(tmp_path: Path, part: int) -> None:
    passes = [check_case(tmp_path, seed) for seed in range(part * 60, part * 60 + 60)]
    assert len(set(passes)) > 1, "all were of as many passes"


@pytest.mark.exhaustive
def test_more_random_transforms_are_those_of_scipy(tmp_path: Path) -> None:
    begin = time.monotonic()
    for seed in itertools.count(1000):
        check_case(tmp_path, seed)
        if time.monotonic() - begin > 30:
            break


@pytest.mark.parametrize("dtype", DTYPES)
def test_precision_is_that_of_scipy(tmp_path: Path, dtype: str) -> None:
    values = values_of((30, 21), dtype)
    np.save(tmp_path / "a.npy", values)
    swath.fft2(tmp_path / "a.npy", tmp_path / "b.npy", memory=30_000)
    same(np.load(tmp_path / "b.npy"), scipy.fft.fft2(values))


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2"])
def test_two_axes_are_the_last_ones(tmp_path: Path, name: str) -> None:
    values = values_of((3, 20, 31), "<f4")
    np.save(tmp_path / "a.npy", values)
    getattr(swath, name)(tmp_path / "a.npy", tmp_path / "b.npy", memory=30_000, norm="ortho")
    same(np.load(tmp_path / "b.npy"), getattr(scipy.fft, name)(values, norm="ortho"))


@pytest.mark.parametrize(("there", "back"), [("fftn", "ifftn"), ("rfftn", "irfftn")])
@pytest.mark.parametrize("length", [30, 31])
def test_an_inverse_gives_the_array_again(tmp_path: Path, there: str, back: str, length: int) -> None:
    values = values_of((37, 4, length), "<f8")
    np.save(tmp_path / "a.npy", values)
    getattr(swath, there)(tmp_path / "a.npy", tmp_path / "b.npy", memory=60_000)
    getattr(swath, back)(tmp_path / "b.npy", tmp_path / "c.npy", values.shape, memory=60_000)
    np.testing.assert_allclose(np.load(tmp_path / "c.npy"), values, atol=1e-12)


def test_no_axes_give_the_array_as_scipy_does(tmp_path: Path) -> None:
    values = values_of((30, 20), "<i4")
    np.save(tmp_path / "a.npy", values)
    swath.fftn(tmp_path / "a.npy", tmp_path / "b.npy", axes=(), order="F", memory=8_000)
    same(np.load(tmp_path / "b.npy"), scipy.fft.fftn(values, axes=()))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("shape", "axes"), [((0, 8), None), ((8, 0), (1,)), ((0, 0), (0,))])
def test_a_length_without_elements_is_refused_as_by_scipy(
    tmp_path: Path, name: str, shape: tuple[int, int], axes: Any
) -> None:
    np.save(tmp_path / "a.npy", np.zeros(shape))
    with pytest.raises(ValueError, match=r"[Ii]nvalid number of data points"):
        getattr(scipy.fft, name)(np.zeros(shape), axes=axes)
    with pytest.raises(swath.ArgumentError, match="at least 1"):
        getattr(swath, name)(tmp_path / "a.npy", tmp_path / "b.npy", axes=axes)
    assert names(tmp_path) == {"a.npy"}


def test_an_array_without_elements_stays_one(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((0, 8)))
    swath.fftn(tmp_path / "a.npy", tmp_path / "b.npy", axes=(1,))
    same(np.load(tmp_path / "b.npy"), scipy.fft.fftn(np.zeros((0, 8)), axes=(1,)))


def test_a_raw_array_that_is_open_is_transformed(tmp_path: Path) -> None:
    values = values_of((40, 30), ">f4")
    values.tofile(tmp_path / "a.raw")
    with swath.open(tmp_path / "a.raw", shape=(40, 30), dtype=">f4") as a:
        swath.fftn(a, tmp_path / "b.npy")
    same(np.load(tmp_path / "b.npy"), scipy.fft.fftn(values))


@pytest.mark.parametrize(
    ("target", "how"),
    [
        ("b.h5", {"target_variable": "spectrum"}),
        ("b.h5", {"target_variable": "spectrum", "chunks": (16, 8)}),
        ("b.h5", {"target_variable": "spectrum", "chunks": (16, 8), "codecs": "zlib"}),
        ("b.zarr", {"chunks": (16, 8)}),
        ("b.zarr", {"chunks": (16, 8), "codecs": []}),
        ("b.zarr", {"chunks": (4, 8), "shards": (16, 16)}),
        ("b.raw", {"order": "F"}),
    ],
)
@pytest.mark.parametrize("ranks", [1, 3])
def test_targets_of_any_format(tmp_path: Path, target: str, how: dict[str, Any], ranks: int) -> None:
    values = values_of((70, 50), "<f8")
    np.save(tmp_path / "a.npy", values)
    made = tmp_path / target
    memory = 900_000 if target == "b.zarr" else 60_000
    told = run_ranks(ranks, lambda comm: swath.fftn(tmp_path / "a.npy", made, memory=memory, comm=comm, **how))
    described = {"shape": (70, 50), "dtype": "<c16", "order": "F"} if target == "b.raw" else {}
    with swath.open(made, **described) as b:
        same(b[...], scipy.fft.fftn(values))
    assert told[0].bytes == 70 * 50 * 16
    assert names(tmp_path) == {"a.npy", target}


def test_a_real_transform_back_into_netcdf_which_is_big_endian(tmp_path: Path) -> None:
    values = values_of((40, 30), "<f8")
    np.save(tmp_path / "a.npy", scipy.fft.rfftn(values))
    swath.irfftn(tmp_path / "a.npy", tmp_path / "b.nc", target_variable="x", memory=30_000)
    with swath.open(tmp_path / "b.nc") as b:
        np.testing.assert_allclose(b[...], values, atol=1e-12)


def test_a_source_in_compressed_chunks(tmp_path: Path) -> None:
    values = values_of((60, 44), "<f4")
    with swath.create(tmp_path / "a.zarr", (60, 44), "<f4", chunks=(7, 9)) as a:
        a.write(values)
    swath.fftn(tmp_path / "a.zarr", tmp_path / "b.npy", memory=100_000)
    same(np.load(tmp_path / "b.npy"), scipy.fft.fftn(values))


@pytest.mark.parametrize(
    ("name", "dtype", "how", "words"),
    [
        ("fftn", "<f8", {"axes": (0, 0)}, "different ones"),
        ("fftn", "<f8", {"axes": (2,)}, "different ones"),
        ("fftn", "<f8", {"s": (4,), "axes": (0, 1)}, "1 lengths, for 2 axes"),
        ("fftn", "<f8", {"s": (0, 4)}, "at least 1"),
        ("fftn", "<f8", {"s": (1, 2, 3)}, "3 lengths, but"),
        ("fftn", "<f8", {"axes": (0.5,)}, "expected integers"),
        ("fftn", "<f8", {"norm": "both"}, "norm 'both'"),
        ("fftn", "S3", {}, "expected numbers"),
        ("rfftn", "<c8", {}, "real numbers"),
        ("rfftn", "<f8", {"axes": ()}, "at least one"),
        ("irfftn", "<c16", {"axes": (0, 1), "s": (4, 0)}, "at least 1"),
        ("fftn", "<f8", {"memory": 2000}, "give at least"),
        ("fftn", "<f8", {"tiles": 3}, "tiles= is none"),
        ("fftn", "<f8", {"threads": 0}, "threads 0"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    tmp_path: Path, name: str, dtype: str, how: dict[str, Any], words: str
) -> None:
    np.save(tmp_path / "a.npy", np.zeros((100, 90), dtype))
    for ranks in (1, 2):
        with pytest.raises(swath.ArgumentError, match=words):
            run_ranks(
                ranks, lambda comm: getattr(swath, name)(tmp_path / "a.npy", tmp_path / "b.npy", comm=comm, **how)
            )
    assert names(tmp_path) == {"a.npy"}


def test_the_memory_that_is_asked_for_is_enough(tmp_path: Path) -> None:
    values = values_of((300, 4099), "<f8")
    np.save(tmp_path / "a.npy", values)
    with pytest.raises(swath.ArgumentError, match="give at least") as refused:
        swath.fftn(tmp_path / "a.npy", tmp_path / "b.npy", memory=100_000)
    enough = int(str(refused.value).split("give at least ")[1].split()[0])
    swath.fftn(tmp_path / "a.npy", tmp_path / "b.npy", memory=enough)
    same(np.load(tmp_path / "b.npy"), scipy.fft.fftn(values))


def test_an_existing_target_stays_unless_it_may_be_replaced(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((8, 8)))
    (tmp_path / "b.npy").write_text("old")
    with pytest.raises(swath.ExistsError):
        swath.fftn(tmp_path / "a.npy", tmp_path / "b.npy")
    assert (tmp_path / "b.npy").read_text() == "old"
    swath.fftn(tmp_path / "a.npy", tmp_path / "b.npy", overwrite=True)
    same(np.load(tmp_path / "b.npy"), scipy.fft.fftn(np.ones((8, 8))))


def test_a_file_may_be_replaced_by_its_own_transform(tmp_path: Path) -> None:
    values = values_of((50, 40), "<c16")
    np.save(tmp_path / "a.npy", values)
    swath.fftn(tmp_path / "a.npy", tmp_path / "a.npy", overwrite=True, memory=60_000)
    same(np.load(tmp_path / "a.npy"), scipy.fft.fftn(values))


def test_ranks_that_ask_for_different_transforms_all_hear_of_it(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((8, 8)))
    with pytest.raises(swath.DisagreementError, match="norm"):
        run_ranks(
            2,
            lambda comm: swath.fftn(
                tmp_path / "a.npy", tmp_path / "b.npy", norm=["ortho", "forward"][comm.rank], comm=comm
            ),
        )
    assert names(tmp_path) == {"a.npy"}


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("at", ["read", "write"])
def test_a_fault_reaches_the_caller_once_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranks: int, at: str
) -> None:
    from swath.fft.panels import Opened

    np.save(tmp_path / "a.npy", np.ones((60, 50)))
    original, calls = getattr(Opened, at), itertools.count()

    def failing(self: Opened, *arguments: Any) -> Any:
        if next(calls) == 7:
            raise swath.StoreError("the disk is gone", 5)
        return original(self, *arguments)

    monkeypatch.setattr(Opened, at, failing)
    with pytest.raises(swath.StoreError, match="the disk is gone"):
        run_ranks(ranks, lambda comm: swath.fftn(tmp_path / "a.npy", tmp_path / "b.npy", memory=20_000, comm=comm))
    assert names(tmp_path) == {"a.npy"}
    monkeypatch.undo()
    swath.fftn(tmp_path / "a.npy", tmp_path / "b.npy", memory=20_000)


def test_a_source_that_changes_meanwhile_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from swath.fft.panels import Opened

    np.save(tmp_path / "a.npy", np.ones((60, 50)))
    original = Opened.write

    def changing(self: Opened, *arguments: Any) -> None:
        original(self, *arguments)
        os.utime(tmp_path / "a.npy", ns=(1, 1))

    monkeypatch.setattr(Opened, "write", changing)
    with pytest.raises(swath.StoreError, match="has changed"):
        swath.fftn(tmp_path / "a.npy", tmp_path / "b.npy", memory=20_000)
    assert names(tmp_path) == {"a.npy"}


def test_ranks_of_mpi_share_the_panels(tmp_path: Path) -> None:
    values = values_of((211, 160), "<f8")
    np.save(tmp_path / "a.npy", values)
    run_well(3, "fft_ranks.py", str(tmp_path))
    same(np.load(tmp_path / "b.npy"), scipy.fft.rfftn(values))


@pytest.mark.parametrize(("n", "factor"), [(1, 1), (2, 2), (97, 97), (360, 5), (2**20, 2), (6 * 10007, 10007)])
def test_the_largest_prime_factor(n: int, factor: int) -> None:
    assert largest_prime_factor(n) == factor


def test_without_scipy_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "a.npy", np.ones(8))
    monkeypatch.setitem(sys.modules, "scipy.fft", None)
    with pytest.raises(swath.UnsupportedError, match=r"pip install 'swath\[fft\]'"):
        swath.fftn(tmp_path / "a.npy", tmp_path / "b.npy")
