"""Mounting a modelled disk: a folder that any program can use and that takes the time of a disk that is not there.

The program `swath-modelled-disk` (instruments/modelled_disk, `make modelled-disk`) does the work; it needs libfuse 3
and a machine that lets this user mount by FUSE. docs/modelled-disks.md tells what the model knows and what it leaves
out. What was measured on such a folder is a model's time, and must say so wherever it is printed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from swath.errors import UnsupportedError

PROGRAM = "swath-modelled-disk"
VARIABLE = "SWATH_MODELLED_DISK"
CONTROL = ".modelled-disk"
"""The file in the root of the mounted folder that tells statistics, and takes the name of another preset."""

SECONDS_TO_MOUNT = 10.0
SECONDS_TO_END = 10.0


def find_program(build: str | os.PathLike[str] | None = None) -> str | None:
    """Return the path of the program: $SWATH_MODELLED_DISK, else in PATH, else anywhere below the folder `build`.

    None where there is none; of several below `build` the one that was built last.
    """
    told = os.environ.get(VARIABLE)
    if told:
        return told if os.access(told, os.X_OK) else None
    if found := shutil.which(PROGRAM):
        return found
    built = [] if build is None else [path for path in Path(build).glob(f"**/{PROGRAM}") if os.access(path, os.X_OK)]
    return str(max(built, key=lambda path: path.stat().st_mtime)) if built else None


def refusal(build: str | os.PathLike[str] | None = None) -> str:
    """Return why no modelled disk can be mounted here; empty where it can, as far as can be told beforehand."""
    if find_program(build) is None:
        told = os.environ.get(VARIABLE)
        if told:
            return f"${VARIABLE} is {told}, which is no program"
        return f"{PROGRAM} was not found in PATH or a build folder: make modelled-disk (it needs libfuse3-dev)"
    if not os.path.exists("/dev/fuse"):
        return "there is no /dev/fuse: this kernel, or this container, has no FUSE"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse may not be opened by this user"
    if os.geteuid() != 0 and shutil.which("fusermount3") is None:
        return "only root can mount here: there is no fusermount3 (package fuse3)"
    return ""


@contextlib.contextmanager
def mounted(
    preset: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    scale: float = 1.0,
    trace: str | os.PathLike[str] | None = None,
    build: str | os.PathLike[str] | None = None,
) -> Iterator[Path]:
    """Mount a modelled disk, give the path of its root, and unmount it at the end, whatever happened meanwhile.

    The program ends with this process, also where that is killed.

    Args:
        preset: "xeon-eide", "p690-scsi", "p690-raid5", "cluster-nfs-raid5" or "ssd".
        folder: where the mount point and the bytes are kept, in a new folder that is removed at the end; by default
            where temporary files are.
        scale: how many times as fast the model's time runs.
        trace: a file that gets every position of the heads, as CSV, at the end.
        build: a folder below which the program is looked for when it is not in PATH.

    Raises:
        UnsupportedError: no modelled disk can be mounted here, and why; the preset is unknown.
    """
    why_not = refusal(build)
    if why_not:
        raise UnsupportedError(f"modelled disk {preset}: {why_not}")
    program = str(find_program(build))
    with tempfile.TemporaryDirectory(prefix="swath-modelled-disk-", dir=folder) as kept:
        backing, root = Path(kept, "bytes"), Path(kept, "disk")
        backing.mkdir()
        root.mkdir()
        command = [program, "--preset", preset, "--backing", str(backing), "--scale", str(scale)]
        command += ["--foreground", "--until-eof", *(["--trace", str(trace)] if trace else []), str(root)]
        running = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            _wait_until_mounted(running, preset)
            yield root
        finally:
            _end(running, root)


def statistics(root: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what the disk mounted on `root` did since it was mounted.

    Returns:
        "what" ("modelled disk"), "preset", "description", "scale", "requests", "read_bytes", "written_bytes", "seeks",
        "skips" (gaps that were read over), "prefetched_bytes", "prefetch_hits", "busy_seconds" and "seek_seconds" of
        all its heads, in the model's time.
    """
    told: dict[str, Any] = json.loads(Path(root, CONTROL).read_text(encoding="ascii"))
    return told


def change(root: str | os.PathLike[str], preset: str) -> None:
    """Put another disk in the place of the one mounted on `root`, at once; files and their places stay.

    Raises UnsupportedError where there is no such preset.
    """
    try:
        Path(root, CONTROL).write_text(preset, encoding="ascii")
    except OSError as error:
        raise UnsupportedError(f"modelled disk on {root}: there is no preset {preset!r}") from error


def _wait_until_mounted(running: subprocess.Popen[str], preset: str) -> None:
    """Returns when the program has said that it is mounted; raises UnsupportedError with its reason where it ends."""
    assert running.stdout is not None
    ready, _, _ = select.select([running.stdout], [], [], SECONDS_TO_MOUNT)
    line = running.stdout.readline() if ready else ""
    if re.match(r"modelled disk \S+ \(", line):
        return
    running.kill()
    _, said = running.communicate()
    reason = said.strip() or f"{PROGRAM} said nothing for {SECONDS_TO_MOUNT:g} s"
    raise UnsupportedError(f"modelled disk {preset}: {reason}")


def _end(running: subprocess.Popen[str], root: Path) -> None:
    """Asks the program to unmount; where it does not, or was killed, the mount is taken away without it."""
    running.terminate()
    try:
        running.communicate(timeout=SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        running.kill()
        running.communicate()
    if not os.path.ismount(root) and _answers(root):
        return
    for command in (["fusermount3", "-u", "-z", str(root)], ["umount", "-l", str(root)]):
        if shutil.which(command[0]) and subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return


def _answers(root: Path) -> bool:
    """Return whether the folder can be asked; a mount whose program has died cannot ("transport endpoint…")."""
    try:
        os.stat(root)
    except OSError:
        return False
    return True
