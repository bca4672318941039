"""How far the variables of a file are that grow along an unlimited dimension: pure counting, the same on all ranks.

records = Records.of(contents)      # t and u along time, which has 5 rows
records.wrote("t", 6)               # None: u has not written its sixth yet
records.wrote("u", 6)               # 6: time has six rows now
"""

from __future__ import annotations

from dataclasses import dataclass, field

from swath.formats.contents import Contents


@dataclass
class Records:
    """The rows of each variable, and of each dimension that they grow along.

    Attributes:
        rows: by variable: those that all ranks have written.
        dimension_of: by variable: the path of its first dimension, "ocean/time". One without a name is the variable's
            own, ":ocean/t".
        length: by dimension: rows that every reader sees.
    """

    rows: dict[str, int] = field(default_factory=dict)
    dimension_of: dict[str, str] = field(default_factory=dict)
    length: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, contents: Contents) -> Records:
        """Return the records of a file that holds so much: all its variables are as long as their dimensions."""
        found = cls()
        for variable in contents.variables.values():
            first = variable.dimensions[0] if variable.dimensions else ""
            dimension = contents.dimension(variable.group, first) if first else None
            if dimension is None or not dimension.is_unlimited:
                continue
            found.follow(variable.name, _path_of(contents, variable.group, first), dimension.length)
            found.rows[variable.name] = dimension.length
        return found

    def follow(self, variable: str, dimension: str, length: int) -> None:
        """Count the rows of one more variable, which has none yet, along a dimension that is so long."""
        self.rows[variable] = 0
        self.dimension_of[variable] = dimension
        self.length.setdefault(dimension, length)

    def wrote(self, variable: str, rows: int) -> int | None:
        """Take note that a variable has so many rows. Return the new length of its dimension where it grows."""
        self.rows[variable] = rows
        dimension = self.dimension_of[variable]
        least = min(self.rows[v] for v, d in self.dimension_of.items() if d == dimension)
        return least if least > self.length[dimension] else None

    def has_length(self, dimension: str, rows: int) -> None:
        """Take note that a dimension has so many rows for every reader."""
        self.length[dimension] = rows

    def unfinished(self) -> list[tuple[str, int]]:
        """Return the dimensions of which some variable has rows that others, or readers, have not, and how many."""
        found = []
        for dimension, length in self.length.items():
            rows = [self.rows[v] for v, d in self.dimension_of.items() if d == dimension]
            longest = max([length, *rows])
            if longest > length or any(n < longest for n in rows):
                found.append((dimension, longest))
        return found

    def behind(self, dimension: str, rows: int) -> list[str]:
        """Return the variables along a dimension that have fewer rows."""
        return [v for v, d in self.dimension_of.items() if d == dimension and self.rows[v] < rows]


def _path_of(contents: Contents, group: str, dimension: str) -> str:
    """Return the path of the dimension that a name means as seen from a group."""
    while group and dimension not in contents.groups[group].dimensions:
        group = group.rpartition("/")[0]
    return f"{group}/{dimension}".lstrip("/")
