"""Peers of `swath bench copy`, each in an environment of its own: TensorStore, zarr-python, dask, rechunker, cubed.

`known` says what is installed and what is measured with it, `running` starts a program of `peers/` for one copy, and
checks what it made. None of them writes one file as Swath does: their targets are Zarr stores without compression, with
chunks of whole rows (transpose) or of tiles (tile), as good to read as Swath's. Their sources are the file itself, or a
Zarr store of the same bytes, rows of the file in each chunk, made beforehand.
"""

from __future__ import annotations

from swath.bench.copy_peers.known import CONTENDERS, NAMES, contenders_of
from swath.bench.copy_peers.running import Peers

__all__ = ["CONTENDERS", "NAMES", "Peers", "contenders_of"]
