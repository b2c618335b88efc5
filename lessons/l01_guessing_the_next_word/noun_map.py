"""The embeddings of nouns as a map, for the key picture: words that are used alike are neighbours."""

from __future__ import annotations

from course_lib.views.picture import WIDTH
from course_lib.views.plane import Plane
from course_lib.views.svg import belongs, dot, note, width_of, word
from lessons.l01_guessing_the_next_word.embeddings import embeddings_of, first_two_components, nouns_by_form

DRINKS = ("lait", "jus", "thé", "café")  # that the network expects in the key picture
MAP = Plane(left=508, top=92, width=228, height=312, x=(-0.46, 0.88), y=(-0.58, 0.86))
GROUPS = {"places": (0.1, 0.56), "people,": (0.1, -0.3), "animals": (0.1, -0.38), "food": (0.2, 0.14)}


def places() -> dict[str, tuple[float, float]]:
    """Where each noun is, in the plane in which these nouns vary most; only singular ones, and no things."""
    nouns = [name for name, (noun, plural) in nouns_by_form().items() if not plural and noun.kind != "thing"]
    return dict(zip(nouns, map(tuple, first_two_components(embeddings_of(nouns)).tolist()), strict=True))


def draw(nouns: dict[str, tuple[float, float]]) -> str:
    """Every noun a dot; its name beside it where there is room."""
    spots = {name: MAP.at(*place) for name, place in nouns.items()}
    vectors, plane = embeddings_of(list(nouns)), sum(x * x + y * y for x, y in nouns.values())
    held = plane / (vectors - vectors.mean(dim=0)).square().sum().item()
    told = [
        f"{len(nouns)} singular nouns: people, animals, places,",
        "food and drinks, in the plane in which their",
        f"vectors vary most: {held:.0%} of the variance",
    ]
    out = note(MAP.left, MAP.top - 38, told, 11)
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in spots.values()]
    for name, place in GROUPS.items():
        (x, y), wide = MAP.at(*place), width_of(name, 13)
        out += word(x, y, name, 13, bold=True)
        taken.append((x - wide / 2, y - 12, x + wide / 2, y + 4))
    for name, (x, y) in sorted(spots.items(), key=lambda each: each[0] not in DRINKS):
        fill, wide = ("accent" if name in DRINKS else "soft"), width_of(name, 11)
        out += dot(x, y, 3, "accent" if name in DRINKS else "calm", None, **belongs(tip=name))
        beside = [(x + 6, y + 4), (x - 6 - wide, y + 4), (x - wide / 2, y + 15), (x - wide / 2, y - 6)]
        for left, base in beside:
            spot = left, base - 9, left + wide, base + 2
            if left + wide < WIDTH - 6 and not any(_overlap(spot, other) for other in taken):
                out += word(left + wide / 2, base, name, 11, fill, bold=name in DRINKS)
                taken.append(spot)
                break
    return out


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether two rectangles (left, top, right, bottom) have an area in common."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
