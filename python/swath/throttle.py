"""How many streams a storage target serves at a time: settings, `swath.stream` for anybody's I/O, and what was decided.

Streams of one job share the tokens of each target (a disk, a server) that their files lie on; how many there are is
found while running, from throughput (core/throttle/controller.h). The idea: Seelam, Kerstens and Teller, "Throttling
I/O Streams to Accelerate File-IO Performance" (sections 3 and 8).

Who decides what: the argument `streams=` goes before the environment ($SWATH_STREAMS, $SWATH_STREAMS_SCOPE,
$SWATH_STREAMS_TARGET, $SWATH_STREAMS_BURST), which goes before the file $XDG_CONFIG_HOME/swath/swath.ini:

    [streams]
    streams = auto          ; auto, none, a number, or read=4,write=auto
    scope = job             ; or user: all processes of this user on this node
    target = scratch        ; a name for the target, in place of the device that is found
    burst = 4MiB
"""

from __future__ import annotations

import configparser
import contextlib
import dataclasses
import functools
import os
import re
import time
from collections.abc import Mapping
from typing import Any

from swath import _core, learned_streams, mpi, profile
from swath.errors import ArgumentError

Streams = int | str | Mapping[str, "int | str | None"] | None
"""What `streams=` takes: "auto", None (no limit), a number, or one of these for "read" and for "write"."""

AUTO = 0
"""In a `Limit`: as many as the target's controller says."""
Limit = int | None
BURST_BYTES = 4 << 20
COLD_AT_MOST = 0.25
"""Of a file: the part in the page cache up to which reading it tells of the device."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """How streams are throttled.

    Attributes:
        reads, writes: streams that a target serves at a time; AUTO (0): found while running; None: not throttled.
        scope: "job", or "user" to share tokens with this user's other programs on this node.
        target: the target's name, where it is not to be found out.
        burst_bytes: what a stream moves in one turn, at least.
    """

    reads: Limit = AUTO
    writes: Limit = None
    scope: str = "job"
    target: str | None = None
    burst_bytes: int = BURST_BYTES

    @property
    def off(self) -> bool:
        """Whether nothing is throttled."""
        return self.reads is None and self.writes is None


@dataclasses.dataclass(frozen=True)
class Decision:
    """One change of a target's limit, and the evidence for it.

    Attributes:
        time: seconds of the clock that streams wait by.
        direction: "read" or "write".
        requests: the size of requests that it is for: "large" (1 MiB and more), "medium" or "small" (up to 64 KiB).
        from_limit, to_limit: streams at a time; 0: no limit.
        reason: in words.
        samples: bursts that were measured at `from_limit`.
        rate, rate_error: bytes a second of all streams together there, and its standard error as a part of it.
        to_rate: bytes a second at `to_limit`, 0 where it was not measured.
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
        """One line: "read, large requests: all -> 1: measure; 14.2 MB/s (± 3 %, 16 bursts)"."""
        line = f"{self.direction}, {self.requests} requests: {_limit_text(self.from_limit)} -> "
        line += f"{_limit_text(self.to_limit)}: {self.reason}"
        if self.samples:
            line += f"; {self.rate / 1e6:.1f} MB/s (± {self.rate_error:.0%}, {self.samples} bursts)"
        if self.to_rate and self.to_limit != self.from_limit:
            line += f" against {self.to_rate / 1e6:.1f}"
        return line


@dataclasses.dataclass(frozen=True)
class PatternStatus:
    """What is known of streams with one size of requests; see `Decision` for the words.

    Attributes:
        limit: streams at a time; 0: no limit.
        holding: whether it is settled, not being looked for.
        rate: bytes a second that are expected at the limit; 0: not known.
        crowd: streams at a time where there is no limit.
    """

    requests: str
    limit: int
    holding: bool
    rate: float
    crowd: float


@dataclasses.dataclass(frozen=True)
class LaneStatus:
    """Reads or writes of a target: streams with a token now, those that wait, and what there has been.

    Attributes:
        grants: tokens that were given; `waits` of them after waiting, `wait_seconds` together.
        taken_back: from those that died with one, or kept it for too long.
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
    """A target as it is now. `streams` are open, whether they move anything or not; `decisions` are the latest."""

    target: str
    scope: str
    streams: int
    reads: LaneStatus
    writes: LaneStatus
    decisions: list[Decision]

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return dataclasses.asdict(self)


class Throttle:
    """The tokens of the target that a path lies on, as one open array or `swath.stream` uses them."""

    def __init__(self, path: str, settings: Settings, target: str) -> None:
        self.settings = settings
        self.tokens, self.reason = _core.Tokens.open(_scope_name(settings.scope), target)
        self._path = path
        if not _core.clock_is_simulated():
            learned_streams.recall(path, target, self.tokens)

    @property
    def engine_arguments(self) -> dict[str, Any]:
        """For `_core.open_engine`."""
        settings = self.settings
        return {
            "tokens": self.tokens,
            "reads": settings.reads,
            "writes": settings.writes,
            "burst_bytes": settings.burst_bytes,
        }

    @property
    def status(self) -> TargetStatus:
        """The target as it is now."""
        return _status_of(self.tokens.status())

    def keep(self) -> None:
        """Remember what was learned, with the store."""
        if not _core.clock_is_simulated():
            learned_streams.keep(self._path, self.status)


class stream(contextlib.ContextDecorator):  # noqa: N801 - used as a statement: with swath.stream(path)
    """A block of anybody's I/O as one stream: it waits for a token of the target that `path` lies on.

        with swath.stream("run.h5"):
            x = h5py.File("run.h5")["x"][rank]

        @swath.stream("/scratch/me")
        def load(): ...

    A block is one burst: read a few MiB or more in each, and do not wait for other ranks inside. Nothing waits for
    ever: a token that is kept for longer than a minute is given to the next one.

    Args:
        path: what is read or written, or the folder.
        direction: "read" or "write". Writes are throttled only where `streams` or the settings say so.
        nbytes: how many bytes the block moves; by default what the kernel counted for this thread.
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
        self._path = os.fspath(path)
        self._write = direction == "write"
        self._nbytes = nbytes
        self._settings = settings_for(streams)
        self._throttle: Throttle | None = None
        self._grant: _core.Grant | None = None
        self._moved_before = 0
        self._from_device = False

    def _recreate_cm(self) -> stream:
        """Each call of a decorated function is a block of its own."""
        streams = {"read": self._settings.reads, "write": self._settings.writes}
        again = stream(self._path, "write" if self._write else "read", nbytes=self._nbytes)
        again._settings = dataclasses.replace(self._settings, reads=streams["read"], writes=streams["write"])
        return again

    def __enter__(self) -> stream:
        limit = self._settings.writes if self._write else self._settings.reads
        if limit is None:
            return self
        self._throttle = Throttle(self._path, self._settings, self._settings.target or target_of(self._path))
        self._throttle.tokens.enter()
        cached = None if self._write else _cached_part(self._path)
        self._from_device = cached is not None and cached <= COLD_AT_MOST
        if cached != 1:
            self._grant = self._throttle.tokens.acquire(self._write, self._nbytes or BURST_BYTES, limit)
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
    """Every target that some process of this user has open on this node."""
    return [_status_of(plain) for plain in _core.Tokens.status_of_all()]


def trace(path: str | os.PathLike[str], engine: str | None = None) -> list[Decision]:
    """What was decided for the target that `path` lies on, by this program (and those that it shares tokens with)."""
    throttle = throttle_for(os.fspath(path), engine)
    return [] if throttle is None else throttle.status.decisions


def throttle_for(path: str, engine: str | None = None, streams: Streams = "default") -> Throttle | None:
    """The tokens for an array at `path`; None where nothing is throttled. Raises ArgumentError for wrong settings."""
    settings = settings_for(streams)
    return None if settings.off else Throttle(path, settings, settings.target or target_of(path, engine))


def settings_for(streams: Streams = "default") -> Settings:
    """The settings, with `streams` in place of theirs where it is given. Raises ArgumentError naming the wrong one."""
    settings = _common_settings(*(os.environ.get(variable, "") for variable in VARIABLES.values()), _configured())
    if isinstance(streams, str) and streams == "default":
        return settings
    reads, writes = _limits("streams", streams)
    return dataclasses.replace(settings, reads=reads, writes=writes)


VARIABLES = {
    "streams": "SWATH_STREAMS",
    "scope": "SWATH_STREAMS_SCOPE",
    "target": "SWATH_STREAMS_TARGET",
    "burst": "SWATH_STREAMS_BURST",
}


@functools.lru_cache(maxsize=16)
def _common_settings(
    streams: str, scope: str, target: str, burst: str, configured: tuple[tuple[str, str], ...]
) -> Settings:
    chosen = dict(configured)
    source = dict.fromkeys(chosen, "swath.ini")
    for key, value in zip(VARIABLES, (streams, scope, target, burst), strict=True):
        if value:
            chosen[key], source[key] = value, VARIABLES[key]
    settings = Settings()
    if "streams" in chosen:
        reads, writes = _limits(source["streams"], chosen["streams"])
        settings = dataclasses.replace(settings, reads=reads, writes=writes)
    if "scope" in chosen:
        if chosen["scope"] not in ("job", "user"):
            raise ArgumentError(f'{source["scope"]}: scope {chosen["scope"]!r}; expected "job" or "user"')
        settings = dataclasses.replace(settings, scope=chosen["scope"])
    if "burst" in chosen:
        settings = dataclasses.replace(settings, burst_bytes=_bytes(source["burst"], chosen["burst"]))
    return dataclasses.replace(settings, target=chosen.get("target"))


def _configured() -> tuple[tuple[str, str], ...]:
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(folder):
        folder = os.path.join(os.path.expanduser("~"), ".config")
    file = os.path.join(folder, "swath", "swath.ini")
    try:
        changed = os.stat(file).st_mtime_ns
    except OSError:
        return ()
    return _configuration(file, changed)


@functools.lru_cache(maxsize=4)
def _configuration(file: str, changed: int) -> tuple[tuple[str, str], ...]:
    parser = configparser.ConfigParser(inline_comment_prefixes=(";", "#"))
    try:
        parser.read(file, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError) as error:
        raise ArgumentError(f"{file}: {' '.join(str(error).split())}") from None
    section = parser["streams"] if parser.has_section("streams") else {}
    unknown = sorted(set(section) - set(VARIABLES))
    if unknown:
        raise ArgumentError(f"{file}: [streams] {unknown[0]} is not known; expected {', '.join(VARIABLES)}")
    return tuple(sorted(section.items()))


def _limits(source: str, streams: Any) -> tuple[Limit, Limit]:
    """Limits of reads and writes. One word is for reads; writes that the kernel buffers are not throttled unasked."""
    if isinstance(streams, str) and "=" in streams:
        streams = dict(part.partition("=")[::2] for part in streams.split(","))
    if not isinstance(streams, Mapping):
        return _limit(source, streams), None
    unknown = [key for key in streams if str(key).strip() not in ("read", "write")]
    if unknown:
        raise ArgumentError(f'{source}: {unknown[0]!r} is not known; expected "read" or "write"')
    given = {str(key).strip(): value for key, value in streams.items()}
    defaults = Settings()
    return (
        _limit(source, given["read"]) if "read" in given else defaults.reads,
        _limit(source, given["write"]) if "write" in given else defaults.writes,
    )


def _limit(source: str, value: Any) -> Limit:
    if isinstance(value, str):
        word = value.strip().lower()
        if word == "auto":
            return AUTO
        if word in ("none", "off", "all"):
            return None
        if word.isdigit():
            value = int(word)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 1 << 31:
        raise ArgumentError(
            f'{source}: {value!r}; expected "auto", "none" (or None), a number of streams from 1 on, or read=…,write=…'
        )
    return value


def _bytes(source: str, text: str) -> int:
    units = {"": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
    found = re.fullmatch(r"(\d+)\s*([a-z]*)", text.strip().lower())
    if found is None or found[2] not in units or int(found[1]) == 0:
        raise ArgumentError(f"{source}: burst {text!r}; expected bytes, as in 4MiB")
    return int(found[1]) * units[found[2]]


def target_of(path: str, engine: str | None = None) -> str:
    """The name of the target that `path` lies on: a device, a server; "model:NAME" on a modelled disk.

    A partition counts as the whole disk; of a mounted file system without a device of its own, its source.
    """
    if engine is not None and engine.startswith("model:"):
        preset, _, name = engine.removeprefix("model:").partition("@")
        return f"model:{name or preset}"
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
    """Whose streams are counted together.

    The ranks of a job on a node are children of the one process that started them there, whatever communicators they
    use.
    """
    if _core.clock_is_simulated():
        return f"simulation {os.getpid()}"
    if scope == "user":
        return "user"
    _, ranks = mpi.launcher()
    process = os.getppid() if ranks > 1 else os.getpid()
    return f"{'job' if ranks > 1 else 'process'} {process} {_started(process)}"


@functools.lru_cache(maxsize=8)
def _started(process: int) -> str:
    """When a process was started, in ticks since boot: a number of a process is used again."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as told:
            return told.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "0"


def _cached_part(path: str) -> float | None:
    """What part of a file is in the page cache; None for a folder, or where the kernel does not tell."""
    try:
        if not os.path.isfile(path):
            return None
        engine, _ = _core.open_engine(path, "r", "posix")
        return engine.cached_range(0, engine.size)
    except Exception:  # noqa: BLE001 - the block itself will tell what is wrong with the file
        return None


def _moved_by_thread(write: bool) -> int:
    """Bytes that this thread has read, or written, by system calls so far; 0 where the kernel does not tell."""
    try:
        with open("/proc/thread-self/io", "rb") as told:
            counted = dict(line.split(b":") for line in told)
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
    """How long ago something was decided, of a real target."""
    return time.clock_gettime(time.CLOCK_MONOTONIC) - decision.time
