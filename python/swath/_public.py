"""What `swath` exports. `swath/__init__` loads this module when a program first asks for one of the names."""

from swath import pickling  # noqa: F401 - what is open can be converted and pickled from then on
from swath.advice.accesses import Access, Free
from swath.advice.advise import advise_layout
from swath.advice.joint import JointAdvice
from swath.advice.result import LayoutAdvice
from swath.array.async_operations import Future
from swath.array.counters import Counters
from swath.array.decoded import Decoded
from swath.array.file import File, FileGroup
from swath.array.open_array import Array
from swath.array.opening import create, create_file, open, open_file  # noqa: A004
from swath.array.places import Places
from swath.array.plan import Plan
from swath.array.progress import progress
from swath.array.recording import Recorded, recorded
from swath.array.redistribution import redistribute
from swath.base.c_library import get_include, get_library_dir
from swath.copying import Comparison, Copied, CopyPlan, FileComparison, FilePlan, copy, explain_copy, verify
from swath.errors import (
    ArgumentError,
    DisagreementError,
    Error,
    ExistsError,
    FormatError,
    InternalError,
    LayoutWarning,
    NotFoundError,
    OutOfMemoryError,
    SelectionError,
    StoreError,
    UnsupportedError,
    WaitWarning,
)
from swath.fft import (
    ExplainedFft,
    FftPlan,
    Transformed,
    explain_fft,
    fft2,
    fftn,
    ifft2,
    ifftn,
    irfft2,
    irfftn,
    rfft2,
    rfftn,
)
from swath.recompute import Balanced, BalancedIteration, BalancedPlan
from swath.simulation.result import Simulated
from swath.simulation.simulate import simulate
from swath.space import TABLE_1, Block, Boxes, Cyclic, Distribution, Whole, balanced_grid, table_1
from swath.throttle.throttle import stream

__all__ = [
    "TABLE_1",
    "Access",
    "ArgumentError",
    "Array",
    "Balanced",
    "BalancedIteration",
    "BalancedPlan",
    "Block",
    "Boxes",
    "Comparison",
    "Copied",
    "CopyPlan",
    "Counters",
    "Cyclic",
    "Decoded",
    "DisagreementError",
    "Distribution",
    "Error",
    "ExistsError",
    "ExplainedFft",
    "FftPlan",
    "File",
    "FileComparison",
    "FileGroup",
    "FilePlan",
    "FormatError",
    "Free",
    "Future",
    "InternalError",
    "JointAdvice",
    "LayoutAdvice",
    "LayoutWarning",
    "NotFoundError",
    "OutOfMemoryError",
    "Places",
    "Plan",
    "Recorded",
    "SelectionError",
    "Simulated",
    "StoreError",
    "Transformed",
    "UnsupportedError",
    "WaitWarning",
    "Whole",
    "advise_layout",
    "balanced_grid",
    "copy",
    "create",
    "create_file",
    "explain_copy",
    "explain_fft",
    "fft2",
    "fftn",
    "get_include",
    "get_library_dir",
    "ifft2",
    "ifftn",
    "irfft2",
    "irfftn",
    "open",
    "open_file",
    "progress",
    "recorded",
    "redistribute",
    "rfft2",
    "rfftn",
    "simulate",
    "stream",
    "table_1",
    "verify",
]
