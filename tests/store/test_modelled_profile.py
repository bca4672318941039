"""The profile of a modelled disk: measured by its engine, saved, and used for files that are opened with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import swath
from swath.calibration.modelled import calibrate_modelled
from swath.commands import cli
from swath.simulated import run_ranks
from swath.store import profile

ENGINE = "model:p690-scsi"


@pytest.fixture
def own_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SWATH_PROFILE", raising=False)
    return tmp_path


def test_a_modelled_disk_is_measured_as_its_preset_says_and_the_same_each_time(own_profiles: Path) -> None:
    measured = calibrate_modelled(ENGINE, str(own_profiles))
    size, seconds = measured.numbers["device.read"][-1]
    assert size / seconds == pytest.approx(35e6, rel=0.15)  # less what the host takes for each request
    assert 4.17e-3 < measured.numbers["device.read_jump"] < 16e-3
    gaps = dict(map(tuple, measured.numbers["device.write_gap"]))
    assert gaps[64 << 10] == pytest.approx((64 << 10) / 35e6, rel=0.01)  # the head reads over it
    assert gaps[1 << 20] > 4.17e-3  # and moves over this
    assert measured.numbers["device.read_slowdown"][1][1] > 2  # two streams are in each other's way
    assert measured.numbers["cache.write"] == measured.numbers["device.write"]
    again = calibrate_modelled(ENGINE, str(own_profiles))
    for name in ("device.read", "device.write", "device.read_jump", "device.read_slowdown"):
        np.testing.assert_allclose(again.numbers[name], measured.numbers[name], rtol=1e-6)
    assert not list(own_profiles.glob(".swath-calibrate*"))


def test_its_profile_is_used_with_its_engine_and_with_no_other(own_profiles: Path) -> None:
    np.save(own_profiles / "a.npy", np.zeros((1024, 1024)))
    before = profile.for_path(own_profiles, ENGINE)
    calibrate_modelled(ENGINE, str(own_profiles)).save()
    found = profile.for_path(own_profiles, f"{ENGINE}@scratch")
    assert before is None
    assert found is not None
    assert "modelled disk p690-scsi" in found.core.source
    assert profile.for_path(own_profiles) is None
    assert profile.for_path(own_profiles, "model:ssd") is None

    def read(comm: object) -> tuple[float, float]:
        from swath import _core

        with swath.open(own_profiles / "a.npy", engine=ENGINE) as a:
            begin = _core.clock_now()
            a.read()
            assert a.last_plan is not None
            return _core.clock_now() - begin, a.last_plan.seconds or 0.0

    took, predicted = run_ranks(1, read)[0]
    assert predicted == pytest.approx(took, rel=0.25)


def test_calibrate_engine_keeps_and_shows_it(own_profiles: Path, capsys: pytest.CaptureFixture[str]) -> None:
    how = ["calibrate", str(own_profiles), "--engine", ENGINE]
    assert cli.main([*how, "--show"]) == 1
    assert cli.main(how) == 0
    assert cli.main([*how, "--show"]) == 0
    assert "p690-scsi" in capsys.readouterr().out
    assert cli.main([*how, "--forget"]) == 2
    assert cli.main(["calibrate", str(own_profiles), "--engine", "posix"]) == 2
    assert cli.main(["calibrate", str(own_profiles), "--engine", "model:none-such"]) == 2
    assert "expected one of" in capsys.readouterr().err


def test_advice_for_a_slow_disk_knows_its_seeks(own_profiles: Path) -> None:
    calibrate_modelled(ENGINE, str(own_profiles)).save()
    mix = (["[:, j]:10", "[i, :]:10"], (2048, 2048), "f8")
    slow, here = swath.advise_layout(*mix, engine=ENGINE), swath.advise_layout(*mix)
    assert "p690-scsi" in slow.source
    assert slow.best.total > 10 * here.best.total
