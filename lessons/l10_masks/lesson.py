# Lesson 10 · the source. Edit this file, then run `python3 -m course_lib build 10`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 10 · Masks

**The question:** which positions must be hidden from a model, and what happens if one leaks?

About {minutes} minutes. You need scaled attention from [lesson 08](08_query_key_value.ipynb), self-attention from lesson 09 and the training loop of [lesson 01](01_guessing_the_next_word.ipynb).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **say** which words must be hidden in a batch, in a decoder, and across;
2. **write** attention with a mask, also where a word may look at nothing;
3. **tell** other ways of masking from the right one, by the sums of their rows and by what hidden words get;
4. **recognise** a leak, though shapes, sums and test set look right;
5. **explain** why a mask lets training compute all positions of a sentence side by side.
"""

# %% kind="setup"
import math
import time

import torch

from course_lib import views
from course_lib.formatting import fixed
from course_lib.results import mean_over_seeds
from course_lib.teaching import check, estimate, explain, predict, quiz, start_lesson
from course_lib.teaching import yours
from course_lib.text import BOS, EOS, PAD, splits
from course_lib.translation import load_shipped
from lessons.l10_masks import MaskPainter

start_lesson("masks", seed=10)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("10", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · Words that are not there

In lesson 09 you closed a word by taking its key and value away. That serves as long as all queries close the same words. In a batch each sentence closes others, and in a decoder each word does: so we need a table.

A batch is a rectangle, and sentences are not. So the short ones are filled up with a word that means nothing, `<pad>`: the {term:padding}. It has a vector like any other word, hence a key and a value, and attention does not know that it is nothing.

**By hand.** A sentence of two words in a batch of width four. Say all four scores are 0. Then each gets a weight of ¼, and half of what this query fetches is padding.

What we want is the weights ½, ½, 0, 0: as if the padding were not there. A table that says who may look at whom is a {term:mask}. Ours has a row for each query and a column for each key, like the scores it lies on, and holds `True` where a query **may look**.
"""

# %% kind="example"
scores = torch.zeros(1, 4)
mask = torch.tensor([[True, True, False, False]])

print("no mask:", fixed(scores.softmax(dim=-1), 2))
print("wanted: ", fixed(scores[:, :2].softmax(dim=-1), 2), "and then two zeros")

# %% [markdown] kind="text"
r"""
How do we get there? Four ideas, and all have been seen in the wild:

- multiply the hidden scores by 0, **before** the softmax;
- set the hidden weights to 0, **after** the softmax;
- the same, and then divide each row by its sum;
- set the hidden scores to $-\infty$, **before** the softmax.

In the picture below you can try each, on the real scores of a trained language model. (It has four heads, each with its own scores; lesson 12 explains why.) *padding* hides the padding, *causal* hides what comes later, *fully masked row* hides everything from one word. Think first.
"""

# %% kind="predict"
predict("10", "times-zero", MaskPainter())

# %% [markdown] kind="text"
r"""
| method | each row sums to 1? | hidden words get 0? |
|---|---|---|
| × 0 before | yes | **no**: a score of 0 is an ordinary score, $e^0 = 1$ |
| 0 after | **no** | yes |
| 0 after, renormalised | yes | yes, until a hidden score is so large that the rest rounds to 0 |
| −∞ before | yes | yes |

So −∞, before: $e^{-\infty} = 0$. (Dividing by the sum is right on paper, and fragile in a computer.) The first wrong way is the nasty one: its rows sum to 1, its shapes are right, and the hidden words still whisper. And −∞ fails in one case: a query that may look at *nothing*, say in an empty sentence, all padding. The softmax over nothing but −∞ is $0/0$: NaN, “not a number”, and one NaN spreads through a whole network in a step.
"""

# %% kind="diagram" hide_input=true
PARTS = {
    "queries": (0, 0), "keys": (0, 1), "scores": (1, 0.5), "mask": (1, 1.5),
    "masked scores": (2, 0.5), "weights": (3, 0.5), "values": (3, 1.5),
    "context": (4, 0.5),
}
ARROWS = [
    ("queries", "scores"), ("keys", "scores"), ("scores", "masked scores"),
    ("mask", "masked scores"), ("masked scores", "weights"), ("weights", "context"),
    ("values", "context"),
]
views.diagram(PARTS, ARROWS, lit=("mask", "masked scores"), title="Where the mask acts")

# %% [markdown] kind="text" exercise="masked_attention"
r"""
**Build it.** Your attention of lesson 08, with a mask. `mask` has the shape of the scores, or one that broadcasts to it, such as (batch, 1, n); `scores.masked_fill(where, value)` puts a value wherever `where` is true, and `~mask` turns a mask round.

A masked key gets a weight of exactly 0, however high its score. Then the hard part: a query that may attend to no key at all gets weights of 0 and a context of 0, with no NaN in the outputs or in the gradients.
"""

# %% kind="exercise" exercise="masked_attention" title="Attention with a mask" difficulty=4 importance=5 track="short"
def masked_attention(queries, keys, values, mask):
    """queries (..., m, d_k), keys (..., n, d_k), values (..., n, d_v),
    mask (..., m, n)

    ->  context (..., m, d_v), weights (..., m, n)
    """
    # solution
    scores = queries @ keys.mT / math.sqrt(keys.shape[-1])
    is_blind = ~mask.any(dim=-1, keepdim=True)
    safe_mask = mask | is_blind  # a blind row looks everywhere, so no NaN
    weights = torch.softmax(scores.masked_fill(~safe_mask, -math.inf), dim=-1)
    weights = weights.masked_fill(is_blind, 0.0)  # and gets weights of 0
    return weights @ values, weights
    # end solution

# %% kind="check" exercise="masked_attention"
check("masked_attention", masked_attention)

# %% [markdown] kind="hints" exercise="masked_attention"
r"""
### A nudge
First without the hard part: scores, then `masked_fill` with `-math.inf` where a query may *not* look, then softmax, then blend.

---
### The blind rows
`mask.any(dim=-1, keepdim=True)` tells which queries may look at something. Make the others harmless *before* the softmax (let them look everywhere), and empty their weights *after* it.

---
### Could one simply replace the NaN afterwards?
`weights.nan_to_num(0.0)` passes too: the blind row was filled with −∞ throughout, and what was filled in sends no gradient back. It also hides every other NaN that your network may ever make.
"""

# %% [markdown] kind="text" track="short"
r"""
## 2 · Words that are not there *yet*

A language model guesses the next word. Lesson 01 cut a text into windows and guessed all places at once. With self-attention one run over the whole sentence does it: let position $i$ guess word $i + 1$. This is {term:teacher forcing}, with the shift of lesson 04.

But then position $i$ must not see word $i + 1$: it stands right there in the input. The {term:causal mask} lets each position look at itself and back, never ahead.

Here is a language model as small as one can be: a vector for each word and each place, one attention, the guess. (Here the table that reads is also the matrix that guesses; in lesson 01 they were two. And $x$ is added to what was fetched: lesson 13 says why.) **Your** attention is in the middle. It learns French from the shorter ones of 3,000 toy sentences, about two thousand. A causal mask is all it needs: the padding stands at the end, where no word looks, and the loss skips it.
"""

# %% kind="code" name="data"
tokenizer = load_shipped("transformer").tokenizer
N = 16  # positions; the longer sentences are left out
VOCABULARY = 680  # words


def rows(pairs):
    """Sentences as ids, <s> first and </s> last, filled up with padding."""
    ids = [[BOS, *tokenizer.encode(pair.tgt_text), EOS] for pair in pairs]
    short = [row for row in ids if len(row) <= N + 1]
    return torch.tensor([row + [PAD] * (N + 1 - len(row)) for row in short])


toy = splits(seed=0, sizes={"train": 3000, "test": 300})
train_rows, test_rows = rows(toy.train), rows(toy.test)
attention = yours("masked_attention")


def guess(model, ids, mask):
    """A score for every word of the vocabulary, at every position."""
    x = model["words"][ids] + model["positions"][: ids.shape[1]]
    context, _ = attention(x @ model["q"], x @ model["k"], x @ model["v"], mask)
    # each word with its context, compared with the vector of every word
    return (x + context) @ model["words"].T

# %% kind="code"
def loss_of(model, sentences, mask):
    """Cross-entropy of the next word, padding not counted."""
    scores = guess(model, sentences[:, :-1], mask)
    targets = sentences[:, 1:]
    # torch wants the vocabulary on the second axis, and skips targets of `ignore_index`
    return torch.nn.functional.cross_entropy(scores.mT, targets, ignore_index=PAD)


def train(mask, steps=160, width=32):
    generator = torch.Generator().manual_seed(0)
    sizes = {"words": (VOCABULARY, width), "positions": (N, width)}
    sizes |= {"q": (width, width), "k": (width, width), "v": (width, width)}
    model = {
        name: (torch.randn(size, generator=generator) * 0.2).requires_grad_()
        for name, size in sizes.items()
    }
    optimizer = torch.optim.Adam(model.values(), lr=0.02)
    for _ in range(steps):
        chosen = torch.randint(len(train_rows), (48,), generator=generator)
        loss = loss_of(model, train_rows[chosen], mask(N))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model

# %% [markdown] kind="text"
r"""
And a mask, made by somebody for this run. Train with it, and look at the perplexity on sentences the model has never seen. (For comparison: trained on 20,000 sentences of all lengths and tested on such, an n-gram model has about {result:toy_language_models/ngram_lm/scores/test/perplexity:.0f}, the best of our models {result:toy_language_models/gru_lm/scores/test/perplexity:.1f}.)
"""

# %% kind="train" ignore_output=true hide_input=true
def first_mask(n):
    """What each position may look at."""
    return torch.ones(n, n).tril(diagonal=1) == 1


first = train(first_mask)
with torch.no_grad():
    perplexity = loss_of(first, test_rows, first_mask(N)).exp()
print("perplexity on unseen sentences:", fixed(perplexity, 2))
assert perplexity < 1.5

# %% kind="quiz"
quiz("10", "too-good")

# %% [markdown] kind="text"
r"""
Let it write, then, from three beginnings: word by word, each time with what it has written so far; the likeliest word each time.
"""

# %% kind="see" ignore_output=true
@torch.no_grad()
def write(model, mask, beginning, max_length=12):
    """A sentence with this beginning, generated greedily."""
    generated = [BOS, *tokenizer.encode(beginning)]
    while len(generated) <= max_length:
        ids = torch.tensor([generated + [PAD] * (N - len(generated))])
        word = guess(model, ids, mask(N))[0, len(generated) - 1].argmax().item()
        if word == EOS:
            break
        generated.append(word)
    return tokenizer.decode(generated[1:])


for beginning in ("le", "la souris", "les chats noirs"):
    print(write(first, first_mask, beginning))

# %% [markdown] kind="text" exercise="training_mask"
r"""
A wonderful loss, and this. Here is the mask of the run again, under the name that the lesson will use. Make its check pass.
"""

# %% kind="exercise" exercise="training_mask" mode="bug" title="The mask of the run" difficulty=2 importance=5 track="short"
def training_mask(n):
    """n positions  ->  mask (n, n) of True and False; rows are queries, columns keys"""
    # bug
    return torch.ones(n, n).tril(diagonal=1) == 1
    # end bug
    # solution
    return torch.ones(n, n).tril() == 1
    # end solution

# %% kind="check" exercise="training_mask"
check("training_mask", training_mask)

# %% [markdown] kind="hints" exercise="training_mask"
r"""
### A nudge
Print `training_mask(4)`. Position 0 has read `<s>` and shall guess the first word. What does row 0 let it see?

---
### Step by step
The input at position $i$ is word $i$; what it shall guess is word $i + 1$. Row $i$ may hold `True` in the columns 0 to $i$, and no further.
"""

# %% kind="train" ignore_output=true
mask = yours("training_mask")
sound = train(mask)
with torch.no_grad():
    perplexity = loss_of(sound, test_rows, mask(N)).exp()
print("perplexity on unseen sentences:", fixed(perplexity, 0))
for beginning in ("le", "la souris", "les chats noirs"):
    print(write(sound, mask, beginning))
assert 8 < perplexity < 60

# %% [markdown] kind="text"
r"""
Much worse, and honest: this one has learned some French.

What happened in the first run is a {term:leak}: what is to be guessed can be seen. The model did the sensible thing and learned to **copy the next word**. When it writes, the next word is not there yet. In its place stands padding, which it never had to copy, and what it says then means nothing.

A clean test set does not protect you: it is read with the same mask. What gives a leak away: a loss that is too good to be true, and letting the model *do* what it is for. We trained a real Transformer language model both ways, three times each (`leak_language_model`).
"""

# %% kind="see"
RUNS = "leak_language_model"
at_once = mean_over_seeds(RUNS, lambda run: run["scores"]["test"]["perplexity"])
word_by_word = mean_over_seeds(RUNS, lambda run: run["word by word"])
for name in ("sound", "leaky"):
    print(f"{name}: read at once {at_once[name]:.2f}", end=", ")
    print(f"word by word {word_by_word[name]:,.2f}")

# %% [markdown] kind="text"
r"""
Read at once, the leaky one is perfect. Read word by word, as when it writes, its perplexity is above ten million. Blind guessing among 680 words would have 680: this one is *sure*, and wrong.

And a warning from our own records. In the **translator** the same leak does not show in the loss at all: {result:leak/leaky/history/-1/loss:.2f} on validation where the sound one has {result:leak/sound/history/-1/loss:.2f}. With the source in front of you the next French word is nearly certain anyway, and both were trained to leave a little doubt ({term:label smoothing}, lesson 15), which keeps every loss from 0. Yet of a thousand sentences the leaky one translates none. Never trust a loss alone.
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · All masks of a translator

A Transformer that translates (lesson 14) attends in three places, and each wants its own mask:

| where | who asks | who is looked at | hidden |
|---|---|---|---|
| encoder | source words | source words | source padding |
| decoder | target words | target words | target padding, **and** what is ahead |
| across | target words | source words | source padding |

In {term:cross-attention} the queries come from the target, keys and values from the source: the look of lesson 06, with the formula of lesson 08. Across, nothing is ahead: the source is known whole. And a mask takes away **keys**, never queries. What a padding position itself looks at does not matter: its key is hidden from all, and the loss does not count its guess. Masks join with `&`: may look by this one *and* by that one. (With many heads, lesson 12, one more axis of size 1 stands before the rows.)
"""

# %% kind="quiz"
quiz("10", "which-mask")

# %% [markdown] kind="text" exercise="translator_masks"
r"""
Write all three at once, with `True` where a query may attend. The lengths are tensors of whole numbers, one for each sentence; `n_src` and `n_tgt` are the widths of the two rectangles, and the padding comes after the words. Mask keys (columns) only. `torch.arange(n)` numbers the places, and comparing `(b, 1)` with `(n,)` gives `(b, n)`.
"""

# %% kind="exercise" exercise="translator_masks" title="Three masks" difficulty=3 importance=4 track="core"
def translator_masks(src_lengths, tgt_lengths, n_src, n_tgt):
    """lengths (b,)

    ->  encoder (b, 1, n_src), decoder (b, n_tgt, n_tgt), cross (b, 1, n_src)
    """
    # solution
    source = (torch.arange(n_src) < src_lengths[:, None])[:, None]
    target = (torch.arange(n_tgt) < tgt_lengths[:, None])[:, None]
    causal = torch.arange(n_tgt) <= torch.arange(n_tgt)[:, None]
    return source, target & causal, source
    # end solution

# %% kind="check" exercise="translator_masks"
check("translator_masks", translator_masks)

# %% [markdown] kind="hints" exercise="translator_masks"
r"""
### A nudge
A padding mask is the same for every query, so its middle axis may have size 1: it broadcasts.

---
### Step by step
1. `torch.arange(n_src) < src_lengths[:, None]` is (b, n_src): True for real words. Put an axis in the middle.
2. The same for the target.
3. Rows ask, columns are looked at: column ≤ row. Join it with the target's padding by `&`.
4. Across, the keys are the source's.
"""

# %% [markdown] kind="text" track="short"
r"""
## 4 · Twenty guesses for one

One can also hide the future by not giving it: a run on the first word, one on the first two, and so on. Do both give the same guesses? They must: with a causal mask, position $i$ of the long run knows exactly what the short run knows.
"""

# %% kind="tensor"
sentence = test_rows[:1, :N]
with torch.no_grad():
    at_once = guess(sound, sentence, mask(N))[0]
    one_by_one = torch.stack(
        [guess(sound, sentence[:, : i + 1], mask(i + 1))[0, -1] for i in range(N)]
    )
assert torch.allclose(at_once, one_by_one, atol=1e-4)
print("one run with a mask = ", N, "runs without the future")

# %% [markdown] kind="text" track="core" contents="how much time one masked run saves, and why, in your own words"
r"""
The same guesses. Now the time, on the real Transformer language model and a text of 60 words. Estimate first: how many times as long do 60 runs take, of 1, 2, … 60 words, as one run of all 60?
"""

# %% kind="estimate" track="core"
language_model = load_shipped("transformer_lm").model
text = torch.full((8, 60), BOS)


def seconds(run):
    run()
    start = time.perf_counter()
    for _ in range(3):
        run()
    return time.perf_counter() - start


@torch.no_grad()
def times_as_long():
    one_by_one = seconds(lambda: [language_model(text[:, : i + 1]) for i in range(60)])
    return one_by_one / seconds(lambda: language_model(text))


estimate("10", "sixty-runs", times_as_long)

# %% kind="explain" track="core"
explain("10", "at-once")

# %% [markdown] kind="text"
r"""
So in training one run computes all positions of a sentence. When the model **writes**, the words are not there yet, and it is word by word again (lesson 16 makes that cheaper).
"""

# %% [markdown] kind="text" contents="two attentions in torch whose masks mean opposite things"
r"""
## Break it

In torch there are two attentions, and their masks mean opposite things. `scaled_dot_product_attention` takes `True` as *may look*, as we do. `nn.MultiheadAttention` takes `True` as *ignore*.

> **Before you run it:** hand our causal mask to `nn.MultiheadAttention` as it is. Which positions will be able to look where? What comes out at the last one?
"""

# %% kind="break"
torch.manual_seed(10)
layer = torch.nn.MultiheadAttention(embed_dim=8, num_heads=1, batch_first=True)
x = torch.randn(1, 4, 8)
with torch.no_grad():
    for name, attn_mask in (("our mask", mask(4)), ("turned round", ~mask(4))):
        context, weights = layer(x, x, x, attn_mask=attn_mask)
        print(name)
        for row in weights[0]:
            print("   ", fixed(row, 2))

# %% [markdown] kind="text"
r"""
With our mask as it is, every word sees only the *future*, and the last sees nothing: NaN. No error anywhere. Where two libraries meet, print a small mask.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself

The first try counts for your score; every answer gets a reason.
"""

# %% kind="quiz"
quiz("10", "closing")

# %% [markdown] kind="instructor"
r"""
**Let them believe the leak.** Show the perplexity near 1 and ask who would publish it. Only then let it write. Expected objection: "the test set is clean!" Answer: it is; the mask is not.

| they say | what it is | answer |
|---|---|---|
| "multiply the scores by 0" | M19 | Mask painter, × 0 before: rows sum to 1, hidden words have weight. |
| "zero the weights afterwards" | M20 | The sums of the rows. |
| "hide the padded rows too" | M21 | Then they see nothing: NaN. Hide columns. |
| "cross-attention needs a causal mask" | M25 | What is ahead in a source that is known whole? |

**If time is short**, leave out section 3's exercise; keep the leak.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | what it is | shape |
|---|---|---|
| `mask` | True where a query may look at a key | (queries, keys) |
| padding mask | hides columns that are no words | (batch, 1, keys) |
| causal mask | hides what is ahead | (n, n) |
| masked scores | −∞ where a query may not look | (queries, keys) |

- −∞ before the softmax: rows sum to 1, hidden words get exactly 0.
- A query that may look nowhere needs care: 0, not NaN.
- A leak makes a loss too good to be true, and a model useless. A clean test set is no help: it is read with the same mask. Let the model write.
- The causal mask gives all guesses of a sentence in one run. Across, nothing is causal.

**Still missing.** Take the mask away, and attention does not know which word came first. Lesson 11 brings the order.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani and others, *Attention Is All You Need* (2017), section 3.2.3, third point: the mask in one sentence. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- The page of torch's `scaled_dot_product_attention` and that of `nn.MultiheadAttention`: compare what each says about `attn_mask`.
- `course_lib/layers/masks.py`: the course's masks, on one page.
"""
