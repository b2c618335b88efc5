# Lesson 13 · the source. Edit this file, then run `python3 -m course_lib build 13`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 13 · The block

**The question:** what does attention need around it so that many layers can be trained?

About {minutes} minutes. You need multi-head attention from [lesson 12](12_many_heads.ipynb), masks from [lesson 10](10_masks.ipynb), and the vanishing gradient from [lesson 02](02_recurrent_networks.ipynb).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **measure** how words grow alike in a stack of attention, and **say** why;
2. **write** layer normalisation, the feed-forward layer and the residual path, and **build** a block from them that drives a trained translator;
3. **tell** which numbers LayerNorm averages, and which BatchNorm does; <!-- core -->
4. **compare** the two places of the norm, at 1 to 12 layers; <!-- core -->
5. **diagnose** a sick block from its curves. <!-- core -->
"""

# %% kind="setup"
import json
from unittest.mock import patch

import torch

from course_lib import views
from course_lib.formatting import fixed
from course_lib.layers import AttentionWeights, Block
from course_lib.runtime import data_path
from course_lib.teaching import check, estimate, explain, predict, quiz, start_lesson
from course_lib.teaching import yours
from course_lib.text import make_batch
from course_lib.translation import load_shipped
from lessons.l13_the_block import PathPast, WhichMean

start_lesson("the_block", seed=13)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("13", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · Words that grow alike

A translator wants several layers of attention, one on the other: what a word has looked up in one, it can use to ask in the next (lesson 09). Suppose we simply stack them. What happens to the words?

Attention gives each word a **mean** of all words. Mix red, blue and yellow paint, a little differently in each pot, and you get three browns.

**By hand.** Two words, 0 and 8. One takes ¾ of itself and ¼ of the other, and so does the other: 2 and 6. Again: 3 and 5. Again: 3½ and 4½. The difference halves in every layer; what they have in common stays. (With even weights, ½ and ½, it is gone at once.)

To measure it, take the cosine of every word with every *other* word; the mean of them is the words' *likeness*. The {term:cosine similarity|cosine} of two vectors is their dot product divided by both lengths; it is 1 if they point the same way, and 0 if they are at right angles.
"""

# %% [markdown] kind="text" exercise="likeness"
r"""
`x` holds the words of a sentence as rows, perhaps with axes in front. Return the mean cosine over all pairs of two **different** words: one number for each sentence.
"""

# %% kind="exercise" exercise="likeness" title="How alike are the words?" difficulty=2 importance=3 track="core"
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
### Step by step
The diagonal of the table holds n ones: each word with itself. Take the sum of the table, subtract n, divide by n (n − 1).
"""

# %% [markdown] kind="text"
r"""
Now stack 12 blocks as they are before any training, with random weights. A {term:Transformer block|block} is one layer of the Transformer: attention, and what this lesson puts around it. (The word has two senses: "12 layers" are 12 blocks, but inside a block attention and its companion of section 4 are called layers, too.) In the library's, each layer's input is added to what the layer says: a *path past* the layer (section 2). The switch `residual=False` takes it from both of the block's layers. Sentences of eight random words, 64 numbers each; three random starts.

> **Before the picture:** how alike are the words after the **second** block, without a path?
"""

# %% kind="code"
likeness = yours("likeness")


@torch.no_grad()
def likeness_by_block(n_blocks, seed, **options):
    """The likeness of words at the start and after every block."""
    torch.manual_seed(seed)
    x = torch.randn(8, 8, 64)
    by_block = [likeness(x).mean()]
    for _ in range(n_blocks):  # d_ff: section 4; the first output are the words
        x, _, _ = Block(d_model=64, n_heads=4, d_ff=256, **options)(x)
        by_block.append(likeness(x).mean())
    return torch.stack(by_block)


def mean_likeness(**options):
    by_seed = [likeness_by_block(12, seed, **options) for seed in range(3)]
    return torch.stack(by_seed).mean(dim=0)

# %% kind="predict"
curves = {"with a path": mean_likeness(), "without": mean_likeness(residual=False)}
figure = views.lines(
    range(13), curves, x_name="after block", y_name="mean cosine of two words",
    title="Words growing alike, before any training",
    alt="Two curves over 12 blocks: mean cosine of two words, with a path and without.",
)
predict("13", "block-alike", figure)

# %% [markdown] kind="text"
r"""
Without a path the words are one word after two blocks. (Dong, Cordonnier and Loukas, 2021, proved it for attention alone.) Whatever the next layer asks, all words answer the same. With a path they grow alike too, but slowly: it **delays** the mixing.

That is before training. Training then pulls the words apart, if there is a path: three random blocks leave a likeness of about {result:lesson_13/similarity/path, 3 blocks:.1f}, the three of our trained translator {result:block/as it is/likeness/-1:.2f}. Trained without a path it stays at {result:block/no residual path/likeness/-1:.2f}, and **no** sentence comes out right (`block`, three seeds each).
"""

# %% kind="explain" track="core" contents="an explanation in your own words"
explain("13", "block-why-alike")

# %% [markdown] kind="text" track="short"
r"""
## 2 · A path past the layer

The cure is one plus sign. Let $f$ be a layer. Instead of $f(x)$ take

$$ x + f(x) $$

The layer no longer rewrites the word. It makes a *suggestion*, like a note in the margin, and the text itself goes past untouched. Such a sum is a {term:residual connection} (He and others, 2016): the layer has to learn only the rest, the *residue*, that is to be changed. The LSTM's cell, kept and added to (lesson 03), is such a path through time.

It helps on the way back, too. **By hand:** let each layer multiply by ½. Through 3 of them comes ½ · ½ · ½ = ⅛ of the gradient: it vanishes, as in lesson 02. With the sum, each layer's slope is 1 + ½, and there are 2 · 2 · 2 = 8 ways back, through each layer or past it: 1 past all three, 3 · ½, 3 · ¼ and ⅛ through all. Together 3.375, more than was sent. Keep that in mind.
"""

# %% kind="diagram" hide_input=true
PARTS = {"x": (0, 1), "layer f": (1, 0), "+": (2, 1), "x + f(x)": (3, 1)}
ARROWS = [("x", "layer f"), ("layer f", "+"), ("x", "+"), ("+", "x + f(x)")]
views.diagram(PARTS, ARROWS, lit="+", title="A layer beside the path")

# %% [markdown] kind="text" track="core"
r"""
In the explorable, each layer on the left turns its vector in some direction and multiplies it by a *strength*. On the right each layer is attention. Choose what each layer looks like, from `f(x)` alone to sums with a *norm*, which section 3 explains.
"""

# %% kind="predict" track="core"
predict("13", "block-twelve-layers", PathPast())

# %% [markdown] kind="text" track="core"
r"""
Without a path the strength decides, to the power of the depth: 0.5 lets almost nothing through, 1.25 blows it up. With a path the gradient arrives.
"""

# %% [markdown] kind="text"
r"""
But `x + f(x)` *grows* from layer to layer: the sum has no bound. So depth needs a second part that keeps sizes in check, a *norm*. Section 3 explains it.

**How large do the words get in real blocks?** With path and **no** norm, random weights. A word's size is the root of its numbers' mean square.
"""

# %% kind="predict"
@torch.no_grad()
def sizes(n_blocks, **options):
    """The words' size at the start and after every block."""
    torch.manual_seed(0)
    x = torch.randn(2, 8, 64)
    by_block = [x.square().mean().sqrt().item()]
    for _ in range(n_blocks):
        x, _, _ = Block(d_model=64, n_heads=4, d_ff=256, **options)(x)
        by_block.append(x.square().mean().sqrt().item())
    return by_block


neither = {"norm": "none", "residual": False}
kinds = {"path, no norm": {"norm": "none"}, "path and norm": {}, "neither": neither}
figure = views.lines(
    range(25), {name: sizes(24, **options) for name, options in kinds.items()},
    x_name="after block", y_name="size of a word", log_y=True,
    title="The signal through 24 blocks",
    alt="The size of a word over 24 blocks: path without norm, path and norm, neither.",
)
predict("13", "block-how-large", figure)

# %% kind="see" ignore_output=true
kinds["norm, no path"] = {"residual": False}
for name, options in kinds.items():
    torch.manual_seed(0)
    start = torch.randn(2, 8, 64, requires_grad=True)
    blocks = [Block(d_model=64, n_heads=4, d_ff=256, **options) for _ in range(24)]
    x = start
    for block in blocks:
        x, _, _ = block(x)
    (x * torch.randn_like(x)).sum().backward()  # a gradient of size 1 at the end
    middle = blocks[11].attention.w_query
    at_start, of_w_q = (t.grad.square().mean().sqrt().item() for t in (start, middle))
    print(f"{name}: gradient at the start {at_start:.0e},", end=" ")
    print(f"of W_Q in block 12 {of_w_q:.0e}")
    assert {"path, no norm": at_start > 1e11, "neither": at_start < 1e-4}.get(
        name, at_start < 100
    )

# %% [markdown] kind="text"
r"""
Neither: signal and gradient are gone. Path alone: a signal of tens of thousands, and a gradient far larger still, a 1 with about 14 zeros. (Scores are words times words, so attention's slope grows with the words.) Both: the signal grows a little, from 1 to about {result:lesson_13/size after 24 blocks/path and norm:.0f}, and the gradient stays within a factor of ten. **The path carries, the norm keeps the size.**

And the last line: with norms and *no* path the gradient reaches the start as well. But $W_Q$, which learns what to ask for, gets almost nothing of it: where all words are alike, no question makes a difference. (Noci and others, 2022, prove it.) That is section 1 again.
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · Layer normalisation

{term:layer normalisation|Layer normalisation} (Ba, Kiros and Hinton, 2016) takes **one word**, subtracts the mean of its numbers, and divides by their standard deviation (lesson 08). Like marks in a class: not "57 points", but "one standard deviation above the mean".

**By hand.** The word (0, 1, 2, 3) has mean 1.5. The distances are −1.5, −0.5, 0.5, 1.5; their squares have the mean (2.25 + 0.25 + 0.25 + 2.25) / 4 = 1.25, whose root is 1.118. Result: −1.34, −0.45, 0.45, 1.34. The word (0, 10, 20, 30) gives the same.

$$ y = \frac{x - \text{mean}(x)}{\sqrt{\text{variance}(x) + \epsilon}} \cdot w + b $$

A small $\epsilon$ (0.00001) saves a word of equal numbers from a division by 0. A *feature* is one place in the vector, the same for all words. The scale $w$ and the shift $b$, one number for each feature, are learned: what was taken away can be given back where it is needed.
"""

# %% [markdown] kind="text" exercise="layer_norm"
r"""
Write it with `mean`, squares and roots. (Torch's own `layer_norm` would pass the check; that is left to you.) Normalise every word by itself, over its features: the last axis. There may be any axes in front. `keepdim=True` keeps an averaged axis, with length 1. The variance is the **mean** of the squared distances to the mean; it must be right even if the mean is large, around 1000, say.
"""

# %% kind="exercise" exercise="layer_norm" title="Layer normalisation" difficulty=2 importance=5 track="short"
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
`x.mean(dim=-1, keepdim=True)` has a mean for each word, and can be subtracted from the words it came from.

---
### Step by step
Distances from the mean; the mean of their squares; divide the distances by the root of that plus `eps`; times `weight`, plus `bias`.
"""

# %% [markdown] kind="text" exercise="test_norm"
r"""
A norm over the wrong axis has the right shape and even trains. **Write the test that catches it.** It gets an implementation `norm(x, weight, bias, eps)` and raises an exception if the result is wrong: the wrong axis, a step that is missing (also `eps`), or a mistake in one word or one sentence only. So use a batch of at least two sentences, and check every number. You may compare with `torch.nn.functional.layer_norm`, or with numbers that you worked out by hand.
"""

# %% kind="exercise" exercise="test_norm" mode="test" title="Write the test" difficulty=2 importance=4 track="core"
def test_norm(norm):
    """Takes an implementation of layer_norm; raises an exception if it is wrong."""
    # solution
    x = torch.tensor([[[1.0, 3.0], [10.0, 50.0]], [[6.0, 4.0], [7.0, 7.0]]])
    weight, bias = torch.tensor([1.0, 2.0]), torch.tensor([0.0, 5.0])
    expected = [[[-1.0, 7.0], [-1.0, 7.0]], [[1.0, 3.0], [0.0, 5.0]]]
    result = norm(x, weight, bias, 1e-5)
    assert torch.allclose(result, torch.tensor(expected), atol=1e-4)
    # end solution

# %% kind="check" exercise="test_norm"
check("test_norm", test_norm)

# %% [markdown] kind="hints" exercise="test_norm"
r"""
### A nudge
Take words of very different size. Which axis does a norm average over if it turns the small ones into tiny numbers?

---
### Step by step
Choose two sentences of two words, a `weight` that isn't all ones and a `bias` that isn't all zeros. To see whether `eps` is added, include a word of equal numbers, or use a large `eps` such as 0.5. Work the answer out by hand, or let torch do it, and compare with `torch.allclose(..., atol=1e-4)`.
"""

# %% [markdown] kind="text" track="core"
r"""
**Why not over the batch?** The older way, {term:batch normalisation} (Ioffe and Szegedy, 2015), takes one *feature* and averages it over all words of the batch. That works well for pictures of equal size. Sentences have different lengths, filled up with padding (lesson 10), and in use there may be only one sentence. So in training BatchNorm takes each batch's own mean, and keeps an average of them, the *running mean*, for use. Say a feature has the mean 2.0 in one batch and 1.4 in the next, and 1.7 is kept: what was trained with 2.0 and 1.4 is used with 1.7.

In the explorable, three short sentences; the first word is (0, 1, 2, 3).
"""

# %% kind="predict" track="core"
predict("13", "block-other-sentence", WhichMean())

# %% [markdown] kind="text" track="core"
r"""
With LayerNorm a word's result depends on that word alone. With BatchNorm in training, my neighbour's shouting changes *my* numbers, and so does padding, which nobody should notice. (One can leave it out; the model we trained counts it.) In a decoder it is worse: the mean goes over *later* words too, so training peeks past the causal mask, the leak of lesson 10. In use there is nothing to peek at. BatchNorm costs our translator four points of exact translations (`block`, three seeds each).
"""

# %% [markdown] kind="text" track="short"
r"""
## 4 · Each word thinks for itself

Attention moves information between words. But its output is only a weighted mean of values, and a matrix before and behind it: nothing is *decided* about what was found. That is the task of the {term:feed-forward network}: it widens each word (64 numbers to 256 in our model), bends it, and narrows it again. Every word by itself, and the same weights for all.

$$ \text{FFN}(x) = W_{\text{out}} \max(0,\; W_{\text{in}}\, x + b_{\text{in}}) + b_{\text{out}} $$

The bend, $\max(0, \cdot)$, is called {term:ReLU}: what is negative becomes 0. Without it two linear layers would be one. (Lesson 08's dictionary once more: the rows of $W_{\text{in}}$ are keys, the columns of $W_{\text{out}}$ values, and ReLU stands for softmax: Geva and others, 2021.)
"""

# %% [markdown] kind="text" exercise="feed_forward"
r"""
In the formula $x$ is a column, and the matrices are kept as torch keeps them, (out, in); lesson 12 had them on the right, (in, out). With words as rows, multiply by `.T`, or use `torch.nn.functional.linear`.
"""

# %% kind="exercise" exercise="feed_forward" title="The feed-forward layer" difficulty=1 importance=4 track="short"
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
### Step by step
`torch.relu(x @ w_in.T + b_in)`, then times `w_out.T`, plus `b_out`.
"""

# %% kind="quiz"
quiz("13", "feed-forward")

# %% kind="estimate" track="core" contents="an estimate: how many parameters the feed-forward layer has"
estimate("13", "block-ffn-numbers")

# %% [markdown] kind="text"
r"""
Is it needed? Trained with attention alone, our translator loses three points (`block`). But with 7 layers of attention alone, as many parameters as in 3 blocks, it has {result:block_causes/attention only, 7 layers/scores/test/exact:.1%} right against {result:block/as it is/scores/test/exact:.1p} (`block_causes`): on this small task it was the size that was missing, not the thinking.
"""

# %% [markdown] kind="text" track="short"
r"""
## 5 · The block

Two layers, each with its norm, beside one path. Norm **before** the layer is called {term:pre-norm}: $x + f(\text{norm}(x))$.
"""

# %% kind="diagram" hide_input=true
PARTS = {
    "x": (0, 1), "norm 1": (1, 0), "attention": (2, 0), "+": (3, 1), "norm 2": (4, 0),
    "feed-forward": (5, 0), "+ ": (6, 1), "new x": (7, 1),
}
ARROWS = [("x", "norm 1"), ("norm 1", "attention"), ("attention", "+"), ("x", "+")]
ARROWS += [("+", "norm 2"), ("norm 2", "feed-forward"), ("feed-forward", "+ ")]
ARROWS += [("+", "+ "), ("+ ", "new x")]
lit = ("norm 1", "attention", "+")
views.diagram(PARTS, ARROWS, lit=lit, title="The block; lit: one layer, pre-norm")

# %% [markdown] kind="text" exercise="pre_norm"
r"""
`layer` and `norm` are functions of a tensor. `layer` may be attention, so it needs all words at once. Here is a first version; make its check pass.
"""

# %% kind="exercise" exercise="pre_norm" mode="bug" title="The residual path" difficulty=1 importance=5 track="short"
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
What exactly goes past the layer here?

---
### Step by step
The name `x` is given away in the first line, so the path carries normalised words, and after 12 layers it has been normalised 24 times. What is added must be the `x` from before.
"""

# %% kind="code"
layer_norm, feed_forward = yours("layer_norm"), yours("feed_forward")
pre_norm, many_heads = yours("pre_norm"), yours("many_heads")

transformer = load_shipped("transformer")
model = transformer.model.eval()
# state_dict(): everything that a module has learned, by name
for name, numbers in model.encoder.blocks[0].state_dict().items():
    print(f"{name:<34}{tuple(numbers.shape)}")

# %% [markdown] kind="text" exercise="encoder_block"
r"""
Those are the parameters of one trained block, by name. **Build the block that uses them.** `parts` is such a dictionary; `parts["attention.w_query"]` is a matrix.

1. Attention with its norm: `around_attention.norm.weight` and `.bias`. Call `many_heads(x, source, w_q, w_k, w_v, w_o, n_heads, mask)` of lesson 12: words and source are the same normalised words; it writes `x @ w_q`, and these matrices are (out, in), so hand over `.T`. It returns two things; take the first.
2. Then the feed-forward layer, likewise, with `around_feed_forward.norm`.

Call your parts with names, as in `layer_norm(x, weight=…, bias=…)`, `pre_norm(x, layer, norm=…)` and `feed_forward(x, w_in=…, b_in=…, w_out=…, b_out=…)`. Functions inside the function are welcome.
"""

# %% kind="exercise" exercise="encoder_block" title="The block" difficulty=4 importance=5 track="short"
def encoder_block(x, parts, n_heads, mask=None):
    """x (batch, n, d_model), mask (batch, 1, 1, n) or None  ->  like x"""
    # solution
    def norm(x, around):
        weight, bias = parts[f"{around}.norm.weight"], parts[f"{around}.norm.bias"]
        return layer_norm(x, weight=weight, bias=bias)

    def attend(x):
        names = ("w_query", "w_key", "w_value", "w_output")
        matrices = [parts[f"attention.{name}"].T for name in names]
        return many_heads(x, x, *matrices, n_heads, mask)[0]

    def feed(x):
        inner, outer = "feed_forward.inner", "feed_forward.outer"
        return feed_forward(
            x, w_in=parts[f"{inner}.weight"], b_in=parts[f"{inner}.bias"],
            w_out=parts[f"{outer}.weight"], b_out=parts[f"{outer}.bias"],
        )

    x = pre_norm(x, attend, norm=lambda x: norm(x, "around_attention"))
    return pre_norm(x, feed, norm=lambda x: norm(x, "around_feed_forward"))
    # end solution

# %% kind="check" exercise="encoder_block"
check("encoder_block", encoder_block)

# %% [markdown] kind="hints" exercise="encoder_block"
r"""
### A nudge
Write it first in four lines without `pre_norm`: `seen = layer_norm(x, …)`, `x = x + attention of seen`, `seen = layer_norm(x, …)`, `x = x + feed-forward of seen`.

---
### Step by step
`heard, _ = many_heads(seen, seen, parts["attention.w_query"].T, …, n_heads, mask)`. The second norm has weights of its own, and sees the `x` that attention has already changed.

---
### If it raises an error, or only the worked example is right
"Tensor and tuple": `many_heads` returns two things, and you added both. Else look at `mask`, at `.T`, and at which norm you use where.
"""

# %% [markdown] kind="text"
r"""
Now the trained translator, all three blocks of its encoder replaced by **yours**. (`patch.object` puts another `forward` in a block's place for a while.)
"""

# %% kind="see"
encoder_block = yours("encoder_block")


def replaced(block):
    """Replaces the forward of a block by encoder_block, with the block's weights."""
    parts = block.state_dict()

    def forward(x, mask=None, **others):
        x = encoder_block(x, parts, 4, mask)
        return x, None, AttentionWeights(None, None)

    return patch.object(block, "forward", forward)


thirsty = "the cat drank the water because it was thirsty"
expected = transformer(thirsty).target
first, second, third = model.encoder.blocks
with replaced(first), replaced(second), replaced(third), torch.no_grad():
    translation = transformer(thirsty).target
assert translation == expected
print(translation)

# %% [markdown] kind="text"
r"""
The same translation. (Torch has such a block ready made, `torch.nn.TransformerEncoderLayer` with `norm_first=True`; a test of the course holds the library's equal to it.) Lesson 14 assembles the whole Transformer from these parts.
"""

# %% [markdown] kind="text" contents="pre-norm and post-norm at 1 to 12 layers, RMSNorm and SwiGLU"
r"""
## 6 · Before or after?

The 2017 paper did it the other way round: $\text{norm}(x + f(x))$, {term:post-norm}. Then the path itself goes through every norm. Is it worth a thought? We trained both with 1, 2, 3, 6 and 12 layers, three seeds each, all else equal (`depth`).

> **Before the picture:** what becomes of post-norm at **12** layers?
"""

# %% kind="predict"
counts = (1, 2, 3, 6, 12)
exact = {}
file = data_path("results", "depth.json")
for run in json.loads(file.read_text(encoding="utf-8"))["runs"]:
    exact[run["variant"], run["seed"]] = run["scores"]["test"]["exact"]
rows = [(norm, seed) for norm in ("pre-norm", "post-norm") for seed in range(3)]
figure = views.heatmap(
    [[exact[f"{n} layers, {norm}", seed] for n in counts] for norm, seed in rows],
    rows=[f"{norm}, seed {seed}" for norm, seed in rows], columns=counts,
    row_name="", column_name="layers", title="Share of exact translations",
    alt="Exact translations with 1 to 12 layers, pre-norm and post-norm, three seeds.",
)
predict("13", "block-post-norm", figure)

# %% [markdown] kind="text"
r"""
Up to 3 layers the place does not matter. At 6, with post-norm, luck decides: two seeds learn late, one hardly. At 12 it gets nothing with any of them, and pre-norm has {result:depth/12 layers, pre-norm/scores/test/exact:.0%}. With *this* recipe: the learning rate climbs from 0 to 0.003 in the first 400 steps (a {term:learning-rate warm-up|warm-up}). Without it, three post-norm layers lose four points and three pre-norm ones less than one: lesson 15. At 12 layers a third of the rate did not save post-norm, nor did that with a warm-up of 2,000 steps (`block_causes`). (Xiong and others, 2020, explain it by gradients that are large near the output when training starts.)

Section 1's measure gives a second reason. *After* training, the words of these stacks are alike, 0.96 or more from the fifth block on. And *before* any training?
"""

# %% kind="see"
for name, options in {"pre-norm": {}, "post-norm": {"pre_norm": False}}.items():
    by_block = mean_likeness(**options)
    values = ", ".join(f"{fixed(by_block[n], 2)} after {n}" for n in (3, 6, 12))
    print(f"{name}: likeness {values}")

# %% [markdown] kind="text"
r"""
After 12 post-norm blocks all words start as one, path or no path: every norm shrinks what went past, so the old word is diluted layer by layer. Whether this or the gradient is *the* reason the record cannot say. Pre-norm never touches the path. Its price: the words grow (section 2), so a pre-norm stack ends in **one more norm**, ours too.

**What came after** are two options of the same block, and most open large models since LLaMA (2023) use both:

- {term:RMSNorm} (Zhang and Sennrich, 2019): only divide by the root of the mean square; no mean, no shift. A little less work.
- {term:SwiGLU} (Shazeer, 2020): in place of the bend, a gate (lesson 03): $W_{\text{out}}(\text{silu}(W_{\text{gate}}x) \cdot W_{\text{in}}x)$, with $\text{silu}(z) = z\,\sigma(z)$.

On our task they are level with the block as it is: {result:block/RMSNorm/scores/test/exact:.1p} and {result:block/SwiGLU/scores/test/exact:.1%} against {result:block/as it is/scores/test/exact:.1p} (SwiGLU with two thirds of the width, so that sizes agree). So is, nearly, **no norm at all**: {result:block/no norm/scores/test/exact:.1%}. We had not expected that. But three layers are few: at 12, training without norms breaks down within 500 steps, with every seed (`block_causes`). Norms pay with depth.
"""

# %% [markdown] kind="text" contents="find out from the curves what is wrong with four translators"
r"""
## 7 · Four sick blocks

A clinic. Four translators were trained with one thing changed, three seeds each: **BatchNorm**, **no feed-forward layers**, **no path**, **post-norm with six layers**. But who is who? Look at the loss over the steps (mean of the seeds). In the middle, the left picture from close by. What does the change do to *learning*, and what only *outside* training?

(Training loss is measured with dropout, which comes below, and with smoothed targets, lesson 15. So it stays near 1 even in health.)
"""

# %% kind="code" name="faulty"
def runs(experiment, number):
    """The three seeds of a variant, by its number: its name would give it away."""
    text = data_path("results", f"{experiment}.json").read_text(encoding="utf-8")
    of_all = json.loads(text)["runs"]
    names = list(dict.fromkeys(run["variant"] for run in of_all))
    return [run for run in of_all if run["variant"] == names[number]]


variants = {"A": ("block", 1), "B": ("depth", 7), "C": ("block", 3), "D": ("block", 4)}
by_name = {"healthy": runs("block", 0)}
by_name |= {name: runs(*variant) for name, variant in variants.items()}

# %% kind="see"
steps = [entry["step"] for entry in by_name["A"][0]["history"]]


def curves_of(kind, start=0):
    """The mean over three seeds, from an entry of the history on."""
    curves = {}
    for name, three in by_name.items():
        histories = [[entry[kind] for entry in run["history"]] for run in three]
        curves[name] = torch.tensor(histories).mean(dim=0).tolist()[start:]
    return curves


close = curves_of("train_loss", 3)
parts = [
    views.Part("In training", steps, curves_of("train_loss"), "loss"),
    views.Part("The same, close by", steps[3:], close, y_limits=(1.02, 1.16)),
    views.Part("On validation sentences", steps, curves_of("loss"), log_y=True),
]
views.panels(parts, x_name="step")

# %% kind="quiz"
quiz("13", "diagnosis")

# %% [markdown] kind="text"
r"""
Now the findings. Look at D: its loss on validation sentences ends even below the healthy one's ({result:block/attention only/history/-1/loss:.3f} and {result:block/as it is/history/-1/loss:.3f}), and yet it gets three points fewer sentences. Loss asks for the chance of each word; *exact* asks that every word of a sentence be the likeliest.
"""

# %% kind="see"
for name, three in by_name.items():
    exact = ", ".join(fixed(100 * run["scores"]["test"]["exact"], 0) for run in three)
    likenesses = [run["likeness"][-1] for run in three if "likeness" in run]
    last = fixed(sum(likenesses) / 3, 2) if likenesses else "not taken"
    n_parameters = three[0]["parameters"]
    print(f"{name}: {n_parameters:,} parameters, exact {exact}%, likeness {last}")

# %% [markdown] kind="text" track="short"
r"""
## Break it

One part is left: {term:dropout} (Srivastava and others, 2014). In training, each number that a layer says is set to 0 with a chance of one in ten, and the others are divided by 0.9, so that the sum stays: no unit can lean on one other. In use it must be **off**. `model.train()` and `model.eval()` are the switch.

> **Before you run it:** somebody forgot `model.eval()`. An error, a worse translation, or what?
"""

# %% kind="break"
encode = transformer.tokenizer.encode
batch = make_batch([encode(thirsty)], [encode(expected)])


@torch.no_grad()
def score():
    """The probability of the right sentence; how many right words are the likeliest."""
    logits, _ = model.decode(model.encode(batch.src, batch.src_lengths), batch.tgt_in)
    probabilities = logits.softmax(dim=-1).gather(-1, batch.tgt_out[..., None])
    n_right = (logits.argmax(dim=-1) == batch.tgt_out).sum().item()
    return probabilities.prod().item(), n_right


torch.manual_seed(13)
for name, training in {"left on": True, "off": False}.items():
    model.train(training)
    scores = [score() for _ in range(5)]
    texts = [f"{fixed(p, 3)} ({n_right} right)" for p, n_right in scores]
    print(f"{name}: {', '.join(texts)} of {batch.tgt_out.numel()} words")
    assert (len(set(scores)) > 1) == training

# %% [markdown] kind="text"
r"""
No error, and all the right words. But the same sentence, asked five times, has five different chances, each well below the one it should have. **That is the symptom: ask twice.**
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself

The first try counts for your score; every answer gets a reason.
"""

# %% kind="quiz"
quiz("13", "closing")

# %% [markdown] kind="instructor"
r"""
**Bet before the first figure (2 min).** "Two blocks, random weights, no path. How alike?" Usual bets: 0.3 to 0.6. Then {result:lesson_13/similarity/no path, 2 blocks:.2f}.

**Ask the room.** "Post-norm is in the famous paper. Why did it work there with 6 layers?" Expected: warm-up of 4,000 steps and a smaller rate; our recipe is short.

| they say | what it is | answer |
|---|---|---|
| "LayerNorm averages over the sentence" | M40 | Row 1.1 in the explorable: framed are its own four numbers. |
| "residuals are for very deep nets" | M41 | Two blocks are enough: likeness {result:lesson_13/similarity/no path, 2 blocks:.2f}. |
| "the feed-forward layer mixes words" | M35 | Shuffle the words: its outputs are shuffled likewise. |

**If time is short**, leave out the test of the norm and what came after 2017 (section 6); keep the build, the depth figure and the clinic.
"""

# %% [markdown] kind="summary"
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
- LayerNorm looks at one word; {term:batch normalisation|BatchNorm} at one feature of all words, padding and strangers included.
- Up to 3 layers, with a {term:learning-rate warm-up|warm-up}, the place of the norm is a matter of taste; at 12 layers, with our recipe, only pre-norm trains.

**Still missing.** A decoder that looks at the source, and the whole around it. Lesson 14 puts all your parts together.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani and others, *Attention Is All You Need* (2017), sections 3.1 and 3.3. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Xiong and others, *On Layer Normalization in the Transformer Architecture* (2020). [arXiv 2002.04745](https://arxiv.org/abs/2002.04745)
- Dong, Cordonnier and Loukas, *Attention is Not All You Need: Pure Attention Loses Rank Doubly Exponentially with Depth* (2021). [arXiv 2103.03404](https://arxiv.org/abs/2103.03404)
- `course_lib/layers/block.py`: the course's own, with all its switches.
"""
