"""Real programs, traced: as the paper found them, their first advice is the paper's; optimised, they have none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import yielding
from application_programs import built, mpi_with_fortran
from fortran_programs import fortran_prefix
from installed_library import surroundings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
SWATH = Path(sysconfig.get_path("scripts"), "swath")
FFT = """
import sys, numpy as np, swath
shape, between = (1024, 1024), {"found": {"between": "F", "order": "F"}, "optimised": {"order": "fast"}}
with swath.create("source.npy", shape, "c8", order="F") as a:
    a[...] = np.ones(shape, "c8")
swath.fft2("source.npy", "target.npy", memory="2MiB", **between[sys.argv[1]])
"""


def advised(command: list[object], folder: Path, env: dict[str, str]) -> dict[str, Any]:
    """What `swath advise --json` says of a traced run, if its files were on a modelled disk."""
    for words in (
        [SWATH, "trace", "--into", folder / "trace", *command],
        [SWATH, "advise", folder / "trace", "--store", "disk:p690-scsi", "--json"],
    ):
        ended = subprocess.run(
            list(map(str, words)), env=env, cwd=folder, capture_output=True, text=True, timeout=200, check=False
        )
        assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-4000:]
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def of_application(name: str, folder: Path, **arguments: object) -> dict[str, Any]:
    """The same of an application on 4 ranks."""
    mpi = mpi_with_fortran()
    given = [f"{key}={value}" for key, value in arguments.items()]
    command = [*mpi.mpiexec, "-n", 4, built(name, mpi), *given]
    waiting = {"LD_PRELOAD": library} if (library := yielding.library()) else {}  # `swath trace` adds its own
    return advised(command, folder, surroundings(fortran_prefix(mpi), waiting))


def titles(said: dict[str, Any]) -> list[str]:
    return [one["title"] for one in said["advice"]]


@pytest.mark.parametrize(
    ("mode", "first"), [("simple", "collective I/O: one call for all regions of all ranks"), ("swath", None)]
)
def test_btio_is_to_be_collective(tmp_path: Path, mode: str, first: str | None) -> None:
    said = of_application("btio", tmp_path, mode=mode, file="btio.dat", **{"class": "S"}, steps=10)
    assert (said["processes"], said["has_mpi"]) == (4, True)
    assert titles(said)[:1] == ([] if first is None else [first])


@pytest.mark.parametrize(
    ("variant", "first"), [("found", "collective I/O: all ranks, with one call"), ("optimised", None)]
)
def test_ast_is_to_be_collective(tmp_path: Path, variant: str, first: str | None) -> None:
    sizes = {"problem": "explosion", "nx": 64, "ny": 64, "dumps": 3}
    said = of_application("ast", tmp_path, variant=variant, file="ast.dat", **sizes)
    assert titles(said)[:1] == ([] if first is None else [first])


@pytest.mark.parametrize(("variant", "first"), [("found", "another layout: "), ("optimised", None)])
def test_a_transform_needs_another_layout(tmp_path: Path, variant: str, first: str | None) -> None:
    pytest.importorskip("scipy")
    program = tmp_path / "fft.py"
    program.write_text(FFT)
    said = advised([sys.executable, program, variant], tmp_path, dict(os.environ))
    found = titles(said)
    assert (found == []) if first is None else found[0].startswith(first)
