"""Transforms a panel by scipy.fft: in place if possible, else in small steps from one buffer to another."""

from __future__ import annotations

import functools
import itertools
import mmap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.copying.pipeline import elements_in
from swath.errors import UnsupportedError
from swath.fft.passes import PanelPass
from swath.fft.transform import FROM_REAL, TO_REAL, Transform

Elements = npt.NDArray[Any]
Buffer = npt.NDArray[np.uint8]
HUGE_BYTES = 32 << 20
"""Buffers of at least this size may be made of huge pages."""


def scipy_fft() -> Any:
    """Return the module scipy.fft. Raises UnsupportedError if it is not installed."""
    try:
        import scipy.fft
    except ImportError:
        raise UnsupportedError("Fourier transforms need scipy: pip install 'swath[fft]'") from None
    return scipy.fft


class Buffers:
    """Memory for panels, used again for one after the other; it is freed when this object is destroyed.

    Args:
        count: of buffers.
        nbytes: of each.
    """

    def __init__(self, count: int, nbytes: int) -> None:
        self._free = [_anonymous(nbytes) for _ in range(count)]

    def take(self) -> Buffer:
        """Return a free buffer."""
        return self._free.pop()

    def give(self, buffer: Buffer | None) -> None:
        """Take a buffer back; None is ignored."""
        if buffer is not None:
            self._free.append(buffer)


def _anonymous(nbytes: int) -> Buffer:
    """Return memory that goes back to the system when it is freed: malloc may keep what is freed."""
    memory = mmap.mmap(-1, max(nbytes, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if nbytes >= HUGE_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8)


def panel_to_read(plan: PanelPass, buffer: Buffer, extents: Sequence[int]) -> tuple[Elements, Elements]:
    """Return a panel in a buffer, and the part of it that is read: for a transform in place, it may be smaller."""
    dtype = plan.transform.dtype_after(plan.done)
    if plan.leaves_what_it_read:
        values = elements_in(buffer, dtype, tuple(extents), plan.order)
        return values, values
    values = elements_in(buffer, dtype, _lengthened(plan, extents), plan.order)
    _clear_beyond(values, extents)
    return values, values[tuple(slice(0, n) for n in extents)]


def transformed(plan: PanelPass, values: Elements, work: Buffer | None, written: Buffer | None) -> Elements:
    """Return a panel with the axes of a pass transformed: in the same memory, or in `written`.

    Args:
        plan: the pass.
        values: the panel from `panel_to_read`.
        work: for passes that need it, see `PanelPass.works_between`.
        written: for passes that are not `PanelPass.is_in_place`.
    """
    transform, axes = plan.transform, list(plan.axes)
    if not axes:
        return values
    if plan.leaves_what_it_read:
        axis = axes.pop(0)
        goal = written if work is None else work
        assert goal is not None
        extents = list(_lengthened(plan, values.shape))
        extents[axis] = transform.length_before(axis) if axis != transform.real_axis else transform.length_after(axis)
        longer = elements_in(goal, plan.dtype_between, tuple(extents), plan.order)
        filled = [slice(0, n) for n in values.shape]
        filled[axis] = slice(None)
        _in_steps(plan, values, longer[tuple(filled)], axis)
        _clear_beyond(longer, [n if d != axis else longer.shape[d] for d, n in enumerate(values.shape)])
        values = longer
    last = axes.pop() if transform.kind == TO_REAL and transform.real_axis in axes else None
    for axis in axes:
        result = _function(transform, axis)(values, axis=axis, norm=transform.norm, workers=plan.threads)
        if not np.may_share_memory(result, values):
            values[...] = result
    if last is None:
        return values
    assert written is not None
    shape = tuple(transform.length_after(d) if d == last else n for d, n in enumerate(values.shape))
    result = elements_in(written, transform.real_dtype, shape, plan.order)
    _in_steps(plan, values, result, last)
    return result


def _lengthened(plan: PanelPass, extents: Sequence[int]) -> tuple[int, ...]:
    """Return the lengths of a panel that has the transform's input lengths along the axes of a pass."""
    return tuple(plan.transform.length_before(d) if d in plan.axes else n for d, n in enumerate(extents))


def _in_steps(plan: PanelPass, source: Elements, target: Elements, axis: int) -> None:
    """Transform along one axis from memory to memory, some lines at a time: scipy.fft allocates memory for them."""
    transform = plan.transform
    dtype = transform.dtype_at_work(plan.done)
    call = functools.partial(
        _function(transform, axis), axis=axis, n=transform.length(axis), norm=transform.norm, workers=plan.threads
    )
    for part in _parts(source.shape, axis, plan.step_elements(source.size, axis), plan.order):
        target[part] = call(source[part].astype(dtype, copy=False))


def _parts(shape: Sequence[int], axis: int, elements: int, order: Sequence[int]) -> Iterator[tuple[slice, ...]]:
    """Yield the parts of an array that are whole along an axis and have up to `elements` elements, or one line."""
    extents, size = list(shape), int(np.prod(shape, dtype=np.int64))
    for d in order:
        if d != axis and size > elements and extents[d] > 0:
            one = size // extents[d]
            extents[d] = max(elements // one, 1)
            size = one * extents[d]
    cuts = [[slice(b, min(b + e, n)) for b in range(0, n, max(e, 1))] for n, e in zip(shape, extents, strict=True)]
    cuts[axis] = [slice(None)]
    yield from itertools.product(*cuts)


def _function(transform: Transform, axis: int) -> Callable[..., Elements]:
    fft = scipy_fft()
    if axis == transform.real_axis and transform.kind == FROM_REAL:
        return fft.rfft  # type: ignore[no-any-return]
    if axis == transform.real_axis and transform.kind == TO_REAL:
        return fft.irfft  # type: ignore[no-any-return]
    return functools.partial(fft.ifft if transform.is_inverse else fft.fft, overwrite_x=True)


def _clear_beyond(values: Elements, extents: Sequence[int]) -> None:
    """Set the elements after these lengths to zero."""
    for d, n in enumerate(extents):
        values[(*([slice(None)] * d), slice(n, None))] = 0
