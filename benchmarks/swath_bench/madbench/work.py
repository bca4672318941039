"""The work of a task between its transfers: it computes, or sleeps for the same time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

import swath
from swath import _core
from swath.ranks.ranks import Ranks, ranks_of
from swath.space import Distribution
from swath_bench.madbench import algebra
from swath_bench.madbench.options import Options
from swath_bench.madbench.problem import Values
from swath_bench.measure import WrongDataError

RELATIVE_MAX = 1e-8
"""Largest difference of a result from NumPy's, as a part of NumPy's largest element."""


class Work(Protocol):
    """The computation of one task. All tasks call the collective methods, in the same order."""

    def lasting(self, phase: str, bins: range) -> contextlib.AbstractContextManager[None]:
        """The block takes as long as the flops of this step do."""
        ...

    def chunk(self, number: int) -> Values:
        """Return this task's rows of the matrix of bin `number`, which dSdC writes."""
        ...

    def add_to_data_correlation(self, bins: range, chunks: list[Values]) -> None:
        """invD: D += C_b dSdC_b. Collective."""
        ...

    def invert(self) -> None:
        """invD, at its end: the inverse of D. Collective."""
        ...

    def multiply(self, bins: range, chunks: list[Values]) -> None:
        """W: D⁻¹ dSdC_b, one bin in each gang. Collective."""
        ...

    def finish(self) -> dict[str, Any]:
        """Return the results as plain data, verified if requested. Collective."""
        ...


class Sleeping:
    """I/O-only mode: numbers that identify their position, and sleep."""

    def __init__(self, ranks: Ranks, options: Options) -> None:
        self._rank, self._options = ranks.rank, options
        self._problem = options.problem

    @contextlib.contextmanager
    def lasting(self, phase: str, bins: range) -> Iterator[None]:
        """Making and checking data is part of this time."""
        flops = self._problem.step_flops(phase, bins)
        if phase == "invD" and bins.stop == self._problem.bins:
            flops += self._problem.inverse_flops
        until = _core.clock_now() + flops / self._options.flops_rate
        yield
        _core.clock_sleep_until(until)

    def chunk(self, number: int) -> Values:
        """See `Problem.pattern`."""
        return self._problem.pattern(self._rank, number)

    def add_to_data_correlation(self, bins: range, chunks: list[Values]) -> None:
        """Do nothing: only the I/O is measured."""

    def invert(self) -> None:
        """Do nothing: only the I/O is measured."""

    def multiply(self, bins: range, chunks: list[Values]) -> None:
        """Do nothing: only the I/O is measured."""

    def finish(self) -> dict[str, Any]:
        """Do nothing: only the I/O is measured."""
        return {}


class Computing:
    """Compute mode: the matrices of `algebra`."""

    def __init__(self, ranks: Ranks, options: Options) -> None:
        problem = options.problem
        self._ranks, self._options, self._problem = ranks, options, problem
        self._where = algebra.directions(problem.pixels, options.seed)
        self._rows = slice(*problem.rows(ranks.rank))
        self._all = algebra.BlockCyclicRows(ranks, problem.pixels, problem.block)
        self._gang = problem.gang_of(ranks.rank)
        gang_ranks = ranks if problem.gangs == 1 else _split(ranks, self._gang)
        self._of_gang = algebra.BlockCyclicRows(gang_ranks, problem.pixels, problem.block)
        # D, then its inverse; among all tasks until the end of invD, then in every gang.
        self._matrix = np.zeros((self._all.rows.size, problem.pixels))
        algebra.add_noise(self._matrix, self._all)
        self._traces: dict[int, float] = {}
        self._products: dict[int, Values] = {}  # kept only to be verified

    def lasting(self, phase: str, bins: range) -> contextlib.AbstractContextManager[None]:
        """Let a step last as long as it takes."""
        del phase, bins
        return contextlib.nullcontext()

    def chunk(self, number: int) -> Values:
        """See `algebra.signal_derivative`."""
        return algebra.signal_derivative(number, self._rows, self._where)

    def add_to_data_correlation(self, bins: range, chunks: list[Values]) -> None:
        """Collective. See `Work`."""
        for number, chunk in zip(bins, chunks, strict=True):
            self._matrix += algebra.power(number) * self._dealt(chunk, self._problem.dealt())

    def invert(self) -> None:
        """Collective. See `Work`."""
        algebra.invert(self._matrix, self._all)
        everywhere, mine = self._problem.dealt(), self._matrix
        for gang in range(self._problem.gangs) if self._problem.gangs > 1 else ():
            new = self._moved(mine, everywhere, self._problem.dealt(gang))
            self._matrix = new if gang == self._gang else self._matrix

    def multiply(self, bins: range, chunks: list[Values]) -> None:
        """Collective. See `Work`."""
        for gang, (number, chunk) in enumerate(zip(bins, chunks, strict=True)):
            rows = self._dealt(chunk, self._problem.dealt(gang))
            if gang == self._gang:
                own, derivative = number, rows
        if self._gang >= len(bins):  # fewer bins are left than gangs
            return
        product = algebra.multiply(self._matrix, derivative, self._of_gang)
        self._traces[own] = float(product[np.arange(len(product)), self._of_gang.rows].sum())
        if self._options.verify:
            self._products[own] = product

    def finish(self) -> dict[str, Any]:
        """Collective. Return the traces of all W_b. Raises WrongDataError on every rank if --verify fails."""
        of_ranks = self._ranks.gather_objects(self._traces)
        traces = [sum(t.get(number, 0.0) for t in of_ranks) for number in range(self._problem.bins)]
        if not self._options.verify:
            return {"traces": traces}
        return {"traces": traces, "relative_errors": self._relative_errors()}

    def _dealt(self, chunk: Values, target: Distribution) -> Values:
        return self._moved(chunk, self._problem.chunks, target)

    def _moved(self, values: Values, source: Distribution, target: Distribution) -> Values:
        shape = self._problem.matrix_shape
        own = source.local_shape(shape, self._ranks.rank)
        return swath.redistribute(
            values if values.size else values.reshape(own), source, target, shape, comm=self._ranks
        )

    def _relative_errors(self) -> dict[str, float]:
        """Collective. Compare full matrices on rank 0 with numpy.linalg.inv and @; raises WrongDataError on all."""
        problem, n = self._problem, self._problem.pixels
        everything = slice(0, n)
        first_alone = Distribution(problem.dealt().rules, (1, 1), (0,))
        expected: Values = np.empty((0, n))
        if self._ranks.rank == 0:
            data = algebra.NOISE_VARIANCE * np.identity(n)
            for number in range(problem.bins):
                data += algebra.power(number) * algebra.signal_derivative(number, everything, self._where)
            expected = np.asarray(np.linalg.inv(data))
        source = problem.dealt(0 if problem.gangs > 1 else None)
        mine = self._matrix if self._gang == 0 else np.empty((0, n))
        errors = {"inverse": _relative(self._moved(mine, source, first_alone), expected)}
        for number in range(problem.bins):
            gang = number % problem.gangs
            product = self._products.get(number, np.empty((0, n)))
            found = self._moved(product, problem.dealt(gang), first_alone)
            if self._ranks.rank == 0:
                of_numpy = expected @ algebra.signal_derivative(number, everything, self._where)
                errors["products"] = max(errors.get("products", 0.0), _relative(found, of_numpy))
        told: dict[str, float] = self._ranks.gather_objects(errors)[0]
        if not max(told.values()) <= RELATIVE_MAX:
            raise WrongDataError(f"madbench: wrong results: relative errors beside NumPy {told}")
        return told


def _relative(found: Values, expected: Values) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max()) if expected.size else 0.0


def _split(ranks: Ranks, gang: int) -> Ranks:
    """Collective. The ranks of this rank's gang."""
    from mpi4py import MPI

    return ranks_of(MPI.COMM_WORLD.Split(gang, ranks.rank))
