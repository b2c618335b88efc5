# Lesson 06 · the source. Edit this file, then run `python3 -m course_lib build 06`; the notebook is made from it.

# %% [markdown] kind="title" part="II · Attention"
r"""
# 06 · Bahdanau attention

**The question:** what if the decoder could look back at every word of the source?

About {minutes} minutes. You need the encoder and the decoder from [lesson 04](04_encoder_decoder.ipynb), the GRU from [lesson 03](03_lstm_and_gru.ipynb), and the softmax from [lesson 00](00_start_here.ipynb).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **write** additive attention for a batch of sentences, in six steps;
2. **run** a trained translator with your own attention function, and **read** its attention map;
3. **describe** how an alignment emerges during training, although the model is never shown one;
4. **compare** models with and without attention on long sentences, and **say** what the comparison shows;
5. **steer** a translation by forcing the attention, and **explain** what an attention map doesn't tell you.
"""

# %% [markdown] kind="instructor"
r"""
**Open with (3 min) the length curve of lesson 04** and ask: "Which information does the decoder lack, and where was it lost?" Expected: the encoder had a hidden state for each word, and all but the last were discarded. Then ask for ideas before you tell Bahdanau's story. Someone usually proposes the diagonal.

**If time is short,** leave out `additive_scores` and the explorable in section 6. Keep section 4 and the forced attention in section 6.
"""

# %% kind="setup"
import itertools

import torch

from course_lib import views
from course_lib.results import mean_over_seeds
from course_lib.teaching import check, estimate, predict, quiz, start_lesson, yours
from course_lib.text import BOS, EOS, TEST_SIZES, splits, translations_of
from course_lib.translation import load_shipped
from lessons.l06_bahdanau_attention import AttentionEmerges, AttentionStepper
from lessons.l06_bahdanau_attention import key_picture

start_lesson("bahdanau_attention", seed=6)
tests = splits(seed=0, sizes=TEST_SIZES)

# %% [markdown] kind="text" track="short"
r"""
A trained translator is about to write its sixth French word. This lesson explains how it knows where to look.
"""

# %% kind="picture" name="key picture" hide_input=true track="short"
key_picture.draw()

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("06", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · A vector for every word

The encoder of lesson 04 passes a single context vector to the decoder, however long the sentence is. Yet while it processes the source, it computes a hidden state for *every* word, and then discards all of them except the last. What if we kept them all? For ten words the decoder would have ten vectors, and it would have to find those that matter for the next French word.

In 2014 Dzmitry Bahdanau was an intern in Yoshua Bengio's lab and, as he put it, "super skeptical about the idea of cramming a sequence of words in a vector". In an [email that Andrej Karpathy published](https://x.com/karpathy/status/1864023344435380613) ten years later, he tells the story. His first idea, two cursors that move independently through the source and the target, would have been too hard to implement in the five weeks that were left of his internship. So he tried something simpler:

- **Two cursors that move in step.** The first French word uses the first English word, the second uses the second, and so on. He calls this "hard-coded diagonal attention". It "sort of worked", but it lacked elegance.
- **A cursor that the decoder learns to place.** He was inspired by translation exercises in his English lessons at school: "Your gaze shifts back and forth between source and target sequence as you translate." He let the decoder search *softly*, with a softmax and a weighted average of all the encoder's states. It worked "from the very first try".

He called the system RNNSearch. Bengio added the word *attention* in one of the final passes over the paper.
"""

# %% [markdown] kind="text" track="core" contents="an estimate: how far the diagonal would take us"
r"""
How far would cursors that move in step take us? In our toy language, we know which English word or words each French word comes from. Let's call each such pair of words a *link*. How many links join words at the same position?
"""

# %% [markdown] kind="instructor"
r"""
**Collect estimates** and ask for an English phrase that breaks the diagonal. Good ones: *did not*, *drank*, an adjective before its noun.
"""

# %% kind="estimate" track="core"
def percent_on_diagonal():
    """The percentage of all links that join words at the same position."""
    links = [link for pair in tests.test for link in pair.links]
    return 100 * sum(english == french for english, french in links) / len(links)


estimate("06", "diagonal", percent_on_diagonal)

# %% [markdown] kind="text"
r"""
A fixed diagonal isn't enough: *not* becomes *ne … pas* and *drank* becomes *a bu*, and each additional word shifts everything that follows. Where the decoder should look depends on the sentence, so the network has to compute it. This is **attention**, and it needs two things:

- **Something to attend to.** We want one vector per source word that depends on the words on both sides. A {term:bidirectional|bidirectional RNN} consists of two recurrent networks, here GRUs: one processes the sentence from left to right, the other from right to left. For each word $j$, their two hidden states are {term:concatenated}. The result is the word's {term:annotation} $h_j$.
- **Something that decides where to attend.** Before the decoder generates word $i$, its latest hidden state is $s_{i-1}$. It depends on all the words generated so far except the last: word $i-1$ will be an input to the next step of the GRU, together with what attention finds.

Here are the annotations again. The next section computes the scores, the attention weights $\alpha$ and the context vector $c_i$.
"""

# %% kind="picture" hide_input=true
key_picture.draw("annotations")

# %% [markdown] kind="text" track="short"
r"""
## 2 · Additive attention

How relevant is the annotation $h_j$ when the decoder is in state $s_{i-1}$? The two vectors come from different networks: they can have different sizes, and nothing ensures that their components mean the same thing. So Bahdanau uses a small neural network with one hidden layer to compute a **score** for each word $j$ at step $i$:

$$e_{ij} = v^\top \tanh(W s_{i-1} + U h_j)$$

The matrix $W$ projects the state to $d$ numbers, and $U$ projects the annotation to $d$ numbers too. The two vectors are *added*, which is why the method is called {term:additive attention}. Then tanh is applied to the sum, and the dot product with the vector $v$ gives a single number. $W$, $U$ and $v$ are parameters, trained together with the rest of the model.

**An example with vectors of size 1.** Let $W = 1$, $U = -1$ and $v = 2$. The state is $1$, and two words have the annotations $0$ and $1$.

- The first word's score is $2 \tanh(1 - 0) = 2 \cdot 0.76 = 1.52$.
- The second word's score is $2 \tanh(1 - 1) = 0$.

Training finds parameters that give a word a high score when it is useful.
"""

# %% [markdown] kind="text" exercise="additive_scores"
r"""
Compute the scores of **one** state for all the words of a sentence. Return the scores themselves, without a softmax. A loop over the words is fine if you join the scores with `torch.stack`, through which gradients can flow, but try to do without one. The matrices have the shape (out, in), so `w_state @ state` is a vector of size d.
"""

# %% kind="exercise" exercise="additive_scores" title="Additive scores" difficulty=2 importance=5 track="core"
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
### Where to start
Project both inputs to d numbers first. You need one vector for the state, and one *row* for each annotation.

---
### Step by step
1. `w_state @ state` has shape (d,).
2. `annotations @ w_annotation.T` has shape (n, d), with a row for each word.
3. Add the two. The vector is added to every row. Apply `torch.tanh`.
4. `@ v` turns each row into one number.
"""

# %% [markdown] kind="text"
r"""
A softmax turns the scores of step $i$ into {term:attention weights} $\alpha_{ij}$, which are positive and sum to 1. The context vector is the weighted average of the annotations. In lesson 04 there was one context vector for the whole sentence; now the decoder computes a new one for every word, in six steps:

| step | in words | formula |
|---|---|---|
| 1 | project the state | $W s_{i-1}$ |
| 2 | project each annotation | $U h_j$ |
| 3 | add them and apply tanh | $\tanh(W s_{i-1} + U h_j)$ |
| 4 | compute one score per word | $e_{ij} = v^\top \tanh(\ldots)$ |
| 5 | normalise the scores | $\alpha_{i1}, \ldots, \alpha_{in} = \operatorname{softmax}(e_{i1}, \ldots, e_{in})$ |
| 6 | take the weighted average | $c_i = \sum_j \alpha_{ij} h_j$ |

In the example, the scores 1.52 and 0 give the attention weights 0.82 and 0.18. The scores 11.52 and 10 would give the same attention weights: a number that is added to *all* scores cancels out in the softmax.
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on the shuffled annotations. "Neither changes" is half right, which makes the discussion worthwhile: attention weights belong to annotations and move with them, while a sum doesn't depend on the order.
"""

# %% kind="quiz"
quiz("06", "six-steps")

# %% [markdown] kind="instructor"
r"""
**Stuck?** Write the six shapes on the board, and leave the third to the learners: (b, d) and (b, n, d) only fit once the first has become (b, 1, d). If the attention weights don't sum to 1 for each sentence, the softmax is over the wrong axis.
"""

# %% [markdown] kind="text" exercise="additive_attention"
r"""
**Build it for a whole batch.** Now there are b sentences of the same length, each with its own state and annotations, so states and annotations have an additional first axis. Return two tensors, the context vectors and the attention weights.

Step 3 is the hard one. It has to add a tensor of shape (b, d) to one of shape (b, n, d), so that each state is added to all the words of *its own* sentence. `x[:, None]` inserts an axis of size 1 and turns (b, d) into (b, 1, d). In the sum, this axis is repeated n times, which is called {term:broadcasting}.

Print the shape after each step. `torch.softmax` can handle large scores; if you write your own, make sure that it can too. In the next section, a translator will use your function.
"""

# %% kind="exercise" exercise="additive_attention" title="Additive attention" difficulty=4 importance=5 track="short"
from lessons.l06_bahdanau_attention.solutions import additive_attention

# %% kind="check" exercise="additive_attention"
check("additive_attention", additive_attention)

# %% [markdown] kind="hints" exercise="additive_attention"
r"""
### Where to start
Write down the shape of the result of each of the six steps. Step 3 is the only one that adds two tensors of different shapes.

---
### Step by step
1. `states @ w_state.T` has shape (b, d), and `annotations @ w_annotation.T` has shape (b, n, d).
2. Insert an axis in the middle of the first one, add the two, and apply `torch.tanh`.
3. `@ v` gives the scores, of shape (b, n). Apply the softmax along the last axis, so that the attention weights of each *sentence* sum to 1.
4. `weights[:, None]` has shape (b, 1, n). Its matrix product with the annotations, (b, n, a), has shape (b, 1, a). Remove the axis of size 1 with `[:, 0]`.

---
### Another way to write the weighted average
Multiply each annotation by its attention weight and sum over the words: `(weights[..., None] * annotations).sum(dim=1)`.
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · Your code translates

Here is a small version of Bahdanau's system with {result:toy_ladder/bahdanau/parameters:,.0f} parameters, trained on 20,000 sentence pairs. The next cell uses its encoder, its decoder GRU and its output layer, but **your** `additive_attention`. The loop is greedy decoding from lesson 04, with the decoder's `step` written out: `attend` uses the old state, and then the GRU computes the new one from the previous word and the context vector. `score.w_query` and `score.w_key` are $W$ and $U$; lesson 08 explains these names.
"""

# %% kind="code" name="translate"
shipped = load_shipped("bahdanau")
model, tokenizer, score = shipped.model, shipped.tokenizer, shipped.model.score


@torch.no_grad()
def translate(sentence, attend, max_len=30):
    """The translation, and the attention weights: one row per output token."""
    source = torch.tensor([[*tokenizer.encode(sentence), EOS]])
    memory = model.encode(source, torch.tensor([source.shape[1]]))
    annotations, state = memory["annotations"], model.start(memory)["hidden"]
    token, words, rows = BOS, [], []
    parameters = score.w_query, score.w_key, score.v
    while len(words) < max_len:
        context, weights = attend(state, annotations, *parameters)
        rows.append(weights[0])
        previous = model.embed(torch.tensor([[token]]))[:, 0]
        state = model.decoder(torch.cat([previous, context], dim=-1), state)
        logits = model.logits(torch.cat([state, previous, context], dim=-1))
        token = logits.argmax().item()
        if token == EOS:
            break
        words.append(token)
    return tokenizer.decode(words), torch.stack(rows)

# %% kind="code"
attend = yours("additive_attention")

MOTHER = "the happy mother did not sell the old white flower"
translation, weights = translate(MOTHER, attend)  # try sentences of your own, too
assert translation == shipped(MOTHER).target  # the library's attention agrees
rows = {"your attention": translation}
views.translations(MOTHER, rows, reference=translations_of(MOTHER))

# %% [markdown] kind="text"
r"""
Your code translates. The attention weights of one sentence form an {term:attention map}, with a row for each French word and a column for each English word. Both sentences end with `</s>`, the EOS token.

Look at the end of this translation before you see its map: *the old white flower* became *la vieille fleur blanche*.
"""

# %% [markdown] kind="instructor"
r"""
| they say | misconception | answer |
|---|---|---|
| "attention picks the word with the highest score" | M12 | It computes a weighted average. In section 6, at *il*, no word has half of the attention. |
| "the context vector replaces the state" | – | It is an input to the GRU, next to the previous word. |
"""

# %% kind="predict" hide_input=true
pair = tests.test[4]  # the same sentence, with its links
translation, weights = translate(MOTHER, attend)
assert (pair.src_text, pair.tgt_text) == (MOTHER, translation)
rows, columns = [*translation.split(), "</s>"], [*MOTHER.split(), "</s>"]
figure = views.heatmap(
    weights, rows=rows, columns=columns, numbers=False,
    row_name="generated word", column_name="source word",
    title="Attention weights (rings: true links)",
    marks={(french, english) for english, french in pair.links},
    alt="The attention map of the sentence about the mother and the flower.",
)
predict("06", "crossing-map", figure)

# %% [markdown] kind="text"
r"""
The map has two crossings, one for each adjective that follows its noun in French. *vieille* precedes its noun, and there the order stays the same. So the model hasn't simply learned to swap every adjective with its noun.

The map isn't one-to-one either. *n'* and *pas* both attend to *not*, with attention weights of {result:lesson_06/weights on not/n':.2f} and {result:lesson_06/weights on not/pas:.2f}, and nearly all the rest is on *did*.

The rings show the true *links*: each joins a French word to an English word it comes from. We know them because we made up the toy language. Together they are the {term:word alignment} of the two sentences. To measure how well a map agrees with it, we link each French word to the English word with the largest attention weight. The {term:alignment error} is $1 - \frac{2 \cdot \text{correct links}}{\text{links found} + \text{true links}}$, and 0 is perfect. On the whole test set, measured with teacher forcing, it is {result:each toy_ladder/bahdanau/scores/test/alignment_error:.3f} in three runs.
"""

# %% [markdown] kind="text" track="short"
r"""
## 4 · Attention emerges

The training data contain English sentences and their French translations, but no links. The model was trained to predict the next French word, as in lesson 04, and nothing in the loss mentions an alignment. So where does it come from?

We trained the system three times, for 4,000 steps each, and recorded its attention maps along the way. Before training, the attention weights are nearly uniform and no translation is correct. At the end, the maps look like the one above and nearly all translations are correct. What happens in between?
"""

# %% [markdown] kind="instructor"
r"""
**Section 4 on one screen (5 min).** Play the run from step 0, and pause it while learners read the translation aloud. Ask each time: "Does it use the source yet? How can you tell?"
"""

# %% kind="predict"
predict("06", "which-comes-first", AttentionEmerges())

# %% [markdown] kind="text"
r"""
Play the run from step 0, and read the translation above the map. The curves show how all three runs did on 200 test sentences, under teacher forcing: how closely the position that a word attends to follows its own position (their correlation), and the percentages of words and links that are right.

- **At first all rows are nearly the same.** Each French word spreads its attention in the same way, so the decoder gets nearly the same context vector at every step.
- **Then comes fluent French about something else.** At step 150, *the cat drank the water because it was thirsty* becomes *la reine a bu le lait parce qu' elle était très bonne*.
  You saw this stage when you trained seq2seq in lesson 04. <!-- core -->
- **Then the rows start to differ, and a diagonal appears.** At step 200 the correlation is {result:emergence/bahdanau/curve/8/diagonal:.2f}, averaged over the three runs: the network has found the cursors that move in step.
- **Then the links become right.** Between steps 200 and 600, the alignment error falls from {result:emergence/bahdanau/curve/8/alignment_error:.2f} to {result:emergence/bahdanau/curve/24/alignment_error:.2f}, and the fraction of correct translations rises from {result:emergence/bahdanau/snapshots/8/exact:.0%} to {result:emergence/bahdanau/snapshots/24/exact:.0%}.

A plausible reason why alignment and translation improve together is that each needs the other. Gradient descent raises the score of *flower* at the step of *fleur* only if attending to *flower* makes *fleur* more probable, and that requires a decoder that can already use the annotation of *flower*.

From step {result:lesson_06/emergence/la attends to mother from step:.0f} to step {result:lesson_06/emergence/la attends to mother to step:.0f}, the first *la* attends most to *mother* in all three runs. From step {result:lesson_06/emergence/la attends to the from step:.0f} on, it attends most to *the* in all of them. What could *la* need from *mother*? A plausible guess is the noun's gender. We don't know why the attention later moves to *the*.
Lesson 07 tests a similar guess in another model. <!-- core -->
"""

# %% [markdown] kind="text" track="short"
r"""
## 5 · Long sentences

Does attention help with the problem of lesson 04? There, the fraction of correct translations dropped as the sentences got longer, to {result:toy_ladder/seq2seq/scores/test/by_length/16–20/exact:.0%} for seq2seq and {result:toy_ladder/rnn_encoder_decoder/scores/test/by_length/16–20/exact:.0%} for Cho's model at 16 to 20 words. The system with attention has about as many parameters as seq2seq and was trained on the same sentences for the same number of steps. No training sentence has more than 20 words, so the sentences in the last two groups of the figure are longer than any in training.
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min)** before the figure. "The model with attention does better on long sentences. What else is different about it?" Expected: the encoder reads in both directions, the scores are computed by a network, the decoder is different. So the figure alone doesn't show that attention is the reason. The control after the figure trains a model with attention, but without the second direction.
"""

# %% kind="predict" hide_input=true
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
    "Cho": [means["rnn_encoder_decoder"] for means in by_group],
    "seq2seq": [means["seq2seq"] for means in by_group],
}
figure = views.lines(
    (3, 8, 13, 18, 25, 35), curves,
    x_name="words in the source (middle of the group)", y_name="exact match, %",
    title="Exact match by length",
    alt="Exact match by sentence length for three models.",
)
predict("06", "length-curve", figure)

# %% [markdown] kind="text"
r"""
At 16 to 20 words, the three runs with attention translate {result:min toy_ladder/bahdanau/scores/test/by_length/16–20/exact:.0p} to {result:max toy_ladder/bahdanau/scores/test/by_length/16–20/exact:.0%} of the sentences correctly, and {result:min toy_ladder/bahdanau/scores/long/by_length/21–30/exact:.0p} to {result:max toy_ladder/bahdanau/scores/long/by_length/21–30/exact:.0%} at 21 to 30 words. There are {result:toy_ladder/bahdanau/scores/long/by_length/21–30/n:.0f} sentences in the longer group, so each percentage there has a margin of error of about {result:lesson_06/21–30 words/margin of error:.0p} percentage points (95% confidence), far less than the difference between the models. Bahdanau's paper reports a similar result for real sentences: a model with attention, trained on sentences of up to 50 words, keeps its quality even at 50 words and more. The same model trained on sentences of up to 30 words doesn't.

Is it the attention that makes the difference? This model also has a bidirectional encoder, unlike the others. As a control, we trained a model with attention that has about the same size but only a forward encoder. It translates {result:min encoder_direction/from the start/scores/test/by_length/16–20/exact:.0p} to {result:max encoder_direction/from the start/scores/test/by_length/16–20/exact:.0%} of the sentences of 16 to 20 words correctly, so most of the gain at this length doesn't need the second direction. At 21 to 30 words, however, it translates only {result:min encoder_direction/from the start/scores/long/by_length/21–30/exact:.0p} to {result:max encoder_direction/from the start/scores/long/by_length/21–30/exact:.0%} correctly. There, a good part of the gain must come from other differences between the two models, such as the second direction, the way the scores are computed, or the decoder.

Attention doesn't solve everything. At 31 to 40 words, up to twice as long as the longest training sentence, the mean exact match is {result:toy_ladder/bahdanau/scores/long/by_length/31–40/exact:.0%}. One possible reason is that the GRUs still process the words one after another, here over many more steps than in training.
"""

# %% [markdown] kind="text" track="short"
r"""
## 6 · Steering the translation

*The cat drank the water because it was thirsty.* To translate *it*, the decoder has to choose between *il*, for the cat (*le chat*), and *elle*, for the water (*l'eau*). What does it attend to at this step?
"""

# %% [markdown] kind="instructor"
r"""
**They say:** "*il* attends to *cat*." **Answer:** Open the explorable at step 8: *cat* has {result:lesson_06/weights at il/cat:.2f}.
"""

# %% kind="predict" track="core" contents="the attention at every step of this sentence, in an explorable"
predict("06", "where-il-looks", AttentionStepper())

# %% [markdown] kind="text"
r"""
At the step that generates *il*, the largest attention weight, {result:lesson_06/weights at il/thirsty:.2f}, is on *thirsty*, and the second largest, {result:lesson_06/weights at il/end:.2f}, on the end of the source. You might have expected *cat*, since *il* refers to the cat, but *cat* gets {result:lesson_06/weights at il/cat:.2f}. A plausible reason is that the decoder has already generated *le chat* and *l' eau*, and what it still needs to know is which of the two the pronoun refers to. Cats get thirsty; water doesn't.

But that is a story about a single map. We tested the model on {result:lesson_06/pronouns/sentences:.0f} sentences of this kind, and it translates all of them correctly. Yet the adjective gets the largest attention weight in only {result:lesson_06/pronouns/adjective:.0%} of them. In {result:lesson_06/pronouns/because:.0%} it is *because*, and in {result:lesson_06/pronouns/pronoun:.0%} the pronoun itself.

Does the attention at a step matter for the output at all? To find out, we have to change it. `force_attention(step, position)` returns your attention function with one change: at one step, all the attention goes to one position. We start with step 1, which generates *chat*, and force its attention onto each position in turn.
"""

# %% [markdown] kind="instructor"
r"""
**Force it live (5 min).** Take a sentence from the room and collect bets before each line.
"""

# %% kind="code"
THIRSTY = "the cat drank the water because it was thirsty"
sources = [*THIRSTY.split(), "</s>"]


def force_attention(step, position):
    """Your attention, except that one step attends to one position only."""
    steps = itertools.count()

    def attend_there(states, annotations, *parameters):
        if next(steps) != step:
            return attend(states, annotations, *parameters)
        weights = torch.eye(annotations.shape[1])[[position]]
        return weights @ annotations[0], weights

    return attend_there


rows = {
    f"{position} {word}": translate(THIRSTY, force_attention(1, position))[0]
    for position, word in enumerate(sources)
}
views.translations(THIRSTY, rows, reference=translations_of(THIRSTY))

# %% [markdown] kind="text"
r"""
With its attention on *water*, the decoder generates *eau* and then continues as if nothing had happened. With its attention on *because*, it skips a clause, and with its attention on the end of the source, it stops. Other results are harder to understand: the second *the* leads to *matin*, which means *morning*. The output isn't simply a translation of the attended word. It depends on the context vector, the state and the previous word together.
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** Find the number of the step first: *il* is generated at step 8. Then try positions; several work.
"""

# %% [markdown] kind="text" exercise="make_it_she"
r"""
**Now you steer.** Make the system generate *elle* instead of *il* in the thirsty sentence, with every other word unchanged. Use `force_attention` for one step and one position. Count both from 0: *le* is generated at step 0, and the first *the* has position 0. There is more than one solution. Return the step and the position.
"""

# %% kind="exercise" exercise="make_it_she" mode="transfer" title="Turn il into elle" difficulty=2 importance=3 track="short"
from lessons.l06_bahdanau_attention.solutions import make_it_she

# %% kind="check" exercise="make_it_she"
check("make_it_she", make_it_she)

# %% [markdown] kind="hints" exercise="make_it_she"
r"""
### Where to start
Which step generates *il*? Count in `translate(THIRSTY, attend)[0].split()`. Then try positions with `translate(THIRSTY, force_attention(step, position))[0]`.

---
### Step by step
Try all positions in a loop: `for position in range(10): print(position, translate(THIRSTY, force_attention(8, position))[0])`
"""

# %% kind="code"
COLD = "the cat drank the water because it was cold"


def forced_word(sentence, position):
    """The output of step 8 if it attends to one position only."""
    words = translate(sentence, force_attention(8, position))[0].split()
    return [*words, "</s>"][8]


print("position  thirsty  cold")
for position, word in enumerate(sources):
    in_both = forced_word(THIRSTY, position), forced_word(COLD, position)
    print(f"{word:9} {in_both[0]:8} {in_both[1]}")

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (4 min)** before you read on. "Forced onto *it*, the decoder generates *il*. So does the annotation of *it* contain the answer?" Expected: look at the other column. In the sentence with *cold*, the result is also *il*, so the decoder may just prefer it. Only a position that is right in *both* sentences is evidence.

**They say:** "The map explains the output" (M46). **Answer:** Forced onto *was*, the model still generates *il*. And in most sentences of this kind, the adjective doesn't get the largest attention weight.
"""

# %% [markdown] kind="text"
r"""
The column *thirsty* shows the output of step 8, which normally generates *il*, for each position. The attention does matter: forced onto most of the words before *it*, the decoder generates *elle*. However, it generates *il* not only for *thirsty* but also for *it*, *was* and the end of the source. Do their annotations contain what the decoder needs?

To find out, we need a control: the column *cold*, where *elle* is correct and position 8 is *cold*. Forced onto *it* or onto the end, the decoder generates *il* in **both** sentences, so it may just prefer *il* there. Only the adjective and *was* lead to the correct pronoun in both. A plausible reason is that the backward GRU has carried the adjective into the annotation of *was*.

The attention map showed where the model **did** attend, not that it **had to** attend there. A map is a good source of ideas, and forcing the attention is a way to test them.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on "Attention gives the decoder a longer summary." In the full lesson, the question about the missing tanh is also worth a vote: let learners write out the scores of two words and subtract them.
"""

# %% kind="quiz"
quiz("06", "closing")

# %% [markdown] kind="instructor"
r"""
**Wrap up (3 min).** Take out the list from lesson 05 and have learners tick the requirements that attention meets: all but short distance, which is half met. Compare with what they wanted "while they speak" in lesson 04.

**They say:** "Attention gives the decoder a longer summary" (M04). **Answer:** The context vector has the size of one annotation, but there is a new one at every step.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | meaning | shape |
|---|---|---|
| annotation $h_j$ | the concatenated states of a forward and a backward GRU | (n, a) |
| score $e_{ij} = v^\top\tanh(Ws_{i-1} + Uh_j)$ | how relevant word $j$ is at step $i$ | (n,) |
| attention weights $\alpha_{ij}$ | the softmax of the scores of step $i$ | (n,) |
| context vector $c_i = \sum_j \alpha_{ij} h_j$ | a weighted average of the annotations, new at every step | (a,) |

- At 16 to 20 words, exact match is {result:toy_ladder/bahdanau/scores/test/by_length/16–20/exact:.0%} with attention and {result:toy_ladder/rnn_encoder_decoder/scores/test/by_length/16–20/exact:.0%} without (Cho's model).
- An alignment emerges during training, from sentence pairs alone.
- An attention map shows where a model attended, not that it had to attend there.

Of the five requirements in lesson 05, four are met: an annotation for every word, the same network for the scores of every position, attention weights that depend on the sentence, and an encoder that looks both ways. The remaining one, short distance, is half met: the decoder reaches any source word in one hop, but inside the encoder the distances are as long as before.

**Still missing.** Is a small network the best way to compute the scores? [Lesson 07](07_score_functions.ipynb) tries others. And the encoder still processes the words one after another, which lesson 09 changes.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Bahdanau, Cho and Bengio, *Neural Machine Translation by Jointly Learning to Align and Translate* (2015), section 3, section 5.2 and figure 3. The formula for the scores is in appendix A.1.2, where our $W$, $U$ and $v$ are called $W_a$, $U_a$ and $v_a$. [arXiv 1409.0473](https://arxiv.org/abs/1409.0473)
- Graves, *Generating Sequences With Recurrent Neural Networks* (2013), section 5: a year earlier, a soft window that moves along a text. [arXiv 1308.0850](https://arxiv.org/abs/1308.0850)
- The differences between our system and the paper are listed at the top of `course_lib/models/bahdanau.py`.
"""
