"""References of an HDF5 file whose targets are missing in a copy."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from swath.formats.hdf5 import attributes
from swath.formats.hdf5.access import dataset_of, library, opened, shown_name, walk
from swath.formats.hdf5.boxes import boxes


def lost_references(path: str, datasets: Collection[str], there: Collection[str]) -> list[str]:
    """Return descriptions of the references that become null.

    Args:
        path: the file.
        datasets: those whose elements may be references.
        there: the paths of all that the copy has: groups ("" is the file), dimensions, variables, links, named types.
    """
    found = []
    with opened(path) as file:
        for stored, holder in walk(file):
            where = shown_name(stored)
            if where not in there:
                continue
            for name in attributes.own_names(holder):
                lost = _lost(_of_attribute(holder, name), holder, there)
                found += [_words(f"{where}: attribute {name}" if where else f"attribute {name}", lost)] if lost else []
        for name in datasets:
            dataset = dataset_of(file, name)
            if dataset.shape is not None and _has_references(dataset.id.get_type()):
                values = (np.asarray(dataset[box]) for box in boxes(dataset.shape))
                lost = _lost((one for part in values for one in _references(part)), dataset.id, there)
                found += [_words(name, lost)] if lost else []
    return found


def _words(where: str, lost: list[str]) -> str:
    listed = ", ".join(lost[:10]) + (", ..." if len(lost) > 10 else "")
    return f"{where}: references to {listed}, which the copy has not: they become null"


def _lost(references: Iterator[Any], holder: Any, there: Collection[str]) -> list[str]:
    """Return the paths of the references' targets that are not `there`, each once."""
    h5py = library()
    found: dict[str, None] = {}
    for one in references:
        name = h5py.h5r.get_name(one, holder)
        path = "what has no path" if name is None else shown_name(name).strip("/")
        if name is None or path not in there:
            found[path] = None
    return list(found)


def _of_attribute(holder: Any, name: str) -> Iterator[Any]:
    attribute = library().h5a.open(holder, name.encode("utf-8", "surrogateescape"))
    stored = attribute.get_type()
    is_empty = attribute.get_space().get_simple_extent_type() == library().h5s.NULL or 0 in attribute.shape
    if is_empty or not _has_references(stored):
        return
    values = np.empty(attribute.shape, stored.dtype)
    attribute.read(values)
    yield from _references(values)


def _has_references(stored: Any) -> bool:
    return bool(stored.detect_class(library().h5t.REFERENCE))


def _references(values: Any) -> Iterator[Any]:
    """Yield the references that are not null, of an array of references, structures or sequences."""
    if isinstance(values, library().h5r.Reference):
        if values:
            yield values
    elif isinstance(values, np.ndarray | np.void) and values.dtype.names is not None:
        for name in values.dtype.names:
            yield from _references(values[name])
    elif isinstance(values, np.ndarray) and values.dtype.kind == "O":
        for one in values.ravel():
            yield from _references(one)
