"""Writes an array into a compressed netCDF-4 file, and reads every second row of one part of it.

python first.py [FILE]
"""

import sys

import numpy as np

import swath

path = sys.argv[1] if len(sys.argv) > 1 else "first.nc4"
values = np.arange(90 * 180, dtype="f4").reshape(90, 180)
with swath.create(path, values.shape, "f4", variable="t", dimensions=("y", "x"), codecs="zlib", overwrite=True) as t:
    t[...] = values
with swath.open(path, "t") as t:
    part = t[10:20:2, 100:110]
print(part.shape, float(part.sum()))
assert np.array_equal(part, values[10:20:2, 100:110])
