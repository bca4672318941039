"""Room in HDF5 datasets: for new rows, and for chunks that have no place in the file yet."""

from __future__ import annotations

import dataclasses
import math
import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.errors import ArgumentError
from swath.formats.changes import Changes
from swath.formats.description import ChunkedLayout, Description
from swath.formats.files import extend as extend_file
from swath.formats.files import store_errors, whole
from swath.formats.hdf5.access import changed, changed_at_once, dataset_of, group_and_name
from swath.formats.hdf5.describing import describe, described
from swath.formats.hdf5.layout import chunk_table, end_of
from swath.formats.hdf5.scales import Scales
from swath.formats.undo import PlacingFile

LOOKED_UP_MAX = 8
"""Chunks that are looked up one by one, rather than all."""


def extend(changes: Changes, variable: str, rows: int, *, is_written: bool = False) -> Description:
    """Give a variable that grows room for so many rows, or take room away again, and return where they are.

    Rows that were not there yet hold the fill value; coded chunks of them are not stored. With `is_written` the caller
    writes all new rows, or takes them away: chunks that hold nothing else hold whatever the file holds there.

    Raises ArgumentError where there is no such variable, or it does not grow along its first dimension.
    """
    file = PlacingFile(changes)
    with changed(changes, opening=lambda _: file) as opened:
        dataset = dataset_of(opened, variable)
        if dataset is None or dataset.ndim == 0 or dataset.maxshape[0] is not None:
            raise ArgumentError(f"{changes.path}: no variable {variable!r} grows along its first dimension")
        before = dataset.shape[0]
        if rows != before:
            dataset.id.set_extent((rows, *dataset.shape[1:]))
        found = described(changes.path, dataset)
        layout = found.layout
        if isinstance(layout, ChunkedLayout):
            room = _Room(file, before, rows) if is_written else None
            stored = _store_chunks(dataset, layout, np.frombuffer(found.fill, found.dtype), room)
            found = dataclasses.replace(found, layout=stored, end=end_of(dataset, stored, found.dtype))
    if isinstance(layout, ChunkedLayout):
        _keep_rows(changes, layout, found.dtype.itemsize, (before, rows))
    extend_file(changes.path, found.end)
    return whole(found)


def set_length(changes: Changes, dimension: str, rows: int) -> None:
    """Make a dimension that grows so long, with all variables along it: rows that nobody wrote are the fill value.

    A variable that has more rows keeps them. Raises ArgumentError where there is no such dimension.
    """
    group, name = group_and_name(dimension)
    with changed(changes) as file:
        scales = Scales(file, is_netcdf4=False)
        scale = scales.find(group, name)
        if scale is None or scale.maxshape[0] is not None:
            raise ArgumentError(f"{changes.path}: there is no dimension {dimension!r} that grows")
        for dataset, axis in [(scale, 0), *scales.users(scale)]:
            if dataset.shape[axis] < rows and dataset.maxshape[axis] is None:
                dataset.resize(rows, axis)


def allocate(description: Description, changes: Changes | None = None) -> Description:
    """Give every part of the dataset its place in the file, filled with the fill value; returns where that is.

    Without `changes` of the file, whose owner commits them, it is committed in the end.

    Call it on one rank before bytes are written, while nobody else has the file open. HDF5 writes the fill value over
    what it allocates (a contiguous dataset as a whole), which is one sequential pass. Where that fails, the disk being
    full, the file is as it was.
    """
    layout = description.layout
    if not isinstance(layout, ChunkedLayout) or not (layout.offsets < 0).any():
        return description
    with changed_at_once(description.path) if changes is None else changed(changes) as file:
        dataset = dataset_of(file, description.variable or "")
        fill = np.frombuffer(description.fill, description.dtype)
        if dataset.chunks is None:
            one = (slice(0, 1),) * len(description.shape)
            dataset[one] = np.array(fill.reshape((1,) * len(description.shape)), dtype=dataset.dtype)
        else:
            _store_chunks(dataset, layout, fill)
    return describe(description.path, description.variable)


def _keep_rows(changes: Changes, layout: ChunkedLayout, itemsize: int, rows: tuple[int, int]) -> None:
    """Keep what rows [begin, end) hold in chunks that were there: who writes them takes them back with the rows."""
    in_chunk = layout.chunk_shape[0]
    row_bytes = math.prod(layout.chunk_shape[1:]) * itemsize
    ranges = []
    for number in range(rows[0] // in_chunk, -(-rows[1] // in_chunk) if rows[1] > rows[0] else 0):
        begin = max(rows[0] - number * in_chunk, 0)
        end = min(rows[1] - number * in_chunk, in_chunk)
        stored = layout.offsets[number].ravel()
        ranges += [(int(at) + begin * row_bytes, (end - begin) * row_bytes) for at in stored if at >= 0]
    if ranges:
        with store_errors(changes.path, "read what is to be changed"), open(changes.path, "rb", buffering=0) as file:
            changes.keep_all(file.fileno(), ranges)


@dataclasses.dataclass(frozen=True)
class _Room:
    """Rows [first, last) that are written next: chunks of them alone get room, and nothing is written there."""

    file: PlacingFile
    first: int
    last: int

    def holds(self, begin: int, end: int) -> bool:
        """Return whether a chunk of these rows holds none but rows that are written next."""
        return self.first <= begin and end <= self.last


def _store_chunks(
    dataset: Any, layout: ChunkedLayout, fill: npt.NDArray[Any], room: _Room | None = None
) -> ChunkedLayout:
    """Store the chunks that are not, filled with the fill value or as `room` says; return where all are then."""
    absent = [tuple(map(int, place)) for place in np.argwhere(layout.offsets < 0)]
    if not absent:
        return layout
    elements = {place: tuple(i * n for i, n in zip(place, layout.chunk_shape, strict=True)) for place in absent}
    count = math.prod(layout.chunk_shape)
    filled = b""
    with mmap.mmap(-1, count * fill.itemsize) as blank:
        if room is not None:
            room.file.passes_over(blank)
        for first in elements.values():
            if room is not None and room.holds(first[0], first[0] + layout.chunk_shape[0]):
                with memoryview(blank) as view:
                    dataset.id.write_direct_chunk(first, view)
            else:
                filled = filled or fill.repeat(count).tobytes()
                dataset.id.write_direct_chunk(first, filled)
        if room is not None:
            room.file.passes_over(None)
    if len(absent) > LOOKED_UP_MAX or dataset.file.userblock_size:
        return ChunkedLayout(layout.chunk_shape, chunk_table(dataset).offsets)
    offsets = layout.offsets.copy()
    for place, first in elements.items():
        offsets[place] = dataset.id.get_chunk_info_by_coord(first).byte_offset
    return ChunkedLayout(layout.chunk_shape, offsets)
