"""How far the variables of a file are that grow along an unlimited dimension: pure counting, the same on all ranks.

records = Records.of(contents)      # t and u along time, which has 5 rows
records.wrote("t", 6)               # None: u has not written its sixth yet
records.wrote("u", 6)               # 6: time has six rows now
records.begin(contents, "v")        # a new variable along time is 6 long; append writes its row 5 first, as t and u did
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
        first: by dimension: rows that it had when the file was opened, or synced last: what is appended from then on
            to one variable or another belongs to the same records.
    """

    rows: dict[str, int] = field(default_factory=dict)
    dimension_of: dict[str, str] = field(default_factory=dict)
    length: dict[str, int] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, contents: Contents) -> Records:
        """Return the records of a file that holds so much: all its variables are as long as their dimensions.

        What nobody has written of one that was left behind reads as the fill value, and counts as written.
        """
        found = cls()
        for variable in contents.variables.values():
            first = variable.dimensions[0] if variable.dimensions else ""
            dimension = contents.dimension(variable.group, first) if first else None
            if dimension is not None and dimension.is_unlimited:
                found._follow(variable.name, contents.path_of(variable.group, first), dimension.length)
        return found

    def follow(self, contents: Contents, variable: str) -> None:
        """Count the rows of a variable too, and of all others that have its first dimension."""
        one = contents.variables[variable]
        name = one.dimensions[0] if one.dimensions else ""
        dimension = contents.dimension(one.group, name) if name else None
        if dimension is None:
            self._follow(variable, f":{variable}", one.shape[0])
            return
        path = contents.path_of(one.group, name)
        for other in contents.variables.values():
            is_along = other.dimensions[:1] == (name,) and contents.path_of(other.group, name) == path
            if is_along and other.name not in self.rows:
                self._follow(other.name, path, dimension.length)

    def _follow(self, variable: str, dimension: str, length: int) -> None:
        self.length.setdefault(dimension, length)
        self.first.setdefault(dimension, length)
        self.rows[variable] = self.length[dimension]
        self.dimension_of[variable] = dimension

    def begin(self, contents: Contents, variable: str) -> None:
        """Count the rows of a new variable too: append writes the first record that is not synced yet."""
        self.follow(contents, variable)
        self.rows[variable] = self.first[self.dimension_of[variable]]

    def synced(self) -> None:
        """Take note that all variables are as long as their dimensions, for every reader."""
        self.first = dict(self.length)

    def has_rows(self, variable: str, rows: int) -> None:
        """Take note that a variable was written to, which has so many rows: none of them is filled any more."""
        if variable in self.rows:
            self.rows[variable] = max(self.rows[variable], rows)

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
