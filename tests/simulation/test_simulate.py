"""`swath simulate` and `swath.simulate`: what is printed, and what the numbers must obey."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest

import swath
from swath.commands import cli
from swath.simulation import machine as machines
from swath.simulation import studies
from swath.simulation.benchmarks import btio, ncio
from swath.simulation.operations import distributed
from swath.simulation.report import html_report
from swath.space import Block, Cyclic, Whole

Capture = pytest.CaptureFixture[str]
ASKED = ["simulate", "--machine", "feynman", "--shape", "256,128", "--dist", "*,cyclic", "--ranks", "8"]


def printed(capture: Capture, *arguments: str) -> str:
    assert cli.main([*arguments]) == 0
    return capture.readouterr().out


def refused(capture: Capture, *arguments: str) -> str:
    assert cli.main([*arguments]) == 2
    return capture.readouterr().err


def test_each_machine_has_a_line(capsys: Capture) -> None:
    lines = printed(capsys, "simulate", "--list-machines").splitlines()
    assert [line.split()[0] for line in lines] == machines.names()
    assert all(len(line.split()) > 3 for line in lines)


def test_the_same_seed_gives_the_same_result_and_another_one_not() -> None:
    operation = distributed((256, 128), "f8", (Whole(), Cyclic(1)), ranks=8, method="direct")
    results = [swath.simulate(operation, "feynman", ranks=8, seed=seed, noise=0.2).values for seed in (1, 1, 2)]
    for found in results:
        del found["host"], found["memory"]["heap_bytes_per_rank"]  # of the simulation, not of the machine
    once, again, other = results
    assert once == again
    assert once["seconds"] != other["seconds"]


@pytest.mark.parametrize("method", ["direct", "list", "two-phase"])
@pytest.mark.parametrize("write", [False, True])
def test_servers_move_the_bytes_that_ranks_want(method: str, write: bool) -> None:
    operation = distributed((256, 128), "f8", (Whole(), Cyclic(1)), ranks=8, method=method, write=write)
    found = swath.simulate(operation, "feynman", ranks=8)
    assert found.methods == [method]
    assert sum(one["bytes"] for one in found.values["servers"]) == operation.bytes == found.bytes
    assert found.seconds > 0
    assert math.isclose(sum(found.phases.values()), found.seconds, rel_tol=0.01)


def test_direct_has_a_request_for_each_run_and_two_phase_fewer() -> None:
    requests = {}
    for method in ("direct", "two-phase"):
        operation = distributed((256, 128), "f8", (Whole(), Cyclic(1)), ranks=8, method=method)
        found = swath.simulate(operation, "delta", ranks=8)
        requests[method] = sum(one["requests"] for one in found.values["servers"])
    assert requests["direct"] == 256 * 128
    assert requests["two-phase"] == 256 * 128 * 8 / 4096  # a stripe unit each


def test_more_servers_are_faster_where_servers_are_the_limit() -> None:
    operation = distributed((1024, 1024), "f8", (Block(), Whole()), ranks=16, method="direct")
    few, many = (
        swath.simulate(operation, "paragon", ranks=16, settings={"servers.count": count}).seconds for count in (2, 64)
    )
    assert many < few / 4


def test_boxes_and_gaps_are_simulated() -> None:
    found = swath.simulate(btio(4, points=8), "sp2", ranks=4)
    assert sum(one["bytes"] for one in found.values["servers"]) == 8**3 * 40
    operation = distributed((64, 64), "f8", ranks=4, gap_seconds=3.0)
    later = swath.simulate([operation, operation], "sp2", ranks=4)
    assert later.seconds > 6.0


def test_a_size_of_the_method_changes_its_requests() -> None:
    operation = distributed((256, 128), "f8", (Whole(), Cyclic(1)), ranks=8, method="two-phase")
    small = dataclasses.replace(operation, tuning={"window_bytes": 4096})
    requests = [
        sum(server["requests"] for server in swath.simulate(one, "feynman", ranks=8).values["servers"])
        for one in (operation, small)
    ]
    assert requests[0] < requests[1] == 64


def test_a_redistribution_uses_no_server() -> None:
    rows, columns = ((Block(), Whole()), (Whole(), Cyclic(1)))
    target = distributed((256, 128), "f8", columns, ranks=8).distribution
    operation = distributed((256, 128), "f8", rows, ranks=8, redistributed_to=target)
    found = swath.simulate(operation, "feynman", ranks=8)  # four nodes of two ranks
    assert found.methods == ["redistribute"]
    assert sum(one["requests"] for one in found.values["servers"]) == 0
    (done,) = found.values["operations"]
    assert done["message_bytes"] == operation.bytes * 6 // 8  # to the ranks of other nodes
    assert done["exchanged_bytes"] == 2 * operation.bytes * 7 // 8  # sent and received
    assert found.phases["exchange"] > 0


def test_the_lattice_study_writes_the_same_bytes_in_each_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "LATTICE", 8)
    found = studies.run_study("lattice", ranks=16, settings={"stripe.unit": 65_536})
    requests = {row[0]: row[-1] for row in found.rows}
    assert requests[studies.BY_HAND] == 16 * 8 * 8 * 144 * 8 // 65_536
    assert requests["all-to-all by hand, equal parts"] > requests[studies.BY_HAND]
    exchange = {row[0]: row[2] for row in found.rows}
    assert exchange[studies.BY_HAND] > 0
    assert exchange["a request a run (direct)"] == 0
    assert all(row[1] > row[2] for row in found.rows)


def test_ncio_moves_its_regions_only() -> None:
    found = swath.simulate([one.by("list") for one in ncio(8, count=16)], "feynman", ranks=8)
    assert sum(one["bytes"] for one in found.values["servers"]) == 8 * 16 * 8


def test_page_caches_give_what_was_written_and_change_no_request() -> None:
    written = distributed((1024, 128), "f8", (Block(), Whole()), ranks=8, method="direct", write=True)
    both = [written, dataclasses.replace(written, write=False)]
    settings = {"servers.cache_bytes": 1 << 24, "servers.cache_bandwidth": 1e9}
    without, cached = (swath.simulate(both, "sp2", ranks=8, settings=given) for given in ({}, settings))
    assert sum(one["cache_hit_bytes"] for one in cached.values["servers"]) == written.bytes
    assert "1.0 MiB of reads were there, 0 B written back" in str(cached)
    assert "page caches" not in str(without)
    assert cached.seconds < without.seconds
    for key in ("requests", "bytes"):
        assert [one[key] for one in cached.values["servers"]] == [one[key] for one in without.values["servers"]]


def test_a_sync_waits_for_what_the_page_caches_write_back() -> None:
    settings = {"servers.cache_bytes": 1 << 24}
    written = distributed((1024, 128), "f8", (Block(), Whole()), ranks=8, write=True)
    seconds, written_back = [], []
    for sync in (False, True):
        found = swath.simulate(dataclasses.replace(written, sync=sync), "sp2", ranks=8, settings=settings)
        seconds.append(found.seconds)
        written_back.append(sum(one["written_back_bytes"] for one in found.values["servers"]))
    assert seconds[0] < seconds[1]
    assert written_back == [0, written.bytes]


def test_the_text_says_time_phases_servers_and_limit(capsys: Capture) -> None:
    text = printed(capsys, *ASKED)
    for said in ("feynman: 256.0 KiB by 8 ranks", "phases, mean of the ranks:", "16 servers, requests:", "limited by"):
        assert said in text


def test_json_has_the_machine_the_operations_and_the_numbers(capsys: Capture) -> None:
    found = json.loads(printed(capsys, *ASKED, "--json", "--seed", "3"))
    assert (found["machine"]["name"], found["ranks"], found["seed"]) == ("feynman", 8, 3)
    assert found["operations_given"][0]["shape"] == [256, 128]
    assert len(found["servers"]) == 16


def test_methods_are_compared_from_the_fastest(capsys: Capture) -> None:
    found = json.loads(printed(capsys, *ASKED, "--compare", "direct,list,two-phase", "--json"))
    seconds = [one["seconds"] for one in found]
    assert seconds == sorted(seconds)
    assert {one["asked"] for one in found} == {"direct", "list", "two-phase"}
    assert "direct" in printed(capsys, *ASKED, "--compare", "direct,list")


def test_a_value_of_the_machine_is_set(capsys: Capture) -> None:
    found = json.loads(printed(capsys, *ASKED, "--set", "servers.count=4", "--set", "network.kind=flat", "--json"))
    assert len(found["servers"]) == 4
    assert found["machine"]["network"]["kind"] == "flat"


def test_a_benchmark_and_its_sizes_are_simulated(capsys: Capture) -> None:
    asked = ["simulate", "--machine", "feynman", "--benchmark", "ncio", "--ranks", "4"]
    found = json.loads(printed(capsys, *asked, "--set-benchmark", "count=32", "--method", "list", "--json"))
    assert found["bytes"] == 4 * 32 * 8


def test_the_page_has_tables_and_pictures(tmp_path: Path) -> None:
    operation = distributed((256, 128), "f8", (Whole(), Cyclic(1)), ranks=8)
    found = swath.simulate(operation, "feynman", ranks=8)
    page = html_report(found)
    for said in ("<h2>Phases</h2>", "<h2>Servers</h2>", "<svg", "limited by", "</html>"):
        assert said in page
    assert "<h2>Servers</h2>" in found._repr_html_()
    path = tmp_path / "page.html"
    assert cli.main([*ASKED, "--html", str(path)]) == 0
    assert path.read_text().startswith("<!DOCTYPE html>")


def test_what_cannot_be_simulated_is_refused_in_a_line(capsys: Capture) -> None:
    assert "say which machine" in refused(capsys, "simulate", "--shape", "4")
    assert "none is given" in refused(capsys, "simulate", "--machine", "sp2")
    both = refused(capsys, "simulate", "--machine", "sp2", "--shape", "4", "--benchmark", "ncio")
    assert "--shape, --benchmark are given" in both
    assert "room for 80 ranks, not 81" in refused(
        capsys, "simulate", "--machine", "sp2", "--shape", "4", "--ranks", "81"
    )
    assert "expected KEY=VALUE" in refused(capsys, *ASKED, "--set", "servers")
    assert "a machine has no such key" in refused(capsys, *ASKED, "--set", "servers.number=3")
    assert "study weather: expected one of io-nodes" in refused(capsys, "simulate", "--study", "weather")
    huge = ("simulate", "--machine", "feynman", "--ranks", "4", "--write", "--shape")
    assert "hold at most 70368744177664 bytes of a file each" in refused(capsys, *huge, "1099511627776,1024")
    assert "expected an array of less than 2^63 bytes" in refused(capsys, *huge, "1099511627776,1073741824")
    with pytest.raises(swath.ArgumentError, match=r"simulate: noise=2.0: expected a part"):
        swath.simulate(distributed((4,), "f8", ranks=1), "sp2", ranks=1, noise=2.0)
