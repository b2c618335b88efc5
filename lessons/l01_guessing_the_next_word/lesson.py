# Lesson 01 · the source. Edit this file, then run `python3 -m course_lib build 01`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 01 · Guessing the next word

**The question:** how can a machine predict the next word, and how does it learn to?

About {minutes} minutes. You need Python with a little NumPy, school mathematics, and the softmax from [lesson 00](00_start_here.ipynb). Nothing about torch (section 3 says what is needed) and nothing about networks: how they learn is what you find out here, on one so small that every number fits on the screen.
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **count** n-grams, and **say** why longer ones do not save you;
2. **compute** by hand what a small network says, how wrong it is, and where each of its numbers should go;
3. **write** one step of learning, and recognise the five lines that train every model of this course;
4. **measure** a language model by its perplexity;
5. **write** text word by word, and **name** the two costs of doing so.
"""

# %% kind="setup"
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F

from course_lib import views
from course_lib.formatting import fixed
from course_lib.models import NGramLM, NGramLMConfig
from course_lib.results import mean_over_seeds
from course_lib.teaching import check, estimate, explain, predict, quiz, start_lesson
from course_lib.teaching import yours
from course_lib.text import BOS, EOS, splits
from course_lib.translation import load_shipped
from lessons.l01_guessing_the_next_word import WordByWord

start_lesson("guessing_the_next_word", seed=1)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Two questions on lesson 00, from memory.
"""

# %% kind="recall"
quiz("01", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · Count what came next

Your phone does it while you type: it guesses the next word. A {term:language model} is anything that reads the beginning of a text and gives every possible next word a probability. Guess, take a word, guess again: that is how a chatbot writes, and how a translator writes its translation. So this is where the road begins.

The pieces of text that a model reads and writes, one at a time, are its {term:token|tokens}. Ours are whole words (larger systems use pieces of words, lesson 15). The list of all tokens it knows is its {term:vocabulary}. Here is the text we have: the French half of the sentences that trained the networks of lesson 00.
"""

# %% kind="example" name="corpus"
corpus = splits(seed=0)
text = [list(pair.tgt) for pair in corpus.train]  # to learn from
new_text = [list(pair.tgt) for pair in corpus.test]  # other sentences, to be tested on
vocabulary = sorted({word for words in text for word in words})

for words in text[:4]:
    print(" ".join(words))
n_words = sum(map(len, text))
print(f"{len(text):,} sentences, {n_words:,} words, {len(vocabulary)} different ones")

# %% [markdown] kind="text"
r"""
The oldest idea is to count (Markov 1913 with letters, Shannon 1948 with words). What followed *le chat* in the text? Take the shares of those counts as probabilities.

But after *les rois fatigués qui étaient heureux ont acheté* (the tired kings who were happy bought), only one word was ever counted: hardly any long beginning stands in the text twice. So one pretends that **only the last few words matter**: the {term:Markov assumption}. A row of $n$ words is an {term:n-gram}, and an n-gram model looks at $n-1$ words to tell the next one. With $n = 2$ it knows one word of the past, with $n = 3$ two.

Two marks help: a start mark `<s>` stands before the first word, an end mark `</s>` behind the last. The end mark is guessed like a word: a model has to know when to stop.
"""

# %% [markdown] kind="text" exercise="count_next"
r"""
Write a function that counts n-grams for any $n$. For `[["le", "chat", "dort"], ["le", "chat", "mange"]]` and $n = 2$ it returns

`{("<s>",): {"le": 2}, ("le",): {"chat": 2}, ("chat",): {"dort": 1, "mange": 1}, ("dort",): {"</s>": 1}, ("mange",): {"</s>": 1}}`

The past is always a tuple, even if it contains one word or, for $n = 1$, none. Each sentence gets $n-1$ start marks, so that its first word has a past too, and one end mark. Leave the lists you are given unchanged.
"""

# %% kind="exercise" exercise="count_next" title="Count what came next" difficulty=2 importance=3 track="core"
def count_next(sentences, n):
    """Lists of words, and n  ->  {past of n - 1 words: {next word: how often}}"""
    # solution
    counts = {}
    for words in sentences:
        row = ["<s>"] * (n - 1) + words + ["</s>"]
        for i in range(n - 1, len(row)):
            after = counts.setdefault(tuple(row[i - n + 1 : i]), {})
            after[row[i]] = after.get(row[i], 0) + 1
    return counts
    # end solution

# %% kind="check" exercise="count_next"
check("count_next", count_next)

# %% [markdown] kind="hints" exercise="count_next"
r"""
### A nudge
For each sentence, make one longer list that includes the marks. Then go through it: the past of the word at position `i` is the `n - 1` words before it.

---
### Step by step
1. `row = ["<s>"] * (n - 1) + words + ["</s>"]`, separately for each sentence.
2. For every `i` from `n - 1` to the end: the past is `tuple(row[i - n + 1 : i])`, the word is `row[i]`.
3. Add 1 to the count of that word under that past. `dict.setdefault` and `dict.get` save an `if`; `collections.Counter` does too.
"""

# %% kind="see"
count = yours("count_next")
after_cat = count(text, 2)[("chat",)]
likeliest = sorted(after_cat, key=after_cat.get, reverse=True)[:7]
total = sum(after_cat.values())

views.bars(
    [after_cat[word] / total for word in likeliest], labels=likeliest,
    name="probability", high=0.2, title=f"After 'chat', which came {total} times",
)

# %% kind="quiz"
quiz("01", "counting")

# %% [markdown] kind="text" contents="why the table of 5-grams stays nearly empty, with an estimate and a prediction"
r"""
## 2 · The table explodes

One word of past is little. Why not take four, and count 5-grams? First estimate what that table would be.
"""

# %% kind="estimate"
estimate("01", "five-grams")

# %% kind="predict"
tables = {n: count(text, n) for n in range(1, 6)}
for n, counts in tables.items():
    possible, seen = (len(vocabulary) + 1) ** n, sum(map(len, counts.values()))
    print(f"n = {n}: {possible:>17,} possible, {seen:>7,} seen")


def percent_never_seen(n):
    new_counts = count(new_text, n)
    unseen = sum(
        frequency
        for past, after in new_counts.items()
        for word, frequency in after.items()
        if word not in tables[n].get(past, {})
    )
    return 100 * unseen / sum(sum(after.values()) for after in new_counts.values())


percentages = [percent_never_seen(n) for n in tables]

figure = views.bars(
    percentages, labels=[f"n = {n}" for n in tables], name="never seen, %", digits=0,
    title="n-grams of new text, never counted",
)
predict("01", "never-seen", figure)

# %% [markdown] kind="text"
r"""
The possible n-grams grow by a factor of {result:lesson_01/corpus/token types:.0f} with each word. The seen ones cannot: our text has {result:lesson_01/corpus/positions:,.0f} places where a token comes next ({printed:corpus/sentences} words and 20,000 end marks), and no more. The longer the past, the emptier the table.

For a word that was never seen after its past, the count says *probability 0*, and a sentence with one impossible word is impossible. The repair is to mix: trust the long past as far as it was seen, and give the rest to a shorter one (Witten and Bell 1991 is what our n-gram model does).
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · How a network learns

Counting has one fault that can't be repaired. To a table, two words are either the same or not. What it counted after *le chat noir* (the black cat) tells it nothing about *le chien noir* (the black dog). It cannot know that cats and dogs have anything in common. To share what was learned, words need to be **more or less alike**. For that they must be made of numbers.

Here is a language with two sentences: *le chat dort* and *la vache dort* (the cat sleeps, the cow sleeps). Five words, four things to learn: after *le* comes *chat*, after *la* *vache*, after both animals *dort*.

The network is two tables of numbers. In the first, each word has a row of two numbers that stand for it when it is **read**: its {term:embedding}, or word vector. In the second, the *matrix*, each word has another row, for when it is **guessed**. All numbers are arbitrary so far; learning will turn them.

| | *le* | *la* | *chat* | *vache* | *dort* |
|---|---|---|---|---|---|
| read as (table) | (1, 0) | (0, 1) | (0.5, −0.5) | (−0.5, 0.5) | (0, 0) |
| guessed by (matrix) | (0, 0) | (0, 0) | (0, 1.1) | (1.1, 0) | (0, 0) |

To guess, it takes the row $x$ of the word it read, and compares it with every row of the matrix. The comparison is a {term:dot product}: multiply number by number and add up. (1, 0) and (1.1, 0) give 1 · 1.1 + 0 · 0 = 1.1. One dot product for each row of a matrix, all at once, is a {term:linear layer}; in code `matrix @ x`.

The results are the scores of the next words, in a language model called {term:logits}. The softmax turns them into shares, which are the probabilities.
"""

# %% kind="diagram" hide_input=true
PARTS = {"word": (0, 0), "table": (1, 0), "matrix": (2, 0), "softmax": (3, 0)}
NOTES = {"table": "its row x", "matrix": "logits", "softmax": "shares"}
views.diagram(
    PARTS, list(pairwise(PARTS)), lit=("table", "matrix", "softmax"), notes=NOTES,
    title="The smallest language model",
)

# %% [markdown] kind="text"
r"""
**By hand.** The row of *le* is (1, 0), so each logit is the first number of a row of the matrix: 0, 0, 0, 1.1, 0. Raise $e$ to them: 1, 1, 1, 3, 1 (since $e^{1.1} \approx 3$), together 7. So *vache* gets 3/7, everything else 1/7. Wrong: after *le* comes *chat*.

**Torch, for NumPy users.** A tensor is an array, and `@`, slices and arithmetic are those of NumPy. What NumPy calls `axis` is `dim`: `dim=-1` is the last one, here the words. `t.log()` is `np.log(t)`, `t.clone()` is `t.copy()`, `t.numel()` is `t.size`, `t.view(-1)` is `t.reshape(-1)`; `float(t)` and `t.item()` make a Python number of a tensor that holds one. `with torch.no_grad():` says that nothing is learned inside: no gradient is prepared.
"""

# %% kind="example"
tiny = ["le", "la", "chat", "vache", "dort"]
le, la, chat, vache, dort = range(5)
table = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, -0.5], [-0.5, 0.5], [0.0, 0.0]])
matrix = torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, 1.1], [1.1, 0.0], [0.0, 0.0]])


def predict_next(word, table, matrix):
    """What the network predicts: a probability for each word."""
    return torch.softmax(matrix @ table[word], dim=-1)


print("after 'le':", fixed(predict_next(le, table, matrix), 2))

# %% [markdown] kind="text"
r"""
**How wrong is it?** The {term:loss} is one number that says how wrong a network is. Ours is the {term:cross-entropy}: $-\ln$ of the share of the word that really came. Call it the *surprise*.

| share of the right word | 1 | ½ | 1/7 | 1/100 | 1/1,000,000 |
|---|---|---|---|---|---|
| loss | 0 | 0.69 | 1.95 | 4.6 | 13.8 |

Sure and right costs nothing. Sure and wrong costs a lot, without limit. And why a logarithm? The probability of a sentence is a product over its words. Logarithms turn it into a sum, so each word adds its own surprise.

**Which way is better?** The numbers that training turns are a network's **parameters**, also called its {term:weight|weights}; ours has 20. Take one of them, nudge it a little, watch the loss. If the loss falls, that was the right direction.

The change of the loss divided by the change of the parameter is a *slope*. Its sign says which way is uphill, its size how steep it is. All slopes together, one for each parameter, are the {term:gradient}.

One nudge: the first number in the row by which *chat* is guessed goes from 0 to 0.01. The loss of *chat* after *le* goes from {result:lesson_01/nudge/before:.4f} to {result:lesson_01/nudge/after:.4f}. The slope is −{result:lesson_01/nudge/fall:.4f} / 0.01 = −{result:lesson_01/nudge/slope size:.2f}. The next cell does this with all 20, one after the other.
"""

# %% kind="loop"
def loss_of(table, matrix):
    """The surprise when 'chat' comes after 'le'."""
    return -predict_next(le, table, matrix)[chat].log()


def slopes_by_nudging(numbers, loss, by=0.01):
    """The slope of the loss for every number of a table: nudge it, and measure."""
    slopes, loss_before = torch.zeros_like(numbers), loss(numbers)
    for i in range(numbers.numel()):
        nudged = numbers.clone()
        nudged.view(-1)[i] += by
        slopes.view(-1)[i] = (loss(nudged) - loss_before) / by
    return slopes


matrix_slopes = slopes_by_nudging(matrix, lambda nudged: loss_of(table, nudged))
table_slopes = slopes_by_nudging(table, lambda nudged: loss_of(nudged, matrix))
for word, in_table, in_matrix in zip(tiny, table_slopes, matrix_slopes, strict=True):
    print(f"{word:6} table {fixed(in_table, 2):14} matrix {fixed(in_matrix, 2)}")

# %% kind="quiz"
quiz("01", "loss")

# %% [markdown] kind="text"
r"""
**One step of learning.** Guess, measure, find the gradient, and go a little against it, with all parameters at once:

$$ \text{new} = \text{old} - \text{rate} \cdot \text{gradient} $$

The {term:learning rate} says how much of the gradient one step takes away. Minus, because the gradient points uphill.
"""

# %% [markdown] kind="formula" track="core"
r"""
But finding the gradient took 20 trials for 20 numbers, and a network with a million would need a million. Look at the first column of the matrix's slopes: 0.14, 0.14, −0.86, 0.43, 0.14. Those are the shares 1/7, 1/7, **1/7 − 1**, 3/7, 1/7. No accident: the slope of the loss for a *logit* is always its share, minus 1 for the right word. Call it the **error** of that word. (Too large a share: positive, push it down. The right word: negative, pull it up.)

<details><summary>Why share minus 1?</summary>

1. With logits $z_i$ and $S = \sum_i e^{z_i}$, the right word $r$ has the share $e^{z_r} / S$. So loss $= \ln S - z_r$.
2. The slope of $e^z$ is $e^z$: if $z_i$ grows by a tiny $h$, then $S$ grows by $h \, e^{z_i}$.
3. The slope of $\ln S$ is $1/S$: so $\ln S$ grows by $h \, e^{z_i} / S$, which is $h$ times the share of $i$.
4. The other part, $-z_r$, moves only if $i$ is the right word: by $-h$. Divide by $h$: share, minus 1 if right.

</details>

The rest follows by asking who touches what.

- A number in the matrix touches one logit, and moves it by $x_j$ times the nudge. So its slope is error times $x_j$.
- A number of $x$ touches *every* logit, each through its own number in the matrix. So its slope is the sum of all errors, each times that number.

$$ \text{error}_i = \text{share}_i - [\,i \text{ is right}\,] \qquad
\frac{\partial\,\text{loss}}{\partial\,\text{matrix}_{ij}} = \text{error}_i \, x_j \qquad
\frac{\partial\,\text{loss}}{\partial\, x_j} = \sum_i \text{error}_i \, \text{matrix}_{ij} $$

| symbol | name in code | shape | here |
|---|---|---|---|
| $x$ | `table[word]` | (width) | 2 |
| matrix | `matrix` | (words, width) | 5 × 2 |
| error | `error` | (words) | 5, they sum to 0 |

($\partial$ reads "change of".) To find all slopes in one go, from the loss backwards through the network, is {term:backpropagation}. It works for networks of any size.
"""

# %% [markdown] kind="text" exercise="gradient_step"
r"""
**Build it: one gradient step.** Return the new table, the new matrix, and the loss *before* the step. Leave the tensors you are given unchanged (`.clone()` makes a copy), and compute the gradient with the formulas above.

Work in small steps and try each one with the numbers above: the row, the probabilities, the loss, the errors, the two gradients, the new table and matrix. Use `torch.softmax`, because a bare `torch.exp` overflows when the logits get large. `torch.outer(a, b)` is the matrix of all products $a_i b_j$; `matrix.T` swaps rows and columns.
"""

# %% kind="exercise" exercise="gradient_step" title="One step of learning, by hand" difficulty=3 importance=5 track="core"
def gradient_step(table, matrix, word, right, rate):
    """table and matrix (words, width); word was read, right came next; rate a number

    ->  new table, new matrix, loss before the step
    """
    # solution
    x = table[word]
    probabilities = torch.softmax(matrix @ x, dim=0)
    error = probabilities.clone()
    error[right] -= 1
    new_matrix = matrix - rate * torch.outer(error, x)
    new_table = table.clone()
    new_table[word] = x - rate * (matrix.T @ error)
    return new_table, new_matrix, -torch.log(probabilities[right])
    # end solution

# %% kind="check" exercise="gradient_step"
check("gradient_step", gradient_step)

# %% [markdown] kind="hints" exercise="gradient_step"
r"""
### A nudge
First only the loss: row, logits, shares, $-\ln$ of one of them. It should be {printed:one step/before the step:} for *chat* after *le*. Then the errors: the shares, with 1 taken from the right word's. Compare your two gradients with the slopes found by nudging: they stand printed above.

---
### Step by step
1. `x` is the row of `word`; the shares, `probabilities`, are the softmax of `matrix @ x`; the loss is minus the logarithm of `probabilities[right]`.
2. `error` is a *copy* of the shares, with 1 taken away at `right`.
3. The gradient of the matrix is the outer product of `error` and `x`. The gradient of `x` is `matrix.T @ error`, with the matrix as it was.
4. Take `rate` times the gradient away. In the table only one row moves.

---
### "Your function changes … in place"
`table[word] -= ...` writes into the table of whoever called you. Copy first: `new_table = table.clone()`.
"""

# %% kind="see" name="one step"
step = yours("gradient_step")  # (table, matrix, word, right, rate)
new_table, new_matrix, loss = step(table, matrix, le, chat, 1.0)

loss_after = loss_of(new_table, new_matrix)
print("loss before the step:", fixed(loss, 2), "and after:", fixed(loss_after, 2))
print("row of 'le':", fixed(table[le], 2), "became", fixed(new_table[le], 2))
print("guesses 'chat':", fixed(matrix[chat], 2), "became", fixed(new_matrix[chat], 2))

# %% kind="library"
auto_table = table.clone().requires_grad_()  # torch keeps track of these two
auto_matrix = matrix.clone().requires_grad_()
logits = auto_matrix @ auto_table[le]
loss = F.cross_entropy(logits, torch.tensor(chat))  # softmax and -ln, in one
loss.backward()  # fills in .grad

torch.testing.assert_close(table - 1.0 * auto_table.grad, new_table)
torch.testing.assert_close(matrix - 1.0 * auto_matrix.grad, new_matrix)
print("torch's step and that of gradient_step: the same")

# %% [markdown] kind="text"
r"""
The row of *le* and the row that guesses *chat* have moved towards each other, so their dot product has grown. Nobody told them what the words mean. They were only told what came next.

And nobody has to find gradients by hand, neither by nudging, which takes a million trials for a million parameters, nor by formulas. `requires_grad_()` marks a tensor; torch then remembers every operation on it, and `backward()` goes back through them, from the loss to the parameters, and leaves all slopes in `.grad` in one go. This is {term:backpropagation}; torch calls its own **autograd**. It took the same step as `gradient_step`, whose formulas were worked out by hand.

Now the **loop**: all four pairs in turn, again and again. One round through all examples is an {term:epoch}. Only the learning rate is left to choose. We try 0.03, 0.3, 1.0 and 2.0.
"""

# %% kind="code"
pairs = [(le, chat), (la, vache), (chat, dort), (vache, dort)]


def learn_tiny(rate, epochs=10):
    """The two tables after training, and the mean loss of every epoch."""
    learned, losses = (table, matrix), []
    for _ in range(epochs):
        epoch = []
        for word, right in pairs:
            *learned, loss = step(*learned, word, right, rate)
            epoch.append(float(loss))
        losses.append(sum(epoch) / len(epoch))
    return *learned, losses

# %% kind="predict" hide_input=true
curves = {}
for rate in (0.03, 0.3, 1.0, 2.0):
    curves[f"rate {rate:g}"] = [min(loss, 1e5) for loss in learn_tiny(rate)[2]]
figure = views.lines(
    range(1, 11), curves, x_name="epoch", y_name="mean loss", log_y=True,
    title="Four learning rates (cut off at 100,000)",
)
predict("01", "rate-two", figure)

# %% kind="see"
final_table, final_matrix, losses = learn_tiny(1.0, epochs=30)
for word in (le, la, chat, vache):
    probabilities = predict_next(word, final_table, final_matrix)
    rows = f"{fixed(table[word], 1):12} became {fixed(final_table[word], 1):12}"
    best = f"{tiny[probabilities.argmax()]} {fixed(probabilities.max(), 2)}"
    print(f"{tiny[word]:6} {rows} next: {best}")

# %% [markdown] kind="text"
r"""
Look at *chat* and *vache*. They began as opposites, (0.5, −0.5) and (−0.5, 0.5). Now their rows nearly agree, because the same word follows both. This is what no table of counts can do: **words that behave alike come to lie close together**, and what is learned about one then helps the other.
"""

# %% kind="explain" track="core" contents="how a network learns, explained in your own words"
explain("01", "how-it-learns")

# %% [markdown] kind="text" track="short"
r"""
## 4 · The same five lines for every model to come

Now for real: {printed:corpus/words,} words, 20,000 sentences. What changes? Not the way of learning.

- **More past.** The network reads four words: their rows side by side, 4 × 32 numbers.
- **A {term:hidden layer}.** Between table and matrix stands another linear layer, of 96 numbers, each bent by a curve called tanh, which keeps it between −1 and 1. Without the bend, two linear layers in a row would be no more than one, as 2 · (3 · x) is just 6 · x. With it, the network can learn *if this word and that word, then*. A network with a hidden layer is an {term:MLP} (multi-layer perceptron). The language model of Bengio and others (2003) is one. (Torch's `nn.Linear` also adds a learned number, the *bias*, to each of its results.)
- **Many examples at a time.** Each step takes the mean gradient of a {term:batch} of 1,024 examples, drawn by lot: steadier than one, cheaper than all.
- **A better step.** {term:Adam} is gradient descent with a step size of its own for every parameter (lesson 15). What takes the steps is called the *optimizer* in code.

And text it never learns from: a {term:test set}, 1,000 sentences put aside until the very end. (A third heap, the {term:validation set}, is for choosing learning rates and such. Text by which something was chosen is no longer new.)
"""

# %% kind="diagram" hide_input=true
DEEPER = {"four words": (0, 0), "table": (1, 0), "hidden layer": (2, 0)}
DEEPER |= {"matrix": (3, 0), "softmax": (4, 0), "right word": (4, 1), "loss": (5, 0.5)}
chain = ["four words", "table", "hidden layer", "matrix", "softmax", "loss"]
views.diagram(
    DEEPER, [*pairwise(chain), ("right word", "loss")], lit="hidden layer",
    notes={**NOTES, "table": "four rows", "hidden layer": "bent by tanh"},
    title="The window MLP (2003)",
)

# %% kind="code"
def learn(model, pasts, nexts, *, rate, steps, batch=1024):
    """The training loop, for any model: guess, compare, forget, backwards, step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        rows = torch.randint(len(pasts), (batch,), generator=generator)
        logits = model(pasts[rows])  # 1. guess
        loss = F.cross_entropy(logits, nexts[rows])  # 2. compare with what came
        optimizer.zero_grad()  # 3. forget the last gradient
        loss.backward()  # 4. find the new one
        optimizer.step()  # 5. a step downhill


def windows(sentences, size=4):
    """For every position of a text: the `size` tokens before it, and its token."""
    pasts, nexts = [], []
    for words in sentences:
        tokens = ["<s>"] * size + [*words, "</s>"]
        ids = [token_ids[token] for token in tokens]
        pasts += [ids[i - size : i] for i in range(size, len(ids))]
        nexts += ids[size:]
    return torch.tensor(pasts), torch.tensor(nexts)

# %% kind="train" ignore_output=true
token_ids = {token: i for i, token in enumerate(["<s>", "</s>", *vocabulary])}
mlp = nn.Sequential(
    nn.Embedding(len(token_ids), 32),  # the table: a row for each token
    nn.Flatten(),  # four rows side by side
    nn.Linear(4 * 32, 96),  # the hidden layer
    nn.Tanh(),
    nn.Linear(96, len(token_ids)),  # the matrix
)
test_pasts, test_nexts = windows(new_text)


def test_loss():
    with torch.no_grad():
        return F.cross_entropy(mlp(test_pasts), test_nexts).item()


print("loss on new text before training:", fixed(test_loss(), 2))
learn(mlp, *windows(text), rate=0.01, steps=400)
print("loss on new text after 400 steps:", fixed(test_loss(), 2))
assert test_loss() < 2.6

# %% kind="quiz"
quiz("01", "five-lines")

# %% [markdown] kind="text" track="short"
r"""
## 5 · How good is it? Perplexity

A loss of about 2.5: is that good? $e$ raised to the mean loss is a number one can picture: the {term:perplexity}. A model with a perplexity of 12 is as unsure as if it had to pick among 12 equally likely words each time. Lower is better, and 1 is perfect. One that knows nothing and gives all tokens the same share has their number: here {result:lesson_01/corpus/token types:.0f}. (Before training ours was even worse, $e^{{result:lesson_01/untrained MLP/loss:.2f}} \approx {result:lesson_01/untrained MLP/perplexity:.0f}$: its random shares were uneven, and favouring some words without a reason costs more than it gains.)
"""

# %% [markdown] kind="text" exercise="perplexity"
r"""
Here is a first version. It takes the probabilities that a model gave to the words that actually came next, perhaps thousands of them. Does it compute what the text above says? Make its check pass.
"""

# %% kind="exercise" exercise="perplexity" mode="bug" title="Perplexity" difficulty=2 importance=5 track="core"
def perplexity(probabilities):
    """probabilities (words,) of the words that came next, all above 0  ->  a number"""
    # bug
    typical = probabilities.mean()
    return 1 / typical
    # end bug
    # solution
    losses = -torch.log(probabilities)
    return torch.exp(losses.mean())
    # end solution

# %% kind="check" exercise="perplexity"
check("perplexity", perplexity)

# %% [markdown] kind="hints" exercise="perplexity"
r"""
### A nudge
Try `[0.5, 0.125]`: among 2 words, then among 8. Twice among 4 would be as hard, for 2 · 8 = 4 · 4. What does the first version say? What does it make of one word with a chance of 0.000001?

---
### Step by step
The mean loss, from the inside out: a logarithm for every chance, minus, the mean. Then $e$ to that.
"""

# %% [markdown] kind="text" exercise="test_perplexity"
r"""
**If you have time: write the test.** Wrong perplexities look harmless: they are numbers above 1, too. Write a function that takes somebody's `perplexity`, hands it a tensor of chances whose answer *you* know (a tensor, not a list), and raises (with `assert`) if it is wrong. Leave room for rounding. It must accept every right one and catch the wrong ones; the verdict says which you let through.
"""

# %% kind="exercise" exercise="test_perplexity" mode="test" title="Write the test" difficulty=2 importance=3 track="stretch"
def test_perplexity(perplexity):
    """Takes a function like yours; raises if it is wrong."""
    # solution
    cases = (([0.5, 0.125], 4), ([0.2, 0.2, 0.2], 5), ([1.0, 1.0], 1))
    for probabilities, expected in cases:
        assert abs(float(perplexity(torch.tensor(probabilities))) - expected) < 0.001
    # end solution

# %% kind="check" exercise="test_perplexity"
check("test_perplexity", test_perplexity)

# %% [markdown] kind="hints" exercise="test_perplexity"
r"""
### A nudge
Which chances have an answer that you know without computing? All equal ones: three times 1/5 is a perplexity of 5. But many wrong versions get equal chances right. Add a pair of different ones.

---
### Step by step
Two or three small tensors with their answers: `[0.5, 0.125]` gives 4, `[0.2, 0.2, 0.2]` gives 5. Compare with `abs(a - b) < 0.001`, not with `==`.
"""

# %% kind="see" ignore_output=true track="core"
measure = yours("perplexity")
with torch.no_grad():
    predictions = torch.softmax(mlp(test_pasts), dim=-1)
probabilities = predictions[torch.arange(len(test_nexts)), test_nexts]  # of what came

print("our MLP, 400 steps:", fixed(measure(probabilities), 1))
assert 10.5 < measure(probabilities) < 12.4

# %% [markdown] kind="text"
r"""
Now three models on the same 1,000 new sentences, trained beforehand (the networks with three random starts each; counting needs none): the n-gram model with $n = 3$; another MLP that sees four words, larger than ours (120,000 parameters, not 64,000) and trained on ten times as many examples; and an {term:recurrent neural network|RNN} of 120,000 parameters, the model of lesson 02, which reads word by word and hands a summary of all it has read from each word to the next. (All three know the {result:toy_language_models/rnn_lm/config/vocab_size:.0f} tokens of our two languages, English ones too, which soon get a share near 0.)
"""

# %% kind="predict" hide_input=true
means = mean_over_seeds(
    "toy_language_models", lambda run: run["scores"]["test"]["perplexity"]
)
names = {"n-gram (2 words)": "ngram_lm", "MLP (4 words)": "mlp_lm"}
names |= {"RNN (all words)": "rnn_lm"}
figure = views.bars(
    [means[name] for name in names.values()], labels=list(names),
    name="perplexity", digits=1, title="The same new text; lower is better",
)
predict("01", "three-models", figure)

# %% [markdown] kind="text" track="short"
r"""
{result:toy_language_models/ngram_lm/scores/test/perplexity:.1f}, {result:toy_language_models/mlp_lm/scores/test/perplexity:.1f}, {result:toy_language_models/rnn_lm/scores/test/perplexity:.1f}. Is the comparison fair, with two words of past against four and against all? Give the n-gram model more: at $n = 2, 3, 4, 5$ it has {result:lesson_01/n-gram/perplexity/2:.1f}, {result:lesson_01/n-gram/perplexity/3:.1f}, {result:lesson_01/n-gram/perplexity/4:.1f} and {result:lesson_01/n-gram/perplexity/5:.1f}. More past makes it **worse** after $n = 3$: there are too many possible n-grams, and most of what it is asked it never saw. The MLP can use four words, because words that behave alike share what they learn. And the RNN gains again by having no window at all.

(Perplexities can be compared only on the same text with the same vocabulary.)

## 6 · Writing, one word at a time

A language model writes by guessing, taking a word, and reading it as if somebody else had said it. Which word to take? Always the likeliest is one way. The other is {term:sampling}: draw by lot, so that a word with a share of ¼ comes up one time in four.

One dial is usual: the {term:temperature} divides the logits before the softmax. Below 1 the likely words get likelier (at 0 the likeliest is always taken), above 1 the unlikely ones get their chance. It is the dial of lesson 00, turned the other way. Below you can watch all three models write, step by step: a guess first, then the goals.
"""

# %% [markdown] kind="text" exercise="sample_next"
r"""
Picture a line from 0 to 1. The first interval on it belongs to word 0 and is as long as its probability; the next belongs to word 1, and so on. A random number between 0 and 1, `lot`, falls into one of these intervals. Return the index of its word. An interval includes its start but not its end: with probabilities ½, ¼, ¼, a `lot` of 0.5 selects word 1. Rounding may leave the sum of the probabilities slightly below 1; if `lot` is not below that sum, return the last index.
"""

# %% kind="exercise" exercise="sample_next" title="Draw a word" difficulty=2 importance=4 track="core"
def sample_next(probabilities, lot):
    """probabilities (words,), lot from 0 to just below 1  ->  index of a word"""
    # solution
    total = 0.0
    for index, probability in enumerate(probabilities):
        total += float(probability)
        if lot < total:
            return index
    return len(probabilities) - 1
    # end solution

# %% kind="check" exercise="sample_next"
check("sample_next", sample_next)

# %% [markdown] kind="hints" exercise="sample_next"
r"""
### A nudge
Go along the line from 0 and add up the probabilities as you go. Stop as soon as you have passed `lot`.

---
### Step by step
Keep a running sum. The answer is the first index where it is *larger* than `lot`, or the last index if there is none. In one line: `torch.cumsum`, `torch.searchsorted(..., right=True)` and `min`.
"""

# %% kind="example" track="core"
draw = yours("sample_next")
rnn = load_shipped("rnn_lm")


def generate(system, seed, longest=18):
    """Guess, draw, read what was drawn, and again, until the end mark is drawn."""
    generator = torch.Generator().manual_seed(seed)
    state, token, tokens = system.model.start(1), BOS, []  # BOS is the start mark
    while token != EOS and len(tokens) < longest:
        with torch.no_grad():
            logits, state, _ = system.model.step(state, torch.tensor([token]))
        probabilities = torch.softmax(logits[0], dim=-1)
        token = draw(probabilities, torch.rand(1, generator=generator).item())
        tokens.append(token)
    return system.tokenizer.decode(tokens)


for seed in (1, 2, 5):
    print(generate(rnn, seed))

# %% kind="predict"
predict("01", "cold-ngram", WordByWord())

# %% [markdown] kind="text"
r"""
At temperature 0 the n-gram model goes in a circle: *les très jeunes sœurs ont acheté les très jeunes sœurs ont acheté* … (the very young sisters bought the very young sisters bought). Now compare what the three write at temperature 1. The n-gram model is right from each word to the next, and soon lost: *les pères dans un jardin tranquille parce qu' ils étaient riches* (the fathers in a quiet garden because they were rich) lacks its main verb, and a model with two words of memory cannot notice. The longer a model's past, the longer it stays on its way.

Writing this way has **two costs**, and both will follow us to the end of the course: the Transformer writes like this too.

**It is strictly serial.** The tenth word cannot be drawn before the ninth is known. *Reading* a given text is different: there all words are known, and the MLP above guessed 1,024 places in one go. In this plain way no number of processors writes a sentence faster than word by word.

**Errors pile up.** A longer text has more places to go wrong; that alone would do. And each word is drawn, then believed, so that one error *may* bring the next. A machine can count pairs of neighbouring words that the 20,000 sentences never show. In new text of our language they are rare, {result:lesson_01/unseen pairs/new text/pairs:.1%} of all pairs; in 1,000 sentences that the RNN wrote it is {result:lesson_01/unseen pairs/RNN/pairs:.1%}. Small, for one pair. And for a sentence? So many have no such pair:

| words | 1 to 5 | 6 to 11 | 12 to 17 | 18 to 40 |
|---|---|---|---|---|
| new text | {result:lesson_01/unseen pairs/new text/sentences without/1 to 5:.0%} | {result:lesson_01/unseen pairs/new text/sentences without/6 to 11:.0%} | {result:lesson_01/unseen pairs/new text/sentences without/12 to 17:.0%} | {result:lesson_01/unseen pairs/new text/sentences without/18 to 40:.0%} |
| by the RNN | {result:lesson_01/unseen pairs/RNN/sentences without/1 to 5:.0%} | {result:lesson_01/unseen pairs/RNN/sentences without/6 to 11:.0%} | {result:lesson_01/unseen pairs/RNN/sentences without/12 to 17:.0%} | {result:lesson_01/unseen pairs/RNN/sentences without/18 to 40:.0%} |
"""

# %% kind="quiz"
quiz("01", "costs")

# %% [markdown] kind="text" contents="a 5-gram model that has learned its text by heart"
r"""
## Break it

A 5-gram model, measured twice: on sentences it has counted, and on new ones.

> **Before you run it:** on new text it has about {result:lesson_01/n-gram/perplexity/5:.1f}. And on its own? A quarter of that, about the same, or four times as much?
"""

# %% kind="break" name="overfitting"
encode = rnn.tokenizer.encode
five_gram = NGramLM(NGramLMConfig(vocab_size=rnn.tokenizer.vocab_size, order=5))
five_gram.fit([encode(" ".join(words)) for words in text])


def probabilities_of(words):
    """The probability that the model gives each word of a sentence, and its end."""
    tokens = torch.tensor([BOS, *encode(" ".join(words)), EOS])
    logits = five_gram.decode(tokens[None, :-1])[0][0]
    predictions = torch.softmax(logits, dim=-1)
    return predictions[torch.arange(len(tokens) - 1), tokens[1:]]


for name, sentences in (("its own text", text[:200]), ("new text", new_text[:200])):
    probabilities = torch.cat([probabilities_of(words) for words in sentences])
    print(f"{name:12} perplexity {fixed(measure(probabilities), 1)}")

# %% [markdown] kind="text"
r"""
About a quarter. It has not learned the language, it has learned the text by heart: {term:overfitting}. Networks do that too, if they are large and the text is small, and it is why a model is measured on text that nobody learned from.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself

The first try counts for your score; you may try again as often as you like, and every answer gets a reason.
"""

# %% kind="quiz"
quiz("01", "closing")

# %% [markdown] kind="instructor"
r"""
**Ask the room (2 min), before section 1.** "Finish my sentence: *I would like a cup of …*" Collect answers, count them on the board: that is a probability for each next word. Then: "*… of the word that the man whom we met yesterday …*": nobody has heard that beginning before, and everybody can go on.

**Before the long build.** Let everybody work out the shares of *le* on paper (1/7, 1/7, 1/7, 3/7, 1/7), then the five errors. Whoever has the errors has the exercise.

**Learners will say / what it is / one-line answer**

| they say | what it is | answer |
|---|---|---|
| "why minus, the gradient is where to go" | direction | It points uphill. Nudge: −0.86 means the loss falls if the number grows. |
| "the network knows what *chat* means" | reading too much in | It knows what comes after it. That is all it was told. |
| "a smaller loss on the training text is better" | overfitting | Show the 5-gram: {printed:overfitting/own text} at home, {printed:overfitting/new text} abroad. |
| "softmax, then `cross_entropy`" | M29 | It has the softmax inside; twice is flat and learns slowly. |
| "perplexity 12 means 12% wrong" | the unit | It is a number of words, not a share. |

**Think, pair, share (4 min).** "Row of *dort*: why has it not moved at all?" Expected: nothing follows it in the tiny text, so it is never read, and only a row that was read gets a gradient. Follow-up: and its row in the *matrix*? (It moves in every step: a word not guessed is pushed down.)

**If time is short**, cut the test exercise and the 5-gram (*Break it*); keep the long build and the learning rates.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | what it is |
|---|---|
| language model | gives each possible next word a probability |
| n-gram | counts what followed the last $n-1$ words; its table explodes with $n$ |
| embedding | a word as a row of learned numbers |
| logits | scores of the next words, before the softmax |
| cross-entropy, the loss | $-\ln$ of the share of the word that came |
| gradient | slope of the loss for every parameter |
| learning rate | how much of the gradient a step takes |
| perplexity | $e$ to the mean loss: among how many words it wavers |
| temperature | divides the logits when writing: cold picks, hot shares |

- Any network learns by the same five lines: guess, compare, forget, backwards, step.
- Counting shares nothing between words. Embeddings do: rows of words that behave alike come to agree.
- {result:toy_language_models/ngram_lm/scores/test/perplexity:.1f} → {result:toy_language_models/mlp_lm/scores/test/perplexity:.1f} → {result:toy_language_models/rnn_lm/scores/test/perplexity:.1f}: n-gram, MLP, RNN, on the same text.
- Measure on new text, never on what was learned.
- Writing is serial, and its errors pile up.

**Still missing.** The MLP's window ends after four words. *La chèvre … parce qu'* **elle** (the goat … because **it**): what lies between may be longer than any window, and a wider one needs more parameters for each place. The wish: read word by word, and squeeze the **whole past** into one summary of fixed size that is carried along. Lesson 02 builds it, and finds out how long it remembers.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Bengio, Ducharme, Vincent and Jauvin, *A Neural Probabilistic Language Model*, Journal of Machine Learning Research 3 (2003), sections 1 and 2: why counting fails, and what word vectors repair. [jmlr.org](https://www.jmlr.org/papers/v3/bengio03a.html)
- Shannon, *A Mathematical Theory of Communication* (1948), section 3: English written by n-grams drawn by hand from a book. [doi.org](https://doi.org/10.1002/j.1538-7305.1948.tb01338.x)
- Grant Sanderson (3Blue1Brown), *Gradient descent, how neural networks learn*: the same idea as moving pictures. [3blue1brown.com](https://www.3blue1brown.com/lessons/gradient-descent)
"""
