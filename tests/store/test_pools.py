"""Decisions for files in Ceph pools that need no cluster: names, stripes, turns at servers, plans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath.base import stored_path
from swath.throttle import throttle

STRIPE = (65536, 4, 4194304)


def test_a_stripe_becomes_a_setting_of_the_name() -> None:
    assert stored_path.of("rados:p/a.npy").with_stripe(STRIPE) == "rados:p/a.npy?stripe=65536,4,4194304"
    with_settings = stored_path.of("rados:p/a?conf=c&id=i")
    assert with_settings.with_stripe((np.int64(1), 2, 3)) == "rados:p/a?conf=c&id=i&stripe=1,2,3"
    assert stored_path.of("rados:p/a?stripe=1,2,3&id=i").with_stripe((1, 2, 3)) == "rados:p/a?id=i&stripe=1,2,3"


def test_a_path_says_what_its_store_can_do(tmp_path: Path) -> None:
    here, away = stored_path.of(str(tmp_path / "a.npy")), stored_path.of("rados:p/a.npy?conf=c")
    for stored, is_here in ((here, True), (away, False)):
        assert stored.is_local == stored.has_hidden_files == stored.can_change_contents == is_here
        assert stored.is_striped == stored.has_servers == (not is_here)
    assert (here.name, here.pool, here.configured_pool()) == (here.path, None, None)
    assert (away.name, away.pool, away.configured_pool()) == ("rados:p/a.npy", "rados:p", "rados:p?conf=c")
    assert here.suffixed(".new") == f"{here.path}.new"
    assert away.suffixed(".new") == "rados:p/a.npy.new?conf=c"
    assert here.holds("zarr")
    assert not away.holds("zarr")
    here.refuse_format("zarr")
    here.refuse_change()
    with pytest.raises(swath.UnsupportedError, match="a pool holds raw"):
        away.refuse_format("zarr")
    with pytest.raises(swath.UnsupportedError, match="not what they hold"):
        away.refuse_change()
    (tmp_path / "a.npy").write_bytes(b"12345")
    assert here.size() == 5
    with here.open() as file:
        assert file.read() == b"12345"
    here.remove()
    assert not (tmp_path / "a.npy").exists()
    assert stored_path.of("./rados:p/a").is_local


@pytest.mark.parametrize("stripe", [(1, 2), (1, 2, 3, 4), (0, 1, 1), (1.5, 1, 1), "65536,4,4194304", 7])
def test_a_stripe_that_is_none_says_what_is_expected(stripe: Any) -> None:
    with pytest.raises(swath.ArgumentError, match=r"expected \(unit, count, object_bytes\)"):
        swath.create("rados:p/a.npy", (10,), "f8", stripe=stripe)


def test_a_stripe_is_of_pools_only_and_said_once(tmp_path: Any) -> None:
    with pytest.raises(swath.ArgumentError, match="of files in Ceph pools"):
        swath.create(tmp_path / "a.npy", (10,), "f8", stripe=STRIPE)
    assert not (tmp_path / "a.npy").exists()
    with pytest.raises(swath.ArgumentError, match="the name says another"):
        swath.create("rados:p/a.npy?stripe=1,2,3", (10,), "f8", stripe=STRIPE)


def test_advice_for_a_pool_prices_stripe_units_and_says_which_it_takes() -> None:
    advice = swath.advise_layout("[i:i+64, :]:all", (4096, 4096), "f8", store="rados:p/a")
    assert advice.stripe in [stripe for stripe, _ in advice.stripes]
    assert dict(advice.stripes)[advice.stripe] == min(seconds for _, seconds in advice.stripes)
    assert [stripe[0] for stripe, _ in advice.stripes] == [65536, 262144, 1048576, 4194304]
    assert "stripe units of" in str(advice)
    assert f"stripe={advice.stripe}" in str(advice)
    assert advice.to_dict()["stripe"] == list(advice.stripe)
    assert set(advice.best.formats) <= set(stored_path.PathInPool.formats)
    local = swath.advise_layout("[i:i+64, :]:all", (4096, 4096), "f8")
    assert local.stripe is None
    assert "stripe" not in str(local)
    with pytest.raises(swath.ArgumentError, match="a pool holds"):
        swath.advise_layout("[i, :]", (64, 64), "f8", store="rados:p/a", formats="zarr")


def test_what_a_stripe_unit_does_not_change_costs_the_same_and_the_usual_one_is_taken() -> None:
    rows = swath.advise_layout("[i, :]:all", (4096, 4096), "f8", store="rados:p/a", formats="raw")
    seconds = [total for _, total in rows.stripes]  # of 32 KiB: a wait for an answer each
    assert max(seconds) < 1.01 * min(seconds)
    assert rows.stripe == STRIPE
    everything = swath.advise_layout("[:, :]", (4096, 4096), "f8", store="rados:p/a", formats="raw")
    seconds = [total for _, total in everything.stripes]  # of 128 MiB: objects as a whole
    assert max(seconds) < 1.1 * min(seconds)


@pytest.mark.parametrize(
    ("streams", "shared"),
    [
        ("auto", False),
        (None, False),
        ("default", False),
        (4, True),
        ({"write": 2}, True),
        ({"read": None, "write": None}, False),
        ("read=auto,write=none", False),
    ],
)
def test_servers_of_a_pool_take_turns_only_where_a_number_is_asked_for(
    streams: Any, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SWATH_STREAMS", raising=False)
    assert (throttle.of_servers("rados:p/a", streams) is not None) == shared
    assert throttle.of_servers("a.npy", streams) is None
    assert throttle.throttle_for("rados:p/a", None, streams) is None


@pytest.mark.parametrize(("method", "inner"), [("sieve", "sieve"), ("list", "list"), ("datatype", "list")])
def test_two_phase_moves_windows_as_asked_and_says_what_cannot_be(tmp_path: Any, method: str, inner: str) -> None:
    values = np.arange(200 * 30, dtype="f8").reshape(200, 30)
    np.save(tmp_path / "a.npy", values)
    with swath.open(tmp_path / "a.npy", mode="r+") as a:
        plan = a.explain(selection=np.s_[:, ::3], method=f"two-phase/{method}")
        assert (plan.method, plan.inner, plan.to_dict()["inner"]) == ("two-phase", inner, inner)
        assert ("takes no descriptions" in plan.reason) == (method == "datatype")
        assert ("windows as a whole" if inner == "sieve" else f"windows by {inner}") in str(plan)
        a[:, ::3] = 0
        a.write(values[:, ::3] + 1, selection=np.s_[:, ::3], method=f"two-phase/{method}")
        values[:, ::3] += 1
        assert (a.read(selection=np.s_[:, ::3], method=f"two-phase/{method}") == values[:, ::3]).all()
        assert a.explain(selection=np.s_[:, ::3], method="list").inner is None
        with pytest.raises(swath.ArgumentError, match="two-phase/datatype"):
            a.read(method="two-phase/direct")
    assert (np.load(tmp_path / "a.npy") == values).all()
