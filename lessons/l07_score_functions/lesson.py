# Lesson 07 · the source. Edit this file, then run `python3 -m course_lib build 07`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 07 · Score functions and Luong

**The question:** how can we score how well a query matches a key?

About {minutes} minutes. You need the attention of [lesson 06](06_bahdanau_attention.ipynb) and the LSTM of [lesson 03](03_lstm_and_gru.ipynb).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **write** the general, the concat and the cosine score, and **say** when they disagree; <!-- core -->
2. **name** what differs between Bahdanau's and Luong's decoder, line by line;
3. **tell** from a map of weights what its score can see and what not;
4. **build** local attention with a {term:Gaussian window}, and **drive** a trained translator with it; <!-- core -->
5. **explain** what alignment and quality have to do with each other. <!-- core -->
"""

# %% kind="setup"
import random
from collections import Counter

import torch

from course_lib import views
from course_lib.formatting import fixed
from course_lib.results import mean_over_seeds
from course_lib.teaching import check, estimate, explain, predict, quiz, start_lesson
from course_lib.teaching import yours
from course_lib.text import BOS, EOS, TEST_SIZES, splits
from course_lib.translation import load_shipped
from lessons.l07_score_functions import ScoreZoo, WindowLab

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
## 1 · One part of four

Every attention has the same four parts. Brauwers and Frasincar (2021), who sorted a great many of them, call them

| part | its task | in lesson 06 |
|---|---|---|
| feature model | makes the vectors that are looked at | two GRUs: an annotation for each word |
| query model | makes the vector that asks | the decoder's old state |
| attention model | scores, weights, context | $v^\top\tanh(Ws + Uh_j)$, softmax, blend |
| output model | makes something of the context | the next state, the next word |

The vector that asks is called the {term:query}, $q$. Each vector it is compared with is a {term:key}, $k_j$. What compares them, and gives one number for a pair, is the {term:score function}. In lesson 06 it was a tiny network. Is that the best judge of a fit? And must it be so dear: 132 numbers bent by a tanh (our states are 132 wide), for every pair of words?

In 2015 Minh-Thang Luong, Hieu Pham and Christopher Manning tried four formulas, in a decoder that they rearranged a little as well. This lesson changes one part at a time.
"""

# %% kind="diagram" hide_input=true
PARTS = {
    "source states": (0, 0), "last word": (0, 1), "last h~": (0, 2),
    "new state": (1, 1.5), "scores": (2, 0.75), "weights": (3, 0.75),
    "context": (4, 0.75), "h~": (5, 1), "next word": (6, 1),
}
ARROWS = [
    ("last word", "new state"), ("last h~", "new state"), ("source states", "scores"),
    ("new state", "scores"), ("scores", "weights"), ("weights", "context"),
    ("source states", "context"), ("context", "h~"), ("new state", "h~"),
    ("h~", "next word"),
]
views.diagram(PARTS, ARROWS, lit="scores", title="One step of Luong's decoder")

# %% [markdown] kind="text" track="short"
r"""
## 2 · Ways to fit

You have a wish, and there are offers. How well does an offer fit? Five judges:

- **Adds up.** Multiply wish and offer number by number, and add: the {term:dot score}. A big offer gets a big score.
- **Only looks at the direction.** Divide the dot product by both lengths: the {term:cosine}, from −1 (opposite) to 1 (same direction). How much is offered does not count.
- **Has an interpreter.** Wish and offer speak different languages; a learned matrix $W$ translates the wish first: the {term:general score}, $q^\top W k$, also called bilinear. Query and key may even differ in width.
- **Is a jury.** Put both side by side and let a small network judge: the {term:concat score}, $v^\top\tanh(W[q; k])$.
- **Never looks at the offer.** "Third seat from the left, please": the {term:location score}, $Wq$. Row $j$ of $W$ says how much this query likes *place* $j$. What stands there does not matter.

A sixth you know: the additive score. The first four and the additive one are *content-based*: they read the key. The location score is *position-based*.

**By hand.** $q = (1, 2)$, $k = (3, 1)$. Dot: $1 \cdot 3 + 2 \cdot 1 = 5$. Cosine: the lengths are $\sqrt 5 = 2.24$ and $\sqrt{10} = 3.16$, so $5 / 7.07 = 0.71$. General, with a $W$ that swaps the two numbers of the query: $(2, 1) \cdot (3, 1) = 7$.
"""

# %% kind="quiz"
quiz("07", "by-hand")

# %% [markdown] kind="text"
r"""
Six rows: those above, with *scaled dot* in place of concat, on the same query and the same three keys. (*Scaled dot* is a dot product divided by a root, which is for lesson 08. General's $W$ turns the query by 90° here, additive and location have some fixed numbers: in a network all these are learned.) First commit to a guess.
"""

# %% kind="predict"
predict("07", "longer-key", ScoreZoo())

# %% [markdown] kind="text" exercise="general_scores"
r"""
**Your turn.** Write the general score for many queries and many keys at once: one number for every pair, before any softmax. If `w` is the identity matrix, it is the dot score.
"""

# %% kind="exercise" exercise="general_scores" title="The general score" difficulty=2 importance=4 track="core"
def general_scores(queries, keys, w):
    """queries (m, q), keys (n, k), w (q, k)  ->  scores (m, n)"""
    # solution
    return queries @ w @ keys.T
    # end solution

# %% kind="check" exercise="general_scores"
check("general_scores", general_scores)

# %% [markdown] kind="hints" exercise="general_scores"
r"""
### A nudge
First let `w` translate every query to the width of a key. What is left is a dot product of every pair.

---
### Step by step
`queries @ w` is (m, k): the queries in the keys' language. A matrix product with `keys.T`, (k, n), gives all pairs.
"""

# %% [markdown] kind="text" exercise="concat_scores"
r"""
**And the jury.** `w` has d rows, and as many columns as a query and a key have numbers *together*: it reads $[q; k]$, the query's numbers first. Again one number for every pair of a query and a key. A loop over pairs is right; without a loop it is a matter of shapes, (m, n, q + k), or of a thought: what does `w` do with the query's half, and what with the key's?
"""

# %% kind="exercise" exercise="concat_scores" title="The concat score" difficulty=3 importance=4 track="core"
def concat_scores(queries, keys, w, v):
    """queries (m, q), keys (n, k), w (d, q + k), v (d,)  ->  scores (m, n)"""
    # solution
    q = queries.shape[-1]
    from_queries = queries @ w[:, :q].T  # (m, d)
    from_keys = keys @ w[:, q:].T  # (n, d)
    return torch.tanh(from_queries[:, None] + from_keys) @ v
    # end solution

# %% kind="check" exercise="concat_scores"
check("concat_scores", concat_scores)

# %% [markdown] kind="hints" exercise="concat_scores"
r"""
### A nudge
For one pair: `v @ torch.tanh(w @ torch.cat([query, key]))`. Get that right for every pair with two loops first, and collect with `torch.stack`.

---
### Without a loop
`w @ [q; k]` is the left part of `w` times the query *plus* its right part times the key. Make the two parts for all queries and all keys, then add each to each: (m, 1, d) + (n, d) is (m, n, d).

---
### Step by step
1. `w[:, :q]` is for queries, `w[:, q:]` for keys, with `q = queries.shape[-1]`.
2. `queries @ w[:, :q].T` is (m, d); put an axis in the middle with `[:, None]`.
3. Add `keys @ w[:, q:].T`, which is (n, d). Bend. `@ v`.
"""

# %% kind="code" track="core"
generator = torch.Generator().manual_seed(7)
sizes = [(1, 3), (5, 4), (6, 7), (6,)]
queries, keys, w, v = (torch.randn(size, generator=generator) for size in sizes)

concat, additive = yours("concat_scores"), yours("additive_scores")
print("concat  ", fixed(concat(queries, keys, w, v)[0], 2))
print("additive", fixed(additive(queries[0], keys, w[:, :3], w[:, 3:], v), 2))

# %% [markdown] kind="text" track="core"
r"""
The same numbers: Luong's concat score is Bahdanau's additive score, written with one matrix in place of two. (The formula, that is. The paper's own run set a part of $W$ to the identity, and did badly.) What each score has to learn, in our systems, where every state is 132 wide and a sentence has 64 places at most:

| score | numbers to learn | work for one pair |
|---|---|---|
| dot, cosine | 0 | one dot product |
| general | 132 · 132 = {result:toy_ladder/luong_general/parameters - toy_ladder/luong_dot/parameters:,.0f} | one dot product (the query is translated once) |
| concat, additive | 132 · 264 + 132 = {result:toy_ladder/luong_concat/parameters - toy_ladder/luong_dot/parameters:,.0f} | 132 bends and a dot product |
| location | 64 · 132 = {result:toy_ladder/luong_location/parameters - toy_ladder/luong_dot/parameters:,.0f} | none: no key is read |

One more judge is written already.
"""

# %% [markdown] kind="text" exercise="cosine_scores"
r"""
It is to score one query against all keys, by direction alone. Does it? Run it, and the cell after its check, where the second key is doubled.
"""

# %% kind="exercise" exercise="cosine_scores" mode="bug" title="The cosine" difficulty=2 importance=3 track="core"
def cosine_scores(query, keys):
    """query (d,), keys (n, d)  ->  scores (n,)"""
    # bug
    return keys @ query / (query.norm() * keys.norm())
    # end bug
    # solution
    return keys @ query / (query.norm() * keys.norm(dim=-1))
    # end solution

# %% kind="check" exercise="cosine_scores"
check("cosine_scores", cosine_scores)

# %% [markdown] kind="hints" exercise="cosine_scores"
r"""
### A nudge
What should a key score that points exactly where the query points? Try `cosine_scores(keys[0], keys)`.

---
### Step by step
Print `keys.norm()`. How many numbers is that, and how many keys are there?
"""

# %% kind="code" track="core"
query = torch.tensor([1.0, 2.0])
keys = torch.tensor([[3.0, 1.0], [1.0, 1.0], [-1.0, 0.5]])
longer = keys * torch.tensor([[1.0], [2.0], [1.0]])

print("as they are      ", fixed(cosine_scores(query, keys), 2))
print("second key doubled", fixed(cosine_scores(query, longer), 2))

# %% [markdown] kind="text" track="core"
r"""
If the second line differs from the first, lengths still count somewhere. A cosine must not see them: no key's score changes when a key is doubled, its own or another's.
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · Luong's decoder, line by line

Bahdanau's decoder asks with its **old** state, before it moves. Luong's moves first: it reads the last word, gets a new state, and asks with **that**. Then context and new state together make a vector

$$\tilde h = \tanh(W_c\,[c; s_i])$$

(Luong writes $h$ for the state: hence the $\tilde h$), and from this alone the next word is read off. What is looked at are plain encoder states here, read one way; we call them *source states* (`states` in code). The decoder's state is the query. Nothing of the look has gone into the state so far. So the decoder would not know at the next step where it has just looked. Luong's cure is called {term:input feeding}: $\tilde h$ is handed in beside the next word.
"""

# %% [markdown] kind="text" track="core" contents="Luong's decoder as a loop, to compare with that of lesson 06"
r"""
Read the loop, and compare it with that of lesson 06.
"""

# %% kind="code" name="translate" track="core"
@torch.no_grad()
def translate(sentence, system, weigh, target=(), feed=1, max_len=40):
    """`weigh(query, states, step)` gives the weights; `target`: ids to force."""
    model, tokenizer = system.model, system.tokenizer
    source = torch.tensor([[*tokenizer.encode(sentence), EOS]])
    memory = model.encode(source, torch.tensor([source.shape[1]]))
    states, start = memory["states"][0], model.start(memory)
    lstm = {name: start[name] for name in ("hidden", "cell")}  # see lesson 03
    fed, token, words, rows = start["fed"], BOS, [], []  # fed: h~, at first zeros
    while len(words) < (len(target) or max_len):
        last = model.embed(torch.tensor([[token]]))[:, 0]
        inputs = torch.cat([last, feed * fed], dim=-1)
        state, lstm = model.decoder.step(inputs, lstm)
        weights = weigh(state[0], states, len(words))
        context = weights[None] @ states
        fed = torch.tanh(model.combine(torch.cat([context, state], dim=-1)))
        token = model.logits(fed).argmax().item()
        rows.append(weights)
        if token == EOS and not target:
            break
        words.append(token)
        token = target[len(words) - 1] if target else token
    return tokenizer.decode(words), torch.stack(rows)

# %% [markdown] kind="text"
r"""
Line by line, with the code that matters. The left column is from lesson 06; on the right, `weigh` gives the weights, `fed` is $\tilde h$, and `feed` is 1 unless we switch input feeding off:

| | Bahdanau 2015 | Luong 2015 |
|---|---|---|
| who asks | the old state: `attend(state, annotations, …)` before `state = …` | the new state: `weigh(state[0], …)` after `state, lstm = …` |
| where the context enters | the next state and the word: `torch.cat([last, context], dim=-1)` | the word only: `torch.cat([context, state], dim=-1)` |
| what tells the next step where it looked | the state itself | input feeding: `torch.cat([last, feed * fed], dim=-1)` |
| what is looked at | annotations, read from both sides | states of one LSTM that reads one way (ours from the start, the paper's from the end) |
| the score | additive | dot, general, concat or location |

So it is not "adding against multiplying": four of the five rows have nothing to do with the score. (The paper's LSTM has four layers, ours one. What else differs stands at the top of `course_lib/models/luong.py`.)
"""

# %% kind="quiz"
quiz("07", "decoders")

# %% kind="code" track="core" contents="four trained systems that translate with these scores"
NAMES = ("dot", "general", "concat", "location", "local_m", "local_p")
systems = {name: load_shipped(f"luong_{name}") for name in NAMES}
general, w = yours("general_scores"), systems["general"].model.score.weight.detach()
score = systems["concat"].model.score  # its matrix is stored in two halves
w_concat = torch.cat([score.w_query, score.w_key], dim=-1).detach()
v = score.v.detach()
w_location = systems["location"].model.score.weight.detach()  # a row per position

weigh = {
    "dot": lambda q, h, step: torch.softmax(h @ q, dim=0),
    "general": lambda q, h, step: torch.softmax(general(q[None], h, w)[0], 0),
    "concat": lambda q, h, step: torch.softmax(concat(q[None], h, w_concat, v)[0], 0),
    "location": lambda q, h, step: torch.softmax(w_location[: len(h)] @ q, dim=0),
}
COLD = "the cat drank the water because it was cold"
for name in weigh:
    translation, _ = translate(COLD, systems[name], weigh[name])
    print(f"{name:8}", translation)
    assert translation == systems[name](COLD).target  # the library's is the same

# %% [markdown] kind="text" track="core"
r"""
Four trained systems, two of them driven by your scores. All are of one size and one recipe.
"""

# %% [markdown] kind="text" contents="telling six unlabelled attention maps apart by what each score can see"
r"""
## 4 · Blind test

Six such systems have translated one sentence, and all six got it right. Their names are gone. Besides dot, general, concat and location there are two that may not look everywhere:

- **local-m**: at step $i$ it sees only the English words at most five places away from place $i$ (or from the last word, once $i$ is past it);
- **local-p**: the network itself says around which place it wants to look, five to either side. Inside, words far from that place are dimmed, and *nothing makes up for what the dimming takes away*.

Both use the general score. Who drew which map?
"""

# %% kind="see" name="blind"
SENTENCE = "does the beautiful woman on the bridge take the cake that is very sweet ?"
BLIND = random.Random(635).sample(NAMES, 6)  # shuffled, the same for everyone
translations = {name: systems[name](SENTENCE, with_weights=True) for name in NAMES}
weights = {name: translations[name].weights[0, 0] for name in NAMES}
maps = {f"map {i}": weights[name] for i, name in enumerate(BLIND, 1)}
rows, columns = translations["dot"].target_tokens, translations["dot"].source_tokens

views.gallery(
    maps, rows=rows, columns=columns, row_name="said", column_name="looked at",
    alt="Six maps of weights, 1 to 6, of one translation. Rows: French words said.",
)

# %% kind="quiz"
quiz("07", "blind")

# %% [markdown] kind="text"
r"""
Three maps are left: 1, 4 and 6, for dot, general and concat. They differ most in the rows of *la* and *le*. (Behind the guess: all names, and the true links as rings.)
"""

# %% kind="predict"
pair = next(pair for pair in tests.test if pair.src_text == SENTENCE)
true_links = {(french, english) for english, french in pair.links}
named_maps = {name.replace("_", "-"): weights[name] for name in NAMES}
figure = views.gallery(
    named_maps, rows=rows, columns=columns, row_name="said", column_name="looked at",
    marks=true_links, alt="The six maps with their names; rings mark the true links.",
)
predict("07", "three-left", figure)

# %% [markdown] kind="text"
r"""
General is map 4, dot 6, concat 1. **General** is the most decided: nearly every row is one dark cell. Its scores are large (we come back to that), and the softmax of large scores picks. **Dot** does something curious: at *la* and *le* it does not look at *the*, but at the noun. **Concat** shares between the two.

Is looking at the noun a mistake? By the alignment it is: *le* comes from *the*. Hold that thought until section 6.

And *est-ce que*: dot and general look at `</s>`, the last state of an LSTM that reads forwards. It has read the whole sentence, the question mark too. local-m cannot see that far, and had to find another way.
"""

# %% [markdown] kind="text" contents="local attention with a Gaussian window, to build and then to narrow"
r"""
## 5 · A window that the network moves

To look at *all* words of the source is {term:global attention}. A page of text has hundreds of them, and most are of no use for the word at hand. {term:local attention|Local attention} looks at a few, the $D$ nearest on either side of a centre. (A lamp in a dark room: everything is there, but you see what lies in the beam.) Where is the centre?

- **local-m** (monotonic): at step $i$ it is place $i$, but never past the last word. A fixed diagonal, softened.
- **local-p** (predictive): the query says so. Of $n$ source states, $p = n \cdot \text{sigmoid}\!\left(v_p^\top \tanh(W_p\, q)\right)$. The sigmoid gives a share of the way through the sentence.

How can $W_p$ and $v_p$ be learned? The edge of a window is hard: a word is in or out, and a slightly better centre changes nothing. So Luong dims the window by a bell around the centre, the {term:Gaussian window}:

$$\text{weight}_j \;=\; \underbrace{\text{softmax}_j(\text{scores inside the window})}_{\text{what fits}} \;\cdot\; \underbrace{\exp\!\left(-\frac{(j - p)^2}{2\sigma^2}\right)}_{\text{what is near}}, \qquad \sigma = \frac D2$$

Now moving $p$ a little changes every weight a little, and there is a slope to learn from.
"""

# %% kind="quiz"
quiz("07", "bell")

# %% kind="diagram" hide_input=true
views.diagram(
    PARTS, [*ARROWS, ("new state", "weights")], lit=("new state", "weights"),
    title="local-p: the state that asks also says where the window lies",
)

# %% [markdown] kind="text" exercise="local_p_weights"
r"""
**Build it.** One query, all source states, everything that is learned; out come the weights of all $n$ words and the centre, which is there already. (Places count from 0, so word $j$ stands at place $j$.) Four steps are left:

1. the general scores of the query with all states;
2. which places are at most `half_width` away from the centre ($D$ away counts as inside);
3. a softmax over *those* scores only; every other word has weight 0. (A table of True and False picks numbers: `scores[inside]`, and `weights[inside] = …` puts them back.)
4. the bell. Do **not** make the weights sum to 1 again.

In a minute it drives the trained system.
"""

# %% kind="exercise" exercise="local_p_weights" title="A window that moves" difficulty=4 importance=4 track="core"
def local_p_weights(query, states, w, w_p, v_p, half_width):
    """query (q,), states (n, k), w (q, k), w_p (d, q), v_p (d,), half_width a number

    ->  weights (n,), centre ()
    """
    n = len(states)
    centre = n * torch.sigmoid(v_p @ torch.tanh(w_p @ query))
    # solution
    scores = states @ (query @ w)
    distances = torch.arange(n) - centre
    inside = distances.abs() <= half_width
    weights = torch.zeros(n)
    weights[inside] = torch.softmax(scores[inside], dim=0)
    sigma = half_width / 2
    return weights * torch.exp(-(distances**2) / (2 * sigma**2)), centre
    # end solution

# %% kind="check" exercise="local_p_weights"
check("local_p_weights", local_p_weights)

# %% [markdown] kind="hints" exercise="local_p_weights"
r"""
### A nudge
Make `distances = torch.arange(n) - centre` once: the window and the bell both need it.

---
### Step by step
1. `query @ w` is (k,); `states @ (…)` is (n,).
2. `inside = distances.abs() <= half_width`.
3. `weights = torch.zeros(n)`, then `weights[inside] = torch.softmax(scores[inside], dim=0)`.
4. Times `torch.exp(-distances**2 / (2 * sigma**2))` with `sigma = half_width / 2`.
"""

# %% kind="code" name="window"
local = yours("local_p_weights")
model = systems["local_p"].model
learned = model.score.weight, model.centres.w_p.weight, model.centres.v_p.weight[0]


def local_p(half_width):
    """The function `weigh` of local-p, with a window of this half width."""
    D = torch.tensor(half_width)
    return lambda q, states, step: local(q, states, *learned, D)[0]


translation, weights = translate(COLD, systems["local_p"], local_p(5.0))
print(translation)
print("the rows sum to", fixed(weights.sum(dim=-1), 2))
assert translation == systems["local_p"](COLD).target  # the library's is the same

# %% [markdown] kind="text"
r"""
Your window drives the trained system. (It says *il était froide*, and *eau* wants *elle*: this system is not our best, see below. The library's says the same.) And rows that sum to less than 1: where the bell takes weight away, less of the source comes in at all. At a row of {printed:window/sum to/9} the step hardly looks: its state has to know what to say.

Now turn the dials yourself, on all six trained systems. $D$ is the half width, around the diagonal or, for local-p, around its own centre. *scores ×* multiplies the scores before the softmax. The sentence has *classrooms* in it, three words in French.
"""

# %% kind="predict"
predict("07", "narrow-window", WindowLab())

# %% [markdown] kind="text"
r"""
Since *salles de classe* the French runs ahead of the diagonal. At *vendu* it is four words ahead: with $D = 3$, *sold* is out of sight for local-m (the ring in the grey). local-p is right even with $D = 2$, though not as one might think: at *pas* its window lies far from *not*. After *n' étaient* its state knows that word without a look.

One sentence proves little. Of 100 test sentences are right:

| window | $D = 5$ | 3 | 2 | 1 | | scores | × 1 | × 0.25 | × 0.1 |
|---|---|---|---|---|---|---|---|---|---|
| local-m | {result:lesson_07/local-m, half width/5:.0f} | {result:lesson_07/local-m, half width/3:.0f} | {result:lesson_07/local-m, half width/2:.0f} | {result:lesson_07/local-m, half width/1:.0f} | | general | {result:lesson_07/general, scores times/1:.0f} | {result:lesson_07/general, scores times/0.25:.0f} | {result:lesson_07/general, scores times/0.1:.0f} |
| local-p | {result:lesson_07/local-p, half width/5:.0f} | {result:lesson_07/local-p, half width/3:.0f} | {result:lesson_07/local-p, half width/2:.0f} | {result:lesson_07/local-p, half width/1:.0f} | | dot | {result:lesson_07/dot, scores times/1:.0f} | {result:lesson_07/dot, scores times/0.25:.0f} | {result:lesson_07/dot, scores times/0.1:.0f} |
| | | | | | | concat | {result:lesson_07/concat, scores times/1:.0f} | {result:lesson_07/concat, scores times/0.25:.0f} | {result:lesson_07/concat, scores times/0.1:.0f} |

A narrow window must be put well, and ours often is not. (Its bell narrows with it.) And general's scores were far larger than it needs: turned down to a quarter they do as well. Dot and concat need theirs.
"""

# %% [markdown] kind="text" contents="why the best alignment need not give the best translation, tested by forcing"
r"""
## 6 · Good maps, good translations?

All six, and Bahdanau's beside them, over the whole test set, three trainings each. How many sentences are right, word for word? And how many links, when it reads the right translation (1 minus the alignment error of lesson 06)? A translator has to find the word it translates, after all.
"""

# %% kind="predict"
shown = ["bahdanau", *(f"luong_{name}" for name in NAMES)]


def exact(run, split):
    return run["scores"][split]["exact"]


def links(run):
    return 1 - (run["scores"]["test"].get("alignment_error") or 0)


right = mean_over_seeds("toy_ladder", lambda run: exact(run, "test"))
long = mean_over_seeds("toy_ladder", lambda run: exact(run, "long"))
aligned = mean_over_seeds("toy_ladder", links)
figure = views.heatmap(
    [[right[name], aligned[name], long[name]] for name in shown],
    rows=[name.removeprefix("luong_").replace("_", "-") for name in shown],
    columns=["sentences", "links", "long ones"], title="The share that is right",
    row_name="system", column_name="1,000 sentences; their links; 21 to 40 words",
    alt="A table of three shares for seven systems: sentences, links, long sentences.",
)
predict("07", "align-and-translate", figure)

# %% [markdown] kind="text"
r"""
So alignment and translation need not go together. **General** has nine links in ten, and gets one sentence in seven wrong. (With the identity for $W$ it would be dot, which has {result:toy_ladder/luong_dot/scores/test/exact:.0%}. What a formula can do is one thing, what training finds another.) **Location**, which reads no key at all, has about half of the links, and gets {result:toy_ladder/luong_location/scores/test/exact:.0%} of the sentences right. (Long ones are hard for all; of its rows beyond the twentieth word it never trained one.) **local-p** is the weakest and the most fickle: {result:each toy_ladder/luong_local_p/scores/test/exact:.0%} in three trainings. In the paper it was the best, and concat did badly. But there too, a better alignment was not always a better translation.

What is dot after, with its articles? In the sentence of the blind test *le* looked at *bridge*. Let us force it: wherever *le, la, l'* or *les* is to be said for *the*, put all the weight on *the*, where the alignment wants it. The system reads the right words so far.
"""

# %% kind="estimate"
ARTICLES = ("le", "la", "l'", "les")


def count_articles(name, pairs=tests.test[:60]):
    """Articles that are right with attention forced onto "the", and all of them."""
    n_right = n_all = 0
    for pair in pairs:
        linked = {f: e for e, f in pair.links if pair.src[e] == "the"}
        forced = {f: e for f, e in linked.items() if pair.tgt[f] in ARTICLES}

        def weigh_forced(q, states, step, forced=forced):
            if step in forced:
                return torch.eye(len(states))[forced[step]]
            return weigh[name](q, states, step)

        target = systems[name].tokenizer.encode(pair.tgt_text)
        text, _ = translate(pair.src_text, systems[name], weigh_forced, target)
        words = text.split()
        n_right += sum(words[french] == pair.tgt[french] for french in forced)
        n_all += len(forced)
    return n_right, n_all


estimate("07", "forced-the", lambda: count_articles("dot")[0])

# %% kind="see"
for name in ("general", "concat"):
    n_right, n_all = count_articles(name)
    print(f"{name}, forced onto 'the': {n_right} of {n_all} right")

# %% [markdown] kind="text"
r"""
There is the reason. Our encoder reads forwards: when it has read *the*, it does not know yet whether a *bridge* or a *woman* follows. So the state of *the* cannot say *le* or *la*. The noun's can. Dot looks **where the answer is**, and the alignment asks **where the word comes from**. (Forcing as such does little harm: on all other words, forced onto their true English word, dot is still right nine times in ten.) Concat needs the noun just as much, so it shares its look between the two.

General does it another way: it looks at *the*, and mostly knows the gender all the same, from its own state, which began as the encoder's last one and has seen the whole sentence.

If this is the reason, then looks that miss should miss to one side: to the **right**, where more has been read. Do they?
"""

# %% kind="see"
def count_distances(name, pairs=tests.test[:60]):
    """How many words to the right of the true one the largest weight is, counted."""
    counts = Counter()
    for pair in pairs:
        target = systems[name].tokenizer.encode(pair.tgt_text)
        _, weights = translate(pair.src_text, systems[name], weigh[name], target)
        for french, row in enumerate(weights):
            true = [english for english, f in pair.links if f == french]
            if len(true) == 1:
                counts[row.argmax().item() - true[0]] += 1
    return counts


print("            left   true   1 right   further right")
for name in ("dot", "general", "location"):
    counts = count_distances(name)
    left = sum(n for distance, n in counts.items() if distance < 0)
    further = sum(n for distance, n in counts.items() if distance > 1)
    print(f"{name:10} {left:5} {counts[0]:6} {counts[1]:9} {further:15}")

# %% [markdown] kind="text"
r"""
They do: dot and general never miss to the left. And this is location's secret. Most of its "wrong" looks are exactly one word late, and the state there still holds the word before. It finds what it needs, though not where the alignment has it.

The counter-test: train dot with an encoder that reads **from the end**, so that *the* has met its noun. Its alignment error falls from {result:encoder_direction/from the start/scores/test/alignment_error:.2f} to {result:encoder_direction/from the end/scores/test/alignment_error:.2f}, and {result:encoder_direction/from the end/scores/test/exact:.0%} of the sentences are right in place of {result:encoder_direction/from the start/scores/test/exact:.0%}. Most likely that is why Bahdanau's, which reads from both sides, has an error of {result:toy_ladder/bahdanau/scores/test/alignment_error:.2f} as well. The alignment error measures the encoder as much as the look. (Forced and counted on one trained system of each kind; tables and counter-test are means of three.)
"""

# %% kind="explain"
explain("07", "good-and-misaligned")

# %% [markdown] kind="text" contents="what a trained decoder forgets without input feeding"
r"""
## Break it

Take input feeding away from the trained concat system: hand in zeros for $\tilde h$, with `feed=0`.

> **Before you run it:** what does the next step no longer know? What kind of mistake will that make: wrong words, words too many, words missing?
"""

# %% kind="break"
MOTHER = "the happy mother did not sell the old white flower"
KINGS = "the rich kings under the old tree drank the very hot coffee"
for sentence in (MOTHER, KINGS):
    for feed in (1, 0):
        text, _ = translate(sentence, systems["concat"], weigh["concat"], feed=feed)
        print(f"h~ × {feed}: {text}")

# %% [markdown] kind="text"
r"""
Its words are fine. Some are **missing**: *heureuse*, *riches*. After *la mère* the system has to remember that *happy* is still to come and *mother* is done. Without $\tilde h$ it does not know what it has looked at already. Of sixty test sentences concat now gets {result:lesson_07/concat, input feeding/without:.0f} where it had {result:lesson_07/concat, input feeding/with:.0f}, location {result:lesson_07/location, input feeding/without:.0f} where it had {result:lesson_07/location, input feeding/with:.0f}. Dot goes from {result:lesson_07/dot, input feeding/with:.0f} to {result:lesson_07/dot, input feeding/without:.0f}, general stays at {result:lesson_07/general, input feeding/without:.0f}: these two, it seems, keep their place by other means.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself

The first try counts for your score; every answer gets a reason.
"""

# %% kind="quiz"
quiz("07", "closing")

# %% [markdown] kind="instructor"
r"""
**Open with the blind test** if the room is lively: show the six maps, let groups match them on paper, vote, then give the rules of local-m and local-p one at a time.

**Live:** in the window lab ask for a bet before each narrower $D$. Expected: "it breaks at once". It breaks only where the French has run ahead.

| they say | what it is | answer |
|---|---|---|
| "Bahdanau adds, Luong multiplies, that is all" | M05 | Point at the table in section 3: four of five rows are not the score. |
| "dot is the cosine" | M10 | Double k2 in the zoo. |
| "the weights always sum to 1" | – | Sum a row of local-p. |
| "a worse alignment is a worse translation" | – | Location: half of the links, {result:toy_ladder/luong_location/scores/test/exact:.0%} of the sentences. |
| "dot looks at the wrong word at *le*" | – | Force it onto *the*: seven articles in ten go wrong. |

**If time is short**, leave out the break; keep the blind test and the forcing.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| score | formula | learns | reads |
|---|---|---|---|
| dot | $q^\top k$ | nothing | content |
| cosine | $q^\top k \,/\, (\lVert q\rVert \lVert k\rVert)$ | nothing | content, not length |
| general | $q^\top W k$ | $q \times k$ numbers | content |
| concat = additive | $v^\top\tanh(W[q; k])$ | $d(q + k) + d$ numbers | content |
| location | $Wq$ | a row for each place | position |

- Luong moves, then asks; the context enters above the state; input feeding tells the next step about it.
- {term:local attention|Local attention} looks only at a window of words, which could save work (ours hides what it has scored). Fixed to the diagonal it loses words that have moved; predicted by the query it can follow them, where the query knows the way. The bell makes its centre learnable.
- Aligning is not translating: a look goes where the answer is, and that need not be where the word comes from.

**Still missing.** The states that are asked are also what is blended: one vector does two jobs. And nothing keeps the scores small. Our trained system with the general score gives its best word a weight of {result:lesson_07/largest weight/general:.2f} on average, and dividing its scores by four hardly changes its translations: far out there, a softmax has hardly any slope left to learn from. The dot product grows with the width of its vectors too. How large *should* a score be? [Lesson 08](08_query_key_value.ipynb) splits the two jobs, and divides by a root.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Luong, Pham and Manning, *Effective Approaches to Attention-based Neural Machine Translation* (2015), sections 3.1 to 3.3 and 5.3 to 5.4, and the maps of weights in Appendix A. [arXiv 1508.04025](https://arxiv.org/abs/1508.04025)
- Graves, Wayne and Danihelka, *Neural Turing Machines* (2014), section 3.3: the cosine as a score, with a learned sharpness. [arXiv 1410.5401](https://arxiv.org/abs/1410.5401)
- Brauwers and Frasincar, *A General Survey on Attention Mechanisms in Deep Learning* (2021), section 2: the four parts. [arXiv 2203.14263](https://arxiv.org/abs/2203.14263)
"""
