"""`swath calibrate`: page cache and device are measured separately; a profile is used only where it is valid."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from kernels import HAS_CACHESTAT, needs_cachestat
from swath import _core, calibration
from swath.calibration import Effort
from swath.calibration.file import MeasuredFile
from swath.calibration.measuring import SIZES
from swath.calibration.samples import Sample, in_turn
from swath.commands import cli
from swath.errors import ArgumentError, StoreError
from swath.ranks import mpi
from swath.simulated import run_ranks
from swath.store import page_cache, profile
from swath.store.profile import StoredProfile
from swath.store.standalone import page_cache as kernel

Capture = pytest.CaptureFixture[str]
TINY = Effort(seconds=0.2, file_bytes=8 << 20, memory_bytes=1 << 20)
DEFAULTS = _core.default_profile().to_dict()
DEVICE_CURVES = [
    name
    for name, value in DEFAULTS.items()
    if name.startswith("device.") and isinstance(value, list) and not name.endswith("_gap")  # only of modelled disks
]
SHM = "/dev/shm"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for variable in (profile.VARIABLE, "PMI_SIZE", "PMI_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> StoredProfile:
    """Return a very short calibration of the tests' store."""
    return calibration.calibrate(str(tmp_path_factory.mktemp("store")), TINY)


@pytest.fixture
def kept(measured: StoredProfile, tmp_path: Path) -> StoredProfile:
    """Return the same, saved as the profile of `tmp_path`."""
    store = profile.store_of(tmp_path)
    own = dataclasses.replace(measured, file=profile.file_of(store), store=store, corrections={}, frozen=False)
    own.save()
    return own


def claims_no_device(found: StoredProfile) -> bool:
    numbers = [value for name, value in found.numbers.items() if name.startswith("device.")]
    return all(value in ([], 0.0) for value in numbers) and not any(name.startswith("device.") for name in found.spread)


# ---- what is measured ------------------------------------------------------------------------------------------------


def test_every_number_is_measured_or_said_to_be_a_default(measured: StoredProfile) -> None:
    assert set(measured.numbers) == set(DEFAULTS)
    assert measured.numbers == measured.core.to_dict()
    not_measured = {"source", "cores", "message_seconds", "message_byte_seconds"}
    not_measured |= {name for name in DEFAULTS if name.startswith("objects.")}  # of pools
    not_measured |= {name for name in DEFAULTS if name.endswith("_gap")}  # of modelled disks
    if claims_no_device(measured):
        not_measured |= {name for name in DEFAULTS if name.startswith("device.")}
    if not HAS_CACHESTAT:
        not_measured |= {"look", "look_page_seconds"}
    assert set(measured.spread) == set(DEFAULTS) - not_measured
    assert set(measured.known) == {"cache", "device", "syncs", "copies", "barrier", "messages", "chunks"}
    assert "stated defaults" in measured.known["messages"]


def test_the_page_cache_was_measured_warm_and_says_how_that_is_known(measured: StoredProfile) -> None:
    sizes = [x for x, _ in measured.numbers["cache.read"]]
    assert sizes == list(SIZES[: len(sizes)])
    assert sizes[-1] >= 512 << 10, "also where the store was so slow that the file stayed small"
    assert "whole file was in the page cache" in measured.known["cache"]


def test_the_device_is_known_only_with_evidence(measured: StoredProfile) -> None:
    if claims_no_device(measured):
        assert measured.known["device"].startswith("unknown, no number is claimed: ")
    else:
        assert all(measured.numbers[name] for name in DEVICE_CURVES)
        assert "/proc/self/io" in measured.known["device"]


def test_it_reports_its_steps_notes_a_busy_machine_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").write_text("mine")
    monkeypatch.setattr(os, "getloadavg", lambda: (1000.0, 1000.0, 1000.0))
    reported: list[tuple[str, float]] = []
    found = calibration.calibrate(
        str(tmp_path), TINY, evict=lambda path: None, report=lambda *step: reported.append(step)
    )
    parts = [part for _, part in reported]
    assert parts == sorted(parts)
    assert parts[0] == 0
    assert reported[-1] == ("done", 1.0)
    assert any("busy (load average 1000.0" in note for note in found.notes)
    assert os.listdir(tmp_path) == ["mine"]


def test_a_sample_is_the_median_with_its_interquartile_range() -> None:
    assert Sample.of([1, 2, 3, 4, 100]) == Sample(median=3, spread=pytest.approx(2 / 3))


# ---- a warm page cache claims no device (issue 3, must show 8) -------------------------------------------------------


def test_a_file_that_stays_in_the_page_cache_claims_no_device(tmp_path: Path, capsys: Capture) -> None:
    found = calibration.calibrate(str(tmp_path), TINY, evict=lambda path: None)
    assert claims_no_device(found)
    assert found.known["device"].startswith("unknown, no number is claimed: 100% of the file stayed in the page cache")
    assert found.numbers["cache.read"] != DEFAULTS["cache.read"], "the page cache was measured all the same"
    found.save()
    assert cli.main(["calibrate", str(tmp_path), "--show"]) == 0
    shown = capsys.readouterr().out
    assert "unknown, no number is claimed: 100% of the file stayed in the page cache" in " ".join(shown.split())
    requests = len(found.numbers["cache.read"])
    assert shown.count(" unknown") >= 2 * requests, "a cell each for device read and write"
    for name in DEVICE_CURVES:
        assert found.core.to_dict()[name] == []


@pytest.mark.skipif(not os.access(SHM, os.W_OK), reason="no tmpfs to try")
def test_tmpfs_has_no_device(tmp_path: Path) -> None:
    found = calibration.calibrate(SHM, TINY)
    assert claims_no_device(found)
    assert "tmpfs may keep its files in memory" in found.known["device"]


@needs_cachestat
def test_a_file_that_another_process_holds_in_memory_claims_no_device(tmp_path: Path) -> None:
    def evict_and_read_some_back(path: str) -> None:
        page_cache.evict(path)
        with open(path, "rb") as file:
            file.read(TINY.file_bytes // 4)

    found = calibration.calibrate(str(tmp_path), TINY, evict=evict_and_read_some_back)
    assert claims_no_device(found)
    assert "of the file stayed in the page cache" in found.known["device"]


def test_reads_that_no_device_answered_claim_none_even_if_the_kernel_says_that_nothing_was_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evicted: list[str] = []
    monkeypatch.setattr(kernel, "cached_bytes", lambda fd, size: 0 if evicted else size)
    found = calibration.calibrate(str(tmp_path), TINY, evict=evicted.append)
    assert evicted
    assert claims_no_device(found)
    assert "took 0 from a device" in found.known["device"]


def test_a_kernel_that_does_not_tell_of_devices_leaves_the_device_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "device_bytes_read", lambda: None)
    found = calibration.calibrate(str(tmp_path), TINY)
    assert claims_no_device(found)
    assert "does not tell" in found.known["cache"]


def test_a_file_that_was_cut_short_for_want_of_time_is_all_that_is_measured_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = MeasuredFile.make
    monkeypatch.setattr(MeasuredFile, "make", lambda file, nbytes, _seconds: whole(file, nbytes, -1.0))
    lengths = []

    def report(step: str, done: float) -> None:
        del step, done
        lengths.extend(path.stat().st_size for path in tmp_path.glob(".swath-calibrate-*/measured.bin"))

    found = calibration.calibrate(str(tmp_path), TINY, evict=lambda path: None, report=report)
    assert "a slow store: measured with a file of 2 MiB only" in found.notes
    assert max(lengths) == 2 << 20  # no step wrote behind its end, and none read there
    assert {"cache.read", "cache.write", "memory_byte_store"} <= set(found.spread)
    assert not HAS_CACHESTAT or "look" in found.spread


def test_a_device_that_is_read_while_the_page_cache_is_measured_spoils_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = itertools.count(step=4096)
    monkeypatch.setattr(kernel, "device_bytes_read", lambda: next(read))
    found = calibration.calibrate(str(tmp_path), TINY, evict=lambda path: None)
    assert {name: found.numbers[name] for name in DEFAULTS if name.startswith("cache.")} == {
        name: DEFAULTS[name] for name in DEFAULTS if name.startswith("cache.")
    }
    assert "not measured, stated defaults: " in found.known["cache"]
    assert "4,096 bytes came from a device" in found.known["cache"]


def test_where_the_page_cache_cannot_be_looked_at_all_else_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_core, "time_mapped_reads", lambda *asked: None)
    found = calibration.calibrate(str(tmp_path), TINY, evict=lambda path: None)
    assert any("looking into the page cache was not measured, and is not done" in note for note in found.notes)
    assert {"look", "look_page_seconds"} & set(found.spread) == set()
    assert "whole file was in the page cache" in found.known["cache"]
    assert {"cache.read", "cache.write"} <= set(found.spread)


# ---- profiles on disk ------------------------------------------------------------------------------------------------


def test_a_kept_profile_is_that_of_every_path_of_its_store(kept: StoredProfile, tmp_path: Path) -> None:
    assert profile.for_path(tmp_path) == kept
    assert profile.for_path(tmp_path / "not" / "yet" / "there.npy") == kept
    assert Path(kept.file).parent == tmp_path / "cache" / "swath" / "profiles"
    assert os.listdir(Path(kept.file).parent) == [os.path.basename(kept.file)]


def test_every_rank_plans_with_the_profile_that_the_first_one_found(kept: StoredProfile, tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    np.arange(600, dtype="<i8").tofile(file)

    def shares(comm: Any) -> tuple[str, int]:
        mine = swath.Distribution((swath.Cyclic(1),), grid=(3,))
        with swath.open(file, shape=600, dtype="<i8", comm=comm) as array:
            return str(array.explain(mine, cached=1)), int(array.read(mine).sum())

    told = run_ranks(3, shares)
    assert [text for text, _ in told] == [told[0][0]] * 3
    assert f"measured on {kept.store.file_system}" in told[0][0]
    assert sum(total for _, total in told) == 600 * 599 // 2


def change(key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    *path, last = key.split("/")

    def apply(plain: dict[str, Any]) -> None:
        for part in path:
            plain = plain[part]
        if value is None:
            del plain[last]
        else:
            plain[last] = value

    return apply


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (change("version", 99), "version 99"),
        (change("store/id", "0"), "the store has changed since it was measured (id was 0"),
        (change("store/device", "/dev/other"), "the store has changed"),
        (change("machine/cores", 4096), "the machine has changed since it was measured (cores was 4096"),
        (change("machine/processor", "Z80"), "the machine has changed"),
        (change("numbers/sync_seconds", -1), "sync_seconds is -1"),
        (change("numbers/gather", None), "gather is missing"),
        (change("numbers/cache.read", [[8, 1], [4, 1]]), "cache.read"),
        (change("numbers/speed", 1), '"speed" is no number of a profile'),
        (change("date", None), "'date' is missing"),
        (change("corrections", {"direct/read/cache/large": {"factor": -1, "observations": 1}}), "a correction"),
        (change("frozen", "no"), "frozen is 'no'"),
        (change("store", 3), ""),
    ],
)
def test_a_profile_that_is_not_valid_here_is_ignored_with_the_reason(
    kept: StoredProfile, tmp_path: Path, edit: Callable[[dict[str, Any]], None], reason: str, capsys: Capture
) -> None:
    plain = json.loads(Path(kept.file).read_text())
    edit(plain)
    Path(kept.file).write_text(json.dumps(plain))
    found = profile.find(tmp_path)
    assert found.profile is None
    assert found.reason.startswith("ignored: ")
    assert reason in found.reason
    assert profile.for_path(tmp_path) is None
    assert cli.main(["calibrate", str(tmp_path), "--show"]) == 1
    assert reason in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "{", "[]", "\0\xff", '{"version": 1}', "null"])
def test_a_damaged_file_is_ignored(kept: StoredProfile, tmp_path: Path, text: str) -> None:
    Path(kept.file).write_text(text, encoding="latin-1")
    assert profile.find(tmp_path).profile is None


def test_a_cache_folder_that_cannot_be_is_no_profile_and_keeping_one_is_an_error(
    kept: StoredProfile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert profile.for_path(tmp_path) is None
    elsewhere = dataclasses.replace(kept, file=profile.file_of(kept.store))
    with pytest.raises(StoreError, match="XDG_CACHE_HOME"):
        elsewhere.save()
    assert elsewhere.save_corrections({"direct/read/cache/large": (2.0, 1)}) is False


def test_the_environment_names_the_profile_to_use(
    kept: StoredProfile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = dataclasses.replace(kept, file=str(tmp_path / "other.json"), store=profile.Store("/x", "x", "x", "1"))
    other.save()
    monkeypatch.setenv(profile.VARIABLE, other.file)
    assert profile.for_path("/") == other
    assert other.save_corrections({"direct/read/cache/large": (2.0, 1)}) is False, "the user's own file"
    monkeypatch.setenv(profile.VARIABLE, "none")
    assert profile.for_path(tmp_path) is None
    monkeypatch.setenv(profile.VARIABLE, str(tmp_path / "missing.json"))
    with pytest.raises(ArgumentError, match=r"SWATH_PROFILE=.*missing\.json: .*No such file"):
        profile.for_path(tmp_path)
    Path(other.file).write_text("{}")
    monkeypatch.setenv(profile.VARIABLE, other.file)
    with pytest.raises(ArgumentError, match="not a profile"):
        profile.for_path(tmp_path)


def test_what_operations_taught_is_added_to_the_file_and_prices_follow(kept: StoredProfile, tmp_path: Path) -> None:
    assert kept.save_corrections({"direct/read/cache/large": (2.0, 3)})
    assert kept.save_corrections({"list/write/device/small": (0.5, 1), "direct/read/cache/large": (1.5, 4)})
    again = profile.for_path(tmp_path)
    assert again is not None
    assert again.corrections == {"direct/read/cache/large": (1.5, 4), "list/write/device/small": (0.5, 1)}
    assert again.core.corrections == again.corrections
    assert again.numbers == kept.numbers


def test_a_frozen_a_forgotten_and_a_newer_profile_learn_nothing_from_an_old_one(
    kept: StoredProfile, tmp_path: Path
) -> None:
    learned = {"direct/read/cache/large": (2.0, 3)}
    frozen = dataclasses.replace(kept, frozen=True)
    assert frozen.save_corrections(learned) is False
    frozen.save()
    assert kept.save_corrections(learned) is False, "frozen since it was read"
    dataclasses.replace(kept, date="2000-01-01T00:00:00").save()
    assert kept.save_corrections(learned) is False, "measured anew since it was read"
    assert profile.forget(tmp_path) == kept.file
    assert kept.save_corrections(learned) is False
    assert not os.path.exists(kept.file)
    assert profile.forget(tmp_path) is None


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"speed": 1}, '"speed" is no number'),
        ({3: 1}, '"3" is no number'),
        ({"cores": -1}, "cores is -1"),
        ({"cores": float("nan")}, "cores is nan"),
        ({"cores": "two"}, "cores is 'two'"),
        ({"source": 3}, "source is 3"),
        ({"gather": 3}, "gather is 3"),
        ({"gather": []}, "gather has no points"),
        ({"gather": [[1, 2, 3]]}, "gather is"),
        ({"gather": [[2, 1], [1, 1]]}, "gather: "),
        ({"device.read": [[8, 0]]}, "device.read: "),
    ],
)
def test_the_core_names_the_number_that_cannot_be(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        _core.Profile.from_dict(values)
    assert said in str(raised.value)


def test_the_core_gives_back_the_numbers_and_knows_a_device_that_is_unknown() -> None:
    assert _core.Profile.from_dict(DEFAULTS).to_dict() == DEFAULTS
    unknown = _core.Profile.from_dict({**DEFAULTS, "device.read": []})
    assert unknown.to_dict()["device.read"] == []


# ---- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "QUICK", TINY)


@pytest.mark.usefixtures("tiny")
def test_calibrate_keeps_shows_freezes_and_forgets(tmp_path: Path, capsys: Capture) -> None:
    folder, json_file = tmp_path / "store", tmp_path / "out.json"
    folder.mkdir()
    assert cli.main(["calibrate", str(folder), "--quick", "--json", str(json_file)]) == 0
    printed = capsys.readouterr().out
    for words in ("page cache read", "device write", "how it is known", "a meeting of 4 ranks", "kept in "):
        assert words in printed
    found = profile.for_path(folder)
    assert found is not None
    assert json.loads(json_file.read_text()) == json.loads(json.dumps(found.to_dict()))
    assert os.listdir(folder) == []

    assert cli.main(["calibrate", str(folder), "--freeze"]) == 0
    capsys.readouterr()
    assert cli.main(["calibrate", str(folder), "--quick", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["frozen"] is True, "measuring again does not thaw"
    assert cli.main(["calibrate", str(folder), "--thaw"]) == 0
    capsys.readouterr()
    assert cli.main(["calibrate", str(folder), "--show", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["frozen"] is False
    assert cli.main(["calibrate", str(folder), "--forget"]) == 0
    assert profile.for_path(folder) is None
    assert cli.main(["calibrate", str(folder), "--freeze"]) == 2
    assert "no profile to freeze: none: run `swath calibrate DIR`" in capsys.readouterr().err


def refused(capsys: Capture, folder: Path) -> str:
    assert cli.main(["calibrate", str(folder), "--quick"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return printed.err


def test_a_folder_that_is_none_or_has_no_room_or_cannot_be_written_is_refused(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    assert "it is no folder" in refused(capsys, tmp_path / "file")
    assert "it is no folder" in refused(capsys, tmp_path / "missing")
    monkeypatch.setattr(calibration, "QUICK", Effort(1, 1 << 60, 1 << 20))
    assert "MiB are needed" in refused(capsys, tmp_path)
    monkeypatch.setattr(calibration, "QUICK", TINY)

    def refuse(**_: Any) -> str:
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    assert "cannot write there: Permission denied" in refused(capsys, tmp_path)


@pytest.mark.usefixtures("tiny")
def test_under_mpiexec_one_process_is_asked_for(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mpi, "launcher", lambda: ("MPICH", 4))
    monkeypatch.setattr(mpi, "foreign_launcher", lambda: None)
    assert "run it without mpiexec" in refused(capsys, tmp_path)


def test_a_calibration_that_is_told_to_end_removes_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    command = [sys.executable, "-m", "swath.commands.cli", "calibrate", str(folder)]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while not list(Path(folder).glob("*/*")):  # in a folder of its own, which it knows of by then
            assert time.monotonic() < deadline
            assert running.poll() is None
            time.sleep(0.01)
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 128 + signal.SIGTERM
    finally:
        running.kill()
    assert os.listdir(folder) == []
    assert profile.for_path(folder) is None


def test_no_number_is_the_mean_of_two():
    """One of two values may come from an interruption, or from memory that was new."""
    over_already = 0.0
    given = iter([100.0, 1.0, 2.0])
    (sample,) = in_turn([lambda: next(given)], 0.0, over_already)
    assert sample.median == 2.0
