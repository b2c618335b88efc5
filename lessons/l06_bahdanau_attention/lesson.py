# Lesson 06 · the source. Edit this file, then run `python3 -m course_lib build 06`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 06 · Bahdanau attention

**The question:** what if the decoder could look back at every word of the source?

About {minutes} minutes. You need the encoder and the decoder of [lesson 04](04_encoder_decoder.ipynb), the GRU of [lesson 03](03_lstm_and_gru.ipynb) and the softmax.
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **write** additive attention in six steps, for a whole batch of sentences;
2. **drive** a trained translator with your own attention, word by word;
3. **read** a map of weights, and **measure** how far it is from the true alignment;
4. **steer** the translator: force its eyes onto a wrong word and foresee what it says;
5. **explain** what happens when the words it looks at are shuffled.
"""

# %% kind="setup"
import itertools

import torch

from course_lib import views
from course_lib.formatting import fixed
from course_lib.results import mean_over_seeds
from course_lib.teaching import check, estimate, explain, predict, quiz, start_lesson
from course_lib.teaching import yours
from course_lib.text import BOS, EOS, TEST_SIZES, splits
from course_lib.translation import load_shipped
from lessons.l06_bahdanau_attention import AttentionStepper

start_lesson("bahdanau_attention", seed=6)
tests = splits(seed=0, sizes=TEST_SIZES)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("06", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · Keep everything, and look

The encoder of lesson 04 reads a whole sentence and hands over **one** vector. Everything the decoder will ever know has to fit into it. Long sentences do not.

Yet while it read, the encoder had a state for *every* word, and threw all but the last away. So keep them all. Now the decoder has the opposite trouble: ten vectors, twenty, and it has to know which one matters for the next French word.

How would *you* do it? Dzmitry Bahdanau went through three ideas in 2014. (He told the story in a letter that Andrej Karpathy made public ten years later.)

- **Two cursors,** one on the source and one on the translation; at each moment one of them is pushed. To learn that seemed too hard for the five weeks that were left of his internship.
- **A fixed diagonal.** The first French word looks at the first English one, the second at the second. Clumsy, but it worked a little.
- **A soft search.** Let the network itself decide where to look, and let it look *softly*: a bit here, a lot there. That is simple, it has gradients everywhere, and it is this lesson.

Take the second idea seriously for a moment. In our toy language we know for every French word which English word it comes from. Call each such pair a *link*. How often does a link join equal places?
"""

# %% kind="estimate"
def percent_on_diagonal():
    """The percentage of all links that join equal positions."""
    links = [link for pair in tests.test for link in pair.links]
    return 100 * sum(english == french for english, french in links) / len(links)


estimate("06", "diagonal", percent_on_diagonal)

# %% [markdown] kind="text"
r"""
*la petite boîte rouge*, *the small red box*: an adjective behind its noun swaps two places. *ne … pas* for *not* and *a bu* for *drank* add a word and push all that follows off the diagonal. Where to look depends on the sentence, so the network must work it out from the sentence.

**What is looked at.** One state for each word, and a good one. A {term:bidirectional} reader is two GRUs: one reads the sentence forwards, the other backwards, and word $j$ gets both states side by side. The double state $h_j$ is the word's {term:annotation}: the word, and what stands before *and* after it.

**Who looks.** The decoder's state just before the next word, $s_{i-1}$: what has been said so far, and so what is wanted now. ($j$ counts source words, $i$ target words.)

To look softly, with shares that the network computes for itself, is attention.
"""

# %% kind="diagram" hide_input=true
PARTS = {
    "annotations": (0, 0), "old state": (0, 2), "scores": (1, 1), "weights": (2, 1),
    "context": (3, 0), "word before": (3, 3), "new state": (4, 2), "next word": (5, 1),
}
ARROWS = [
    ("annotations", "scores"), ("old state", "scores"), ("scores", "weights"),
    ("weights", "context"), ("annotations", "context"), ("context", "new state"),
    ("old state", "new state"), ("word before", "new state"),
    ("context", "next word"), ("new state", "next word"), ("word before", "next word"),
]
views.diagram(
    PARTS, ARROWS, lit=("annotations", "old state"), title="One step of the decoder",
)

# %% [markdown] kind="text" track="short"
r"""
## 2 · How well does a word fit?

The decoder's state $s$ and an annotation $h_j$ are vectors of different widths, made by different networks. How well do they fit? Let a tiny network judge, one with a single hidden layer:

$$e_j = v^\top \tanh(W s + U h_j)$$

$W$ brings the state to some width, $U$ brings the annotation to the same width, they are *added*, $\tanh$ bends the sum into −1 to 1, and the dot product with $v$ makes one number of it: the score. Hence the name **additive** score. $W$, $U$ and $v$ are learned with everything else.

**By hand, with everything one number wide.** Say $W = 1$, $U = -1$, $v = 2$. The state is $1$, the annotations are $0$ and $1$.

- First word: $2 \tanh(1 - 0) = 2 \cdot 0.76 = 1.52$.
- Second word: $2 \tanh(1 - 1) = 0$.

With these numbers a word fits best if its number is *far below* the state's. The network chooses $W$, $U$ and $v$ so that fitting means something useful.
"""

# %% [markdown] kind="text" exercise="additive_scores"
r"""
Compute the scores of one state for all words of a sentence. Return the scores themselves, before any softmax. A loop is fine, but try to write it without one. `matrix @ vector` and `matrix @ other.T` are all the products you need; adding a vector to a matrix adds it to every row.
"""

# %% kind="exercise" exercise="additive_scores" title="The additive score" difficulty=2 importance=5 track="core"
def additive_scores(state, annotations, w_state, w_annotation, v):
    """state (s,), annotations (n, a), w_state (d, s), w_annotation (d, a), v (d,)

    ->  scores (n,)
    """
    # solution
    from_state = w_state @ state
    from_annotations = annotations @ w_annotation.T
    return torch.tanh(from_state + from_annotations) @ v
    # end solution

# %% kind="check" exercise="additive_scores"
check("additive_scores", additive_scores)

# %% [markdown] kind="hints" exercise="additive_scores"
r"""
### A nudge
Make both parts d wide first: one vector for the state, one *row* for each annotation.

---
### Step by step
1. `w_state @ state` has shape (d,).
2. `annotations @ w_annotation.T` has shape (n, d): a row for each word.
3. Add them (the vector is added to every row), take `torch.tanh`.
4. `@ v` makes one number of each row.
"""

# %% [markdown] kind="text"
r"""
Now the whole look, in six steps:

| step | in words | formula |
|---|---|---|
| 1 | bring the state to width d | $W s$ |
| 2 | bring every annotation to width d | $U h_j$ |
| 3 | add, and bend | $\tanh(W s + U h_j)$ |
| 4 | judge: one score a word | $e_j = v^\top(\ldots)$ |
| 5 | share out | $\alpha = \text{softmax}(e)$ |
| 6 | blend the annotations | $c = \sum_j \alpha_j h_j$ |

The shares $\alpha_j$ that the softmax gives are called the {term:attention weight|attention weights}, weights for short: computed anew at every step, unlike the learned weights of lesson 01. The blend $c$ is the {term:context}: what the decoder learns about the source at this step. (In lesson 04 $c$ was one for all steps; now there is one for each.)

One thing to know about step 5: only differences count. Scores of 1.52 and 0 give the weights 0.82 and 0.18, and so do 11.52 and 10. A number added to *all* scores changes nothing.
"""

# %% kind="quiz"
quiz("06", "six-steps")

# %% [markdown] kind="text" exercise="additive_attention"
r"""
**Build it, for a whole batch.** A translator works on many sentences at once, so now every sentence has its own state and its own annotations: there is one axis more in front. (All are equally long here; sentences of different lengths are a matter for lesson 10.) Steps 1, 2, 5 and 6 hardly change. Step 3 is the hard one: (b, d) must be added to (b, n, d), each state to all words of *its own* sentence. `x[:, None]` puts an axis of size 1 in second place: (b, d) becomes (b, 1, d), which fits.

Try every step in a cell of its own and look at the shapes. `torch.softmax` also handles large scores; if you write the softmax yourself, make sure that yours does too. In a minute this function will translate.
"""

# %% kind="exercise" exercise="additive_attention" title="Look back, in six steps" difficulty=4 importance=5 track="short"
def additive_attention(states, annotations, w_state, w_annotation, v):
    """states (b, s), annotations (b, n, a), w_state (d, s), w_annotation (d, a), v (d,)

    ->  context (b, a), weights (b, n)
    """
    # solution
    from_state = states @ w_state.T  # (b, d)
    from_annotations = annotations @ w_annotation.T  # (b, n, d)
    hidden = torch.tanh(from_state[:, None] + from_annotations)
    weights = torch.softmax(hidden @ v, dim=-1)  # (b, n)
    context = (weights[:, None] @ annotations)[:, 0]  # (b, a)
    return context, weights
    # end solution

# %% kind="check" exercise="additive_attention"
check("additive_attention", additive_attention)

# %% [markdown] kind="hints" exercise="additive_attention"
r"""
### A nudge
Write the shape beside each of the six steps. Only step 3 adds two shapes that differ.

---
### Step by step
1. `states @ w_state.T` is (b, d); `annotations @ w_annotation.T` is (b, n, d).
2. Give the first an axis in the middle, add, `torch.tanh`.
3. `@ v` gives the scores (b, n). Softmax along the last axis: each *sentence* shares out over its words.
4. The blend: `weights[:, None]` is (b, 1, n); times the annotations (b, n, a) it is (b, 1, a). Take the axis of size 1 out again.

---
### Another way to blend
Multiply each annotation by its weight and add up over the words: `(weights[..., None] * annotations).sum(dim=1)`.
"""

# %% [markdown] kind="text" exercise="test_additive_attention"
r"""
**Now the other side: write the test.** You are handed somebody's `additive_attention`. Raise if it is wrong, let it pass if it is right.
"""

# %% kind="exercise" exercise="test_additive_attention" mode="test" title="Write the test" difficulty=3 importance=3 track="stretch"
def test_additive_attention(attend):
    """Takes a function like additive_attention; raises if it is wrong."""
    # solution
    generator = torch.Generator().manual_seed(0)
    sizes = [(2, 3), (2, 5, 4), (6, 3), (6, 4), (6,)]
    states, h, w, u, v = (torch.randn(size, generator=generator) for size in sizes)
    context, weights = attend(states, h, w, u, v)
    for b in range(2):
        hidden = [torch.tanh(w @ states[b] + u @ word) for word in h[b]]
        scores = torch.stack(hidden) @ v
        torch.testing.assert_close(weights[b], torch.softmax(scores, dim=0))
        torch.testing.assert_close(context[b], torch.softmax(scores, dim=0) @ h[b])
    # end solution

# %% kind="check" exercise="test_additive_attention"
check("test_additive_attention", test_additive_attention)

# %% [markdown] kind="hints" exercise="test_additive_attention"
r"""
### A nudge
A slow loop over sentences and words, written straight from the formula, is the best judge of a fast one.

---
### Step by step
Random inputs whose sizes all differ. For each sentence and each word one score by the formula; softmax; blend. Compare weights *and* context with `torch.testing.assert_close`.
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · Your code translates

Here is the trained system of 2015, in our size: {result:toy_ladder/bahdanau/parameters:,.0f} numbers, trained on 20,000 pairs of sentences. We take its encoder, its GRU and its output layer as they are, and put **your** `additive_attention` between them. Read the loop: it is that of lesson 04 with `step` opened up, and one line more. (`score.w_query` and `score.w_key` are our $W$ and $U$. The look comes before the last word is read, so the state that asks does not know that word yet.)
"""

# %% kind="code" name="translate"
shipped = load_shipped("bahdanau")
model, tokenizer, score = shipped.model, shipped.tokenizer, shipped.model.score


@torch.no_grad()
def translate(sentence, attend, max_len=30):
    source = torch.tensor([[*tokenizer.encode(sentence), EOS]])
    memory = model.encode(source, torch.tensor([source.shape[1]]))
    annotations, state = memory["annotations"], model.start(memory)["hidden"]
    token, words, rows = BOS, [], []
    learned = score.w_query, score.w_key, score.v
    while len(words) < max_len:
        context, weights = attend(state, annotations, *learned)
        rows.append(weights[0])
        last = model.embed(torch.tensor([[token]]))[:, 0]
        state = model.decoder(torch.cat([last, context], dim=-1), state)
        token = model.logits(torch.cat([state, last, context], dim=-1)).argmax().item()
        if token == EOS:
            break
        words.append(token)
    return tokenizer.decode(words), torch.stack(rows)

# %% kind="code"
attend = yours("additive_attention")

THIRSTY = "the cat drank the water because it was thirsty"
COLD = "the cat drank the water because it was cold"
for sentence in (THIRSTY, COLD):
    translation, _ = translate(sentence, attend)
    print(sentence, "→", translation)
    assert translation == shipped(sentence).target  # the library's is the same

# %% [markdown] kind="text"
r"""
Type a sentence of your own into the cell above, if you like: small words, animals, food, colours. Then follow one translation step by step. Before the picture opens, think about the hardest word: at the step that says *il*, where would *you* look?
"""

# %% kind="predict"
predict("06", "where-il-looks", AttentionStepper())

# %% [markdown] kind="text"
r"""
It looks most at *thirsty* ({printed:weights/thirsty}), and next at the end of the source ({printed:weights/thirsty/2}). *il* stands for the cat, yet the cat gets no weight at all. The decoder has said *le chat … l' eau* already; what it still needs is which of the two was meant, and cats get thirsty, water does not. (Both GRUs carry a word into its neighbours' annotations, so they may know as well. Section 5 asks them.)

So a weight tells where something was **fetched from**, not what a word **means**. Keep that in mind for lesson 09.

Also, *a* and *bu* both look at *drank*: nothing forces one word to one word. And the last row looks at `</s>`, the end of the source: that is how the decoder knows when to stop.
"""

# %% kind="see" name="weights"
translation, weights = translate(THIRSTY, attend)
rows = [*translation.split(), "</s>"]
columns = [*THIRSTY.split(), "</s>"]
pair = tests.coreference[0]
assert (pair.src_text, pair.tgt_text) == (THIRSTY, translation)
at_il = [f"{columns[j]} {fixed(weights[8, j], 2)}" for j in range(5, 10)]
print("at il:", ", ".join(at_il))  # the words before get next to nothing

views.heatmap(
    weights, rows=rows, columns=columns, numbers=False, row_name="said",
    column_name="looked at", title="Weights (full blue: 1), true links (rings)",
    marks={(french, english) for english, french in pair.links},
)

# %% [markdown] kind="text"
r"""
The rings are the truth. Which English word each French word comes from is the sentence's {term:word alignment|alignment}. Our toy language knows it, and nobody ever showed it to the network. It was trained on pairs of sentences alone, and found the alignment because it helps.

How good is it? Give every French word the English word with the largest weight, and count: the {term:alignment error} is the share of links that do not agree, 0 for perfect. (Exactly: $1 - \frac{2 \cdot \text{right}}{\text{found} + \text{true}}$.)
"""

# %% [markdown] kind="text" exercise="aligned_words"
r"""
The function that reads the links off the weights is written already. It gets the weights of one translation, with a row for every word said and one for the end, and a column for every source word and one for `</s>`. It gives for each French word the place of its English word; neither end is ever linked. Run it, and look at the alignment error in the cell after the check. Can that be, with such a map?
"""

# %% kind="exercise" exercise="aligned_words" mode="bug" title="Read the links off the weights" difficulty=2 importance=3 track="core"
def aligned_words(weights):
    """weights (french words + 1, english words + 1)  ->  positions (french words,)"""
    # bug
    return weights[1:, :-1].argmax(dim=-1)
    # end bug
    # solution
    return weights[:-1, :-1].argmax(dim=-1)
    # end solution

# %% kind="check" exercise="aligned_words"
check("aligned_words", aligned_words)

# %% [markdown] kind="hints" exercise="aligned_words"
r"""
### A nudge
Print what it gives for the sentence above, next to the French words. Which English word does *le* get?

---
### Step by step
Which row belongs to the end? The map has it at the bottom. And which row does the slice throw away?
"""

# %% kind="see" track="core"
def alignment_error(pairs, read_off):
    n_right = n_found = n_true = 0
    for pair in pairs:
        translation, weights = translate(pair.src_text, attend)
        if translation != pair.tgt_text:
            continue  # another sentence has another alignment
        positions = read_off(weights).tolist()
        links = {(english, french) for french, english in enumerate(positions)}
        n_right += len(links & pair.links)
        n_found, n_true = n_found + len(links), n_true + len(pair.links)
    return 1 - 2 * n_right / (n_found + n_true)


error = alignment_error(tests.test[:60], aligned_words)
print("alignment error:", fixed(error, 2))

# %% [markdown] kind="text" track="core"
r"""
A map like the one above and an error near {result:lesson_06/alignment error of 60 sentences/one row late:.1f} do not go together: one of the two is misread, and it is not the map. Once the links are read off rightly, run the cell again: {result:lesson_06/alignment error of 60 sentences/right:.2f} on these sixty sentences.
"""

# %% [markdown] kind="text"
r"""
Recorded over the whole test set, over three trainings, while the system reads the right translation, the alignment error is {result:toy_ladder/bahdanau/scores/test/alignment_error:.2f}. Part of that cannot be helped: where a French word comes from *two* English ones, one look can name only one of them.
"""

# %% [markdown] kind="text" track="short"
r"""
## 4 · By length, again

Back to the picture of lesson 04: exact match by the length of the sentence. Seq2seq has {result:toy_ladder/seq2seq/parameters:,.0f} parameters, this system {result:toy_ladder/bahdanau/parameters:,.0f}; same corpus, same number of steps, and no sentence of more than 20 words in training. Seq2seq translates {result:toy_ladder/seq2seq/scores/test/by_length/16–20/exact:.0%} of the sentences of 16 to 20 words without a fault, and of longer ones next to none.
"""

# %% kind="predict"
def exact(run, split, words):
    return 100 * run["scores"][split]["by_length"][words]["exact"]


groups = [("test", words) for words in ("1–5", "6–10", "11–15", "16–20")]
groups += [("long", words) for words in ("21–30", "31–40")]
by_group = [
    mean_over_seeds("toy_ladder", lambda run, group=group: exact(run, *group))
    for group in groups
]
curves = {
    "attention": [means["bahdanau"] for means in by_group],
    "Cho 2014": [means["rnn_encoder_decoder"] for means in by_group],
    "seq2seq": [means["seq2seq"] for means in by_group],
}
figure = views.lines(
    (3, 8, 13, 18, 25, 35), curves,
    x_name="words in the source (middle of group)", y_name="exact match, %",
    title="One vector, or a look at every word",
)
predict("06", "length-curve", figure)

# %% [markdown] kind="text"
r"""
Nine in ten, at lengths up to half as long again as any it was trained on. And at 16 to 20 words it is {result:toy_ladder/bahdanau/scores/test/by_length/16–20/exact:.0%} where it was {result:toy_ladder/seq2seq/scores/test/by_length/16–20/exact:.0%}. Beyond 30 words it drops to a quarter: attention took the bottleneck away; it did not teach the two GRUs to read and write lengths they never met. (Nor is looking enough: the Transformer looks at every word too, and has {result:toy_ladder/transformer/scores/long/by_length/21–30/exact:.0%}. Why, lesson 11 asks.)

What is new: a second GRU that reads backwards, the states that are kept, and the look. (Compare it with Cho's system above all, which is built of the same GRUs; Sutskever's has LSTMs in two layers.) What is not: the decoder's very first state is still one vector, made of the backward GRU's last.
"""

# %% [markdown] kind="text" track="short"
r"""
## 5 · Steer it

A map of weights is a picture. To know whether the looking *matters*, take hold of it. `force_attention(step, position)` makes a look that is yours everywhere except at one step, where all the weight goes to one place.

Here is the second step, which should say *chat*, with its eyes forced onto every word in turn. Read what comes out, and what it does to the rest of the sentence.
"""

# %% kind="see"
def force_attention(step, position):
    """Your attention, but with all the weight on one position at one step."""
    steps = itertools.count()

    def attend_there(states, annotations, *learned):
        if next(steps) != step:
            return attend(states, annotations, *learned)
        weights = torch.eye(annotations.shape[1])[[position]]
        return weights @ annotations[0], weights

    return attend_there


for position, word in enumerate(columns):
    print(f"{word:8}", translate(THIRSTY, force_attention(1, position))[0])

# %% [markdown] kind="text"
r"""
Forced onto *water* it says *eau*, and then goes on as if nothing had happened. Forced onto *because* it skips a clause. Forced onto the end, it stops. Other lines are stranger: *thirsty* gives *avait*, the second *the* gives *matin*, a morning nobody spoke of. We do not know why. The word said is not a copy of the word looked at: context and state decide together.
"""

# %% [markdown] kind="text" exercise="make_it_she"
r"""
**Your turn to steer.** Make the system generate *elle* instead of *il* in the thirsty sentence, with every other word unchanged. You may force the attention of one step onto one position. Count both from 0: *le* is step 0, the first *the* is position 0. There is more than one way.
"""

# %% kind="exercise" exercise="make_it_she" mode="transfer" title="Make the cat a she" difficulty=2 importance=3 track="short"
def make_it_she():
    """(step, position): where to force the attention so that il becomes elle"""
    # solution
    return 8, 4  # the step that generates il, attending to water
    # end solution

# %% kind="check" exercise="make_it_she"
check("make_it_she", make_it_she)

# %% [markdown] kind="hints" exercise="make_it_she"
r"""
### A nudge
Which step generates *il*? Count in `translation.split()`. Then try the positions one by one with `translate(THIRSTY, force_attention(step, position))`.

---
### Step by step
`for position in range(10): print(position, translate(THIRSTY, force_attention(8, position))[0])`
"""

# %% kind="see"
for position, word in enumerate(columns):
    words = translate(THIRSTY, force_attention(8, position))[0].split()
    print(f"{word:8}", words[8])

# %% [markdown] kind="text"
r"""
Here are all ten places, at the step that says *il*. Three words and the end all say *il*: not only *thirsty*, but its neighbours too, whose annotations know about it. All that stands before *it*, water or not, gives *elle*, but for *cat*, which is copied. So the weights told where it **did** look. They did not tell where else it could have looked with the same result. A map of weights is evidence, not an explanation.

Now a question about order. The annotations come in a row, first word first. Suppose somebody drops them like cards, picks them up in any order, and hands them to the decoder.
"""

# %% kind="predict"
order = torch.tensor([9, 3, 1, 0, 5, 2, 8, 7, 6, 4])


def attend_shuffled(states, annotations, *learned):
    return attend(states, annotations[:, order], *learned)


shuffled, moved = translate(THIRSTY, attend_shuffled)
figure = views.heatmap(
    moved, rows=[*shuffled.split(), "</s>"], columns=[columns[i] for i in order],
    numbers=False, row_name="said", column_name="looked at (dropped and picked up)",
    title="The dropped cards (full blue: 1)",
)
predict("06", "cards-picked-up", figure)

# %% kind="explain"
explain("06", "dropped-cards")

# %% [markdown] kind="text" contents="what the trained model does with uniform and with diagonal attention"
r"""
## Break it

Two ways to look without thinking: the same weight for everyone, and the fixed diagonal of section 1.

> **Before you run it:** which of the two will do better on sixty test sentences? How well?
"""

# %% kind="break"
def uniform_attention(states, annotations, *learned):
    n = annotations.shape[1]
    weights = torch.full((1, n), 1 / n)
    return weights @ annotations[0], weights


def diagonal_attention():
    steps = itertools.count()

    def attend_there(states, annotations, *learned):
        n = annotations.shape[1]
        weights = torch.eye(n)[[min(next(steps), n - 1)]]
        return weights @ annotations[0], weights

    return attend_there

# %% kind="break"
kinds = {
    "learned attention": lambda: attend,
    "the diagonal": diagonal_attention,  # it counts steps: a new one for each sentence
    "the same for all": lambda: uniform_attention,
}
for name, make in kinds.items():
    n_right = 0
    for pair in tests.test[:60]:
        n_right += translate(pair.src_text, make())[0] == pair.tgt_text
    print(f"{name:17} {n_right} of 60")

# %% [markdown] kind="text"
r"""
(A little unkind: the system was trained for neither. It shows how much hangs on the look, not how well such systems could be made to work.)
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself

The first try counts for your score; every answer gets a reason.
"""

# %% kind="quiz"
quiz("06", "closing")

# %% [markdown] kind="instructor"
r"""
**Open with the length curve of lesson 04** and ask: which information is lost, and when? Expected: it was there (a state per word) and was thrown away at the end of the encoder.

**Live:** run the forcing cell with a sentence from the room. Ask for bets before each line.

| they say | what it is | answer |
|---|---|---|
| "attention picks the word with the best score" | M12 | It blends. At *il* no word has half of the weight, and the word comes out right. |
| "il looks at cat" | – | Open the stepper at step 8: cat has {result:lesson_06/weights at il/cat:.2f}. |
| "the decoder needs the annotations in order" | – | Drop the cards. The order is inside them. |
| "Bahdanau's context replaces the state" | M05 | It enters the GRU beside the last word; the state goes on. |

**If time is short**, leave out the test exercise and the break; keep the forcing.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | what it is | shape |
|---|---|---|
| annotation $h_j$ | a word, read from both sides | (n, a) |
| state $s_{i-1}$ | what has been said, before the next word | (s,) |
| scores $e_j = v^\top\tanh(Ws + Uh_j)$ | how well each word fits | (n,) |
| weights $\alpha$ | the softmax of the scores; they sum to 1 | (n,) |
| context $c = \sum_j \alpha_j h_j$ | what is fetched at this step | (a,) |

- Nothing is squeezed: each source word keeps a vector of its own, and the context is made anew for every word.
- The alignment is learned from translations alone, because it helps. Error {result:toy_ladder/bahdanau/scores/test/alignment_error:.2f}.
- 16 to 20 words: {result:toy_ladder/seq2seq/scores/test/by_length/16–20/exact:.0%} → {result:toy_ladder/bahdanau/scores/test/by_length/16–20/exact:.0%}, at the same size (and {result:toy_ladder/rnn_encoder_decoder/scores/test/by_length/16–20/exact:.0%} → {result:toy_ladder/bahdanau/scores/test/by_length/16–20/exact:.0%} against Cho's, its nearest relative).
- A weight says where something was fetched, not what a word refers to.
- The order of the words is inside the annotations, not in the look.

| | the wish of lesson 05 | granted by |
|---|---|---|
| ☑ | more information | a vector for every word |
| ☑ (half) | short distance | one hop from the decoder to any source word; inside the encoder as far as before |
| ☑ | equal treatment | the same score for every place |
| ☑ | emphasis | weights computed from the sentence |
| ☑ | looking both ways | two GRUs |

**Still missing.** Is a small network the best judge of a fit? Lesson 07 tries others. And the encoder still reads one word after the other: that waits until lesson 09. Writing stays word by word to the end of the course.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Bahdanau, Cho and Bengio, *Neural Machine Translation by Jointly Learning to Align and Translate* (2015), sections 3.1, 5.2 and Figure 3: you can now read every symbol. [arXiv 1409.0473](https://arxiv.org/abs/1409.0473)
- Graves, *Generating Sequences With Recurrent Neural Networks* (2013), section 5: a soft window that slides over a text, a year earlier. [arXiv 1308.0850](https://arxiv.org/abs/1308.0850)
- What differs from the paper in our system stands at the top of `course_lib/models/bahdanau.py`.
"""
