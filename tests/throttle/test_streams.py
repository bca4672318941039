"""The number of streams of a target: settings, tokens of threads, processes and nodes, learned numbers."""

import json
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import swath
from kernels import needs_cachestat
from mpi_runs import run_well
from swath import _core, simulated
from swath.base.stream_settings import AUTO, Settings, settings_for
from swath.store import page_cache, profile
from swath.throttle import learned_streams, throttle

ELEMENTS = 1 << 20  # 8 MiB of doubles


pytestmark = pytest.mark.usefixtures("own_tokens")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith("SWATH_STREAMS"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.raw"
    np.arange(ELEMENTS, dtype="f8").tofile(path)
    return str(path)


def opened(path, **options):
    return swath.open(path, shape=ELEMENTS, dtype="f8", **options)


def in_threads(count, work):
    """Return the results of `work(i)` in this many threads, which begin together."""
    results = [None] * count
    start = threading.Barrier(count)

    def run(i):
        start.wait()
        results[i] = work(i)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


# ------------------------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("streams", "reads", "writes"),
    [
        ("auto", AUTO, None),
        (None, None, None),
        ("none", None, None),
        (4, 4, None),
        ("4", 4, None),
        ({"read": 2, "write": "auto"}, 2, AUTO),
        ("read=none,write=3", None, 3),
        ({"write": 1}, AUTO, 1),
    ],
)
def test_streams_are_told_in_many_ways(streams, reads, writes):
    settings = settings_for(streams)
    assert (settings.reads, settings.writes) == (reads, writes)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "many", {"red": 1}, [4]])
def test_streams_that_cannot_be_are_an_error_that_tells_what_can(wrong, file):
    with pytest.raises(swath.ArgumentError, match="expected"):
        opened(file, streams=wrong)


def test_the_argument_goes_before_the_environment_which_goes_before_the_file(monkeypatch, tmp_path):
    assert settings_for() == Settings()
    folder = tmp_path / "config" / "swath"
    folder.mkdir(parents=True)
    (folder / "swath.ini").write_text(
        "[streams]\nstreams = none ; no limits\nscope = user\nburst = 8MiB\ntarget = scratch\n"
    )
    assert settings_for() == Settings(None, None, "user", "scratch", 8 << 20)
    monkeypatch.setenv("SWATH_STREAMS", "3")
    monkeypatch.setenv("SWATH_STREAMS_SCOPE", "job")
    assert settings_for() == Settings(3, None, "job", "scratch", 8 << 20)
    assert settings_for("auto").reads == AUTO


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[streams]\nstreems = 1\n", "streems is not known; expected streams, scope, target, burst"),
        ("[streams]\nscope = world\n", 'scope \'world\'; expected "job" or "user"'),
        ("[streams]\nburst = big\n", "burst 'big'; expected bytes, as in 4MiB"),
        ("streams = 1\n", "no section headers"),
    ],
)
def test_a_wrong_file_of_settings_is_an_error_that_names_it(tmp_path, text, message):
    folder = tmp_path / "config" / "swath"
    folder.mkdir(parents=True)
    (folder / "swath.ini").write_text(text)
    with pytest.raises(swath.ArgumentError, match=r"swath\.ini") as raised:
        settings_for()
    assert message in str(raised.value)


def test_it_can_be_switched_off_by_argument_environment_and_file(monkeypatch, tmp_path, file):
    with opened(file, streams=None) as a:
        assert a.streams is None
    monkeypatch.setenv("SWATH_STREAMS", "none")
    with opened(file) as a:
        assert a.streams is None
    assert throttle.trace(file) == []
    monkeypatch.delenv("SWATH_STREAMS")
    with opened(file) as a:
        assert a.streams is not None


def test_files_of_one_disk_have_one_target(file, tmp_path):
    assert throttle.target_of(file) == throttle.target_of(str(tmp_path / "not there yet.raw"))
    assert throttle.target_of("/dev/shm") != throttle.target_of(file)
    assert throttle.target_of(file, "model:ssd@fast") == "model:fast"


# ------------------------------------------------------------------------------------------------------- tokens


def test_cold_reads_of_several_streams_take_tokens_and_get_the_right_bytes(file):
    page_cache.evict(file)
    if page_cache.cached_fraction(file) > 0:
        pytest.skip("the kernel keeps this file in the page cache")

    def read(i):
        with opened(file, streams=1) as a:
            held.wait()  # all have it open
            values = a[i * ELEMENTS // 4 : (i + 1) * ELEMENTS // 4]
            held.wait()
            status = a.streams
            held.wait()  # until all have seen all
            return values, status

    held = threading.Barrier(4)
    parts, statuses = zip(*in_threads(4, read), strict=True)
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(ELEMENTS))
    status = statuses[0]
    assert status.streams == 4
    assert status.reads.grants >= 1
    assert status.reads.active == status.reads.waiting == 0


@pytest.mark.parametrize("distribution", [swath.Block(), swath.Cyclic(1000)])
@pytest.mark.parametrize("method", ["direct", "sieve", "list", "two-phase"])
def test_every_method_gives_its_token_back(file, method, distribution):
    """On a disk that is never cached, one stream at a time, on one node and on two."""

    def work(comm):
        with opened(file, comm=comm, streams={"read": 1, "write": 1}, engine="posix") as a:
            mine = a.read(swath.Distribution((distribution,), (4,)), method=method)
            return mine, a.streams

    page_cache.evict(file)
    for nodes in (1, 2):
        parts = simulated.run_ranks(4, work, nodes=nodes)
        assert sum(len(part) for part, _ in parts) == ELEMENTS
        assert sum(part.sum() for part, _ in parts) == np.arange(ELEMENTS, dtype="f8").sum()
        for _, status in parts:
            assert status.reads.active == status.reads.waiting == 0


@needs_cachestat
def test_what_the_page_cache_serves_takes_no_token_and_teaches_nothing(file):
    np.fromfile(file)  # warm

    def read(_):
        with opened(file) as a:
            for _ in range(20):
                a[:]
            return a.streams

    for status in in_threads(4, read):
        assert status.reads.grants == 0
        assert status.reads.patterns == []
        assert status.decisions == []


def test_one_stream_alone_takes_no_token(file):
    page_cache.evict(file)
    with opened(file, streams=1) as a:
        a[:]
        assert a.streams.reads.grants == 0
        assert a.counters.token_waits == 0


def test_counters_tell_how_long_a_stream_waited_for_its_turn(file):
    page_cache.evict(file)
    if page_cache.cached_fraction(file) > 0:
        pytest.skip("the kernel keeps this file in the page cache")
    with opened(file, streams=1) as a:
        tokens, _ = _core.node_tokens(a.streams.scope, a.streams.target)
        tokens.enter()
        grant = tokens.acquire(False, 1 << 20, 1)
        threading.Timer(0.3, lambda: tokens.give_back(grant, 0, False)).start()
        np.testing.assert_array_equal(a[:100], np.arange(100))
        tokens.leave()
        assert a.counters.token_waits == 1
        assert 0.2 < a.counters.token_seconds < 5
        assert a.counters.token_seconds <= a.counters.total_seconds


# --------------------------------------------------------------------------------------------- swath.stream


def test_a_block_of_anybodys_reading_is_a_stream(file):
    page_cache.evict(file)
    with opened(file, streams=1) as a:
        with swath.stream(file, streams=1):
            status = a.streams
            assert status.streams == 2
            assert status.reads.active in (0, 1)  # none where the kernel has kept the file
            values = np.fromfile(file)
        after = a.streams
    assert after.streams == 1
    assert after.reads.active == 0
    np.testing.assert_array_equal(values, np.arange(ELEMENTS))


def test_blocks_of_several_threads_take_turns(tmp_path):
    """For a folder, the page cache is not checked: every block takes a token."""
    inside = []
    most = []

    @swath.stream(tmp_path, streams=2)
    def work(i):
        inside.append(i)
        most.append(len(inside))
        time.sleep(0.02)
        inside.remove(i)

    in_threads(6, work)
    assert max(most) <= 2
    assert len(most) == 6


def test_a_block_that_raises_gives_its_token_back(tmp_path):
    with pytest.raises(ZeroDivisionError), swath.stream(tmp_path, streams=1):
        1 / 0  # noqa: B018
    with swath.stream(tmp_path, streams=1):
        pass


def test_writing_blocks_are_throttled_only_where_asked(tmp_path):
    with swath.stream(tmp_path, "write") as block:
        assert block._throttle is None
    with swath.stream(tmp_path, "write", streams={"write": 1}) as block:
        assert block._throttle is not None
    with pytest.raises(swath.ArgumentError, match='expected "read" or "write"'):
        swath.stream(tmp_path, "append")


OTHER_PROGRAM = """
import sys, time, swath
with swath.stream(sys.argv[1], streams=1):
    print("in", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize(("scope", "shares"), [("user", True), ("job", False)])
def test_programs_share_tokens_when_asked(tmp_path, monkeypatch, scope, shares):
    monkeypatch.setenv("SWATH_STREAMS_SCOPE", scope)
    monkeypatch.setenv("SWATH_STREAMS_TARGET", f"test {os.getpid()} {scope}")
    program = [sys.executable, "-c", OTHER_PROGRAM, str(tmp_path)]
    other = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout.readline() == "in\n"
        shown = [status for status in throttle.status() if status.target == f"test {os.getpid()} {scope}"]
        assert [status.reads.active for status in shown] == [1]
        threading.Timer(0.3, lambda: other.communicate("\n")).start()
        begin = time.monotonic()
        with swath.stream(tmp_path, streams=1):
            waited = time.monotonic() - begin
        assert (waited > 0.2) == shares
    finally:
        other.kill()
        other.wait()


def test_nodes_share_the_tokens_of_a_target_that_all_of_them_see(file):
    environment = {"SWATH_NODES": "2", "SWATH_STREAMS_TARGET": f"server {os.getpid()}"}
    assert "all right" in run_well(4, "stream_ranks.py", file, environment=environment)


# ------------------------------------------------------------------------------------------------------- memory


def test_what_was_learned_is_remembered_with_the_store(file, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SWATH_PROFILE", raising=False)
    with opened(file) as a:
        a._stored.file.throttle.tokens.remember(False, "large", 2, 50e6, 8.0)
        target = a.streams.target
    kept = json.loads(next((tmp_path / "cache" / "swath" / "streams").iterdir()).read_text())
    assert kept["targets"][target]["read/large"] == {"limit": 2, "rate": 50e6, "unlimited_streams": 8.0}
    with opened(file) as a:
        (pattern,) = a.streams.reads.patterns
        assert (pattern.requests, pattern.limit, pattern.holding, pattern.rate) == ("large", 2, True, 50e6)


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"version": 99}', '{"version": 1, "targets": {"x": 3}}'])
def test_a_damaged_memory_is_no_error(file, monkeypatch, tmp_path, damage):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SWATH_PROFILE", raising=False)
    kept = learned_streams._file_of(file)
    os.makedirs(os.path.dirname(kept))
    with open(kept, "w") as damaged:
        damaged.write(damage)
    with opened(file) as a:
        assert a.streams.reads.patterns == []
        np.testing.assert_array_equal(a[:10], np.arange(10))


def test_nothing_is_remembered_where_profiles_are_off(file, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(profile.VARIABLE, "none")
    with opened(file) as a:
        a._stored.file.throttle.tokens.remember(False, "large", 2, 50e6, 8.0)
    assert not (tmp_path / "cache").exists()


# --------------------------------------------------------------------------------------------- swath throttle


def test_the_command_shows_what_is_throttled_now(file):
    command = [sys.executable, "-m", "swath.commands.cli", "throttle", "status"]
    with opened(file, streams=3) as a:
        a._stored.file.throttle.tokens.remember(False, "large", 2, 50e6, 8.0)
        target, scope = a.streams.target, a.streams.scope
        tokens = a._stored.file.throttle.tokens
        grant = tokens.acquire(False, 4 << 20, 0)
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        plain = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout)
        tokens.give_back(grant, 0, False)
    assert f"{target}: 1 streams ({scope}" in shown
    assert "reads" in shown
    mine = [status for status in plain if status["scope"] == scope]
    assert len(mine) == 1
    assert mine[0]["reads"]["active"] == 1
    assert mine[0]["reads"]["patterns"][0]["limit"] == 2
