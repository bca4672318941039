"""A bar for what takes longer than two seconds, on rank 0 only."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

from swath import _core

SHOWN_AFTER_SECONDS = 2.0
_enabled = False


def show_bars(enabled: bool = True) -> None:
    """Whether long operations show a bar on standard error. Command-line programs ask for it, libraries do not."""
    global _enabled  # noqa: PLW0603 - one terminal a process
    _enabled = enabled


def watching(label: str, rank: int) -> contextlib.AbstractContextManager[_core.Progress | None]:
    """Where bars are wanted, on rank 0: what an operation is to be watched by while the block runs, else None."""
    return _watched(label) if _enabled and rank == 0 else _UNWATCHED


_UNWATCHED: contextlib.nullcontext[None] = contextlib.nullcontext()


@contextlib.contextmanager
def _watched(label: str) -> Iterator[_core.Progress]:
    """From the third second on there is a bar."""
    watched = _core.Progress()
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(watched, label, done), daemon=True)
    watcher.start()
    try:
        yield watched
    finally:
        done.set()
        watcher.join()


def _watch(watched: _core.Progress, label: str, done: threading.Event) -> None:
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
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bars:
        task = bars.add_task(label, total=watched.bytes_total)
        while not done.wait(0.2):
            bars.update(task, completed=watched.bytes_done, total=watched.bytes_total)
