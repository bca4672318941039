"""The built and installed files: no library search path that others could fill, and no unnecessary import."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from swath.errors import UnsupportedError
from swath.mpi_io import backends, preload
from swath.ranks.loaded_mpi import FAMILIES

OPTIONAL = ("mpi4py", "h5py", "netCDF4", "iris_sample_data", "swath._mpi_mpich")


def module_file(name: str) -> Path:
    """Return the file of a compiled module, without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        pytest.skip(f"{name} was not built")
    return Path(spec.origin)


def dynamic_section(path: Path) -> str:
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("readelf (binutils) is not installed")
    return subprocess.run([readelf, "-d", path], capture_output=True, text=True, check=True).stdout


def search_paths(dynamic: str) -> list[str]:
    """Return the folders of DT_RPATH and DT_RUNPATH in the output of readelf -d."""
    found = re.findall(r"\((?:RPATH|RUNPATH)\)\s+Library (?:rpath|runpath): \[(.*)\]", dynamic)
    return [folder for paths in found for folder in paths.split(":")]


def test_search_paths_are_found_in_what_readelf_prints() -> None:
    dynamic = """
 0x0000000000000001 (NEEDED)             Shared library: [libmpi.so.12]
 0x000000000000001d (RUNPATH)            Library runpath: [$ORIGIN:/tmp/build/lib]
 0x000000000000000f (RPATH)              Library rpath: [/opt/lib]
"""
    assert search_paths(dynamic) == ["$ORIGIN", "/tmp/build/lib", "/opt/lib"]


@pytest.mark.parametrize("name", ["swath._core", *(f"swath._mpi_{family}" for family in FAMILIES)])
def test_a_built_module_searches_libraries_beside_itself_only(name: str) -> None:
    dynamic = dynamic_section(module_file(name))
    assert "(NEEDED)" in dynamic
    outside = [folder for folder in search_paths(dynamic) if not re.fullmatch(r"\$ORIGIN(/.*)?", folder)]
    assert not outside


def mpi_io_libraries() -> list[Path]:
    """Return the stub of MPI-IO and the backends in the package."""
    try:
        stub = Path(preload.library())
    except UnsupportedError as error:
        pytest.skip(str(error))
    return [stub, *(stub.parent / backends.file_name(family) for family in ("mpich", "mpiabi"))]


def test_the_stub_of_mpi_io_needs_libc_only_and_its_backends_no_mpi() -> None:
    stub, *of_families = mpi_io_libraries()
    assert re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic_section(stub)) == ["libc.so.6"]
    for library in of_families:
        if library.exists():
            assert "libmpi" not in dynamic_section(library)
    for library in (stub, *of_families):
        assert not library.exists() or search_paths(dynamic_section(library)) == []


def test_a_backend_of_mpi_io_exports_no_more_than_the_stub_asks_for() -> None:
    if shutil.which("nm") is None:
        pytest.skip("nm (binutils) is not installed")
    for library in mpi_io_libraries()[1:]:
        if library.exists():
            command = ["nm", "-D", "--defined-only", "--format=just-symbols", library]
            exported = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
            assert sorted(exported) == ["swath_mpi_io_begin", "swath_mpi_io_build", "swath_mpi_io_function"]


@pytest.mark.parametrize("name", ["swath._core", *(f"swath._mpi_{family}" for family in FAMILIES)])
def test_modules_are_linked_to_no_mpi_and_to_nothing_that_is_found_at_run_time(name: str) -> None:
    dynamic = dynamic_section(module_file(name))
    assert [library for library in ("libmpi", "librados", "libhdf5", "libfuse") if library in dynamic] == []


def test_import_swath_imports_nothing_optional(tmp_path: Path) -> None:
    program = f"""
import sys, swath
import numpy as np
with swath.create(sys.argv[1], (4, 6), "<f8") as a:
    a.write(np.ones((4, 6)))
with swath.open(sys.argv[1]) as a:
    assert a[1:3, ::2].sum() == 6
print([name for name in {OPTIONAL!r} if name in sys.modules])
"""
    command = [sys.executable, "-c", program, str(tmp_path / "a.npy")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == "[]"
