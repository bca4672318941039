"""`swath.verify(by_library=True)`: both files are read by the libraries of their formats, never by Swath.

A file is read by h5py, netCDF4, zarr-python or NumPy (`libraries`) into words that all formats share (`held`), and two
of these are compared (`differences`). Nothing here uses what Swath itself knows of a format.
"""
