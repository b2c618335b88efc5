# Lesson 07 · the source. Edit this file, then run `python3 -m course_lib build 07`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 07 · Score functions and Luong attention

**The question:** how should a decoder compare its state with each word of the source?

It leads to a puzzle about attention maps, and to an experiment that solves part of it. <!-- core -->

About {minutes} minutes. You need attention from [lesson 06](06_bahdanau_attention.ipynb).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **explain** how additive, dot-product, general and location-based scores differ;
2. **name** the differences between Bahdanau's and Luong's decoders;
3. **write** the general score for many {term:query|queries} and {term:key|keys}; <!-- core -->
4. **force** the attention of a trained model onto any word, and **count** what changes; <!-- core -->
5. **test** an explanation of an attention map with a control experiment, and **compare** alignment with accuracy. <!-- core -->
"""

# %% [markdown] kind="instructor"
r"""
**Open with (2 min)** two vectors on the board, $s = (1, 2)$ and $h = (3, 1)$. "Give me a number that says how well they match." Collect proposals before you name any. Expected: the dot product, the cosine, the distance, "let a network decide". Keep them for section 2.

**If time is short,** leave out section 8 (and 9, which builds on it) and the exercise on the general score. Keep sections 4 to 6.
"""

# %% kind="setup"
import torch

from course_lib import views
from course_lib.results import mean_over_seeds
from course_lib.teaching import check, estimate, predict, quiz, start_lesson, yours
from course_lib.text import TEST_SIZES, splits
from course_lib.translation import load_shipped
from lessons.l07_score_functions import (
    ScoreZoo, WindowLab, key_picture, onto_the, onto_the_noun, predictor,
)

start_lesson("score_functions", seed=7)

# %% [markdown] kind="text"
r"""
Four translators differ only in how the decoder scores the words of the source. Each line is an attention weight: the thicker, the larger. By the end of the full lesson, you'll know which map is which, and which questions a map can't answer.
"""

# %% kind="picture" name="key picture" hide_input=true
key_picture.draw()

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("07", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · Other ways to compute scores

The six steps of lesson 06 fall into three parts. A {term:score function} compares the decoder's state with each encoder state (lesson 06 called them annotations) and returns one number, the score. A softmax turns the scores into attention weights. The weighted sum of the encoder states is the context vector.

In lesson 06, the score function was a small network. In 2015, Minh-Thang Luong, Hieu Pham and Christopher Manning tried simpler ones, and also rearranged the decoder.
"""

# %% [markdown] kind="text" track="short"
r"""
## 2 · Score functions

Take a decoder state $s = (1, 2)$ and an encoder state $h = (3, 1)$. How well do they match?

- **Dot product,** $s^\top h = 1 \cdot 3 + 2 \cdot 1 = 5$, the score of {term:dot-product attention}. It has no parameters, but $s$ and $h$ must have the same width. If $h$ becomes twice as long, the score doubles.
- **Cosine similarity,** the dot product divided by both norms: $5 / (\sqrt 5 \cdot \sqrt{10}) = 0.71$. The {term:cosine similarity} depends only on the directions of the vectors, not on their lengths.
- **General score,** $s^\top W_g h$ with a learned matrix $W_g$. If $W_g$ swaps the two components of $h$, the {term:general score} is $(1, 2) \cdot (1, 3) = 7$. This score is also called **bilinear**, and $s$ and $h$ may have different widths.
- **Additive score,** $v^\top \tanh(W s + U h)$, the small network of lesson 06.
- **Location score,** $W_\ell s$. The {term:location score} of position $j$ is the dot product of $s$ with row $j$ of $W_\ell$. The encoder states aren't used at all.

Attention with a dot product or a general score is called {term:multiplicative attention}; with the network of lesson 06, it is *additive attention*.
"""

# %% [markdown] kind="text" track="short"
r"""
The vector that attention compares with all the others is called the {term:query} $q$, and each of the others is a {term:key} $k_j$. In a translator, the query is the decoder state and the keys are the encoder states.

The explorable compares one query with three keys, using six scores. The new one, *scaled dot*, is the dot product divided by a constant; lesson 08 explains it. The parameters of *general*, *additive* and *location* are fixed here, and *general* rotates the query by 90°.
"""

# %% [markdown] kind="instructor"
r"""
**They say:** "The dot product is the cosine" (M10). **Answer:** Double the length of k2 in the explorable.
"""

# %% kind="predict" track="short"
predict("07", "longer-key", ScoreZoo())

# %% [markdown] kind="text" exercise="general_scores"
r"""
Write the general score $q^\top W_g k$ for every pair of a query and a key. Return the scores without a softmax: one row for each query, one column for each key. `w` has the orientation (out, in): it maps a key of width `k` to the width `q` of a query.
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

# %% [markdown] kind="text" track="core" contents="exercise 1 · The general score, and the number of parameters of each score"
r"""
Luong's paper also has a {term:concat score}, $v^\top \tanh(W [q; k])$, in which query and key are concatenated. It *is* the additive score: if we split $W$ into a left and a right part, $W [q; k] = W_\text{left}\, q + W_\text{right}\, k$. In our models, where every state has 132 numbers, the concat score has {result:toy_ladder/luong_concat/parameters - toy_ladder/luong_dot/parameters:,.0f} parameters and the general score {result:toy_ladder/luong_general/parameters - toy_ladder/luong_dot/parameters:,.0f}. The location score has {result:toy_ladder/luong_location/parameters - toy_ladder/luong_dot/parameters:,.0f}, with one row for each of 64 positions. The dot product has none.
"""

# %% [markdown] kind="instructor"
r"""
**They say:** "Bahdanau adds, Luong multiplies, that is all" (M05). **Answer:** In the table below, four of the five rows aren't about the score.
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · Bahdanau's and Luong's decoders

Bahdanau's decoder attends with its **previous** state and then updates the state. Luong's decoder updates its state first and attends with the **new** one. It combines the context vector and the state into the {term:attentional hidden state}, $\tilde h_i = \tanh(W_c\,[c_i; s_i])$, from which it predicts the next word; $[c_i; s_i]$ means that the two are concatenated. The context vector isn't part of the state, so without {term:input feeding}, the next step wouldn't know what this step attended to. With it, $\tilde h_i$ becomes part of the decoder's next input.

| | Bahdanau et al. 2015 | Luong et al. 2015 |
|---|---|---|
| attends with | the previous state, $s_{i-1}$ | the new state, $s_i$ |
| uses the context vector for | the new state and the prediction | the prediction only, through $\tilde h_i$ |
| passes it on to the next step through | the state | input feeding |
| encoder | bidirectional | one direction (ours from the start, the paper's from the end) |
| score | additive | dot, general, location or concat (additive) |

"Bahdanau adds, Luong multiplies" describes only the last row.
"""

# %% [markdown] kind="text" track="core" contents="one step of Luong's decoder as a picture"
r"""
Here is one step of our Luong decoder with dot products. It has written *cette reine* and is about to choose the next word: first comes the new state, then the attention, then the prediction.
"""

# %% kind="picture" hide_input=true track="core"
key_picture.draw("step")

# %% [markdown] kind="text" contents="four attention maps to tell apart, and a puzzle"
r"""
## 4 · Four maps without labels

We trained Luong's translator four times, each time with a different score: dot, general, concat and location. The models have nearly the same number of parameters, were trained in the same way, and all translate the sentence below correctly. Here are their attention weights, in the same order as in the first picture. Which is which?
"""

# %% kind="see" name="blind" hide_input=true
NAMES, BLIND = key_picture.NAMES, key_picture.BLIND  # BLIND is shuffled
SENTENCE = "does the beautiful woman on the bridge take the cake that is very sweet ?"
systems = {name: load_shipped(f"luong_{name}") for name in NAMES}
translations = {name: systems[name](SENTENCE, with_weights=True) for name in NAMES}
weights = {name: translations[name].weights[0, 0] for name in NAMES}
rows, columns = translations["dot"].target_tokens, translations["dot"].source_tokens

views.gallery(
    {f"map {i}": weights[name] for i, name in enumerate(BLIND, 1)},
    rows=rows, columns=columns, row_name="output", column_name="attended to",
    alt="Four attention maps of one translation, numbered 1 to 4. Rows: French words.",
)

# %% [markdown] kind="instructor"
r"""
**Blind test (5 min).** Let groups match the four maps on paper before anyone opens the quiz. Only one of them can be told from its formula: the location score doesn't use the encoder states.
"""

# %% kind="quiz"
quiz("07", "blind")

# %% kind="predict" hide_input=true
tests = splits(seed=0, sizes=TEST_SIZES)
pair = next(pair for pair in tests.test if pair.src_text == SENTENCE)
true_links = {(french, english) for english, french in pair.links}
figure = views.gallery(
    {name: weights[name] for name in NAMES}, rows=rows, columns=columns,
    row_name="output", column_name="attended to", marks=true_links,
    alt="The four maps with their names; rings mark the true links.",
)
predict("07", "three-left", figure)

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (5 min)** before you read on. "Dot attends to *bridge* when it outputs *le*. Is that a bug?" Collect explanations, and for each one ask which experiment could refute it. Expected: "nouns are more important", "it is one step ahead", "the noun has the gender". Forcing and the reversed encoder can tell them apart.
"""

# %% [markdown] kind="text"
r"""
So map 1 is concat, map 2 location, map 3 general and map 4 dot, in the first picture, too.

Look at the three articles. General attends to *the*, as in the true alignment. Dot attends to the **noun**: at *la* to *woman*, at the first *le* to *bridge*, and at the second to *cake*. Concat divides its attention between *the* and the noun.

Dot does this in other sentences too. The 1,000 test sentences contain {result:lesson_07/articles, from the start/all:,.0f} articles that translate *the*. For {result:lesson_07/articles, from the start/attends most to the noun, min:.0p} to {result:lesson_07/articles, from the start/attends most to the noun, max:.0%} of them, depending on the random seed, dot attends most to the noun. And yet, given the correct previous words, it predicts every one of these articles correctly. Is its attention wrong?
"""

# %% [markdown] kind="text" contents="an experiment that you program: force the attention onto a word, and count the correct articles"
r"""
## 5 · Force the attention

To answer this question, we **intervene**, as in lesson 06: we replace the attention weights at the articles, and count how many articles the model still gets right. `predictor` loads a trained model whose attention weights we can replace.
"""

# %% kind="example"
dot = predictor("luong_dot")


def leave(step, weights):
    """Changes nothing."""
    return weights


print("predicted:", *dot(pair, leave))
print("articles: ", onto_the(pair))

# %% [markdown] kind="instructor"
r"""
**Stuck?** Three lines per pair: the dictionary, the predictions, the counts. Let learners write `change` for a single pair first. If every pair is forced in the same way, `change` is using the dictionary of the last pair.
"""

# %% [markdown] kind="text" exercise="count_articles"
r"""
**Program the experiment.** Your function gets three arguments:

- `pairs`, a list of sentence pairs. `pair.tgt` contains the words of the correct translation.
- `predict`, a model like `dot` above. `predict(pair, change)` runs the decoder with teacher forcing (lesson 04) and returns a list with one predicted word for each word of `pair.tgt`. `change` is a function that you write: at each step, the model calls `change(step, weights)` and uses the attention weights that it returns. `step` is the position of the French word, counted from 0, and `weights` is a tensor with one attention weight for each source token, including EOS.
- `positions`, a function like `onto_the` above. `positions(pair)` returns a dictionary. Its keys are the steps of the articles that translate *the*; its values are the source positions to attend to. It can be empty.

At each step in the dictionary, put **all** the attention weight on the given position: 1 there and 0 everywhere else. At every other step, leave the attention weights unchanged. Return two numbers, over all pairs: how many of these articles are predicted correctly, and how many there are.
"""

# %% kind="exercise" exercise="count_articles" title="Force the attention, and count" difficulty=3 importance=5 track="core"
from lessons.l07_score_functions.solutions import count_articles

# %% kind="check" exercise="count_articles"
check("count_articles", count_articles)

# %% [markdown] kind="hints" exercise="count_articles"
r"""
### Where to start
Write the loop over the pairs first. For each pair, you need the dictionary, a function `change` and the predicted words. A function can be defined inside a loop.

---
### The function `change`
If `step` is in the dictionary, create a tensor of zeros, `torch.zeros_like(weights)`, set one entry to 1, and return it. Otherwise return `weights`.

---
### The counts
For each step in the dictionary, compare the predicted word at this step with `pair.tgt[step]`. The number of articles in a pair is the size of the dictionary. Set both counts to 0 before the loop, and add to them inside it.
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

# %% [markdown] kind="instructor"
r"""
**They say:** "Dot attends to the wrong word at *le*." **Answer:** Forced onto *the*, it gets only {result:lesson_07/articles, from the start/onto the, mean:.0%} of the articles right.
"""

# %% [markdown] kind="text"
r"""
Forced onto the noun, the model predicts every article correctly. Forced onto *the*, it still predicts an article, but nearly always the same one, *les*. So attending to the noun isn't a mistake: that is where the model finds out *which* article it needs.

Could forcing itself cause the errors? It does some harm, but far less. If we force the attention at all *other* words onto their true source words, {result:lesson_07/articles, from the start/other words, onto their source, min:.0p} to {result:lesson_07/articles, from the start/other words, onto their source, max:.0%} of these words are still right (three random seeds), compared with {result:lesson_07/articles, from the start/other words, own attention, min:.1p} to {result:lesson_07/articles, from the start/other words, own attention, max:.1%} with the model's own attention.

Here is a possible **explanation**. A French article depends on the gender and number of its noun. Our encoder processes the sentence from left to right, so it computes the state of *the* before it has seen the noun. This state can't contain the gender and number; the state of the noun can.
"""

# %% [markdown] kind="text" contents="the control experiment: the same model with an encoder that starts at the end"
r"""
## 6 · The control: reverse the encoder

A good explanation makes a prediction that could turn out to be wrong. We train dot again and change only one thing: the encoder processes the source **from the end**. Now the encoder has already seen the noun when it computes the state of *the*. When it computes the state of the noun, it hasn't seen *the* yet.
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min)** before the prediction. "What must happen if the explanation is right? And which result would refute it?" Expected: the retrained model should need *the* instead of the noun. If it still attended to the noun, the missing gender couldn't be the reason.
"""

# %% kind="predict" name="control" hide_input=true
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
The results are reversed. The retrained model attends to *the*, and it needs *the*: forced onto the noun, it predicts the noun itself (*femme belle femme*) instead of an article. The score function is the same as before, but at the articles, the attention now follows the true alignment.

We repeated this with three random seeds for each encoder and with all {result:lesson_07/articles, from the start/all:,.0f} articles. This time, the forced attention affected only the article itself and wasn't passed on by input feeding:

| encoder | attends most to *the* | right, forced onto *the* | right, forced onto the noun |
|---|---|---|---|
| from the start | {result:lesson_07/articles, from the start/attends most to the, min:.0p} to {result:lesson_07/articles, from the start/attends most to the, max:.0%} | {result:lesson_07/articles, from the start/onto the, min:.0p} to {result:lesson_07/articles, from the start/onto the, max:.0%} | {result:lesson_07/articles, from the start/onto the noun, min:.0%} |
| from the end | {result:lesson_07/articles, from the end/attends most to the, min:.0%} | {result:lesson_07/articles, from the end/onto the, min:.0%} | {result:lesson_07/articles, from the end/onto the noun, min:.1p} to {result:lesson_07/articles, from the end/onto the noun, max:.1%} |

The margin of error is at most about {result:lesson_07/margin of error/articles:.0p} percentage points (95% confidence), far less than the differences. The alignment error (lesson 06) falls from {result:min encoder_direction/from the start/scores/test/alignment_error:.2f}–{result:max encoder_direction/from the start/scores/test/alignment_error:.2f} to {result:min encoder_direction/from the end/scores/test/alignment_error:.2f}–{result:max encoder_direction/from the end/scores/test/alignment_error:.2f}. So it doesn't depend on the score function alone; the encoder matters too.

Two questions remain open. *General* has a forward encoder too, and yet it attends to *the*; forced onto *the*, it still predicts {result:lesson_07/articles, general/onto the:.0%} of the articles correctly (one run). So its information about the noun must come from somewhere else. A plausible source is the decoder's state, which starts as the encoder's last state. And our explanation doesn't cover Bahdanau's system in lesson 06: *la* attended to *mother* for a while during training, although the encoder is bidirectional.
"""

# %% [markdown] kind="text" contents="why the model with the best alignment need not translate best"
r"""
## 7 · Alignment and accuracy

In our experiments, attention went where the information was, and that wasn't always the word that was being translated. Does a better alignment at least go with better translations? Here are all four scores and Bahdanau's system, averaged over three random seeds: exact match on the 1,000 test sentences, and the agreement of the attention with the true links (1 minus the alignment error).
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

# %% [markdown] kind="instructor"
r"""
| they say | misconception | answer |
|---|---|---|
| "a worse alignment means worse translations" | – | Location agrees with half of the links and translates {result:toy_ladder/luong_location/scores/test/exact:.0%} of the sentences correctly. |
| "so alignment doesn't matter" | – | It says little about translations across different scores. With the same score, the reversed encoder improved both. |
"""

# %% [markdown] kind="text"
r"""
When we reversed the encoder, translations improved along with the alignment, most clearly those of deeply nested sentences: exact match rose from {result:min encoder_direction/from the start/scores/depth/exact:.0p}–{result:max encoder_direction/from the start/scores/depth/exact:.0%} to {result:min encoder_direction/from the end/scores/depth/exact:.0p}–{result:max encoder_direction/from the end/scores/depth/exact:.0%}. But across different scores, a better alignment doesn't have to mean better translations. **General** has the best agreement of the four scores, but translates only {result:min toy_ladder/luong_general/scores/test/exact:.0p} to {result:max toy_ladder/luong_general/scores/test/exact:.0%} of the sentences correctly, compared with {result:min toy_ladder/luong_dot/scores/test/exact:.0p} to {result:max toy_ladder/luong_dot/scores/test/exact:.0%} for dot (margin of error: about {result:lesson_07/margin of error/sentences:.0p} points). With the identity matrix for $W_g$, general would *be* dot, so the formula allows a better solution than training found. The matrix can pay off, though: in Luong's paper, dot worked well with attention to the whole source, but general was better with local attention (section 8). Chen, Bolton and Manning (2016) used general for reading comprehension.

**Location** computes its scores without the encoder states and agrees with only about half of the links, yet it translates {result:min toy_ladder/luong_location/scores/test/exact:.0p} to {result:max toy_ladder/luong_location/scores/test/exact:.0%} of the sentences correctly. In 60 sentences it attends most to the true source word {result:lesson_07/location, words to the right/0:.0f} times, and about as often ({result:lesson_07/location, words to the right/1:.0f} times) to the position after it. This may work because the next encoder state still contains information about the true word.
"""

# %% [markdown] kind="instructor"
r"""
**They say:** "Attention weights always sum to 1" (M13). **Answer:** With local-p they don't.
"""

# %% [markdown] kind="text" contents="attention to a window of the source"
r"""
## 8 · Local attention

So far, attention has covered the whole source at every step. This is {term:global attention}, which is expensive for a long text. Luong et al. also tried {term:local attention}, which covers only a window of $D$ positions on either side of a centre. They placed the centre in two ways:

- **local-m** (monotonic): at step $i$, the centre is position $i$.
- **local-p** (predictive): the decoder predicts the centre. With $n$ source positions, $p = n \cdot \text{sigmoid}(v_p^\top \tanh(W_p\, s_i))$.

A window with hard edges gives no gradient for $p$, because moving it slightly changes nothing. So local-p multiplies the softmax over the window by a bell curve around $p$, the {term:Gaussian window}:

$$\alpha_j = \text{softmax}_j(\text{scores in the window}) \cdot \exp\!\left(-\frac{(j - p)^2}{2\sigma^2}\right), \qquad \sigma = \frac D2$$

The product isn't normalised again, so the attention weights can sum to less than 1.

On our toy task, local-p is on average the weakest of our Luong models: its exact match is {result:each toy_ladder/luong_local_p/scores/test/exact:.0%} in three runs. In Luong's paper, local-p with the general score was the best single model for translation from English to German. Some later models for long texts use {term:restricted attention|sliding-window attention}, for example Longformer (2020) and Mistral 7B (2023).
"""

# %% [markdown] kind="text" track="stretch" contents="an explorable: how narrow the window can get"
r"""
## 9 · The window lab

How narrow can the window get before a trained translator makes mistakes? The sentence contains *classrooms*, which becomes three words in French, *salles de classe*, so the French words that follow are at later positions than their English source words. The control *scores ×* multiplies the scores before the softmax.
"""

# %% kind="predict" track="stretch"
predict("07", "narrow-window", WindowLab())

# %% [markdown] kind="text" track="stretch"
r"""
The word *vendu* is four positions further to the right than *sold*. With $D = 3$, *sold* is outside the window of local-m, and the translation leaves *vendu* out. Local-p translates this sentence correctly even with $D = 2$.

Out of 100 test sentences, the models translate this many correctly:

| | $D = 5$ | $D = 3$ | $D = 2$ | $D = 1$ |
|---|---|---|---|---|
| local-m | {result:lesson_07/local-m, half width/5:.0f} | {result:lesson_07/local-m, half width/3:.0f} | {result:lesson_07/local-m, half width/2:.0f} | {result:lesson_07/local-m, half width/1:.0f} |
| local-p | {result:lesson_07/local-p, half width/5:.0f} | {result:lesson_07/local-p, half width/3:.0f} | {result:lesson_07/local-p, half width/2:.0f} | {result:lesson_07/local-p, half width/1:.0f} |

Each model was trained once, with $D = 5$.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on "You multiply all encoder states by 2" (full lesson): "Nothing, all grow by the same factor" overlooks that the differences between the scores grow as well. On the short track, vote on the state that Luong's decoder attends with.
"""

# %% kind="quiz"
quiz("07", "closing")

# %% [markdown] kind="instructor"
r"""
**Wrap up (2 min).** Ask each pair for one sentence of the form "The map shows …, but only the experiment showed …".
"""

# %% [markdown] kind="summary"
r"""
## What you have now

- A score can be a dot product, general (bilinear), additive or location-based. The location score ignores the encoder states.
- The cosine similarity is a dot product that ignores the norms.
- Luong's decoder attends with its new state and uses the context vector only for the prediction. Input feeding passes it on to the next step.
- Our dot-product model attends to the noun when it predicts an article. Forcing showed that it needs the noun; reversing the encoder supported the explanation that the state of *the* lacks the noun's gender in a forward encoder. <!-- core -->
- A model with a better alignment needn't translate better. <!-- core -->

**Still missing.** Each encoder state has two jobs. It is *compared* with the decoder state to get a score, and it *contributes* to the context vector. What makes a word easy to find needn't be what is useful once it has been found. [Lesson 08](08_query_key_value.ipynb) gives each job its own vector.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Luong, Pham and Manning, *Effective Approaches to Attention-based Neural Machine Translation* (2015), section 3. [arXiv 1508.04025](https://arxiv.org/abs/1508.04025)
- Sections 5.3 and 5.4 of the same paper, which compare the scores and the alignments. <!-- core -->
- Chen, Bolton and Manning, *A Thorough Examination of the CNN/Daily Mail Reading Comprehension Task* (2016), section 3.2: bilinear attention. [arXiv 1606.02858](https://arxiv.org/abs/1606.02858) <!-- core -->
- Brauwers and Frasincar, *A General Survey on Attention Mechanisms in Deep Learning* (2021), section 2. [arXiv 2203.14263](https://arxiv.org/abs/2203.14263)
"""
