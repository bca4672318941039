"""`swath.verify(by_library=True)`: the libraries of the formats read both files, and Swath reads neither.

h5py, netCDF4, zarr-python or NumPy (`libraries`) reads a file into terms that all formats share (`held`), and two
results are compared (`differences`). No code here uses Swath's own knowledge of a format.
"""
