"""Small files of the user's own, with something else in their place."""

import json
import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest

import swath
from swath.base import own_files
from swath.base.stream_settings import settings_for
from swath.errors import ArgumentError
from swath.store import profile
from swath.throttle import learned_streams

pytestmark = pytest.mark.usefixtures("own_tokens")


@pytest.fixture(autouse=True)
def _ends_in_time(monkeypatch, tmp_path):
    """A wait for the other end of a pipe is a failure."""

    def end(*_):
        pytest.fail("still reading after 20 s")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, 20, 1)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(profile.VARIABLE, raising=False)
    for name in list(os.environ):
        if name.startswith("SWATH_STREAMS"):
            monkeypatch.delenv(name)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def pipe(path):
    os.mkfifo(path)


def link_to_device(path):
    path.symlink_to("/dev/null")


def folder(path):
    path.mkdir()


def large(path):
    path.touch()
    os.truncate(path, own_files.BYTES_MAX + 1)


IN_PLACE_OF_A_FILE = [pipe, link_to_device, folder, large]
WRONG = "it is no plain file|it is larger than 4 MiB|Is a directory"

DEEP = "[" * 100_000
BAD_JSON = {
    "deep": DEEP,
    "deep but readable": "[" * 50 + "]" * 50,
    "deep object": '{"a":' * 50 + "1" + "}" * 50,
    "Infinity": '{"version": Infinity}',
    "NaN": "[NaN]",
    "infinite": "[1e999]",
    "many digits": f"[{'9' * 10_000}]",
    "64 bits and one": f"[{2**63}]",
    "not UTF-8": "\xff",
    "cut short": '{"version"',
}


@pytest.mark.parametrize("make", IN_PLACE_OF_A_FILE)
def test_what_is_no_plain_file_is_not_read(tmp_path, make):
    make(tmp_path / "file")
    with pytest.raises(OSError, match=WRONG) as raised:
        own_files.read_text(str(tmp_path / "file"))
    assert raised.value.filename == str(tmp_path / "file")


def test_a_link_to_a_plain_file_is_read(tmp_path):
    (tmp_path / "file").write_text('{"ä": [1, 2.5, null, true]}', encoding="utf-8")
    (tmp_path / "link").symlink_to("file")
    assert own_files.read_json(str(tmp_path / "link")) == {"ä": [1, 2.5, None, True]}


@pytest.mark.parametrize("text", BAD_JSON.values(), ids=BAD_JSON)
def test_json_that_could_do_harm_is_a_value_error(tmp_path, text):
    (tmp_path / "file").write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=r"."):
        own_files.read_json(str(tmp_path / "file"))


def test_whole_numbers_of_64_bits_and_some_depth_are_read(tmp_path):
    (tmp_path / "file").write_text(f"[{2**63 - 1}, {-(2**63) + 1}, {'[' * 14}{']' * 14}]")
    assert own_files.read_json(str(tmp_path / "file"))[:2] == [2**63 - 1, -(2**63) + 1]


def test_replacing_a_file_replaces_a_link_and_does_not_follow_it(tmp_path):
    (tmp_path / "other").write_text("other")
    (tmp_path / "link").symlink_to("other")
    own_files.replace(str(tmp_path / "link"), "mine")
    assert (tmp_path / "other").read_text() == "other"
    assert (tmp_path / "link").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "other"]


# ------------------------------------------------------------------------------------------------------- profiles


@pytest.mark.parametrize("make", IN_PLACE_OF_A_FILE)
def test_a_profile_that_is_no_plain_file_is_ignored_with_the_reason(tmp_path, make):
    kept = Path(profile.file_of(profile.store_of(tmp_path)))
    kept.parent.mkdir(parents=True)
    make(kept)
    found = profile.find(tmp_path)
    assert found.profile is None
    assert re.match(f"ignored: {kept}: ({WRONG})", found.reason)


@pytest.mark.parametrize("make", IN_PLACE_OF_A_FILE)
def test_a_named_profile_that_is_no_plain_file_is_an_error(monkeypatch, tmp_path, make):
    make(tmp_path / "file")
    monkeypatch.setenv(profile.VARIABLE, str(tmp_path / "file"))
    with pytest.raises(ArgumentError, match=f"SWATH_PROFILE=.*file: ({WRONG})"):
        profile.for_path(tmp_path)


@pytest.mark.parametrize("text", BAD_JSON.values(), ids=BAD_JSON)
def test_a_profile_of_bad_json_is_ignored(tmp_path, text):
    kept = Path(profile.file_of(profile.store_of(tmp_path)))
    kept.parent.mkdir(parents=True)
    kept.write_text(text, encoding="latin-1")
    assert profile.find(tmp_path).reason.startswith("ignored: ")


# ------------------------------------------------------------------------------------------------------- streams


@pytest.fixture
def raw(tmp_path):
    np.arange(1000.0).tofile(tmp_path / "a.raw")
    return str(tmp_path / "a.raw")


def opened_and_closed(path):
    """Write something to remember; return what was remembered at the open."""
    with swath.open(path, shape=1000, dtype="f8") as a:
        patterns = a.streams.reads.patterns
        np.testing.assert_array_equal(a[:10], np.arange(10))
        a._stored.file.throttle.tokens.remember(False, "large", 2, 50e6, 8.0)
    return patterns


@pytest.mark.parametrize("make", IN_PLACE_OF_A_FILE)
def test_a_memory_of_streams_that_is_no_plain_file_is_no_error(raw, make):
    kept = Path(learned_streams._file_of(raw))
    kept.parent.mkdir(parents=True)
    make(kept)
    assert opened_and_closed(raw) == []


HELD = '{"limit": 2, "rate": 5e7, "unlimited_streams": 8.0}'
BAD_STREAMS = {
    "no limit": HELD.replace('"limit": 2, ', ""),
    "no rate": '{"limit": 2, "unlimited_streams": 8.0}',
    "an infinite limit": HELD.replace("2", "Infinity"),
    "an infinite rate": HELD.replace("5e7", "1e999"),
    "a limit of text": HELD.replace("2", '"many"'),
    "a list": "[2, 5e7, 8.0]",
    "a huge limit": HELD.replace("2", str(2**62)),
    "a negative limit": HELD.replace("2", "-1"),
    "a rate of nothing": HELD.replace("5e7", "0"),
    "null": "null",
}


@pytest.mark.parametrize("held", BAD_STREAMS.values(), ids=BAD_STREAMS)
def test_what_is_wrong_in_a_memory_of_streams_is_forgotten_and_replaced(raw, held):
    with swath.open(raw, shape=1000, dtype="f8") as a:
        target = a.streams.target
    kept = Path(learned_streams._file_of(raw))
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(f'{{"version": 1, "targets": {{"{target}": {{"read/large": {held}}}, "other": 3}}}}')
    assert opened_and_closed(raw) == []
    assert json.loads(kept.read_text())["targets"][target]["read/large"] == json.loads(HELD)


def test_what_is_right_beside_what_is_wrong_is_remembered(raw):
    with swath.open(raw, shape=1000, dtype="f8") as a:
        target = a.streams.target
    kept = Path(learned_streams._file_of(raw))
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(
        f'{{"version": 1, "targets": {{"{target}": {{"read/huge": {HELD}, "read/small": {HELD}, "read/large": 3}}}}}}'
    )
    (pattern,) = opened_and_closed(raw)
    assert (pattern.requests, pattern.limit, pattern.rate, pattern.unlimited_streams) == ("small", 2, 5e7, 8.0)


@pytest.mark.parametrize("text", BAD_JSON.values(), ids=BAD_JSON)
def test_a_memory_of_bad_json_is_forgotten_and_replaced(raw, text):
    kept = Path(learned_streams._file_of(raw))
    kept.parent.mkdir(parents=True)
    kept.write_text(text, encoding="latin-1")
    assert opened_and_closed(raw) == []
    assert json.loads(kept.read_text())["version"] == 1


# ------------------------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize("make", IN_PLACE_OF_A_FILE)
def test_settings_that_are_no_plain_file_are_an_error_that_says_so(tmp_path, make):
    (tmp_path / "config" / "swath").mkdir(parents=True)
    make(tmp_path / "config" / "swath" / "swath.ini")
    with pytest.raises(ArgumentError, match=rf"swath\.ini: ({WRONG})"):
        settings_for()


def test_settings_with_a_percent_sign_are_settings(tmp_path):
    (tmp_path / "config" / "swath").mkdir(parents=True)
    (tmp_path / "config" / "swath" / "swath.ini").write_text("[streams]\ntarget = 50%(x)s\n")
    assert settings_for().target == "50%(x)s"
