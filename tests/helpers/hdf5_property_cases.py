"""Random HDF5 files and datasets with every creation property of HDF5, made by h5py, or by ctypes if h5py lacks it.

A case is one seed: the same file can be made from it twice, one for writes by Swath, and one for h5py.
"""

from __future__ import annotations

import contextlib
import ctypes
import random
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t, h5z

DONT_FILTER_PARTIAL_CHUNKS = 2
LIBVERS = ("earliest", "v108", "v110", "v112", "latest")
ALLOC_TIMES = (h5d.ALLOC_TIME_DEFAULT, h5d.ALLOC_TIME_EARLY, h5d.ALLOC_TIME_LATE, h5d.ALLOC_TIME_INCR)
FILL_TIMES = (h5d.FILL_TIME_IFSET, h5d.FILL_TIME_ALLOC, h5d.FILL_TIME_NEVER)

HDF5 = ctypes.CDLL(h5p.__file__)  # whose functions are those of the library that h5py calls


def call(name: str, identifier: Any, *arguments: Any) -> None:
    """Call a function of HDF5 that h5py lacks."""
    assert getattr(HDF5, name)(ctypes.c_int64(identifier.id), *arguments) >= 0, name


class RandomDataset:
    """A dataset "g/v" with random properties, in a new file.

    Attributes:
        shape, maxshape: None in the latter for unlimited.
        stored: the type in the file, h5py's identifier.
        is_filled: whether elements that were not written have a defined value.
        words: the choices, for messages.
    """

    def __init__(self, seed: Any) -> None:
        self._seed = seed
        self._rng = rng = random.Random(str(seed))
        self.words: list[str] = []
        ndim = rng.choice([0, 1, 1, 2, 2, 2, 3])
        self.layout = self._chosen("layout", ["chunked"] * 7 + ["contiguous", "contiguous", "compact", "external"])
        if self.layout == "chunked":
            ndim = max(ndim, 1)
        self.shape = tuple(rng.randint(1, 13) for _ in range(ndim))
        self.maxshape = tuple(self._longest(n, place) for place, n in enumerate(self.shape))
        self.stored = self._type()
        self.chunks = tuple(rng.randint(1, n + (2 if m is None else 0)) for n, m in zip(self.shape, self.maxshape))  # noqa: B905
        self.libver = self._chosen("libver", LIBVERS)
        self.alloc_time = self._chosen("alloc time", ALLOC_TIMES)
        self.fill_time = self._chosen("fill time", FILL_TIMES)
        self.fill = self._chosen("fill", ["default", "default", "value", "undefined"])
        self.chunk_opts = self._chosen("chunk opts", [0, 0, DONT_FILTER_PARTIAL_CHUNKS])
        self.filters = self._filters() if self.layout == "chunked" else []
        self.words.append(f"shape {self.shape} maxshape {self.maxshape} chunks {self.chunks}")
        self.is_filled = self.fill_time != h5d.FILL_TIME_NEVER and self.fill != "undefined"

    # ---- What is chosen ----------------------------------------------------------------------------------------------

    def _chosen(self, what: str, several: Any) -> Any:
        found = self._rng.choice(several)
        self.words.append(f"{what} {found}")
        return found

    def _longest(self, length: int, place: int) -> int | None:
        if self.layout != "chunked":
            return length
        return self._rng.choice([length, length, length + 5, None] if place else [length, length + 5, None, None])

    def _type(self) -> Any:
        rng = self._rng
        name = self._chosen("type", list(TYPES))
        return TYPES[name](rng)

    def _filters(self) -> list[tuple[int, int, tuple[int, ...]]]:
        """Return (filter, flags, numbers) of each."""
        known = [
            (h5z.FILTER_SHUFFLE, ()),
            (h5z.FILTER_DEFLATE, (self._rng.randint(0, 9),)),
            (h5z.FILTER_FLETCHER32, ()),
        ]
        rare = [(32000, ())]  # lzf
        if self.stored.get_class() in (h5t.INTEGER, h5t.FLOAT):
            rare.append((h5z.FILTER_NBIT, ()))
        if self.stored.get_class() == h5t.INTEGER:
            rare.append((h5z.FILTER_SCALEOFFSET, (2, 0)))
        if h5z.filter_avail(h5z.FILTER_SZIP) and self.stored.get_size() in (1, 2, 4, 8):
            rare.append((h5z.FILTER_SZIP, (h5z.SZIP_NN_OPTION_MASK, 4)))
        count = self._rng.choice([0, 1, 1, 2, 2, 3, 4])
        several = [self._rng.choice(known) for _ in range(count)]
        if self.chunk_opts:  # HDF5 2.0 damages chunks at the edge that some filter failed for
            several = self._rng.sample(known, min(count, len(known)))
        # HDF5 does not survive a filter that fails and is not optional; the second shuffle always fails.
        must_work = len(set(several)) == len(several) and self._rng.random() < 0.5
        flags = [h5z.FLAG_MANDATORY if must_work else h5z.FLAG_OPTIONAL] * len(several)
        if count and not self.chunk_opts and self._rng.random() < 0.3:
            several[0], flags[0] = self._rng.choice(rare), h5z.FLAG_OPTIONAL
        found = [(code, flag, numbers) for (code, numbers), flag in zip(several, flags, strict=True)]
        self.words.append(f"filters {found}")
        return found

    # ---- What is made ------------------------------------------------------------------------------------------------

    def make(self, path: Path) -> None:
        """Make the file with the dataset, without writing elements."""
        access = h5p.create(h5p.FILE_ACCESS)
        access.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
        low = {"earliest": 0, "v108": 1, "v110": 2, "v112": 3, "latest": h5py.h5f.LIBVER_LATEST}[self.libver]
        access.set_libver_bounds(low, h5py.h5f.LIBVER_LATEST)
        file_id = h5py.h5f.create(str(path).encode(), h5py.h5f.ACC_TRUNC, self._of_file(), access)
        with h5py.File(file_id) as file:
            file["before"] = np.arange(5)
            file.create_group("g")
            space = h5s.create_simple(self.shape, tuple(h5s.UNLIMITED if n is None else n for n in self.maxshape))
            if not self.shape:
                space = h5s.create(h5s.SCALAR)
            h5d.create(file["g"].id, b"v", self.stored, space, self._properties(path))
            file["behind"] = np.arange(7)

    def _of_file(self) -> Any:
        rng = random.Random(f"{self._seed} file")
        found = h5p.create(h5p.FILE_CREATE)
        found.set_userblock(rng.choice([0, 0, 512, 2048]))
        if rng.random() < 0.5:
            found.set_file_space_strategy(rng.randrange(4), rng.random() < 0.5, 1)
            found.set_file_space_page_size(rng.choice([512, 4096]))
        self.words.append(f"userblock {found.get_userblock()} sizes {found.get_sizes()}")
        return found

    def _properties(self, path: Path) -> Any:
        found = h5p.create(h5p.DATASET_CREATE)
        if self.layout == "chunked":
            found.set_chunk(self.chunks)
            if self.chunk_opts:
                call("H5Pset_chunk_opts", found, ctypes.c_uint(self.chunk_opts))
        elif self.layout == "compact":
            found.set_layout(h5d.COMPACT)
        elif self.layout == "external":
            size = self.stored.get_size() * int(np.prod(self.shape))
            found.set_external(str(path.with_suffix(".bin")).encode(), 0, size)
        else:
            found.set_layout(h5d.CONTIGUOUS)
        for code, flags, numbers in self.filters:
            found.set_filter(code, flags, numbers)
        if self.layout in ("chunked", "contiguous"):
            found.set_alloc_time(self.alloc_time)
        found.set_fill_time(self.fill_time)
        if self.fill == "value":
            raw = self.fill_bytes()
            call("H5Pset_fill_value", found, ctypes.c_int64(self.stored.id), raw)
        elif self.fill == "undefined" and self.fill_time != h5d.FILL_TIME_ALLOC:
            call("H5Pset_fill_value", found, ctypes.c_int64(-1), None)
        rng = random.Random(f"{self._seed} properties")
        found.set_obj_track_times(rng.random() < 0.5)
        if rng.random() < 0.3:
            found.set_attr_phase_change(0, 0)
        return found

    def fill_bytes(self) -> bytes:
        """Return one element of the type in the file."""
        value = np.ones((), h5py.Datatype(self.stored).dtype) if self.stored.get_class() != h5t.STRING else None
        raw = np.zeros(max(self.stored.get_size(), 64), np.uint8)
        if value is None:
            raw[:2] = 65
            return raw.tobytes()
        raw[: value.dtype.itemsize] = np.frombuffer(value.tobytes(), np.uint8)
        h5t.convert(h5t.py_create(value.dtype), self.stored, 1, raw)
        return raw[: self.stored.get_size()].tobytes()


def _ordered(rng: random.Random, name: str) -> Any:
    return getattr(h5t, name + rng.choice(["LE", "BE"])).copy()


def _integer(rng: random.Random) -> Any:
    return _ordered(rng, f"STD_{rng.choice('IU')}{rng.choice([8, 16, 32, 64])}")


def _narrow_integer(rng: random.Random) -> Any:
    found = _ordered(rng, f"STD_{rng.choice('IU')}{rng.choice([16, 32, 64])}")
    bits = found.get_size() * 8
    found.set_precision(rng.randint(5, bits - 1))
    found.set_offset(rng.randint(0, bits - found.get_precision()))
    with contextlib.suppress(AttributeError):
        found.set_pad(rng.choice([h5t.PAD_ZERO, h5t.PAD_ONE]), rng.choice([h5t.PAD_ZERO, h5t.PAD_ONE]))
    return found


def _float(rng: random.Random) -> Any:
    return _ordered(rng, f"IEEE_F{rng.choice([16, 32, 64])}")


def _other_float(rng: random.Random) -> Any:
    """A float of 24 bits in 32, or with another bias, or bfloat16."""
    found = _ordered(rng, "IEEE_F32")
    kind = rng.randrange(3)
    if kind == 0:
        found.set_fields(23, 16, 7, 0, 16)
        found.set_precision(24)
    elif kind == 1:
        found.set_ebias(100)
    else:
        found.set_fields(15, 7, 8, 0, 7)
        found.set_precision(16)
        found.set_size(2)
        found.set_ebias(127)
    return found


def _text(rng: random.Random) -> Any:
    found = h5t.C_S1.copy()
    found.set_size(rng.randint(1, 9))
    found.set_strpad(rng.choice([h5t.STR_NULLTERM, h5t.STR_NULLPAD, h5t.STR_SPACEPAD]))
    found.set_cset(rng.choice([h5t.CSET_ASCII, h5t.CSET_UTF8]))
    return found


def _compound(rng: random.Random) -> Any:
    parts = [rng.choice([_integer, _float, _narrow_integer])(rng) for _ in range(rng.randint(1, 3))]
    gaps = [rng.choice([0, 0, 3]) for _ in parts]
    found = h5t.create(h5t.COMPOUND, sum(part.get_size() for part in parts) + sum(gaps) + rng.choice([0, 5]))
    at = 0
    for place, (part, gap) in enumerate(zip(parts, gaps, strict=True)):
        found.insert(f"m{place}".encode(), at + gap, part)
        at += gap + part.get_size()
    return found


def _enumeration(rng: random.Random) -> Any:
    return h5t.py_create(h5py.enum_dtype({"a": 0, "b": 1, "c": 5}, rng.choice(["i1", "<i2", ">u4"])), logical=True)


def _opaque(rng: random.Random) -> Any:
    found = h5t.create(h5t.OPAQUE, rng.choice([1, 5, 300]))
    found.set_tag(b"random")
    return found


def _complex(rng: random.Random) -> Any:
    names = [name for name in dir(h5t) if name.startswith(("COMPLEX_IEEE_F32", "COMPLEX_IEEE_F64"))]
    if names and rng.random() < 0.5:
        return getattr(h5t, rng.choice(names)).copy()
    return h5t.py_create(np.dtype(rng.choice(["<c8", ">c16"])), logical=True)


TYPES: dict[str, Any] = {
    "integer": _integer,
    "narrow integer": _narrow_integer,
    "float": _float,
    "other float": _other_float,
    "text": _text,
    "compound": _compound,
    "enumeration": _enumeration,
    "opaque": _opaque,
    "complex": _complex,
    "bool": lambda _: h5t.py_create(np.dtype(bool), logical=True),
    "long double": lambda _: h5t.py_create(np.dtype("g")),
    "bits": lambda rng: _ordered(rng, f"STD_B{rng.choice([8, 16, 32])}"),
}


# ---- Elements --------------------------------------------------------------------------------------------------------


def random_values(rng: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray:
    """Return random elements of any dtype."""
    found = np.zeros(shape, dtype)
    if dtype.names is not None:
        for name in dtype.names:
            found[name] = random_values(rng, dtype[name], shape)
    elif dtype.kind in "fc":
        found[...] = rng.standard_normal(shape)
    elif dtype.kind == "S":
        letters = rng.integers(97, 123, (*shape, dtype.itemsize), np.uint8)
        letters[..., 1:][rng.random((*shape, dtype.itemsize - 1)) < 0.2] = 0
        found = np.ascontiguousarray(letters).view(dtype).reshape(shape)
    elif dtype.kind == "V":
        found = rng.integers(0, 256, (*shape, dtype.itemsize), np.uint8).view(dtype).reshape(shape)
    elif h5py.check_enum_dtype(dtype) is not None or dtype.kind == "b":
        found[...] = rng.integers(0, 2, shape)
    else:
        found[...] = rng.integers(0, 16, shape)  # of few values, which compressors can make smaller
    return found


def are_equal(one: Any, other: Any, where: Any = ...) -> bool:
    """Return whether elements are the same; bytes between the fields of a structure do not count."""
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape:
        return False
    if a.dtype.names is not None:
        return a.dtype.names == b.dtype.names and all(are_equal(a[name], b[name], where) for name in a.dtype.names)
    a, b = a[where], b[where]
    return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def random_box(rng: random.Random, shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Return a box with steps, seldom all of it."""
    if rng.random() < 0.3:
        return tuple(slice(0, n) for n in shape)
    begins = [rng.randint(0, n - 1) for n in shape]
    return tuple(slice(b, rng.randint(b + 1, n), rng.choice([1, 1, 2])) for b, n in zip(begins, shape, strict=True))
