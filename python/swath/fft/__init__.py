"""Fourier transforms of arrays in files that are larger than memory."""

from swath.fft.explain import ExplainedFft
from swath.fft.plan import FftPlan
from swath.fft.run import Transformed, explain_fft, fft2, fftn, ifft2, ifftn, irfft2, irfftn, rfft2, rfftn

__all__ = [
    "ExplainedFft",
    "FftPlan",
    "Transformed",
    "explain_fft",
    "fft2",
    "fftn",
    "ifft2",
    "ifftn",
    "irfft2",
    "irfftn",
    "rfft2",
    "rfftn",
]
