"""`swath.Balanced`: batches are kept in memory, kept on disk, or computed again, by what is fastest."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from swath import _core
from swath.base.stream_settings import Streams
from swath.errors import ArgumentError, Error, InternalError, warn_caller
from swath.ranks import compared
from swath.ranks.ranks import ranks_of
from swath.recompute import batch_file
from swath.recompute.batch_file import BatchFile, How, Kept
from swath.recompute.choice import DiskLimit, Source
from swath.recompute.dealing import Batches, deal
from swath.recompute.deciding import Decider
from swath.recompute.loop import Loop, ProduceError
from swath.recompute.measured import Measured
from swath.recompute.online import Online
from swath.recompute.own import Own
from swath.recompute.plan import BalancedIteration, BalancedPlan
from swath.recompute.prices import Prices, Report, Transfers
from swath.recompute.settings import Memory, checked_memory, disk_limit, memory_of
from swath.store.atomic_file import AtomicFile

Values = npt.NDArray[Any]

FREE_PART = 0.9
"""The part of a disk's free bytes that "auto" may take."""
COLD_GUESS, WARM_GUESS = 1e-8, 2e-10
"""Seconds per byte if there is no file whose profile could be used."""


@dataclasses.dataclass
class _Found:
    """The result on rank 0: a new file, or one of an earlier run."""

    path: str = ""
    kept: dict[int, Kept] = dataclasses.field(default_factory=dict)
    is_earlier: bool = False
    note: str = ""
    free_bytes: int = 0


class Balanced:
    """Batches that can be computed again, iterated over any number of times.

    Used so::

        with swath.Balanced(produce, sizes, path="integrals.tmp") as b:
            for _ in range(10):
                for batch, values in b:
                    use(batch, values)
        print(b.plan)

    Each batch is kept in memory, kept on disk, or computed again. Reads run in the background, so that an iteration
    takes about max(computing + using, reading). The first iteration computes all batches, measures, and writes the most
    expensive ones while others are computed; after each iteration all ranks decide together from their measurements.
    The order of the batches is free unless `order="given"`. The idea: SCF 3.0 in *Application-level I/O* (2002), 4.4.

    With a communicator, the batches are distributed over the ranks, and each rank iterates over its own. The creation,
    the end of each loop, and close() are collective. If one rank leaves a loop early, all must, or the others wait
    until its next loop or its end. An exception on one rank is raised on all.

    Args:
        produce: `produce(batch)` returns the values of a batch, of its shape and dtype; always the same values. The
            thread that iterates calls it.
        sizes: of all batches, the same on all ranks: the number of elements, or a shape, of each.
        path: the file, whose folder gives the disk; without a path, nothing is kept on disk. Without `key` the file has
            a hidden name, and is removed at the end.
        dtype: of the values.
        disk: "auto", or the amount on disk, the most expensive batches first: a part of the bytes (0.5), bytes, "2GiB".
        memory: of this rank, for batches that are kept, read ahead and written behind: bytes, text ("64MiB"), or
            "auto", a quarter of the available memory divided by the ranks of the node; 0 keeps none. Buffers take at
            least 2 batches.
        order: "free", or "given": ascending.
        key: identifies the values. The file then stays at `path`, and the next run with the same key, sizes and dtype
            reads its content; any other file of that name is replaced.
        comm: see `swath.open`.
        engine: see `swath.open`.
        streams: see `swath.open`.

    Attributes:
        iterations: what each iteration did on this rank: `BalancedIteration`.

    Raises:
        ArgumentError: impossible arguments, or values of another shape or dtype than given.
        StoreError: the file cannot be made. Later, a full disk or a failed read is no error: the batches are computed
            again, with one warning.
    """

    def __init__(
        self,
        produce: Callable[[int], Values],
        sizes: Sequence[int] | Sequence[Sequence[int]] | npt.NDArray[np.integer[Any]],
        *,
        path: Any = None,
        dtype: npt.DTypeLike = "float64",
        disk: float | int | str = "auto",
        memory: int | str = "auto",
        order: str = "free",
        key: str | None = None,
        comm: Any = None,
        engine: str | None = None,
        streams: Streams = "default",
    ) -> None:
        words = compared.call_signature("balance", path, locals(), own=("self", "produce", "path", "memory", "comm"))
        self._ranks = ranks = ranks_of(comm)
        self._name = "batches" if path is None else compared.path_text(path)
        self._how = How(engine, streams)
        self._key = key
        self._process = _core.fork_generation()
        self._is_closed = False
        self._earlier: batch_file.Earlier | None = None
        self._atomic: AtomicFile | None = None
        self._loop: weakref.ref[Loop] | None = None
        self._measured: Measured | None = None
        self._has_warned = False
        self.iterations: list[BalancedIteration] = []
        with ranks.in_turn(f"balance {self._name}"):

            def check() -> tuple[Batches, DiskLimit, int | None]:
                _check(produce, path, disk, order, key)
                all_batches = Batches.of(sizes, dtype)
                return all_batches, disk_limit(disk, int(all_batches.nbytes.sum())), checked_memory(memory)

            self._batches, self._disk, budget = ranks.run_collectively(words, check)
            dealt = deal(self._batches.nbytes, ranks.size)
            mine = dealt[ranks.rank]
            has_file = path is not None and self._disk.bytes_max > 0
            of_memory = Memory.of(
                memory_of(budget, ranks), int(self._batches.nbytes[mine].max(initial=0)), with_file=has_file
            )
            self._own = Own(
                self._batches, mine, produce, order == "given", self._disk.is_fixed, of_memory.keep_bytes,
                of_memory.buffer_bytes, np.zeros(len(mine), np.int8),
            )  # fmt: skip
            self._dealt = dealt
            self._found = ranks.on_first(f"{words}\nfile", lambda: self._find(path) if has_file else _Found())
            self._open(has_file)
        self._finalizer = weakref.finalize(self, _never_closed, self._name, self._atomic, os.getpid())

    @property
    def batches(self) -> list[int]:
        """Return the batches of this rank, ascending."""
        return [int(batch) for batch in self._own.mine]

    @property
    def plan(self) -> BalancedPlan:
        """Return what the next iteration does, why, and the predicted curve over the share on disk."""
        total, own, decision = int(self._batches.nbytes.sum()), self._own, self._decision
        chosen = decision.choice
        in_memory = sum(
            int(self._batches.nbytes[batches][places == Source.IN_MEMORY].sum())
            for batches, places in zip(self._dealt, chosen.places, strict=True)
        )
        return BalancedPlan(
            iterations=len(self.iterations),
            batches=len(self._batches.nbytes),
            nbytes=total,
            memory_share=in_memory / total if total else 0.0,
            disk_share=chosen.disk_bytes / total if total else 0.0,
            memory_bytes=own.keep_bytes,
            buffer_bytes=2 * own.buffer_bytes,
            seconds=chosen.seconds,
            computing_seconds=chosen.computing,
            reading_seconds=chosen.reading,
            read_bytes_per_second=1 / self._decider.prices.cold,
            curve=self._decider.curve(decision),
            reason=decision.reason,
            notes=tuple(dict.fromkeys(own.notes)),
        )

    # ---- the file ----------------------------------------------------------------------------------------------------

    def _find(self, path: Any) -> _Found:
        """Return a complete file with the same key, or a new one. On rank 0."""
        free = shutil.disk_usage(os.path.dirname(os.path.abspath(os.fsdecode(path)))).free if path else 0
        note = ""
        if self._key is not None:
            name = os.path.abspath(os.fsdecode(path))
            self._earlier, note = batch_file.find_earlier(name, self._batches, self._key)
            if self._earlier is not None:
                return _Found(name, self._earlier.kept, True, note, free)
        self._atomic = batch_file.make(path, self._batches)
        return _Found(self._atomic.working_path, {}, False, note, free)

    def _open(self, has_file: bool) -> None:
        """Open the file and make the first plan. Collective."""
        own, found = self._own, self._found
        nbytes = [self._batches.nbytes[batches] for batches in self._dealt]
        computing = [
            np.array([found.kept[int(b)].seconds if b in found.kept else np.nan for b in batches], float)
            for batches in self._dealt
        ]
        if found.note:
            own.notes.append(found.note)

        def opened() -> tuple[float, float]:
            if not has_file:
                return COLD_GUESS, WARM_GUESS
            own.file = BatchFile(found.path, self._batches, self._how, "r" if found.is_earlier else "r+")
            return own.file.price(0.0), own.file.price(1.0)

        try:
            guess = self._ranks.run_collectively(f"balance {self._name}: open", opened)
        except BaseException:
            self._release()
            raise
        guess = self._ranks.gather_objects(guess)[0]
        own.may_write = has_file and not found.is_earlier
        own.stored = {int(b): found.kept[int(b)] for b in own.mine if int(b) in found.kept}
        if not has_file:
            self._disk = DiskLimit(0, self._disk.is_fixed)
        elif not self._disk.is_fixed:
            kept = sum(int(self._batches.nbytes[batch]) for batch in found.kept)
            self._disk = DiskLimit(min(self._disk.bytes_max, int(FREE_PART * found.free_bytes) + kept))
        if own.file is not None:
            own.file.trace_adaptive(decides=not self._disk.is_fixed)
        prices = Prices(nbytes, guess[0], guess[1], computing)
        self._decider = Decider(prices, self._disk, int(self._batches.nbytes.sum()))
        self._decide([self._first_report(rank) for rank in range(self._ranks.size)])

    def _report(self, measured: Measured) -> Report:
        """Return what this rank measured."""
        own, counts = self._own, measured.counts
        stored = np.array([int(b) in own.stored for b in own.mine], bool)
        places = np.where(stored, Source.ON_DISK, Source.COMPUTED).astype(np.int8)
        places[[int(b) in own.memory for b in own.mine]] = Source.IN_MEMORY
        return Report(
            node=self._ranks.comm.node_of(self._ranks.rank),
            computing=measured.computing,
            cached=measured.cached,
            using=counts.using if counts.is_whole else np.nan,
            cold=measured.cold,
            warm=measured.warm,
            written=measured.written,
            places=places,
            on_disk=stored,
            may_write=own.may_write,
            memory_bytes=own.keep_bytes,
            seconds=counts.total,
            waited=measured.waited_for_disk,
            read_bytes=counts.bytes_read,
            is_conclusive=counts.is_whole and counts.batches_written == 0,
        )

    def _first_report(self, rank: int) -> Report:
        """Return the facts that every rank knows of a rank before the first iteration."""
        mine = self._dealt[rank]
        stored = np.array([int(b) in self._found.kept for b in mine], bool)
        nothing = np.full(len(mine), np.nan)
        places = np.where(stored, Source.ON_DISK, Source.COMPUTED).astype(np.int8)
        none = Transfers()
        keeps = self._own.keep_bytes
        return Report(0, nothing, nothing, np.nan, none, none, none, places, stored, not self._found.is_earlier, keeps)

    # ---- deciding ----------------------------------------------------------------------------------------------------

    def _decide(self, reports: Sequence[Report]) -> None:
        """Choose the places of all ranks' batches: the same on all ranks, from all reports."""
        # A file of an earlier run is not changed before the first iteration.
        self._decision = self._decider.decide(reports, may_be_taken=self._found.is_earlier and bool(self.iterations))
        self._own.places = self._decision.choice.places[self._ranks.rank].copy()

    # ---- iterating ---------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[tuple[int, Values]]:
        """Return the next iteration over this rank's batches: (batch, values); values are read-only.

        Raises what `produce` raises, on all ranks.
        """
        if self._is_closed:
            raise ArgumentError(f"balance {self._name}: it is closed; make another one")
        running = None if self._loop is None else self._loop()
        if running is not None:
            running.stop(f"balance {self._name}: another iteration has begun, which has ended this one")
        if self._process != _core.fork_generation():
            self._own.may_write = False  # the file belongs to the parent
        self._meet()
        loop = Loop(self._own, self._online(), self._finished)
        self._loop = weakref.ref(loop)
        self._measured = loop.measured
        return loop

    def _online(self) -> Online | None:
        """Return the object that decides during the first iteration."""
        own = self._own
        prices = self._decider.prices
        if prices.knows_computing:
            return None
        total, nbytes = int(self._batches.nbytes.sum()), int(self._batches.nbytes[own.mine].sum())
        part = int(self._disk.bytes_max * nbytes / total) if total and own.file is not None else 0
        return Online(nbytes, own.keep_bytes, part, self._disk.is_fixed, prices.cold)

    def _finished(self, error: BaseException | None) -> None:
        """Called by the loop at its end."""
        if error is None:
            self._meet()
            return
        self._note_iteration()
        if not isinstance(error, Exception) or self._ranks.size == 1 or self._process != _core.fork_generation():
            return
        raised = error.error if isinstance(error, ProduceError) else error
        told: Exception = raised
        if isinstance(error, ProduceError) and (type(raised) is Error or not isinstance(raised, Error)):
            # The error is wrapped like all errors that are not Swath's.
            told = InternalError(
                f"rank {self._ranks.rank}: produce({error.batch}) raised {type(raised).__name__}: {raised}"
            )
        with self._ranks.in_turn(f"balance {self._name}"), contextlib.suppress(Error):
            self._ranks.agree("", told)
        self._ranks.have_agreed(raised)

    def _note_iteration(self) -> Measured | None:
        measured, self._measured = self._measured, None
        if measured is not None:
            self.iterations.append(measured.counts)
        return measured

    def _meet(self, error: Exception | None = None) -> None:
        """Agree with the other ranks on the measurements of the iteration, if there was one. Collective."""
        measured = self._note_iteration()
        if (measured is None and error is None) or self._process != _core.fork_generation():
            return  # the other ranks do not know of a forked child
        ranks = self._ranks
        with ranks.in_turn(f"balance {self._name}"):
            if ranks.size > 1 or error is not None:
                ranks.agree(f"end iteration {len(self.iterations)} of {self._name}" if error is None else "", error)
            if measured is None:
                return
            self._decide(ranks.gather_objects(self._report(measured)))
            self._take_away()
        self._warn()

    def _take_away(self) -> None:
        """Make the file of an earlier run writable, if something must be written. Collective."""
        own, file = self._own, self._own.file
        if not self._found.is_earlier or file is None:
            return
        stored = np.array([int(b) in own.stored for b in own.mine], bool)
        if not any(self._ranks.gather_objects(bool(((own.places == Source.ON_DISK) & ~stored).any()))):
            return

        def take() -> tuple[str, str]:
            try:
                self._atomic = batch_file.take_away(self._found.path)
                self._finalizer.detach()
                self._finalizer = weakref.finalize(self, _never_closed, self._name, self._atomic, os.getpid())
                return self._atomic.working_path, ""
            except OSError as error:
                return "", f"nothing more is kept on disk: {self._found.path} cannot be renamed: {error}"

        path, why = self._ranks.on_first(f"balance {self._name}: take the file", take)
        self._found.is_earlier = False
        if not path:
            own.notes.append(why)
            return
        self._ranks.run_collectively(f"balance {self._name}: open again", lambda: file.reopen(path))
        file.trace_adaptive(decides=not self._disk.is_fixed)
        own.may_write = True

    def _warn(self) -> None:
        """Warn once that a batch is computed that should be read."""
        if self._own.notes and not self._has_warned:
            self._has_warned = True
            warn_caller(f"balance {self._name}: {self._own.notes[0]} (others: b.plan.notes)")

    # ---- the end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close it: with `key`, the complete file gets its name; without, it is removed. Collective."""
        self._close(None)

    def __enter__(self) -> Balanced:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._close(error)
        except Error:
            if error is None:
                raise

    def _close(self, error: BaseException | None) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._finalizer.detach()
        running = None if self._loop is None else self._loop()
        if running is not None:
            running.stop(f"balance {self._name}: it is closed")
        if self._process != _core.fork_generation():
            return  # it belongs to the parent
        try:
            if error is None:
                self._meet()
                self._keep()
            elif isinstance(error, Exception) and not self._ranks.all_raise(error) and self._ranks.size > 1:
                self._meet(error)
        finally:
            self._release()
            self._own.clear()

    def _keep(self) -> None:
        """Complete the file for the next run, if there is a key. Collective."""
        own, key = self._own, self._key
        if key is None or own.file is None or self._found.is_earlier:
            return
        of_ranks = self._ranks.gather_objects((own.stored, own.mine.tolist()))
        kept = {batch: one for stored, _ in of_ranks for batch, one in stored.items()}
        synced = self._ranks.gather_objects(self._synced())

        def complete() -> str:
            failed = [why for why in synced if why]
            if failed or self._atomic is None:
                return failed[0] if failed else ""
            try:
                batch_file.complete(self._atomic, self._batches, key, kept)
            except (Error, OSError) as error:
                return str(error)
            self._atomic = None
            return ""

        why = self._ranks.on_first(f"balance {self._name}: complete", complete)
        if why:
            own.notes.append(f"the batches are not kept for the next run: {why}")
            self._warn()

    def _synced(self) -> str:
        """Sync what this rank has written. Return the reason if this failed."""
        try:
            if self._own.file is not None and self._own.may_write:
                self._own.file.sync()
        except Error as error:
            return str(error)
        return ""

    def _release(self) -> None:
        """Close the file, and remove it if it is not complete."""
        if self._own.file is not None:
            with contextlib.suppress(Error):
                self._own.file.close()
            self._own.file = None
        if self._earlier is not None:
            self._earlier.unlock()
            self._earlier = None
        if self._atomic is not None:
            batch_file.remove(self._atomic)
            self._atomic = None


def _check(produce: Any, path: Any, disk: Any, order: Any, key: Any) -> None:
    """Raise ArgumentError for arguments that do not fit together."""
    if not callable(produce):
        raise ArgumentError(f"produce: expected a function of a batch's number, not {type(produce).__name__}")
    if order not in ("free", "given"):
        raise ArgumentError(f'order={order!r}: expected "free" or "given"')
    if key is not None and not isinstance(key, str):
        raise ArgumentError(f"key: expected text that says which values these are, not {type(key).__name__}")
    if path is None and (key is not None or disk not in ("auto", 0)):
        raise ArgumentError("path: needed to keep batches on disk; without one leave out disk= and key=")


def _never_closed(name: str, atomic_file: AtomicFile | None, process: int) -> None:
    if os.getpid() != process:
        return
    if atomic_file is not None:
        batch_file.remove(atomic_file)
    warnings.warn(f"balance {name}: it was never closed; use it in a `with` block", ResourceWarning, stacklevel=2)
