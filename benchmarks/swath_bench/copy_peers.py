"""Peers of `swath bench copy`: TensorStore, zarr-python, dask, rechunker, cubed.

None of them writes one file as Swath does: their targets are Zarr stores without compression, with chunks of whole rows
(transpose) or of tiles (tile), as good to read as Swath's. Their sources are the file itself, or a prepared Zarr store
of the same bytes, with rows of the file in each chunk. Swath checks their targets.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import swath
from swath.errors import ArgumentError, Error
from swath_bench.peers.environments import WORDS_MAX, Environments
from swath_bench.peers.running import Program

VALUE_BYTES = 8
CHUNK_BYTES_MAX = 8 << 20
CHUNKS_PER_BUDGET = 16
"""Chunks of whole rows have at most a sixteenth of the budget: cubed asks for ten times a chunk, rechunker for less."""
SOURCE, STORE = "a.npy", "a.zarr"

TITLES = {
    "tensorstore": "TensorStore",
    "zarr": "zarr-python",
    "dask": "dask",
    "rechunker": "rechunker",
    "cubed": "cubed",
}
"""The peers' names in tables, by those in `--peers`, of their environments and programs."""
NAMES = tuple(TITLES)
READ_STORES = ("tensorstore", "rechunker", "cubed")
"""Peers that read a Zarr store with the source's bytes, not the file itself."""
SETTINGS = ("defaults", "tuned")
"""The settings of the library's tutorial, and those that its documentation recommends for the memory budget."""
CONTENDERS: dict[str, tuple[str, str]] = {
    f"{title}, {setting}": (name, setting) for name, title in TITLES.items() for setting in SETTINGS
}
"""Peer and setting, by their names in tables and records."""


def contenders_of(names: Sequence[str]) -> list[str]:
    """Return the contenders of some peers. Raises ArgumentError for an unknown name."""
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise ArgumentError(f'--peers: "{unknown[0]}" is no peer of copy: expected some of {", ".join(NAMES)}')
    return [contender for contender, (peer, _) in CONTENDERS.items() if peer in names]


class Peers:
    """The peers' part of one benchmark, in its folder. It always removes its processes and targets, also after errors.

    Attributes:
        versions: maps an environment to the versions of its packages, for the environments made so far.
    """

    def __init__(self, folder: str, limit_seconds: float) -> None:
        self.versions: dict[str, dict[str, str]] = {}
        self._folder = os.path.abspath(folder)  # programs work in their own folders
        self._limit_seconds = limit_seconds
        self._environments = Environments()
        self._refused: dict[tuple[str, str], str] = {}

    def prepare(self, names: Sequence[str], memory: int, shape: tuple[int, int]) -> None:
        """Make the Zarr store with the source's bytes, if one of `names` cannot read the file."""
        if any(name in READ_STORES for name in names):
            _make_store(self._folder, shape, chunks_of_rows(shape, memory))

    def measure(self, job: Mapping[str, Any], shape: tuple[int, int], chunk: int) -> dict[str, Any]:
        """Make one copy. Return "refused" (the reason or None), and without one the figures and settings ("hints").

        A peer that was refused once is not run again for the same kind of copy.
        """
        key = (job["contender"], job["case"])
        if key not in self._refused:
            _say(f"copy: {job['case']}: {job['contender']}, repetition {job['repetition']}")
            told = self._measured(job, shape, chunk)
            if told["refused"] is None:
                return told
            self._refused[key] = told["refused"]
            _say(f"copy: {told['refused']}")
        return {"refused": self._refused[key]}

    def _measured(self, job: Mapping[str, Any], shape: tuple[int, int], chunk: int) -> dict[str, Any]:
        peer, setting = CONTENDERS[job["contender"]]
        made = self._environments.get(peer)
        if isinstance(made, str):
            return {"refused": f"{job['contender']}: {made}"}
        self.versions[peer] = made.versions
        program = Program(made, peer, "copy", self._limit_seconds)  # it leaves a line when it begins, and when it ends
        with tempfile.TemporaryDirectory(prefix=f"{peer}-", dir=self._folder) as own:
            request = self._request(job, setting, shape, chunk, own)
            said, failed = _run(program, request, own)
            if not failed and job["repetition"] <= 1:
                failed = _wrong(request, said)
        return {"refused": f"{job['contender']}: {failed}"} if failed else {"refused": None, **said}

    def _request(
        self, job: Mapping[str, Any], setting: str, shape: tuple[int, int], chunk: int, own: str
    ) -> dict[str, Any]:
        """Return the request to a program."""
        transposed = job["case"] == "transpose"
        of_target = shape[::-1] if transposed else shape
        return {
            "case": job["case"],
            "setting": setting,
            "source": os.path.join(self._folder, SOURCE),
            "store": os.path.join(self._folder, STORE),
            "target": os.path.join(own, "b.zarr"),
            "scratch": os.path.join(own, "scratch"),
            "shape": shape,
            "target_shape": of_target,
            "chunks": chunks_of_rows(of_target, job["memory"]) if transposed else (chunk, chunk),
            "memory": job["memory"],
            "workers": len(os.sched_getaffinity(0)),
        }


def chunks_of_rows(shape: tuple[int, int], memory: int) -> tuple[int, int]:
    """Return chunks of whole rows: at most 8 MiB and a sixteenth of the budget, and at least one row."""
    rows = min(CHUNK_BYTES_MAX, memory // CHUNKS_PER_BUDGET) // (shape[1] * VALUE_BYTES)
    return min(max(rows, 1), shape[0]), shape[1]


def _run(program: Program, request: dict[str, Any], folder: str) -> tuple[dict[str, Any], str]:
    """Return the figures of a program, and the reason if it failed, or ""."""
    lines, failed = program.run(request, folder)
    said = {name: value for line in lines for name, value in line.items()}
    if "failed" in said:
        return {}, said["failed"][:WORDS_MAX]
    if failed.startswith("no sign of life") and said:
        return {}, f"took more than {program.silent_seconds:g} s, ended"
    if failed or "seconds" not in said:
        return {}, failed or "measured nothing"
    return said, ""


def _wrong(request: Mapping[str, Any], said: dict[str, Any]) -> str:
    """Return the difference in the target, as Swath reads it; or ""."""
    axes = (1, 0) if request["case"] == "transpose" and said["transposed"] else None
    try:
        found = swath.verify(request["source"], request["target"], axes=axes)
    except Error as error:
        return f"its target cannot be read: {error}"
    return "" if found else f"wrong data: {found}"


def _make_store(folder: str, shape: tuple[int, int], chunks: tuple[int, int]) -> None:
    """Make the source as a Zarr store of version 2, which all peers read: each chunk is some rows of the file."""
    store = os.path.join(folder, STORE)
    os.makedirs(store, exist_ok=True)
    metadata = {
        "zarr_format": 2,
        "shape": shape,
        "chunks": chunks,
        "dtype": "<f8",
        "fill_value": 0,
        "order": "C",
        "filters": None,
        "compressor": None,
        "dimension_separator": ".",
    }
    with open(os.path.join(store, ".zarray"), "w", encoding="utf-8") as file:
        json.dump(metadata, file)
    source = np.load(os.path.join(folder, SOURCE), mmap_mode="r")
    padded = np.zeros(chunks, "<f8")
    for number in range(math.ceil(shape[0] / chunks[0])):
        rows = source[number * chunks[0] : (number + 1) * chunks[0]]
        padded[: len(rows)] = rows
        with open(os.path.join(store, f"{number}.0"), "wb") as file:
            file.write(padded.data)
            os.fsync(file.fileno())


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
