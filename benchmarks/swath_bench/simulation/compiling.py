"""The programs, compiled for the MPI of an installed Swath; and why a peer cannot take part."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from swath.errors import UnsupportedError
from swath_bench.mpi_io.compiling import find_mpi
from swath_bench.simulation.cases import Contender

SOURCES = Path(__file__).parent / "program"
FLAGS = ("-std=gnu11", "-O2")
LIBRARIES_OF_MPI = re.compile(r"\blibmpi(?:ch)?(?:_abi)?\.so\.\d+")
OPEN_MPI = "libmpi.so.40"
SWATH = Contender("by_swath.c")
INSTALL_PEERS = "make bench-packages installs Debian's, where apt-get may"


class NotBuiltError(Exception):
    """A contender cannot be compiled for this MPI: its text says why."""


@dataclass(frozen=True)
class Installed:
    """An installed Swath, and the MPI that it is for."""

    config: str
    mpicc: str
    mpiexec: str

    @property
    def name(self) -> str:
        """Return the MPI as the tables call it."""
        return Path(self.mpicc).name if self.mpicc.startswith("/usr/") else "mpicc beside Python"

    def config_says(self, *options: str) -> list[str]:
        """Return what `swath-config` prints."""
        path = f"{Path(self.mpicc).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        return _said([self.config, *options], {**os.environ, "PATH": path})


def installed_at(prefix: str | None) -> Installed:
    """Return the Swath of a prefix; None: the one of this Python's environment. Raises UnsupportedError."""
    folder = Path(prefix, "bin") if prefix else Path(sysconfig.get_path("scripts"))
    config = folder / "swath-config"
    if not config.exists():
        raise UnsupportedError(f"{config} is not there: --prefixes expects folders of cmake --install (docs/cpp.md)")
    mpicc = " ".join(_said([str(config), "--mpicc"], dict(os.environ)))
    if not mpicc:
        raise UnsupportedError(f"{config}: this Swath was built without MPI")
    return Installed(str(config), *find_mpi(mpicc if prefix else None))


def compiled(contender: Contender, installed: Installed, folder: str) -> str:
    """Return the path of the program. Raises NotBuiltError if a library is missing, or is for another MPI."""
    own_flags = installed.config_says("--mpi", "--cflags", "--libs")
    if not contender.packages:
        return _compiled(contender, installed, own_flags, folder)
    if shutil.which("pkg-config") is None:
        raise NotBuiltError("pkg-config is not installed")
    expected = _libraries_of_mpi(
        _compiled(SWATH, installed, installed.config_says("--mpi", "--cflags", "--libs"), folder)
    )
    reasons = []
    for package in contender.packages:
        try:
            flags = _said(["pkg-config", "--cflags", "--libs", package], dict(os.environ))
        except subprocess.CalledProcessError:
            reasons.append(f"pkg-config does not find {package}: {INSTALL_PEERS}")
            continue
        program = _compiled(contender, installed, flags, folder)
        libraries = _libraries_of_mpi(program)
        if libraries <= expected:  # a serial library needs none
            return program
        reasons.append(f"{package} is for another MPI ({', '.join(sorted(libraries - expected))})")
    raise NotBuiltError("; ".join(reasons))


def uses_open_mpi(program: str) -> bool:
    """Return whether a program is linked with Open MPI."""
    return OPEN_MPI in _libraries_of_mpi(program)


def _libraries_of_mpi(program: str) -> set[str]:
    return set(LIBRARIES_OF_MPI.findall(" ".join(_said(["ldd", program], dict(os.environ)))))


def _compiled(contender: Contender, installed: Installed, flags: list[str], folder: str) -> str:
    program = Path(folder, contender.source.removesuffix(".c"))
    frame = [] if contender.source == "cyclic_read.c" else [str(SOURCES / "frame.c")]
    command = [installed.mpicc, *FLAGS, str(SOURCES / contender.source), *frame, *flags, "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
        raise NotBuiltError(f"{installed.mpicc} ended with status {done.returncode}: {' '.join(lines[:3])}")
    return str(program)


def _said(command: list[str], environment: dict[str, str]) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=True, env=environment)
    return done.stdout.split()
