"""`swath layout`: the table, the payback of a copy, and the copy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import swath
from swath.commands import cli


def test_layout_prints_the_table_of_advise_layout(capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["[:, j]:10", "[i, :]:1"]
    given = [word for text in texts for word in ("--access", text)]
    assert cli.main(["layout", *given, "512,256", "f4"]) == 0
    assert capsys.readouterr().out == str(swath.advise_layout(texts, (512, 256), "f4"))
    assert cli.main(["layout", *given, "512,256", "f4", "--json", "--formats", "npy,raw", "--cached", "1"]) == 0
    plain = json.loads(capsys.readouterr().out)
    advice = swath.advise_layout(texts, (512, 256), "f4", formats=("npy", "raw"), cached=1)
    assert plain["ranked"] == json.loads(json.dumps(advice.to_dict()["ranked"]))


def test_layout_of_a_file_says_whether_a_copy_pays_and_makes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = np.random.default_rng(0).random((256, 320))
    source, target = tmp_path / "a.npy", tmp_path / "b.h5"
    np.save(source, values)
    how = ["layout", "--access", "[:, j]:50", "--access", "[i, :]:50", "--file", str(source), "--formats", "hdf5"]
    assert cli.main(how) == 0
    assert "pay" in capsys.readouterr().out
    assert sorted(tmp_path.iterdir()) == [source]
    assert cli.main([*how, "--apply", str(target), "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    with swath.open(target) as b:
        np.testing.assert_array_equal(b[...], values)
        assert list(b.chunks or ()) == (plain["ranked"][0]["chunks"] or [])
    assert cli.main([*how, "--apply", str(target)]) == 2
    assert "exists" in capsys.readouterr().err
    assert cli.main([*how, "--apply", str(target), "--overwrite"]) == 0
    assert str(target) in capsys.readouterr().out


def test_a_target_that_cannot_have_the_layout_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "a.npy", np.zeros((64, 64)))
    how = ["layout", "--access", "[:, j]", "--file", str(tmp_path / "a.npy"), "--apply", str(tmp_path / "b.nc")]
    assert cli.main(how) == 2
    assert "cannot be stored as netcdf4" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--access", "[:]"], "SHAPE"),
        (["--access", "[:]", "8", "f8", "--apply", "b.npy"], "--file"),
        (["--access", "[:]", "8", "f8", "--cached", "some"], "--cached"),
        (["--access", "[:]", "8", "f8", "--formats", "tape"], "formats"),
        (["--access", "[:]", "8", "f8", "--file", "a.npy"], "leave them out"),
        (["--access", "columns", "8", "f8"], "columns"),
    ],
)
def test_what_cannot_be_is_one_line_and_status_2(
    given: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["layout", *given]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
