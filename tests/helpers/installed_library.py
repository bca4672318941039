"""The C++ library, installed by `cmake --install` under a prefix, for an MPI: built at its first use."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tree import ROOT

BUILD = ROOT / "build"
SCRIPTS = Path(sysconfig.get_path("scripts"))
BUILD_SECONDS_MAX = 1500


@dataclass(frozen=True)
class Mpi:
    """An MPI to build the library for: its programs, which may not be installed."""

    name: str
    mpicc: Path
    mpiexec: tuple[str, ...]

    @property
    def mpifort(self) -> Path:
        return self.mpicc.with_name(self.mpicc.name.replace("mpicc", "mpifort"))


WHEEL = Mpi("wheel", SCRIPTS / "mpicc", (str(SCRIPTS / "mpiexec"),))
MPICH = Mpi("debian-mpich", Path("/usr/bin/mpicc.mpich"), ("/usr/bin/mpiexec.mpich",))
OPENMPI = Mpi("debian-openmpi", Path("/usr/bin/mpicc.openmpi"), ("/usr/bin/mpiexec.openmpi", "--oversubscribe"))
MPIS = (WHEEL, OPENMPI, MPICH)


def run(command: list[object], seconds_max: float = 100, **more: object) -> str:
    """Return the output of a program that must succeed."""
    try:
        done = subprocess.run(
            list(map(str, command)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds_max,
            check=False,
            **more,  # type: ignore[call-overload]
        )
    except subprocess.TimeoutExpired as expired:
        pytest.fail(f"{command[0]}: still running after {seconds_max} s: {expired.stdout!r}")
    assert done.returncode == 0, f"{command}\n{done.stdout[-6000:]}"
    return str(done.stdout)


def options_for(mpi: Mpi) -> list[str]:
    """Return CMake options like those of the package, so that ccache has all objects but those that use MPI."""
    options = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DSWATH_BUILD_TESTS=OFF", "-DSWATH_BUILD_INSTRUMENTS=OFF"]
    options += [f"-DSWATH_MPICC={mpi.mpicc}", f"-DSWATH_BUILD_FORTRAN={'ON' if shutil.which('gfortran') else 'OFF'}"]
    cache = BUILD / "core/CMakeCache.txt"
    compilers = (
        re.findall(r"^(CMAKE_CX*_COMPILER):\w+=(.*)$", cache.read_text(), re.MULTILINE) if cache.exists() else []
    )
    return options + [f"-D{name}={path}" for name, path in compilers]


def with_ccache() -> dict[str, str]:
    """Return the environment of the Makefile's builds."""
    env = {**os.environ, "PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"}
    if ccache := shutil.which("ccache"):
        env |= {"CMAKE_C_COMPILER_LAUNCHER": ccache, "CMAKE_CXX_COMPILER_LAUNCHER": ccache}
        env |= {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
        env["CCACHE_SLOPPINESS"] = "pch_defines,time_macros,include_file_mtime,include_file_ctime"
    return env


def prefix_for(mpi: Mpi = WHEEL) -> Path:
    """Return the prefix of the installed library for an MPI."""
    cmake = shutil.which("cmake", path=f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}")
    if cmake is None or shutil.which(os.environ.get("CXX", "c++")) is None:
        pytest.skip("no CMake, or no C++ compiler")
    if mpi is not WHEEL and not mpi.mpicc.exists():
        pytest.skip(f"{mpi.mpicc} is not installed")
    build = BUILD / "core" if mpi is WHEEL else BUILD / f"library-{mpi.name}"
    if mpi is WHEEL and not (build / "CMakeCache.txt").exists():
        pytest.skip("no build in build/core (make setup)")
    BUILD.mkdir(exist_ok=True)
    prefix = BUILD / "installed" / mpi.name
    with open(BUILD / f".{mpi.name}.lock", "w") as lock:  # other processes of these tests build the same
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (build / "CMakeCache.txt").exists():
            run([cmake, "-S", ROOT, "-B", build, *options_for(mpi)], env=with_ccache())
        run([cmake, "--build", build, "--target", "swath_library"], BUILD_SECONDS_MAX, env=with_ccache())
        run([cmake, "--install", build, "--component", "library", "--prefix", prefix])
        for header in (prefix / "include").rglob("*.h*"):  # of an older installation, which is no more
            if not (build / "public/include" / header.relative_to(prefix / "include")).exists():
                header.unlink()
    return prefix


def surroundings(prefix: Path, more: Mapping[str, object] | None = None) -> dict[str, str]:
    """Return an environment in which pkg-config, and programs that are built with it, find the library."""
    launchers = ("PMI", "OMPI_")
    env = {key: value for key, value in os.environ.items() if not key.startswith(launchers)}
    env |= {
        "PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}",
        "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig"),
        "LD_LIBRARY_PATH": str(prefix / "lib"),
        "HYDRA_LAUNCHER": "fork",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    return {**env, **{key: str(value) for key, value in (more or {}).items()}}


def compiled(source: Path, program: Path, prefix: Path, package: str = "swath") -> Path:
    """Return a program of one source, built with pkg-config."""
    pkg_config = shutil.which("pkg-config")
    if pkg_config is None:
        pytest.skip("pkg-config is not installed")
    flags = run([pkg_config, "--cflags", "--libs", package], env=surroundings(prefix)).split()
    run([os.environ.get("CXX", "c++"), "-std=c++20", source, *flags, "-o", program])
    return program
