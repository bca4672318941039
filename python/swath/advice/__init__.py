"""Which layout suits the accesses that a program makes: `swath.advise_layout` and `swath layout`.

accesses.py    what a program does, as text or data, turned into operations          pure
candidates.py  orders, and chunk shapes with the lengths that the accesses suggest   pure
pricing.py     seconds of each access by a layout, from the planner and a profile
search.py      the cheapest layouts, without pricing every chunk shape there is
result.py      LayoutAdvice: ranked, as text, as data; what `swath.create` takes of it
"""
