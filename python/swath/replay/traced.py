"""The actions of a run that Swath has traced: exact operations, and the program's own file calls."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from swath.errors import UnsupportedError
from swath.replay.actions import UNKNOWN, Action, said_of_left_out
from swath.trace.log import Indices
from swath.trace.reading import Event, ProcessTrace, is_operation, operation

IDENTITY = re.compile(r"(.*) \((?:[^()]|\([^()]*\))*, layout [0-9a-f]{16}(?:, opened as number \d+)?\)", re.DOTALL)
"""The identity of an array in a trace: its file, with the variable, then its form (swath.formats.identity)."""
NEW_FILE = re.compile(r"(^|/)\.([^/]+)\.swath-[0-9a-f]{12}$")
"""The name of a new file that is not complete."""
LAUNCHER_PART = 0.01
"""A second process of a rank with a smaller part of all bytes is taken for a launcher."""
SYSTEM = ("posix", "stdio")
MPI_IO = "mpi-io"
FILE_CALLS = frozenset(
    {"open", "close", "read", "write", "copy", "seek", "sync", "flush", "stat", "truncate", "unlink"}
)


@dataclass
class TracedRun:
    """What traces say, in the form of a run.

    Attributes:
        actions: the actions of each rank.
        files: the paths of the files.
        operations: the exact operations.
        notes: what is left out.
    """

    actions: list[list[Action]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    operations: list[bytes] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def actions_of_traces(traces: Sequence[ProcessTrace]) -> TracedRun:
    """Return the actions of the ranks.

    Raises:
        UnsupportedError: ranks exchange data in a way that a replay cannot repeat.
    """
    ranks, notes = _taking_part(_ranks([trace for trace in traces if trace.events]))
    began = min((trace.events[0].began for of_rank in ranks for trace in of_rank), default=0.0)
    began = min([began, *(trace.began for of_rank in ranks for trace in of_rank if trace.began)])
    reader = _Reader(ranks, began)
    reader.match_operations()
    actions = [[one for trace in of_rank for one in reader.actions_of(trace)] for of_rank in ranks]
    notes += [*reader.notes, *said_of_left_out(reader.left_out)]
    return TracedRun(actions, [str(name) for name in reader.files], list(reader.operations), notes)


def _ranks(traces: list[ProcessTrace]) -> list[list[ProcessTrace]]:
    """Return the traces of each rank. Processes of one rank that run at the same time become different ranks.

    A process has several traces if several of its libraries are traced.
    """
    processes: dict[tuple[int, int], list[ProcessTrace]] = {}
    for trace in traces:
        processes.setdefault((trace.rank, trace.process), []).append(trace)
    found: list[list[ProcessTrace]] = []
    for (rank, _), of_process in sorted(processes.items(), key=lambda one: (one[0][0], _began(one[1]))):
        if found and found[-1][0].rank == rank and _ended(found[-1]) <= _began(of_process):
            found[-1] += of_process
        else:
            found.append(of_process)
    return found


def _began(traces: list[ProcessTrace]) -> float:
    return min(event.began for trace in traces for event in trace.events)


def _ended(traces: list[ProcessTrace]) -> float:
    return max(event.began + event.seconds for trace in traces for event in trace.events)


def _taking_part(ranks: list[list[ProcessTrace]]) -> tuple[list[list[ProcessTrace]], list[str]]:
    """Return the ranks without launchers: processes that have the number of a rank, and hardly any of its bytes.

    If there are collective operations, only the processes that take part in them are ranks. Otherwise, if a launcher
    of MPI has said to some processes how many ranks there are, the others are none.
    """
    every = [[event for trace in of_rank for event in trace.events] for of_rank in ranks]
    takes_part = [any(_is_carried_out(one) and one.arguments["ranks"] > 1 for one in events) for events in every]
    if not any(takes_part):
        were_told = [any(trace.ranks for trace in of_rank) for of_rank in ranks]
        may_be = were_told if any(were_told) else [True] * len(ranks)
        moved = [sum(map(_moved_bytes, events)) if may else -1 for events, may in zip(every, may_be, strict=True)]
        least = LAUNCHER_PART * sum(count for count in moved if count > 0)
        most: dict[int, int] = {}
        for of_rank, count in zip(ranks, moved, strict=True):
            most[of_rank[0].rank] = max(most.get(of_rank[0].rank, 0), count)
        takes_part = [
            count == most[of_rank[0].rank] or count > least for of_rank, count in zip(ranks, moved, strict=True)
        ]
    found = [of_rank for of_rank, takes in zip(ranks, takes_part, strict=True) if takes]
    less = len(ranks) - len(found)
    return found, [f"processes that are taken for launchers of the ranks, and are not replayed: {less}"] if less else []


def _moved_bytes(event: Event) -> int:
    return int(event.arguments.get("read_bytes", 0)) + int(event.arguments.get("written_bytes", 0))


class _Reader:
    """Turns events into actions."""

    def __init__(self, ranks: list[list[ProcessTrace]], began: float) -> None:
        self.files: Indices = Indices()
        self.operations: dict[bytes, int] = {}
        self.notes: list[str] = []
        self.left_out: Counter[str] = Counter()
        self._ranks = ranks
        self._began = began
        self._of_event: dict[int, int] = {}  # operations, by the id of the event
        traces = [trace for of_rank in ranks for trace in of_rank]
        events = [event for one in traces for event in one.events]
        self._of_system = {
            str(event.arguments.get("path", ""))
            for event in events
            if event.category in SYSTEM and event.name in ("read", "write", "copy")
        }
        paths = {str(event.arguments["path"]) for event in events if "path" in event.arguments}
        self._paths = final_paths(paths | {array.identity for one in traces for array in one.arrays.values()})

    def match_operations(self) -> None:
        """Find the exact operation of each event: of a collective one with the shares of all ranks."""
        collective = []
        for of_rank in self._ranks:
            own = [(trace, event) for trace in of_rank for event in trace.events if _is_carried_out(event)]
            for trace, event in own:
                if event.arguments["ranks"] == 1:
                    self._of_event[id(event)] = self._number([(trace, event)])
            collective.append([pair for pair in own if pair[1].arguments["ranks"] > 1])
        if any(collective):
            self._match_collective(collective)

    def _match_collective(self, collective: list[list[tuple[ProcessTrace, Event]]]) -> None:
        sizes = {event.arguments["ranks"] for of_rank in collective for _, event in of_rank}
        if sizes != {len(collective)} or not all(collective):
            raise UnsupportedError(
                f"replay: the trace has {len(collective)} processes, and operations of communicators of "
                f"{', '.join(map(str, sorted(sizes)))} ranks: only operations of all processes can be replayed"
            )
        least = min(map(len, collective))
        if any(len(of_rank) > least for of_rank in collective):
            self.notes.append(f"the ranks' traces differ in their numbers of operations: {least} are replayed")
        known: dict[tuple[str, ...], int] = {}
        for pairs in zip(*(of_rank[:least] for of_rank in collective), strict=True):
            keys = tuple(str(event.arguments["operation"]) for _, event in pairs)
            if keys not in known:
                known[keys] = self._number(pairs)
            for _, event in pairs:
                self._of_event[id(event)] = known[keys]

    def _number(self, pairs: Sequence[tuple[ProcessTrace, Event]]) -> int:
        exact = operation(pairs).serialise()
        return self.operations.setdefault(exact, len(self.operations))

    def actions_of(self, trace: ProcessTrace) -> list[Action]:
        """Return the actions of a process."""
        return [one for event in trace.events if (one := self._action(trace, event)) is not None]

    def _action(self, trace: ProcessTrace, event: Event) -> Action | None:
        args = event.arguments
        if "error" in args:
            return self._left_out(f"{event.name} that failed")
        if is_operation(event):
            number = self._of_event.get(id(event))
            if number is None:
                return self._left_out("operations that other ranks' traces do not have")
            array = trace.arrays[trace.operations[args["operation"]].array]
            moved = int(args.get("read_bytes" if event.name == "read" else "written_bytes", 0))
            file = self.files[self._paths[array.identity]]
            return Action(
                "operation",
                "swath",
                file,
                length=moved,
                direction=event.name,
                operation=number,
                seconds=event.seconds,
                began=event.began - self._began,
            )
        if event.category == "swath":
            return self._swath_action(event)
        if event.category == MPI_IO and args.get("path") in self._of_system:
            return None  # the calls on the file system that it made are in the trace
        if event.name not in FILE_CALLS or "path" not in args:
            return self._left_out(event.name)
        if event.category == MPI_IO and event.name in ("read", "write") and "offset" not in args:
            return self._left_out(f"{event.name} of MPI-IO at offsets that the trace does not have")
        return Action(
            "write" if event.name == "copy" else event.name,
            "posix" if event.category == MPI_IO else event.category,
            self.files[self._paths[str(args["path"])]],
            int(args.get("offset", UNKNOWN)),
            _moved_bytes(event),
            flags=int(args.get("flags", UNKNOWN)),
            seconds=event.seconds,
            began=event.began - self._began,
        )

    def _swath_action(self, event: Event) -> Action | None:
        """Return the action of an event of Swath that is not an operation."""
        args = event.arguments
        if event.name == "open":
            return None  # a replay opens the files of Swath before it begins
        file = self.files[self._paths[str(args["path"])]]
        if event.name == "sync":
            return Action("sync", "swath", file, seconds=event.seconds, began=event.began - self._began)
        moved = int(args.get("read_bytes" if event.name == "read" else "written_bytes", 0))
        if "offset" not in args:
            return self._left_out(f"{event.name} of MPI-IO at offsets that the trace does not have")
        return Action(
            event.name,
            "posix",
            file,
            int(args["offset"]),
            moved,
            seconds=event.seconds,
            began=event.began - self._began,
        )

    def _left_out(self, what: str) -> Action | None:
        self.left_out[what] += 1
        return None


def final_paths(names: Collection[str]) -> dict[str, str]:
    """Return the path of the file of each name.

    Args:
        names: paths of files, also relative ones and those of new files, and identities of arrays, which begin with the
            path of their file.
    """
    made = {name: NEW_FILE.sub(r"\1\2", name) for name in names}
    paths = sorted({made[name] for name in names if not IDENTITY.fullmatch(name)}, key=len, reverse=True)
    for name in names:
        if identity := IDENTITY.fullmatch(name):
            array = identity[1]
            known = (path for path in paths if array == path or array.startswith(f"{path}:"))
            made[name] = next(known, array if array.startswith("rados:") else array.partition(":")[0])
    absolute = {path for path in made.values() if path.startswith("/")}
    for name, path in made.items():
        ends = [one for one in absolute if one.endswith(f"/{path}")]
        if len(ends) == 1:
            made[name] = ends[0]
    return made


def _is_carried_out(event: Event) -> bool:
    return is_operation(event) and "error" not in event.arguments
