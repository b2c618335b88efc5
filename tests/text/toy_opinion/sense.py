"""What a careful reader would stumble over: a pronoun with two readings, contradictions, two tenses."""

from __future__ import annotations

from itertools import combinations, pairwise

from toy_opinion.words import GENDER, KIND, UNCOUNTED

LIVING = "man woman animal"
CAN_BE = dict.fromkeys(["thirsty", "hungry", "sleepy", "tired", "happy", "young", "fat"], LIVING)
CAN_BE |= dict.fromkeys(["old", "big", "small", "beautiful"], f"{LIVING} thing place")
CAN_BE |= dict.fromkeys(("clean", "dirty"), f"{LIVING} thing place")
CAN_BE |= dict.fromkeys(
    ("cold", "hot"), "man woman drink food thing place"
)  # animals never say that they are
CAN_BE |= {"rich": "man woman", "ripe": "food", "sweet": "food drink"}
CAN_BE |= {"good": "food drink thing place", "sad": f"{LIVING} place"}
CAN_BE |= {"empty": "thing place", "shady": "place", "quiet": f"{LIVING} place", "heavy": f"{LIVING} thing"}
ALL = f"{LIVING} food drink thing place"
CAN_BE_DONE_TO = dict.fromkeys(["see", "look-at", "look-for", "find", "like", "love"], ALL)
CAN_BE_DONE_TO |= {"follow": f"{LIVING} thing place", "eat": "food animal", "drink": "drink"}
CAN_BE_DONE_TO |= dict.fromkeys(("buy", "sell"), "animal food drink thing")
CAN_BE_DONE_TO |= {
    "take": f"{LIVING} food drink thing",
    "carry": f"{LIVING} food drink thing",
    "wear": "thing",
}
CAN_BE_DONE_TO |= {"wash": f"{LIVING} food thing", "open": "thing place", "close": "thing place"}
CLASHES = ["big small little fat", "young old new", "red white black", "cold hot", "clean dirty", "happy sad"]
CLASHES += ["empty full", "little old"]
ONCE = ("find", "eat", "drink", "buy", "sell", "take")


def check(english: list[dict], antecedents: dict, heads: dict) -> None:
    for index, note in enumerate(english):
        before = [one for one in english[:index] if one["kind"] == "phrase"]
        if note["kind"] == "pronoun":
            state = english[index + 1]
            noun = heads[antecedents[note["at"][0]]]
            noun["said"].append(state["quality"])
            assert not state["denied"], "a reason is given, not denied"
            kinds = CAN_BE[state["quality"]].split()
            assert KIND[noun["noun"]] in kinds, f"{noun['noun']} is {state['quality']}"
            one_reading(noun, before, kinds)
            if state["quality"] == "sleepy":
                one_reading(noun, [one for one in before if one["noun"] == "village"], ["place"])
        elif note["kind"] == "verb" and note["object"]:
            others = [one for one in before if one is not note["subject"]]  # nobody sees himself
            (word, (at,)) = note["object"]
            if at in antecedents:
                one_reading(heads[antecedents[at]], others, CAN_BE_DONE_TO[note["name"]].split())
            else:
                gender = "m" if word == "him" else "f"
                alone = [one["noun"] for one in others if not one["plural"]]
                rivals = [one for one in alone if GENDER[one] == gender or KIND[one] == "animal"]
                assert not rivals, f"{word} could be {rivals}"
                assert note["name"] not in ("like", "love"), "l' aimait: him, her or it?"
    consistent(english)
    reasons_come_last(english)
    for note in english:
        if note["kind"] == "verb":
            at = note["object"] and note["object"][1][0]
            done(note, note["thing"] or heads.get(antecedents.get(at)))


def done(note: dict, thing: dict | None) -> None:
    """What is done can be done to that, and as often as it says."""
    name, noun = note["name"], thing and thing["noun"]
    assert name != "carry" or noun not in ("hat", "dress"), "porter un chapeau is to wear it"
    assert name != "wash" or "clean" not in thing["said"], f"wash a clean {noun}"
    if name in ONCE and (note["often"] or note["when"] == "every-day"):
        many = thing["plural"] and thing["det"] == "the" and not note["object"]
        assert noun in UNCOUNTED or many, f"often {name} {thing['det']} {noun}"


def reasons_come_last(english: list[dict]) -> None:
    joints = [index for index, one in enumerate(english) if one.get("word") in ("and", "but", "because")]
    for index in joints:
        if english[index]["word"] == "because":
            last = [one for one in english[:index] if one["kind"] in ("verb", "state")][-1]
            assert last["level"] == 0, "the water that he bought because it was cold"
            assert index == joints[-1], "because it was sleepy and the queens were young"


def one_reading(noun: dict, before: list[dict], kinds: list[str]) -> None:
    """Nothing else of these kinds goes by the same pronoun, in English or in French."""
    rivals = [
        one["noun"]
        for one in before
        if one is not noun and one["plural"] == noun["plural"] and KIND[one["noun"]] in kinds
        if GENDER[one["noun"]] == GENDER[noun["noun"]] or called(one) == called(noun)
    ]
    assert not rivals, f"a pronoun for {noun['noun']} could be {rivals}"


def called(noun: dict) -> str:
    return "they" if noun["plural"] else {"man": "he", "woman": "she"}.get(KIND[noun["noun"]], "it")


def consistent(english: list[dict]) -> None:
    assert len({note["past"] for note in english if "past" in note}) == 1, "two tenses"
    phrases = [note for note in english if note["kind"] == "phrase"]
    for names in (
        [one["noun"] for one in phrases],
        [one["name"] for one in english if one["kind"] == "verb"],
    ):
        assert len(names) == len(set(names)), f"twice: {names}"
    for phrase in phrases:
        for one, other in combinations(phrase["said"], 2):
            clash = one == other or any({one, other} <= set(row.split()) for row in CLASHES)
            assert not clash, f"{phrase['noun']} is {one} and {other}"
    for note, ground in pairwise(english):
        if note["kind"] == "place" and note["word"] in ("in", "on", "under") and note["head"]:
            assert note["head"]["plural"] or not ground["plural"], f"one {note['head']['noun']}, many places"
        if note["kind"] == "place" and note["word"] == "in":
            assert "empty" not in ground["said"], f"somebody in an empty {ground['noun']}"


def needs_sense(pair, english: list[dict]) -> bool:
    """Whether a noun before the pronoun goes by the same English word, and by another French one."""
    ((at, noun_at),) = pair.antecedents
    before = [one for one in english if one["kind"] == "phrase" and one["at"][-1] < at]
    (noun,) = (one for one in before if one["at"][-1] == noun_at)
    return any(called(one) == called(noun) and GENDER[one["noun"]] != GENDER[noun["noun"]] for one in before)
