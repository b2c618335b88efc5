# Lesson 15 · the source. Edit this file, then run `python3 -m course_lib build 15`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 15 · Training a translator

**The question:** what does it take to train your own Transformer?

About {minutes} minutes. You need the Transformer from [lesson 14](14_the_transformer.ipynb), cross-entropy and the gradient from [lesson 01](01_guessing_the_next_word.ipynb), clipping from [lesson 02](02_recurrent_networks.ipynb) and padding from [lesson 10](10_masks.ipynb).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **write** a training step with Adam;
2. **train** your own Transformer with your own training step, stop it and resume it;
3. **explain** what batching by length, warm-up and label smoothing do;
4. **write** a complete training script with PyTorch's optimiser; <!-- core -->
5. **judge**, from runs with several seeds, what warm-up and label smoothing are worth; <!-- core -->
6. **diagnose** faulty runs from their curves; <!-- core -->
7. **explain** why your training step is slow on a GPU, and what makes it fast. <!-- core -->
"""

# %% [markdown] kind="instructor"
r"""
**Before the lesson.** Start the full run (section 7) on the screen while the learners write `training_step`, and interrupt and resume it once in front of them. On a GPU, show `bench own_file` afterwards.

**Open with (2 min)** two weights on the board, one with a gradient of 10, the other with 0.001. "Both have the same learning rate. Is that fair?" Expected: the second hardly moves, or the first moves far too much. "What would you do?" Divide each by the size of its gradients: Adam.

**If time is short,** leave out the exercises `by_length` and `paper_rate`, but run the cells that follow them, because section 6 uses both functions. Keep the training step, the live run and the faulty runs.
"""

# %% kind="setup"
from collections import Counter
from statistics import mean

import torch
from torch import nn
from torch.nn import functional as F

from course_lib import views
from course_lib.formatting import fixed
from course_lib.results import runs
from course_lib.runtime import device
from course_lib.teaching import check, explain, predict, quiz, start_lesson
from course_lib.teaching import yours
from course_lib.text import splits, translations_of
from course_lib.text.batching import Epochs
from lessons.l15_training_a_translator import (
    FAULTY_RUNS, FULL_RUN, HEALTHY, LossFloor, TrainingSettings, TranslatorRun,
    SENTENCES, apply_merges, class_to_train, clipped, file_to_train, full_data,
    key_picture, run_folder, short_data, train_live,
)

start_lesson("training_a_translator", seed=15)

# %% [markdown] kind="text"
r"""
This is the run of section 7, recorded on two CPU cores. Wrong words are underlined, and missing ones are left blank. In the last row, the weights are an average over the last 15% of the steps.
"""

# %% kind="picture" name="key picture" hide_input=true
key_picture.draw()

# %% kind="picture" name="here" hide_input=true track="short"
views.transformer_map(
    "whole", "All parts are there. Now they are trained together."
)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("15", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · Adam

The Transformer of lesson 14 got its weights from a file. To train one, we need what lesson 01 needed: the five lines of its training loop. There, `torch.optim.Adam` took the steps; now you write them yourself.

Gradient descent (lesson 01) subtracts the gradient times the learning rate, and all weights share one rate. With a rate of 0.01, a weight with a gradient of 10 moves by 0.1, and one with a gradient of 0.001 by 0.00001.

{term:Adam} (Kingma and Ba, 2015) adapts the step to each weight. For each weight, it keeps two **exponential moving averages** that start at 0: $m \leftarrow 0.9\,m + 0.1\,g$ of the gradient $g$, called the **first moment**, and $v \leftarrow 0.98\,v + 0.02\,g^2$ of its square, the **second moment**. The factors 0.9 and 0.98 are called $\beta_1$ and $\beta_2$. Adam subtracts the rate times $m/\sqrt v$ from the weight. If the gradient is always 10, this ratio tends to $10/\sqrt{100} = 1$; if it is always 0.001, to $0.001/\sqrt{0.000001} = 1$. So both weights move by the learning rate in each step. If the sign of a gradient keeps changing, $m$ stays near 0 and the weight hardly moves.

One detail remains. After the first step with a gradient of 10, the averages are 1 and 2 instead of 10 and 100, because they started at 0. Adam therefore divides them by $1 - 0.9^t$ and $1 - 0.98^t$, where $t$ is the step number; this is called **bias correction**. For $t = 1$, this gives $1/0.1 = 10$ and $2/0.02 = 100$.
"""

# %% [markdown] kind="text" track="short"
r"""
## 2 · Your training step

`weights` maps the name of each parameter to its tensor. `loss_of` is a function that computes the loss of one batch from such a dictionary. `state` holds Adam's averages, a pair $(m, v)$ for each name; it is empty before step 1. `step` counts from 1.
"""

# %% [markdown] kind="instructor"
r"""
**Common errors in `training_step`:** clipping inside the loop, keeping $\hat m$ instead of $m$. **Stuck?** Do the example by hand first: 3 becomes 2.9.
"""

# %% [markdown] kind="text" exercise="training_step"
r"""
Return three things: the loss before the step, as a plain number; a dictionary of new weights; and the new state. Don't change `weights` or `state`; create new ones.

The first three lines are given: `ready` contains the same numbers as `weights`, but torch tracks gradients for them, and `gradients` has one tensor for each of them, in the same order.

1. {term:clipping|Clip} the gradients together to a norm of 1: `clipped(list(gradients), 1.0)` returns a new list.
2. For each weight, update $m$ and $v$ with its gradient, as in section 1, and keep both.
3. Compute $\hat m = m/(1 - 0.9^{\text{step}})$ and $\hat v = v/(1 - 0.98^{\text{step}})$. The new weight is $w - \text{rate} \cdot \hat m / (\sqrt{\hat v} + 10^{-9})$; the small number, $\epsilon$, prevents a division by 0. $\beta_2 = 0.98$ and $\epsilon = 10^{-9}$ are the 2017 paper's settings; Kingma and Ba, and PyTorch by default, use 0.999 and $10^{-8}$.

**By hand.** Take one weight, 3, and the loss $w^2$. The loss is 9 and the gradient 6, which is clipped to 1. So $m = 0.1$ and $v = 0.02$, and both are 1 after bias correction. With a rate of 0.1, the new weight is 2.9.
"""

# %% kind="exercise" exercise="training_step" title="One training step" difficulty=3 importance=5 track="short"
from lessons.l15_training_a_translator.solutions import training_step

# %% kind="check" exercise="training_step"
check("training_step", training_step)

# %% [markdown] kind="hints" exercise="training_step"
r"""
### Where to start
Start with the worked example and print the result of each of the three steps. `state.get(name, (0, 0))` returns the pair, or two zeros if there is none yet.

---
### The structure
Create two empty dictionaries. Loop over `zip(weights.items(), gradients)`, so that you have the name, the weight and the gradient together. At the end of each iteration, store the new weight in one dictionary and the pair `m, v` in the other.

---
### Common errors
Clip all gradients together *before* the loop. $v$ is the mean of the squared gradient, not of the squared $m$. Keep $m$ and $v$, not $\hat m$ and $\hat v$.
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · Train a small translator

In lesson 14 you wrote a Transformer. The next cell looks for it: first for the file `my_transformer.py` (section 8 of the full lesson), then for your functions `encode_source` and `decode_logits`. It loads the course's trained weights into what it finds. If the logits are the same as the library's, we train **your** Transformer, otherwise the library's; the cell prints which. Your training step trains it.

We start with a run of about 20 seconds on two CPU cores: one block in the encoder and one in the decoder (`n_layers=1`), 3,000 toy sentences of 3 to 6 English words, and 200 others for validation. `TranslatorRun` calls your training step for each batch. The batches and the learning rate come from the library for now; the loss is the cross-entropy with teacher forcing (lesson 04). The plotted training loss is the mean over the last 24 steps, so it lags behind at first. We train without dropout, because the run is short and doesn't overfit; on the full task, we saw no benefit from dropout either (lesson 13).
"""

# %% kind="code"
file = file_to_train()
data = short_data()
training_step = yours("training_step")
EXAMPLES = ("the queen slept", "the little cow is very old", "a sad king ran")


def small_run(settings, **parts):
    """A run with your model and your training step."""
    own = {"file": file, "step": training_step, "watched": EXAMPLES}
    return TranslatorRun(data, settings, **own, **parts)


PLAIN = TrainingSettings(smoothing=0.0)  # plain cross-entropy

# %% [markdown] kind="instructor"
r"""
**While it trains,** read the three translations aloud and ask what the model has learned so far. At the stop: "What has to be in the file?"

**They say:** "The checkpoint is the weights." **Answer:** Without Adam's moving averages, the next step is a different one.
"""

# %% kind="train" ignore_output=true
# until=96 has the same effect as pressing the stop button after step 96.
run = train_live(small_run(PLAIN), "lesson_15", until=96, anew=True)

# %% [markdown] kind="text"
r"""
The run was stopped after step 96 of 240. Everything needed to resume it is in a file, the {term:checkpoint}: the weights, **Adam's moving averages**, the step number, and the position in the corpus. With the weights alone, the next step would be different, because the averages would start from 0. Our loop seeds the random generator anew in each step; an ordinary loop with dropout or shuffling must also save its state (`torch.get_rng_state()`).

The next cell resumes the run. **Try it:** run the cell, press ■ (Kernel ▸ Interrupt) before it ends, and run it again. On a CPU, the result is identical, bit for bit, to that of an uninterrupted run.
"""

# %% kind="train" ignore_output=true
run = train_live(small_run(PLAIN), "lesson_15")
exact = run.history[-1].scores["exact"]
assert exact > 0.8 or not run.finished, "about nine in ten are expected"
print(f"exact match: {fixed(100 * exact, 0)}% of 200 validation sentences")
sentence = "the old frog fell"  # or other words: king, mouse, often, tired
rows = {"your model": run.translate(sentence)}
views.translations(sentence, rows, reference=translations_of(sentence))

# %% [markdown] kind="text" track="short"
r"""
## 4 · Batches of similar length

The 2017 paper uses three refinements in training. The first is about speed. A batch is a rectangle: every row is padded to the length of the longest sentence. Padding doesn't affect the result, but it costs as much computation as real words.

**By hand.** Take four sentences of 3, 9, 2 and 8 words, and two sentences per batch. In this order, (3, 9) takes 2 · 9 = 18 positions and (2, 8) takes 16, together 34 for 22 words. Sorted by length, (2, 3) takes 6 and (8, 9) takes 18, together 24. The fraction of positions that are padding, the {term:padding fraction}, falls from 12/34 = 35% to 2/24 = 8%. Putting sentences of similar length into the same batch is called {term:batching by length}.
"""

# %% [markdown] kind="instructor"
r"""
**Common error in `by_length`:** batches of lengths instead of indices.
"""

# %% [markdown] kind="text" exercise="by_length"
r"""
`lengths` is a list of integers, and a sentence is identified by its index in that list. Return a list of batches, each a list of indices, so that every sentence is in exactly one batch. The size of a batch, its number of rows times its **longest** length, must be at most `room`. No sentence is longer than `room`.

Put sentences of similar length together: the total padding may be up to a third more than if you sort by length. Also fill the batches: use fewer than twice as many as necessary. For an empty list, return an empty list. Don't change `lengths`.
"""

# %% kind="exercise" exercise="by_length" title="Batches by length" difficulty=2 importance=4 track="core"
from lessons.l15_training_a_translator.solutions import by_length

# %% kind="check" exercise="by_length"
check("by_length", by_length)

# %% [markdown] kind="hints" exercise="by_length"
r"""
### Where to start
With a suitable `key`, `sorted(range(len(lengths)), key=…)` returns the indices, that of the shortest sentence first. If you go through them in that order, which sentence in a batch is the longest?

---
### Step by step
1. Sort the indices by length.
2. Go through them. The current sentence is the longest so far, so if you add it, the batch takes `(rows + 1) * lengths[i]` positions.
3. If that is at most `room`, add the index to the last batch. Otherwise, start a new batch with it.
"""

# %% kind="see" name="padding" track="core"
by_length = yours("by_length")
sentences = splits(seed=0, sizes={"train": 3000}).train
lengths = [max(len(pair.src), len(pair.tgt)) + 1 for pair in sentences]  # with EOS

in_order = [range(first, first + 40) for first in range(0, 3000, 40)]
ways = {"in order": in_order, "by length": by_length(lengths, 1024)}
for name, batches in ways.items():
    area = sum(len(batch) * max(lengths[i] for i in batch) for batch in batches)
    percent = fixed(100 * (1 - sum(lengths) / area), 1)
    print(f"{name:>9}: {len(batches)} batches, {percent}% of the positions are padding")

# %% [markdown] kind="text" track="core"
r"""
These are 3,000 sentences of the full toy language: {printed:padding/in order} batches of 40 in order, and {printed:padding/by length} with our version of `by_length` and a room of 1,024. In training, the batches are shuffled, and so are sentences of equal length; otherwise, the model would see all short sentences first.
"""

# %% [markdown] kind="text" track="short"
r"""
## 5 · Warm-up

The second refinement is a {term:learning-rate schedule}: the learning rate depends on the step. The 2017 paper increases it linearly for 4,000 steps and then decreases it in proportion to $1/\sqrt{\text{step}}$. The first phase is called {term:learning-rate warm-up|warm-up}. The paper gives no reason. One explanation is that Adam's averages are unreliable after only a few batches.
"""

# %% [markdown] kind="formula" track="core"
r"""
$$ \text{rate} = \frac{1}{\sqrt{d_{\text{model}}}} \cdot \min\left(\frac{1}{\sqrt{\text{step}}},\; \frac{\text{step}}{\text{warm-up}^{1.5}}\right) $$

| symbol | meaning | in the paper's base model |
|---|---|---|
| $d_{\text{model}}$ | width of the model | 512 |
| warm-up | number of warm-up steps | 4,000 |

**By hand.** Take a width of 4 and a warm-up of 4, so $4^{1.5} = 8$. Step 1: ½ · min(1, 1/8) = 1/16. Step 4: ½ · min(½, ½) = ¼, the peak, where both terms are equal. Step 16: ½ · min(¼, 2) = 1/8.
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** Put the example above into the first version: a width of 4 and a warm-up of 4 hide the bug, because both square roots are 2. Try another width.
"""

# %% [markdown] kind="text" exercise="paper_rate"
r"""
Here is a first version of this formula. Make it pass the check.
"""

# %% kind="exercise" exercise="paper_rate" mode="bug" title="The learning rate of the 2017 paper" difficulty=2 importance=3 track="core"
from lessons.l15_training_a_translator.solutions import paper_rate

# %% kind="check" exercise="paper_rate"
check("paper_rate", paper_rate)

# %% [markdown] kind="hints" exercise="paper_rate"
r"""
### Where to start
The first version gets the worked example right. What do its width and its warm-up have in common? Try a width of 512 and a warm-up of 4,000.

---
### Step by step
Compare the factor in front of the minimum with the formula. In the worked example, $d_{\text{model}}$ and the warm-up are equal, so it can't show which of the two is used.
"""

# %% [markdown] kind="text" track="core" contents="the formula and exercise 3, and what warm-up is worth in our runs"
r"""
**Is warm-up necessary?** We trained Transformers with three blocks on each side and a peak rate of 0.003 for 4,000 steps, with 400 warm-up steps and with none. In these runs, the rate then falls linearly to 0.
"""

# %% [markdown] kind="instructor"
r"""
**They say:** "Warm-up is always needed", or "is superstition" (M31). **Answer:** In the table below, it is worth four points with post-norm, less than one with pre-norm.
"""

# %% kind="predict" track="core" hide_input=true
def recorded_curve(experiment, variant, which, upto):
    seeds = [run["history"] for run in runs(experiment) if run["variant"] == variant]
    steps = [record["step"] for record in seeds[0] if record["step"] <= upto]
    return steps, [mean(seed[i][which] for seed in seeds) for i in range(len(steps))]


variants = {"warm-up": "post-norm", "no warm-up": "post-norm, no warm-up"}
curves = {k: recorded_curve("warm_up", v, "loss", 1000) for k, v in variants.items()}
losses = {k: loss for k, (_, loss) in curves.items()}
predict("15", "train-post-norm-warm-up", views.lines(
    curves["warm-up"][0], losses, x_name="step", y_name="validation loss",
    title="Post-norm: the first 1,000 steps, mean of three seeds",
    alt="Validation loss with and without warm-up, for post-norm, over 1,000 steps.",
))

# %% [markdown] kind="text" track="core"
r"""
Exact match on the test set, lowest to highest of three seeds:

| norm, peak rate | with warm-up | without |
|---|---|---|
| post-norm (the paper's), 0.003 | {result:min warm_up/post-norm/scores/test/exact:.1p} to {result:max warm_up/post-norm/scores/test/exact:.1%} | **{result:min warm_up/post-norm, no warm-up/scores/test/exact:.1p} to {result:max warm_up/post-norm, no warm-up/scores/test/exact:.1%}** |
| post-norm, 0.0015 | {result:min warm_up/post-norm, half the rate/scores/test/exact:.1p} to {result:max warm_up/post-norm, half the rate/scores/test/exact:.1%} | {result:min warm_up/post-norm, half the rate, no warm-up/scores/test/exact:.1p} to {result:max warm_up/post-norm, half the rate, no warm-up/scores/test/exact:.1%} |
| pre-norm (ours), 0.003 | {result:min recipe/as it is/scores/test/exact:.1p} to {result:max recipe/as it is/scores/test/exact:.1%} | {result:min recipe/no warm-up/scores/test/exact:.1p} to {result:max recipe/no warm-up/scores/test/exact:.1%} |

Post-norm models lose about four points without warm-up at 0.003; at half the rate they are worse too, but the runs vary too much to say by how much. With pre-norm, the difference is less than one point. This holds for three blocks, these rates and this task; we never ran pre-norm without warm-up at 0.0015. That post-norm needs warm-up more fits a second explanation, which lesson 13 mentioned: with post-norm, the gradients near the output are large at initialisation (Xiong et al., 2020).
"""

# %% [markdown] kind="text" track="short"
r"""
## 6 · Label smoothing

The third refinement changes the target. Cross-entropy asks for a probability of 1 for the correct word. A softmax never reaches 1, so the logits keep growing. {term:label smoothing|Label smoothing} (Szegedy et al., 2016) asks for a little less: $1 - \varepsilon$ goes to the correct word, and $\varepsilon$ is spread evenly over **all** $V$ words, including the correct one. The paper uses $\varepsilon = 0.1$.

$$ \text{loss} = (1 - \varepsilon) \cdot (-\ln p_{\text{correct}}) \;+\; \varepsilon \cdot \frac1V \sum_{w} (-\ln p_w) $$

**By hand.** Four words have the probabilities 1/8, 1/8, ½, ¼; the third is correct, and $\varepsilon = 0.2$. Their $-\ln p$ is 2.079, 2.079, 0.693 and 1.386. The first term is 0.8 · 0.693 = 0.555, the second 0.2 · 1.560 = 0.312 (1.560 is the mean of all four), and the loss is 0.866. Even a perfect model now has a loss above 0, because the target itself is uncertain.
"""

# %% [markdown] kind="instructor"
r"""
**Common error in `smoothed_loss`:** padding is counted.
"""

# %% [markdown] kind="text" exercise="smoothed_loss"
r"""
Write this loss for a batch. `logits` (batch, n, vocab) come from the model. `targets` (batch, n) contain the id of each correct word, and **0 where there is padding**. `smoothing` is ε. Return the mean over all words that aren't padding, as a scalar tensor of shape `()` from which gradients flow back to the logits. `log_softmax(dim=-1)` computes $\ln p$ from logits without overflow.
"""

# %% kind="exercise" exercise="smoothed_loss" title="The smoothed loss" difficulty=3 importance=4 track="core"
from lessons.l15_training_a_translator.solutions import smoothed_loss

# %% kind="check" exercise="smoothed_loss"
check("smoothed_loss", smoothed_loss)

# %% [markdown] kind="hints" exercise="smoothed_loss"
r"""
### Where to start
There are two parts, each of shape (batch, n): $\ln p$ of the correct word, and the mean of $\ln p$ over all words. You can pick out the first with `gather`, or multiply by `F.one_hot(targets, vocab)` and sum.

---
### Step by step
1. Apply `log_softmax` over the last axis.
2. `gather(-1, targets[..., None])[..., 0]` picks out the entry of the correct word.
3. Add the two terms, with the factors $-(1 - \varepsilon)$ and $-\varepsilon$.
4. Keep the positions whose target isn't 0, and take one mean over all of them.
"""

# %% kind="library" track="core"
smoothed_loss = yours("smoothed_loss")
logits, targets = torch.randn(4, 7, 50), torch.randint(0, 50, (4, 7))
expected = F.cross_entropy(logits.mT, targets, ignore_index=0, label_smoothing=0.1)
assert torch.isclose(smoothed_loss(logits, targets, 0.1), expected)
print("the same as F.cross_entropy, which takes logits and applies the softmax itself")

# %% [markdown] kind="instructor"
r"""
| they say | misconception | answer |
|---|---|---|
| "a loss of 1.4 is bad" | M30 | With ε = 0.1 and 37,000 words, 1.38 is perfect. |
| "softmax, then cross_entropy" | M29 | The loss can't fall below 4.3 with 195 words, or 8.2 with 10,000. Run B in section 8. |
"""

# %% kind="predict" track="core"
predict("15", "train-floor", LossFloor())

# %% [markdown] kind="text" track="core"
r"""
No model can do better than predict the smoothed target itself. So **a loss of 1.4 can be excellent, and a smoothed loss can't be compared with a plain one.** In runs with label smoothing, we plot a smoothed training loss and a plain validation loss.

**An extra softmax** also keeps the loss high. If you pass `F.cross_entropy` probabilities instead of logits, it applies a second softmax, which makes them nearly equal, and the loss can't fall below $\ln(e + V - 1) - 1$. With 10,000 words, that is 8.21.

On our task, label smoothing makes no clear difference: {result:min recipe/as it is/scores/test/exact:.1p} to {result:max recipe/as it is/scores/test/exact:.1%} of the test sentences were correct with smoothing, and {result:min recipe/no smoothing/scores/test/exact:.1p} to {result:max recipe/no smoothing/scores/test/exact:.1%} without. In the paper, it improved the {term:BLEU} score.

Now train again, with your batches, schedule and loss. `paper_rate` is scaled so that it peaks at 0.005 after 24 steps.
"""

# %% kind="train" ignore_output=true track="core"
paper_rate = yours("paper_rate")
own_parts = {"batcher": by_length, "schedule": paper_rate, "loss": smoothed_loss}
run = train_live(small_run(HEALTHY, **own_parts), "lesson_15_own_parts", anew=True)
if run.finished:
    assert run.history[-1].scores["exact"] > 0.8, "about nine in ten are expected"

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (4 min)** before they write. "How can the validation loss be lower than the training loss?" Expected: the two aren't the same loss; one is smoothed and can't get near 0.
"""

# %% kind="explain" track="core" contents="exercise 4 on the smoothed loss, its lowest possible value, a run with all your functions, and a complete PyTorch training script"
explain("15", "train-above")

# %% [markdown] kind="text" track="core"
r"""
**A complete training script.** You have written every part once; PyTorch has all of them too. This is how a `train.py` usually looks. It calls your class directly, as `model(source, target)`. Without dropout, the lines from `zero_grad` to `schedule.step` take the same steps as your training step and `paper_rate`, but they change the weights in place.

`torch.save` writes a pickle. Loading a pickle can run any code in it, so use `torch.load(path, weights_only=True)`. Most current code uses **AdamW** (Loshchilov and Hutter, 2019; `torch.optim.AdamW`), which also shrinks every weight by a small fraction in each step (*weight decay*).
"""

# %% kind="library" name="script parts" track="core"
Transformer, where = class_to_train(file), device()
torch.manual_seed(0)
sizes = {"d_model": 64, "n_heads": 4, "d_ff": 256, "n_layers": 1, "dropout": 0.1}
model = Transformer(data.tokenizer.vocab_size, **sizes).to(where)
optimizer = torch.optim.Adam(model.parameters(), 0.005, betas=(0.9, 0.98), eps=1e-9)
schedule = torch.optim.lr_scheduler.LambdaLR(  # t = 0, 1, 2, …; rate = lr · factor
    optimizer, lambda t: paper_rate(t + 1, 64, 24) / paper_rate(24, 64, 24)
)
batches = Epochs(data.train, tokens_per_batch=256, seed=0)
held_out = run.validation_batch.to(where)
path = run_folder("lesson_15_script").with_suffix(".pt")


def loss_on(batch, smoothing):
    logits, options = model(batch.src, batch.tgt_in), {"label_smoothing": smoothing}
    return F.cross_entropy(logits.mT, batch.tgt_out, ignore_index=0, **options)

# %% kind="library" name="script" ignore_output=true track="core"
for step in range(1, 49):
    model.train()  # dropout is active
    loss = loss_on(next(batches).to(where), smoothing=0.1)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    if step % 24 == 0:
        model.eval()  # dropout is off
        with torch.no_grad():
            validation = loss_on(held_out, smoothing=0.0).item()
        print(f"step {step}: validation loss {fixed(validation, 1)}")
        parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
        saved = {name: part.state_dict() for name, part in parts.items()}
        saved |= {"step": step, "position": batches.position}
        torch.save(saved | {"generator": torch.get_rng_state()}, path)

# %% [markdown] kind="text" track="short"
r"""
## 7 · The whole language

The full task has 20,000 sentences of up to 20 words. The next cell trains a Transformer of width 80, with two blocks on each side, for 2,000 steps, with your file and functions, or the library's where you haven't written one. The result is the average of the weights from the last 15% of the steps ({term:checkpoint averaging}). Set `FULL = True` to start it; you can stop it with ■ and resume it with the same cell. It takes a few minutes on a CPU. On a GPU, the library's step, batches, loss and linear decay train your file in seconds; `OWN_STEP = True` uses your functions anyway.
"""

# %% kind="train" name="full" ignore_output=true
FULL = False  # True: train on all 20,000 sentences
OWN_STEP = device().type != "cuda"  # on a GPU, True: your own step, much slower

if FULL:
    own = {"step": yours("training_step") if OWN_STEP else None}
    own |= {"batcher": yours("by_length"), "schedule": yours("paper_rate")}
    own |= {"loss": yours("smoothed_loss"), "file": file, "device": device()}
    whole = TranslatorRun(full_data(), FULL_RUN, watched=SENTENCES, **own)
    print("the checkpoint will be in", run_folder("lesson_15_full"))
    whole = train_live(whole, "lesson_15_full")
    if whole.finished:
        print(f"exact match on the test set: {fixed(100 * whole.test_exact(), 1)}%")

# %% [markdown] kind="text" track="core" contents="what to expect from the full run, the checkpoint on the command line, and what makes training fast on a GPU"
r"""
With lesson 14's reference file and our versions of the four functions, this run translated {result:cpu/own_file/ways/own file, own step/exact:.1%} of 1,000 test sentences correctly on two CPU cores. Measured side by side, one of its steps took {result:cpu/own_file/own step over library:.1f} times as long as a step of the library's fastest configuration (`train transformer --quick`), which reached {result:cpu/own_file/ways/library, quick run/exact:.1%}. These are single runs (recorded in `data/results/cpu/own_file.json`).

On the command line, say which file the checkpoint belongs to; `FOLDER` is the one that the cell prints:

    python3 -m course_lib translate --checkpoint FOLDER --model notebooks/my_transformer.py "the cat is tired"
    python3 -m course_lib evaluate --checkpoint FOLDER --model notebooks/my_transformer.py

**Where does the time go on a GPU?** Your training step launches about {result:gpu/own_file/kernels per own step:,.0f} small programs on the GPU, called *kernels* (a matrix product, a sum, a square root). On an NVIDIA H200, each takes a few millionths of a second. Python and PyTorch together need longer than that to launch it, so the GPU mostly waits, and a faster one would hardly help. Besides, `loss.item()` makes Python wait for the GPU in every step.

The remedy is to record the sequence of kernels once and replay it with a single call, as a *CUDA graph*. The library's training step does this with any module, so it can train **your file unchanged**. The shapes must repeat, so sentences are padded to a few fixed lengths. `Adam(…, fused=True)` and `torch.compile` also reduce the number of launches. With the reference file, we measured (recorded in `data/results/gpu/own_file.json`, one run each):

| on an H200 | ms per step | whole run | exact match |
|---|---|---|---|
| your file, your step | {result:gpu/own_file/ways/own file, own step/ms per step:.1f} | {result:gpu/own_file/ways/own file, own step/seconds:.0f} s | {result:gpu/own_file/ways/own file, own step/exact:.1%} |
| your file, captured step | {result:gpu/own_file/ways/own file, captured step/ms per step:.1f} | {result:gpu/own_file/ways/own file, captured step/seconds:.0f} s | {result:gpu/own_file/ways/own file, captured step/exact:.1%} |
| the library's fastest configuration | {result:gpu/own_file/ways/library, quick run/ms per step:.1f} | {result:gpu/own_file/ways/library, quick run/seconds:.0f} s | {result:gpu/own_file/ways/library, quick run/exact:.1%} |

One run each can't show whether the differences in exact match mean anything, and the batches and schedules differ too: yours in the first row, the library's in the others. To compare them on your own GPU:

    python3 -m course_lib bench own_file
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min)** before the figure. "The validation loss is 0.1. Would you ship it?" Most will say yes. Then show run D and ask: "What didn't we measure?" Expected: translations, where the model gets its own words as input.
"""

# %% [markdown] kind="text" contents="five faulty training runs to diagnose from their curves"
r"""
## 8 · Diagnose faulty runs

The figure shows the small run six times: once healthy, and five times with one fault each (means of three seeds, with linear decay). For *exact match*, decoding is {term:autoregressive}: the model gets its own words as input. One of these six faults isn't shown:

- The learning rate is 50 times too small.
- The learning rate is 20 times too high.
- The softmax is applied twice.
- There are only 100 training sentences instead of 3,000.
- The target isn't shifted: at each position, the decoder's input is the word that it has to predict.
- There is no warm-up.

Guessing uniformly among the 195 words gives a loss of ln 195 = 5.3. With a smoothing of 0.1, the training loss can't fall below 0.85; with an extra softmax, no loss can fall below 4.3. In the right-hand panel, B, C, D and E overlap near 0.
"""

# %% kind="see" hide_input=true
def compared(which, scale=1):
    """The recorded curves of a healthy run and of five faulty ones, A to E."""
    variants = {"healthy": "healthy"} | FAULTY_RUNS
    curves = {k: recorded_curve("sick", v, which, 240) for k, v in variants.items()}
    scaled = {k: [scale * y for y in v[1]] for k, v in curves.items()}
    return curves["healthy"][0], scaled


views.panels(
    [
        views.Part("Training loss", *compared("train_loss"), "loss", y_limits=(0, 6.5)),
        views.Part("Validation loss", *compared("loss"), "loss", y_limits=(0, 6.5)),
        views.Part("Exact match", *compared("exact", 100), "%", y_limits=(-3, 103)),
    ],
    x_name="step",
    alt="Both losses and exact match of a healthy run and five faulty ones.",
)

# %% [markdown] kind="instructor"
r"""
**Vote** on runs C and D. In groups, each group takes one run and defends its diagnosis with one number from the figure.

**They say:** "It gets the answer as input, so training is cheating" (M27). **Answer:** The target is shifted by one: it gets the words *before*. Without the shift, it is run D.
"""

# %% kind="quiz"
quiz("15", "clinic")

# %% [markdown] kind="text"
r"""
**A** memorises its 100 sentences: it overfits (lesson 01). Its mean validation loss is lowest after 72 steps, where {term:early stopping|early stopping} would end the run.

**B** predicts the end of the sentence, the most frequent token ({result:lesson_15/softmax twice/fraction of EOS:.1%} of all), at every position. With an extra softmax, that gives a loss of $\ln(e + 194) - {result:lesson_15/softmax twice/fraction of EOS:.3f} = {result:lesson_15/softmax twice/loss:.2f}$, where both curves stay.

**C** saturates its attention: after 48 steps, the largest attention weight of a word is {result:lesson_15/high rate/largest attention weight:.3f} on average, compared with {result:lesson_15/healthy/largest attention weight:.3f} in the healthy run. Lowering the rate after step 48 didn't rescue it: at the end, only {result:min sick/rate 20 times too high, healthy after 48/ends/exact:.0p} to {result:max sick/rate 20 times too high, healthy after 48/ends/exact:.0%} of the sentences were correct.

**D** learns to copy its input, like the leaky model of lesson 10. **E** isn't broken, only slow. Missing warm-up isn't shown, because with one pre-norm block it makes no visible difference: {result:min sick/no warm-up/ends/exact:.0p} to {result:max sick/no warm-up/ends/exact:.0%} correct without it, {result:min sick/healthy/ends/exact:.0p} to {result:max sick/healthy/ends/exact:.0%} with it.

Now reproduce run D with your own model.
"""

# %% kind="break"
unshifted = TrainingSettings(shifted=False, n_steps=72)
record = small_run(unshifted, **own_parts).train().history[-1]
assert record.loss < 0.3 and record.scores["exact"] == 0
print("D: the validation loss is below 0.3, and no translation is correct")

# %% [markdown] kind="text" track="stretch" contents="how real text is split into subwords, and a run on real captions"
r"""
## 9 · Real words

The toy language has 680 words, both languages together. Real text has no such limit: *chat, chats, chaton, chatière* … A vocabulary of whole words becomes huge, and new text still contains words that aren't in it. With single letters, sequences become very long. A compromise is to use **parts** of words, called {term:subword|subwords}.

{term:byte-pair encoding|Byte-pair encoding, BPE} (Gage, 1994, for compression; Sennrich et al., 2016, for translation) finds them by counting. It starts with letters, looks for the most frequent pair of neighbouring tokens, joins them everywhere, and repeats. Each repetition is called a *merge*. Frequent words become one token, and rare ones stay in pieces. To split a new word, the same merges are applied in the order in which they were learned.

**By hand.** *chat* occurs 5 times, *chats* twice, *chien* 3 times. c and h are neighbours 5 + 2 + 3 = 10 times, h and a 7 times, so the first merge is *ch*. Now (a, t) and (ch, a) both occur 7 times. In alphabetical order, (a, t) comes first, so the next merge is *at*, and the third is *chat*.
"""

# %% [markdown] kind="text" exercise="next_merge" track="stretch"
r"""
Write one such step. `words` is a dictionary that maps a word, as a tuple of its tokens, to its number of occurrences: `{("c", "h", "a", "t"): 5, …}`. At least one word has two tokens or more. Return the most frequent pair, as a tuple of two tokens, and a new dictionary of all words in which that pair is merged wherever it occurs, from left to right (`("ch", "a", "t"): 5`). **Among equally frequent pairs, choose the first in alphabetical order**; Python compares tuples of strings that way. If a word occurs five times, so does each of its pairs.
"""

# %% kind="exercise" exercise="next_merge" title="One merge" difficulty=3 importance=3 track="stretch"
from lessons.l15_training_a_translator.solutions import next_merge

# %% kind="check" exercise="next_merge"
check("next_merge", next_merge)

# %% [markdown] kind="hints" exercise="next_merge"
r"""
### Where to start
There are two parts: counting and merging. For counting, `word[i : i + 2]` is a pair of neighbours, as a tuple. For merging, go through the word from the left. If the next two tokens are the pair, take both; otherwise, take one.

---
### Step by step
1. Add the word's count to the count of each of its pairs.
2. Choose by `(-count, pair)`: the most frequent pair comes first, then alphabetical order decides.
3. For each word, build a new tuple: as long as there are tokens left, take two and join them if they are the pair; otherwise, take one.
"""

# %% kind="see" name="merges" track="stretch"
next_merge = yours("next_merge")
counts = Counter(word for pair in sentences for word in pair.tgt)
pieces, merges = {("▁", *word): n for word, n in counts.items()}, []
while len(merges) < 80:
    pair, pieces = next_merge(pieces)
    merges.append(pair)
print("the first merges:", " ".join("".join(pair) for pair in merges[:16]))
for word in ("parce", "femme", "princes", "fantôme"):
    split = " ".join(apply_merges("▁" + word, merges))
    print(f"{word:>8}, {counts.get(word, 0):>4} times:  {split}")

# %% [markdown] kind="text" track="stretch"
r"""
▁ marks the beginning of a word, so that the pieces can be joined again. After 80 merges, *parce* is one token, *femme* isn't yet, and words that never occurred are split into known pieces.

**A real corpus.** Multi30k has 29,000 captions of photographs. Its two languages share a vocabulary of 8,000 subwords. The first line downloads it, the second trains, the third measures:

    python3 -m course_lib data multi30k
    python3 -m course_lib train transformer --data multi30k --from de --to en
    python3 -m course_lib evaluate --checkpoint runs/multi30k-de-en_transformer_0

On an H200, all three together took {result:clock/seconds:.0f} s, with a {term:BLEU} score of {result:clock/bleu/value:.1f} (recorded in `data/results/clock.json`). On a CPU, expect hours.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on "What must be in the file so that the run can be resumed?" The last gradients aren't needed, because they are computed anew in every step.
"""

# %% kind="quiz"
quiz("15", "closing")

# %% [markdown] kind="instructor"
r"""
**Wrap up (2 min).** "Your loss looks wrong. What do you check, in which order?" Collect a list: let it translate, compare with uniform guessing, training against validation, learning rate, shift and mask.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | meaning |
|---|---|
| `training_step` | loss, gradients, clipping, Adam |
| checkpoint | weights, Adam's moving averages, step number, position in the corpus |
| `by_length` | batches of similar length: {result:lesson_15/padding/in order:.0%} padding becomes {result:lesson_15/padding/by length:.1%} | <!-- core -->
| `paper_rate` | linear warm-up, then decay with $1/\sqrt{\text{step}}$ | <!-- core -->
| `smoothed_loss` | target $1 - \varepsilon$ for the correct word plus $\varepsilon/V$ for every word; padding doesn't count | <!-- core -->

- Adam scales each weight's step. With a steady gradient, it is as large as the learning rate.
- With label smoothing, the lowest possible loss is above 0.
- The losses alone don't reveal every fault, so let the model translate. <!-- core -->
- Without warm-up, our post-norm models with three blocks lost about four points, and pre-norm models less than one. <!-- core -->
- On a GPU, launching kernels limits a small model's training step; a CUDA graph removes that limit. <!-- core -->

**Still missing.** So far, a translation was either right or wrong, and we always chose the most probable word. [Lesson 16](16_decoding.ipynb) introduces better search and better metrics.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani et al., *Attention Is All You Need* (2017), section 5. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Kingma and Ba, *Adam: A Method for Stochastic Optimization* (2015). [arXiv 1412.6980](https://arxiv.org/abs/1412.6980)
- Szegedy et al., *Rethinking the Inception Architecture* (2016), section 7, on label smoothing. [arXiv 1512.00567](https://arxiv.org/abs/1512.00567)
- Xiong et al., *On Layer Normalization in the Transformer Architecture* (2020). [arXiv 2002.04745](https://arxiv.org/abs/2002.04745) <!-- core -->
- Sennrich, Haddow and Birch, *Neural Machine Translation of Rare Words with {term:subword|Subword} Units* (2016). [arXiv 1508.07909](https://arxiv.org/abs/1508.07909) <!-- core -->
- Loshchilov and Hutter, *Decoupled Weight Decay Regularization* (2019). [arXiv 1711.05101](https://arxiv.org/abs/1711.05101) <!-- core -->
- [docs/training.md](../docs/training.md): several GPUs, and what is reproducible to the last bit. <!-- core -->
"""
