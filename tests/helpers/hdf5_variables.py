"""Variables of all kinds that tests make in HDF5 and netCDF-4 files."""

import numpy as np
import pytest

from hdf5_cases import add, changing, new, store
from swath.formats import hdf5

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")

ATTRIBUTES = {
    "text": "°C",
    "empty": "",
    "ascii": "K",
    "small": np.int16(-3),
    "real": np.float32(0.5),
    "several": np.array([1, 2, 3], ">i4"),
    "texts": ["a", "°", ""],
    "python": 7,
}


def make_all(path):
    """Make variables of all kinds, coordinates before and after their variables; return their values."""
    chance = np.random.default_rng(1)
    values = {
        "t": chance.random((3, 4)).astype("f4"),
        "x": np.arange(4, dtype="i8"),
        "scalar": np.float64(2.5),
        "g/inner/v": chance.integers(0, 100, (4, 2)).astype(">i2"),
        "g/inner/n": np.array([5, 6], "u1"),
        "letters": np.array([b"a", b"b", b"c", b"d"], "S1"),
        "g/w": chance.random((3, 2)),
    }
    made = add(
        path,
        new("t", (3, 4), "f4", ("y", "x"), fill=-1, attributes=ATTRIBUTES),
        new("x", (4,), "i8", ("x",), attributes={"units": "m"}),
        new("scalar", (), "f8"),
        new("g/inner/v", (4, 2), ">i2", ("x", "n")),
        new("g/inner/n", (2,), "u1", ("n",)),
        new("letters", (4,), "S1", ("x",)),
        new("g/w", (3, 2), "f8", ("y", "m"), chunks=(2, 2)),
    )
    for description in made:
        value = values[description.variable]
        if value.shape:
            store(description, value)
    with changing(path) as changes:
        hdf5.set_attributes(changes, "", {"title": "all", **ATTRIBUTES})
        hdf5.set_attributes(changes, "g/inner", {"level": np.int8(2)})
    with h5py.File(path, "r+") as file:
        file["scalar"][...] = 2.5
    return values
