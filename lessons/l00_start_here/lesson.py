# Lesson 00 · the source. Edit this file, then run `python3 -m course_lib build 00`; the notebook is made from it.

# %% [markdown] kind="title" part="I · Before attention" introduction=true
r"""
# 00 · Start here

**The question:** what has changed in machine translation since 2014, and how will you learn to build such a translator yourself?

About {minutes} minutes. You need a little Python, but no French and no mathematics beyond powers.
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **show** with one sentence how four translators differ, and say how typical that sentence is;
2. **explain** what a softmax does to a few scores;
3. **use** the building blocks of every lesson: estimates, predictions, explanations, exercises and a quiz.

Click into a cell and press **Shift + Enter** to run it and move on to the next one. To add a cell of your own, press **Esc**, then **B**.
"""

# %% [markdown] kind="instructor"
r"""
**The first fifteen minutes** (in a workshop of up to 3 hours: only the set-up and the signals).

- **Does everyone's set-up work? (5 min)** `python3 -m course_lib lab` opens this notebook. The first start also installs the packages, so ask for it before the workshop. The next cell must run without an error on every machine. Anyone whose machine doesn't work pairs up with a neighbour, and you look at it during the first exercise.
- **Signals (2 min).** Everyone gets two sticky notes in different colours, but not red and green, which some people can't tell apart. On the laptop's lid, one means "I'm done", the other "I need help". Neither means "I'm still working". Go on when most people are done. Helpers explain, but they don't touch a learner's keyboard.
- **Cards (3 min).** This lesson uses each kind of card once: an estimate, an explanation, a prediction, an exercise with its check and a quiz. Say that a wrong guess costs nothing: a guess makes people look more closely at the result.
- **Tracks (2 min).** Choose one track for the whole group, short or full. *Choose your track* shows both.
- **Falling behind (3 min).** In a new cell, `from course_lib.teaching import catch_up` and then `catch_up("06", 4)` give a learner everything before section 4 of lesson 06. Unsolved exercises block nobody, because later cells then use the course's functions.

**Votes.** Set `COURSE_CLASSROOM=1` before JupyterLab starts. Quizzes then ask for a first vote, which gets no feedback, and a second one. In these notes, **Vote** names the question that is most worth discussing: everyone votes alone, pairs discuss for two minutes, everyone votes again. Then ask someone who changed their mind for the reason. Codes such as M12 refer to the misconceptions in `data/misconceptions.json`.

**If time is short** in any lesson, an exercise can always be left out. To leave out a whole section, everyone runs `catch_up` with the number of the next one. Here, leave out *Words, years and progress*.
"""

# %% kind="setup"
from course_lib import views
from course_lib.teaching import check, estimate, explain, predict, progress_summary
from course_lib.teaching import quiz, road_map, start_lesson
from course_lib.text import translations_of
from course_lib.translation import load_shipped
from lessons.l00_start_here import AttentionLines, SoftmaxDial
from lessons.l00_start_here import LONG_SENTENCE, key_picture, percent_correct

start_lesson("start_here")

# %% [markdown] kind="text" track="short"
r"""
Four trained translators, which you will meet in a moment, translate a sentence that grows from top to bottom. We picked it because it tells them apart. What do the two that fail have in common?
"""

# %% kind="picture" name="key picture" hide_input=true track="short"
key_picture.draw()

# %% [markdown] kind="text" track="short"
r"""
## Four translators on your computer

Four small {term:neural networks} come with the course. Each has about 400,000 {term:parameters}, numbers that were set by training on the same 20,000 pairs of sentences.

- `rnn_encoder_decoder` and `seq2seq` (both 2014) turn the English sentence into one list of numbers, a *vector*, and write the French sentence from it.
- `bahdanau` (2015) and `transformer` (2017) have {term:attention}: for every French word, they can look back at all the English words.

All four are good at short sentences. Guess which of them will translate this long one correctly, then run the cell.

> the woman looks for the bread and the queen eats it and the sad girls do not drink the milk
"""

# %% [markdown] kind="instructor"
r"""
**Ask for a show of hands** for each system before anyone runs the cell. Afterwards: "What is wrong with the first two translations?" Expected: they are good French, but they say something else.
"""

# %% kind="example"
names = ["rnn_encoder_decoder", "seq2seq", "bahdanau", "transformer"]
systems = {name: load_shipped(name) for name in names}


def show_translations(sentence):
    found = {name: system(sentence) for name, system in systems.items()}
    rows = {name: translation.target for name, translation in found.items()}
    source = found["transformer"].read  # in lower case and without a full stop
    return views.translations(source, rows, reference=translations_of(source))


show_translations(LONG_SENTENCE)

# %% [markdown] kind="text"
r"""
Words that differ from the right translation are underlined; a blank shows where words are missing. The two with attention are right. The others start well, then lose track. In the first translation, the queen does **not** eat the bread and the girls **do** drink the milk. In the second, the queen **with the bags** doesn't **look at** it, and the milk is **hot**.

We hand-picked this sentence. How typical is it? **Estimate before you measure:** your computer will now translate {result:toy_ladder/seq2seq/scores/test/by_length/16–20/n:.0f} new sentences of similar length.
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min).** "We picked this sentence. How would you find out whether it's typical?" Expected: translate many other sentences of this length, which weren't used in training, and train the systems again with other random seeds. The next two cells do both. Write the lowest and the highest estimate on the board.
"""

# %% kind="estimate"
estimate("00", "how-typical", lambda: percent_correct(systems["seq2seq"]))

# %% [markdown] kind="text"
r"""
In three {term:training runs} with different {term:random seeds}, the systems translated these percentages of the sentences without a mistake:

| | vector only | | with attention |
|---|---|---|---|
| `rnn_encoder_decoder` | {result:each toy_ladder/rnn_encoder_decoder/scores/test/by_length/16–20/exact:.0p} | `bahdanau` | {result:each toy_ladder/bahdanau/scores/test/by_length/16–20/exact:.0p} |
| `seq2seq` | {result:each toy_ladder/seq2seq/scores/test/by_length/16–20/exact:.0p} | `transformer` | {result:each toy_ladder/transformer/scores/test/by_length/16–20/exact:.0p} |

Other seeds or sentences are unlikely to close a gap this large. A plausible reason is that a single vector of this size can't hold twenty words. Lesson 04 looks into this.
"""

# %% [markdown] kind="text" track="short"
r"""
## Watch attention at work

Here is the sentence of the first picture. Let it grow with the slider or the play button. Wrong words are underlined, and a blank shows where words are missing. Choose a system to see how it gets from English to French, and point at a word to see only its lines.

`rnn_encoder_decoder` and `seq2seq` get nothing but the numbers of one vector. Before `bahdanau` writes a word, it gives every English word, and the end of the sentence, an {term:attention weight}; these numbers sum to 1. They are the thickness of its lines. To write *homme fatigué*, it skips *tired*, writes *homme* (man) and goes back. The network was never told which words belong together: it was trained only on pairs of whole sentences. `transformer` computes several such numbers for each pair of words; its lines show an average.
"""

# %% kind="explore"
AttentionLines()

# %% [markdown] kind="text" track="short"
r"""
## One question for the whole course

What does *it* refer to in the sentence below? French has to choose: *il* for the cat (*le chat*) or *elle* for the water (*l' eau*). Run the cell, change *thirsty* to *cold* and run it again. Then try your own sentences. The systems know about 300 words, such as *hedgehog*, *carrot* and *because*; in a terminal, `python3 -m course_lib data words` lists them.
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** If a sentence contains a word that the systems don't know, the cell says which. *Words, years and progress*, near the end of the lesson, lists many words that they know.
"""

# %% kind="example"
sentence = "The cat drank the water because it was thirsty."

for note in systems["transformer"](sentence).notes:
    print(note)
show_translations(sentence)

# %% [markdown] kind="text"
r"""
All four get both sentences right. On {result:toy_ladder/seq2seq/scores/coreference/n:.0f} such sentences, the three runs of `rnn_encoder_decoder` get {result:each toy_ladder/rnn_encoder_decoder/scores/coreference/pronouns:.0p}% of the pronouns right, `seq2seq` {result:each toy_ladder/seq2seq/scores/coreference/pronouns:.0p}%, `bahdanau` {result:each toy_ladder/bahdanau/scores/coreference/pronouns:.0p}%, and `transformer` {result:min toy_ladder/transformer/scores/coreference/pronouns:.0%}. Systems without attention also get most of these pronouns right, so attention can't be the whole answer. By convention, *it* always refers to a noun in our sentences, never to the weather, and animals are never hot or cold. How does a network work out what *it* refers to? We'll come back to this question throughout the course.

**Explain in your own words:** write a sentence, then compare it with a model answer.
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min).** Everyone writes a sentence, and neighbours read theirs to each other before they open the model answer. Expected: *it* is the same word in both sentences, so another word has to decide, even one that comes later.
"""

# %% kind="explain" minutes=1.5 because="one sentence about the example above"
explain("00", "why-look")

# %% [markdown] kind="text" track="short"
r"""
## Predict first

{term:Attention weights} are computed from {term:scores}, which are higher for words that matter more. A {term:softmax} turns scores into a {term:probability distribution}: numbers from 0 to 1 that sum to 1. It raises $e = 2.718…$ to the power of each score and divides the results by their sum. The scores 1, 0.5 and 0 give 2.72, 1.65 and 1. These sum to 5.37, so the probabilities are 0.51, 0.31 and 0.19.
"""

# %% [markdown] kind="instructor"
r"""
| they say | answer |
|---|---|
| "All scores grow by the same factor, so nothing changes." | The differences grow too, and a softmax depends on the differences. Adding the same number to all scores would change nothing. |
| "The largest score gets everything." | Only if it's far ahead. Every other score still gets a little. |
"""

# %% kind="predict"
predict("00", "times-eight", SoftmaxDial())

# %% [markdown] kind="text" track="short"
r"""
## Write code, then take a quiz

Replace the line that says *Your turn*, run the cell, then run the check. Try a wrong answer first to see what happens. A {term:tensor} is PyTorch's kind of array. Functions that pass are saved in `my_road.py` for later lessons. If you skip an exercise, those lessons use the course's version. The quiz counts your first answers, but you can try again.
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** Some learners print the result instead of returning it, or change `numbers` itself. Encourage everyone to run the check with a wrong answer first, because its messages are what they'll work with for the rest of the course.
"""

# %% kind="exercise" exercise="double_it" title="Your first exercise" difficulty=1 importance=1 track="short"
from lessons.l00_start_here.solutions import double_it

# %% kind="check" exercise="double_it"
check("double_it", double_it)

# %% [markdown] kind="hints" exercise="double_it"
r"""
### One operation for all numbers
You can multiply a tensor by a number: `3 * numbers` triples every element.

---
### The line
`return 2 * numbers`
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on "Why did we test hundreds more?" The tempting answer is that the test proves one vector to be the cause. It shows *that* the systems differ, not *why*.
"""

# %% kind="quiz" track="short"
quiz("00", "closing")

# %% [markdown] kind="summary"
r"""
## Choose your track

You have seen what {term:attention} does; by lesson 14 you will have built a {term:Transformer} yourself. The short track covers the main ideas in about half the time, with links to what it skips. You can switch at any time, here or at the top of each lesson. When you have chosen, go on to [lesson 01](01_guessing_the_next_word.ipynb).
"""

# %% [markdown] kind="instructor"
r"""
**Tracks.** Point out the link to the other track at the top of each lesson. In a mixed group, everyone starts on the short track, and fast learners open the full lesson for the parts that the short one skips. Section numbers are the same in both.
"""

# %% kind="see" track="short"
road_map()

# %% [markdown] kind="text" track="stretch" contents="words that the systems know, a table of years, your progress, and how to reset a lesson"
r"""
## Words, years and progress

The systems know these words, among others. Most nouns also have a plural, and most verbs have a past tense.

boy girl man woman father mother brother sister king queen · cat dog horse bird rabbit wolf fox cow mouse goat frog · water milk tea coffee juice · apple pear carrot mushroom egg cake bread cheese soup · book letter box bottle cup hat dress flower chair table bed car door window · garden house kitchen forest school church village river tree castle · big small young old beautiful good new red white black cold hot sweet heavy empty clean tired sad rich happy thirsty hungry · sees follows loves likes finds eats drinks buys takes carries opens closes sleeps runs swims goes · the a some this these in on near but and because it they is are was were not very often

The next cell prints the models and ideas that you will build, run or read about. The number after each name is the lesson that explains it.
"""

# %% kind="see" hide_input=true
systems_by_year = {
    1990: "Elman network (02)",
    1997: "LSTM (03)",
    2003: "neural language model (01)",
    2013: "RCTM (18)",
    2014: "RNN encoder-decoder (04), seq2seq (04), GRU (03)",
    2015: "Bahdanau attention (06), Luong attention (07)",
    2016: "LSTMN (09), residual connections (13)",
    2017: "key–value attention (08), structured self-attention (09), "
    "ConvS2S (18), Transformer (14)",
}
for year, systems_then in systems_by_year.items():
    print(year, systems_then)

# %% [markdown] kind="text"
r"""
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
