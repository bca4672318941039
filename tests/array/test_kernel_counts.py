"""Every method's counters equal the requests and bytes that the kernel saw, and those of the plan: no tolerance.

The kernel's numbers come from strace, from a preloaded counter (both for the posix engine), and from the tracepoints of
io_uring.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import swath
from cases import make_file
from count_cases import COUNTED, METHODS, NoMarks, Record, cases, execute
from tree import HELPERS, PROGRAMS

TRACED = "pread64,pwrite64,preadv,pwritev,preadv2,pwritev2"
TRACING = Path("/sys/kernel/tracing")

Seen = dict[int, dict[str, int]]
"""The numbers of each operation: read_requests, write_requests, read_bytes, written_bytes."""
Event = tuple[str, int, str]
"""One call: "r" or "w", its result, the path."""


def run_cases(
    folder: Path, seeds: range, engine: str = "posix", before: tuple[str, ...] = (), **environment: str
) -> list[Record]:
    """Run count_cases.py, perhaps under a tracer."""
    command = [*before, sys.executable, str(HELPERS / "count_cases.py"), str(folder), engine, *map(str, seeds)]
    here = {"PYTHONPATH": os.pathsep.join([str(HELPERS), *sys.path])}
    ended = subprocess.run(
        command, env={**os.environ, **here, **environment}, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return list(json.loads(ended.stdout))


def seen_by_operation(events: Iterator[Event], folder: Path) -> Seen:
    """Add up the calls on the data files between the marks of each operation."""
    seen: Seen = {}
    operation: int | None = None
    data = os.path.realpath(folder) + "/data-"
    for direction, result, path in events:
        name = os.path.basename(path)
        if name.startswith("begin-"):
            operation = int(name.removeprefix("begin-"))
            seen[operation] = dict.fromkeys(("read_requests", "write_requests", "read_bytes", "written_bytes"), 0)
        elif name.startswith("end-"):
            operation = None
        elif operation is not None and path.startswith(data):
            seen[operation]["read_requests" if direction == "r" else "write_requests"] += 1
            seen[operation]["read_bytes" if direction == "r" else "written_bytes"] += max(result, 0)
    return seen


def check_seen(records: list[Record], seen: Seen) -> None:
    """The sum of all ranks' counters equals the traced numbers, for every operation."""
    counted: Seen = defaultdict(lambda: defaultdict(int))
    what = {}
    for record in records:
        what[record["operation"]] = record["what"]
        for name in ("read_requests", "write_requests", "read_bytes", "written_bytes"):
            counted[record["operation"]][name] += record["counters"][name]
    assert seen.keys() == counted.keys()
    for operation, names in counted.items():
        assert seen[operation] == dict(names), what[operation]
    moved = {name: sum(of_one[name] for of_one in seen.values()) for name in ("read_bytes", "written_bytes")}
    assert min(moved.values()) > 10_000, moved


# ---- strace ----------------------------------------------------------------------------------------------------------


def strace_events(log: str) -> Iterator[Event]:
    """The calls of an strace log with -f and -y, when they end."""
    begun: dict[str, tuple[str, str]] = {}
    for line in log.splitlines():
        thread, _, rest = line.partition(" ")
        if call := re.match(r"\s*(p(?:read|write)\w*)\(\d+<([^>]*)>", rest):
            begun[thread] = (call[1], call[2])
        # strace shows calls that are younger than itself in any case.
        if thread in begun and (result := re.search(r"\) += (-?\d+)", rest)):
            name, path = begun.pop(thread)
            yield ("r" if name.startswith("pread") else "w", int(result[1]), path)


def test_an_interrupted_line_of_strace_is_one_call() -> None:
    log = (
        "12 pread64(5</d/a>,  <unfinished ...>\n"
        '13 pwritev(6</d/b>, [{iov_base=""..., iov_len=8}, {iov_base=""..., iov_len=8}], 2, 96) = 16\n'
        '12 <... pread64 resumed>""..., 64, 128) = 64\n'
        '12 pread64(5</d/a>, ""..., 64, 128)      = -1 EIO (Input/output error)\n'
        "12 syscall_0x1c3(0x3, 0x7f0b46bfe1c0, 0x7f0b46bfe1d0, 0, 0, 0x101) = 0\n"
        "12 +++ exited with 0 +++\n"
    )
    assert list(strace_events(log)) == [("w", 16, "/d/b"), ("r", 64, "/d/a"), ("r", -1, "/d/a")]


def check_with_strace(folder: Path, seeds: range) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    if subprocess.run([strace, "-o", os.devnull, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("ptrace is refused here")
    log = folder / "strace.log"
    traced = (strace, "-f", "-y", "-s", "0", "-e", f"trace={TRACED}", "-e", "signal=none", "-o", str(log))
    # Without seccomp the tracer stops at every system call of the interpreter, too.
    records = run_cases(folder, seeds, before=(*traced, "--seccomp-bpf"))
    check_seen(records, seen_by_operation(strace_events(log.read_text()), folder))


def test_strace_counts_what_the_posix_counters_say(tmp_path: Path) -> None:
    check_with_strace(tmp_path, range(3))


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
def test_strace_counts_what_the_posix_counters_say_of_many_requests(tmp_path: Path) -> None:
    check_with_strace(tmp_path, range(100, 130))


# ---- a preloaded counter ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def preload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled tests/programs/preload/count_io.c."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    if sys.maxsize < 2**63 - 1:
        pytest.skip("count_io.c is for 64-bit machines")
    library = tmp_path_factory.mktemp("preload") / "count_io.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", library, PROGRAMS / "preload" / "count_io.c", "-ldl"], check=True
    )
    return library


def preload_events(log: Path) -> Iterator[Event]:
    for line in log.read_text().splitlines():
        direction, result, path = line.split(" ", 2)
        yield direction, int(result), path


def check_with_preload(folder: Path, library: Path, seeds: range) -> None:
    log = folder / "preload.log"
    records = run_cases(folder, seeds, LD_PRELOAD=str(library), SWATH_COUNT_LOG=str(log))
    check_seen(records, seen_by_operation(preload_events(log), folder))


def test_a_preloaded_counter_counts_what_the_posix_counters_say(tmp_path: Path, preload: Path) -> None:
    check_with_preload(tmp_path, preload, range(3, 8))


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
def test_a_preloaded_counter_counts_what_the_posix_counters_say_of_many_requests(tmp_path: Path, preload: Path) -> None:
    check_with_preload(tmp_path, preload, range(200, 300))


# ---- io_uring --------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def tracing_instance() -> Iterator[Path]:
    """Make a trace buffer with the io_uring events enabled."""
    instance = TRACING / "instances" / f"swath-{os.getpid()}"
    try:
        if not (TRACING / "instances").is_dir():
            pytest.skip("no tracefs here (root: mount -t tracefs none /sys/kernel/tracing)")
        instance.mkdir()
    except OSError as error:
        pytest.skip(f"tracing is refused here: {error}")
    try:
        if not (instance / "events/io_uring/io_uring_submit_req").is_dir():
            pytest.skip("this kernel has no io_uring tracepoints")
        (instance / "buffer_size_kb").write_text("16384")
        (instance / "options/record-tgid").write_text("1")
        for event in ("io_uring_submit_req", "io_uring_complete"):
            (instance / "events/io_uring" / event / "enable").write_text("1")
        yield instance
    finally:
        with contextlib.suppress(OSError):
            instance.rmdir()


TRACE_LINE = re.compile(r"^.{16}-(?P<thread>\d+)\s+\(\s*(?P<process>[\d-]+)\) .*?: (?P<event>\w+): (?P<rest>.*)$")
SUBMITTED = re.compile(r"ring (?P<ring>\w+), .*user_data (?P<data>0x\w+), opcode (?P<opcode>\w+),")
COMPLETED = re.compile(r"ring (?P<ring>\w+), .*user_data (?P<data>0x\w+), result (?P<result>-?\d+),")


def uring_events(trace: str, data: str) -> Iterator[Event]:
    """Yield marks, and completed requests of the rings of the marking process."""
    lines = [found for line in trace.splitlines() if (found := TRACE_LINE.match(line))]
    ours = {line["process"] for line in lines if line["event"] == "tracing_mark_write"}
    begun: dict[tuple[str, str], str] = {}
    for line in lines:
        if line["event"] == "tracing_mark_write":
            yield "w", 0, line["rest"].strip()
        elif line["event"] == "io_uring_submit_req" and line["process"] in ours:
            submitted = SUBMITTED.match(line["rest"])
            assert submitted is not None, line["rest"]
            begun[submitted["ring"], submitted["data"]] = submitted["opcode"]
        elif line["event"] == "io_uring_complete":
            completed = COMPLETED.match(line["rest"])
            assert completed is not None, line["rest"]
            opcode = begun.pop((completed["ring"], completed["data"]), None)
            if opcode is not None:  # else another process's
                assert opcode in ("READ", "READV", "WRITE", "WRITEV")
                yield "r" if opcode.startswith("READ") else "w", int(completed["result"]), data
    assert not begun


def check_with_tracepoints(folder: Path, seeds: range) -> None:
    (folder / "asked").write_bytes(bytes(8))
    with swath.open(folder / "asked", shape=8, dtype="u1", engine="uring") as a:
        if a.engine != "uring":
            pytest.skip(f"no io_uring here: {a.engine_reason}")
    with tracing_instance() as instance:
        records = run_cases(folder, seeds, "uring", TRACING=str(instance))
        (instance / "tracing_on").write_text("0")
        lost = sum(
            int(re.search(r"overrun: (\d+)", (cpu / "stats").read_text())[1])  # type: ignore[index]
            for cpu in (instance / "per_cpu").iterdir()
        )
        assert lost == 0
        trace = (instance / "trace").read_text()
    check_seen(records, seen_by_operation(uring_events(trace, f"{os.path.realpath(folder)}/data-"), folder))


def test_tracepoints_count_what_the_uring_counters_say(tmp_path: Path) -> None:
    check_with_tracepoints(tmp_path, range(8, 13))


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
def test_tracepoints_count_what_the_uring_counters_say_of_many_requests(tmp_path: Path) -> None:
    check_with_tracepoints(tmp_path, range(300, 360))


# ---- plans -----------------------------------------------------------------------------------------------------------


def check_plans(folder: Path, seeds: range) -> None:
    exact = dict.fromkeys(METHODS, 0)
    for place, case in enumerate(cases(list(seeds))):
        inside = folder / f"{place}"
        inside.mkdir()
        for record in execute(case, make_file(case, inside), "posix", NoMarks(), 0):
            plan, counters = record["plan"], record["counters"]
            assert counters["buffer_bytes"] <= plan["buffer_bytes"] or record["scattered"], record["what"]
            # Plans assume packed memory: these two methods make other requests for scattered memory.
            if plan["exact"] and not (record["scattered"] and record["method"] in ("direct", "list")):
                exact[record["method"]] += 1
                assert {name: plan[name] for name in COUNTED[:-1]} == {name: counters[name] for name in COUNTED[:-1]}, (
                    record["what"]
                )
        shutil.rmtree(inside)
    assert min(exact.values()) > 4 * len(seeds), exact


def test_an_exact_plan_is_what_happens(tmp_path: Path) -> None:
    check_plans(tmp_path, range(1000, 1025))


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_an_exact_plan_is_what_happens_to_many_requests(tmp_path: Path) -> None:
    check_plans(tmp_path, range(2000, 2600))
