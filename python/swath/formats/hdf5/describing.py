"""Where the bytes of one HDF5 dataset are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swath.errors import ArgumentError, UnsupportedError
from swath.formats.choose import choose
from swath.formats.description import Description
from swath.formats.files import whole
from swath.formats.hdf5 import attributes, scales, survey
from swath.formats.hdf5.access import dataset_of, is_name, library, names_in, opened, shown_name
from swath.formats.hdf5.layout import dtype_of, end_of, fill_of, layout_of, unlimited_of


def describe(path: str, variable: str | None = None) -> Description:
    """Return one dataset, "group/name" in a group; None stands for the only one that holds numbers of its own.

    Raises ArgumentError, listing what there is, where `variable` names no dataset or None is not enough;
    UnsupportedError for variable-length numbers and the like; FormatError for a damaged or truncated file;
    StoreError where the system refuses, also because another process has the file open for writing.
    """
    with opened(path) as file:
        return whole(described(path, _dataset(path, file, variable)))


def describe_many(path: str, variables: Sequence[str], *, is_whole: bool = True) -> list[Description]:
    """Return several datasets, the file opened once; where not `is_whole`, without a check of its length."""
    with opened(path) as file:
        found = [described(path, _dataset(path, file, name)) for name in variables]
    return [whole(one) for one in found] if is_whole else found


def described(path: str, dataset: Any) -> Description:
    """Return a dataset of an open file (h5py's), without a check of the file's length."""
    dtype = dtype_of(names_in(path, dataset), dataset.id)
    layout = layout_of(path, dataset, dtype)
    return Description(
        path=path,
        format="hdf5",
        variable=shown_name(dataset.name),
        shape=dataset.shape,
        dtype=dtype,
        layout=layout,
        fill=fill_of(dataset, dtype),
        attributes=attributes.read(dataset.id),
        end=end_of(dataset, layout, dtype),
        dimensions=scales.dimensions_of(dataset),
        unlimited=unlimited_of(dataset.maxshape),
    )


def _dataset(path: str, file: Any, variable: str | None) -> Any:
    h5py = library()
    found = None if variable is None else dataset_of(file, variable)
    if found is not None and scales.is_dimension_only(found.id):
        found = None
    if found is None:
        inside = None if variable is None else _names_in_group(file, variable)
        if inside is not None:
            raise ArgumentError(f"{path}: {variable!r} is a group; name a dataset in it: {', '.join(inside[:20])}")
        found = dataset_of(file, choose(path, survey.variables(file).values(), variable))
    assert isinstance(found, h5py.Dataset)
    if found.file.filename != file.filename:
        raise UnsupportedError(f"{path}: {variable!r} is a link into {found.file.filename}; open that file")
    return found


def _names_in_group(file: Any, name: str) -> list[str] | None:
    """Return what a group holds; None where there is no group of that name."""
    found = file.get(name) if is_name(name) else None
    return [f"{found.name.strip('/')}/{one}" for one in found] if isinstance(found, library().Group) else None
