"""The recipes of packaging/ have the form for conda and Spack, and agree with the project."""

from __future__ import annotations

import importlib.util
import re
import sys
import types
from typing import Any

import pytest

import swath
from tree import ROOT

CONDA = ROOT / "packaging/conda"
SPACK = ROOT / "packaging/spack/package.py"


def settings() -> dict[str, Any]:
    """Return the settings in pyproject.toml."""
    tomllib = pytest.importorskip("tomllib")
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return found


# ---- conda -----------------------------------------------------------------------------------------------------------


def rendered() -> list[dict[str, Any]]:
    """Return the recipe of each variant, as the library of rattler-build reads it before a build."""
    rattler_build = pytest.importorskip("rattler_build")
    recipe = rattler_build.Stage0Recipe.from_file(str(CONDA / "recipe.yaml"))
    variants = rattler_build.VariantConfig.from_file(str(CONDA / "variants.yaml"))
    return [one.recipe.to_dict() for one in recipe.render(variants, rattler_build.RenderConfig())]


def test_the_recipe_of_conda_is_one_for_each_mpi_and_python() -> None:
    recipes = rendered()
    assert len(recipes) == 15
    assert len({recipe["build"]["string"] for recipe in recipes}) == 15
    for recipe in recipes:
        assert recipe["package"] == {"name": "swath", "version": swath.__version__}
        assert (CONDA / recipe["source"][0]["path"] / "pyproject.toml").exists()
        mpi = recipe["build"]["string"].split("_")[0]
        needs = set(recipe["requirements"]["host"])
        assert needs & {"mpich", "openmpi"} == {mpi} - {"nompi"}
        assert ("MPICC=none" in " ".join(recipe["build"]["script"])) == (mpi == "nompi")


def test_the_recipe_of_conda_asks_for_what_the_project_asks_for() -> None:
    project = settings()
    build = [one.split(";")[0].replace(">=", " >=") for one in project["build-system"]["requires"]]
    run = [one.replace(">=", " >=") for one in project["project"]["dependencies"]]
    for recipe in rendered():
        assert set(build) - {"mpich >=5.0"} <= set(recipe["requirements"]["host"])
        assert set(run) <= set(recipe["requirements"]["run"])


# ---- Spack -----------------------------------------------------------------------------------------------------------


class Directives:
    """A replacement of Spack that records the declarations of a recipe."""

    def __init__(self) -> None:
        self.said: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {}

    def named(self, name: str) -> Any:
        def note(*given: Any, **more: Any) -> None:
            self.said.setdefault(name, []).append((given, more))

        return note


@pytest.fixture
def spack(monkeypatch: pytest.MonkeyPatch) -> tuple[Directives, Any]:
    """Return the recipe's declarations, and its class."""
    directives = Directives()
    package = types.ModuleType("spack.package")
    for name in ("license", "version", "variant", "depends_on", "conflicts"):
        setattr(package, name, directives.named(name))
    package.join_path = lambda *parts: "/".join(parts)  # type: ignore[attr-defined]
    cmake = types.ModuleType("spack_repo.builtin.build_systems.cmake")

    class CMakePackage:
        def __init__(self, spec: Any) -> None:
            self.spec = spec

        def define(self, name: str, value: Any) -> str:
            return f"-D{name}={value}"

        def define_from_variant(self, name: str, variant: str) -> str:
            return f"-D{name}={self.spec.satisfies('+' + variant)}"

    cmake.CMakePackage = CMakePackage  # type: ignore[attr-defined]
    for name in ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "spack.package", package)
    monkeypatch.setitem(sys.modules, cmake.__name__, cmake)
    spec = importlib.util.spec_from_file_location("swath_of_spack", SPACK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return directives, module.Swath


class Spec:
    """Of a package that Spack builds."""

    def __init__(self, *on: str) -> None:
        self.on = on

    def satisfies(self, variant: str) -> bool:
        return variant in self.on

    def __getitem__(self, name: str) -> Any:
        assert name == "mpi"
        return types.SimpleNamespace(mpicc="/mpi/bin/mpicc")


def test_the_recipe_of_spack_declares_what_cmake_looks_for(spack: tuple[Directives, Any]) -> None:
    directives, _ = spack
    assert directives.said["version"][0][0] == (swath.__version__,)
    variants = {given[0] for given, _ in directives.said["variant"]}
    needed = {given[0].split("@")[0] for given, _ in directives.said["depends_on"]}
    # As Spack calls what core/CMakeLists.txt finds.
    names = {"ZSTD": "zstd", "BLOSC": "c-blosc", "LZ4": "lz4", "LIBDEFLATE": "libdeflate"}
    codecs = re.findall(r"^swath_find_codec\((\w+)", (ROOT / "core/CMakeLists.txt").read_text(), re.MULTILINE)
    assert {names[codec] for codec in codecs} | {"nlohmann-json", "utf8proc", "liburing", "mpi"} <= needed
    for _, more in directives.said["depends_on"]:
        assert more.get("when", "+mpi").lstrip("+") in variants


def test_the_recipe_of_spack_gives_cmake_options_that_there_are(spack: tuple[Directives, Any]) -> None:
    _, package = spack
    options = (ROOT / "CMakeLists.txt").read_text() + (ROOT / "core/comm/CMakeLists.txt").read_text()
    given = package(Spec("+mpi", "+fortran")).cmake_args()
    assert "-DSWATH_MPICC=/mpi/bin/mpicc" in given
    assert "-DSWATH_BUILD_FORTRAN=True" in given
    without = package(Spec()).cmake_args()
    assert "-DSWATH_MPICC=none" in without
    for argument in [*given, *without]:
        name = argument[2:].partition("=")[0]
        assert re.search(rf"^(option|set)\({name} ", options, re.MULTILINE), name
