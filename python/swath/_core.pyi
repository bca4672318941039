"""
Swath's C++ core. Use the package `swath`; this module may change without notice.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

import numpy
import numpy.typing
from numpy.typing import NDArray

import swath.formats
import swath.formats.description
import swath.formats.new_file

class Stop:
    """Tells threads that obey it to end what they are at."""

    def __init__(self) -> None: ...
    def set(self) -> None:
        """From now on what they do raises StoppedError."""

def obey(stop: Stop | None) -> None:
    """This thread stops when that says so; None: only for signals again."""

class Comm:
    """The ranks of an operation."""

    @property
    def name(self) -> str: ...
    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    def node_of(self, rank: int) -> int: ...
    @property
    def node_count(self) -> int: ...
    @property
    def most_on_a_node(self) -> int:
        """How many ranks the fullest node has."""

    @property
    def is_first_of_node(self) -> bool:
        """Whether no lower rank is on this rank's node."""

    @property
    def shared_refusal(self) -> str: ...
    def begin_turn(self, doing: str, what: str = "") -> None:
        """
        Collective calls are of this thread alone until `end_turn`. Raises ArgumentError where another thread has the turn, and in a process that was forked from a rank.
        """

    def end_turn(self) -> None: ...
    def barrier(self) -> None: ...
    def allgather(self, mine: bytes) -> list[bytes]:
        """Of any size on every rank."""

    def broadcast(self, data: bytes, root: int) -> bytes:
        """Of any size; what other ranks pass is not looked at."""

    def agree_same(
        self, words: str, kind: int = 0, message: str = "", os_error: int = 0, says_yes: bool = False
    ) -> bool:
        """
        Raises the same error on every rank if any brings one, or if they ask for different things. Returns whether any rank says yes.
        """

def solo_comm() -> Comm: ...

class Simulation:
    """Many ranks in one process, a thread each, for tests."""

    def __init__(self, ranks: int, nodes: int = 1, seed: int = 0, shared_memory: bool = True) -> None: ...
    def comm(self, rank: int) -> Comm: ...
    def enter(self, rank: int) -> None: ...
    def leave(self, rank: int) -> None: ...
    def interrupt(self) -> None: ...

class Progress:
    def __init__(self) -> None: ...
    @property
    def bytes_done(self) -> int: ...
    @property
    def bytes_total(self) -> int: ...

class Counters:
    """What an operation did on this rank."""

    def __init__(self) -> None: ...
    def __iadd__(self, arg: Counters, /) -> Counters: ...
    @property
    def read_requests(self) -> int: ...
    @property
    def write_requests(self) -> int: ...
    @property
    def read_bytes(self) -> int: ...
    @property
    def written_bytes(self) -> int: ...
    @property
    def exchanged_bytes(self) -> int: ...
    @property
    def locks(self) -> int: ...
    @property
    def chunks_decoded(self) -> int: ...
    @property
    def decoded_bytes(self) -> int: ...
    @property
    def chunks_encoded(self) -> int: ...
    @property
    def buffer_bytes(self) -> int: ...
    @property
    def token_waits(self) -> int: ...
    @property
    def token_seconds(self) -> float: ...
    @property
    def transfer_seconds(self) -> float: ...
    @property
    def exchange_seconds(self) -> float: ...
    @property
    def total_seconds(self) -> float: ...

def modelled_disk_presets() -> list[dict[str, Any]]: ...
def modelled_disk_set(name: str, preset: str) -> None:
    """
    The disk of that name is of that preset from now on; made where there is none.
    """

def modelled_disk_stats(name: str) -> dict[str, Any]:
    """What the disk did since it was made."""

def modelled_disk_record(name: str, on: bool = True) -> None:
    """Whether the positions of its heads are kept."""

def modelled_disk_trace(name: str) -> list[tuple[float, int, int, int, int, bool, bool]]:
    """(seconds, disk, position, bytes, stream, write, seek) of each."""

class Profile:
    """What a store and a machine cost: all that prices are made from."""

    @staticmethod
    def from_dict(values: dict[str, Any]) -> Profile:
        """
        From dotted names, curves as lists of [x, y]; what is not named is as in the stated defaults.
        """

    def to_dict(self) -> dict[str, Any]: ...
    def observed(self, place: str, ratio: float, times: int = 1) -> Profile:
        """
        A profile that has learned, so many times, what operations took that are corrected at `place`: measured seconds to their uncorrected price.
        """

    def with_corrections(self, corrections: Mapping[str, tuple[float, int]]) -> Profile:
        """{place: (factor, observations)}"""

    @property
    def corrections(self) -> dict[str, tuple[float, int]]:
        """{place: (factor, observations)} of what was ever observed."""

    def coding(self, codecs: Sequence[str]) -> tuple[float, float]:
        """
        Seconds a byte of decoding and of encoding by all of these codecs, one after another.
        """

    def text(self) -> str:
        """As bindings/mpi_io reads it (core/plan/profile_text.h)."""

    @property
    def source(self) -> str: ...

def default_profile() -> Profile: ...
def time_requests(
    file: File,
    write: bool,
    bytes: int,
    first: int,
    stride: int,
    count: int,
    batch: int = 1,
    shuffled: bool = False,
    sync: bool = False,
    memory_bytes: int = 0,
    *,
    seconds_max: float,
) -> tuple[float, int]:
    """(seconds, requests)"""

def time_streams(
    path: str, write: bool, bytes: int, count: int, sync: bool, streams: int, distance: int, seconds_max: float
) -> tuple[float, int]:
    """(seconds of one stream, requests of all)"""

def time_mapped_reads(file: File, bytes: int, first: int, count: int, step: int) -> float | None:
    """
    Seconds of looking at one byte a step of one window in the page cache; None where it cannot be.
    """

def time_locks(file: File, window_bytes: int, count: int) -> float: ...
def time_copies(
    gather: bool, exchange: bool, block_bytes: int, window_bytes: int, memory_bytes: int, seconds_max: float
) -> list[float]: ...
def time_copies_at_once(
    block_bytes: int, window_bytes: int, memory_bytes: int, threads: int, seconds_max: float
) -> float: ...
def time_barriers(ranks: int, seconds_max: float) -> list[float]: ...
def time_rounds(ranks: int, seconds_max: float) -> list[float]: ...
def time_visits(seconds_max: float) -> list[float]: ...
def time_small_reads(path: str, bytes: int, calls: int, repetitions: int) -> tuple[list[float], list[float]]:
    """
    Seconds of one contiguous read in each repetition: by pread, and by the core from request to bytes.
    """

class Grant:
    """A token, held."""

    @property
    def waited(self) -> float: ...

class Tokens:
    """Who may be served by a target now."""

    def for_this_process(self) -> Tokens:
        """These, or in a forked child the same target's, opened anew."""

    def enter(self) -> None: ...
    def leave(self) -> None: ...
    @property
    def streams(self) -> int: ...
    def acquire(self, write: bool, request_bytes: int, streams: int) -> Grant:
        """Waits for a token; streams 0: as many as the controller says."""

    def give_back(self, grant: Grant, bytes: int, from_device: bool) -> None: ...
    def remember(self, write: bool, requests: str, limit: int, rate: float, unlimited_streams: float) -> None: ...
    def status(self) -> dict[str, Any]: ...

def node_tokens(scope: str, target: str) -> tuple[Tokens, str]:
    """
    Of this node's processes: (tokens, why other processes do not share them).
    """

def remote_tokens(host: str, port: int, key: str, target: str) -> Tokens:
    """Of a process on another node, which serves them."""

def status_of_all_tokens() -> tuple[list[dict[str, Any]], str]:
    """
    Of every target that some process of this user has open on this node, and why not all can be seen.
    """

def shared_memory_refusal() -> str:
    """
    Why processes of this user share no memory on this node; empty where they do.
    """

class TokenServer:
    """Serves a target's tokens to other nodes."""

    def __init__(self, tokens: Tokens) -> None: ...
    @property
    def address(self) -> tuple[str, int, str]: ...

def clock_now() -> float:
    """Seconds, of this thread's clock."""

def clock_is_simulated() -> bool: ...
def clock_sleep_until(time: float) -> None: ...
def trace_adaptive_file(identity: str, means: str) -> None:
    """
    Note in the trace that Swath adapts the use of an array by itself, and by which means, such as "prefetch".
    """

def fork_generation() -> int:
    """Another number in every forked child."""

class Nest:
    """
    A sequence of bytes as nested levels (core/space/nest.h); it never changes.
    """

    def __init__(self) -> None:
        """No bytes."""

    @staticmethod
    def block(bytes: int) -> Nest: ...
    @staticmethod
    def strided(count: int, stride: int, child: Nest) -> Nest: ...
    @staticmethod
    def indexed(
        displacements: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        child: Nest,
    ) -> Nest:
        """The child at each of the displacements, in any order."""

    @staticmethod
    def blocks(
        displacements: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> Nest: ...
    @staticmethod
    def sequence(
        displacements: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        children: Sequence[Nest],
    ) -> Nest:
        """Different children."""

    def shifted(self, distance: int) -> Nest: ...
    @property
    def bytes(self) -> int: ...
    @property
    def low(self) -> int: ...
    @property
    def high(self) -> int: ...
    @property
    def listed(self) -> int: ...
    @property
    def memory_bytes(self) -> int: ...
    def __str__(self) -> str: ...

class Distribution:
    def __init__(self, rules: Sequence[tuple[str, int]], grid: Sequence[int], ranks: Sequence[int]) -> None: ...
    @property
    def rules(self) -> list[tuple[str, int]]: ...
    @property
    def grid(self) -> list[int]: ...
    @property
    def ranks(self) -> list[int]: ...
    @property
    def places(self) -> int: ...
    def holds(self, rank: int) -> bool: ...
    def check(self, shape: Sequence[int]) -> None: ...
    def local_shape(self, shape: Sequence[int], rank: int) -> list[int]: ...
    def indices(
        self, shape: Sequence[int], rank: int
    ) -> list[Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...
    def __str__(self) -> str: ...

class Layout:
    """Which byte of the file holds which element."""

    @staticmethod
    def strided(shape: Sequence[int], element_bytes: int, offset: int, strides: Sequence[int]) -> Layout: ...
    @staticmethod
    def chunked(
        shape: Sequence[int], element_bytes: int, chunk_shape: Sequence[int], offsets: Sequence[int]
    ) -> Layout: ...
    @staticmethod
    def tiled(shape: Sequence[int], element_bytes: int, chunk_shape: Sequence[int], offset: int) -> Layout: ...
    @property
    def has_absent_chunks(self) -> bool: ...
    @property
    def end(self) -> int:
        """The byte of the file behind the last one of the array."""

    def __str__(self) -> str: ...

class Decomposition:
    """Whose elements are whose."""

    @staticmethod
    def distributed(
        distribution: Distribution, selection: Sequence[tuple[int, int, int, bool]], ranks: int
    ) -> Decomposition: ...
    @staticmethod
    def share_of(
        distribution: Distribution, selection: Sequence[tuple[int, int, int, bool]], rank: int
    ) -> Decomposition: ...
    @staticmethod
    def alone(selection: Sequence[tuple[int, int, int, bool]]) -> Decomposition: ...
    @staticmethod
    def boxes(
        boxes_of_rank: Sequence[Sequence[tuple[Sequence[int], Sequence[int]]]], shape: Sequence[int]
    ) -> Decomposition: ...
    @staticmethod
    def own_boxes(
        own: Sequence[tuple[Sequence[int], Sequence[int]]], rank: int, ranks: int, shape: Sequence[int]
    ) -> Decomposition:
        """As one rank knows it, before the ranks have told each other."""

    @staticmethod
    def own_view(own: Nest, rank: int, ranks: int, shape: Sequence[int], allows_overlap: bool = False) -> Decomposition:
        """The same of the bytes of the file that one rank has."""

    @property
    def ranks(self) -> int: ...
    @property
    def is_views(self) -> bool: ...
    @property
    def selection(self) -> list[tuple[int, int, int, bool]]:
        """(start, step, count, dropped) of every dimension."""

    @property
    def distribution(self) -> Distribution | None:
        """
        Of the selection; None where one rank has all of it, and of boxes and views.
        """

    @property
    def only_rank(self) -> int | None:
        """Whose share of a distribution one rank alone has."""

    @property
    def boxes_of_rank(self) -> list[list[tuple[list[int], list[int]]]] | None:
        """(start, stop) of every box; None where there are no boxes."""

    def check_written_once(self) -> None: ...
    def __str__(self) -> str: ...

class AtomicFile:
    """A new file, and the name that it gets when it is complete."""

    def __init__(self, path: str, overwrite: bool, atomic: bool, is_folder: bool, working_path: str) -> None: ...
    def __getstate__(self) -> tuple[str, bool, bool, bool, str, str]: ...
    def __setstate__(self, arg: tuple[str, bool, bool, bool, str, str], /) -> None: ...
    @property
    def final_path(self) -> str: ...
    @property
    def working_path(self) -> str: ...
    @property
    def is_aside(self) -> bool:
        """Whether it has another name until it is complete."""

    def check_name(self) -> None:
        """Raises ExistsError where the name is taken, and may not be."""

    def drop_replaced(self) -> None: ...
    def complete(self) -> None: ...
    def remove(self) -> None: ...

def striped_name(path: str) -> str:
    """What `rados --striper` calls the file that a name in a pool means now."""

def librados_version() -> str:
    """
    "3.0.0", of the librados that this process has; empty where it can load none.
    """

class Capabilities:
    """What a plan may know of a store."""

    @property
    def read_ranges_max(self) -> int: ...
    @property
    def write_ranges_max(self) -> int: ...
    @property
    def structured_requests(self) -> bool: ...
    @property
    def lock_for_holes(self) -> bool: ...
    @property
    def reports_cached(self) -> bool: ...
    @property
    def shows_cache(self) -> bool: ...
    @property
    def durable_when_answered(self) -> bool: ...
    @property
    def round_trip_seconds(self) -> float: ...

def begin_write_back(path: str, begin: int, end: int) -> None:
    """
    Have the device begin with bytes [begin, end); of the whole file where both are 0.
    """

def finish_write_back(path: str, begin: int, end: int) -> None:
    """Return when they are on the device."""

def forget_cached(path: str, begin: int, end: int) -> None:
    """Give up the pages of the cache that hold nothing else."""

class ChunkPlan:
    """How coded chunks will be read or written."""

    @property
    def reason(self) -> str: ...
    @property
    def ranks(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def direction(self) -> str: ...
    @property
    def decomposition(self) -> str: ...
    @property
    def bytes(self) -> int: ...
    @property
    def chunk_bytes(self) -> int: ...
    @property
    def times_decoded(self) -> float:
        """Each chunk that is decoded, on average."""

    @property
    def buffer_bytes_max(self) -> int: ...
    def local_bytes(self, rank: int) -> int: ...
    @property
    def total(self) -> dict[str, Any]: ...
    def cost(self, rank: int) -> dict[str, Any]: ...
    @property
    def price(self) -> dict[str, float]: ...
    def text(self, title: str, layout: str) -> str: ...

class NewChunks:
    """Chunks that no file has yet, all compressed alike."""

    def __init__(
        self,
        shape: Sequence[int],
        element_bytes: int,
        chunk_shape: Sequence[int],
        unit_shape: Sequence[int],
        codecs: tuple[Sequence[str], float],
        is_table: bool,
    ) -> None:
        """codecs: their names, and bytes of a chunk to those that are stored."""

    def plan(
        self,
        direction: str,
        decomposition: Decomposition,
        profile: Profile,
        cached: float,
        coding: tuple[float, float] | None = None,
    ) -> ChunkPlan:
        """
        coding: seconds a byte of decoding and encoding, where they were measured.
        """

class Plan:
    @property
    def method(self) -> str: ...
    @property
    def inner(self) -> str | None: ...
    @property
    def reason(self) -> str: ...
    @property
    def direction(self) -> str: ...
    @property
    def ranks(self) -> int: ...
    @property
    def decomposition(self) -> str: ...
    @property
    def layout(self) -> str: ...
    @property
    def domains(self) -> list[tuple[int, int, int]]: ...
    @property
    def runs(self) -> int: ...
    @property
    def run_bytes_max(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    def requests_with_stripes(self, stripe_bytes: int) -> int: ...
    def local_bytes(self, rank: int) -> int: ...
    def cost(self, method: str, rank: int) -> dict[str, Any]: ...
    @property
    def price(self) -> dict[str, Any]: ...
    @property
    def seconds(self) -> float: ...
    @property
    def cached(self) -> float | None: ...
    @property
    def tuning(self) -> dict[str, int]: ...
    def candidates(self) -> dict[str, Any]: ...
    def text(self, title: str, ranks_shown: int = 16) -> str: ...

def make_plan(operation: Operation, profile: Profile | None = None, stripe: tuple[int, int, int] | None = None) -> Plan:
    """
    By the stated defaults unless a profile is given, of what is in the page cache; or of a file in a Ceph pool, of that stripe unit, count and object size, whose servers take descriptions.
    """

class File:
    """An open file, for any number of arrays and threads."""

    @property
    def path(self) -> str: ...
    @property
    def engine(self) -> str: ...
    @property
    def engine_reason(self) -> str:
        """Why it is another than the one asked for, else empty."""

    @property
    def size(self) -> int: ...
    @property
    def capabilities(self) -> Capabilities: ...
    def cached_range(self, offset: int, bytes: int) -> float | None:
        """
        What part of so many bytes is in the page cache; None where that is not known.
        """

    def resize(self, bytes: int) -> None: ...
    def read_at(self, offset: int, bytes: int) -> bytes:
        """So many bytes, fewer at the end."""

    def write_at(self, offset: int, data: bytes) -> None:
        """The file grows to hold them."""

    @property
    def may_lose_writes(self) -> bool: ...
    def check_written(self) -> None: ...
    def sync(self) -> None: ...

class ThrottleOptions:
    """How many streams of a target are served at a time."""

    def __init__(self, reads: int | None = None, writes: int | None = None, burst_bytes: int = 4194304) -> None:
        """0: as many as the controller says; None: all."""

class FileOptions:
    """What moves a file's bytes, and in whose turn."""

    def __init__(
        self,
        engine: str = "auto",
        tokens: Tokens | None = None,
        throttle: ThrottleOptions = ...,
        lock_timeout: float | None = None,
        server_scope: str = "",
    ) -> None:
        """
        With tokens it is served in turns; with a scope each server of a pool serves its operations in turns. `lock_timeout`: seconds that a lock is waited for, None for ever.
        """

def open_file(path: str, mode: str, options: FileOptions = ...) -> File: ...
def open_folder(path: str, options: FileOptions = ...) -> File:
    """Whose files are chunks."""

class ArrayForm:
    """What an operation must know of the array."""

    def __init__(self, identity: str, shape: Sequence[int], element_bytes: int, layout: Layout | None) -> None: ...
    @property
    def identity(self) -> str: ...
    @property
    def shape(self) -> list[int]: ...
    @property
    def element_bytes(self) -> int: ...
    @property
    def layout(self) -> Layout | None:
        """
        None where no plan moves the bytes: coded chunks, and arrays that a format's library reads.
        """

    def serialise(self) -> bytes:
        """Return the bytes that `Operation.parse_parts` takes."""

class Operation:
    """One read or write as data; it never changes."""

    def __init__(
        self,
        array: ArrayForm,
        direction: str,
        decomposition: Decomposition,
        method: str = "auto",
        tuning: Sequence[tuple[str, int]] = [],
    ) -> None: ...
    @staticmethod
    def parse(bytes: bytes) -> Operation:
        """Raises FormatError for anything that `serialise` has not made."""

    @staticmethod
    def parse_parts(array: bytes, access: bytes, shares: Sequence[bytes]) -> Operation:
        """
        Return the operation of the parts that a trace has of it: the array's form, the access, and each rank's share where there are boxes or views. Raise FormatError for anything else.
        """

    def serialise(self) -> bytes: ...
    @property
    def array(self) -> ArrayForm: ...
    @property
    def tuning(self) -> list[tuple[str, int]]: ...
    @property
    def direction(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def decomposition(self) -> Decomposition: ...
    @property
    def access(self) -> bytes:
        """
        Everything but the array and each rank's boxes or view, as `parse_parts` takes it.
        """

    @property
    def shares(self) -> list[bytes]:
        """Each rank's boxes or view, as `parse_parts` takes them; else none."""

    @property
    def words(self) -> str: ...
    @property
    def ranks(self) -> int: ...
    def local_shapes(self, rank: int) -> list[list[int]]:
        """Of each of a rank's parts in memory."""

class Learning:
    """The profile of an open file, and what its operations teach."""

    def __init__(self, profile: Profile, frozen: bool) -> None: ...
    @property
    def profile(self) -> Profile: ...
    @property
    def has_learned(self) -> bool: ...

class Execution:
    """What was carried out."""

    @property
    def method(self) -> str: ...
    @property
    def plan(self) -> Plan | None: ...
    @property
    def of_chunks(self) -> Operation | None:
        """
        Of coded chunks: what was carried out, with the boxes of all ranks; else None.
        """

    @property
    def counters(self) -> Counters: ...
    @property
    def was_read_before_agreement(self) -> bool: ...

class Started:
    """An operation that may go on in the background."""

    @property
    def is_done(self) -> bool: ...
    @property
    def is_alone(self) -> bool:
        """Whether no other rank takes part."""

    def wait(self) -> Execution:
        """
        Collective where the operation is. Raises what `execute` would have raised.
        """

    def cancel(self) -> None:
        """It is not wanted: of one rank alone it stops. Waits for its end."""

    def abandon(self) -> None:
        """
        It is not wanted, and comes to its end when other ranks take part, in memory of its own.
        """

    @property
    def times(self) -> tuple[float, float]:
        """
        When it was carried out, in seconds of `time.monotonic`: began, ended. Once it is done.
        """

class Comparing:
    """Numbers that ranks compare in the background."""

    def wait(self) -> list[float]:
        """Of each number the largest of all ranks."""

def end_calls() -> None:
    """The program ends: threads take the interpreter's lock no more."""

class OpenArray:
    """Whoever reads or writes an open array comes through `execute`."""

    def execute(
        self,
        operation: Operation,
        arrays: list[numpy.typing.NDArray[Any]],
        watched: Progress | None = None,
        library: Callable[[], None] | None = None,
    ) -> Execution:
        """
        Collective, but for operations of one rank. `arrays`: this rank's memory, an ndarray a part.
        """

    def start(
        self, operation: Operation, arrays: list[numpy.typing.NDArray[Any]], loop: int = 0, is_waited_for: bool = False
    ) -> Started:
        """
        The same in the background, see `may_run_in_background`. `loop`: that it is a step of, see `begin_loop`.
        """

    def start_refused(self, operation: Operation | None, error: tuple[int, str, int], loop: int = 0) -> Started:
        """
        Collective, while other ranks start: this one cannot. `error`: as `swath.errors.to_core` gives it.
        """

    def outlive_interpreter(self) -> None:
        """
        Where something is under way that other ranks take part in: nobody waits for it when the interpreter ends.
        """

    @property
    def ranks_allow_background(self) -> bool: ...
    def begin_loop(self) -> int:
        """Collective. The number of a loop that all ranks go through together."""

    def leave_loop(self, loop: int, text: str) -> None:
        """
        Local. This rank goes on no longer with it; ranks that do are told `text`, as an error.
        """

    def start_comparing(
        self, loop: int, doing: str, numbers: Sequence[float], is_waited_for: bool = False
    ) -> Comparing:
        """
        Collective, in the background, in a loop: of up to 12 numbers the largest of all ranks.
        """

    def may_run_in_background(self, direction: str) -> bool:
        """Whether the core carries it out by itself."""

    def finish_started(self, is_alone: bool) -> None:
        """Collective where what was started is. Waits until all of it is done."""

    def refuse(self, operation: Operation | None, kind: int, message: str, os_error: int) -> None:
        """
        Collective, while other ranks execute: raises, on all ranks, what this one brings or a lower one.
        """

    def explain(self, operation: Operation, cached: float | None) -> Plan: ...
    def explain_chunks(
        self, operation: Operation, cached: float | None, coding: tuple[float, float] | None = None
    ) -> ChunkPlan:
        """
        Of coded chunks. coding: seconds a byte of decoding and encoding, where they were measured.
        """

    def with_all_shares(self, operation: Operation, also: str) -> Operation:
        """Collective. The operation with the boxes of all ranks."""

    def sync(self) -> None:
        """Collective."""

    def expect_sync(self) -> None:
        """Its file was synced, and will be again."""

    def fill_unwritten(self) -> None:
        """Collective. What was never written of a new array gets its fill value."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths in elements."""

    @property
    def form(self) -> ArrayForm:
        """
        What operations must know of it now; another object whenever its elements are elsewhere.
        """

    def stop(self, is_alone: bool) -> bool:
        """
        Waits until nobody uses it. False: it was closed before. `is_alone`: no rank waits.
        """

    def release_file(self) -> None:
        """Once it is stopped."""

    @property
    def is_closed(self) -> bool: ...
    @property
    def has_plans(self) -> bool: ...
    @property
    def chunks(self) -> CodedArray | None:
        """The coded chunks as they are stored now; None where none are coded."""

    @property
    def plans_made(self) -> int: ...
    def goes_by_chunks(self, direction: str) -> bool: ...
    @property
    def profile(self) -> Profile: ...

class Array(OpenArray):
    """An open array that Python holds."""

    def __init__(self, comm: Comm, file: File, form: ArrayForm, fill: bytes, options: dict[str, Any]) -> None: ...

class StoredArray(OpenArray):
    """One array of an open file (core/files/stored_array.h)."""

    def write(
        self,
        operation: Operation,
        arrays: list[numpy.typing.NDArray[Any]],
        watched: Progress | None = None,
        library: Callable[[], None] | None = None,
        allocating: CollectiveFile | None = None,
    ) -> Execution:
        """
        As `execute`. `allocating`: its file, which gives all elements a place before.
        """

    @property
    def times_described(self) -> int:
        """How often its file has said where it is."""

    def description(self) -> swath.formats.description.Description:
        """What the format has said of it last, once its file has said so."""

class ViewMemory:
    """Where the bytes of a view are in an ndarray."""

    def __init__(self, array: numpy.typing.NDArray[Any], nest: Nest) -> None:
        """Offsets of the nest count from the array's element 0."""

def copy_strided(target: numpy.typing.NDArray[Any], source: numpy.typing.NDArray[Any]) -> None:
    """
    Every element of `source` to its place in `target`, bytes as they are; the two must not overlap.
    """

def release_free_memory() -> None:
    """
    Give memory that is free back to the system. Compressors such as blosc allocate buffers for every chunk, and the C library keeps what they free.
    """

def redistribute(
    element_bytes: int,
    source_decomposition: Decomposition,
    target_decomposition: Decomposition,
    comm: Comm,
    source: list[numpy.typing.NDArray[Any]],
    target: list[numpy.typing.NDArray[Any]],
    progress: Progress | None = None,
) -> Counters: ...

class CodedArray:
    """An array whose chunks are coded."""

    @staticmethod
    def table(
        path: str,
        shape: Sequence[int],
        element_bytes: int,
        chunk_shape: Sequence[int],
        order: Sequence[int],
        codecs: Sequence[tuple[str, Mapping[str, int | str]]],
        fill: bytes,
        offsets: Sequence[int],
        bytes: Sequence[int],
        skipped: Sequence[int],
    ) -> CodedArray:
        """All chunks in one file."""

    @staticmethod
    def files(
        path: str,
        shape: Sequence[int],
        element_bytes: int,
        chunk_shape: Sequence[int],
        order: Sequence[int],
        codecs: Sequence[tuple[str, Mapping[str, int | str]]],
        fill: bytes,
        first: str,
        separator: str,
        scalar: str,
    ) -> CodedArray:
        """A file a chunk."""

    @staticmethod
    def shards(
        path: str,
        shape: Sequence[int],
        element_bytes: int,
        chunk_shape: Sequence[int],
        order: Sequence[int],
        codecs: Sequence[tuple[str, Mapping[str, int | str]]],
        fill: bytes,
        first: str,
        separator: str,
        scalar: str,
        shard_shape: Sequence[int],
        index_codecs: Sequence[tuple[str, Mapping[str, int | str]]],
        index_at_end: bool,
    ) -> CodedArray:
        """A file a shard."""

    @property
    def chunk_bytes(self) -> int: ...
    @property
    def stored_chunks(self) -> int | None:
        """
        How many chunks of a table are stored; None where each is looked for when it is needed.
        """

def check_codec(name: str) -> None:
    """Raises UnsupportedError for a codec that this build has not."""

def time_coding(
    codecs: Sequence[tuple[str, Mapping[str, int | str]]],
    elements: numpy.typing.NDArray[Any],
    chunk_bytes: int,
    seconds_max: float,
) -> tuple[list[float], list[float], float]:
    """
    Processor seconds a byte of encoding and decoding chunks of the elements, and decoded bytes to stored ones.
    """

def crc32c(array: numpy.typing.NDArray[Any]) -> int:
    """The checksum of a packed ndarray's bytes."""

class Mark:
    """A moment between two changes of a file."""

class Changes:
    """
    Changes of one file, or of a folder that is a store, that can be taken back until they are committed, also after their process was killed. They are taken back where nobody closes them.
    """

    def __init__(
        self, path: str, *, is_durable: bool = True, lock_seconds: float = 0.25, long_bytes: int = 16777216
    ) -> None:
        """
        is_durable: whether they can be taken back after a kill, too; False for a file that has no name yet. lock_seconds: to wait for another process that has the journal. long_bytes: of a journal that is written anew at a checkpoint. Raises StoreError.
        """

    def __enter__(self) -> Changes: ...
    def __exit__(self, *error: object) -> None: ...
    @property
    def path(self) -> str: ...
    @property
    def is_durable(self) -> bool: ...
    def begin(self) -> None:
        """Note how long the file is, before it grows."""

    def mark(self) -> Mark:
        """What is changed from now on can be taken back alone."""

    def keep(self, descriptor: int, offset: int, count: int) -> None:
        """So many bytes of the file are overwritten, or cut off, next."""

    def keep_all(self, descriptor: int, ranges: Iterable[tuple[int, int]]) -> None:
        """The same of several ranges (offset, count)."""

    def adds(self, relative: str) -> None:
        """
        A file or folder of the store is made next. Raises ExistsError where it is there.
        """

    def replaces_all(self, names: Iterable[str]) -> None:
        """Files of the store are replaced, or added, next."""

    def checkpoint(self) -> None:
        """What was changed stays after a kill, too; waits for no medium."""

    def commit(self) -> None:
        """What was changed is on the medium, and stays."""

    def undo(self, mark: Mark | None = None) -> None:
        """
        Make the file what it was at the mark; without one, at the last checkpoint or commit.
        """

    def close(self) -> None:
        """
        Take back what was changed since the last checkpoint or commit, and let go of the file.
        """

    def abandon(self) -> None:
        """Let go of a file that is removed: nothing is taken back."""

    def lose(self, why: str) -> None:
        """
        A change failed that cannot be taken back: the file can neither be changed nor committed any more.
        """

def changes_of(path: str, *, is_durable: bool = True) -> Changes:
    """
    The changes of a file. Where nothing may be written into its folder, a kill may leave them half done. Raises StoreError, and UnsupportedError of a file in a pool.
    """

def journal_path(path: str) -> str:
    """
    The name of the journal of a file's changes: in the folder of the file itself, not of a link to it.
    """

def repair(path: str, *, is_copy: bool = False) -> bool:
    """
    Take back what a dead process left uncommitted; False where there is nothing, or its owner lives. is_copy: the file and its journal were copied together. Raises StoreError where it may not.
    """

class Replacing:
    """
    Lets a new file take the name of one that a killed process has left changed.
    """

    def __init__(self, path: str) -> None: ...
    def taken(self) -> None:
        """The new file has the name: the old one's journal goes."""

    def close(self) -> None: ...

class LockWait:
    """Whoever is locked out tries again from time to time."""

    def __init__(self) -> None: ...
    def again(self) -> bool:
        """
        Sleep a moment; False where as much time has passed as $SWATH_LOCK_TIMEOUT says, else ten seconds.
        """

def lock_target(descriptor: int, path: str, doing: str) -> None:
    """
    Lock a file as HDF5 does. Raises StoreError where another program has locked it.
    """

class OwnFile:
    """
    A file whose name others can guess, open for reading and appending, and locked for this process as long as this lives.
    """

    def __init__(self, path: str) -> None:
        """
        Raises BlockingIOError, whose text says which process has locked it; StoreError where another user has planted something there; OSError.
        """

    def fileno(self) -> int: ...
    def has_name(self) -> bool:
        """Whether the file still has its name."""

    def close(self) -> None: ...

def refuse_planted(path: str, target: str = "") -> None:
    """
    Raise StoreError where what has the name is not this user's own file or folder; nothing may have it. It may have a second name where that is `target`.
    """

class FormatFile:
    """The metadata of one file, open for as long as this lives."""

    def contents(self, *, to_change: bool = False) -> swath.formats.Contents:
        """
        Everything that it holds but the elements; to_change: for who will change the file.
        """

    def describe(self, variable: str | None = None) -> swath.formats.description.Description:
        """Where the bytes of a variable are; None: of the only one."""

    def describe_many(self, variables: Sequence[str]) -> list[swath.formats.description.Description]: ...

def open_format_file(format: str, path: str) -> FormatFile:
    """An existing file of a format of the core, to be read."""

def create_format_file(format: str, path: str, file: swath.formats.new_file.NewFile) -> None:
    """Makes a file with all that a NewFile says, but the elements."""

def format_refusals(format: str, file: swath.formats.new_file.NewFile) -> list[str]:
    """In words, what the format cannot hold of a NewFile."""

def finish_format_file(format: str, path: str) -> None:
    """Makes what other readers of a new file look for."""

def hdf5_contents(path: str) -> swath.formats.Contents:
    """Contents of an HDF5 or netCDF-4 file."""

def hdf5_describe(
    path: str, names: Sequence[str | None], seen: Mapping[str, tuple[Sequence[int], Sequence[str], bool]]
) -> list[swath.formats.description.Description]:
    """
    Descriptions of datasets by name; None stands for the only one with numbers of its own. `seen`: of those that somebody has listed, by name, the shape, the names of the dimensions, and whether they are as long as they were, whatever others have added since. Whether the file is long enough is not checked.
    """

def hdf5_surveys() -> int:
    """How often all datasets of a file were looked at for the length of one."""

def hdf5_library() -> dict[str, Any]:
    """
    Which HDF5 is used: path, version, found_as, is_thread_safe, missing. Raises UnsupportedError where none is.
    """

def codec_of(name: str, settings: str, element_bytes: int) -> swath.formats.description.Codec:
    """
    The codec of that name, configured as numcodecs and Zarr's version 3 do: by JSON.
    """

def zarr_registered_codecs(
    codecs: Sequence[swath.formats.description.Codec], chunk_bytes: int
) -> tuple[swath.formats.description.Codec, ...]:
    """
    Codecs that are registered for version 3 in place of those that are not.
    """

def zarr_codec_json(codec: swath.formats.description.Codec, version: int) -> str:
    """A codec as metadata of a version have it, as JSON."""

def zarr_is_store(path: str) -> bool:
    """Whether a folder holds a Zarr array or group."""

def check_attribute(name: str, value: object | None) -> None:
    """
    Raises ArgumentError for what is neither text nor numbers, and what JSON cannot hold.
    """

def zarr_chunks_and_shards(
    shape: Sequence[int], element_bytes: int, chunks: Sequence[int] | None, shards: Sequence[int] | None
) -> tuple[list[int], list[int] | None]:
    """The shapes of a new array's chunks and shards."""

def default_chunks(shape: Sequence[int], element_bytes: int, bytes_max: int) -> list[int]:
    """Chunks of at most so many bytes, where nobody says which."""

class FileChanges:
    """
    Changes of one open file, which begin with the first one (core/files/file_changes.h).
    """

    def __init__(self, format: str, path: str, *, is_new: bool = False) -> None:
        """is_new: it has no name yet, so that nobody else changes it."""

    def add(self, array: swath.formats.description.NewArray) -> swath.formats.description.Description: ...
    def set_attributes(self, holder: str, attributes: Mapping[str, Any]) -> None: ...
    def extend(
        self, variable: str, rows: int, written_from: int | None = None
    ) -> swath.formats.description.Description: ...
    def set_length(self, dimension: str, rows: int) -> None: ...
    def allocate(self, variable: str) -> swath.formats.description.Description: ...
    def contents(self) -> swath.formats.Contents:
        """What the file holds now."""

    @property
    def path(self) -> str: ...
    @property
    def is_forked(self) -> bool:
        """Whether this process is a child of the one that opened the file."""

    @property
    def has_begun(self) -> bool: ...
    def refuse_replaced(self, doing: str) -> None:
        """Raise StoreError where it is."""

    def mark(self) -> Mark:
        """What is changed from now on can be taken back alone."""

    def checkpoint(self) -> None:
        """What was changed stays after a kill, too."""

    def commit(self) -> None:
        """What was changed is on the medium, and stays."""

    def end(self) -> None:
        """The same, and whoever wants to may change the file now."""

    def undo(self, mark: Mark | None = None) -> None:
        """
        Make the file what it was at the mark; without one, at the last checkpoint or commit.
        """

    def close(self) -> None:
        """
        Take back what was changed since the last checkpoint or commit, and let go of the file.
        """

    def __enter__(self) -> FileChanges: ...
    def __exit__(self, *error: object) -> None: ...

class CollectiveFile:
    """An open file of all its ranks (core/files/collective_file.h)."""

    def __init__(self, comm: Comm, format: str, given: dict[str, Any]) -> None:
        """
        Open what moves its bytes. `given`: path, final_path, number, may_write, how, new_file, minds_name, contents.
        """

    @property
    def path(self) -> str:
        """Where it is: under another name as long as it is not complete."""

    @property
    def is_new(self) -> bool:
        """Whether it has not got its name yet."""

    @property
    def is_closed(self) -> bool: ...
    @property
    def file(self) -> File:
        """What moves its bytes."""

    @property
    def changes(self) -> FileChanges: ...
    def learn(self, learning: Learning) -> None:
        """What the operations of its arrays teach."""

    def make_array(self, form: ArrayForm, chunks: CodedArray | None, fill: bytes, given: dict[str, Any]) -> StoredArray:
        """
        An array that the caller describes. `given`: path, can_grow, may_get_chunk_places, is_new.
        """

    def note_written(self, array: StoredArray) -> None:
        """Elements of it are about to be written."""

    def known_rows(self, variable: str) -> int | None:
        """
        How many rows it has for this handle; None where it does not grow, or has not yet.
        """

    def take_new_lengths(self) -> dict[str, int]:
        """
        The dimensions that are longer since this was asked last, and how long.
        """

    def refuse_closed(self, doing: str) -> None: ...
    def refuse_changing(self, doing: str) -> None: ...
    def add(self, words: str, make: Callable[[], Any]) -> swath.formats.description.Description:
        """
        Add the NewArray that `make` returns on rank 0; its description. `words`: what ranks compare.
        """

    def set_attributes(self, words: str, holder: str, make: Callable[[], Any]) -> None:
        """
        Add, replace or remove (None) the attributes that `make` returns on rank 0.
        """

    def rows_to_append_to(self, array: StoredArray) -> int:
        """
        How many rows an array has. Raise ArgumentError where it does not grow.
        """

    def append(
        self,
        rows: Sequence[tuple[StoredArray, int]],
        write: Callable[[list[int]], bool | None],
        *,
        writes_all: bool = True,
    ) -> None:
        """
        Have `write(first)` write the next rows of arrays, so many of each: `first` has the first of each array. It raises nothing; it returns None, or where it failed whether all ranks know: then the arrays are as long as before. `writes_all`: every element is written.
        """

    def finish_started(self) -> None:
        """Wait for what its arrays do in the background."""

    def sync(self) -> None: ...
    def complete_records(self) -> None:
        """Let every dimension have all rows that any variable has."""

    def refuse_lost_writes(self) -> None: ...
    def stop(self, is_alone: bool) -> bool:
        """Wait until nobody uses an array of it. False: it was closed meanwhile."""

    def complete(self) -> None:
        """It is on the medium, under its name."""

    def take_back(self) -> None:
        """Remove it, or what was added to it."""

    def release(self) -> None: ...

def simulate(machine: str, operations: str, ranks: int, seed: int = 0, noise: float = 0.0, data: bool = False) -> str:
    """
    Carries out operations (JSON) on a simulated machine (JSON). Returns what they took, as JSON.
    """

def profile_of_machine(machine: str) -> Profile:
    """
    Return the profile of a machine (JSON): what its servers and its nodes cost a program.
    """
