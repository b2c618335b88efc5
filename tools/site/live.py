"""The first page of the site: two translators that run in it, and the lessons.

    write_live(extra)          # index.html, live/*.js, which it loads, and both as one file, translators.html

The page has the weights of three shipped systems, in half precision as in their checkpoints. Its own code is
in live/: engine.js computes, picture.js draws, words.js reads what is typed, landing.js brings them together.
"""

from __future__ import annotations

import base64
import html
import json
import re
import zlib
from collections import Counter, defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import numpy as np

from course_lib.models.translator import Translator
from course_lib.results import mean_over_seeds, runs, value_at
from course_lib.teaching.contents import Lesson, lessons
from course_lib.text.toy.lexicon import lexicon
from course_lib.text.toy.realisation import realise
from course_lib.text.toy.splits import SIZES, splits
from course_lib.text.toy.tree import Clause, Phrase
from course_lib.translation.shipped import load_shipped
from tools.site.quizzes import STATIC

SOURCES = Path(__file__).with_name("live")
SYSTEMS = ("seq2seq", "bahdanau", "transformer")
PROGRAM = ("engine.js", "picture.js", "words.js", "landing.js")
MODULE_SYNTAX = re.compile(r"^(?:import .*;\n|export )", re.M)  # the files become one plain script
ABOUT = {
    "bahdanau": "Bahdanau’s system",
    "transformer": "the four heads of its second decoder layer, averaged",
}
N_FOLLOWERS = 12  # words that the page offers after a word


def write_live(extra: Path) -> None:
    """Write the page into a folder that goes to the site as it is."""
    (extra / "live").mkdir()
    scripts = weights_scripts()
    for name, script in scripts.items():
        (extra / "live" / f"{name}.js").write_text(script, encoding="utf-8")
    at_once = "".join(f'<script src="live/{name}.js"></script>\n' for name in SYSTEMS[:2])
    (extra / "index.html").write_text(landing_page(at_once, below_the_translators()), encoding="utf-8")
    (extra / "translators.html").write_text(landing_page(inline(scripts), ""), encoding="utf-8")
    (extra / "404.html").write_text(read("404.html"), encoding="utf-8")


# ---- the weights


def weights_script(model: Translator, name: str) -> str:
    """`LIVE.weights[name] = {shapes, data}`: all upper bytes, then all lower ones, to compress better."""
    weights = {key: weight.half().numpy() for key, weight in model.state_dict().items()}
    numbers = np.concatenate([weight.ravel() for weight in weights.values()]).astype("<f2")
    lower, upper = numbers.view(np.uint8).reshape(-1, 2).T
    data = base64.b64encode(zlib.compress(upper.tobytes() + lower.tobytes(), 9)).decode()
    packed = {"shapes": {key: weight.shape for key, weight in weights.items()}, "data": data}
    return f'LIVE.weights["{name}"] = {json.dumps(packed, separators=(",", ":"))};'


def weights_scripts() -> dict[str, str]:
    return {name: weights_script(load_shipped(name).model, name) for name in SYSTEMS}


def inline(scripts: dict[str, str]) -> str:
    """The scripts as parts of a page that loads nothing."""
    return "".join(f"<script>{script}</script>\n" for script in scripts.values())


# ---- words, sentences, and how often each translator is right


@cache
def page_data() -> dict:
    """What the page's code calls LIVE."""
    pairs = splits().train
    next_words: dict[str, Counter] = defaultdict(Counter)
    meanings: dict[str, Counter] = defaultdict(Counter)
    for pair in pairs:
        for before, word in pairwise(("", *pair.src)):
            next_words[before][word] += 1
        english: dict[int, list[str]] = defaultdict(list)
        for i, j in sorted(pair.links):
            english[j].append(pair.src[i])
        for j, words in english.items():
            full = [word for word in words if word not in ("do", "does", "did")]
            meanings[pair.tgt[j]][" ".join(full or words)] += 1
    grown = {past: growing(past=past) for past in (False, True)}
    return {
        "words": load_shipped(SYSTEMS[0]).tokenizer.vocabulary,
        "english": sorted({word for counts in next_words.values() for word in counts}),
        "followers": {
            before: [word for word, _ in counts.most_common(N_FOLLOWERS)]
            for before, counts in sorted(next_words.items())
        },
        "meanings": {word: counts.most_common(1)[0][0] for word, counts in sorted(meanings.items())},
        "longest": max(len(pair.src) for pair in pairs),
        "start": grown[False][0],
        "clauses": {"present": grown[False][1:], "past": grown[True][1:]},
        "past": sorted({verb.en[2] for verb in lexicon().verbs} | {"did", "was", "were"}),
        "rates": rates(),
        "about": ABOUT,
        "weights": {},
    }


def growing(*, past: bool) -> list[dict[str, str]]:
    """The example, then each clause that makes it longer, with their translations by the toy grammar."""
    words = lexicon()
    clauses = [
        Clause(Phrase(words.noun("woman")), words.verb("look for"), Phrase(words.noun("bread"))),
        Clause(Phrase(words.noun("king")), words.verb("eat"), Phrase(words.noun("soup")), joined_by="and"),
        Clause(
            Phrase(words.noun("horse"), plural=True, after=words.quality("sad", words.noun("horse"))),
            words.verb("drink"),
            Phrase(words.noun("milk")),
            joined_by="and",
        ),
        Clause(
            Phrase(words.noun("dog"), before=words.quality("small", words.noun("dog"))),
            words.verb("see"),
            Phrase(words.noun("church")),
            joined_by="but",
        ),
    ]
    parts: list[dict[str, str]] = []
    for n_clauses in range(1, len(clauses) + 1):
        pair = realise(clauses[:n_clauses], past=past)
        text, right = (
            whole.removeprefix(" ".join(part[key] for part in parts)).strip()
            for key, whole in (("text", pair.src_text), ("right", pair.tgt_text))
        )
        parts.append({"text": text, "right": right})
    return parts


def rates() -> list[dict]:
    """For each group of lengths: which percentage of the test sentences each system gets entirely right."""
    groups = []
    for split in ("test", "long"):
        for words in runs("toy_ladder")[0]["scores"][split]["by_length"]:
            path = ("scores", split, "by_length", words, "exact")
            exact = mean_over_seeds("toy_ladder", lambda run, path=path: 100 * value_at(run, *path))
            percents = {name: f"{exact[name]:.0f}%" if exact[name] >= 1 else "under 1%" for name in SYSTEMS}
            groups.append({"words": words, "most": int(words.split("–")[1]), **percents})
    return groups


# ---- the page


def landing_page(weights: str, below: str) -> str:
    """The page; `weights` are the scripts with the weights, `below` is what comes after the translators."""
    program = "\n".join(MODULE_SYNTAX.sub("", read(name)) for name in PROGRAM)
    data = json.dumps(page_data(), ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    icon = (STATIC / "icon.svg").read_text(encoding="utf-8")
    parts = {
        "icon": f"data:image/svg+xml,{quote(icon)}",
        "style": read("landing.css"),
        "n_pairs": f"{SIZES['train']:,}",
        "data": f"const LIVE = {data};",
        "weights": weights,
        "program": program,
        "below": below,
    }
    return filled("landing.html", parts)


def below_the_translators() -> str:
    """How to start, and all lessons with their questions."""
    all_lessons = lessons()
    items = [
        f'<li><a href="{page_of(lesson)}">{lesson.number} · {html.escape(lesson.title)}</a>'
        f'<span class="soft">{html.escape(lesson.question)}</span></li>'
        for lesson in all_lessons
    ]
    parts = {"first": page_of(all_lessons[0]), "n_lessons": str(len(items)), "lessons": "".join(items)}
    return filled("below.html", parts)


def page_of(lesson: Lesson) -> str:
    return f"notebooks/{lesson.notebook.removesuffix('.ipynb')}.html"


def read(name: str) -> str:
    return (SOURCES / name).read_text(encoding="utf-8")


def filled(name: str, parts: dict[str, str]) -> str:
    """A file of live/ with each {{mark}} replaced."""
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], read(name))
