"""The structure of the core and the package: includes, imports, and the modules that one read passes through."""

from __future__ import annotations

import ast
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import swath
from module_imports import Graph, cycles, imported_modules, imports_of
from swath.array import open_array, progress
from swath.simulated import run_ranks
from tree import ROOT

CORE = ROOT / "core"
PACKAGE = ROOT / "python" / "swath"

TEST_SOURCE = re.compile(r"_tests?\.|_for_tests\.|engine_test_file\.")

PURE = {"space", "layout", "plan"}
PLAN_OF_STORE = {"store/batch.h", "store/capabilities.h", "store/structured.h"}
"""The headers of the store that a plan may include: data types."""


def test_cycles_are_found_directly_and_around() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": set()}) == set()
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == {frozenset("abc")}
    assert cycles({"a": {"b"}, "b": {"a"}, "c": {"d"}, "d": {"c"}}) == {frozenset("ab"), frozenset("cd")}


# ---- The core --------------------------------------------------------------------------------------------------------


def includes() -> Iterator[tuple[str, str]]:
    """Yield ("plan/steps.h", "layout/access.h") for every source and header, without tests."""
    for source in sorted(CORE.glob("*/**/*")):
        if source.suffix not in (".h", ".cc") or TEST_SOURCE.search(source.name) or CORE / "testing" in source.parents:
            continue
        for included in re.findall(r'^#include "([a-z_]+/[a-z_0-9/]+\.h)"', source.read_text(), re.MULTILINE):
            yield str(source.relative_to(CORE)), included


def folder(path: str) -> str:
    return path.split("/", maxsplit=1)[0]


def reached(start: str, graph: Graph) -> set[str]:
    """Return all that is included, directly or indirectly."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph.get(waiting.pop(), set()) - seen
        seen |= new
        waiting += new
    return seen


def test_no_folder_of_the_core_includes_one_that_includes_it() -> None:
    graph: Graph = {path.name: set() for path in CORE.iterdir() if path.is_dir()}
    for source, included in includes():
        graph[folder(source)] |= {folder(included)} - {folder(source)}
    assert len(graph) > 10
    assert sum(map(len, graph.values())) > 20
    assert cycles(graph) == set()


def test_what_is_pure_knows_of_a_store_no_more_than_data() -> None:
    graph: Graph = {}
    for source, included in includes():
        graph.setdefault(source, set()).add(included)
    for source in graph:
        if folder(source) in PURE:
            of_store = {one for one in reached(source, graph) if folder(one) in ("store", "comm", "throttle", "model")}
            assert of_store <= (PLAN_OF_STORE if folder(source) == "plan" else set()), source


# ---- The package -----------------------------------------------------------------------------------------------------


TOP_ENTRIES_MAX = 23
NO_ENTRIES = {"__init__.py", "_public.py", "_moved.py", "__pycache__", "_core.pyi", "_mpi.pyi", "py.typed"}


def test_the_top_of_the_package_has_few_entries() -> None:
    entries = sorted({path.name for path in PACKAGE.iterdir() if path.suffix != ".so"} - NO_ENTRIES)
    assert len(entries) <= TOP_ENTRIES_MAX, entries


def test_no_module_imports_one_that_imports_it() -> None:
    graph = imported_modules(types_too=False)
    assert len(graph) > 80
    assert sum(map(len, graph.values())) > 300
    assert cycles(graph) == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import swath.errors as e", ["swath.errors"]),
        ("def f():\n    from swath.errors import Error", ["swath.errors.Error"]),
        ("if TYPE_CHECKING:\n    from swath import array\nelse:\n    from swath import space", ["swath.space"]),
        ("from . import plan\nfrom .formats import npy", ["swath.a.plan", "swath.a.formats.npy"]),
        ("from .. import plan\nfrom ..formats import npy", ["swath.plan", "swath.formats.npy"]),
        ("try:\n    from swath import mpi\nexcept ImportError:\n    pass", ["swath.mpi"]),
    ],
)
def test_imports_are_found_wherever_they_are(text: str, expected: list[str]) -> None:
    assert list(imports_of(text, "swath.a", types_too=False)) == expected


# ---- What `import swath` loads ---------------------------------------------------------------------------------------


def in_a_new_process(program: str) -> str:
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_importing_swath_alone_loads_no_other_module_of_it_and_no_numpy() -> None:
    program = "import sys, swath; print(sorted(m for m in sys.modules if m.partition('.')[0] in ('swath', 'numpy')))"
    assert in_a_new_process(program) == "['swath']\n"


def test_public_names_are_there_however_they_are_asked_for() -> None:
    assert set(swath.__all__) <= set(dir(swath))
    names = sorted(name for name in swath.__all__ if getattr(swath, name) is not None)
    star = "from swath import *; print(sorted(name for name in dir() if not name.startswith('_')))"
    listed = "import swath; print(sorted(name for name in swath.__all__ if name in dir(swath)))"
    assert in_a_new_process(star) == in_a_new_process(listed) == f"{names}\n"
    assert in_a_new_process("from swath import open; print(open.__module__)") == "swath.array.opening\n"


def test_modules_that_are_loaded_with_the_public_names_are_attributes_before() -> None:
    program = (
        "import sys, swath; swath.open; print(sorted({m.split('.')[1] for m in sys.modules if m[:6] == 'swath.'}))"
    )
    loaded = {name for name in ast.literal_eval(in_a_new_process(program)) if not name.startswith("_")}
    assert loaded == set(swath._MODULES)
    for module in swath._MODULES:
        assert in_a_new_process(f"import swath; print(swath.{module}.__name__)") == f"swath.{module}\n"


def test_a_name_that_swath_has_not_is_an_attribute_error_that_says_so() -> None:
    for name in ("opne", "__nothing__"):
        with pytest.raises(AttributeError, match=f"module 'swath' has no attribute '{name}'"):
            getattr(swath, name)
        assert not hasattr(swath, name)


def test_arrays_can_be_pickled_by_a_process_that_only_opened_them(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(6))
    path = str(tmp_path / "a.npy")
    program = f"import pickle, swath; print(pickle.loads(pickle.dumps(swath.open({path!r})))[4])"
    assert in_a_new_process(program) == "4\n"
    sent = f"import pickle, sys; a = pickle.loads({pickle.dumps(swath.open(path))!r}); print(len(pickle.dumps(a)) > 0)"
    assert in_a_new_process(sent) == "True\n"


def test_arrays_that_a_process_has_only_unpickled_can_be_converted(tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    np.save(tmp_path / "a.npy", np.arange(6))
    with swath.open(tmp_path / "a.npy") as a:
        program = f"import pickle, sys; a = pickle.loads({pickle.dumps(a)!r}); print(a.to_xarray().values.tolist())"
    in_process = f"{program}; print('swath._public' in sys.modules)"
    assert in_a_new_process(in_process) == "[0, 1, 2, 3, 4, 5]\nFalse\n"


# ---- Questions of a newcomer -----------------------------------------------------------------------------------------


ANSWERED = {
    "Where does a read become system calls?": {"core/store/posix/engine.cc", "core/store/uring/engine.cc"},
    "Where is a new format added?": {"core/formats/all.cc"},
    "What is left after a kill, and who takes it back?": {
        "core/journal/take_back.cc",
        "core/store/atomic_file.cc",
        "python/swath/copying/journal.py",
        "python/swath/fft/job.py",
    },
}


def test_each_question_of_the_architecture_is_answered_by_one_grep() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    asked = re.findall(r"^- \*\*(.+\?)\*\*.*\n\n  ```\n  (grep .+)\n  ```$", text, re.MULTILINE)
    assert [question for question, _ in asked] == list(ANSWERED)
    for question, grep in asked:
        found = subprocess.run(grep, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
        lines = [line for line in found.stdout.splitlines() if not line.startswith("Binary")]
        assert 0 < len(lines) < 20, (question, found)
        assert {line.partition(":")[0] for line in lines} >= ANSWERED[question]


# ---- One read --------------------------------------------------------------------------------------------------------

MODULES_OF_A_READ_MAX = 3


class Trail:
    """The modules of the package that a call passes through."""

    def __init__(self) -> None:
        self.modules: set[str] = set()

    def of(self, call: Callable[[], Any]) -> Any:
        sys.setprofile(self._see)  # of this thread alone
        try:
            return call()
        finally:
            sys.setprofile(None)

    def _see(self, frame: FrameType, event: str, _argument: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("swath."):
            self.modules.add(module)


@pytest.fixture
def counted_requests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every object that makes a request, by its class or from another request, appends its direction."""
    made: list[str] = []
    request = open_array.Request

    class Counted(request):  # type: ignore[misc, valid-type]
        def __new__(cls, *arguments: Any, **named: Any) -> Any:
            made.append(arguments[0])
            return super().__new__(cls, *arguments, **named)

        @classmethod
        def _make(cls, fields: Iterable[Any]) -> Any:
            return cls(*fields)

    monkeypatch.setattr(open_array, "Request", Counted)
    return made


def test_a_collective_read_passes_through_three_modules_and_one_record(
    tmp_path: Path, counted_requests: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "shown", False)  # as commands that other tests have called leave it, or not
    values = np.arange(120, dtype="<i4").reshape(12, 10)
    values.tofile(tmp_path / "a.raw")
    rows = swath.Distribution((swath.Block(), swath.Whole()), grid=(2, 1))

    def work(comm: Any) -> list[set[str]]:
        with swath.open(tmp_path / "a.raw", shape=(12, 10), dtype="<i4", comm=comm) as a:
            trails = [Trail(), Trail()]
            for trail in trails:
                part = trail.of(lambda: a.read(rows))
                np.testing.assert_array_equal(part, values[6 * comm.rank : 6 * comm.rank + 6])
            return [trail.modules for trail in trails]

    for first, second in run_ranks(2, work):
        for modules in (first, second):
            assert "swath.array.open_array" in modules
            assert len(modules) <= MODULES_OF_A_READ_MAX, modules
    assert counted_requests == ["read"] * 4  # two reads of two ranks


# ---- One place that touches the user's files -------------------------------------------------------------------------

MOVES_FILES = re.compile(
    r"(?<!\w)::(open|rename|unlink|truncate)\(|(?<!\w)(::)?(openat|fopen|preadv?2?|pwritev?2?|renameat2?|linkat)\(|fstream"
)
OWN_FILES = {
    "base/shared_memory.cc": "memory that processes share",
    "calibrate/small_reads.cc": "what the core is compared with",
    "trace/trace.cc": "how the process was started: /proc/self/cmdline",
}


def test_nothing_but_the_store_opens_reads_writes_or_renames_files() -> None:
    found = set()
    for source in [*CORE.glob("*/**/*.cc"), *CORE.glob("*/**/*.h"), *(ROOT / "python" / "bindings").glob("*.cc")]:
        name = str(source.relative_to(CORE if CORE in source.parents else ROOT))
        if folder(name) in ("store", "testing") or TEST_SOURCE.search(name):
            continue
        if any(MOVES_FILES.search(line.partition("//")[0]) for line in source.read_text().splitlines()):
            found.add(name)
    assert found == set(OWN_FILES)
