"""The tutorials, notebooks in docs/tutorials, run from the first cell to the last; they are kept without output."""

from __future__ import annotations

import json
import os
import sysconfig
from pathlib import Path

import pytest

from mpi_runs import needs_mpi
from tree import ROOT

TUTORIALS = sorted(ROOT.glob("docs/tutorials/*.ipynb"))
CELL_SECONDS_MAX = 60


@pytest.mark.slow
@pytest.mark.parametrize("notebook", TUTORIALS, ids=lambda path: path.stem)
def test_every_cell_of_a_tutorial_runs(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_mpi()
    pytest.importorskip("h5py")
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    monkeypatch.delenv("SWATH_PROFILE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HYDRA_LAUNCHER", "fork")
    monkeypatch.setenv("PATH", sysconfig.get_path("scripts") + os.pathsep + os.environ["PATH"])
    (tmp_path / "work").mkdir()
    cells = nbformat.read(notebook, as_version=4)
    where = {"metadata": {"path": str(tmp_path / "work")}}
    nbclient.NotebookClient(cells, timeout=CELL_SECONDS_MAX, resources=where).execute()


@pytest.mark.parametrize("notebook", TUTORIALS, ids=lambda path: path.stem)
def test_tutorials_are_kept_without_output(notebook: Path) -> None:
    cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    assert cells
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
