"""xarray's own tests of its backends: Swath opens what other engines wrote, and writes instead of them."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
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

if not xr.__version__.startswith("2026.9."):
    pytest.skip("the tests of this version of xarray are not those that these classes know", allow_module_level=True)

conftest = pytest.importorskip("xarray.tests.conftest")
simple_datatree, create_test_datatree = conftest.simple_datatree, conftest.create_test_datatree  # fixtures
OF_OTHER_ENGINES = ("engine", "format", "consolidated", "zarr_format")
"""Options of other engines that xarray's tests give."""
ENTRY = SwathBackendEntrypoint
default_zarr_format = upstream.default_zarr_format  # a fixture


@pytest.fixture(params=[False, True], ids=["numpy", "dask"])
def use_dask(request: Any) -> bool:
    """The same fixture as in xarray's conftest."""
    return request.param


@pytest.fixture(params=["s", "ms", "us", "ns"])
def time_unit(request: Any) -> str:
    return request.param


@pytest.fixture(autouse=True)
def skipped_by_parameter(request: Any) -> None:
    """Skip tests by their parameters: those of `left_out`, and those with the mark of xarray's conftest."""
    reason = getattr(request.cls, "LEFT_OUT", {}).get(request.node.name)
    if reason:
        pytest.skip(reason)
    given = getattr(request.node, "callspec", None)
    for mark in request.node.iter_markers("skip_if_param"):
        wanted = {name: value for name, value in mark.kwargs.items() if name not in ("reason", "condition")}
        if mark.kwargs.get("condition", True) and given and wanted.items() <= given.params.items():
            pytest.skip(mark.kwargs["reason"])


def left_out(reasons: dict[str, str]) -> Callable[[type], type]:
    """Skip tests of a class of xarray, each for a reason; "test_a[b]" is the test with that parameter.

    Tests that do not use Swath at all are skipped, too.
    """

    def without(cls: type) -> type:
        for name in dir(cls):
            if name.startswith("test_") and not any(
                word in inspect.getsource(getattr(cls, name)) for word in cls.REACHED_BY
            ):
                setattr(cls, name, None)
        for name, reason in reasons.items():
            function, bracket, _ = name.partition("[")
            assert callable(getattr(cls, function, None)), f"{cls.__name__} has no {name} to leave out"
            assert reason
            if not bracket:
                setattr(cls, function, None)
        cls.LEFT_OUT = reasons
        return cls

    return without


class OpenedBySwath:
    """Swath opens what others wrote."""

    REACHED_BY = ("self.roundtrip", "self.open(", "super().")

    @contextlib.contextmanager
    def open(self, path: Any, **kwargs: Any) -> Iterator[Any]:
        kwargs |= kwargs.pop("backend_kwargs", {})
        for name in OF_OTHER_ENGINES:
            kwargs.pop(name, None)
        with xr.open_dataset(path, engine=ENTRY, **kwargs) as data_set:
            yield data_set


class WrittenBySwath:
    """Others open what Swath writes."""

    REACHED_BY = ("self.roundtrip", "self.save(", "super().")

    def swath_format(self) -> str:
        raise NotImplementedError

    def save(self, data_set: Any, path: Any, **kwargs: Any) -> Any:
        for name in OF_OTHER_ENGINES:
            kwargs.pop(name, None)
        mode = kwargs.pop("mode", "w")
        return data_set.swath.to_file(path, format=self.swath_format(), mode=mode, **kwargs)


class TreesOpenedBySwath:
    """Swath opens what others wrote, as a tree or as its groups."""

    REACHED_BY = ("open_datatree", "load_datatree", "open_groups")

    @pytest.fixture(autouse=True)
    def by_swath(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("open_datatree", "load_datatree", "open_groups"):
            monkeypatch.setattr(trees, name, functools.partial(self._opened, getattr(xr, name)))

    @staticmethod
    def _opened(opener: Callable[..., Any], path: Any, **kwargs: Any) -> Any:
        return opener(path, **{**kwargs, "engine": ENTRY})


class TreesWrittenBySwath:
    """Others open what Swath writes, data set by data set."""

    REACHED_BY = ("to_netcdf",)

    @pytest.fixture(autouse=True)
    def by_swath(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def to_netcdf(tree: Any, path: Any, engine: Any = None, **kwargs: Any) -> Any:
            return tree.swath.to_file(path, format="netcdf4", mode="w", **kwargs)

        monkeypatch.setattr(xr.DataTree, "to_netcdf", to_netcdf)


class WithAsyncLoading:
    """No plugin for coroutines is needed."""

    def test_load_async(self) -> None:
        asyncio.run(super().test_load_async())


OPENED_OTHERWISE = {
    "test_byte_attrs": "Swath reads text that is no UTF-8 as Latin-1, and keeps none of its zero bytes",
}
OF_NETCDF4 = {
    "test_compression_encoding[szip]": "Swath knows no szip: it reads it by the HDF5 library, and writes none",
    "test_roundtrip_complex": "complex numbers are an option of netCDF4-python, `auto_complex`",
}
OF_ZARR = {"test_zarr_fill_value_setting": "is of an option of the zarr engine, `use_zarr_fill_value_as_mask`"}
WRITTEN_OTHERWISE = {
    "test_invalid_dataarray_names_raise": "xarray raises TypeError, Swath its ArgumentError",
    "test_encoding_kwarg": "xarray raises KeyError for a variable that is not there, Swath its ArgumentError",
}
WRITTEN_NETCDF = {
    **WRITTEN_OTHERWISE,
    "test_roundtrip_endian": "Swath writes either byte order",
    "test_append_with_invalid_dim_raises": "Swath's error, of the same class, has other words",
}
NO_VARIABLE_LENGTH = "Swath writes text of fixed length, as characters"
WRITTEN_NETCDF4 = {
    **WRITTEN_NETCDF,
    **OF_NETCDF4,
    "test_encoding_kwarg_vlen_string": NO_VARIABLE_LENGTH,
    "test_roundtrip_string_with_fill_value_vlen": NO_VARIABLE_LENGTH,
    "test_encoding_enum__no_fill_value": "Swath writes the integers of an enumeration, without their names",
    "test_encoding_enum__multiple_variable_with_enum": "the same",
    "test_child_group_with_inconsistent_dimensions": "what is added has the dimensions of the groups above",
    **{
        f"test_compression_encoding[{one}]": "netCDF4-python tells of no filter that netCDF has no plugin for"
        for one in ("zstd", "blosc_lz", "blosc_lz4", "blosc_lz4hc", "blosc_zlib", "blosc_zstd")
    },
}


@left_out({})
class TestOpensNetCDF3(OpenedBySwath, upstream.TestNetCDF3ViaNetCDF4Data):
    pass


@left_out({**OPENED_OTHERWISE, **OF_NETCDF4})
class TestOpensNetCDF4(OpenedBySwath, upstream.TestNetCDF4Data):
    pass


@left_out({**OPENED_OTHERWISE, **OF_NETCDF4})
class TestOpensNetCDF4Chunked(OpenedBySwath, upstream.TestNetCDF4ViaDaskData):
    pass


@left_out(
    {
        **OPENED_OTHERWISE,
        "test_compression_encoding_h5py": "Swath knows no lzf: it reads it by the HDF5 library",
        "test_dump_encodings_h5py": "the same",
        "test_roundtrip_complex": "complex numbers are an option of h5netcdf",
    }
)
class TestOpensH5NetCDF(OpenedBySwath, upstream.TestH5NetCDFData):
    pass


IN_MEMORY = {
    "test_roundtrip_via_memoryview": "Swath reads and writes files, not the bytes of files",
    "test_compute_false": "Swath makes the file when it is computed, not before",
}


@left_out(IN_MEMORY)
class TestOpensTrees(TreesOpenedBySwath, trees.TestNetCDF4DatatreeIO):
    pass


@left_out(
    {
        **OF_ZARR,
        "test_compressor_encoding": "`encoding` tells codecs as the metadata have them, not as objects of zarr-python",
        "test_zarr_fill_value_in_encoding_on_read": "is of the same option as test_zarr_fill_value_setting",
    }
)
class TestOpensZarr(OpenedBySwath, WithAsyncLoading, upstream.TestZarrDirectoryStore):
    pass


@left_out(WRITTEN_NETCDF)
class TestWritesNetCDF3(WrittenBySwath, upstream.TestNetCDF3ViaNetCDF4Data):
    def swath_format(self) -> str:
        return "netcdf-classic:cdf2"


@left_out(WRITTEN_NETCDF4)
class TestWritesNetCDF4(WrittenBySwath, upstream.TestNetCDF4Data):
    def swath_format(self) -> str:
        return "netcdf4"


@left_out(WRITTEN_NETCDF4)
class TestWritesNetCDF4Chunked(WrittenBySwath, upstream.TestNetCDF4ViaDaskData):
    def swath_format(self) -> str:
        return "netcdf4"


@left_out({**IN_MEMORY, "test_to_memoryview_compute_false": "the same"})
class TestWritesTrees(TreesWrittenBySwath, trees.TestNetCDF4DatatreeIO):
    pass


@left_out(
    {
        **WRITTEN_OTHERWISE,
        **OF_ZARR,
        "test_roundtrip_None_variable": "Zarr reserves names such as __values__, which xarray writes",
        "test_chunk_encoding": "xarray raises TypeError for broken chunks, Swath its ArgumentError",
        "test_chunk_encoding_with_dask": "refuses chunks that do not fit dask's, which Swath writes one after another",
        "test_shard_encoding_with_dask": "the same of shards",
        "test_read_non_consolidated_warning": "Swath always consolidates",
        "test_to_zarr_compute_false_roundtrip": "Swath makes the file when it is computed, not before",
        "test_to_zarr_append_compute_false_roundtrip": "append_dim: Swath appends by `Array.append`",
        "test_zarr_fill_value_in_encoding_on_read": "Swath's fill value and `_FillValue` are one",
    }
)
class TestWritesZarr(WrittenBySwath, WithAsyncLoading, upstream.TestZarrDirectoryStore):
    def swath_format(self) -> str:
        return f"zarr:v{zarr.config.get('default_zarr_format')}"
