"""`swath bench` without the package of the benchmarks: other commands do not need it; this one says how to get it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from swath.commands import bench

HIDDEN = f"""
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] == "{bench.PACKAGE}" else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = map(Without, sys.meta_path)
"""
"""No module finder finds the package."""
COMMAND = "from swath.commands import cli\nsys.exit(cli.main(sys.argv[1:]))"
LOADED = f"print([name for name in sys.modules if name.partition('.')[0] == '{bench.PACKAGE}'])"


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_other_commands_load_no_module_of_the_benchmarks() -> None:
    pytest.importorskip(bench.PACKAGE)
    done = run(f"import sys\nfrom swath.commands import cli\ncli.parser().parse_args(['info', 'a.npy'])\n{LOADED}")
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
    done = run(f"import sys\nfrom swath.commands import cli\ncli.parser().parse_args(['bench', 'ncio'])\n{LOADED}")
    assert f"'{bench.PACKAGE}.ncio'" in done.stdout, "the benchmarks are found where they are asked for"


@pytest.mark.parametrize("arguments", [(), ("ncio", "--quick"), ("--quick",), ("--help",)])
def test_without_the_benchmarks_one_sentence_says_how_to_get_them(arguments: tuple[str, ...]) -> None:
    done = run(HIDDEN + COMMAND, "bench", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"swath: {bench.MISSING}\n")


def test_without_the_benchmarks_help_and_completion_have_the_command() -> None:
    done = run(HIDDEN + COMMAND, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\n    bench " in done.stdout
    done = run(HIDDEN + COMMAND, "--print-completion", "bash")
    assert (done.returncode, done.stderr) == (0, "")
    assert "_shtab_swath_bench_option_strings" in done.stdout
    assert "madbench" not in done.stdout
