"""MADbench: its numbers are the measured ones, wrong data end it, its linear algebra agrees with NumPy."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from mpi_runs import needs_mpi, run_well
from swath.commands.cli import parser as swath_parser
from swath.errors import ArgumentError
from swath.ranks.ranks import ranks_of
from swath.simulated import run_ranks
from swath_bench import __main__ as command
from swath_bench import madbench
from swath_bench.madbench import algebra, files, options, problem, records, series, summary, tables
from swath_bench.madbench.options import Options, runs_of, streams_of
from swath_bench.madbench.problem import PHASES, Problem
from swath_bench.measure import WrongDataError

RAGGED = [(12, 4), (10, 3), (7, 4), (3, 4), (1, 2), (5, 1)]

# ---- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("pixels", "tasks"), RAGGED)
def test_the_tasks_rows_in_the_files_are_every_row_once_and_in_order(pixels: int, tasks: int) -> None:
    rows = [row for task in range(tasks) for row in range(*Problem(pixels, 2, tasks).rows(task))]
    assert rows == list(range(pixels))


@pytest.mark.parametrize(("bins", "gangs"), [(6, 1), (6, 2), (5, 2), (1, 4)])
def test_every_phase_moves_every_bin_once(bins: int, gangs: int) -> None:
    of = Problem(8, bins, 4, gangs)
    for phase in PHASES:
        assert [number for step in of.steps(phase) for number in step] == list(range(bins))
    assert max(len(step) for step in of.steps("W")) == min(bins, gangs)
    assert {len(step) for step in of.steps("invD")} == {1}


def test_gangs_are_equal_and_their_rows_are_every_row() -> None:
    of = Problem(11, 4, 6, gangs=3, block=2)
    assert [of.gang_of(task) for task in range(6)] == [0, 0, 1, 1, 2, 2]
    for gang in range(3):
        indices = [of.dealt(gang).indices(of.matrix_shape, task)[0] for task in range(6)]
        assert sorted(np.concatenate(indices).tolist()) == list(range(11))
        assert {task for task in range(6) if indices[task].size} == {2 * gang, 2 * gang + 1}


def test_a_products_flops_are_those_of_all_its_tasks() -> None:
    of = Problem(100, 4, 8, gangs=2)
    assert of.step_flops("W", range(2)) * of.gang_tasks == 2 * 100**3
    assert of.inverse_flops * 8 == 2 * 100**3


def test_no_two_elements_of_all_chunks_are_equal_and_doubles_hold_them_exactly() -> None:
    of = Problem(9, 3, 4)
    elements = [of.pattern(task, number).ravel() for task in range(4) for number in range(3)]
    assert np.unique(np.concatenate(elements)).size == 3 * 81
    largest = ((problem.PATTERN_CHUNKS_MAX - 1) << problem.PATTERN_SHIFT) + (1 << problem.PATTERN_SHIFT) - 1
    assert int(float(largest)) == largest


def test_the_checksum_sees_every_bit_and_the_order() -> None:
    chunk = np.arange(12.0).reshape(3, 4)
    flipped, swapped = chunk.copy(), chunk[::-1].copy()
    flipped.view(np.uint64)[1, 1] ^= 1
    assert len({problem.checksum(c) for c in (chunk, flipped, swapped)}) == 3
    assert problem.checksum(np.empty((0, 4))) == 0


# ---- options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--readers", "1,many"], r'--readers: "many": expected a number from 1, "all" or "auto"'),
        (["--writers", "0"], r'--writers: "0": expected a number from 1'),
        (["--gangs", "3"], "--gangs 3: 4 tasks are no multiple of it"),
        (["--disk", "floppy", "--virtual"], '--disk: "floppy": expected some of xeon-eide, p690-scsi'),
        (["--virtual"], "--virtual: name the modelled disk: --disk"),
        (["--virtual", "--compute", "--disk", "ssd"], "--compute: in --virtual time computing takes no time"),
        (["--virtual", "--peers", "--disk", "ssd"], "--peers: others know nothing of virtual time"),
        (["--switch-to", "ssd", "--disk", "p690-scsi"], "--switch-to: a disk turns into another one in virtual time"),
        (["--flops-rate", "0"], "--flops-rate 0: expected flops a second"),
        (["--cache", "tepid"], '--cache: "tepid": expected some of cold, warm'),
        (["--series", "must"], '--series: "must": expected one of grid, must-show'),
        (["--bins", "100000"], "more than 131,072 chunks"),
        (["--ranks", "2"], "--ranks: madbench has no such option"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(arguments: list[str], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        command.options_of("madbench", command.parser().parse_args(["madbench", *arguments]))


def test_every_option_is_a_flag_of_both_commands() -> None:
    given = [
        *("madbench", "--tasks", "6", "--pixels", "77", "--bins", "5", "--gangs", "3", "--block", "4"),
        *("--writers", "1,all", "--readers", "2,auto", "--shared-file", "--flops-rate", "1e8", "--verify"),
        *("--cache", "warm,cold", "--disk", "ssd,p690-scsi", "--seed", "7"),
    ]
    expected = Options(
        tasks=6,
        pixels=77,
        bins=5,
        gangs=3,
        block=4,
        writers=("1", "all"),
        readers=("2", "auto"),
        shared_file=True,
        flops_rate=1e8,
        verify=True,
        caches=("warm", "cold"),
        disks=("ssd", "p690-scsi"),
        seed=7,
    )
    assert command.options_of("madbench", command.parser().parse_args(given)) == expected
    assert command.options_of("madbench", swath_parser().parse_args(["bench", *given])) == expected
    for more, changed in (
        (["--virtual", "--switch-to", "ssd"], {"virtual": True, "switch_to": "ssd"}),
        (["--compute", "--peers", "numpy"], {"compute": True, "peers": ("numpy",)}),
        (["--peers"], {"peers": ("romio", "numpy")}),
        (["--series", "must-show"], {"series": "must-show"}),
    ):
        found = command.options_of("madbench", command.parser().parse_args([*given, *more]))
        assert found == dataclasses.replace(expected, **changed)
    assert command.options_of("madbench", command.parser().parse_args(["madbench"])) == Options()
    assert Options(**json.loads(json.dumps(dataclasses.asdict(expected)))) == expected


def test_the_grid_is_every_combination_of_what_was_given_as_lists() -> None:
    asked = Options(writers=("all", "1"), readers=("1", "2", "auto"), caches=("cold", "warm"), disks=("ssd",))
    runs = list(runs_of(asked))
    assert len(runs) == 12 == len({(run.writers, run.readers, run.caches) for run in runs})
    assert all(run.disks == ("ssd",) for run in runs)
    assert [streams_of(word) for word in ("all", "auto", "16")] == [None, "auto", 16]


def test_must_show_has_all_static_numbers_and_auto_on_every_disk_and_every_change() -> None:
    runs = list(series.must_show(Options(pixels=64, series="must-show")))
    for disk in options.PRESETS:
        tasks = 4 if disk == "xeon-eide" else 16
        readers = [r.readers[0] for group, r in runs if (group, r.only_disk) == (series.SWEET_SPOT, disk)]
        assert readers == [*(str(2**i) for i in range(4) if 2**i < tasks), "all", "auto"]
    changes = {(r.only_disk, r.switch_to) for group, r in runs if group == series.REGIME}
    assert {("p690-scsi", "ssd"), ("ssd", "p690-scsi")} <= changes
    single = [(r.writers, r.readers, r.tasks) for group, r in runs if group == series.SINGLE_DISK]
    assert single == [(("all",), ("all",), 16), (("all",), ("auto",), 16)]
    assert all(r.virtual and r.pixels == 64 for _, r in runs)


# ---- linear algebra --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("pixels", "ranks"), RAGGED)
@pytest.mark.parametrize("block", [1, 3, 32])
def test_inverse_and_product_are_numpys_on_any_number_of_ranks(pixels: int, ranks: int, block: int) -> None:
    where = algebra.directions(pixels, seed=3)
    derivative = algebra.signal_derivative(1, slice(0, pixels), where)
    full = algebra.NOISE_VARIANCE * np.identity(pixels) + derivative

    def work(comm: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        dealt = algebra.BlockCyclicRows(ranks_of(comm), pixels, block)
        mine = derivative[dealt.rows].copy()
        algebra.add_noise(mine, dealt)
        np.testing.assert_array_equal(mine, full[dealt.rows])
        algebra.invert(mine, dealt)
        return dealt.rows, mine, algebra.multiply(mine, derivative[dealt.rows], dealt)

    parts = run_ranks(ranks, work)
    inverse, product = np.full_like(full, np.nan), np.full_like(full, np.nan)
    for rows, of_inverse, of_product in parts:
        inverse[rows], product[rows] = of_inverse, of_product
    np.testing.assert_allclose(inverse, np.linalg.inv(full), rtol=0, atol=1e-9 * np.abs(np.linalg.inv(full)).max())
    np.testing.assert_allclose(product, np.linalg.inv(full) @ derivative, rtol=0, atol=1e-9)


def test_signal_derivatives_are_symmetric_and_positive_semidefinite_and_sums_of_legendre_polynomials() -> None:
    where = algebra.directions(20, seed=1)
    np.testing.assert_allclose(np.linalg.norm(where, axis=1), 1)
    found = algebra.signal_derivative(0, slice(0, 20), where)
    np.testing.assert_allclose(found, found.T, atol=1e-13)
    assert np.linalg.eigvalsh(found).min() > -1e-12
    x = where @ where.T
    by_hand = (5 * (3 * x**2 - 1) / 2 + 7 * (5 * x**3 - 3 * x) / 2) / (4 * np.pi)
    np.testing.assert_allclose(found, by_hand, atol=1e-12)
    np.testing.assert_allclose(algebra.signal_derivative(0, slice(5, 9), where), found[5:9], atol=1e-13)


@pytest.mark.slow
def test_compute_mode_is_numpys_on_full_matrices_with_gangs_blocks_and_ragged_rows() -> None:
    said = run_well(4, str(Path(__file__).parent / "mpi" / "madbench_compute.py"))
    assert "all verified: 8" in said


# ---- runs ------------------------------------------------------------------------------------------------------------


def simulated_run(folder: Path, **asked: Any) -> list[dict[str, Any]]:
    """The result on each rank of a run by simulated tasks on a modelled disk, in virtual time."""
    small = Options(tasks=3, pixels=20, bins=4, readers=("all",), virtual=True, disks=("p690-scsi",))
    of = dataclasses.replace(small, **asked)
    path = folder / f"run-{os.urandom(4).hex()}"
    return run_ranks(of.tasks, lambda comm: madbench.run(ranks_of(comm), str(path), of))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("pixels", "tasks", "gangs"), [(20, 4, 1), (20, 4, 2), (7, 3, 3), (2, 4, 1)])
def test_a_run_reads_what_it_wrote_and_leaves_nothing(
    tmp_path: Path, shared: bool, pixels: int, tasks: int, gangs: int
) -> None:
    told = simulated_run(tmp_path, tasks=tasks, pixels=pixels, gangs=gangs, shared_file=shared, bins=5, verify=True)
    assert os.listdir(tmp_path) == []
    assert all(of_rank["total_seconds"] == told[0]["total_seconds"] for of_rank in told)
    phases = told[0]["phases"]
    assert [len(phases[phase]["tasks"]) for phase in PHASES] == [tasks] * 3
    assert {len(steps) for steps in phases["dSdC"]["tasks"]} == {5 + 1}  # and the sync
    assert {len(steps) for steps in phases["W"]["tasks"]} == {-(-5 // gangs)}


@pytest.mark.parametrize("verify", [False, True])
def test_a_byte_that_changed_on_disk_ends_the_run(
    tmp_path: Path, verify: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = files.ChunkFiles.open

    def tampering(self: files.ChunkFiles, readers: str) -> None:
        if self.path.endswith(".1"):
            with open(self.path, "r+b") as file:
                file.seek(self.offset(2) + 11)
                byte = file.read(1)
                file.seek(-1, os.SEEK_CUR)
                file.write(bytes([byte[0] ^ 4]))
        honest(self, readers)

    monkeypatch.setattr(files.ChunkFiles, "open", tampering)
    with pytest.raises(WrongDataError, match=r"task 1: .*run-.*\.1: bin 2, row 7, column 1: read"):
        simulated_run(tmp_path, verify=verify)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("readers", ["all", "1", "auto"])
def test_tio_and_lbstio_are_what_the_marks_say(tmp_path: Path, readers: str) -> None:
    (run, *_) = simulated_run(tmp_path, pixels=300, readers=(readers,))
    for of in run["phases"].values():
        marks = np.array(of["tasks"])
        assert (np.diff(marks, axis=2) >= 0).all()
        stages = np.diff(marks, axis=2).sum(axis=1).mean(axis=0)
        compute, imbalance, tio, lbstio = stages[0] + stages[4], stages[1], stages[2], stages[3]
        assert [of["compute_seconds"], of["imbalance_seconds"], of["tio_seconds"], of["lbstio_seconds"]] == (
            pytest.approx([compute, imbalance, tio, lbstio], abs=1e-4)
        )
        assert compute + imbalance + tio + lbstio <= of["seconds"] + 1e-4
    io_seconds = sum(of["tio_seconds"] + of["lbstio_seconds"] for of in run["phases"].values())
    assert 0 < io_seconds <= run["total_seconds"]
    assert run["io_percent"] == pytest.approx(100 * io_seconds / run["total_seconds"], rel=1e-3)


def test_io_only_mode_sleeps_for_as_long_as_the_flops_take(tmp_path: Path) -> None:
    of = Options(tasks=2, pixels=50, bins=2).problem
    (run, *_) = simulated_run(tmp_path, tasks=2, pixels=50, bins=2, flops_rate=2e6)
    for phase, extra in (("dSdC", 0.0), ("invD", of.inverse_flops), ("W", 0.0)):
        expected = (sum(of.step_flops(phase, bins) for bins in of.steps(phase)) + extra) / 2e6
        assert run["phases"][phase]["compute_seconds"] == pytest.approx(expected, rel=1e-3)


def test_virtual_time_is_the_same_every_time(tmp_path: Path) -> None:
    asked = {"tasks": 4, "pixels": 400, "readers": ("2",)}
    first, again = (simulated_run(tmp_path, **asked)[0] for _ in range(2))
    assert first["phases"] == again["phases"]


def test_with_one_reader_tasks_wait_for_their_turn_and_then_for_the_others(tmp_path: Path) -> None:
    """As in table 7 of the paper: TIO is (P + 1) / 2P of a phase."""
    (run, *_) = simulated_run(tmp_path, tasks=4, pixels=1024, readers=("1",))
    for phase in ("invD", "W"):
        tio, lbstio = (run["phases"][phase][part] for part in ("tio_seconds", "lbstio_seconds"))
        assert tio / (tio + lbstio) == pytest.approx(5 / 8, abs=0.03)


def test_writers_are_throttled_where_that_is_asked_for(tmp_path: Path) -> None:
    one, everybody = (
        simulated_run(tmp_path, tasks=4, pixels=1024, writers=(writers,))[0]["phases"]["dSdC"]
        for writers in ("1", "all")
    )
    assert one["lbstio_seconds"] > 3 * everybody["lbstio_seconds"]


def test_on_a_single_disk_one_reader_is_faster_than_all_and_auto_finds_that(tmp_path: Path) -> None:
    runs = {
        readers: simulated_run(tmp_path, tasks=4, pixels=1024, bins=16, readers=(readers,))[0]
        for readers in ("1", "all", "auto")
    }
    seconds = {readers: summary.io_seconds(run, "W") for readers, run in runs.items()}
    assert seconds["1"] < 0.95 * seconds["all"]
    assert seconds["auto"] < 0.95 * seconds["all"]
    decided = [d for d in runs["auto"]["decisions"] if d["direction"] == "read"]
    assert 1 in {d["limit"] for d in decided}
    assert all(0 <= d["seconds"] <= runs["auto"]["total_seconds"] for d in decided)
    assert all("MB/s" in d["reason"] for d in decided)
    assert runs["1"]["decisions"] == runs["all"]["decisions"] == []
    invd = runs["all"]["phases"]["invD"]
    seconds_of_heads = [s for s, _ in runs["all"]["heads"]]
    assert seconds_of_heads == sorted(seconds_of_heads)
    assert len(seconds_of_heads) > 10
    assert invd["begin"] <= seconds_of_heads[0] < seconds_of_heads[-1] <= invd["end"]


def test_a_disk_that_turns_into_an_ssd_reads_w_faster_than_invd(tmp_path: Path) -> None:
    asked = {"tasks": 4, "pixels": 512}
    (same, *_), (changed, *_) = simulated_run(tmp_path, **asked), simulated_run(tmp_path, **asked, switch_to="ssd")
    assert changed["phases"]["invD"]["tio_seconds"] == same["phases"]["invD"]["tio_seconds"]
    assert changed["phases"]["W"]["tio_seconds"] < same["phases"]["W"]["tio_seconds"] / 3
    assert changed["switch_to"] == "ssd"


def test_a_phase_is_recorded_as_the_averages_of_its_tasks() -> None:
    steps = [
        [[0, 1, 2, 5, 6, 6], [6, 6, 6, 7, 9, 10]],
        [[0, 2, 2, 3, 6, 8], [8, 8, 8, 9, 9, 12]],
    ]
    found = records.phase_record(steps, start=-1)
    assert found["tio_seconds"] == ((3 + 1) + (1 + 1)) / 2
    assert found["lbstio_seconds"] == ((1 + 2) + (3 + 0)) / 2
    assert found["imbalance_seconds"] == ((1 + 0) + (0 + 0)) / 2
    assert found["compute_seconds"] == ((1 + 0 + 0 + 1) + (2 + 2 + 0 + 3)) / 2
    assert (found["begin"], found["end"], found["seconds"]) == (1, 13, 12)


# ---- what follows ----------------------------------------------------------------------------------------------------


def run_record(readers: str, seconds: dict[str, tuple[float, float]], **more: Any) -> dict[str, Any]:
    """A run with these times of I/O: TIO and LBSTIO of each phase, nothing computed."""
    phases = {
        phase: {
            "seconds": tio + lbstio,
            "begin": 0.0,
            "end": tio + lbstio,
            "compute_seconds": 0.0,
            "imbalance_seconds": 0.0,
            "tio_seconds": tio,
            "lbstio_seconds": lbstio,
            "tasks": [],
        }
        for phase, (tio, lbstio) in seconds.items()
    }
    total = sum(phase["seconds"] for phase in phases.values())
    return {
        "group": "",
        "tasks": 16,
        "pixels": 64,
        "bins": 2,
        "gangs": 1,
        "block": 32,
        "shared_file": False,
        "mode": "I/O only",
        "writers": "1",
        "readers": readers,
        "disk": "p690-raid5",
        "switch_to": None,
        "virtual": True,
        "cache": "cold",
        "chunk_bytes": 2048,
        "bytes": 65536,
        "total_seconds": total,
        "io_percent": 100.0,
        "phases": phases,
        "cached_before": [0.0, 0.0],
        "device_bytes_read": 131072,
        "verified": "checksums of all chunks",
        "decisions": [],
        "heads": [],
        "disk_stats": None,
        **more,
    }


def sweep_of(**more: Any) -> list[dict[str, Any]]:
    return [
        run_record("1", {"dSdC": (5, 5), "invD": (60, 40), "W": (60, 40)}, **more),
        run_record("4", {"dSdC": (5, 5), "invD": (60, 20), "W": (60, 10)}, **more),
        run_record("all", {"dSdC": (5, 5), "invD": (99, 1), "W": (119, 1)}, **more),
        run_record("auto", {"dSdC": (5, 5), "invD": (90, 6), "W": (70, 3.5)}, **more),
    ]


def test_auto_is_compared_with_the_best_static_number_in_steady_state_and_with_start_up() -> None:
    found = summary.summarise({"runs": sweep_of(), "peers": []})
    (sweep,) = found["sweeps"]
    assert sweep["best"]["steady"] == {"readers": "4", "seconds": 70}
    assert sweep["best"]["with_start_up"] == {"readers": "4", "seconds": 150}
    assert sweep["auto"]["steady"] == pytest.approx(73.5 / 70)
    assert sweep["auto"]["with_start_up"] == pytest.approx(169.5 / 150)
    assert sweep["auto"]["total"] == pytest.approx(179.5 / 160)
    assert sweep["auto_saves"]["part"] == pytest.approx(1 - 179.5 / 230)
    assert (
        "modelled disk p690-raid5, virtual time, 16 tasks, 1 writing at a time: auto took 1.05 ×"
        in (found["sentences"][0])
    )
    assert "179.5 s in all with auto, 230 s unthrottled: +22.0% saved" in found["sentences"][1]


def test_beside_no_throttling_alone_auto_is_called_better_than_nothing_else() -> None:
    found = summary.summarise({"runs": sweep_of()[2:], "peers": []})
    assert found["sweeps"][0]["auto"] is None
    (said,) = found["sentences"]
    assert said.endswith("179.5 s in all with auto, 230 s unthrottled: +22.0% saved.")


def test_where_the_disk_changes_each_half_has_its_own_best_number() -> None:
    runs = sweep_of(switch_to="ssd")
    runs[0]["phases"]["invD"]["tio_seconds"] = 10.0  # 1 is best before, 4 after
    (sweep,) = summary.summarise({"runs": runs, "peers": []})["sweeps"]
    assert (sweep["best"]["first_half"]["readers"], sweep["best"]["steady"]["readers"]) == ("1", "4")
    assert sweep["auto"]["first_half"] == pytest.approx(96 / 50)
    assert sweep["auto"]["steady"] == pytest.approx(73.5 / 70)


def test_runs_that_differ_by_more_than_their_readers_are_not_compared() -> None:
    runs = [*sweep_of(), *sweep_of(disk="ssd"), *sweep_of(cache="warm")]
    assert [[index for index, _ in sweep] for sweep in summary.sweeps_of(runs)] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9, 10, 11],
    ]


def test_auto_is_set_beside_the_best_peer() -> None:
    def found(first: float, second: float) -> dict[str, Any]:
        return {
            "first pass": {"tio_seconds": first - 1, "lbstio_seconds": 1.0},
            "second pass": {"tio_seconds": second - 1, "lbstio_seconds": 1.0},
        }

    contenders = {"Swath, auto": found(6, 3), "Swath, 1 at a time": found(2, 2), "A": found(4, 12), "B": found(5, 6)}
    peers = {"disk": "xeon-eide", "switch_to": None, "virtual": False, "tasks": 4, "contenders": contenders}
    (said,) = summary.summarise({"runs": [], "peers": [peers]})["sentences"]
    assert said == (
        "Peers, modelled disk xeon-eide, 4 tasks: Swath, auto took 1.50 × the time of the best peer, A, in the "
        "first pass, 0.50 × the time of the best peer, B, in the second pass."
    )


def printed(result: dict[str, Any]) -> list[str]:
    told = io.StringIO()
    tables.show(Console(file=told, width=110), {**result, "summary": summary.summarise(result)})
    return told.getvalue().splitlines()


def test_the_table_of_io_only_mode_has_the_shape_of_tables_6_to_8() -> None:
    lines = printed({"runs": sweep_of(), "peers": []})
    assert "modelled disk p690-raid5, virtual time" in lines[0]
    assert lines[1].split() == ["dSdC", "dSdC", "invD", "invD", "W", "W"]
    assert lines[2].split() == ["writers", "readers", "total", *["TIO", "LBSTIO"] * 3, "%", "I/O"]
    assert lines[3].split() == ["1", "1", "210", "5", "5", "60", "40", "60", "40", "100"]
    assert lines[6].split() == ["1", "auto", "179.5", "5", "5", "90", "6", "70", "3.5", "100"]
    assert "MODELLED DISK, VIRTUAL TIME; verified: checksums of all chunks" in lines[7]


def test_the_table_of_compute_mode_has_the_shape_of_table_3() -> None:
    run = run_record("1", {"dSdC": (5, 1), "invD": (60, 10), "W": (50, 7)}, mode="compute", disk=None, virtual=False)
    run["phases"]["W"]["compute_seconds"] = 744.0
    run["relative_errors"] = {"inverse": 1e-13, "products": 3e-12}
    lines = printed({"runs": [run], "peers": []})
    assert lines[2].split() == ["writers", "readers", "total", *["COMP", "I/O"] * 3, "%", "I/O"]
    assert lines[3].split() == ["1", "1", "133", "0", "6", "0", "70", "744", "57", "100"]
    assert "of the reads 100% to 100% reached the device" in lines[4]
    assert any("NumPy's within 3e-12" in line for line in lines)


def test_a_run_from_the_page_cache_is_told_to_be_one() -> None:
    runs = [run_record("1", dict.fromkeys(PHASES, (1, 1)), disk=None, device_bytes_read=0, cached_before=[0.5, 1])]
    assert "of the reads 0% to 0% reached the device" in tables.evidence_words(runs)
    assert "NOT COLD: 100.0% in the page cache before at most" in tables.evidence_words(runs)


# ---- the command -----------------------------------------------------------------------------------------------------


def bench(folder: Path, *arguments: object) -> tuple[dict[str, Any], str]:
    """`python -m swath_bench madbench` in `folder`: its JSON, and what it printed."""
    needs_mpi()
    result = subprocess.run(
        [sys.executable, "-m", "swath_bench", "madbench", *map(str, arguments), "--json", "m.json"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    assert sorted(set(os.listdir(folder)) - {"m.html"}) == ["m.json"]
    return json.loads((folder / "m.json").read_text()), result.stdout


def test_virtual_time_needs_no_ranks_and_draws_a_report(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    quick = ("--quick", "--virtual", "--disk", "ssd,p690-raid5", "--readers", "1,all,auto", "--html", "m.html")
    result, said = bench(tmp_path, *quick)
    assert [(run["disk"], run["readers"]) for run in result["runs"]] == [
        (disk, readers) for disk in ("ssd", "p690-raid5") for readers in ("1", "all", "auto")
    ]
    assert said.count("MODELLED DISK, VIRTUAL TIME") == 2
    assert "<svg" in (tmp_path / "m.html").read_text()


@pytest.mark.slow
def test_it_starts_its_ranks_and_measures_all_combinations(tmp_path: Path) -> None:
    result, said = bench(tmp_path, "--quick", "--tasks", 3, "--readers", "1,all", "--peers")
    assert [(run["writers"], run["readers"]) for run in result["runs"]] == [("all", "1"), ("all", "all")]
    for run in result["runs"]:
        assert run["bytes"] == 3 * 96 * 96 * 8
        for of in run["phases"].values():
            assert of["tio_seconds"] + of["lbstio_seconds"] <= of["seconds"]
    (peers,) = result["peers"]
    assert list(peers["contenders"]) == [
        *("Swath, auto", "Swath, unthrottled", "Swath, 1 at a time"),
        *("ROMIO, MPI.File.Read_at", "NumPy, numpy.fromfile"),
    ]
    for name, found in peers["contenders"].items():
        assert name in said
        for words in summary.PASSES:
            assert len(found[words]["tasks"]) == 3
            assert {len(steps) for steps in found[words]["tasks"]} == {3}
    assert "Swath, auto took" in said
