"""Prints all that pyproject.toml asks of other packages, one a line, as `pip install -r` reads it.

So the Makefile can install everything but Swath itself before Swath compiles. With names of extras: what building and
these extras need.
"""

import re
import sys

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib

with open("pyproject.toml", "rb") as file:
    settings = tomllib.load(file)

project = settings["project"]
extras = project["optional-dependencies"]


def required_by(names):
    """What some extras require; an extra may be made of others: swath[mpi,hdf5]."""
    for requirement in (requirement for name in names for requirement in extras[name]):
        others = re.match(r"swath\[(.*)\]", requirement)
        if others:
            yield from required_by(others[1].split(","))
        else:
            yield requirement


wanted = [*settings["build-system"]["requires"], *project["dependencies"], *required_by(sys.argv[1:] or extras)]
print("\n".join(dict.fromkeys(wanted)))
