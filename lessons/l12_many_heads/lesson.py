# Lesson 12 · the source. Edit this file, then run `python3 -m course_lib build 12`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 12 · Many heads

**The question:** why attend several times in parallel, and what does it cost?

About {minutes} minutes. You need scaled attention from [lesson 08](08_query_key_value.ipynb), masks from [lesson 10](10_masks.ipynb), and self-attention from [lesson 09](09_self_attention.ipynb): the words of a sentence look at one another.
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **say** what one attention cannot do, and why several can;
2. **write** multi-head attention, equal to torch's, and let it drive a trained translator;
3. **catch** the bug that mixes words and raises no error;
4. **compute** what grows with the number of heads, and what does not;
5. **measure** what a head does, and **tell** looking from mattering. <!-- core -->
"""

# %% kind="setup"
import json
from unittest.mock import patch

import torch

from course_lib import views
from course_lib.formatting import fixed
from course_lib.runtime import data_path
from course_lib.teaching import check, estimate, explain, predict, quiz, start_lesson
from course_lib.teaching import yours
from course_lib.text import PAD, make_batch, splits
from course_lib.translation import ablated, head_names, load_shipped
from lessons.l12_many_heads import HeadCount, HeadSwitches

start_lesson("many_heads", seed=12)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("12", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · One look is one average

*The cat drank the water.* To understand *drank*, two things are needed: **who** drank, and **what** was drunk. Let the word *drank* look at both with one attention. It has one row of weights, so it gets one blend.

**By hand.** Say the values are single numbers: *cat* is 4, *water* is 10, and *drank* gives each a weight of ½. The context is ½ · 4 + ½ · 10 = 7. Now *the water drank the cat*: ½ · 10 + ½ · 4, again 7. One average has forgotten who did what. (Weights of ⅓ and ⅔ give 8 and 6 and tell the two sentences apart; but from an 8 alone nobody reads off both words.)

Let it look **twice**, each time with weights of its own. The first look takes the noun before, the second the noun after. Then the contexts are (4, 10) and (10, 4), and nothing is forgotten.

Think of two readers with one question each, who hand in a note each. One reader with both questions, who hands in the mean of the two notes, helps nobody.
"""

# %% [markdown] kind="text"
r"""
Each such look is a {term:attention head|head}, with queries, keys and values of its own, and all heads together are {term:multi-head attention}. (Vaswani and others, 2017: "with a single attention head, averaging inhibits this".)

Is it impossible with one head? No. A value is a whole vector, and *cat* could write itself into other places of it when it is a subject than when it is an object. Then a blend still shows both. But the words must have prepared for it, layers before. How much that matters in practice has to be measured (section 6).
"""

# %% kind="explain" track="core" contents="an explanation in your own words"
explain("12", "heads-one-average")

# %% [markdown] kind="text" track="short"
r"""
## 2 · Split, attend, join

Where do the heads' queries come from? The cheapest way: make queries, keys and values of the full width, as in lesson 08, and **cut them into slices**. The width of a word's vector throughout the model is called `d_model`; ours is 64, the paper's 512. With 4 heads each gets $d_k$ = 64 / 4 = 16 numbers of every word.

Then each head attends in its own slice; the results are **joined** again, end to end; and one more matrix, $W_O$, mixes what the heads have found: the {term:output projection}.

$$ \text{head}_i = \text{Attention}(X W_Q^{(i)},\; X W_K^{(i)},\; X W_V^{(i)}) \qquad\qquad \text{output} = [\,\text{head}_0, \dots, \text{head}_{h-1}\,]\; W_O $$

$W_Q^{(i)}$ is a slice of $W_Q$: its columns that belong to head $i$. So a head *reads* with its slices of $W_Q$ and $W_K$, and *writes* with its columns of $W_V$ and its rows of $W_O$.
"""

# %% kind="diagram" hide_input=true
HEADS = [f"head {number}" for number in range(4)]
PARTS = {
    "words": (0, 1.5), "W_Q": (1, 0.5), "W_K": (1, 1.5), "W_V": (1, 2.5),
    "split": (2, 1.5), "join": (4, 1.5), "W_O": (5, 1.5), "output": (6, 1.5),
}
PARTS |= {name: (3, number) for number, name in enumerate(HEADS)}
ARROWS = [("words", name) for name in ("W_Q", "W_K", "W_V")]
ARROWS += [(name, "split") for name in ("W_Q", "W_K", "W_V")]
ARROWS += [("split", name) for name in HEADS] + [(name, "join") for name in HEADS]
ARROWS += [("join", "W_O"), ("W_O", "output")]
views.diagram(PARTS, ARROWS, lit=("split", "join"), title="Multi-head attention")

# %% [markdown] kind="text" exercise="split_heads"
r"""
First the cut. Two words, `1 2 3 4` and `5 6 7 8`, and two heads: head 0 gets `1 2` and `5 6`, head 1 gets `3 4` and `7 8`. Every head sees **every word**, and of each word its own slice. There may be any axes in front, such as a batch.

A first version is there already. Make its check pass. (`x.transpose(i, j)` is `x` with two axes swapped.)
"""

# %% kind="exercise" exercise="split_heads" mode="bug" title="Cut the words' vectors into heads" difficulty=3 importance=5 track="short"
def split_heads(features, n_heads):
    """features (..., n, d_model)  ->  (..., n_heads, n, d_model / n_heads)"""
    # bug
    *batch, n, d_model = features.shape
    return features.reshape(*batch, n_heads, n, d_model // n_heads)
    # end bug
    # solution
    *batch, n, d_model = features.shape
    slices = features.reshape(*batch, n, n_heads, d_model // n_heads)
    return slices.transpose(-3, -2)
    # end solution

# %% kind="check" exercise="split_heads"
check("split_heads", split_heads)

# %% [markdown] kind="hints" exercise="split_heads"
r"""
### A nudge
Print `split_heads(torch.arange(12.0).reshape(1, 3, 4), 2)`. The words are `0 1 2 3`, `4 5 6 7` and `8 9 10 11`. What are the rows of head 0? What should they be?

---
### Why
`reshape` keeps the numbers in the order in which they lie in memory, word after word, and only sets the brackets anew. It can cut the last axis in two. It can never bring the heads before the words: that changes the order.

---
### Step by step
First cut the last axis in two, so that the shape is (..., n, n_heads, d_model / n_heads). Then swap two axes: `transpose(-3, -2)`.
"""

# %% [markdown] kind="text" exercise="test_split"
r"""
The shape was right all along. **Write the test that would have caught it.** It gets an implementation of the split, calls it with inputs of your choice and raises an exception if the result is wrong. Some implementations are wrong for one head, one word or one sentence only, so use at least two of each, and check every number. Choose numbers that show where they came from.
"""

# %% kind="exercise" exercise="test_split" mode="test" title="Write the test" difficulty=2 importance=4 track="core"
def test_split(split):
    """Takes an implementation of split_heads; raises an exception if it is wrong."""
    # solution
    words = torch.arange(120.0).reshape(2, 5, 12)
    heads = split(words, 3)
    for number in range(3):
        columns = words[:, :, 4 * number : 4 * number + 4]
        assert torch.equal(heads[:, number], columns)
    # end solution

# %% kind="check" exercise="test_split"
check("test_split", test_split)

# %% [markdown] kind="hints" exercise="test_split"
r"""
### A nudge
`torch.arange(120.0).reshape(2, 5, 12)` contains two sentences of five words, and all numbers are different. Which of them belong to head 1 of three?

---
### Step by step
Head `i` must contain the columns from `i * size` to `(i + 1) * size` of every word. Compare each head with that slice, for all sentences and all words.
"""

# %% [markdown] kind="text" exercise="join_heads"
r"""
Now the way back: concatenate the slices of all heads, head 0 first, so that joining undoes splitting. Again there may be any axes in front, and they stay as they are. This time you start from scratch, but the trap is the same.
"""

# %% kind="exercise" exercise="join_heads" title="Join the heads" difficulty=2 importance=5 track="short"
def join_heads(features):
    """features (..., n_heads, n, size)  ->  (..., n, n_heads * size)"""
    # solution
    return features.transpose(-3, -2).flatten(-2)
    # end solution

# %% kind="check" exercise="join_heads"
check("join_heads", join_heads)

# %% [markdown] kind="hints" exercise="join_heads"
r"""
### A nudge
Do the two steps of the split backwards: first swap, then lay together.

---
### Step by step
Swap heads and words. Then the last two axes are (n_heads, size), and `.flatten(-2)` lays them end to end.
"""

# %% [markdown] kind="text"
r"""
**Attention in every head at once.** After the split, heads are one more axis in front, and your attention of lesson 08 does not care about axes in front: no loop is needed. Only the masks still have to be passed on. `multi_head(query, keys, values, mask)` does that, and returns the context and the weights.
"""

# %% kind="code" track="core"
scaled_attention = yours("scaled_attention")  # (queries, keys, values)
masked_attention = yours("masked_attention")  # (queries, keys, values, mask)

# %% [markdown] kind="text" exercise="multi_head"
r"""
**Write it**, with the two functions of the cell above. `mask` is a mask as in lesson 10 (or `None`: no mask); with `causal=True` each word looks at itself and back. Never both. The signature is the one that the course's Transformer uses, for yours will take its place; `with_weights` you may ignore, and always return both.
"""

# %% kind="exercise" exercise="multi_head" title="Attention in every head" difficulty=2 importance=5 track="core"
def multi_head(query, keys, values, mask=None, causal=False, with_weights=False):
    """query (batch, heads, m, size), keys (batch, heads, n, size), values likewise

    ->  context (batch, heads, m, size), weights (batch, heads, m, n)
    """
    # solution
    if causal:
        n = query.shape[-2]
        mask = torch.ones(n, n).tril() == 1
    if mask is None:
        return scaled_attention(query, keys, values)
    return masked_attention(query, keys, values, mask)
    # end solution

# %% kind="check" exercise="multi_head"
check("multi_head", multi_head)

# %% [markdown] kind="hints" exercise="multi_head"
r"""
### A nudge
Three cases: no mask, a mask that is given, and a causal one that you make yourself (lesson 10: `tril`).

---
### Step by step
If `causal`, make a table of (n, n) that is True on and below the diagonal and use it as `mask`. If there is no mask, call `scaled_attention`, else `masked_attention`. Both return context and weights.
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · The whole layer

From here on the lesson takes **your** parts where they passed their checks, else the library's.
"""

# %% kind="code"
split_heads, join_heads = yours("split_heads"), yours("join_heads")
multi_head = yours("multi_head")

# %% [markdown] kind="text" exercise="many_heads"
r"""
**Build it all.** `x` asks, `source` is looked at; in self-attention both are the same words. Four matrices of (d_model, d_model), and in code they stand to the right: `x @ w_q`. Make queries, keys and values; split them; attend; join; mix with `w_o`.

Use the three parts of the cell above: `split_heads(…, n_heads)`, `multi_head(query, keys, values, mask)`, which returns context and weights, and `join_heads(…)`. Look at a shape after every line.
"""

# %% kind="exercise" exercise="many_heads" title="Multi-head attention" difficulty=4 importance=5 track="short"
def many_heads(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    """x (batch, m, d_model), source (batch, n, d_model)

    mask (batch, 1, 1, n) or None
    ->  output (batch, m, d_model), weights (batch, n_heads, m, n)
    """
    # solution
    query = split_heads(x @ w_q, n_heads)
    keys = split_heads(source @ w_k, n_heads)
    values = split_heads(source @ w_v, n_heads)
    context, weights = multi_head(query, keys, values, mask)
    return join_heads(context) @ w_o, weights
    # end solution

# %% kind="check" exercise="many_heads"
check("many_heads", many_heads)

# %% [markdown] kind="hints" exercise="many_heads"
r"""
### A nudge
Five lines: three projections, each split at once; the attention; the join with its last product.

---
### Step by step
1. `x @ w_q`, split. `source @ w_k` and `source @ w_v`, split.
2. `multi_head(query, keys, values, mask)` gives context and weights.
3. Join the context, times `w_o`. Return it with the weights.

---
### "My output is right with one head and wrong with two"
Then words are mixed where you cut or join. Has the split that you use here passed its check?
"""

# %% kind="library"
layer = yours("many_heads")
torch.manual_seed(12)
x, source = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
w_q, w_k, w_v, w_o = torch.randn(4, 12, 12) / 12**0.5

reference = torch.nn.MultiheadAttention(12, num_heads=3, bias=False, batch_first=True)
with torch.no_grad():  # torch keeps its matrices transposed, and three of them in one
    reference.in_proj_weight.copy_(torch.cat([w_q.T, w_k.T, w_v.T]))
    reference.out_proj.weight.copy_(w_o.T)
    expected, expected_weights = reference(
        x, source, source, average_attn_weights=False
    )
    output, weights = layer(x, source, w_q, w_k, w_v, w_o, 3)

assert torch.allclose(output, expected, atol=1e-5)
assert torch.allclose(weights, expected_weights, atol=1e-5)
print("the same as torch's, weights", tuple(weights.shape))

# %% [markdown] kind="text"
r"""
Equal to torch's. (Ask torch for its weights, and by default it hands out their *mean over the heads*. That is the one average of section 1 again.)

Now the trained translator of this course: 3 layers, each with 4 heads, in the encoder, in the decoder, and in the {term:cross-attention} from the decoder to the source: 36 heads. Its layers call three functions named `split_heads`, `join_heads` and `multi_head`. `patch.multiple` puts others in their place for a while: **yours**.
"""

# %% kind="see"
transformer = load_shipped("transformer")
model = transformer.model.eval()
thirsty = "the cat drank the water because it was thirsty"
cold = "the cat drank the water because it was cold"
LAYERS = "course_lib.layers.multi_head"
mine = {"split_heads": split_heads, "join_heads": join_heads, "multi_head": multi_head}

for sentence in (thirsty, cold):
    expected = transformer(sentence).target
    with patch.multiple(LAYERS, **mine):
        translation = transformer(sentence).target
    assert translation == expected
    print(translation)

# %% [markdown] kind="text"
r"""
The same translations, by your heads with trained matrices. Note *il* and *elle*: *it* is the cat in one and the water, *l'eau*, in the other, and only the last English word tells which. Some of the 36 heads must have found that out (section 5 looks for them).
"""

# %% [markdown] kind="text" track="short"
r"""
## 4 · What do heads cost?

The width is fixed, 512 say, and the heads share it out. Commit to an answer, then move the sliders.
"""

# %% kind="predict"
predict("12", "heads-cost", HeadCount())

# %% [markdown] kind="text"
r"""
Why the multiplications stay: a table of scores for $n$ words takes $n^2$ dot products of $d_k$ numbers each, and there are $h$ tables: $h \cdot n^2 \cdot d_k = n^2 \cdot d_{\text{model}}$, for $h \cdot d_k$ is the width. But each dot product ends as **one score**, so there are $h \cdot n^2$ of them, and as many weights: that is memory, and softmax work.

So heads are no free copies: at 64 heads a key has 8 numbers to say what it is. (The "64 per head" button keeps each one wide, and pays for it.)
"""

# %% [markdown] kind="text" contents="which heads look where, which can be switched off, and which decide il or elle"
r"""
## 5 · What do the heads of our translator do?

One reads that heads specialise: this one looks at the previous word, that one at the noun. Let us measure instead of looking at pretty examples. A measure for each guess:

| guess | measure |
|---|---|
| previous, same, next word | the mean weight at distance −1, 0, +1 (encoder) |
| the noun of *it* | the weight that *it* gives to its noun (encoder; 60 sentences with a pronoun) |
| the aligned word | the weight a French word's step gives to the English word it translates (across) |

A head is called by its layer and its number, both from 0: encoder 1.2. The folded cells collect the tables of weights and take the means.
"""

# %% kind="code" hide_input=true
toy = splits(seed=0, sizes={"test": 80, "coreference": 60})
encode = transformer.tokenizer.encode


def batch_of(pairs):
    sources = [encode(pair.src_text) for pair in pairs]
    return make_batch(sources, [encode(pair.tgt_text) for pair in pairs])


@torch.no_grad()
def tables(pairs):
    """For every sentence the weights of all heads by use: (12, queries, keys) each."""
    batch = batch_of(pairs)
    by_layer = model.attention_weights(batch.src, batch.src_lengths, batch.tgt_in)
    by_use = {use: weights.flatten(1, 2) for use, weights in by_layer.items()}
    return [{use: by_use[use][i] for use in by_use} for i in range(len(pairs))]


test_tables, pronoun_tables = tables(toy.test), tables(toy.coreference)

# %% kind="code" hide_input=true
def weight_at_distance(distance):
    """The mean weight of word i on word i + distance, without end tokens: (12,)"""
    means = []
    for table, pair in zip(test_tables, toy.test, strict=True):
        words = table["encoder"][:, : len(pair.src), : len(pair.src)]
        means.append(words.diagonal(distance, dim1=-2, dim2=-1).mean(dim=-1))
    return torch.stack(means).mean(dim=0)


def mean_weight(use, tables, pairs, cells_of):
    """The mean weight in the cells (row, column) that `cells_of` gives for a pair."""
    weights = [
        table[use][:, row, column]
        for table, pair in zip(tables, pairs, strict=True)
        for row, column in cells_of(pair)
    ]
    return torch.stack(weights).mean(dim=0)

# %% [markdown] kind="text"
r"""
A head that looked at all words and the end mark alike would give the previous word about {result:lesson_12/uniform weight:.0%}, on average over the test sentences. Estimate: how much does the *best* of the 12 encoder heads give it?
"""

# %% kind="estimate"
estimate("12", "heads-previous-word", lambda: 100 * weight_at_distance(-1).max().item())

# %% kind="see"
distances = {"previous word": -1, "same word": 0, "next word": 1}
rows = {name: weight_at_distance(distance) for name, distance in distances.items()}
rows["noun of 'it'"] = mean_weight(
    "encoder", pronoun_tables, toy.coreference, lambda pair: pair.antecedents
)
rows["aligned word, across"] = mean_weight(
    "cross", test_tables, toy.test, lambda pair: [(t, s) for s, t in pair.links]
)
heads = [f"{layer}.{head}" for layer in range(3) for head in range(4)]
views.heatmap(
    torch.stack(list(rows.values())), rows=list(rows), columns=heads,
    title="Where the heads look: mean weight", row_name="measure",
    column_name="layer and head, counted from 0 (encoder; last row: across)",
)

# %% [markdown] kind="text"
r"""
Not so neat. The best head for the previous word, encoder 1.2, gives it {result:lesson_12/largest weight/previous word:.0%}; the best for the next, 2.0, {result:lesson_12/largest weight/next word:.0%}; most encoder heads spread themselves over everything. For the noun of *it*, encoder 2.1 comes first, with {result:lesson_12/largest weight/noun:.0%}. **Across** it is another picture: in layers 1 and 2 all heads but 1.0 and 1.3 put 70% or more on the aligned word.

**But does a head matter?** That takes an experiment. An {term:ablation} takes a part out of a trained model and measures what is lost. Ours sets a head's rows of $W_O$ to 0: it looks as before, and nobody hears of it. (Put its mean finding in the place of 0, and the story below is the same.)

Place your bet: 36 heads, each switched off **alone**. How often does the translation of "… because it was **thirsty**" change? Then try both sentences, and switch off one after another. You will see three things:

- How far each head spreads: the {term:attention entropy|entropy} of its weights, $-\sum_j w_j \log_2 w_j$ bits, is 0 when one word gets all, 1 when two share alike, and 3.3 when all ten places of the English sentence do.
- What the translator says, and how sure it is of each right word: about {result:lesson_12/thirsty/mean probability:.2f}. It was trained to leave a little doubt (lesson 15), and twelve such chances multiply to {result:lesson_12/thirsty/probability:.2f}.
- The attention weights of cross 1.3.
"""

# %% kind="predict"
predict("12", "heads-bet", HeadSwitches())

# %% [markdown] kind="text"
r"""
One head, cross 1.3: without it the cat is *elle*. In the other sentence two heads matter, encoder 0.3 and decoder 2.1. Everything else is spared, one at a time. Three trainings, 300 test sentences each (`inside_heads`), agree: {result:lesson_12/spared/least:.0f} to {result:lesson_12/spared/most:.0f} of the 36 heads can be taken out one by one for less than two points of exact translations. And in each training the pronouns hang on one head most: without it {result:lesson_12/percent of pronouns without the most needed head/seed 0:.0f}% of them are right in the first, {result:lesson_12/percent of pronouns without the most needed head/seed 1:.0f} in the second, {result:lesson_12/percent of pronouns without the most needed head/seed 2:.0f} in the third, instead of 100.

Encoder 2.1 looks most at the noun of *it*, so it should be one of those that matter. Take it out, and the three above, over 60 sentences with a pronoun. (Counted now: whole sentences, with the right words before each word.)
"""

# %% kind="code" hide_input=true
pronouns, test = batch_of(toy.coreference), batch_of(toy.test)


@torch.no_grad()
def logits_of(batch):
    memory = model.encode(batch.src, batch.src_lengths)
    return model.decode(memory, batch.tgt_in)[0]


def fraction_exact(batch):
    """The fraction of sentences with every word right, given the words before it."""
    right = logits_of(batch).argmax(dim=-1) == batch.tgt_out
    return (right | (batch.tgt_out == PAD)).all(dim=1).float().mean().item()


def loss(batch):
    """The summed loss of the right words of a sentence; the mean over sentences."""
    logs = logits_of(batch).log_softmax(dim=-1)
    logs = logs.gather(-1, batch.tgt_out[..., None])[..., 0]
    return -logs.masked_fill(batch.tgt_out == PAD, 0.0).sum(dim=1).mean().item()

# %% kind="see"
for name in ("encoder 2.1", "encoder 0.3", "cross 1.3", "decoder 2.1"):
    with ablated(model, [name]):
        print(f"without {name}: {fixed(100 * fraction_exact(pronouns), 0)}% right")

for pair, table in list(zip(toy.coreference, pronoun_tables, strict=True))[:2]:
    pronoun = next(i for i, word in enumerate(pair.tgt) if word in ("il", "elle"))
    source = pair.src[table["cross"][7, pronoun].argmax()]  # head 7 is 1.3
    noun = table["decoder"][9, pronoun].argmax().item()  # head 9 is 2.1
    print(f"{pair.tgt[pronoun]}: cross 1.3 looks at '{source}',", end=" ")
    print(f"decoder 2.1 at the place that said '{pair.tgt[noun]}'")

# %% [markdown] kind="text"
r"""
So the head that *looks* at the noun is not needed, and the two that matter most look elsewhere. Cross 1.3 looks at the word that decides, *thirsty* or *cold*. Decoder 2.1 goes back to the place where the noun was said, *chat* or *eau*, and there the gender is:

| place | 0 | 1 | 2 | … | 8 |
|---|---|---|---|---|---|
| reads | (start) | le | chat | … | qu' |
| says | le | **chat** | a | … | **il** |

From place 8 it looks at place 1. (Over {result:lesson_12/decoder 2.1/sentences:.0f} such sentences it gives the noun's place {result:lesson_12/decoder 2.1/mean weight on the noun:.0%} on average.) And one head tells the other which noun: with cross 1.3 silent, decoder 2.1 finds the right one in only {result:lesson_12/decoder 2.1/largest on the noun without cross 1.3:.0f} of the {result:lesson_12/decoder 2.1/sentences:.0f} sentences, instead of {result:lesson_12/decoder 2.1/largest on the noun:.0f}. The table above showed cross 1.3 as an exception, and not what for. Taking out did.

**Is a head that can be spared useless?** Take several out together. The loss is the surprise of lesson 01, added up over a sentence.
"""

# %% kind="see"
full_loss = loss(test)
names = head_names(model)  # four heads a layer, layer by layer


def loss_increase(heads):
    with ablated(model, heads):
        return loss(test) - full_loss


print(f"all heads on: {fixed(full_loss, 2)}. Without a layer's heads it rises by …")
for first in range(0, 36, 4):
    four = names[first : first + 4]
    singly, together = sum(loss_increase([head]) for head in four), loss_increase(four)
    increases = f"{fixed(singly, 1):>4} one by one, {fixed(together, 1):>5} together"
    print(f"{four[0][:-2]}: {increases}")
both = fixed(loss_increase(names[4:12]), 2)
print(f"encoder 1 and encoder 2, all eight heads: {both}")

# %% [markdown] kind="text"
r"""
Two very different cases look the same one by one. In **decoder 0** no head seems needed, and all four together are: they cover for each other. **Cross 0** is like that, too. Without **encoder 1** or **encoder 2** next to nothing is lost, without both a little: of 300 test sentences {result:lesson_12/exact/without encoder 1 and 2:.0%} are right instead of {result:lesson_12/exact/all heads:.0p}. Only of these may one say that they are hardly needed, for these sentences and in this training: in the second of the three, encoder 1.1 alone is worth {result:lesson_12/exact lost without encoder 1.1, seed 1:.0p} points. (Where does this translator work? Without *any* head in the encoder four in five are still right; without the four of cross 1, about half.)

So "switched off, no harm" says that the *others can do without*. And the other way round: of *il* and *elle* one will come out, needed head or not. In the explorable, *thirsty* is wrong without cross 1.3 and right again when decoder 2.1 goes too. It is a default, not knowledge.
"""

# %% kind="quiz"
quiz("12", "ablation")

# %% [markdown] kind="text" contents="1 to 16 heads, trained with three seeds each, and a prediction"
r"""
## 6 · How many heads?

Back to the first question. We trained the translator with 1, 2, 4, 8 and 16 heads, all of width 64 together, three *seeds* each (`heads`): trainings that differ only in their random numbers. The same parameters, the same steps. One head is one average, 16 heads have keys of 4 numbers. Exact translations of the test set, and of sentences nested deeper than any it has learned from. What came out?
"""

# %% kind="predict" hide_input=true
counts = (1, 2, 4, 8, 16)
stored = data_path("results", "heads.json").read_text(encoding="utf-8")
scores = {(r["variant"], r["seed"]): r["scores"] for r in json.loads(stored)["runs"]}
parts, alt = [], "Exact translations, three seeds."
for title, split in {"Test set": "test", "Nested deeper": "depth"}.items():
    curves = {}  # one for each seed
    for seed in range(3):
        exact = [scores[str(count), seed][split]["exact"] for count in counts]
        curves[f"seed {seed}"] = [100 * fraction for fraction in exact]
    y_name = "exact translations, %"
    parts.append(views.Part(title, counts, curves, y_name, log_x=True))
    one = [curve[0] for curve in curves.values()]
    more = [percent for curve in curves.values() for percent in curve[1:]]
    alt += f" {title}: {min(one):.0f} to {max(one):.0f}% with one head,"
    alt += f" {min(more):.0f} to {max(more):.0f}% with more."

figure = views.panels(parts, x_name="heads: 1, 2, 4, 8, 16", alt=alt)
predict("12", "heads-how-many", figure)

# %% [markdown] kind="text"
r"""
One head is behind in every run, by {result:lesson_12/exact, smallest gap to one head:.1p} point where they come nearest and by one to two on average; 2 to 16 are level within their seeds. On deeper sentences one head is five to seven points behind, but its three seeds differ by more than that. Very narrow heads, which we had expected to lose something, do not. And *il* or *elle*, our hardest choice? One head gets {result:lesson_12/pronouns, one head/least:.0p} to {result:lesson_12/pronouns, one head/most:.0%} of them right: one average is enough if the layers before have prepared for it.

On real captions (Multi30k, recorded in `ablation`) one head costs *nothing* we can measure, and 16 heads lose a little under one point of {term:BLEU}, a score for shared word groups (lesson 16). Michel, Levy and Neubig (2019) found that most heads of trained models can be taken out *one at a time*; attention across needs its heads most. Voita and others (2019) pruned 38 of the 48 encoder heads of a translator for 0.15 BLEU, training on as they did so, and the ones left had jobs one could name: position, syntax, rare words.

So several looks at once are worth something, and how many is not worth a quarrel. (Heads may even share their keys: lesson 17.)
"""

# %% [markdown] kind="text" contents="the wrong cut in a trained translator, and how it gets round the causal mask"
r"""
## Break it

The first version of `split_heads`, put into the **trained** translator. Every shape fits.

> **Before you run it:** an error, a worse translation, or none at all?
"""

# %% kind="break"
def first_version(features, *, n_heads):
    *batch, n, d_model = features.shape
    return features.reshape(*batch, n_heads, n, d_model // n_heads)


numbers = torch.arange(12.0).view(3, 4)
print("head 0 of 0, 1, 2, …:", first_version(numbers, n_heads=2)[0].tolist())
with patch.multiple(LAYERS, split_heads=first_version):
    print(transformer(thirsty).target)

# %% [markdown] kind="text"
r"""
No error, and nonsense: head 0's rows are [0, 1], [2, 3], [4, 5]. They belong to one word and a half, and head 0 never sees the last word. (All this harm comes from the source: the translator writes word by word, and for a single word the reshape *is* the right cut.)

Would training heal it? In training the decoder reads a whole French sentence at once, under the causal mask. Give it eight words, then the same with another last word. With the right cut nothing before the last place may move.
"""

# %% kind="predict" hide_input=true
batch = batch_of(toy.coreference[:1])  # the cat … because it was thirsty
eight_words = batch.tgt_in[:, :8]
changed = torch.cat([eight_words[:, :-1], torch.tensor([encode("chien")])], dim=1)


@torch.no_grad()
def logit_change(split):
    """The largest change of a logit at each position when the last word changes."""
    memory = model.encode(batch.src, batch.src_lengths)
    with patch.multiple(LAYERS, split_heads=split):
        before = model.decode(memory, eight_words)[0][0]
        after = model.decode(memory, changed)[0][0]
    return (after - before).abs().amax(dim=-1)


splits_tried = {"first version": first_version, "right cut": split_heads}
figure = views.lines(
    range(8), {name: logit_change(split) for name, split in splits_tried.items()},
    x_name="place", y_name="change of a logit", title="The word at place 7 changed",
)
predict("12", "heads-round-the-mask", figure)

# %% [markdown] kind="text"
r"""
The mask hides rows, and with this cut a row is not a word: of eight words, row 0 of head 3 is a piece of word 6. So the first place hears from the end of the sentence. It is the leak of [lesson 10](10_masks.ipynb) again, past a mask that is right. A decoder trained like this may look up what it is to guess, and when it writes, that is not there. Do not hope that training heals it. Would your test have caught it?
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself

The first try counts for your score; every answer gets a reason.
"""

# %% kind="quiz"
quiz("12", "closing")

# %% [markdown] kind="instructor"
r"""
**Bet before the explorable (2 min).** Let everybody write down a number from 0 to 36. Usual bets: 5 to 15. Then one head, live. Follow-up: "so 35 heads are useless?" Wait for somebody to say *together*.

**Ask the room.** "The head that looks most at the noun is not needed for the pronoun. How can that be?" Expected: the information had already been moved, or nobody reads what this head writes. A weight says what was fetched, not what was used.

| they say | what it is | answer |
|---|---|---|
| "8 heads cost 8 times as much" | M32 | h · d_k = d_model. Only the tables grow. |
| "each head has its job" | M33 | Show the heat map: {result:lesson_12/largest weight/previous word:.0%} at best in the encoder. |
| "view does the same as transpose" | M34 | `arange(12)`, two heads, print. |
| "it can be switched off, so it is useless" | M33 | Decoder 0: one by one nothing, together a lot. |

**If time is short**, leave out `test_split` and section 4's sliders; keep the bet, the layer by layer table and both halves of *Break it*.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | what it is | shape |
|---|---|---|
| `d_model` | width of a word's vector | 64 here, 512 in the paper |
| $h$, $d_k$ | number of heads, width of each | $h \cdot d_k$ = d_model |
| split | each head's slice of every word | (batch, h, n, d_k) |
| weights | one table for each head | (batch, h, n, n) |
| join, $W_O$ | end to end again, then mixed | (batch, n, d_model) |

- One head is one average. Several look for several things and keep them apart.
- With the width fixed, heads cost no parameters and no multiplications; only the tables of scores grow.
- Cut first, then swap. A reshape to the final shape mixes words, goes round the mask and says nothing.
- Heads of our translator are not neat. What a head looks at and what it is needed for are two questions, and the second takes an {term:ablation}.
- A head that can be spared alone may be needed when its neighbours are gone.

**Still missing.** Attention only mixes what is there; nothing here *thinks* about a word by itself, and stacked alone such layers would not train. Lesson 13 builds what stands around attention.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani and others, *Attention Is All You Need* (2017), section 3.2.2, and rows (A) of table 3. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Michel, Levy and Neubig, *Are Sixteen Heads Really Better than One?* (2019). [arXiv 1905.10650](https://arxiv.org/abs/1905.10650)
- Voita and others, *Analyzing Multi-Head Self-Attention: Specialized Heads Do the Heavy Lifting, the Rest Can Be Pruned* (2019). [arXiv 1905.09418](https://arxiv.org/abs/1905.09418)
- `course_lib/layers/multi_head.py`: the course's own, on two pages.
"""
