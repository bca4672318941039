"""How an array is brought into another layout within a budget of memory. Pure: no file, no clock.

Both sides of a copy want long runs, and they want them along different dimensions. The array is cut into tiles; a tile
is read in the order of the source, brought into the order of the target in memory, and written. Of M elements of
memory, a transpose in one pass has runs of s elements on one side and M / s on the other: about sqrt(M) on both. In two
passes, with a file of small chunks between, runs have about M^(2/3) elements, for twice the bytes: where memory is
tiny beside a row, that is less time. (Out-of-core transposition: Kandaswamy et al. 2002, section 3.3, transposes in
memory so that both files are read and written in their own order; the exponents are those of external permuting with
one and two passes.)

Tiles follow each other in the order of the target, so that what was written becomes contiguous after every *band*: one
row of tiles. As long as a band fits in what the page cache may hold back (`Costs.merge_bytes`), the device sees long
writes however short the runs were.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator
from typing import Any

from swath.copying.costs import PAGE_BYTES, Costs, at
from swath.copying.sides import Extents, Side, pieces, same_order
from swath.errors import ArgumentError

MIB = 1 << 20
OVERHEAD_BYTES = 7 * MIB
"""Kept back of a budget for threads' stacks, rings and plans; of small budgets at most a quarter."""
TYPICAL_OVERHEAD_BYTES = 7 * MIB // 4
"""What they take as a rule: 0 to 3.5 MiB over the grid of `swath bench copy --grid`. Threads that code chunks take all
that is kept back: each has a heap of its own, and its compressor another buffer."""
METHOD_BYTES = 600 << 10
"""What reading or writing one tile needs (docs/methods.md): a bounce buffer or a batch."""
WORKERS = 8
"""Threads that move chunks, each with memory of its own, where there is room for so many."""
DECODE_SECONDS, ENCODE_SECONDS = 1e-9, 3e-9
"""Of a core, for a byte of compressed chunks: a guess that suits zstd; data and codecs differ by tens."""
LIBRARY_BYTES = 64 * MIB
"""A slab that a format's library reads at once (library_access.py); there are two copies of it for a moment."""
CHUNK_BYTES = 120
"""Of the table that says where each chunk is, while it is made and afterwards."""
SLAB_PART = 16
SLAB_BYTES_MIN = 64 << 10
TILES_READ_AHEAD = 2
SLABS_WRITTEN_BEHIND = 2
TILES_IN_PLACE = 3
"""Where a tile is written from the memory that it was read into: one that is read, one that waits, one written."""
STEPS = tuple(sorted({2**k for k in range(62)} | {3 * 2**k for k in range(61)}))
AHEAD_RUN_BYTES, AHEAD_RUN_BYTES_MIN = 512 << 10, 32 << 10
"""About as long as a device likes; shorter ones are as well read as they come, for each costs a call."""
GROUPS_MIN = 4
"""While the first group of bands is read nothing is written."""
SECOND_PASS_PAYS = 0.9
"""Two passes need room for another file, and must be this much faster."""
SCRATCH_CHUNK_BYTES_MIN = 4096
"""Each chunk that a tile touches costs some bytes of memory and a microsecond."""
SHORT_SECONDS = 1.0
"""A copy that takes less gets no second pass."""
START_SECONDS = 0.1
"""Planning, making the files, the journal."""
STEP_SECONDS = 1e-4
"""Of the interpreter, for reading one tile or writing one slab."""
FRESH_REQUEST_SECONDS, FRESH_PAGE_SECONDS = 2e-6, 0.3e-6
"""What a page that a file did not have in memory costs more to write than one that it had: by the request that makes
it, and by itself (a long request makes large folios). Seen once, on ext4, with writes of 3 KiB, 4 KiB and 1 MiB to a
reserved file: 1.30, 0.93 and 0.17 s a GiB at first, 0.61, 0.44 and 0.10 s again; a profile does not tell it yet."""
DEVICE_SHARED = 0.5
"""A device that reads and writes at once takes the longer of both, and this part of the shorter."""
THREADS = 3.0
"""Of a process: one reads, one shuffles, one writes."""
HINDRANCE = 0.15
"""So much of the work of processors is not hidden behind a device that is slower."""


@dataclasses.dataclass(frozen=True)
class Pass:
    """One way from file to file, tile by tile.

    Attributes:
        source, target: the two sides.
        tile: extents of a tile.
        slab: extents of the part of a tile that is brought into the target's order, and written, at once.
        converts: whether elements get another dtype, from one buffer into another (not only another byte order, which
            happens in place).
        costs: what it is priced by.
    """

    source: Side
    target: Side
    tile: Extents
    slab: Extents
    converts: bool
    costs: Costs

    @property
    def grid(self) -> Extents:
        """Tiles along each dimension."""
        return tuple(-(-n // e) if e else 0 for n, e in zip(self.target.shape, self.tile, strict=True))

    @property
    def tiles(self) -> int:
        """How many there are."""
        return math.prod(self.grid)

    @property
    def shuffles(self) -> bool:
        """Whether elements of a tile change their order."""
        return not same_order(self.source, self.target, self.tile)

    @property
    def in_place(self) -> bool:
        """Whether a tile is written from the memory that it was read into."""
        return not (self.shuffles or self.converts)

    def box(self, index: int) -> tuple[slice, ...]:
        """The tile of that number. They follow each other in the order of the target."""
        places = [0] * len(self.tile)
        for d in reversed(self.target.order):
            index, places[d] = divmod(index, self.grid[d])
        return tuple(
            slice(p * e, min((p + 1) * e, n)) for p, e, n in zip(places, self.tile, self.target.shape, strict=True)
        )

    def slabs(self, extents: Extents) -> Iterator[tuple[slice, ...]]:
        """The parts of a tile of these extents, in the order of the target."""
        if self.in_place:
            yield tuple(slice(0, e) for e in extents)
            return
        grid = [range(0, e, s) for e, s in zip(extents, self.slab, strict=True)]
        for number in range(math.prod(len(g) for g in grid)):
            begins = [0] * len(grid)
            for d in reversed(self.target.order):
                number, place = divmod(number, len(grid[d]))  # noqa: PLW2901
                begins[d] = grid[d][place]
            yield tuple(slice(b, min(b + s, e)) for b, s, e in zip(begins, self.slab, extents, strict=True))

    @property
    def band_tiles(self) -> int:
        """After so many tiles what was written is contiguous, chunks included."""
        chunk = self.target.chunk or (1,) * len(self.tile)
        for place, d in enumerate(self.target.order):
            if max(self.tile[d], chunk[d]) > 1 and self.target.shape[d] > 1:
                faster = math.prod(self.grid[f] for f in self.target.order[place + 1 :])
                return min(-(-chunk[d] // self.tile[d]), self.grid[d]) * faster
        return 1

    def span_of_band(self, side: Side, band: int) -> tuple[int, int] | None:
        """The bytes of a band, [begin, end), from the first byte of that side; None where they are in no one piece.

        Shape (100, 200) of 8 bytes, tiles of (10, 200): of a target in C order band 2 is [32000, 48000); of a source in
        F order it is 200 pieces of 10 numbers each, and there is no span.
        """
        if side.strides is None:
            return None
        first = self.box(band * self.band_tiles)
        last = self.box(min((band + 1) * self.band_tiles, self.tiles) - 1)
        begin = sum(part.start * stride for part, stride in zip(first, side.strides, strict=True))
        end = sum((part.stop - 1) * stride for part, stride in zip(last, side.strides, strict=True)) + side.itemsize
        elements = self.band_bytes // max(self.target.itemsize, 1)
        return (begin, end) if end - begin <= elements * side.itemsize else None

    @property
    def band_bytes(self) -> int:
        """Of a band."""
        return min(self.band_tiles * math.prod(self.tile) * self.target.itemsize, self.target.nbytes)

    @property
    def is_merged(self) -> bool:
        """Whether the page cache makes long writes of short ones."""
        return self.band_bytes <= self.costs.merge_bytes

    @functools.cached_property
    def bands_at_once(self) -> int:
        """The source's runs of so many bands are asked for at once (`swath.copying.ahead`); 1 where that is no use.

        It is where they follow each other in the file, and are short; and where the page cache has room for them and
        for as many more.
        """
        source, d = self.source, self._band_dimension
        if d is None or self.tiles == 0 or source.strides is None:
            return 1
        if source.order[-1] != d or source.strides[d] != source.itemsize:
            return 1
        run_bytes = source.run_bytes(self.tile)
        room = self.costs.ahead_bytes // max(2 * self.band_bytes * source.itemsize // self.target.itemsize, 1)
        bands = min(AHEAD_RUN_BYTES // max(run_bytes, 1), room, self._bands_of_cycle // GROUPS_MIN)
        return bands if bands > 1 and bands * run_bytes >= AHEAD_RUN_BYTES_MIN else 1

    def tiles_of_group(self, index: int) -> range:
        """The tiles of the bands that are asked for together with that of tile `index`."""
        cycle = self._bands_of_cycle
        band = index // self.band_tiles
        first = band - band % cycle % self.bands_at_once
        end = min(first + self.bands_at_once, band - band % cycle + cycle)
        return range(first * self.band_tiles, min(end * self.band_tiles, self.tiles))

    def box_of_group(self, group: range, place: int) -> tuple[slice, ...]:
        """Tile `place` of the first band of a group, with those beside it in the other bands."""
        box = list(self.box(group.start + place))
        d = self._band_dimension
        if d is not None:
            box[d] = slice(box[d].start, self.box(group.stop - 1)[d].stop)
        return tuple(box)

    @property
    def _band_dimension(self) -> int | None:
        """That along which one band follows the other."""
        chunk = self.target.chunk or (1,) * len(self.tile)
        for d in self.target.order:
            if max(self.tile[d], chunk[d]) > 1 and self.target.shape[d] > 1:
                return d
        return None

    @property
    def _bands_of_cycle(self) -> int:
        """After so many bands they begin again at index 0 of that dimension."""
        d = self._band_dimension
        if d is None:
            return 1
        chunk = 1 if self.target.chunk is None else self.target.chunk[d]
        return -(-self.grid[d] // min(-(-chunk // self.tile[d]), self.grid[d]))

    @functools.cached_property
    def read_requests(self) -> int:
        """Contiguous runs of the source, tile by tile."""
        return _requests(self.source, self.tile)

    @functools.cached_property
    def write_requests(self) -> int:
        """Contiguous runs of the target, slab by slab."""
        if self.in_place:
            return _requests(self.target, self.tile)
        return sum(
            count * times * -(-math.prod(slab) * self.target.itemsize // self.target.run_bytes(slab))
            for count, tile in pieces(self.target.shape, self.tile)
            for times, slab in pieces(tile, self.slab)
        )

    @property
    def tile_bytes(self) -> int:
        """Of a tile as it is read."""
        return math.prod(self.tile) * self.source.itemsize

    @property
    def slab_elements(self) -> int:
        """Of a slab."""
        return math.prod(self.slab)

    @property
    def memory_bytes(self) -> int:
        """All buffers together, and what reading and writing need."""
        if self.in_place:
            buffers = TILES_IN_PLACE * self.tile_bytes
        else:
            buffers = (
                TILES_READ_AHEAD * self.tile_bytes + SLABS_WRITTEN_BEHIND * self.slab_elements * self.target.itemsize
            )
            if self.shuffles and self.converts:
                buffers += self.slab_elements * self.source.itemsize
        for side in (self.source, self.target):
            buffers += self._moving_bytes(side) + side.table_entries * CHUNK_BYTES
        return buffers

    def _moving_bytes(self, side: Side) -> int:
        """What reading or writing a tile needs beside the tile."""
        if side.worker_bytes:
            return self.chunk_buffer_bytes(side)
        slab = 2 * min(LIBRARY_BYTES, self.tile_bytes) if side.through_library else METHOD_BYTES
        return min(slab, self.tile_bytes)

    def chunk_buffer_bytes(self, side: Side) -> int:
        """Of all threads that move the chunks of a side: one in any case, more within half of a tile."""
        return max(side.worker_bytes, min(WORKERS * side.worker_bytes, self.tile_bytes // 2))

    @functools.cached_property
    def seconds(self) -> dict[str, float]:
        """Of each stage; "last", the writing of the last band to the device; and "total".

        Stages overlap; the first tile and the last band do not. Of what a device reads and writes at the same time it
        hides a part; processors copy from and to the page cache, and in memory. More workers share all but the device,
        and the turns at one file.
        """
        costs = self.costs
        workers = costs.workers * costs.nodes
        tiles = max(self.tiles / workers, 1)  # of each
        # Linux lets one process of a node at a time write to a file: only files of their own are written at once.
        writers = workers if self.target.worker_bytes and self.target.whole_chunks else costs.nodes
        read_run = self.source.nbytes / max(self.read_requests, 1)
        write_run = self.target.nbytes / max(self.write_requests, 1)
        # A compressed chunk is read whole for every tile that has a part of it.
        again = self._times_read
        decoding = again * self.source.nbytes * DECODE_SECONDS if self.source.is_compressed else 0.0
        encoding = self.target.nbytes * ENCODE_SECONDS if self.target.is_compressed else 0.0
        asked, asked_run = self.read_requests / self.bands_at_once, read_run * self.bands_at_once
        reading = again * asked * (at(costs.read, asked_run) + costs.read_jump)
        copied_in = again * self.read_requests * at(costs.cache_read, read_run) + decoding
        writing = self.write_requests * at(costs.cache_write, write_run) + encoding + self._fresh_seconds
        far = 1 << 24
        to_device = self.target.nbytes * at(costs.write, far) / far
        if not self.is_merged:
            to_device = max(to_device, self.write_requests * (at(costs.write, write_run) + costs.write_jump))
        shuffling = 0.0 if self.in_place else self.source.nbytes * costs.shuffle_byte
        # What no reading is left to hide. Of a band that is too long the kernel writes parts by itself.
        last = to_device * min(min(self.band_bytes, costs.merge_bytes) / max(self.target.nbytes, 1), 1.0)
        meanwhile = to_device - last
        busy = {
            "device": max(reading, meanwhile) + DEVICE_SHARED * min(reading, meanwhile),
            "processors": (copied_in + writing + shuffling)
            / (max(min(costs.cores, THREADS * costs.workers), 1.0) * costs.nodes),
            "reading": max(reading, (copied_in - decoding) / workers + decoding / (costs.cores * costs.nodes)),
            "shuffling": shuffling / workers,
            "writing": (writing - encoding) / writers + encoding / (costs.cores * costs.nodes),
        }
        # Every tile and slab is asked for by the interpreter, one at a time.
        slabs = 1 if self.in_place else math.prod(self.tile) / max(self.slab_elements, 1)
        busy["interpreter"] = STEP_SECONDS * tiles * (1 + slabs)
        # What waits for the device still costs something: threads take each other's cores and locks.
        beside = HINDRANCE * ((copied_in + shuffling + writing) / costs.nodes + busy["interpreter"])
        # The first tile is only read, or the first bands that are asked for at once; the last one is only written.
        first = max(1 / tiles, self.bands_at_once * self.band_tiles / self.tiles if self.bands_at_once > 1 else 0.0)
        ends = busy["reading"] * first + writing / writers / tiles
        slowest = max(busy.values())
        return {**busy, "last": last, "total": slowest + beside + min(ends, slowest) + last + costs.sync}

    @property
    def _fresh_seconds(self) -> float:
        """Of the pages of the target, all of which are new: requests of 1 KiB make one in four."""
        pages = self.target.nbytes / PAGE_BYTES
        return min(self.write_requests, pages) * FRESH_REQUEST_SECONDS + pages * FRESH_PAGE_SECONDS

    @property
    def _times_read(self) -> float:
        """How many times a chunk that is moved whole is read, for all tiles that have a part of it.

        Along a dimension, tiles of e elements each touch 1 + (e - gcd(e, c)) / c chunks of c on average: of tiles of 6
        and chunks of 4 every second tile touches 2, every second one 2, too: chunks are read 4 / 3 times.
        """
        side = self.source
        if side.chunk is None or not (side.through_library or side.whole_chunks):
            return 1.0
        return math.prod(
            1.0 if e in (0, n) else (e + c - math.gcd(e, c)) / e
            for c, e, n in zip(side.chunk, self.tile, side.shape, strict=True)
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return {
            "tile": list(self.tile),
            "slab": list(self.slab),
            "tiles": self.tiles,
            "band_bytes": self.band_bytes,
            "is_merged": self.is_merged,
            "read_requests": self.read_requests,
            "write_requests": self.write_requests,
            "read_bytes": self.source.nbytes,
            "written_bytes": self.target.nbytes,
            "memory_bytes": self.memory_bytes,
            "seconds": self.seconds,
        }


@dataclasses.dataclass(frozen=True)
class CopyPlan:
    """How a copy is carried out, and what it will cost.

    Attributes:
        passes: one, or two with a scratch file between.
        budget_bytes: the memory that was allowed to each process that moves tiles.
        reason: why so many passes.
    """

    passes: tuple[Pass, ...]
    budget_bytes: int
    reason: str

    @property
    def memory_bytes(self) -> int:
        """Predicted for the time when it is most: all buffers and what goes with them."""
        overhead = overhead_bytes(self.budget_bytes)
        if not any(side.worker_bytes for p in self.passes for side in (p.source, p.target)):
            overhead = min(overhead, TYPICAL_OVERHEAD_BYTES)
        return max(p.memory_bytes for p in self.passes) + overhead

    @property
    def workers_of_node(self) -> int:
        """How many processes of a node move tiles, each within its own part of the memory."""
        return self.passes[0].costs.workers

    @property
    def seconds(self) -> float:
        """Predicted."""
        return START_SECONDS + sum(p.seconds["total"] for p in self.passes)

    @property
    def disk_bytes(self) -> int:
        """That must be free: the target, and the scratch file beside it."""
        return self.passes[-1].target.stored_bytes + self.scratch_bytes

    @property
    def scratch_bytes(self) -> int:
        """Of the file between two passes; 0 with one."""
        return sum(p.target.stored_bytes for p in self.passes[:-1])

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return {
            "passes": [p.to_dict() for p in self.passes],
            "workers_of_node": self.workers_of_node,
            "budget_bytes": self.budget_bytes,
            "memory_bytes": self.memory_bytes,
            "disk_bytes": self.disk_bytes,
            "scratch_bytes": self.scratch_bytes,
            "seconds": self.seconds,
            "reason": self.reason,
            "profile": self.passes[0].costs.source,
        }


def overhead_bytes(budget_bytes: int) -> int:
    """What is kept back of a budget for what is no buffer."""
    return min(OVERHEAD_BYTES, budget_bytes // 4)


def make_plan(source: Side, target: Side, *, budget_bytes: int, costs: Costs, converts: bool = False) -> CopyPlan:
    """The fastest way that keeps the budget.

    Args:
        source: in the dimensions of the target (`Side.permuted`).
        target: of the same shape.
        budget_bytes: memory that may be used.
        costs: of the store.
        converts: whether elements get another dtype; in two passes the second one does it.

    Raises ArgumentError where no tile fits into the budget, which says how much would do.
    """
    buffers = budget_bytes - overhead_bytes(budget_bytes)
    one = best_pass(source, target, buffers, costs, converts)
    two = _best_two(source, target, buffers, costs, converts, one)
    if one is None and two is None:
        smallest = _pass(source, target, _smallest_tile(source, target), costs, converts, 0)
        raise ArgumentError(
            f"a budget of {budget_bytes} bytes is too small: the smallest tile, {smallest.tile} elements, and what "
            f"moves it need {smallest.memory_bytes} bytes; give at least {2 * smallest.memory_bytes} "
            "(memory=, --memory)"
        )
    if one is None or (two is not None and _total(two) < SECOND_PASS_PAYS * one.seconds["total"]):
        assert two is not None
        before = "nothing fits in one" if one is None else f"one would take {one.seconds['total']:.2f} s"
        return CopyPlan(two, budget_bytes, f"two passes: {before}, two take {_total(two):.2f} s")
    why = "runs are long enough on both sides"
    if two is not None:
        why = f"two would take {_total(two):.2f} s"
    return CopyPlan((one,), budget_bytes, f"one pass: {why}")


def best_pass(source: Side, target: Side, buffers: int, costs: Costs, converts: bool) -> Pass | None:
    """The fastest single pass whose buffers fit; None where none does."""
    best: Pass | None = None
    for tile in _tiles(source, target, buffers):
        candidate = _pass(source, target, tile, costs, converts, buffers)
        if candidate.memory_bytes <= buffers and (best is None or _rank(candidate) < _rank(best)):
            best = candidate
    return best


def _rank(candidate: Pass) -> tuple[float, int, int]:
    requests = candidate.read_requests + candidate.write_requests
    return candidate.seconds["total"], requests, candidate.memory_bytes


def _tiles(source: Side, target: Side, buffers: int) -> set[Extents]:
    """Tiles worth a look: of each length of runs on one side, with each on the other, rounded to chunks or not."""
    elements = math.prod(target.shape)
    most = buffers // max(source.itemsize, 1)
    if elements == 0:
        return {target.shape}
    steps = [step for step in STEPS if step < min(elements, most)] + [min(elements, max(most, 1))]
    of_source = dict.fromkeys(source.box_of(step) for step in steps)
    of_target = dict.fromkeys(target.box_of(step) for step in steps)
    tiles = set()
    for a in of_source:
        for b in of_target:
            tile = tuple(map(max, a, b))
            whole = target.rounded(tile)
            for rounded in {whole} if target.whole_chunks else {tile, whole, source.rounded(whole)}:
                if math.prod(rounded) <= most:
                    tiles.add(rounded)
    return tiles


def _smallest_tile(source: Side, target: Side) -> Extents:
    tile = tuple(map(max, source.box_of(1), target.box_of(1)))
    return target.rounded(tile) if target.whole_chunks else tile


def _pass(source: Side, target: Side, tile: Extents, costs: Costs, converts: bool, buffers: int) -> Pass:
    slab_bytes = max(buffers // SLAB_PART, min(SLAB_BYTES_MIN, buffers // 4))
    return Pass(source, target, tile, _slab(target, tile, slab_bytes), converts, costs)


def _slab(target: Side, tile: Extents, slab_bytes: int) -> Extents:
    """The tile cut along the target's slowest dimensions: runs stay as long as they are, and chunks whole if they can.

    A tile of (300, 4096) for a target in C order, 8 bytes an element, slabs of 1 MiB: (32, 4096).
    """
    slab = list(tile)
    for d in target.order:
        inner = math.prod(slab) // max(slab[d], 1) * target.itemsize
        step = 1 if target.chunk is None else min(target.chunk[d], tile[d])
        slab[d] = min(tile[d], max(slab_bytes // max(inner, 1) // max(step, 1), 1) * step)
        if math.prod(slab) * target.itemsize <= slab_bytes:
            break
    return tuple(slab)


def _requests(side: Side, tile: Extents) -> int:
    return sum(
        count * -(-math.prod(extents) * side.itemsize // side.run_bytes(extents))
        for count, extents in pieces(side.shape, tile)
    )


def _total(passes: tuple[Pass, ...]) -> float:
    return sum(p.seconds["total"] for p in passes)


def _best_two(
    source: Side, target: Side, buffers: int, costs: Costs, converts: bool, one: Pass | None
) -> tuple[Pass, Pass] | None:
    """The best of two passes by way of chunks; None where they cannot pay.

    Two passes transfer everything twice: where one pass is not slower than that at full speed, none is looked for.
    """
    if 0 in target.shape or source.through_library or target.through_library:
        return None
    if one is not None and (one.in_place or one.seconds["total"] < SHORT_SECONDS):
        return None
    if one is not None and one.seconds["total"] * SECOND_PASS_PAYS <= 2 * _floor(source, target, costs):
        return None
    best: tuple[Pass, Pass] | None = None
    for chunk in _scratch_chunks(source, target, buffers):
        between = Side.tiled(source.shape, source.itemsize, chunk)
        first = best_pass(source, between, buffers, costs, False)
        if first is None or (best is not None and first.seconds["total"] >= _total(best)):
            continue
        second = best_pass(between, target, buffers, costs, converts)
        if second is not None and (best is None or _total((first, second)) < _total(best)):
            best = (first, second)
    return best


def _floor(source: Side, target: Side, costs: Costs) -> float:
    """Seconds of reading and writing everything once, in long requests."""
    far = 1 << 24
    return (source.nbytes * at(costs.read, far) + target.nbytes * at(costs.write, far)) / far


def _scratch_chunks(source: Side, target: Side, buffers: int) -> list[Extents]:
    """Boxes of powers of four elements along the runs of both sides, that fit in memory some times, not too often."""
    most = buffers // source.itemsize // 8
    least = min(SCRATCH_CHUNK_BYTES_MIN // source.itemsize, most // 8)
    steps = [4**k for k in range(31) if 4**k <= min(most, math.prod(target.shape))]
    boxes = (tuple(map(max, source.box_of(a), target.box_of(b))) for a in steps for b in steps)
    return [box for box in dict.fromkeys(boxes) if least <= math.prod(box) <= most]
