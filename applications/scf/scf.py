"""Restricted Hartree-Fock on several ranks: the programs SCF 1.1 and SCF 3.0 of the paper below, by Swath.

    mpiexec -n 4 python applications/scf/scf.py --input small --integrals balanced

There are far more two-electron integrals than other data, and every iteration needs all of them: they are computed
once and read again, or computed again, or some of both (`integrals`). Each rank has its batches, and adds their
contribution to the Fock matrix (`fock`). Rank 0 adds up the ranks' parts, solves the equations (`equations`,
`diis`), and sends the next density to all.

Source: Kandaswamy, Kandemir, Choudhary, Bernholdt, *Performance Implications of Architectural and Software Techniques
on I/O-Intensive Applications*, IEEE Transactions on Parallel and Distributed Systems 13 (12), 2002, sections 4.3, 4.4.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one core a rank; imports of NumPy and PySCF read this
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import contextlib
import dataclasses
import json
import sys
import tempfile
import time
import traceback
from typing import Any

import numpy as np
import numpy.typing as npt
from batches import Batch, batches_of, blocks_of
from checkpoint import Checkpoint
from diis import Diis
from equations import Roothaan
from fock import add_batch
from integrals import SOURCES, Job, Source
from molecules import Molecule, core_hamiltonian, first_density, molecule_of, overlap, path_of
from mpi4py import MPI
from options import parse
from record import FOCK, OPEN, READ, Recorder

Matrix = npt.NDArray[np.float64]

ENERGY_TOLERANCE = 1e-10
SECONDS_TO_TELL = 0.5
"""Seconds to wait before all ranks are ended: output that mpiexec has not forwarded by then is lost."""


@dataclasses.dataclass
class Result:
    """The result of an iteration: the energy, and whether it is the last one. The same on all ranks."""

    energy: float = 0.0
    error: float = np.inf
    converged: bool = False
    iterations: int = 0
    seconds: list[float] = dataclasses.field(default_factory=list)
    """Seconds of each iteration; the first one is different if it computes integrals that are kept."""


class Solver:
    """The work of rank 0 between two Fock matrices."""

    def __init__(self, molecule: Molecule, options: argparse.Namespace, recorder: Recorder) -> None:
        self._core = core_hamiltonian(molecule)
        self._equations = Roothaan(self._core, overlap(molecule), molecule.nelectron)
        self._nuclei = float(molecule.energy_nuc())
        self._diis = Diis()
        self._checkpoint = Checkpoint(options.checkpoint, molecule.nao, recorder)
        self._tolerance = options.tolerance
        self._molecule = molecule
        self._density = np.empty(0)
        self._energy = 0.0

    def first(self) -> Matrix:
        """The density to begin with."""
        loaded = self._checkpoint.load()
        self._density = first_density(self._molecule) if loaded is None else loaded
        return self._density

    def next(self, two_electron: Matrix) -> tuple[Matrix, float, float, bool]:
        """Return from G of the last density the next one, and the energy, error and convergence of the last."""
        fock = self._core + two_electron
        energy = self._equations.energy(self._density, fock) + self._nuclei
        error = self._equations.error(self._density, fock)
        largest = float(np.abs(error).max())
        converged = largest < self._tolerance and abs(energy - self._energy) < ENERGY_TOLERANCE
        self._energy = energy
        if not converged:
            self._density = self._equations.density(self._diis.extrapolate(fock, error))
            self._checkpoint.save(self._density)
        return self._density, energy, largest, converged


def two_electron_part(density: Matrix, integrals: Source, recorder: Recorder) -> Matrix:
    """Return the contribution of this rank's batches to G."""
    half = np.zeros_like(density)
    for batch, values in integrals:
        with recorder.timed(FOCK):
            add_batch(half, density, batch, values)
    return half + half.T


def hartree_fock(job: Job, options: argparse.Namespace, integrals: Source) -> Result:
    """Collective. Iterate until the density no longer changes."""
    comm, recorder = job.comm, job.recorder
    solver = Solver(job.molecule, options, recorder) if comm.rank == 0 else None
    density = comm.bcast(solver.first() if solver else None)
    result = Result()
    begin = recorder.now
    while not result.converged and result.iterations < options.iterations:
        part = two_electron_part(density, integrals, recorder)
        whole = np.empty_like(part)
        comm.Reduce(part, whole if comm.rank == 0 else None, root=0)
        # One rank solves: the rounding in an eigenvalue problem may differ between ranks.
        told = comm.bcast(solver.next(whole) if solver else None)
        density, result.energy, result.error, result.converged = told
        result.iterations += 1
        result.seconds.append(recorder.now - begin)
        begin = recorder.now
        tell(
            comm,
            f"{result.iterations:9} {result.energy:20.10f} {result.error:12.1e} {result.seconds[-1]:9.3f}",
        )
    return result


def run(options: argparse.Namespace, comm: Any) -> Result:
    """Collective. Read the input, compute, and write a record if one is requested."""
    recorder = Recorder()
    molecule = molecule_of(comm.bcast(input_text(options.input, recorder) if comm.rank == 0 else None), options.basis)
    batches = batches_of(blocks_of(molecule, options.block))
    tell(comm, title(options, molecule, batches, comm.size))
    with tempfile.TemporaryDirectory(prefix="scf-", dir=options.folder) if comm.rank == 0 else NoFolder() as own:
        folder = comm.bcast(own)
        job = Job(comm, molecule, batches, folder, recorder, options.disk, options.memory)
        comm.barrier()
        begin = recorder.now
        with SOURCES[options.integrals](job) as integrals:
            tell(comm, f"{'iteration':>9} {'energy, Hartree':>20} {'error':>12} {'seconds':>9}")
            result = hartree_fock(job, options, integrals)
            ending = Ending(plan=integrals.plan, iterations=[dataclasses.asdict(i) for i in integrals.iterations])
        comm.barrier()  # all ranks have removed their files
        ending.seconds = recorder.now - begin
    conclude(options, job, result, ending)
    return result


@dataclasses.dataclass
class Ending:
    """The total time, with the writing of integrals; the decision and the iterations of `Balanced` on this rank."""

    plan: Any
    iterations: list[dict[str, Any]]
    seconds: float = 0.0


class NoFolder:
    """The folder of a rank that uses the folder of rank 0."""

    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...


def input_text(name: str, recorder: Recorder) -> str:
    """The text of an input file."""
    path = path_of(name)
    with contextlib.ExitStack() as opened:
        with recorder.timed(OPEN):
            file = opened.enter_context(open(path, encoding="utf-8"))
        with recorder.timed(READ, os.path.getsize(path)):
            return file.read()


def title(options: argparse.Namespace, molecule: Molecule, batches: list[Batch], ranks: int) -> str:
    """Return the title of the run."""
    size = sum(batch.elements for batch in batches) * 8 / 1e6
    return (
        f"{options.input}: {molecule.natm} atoms, {molecule.nelectron} electrons, {options.basis}, N = {molecule.nao}; "
        f"{len(batches)} batches of integrals, {size:.1f} MB, {options.integrals}; {ranks} ranks"
    )


def conclude(options: argparse.Namespace, job: Job, result: Result, ending: Ending) -> None:
    """Collective. Print the conclusion, and write the record."""
    told = job.comm.gather((job.recorder.events, ending.iterations))
    if told is None:
        return
    if ending.plan is not None:
        print(ending.plan)
    word = "converged" if result.converged else "NOT CONVERGED"
    print(f"{word}: {result.energy:.10f} Hartree, {result.iterations} iterations, {ending.seconds:.3f} s", flush=True)
    if options.record:
        record = {
            "options": vars(options),
            "ranks": job.comm.size,
            "functions": job.molecule.nao,
            "batches": len(job.batches),
            "integral_bytes": sum(batch.elements for batch in job.batches) * 8,
            **dataclasses.asdict(result),
            "seconds": ending.seconds,
            "iteration_seconds": result.seconds,
            "plan": None if ending.plan is None else str(ending.plan),
            "disk_share": None if ending.plan is None else ending.plan.disk_share,
            "events": [[rank, *event] for rank, (events, _) in enumerate(told) for event in events],
            "background": [iterations for _, iterations in told],
        }
        with open(options.record, "w", encoding="utf-8") as file:
            json.dump(record, file)


def tell(comm: Any, words: str) -> None:
    """Print a line on rank 0."""
    if comm.rank == 0:
        print(words, flush=True)


def main() -> int:
    """Run the command line; return 0, or 1 without convergence. An error of one rank ends all."""
    options = parse()
    comm = MPI.COMM_WORLD
    try:
        return 0 if run(options, comm).converged else 1
    except Exception:  # noqa: BLE001 - whatever it is, other ranks would wait for this one for ever
        traceback.print_exc()
        sys.stderr.flush()
        if comm.size > 1:
            time.sleep(SECONDS_TO_TELL)
            comm.Abort(1)
        return 1


if __name__ == "__main__":
    sys.exit(main())
