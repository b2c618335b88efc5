# Lesson 13 · the source. Edit this file, then run `python3 -m course_lib build 13`; the notebook is made from it.

# %% [markdown] kind="title" minutes=0.5
r"""
# 13 · The block

**The question:** what must stand around attention so that many layers of it can be trained?

About {minutes} minutes. You need multi-head attention from [lesson 12](12_many_heads.ipynb), masks from [lesson 10](10_masks.ipynb), and the vanishing gradient from [lesson 02](02_recurrent_networks.ipynb).
"""

# %% [markdown] kind="goals" minutes=0.5
r"""
After this lesson you can

1. **measure** how words grow alike in a stack of attention, and **say** why;
2. **write** layer normalisation, the feed-forward layer and the residual path, and **build** a block from them that drives a trained translator;
3. **tell** which numbers LayerNorm averages, and which BatchNorm does;
4. **compare** the two places of the norm, at 1 to 12 layers;
5. **diagnose** a sick block from its curves.
"""

# %% kind="setup" minutes=0.5
import json
from unittest.mock import patch

import torch

from course_lib import views
from course_lib.explore import PathPast, WhichMean
from course_lib.formatting import fixed
from course_lib.layers.block import Block, Weights
from course_lib.runtime import data_path
from course_lib.teaching import check, estimate, explain, predict, quiz
from course_lib.teaching import recorded, start_lesson, yours
from course_lib.text.batch import make_batch
from course_lib.translation.shipped import load_shipped

start_lesson("the_block", seed=13)

# %% [markdown] kind="text" minutes=0.5
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall" minutes=2
quiz("13", "recall")

# %% [markdown] kind="text" minutes=1
r"""
## 1 · Words that grow alike

A translator wants several layers of attention, one on the other. Suppose we simply stack them. What happens to the words?

Attention gives each word a **mean** of all words. Mix red, blue and yellow paint, a little differently in each pot, and you get three browns. Mix the browns again, and nobody can tell the pots apart.

**By hand.** Two words, 0 and 8. One takes ¾ of itself and ¼ of the other, and so does the other: 2 and 6. Again: 3 and 5. Again: 3½ and 4½. The difference halves in every layer; what they have in common stays.

To measure it, take the cosine (lesson 07) of every word with every *other* word, and the mean of them: 1 means that all words point the same way.
"""

# %% [markdown] kind="text" minutes=0.5 exercise="likeness"
r"""
`x` holds the words of a sentence as rows, perhaps with axes in front. Return the mean cosine over all pairs of two **different** words: one number for each sentence.
"""

# %% kind="exercise" exercise="likeness" title="How alike are the words?" difficulty=2 importance=3 minutes=4 track="core"
def likeness(x):
    """x (..., n, d)  ->  mean cosine (...), over pairs of different words"""
    # solution
    n = x.shape[-2]
    unit = x / x.norm(dim=-1, keepdim=True)
    cosines = unit @ unit.transpose(-1, -2)
    return (cosines.sum(dim=(-1, -2)) - n) / (n * (n - 1))
    # end solution

# %% kind="check" exercise="likeness"
check("likeness", likeness)

# %% [markdown] kind="hints" exercise="likeness"
r"""
### A nudge
Make every word one long (divide by its length). Then a dot product is a cosine, and `unit @ unit.transpose(-1, -2)` is the table of all of them.

---
### The recipe
The diagonal of the table holds n ones: each word with itself. Take the sum of the table, subtract n, divide by n (n − 1).
"""

# %% [markdown] kind="text" minutes=1
r"""
Now stack 12 blocks as they are before any training, with random weights. A {term:Transformer block|block} is one layer of the Transformer: attention, and what this lesson puts around it. The library's has a switch, `residual=False`, that leaves attention without any path past it. Sentences of eight random words, 64 numbers each; three random starts.

> **Before the picture:** how alike are the words after the **second** block, when there is no path past it?
"""

# %% kind="code" minutes=0.5
likeness = yours("likeness")


@torch.no_grad()
def stacked(n_blocks, seed, **options):
    """The likeness of words at the start and after every block."""
    torch.manual_seed(seed)
    x = torch.randn(8, 8, 64)
    found = [likeness(x).mean()]
    for _ in range(n_blocks):
        x, _, _ = Block(d_model=64, n_heads=4, d_ff=256, **options)(x)
        found.append(likeness(x).mean())
    return torch.stack(found)


def mean_of_three(**options):
    return torch.stack([stacked(12, seed, **options) for seed in range(3)]).mean(dim=0)

# %% kind="predict" minutes=3
curves = {"with a path": mean_of_three(), "without": mean_of_three(residual=False)}
figure = views.lines(
    range(13), curves, x_name="after block", y_name="mean cosine of two words",
    title="Words growing alike, before any training",
    alt="Two curves over 12 blocks: mean cosine of two words, with a path and without.",
)
predict("13", "block-alike", figure)

# %% [markdown] kind="text" minutes=1
r"""
Without a path the words are one word after two blocks. Nothing can be learned from there: whatever the next layer asks, all words answer the same. With a path they grow alike too, but slowly. It **delays** the mixing; it does not abolish it. (Dong, Cordonnier and Loukas, 2021, proved it for attention alone.)

That is before training. What becomes of it is recorded (`block`, three seeds): our translator, trained, has a likeness of 0.02 with the path; trained without it, 1.00, and it gets **no** sentence right.
"""

# %% kind="explain" minutes=3
explain("13", "block-why-alike")

# %% [markdown] kind="text" minutes=1
r"""
## 2 · A path past the layer

The cure is one plus sign. Let $f$ be a layer. Instead of $f(x)$ take

$$ x + f(x) $$

The layer no longer rewrites the word. It makes a *suggestion*, like a note in the margin, and the text itself goes past untouched. Such a sum is a {term:residual connection} (He and others, 2016): the layer has to learn only the rest, the *residue*, that is to be changed.

It helps on the way back, too. **By hand:** let each layer multiply by ½. Through 3 of them comes ½ · ½ · ½ = ⅛ of the gradient, the telephone game of lesson 02. With the sum, each layer's slope is 1 + ½. And there are 2 · 2 · 2 = 8 ways back, through each layer or past it. One of them touches no layer at all.
"""

# %% kind="diagram" minutes=0.5 hide_input=true
PARTS = {
    "x": (0, 1), "norm 1": (1, 0), "attention": (2, 0), "+": (3, 1), "norm 2": (4, 0),
    "feed-forward": (5, 0), "+ ": (6, 1), "new x": (7, 1),
}
ARROWS = [("x", "norm 1"), ("norm 1", "attention"), ("attention", "+"), ("x", "+")]
ARROWS += [("+", "norm 2"), ("norm 2", "feed-forward"), ("feed-forward", "+ ")]
ARROWS += [("+", "+ "), ("+ ", "new x")]
views.diagram(PARTS, ARROWS, lit=("+", "+ "), title="Two layers beside one path")

# %% [markdown] kind="text" minutes=0.5
r"""
In the explorable, each layer on the left turns its vector in some direction and multiplies it by a *strength*. On the right each layer is attention. Choose what each layer looks like, from `f(x)` alone to sums with a *norm*, which section 3 explains.
"""

# %% kind="predict" minutes=4
predict("13", "block-twelve-layers", PathPast())

# %% [markdown] kind="text" minutes=1
r"""
Without a path the strength decides, to the power of the depth: 0.5 lets nothing through, 1.25 blows it up. With a path the gradient arrives. But `x + f(x)` at full strength *grows*: the sum has no bound. So depth needs a second part, one that keeps sizes in check.

**How large is it in real blocks?** 24 blocks with path and **no** norm, random weights. The words start with a size of 1 (the root of their mean square).
"""

# %% kind="estimate" minutes=2
@torch.no_grad()
def sizes(n_blocks, **options):
    """The words' size at the start and after every block."""
    torch.manual_seed(0)
    x = torch.randn(2, 8, 64)
    found = [x.square().mean().sqrt().item()]
    for _ in range(n_blocks):
        x, _, _ = Block(d_model=64, n_heads=4, d_ff=256, **options)(x)
        found.append(x.square().mean().sqrt().item())
    return found


estimate("13", "block-size-24", lambda: sizes(24, norm="none")[-1])

# %% kind="see" minutes=1
kinds = {
    "path, no norm": {"norm": "none"},
    "path and norm": {},
    "neither": {"norm": "none", "residual": False},
}
views.lines(
    range(25), {name: sizes(24, **options) for name, options in kinds.items()},
    x_name="after block", y_name="size of a word", log_y=True,
    title="The signal through 24 blocks",
)

# %% kind="see" minutes=1 ignore_output=true
kinds["norm, no path"] = {"residual": False}
for name, options in kinds.items():
    torch.manual_seed(0)
    start = torch.randn(2, 8, 64, requires_grad=True)
    x = start
    for _ in range(24):
        x, _, _ = Block(d_model=64, n_heads=4, d_ff=256, **options)(x)
    (x * torch.randn_like(x)).sum().backward()  # a gradient of size 1 at the end
    back = start.grad.square().mean().sqrt().item()
    print(f"{name}: gradient at the start {back:.0e}")
    assert {"path, no norm": back > 1e6, "neither": back < 1e-4}.get(name, back < 100)

# %% [markdown] kind="text" minutes=1
r"""
Neither: signal and gradient are gone, as in the explorable. Path alone: a signal of tens of thousands, and a gradient of many millions. Both: the signal grows a little, from 1 to about 5, and the gradient stays within a factor of ten. **The path carries, the norm keeps the size.**

And the last line: norms *without* a path keep the gradient's size as well. So a vanishing gradient is not what ruins a normed stack without a path. Its words are all alike, and that is.

## 3 · Layer normalisation

{term:layer normalisation|Layer normalisation} (Ba, Kiros and Hinton, 2016) takes **one word**, subtracts the mean of its numbers, and divides by their standard deviation (lesson 08). Like marks in a class: not "57 points", but "one standard deviation above the mean".

**By hand.** The word (0, 1, 2, 3) has mean 1.5. The distances are −1.5, −0.5, 0.5, 1.5; their squares have the mean (2.25 + 0.25 + 0.25 + 2.25) / 4 = 1.25, whose root is 1.118. Result: −1.34, −0.45, 0.45, 1.34. The word (0, 10, 20, 30) gives the same.

$$ y = \frac{x - \text{mean}(x)}{\sqrt{\text{variance}(x) + \epsilon}} \cdot w + b $$

A small $\epsilon$ (0.00001) saves a word of equal numbers from a division by 0. The scale $w$ and the shift $b$, one number for each feature, are learned: what was taken away can be given back where it is needed.
"""

# %% [markdown] kind="text" minutes=0.5 exercise="layer_norm"
r"""
Write it with `mean`, squares and roots, not with torch's own `layer_norm`. Every word by itself, over its features: the last axis. The variance is the plain **mean** of the squared distances.
"""

# %% kind="exercise" exercise="layer_norm" title="Layer normalisation" difficulty=2 importance=5 minutes=6 track="core"
def layer_norm(x, weight, bias, eps=1e-5):
    """x (..., d_model), weight (d_model,), bias (d_model,)  ->  (..., d_model)"""
    # solution
    away = x - x.mean(dim=-1, keepdim=True)
    variance = away.square().mean(dim=-1, keepdim=True)
    return away / torch.sqrt(variance + eps) * weight + bias
    # end solution

# %% kind="check" exercise="layer_norm"
check("layer_norm", layer_norm)

# %% [markdown] kind="hints" exercise="layer_norm"
r"""
### A nudge
`keepdim=True` keeps the axis as one of length 1, so that the mean can be subtracted from the word it came from.

---
### The recipe
Distances from the mean; the mean of their squares; divide the distances by the root of that plus `eps`; times `weight`, plus `bias`.
"""

# %% [markdown] kind="text" minutes=0.5 exercise="test_norm"
r"""
A norm over the wrong axis has the right shape and even trains. **Write the test that catches it.** It gets somebody's `norm(x, weight, bias, eps)` and raises if it is wrong. You may compare with `torch.nn.functional.layer_norm`, or with numbers from paper.
"""

# %% kind="exercise" exercise="test_norm" mode="test" title="Write the test" difficulty=2 importance=4 minutes=4 track="core"
def test_norm(norm):
    """Takes a function like layer_norm; raises if it is wrong."""
    # solution
    x = torch.tensor([[1.0, 3.0], [10.0, 50.0]])
    weight, bias = torch.tensor([1.0, 2.0]), torch.tensor([0.0, 5.0])
    expected = torch.tensor([[-1.0, 7.0], [-1.0, 7.0]])
    assert torch.allclose(norm(x, weight, bias, 0.0), expected, atol=1e-4)
    # end solution

# %% kind="check" exercise="test_norm"
check("test_norm", test_norm)

# %% [markdown] kind="hints" exercise="test_norm"
r"""
### A nudge
Two words of very different size: over which axis does a norm go that gives the small one tiny numbers?

---
### The recipe
Choose two words, a `weight` that is not all ones and a `bias` that is not all zeros. Work the answer out on paper, or let torch do it, and compare with `torch.allclose(..., atol=1e-4)`.
"""

# %% [markdown] kind="text" minutes=1
r"""
**Why not over the batch?** The older way, {term:batch normalisation} (Ioffe and Szegedy, 2015), takes one *feature* and averages it over all words of the batch. That works well for pictures of equal size. Sentences have different lengths, filled up with padding (lesson 10), and in use there may be only one sentence. So it keeps running means from training for use, and its two lives differ.

In the explorable, three short sentences; the first word is (0, 1, 2, 3).
"""

# %% kind="predict" minutes=3
predict("13", "block-other-sentence", WhichMean())

# %% [markdown] kind="text" minutes=1
r"""
With LayerNorm a word's result depends on that word alone. With BatchNorm in training, my neighbour's shouting changes *my* numbers, and so does padding, which nobody should notice. (One can leave padding out; the library's `batch_norm` does.) In our record, with padding left out, BatchNorm costs four points of exact translations: 94.5% on the test set against 98.5, and 4% against 11 on sentences longer than any in training (`block`, three seeds each).

## 4 · Each word thinks for itself

Attention moves information between words. But its output is only a weighted mean of values: nothing is *computed* about what was found. That is the task of the {term:feed-forward network}: it widens each word (64 numbers to 256 in our model), bends it, and narrows it again. Every word by itself, and the same weights for all.

$$ \text{FFN}(x) = W_{\text{out}} \max(0,\; W_{\text{in}}\, x + b_{\text{in}}) + b_{\text{out}} $$

The bend, $\max(0, \cdot)$, is called {term:ReLU}: what is negative becomes 0. Without it two linear layers would be one.
"""

# %% [markdown] kind="text" minutes=0.5 exercise="feed_forward"
r"""
Matrices are kept as torch keeps them, (out, in): multiply by `.T`, or use `torch.nn.functional.linear`.
"""

# %% kind="exercise" exercise="feed_forward" title="The feed-forward layer" difficulty=1 importance=4 minutes=4 track="core"
def feed_forward(x, w_in, b_in, w_out, b_out):
    """x (..., d_model), w_in (d_ff, d_model), w_out (d_model, d_ff)  ->  like x"""
    # solution
    wide = torch.relu(x @ w_in.T + b_in)
    return wide @ w_out.T + b_out
    # end solution

# %% kind="check" exercise="feed_forward"
check("feed_forward", feed_forward)

# %% [markdown] kind="hints" exercise="feed_forward"
r"""
### A nudge
Two lines: widen and bend, then narrow. The bias of the first comes before the bend.

---
### The recipe
`torch.relu(x @ w_in.T + b_in)`, then times `w_out.T`, plus `b_out`.
"""

# %% kind="quiz" minutes=2
quiz("13", "feed-forward")

# %% [markdown] kind="text" minutes=1
r"""
Is it needed? Trained with attention alone, our translator has 193,064 parameters in place of 392,360, and 95.5% right in place of 98.5 (`block`). Three points, for half of the parameters. Whether the thinking is missing or just the size, this record cannot tell.

## 5 · The block

Two layers, each with its norm, beside one path. Norm **before** the layer is called {term:pre-norm}: $x + f(\text{norm}(x))$.
"""

# %% kind="diagram" minutes=0.5 hide_input=true
one_layer = ("norm 1", "attention", "+")
views.diagram(PARTS, ARROWS, lit=one_layer, title="One layer, pre-norm")

# %% [markdown] kind="text" minutes=0.5 exercise="pre_norm"
r"""
`layer` and `norm` are functions of a tensor. Here is a first version; make its check pass.
"""

# %% kind="exercise" exercise="pre_norm" mode="bug" title="The residual path" difficulty=2 importance=5 minutes=4 track="core"
def pre_norm(x, layer, norm):
    """x (..., d_model)  ->  (..., d_model)"""
    # bug
    x = norm(x)
    return x + layer(x)
    # end bug
    # solution
    return x + layer(norm(x))
    # end solution

# %% kind="check" exercise="pre_norm"
check("pre_norm", pre_norm)

# %% [markdown] kind="hints" exercise="pre_norm"
r"""
### A nudge
What exactly goes past the layer here? Follow one number, 8, with a norm that halves and a layer that triples.

---
### The recipe
The name `x` is given away in the first line, so the path carries normalised words, and after 12 layers it has been normalised 24 times. What is added must be the `x` from before.
"""

# %% kind="code" minutes=0.5
layer_norm, feed_forward = yours("layer_norm"), yours("feed_forward")
pre_norm, many_heads = yours("pre_norm"), yours("many_heads")

transformer = load_shipped("transformer")
model = transformer.model.eval()
for name, numbers in model.encoder.blocks[0].state_dict().items():
    print(f"{name:<34}{tuple(numbers.shape)}")

# %% [markdown] kind="text" minutes=1 exercise="encoder_block"
r"""
Those are the parameters of one trained block, by name. **Build the block that uses them.** `parts` is such a dictionary; `parts["attention.w_query"]` is a matrix.

1. Attention with its norm: `around_attention.norm.weight` and `.bias`. Call `many_heads(x, source, w_q, w_k, w_v, w_o, n_heads, may_look)` of lesson 12: words and source are the same normalised words; it writes `x @ w_q`, and these matrices are (out, in), so hand over `.T`. It returns two things.
2. Then the feed-forward layer, likewise, with `around_feed_forward.norm`.

Call your parts with names, as in `layer_norm(x, weight=…, bias=…)`, `pre_norm(x, layer, norm=…)` and `feed_forward(x, w_in=…, b_in=…, w_out=…, b_out=…)`. Functions inside the function are welcome.
"""

# %% kind="exercise" exercise="encoder_block" title="The block" difficulty=4 importance=5 minutes=15 track="core"
def encoder_block(x, parts, n_heads, may_look=None):
    """x (batch, n, d_model), may_look (batch, 1, 1, n) or None  ->  like x"""
    # solution
    def norm(x, around):
        weight, bias = parts[f"{around}.norm.weight"], parts[f"{around}.norm.bias"]
        return layer_norm(x, weight=weight, bias=bias)

    def look(x):
        names = ("w_query", "w_key", "w_value", "w_output")
        matrices = [parts[f"attention.{name}"].T for name in names]
        return many_heads(x, x, *matrices, n_heads, may_look)[0]

    def think(x):
        inner, outer = "feed_forward.inner", "feed_forward.outer"
        return feed_forward(
            x, w_in=parts[f"{inner}.weight"], b_in=parts[f"{inner}.bias"],
            w_out=parts[f"{outer}.weight"], b_out=parts[f"{outer}.bias"],
        )

    x = pre_norm(x, look, norm=lambda x: norm(x, "around_attention"))
    return pre_norm(x, think, norm=lambda x: norm(x, "around_feed_forward"))
    # end solution

# %% kind="check" exercise="encoder_block"
check("encoder_block", encoder_block)

# %% [markdown] kind="hints" exercise="encoder_block"
r"""
### A nudge
Write it first in four lines without `pre_norm`: `seen = layer_norm(x, …)`, `x = x + attention of seen`, `seen = layer_norm(x, …)`, `x = x + feed-forward of seen`.

---
### The recipe
`heard, _ = many_heads(seen, seen, parts["attention.w_query"].T, …, n_heads, may_look)`. The second norm has weights of its own, and sees the `x` that attention has already changed.

---
### "Right by hand, wrong elsewhere"
Look at `may_look`, at `.T`, and at which norm you use where.
"""

# %% kind="library" minutes=1
encoder_block = yours("encoder_block")
torch.manual_seed(13)
block = Block(d_model=12, n_heads=3, d_ff=20)
parts, x = block.state_dict(), torch.randn(2, 5, 12)
torchs = torch.nn.TransformerEncoderLayer(
    12, 3, dim_feedforward=20, dropout=0.0, batch_first=True, norm_first=True
)
rows = [parts[f"attention.{name}"] for name in ("w_query", "w_key", "w_value")]
with torch.no_grad():
    torchs.self_attn.in_proj_weight.copy_(torch.cat(rows))
    torchs.self_attn.out_proj.weight.copy_(parts["attention.w_output"])
    for theirs, ours in (("linear1", "inner"), ("linear2", "outer")):
        for kind in ("weight", "bias"):
            numbers = parts[f"feed_forward.{ours}.{kind}"]
            getattr(getattr(torchs, theirs), kind).copy_(numbers)
    ours = encoder_block(x, parts, 3)
    assert torch.allclose(ours, block(x)[0], atol=1e-5)
    assert torch.allclose(ours, torchs(x), atol=1e-5)
print("the same as the library's and as torch's:", tuple(ours.shape))

# %% [markdown] kind="text" minutes=0.5
r"""
Now the trained translator, all three blocks of its encoder replaced by **yours**. (`patch.object` puts another `forward` in a block's place for a while.)
"""

# %% kind="see" minutes=1
def by_mine(block):
    """Puts encoder_block, with this block's weights, in the place of its forward."""
    parts = block.state_dict()

    def forward(x, may_look=None, **others):
        return encoder_block(x, parts, 4, may_look), None, Weights(None, None)

    return patch.object(block, "forward", forward)


thirsty = "the cat drank the water because it was thirsty"
expected = transformer(thirsty).target
first, second, third = model.encoder.blocks
with by_mine(first), by_mine(second), by_mine(third), torch.no_grad():
    said = transformer(thirsty).target
assert said == expected
print(said)

# %% [markdown] kind="text" minutes=1
r"""
The same translation. Lesson 14 assembles the whole Transformer from these parts.

## 6 · Before or after?

The 2017 paper did it the other way round: $\text{norm}(x + f(x))$, {term:post-norm}. Then the path itself goes through every norm. Is it worth a thought? We trained both with 1, 2, 3, 6 and 12 layers, three seeds each, all else equal (`depth`).

> **Before the picture:** what becomes of post-norm at **12** layers?
"""

# %% kind="predict" minutes=2
counts = (1, 2, 3, 6, 12)
exact = recorded("depth", lambda run: 100 * run["scores"]["test"]["exact"])
by_place = {
    place: [exact[f"{count} layers, {place}"] for count in counts]
    for place in ("pre-norm", "post-norm")
}
figure = views.lines(
    counts, by_place, x_name="layers", y_name="exact translations, %",
    title="The place of the norm, mean of three seeds",
    alt="Exact translations over 1 to 12 layers, pre-norm and post-norm.",
)
predict("13", "block-post-norm", figure)

# %% [markdown] kind="text" minutes=1.5
r"""
Up to 3 layers the place does not matter. At 6, post-norm gets 95, 19 and 83% with three seeds: luck decides. At 12 it gets nothing with any of them, and pre-norm has 99%. With *this* recipe: 400 steps of gentle start at a rate of 0.003. A longer start or a smaller rate may save post-norm; we did not try. (Xiong and others, 2020, explain it by gradients that are large near the output when training starts.)

Section 1's measure gives a second reason to look at: *before* any training, what does post-norm do to the words?
"""

# %% kind="see" minutes=1
for name, options in {"pre-norm": {}, "post-norm": {"pre_norm": False}}.items():
    found = mean_of_three(**options)
    told = ", ".join(f"{fixed(found[n], 2)} after {n}" for n in (3, 6, 12))
    print(f"{name}: likeness {told}")

# %% [markdown] kind="text" minutes=1
r"""
After 12 post-norm blocks all words start as one, path or no path: every norm shrinks what went past, so the old word is diluted layer by layer. Pre-norm never touches it. Whether this or the gradient is *the* reason the record cannot say; both point the same way.

**What came after** are two options of the same block, and most large models since 2020 use both:

- {term:RMSNorm} (Zhang and Sennrich, 2019): only divide by the root of the mean square; no mean, no shift. Cheaper.
- {term:SwiGLU} (Shazeer, 2020): in place of the bend, a gate (lesson 03): $W_{\text{out}}(\text{silu}(W_{\text{gate}}x) \cdot W_{\text{in}}x)$, with $\text{silu}(z) = z\,\sigma(z)$.

Your `pre_norm` takes any norm and any layer, so nothing else changes.
"""

# %% kind="example" minutes=1
def rms_norm(x, weight, eps=1e-5):
    return x / torch.sqrt(x.square().mean(dim=-1, keepdim=True) + eps) * weight


def swiglu(x, w_gate, w_in, w_out):
    gate = x @ w_gate.T
    return (gate * torch.sigmoid(gate) * (x @ w_in.T)) @ w_out.T


torch.manual_seed(13)
modern = Block(d_model=12, n_heads=3, d_ff=20, norm="rms", feed_forward="swiglu")
inside = modern.feed_forward
weights = [layer.weight for layer in (inside.gate, inside.inner, inside.outer)]
scale = modern.around_feed_forward.norm.weight
mine = pre_norm(x, lambda x: swiglu(x, *weights), norm=lambda x: rms_norm(x, scale))
theirs = modern.around_feed_forward(x, inside)
assert torch.allclose(mine, theirs, atol=1e-5)
right = recorded("block", lambda run: 100 * run["scores"]["test"]["exact"])
for name in ("as it is", "RMSNorm", "SwiGLU", "no norm"):
    print(f"{name}: {fixed(right[name], 1)}% exact")

# %% [markdown] kind="text" minutes=1
r"""
Level, on this task. And look at the last line: with three layers and a gentle start **no norm at all** costs less than a point. We had not expected that. Norms pay with depth.

## 7 · Four sick blocks

A clinic. Four translators were trained with one part of their blocks changed, three seeds each. Here are the loss in training and the loss on validation sentences over the steps (mean of the seeds), and some findings. (Training loss is measured with dropout and smoothed targets, so it stays near 1 even in health; dropout comes below, smoothing in lesson 15.)
"""

# %% kind="code" minutes=0.5
def runs(experiment, number):
    """The three seeds of a record's variant; by number, so that no name tells."""
    text = data_path("results", f"{experiment}.json").read_text(encoding="utf-8")
    found = json.loads(text)["runs"]
    names = list(dict.fromkeys(run["variant"] for run in found))
    return [run for run in found if run["variant"] == names[number]]


files = {"A": ("block", 1), "B": ("depth", 7), "C": ("block", 3), "D": ("block", 4)}
patients = {"healthy": runs("block", 0)}
patients |= {name: runs(*place) for name, place in files.items()}

# %% kind="see" minutes=2
steps = [entry["step"] for entry in patients["A"][0]["history"]]
losses = {"train_loss": {}, "loss": {}}
for name, found in patients.items():
    for kind, curves in losses.items():
        histories = [[entry[kind] for entry in run["history"]] for run in found]
        curves[name] = torch.tensor(histories).mean(dim=0).tolist()
    tests = ", ".join(fixed(100 * run["scores"]["test"]["exact"], 0) for run in found)
    alike = [run["likeness"][-1] for run in found if "likeness" in run]
    last = fixed(sum(alike) / 3, 2) if alike else "not taken"
    told = f"{found[0]['parameters']:,} parameters, exact {tests}%, likeness {last}"
    print(f"{name}: {told}")
titles = {"train_loss": "In training", "loss": "On validation sentences"}
parts = [
    views.Part(titles[kind], steps, curves, y_name="loss", log_y=True)
    for kind, curves in losses.items()
]
views.panels(parts, x_name="step")

# %% kind="quiz" minutes=4
quiz("13", "clinic")

# %% [markdown] kind="text" minutes=1
r"""
## Break it

One part is left: {term:dropout} (Srivastava and others, 2014). In training, each number that a layer says is set to 0 with a chance of one in ten, and the others are made larger by as much: no unit can lean on one other. In use it must be **off**. `model.train()` and `model.eval()` are the switch.

> **Before you run it:** somebody forgot `model.eval()`. An error, a worse translation, or what?
"""

# %% kind="break" minutes=2
encode = transformer.tokenizer.encode
batch = make_batch([encode(thirsty)], [encode(expected)])


@torch.no_grad()
def chance():
    """The chance of the right sentence, word by word."""
    logits, _ = model.decode(model.encode(batch.src, batch.src_lengths), batch.tgt_in)
    logs = logits.log_softmax(dim=-1).gather(-1, batch.tgt_out[..., None])
    return logs.sum().exp().item()


torch.manual_seed(13)
model.train()
left_on = [chance() for _ in range(5)]
model.eval()
off = [chance() for _ in range(5)]
print("different answers, left on:", len(set(left_on)), "of 5; off:", len(set(off)))
assert max(left_on) != min(left_on) and max(off) == min(off)

# %% [markdown] kind="text" minutes=1
r"""
No error, and often the right words. But the same sentence, asked five times, gets five answers. **That is the symptom: ask twice.** A norm over the batch has its own: ask alone and in company.

## Check yourself

The first try counts for your score; every answer gets a reason.
"""

# %% kind="quiz" minutes=4
quiz("13", "closing")

# %% [markdown] kind="instructor"
r"""
**Bet before the first figure (2 min).** "Two blocks, random weights, no path. How alike?" Usual bets: 0.3 to 0.6. Then 0.99.

**Ask the room.** "Post-norm is in the famous paper. Why did it work there with 6 layers?" Expected: warm-up of 4,000 steps and a smaller rate; our recipe is short.

| they say | what it is | answer |
|---|---|---|
| "LayerNorm averages over the sentence" | M40 | Row 1.1 in the explorable: framed are its own four numbers. |
| "residuals are for very deep nets" | M41 | Two blocks are enough: likeness 0.99. |
| "the feed-forward layer mixes words" | M35 | Shuffle the words: its outputs are shuffled likewise. |

**If time is short**, leave out the test of the norm and section 6's options; keep the build, the depth figure and the clinic.
"""

# %% [markdown] kind="summary" minutes=1
r"""
## What you have now

| name | what it is | shape |
|---|---|---|
| path | `x + f(norm(x))`: a layer suggests, the word goes past | (batch, n, d_model) |
| `layer_norm` | each word by itself: mean 0, spread 1, then scale and shift | the same |
| `feed_forward` | each word widened, bent, narrowed | d_model → d_ff → d_model |
| `encoder_block` | attention and feed-forward, each with norm and path | the same in and out |

- Attention averages, so stacked alone it makes all words alike within two blocks. The path delays that.
- The path carries signal and gradient; the norm keeps their size.
- LayerNorm looks at one word; BatchNorm at one feature of all words, padding and strangers included.
- Up to 3 layers the place of the norm is a matter of taste; at 12 layers, with our recipe, only pre-norm trains.

**Still missing.** A decoder that looks at the source, and the whole around it. Lesson 14 puts all your parts together.
"""

# %% [markdown] kind="reading" minutes=0.5
r"""
## Reading

- Vaswani and others, *Attention Is All You Need* (2017), sections 3.1 and 3.3. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Xiong and others, *On Layer Normalization in the Transformer Architecture* (2020). [arXiv 2002.04745](https://arxiv.org/abs/2002.04745)
- Dong, Cordonnier and Loukas, *Attention is Not All You Need: Pure Attention Loses Rank Doubly Exponentially with Depth* (2021). [arXiv 2103.03404](https://arxiv.org/abs/2103.03404)
- `course_lib/layers/block.py`: the course's own, with all its switches.
"""
