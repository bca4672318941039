"""xarray's own tests of its backends, with Swath opening what other engines wrote, and writing in their place."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

xr = pytest.importorskip("xarray")
pytest.importorskip("dask")
zarr = pytest.importorskip("zarr")
upstream = pytest.importorskip("xarray.tests.test_backends")
trees = pytest.importorskip("xarray.tests.test_backends_datatree")

from swath.xarray import SwathBackendEntrypoint  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

OF_OTHER_ENGINES = ("engine", "format", "consolidated", "zarr_format")
"""Options of other engines that xarray's tests give."""
ENTRY = SwathBackendEntrypoint
default_zarr_format = upstream.default_zarr_format  # a fixture


@pytest.fixture(params=[False, True], ids=["numpy", "dask"])
def use_dask(request: Any) -> bool:
    """As xarray's conftest has it."""
    return request.param


@pytest.fixture(params=["s", "ms", "us", "ns"])
def time_unit(request: Any) -> str:
    return request.param


@pytest.fixture(autouse=True)
def skipped_by_parameter(request: Any) -> None:
    """What xarray's conftest does with this mark of its tests."""
    given = getattr(request.node, "callspec", None)
    for mark in request.node.iter_markers("skip_if_param"):
        wanted = {name: value for name, value in mark.kwargs.items() if name not in ("reason", "condition")}
        if mark.kwargs.get("condition", True) and given and wanted.items() <= given.params.items():
            pytest.skip(mark.kwargs["reason"])


def left_out(**reasons: str) -> Callable[[type], type]:
    """Leave tests of xarray out of a class, each for a reason."""

    def without(cls: type) -> type:
        for name, reason in reasons.items():
            assert callable(getattr(cls, name, None)), f"{cls.__name__} has no {name} to leave out"
            assert reason
            setattr(cls, name, None)
        return cls

    return without


class OpenedBySwath:
    """What others wrote is opened by Swath."""

    @contextlib.contextmanager
    def open(self, path: Any, **kwargs: Any) -> Iterator[Any]:
        kwargs = {**kwargs, **kwargs.pop("backend_kwargs", {})}
        for name in OF_OTHER_ENGINES:
            kwargs.pop(name, None)
        with xr.open_dataset(path, engine=ENTRY, **kwargs) as data_set:
            yield data_set


class WrittenBySwath:
    """What Swath writes is opened by others."""

    def swath_format(self) -> str:
        raise NotImplementedError

    def save(self, data_set: Any, path: Any, **kwargs: Any) -> Any:
        for name in OF_OTHER_ENGINES:
            kwargs.pop(name, None)
        mode = kwargs.pop("mode", "w")
        return data_set.swath.to_file(path, format=self.swath_format(), mode=mode, **kwargs)


class TreesOpenedBySwath:
    """What others wrote is opened by Swath, as a tree or as its groups."""

    @pytest.fixture(autouse=True)
    def by_swath(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("open_datatree", "load_datatree", "open_groups"):
            monkeypatch.setattr(trees, name, functools.partial(self._opened, getattr(xr, name)))

    @staticmethod
    def _opened(opener: Callable[..., Any], path: Any, **kwargs: Any) -> Any:
        return opener(path, **{**kwargs, "engine": ENTRY})


class TreesWrittenBySwath:
    """What Swath writes, data set by data set, is opened by others."""

    @pytest.fixture(autouse=True)
    def by_swath(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def to_netcdf(tree: Any, path: Any, engine: Any = None, **kwargs: Any) -> Any:
            return tree.swath.to_file(path, format="netcdf4", mode="w", **kwargs)

        monkeypatch.setattr(xr.DataTree, "to_netcdf", to_netcdf)


class WithAsyncLoading:
    """No plugin for coroutines is needed."""

    def test_load_async(self) -> None:
        asyncio.run(super().test_load_async())


class TestOpensNetCDF3(OpenedBySwath, upstream.TestNetCDF3ViaNetCDF4Data):
    pass


class TestOpensNetCDF4(OpenedBySwath, upstream.TestNetCDF4Data):
    pass


class TestOpensNetCDF4Chunked(OpenedBySwath, upstream.TestNetCDF4ViaDaskData):
    pass


class TestOpensH5NetCDF(OpenedBySwath, upstream.TestH5NetCDFData):
    pass


class TestOpensTrees(TreesOpenedBySwath, trees.TestNetCDF4DatatreeIO):
    pass


@left_out(
    test_compressor_encoding="`encoding` tells codecs as the metadata have them, not as objects of zarr-python",
    test_zarr_fill_value_setting="is of an option of the zarr engine, `use_zarr_fill_value_as_mask`",
    test_zarr_fill_value_in_encoding_on_read="is of the same option",
)
class TestOpensZarr(OpenedBySwath, WithAsyncLoading, upstream.TestZarrDirectoryStore):
    pass


OTHER_ERRORS = {
    "test_invalid_dataarray_names_raise": "xarray raises TypeError, Swath its ArgumentError",
    "test_encoding_kwarg": "xarray raises KeyError for a variable that is not there, Swath its ArgumentError",
}


@left_out(
    test_roundtrip_endian="Swath writes either byte order",
    test_append_with_invalid_dim_raises="Swath's error, of the same class, has other words",
    **OTHER_ERRORS,
)
class TestWritesNetCDF3(WrittenBySwath, upstream.TestNetCDF3ViaNetCDF4Data):
    def swath_format(self) -> str:
        return "netcdf-classic:cdf2"


@left_out(
    test_roundtrip_None_variable="Zarr reserves names such as __values__, which xarray writes",
    test_chunk_encoding="xarray raises TypeError for broken chunks, Swath its ArgumentError",
    test_chunk_encoding_with_dask="refuses chunks that do not fit dask's, which Swath writes one after another",
    test_shard_encoding_with_dask="the same of shards",
    test_read_non_consolidated_warning="Swath always consolidates",
    test_to_zarr_compute_false_roundtrip="Swath makes the file when it is computed, not before",
    test_to_zarr_append_compute_false_roundtrip="append_dim: Swath appends by `Array.append`",
    test_zarr_fill_value_setting="is of an option of the zarr engine, `use_zarr_fill_value_as_mask`",
    test_zarr_fill_value_in_encoding_on_read="Swath's fill value and `_FillValue` are one",
    **OTHER_ERRORS,
)
class TestWritesZarr(WrittenBySwath, WithAsyncLoading, upstream.TestZarrDirectoryStore):
    def swath_format(self) -> str:
        return f"zarr:v{zarr.config.get('default_zarr_format')}"


class TestWritesNetCDF4(WrittenBySwath, upstream.TestNetCDF4Data):
    def swath_format(self) -> str:
        return "netcdf4"


class TestWritesNetCDF4Chunked(WrittenBySwath, upstream.TestNetCDF4ViaDaskData):
    def swath_format(self) -> str:
        return "netcdf4"


class TestWritesTrees(TreesWrittenBySwath, trees.TestNetCDF4DatatreeIO):
    pass
