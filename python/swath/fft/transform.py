"""The definition of a transform: its axes, lengths and numbers, by the rules of scipy.fft. Pure."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from swath.errors import ArgumentError

Extents = tuple[int, ...]
Dtype = np.dtype[Any]

COMPLEX, FROM_REAL, TO_REAL = "complex", "from real", "to real"
KINDS = {
    "fftn": (COMPLEX, False),
    "ifftn": (COMPLEX, True),
    "rfftn": (FROM_REAL, False),
    "irfftn": (TO_REAL, True),
}
"""For each transform: the kind of numbers, and whether it is an inverse."""
NORMS = ("backward", "ortho", "forward")
AS_IT_IS = -1
"""Instead of a length in `s`: the length of the axis."""


@dataclasses.dataclass(frozen=True)
class Transform:
    """A transform, checked.

    Attributes:
        name: "fftn", "ifftn", "rfftn" or "irfftn".
        axes: the axes to transform, each once; for a real transform, the last one is the real one.
        lengths: of the transform along each of them: longer axes are cut off, shorter ones are filled with zeros.
        norm: "backward", "ortho" or "forward".
        shape: of the source.
        source_dtype: the source's dtype, in native byte order.
    """

    name: str
    axes: tuple[int, ...]
    lengths: tuple[int, ...]
    norm: str
    shape: Extents
    source_dtype: Dtype

    @property
    def kind(self) -> str:
        """The kind of numbers: what real numbers become, or what becomes real."""
        return KINDS[self.name][0]

    @property
    def is_inverse(self) -> bool:
        """Whether the sign of the exponent is plus."""
        return KINDS[self.name][1]

    @property
    def real_axis(self) -> int | None:
        """The axis of a real transform that is halved; None for a complex one."""
        return None if self.kind == COMPLEX or not self.axes else self.axes[-1]

    @property
    def real_dtype(self) -> Dtype:
        """The real dtype of its precision: float32 for float16, float32 and complex64, float64 for integers."""
        dtype = self.source_dtype
        if dtype.kind not in "fc":
            return np.dtype(np.float64)
        return np.zeros(0, np.result_type(dtype, np.float32)).real.dtype

    @property
    def complex_dtype(self) -> Dtype:
        """The complex dtype of its precision."""
        return np.result_type(self.real_dtype, np.complex64)

    def length(self, axis: int) -> int:
        """Return the length of the transform along an axis."""
        return self.lengths[self.axes.index(axis)]

    def length_before(self, axis: int) -> int:
        """Return the number of elements along an axis before the transform."""
        n = self.length(axis)
        return n // 2 + 1 if self.kind == TO_REAL and axis == self.real_axis else n

    def length_after(self, axis: int) -> int:
        """Return the number of elements along an axis after the transform."""
        n = self.length(axis)
        return n // 2 + 1 if self.kind == FROM_REAL and axis == self.real_axis else n

    def shape_after(self, done: Collection[int]) -> Extents:
        """Return the shape after these axes are transformed. The other axes are already without what is cut off."""
        return tuple(
            n if d not in self.axes else self.length_after(d) if d in done else min(n, self.length_before(d))
            for d, n in enumerate(self.shape)
        )

    def dtype_after(self, done: Collection[int]) -> Dtype:
        """Return the dtype after these axes are transformed."""
        if not done:
            return self.source_dtype
        return self.real_dtype if self.kind == TO_REAL and self.real_axis in done else self.complex_dtype

    def dtype_at_work(self, done: Collection[int]) -> Dtype:
        """Return the dtype of the input of the next axis, after these axes are transformed."""
        if done or self.kind == TO_REAL or self.source_dtype.kind == "c":
            return self.complex_dtype
        return self.real_dtype

    def permuted(self, dimensions: Sequence[int]) -> Transform:
        """Return the transform of the transposed array, whose dimension d is dimension `dimensions[d]` of this one."""
        place = {axis: d for d, axis in enumerate(dimensions)}
        return dataclasses.replace(
            self,
            axes=tuple(place[axis] for axis in self.axes),
            shape=tuple(self.shape[d] for d in dimensions),
        )


def make_transform(name: str, shape: Extents, dtype: Dtype, s: Any, axes: Any, norm: Any) -> Transform:
    """Check the arguments. Raises ArgumentError where scipy.fft would raise ValueError or TypeError."""
    native = dtype.newbyteorder("=")
    if native.kind not in "biufc":
        raise ArgumentError(f"{name}: elements are {dtype}: expected numbers")
    if norm is not None and norm not in NORMS:
        raise ArgumentError(f"{name}: norm {norm!r}: expected one of {', '.join(NORMS)}, or None for the first")
    lengths = None if s is None else _integers(name, "s", s)
    chosen = _axes(name, len(shape), axes, lengths)
    kind = KINDS[name][0]
    if kind != COMPLEX and not chosen:
        raise ArgumentError(f"{name}: axes {axes!r}: expected at least one, which is the real one")
    if kind == FROM_REAL and native.kind == "c":
        raise ArgumentError(f"{name}: elements are {dtype}: expected real numbers; fftn transforms complex ones")
    if lengths is None:
        lengths = tuple(shape[axis] for axis in chosen)
        if kind == TO_REAL:
            lengths = (*lengths[:-1], 2 * (lengths[-1] - 1))
    lengths = tuple(shape[a] if n == AS_IT_IS else n for a, n in zip(chosen, lengths, strict=True))
    for axis, n in zip(chosen, lengths, strict=True):
        if n < 1 or shape[axis] < 1:
            raise ArgumentError(
                f"{name}: axis {axis}, of {shape[axis]} elements, would be transformed with {n}: expected at least 1; "
                "give the lengths with s="
            )
    return Transform(name, chosen, lengths, norm or "backward", shape, native)


def _integers(name: str, what: str, values: Any) -> tuple[int, ...]:
    try:
        return tuple(operator.index(value) for value in ([values] if np.ndim(values) == 0 else values))
    except TypeError:
        raise ArgumentError(f"{name}: {what} {values!r}: expected integers") from None


def _axes(name: str, ndim: int, axes: Any, lengths: tuple[int, ...] | None) -> tuple[int, ...]:
    if axes is None:
        count = ndim if lengths is None else len(lengths)
        if count > ndim:
            raise ArgumentError(f"{name}: s has {count} lengths, but the array has {ndim} dimensions")
        return tuple(range(ndim - count, ndim))
    given = _integers(name, "axes", axes)
    chosen = tuple(axis + ndim if axis < 0 else axis for axis in given)
    if any(not 0 <= axis < ndim for axis in chosen) or len(set(chosen)) < len(chosen):
        raise ArgumentError(f"{name}: axes {axes!r}: expected different ones of the array's {ndim} dimensions")
    if lengths is not None and len(lengths) != len(chosen):
        raise ArgumentError(f"{name}: s has {len(lengths)} lengths, for {len(chosen)} axes")
    return chosen
