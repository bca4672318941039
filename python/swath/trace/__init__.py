"""Readers of traces of runs by any tracer (docs/formats/trace.md). The core writes the traces of Swath (core/trace)."""
