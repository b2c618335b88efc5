# Lesson 04 · the source. Edit this file, then run `python3 -m course_lib build 04`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 04 · Encoder-decoder and its bottleneck

**The question:** how can one network encode a sentence and another write its translation, with a single vector between them?

About {minutes} minutes. You need the recurrent state from [lesson 02](02_recurrent_networks.ipynb), LSTM and GRU from [lesson 03](03_lstm_and_gru.ipynb), and from [lesson 01](01_guessing_the_next_word.ipynb) how a language model guesses the next word.
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **say** how two recurrent networks translate, and what passes between them;
2. **write** greedy decoding, and **drive** two trained translators of 2014 with it;
3. **break** one of them with a sentence of your own, and **say** why it broke; <!-- core -->
4. **measure** what a translator does with the right words before it, and what with its own;
5. **explain** what a larger state changes, and what it does not.
"""

# %% kind="setup"
import torch

from course_lib import views
from course_lib.results import mean_over_seeds
from course_lib.teaching import check, estimate, explain, predict, quiz, start_lesson
from course_lib.teaching import yours
from course_lib.text import BOS, EOS, generate, splits
from course_lib.translation import load_shipped
from lessons.l04_encoder_decoder import OneVectorSuitcase, Scripted, translations_of

start_lesson("encoder_decoder", seed=4)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("04", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · Listen to the end, then speak

A language model guesses the next word. A translator must do more: it gets an English sentence, the {term:source sentence}, and writes a French one, the {term:target sentence}. The two differ in length and in order. *The cat was thirsty* is four words, *le chat avait soif* too; but *I am going there* is *j'y vais*. So one cannot turn word after word into word after word.

In 2014 two groups had the same idea: use **two** recurrent networks. Think of interpreters who may take no notes. They listen until the speaker has finished. Then they speak, from memory.

- The {term:encoder} listens: it reads the source word by word and changes its state at each. Nothing is written. When the sentence is over, its last state is all that remains: the {term:summary vector}.
- The {term:decoder} speaks: it is a language model of French that starts not from nothing, but from the summary.

Two signals are needed that are no words, and you know both: the marks `</s>` and `<s>` of lesson 01. How does the encoder know that the sentence is over? By the mark at its end: {term:EOS}, *end of sentence*. And what does the decoder read before its first word? The mark that means "now speak": {term:BOS}, *beginning of sentence*. The decoder says EOS itself when it has finished, and that is how the target finds its own length.
"""

# %% kind="diagram" hide_input=true
PARTS = {
    "source, EOS": (0, 1), "encoder": (1, 1), "summary vector": (2, 1),
    "decoder": (3, 1), "next word": (4, 1), "word before": (3, 0),
}
ARROWS = [
    ("source, EOS", "encoder"), ("encoder", "summary vector"),
    ("summary vector", "decoder"), ("decoder", "next word"),
    ("word before", "decoder"),
]
NOTES = {"word before": "BOS at first", "next word": "EOS at the end"}


def draw(lit, title):
    return views.diagram(PARTS, ARROWS, lit=lit, notes=NOTES, title=title)


draw(("source, EOS", "encoder", "summary vector"), "Listen, then speak")

# %% [markdown] kind="text"
r"""
Here are both networks of 2014, trained on the same 20,000 pairs of our small language and about equally large ({result:lesson_04/thousand parameters/seq2seq:.0f},000 and {result:lesson_04/thousand parameters/rnn_encoder_decoder:.0f},000 parameters).

- **RNN encoder-decoder** (Cho and others, 2014): a GRU reads, a GRU speaks, and the decoder gets the summary again **at every word**.
- **Sequence to sequence**, *seq2seq* for short (Sutskever, Vinyals and Le, 2014): layers of LSTM read, others speak (four each in the paper, two in our small version). The summary is the decoder's **first state**, and never seen again. And it reads the source **backwards**, because its authors found by trying that this helped. (*Layers*: the states of one LSTM are the input of the next. So its summary is a cell and a hidden state for each of two layers, {result:lesson_04/numbers in the summary/seq2seq:.0f} numbers in all; we go on calling it one vector.)

A model takes and gives numbers. All tokens, English and French, have a number in one vocabulary. Look at one step, done by hand:
"""

# %% kind="example"
seq2seq, cho = load_shipped("seq2seq"), load_shipped("rnn_encoder_decoder")
torch.set_grad_enabled(False)  # nothing is trained in this lesson
to_ids, to_text = seq2seq.tokenizer.encode, seq2seq.tokenizer.decode

ids = to_ids("the cat sleeps")
print("the cat sleeps =", ids, " BOS =", BOS, " EOS =", EOS)

sentence = torch.tensor([[*ids, EOS]])  # a batch of one sentence, four tokens long
summary = seq2seq.model.encode(sentence, torch.tensor([4]))
state = seq2seq.model.start(summary)
logits, state, _ = seq2seq.model.step(summary, state, torch.tensor([BOS]))

best = logits[0].topk(3).indices
print("logits for", logits.shape[1], "tokens; the best three:", to_text(best))
for name, tensor in summary.items():
    _, n_layers, width = tensor.shape
    print(f"the summary's {name}: {n_layers} layers of {width} numbers")

# %% kind="library" track="core" contents="the same summary, computed with the LSTM cell of lesson 03"
lstm = yours("lstm_cell")  # of lesson 03: it can be the encoder
inputs = seq2seq.model.words.source(torch.tensor([*reversed(ids), EOS]))
for number, (layer,) in enumerate(seq2seq.model.encoder.layers):
    w_x, w_h = layer.weight_ih_l0, layer.weight_hh_l0
    hidden, cell, states = torch.zeros(1, 100), torch.zeros(1, 100), []
    for x in inputs:  # in the second layer: the states of the first
        b = layer.bias_ih_l0 + layer.bias_hh_l0
        hidden, cell = lstm(x[None], hidden, cell, w_x, w_h, b)
        states.append(hidden[0])
    torch.testing.assert_close(hidden, summary["hidden"][:, number])
    torch.testing.assert_close(cell, summary["cell"][:, number])
    inputs = torch.stack(states)
print("the same summary, read word by word with your own cell")

# %% [markdown] kind="formula"
r"""
Written out, with $x_1 \dots x_n$ the source (the last one is EOS) and $y_1, y_2, \dots$ the target:

$$ h_j = \text{encoder}(x_j, h_{j-1}) \qquad c = h_n \qquad s_i = \text{decoder}(y_{i-1}, s_{i-1}) \qquad p(y_i) = \operatorname{softmax}(W s_i) $$

| symbol | in code | what it is |
|---|---|---|
| $c$ | `model.encode(...)` | the summary: all the decoder will ever know of the source |
| $s_0$ | `model.start(...)` | the decoder's state before the first word; in seq2seq this is $c$ itself |
| $y_0$ | `BOS` | what it reads first |
| $s_i$, scores | `model.step(summary, state, tokens)` | one step: read one word, give a logit for every next word, and the new state |

Cho's decoder also has $c$ in every step: $s_i = \text{decoder}(y_{i-1}, s_{i-1}, c)$. The third thing that `step` returns is for models that can look back; ours cannot, and it is `None`.
"""

# %% kind="quiz"
quiz("04", "two-ends")

# %% [markdown] kind="text" track="short"
r"""
## 2 · Make it speak

The decoder gives a probability to each word. Which one should it say? In lesson 01 the next word was drawn at random. For a translation one usually wants the best guess. {term:greedy decoding|Greedy decoding} takes the likeliest word at every step, reads it, goes on, and never takes a word back.

Where does it stop? When the model says EOS. A model that was badly trained may never say it, so there is a limit too.
"""

# %% kind="diagram" hide_input=true
draw(("decoder", "next word", "word before"), "What it says, it reads next")

# %% [markdown] kind="text" exercise="greedy_decode"
r"""
**Build it: the loop that makes a translator talk.** Work in four steps, and try each in a cell of its own.

1. Read the source: its numbers, then EOS, as a batch of one. The length counts EOS.
2. The first step: from the start state, with BOS. Take the number of the largest logit.
3. The second step: with the *new* state and the word it has just said.
4. The loop around it, and its two ends: EOS, and `max_len` words.

Return the words as a list of plain numbers (`.item()` makes one), without BOS and EOS. To try it out there is a model without weights that says what you tell it: `Scripted([7, 8])` generates the tokens 7, 8 and EOS if it is called correctly, and nothing but the token 4 if it isn't. Then use `seq2seq.model`. Keep it well: any translator of this course can be driven by it.
"""

# %% kind="exercise" exercise="greedy_decode" title="Greedy decoding" difficulty=3 importance=5 track="short"
def greedy_decode(model, source, max_len):
    """A model, the source's token ids, a limit (0 or more)  ->  the generated ids.

    They are a list of at most max_len numbers, without BOS and EOS.
    """
    # solution
    src = torch.tensor([[*source, EOS]])
    summary = model.encode(src, torch.tensor([len(source) + 1]))
    state, token, words = model.start(summary), BOS, []
    while len(words) < max_len:
        logits, state, _ = model.step(summary, state, torch.tensor([token]))
        token = logits[0].argmax().item()
        if token == EOS:
            break
        words.append(token)
    return words
    # end solution

# %% kind="check" exercise="greedy_decode"
check("greedy_decode", greedy_decode)

# %% [markdown] kind="hints" exercise="greedy_decode"
r"""
### A nudge
Three things change from step to step: the state, the word that is read next, and the list of words said. Set all three before the loop.

---
### Shapes
`encode` wants a tensor (1, n) and a tensor of one length; `step` wants a tensor of one token, `torch.tensor([token])`. The logits have the shape (1, vocabulary): `logits[0].argmax().item()` is a plain number.

---
### Step by step
1. `encode` the source with EOS behind it; `start` gives the first state; the first token is BOS; no words yet.
2. While there are fewer than `max_len` words: `step` with summary, state and token; keep the new state; take the likeliest token.
3. If it is EOS, leave the loop. Else append it, and go on with it as the next token.
"""

# %% [markdown] kind="text"
r"""
Now it drives both networks of 2014. Put in a sentence of your own, of the words listed in lesson 00. `translations_of` knows the right translation of nearly every sentence of our small language: it applies the rules backwards. For any other text it returns an empty set.
"""

# %% kind="example"
decode = yours("greedy_decode")
your_sentence = "the old fox sees two birds near the river"


def show_translations(text):
    print("       ", text)
    for name, system in (("Cho    ", cho), ("seq2seq", seq2seq)):
        print(name, to_text(decode(system.model, to_ids(text), max_len=40)))
    print("right  ", *translations_of(text), "\n")


show_translations(your_sentence)
show_translations(generate(1, seed=4, length=(6, 8))[0].src_text)
KING = "the king sees the queen but the queen sees the boy and the boy sees the girl"
show_translations(KING)

# %% [markdown] kind="text"
r"""
Look at the long one. Nobody in the source washes anybody, and there is no cow. But the French is *fluent*: every word fits the one before. The decoder is a good language model. What it has lost is the source, and where memory is blank it makes things up.
"""

# %% [markdown] kind="text" exercise="test_greedy"
r"""
**Turn round and write the test.** Somebody hands you *their* decoder. Call it with a `Scripted` model, whose answer you know, and `assert` what must come out. `Scripted([7, 8], endless=True)` says 7, 8, 7, 8 and never EOS.
"""

# %% kind="exercise" exercise="test_greedy" mode="test" title="Write the test" difficulty=2 importance=3 track="stretch"
def test_greedy(decode):
    """Takes a function like greedy_decode; raises if it is wrong."""
    # solution
    assert decode(Scripted([7, 8, 7]), [5, 6], 10) == [7, 8, 7]
    assert decode(Scripted([7, 8], endless=True), [5], 4) == [7, 8, 7, 8]
    # end solution

# %% kind="check" exercise="test_greedy"
check("test_greedy", test_greedy)

# %% [markdown] kind="hints" exercise="test_greedy"
r"""
### A nudge
A sentence that ends by itself shows whether the loop feeds words and stops at EOS. What does it not show? A wrong limit.

---
### Step by step
Two assertions: one with a script of two or three words and a generous limit, one with an endless script and a small limit. Compare whole lists.
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · How long until it breaks?

We need a measure: the {term:exact match} is the share of translations that are right **word for word**. It is harsh: one wrong ending and the whole sentence is lost. For real languages, where ten translations may be good, it would be unfair. In our small language each sentence has one right translation, so it is fair, and it is easy to read. How harsh is it? With 95% of the words right, and mistakes that are independent of each other, $0.95^{20} = 36\%$ of the sentences with 20 words come out whole.

Now the two networks: 1,000 test sentences that neither has seen, sorted by length, each network trained three times from different random starts. Sentences up to five words nearly all come out right. The longest sentences in training had 20 words, and more than a quarter of all had 16 or more.
"""

# %% kind="predict"
lengths = {"1–5": 3, "6–10": 8, "11–15": 13, "16–20": 18}


def exact(experiment, n_words):
    """The exact match of each variant, as the mean over three seeds."""
    split = "test" if n_words in lengths else "long"

    def exact_match(run):
        return run["scores"][split]["by_length"][n_words]["exact"]

    return mean_over_seeds(experiment, exact_match)


def exact_by_length(experiment, variant):
    return [100 * exact(experiment, n_words)[variant] for n_words in lengths]


names = {"seq2seq": "seq2seq", "Cho's": "rnn_encoder_decoder"}
curves = {name: exact_by_length("toy_ladder", names[name]) for name in names}
figure = views.lines(
    list(lengths.values()), curves, x_name="words in the source (middle of group)",
    y_name="exactly right, %", title="One summary for any length",
)
predict("04", "length-cliff", figure)

# %% [markdown] kind="text"
r"""
That is the picture of this lesson. Five words: nearly always right. Eighteen: one in five. Two networks that differ in almost everything, LSTM or GRU, backwards or forwards, the summary once or at every word, fall off nearly the **same** cliff. What they share is the {term:bottleneck}: everything must pass through one vector of a fixed size, whether the sentence has three words or twenty. (Of {result:lesson_04/numbers in the summary/rnn_encoder_decoder:.0f} numbers in Cho's, of {result:lesson_04/numbers in the summary/seq2seq:.0f} in Sutskever's: size is not all, how it is packed and read counts too. And beyond the lengths of training? Of {result:toy_ladder/seq2seq/scores/long/by_length/21–30/n:.0f} sentences with 21 to 30 words, each training gets none, one or two right.)
"""

# %% [markdown] kind="text" exercise="breaking_sentence"
r"""
Length is not the only thing that breaks them. You can do it with less.

**Find your own breaking sentence.** At most **eight** words (a question mark isn't one), a sentence of our small language (`translations_of` can translate it), and seq2seq gets it wrong. About one in twenty does. Try candidates in a cell of your own with `show_translations("...")`; `generate(200, seed=1, length=(5, 8))` makes 200 pairs to start from, each with its `src_text` and `tgt_text`. Before each try, say what you think it will lose: the gender of a noun far back, an adjective, who does what?
"""

# %% kind="exercise" exercise="breaking_sentence" title="Break the translator" difficulty=2 importance=4 track="core"
def breaking_sentence():
    """A sentence of at most eight words that seq2seq gets wrong."""
    # solution
    return "the cows saw the very big letter"
    # end solution

# %% kind="check" exercise="breaking_sentence"
check("breaking_sentence", breaking_sentence)

# %% [markdown] kind="hints" exercise="breaking_sentence"
r"""
### A nudge
Let the machine search: make 200 pairs with `generate`, translate each `src_text` with `seq2seq(...).target`, and print those that differ from their `tgt_text`. What do they have in common?

---
### Step by step
Seven or eight words with two adjectives, plural nouns, a *not* or a *very*. Five words can be enough: a feminine noun, *is very*, and an adjective.
"""

# %% [markdown] kind="instructor"
r"""
**Collect them (3 min).** Put the learners' sentences on the board and sort them: gender lost, noun exchanged for a similar one (hens for goats, mice for
birds), clause lost. Ask: which of these would a dictionary have prevented? Expected: the exchanged nouns, hardly the gender. It shows that the summary keeps
*what kind of word* better than *which word*.

**If someone finds none:** "the soup is very hot" (5 words), "these hats are not beautiful", "the cows saw the very big letter".
"""

# %% [markdown] kind="text" track="short"
r"""
## 4 · Then make the vector larger?

That is the first thing anybody tries. We did: seq2seq with states of 32 to 512 numbers in each layer, three trainings each, the same 20,000 sentences. The one of 512 has {result:lesson_04/512 numbers in a state/million parameters:.1f} million parameters, {result:lesson_04/512 numbers in a state/times the parameters:.0f} times as many as the one you drove.
"""

# %% kind="predict"
sizes = ("32", "64", "128", "256", "512")
groups = (*lengths, "21–30", "31–40")
columns = [exact("state_size", n_words) for n_words in groups]
figure = views.heatmap(
    [[column[size] for column in columns] for size in sizes],
    rows=list(sizes), columns=list(groups), row_name="numbers in a state",
    title="Share of sentences exactly right",
    column_name="words in the source",
    alt="Exact match by state size, 32 to 512, and by length, 1–5 to 31–40 words.",
)
predict("04", "bigger-state", figure)

# %% [markdown] kind="text"
r"""
A larger state **moves** the cliff. From 32 to 512 it goes from five words to nearly twenty, and that is worth a lot: 512 numbers get {result:state_size/512/scores/test/by_length/16–20/exact:.0%} of the sentences with 16 to 20 words. But no size gets near 100% at 16 to 20 words, and at 21 to 30 words it is {result:state_size/512/scores/long/by_length/21–30/exact:.0%}. (Do not read too much into that last row. Nothing longer than 20 words was in training, and even a Transformer, which has no bottleneck at all, gets only {result:toy_ladder/transformer/scores/long/by_length/21–30/exact:.0%} of these lengths. What the bottleneck costs shows at 16 to 20 words, where lesson 06 will do better with a seventeenth of the parameters.)
"""

# %% [markdown] kind="text" track="core"
r"""
Why is there a cliff at all? Here is a suitcase for words that needs no training. A word is a list of random signs, +1 or −1. So is each *place* in the sentence. To pack a word, multiply it with its place, sign by sign, and add the result to the suitcase. To unpack place 3, multiply the suitcase with place 3: signs cancel, the word of place 3 comes back, and the other words are left as noise. The nearest word of the vocabulary is the answer. **Tiny, two words in four signs:** A = (+, +, −, −) at the place (+, +, +, −) packs as (+, +, −, +). B = (+, −, +, −) at the place (+, +, −, +) packs as (+, −, −, −). Together the suitcase holds (2, 0, −2, 0). Unpack the first place: (2, 0, −2, 0) again. Compare by a dot product: A gets 4, B gets 0. It was A. The zeros are what B has spoilt.
"""

# %% kind="predict" track="core"
predict("04", "twice-the-words", OneVectorSuitcase())

# %% [markdown] kind="text" track="core"
r"""
In the suitcase only words per number count: 5 in 64, 10 in 128, 40 in 512 all bring back {result:lesson_04/recalled from one vector/40 words in 512:.0p} to {result:lesson_04/recalled from one vector/5 words in 64:.0%}. So twice the words need twice the numbers, for ever. The trained networks on the right pack in their own way, and are asked for whole sentences, so their numbers are not the suitcase's.

Is it that there is no *room*? Which 50 words out of a real vocabulary of 37,000 are meant takes $50 \cdot \log_2 37000 \approx 759$ bits. A hundred numbers of 32 bits have 3,200. There is room. The usual explanation is that a network cannot use every bit of its numbers: it must pack them by a smooth rule, learned from examples, so that small errors do small harm. Now set the suitcase to *one per word*: nothing is lost at any length. Keep that in mind until lesson 06.
"""

# %% kind="diagram" hide_input=true
draw("summary vector", "The bottleneck")

# %% kind="explain"
explain("04", "why-not-larger")

# %% [markdown] kind="text" track="short"
r"""
## 5 · The right word before, or its own

How did the networks learn? In training the right translation is known. At every place the decoder is given the **right** words so far, whatever it would have said itself, and is asked for the next: {term:teacher forcing}. If it would have written *la chat*, the teacher puts *le chat* in its place and goes on from there. So one walk through the sentence teaches something at every place (the network still walks word by word), and one early mistake does not spoil the rest. The loss is the cross-entropy of lesson 01 at every place of the target, and the five lines that train are the same.

When it translates, there is no teacher, and it reads its own words: {term:free running}. A mistake stays, and the next word is guessed from a beginning the network never met in training. That difference between training and use is called {term:exposure bias}: it was only ever exposed to right beginnings.

For teacher forcing the target is needed twice, shifted by one place:

| place | 1 | 2 | 3 | 4 |
|---|---|---|---|---|
| the decoder reads | BOS | le | chat | dort |
| it should say | le | chat | dort | EOS |
"""

# %% kind="diagram" hide_input=true
draw("word before", "Who supplies the word before?")

# %% [markdown] kind="text" exercise="forced_words"
r"""
**Write teacher forcing.** What would the model say at each place, given the right words before it? You need no loop: `model.decode(summary, words)` walks through all words to be read, a tensor (1, n), and gives logits (1, n, vocabulary), and `None`.
"""

# %% kind="exercise" exercise="forced_words" title="Teacher forcing" difficulty=2 importance=5 track="short"
def forced_words(model, source, target):
    """Token ids of source and target  ->  a list, the most likely token at each step.

    It has one token more than the target: EOS belongs at the last position.
    """
    # solution
    lengths = torch.tensor([len(source) + 1])
    summary = model.encode(torch.tensor([[*source, EOS]]), lengths)
    logits, _ = model.decode(summary, torch.tensor([[BOS, *target]]))
    return logits[0].argmax(dim=-1).tolist()
    # end solution

# %% kind="check" exercise="forced_words"
check("forced_words", forced_words)

# %% [markdown] kind="hints" exercise="forced_words"
r"""
### A nudge
The upper row of the table goes in. What comes out should be the lower row.

---
### Step by step
1. Encode the source as before, with EOS.
2. `decode` with BOS and then the target's words.
3. At each place the number of the largest logit: `argmax(dim=-1)`, then `tolist()`.
"""

# %% [markdown] kind="text" exercise="free_accuracy"
r"""
And running free? Judge it position by position too: at what fraction of the target's positions, EOS included, does the model generate the right token on its own? Positions after its end count as wrong. Somebody has written a first version. Does it do what is asked? Make its check pass.
"""

# %% kind="exercise" exercise="free_accuracy" mode="bug" title="Words right, running free" difficulty=2 importance=4 track="core"
def free_accuracy(model, source, target):
    """Token ids of source and target  ->  the fraction of positions it gets right."""
    src = torch.tensor([[*source, EOS]])
    summary = model.encode(src, torch.tensor([src.shape[1]]))
    state, token, right = model.start(summary), BOS, 0
    for expected in [*target, EOS]:
        logits, state, _ = model.step(summary, state, torch.tensor([token]))
        predicted = logits[0].argmax().item()
        right += predicted == expected
        if predicted == EOS:
            break
        # bug
        token = expected
        # end bug
        # solution
        token = predicted
        # end solution
    return right / (len(target) + 1)

# %% kind="check" exercise="free_accuracy"
check("free_accuracy", free_accuracy)

# %% [markdown] kind="hints" exercise="free_accuracy"
r"""
### A nudge
Follow the case that the check shows, on paper: what is the model given in the third step, and who said it?

---
### Step by step
Look at the diagram above: the word before. Whose word does this function hand to the model? Nothing from `target` may reach the model: it is there only to be compared with.
"""

# %% [markdown] kind="text" track="core"
r"""
A {term:leak}, a part of the answer that slips into what the model is given, is the most flattering of all bugs. With a trained model the leaky version reports what teacher forcing would, and everything looks wonderful until somebody reads the translations.

Now measure both, on test sentences of 16 to 20 words. With the right words before it, seq2seq gets one place in ten wrong.
"""

# %% kind="estimate" track="core"
forced, free = yours("forced_words"), yours("free_accuracy")
test = splits().test  # the 1,000 sentences; it takes a few seconds to write them all


def sentences_of(n_words, n_most=30):
    """Source and target ids of the first test sentences of these lengths."""
    low, high = map(int, n_words.split("–"))
    pairs = [pair for pair in test if low <= pair.length <= high][:n_most]
    return [(to_ids(pair.src_text), to_ids(pair.tgt_text)) for pair in pairs]


def wrong_running_free():
    accuracies = [free(seq2seq.model, *pair) for pair in sentences_of("16–20")]
    return 100 - 100 * sum(accuracies) / len(accuracies)


estimate("04", "free-mistakes", wrong_running_free)

# %% [markdown] kind="text" track="core"
r"""
Over all {result:lesson_04/16–20 words/sentences:.0f} test sentences of that length, {result:lesson_04/16–20 words/wrong when forced:.0%} of the places are wrong when forced, and {result:lesson_04/16–20 words/wrong when free:.0%} running free. After a mistake the next ones come more easily. (Over a third of the difference is mere counting: leave one word out, and everything after it stands in the wrong place. Counted by the fewest words to put in, take out or change, it is {result:lesson_04/16–20 words/edits when free:.1%}.)

So a mistake draws others after it: the errors of lesson 01 pile up. Does that explain the cliff of section 3? Think before you answer. Those curves show sentences that are **exactly** right, running free. Suppose a teacher had sat beside the network all the time: in how many sentences would it have got *every* place right?
"""

# %% kind="predict" track="core"
def exact_match(n_words):
    """The fraction of sentences without a mistake: with a teacher, and running free."""
    pairs = sentences_of(n_words)
    model = seq2seq.model
    n_forced = sum(forced(model, *pair) == pair[1] + [EOS] for pair in pairs)
    n_free = sum(decode(model, pair[0], max_len=40) == pair[1] for pair in pairs)
    return n_forced / len(pairs), n_free / len(pairs)


by_length = [exact_match(n_words) for n_words in lengths]
table = views.heatmap(
    torch.tensor(by_length).T, rows=["with a teacher", "running free"],
    columns=list(lengths), title="Share of sentences without a mistake",
    row_name="", column_name="words in the source",
    alt="Sentences without a mistake by length: with a teacher and running free.",
)
predict("04", "forced-exact", table)

# %% [markdown] kind="text" track="core"
r"""
The two rows are the same, and they must be: until the first mistake, the network's own words *are* the right words, so teacher and freedom give it the same beginning. If it makes no mistake with the teacher, it makes none without. Exposure bias makes bad translations worse. It does not make good ones bad. The first mistake does that, and the first mistake happens with the right words before it. So its cause lies elsewhere: in the summary, in the decoder's own memory, or in what was never learned.

Can one train it away? The best-known try is *scheduled sampling* (Bengio and others, 2015): in training, now and then give the network its own word in place of the right one. We did, three trainings each. With 10% own words the share of sentences that come out exactly right is {result:scheduled_sampling/0%/scores/test/exact - scheduled_sampling/10%/scores/test/exact:.1p} points lower, no more than trainings differ by; with 25% it is {result:scheduled_sampling/0%/scores/test/exact - scheduled_sampling/25%/scores/test/exact:.1p} points lower, with 50% {result:scheduled_sampling/0%/scores/test/exact - scheduled_sampling/50%/scores/test/exact:.1p}. No gain, and from a quarter on a loss. By what you have just seen, exact match was never going to gain much from it.
"""

# %% [markdown] kind="text" contents="how many steps reading backwards saves, and what it buys in three runs"
r"""
## 6 · What does reading backwards buy?

Seq2seq reads the source from its last word to its first. Sutskever, Vinyals and Le found it by trying, and reported a test {term:BLEU} (a score for translations, higher is better: lesson 16) of 30.6 in place of 25.9 (26.2 in their table). Why should it help? Count how many steps lie between reading a word and saying its translation.
"""

# %% kind="quiz"
quiz("04", "distances")

# %% [markdown] kind="text"
r"""
So the mean stays, but the first words get close. The start is easy to learn from, and who has the beginning right has an easier time with the rest: that is the authors' guess, too. Now our own run: two seq2seq networks, equal but for the direction, three trainings each. In order, {result:source_order/in order/scores/test/exact:.1%} of all test sentences come out right.
"""

# %% kind="predict"
figure = views.lines(
    list(lengths.values()),
    {name: exact_by_length("source_order", name) for name in ("reversed", "in order")},
    x_name="words in the source (middle of group)", y_name="exactly right, %",
    title="The source backwards, or in order",
)
predict("04", "reversed", figure)

# %% [markdown] kind="text"
r"""
Backwards {result:source_order/reversed/scores/test/exact:.1%}, in order {result:source_order/in order/scores/test/exact:.1%}. The three trainings of one kind differ by as much (± {result:lesson_04/standard deviation over seeds/reversed:.1p} and ± {result:lesson_04/standard deviation over seeds/in order:.1p}), so we cannot say that it helps *here*. In the longest group it is {result:source_order/reversed/scores/test/by_length/16–20/exact:.0%} against {result:source_order/in order/scores/test/by_length/16–20/exact:.0%}, which points the paper's way. The paper's sentences were longer, and its networks about a thousand times as large (384 million parameters). What came out here is a hint, not a proof.
"""

# %% [markdown] kind="text" contents="three one-line faults, one of which still writes good French"
r"""
## Break it

Three small faults in a decoder. None raises an error; each takes one line.

> **Before you run it:** a decoder that always goes back to its *first* state, one that is given BOS at *every* step, one whose source has no EOS. Which of the three will still look like French?
"""

# %% kind="break" name="faults"
def faulty(model, source, ending=(EOS,), keep_state=True, own_words=True):
    """Nine words, without a stop at EOS."""
    source = torch.tensor([[*source, *ending]])
    summary = model.encode(source, torch.tensor([source.shape[1]]))
    state, token, words = model.start(summary), BOS, []
    for _ in range(9):
        logits, new_state, _ = model.step(summary, state, torch.tensor([token]))
        state = new_state if keep_state else state
        words.append(logits[0].argmax().item())
        token = words[-1] if own_words else BOS
    return to_text(words)


ids = to_ids("the king sees the queen but the queen sees the boy")
print("as it should be ", faulty(seq2seq.model, ids))
print("first state     ", faulty(seq2seq.model, ids, keep_state=False))
print("BOS at each step", faulty(seq2seq.model, ids, own_words=False))
print("no EOS          ", faulty(seq2seq.model, ids, ending=()))

# %% [markdown] kind="text"
r"""
The first two stammer, and one sees at once that something is wrong. The third is the dangerous one: good French, another sentence. A network that is asked in a way it was not trained for does not complain.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself

The first try counts for your score; you may try again as often as you like, and every answer gets a reason.
"""

# %% kind="quiz"
quiz("04", "closing")

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (4 min).** "An interpreter may take notes on one card. The speech gets longer, the card does not. What would you write on it? What if you
might keep one card for each sentence of the speech?" Expected: key words, names, who did what; then: no need to choose. Follow-up: and how would you find the
right card while you speak? That question *is* lesson 06.

**Learners will say / what it is / one-line answer**

| they say | what it is | answer |
|---|---|---|
| "just use a bigger state" | M03 | Row 512 of the table: {result:lesson_04/512 numbers in a state/times the parameters:.0f} times the parameters, and {result:state_size/512/scores/test/by_length/16–20/exact:.0%} at 16 to 20 words. |
| "the loss is low, so it translates well" | M28 | That loss was measured with the right words before. |
| "feeding the target is cheating" | M27 | It is shifted: the word to be said is never read before. |
| "the decoder learns word by word" | M26 | With the right words known, one walk teaches something at every place. |
| "exposure bias makes the cliff" | – | With a teacher, just as many sentences have a mistake. |

**If time is short**, cut the test exercise and section 6; keep the breaking sentence and both predictions of section 4.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | what it is |
|---|---|
| encoder, decoder | one network reads, another writes |
| summary vector | the encoder's last state: all that passes between them |
| BOS, EOS | "now speak", and "over" |
| greedy decoding | take the likeliest word, read it, go on until EOS |
| exact match | right word for word |
| teacher forcing, free running | given the right words before, or its own |
| bottleneck | one vector of fixed size for a sentence of any length |

- Two quite different networks of 2014 fall off the same cliff: nearly all of the sentences up to five words, one in five at 16 to 20.
- A larger state moves the cliff, at a price, and does not remove it.
- Exposure bias makes bad translations worse; it is not what makes the first mistake.
- Reading backwards: a large gain in the paper, a small and uncertain one here.

**Still missing.** Two problems hide in the one vector, and they are not the same.

1. The {term:alignment problem}: to say *rivière*, the decoder needs one English word, *river*, and nothing tells it where to look: it gets the whole sentence stirred into one vector, the same at every step.
2. The {term:long-dependency problem}: whatever is needed late must survive every step in between, in the encoder and in the decoder. In *the women eat the mushrooms because they are hungry*, French must choose *elles* for the women or *ils* for the mushrooms, and seq2seq writes *ils ont faim*: the mushrooms are hungry.

[Lesson 05](05_distance_between_words.ipynb) takes the second and counts the steps: how far apart are two words that belong together? [Lesson 06](06_bahdanau_attention.ipynb) takes the first, and gives every word its own vector.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Sutskever, Vinyals and Le, *Sequence to Sequence Learning with Neural Networks* (2014), sections 2 and 3.3. [arXiv 1409.3215](https://arxiv.org/abs/1409.3215)
- Cho and others, *Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine Translation* (2014), section 2. [arXiv 1406.1078](https://arxiv.org/abs/1406.1078)
- Cho, van Merriënboer, Bahdanau and Bengio, *On the Properties of Neural Machine Translation: Encoder-Decoder Approaches* (2014): the cliff, as its discoverers drew it. [arXiv 1409.1259](https://arxiv.org/abs/1409.1259)
"""
