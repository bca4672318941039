"""Prints all that Swath and its benchmarks ask of other packages, one a line, as `pip install -r` reads it.

So the Makefile can install everything but the two themselves before Swath compiles. With names of extras: what building
Swath and these extras of it need, and nothing of the benchmarks.
"""

import re
import sys

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib

OWN = r"(swath|swath-bench)(\[(?P<extras>.*)\])?(?![\w-])"
"""Swath, or its benchmarks, perhaps with extras: swath[mpi,hdf5]."""


def settings_of(path):
    """What a pyproject.toml says."""
    with open(path, "rb") as file:
        return tomllib.load(file)


def without_own(requirements, extras):
    """The same without Swath and its benchmarks; in the place of extras of them stands what these require."""
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
