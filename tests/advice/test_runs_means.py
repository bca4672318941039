"""How advice is carried out: all functions that its lines name exist."""

from __future__ import annotations

import re

import pytest

import swath
from swath.advice.runs.means import LINES
from swath.commands.cli import COMMANDS
from tree import ROOT

C_HEADER = (ROOT / "include" / "swath" / "swath.h").read_text()
FORTRAN = (ROOT / "bindings" / "fortran" / "swath.F90").read_text()
MPI_CALLS = (ROOT / "bindings" / "mpi_io" / "functions.h").read_text()


def lines_of(language: str) -> list[str]:
    return [means[language] for means in LINES.values() if language in means]


@pytest.mark.parametrize("line", lines_of("Python"))
def test_python_functions_exist(line: str) -> None:
    for name in re.findall(r"\bswath\.(\w+)", line):
        assert hasattr(swath, name), name
    for name in re.findall(r"\ba\.(\w+)\(", line):
        assert hasattr(swath.Array, name), name
    for name in re.findall(r"\bwriting\.(\w+)\(", line):
        assert hasattr(swath.Future, name), name


@pytest.mark.parametrize("line", lines_of("C"))
def test_c_functions_exist(line: str) -> None:
    for name in re.findall(r"\bswath_\w+", line):
        assert re.search(rf"\b{name}\(", C_HEADER), name


@pytest.mark.parametrize("line", lines_of("Fortran"))
def test_fortran_procedures_exist(line: str) -> None:
    for name in re.findall(r"\bfile%(\w+)", line):
        assert re.search(rf"(generic|procedure) :: {name} =>", FORTRAN), name


@pytest.mark.parametrize("line", lines_of("MPI"))
def test_mpi_functions_exist(line: str) -> None:
    for name in re.findall(r"\bMPI_File_(\w+)", line):
        assert re.search(rf"\bFile_{name}\b|\bfile_{name}\b", MPI_CALLS, re.IGNORECASE), name


def test_commands_exist() -> None:
    text = " ".join(line for means in LINES.values() for line in means.values())
    for name in re.findall(r"\bswath ([a-z-]+)", text):
        assert name in COMMANDS, name
