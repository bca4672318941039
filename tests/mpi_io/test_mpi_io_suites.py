"""What the runner of `make mpi-io-suites` concludes; the suites themselves take too long, and packages of Debian."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tree import PROGRAMS

SUITES = PROGRAMS / "mpi_io" / "suites"

if sys.platform != "linux":
    pytest.skip("inotify is Linux's", allow_module_level=True)

sys.path.insert(0, str(SUITES))
import comparing  # noqa: E402
import keeping  # noqa: E402
import running  # noqa: E402
import suite  # noqa: E402
import table  # noqa: E402
from workshop import Workshop  # noqa: E402

sys.path.remove(str(SUITES))

SERVED_LINES = [
    "/data/a: served, 4 ranks",
    "  collective write by direct: operations 1, bytes 8",
    "/data/b: served, 1 rank",
    "  given back to MPI at a view of another data representation",
    "/data/c: given back to MPI: sequential mode",
]


def compared(without: dict[str, str], again: dict[str, str], served: dict[str, str]) -> comparing.Compared:
    runs = [running.Outcome(statuses) for statuses in (without, again, served)]
    return comparing.Compared("case", "group", 2, *runs)


def test_a_test_is_lost_only_if_it_passed_in_both_runs_without() -> None:
    without = {"steady": suite.PASSED, "flaky": suite.PASSED, "broken": suite.FAILED}
    again = {**without, "flaky": suite.FAILED}
    found = compared(without, again, dict.fromkeys(without, suite.TIMED_OUT))
    assert found.lost() == ["steady"]
    assert compared(without, again, {}).lost() == ["steady"]  # it did not even begin
    assert compared(without, again, without).lost() == []


def test_a_test_that_passes_with_alone_is_told() -> None:
    found = compared({"a": suite.FAILED}, {"a": suite.FAILED}, {"a": suite.PASSED})
    assert found.gained() == ["a"]
    assert "gained: case" not in table.rows("s", "1", "mpich 4", [found], {})[0]
    assert "gained: a" in table.rows("s", "1", "mpich 4", [found], {})[0]


def test_files_served_and_given_back_are_counted_by_the_report() -> None:
    served, given_back = table.files_in(SERVED_LINES)
    assert served == 1
    assert given_back == {"at a view of another data representation": 1, "sequential mode": 1}


def test_holes_are_the_same_as_zeros_and_no_other_byte_is(tmp_path: Path) -> None:
    whole, holes, other = (tmp_path / name for name in ("whole", "holes", "other"))
    middle, size = 5_000_000, 20_000_000
    content = bytearray(size)
    content[middle] = 7
    whole.write_bytes(content)
    with holes.open("wb") as file:
        file.seek(middle)
        file.write(b"\7")
        file.truncate(size)
    assert holes.stat().st_blocks < whole.stat().st_blocks
    assert keeping.digest(holes) == keeping.digest(whole)
    content[middle], content[middle + 1] = 0, 7
    other.write_bytes(content)
    assert keeping.digest(other) != keeping.digest(whole)
    os.truncate(holes, size + 1)
    assert keeping.digest(holes) != keeping.digest(whole)


def test_files_that_a_program_deletes_are_kept(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    script = "for i in 1 2; do echo $i > file; sleep 0.3; rm file; done; echo 3 > left; echo 4 > .file.shfp.1"
    with keeping.Keeper(work, tmp_path / "kept"):
        assert os.system(f"cd {work} && {script}") == 0
    found = keeping.files_of(tmp_path / "kept", work, inputs=set())
    assert set(found) == {"file#0", "file#1", "left#0"}
    assert len(set(found.values())) == 3


def test_files_that_are_still_there_are_not_taken_for_deleted(tmp_path: Path) -> None:
    work, kept = tmp_path / "work", tmp_path / "kept"
    work.mkdir()
    with keeping.Keeper(work, kept):
        script = "echo 1 > a; echo 2 > b; mkdir linked; ln a linked; sleep 0.3; rm a"
        assert os.system(f"cd {work} && {script}") == 0
    assert keeping.deleted_of(kept, work) == ["a#0"]


def test_a_deleted_file_that_one_run_has_not_seen_is_no_difference_and_another_is(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, 1)
    found = compared({"": suite.PASSED}, {"": suite.PASSED}, {"": suite.PASSED})
    assert found.served
    found.without.files = found.again.files = {"gone#0": "digest", "here#0": "digest"}
    found.without.deleted = found.again.deleted = ["gone#0"]
    found.served.files = {"here#0": "digest"}
    comparing.compare_files(found, tmp_path, workshop)
    assert found.files == "1 identical"
    found.served.files = {"gone#0": "other", "here#0": "digest"}
    found.served.deleted = ["gone#0"]
    comparing.compare_files(found, tmp_path, workshop)
    assert found.worse()
    assert found.files == "1 identical; DIFFER: gone#0"
    found.served.files = {"gone#0": "digest"}
    comparing.compare_files(found, tmp_path, workshop)
    assert found.files == "1 identical; DIFFER: here"


def test_what_is_left_is_compared_by_its_name_whatever_was_deleted_before(tmp_path: Path) -> None:
    found = compared({"": suite.PASSED}, {"": suite.PASSED}, {"": suite.PASSED})
    assert found.served
    found.without.files = found.again.files = {"file#0": "first", "file#1": "last"}
    found.without.deleted = found.again.deleted = ["file#0"]
    found.served.files = {"file#0": "last"}  # the first was gone too soon
    comparing.compare_files(found, tmp_path, Workshop(tmp_path, 1))
    assert found.files == "1 identical"
    found.served.files = {"file#0": "another"}
    comparing.compare_files(found, tmp_path, Workshop(tmp_path, 1))
    assert found.files == "0 identical; DIFFER: file"
