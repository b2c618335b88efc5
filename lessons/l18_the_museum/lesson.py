# Lesson 18 · the source. Edit this file, then run `python3 -m course_lib build 18`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 18 · The museum

**The question:** which of these systems is best, and by how much?

About {minutes} minutes. You have met nearly every system on the road; two translators are new. You need the score functions from [lesson 07](07_score_functions.ipynb), the block from [lesson 13](13_the_block.ipynb), and BLEU and the beam from [lesson 16](16_decoding.ipynb).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **explain** ConvS2S and its attention in several steps;
2. **decide** whether three seeds carry a lead, and **say** what they cannot tell;
3. **build** a judge of claims, and **defend** one claim with seeds and splits; <!-- core -->
4. **read** an ablation table, the paper's and ours, and **say** which rows mean something; <!-- core -->
5. **read** *Attention Is All You Need* with a guide to every section (after the lesson).
"""

# %% kind="setup"
from collections import Counter
from dataclasses import replace
from statistics import mean
from textwrap import fill

import torch

from course_lib import views
from course_lib.formatting import fixed
from course_lib.models import build, make_config
from course_lib.teaching import check, estimate, explain, predict, quiz, start_lesson
from course_lib.teaching import yours
from course_lib.text import WordTokenizer, encode_corpus, generate, splits
from course_lib.training import Job, Recipe, run_job, train
from course_lib.translation import evaluate, load_shipped, translate
from lessons.l18_the_museum import (
    COLUMNS, COSTS, HIGHER, REAL, TOY, Leaderboard, runs_of, table,
)

start_lesson("the_museum", seed=18)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("18", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · All of them in one hall

Each system had its own paper: its own data, its own size, its own tricks. Nobody can compare such numbers. So we trained **every system again**:

- one task each: English to our toy French, German to English captions (Multi30k), or the next word;
- one size: within a tenth of 400,000 parameters for the toy translators, 9.4 million on Multi30k, 120,000 for language models;
- one recipe ([lesson 15](15_training_a_translator.ipynb)); decoding greedy and with a beam, whose length penalty each run chose on its validation set;
- three seeds. A {term:random seed|seed} starts the random numbers: first weights, order of sentences, dropout. Another seed is the same experiment with other luck.

Two translators have had no lesson yet: RCTM (2013), which encodes a sentence with convolutions, and ConvS2S (2017), made of convolutions throughout, with attention to the source in every layer of its decoder. Section 2 introduces both.
"""

# %% [markdown] kind="text"
r"""
The numbers of all systems are in one table, a {term:leaderboard}: a row for each system, a column for each thing that was measured.

- **By split and length.** A split is a set of sentences kept apart for one purpose: like training, longer than anything in it, nested deeper, or *recombination*, words that never met.
- **By phenomenon.** A {term:phenomenon} is one thing that a language asks for: negation, questions, the right pronoun. Only the sentences that have it are counted.
- **By cost.** Parameters, seconds of training, words a second when decoding.
- **By data.** The toy language, real captions in {term:BLEU score|BLEU}, and the next word, for language models.

A residual connection is a part, not a system. Its row is the Transformer *without* it.
"""

# %% kind="see" track="core" contents="a timeline of all the systems and their papers"
events = {
    1948: ["N-gram"],
    2003: ["Window MLP"],
    2010: ["RNN"],
    2012: ["LSTM"],
    2013: ["RCTM"],
    2014: ["GRU", "RNN encoder-decoder", "Sequence to sequence"],
    2015: ["Bahdanau", "Luong global", "Luong local"],
    2016: ["LSTMN", "Residual connections"],
    2017: ["Key-value-predict", "Structured self-attention", "ConvS2S", "Transformer"],
}
views.timeline(events, title="The road: year of the paper that we follow")

# %% [markdown] kind="text" track="core"
r"""
Years are those of the paper we follow, not of the invention: the LSTM is of 1997, the language model we follow of 2012.
"""

# %% [markdown] kind="text" contents="RCTM, the oldest of our translators, and ConvS2S, whose decoder attends in every layer"
r"""
## 2 · Two convolutional translators: RCTM and ConvS2S

**RCTM**, the *recurrent continuous translation model* of Kalchbrenner and Blunsom (2013), is a year older than the encoder–decoders of [lesson 04](04_encoder_decoder.ipynb). Its encoder is a stack of convolutions ([lesson 05](05_distance_between_words.ipynb)) without padding. Kernels of width 2, 3 and 4, for example, reduce seven word vectors to six, then to four, then to a single one. From this vector, a plain recurrent network generates the translation. The authors used the model to rescore translations proposed by another system. Ours has to translate by itself. In three runs, it translates {result:each toy_ladder/rctm/scores/test/exact:.1%} of the test sentences correctly, and it gets {result:each toy_ladder/rctm/scores/coreference/pronouns:.0%} of the pronouns right, where guessing between two would give 50%.

Does the word that determines the pronoun affect the translation at all? The next cell translates 200 pairs of sentences that differ only in their last word, such as *thirsty* and *cold*, which changes what *it* refers to. In how many pairs do both sentences get the same translation?
"""

# %% kind="example" name="rctm"
sources = [pair.src_text for pair in splits(sizes={"coreference": 400}).coreference]
for name in ("rctm", "seq2seq"):
    system = load_shipped(name)
    outputs = translate(sources, system.model, system.tokenizer)
    french = [output.target for output in outputs]
    same = sum(a == b for a, b in zip(french[::2], french[1::2], strict=True))
    print(f"{name:<8} {same:>3} of {len(french) // 2} pairs have the same translation")

# %% [markdown] kind="text"
r"""
In most pairs, our RCTM translates both sentences in the same way; our seq2seq never does. A plausible reason is that few paths lead from the last word to the output of a stack without dilation (lesson 05). But we haven't tested it, and the models differ in other ways too: RCTM's vector is only a quarter the size of seq2seq's states, and its decoder has no gates. A convolutional encoder doesn't have to fail like this, as the second system shows.

**ConvS2S** (Gehring, Auli, Grangier, Yarats and Dauphin, 2017) is a month older than the Transformer. Its encoder and decoder are stacks of convolutions with gates (lesson 03), residual connections and learned position embeddings. So it has no recurrence either, and all positions can be trained in parallel.

What it brought to translation was {term:multi-step attention}: **every layer of the decoder attends to the source**, and each layer can use what the layers below it found. The Transformer's decoder does this too, with several heads per layer and self-attention in between.

Think of a treasure hunt. Under the first stone you find a note that says "look behind the oak", and only then do you know where to look next. A single look can't do that, however many places it covers.

**By hand.** Take three words with the keys (5, 0), (0, 5) and (−5, −5). The query (1, 0) has the scores 5, 0 and −5, so it finds the first word. That word's *value* is the note, (−1, 1). Adding it to the query gives (1, 0) + (−1, 1) = (0, 1), with the scores 0, 5 and −5. So the second look finds the second word.
"""

# %% kind="example"
soft_lookup = yours("soft_lookup")
keys = torch.tensor([[5.0, 0.0], [0.0, 5.0], [-5.0, -5.0]])
values = torch.tensor([[-1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
state = torch.tensor([1.0, 0.0])
for look in (1, 2):
    value, weights = soft_lookup(state, keys, values)
    print(f"look {look}: query {fixed(state, 2)}, weights {fixed(weights, 2)}")
    state = state + value

# %% [markdown] kind="formula"
r"""
In one layer of the decoder, for one position:

$$ h = \text{gated convolution}(x), \qquad q = W h + b + g, \qquad c = \sum_j \text{softmax}_j(q \cdot z_j)\,(z_j + e_j), \qquad x' = h + U c + x $$

| symbol | what it is |
|---|---|
| $x$, $x'$ | the input and the output of the layer at this position |
| $h$ | the convolution returns two vectors; the sigmoid of one gates the other |
| $g$ | the embedding of the previous target word, with its position |
| $q$ | the query, which combines the state and that word |
| $z_j$ | the key of source word $j$: the encoder's output |
| $z_j + e_j$ | its value, which also contains the word's embedding $e_j$ |
| $c$ | the result of the attention |
| $W$, $b$, $U$ | learned parameters |

There is only one head, and the dot product isn't divided by $\sqrt{d_k}$. We've left out the factors that stabilise the variance: $\sqrt{1/2}$ for sums, and $\sqrt{m}$ for $c$ with $m$ source words. Here are the attention weights of a trained model:
"""

# %% kind="see"
convs2s = load_shipped("convs2s")
cat = convs2s("the cat drank the water because it was thirsty", with_weights=True)
assert cat.target == "le chat a bu l' eau parce qu' il avait soif"
views.gallery(
    {f"layer {n + 1}": layer[0] for n, layer in enumerate(cat.weights)},
    rows=cat.target_tokens, columns=cat.source_tokens,
    row_name="said", column_name="looked at",
    alt="Where each of the three decoder layers of ConvS2S looks, for one sentence.",
)

# %% [markdown] kind="text"
r"""
Layers are counted from 1 here. In the row for *il*, layer 1 attends to *the cat*, layer 2 to *was* and layer 3 to *it*. But the picture doesn't show what the attention is used for. So we switch off one look at a time ($c = 0$), and translate this sentence and a hundred others:
"""

# %% kind="code"
pairs = generate(100, seed=18, length=(3, 12))
english, french = [p.src_text for p in pairs], [p.tgt_text for p in pairs]


def find_nothing(module, inputs):
    """A hook before U: zeros instead of what attention found."""
    return torch.zeros_like(inputs[0])


for layer in (None, 0, 1, 2):
    closed = [] if layer is None else [convs2s.model.attention[layer].to_hidden]
    hooks = [module.register_forward_pre_hook(find_nothing) for module in closed]
    ending = convs2s(cat.source).target.partition("qu' ")[2]
    outputs = translate(english, convs2s.model, convs2s.tokenizer)
    right = sum(a.target == b for a, b in zip(outputs, french, strict=True))
    name = "all open" if layer is None else f"look {layer + 1} closed"
    print(f"{name:<15}{right} of 100 · … {ending}")
    for hook in hooks:
        hook.remove()

# %% kind="quiz"
quiz("18", "convs2s")

# %% [markdown] kind="text"
r"""
Without look 2, *il* becomes *elle*; without look 3, only one sentence in three is still correct. Is it a treasure hunt, then? Hardly. With looks 1 and 2 both closed, look 3 still has its largest weight on the same word in {result:lesson_18/third look unchanged:.0p} of 100 rows. In our small model, the earlier looks seem to provide **content** rather than tell the later ones where to look.
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · What three seeds can carry

A friend tells you: "My system has {result:toy_ladder/transformer/scores/test/exact:.1%}, yours {result:toy_ladder/bahdanau/scores/test/exact:.1p}. Mine is better." You look at the seeds. His: {result:lesson_18/test/transformer/0:.1f}, {result:lesson_18/test/transformer/1:.1f}, {result:lesson_18/test/transformer/2:.1f}. Yours: {result:lesson_18/test/bahdanau/0:.1f}, {result:lesson_18/test/bahdanau/1:.1f}, {result:lesson_18/test/bahdanau/2:.1f}. Two of yours, {result:lesson_18/test/bahdanau/0:.1f} and {result:lesson_18/test/bahdanau/2:.1f}, are ahead of his second. Would a fourth seed change the order? Nobody knows.

The {term:spread over seeds} is the distance from the best to the worst seed. A strict and simple rule asks for more than a larger mean: **every seed of A is better than every seed of B**. We call this rule `beats`. It says "yes" if every seed of A is ahead, "no" if every seed of B is, and "open" if the seeds are mixed up. It has limits:

- **False alarms.** If A and B were equally good, 1 of 20 cases would fall that way: there are 20 ways to choose which 3 of 6 runs are A's, and one puts A's on top. (1 of 10, if you call A whichever came out ahead.) Ask about many pairs, and it *will* be fooled.
- **Misses.** If A is truly better, by as much as seeds usually differ (one standard deviation), it says so in {result:lesson_18/true lead seen/1:.0%} of cases; by twice as much in {result:lesson_18/true lead seen/2:.0%}. "Open" is not "equal".
- **One test set.** All seeds translate the same sentences, of *questions* only {result:toy_ladder/transformer/scores/test/by_phenomenon/questions/n:.0f}. Of other sentences they say nothing.
"""

# %% kind="diagram" hide_input=true track="core"
PARTS = {
    "runs": (0, 0.5), "seeds": (1, 0.5), "columns": (2, 0), "rivals": (2, 1),
    "claim": (3, 0.5), "limits": (4, 0.5),
}
ARROWS = [("runs", "seeds"), ("seeds", "columns"), ("seeds", "rivals")]
ARROWS += [("columns", "claim"), ("rivals", "claim"), ("claim", "limits")]
views.diagram(PARTS, ARROWS, lit="seeds", title="From runs to a claim")

# %% [markdown] kind="text" exercise="beats"
r"""
`one` and `other` are lists of numbers, one for each seed; they may have any length, and not the same. `higher` says whether larger numbers are better. Return `"yes"` if every seed of `one` is better than every seed of `other`, `"no"` if every seed of `other` is better than every seed of `one`, else `"open"`. Equal is not better.
"""

# %% kind="exercise" exercise="beats" title="Does it beat it?" difficulty=2 importance=5 track="core"
def beats(one, other, higher):
    """lists of numbers, bool  ->  "yes", "no" or "open" """
    # solution
    if not higher:
        one, other = [-x for x in one], [-x for x in other]
    if min(one) > max(other):
        return "yes"
    if min(other) > max(one):
        return "no"
    return "open"
    # end solution

# %% kind="check" exercise="beats"
check("beats", beats)

# %% [markdown] kind="hints" exercise="beats"
r"""
### A nudge
You need not compare all pairs: which seed of `one` is the critical one, and which of `other`?

---
### Step by step
If more is better: the worst of `one` against the best of `other`, then the other way round. For errors and seconds, turn all signs first.
"""

# %% [markdown] kind="text" exercise="test_beats" track="stretch"
r"""
Such a rule is easily written almost right. **Write the test** that lets a right `beats(one, other, higher)` pass and catches the wrong ones: those that compare means, or the best seeds, or forget `higher`, or take equal for better …
"""

# %% kind="exercise" exercise="test_beats" mode="test" title="Write the test" difficulty=2 importance=3 track="stretch"
def test_beats(beats):
    """Takes a function like beats; raises if it is wrong."""
    # solution
    assert beats([97, 98, 96], [90, 95, 93], True) == "yes"
    assert beats([90, 95, 93], [97, 98, 96], True) == "no"
    assert beats([97, 98, 96], [90, 95, 93], False) == "no"
    assert beats([3, 5, 7], [2, 4, 6], True) == "open"
    assert beats([98, 94, 99], [95, 93, 92], True) == "open"
    assert beats([5, 6], [5, 4], True) == "open"
    # end solution

# %% kind="check" exercise="test_beats"
check("test_beats", test_beats)

# %% [markdown] kind="hints" exercise="test_beats"
r"""
### A nudge
Find seeds of which the means, the best and the worst all say "yes", and which are mixed up all the same.

---
### Step by step
One clear case, the same turned round, the same with `higher=False`, one or two mixed ones, such as 3, 5, 7 against 2, 4, 6, and one with equal seeds.
"""

# %% [markdown] kind="text" track="short"
r"""
## 4 · Who is first?

Now the table: {result:lesson_18/contest/all columns:.0f} columns. Numbers are in `museum[column][system]`, a list of three; `HIGHER[column]` says whether more is better. Each line: more or less is better, in which unit, what it is, and n, the number of sentences.
"""

# %% kind="code"
museum, beats = table(), yours("beats")
for name, column in COLUMNS.items():
    sense = f"{'more' if column.higher else 'less'} {column.unit}"
    print(f"{name:<16}{sense:<14}{column.description}")
for kind, column in (("Translators", "test"), ("Language models", "perplexity")):
    print("\n" + fill(f"{kind}: {', '.join(museum[column])}", 88))

# %% [markdown] kind="text"
r"""
In the explorable, slide through the columns. Dots are seeds; pink bars are systems without attention. On the right the first four are magnified; the line below says whether the first is **clear** of the others (it `beats` all of them) or against how many it is **undecided**.
"""

# %% kind="predict"
predict("18", "museum-alone-2017", Leaderboard())

# %% [markdown] kind="text" exercise="leaders"
r"""
Now all columns at once. For each column, `leaders` should return a list: first the system with the best **mean**, then every system that the first does **not** beat (`beats(...) != "yes"`), in the order of their means. `table[column][system]` is a list of seeds, `higher[column]` a bool. Here is a first version. Does it do what it should?
"""

# %% kind="exercise" exercise="leaders" mode="bug" title="Who leads, and who is level" difficulty=2 importance=4 track="core"
def leaders(table, higher):
    """-> {column: [first, others that it does not beat ...]}"""
    leading = {}
    for name, column in table.items():
        # bug
        order = sorted(column, key=lambda s: mean(column[s]), reverse=True)
        # end bug
        # solution
        order = sorted(column, key=lambda s: mean(column[s]), reverse=higher[name])
        # end solution
        leading[name] = order[:1]
        for rival in order[1:]:
            if beats(column[order[0]], column[rival], higher[name]) != "yes":
                leading[name].append(rival)
    return leading

# %% kind="check" exercise="leaders"
check("leaders", leaders)

# %% [markdown] kind="hints" exercise="leaders"
r"""
### A nudge
Try it on two columns by hand: one of percentages, one of errors. Who is first?

---
### Step by step
`reverse=True` puts the largest mean first. Of an error the smallest is best, and `higher[name]` knows.
"""

# %% [markdown] kind="text" track="core"
r"""
{result:lesson_18/contest/columns:.0f} of the columns say how **well** a translator translates: not the cost, and not *1 to 5 words*, where many share 100%. The Transformer, you have seen, is alone in none.

> **Before you run it:** and in how many is Bahdanau's system of 2015 first, or level with the first?
"""

# %% kind="estimate" track="core"
leaders = yours("leaders")
first = leaders(museum, HIGHER)
aside = (*COSTS, "1 to 5 words")
contest = [c for c in COLUMNS if COLUMNS[c].task in (TOY, REAL) and c not in aside]
on_top = Counter(name for column in contest for name in first[column])
estimate("18", "museum-level-2015", lambda: on_top["bahdanau"])

# %% kind="see" track="core"
for column in contest:
    level = ", ".join(first[column][1:]) or "-"
    print(f"{column:<16}{first[column][0]:<13}level: {level}")
print("first or level:", dict(on_top.most_common(5)))

# %% [markdown] kind="text"
r"""
**The columns do not agree on a winner.** Alone at the top stand only Bahdanau's system, twice, and ConvS2S, twice. The Transformer is first by mean in {result:lesson_18/contest/first by mean/transformer:.0f} of {result:lesson_18/contest/columns:.0f} columns and alone in none; first or level in {result:lesson_18/contest/first or level/transformer:.0f}. The system of 2015: in {result:lesson_18/contest/first or level/bahdanau:.0f}. Some things that we had not expected:

- On 29,000 real captions the Transformer is **not** first. ConvS2S is, and with a beam all its seeds are ahead. (But with every seed the Transformer chose the largest length penalty on offer. A larger one might do it more good; greedy, the two are level.)
- At 21 to 30 words Bahdanau has {result:toy_ladder/bahdanau/scores/long/by_length/21–30/exact:.0%}, the Transformer {result:toy_ladder/transformer/scores/long/by_length/21–30/exact:.0p}; at 31 to 40 it has nothing. Positions are one reason, not all of it ([lesson 11](11_positions.ipynb)).
- {term:alignment error|Alignment error} takes the mean of all layers, which is hard on stacks: the last layer of ConvS2S alone points nearly as well as Bahdanau's one. So "alone" says little there.
- Of language models GRU and LSTM lead without any attention. Attention over an LSTM's last states (`attention_lm`, and with keys and values apart `key_value_lm`, Daniluk and others 2017) stands at {result:toy_language_models/attention_lm/scores/test/perplexity:.1f} to {result:toy_language_models/key_value_lm/scores/test/perplexity:.1f}, the plain LSTM at {result:toy_language_models/lstm_lm/scores/test/perplexity:.1f}.
- The oldest decoders are the fastest on a CPU: they do the least for each word. (Seconds are three timings, not three lots of luck.)
"""

# %% kind="explain" track="core" contents="what to ask before you believe a headline"
explain("18", "museum-headline")

# %% [markdown] kind="text" track="short"
r"""
## 5 · Defend a claim

"The Transformer is best" is not a claim; nobody can test it. A claim names a **system**, the **rivals** it is better than, and the **columns** on which. And an honest one names its **limits**.
"""

# %% kind="diagram" hide_input=true track="core"
views.diagram(
    PARTS, ARROWS, lit=("columns", "rivals", "claim", "limits"),
    title="From runs to a claim",
)

# %% [markdown] kind="text" exercise="defend"
r"""
Your judge takes a claim as data and looks for holes. Each pair of a column and a rival is one comparison.

A claim is a dictionary: `{"system": "bahdanau", "over": ["transformer", "convs2s"], "on": ["depth", "test"]}`.

Go through the columns in `on`, and in each of them through the rivals in `over`. Return a dictionary: `"carried"` is the number of comparisons to which `beats` says "yes", and `"holes"` lists all the others in the order in which you meet them. A hole is a tuple `(column, rival, why)`, where `why` is

- `"not measured"` if the system or the rival isn't in `table[column]`;
- `"open"` if `beats` says "open";
- `"lost"` if `beats` says "no".
"""

# %% kind="exercise" exercise="defend" title="The judge of claims" difficulty=3 importance=5 track="core"
def defend(claim, table, higher):
    """-> {"carried": int, "holes": [(column, rival, why), ...]}"""
    # solution
    carried, holes = 0, []
    for column in claim["on"]:
        for rival in claim["over"]:
            mine = table[column].get(claim["system"])
            theirs = table[column].get(rival)
            if mine is None or theirs is None:
                holes.append((column, rival, "not measured"))
                continue
            verdict = beats(mine, theirs, higher[column])
            if verdict == "yes":
                carried += 1
            elif verdict == "no":
                holes.append((column, rival, "lost"))
            else:
                holes.append((column, rival, "open"))
    return {"carried": carried, "holes": holes}
    # end solution

# %% kind="check" exercise="defend"
check("defend", defend)

# %% [markdown] kind="hints" exercise="defend"
r"""
### A nudge
Two loops, one in the other. Treat what is missing first: `table[column].get(name)` is `None` where there is nothing.

---
### Step by step
Inside: missing → hole "not measured" and `continue`. Else ask `beats(mine, theirs, higher[column])`: "yes" counts, "open" stays "open", "no" becomes "lost".
"""

# %% kind="see" track="core"
defend = yours("defend")
newest = {"system": "transformer", "over": ["bahdanau"], "on": list(COLUMNS)}
verdict = defend(newest, museum, HIGHER)
print("carried:", verdict["carried"], "of", len(COLUMNS))
for column, _, why in verdict["holes"]:
    print(f"  {column:<18}{why}")

# %% [markdown] kind="text" exercise="my_claim"
r"""
That is the claim "newer is better", held against the seeds. Five are carried: real captions under the shared recipe, greedy and with a beam, training time twice, and parameters, which we set ourselves. Now **yours**, about a translator. Return a claim with a fourth entry, `"not_on"`: columns in which your system does *not* beat a rival. It is accepted if

1. it has at least one rival and at least two columns. The system and its rivals are translators (but not `no_residual`), and *parameters* isn't one of the columns, because we set it ourselves;
2. your system beats every rival in every column of `on`;
3. in each column of `not_on` some rival was measured and isn't beaten, and each rival is unbeaten in at least one of them.

Many answers are right. But be honest with yourself: you choose **after** looking. Among some twenty comparisons of equals one falls so by luck. What you defend is a *finding*; a claim it becomes when fresh seeds have tested it.
"""

# %% kind="exercise" exercise="my_claim" title="Defend one claim" difficulty=2 importance=5 track="core"
def my_claim():
    """-> {"system": ..., "over": [...], "on": [...], "not_on": [...]}"""
    # solution
    return {
        "system": "bahdanau",
        "over": ["transformer", "convs2s"],
        "on": ["21 to 30 words", "31 to 40 words"],
        "not_on": ["BLEU beam"],
    }
    # end solution

# %% kind="check" exercise="my_claim"
check("my_claim", my_claim)

# %% [markdown] kind="hints" exercise="my_claim"
r"""
### A nudge
Look at the list above: in which columns is nothing open? Ask `defend` about a system you like, with `"on": list(COLUMNS)`.

---
### Step by step
Take a translator that is *alone* in a column of section 4. Add a second column and see whether your judge finds a hole. For `not_on`, take a column where it does.
"""

# %% [markdown] kind="text" contents="how the order changes when each system gets its own learning rate"
r"""
## 6 · One recipe is a choice, too

"One recipe for all" sounds fair. But a recipe can suit one system better than another. So we let each system choose its learning rate on the validation set (*own rate*), and trained three of them with **R-Drop** (Liang and others, 2021): each sentence is read twice with different dropout, and the two answers are pulled together. We had expected about a point for everybody.

| BLEU, beam | shared recipe | own rate | shared rate and R-Drop |
|---|---|---|---|
| Bahdanau | {result:lesson_18/recipes/shared/bahdanau:.1f} | {result:lesson_18/recipes/own rate/bahdanau:.1f} | **{result:lesson_18/recipes/R-Drop/bahdanau:.1f}** |
| ConvS2S | **{result:lesson_18/recipes/shared/convs2s:.1f}** | **{result:lesson_18/recipes/own rate/convs2s:.1f}** | {result:lesson_18/recipes/R-Drop/convs2s:.1f} |
| Transformer | {result:lesson_18/recipes/shared/transformer:.1f} | {result:lesson_18/recipes/own rate/transformer:.1f} | {result:lesson_18/recipes/R-Drop/transformer:.1f} |

R-Drop gave {result:lesson_18/recipes/R-Drop adds/bahdanau:.1f}, {result:lesson_18/recipes/R-Drop adds/convs2s:.1f} and {result:lesson_18/recipes/R-Drop adds/transformer:.1f}, and the system of 2015 has the best mean. (Level with the Transformer's, by a hair: ask your judge. And R-Drop's weight was chosen on these two only, at a rate that is not ConvS2S's best; "nothing for ConvS2S" is one more finding of one recipe.)

So does the architecture matter? **Attention at all** does. With its own rate every seed of every translator with attention ({result:lesson_18/recipes/with attention/least:.1f} to {result:lesson_18/recipes/with attention/most:.1f} BLEU) is ahead of every one without ({result:lesson_18/recipes/without attention/least:.1f} to {result:lesson_18/recipes/without attention/most:.1f}). Under the shared recipe not even that is carried: one seed of local-p falls among them.
"""

# %% [markdown] kind="text" contents="the paper's ablation table on our data, with three seeds a row"
r"""
## 7 · The paper's table in miniature

An ablation ([lesson 12](12_many_heads.ipynb)) takes out or changes one part. There the model stayed as it was; here it is **trained again**. Table 3 of *Attention Is All You Need* does it on English to German: 4.5 million sentence pairs, no seeds told. We did it on 29,000 captions, three seeds a row (`ablation`), {result:lesson_18/ablation/rows:.0f} rows, all shown. Changes in BLEU against the base model, the paper's on its development set, ours on the test set with a beam. (The paper's base has 8 heads, 6 layers and width 512, ours 4, 4 and 256; so "d_model 128", half of ours, stands beside half of theirs, and so for d_ff.)
"""

# %% kind="see"
paper = {
    "(A) 1 head": -0.9, "(A) 16 heads": 0.0, "(B) d_k 16": -0.7, "(B) d_k 32": -0.4,
    "(C) 2 layers": -2.1, "(C) d_model 128": -1.3, "(C) d_ff 512": -0.4,
    "(C) d_ff 2048": 0.4, "(D) no dropout": -1.2, "(D) no smoothing": -0.5,
    "(D) smoothing 0.2": -0.1, "(E) learned positions": -0.1,
}
rows = {
    name: [run["scores"]["test"]["beam"] for run in runs]
    for name, runs in runs_of("ablation").items()
}
base = rows.pop("base")
print(f"{'row':<24}{'paper':>7}{'ours':>7}   beats the base?")
for name, seeds in rows.items():
    theirs = f"{paper[name]:+.1f}" if name in paper else "-"
    ours = round(mean(seeds) - mean(base), 1) + 0.0
    print(f"{name:<24}{theirs:>7}{ours:>+7.1f}   {beats(seeds, base, True)}")

# %% [markdown] kind="text"
r"""
Read the last column first. "no": the change hurts, with every seed. "open": three seeds cannot tell.

> {result:lesson_18/ablation/rows:.0f} comparisons, {result:lesson_18/ablation/losing:.0f} times "no". Were all rows as good as the base, luck would still say it about once ({result:lesson_18/ablation/rows:.0f}/20). Which "no" would you distrust?

*6 layers*: it loses by {result:lesson_18/ablation/margin of 6 layers:.3f} BLEU, seed against seed, and is open when decoding is greedy. Dropout is beyond doubt, and worth far more here than there: little data overfits. *16 heads* lose as much as *d_k 16* does: at width 256 they have just that, where the paper's still have 32. One head costs 0.9 there, nothing we could measure on captions, and a point or two on the toy language (lesson 12). The paper shows no seeds, so whether its −0.1 is anything, nobody can know.

**One row live:** a narrower model, as in row (C). Three seeds each, 40 small steps, on 1,100 short toy sentences: ten seconds to a minute. It can show whether a narrow model learns *more slowly at the start*. It cannot show which is better in the end, nor on real text.
"""

# %% kind="code"
pairs = generate(1200, seed=18, length=(3, 8))
english, french = [p.src_text for p in pairs], [p.tgt_text for p in pairs]
words = WordTokenizer.from_texts([*english, *french])
training = encode_corpus(english[:1100], french[:1100], words)
unseen = encode_corpus(english[1100:], french[1100:], words)


def retrain(name, seed=0, steps=40, **sizes):
    """Any translator, trained for a few steps: its loss on unseen pairs."""
    config = make_config(name, scale="toy", vocab_size=words.vocab_size)
    torch.manual_seed(seed)
    model = build(name, replace(config, **sizes))
    recipe = Recipe(
        n_steps=steps, tokens_per_batch=256, learning_rate=5e-3, warm_up=10, seed=seed,
        validate_every=steps,
    )
    return train(model, training, recipe, validation=unseen).history.best.loss

# %% kind="train" ignore_output=true
small = {"n_layers": 2, "dropout": 0.0}
wide = [retrain("transformer", seed, d_model=64, **small) for seed in range(3)]
narrow = [retrain("transformer", seed, d_model=16, **small) for seed in range(3)]
print("d_model 64:", fixed(wide, 2))
print("d_model 16:", fixed(narrow, 2))
assert beats(narrow, wide, False) == "no"

# %% [markdown] kind="text"
r"""
Every narrow seed is behind every wide one. (On a machine with 16 other cores and an H200 this cell and the next printed what is stored here, to the last digit shown: `gpu/lessons.txt`. Models as small as these stay on the CPU.) With `n_heads=1` for `d_model=16` you will most likely get "open", as on the captions.

**Any row again.** The same call trains any translator, here for twenty steps. A row's full run has 4,000 steps of 1,024 tokens: in the record {result:min toy_ladder/transformer/seconds:.0f} to {result:max toy_ladder/transformer/seconds:.0f} seconds for the Transformer and {result:min toy_ladder/lstmn_deep/seconds:.0f} to {result:max toy_ladder/lstmn_deep/seconds:.0f} for the deep LSTMN (15 runs at a time on one H200), on two CPU cores some minutes. From a terminal: `python3 -m course_lib train bahdanau --seed 1`, with `--data multi30k` on real sentences.
"""

# %% kind="train" ignore_output=true
name = "bahdanau"  # or luong_dot, lstmn_deep, convs2s, rctm ...
print(name, fixed(retrain(name, steps=20), 2))

FULL = False  # True: the whole row, 4,000 steps on all 20,000 toy sentences
if FULL:
    whole = run_job(Job(system=name, seed=0, folder=f"runs/toy_{name}_0"), log=print)
    print(evaluate(whole.model, whole.data.tokenizer, splits(seed=0).test).exact)

# %% kind="quiz"
quiz("18", "ablation")

# %% [markdown] kind="text" contents="how nine systems can be made first without lying"
r"""
## Break it

How does one win without being better? Choose afterwards: the column, your best seed, and for the rivals their worst.

> **Before you run it:** {result:lesson_18/translating rows:.0f} rows translate (14 systems, and the Transformer without residual paths). How many of them can be made "first" that way, in some column but *parameters*?
"""

# %% kind="break"
def first_by_choice(system, column):
    """Its best seed against the worst seeds of all others."""
    best, worst = (max, min) if HIGHER[column] else (min, max)
    rivals = {name: [worst(s)] for name, s in museum[column].items() if name != system}
    mine = [best(museum[column][system])]
    return all(beats(mine, seed, HIGHER[column]) == "yes" for seed in rivals.values())


translating = [c for c in COLUMNS if COLUMNS[c].task in (TOY, REAL)]
translating.remove("parameters")
made_first = {}
for column in translating:
    for system in museum[column]:
        if first_by_choice(system, column):
            made_first.setdefault(system, []).append(column)
for system, columns in made_first.items():
    print(f"{system:<22}{', '.join(columns[:3])}{' …' if len(columns) > 3 else ''}")
print(len(made_first), "of", len(museum["test"]))

# %% [markdown] kind="text"
r"""
Nine of fifteen. None of these numbers is wrong; each was measured. Wrong is to choose the question after seeing the answers. The cure is to write down **before** the run what is compared, on which columns and with how many seeds. That is lesson 19.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself

The first try counts for your score; every answer gets a reason.
"""

# %% kind="quiz"
quiz("18", "closing")

# %% [markdown] kind="text" track="short"
r"""
## 8 · Now read the paper

You know every part of *Attention Is All You Need* now. It has some ten pages of text; take an evening (it is not in this lesson's minutes). Read it with this table beside it: what to look for, and one question each.

| section of the paper | lesson | look for | ask yourself |
|---|---|---|---|
| Abstract, 1 Introduction | 02, 04, 06 | what recurrence prevents | Recurrence goes step by step, and words lie far apart. Which did attention alone not cure? |
| 2 Background | 05, 09, 18 | steps between two positions in ConvS2S | Who had self-attention before? |
| 3 · 3.1 Encoder and decoder stacks | 13, 14 | where the norm stands | Post-norm: what would our 12 layers have done? |
| 3.2.1 Scaled dot-product attention | 07, 08 | the footnote on variance | Why the root of $d_k$, and not $d_k$? |
| 3.2.2 Multi-head attention | 12 | $h = 8$, $d_k = 64$ | What do 8 heads cost beside one? |
| 3.2.3 Applications of attention | 06, 10, 14 | three uses, one function | Who asks, and who is asked, in each? |
| 3.3 Position-wise feed-forward | 13 | "same across positions" | Where do words meet here? |
| 3.4 Embeddings and softmax | 14 | one shared matrix, and $\sqrt{d_{model}}$ | How many parameters does sharing save? |
| 3.5 Positional encoding | 11 | the reason for sinusoids | Did ours carry to longer sentences? |
| 4 Why self-attention | 05, 17 | Table 1, three columns | When is $n$ below $d$? |
| 5.1 to 5.3 Data, hardware, optimiser | 15 | batches by length; 4,000 steps of warm-up | What does the rate do after the warm-up? |
| 5.4 Regularisation | 13, 15 | dropout, label smoothing | Why may perplexity rise while BLEU improves? |
| 6.1 Machine translation | 16 | Table 2, beam of 4, averaged checkpoints | How many seeds does each row rest on? |
| 6.2 Model variations | 12, 18 | Table 3 | Which rows would survive `beats`? |
| 6.3 Constituency parsing | none | a second task | What does it add to the claim? |
| 7 Conclusion | 17, 19 | what they planned | Which of it came true? |

<details><summary>Short answers</summary>

- **1.** The first: with attention the recurrent decoder still goes step by step.
- **2.** {term:LSTMN} and {term:structured self-attention}, among others.
- **3.1.** With our default initialisation, nothing: 0% with any seed. With smaller initial weights, it learns (lesson 13).
- **3.2.1.** The dot product's variance is $d_k$, so its standard deviation is the root.
- **3.2.2.** As many parameters and multiplications; 8 times as many weights to hold.
- **3.2.3.** Source asks source; what is said asks what was said before; what is said asks the source.
- **3.3.** Nowhere: each position is alone.
- **3.4.** One matrix for three: 37,000 · 512, some 19 million, saved twice.
- **3.5.** Hardly: {result:toy_ladder/transformer/scores/long/by_length/21–30/exact:.0%} at 21 to 30 words.
- **4.** In sentences nearly always: some 30 words against 512.
- **5.1–5.3.** It falls, as one over the root of the step.
- **5.4.** The model is to be less sure, so perplexity rises; which word is first may improve all the same.
- **6.1, 6.2.** It is not told. So nobody can ask `beats`.
- **6.3.** That it works on more than translation.
- **7.** Images and sound, yes; attention to a part only, yes; writing less step by step, hardly.

</details>
"""

# %% [markdown] kind="instructor"
r"""
**Bet before the leaderboard (2 min).** "In how many of {result:lesson_18/contest/columns:.0f} columns is the Transformer first alone?" Usual answer: in most. In none; by mean it is first in {result:lesson_18/contest/first by mean/transformer:.0f}.

**Let them defend claims against each other (8 min).** One states a claim, the neighbour looks for a column that breaks it. Good ones: "Bahdanau over the Transformer on sentences longer than in training"; "ConvS2S over the Transformer on Multi30k with a beam, but not with R-Drop".

| they say | what it is | answer |
|---|---|---|
| "{result:toy_ladder/transformer/scores/test/exact:.1p} is more than {result:toy_ladder/luong_concat/scores/test/exact:.1p}, so it is better" | means | Show the seeds: {result:lesson_18/test/transformer/0:.1f}, {result:lesson_18/test/transformer/1:.1f}, {result:lesson_18/test/transformer/2:.1f} against {result:lesson_18/test/luong_concat/0:.1f}, {result:lesson_18/test/luong_concat/1:.1f}, {result:lesson_18/test/luong_concat/2:.1f} (Luong, concat). |
| "then seeds prove nothing" | the other ditch | 21 to 30 words: {result:min toy_ladder/bahdanau/scores/long/by_length/21–30/exact:.0p} to {result:max toy_ladder/bahdanau/scores/long/by_length/21–30/exact:.0p} against {result:min toy_ladder/luong_concat/scores/long/by_length/21–30/exact:.0p} to {result:max toy_ladder/luong_concat/scores/long/by_length/21–30/exact:.0p}. Nothing is mixed up there. |
| "BLEU {result:lesson_18/recipes/shared/convs2s:.0f} beats the 28 in the paper" | M48 | Other data, other language, other tokens: not comparable. |

**If time is short**, leave out the test of `beats` and section 6; keep the judge and the claim, and give the reading guide as homework.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | what it is |
|---|---|
| `beats` | "yes" only if every seed of one is ahead of every seed of the other |
| `leaders` | for each column the first by mean, and all that are level with it |
| `defend` | holds a claim against the table, and lists its holes |
| `museum[column][system]` | three numbers, one for each seed |

- The columns do not agree on a winner. The Transformer is alone in none of {result:lesson_18/contest/columns:.0f}; first or level in {result:lesson_18/contest/first or level/transformer:.0f}, Bahdanau's system in {result:lesson_18/contest/first or level/bahdanau:.0f}.
- On 29,000 real sentences ConvS2S is first under two recipes of three; R-Drop changes the order.
- A claim names system, rivals, columns and limits. What the seeds leave open is open; what was found afterwards is a finding.
- ConvS2S looks at the source in every layer, each look knowing the last.

**Still missing.** A claim of which nobody knows the answer yet: yours, in lesson 19.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani and others, *Attention Is All You Need* (2017), with the table of section 8. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Kalchbrenner and Blunsom, *Recurrent Continuous Translation Models* (2013), section 3: how convolutions reduce a sentence to one vector. [ACL D13-1176](https://aclanthology.org/D13-1176/)
- Gehring and others, *Convolutional Sequence to Sequence Learning* (2017), section 3. [arXiv 1705.03122](https://arxiv.org/abs/1705.03122)
- Liang and others, *R-Drop: Regularized Dropout for Neural Networks* (2021). [arXiv 2106.14448](https://arxiv.org/abs/2106.14448)
- `course_lib/models/registry.py`: every system with its year and paper; `data/results/README.md`: every number, and what had been expected.
"""
