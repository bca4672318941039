"""HDF5 files, also netCDF-4, as h5py reads them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.copying.by_library.held import Held, Stored, Value, joined, plain, text_of, value_of

OF_ALL_OBJECTS = frozenset(
    {"DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS", "_Netcdf4Dimid", "_Netcdf4Coordinates"}
)
OF_FILES = frozenset({"_NCProperties", "_nc3_strict"})
OF_SCALES = frozenset({"CLASS", "NAME"})
"""Attributes that dimension scales and netCDF-4 use for their own data."""
DIMENSION_ONLY = "This is a netCDF dimension but not a netCDF variable"
OTHER_NAME = "_nc4_non_coord_"
"""netCDF-4's prefix of a variable that has the name of a dimension, but is not along it; netCDF-4 does not show it."""


def held(path: str) -> Held:
    """Return the contents of the file."""
    import h5py

    with _opened(path) as file:
        root = file.attrs
        is_netcdf4 = any(name in root for name in OF_FILES)
        reader = _Reader(file, Held(f"h5py {h5py.__version__}", "netcdf4" if is_netcdf4 else "hdf5", None))
        reader.read()
    return reader.found


def has_linked_groups(found: Held) -> bool:
    """Return whether two paths lead to the same group: netCDF's library may then not end."""
    return any(" to the group " in words or "nowhere" in words for words in found.links.values())


@contextlib.contextmanager
def values(path: str) -> Iterator[Any]:
    """Give what reads a box of a variable."""
    with _opened(path) as file:
        references = _References(file)

        def read(name: str, box: tuple[slice, ...]) -> npt.NDArray[Any]:
            dataset = file[_stored_name(file, name)]
            if dataset.shape is None:
                return np.empty(0)
            found = np.asarray(dataset[box] if dataset.shape else dataset[()])
            return _readable(found, references)

        yield read


@contextlib.contextmanager
def _opened(path: str) -> Iterator[Any]:
    import h5py

    with contextlib.suppress(ImportError):
        import hdf5plugin  # noqa: F401  it registers its filters
    try:
        opened = h5py.File(path, "r", locking="best-effort")
    except OSError:
        opened = h5py.File(path, "r", locking="best-effort", swmr=True)  # perhaps a program writes it in that mode
    with opened as file:
        yield file


def _stored_name(file: Any, name: str) -> str:
    group, _, last = name.rpartition("/")
    other = joined(group, OTHER_NAME + last)
    return other if other in file else name


class _References:
    """What references of a file lead to: of an object with several names (hard links) always the same one."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def words(self, reference: Any) -> str:
        """Return a reference as the path that it leads to, and of a region its bounds."""
        import h5py

        try:
            to = h5py.h5r.dereference(reference, self._file.id)
            name = self._first_names.get(_identity(to)) or (h5py.h5r.get_name(reference, self._file.id) or b"").decode()
            region = h5py.h5r.get_region(reference, self._file.id) if _is_region(reference) else None
            box = "" if region is None else f" {region.get_select_bounds()}"
        except (ValueError, RuntimeError, TypeError):
            return "a reference to nothing"
        return f"a reference to {name}{box}"

    @functools.cached_property
    def _first_names(self) -> dict[Any, str]:
        """The first name of every object: by the links, whichever of these was made first."""
        import h5py

        found = {_identity(self._file.id): "/"}
        waiting = [self._file["/"]]
        for group in waiting:
            for name in sorted(group):
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    continue
                item = group[name]
                if _identity(item.id) not in found:
                    found[_identity(item.id)] = f"{found[_identity(group.id)].rstrip('/')}/{name}"
                    waiting += [item] if isinstance(item, h5py.Group) else []
        return found


def _identity(item: Any) -> Any:
    import h5py

    info = h5py.h5o.get_info(item)
    return info.fileno, info.addr


def _readable(found: npt.NDArray[Any], references: _References) -> npt.NDArray[Any]:
    """Return references as the paths of their targets, and other objects as plain values."""
    if not found.dtype.hasobject:
        return found
    flat = np.empty(found.size, object)
    for number, one in enumerate(found.ravel()):
        flat[number] = _of_object(one, references)
    return flat.reshape(found.shape)


def _of_object(one: Any, references: _References) -> Any:
    import h5py

    if isinstance(one, h5py.Reference):
        return references.words(one)
    if isinstance(one, bytes | str):
        return text_of(one)
    if isinstance(one, np.ndarray):
        return [_of_object(item, references) for item in one] if one.dtype.hasobject and one.ndim else plain(one)
    if isinstance(one, np.void) and one.dtype.names:
        return tuple(_of_object(one[name], references) for name in one.dtype.names)
    return plain(one)


def _is_region(reference: Any) -> bool:
    import h5py

    return isinstance(reference, h5py.RegionReference)


class _Reader:
    """One walk through a file; it enters each group once."""

    def __init__(self, file: Any, found: Held) -> None:
        self._file = file
        self.found = found
        self._references = _References(file)
        self._first: dict[Any, str] = {}
        self._scales: list[tuple[str, Any]] = []
        self._soft: list[tuple[str, Any, Any]] = []
        self._datasets: dict[str, Any] = {}

    def read(self) -> None:
        """Read the whole file."""
        self._first[_identity(self._file.id)] = ""
        self._group("", self._file)
        for below, item, link in self._soft:  # now the targets have their first names
            self.found.links[below] = f"a soft link to the {_kind(item)} {link.path}"
            if _kind(item) == "dataset":
                self._datasets[below] = item
        if any("_Netcdf4Dimid" in dataset.attrs for dataset in self._datasets.values()):
            self.found.format = "netcdf4"
        for path, dataset in self._datasets.items():
            stored = self._stored(path, dataset)
            if stored is not None:
                self.found.variables[path.replace(OTHER_NAME, "")] = stored
        self._add_dimensions()

    def _group(self, path: str, group: Any) -> None:
        import h5py

        self.found.groups[path] = self._attributes(group)
        inside = []
        for name in sorted(group):
            below = joined(path, name)
            link = group.get(name, getlink=True)
            item = self._item(group, name, below, link)
            if item is None:
                continue
            if isinstance(link, h5py.SoftLink):
                self._soft.append((below, item, link))
                continue
            kind = _kind(item)
            known = self._first.setdefault(_identity(item.id), below)
            if known != below:
                self.found.links[below] = f"a hard link to the {kind} /{known}"
            if kind == "dataset":
                self._datasets[below] = item
            elif kind == "type":
                self.found.named_types[below] = str(item.dtype)
            elif known == below:
                inside.append((below, item))
        for below, item in inside:
            self._group(below, item)

    def _item(self, group: Any, name: str, below: str, link: Any) -> Any:
        """Return the target of a link; None if it does not exist, or is in another file."""
        import h5py

        if isinstance(link, h5py.ExternalLink):
            self.found.links[below] = f"a link into another file: {link.filename}:{link.path}"
            return None
        try:
            return group[name]
        except (KeyError, OSError, RuntimeError, ValueError):
            self.found.links[below] = f"a link that leads nowhere: {getattr(link, 'path', '')}"
            return None

    # ---- One dataset -------------------------------------------------------------------------------------------------

    def _stored(self, path: str, dataset: Any) -> Stored | None:
        import h5py

        is_alias = path in self.found.links
        is_scale = text_of(dataset.attrs.get("CLASS", "")) == "DIMENSION_SCALE"
        if is_scale and not is_alias:
            self._scales.append((path, dataset))
        if is_scale and text_of(_attribute(dataset, "NAME")).startswith(DIMENSION_ONLY):
            return None
        attributes = self._attributes(dataset)
        names = h5py.check_enum_dtype(dataset.dtype)
        missing = attributes.pop("_FillValue", None)
        kind = ""
        if h5py.check_ref_dtype(dataset.dtype) is not None:
            kind = "references"
        elif h5py.check_string_dtype(dataset.dtype) is not None and dataset.dtype.kind == "O":
            kind = "text"
        elif dataset.dtype.kind == "O":
            kind = "sequences"
        return Stored(
            dataset.shape,
            np.dtype(object) if dataset.dtype.hasobject else _without_metadata(dataset.dtype),
            self._dimensions(dataset, is_scale=is_scale),
            attributes,
            missing,
            None if names is None else {str(name): int(number) for name, number in names.items()},
            dataset.chunks,
            kind,
            _unwritten(dataset),
            dataset.maxshape or (),
        )

    def _attributes(self, holder: Any) -> dict[str, Value]:
        is_scale = text_of(_attribute(holder, "CLASS")) == "DIMENSION_SCALE"
        hidden = OF_ALL_OBJECTS | (OF_SCALES if is_scale else frozenset()) | OF_FILES
        return {name: self._value(holder, name) for name in holder.attrs if name not in hidden}

    def _value(self, holder: Any, name: str) -> Value:
        import h5py

        try:
            found = holder.attrs[name]
            stored = holder.attrs.get_id(name)
        except Exception as error:  # noqa: BLE001  h5py has many
            return f"what h5py cannot read ({error})", holder.attrs.get_id(name).get_type().encode()
        if isinstance(found, h5py.Empty):
            is_text = h5py.check_string_dtype(found.dtype) is not None or found.dtype.kind == "S"
            return "" if is_text else np.empty(0, found.dtype)
        dtype = stored.dtype
        names = h5py.check_enum_dtype(dtype)
        if names is not None:
            return f"numbers with the names {sorted(names.items())}", plain(found)
        if dtype.kind == "O" and h5py.check_string_dtype(dtype) is None:
            return f"elements of {dtype}", _of_object(found, self._references)
        if dtype.names is not None or dtype.kind == "V" or dtype.subdtype is not None:
            return f"elements of {_words(dtype)}", _of_object(found, self._references)
        return value_of(found)

    # ---- Dimensions --------------------------------------------------------------------------------------------------

    def _dimensions(self, dataset: Any, *, is_scale: bool) -> tuple[str, ...]:
        if dataset.shape is None:
            return ()
        if is_scale and len(dataset.shape) == 1:
            return (_last(dataset.name),)
        found = []
        for number, listed in enumerate(_listed(dataset)):
            scale = self._file[listed[0]] if len(listed) and listed[0] else None
            label = "" if is_scale else text_of(dataset.dims[number].label)
            found.append(label if scale is None else _last(scale.name))
        return tuple(found) if any(found) else ()

    def _add_dimensions(self) -> None:
        for path, scale in self._scales:
            if not scale.shape:
                continue
            group, name = path.rpartition("/")[::2]
            length, grows = scale.shape[0], scale.maxshape[0] is None
            along = [
                one.shape[place]
                for below, one in self.found.variables.items()
                for place, called in enumerate(one.dimensions)
                if grows and called == name and below.startswith(group) and one.shape is not None
            ]
            self.found.dimensions[path] = (max([length, *along]), grows)


def _unwritten(dataset: Any) -> Any:
    import h5py

    is_defined = dataset.id.get_create_plist().fill_value_defined() == h5py.h5d.FILL_VALUE_USER_DEFINED
    is_plain = not dataset.dtype.hasobject and dataset.dtype.subdtype is None
    found = dataset.fillvalue if is_defined and is_plain and dataset.shape is not None else None
    return found if found is None or any(np.asarray(found).tobytes()) else None


def _listed(dataset: Any) -> list[Any]:
    """Return the references to the scales of each dimension."""
    ndim = len(dataset.shape)
    try:
        found = dataset.attrs.get("DIMENSION_LIST")
    except Exception:  # noqa: BLE001  h5py has many
        found = None
    return [[] for _ in range(ndim)] if found is None or len(found) != ndim else list(found)


def _attribute(holder: Any, name: str) -> Any:
    """Return a text, "" where there is none, or what is no text."""
    try:
        found = holder.attrs.get(name, "")
    except Exception:  # noqa: BLE001  h5py has many
        return ""
    return found if isinstance(found, str | bytes) else ""


def _kind(item: Any) -> str:
    import h5py

    return "dataset" if isinstance(item, h5py.Dataset) else "type" if isinstance(item, h5py.Datatype) else "group"


def _last(name: str) -> str:
    return name.rpartition("/")[2].removeprefix(OTHER_NAME)


def _words(dtype: np.dtype[Any]) -> str:
    return str(dtype.newbyteorder("=") if dtype.names is None else dtype)


def _without_metadata(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(dtype.str) if dtype.names is None and dtype.subdtype is None else dtype
