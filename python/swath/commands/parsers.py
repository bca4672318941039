"""The parser of `swath` and its subcommands: argparse's, with errors of a closed output, and late arguments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from swath.errors import Error

EXIT_ERROR = 2
"""The exit status if the request could not be carried out; argparse uses it for wrong arguments, too."""


class Command(Protocol):
    """A module with a subcommand. It may also have DESCRIPTION, EPILOG and USAGE, as argparse takes them."""

    HELP: str

    def add_arguments(self, parser: Parser) -> None:
        """Add what the subcommand takes."""

    def run(self, options: argparse.Namespace) -> int:
        """Carry it out; returns the exit status."""


class Parser(argparse.ArgumentParser):
    """argparse's parser, but an error while it prints (a closed pipe) is raised.

    A subcommand whose arguments come from another package adds them late: when they are parsed or completed. So other
    subcommands do not import that package, which may be absent.
    """

    _late: Callable[[Parser], None] | None = None

    def add_arguments_late(self, add: Callable[[Parser], None]) -> None:
        """Register `add`, which is called once, with this parser. It raises Error if it cannot add arguments."""
        self._late = add

    def add_late_arguments(self) -> None:
        """Add the late arguments now, unless they were added. Raises the errors of adding them."""
        if self._late is not None:
            self._late(self)
            self._late = None

    def parse_known_args(self, args: Iterable[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse as argparse does. If arguments cannot be added, print the error in one line, and exit."""
        try:
            self.add_late_arguments()
        except Error as error:
            self.exit(EXIT_ERROR, f"swath: {error}\n")
        return super().parse_known_args(args, namespace)

    def _print_message(self, message: str, file: Any = None) -> None:
        if message:
            (file or sys.stderr).write(message)


def add_command(subparsers: Any, name: str, command: Command) -> None:
    """Add a subcommand by its name."""
    texts = {key.lower(): getattr(command, key, None) for key in ("HELP", "DESCRIPTION", "EPILOG", "USAGE")}
    parser: Parser = subparsers.add_parser(name, formatter_class=argparse.RawDescriptionHelpFormatter, **texts)
    command.add_arguments(parser)
    parser.set_defaults(own_parser=parser)
    parser.add_argument("--traceback", action="store_true", help="for developers: show where an error was raised")
