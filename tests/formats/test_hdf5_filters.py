"""Filtered chunks of HDF5 and netCDF-4 are created as requested, written by Swath, and read by all libraries."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from kills import killed
from mpi_runs import run_well
from swath.errors import ArgumentError, StoreError, UnsupportedError
from swath.formats.changes import repair
from swath.simulated import run_ranks

h5py = pytest.importorskip("h5py")
pytest.importorskip("netCDF4")

from filter_cases import check_filtered_writes, make_filtered_case  # noqa: E402

CASES = int(os.environ.get("SWATH_FILTER_CASES", "60"))
VALUES = np.arange(1000 * 300, dtype="<f4").reshape(1000, 300)
COLUMNS = swath.Distribution((swath.Whole(), swath.Block()), (1, 4))


def filters_of(path: Path, name: str = "data") -> list[tuple[int, tuple[int, ...]]]:
    with h5py.File(path) as file:
        plist = file[name].id.get_create_plist()
        return [(code, numbers) for code, _, numbers, _ in map(plist.get_filter, range(plist.get_nfilters()))]


def configured(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


# ---- What is created -------------------------------------------------------------------------------------------------

ASKED = [
    ("zlib", [(1, (4,))]),
    ("gzip", [(1, (4,))]),
    (configured("deflate", level=9), [(1, (9,))]),
    (["shuffle", configured("zlib", level=0)], [(2, (4,)), (1, (0,))]),
    (["shuffle", "zlib", "fletcher32"], [(2, (4,)), (1, (4,)), (3, ())]),
    (["fletcher32"], [(3, ())]),
    (["shuffle"], [(2, (4,))]),
    ([], []),
]
REGISTERED = [
    (["shuffle", "zstd"], [(2, (4,)), (32015, (3,))]),
    (configured("zstd", level=-5), [(32015, (2**32 - 5,))]),
    ("lz4", [(32004, (0,))]),
    (configured("lz4", blocksize=1000), [(32004, (1000,))]),
    ("blosc", [(32001, (2, 2, 4, 100 * 300 * 4, 5, 1, 1))]),
    (configured("blosc", cname="zstd", clevel=2, shuffle="bitshuffle"), [(32001, (2, 2, 4, 100 * 300 * 4, 2, 2, 5))]),
]


@pytest.mark.parametrize(("codecs", "filters"), ASKED, ids=str)
def test_filters_are_as_asked_and_others_read_what_was_written(tmp_path: Path, codecs: Any, filters: Any) -> None:
    path = tmp_path / "a.h5"
    with swath.create(path, VALUES.shape, "<f4", chunks=(100, 300), codecs=codecs) as a:
        a.write(VALUES)
        assert (a.counters.method == "chunks") == bool(codecs)
    assert filters_of(path) == filters
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["data"][...], VALUES)


@pytest.mark.parametrize(("codecs", "filters"), REGISTERED, ids=str)
def test_registered_filters_are_as_asked_and_hdf5plugin_reads_them(tmp_path: Path, codecs: Any, filters: Any) -> None:
    pytest.importorskip("hdf5plugin")
    test_filters_are_as_asked_and_others_read_what_was_written(tmp_path, codecs, filters)


def test_registered_filters_of_others_are_read_by_swath(tmp_path: Path) -> None:
    hdf5plugin = pytest.importorskip("hdf5plugin")
    for name in ("zstd", "lz4", "blosc"):
        hdf5plugin.register(name, force=True)  # the filters of netCDF4's package call another HDF5 library
    made = [
        *(hdf5plugin.Zstd(clevel=level) for level in (1, 19)),
        *(hdf5plugin.LZ4(nbytes=n) for n in (0, 999, 64)),
        *(hdf5plugin.Blosc(cname=c, clevel=3, shuffle=s) for c in ("blosclz", "lz4", "zstd") for s in (0, 1, 2)),
    ]
    noise = np.random.default_rng(1).integers(0, 1 << 16, (100, 300)).astype("<u2")
    for options in made:
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file.create_dataset("v", data=noise, chunks=(30, 70), **options)
            file.create_dataset("w", data=VALUES, chunks=(99, 300), **options)
        for name, values in (("v", noise), ("w", VALUES)):
            with swath.open(tmp_path / "a.h5", name, mode="r+") as a:
                np.testing.assert_array_equal(a[...], values)
                assert a.counters.method == "chunks"
                a[5:17] = values[6:18]
            with h5py.File(tmp_path / "a.h5") as file:
                np.testing.assert_array_equal(file[name][5:17], values[6:18])
                np.testing.assert_array_equal(file[name][17:], values[17:])


def test_h5dump_shows_the_filters(tmp_path: Path) -> None:
    if shutil.which("h5dump") is None:
        pytest.skip("h5dump is not installed (hdf5-tools)")
    with swath.create(tmp_path / "a.h5", VALUES.shape, "<f4", codecs=["shuffle", "zlib", "fletcher32"]) as a:
        a.write(VALUES)
    run = subprocess.run(["h5dump", "-p", "-H", tmp_path / "a.h5"], capture_output=True, text=True, check=True)
    found = run.stdout[run.stdout.index("FILTERS") :]
    assert found.index("PREPROCESSING SHUFFLE") < found.index("COMPRESSION DEFLATE { LEVEL 4 }")
    assert found.index("COMPRESSION DEFLATE") < found.index("CHECKSUM FLETCHER32")
    part = ["h5dump", "-y", "-d", "/data", "-s", "7,0", "-c", "1,3", tmp_path / "a.h5"]
    data = subprocess.run(part, capture_output=True, text=True, check=True)
    assert "2100, 2101, 2102" in data.stdout


def test_codecs_without_chunks_get_chunks_of_up_to_a_mebibyte(tmp_path: Path) -> None:
    for shape, dtype, expected in [
        ((1000, 300), "f4", (500, 300)),
        ((3,), "f8", (3,)),
        ((0, 5), "f8", (1024, 5)),
        ((5, 1 << 20), "f8", (5, 16384)),
    ]:
        with swath.create(tmp_path / "a.h5", shape, dtype, codecs="zlib", overwrite=True):
            pass
        with h5py.File(tmp_path / "a.h5") as file:
            assert file["data"].chunks == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"codecs": "crc32c"}, "'crc32c' is not one of zlib, gzip"),
        ({"codecs": "snappy"}, "'snappy' is not one of"),
        ({"codecs": 7}, "expected names such as"),
        ({"codecs": ["zlib", "gzip"]}, "each filter once"),
        ({"codecs": ["zlib", "shuffle"]}, "put it before zlib"),
        ({"codecs": configured("zlib", level=10)}, "an integer from 0 to 9"),
        ({"codecs": configured("shuffle", elementsize=2)}, "keeps no element_bytes=2"),
        ({"codecs": "zlib", "shape": ()}, "a scalar"),
        ({"codecs": "zlib", "shards": (2, 2)}, "shards"),
        ({"codecs": "zlib", "chunks": (2,)}, "for each dimension"),
    ],
    ids=str,
)
def test_what_hdf5_has_not_is_refused_and_leaves_nothing(tmp_path: Path, arguments: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        swath.create(tmp_path / "a.h5", **{"shape": (5, 6), "dtype": "f4", **arguments})
    assert list(tmp_path.iterdir()) == []


def test_settings_that_registered_filters_do_not_keep_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("hdf5plugin")
    for codec in (configured("zstd", checksum=True), configured("blosc", blocksize=4096)):
        with pytest.raises(ArgumentError, match="keeps no"):
            swath.create(tmp_path / "a.h5", (5, 6), "f4", codecs=codec)


def test_registered_filters_say_what_they_need(tmp_path: Path) -> None:
    program = "import sys, swath; sys.modules['hdf5plugin'] = None; swath.create(sys.argv[1], 9, 'f4', codecs='zstd')"
    command = [sys.executable, "-c", program, tmp_path / "a.h5"]
    without = {key: value for key, value in os.environ.items() if key != "HDF5_PLUGIN_PATH"}  # netCDF4 sets it
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=without)
    assert UnsupportedError.__name__ in run.stderr
    assert "pip install hdf5plugin" in run.stderr


# ---- What is written -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_ranks_write_what_h5py_and_netcdf4_read(tmp_path: Path, ranks: int) -> None:
    for seed in range(CASES // 4):
        case = make_filtered_case(random.Random(f"{ranks} {seed}"), ranks)
        path = tmp_path / f"{seed}.h5"
        try:
            nodes = 1 + seed % ranks
            run_ranks(ranks, lambda comm: check_filtered_writes(case, path, comm, comm.barrier), seed=seed, nodes=nodes)  # noqa: B023
        except BaseException as error:
            error.add_note(f"seed {seed}: {case}") if sys.version_info >= (3, 11) else print(f"seed {seed}: {case}")
            raise


@pytest.mark.parametrize("ranks", [1, 4])
def test_ranks_of_mpi_write_what_h5py_and_netcdf4_read(ranks: int) -> None:
    assert "all right" in run_well(ranks, "filter_ranks.py", 100 * ranks, 6)


def test_a_chunk_that_all_ranks_share_is_encoded_once(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"

    def work(comm: Any) -> Any:
        with swath.create(path, VALUES.shape, "<f4", chunks=(100, 300), codecs="zlib", comm=comm) as a:
            a.write(VALUES[:, 75 * comm.rank : 75 * (comm.rank + 1)], COLUMNS)
            return a.counters, a.layout

    for seed in range(3):
        found = run_ranks(4, work, seed=seed, nodes=2)
        with h5py.File(path) as file:
            np.testing.assert_array_equal(file["data"][...], VALUES)
            assert sum(counters.written_bytes for counters, _ in found) == file["data"].id.get_storage_size()
        assert sum(counters.exchanged_bytes for counters, _ in found) == VALUES.nbytes * 3 // 4
        assert {layout for _, layout in found} == {"chunks of 100 by 300, zlib, 10 of 10 stored"}
        path.unlink()


def test_elements_that_nobody_writes_are_the_fill_value(tmp_path: Path) -> None:
    with swath.create(tmp_path / "a.h5", (10, 10), "<i2", fill=-9, chunks=(4, 4), codecs="zlib") as a:
        a[5, 5] = 1
        assert a[4, 4] == -9
    expected = np.full((10, 10), -9, "<i2")
    expected[5, 5] = 1
    with h5py.File(tmp_path / "a.h5") as file:
        np.testing.assert_array_equal(file["data"][...], expected)
        assert file["data"].fillvalue == -9
        assert file["data"].id.get_num_chunks() == 1
    with swath.open(tmp_path / "a.h5") as a:
        np.testing.assert_array_equal(a[...], expected)


def test_other_arrays_and_attributes_stay_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        for name in "abc":
            file.create_dataset(name, data=VALUES, chunks=(77, 55), compression=1)
            file[name].attrs["x"] = np.arange(500)
    for turn in range(3):
        with swath.open(path, "b", mode="r+") as b:
            b[turn::3] = -VALUES[turn::3]
    with h5py.File(path) as file:
        for name in "abc":
            np.testing.assert_array_equal(file[name][...], -VALUES if name == "b" else VALUES)
            np.testing.assert_array_equal(file[name].attrs["x"], np.arange(500))


@pytest.mark.parametrize("filters", [{}, {"compression": 1}], ids=str)
@pytest.mark.parametrize("libver", ["earliest", "v108", "latest"])
@pytest.mark.parametrize("maxshape", [(None, 6), (6, None), (None, None), None], ids=str)
def test_chunks_are_where_hdf5_has_them_whichever_dimension_grows(
    tmp_path: Path, maxshape: Any, libver: str, filters: Any
) -> None:
    values = np.random.default_rng(1).integers(0, 100, (6, 6))
    with h5py.File(tmp_path / "a.h5", "w", libver=libver) as file:
        file.create_dataset("v", data=values, chunks=(2, 2), maxshape=maxshape, **filters)
    with swath.open(tmp_path / "a.h5", "v", mode="r+") as a:
        np.testing.assert_array_equal(a[...], values)
        a[1:4] = -values[1:4]
    with h5py.File(tmp_path / "a.h5") as file:
        np.testing.assert_array_equal(file["v"][1:4], -values[1:4])
        np.testing.assert_array_equal(file["v"][4:], values[4:])


# ---- Filters of other packages ---------------------------------------------------------------------------------------

READ = "import sys, swath; print(swath.open(sys.argv[1], 'v')[...].sum())"
WRITE = """
import sys, swath
with swath.open(sys.argv[1], 'v', mode='r+') as a:
    a[10:20] = 0
    a.append([1, 2, 3])
    print(a[...].sum())
"""


def run_alone(program: str, *arguments: Any) -> subprocess.CompletedProcess[str]:
    """Run a program in a process without imported modules, and without a folder of filters."""
    without = {key: value for key, value in os.environ.items() if key != "HDF5_PLUGIN_PATH"}  # netCDF4 sets it
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=without)


def with_filter_of_hdf5plugin(path: Path, name: str) -> None:
    hdf5plugin = pytest.importorskip("hdf5plugin")
    with h5py.File(path, "w") as file:
        options = dict(getattr(hdf5plugin, name)())
        file.create_dataset("v", data=np.arange(100), chunks=(30,), maxshape=(None,), **options)


@pytest.mark.parametrize("name", ["Bitshuffle", "BZip2", "Blosc2"])
def test_filters_of_hdf5plugin_are_found_by_programs_that_do_not_import_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.h5"
    with_filter_of_hdf5plugin(path, name)
    assert run_alone(READ, path).stdout == "4950\n"
    assert run_alone(WRITE, path).stdout == f"{4950 - sum(range(10, 20)) + 6}\n"
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["v"], [*range(10), *[0] * 10, *range(20, 100), 1, 2, 3])


def test_a_filter_that_is_nowhere_is_named_with_what_to_install(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with_filter_of_hdf5plugin(path, "Bitshuffle")
    for program in (READ, WRITE):
        run = run_alone("import sys; sys.modules['hdf5plugin'] = None\n" + program, path)
        assert "UnsupportedError" in run.stderr
        assert "needs filter 32008 (bitshuffle" in run.stderr
        assert "pip install hdf5plugin" in run.stderr


# ---- What goes wrong -------------------------------------------------------------------------------------------------


def a_file(path: Path, values: np.ndarray = VALUES) -> bytes:
    with h5py.File(path, "w") as file:
        file.create_dataset("data", data=values, chunks=(100, 100), compression=1)
    return path.read_bytes()


NOISE = np.random.default_rng(1).random(VALUES.shape).astype("<f4")


@pytest.mark.parametrize(("old", "new"), [(VALUES, NOISE), (NOISE, VALUES)], ids=["chunks grow", "chunks shrink"])
@pytest.mark.parametrize("rule", ["write@0=ENOSPC", "write@0=short+EIO", "write@1=ENOSPC", "read@0=EIO"])
def test_a_write_that_fails_is_an_error_on_all_ranks_and_is_taken_back(
    tmp_path: Path, rule: str, old: np.ndarray, new: np.ndarray
) -> None:
    path = tmp_path / "a.h5"
    before = a_file(path, old)

    def work(comm: Any) -> str:
        engine = f"fault:{rule}" if comm.rank == 2 else "posix"
        with swath.open(path, mode="r+", comm=comm, engine=engine) as a:
            mine = new[::2, 75 * comm.rank : 75 * (comm.rank + 1)]
            with pytest.raises(StoreError) as raised:
                # There are several rounds, and the first ones succeed; the existing data are read first.
                a.write(mine, COLUMNS, selection=np.s_[::2], tuning={"chunk_buffer_bytes": 200_000})
            if comm.rank == 0:
                np.testing.assert_array_equal(a[...], old)
            return str(raised.value)

    messages = run_ranks(4, work, seed=1)
    assert len(set(messages)) == 1
    assert messages[0].startswith("rank 2: ")
    assert str(path) in messages[0]
    if rule.startswith("write"):
        assert messages[0].endswith("; the file is as it was before")
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.h5"]


def test_a_new_file_can_be_written_after_a_write_that_failed(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with swath.create(path, VALUES.shape, "<f4", chunks=(100, 300), codecs="zlib", engine="fault:write@1=EIO") as a:
        a[100:200] = VALUES[100:200]
        with pytest.raises(StoreError, match="Input/output error"):
            a[200:] = VALUES[200:]
        np.testing.assert_array_equal(a[200:], 0 * VALUES[200:])
        a[:] = VALUES
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["data"][...], VALUES)


@pytest.mark.slow
def test_a_write_that_is_killed_is_taken_back_by_whoever_opens_the_file_next(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    before = a_file(path)

    def write() -> None:
        with swath.open(path, mode="r+") as a:
            a[10:] = NOISE[10:]

    half_done = 0
    for at in itertools.count(0):
        path.write_bytes(before)
        if not killed(write, at):
            break
        half_done += path.read_bytes() != before and repair(str(path))
        with swath.open(path) as a:
            assert np.array_equal(a[:], VALUES) or np.array_equal(a[10:], NOISE[10:])
        assert os.listdir(tmp_path) == ["a.h5"]
    assert half_done > 3


def test_a_file_that_another_program_has_open_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    before = a_file(path)
    with swath.open(path, mode="r+") as a, h5py.File(path), pytest.raises(StoreError, match="has this HDF5 file open"):
        a[:] = 1
    assert path.read_bytes() == before
