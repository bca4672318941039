"""The application SCF: its parts compared with plain sums over all integrals, and its energies with PySCF's."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpi_runs import mpiexec, needs_mpi, run_well
from tree import ROOT

pytest.importorskip("pyscf", reason="no pyscf, whose integrals the application takes")

import batches
import diis
import fock
import integrals
import molecules
import options
from record import INTEGRALS, READ, WRITE, Recorder

APPLICATION = ROOT / "applications" / "scf"


class OneRank:
    """The part of a communicator that the sources of integrals use."""

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size


@pytest.fixture(scope="module")
def dimer() -> Any:
    return molecules.molecule_of(molecules.path_of("dimer").read_text(), "6-31g")


def job_of(molecule: Any, folder: Path, *, rank: int = 0, size: int = 1) -> integrals.Job:
    found = batches.batches_of(batches.blocks_of(molecule, 12))
    return integrals.Job(OneRank(rank, size), molecule, found, str(folder), Recorder())


@pytest.mark.parametrize(("functions_max", "count"), [(100, 1), (20, 6), (12, 21), (2, 231)])
def test_batches_add_up_to_the_sums_over_all_integrals(dimer: Any, functions_max: int, count: int) -> None:
    random = np.random.default_rng(1).normal(size=(dimer.nao, dimer.nao))
    density = random + random.T
    everything = dimer.intor("int2e")
    expected = np.einsum("ijkl,kl->ij", everything, density) - np.einsum("ijkl,jl->ik", everything, density) / 2

    found = batches.batches_of(batches.blocks_of(dimer, functions_max))
    half = np.zeros_like(density)
    for batch in found:
        fock.add_batch(half, density, batch, batches.compute(dimer, batch))

    assert len(found) == count
    np.testing.assert_allclose(half + half.T, expected, rtol=0, atol=1e-11)


def test_batches_stand_for_every_quartet_of_functions_once(dimer: Any) -> None:
    found = batches.batches_of(batches.blocks_of(dimer, 12))
    assert sum(batch.degeneracy * batch.elements for batch in found) == dimer.nao**4


@pytest.mark.parametrize(
    ("name", "functions", "count", "size"), [("small", 108, 231, 193_995_648), ("medium", 140, 406, 519_680_000)]
)
def test_inputs_are_as_large_as_those_of_the_paper(name: str, functions: int, count: int, size: int) -> None:
    molecule = molecules.molecule_of(molecules.path_of(name).read_text(), "6-31g*")
    found = batches.batches_of(batches.blocks_of(molecule, options.parse([]).block))
    assert (molecule.nao, len(found), 8 * sum(batch.elements for batch in found)) == (functions, count, size)


def test_inputs_are_what_their_program_makes() -> None:
    specification = importlib.util.spec_from_file_location("clusters", APPLICATION / "inputs" / "clusters.py")
    assert specification is not None
    assert specification.loader is not None
    clusters = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(clusters)
    for name, text in clusters.inputs().items():
        assert (APPLICATION / "inputs" / name).read_text() == text


def test_an_open_shell_is_refused() -> None:
    with pytest.raises(ValueError, match=r"9 electrons: restricted Hartree-Fock is for closed shells"):
        molecules.molecule_of("2\n\nO 0 0 0\nH 0 0 1\n", "6-31g")


def test_diis_finds_the_solution_of_a_linear_problem_in_as_many_steps_as_it_has_unknowns() -> None:
    random = np.random.default_rng(2)
    operator = np.eye(4) + random.normal(size=(4, 4)) / 4
    solution = random.normal(size=4)
    acceleration, guess = diis.Diis(), np.zeros(4)
    for _ in range(6):
        error = operator @ (guess - solution)
        guess = acceleration.extrapolate(guess - error / 2, error)
    np.testing.assert_allclose(operator @ (guess - solution), 0, atol=1e-6)


@pytest.mark.parametrize("mode", ["stored", "prefetched", "recomputed"])
@pytest.mark.parametrize(("rank", "size"), [(0, 1), (2, 4), (21, 22)])
def test_every_iteration_has_the_values_of_every_batch(
    dimer: Any, tmp_path: Path, mode: str, rank: int, size: int
) -> None:
    job = job_of(dimer, tmp_path, rank=rank, size=size)
    with integrals.SOURCES[mode](job) as source:
        for _ in range(2):
            expected = deque(job.own_batches)
            for batch, values in source:
                assert batch == expected.popleft()
                np.testing.assert_array_equal(values, batches.compute(dimer, batch))
            assert not expected
    assert os.listdir(tmp_path) == []

    own = sum(batch.elements for batch in job.own_batches) * 8
    moved = {kind: sum(e.bytes for e in job.recorder.events if e.kind == kind) for kind in (WRITE, READ, INTEGRALS)}
    kept = mode != "recomputed"
    assert moved == {WRITE: own * kept, READ: 2 * own * kept, INTEGRALS: own if kept else 2 * own}


@pytest.mark.parametrize("mode", ["stored", "prefetched"])
def test_nothing_is_left_of_a_loop_that_fails(dimer: Any, tmp_path: Path, mode: str) -> None:
    def fail() -> None:
        with integrals.SOURCES[mode](job_of(dimer, tmp_path)) as source:
            for number, _ in enumerate(source):
                if number == 3:
                    raise RuntimeError("in the loop")

    with pytest.raises(RuntimeError, match="in the loop"):
        fail()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("mode", ["stored", "prefetched"])
def test_nothing_is_left_when_integrals_cannot_be_computed(
    dimer: Any, tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_molecule: Any, batch: batches.Batch) -> Any:
        if batch.i.number == 2:
            raise RuntimeError("no integrals")
        return batches.compute(dimer, batch)

    monkeypatch.setattr(integrals, "compute", fail)
    with pytest.raises(RuntimeError, match="no integrals"):
        integrals.SOURCES[mode](job_of(dimer, tmp_path)).__enter__()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("ranks", [2, *(pytest.param(ranks, marks=pytest.mark.slow) for ranks in (1, 3, 4))])
def test_energies_are_those_of_pyscf_from_every_source(tmp_path: Path, ranks: int) -> None:
    said = run_well(ranks, "scf_ranks.py", tmp_path)
    assert "all energies are PySCF's" in said
    assert os.listdir(tmp_path) == []


def run_program(folder: Path, *arguments: str, ranks: int = 1) -> subprocess.CompletedProcess[str]:
    needs_mpi()
    command = [str(mpiexec()), "-n", str(ranks), sys.executable, str(APPLICATION / "scf.py"), *arguments]
    environment = {**os.environ, "HYDRA_LAUNCHER": "fork"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_a_run_begins_with_the_density_of_the_one_before(tmp_path: Path) -> None:
    common = ("--input", "dimer", "--basis", "6-31g", "--integrals", "recomputed", "--checkpoint", "density.npy")
    first, second = (run_program(tmp_path, *common) for _ in range(2))
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    energy = first.stdout.splitlines()[-1].split(",")[0]
    assert energy.startswith("converged: ")
    assert f"{energy}, 2 iterations" in second.stdout
    other = run_program(tmp_path, *common[:2], "--basis", "sto-3g", *common[4:], ranks=2)
    assert other.returncode != 0
    assert "density.npy: shape (26, 26); expected (14, 14): of another molecule?" in other.stderr
    assert os.listdir(tmp_path) == ["density.npy"]


def test_what_does_not_converge_says_so(tmp_path: Path) -> None:
    found = run_program(tmp_path, "--input", "dimer", "--integrals", "recomputed", "--iterations", "2")
    assert found.returncode == 1
    assert "NOT CONVERGED: " in found.stdout
