"""Prints the requirements of Swath and its benchmarks, one a line, for `pip install -r`.

So the Makefile can install all other packages before Swath compiles. With names of extras it prints the requirements
for building Swath and for these extras, without those of the benchmarks.
"""

import re
import sys

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib

OWN = r"(swath|swath-bench)(\[(?P<extras>.*)\])?(?![\w-])"
"""Swath or its benchmarks, optionally with extras: swath[mpi,hdf5]."""


def settings_of(path):
    """Return the content of a pyproject.toml."""
    with open(path, "rb") as file:
        return tomllib.load(file)


def without_own(requirements, extras):
    """Return requirements without Swath and its benchmarks; extras of the two are replaced by their requirements."""
    for requirement in requirements:
        own = re.match(OWN, requirement)
        if own is None:
            yield requirement
        elif own["extras"]:
            yield from without_own((one for name in own["extras"].split(",") for one in extras[name]), extras)


swath, benchmarks = settings_of("pyproject.toml"), settings_of("benchmarks/pyproject.toml")
extras = swath["project"]["optional-dependencies"]
wanted = [*swath["build-system"]["requires"], *swath["project"]["dependencies"]]
for name in sys.argv[1:] or extras:
    wanted += extras[name]
if not sys.argv[1:]:
    wanted += [*benchmarks["build-system"]["requires"], *benchmarks["project"]["dependencies"]]
    wanted += [one for extra in benchmarks["project"]["optional-dependencies"].values() for one in extra]
print("\n".join(dict.fromkeys(without_own(wanted, extras))))
