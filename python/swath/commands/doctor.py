"""`swath doctor`: checks this installation, and says how to repair it.

Everything is tried, not guessed: it opens a ring of io_uring, starts MPI, and starts ranks with each mpiexec, which
print their number. A trial that may crash or hang has a process of its own.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Literal

from rich.text import Text

import swath
from swath import _core
from swath.base import c_library, units
from swath.commands import output, rados
from swath.errors import ArgumentError, UnsupportedError
from swath.mpi_io import backends, building, preload
from swath.ranks import loaded_mpi, mpi
from swath.store import modelled_disk, profile

HELP = "is this installation in order?"
DESCRIPTION = """\
Check this installation: versions, packages that Swath works with, codecs,
io_uring, RADOS, shared memory, MPI, and whether the mpiexec that you would type
belongs to the MPI that Swath uses. Says what is wrong and what to do. Exit status 1 when something is wrong.
"""

EPILOG = """\
examples:
  swath doctor
  swath doctor --json            for a bug report
  mpiexec -n 2 swath doctor      does this mpiexec belong to Swath's MPI?

"-" marks what is missing and can be done without: Swath works without MPI,
without io_uring, Ceph and HDF5, each with less. What a system library brings
is found when Swath is built.

read next: swath demo
"""

SHARED_BYTES_MIN = 64 << 20
"""The least size of /dev/shm for the windows of a few ranks; containers get 64 MiB."""
TRIED_RANKS = 2
TRY_SECONDS_MAX = 30

_CODECS = (
    ("zstd", "libzstd-dev", "arrays with it are refused"),
    ("blosc", "libblosc-dev", "arrays with it are refused"),
    ("lz4", "liblz4-dev", "arrays with it are refused"),
    ("gzip", "libdeflate-dev", "Zarr arrays with it or zlib are refused, HDF5's deflate goes through h5py"),
)
"""Codecs of chunks in system libraries: the Debian package of each, and the effect if it is missing."""
_PACKAGES = (
    ("h5py", "HDF5 and netCDF-4 files, and so for new .nc files that are netCDF-4", "swath[hdf5]"),
    ("hdf5plugin", "new HDF5 files with zstd, blosc or lz4, and for filters that Swath has not", "swath[filters]"),
    ("netCDF4", "the demo and benchmarks, which make netCDF files with it", "swath[netcdf]"),
    ("xarray", 'xr.open_dataset(..., engine="swath") and ds.swath.to_file(...)', "swath[xarray]"),
    ("dask", "arrays of xarray that are computed and written block by block", "swath[xarray]"),
    (
        "zarr",
        "text of variable length and rare codecs of Zarr stores; Swath reads and writes the others itself",
        "zarr",
    ),
)
"""Optional Python packages: the name, its purpose, and the package to install."""
_BUILD_AGAIN = "install {} (as Debian calls it), and build Swath again"

_LAUNCHER_PREFIXES = ("PMI_", "PMIX_", "OMPI_", "PRTE_", "MPI_LOCAL")
_SETTINGS = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")
"""Variables without which Open MPI's mpiexec refuses to run as root."""
_TRY_MPI = (
    "from mpi4py import MPI; from swath.ranks import loaded_mpi; loaded_mpi.module().MpiComm(MPI.COMM_SELF.handle)"
)
_TRY_MPI_IO = "from mpi4py import MPI; print(open('/proc/self/maps').read())"
_TRY_RANKS = "import os; from mpi4py import MPI; os.write(1, b'ranks=%d\\n' % MPI.COMM_WORLD.Get_size())"


@dataclass(frozen=True)
class Finding:
    """The result of one check: "ok", "without" (an optional part is missing) or "wrong", and what to do."""

    name: str
    state: Literal["ok", "without", "wrong"]
    found: str
    advice: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `swath doctor`."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Make all checks; the status is 1 if anything is wrong."""
    findings = [
        *_versions(),
        *(_codec(*each) for each in _CODECS),
        _hdf5(),
        _io_uring(),
        *_rados(),
        _modelled_disks(),
        _shared_memory(),
        _profile(),
        *_mpi(),
        *_mpi_io(),
        _launcher(),
    ]
    wrong = any(finding.state == "wrong" for finding in findings)
    if options.json:
        output.print_json({"ok": not wrong, "findings": [asdict(finding) for finding in findings]})
    else:
        _print(findings)
    return 1 if wrong else 0


def _print(findings: list[Finding]) -> None:
    marks = {"ok": Text("ok", "green"), "without": Text("-", "dim"), "wrong": Text("WRONG", "bold red")}
    table = output.table("", "", "")
    table.show_header = False
    for finding in findings:
        table.add_row(marks[finding.state], Text(finding.name), Text(finding.found))
        if finding.advice:
            table.add_row("", "", Text(f"-> {finding.advice}", "bold"))
    console = output.console()
    console.print(table)
    wrong = [finding.name for finding in findings if finding.state == "wrong"]
    console.print(Text(f"\nWrong: {', '.join(wrong)}." if wrong else "\nNothing is wrong. Next: swath demo"))


def _versions() -> Iterator[Finding]:
    yield Finding("swath", "ok", f"{swath.__version__}, in {os.path.dirname(swath.__file__)}")
    yield _installed_as()
    yield _library_for_c()
    yield Finding("Python", "ok", f"{platform.python_version()}, {sys.executable}, on {platform.platform()}")
    yield Finding("NumPy", "ok", importlib.metadata.version("numpy"))
    for package, use, install in _PACKAGES:
        version = _version(package)
        if version is None:
            yield Finding(package, "without", f"not installed: it is for {use}", f"pip install '{install}'")
        else:
            yield Finding(package, "ok", f"{version}, for {use}")


def _installed_as() -> Finding:
    """Return whether this is a wheel with its own libraries, or was built on this machine."""
    try:
        said = importlib.metadata.distribution("swath").read_text("WHEEL") or ""
    except importlib.metadata.PackageNotFoundError:
        said = ""
    tags = ", ".join(re.findall(r"^Tag: (.*manylinux.*)$", said, re.MULTILINE))
    if tags:
        return Finding("installed as", "ok", f"a wheel ({tags}), with the libraries that it needs")
    return Finding("installed as", "ok", "built here, with libraries of this system")


def _library_for_c() -> Finding:
    try:
        return Finding("library for C", "ok", f"{c_library.get_library_dir()}; swath-config says how to build with it")
    except UnsupportedError as error:
        return Finding("library for C", "without", str(error))


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _codec(codec: str, package: str, without: str) -> Finding:
    try:
        _core.check_codec(codec)
    except UnsupportedError:
        return Finding(codec, "without", f"built without it: {without}", _BUILD_AGAIN.format(package))
    return Finding(codec, "ok", f"built with it ({package})")


def _hdf5() -> Finding:
    """Find the HDF5 library that reads files here. The core calls it, also without h5py."""
    try:
        library = _core.hdf5_library()
    except UnsupportedError as error:
        return Finding("HDF5", "without", str(error), "pip install swath[hdf5]")
    found = f"{library['version']}, {library['found_as']}: {library['path']}"
    if not library["is_thread_safe"]:
        found += "; one thread at a time"
    missing = ", ".join(library["missing"])
    return Finding("HDF5", "ok", f"{found}; without {missing}" if missing else found)


def _io_uring() -> Finding:
    with tempfile.NamedTemporaryFile() as file:
        opened = _core.open_file(file.name, "r", _core.FileOptions("uring"))
        if opened.engine == "uring":
            return Finding("io_uring", "ok", "the kernel gives a ring")
    advice = _BUILD_AGAIN.format("liburing-dev") if "built without" in opened.engine_reason else ""
    return Finding("io_uring", "without", opened.engine_reason, advice)


def _rados() -> Iterator[Finding]:
    """Find what this Swath can do with Ceph pools, without contact to a cluster."""
    version = _core.librados_version()
    if not version:
        found = "librados is not found: files in Ceph pools (rados:POOL/NAME) are refused"
        yield Finding("RADOS", "without", found, "install librados2 (as Debian calls it)")
        return
    yield Finding("RADOS", "ok", f"files in Ceph pools, by librados {version}")
    library = rados.class_library()
    if library is None:
        found = "not built: requests to Ceph's servers are lists of ranges, not descriptions"
        advice = _BUILD_AGAIN.format("rados-objclass-dev and libradospp-dev")
        yield Finding("RADOS object class", "without", found, advice)
    else:
        found = f"{library}; swath rados install-class rados:POOL says whether a cluster has it"
        yield Finding("RADOS object class", "ok", found)


def _modelled_disks() -> Finding:
    refusal = modelled_disk.refusal()
    if not refusal:
        return Finding("modelled disks", "ok", "swath-modelled-disk can be mounted here")
    return Finding("modelled disks", "without", f"only in virtual time, for benchmarks: {refusal}")


def _shared_memory() -> Finding:
    if refusal := _core.shared_memory_refusal():
        return Finding("shared memory", "without", f"ranks of a node send messages instead: {refusal}")
    folder = os.environ.get("SWATH_SHM_DIR") or "/dev/shm"
    try:
        room = os.statvfs(folder)
    except OSError as error:
        return Finding("shared memory", "without", f"{folder}: {error.strerror}: ranks of a node send messages instead")
    total, free = room.f_blocks * room.f_frsize, room.f_bavail * room.f_frsize
    found = f"{folder}: {units.in_bytes(free)} free of {units.in_bytes(total)}"
    if free >= SHARED_BYTES_MIN or total == 0:
        return Finding("shared memory", "ok", found)
    return Finding(
        "shared memory",
        "without",
        f"{found}: too little for windows, ranks of a node send messages instead",
        "remove stale files there, or start the container with --shm-size=1g",
    )


def _profile() -> Finding:
    try:
        found = profile.find(".")
    except ArgumentError as error:
        return Finding("profile", "wrong", str(error), f"unset {profile.VARIABLE}, or name a file that there is")
    if found.profile is None:
        return Finding("profile", "without", f"of the store here: {found.reason}; until then plans use stated defaults")
    frozen = ", frozen" if found.profile.frozen else ""
    return Finding("profile", "ok", f"of the store here: {found.profile.numbers['source']}{frozen}")


def _mpi() -> Iterator[Finding]:
    version = _version("mpi4py")
    if version is None:
        advice = "for parallel work: pip install 'swath[mpi]'"
        yield Finding("mpi4py", "without", "not installed: work of one process only", advice)
        return
    try:
        library = mpi.library_version()
    except UnsupportedError as error:
        advice = "install an MPI and an mpi4py that go together: pip install 'swath[mpi]'"
        yield Finding("mpi4py", "wrong", f"{version}: {error}", advice)
        return
    yield Finding("mpi4py", "ok", f"{version}, with {library}")
    status, said = _try([sys.executable, "-c", _TRY_MPI])
    served = "; ".join(loaded_mpi.FAMILIES[family] for family in loaded_mpi.installed()) or "no MPI"
    if status != 0:
        advice = "pip install --force-reinstall swath: its wheel serves every MPI"
        yield Finding("MPI", "wrong", f"no ranks of {library}: {_last_line(said)}. Built for: {served}", advice)
        return
    yield Finding("MPI", "ok", f"works with {library}. Built for: {served}")
    yield from _launchers(library)


def _mpi_io() -> Iterator[Finding]:
    try:
        preloaded = preload.environment({})["LD_PRELOAD"]
    except UnsupportedError as error:
        yield Finding("MPI-IO programs", "without", f"left to their MPI: {error}")
        return
    served = backends.installed()
    names = "; ".join(loaded_mpi.FAMILIES[family] for family in served)
    yield Finding(
        "MPI-IO programs", "ok" if served else "without", f"served by swath mpi-io: {names or 'of no MPI yet'}"
    )
    for mpicxx in _each_mpicxx() if len(served) < len(loaded_mpi.FAMILIES) else ():
        try:
            mpi_there = building.find_mpi(mpicxx)
        except UnsupportedError as error:
            yield Finding("MPI-IO programs", "without", f"of {mpicxx}: {error}")
            continue
        if mpi_there.family not in served:
            found = f"of {mpicxx} ({loaded_mpi.FAMILIES[mpi_there.family]}): left to it, there is no backend"
            yield Finding("MPI-IO programs", "without", found, f"swath mpi-io build --mpicxx {mpicxx}")
    if _version("mpi4py") is not None:
        yield _tried_mpi_io(preloaded)


def _each_mpicxx() -> list[str]:
    """Return the existing ones of: the mpicxx beside this Python, and the first in PATH."""
    beside = os.path.join(sysconfig.get_path("scripts"), "mpicxx")
    found = {os.path.realpath(each): each for each in (shutil.which("mpicxx"), beside) if each and os.path.exists(each)}
    return list(found.values())


def _tried_mpi_io(preloaded: str) -> Finding:
    """Start MPI by mpi4py, with the MPI-IO library preloaded."""
    _, said = _try([sys.executable, "-c", _TRY_MPI_IO], LD_PRELOAD=preloaded)
    loaded = backends.loaded(said)
    if loaded:
        return Finding("MPI-IO of mpi4py", "ok", f"served by {loaded[0]} under swath mpi-io")
    refusal = next((line.strip() for line in said.splitlines() if line.startswith("swath: ")), "")
    off = "switched off by SWATH_MPI_IO" if os.environ.get("SWATH_MPI_IO") in ("off", "0") else _last_line(said)
    return Finding("MPI-IO of mpi4py", "without", refusal or off)


def _launchers(library: str) -> Iterator[Finding]:
    own, in_path = mpi.own_mpiexec(), shutil.which("mpiexec")
    if own is None:
        advice = f"install the mpiexec of {library}; for the wheel of MPICH: pip install mpich"
        yield Finding("mpiexec", "wrong", "none beside this Python, and none in PATH", advice)
        return
    yield _tried_launcher("mpiexec of this Python", own, library, own)
    if in_path is None:
        yield Finding("mpiexec in PATH", "without", "none", f"type {own}, or put its folder into PATH")
    elif os.path.realpath(in_path) != os.path.realpath(own):
        yield _tried_launcher("mpiexec in PATH", in_path, library, own)
    else:
        yield Finding("mpiexec in PATH", "ok", f"{in_path}, the same")


def _tried_launcher(name: str, mpiexec: str, library: str, own: str) -> Finding:
    """Start two ranks with `mpiexec`; each must see two."""
    status, said = _try([mpiexec, "-n", str(TRIED_RANKS), sys.executable, "-c", _TRY_RANKS])
    seen = re.findall(r"ranks=(\d+)", said)
    if status == 0 and seen == [str(TRIED_RANKS)] * TRIED_RANKS:
        return Finding(name, "ok", f"{mpiexec}: {TRIED_RANKS} ranks start, and find each other")
    other = f"ranks of {library} do not find each other" if seen else f"it starts no ranks of {library}"
    if mpiexec != own:
        return Finding(name, "wrong", f"{mpiexec}: {other}; it belongs to another MPI", f"type {own} instead")
    advice = "where there is no ssh: export HYDRA_LAUNCHER=fork; else install an MPI and an mpi4py that go together"
    return Finding(name, "wrong", f"{mpiexec}: {other}: {_last_line(said) or f'exit status {status}'}", advice)


def _launcher() -> Finding:
    started_by, ranks = mpi.launcher()
    if started_by is None:
        return Finding("started by", "ok", "no mpiexec: this process is alone")
    wrong = mpi.foreign_launcher()
    if wrong is None:
        return Finding("started by", "ok", f"{started_by}'s mpiexec, with {ranks} ranks")
    return Finding(
        "started by", "wrong", wrong, f"use {mpi.own_mpiexec() or 'the mpiexec of the MPI that mpi4py uses'}"
    )


def _try(command: list[str], **more: str) -> tuple[int, str]:
    """Return the exit status and the output of `command`, which runs without the variables of an mpiexec.

    more: additional variables of its environment.
    """
    environment = {
        key: value for key, value in os.environ.items() if key in _SETTINGS or not key.startswith(_LAUNCHER_PREFIXES)
    }
    environment.update(more)
    try:
        tried = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TRY_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, f"no answer after {TRY_SECONDS_MAX} s"
    except OSError as error:
        return -1, str(error)
    return tried.returncode, tried.stdout


def _last_line(said: str) -> str:
    return next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "")
