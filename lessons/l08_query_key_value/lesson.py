# Lesson 08 · the source. Edit this file, then run `python3 -m course_lib build 08`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 08 · Query, key, value

**The question:** how can a network look something up when nothing matches exactly?

About {minutes} minutes. You need the softmax from [lesson 00](00_start_here.ipynb), the training loop from [lesson 01](01_guessing_the_next_word.ipynb) and attention from [lesson 06](06_bahdanau_attention.ipynb).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **compute** a soft lookup by hand, and **explain** what queries, keys and values are;
2. **derive** the divisor $\sqrt{d_k}$ for the scores, and **compare** three divisors in training;
3. **write** scaled dot-product attention for any number of queries and sentences;
4. **explain** why $W_Q$ and $W_K$ are two different matrices;
5. **explain** how attention differs from a layer with fixed weights.
"""

# %% [markdown] kind="instructor"
r"""
**Open with (2 min)** "Where have you met a lookup that answers even if nothing matches exactly?" Expected: web search, autocorrect, a good waiter. Follow-up: what is the query there, what is the key, and what is the value?

**If time is short,** leave out section 2 and the measurements after the training run. Keep the derivation, the explorable on saturation and the three divisors.
"""

# %% kind="setup"
import math

import torch

from course_lib import views
from course_lib.formatting import fixed
from course_lib.teaching import check, estimate, predict, quiz, start_lesson, yours
from course_lib.text import make_batch
from course_lib.translation import load_shipped
from lessons.l08_query_key_value import SaturationLab, SoftDictionary, WhoAttends
from lessons.l08_query_key_value import key_picture, spreads

start_lesson("query_key_value", seed=8)

# %% [markdown] kind="text"
r"""
Suppose that you'd like something sweet and rather crunchy. This wish is a *query*. Each dish on the menu has a *key*, which says how sweet and how crunchy it is, and a *value*, which says what it contains. Section 1 begins with three of these dishes and simpler keys.
"""

# %% kind="picture" name="key picture" hide_input=true
key_picture.draw()

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

A Python dictionary returns the value that is stored under a key, as in `menu["apple"]`. The key has to match exactly: `menu["something sweet"]` raises an error, even if there is ice cream on the menu. A network can't learn to use such a lookup, because gradient descent makes small improvements, and a lookup that either succeeds or fails can't get a little better.

So let's make the lookup soft, with three kinds of vectors.

- The **{term:query}** is *what I'm looking for*: "something sweet" is the vector (1, 0).
- The **{term:key}** is *what I contain*: how sweet and how crunchy a dish is.
- The {term:value} is *what I'll tell you*: how many grams of sugar, protein and fat the dish has.

| dish | key: (sweet, crunchy) | value: (sugar, protein, fat) |
|---|---|---|
| ice cream | (3, 0) | (28, 5, 14) |
| nachos | (0, 2) | (2, 6, 24) |
| apple | (1, 1) | (19, 0, 0) |

The score of a dish is the dot product of its key and the query, and a softmax turns the scores into attention weights. The result of the lookup is the sum of the values, weighted by the attention weights. As in lesson 06, we call it the context vector. There, the decoder's state was the query, and each annotation served as both key and value.

Queries and keys must have the same width, called {term:d_k}, because they are compared. The width of the values, $d_v$, can be different. On our menu, $d_k = 2$ and $d_v = 3$.
"""

# %% kind="example"
dishes = ["ice cream", "nachos", "apple"]
keys = torch.tensor([[3.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
values = torch.tensor([[28.0, 5.0, 14.0], [2.0, 6.0, 24.0], [19.0, 0.0, 0.0]])
query = torch.tensor([1.0, 0.0])

for dish, key in zip(dishes, keys, strict=True):
    print(f"{dish}: score {fixed(query @ key, 0)}")

# %% [markdown] kind="text"
r"""
**By hand, with two dishes.** Suppose that the scores are 0 and 1.1. Then $e^0 = 1$ and $e^{1.1} \approx 3$, and their sum is 4, so the attention weights are ¼ and ¾. If the first dish has 4 g of sugar and the second has 8 g, the lookup returns ¼ · 4 + ¾ · 8 = 7 g.

> **Before you go on:** the scores of our three dishes are 3, 0 and 1, so ice cream has three quarters of their sum. Will its attention weight be *less* than 75%, *exactly* 75% or *more*?
"""

# %% [markdown] kind="text" exercise="soft_lookup"
r"""
**Your turn.** Write the whole lookup for one query: score every key with a plain dot product, turn the scores into attention weights, and add up the weighted values. Return the context vector first and the attention weights second. There is always at least one key. As in lesson 06, your function has to handle very large scores.
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
look_up = yours("soft_lookup")
context, weights = look_up(query, keys, values)

print("grams of sugar, protein, fat:", fixed(context, 1))
views.bars(weights, labels=dishes, title="Looking for something sweet")

# %% kind="quiz"
quiz("08", "first-blend")

# %% [markdown] kind="text"
r"""
Ice cream gets more than 75%, because $e^3 \approx 20$ is about seven times as large as $e^1 \approx 2.7$. With scores of 0.3, 0 and 0.1, which have the same ratios, it would get only 39%. As lesson 06 showed, a softmax depends on the *differences* between scores; their ratios don't matter.
"""

# %% [markdown] kind="text" track="core" contents="a larger menu to explore, with a prediction"
r"""
Here is the larger menu from the start of this lesson again: the keys on the left, and the values on the right, of which you see sugar and fat. Take hold of the query and drag it, or move it with the arrow keys. You can also change the {term:temperature}, which divides all scores before the softmax, as in lesson 01, and the *value* of one dish: with triple cream, the waffle has three times as much fat. Make a prediction first, then try to reach the three goals. Can the context vector leave the polygon of the values?
"""

# %% [markdown] kind="instructor"
r"""
**They say:** "A high attention weight means that the word is copied" (M17). **Answer:** Halve that word's value: the attention weight stays the same, and the word's contribution is halved.
"""

# %% kind="predict" track="core"
predict("08", "more-cream", SoftDictionary())

# %% [markdown] kind="formula"
r"""
In symbols, the soft lookup with a query $q$, keys $k_j$ and values $v_j$ is

$$ \alpha_j = \frac{e^{\,q \cdot k_j}}{\sum_l e^{\,q \cdot k_l}}
\qquad\qquad
c = \sum_j \alpha_j \, v_j $$

where the $\alpha_j$ are the attention weights and $c$ is the context vector. The values don't occur in the formula for $\alpha_j$, so changing a value changes the context vector, but none of the attention weights.
"""

# %% [markdown] kind="text" contents="why keys and values are separate vectors, and where that helps"
r"""
## 2 · Why keys and values are separate

In lesson 06, each annotation $h_j$ had two jobs: it was compared with the query, and it was also part of the weighted sum. Why not leave it at that? On our menu, we would search for something sweet and get back an average of sweetness and crunch, but nothing about sugar or fat.

Couldn't a single vector do both jobs, if it is wide enough? Here is a test. Each of four stored vectors represents a name with a random label; there are 16 names and 16 labels. The query is one of the four names, and the network has to output its label. A learned matrix computes the keys from the stored vectors. In one version the keys also serve as values; in the other, a second matrix computes the values. The table shows the accuracy, as a range where the three runs differ:

| width of keys and values | one matrix | two matrices |
|---|---|---|
| 2 | {result:min key_and_value/width 2, one matrix/right:.0p} to {result:max key_and_value/width 2, one matrix/right:.0%} | {result:min key_and_value/width 2, two matrices/right:.0%} |
| 4 | {result:min key_and_value/width 4, one matrix/right:.0p} to {result:max key_and_value/width 4, one matrix/right:.0%} | {result:min key_and_value/width 4, two matrices/right:.0%} |
| 8 | {result:min key_and_value/width 8, one matrix/right:.0%} | {result:min key_and_value/width 8, two matrices/right:.0%} |

At width 2, one vector isn't enough for both jobs. One matrix of width 4, which computes as many numbers as two of width 2, gets at least {result:min key_and_value/width 4, one matrix/right:.0%} right, so wider vectors are an alternative. With separate keys and values, the two jobs don't compete for the same numbers, and each can have its own width.

Daniluk et al. (2017) separated keys and values in a language model with attention and reported lower perplexities. On our toy French it was the other way round: the test perplexity was {result:min toy_language_models/attention_lm/scores/test/perplexity:.1f} to {result:max toy_language_models/attention_lm/scores/test/perplexity:.1f} with plain attention, and {result:max toy_language_models/key_value_lm/scores/test/perplexity:.1f} with separate keys and values (three runs each, about 120,000 parameters, {term:hyperparameter|hyperparameters} not tuned). One possible reason is that the LSTM's output is split into a key and a value, so each of them is narrower than with plain attention. Perhaps our sentences don't need attention at all, because they are short: an LSTM of the same size reached {result:toy_language_models/lstm_lm/scores/test/perplexity:.1f} without it, in all three runs. Separate keys and values are most useful when what you search by differs from what you want to know. Key-value {term:memory network|memory networks} (Miller et al., 2016), for example, answer questions about documents and use different encodings for finding a stored text and for reading from it.
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
Here are the four steps in one line, with $E$ for the mean and $q_m$ and $k_m$ for the components of $q$ and $k$:

$$ \operatorname{Var}(q \cdot k) \;=\; \sum_{m=1}^{d_k} \operatorname{Var}(q_m k_m) \;=\; \sum_{m=1}^{d_k} \underbrace{E[q_m^2]}_{1}\,\underbrace{E[k_m^2]}_{1} \;=\; d_k
\qquad\Longrightarrow\qquad \text{standard deviation} = \sqrt{d_k} $$

So the wider the vectors, the further apart the scores. Two scores that differ by 1 give attention weights of 73% and 27%. What happens at $d_k = 512$? The figure also shows a *gradient*: how much the attention weights change if $q \cdot k$ changes slightly. It contains the softmax *and* the division.
"""

# %% [markdown] kind="instructor"
r"""
**They say:** "The scaling prevents overflow" (M06). **Answer:** Set $d_k$ to 512 and the divisor to 1 in the explorable: all attention weights are finite, and the gradient is almost 0.
"""

# %% kind="predict"
predict("08", "unscaled-max", SaturationLab())

# %% [markdown] kind="text"
r"""
Compare the three divisors at $d_k = 512$, and try to reach the goals. If you divide by $d_k$, all scores are close to 0, and each of the eight attention weights is about ⅛. A change of $q \cdot k$ hardly changes that, because the change is divided, too. If you divide by $\sqrt{d_k}$, the scores have a standard deviation of 1 at every width. For narrow vectors the division isn't needed: from which width on is the gradient larger with it than without?

Without scaling, one key usually gets nearly all the attention. Why is that a problem before training? The softmax is {term:saturation|saturated}: its gradient is almost 0. With scores of 0 and 20, for example, increasing the first score by 0.1 changes its attention weight by less than a billionth. For most examples the gradient of the loss is then almost 0 too, and a few examples dominate the batch. The paper gives small gradients as its reason, with some caution: "We suspect that for large values of $d_k$, the dot products grow large in magnitude, pushing the softmax function into regions where it has extremely small gradients."

You may read elsewhere that the division prevents an overflow in $e^{\text{score}}$. It isn't needed for that: implementations of the softmax subtract the largest score first, which doesn't change the result.
"""

# %% [markdown] kind="formula"
r"""
For many queries at once, this gives the central formula of the paper, {term:scaled dot-product attention}:

$$ \text{Attention}(Q, K, V) = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V $$

The rows of $Q$ are the queries, the rows of $K$ the keys and the rows of $V$ the values. The softmax is applied to each row of scores, so the attention weights of each query sum to 1. Here is an example with all its numbers. Section 4 explains the faded upper half, where Q, K and V come from.
"""

# %% kind="picture" hide_input=true
key_picture.draw("attention")

# %% [markdown] kind="instructor"
r"""
**Stuck?** Write the shapes on the board: (…, m, d_k) times (…, d_k, n) gives (…, m, n).

**They say:** "My attention weights have the right shape, but the check fails" (M11). **Answer:** Sum the rows.
"""

# %% [markdown] kind="text" exercise="scaled_attention"
r"""
**Build the function at the heart of the Transformer.** It processes many queries at once, and many sentences at once: `queries`, `keys` and `values` can have any number of batch axes in front, or none, and these are the same for all three. There is at least one query and one key. You don't need a loop: `@` multiplies the matrices of each sentence separately, and `.mT` transposes each of them, whereas `.T` is only for single matrices. As before, very large scores must not cause an overflow.
"""

# %% kind="exercise" exercise="scaled_attention" title="Scaled dot-product attention" difficulty=3 importance=5 track="short"
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

# %% [markdown] kind="text"
r"""
**Does the divisor matter for learning?** Let's try it on a small task. There are eight vectors, each with a value. We ask for one of them, but in a different form: multiplied by a rotation matrix that the network doesn't know. Two learned matrices, `w_q` and `w_k`, turn the vectors into queries and keys with $d_k = 512$, and attention should return the value we asked for.

We train the network three times for 100 steps. Only the divisor differs; the initial parameters and the data are the same each time. The loss is the mean squared error on 1,000 new examples. With {term:uniform attention}, which returns the average of all eight values, it would be about 7/8.
"""

# %% kind="code" name="learn_lookup"
def learn_lookup(divisor, d_k=512, d_model=32, rate=0.001, seed=0):
    generator = torch.Generator().manual_seed(seed)
    rotation = torch.linalg.qr(torch.randn(d_model, d_model, generator=generator))[0]
    w_q, w_k = torch.randn(2, d_k, d_model, generator=generator) / d_model**0.5
    optimizer = torch.optim.Adam([w_q.requires_grad_(), w_k.requires_grad_()], lr=rate)

    def loss_on(n):  # n new examples; we ask for the first of eight keys
        x = torch.randn(n, 8, d_model, generator=generator)
        values = torch.randn(n, 8, 4, generator=generator)
        scores = (x[:, :1] @ rotation.T @ w_q.T) @ (x @ w_k.T).mT / divisor
        return (torch.softmax(scores, dim=-1) @ values - values[:, :1]).square().mean()

    losses = []
    for step in range(101):
        if step % 5 == 0:
            losses.append(loss_on(1000).item())
        optimizer.zero_grad()
        loss_on(64).backward()
        optimizer.step()
    return losses

# %% [markdown] kind="instructor"
r"""
**While it trains** (three runs of 100 steps), ask: "What is the loss at step 0 with each divisor?" Expected: near 7/8 with $d_k$, because the attention is nearly uniform; highest without scaling, because a single key, usually the wrong one, gets nearly all the attention.
"""

# %% kind="predict" hide_input=true ignore_output=true
divisors = {"÷ √d_k": math.sqrt(512), "÷ 1": 1, "÷ d_k": 512}
curves = {name: learn_lookup(divisor) for name, divisor in divisors.items()}
assert min(losses[-1] for losses in curves.values()) < 0.1, "Nothing was learned."
figure = views.lines(
    range(0, 101, 5), curves, x_name="training step", y_name="loss", log_y=True,
    title="Learning to look up: d_k = 512, learning rate 0.001",
)
predict("08", "three-divisors", figure)

# %% [markdown] kind="text"
r"""
The order was the same with all three random seeds we tried: the mean loss of the last ten steps was {result:min divisor/d_k 512, divided by root/end/0.001:.3f} to {result:max divisor/d_k 512, divided by root/end/0.001:.3f} with $\sqrt{d_k}$, {result:min divisor/d_k 512, divided by 1/end/0.001:.2f} to {result:max divisor/d_k 512, divided by 1/end/0.001:.2f} without scaling, and {result:min divisor/d_k 512, divided by d_k/end/0.001:.2f} to {result:max divisor/d_k 512, divided by d_k/end/0.001:.2f} with $d_k$. Without scaling, the network starts with the highest loss, because it attends almost entirely to a single key, which is usually the wrong one. The result depends on the learning rate, however: at much larger rates, dividing by $d_k$ works best.
"""

# %% [markdown] kind="text" track="core" contents="other learning rates, a measurement of the gradients, and the scores of a trained Transformer"
r"""
**Other learning rates.** With a larger divisor, each training step changes the scores less, which a larger learning rate can make up for. We tried six rates, from 0.001 to 0.2, at $d_k = 64$ and $d_k = 512$. No scaling is never better than $\sqrt{d_k}$. Up to a rate of 0.02, $\sqrt{d_k}$ is better than $d_k$ in every run; at 0.07 and 0.2 it's the other way round. With $d_k = 512$ and a rate of 0.07, the loss was {result:divisor/d_k 512, divided by d_k/end/0.07:.4f}, compared with {result:divisor/d_k 512, divided by root/end/0.07:.3f} for $\sqrt{d_k}$. With every divisor, there is a rate at which the network learns the task, so $\sqrt{d_k}$ is a good default rather than a law.

<details><summary>Are the gradients small?</summary>

The paper only suspects small gradients, so we measured the gradient of `w_q` for each of 2,048 examples before the first step, with three random seeds. The median norm is {result:lesson_08/gradients/1/median:.3f} without scaling and {result:lesson_08/gradients/root/median:.1f} with $\sqrt{d_k}$. So without scaling, the gradient is indeed extremely small for most examples. The mean norm, however, is *larger* without scaling, {result:lesson_08/gradients/1/mean:.1f} compared with {result:lesson_08/gradients/root/mean:.1f}, because a tenth of the examples contribute {result:lesson_08/gradients/1/of the largest tenth:.0%} of the total. The gradient of a batch is therefore not small but noisy: over batches of 64, its standard deviation is {result:lesson_08/gradients/1/noise:.1f} times the norm of the mean gradient, compared with {result:lesson_08/gradients/root/noise:.1f} times with $\sqrt{d_k}$. This is our own finding, on one small task.
</details>

**After training.** The division controls the scores only at the *start*. The Transformer from lesson 00 divides by $\sqrt{16}$, and before training, its scores have a standard deviation of somewhat less than 1. Estimate the standard deviation after training, for the attention from French words to English words. The model computes this attention in 12 *heads*, each with its own matrices; lesson 12 explains them.
"""

# %% kind="estimate" track="core"
transformer = load_shipped("transformer")
encode = transformer.tokenizer.encode
english = encode("the cat drank the water because it was thirsty")
french = encode("le chat a bu l' eau parce qu' il avait soif")


def mean_spread():
    """The mean standard deviation of the scores, French to English, over 12 heads."""
    spread = spreads(transformer.model, [make_batch([english], [french])])
    return torch.tensor(spread["cross"]).mean().item()


estimate("08", "trained-spread", mean_spread)

# %% [markdown] kind="instructor"
r"""
**They say:** "Q, K and V are three inputs" (M14). **Answer:** They are three projections; point at the three matrices.
"""

# %% [markdown] kind="text" track="short"
r"""
## 4 · Three matrices: W_Q, W_K and W_V

In lesson 06, the query came from the decoder, and the keys and values came from the encoder. In the Transformer, every word of a sentence can play all three roles. Three learned matrices turn its vector $x$, whose width is called {term:d_model}, into a query $W_Q x$, a key $W_K x$ and a value $W_V x$. Such a product is called a {term:projection}. $W_Q$ and $W_K$ have the shape (d_k, d_model), and $W_V$ has the shape (d_v, d_model). In code, `x` has one row per word, so the queries are `x @ w_q.T`.
"""

# %% kind="picture" hide_input=true
key_picture.draw("projections")

# %% [markdown] kind="text"
r"""
Why do queries and keys need two matrices? With one matrix $W$ for both, the score of word $i$ for word $j$ would be $(W x_i) \cdot (W x_j)$. This doesn't change if you swap $i$ and $j$, so the scores would be symmetric. But what a word looks for is usually not what it contains: a pronoun looks for a noun, while the noun doesn't have to look for the pronoun. In the next cell, two numbers describe whether a word is a noun or a pronoun, and we set the matrices by hand so that pronouns look for nouns.
"""

# %% kind="example" name="hand_made"
words = "the cat drank the water because it was cold".split()


def describe(words):
    """(noun, pronoun) for each word."""
    features = [(word in ("cat", "water"), word == "it") for word in words]
    return torch.tensor(features, dtype=torch.float32)


x = describe(words)
w_q = torch.tensor([[0.0, 3.0]])  # only pronouns have a query other than 0
w_k = torch.tensor([[1.0, 0.0]])  # only nouns have a key other than 0
scores = (x @ w_q.T) @ (x @ w_k.T).T  # d_k = 1, so there is nothing to scale

it, cat = words.index("it"), words.index("cat")
print("score of 'it' for 'cat':", fixed(scores[it, cat], 1))
print("score of 'cat' for 'it':", fixed(scores[cat, it], 1))

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (5 min).** "Could we train the single matrix $M = W_Q^\top W_K$ and forget about the two?" Expected: the scores would be the same, $x_i^\top M x_j$, so nothing is lost. But $M$ has $d_{\text{model}}^2$ parameters instead of $2 \, d_k \, d_{\text{model}}$, its rank is no longer limited to $d_k$, and there are no narrow keys that could be computed once and kept. Follow-up: what does that mean when a sentence is generated word by word?
"""

# %% [markdown] kind="text" track="core" contents="one full matrix instead of two, and random words with a shared matrix"
r"""
With a shared matrix, these two scores would have to be equal. And a word's score for itself, $(W x_i) \cdot (W x_i)$, would be a squared length, so it could never be negative.

In a score, only the product of the two matrices matters: $q \cdot k = x_i^\top W_Q^\top W_K \, x_j$. So *one full matrix* $M = W_Q^\top W_K$ could compute the same scores; this is the bilinear (*general*) score from lesson 07. If $d_k$ is less than half of d_model, the two matrices have fewer parameters than $M$. *Sharing* one matrix between queries and keys is something else, because it restricts the scores.

Does that hurt after training? We trained our Transformer with a shared matrix in six of its nine attention layers or in all nine, three runs each. The best run translates {result:max shared_query_key/one in self-attention/scores/test/exact:.1%} of the test sentences exactly; with two matrices, the worst of three translates {result:min toy_ladder/transformer/scores/test/exact:.1%}. So sharing costs something, though not much, and part of it may be due to the smaller number of parameters.
"""

# %% [markdown] kind="text" track="stretch"
r"""
**If you have time**, look at random words and random matrices, as before training. Besides making the scores symmetric, a shared matrix then has another effect. Make a prediction, then point at scores to find their mirror images, and try to reach the two goals. The dots show the trained runs.
"""

# %% kind="predict" track="stretch"
predict("08", "one-matrix", WhoAttends())

# %% [markdown] kind="text" track="short"
r"""
## 5 · Attention weights depend on the input

A layer that learns one weight for each pair of positions also computes weighted sums. But its weights are parameters, so they are the same for every sentence: position 7 always gives the same weight to position 2, whichever word is there. Attention weights, in contrast, are computed from the words of each sentence. Only the matrices that compute them are learned.

To see the difference, we copy the attention weights of *it* into a layer with fixed weights, and then move the clause with *it* to the front of the sentence.
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min)** before the figure. "A layer with fixed weights and an attention layer give *it* the same weights in one sentence. Now the clause moves to the front. What does each layer do?" Expected: the fixed weights stay at their positions and hit other words; attention follows the words.
"""

# %% kind="see"
attention = yours("scaled_attention")


def weights_of_it(words):
    """The attention weights of "it", with the matrices from section 4."""
    x = describe(words)
    _, weights = attention(x @ w_q.T, x @ w_k.T, x)
    return weights[words.index("it")]


moved = "because it was cold the cat drank the water".split()
fixed_weights = weights_of_it(words)  # copied from the first sentence
views.word_rows(
    [fixed_weights, fixed_weights, weights_of_it(moved)],
    words=[words, moved, moved], marked=["it", "it", "it"],
    title="Weights of 'it': first sentence; moved, fixed weights; moved, attention",
)

# %% [markdown] kind="text"
r"""
The fixed weights stay at the same *positions*, whereas attention finds the same *words*. Which of the two nouns does *it* refer to, the cat or the water? Our hand-made vectors can't answer that, so both nouns get the same attention weight. Lesson 09 asks the question again, with a trained model.
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

- A soft lookup returns an average of all values, weighted by how well their keys match the query.
- Before training, the standard deviation of a dot product grows like $\sqrt{d_k}$. Dividing by $\sqrt{d_k}$ makes it 1 at every width.
- How much the divisor matters depends on the learning rate. <!-- core -->
- $W_Q$ and $W_K$ are different matrices, because a shared one would make the scores symmetric.
- The matrices are learned; the attention weights are computed from each sentence.

**Still missing.** We set the matrices by hand. What do words *learn* to look for in each other? [Lesson 09](09_self_attention.ipynb) takes up this question.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani et al., *Attention Is All You Need* (2017), section 3.2.1, and its footnote 4, which contains the derivation from section 3. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Daniluk et al., *Frustratingly Short Attention Spans in Neural Language Modeling* (2017), section 2. [arXiv 1702.04521](https://arxiv.org/abs/1702.04521) <!-- core -->
- Miller et al., *Key-Value Memory Networks for Directly Reading Documents* (2016). [arXiv 1606.03126](https://arxiv.org/abs/1606.03126) <!-- core -->
- Grant Sanderson (3Blue1Brown), *Attention in transformers, step by step*: the same three roles in an animated video.
"""
