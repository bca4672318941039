"""The number of streams that a target serves at a time: settings, `swath.stream` for any I/O, and the decisions.

Streams of one job share the tokens of each target (a disk, a server) of their files; the number of tokens is found
during the run, from the throughput (core/throttle/controller.h). The idea: Seelam, Kerstens and Teller, "Throttling I/O
Streams to Accelerate File-IO Performance" (sections 3 and 8).
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import functools
import os
import time
from typing import Any, NamedTuple

from swath import _core
from swath.base import stored_path
from swath.base.stream_settings import BURST_BYTES, Settings, Streams, settings_for
from swath.errors import ArgumentError, StoreError
from swath.ranks import mpi
from swath.store import profile
from swath.throttle import learned_streams

MODEL = "model:"
"""The prefix of the engines of modelled disks, and of their targets."""
COLD_AT_MOST = 0.25
"""The largest cached part of a file for which a read measures the device."""


@dataclasses.dataclass(frozen=True)
class Decision:
    """One change of a target's limit, and the evidence for it.

    Attributes:
        time: seconds of the clock that streams wait by.
        direction: "read" or "write".
        requests: the size of the requests: "large" (1 MiB and more), "medium" or "small" (up to 64 KiB).
        from_limit, to_limit: streams at a time; 0: no limit.
        reason: as text.
        samples: the number of bursts that were measured at `from_limit`.
        rate, rate_error: bytes per second of all streams together there, and its standard error as a part of it.
        to_rate: bytes per second at `to_limit`, 0 if it was not measured.
    """

    time: float
    direction: str
    requests: str
    from_limit: int
    to_limit: int
    reason: str
    samples: int
    rate: float
    rate_error: float
    to_rate: float

    def __str__(self) -> str:
        """Return one line: "read, large requests: all -> 1: measure; 14.2 MB/s (± 3 %, 16 bursts)"."""
        line = f"{self.direction}, {self.requests} requests: {_limit_text(self.from_limit)} -> "
        line += f"{_limit_text(self.to_limit)}: {self.reason}"
        if self.samples:
            line += f"; {self.rate / 1e6:.1f} MB/s (± {self.rate_error:.0%}, {self.samples} bursts)"
        if self.to_rate and self.to_limit != self.from_limit:
            line += f" against {self.to_rate / 1e6:.1f}"
        return line


@dataclasses.dataclass(frozen=True)
class PatternStatus:
    """The state of streams with one size of requests; `Decision` explains the terms.

    Attributes:
        limit: streams at a time; 0: no limit.
        holding: whether it is decided, not being looked for.
        rate: bytes a second that are expected at the limit; 0: not known.
        unlimited_streams: streams at a time where there is no limit.
    """

    requests: str
    limit: int
    holding: bool
    rate: float
    unlimited_streams: float


@dataclasses.dataclass(frozen=True)
class LaneStatus:
    """Reads or writes of a target: streams with a token now, those that wait, and totals.

    Attributes:
        grants: the tokens that were given; `waits` of them after a wait, `wait_seconds` together.
        taken_back: tokens from processes that died, or kept them for too long.
    """

    active: int
    waiting: int
    grants: int
    waits: int
    wait_seconds: float
    wait_seconds_max: float
    taken_back: int
    patterns: list[PatternStatus]


@dataclasses.dataclass(frozen=True)
class TargetStatus:
    """A target now. `streams` counts open ones, also idle; `decisions` are the latest."""

    target: str
    scope: str
    streams: int
    reads: LaneStatus
    writes: LaneStatus
    decisions: list[Decision]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return dataclasses.asdict(self)


class Coordinator(NamedTuple):
    """The process of a job that serves a target's tokens to other nodes: its address, and its password."""

    host: str
    port: int
    key: str


class Throttle:
    """The tokens of a path's target, as one open array or `swath.stream` uses them.

    Attributes:
        reason: why fewer processes share these tokens than should, else empty.
    """

    def __init__(self, path: str, settings: Settings, target: str, coordinator: Coordinator | None = None) -> None:
        self.settings = settings
        self._path = path
        # Numbers that are learned from a modelled disk do not apply to the store under it.
        self._is_real = not _core.clock_is_simulated() and not target.startswith(MODEL)
        unreachable = ""
        if coordinator is not None:
            try:
                self._tokens, self.reason = _remote_tokens(coordinator, target), ""
                return
            except StoreError as error:
                unreachable = f"{error}; this node counts its own streams only"
        self._tokens, reason = _core.node_tokens(_scope_name(settings.scope), target)
        self.reason = unreachable or reason
        if self._is_real:
            learned_streams.recall(path, target, self._tokens)

    @property
    def tokens(self) -> _core.Tokens:
        """This process's handle of the tokens: a forked child has another one than its parent."""
        self._tokens = self._tokens.for_this_process()
        return self._tokens

    @property
    def limits(self) -> _core.ThrottleOptions:
        """Return the limits of the settings."""
        settings = self.settings
        return _core.ThrottleOptions(settings.reads, settings.writes, settings.burst_bytes)

    @property
    def status(self) -> TargetStatus:
        """The target now."""
        return _status_of(self.tokens.status())

    def keep(self) -> None:
        """Save the learned numbers for the store."""
        if self._is_real:
            learned_streams.keep(self._path, self.status)


class stream(contextlib.ContextDecorator):  # noqa: N801 - used as a statement: with swath.stream(path)
    """A block of any I/O as one stream: it waits for a token of the target of `path`.

        with swath.stream("run.h5"):
            x = h5py.File("run.h5")["x"][rank]

        @swath.stream("/scratch/me")
        def load(): ...

    A block is one burst: read several MiB in each, and do not wait for other ranks inside. There is no deadlock: a
    token that is kept for more than a minute goes to the next stream.

    Args:
        path: the file, or its folder.
        direction: "read" or "write". Writes are throttled only if `streams` or the settings ask for it.
        nbytes: the bytes that the block moves; the default is the kernel's count for this thread.
        streams: see `swath.open`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        direction: str = "read",
        *,
        nbytes: int | None = None,
        streams: Streams = "default",
    ) -> None:
        if direction not in ("read", "write"):
            raise ArgumentError(f'stream {path}: direction {direction!r}; expected "read" or "write"')
        self._path = os.fsdecode(path)
        self._write = direction == "write"
        self._nbytes = nbytes
        self._streams: Streams = streams
        self._settings = settings_for(streams)
        self._throttle: Throttle | None = None
        self._grant: _core.Grant | None = None
        self._moved_before = 0
        self._from_device = False

    def _recreate_cm(self) -> stream:
        """Return a new block for each call of a decorated function."""
        return stream(self._path, "write" if self._write else "read", nbytes=self._nbytes, streams=self._streams)

    def __enter__(self) -> stream:
        limit = self._settings.writes if self._write else self._settings.reads
        if limit is None:
            return self
        self._throttle = Throttle(self._path, self._settings, self._settings.target or target_of(self._path))
        self._throttle.tokens.enter()
        cached = None if self._write else _cached_part(self._path)
        self._from_device = cached is not None and cached <= COLD_AT_MOST
        if cached != 1:
            try:
                self._grant = self._throttle.tokens.acquire(self._write, self._nbytes or BURST_BYTES, limit)
            except BaseException:  # an interrupt: it is no longer a stream
                self._throttle.tokens.leave()
                self._throttle = None
                raise
        self._moved_before = _moved_by_thread(self._write)
        return self

    def __exit__(self, *raised: object) -> None:
        throttle, self._throttle = self._throttle, None
        if throttle is None:
            return
        if self._grant is not None:
            moved = self._nbytes if self._nbytes is not None else _moved_by_thread(self._write) - self._moved_before
            throttle.tokens.give_back(self._grant, max(moved, 0), self._from_device and raised[0] is None)
            self._grant = None
        throttle.tokens.leave()
        throttle.keep()


def status() -> list[TargetStatus]:
    """Return the targets that processes of this user have open on this node."""
    return status_and_reason()[0]


def status_and_reason() -> tuple[list[TargetStatus], str]:
    """Return the result of `status`, and why it is incomplete; empty if it is complete."""
    all_tokens, reason = _core.status_of_all_tokens()
    return [_status_of(plain) for plain in all_tokens], reason


def trace(path: str | os.PathLike[str], engine: str | None = None) -> list[Decision]:
    """Return the decisions for the target of `path`, by this program and those that it shares tokens with."""
    throttle = throttle_for(os.fsdecode(path), engine)
    return [] if throttle is None else throttle.status.decisions


def throttle_for(
    path: str, engine: str | None = None, streams: Streams = "default", coordinator: Coordinator | None = None
) -> Throttle | None:
    """Return the tokens for an array at `path`; None if nothing is throttled. Raises ArgumentError for wrong settings.

    `coordinator` is the process that serves the tokens, on another node of the job.
    """
    settings = settings_for(streams)
    if settings.off or stored_path.of(path).has_servers:  # each server is a target: `of_servers`
        return None
    return Throttle(path, settings, settings.target or target_of(path, engine), coordinator)


def of_servers(path: str, streams: Streams = "default") -> tuple[str, _core.ThrottleOptions] | None:
    """Return the scope of the tokens of a pool's servers, and the limits of operations; None if nothing is limited.

    Only numbers are limits here: "auto", the default, is for disks. Raises ArgumentError for wrong settings.
    """
    settings = settings_for(streams)
    limits = (settings.reads, settings.direct_writes)
    if not stored_path.of(path).has_servers or not any(limits):
        return None
    return _scope_name(settings.scope), _core.ThrottleOptions(*limits, settings.burst_bytes)


def coordinator_for(path: str, engine: str | None, streams: Streams) -> Coordinator | None:
    """Serve the tokens of a target that all nodes of a job use, from this process; None if each node has its own.

    Call this on one rank of a job on several nodes, and send the result to the others.
    """
    settings = settings_for(streams)
    if settings.off or stored_path.of(path).has_servers:
        return None
    if not (settings.target or _is_seen_by_all_nodes(path)) or _core.clock_is_simulated():
        return None  # a wait for a socket would stop simulated time
    target = settings.target or target_of(path, engine)
    if target not in _servers:
        tokens, _ = _core.node_tokens(_scope_name(settings.scope), target)
        try:
            _servers[target] = _core.TokenServer(tokens)
        except StoreError:
            return None  # each node has its own tokens
    host, port, key = _servers[target].address
    return Coordinator(host, port, key)


_servers: dict[str, _core.TokenServer] = {}
atexit.register(_servers.clear)


@functools.lru_cache(maxsize=64)
def _remote_tokens(coordinator: Coordinator, target: str) -> _core.Tokens:
    return _core.remote_tokens(coordinator.host, coordinator.port, coordinator.key, target)


os.register_at_fork(after_in_child=_servers.clear)  # the serving threads and the sockets belong to the parent
os.register_at_fork(after_in_child=_remote_tokens.cache_clear)


NETWORK_FILE_SYSTEMS = frozenset((
    "nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "beegfs", "ceph", "afs", "pvfs2", "panfs", "wekafs",
    "fuse.glusterfs", "fuse.sshfs", "fuse.juicefs",
))  # fmt: skip


def _is_seen_by_all_nodes(path: str) -> bool:
    try:
        return profile.store_of(path).file_system in NETWORK_FILE_SYSTEMS
    except OSError:
        return False


def target_of(path: str, engine: str | None = None) -> str:
    """Return the name of a path's target: a device, a server; "model:NAME" on a modelled disk.

    A partition counts as the whole disk; a mounted file system without a device counts by its source.
    """
    if engine is not None and engine.startswith(MODEL):
        preset, _, name = engine.removeprefix(MODEL).partition("@")
        return f"{MODEL}{name or preset}"
    pool = stored_path.of(path).pool
    if pool is not None:
        return pool
    try:
        store = profile.store_of(path)
        device = os.stat(store.mount_point).st_dev
    except OSError:
        return "unknown"
    major, minor = os.major(device), os.minor(device)
    if major == 0:  # no block device: NFS, Lustre, FUSE, tmpfs
        server, colon, _ = store.device.partition(":")
        return f"{store.file_system} {server}" if colon and server else f"{store.file_system} {store.mount_point}"
    return f"disk {_whole_disk(major, minor)}"


def _whole_disk(major: int, minor: int) -> str:
    place = os.path.realpath(f"/sys/dev/block/{major}:{minor}")
    if os.path.exists(os.path.join(place, "partition")):
        place = os.path.dirname(place)
    return os.path.basename(place) if os.path.isdir(place) else f"{major}:{minor}"


def _scope_name(scope: str) -> str:
    """Return the name of the scope in which streams are counted together.

    The ranks of a job on a node are children of the one process that started them there, with any communicators. A
    process and
    its forked children are one job: they read the same disk for the same program.
    """
    if _core.clock_is_simulated():
        return f"simulation {os.getpid()}"
    if scope == "user":
        return "user"
    _, ranks = mpi.launcher()
    return f"job {_LAUNCHER}" if ranks > 1 else f"process {_PROCESS}"


def _named(process: int) -> str:
    """Return a process by its number and its start time, in ticks since boot, because numbers are used again."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as status:
            return f"{process} {status.read().rpartition(')')[2].split()[19]}"
    except (OSError, IndexError):
        return f"{process} 0"


# The process that imported this; its forked children have the same values.
_PROCESS = _named(os.getpid())
_LAUNCHER = _named(os.getppid())


def _cached_part(path: str) -> float | None:
    """Return the part of a file that is in the page cache; None for a folder, or if the kernel does not report it."""
    try:
        if not os.path.isfile(path):
            return None
        file = _core.open_file(path, "r", _core.FileOptions("posix"))
        return file.cached_range(0, file.size)
    except Exception:  # noqa: BLE001 - the block itself reports errors of the file
        return None


def _moved_by_thread(write: bool) -> int:
    """Return the bytes that this thread has read, or written, by system calls so far; 0 if it is not known."""
    try:
        with open("/proc/thread-self/io", "rb") as counts:
            counted = dict(line.split(b":") for line in counts)
        return int(counted[b"wchar" if write else b"rchar"])
    except (OSError, KeyError, ValueError):
        return 0


def _limit_text(limit: int) -> str:
    return "all" if limit == 0 else str(limit)


def _status_of(plain: dict[str, Any]) -> TargetStatus:
    lanes = {}
    for name in ("reads", "writes"):
        lane = dict(plain[name])
        lane["patterns"] = [PatternStatus(**pattern) for pattern in lane["patterns"]]
        lanes[name] = LaneStatus(**lane)
    return TargetStatus(
        target=plain["target"],
        scope=plain["scope"],
        streams=plain["streams"],
        decisions=[Decision(**decision) for decision in plain["decisions"]],
        **lanes,
    )


def seconds_ago(decision: Decision) -> float:
    """Return how long ago a decision was made, for a real target."""
    return time.clock_gettime(time.CLOCK_MONOTONIC) - decision.time
