"""Runs clang-tidy on every source of a compilation database, several at a time, and remembers which were clean.

Usage: clang_tidy.py BUILD_FOLDER JOBS

A source that was clean is not read again until its preprocessed text (with its comments, for NOLINT), its options, the
checks in .clang-tidy or clang-tidy itself change. Clean sources are recorded as empty files in
${XDG_CACHE_HOME:-~/.cache}/swath-clang-tidy, which may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "swath-clang-tidy")


def one_command_a_source(database: Path) -> list[dict[str, str]]:
    """The first command that compiles each source: some are compiled for several libraries."""
    commands: dict[str, dict[str, str]] = {}
    for entry in json.loads(database.read_text()):
        commands.setdefault(entry["file"], entry)
    return list(commands.values())


def key_of(entry: dict[str, str], settings: bytes) -> str:
    """Return a hash of all inputs of clang-tidy's answer. Raises CalledProcessError if the source does not compile."""
    words = shlex.split(entry["command"])
    options = [word for word in words[1 : words.index("-o")] if not word.startswith("-I")]
    preprocess = [*words[: words.index("-o")], "-E", "-P", "-C", entry["file"]]
    text = subprocess.run(preprocess, cwd=entry["directory"], capture_output=True, check=True).stdout
    return hashlib.sha256(b"\0".join([settings, *map(os.fsencode, options), text])).hexdigest()


def check(entry: dict[str, str], folder: Path, settings: bytes) -> str:
    """Return clang-tidy's warnings for one source; empty if it is clean."""
    try:
        clean = CACHE / key_of(entry, settings)
    except subprocess.CalledProcessError as error:
        return os.fsdecode(error.stderr)
    if clean.exists():
        return ""
    command = ["clang-tidy", "-quiet", "-p", str(folder), entry["file"]]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode == 0 and not result.stdout.strip():
        clean.touch()
        return ""
    return result.stdout + result.stderr


def main(build: str, jobs: str) -> int:
    """Return status 1 if any source is not clean."""
    CACHE.mkdir(parents=True, exist_ok=True)
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    settings = version + Path(".clang-tidy").read_bytes()
    entries = one_command_a_source(Path(build, "compile_commands.json"))
    folder = Path(build, "one-command-a-source")
    folder.mkdir(exist_ok=True)
    (folder / "compile_commands.json").write_text(json.dumps(entries))
    with ThreadPoolExecutor(int(jobs)) as pool:
        complaints = list(filter(None, pool.map(lambda entry: check(entry, folder, settings), entries)))
    print("\n".join(complaints), end="")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
