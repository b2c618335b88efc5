# Lesson 18 · the source. Edit this file, then run `python3 -m course_lib build 18`; the notebook is made from it.

# %% [markdown] kind="title" part="IV · Judging claims"
r"""
# 18 · Comparing systems

**The question:** which of these systems is best, and by how much?

About {minutes} minutes. You need the paired bootstrap from [lesson 16](16_decoding.ipynb); the full lesson also uses {term:BLEU score|BLEU} and beam search.
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **decide** what three runs show about two systems, and what they don't;
2. **combine** runs with an interval over test sentences; <!-- core -->
3. **test** a claim against a table of results, and **state** its limits; <!-- core -->
4. **read** an ablation table, the Transformer paper's and ours; <!-- core -->
5. **read** *Attention Is All You Need* with a guide to every section (after the lesson).
"""

# %% [markdown] kind="instructor"
r"""
**Open with (2 min)** "Which system of this course is the best?" Let everyone commit to one, and write the counts on the board. Then ask: "Best at what? How do you know?"

**If time is short,** leave out sections 2 and 7. Keep the claim in section 6.
"""

# %% kind="setup"
from collections import Counter
from statistics import mean

import torch

from course_lib.formatting import fixed
from course_lib.teaching import check, explain, predict, quiz, start_lesson, yours
from course_lib.text import TEST_SIZES, generate, splits
from course_lib.translation import bleu_of_rows, load_shipped, translate
from lessons.l18_the_museum import COLUMNS, COSTS, HIGHER, REAL, TOY, Leaderboard
from lessons.l18_the_museum import key_picture, runs_of, sentences_of, table

start_lesson("the_museum", seed=18)

# %% [markdown] kind="text"
r"""
These are seven of our translators. Each was trained three times, with nothing changed but the random seed.
"""

# %% kind="picture" name="key picture" hide_input=true
key_picture.draw()

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("18", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · Equal conditions

Most systems in this course were published with their own data, size and tricks. Some of the published numbers can be compared, but they don't show whether the architecture or one of these made the difference. We therefore trained **all of them again** under the same conditions:

- **Tasks:** English to our toy French, German to English photo captions (Multi30k), and next-word prediction for the language models.
- **Size:** within 10% of 400,000 parameters for the toy translators, 9.4 million on Multi30k and 120,000 for the language models (except the n-gram model).
- **Training:** the same hyperparameters for all systems on a task (lesson 15).
- **Seeds:** three runs with different {term:random seed|random seeds}, which determine the initial weights, the order of the sentences and dropout.
"""

# %% [markdown] kind="text" track="core" contents="how BLEU is computed here"
r"""
On Multi30k, the score is {term:BLEU score|BLEU}. BLEU scores are comparable only if they were computed in the same way, and the *signature* of sacreBLEU records how. Ours is the same for all runs: one reference per sentence (`nrefs:1`), everything in lower case (`case:lc`), and sacreBLEU's default tokeniser (`tok:13a`).
"""

# %% [markdown] kind="text" contents="RCTM and ConvS2S, two translators made of convolutions"
r"""
## 2 · Two systems you haven't met

**RCTM** (Kalchbrenner and Blunsom, 2013; we mean its first version, RCTM I) is a year older than the encoder–decoders of [lesson 04](04_encoder_decoder.ipynb). A stack of convolutions without padding reduces the source sentence to a single vector, from which a plain RNN generates the translation. In our three runs, it translates {result:each toy_ladder/rctm/scores/test/exact:.1%} of the test sentences correctly. The next cell translates 200 pairs of sentences that differ only in their last word, which determines whether *it* becomes *il* or *elle*. In how many pairs do both get the same translation?
"""

# %% kind="example" name="rctm"
sources = [pair.src_text for pair in splits(sizes=TEST_SIZES).coreference]
for name in ("rctm", "seq2seq"):
    system = load_shipped(name)
    outputs = translate(sources, system.model, system.tokenizer)
    french = [output.target for output in outputs]
    same = sum(a == b for a, b in zip(french[::2], french[1::2], strict=True))
    print(f"{name:<8} {same:>3} of {len(french) // 2} pairs have the same translation")

# %% [markdown] kind="text"
r"""
In most pairs, our RCTM ignores the last word altogether. Our seq2seq model never does, though it still gets some pronouns wrong: its three runs average {result:toy_ladder/seq2seq/scores/coreference/pronouns:.0%} correct. We don't know why RCTM ignores it: the two models differ in several ways.

**ConvS2S** (Gehring et al., 2017) appeared a month before the Transformer and has no recurrence either. Its encoder and decoder consist of gated convolutions with residual connections. **Every layer of the decoder attends to the source** with a single head, and the result is added to the layer's output, so later layers can use what earlier ones found. The authors call this {term:multi-step attention}. Let's set the result of one layer's attention (cross 0, 1 or 2) to 0 and translate 100 sentences:
"""

# %% kind="example" name="convs2s"
convs2s = load_shipped("convs2s")
pairs = generate(100, seed=18, length=(3, 12))
english = [pair.src_text for pair in pairs]


def attend_to_nothing(module, inputs):
    """A hook in front of a layer: zeros instead of its input."""
    return torch.zeros_like(inputs[0])


for layer in (None, 0, 1, 2):
    ablated = [] if layer is None else [convs2s.model.attention[layer].to_hidden]
    hooks = [m.register_forward_pre_hook(attend_to_nothing) for m in ablated]
    outputs = translate(english, convs2s.model, convs2s.tokenizer)
    right = sum(a.target == b.tgt_text for a, b in zip(outputs, pairs, strict=True))
    name = "intact" if layer is None else f"without cross {layer}"
    print(f"{name:<16}{right} of 100")
    for hook in hooks:
        hook.remove()

# %% [markdown] kind="text"
r"""
The model relies on the attention of all three layers, and most of all on the last. But does the attention of the earlier layers tell the last one *where* to attend? With cross 0 and cross 1 both ablated, cross 2 still gives the largest attention weight to the same word in {result:lesson_18/cross 2 unchanged:.0%} of the positions. So in this model, hardly.
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min)** before you read on. Write the two means on the board. "Would you believe the friend? What would you ask for?" Expected: the single runs, their number, the sentences.

| they say | misconception | answer |
|---|---|---|
| "{result:toy_ladder/transformer/scores/test/exact:.1p} is more than {result:toy_ladder/luong_concat/scores/test/exact:.1p}, so it is better" | M52 | Show the runs: {result:lesson_18/test/transformer/0:.1f}, {result:lesson_18/test/transformer/1:.1f} and {result:lesson_18/test/transformer/2:.1f}, compared with {result:lesson_18/test/luong_concat/0:.1f}, {result:lesson_18/test/luong_concat/1:.1f} and {result:lesson_18/test/luong_concat/2:.1f} for Luong's system with concat scores. |
| "then they are equally good" | M53 | "No clear difference" means that these runs don't settle it. Show how often the rule misses a true difference. |
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · What three runs show

A friend tells you: "My Transformer translates {result:toy_ladder/transformer/scores/test/exact:.1%} of the test sentences correctly, and your Bahdanau system only {result:toy_ladder/bahdanau/scores/test/exact:.1%}. Mine is better." Look at the runs: {result:lesson_18/test/transformer/0:.1f}, {result:lesson_18/test/transformer/1:.1f} and {result:lesson_18/test/transformer/2:.1f} for the Transformer, {result:lesson_18/test/bahdanau/0:.1f}, {result:lesson_18/test/bahdanau/1:.1f} and {result:lesson_18/test/bahdanau/2:.1f} for Bahdanau. Two of your runs beat the friend's second one. The distance between the best and the worst run is the {term:spread over seeds}. For Bahdanau's system, it's larger than the difference between the means.

Our rule asks for more than a better mean. **A is better than B if every run of A beats every run of B**, with three runs each or more, and, where results for single sentences were recorded, the 95% interval of a paired bootstrap over runs and sentences excludes 0. Otherwise there is **no clear difference**. The rule has its limits:

- **False alarms** (*false positives*). If A and B were equally good, with the same spread, the runs would still favour A in 1 of 20 cases: there are 20 ways to choose which three of six runs are A's, and in one of them A has the best three. Counting both directions, they favour one of the two in 1 of 10 cases. So if you compare many pairs, some results will be due to chance. This is the problem of {term:multiple comparisons}.
- **Misses** (*false negatives*). Suppose that results are normally distributed over runs, and that A really is better, by one standard deviation. Then the runs show this in only {result:lesson_18/true lead seen/1:.0%} of the cases, and a difference twice as large in {result:lesson_18/true lead seen/2:.0%}. So "no clear difference" doesn't mean that two systems are equally good.
- **One test set.** All runs translate the same sentences. The paired bootstrap from lesson 16 estimates how much the choice of sentences matters.
- **The number of runs.** With more runs, the rule gets stricter: false alarms become rarer, and misses more common. So fix the number in advance. With many runs, you would compare the means instead, with an interval over the runs.

In a paper, you'd read that the {term:statistical power|power} of this test is {result:lesson_18/true lead seen/1:.0%} for a difference of one standard deviation. With three runs each, "every run is better" is the most extreme outcome of the *Mann–Whitney test*, with a one-sided {term:p-value} of 1/20. A result is often called *statistically significant* if its p-value is below 0.05, which 1/20 just misses.
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** Only two numbers of each list matter: its worst and its best. An equal number isn't better.

**They say:** "Three runs never prove anything." **Answer:** Sometimes they settle it. At 21 to 30 words, it's {result:min toy_ladder/bahdanau/scores/long/by_length/21–30/exact:.0p} to {result:max toy_ladder/bahdanau/scores/long/by_length/21–30/exact:.0%} for Bahdanau, {result:min toy_ladder/luong_concat/scores/long/by_length/21–30/exact:.0p} to {result:max toy_ladder/luong_concat/scores/long/by_length/21–30/exact:.0%} for Luong's system with concat scores.
"""

# %% [markdown] kind="text" exercise="beats"
r"""
Write the rule for runs as a function. `one` and `other` are lists with one number per run. Both have at least one number, but their lengths can differ. `higher` says whether larger numbers are better. Return `"better"` if every run of `one` beats every run of `other`, `"worse"` if every run of `other` beats every run of `one`, and otherwise `"no clear difference"`. Equal numbers aren't better.
"""

# %% kind="exercise" exercise="beats" title="Is it better?" difficulty=2 importance=5 track="core"
def beats(one, other, higher):
    """lists of numbers, bool  ->  "better", "worse" or "no clear difference" """
    # solution
    if not higher:
        one, other = [-x for x in one], [-x for x in other]
    if min(one) > max(other):
        return "better"
    if min(other) > max(one):
        return "worse"
    return "no clear difference"
    # end solution

# %% kind="check" exercise="beats"
check("beats", beats)

# %% [markdown] kind="hints" exercise="beats"
r"""
### Where to start
You don't need to compare all pairs. Which run of `one` has to be compared with which run of `other`?

---
### Step by step
If larger is better, compare the worst run of `one` with the best run of `other`, and then the other way round. If smaller is better, you can change the sign of all numbers first.
"""

# %% [markdown] kind="text" contents="the paired bootstrap on real captions, averaged over three runs"
r"""
## 4 · Runs and sentences

On the captions, every run of ConvS2S beats every run of the Transformer and of Bahdanau's system. But all of them translated the same 1,000 sentences. The paired bootstrap resamples the sentences and shows how much the difference depends on them. `sentences_of` returns six counts for each sentence and run, from which `bleu_of_rows` computes BLEU. The score below is the mean BLEU of the three runs.

> **Before you run it:** ConvS2S has a mean BLEU of {result:multi30k_ladder/convs2s/scores/test/beam:.1f} with beam search, the Transformer {result:multi30k_ladder/transformer/scores/test/beam:.1f} and Bahdanau's system {result:multi30k_ladder/bahdanau/scores/test/beam:.1f}. Will the intervals for the differences contain 0?
"""

# %% [markdown] kind="instructor"
r"""
**They say:** "BLEU {result:lesson_18/configurations/shared/convs2s:.0f} beats the 28 in the paper" (M48). **Answer:** Other data, another language pair and another tokenisation: the scores aren't comparable.
"""

# %% kind="see" name="intervals"
paired_bootstrap = yours("paired_bootstrap")


def bleu_over_runs(rows):
    """rows (sentences, runs, 6)  ->  the mean BLEU of the runs"""
    return bleu_of_rows(rows.transpose(0, 1)).mean()


def show_interval(column, one, other):
    rows = sentences_of(column, one), sentences_of(column, other)
    low, high = paired_bootstrap(*rows, bleu_over_runs)
    print(f"{column}, {one} minus {other}: {fixed(low, 1)} to {fixed(high, 1)}")


show_interval("BLEU beam", "convs2s", "transformer")
show_interval("BLEU beam", "convs2s", "bahdanau")

# %% [markdown] kind="text"
r"""
Neither interval contains 0, so the sentences support what the runs say: ConvS2S is better than both. The rule's own interval also draws the runs again, so it's wider. Where results weren't recorded sentence by sentence, only the runs count. That applies to the columns that aren't averages over sentences, such as the alignment error and the costs, and to a Transformer without residual connections, which you'll meet in section 5.
"""

# %% [markdown] kind="text" contents="the leaderboard, and which systems are worse than none"
r"""
## 5 · Which system is best?

All the results are in one table, a {term:leaderboard}. `results[column][system]` is a list with one number per run, and `HIGHER[column]` says whether larger is better. A column is one set of sentences (long, deeply nested, *recombination* with new combinations of words), one {term:phenomenon} such as negation or pronouns, one way to measure BLEU, another measure such as the alignment error, or a cost. Section 7 explains *own rate* and *R-Drop*. The row *no_residual* is a Transformer without residual connections (lesson 13).
"""

# %% kind="code"
results, beats = table(), yours("beats")
print(f"{'column':<16}{'better':<8}{'unit':<11}")
for name, column in COLUMNS.items():
    better = "higher" if column.higher else "lower"
    print(f"{name:<16}{better:<8}{column.unit:<11}{column.description}")

# %% [markdown] kind="text"
r"""
In the explorable, each dot is a run. The verdicts follow the rule, with sentences where they were recorded.
"""

# %% [markdown] kind="instructor"
r"""
**Bet before the leaderboard (2 min).** "In how many of {result:lesson_18/contest/columns:.0f} columns is the Transformer better than all others?" The usual answer is "in most". It is none, although it has the best mean in {result:lesson_18/contest/first by mean/transformer:.0f}.
"""

# %% kind="predict"
predict("18", "museum-alone-2017", Leaderboard())

# %% [markdown] kind="text"
r"""
Now all {result:lesson_18/contest/columns:.0f} columns at once, by runs. There are two ways to count: in how many columns a system is **worse than none**, and **how many it is better than** on average. The first number alone would be misleading, because a system whose runs vary widely is rarely worse.
"""

# %% kind="see" name="contest"
aside = (*COSTS, "1 to 5 words", "BLEU R-Drop")
contest = [c for c in COLUMNS if COLUMNS[c].task in (TOY, REAL) and c not in aside]
never_worse, better_than = Counter(), {}
for column in contest:
    runs = results[column]
    for system in runs:
        verdicts = [beats(runs[system], runs[rival], HIGHER[column]) for rival in runs]
        never_worse[system] += "worse" not in verdicts
        better_than.setdefault(system, []).append(verdicts.count("better"))
print(f"{'':<16}{'worse than none in':<20}better than, on average")
for system, n in never_worse.most_common(6):
    of, average = len(better_than[system]), mean(better_than[system])
    print(f"{system:<16}{n:>2} of {of} columns    {average:.1f} systems")

# %% [markdown] kind="text"
r"""
**The columns don't agree on the best system.** By runs, Bahdanau's system of 2015 is better than all others in *21 to 30 words* and in *alignment error*, ConvS2S in the three BLEU columns, and the Transformer in none. In *BLEU greedy*, the sentences leave no clear difference between ConvS2S and the Transformer. These counts aren't votes, because the columns aren't independent: the three BLEU columns share their test set, and two of them their runs; *negation*, *questions* and *16 to 20 words* are parts of *test*. Two results surprised us:

- On sentences of 21 to 30 words, longer than any in training, Bahdanau's system translates {result:toy_ladder/bahdanau/scores/long/by_length/21–30/exact:.0%} correctly and the Transformer {result:toy_ladder/transformer/scores/long/by_length/21–30/exact:.0%}. [Lesson 11](11_positions.ipynb) examines positional encodings as a possible reason.
- Two language models without attention, GRU and LSTM, are better than all those with attention on our short toy sentences, the Transformer only just: their perplexities are {result:toy_language_models/gru_lm/scores/test/perplexity:.2f} and {result:toy_language_models/lstm_lm/scores/test/perplexity:.2f}, compared with {result:toy_language_models/transformer_lm/scores/test/perplexity:.2f}.

**A ceiling hides differences.** We left out *1 to 5 words*: {result:lesson_18/ceiling/1 to 5 words:.0f} of {result:lesson_18/translating rows:.0f} systems score 98 to 100% there. A column in which many systems are at the ceiling can't rank them, however many runs it has.
"""

# %% [markdown] kind="text" contents="a function that looks for holes in a claim, and a claim of your own"
r"""
## 6 · Defend a claim

"The Transformer is best" can't be tested. A testable claim names a **system**, the **rivals** that it is better than, and the **columns** in which it is better. An honest one also names its **limits**. As data, a claim is a dictionary such as `{"system": "bahdanau", "over": ["transformer", "convs2s"], "on": ["depth", "test"]}`. The function `defend` lists its holes: all comparisons for which `beats`, which looks only at runs, doesn't return "better". You can write it or use the library's version. Below, we look for holes in "newer is better": the Transformer over Bahdanau's system, in all columns.
"""

# %% [markdown] kind="text" exercise="defend"
r"""
`table` and `higher` have the form of `results` and `HIGHER`. Go through the columns in `claim["on"]`, and in each of them through the rivals in `claim["over"]`. Return a list of all comparisons for which `beats` doesn't return "better", in the order in which you meet them, as tuples `(column, rival, reason)`. The reason is what `beats` returns, `"no clear difference"` or `"worse"`, or `"not measured"` if the system or the rival isn't in `table[column]`.
"""

# %% kind="exercise" exercise="defend" title="Look for holes in a claim" difficulty=2 importance=3 track="stretch"
def defend(claim, table, higher):
    """-> [(column, rival, reason), ...]"""
    # solution
    holes = []
    for column in claim["on"]:
        for rival in claim["over"]:
            mine = table[column].get(claim["system"])
            theirs = table[column].get(rival)
            reason = "not measured"
            if mine is not None and theirs is not None:
                reason = beats(mine, theirs, higher[column])
            if reason != "better":
                holes.append((column, rival, reason))
    return holes
    # end solution

# %% kind="check" exercise="defend"
check("defend", defend)

# %% [markdown] kind="hints" exercise="defend"
r"""
### Where to start
You need two nested loops. Deal with missing results first: `table[column].get(name)` returns `None` if there are none.

---
### Step by step
In the inner loop, the reason is `"not measured"` if one of the two is missing, and otherwise what `beats(mine, theirs, higher[column])` returns. Append the tuple unless the reason is `"better"`.
"""

# %% kind="see" name="newer"
defend = yours("defend")
newer = {"system": "transformer", "over": ["bahdanau"], "on": list(COLUMNS)}
holes = defend(newer, results, HIGHER)
reasons = {column: reason for column, _, reason in holes}
print("every run better:", ", ".join(c for c in COLUMNS if c not in reasons))
for wanted in ("worse", "no clear difference", "not measured"):
    print(f"{wanted}:", ", ".join(c for c in reasons if reasons[c] == wanted))

# %% [markdown] kind="text"
r"""
`beats` looks only at runs. With the sentences, there is no clear difference on *BLEU greedy* and *BLEU beam*, although every run of the Transformer is better. The next check counts sentences, too.
"""

# %% [markdown] kind="instructor"
r"""
**Let them defend claims against each other (8 min).** One states a claim, the neighbour looks for a hole. Good claims: "Bahdanau over the Transformer on sentences longer than in training"; "ConvS2S over the Transformer on Multi30k with beam search, but not with R-Drop".

**Stuck?** The verdict names the comparison that doesn't support the claim. Use fewer rivals first; a claim about one rival and two columns is enough.
"""

# %% [markdown] kind="text" exercise="my_claim"
r"""
Now make **your own claim** about a translator, with a fourth entry, `"not_on"`: columns in which your system is *not* better than a rival. Return it as a dictionary. It's accepted if

1. `over` has at least one rival and `on` at least two columns; *no_residual*, which is broken on purpose, isn't allowed, nor is *parameters* in `on`, which we set ourselves;
2. your system is better than every rival in every column of `on`, with sentences where they were recorded;
3. each column of `not_on` has at least one rival that was measured there and that your system isn't better than, and every rival has at least one such column.

There are many correct answers. But you're choosing **after** seeing the results. By runs alone, one of two equally good systems comes out better in 1 of 10 comparisons, and you can choose from {result:lesson_18/comparisons:,.0f}. So what you have is a *finding*. It needs new runs and new sentences before you can call it confirmed.
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
### Where to start
Choose a system that is first in some column of the explorable. Call `defend` with a claim about this system, one rival and `"on": list(COLUMNS)`.

---
### Step by step
Put columns that don't appear among the holes into `on`, and one that appears with "no clear difference" or "worse" into `not_on`. If the check says that the sentences don't agree in a column, move it to `not_on`.
"""

# %% kind="explain" track="stretch" contents="what to ask before you believe a headline"
explain("18", "museum-headline")

# %% [markdown] kind="text" contents="how the order changes with other learning rates and with R-Drop"
r"""
## 7 · The training configuration is a choice, too

Hyperparameters that suit one system may not suit another. So we also let each system choose its learning rate from five values, on the validation set with one run each (*own rate*). For {result:lesson_18/rates/inside the grid:.0f} of {result:lesson_18/rates/systems:.0f} systems, the best rate is neither the smallest nor the largest. Luong's concat chose the largest, with no gain on the test set.

We also trained three systems at the shared rate with **R-Drop** (Liang et al., 2021): each batch goes through the model twice with different dropout, and an additional loss pulls the two predictions together.

| BLEU, beam | shared hyperparameters | own rate | shared, with R-Drop |
|---|---|---|---|
| Bahdanau | {result:lesson_18/configurations/shared/bahdanau:.1f} | {result:lesson_18/configurations/own rate/bahdanau:.1f} | {result:lesson_18/configurations/R-Drop/bahdanau:.1f} |
| ConvS2S | {result:lesson_18/configurations/shared/convs2s:.1f} | {result:lesson_18/configurations/own rate/convs2s:.1f} | {result:lesson_18/configurations/R-Drop/convs2s:.1f} |
| Transformer | {result:lesson_18/configurations/shared/transformer:.1f} | {result:lesson_18/configurations/own rate/transformer:.1f} | {result:lesson_18/configurations/R-Drop/transformer:.1f} |

With R-Drop, every run of Bahdanau's system beats every run of the other two.

> **Before you run it:** is Bahdanau's system better with R-Drop? And is ConvS2S still better when each system has its own learning rate?
"""

# %% kind="see" name="configurations"
show_interval("BLEU own rate", "convs2s", "transformer")
show_interval("BLEU own rate", "convs2s", "bahdanau")
show_interval("BLEU R-Drop", "bahdanau", "transformer")
show_interval("BLEU R-Drop", "convs2s", "bahdanau")

# %% [markdown] kind="text"
r"""
When each system has its own learning rate, ConvS2S is still better than both. With R-Drop, it no longer is, and there is **no clear difference** between Bahdanau's system and the other two: all runs agree, but other sentences could reverse the order. The interval for ConvS2S minus Bahdanau started at {printed:intervals/convs2s minus bahdanau} BLEU with shared hyperparameters, and ends at {printed:configurations/BLEU R-Drop, convs2s minus bahdanau/2} with R-Drop. These intervals don't overlap, so the comparison depends on the training configuration. We also chose the weight of the R-Drop loss without trying it on ConvS2S.

One result is clearer. With their own learning rates, every run of every translator with attention ({result:lesson_18/configurations/with attention/least:.1f} to {result:lesson_18/configurations/with attention/most:.1f} BLEU) beats every run of those without ({result:lesson_18/configurations/without attention/least:.1f} to {result:lesson_18/configurations/without attention/most:.1f}). With shared hyperparameters, there is one exception: a run of Luong's local-p that trained badly, with {result:min multi30k_ladder/luong_local_p/scores/test/beam:.1f} BLEU, is below the best run without attention, {result:max multi30k_ladder/rnn_encoder_decoder/scores/test/beam:.1f}.
"""

# %% [markdown] kind="text" contents="the paper's ablation table on our data, with three runs per row"
r"""
## 8 · An ablation table

In [lesson 12](12_many_heads.ipynb), we ablated parts of a trained model. In table 3 of *Attention Is All You Need*, each variant is **trained again**, on 4.5 million sentence pairs, and the number of runs isn't reported. We repeated most of its rows on 29,000 captions with three runs each. The numbers below are changes in BLEU relative to the base model: the paper's on its development set, ours on the test set with beam search. The paper's base model has a width of 512, d_ff = 2,048, 8 heads, 6 layers and a dropout of 0.1; ours has a width of 256, d_ff = 1,024, 4 heads, 4 layers and a dropout of 0.3.

Rows for the widths are matched by what they do to the base model: our *d_model 128* is compared with the paper's 256, and our *d_ff 512* and *2048* with its 1,024 and 4,096 (half and double). The other rows have the same numbers in both, so *2 layers* removes four of six layers there, but two of four here.
"""

# %% kind="see" name="ablation"
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
print(f"{'row':<24}{'paper':>7}{'ours':>7}   compared with the base")
for name, runs in rows.items():
    theirs = f"{paper[name]:+.1f}" if name in paper else "-"
    ours = round(mean(runs) - mean(base), 1) + 0.0
    print(f"{name:<24}{theirs:>7}{ours:>+7.1f}   {beats(runs, base, True)}")

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min)** before you read on: the question in this cell, "Which *worse* would you trust least?" Ask for the number that makes it doubtful. Expected: the row in which the worst and the best run of the two almost touch.
"""

# %% [markdown] kind="text"
r"""
Read the last column first. Results for single sentences weren't recorded, so the runs decide. In {result:lesson_18/ablation/losing:.0f} of {result:lesson_18/ablation/rows:.0f} rows, the verdict is "worse". If all rows were as good as the base model, we would still expect about {result:lesson_18/ablation/expected by chance:.1f} such rows by chance. And all rows share the same three base runs: if these were lucky, many rows would be worse together.

> Which "worse" would you trust least?

*6 layers*: the best of its runs is only {result:lesson_18/ablation/margin of 6 layers:.3f} BLEU below the worst of the base model, and with greedy decoding there is no clear difference. We trust *no dropout* most, with a loss of {result:lesson_18/ablation/loss without dropout:.1f} BLEU. The paper's −1.2 can't be compared directly, because it starts from a dropout of 0.1. From 0.1 to 0, ours loses about {result:ablation/(D) dropout 0.1/scores/test/beam - ablation/(D) no dropout/scores/test/beam:.0f}, which is still more than in the paper. A plausible reason is that a small training set makes overfitting worse.
"""

# %% [markdown] kind="instructor"
r"""
**Vote.** "The paper is wrong" and "our model must have a bug" are opposite mistakes with the same cause: taking *no clear difference* for a result.
"""

# %% kind="quiz"
quiz("18", "ablation")

# %% [markdown] kind="text" contents="how to make a system first by choosing runs afterwards"
r"""
## 9 · Break it

How can a system come first without being better? Choose **after** the runs: the column, its own best run, and the worst run of every rival.

> **Before you run it:** the table has {result:lesson_18/translating rows:.0f} translators, including *no_residual*. Leaving out *parameters*, how many of them can be made first in some column in this way?
"""

# %% kind="break" name="chosen"
def is_first_by_choice(system, column):
    """Its best run against the worst run of each rival."""
    best, worst = (max, min) if HIGHER[column] else (min, max)
    mine = [best(results[column][system])]
    rivals = [[worst(r)] for name, r in results[column].items() if name != system]
    return all(beats(mine, rival, HIGHER[column]) == "better" for rival in rivals)


tried = [c for c in COLUMNS if COLUMNS[c].task in (TOY, REAL) and c != "parameters"]
for system in results["test"]:
    mine = [c for c in tried if system in results[c]]
    columns = [c for c in mine if is_first_by_choice(system, c)]
    if columns:
        print(f"{system:<20} columns: {len(columns)}, for example {columns[0]}")

# %% [markdown] kind="text"
r"""
Only {result:lesson_18/really first:.0f} of these {result:lesson_18/made first:.0f} systems, Bahdanau's and ConvS2S, really come first in some column, with every run. But the authors of each of the others could publish true numbers that put it first, too. The mistake is to choose the question after seeing the answers. The remedy is to write down **before** the runs what will be compared, in which columns and with how many runs. You'll do that in lesson 19.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on the interval from 0.3 to 1.2 with overlapping runs (full lesson), or on the 40 comparisons (short track).
"""

# %% kind="quiz"
quiz("18", "closing")

# %% [markdown] kind="text" track="short"
r"""
## Now read the paper

You now know nearly every part of *Attention Is All You Need*, so read it. It has about ten pages of text and takes an evening. For each section, [Reading the paper](../docs/reading_the_paper.md) says what to look for and where the course covers it, and asks you a question. Short answers are at the end. Start with table 2: how many random seeds is each row based on?
"""

# %% [markdown] kind="instructor"
r"""
**Wrap up (3 min).** Return to the counts from the opening. Everyone rewrites their choice as a claim with a system, a rival, a column and a limit. For homework, give out the reading guide to the paper.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | meaning |
|---|---|
| A is better than B | every run of A beats every run of B, and the sentences agree; if not, there is no clear difference |
| `beats`, `defend` | the rule for runs as a function; the comparisons that don't support a claim | <!-- core -->

- "No clear difference" doesn't mean that the systems are equally good.
- Which system is best? In our results, that depends on the sentences, the score and the training configuration: no system is better than all others everywhere.
- The clearest result: on the captions, when each system has its own learning rate, every system with attention is better than every system without. <!-- core -->
- A column at the ceiling can't rank systems. <!-- core -->
- A claim names a system, its rivals, columns and limits. If you choose it after the runs, it is a finding, which new runs have to confirm. <!-- core -->

**Still missing.** A claim whose outcome you don't know yet. You'll make one in [lesson 19](19_your_own_claim.ipynb).
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani et al., *Attention Is All You Need* (2017), with [our guide](../docs/reading_the_paper.md). [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Kalchbrenner and Blunsom, *Recurrent Continuous Translation Models* (2013), section 3. [ACL D13-1176](https://aclanthology.org/D13-1176/) <!-- core -->
- Gehring et al., *Convolutional Sequence to Sequence Learning* (2017), section 3. [arXiv 1705.03122](https://arxiv.org/abs/1705.03122) <!-- core -->
- Liang et al., *R-Drop: Regularized Dropout for Neural Networks* (2021). [arXiv 2106.14448](https://arxiv.org/abs/2106.14448) <!-- core -->
- Reimers and Gurevych, *Reporting Score Distributions Makes a Difference* (2017): how much results vary with the random seed. [arXiv 1707.09861](https://arxiv.org/abs/1707.09861)
- `data/results/README.md`: all the experiments, with what we expected and what came out.
"""
