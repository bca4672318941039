"""xarray and dask: `xr.open_dataset(path, engine="swath")`, and `ds.swath.to_file(path)` where this is imported."""

from swath.xarray.accessor import register
from swath.xarray.backend import SwathBackendEntrypoint

__all__ = ["SwathBackendEntrypoint"]

register()
