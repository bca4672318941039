"""Checks of everything that a contender read, wrote or opened: it is compared with NumPy's values.

Targets are read by h5py, netCDF4 and zarr-python, never by Swath.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from swath_bench.files.job import DIMENSIONS, NAME, Job, Values, dump_values, record_names, several_names
from swath_bench.files.sizes import DUMPED
from swath_bench.files.sources import DEFLATE_LEVEL, many_values
from swath_bench.measure import WrongDataError


def check(job: Job, suffix: str, outcome: Any) -> None:
    """Raise WrongDataError unless the contender's result, or its target, is right."""
    work = job.what.work
    if work == "open_many":
        _opened(outcome, job.opened_variables)
    elif work == "open_files":
        _opened_files(outcome, job.sizes.files)
    elif not job.what.writes:
        _equal("what was read", np.asarray(outcome), job.array()[job.selection])
    elif job.ranks.rank == 0:
        with _target(job.made(suffix)) as target:
            checks = {"dump": _dump, "append": _appended, "append_live": _appended, "rechunk_file": _rechunked}
            checks.get(work, _copied)(job, target)


def _equal(what: str, found: Values, expected: Values) -> None:
    if found.shape != expected.shape or found.dtype.newbyteorder("=") != expected.dtype:
        raise WrongDataError(f"{what}: {found.dtype} {found.shape}, not {expected.dtype} {expected.shape}")
    wrong = found != expected
    if wrong.any():
        place = tuple(map(int, np.argwhere(wrong)[0]))
        raise WrongDataError(f"{what}: at {place} is {found[place]}, not {expected[place]}")


def _opened(data: Any, variables: int) -> None:
    with data:
        names = [name for name in data.data_vars if name.startswith("v")]
        if len(names) != variables:
            raise WrongDataError(f"opened: {len(names)} variables, not {variables}")
        if data["time"].dtype.kind != "M" or data[names[0]].attrs.get("units") != "K":
            raise WrongDataError(f"opened: time of {data['time'].dtype}, {data[names[0]].attrs}")
        for number in (0, variables // 2, variables - 1):
            _equal(names[number], data[names[number]].values, many_values(number, data[names[0]].shape))


def _opened_files(data: Any, files: int) -> None:
    with data:
        expected = np.concatenate([many_values(number) for number in range(files)])
        _equal(NAME, data[NAME].values, expected)
        if data[NAME].attrs.get("units") != "K" or data["time"].dtype.kind != "M":
            raise WrongDataError(f"opened: {data[NAME].attrs}, time of {data['time'].dtype}")


@contextlib.contextmanager
def _target(path: str) -> Iterator[Any]:
    """Return a mapping from names to arrays of the target."""
    if path.endswith(".zarr"):
        import zarr

        yield zarr.open_group(path, mode="r")
    elif path.endswith(".nc"):
        import netCDF4

        with netCDF4.Dataset(path) as file:
            file.set_auto_maskandscale(False)
            yield file
    else:
        import h5py

        with h5py.File(path) as file:
            yield file


def _copied(job: Job, target: Any) -> None:
    made, source, work = target[NAME], job.array(), job.what.work
    if work != "transpose" and tuple(made.chunks) != job.sizes.series_chunks:
        raise WrongDataError(f"chunks of {made.chunks}, not {job.sizes.series_chunks}")
    if hasattr(made, "compression_opts") and work != "transpose":  # of HDF5
        expected = ("gzip", DEFLATE_LEVEL, True) if work == "rechunk_deflated" else (None, None, False)
        if (made.compression, made.compression_opts, made.shuffle) != expected:
            raise WrongDataError(f"filters {made.compression}, {made.compression_opts}, {made.shuffle}: not {expected}")
    for rows in job.bands():
        if work == "transpose":
            _equal(f"rows {rows}", made[rows], source[:, rows].transpose(1, 2, 0))
        else:
            _equal(f"rows {rows}", made[:, rows, :], source[:, rows])


def _rechunked(job: Job, target: Any) -> None:
    """Check a whole file: values, chunks, filters, attributes and coordinates."""
    if target.attrs["title"] not in ("several variables", b"several variables"):
        raise WrongDataError(f"title: {target.attrs['title']}")
    for name, extent in zip(DIMENSIONS, job.sizes.part_shape, strict=True):
        _equal(name, target[name][...], np.arange(extent, dtype="f8"))
    for number, name in enumerate(several_names()):
        made = target[name]
        found = (tuple(made.chunks), made.compression, made.compression_opts, made.shuffle)
        expected = (job.sizes.part_series_chunks, "gzip", DEFLATE_LEVEL, True)
        if found != expected or made.attrs["units"] not in ("K", b"K"):
            raise WrongDataError(f"{name}: chunks and filters {found}, not {expected}; units {made.attrs['units']}")
        for rows in job.bands():
            _equal(f"{name}, rows {rows}", made[:, rows, :], job.part(number)[:, rows])


def _dump(job: Job, target: Any) -> None:
    first = dump_values(job.sizes.dumped)
    for number in range(DUMPED):
        name = f"v{number:02}"
        _equal(name, target[name][...], first + number)


def _appended(job: Job, target: Any) -> None:
    for name in record_names():
        if target[name].shape[0] != job.sizes.records:
            raise WrongDataError(f"{name}: {target[name].shape[0]} records, not {job.sizes.records}")
    for (record, name, values), _ in zip(job.appended, itertools.count()):
        _equal(f"{name}, record {record}", target[name][record], values)
