# Lesson 11 · the source. Edit this file, then run `python3 -m course_lib build 11`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 11 · Positions

**The question:** how does a model that sees all words at once know their order?

About {minutes} minutes. You need scaled attention from [lesson 08](08_query_key_value.ipynb), what [lesson 09](09_self_attention.ipynb) showed about shuffled words, and the masks of [lesson 10](10_masks.ipynb). Sine and cosine are explained where they come up.
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **show** on a trained translator what goes wrong without positions, and what does not;
2. **write** the sinusoids of the 2017 paper, and drive that translator with them;
3. **test** that two of its rows tell how far apart they are, and not where they stand; <!-- core -->
4. **write** rotary positions, and **explain** what they promise that sinusoids do not; <!-- core -->
5. **say** from measurements which of them carry on to longer sentences than were trained on, and how far.
"""

# %% kind="setup"
import math

import torch

from course_lib import views
from course_lib.formatting import fixed
from course_lib.layers import positions
from course_lib.results import mean_over_seeds
from course_lib.teaching import check, estimate, explain, predict, quiz, start_lesson
from course_lib.teaching import yours
from course_lib.text import TEST_SIZES, make_batch, splits
from course_lib.translation import load_shipped, translate
from lessons.l11_positions import ClockHands

start_lesson("positions", seed=11)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("11", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · The same bag of words

Write each word of "the dog sees the cat" on a card and throw the cards into a bag. Whoever draws them out has "the cat sees the dog". Who sees whom is lost.

Attention works on such a bag. Lesson 09 showed it: shuffle the words, and every word gets the same output as before, only in another place. A score compares a query with a key, and neither says where it stands. So the order has to be **put in**. Whatever tells where a word stands is a {term:position encoding}. Our translator adds a row of numbers to each word's vector: row 0 of a table to the first word, row 1 to the second. It has one such table for the source and one for the target, each 64 positions of 64 numbers.

A table of zeros adds nothing. So we can take its positions away, on one side or the other.
"""

# %% kind="see"
transformer = load_shipped("transformer")
model = transformer.model
original = model.source_positions.table.clone()
blank = torch.zeros_like(original)


def set_tables(source, target):
    """Give the translator these tables of positions."""
    model.source_positions.table = source
    model.target_positions.table = target


for name, tables in {
    "as trained": (original, original),
    "no source positions": (blank, original),
    "no target positions": (original, blank),
}.items():
    set_tables(*tables)
    for sentence in ("the cat sees the dog", "the dog sees the cat"):
        print(f"{name}: {sentence} -> {transformer(sentence).target}")
set_tables(original, original)

# %% kind="quiz"
quiz("11", "same-bag")

# %% [markdown] kind="text"
r"""
Without source positions both sentences **must** come out alike, and one of the two translations is wrong, whatever the network has learned.

Without *target* positions these two are still right. The decoder is not quite blind to order: its causal mask lets the first word see one word, the second two, the third three. From that a place can be guessed. It was not trained to, though: "the girl who saw the boy slept" becomes *la fille qui a vu le garçon qui a vu le garçon qui a vu …*

What if a network is **trained** with positions on one side only, or on neither? The same {result:positions/none/parameters:,.0f} parameters, three trainings each (`positions` and `position_sides` in our records).
"""

# %% kind="predict"
GROUPS = [("test", words) for words in ("1–5", "6–10", "11–15", "16–20")]
GROUPS += [("long", words) for words in ("21–30", "31–40")]


def by_length(experiment, name):
    """Exact translations in percent, by the number of words."""
    def exact(run, split, words):
        return 100 * run["scores"][split]["by_length"][words]["exact"]
    measures = [lambda run, group=group: exact(run, *group) for group in GROUPS]
    return [mean_over_seeds(experiment, measure)[name] for measure in measures]


middle = (3, 8, 13, 18, 25.5, 35.5)  # words, the middle of each group
figure = views.lines(
    middle[:4], {
        "on both": by_length("positions", "sinusoidal")[:4],
        "source only": by_length("position_sides", "source only")[:4],
        "target only": by_length("position_sides", "target only")[:4],
        "on neither": by_length("positions", "none")[:4],
    },
    x_name="words in the sentence", y_name="right, %",
    title="Trained with positions on these sides",
)
predict("11", "which-side", figure)

# %% [markdown] kind="text"
r"""
A decoder that is trained so finds its places through the mask. (So do language models: Haviv and others, 2022; Kazemnejad and others, 2023.) The encoder has no such mask, and sees a bag.

Most short bags can be laid out in only one way that makes sense: *drank, cat, the, milk, the*. Milk does not drink cats. A bag with two animals in it, or with two nouns and two adjectives, can be laid out in several. On neither side: {result:positions/none/scores/test/by_length/1–5/exact:.0%} right at up to five words, about one in twenty at sixteen to twenty. Order matters less than one thinks in a short sentence, and much in a long one.
"""

# %% [markdown] kind="text" track="short"
r"""
## 2 · Hands of a clock

How to write a place as numbers?

- **Count: 0, 1, 2, 3, …** The numbers grow without bound; word 500 would drown its own meaning.
- **Count and divide by the length: 0, 0.1, … 1.** Now "one further" means something else in every sentence.
- **Read a clock.** The tip of its second hand never moves further out, and one second later is the same small turn at any time of day. It comes round after a minute, so there is a minute hand that turns more slowly, and an hour hand slower still. Together they tell every moment of half a day from every other.

**By hand.** One hand that turns by a quarter each word. The angle is measured from 12 o'clock, with the clock. So the tip's two coordinates are: how far to the right (the *sine* of the angle) and how far up (the *cosine*).

| position | 0 | 1 | 2 | 3 | 4 | 5 |
|---|---|---|---|---|---|---|
| points | up | right | down | left | up | right |
| (sin, cos) | (0, 1) | (1, 0) | (0, −1) | (−1, 0) | (0, 1) | (1, 0) |

Positions 1 and 2: the dot product is 1 · 0 + 0 · (−1) = 0. Positions 2 and 3: 0 as well, a quarter turn lies between them. Two apart it is −1, four apart 1. But 0 and 4 look the same, so one hand is not enough.
"""

# %% kind="example"
def tip(quarters):
    """The tip of a hand after so many quarter turns: (sin, cos)."""
    angle = torch.tensor(quarters * math.pi / 2)
    return torch.stack([angle.sin(), angle.cos()])


for i, j in ((1, 2), (5, 6), (1, 3), (5, 7), (0, 4)):
    print(f"positions {i} and {j}: product {fixed(tip(i) @ tip(j), 0)}")
slow = tip(0 / 10) @ tip(4 / 10)
print("another hand, ten times as slow, 0 and 4:", fixed(slow, 2))

# %% [markdown] kind="formula"
r"""
Angles are measured in *radians*: a full turn is $2\pi \approx 6.28$. Hand $i$ of a table that is $d$ numbers wide turns by $10000^{-2i/d}$ radians a word. At position $\text{pos}$ it has turned by

$$ \theta_i(\text{pos}) = \frac{\text{pos}}{10000^{\,2i/d}}
\qquad\qquad
\text{PE}(\text{pos}) = \big(\sin\theta_0,\; \cos\theta_0,\; \sin\theta_1,\; \cos\theta_1,\; \dots\big) $$

| symbol | name in code | shape | with $d = 4$ |
|---|---|---|---|
| $\text{pos}$ | `torch.arange(n)` | (n) | 0, 1, 2, … |
| $10000^{-2i/d}$ | speed of hand $i$ | (d / 2) | 1 and 0.01 |
| $\theta$ | `angles(n, d)` | (n, d / 2) | at word 2: 2 and 0.02 |
| $\text{PE}$ | `sinusoids(n, d)` | (n, d) | at word 0: 0, 1, 0, 1 |

At $d = 64$ the fastest hand comes round after 6 words, the slowest after 47,000: no two places of a text look alike. Sines and cosines over the positions are waves, {term:sinusoid|sinusoids}, and the encoding of the 2017 paper is named after them. Nothing in it is learned.
"""

# %% [markdown] kind="text" exercise="angles"
r"""
First the angles. `n` and `width` are whole numbers, `width` is even. Return a tensor of `n` rows and `width / 2` columns.
"""

# %% kind="exercise" exercise="angles" title="How far the hands have turned" difficulty=2 importance=4 track="core"
def angles(n, width):
    """n positions, width numbers  ->  angles (n, width / 2), in radians"""
    # solution
    speeds = 10_000.0 ** (-torch.arange(0, width, 2) / width)
    return torch.arange(n)[:, None] * speeds
    # end solution

# %% kind="check" exercise="angles"
check("angles", angles)

# %% [markdown] kind="hints" exercise="angles"
r"""
### A nudge
How many hands are there, and how fast is each? `torch.arange(0, width, 2)` counts 0, 2, 4, …: that is $2i$.

---
### Step by step
1. A vector of speeds: 10000 to the power of minus $2i$ over the width.
2. A column of positions: `torch.arange(n)[:, None]` has the shape (n, 1).
3. Multiply the two: (n, 1) times (width / 2) gives (n, width / 2).
"""

# %% kind="code"
angles = yours("angles")  # (n, width) -> (n, width / 2), in radians

# %% [markdown] kind="text" exercise="sinusoids"
r"""
**Now the table**, for any number of positions. Call `angles`, or compute the angles in here. Each hand has two columns side by side: sin in column 0, cos in column 1, the next hand in columns 2 and 3. In lesson 14 it goes into the full Transformer.
"""

# %% kind="exercise" exercise="sinusoids" title="The table of the 2017 paper" difficulty=3 importance=5 track="short"
def sinusoids(n, d_model):
    """n positions, d_model even  ->  table (n, d_model): sin, cos, sin, cos, …"""
    # solution
    turned = angles(n, d_model)
    table = torch.zeros(n, d_model)
    table[:, 0::2] = turned.sin()
    table[:, 1::2] = turned.cos()
    return table
    # end solution

# %% kind="check" exercise="sinusoids"
check("sinusoids", sinusoids)

# %% [markdown] kind="hints" exercise="sinusoids"
r"""
### A nudge
`.sin()` and `.cos()` work on a whole tensor. The work is to lay the two side by side, hand by hand.

---
### Step by step
Make a table of zeros, (n, d_model), and fill every second column: `table[:, 0::2]` are the columns 0, 2, 4, …, `table[:, 1::2]` the others. (Or stack the two along a new last axis, and flatten the last two axes.)
"""

# %% kind="library"
table = yours("sinusoids")(64, 64)
assert torch.allclose(table, positions.sinusoids(64, 64), atol=1e-5)

sentence = "the small dog sees the black cat that sleeps"
set_tables(table, table)
with_yours = transformer(sentence).target
set_tables(original, original)
assert with_yours == transformer(sentence).target
print(with_yours)
print("length of each row:", fixed(table.norm(dim=-1)[[0, 7, 63]], 2))

# %% [markdown] kind="text"
r"""
The translator has read its positions from that table, and translates as before. Every row is equally long: sin² + cos² = 1 for each of the 32 hands, so $\sqrt{32} = 5.66$. The last word is no louder than the first.

**Does adding not spoil the word?** The sum goes through matrices, and $(x + p)W = xW + pW$: the network gets both, as a radio gets two stations. Training decides which directions it keeps for what.

Laying word and place side by side would need a matrix of two parts, $xW_1 + pW_2$. That is a sum again, from a wider vector.
"""

# %% kind="diagram" hide_input=true
PARTS = {
    "words": (0, 0), "vectors": (1, 0), "add": (2, 0), "queries and keys": (3, 0),
    "scores": (4, 0), "positions": (0, 1), "clock hands": (1, 1),
}
ARROWS = [
    ("words", "vectors"), ("vectors", "add"), ("positions", "clock hands"),
    ("clock hands", "add"), ("add", "queries and keys"), ("queries and keys", "scores"),
]
views.diagram(
    PARTS, ARROWS, lit=("clock hands", "add"),
    title="Sinusoids: added to the words",
)

# %% [markdown] kind="text" track="short"
r"""
## 3 · How far apart

What can a network do with such rows? Attention compares by dot products. Below you see four hands of the table, the table itself (blue above 0, orange below; at the right the slow hands, whose sine is still near 0 and cosine near 1), and the product of one row with those around it. Start at position 10 and the one 5 further on.
"""

# %% kind="predict"
predict("11", "one-word-more", ClockHands())

# %% [markdown] kind="text"
r"""
For one hand the product of two tips is the cosine of the angle between them. From position 10 to 15 that is five steps of the hand, from 110 to 115 as well: the same angle. Add up over all hands, and the product depends on the {term:relative position}, the offset between two places, and not on the {term:absolute position}, the places themselves. (It needs sine *and* cosine: with sines alone the product wanders. Press *sin only* and move the position.)
"""

# %% [markdown] kind="text" track="core"
r"""
A matrix that holds one and the same number along every diagonal is called {term:Toeplitz}. The matrix of all products is one:
"""

# %% kind="see" track="core"
views.heatmap(
    table[:10] @ table[:10].T, rows=range(10), columns=range(10), digits=1,
    kind="scores",
    title="Row times row: constant along each diagonal",
    row_name="position", column_name="position",
)

# %% [markdown] kind="text" track="core"
r"""
It is symmetric, too: the product cannot tell two before from two after. A **turn** can. To go $k$ words further is to turn every hand by a fixed angle, and a turn is a matrix that does not depend on where you start. For a hand at angle $\theta$ that turns on by $\kappa$ (here as a column):

$$ \begin{pmatrix} \sin(\theta + \kappa) \\ \cos(\theta + \kappa) \end{pmatrix}
= \begin{pmatrix} \cos\kappa & \sin\kappa \\ -\sin\kappa & \cos\kappa \end{pmatrix}
\begin{pmatrix} \sin\theta \\ \cos\theta \end{pmatrix} $$

So a network **can** learn "the word before me": $W_Q$ can hold such a turn to the place before, of as many hands as it has room for. The authors chose sinusoids for that, and hoped that it would carry on to longer sentences than were trained on. (A learned table did as well in their tests.)
"""

# %% [markdown] kind="text" exercise="test_offsets"
r"""
**Write the test.** Your test gets an `encoding`, a function like `sinusoids` from (n, d_model) to a table. It need not be *your* table, and its rows may have any length; it must keep this promise:

- the dot product of two rows depends on their offset alone: at every position, row 0 and the later ones included, and for every length of the text;
- the offsets 0, 1, 2 and 3 give four different products.

Call it with a width of 16 and at least two lengths, one of them 20 or more, and raise with `assert` if the promise is broken. Leave room for rounding: a few thousandths.
"""

# %% kind="exercise" exercise="test_offsets" mode="test" title="Only the offset counts" difficulty=3 importance=4 track="core"
def test_offsets(encoding):
    """Takes a function (n, d_model) -> table (n, d_model); raises if it is wrong."""
    # solution
    short, long = encoding(8, 16), encoding(30, 16)
    products = long @ long.T
    assert (products[:8, :8] - short @ short.T).abs().max() < 3e-3
    for offset in range(4):
        diagonal = products.diagonal(offset)
        assert (diagonal - diagonal[0]).abs().max() < 3e-3
    first = products[0, :4].tolist()
    assert len({round(product, 2) for product in first}) == 4
    # end solution

# %% kind="check" exercise="test_offsets"
check("test_offsets", test_offsets)

# %% [markdown] kind="hints" exercise="test_offsets"
r"""
### A nudge
`table @ table.T` holds all products. Its diagonals are what counts: `products.diagonal(2)` are those two apart.

---
### Step by step
1. Along each of the first diagonals, the largest difference must be tiny.
2. A table whose rows are all alike passes that. So ask that these diagonals differ from each other.
3. "However long the text is": call it twice, with two lengths. The rows need not be the same, their products must be.
"""

# %% [markdown] kind="text" exercise="add_positions"
r"""
And into the network with it. `embedded` holds the vectors of a batch, a sentence in each row; `table` has at least as many rows as there are words. A first version is there already. Make its check pass.
"""

# %% kind="exercise" exercise="add_positions" mode="bug" title="Words with their places" difficulty=2 importance=4 track="core"
def add_positions(embedded, table):
    """embedded (batch, n, d_model), table (most, d_model)  ->  (batch, n, d_model)"""
    # bug
    return embedded + table[: embedded.shape[0]].unsqueeze(1)
    # end bug
    # solution
    return embedded + table[: embedded.shape[1]]
    # end solution

# %% kind="check" exercise="add_positions"
check("add_positions", add_positions)

# %% [markdown] kind="hints" exercise="add_positions"
r"""
### A nudge
Give it zeros for `embedded`, two sentences of three words, and print what comes out. Which words have which row?

---
### Step by step
Which axis of `embedded` counts the words? As many rows of the table are needed; the batch axis stretches by itself.
"""

# %% kind="quiz" track="core"
quiz("11", "which-axis")

# %% [markdown] kind="text" contents="what happens when a trained translator counts positions from 6 instead of 0"
r"""
## 4 · The promise, in a trained translator

Now put the promise to the test in our translator. Take 60 test sentences of 6 to 10 words. Begin to count at 6 instead of 0, on both sides: the first word gets row 6, the second row 7. Every offset is as before, so every product of two rows is, too. And none of these rows is new: the translator was trained on sentences of up to 20 words.
"""

# %% kind="estimate"
pairs = splits(seed=0, sizes=TEST_SIZES).test
pairs = [pair for pair in pairs if 6 <= pair.length <= 10][:60]
more_rows = positions.sinusoids(100, 64)  # rows 0 to 99


def percent_exact(first):
    """Exact translations in percent, when both sides count from `first`."""
    set_tables(more_rows[first : first + 64], more_rows[first : first + 64])
    outputs = translate([pair.src_text for pair in pairs], model, transformer.tokenizer)
    set_tables(original, original)
    references = [pair.tgt_text for pair in pairs]
    exact = [out.target == ref for out, ref in zip(outputs, references, strict=True)]
    return 100 * sum(exact) / len(exact)


estimate("11", "from-six", lambda: percent_exact(6))

# %% kind="explain"
explain("11", "promise-broken")

# %% [markdown] kind="text"
r"""
This is one trained network; but in none is it ruled out. Attention compares queries and keys, $(x + p)W_Q$ and $(y + q)W_K$, for a word $x$ at row $p$ and a word $y$ at row $q$. Multiply it out: word with word, word with place, place with word, place with place, all through $W_Q W_K^\top$. Through a matrix that was learned the product of two rows can be anything.

Here it is the look *across* that goes astray. The figure shows how much weight, in the decoder's last layer, falls on the English words that a French word comes from. And that is all of it: give the run that counts from 6 these weights of the run that counts from 0 (in every layer, and nothing else), and {result:lesson_11/next words right, from 6 with the weights of 0:.0%} are right again in place of {result:lesson_11/next words right, from 6:.0%}, next word by next word.
"""

# %% kind="see"
encode = transformer.tokenizer.encode
batch = make_batch(
    [encode(pair.src_text) for pair in pairs], [encode(pair.tgt_text) for pair in pairs]
)


def weight_on_aligned_words(first):
    """The mean weight on the English words that a French word comes from."""
    set_tables(more_rows[first : first + 64], more_rows[first : first + 64])
    with torch.no_grad():
        weights = model.attention_weights(batch.src, batch.src_lengths, batch.tgt_in)
    set_tables(original, original)
    last = weights["cross"][:, -1].mean(dim=1)  # the last layer; mean of its four heads
    links = [(i, tgt, src) for i, pair in enumerate(pairs) for src, tgt in pair.links]
    return sum(last[link] for link in links) / len(links)


first_positions = range(0, 11, 2)
views.lines(
    first_positions,
    {"weight": [weight_on_aligned_words(first) for first in first_positions]},
    x_name="both sides count from", y_name="weight on the right words",
    title="Looking astray",
)

# %% [markdown] kind="text" track="short"
r"""
## 5 · Turn the queries and the keys

What section 3 found holds for the rows of the table. Queries and keys come out of learned matrices, which need not preserve it. So put the place in **after** the matrix. That is the idea of {term:rotary positions} (Su and others, 2021): add nothing to the words. Make queries and keys, and then turn them: the query at position 5 by five steps, the key at position 3 by three. Each pair of numbers, (0, 1), (2, 3) and so on, is the tip of a hand and turns at its own speed.

**By hand.** One pair, a quarter turn a word; against the clock, as is the custom here. Query (2, 0), key (3, 0): unturned, the product is 6. Query at position 1, key at 0: the query becomes (0, 2), the product 0. Query at position 6, key at 5: the query (−2, 0), after six quarters, the key (0, 3), after five: 0 again. Both have been turned on by the same five quarters, and that changes no angle between them.

This time it holds for **any** query and any key. What is learned decides what to look for; the turn adds how far away.
"""

# %% kind="diagram" hide_input=true
ROTARY = {
    "words": (0, 0), "vectors": (1, 0), "queries and keys": (2, 0), "turn": (3, 0),
    "scores": (4, 0), "positions": (0, 1), "clock hands": (1, 1),
}
TURNS = [
    ("words", "vectors"), ("vectors", "queries and keys"), ("queries and keys", "turn"),
    ("positions", "clock hands"), ("clock hands", "turn"), ("turn", "scores"),
]
views.diagram(
    ROTARY, TURNS, lit=("clock hands", "turn"),
    title="Rotary: queries and keys are turned",
)

# %% [markdown] kind="text" exercise="rotate"
r"""
**Build it.** To turn a pair $(x, y)$ by an angle $\theta$, against the clock, is

$$ (x, y) \;\longmapsto\; (x\cos\theta - y\sin\theta,\;\; x\sin\theta + y\cos\theta). $$

`features` are queries or keys with any axes in front (one for the sentences of a batch, say), a row for each position, an even width. `turned` has an angle for each position and each pair, as `angles(n, width)` makes them. Neighbouring numbers are a pair. It goes without a loop; try each step in a cell of its own. (Rotary positions also work clockwise, as long as queries and keys turn the same way; the check expects the formula above.)
"""

# %% kind="exercise" exercise="rotate" title="Rotary positions" difficulty=4 importance=4 track="core"
def rotate(features, turned):
    """features (..., n, width), turned (n, width / 2)  ->  (..., n, width)"""
    # solution
    x, y = features[..., 0::2], features[..., 1::2]
    cos, sin = turned.cos(), turned.sin()
    pairs = torch.stack([x * cos - y * sin, x * sin + y * cos], dim=-1)
    return pairs.flatten(-2)
    # end solution

# %% kind="check" exercise="rotate"
check("rotate", rotate)

# %% [markdown] kind="hints" exercise="rotate"
r"""
### A nudge
`features[..., 0::2]` are the first numbers of all pairs, whatever axes stand in front. They have the shape (..., n, width / 2), and `turned` fits to that.

---
### Step by step
1. x and y: every second number, from 0 and from 1.
2. The two new numbers, by the formula. Both need the *old* x and y.
3. Put each pair back together: stack them along a **new last axis**, (..., n, width / 2, 2), and flatten the last two axes.

---
### "My first numbers all come first"
That is `torch.cat`. It lays one tensor behind the other; `torch.stack(..., dim=-1)` weaves them.
"""

# %% kind="see" track="core"
first_layer = model.encoder.blocks[0].attention  # four in one; its norm (13) left out
w_query = first_layer.w_query[:16].detach().T  # 16 rows each: take the first
w_key = first_layer.w_key[:16].detach().T
small, dog = model.words.source(torch.tensor(encode("small dog"))).detach()

rotate_rows, turned = yours("rotate"), yours("angles")(100, 16)
queries = rotate_rows((dog @ w_query).expand(100, -1), turned)
keys = rotate_rows((small @ w_key).expand(100, -1), turned)
scores = queries @ keys.T / 4  # √16 = 4; dog at any position, small at any position

for i in (1, 8, 20, 60):
    query, key = (dog + more_rows[i]) @ w_query, (small + more_rows[i - 1]) @ w_key
    added, rotated = fixed(query @ key / 4, 2), fixed(scores[i, i - 1], 2)
    print(f"dog at {i:>2}, small right before it: added {added}, turned {rotated}")
assert torch.allclose(scores[1:, 1:], scores[:-1, :-1], atol=1e-4)  # Toeplitz

# %% [markdown] kind="text" track="core"
r"""
The matrices were trained for added rows, so the turned score itself means nothing. That it is the same at every place does.
"""

# %% [markdown] kind="text"
r"""
Count from six, or from a thousand: self-attention with rotary positions computes what it did before. It costs no parameter, and the values stay as they are: the place steers *whom* a word looks at, not what it gets. (Where French looks at English nothing is turned: the two sides have no common count.)

A third way is the plainest. {term:learned positions|Learned positions} (Gehring and others, 2017) are a table of the same size that starts with random numbers and is trained like the words'. It costs parameters, {result:positions/learned/parameters - positions/none/parameters:,.0f} of them in our translator, and a row that no training sentence reached stays what it was: random.
"""

# %% kind="quiz"
quiz("11", "which-encoding")

# %% [markdown] kind="text" contents="which encodings carry on to sentences longer than any in training"
r"""
## 6 · Lengths never trained on

To go on beyond what one was trained on is {term:extrapolation}: what the authors of sinusoids hoped for. Our translators were trained on up to 20 words. We tested on 21 to 40: four Transformers (no positions, learned, sinusoidal, rotary), and the recurrent network with attention of [lesson 06](06_bahdanau_attention.ipynb), which has no position encoding at all. About 400,000 parameters each, the same recipe, three trainings each. Up to 20 words all but *no positions* are level, at 95% and more.

Place your bet.
"""

# %% kind="predict"
names = ("none", "learned", "sinusoidal", "rotary")
curves = {name: by_length("positions", name) for name in names}
curves["recurrent (06)"] = by_length("toy_ladder", "bahdanau")
figure = views.lines(
    middle, curves, x_name="words in the sentence (trained: up to 20)",
    y_name="right, %", title="Beyond the lengths of training",
)
predict("11", "rotary-at-forty", figure)

# %% kind="see" name="long_sentence"
long_one = (
    "the old queens who did not eat the very good beans "
    "looked for the very good cake this morning but did not buy it"
)
recurrent = load_shipped("bahdanau")
for name, system in (("Transformer", transformer), ("recurrent", recurrent)):
    print(f"{name}: {system(long_one).target}\n")

# %% [markdown] kind="text"
r"""
Twenty-four words, and the Transformer (with sinusoids) leaves the last clause out; on other sentences it starts to repeat itself. The first twenty words or so are usually right.

What the record says, and what it does not:

- Among the encodings rotary carries furthest: {result:positions/rotary/scores/long/by_length/21–30/exact:.0%} at 21 to 30 words, sinusoids {result:positions/sinusoidal/scores/long/by_length/21–30/exact:.0%}, learned {result:positions/learned/scores/long/by_length/21–30/exact:.0%}, in this order in all three trainings.
- **None** carries far. At 31 to 40 words all four Transformers are at 0. Rotary cannot care where a pair of words stands, and fails all the same; we think because offsets above 20, and 40 words to choose among, are new to it, too.
- The recurrent network has {result:toy_ladder/bahdanau/scores/long/by_length/21–30/exact:.0%} and {result:toy_ladder/bahdanau/scores/long/by_length/31–40/exact:.0%}: it counts no places, but its GRUs never met such lengths, either. And recurrence alone does nothing: without attention (lesson 04) it is at {result:toy_ladder/seq2seq/scores/long/by_length/21–30/exact:.1%}.
- It is not places as such. Take Luong's networks (lesson 07), at 16 to 20 words and then at 21 to 30. Those that look by content go from {result:toy_ladder/luong_dot/scores/test/by_length/16–20/exact:.0%} to {result:toy_ladder/luong_dot/scores/long/by_length/21–30/exact:.0%} (*dot*), {result:toy_ladder/luong_general/scores/test/by_length/16–20/exact:.0%} to {result:toy_ladder/luong_general/scores/long/by_length/21–30/exact:.0%} (*general*), {result:toy_ladder/luong_concat/scores/test/by_length/16–20/exact:.0%} to {result:toy_ladder/luong_concat/scores/long/by_length/21–30/exact:.0%} (*concat*). *local-m*, whose places come by rule, goes from {result:toy_ladder/luong_local_m/scores/test/by_length/16–20/exact:.0%} to {result:toy_ladder/luong_local_m/scores/long/by_length/21–30/exact:.0%}. *location* goes from {result:toy_ladder/luong_location/scores/test/by_length/16–20/exact:.0%} to {result:toy_ladder/luong_location/scores/long/by_length/21–30/exact:.0%}: its rows beyond the twentieth word were never trained, as with learned positions.

This is a toy language and a small network. Larger ones have their own remedies: a penalty on distance in place of an encoding (ALiBi: Press, Smith and Lewis, 2022), or slowing the rotary hands down and training on for a while (Chen and others, 2023).
"""

# %% [markdown] kind="text" contents="the same table with its columns reordered, given to a trained translator"
r"""
## Break it

A colleague writes the table differently: first all the sines, then all the cosines. The promise holds: every product of two rows depends on the offset, and your test lets it pass. (The code that came with the 2017 paper is written that way; the formula in the paper is not.)

> **Before you run it:** what will the trained translator make of it?
"""

# %% kind="break"
halves = torch.cat([table[:, 0::2], table[:, 1::2]], dim=-1)
assert torch.allclose(halves @ halves.T, table @ table.T, atol=1e-3)

for name, positions_table in (("woven", table), ("in halves", halves)):
    set_tables(positions_table, positions_table)
    for sentence in ("the cat sees the dog", "the small dog sees the black cat"):
        print(f"{name}: {sentence} -> {transformer(sentence).target}")
set_tables(original, original)

# %% [markdown] kind="text"
r"""
No shape tells, and no product of rows. The trained matrices expect each hand in its two columns. Rotary positions come in the same two layouts, and weights made for one fail in the other just as quietly: look before you load.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself

The first try counts for your score; every answer gets a reason.
"""

# %% kind="quiz"
quiz("11", "closing")

# %% [markdown] kind="instructor"
r"""
**Start with paper (3 min).** Hand out five cards, *the, the, cat, dog, sees*, shuffled, and ask for the sentence. Half the room has the other one. Then *the, the, cat, milk, drank*: everybody agrees. That is section 1.

**The estimate of section 4 is the heart.** Nearly all say 95 or more, for the promise of section 3 was so convincing. Let them look for the hole before the explanation. Expected: "the matrices". Follow-up: what would the matrices have to be so that the promise holds? (Such that they turn along with the hands; nothing in training asks for it.)

| they say | what it is | answer |
|---|---|---|
| "adding ruins the word" | M36 | $(x + p)W = xW + pW$. Both get through. |
| "sinusoids are learned" | M37 | Count the parameters: none. |
| "without positions it knows nothing of order" | M39 | Section 1: trained without target positions, and level. |
| "my table is added, and nothing is learned" | M38 | Print two words of one sentence: the same row? |

**If time is short**, leave out the quiz after the bug and the Break; keep estimate, rotary and bet.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | what it is | shape |
|---|---|---|
| `angles(n, width)` | how far each hand has turned at each place | (n, width / 2) |
| `sinusoids(n, d_model)` | tips of the hands, added to the words | (n, d_model) |
| `add_positions` | word and place in one vector | (batch, n, d_model) |
| `rotate(features, turned)` | queries or keys, turned by their place | (..., n, width) |

- Without positions the encoder sees a bag. A decoder trained through its causal mask does without.
- Rows of sinusoids are equally long, and their products depend on the offset alone.
- A trained network with sinusoids may still depend on the place: the matrices come in between.
- Rotary turns *after* the matrices, so scores depend on words and offset, by construction.
- No encoding here carried far beyond the lengths of training. The recurrent network of lesson 06 did better.

**Still missing.** Each word looks once, with one set of weights. What if it wants to know two things at a time? Lesson 12.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani and others, *Attention Is All You Need* (2017), section 3.5: one page, with the hope for longer sequences in its last sentence. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Shaw, Uszkoreit and Vaswani, *Self-Attention with Relative Position Representations* (2018): where two of its authors went next. [arXiv 1803.02155](https://arxiv.org/abs/1803.02155)
- Su and others, *RoFormer: Enhanced Transformer with Rotary Position Embedding* (2021), section 3. [arXiv 2104.09864](https://arxiv.org/abs/2104.09864)
- Press, Smith and Lewis, *Train Short, Test Long* (2022): sinusoids, rotary and others measured beyond their training lengths, and ALiBi. [arXiv 2108.12409](https://arxiv.org/abs/2108.12409)
"""
