"""The HDF5 libraries that a process may have: the core finds one at run time, with the same results for each."""

from __future__ import annotations

import glob
import json
import os
import pathlib
import subprocess
import sys
import threading
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import hdf5_read_cases
import swath
from swath import _core
from swath.formats import hdf5
from tree import HELPERS

PROGRAM = HELPERS / "hdf5_library_program.py"
SITE = pathlib.Path(h5py.__file__).parents[1]
OPERATIONS = int(os.environ.get("SWATH_HDF5_OPERATIONS", "300"))
OLDER = "libhdf5_serial.so.103"


def _first(pattern: str) -> str | None:
    return next(iter(sorted(glob.glob(pattern))), None)


LIBRARIES = {
    "h5py's": _first(f"{SITE}/h5py.libs/libhdf5-*"),
    "netCDF4's": _first(f"{SITE}/netcdf4.libs/libhdf5-*"),
    "1.10": _first(f"/usr/lib/*/{OLDER}"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return hdf5_read_cases.make(tmp_path_factory.mktemp("files"))


def _said(paths: list[str], library: str | None) -> dict[str, Any]:
    environment = {name: value for name, value in os.environ.items() if name != "SWATH_HDF5"}
    if library is not None:
        environment["SWATH_HDF5"] = library
    command = [sys.executable, str(PROGRAM), *paths]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def test_h5pys_library_is_used_where_h5py_is_installed() -> None:
    said = _said([], None)
    assert said["library"]["found_as"] == "h5py's"
    assert said["library"]["version"] == h5py.version.hdf5_version
    assert said["has_h5py"]


@pytest.mark.parametrize("name", ["netCDF4's", "1.10"])
def test_every_library_reads_what_h5pys_reads(files: list[str], name: str) -> None:
    library = LIBRARIES[name]
    if library is None:
        pytest.skip(f"there is no HDF5 of {name} on this machine")
    known, said = _said(files, None), _said(files, library)
    assert not said["has_h5py"]
    assert said["library"]["found_as"] == "the one that SWATH_HDF5 names"
    compared = 0
    for path, found in said["files"].items():
        for variable, described in found.items():
            expected = known["files"][path][variable]
            if name == "1.10" and _is_beyond_1_10(path, described):
                continue
            assert described == expected, (path, variable)
            compared += 1
    assert compared > 900


def _is_beyond_1_10(path: str, found: Any) -> bool:
    """Return whether HDF5 1.10 reports that it cannot read data of newer versions, or cannot find the chunks."""
    if isinstance(found, list):
        return "bad version number" in found[1] and ("latest" in path or "both" in path)
    reason = str(found.get("layout", {}).get("reason"))
    return "this version of HDF5 misreports" in reason and ("user_block" in path or "both" in path)


def test_a_library_that_is_named_and_not_there_is_an_error_that_names_it(tmp_path: pathlib.Path) -> None:
    environment = {**os.environ, "SWATH_HDF5": str(tmp_path / "none.so")}
    command = [sys.executable, "-c", "from swath import _core; _core.hdf5_library()"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert "UnsupportedError" in done.stderr
    assert "none.so" in done.stderr
    assert "SWATH_HDF5" in done.stderr


# ---- h5py and netCDF4 in the same process ----------------------------------------------------------------------------

THREADS = """
import sys, threading
{imports}
import numpy as np, swath
from swath import _core
path, other, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
{late}
wrong, done = [], []
def by(read, turns):
    try:
        for _ in range(turns):
            if not read():
                wrong.append(read)
    except BaseException as error:
        wrong.append(repr(error))
    done.append(turns)
def core_contents():
    return list(_core.hdf5_contents(path).variables) == ["v", "w"]
def core_describe():
    return _core.hdf5_describe(path, ["v"], {{}})[0].shape == (50, 4)
def by_swath():
    return bool((swath.open(path, "w")[...] == 7).all())
def by_h5py():
    with h5py.File(path, "r") as file:
        return int(file["v"][3, 3]) == 15 and file["w"].attrs["units"] == "K"
netcdf = threading.Lock()  # netCDF4 itself is for one thread at a time
def by_netcdf4():
    with netcdf, netCDF4.Dataset(other) as file:
        return int(file["v"][3]) == 3
readers = [core_contents, core_describe, by_swath, by_h5py, by_netcdf4, core_contents]
threads = [threading.Thread(target=by, args=(one, count // len(readers) + 1)) for one in readers]
for one in threads: one.start()
for one in threads: one.join()
assert len(done) == len(readers)
print("wrong", wrong)
"""


@pytest.mark.parametrize("order", ["before", "after", "netCDF4 first"])
def test_h5py_and_netcdf4_are_used_from_other_threads_meanwhile(tmp_path: pathlib.Path, order: str) -> None:
    path, other = tmp_path / "a.h5", tmp_path / "b.nc"
    with h5py.File(path, "w") as file:
        file["v"] = np.arange(200).reshape(50, 4)
        file.create_dataset("w", data=np.full(9, 7), chunks=(4,), compression="gzip").attrs["units"] = "K"
    with netCDF4.Dataset(other, "w") as dataset:
        dataset.createDimension("x", 5)
        dataset.createVariable("v", "i4", ("x",))[:] = np.arange(5)
    both = "import h5py, netCDF4" if order == "before" else "import netCDF4, h5py"
    first = "" if order == "after" else both
    late = "_core.hdf5_contents(path)\n" + both if order == "after" else ""
    program = THREADS.format(imports=first, late=late)
    command = [sys.executable, "-c", program, str(path), str(other), str(OPERATIONS)]
    limit = 100 + OPERATIONS / 20
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    assert (done.returncode, done.stdout) == (0, "wrong []\n"), done.stderr


def test_whoever_has_the_lock_of_h5py_may_read_by_swath(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "a.h5")
    with h5py.File(path, "w") as file:
        file["v"] = np.arange(4)
    entered, may_end = threading.Event(), threading.Event()

    def other() -> None:
        with h5py._objects.phil:
            entered.set()
            may_end.wait(0.2)
            assert _core.hdf5_describe(path, ["v"], {})[0].shape == (4,)

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(10)
    # waits for the other thread, which needs this thread to wait
    assert list(_core.hdf5_contents(path).variables) == ["v"]
    may_end.set()
    thread.join(20)
    assert not thread.is_alive()


def test_a_forked_child_reads_while_a_thread_of_its_parent_reads(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "a.h5")
    with h5py.File(path, "w") as file:
        file["v"] = np.arange(4)
    program = (
        "import os, sys; from swath import _core; path = sys.argv[1]; _core.hdf5_contents(path)\n"
        "for _ in range(5):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        os._exit(0 if list(_core.hdf5_contents(path).variables) == ['v'] else 1)\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
    )
    command = [sys.executable, "-c", program, path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_values_are_read_through_the_core_as_h5py_reads_them(files: list[str]) -> None:
    compared = 0
    for path in files:
        if path.endswith(".nc"):  # what is never filled reads as netCDF's own fill value there
            continue
        with h5py.File(path, "r") as file:
            for name, variable in hdf5.contents(path).variables.items():
                stored = file.get(name)
                is_plain = variable.dtype is not None and variable.dtype.kind in "biufc"
                if not is_plain or not isinstance(stored, h5py.Dataset) or stored.external:
                    continue
                if stored.shape != variable.shape or (variable.dtype.itemsize == 16 and variable.dtype.kind == "f"):
                    continue
                with swath.open(path, name) as array:
                    np.testing.assert_array_equal(array[...], stored[...])
                compared += 1
    assert compared > 300
