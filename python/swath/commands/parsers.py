"""The parser of `swath` and of its subcommands: argparse's, but for what is printed to nobody, and late arguments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from swath.errors import Error

EXIT_ERROR = 2
"""The request could not be carried out; argparse uses the same status for wrong arguments."""


class Command(Protocol):
    """A module with a subcommand. It may also have DESCRIPTION, EPILOG and USAGE, as argparse takes them."""

    HELP: str

    def add_arguments(self, parser: Parser) -> None:
        """Add what the subcommand takes."""

    def run(self, options: argparse.Namespace) -> int:
        """Carry it out; returns the exit status."""


class Parser(argparse.ArgumentParser):
    """As argparse's, which does not say when nobody reads the help that it prints.

    A subcommand whose arguments are those of another package adds them late: when they are parsed or completed. So the
    other subcommands need not import that package, which may be absent.
    """

    _late: Callable[[Parser], None] | None = None

    def add_arguments_late(self, add: Callable[[Parser], None]) -> None:
        """`add` is called once, with this parser; it raises Error where it cannot add them."""
        self._late = add

    def add_late_arguments(self) -> None:
        """Add them now, where they were not added yet. Raises what adding them raises."""
        if self._late is not None:
            self._late(self)
            self._late = None

    def parse_known_args(self, args: Iterable[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """As argparse's; ends the process, with what is wrong in one line, where arguments cannot be added."""
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
