"""Prints all that pyproject.toml asks of other packages, one a line, as `pip install -r` reads it.

So the Makefile can install everything but Swath itself before Swath compiles.
"""

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib

with open("pyproject.toml", "rb") as file:
    settings = tomllib.load(file)

project = settings["project"]
groups = [settings["build-system"]["requires"], project["dependencies"], *project["optional-dependencies"].values()]
for requirement in (requirement for group in groups for requirement in group):
    if not requirement.startswith("swath["):  # an extra that is made of others
        print(requirement)
