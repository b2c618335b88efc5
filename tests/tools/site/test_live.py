"""The first page of the site: its engine computes what torch computes with the same weights."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from course_lib.text.toy.generate import generate
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import load_shipped
from tools.site import live

SENTENCES = sorted({pair.src_text for pair in generate(230, seed=77, length=(3, 25))})[:200]


def reference(name: str) -> list[dict]:
    """What torch makes of the sentences."""
    shipped = load_shipped(name)
    found = translate(SENTENCES, shipped.model, shipped.tokenizer, with_weights=name != "seq2seq")
    return [
        {
            "source": shipped.tokenizer.encode(answer.source),
            "words": shipped.tokenizer.encode(answer.target),
            "maps": [] if answer.weights is None else answer.weights.movedim(2, 0).tolist(),
        }
        for answer in found
    ]


# How many answers have the same words, and how far their attention weights are apart.
COMPARE = """
async function compare(engine, scripts, expected) {
  globalThis.LIVE = { weights: {} };
  for (const script of scripts) (0, eval)(script);
  const results = {};
  for (const [name, answers] of Object.entries(expected)) {
    const weights = await engine.readWeights(LIVE.weights[name]);
    const found = { same: 0, apart: 0, n_maps: 0 };
    for (const answer of answers) {
      const { words, maps } = engine[name](weights, answer.source);
      found.same += JSON.stringify(words) === JSON.stringify(answer.words);
      answer.maps.forEach((layers, i) => {
        const numbers = maps[i].flat(2);
        for (const [j, weight] of layers.flat(2).entries()) {
          found.apart = Math.max(found.apart, Math.abs(weight - numbers[j]));
        }
        found.n_maps += 1;
      });
    }
    results[name] = found;
  }
  return results;
}
"""


def parity_inputs() -> tuple[list[str], dict]:
    return list(live.weights_scripts().values()), {name: reference(name) for name in live.SYSTEMS}


def assert_parity(results: dict) -> None:
    assert list(results) == list(live.SYSTEMS)
    for name, found in results.items():
        assert found["same"] == len(SENTENCES), name
        assert found["apart"] < 1e-4, name
        assert (found["n_maps"] > 1000) == (name != "seq2seq")


@pytest.mark.skipif(not shutil.which("node"), reason="node, which runs the page's engine, isn't installed")
def test_the_engine_in_node_equals_torch(tmp_path):
    scripts, expected = parity_inputs()
    (tmp_path / "engine.mjs").write_text(live.read("engine.js"), encoding="utf-8")
    (tmp_path / "given.json").write_text(json.dumps([scripts, expected]), encoding="utf-8")
    program = (
        'import fs from "node:fs";\nimport * as engine from "./engine.mjs";\n'
        f'{COMPARE}\nconst given = JSON.parse(fs.readFileSync(new URL("given.json", import.meta.url)));\n'
        "console.log(JSON.stringify(await compare(engine, ...given)));\n"
    )
    (tmp_path / "run.mjs").write_text(program, encoding="utf-8")
    ran = subprocess.run(["node", str(tmp_path / "run.mjs")], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert_parity(json.loads(ran.stdout))


@pytest.mark.parametrize("past", [False, True])
def test_attention_gets_the_growing_sentence_right_and_one_vector_fails_at_a_length_it_has_learned(past):
    parts = live.growing(past=past)
    grown = [parts[:n] for n in range(1, len(parts) + 1)]
    texts, rights = ([" ".join(part[key] for part in some) for some in grown] for key in ("text", "right"))
    answers = {}
    for name in ("seq2seq", "bahdanau"):
        shipped = load_shipped(name)
        answers[name] = [answer.target for answer in translate(texts, shipped.model, shipped.tokenizer)]
    assert answers["bahdanau"] == rights
    assert len(texts[2].split()) <= live.page_data()["longest"] < len(texts[3].split())
    assert [answer == right for answer, right in zip(answers["seq2seq"], rights, strict=True)] == [
        True,
        True,
        False,
        False,
    ]
