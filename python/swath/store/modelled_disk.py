"""Mounts a modelled disk: a folder for any program, with the speed of a disk that this machine does not have.

The program `swath-modelled-disk` (instruments/modelled_disk, `make modelled-disk`) does the work; it needs libfuse 3
and a machine that lets this user mount by FUSE. docs/modelled-disks.md says what the model covers and what it leaves
out. Times that were measured in such a folder are times of a model: say so wherever they are printed.
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
"""The control file in the root of the mount: read statistics from it, write the name of another preset to it."""

SECONDS_TO_MOUNT = 10.0
SECONDS_TO_END = 10.0


def find_program(build: str | os.PathLike[str] | None = None) -> str | None:
    """Return the path of the program: from $SWATH_MODELLED_DISK, else from PATH, else below the folder `build`.

    Returns None if it is not found. Of several below `build`, it is the one that was built last.
    """
    told = os.environ.get(VARIABLE)
    if told:
        return told if os.access(told, os.X_OK) else None
    if found := shutil.which(PROGRAM):
        return found
    built = [] if build is None else [path for path in Path(build).glob(f"**/{PROGRAM}") if os.access(path, os.X_OK)]
    return str(max(built, key=lambda path: path.stat().st_mtime)) if built else None


def refusal(build: str | os.PathLike[str] | None = None) -> str:
    """Return why no modelled disk can be mounted here; "" if no obstacle is known."""
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
    """Mount a modelled disk, yield the path of its root, and unmount it at the end, also after an error.

    The program of the disk ends when this process ends or is killed.

    Args:
        preset: "xeon-eide", "p690-scsi", "p690-raid5", "cluster-nfs-raid5" or "ssd".
        folder: the parent of a new folder for the mount point and the bytes, which is removed at the end; by default
            the folder of temporary files.
        scale: the factor by which the model's time runs faster.
        trace: a CSV file that gets every position of the heads at the end.
        build: a folder to search for the program if it is not in PATH.

    Raises:
        UnsupportedError: no modelled disk can be mounted here (the message says why), or the preset is unknown.
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
    """Return statistics of the disk mounted on `root` since it was mounted.

    Returns:
        "what" ("modelled disk"), "preset", "description", "scale", "requests", "read_bytes", "written_bytes", "seeks",
        "skips" (gaps that were read over), "prefetched_bytes", "prefetch_hits", "busy_seconds" and "seek_seconds" of
        all its heads, in the model's time.
    """
    told: dict[str, Any] = json.loads(Path(root, CONTROL).read_text(encoding="ascii"))
    return told


def change(root: str | os.PathLike[str], preset: str) -> None:
    """Replace the model of the disk mounted on `root`, at once; files and their places on the disk stay.

    Raises UnsupportedError if there is no such preset.
    """
    try:
        Path(root, CONTROL).write_text(preset, encoding="ascii")
    except OSError as error:
        raise UnsupportedError(f"modelled disk on {root}: there is no preset {preset!r}") from error


def _wait_until_mounted(running: subprocess.Popen[str], preset: str) -> None:
    """Wait until the program reports the mount. Raise UnsupportedError with the program's reason if it fails."""
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
    """Ask the program to unmount. If the mount is still there, remove it with `fusermount3` or `umount`."""
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
    """Return whether `stat` works on the folder: it fails if the program of the mount has died."""
    try:
        os.stat(root)
    except OSError:
        return False
    return True
