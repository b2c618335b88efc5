# Lesson 07 · the source. Edit this file, then run `python3 -m course_lib build 07`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 07 · Score functions and Luong

**The question:** how should a decoder compare its state with each word of the source?

It contains a puzzle: a model that translates well, although its attention seems to go to the wrong words. <!-- core -->

About {minutes} minutes. You need attention from [lesson 06](06_bahdanau_attention.ipynb) and the LSTM from [lesson 03](03_lstm_and_gru.ipynb).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **explain** how additive, dot-product, general and location-based scores differ.
2. **name** the differences between Bahdanau's and Luong's decoders.
3. **write** the general score for many queries and keys. <!-- core -->
4. **force** the attention of a trained model onto any word, and **count** what changes. <!-- core -->
5. **explain** why good attention needn't be a good alignment, and **name** the control experiment that shows it. <!-- core -->
"""

# %% kind="setup"
import random

import torch

from course_lib import views
from course_lib.formatting import fixed
from course_lib.results import mean_over_seeds
from course_lib.teaching import check, estimate, predict, quiz, start_lesson, yours
from course_lib.text import TEST_SIZES, splits
from course_lib.translation import load_shipped
from lessons.l07_score_functions import (
    ScoreZoo, WindowLab, onto_the, onto_the_noun, predictor,
)

start_lesson("score_functions", seed=7)
tests = splits(seed=0, sizes=TEST_SIZES)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("07", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · The first step of attention

Attention has three steps. A {term:score function} compares the decoder's state with each encoder state and returns one number, the score. A softmax turns the scores into attention weights. The weighted sum of the encoder states is the context vector.

In lesson 06 the score function was a small network. In 2015 Minh-Thang Luong, Hieu Pham and Christopher Manning tried simpler ones, and they rearranged the decoder as well. We look at the two changes one at a time.
"""

# %% [markdown] kind="text" track="short"
r"""
## 2 · Score functions

Take a decoder state $s = (1, 2)$ and an encoder state $h = (3, 1)$. How well do they match?

- **Dot product,** $s^\top h = 1 \cdot 3 + 2 \cdot 1 = 5$. It has no parameters, but $s$ and $h$ must have the same width. A longer vector gets a larger score. This is {term:dot-product attention}.
- **Cosine similarity,** the dot product divided by both norms: $5 / (\sqrt 5 \cdot \sqrt{10}) = 0.71$. The {term:cosine similarity} depends only on the directions, so length doesn't matter. <!-- core -->
- **General score,** $s^\top W h$ with a learned matrix $W$. If $W$ swaps the two components of $h$, the {term:general score} is $(1, 2) \cdot (1, 3) = 7$. It is also called **bilinear**, and the two widths may differ.
- **Additive score,** $v^\top \tanh(W s + U h)$, the small network of lesson 06.
- **Location score,** $W s$. The {term:location score} of position $j$ is the dot product of $s$ with row $j$ of $W$. It depends on the position, and the encoder state isn't used at all.

The dot product and the general score are known as {term:multiplicative attention}, and the network of lesson 06 as *additive attention*.
"""

# %% [markdown] kind="text" track="core" contents="an explorable that compares six scores, and an exercise: the general score"
r"""
In general, the vector that attention compares with all the others is called the {term:query} $q$, and each of the others is a {term:key} $k_j$. In a translator, the query is the decoder state and the keys are the encoder states.

The explorable shows one query, three keys and six scores. The sixth, *scaled dot*, is the dot product divided by a constant; lesson 08 explains it. The parameters of *general*, *additive* and *location* are fixed here, and *general* rotates the query by 90°.
"""

# %% kind="predict" track="core"
predict("07", "longer-key", ScoreZoo())

# %% [markdown] kind="text" exercise="general_scores"
r"""
Write the general score $q^\top W k$ for every pair of a query and a key. Return the scores without a softmax: one row for each query, one column for each key. Like all weight matrices in this course, `w` has the orientation (out, in): it maps a key of width `k` to the width `q` of a query.
"""

# %% kind="exercise" exercise="general_scores" title="The general score" difficulty=1 importance=4 track="core"
def general_scores(queries, keys, w):
    """queries (m, q), keys (n, k), w (q, k)  ->  scores (m, n)"""
    # solution
    return queries @ w @ keys.T
    # end solution

# %% kind="check" exercise="general_scores"
check("general_scores", general_scores)

# %% [markdown] kind="hints" exercise="general_scores"
r"""
### Start with one pair
For one query and one key the score is `query @ w @ key`. Which shapes do the products have?

---
### All pairs at once
`queries @ w` has shape (m, k): each query is now as wide as a key. A matrix product with the transposed keys, (k, n), gives one dot product for each pair.
"""

# %% [markdown] kind="text" track="core"
r"""
Luong's paper also has a **concat score**, $v^\top \tanh(W [q; k])$, in which query and key are concatenated. It looks new, but compare:
"""

# %% kind="example" name="concat" track="core"
generator = torch.Generator().manual_seed(7)
query, key = (torch.randn(n, generator=generator) for n in (3, 4))
w, v = torch.randn(6, 7, generator=generator), torch.randn(6, generator=generator)

concat = v @ torch.tanh(w @ torch.cat([query, key]))
w_query, w_key = w[:, :3], w[:, 3:]
additive = v @ torch.tanh(w_query @ query + w_key @ key)
print("concat:", fixed(concat, 4), " additive:", fixed(additive, 4))

# %% [markdown] kind="text" track="core"
r"""
The {term:concat score} *is* the additive score: the left part of $W$ multiplies the query, the right part the key. In our models, where every state has 132 numbers, it has {result:toy_ladder/luong_concat/parameters - toy_ladder/luong_dot/parameters:,.0f} parameters. The general score has {result:toy_ladder/luong_general/parameters - toy_ladder/luong_dot/parameters:,.0f}, and the location score {result:toy_ladder/luong_location/parameters - toy_ladder/luong_dot/parameters:,.0f}, a row for each of up to 64 positions. The dot product has none.
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · Bahdanau's and Luong's decoders

Bahdanau's decoder attends with its **previous** state and then updates the state. Luong's decoder updates its state first and attends with the **new** one. It then combines context vector and state into the {term:attentional hidden state}, $\tilde h_i = \tanh(W_c\,[c_i; s_i])$, and predicts the next word from it. So the context isn't part of the state, and the next step wouldn't know what this step attended to. With {term:input feeding}, $\tilde h_i$ becomes part of the decoder's next input.

| | Bahdanau et al. 2015 | Luong et al. 2015 |
|---|---|---|
| attends with | the previous state, $s_{i-1}$ | the new state, $s_i$ |
| context vector goes into | the new state and the prediction | the prediction only, through $\tilde h_i$ |
| next step learns about it from | the state | input feeding |
| encoder | bidirectional | one direction (ours from the start, the paper's from the end) |
| score | additive | dot, general, concat or location |

"Bahdanau adds, Luong multiplies" describes only the last row.
"""

# %% kind="diagram" hide_input=true track="core"
PARTS = {
    "encoder states": (0, 0), "previous word": (0, 1), "previous h~": (0, 2),
    "new state": (1, 1.5), "scores": (2, 0.75), "attention weights": (3, 0.75),
    "context": (4, 0.75), "h~": (5, 1), "next word": (6, 1),
}
ARROWS = [
    ("previous word", "new state"), ("previous h~", "new state"),
    ("encoder states", "scores"), ("new state", "scores"),
    ("scores", "attention weights"), ("attention weights", "context"),
    ("encoder states", "context"), ("context", "h~"), ("new state", "h~"),
    ("h~", "next word"),
]
views.diagram(PARTS, ARROWS, lit="scores", title="One step of Luong's decoder")

# %% kind="quiz" track="core" contents="a question about the decoders"
quiz("07", "decoders")

# %% [markdown] kind="text" contents="four attention maps to tell apart, and a puzzle"
r"""
## 4 · Four maps without labels

We trained Luong's translator four times, each time with a different score: dot, general, concat and location. The models have nearly the same size and were trained in the same way. All four translate the sentence below correctly. Here are their attention weights, in random order. Which is which?
"""

# %% kind="see" name="blind" hide_input=true
NAMES = ("dot", "general", "concat", "location")
SENTENCE = "does the beautiful woman on the bridge take the cake that is very sweet ?"
BLIND = random.Random(5).sample(NAMES, 4)  # shuffled, the same for everyone
systems = {name: load_shipped(f"luong_{name}") for name in NAMES}
translations = {name: systems[name](SENTENCE, with_weights=True) for name in NAMES}
weights = {name: translations[name].weights[0, 0] for name in NAMES}
rows, columns = translations["dot"].target_tokens, translations["dot"].source_tokens

views.gallery(
    {f"map {i}": weights[name] for i, name in enumerate(BLIND, 1)},
    rows=rows, columns=columns, row_name="output", column_name="attended to",
    alt="Four attention maps of one translation, numbered 1 to 4. Rows: French words.",
)

# %% kind="quiz"
quiz("07", "blind")

# %% [markdown] kind="text"
r"""
Dot, general and concat remain. They differ most in the rows *la* and *le*. The next figure names all four maps and marks the true links with rings.
"""

# %% kind="predict" hide_input=true
pair = next(pair for pair in tests.test if pair.src_text == SENTENCE)
true_links = {(french, english) for english, french in pair.links}
figure = views.gallery(
    {name: weights[name] for name in NAMES}, rows=rows, columns=columns,
    row_name="output", column_name="attended to", marks=true_links,
    alt="The four maps with their names; rings mark the true links.",
)
predict("07", "three-left", figure)

# %% [markdown] kind="text"
r"""
Look at the three articles. General attends to *the*, as the true alignment has it. Dot attends to the **noun**: at *la* to *woman*, at *le* to *bridge* and to *cake*. Concat divides its attention between the two.

This isn't a peculiarity of one sentence. The 1,000 test sentences contain {result:lesson_07/articles, from the start/all:,.0f} articles that translate *the*. In {result:lesson_07/articles, from the start/attends most to the noun, min:.0p} to {result:lesson_07/articles, from the start/attends most to the noun, max:.0%} of them, depending on the random seed, dot attends most to the noun. And yet it predicts every one of these articles correctly, given the correct previous words. Is its attention wrong?
"""

# %% [markdown] kind="text" contents="an experiment that you write: force the attention onto a word, and count the correct articles"
r"""
## 5 · Force the attention

Attention maps suggest explanations, but they don't test them. To test one, we **intervene**: we replace the attention weights at the articles, and count how many articles the model still gets right. `predictor` wraps a trained model so that we can do this.
"""

# %% kind="example"
dot = predictor("luong_dot")


def leave(step, weights):
    """Changes nothing."""
    return weights


print("predicted:", *dot(pair, leave))
print("articles: ", onto_the(pair))

# %% [markdown] kind="text" exercise="count_articles"
r"""
**Build the experiment.** Your function gets three things:

- `pairs`, a list of sentence pairs. `pair.tgt` has the words of the correct translation.
- `predict`, a model like `dot` above. `predict(pair, change)` runs the decoder with teacher forcing (lesson 04) and returns a list with one predicted word for each word of `pair.tgt`. At each step, it calls your function `change(step, weights)` and uses the attention weights that this returns. `step` is the position of the French word, counted from 0, and `weights` is a tensor with one attention weight for each source token, including EOS.
- `positions`, a function like `onto_the` above. `positions(pair)` is a dictionary whose keys are the steps of the articles, and whose values are the source positions to attend to. It can be empty.

At each step in the dictionary, put **all** the attention weight on the given position: 1 there and 0 everywhere else. At every other step, leave the weights unchanged. Return two numbers, over all pairs: how many of the articles are predicted correctly, and how many articles there are.
"""

# %% kind="exercise" exercise="count_articles" title="Force the attention, and count" difficulty=3 importance=5 track="core"
def count_articles(pairs, predict, positions):
    """Sentence pairs, a model, the positions to attend to  ->  n_right, n_articles"""
    # solution
    n_right = n_articles = 0
    for pair in pairs:
        forced = positions(pair)

        def change(step, weights, forced=forced):
            if step not in forced:
                return weights
            new = torch.zeros_like(weights)
            new[forced[step]] = 1
            return new

        words = predict(pair, change)
        n_right += sum(words[step] == pair.tgt[step] for step in forced)
        n_articles += len(forced)
    return n_right, n_articles
    # end solution

# %% kind="check" exercise="count_articles"
check("count_articles", count_articles)

# %% [markdown] kind="hints" exercise="count_articles"
r"""
### Where to start
Write the loop over the pairs first. For each pair you need three things: the dictionary, a function `change`, and the predicted words. A function can be defined inside a loop.

---
### The function `change`
If `step` isn't in the dictionary, return `weights`. Otherwise make a tensor of zeros with the same shape, `torch.zeros_like(weights)`, set one entry to 1, and return it.

---
### The counts
For each step in the dictionary, compare the predicted word at this step with `pair.tgt` at the same step. The number of articles in a pair is the size of the dictionary. Set both counts to 0 before the loop, and add to them in it.
"""

# %% kind="estimate"
count = yours("count_articles")
pairs = tests.test[:60]
estimate("07", "forced-the", lambda: count(pairs, dot, onto_the)[0])

# %% kind="see" name="forced"
def show_forced(model, positions):
    """The words that the model predicts for our sentence."""
    at = positions(pair)
    print("   ", *model(pair, lambda i, w: torch.eye(len(w))[at[i]] if i in at else w))


for name, positions in (("the", onto_the), ("the noun", onto_the_noun)):
    n_right, n_articles = count(pairs, dot, positions)
    print(f"forced onto {name}: {n_right} of {n_articles} articles right")
    show_forced(dot, positions)

# %% [markdown] kind="text"
r"""
Forced onto the noun, the model predicts every article correctly. Forced onto *the*, it predicts an article too, but nearly always the same one, *les*. So attending to the noun isn't a mistake: that is where the model finds out *which* article it needs.

Could forcing itself cause the errors? It does some harm, but far less. If we force all *other* words onto their true source words, {result:lesson_07/articles, from the start/other words, onto their source, min:.0p} to {result:lesson_07/articles, from the start/other words, onto their source, max:.0%} of them are still right in three runs, compared with {result:lesson_07/articles, from the start/other words, own attention, min:.1p} to {result:lesson_07/articles, from the start/other words, own attention, max:.1%} with the model's own attention.

Here is a possible **explanation**. A French article depends on the gender and number of its noun. Our encoder processes the sentence from left to right, so it computes the state of *the* before it has seen the noun. This state can't contain the gender; the state of the noun can.
"""

# %% [markdown] kind="text" contents="the control experiment: the same model with an encoder that starts at the end"
r"""
## 6 · The control: reverse the encoder

An explanation should make a prediction that could fail. We train dot again, and change only one thing: the encoder processes the source **from the end**. Now the encoder has already seen the noun when it computes the state of *the*. When it computes the state of the noun, it hasn't seen *the* yet.
"""

# %% kind="predict" name="control"
models = {"from the start": dot, "from the end": predictor("luong_dot_from_the_end")}
right = []
for model in models.values():
    counts = [count(pairs, model, positions) for positions in (onto_the, onto_the_noun)]
    right.append([n_right / n_articles for n_right, n_articles in counts])
figure = views.heatmap(
    right, rows=list(models), columns=["the", "the noun"], row_name="encoder",
    column_name="attention forced onto", title="Fraction of correct articles",
    alt="Correct articles for both encoders, forced onto the article and the noun.",
)
predict("07", "reversed-encoder", figure)

# %% kind="see" name="maps" hide_input=true
print("encoder from the end, forced onto the noun:")
show_forced(models["from the end"], onto_the_noun)
reversed_dot = load_shipped("luong_dot_from_the_end")(SENTENCE, with_weights=True)
maps = {"from the start": weights["dot"], "from the end": reversed_dot.weights[0, 0]}
views.gallery(
    maps, rows=rows, columns=columns, row_name="output", column_name="attended to",
    marks=true_links, alt="Dot-product attention with either encoder, and true links.",
)

# %% [markdown] kind="text"
r"""
Everything is reversed. The retrained model attends to *the*, and it needs *the*: forced onto the noun, it predicts the noun itself (*femme belle femme*) instead of an article. The score function is the same as before, but the attention now follows the true alignment.

We repeated this with three random seeds for each encoder and with all {result:lesson_07/articles, from the start/all:,.0f} articles:

| encoder | largest attention weight on *the* | right, forced onto *the* | right, forced onto the noun |
|---|---|---|---|
| from the start | {result:lesson_07/articles, from the start/attends most to the, min:.0p} to {result:lesson_07/articles, from the start/attends most to the, max:.0%} | {result:lesson_07/articles, from the start/onto the, min:.0p} to {result:lesson_07/articles, from the start/onto the, max:.0%} | {result:lesson_07/articles, from the start/onto the noun, min:.0%} |
| from the end | {result:lesson_07/articles, from the end/attends most to the, min:.0%} | {result:lesson_07/articles, from the end/onto the, min:.0%} | {result:lesson_07/articles, from the end/onto the noun, min:.1p} to {result:lesson_07/articles, from the end/onto the noun, max:.1%} |

With so many articles, the margin of error is at most about {result:lesson_07/margin of error/articles:.0p} percentage points (95% confidence), far less than the differences. The alignment error of lesson 06 falls from {result:min encoder_direction/from the start/scores/test/alignment_error:.2f}–{result:max encoder_direction/from the start/scores/test/alignment_error:.2f} to {result:min encoder_direction/from the end/scores/test/alignment_error:.2f}–{result:max encoder_direction/from the end/scores/test/alignment_error:.2f}. So the alignment error doesn't depend on the score function alone; the encoder matters too. With the bidirectional encoder of lesson 06, in which the annotation of *the* also contains information about its noun, it is {result:toy_ladder/bahdanau/scores/test/alignment_error:.2f} on average.

One thing remains open. *General* has a forward encoder too, and yet it attends to *the*; forced there, it still predicts {result:lesson_07/articles, general/onto the:.0%} of the articles correctly (one run). So its information about the noun must come from somewhere else. A plausible source is the decoder's state, which starts as the encoder's last state.
"""

# %% [markdown] kind="text" contents="why the model with the best alignment need not translate best"
r"""
## 7 · Alignment and accuracy

Attention goes where the information is, and that isn't always the word that is being translated. Does a better alignment at least go with better translations? Here are all four scores and Bahdanau's system, averaged over three random seeds: exact match on the 1,000 test sentences, and the agreement of the attention with the true links (1 minus the alignment error).
"""

# %% kind="predict" hide_input=true
shown = ["bahdanau", *(f"luong_{name}" for name in NAMES)]
exact = mean_over_seeds("toy_ladder", lambda run: run["scores"]["test"]["exact"])
agreement = mean_over_seeds(
    "toy_ladder", lambda run: 1 - (run["scores"]["test"].get("alignment_error") or 0)
)
figure = views.heatmap(
    [[exact[name], agreement[name]] for name in shown],
    rows=[name.removeprefix("luong_") for name in shown],
    columns=["exact match", "agreement"], title="Translation and alignment",
    row_name="system", column_name="mean of three runs",
    alt="Exact match and agreement with the true links for five systems.",
)
predict("07", "align-and-translate", figure)

# %% [markdown] kind="text"
r"""
The two don't go together. **General** has the best agreement of the four, but translates only {result:min toy_ladder/luong_general/scores/test/exact:.0p} to {result:max toy_ladder/luong_general/scores/test/exact:.0%} of the sentences correctly, compared with {result:min toy_ladder/luong_dot/scores/test/exact:.0p} to {result:max toy_ladder/luong_dot/scores/test/exact:.0%} for dot (margin of error: about {result:lesson_07/margin of error/sentences:.0p} points). With the identity matrix for $W$, general would *be* dot, so the formula allows a better solution than training found. The extra matrix did pay off elsewhere: it is part of the best model in Luong's paper, and of a well-known model for reading comprehension (Chen, Bolton and Manning, 2016).

**Location** computes its scores without the encoder states and agrees with only half of the links, yet it translates {result:min toy_ladder/luong_location/scores/test/exact:.0p} to {result:max toy_ladder/luong_location/scores/test/exact:.0%} correctly. In 60 sentences it attends to the true source word {result:lesson_07/location, words to the right/0:.0f} times, and just as often ({result:lesson_07/location, words to the right/1:.0f} times) to the position right after it. A plausible reason why this works is that the next encoder state still contains the previous word.
"""

# %% [markdown] kind="text" contents="attention to a window of the source"
r"""
## 8 · Local attention

So far, attention has covered the whole source at every step: {term:global attention}. In a long text, that is expensive, and most attention weights are close to 0 anyway. Luong et al. therefore also tried {term:local attention}, which covers only a window of $D$ positions on either side of a centre. They placed the centre in two ways.

- **local-m** (monotonic): at step $i$, the centre is position $i$.
- **local-p** (predictive): the decoder predicts it. With $n$ source positions, $p = n \cdot \text{sigmoid}(v_p^\top \tanh(W_p\, s_i))$.

A window with hard edges gives no gradient for $p$: moving it slightly changes nothing. So local-p multiplies the softmax in the window by a bell curve around $p$, the {term:Gaussian window}:

$$\alpha_j = \text{softmax}_j(\text{scores in the window}) \cdot \exp\!\left(-\frac{(j - p)^2}{2\sigma^2}\right), \qquad \sigma = \frac D2$$

The product isn't normalised again, so the attention weights can sum to less than 1.

On our toy task, local-p is the weakest model of all: its exact match is {result:each toy_ladder/luong_local_p/scores/test/exact:.0%} in three runs. In Luong's paper, on the much longer sentences of the WMT translation task, it was the best. The idea returned later as *sliding-window attention* for long texts, for example in Longformer (2020) and Mistral 7B (2023).
"""

# %% [markdown] kind="text" track="stretch" contents="an explorable: how narrow the window can get"
r"""
## Stretch · The window lab

How narrow can the window get before a trained translator makes mistakes? The sentence contains *classrooms*, which takes three words in French, *salles de classe*. From there on, the French sentence is ahead of the English one. *Scores ×* multiplies the scores before the softmax.
"""

# %% kind="predict" track="stretch"
predict("07", "narrow-window", WindowLab())

# %% [markdown] kind="text" track="stretch"
r"""
At *vendu*, the French sentence is four positions ahead. With $D = 3$, *sold* is outside the window of local-m, and the word is left out. Local-p translates this sentence correctly even with $D = 2$.

Out of 100 test sentences, the models translate this many correctly:

| | $D = 5$ | $D = 3$ | $D = 2$ | $D = 1$ |
|---|---|---|---|---|
| local-m | {result:lesson_07/local-m, half width/5:.0f} | {result:lesson_07/local-m, half width/3:.0f} | {result:lesson_07/local-m, half width/2:.0f} | {result:lesson_07/local-m, half width/1:.0f} |
| local-p | {result:lesson_07/local-p, half width/5:.0f} | {result:lesson_07/local-p, half width/3:.0f} | {result:lesson_07/local-p, half width/2:.0f} | {result:lesson_07/local-p, half width/1:.0f} |

Both models were trained with $D = 5$, one random seed each.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself

Your first attempt counts for the score. You can try again as often as you like, and each answer is explained.
"""

# %% kind="quiz"
quiz("07", "closing")

# %% [markdown] kind="instructor"
r"""
**Blind test (5 min).** Show the four maps of section 4 and let groups match them on paper before anyone opens the quiz. Then ask: "Dot attends to *bridge* when it outputs *le*. Is that a bug?" Collect explanations, and for each one ask which experiment could refute it. Expected: "nouns are more important", "it is one step ahead", "the noun has the gender". Forcing and the reversed encoder separate them.

**What learners say**

| they say | misconception | answer |
|---|---|---|
| "Bahdanau adds, Luong multiplies, that is all" | M05 | The table in section 3: four of the five rows aren't about the score. |
| "the dot product is the cosine" | M10 | Double the length of k2 in the score zoo. |
| "dot attends to the wrong word at *le*" | – | Forced onto *the*, it gets only {result:lesson_07/articles, from the start/onto the, mean:.0%} of the articles right. |
| "a worse alignment means worse translations" | – | Location agrees with half of the links and translates {result:toy_ladder/luong_location/scores/test/exact:.0%} of the sentences. |
| "attention weights always sum to 1" | M13 | With local-p they don't. |

**If time is short,** leave out section 8 and the exercise on the general score. Keep sections 4 to 6.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| score | formula |
|---|---|
| dot product | $s^\top h$ |
| cosine, which ignores the norms | $s^\top h \,/\, (\lVert s\rVert \lVert h\rVert)$ | <!-- core -->
| general (bilinear) | $s^\top W h$ |
| additive | $v^\top\tanh(Ws + Uh)$ |
| location, which ignores the encoder states | $W s$ |

- Luong's decoder attends with its new state, uses the context vector only for the prediction, and passes it on by input feeding.
- Our dot-product model attends to the noun to predict an article, because its forward encoder computes the state of *the* before it sees the noun. Forcing the attention suggested this, and reversing the encoder confirmed it. <!-- core -->
- A model with a better alignment needn't translate better. <!-- core -->

**Still missing.** Each encoder state has two jobs. It is *compared* with the decoder state to get a score, and it is *blended* into the context vector. What makes a word easy to find needn't be what is useful once it has been found. [Lesson 08](08_query_key_value.ipynb) gives each job its own vector.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Luong, Pham and Manning, *Effective Approaches to Attention-based Neural Machine Translation* (2015), section 3. [arXiv 1508.04025](https://arxiv.org/abs/1508.04025)
- Sections 5.3 and 5.4 of the same paper, which compare the scores and the alignments. <!-- core -->
- Chen, Bolton and Manning, *A Thorough Examination of the CNN/Daily Mail Reading Comprehension Task* (2016), section 3.2: bilinear attention. [arXiv 1606.02858](https://arxiv.org/abs/1606.02858) <!-- core -->
- Brauwers and Frasincar, *A General Survey on Attention Mechanisms in Deep Learning* (2021), section 2. [arXiv 2203.14263](https://arxiv.org/abs/2203.14263)
"""
