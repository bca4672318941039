"""A bar for what takes longer than two seconds, on rank 0 only."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Protocol

from swath import _core

SHOWN_AFTER_SECONDS = 2.0
shown = False
"""Whether bars are wanted. Read by every operation, and set by `show_bars`."""
_is_watching = False


def show_bars(enabled: bool = True) -> None:
    """Show bars of long operations on standard error, or none. Command-line programs want them, libraries do not."""
    global shown  # noqa: PLW0603 - one terminal a process
    shown = enabled


class Watched(Protocol):
    """What a bar looks at."""

    @property
    def bytes_done(self) -> int:
        """Return the bytes moved so far."""

    @property
    def bytes_total(self) -> int:
        """Return the bytes that will have been moved in the end."""


def watching(
    label: str, rank: int, watched: Watched | None = None
) -> contextlib.AbstractContextManager[_core.Progress | None]:
    """Give the block what an operation is to be watched by, where bars are wanted and on rank 0, else None.

    Given `watched`, the bar looks at that, and the operations inside the block have none of their own.
    """
    return _watching(label, watched) if shown and rank == 0 and not _is_watching else _UNWATCHED


_UNWATCHED: contextlib.nullcontext[None] = contextlib.nullcontext()


@contextlib.contextmanager
def _watching(label: str, watched: Watched | None) -> Iterator[_core.Progress]:
    """Show a bar from the third second on, while the block runs."""
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
    if done.wait(SHOWN_AFTER_SECONDS):
        return
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
        while not done.wait(0.2):
            bars.update(task, completed=watched.bytes_done, total=watched.bytes_total)
