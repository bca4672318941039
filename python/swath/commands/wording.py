"""Rewrites messages of the package for the command line: options in place of the names of Python's arguments."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Mapping

ALIASES = {
    "casting": "cast",
    "checkpoint_bytes": "checkpoint",
    "selection": "select",
    "distribution": "dist",
    "axis": "axes",
}
"""Arguments in Python whose options have other names on the command line."""
SOURCE = "source_"
"""The prefix of the options that describe a raw source."""
WHOLE = {"resume=True": "--resume", "resume=False": "--restart", "variable=": "FILE:VARIABLE"}
"""Arguments with values that correspond to options without values, and an argument without an option."""

_VALUE = r"""True|False|None|"[^"]*"|'[^']*'|\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}|-?\w[\w.+-]*"""
_ARGUMENT = re.compile(rf"(?<![\w./-])(?P<name>[a-z_]+)=(?P<value>{_VALUE})?")
_TWICE = re.compile(r"(?P<first>--[\w-]+(?: [\w.=-]+)?|FILE:VARIABLE)(?:, (?P=first)| \((?P=first)\))")


def in_options(message: str, command: argparse.ArgumentParser) -> str:
    """Return a message with the options of a subcommand in place of Python's arguments.

    >>> parser = argparse.ArgumentParser()
    >>> _ = parser.add_argument("--chunks")
    >>> in_options("leave out chunks=(8, 8), or chunks= altogether", parser)
    'leave out --chunks 8,8, or --chunks altogether'
    """
    options = {action.dest: action.option_strings[-1] for action in command._actions if action.option_strings}
    flags = {action.dest for action in command._actions if action.nargs == 0}

    def option(found: re.Match[str]) -> str:
        name, value = found["name"], found["value"]
        if found[0] in WHOLE and (name in options or name == "variable"):
            return options.get(name, WHOLE[found[0]]) if name == "variable" else WHOLE[found[0]]
        dest = ALIASES.get(name, name)
        if dest not in options and SOURCE + dest in options:
            dest = SOURCE + dest
        if dest not in options:
            return found[0]
        if value is None or dest in flags:
            return options[dest]
        return f"{options[dest]} {_as_typed(value)}"

    translated = _ARGUMENT.sub(option, message)
    while (shorter := _TWICE.sub(r"\g<first>", translated)) != translated:
        translated = shorter
    return translated


def _as_typed(value: str) -> str:
    """Return a value in the form of the command line: (8, 8) as 8,8, {"time": 6} as time=6."""
    try:
        plain = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value
    if isinstance(plain, Mapping):
        return ",".join(f"{key}={item}" for key, item in plain.items())
    if isinstance(plain, (tuple, list)):
        return ",".join(map(str, plain))
    return str(plain)
