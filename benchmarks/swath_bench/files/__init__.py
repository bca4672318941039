"""Files as scientists keep them: Swath compared with netCDF4, h5py, zarr-python, xarray and nccopy.

One deflated netCDF-4 file is read (a time series, a map, by columns on several ranks), transposed and re-chunked; many
variables are dumped; xarray opens a file of many variables; records are appended. Every measurement runs in a
separate process (one on each rank), all contenders in turn, in another order each round. `cases` has the cases
and their participants, `contenders` has the code of each, `sources` makes the files, `job` is one measurement,
`program` carries it out, `checks` compares its result with NumPy, `running` starts them, `summary` and `tables` report.
"""

from __future__ import annotations

from swath_bench.files.cases import CASES
from swath_bench.files.options import Options, needs, peer_names, quick_options
from swath_bench.files.running import measure
from swath_bench.files.summary import summarise
from swath_bench.files.tables import show

__all__ = ["CASES", "Options", "measure", "needs", "peer_names", "quick_options", "show", "summarise"]
