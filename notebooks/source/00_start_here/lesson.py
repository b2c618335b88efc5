# Lesson 00 · the source. Edit this file, then run `python3 -m course_lib build 00`; the notebook is made from it.

# %% [markdown] kind="title" minutes=0.5 short=true
r"""
# 00 · Start here

**The question:** what is this road, and how do you walk it?

About {minutes} minutes. You need a little Python. No mathematics yet.
"""

# %% [markdown] kind="goals" minutes=0.5
r"""
After this lesson you can

1. **run** a lesson and know that your computer is ready;
2. **use** the five things every lesson is made of: predict, explore, exercise, quiz, progress;
3. **say** what problem the whole course is about, with one pair of sentences.

**How to run it.** Click into a cell and press **Shift + Enter**: it runs, and the next one is selected. From the menu, *Run → Run All Cells* runs
everything. Nothing you do here can break the course: to get a lesson back as it was, see the end of this page.
"""

# %% kind="setup" minutes=0.5
import sys

import torch

from course_lib import views
from course_lib.explore import SoftmaxDial
from course_lib.teaching import check, predict, quiz, start_lesson
from course_lib.teaching import progress_summary, road_map

start_lesson("start_here")

# %% [markdown] kind="text" minutes=0.5
r"""
## Is everything there?

Three lines, three times `yes`. If one says `no`, or the cell above showed an error, close JupyterLab and start it again with
`python3 -m course_lib lab`: that sets up whatever is missing.
"""

# %% kind="example" minutes=0.5
def yes_or_no(ready):
    return "yes" if ready else "no"


slope = torch.func.grad(lambda x: x**3)(torch.tensor(2.0))  # 3 times 2 squared

print("Python 3.11 or newer:   ", yes_or_no(sys.version_info >= (3, 11)))
print("torch can compute:      ", yes_or_no(torch.ones(2, 2).sum() == 4))
print("torch can differentiate:", yes_or_no(slope == 12))

# %% [markdown] kind="text" minutes=1
r"""
## The problem of the whole course

Read these two sentences, and watch the word **it**.

| English | French |
|---|---|
| the cat drank the water because **it** was thirsty | le chat a bu l' eau parce qu' **il** avait soif |
| the cat drank the water because **it** was cold | le chat a bu l' eau parce qu' **elle** était froide |

In the first, *it* is the cat. In the second, *it* is the water. English does not care. French must choose: *il* for the cat (le chat), *elle* for the
water (l'eau is feminine). The choice hangs on the last word of the sentence.

A program that translates word by word cannot do this. It has to **look** at other words, and to know **which**. How a network learns to look is the story from
recurrent networks to the Transformer. Here is what looking means, drawn by hand: for every French word, the English words it comes from.
"""

# %% kind="see" minutes=0.5
english = "the cat drank the water because it was thirsty".split()
french = "le chat a bu l' eau parce qu' il avait soif".split()
comes_from = [0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8]  # "a" and "bu": both from "drank"

alignment = torch.zeros(len(french), len(english))
alignment[torch.arange(len(french)), torch.tensor(comes_from)] = 1

title = "For each French word: where does it come from?"
views.heatmap(
    alignment, rows=french, columns=english, title=title, numbers=False,
    row_name="French", column_name="English",
)

# %% [markdown] kind="text" minutes=0.5
r"""
You will see many pictures like this one. In lesson 06 a network learns to draw it, and nobody tells it how. This one looks easy, nearly a diagonal. What it does *not* show is the hard part: that to
write *il*, one must have looked from *it* to *cat* and to *thirsty*. That kind of looking begins in lesson 09.

## Look: an explorable

A **softmax** turns any scores into shares that sum to 1. It is in every lesson from 06 on. Instead of reading about it, turn its dial.

First comes a question, though. In this course an explorable is covered until you have **committed a guess**. It is worth it: people who predict first remember what they
see. Nobody grades the guess. If you are in a hurry, there is a button for that.
"""

# %% kind="predict" minutes=2
predict("00", "times-eight", SoftmaxDial())

# %% [markdown] kind="text" minutes=0.5
r"""
Move the slider with the mouse, or click it and use the arrow keys. The buttons under it jump to a few good places.

## Do: an exercise that checks itself

Every exercise has a card, a cell to fill in, a check, and folded hints. Replace the line that says *Your turn*, run the cell, then run the check below
it. Try a wrong answer first, to see what the check says.
"""

# %% kind="exercise" exercise="double_it" title="Your first exercise" difficulty=1 importance=1 minutes=2 track="core"
def double_it(numbers):
    """A tensor of numbers  ->  a tensor with every number doubled."""
    # solution
    return 2 * numbers
    # end solution

# %% kind="check" exercise="double_it"
check("double_it", double_it)

# %% [markdown] kind="hints" exercise="double_it"
r"""
### A nudge
Tensors can be multiplied by a number: `3 * numbers` triples them.

---
### The recipe
One line: `return 2 * numbers`.
"""

# %% [markdown] kind="text" minutes=0.5
r"""
You are never stuck. An exercise you skip says *not tried yet*, and the lesson goes on without it.

## Answer: a quiz

The first try counts for your score. Then try as often as you like: every answer comes with its reason.
"""

# %% kind="quiz" minutes=1.5
quiz("00", "tour")

# %% [markdown] kind="text" minutes=0.5
r"""
## The road

Every station below will run on your machine, trained on the same small language, and measured the same way.
"""

# %% kind="see" minutes=1
stations = {
    1997: ["LSTM"],
    2013: ["RCTM"],
    2014: ["RNN encoder–decoder", "sequence to sequence"],
    2015: ["Bahdanau attention", "Luong attention", "residual connections"],
    2016: ["LSTMN"],
    2017: ["key–value–predict", "structured self-attention", "ConvS2S", "Transformer"],
}
views.timeline(stations, title="Systems of the road")

# %% kind="see" minutes=0.5
road_map()

# %% [markdown] kind="text" minutes=0.5
r"""
## Your progress

This page shows what you have done and what comes next. It lives in one file on your machine, and nothing is sent anywhere. In a terminal, `python3 -m course_lib progress` prints the same,
and `python3 -m course_lib progress --delete` deletes it.
"""

# %% kind="see" minutes=0.5
progress_summary()

# %% [markdown] kind="text" minutes=0.5
r"""
One more round of questions, about the two sentences and about what the course remembers.
"""

# %% kind="quiz" minutes=1.5
quiz("00", "closing")

# %% [markdown] kind="summary"
r"""
## What you have now

| word | what it is |
|---|---|
| predict | a guess before you look; wrong ones help most |
| explorable | a picture with at most three controls |
| exercise, check | a function to write, and a verdict that says what is wrong and why |
| quiz | questions with a reason for every answer |
| progress | what you did, on your machine only |
| softmax | turns scores into shares that sum to 1 |

**To get a lesson back as it was,** without your answers in it: close it, and in the course's folder run `git checkout -- notebooks/00_start_here.ipynb` (or another lesson's name).

**Next:** lessons 01 to 07 tell how recurrent networks read, and what they lose on the way. Those that are not built yet are marked in the table above.
[Lesson 08: query, key, value](08_query_key_value.ipynb) stands on its own: go there now.
"""

# %% [markdown] kind="reading" minutes=0.5
r"""
## Reading

- Vaswani and others, *Attention Is All You Need* (2017), the abstract only. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762). In lesson 13 you build it.
"""
