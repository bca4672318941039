"""Benchmarks: Swath beside its peers and beside the best that the file could give, in one run.

`python -m swath_bench --help`, or `swath bench --help`, tells what there is; it starts its own
ranks. Each benchmark is one module with

- `Options`: its sizes; `quick_options()` are small ones;
- `needs(options)`: the memory and the disk that it takes, bytes;
- `run(ranks, path, options)`: the measurements, on the ranks;
- `summarise(result)`: medians and ratios, from the measurements alone;
- `show(console, result)`: the tables;
- `measure(options, folder, keep)`, where it starts ranks more than once, or other programs: all of it, `keep` given
  what there is so far.

Rules of measuring, for all of them: contenders take turns within each repetition, in another order each time, so that a
machine that gets slower gets slower for all, and nobody always follows the same neighbour; the first repetition is not
counted; of the others the fastest and the slowest are dropped, and the median (of NCIO the mean) stands with the range
of the rest (the protocol of Ching et al., *Evaluating I/O Characteristics and Methods for Storing Structured Scientific
Data*, 2006: 6 repetitions without the high and the low);
a time runs from the first rank's start to the last rank's end; arrays in memory have been touched before; all data is
checked after every transfer, the peers' too, and a wrong element ends the run.
"""
