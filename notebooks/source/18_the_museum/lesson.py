# Lesson 18 · the source. Edit this file, then run `python3 -m course_lib build 18`; the notebook is made from it.

# %% [markdown] kind="title" minutes=0.5
r"""
# 18 · The museum

**The question:** which of all these systems is best, by how much, and why?

About {minutes} minutes. You have met every system on the road but one. You need the score functions from [lesson 07](07_score_functions.ipynb), the block from [lesson 13](13_the_block.ipynb), and BLEU and the beam from lesson 16.
"""

# %% [markdown] kind="goals" minutes=0.5
r"""
After this lesson you can

1. **explain** ConvS2S and its attention in several steps;
2. **decide** whether three seeds carry a lead, and **test** code that decides it;
3. **build** a judge of claims, and **defend** one claim of your own with seeds and splits;
4. **read** an ablation table, the paper's and ours, and **say** which rows mean something;
5. **read** *Attention Is All You Need* from beginning to end.
"""

# %% kind="setup" minutes=0.5
from dataclasses import replace
from statistics import mean

import torch

from course_lib import views
from course_lib.explore import Leaderboard
from course_lib.formatting import fixed
from course_lib.models.museum import COLUMNS, HIGHER, REAL, TOY, runs_of, table
from course_lib.models.registry import build, make_config
from course_lib.teaching import check, estimate, explain, predict, quiz
from course_lib.teaching import recorded, start_lesson, yours
from course_lib.text.encoded import encode_corpus
from course_lib.text.toy.generate import generate
from course_lib.text.words import WordTokenizer
from course_lib.training.recipe import Recipe
from course_lib.training.train import train
from course_lib.translation.shipped import load_shipped

start_lesson("the_museum", seed=18)

# %% [markdown] kind="text" minutes=0.25
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall" minutes=1.5
quiz("18", "recall")

# %% [markdown] kind="text" minutes=0.75
r"""
## 1 · All of them in one hall

Each system was the best of its year, in its own paper: on its own data, at its own size, with its own tricks. Nobody can compare such numbers. So we trained **every system again**:

- one task each: English to our toy French, German to English captions (Multi30k), or the next word;
- one size: within a tenth of 400,000 parameters for the toy translators, 9.4 million on Multi30k, 120,000 for language models;
- one recipe, and one way to decode;
- three seeds. A *seed* starts the random numbers: first weights, order of sentences, dropout. Another seed is the same experiment with other luck.
"""

# %% kind="see" minutes=0.5
events = {
    1948: ["N-gram"],
    2003: ["Window MLP"],
    2010: ["RNN"],
    2012: ["LSTM"],
    2013: ["RCTM"],
    2014: ["GRU", "RNN encoder-decoder", "Sequence to sequence"],
    2015: ["Bahdanau", "Luong global", "Luong local", "Residual connections"],
    2016: ["LSTMN"],
    2017: ["Key-value-predict", "Structured self-attention", "ConvS2S", "Transformer"],
}
views.timeline(events, title="The road: first as a language model or translator")

# %% [markdown] kind="text" minutes=1
r"""
Their numbers stand in one table, a {term:leaderboard}: a row for each system, a column for each thing that was measured. Columns come in kinds.

- **By split.** A split is a set of sentences kept apart for one purpose. *test* is like training; *21 to 30* and *31 to 40 words* are longer than anything in training; *depth* nests deeper; *recombination* joins words that never met.
- **By phenomenon.** A {term:phenomenon} is one thing that a language asks for: negation, questions, the right pronoun. Only the sentences that have it are counted.
- **By cost.** Parameters, seconds of training (15 runs at a time on one H200), words a second when decoding (one CPU thread).
- **By data.** The toy language, and real captions in BLEU.

A residual connection is a part, not a system. Its row is the Transformer *without* it.
"""

# %% kind="diagram" minutes=0.25 hide_input=true
PARTS = {
    "runs": (0, 0.5), "seeds": (1, 0.5), "columns": (2, 0), "rivals": (2, 1),
    "claim": (3, 0.5), "limits": (4, 0.5),
}
ARROWS = [("runs", "seeds"), ("seeds", "columns"), ("seeds", "rivals")]
ARROWS += [("columns", "claim"), ("rivals", "claim"), ("claim", "limits")]
views.diagram(PARTS, ARROWS, lit="runs", title="From runs to a claim")

# %% [markdown] kind="text" minutes=1
r"""
## 2 · The last exhibit: ConvS2S

One system has had no lesson yet: **ConvS2S** (Gehring, Auli, Grangier, Yarats and Dauphin, 2017), a month older than the Transformer. Encoder and decoder are stacks of convolutions ([lesson 05](05_distance_between_words.ipynb)) with gates (lesson 03), residual paths and learned positions. So it has no recurrence either, and trains on all positions at once.

New was {term:multi-step attention}: **every layer of the decoder looks at the source**, and each layer knows what the layers below it found.

Think of a treasure hunt. Under the first stone lies a note: "look behind the oak". Only who has read the note knows where the second look must go. One look, however wide, cannot do that.

**By hand.** Three words with keys (5, 0), (0, 5), (−5, −5). The query (1, 0) has the scores 5, 0, −5: it finds the first word. That word's *value* is the note (−1, 1). Add it to the query: (1, 0) + (−1, 1) = (0, 1). Its scores: 0, 5, −5. The second look finds the second word.
"""

# %% kind="example" minutes=0.5
soft_lookup = yours("soft_lookup")
keys = torch.tensor([[5.0, 0.0], [0.0, 5.0], [-5.0, -5.0]])
values = torch.tensor([[-1.0, 1.0], [0.0, 8.0], [0.0, 0.0]])
state = torch.tensor([1.0, 0.0])
for look in (1, 2):
    found, weights = soft_lookup(state, keys, values)
    print(f"look {look}: query {fixed(state, 2)}, weights {fixed(weights, 2)}")
    state = state + found

# %% [markdown] kind="formula" minutes=1
r"""
In layer $l$ of the decoder, for one position:

$$ h = \text{gated convolution}(x^{l-1}), \qquad d = W h + b + g, \qquad c = \sum_j \text{softmax}_j(d \cdot z_j)\,(z_j + e_j), \qquad x^l = h + U c + x^{l-1} $$

| symbol | what it is |
|---|---|
| $x^{l-1}$, $x^l$ | the position's state below and above the layer |
| $g$ | the word just said, with its position |
| $d$ | the query: state and word |
| $z_j$ | key of source word $j$: what the encoder made of it |
| $z_j + e_j$ | its value: the plain word $e_j$ is in it, too |

It is one head, and the dot product is not divided by $\sqrt{d_k}$. (Sums are multiplied by $\sqrt{1/2}$ to keep their size; left out here.) And this is the same, trained:
"""

# %% kind="see" minutes=1
convs2s = load_shipped("convs2s")
said = convs2s("the cat drank the water because it was thirsty", with_weights=True)
assert said.target == "le chat a bu l' eau parce qu' il avait soif"
views.gallery(
    {f"layer {n + 1}": layer[0] for n, layer in enumerate(said.weights)},
    rows=said.target_tokens, columns=said.source_tokens,
    row_name="said", column_name="looked at",
    alt="Where each of the three decoder layers of ConvS2S looks, for one sentence.",
)

# %% kind="quiz" minutes=1
quiz("18", "convs2s")

# %% [markdown] kind="text" minutes=1
r"""
Look at the row of *il* in the picture: layer 1 looks at *the cat*, layer 2 at *was*, layer 3 at *it*. Three looks, three places. (Weights show where it looks, not why: in *… because it was cold*, where *elle* means the water, layer 1 looks at *was* and *the cat* all the same.)

## 3 · What three seeds can carry

A friend tells you: "My system has 98.5%, yours 97.7. Mine is better." You look at the seeds. His: 98.6, 98.1, 98.7. Yours: 98.3, 96.1, 98.6. Two of your seeds, 98.3 and 98.6, are ahead of his second. Would a fourth seed change the order? Nobody knows.

The {term:spread over seeds} is the distance from the best to the worst seed. A strict and simple rule asks for more than a larger mean: **every seed of A is better than every seed of B**. If A and B were equally good, six runs would fall that way in 1 of 20 cases: there are 20 ways to choose which 3 of 6 are A's, and one of them puts A's on top. So the rule is sometimes fooled, and if one asks it about many pairs, it *will* be.
"""

# %% kind="diagram" minutes=0.25 hide_input=true
views.diagram(PARTS, ARROWS, lit="seeds", title="From runs to a claim")

# %% [markdown] kind="text" minutes=0.25 exercise="beats"
r"""
`one` and `other` are lists of numbers, one for each seed (perhaps not equally many). `higher` says whether more is better. Return `"yes"` if every seed of `one` is better than every seed of `other`, `"no"` if every seed of `other` is better than every seed of `one`, else `"open"`. Equal is not better.
"""

# %% kind="exercise" exercise="beats" title="Does it beat it?" difficulty=2 importance=5 minutes=4 track="core"
def beats(one, other, higher):
    """lists of numbers, bool  ->  "yes", "no" or "open" """
    # solution
    if not higher:
        one, other = [-x for x in one], [-x for x in other]
    if min(one) > max(other):
        return "yes"
    if min(other) > max(one):
        return "no"
    return "open"
    # end solution

# %% kind="check" exercise="beats"
check("beats", beats)

# %% [markdown] kind="hints" exercise="beats"
r"""
### A nudge
You need not compare all pairs: which seed of `one` is the critical one, and which of `other`?

---
### The recipe
If more is better: the worst of `one` against the best of `other`, then the other way round. For errors and seconds, turn all signs first.
"""

# %% [markdown] kind="text" minutes=0.25 exercise="test_beats"
r"""
Such a rule is easily written almost right. **Write the test** that lets a right `beats(one, other, higher)` pass and catches the wrong ones: those that compare means, or the best seeds, or forget `higher`, or never say "open" …
"""

# %% kind="exercise" exercise="test_beats" mode="test" title="Write the test" difficulty=2 importance=4 minutes=4 track="core"
def test_beats(beats):
    """Takes a function like beats; raises if it is wrong."""
    # solution
    assert beats([97, 98, 96], [90, 95, 93], True) == "yes"
    assert beats([90, 95, 93], [97, 98, 96], True) == "no"
    assert beats([97, 98, 96], [90, 95, 93], False) == "no"
    assert beats([3, 5, 7], [2, 4, 6], True) == "open"
    assert beats([98, 94, 99], [95, 93, 92], True) == "open"
    # end solution

# %% kind="check" exercise="test_beats"
check("test_beats", test_beats)

# %% [markdown] kind="hints" exercise="test_beats"
r"""
### A nudge
Find seeds of which the means, the best and the worst all say "yes", and which are mixed up all the same.

---
### The recipe
One clear case, the same turned round, the same with `higher=False`, and one or two mixed ones, such as 3, 5, 7 against 2, 4, 6.
"""

# %% [markdown] kind="text" minutes=0.25
r"""
## 4 · Who is first?

Now the table: 22 columns. Numbers are in `museum[column][system]`, a list of three; `HIGHER[column]` says whether more is better.

In the explorable, slide through the columns. Dots are seeds; pink bars are systems without attention. On the right the first four are magnified. (The slider counts the columns; the name stands in the picture.)
"""

# %% kind="code" minutes=0.25
museum = table()
print(" · ".join(COLUMNS))
print(fixed(museum["BLEU beam"]["transformer"], 2))

# %% kind="predict" minutes=4
predict("18", "museum-firsts", Leaderboard())

# %% [markdown] kind="text" minutes=0.5 exercise="leaders"
r"""
Write down what you saw, for all columns at once. For each column return a list: first the system with the best **mean**, behind it every system that the first does **not** beat (`beats(...) != "yes"`), in the order of their means. `table[column][system]` is a list of seeds, `higher[column]` a bool.
"""

# %% kind="exercise" exercise="leaders" title="Who leads, and who is level" difficulty=3 importance=4 minutes=6 track="core"
def leaders(table, higher):
    """-> {column: [first, others that it does not beat ...]}"""
    # solution
    found = {}
    for name, column in table.items():
        order = sorted(column, key=lambda s: mean(column[s]), reverse=higher[name])
        first = order[0]
        found[name] = [first]
        for rival in order[1:]:
            if beats(column[first], column[rival], higher[name]) != "yes":
                found[name].append(rival)
    return found
    # end solution

# %% kind="check" exercise="leaders"
check("leaders", leaders)

# %% [markdown] kind="hints" exercise="leaders"
r"""
### A nudge
`sorted(column, key=..., reverse=higher[name])` sorts the names of one column; the key of a name is the mean of its seeds.

---
### The recipe
For each column: sort, take the first, then go through **all** the rest. Do not stop at the first one that is beaten: one behind it may spread more.
"""

# %% [markdown] kind="text" minutes=0.25
r"""
> **Before you run it:** in how many of the 22 columns is the first alone, with nobody level?
"""

# %% kind="estimate" minutes=1
beats, leaders = yours("beats"), yours("leaders")
first = leaders(museum, HIGHER)
estimate("18", "museum-alone", lambda: sum(len(names) == 1 for names in first.values()))

# %% kind="see" minutes=1
for column, names in first.items():
    level = f"level: {len(names) - 1}" if len(names) > 1 else "alone"
    print(f"{column:<18}{names[0]:<22}{level}")
here = [c for c in COLUMNS if COLUMNS[c].hall in (TOY, REAL) and c != "1 to 5 words"]
print("translators that are first somewhere:", len({first[c][0] for c in here}))

# %% [markdown] kind="text" minutes=1
r"""
**No column agrees on a winner.** (At 1 to 5 words many share 100%; the name printed is just the first of them.) Some things that we had not expected:

- On 29,000 real captions the Transformer is **not** first. ConvS2S is, and with a beam its three seeds are all ahead.
- On long sentences Bahdanau's system of 2015 is alone, and the Transformer far behind: 22% against 90 at 21 to 30 words, and nothing beyond.
- Of language models, GRU and LSTM lead without any attention, the Transformer just behind them. Attention over the last states, as in key-value-predict, stands at 8.0 to 8.3, where the plain LSTM has 7.6.
- The oldest decoders are the fastest on a CPU: they do the least for each word. The Transformer trains fast, and decodes slowly.
- The n-gram trains in a second. *Structured self-attention* is first in its column because it runs alone there: it classifies sentences, and nobody else does.
"""

# %% kind="explain" minutes=3
explain("18", "museum-headline")

# %% [markdown] kind="text" minutes=0.5
r"""
## 5 · Defend a claim

"The Transformer is best" is not a claim; nobody can test it. A claim names a **system**, the **rivals** it is better than, and the **columns** on which. And an honest one names its **limits**.

Your judge takes a claim as data and looks for holes. Each pair of a column and a rival is one comparison.
"""

# %% kind="diagram" minutes=0.25 hide_input=true
views.diagram(
    PARTS, ARROWS, lit=("columns", "rivals", "claim"), title="From runs to a claim"
)

# %% [markdown] kind="text" minutes=0.5 exercise="defend"
r"""
A claim is a dictionary: `{"system": "bahdanau", "over": ["transformer", "convs2s"], "on": ["depth", "test"]}`.

Go through the columns in `on`, and in each through the rivals in `over`. Return `{"carried": number of comparisons that beats says "yes" to, "holes": list}`. A hole is a tuple `(column, rival, why)`, in the order in which you meet them; `why` is

- `"not measured"` where the system or the rival has no numbers in `table[column]`;
- `"open"` where the seeds are mixed up;
- `"lost"` where `beats` says "no".
"""

# %% kind="exercise" exercise="defend" title="The judge of claims" difficulty=3 importance=5 minutes=15 track="core"
def defend(claim, table, higher):
    """-> {"carried": int, "holes": [(column, rival, why), ...]}"""
    # solution
    carried, holes = 0, []
    for column in claim["on"]:
        for rival in claim["over"]:
            mine = table[column].get(claim["system"])
            theirs = table[column].get(rival)
            if mine is None or theirs is None:
                holes.append((column, rival, "not measured"))
                continue
            verdict = beats(mine, theirs, higher[column])
            if verdict == "yes":
                carried += 1
            elif verdict == "no":
                holes.append((column, rival, "lost"))
            else:
                holes.append((column, rival, "open"))
    return {"carried": carried, "holes": holes}
    # end solution

# %% kind="check" exercise="defend"
check("defend", defend)

# %% [markdown] kind="hints" exercise="defend"
r"""
### A nudge
Two loops, one in the other. Treat what is missing first: `table[column].get(name)` is `None` where there is nothing.

---
### The recipe
Inside: missing → hole "not measured" and `continue`. Else ask `beats(mine, theirs, higher[column])`: "yes" counts, "open" stays "open", "no" becomes "lost".
"""

# %% kind="see" minutes=0.5
defend = yours("defend")
newest = {"system": "transformer", "over": ["bahdanau"], "on": list(COLUMNS)}
verdict = defend(newest, museum, HIGHER)
print("carried:", verdict["carried"], "of", len(COLUMNS))
for column, _, why in verdict["holes"]:
    print(f"  {column:<18}{why}")

# %% [markdown] kind="text" minutes=0.5 exercise="my_claim"
r"""
That is the claim "newer is better", held against the seeds. Five are carried: real captions under the shared recipe, greedy and with a beam, training time twice, and parameters, which we chose ourselves. Now **yours**. Return a claim with a fourth entry, `"not_on"`: columns in which your system does *not* beat a rival. It is accepted if

1. it has at least one rival and at least two columns;
2. all seeds carry it, in every column and against every rival;
3. `not_on` names, for each rival, a measured column where it is not beaten.

Many answers are right. Choose one that you find worth saying.
"""

# %% kind="exercise" exercise="my_claim" title="Defend one claim" difficulty=2 importance=5 minutes=4 track="core"
def my_claim():
    """-> {"system": ..., "over": [...], "on": [...], "not_on": [...]}"""
    # solution
    return {
        "system": "bahdanau",
        "over": ["transformer", "convs2s"],
        "on": ["21 to 30 words", "alignment error"],
        "not_on": ["BLEU beam"],
    }
    # end solution

# %% kind="check" exercise="my_claim"
check("my_claim", my_claim)

# %% [markdown] kind="hints" exercise="my_claim"
r"""
### A nudge
Look at the list above: in which columns is nothing open? Ask `defend` about a system you like, with `"on": list(COLUMNS)`.

---
### The recipe
Take a system that is *alone* in a column of section 4. Add a second column and see whether your judge finds a hole. For `not_on`, take a hole of the first list.
"""

# %% [markdown] kind="text" minutes=0.25 exercise="overall"
r"""
**One number for everything?** People love one. `overall` is to give the share of **all sentences, of all splits together**, that a system translates exactly. `scores[split]` has `"n"`, how many sentences, and `"exact"`, the share of them that is right. See whether it does what it says.
"""

# %% kind="exercise" exercise="overall" mode="bug" title="One number for all splits" difficulty=2 importance=3 minutes=3 track="core"
def overall(scores):
    """{split: {"n": int, "exact": float}}  ->  share of all sentences that are right"""
    # bug
    shares = [part["exact"] for part in scores.values()]
    return sum(shares) / len(shares)
    # end bug
    # solution
    right = sum(part["n"] * part["exact"] for part in scores.values())
    return right / sum(part["n"] for part in scores.values())
    # end solution

# %% kind="check" exercise="overall"
check("overall", overall)

# %% [markdown] kind="hints" exercise="overall"
r"""
### A nudge
300 sentences all right, 100 all wrong. How many of the 400 are right, and what does the function say?

---
### The recipe
A share times `n` is a number of sentences. Add those up, and divide by all sentences. (The mean of shares is a fair measure too, another one: a small split then counts as much as a large one.)
"""

# %% kind="see" minutes=0.25
overall = yours("overall")
for name in ("bahdanau", "transformer", "convs2s"):
    runs = runs_of("toy_ladder")[name]
    pooled = mean(overall(run["scores"]) for run in runs)
    shares = [[part["exact"] for part in run["scores"].values()] for run in runs]
    by_split = mean(mean(one) for one in shares)
    print(f"{name}: all sentences {fixed(100 * pooled, 1)}, "
          f"mean of splits {fixed(100 * by_split, 1)}")

# %% [markdown] kind="text" minutes=0.75
r"""
Two to three points between two means, from the same runs: more than between many systems. A table must say which one it shows.

## 6 · One recipe is a choice, too

"One recipe for all" sounds fair. But a recipe can suit one system better than another. So we let each system choose its learning rate on the validation set (*own rate*), and trained three of them with **R-Drop** (Liang and others, 2021): each sentence is read twice with different dropout, and the two answers are pulled together.

> **Before the picture:** we had expected about a point for everybody. Does R-Drop help all three alike?
"""

# %% kind="predict" minutes=1.5
names = ("bahdanau", "convs2s", "transformer")
before, after = museum["BLEU beam"], museum["BLEU R-Drop"]
gained = [mean(after[name]) - mean(before[name]) for name in names]
figure = views.bars(
    gained, labels=names, name="BLEU gained", digits=1,
    title="What R-Drop is worth, mean of three seeds",
    alt="BLEU gained by R-Drop: a bar for Bahdanau, ConvS2S and the Transformer.",
)
predict("18", "museum-r-drop", figure)

# %% [markdown] kind="text" minutes=0.75
r"""
| BLEU, beam | shared recipe | own rate | shared rate and R-Drop |
|---|---|---|---|
| Bahdanau | 41.6 | 42.3 | **44.0** |
| ConvS2S | **43.3** | **44.0** | 43.3 |
| Transformer | 42.4 | 42.4 | 43.5 |

With R-Drop the system of 2015 has the best mean. Its lead over the Transformer is 0.5, and their seeds overlap by a hair: ask your judge.

So does the architecture matter? What stands above all recipes is **attention at all**: without it 16 to 33 BLEU, with it 37 to 43.

## 7 · The paper's table in miniature

An ablation ([lesson 12](12_many_heads.ipynb)) changes one part and measures again. Table 3 of *Attention Is All You Need* does it on English to German: 4.5 million sentence pairs, no seeds told. We did the same on 29,000 captions, three seeds a row (`ablation`). Changes in BLEU against the base model, the paper's on its development set, ours on the test set with a beam:
"""

# %% kind="see" minutes=1.5
paper = {
    "(A) 1 head": -0.9, "(A) 16 heads": 0.0, "(B) d_k 16": -0.7, "(C) 2 layers": -2.1,
    "(D) no dropout": -1.2, "(D) no smoothing": -0.5, "(E) learned positions": -0.1,
}
bleu = recorded("ablation", lambda run: run["scores"]["test"]["beam"])
rows = runs_of("ablation")
base = [run["scores"]["test"]["beam"] for run in rows["base"]]
print(f"{'row':<24}{'paper':>7}{'ours':>7}   beats the base?")
for name, change in paper.items():
    seeds = [run["scores"]["test"]["beam"] for run in rows[name]]
    ours = bleu[name] - bleu["base"]
    print(f"{name:<24}{change:>+7.1f}{ours:>+7.1f}   {beats(seeds, base, True)}")

# %% [markdown] kind="text" minutes=0.75
r"""
Read the last column first. "no": the change hurts, with every seed. "open": three seeds cannot tell. (Their base has 8 heads and 6 layers, ours 4 and 4; so "16 heads" is not the same step.)

Dropout is worth far more here than there: little data overfits. One head costs 0.9 there and nothing we could measure here. The paper shows no seeds, so whether its −0.1 is anything, nobody can know.

**One row live.** Row (C) makes the model narrower. Three seeds each, 40 small steps, on 1,100 short toy sentences, some ten seconds. It can show whether a narrow model learns *more slowly at the start*. It cannot show which is better in the end, nor on real text.
"""

# %% kind="code" minutes=0.5
pairs = generate(1200, seed=18, length=(3, 8))
english, french = [p.src_text for p in pairs], [p.tgt_text for p in pairs]
words = WordTokenizer.from_texts([*english, *french])
lessons = encode_corpus(english[:1100], french[:1100], words)
unseen = encode_corpus(english[1100:], french[1100:], words)


def retrain(name, seed=0, steps=40, **sizes):
    """Any translator, trained for a few steps: its loss on unseen pairs."""
    config = make_config(name, scale="toy", vocab_size=words.vocab_size)
    torch.manual_seed(seed)
    model = build(name, replace(config, **sizes))
    recipe = Recipe(
        n_steps=steps, tokens_per_batch=256, learning_rate=5e-3, warm_up=10, seed=seed,
        validate_every=steps,
    )
    return train(model, lessons, recipe, validation=unseen).history.best.loss

# %% kind="train" minutes=1 ignore_output=true
small = {"n_layers": 2, "dropout": 0.0}
wide = [retrain("transformer", seed, d_model=64, **small) for seed in range(3)]
narrow = [retrain("transformer", seed, d_model=16, **small) for seed in range(3)]
print("d_model 64:", fixed(wide, 2))
print("d_model 16:", fixed(narrow, 2))
assert beats(narrow, wide, False) == "no"

# %% [markdown] kind="text" minutes=0.75
r"""
Every narrow seed is behind every wide one. Replace `d_model=16` by `n_heads=1` and you will most likely get "open", as in the record.

**Any row again.** The same call trains any translator: here twenty steps of one, to see that it runs. The full run of a row is 4,000 steps of 1,024 tokens; in the record it took 16 to 18 seconds for the Transformer and 77 to 82 for the deep LSTMN (15 runs at a time on one H200). On two CPU cores count some minutes for the Transformer, about 0.1 s a step. From a terminal:

`python3 -m course_lib train bahdanau --seed 1` (toy) or `--data multi30k` (real sentences, best on a GPU).
"""

# %% kind="train" minutes=0.5 ignore_output=true
name = "bahdanau"  # or luong_dot, lstmn_deep, convs2s, rctm ...
print(name, fixed(retrain(name, steps=20), 2))
# The full row: 4,000 steps on all 20,000 toy sentences, and evaluation.
# from course_lib.training.job import Job, run_job
# run_job(Job(system=name, seed=0, folder="runs/toy_bahdanau_0"))

# %% kind="quiz" minutes=1
quiz("18", "ablation")

# %% [markdown] kind="text" minutes=0.25
r"""
## Break it

How does one win without being better? Choose afterwards: the column, your best seed, and for the rivals their worst.

> **Before you run it:** 15 rows translate (14 systems, and the Transformer without residual paths). How many of them can be made "first" that way, in some column?
"""

# %% kind="break" minutes=1.5
def first_by_choice(system, column):
    """Its best seed against the worst seeds of all others."""
    best, worst = (max, min) if HIGHER[column] else (min, max)
    rivals = {name: [worst(s)] for name, s in museum[column].items() if name != system}
    mine = [best(museum[column][system])]
    return all(beats(mine, seed, HIGHER[column]) == "yes" for seed in rivals.values())


translating = [c for c in COLUMNS if COLUMNS[c].hall in (TOY, REAL)]
made_first = {}
for column in translating:
    for system in museum[column]:
        if first_by_choice(system, column):
            made_first.setdefault(system, []).append(column)
for system, columns in made_first.items():
    print(f"{system:<22}{', '.join(columns[:3])}{' …' if len(columns) > 3 else ''}")
print(len(made_first), "of", len(museum["test"]))

# %% [markdown] kind="text" minutes=3
r"""
Ten of fifteen. None of these numbers is wrong; each was measured. Wrong is to choose the question after seeing the answers. The cure is to write down **before** the run what is compared, on which columns and with how many seeds. That is lesson 19.

## 8 · Now read the paper

You have built every part of *Attention Is All You Need*. It has some ten pages of text. Read it with this table beside it: what to look for, and one question each.

| section of the paper | lesson | look for | ask yourself |
|---|---|---|---|
| Abstract, 1 Introduction | 02, 04, 06 | what recurrence prevents | Which of its two complaints did attention alone not cure? |
| 2 Background | 05, 09, 18 | steps between two positions in ConvS2S | Who had self-attention before? |
| 3 · 3.1 Encoder and decoder stacks | 13, 14 | where the norm stands | Post-norm: what would our 12 layers have done? |
| 3.2.1 Scaled dot-product attention | 07, 08 | the footnote on variance | Why the root of $d_k$, and not $d_k$? |
| 3.2.2 Multi-head attention | 12 | $h = 8$, $d_k = 64$ | What do 8 heads cost beside one? |
| 3.2.3 Applications of attention | 06, 10, 14 | three uses, one function | Who asks, and who is asked, in each? |
| 3.3 Position-wise feed-forward | 13 | "same across positions" | Where do words meet here? |
| 3.4 Embeddings and softmax | 14 | one shared matrix, and $\sqrt{d_{model}}$ | How many parameters does sharing save? |
| 3.5 Positional encoding | 11 | the reason for sinusoids | Did ours carry to longer sentences? |
| 4 Why self-attention | 05, 17 | Table 1, three columns | When is $n$ below $d$? |
| 5.1 to 5.3 Data, hardware, optimiser | 15 | batches by length; 4,000 steps of warm-up | What does the rate do after the warm-up? |
| 5.4 Regularisation | 13, 15 | dropout, label smoothing | Why may perplexity rise while BLEU improves? |
| 6.1 Machine translation | 16 | Table 2, beam of 4, averaged checkpoints | How many seeds does each row rest on? |
| 6.2 Model variations | 12, 18 | Table 3 | Which rows would survive `beats`? |
| 6.3 Constituency parsing | none | a second task | What does it add to the claim? |
| 7 Conclusion | 17, 19 | what they planned | Which of it came true? |
"""

# %% [markdown] kind="text" minutes=0.25
r"""
## Check yourself

The first try counts for your score; every answer gets a reason.
"""

# %% kind="quiz" minutes=3.5
quiz("18", "closing")

# %% [markdown] kind="instructor"
r"""
**Bet before the leaderboard (2 min).** "Which system is first in most columns?" Usual answer: the Transformer, in nearly all. By mean it is first in 4 of 22.

**Let them defend claims against each other (8 min).** One states a claim, the neighbour looks for a column that breaks it. Good ones: "Bahdanau over the Transformer on sentences longer than in training"; "ConvS2S over the Transformer on Multi30k with a beam, but not with R-Drop".

| they say | what it is | answer |
|---|---|---|
| "98.5 is more than 98.0, so it is better" | means | Show the seeds: 97.5, 98.3, 98.2 against 98.6, 98.1, 98.7. |
| "then seeds prove nothing" | the other ditch | 21 to 30 words: 88 to 92 against 72 to 80. Nothing is mixed up there. |
| "BLEU 43 beats the 28 in the paper" | M48 | Other data, other language, other tokens: not comparable. |

**If time is short**, leave out the test of `beats` and section 6; keep the judge, the claim and the reading guide.
"""

# %% [markdown] kind="summary" minutes=1
r"""
## What you have now

| name | what it is |
|---|---|
| `beats` | "yes" only if every seed of one is ahead of every seed of the other |
| `leaders` | for each column the first by mean, and all that are level with it |
| `defend` | holds a claim against the table, and lists its holes |
| `museum[column][system]` | three numbers, one for each seed |

- No column agrees on a winner: six translators share the first places.
- The Transformer does not win on 29,000 real sentences; ConvS2S does under one recipe, and R-Drop changes the order again.
- A claim names system, rivals, columns and limits. What the seeds leave open is open.
- ConvS2S looks at the source in every layer, each look knowing the last.

**Still missing.** A claim of which nobody knows the answer yet: yours, in lesson 19.
"""

# %% [markdown] kind="reading" minutes=0.5
r"""
## Reading

- Vaswani and others, *Attention Is All You Need* (2017), with the table of section 8. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Gehring and others, *Convolutional Sequence to Sequence Learning* (2017), section 3. [arXiv 1705.03122](https://arxiv.org/abs/1705.03122)
- Liang and others, *R-Drop: Regularized Dropout for Neural Networks* (2021). [arXiv 2106.14448](https://arxiv.org/abs/2106.14448)
- `course_lib/models/road.py`: every system with its year and paper; `data/results/README.md`: every number, and what had been expected.
"""
