"""The identity of an array as text: the same on all ranks that use the same array."""

from __future__ import annotations

from swath.formats.description import (
    ChunkedLayout,
    ChunkTable,
    CodedLayout,
    Description,
    Layout,
    StridedLayout,
    TiledLayout,
)
from swath.ranks.compared import digest, dtype_words, in_words, short


def identity(description: Description, path: str, number: int | None = None) -> str:
    """Return the array's identity and the positions of its bytes: all that decides which bytes an operation moves.

        /x.nc:u (>f4 (10, 20), netcdf-classic, from byte 128, layout 3f2a91bc0d5e7f12, opened as number 2)

    Args:
        description: from rank 0, so that the text is the same on all ranks.
        path: the file's name when it is complete.
        number: the number of the array among those that rank 0 has opened: two handles of one array have different
            states (cached pages, learned prices), and ranks that mix them up would plan differently.
    """
    name = path if description.variable is None else f"{path}:{description.variable}"
    dtype = short(dtype_words(description.dtype), 60)
    layout = description.layout
    places = f"layout {digest(f'{_layout_words(layout)} fill {description.fill.hex()}'.encode())}"
    if isinstance(layout, (StridedLayout, TiledLayout)):
        places = f"from byte {layout.offset}, {places}"
    opened = "" if number is None else f", opened as number {number}"
    return f"{name} ({dtype} {description.shape}, {description.format}, {places}{opened})"


def _layout_words(layout: Layout) -> str:
    if isinstance(layout, ChunkedLayout):
        return f"chunks {layout.chunk_shape} {in_words(layout.offsets)}"
    if not isinstance(layout, CodedLayout):
        return repr(layout)
    places = layout.places
    table = [places.offsets, places.nbytes, places.skipped] if isinstance(places, ChunkTable) else repr(places)
    # Without the path, which is temporary for a file that is being made.
    return f"chunks {layout.chunk_shape} in {layout.order} by {layout.codecs} {in_words(table)}"
