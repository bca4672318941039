"""The costs of coded chunks: codecs, on one core with elements like a model's field; and files of chunks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from swath import _core
from swath.calibration.measuring import Measuring
from swath.calibration.samples import Sample, seconds_of
from swath.errors import UnsupportedError
from swath.files.layouts import codec_tuples
from swath.formats.description import Codec

ROWS, COLUMNS = 512, 512
"""The shape of the field; its elements have 4 bytes."""
CHUNK_BYTES = 128 << 10
SHUFFLE = Codec("shuffle", (("element_bytes", 4),))
CHAINS: dict[str, tuple[Codec, ...]] = {
    "shuffle": (SHUFFLE,),
    "checksum": (Codec("fletcher32"),),
    "zstd": (Codec("zstd", (("level", 0),)),),
    "lz4": (Codec("lz4", (("level", 1),)),),
    "blosc": (Codec("blosc", (("compressor", "lz4"), ("level", 5), ("shuffle", 1), ("element_bytes", 4))),),
    "deflate": (SHUFFLE, Codec("zlib", (("level", 4),))),
}
"""The measured codecs, by their names in the profile. Deflate's input is shuffled, as in most files."""
FILES = 64


def codecs(measuring: Measuring, seconds: float) -> None:
    """Measure each codec, and opening and making files of chunks."""
    elements = field()
    share = seconds / (len(CHAINS) + 1)
    found: dict[str, tuple[Sample, Sample]] = {}
    for name, chain in CHAINS.items():
        try:
            encode, decode, _ = _core.time_coding(codec_tuples(chain), elements, CHUNK_BYTES, share)
        except UnsupportedError:
            continue  # this build lacks the codec: a user of it gets an error
        found[name] = Sample.of(encode), Sample.of(decode)
    for name, samples in found.items():
        for number, sample, of_shuffle in zip(("encode", "decode"), samples, found["shuffle"], strict=True):
            before = of_shuffle.median if len(CHAINS[name]) > 1 else 0.0
            measuring.findings.set(f"{name}.{number}", max(sample.median - before, 0.0), sample.spread)
    _files(measuring, share)


def field() -> npt.NDArray[np.float32]:
    """Return elements that compress like those of a model: waves, with noise in the last digits."""
    rows, columns = np.meshgrid(np.linspace(0, 9, ROWS), np.linspace(0, 7, COLUMNS), indexing="ij")
    noise = np.random.default_rng(2).normal(0, 0.05, (ROWS, COLUMNS))
    waves: npt.NDArray[Any] = 280 + 20 * np.sin(rows) * np.cos(columns) + noise
    return np.round(waves, 2).astype(np.float32)


def _files(measuring: Measuring, seconds: float) -> None:
    """Measure the search and open of a chunk's file, and the write and rename of one."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(measuring.file.path)) as folder:
        names = [os.path.join(folder, str(number)) for number in range(FILES)]
        made, found = measuring.in_turn([_seconds_each(_make, names), _seconds_each(_look, names)], seconds)
    measuring.findings.set("chunk_create_seconds", made.median, made.spread)
    measuring.findings.set("chunk_open_seconds", found.median, found.spread)


def _seconds_each(work: Callable[[str], None], names: list[str]) -> Callable[[], float]:
    return lambda: seconds_of(partial(_for_each, work, names)) / len(names)


def _for_each(work: Callable[[str], None], names: list[str]) -> None:
    for name in names:
        work(name)


def _make(name: str) -> None:
    aside = name + ".new"
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(descriptor, b"0")
    os.close(descriptor)
    os.rename(aside, name)


def _look(name: str) -> None:
    descriptor = os.open(name, os.O_RDONLY)
    os.fstat(descriptor)
    os.close(descriptor)
