"""The access patterns of NCIO: regions of equal size at equal distances, in the file and in memory.

Source: Ching, Choudhary, Liao, Ward, Pundit, *Evaluating I/O Characteristics and Methods for Storing Structured
Scientific Data* (2006), section 4 and figure 3.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from swath_bench.measure import VALUE_BYTES, stamped

Values = npt.NDArray[np.int64]

UNTOUCHED = -1
"""Value of the memory before a read; between the regions also after it."""
GAP_STAMP = 0
"""The stamp of the elements between the regions of the file, which no contender may write."""


@dataclasses.dataclass(frozen=True)
class Pattern:
    """One access of `ranks` ranks, `count` regions each. Memory and file are arrays of rows, one row a region.

    A row is a region and, if noncontiguous, the spacing after it. In a noncontiguous file the ranks' regions come in
    turn: row 5 of 2 ranks is region 2 of rank 1. In a contiguous one each rank has one block of rows. In memory, row 2
    is region 2.

    Attributes:
        ranks: number of ranks.
        count: regions of each rank.
        region_bytes: bytes of each region, a multiple of 8.
        spacing_bytes: bytes between regions if noncontiguous, a multiple of 8.
        case: "c-c", "nc-c", "c-nc" or "nc-nc": memory first, then file.
    """

    ranks: int
    count: int
    region_bytes: int
    spacing_bytes: int
    case: str

    @property
    def memory_spaced(self) -> bool:
        """Whether the case has noncontiguous memory."""
        return self.case.startswith("nc-")

    @property
    def file_spaced(self) -> bool:
        """Whether the case has a noncontiguous file."""
        return self.case.endswith("-nc")

    @property
    def memory_noncontiguous(self) -> bool:
        """Whether a rank's regions are noncontiguous in memory; with a spacing of 0 they are not."""
        return self.memory_spaced and self.spacing_bytes > 0 and self.count > 1

    @property
    def file_noncontiguous(self) -> bool:
        """Whether a rank's regions are noncontiguous in the file: spacing, or other ranks' regions, lie between."""
        return self.file_spaced and (self.spacing_bytes > 0 or self.ranks > 1) and self.count > 1

    @property
    def units(self) -> int:
        """Elements of a region."""
        return self.region_bytes // VALUE_BYTES

    @property
    def file_shape(self) -> tuple[int, int]:
        """Rows and elements of a row of the file."""
        return self.ranks * self.count, self.units + (self.spacing_bytes // VALUE_BYTES if self.file_spaced else 0)

    @property
    def file_bytes(self) -> int:
        """Bytes of the whole file."""
        return self.file_shape[0] * self.file_shape[1] * VALUE_BYTES

    @property
    def memory_shape(self) -> tuple[int, int]:
        """Rows and elements of a row of one rank's memory."""
        return self.count, self.units + (self.spacing_bytes // VALUE_BYTES if self.memory_spaced else 0)

    @property
    def memory_bytes(self) -> int:
        """Bytes of one rank's memory."""
        return self.memory_shape[0] * self.memory_shape[1] * VALUE_BYTES

    @property
    def bytes(self) -> int:
        """Bytes of the regions of all ranks: the useful bytes."""
        return self.ranks * self.count * self.region_bytes

    def first_element(self, rank: int) -> int:
        """Return where in the file, in elements, region 0 of `rank` begins."""
        return rank * self.file_shape[1] * (1 if self.file_spaced else self.count)

    def region_elements(self, rank: int, begin: int, end: int) -> Values:
        """Return the file's elements that regions [begin, end) of `rank` are: one row a region."""
        stride = self.file_shape[1] * (self.ranks if self.file_spaced else 1)
        firsts = self.first_element(rank) + stride * np.arange(begin, end, dtype=np.int64)
        return firsts[:, None] + np.arange(self.units, dtype=np.int64)

    def file_image(self, begin: int, end: int, stamp: int) -> Values:
        """Return rows [begin, end) of the file whose regions carry `stamp`."""
        width = self.file_shape[1]
        elements = np.arange(begin * width, end * width, dtype=np.int64).reshape(-1, width)
        image = stamped(elements, GAP_STAMP)
        image[:, : self.units] = stamped(elements[:, : self.units], stamp)
        return image
