# Lesson 00 · the source. Edit this file, then run `python3 -m course_lib build 00`; the notebook is made from it.

# %% [markdown] kind="title" introduction=true
r"""
# 00 · Start here

**The question:** how does this course work, and what will you be able to do at the end?

About {minutes} minutes. You need a little Python. No mathematics yet.
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **translate** a sentence of your own with three networks that run on your machine;
2. **say** what problem the whole course is about, with one pair of sentences;
3. **use** what every lesson is made of: predict, explore, estimate, exercise, explain, quiz.

**How to run it.** Click into a cell and press **Shift + Enter**: it runs, and the next one is selected. From the menu, *Run → Run All Cells* runs
everything. Nothing you do here can break the course: to get a lesson back as it was, see the end of this page.
"""

# %% kind="setup"
import json

from course_lib import views
from course_lib.models import n_parameters
from course_lib.runtime import data_path
from course_lib.teaching import check, estimate, explain, predict, progress_summary
from course_lib.teaching import quiz, road_map, start_lesson, yours
from course_lib.translation import load_shipped
from lessons.l00_start_here import SoftmaxDial

start_lesson("start_here")

# %% [markdown] kind="text" track="short"
r"""
## Your computer translates

Three networks came with the course. Each was trained on the same 20,000 small English sentences and their French translations, and on nothing else. They stand for three
stations of the road: 2014, 2015 and 2017. Run the cell: they load, and each translates two sentences.
"""

# %% kind="example"
systems = {name: load_shipped(name) for name in ("seq2seq", "bahdanau", "transformer")}


def print_translations(sentence):
    print(f"             {sentence}")
    for name, system in systems.items():
        print(f"{name:12} {system(sentence).target}")
    print()


print_translations("the cat drank the water because it was thirsty")
print_translations("the cat drank the water because it was cold")

# %% [markdown] kind="text"
r"""
Watch the word **it**. In the first sentence it is the cat, in the second the water. English does not care. French must choose: *il* for the cat (le chat), *elle* for the
water (l'eau is feminine). Only the last word of the sentence tells which. All three networks got it right.

Here is another pair of that kind, picked because one network fails on it. A cow is *une vache* (elle), milk is *le lait* (il).

> **Before you run the cell:** which of the three will it be: 2014, 2015 or 2017? And will it fail on *thirsty* or on *cold*?
"""

# %% kind="example"
pairs = json.loads(data_path("toy", "telling_pairs.json").read_text(encoding="utf-8"))
cow_pair = next(pair for pair in pairs if pair["src"].startswith("a cow"))

print_translations(cow_pair["src"])
print_translations(cow_pair["twin"]["src"])

# %% [markdown] kind="text"
r"""
The network of 2014 writes *il a soif*: the **milk** is thirsty. It first squeezes the whole sentence into one list of numbers, then writes the translation from that list alone. The other two have {term:attention}: while they write, they **look back** at every English word, and most at those that matter just now. How that works is what this course is about. (One pair proves nothing, least of all one we picked. Over {result:toy_ladder/seq2seq/scores/coreference/n:.0f} such sentences and three trainings each, the network of 2014 gets {result:toy_ladder/seq2seq/scores/coreference/pronouns:.0%} of the pronouns right, that of 2015 {result:toy_ladder/bahdanau/scores/coreference/pronouns:.0%}, that of 2017 all of them, and all three are of about the same size.)

Now you. Type a sentence between the quotation marks. The networks know about 300 English words and nothing else; a word that is not among them is named (`<unk>` stands for *unknown*), and they then guess wildly.

<details><summary>Words they know</summary>

boy girl man woman father mother brother sister king queen · cat dog horse bird rabbit wolf fox cow mouse goat frog · water milk tea coffee juice · apple pear carrot mushroom egg cake bread cheese soup · book letter box bottle cup hat dress flower chair table bed car door window ·
garden house kitchen forest school church village river tree castle · big small young old beautiful good new red white black cold hot sweet heavy empty clean tired sad rich happy thirsty hungry · sees follows loves likes finds eats drinks buys takes carries opens closes sleeps runs swims goes · the a some this these in on near but because it they is are was were not very often

</details>
"""

# %% kind="example"
sentence = "The dog sleeps in the garden because it is tired."

print_translations(sentence)
for note in systems["transformer"](sentence).notes:
    print(note)

# %% [markdown] kind="text" track="short"
r"""
## Estimate, before you are told

A network is a great many numbers, its {term:parameters}, which training has set. The largest networks of today have hundreds of billions. How many has the Transformer that just translated? Commit to a number first. An estimate is judged by its
order of magnitude: off by half is fine, off by a factor of ten is not.
"""

# %% kind="estimate"
estimate("00", "how-many-weights", lambda: n_parameters(systems["transformer"].model))

# %% [markdown] kind="text" track="short"
r"""
## Look: an explorable

To look at words, a network gives each word a {term:score}, a number that says how much the word matters just now, and turns the scores into shares. A {term:softmax} does that: it raises $e = 2.718…$ to each score, which makes all of them positive, and divides each by the sum, so that the shares sum to 1. You will meet it again and again. Instead of reading about it, turn its dial.

First comes a question, though. In this course an explorable is covered until you have **committed a guess**. It is worth it: people who predict first remember what they
see. Nobody grades the guess. If you are in a hurry, there is a button for that. Beside the slider stand two small **goals**. They tick themselves off.
"""

# %% kind="predict"
predict("00", "times-eight", SoftmaxDial())

# %% [markdown] kind="text" track="short"
r"""
Move the slider with the mouse, or click it and use the arrow keys. The buttons under it jump to a few good places.

## Do: an exercise that checks itself

Every exercise has a card, a cell to fill in, a check, and folded hints. Here: write a function that doubles every number it is given. Replace the line that says *Your turn*, run the cell, then run the check below
it. Try a wrong answer first, to see what the check says.
"""

# %% kind="exercise" exercise="double_it" title="Your first exercise" difficulty=1 importance=1 track="short"
def double_it(numbers):
    """A tensor (torch's kind of NumPy array)  ->  a new one, every number doubled."""
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
### Step by step
One line: `return 2 * numbers`.
"""

# %% [markdown] kind="text"
r"""
You are never stuck. An exercise you skip says *not tried yet*, and the lesson goes on with the library's version. One that passed is **kept**: later lessons call `yours("double_it")` and get your own function back, from a file `my_road.py` that
is yours to read and edit. By lesson 14 it holds the parts of a whole Transformer.
"""

# %% kind="example"
double = yours("double_it")

# %% [markdown] kind="text" contents="why no program can translate *it* by looking at that word alone"
r"""
## Explain, in your own words

Nobody marks this. Write two sentences, then compare with a model answer and tick what yours says too.
"""

# %% kind="explain"
explain("00", "why-look")

# %% [markdown] kind="text" track="short"
r"""
## The road

Every idea below runs on your machine, on the same small language. All translators among them are measured the same way.

**Which track would you like to take?** The full course has everything. The short track has the main ideas and takes less than half the time: every section it skips is one line with a link, so that you can still read what interests you. You can change your mind at any time: choose again here, run `python3 -m course_lib progress --track short` (or `full`) in a terminal, or open the other notebook, which is linked at the top of each lesson.
"""

# %% kind="see"
road_map()

# %% kind="see" track="core" contents="the systems of the road on a timeline"
systems_by_year = {
    1997: ["LSTM"],
    2013: ["RCTM"],
    2014: ["RNN encoder-decoder", "sequence to sequence"],
    2015: ["Bahdanau attention", "Luong attention"],
    2016: ["LSTMN", "residual connections"],
    2017: ["key–value–predict", "structured self-attention", "ConvS2S", "Transformer"],
}
views.timeline(systems_by_year, title="Systems of the road")

# %% [markdown] kind="text" contents="what you have done so far, and how to delete the record"
r"""
## Your progress

This card shows what you have done and what comes next. It lives in one file on your machine, and nothing is sent anywhere. In a terminal, `python3 -m course_lib progress` prints the same,
and `python3 -m course_lib progress --delete` deletes it.
"""

# %% kind="see"
progress_summary()

# %% [markdown] kind="text" track="short"
r"""
## Answer: a quiz

The first try counts for your score. Then try as often as you like: every answer comes with its reason. What you get wrong comes back some lessons later, when you have nearly forgotten it. That is when it sticks.
"""

# %% kind="quiz"
quiz("00", "closing")

# %% [markdown] kind="summary"
r"""
## What you have now

| word | what it is |
|---|---|
| predict, estimate | a guess before you look; wrong ones help most |
| explorable, goals | a picture with at most three controls, and something to reach with them |
| exercise, check | a function to write, and a verdict that says what is wrong and why |
| `yours("name")` | your own function, where it passed its check |
| explain | your words beside a model answer |
| quiz | questions with a reason for every answer |
| softmax | turns scores into shares that sum to 1 |

**To get a lesson back as it was,** without your answers in it: close it, and in the course's folder run `git checkout -- notebooks/00_start_here.ipynb` (or another notebook's name; those of the short track are in `notebooks/short`).

**Next:** [lesson 01](01_guessing_the_next_word.ipynb), how a machine guesses the next word, and how it learns to. The table above leads to all twenty lessons.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani and others, *Attention Is All You Need* (2017), the abstract only. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762). In lesson 14 you build it.
"""
