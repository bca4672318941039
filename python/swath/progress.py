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


@contextlib.contextmanager
def watching(watched: _core.Progress, label: str, rank: int) -> Iterator[None]:
    """While the block runs, show how far `watched` is: from the third second on, on rank 0, if bars are wanted."""
    if not _enabled or rank != 0:
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(watched, label, done), daemon=True)
    watcher.start()
    try:
        yield
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
