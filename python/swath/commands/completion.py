"""`swath --print-completion SHELL`: the completion script of a shell, which shtab makes from the parsers."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from swath.commands.parsers import Parser
from swath.errors import UnsupportedError

SHELLS = ("bash", "zsh", "fish")

_FILES = ("FILE", "TARGET", "SOURCE", "A[", "B[")
_FOLDERS = ("DIR", "FOLDER")


class PrintCompletion(argparse.Action):
    """The option that prints the completion script of the whole command line, and exits."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Print the script. shtab is imported here only, because it loads slowly."""
        import shtab

        for action in _actions(parser):
            name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
            if name.startswith(_FILES):
                setattr(action, "complete", shtab.FILE)  # noqa: B010 - argparse does not declare it
            elif name.startswith(_FOLDERS):
                setattr(action, "complete", shtab.DIRECTORY)  # noqa: B010
        print(shtab.complete(parser, str(values)))
        parser.exit()


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield every argument of a parser and of its subparsers."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                if isinstance(below, Parser):
                    with contextlib.suppress(UnsupportedError):  # the package is not installed
                        below.add_late_arguments()
                yield from _actions(below)
