"""xarray and dask: `xr.open_dataset(path, engine="swath")`; an import of this module adds `ds.swath.to_file(path)`."""

from swath.xarray.accessor import register
from swath.xarray.backend import SwathBackendEntrypoint

__all__ = ["SwathBackendEntrypoint"]

register()
