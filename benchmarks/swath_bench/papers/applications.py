"""The applications paper: SCF, FFT, BTIO and AST on the Paragon, the SP-2 and the Linux cluster, as its text says."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from swath.simulation.benchmarks import btio
from swath.simulation.operations import Operation, distributed
from swath.simulation.simulate import simulate
from swath.simulation.studies import COMPUTE_SECONDS, FORTRAN_SECONDS, integrals
from swath.space import Block, Whole
from swath_bench.papers.cells import Cell, data

PAPER = "applications (2002)"
RECOMPUTE_SECONDS = 20 * COMPUTE_SECONDS
"""To compute a buffer of integrals again, beside using it: about 20 times in applications/scf."""
FFT_ROWS = 2048
"""Rows and columns of the transposed array of complex numbers: 64 MiB of the 1.5 GB."""
FFT_TILE = 128
COMPLEX_BYTES = 16


def cells(options: Any) -> Iterator[Cell]:
    """Yield the cells of all applications."""
    said = data("application-io-2002")
    yield from _scf_1_1(said["scf-1-1"], options.seed)
    yield from _scf_3_0(said["scf-3-0"], options.seed)
    yield from _fft(said["fft"], options.seed)
    yield from _btio(said["btio"], options.seed)
    yield from _ast(said["ast"], options.seed)
    yield from _cluster(said["cluster"], options.seed)


def _in_order(one: dict[str, Any], setting: str, variant: str, position: int, simulated: Callable[[], float]) -> Cell:
    return Cell(PAPER, one["figure"], setting, variant, float(position), simulated, is_position=True, said=one["said"])


def _scf_1_1(one: dict[str, Any], seed: int) -> Iterator[Cell]:
    for ranks in one["ranks"]:
        optimised_wins = ranks <= one["crossing"]
        for name, servers, more, wins in (
            ("optimised, 16 I/O nodes", 16, 0.0, optimised_wins),
            ("unoptimised, 64 I/O nodes", 64, FORTRAN_SECONDS, not optimised_wins),
        ):
            run = functools.partial(_scf_seconds, ranks, servers, more, seed)
            yield _in_order(one, f"SCF 1.1, {ranks} processors", name, 1 if wins else 2, run)


def _scf_seconds(ranks: int, servers: int, more: float, seed: int) -> float:
    settings = {"servers.count": servers, "software.call_overhead": 1e-3 + more}
    return simulate(integrals(ranks), "paragon", ranks=ranks, seed=seed, settings=settings).seconds


def _scf_3_0(one: dict[str, Any], seed: int) -> Iterator[Cell]:
    """With 0 % on disk 8 times the processors are about 8 times as fast; with 100 % they make no difference."""
    few, many = min(one["ranks"]), max(one["ranks"])
    for share, factor in ((0, many / few), (100, 1.0)):
        for ranks, theirs in ((few, factor), (many, 1.0)):
            run = functools.partial(_balanced_seconds, ranks, share, seed)
            setting = f"SCF 3.0, {share} % on disk, 64 I/O nodes"
            yield Cell(PAPER, one["figure"], setting, f"{ranks} processors", theirs, run, said=one["said"])


def _balanced_seconds(ranks: int, share: int, seed: int) -> float:
    found = integrals(ranks, share=share / 100, recompute_seconds=RECOMPUTE_SECONDS)
    return simulate(found, "paragon", ranks=ranks, seed=seed, settings={"servers.count": 64}).seconds


def _fft(one: dict[str, Any], seed: int) -> Iterator[Cell]:
    for ranks in one["ranks"]:
        for name, servers, optimised, position in (
            ("layouts that suit, 2 I/O nodes", 2, True, 1),
            ("both column-major, 4 I/O nodes", 4, False, 2),
            ("both column-major, 2 I/O nodes", 2, False, 3),
        ):
            run = functools.partial(_transpose_seconds, ranks, servers, optimised, seed)
            yield _in_order(one, f"FFT, {ranks} processors", name, position, run)


def _transpose_seconds(ranks: int, servers: int, optimised: bool, seed: int) -> float:
    """Return the seconds of out-of-core transposes: each rank reads pieces of one array and writes them to another."""
    settings = {"servers.count": servers}
    return simulate(_transpose(ranks, optimised), "paragon", ranks=ranks, seed=seed, settings=settings).seconds


def _transpose(ranks: int, optimised: bool) -> list[Operation]:
    """Return reads and writes of pieces of equal size: tiles of column-major arrays, or panels where layouts suit."""
    own = FFT_ROWS // ranks
    shape = (ranks, FFT_ROWS, own)
    made = []
    panel = FFT_TILE * FFT_TILE // FFT_ROWS if optimised else FFT_TILE
    for low in range(0, own, max(1, min(panel, own))):
        high = min(own, low + panel)
        for top in range(0, FFT_ROWS, FFT_ROWS if optimised else FFT_TILE):
            bottom = min(FFT_ROWS, top + (FFT_ROWS if optimised else FFT_TILE))
            selection = ((0, top, low), (ranks, bottom, high))
            for write in (False, True):
                # Each rank's array is apart in the file. Column-major: rows vary fastest. The target is the transpose;
                # where layouts suit, it is row-major, so that the same piece is contiguous in both.
                order = (0, 2, 1) if optimised or not write else (0, 1, 2)
                made.append(
                    distributed(
                        shape,
                        "c16",
                        (Block(), Whole(), Whole()),
                        ranks=ranks,
                        order=order,
                        selection=selection,
                        write=write,
                        method="direct",
                        file="target" if write else "source",
                        name="write transposed" if write else "read",
                    )
                )
    return made


def _btio(one: dict[str, Any], seed: int) -> Iterator[Cell]:
    megabytes = 40 * one["points"] ** 3 / 1e6
    for ranks in one["ranks"]:
        for name, method, position in (("two-phase", "two-phase", 1), ("a request a run", "direct", 2)):
            run = functools.partial(_btio_seconds, ranks, method, one["points"], "sp2", seed)
            yield _in_order(one, f"BTIO class A, {ranks} processors", name, position, run)
    for rate, method in ((one["original"], "direct"), (one["optimised"], "two-phase")):
        middle = (rate[0] + rate[1]) / 2
        run = functools.partial(_btio_seconds, 16, method, one["points"], "sp2", seed)
        setting = "BTIO class A, middle of the stated rates"
        yield Cell(PAPER, one["figure"], setting, method, megabytes / middle, run, said=one["said"])


def _btio_seconds(ranks: int, method: str, points: int, machine: str, seed: int) -> float:
    operations = [one.by(method) for one in btio(ranks, points=points)]
    return simulate(operations, machine, ranks=ranks, seed=seed).seconds


def _ast(one: dict[str, Any], seed: int) -> Iterator[Cell]:
    for ranks in one["ranks"]:
        for name, servers, method, position in (
            ("two-phase, 16 I/O nodes", 16, "two-phase", 1),
            ("small requests, 64 I/O nodes", 64, "direct", 2),
        ):
            run = functools.partial(_ast_seconds, ranks, servers, method, one["extent"], seed)
            yield _in_order(one, f"AST, {ranks} processors", name, position, run)


def _ast_seconds(*what: Any) -> float:
    ranks, servers, method, extent, seed = what
    rules = (Block(), Block())
    operation = distributed((extent, extent), "f8", rules, ranks=ranks, order="F", write=True, method=method)
    return simulate(operation, "paragon", ranks=ranks, seed=seed, settings={"servers.count": servers}).seconds


def _cluster(one: dict[str, Any], seed: int) -> Iterator[Cell]:
    for ranks in one["ranks"]:
        for name, machine, position in (("Linux cluster", "linux-cluster-2002", 1), ("SP-2", "sp2", 2)):
            run = functools.partial(_remaining_part, ranks, one["points"], machine, seed)
            yield _in_order(one, f"BTIO, {ranks} processors, time left by two-phase", name, position, run)


def _remaining_part(ranks: int, points: int, machine: str, seed: int) -> float:
    """Return the time of two-phase as a part of the time of a request a run."""
    by: Sequence[float] = [_btio_seconds(ranks, method, points, machine, seed) for method in ("two-phase", "direct")]
    return by[0] / by[1]
