"""The price of one pass of a copy: the seconds of its stages, which overlap."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from swath.copying.costs import PAGE_BYTES, at

if TYPE_CHECKING:
    from swath.copying.one_pass import Pass

PLACING_SECONDS, PLACED_CHUNK_SECONDS = 2e-3, 15e-6
"""Seconds of a format's library: to open the file, and to allocate one encoded chunk. Measured: HDF5 1.14 and h5py."""
STEP_SECONDS = 1e-4
"""Seconds of the interpreter, for reading one tile or writing one slab."""
FRESH_REQUEST_SECONDS, FRESH_PAGE_SECONDS = 2e-6, 0.3e-6
"""The additional seconds to write a page that is new in a file's page cache: per request that creates pages, and for
each page (a long request makes large folios). Measured once, on ext4, with writes of 3 KiB, 4 KiB and 1 MiB to a
reserved file: 1.30, 0.93 and 0.17 s per GiB at first, 0.61, 0.44 and 0.10 s again; a profile does not have it yet."""
DEVICE_SHARED = 0.5
"""A device that reads and writes at the same time takes the longer of both times, and this part of the shorter one."""
THREADS = 3.0
"""Of a process: one reads, one shuffles, one writes."""
HINDRANCE = 0.15
"""This part of the processors' work is not hidden by a slower device."""


def seconds_of(one: Pass) -> dict[str, float]:
    """Return the seconds of each stage; "last", the writing of the last band to the device; and "total".

    Stages overlap, but not for the first tile and the last band. A device hides a part of its reads behind its writes;
    processors copy from and to the page cache, and in memory. More workers share everything but the device, and the
    turns at one file.
    """
    costs = one.costs
    workers = costs.workers * costs.nodes
    tiles = max(one.tiles / workers, 1)  # for each
    # Linux lets one process of a node at a time write to a file: only files of their own are written at the same time.
    writers = workers if one.target.worker_bytes and one.target.whole_chunks else costs.nodes
    read_run = one.source.nbytes / max(one.read_requests, 1)
    write_run = one.target.nbytes / max(one.write_requests, 1)
    # A compressed chunk is read as a whole for every tile that has a part of it.
    again = _times_read(one)
    decoding = again * one.source.nbytes * costs.decode if one.source.is_compressed else 0.0
    encoding = one.target.nbytes * costs.encode if one.target.is_compressed else 0.0
    asked, asked_run = one.read_requests / one.bands_at_once, read_run * one.bands_at_once
    reading = again * asked * (at(costs.read, asked_run) + costs.read_jump)
    copied_in = again * one.read_requests * at(costs.cache_read, read_run) + decoding
    writing = one.write_requests * at(costs.cache_write, write_run) + encoding + _fresh_seconds(one)
    far = 1 << 24
    to_device = one.target.nbytes * at(costs.write, far) / far
    if not one.is_merged:
        to_device = max(to_device, one.write_requests * (at(costs.write, write_run) + costs.write_jump))
    shuffling = 0.0 if one.in_place else one.source.nbytes * costs.shuffle_byte
    # Writing that no read hides. The kernel itself writes parts of a band that is too long.
    last = to_device * min(min(one.band_bytes, costs.merge_bytes) / max(one.target.nbytes, 1), 1.0)
    meanwhile = to_device - last
    busy = {
        "device": max(reading, meanwhile) + DEVICE_SHARED * min(reading, meanwhile),
        "processors": (copied_in + writing + shuffling)
        / (max(min(costs.cores, THREADS * costs.workers), 1.0) * costs.nodes),
        "reading": max(reading, (copied_in - decoding) / workers + decoding / (costs.cores * costs.nodes)),
        "shuffling": shuffling / workers,
        "writing": (writing - encoding) / writers + encoding / (costs.cores * costs.nodes),
    }
    # The interpreter requests each tile and slab, one at a time.
    slabs = 1 if one.in_place else math.prod(one.tile) / max(one.slab_elements, 1)
    busy["interpreter"] = STEP_SECONDS * tiles * (1 + slabs)
    if one.is_placed:  # chunks are encoded, allocated and written in turn
        placing = PLACING_SECONDS * one.placings + PLACED_CHUNK_SECONDS * one.target.table_entries
        busy["interpreter"] += placing
        busy["writing"] += placing
    # What the device hides still costs something: threads take each other's cores and locks.
    moving = copied_in - decoding + shuffling + writing - encoding
    not_hidden = HINDRANCE * (moving / costs.nodes + busy["interpreter"])
    # The first tile, or the first bands that are prefetched together, is only read; the last one is only written.
    first = max(1 / tiles, one.bands_at_once * one.band_tiles / one.tiles if one.bands_at_once > 1 else 0.0)
    ends = busy["reading"] * first + writing / writers / tiles
    slowest = max(busy.values())
    return {**busy, "last": last, "total": slowest + not_hidden + min(ends, slowest) + last + costs.sync}


def _fresh_seconds(one: Pass) -> float:
    """Return the seconds for new pages of the target, which all are: of four requests of 1 KiB, one creates a page."""
    pages = one.target.nbytes / PAGE_BYTES
    return min(one.write_requests, pages) * FRESH_REQUEST_SECONDS + pages * FRESH_PAGE_SECONDS


def _times_read(one: Pass) -> float:
    """Return how many times a chunk that is moved as a whole is read for all tiles that have a part of it.

    Along a dimension, tiles of e elements touch 1 + (e - gcd(e, c)) / c chunks of c elements on average. Tiles of 6 and
    chunks of 4: each tile touches 2 chunks, so each chunk is read 4 / 3 times.
    """
    side = one.source
    if side.chunk is None or not (side.through_library or side.whole_chunks):
        return 1.0
    return math.prod(
        1.0 if e in (0, n) else (e + c - math.gcd(e, c)) / e
        for c, e, n in zip(side.chunk, one.tile, side.shape, strict=True)
    )
