# Lesson 08 · the source. Edit this file, then run `python3 -m course_lib build 08`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 08 · Query, key, value

**The question:** how can a network look something up when nothing matches exactly?

About {minutes} minutes. You need the softmax from [lesson 00](00_start_here.ipynb) and the score functions from [lesson 07](07_score_functions.ipynb).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **compute** a soft look-up by hand, and **write** it;
2. **say** what the query, the key and the value each decide;
3. **derive** why scores are divided by $\sqrt{d_k}$, and **measure** when it matters;
4. **write a test** that catches the usual wrong attentions; <!-- core -->
5. **explain** why $W_Q$ and $W_K$ are two matrices.
"""

# %% kind="setup"
import math

import torch

from course_lib import views
from course_lib.formatting import fixed, significant
from course_lib.results import mean_over_seeds
from course_lib.teaching import check, estimate, explain, predict, quiz, start_lesson
from course_lib.teaching import yours
from course_lib.text import make_batch
from course_lib.translation import load_shipped
from lessons.l08_query_key_value import SaturationLab, SoftDictionary, WhoAttends
from lessons.l08_query_key_value import spreads

start_lesson("query_key_value", seed=8)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("08", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · A dictionary that always answers

A Python dictionary hands you what is stored under a key: `menu["soup"]`. The key must match to the letter. Two things make this useless inside a network.

- **Almost right counts as wrong.** `menu["something warm"]` is an error, though soup is on the menu.
- **Nothing can be learned from it.** The answer is there or it is not. A network learns by small steps, so it needs *a little better* and *a little worse*.

So we describe everything in numbers.

| dish | key: (warm, sweet) | value: (salt, sugar, fat) in grams |
|---|---|---|
| soup | (3, 0) | (3, 0, 1) |
| cake | (0, 2) | (0, 9, 5) |
| tea | (1, 1) | (0, 2, 0) |

The {term:query} is what we're looking for: "something warm, please" is (1, 0). The {term:key} is what a dish can be found by, and the {term:value} is what it hands out, which needn't be what was searched. The score of a dish is the dot product of the query and its key (the {term:dot score} of lesson 07), and a softmax turns the scores into weights.
"""

# %% kind="example"
dishes = ["soup", "cake", "tea"]
keys = torch.tensor([[3.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
values = torch.tensor([[3.0, 0.0, 1.0], [0.0, 9.0, 5.0], [0.0, 2.0, 0.0]])
query = torch.tensor([1.0, 0.0])

for dish, key in zip(dishes, keys, strict=True):
    print(f"{dish}: score {fixed(query @ key, 0)}")

# %% [markdown] kind="text"
r"""
**By hand, with two dishes.** Scores 0 and 1.1. Then $e^0 = 1$ and $e^{1.1} \approx 3$, together 4. The weights are ¼ and ¾. If the first dish has 4 g of sugar and the second 8 g, the plate has ¼ · 4 + ¾ · 8 = 7 g. No dish has 7 g: it is a **blend**, the context of lesson 06.

> **Before you go on.** Our scores are 3, 0 and 1. Soup has three quarters of their sum. Will its weight be *less* than 75%, *just* that, or *more*?
"""

# %% [markdown] kind="text" exercise="soft_lookup"
r"""
Write the whole look-up for one query, just as it was done by hand: score every key, turn the scores into weights, blend the values. `torch.softmax` also handles large scores; if you write the softmax yourself, make sure that yours does too.

The lesson then goes on with **your** function where it passed its check, and says so; else with the library's.
"""

# %% kind="exercise" exercise="soft_lookup" title="Your own soft look-up" difficulty=2 importance=5 track="short"
def soft_lookup(query, keys, values):
    """query (d_k,), keys (n, d_k), values (n, d_v)

    ->  context (d_v,), weights (n,)
    """
    # solution
    weights = torch.softmax(keys @ query, dim=-1)
    return weights @ values, weights
    # end solution

# %% kind="check" exercise="soft_lookup"
check("soft_lookup", soft_lookup)

# %% [markdown] kind="hints" exercise="soft_lookup"
r"""
### A nudge
Three steps: scores, weights, context. A matrix times a vector gives one dot product for each row of the matrix.

---
### Step by step
1. scores: the matrix `keys` times the vector `query`.
2. weights: the softmax of the scores. They sum to 1.
3. context: the vector of weights times the matrix `values`.

Return both, the context first.

---
### "mat1 and mat2 shapes cannot be multiplied"
The inner sizes must meet: (n, d_k) @ (d_k,) gives (n,), and (n,) @ (n, d_v) gives (d_v,).
"""

# %% kind="see"
look_up = yours("soft_lookup")
context, weights = look_up(query, keys, values)

print("plate:", fixed(context, 1), "g of salt, sugar, fat")
views.bars(weights, labels=dishes, title="'Something warm': shares of the plate")

# %% kind="quiz"
quiz("08", "first-blend")

# %% [markdown] kind="text"
r"""
Soup got more than 75%, since $e^3 \approx 20$ is seven times tea's $e^1 \approx 2.7$. With scores of 0.3, 0 and 0.1, the same proportions, it would get 39%: a softmax looks at differences, not at proportions.

Now a larger cafeteria. You can turn the {term:temperature}, by which all scores are divided before the softmax (hot shares, cold picks: the temperature of lesson 01), and change one dish, the waffle: its label (*crunch*) or its contents (*cream*). First commit to a guess. Then try the three goals.
"""

# %% kind="predict"
predict("08", "more-cream", SoftDictionary())

# %% [markdown] kind="formula"
r"""
The look-up as a formula:

$$ \text{weights}_j = \frac{e^{\,q \cdot k_j}}{\sum_i e^{\,q \cdot k_i}}
\qquad\qquad
\text{context} = \sum_j \text{weights}_j \; v_j $$

| symbol | name in code | shape | here |
|---|---|---|---|
| $q$ | `query` | ($d_k$) | 2 |
| $k_j$ | `keys[j]` | (keys, $d_k$) for all | 3 × 2 |
| $v_j$ | `values[j]` | (keys, $d_v$) for all | 3 × 3 |
| $\text{weights}_j$ | `weights[j]` | (keys) | 3, sum to 1 |

Query and keys must share their width $d_k$, because they are compared. Values may have any width $d_v$. ($v_j$ is a value. The $v$ of lessons 06 and 07, which judged a fit, is not meant.) No $v_j$ stands in the formula for the weights: within one look-up no value can move a weight.
"""

# %% kind="diagram" hide_input=true
PARTS = {
    "query": (0, 0), "keys": (0, 1), "values": (0, 2),
    "scores": (1, 0.5), "softmax": (2, 0.5), "weights": (3, 0.5),
    "blend": (4, 1), "context": (5, 1),
}
ARROWS = [
    ("query", "scores"), ("keys", "scores"), ("scores", "softmax"),
    ("softmax", "weights"), ("weights", "blend"), ("values", "blend"),
    ("blend", "context"),
]
views.diagram(PARTS, ARROWS, lit=("query", "keys", "values"), title="One look-up")

# %% [markdown] kind="instructor"
r"""
**Ask the room (2 min).** "Where have you met a look-up that answers even when nothing matches?" Expected: web search,
autocorrect, a helpful librarian. Follow-up: which part is the query, which the key, which the value?
"""

# %% [markdown] kind="text" contents="why keys and values are separate, tested with one matrix and with two"
r"""
## 2 · Why the key and the value part ways

Think of a video search. You type a few words: the query. They are compared with titles: the keys. A film plays: the
value. Nobody compares your words with the film, picture by picture. And nobody wants the title handed back.

In lesson 06 $U h_j$ was searched and $h_j$ handed out: half a split. In Luong's dot score both are $h_j$. What if one vector must do both jobs? With our menu you would be served the label: so much of *warm*, so much of *sweet*, and no salt at all.

So here is a test with room for both, run beforehand. Four pairs are stored, each of a name and a content; there are 16 names and 16 contents. A name is asked for, its content is wanted. A tiny network has to learn the whole look-up. It makes keys by multiplying each pair's vector with a learned matrix. In one version these keys are also what is handed
out; in the other a second matrix makes values. The made vectors are 2 to 32 numbers wide; three trainings each. (Guessing blindly is right one time in 16, guessing among the four contents one time in four.)
"""

# %% kind="predict"
accuracy = mean_over_seeds("key_and_value", lambda run: 100 * run["right"])
widths = (2, 4, 8, 16, 32)
curves = {
    name: [accuracy[f"width {width}, {name}"] for width in widths]
    for name in ("one matrix", "two matrices")
}
figure = views.lines(
    widths, curves, x_name="width of a vector", y_name="right answers, %",
    title="One matrix for key and value, or two",
)
predict("08", "one-or-two", figure)

# %% [markdown] kind="text"
r"""
With two numbers there is no room for both jobs: a label that is easy to tell apart from the others, and a content that says which of 16 it is. ({result:key_and_value/width 2, one matrix/right:.0%} is below choosing among the four: it does not even find the pair.) But count the numbers: two matrices of width 2 store four numbers for each pair, and one matrix of width 4 does nearly as well. What the split buys is that finding and handing out cannot get in each
other's way, and that each may have its own width.

Does it help larger models? Daniluk and others (2017) tried it in language models. They report gains from each split, and two surprises: their models hardly looked back more than five words, and a plain network that just joins its last few states kept up. Ours say something else again. With equal parameters and one untuned recipe, the LSTM of lesson 03 has a perplexity of {result:toy_language_models/lstm_lm/scores/test/perplexity:.1f} on our toy French; with attention {result:toy_language_models/attention_lm/scores/test/perplexity:.1f}, with key and value split {result:toy_language_models/key_value_lm/scores/test/perplexity:.1f}. On such short sentences looking back buys nothing, and the split buys less. So it is no law.
"""

# %% kind="quiz"
quiz("08", "keys-and-values")

# %% [markdown] kind="text" track="short"
r"""
## 3 · Why the square root of d_k

When one score is far ahead of the others, the softmax gives that key nearly all the weight, and a small change in a score hardly moves the weights. Can scores be that far apart before anything is learned? That depends on $d_k$, the width of a key: 2 in our menu, 16 in our Transformer, 64 in the paper of 2017.

Before training, the numbers in a query and a key are random and {term:independent}: knowing one tells nothing about another. Say each has mean 0 and {term:variance} 1. (The variance is the mean squared distance from the mean. Its root, the {term:standard deviation}, is a typical distance from the mean. Two rules: for independent numbers the mean of a product is the product of the means, and the variance of a sum is the sum of the variances.) Derive what happens to a score, in four small steps.
"""

# %% kind="quiz"
quiz("08", "variance")

# %% [markdown] kind="formula"
r"""
$$ \operatorname{Var}(q \cdot k) \;=\; \sum_{i=1}^{d_k} \operatorname{Var}(q_i k_i) \;=\; \sum_{i=1}^{d_k} \underbrace{E[q_i^2]}_{1}\,\underbrace{E[k_i^2]}_{1} \;=\; d_k
\qquad\Longrightarrow\qquad \text{standard deviation} = \sqrt{d_k} $$

($E$ is the mean.) So what? A softmax looks at *differences* between scores. A difference of 1 shares gently, 73 to 27; a large one hardly shares at all. Guess how it is at $d_k = 512$. The picture also shows the softmax's *gradient*: how much its weights change when a score changes a little.
"""

# %% kind="predict"
predict("08", "unscaled-max", SaturationLab())

# %% [markdown] kind="text"
r"""
Try the three divisors at 512, and the goals. (A divisor is a temperature, only a fixed one.) Dividing by 1: one key takes nearly all. Dividing by $d_k$: every score is close to 0, so everybody gets an eighth. Dividing by $\sqrt{d_k}$: nearly the same picture at every width.

Why is "one takes all" a bad start? Learning needs to know what a small change would do. Nudge one score by 0.1, and print what moves:
"""

# %% kind="example"
for gap in (0.0, 2.0, 8.0, 20.0):
    before = torch.softmax(torch.tensor([0.0, gap]), dim=-1)
    after = torch.softmax(torch.tensor([0.1, gap]), dim=-1)
    moved = significant(after[0] - before[0], 2)
    print(f"scores 0 and {gap:>4}: the first weight moves by {moved}")

# %% [markdown] kind="text"
r"""
At a gap of 20 a nudge moves the weight by less than a billionth. Where the slope is nearly 0, that query is sure of itself and hardly learns from its mistakes, while a few that happen to be near a tie pull violently: the first steps are noisy rather than small. That is the reason the 2017 paper gives ("we suspect", it says). Dividing by $d_k$ errs the other way: the softmax has its slope, but every step of training moves the scores so little that it takes long before any key stands out. This is about the
**start**. The divisor also acts later: it decides how far one step of training moves a score, so how much it matters also depends on the learning rate.

It is *not* about overflow, as one often reads. The softmax subtracts the largest score first, so even these are no trouble. (In half precision a score itself can become infinite before that; there one divides the queries first.)
"""

# %% kind="example"
huge = torch.tensor([10000.0, 9999.0, 0.0])
print("scores of 10,000:", fixed(torch.softmax(huge, dim=-1)))

# %% [markdown] kind="formula"
r"""
Put it together, for many queries at once, and you have the formula of the 2017 paper, {term:scaled dot-product attention}:

$$ \text{Attention}(Q, K, V) = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V $$

$Q$ holds a query in each row, $K$ a key, $V$ a value. The softmax runs along each row: every query shares out its own attention.
"""

# %% kind="diagram" hide_input=true
WIDER = {name: (column + (column > 1), row) for name, (column, row) in PARTS.items()}
SCALED = [arrow for arrow in ARROWS if arrow != ("scores", "softmax")]
SCALED += [("scores", "÷ √d_k"), ("÷ √d_k", "softmax")]
views.diagram(
    {**WIDER, "÷ √d_k": (2, 0.5)}, SCALED, lit="÷ √d_k",
    title="Scaled dot-product attention",
)

# %% [markdown] kind="text" exercise="scaled_attention"
r"""
**Build it: the function at the heart of the Transformer.** Many queries at once, and many *sentences* at once: `queries`, `keys` and `values` may have axes in front, such as one for a batch of sentences, and your function should work with any number of them. (`.T` is for single matrices; `.mT` swaps the last two axes of anything.) Don't use loops, and make sure that large scores don't overflow. You will use it again in lessons 09, 12 and 14.

Work it out in small steps, each tried in a cell of its own: scores for one query, for many, for a batch; then the divisor; then the softmax along the right axis; then the blend.
"""

# %% kind="exercise" exercise="scaled_attention" title="Scaled dot-product attention" difficulty=3 importance=5 track="short"
def scaled_attention(queries, keys, values):
    """queries (..., m, d_k), keys (..., n, d_k), values (..., n, d_v)

    ->  context (..., m, d_v), weights (..., m, n)
    """
    # solution
    d_k = keys.shape[-1]
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(d_k)
    weights = torch.softmax(scores, dim=-1)
    return weights @ values, weights
    # end solution

# %% kind="check" exercise="scaled_attention"
check("scaled_attention", scaled_attention)

# %% [markdown] kind="hints" exercise="scaled_attention"
r"""
### A nudge
Write the formula from left to right. `.T` is for matrices; with axes in front, swap only the last two: look up `Tensor.transpose`, or `.mT`.

---
### Step by step
1. Scores: queries times the keys with their last two axes swapped. One row for each query, one column for each key; `@` leaves the axes in front alone.
2. Divide by the square root of the width of a *key*, which is the last axis of `keys`, not the number of keys.
3. Softmax along the last axis: each *row* is shared out.
4. Weights times values. Return context and weights.

---
### "My rows do not sum to 1"
Then the softmax runs along another axis. Count from the back: the last axis is `dim=-1`.
"""

# %% [markdown] kind="text" exercise="test_attention"
r"""
**Now write the test.** You're given somebody else's implementation of attention. Write a function that calls it with inputs of your choice, and raises (with `assert`, or `torch.testing.assert_close`) if it is wrong. Your test should accept every correct implementation, however it is written, and reject the wrong ones. An implementation may be wrong in one place only, so check both outputs completely, for several queries and for a batch of several sentences. The verdict lists what your test missed.
"""

# %% kind="exercise" exercise="test_attention" mode="test" title="Write the test" difficulty=3 importance=4 track="core"
def test_attention(attention):
    """Takes a function like scaled_attention; raises an exception if it is wrong."""
    # solution
    generator = torch.Generator().manual_seed(0)
    q = torch.randn(2, 3, 16, generator=generator)
    k = torch.randn(2, 5, 16, generator=generator)
    v = torch.randn(2, 5, 7, generator=generator)
    context, weights = attention(q, k, v)
    expected = torch.softmax(q @ k.mT / 4, dim=-1)
    torch.testing.assert_close(weights, expected)
    torch.testing.assert_close(context, expected @ v)
    # end solution

# %% kind="check" exercise="test_attention"
check("test_attention", test_attention)

# %% [markdown] kind="hints" exercise="test_attention"
r"""
### A nudge
What must be true of every right attention? Each row sums to 1, for one. That catches a softmax along the wrong axis, but no wrong divisor: those rows sum to 1 too. And where two sizes are equal, dividing by the root of the wrong one goes unseen: choose sizes that are all different.

---
### Step by step
Make a batch of random queries, keys and values with sizes such as 2, 3, 5, 16 and 7, and values that are not the keys. Compute what should come out, step by step, and compare both outputs with `torch.testing.assert_close`.
"""

# %% [markdown] kind="text" track="core"
r"""
**Does the divisor matter for learning?** A small task: eight keys and values; the query is one of the keys, turned by an unknown rotation. The network has to learn two matrices so that
the right value comes out. Same start, same data; only the divisor differs. A hundred steps with one learning rate, 0.003, run live. You need not read the first cell: it is the training loop of lesson 01.
"""

# %% kind="train" name="learn_to_look_up" track="core"
def learn_to_look_up(divisor, steps=100, d_model=32, d_k=64, n_keys=8, batch=64):
    generator = torch.Generator().manual_seed(0)
    rotation = torch.linalg.qr(torch.randn(d_model, d_model, generator=generator))[0]
    w_q, w_k = torch.randn(2, d_model, d_k, generator=generator) / d_model**0.5
    optimizer = torch.optim.Adam([w_q.requires_grad_(), w_k.requires_grad_()], lr=3e-3)
    losses = []
    for _ in range(steps):
        x = torch.randn(batch, n_keys, d_model, generator=generator)
        values = torch.randn(batch, n_keys, 4, generator=generator)
        query = x[:, :1] @ rotation  # the first key, rotated: its value is the target
        weights = torch.softmax((query @ w_q) @ (x @ w_k).mT / divisor, dim=-1)
        loss = (weights @ values - values[:, :1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses

# %% kind="train" ignore_output=true track="core"
divisors = {"÷ 1": 1, "÷ √d_k": 8, "÷ d_k": 64}
curves = {name: learn_to_look_up(divisor) for name, divisor in divisors.items()}
smooth = {name: torch.tensor(c).view(20, 5).mean(dim=1) for name, c in curves.items()}

views.lines(
    range(5, 101, 5), smooth, x_name="training step", y_name="loss, mean of 5 steps",
    title="Learning to look up, d_k = 64, learning rate 0.003", log_y=True,
)

# %% kind="predict" track="core"
rates = ("0.001", "0.003", "0.008", "0.02", "0.07", "0.2")
rows = [(d_k, name) for d_k in (64, 512) for name in ("1", "root", "d_k")]
loss = [
    mean_over_seeds("divisor", lambda run, rate=rate: run["end"][rate])
    for rate in rates
]
table = [[at[f"d_k {d_k}, divided by {name}"] for at in loss] for d_k, name in rows]
figure = views.heatmap(
    torch.tensor(table).clamp(max=1.0), columns=list(rates),
    rows=[f"d_k {d_k}, ÷ {'√d_k' if name == 'root' else name}" for d_k, name in rows],
    title="Loss after 100 steps (1 and more shown as 1)", digits=3,
    alt="Loss after 100 steps: d_k 64 and 512, three divisors, six learning rates.",
    row_name="width and divisor", column_name="learning rate",
)
predict("08", "divisor-map", figure)

# %% [markdown] kind="text" track="core"
r"""
The root is best, or as good as the best, at small and middling rates. At large ones dividing by $d_k$ wins: there the danger is not to stand still but to overshoot. And at *some* rate each divisor learns, though dividing by 1 at width 512 never gets as far as the others. So the root is a good start, not a law.

One more look, at a network that has been trained: the Transformer of lesson 00. Its scores are divided by $\sqrt{16}$, so when training began they had a standard deviation somewhat below 1. Estimate what training made of it where the French side looks at the English words. (It does so with 12 *heads*, looks side by side: lesson 12.)
"""

# %% kind="estimate" track="core"
transformer = load_shipped("transformer")
encode = transformer.tokenizer.encode
english = encode("the cat drank the water because it was thirsty")
french = encode("le chat a bu l' eau parce qu' il avait soif")


def mean_spread():
    """Of the scores in cross-attention, on average over 3 layers of 4 heads."""
    spread = spreads(transformer.model, [make_batch([english], [french])])
    return torch.tensor(spread["cross"]).mean().item()


estimate("08", "trained-spread", mean_spread)

# %% [markdown] kind="text" track="short"
r"""
## 4 · Two matrices, because asking is not being found

In the Transformer every word asks and every word is asked. Its vector $x$ is turned into three: a query $xW_Q$, a key $xW_K$ and a value $xW_V$. The three matrices are learned. (A row times a matrix, as the 2017 paper writes it: $W_Q$ is (in, out). In lessons 02 to 06 it lay the other way, as torch keeps it, and needed a `.T`.) The width of a word's vector is called `d_model`, that of a query or key $d_k$. Why not one matrix for query and key?

Take words described by two numbers: is it a noun, is it a pronoun? And wire two matrices by hand: pronouns ask for nouns, nouns can be found. With one matrix for both, the two scores below would have to be equal.
"""

# %% kind="example" name="hand_made"
words = "the cat drank the water because it was cold".split()


def describe(words):
    """(noun, pronoun) for each word."""
    features = [(word in ("cat", "water"), word == "it") for word in words]
    return torch.tensor(features, dtype=torch.float32)


x = describe(words)
w_query = torch.tensor([[0.0], [3.0]])  # pronouns have a query, nouns have none
w_key = torch.tensor([[1.0], [0.0]])  # nouns have a key, pronouns have none
scores = (x @ w_query) @ (x @ w_key).T  # d_k = 1, so there is nothing to scale

it, cat = words.index("it"), words.index("cat")
print("score of 'it' for 'cat':", fixed(scores[it, cat], 1))
print("score of 'cat' for 'it':", fixed(scores[cat, it], 1))

# %% [markdown] kind="text" track="core"
r"""
Now look what happens to random words and matrices if we save a matrix and set $W_Q = W_K$.
"""

# %% kind="predict" track="core"
predict("08", "one-matrix", WhoAttends())

# %% [markdown] kind="text" track="core"
r"""
Only the product $W_Q W_K^\top$ enters a score, so one full matrix in its place could do the same (Luong's *general* score, lesson 07). Two thin ones have fewer numbers if $d_k$ is less than half the width of a word. (One *full* matrix in place of the product is not one *shared* matrix for both roles.)

Before the next exercise, put it into words.
"""

# %% kind="explain" track="core"
explain("08", "two-matrices")

# %% [markdown] kind="text" exercise="project_qkv"
r"""
A first version is there already. Make its check pass.
"""

# %% kind="exercise" exercise="project_qkv" mode="bug" title="Three projections and their scores" difficulty=2 importance=4 track="core"
def project_qkv(x, w_q, w_k, w_v):
    """x (n, d_model), w_q and w_k (d_model, d_k), w_v (d_model, d_v)

    ->  queries (n, d_k), keys (n, d_k), values (n, d_v), scaled scores (n, n)
    """
    # bug
    queries, keys, values = x @ w_q, x @ w_k, x @ w_v
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(x.shape[-1])
    return queries, keys, values, scores
    # end bug
    # solution
    queries, keys, values = x @ w_q, x @ w_k, x @ w_v
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1])
    return queries, keys, values, scores
    # end solution

# %% kind="check" exercise="project_qkv"
check("project_qkv", project_qkv)

# %% [markdown] kind="hints" exercise="project_qkv"
r"""
### A nudge
Three of the four outputs are right. Which one is not, and by how much?

---
### Step by step
Over how many numbers does the dot product of a query and a key run? That number, and no other, makes the scores grow.
"""

# %% [markdown] kind="text" track="short"
r"""
## 5 · Weights that depend on what they see

A layer with fixed weights over positions also takes weighted sums. Its weights are **learned once** and then fixed: position 7 always takes the same share from position 2, whatever stands there. Attention's weights are **computed anew** for every sentence. What is learned are the matrices
that compute them.

Give a fixed layer the very weights that attention found for "it". Then move the clause to the front.
"""

# %% kind="see"
def weights_of_it(words):
    """The attention weights of "it", with the two matrices wired above."""
    x = describe(words)
    _, weights = attention(x @ w_query, x @ w_key, x)
    return weights[words.index("it")]


attention = yours("scaled_attention")
moved = "because it was cold the cat drank the water".split()
fixed_weights = weights_of_it(words)  # learned on one sentence, then kept
for name, row in (("fixed layer", fixed_weights), ("attention", weights_of_it(moved))):
    on_nouns = row[moved.index("cat")] + row[moved.index("water")]
    print(f"{name}: {fixed(100 * on_nouns, 0)}% on cat and water")

views.word_rows(
    [weights_of_it(words), fixed_weights, weights_of_it(moved)],
    words=[words, moved, moved], marked=["it", "it", "it"],
    title="Where 'it' looks; then the clause moved: fixed weights, computed weights",
)

# %% [markdown] kind="text"
r"""
The fixed layer looks at the same *places*. Attention finds the same *words*. Which of the two nouns is meant, the cat or the water? Our hand-made vectors cannot tell: both got the same share. Where that is decided, lesson 09 finds out.
"""

# %% [markdown] kind="text" exercise="smooth_curve"
r"""
**The same idea somewhere else.** You have noisy measurements `y` at places `x`, and want a smooth value at a place of your own. Take a weighted mean of all measurements, where near ones count more. It is a soft look-up: the query is your place, the keys are the places, the values the measurements. As a score take $-\frac{1}{2}\left(\frac{\text{distance}}{\text{width}}\right)^2$.
(Nadaraya and Watson, 1964.)
"""

# %% kind="exercise" exercise="smooth_curve" mode="transfer" title="A curve smoother" difficulty=3 importance=2 track="stretch"
def smooth_curve(places, x, y, width):
    """places (m,), x (n,), y (n,), width a number  ->  smoothed values (m,)"""
    # solution
    scores = -0.5 * ((places[:, None] - x) / width) ** 2
    return torch.softmax(scores, dim=-1) @ y
    # end solution

# %% kind="check" exercise="smooth_curve"
check("smooth_curve", smooth_curve)

# %% [markdown] kind="hints" exercise="smooth_curve"
r"""
### A nudge
All distances at once: `places[:, None] - x` is a matrix with a row for each place.

---
### Step by step
Scores from distances, a softmax along the last axis, times `y`. Nothing else changes.
"""

# %% [markdown] kind="text" contents="a common attention bug that neither an error nor a shape reveals"
r"""
## Break it

Here is a common attention bug. It raises no error, and the shapes are right.

> **Before you run it:** what do the rows sum to now? And the columns?
"""

# %% kind="break"
generator = torch.Generator().manual_seed(8)
queries = torch.randn(3, 16, generator=generator)
more_keys = torch.randn(3, 16, generator=generator)
wrong = torch.softmax(queries @ more_keys.T / math.sqrt(16), dim=0)  # should be dim=-1

print("shape  ", tuple(wrong.shape), "as it should be")
print("rows   ", fixed(wrong.sum(dim=-1)), "each query should spend exactly 1")
print("columns", fixed(wrong.sum(dim=0)))

# %% [markdown] kind="text"
r"""
The *keys* are now sharing out the *queries*. No shape can ever tell: a softmax returns the shape it was given, whichever axis it runs along. What tells are the sums of the rows. Would your test have caught it?
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself

The first try counts for your score; you may try again as often as you like, and every answer gets a reason. If a question is about a model you haven't met, use what you know.
"""

# %% kind="quiz"
quiz("08", "closing")

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (5 min).** "Could we train one matrix $M = W_Q W_K^\top$ and forget the two?" Expected: the scores would be the same,
$x_i M x_j^\top$, so nothing is lost there. But $M$ has $d_{model}^2$ numbers instead of $2 d_{model} d_k$, it drops the rank limit $d_k$, and keys could no
longer be computed once and kept. Follow-up: which of these matters when decoding word by word?

**Learners will say / what it is / one-line answer**

| they say | what it is | answer |
|---|---|---|
| "the scaling is for overflow" | M06 | Set the divisor to 1 in the explorable: finite, and stuck. |
| "my weights have the right shape but the check fails" | M11 | Sum the rows. |
| "a high weight means the word is copied" | M17 | Halve that word's value: same weight, half the effect. |
| "Q, K and V are three inputs" | M14 | Three projections; point at the three matrices. |

**If time is short**, cut section 2's experiment and the curve smoother; keep the test exercise.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | what it is | shape |
|---|---|---|
| query | what a position looks for | (queries, $d_k$) |
| key | what a position is found by | (keys, $d_k$) |
| value | what a position hands out | (keys, $d_v$) |
| scores | $QK^\top / \sqrt{d_k}$, before the softmax | (queries, keys) |
| weights | after the softmax, each row sums to 1 | (queries, keys) |
| context | the blend: weights times values | (queries, $d_v$) |

- Attention is a look-up that always answers: picking the best match alone is its cold end.
- Keys and queries settle the weights. Values are handed out afterwards and cannot move them.
- $\sqrt{d_k}$ brings the scores to a standard deviation of 1 at the start, whatever the width. How much that matters depends on the learning rate.
- Two matrices, because asking and being found are two jobs.
- What is learned are the matrices. The weights are computed anew for every sentence.

**Still missing.** Our matrices were wired by hand or random. What do words learn to look for in each other? And still nothing knows which word comes first. Lesson 09 takes up the first question, lesson 10 hides what must not be seen, lesson 11 brings the order.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani and others, *Attention Is All You Need* (2017), section 3.2.1, with its footnote 4 on why the dot products grow. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Daniluk and others, *Frustratingly Short Attention Spans in Neural Language Modeling* (2017), section 2: key, value and predict, each with its own vector. [arXiv 1702.04521](https://arxiv.org/abs/1702.04521)
- Grant Sanderson (3Blue1Brown), *Attention in transformers, step by step*: the same three roles as moving pictures. Where he explains the scaling, compare with section 3.
"""
