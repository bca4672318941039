"""Operations of a run in a table: how many, how long, how many bytes (as in Kandaswamy et al. 2002)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from swath.trace.reading import Event, ProcessTrace

BYTES = {"read": "read_bytes", "write": "written_bytes"}


@dataclass
class Operations:
    """All calls of one kind.

    Attributes:
        category: who made them: "swath", "posix", "mpi-io".
        name: "read", "write", "open", "sync", …
        calls: how many, of all processes together.
        seconds: how long they took, of all processes together.
        bytes: that they moved between the program and files.
        failed: how many of them failed.
    """

    category: str
    name: str
    calls: int = 0
    seconds: float = 0.0
    bytes: int = 0
    failed: int = 0

    def add(self, event: Event) -> None:
        """Count one call."""
        self.calls += 1
        self.seconds += event.seconds
        self.bytes += int(event.arguments.get(BYTES.get(self.name, ""), 0))
        self.failed += "error" in event.arguments


@dataclass(frozen=True)
class OperationsTable:
    """What the processes of a run did with files.

    Attributes:
        processes: how many there are traces of.
        execution_seconds: of all processes together, each from its first event to its end.
        operations: of each kind, those that took longest first.
        cut: why there may have been more, of each process whose trace is not complete.
    """

    processes: int
    execution_seconds: float
    operations: tuple[Operations, ...]
    cut: tuple[str, ...]

    @property
    def io_seconds(self) -> float:
        """Return how long all operations took together."""
        return sum(one.seconds for one in self.operations)


def operations_table(traces: Sequence[ProcessTrace]) -> OperationsTable:
    """Return the table of a run.

    Args:
        traces: of its processes, from `swath.trace.reading.read_trace`.
    """
    kinds: dict[tuple[str, str], Operations] = {}
    for event in (event for trace in traces for event in trace.events):
        key = (event.category, event.name)
        kinds.setdefault(key, Operations(*key)).add(event)
    processes: dict[tuple[int, int], list[ProcessTrace]] = {}
    for trace in traces:  # file calls and operations of a process have a file each
        processes.setdefault((trace.rank, trace.process), []).append(trace)
    return OperationsTable(
        len(processes),
        sum(map(_execution_seconds, processes.values())),
        tuple(sorted(kinds.values(), key=lambda one: -one.seconds)),
        tuple(f"{trace.path}: {trace.cut}" for trace in traces if trace.cut),
    )


def _execution_seconds(traces: Sequence[ProcessTrace]) -> float:
    """Return how long a process ran, from its first event to its end."""
    began = [one for trace in traces for one in (trace.began, *(event.began for event in trace.events))]
    ended = [one for trace in traces for one in (trace.began, trace.ended or 0.0, *_ends(trace.events))]
    return max(ended) - min(began)


def _ends(events: Iterable[Event]) -> Iterable[float]:
    return (event.began + event.seconds for event in events)
