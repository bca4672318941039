"""`swath mpi-io build`: makes a backend for the MPI of any mpicxx. Needs a C++20 compiler, and no CMake."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from swath.errors import UnsupportedError
from swath.mpi_io import backends
from swath.ranks.loaded_mpi import FAMILIES

_COMPILE = (
    "-std=c++20",
    "-O3",
    "-DNDEBUG",
    "-fPIC",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-pthread",
    "-DOMPI_SKIP_MPICXX",
    "-DMPICH_SKIP_MPICXX",
)
_LINES_SHOWN = 5
"""The number of lines of a compiler's output that are shown: the first ones with errors, or else the last ones."""


@dataclass(frozen=True)
class Mpi:
    """An MPI to compile for: its mpicxx, the compiler and flags that it uses, and the family of its headers."""

    mpicxx: str
    compiler: str
    flags: tuple[str, ...]
    family: str


def find_mpi(mpicxx: str | None = None) -> Mpi:
    """Return the MPI of an mpicxx: of the given one, else of the one in PATH.

    Raises UnsupportedError if there is none, if it does not print its command, or if its family is unknown.
    """
    found = mpicxx if mpicxx is not None else shutil.which("mpicxx")
    if found is None:
        raise UnsupportedError("there is no mpicxx in PATH: name that of your MPI: swath mpi-io build --mpicxx PATH")
    compiler, *words = shlex.split(_said([found, "-show"])) or [""]
    flags = tuple(_flags_of_headers(words))
    # The compiler is asked, not Python: its own search path decides which headers it finds.
    preprocess = [compiler, *flags, "-E", "-P", "-x", "c++", str(_source() / "mpi_family.inc")]
    family = (_said(preprocess).split() or [""])[-1]
    if family not in FAMILIES:
        raise UnsupportedError(f"{found}: its MPI is neither MPICH, nor Open MPI, nor of the MPI ABI")
    return Mpi(found, compiler, flags, family)


def build(mpi: Mpi) -> Path:
    """Compile the backend of an MPI into the folder where the stub finds it; return its path.

    Raises UnsupportedError, with the compiler's output, if this fails.
    """
    folder = _writable_folder()
    source = _source()
    sources = sorted([*(source / "bindings" / "mpi_io").glob("*.cc"), *(source / "core" / "comm").glob("mpi_*.cc")])
    includes = [f"-I{source / name}" for name in ("bindings", "core", "include")]
    with tempfile.TemporaryDirectory(prefix=".building-", dir=folder) as scratch:
        objects = [str(Path(scratch, f"{path.stem}.o")) for path in sources]

        def compile_one(path: Path, made: str) -> None:
            _said([mpi.compiler, *_COMPILE, *includes, *mpi.flags, "-c", str(path), "-o", made])

        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(compile_one, sources, objects))
        linked = Path(scratch, backends.file_name(mpi.family))
        version_script = source / "bindings" / "mpi_io" / "backend.map"
        _said(
            [
                *(mpi.compiler, "-shared", "-pthread", "-o", str(linked), *objects),
                *(str(source / "libswath_core.a"), *_libraries(source), "-ldl"),
                *("-Wl,-z,lazy", f"-Wl,--version-script={version_script}"),
            ]
        )
        made = folder / linked.name
        linked.replace(made)  # a program that has the old one open keeps it
    return made


def _source() -> Path:
    source = backends.SOURCE
    if not (source / "libswath_core.a").exists():
        raise UnsupportedError(
            f"{source / 'libswath_core.a'} is not installed: a wheel of Swath has the backends of all families, and "
            "makes no more. To make others install Swath from its sources: pip install --no-binary swath swath"
        )
    return source


def _writable_folder() -> Path:
    """Return the folder for a new backend: that of the variable, or the package's, or the user's."""
    given = os.environ.get(backends.VARIABLE)
    if given:
        folder = Path(given)
    else:
        folder = backends.PACKAGE if os.access(backends.PACKAGE, os.W_OK) else backends.user_folder()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _flags_of_headers(words: Sequence[str]) -> Iterator[str]:
    """Yield the options of an mpicxx for headers: a backend is linked to no MPI."""
    remaining = iter(words)
    for word in remaining:
        if word in ("-I", "-D", "-isystem"):
            yield from (word, next(remaining, ""))
        elif word.startswith(("-I", "-D", "-isystem")):
            yield word


def _libraries(source: Path) -> list[str]:
    """Return the paths of the libraries that the core was built with; only names for those that have moved."""
    paths = [Path(line) for line in (source / "libraries.txt").read_text(encoding="utf-8").split()]
    return [str(path) if path.exists() else f"-l{path.name.removeprefix('lib').partition('.')[0]}" for path in paths]


def _said(command: Sequence[str]) -> str:
    """Return the output of a program. Raises UnsupportedError if it fails."""
    try:
        ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise UnsupportedError(f"{command[0]!r} cannot be run: {error.strerror}") from None
    if ended.returncode != 0:
        lines = (ended.stderr or ended.stdout).splitlines()
        shown = [line for line in lines if "error" in line][:_LINES_SHOWN] or lines[-_LINES_SHOWN:]
        raise UnsupportedError(f"{shlex.join(command)} ended with status {ended.returncode}: {' '.join(shown)}")
    return ended.stdout
