# Lesson 00 · the source. Edit this file, then run `python3 -m course_lib build 00`; the notebook is made from it.

# %% [markdown] kind="title" part="I · Before attention" introduction=true
r"""
# 00 · Start here

**The question:** a sentence grows clause by clause, and two of four translators start to make mistakes. What do the other two do differently?

The translators are {term:neural networks}, and we picked the sentence because it tells them apart. About {minutes} minutes; you need a little Python, but no French and no mathematics beyond powers. To run a cell, click into it and press **Shift + Enter**.
"""

# %% kind="setup"
from course_lib.teaching import check, estimate, predict, progress_summary
from course_lib.teaching import quiz, road_map, start_lesson, yours
from lessons.l00_start_here import AttentionLines, SoftmaxDial, count_live
from lessons.l00_start_here import key_picture, recorded_runs, translate_with_all

start_lesson("start_here")
key_picture.draw()

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **show** how translators with and without {term:attention} get from English to French;
2. **write** the measure that the whole course uses, and **count** with it how typical one sentence is;
3. **compare** two systems that were trained several times;
4. **predict** what a softmax does to a few scores;
5. **predict** which systems follow when a single word changes.
"""

# %% [markdown] kind="instructor"
r"""
**The first fifteen minutes** (in a workshop of up to 3 hours: only the set-up and the signals).

- **Does everyone's set-up work? (5 min)** `python3 -m course_lib lab` opens this notebook. The first start also installs the packages, so ask for it before the workshop. The first cell must run without an error on every machine. Anyone whose machine doesn't work pairs up with a neighbour, and you look at it during the exercise.
- **Signals (2 min).** Everyone gets two sticky notes in different colours, but not red and green, which some people can't tell apart. On the laptop's lid, one means "I'm done", the other "I need help". Neither means "I'm still working". Go on when most people are done. Helpers explain, but they don't touch a learner's keyboard.
- **Cards (3 min).** This lesson uses each kind of card: predictions, an estimate, an exercise with its check and a quiz. Say that a wrong guess costs nothing: a guess makes people look more closely at the result.
- **Tracks (2 min).** Choose one track for the whole group, short or full. *Choose your track* shows both.
- **Falling behind (3 min).** In a new cell, `from course_lib.teaching import catch_up` and then `catch_up("06", 4)` give a learner everything before section 4 of lesson 06. Unsolved exercises block nobody, because later cells then use the course's functions.

**Votes.** Set `COURSE_CLASSROOM=1` before JupyterLab starts. Quizzes then ask for a first vote, which gets no feedback, and a second one. In these notes, **Vote** names the question that is most worth discussing: everyone votes alone, pairs discuss for two minutes, everyone votes again. Then ask someone who changed their mind for the reason. Codes such as M12 refer to the misconceptions in `data/misconceptions.json`.

**If time is short** in any lesson, an exercise can always be left out. To leave out a whole section, everyone runs `catch_up` with the number of the next one. Here, leave out *Words, progress, starting again*.
"""

# %% [markdown] kind="text" track="short"
r"""
## Which of them is translator 2?

Each of the four has about 400,000 {term:parameters}, numbers set by training on the same 20,000 pairs of sentences.

- `rnn_encoder_decoder` (2014) turns the English sentence into one list of numbers, a *vector*, and reads it again for every French word that it writes.
- `seq2seq` (2014) makes one vector, too, and reads it once, before the first French word.
- `bahdanau` (2015) and `transformer` (2017) have attention: for every French word, they can look back at all the English words.

In the picture, translator 2 makes the first mistake. Which of the four is it? After your choice, **let the sentence grow yourself**, with the slider or the play button.
"""

# %% [markdown] kind="instructor"
r"""
**Ask for a show of hands** for each system before anyone clicks. Afterwards: "What is wrong with the two translations?" Expected: they are good French, but they say something else.

| they say | answer |
|---|---|
| "The one that reads the vector again should be the better one." | On this sentence it is. Ask how they would find out whether it is in general; the next sections do it. |
| "It ran out of space for words." | It isn't short of French words: it writes as many as it needs, but about the wrong things. |
"""

# %% kind="predict" minutes=3.5 because="four stages of one sentence"
predict("00", "translator-2", AttentionLines())

# %% [markdown] kind="text" track="short"
r"""
Wrong words are underlined; a blank shows where words are missing. Click on a system to see how it gets to French, and point at a word to see only its lines.

Without attention, everything passes through the numbers of one vector. With attention, every English word, and the end, gets an {term:attention weight} before a French word is written. These numbers sum to 1, and they are the thickness of the lines. Try this:

- Choose `bahdanau` and point at *homme*, then at *fatigué*. It skips *tired*, writes *homme* (man) and goes back. It was never told which words belong together: it was trained on pairs of whole sentences.
- Point at *l'*, the article of *homme*, in both. `transformer` gives half of its attention to *man*, `bahdanau` almost all to *the*, and both are right: the lines show where a system looks, not why it writes a word. <!-- core -->
"""

# %% [markdown] kind="text" track="short"
r"""
## Your first function: exact match

Is that sentence typical? To count, we need a measure. The strictest is {term:exact match}: a translation is right if it equals its *reference*, the correct translation. You'll use it in the whole course.
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** Some learners print the result instead of returning it, or return inside the loop. Encourage everyone to run the check with a wrong answer first, because its messages are what they'll work with for the rest of the course.
"""

# %% [markdown] kind="text" exercise="exact_match"
r"""
`translations` and `references` are lists of strings, equally long and not empty. **Return the fraction of translations that equal the reference beside them.** For example, `exact_match(["oui", "le chat"], ["oui", "la vache"])` is 0.5.

Replace the line that says *Your turn*, and run the cell and the check. **Try a wrong answer first**, such as `return 1`. Answers that pass are saved in `my_road.py`, and later lessons use them. Where you skip one, they use the course's version.
"""

# %% kind="exercise" exercise="exact_match" title="Exact match" difficulty=1 importance=4 track="short"
from lessons.l00_start_here.solutions import exact_match

# %% kind="check" exercise="exact_match"
check("exact_match", exact_match)

# %% [markdown] kind="hints" exercise="exact_match"
r"""
### Two lists at once
`zip(translations, references)` goes through both lists: `for given, wanted in zip(translations, references):`

---
### Counting
Start with `n_right = 0` before the loop. Add 1 whenever `given == wanted`. After the loop, divide by `len(references)`.
"""

# %% [markdown] kind="text" track="short"
r"""
## How often does it happen?

Your computer has {result:toy_ladder/seq2seq/scores/test/by_length/16–20/n:.0f} new sentences of similar length, a dot for each. **Estimate before you measure.** Then `seq2seq` translates them, `transformer` follows, and your `exact_match` judges (up to a minute).

Another {term:training run}, with another {term:random seed}, gives another translator, so the picture then adds three runs of each system. Our rule: **A is better than B if every run of A beats every run of B. Otherwise there is no clear difference.**
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min).** "We picked that sentence. How would you find out whether it's typical?" Expected: translate many other sentences of this length, which weren't used in training, and train the systems again with other random seeds. The next cell does both. Write the lowest and the highest estimate on the board.
"""

# %% kind="estimate"
estimate("00", "how-typical", count_live(yours("exact_match")))

# %% [markdown] kind="instructor"
r"""
| they say | answer |
|---|---|
| "`rnn_encoder_decoder` survived one clause more, so it's better." | That was one sentence, picked by us. By the rule, there is no clear difference. |
| "Take the mean of the three runs." | Two means always differ. Would the order stay the same with three new seeds? |
| "One vector is too small for twenty words." | Lesson 04 changes its size, and nothing else, to find out. |
"""

# %% [markdown] kind="text" track="short"
r"""
## One question for the whole course

*It* can be *il* or *elle* in French: *il* for the cat (*le chat*), *elle* for the forest (*la forêt*). In the first sentence, all four choose correctly. Then its last word changes. We picked this pair of sentences.
"""

# %% kind="example"
translate_with_all("The cat sleeps in the forest because it is shady.")

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min)** before anyone commits: "Which word decides what *it* is?" Expected: *it* is the same word in both sentences, so another word has to decide, even one that comes later. If a sentence of their own contains a word that the systems don't know, the picture says which; *Words, progress, starting again*, near the end of the lesson, lists many that they know.
"""

# %% kind="predict"
after = translate_with_all("The cat sleeps in the forest because it is tired.")
predict("00", "which-follow", after)

# %% [markdown] kind="text" track="core" contents="how often each gets the pronoun right, and sentences of your own"
r"""
How does a network work out what *it* refers to? That's the question of the whole course. Attention isn't the only way: in {result:toy_ladder/seq2seq/scores/coreference/n:.0f} such sentences, the systems without it also get most pronouns right.
"""

# %% kind="see" track="core" hide_input=true
recorded_runs("pronouns", "Right pronouns: three runs of each system")

# %% [markdown] kind="text" track="core"
r"""
Try sentences of your own. The systems know about 300 words, which `python3 -m course_lib data words` lists in a terminal. By convention, *it* always refers to a noun, never to the weather.
"""

# %% kind="example" track="core"
translate_with_all("The cow sleeps in the garden because it is tired.")  # or shady?

# %% [markdown] kind="text" track="short"
r"""
## From scores to probabilities

Take *the cat drank the water*. Before it writes *chat*, a system with attention gives each English word a {term:score}, higher for words that get more of the attention; three invented ones are below. A {term:softmax} turns scores into a {term:probability distribution}, numbers from 0 to 1 that sum to 1: it raises $e = 2.718…$ to the power of each score and divides the results by their sum.

| word | score | $e^{\text{score}}$ | divided by the sum, 11.11 |
|---|---|---|---|
| cat | 2 | 7.39 | 0.67 |
| water | 1 | 2.72 | 0.24 |
| drank | 0 | 1.00 | 0.09 |
"""

# %% [markdown] kind="instructor"
r"""
| they say | answer |
|---|---|
| "All scores grow by the same factor, so nothing changes." | The differences grow too, and a softmax depends on the differences. Adding the same number to all scores would change nothing. |
| "The largest score gets everything." | Only if it's far ahead. Every other score still gets a little. |
"""

# %% kind="predict" minutes=3 because="one slider and one question"
predict("00", "times-four", SoftmaxDial())

# %% [markdown] kind="instructor"
r"""
The quiz counts first answers, but everyone can try again. **Vote** on the three runs of `bahdanau` and `rnn_encoder_decoder`. The tempting answer is `bahdanau`, with two perfect runs out of three.
"""

# %% kind="quiz" track="short"
quiz("00", "closing")

# %% [markdown] kind="summary"
r"""
## Choose your track

You have seen what attention does; by lesson 14 you will have built a {term:Transformer} yourself. The short track covers the main ideas in about half the time, with links to what it skips. You can switch at any time, here or at the top of each lesson. When you have chosen, go on to [lesson 01](01_guessing_the_next_word.ipynb).
"""

# %% [markdown] kind="instructor"
r"""
**Tracks.** Point out the link to the other track at the top of each lesson. In a mixed group, everyone starts on the short track, and fast learners open the full lesson for the parts that the short one skips. Section numbers are the same in both.
"""

# %% kind="see" track="short"
road_map()

# %% [markdown] kind="text" track="stretch" contents="words that the systems know, your progress, and how to reset a lesson"
r"""
## Words, progress, starting again

The systems know these words, among others. Most nouns also have a plural, and most verbs have a past tense.

boy girl man woman father mother brother sister king queen · cat dog horse bird rabbit wolf fox cow mouse goat frog · water milk tea coffee juice · apple pear carrot mushroom egg cake bread cheese soup · book letter box bottle cup hat dress flower chair table bed car door window · garden house kitchen forest school church village river tree castle · big small young old beautiful good new red white black cold hot sweet heavy empty clean tired sad rich happy thirsty hungry · sees follows loves likes finds eats drinks buys takes carries opens closes sleeps runs swims goes · the a some this these in on near but and because it they is are was were not very often

Your progress is stored in a file on this computer and is never sent anywhere. To delete it, run `python3 -m course_lib progress --delete` in a terminal.

To reset a lesson and discard your answers, close it and run `git checkout -- notebooks/00_start_here.ipynb` in the course folder. On a JupyterHub, delete the notebook instead, then stop your server under **File → Hub Control Panel** and start it again. The notebooks of the short track are in `notebooks/short`.
"""

# %% kind="see"
progress_summary()

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani et al., *Attention Is All You Need* (2017), just the abstract: [arXiv 1706.03762](https://arxiv.org/abs/1706.03762). You'll build this model in lesson 14.
"""
