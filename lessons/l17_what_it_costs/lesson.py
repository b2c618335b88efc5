# Lesson 17 · the source. Edit this file, then run `python3 -m course_lib build 17`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 17 · What it costs

**The question:** what does attention cost in time and memory, and what can we do about it?

About {minutes} minutes. You need heads ([lesson 12](12_many_heads.ipynb)), the block ([lesson 13](13_the_block.ipynb)), the cache ([lesson 16](16_decoding.ipynb)), hops ([lesson 05](05_distance_between_words.ipynb)) and the reader's loop ([lesson 02](02_recurrent_networks.ipynb)).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **count** the work of a block, as torch's own counter does;
2. **predict** where attention overtakes a recurrent layer and the rest of its block, **measure** where it does, and **say** why;
3. **test** attention that sees only neighbours, and **say** what fused attention saves;
4. **write** {term:linear attention} as a reader with a state of fixed size; <!-- core -->
5. **choose** grouped heads for a memory budget.
"""

# %% kind="setup"
from unittest.mock import patch

import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from course_lib import views
from course_lib.formatting import fixed
from course_lib.layers import Block, attend, multi_head as library
from course_lib.teaching import check, estimate, explain, predict, quiz, start_lesson
from course_lib.teaching import yours
from course_lib.text import PAD, make_batch, splits
from course_lib.translation import load_shipped
from lessons.l17_what_it_costs import (
    CostExplorer, attend_nearby, causal_linear_attend, cost, feature_map,
    linear_attend, window_mask,
)

start_lesson("what_it_costs", seed=17)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

From memory, before you read on.
"""

# %% kind="recall"
quiz("17", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · Counting the work

Twenty guests shake hands, each with each: that is work of the order 20². Twenty guests each hang up a coat: work of the order 20. A party of five never notices the difference. A party of two thousand does nothing but shake hands.

In a block, attention shakes hands and everything else hangs up coats. To compare them we need a unit. One multiplication or one addition of two decimal numbers is a {term:FLOP} (a *floating-point operation*). A product of matrices, $(a, b)$ times $(b, c)$, has $a \cdot c$ cells, each a sum of $b$ products: $b$ multiplications and about $b$ additions. So it takes $2abc$ FLOPs.

**By hand.** Three words of width 2, times a matrix of 2 by 2: 2 · 3 · 2 · 2 = 24 FLOPs. Scores for the three, (3, 2) times (2, 3): 36. So hands cost more than coats? That was one matrix of many. Count.
"""

# %% kind="diagram" hide_input=true
PARTS = {
    "words": (0, 1), "W_Q": (1, 0), "W_K": (1, 1), "W_V": (1, 2), "scores": (2, 0.5),
    "softmax": (3, 0.5), "mix": (4, 1), "W_O": (5, 1), "feed-forward": (6, 1),
}
ARROWS = [("words", name) for name in ("W_Q", "W_K", "W_V")]
ARROWS += [("W_Q", "scores"), ("W_K", "scores"), ("scores", "softmax")]
ARROWS += [("softmax", "mix")]
ARROWS += [("W_V", "mix"), ("mix", "W_O"), ("W_O", "feed-forward")]
TITLE = "Where the work of a block is: lit, what grows with n²"
views.diagram(PARTS, ARROWS, lit=("scores", "softmax", "mix"), title=TITLE)

# %% [markdown] kind="text" exercise="block_flops"
r"""
**Count a block** of lesson 13: four projections of (d, d); scores and mix, with all heads together as wide as `d`; a feed-forward network from `d` to `d_ff` and back. Only the matrix products; softmax, norms and sums are left out, as torch's counter leaves them out. Remember that one omission.

Return a dict with the keys `"projections"`, `"attention"` (scores and mix) and `"feed-forward"`.
"""

# %% kind="exercise" exercise="block_flops" title="The FLOPs of a block" difficulty=2 importance=5 track="short"
def block_flops(n, d, d_ff):
    """n words of width d  ->  {"projections": …, "attention": …, "feed-forward": …}"""
    def product(rows, inner, columns):
        return 2 * rows * inner * columns

    # solution
    return {
        "projections": 4 * product(n, d, d),
        "attention": product(n, d, n) + product(n, n, d),
        "feed-forward": product(n, d, d_ff) + product(n, d_ff, d),
    }
    # end solution

# %% kind="check" exercise="block_flops"
check("block_flops", block_flops)

# %% [markdown] kind="hints" exercise="block_flops"
r"""
### A nudge
Write down the shapes of the two matrices of every product. There are eight products.

---
### Step by step
`product(rows, inner, columns)` for each. Four projections: (n, d) times (d, d). Scores: (n, d) times (d, n). Mix: (n, n) times (n, d). Feed-forward: (n, d) times (d, d_ff), then back.
"""

# %% kind="library"
count_flops = yours("block_flops")


def torch_counts(n, d, with_weights):
    block = Block(d_model=d, n_heads=4, d_ff=4 * d)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        block(torch.randn(1, n, d), with_weights=with_weights)
    return counter.get_total_flops()


mine = sum(count_flops(64, 64, 256).values())
print(f"you {mine:,}, torch {torch_counts(64, 64, True):,}")
print(f"torch, with its own attention: {torch_counts(64, 64, False):,}")
assert mine == torch_counts(64, 64, True)

# %% [markdown] kind="text"
r"""
Equal, to the last one. (The last line is smaller by exactly your `"attention"`. Not that it is free: on a CPU torch's counter does not know torch's own attention, which is fused (section 4), and counts 0 for it. Check your instruments.)
"""

# %% [markdown] kind="text" track="short"
r"""
## 2 · Who overtakes whom?

Now the table of the 2017 paper, derived instead of believed. A recurrent layer multiplies the word and the state by a matrix each, at every word: $2 \cdot 2d^2 \cdot n$. A convolution of width $k$ has $k$ matrices. Scores and mix are yours.

| layer | FLOPs | the paper writes | steps in a row | longest path (lesson 05) |
|---|---|---|---|---|
| recurrent | $4nd^2$ | $O(n d^2)$ | $n$ | $n$ |
| convolution, width $k$ | $2knd^2$ | $O(k n d^2)$ | $1$ | $n/k$, dilated $\log_k n$ |
| self-attention: scores and mix | $4n^2d$ | $O(n^2 d)$ | $1$ | $1$ |
| the same, each word meets $r$ | $4rnd$ | $O(r n d)$ | $1$ | $n/r$ |

The $O(\cdot)$ is {term:O-notation}: it keeps what grows and drops constant factors. That makes a table readable and hides things. (And it is about reading. A Transformer still *writes* word by word, one pass for each.)

Two costs that grow differently must meet somewhere: the {term:crossover}. Scores and mix meet a recurrent layer where $4n^2d = 4nd^2$, at $n = d$. But the table leaves out attention's own four matrices. With them it takes $8nd^2 + 4n^2d$: more FLOPs than a recurrent layer at *every* length. (Against an LSTM, $16nd^2$, fewer up to $n = 2d$.)

And where do scores and mix meet the rest of their own block, $24nd^2$ with $d_{ff} = 4d$? Work it out on paper, then commit.
"""

# %% kind="predict"
predict("17", "cost-half", CostExplorer())

# %% [markdown] kind="text"
r"""
Not at $n = d$ but at $n = 6d$. So "attention is quadratic, therefore slow" is wrong for a sentence (2% of the work at 64 words, $d$ = 512) and right for a book. Memory overtakes earlier: with 8 heads the tables are larger than the words themselves beyond 64 words.
"""

# %% [markdown] kind="text" contents="two races against the clock, and why FLOPs predict them badly"
r"""
## 3 · By the clock

A prediction is worth something if it can fail. `cost.recurrent_ratios` times scores and mix of one head and `torch.nn.RNN`, for one sentence, in turn, the quickest of three rounds each, on one core. `cost.crossover` reads off where the ratio of seconds passes 1 (64 and 2,048, the ends, mean: not in between). By FLOPs: at 64.
"""

# %% kind="estimate"
LENGTHS = (64, 128, 256, 512, 1024, 2048)


def recurrent_crossover():
    ratios = cost.recurrent_ratios(64, LENGTHS, rounds=3)
    return cost.crossover(LENGTHS, ratios)


estimate("17", "cost-recurrent", recurrent_crossover)

# %% kind="explain"
explain("17", "cost-why-late")

# %% [markdown] kind="text"
r"""
On the machine of our record (`bench_cost_cpu.txt`: one of two ARM cores, shared with other programs) they met near **{result:lesson_17/crossover/recurrent, d = 64:.0f}** words instead of 64, and for $d$ = 128 near **{result:lesson_17/crossover/recurrent, d = 128:.0f}** instead of 128. Is it the waiting? Not on one core: 256 steps of a reader (`cost.step_ways`) took {result:lesson_17/steps of a reader/waiting:.0f} times as long as all of them in one product, and 256 steps that do *not* wait for each other {result:lesson_17/steps of a reader/not waiting:.0f} times as well. What costs is that they are small and many, and waiting forbids to join them. Hence *steps in a row* has a column of its own. (How late depends on the batch: 8 sentences side by side met near {result:lesson_17/crossover/recurrent, 8 sentences:.0f} words, 32 near {result:lesson_17/crossover/recurrent, 32 sentences:.0f}.)

Now the other crossover, inside the block: explicit attention (scores, softmax, mix, one after another; 4 heads) against all other products. By FLOPs the ratio is $n / 6d$: level at 384 words for $d$ = 64.
"""

# %% kind="estimate"
def explicit_crossover():
    ratios = cost.block_ratios(64, LENGTHS, rounds=3)["explicit"]
    return cost.crossover(LENGTHS, ratios)


estimate("17", "cost-explicit", explicit_crossover)

# %% kind="see"
panels = []
for d in (64, 128):
    curves = {"FLOPs say": [n / (6 * d) for n in cost.LENGTHS]}
    curves["explicit"] = cost.recorded(d, "the rest, explicit")
    curves["torch's own"] = cost.recorded(d, "the rest, fused")
    curves["level"] = [1.0] * len(cost.LENGTHS)
    title = f"d = {d}, level at {6 * d}?"
    limits = (0.06, 70)
    panel = views.Part(title, cost.LENGTHS, curves, "time / rest", True, True, limits)
    panels.append(panel)
views.panels(panels, x_name="words, n")

# %% [markdown] kind="text"
r"""
Our record. Explicit attention is level with the rest at {result:lesson_17/crossover/explicit, d = 64:.0f} words, the fewest we tried, instead of 384; for $d$ = 128 near {result:lesson_17/crossover/explicit, d = 128:.0f} instead of 768. (torch's own attention lies between; more of it in section 4.) From 256 words on the lines run beside the prediction: the *growth* is as counted, the *factor* is not. Whom to blame? At 384 words and $d$ = 64, over the time of the rest:

| | the two products | scaling and softmax | $e^x$ alone | copying the table |
|---|---|---|---|---|
| FLOPs say | 1 | 0 | 0 | 0 |
| one head of width 64 | {result:lesson_17/steps of attention/1 head/products:.2f} | {result:lesson_17/steps of attention/1 head/softmax:.2f} | {result:lesson_17/steps of attention/1 head/exp:.2f} | {result:lesson_17/steps of attention/1 head/copy:.2f} |
| four heads of width 16 | {result:lesson_17/steps of attention/4 heads/products:.2f} | {result:lesson_17/steps of attention/4 heads/softmax:.2f} | {result:lesson_17/steps of attention/4 heads/exp:.2f} | {result:lesson_17/steps of attention/4 heads/copy:.2f} |

One head's products take what was counted. Narrow heads are a little slower, and there are four tables to fill. But most of it is what we **left out of the count**: an $e^x$ for each of 590,000 cells. Copying the same table, all reading and writing and no arithmetic, takes a tenth of that.
"""

# %% [markdown] kind="text" track="short"
r"""
## 4 · The table that is never written

FLOPs leave out bytes, too. Explicit attention, which computes scores, softmax and mix one after another, writes the scores, reads and writes them scaled, reads and writes them as weights, reads them for the mix. Such bytes in and out of memory are {term:memory traffic}. On the CPU core that we timed it was the smaller part. A GPU multiplies far faster than it fetches, and there it is the larger.

{term:fused attention|Fused attention} (FlashAttention: Dao and others, 2022; torch's own is of this kind) takes a small rectangle of the table, a *tile*, does all four steps on it in the small quick memory beside the core, adds its part to the result, and forgets it. A softmax needs the sum over the whole row? It carries a running sum. And since softmax subtracts the largest score (lesson 08), it rescales what it has when a larger one turns up.

The result is the same. In training it even makes the scores a *second time*, on the way back, rather than keep the tables of every layer: more FLOPs, fewer bytes, and on a GPU less time. `cost.bytes_written` adds up the memory of all tensors that a function makes.
"""

# %% kind="see"
fused = F.scaled_dot_product_attention


def megabytes(attention, heads):
    return fixed(cost.bytes_written(lambda: attention(*heads)) / 1e6, 2)


print("words   explicit    fused   (million bytes; 4 heads of 16)")
for n in (256, 512, 1024, 2048):
    heads = torch.randn(3, 1, 4, n, 16)  # queries, keys and values
    sizes = [megabytes(attention, heads) for attention in (cost.explicit, fused)]
    print(f"{n:>5} {sizes[0]:>10} {sizes[1]:>8}")
    assert torch.allclose(cost.explicit(*heads), fused(*heads), atol=1e-5)

# %% [markdown] kind="text"
r"""
Twice the words: explicit four times the bytes, fused twice. Three tables of $4n^2$ numbers are gone; a result of $64n$ and one sum for each row and head stay.

Fusing changes the memory and the factor. The $n^2$ of the work stays. Sections 5 and 6 show two ways to get rid of it, and section 7 shrinks what is kept. Each gives something up.
"""

# %% [markdown] kind="text" contents="attention to nearby words only, what it saves, and how to test it"
r"""
## 5 · Look at fewer words

{term:restricted attention|Restricted attention}: each word sees itself and $r$ neighbours on either side. Local attention (lesson 07) did so for translation, and the 2017 paper proposes it in section 4. The price stands in the table of section 2: a far word needs several layers, as with convolutions.

A mask alone saves nothing: all $n^2$ scores are made, and most are hidden. `attend_nearby` cuts the sentence into blocks of $r$ words, and each block looks at three: itself and both beside it. Such code goes wrong at its edges.
"""

# %% [markdown] kind="text" exercise="test_nearby"
r"""
**Write the test.** It is given a function `nearby(query, keys, values, radius)`, with (n, d) each, and shall raise if that does not give what attention under a mask gives: `window_mask(n, radius)` is the mask, `attend(query, keys, values, mask=mask)` returns blends and weights. Draw inputs of your own. Choose `n` and `radius` with care: with `n` = 2 and `radius` = 3 all mistakes look alike, and a last block may be cut short.
"""

# %% kind="exercise" exercise="test_nearby" mode="test" title="Does it see its neighbours?" difficulty=2 importance=4 track="core"
def test_nearby(nearby):
    """nearby: (query, keys, values, radius) -> (n, d); raises if it is wrong"""
    # solution
    torch.manual_seed(0)
    query, keys, values = torch.randn(3, 7, 4)  # three blocks of 2, and one word
    expected, _ = attend(query, keys, values, mask=window_mask(7, 2))
    torch.testing.assert_close(nearby(query, keys, values, 2), expected)
    # end solution

# %% kind="check" exercise="test_nearby"
check("test_nearby", test_nearby)

# %% [markdown] kind="hints" exercise="test_nearby"
r"""
### A nudge
Two ways to the same result: the slow one with a mask, and the one you are given. Sums are rounded, so not `==`.

---
### Step by step
Random queries, keys and values for 7 words; `radius` = 2, which does not divide 7 and leaves words in the middle that see neither end. `expected, _ = attend(…, mask=window_mask(7, 2))`, then `torch.testing.assert_close(nearby(query, keys, values, 2), expected)`.
"""

# %% kind="see" name="nearby"
def flops_of(work):
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        work()
    return counter.get_total_flops()


query, keys, values = torch.randn(3, 1, 4, 1024, 16)
explicit = flops_of(lambda: cost.explicit(query, keys, values))
nearby = flops_of(lambda: attend_nearby(query, keys, values, radius=8))
print(f"1,024 words, 8 neighbours on either side: {nearby:,} FLOPs of {explicit:,}")
print(f"one part in {fixed(explicit / nearby, 0)}: each word meets 3 blocks of 8")

# %% [markdown] kind="text"
r"""
By the clock of our record it took a fifth of the time of explicit attention, not a {printed:nearby/one part in}rd (fused: a half), and at 64 words three times as long: small products again. Models made for long texts are trained with windows, and let a few chosen words see, and be seen by, everybody (Longformer: Beltagy, Peters and Cohan, 2020).
"""

# %% [markdown] kind="text" contents="linear attention: attention without a softmax, written as a recurrent network"
r"""
## 6 · A state of fixed size

The second way changes the weights. The $n^2$ comes from the softmax: $e^{q \cdot k}$ must be made for every pair. Suppose a weight were a plain dot product of two positive vectors, $\phi(q) \cdot \phi(k)$. Then the sum over all words can be sorted differently:

$$ \sum_j \big(\phi(q) \cdot \phi(k_j)\big)\, v_j \;=\; \phi(q) \sum_j \phi(k_j)\, v_j^\top \;=\; \phi(q)\, S $$

Here $\phi(k_j)\, v_j^\top$ is a table: every number of $\phi(k_j)$ times every number of $v_j$. The query has moved **out** of the sum. $S$, the sum of these tables, has $d_k \times d_v$ numbers and is made once for all queries: $4n\,d\,d_k$ FLOPs in place of $4n^2d$, so fewer beyond $n = d_k$. That is {term:linear attention} (Katharopoulos and others, 2020), and $\phi$ is its {term:feature map}: here $\text{elu}(x) + 1$, which is $x + 1$ for positive $x$ and $e^x$ for negative. Weights must sum to 1, so divide by $\phi(q) \cdot z$ with $z = \sum_j \phi(k_j)$.

**By hand.** $\phi$ of two keys: (2, 4) and (1, 1); their values: (4, 0) and (0, 8). The tables, row by row: (8, 0), (16, 0) and (0, 8), (0, 8). So $S$ has the rows (8, 8), (16, 8), and $z$ = (3, 5). A query with $\phi(q)$ = (1, 1): $\phi(q)\,S$ = (24, 16), over $\phi(q) \cdot z$ = 8, is (3, 2). As weights: 6 and 2 of 8, and ¾ · (4, 0) + ¼ · (0, 8) = (3, 2).

And when word $t$ may see only words up to $t$? Then $S$ and $z$ are sums *so far*: a state, updated by every word. You have written such a reader in lesson 02.
"""

# %% [markdown] kind="text" exercise="linear_reader"
r"""
**Write it as a recurrent network.** For each word: add it to the state, then ask. `feature_map` is $\phi$; `torch.outer(a, b)` is the table of all products $a_i b_j$. Return the outputs of all words, (n, d_v), and the last $S$, (d_k, d_v). (A table of all pairs would pass the check too. The loop is the point.)
"""

# %% kind="exercise" exercise="linear_reader" mode="transfer" title="Attention as a reader" difficulty=3 importance=5 track="core"
def linear_reader(query, keys, values):
    """query (n, d_k), keys (n, d_k), values (n, d_v)

    ->  outputs (n, d_v), S (d_k, d_v)
    """
    S, z = torch.zeros(keys.shape[1], values.shape[1]), torch.zeros(keys.shape[1])
    outputs = []
    # solution
    for q, k, v in zip(feature_map(query), feature_map(keys), values, strict=True):
        S = S + torch.outer(k, v)
        z = z + k
        outputs.append(q @ S / (q @ z))
    return torch.stack(outputs), S
    # end solution

# %% kind="check" exercise="linear_reader"
check("linear_reader", linear_reader)

# %% [markdown] kind="hints" exercise="linear_reader"
r"""
### A nudge
Two things are carried along: a table $S$ and a vector $z$. What does one word add to each?

---
### Step by step
With q = φ(query), k = φ(key): `S + torch.outer(k, v)`, `z + k`, and then the output `q @ S / (q @ z)`. Collect the outputs and `torch.stack` them.
"""

# %% kind="tensor"
read = yours("linear_reader")
torch.manual_seed(17)
query, keys, values = torch.randn(100, 8), torch.randn(100, 8), torch.randn(100, 6)

weights = (feature_map(query) @ feature_map(keys).T).tril()  # (n, n), causal
weights = weights / weights.sum(dim=-1, keepdim=True)
by_weights = weights @ values
by_state, state = read(query, keys, values)
at_once = causal_linear_attend(query, keys, values)

assert torch.allclose(by_weights, by_state, atol=1e-5)
assert torch.allclose(by_weights, at_once, atol=1e-5)
table, size = tuple(weights.shape), tuple(state.shape)
print(f"a table of {table} or a state of {size}: the same outputs")

# %% [markdown] kind="text"
r"""
The same outputs: once as attention over all words, once as a recurrent network whose state never grows. (By the clock of our record, at 1,024 words, it took {result:lesson_17/over explicit/1024 words/linear:.0%} of the time of explicit attention. `causal_linear_attend`, which makes all words at once for training, took {result:lesson_17/over explicit/1024 words/causal linear:.0%}, and one $S$ for *each* word.) The road has come full circle, and so has its old question: what does a state of fixed size hold? Put in 16 random keys of 16 numbers with a value each, ask with every key, and count an answer if the *nearest* of the values is the right one.
"""

# %% kind="see"
torch.manual_seed(16)
keys, values = torch.randn(2, 50, 16, 16)  # 50 times 16 pairs
phi = feature_map(keys)
centred = F.normalize(phi - phi.mean(dim=1, keepdim=True), dim=-1)
answers = {
    "linear attention": linear_attend(keys, keys, values),
    "the same φ, another table": phi @ (torch.linalg.pinv(phi) @ values),
    "sums, φ less its mean": centred @ (centred.mT @ values),
    "softmax attention": (keys @ keys.mT / 4).softmax(dim=-1) @ values,
}
for name, answer in answers.items():
    nearest = torch.cdist(answer, values).argmin(dim=-1)
    percent = 100 * (nearest == torch.arange(16)).float().mean()
    print(f"{name}: {fixed(percent, 0)}% of 16 pairs found")

# %% [markdown] kind="text"
r"""
Linear attention is close to guessing, 6%. Its size is not to blame: another table of 16 × 16 from the same $\phi$ (least squares, all pairs at once) finds everything. Nor is adding alone: take the mean off $\phi$, and sums find most. It is both. A positive $\phi$ makes random keys alike (a cosine of {result:lesson_17/cosine of keys/after φ:.2f} on average), and a sum cannot take apart what is alike. So the search is for better maps and better *updates*: write only what the state does not know yet (Schlag, Irie and Schmidhuber, 2021, after Schmidhuber's fast weights of 1992), or let the state be a small network that learns while it reads (test-time training, see Reading).
"""

# %% [markdown] kind="text" track="short"
r"""
## 7 · The cache, and heads that share

A decoder that writes word by word keeps the keys and values of all words so far, the KV cache of lesson 16: two vectors a word, in every layer, for every text being written. With 32 layers of width 4,096 and two bytes a number, one text of 100,000 words takes 52 GB. That decides how many users a machine can serve.

The way out: let several query heads **share** one head of keys and values. Four query heads and two key heads: heads 0 and 1 look at the same keys, each with its own question. That is {term:grouped-query attention} (Ainslie and others, 2023); with a single key head it is {term:multi-query attention} (Shazeer, 2019). Queries are never kept, so they cost nothing here.
"""

# %% [markdown] kind="text" exercise="cache_bytes"
r"""
How many bytes? Each key head is as wide as a query head, `d_model / n_heads`. A first version is there. Make its check pass.
"""

# %% kind="exercise" exercise="cache_bytes" mode="bug" title="The bytes of a cache" difficulty=2 importance=4 track="core"
def cache_bytes(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    """All whole numbers  ->  the bytes of all keys and values that are kept"""
    # bug
    d_k = d_model // n_kv_heads
    numbers = 2 * n_layers * n_words * n_kv_heads * d_k
    return numbers * bytes_each
    # end bug
    # solution
    d_k = d_model // n_heads
    numbers = 2 * n_layers * n_words * n_kv_heads * d_k
    return numbers * bytes_each
    # end solution

# %% kind="check" exercise="cache_bytes"
check("cache_bytes", cache_bytes)

# %% [markdown] kind="hints" exercise="cache_bytes"
r"""
### A nudge
Call it with 4 key heads, then with 2, then with 1. What should happen, and what does?

---
### Step by step
The width of a head is fixed by the **query** heads, among which `d_model` is shared out. Fewer key heads do not get wider.

---
### "Still behaves exactly like the first version"
And you did change it? `n_heads · d_model / n_heads` is `d_model` again. What is kept are `n_kv_heads`.
"""

# %% kind="library" track="core"
cache_bytes = yours("cache_bytes")
words = torch.randn(1, 100, 64)
for n_kv_heads in (4, 2, 1):
    block = Block(d_model=64, n_heads=4, n_kv_heads=n_kv_heads, d_ff=256)
    _, cache, _ = block(words, causal=True)
    measured = cache.keys.nbytes + cache.values.nbytes
    assert measured == cache_bytes(100, 1, 64, 4, n_kv_heads, 4)
    print(f"key heads: {n_kv_heads}, bytes for 100 words: {measured:,}, as computed")

# %% [markdown] kind="text" exercise="choose_heads"
r"""
**Choose the heads.** You are given a budget in bytes, the words to be kept, layers, `d_model` and bytes a number. Return `(n_heads, n_kv_heads)` such that

- `n_heads` divides `d_model`, and `n_kv_heads` divides `n_heads`;
- a head is 32 to 128 numbers wide;
- the cache fits into the budget;
- and nothing is shared without need: with *your* `n_heads`, no larger `n_kv_heads` would fit.

There is always an answer, and often several: many narrow heads or few wide ones, and only training tells which is better. Do one case on paper first: 40 million bytes, 4,096 words, 16 layers, width 1,024, 2 bytes. How many numbers may one word keep in one layer? Then write the search; `cache_bytes` of the last cell helps. For some budgets wide heads do not fit at all, however few keys there are.
"""

# %% kind="exercise" exercise="choose_heads" title="Grouped heads for a budget" difficulty=4 importance=5 track="core"
def choose_heads(budget, n_words, n_layers, d_model, bytes_each):
    """All whole numbers  ->  (n_heads, n_kv_heads)"""
    # solution
    best = (0, 1, 1)
    for n_heads in range(1, d_model + 1):
        width = d_model / n_heads
        if d_model % n_heads or not 32 <= width <= 128:
            continue
        for n_kv_heads in range(1, n_heads + 1):
            if n_heads % n_kv_heads:
                continue
            sizes = (n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each)
            if cache_bytes(*sizes) <= budget:
                best = max(best, (n_kv_heads * width, n_heads, n_kv_heads))
    return best[1:]
    # end solution

# %% kind="check" exercise="choose_heads"
check("choose_heads", choose_heads)

# %% [markdown] kind="hints" exercise="choose_heads"
r"""
### A nudge
On paper: 40,000,000 / (4,096 · 16 · 2) = 305 numbers, so 152 of keys: two heads of 64, say. In general two loops: over the possible `n_heads`, and over the possible `n_kv_heads` for each. Skip what does not divide or is too narrow or too wide. What do you keep?

---
### Step by step
1. For each `n_heads` from 1 to `d_model` that divides `d_model`, with a width from 32 to 128:
2. for each `n_kv_heads` that divides `n_heads`, compute the bytes. Does it fit?
3. Of those that fit with the same `n_heads`, keep the largest `n_kv_heads`. Any `n_heads` that has one is a right answer. Keeping the one with the most numbers a word, `n_kv_heads · width`, is a good choice.

---
### "It fits, and shares more than it must"
You stopped at the first that fits. Go on to the largest.
"""

# %% kind="see" track="core"
choose = yours("choose_heads")
unshared = cache_bytes(4096, 16, 1024, 16, 16, 2)
print(f"16 heads, none shared: {unshared / 1e6:.0f} million bytes")
for budget in (300, 140, 40, 10):
    n_heads, n_kv_heads = choose(budget * 10**6, 4096, 16, 1024, 2)
    size = cache_bytes(4096, 16, 1024, n_heads, n_kv_heads, 2)
    assert size <= budget * 10**6 and n_heads % n_kv_heads == 0
    print(f"budget {budget} million: {n_heads} heads, {n_kv_heads} of keys,", end=" ")
    print(f"{size / 1e6:.1f} million bytes")

# %% [markdown] kind="text" contents="averaging the heads of a trained translator, and what is left of it"
r"""
## Break it

What does sharing do to quality? Take the trained translator, whose decoder has four heads, average its keys in pairs, its values, or both, and hope. Counted: test sentences of 200 whose every word is right, the words before it given. (`patch.multiple` puts another function in place of the library's, as in lesson 12.)

> **Before you run it:** {result:lesson_17/averaged heads/nothing:.1%} are right with four. And with two?
"""

# %% kind="code"
transformer = load_shipped("transformer")
model, encode = transformer.model.eval(), transformer.tokenizer.encode
pairs = splits(seed=0, sizes={"test": 200}).test
texts = [(encode(pair.src_text), encode(pair.tgt_text)) for pair in pairs]
batch = make_batch([src for src, _ in texts], [tgt for _, tgt in texts])
with torch.no_grad():
    memory = model.encode(batch.src, batch.src_lengths)
attend_fully, MODULE = library.multi_head, "course_lib.layers.multi_head"


def in_pairs(heads):
    return heads.unflatten(1, (2, -1)).mean(dim=2).repeat_interleave(2, dim=1)


def percent_right(of_keys, of_values):
    def shared(query, keys, values, **options):
        return attend_fully(query, of_keys(keys), of_values(values), **options)

    with torch.no_grad(), patch.multiple(MODULE, multi_head=shared):
        predicted = model.decode(memory, batch.tgt_in)[0].argmax(dim=-1)
    right = (predicted == batch.tgt_out) | (batch.tgt_out == PAD)
    return fixed(100 * right.all(dim=1).float().mean(), 1)

# %% kind="break"
def unchanged(heads):
    return heads


print(f"averaged: nothing {percent_right(unchanged, unchanged)}% right")
print(f"averaged: keys {percent_right(in_pairs, unchanged)}%")
print(f"averaged: values {percent_right(unchanged, in_pairs)}%")
print(f"averaged: both {percent_right(in_pairs, in_pairs)}%")

# %% [markdown] kind="text"
r"""
Ruin, and no part alone is to blame: keys cost a third of the sentences, values a quarter, both four in five. Each head has a language of its own (lesson 12), and the mean of two is neither. (Nor do the keys merely shrink: scaled up again by √2, {result:lesson_17/averaged heads/keys, scaled up:.1%} are right.) Sharing has to be **learned**: Ainslie and others start from just such means and train on for a twentieth of the original steps; then eight key heads come close to the quality of no sharing, at nearly the speed of one.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself

The first try counts for your score; every answer gets a reason.
"""

# %% kind="quiz"
quiz("17", "closing")

# %% [markdown] kind="instructor"
r"""
**Crossover on the board (5 min).** Let everybody derive $n = 6d$ before the explorable opens. Usual slips: $n = d$ (compared with a recurrent layer), $n = 3d$ (the mix forgotten, or the feed-forward network halved).

**The estimates.** Collect guesses for the recurrent crossover; most stay near 64. Then run it, twice. Numbers differ from machine to machine, under load, and with the batch (8 side by side: near {result:lesson_17/crossover/recurrent, 8 sentences:.0f}). Ask: "would it help if the steps did not wait?" Expected: on one core no; it helps only if they may then be joined. "What does a GPU change?" Large products gain, a queue of tiny ones does not; $e^x$ gets cheap and bytes dear.

| they say | what it is | answer |
|---|---|---|
| "n² dominates, always" | M42 | 2% at 64 words and d = 512. |
| "attention is cheaper than recurrence while n < d" | M42 | Scores and mix are. With its four matrices never, by FLOPs. |
| "attention is O(1), so it writes at once" | M43 | Reading and training; writing takes a pass a word. |
| "fused attention does less work" | – | The same, and in training more. Fewer bytes. |
| "the cache keeps queries too" | M44 | Nobody asks an old question again. |
| "a mask makes it sparse, so faster" | – | Count the FLOPs: hidden scores are made all the same. |

**If time is short**, leave out the look-up of section 6; keep both crossovers and the design.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| what | work | what is kept | what it gives up |
|---|---|---|---|
| explicit attention | $4n^2d$ | tables, $h n^2$ | – |
| fused | $4n^2d$, in training more | $nd$ | nothing |
| restricted, $r$ on either side | $12rnd$ | $nd$ | far words, until layers later |
| linear | $4n\,d\,d_k$ | $d_k d_v$ a head, however long | exact look-up |
| grouped queries | $4n^2d$ | cache of $h_{kv} / h$ | keys of its own for each head |

- By FLOPs, scores and mix draw level with a recurrent layer at $n = d$ and with the rest of their block at $n = 6d$. The clock says otherwise, and one can find out why.
- FLOPs are right about large products. Small ones, $e^x$ and bytes are not in them.
- A state of fixed size is back, with its old question.

**Still missing.** Which of all these systems is best, on one task and one recipe? Lesson 18 opens the museum.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani and others, *Attention Is All You Need* (2017), section 4 with table 1. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Dao and others, *FlashAttention* (2022), [arXiv 2205.14135](https://arxiv.org/abs/2205.14135); its running softmax is that of Milakov and Gimelshein (2018), [arXiv 1805.02867](https://arxiv.org/abs/1805.02867)
- Katharopoulos and others, *Transformers are RNNs* (2020), [arXiv 2006.16236](https://arxiv.org/abs/2006.16236); Schlag, Irie and Schmidhuber, *Linear Transformers Are Secretly Fast Weight Programmers* (2021), [arXiv 2102.11174](https://arxiv.org/abs/2102.11174)
- Shazeer, *Fast Transformer Decoding: One Write-Head is All You Need* (2019), [arXiv 1911.02150](https://arxiv.org/abs/1911.02150); Ainslie and others, *GQA* (2023), [arXiv 2305.13245](https://arxiv.org/abs/2305.13245)
- Beltagy, Peters and Cohan, *Longformer* (2020). [arXiv 2004.05150](https://arxiv.org/abs/2004.05150)
- Sun and others, *Learning to (Learn at Test Time): RNNs with Expressive Hidden States* (2024). [arXiv 2407.04620](https://arxiv.org/abs/2407.04620)
- `lessons/l17_what_it_costs/`: `restricted.py`, `linear_attention.py` and `cost.py`, which measured the record.
"""
