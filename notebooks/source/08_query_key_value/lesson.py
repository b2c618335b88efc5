# Lesson 08 · the source. Edit this file, then run `python3 -m course_lib build 08`; the notebook is made from it.

# %% [markdown] kind="title" minutes=0.5 second_edition=false
r"""
# 08 · Query, key, value

**The question:** how can a network look something up when nothing matches exactly?

About {minutes} minutes. You need the softmax from [lesson 00](00_start_here.ipynb), the dot product, and an idea of what a gradient is: which way,
and how much, a result moves when a number moves. In code, `a @ b` multiplies matrices, and `.T` swaps a matrix's rows and columns.
"""

# %% [markdown] kind="goals" minutes=0.5
r"""
After this lesson you can

1. **compute** a soft look-up by hand, from five numbers;
2. **say** what the query, the key and the value each decide, and **show** that a value cannot move a weight;
3. **derive** why scores are divided by $\sqrt{d_k}$, and **measure** what happens without it;
4. **explain** why $W_Q$ and $W_K$ are two matrices;
5. **tell** weights that are learned from weights that are computed.
"""

# %% kind="setup" minutes=0.5
import itertools
import math

import torch

from course_lib import views
from course_lib.explore import SaturationLab, SoftDictionary, WhoAttends
from course_lib.formatting import fixed
from course_lib.layers.attention import attend
from course_lib.layers.scores import dot
from course_lib.teaching import check, predict, quiz, start_lesson

start_lesson("query_key_value", seed=8)

# %% [markdown] kind="text" minutes=0.5
r"""
## Warm up

Two questions about score functions, from lesson 07. Answer from memory. If you came straight from lesson 00, skip them: nothing below needs them.
"""

# %% kind="recall" minutes=2
quiz("08", "recall")

# %% [markdown] kind="text" minutes=0.5
r"""
## 1 · A dictionary that always answers

A Python dictionary hands you what is stored under a key. The key must match to the letter.
"""

# %% kind="example" minutes=0.5
menu = {"soup": "3 g salt", "cake": "9 g sugar", "tea": "2 g sugar"}

print(menu["soup"])
print(menu.get("something warm", "nothing here has that name"))

# %% [markdown] kind="text" minutes=1
r"""
Two things make this useless inside a network.

- **Almost right counts as wrong.** "Something warm" gets nothing, though soup is on the menu.
- **There is no slope.** The answer is there or it is not. Gradient descent needs *a little better* and *a little worse*.

So we describe everything in numbers. Each dish has a label to be found by, its **key**, and a content you
actually get, its **value**. You come with a wish in the same numbers as the labels: the **query**.

| dish | key: (warm, sweet) | value: (salt, sugar) in grams |
|---|---|---|
| soup | (3, 0) | (3, 0) |
| cake | (0, 2) | (0, 9) |
| tea | (1, 1) | (0, 2) |

The query "something warm, please" is (1, 0).
"""

# %% kind="example" minutes=0.5
dishes = ["soup", "cake", "tea"]
keys = torch.tensor([[3.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
values = torch.tensor([[3.0, 0.0], [0.0, 9.0], [0.0, 2.0]])
query = torch.tensor([1.0, 0.0])

scores = keys @ query  # one dot product for each dish: how well does it match?
best = scores.argmax()
print("scores: ", fixed(scores, 1), "for", ", ".join(dishes))
print("best:   ", dishes[best], fixed(values[best], 1))

# %% [markdown] kind="text" minutes=1
r"""
This is a **best-match look-up**: score every key, take the best. It always answers. It still has no slope, though:
move the query a little, and nothing changes, until suddenly everything does. And tea, which is a little warm, gets no say.

The cure is to **share instead of pick**. Every dish gets a share of the plate, and a better match gets a larger share.
You know a function that turns scores into shares: the softmax. It raises $e = 2.718…$ to each score, which makes every number positive
and the large ones much larger, and then divides by the sum.

> **Before you run the next cell.** The scores are 3, 0 and 1. Three out of four would be 75%. Will soup get *less* than that, *just* that,
> or *more*? Say it out loud, then look.
"""

# %% kind="loop" minutes=1
def blend_by_loop(query, keys, values):
    scores = [sum(q * k for q, k in zip(query, key, strict=True)) for key in keys]
    raised = [math.exp(score) for score in scores]
    weights = [one / sum(raised) for one in raised]
    plate = [0.0] * len(values[0])
    for weight, value in zip(weights, values, strict=True):
        for i, grams in enumerate(value):
            plate[i] += weight * grams
    return plate, weights


plate, weights = blend_by_loop(query.tolist(), keys.tolist(), values.tolist())
print("weights:", fixed(weights))  # three decimals
print("plate:  ", fixed(plate), "(salt, sugar)")

# %% [markdown] kind="formula" minutes=1
r"""
More: 84% for soup, 11% for tea, and even cake gets a spoonful. On the plate: 2.5 g of salt and 0.6 g of sugar.
No dish on the menu has these numbers. It is a **blend**.

$$ \text{weights}_j = \frac{e^{\,q \cdot k_j}}{\sum_i e^{\,q \cdot k_i}}
\qquad\qquad
\text{context} = \sum_j \text{weights}_j \; v_j $$

| symbol | name in code | shape | here |
|---|---|---|---|
| $q$ | `query` | (key_dim) | 2 |
| $k_j$ | `keys[j]` | (keys, key_dim) for all | 3 × 2 |
| $v_j$ | `values[j]` | (keys, value_dim) for all | 3 × 2 |
| $q \cdot k_j$ | `scores[j]` | (keys) | 3 |
| $\text{weights}_j$ | `weights[j]` | (keys) | 3, sum to 1 |
| $\sum_j \text{weights}_j v_j$ | `context` | (value_dim) | 2 |

Query and keys must share their width, because they are compared. Values may have any width. And look at the formula for the weights: there is no $v$ in it. No value can
move a weight. (Not within this one look-up, that is: what is handed out feeds the next layer, and training.)
"""

# %% kind="tensor" minutes=0.5
weights = torch.softmax(keys @ query, dim=-1)
context = weights @ values

torch.testing.assert_close(context, torch.tensor(plate))  # loop and tensors agree
views.bars(weights, labels=dishes, title="'Something warm': shares of the plate")

# %% kind="quiz" minutes=1.5
quiz("08", "first-blend")

# %% [markdown] kind="text" minutes=0.5
r"""
The best-match look-up is still inside. Divide the scores by a **temperature** before the softmax: the colder, the more it picks the best
match alone. At the hot end everybody gets the same.

After the next cell comes a larger cafeteria, where you can turn the temperature yourself, and change one dish: its label (the key) or its contents (the
value). First commit to a guess: the explorable opens when you have. A wrong guess teaches more than no guess.
"""

# %% kind="example" minutes=0.5
for temperature in (0.05, 1.0, 100.0):
    weights = torch.softmax(keys @ query / temperature, dim=-1)
    print(f"temperature {temperature:>6}: ", fixed(weights))

# %% kind="predict" minutes=2
predict("08", "more-cream", SoftDictionary())

# %% [markdown] kind="text" minutes=0.5
r"""
<details><summary><b>What you saw</b> (after your guess)</summary>

The cream went onto the plate (look at the fat), and no weight moved. Try the other two controls: *crunch* changes the waffle's label, and with it every weight. A low temperature gives the
plate to one dish.

</details>
"""

# %% [markdown] kind="instructor"
r"""
**Ask the room (2 min).** "Where have you met a look-up that answers even when nothing matches?" Expected: web search,
autocorrect, a helpful librarian. Follow-up: which part is the query, which the key, which the value?
"""

# %% [markdown] kind="text" minutes=0.5 exercise="soft_lookup"
r"""
Write the whole look-up for one query: score every key with a dot product, turn the scores into weights, blend the values.
"""

# %% kind="exercise" exercise="soft_lookup" title="Your own soft look-up" difficulty=2 importance=5 minutes=6 track="core"
def soft_lookup(query, keys, values):
    """query (key_dim,), keys (n, key_dim), values (n, value_dim)

    ->  context (value_dim,), weights (n,)
    """
    # solution
    scores = keys @ query
    weights = torch.softmax(scores, dim=-1)
    context = weights @ values
    return context, weights
    # end solution

# %% kind="check" exercise="soft_lookup"
check("soft_lookup", soft_lookup)

# %% [markdown] kind="hints" exercise="soft_lookup"
r"""
### A nudge
Three lines, one for each step: scores, weights, context. `keys @ query` gives one number for each key.

---
### The recipe
1. `scores`: the matrix `keys` times the vector `query`.
2. `weights`: `torch.softmax(scores, dim=-1)`. They sum to 1.
3. `context`: the vector `weights` times the matrix `values`.

Return both, the context first.

---
### "mat1 and mat2 shapes cannot be multiplied"
The inner sizes must meet: (n, key_dim) @ (key_dim,) gives (n,), and (n,) @ (n, value_dim) gives (value_dim,).
"""

# %% [markdown] kind="text" minutes=0.5
r"""
Solved or not, the road goes on with the library's version. `attend` returns the context and the weights, and takes the
score function as an argument. With the plain dot product it is the function you just wrote.
"""

# %% kind="library" minutes=0.5
one_query = query[None]  # attend takes a list of queries; this is a list of one
context, weights = attend(one_query, keys, values, score=dot)

torch.testing.assert_close(context[0], torch.tensor(plate))
print("context", fixed(context), tuple(context.shape))
print("weights", fixed(weights), tuple(weights.shape))

# %% [markdown] kind="text" minutes=1
r"""
## 2 · Why the key and the value part ways

Think of a video search. You type a few words: the **query**. They are compared with titles: the **keys**. A film plays: the
**value**. Nobody compares your words with the film, picture by picture. And nobody wants the title handed back.

The first attention had no such split. In Luong's dot score (2015) the encoder's state for a word is both the label that is searched and the content that is handed
out. Bahdanau (2015) projected it for the search, and still handed out the state itself. What goes wrong when one vector does two jobs? Let us eat the menu.
"""

# %% kind="example" minutes=0.5
eaten, _ = attend(one_query, keys, keys, score=dot)  # keys in both places
print("on the plate:", fixed(eaten[0]), "(warm, sweet)")

# %% [markdown] kind="text" minutes=0.5
r"""
We asked for something warm and were served a label. Worse, the two jobs pull against each other. Suppose training wants tea to bring more
sugar. With one shared vector, changing what tea *gives* also changes how tea is *found*.
"""

# %% kind="example" minutes=1
sweeter = torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, 4.0]])  # for tea alone
wish = torch.tensor([[0.0, 1.0]])  # something sweet

_, before = attend(wish, keys, keys, score=dot)
_, one_vector = attend(wish, keys + sweeter, keys + sweeter, score=dot)
_, two_vectors = attend(wish, keys, values + sweeter, score=dot)

print("                        soup   cake   tea")
print("before               ", fixed(before[0]))
print("one vector, two jobs ", fixed(one_vector[0]))
print("key and value apart  ", fixed(two_vectors[0]))
assert torch.equal(before, two_vectors)

# %% [markdown] kind="text" minutes=0.5
r"""
With one vector, a richer tea pushes cake off the plate: nobody asked for that. With two, the shares stay as they were.

Daniluk and colleagues (2017) measured this in language models. They gave each word one vector to be found by, one to hand out,
and even a third to predict the next word with, and each split helped. (They also found that their models hardly looked back more than five words; hence the title of the paper,
in the reading below.) The Transformer keeps key and value for every word, and adds the query.
"""

# %% kind="quiz" minutes=2
quiz("08", "keys-and-values")

# %% [markdown] kind="text" minutes=0.5
r"""
## 3 · Why the square root of d_k

`d_k` is the width of a key. Our keys had two numbers; those of the 2017 paper have 64. Does the width matter?
Take the smallest case that shows it: every number in a query and a key is a coin flip, +1 or −1. Then each product of two of them is a coin flip too,
and a score is the sum of `d_k` such products. The loop lists every outcome there is. *Spread* is the standard deviation: the usual distance from the mean.
"""

# %% kind="example" minutes=2
for d_k in (1, 4, 16):
    products = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=d_k)))
    scores = products.sum(dim=-1)
    low, high, spread = scores.min(), scores.max(), scores.std(correction=0)
    numbers = fixed([low, high, spread], 0)
    print(f"d_k {d_k:>2}: smallest score, largest score, spread", numbers)

# %% [markdown] kind="formula" minutes=1
r"""
Wider keys, wider scores: 16 numbers, spread 4. The reason fits in one line. If the $q_i$ and $k_i$ are independent, with mean 0 and variance 1 (a fair picture of a
network before training), each product has mean 0 and variance 1. Variances of independent numbers add up:

$$ \operatorname{Var}(q \cdot k) \;=\; \sum_{i=1}^{d_k} \operatorname{Var}(q_i k_i) \;=\; d_k
\qquad\Longrightarrow\qquad \text{spread of the scores} = \sqrt{d_k} $$

| symbol | name in code | here |
|---|---|---|
| $d_k$ | `key_dim`, the width of one key | 1, 4, 16 |
| $\operatorname{Var}$ | variance, the mean squared distance from the mean | 1, 4, 16 |
| $\sqrt{d_k}$ | spread (standard deviation) | 1, 2, 4 |

The same for Gaussian numbers, first with a loop, then with tensors:
"""

# %% kind="loop" minutes=0.5
generator = torch.Generator().manual_seed(8)
q = torch.randn(2000, 64, generator=generator)
k = torch.randn(2000, 64, generator=generator)

by_loop = []
for row_q, row_k in zip(q[:50].tolist(), k[:50].tolist(), strict=True):
    by_loop.append(sum(a * b for a, b in zip(row_q, row_k, strict=True)))
scores = (q * k).sum(dim=-1)  # 2000 independent scores

torch.testing.assert_close(torch.tensor(by_loop), scores[:50], rtol=1e-4, atol=1e-4)
print("d_k 64: spread", fixed(scores.std(), 1), "predicted", fixed(math.sqrt(64), 1))
assert abs(scores.std() - 8) < 0.5

# %% [markdown] kind="text" minutes=0.5
r"""
So what? A softmax looks at *differences* between scores. Differences of 1 share gently: 73 to 27. Differences of 20 leave
nothing to share. Guess how bad it gets.
"""

# %% kind="predict" minutes=3
predict("08", "unscaled-max", SaturationLab())

# %% [markdown] kind="text" minutes=1
r"""
Try the three divisors at 512. Dividing by 1: one key takes nearly all, and for most queries almost no gradient gets through. Dividing by $d_k$: the slope is fine, but every score is
close to 0, so everybody gets an eighth, whatever they scored, and the signal that reaches the query is divided by $d_k$ as well. Dividing by $\sqrt{d_k}$: the same picture at every width.

Why does "one takes all" stop the gradient? Because the softmax is flat there. Its slopes are
$\partial w_i / \partial s_j = w_i(\delta_{ij} - w_j)$, where $\delta_{ij}$ is 1 if $i = j$ and else 0. Put in two weights, and watch the slopes vanish:
"""

# %% kind="example" minutes=1
for weights in ([0.5, 0.5], [0.9, 0.1], [0.999, 0.001]):
    w = torch.tensor(weights)
    slopes = torch.diag(w) - torch.outer(w, w)
    print(fixed(weights), " size of all slopes together:", fixed(slopes.norm()))

by_torch = torch.func.jacrev(lambda s: torch.softmax(s, dim=-1))(w.log())  # all slopes
torch.testing.assert_close(by_torch, slopes)
huge = torch.tensor([10000.0, 9999.0, 0.0])
print("scores of 10,000:", fixed(torch.softmax(huge, dim=-1)))

# %% [markdown] kind="text" minutes=0.5
r"""
A network that starts out sure of itself is hard to correct: the loss may be large, and hardly any of it comes back through the softmax. That is the reason the paper gives for $\sqrt{d_k}$ ("we
suspect", it says). It is about the start: training then changes the spread as it needs.

It is **not** about overflow, as one often reads. The last line shows it: softmax subtracts the largest score first, so even scores of 10,000 give finite weights. (In half precision the dot product itself can
overflow, and scaling the query first helps. That is a bonus, not the reason.)
"""

# %% [markdown] kind="formula" minutes=0.5
r"""
Put it together, for many queries at once, and you have the formula of the 2017 paper, *scaled dot-product attention*:

$$ \text{Attention}(Q, K, V) = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V $$

| symbol | name in code | shape |
|---|---|---|
| $Q$ | `queries` | (queries, key_dim) |
| $K$ | `keys` | (keys, key_dim) |
| $V$ | `values` | (keys, value_dim) |
| $QK^\top / \sqrt{d_k}$ | `scores` | (queries, keys): a row for each query |
| softmax of it, along each row | `weights` | (queries, keys): each row sums to 1 |
| result | `context` | (queries, value_dim) |
"""

# %% [markdown] kind="text" minutes=0.5 exercise="scaled_attention"
r"""
Now for many queries at once, and scaled. Write the formula above.
"""

# %% kind="exercise" exercise="scaled_attention" title="Scaled dot-product attention" difficulty=2 importance=5 minutes=5 track="core"
def scaled_attention(queries, keys, values):
    """queries (m, key_dim), keys (n, key_dim), values (n, value_dim)

    ->  context (m, value_dim), weights (m, n)
    """
    # solution
    key_dim = keys.shape[-1]
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(key_dim)
    weights = torch.softmax(scores, dim=-1)
    return weights @ values, weights
    # end solution

# %% kind="check" exercise="scaled_attention"
check("scaled_attention", scaled_attention)

# %% [markdown] kind="hints" exercise="scaled_attention"
r"""
### A nudge
Write the formula from left to right. The only new things are the transpose and the division.

---
### The recipe
1. `scores = queries @ keys.T`, one row for each query, one column for each key.
2. Divide by `math.sqrt(keys.shape[-1])`: the width of a key, not the number of keys.
3. Softmax along the last axis: each *row* is shared out.
4. `weights @ values`. Return `(context, weights)`.

---
### "My rows do not sum to 1"
`dim=0` shares out each column. Every query must share its own row: `dim=-1`.
"""

# %% kind="library" minutes=1
generator = torch.Generator().manual_seed(8)
queries = torch.randn(3, 16, generator=generator)
more_keys = torch.randn(5, 16, generator=generator)
more_values = torch.randn(5, 4, generator=generator)

context, weights = attend(queries, more_keys, more_values)  # scaled unless told not to
sdpa = torch.nn.functional.scaled_dot_product_attention  # torch's own, in one call
torch.testing.assert_close(context, sdpa(queries, more_keys, more_values))

rows, columns = ["query 1", "query 2", "query 3"], [f"key {j}" for j in range(1, 6)]
views.heatmap(weights, rows=rows, columns=columns, title="Weights: each row sums to 1")

# %% [markdown] kind="text" minutes=1
r"""
## 4 · Where queries, keys and values come from

In a cafeteria, labels and contents are given. In a network nothing is given but one vector $x_i$ for each word. The three roles are
**three projections of it**: $x_i$ times one of three learned matrices.

$$ Q = X W_Q \qquad K = X W_K \qquad V = X W_V $$

- inside one sentence (self-attention, lesson 09), all three come from the same $X$;
- from a decoder to a source sentence (cross-attention), $Q$ comes from the decoder, $K$ and $V$ from the encoder.

So: three roles, not three inputs. But why *two* matrices for asking and being found? Let us wire one by hand. Two numbers for each
word: *am I a noun?* and *am I a pronoun?*
"""

# %% kind="example" minutes=2
def describe(words):
    """Two numbers for each word: is it a noun, is it a pronoun?"""
    nouns = {"cat", "water"}
    return torch.tensor([[float(w in nouns), float(w == "it")] for w in words])


words = "the cat drank the water because it was cold".split()
x = describe(words)
w_query = torch.tensor([[0.0], [3.0]])  # pronouns ask loudly, nouns do not ask
w_key = torch.tensor([[1.0], [0.0]])  # nouns answer "here is a noun", pronouns do not
scores = (x @ w_query) @ (x @ w_key).T  # d_k = 1, so there is nothing to scale

it, cat = words.index("it"), words.index("cat")
print("score of 'it' for 'cat':", fixed(scores[it, cat], 1))
print("score of 'cat' for 'it':", fixed(scores[cat, it], 1))

# %% [markdown] kind="text" minutes=0.5
r"""
"It" looks for nouns. "Cat" has no wish at all: its scores are 0 for every word, so it looks everywhere alike. Asking and being found are two different things, so two matrices.

Now suppose we save one and set $W_Q = W_K$. The score of $i$ for $j$ becomes $x_i W W^\top x_j^\top$, which is the same number with
$i$ and $j$ swapped.
"""

# %% kind="predict" minutes=3
predict("08", "one-matrix", WhoAttends())

# %% [markdown] kind="text" minutes=0.5
r"""
<details><summary><b>What you saw</b> (after your guess)</summary>

With one matrix the scores are a mirror image of themselves, and with `d_k` large enough every word likes itself best: its score with itself is the squared length of its projection. With
two matrices the diagonal wins about one row in eight, as any other column does. Move `d_k` down to 1 or 2: little room, and even one matrix lets others win.

</details>

Only the product $W_Q W_K^\top$ enters a score. One full matrix in its place could do the same (that is Luong's *general* score); two thin ones cost less, $2 \cdot 512 \cdot 64$ numbers
instead of $512^2$ in the paper's sizes, and limit the scores to rank $d_k$.
"""

# %% [markdown] kind="text" minutes=0.5 exercise="project_qkv"
r"""
Make the three roles from the words' vectors, and the scaled scores of every word for every word. Stop before the softmax.
"""

# %% kind="exercise" exercise="project_qkv" title="Three projections and their scores" difficulty=2 importance=4 minutes=5 track="core"
def project_qkv(x, w_q, w_k, w_v):
    """x (n, d_model), w_q and w_k (d_model, d_k), w_v (d_model, d_v)

    ->  queries (n, d_k), keys (n, d_k), values (n, d_v), scaled scores (n, n)
    """
    # solution
    queries, keys, values = x @ w_q, x @ w_k, x @ w_v
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(w_k.shape[-1])
    return queries, keys, values, scores
    # end solution

# %% kind="check" exercise="project_qkv"
check("project_qkv", project_qkv)

# %% [markdown] kind="hints" exercise="project_qkv"
r"""
### A nudge
Three matrix products with `x` on the left, then one between queries and keys.

---
### The recipe
`scores[i, j]` is what word `i` asks of word `j`: queries on the left, keys transposed on the right. Divide by the square root of the
width of a *key*, `w_k.shape[-1]`. The width of `x` has nothing to do with it.
"""

# %% [markdown] kind="text" minutes=1
r"""
## 5 · Weights that depend on what they see

A dense layer and a convolution also take weighted sums. Their weights are **learned once** and then fixed: position 6 always takes the same
share from position 1, whatever stands there. Attention's weights are **computed anew** for every sentence. What is learned are the matrices
that compute them.

Move the clause of our sentence to the front. A fixed layer looks at the same *places*. Attention finds the same *words*.
"""

# %% kind="example" minutes=1
def weights_of_it(words):
    """Where "it" looks, with the two matrices wired above."""
    x = describe(words)
    _, weights = attend(x @ w_query, x @ w_key, x, score=dot)
    return weights[words.index("it")]


moved = "because it was cold the cat drank the water".split()
for sentence in (words, moved):
    row = weights_of_it(sentence)
    on_nouns = row[sentence.index("cat")] + row[sentence.index("water")]
    place = sentence.index("it") + 1
    share = fixed(100 * on_nouns, 0)
    print(f"'it' is word {place}: {share}% of its weight is on cat and water")
    assert on_nouns > 0.8

views.word_rows(
    [weights_of_it(words), weights_of_it(moved)],
    words=[words, moved],
    marked=["it", "it"],
    title="Where 'it' looks: same matrices, different places",
)

# %% [markdown] kind="text" minutes=1
r"""
No matrix changed between the two rows. Three ways to say what happened:

- **Context decides.** What "it" means is settled by the words around it. Attention is how they get a say.
- **Attention shares out a budget.** Each word has a weight of exactly 1 to spend. More here is less there.
- **Attention is an exchange.** After it, every word's vector holds something of the words it looked at.

Which of the two nouns is meant, the cat or the water? Our hand-made word vectors cannot tell: both nouns got the same share. That takes word
vectors that know more, and more than one round of looking. Lesson 09 does it.
"""

# %% [markdown] kind="text" minutes=0.5 exercise="masked_attention"
r"""
A look ahead to lesson 09. Some dishes are sold out for some guests: `may_look` says which. A sold-out dish gets a weight of exactly 0, and the others share the whole plate.
"""

# %% kind="exercise" exercise="masked_attention" title="Two dishes are sold out" difficulty=3 importance=4 minutes=5 track="stretch"
def masked_attention(queries, keys, values, may_look):
    """as before, and may_look (m, n): True where query i may look at key j

    ->  context (m, value_dim), weights (m, n)
    """
    # solution
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1])
    scores = scores.masked_fill(~may_look, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ values, weights
    # end solution

# %% kind="check" exercise="masked_attention"
check("masked_attention", masked_attention)

# %% [markdown] kind="hints" exercise="masked_attention"
r"""
### A nudge
Which score makes $e^{\text{score}}$ exactly 0? It is not 0.

---
### The recipe
Compute the scaled scores as before. Where `may_look` is False put `float("-inf")`, with `scores.masked_fill(~may_look, ...)`. Then the softmax:
the rest shares out 1 by itself.

---
### "I multiplied the scores by the mask"
Then the sold-out dish has the score 0, and $e^0 = 1$ is a fine share. Masking works on scores, with minus infinity, before the softmax.
"""

# %% [markdown] kind="text" minutes=0.5
r"""
## Does the scaling matter for learning?

A small test. Eight keys and values; the query is one of the keys, turned by an unknown rotation. The network has to learn $W_Q$ and $W_K$ so that
the right value comes out. Same start, same data; only the divisor differs. A hundred steps of Adam (gradient descent with a memory, lesson 14) take a few seconds.
"""

# %% kind="train" minutes=1
def learn_to_look_up(divisor, steps=100, d_model=32, d_k=64, n_keys=8, batch=64):
    generator = torch.Generator().manual_seed(8)
    turn = torch.linalg.qr(torch.randn(d_model, d_model, generator=generator))[0]
    w_q, w_k = torch.randn(2, d_model, d_k, generator=generator) / d_model**0.5
    optimizer = torch.optim.Adam([w_q.requires_grad_(), w_k.requires_grad_()], lr=3e-3)
    losses = []
    for _ in range(steps):
        x = torch.randn(batch, n_keys, d_model, generator=generator)
        values = torch.randn(batch, n_keys, 4, generator=generator)
        asked = x[:, :1] @ turn  # the first key, turned: its value is the right answer
        scores = (asked @ w_q) @ (x @ w_k).transpose(1, 2) / divisor
        weights = torch.softmax(scores, dim=-1)
        loss = (weights @ values - values[:, :1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses

# %% kind="train" minutes=1 ignore_output=true
divisors = {"÷ √d_k": 8, "÷ 1": 1, "÷ d_k": 64}
curves = {name: learn_to_look_up(divisor) for name, divisor in divisors.items()}
half_way = {name: sum(losses[40:50]) / 10 for name, losses in curves.items()}

assert half_way["÷ √d_k"] < 0.5 * half_way["÷ 1"]
assert half_way["÷ 1"] < half_way["÷ d_k"]
smooth = {name: torch.tensor(c).view(20, 5).mean(dim=1) for name, c in curves.items()}
smooth["answer 0"] = torch.ones(20)  # the values have variance 1: what silence costs
views.lines(
    range(5, 101, 5), smooth, x_name="training step", y_name="loss, mean of 5 steps",
    title="Learning to look up, d_k = 64", log_y=True,
)

# %% [markdown] kind="text" minutes=0.5
r"""
With $\sqrt{d_k}$ it learns fastest. Without scaling it starts out sure and wrong, *worse than answering 0*, and loses its first dozen steps to that; then it catches up, and here it ends as low.
Divided by $d_k$ it starts undecided, and the matrices must grow a long way before any score stands out: after a hundred steps it is still far behind. One learning rate serves all three here, and a larger one
would help the last. So this is no law about where training ends, only a look at how it starts.

## Break it

Here is a common attention bug. It raises no error, and the shapes are right.

> **Before you run it:** what do the rows sum to now? And the columns?
"""

# %% kind="break" minutes=1
scores = queries @ more_keys.T / math.sqrt(16)
wrong = torch.softmax(scores, dim=0)  # should be dim=-1

print("shape  ", tuple(wrong.shape), "as it should be")
print("rows   ", fixed(wrong.sum(dim=-1)), "each query should spend exactly 1")
print("columns", fixed(wrong.sum(dim=0)))

# %% [markdown] kind="text" minutes=0.5
r"""
The *keys* are now sharing out the *queries*. One query may end up with almost nothing on its plate, another with three helpings. The habit
that catches it is one line: `torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))`.

## Check yourself

Six questions. The first try counts for your score; you may try again as often as you like, and every answer gets a reason.
"""

# %% kind="quiz" minutes=5
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
"""

# %% [markdown] kind="summary" minutes=1
r"""
## What you have now

| name | what it is | shape |
|---|---|---|
| query | what a position looks for | (queries, key_dim) |
| key | what a position is found by | (keys, key_dim) |
| value | what a position hands out | (keys, value_dim) |
| scores | $QK^\top / \sqrt{d_k}$, before the softmax | (queries, keys) |
| weights | after the softmax, each row sums to 1 | (queries, keys) |
| context | the blend: `weights @ values` | (queries, value_dim) |

- Attention is a look-up that always answers: picking the best match alone is its cold end.
- Keys and queries settle the weights. Values are handed out afterwards and cannot move them.
- $\sqrt{d_k}$ brings the spread of the scores to 1 at the start, whatever the width, so the softmax starts out with a slope.
- Two matrices, because asking and being found are two jobs.
- What is learned are the matrices. The weights are computed anew for every sentence.

**Still missing.** Our matrices were wired by hand or random. What do words learn to look for in each other? What must stay hidden from whom, and how? And nothing here knows which word comes
first: shuffle the keys and values together, and the answer is the same. Lesson 09 takes up the first two questions, lesson 10 the order.
"""

# %% [markdown] kind="reading" minutes=0.5
r"""
## Reading

- Vaswani and others, *Attention Is All You Need* (2017), section 3.2.1, with its footnote 4 on why the dot products grow. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Daniluk and others, *Frustratingly Short Attention Spans in Neural Language Modeling* (2017), section 2: key, value and predict, each with its own vector. [arXiv 1702.04521](https://arxiv.org/abs/1702.04521)
- Grant Sanderson (3Blue1Brown), *Attention in transformers, step by step*: the same three roles as moving pictures. Where he explains the scaling, compare with section 3.
"""
