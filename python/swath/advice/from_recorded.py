"""Recorded operations, converted to accesses with a price. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from swath.advice import accesses as made
from swath.advice.accesses import Access
from swath.array.recording import Form, RecordedArray, Start
from swath.array.recording import Operations as Recording
from swath.space import Selection

LETTERS = "ijklmn"


def accesses_of(array: RecordedArray) -> list[made.Operations]:
    """Return the operations on the array, priced at some of their places."""
    return [(_of_boxes if one.boxes else _of_selection)(one, array.shape) for one in array.operations]


def _of_selection(recording: Recording, shape: tuple[int, ...]) -> made.Operations:
    places = _spread(sorted(recording.places.items()))
    selections = tuple(_selection(start, recording.form) for start, _ in places)
    return made.Operations(
        _text(recording, [start for start, _ in sorted(recording.places.items())]),
        recording.direction,
        float(recording.times),
        selections,
        recording.distribution,
        recording.ranks,
        made.lengths_at_once(Access(distribution=recording.distribution), selections[0]),
        tuple(float(times) for _, times in places),
        tuple(recording.decomposition(start, shape) for start, _ in places),
    )


def _of_boxes(recording: Recording, shape: tuple[int, ...]) -> made.Operations:
    every = [box for of_rank in recording.boxes for box in of_rank]
    longest = [max((high[d] - low[d] for low, high in every), default=0) for d in range(len(shape))]
    text = f"{len(every)} boxes over {recording.ranks} ranks"
    return made.Operations(
        ("write " if recording.direction == "write" else "") + text,
        recording.direction,
        float(recording.times),
        (tuple((0, 1, n, False) for n in shape),),
        None,
        recording.ranks,
        tuple(max(n, 1) for n in longest),
        (),
        (recording.decomposition((), shape),),
    )


def _spread(places: list[tuple[Start, int]]) -> list[tuple[Start, int]]:
    """Return a few of the places, from the first to the last."""
    most = made.PLACES_OF_WINDOWS
    if len(places) <= most:
        return places
    return [places[n * (len(places) - 1) // (most - 1)] for n in range(most)]


def _selection(start: Start, form: Form) -> Selection:
    return tuple((at, step, count, dropped) for at, (step, count, dropped) in zip(start, form, strict=True))


def _text(recording: Recording, starts: Sequence[Start]) -> str:
    """Return it in the notation of an access: a letter stands for several places."""
    items = []
    for d, (step, count, dropped) in enumerate(recording.form):
        letter = LETTERS[d] if d < len(LETTERS) else f"i{d}"
        first, moves = starts[0][d], len({start[d] for start in starts}) > 1
        by = "" if step == 1 else f":{step}"
        if dropped:
            items.append(letter if moves else str(first))
        elif moves:
            items.append(f"{letter}:{letter}+{count * abs(step)}{by}")
        else:
            stop = first + count * step
            items.append(f"{first}:{stop if stop >= 0 else ''}{by}")
    text = f"[{', '.join(items)}]"
    if recording.distribution is not None:
        text += " by " + ", ".join(repr(rule).lower() for rule in recording.distribution.rules)
    if recording.rank is not None:
        text += f", rank {recording.rank}'s"
    return ("write " if recording.direction == "write" else "") + text
