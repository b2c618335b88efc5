# Lesson 11 · the source. Edit this file, then run `python3 -m course_lib build 11`; the notebook is made from it.

# %% [markdown] kind="title" part="III · The Transformer"
r"""
# 11 · Positions

**The question:** how does a model that sees all words at once know their order?

About {minutes} minutes. You need scaled attention from [lesson 08](08_query_key_value.ipynb), self-attention from [lesson 09](09_self_attention.ipynb) and the masks from [lesson 10](10_masks.ipynb). Sine and cosine are explained where they come up.
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **show** with a trained translator what goes wrong without positional encodings, and what doesn't;
2. **write** the sinusoidal positional encodings of the 2017 paper, and run the translator with them;
3. **test** with activation patching what a trained translator does with shifted positions; <!-- core -->
4. **write** the rotation of queries and keys, and **measure** how far each encoding extrapolates; <!-- core -->
5. **explain** how rotary position embeddings (RoPE) differ from sinusoidal encodings.
"""

# %% [markdown] kind="instructor"
r"""
**Open with (3 min) paper cards.** Hand out five shuffled cards, *the, the, cat, dog, sees*, and ask for the sentence. Half the room will have the other one. Then hand out *the, the, cat, milk, drank*: everybody agrees. That's section 1.

**If time is short,** leave out section 6 and the parts marked as stretch. Keep the estimate, the patching and RoPE.
"""

# %% kind="setup"
import torch

from course_lib import views
from course_lib.formatting import fixed
from course_lib.layers import positions
from course_lib.teaching import check, estimate, predict, quiz, start_lesson, yours
from course_lib.text import TEST_SIZES, splits
from course_lib.translation import load_shipped
from lessons.l11_positions import ClockHands, attend_with, attention_layers, count_right
from lessons.l11_positions import encode_pairs, exact_by_length
from lessons.l11_positions import key_picture, percent_exact

start_lesson("positions", seed=11)

# %% [markdown] kind="text"
r"""
Here are two ways to tell a Transformer where a word is. Our translator adds the same 64 numbers to every word at that position; many newer models rotate each query and key instead.
"""

# %% kind="picture" name="key picture" hide_input=true
key_picture.draw()

# %% kind="picture" name="here" hide_input=true track="short"
views.transformer_map(
    "positions", "Every word gets its position before the first block."
)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("11", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · A translator without positions

Write the words of "the dog sees the cat" on five cards, and shuffle them. Now you can't know whether the sentence was "the dog sees the cat" or "the cat sees the dog".

Self-attention has the same problem, because it is {term:permutation equivariant} (lesson 09): if you shuffle the words, their outputs are shuffled in the same way, and nothing else changes. A {term:positional encoding} supplies the missing information. Our translator adds a vector to each embedding: row 0 of a table to the first word, row 1 to the second, and so on. The source and the target each have such a table, with 64 rows of 64 numbers.

If we fill a table with zeros, the translator loses the positions on that side.
"""

# %% kind="see" name="without"
transformer = load_shipped("transformer")
model = transformer.model
original = model.source_positions.table.clone()  # (64, 64)
zeros = torch.zeros_like(original)


def set_tables(source, target):
    """Replace the positional encodings of the translator."""
    model.source_positions.table = source
    model.target_positions.table = target


for name, tables in {
    "as trained": (original, original),
    "no source positions": (zeros, original),
    "no target positions": (original, zeros),
}.items():
    set_tables(*tables)
    for sentence in ("the cat sees the dog", "the dog sees the cat"):
        print(f"{name}: {sentence} -> {transformer(sentence).target}")
set_tables(original, original)

# %% [markdown] kind="instructor"
r"""
**Vote** before anyone tries it. "Something else, because this isn't an English sentence" is worth discussing: without positions, the three inputs are the same set of words.
"""

# %% kind="quiz"
quiz("11", "same-bag")

# %% [markdown] kind="text"
r"""
Without source positions, both sentences **must** get the same translation, whatever the network has learned, so at least one of the two is wrong.

Without *target* positions, both translations are still right. The decoder isn't completely blind to order, because its causal mask lets the first word attend to one word, the second to two and the third to three. But this translator was trained with target positions and fails on other sentences: "the girl who saw the boy slept" becomes *la fille qui a vu le garçon qui a vu le garçon qui a vu …*

What if a network is **trained** with positional encodings on one side only, or on neither? We trained such networks, all with {result:positions/none/parameters:,.0f} parameters, in three runs each. <!-- core -->
"""

# %% [markdown] kind="instructor"
r"""
**They say:** "Without positional encodings it knows nothing about order" (M39). **Answer:** Trained without target positions, it is nearly as good.
"""

# %% kind="predict" hide_input=true track="core" contents="translators trained with positional encodings on one side only, or on neither"
middle = (3, 8, 13, 18, 25.5, 35.5)  # words, the middle of each range of lengths
figure = views.lines(
    middle[:4], {
        "both": exact_by_length("positions", "sinusoidal")[:4],
        "source only": exact_by_length("position_sides", "source only")[:4],
        "target only": exact_by_length("position_sides", "target only")[:4],
        "neither": exact_by_length("positions", "none")[:4],
    },
    x_name="words in the sentence", y_name="exact translations, %",
    title="Trained with positional encodings on these sides",
)
predict("11", "which-side", figure)

# %% [markdown] kind="text" track="core"
r"""
Apparently, a decoder trained without positional encodings can learn about positions in another way. The causal mask is a plausible source: Haviv et al. (2022) found that language models trained without positional encodings still represent positions in their hidden states. The encoder has no such mask.

With no positional encodings at all, {result:positions/none/scores/test/by_length/1–5/exact:.0%} of the sentences with up to five words are translated correctly, but only {result:positions/none/scores/test/by_length/16–20/exact:.0%} of those with 16 to 20 words. A plausible reason is that often only one order of a few words makes sense: given *drank, cat, the, milk, the*, we know who drank what.
"""

# %% [markdown] kind="text" track="short"
r"""
## 2 · Sinusoidal positional encodings

How can we encode a position as numbers? Here are three ideas:

- **Count: 0, 1, 2, 3, …** The numbers soon dwarf the embeddings.
- **Count, and divide by the length of the sentence: 0, 0.1, …, 1.** Now a step of one word has a different size in every sentence.
- **Use a clock.** The tip of the second hand always stays on the same circle, and one second later always means the same small rotation. After a minute it is back where it was, so there are also a minute hand and an hour hand, which turn more slowly. Together they distinguish every second of half a day.

**By hand.** Take one hand that turns by a quarter of a circle per position, clockwise, starting at 12 o'clock. The *sine* of its angle is how far its tip is to the right, and the *cosine* is how far it is up.

| position | 0 | 1 | 2 | 3 | 4 | 5 |
|---|---|---|---|---|---|---|
| points | up | right | down | left | up | right |
| (sin, cos) | (0, 1) | (1, 0) | (0, −1) | (−1, 0) | (0, 1) | (1, 0) |

The dot product of positions 1 and 2 is 1 · 0 + 0 · (−1) = 0, and so is that of positions 2 and 3. For any two positions that are two apart, it is −1; if they are four apart, it is 1. But positions 0 and 4 have the same encoding, so one hand isn't enough.
"""

# %% [markdown] kind="formula"
r"""
Angles are measured in *radians*: a full circle is $2\pi \approx 6.28$. An encoding of width $d$ consists of $d/2$ pairs of columns, one pair for each hand. Hand $i$, counted from 0, turns by $10000^{-2i/d}$ radians per position. This is its **frequency**. At position $\text{pos}$, its angle is

$$ \theta_i = \text{pos} \cdot 10000^{-2i/d}
\qquad\text{and}\qquad
\text{PE}(\text{pos}) = \big(\sin\theta_0,\; \cos\theta_0,\; \sin\theta_1,\; \cos\theta_1,\; \dots\big) $$

| symbol | meaning | shape for $n$ positions | example with $d = 4$ |
|---|---|---|---|
| $10000^{-2i/d}$ | frequencies | (d / 2) | 1 and 0.01 |
| $\theta$ | angles | (n, d / 2) | at position 2: 2 and 0.02 |
| $\text{PE}$ | positional encodings | (n, d) | at position 0: 0, 1, 0, 1 |

With $d = 64$, the fastest hand completes a circle in about 6 positions, the slowest in 47,000. Sine and cosine waves are called sinusoids, so this is the {term:sinusoidal positional encoding} (Vaswani et al., 2017). It has no learned parameters.
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** Build it from three shapes: frequencies (d / 2), angles (n, d / 2), pairs (n, d / 2, 2). If all sines come first, `torch.cat` was used where `torch.stack` and `flatten` are needed.
"""

# %% [markdown] kind="text" exercise="sinusoids"
r"""
**Write a function** that returns the table for positions 0 to n − 1, in float32. `n` and `d_model` are integers, and `d_model` is even. Columns 0 and 1 are the sine and the cosine of hand 0, columns 2 and 3 those of hand 1, and so on. Lesson 14 uses your function in the full Transformer.
"""

# %% kind="exercise" exercise="sinusoids" title="Sinusoidal positional encodings" difficulty=3 importance=5 track="short"
from lessons.l11_positions.solutions import sinusoids

# %% kind="check" exercise="sinusoids"
check("sinusoids", sinusoids)

# %% [markdown] kind="hints" exercise="sinusoids"
r"""
### Where to start
Compute the angles first, a tensor of shape (n, d_model / 2). `torch.arange(0, d_model, 2)` is 0, 2, 4, …, which is $2i$ for each hand.

---
### The angles
Multiply a column of positions by a row of frequencies: (n, 1) times (d_model / 2) gives (n, d_model / 2). `torch.arange(n)[:, None]` has the shape (n, 1).

---
### Sine and cosine in alternating columns
`.sin()` and `.cos()` work on a whole tensor. Either make a tensor of zeros and assign to every second column: `table[:, 0::2]` selects columns 0, 2, 4, … and `table[:, 1::2]` the others. Or stack sine and cosine along a new last axis, and flatten the last two axes.
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
print("norms of rows 0, 7 and 63:", fixed(table.norm(dim=-1)[[0, 7, 63]], 2))

# %% [markdown] kind="text"
r"""
The translator has just used that table, and its translation is the same as before. All rows have the same norm: $\sin^2 + \cos^2 = 1$ for each of the 32 hands, so the norm is $\sqrt{32} = 5.66$.

**Doesn't adding the position spoil the embedding?** The next layers can still separate the two: for an embedding $x$ and a positional encoding $p$, each matrix computes $W(x + p) = Wx + Wp$, and training can make it use some directions for the word and others for the position. If we concatenated the two, the next matrix would also compute a sum, $W_1x + W_2p$, but from a wider vector.
"""

# %% [markdown] kind="instructor"
r"""
| they say | misconception | answer |
|---|---|---|
| "adding the position ruins the word" | M36 | $W(x + p) = Wx + Wp$. Both parts get through. |
| "sinusoidal encodings are learned" | M37 | Count the parameters: there are none. |
"""

# %% kind="picture" hide_input=true
key_picture.draw("sinusoids")

# %% [markdown] kind="text" track="short"
r"""
## 3 · The distance between two positions

What can a network do with these encodings? Attention compares vectors by their dot products, so let's look at the dot product of two rows of the table.

The figure below shows four of the 32 hands, the whole table (blue above 0, orange below), and the dot products of one row with the rows around it. It starts with positions 10 and 15. Make your prediction, then try to reach the goals. <!-- core -->
"""

# %% kind="predict" track="core" contents="an explorable: the dot products of two encodings"
predict("11", "one-word-more", ClockHands())

# %% [markdown] kind="text" track="short"
r"""
For one hand with the angles $a$ and $b$ at two positions, the dot product is $\sin a \sin b + \cos a \cos b = \cos(a - b)$, the cosine of the angle between them. From position 10 to 15 the hand turns by five steps, just as it does from 110 to 115. The sum over all hands therefore depends only on the distance between the positions, that is, on the {term:relative position}, and not on the two {term:absolute position|absolute positions}. This needs the sine *and* the cosine: $\sin a \sin b$ alone isn't a function of the distance. The dot product is the same in both directions, so by itself it can't tell *before* from *after*; learned matrices can.
"""

# %% [markdown] kind="text" track="core" contents="why the authors of the 2017 paper chose sinusoids, and a test for positional encodings"
r"""
Moving $k$ positions further rotates every hand by a fixed angle, whatever the position, and a rotation is a multiplication by a matrix. So a network *can* learn to attend to the previous word, for example if $W_Q$ rotates every hand back by one step. The authors of the 2017 paper chose sinusoids for this reason, and hoped that they would also work for sentences longer than those in training. In their experiments, learned encodings did about as well.
"""

# %% [markdown] kind="text" track="stretch" exercise="test_offsets"
r"""
**Write a test.** Its argument `encoding` is a function like `sinusoids`, but it needn't be sinusoidal, and its rows may have any norm. The test must raise an error (use `assert`) unless

- the dot product of two rows depends only on their distance: it is the same for all pairs of rows at that distance (including row 0 and the last rows), and for tables of different lengths `n`;
- the distances 0, 1, 2 and 3 give four different dot products, which needn't decrease.

Call the encoding with a width of 16 and at least two values of `n`, one of them 20 or more. Allow rounding errors of a few thousandths.
"""

# %% kind="exercise" exercise="test_offsets" mode="test" title="Only the distance matters" difficulty=3 importance=3 track="stretch"
def test_offsets(encoding):
    """Takes a function (n, d_model) -> table (n, d_model); raises if it is wrong."""
    # solution
    short, long = encoding(8, 16), encoding(30, 16)
    products = long @ long.T
    assert (products[:8, :8] - short @ short.T).abs().max() < 3e-3
    for distance in range(30):
        diagonal = products.diagonal(distance)
        assert (diagonal - diagonal[0]).abs().max() < 3e-3
    first = products[0, :4].tolist()
    assert len({round(product, 2) for product in first}) == 4
    # end solution

# %% kind="check" exercise="test_offsets"
check("test_offsets", test_offsets)

# %% [markdown] kind="hints" exercise="test_offsets"
r"""
### Where to start
`table @ table.T` contains all dot products. Those of rows that are two apart are on one of its diagonals: `products.diagonal(2)`.

---
### Step by step
1. Along each diagonal, the largest difference must be tiny.
2. A table whose rows are all equal passes that. So the first four diagonals must also differ from each other.
3. Call the encoding with two values of `n`. The rows needn't be the same, but their dot products must be.
"""

# %% [markdown] kind="text" contents="what happens if a trained translator counts positions from 6 instead of 0, and where the damage is done"
r"""
## 4 · A trained translator with shifted positions

We take 60 test sentences of 6 to 10 words and count positions from 6 instead of 0, in the source and in the target: the first word gets row 6, the second row 7. All distances stay the same, and so do the dot products of the rows. None of these rows is new to the translator, because training sentences had up to 20 words, and their translations up to 26.
"""

# %% [markdown] kind="instructor"
r"""
**The estimate is the heart of the lesson.** Section 3 makes an estimate of 95% or more look reasonable. Write the estimates on the board.
"""

# %% kind="estimate"
test = splits(seed=0, sizes=TEST_SIZES).test
pairs = [pair for pair in test if 6 <= pair.length <= 10][:60]
rows = positions.sinusoids(1_100, 64)  # positions 0 to 1,099


def sinusoidal_from(first):
    """Exact translations in percent, with positions counted from `first`."""
    set_tables(rows[first : first + 64], rows[first : first + 64])
    percent = percent_exact(transformer, pairs)
    set_tables(original, original)
    return percent


estimate("11", "from-six", lambda: sinusoidal_from(6))

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (4 min)** before you read on. "The dot products of the rows haven't changed. What has?" Let learners look for the gap in the argument. Expected: "the matrices". Follow-up: what would the matrices have to be like for the argument to hold? Their product $W_Q^\top W_K$ would have to commute with the rotations, and the two mixed terms would have to be zero; nothing in training asks for that.
"""

# %% [markdown] kind="text"
r"""
How can that be, if the dot products of the rows haven't changed? Attention doesn't compare rows of the table. It compares queries and keys: in the first layer $W_Q(x + p)$ and $W_K(y + q)$, for a word $x$ with the positional encoding $p$ and a word $y$ with $q$. Multiplied out, such a score has four terms: word with word, word with position, position with word, and position with position. Only the last compares two positions, and with learned matrices in between, even that needn't be a function of the distance. The two mixed terms depend on one *absolute* position each, and nothing in training demands that they vanish.

**Where is the damage done?** The translator has encoder self-attention, decoder self-attention and cross-attention. We use {term:activation patching}, as in lesson 09: we run the translator with positions counted from 6, but replace the attention weights of *one* of the three, in all layers, with those of the run that counts from 0. Both runs use teacher forcing: they predict each word given the correct words before it. A sentence is right if all these predictions are.

> **Before you run it:** which of the three replacements will repair the translator? One of them, several, or only all three together?
"""

# %% kind="see" name="patching"
batch = encode_pairs(transformer, pairs)
with torch.no_grad():
    usual = model.attention_weights(batch.src, batch.src_lengths, batch.tgt_in)

set_tables(rows[6:70], rows[6:70])
print(f"counted from 6: {count_right(model, batch)} of 60 right")
for kind in ("encoder", "decoder", "cross"):
    layers = attention_layers(model, kind)
    for i, layer in enumerate(layers):
        layer.attend = attend_with(layer, usual[kind][:, i])  # the run from 0
    print(f"usual {kind} attention weights: {count_right(model, batch)} of 60 right")
    for layer in layers:
        del layer.attend  # back to its own attention weights
set_tables(original, original)

# %% [markdown] kind="instructor"
r"""
**They say:** "The patching shows why it fails." **Answer:** It shows *where* in this network the damage is done. Why the weights depend on the position is another question.
"""

# %% [markdown] kind="text"
r"""
With the cross-attention weights of the run that counts from 0, {printed:patching/cross attention weights:} of the 60 sentences are right, although everything else still counts from 6. The other two replacements leave most sentences wrong. Conversely, if the run that counts from 0 gets the cross-attention weights of the run that counts from 6, only {result:lesson_11/patching/from 0 with cross weights from 6:.0%} of the sentences are right. The repair works on 200 other sentences, too: {result:lesson_11/patching, new sentences/from 6:.1%} are right when counting from 6, and {result:lesson_11/patching, new sentences/from 6 with cross weights from 0:.1%} with the replaced cross-attention weights.

So in this translator, the shift does its damage through the cross-attention weights. This is one network; another might depend on absolute positions elsewhere, or hardly at all.
"""

# %% [markdown] kind="text" track="short"
r"""
## 5 · Rotary position embeddings (RoPE)

The dot products of sinusoidal encodings depend only on the distance. But queries and keys are computed from embeddings *plus* encodings, by learned matrices, so their dot products needn't. So let's encode the position **after** the matrices. This is the idea of the {term:rotary position embedding}, or **RoPE** (Su et al., 2021). Nothing is added to the embeddings. Instead, we compute the queries and keys and then rotate them: at position 5 by five steps, at position 3 by three. Components 0 and 1 form a pair, 2 and 3 form the next, and each pair is rotated like a clock hand, with its own frequency.

**By hand.** Take one pair that is rotated by a quarter turn per position, this time counter-clockwise. The query is (2, 0) and the key (3, 0); without rotation, their dot product is 6.

| query at | key at | rotated query | rotated key | dot product |
|---|---|---|---|---|
| position 1 | position 0 | (0, 2) | (3, 0) | 0 |
| position 6 | position 5 | (−2, 0) | (0, 3) | 0 |
| position 2 | position 0 | (−2, 0) | (3, 0) | −6 |

In the second row, both vectors have been rotated by five more quarter turns, so the angle between them is the same as in the first. This holds for **any** query and any key: a score depends only on the query and the key before the rotation, and on how far the key is before or after the query (the signed relative position).
"""

# %% kind="picture" hide_input=true track="core" contents="a picture of RoPE, the exercise, and a trained translator that runs with your rotation"
key_picture.draw("RoPE")

# %% [markdown] kind="instructor"
r"""
**Stuck?** Both new components need the *old* x and y. As in `sinusoids`, stack the pair along a new last axis and flatten. Test with the table above: a quarter turn takes (2, 0) to (0, 2).
"""

# %% [markdown] kind="text" exercise="rotate"
r"""
**Build it.** To rotate a pair $(x, y)$ counter-clockwise by an angle $\theta$, compute

$$ (x, y) \;\longmapsto\; (x\cos\theta - y\sin\theta,\;\; x\sin\theta + y\cos\theta). $$

`features` are queries or keys, with one row per position, an even width, and any number of axes in front, such as batch and heads. `angles` has one angle for each position and each pair, in radians. Neighbouring components form a pair. Return the rotated features in the same layout. You don't need a loop.
"""

# %% kind="exercise" exercise="rotate" title="Rotary position embeddings" difficulty=4 importance=4 track="core"
from lessons.l11_positions.solutions import rotate

# %% kind="check" exercise="rotate"
check("rotate", rotate)

# %% [markdown] kind="hints" exercise="rotate"
r"""
### Where to start
`features[..., 0::2]` selects the first component of every pair, whatever axes come before. Its shape is (..., n, width / 2), so `angles` broadcasts to it.

---
### Step by step
1. Select x and y: every second component, from 0 and from 1.
2. Compute the two new components with the formula. Both need the *old* x and y.
3. Put each pair back together: stack the two along a **new last axis**, which gives (..., n, width / 2, 2), and flatten the last two axes.

---
### All my first components come first
That's what `torch.cat` does: it appends one tensor to the other. `torch.stack(..., dim=-1)` followed by `flatten(-2)` alternates between them.
"""

# %% [markdown] kind="text" track="core"
r"""
Now your function goes into a trained translator that has the same size as the first one and was trained in the same way, but with RoPE in its self-attention. In cross-attention, nothing is rotated, because English and French positions aren't directly comparable. The next cell replaces the library's rotation with yours, in all heads and layers. Then both translators count positions from 0, 6 and 1,000, on the same 60 sentences. As a control, we also leave out the rotation.
"""

# %% kind="code" name="rope" track="core"
rope = load_shipped("transformer_rotary")
rotate_pairs = yours("rotate")
angles = positions.angles(1_100, 16)  # (1100, 8); each head has a width of 16


def rope_from(start, factor=1):
    """Exact translations in percent with your `rotate`, counted from `start`."""
    def rotated(features, first=0):  # `first`: how many words came before
        here = angles[start + first :][: features.shape[-2]]
        return rotate_pairs(features, factor * here)

    source, target = rope.model.source_positions, rope.model.target_positions
    source.rotate = target.rotate = rotated
    percent = percent_exact(rope, pairs)
    del source.rotate, target.rotate  # back to the library's rotation
    return percent

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min)** before the figure. "With RoPE, which numbers change if all positions grow by 1,000?" Expected: the rotated queries and keys do, but no angle between them, so no score.
"""

# %% kind="predict" hide_input=true track="core"
STARTS = (0, 6, 1_000)
percents = [f(start) for f in (sinusoidal_from, rope_from) for start in STARTS]
kinds = ("sinusoidal", "RoPE")
labels = [f"{kind} from {start:,}" for kind in kinds for start in STARTS]
figure = views.bars(
    [*percents, rope_from(0, factor=0)], labels=[*labels, "RoPE without rotation"],
    digits=0, name="exact translations, %",
    title="Positions counted from 0, 6 and 1,000",
)
predict("11", "from-a-thousand", figure)

# %% [markdown] kind="text"
r"""
With sinusoidal encodings, counting from 1,000 did less damage than counting from 6; we don't know why. <!-- core -->

RoPE has no parameters. The values aren't rotated, so the rotation acts on the attention weights only. In the first layer, the values contain no positions; from the second layer on they do indirectly, because they were computed with those weights.

The third kind of positional encoding is the simplest. {term:learned positional embedding|Learned positional embeddings} (Gehring et al., 2017) are a table of random numbers that is trained like the word embeddings. In our translator, they add {result:positions/learned/parameters - positions/none/parameters:,.0f} parameters. The rows of positions that don't occur in training keep their random numbers. The language models BERT and GPT-2 use learned positional embeddings, one reason why they accept at most 512 and 1,024 tokens.
"""

# %% kind="quiz"
quiz("11", "which-encoding")

# %% [markdown] kind="text" contents="which encodings work for sentences longer than any in training"
r"""
## 6 · Sentences longer than in training

Using a model outside the range of its training data is called {term:extrapolation}. We trained translators on sentences of up to 20 words and tested them on sentences of 21 to 40 words: four Transformers (no positional encoding, learned, sinusoidal, RoPE) and the recurrent network with attention from [lesson 06](06_bahdanau_attention.ipynb), which needs no positional encoding. All have about 400,000 parameters, and there are three runs of each. At 16 to 20 words, all but the one without a positional encoding translate at least 95% of the sentences correctly, on average.
"""

# %% [markdown] kind="instructor"
r"""
**Ask for estimates aloud.** RoPE depends on distances only, so a high number seems reasonable. Afterwards: "What was still new at 31 to 40 words?" Expected: larger distances, and more words to attend to.
"""

# %% kind="predict" hide_input=true
names = ("none", "learned", "sinusoidal")
curves = {name: exact_by_length("positions", name) for name in names}
curves["RoPE"] = exact_by_length("positions", "rotary")
curves["recurrent"] = exact_by_length("toy_ladder", "bahdanau")
figure = views.lines(
    middle, curves, x_name="words in the sentence (in training: up to 20)",
    y_name="exact translations, %", title="Sentences longer than in training",
)
predict("11", "rotary-at-forty", figure)

# %% [markdown] kind="text"
r"""
- At 21 to 30 words, RoPE extrapolates best among the positional encodings: {result:min positions/rotary/scores/long/by_length/21–30/exact:.0p} to {result:max positions/rotary/scores/long/by_length/21–30/exact:.0%} over three runs, compared with {result:min positions/sinusoidal/scores/long/by_length/21–30/exact:.0p} to {result:max positions/sinusoidal/scores/long/by_length/21–30/exact:.0%} for sinusoidal and {result:min positions/learned/scores/long/by_length/21–30/exact:.0p} to {result:max positions/learned/scores/long/by_length/21–30/exact:.0%} for learned encodings.
- **None** extrapolates far. At 31 to 40 words, no Transformer translates a single sentence correctly, not even with RoPE. A plausible reason is that distances above 20 and this many words to attend to are new to it, too.
- The recurrent network with attention does much better ({result:toy_ladder/bahdanau/scores/long/by_length/21–30/exact:.0%} and {result:toy_ladder/bahdanau/scores/long/by_length/31–40/exact:.0%}). Recurrence alone isn't enough: without attention (lesson 04), it gets {result:toy_ladder/seq2seq/scores/long/by_length/21–30/exact:.1%} at 21 to 30 words.

This is a toy language and a small network. For large language models, there are other remedies: a penalty on distance instead of a positional encoding (ALiBi: Press et al., 2022), or lower RoPE frequencies and some further training (Chen et al., 2023).
"""

# %% [markdown] kind="text" track="stretch" contents="the same encoding with its columns in another order, given to a trained translator"
r"""
## 7 · Break it

A colleague writes the table differently: first all sines, then all cosines. The code that was published with the 2017 paper does it this way, but the formula in the paper doesn't. All dot products of rows stay the same.

> **Before you run it:** what will the trained translator do with this table?
"""

# %% kind="break" track="stretch"
halves = torch.cat([table[:, 0::2], table[:, 1::2]], dim=-1)
assert torch.allclose(halves @ halves.T, table @ table.T, atol=1e-3)

for name, encoding in (("alternating", table), ("in halves", halves)):
    set_tables(encoding, encoding)
    for sentence in ("the cat sees the dog", "the small dog sees the black cat"):
        print(f"{name}: {sentence} -> {transformer(sentence).target}")
set_tables(original, original)

# %% [markdown] kind="text" track="stretch"
r"""
The shapes and dot products don't reveal the bug, but the trained matrices expect each sine and cosine in its usual column. RoPE also exists in both layouts: pairs of neighbours, as here, or one component from each half. Weights that were trained with one layout fail with the other, without an error message.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on "You count positions from 100 instead of 0." The answer about sinusoidal rows is true of the *rows*, but not of queries and keys. That is section 4 in one sentence.
"""

# %% kind="quiz"
quiz("11", "closing")

# %% [markdown] kind="instructor"
r"""
**Wrap up (2 min).** Each pair explains to the next what RoPE guarantees, and what it doesn't.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | meaning | shape |
|---|---|---|
| `sinusoids(n, d_model)` | sinusoidal positional encodings, added to the embeddings | (n, d_model) |
| `rotate(features, angles)` | RoPE: queries or keys, rotated by angles that grow with the position | (..., n, width) | <!-- core -->

- Without a positional encoding, an encoder can't know the order of the words. A decoder with a causal mask can learn something about it.
- Sinusoidal encodings all have the same norm, and their dot products depend only on the distance between the positions.
- A trained network with sinusoidal encodings can still depend on absolute positions, because scores mix words with positions, and learned matrices come in between.
- RoPE rotates queries and keys *after* the matrices, so scores depend only on the query, the key and their relative position.
- In our experiments, no positional encoding extrapolated far beyond the lengths in training. <!-- core -->

**Still missing.** Each word attends with a single set of attention weights. What if it needs two things at once? [Lesson 12](12_many_heads.ipynb) lets it attend several times in parallel.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani et al., *Attention Is All You Need* (2017), section 3.5: one page; its last sentence states the hope for longer sequences. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Su et al., *RoFormer: Enhanced Transformer with Rotary Position Embedding* (2021), section 3. There, $\theta_i$ is the frequency and $m\theta_i$ the angle. [arXiv 2104.09864](https://arxiv.org/abs/2104.09864)
- Press, Smith and Lewis, *Train Short, Test Long* (2022): sinusoidal encodings, RoPE and others compared beyond their training lengths, and ALiBi. [arXiv 2108.12409](https://arxiv.org/abs/2108.12409)
"""
