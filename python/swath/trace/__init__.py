"""Traces of runs: read here, whoever wrote them (docs/formats/trace.md). The core writes Swath's own (core/trace)."""
