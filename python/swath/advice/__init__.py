"""Which layout suits the accesses that a program makes: `swath.advise_layout` and `swath layout`.

accesses.py       what a program does, as text or data, turned into operations              pure
from_recorded.py  what it really did (`swath.recorded`), turned into operations             pure
coupling.py       statements that couple arrays: tiles, loops, and what they move           pure
candidates.py     orders, and chunk shapes with the lengths that the accesses suggest       pure
compression.py    what codecs make of chunks: ratios given, or measured on a sample
pricing.py        seconds of each access by a layout, from the planner and a profile
search.py         the cheapest layouts, without pricing every chunk shape there is
question.py       what is common to all arrays that advice is asked for
together.py       layouts of several arrays, chosen with the tiles that couple them
result.py         LayoutAdvice: ranked, as text, as data; what `swath.create` takes of it
joint.py          JointAdvice: that of several arrays, and their tiles
"""
