"""The layers of the package: a folder imports only what lies below it. Every import counts (see `module_imports`)."""

from __future__ import annotations

import pytest

from module_imports import (
    FACE,
    UNKNOWN,
    cycles,
    folder_graph,
    folder_of,
    found_in,
    imported_modules,
    loaded_with,
    package_graph,
    way,
)

LAYERS = (
    {"errors"},
    {"base", "space", "simulated"},
    {"ranks"},
    {"formats"},
    {"store", "throttle", "trace"},
    {"files"},
    {"array"},
    {"advice", "calibration", "copying", "fft", "recompute", "replay", "simulation", "xarray"},
    {FACE, "_public", "_moved", "pickling"},
    {"mpi_io"},
    {"commands"},
)
"""The entries of the package's top, the lowest first. The face, `import swath`, is above all that it exports."""
LEVELS = {folder: level for level, layer in enumerate(LAYERS) for folder in layer}

BY_A_NAME_THAT_IS_MADE = {
    "swath._moved",  # modules by the names that they had
    "swath.commands.bench",  # the distribution swath-bench, where it is installed
    "swath.commands.demo",  # whether an optional package is there
    "swath.copying.by_library.libraries",  # h5py, netCDF4 and zarr
}
"""Modules that import others by computed names."""

ARRAY = "swath.array.open_array"
"""The module of `Array`."""
OPENS_FILES = "swath.files.core_file"
"""The module that calls the core to open a file for its elements."""
SAID_BY_FORMATS = {
    f"swath.formats.{name}" for name in ("contents", "description", "identity", "netcdf_fills", "signals")
}
"""The modules of formats that arrays may import: descriptions of positions. Other modules read and write contents."""
SAID_BY_FILES = {f"swath.files.{name}" for name in ("attributes", "layouts", "stored_array")}
"""The modules of files that arrays may import: how they are stored."""
JOIN = {"swath.array.opening", "swath.array.file"}
"""Modules of `swath.array` that may know both: they are above `Array`."""


def climbs(module: str, imported: set[str]) -> list[str]:
    """Return which of the modules that `module` imports lie above it."""
    level = LEVELS[folder_of(module)]
    return sorted(one for one in imported if one == UNKNOWN or LEVELS[folder_of(one)] > level)


def test_each_folder_has_its_layer() -> None:
    folders = {folder_of(module) for module in imported_modules()} - {UNKNOWN}
    assert folders == set(LEVELS)
    assert sum(map(len, LAYERS)) == len(LEVELS)


def test_folders_import_only_what_lies_below() -> None:
    graph = imported_modules()
    assert len(graph) > 200
    assert sum(map(len, graph.values())) > 800
    for module in graph.keys() - BY_A_NAME_THAT_IS_MADE - {UNKNOWN}:
        assert climbs(module, graph[module]) == [], module
    for module in BY_A_NAME_THAT_IS_MADE:
        assert climbs(module, graph[module]) == [UNKNOWN], module


def test_no_folders_import_each_other() -> None:
    assert cycles(folder_graph(imported_modules())) == set()


EVASIONS = {
    "in a function": "def f():\n    from swath.copying.plan import CopyPlan",
    "in a function, the module": "def f():\n    import swath.copying.plan as plan",
    "for type checkers": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from swath.copying import plan",
    "by its name": "import importlib\ndef f():\n    return importlib.import_module('swath.copying.plan')",
    "by its name, renamed": "from importlib import import_module as load\nload('swath.copying.plan')",
    "by its name, with an object": "import pkgutil\npkgutil.resolve_name('swath.copying.plan:CopyPlan')",
    "by Python's own function": "plan = __import__('swath.copying.plan')",
    "an attribute of the face": "import swath.errors\ndef f():\n    return swath.copying.plan.CopyPlan",
    "of what is loaded": "import sys\nplan = sys.modules['swath.copying.plan']",
    "relative": "from ..copying.plan import CopyPlan",
    "relative, the module": "from ..copying import plan",
}


@pytest.mark.parametrize("source", EVASIONS.values(), ids=EVASIONS.keys())
def test_an_import_of_what_lies_above_is_found(source: str) -> None:
    found = found_in(source, "swath.array", imported_modules())
    assert climbs("swath.array.plan", found) == ["swath.copying.plan"]
    assert climbs("swath.commands.copy", found) == []


@pytest.mark.parametrize(
    "source",
    [
        "import swath",
        "from swath import open_file",
        "import swath.errors\nswath.open_file('x.h5')",
        "from .. import open_file",
    ],
)
def test_the_face_is_above_whatever_is_taken_from_it(source: str) -> None:
    found = found_in(source, "swath.array", imported_modules())
    assert climbs("swath.array.plan", found) == [FACE]


@pytest.mark.parametrize(
    "source",
    ["importlib.import_module('.'.join(names))", "import_module('.copying', 'swath')", "sys.modules[name]"],
)
def test_a_name_that_is_not_written_down_is_refused(source: str) -> None:
    assert climbs("swath.array.plan", found_in(source, "swath.array", imported_modules())) == [UNKNOWN]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from swath import _core\nfrom swath._core import Array\nimport numpy", set()),
        ("from swath import errors", {"swath.errors"}),
        ("import swath.errors\nraise swath.errors.Error('x')", {"swath.errors"}),
        ("from . import plan", {"swath.array.plan"}),
    ],
)
def test_imports_are_found_as_they_are_written(source: str, expected: set[str]) -> None:
    assert found_in(source, "swath.array", imported_modules()) == expected


def test_what_is_loaded_with_a_module() -> None:
    assert set(loaded_with("swath.files.core_file")) == {OPENS_FILES, "swath.files"}


def test_the_face_reaches_arrays_and_files() -> None:
    graph = package_graph()
    assert way(graph, FACE, ARRAY)
    assert way(graph, FACE, OPENS_FILES)


def test_array_imports_no_module_that_opens_files() -> None:
    graph = package_graph()
    assert way(graph, ARRAY, OPENS_FILES) == []
    assert way(graph, ARRAY, UNKNOWN) == []


def test_array_imports_of_files_and_formats_what_they_say() -> None:
    graph = imported_modules()
    for name in [ARRAY, *(one for one in graph if way(graph, ARRAY, one))]:
        if folder_of(name) in ("array", "files"):
            of_files = {one for one in graph[name] if one.startswith("swath.files")}
            of_formats = {one for one in graph[name] if one.startswith("swath.formats")}
            assert of_files <= SAID_BY_FILES, name
            assert of_formats <= SAID_BY_FORMATS, name


def test_few_modules_join_arrays_and_files() -> None:
    graph = package_graph()
    of_arrays = [name for name in graph if name.startswith("swath.array.")]
    assert {name for name in of_arrays if way(graph, name, OPENS_FILES)} == JOIN
