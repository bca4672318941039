"""Benchmarks: compare Swath with other libraries and with the best that the file could give, in one run.

`python -m swath_bench --help`, or `swath bench --help`, lists the benchmarks; the command starts its own
ranks. Each benchmark is one module with

- `Options`: its sizes; `quick_options()` are small ones;
- `needs(options)`: the needed bytes of memory and disk;
- `run(ranks, path, options)`: the measurements, on the ranks;
- `summarise(result)`: medians and ratios, from the measurements alone;
- `show(console, result)`: the tables;
- `measure(options, folder, keep)`, if it starts ranks more than once, or other programs: the whole measurement; `keep`
  gets the results so far.

All benchmarks follow these rules. Contenders take turns within each repetition, in another order each time, so a
machine that gets slower gets slower for all, and no contender always follows the same other one. The first repetition
is not counted. Of the others the fastest and the slowest are dropped, and the median (for NCIO the mean) is given with
the range of the rest (the protocol of Ching et al., *Evaluating I/O Characteristics and Methods for Storing Structured
Scientific Data*, 2006: 6 repetitions without the high and the low).
A time runs from the first rank's start to the last rank's end. Arrays in memory have been touched before. All data are
checked after every transfer, also those of the peers, and a wrong element ends the run.
"""
