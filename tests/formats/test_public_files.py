"""Files of other people and other libraries are listed, opened by xarray, copied and verified; their values equal those
of their own library."""

from __future__ import annotations

import collections
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from public_files import WRITTEN, shipped, variety
from swath.commands import cli
from xarray_cases import xr

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")
zarr = pytest.importorskip("zarr")
scipy_io = pytest.importorskip("scipy.io")
pytest.importorskip("h5netcdf")
pytest.importorskip("dask")

from swath.xarray import SwathBackendEntrypoint as Engine  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

LARGE_BYTES = 100_000
SUFFIX = {"netcdf-classic": ".nc", "hdf5": ".h5", "zarr": ".zarr", "npy": ".npy"}
OTHER = {"netcdf-classic": "copy.zarr", "hdf5": "copy.zarr", "zarr": "copy.h5", "npy": "copy.h5"}


def _by_netcdf4(path: Path, name: str) -> Any:
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        file.set_auto_chartostring(False)
        return np.asarray(file[name][...])


def _by_hdf5(path: Path, name: str) -> Any:
    with h5py.File(path) as file:
        dataset = file[name]
        values = (
            dataset.asstr()[...] if h5py.check_string_dtype(dataset.dtype) and dataset.dtype.hasobject else dataset[...]
        )
        return np.asarray(values)


def _by_zarr(path: Path, name: str) -> Any:
    return np.asarray(zarr.open(path, mode="r")[name][...])


def _by_numpy(path: Path, name: str) -> Any:
    del name
    return np.load(path)


LIBRARY: dict[str, Callable[[Path, str], Any]] = {
    "netcdf-classic": _by_netcdf4,
    "hdf5": _by_hdf5,
    "zarr": _by_zarr,
    "npy": _by_numpy,
}
ENGINES: dict[str, list[dict[str, Any]]] = {
    "netcdf-classic": [{"engine": "scipy"}, {"engine": "netcdf4"}],
    "hdf5": [{"engine": "h5netcdf", "phony_dims": "access"}],  # netCDF's library crashes with some files
    "zarr": [{"engine": "zarr"}],
}


def cases() -> list[Any]:
    """Return each format with a file: an installed file, or the name of a file that the test writes."""
    found: list[Any] = []
    for kind, written in WRITTEN.items():
        found += [pytest.param(kind, name, id=f"{kind}-{name}") for name in written]
        for path in shipped(kind) if kind in ("netcdf-classic", "hdf5", "npy") else ():
            marks = [pytest.mark.slow] if path.stat().st_size > LARGE_BYTES else []
            found.append(pytest.param(kind, path, id=f"{kind}-{path.parts[-4]}-{path.name}", marks=marks))
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Any], Path]:
    folder = tmp_path_factory.mktemp("public")

    def file(kind: str, what: Any) -> Path:
        if isinstance(what, Path):
            return what
        path = folder / f"{what}{SUFFIX[kind]}"
        if not path.exists():
            WRITTEN[kind][what](path)
        return path

    return file


VARIETIES = ("CDF-1", "CDF-2", "CDF-5", "netCDF-4", "HDF5", "Zarr 2", "Zarr 3", "npy")


def test_there_are_ten_files_of_each_format(made: Callable[[str, Any], Path]) -> None:
    """Only the files that the tests write count: installed files are additional, and slow ones are not counted."""
    found = collections.Counter(variety(made(kind, name)) for kind, written in WRITTEN.items() for name in written)
    assert set(found) == set(VARIETIES)
    assert {name: count for name, count in found.items() if count < 10} == {}
    tried = [case.values for case in cases() if not case.marks]
    assert all((kind, name) in tried for kind, written in WRITTEN.items() for name in written)


def _refused(path: Path) -> bool:
    """Return whether the file has objects: these are pickled Python, which Swath never reads."""
    return path.suffix == ".npy" and "objarr" in path.name


@pytest.mark.parametrize(("kind", "what"), cases())
def test_a_public_file_is_read_as_its_own_library_reads_it(
    made: Callable[[str, Any], Path], capsys: pytest.CaptureFixture[str], kind: str, what: Any
) -> None:
    path = made(kind, what)
    if _refused(path):
        with pytest.raises(swath.UnsupportedError, match="object"):
            swath.open(path)
        return
    assert cli.main(["info", str(path)]) == 0
    told = capsys.readouterr().out
    with swath.open_file(path) if kind != "npy" else swath.open(path) as opened:
        arrays = dict(opened.contents.variables) if kind != "npy" else {"": None}
        for name, variable in arrays.items():
            assert name in told
            if variable is not None and variable.unsupported:
                continue
            values = (opened[name] if kind != "npy" else opened)[...]
            # Variables can be shorter than a dimension of netCDF, which h5py does not know.
            library = _by_netcdf4 if str(what).startswith("netcdf4-") else LIBRARY[kind]
            expected = library(path, name)
            assert values.shape == expected.shape
            if expected.dtype.hasobject:
                assert values.tolist() == expected.tolist()
            else:
                assert values.astype(expected.dtype, copy=False).tobytes() == expected.tobytes(), name


@pytest.mark.parametrize(("kind", "what"), [case for case in cases() if case.values[0] != "npy"])
def test_a_public_file_is_the_data_set_that_xarrays_own_engine_opens(
    made: Callable[[str, Any], Path], kind: str, what: Any
) -> None:
    path = made(kind, what)
    found: list[Any] = []
    for engine in ENGINES[kind]:
        try:
            with xr.open_datatree(path, **engine) as tree:
                found.append({node.path: node.to_dataset().load() for node in tree.subtree})
                break
        except Exception:  # noqa: BLE001 - the next reader may succeed
            continue
    with xr.open_datatree(path, engine=Engine) as tree:
        own = {node.path: node.to_dataset().load() for node in tree.subtree}
    for expected in found:
        assert set(expected) <= set(own)
        for group, data_set in expected.items():
            for name, variable in data_set.variables.items():
                if name not in own[group].variables:  # left out, with a warning
                    with swath.open_file(path) as file:
                        assert file.contents.variables[f"{group}/{name}".strip("/")].unsupported
                    continue
                assert xr.Variable(variable.dims, own[group][name].values).equals(variable), name
                assert own[group][name].attrs.keys() == variable.attrs.keys()


def _is_hard(variable: Any) -> bool:
    """Return whether some formats cannot hold such elements, or such attributes."""
    is_complex = any(np.asarray(value).dtype.kind == "c" for value in variable.attributes.values())
    return bool(variable.unsupported) or variable.dtype is None or variable.dtype.hasobject or is_complex


def _known(request: pytest.FixtureRequest, path: Path) -> None:
    if path.name == "example_3_maskedvals.nc":
        request.applymarker(pytest.mark.xfail(reason="Zarr gets no _FillValue of characters", strict=False))


@pytest.mark.parametrize(("kind", "what"), cases())
def test_a_public_file_is_copied_and_verified_or_refused_by_what_it_holds(
    request: pytest.FixtureRequest, made: Callable[[str, Any], Path], tmp_path: Path, kind: str, what: Any
) -> None:
    path = made(kind, what)
    if _refused(path):
        return
    _known(request, path)
    with swath.open_file(path) if kind != "npy" else swath.open(path) as opened:
        variables = opened.contents.variables.values() if kind != "npy" else ()
        hard = [v.name for v in variables if _is_hard(v)]
    target = tmp_path / OTHER[kind]
    try:
        swath.copy(path, target)
    except (swath.ArgumentError, swath.UnsupportedError) as error:
        told, target = str(error), None
    if target is None:
        assert hard, told
        assert any(name in told for name in hard)
        assert os.listdir(tmp_path) == []
    else:
        assert swath.verify(path, target)
