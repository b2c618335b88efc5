# Lesson 08 · the source. Edit this file, then run `python3 -m course_lib build 08`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 08 · Query, key, value

**The question:** how can a network look something up when nothing matches exactly?

About {minutes} minutes. You need the softmax from [lesson 00](00_start_here.ipynb), the training loop from [lesson 01](01_guessing_the_next_word.ipynb) and attention from [lesson 06](06_bahdanau_attention.ipynb).
"""

# %% [markdown] kind="text" track="short"
r"""
Below, a query points into a plane of five keys, and a mixture of five values comes out. Soon you'll point it yourself. Could it get you any dish, almost alone? Can the mixture leave the polygon of the values?
"""

# %% kind="setup"
import math

import torch

from course_lib import views
from course_lib.formatting import fixed
from course_lib.results import runs
from course_lib.teaching import check, explain, predict, quiz, start_lesson, yours
from lessons.l08_query_key_value import SaturationLab, SoftDictionary
from lessons.l08_query_key_value import key_picture, training_curves, word_lines

start_lesson("query_key_value", seed=8)
key_picture.draw()

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **find** queries for a soft lookup, **compute** one by hand, and **say** what an attention weight of 0.9 means;
2. **derive** the divisor $\sqrt{d_k}$, and **compare** three divisors by training with each;
3. **write** scaled dot-product attention for any number of queries and sentences;
4. **predict** what fixed weights and attention do when words move;
5. **explain** when the order of the three divisors holds, and whether queries and keys can share one matrix. <!-- core -->
"""

# %% [markdown] kind="instructor"
r"""
**Open with (2 min)** the picture. "Point at any dish: could a query get you that dish, almost alone?" Take a vote, and don't answer it: section 1 does.

**If time is short,** leave out section 2 and the learning rates after the first training run. Keep the query that is dragged, the derivation, the slice that freezes and the three divisors.
"""

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("08", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · A soft lookup

In a Python dictionary, a key has to match exactly: `menu["something sweet"]` raises an error, even if there is ice cream on the menu. A lookup that either succeeds or fails can't get a little better, so gradient descent can't improve it. Let's make it soft, with three kinds of vectors.

- The **{term:query}** is *what I'm looking for*: "something sweet" is the vector (1, 0).
- The **{term:key}** is *what I contain*: how sweet and how crunchy a dish is.
- The {term:value} is *what I'll tell you*: how many grams of sugar, protein and fat the dish has.

The score of a dish is the dot product of its key and the query, and a softmax turns the scores into attention weights. The result, the context vector, is the sum of the values, weighted by the attention weights. In lesson 06, the decoder's state was the query, and each annotation served as both key and value.

Queries and keys have the same width, {term:d_k}, because they are compared; the values can have another, $d_v$. On our menu, $d_k = 2$ and $d_v = 3$; the picture leaves out protein.

Commit first, then take hold of the blue query and drag it, or move it with the arrow keys.
"""

# %% kind="predict"
predict("08", "any-dish", SoftDictionary())

# %% [markdown] kind="text"
r"""
A dot product isn't a distance: the query doesn't find the *nearest* key but the one that reaches farthest in its direction. A longer query makes the lookup more exact, because the *differences* between scores grow with it. The context vector is an average, so it never leaves the polygon of the values.

Now press *triple cream*: what moves, and what doesn't?
"""

# %% [markdown] kind="instructor"
r"""
**Ask, after the search:** "Which dishes could a query never single out, and how do you see it in the picture?" Expected: those whose key is inside the polygon of the others. Follow-up: "And with 64 dimensions?" There, hardly any key is inside.

**They say:** "A high attention weight means that the word is copied" (M17). **Answer:** Press *triple cream*: the attention weights stay the same, and what comes out changes.
"""

# %% kind="example" name="menu"
dishes = ["ice cream", "apple", "nachos"]  # three of the five, with the same vectors
keys = torch.tensor([[3.0, -2.0], [1.0, 1.0], [-2.0, 3.0]])
query = torch.tensor([1.0, 0.0])

for dish, key in zip(dishes, keys, strict=True):
    print(f"{dish}: score {fixed(query @ key, 0)}")

# %% [markdown] kind="text"
r"""
**By hand, with two dishes.** Suppose that the scores are 0 and 1.1. Then $e^0 = 1$ and $e^{1.1} \approx 3$, and their sum is 4, so the attention weights are ¼ and ¾. If the first dish has 4 g of sugar and the second has 8 g, the lookup returns ¼ · 4 + ¾ · 8 = 7 g.

> **Before you go on:** add 100 to all three scores above. What happens to the attention weights?
"""

# %% [markdown] kind="text" exercise="soft_lookup"
r"""
**Your turn.** Write the whole lookup for one query, with plain dot products as scores. Return the context vector first and the attention weights second. As in lesson 06, your function has to handle very large scores. The picture after it is drawn with *your* function, even while it's wrong.
"""

# %% kind="exercise" exercise="soft_lookup" title="A soft lookup" difficulty=2 importance=5 track="short"
from lessons.l08_query_key_value.solutions import soft_lookup

# %% kind="check" exercise="soft_lookup"
check("soft_lookup", soft_lookup)

# %% [markdown] kind="hints" exercise="soft_lookup"
r"""
### Where to start
There are three steps: scores, attention weights, context vector. A matrix times a vector gives one dot product per row of the matrix.

---
### Shapes
The inner sizes have to match: (n, d_k) @ (d_k,) gives (n,), and (n,) @ (n, d_v) gives (d_v,).

---
### Step by step
1. The scores are the matrix `keys` times the vector `query`.
2. The attention weights are the softmax of the scores. They sum to 1.
3. The context vector is the vector of attention weights times the matrix `values`.
"""

# %% kind="see"
key_picture.draw(look_up=soft_lookup, query=(-1, 3))  # yours: try other queries

# %% kind="quiz"
quiz("08", "first-blend")

# %% [markdown] kind="text"
r"""
If you add 100 to all scores, no attention weight changes. Ice cream's is still $e^{3 - 1} \approx 7.4$ times the apple's: a softmax depends only on the *differences* between scores. In symbols, with a query $q$, keys $k_j$ and values $v_j$,

$$ \alpha_j = \frac{e^{\,q \cdot k_j}}{\sum_l e^{\,q \cdot k_l}}
\qquad\qquad
c = \sum_j \alpha_j \, v_j $$

where the $\alpha_j$ are the attention weights and $c$ is the context vector. The values don't occur in the formula for $\alpha_j$, so triple cream changes the context vector, but no attention weight. A weight of 0.9 says how much of a value is mixed in, not how long that value is, nor what the model does with it.
"""

# %% [markdown] kind="text" contents="why keys and values are separate vectors, and where that helps"
r"""
## 2 · Why keys and values are separate

In lesson 06, each annotation had two jobs: it was compared with the query, and it was averaged. On our menu, that would mean asking for something sweet and getting sweetness and crunch, but no grams.

Could one vector do both jobs? In a small test, a network has to find one of four names and output its label. From each pair of name and label, it computes two vectors, a key and a value, or a single one that has to be both. There are 16 labels, so blind guessing finds 6%.
"""

# %% kind="see" hide_input=true
variants = ("width 2, one matrix", "width 2, two matrices", "width 4, one matrix")
found = {}
for run in runs("key_and_value"):
    if run["variant"] in variants:  # as many matrices as vectors
        name = run["variant"].replace("matrix", "vector").replace("matrices", "vectors")
        found.setdefault(name, []).append(100 * run["right"])
title = "Labels found, in three runs"
views.run_dots(found, title=title, unit="%")

# %% [markdown] kind="text"
r"""
Twice as wide, one vector is nearly enough for both jobs. Separate keys and values don't compete for the same numbers, and each can have its own width. That helps most when what you search by differs from what you want to know, as in key-value {term:memory network|memory networks} (Miller et al., 2016).
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · Why divide by √d_k?

A score is a sum of $d_k$ products. On our menu $d_k$ is 2, in our Transformer it is 16, and in the paper that introduced the Transformer (Vaswani et al., 2017) it is 64. How large do the scores become as the vectors get wider?

Before training, the components of queries and keys are random numbers. Suppose that they are {term:independence|independent} (knowing one of them tells you nothing about the others) and that each has mean 0 and {term:variance} 1. The variance is the mean squared distance from the mean. Its square root, the {term:standard deviation}, is a typical distance from the mean. You need two rules for independent numbers:

1. The mean of a product is the product of the means.
2. The variance of a sum is the sum of the variances.

Derive the standard deviation of a score in four small steps.
"""

# %% [markdown] kind="instructor"
r"""
**At the board (5 min).** Let learners do the four steps alone, then ask two of them to explain steps 2 and 3. The usual mistake is $d_k$ instead of $\sqrt{d_k}$ in the last step: a variance isn't a standard deviation.
"""

# %% kind="quiz"
quiz("08", "variance")

# %% [markdown] kind="formula"
r"""
The four steps in one line, with $E$ for the mean and $q_m$ and $k_m$ for the components of $q$ and $k$:

$$ \operatorname{Var}(q \cdot k) \;=\; \sum_{m=1}^{d_k} \operatorname{Var}(q_m k_m) \;=\; \sum_{m=1}^{d_k} \underbrace{E[q_m^2]}_{1}\,\underbrace{E[k_m^2]}_{1} \;=\; d_k
\qquad\Longrightarrow\qquad \text{standard deviation} = \sqrt{d_k} $$

What does that do to a lookup? The next map is a flat slice through the space of queries, $u \cdot a + v \cdot b$ with two random vectors $a$ and $b$: the darker, the larger the largest attention weight. On the dashed circle, queries have the usual length. The *gradient* says how much the attention weights change if $q \cdot k$ changes slightly; it contains the softmax *and* the division.
"""

# %% [markdown] kind="instructor"
r"""
**They say:** "The scaling prevents overflow" (M06). **Answer:** Set $d_k$ to 512 and the divisor to 1: all attention weights are finite, and away from the edges and the centre, the gradient is almost 0.
"""

# %% kind="predict"
predict("08", "unscaled-max", SaturationLab())

# %% [markdown] kind="text"
r"""
Without a division, the smooth map freezes into hard regions. Inside a region the softmax is {term:saturation|saturated}: one key has everything, and a slightly better query changes nothing. A random query at width 512 has a length of about 23: it's the long query of section 1. Only near the edges and the centre is the gradient alive. Divided by $d_k$, the map is smooth but flat: each key gets about ⅛, and the division shrinks every change. Divided by $\sqrt{d_k}$, the map is as smooth at 512 as at 8.
By the median gradient alone, no division still wins at a width of 64. <!-- core -->

The paper gives this reason with some caution: "We suspect that for large values of $d_k$, the dot products grow large in magnitude, pushing the softmax function into regions where it has extremely small gradients." Overflow isn't the reason: implementations of the softmax subtract the largest score first.
"""

# %% [markdown] kind="formula"
r"""
For many queries at once, this gives the central formula of the paper, {term:scaled dot-product attention}:

$$ \text{Attention}(Q, K, V) = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V $$

The rows of $Q$ are the queries, the rows of $K$ the keys and the rows of $V$ the values.
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** Write the shapes on the board: (…, m, d_k) times (…, d_k, n) gives (…, m, n).

**They say:** "My attention weights have the right shape, but the check fails" (M11). **Answer:** Look at the grids: their rows should sum to 1.
"""

# %% [markdown] kind="text" exercise="scaled_attention"
r"""
**Build the function at the heart of the Transformer.** It's your soft lookup for many queries at once, and many sentences at once: `queries`, `keys` and `values` can have any number of batch axes in front, or none, and these are the same for all three. There is at least one query and one key. You don't need a loop: `@` multiplies the matrices of each sentence separately, and `.mT` transposes each of them, whereas `.T` is only for single matrices. It must also survive very large scores. Afterwards, your function fills the last two grids of the picture.
"""

# %% kind="exercise" exercise="scaled_attention" title="Scaled dot-product attention" difficulty=3 importance=5 track="short" minutes=9 because="it extends the soft lookup of section 1, and a reader needed 48 minutes for what was counted as 55"
from lessons.l08_query_key_value.solutions import scaled_attention

# %% kind="check" exercise="scaled_attention"
check("scaled_attention", scaled_attention)

# %% [markdown] kind="hints" exercise="scaled_attention"
r"""
### Where to start
Write the formula from left to right: `queries @ keys.mT` has the shape (..., m, n), with one score for each query and key.

---
### My rows don't sum to 1
Then the softmax is computed over the wrong axis. Count axes from the end: the last one is `dim=-1`.

---
### Step by step
1. The scores are the queries times the transposed keys: one row per query and one column per key.
2. Divide by the square root of the width of a *key*. The width is the size of the last axis of `keys`, not the number of keys.
3. Apply the softmax to each row, that is, over the last axis.
4. Multiply the attention weights by the values. Return the context vectors and the attention weights.
"""

# %% kind="see"
key_picture.draw("attention", attend=scaled_attention)  # the last two grids are yours

# %% [markdown] kind="text"
r"""
Each score is a row of Q times a column of Kᵀ; each context number, a row of weights times a column of V. Section 4 explains the faded upper half.

**Does the divisor matter for learning?** Here is a small task. There are eight vectors, each with a value, and we ask for one of them after a rotation that the network doesn't know. Two learned matrices turn vectors into queries and keys with $d_k = 512$. The loss is the mean squared error; {term:uniform attention}, which returns the average of all eight values, gets about 7/8. The cell after the next trains nine times before it asks you something: about ten seconds.
"""


# %% kind="code" name="learn_lookup"
def learn_lookup(divisor=512**0.5, rate=0.001, seed=0, shared=False, quarter=False):
    generator = torch.Generator().manual_seed(seed)
    rotation = torch.linalg.qr(torch.randn(32, 32, generator=generator))[0]
    if quarter:  # section 4: a turn by 90 degrees
        a, b = rotation.chunk(2, dim=1)
        rotation = a @ b.T - b @ a.T
    matrices = torch.randn(2, 512, 32, generator=generator) / math.sqrt(32)
    learned = [w.clone().requires_grad_() for w in matrices[: 1 if shared else 2]]
    w_q, w_k = learned[0], learned[-1]
    optimizer = torch.optim.Adam(learned, lr=rate)

    def loss_on(n):  # n new examples; we ask for the first of eight vectors
        x, values = (torch.randn(n, 8, d, generator=generator) for d in (32, 4))
        scores = (x[:, :1] @ rotation.T @ w_q.T) @ (x @ w_k.T).mT / divisor
        return (torch.softmax(scores, dim=-1) @ values - values[:, :1]).square().mean()

    losses = []
    for step in range(101):
        if step % 5 == 0:
            losses.append(loss_on(200).item())
        optimizer.zero_grad()
        loss_on(64).backward()
        optimizer.step()
    return losses


# %% [markdown] kind="instructor"
r"""
**While it trains** (nine runs of 100 steps), ask: "What is the loss at step 0 with each divisor?" Expected: near 7/8 with $d_k$, because the attention is nearly uniform; highest without scaling, because a single key, usually the wrong one, gets nearly all the attention.
"""

# %% kind="predict" hide_input=true ignore_output=true
divisors = {"÷ √d_k": math.sqrt(512), "÷ 1": 1, "÷ d_k": 512}


def race(rate):
    """Three runs with each divisor, at one learning rate."""
    curves = {name: [] for name in divisors}
    for name, divisor in divisors.items():
        for seed in range(3):
            curves[name].append(learn_lookup(divisor, rate, seed))
    return training_curves(curves, title=f"Learning to look up, learning rate {rate}")


predict("08", "three-divisors", race(0.001))

# %% [markdown] kind="text" track="core" contents="at which learning rate another divisor wins, and why"
r"""
All runs used a learning rate of 0.001. **Is the order a law?** Change the rate in the next cell and run it again, up to 0.2. From which rate on does another divisor come *first*? And the explorable's median gradient was smallest for ÷ 1, yet ÷ $d_k$ learns least: why? You need to know one thing about {term:Adam}: it divides each gradient by its recent size.
"""

# %% kind="code" track="core" ignore_output=true
race(rate=0.003)  # change the rate, and run the cell again

# %% kind="explain" track="core"
explain("08", "why-the-order-flips")

# %% [markdown] kind="instructor"
r"""
**They say:** "Q, K and V are three inputs" (M14). **Answer:** They are three projections; point at the three matrices.
"""

# %% [markdown] kind="text" track="short"
r"""
## 4 · Three matrices: W_Q, W_K and W_V

In lesson 06, the query came from the decoder, and the keys and values came from the encoder. In the Transformer, every word of a sentence can play all three roles. Three learned matrices turn its vector $x$, whose width is called {term:d_model}, into a query $W_Q x$, a key $W_K x$ and a value $W_V x$. Such a product is called a {term:projection}. $W_Q$ and $W_K$ have the shape (d_k, d_model), and $W_V$ has the shape (d_v, d_model). In code, `x` has one row per word:
"""

# %% kind="see" name="projections"
x, w_q, w_k, w_v = key_picture.matrices()
q, k, v = x @ w_q.T, x @ w_k.T, x @ w_v.T
assert torch.allclose(q @ k.mT, x @ (w_q.T @ w_k) @ x.mT, atol=1e-5)  # one product
key_picture.draw("projections")

# %% [markdown] kind="text" track="core" contents="one matrix or two: a prediction, a training run, and what sharing costs a translator"
r"""
**One matrix or two?** Why not save one, and use the same matrix for queries and keys? Let's train the toy task with a shared matrix. The rotation is now a quarter turn $R$: turned twice, a vector becomes its opposite, $R(Rx) = -x$.
"""

# %% kind="predict" name="shared" track="core" ignore_output=true
both = {"two matrices": False, "one matrix": True}
trained = {
    name: [learn_lookup(rate=0.003, seed=i, shared=one, quarter=True) for i in range(3)]
    for name, one in both.items()
}
figure = training_curves(trained, title="One matrix or two, learning rate 0.003")
predict("08", "one-or-two", figure)

# %% kind="explain" track="core"
explain("08", "why-not-a-quarter-turn")

# %% [markdown] kind="text" track="core"
r"""
No matrix $W$ gets around this. Train longer, and the loss sinks towards that of uniform attention: the network only unlearns its wild guesses. Set `quarter=False` two cells above, and one matrix does learn part of the lookup.

Here are the words of the grids with both kinds of scores. With one matrix, each number equals its mirror image across the diagonal, and no number on the diagonal is negative, because a word's score for itself is a squared length.
"""

# %% kind="picture" track="core" hide_input=true
key_picture.draw("one matrix")

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (5 min).** "Could we train the single matrix $M = W_Q^\top W_K$ and forget about the two?" Expected: the scores would be the same, $x_i^\top M x_j$, so nothing is lost: it's the *general* score of lesson 07. But $M$ has $d_{\text{model}}^2$ parameters instead of $2 \, d_k \, d_{\text{model}}$, its rank is no longer limited to $d_k$, and there are no narrow keys that could be computed once and kept. *Sharing* one matrix is something else, because it restricts the scores.
"""

# %% [markdown] kind="text" track="core"
r"""
Does a translator need both? We trained our Transformer with a shared matrix, too. The scale starts at 95%.
"""

# %% kind="see" track="core" hide_input=true
systems = {
    "two matrices": ("toy_ladder", "transformer"),
    "one, in 6 of 9 layers": ("shared_query_key", "one in self-attention"),
    "one, in all 9 layers": ("shared_query_key", "one everywhere"),
}
exact = {name: [] for name in systems}
for name, (file, variant) in systems.items():
    for run in runs(file):
        if run["variant"] == variant:
            exact[name].append(100 * run["scores"]["test"]["exact"])
title = "Test sentences translated exactly"
views.run_dots(exact, title=title, unit="%")

# %% [markdown] kind="text" track="core"
r"""
Two matrices are better: sharing more than doubles the number of wrong sentences. Part of that may be due to the smaller number of parameters.
"""

# %% [markdown] kind="text" track="short"
r"""
## 5 · Attention weights depend on the input

Suppose a layer simply learned one weight for each pair of positions. It would compute weighted sums, too. Attention computes its weights from the words; only the matrices that compute them are learned.

In the next cell, two numbers describe whether a word is a noun or a pronoun, and two matrices set by hand make pronouns look for nouns. We copy the attention weights of *it* into a layer with fixed weights, and then move the clause to the front.
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min)** before the figure. Expected: the fixed weights stay at their positions and hit other words; attention follows the words.
"""

# %% kind="predict" name="moved" hide_input=true
attention = yours("scaled_attention")
words = "the cat drank the water because it was cold".split()
moved = "because it was cold the cat drank the water".split()
pronouns_ask, nouns_answer = torch.tensor([[0.0, 3.0]]), torch.tensor([[1.0, 0.0]])


def weights_of_it(words):
    """Attention weights of "it", from two numbers for each word: (noun, pronoun)."""
    features = [(word in ("cat", "water"), word == "it") for word in words]
    described = torch.tensor(features, dtype=torch.float32)
    queries, keys = described @ pronouns_ask.T, described @ nouns_answer.T
    return attention(queries, keys, described)[1][words.index("it")]


rows = {
    "first sentence: attention": (words, weights_of_it(words)),
    "moved: fixed weights": (moved, weights_of_it(words)),
    "moved: attention": (moved, weights_of_it(moved)),
}
predict("08", "moved-clause", word_lines(rows, asks="it"))

# %% [markdown] kind="text"
r"""
The fixed weights stay at the same *positions*, whereas attention finds the same *words*. Which of the two nouns does *it* refer to? Our hand-made vectors can't answer that, so both get the same attention weight. Lesson 09 asks again, with a trained model.
"""

# %% [markdown] kind="text" track="stretch" contents="a test that catches wrong attention functions"
r"""
## 6 · Bugs that raise no error

Suppose that you compute the softmax over the wrong axis. There is no error message, and the shapes are right, because a softmax returns the shape it was given. Bugs in attention are often of this kind, so it's worth writing a test.
"""

# %% [markdown] kind="text" exercise="test_attention"
r"""
You are given someone else's implementation of scaled dot-product attention. Write a function that calls it with inputs of your choice and uses `assert` or `torch.testing.assert_close` to raise an exception if the outputs are wrong. Your test should accept every correct implementation, however it is written, and reject the wrong ones. An implementation may be wrong in a single place, so compare both outputs completely, with several queries and a batch of several sentences. The verdict lists what your test misses.
"""

# %% kind="exercise" exercise="test_attention" mode="test" title="Test an attention function" difficulty=3 importance=3 track="stretch" minutes=10 because="a reader expects 15 minutes for all of the stretch"
from lessons.l08_query_key_value.solutions import test_attention

# %% kind="check" exercise="test_attention"
check("test_attention", test_attention)

# %% [markdown] kind="hints" exercise="test_attention"
r"""
### Where to start
Which property does every correct attention function have? Each row of attention weights sums to 1, for example. Checking this catches a softmax over the wrong axis, but not a wrong divisor. If two sizes are equal, a test can't notice that the wrong one was used, so choose sizes that are all different.

---
### Step by step
Create a batch of random queries, keys and values with sizes such as 2, 3, 5, 16 and 7. Compute the expected attention weights and context vectors step by step, and compare both outputs with `torch.testing.assert_close`.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on "An attention weight of 0.9. What do you know about the output?" Two wrong answers are worth naming: a copy of the word's vector (it's the *value* that counts), and the reason for the prediction (lesson 09 tests that).
"""

# %% kind="quiz"
quiz("08", "closing")

# %% [markdown] kind="instructor"
r"""
**Wrap up (2 min).** Everyone writes the formula of scaled dot-product attention from memory and labels each shape. Then compare with the summary.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | meaning | shape |
|---|---|---|
| query | what a position is looking for | (queries, $d_k$) |
| key | what a position contains | (keys, $d_k$) |
| value | what a position tells others | (keys, $d_v$) |
| attention weights | $\operatorname{softmax}(QK^\top / \sqrt{d_k})$; each row sums to 1 | (queries, keys) |
| context vectors | attention weights times values | (queries, $d_v$) |

- A soft lookup returns an average of all values, weighted by how well their keys match the query. It finds the key that reaches farthest in the query's direction, not the nearest one.
- Before training, the standard deviation of a dot product grows like $\sqrt{d_k}$. Dividing by $\sqrt{d_k}$ makes it 1 at every width.
- Which divisor learns best depends on the learning rate. <!-- core -->
- $W_Q$ and $W_K$ are different matrices: a shared one makes the scores symmetric, so it can't learn to look up by a quarter turn. <!-- core -->
- The matrices are learned; the attention weights are computed from each sentence.

**Still missing.** In section 5, we set the matrices by hand. What do words *learn* to look for in each other? [Lesson 09](09_self_attention.ipynb) takes up this question.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani et al., *Attention Is All You Need* (2017), section 3.2.1, and its footnote 4, which states the result of section 3. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Daniluk et al., *Frustratingly Short Attention Spans in Neural Language Modeling* (2017), section 2: separate keys and values in a language model. [arXiv 1702.04521](https://arxiv.org/abs/1702.04521) <!-- core -->
- Miller et al., *Key-Value Memory Networks for Directly Reading Documents* (2016). [arXiv 1606.03126](https://arxiv.org/abs/1606.03126) <!-- core -->
- Grant Sanderson (3Blue1Brown), *Attention in transformers, step by step*: the same three roles in an animated video.
"""
