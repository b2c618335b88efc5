# Lesson 15 · the source. Edit this file, then run `python3 -m course_lib build 15`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 15 · Training a translator

**The question:** what does it take to train a translator that works?

About {minutes} minutes; the two exercises marked ☆ are optional. You need the Transformer from [lesson 14](14_the_transformer.ipynb), cross-entropy and the gradient from [lesson 01](01_guessing_the_next_word.ipynb), clipping from [lesson 02](02_recurrent_networks.ipynb) and padding from [lesson 10](10_masks.ipynb). In lesson 14 somebody else's numbers spoke through your code. Today the numbers are yours, too.
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **pack** sentences into batches by length, and **count** what that saves; <!-- core -->
2. **say** what Adam, warm-up and label smoothing do, and how low a loss can get;
3. **write** a training step, and **train** your own Transformer with it: stop it, go on;
4. **diagnose** a sick run from its curves, and **repair** its recipe; <!-- core -->
5. **say** how real words are cut into pieces. <!-- core -->
"""

# %% kind="setup"
from collections import Counter
from statistics import mean

import torch
from torch.nn import functional as F

from course_lib import views
from course_lib.formatting import fixed
from course_lib.results import mean_over_seeds, runs
from course_lib.runtime import user_folder
from course_lib.teaching import check, estimate, explain, predict, quiz, start_lesson
from course_lib.teaching import yours
from course_lib.text import EOS, splits
from course_lib.training import Job, run_job
from course_lib.translation import evaluate
from lessons.l15_training_a_translator import (
    FAULTY_RUNS, HEALTHY, LossFloor, RateDial, SmallRun, TrainingSettings,
    apply_merges, clipped, short_data, train_live,
)

start_lesson("training_a_translator", seed=15)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("15", "recall")

# %% kind="diagram" hide_input=true
PARTS = {
    "sentences": (0, 0), "batch": (1, 0), "network": (2, 0), "loss": (3, 0),
    "gradient": (4, 0), "clip": (5, 0), "Adam": (6, 0), "weights": (7, 0),
    "target": (3, 1), "rate": (6, 1), "checkpoint": (7, 1),
}
ARROWS = [("sentences", "batch"), ("batch", "network"), ("network", "loss")]
ARROWS += [("target", "loss"), ("loss", "gradient"), ("gradient", "clip")]
ARROWS += [("clip", "Adam"), ("rate", "Adam"), ("Adam", "weights")]
ARROWS += [("weights", "checkpoint")]
NAME = "One training step"
views.diagram(PARTS, ARROWS, lit=("sentences", "batch"), title=NAME)

# %% [markdown] kind="text" track="short"
r"""
## 1 · Batches of like length

A network learns from many sentences at a time, a **batch**, and a batch is a rectangle: as long as its longest sentence, the rest filled with padding (lesson 10). Padding is masked and does no harm. But it is *computed*, like a bus that drives empty seats around.

**By hand.** Four sentences of 3, 9, 2 and 8 words, two to a batch. As they come: (3, 9) takes 2 · 9 = 18 places, (2, 8) takes 16, together 34 for 22 words. Sorted: (2, 3) takes 6, (8, 9) takes 18, together 24 for 22 words. The part of all places that holds no word is the {term:padding share}: 12 of 34, or 2 of 24. Putting sentences of like length into one batch is called {term:batching by length}.
"""

# %% [markdown] kind="text" track="core"
r"""
How much padding is there on our corpus? The toy sentences have 3 to 20 English words; with the end mark, the longer side of a pair has {result:lesson_15/padding/mean length:.0f} on average, and {result:lesson_15/padding/longest:.0f} at most. Take 40 pairs at a time, as they come: about {result:lesson_15/padding/tokens in a batch:.0f} places a batch.
"""

# %% kind="estimate" track="core"
sentences = splits(seed=0, sizes={"train": 3000}).train
lengths = [max(len(pair.src), len(pair.tgt)) + 1 for pair in sentences]  # with EOS


def padding_share(batches):
    """Batches of indices into `lengths` -> the padded part of the rectangles."""
    area = sum(len(batch) * max(lengths[i] for i in batch) for batch in batches)
    return 1 - sum(lengths[i] for batch in batches for i in batch) / area


as_they_come = [range(first, first + 40) for first in range(0, 3000, 40)]
estimate("15", "train-padding", lambda: 100 * padding_share(as_they_come))

# %% [markdown] kind="text" exercise="by_length"
r"""
**Build `by_length`.** `lengths` is a list of integers, and a sentence is identified by its index in that list: 0, 1, 2, … Return a list of batches, each a list of indices, so that every sentence is in exactly one batch. A batch takes its number of rows times its **longest** length, and that must be at most `room`; no sentence is longer than `room`.

Put sentences of similar length together: up to a third more padding than sorting gives is fine. Fill the batches, too: use fewer than twice as many as necessary. Leave `lengths` unchanged.
"""

# %% kind="exercise" exercise="by_length" title="Batches by length" difficulty=2 importance=4 track="core"
def by_length(lengths, room):
    """[3, 9, 2, 8], 18  ->  [[2, 0], [3, 1]]"""
    # solution
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    batches = []
    for i in order:
        fits = batches and (len(batches[-1]) + 1) * lengths[i] <= room
        if not fits:
            batches.append([])
        batches[-1].append(i)
    return batches
    # end solution

# %% kind="check" exercise="by_length"
check("by_length", by_length)

# %% [markdown] kind="hints" exercise="by_length"
r"""
### A nudge
`sorted(range(len(lengths)), key=…)` returns the indices, shortest sentence first. If you go through them in that order, which sentence of a batch is the longest?

---
### Step by step
1. Sort the indices by length.
2. Go through them. The current sentence is the longest so far, so with it the batch would take `(rows + 1) * lengths[i]`.
3. Does that fit into `room`? Then add it to the last batch. Otherwise start a new batch with it.
"""

# %% kind="see" name="padding" track="core"
by_length = yours("by_length")
ways = {"as they come": as_they_come, "by length": by_length(lengths, 1024)}
for name, batches in ways.items():
    share = fixed(100 * padding_share(batches), 1)
    print(f"{name:>12}: {len(batches)} batches, {share}% of the places are padding")

# %% [markdown] kind="text" track="core"
r"""
**{printed:padding/as they come} batches become {printed:padding/by length}**, for the same words. (*Bucketing* is the rougher kin of batching by length: a few ranges of lengths, and a batch from one of them.) Two things are left to chance: which of the equally long sentences meet, and the order of the batches, or the network would read all short sentences first.

A batcher that loses sentences raises no error: the network merely never sees them. **If you like**, a test.
"""

# %% [markdown] kind="text" exercise="test_batches" track="stretch"
r"""
**Write `test_batches`.** It gets a batcher, calls it with lengths of yours, and raises (`assert`) where something is wrong. It must accept every right one, also one that begins with the longest; and it must catch those that lose sentences, repeat them, do both at once, take too much room, or do not sort at all.
"""

# %% kind="exercise" exercise="test_batches" mode="test" title="Test a batcher" difficulty=3 importance=3 track="stretch"
def test_batches(batcher):
    """batcher(lengths, room) -> list of lists of places; raises where it is wrong"""
    # solution
    lengths, room = [20, 3, 19, 4, 18, 5], 40
    batches = batcher(lengths, room)
    places = sorted(i for batch in batches for i in batch)
    assert places == [0, 1, 2, 3, 4, 5], "each sentence once"
    taken = [len(batch) * max(lengths[i] for i in batch) for batch in batches]
    assert max(taken) <= room, "a batch has to fit"
    assert sum(taken) < 90, "69 words: sorted they need 75 places or a few more"
    # end solution

# %% kind="check" exercise="test_batches"
check("test_batches", test_batches)

# %% [markdown] kind="hints" exercise="test_batches"
r"""
### A nudge
Three questions: is each place there once? Does each batch fit? Is there little padding? Choose lengths that alternate, long and short, so that not sorting is expensive.

---
### Step by step
1. All places of all batches, sorted, are `list(range(len(lengths)))`.
2. For every batch: rows times longest is at most `room`.
3. Add up what all batches take. With `[20, 3, 19, 4, 18, 5]` and room for 40, a sorting batcher stays far below 90.
"""

# %% [markdown] kind="text" track="short"
r"""
## 2 · How far to step

Lesson 01 stepped down the slope: weight minus rate times slope. (Weights today are the *learned* ones; attention weights are computed.) One rate for all weights is a poor fit. Say one weight has a slope of 10 and another one of 0.001. With a rate of 0.01 the first moves by 0.1, the second by 0.00001. It would take 10,000 such steps to go as far.

{term:Adam optimiser|Adam} (Kingma and Ba, 2015) gives each weight a step of its own. For each it remembers two running means, which begin at 0: of its slope $g$, $m \leftarrow 0.9\,m + 0.1\,g$, and of its slope **squared**, $v \leftarrow 0.98\,v + 0.02\,g^2$. It then moves by $m/\sqrt v$, times the rate. If a slope is always the same, that becomes $10/\sqrt{100} = 1$ for the first and $0.001/\sqrt{0.000001} = 1$ for the second: both move by one rate. If a slope keeps changing its sign, $m$ is near 0 and the weight stays.

After one step with slope 10 the means are 1 and 2, not 10 and 100: the zeros of the beginning still count. So they are divided by $1 - 0.9^t$ and $1 - 0.98^t$, with $t$ the number of the step. For $t = 1$ that is 1/0.1 = 10 and 2/0.02 = 100; after a second slope of 10, $m$ is 1.9, and 1.9/0.19 = 10 again.
"""

# %% [markdown] kind="formula"
r"""
**The rate changes, too.** A plan for it is a {term:learning-rate schedule}. The 2017 paper climbs in a straight line for 4,000 steps and then comes down with the root of the step. The climb is the {term:learning-rate warm-up|warm-up}: in the first steps the weights are random, and Adam's means rest on a handful of batches. Better not to jump far on such knowledge.

$$ \text{rate} = \frac{1}{\sqrt{d_{\text{model}}}} \cdot \min\left(\frac{1}{\sqrt{\text{step}}},\; \frac{\text{step}}{\text{warm-up}^{1.5}}\right) $$

| symbol | in words | in the paper's base model |
|---|---|---|
| $d_{\text{model}}$ | width: a wider model takes smaller steps | 512 |
| step | its number | 1 to 100,000 |
| warm-up | steps of climbing | 4,000 |
| first term | the way down | counts after step 4,000 |
| second term | the way up | counts until then |

**By hand.** Width 4, warm-up 4: $4^{1.5} = 8$. Step 1: ½ · min(1, 1/8) = 1/16. Step 4: ½ · min(½, ½) = ¼, the peak; both terms meet there. Step 16: ½ · min(¼, 2) = 1/8.
"""

# %% [markdown] kind="text" exercise="paper_rate"
r"""
A first version is there already. Make its check pass.
"""

# %% kind="exercise" exercise="paper_rate" mode="bug" title="The paper's rate" difficulty=2 importance=3 track="core"
def paper_rate(step, d_model, warm_up):
    """step 1, 2, 3, …, width, steps of warm-up  ->  the learning rate"""
    # bug
    up, down = step * warm_up**-1.5, step**-0.5
    return warm_up**-0.5 * min(up, down)
    # end bug
    # solution
    up, down = step * warm_up**-1.5, step**-0.5
    return d_model**-0.5 * min(up, down)
    # end solution

# %% kind="check" exercise="paper_rate"
check("paper_rate", paper_rate)

# %% [markdown] kind="hints" exercise="paper_rate"
r"""
### A nudge
The example by hand comes out right. What do its width and its warm-up have in common? Try a width of 512 and a warm-up of 4,000.

---
### Step by step
The factor in front is $1/\sqrt{d_{\text{model}}}$. Where the two are equal, nobody sees which of them stands there.
"""

# %% kind="predict" track="core"
predict("15", "train-warm-up-twice", RateDial())

# %% kind="predict" track="core"
def recorded_curve(experiment, variant, which, upto):
    seeds = [run["history"] for run in runs(experiment) if run["variant"] == variant]
    steps = [record["step"] for record in seeds[0] if record["step"] <= upto]
    return steps, [mean(seed[i][which] for seed in seeds) for i in range(len(steps))]


BY_LENGTH = {"1–5": 3, "6–10": 8, "11–15": 13, "16–20": 18}


def exact_by_length(experiment, variant):
    seeds = [run["scores"] for run in runs(experiment) if run["variant"] == variant]
    seeds = [scores["test"]["by_length"] for scores in seeds]
    return [mean(100 * scores[n]["exact"] for scores in seeds) for n in BY_LENGTH]


variants = {"warm-up": "post-norm", "no warm-up": "post-norm, no warm-up"}
curves = {k: recorded_curve("warm_up", v, "loss", 1000) for k, v in variants.items()}
losses = {k: loss for k, (_, loss) in curves.items()}
exact = {k: exact_by_length("warm_up", v) for k, v in variants.items()}
predict("15", "train-post-norm-warm-up", views.panels(
    [views.Part("Norms last: loss", curves["warm-up"][0], losses, "loss"),
     views.Part("Right at the end", list(BY_LENGTH.values()), exact, "%")],
    x_name="step (left), words (right)",
    alt="Loss with and without warm-up, and exact match by length, for post-norm.",
))

# %% [markdown] kind="text" track="core"
r"""
The peak of the paper's schedule is at $1/\sqrt{d_{\text{model}} \cdot \text{warm-up}}$: whoever makes the warm-up longer makes the peak lower, too.

**Is warm-up needed?** Three layers, 4,000 steps, the lowest and the highest of three seeds (`warm_up`, `recipe`):

| test sentences right | with warm-up | without |
|---|---|---|
| norms last (post-norm, the paper's) | {result:min warm_up/post-norm/scores/test/exact:.1p} to {result:max warm_up/post-norm/scores/test/exact:.1%} | **{result:min warm_up/post-norm, no warm-up/scores/test/exact:.1p} to {result:max warm_up/post-norm, no warm-up/scores/test/exact:.1%}** |
| norms first (pre-norm, ours) | {result:min recipe/as it is/scores/test/exact:.1p} to {result:max recipe/as it is/scores/test/exact:.1%} | {result:min recipe/no warm-up/scores/test/exact:.1p} to {result:max recipe/no warm-up/scores/test/exact:.1%} |

Without it both are *ahead* at step 50, of course: the other run is still at an eighth of its rate. Then post-norm stalls, with a loss of {result:warm_up/post-norm, no warm-up/history/7/loss:.1f} at step 400 against {result:warm_up/post-norm/history/7/loss:.1f}. It recovers, and four points are missing at the end. Pre-norm lacks less than one, and other small changes do as much (a cosine as the way down: {result:min recipe/cosine decay/scores/test/exact:.1p} to {result:max recipe/cosine decay/scores/test/exact:.1%}). Xiong and others (2020) give the reason: with norms last the gradients near the output start out large. Nor does warm-up save everything: lesson 13's twelve post-norm layers learned nothing even with it. Neither superstition nor law: say for which model.
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · What to aim at

Cross-entropy asks for everything on the right word: a share of 1. No softmax ever gives a 1, so the logits are pushed apart for ever. {term:label smoothing ε|Label smoothing} (Szegedy and others, 2016) asks for a little less: $1 - \varepsilon$ goes to the right word, and $\varepsilon$ is spread evenly over **all** $V$ words, the right one included. It is a teacher who says "almost certainly *chat*, but never say never". The paper has $\varepsilon = 0.1$.

$$ \text{loss} = (1 - \varepsilon) \cdot (-\ln p_{\text{right}}) \;+\; \varepsilon \cdot \frac1V \sum_{w} (-\ln p_w) $$

**By hand.** Four words get the shares 1/8, 1/8, ½, ¼, and the third is right; $\varepsilon = 0.2$. Their $-\ln$: 2.079, 2.079, 0.693, 1.386. Right word: 0.8 · 0.693 = 0.555. All words: 0.2 · (mean 1.560) = 0.312. Loss: 0.866; without smoothing it would be 0.693.
"""

# %% [markdown] kind="text" exercise="smoothed_loss"
r"""
**Build `smoothed_loss`** for a whole batch: `logits` (batch, n, vocab) come from the network; `targets` (batch, n) contain the number of each right word, **0 where there is padding**; `smoothing` is ε. Return a scalar tensor of shape `()`, the mean over all words that aren't padding, from which gradients flow back to the logits. `log_softmax(dim=-1)` computes $\ln p$ from logits in one step, however large they are.
"""

# %% kind="exercise" exercise="smoothed_loss" title="The smoothed loss" difficulty=3 importance=4 track="core"
def smoothed_loss(logits, targets, smoothing):
    """(batch, n, vocab), (batch, n), a number  ->  a tensor of shape ()"""
    # solution
    logs = logits.log_softmax(dim=-1)
    right = logs.gather(-1, targets[..., None])[..., 0]
    losses = -(1 - smoothing) * right - smoothing * logs.mean(dim=-1)
    return losses[targets != 0].mean()
    # end solution

# %% kind="check" exercise="smoothed_loss"
check("smoothed_loss", smoothed_loss)

# %% [markdown] kind="hints" exercise="smoothed_loss"
r"""
### A nudge
Two parts, each of shape (batch, n): $\ln p$ of the right word, and the mean of $\ln p$ over all words. The right word's can be picked with `gather`, or multiplied out with `F.one_hot(targets, vocab)`.

---
### Step by step
1. `logs = logits.log_softmax(dim=-1)`.
2. `right = logs.gather(-1, targets[..., None])[..., 0]`.
3. `-(1 - smoothing) * right - smoothing * logs.mean(dim=-1)`.
4. Keep the places where the target is not 0, and take one mean over them.
"""

# %% kind="library"
smoothed_loss = yours("smoothed_loss")
logits, targets = torch.randn(4, 7, 50), torch.randint(0, 50, (4, 7))
expected = F.cross_entropy(logits.mT, targets, ignore_index=0, label_smoothing=0.1)
assert torch.isclose(smoothed_loss(logits, targets, 0.1), expected)
print("the same as torch's cross_entropy: it takes logits, and does the softmax itself")

# %% kind="predict"
predict("15", "train-floor", LossFloor())

# %% [markdown] kind="text"
r"""
1.38, and no model can get below it: the target itself is uncertain, and cross-entropy cannot be less than that uncertainty. By hand, for the four words above, target 0.85 and three times 0.05: 0.85 · 0.163 + 3 · 0.05 · 2.996 = 0.588. So **a loss of 1.4 may be excellent, and a smoothed loss cannot be compared with a plain one.** This is where one word is right at each place, as in our toy language; real text adds an uncertainty of its own. In our runs the training loss is smoothed, and the validation loss is not. (The authors' code subtracts the floor, "just for readability". And in their *plain* perplexity smoothing costs, too, 4.92 in place of 4.67: a model that obeys says 0.9, not 1. Its {term:BLEU} is better.)

**A softmax too many** also has a floor, $\ln(e + V - 1) - 1$: 8.21 with 10,000 words. `cross_entropy` expects logits; hand it shares, and they go through a second softmax, which makes them nearly equal.
"""

# %% [markdown] kind="text" track="core" contents="what label smoothing and dropout do for our translator"
r"""
Our record `recipe`, three seeds: with smoothing the *training* loss ends at {result:recipe/as it is/history/-1/train_loss:.2f}, just above its floor of 0.98 for 680 words (so did lesson 13's healthy one); without at {result:recipe/no smoothing/history/-1/train_loss:.2f}. And the translations? {result:recipe/as it is/scores/test/exact:.1%} and {result:recipe/no smoothing/scores/test/exact:.1%} right: on 20,000 clean toy sentences smoothing does not help, nor does dropout (lesson 13): without it {result:recipe/no dropout/scores/test/exact:.1%}. Yet without dropout the validation loss is *worse*, {result:recipe/no dropout/history/-1/loss:.3f} against {result:recipe/as it is/history/-1/loss:.3f}. Loss and translations need not agree; remember it for the clinic.
"""

# %% [markdown] kind="text" track="short"
r"""
## 4 · Your training step

Now all of it in one function. `weights` is a table of tensors by name, as in lesson 14. `loss_of` is a function that takes such a table and gives the loss of one batch. `memory` is Adam's (not the encoder's of lesson 14): for each name the pair (m, v); in the first step it is an empty dict, and both are 0. `step` counts from 1.
"""

# %% [markdown] kind="text" exercise="training_step"
r"""
**Build `training_step`.** Return three things: the loss before the step, as a plain number; a dict of new weights; and the new memory. Leave `weights` and `memory` as they are: make new tensors.

1. The loss, of `ready`. (That line is there: it cuts the weights off from all earlier steps and asks torch to follow them.)
2. The gradients: `torch.autograd.grad(loss, list(ready.values()))` gives one tensor for each, in order.
3. {term:clipping|Clip} them to a length of 1, all together, with `clipped(gradients, 1.0)`. It returns a new list, scaled as lesson 02 describes.
4. For each weight, with its gradient $g$: $m \leftarrow 0.9\,m + 0.1\,g$, and $v \leftarrow 0.98\,v + 0.02\,g^2$. Keep both.
5. $\hat m = m/(1 - 0.9^{\text{step}})$, $\hat v = v/(1 - 0.98^{\text{step}})$, and the weight moves: $w - \text{rate} \cdot \hat m / (\sqrt{\hat v} + 10^{-9})$. (The last number only keeps us from dividing by 0.)

**By hand.** One weight, 3, and the loss $w^2$: loss 9, slope 6, clipped to 1. $m = 0.1$, $v = 0.02$; both become 1. With a rate of 0.1 the new weight is 2.9.
"""

# %% kind="exercise" exercise="training_step" title="One training step" difficulty=4 importance=5 track="short"
def training_step(weights, loss_of, memory, step, rate):
    """-> loss (a number), new weights {name: tensor}, new memory {name: (m, v)}"""
    ready = {name: w.detach().requires_grad_() for name, w in weights.items()}
    # solution
    loss = loss_of(ready)
    gradients = torch.autograd.grad(loss, list(ready.values()))
    gradients = clipped(list(gradients), 1.0)
    moved, kept = {}, {}
    for (name, w), g in zip(weights.items(), gradients, strict=True):
        m, v = memory.get(name, (torch.zeros_like(w), torch.zeros_like(w)))
        m = 0.9 * m + 0.1 * g
        v = 0.98 * v + 0.02 * g.square()
        fair, spread = m / (1 - 0.9**step), v / (1 - 0.98**step)
        moved[name] = w - rate * fair / (spread.sqrt() + 1e-9)
        kept[name] = m, v
    return loss.item(), moved, kept
    # end solution

# %% kind="check" exercise="training_step"
check("training_step", training_step)

# %% [markdown] kind="hints" exercise="training_step"
r"""
### A nudge
Begin with the by-hand case and print after each of the five points. `memory.get(name, (0, 0))` gives the pair, or two zeros where there is none.

---
### The frame
Two empty dicts, `moved` and `kept`. One loop over `zip(weights.items(), gradients)`, so that name, weight and gradient come together. At its end `moved[name] = …` and `kept[name] = m, v`.

---
### What goes wrong most
"Does not require grad": the loss is asked of `weights`; ask it of `ready`. The gradient is clipped *before* the loop, all of it at once. $g^2$ is the square of the gradient, not of the mean. And the memory that is kept is $m, v$, not $\hat m, \hat v$.
"""

# %% [markdown] kind="text" track="short"
r"""
## 5 · Train it

The corpus is a reduced one, so that it takes about 20 seconds on two free cores: 3,000 toy sentences of 3 to 6 English words, made of 80 different ones, and 200 others to validate on. The network is **yours** of lesson 14, with one block on each side and random weights. The batches, the rate, the loss and the step are yours, too, where you have written them; the library stands in for the others. `paper_rate` is scaled so that it climbs for 24 steps to 0.005. (`SmallRun` holds all together, and looks at the validation set every 24 steps.)
"""

# %% kind="code"
encode_source, decode_logits = yours("encode_source"), yours("decode_logits")
training_step, paper_rate = yours("training_step"), yours("paper_rate")
by_length = yours("by_length")
small = short_data()


def mine(weights, source, target, mask):
    """Your Transformer: four heads, one block on each side."""
    memory = encode_source(source, weights, 4, 1, mask)
    return decode_logits(target, memory, weights, 4, 1, mask)


def my_run(settings=HEALTHY, data=small, n_steps=240):
    parts = {"forward": mine, "loss": smoothed_loss, "step": training_step}
    parts |= {"batcher": by_length, "schedule": paper_rate}
    return SmallRun(data, settings, n_steps=n_steps, **parts)


n_weights = sum(w.numel() for w in my_run().model.parameters())
n_words = small.tokenizer.vocab_size
print(f"{n_weights:,} numbers to train, {n_words} words of both languages")
lit = [part for part in PARTS if part not in ("sentences", "weights", "checkpoint")]
views.diagram(PARTS, ARROWS, lit=lit, title="Lit: what you can write yourself")

# %% kind="train" ignore_output=true
# until=96 stands for your hand on the stop button.
run = train_live(my_run(), "lesson_15", until=96, anew=True)

# %% [markdown] kind="text"
r"""
Stopped at step 96 of 240. What you need in order to go on lies in a file, the {term:training checkpoint|checkpoint}: the weights, **Adam's two means**, the number of the step, and the place in the corpus. (With the weights alone the next step would be another one: Adam would start anew.) It is written whole or not at all, so that a power cut leaves no half of one.

The next cell makes a new run, as after a restart of the kernel, and goes on. **Try it by hand:** run it, press ■ (Kernel ▸ Interrupt) in the middle, run it again: it goes on from there. On a CPU the result is the same to the last bit as without a stop. (`train_live(…, anew=True)` begins again.)

Then translate sentences of your own: `run.translate("…")`, with words such as *king, frog, mouse, sleeps, often, tired*. **Where your functions passed their checks, all that happens between the random numbers and the French is your work.** And look at the two curves of the loss: one of them is where it usually is not (section 3 has the reason).
"""

# %% kind="train" ignore_output=true
run = train_live(my_run(), "lesson_15")
exact = run.history[-1].scores["exact"]
if run.finished:  # else you have stopped it
    assert exact > 0.8, "more than nine in ten are expected"
print(f"right, word for word: {fixed(100 * exact, 0)}% of 200 sentences")
for english in ("the queen slept", "the little cow is very old", "a sad king ran"):
    print(f"{english}  →  {run.translate(english)}")

# %% kind="explain" track="core" contents="an explanation in your own words"
explain("15", "train-above")

# %% [markdown] kind="text" contents="five sick runs to diagnose from their curves, and a configuration to repair"
r"""
## Break it

A clinic again: in lesson 13 it was the block, in 14 the code, today the recipe. Below: the same run six times, once healthy and five times with one mistake (`sick`: on a CPU, one thread, the mean of three seeds; the rate falls in a straight line). *Right* means free running (lesson 04): it reads its own words. Six mistakes, and one of them has no patient:

- the learning rate is 50 times too small;
- the learning rate is 20 times too high;
- the softmax is taken twice;
- it has 100 sentences to learn from, not 3,000;
- the target is not shifted: the decoder reads the very word that it is to say;
- there is no warm-up.

Remember three numbers for 195 words. Whoever knows nothing has a loss of ln 195 = 5.3 (random logits more: they are sure, and wrong). With smoothing 0.1 the floor is 0.85, in the left panel alone: validation is not smoothed. With a softmax too many it is 4.3, if one ever gets there. On the right B, C, D and E lie on one another, near 0.
"""

# %% kind="see"
def compared(which, scale=1):
    """The recorded curves of a healthy run and of five faulty ones, A to E."""
    variants = {"healthy": "healthy"} | FAULTY_RUNS
    curves = {k: recorded_curve("sick", v, which, 240) for k, v in variants.items()}
    scaled = {k: [scale * y for y in v[1]] for k, v in curves.items()}
    return curves["healthy"][0], scaled


views.panels(
    [
        views.Part("Training", *compared("train_loss"), "loss", y_limits=(0, 6.5)),
        views.Part("Validation", *compared("loss"), "loss", y_limits=(0, 6.5)),
        views.Part("Right by itself", *compared("exact", 100), "%", y_limits=(-3, 103)),
    ],
    x_name="step",
    alt="Both losses and exact match of a healthy run and five faulty ones.",
)

# %% kind="quiz"
quiz("15", "clinic")

# %% [markdown] kind="text"
r"""
**A** has 100 sentences, and knows them by heart: overfitting (lesson 01). Its validation loss is lowest after 72 steps; to stop there is called {term:early stopping}. But look to the right: from there on its *translations* still get better, from {result:sick/100 sentences/history/2/exact:.1p} to {result:sick/100 sentences/history/-1/exact:.0%} (two seeds of three). The loss punishes a wrong answer that is too sure of itself; the translations do not. Stop by what you care for.

**B** takes the softmax twice. A small slope is not the reason, for Adam divides it away. The doubled loss is nearly a constant minus the share of the right word, so it pays to bet all on the most frequent one. After 24 steps B says *end* at every place, with a share of {result:lesson_15/softmax twice/probability of EOS:.3f}, and {result:lesson_15/softmax twice/fraction of EOS:.1%} of the words are ends: $\ln(e + 194) - {result:lesson_15/softmax twice/fraction of EOS:.3f} = {result:lesson_15/softmax twice/loss:.2f}$, its plateau. There the first softmax is saturated (lesson 08) and passes no slope on.

**C** has the high rate. Its first steps do damage: after 48 its weights are three to four times as large as the healthy ones, and the largest attention weight of a word is {result:lesson_15/high rate/largest attention weight:.3f} on average (healthy: {result:lesson_15/healthy/largest attention weight:.3f}). Saturated, again. **A good rate does not save it:** with 0.005 from step 49 on it ends with {result:min sick/rate 20 times too high, healthy after 48/ends/exact:.0p} to {result:max sick/rate 20 times too high, healthy after 48/ends/exact:.0%} right, and a loss *above* C's own. One cannot repair this patient, only begin again.

**D** is the most flattering, best in both losses, and says nothing right. The target is not shifted: the leak of lesson 10, by another door. (In lesson 10's long run it did not show in the loss at all; here it even flatters.) **E**, the small rate, is not ill, only slow. And no warm-up, with one block and norms first, does not show: {result:min sick/no warm-up/ends/exact:.0p} to {result:max sick/no warm-up/ends/exact:.0%} right, against {result:min sick/healthy/ends/exact:.0p} to {result:max sick/healthy/ends/exact:.1%}.

Verify two of them with your own code: D for 72 steps, B for 24.
"""

# %% kind="break"
copying = my_run(TrainingSettings(shifted=False), n_steps=72).train()
record = copying.history[-1]
right = record.scores["exact"]
assert record.loss < 0.3 and right == 0
print("D: loss on validation below 0.3, and right:", fixed(100 * right, 0), "%")
doubled = my_run(TrainingSettings(softmaxes=2), n_steps=24).train()
n_empty = int((doubled.outputs(max_len=1) == EOS).sum())
print("B: of 200 translations, so many end before their first word:", n_empty)

# %% [markdown] kind="text" exercise="repair"
r"""
Now a patient with **three** things wrong at once. Here is its recipe; the names are those of `TrainingSettings`:

    {"rate": 0.1, "warm_up": 24, "n_sentences": 100, "shifted": False, "softmaxes": 1, "smoothing": 0.1}

**Write `repair`**: it takes such a dict and returns a new one with the same six keys. Change the three faulty settings, and leave the other three as they are in `recipe`. Many values are right. The next cell then trains with yours, and nine in ten translations should be right.
"""

# %% kind="exercise" exercise="repair" title="Repair a recipe" difficulty=2 importance=4 track="core"
def repair(recipe):
    """a dict with six entries  ->  a dict with the same names, healthy"""
    # solution
    return recipe | {"rate": 0.005, "n_sentences": 3000, "shifted": True}
    # end solution

# %% kind="check" exercise="repair"
check("repair", repair)

# %% [markdown] kind="hints" exercise="repair"
r"""
### A nudge
Compare with the healthy run: 3,000 sentences, a rate of 0.005. And which of the three would you never notice from the losses?

---
### Step by step
`recipe | {…}` makes a new dict with some entries changed. Three are to be changed: `rate`, `n_sentences`, `shifted`.
"""

# %% kind="train" ignore_output=true
faulty = {"rate": 0.1, "warm_up": 24, "n_sentences": 100}
faulty |= {"shifted": False, "softmaxes": 1, "smoothing": 0.1}
settings = TrainingSettings(**yours("repair")(faulty))
repaired = my_run(settings, short_data(n_train=settings.n_sentences))
train_live(repaired, "lesson_15_repaired", anew=True)
print(f"right: {fixed(100 * repaired.history[-1].scores['exact'], 0)}%")

# %% [markdown] kind="text" contents="training on all 20,000 sentences, and three generations of translators on one chart"
r"""
## 6 · The whole language

The library's loop does what yours does, only faster; it knows several GPUs, and ends with the mean of its last weights. The whole toy language is 20,000 sentences of up to 20 words. On **two cores of a CPU** (an ARM machine, one run each, `cpu/quick.json`) a network of your kind, three layers of width 64, took **{result:cpu/quick/1024 tokens, 2000 steps/seconds:.0f} seconds**: {result:cpu/quick/1024 tokens, 2000 steps/scores/test/exact:.1%} of 1,000 test sentences right, word for word. The *quick recipe*, another network (two layers of width 80, rotary positions, half as many tokens a batch), took **{result:cpu/quick/512 tokens, 2000 steps, rotary, 2 layers of width 80/seconds:.0f} seconds**: {result:cpu/quick/512 tokens, 2000 steps, rotary, 2 layers of width 80/scores/test/exact:.1%}. The next cell is the quick one. It waits for `FULL = True`, and can be stopped and taken up like yours.

On a GPU **the same call** finds the GPU by itself:

    python3 -m course_lib train transformer --quick      # what the next cell does
    python3 -m course_lib train transformer              # three layers, four times the tokens

On one H200 the quick recipe took about 3 seconds ({result:max gpu/quick/512 tokens, 2000 steps, rotary, 2 layers of width 80/seconds:.1f} the first time), with {result:min gpu/quick/512 tokens, 2000 steps, rotary, 2 layers of width 80/scores/test/exact:.1p} to {result:max gpu/quick/512 tokens, 2000 steps, rotary, 2 layers of width 80/scores/test/exact:.1%} right (`gpu/quick.json`). This whole lesson ran there, too (`gpu/lessons.txt`): nothing but last digits differed. Your small run stays on the CPU, for a GPU would only wait for its tiny steps.

**Three generations on one chart** come after it: seq2seq (lesson 04), Bahdanau (06) and the Transformer, about 395,000 parameters each, the same recipe, the same 4,000 steps, three seeds.
"""

# %% kind="train" ignore_output=true
FULL = False  # True: two to four minutes on two cores, seconds on a GPU

if FULL:
    folder = str(user_folder() / "runs" / "quick")
    whole = run_job(Job(system="transformer", quick=True, folder=folder), log=print)
    test = splits(seed=0, sizes={"test": 1000}).test
    print(evaluate(whole.model, whole.data.tokenizer, test).exact)

# %% kind="predict"
SYSTEMS = ("seq2seq", "bahdanau", "transformer")


def exact_at(run, length):
    short = run["scores"]["test"]["by_length"].get(length)
    return 100 * (short or run["scores"]["long"])["exact"]


curves = {name: recorded_curve("toy_ladder", name, "loss", 4000) for name in SYSTEMS}
steps, losses = curves["seq2seq"][0], {k: loss for k, (_, loss) in curves.items()}
means = {length: mean_over_seeds("toy_ladder", lambda run, n=length: exact_at(run, n))
         for length in (*BY_LENGTH, "21–40")}
right = {name: [means[length][name] for length in means] for name in SYSTEMS}
middles = [3, 8, 13, 18, 30]
figure = views.panels(
    [views.Part("Loss on validation", steps, losses, "loss", log_y=True),
     views.Part("Right (trained to 20)", middles, right, "%", y_limits=(-3, 103))],
    x_name="step (left), words (right)",
    alt="Validation loss over steps, and exact match by length, for three systems.",
)
predict("15", "train-early-leader", figure)

# %% [markdown] kind="text"
r"""
| | validation loss | test | 16 to 20 words | 21 to 40 words |
|---|---|---|---|---|
| seq2seq, 2014 | {result:toy_ladder/seq2seq/history/-1/loss:.3f} | {result:toy_ladder/seq2seq/scores/test/exact:.1%} | {result:toy_ladder/seq2seq/scores/test/by_length/16–20/exact:.1%} | {result:toy_ladder/seq2seq/scores/long/exact:.1%} |
| Bahdanau, 2015 | {result:toy_ladder/bahdanau/history/-1/loss:.3f} | {result:toy_ladder/bahdanau/scores/test/exact:.1%} | {result:toy_ladder/bahdanau/scores/test/by_length/16–20/exact:.1%} | **{result:toy_ladder/bahdanau/scores/long/exact:.1%}** |
| Transformer, 2017 | **{result:toy_ladder/transformer/history/-1/loss:.3f}** | {result:toy_ladder/transformer/scores/test/exact:.1%} | {result:toy_ladder/transformer/scores/test/by_length/16–20/exact:.1%} | {result:toy_ladder/transformer/scores/long/exact:.1%} |

Up to the lengths they were trained on, Transformer and Bahdanau are level: {result:min toy_ladder/transformer/scores/test/exact:.1p} to {result:max toy_ladder/transformer/scores/test/exact:.1%} against {result:min toy_ladder/bahdanau/scores/test/exact:.1p} to {result:max toy_ladder/bahdanau/scores/test/exact:.1%}, a lead that three seeds do not carry (lesson 18). Only the Transformer's loss is lower with every seed. ({result:recipe/as it is/scores/test/exact:.1%} in section 2 and {result:toy_ladder/transformer/scores/test/exact:.1%} here are the same recipe, trained three times each.) Beyond those lengths it falls far behind; lesson 11 says what is known of the reason. It is faster to train: on two cores of a CPU {result:lesson_15/tokens a second/transformer:,.0f} words a second against Bahdanau's {result:lesson_15/tokens a second/bahdanau:,.0f}, in one run (`bench_training_cpu.txt`).
"""

# %% [markdown] kind="text" contents="how real text is cut into subwords, and a run on real captions"
r"""
## 7 · Real words

The toy language has 680 words, both languages together. Real text has no end of them: *chat, chats, chaton, chatière* … A table with a row for each is huge, and tomorrow's text has a word that it lacks. Letters alone would be few, but sentences become long. In between lie **pieces** of words, {term:subword|subwords}.

{term:byte-pair encoding|Byte-pair encoding, BPE} (Gage, 1994, to compress bytes; for translation Sennrich and others, 2016) finds them by counting. Begin with letters. Look for the two neighbours that stand side by side most often, glue them together everywhere, and again. Each gluing is a {term:BPE merge|merge}; frequent words become one token, rare ones stay in pieces. A new word is cut by the same merges, in the order in which they were learned.

**By hand.** *chat* is met 5 times, *chats* twice, *chien* 3 times. c and h are side by side 5 + 2 + 3 = 10 times, h and a 7 times: the first merge is *ch*. Now a and t, and ch and a, have 7 each, and the alphabet decides: *at*, then *chat* from ch and at, 7 times.
"""

# %% [markdown] kind="text" exercise="next_merge" track="stretch"
r"""
**If you like, build `next_merge`**, one such step. `words` is a dict: a word as a tuple of its tokens, and how often it is met, `{("c", "h", "a", "t"): 5, …}`. Return the best pair, a tuple of two, and a new dict of all words, with that pair merged from left to right wherever it occurs (`("ch", "a", "t"): 5`). **Among equally frequent pairs, choose the first in alphabetical order** (Python compares tuples of strings that way). If a word occurs five times, so does each of its pairs.
"""

# %% kind="exercise" exercise="next_merge" title="One merge" difficulty=3 importance=3 track="stretch"
def next_merge(words):
    """{tuple of tokens: count}  ->  (left, right), {tuple of tokens: count}"""
    # solution
    counts = {}
    for word, n in words.items():
        for i in range(len(word) - 1):
            pair = word[i : i + 2]
            counts[pair] = counts.get(pair, 0) + n
    best = min(counts, key=lambda pair: (-counts[pair], pair))
    merged = {}
    for word, n in words.items():
        tokens, rest = (), word
        while rest:
            width = 2 if rest[:2] == best else 1
            tokens, rest = (*tokens, "".join(rest[:width])), rest[width:]
        merged[tokens] = merged.get(tokens, 0) + n
    return best, merged
    # end solution

# %% kind="check" exercise="next_merge"
check("next_merge", next_merge)

# %% [markdown] kind="hints" exercise="next_merge"
r"""
### A nudge
Two halves: count, then glue. For counting, `word[i : i + 2]` is a pair of neighbours, as a tuple. For gluing, go through the word from the left: are the next two tokens the pair? Then take both, else one.

---
### Step by step
1. `counts[pair] += n` for every pair of every word, with `n` the word's count.
2. `min(counts, key=lambda pair: (-counts[pair], pair))`: most frequent first, then the alphabet.
3. For each word a new tuple. `while rest:` take two tokens and join them where `rest[:2]` is the pair, else one.
"""

# %% kind="see" name="merges"
next_merge = yours("next_merge")
counts = Counter(word for pair in sentences for word in pair.tgt)
pieces, merges = {("▁", *word): n for word, n in counts.items()}, []
while len(merges) < 80:
    pair, pieces = next_merge(pieces)
    merges.append(pair)
print("the first merges:", " ".join("".join(pair) for pair in merges[:16]))
for word in ("parce", "femme", "princes", "fantôme"):
    cut = " ".join(apply_merges("▁" + word, merges))
    print(f"{word:>8}, met {counts.get(word, 0):>4} times:  {cut}")

# %% [markdown] kind="text"
r"""
▁ marks where a word begins, so that the pieces can be put together again. After 80 merges *parce* is whole, *femme* not yet, and words that were never met fall into known pieces. Nothing is unknown but a strange letter.

**The real thing, if you like.** Multi30k: 29,000 captions of photographs, in 8,000 pieces that the two languages of a run share (of German, French and English). The first line fetches it (this needs the network), the second trains, the third measures:

    python3 -m course_lib data multi30k
    python3 -m course_lib train transformer --data multi30k --from de --to en
    python3 -m course_lib evaluate --checkpoint runs/multi30k-de-en_transformer_0

What to expect: on one H200 everything together, learning the pieces and scoring included, took {result:clock/seconds:.1f} s, with a BLEU of {result:clock/bleu/value:.1f} (lesson 16 says what that is; `clock.json`). Over three seeds it is {result:multi30k_ladder/transformer/scores/test/greedy:.1f}, with Bahdanau at {result:multi30k_ladder/bahdanau/scores/test/greedy:.1f} and seq2seq at {result:multi30k_ladder/seq2seq/scores/test/greedy:.1f}, all greedy, and none of them the best there (lesson 18; `multi30k_ladder`). On a CPU expect hours: 9.4 million parameters, 20 epochs; nobody has measured it here. Ctrl-C stops it, the same line goes on.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself

The first try counts for your score; every answer gets a reason.
"""

# %% kind="quiz"
quiz("15", "closing")

# %% [markdown] kind="instructor"
r"""
**Before the lesson.** One machine runs the full quick recipe (section 6) on the screen while the room writes `training_step`: it is done before they are. On another, interrupt a run and go on.

**Ask the room.** "Loss 0.1 on validation. Would you ship it?" Expected: yes. Then show patient D. Then: "What did we not measure?" (Translations that read their own words.)

| they say | what it is | answer |
|---|---|---|
| "it is fed the answer, so training is cheating" | M27 | Shifted by one it is fed the words *before*; unshifted is patient D. |
| "softmax, then cross_entropy" | M29 | The floor: 4.3 with 195 words, 8.2 with 10,000. Patient B. |
| "a loss of 1.4 is bad" | M30 | With ε = 0.1 and 37,000 words 1.38 is perfect. |
| "warm-up is always needed" or "is a superstition" | M31 | Four points with norms last, under one with norms first. |
| "the checkpoint is the weights" | – | Without Adam's means the next step is another one. |

**Common slips.** In `training_step`: clipping inside the loop, $\hat m$ kept in place of $m$. In `by_length`: lengths in place of places. In `smoothed_loss`: padding counted.

**If time is short**, leave out section 7; keep the step, the live run, the clinic and the repair.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | what it is |
|---|---|
| `by_length` | sentences to batches: {result:lesson_15/padding/as they come:.0%} padding becomes {result:lesson_15/padding/by length:.1%} |
| `paper_rate` | up in a straight line, down with the root of the step |
| `smoothed_loss` | $1 - \varepsilon$ of the right word, $\varepsilon$ of all; padding does not count |
| `training_step` | loss, gradient, clip, Adam |
| {term:BPE merge} | the most frequent neighbours become one token |

- Adam gives each weight a step of its own, of about one rate.
- With smoothing the loss has a floor above 0. A softmax too many has one, too.
- A checkpoint holds weights, Adam's means, step and place in the corpus.
- Two losses and the translations: only all three together tell what ails a run. Damage by a high rate stays.
- Without warm-up norms last ({term:post-norm}) lost four points, norms first hardly one. Say for which model a claim holds.

**Still missing.** We have said *right* or *wrong*, and taken the likeliest word each time. Lesson 16 searches better, and measures better.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani and others, *Attention Is All You Need* (2017), section 5. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Kingma and Ba, *Adam: A Method for Stochastic Optimization* (2015). [arXiv 1412.6980](https://arxiv.org/abs/1412.6980)
- Szegedy and others, *Rethinking the Inception Architecture* (2016), section 7: label smoothing. [arXiv 1512.00567](https://arxiv.org/abs/1512.00567)
- Sennrich, Haddow and Birch, *Neural Machine Translation of Rare Words with {term:subword|Subword} Units* (2016). [arXiv 1508.07909](https://arxiv.org/abs/1508.07909)
- Xiong and others, *On Layer Normalization in the Transformer Architecture* (2020). [arXiv 2002.04745](https://arxiv.org/abs/2002.04745)
- [docs/training.md](../docs/training.md): several GPUs, several machines, and what is the same to the last bit.
"""
