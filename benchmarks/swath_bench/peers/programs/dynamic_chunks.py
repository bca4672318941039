"""Chunk shapes by dynamic-chunks: with a target size, and equal numbers of chunks along all dimensions."""

from __future__ import annotations

from typing import Any

import answers
import numpy as np
import xarray as xr
from dynamic_chunks.algorithms import NoMatchingChunks, even_divisor_algo, iterative_ratio_increase_algo

TOLERANCE = 0.5


def chunks_of(request: dict[str, Any]) -> None:
    """Answer with a line for each shape: chunks that divide it, else by the package's other algorithm."""
    for index, shape in enumerate(request["shapes"]):
        names = [f"d{n}" for n in range(len(shape))]
        data = xr.Dataset({"a": (names, np.broadcast_to(np.zeros((), request["dtype"]), shape))})
        even = dict.fromkeys(names, 1)
        try:
            found = even_divisor_algo(data, request["chunk_bytes"], even, TOLERANCE)
        except NoMatchingChunks:
            found = iterative_ratio_increase_algo(data, request["chunk_bytes"], even, TOLERANCE)
        answers.keep(request["kept"], {"index": index, "chunks": [int(found[name]) for name in names]})


if __name__ == "__main__":
    answers.answer(chunks=chunks_of)
