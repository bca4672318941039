"""The completions that shells get for the command line `swath`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from swath.commands import cli, completion

Capture = pytest.CaptureFixture[str]

COMPLETE = """
source completion
name=$(complete -p swath | sed 's/.*-F \\([^ ]*\\).*/\\1/')
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
"$name" swath "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def printed(capsys: Capture, shell: str) -> str:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--print-completion", shell])
    assert ended.value.code in (None, 0)
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (("cal",), {"calibrate"}),
        (("copy", "--ax"), {"--axes"}),
        (("copy", "s"), {"sst.nc", "scratch"}),
        (("calibrate", ""), {"scratch"}),
        (("bench", "nc"), {"ncio"}),
        (("--print-completion", ""), set(completion.SHELLS)),
    ],
)
def test_bash_completes(words: tuple[str, ...], completed: set[str], tmp_path: Path, capsys: Capture) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    (tmp_path / "completion").write_text(printed(capsys, "bash"))
    (tmp_path / "sst.nc").touch()
    (tmp_path / "scratch").mkdir()
    command = [bash, "-eu", "-c", COMPLETE, "bash", "swath", *words]
    environment = {**os.environ, "PATH": sysconfig.get_path("scripts") + os.pathsep + os.environ["PATH"]}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=20, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.split()) == completed


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_what_is_printed_is_a_program_of_the_shell(shell: str, tmp_path: Path, capsys: Capture) -> None:
    found = shutil.which(shell)
    text = printed(capsys, shell)
    assert all(command in text for command in cli.COMMANDS)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "completion").write_text(text)
    subprocess.run([found, "-n", tmp_path / "completion"], timeout=20, check=True)


def test_another_shell_is_refused(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--print-completion", "tcsh"])
    assert "tcsh" in capsys.readouterr().err
