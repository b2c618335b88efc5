# Lesson 01 · the source. Edit this file, then run `python3 -m course_lib build 01`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 01 · Guessing the next word

**The question:** how can a machine predict the next word, and how does it learn to?

About {minutes} minutes. You need Python with a little NumPy, school algebra, and the softmax from [lesson 00](00_start_here.ipynb). You don't need to know PyTorch or neural networks: this lesson introduces both, starting with a network so small that you can see all its numbers at once.
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **compute** by hand what a small network predicts and what its loss is, and **find** the gradient by changing one number at a time;
2. **explain** how the chain rule finds the gradient and how gradient descent uses it, and **recognise** the five lines of every training loop;
3. **evaluate** a language model by its perplexity, on text that it wasn't trained on;
4. **describe** how a model generates text one word at a time, and **name** two drawbacks;
5. **build** a language model by counting n-grams, and **explain** what happens as $n$ grows. <!-- core -->
"""

# %% [markdown] kind="instructor"
r"""
**Open with (3 min)** "Finish my sentence: *I would like a cup of …*" Collect answers and count them on the board: the counts give a probability for each next word. Then try "*The word that the man whom we met yesterday …*". No one has heard this beginning before, yet everyone can continue it. Counting whole beginnings can't explain that.

**If time is short,** skip the exercises `count_next` and `sample_next`; keep the nudging, the chain rule, `gradient_step` and the learning rates. The best place for a break is before section 4.
"""

# %% kind="setup"
import torch
from torch import nn
from torch.nn import functional as F

from course_lib import views
from course_lib.formatting import fixed
from course_lib.results import mean_over_seeds, read_results
from course_lib.teaching import check, explain, predict, quiz, start_lesson, yours
from course_lib.text import BOS, EOS, splits
from course_lib.translation import load_shipped
from lessons.l01_guessing_the_next_word import (
    WordByWord, embedding_map, key_picture, nearest_neighbours, ngrams, windows,
    word_classes,
)

start_lesson("guessing_the_next_word", seed=1)

# %% [markdown] kind="text"
r"""
This is where the lesson leads: a network that has learned from French text alone what comes after *(le) chat a bu le* (the cat drank the). On its way, it has given every word a vector of 64 numbers.
"""

# %% kind="picture" name="key picture" hide_input=true
key_picture.draw()

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Here are two questions on lesson 00. Answer them from memory.
"""

# %% kind="recall"
quiz("01", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · Counting which word comes next

Your phone suggests the next word while you type. A {term:language model} does the same: given the beginning of a text, it computes a probability for every possible next word. These probabilities sum to 1, so together they are a {term:probability distribution}. If we choose a word, append it to the text and repeat, the model generates a sentence. That's how chatbots write, and how the translators in this course work.

The units of text that a model works with are its {term:token|tokens}. Ours are whole words; larger systems use pieces of words, called {term:subword|subwords} (lesson 15, optional). All the tokens that a model knows form its {term:vocabulary}.

Our text, or {term:corpus}, is the French half of the sentence pairs from lesson 00. It is split into three parts. The model learns from the {term:training set}. We use the {term:validation set} to compare models and to choose settings. The {term:test set} stays untouched while we choose: text that has influenced our choices can no longer show how well a model does on new text.
"""

# %% kind="example" name="corpus"
corpus = splits(seed=0)
text = [list(pair.tgt) for pair in corpus.train]
validation_text = [list(pair.tgt) for pair in corpus.validation]
vocabulary = sorted({word for words in text for word in words})

for words in text[:3]:
    print(" ".join(words))
n_words = sum(map(len, text))
print(f"training set: {len(text):,} sentences with {n_words:,} words")
print(f"vocabulary: {len(vocabulary)} different words")

# %% [markdown] kind="text"
r"""
The oldest kind of language model is based on counting. To predict what follows *le chat* (the cat), go through all occurrences of *le chat* in the corpus and count the words that come next. Each count divided by the total is a probability.

This doesn't work for long beginnings, because hardly any of them occur twice. Our corpus contains *les rois fatigués qui étaient heureux ont acheté* (the tired kings who were happy bought) exactly once. So we simplify and pretend that only the last few words matter, the **context**. This is the {term:Markov assumption}. A sequence of $n$ consecutive words is an {term:n-gram}: a context of $n-1$ words and the word that follows. With $n = 2$ the context is one word, and with $n = 3$ it is two.

Two special tokens mark where a sentence starts and ends. The start token `<s>` gives the first word a context. The end token `</s>` is predicted like any other word, so that the model learns when to stop.
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** Ask what the context of the first word is if $n = 3$. It needs two start tokens; the first version has only one.
"""

# %% [markdown] kind="text" exercise="count_next"
r"""
Here is a first version of a function that counts n-grams for any $n \ge 1$. For `[["le", "chat", "dort"], ["le", "chat", "mange"]]` and $n = 2$ it should return

`{("<s>",): {"le": 2}, ("le",): {"chat": 2}, ("chat",): {"dort": 1, "mange": 1}, ("dort",): {"</s>": 1}, ("mange",): {"</s>": 1}}`

The context is always a tuple of exactly $n-1$ tokens, even before the first word of a sentence; for $n = 1$ it is empty. Every word and every end token is counted, but start tokens never are. An empty sentence still has an end token, and the lists you are given must not change. Does the function do all this? Make its check pass.
"""

# %% kind="exercise" exercise="count_next" mode="bug" title="Count what comes next" difficulty=2 importance=3 track="core"
from lessons.l01_guessing_the_next_word.solutions import count_next

# %% kind="check" exercise="count_next"
check("count_next", count_next)

# %% [markdown] kind="hints" exercise="count_next"
r"""
### Try other values of n
The function is right for $n = 2$. Call it with one short sentence and $n = 3$, then with $n = 1$, and compare the result with what you would count by hand.

---
### Step by step
With $n = 3$, the context of the first word should be `("<s>", "<s>")`. How many start tokens does `row` need for that? And how many if $n = 1$ and the context is empty?
"""

# %% kind="see" hide_input=true
count = yours("count_next")
after_cat = count(text, 2)[("chat",)]
likeliest = sorted(after_cat, key=after_cat.get, reverse=True)[:7]
total = sum(after_cat.values())

views.bars(
    [after_cat[word] / total for word in likeliest], labels=likeliest,
    name="probability", high=0.2, title=f"Words after 'chat' ({total} occurrences)",
)

# %% kind="quiz" track="core" contents="two questions on counting"
quiz("01", "counting")

# %% [markdown] kind="text" contents="how many 5-grams of new text were never counted, with a prediction, and what smoothing does about it"
r"""
## 2 · Longer contexts and unseen n-grams

A single word of context is very little. Why not use four, and count 5-grams? The next cell, whose code is collapsed, prints how many n-grams are possible with {result:lesson_01/corpus/vocabulary:.0f} words and the end token, and how many different ones occur in the training set, for $n = 1$ to 5. Then it checks how many n-grams of the validation set were never counted.
"""

# %% kind="predict" hide_input=true
tables = {n: count(text, n) for n in range(1, 6)}
for n, counts in tables.items():
    possible, seen = (len(vocabulary) + 1) ** n, sum(map(len, counts.values()))
    print(f"n = {n}: {possible:>17,} possible, {seen:>7,} seen")


def percent_unseen(n):
    unseen = [word not in tables[n].get(context, {})
              for context, word in ngrams(validation_text, n)]
    return 100 * sum(unseen) / len(unseen)


figure = views.bars(
    [percent_unseen(n) for n in tables], labels=[f"n = {n}" for n in tables],
    name="never seen, %", digits=0, title="n-grams of new text that were never counted",
)
predict("01", "never-seen", figure)

# %% [markdown] kind="text"
r"""
Each additional word multiplies the number of possible n-grams by {result:lesson_01/corpus/token types:.0f}. The number of different n-grams in the training set grows far more slowly, and it can never exceed {result:lesson_01/corpus/positions:,.0f}, the number of words and end tokens.

An n-gram that was never counted gets a probability of 0, and so does every sentence that contains it. The remedy is **smoothing**: subtract a little from every count, and give the probability that this frees up to a model with a shorter context, for which there is more data. The classic method is Kneser–Ney smoothing (1995), which we use in its modified form (1999). Section 5 shows how well it works.
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · How a network learns

Counting has a fundamental limitation. To an n-gram model, two words are either identical or completely different. What it counts after *le chat noir* (the black cat) tells it nothing about *le chien noir* (the black dog). If words are represented by vectors instead, they can be **more or less similar**, and what is learned about one word can help with another.

Here is a language with just two sentences, *le chat dort* and *la vache dort* (the cat sleeps, the cow sleeps). With one word of context, there are four things to learn: *le* is followed by *chat*, *la* by *vache*, and both animals by *dort*.

Our network has two matrices, which are tables of numbers. Each has one row per word. The rows of the {term:embedding matrix} represent the words as inputs: each is the word's {term:embedding}, also called its word vector. The rows of the *output weights* are used to predict the words. We made up all the numbers, and learning will change them.

| | embedding | output weights |
|---|---|---|
| *le* | (1, 0) | (0, 0) |
| *la* | (0, 1) | (0, 0) |
| *chat* | (0.5, −0.5) | (0, 1.1) |
| *vache* | (−0.5, 0.5) | (1.1, 0) |
| *dort* | (0, 0) | (0, 0) |

To make a prediction, the network takes the embedding $x$ of the input word and computes its {term:dot product} with every row of the output weights: multiply corresponding numbers and add the products. For example, (1, 0) and (1.1, 0) give 1 · 1.1 + 0 · 0 = 1.1. A {term:layer} that computes one dot product for each row of a matrix is a {term:linear layer}. Its weight matrix has the shape (out, in), here (5, 2). In code, the layer is `weight @ x`. The last layer of a network is its {term:output layer}.

Its outputs are the {term:logits}, one score for each possible next word. A softmax turns them into a probability distribution.

**By hand.** The embedding of *le* is (1, 0), so each logit is the first number of a row of output weights: 0, 0, 0, 1.1, 0. Raising $e$ to these logits gives 1, 1, 1, 3, 1 (since $e^{1.1} \approx 3$), which sum to 7. So *vache* gets a probability of 3/7, and every other word gets 1/7. That's wrong: *le* should be followed by *chat*.
"""

# %% [markdown] kind="text"
r"""
**PyTorch for NumPy users.** In PyTorch, or `torch` in code, arrays are called tensors. Indexing, arithmetic and `@` work as in NumPy, and `axis` is called `dim`; `dim=-1` is the last axis. `t.log()` is `np.log(t)`, `t.clone()` is `t.copy()`, `t.numel()` is `t.size`, and `t.view(-1)` is `t.reshape(-1)`. `float(t)` and `t.item()` turn a tensor that contains one number into a Python number.
"""

# %% kind="example"
tiny = ["le", "la", "chat", "vache", "dort"]
le, la, chat, vache, dort = range(5)
embeddings = torch.tensor([[1, 0], [0, 1], [0.5, -0.5], [-0.5, 0.5], [0, 0]])
weight = torch.tensor([[0, 0], [0, 0], [0, 1.1], [1.1, 0], [0, 0]])


def predict_next(word, embeddings, weight):
    """The predicted probability of each possible next word."""
    return torch.softmax(weight @ embeddings[word], dim=-1)


print("after 'le':", fixed(predict_next(le, embeddings, weight), 2))

# %% [markdown] kind="text"
r"""
**How wrong is the prediction?** The {term:loss} measures this with a single number. For language models it is the {term:cross-entropy}: minus the natural logarithm of the probability that the model gave to the **target**, the word that actually comes next.

| probability of the target | 1 | 1/2 | 1/7 | 1/100 | 1/1,000,000 |
|---|---|---|---|---|---|
| loss | 0 | 0.69 | 1.95 | 4.6 | 13.8 |

A confident and correct prediction costs almost nothing, while the loss of a confident but wrong one has no upper limit. Why the logarithm? The probability of a sentence is the product of its words' probabilities. Logarithms turn this product into a sum to which each word contributes its own loss.

**Which way should the numbers change?** The network has 20 {term:parameters}, also called its {term:weights}. Take one of them, nudge it a little, and watch the loss.

For example, the first output weight of *chat* is 0. If we increase it to 0.01, the loss for *le* → *chat* falls from {result:lesson_01/nudge/before:.4f} to {result:lesson_01/nudge/after:.4f}. The change in the loss divided by the change in the parameter is −{result:lesson_01/nudge/fall:.4f} / 0.01 = −{result:lesson_01/nudge/slope size:.2f}. For smaller and smaller nudges, this ratio approaches the *derivative* of the loss with respect to this parameter. It is negative, so a larger parameter means a smaller loss. Together, the derivatives with respect to all parameters form the {term:gradient}. The next cell nudges all 20, one after another.
"""

# %% [markdown] kind="instructor"
r"""
**Ask the room (2 min)** before the cell runs: "Which of the 20 derivatives are 0?" Expected: the embeddings of all words but *le*, because they aren't used, and the second output weights of all words, because the second number of *le*'s embedding is 0.
"""

# %% kind="loop" name="nudging"
def loss_of(embeddings, weight):
    """The loss if the input is 'le' and the target is 'chat'."""
    return -predict_next(le, embeddings, weight)[chat].log()


def gradient_by_nudging(parameters, loss, nudge=0.01):
    """Nudge each number in turn, and divide the change in the loss by the nudge."""
    gradient, loss_before = torch.zeros_like(parameters), loss(parameters)
    for i in range(parameters.numel()):
        nudged = parameters.clone()
        nudged.view(-1)[i] += nudge
        gradient.view(-1)[i] = (loss(nudged) - loss_before) / nudge
    return gradient


of_weight = gradient_by_nudging(weight, lambda nudged: loss_of(embeddings, nudged))
of_embeddings = gradient_by_nudging(embeddings, lambda nudged: loss_of(nudged, weight))
for word, row, weight_row in zip(tiny, of_embeddings, of_weight, strict=True):
    print(f"{word:6} embedding {fixed(row, 2):14} weights {fixed(weight_row, 2)}")

# %% [markdown] kind="instructor"
r"""
**Vote** on the question about networks A and B. B is tempting, because it is often almost certain. Let them compute: A's mean loss is 0.69, B's is (0.01 + 4.6) / 2 = 2.3.
"""

# %% kind="quiz"
quiz("01", "loss")

# %% [markdown] kind="instructor"
r"""
**They say:** "Why minus? The gradient shows where to go." **Answer:** It points towards a higher loss. A derivative of −0.86 means that the loss falls if the number grows.
"""

# %% [markdown] kind="text"
r"""
**One step of learning.** The gradient points in the direction in which the loss rises fastest, so we move all parameters a little in the opposite direction:

$$ \text{new} = \text{old} - \text{rate} \cdot \text{gradient} $$

The {term:learning rate} controls how long the step is. Repeating such steps is called {term:gradient descent}.

**The chain rule.** Nudging requires a new prediction for each parameter, which is far too slow for a network with millions of them. But a network computes its loss in simple steps, and the derivative of each step is easy to find. Take *chat* as the input and *dort* as the target. Let $w$ be the first output weight of *dort*, $z$ its logit and $L$ the loss. The embedding of *chat* starts with 0.5, so increasing $w$ by 0.01 increases $z$ by 0.005: the derivative of $z$ with respect to $w$, written $\partial z / \partial w$, is 0.5. Nudging $z$ shows that $\partial L / \partial z$ is about {printed:chain/L with respect to z}. If $w$ grows by 0.01, then $z$ grows by half as much, and the loss changes by {printed:chain/L with respect to z} times that. So the two derivatives are multiplied. This is the {term:chain rule}:

$$ \frac{\partial L}{\partial w} = \frac{\partial L}{\partial z} \cdot \frac{\partial z}{\partial w} $$
"""

# %% kind="example" name="chain" hide_input=true
x, logits = embeddings[chat], weight @ embeddings[chat]
nudged_weight, nudged_logits = weight.clone(), logits.clone()
nudged_weight[dort, 0] += 0.01
nudged_logits[dort] += 0.01

before, after_z, after_w = (
    F.cross_entropy(z, torch.tensor(dort))  # softmax and -ln in one function
    for z in (logits, nudged_logits, nudged_weight @ x)
)
dz_dw = ((nudged_weight @ x)[dort] - logits[dort]) / 0.01
dL_dz, dL_dw = (after_z - before) / 0.01, (after_w - before) / 0.01
torch.testing.assert_close(dz_dw * dL_dz, dL_dw, atol=0.01, rtol=0)

print("by nudging, the derivative of z with respect to w:", fixed(dz_dw, 2))
print("            the derivative of L with respect to z:", fixed(dL_dz, 2))
print("their product, the derivative of L with respect to w:", fixed(dL_dw, 2))

# %% [markdown] kind="text"
r"""
A number that affects the loss along several paths gets one such product for each path, and the products are added. {term:backpropagation|Backpropagation} applies the chain rule systematically, from the loss back to the parameters. A single {term:forward pass} computes the prediction, and a single backward pass then finds all the derivatives, however many layers the network has. In PyTorch this is called {term:autograd}: `requires_grad_()` marks the tensors whose gradients we want, torch records every operation on them, and `backward()` stores the gradients in `.grad`. The next cell goes back to *le* → *chat*: autograd finds what nudging measured, up to a small error that shrinks with the size of the nudge.
"""

# %% kind="library"
auto_embeddings = embeddings.clone().requires_grad_()
auto_weight = weight.clone().requires_grad_()
logits = auto_weight @ auto_embeddings[le]
loss = F.cross_entropy(logits, torch.tensor(chat))  # softmax and -ln in one function
loss.backward()  # backpropagation

torch.testing.assert_close(auto_weight.grad, of_weight, atol=0.01, rtol=0)
torch.testing.assert_close(auto_embeddings.grad, of_embeddings, atol=0.01, rtol=0)
print("output weights of 'chat', by nudging: ", fixed(of_weight[chat], 2))
print("output weights of 'chat', by autograd:", fixed(auto_weight.grad[chat], 2))

# %% [markdown] kind="formula" track="core" contents="the gradient as a formula, exercise 2 · One step of gradient descent"
r"""
**The gradient as a formula.** For our network, the chain rule needs just two ingredients. The first is the derivative of the loss with respect to a logit. Look at the first column of the output weights' gradient: 0.14, 0.14, −0.86, 0.43, 0.14. These are the probabilities 1/7, 1/7, **1/7 − 1**, 3/7 and 1/7. That's no coincidence: the derivative with respect to a logit is always the word's probability, minus 1 if the word is the target. We call it the word's **error**. In other words, the errors are the probabilities minus the target's {term:one-hot vector}, which is 1 for the target and 0 for all other words. The target's error is negative, so gradient descent raises its logit. All other errors are positive, so the other logits are lowered.

<details><summary>Why is it the probability minus 1?</summary>

1. With logits $z_i$ and $S = \sum_i e^{z_i}$, the target $t$ has the probability $e^{z_t} / S$, so the loss is $\ln S - z_t$.
2. The derivative of $e^{z_i}$ is $e^{z_i}$: if $z_i$ grows by a tiny $h$, then $S$ grows by $h \, e^{z_i}$.
3. The derivative of $\ln S$ is $1/S$, so by the chain rule $\ln S$ grows by $h \, e^{z_i} / S$, which is $h$ times the probability of word $i$.
4. The other term, $-z_t$, changes only if $i$ is the target, by $-h$. Dividing by $h$ gives the probability, minus 1 for the target.

</details>

The second ingredient is the derivative of each logit, $z_i = \sum_j \text{weight}_{ij} \, x_j$.

- An output weight, $\text{weight}_{ij}$, affects only the logit $z_i$ of its own word, with the derivative $x_j$.
- A number $x_j$ in the embedding affects every logit $z_i$, with the derivative $\text{weight}_{ij}$, so the products are added over all words.

$$ \text{error}_i = \text{probability}_i - \text{one-hot}_i \qquad
\frac{\partial L}{\partial\,\text{weight}_{ij}} = \text{error}_i \, x_j \qquad
\frac{\partial L}{\partial x_j} = \sum_i \text{error}_i \, \text{weight}_{ij} $$

| symbol | name in code | shape | in our example |
|---|---|---|---|
| $x$ | `embeddings[word]` | (width,) | 2 |
| weight | `weight` | (words, width) | 5 × 2 |
| error | `error` | (words,) | 5 (their sum is 0) |
"""

# %% [markdown] kind="instructor"
r"""
**Before the long exercise (5 min).** Let everyone work out the probabilities after *le* on paper (1/7, 1/7, 1/7, 3/7, 1/7), and then the five errors. Once they have the errors, most of the exercise is done.

**Stuck?** Compare shapes: the gradient of the output weights has the shape of `weight`, which `torch.outer(error, x)` gives. Both gradients use the parameters from *before* the step.
"""

# %% [markdown] kind="text" exercise="gradient_step"
r"""
**Build it: one step of gradient descent.** The input is `word`, and the network should predict `target`. Compute both gradients from the given parameters with the formulas above, and return the new embeddings, the new output weights, and the loss *before* the step. Only the embedding of `word` changes. Leave the tensors you are given unchanged (`.clone()` makes a copy).

Work in small steps, and test each of them on the numbers above: the embedding, the probabilities, the loss, the errors, the two gradients, the new parameters. Use `torch.softmax`, because `torch.exp` overflows for large logits. `torch.outer(a, b)` is the matrix of all products $a_i b_j$, and `matrix.T` swaps rows and columns.
"""

# %% kind="exercise" exercise="gradient_step" title="One step of gradient descent" difficulty=3 importance=5 track="core"
from lessons.l01_guessing_the_next_word.solutions import gradient_step

# %% kind="check" exercise="gradient_step"
check("gradient_step", gradient_step)

# %% [markdown] kind="hints" exercise="gradient_step"
r"""
### Start with the loss
Compute the embedding, the logits, the probabilities, and minus the logarithm of one of them. For *le* and *chat*, this loss should be {result:lesson_01/nudge/before:.2f}. Then compute the errors, and compare your two gradients with those that nudging found above.

---
### Step by step
1. `x` is the row of `word`, the probabilities are the softmax of `weight @ x`, and the loss is minus the logarithm of `probabilities[target]`.
2. `error` is a *copy* of the probabilities, with 1 subtracted at `target`.
3. The gradient of the output weights is the outer product of `error` and `x`. The gradient of `x` is `weight.T @ error`, with the old weights.
4. Subtract `rate` times each gradient. Only one row of the embeddings changes.

---
### "Your function changes … in place"
`embeddings[word] -= ...` changes the tensor that you were given. Make a copy first: `new_embeddings = embeddings.clone()`.
"""

# %% [markdown] kind="text" track="core" contents="training the tiny network with four learning rates"
r"""
**The training loop.** One step improves one prediction. To learn all four word pairs, take a step for each of them and start over, again and again. One pass through all the examples is an {term:epoch}. We still have to choose a learning rate, so we try 0.03, 0.3, 1.0 and 2.0.
"""

# %% kind="code" track="core"
step = yours("gradient_step")
pairs = [(le, chat), (la, vache), (chat, dort), (vache, dort)]


def learn_tiny(rate, epochs=10):
    """The parameters after training, and the mean loss of every epoch."""
    parameters, losses = (embeddings, weight), []
    for _ in range(epochs):
        epoch = []
        for word, target in pairs:
            *parameters, loss = step(*parameters, word, target, rate)
            epoch.append(float(loss))
        losses.append(sum(epoch) / len(epoch))
    return *parameters, losses

# %% [markdown] kind="instructor"
r"""
**Draw a valley** on the board while learners predict: a small step goes down slowly, a step that is too long ends on the other side, higher than before. The next one is longer still, because the slope is steeper there.
"""

# %% kind="predict" hide_input=true track="core"
curves = {}
for rate in (0.03, 0.3, 1.0, 2.0):
    curves[f"rate {rate:g}"] = [min(loss, 1e5) for loss in learn_tiny(rate)[2]]
figure = views.lines(
    range(1, 11), curves, x_name="epoch", y_name="mean loss", log_y=True,
    title="Four learning rates (losses cut off at 100,000)",
)
predict("01", "rate-two", figure)

# %% kind="see" track="core" hide_input=true
learned_embeddings, learned_weight, losses = learn_tiny(1.0, epochs=30)
for word in (le, la, chat, vache):
    probabilities = predict_next(word, learned_embeddings, learned_weight)
    rows = f"{fixed(embeddings[word], 1):12} -> {fixed(learned_embeddings[word], 1):12}"
    best = f"{tiny[probabilities.argmax()]} {fixed(probabilities.max(), 2)}"
    print(f"{tiny[word]:6} {rows} predicts {best}")

# %% [markdown] kind="text" track="core"
r"""
Look at the embeddings of *chat* and *vache*. They started as opposites, (0.5, −0.5) and (−0.5, 0.5). Both words are followed by *dort*, and now their embeddings are similar. N-gram counts can't express this: **words that are used in similar ways tend to get similar embeddings**. A network can therefore apply what it learned about one word to another.
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (4 min).** "In the tiny language, why hasn't the embedding of *dort* changed at all?" Nothing follows *dort* in the training pairs, so it is never an input, and only inputs get a gradient. Follow-up: what about its output weights? They change in every step, because every word has an error.
"""

# %% kind="explain" track="stretch"
explain("01", "how-it-learns")

# %% [markdown] kind="text" track="short"
r"""
## 4 · A larger network and its training loop

If you need a break, take it here: you have seen everything that learning needs, and the rest of the lesson scales it up.

Now we train on the real corpus of {printed:corpus/training set} sentences. The principle stays the same, but five things change:

- **A longer context.** The network sees four words. Their embeddings, 32 numbers each, are {term:concatenate|concatenated} into one vector of 128 numbers.
- **Another layer.** Between the embeddings and the output layer, there is now a {term:hidden layer}: a linear layer with 96 outputs, followed by a *nonlinearity* or {term:activation function}. Ours is {term:tanh}, which maps every number into the range from −1 to 1. Without it, two linear layers could do no more than one, just as 2 · (3 · x) is simply 6 · x. A network of linear layers with nonlinearities between them is an {term:MLP}, a multi-layer perceptron. Bengio et al. published a language model of this kind in 2003.
- **Biases.** PyTorch's `nn.Linear` also adds a learned number, a {term:bias}, to each of its outputs.
- **Batches.** Each step uses the mean gradient of a {term:batch} of 1,024 examples chosen at random. This is mini-batch {term:stochastic gradient descent} (SGD). Its gradient is less noisy than that of a single example, and much cheaper to compute than that of the whole training set.
- **A better update.** The {term:optimiser} decides how the gradients change the parameters. We use {term:Adam}, which gives each parameter its own step size; lesson 15 explains how.
"""

# %% [markdown] kind="text"
r"""
The picture shows the MLP that comes with the course. It is larger than ours, and it has one more linear layer, which turns the hidden layer into a vector like an embedding. So its output layer can use the embedding matrix as its weights.
"""

# %% kind="picture" name="window MLP" hide_input=true
key_picture.draw("network")

# %% kind="code"
def learn(model, contexts, targets, *, rate, steps, batch=1024):
    """The training loop: these five lines train every model in this course."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        rows = torch.randint(len(contexts), (batch,), generator=generator)
        logits = model(contexts[rows])  # 1. predict
        loss = F.cross_entropy(logits, targets[rows])  # 2. compute the loss
        optimizer.zero_grad()  # 3. reset the gradients
        loss.backward()  # 4. compute the new ones
        optimizer.step()  # 5. update the parameters

# %% [markdown] kind="instructor"
r"""
**While it trains,** ask: "What was the loss before the first step?" Expected: about ln {result:lesson_01/corpus/token types:.0f}, because an untrained network gives all tokens roughly the same probability. "Which of the five lines would change for another kind of network?" None: only `model` is a different one.
"""

# %% kind="train" ignore_output=true
token_ids = {token: i for i, token in enumerate(["<s>", "</s>", *vocabulary])}
mlp = nn.Sequential(
    nn.Embedding(len(token_ids), 32),  # the embedding matrix
    nn.Flatten(),  # concatenates the four embeddings
    nn.Linear(4 * 32, 96),  # the hidden layer
    nn.Tanh(),
    nn.Linear(96, len(token_ids)),  # the output layer
)
training, validation = (
    windows(part, token_ids) for part in (text, validation_text)
)  # four tokens as context, and the next one as target, as ids


def mean_loss(contexts, targets, n=20_000):  # so many examples are enough
    with torch.no_grad():  # we only measure, so torch needn't record anything
        return F.cross_entropy(mlp(contexts[:n]), targets[:n]).item()


print("validation loss before training:", fixed(mean_loss(*validation), 2))
learn(mlp, *training, rate=0.01, steps=400)
print("after 400 steps, training loss:", fixed(mean_loss(*training), 2))
print("               validation loss:", fixed(mean_loss(*validation), 2))
assert 2.4 < mean_loss(*validation) < 2.6

# %% [markdown] kind="text"
r"""
Why do we also measure the loss on other text? Here the validation loss is only a little higher than the training loss, but with less text the gap widens: trained on just 500 sentences, the same network has a training loss of {result:lesson_01/overfitting/after 400/training:.1f} after 400 steps, but a validation loss of {result:lesson_01/overfitting/after 400/validation:.1f}. That's worse than after 100 steps, when it was {result:lesson_01/overfitting/after 100/validation:.1f} (means of three runs). The network memorises its training sentences at the expense of what carries over to new ones. This is {term:overfitting}.
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on the question about `F.cross_entropy(torch.softmax(…))`.

| they say | the misconception | answer |
|---|---|---|
| "softmax, then `cross_entropy`" | M29 | `cross_entropy` contains the softmax. Applied twice, it keeps the probabilities close together, and the loss stays high. |
| "A smaller training loss is better." | overfitting | Quote the network trained on 500 sentences: training loss {result:lesson_01/overfitting/after 400/training:.1f}, validation loss {result:lesson_01/overfitting/after 400/validation:.1f}. |
"""

# %% kind="quiz"
quiz("01", "five-lines")

# %% [markdown] kind="text" track="core" contents="what the embeddings of a trained network have learned about words"
r"""
**What has a network learned about words?** In the tiny language, two words that are used in similar ways got similar embeddings. Does this also happen on the real corpus? Let's look at an MLP that comes with the course and was trained for longer. It uses one matrix both as the embedding matrix and as the output weights. For each word, the next cell finds its nearest neighbour, the word with the most similar embedding. We use the {term:cosine similarity}, the dot product after all vectors have been scaled to length 1. How often do the two words belong to the same word class, and how often would they if the vectors were random?
"""

# %% kind="see" track="core" name="neighbours" hide_input=true
trained = load_shipped("mlp_lm")
classes = word_classes()  # {"chat": "noun", "mange": "verb", ...}
ids = [trained.tokenizer.encode(word)[0] for word in classes]
vectors = trained.model.words.output.weight.detach()[ids]

nearest = nearest_neighbours(vectors, list(classes))
print({word: nearest[word] for word in ("chat", "vache", "mange", "noire")})
random = nearest_neighbours(torch.randn(vectors.shape), list(classes))
for name, pairs in (("trained embeddings", nearest), ("random vectors", random)):
    same = [classes[word] == classes[other] for word, other in pairs.items()]
    print(f"{name}: {sum(same)} of {len(same)} neighbours have the same word class")
embedding_map()

# %% [markdown] kind="text" track="core"
r"""
For {printed:neighbours/trained embeddings} of {printed:neighbours/trained embeddings/2} words, the nearest neighbour has the same word class, compared with {printed:neighbours/random vectors} for random vectors. The picture shows more: nouns cluster by what they refer to, by number and partly by gender, although the network was never told about any of these. But be careful with such pictures. They show only the two directions in which the 64-dimensional vectors vary most. On the left, nouns and adjectives overlap, although the neighbours show that they are well separated in all 64 dimensions.
"""

# %% [markdown] kind="text" track="short"
r"""
## 5 · Perplexity: how good is the model?

Our MLP reached a validation loss of about 2.5. Is that good? A more intuitive number is $e$ raised to the mean loss, the {term:perplexity}. A model with a perplexity of 12 is as uncertain as if it had to choose among 12 equally likely words at every position. Lower is better, and 1 would be perfect. A model that gives every token the same probability has a perplexity equal to the number of tokens, here {result:lesson_01/corpus/token types:.0f}. Perplexities are comparable only for the same text and the same vocabulary.
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** Take the probabilities 1 and ¼. The losses are 0 and ln 4, their mean is ln 2, and the perplexity is 2. The first version returns 1.6, because it averages probabilities instead of losses.

**They say:** "A perplexity of 12 means 12% wrong." **Answer:** It is a number of words, not a percentage.
"""

# %% [markdown] kind="text" exercise="perplexity"
r"""
Here is a first version. It takes a tensor with the probabilities that a model gave to the words that actually came next, perhaps thousands of them, all above 0. It should return their perplexity as a single number, but does it? Make its check pass.
"""

# %% kind="exercise" exercise="perplexity" mode="bug" title="Perplexity" difficulty=2 importance=5 track="core"
from lessons.l01_guessing_the_next_word.solutions import perplexity

# %% kind="check" exercise="perplexity"
check("perplexity", perplexity)

# %% [markdown] kind="hints" exercise="perplexity"
r"""
### A small example
Try `[0.5, 0.125]`: a choice among 2 words, then among 8. That is as hard as choosing among 4 words twice, since 2 · 8 = 4 · 4. What does the first version return?

---
### Step by step
Compute the loss of each word, minus the logarithm of its probability. Take the mean of these losses, and then raise $e$ to it.
"""

# %% kind="see" ignore_output=true track="core" hide_input=true
measure = yours("perplexity")


def perplexity_on(sentences):
    contexts, targets = windows(sentences, token_ids)
    with torch.no_grad():
        predictions = torch.softmax(mlp(contexts), dim=-1)
    return measure(predictions[torch.arange(len(targets)), targets])


print("our MLP, validation set:", fixed(perplexity_on(validation_text), 1))
assert 10.5 < perplexity_on(validation_text) < 13

# %% [markdown] kind="text" track="core" contents="exercise 3 · Perplexity, n-gram models with two kinds of smoothing"
r"""
**How much context can an n-gram model use?** That depends on its smoothing method, which decides what happens to n-grams that were never seen. These are perplexities on the validation set:

| | $n = 2$ | 3 | 4 | 5 | 6 |
|---|---|---|---|---|---|
| Kneser–Ney smoothing (modified, 1999) | {result:lesson_01/n-gram/Kneser-Ney/validation/2:.1f} | {result:lesson_01/n-gram/Kneser-Ney/validation/3:.1f} | {result:lesson_01/n-gram/Kneser-Ney/validation/4:.1f} | {result:lesson_01/n-gram/Kneser-Ney/validation/5:.1f} | {result:lesson_01/n-gram/Kneser-Ney/validation/6:.1f} |
| Witten–Bell smoothing (1991) | {result:lesson_01/n-gram/Witten-Bell/validation/2:.1f} | {result:lesson_01/n-gram/Witten-Bell/validation/3:.1f} | {result:lesson_01/n-gram/Witten-Bell/validation/4:.1f} | {result:lesson_01/n-gram/Witten-Bell/validation/5:.1f} | {result:lesson_01/n-gram/Witten-Bell/validation/6:.1f} |

With Witten–Bell smoothing, contexts of more than two words make the model worse. With Kneser–Ney smoothing they don't hurt, but they hardly help either. Section 7 compares networks with the Kneser–Ney model for $n = 5$, which sees the same four words as our MLP.
"""

# %% [markdown] kind="text" track="short"
r"""
## 6 · Generating text, one word at a time

To generate text, a language model predicts a distribution, we choose a word from it, and that word becomes part of the model's next input. We could always choose the most likely word. The alternative is {term:sampling}: choose at random, so that a word with a probability of 1/4 is chosen a quarter of the time.

The {term:temperature} controls how random this is: it divides the logits before the softmax. Below 1 it favours likely words even more, and temperature 0 means always choosing the most likely word. Above 1 the distribution becomes flatter, so unlikely words get chosen more often.
"""

# %% [markdown] kind="text" exercise="sample_next"
r"""
Divide the line from 0 to 1 into intervals. The first interval belongs to word 0, the next to word 1, and so on; each is as long as its word's probability. A random number `u`, at least 0 and below 1, falls into one of these intervals. Return the index of that interval's word as an integer. An interval includes its start but not its end: with the probabilities 1/2, 1/4 and 1/4, `u = 0.5` selects word 1. Rounding may leave the sum of the probabilities slightly below 1; if `u` is not below that sum, return the last index.
"""

# %% kind="exercise" exercise="sample_next" title="Sample a word" difficulty=2 importance=4 track="stretch"
from lessons.l01_guessing_the_next_word.solutions import sample_next

# %% kind="check" exercise="sample_next"
check("sample_next", sample_next)

# %% [markdown] kind="hints" exercise="sample_next"
r"""
### A running sum
Start at 0 and add up the probabilities one by one. Stop as soon as the sum is greater than `u`.

---
### Step by step
Keep a running sum. The answer is the first index at which it is *greater* than `u`, or the last index if that never happens. Instead of a loop, you can use `torch.cumsum`, `torch.searchsorted(..., right=True)` and `min`.
"""

# %% kind="example" track="stretch"
sample = yours("sample_next")
rnn = load_shipped("rnn_lm")


def generate(system, seed, longest=18):
    """Predict, sample, feed the sampled word back, until the end token comes up."""
    generator = torch.Generator().manual_seed(seed)
    state, token, tokens = system.model.start(1), BOS, []  # BOS is the start token
    while token != EOS and len(tokens) < longest:
        with torch.no_grad():
            logits, state, _ = system.model.step(state, torch.tensor([token]))
        probabilities = torch.softmax(logits[0], dim=-1)
        token = sample(probabilities, torch.rand(1, generator=generator).item())
        tokens.append(token)
    return system.tokenizer.decode(tokens)


for seed in (1, 2, 5):
    print(generate(rnn, seed))

# %% [markdown] kind="text" track="core"
r"""
Below, you can watch three models generate text step by step: an n-gram model with $n = 3$ and Witten–Bell smoothing, a window MLP, and the {term:recurrent neural network} (RNN) that section 7 introduces.
"""

# %% kind="predict" track="core"
predict("01", "cold-ngram", WordByWord())

# %% [markdown] kind="text" track="core"
r"""
At temperature 0 the n-gram model repeats itself: *les très jeunes sœurs ont acheté les très jeunes sœurs ont acheté* … (the very young sisters bought the very young sisters bought). At temperature 1 any three consecutive words look plausible, but the sentence as a whole may not: *les pères dans un jardin tranquille parce qu' ils étaient riches* (the fathers in a quiet garden because they were rich) has no main verb. A model that sees only two words can't notice that.
"""

# %% [markdown] kind="text" track="short"
r"""
Generating text like this has **two drawbacks**, and the Transformer at the end of this course shares them.

**It is sequential.** The tenth word can't be sampled before the ninth is known. *Training* is different: all words of the training text are known, so the MLP could predict 1,024 of them at once. However many processors you have, plain generation takes one step per word.

**Errors accumulate.** If each word is fine with a probability of 0.97, independently of the others, then 20 words in a row are all fine with a probability of only $0.97^{20} \approx 0.54$. On top of that, a wrong word becomes part of the input, where it may cause further errors.
"""

# %% kind="quiz"
quiz("01", "costs")

# %% [markdown] kind="text" track="short"
r"""
## 7 · The test set comes last

All choices have been made, so we can finally use the test set. We compare three kinds of model on its 1,000 sentences. The n-gram model uses $n = 5$ and Kneser–Ney smoothing, a good way of handling n-grams that never occurred in the training set. The MLP sees the same four words. It is larger than ours (120,000 parameters instead of 64,000) and was trained on ten times as many examples. The third model is an {term:recurrent neural network|RNN} with 120,000 parameters. It processes a text word by word and has no fixed window; you'll build one in lesson 02. Both networks were trained three times with different random seeds. All three models share a vocabulary of {result:toy_language_models/rnn_lm/config/vocab_size:.0f} tokens, English words included, so their perplexities are comparable.
"""

# %% kind="predict" hide_input=true
networks = mean_over_seeds(
    "toy_language_models", lambda run: run["scores"]["test"]["perplexity"]
)
counting = read_results("lesson_01")["n-gram"]["Kneser-Ney"]["test"]["5"]
figure = views.bars(
    [counting, networks["mlp_lm"], networks["rnn_lm"]],
    labels=["n-gram (4 words)", "MLP (4 words)", "RNN (all words)"],
    name="perplexity", digits=1, title="Perplexity on the test set; lower is better",
)
predict("01", "three-models", figure)

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min)** before you read on. "The n-gram model and the MLP see the same four words. Why could the MLP be better?" Expected: similar words have similar embeddings, so what is learned about one helps with another. Follow-up: does this comparison prove it? No, the two differ in other ways too.
"""

# %% [markdown] kind="text"
r"""
The perplexities are {result:lesson_01/n-gram/Kneser-Ney/test/5:.1f} for the n-gram model, {result:min toy_language_models/mlp_lm/scores/test/perplexity:.2f} to {result:max toy_language_models/mlp_lm/scores/test/perplexity:.2f} for the three MLPs and {result:min toy_language_models/rnn_lm/scores/test/perplexity:.2f} to {result:max toy_language_models/rnn_lm/scores/test/perplexity:.2f} for the three RNNs. Would other test sentences change the order? To find out, we used a {term:bootstrap}: we drew 1,000 of these sentences at random, with replacement, many times. In 95% of the draws, the n-gram model's perplexity is {result:lesson_01/test set/n-gram to MLP/low:.2f} to {result:lesson_01/test set/n-gram to MLP/high:.2f} times that of the MLP; likewise, the MLP's is {result:lesson_01/test set/MLP to RNN/low:.2f} to {result:lesson_01/test set/MLP to RNN/high:.2f} times that of the RNN. So a different order is unlikely.

The n-gram model and the MLP see the same four words, so the amount of context doesn't explain the difference. A plausible reason is that the MLP's embeddings let similar words share what was learned. The RNN isn't limited to four words, which may explain why it is better still, but it also differs from the MLP in other ways.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on "Which rows change in one step?" The common mistake is to change only the target's output weights. Every word has an error, so every row changes.
"""

# %% kind="quiz"
quiz("01", "closing")

# %% [markdown] kind="instructor"
r"""
**Wrap up (3 min).** Ask for the five lines of the training loop from memory. One more thing that learners say:

**They say:** "The network knows what *chat* means." **Answer:** It knows which words come before and after it, because that's all it was trained on.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | what it is |
|---|---|
| language model | gives each possible next word a probability |
| embedding | a learned vector that represents a word |
| logits | one score per possible next word, before the softmax |
| cross-entropy | the loss: $-\ln$ of the probability of the target |
| gradient | the derivatives of the loss with respect to all parameters |
| chain rule | multiply the derivatives of consecutive steps |
| SGD | repeated small steps against the gradient of a random batch |
| perplexity | $e$ to the mean loss |

- Every network in this course learns with the same five lines: predict, compute the loss, reset the gradients, compute new ones, update.
- With good smoothing, longer n-grams do no harm, but they soon stop helping. <!-- core -->
- Generation is sequential, and errors accumulate.

**Still missing.** The MLP's window is only four words long. In *la chèvre … parce qu'* **elle** (the goat … because **it**), the noun that decides between *il* and *elle* may be much farther away. We'd like a network that summarises **everything so far** in a vector of fixed size. You'll build one in [lesson 02](02_recurrent_networks.ipynb) and find out how long it can remember.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Bengio, Ducharme, Vincent and Jauvin, *A Neural Probabilistic Language Model*, Journal of Machine Learning Research 3 (2003), sections 1 and 2: the limits of counting, and what word vectors do about them. [jmlr.org](https://www.jmlr.org/papers/v3/bengio03a.html)
- Chen and Goodman, *An Empirical Study of Smoothing Techniques for Language Modeling* (1999), sections 1 and 2: why smoothing matters so much, and how Kneser–Ney works. [doi.org](https://doi.org/10.1006/csla.1999.0128) <!-- core -->
- Grant Sanderson (3Blue1Brown), *Gradient descent, how neural networks learn*: the same idea as an animation. [3blue1brown.com](https://www.3blue1brown.com/lessons/gradient-descent)
"""
