"""The progress of long operations, on rank 0 only: a bar after two seconds, or calls of a function."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from swath import _core
from swath.errors import ArgumentError

SHOWN_AFTER_SECONDS = 2.0
SECONDS_BETWEEN = 0.2
Report = Callable[[str, int, int], Any]
"""A function of the operation's name, the bytes that are done, and all bytes."""

shown = False
"""Whether bars are wanted. Every operation reads it, `show_bars` sets it."""
_is_watching = False
_report: Any = None
"""The class that shows the bars, or the function that is called instead; None for bars of rich."""


@contextlib.contextmanager
def progress(report: Any = None) -> Iterator[None]:
    """Show the progress of operations in the block: reads, writes, copies, `ds.swath.to_file`, ….

    Only rank 0 shows it. An operation that makes others, as a copy does, is shown as one.

        with swath.progress():                  # bars on standard error, of what takes longer than two seconds
            swath.copy("run.nc", "run.zarr")
        with swath.progress(tqdm):              # bars of tqdm
            ds.swath.to_file("run.nc4")
        with swath.progress(lambda what, done, total: print(what, done, total)):
            a.read(d)

    Args:
        report: nothing; a class with tqdm's arguments and methods (`tqdm`, `tqdm.auto.tqdm`, `tqdm.notebook.tqdm`); or
            a function of the operation's name, the bytes that are done, and all bytes. Another thread calls it five
            times a second, and when the operation has ended; its errors do not end the operation.

    Raises:
        ArgumentError: `report` is none of these.
    """
    global shown, _report
    if report is not None and not callable(report):
        raise ArgumentError(
            f"progress({report!r}): expected nothing, a class such as tqdm, or a function of what is done, the bytes "
            "that are done, and all bytes"
        )
    before = shown, _report
    shown, _report = True, report
    try:
        yield
    finally:
        shown, _report = before


def show_bars(enabled: bool = True) -> None:
    """Switch bars of long operations on standard error on or off. They are for command-line programs, not libraries."""
    global shown  # noqa: PLW0603 - one terminal a process
    shown = enabled


class Watched(Protocol):
    """The object whose progress a bar shows."""

    @property
    def bytes_done(self) -> int:
        """Return the bytes moved so far."""

    @property
    def bytes_total(self) -> int:
        """Return the bytes that the whole operation moves."""


def watching(
    label: str, rank: int, watched: Watched | None = None
) -> contextlib.AbstractContextManager[_core.Progress | None]:
    """Yield the counter for an operation's progress on rank 0 if bars are wanted; else None.

    With `watched`, the bar shows the progress of that, and operations inside the block have no bars of their own.
    """
    return _watching(label, watched) if shown and rank == 0 and not _is_watching else _UNWATCHED


_UNWATCHED: contextlib.nullcontext[None] = contextlib.nullcontext()


@contextlib.contextmanager
def _watching(label: str, watched: Watched | None) -> Iterator[_core.Progress]:
    """Show a bar while the block runs, from the third second on."""
    global _is_watching  # noqa: PLW0603 - one terminal a process
    own = _core.Progress()
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(watched or own, label, done), daemon=True)
    watcher.start()
    _is_watching = True
    try:
        yield own
    finally:
        _is_watching = False
        done.set()
        watcher.join()


def _watch(watched: Watched, label: str, done: threading.Event) -> None:
    if _report is not None and not isinstance(_report, type):
        _call(_report, watched, label, done)
    elif not done.wait(SHOWN_AFTER_SECONDS):
        _show_bar(watched, label, done) if _report is None else _show_tqdm(_report, watched, label, done)


def _call(report: Report, watched: Watched, label: str, done: threading.Event) -> None:
    while not done.wait(SECONDS_BETWEEN):
        report(label, watched.bytes_done, watched.bytes_total)
    report(label, watched.bytes_done, watched.bytes_total)


def _show_tqdm(make: Any, watched: Watched, label: str, done: threading.Event) -> None:
    with make(desc=label, total=watched.bytes_total, unit="B", unit_scale=True) as bar:
        is_done = False
        while not is_done:
            is_done = done.wait(SECONDS_BETWEEN)
            bar.total = watched.bytes_total
            bar.update(watched.bytes_done - bar.n)


def _show_bar(watched: Watched, label: str, done: threading.Event) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    is_shown = sys.stderr.isatty()
    with Progress(*columns, console=Console(file=sys.stderr), transient=True, disable=not is_shown) as bars:
        task = bars.add_task(label, total=watched.bytes_total)
        while not done.wait(SECONDS_BETWEEN):
            bars.update(task, completed=watched.bytes_done, total=watched.bytes_total)
