"""How an array grows along its first dimension: records are appended, and filled where nobody wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from swath.array.request import Request
from swath.errors import Error
from swath.formats.signals import uninterrupted
from swath.space import Block, Distribution, Whole

if TYPE_CHECKING:
    from swath.array.open_array import Array


def append(array: Array, request: Request, values: Any, records: int | None) -> None:
    """Write the next record of all ranks, or so many together; `request` is without its selection. Collective."""
    several = records
    if request.distribution is None and records is None and np.ndim(values) == array.ndim:
        several = len(values)
    if request.distribution is None and several is None and array.ndim == 1:
        request = request._replace(distribution=Distribution((), grid=()))  # one element: that of rank 0
    words = f"append {'a record' if several is None else f'{several} records'} to {array._identity_of_ranks}"
    file = array._file
    first = file.rows_to_append_to(array, words)
    last = first + (1 if several is None else several)
    has_room = False
    try:
        file.extend(array, last, f"{words}: from row {first}", is_written=True)
        has_room = True
        array._write(request._replace(selection=first if several is None else slice(first, last)), values)
    except BaseException as error:
        is_known = array._ranks.size == 1 or array._ranks.all_raise(error)
        if is_known and (has_room or not isinstance(error, Error)):  # an interrupt may come when there is room
            with uninterrupted():
                file.extend(array, first, f"{words}: taken back")
        raise
    with uninterrupted():
        file.wrote(array.variable or "", last)


def fill_rows(array: Array, first: int, last: int) -> None:
    """Write the fill value to these rows, this rank's part of each. Collective."""
    if array._description.format == "hdf5" or not array.size:
        return  # what is not stored reads as the fill value, and nothing is left of what a killed run had stored there
    ranks, rest = array._ranks, array.shape[1:]
    by_rows = Distribution((Block(), *(Whole() for _ in rest)), grid=(ranks.size, *(1 for _ in rest)))
    share = by_rows.local_shape((last - first, *rest), ranks.rank)
    element = np.frombuffer(array._description.fill, array.dtype)[0]
    # It takes no memory: every element is the same one.
    array._write(Request("write", by_rows, slice(first, last)), np.broadcast_to(element, share))
