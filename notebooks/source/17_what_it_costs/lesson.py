# Lesson 17 · the source. Edit this file, then run `python3 -m course_lib build 17`; the notebook is made from it.

# %% [markdown] kind="title" minutes=0.5
r"""
# 17 · What it costs

**The question:** what does attention cost in time and memory, and what can be done about it?

About {minutes} minutes. You need heads ([lesson 12](12_many_heads.ipynb)), the block ([lesson 13](13_the_block.ipynb)), hops ([lesson 05](05_distance_between_words.ipynb)) and the reader's loop ([lesson 02](02_recurrent_networks.ipynb)).
"""

# %% [markdown] kind="goals" minutes=0.5
r"""
After this lesson you can

1. **count** the work of a block, as torch's own counter does;
2. **predict** where attention overtakes a recurrent layer and the rest of its block, and **measure** where it does;
3. **say** why time does not follow the count, and what fused attention saves;
4. **write** linear attention as a reader with a state of fixed size;
5. **choose** grouped heads for a memory budget.
"""

# %% kind="setup" minutes=0
from unittest.mock import patch

import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from course_lib import views
from course_lib.bench import cost
from course_lib.explore import CostExplorer
from course_lib.formatting import fixed
from course_lib.layers import multi_head as library
from course_lib.layers.block import Block
from course_lib.layers.linear_attention import causal_linear_attend, feature_map
from course_lib.layers.restricted import attend_nearby, window_mask
from course_lib.teaching import check, estimate, explain, predict, quiz
from course_lib.teaching import start_lesson, yours
from course_lib.text.batch import make_batch
from course_lib.text.special import PAD
from course_lib.text.toy.splits import splits
from course_lib.translation.shipped import load_shipped

start_lesson("what_it_costs", seed=17)

# %% [markdown] kind="text" minutes=0
r"""
## Warm up

From memory, before you read on.
"""

# %% kind="recall" minutes=1.5
quiz("17", "recall")

# %% [markdown] kind="text" minutes=1.5
r"""
## 1 · Counting the work

Twenty guests shake hands, each with each: that is work of the order 20². Twenty guests each hang up a coat: work of the order 20. A party of five never notices the difference. A party of two thousand does nothing but shake hands.

In a block, attention shakes hands and everything else hangs up coats. To compare them we need a unit. One multiplication or one addition of two decimal numbers is a {term:FLOP} (a *floating-point operation*). A product of matrices, $(a, b)$ times $(b, c)$, has $a \cdot c$ cells, each a sum of $b$ products: $b$ multiplications and about $b$ additions. So it takes $2abc$ FLOPs.

**By hand.** Three words of width 2, times a matrix of 2 by 2: 2 · 3 · 2 · 2 = 24 FLOPs. Scores for the three, (3, 2) times (2, 3): 36. Already the hands cost more than the coats, for the sentence is longer than the vectors are wide.
"""

# %% kind="diagram" minutes=0.5 hide_input=true
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

# %% [markdown] kind="text" minutes=0.5 exercise="block_flops"
r"""
**Count a block** of lesson 13: four projections of (d, d); scores and mix, with all heads together as wide as `d`; a feed-forward network from `d` to `d_ff` and back. Only the matrix products; softmax, norms and sums are left out, as torch's counter leaves them out. Remember that one omission.

Return a dict with the keys `"projections"`, `"attention"` (scores and mix) and `"feed-forward"`.
"""

# %% kind="exercise" exercise="block_flops" title="The FLOPs of a block" difficulty=2 importance=5 minutes=5 track="core"
def block_flops(n, d, d_ff):
    """n words of width d  ->  {"projections": …, "attention": …, "feed-forward": …}"""
    # solution
    def product(rows, inner, columns):
        return 2 * rows * inner * columns

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
### The recipe
A helper `product(rows, inner, columns)` that returns 2 · rows · inner · columns. Four projections: (n, d) times (d, d). Scores: (n, d) times (d, n). Mix: (n, n) times (n, d). Feed-forward: (n, d) times (d, d_ff), then back.
"""

# %% kind="library" minutes=0.5
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

# %% [markdown] kind="text" minutes=0.5
r"""
Equal, to the last one. (The last line is smaller by exactly your `"attention"`. Not that it is free: on a CPU torch's counter does not know the fused function of section 4 and counts 0 for it. Check your instruments.)

## 2 · Who overtakes whom?

Now the table of the 2017 paper, derived instead of believed. A recurrent layer multiplies the word and the state by a matrix each, at every word: $2 \cdot 2d^2 \cdot n$. A convolution of width $k$ has $k$ matrices. Attention is yours.

| layer | FLOPs | the paper writes | steps in a row | longest path (lesson 05) |
|---|---|---|---|---|
| recurrent | $4nd^2$ | $O(n d^2)$ | $n$ | $n$ |
| convolution, width $k$ | $2knd^2$ | $O(k n d^2)$ | $1$ | $n/k$, with gaps $\log_k n$ |
| self-attention | $4n^2d$ | $O(n^2 d)$ | $1$ | $1$ |
| the same, $r$ neighbours | $4rnd$ | $O(r n d)$ | $1$ | $n/r$ |

The $O(\cdot)$ is {term:O-notation}: it keeps what grows and drops constant factors. That makes a table readable and hides things. This one leaves out the projections and the feed-forward network, $24nd^2$ in a block with $d_{ff} = 4d$. (And it is about reading. A Transformer still *writes* word by word, one pass for each.)

Two costs that grow differently must meet somewhere: the {term:crossover}. Against a recurrent layer, $4n^2d = 4nd^2$ at $n = d$. Against the rest of its own block? Work it out on paper, then commit.
"""

# %% kind="predict" minutes=3
predict("17", "cost-half", CostExplorer())

# %% [markdown] kind="text" minutes=0.5
r"""
Not at $n = d$ but at $n = 6d$. So "attention is quadratic, therefore slow" is wrong for a sentence (2% of the work at 64 words), and "attention is cheaper than recurrence" is wrong for a chapter. But the tables' memory overtakes early: with 8 heads they are larger than the words themselves beyond 64 words.

## 3 · By the clock

A prediction is worth something if it can fail. `cost.recurrent_ratios` times one head of attention and `torch.nn.RNN` side by side, in turn, the quickest of three rounds each, on one core, and gives seconds over seconds; `cost.meeting` reads off where that ratio passes 1. By FLOPs: at 64.
"""

# %% kind="estimate" minutes=1.5
LENGTHS = (64, 128, 256, 512, 1024, 2048)


def by_the_clock():
    ratios = cost.recurrent_ratios(64, LENGTHS, rounds=3)
    return cost.meeting(LENGTHS, ratios)


estimate("17", "cost-recurrent", by_the_clock)

# %% kind="explain" minutes=2
explain("17", "cost-why-late")

# %% [markdown] kind="text" minutes=0.5
r"""
On the machine of our record (`bench_cost_cpu.txt`: two ARM cores, one used) they met near **1,100** words instead of 64, and for $d$ = 128 near **1,000** instead of 128. *Steps in a row* is a column of its own in the table for a reason.

Now the other crossover, inside the block: explicit attention (scores, softmax, mix, one after another), and torch's fused one, against all other products. By FLOPs the ratio is $n / 6d$: level at 384 words for $d$ = 64, at 768 for $d$ = 128.
"""

# %% kind="predict" minutes=2.5
parts = []
for d in (64, 128):
    curves = {"FLOPs say": [n / (6 * d) for n in LENGTHS]}
    curves |= cost.block_ratios(d, LENGTHS, rounds=3)
    curves["level"] = [1.0] * len(LENGTHS)
    title = f"d = {d}: attention / rest"
    low_and_high = (0.06, 40)
    parts.append(views.Part(title, LENGTHS, curves, "ratio", True, True, low_and_high))
figure = views.panels(parts, x_name="words, n", alt="Ratios of time for two widths.")
predict("17", "cost-seconds", figure)

# %% [markdown] kind="text" minutes=0.5
r"""
In our record, explicit attention takes longer than the rest at *every* length we tried for $d$ = 64. The fused one draws level at about 170 words instead of 384; for $d$ = 128 at about 500 instead of 768. The lines end up parallel to the prediction: the *growth* is as counted, the *factor* is not.

Whom to blame? Two suspects: the products themselves, which are narrow, and what we left out of the count. Ask the clock about the second.
"""

# %% kind="estimate" minutes=1.5
def softmax_share(n_heads=4):
    taken = cost.fastest(cost.part_ways(384, 64, n_heads), rounds=7)
    return 100 * taken["softmax"] / taken["rest"]


estimate("17", "cost-softmax", softmax_share)

# %% [markdown] kind="text" minutes=1
r"""
Our record, at 384 words, where FLOPs predict exactly 1 for the products and 0 for the softmax:

| time, compared with the rest of the block | the two products | scaling and softmax |
|---|---|---|
| one head of width 64 | 0.93 | 0.55 |
| four heads of width 16 | 1.35 | 1.97 |

So the count was **right about what it counted**: one head's products take 0.93 of the rest. Cut into narrow heads they get slower, and there are four tables to fill. What the count leaves out is more than what it counts.

## 4 · The table that is never written

A core multiplies much faster than it can fetch numbers from memory. Bytes that go in and out are {term:memory traffic}, and explicit attention makes a lot of it: it writes the scores, reads and writes them scaled, reads and writes them as weights, reads them again for the mix.

{term:fused attention|Fused attention} (FlashAttention: Dao and others, 2022) does all four steps on a small tile of the table while it lies in fast memory, adds the tile's part to the result, and forgets the tile. A softmax needs the sum over the whole row? It carries a running sum, and rescales what it has so far when a larger score turns up. The FLOPs are the same, and so is the result.

`cost.bytes_written` adds up the memory of all tensors that a function makes.
"""

# %% kind="diagram" minutes=0 hide_input=true
FUSED = "Fused: these three never leave fast memory"
views.diagram(PARTS, ARROWS, lit=("scores", "softmax", "mix"), title=FUSED)

# %% kind="see" minutes=0.5
fused = F.scaled_dot_product_attention


def million_bytes(attention, heads):
    return fixed(cost.bytes_written(lambda: attention(*heads)) / 1e6, 2)


print("words   explicit    fused   (million bytes; 4 heads of 16)")
for n in (256, 512, 1024, 2048):
    heads = torch.randn(3, 1, 4, n, 16)  # queries, keys and values
    ours, torchs = (million_bytes(way, heads) for way in (cost.explicit, fused))
    print(f"{n:>5} {ours:>10} {torchs:>8}")
    assert torch.allclose(cost.explicit(*heads), fused(*heads), atol=1e-5)

# %% [markdown] kind="text" minutes=1
r"""
Twice the words: explicit four times the bytes, fused twice. That is three tables of $4n^2$ numbers against one result of $64n$. For training it matters even more, since backpropagation would have to *keep* the tables of every layer.

Fusing changes the memory and the factor. The $n^2$ of the work stays. Two ways to get rid of it follow, then one to shrink what is kept; each gives something up.

## 5 · Look at fewer words

{term:restricted attention|Restricted attention}: each word sees only its neighbours, $r$ of them on either side here. The paper proposes it in its section 4. The price stands in the table of section 2: a far word needs several layers, as with convolutions.

A mask alone saves nothing: all $n^2$ scores are made, and most are hidden. `attend_nearby` cuts the sentence into blocks of $r$ words and lets each block look at three.
"""

# %% kind="see" minutes=0.5
def flops_of(work):
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        work()
    return counter.get_total_flops()


query, keys, values = torch.randn(3, 1, 4, 1024, 16)
mask = window_mask(1024, 8)
hidden = library.multi_head(query, keys, values, may_look=mask, with_weights=True)[0]
nearby = attend_nearby(query, keys, values, radius=8)
assert torch.allclose(hidden, nearby, atol=1e-5)
everything = flops_of(lambda: cost.explicit(query, keys, values))
few = flops_of(lambda: attend_nearby(query, keys, values, radius=8))
print(f"1,024 words, 8 neighbours: {few:,} FLOPs of {everything:,}")
print(f"one part in {fixed(everything / few, 0)}, the same result as with the mask")

# %% [markdown] kind="text" minutes=0.5
r"""
Can a translator live with it? Take the trained one and let its three encoder layers see only neighbours. It was never trained for that. Share of 200 test sentences whose every word it gets right, the words before it given. (`patch.multiple` puts another function in place of the library's, as in lesson 12.)

> **Before you run it:** with one neighbour on either side, more or less than half of the sentences?
"""

# %% kind="see" minutes=1
transformer = load_shipped("transformer")
model, encode = transformer.model.eval(), transformer.tokenizer.encode
pairs = splits(seed=0, sizes={"test": 200}).test
texts = [(encode(pair.src_text), encode(pair.tgt_text)) for pair in pairs]
batch = make_batch([src for src, _ in texts], [tgt for _, tgt in texts])
attend_fully, PLACE = library.multi_head, "course_lib.layers.multi_head"


@torch.no_grad()
def right_share(in_encoder=attend_fully, in_decoder=attend_fully):
    with patch.multiple(PLACE, multi_head=in_encoder):
        memory = model.encode(batch.src, batch.src_lengths)
    with patch.multiple(PLACE, multi_head=in_decoder):
        logits, _ = model.decode(memory, batch.tgt_in)
    right = (logits.argmax(dim=-1) == batch.tgt_out) | (batch.tgt_out == PAD)
    return 100 * right.all(dim=1).float().mean().item()


def window(radius):
    def nearby(query, keys, values, may_look=None, **_):
        options = {"radius": radius, "may_look": may_look}
        return attend_nearby(query, keys, values, **options), None

    return nearby

# %% kind="see" minutes=0.5
radii = (1, 2, 3, 4, 6, 8)
shares = [right_share(in_encoder=window(radius)) for radius in radii]
whole = right_share()
views.lines(
    radii, {"neighbours only": shares, "all words": [whole] * len(radii)},
    x_name="neighbours on either side", y_name="sentences right, %",
    title="A trained encoder that sees only neighbours",
)

# %% [markdown] kind="text" minutes=1
r"""
Four out of five sentences survive with **one** neighbour, and with eight nothing is lost: our sentences are short, three layers of one neighbour reach three words, and the decoder still looks at everything. Models made for long texts are trained with windows, and let a few chosen words see, and be seen by, everybody (Longformer: Beltagy, Peters and Cohan, 2020).

## 6 · A state of fixed size

The second way changes the weights. The $n^2$ comes from the softmax: $e^{q \cdot k}$ must be made for every pair. Suppose a weight were a plain dot product of two positive vectors, $\phi(q) \cdot \phi(k)$. Then the sum over all words can be sorted differently:

$$ \sum_j \big(\phi(q) \cdot \phi(k_j)\big)\, v_j \;=\; \phi(q) \sum_j \phi(k_j)\, v_j^\top \;=\; \phi(q)\, S $$

The query has moved **out** of the sum. $S$, a table of $d_k \times d_v$ numbers, is made once for all queries: work of the order $n$. That is {term:linear attention} (Katharopoulos and others, 2020), and $\phi$ is its {term:feature map}: here $\text{elu}(x) + 1$, which is $x + 1$ for positive $x$ and $e^x$ for negative. Weights must sum to 1, so divide by $\phi(q) \cdot z$ with $z = \sum_j \phi(k_j)$.

**By hand.** Keys 0 and 2, so $\phi$ = 1 and 3; values 4 and 8. $S$ = 1 · 4 + 3 · 8 = 28, $z$ = 4. A query with $\phi(q)$ = 2: 2 · 28 / (2 · 4) = 7. As weights: ¼ and ¾, and ¼ · 4 + ¾ · 8 = 7.

And when word $t$ may see only words up to $t$? Then $S$ and $z$ are sums *so far*: a state, updated by every word. You have written such a reader in lesson 02.
"""

# %% [markdown] kind="text" minutes=0 exercise="linear_reader"
r"""
**Write it as a recurrent network.** Start with zeros. For each word: add it to the state, then ask. `feature_map` is $\phi$; `torch.outer(a, b)` is the table of all products $a_i b_j$. Return the outputs of all words, (n, d_v), and the last $S$, (d_k, d_v).
"""

# %% kind="exercise" exercise="linear_reader" mode="transfer" title="Attention as a reader" difficulty=3 importance=5 minutes=7 track="core"
def linear_reader(query, keys, values):
    """query (n, d_k), keys (n, d_k), values (n, d_v)

    ->  outputs (n, d_v), S (d_k, d_v)
    """
    # solution
    summary = torch.zeros(keys.shape[1], values.shape[1])
    total, outputs = torch.zeros(keys.shape[1]), []
    for q, k, v in zip(feature_map(query), feature_map(keys), values, strict=True):
        summary = summary + torch.outer(k, v)
        total = total + k
        outputs.append(q @ summary / (q @ total))
    return torch.stack(outputs), summary
    # end solution

# %% kind="check" exercise="linear_reader"
check("linear_reader", linear_reader)

# %% [markdown] kind="hints" exercise="linear_reader"
r"""
### A nudge
Two things are carried along: a table $S$ and a vector $z$. What does one word add to each?

---
### The recipe
With q = φ(query), k = φ(key): `summary + torch.outer(k, v)`, `total + k`, and then the output `q @ summary / (q @ total)`. Collect the outputs and `torch.stack` them.
"""

# %% kind="tensor" minutes=0.5
read = yours("linear_reader")
torch.manual_seed(17)
query, keys, values = torch.randn(100, 8), torch.randn(100, 8), torch.randn(100, 6)

weights = (feature_map(query) @ feature_map(keys).T).tril()  # (n, n), causal
weights = weights / weights.sum(dim=-1, keepdim=True)
as_attention = weights @ values
as_reader, state = read(query, keys, values)
at_once = causal_linear_attend(query, keys, values)

assert torch.allclose(as_attention, as_reader, atol=1e-5)
assert torch.allclose(as_attention, at_once, atol=1e-5)
table, size = tuple(weights.shape), tuple(state.shape)
print(f"a table of {table} or a state of {size}: the same outputs")

# %% [markdown] kind="text" minutes=0.5
r"""
The same outputs: once as attention over all words, once as a recurrent network whose state never grows. It can be *trained* like attention, all words at once, and *run* like a recurrent network, the same small cost for every word. The road has come full circle, and so has its old question: how much fits into a state of fixed size? **Break it** below asks that.
"""

# %% kind="quiz" minutes=1.5
quiz("17", "cheaper")

# %% [markdown] kind="text" minutes=0.5
r"""
## 7 · The cache, and heads that share

A decoder that writes word by word keeps the keys and values of all words so far, the KV cache (lesson 16 measures what it saves). Kept means memory: two vectors a word, in every layer, for every sentence being written. At 100,000 words of context that, and not the FLOPs, decides how many readers a machine can serve.
"""

# %% [markdown] kind="text" minutes=0.5
r"""
The way out: let several query heads **share** one head of keys and values. Four query heads and two key heads: heads 0 and 1 look at the same keys, each with its own question. That is {term:grouped-query attention} (Ainslie and others, 2023); with a single key head it is {term:multi-query attention} (Shazeer, 2019). Queries are never kept, so they cost nothing here.
"""

# %% kind="diagram" minutes=0 hide_input=true
KEPT = "Shared among heads: what is kept"
views.diagram(PARTS, ARROWS, lit=("W_K", "W_V"), title=KEPT)

# %% [markdown] kind="text" minutes=0 exercise="cache_bytes"
r"""
How many bytes? Each key head is as wide as a query head, `d_model / n_heads`. A first version is there. Make its check pass.
"""

# %% kind="exercise" exercise="cache_bytes" mode="bug" title="The bytes of a cache" difficulty=2 importance=4 minutes=3 track="core"
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
### The recipe
The width of a head is fixed by the **query** heads, among which `d_model` is shared out. Fewer key heads do not get wider.
"""

# %% kind="library" minutes=0.5
cache_bytes = yours("cache_bytes")
words = torch.randn(1, 100, 64)
for n_kv_heads in (4, 2, 1):
    block = Block(d_model=64, n_heads=4, n_kv_heads=n_kv_heads, d_ff=256)
    _, kept, _ = block(words, causal=True)
    measured = kept.keys.nbytes + kept.values.nbytes
    assert measured == cache_bytes(100, 1, 64, 4, n_kv_heads, 4)
    print(f"key heads: {n_kv_heads}, bytes for 100 words: {measured:,}, as computed")

# %% [markdown] kind="text" minutes=0.5 exercise="choose_heads"
r"""
**Choose the heads.** You are given a budget in bytes, the words to be kept, layers, `d_model` and bytes a number. Return `(n_heads, n_kv_heads)` such that

- `n_heads` divides `d_model`, and `n_kv_heads` divides `n_heads`;
- a head is 32 to 128 numbers wide;
- the cache fits into the budget;
- and nothing is shared without need: with *your* `n_heads`, no larger `n_kv_heads` would fit.

Many answers are right. Do one case on paper first: 40 million bytes, 4,096 words, 16 layers, width 1,024, 2 bytes. How many numbers may one word keep in one layer? Then write the search; `cache_bytes` of the last cell helps. For some budgets wide heads do not fit at all, however few keys there are.
"""

# %% kind="exercise" exercise="choose_heads" title="Grouped heads for a budget" difficulty=4 importance=5 minutes=15 track="core"
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
Two loops: over the possible `n_heads`, and over the possible `n_kv_heads` for each. Skip what does not divide or is too narrow or too wide. What do you keep?

---
### The recipe
1. For each `n_heads` from 1 to `d_model` that divides `d_model`, with a width from 32 to 128:
2. for each `n_kv_heads` that divides `n_heads`, compute the bytes. Does it fit?
3. Of those that fit with the same `n_heads`, keep the largest `n_kv_heads`. Any `n_heads` that has one is a right answer. Keeping the one with the most numbers a word, `n_kv_heads · width`, is a good choice.

---
### "It fits, and shares more than it must"
You stopped at the first that fits. Go on to the largest.
"""

# %% kind="see" minutes=0.5
choose = yours("choose_heads")
plain = cache_bytes(4096, 16, 1024, 16, 16, 2)
print(f"16 heads, none shared: {plain / 1e6:.0f} million bytes")
for budget in (300, 140, 40, 10):
    n_heads, n_kv_heads = choose(budget * 10**6, 4096, 16, 1024, 2)
    takes = cache_bytes(4096, 16, 1024, n_heads, n_kv_heads, 2)
    assert takes <= budget * 10**6 and n_heads % n_kv_heads == 0
    print(f"budget {budget} million: {n_heads} heads, {n_kv_heads} of keys,", end=" ")
    print(f"{takes / 1e6:.1f} million bytes")

# %% [markdown] kind="text" minutes=0.5
r"""
What does sharing do to quality? One could take the trained translator, average its four key heads in pairs, and hope.

> **Before you run it:** 98.5% of the sentences are right with four. With two? With one?
"""

# %% kind="see" minutes=0.5
def pooled(n_kv_heads):
    def shared(query, keys, values, **options):
        keys, values = (
            heads.unflatten(1, (n_kv_heads, -1)).mean(dim=2) for heads in (keys, values)
        )
        return attend_fully(query, keys, values, **options)

    return shared


for n_kv_heads in (4, 2, 1):
    share = right_share(in_decoder=pooled(n_kv_heads))
    print(f"key heads in the decoder: {n_kv_heads}, right: {fixed(share, 1)}%")

# %% [markdown] kind="text" minutes=1
r"""
Ruin. Each head has a language of its own (lesson 12), and the mean of two is neither. Sharing has to be **learned**: Ainslie and others start from just such means and train on for a twentieth of the original steps; then eight key heads come close to the quality of all, at nearly the speed of one. A saving that is free in FLOPs is not free in a trained model.

## Break it

Linear attention keeps a state of fixed size. Fill it: $n$ random keys with a random value each, $d$ = 16, then ask with each key for its value. An answer counts if the *nearest* of all values is the right one. Beside it two rivals: softmax attention with sharp scores, which keeps everything; and the *best* table of 16 × 16 there is, computed from all pairs at once (`pinv` finds the table with the smallest squared error). If the small state fails and the best one does not, then its size is not to blame.

> **Before you run it:** a state of 16 × 16 numbers. How many pairs does it hold?
"""

# %% kind="break" minutes=1
def found_again(answers, values):
    nearest = torch.cdist(answers, values).argmin(dim=-1)
    return 100 * (nearest == torch.arange(values.shape[1])).float().mean().item()


counts = (2, 4, 8, 16, 32, 64)
curves = {"softmax, sharp": [], "best table": [], "linear attention": []}
for n in counts:
    torch.manual_seed(n)
    keys, values = torch.randn(50, n, 16), torch.randn(50, n, 16)
    phi = feature_map(keys)
    total = phi.sum(dim=1, keepdim=True).mT
    answers = {
        "softmax, sharp": (4 * keys @ keys.mT).softmax(dim=-1) @ values,
        "best table": keys @ (torch.linalg.pinv(keys) @ values),
        "linear attention": phi @ (phi.mT @ values) / (phi @ total),
    }
    for name, answer in answers.items():
        curves[name].append(found_again(answer, values))
views.lines(
    counts, curves, x_name="pairs stored", y_name="found again, %",
    title="How much fits into 16 × 16 numbers?",
)

# %% [markdown] kind="text" minutes=0.5
r"""
Two different failures. **Linear attention** loses half of four pairs and is close to guessing from eight on. Its feature map is blunt: the weights come out nearly even, and every answer is a blend of everything. The size is not to blame, for the **best table** finds all of 16 pairs, as many as a key has numbers. Then it falls too: two thirds of 32, a sixth of 64. That **is** the size: 32 values of 16 numbers are 512, and the table has 256. The bottleneck of lesson 04 again.

So the search is for better maps and better *updates*. In test-time training (last in the reading) the state is itself a small network that learns while it reads. But no state of fixed size holds everything. Attention does, and pays $n^2$.

## Check yourself

The first try counts for your score; every answer gets a reason.
"""

# %% kind="quiz" minutes=3
quiz("17", "closing")

# %% [markdown] kind="instructor"
r"""
**Crossover on the board (5 min).** Let everybody derive $n = 6d$ before the explorable opens. Usual slips: $n = d$ (compared with a recurrent layer), $n = 3d$ (the mix forgotten, or the feed-forward network halved).

**The estimate.** Collect guesses for the recurrent crossover; most stay near 64. Then run it, twice. Numbers differ from machine to machine, and under load; the order of magnitude does not. Ask: "what does a GPU change?" Expected: large products gain, a queue of tiny ones does not.

| they say | what it is | answer |
|---|---|---|
| "n² dominates, always" | M42 | 2% at 64 words and d = 512. |
| "attention is O(1), so it writes at once" | M43 | Reading and training; writing takes a pass a word. |
| "fused attention does less work" | – | Same FLOPs, same result, fewer bytes. |
| "the cache keeps queries too" | M44 | Nobody asks an old question again. |
| "a mask makes it sparse, so faster" | – | Count the FLOPs: hidden scores are made all the same. |

**If time is short**, leave out the second estimate (show the table) and the window on the translator; keep both crossovers and the design.
"""

# %% [markdown] kind="summary" minutes=1
r"""
## What you have now

| what | work | what is kept | what it gives up |
|---|---|---|---|
| explicit attention | $4n^2d$ | tables, $h n^2$ | – |
| fused | $4n^2d$ | $nd$ | nothing |
| restricted, $r$ neighbours | of the order $n r d$ | $nd$ | far words, until layers later |
| linear | of the order $n d\, d_k$ | $d_k d_v$ a head, however long | exact look-up |
| grouped queries | $4n^2d$ | cache of $h_{kv} / h$ | keys of its own for each head |

- Against a recurrent layer attention draws level at $n = d$, in its block at $n = 6d$, by FLOPs. The clock says otherwise, and one can find out why.
- FLOPs are right about products. Waiting, starting and fetching are not in them.
- A state of fixed size is back, with its old question.

**Still missing.** Which of all these systems is best, on one task and one recipe? Lesson 18 opens the museum.
"""

# %% [markdown] kind="reading" minutes=0.5
r"""
## Reading

- Vaswani and others, *Attention Is All You Need* (2017), section 4 with table 1. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Dao and others, *FlashAttention* (2022). [arXiv 2205.14135](https://arxiv.org/abs/2205.14135)
- Katharopoulos and others, *Transformers are RNNs* (2020). [arXiv 2006.16236](https://arxiv.org/abs/2006.16236)
- Shazeer, *Fast Transformer Decoding: One Write-Head is All You Need* (2019), [arXiv 1911.02150](https://arxiv.org/abs/1911.02150); Ainslie and others, *GQA* (2023), [arXiv 2305.13245](https://arxiv.org/abs/2305.13245)
- Beltagy, Peters and Cohan, *Longformer* (2020). [arXiv 2004.05150](https://arxiv.org/abs/2004.05150)
- Sun and others, *Learning to (Learn at Test Time): RNNs with Expressive Hidden States* (2024). [arXiv 2407.04620](https://arxiv.org/abs/2407.04620)
- `course_lib/layers/restricted.py`, `linear_attention.py` and `course_lib/bench/cost.py`, which measured the record.
"""
