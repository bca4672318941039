"""Reads the lines of a compressed trace up to its end, also if its process was killed or the file is damaged."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import BinaryIO

CHUNK_BYTES = 1 << 20
GZIP = 16 + zlib.MAX_WBITS
GZIP_MAGIC = b"\x1f\x8b"


class Lines:
    """Iterates over complete lines, without their newlines.

    Attributes:
        cut: after the iteration, why more lines may be missing; "" if the file was read to its end.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.cut = ""
        self._file = file

    def __iter__(self) -> Iterator[bytes]:
        rest = b""
        for text in self._texts():
            *lines, rest = (rest + text).split(b"\n")
            yield from lines
        if rest:
            self.cut = self.cut or "its last line is not complete"

    def blocks(self, size: int) -> Iterator[bytes]:
        """Iterate over the same lines in texts of about so many bytes, each of whole lines with their newlines."""
        parts: list[bytes] = []
        held = 0
        for text in self._texts():
            parts.append(text)
            held += len(text)
            if held >= size and b"\n" in text:
                whole = b"".join(parts)
                end = whole.rindex(b"\n") + 1
                yield whole[:end]
                parts, held = [whole[end:]], len(whole) - end
        whole = b"".join(parts)
        end = whole.rfind(b"\n") + 1
        if end:
            yield whole[:end]
        if end < len(whole):
            self.cut = self.cut or "its last line is not complete"

    def _texts(self) -> Iterator[bytes]:
        stored = self._file.read(CHUNK_BYTES)
        if stored[:2] != GZIP_MAGIC:
            while stored:
                yield stored
                stored = self._file.read(CHUNK_BYTES)
            return
        yield from self._uncompressed(stored)

    def _uncompressed(self, stored: bytes) -> Iterator[bytes]:
        member = zlib.decompressobj(GZIP)
        while stored:
            try:
                text = member.decompress(stored, CHUNK_BYTES)
            except zlib.error as error:
                self.cut = f"its compressed data are damaged: {error}"
                return
            if text:
                yield text
            stored = member.unconsumed_tail or member.unused_data
            if not stored:
                stored = self._file.read(CHUNK_BYTES)
            if member.eof and stored:
                member = zlib.decompressobj(GZIP)
        if not member.eof:
            self.cut = "its last part is not complete: the process was killed, or the disk was full"
