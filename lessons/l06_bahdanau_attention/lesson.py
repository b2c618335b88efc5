# Lesson 06 · the source. Edit this file, then run `python3 -m course_lib build 06`; the notebook is made from it.

# %% [markdown] kind="title" part="II · Attention"
r"""
# 06 · Bahdanau attention

**The question:** what if the decoder could look back at every word of the source?

About {minutes} minutes. You need the encoder and the decoder from [lesson 04](04_encoder_decoder.ipynb), the GRU from [lesson 03](03_lstm_and_gru.ipynb), and the softmax from [lesson 00](00_start_here.ipynb).

This decoder is about to choose between *il* and *elle*. It can look back at every word. Where will it look?
"""

# %% kind="setup"
import torch

from course_lib import views
from course_lib.teaching import check, estimate, predict, quiz, start_lesson, yours
from course_lib.text import TEST_SIZES, splits, translations_of
from course_lib.translation import load_shipped
from lessons.l06_bahdanau_attention import AttentionEmerges, AttentionStepper
from lessons.l06_bahdanau_attention import Steering, train_and_film
from lessons.l06_bahdanau_attention import evidence, key_picture, six_steps

start_lesson("bahdanau_attention", seed=6)
tests = splits(seed=0, sizes=TEST_SIZES)
key_picture.draw()

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **write** additive attention for a batch of sentences;
2. **run** a trained translator with your own attention function, and **read** its attention map;
3. **train** a translator with your attention, and **describe** the order in which its alignment emerges;
4. **choose** the control that shows whether attention makes a difference; <!-- core -->
5. **steer** a translation by clicking what it attends to, and **explain** what an attention map doesn't tell you.
"""

# %% [markdown] kind="instructor"
r"""
**Open with (3 min) the picture,** before any cell is run: everyone points at the word they'd look at. Count the votes for *cat*, *it* and *thirsty* on the board; they are needed again in section 6.

**If time is short,** leave out `make_it_she`.

**The training run** can go on during a break.
"""

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory. Then place your bet on the picture above.
"""

# %% kind="recall"
quiz("06", "recall")

# %% [markdown] kind="instructor"
r"""
**They say:** "*il* attends to *cat*." **Answer:** *cat* has {result:lesson_06/weights at il/cat:.2f}. Leave the puzzle open: "How can it say *il* without looking at the cat?" Collect ideas; section 6 tests them.
"""

# %% kind="predict" track="short" minutes=2.5 because="only one picture is looked at; section 2 steps through it"
predict("06", "where-il-looks", AttentionStepper())

# %% [markdown] kind="text" track="short"
r"""
## 1 · A vector for every word

The encoder of lesson 04 computes a hidden state for *every* word of the source and passes on only the last one, however long the sentence is.

In 2014 Dzmitry Bahdanau, an intern in Yoshua Bengio's lab, was "super skeptical about the idea of cramming a sequence of words in a vector". He first tried what he calls "hard-coded diagonal attention": a cursor that moves through the source in step with the target. Then he remembered translation exercises at school, where "your gaze shifts back and forth between source and target sequence", and let the decoder learn where to look. It worked "from the very first try", he wrote in an [email that Andrej Karpathy published](https://x.com/karpathy/status/1864023344435380613).
"""

# %% [markdown] kind="text" track="core" contents="an estimate: how far the diagonal would take us"
r"""
How well would a fixed diagonal do? In our toy language, we know which English word or words each French word comes from. Let's call each such pair of words a *link*. How many links join words at the same position?
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

# %% [markdown] kind="text" track="short"
r"""
Where the decoder should look depends on the sentence: *not* becomes *ne … pas*, *drank* becomes *a bu*, and each additional word shifts everything after it. So the network has to compute it. This is **attention**. It needs something to attend to, and something that decides where to attend.

- **Annotations.** A {term:bidirectional|bidirectional RNN} consists of two recurrent networks, here GRUs: one processes the sentence from left to right, the other from right to left. For each word $j$, their hidden states are {term:concatenated}. The result is the word's {term:annotation} $h_j$, and it depends on the words on both sides.
- **The decoder's state.** Before the decoder generates word $i$, its latest hidden state is $s_{i-1}$. The first one, $s_0$, is computed from the backward GRU's state at the first word, where it has processed the whole sentence. So the single vector of lesson 04 is still there, and attention is added.
"""

# %% kind="picture" name="annotations" hide_input=true track="short"
key_picture.draw("annotations")

# %% [markdown] kind="text" track="short"
r"""
## 2 · Additive attention

How relevant is the annotation $h_j$ when the decoder is in state $s_{i-1}$? Bahdanau lets a small neural network with one hidden layer compute a **score** for each word $j$ at step $i$:

$$e_{ij} = v^\top \tanh(W s_{i-1} + U h_j)$$

$W$ and $U$ project the state and the annotation to vectors of the same size, $d$, which are *added*; hence the name {term:additive attention}. $W$, $U$ and $v$ are parameters, trained with the rest of the model. Follow one row of the picture from left to right.
"""

# %% kind="picture" name="scores" hide_input=true track="short"
six_steps.draw("scores")

# %% [markdown] kind="text" track="short"
r"""
$W s_{i-1}$ is the same in every row, and $U h_j$ at every step. A softmax turns the scores of a step into {term:attention weights} $\alpha_{ij}$, which are positive and sum to 1. The context vector is the average of the annotations, weighted by them: $c_i = \sum_j \alpha_{ij} h_j$.
"""

# %% kind="picture" name="average" hide_input=true track="short"
six_steps.draw("average")

# %% [markdown] kind="instructor"
r"""
**Vote** on the shuffled annotations. "Neither changes" is half right, which makes the discussion worthwhile: attention weights belong to annotations and move with them, while a sum doesn't depend on the order.
"""

# %% kind="quiz" track="core" contents="two questions about the six steps"
quiz("06", "six-steps")

# %% [markdown] kind="instructor"
r"""
**Stuck?** Write the shapes of the six results on the board, and leave the third to the learners. Have them run the picture after each attempt: if it draws ten thick lines, the softmax is over the wrong axis.
"""

# %% [markdown] kind="text" exercise="additive_attention"
r"""
**Build all six steps,** for a batch of b sentences of the same length, each with its own state and annotations. Return two tensors, the context vectors and the attention weights.

Step 3 is the hard one. Each state has to be added to all the words of *its own* sentence. `x[:, None]` inserts an axis of size 1, and where sizes differ, an axis of size 1 is repeated, which is called {term:broadcasting}. Matrices have torch's orientation, (out, in). If you write your own softmax, it has to handle large scores, as `torch.softmax` does.

An example with vectors of size 1: $W = 1$, $U = -1$, $v = 2$, and the state is $1$. The context vector is 0.18.

| | word 0 | word 1 |
|---|---|---|
| annotation | $0$ | $1$ |
| score | $2 \tanh(1) = 1.52$ | $2 \tanh(0) = 0$ |
| attention weight | 0.82 | 0.18 |
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
Now **your** function draws the picture from the top of the page, finished or not. Run this cell after each attempt: a mistake often shows.
"""

# %% kind="see" name="your lines" track="short" minutes=2 because="the learner steps through the sentence"
YourStepper = AttentionStepper.using(additive_attention)
YourStepper()

# %% [markdown] kind="text" track="short"
r"""
## 3 · Your code translates

This small version of Bahdanau's system has {result:toy_ladder/bahdanau/parameters:,.0f} parameters and was trained on 20,000 sentence pairs. The next class lets any function attend. Its `step` attends with the *old* state; then the GRU computes the new one from the previous word and the context vector. (`score.w_query` and `score.w_key` are $W$ and $U$.) Your `greedy_decode` from lesson 04 needs only these three methods.
"""

# %% kind="code" name="with attention" track="short"
shipped = load_shipped("bahdanau")
model, tokenizer, score = shipped.model, shipped.tokenizer, shipped.model.score


class WithAttention:
    """The trained system with any attention function; it keeps the weights."""

    def __init__(self, attend):
        self.attend, self.rows = attend, []

    def encode(self, source, lengths):
        return model.encode(source, lengths)

    def start(self, memory):
        return model.start(memory)["hidden"]  # the first state

    def step(self, memory, state, token):
        parameters = score.w_query, score.w_key, score.v
        context, weights = self.attend(state, memory["annotations"], *parameters)
        self.rows.append(weights[0])
        previous = model.embed(token[:, None])[:, 0]
        state = model.decoder(torch.cat([previous, context], dim=-1), state)
        logits = model.logits(torch.cat([state, previous, context], dim=-1))
        return logits, state, weights

# %% kind="code" name="translate" track="short"
attend, decode = yours("additive_attention"), yours("greedy_decode")


@torch.no_grad()
def translate(sentence, attend):
    """The translation, and the attention weights: one row per output token."""
    system = WithAttention(attend)
    words = decode(system, tokenizer.encode(sentence), max_len=30)
    return tokenizer.decode(words), torch.stack(system.rows)


MOTHER = "the happy mother did not sell the old white flower"
translation, weights = translate(MOTHER, attend)  # try sentences of your own, too
views.translations(
    MOTHER, {"your attention": translation}, reference=translations_of(MOTHER)
)

# %% kind="code" track="core"
some = tests.test[:40]
outputs = [translate(pair.src_text, attend)[0] for pair in some]
right = yours("exact_match")(outputs, [pair.tgt_text for pair in some])
print(f"correct translations of {len(some)} test sentences: {right:.0%}")

# %% [markdown] kind="text" track="short"
r"""
The attention weights of one sentence form an {term:attention map}, with a row for each French word and a column for each English word. Rings will show the true *links* between French words and the English words they come from, which we know because we made up the toy language. Together they are the {term:word alignment} of the two sentences. Before you see the map, look at the end: *the old white flower* became *la vieille fleur blanche*.
"""

# %% [markdown] kind="instructor"
r"""
| they say | misconception | answer |
|---|---|---|
| "attention picks the word with the highest score" | M12 | It computes a weighted average. At *n'*, *did* and *not* share the attention; at *il*, no word has half of it. |
| "the context vector replaces the state" | – | It is an input to the GRU, next to the previous word. |
"""

# %% kind="predict" hide_input=true track="short"
links = {(french, english) for english, french in tests.test[4].links}
target, source = [*translation.split(), "</s>"], [*MOTHER.split(), "</s>"]
figure = views.heatmap(
    weights, rows=target, columns=source, numbers=False,
    row_name="generated word", column_name="source word",
    title="Attention weights (rings: true links)", marks=links,
    alt="The attention map of the sentence about the mother and the flower.",
)
predict("06", "crossing-map", figure)

# %% [markdown] kind="text" track="core" contents="the alignment error"
r"""
The map has two crossings, one for each adjective that follows its noun in French. If each French word is linked to the English word with the largest attention weight, the {term:alignment error} is $1 - \frac{2 \cdot \text{correct links}}{\text{links found} + \text{true links}}$: 0 is perfect, and all three runs of this system reach {result:max toy_ladder/bahdanau/scores/test/alignment_error:.2f} on the test set.
"""

# %% [markdown] kind="text" track="short"
r"""
## 4 · Attention emerges

The training data are English sentences and their translations, without a single link, and the loss only asks for the next French word. Before training, the attention weights are nearly uniform, and almost no word is right.

We recorded three training runs, and measured two things under teacher forcing: how many French words are right, and how many links, that is, how many French words attend most to a word they come from.
"""

# %% [markdown] kind="instructor"
r"""
**Bet first (5 min).** "Right words first, or right links first?" Then play the run from step 0, and let someone read the translations aloud. Ask each time: "Does it use the source yet? How can you tell?"

**Their own run** takes one to three minutes. Let them start it and then discuss the three curves.
"""

# %% kind="predict" track="short"
predict("06", "words-or-links", AttentionEmerges())

# %% [markdown] kind="text" track="short"
r"""
Play the run from step 0 and read the translation above the map. Besides right words and links, there is a third curve: how far a word attends into the source may follow its own position, and the correlation of the two measures this *diagonal*.

**Now train your own.** The cell trains a translator from random weights, with *your* attention in it, for 600 steps: one to three minutes. Interrupt it (■), and you'll get the film so far. (Sentences of a batch differ in length, so shorter ones are filled up, and the course removes the weights there; lesson 10 explains how.) Then drag the steps back, and compare your curves, in magenta, with the recorded ones.
"""

# %% kind="see" ignore_output=true track="short" minutes=4 because="a training run of one to three minutes, and its film"
AttentionEmerges.of(run := train_and_film(attend))()

# %% kind="quiz" track="short"
quiz("06", "emergence")

# %% [markdown] kind="text" track="short"
r"""
First there is nothing: all rows are the same, and the output is nonsense. By step 200, when no sentence is right yet, the map is a **diagonal**, with a correlation of {result:emergence/bahdanau/curve/8/diagonal:.2f} on average. The network has rediscovered Bahdanau's cursor that moves in step. Only then do the **crossings** appear. Do they in yours, with other random weights (`train_and_film(attend, seed=1)`)?
"""

# %% [markdown] kind="text" track="short"
r"""
## 5 · Is it the attention?

In lesson 04, both models failed at long sentences: at 16 to 20 words, seq2seq translated {result:toy_ladder/seq2seq/scores/test/by_length/16–20/exact:.0%} correctly. Bahdanau's system has about as many parameters as seq2seq and was trained on the same sentences for the same number of steps.
"""

# %% kind="predict" hide_input=true track="short"
predict("06", "length-curve", evidence.by_length(evidence.BEFORE))

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min)** before the second figure: "What would your system have to show?" Expected: without attention, but with both directions, either result is an answer. With attention and a forward encoder, only a good result is: a bad one would leave the attention in doubt.
"""

# %% kind="predict" hide_input=true track="core" contents="whether it is the attention: you choose the control experiment"
predict("06", "one-more-system", evidence.by_length(evidence.CONTROLS))

# %% [markdown] kind="text" track="core"
r"""
From 11 words on, it is the attention: every run without it falls behind, and far behind at 16 to 20 words. The second direction matters for sentences longer than any in training: at 21 to 30 words, every run of the forward encoder is worse than every run with both directions. At 31 to 40 words, all of them fail on most sentences.
"""

# %% [markdown] kind="text" track="short"
r"""
## 6 · Steering the translation

Back to the puzzle: *il* looks at *thirsty*, and *cat* gets {result:lesson_06/weights at il/cat:.2f}. Is this look the reason for *il*? The map can't tell. To find out, change the look: click any word at any step, and the decoder is forced to attend to it alone. Click it again, and the decoder attends to all others. At all other steps it uses your function.
"""

# %% [markdown] kind="instructor"
r"""
**Steer live (5 min).** Collect bets before each click. "Forced onto *it*, the decoder generates *il*. So does the annotation of *it* contain the answer?" Expected: look at the other sentence. With *cold*, the result is also *il*, so the decoder may just prefer it. **Stuck?** Click *il* in the lower row, then try each word with *thirsty* and with *cold*. Most give *elle* in both.
"""

# %% kind="predict" track="short"
YourSteering = Steering.using(attend)
predict("06", "chat-at-water", YourSteering())

# %% [markdown] kind="text" exercise="make_it_she"
r"""
**Now you steer,** and turn both pronouns around. Find the one step and the one position, both counted from 0, such that forcing this step onto this position turns *il* into *elle* in the sentence with *thirsty*, and *elle* into *il* in the sentence with *cold*. (The adjective may follow: *froide* becomes *froid*.) Return the step and the position.
"""

# %% kind="exercise" exercise="make_it_she" mode="transfer" title="Turn both pronouns around" difficulty=2 importance=3 track="core"
from lessons.l06_bahdanau_attention.solutions import make_it_she

# %% kind="check" exercise="make_it_she"
check("make_it_she", make_it_she)

# %% [markdown] kind="hints" exercise="make_it_she"
r"""
### Where to start
Which step generates *il*? Click it in the row of the usual translation, and read the slider. Then click the source words one after another, in both sentences.
"""

# %% [markdown] kind="text" track="short"
r"""
**How often?** One sentence proves little, and a decoder that always says *il* gets *thirsty* right without any evidence. So take {result:lesson_06/forced pronouns/twins:.0f} pairs of sentences that differ only in the last word, as *thirsty* and *cold* do, and need different pronouns. In both sentences of a pair, force all the attention at the pronoun's step onto the same word. If it is enough, **both** pronouns come out right. Without forcing, the adjective gets the largest weight in {result:lesson_06/pronouns/adjective:.0%} of these sentences, more often than any other word.
"""

# %% [markdown] kind="instructor"
r"""
**They say:** "The map explains the output" (M46). **Answer:** The word that a map favours is usually enough, but the right side shows that in most pairs it isn't needed. **They say:** "The map is useless." **Answer:** Compare the last bar on the left ({result:lesson_06/forced pronouns/most attended/both right:.0f} pairs) with those above it.
"""

# %% kind="predict" hide_input=true track="short"
predict("06", "which-word-carries", evidence.both_pronouns())

# %% [markdown] kind="text" track="short"
r"""
**Is it enough?** Averaged over sentences, *was*, into which the backward GRU has carried the adjective, beats the adjective itself. *because* often tells the two sentences apart, but more often the wrong way round. But force each sentence onto the word that *its own* map favours, and both pronouns are right in {result:lesson_06/forced pronouns/most attended/both right:.0f} pairs.

**Is it needed?** Forcing can't tell, but removing can: the word gets no attention, and the others share it. Even without the word that its map favours, both pronouns are right in {result:lesson_06/forced pronouns/removed/most attended/both right:.0f} pairs: where it fails, it rarely says the other pronoun. In our sentences, remove *thirsty*, then *cold*, and see.

So what decides between *il* and *elle*? Let it attend as usual, but exchange the two context vectors of a pair at this step. In {result:lesson_06/forced pronouns/model/both follow:.0f} pairs, both pronouns follow the context vector. Where the gender of *chat* comes from stays open: both sentences have the same nouns, and the decoder has written *le chat* itself. And pronouns don't need attention: with both directions and none, {result:what_attention_adds/no attention, both directions/scores/coreference/pronouns:.1%} are right.

A map usually shows a place that **suffices**, not one that is **needed**.
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
**Wrap up (3 min).** Take out the list from lesson 05 and have learners tick the requirements that attention meets: all but short distance inside the encoder.

**They say:** "Attention gives the decoder a longer summary" (M04). **Answer:** The context vector has the size of one annotation, but there is a new one at every step.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | meaning | shape, for all words of one step |
|---|---|---|
| annotation $h_j$ | the concatenated states of a forward and a backward GRU | (n, a) |
| score $e_{ij} = v^\top\tanh(Ws_{i-1} + Uh_j)$ | how relevant word $j$ is at step $i$ | (n,) |
| attention weights $\alpha_{ij}$ | the softmax of the scores of step $i$ | (n,) |
| context vector $c_i = \sum_j \alpha_{ij} h_j$ | a weighted average of the annotations, new at every step | (a,) |

**Still missing.** Is a small network the best way to compute the scores? [Lesson 07](07_score_functions.ipynb) tries others. And inside the encoder, distances are as long as before; lesson 09 changes that.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Bahdanau, Cho and Bengio, *Neural Machine Translation by Jointly Learning to Align and Translate* (2015), section 3, section 5.2 and figure 3. The formula for the scores is in appendix A.1.2, where our $W$, $U$ and $v$ are called $W_a$, $U_a$ and $v_a$. [arXiv 1409.0473](https://arxiv.org/abs/1409.0473)
- Graves, *Generating Sequences With Recurrent Neural Networks* (2013), section 5: a year earlier, a soft window that moves along a text. [arXiv 1308.0850](https://arxiv.org/abs/1308.0850)
- Does attention explain an output? Jain and Wallace (2019), and Wiegreffe and Pinter (2019), cited in [lesson 09](09_self_attention.ipynb).
- The differences between our system and the paper are listed at the top of `course_lib/models/bahdanau.py`.
"""
