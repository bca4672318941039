"""Finds the layout for the accesses of a program: `swath.advise_layout` and `swath layout`.

accesses.py       the accesses of a program, as text or data, converted to operations    pure
from_recorded.py  recorded accesses (`swath.recorded`), converted to operations          pure
coupling.py       statements that couple arrays: tiles, loops, and what they move        pure
candidates.py     orders, and chunk shapes of the lengths that the accesses suggest      pure
compression.py    compression ratios of chunks: given, or measured on a sample
pricing.py        seconds of each access with a layout, from the planner and a profile
search.py         the cheapest layouts, found without the price of every chunk shape
question.py       the facts that all arrays of a question share
together.py       layouts of several arrays, chosen with the tiles that couple them
result.py         LayoutAdvice: ranked, as text, as data; the arguments for `swath.create`
joint.py          JointAdvice: the advice for several arrays, and their tiles
"""
