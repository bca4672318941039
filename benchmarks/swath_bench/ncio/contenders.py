"""The contenders: Swath by each of its methods, and MPI-IO in each of its modes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import swath
from swath.array.plan import Plan
from swath.ranks.ranks import Ranks
from swath.space import Block, Cyclic, Distribution, Whole
from swath_bench.measure import VALUE_BYTES, VALUE_DTYPE
from swath_bench.ncio.pattern import Pattern, Values

if TYPE_CHECKING:
    from mpi4py import MPI


class Contender(Protocol):
    """One way of moving the regions of one file; every rank has one."""

    name: str
    family: str
    peer: bool

    def operation(self, pattern: Pattern, direction: str, memory: Values) -> Callable[[], object]:
        """Return a function that moves this rank's regions between the file and `memory`, of `pattern.memory_shape`.

        Raises ArgumentError, MPI.Exception and the like, on every rank, if it cannot express that.
        """

    def sync(self) -> None:
        """Collective. Sync the writes to the medium."""

    def predicted_seconds(self) -> float | None:
        """Return its prediction for the last operation; None if it makes none."""

    def chosen(self) -> str | None:
        """Return the method of the last operation, if it chooses one."""

    def hints(self) -> dict[str, str]:
        """Return the hints in force."""

    def close(self) -> None:
        """Collective."""


class SwathContender:
    """Swath by one method. The array is the whole file, spacing included; see `Pattern`.

    Each has a separate array, so "auto" learns only from its own operations.
    """

    family = "swath"
    peer = False

    def __init__(self, method: str, ranks: Ranks, path: str, pattern: Pattern) -> None:
        self.name = f"swath {method}"
        self._method = method
        self._array = swath.open(path, shape=pattern.file_shape, dtype=VALUE_DTYPE, mode="r+", comm=ranks)

    def operation(self, pattern: Pattern, direction: str, memory: Values) -> Callable[[], object]:
        """Read into, or write from, the regions' columns of `memory`."""
        given = {"selection": selection_of(pattern), "method": self._method}
        regions = memory[:, : pattern.units]
        if direction == "read":
            return functools.partial(self._array.read, distribution_of(pattern), out=regions, **given)
        return functools.partial(self._array.write, regions, distribution_of(pattern), **given)

    def sync(self) -> None:
        """Collective: one rank of a node syncs."""
        self._array.sync()

    def predicted_seconds(self) -> float | None:
        """Return the prediction of the executed plan."""
        plan = self._array.last_plan
        return None if plan is None else plan.seconds

    def conditions(self, pattern: Pattern, direction: str) -> dict[str, str]:
        """Return the engine, and the plan's note on the profile of its prices."""
        told = re.search(r"priced from\s+([^;\n]*)", str(self._plan(pattern, direction)))
        return {"engine": self._array.engine, "profile used": told[1].strip() if told else "none"}

    def _plan(self, pattern: Pattern, direction: str) -> Plan:
        return self._array.explain(
            distribution_of(pattern), selection=selection_of(pattern), method=self._method, write=direction == "write"
        )

    def chosen(self) -> str | None:
        """Return the method that "auto" took."""
        return self._array.counters.method if self._method == "auto" else None

    def hints(self) -> dict[str, str]:
        """None."""
        return {}

    def close(self) -> None:
        """Collective."""
        self._array.close()


def distribution_of(pattern: Pattern) -> Distribution:
    """Return which rows of the file each rank has."""
    return Distribution((Cyclic(1) if pattern.file_spaced else Block(), Whole()), grid=(pattern.ranks, 1))


def selection_of(pattern: Pattern) -> Any:
    """Return the regions' columns."""
    return np.s_[:, : pattern.units]


class MpiContender:
    """MPI-IO in one mode: independent or collective, with hints. Views are set when the file is opened: not timed."""

    peer = True

    def __init__(self, mode: str, hints: Mapping[str, str], comm: MPI.Intracomm, path: str, pattern: Pattern) -> None:
        """Collective. Set the view: in a noncontiguous file one region resized to the distance of two."""
        from mpi4py import MPI

        self.family = mpi_family()
        self.name = f"{self.family} {mode}"
        self._collective = mode.startswith("collective")
        self._types: list[MPI.Datatype] = []
        info = MPI.Info.Create()
        for hint, value in hints.items():
            info.Set(hint, value)
        self._file = MPI.File.Open(comm, path, MPI.MODE_RDWR, info)
        info.Free()
        offset = pattern.first_element(comm.rank) * VALUE_BYTES
        if not pattern.file_spaced:
            self._file.Set_view(offset, MPI.INT64_T, MPI.INT64_T, "native")
            return
        region = MPI.INT64_T.Create_contiguous(pattern.units)
        regions = region.Create_resized(0, pattern.file_shape[1] * pattern.ranks * VALUE_BYTES).Commit()
        self._file.Set_view(offset, MPI.INT64_T, regions, "native")
        region.Free()
        regions.Free()

    def operation(self, pattern: Pattern, direction: str, memory: Values) -> Callable[[], object]:
        """Return the call, with noncontiguous memory as one vector datatype, as in the paper."""
        from mpi4py import MPI

        name = ("Read_at" if direction == "read" else "Write_at") + ("_all" if self._collective else "")
        buffer: list[Any] = [memory, pattern.count * pattern.units, MPI.INT64_T]
        if pattern.memory_noncontiguous:
            vector = MPI.INT64_T.Create_vector(pattern.count, pattern.units, pattern.memory_shape[1]).Commit()
            self._types.append(vector)
            buffer = [memory, 1, vector]
        return functools.partial(getattr(self._file, name), 0, buffer)

    def sync(self) -> None:
        """Collective: MPI_File_sync."""
        self._file.Sync()

    def predicted_seconds(self) -> float | None:
        """Return None: there is no prediction."""
        return None

    def chosen(self) -> str | None:
        """It does not tell."""
        return None

    def hints(self) -> dict[str, str]:
        """Return the hints in the form that the library accepted."""
        info = self._file.Get_info()
        taken = {key: value.strip() for key, value in info.items()}
        info.Free()
        return taken

    def close(self) -> None:
        """Collective."""
        self._file.Close()
        for datatype in self._types:
            datatype.Free()


def mpi_family() -> str:
    """Return the installed MPI: "mpich" or "openmpi"."""
    from swath.ranks import mpi

    return "openmpi" if "Open MPI" in mpi.library_version() else "mpich"


def mpi_modes(ranks: int) -> dict[str, dict[str, str]]:
    """Return the modes of MPI-IO that are tried, and their hints in ROMIO's names.

    By default one rank of a node aggregates; in the mode with that name, all do.
    """
    collective = {"romio_cb_read": "enable", "romio_cb_write": "enable"}
    unsieved = {"romio_ds_read": "disable", "romio_ds_write": "disable"}
    return {
        "independent, sieving": {"romio_ds_read": "enable", "romio_ds_write": "enable"},
        "independent, no sieving": unsieved,
        "collective, automatic": {"romio_cb_read": "automatic", "romio_cb_write": "automatic"},
        "collective, enabled": collective,
        "collective, no sieving": {**collective, **unsieved},
        "collective, all aggregate": {**collective, "cb_config_list": "*:*", "cb_nodes": str(ranks)},
    }
