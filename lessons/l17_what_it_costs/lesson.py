# Lesson 17 · the source. Edit this file, then run `python3 -m course_lib build 17`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 17 · What it costs

**The question:** what does attention cost in time and memory, and how can we make it cheaper?

About {minutes} minutes. You need recurrent networks from [lesson 02](02_recurrent_networks.ipynb), the block from [lesson 13](13_the_block.ipynb) and the KV cache from [lesson 16](16_decoding.ipynb).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **count** the FLOPs of a Transformer block, and **predict** at which length attention dominates;
2. **compare** FLOPs with measured times, and **explain** what you find; <!-- core -->
3. **compute** attention in one pass with the online softmax;
4. **explain** what FlashAttention adds to it, and what that saves;
5. **write** {term:linear attention} in a second form, and **compare** what it has to keep with a KV cache. <!-- core -->
"""

# %% [markdown] kind="instructor"
r"""
**Open with (2 min)** "Everyone says that attention is expensive because of $n^2$. At which length?" Collect numbers without comment. Section 2 computes one.

**If time is short,** leave out section 3. Keep the online softmax and the comparison of both forms in section 5.
"""

# %% kind="setup"
import math

import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from course_lib import views
from course_lib.formatting import fixed
from course_lib.layers import Block
from course_lib.teaching import check, estimate, predict, quiz, start_lesson, yours
from lessons.l17_what_it_costs import CostExplorer, cost, feature_map
from lessons.l17_what_it_costs import fraction_correct, key_picture, linear_attend

start_lesson("what_it_costs", seed=17)

# %% [markdown] kind="text"
r"""
How fast can a GPU compute? It is limited by how fast its memory delivers numbers (the slope) or by its arithmetic (the level part): 1 TFLOP/s is $10^{12}$ multiplications or additions per second.
"""

# %% kind="picture" name="key picture" hide_input=true
key_picture.draw()

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("17", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · Counting operations

Self-attention computes a score for every *pair* of words, so its cost grows with $n^2$. Whether that makes it expensive depends on what else a Transformer block computes.

Our unit is the {term:FLOP} (*floating-point operation*), one multiplication or addition of two numbers. The product of an $(a, b)$ and a $(b, c)$ matrix has $a \cdot c$ elements. Each is a sum of $b$ products, which takes $b$ multiplications and about $b$ additions, so the product takes $2abc$ FLOPs.

**By hand.** Multiplying three words of width 2 by a (2, 2) matrix takes 2 · 3 · 2 · 2 = 24 FLOPs. Computing their scores, (3, 2) times (2, 3), takes 2 · 3 · 2 · 3 = 36.
"""

# %% [markdown] kind="text" exercise="block_flops"
r"""
**Count the FLOPs of the block** from lesson 13. Only matrix products count, as in torch's own counter: the softmax, the norms and the residual connections are left out. The four projections are given. Add `"attention"` for the scores and the weighted sum, where all heads together have the width `d`, and `"feed-forward"` for the network from `d` to `d_ff` and back. Return the dictionary.
"""

# %% kind="exercise" exercise="block_flops" title="The FLOPs of a block" difficulty=1 importance=5 track="core"
from lessons.l17_what_it_costs.solutions import block_flops

# %% kind="check" exercise="block_flops"
check("block_flops", block_flops)

# %% [markdown] kind="hints" exercise="block_flops"
r"""
### Where to start
Four matrix products are missing, two in attention and two in the feed-forward network. Write down the shapes of both matrices for each of them.

---
### Step by step
Call `product(rows, inner, columns)` for each product. The scores are (n, d) times (d, n), and the weighted sum is (n, n) times (n, d). The feed-forward network multiplies (n, d) by (d, d_ff), and (n, d_ff) by (d_ff, d). Return the dictionary.
"""

# %% kind="library" track="core"
block = Block(d_model=64, n_heads=4, d_ff=256)
with FlopCounterMode(display=False) as counter, torch.no_grad():
    block(torch.randn(1, 100, 64), with_weights=True)

counted = sum(yours("block_flops")(100, 64, 256).values())
assert counted == counter.get_total_flops()
print(f"100 words: {counted:,} FLOPs, the same number as torch counts")

# %% [markdown] kind="text" track="short"
r"""
## 2 · When does n² matter?

The Transformer paper compares layers by their cost (table 1). Here are two of them, for $n$ words of width $d$:

| layer | FLOPs | in the paper | sequential steps |
|---|---|---|---|
| recurrent: two $(d, d)$ matrices | $4nd^2$ | $O(n d^2)$ | $n$ |
| self-attention: scores and weighted sum | $4n^2d$ | $O(n^2 d)$ | $1$ |

{term:O-notation|Big O notation} leaves out constant factors. *Sequential steps* have to wait for one another. The 1 assumes that the whole sentence is known, as in training; during generation, every word needs its own forward pass.

Two costs that grow at different rates are equal at some length, their {term:crossover}. Here it is at $n = d$. But the table leaves out attention's four projections, another $8nd^2$. With them, attention takes more FLOPs than a recurrent layer at *every* length. <!-- core -->

At which length do the scores and the weighted sum take as many FLOPs as the rest of their block, the four projections and the feed-forward network? Work it out on paper first.
"""

# %% [markdown] kind="instructor"
r"""
**The crossover (5 min).** Let everyone derive $n = 6d$ on paper before the explorable opens. Common mistakes: $n = d$ (a comparison with a recurrent layer), $n = 4d$ (only one layer of the feed-forward network) and $n = 12d$ (the weighted sum forgotten).

| they say | misconception | answer |
|---|---|---|
| "n² always dominates" | M42 | At 64 words and a width of 512, it is 2% of the FLOPs. |
| "attention is cheaper than recurrence while n < d" | M42 | The scores and the weighted sum are. With its four projections, attention never is. |
| "attention takes one step, so it generates all at once" | M43 | One step in training. In generation, each word takes a forward pass. |
"""

# %% kind="predict" track="core" contents="a prediction, and an explorable for a block's FLOPs"
predict("17", "cost-half", CostExplorer())

# %% [markdown] kind="text" track="short"
r"""
With $d_{ff} = 4d$, the four projections take $8nd^2$ FLOPs and the feed-forward network $16nd^2$, together $24nd^2$. The scores and the weighted sum reach that at $n = 6d$. In a block of width 512, they take 2% of the FLOPs at 64 words and half of them at 3,072. In memory, $n^2$ shows much earlier: with 8 heads, there are more attention weights, $8n^2$, than numbers in the hidden states, $512n$, from 65 words on.
"""

# %% [markdown] kind="text" contents="measured times, compared with FLOPs"
r"""
## 3 · Measuring the time

Do FLOPs predict how long a computation takes? In a block of width 64, attention takes as many FLOPs as the rest of the block at 6 · 64 = 384 words. The next cell times both on one core of your CPU. *Explicit attention* computes the scores, the softmax and the weighted sum one after another, here with 4 heads. *The rest* means all other matrix products of the block.
"""

# %% [markdown] kind="instructor"
r"""
**The estimate.** Collect guesses for the ratio; most are near 1. Run the cell twice, because the ratio depends on the machine and its load. Then ask: "Which part of attention isn't in our count?" Expected: the softmax.
"""

# %% kind="estimate"
def time_ratio():
    times = cost.fastest(cost.block_ways(384, 64))
    return times["explicit"] / times["rest"]


estimate("17", "cost-clock", time_ratio)

# %% [markdown] kind="text"
r"""
On one core of our ARM CPU, explicit attention took {result:lesson_17/parts/explicit/least:.1f} to {result:lesson_17/parts/explicit/most:.1f} times as long as the rest. We also timed its steps and, for as many numbers as there are scores, $e^x$ and a copy:

| ratio to the rest of the block | two matrix products | scaling and softmax | $e^x$ alone | a copy |
|---|---|---|---|---|
| FLOPs, as counted | 1 | 0 | 0 | 0 |
| time | {result:lesson_17/parts/products/least:.2f}–{result:lesson_17/parts/products/most:.2f} | {result:lesson_17/parts/softmax/least:.2f}–{result:lesson_17/parts/softmax/most:.2f} | {result:lesson_17/parts/exp/least:.2f}–{result:lesson_17/parts/exp/most:.2f} | {result:lesson_17/parts/copy/least:.2f}–{result:lesson_17/parts/copy/most:.2f} |

Most of the time goes into the softmax, which we didn't count: it computes an exponential for each of the 4 · 384² scores. A copy reads and writes just as many bytes as $e^x$, but takes about a tenth of the time. So for the exponentials on this CPU, arithmetic is the bottleneck, not memory access. At this size, the scores may fit into the CPU's cache; with more words, memory can matter more. Twice as many words roughly double the ratio: FLOPs get the growth right, but not the factor.
"""

# %% [markdown] kind="text" track="stretch"
r"""
**And a recurrent layer?** Here attention is faster than its FLOPs suggest. With $d = 64$, attention with one head and `nn.RNN` take the same number of FLOPs at 64 words, but the same time only near {result:lesson_17/crossover/recurrent:,.0f} words. Is that because each step waits for the previous one? Computed one after another, 256 steps took {result:lesson_17/steps/dependent/least:.1f} to {result:lesson_17/steps/dependent/most:.1f} times as long as in a single matrix product. Without the dependency, but still one after another, they took {result:lesson_17/steps/independent/least:.1f} to {result:lesson_17/steps/independent/most:.1f} times as long. So on one core, many small steps are what costs time. The dependency matters because it prevents us from combining them.
"""

# %% [markdown] kind="text" track="short"
r"""
## 4 · Attention in one pass

Attention as we have written it stores $n^2$ scores for each head. Can we avoid that? For one query, we could go through the keys one by one, add up $e^{\text{score}}$ and $e^{\text{score}}$ times the value, discard the score, and divide at the end. But in float32, $e^x$ overflows above about 88.7. That's why the softmax subtracts the largest score first, but we don't know it until we have seen all the scores.

The {term:online softmax} subtracts the largest score *so far*. When a larger one arrives, it rescales the sums so far.

**By hand.** The scores ln 2, ln 8, ln 4 and ln 16 arrive one at a time, with the values 8, 4, 6 and 3. We keep the running maximum $m$, the running sum $\ell$ of $e^{\text{score} - m}$, and the running weighted sum $o$ of the values.

| score | value | $m$ | multiply $\ell$ and $o$ by | $e^{\text{score} - m}$ | $\ell$ | $o$ |
|---|---|---|---|---|---|---|
| ln 2 | 8 | ln 2 | – | 1 | 1 | 8 |
| ln 8 | 4 | ln 8 | 2/8 = ¼ | 1 | ¼ + 1 = 1.25 | 2 + 4 = 6 |
| ln 4 | 6 | ln 8 | 1 | 4/8 = ½ | 1.25 + ½ = 1.75 | 6 + 3 = 9 |
| ln 16 | 3 | ln 16 | 8/16 = ½ | 1 | 0.875 + 1 = 1.875 | 4.5 + 3 = 7.5 |

The output is $o / \ell = 7.5 / 1.875 = 4$. The ordinary attention weights, 2/30, 8/30, 4/30 and 16/30, give the same result: 120/30 = 4.
"""

# %% [markdown] kind="instructor"
r"""
**The online softmax (5 min).** Let one learner call out scores and another keep $m$, $\ell$ and $o$ on the board. Ask before the last row: "Which of the numbers that we have written down are wrong now?" Expected: both sums, by the same factor.

**Stuck?** In each block, in this order: the new maximum, the factor for the old sums, the terms of this block, the new sums. The first block needs no special case.
"""

# %% [markdown] kind="text" exercise="running_attention"
r"""
**Compute the attention output of one query, block by block.** `blocks` yields pairs: the scores of one or more keys, and their values. The blocks can differ in size, and each is available only once. Carry only $m$, $\ell$ and $o$ from one block to the next, never the whole row of scores. The result must equal that of the ordinary softmax, even for scores around 1,000 or −1,000. All scores are finite. Compute with tensors rather than Python numbers, so that gradients can flow.

$e^{-\infty} = 0$, so the first block needs no special case. `torch.maximum(a, b)` returns the larger of two tensors.
"""

# %% kind="exercise" exercise="running_attention" title="Attention in one pass" difficulty=3 importance=5 track="core"
from lessons.l17_what_it_costs.solutions import running_attention

# %% kind="check" exercise="running_attention"
check("running_attention", running_attention)

# %% [markdown] kind="hints" exercise="running_attention"
r"""
### Where to start
Write `for scores, values in blocks:`. For each block, find the new maximum: the larger of the old one and the block's own. You need both the old and the new one, so don't overwrite the old one yet.

---
### What has to be rescaled?
`total` and `output` were computed with the old maximum. Multiplying them by exp(old − new) gives what they would be with the new one.

---
### Step by step
1. Compute the new maximum, the factor exp(old − new), and exp(scores − new) for each key; call these numbers `weights`.
2. Multiply `total` by the factor, and add the sum of `weights`. Multiply `output` by the factor, and add `weights @ values`.
3. Store the new maximum. After the loop, divide `output` by `total`.
"""

# %% [markdown] kind="text" track="short"
r"""
**Who had this idea?** Milakov and Gimelshein (2018) published the online softmax. Rabe and Staats (2021) used the same idea to compute attention without storing $n^2$ numbers. {term:FlashAttention} (Dao et al., 2022) adapts it to a GPU, which has a large main memory and a smaller but faster one on the chip. The matrix of scores is divided into *tiles*. Each tile is computed in the fast memory, added to the running sums and discarded, so $n \times n$ matrices are never written to the slow memory or read from it. The authors report that GPT-2 trains up to three times as fast as with the Hugging Face implementation, and up to 1.7 times as fast as with the more optimised Megatron-LM. A function that combines all steps of attention in this way is called {term:fused attention}; PyTorch's `F.scaled_dot_product_attention` uses one where it can.

In the backward pass, FlashAttention recomputes the scores instead of storing them. That takes more FLOPs but less {term:memory traffic}. <!-- core -->
"""

# %% kind="picture" hide_input=true
key_picture.draw("attention")

# %% [markdown] kind="instructor"
r"""
| they say | misconception | answer |
|---|---|---|
| "FlashAttention is an approximation" | – | The outputs are equal up to rounding; the cell below checks it. |
| "fused attention takes fewer FLOPs" | – | As many, and more in training. It moves fewer bytes. |
"""

# %% [markdown] kind="text" track="stretch" contents="a cell that counts the bytes that attention writes"
r"""
The next cell adds up the memory of all tensors that explicit and fused attention create on your CPU.

> **Before you run it:** when the number of words doubles, by what factor does each total grow?
"""

# %% kind="see" track="stretch" name="bytes"
fused = F.scaled_dot_product_attention


def megabytes(attention, heads):
    return fixed(cost.bytes_written(lambda: attention(*heads)) / 1e6, 2)


print("words   explicit    fused   (million bytes; 4 heads of width 16)")
for n in (256, 512, 1024, 2048):
    heads = torch.randn(3, 1, 4, n, 16)  # queries, keys and values
    print(f"{n:>5} {megabytes(cost.explicit, heads):>10} {megabytes(fused, heads):>8}")
    assert torch.allclose(cost.explicit(*heads), fused(*heads), atol=1e-5)

# %% [markdown] kind="text" track="stretch"
r"""
Explicit attention writes almost four times as many bytes, fused attention twice as many. The latter writes only the output and one number for each query and head, $m + \ln \ell$.
"""

# %% [markdown] kind="text" contents="restricted attention; linear attention and its state, and an exercise"
r"""
## 5 · Attention without the softmax

Fused attention still computes $n^2$ scores. To compute fewer, we must change attention itself.

In {term:restricted attention}, which the Transformer paper proposes in its section 4, each word attends only to its neighbours. A mask alone saves nothing, because masked scores are still computed; an implementation has to skip them. With 1,024 words and 8 neighbours on each side, ours takes 1/{result:lesson_17/nearby/times fewer FLOPs:.0f} of the FLOPs of explicit attention and {result:lesson_17/alternatives/nearby/least:.0p} to {result:lesson_17/alternatives/nearby/most:.0%} of its time. But distant words can't attend to each other directly.

{term:linear attention|Linear attention} (Katharopoulos et al., 2020) replaces the exponential, which has to be computed for every pair. Suppose that the weight of a key were the dot product of two vectors with positive components, $\phi(q) \cdot \phi(k)$. Then we could reorder the weighted sum:

$$ \sum_j \big(\phi(q) \cdot \phi(k_j)\big)\, v_j^\top \;=\; \phi(q)^\top \underbrace{\sum_j \phi(k_j)\, v_j^\top}_{S} \;=\; \phi(q)^\top S $$

$\phi(k_j)\, v_j^\top$ is an *outer product*, a matrix with every component of $\phi(k_j)$ times every component of $v_j$. The sum no longer contains the query, so $S$ is computed once for all queries. To make the weights sum to 1, we divide by $\phi(q) \cdot z$, where $z = \sum_j \phi(k_j)$. The paper's {term:feature map} is $\phi(x) = \text{elu}(x) + 1$, which is $x + 1$ for positive $x$ and $e^x$ for negative $x$.

**By hand.** Let $\phi(k)$ be (2, 4) and (1, 1) for two keys with the values (4, 0) and (0, 8). The outer products have the rows (8, 0), (16, 0) and (0, 8), (0, 8), so $S$ has the rows (8, 8), (16, 8), and $z$ = (3, 5). For a query with $\phi(q)$ = (1, 1), the output is (24, 16) / 8 = (3, 2). The attention weights 6/8 and 2/8 give the same result: ¾ · (4, 0) + ¼ · (0, 8).

A decoder with softmax attention has to keep the keys and values of all words so far, its KV cache. What does it have to keep with linear attention?
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (4 min)** before the prediction. "In linear attention, the sum over the words doesn't contain the query. Why does that matter when text is generated?" Expected: the sum can be kept and extended, so the words themselves are no longer needed. Follow-up: what does that remind you of? The hidden state of lesson 02.

**They say:** "A mask makes attention faster." **Answer:** Masked scores are computed before they are discarded.
"""

# %% kind="predict" hide_input=true
lengths = (10, 100, 1000, 10_000)
curves = {"softmax: keys and values": [2 * 64 * n for n in lengths]}
curves["linear: S and z"] = [64 * 64 + 64] * len(lengths)
part = views.Part("One head of width 64", lengths, curves, "numbers kept", True, True)
alt = "Softmax attention keeps 128 numbers per word, linear attention always 4,160."
predict("17", "cost-state", views.panels([part], x_name="words so far", alt=alt))

# %% [markdown] kind="text"
r"""
**Linear attention is an RNN.** With a causal mask, $S$ and $z$ are sums over the words *so far*. Each word adds its own term to both, and earlier keys and values are no longer needed. So $(S, z)$ is a hidden state of fixed size, and linear attention is a recurrent network. Compared with lesson 02, its state is a matrix and a vector, and its update only adds: there is no recurrent weight matrix and no nonlinearity. Hence the title of the 2020 paper, *Transformers are RNNs*.
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** First the update, then the output, so that each word attends to itself. $z$ is updated in the same way as $S$, without the value.
"""

# %% [markdown] kind="text" exercise="linear_reader"
r"""
**Write linear attention as a recurrent network.** For each word, first add it to the state, then compute its output from its query. `feature_map` is $\phi$, and `torch.outer(a, b)` is the matrix of all products $a_i b_j$. Return two tensors, the outputs of all words and the last $S$.
"""

# %% kind="exercise" exercise="linear_reader" mode="transfer" title="Linear attention as a recurrent network" difficulty=2 importance=5 track="core"
from lessons.l17_what_it_costs.solutions import linear_reader

# %% kind="check" exercise="linear_reader"
check("linear_reader", linear_reader)

# %% [markdown] kind="hints" exercise="linear_reader"
r"""
### Where to start
Apply `feature_map` to the queries and to the keys, and go through the words with a loop. What does one word add to the matrix $S$, and what to the vector $z$?

---
### Step by step
For each word, with q = φ(query) and k = φ(key): add the outer product of k and v to $S$, and k to $z$. Then the output is `q @ S`, divided by the number `q @ z`. Collect the outputs in the list, and combine them with `torch.stack`.
"""

# %% kind="tensor" name="both-forms"
torch.manual_seed(17)
query, keys, values = torch.randn(100, 8), torch.randn(100, 8), torch.randn(100, 6)

weights = (feature_map(query) @ feature_map(keys).T).tril()  # (n, n), causal
weights = weights / weights.sum(dim=-1, keepdim=True)
as_attention = weights @ values
as_rnn, state = yours("linear_reader")(query, keys, values)

difference = (as_attention - as_rnn).abs().max()
print(f"attention weights {tuple(weights.shape)}, or a state {tuple(state.shape)}")
print("largest difference between the outputs:", fixed(difference, 4))
assert difference < 1e-4

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min).** "Linear attention keeps a state of fixed size. Which lesson warned us about that?" Expected: lesson 04, the bottleneck. Follow-up: when is it worth it all the same? When texts are long and memory is scarce.
"""

# %% [markdown] kind="text"
r"""
The outputs are the same up to rounding. Softmax attention has a recurrent form as well (Feng et al., 2024): you wrote it in section 4, with the state $(m, \ell, o)$. But that state belongs to *one* query, and for the next query, all keys have to be processed again. In linear attention, one state serves every query. The price is that a state of fixed size has to hold everything, like the context vector in lesson 04. It pays off when texts are long and memory is scarce, and several recent models, such as MiniMax-01 (2025), combine many layers of this kind with a few of softmax attention.
"""

# %% [markdown] kind="text" track="stretch"
r"""
**How much does the state hold?** Store 16 random keys of width 16 with one value each, and query with every key. A result counts as correct if the nearest of the 16 values is the right one; guessing would be right in 6% of the cases. Two other methods use the same $\phi$: a least-squares matrix instead of $S$, and $S$ with centred, normalised features and no division. The second column uses another comparison: it subtracts the mean from the 16 outputs and from the 16 values first, and takes the value with the largest cosine.

> **Before you run it:** which of the four methods will find the most values?
"""

# %% kind="see" track="stretch" name="look-up"
torch.manual_seed(16)
keys, values = torch.randn(2, 50, 16, 16)  # 50 times 16 pairs
phi = feature_map(keys)


def centre(vectors):
    return F.normalize(vectors - vectors.mean(dim=1, keepdim=True), dim=-1)


def as_percent(found):
    return fixed(100 * (found == torch.arange(16)).float().mean(), 0)


answers = {
    "softmax attention": (keys @ keys.mT / 4).softmax(dim=-1) @ values,
    "linear attention": linear_attend(keys, keys, values),
    "least squares, same φ": phi @ (torch.linalg.pinv(phi) @ values),
    "sum, centred φ": centre(phi) @ (centre(phi).mT @ values),
}
print("% correct              nearest  means subtracted")
for name, answer in answers.items():
    nearest = torch.cdist(answer, values).argmin(dim=-1)
    after = (centre(answer) @ centre(values).mT).argmax(dim=-1)
    print(f"{name:<22} {as_percent(nearest):>7} {as_percent(after):>17}")

# %% [markdown] kind="text" track="stretch"
r"""
By the first comparison, linear attention is hardly better than guessing. The size of its state isn't the cause: another 16 × 16 matrix, fitted by least squares, finds every value. Nor is it the sum alone, since a sum finds most of them once the features are centred and normalised. A positive $\phi$ makes random keys similar (their mean cosine rises from about 0 to {result:lesson_17/cosine of keys/after φ:.2f}), so the attention weights are almost uniform: the right key gets {result:lesson_17/weight of the right key/linear:.2f} on average, where uniform attention would give it {result:lesson_17/weight of the right key/uniform:.2f}. Every output is then close to the mean of all values. But most of the information is still there: once the means are subtracted, linear attention finds {result:lesson_17/look-up, means subtracted/linear:.0%}. Trained keys needn't be random, so a trained model may do better. Schlag, Irie and Schmidhuber (2021) improve the update itself: the state is changed only by what it doesn't predict yet.
"""

# %% [markdown] kind="instructor"
r"""
**They say:** "The cache stores queries too" (M44). **Answer:** An old query is never needed again.
"""

# %% [markdown] kind="text" contents="how much memory a KV cache needs, and heads that share keys and values"
r"""
## 6 · A smaller KV cache

With softmax attention, the {term:KV cache} of lesson 16 grows with every word. With 32 layers of width 4,096 and 2 bytes per number, a text of 100,000 words needs 2 · 32 · 4,096 · 100,000 · 2 bytes, or 52 GB.

It shrinks if several query heads **share** one key-value head (*KV head*). This is called {term:grouped-query attention} (Ainslie et al., 2023), or {term:multi-query attention} (Shazeer, 2019) if all query heads share a single one. With 8 KV heads for 32 query heads, the cache above needs 13 GB.
"""

# %% [markdown] kind="text" exercise="cache_bytes"
r"""
How many bytes does a cache need? Each KV head is as wide as a query head, `d_model / n_heads`. The first version below has a bug. Fix it.
"""

# %% kind="exercise" exercise="cache_bytes" mode="bug" title="The size of a KV cache" difficulty=2 importance=3 track="stretch"
from lessons.l17_what_it_costs.solutions import cache_bytes

# %% kind="check" exercise="cache_bytes"
check("cache_bytes", cache_bytes)

# %% [markdown] kind="hints" exercise="cache_bytes"
r"""
### Where to start
Call the function with 4 KV heads, then with 2 and with 1. What should happen to the result, and what actually happens?

---
### Step by step
The width of a head depends on the number of **query** heads, which share `d_model` among themselves. With fewer KV heads, each of them stays as wide as before.
"""

# %% kind="library" track="stretch"
words, size_of = torch.randn(1, 100, 64), yours("cache_bytes")
for n_kv_heads in (4, 2, 1):
    block = Block(d_model=64, n_heads=4, n_kv_heads=n_kv_heads, d_ff=256)
    _, cache, _ = block(words, causal=True)
    measured = cache.keys.nbytes + cache.values.nbytes
    assert measured == size_of(100, 1, 64, 4, n_kv_heads, 4)
    print(f"KV heads: {n_kv_heads}, bytes for 100 words: {measured:,}, as computed")

# %% [markdown] kind="text" contents="averaging the key and value heads of a trained translator"
r"""
## 7 · Break it

How does sharing affect quality? In all attention layers of our trained translator's decoder (self-attention and cross-attention), we average the keys of heads 0 and 1 and of heads 2 and 3, then the values, then both. In how many of 200 test sentences does it predict every word correctly, given the words before it?

> **Before you run it:** without a change, {result:lesson_17/averaged heads/nothing:.1%} are correct. What percentage do you expect with averaged keys?
"""

# %% kind="break" name="averaged"
for averaged in ((), ("keys",), ("values",), ("keys", "values")):
    percent = fixed(100 * fraction_correct(averaged), 1)
    print(f"averaged: {' and '.join(averaged) or 'nothing'}; {percent}% correct")

# %% [markdown] kind="text"
r"""
Averaging either keys or values does a lot of damage, and averaging both leaves {result:lesson_17/averaged heads/both:.1%} correct. A plausible reason is that every head has its own projections, so the average of two keys fits neither head's queries. The model has to learn to share. Ainslie et al. start from such averages, train for another 5% of the original steps, and report a quality close to that of separate heads.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on "What does FlashAttention avoid?" On the full track, also vote on the block with 128 words: "about a third" and "nearly all" come from $n^2$ alone.
"""

# %% kind="quiz"
quiz("17", "closing")

# %% [markdown] kind="instructor"
r"""
**Wrap up (2 min).** Go back to the lengths from the opening. Each pair corrects its own: at which length, in which unit (FLOPs, time or memory)?
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| method | FLOPs | what it stores |
|---|---|---|
| attention as we wrote it | $4n^2d$ | $n^2$ attention weights for each head |
| fused attention | $4n^2d$ | $m$, $\ell$ and $o$ for each query |
| linear attention | grow with $n$ | $S$ and $z$, a fixed size | <!-- core -->
| grouped-query attention | $4n^2d$ | a smaller KV cache | <!-- core -->

- By FLOPs, attention costs as much as the rest of its block at $n = 6d$.
- FLOPs leave out the softmax, among other things, so they don't determine the time. <!-- core -->
- The online softmax keeps a maximum and two sums, and rescales the sums when the maximum rises.
- Linear attention with a causal mask is a recurrent network. <!-- core -->

**Still missing.** Counting and timing tell us what a system costs, but not how good it is. Which of our systems is best, and how sure can we be? [Lesson 18](18_the_museum.ipynb) compares them.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani et al., *Attention Is All You Need* (2017), section 4 with table 1. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Dao et al., *FlashAttention* (2022). [arXiv 2205.14135](https://arxiv.org/abs/2205.14135)
- Milakov and Gimelshein, *Online normalizer calculation for softmax* (2018), [arXiv 1805.02867](https://arxiv.org/abs/1805.02867); Rabe and Staats, *Self-attention Does Not Need O(n²) Memory* (2021), [arXiv 2112.05682](https://arxiv.org/abs/2112.05682) <!-- core -->
- Katharopoulos et al., *Transformers are RNNs* (2020), [arXiv 2006.16236](https://arxiv.org/abs/2006.16236); Schlag, Irie and Schmidhuber (2021), [arXiv 2102.11174](https://arxiv.org/abs/2102.11174); Feng et al., *Attention as an RNN* (2024), [arXiv 2405.13956](https://arxiv.org/abs/2405.13956); MiniMax, *MiniMax-01* (2025), [arXiv 2501.08313](https://arxiv.org/abs/2501.08313) <!-- core -->
- Shazeer, *Fast Transformer Decoding* (2019), [arXiv 1911.02150](https://arxiv.org/abs/1911.02150); Ainslie et al., *GQA* (2023), [arXiv 2305.13245](https://arxiv.org/abs/2305.13245) <!-- core -->
"""
