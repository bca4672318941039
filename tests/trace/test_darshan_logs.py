"""Darshan's logs: what is characterised equals what the package darshan says; what a log cannot tell is said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath.trace.characteristics import bytes_of_servers, characterise
from swath.trace.log import SIZE_BOUNDS, Stripes
from swath.trace.opening import read_log

darshan = pytest.importorskip("darshan")
LOGS = sorted(Path(darshan.__file__).parent.glob("**/*.darshan"))
DIFFERENT = list({log.read_bytes(): log for log in LOGS}.values())
"""The package has some of them twice."""
PREFIXES = {"posix": "POSIX", "mpi-io": "MPIIO", "stdio": "STDIO", "h5d": "H5D"}
MODULES = {"posix": "POSIX", "mpi-io": "MPI-IO", "stdio": "STDIO", "h5d": "H5D"}


def report_of(log: Path) -> Any:
    """Returns what the package darshan reads."""
    report = darshan.DarshanReport(str(log), read_all=False)
    for module in report.modules:
        if module in MODULES.values():
            report.mod_read_all_records(module)
    return report


def test_the_package_has_its_logs() -> None:
    assert len(LOGS) >= 18


@pytest.mark.parametrize("log", DIFFERENT, ids=lambda log: f"{log.parent.name}-{log.stem[:24]}")
def test_sums_equal_those_of_the_package(log: Path) -> None:
    found = characterise(read_log(str(log)))
    report = report_of(log)
    assert found.processes == report.metadata["job"]["nprocs"]
    assert found.execution_seconds == pytest.approx(report.metadata["job"]["run_time"] * found.processes)
    for layer, module in MODULES.items():
        if module not in report.records:
            assert layer not in {one.layer for one in found.operations}
            continue
        prefix = PREFIXES[layer]
        records = report.records[module].to_df()
        counters, times = records["counters"], records["fcounters"]
        for name, verb, moved in (("read", "READ", "READ"), ("write", "WRITE", "WRITTEN")):
            (of,) = (one for one in found.operations if (one.layer, one.name) == (layer, name))
            assert of.bytes == counters[f"{prefix}_BYTES_{moved}"].sum()
            assert of.seconds == pytest.approx(times[f"{prefix}_F_{verb}_TIME"].sum())
            if layer != "mpi-io":
                assert of.calls == counters[f"{prefix}_{verb}S"].sum()
            else:
                kinds = ("INDEP", "COLL", "SPLIT", "NB")
                assert of.calls == sum(counters[f"MPIIO_{kind}_{verb}S"].sum() for kind in kinds)
            sizes = [one for one in found.sizes if (one.layer, one.name) == (layer, name)]
            if layer == "posix" and sizes:
                assert sizes[0].bounds == SIZE_BOUNDS
                assert list(sizes[0].counts) == counters.filter(like=f"POSIX_SIZE_{verb}_").sum().tolist()
        (metadata,) = (one for one in found.operations if (one.layer, one.name) == (layer, "metadata"))
        assert metadata.seconds == pytest.approx(times[f"{prefix}_F_META_TIME"].sum())


TRACED = [log for log in DIFFERENT if "dxt" in log.stem or "ior_hdf5" in log.stem]


@pytest.mark.parametrize("log", TRACED, ids=lambda log: log.stem)
def test_requests_equal_those_of_the_package(log: Path) -> None:
    found = read_log(str(log))
    report = darshan.DarshanReport(str(log), read_all=False)
    expected = []
    for module, layer in (("DXT_POSIX", "posix"), ("DXT_MPIIO", "mpi-io")):
        if module not in report.modules:
            continue
        report.mod_read_all_dxt_records(module, dtype="dict")
        for record in report.records[module]:
            for name in ("write", "read"):
                expected += [
                    (layer, name, record["rank"], one["offset"], one["length"], one["start_time"], one["end_time"])
                    for one in record[f"{name}_segments"]
                ]
    rows = found.requests
    kinds = [found.kinds[kind] for kind in rows.kind]
    read = [
        (kind.layer, kind.name, *row)
        for kind, *row in zip(kinds, rows.rank, rows.offset, rows.length, rows.began, rows.ended, strict=True)
    ]
    assert len(read) == len(expected) > 0
    for one, other in zip(read, expected, strict=True):
        assert one[:5] == other[:5]
        assert one[5:] == pytest.approx(other[5:])


def log_named(name: str) -> Path:
    return next(log for log in LOGS if log.name == name)


def test_counters_only_are_said() -> None:
    found = read_log(str(log_named("sample.darshan")))
    assert len(found.requests) == 0
    assert any("nothing can be replayed" in note for note in found.notes)
    assert characterise(found).phases == ()


def test_requests_that_are_missing_are_said() -> None:
    found = characterise(read_log(str(log_named("dxt.darshan"))))
    assert "times are wrong" in found.limit
    assert not any("nothing can be replayed" in note for note in found.notes)


def test_the_blocks_of_ior_are_found() -> None:
    found = characterise(read_log(str(log_named("ior_hdf5_example.darshan"))))
    use = next(one for one in found.files if one.layer == "posix")
    assert use.accesses["write"].distribution == "BLOCK: 1,048,576 bytes each of 4 ranks, from byte 2,048"
    assert use.ranks == 4


def is_read_or_refused(file: Path) -> bool:
    """Returns whether a log is read, or is an error that names the file."""
    try:
        return characterise(read_log(str(file))).path == str(file)
    except swath.FormatError as error:
        return str(file) in str(error)


def test_damaged_logs_are_errors_that_name_them(tmp_path: Path) -> None:
    stored = log_named("sample-dxt-simple.darshan").read_bytes()
    random = np.random.default_rng(1)
    file = tmp_path / "damaged.darshan"
    for number in range(int(os.environ.get("SWATH_TRACE_MUTATIONS", "1200")) // 300):
        damaged = bytearray(stored)
        for _ in range(number):
            damaged[random.integers(len(damaged))] ^= 1 << random.integers(8)
        file.write_bytes(damaged if number % 3 else damaged[: len(damaged) // 2])
        assert is_read_or_refused(file)


def test_without_the_package_it_is_said_how_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "darshan.py").write_text("raise ImportError('none')")
    program = (
        "import swath\nfrom swath.trace.opening import read_log\n"
        f"try: read_log({str(LOGS[0])!r})\n"
        "except swath.UnsupportedError as error: print(error)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert "pip install 'swath[darshan]'" in result.stdout


def test_bytes_of_servers_are_those_of_their_stripes() -> None:
    random = np.random.default_rng(2)
    stripes = Stripes(7, (4, 9, 2))
    offset, length = random.integers(0, 500, 40), random.integers(1, 90, 40)
    expected = dict.fromkeys(stripes.servers, 0)
    for low, count in zip(offset.tolist(), length.tolist(), strict=True):
        for byte in range(low, low + count):
            expected[stripes.servers[byte // 7 % 3]] += 1
    assert bytes_of_servers(offset, length, stripes) == expected
