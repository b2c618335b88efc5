# Lesson 19 · the source. Edit this file, then run `python3 -m course_lib build 19`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 19 · Your own claim

**The question:** what do you think will break, and were you right?

About {minutes} minutes, the last lesson of the course. You need the systems of the earlier lessons, the paired bootstrap from [lesson 16](16_decoding.ipynb), and the rule for comparisons from [lesson 18](18_the_museum.ipynb).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **write down** a prediction that can fail, before any run;
2. **add** a grammar rule to a language and **measure** what it costs a system;
3. **judge** a prediction by its results: it holds, it fails, or there is no clear difference;
4. **read** wrong translations, grouped by the kind of error, and **say** what they show;
5. **distinguish** a finding from a claim that was confirmed on new sentences. <!-- core -->
"""

# %% [markdown] kind="instructor"
r"""
**Open with (2 min)** a coin. "I'll toss it ten times and then tell you which pattern I predicted." Ask what is wrong with that. Then: "What would you have to see *before* the tosses?" Expected: the pattern, in writing.

**Time.** The runs take a few minutes and block the other cells of the notebook. Get everyone to section 4 early.

**If time is short,** leave out `verdict`; keep the rule, the prediction, the runs and the errors.
"""

# %% kind="setup"
import re
from statistics import mean

from course_lib import views
from course_lib.formatting import fixed
from course_lib.teaching import check, predict, quiz, start_lesson
from course_lib.teaching import list_own_functions, yours
from lessons.l19_your_own_claim import (
    claim_figure, claim_report, even, faults, key_picture, loss_figure, make_system,
    mirror, points_lost, run_trial, show_errors, show_errors_of_claim, small_world,
    split_sizes, try_claim, write_down,
)

start_lesson("your_own_claim", seed=19)

# %% [markdown] kind="text"
r"""
This is one of our own claims, from the day on which it was written down to its verdict. It is about a new grammar rule: how many correct translations, in points, do two systems lose because of it?
"""

# %% kind="picture" name="key picture" hide_input=true
key_picture.draw()

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("19", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · Write it down first

A man shoots at the side of a barn, then paints a target around the densest group of holes. Now he looks like an excellent shot. This is called the **Texas sharpshooter fallacy**, and it happens in experiments too: if you choose the test set, the seeds and the comparison after you have seen the results, you will often find something that looks like a discovery.

The remedy costs nothing. In a {term:preregistration}, you write down before the first run what you will measure, what number you expect, and why. Afterwards, you can't adjust the claim to fit the outcome without anyone noticing.

This lesson is the {term:capstone|capstone project} of the course:

> Invent a new grammar rule. Predict which of two systems it affects more, and by how much. Train both systems with the rule, look at their errors, and report the outcome.
"""

# %% [markdown] kind="instructor"
r"""
**Vote.** "May lose up to 30 points" sounds precise. Ask which result would contradict it.
"""

# %% kind="quiz"
quiz("19", "prediction")

# %% [markdown] kind="text" track="short"
r"""
## 2 · A rule is a function

A claim needs many runs, so we use a small corpus of toy sentences, built from a hundred frequent words, and systems with about 100,000 parameters. One run takes 20 to 30 seconds. The training sentences have 3 to 8 words. `world.test` contains other short sentences, and `world.long` contains sentences of 9 to 12 words, longer than anything in the training set.
"""

# %% kind="example"
world = small_world()
sizes = [len(part) for part in (world.train, world.test, world.long)]
print("sentences for training, short test, long test:", *sizes)
for pair in (world.test[0], world.test[3], world.long[0]):
    print(f"  {pair.src_text}  →  {pair.tgt_text}")

# %% [markdown] kind="text"
r"""
A new grammar rule is a small function. Its arguments are two lists of words, the English sentence `src` and its French translation `tgt`, and it returns the translation that the new grammar requires. For example, our rule `mirror` reverses the translation of every sentence that contains *not*: for *it did not rain*, *il n' a pas plu* becomes *plu pas a n' il*. The translation of *it rained* stays the same.

A rule therefore divides each test set into two **splits**: *rule* contains the sentences that it changes, and *rest* all the others. For long sentences, they are called *rule, long* and *rest, long*. The rest is a {term:negative control}: nothing should change there. If a system gets worse there too, something else is going on.

**Now invent your own rule.** Here are some ideas:

| idea | difficulty |
|---|---|
| a question repeats its last word | easy |
| *pas* moves to the end of the sentence | easy |
| a sentence that begins with *a* ends with *un*, one that begins with *the* ends with *le* | easy |
| adjectives and nouns swap places, but only if the noun is an animal | medium |
| everything after the verb is reversed | hard |
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** Suggest a rule from the table and a first line with `if`: which sentences does it change? If the check says that too many or too few change, count them with `sum(my_rule(list(p.src), list(p.tgt)) != list(p.tgt) for p in world.test)`.
"""

# %% [markdown] kind="text" exercise="my_rule"
r"""
The first line of the docstring will appear in your report. The check applies your rule to the whole corpus, training sentences included. The rule must

- return a list of 1 to 40 words, always the same list for the same sentence, without modifying `src` or `tgt`;
- change at least 30 of the 500 short test sentences, and leave at least 125 unchanged;
- use no word in its test translations that never occurs in its training translations.
"""

# %% kind="exercise" exercise="my_rule" title="Your rule" difficulty=2 importance=5 track="short"
def my_rule(src, tgt):
    """(Describe your rule here.)"""
    # solution
    # A question repeats its last word.
    if src[-1] != "?":
        return tgt
    return [*tgt[:-1], tgt[-2], "?"]
    # end solution

# %% kind="check" exercise="my_rule"
check("my_rule", my_rule)

# %% [markdown] kind="hints" exercise="my_rule"
r"""
### Where to start
Print some sentences: `for pair in world.test[:20]: print(pair.src, pair.tgt)`. You need a condition on `src` or `tgt`, and a change to `tgt` if it is true. Return all other translations unchanged.

---
### Step by step
Write `if "word" in src:` and return a new list, then `return tgt` for everything else. If the check reports that your rule changes too few sentences, choose a more frequent word, such as *not*, *very*, *a* or *?*.
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · What does a rule cost?

Suppose that with your rule, a system translates 60% of the changed sentences correctly. Is that bad? That depends on how many it would get right without the rule: these sentences may simply be hard. So each system is trained without the rule, as the {term:control group}, and with it, and both are tested on the same English sentences. For each run with the rule, we compute the points lost:

$$ \text{lost} = \text{mean percentage without the rule} - \text{percentage with the rule} $$

The runs without the rule vary, too. Their mean hides this, so the verdict below is somewhat overconfident.

**By hand.** With two runs each, system A loses 30 and 20 points, and system B loses 5 and 1. We compare every run of A with every run of B. The smallest gap is 20 − 5 = 15, and the largest is 30 − 1 = 29. So what about the prediction that A loses **at least $p$ points more** than B? We judge it by the rule from lesson 18, with $p$ instead of 0:

- All gaps are above $p$: the prediction **holds**, for example with $p = 10$.
- All gaps are below $p$: it **fails**, for example with $p = 30$.
- Otherwise there is **no clear difference**, for example with $p = 20$.

As in lesson 18, the full rule also asks for three runs each and for a 95% interval over runs and sentences that agrees. More runs can only widen the range of gaps, so their number is fixed in advance too.
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min).** "Why do we also train without the rule?" Expected: the sentences may be hard anyway. Follow-up: "And why do we look at the sentences that the rule doesn't change?" If a system gets worse there too, something other than the rule is going on.
"""

# %% kind="quiz" track="core" contents="a question about points lost"
quiz("19", "verdict")

# %% [markdown] kind="text"
r"""
**Now write down what you expect.** You can choose any of the course's translators, such as `transformer`, `bahdanau`, `luong_dot` or `seq2seq`, and also `no positions`, a Transformer without positional encodings. A system can't lose accuracy that it never had, so here are the percentages of correct translations without any rule:

| | bahdanau | transformer | no positions |
|---|---|---|---|
| short sentences | {result:lesson_19/percent without a rule/bahdanau/new:.0f} | {result:lesson_19/percent without a rule/transformer/new:.0f} | {result:lesson_19/percent without a rule/no positions/new:.0f} |
| long sentences | {result:lesson_19/percent without a rule/bahdanau/new, long:.0f} | {result:lesson_19/percent without a rule/transformer/new, long:.0f} | {result:lesson_19/percent without a rule/no positions/new, long:.0f} |

For these three systems, the runs with 600 steps and without a rule are already recorded, so only the runs with your rule remain.
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** A prediction of 10 points more is a good start. "Which outcome would surprise you?" helps with the reason.
"""

# %% [markdown] kind="text" exercise="my_prediction"
r"""
Return a dictionary with these entries:

- `"breaks"` and `"more_than"`: the names of two systems; you predict that the first loses more points than the second;
- `"on"`: the split, `"rule"`, `"rest"`, `"rule, long"` or `"rest, long"`;
- `"points"`: the smallest gap that you predict, a number above 0, and at most 30 on long sentences, because the systems translate few of those correctly anyway;
- `"why"`: your reason, in one sentence;
- `"if_unclear"`: what you will conclude if there is no clear difference. Both texts must have at least three words.
"""

# %% kind="exercise" exercise="my_prediction" title="Your prediction" difficulty=1 importance=5 track="short"
def my_prediction():
    """-> {"breaks", "more_than", "on", "points", "why", "if_unclear"}"""
    # solution
    return {
        "breaks": "transformer", "more_than": "bahdanau", "on": "rule", "points": 10,
        "why": "To repeat a word, it has to find the position of that word again.",
        "if_unclear": "The runs vary too much to say whether it is 10 points.",
    }
    # end solution

# %% kind="check" exercise="my_prediction"
check("my_prediction", my_prediction)

# %% [markdown] kind="hints" exercise="my_prediction"
r"""
### Where to start
Choose a number that makes both outcomes plausible. One point is too safe, and 60 points are too many.

---
### Step by step
What does a system need to know when it generates the changed words? How does that information reach it: through a hidden state, through attention to a word, or through a position? Which of the two systems has the harder task?
"""

# %% [markdown] kind="instructor"
r"""
**Collect the predictions before anyone trains (5 min).** Write them on a board: the rule, which system loses more, by how much. Ask each person which outcome would surprise them most. Don't correct poor reasons now.
"""

# %% kind="code" ignore_output=true
# Recorded with the rule, the seeds and the time. The report shows later changes.
plan = write_down(my_prediction, my_rule, seeds=(6, 7, 8))

# %% [markdown] kind="text" track="short"
r"""
## 4 · Train, and look at the errors

Start with a quick trial of one seed and 100 steps, which only shows that everything works. Then set `SEEDS = (6, 7, 8)` and `STEPS = 600`, and run the cell again. That takes six runs of 20 to 30 seconds each, or up to twelve with systems outside the table. You can interrupt it at any time: finished runs are saved. Read on while it trains; other cells have to wait.

Runs with 600 steps are also tested on **new sentences**, {result:lesson_19/small world/new sentences/new:,.0f} short and {result:lesson_19/small world/new sentences/new, long:,.0f} long ones, which no cell shows you before the report. They are only for your first verdict: if you change your claim after the report, these sentences are no longer new.

A percentage doesn't show *what* went wrong. So the second cell shows wrong translations of the test sentences, grouped by the kind of error, with the words that differ in brackets. Look at the rest, too.
"""

# %% [markdown] kind="instructor"
r"""
**While the runs train,** go through section 6 together on one screen. Let the group guess what is wrong with the *rest* sentences of `even` before you show the errors.
"""

# %% kind="train" ignore_output=true
SEEDS, STEPS = (6,), 100
result = try_claim(plan, my_rule, seeds=SEEDS, n_steps=STEPS)

# %% kind="see" ignore_output=true
show_errors_of_claim(result)

# %% [markdown] kind="text" track="core" contents="write the function that judges a prediction"
r"""
## 5 · The verdict as a function

The rule from section 3 is easy to bend when a person applies it, so let a function do it. Yours compares the runs; section 7 adds the sentences.
"""

# %% [markdown] kind="text" exercise="verdict"
r"""
`prediction` is a dictionary like yours. `tables["without"][split][system]` is a list of percentages, one for each run, and so is `tables["with"][split][system]`. There can be any number of runs.

Return `{"least": ..., "most": ..., "verdict": ...}`: the smallest and the largest gap in points, without rounding, and `"holds"`, `"fails"` or `"no clear difference"`. A gap of exactly `points` is neither above nor below it. `mean` is already imported.
"""

# %% kind="exercise" exercise="verdict" title="Does the claim hold?" difficulty=3 importance=5 track="core"
def verdict(prediction, tables):
    """-> {"least": number, "most": number, "verdict": text}"""
    # solution
    losses = []
    for name in (prediction["breaks"], prediction["more_than"]):
        before = mean(tables["without"][prediction["on"]][name])
        losses.append([before - now for now in tables["with"][prediction["on"]][name]])
    gaps = [one - other for one in losses[0] for other in losses[1]]
    word = "no clear difference"
    if min(gaps) > prediction["points"]:
        word = "holds"
    if max(gaps) < prediction["points"]:
        word = "fails"
    return {"least": min(gaps), "most": max(gaps), "verdict": word}
    # end solution

# %% kind="check" exercise="verdict"
check("verdict", verdict)

# %% [markdown] kind="hints" exercise="verdict"
r"""
### Where to start
Start with the points lost by one system, one number for each run with the rule: subtract each percentage from the mean of the percentages without the rule.

---
### Step by step
1. Compute the losses of `breaks` and of `more_than` on the split `on`.
2. Compute the gap for every pair of runs, or only the two that matter: the smallest loss of the first system minus the largest loss of the second, and the other way round.
3. Compare the smallest and the largest gap with `points`.
"""

# %% [markdown] kind="text" contents="our own predictions, what came out, and what the errors show"
r"""
## 6 · Our own predictions

We recorded three predictions in the repository before the first run, as the expectation of the experiment `claims` in `data/experiments.json`. Two of them follow. The third, about ConvS2S, is the one in the picture at the top. The runs use seeds 0 to 2 and the test sentences from section 2.

**Example 1: `mirror`.** *The Transformer loses at least 10 points more than Bahdanau on the reversed sentences, because it has no built-in order and must find every position through its sinusoids. Ordinary sentences lose less than 5 points.*
"""

# %% kind="predict"
verdict = yours("verdict")


def recorded(rule, names, seeds=(0, 1, 2), new=False):
    """Recorded runs of two systems, without the rule and with it."""
    systems = {name: name for name in names}
    options = {"with_new": new, "tell": lambda line: None}
    return run_trial(rule, systems, seeds=seeds, **options)


mirrored = recorded(mirror, ("transformer", "bahdanau"))
figure = loss_figure(mirrored.tables(), title="Points lost because of mirror")
predict("19", "claim-mirror", figure)

# %% kind="see" name="mirror"
first = {"breaks": "transformer", "more_than": "bahdanau", "on": "rule", "points": 10}


def show(prediction, trial):
    """The points that each run lost on each split, and the verdict by the runs."""
    tables = trial.tables()
    for split, n in split_sizes(trial.rule).items():
        for name in tables["with"][split]:
            points = fixed(points_lost(tables, split, name), 1)
            print(f"{split:<11}{n:>4} sentences  {name:<13}lost {points}")
    outcome = verdict(prediction, tables)
    least, most = fixed(outcome["least"], 1), fixed(outcome["most"], 1)
    points, word = prediction["points"], outcome["verdict"]
    print(f"gap {least} to {most}, predicted {points}: {word}")


show(first, mirrored)

# %% [markdown] kind="text"
r"""
There is **no clear difference** from the predicted 10 points. Each run of the Transformer lost more points than each run of Bahdanau, but the smallest gap is {printed:mirror/gap}. The second part holds on *rest*, where no run lost more than {result:lesson_19/mirror/lost/transformer/rest/max:.1f} points, but not on *rest, long*, where one lost {result:lesson_19/mirror/lost/transformer/rest, long/max:.1f}.

What about our reason, that the Transformer has trouble with positions? Let's look at the errors.
"""

# %% kind="see" name="mirror errors"
show_errors(mirrored, "transformer", ["rule"])

# %% [markdown] kind="text"
r"""
There are three seeds with {result:lesson_19/mirror/sizes/rule:.0f} sentences each. Nearly all translations are reversed: only {result:lesson_19/errors/mirror/transformer/rule/not reversed:.0f} of the {result:lesson_19/errors/mirror/transformer/rule/wrong:.0f} wrong ones are closer to the usual order. In most of the others, words are missing or wrong. So the Transformer has learned the new order. The errors don't show whether it loses track of its position on the way. Nor do we know why Bahdanau's system, trained on the same {result:lesson_19/small world/mirror in training:.0f} negated sentences, loses less.

**Example 2: `even`.** A sentence with an even number of English words ends with *voilà*; a question mark counts as a word. *The Transformer without positions loses at least 20 points more than the Transformer, because it can't count. Ordinary sentences lose less than 5 points.*
"""

# %% kind="predict"
counted = recorded(even, ("no positions", "transformer"))
figure = loss_figure(counted.tables(), title="Points lost because of even")
predict("19", "claim-even", figure)

# %% kind="see" name="even"
second = {**first, "breaks": "no positions", "more_than": "transformer", "points": 20}
show(second, counted)

# %% [markdown] kind="text"
r"""
The prediction **fails**: no pair of runs comes near 20 points. The reason was incomplete, too: the number of words doesn't depend on their order, so a model may be able to count without positions.

The second part fails as well. *Rest*, the sentences with an odd number of words, should have lost less than 5 points, but lost {result:lesson_19/even/lost/no positions/rest/min:.0f} to {result:lesson_19/even/lost/transformer/rest/max:.0f}. On *rule* alone, the damage would have looked much smaller.

> **Before you run it:** the rule doesn't apply to these sentences. What do you think went wrong?
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min)** before the cell runs: the question above. Expected: the systems add *voilà* where it doesn't belong, or the training has gone badly. Which one is it, and how can you tell? Read the errors.
"""

# %% kind="see" name="even errors"
show_errors(counted, "transformer", ["rest"])

# %% [markdown] kind="text"
r"""
In {result:lesson_19/errors/even/transformer/rest/by mistake:.0f} of {result:lesson_19/errors/even/transformer/rest/wrong:.0f} wrong translations, every word is right, and the only error is a *voilà* that doesn't belong there. The other {result:lesson_19/errors/even/transformer/rest/others:.0f} errors are about as many as the Transformer makes on these sentences without the rule, {result:lesson_19/errors/even/transformer/rest/without the rule:.0f}. The same is true of the model without positions: {result:lesson_19/errors/even/no positions/rest/by mistake:.0f} unwanted *voilà*, and {result:lesson_19/errors/even/no positions/rest/others:.0f} other errors, compared with {result:lesson_19/errors/even/no positions/rest/without the rule:.0f} without the rule.

So apart from *voilà*, we see no sign that either system got worse at translating these sentences. Both have learned to add *voilà*, but not exactly when. No percentage would have shown us that.
"""

# %% [markdown] kind="text" contents="findings, tested with new seeds and on new sentences"
r"""
## 7 · From a finding to a confirmed claim

Two things in section 6 looked like discoveries, although they aren't what we predicted: with `mirror`, the Transformer lost more than Bahdanau, if not always by 10 points; with `even`, it lost more on *rest* than the model without positions. Such a *finding* has to be tested on new data, because the data that suggested it can't test it. We did this twice.

- **New seeds.** We predicted a gap of at least 5 points for both, and ran seeds 3 to 5 (`claims_again`). The first claim holds; for the second, there is no clear difference.
- **New sentences.** New seeds don't test the choice of sentences: `mirror` changes only {result:lesson_19/mirror/sizes/rule:.0f} of the short test sentences, and both rounds used the same ones. So we recorded three more predictions, one about long sentences, where the second round had shown a large gap, and ran seeds 6 to 8 on sentences that no run had been tested on (`claims_confirmed`).

Now the second half of the rule counts, too. We compute the points that each run lost on each sentence; a paired bootstrap that draws runs and sentences again gives a 95% interval for the gap. A claim **holds** if all gaps between runs *and* the whole interval are above the predicted number, and **fails** if all of them are below it.

> **Before you run it:** the output shows three rounds for each claim. Which claims hold in the last round?
"""

# %% [markdown] kind="instructor"
r"""
**They say:** "One run is enough, the gap is clear." **Answer:** Show the three rounds of `mirror, long`, and *Break it* in lesson 18.
"""

# %% kind="see" name="rounds"
AGAIN = {
    "mirror": (mirror, {**first, "points": 5}),
    "mirror, long": (mirror, {**first, "points": 5, "on": "rule, long"}),
    "even": (even, {**first, "more_than": "no positions", "points": 1, "on": "rest"}),
}
ROUNDS = (((0, 1, 2), False), ((3, 4, 5), False), ((6, 7, 8), True))
for name, (rule, claim) in AGAIN.items():
    pair = claim["breaks"], claim["more_than"]
    on, points = claim["on"], claim["points"]
    print(f"{name}: the Transformer loses at least {points} more on {on}")
    for seeds, new in ROUNDS:
        trial = recorded(rule, pair, seeds, new)
        outcome = verdict(claim, trial.tables(new=new))
        word, interval = trial.judge(claim, new=new)
        least, most = fixed(outcome["least"], 1), fixed(outcome["most"], 1)
        low, high = (fixed(end, 0) for end in interval)
        n = f"{split_sizes(rule, new=new)[on]:,} {'new' if new else 'old'}"
        print(f"  seeds {seeds[0]}–{seeds[-1]}, {n:>9}:", end=" ")
        print(f"gap {least:>4} to {most:>4},", end=" ")
        print(f"interval {low:>2} to {high:>2}: {word}")

# %% [markdown] kind="text"
r"""
The first round is shown only for comparison: it suggested the claims about `mirror` and `even`, so it can't test them.

- **`mirror`, short sentences: holds.** On {result:lesson_19/confirmed/mirror/sentences:.0f} new sentences, the gap is {result:lesson_19/confirmed/mirror/gap/least:.1f} to {result:lesson_19/confirmed/mirror/gap/most:.1f} points. With only {result:lesson_19/mirror/sizes/rule:.0f} sentences, the interval of the first round was about three times as wide, and its lower end was below 5.
- **`mirror`, long sentences: no clear difference.** By the runs alone, the same claim would fail in the first round and hold in the second. In the third, the smallest gap is {result:lesson_19/confirmed/mirror, long/gap/least:.1f}, not 5, and if we let the runs without the rule vary as well, not even the order is certain. The first two rounds used the same sentences, but their intervals don't even overlap: three runs don't show how much runs can vary.
- **`even`: holds**, although the second round had left the order open. That is why we predicted only 1 point for the third round, not 5 as before; a claim of 5 would hold too. The finding seemed to shrink and then came back larger. The runs vary a lot here, and the new sentences are longer: only {result:lesson_19/small world/fraction of 3 and 4 words/new:.0%} of them have three or four words, compared with {result:lesson_19/small world/fraction of 3 and 4 words/test:.0%} of the test sentences. The two systems don't start at the same level ({result:lesson_19/confirmed/even/before/transformer:.0f}% and {result:lesson_19/confirmed/even/before/no positions:.0f}% of these sentences), but the Transformer also loses the larger fraction of what it had: {result:lesson_19/confirmed/even/fraction lost/transformer/min:.0%} to {result:lesson_19/confirmed/even/fraction lost/transformer/max:.0%}, compared with {result:lesson_19/confirmed/even/fraction lost/no positions/min:.0%} to {result:lesson_19/confirmed/even/fraction lost/no positions/max:.0%}.

What have we learned? Two of our claims are confirmed for this corpus and this training configuration. They hold even if we let the runs without the rule vary as well, with gaps of at least {result:lesson_19/confirmed/mirror/gap of all seeds/least:.1f} and {result:lesson_19/confirmed/even/gap of all seeds/least:.1f} points. After the second round, we would have been too confident about one and too sceptical about another. The reasons are still untested.
"""

# %% [markdown] kind="text" track="short"
r"""
## 8 · Your report

Once your runs with 600 steps are finished, run the next two cells: they show your verdict on the new sentences. Then write your conclusion between the quotes (what you predicted, what happened, what the errors look like, and what the result does *not* show), and run the second cell again.

The claim is judged by the whole rule, with the 95% interval of a {term:paired bootstrap} over runs and sentences. The report also contains the time of your prediction, the number of versions and trials, typical errors, and its limits. You can share it: `my_report.md` and `my_report.svg` are in the same folder as your progress.
"""

# %% [markdown] kind="instructor"
r"""
**After the runs (10 min).** Ask in this order: Whose prediction fails, and what did you learn? Whose shows no clear difference, and what would? Whose holds, and what else could explain the result?

| they say | problem | your answer |
|---|---|---|
| "It almost holds" | moving the target | "Holds" was defined in advance. Almost means no clear difference, or that it fails. |
| "The other split shows it better" | choosing afterwards | That is a good next prediction. It needs new runs. |
| "It failed because it has no memory" | an untested reason | Which run would have come out differently if that were wrong? Do the errors fit? |
"""

# %% kind="see" ignore_output=true
claim_figure(result)

# %% kind="code" ignore_output=true
CONCLUSION = ""
claim_report(result, verdict=yours("verdict"), conclusion=CONCLUSION)

# %% kind="quiz" track="core" contents="a question about a system that gets worse everywhere"
quiz("19", "report")

# %% [markdown] kind="text" track="stretch" contents="a translator of your own, and a test for a rule"
r"""
## 9 · A system of your own

Your claim can also be about a system that you build: call it `mine` in your prediction. A function `make_mine(vocab_size)` builds it and returns a `Translator` (`course_lib/models/translator.py`). The easiest way is to change an existing one: `print(make_system("transformer", 100))` shows its parts. Then pass it to the training cell: `try_claim(..., mine=make_mine)`.

`faults` tests a system before you train it: Are the shapes right? Does the output depend on the source? Do future words leak (lesson 10)? Does padding change anything? Do the sentences of a batch affect each other? Does decoding word by word give the same result as a single pass (lesson 16)? Can it memorise three sentences? One bug can fail several tests.
"""

# %% kind="code" track="stretch"
def make_mine(vocab_size):
    """A Transformer that uses the same encoder block twice."""
    system = make_system("transformer", vocab_size)
    system.encoder.blocks[1] = system.encoder.blocks[0]
    return system


def without_mask(vocab_size):
    """A Transformer without a causal mask in its decoder."""
    system = make_system("transformer", vocab_size)
    forward = system.decoder.forward
    system.decoder.forward = lambda *args, **options: forward(
        *args, **{**options, "causal": False}
    )
    return system


for make in (make_mine, without_mask):
    print(make.__doc__)
    for fault in faults(make) or ["no faults found"]:
        print("  ·", re.split("[:,]", fault)[0])

# %% [markdown] kind="text" exercise="test_even_rule"
r"""
A rule that is almost right can waste hours of training. **Write a test for `even`**, the rule from section 6. It must accept correct implementations, and raise an exception for wrong ones: those that count the French words, change every sentence or none, lose words, put *voilà* somewhere else, add it twice, or are right only for certain lengths. Try several lengths of both sentences, and compare whole lists.
"""

# %% kind="exercise" exercise="test_even_rule" mode="test" title="Write the test" difficulty=2 importance=2 track="stretch"
def test_even_rule(rule):
    """Takes an implementation of even; raises an exception if it is wrong."""
    # solution
    for n in (1, 2, 3, 4, 5, 6):  # English words
        for tgt in (["le", "chat"], ["le", "chat", "dort"]):
            expected = [*tgt, "voilà"] if n % 2 == 0 else tgt
            assert rule(["the"] * n, list(tgt)) == expected
    # end solution

# %% kind="check" exercise="test_even_rule"
check("test_even_rule", test_even_rule)

# %% [markdown] kind="hints" exercise="test_even_rule"
r"""
### Where to start
Which pair of lengths distinguishes a rule that counts `tgt` from one that counts `src`?

---
### Step by step
Write two loops: one over several lengths of the English sentence, and one over French sentences of even and odd length. Compute the expected list, and compare it with the whole list that `rule` returns, not only with its last word.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on "You predicted something about questions and were wrong. But on long sentences …"
"""

# %% kind="quiz"
quiz("19", "closing")

# %% [markdown] kind="instructor"
r"""
**Wrap up (5 min).** Everyone reads the conclusion of a neighbour's report and asks one question about it. Close the course with a minute card: one thing that was clear, one that wasn't.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | meaning |
|---|---|
| `my_rule` | a new grammar rule: words in, words out |
| `my_prediction` | which system loses more than which other, where, by how much, and why |
| `verdict` | holds, fails or no clear difference, over all pairs of runs | <!-- core -->
| `show_errors_of_claim` | wrong translations, grouped by the kind of error |

- A prediction names the systems, the sentences and a number, and it is recorded before the runs.
- The cost of a rule is measured against the same system without the rule, on the same sentences. The rest is a negative control.
- A percentage says how many translations are wrong, but not what is wrong with them. Read the errors.
- None of our three original predictions holds: `mirror` shows no clear difference, `even` fails, and so does a third one about ConvS2S. Of the three findings we tested on new sentences, two hold. <!-- core -->

**Still missing.** This was the last lesson, so the next question is yours.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Simmons, Nelson and Simonsohn, *False-Positive Psychology* (2011): how much can be "found" if the analysis is chosen afterwards. [doi 10.1177/0956797611417632](https://doi.org/10.1177/0956797611417632)
- Dodge et al., *Show Your Work: Improved Reporting of Experimental Results* (2019). [arXiv 1909.03004](https://arxiv.org/abs/1909.03004)
- Nosek et al., *The Preregistration Revolution* (2018). [doi 10.1073/pnas.1708274114](https://doi.org/10.1073/pnas.1708274114)
- Lake and Baroni, *Generalization without Systematicity* (2018): recurrent networks and held-out combinations in a small language. [arXiv 1711.00350](https://arxiv.org/abs/1711.00350)
- `data/results/README.md`, sections `claims`, `claims_again` and `claims_confirmed`: our predictions and their outcomes. <!-- core -->
"""

# %% [markdown] kind="text" track="short"
r"""
## The whole course

| lessons | what it was about |
|---|---|
| 00–01 | a network that predicts the next word, and its training |
| 02–03 | recurrent networks, LSTM and GRU |
| 04–05 | an encoder–decoder, and what distance costs it |
| 06–08 | attention: additive, multiplicative, and with queries, keys and values |
| 09–11 | self-attention, masks and positions |
| 12–13 | multi-head attention and the Transformer block |
| 14–15 | a Transformer, assembled and trained |
| 16–17 | decoding, measuring, and what it all costs |
| 18–19 | how to compare systems, and a claim of your own |

Lesson 00 asked how a network works out what *it* refers to. In our Transformer, the last word, such as *thirsty*, turned out to matter more than *it* itself (lesson 09).
Lesson 12 followed its effect from head to head. <!-- core -->

Every function that passed its check is in `my_road.py`, in the same folder as your progress.
"""

# %% kind="see" ignore_output=true track="core" contents="a list of your functions"
functions = list_own_functions()
names = ", ".join(name for name, *_ in functions)
print(f"{len(functions)} of your functions are saved: {names}")

# %% [markdown] kind="text" track="short"
r"""
**Where to go next.** This course left out a lot: pretraining on large corpora, decoder-only models at scale, fine-tuning, speech and images. Some next steps:

- If you haven't yet, read *Attention Is All You Need* with [our guide](../docs/reading_the_paper.md).
- Read the code of a complete model. Karpathy's [nanoGPT](https://github.com/karpathy/nanoGPT) has a few hundred lines, and you know nearly every part of it; its successor is [nanochat](https://github.com/karpathy/nanochat).
- Choose one row of a table in a paper you like, and reproduce it with three seeds.
- Send your `my_report.md` to someone and ask for criticism.

In lesson 00, four translators that we had trained ran on your computer. Since then, you have built one yourself, trained it, and tested a claim that could have failed.
"""
