# Lesson 04 · the source. Edit this file, then run `python3 -m course_lib build 04`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 04 · Encoder-decoder and its bottleneck

**The question:** how can one network encode a sentence and another generate its translation, with a single vector between them?

About {minutes} minutes. You need the hidden state from [lesson 02](02_recurrent_networks.ipynb), the LSTM and the GRU from [lesson 03](03_lstm_and_gru.ipynb), and language models and the training loop from [lesson 01](01_guessing_the_next_word.ipynb).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **explain** how an encoder and a decoder translate a sentence, and why the vector between them is a bottleneck;
2. **write** greedy decoding, and **run** two trained translators with it;
3. **explain** teacher forcing, and how training differs from inference;
4. **break** a translator with a short sentence of your own, and **read** the source words from its context vector with a linear probe; <!-- core -->
5. **train** a small translator, and **measure** whether a model's own mistakes explain its wrong translations. <!-- core -->
"""

# %% [markdown] kind="instructor"
r"""
**Open with: think, pair, share (4 min).** "You have to translate a speech from memory, after it is over, without notes. What do you forget first? Would a better memory solve the problem?" Expected: names, numbers and details; a better memory only postpones the problem. Follow-up: "What would you rather have while you speak?" Collect answers and keep them for lesson 06.

**If time is short,** leave out section 7 or run it on one screen. Keep the breaking sentence and the predictions of sections 3, 5 and 8.
"""

# %% kind="setup"
from functools import partial

import torch
from IPython.display import display
from torch.nn import functional as F

from course_lib import views
from course_lib.results import mean_over_seeds
from course_lib.teaching import check, estimate, predict, quiz, start_lesson, yours
from course_lib.text import BOS, EOS, PAD, generate, splits, translations_of
from course_lib.translation import load_shipped
from lessons.l04_encoder_decoder import (
    Scripted, by_length, context_vectors, fit_readout, fraction_found, held_out_pairs,
    key_picture, make_texts, read_scores, short_batches, small_seq2seq, words_in,
)

start_lesson("encoder_decoder", seed=4)

# %% [markdown] kind="text"
r"""
A trained translator at work. On the left, one network processes the English sentence; on the right, another generates the French one, word by word. Look at what passes from the first to the second.
"""

# %% kind="picture" name="key picture" hide_input=true
key_picture.draw()

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("04", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · Two recurrent networks

A language model predicts the next word of a text. A translator has a harder task: it gets an English sentence, the {term:source sentence}, and has to generate a French one, the {term:target sentence}. The two can differ in length and in word order. *The cat was thirsty* and *le chat avait soif* both have four words, but *I am going there* becomes *j'y vais*. So translating word by word isn't enough.

In 2014 two research groups published the same idea: use **two** recurrent networks, an {term:encoder-decoder}. Cho's group used it to score phrases inside a conventional translation system, Sutskever's to translate whole sentences.
An encoder made of {term:convolutions} had been published a year earlier; lesson 18 describes it. <!-- core -->

- The {term:encoder} processes the source word by word and updates its hidden state at each step. It doesn't generate any words. Its last state is the {term:context vector}, also called the *thought vector*, and nothing else is passed on.
- The {term:decoder} is a language model for French. Unlike the language models in the previous lessons, it starts from the context vector rather than from a state of zeros.

Two special tokens mark where a sentence begins and ends. You know both from lesson 01. The last token of the source is {term:EOS} (*end of sentence*, `</s>`), so the encoder can tell that the sentence is complete. The decoder's first input is {term:BOS} (*beginning of sentence*, `<s>`). When the translation is complete, the decoder generates EOS itself, so the target can have any length.
"""

# %% kind="picture" name="context vector" hide_input=true
key_picture.draw("context vector")

# %% [markdown] kind="text"
r"""
We'll use small versions of the two groups' models, trained on the same 20,000 sentence pairs of our toy language. They are about the same size: {result:lesson_04/thousand parameters/seq2seq:.0f},000 and {result:lesson_04/thousand parameters/rnn_encoder_decoder:.0f},000 parameters.

- **Sequence to sequence**, or {term:sequence-to-sequence|seq2seq} (Sutskever, Vinyals and Le, 2014): the encoder and the decoder are stacks of LSTM layers, in which the hidden states of one layer are the inputs of the next. The paper uses four layers; our model has two. The context vector is the decoder's **initial state** and isn't used again. It consists of the cell states and hidden states of both layers, {result:lesson_04/numbers in the context vector/seq2seq:.0f} numbers in total.
- **RNN encoder-decoder** (Cho et al., 2014): the encoder and the decoder are GRUs. The context vector has {result:lesson_04/numbers in the context vector/rnn_encoder_decoder:.0f} numbers, and the decoder gets it as an input **at every step**.

Seq2seq also processes the source in **reverse order**, with EOS still at the end, which clearly helped in the paper. In our own runs there is no clear difference: in three runs each, the model translated {result:min source_order/reversed/scores/test/exact:.0p} to {result:max source_order/reversed/scores/test/exact:.0%} of the test sentences correctly with the reversed source, and {result:min source_order/in order/scores/test/exact:.0p} to {result:max source_order/in order/scores/test/exact:.0%} with the source in its original order.

The next cell runs one step of the decoder by hand. The models work with token ids, and both languages share one vocabulary.
"""

# %% kind="example"
seq2seq, cho = load_shipped("seq2seq"), load_shipped("rnn_encoder_decoder")
torch.set_grad_enabled(False)  # these models are already trained
to_ids, to_text = seq2seq.tokenizer.encode, seq2seq.tokenizer.decode

ids = to_ids("the cat sleeps")
print("the cat sleeps =", ids, " BOS =", BOS, " EOS =", EOS)

sentence = torch.tensor([[*ids, EOS]])  # a batch of one sentence with four tokens
context = seq2seq.model.encode(sentence, torch.tensor([4]))
for name, tensor in context.items():
    _, n_layers, width = tensor.shape
    print(f"context vector, {name} state: {n_layers} layers of {width} numbers")

state = seq2seq.model.start(context)
logits, state, _ = seq2seq.model.step(context, state, torch.tensor([BOS]))
best = logits[0].topk(3).indices
print("logits for", logits.shape[1], "tokens; the three largest:", to_text(best))

# %% [markdown] kind="formula"
r"""
In symbols, let $x_1, \dots, x_n$ be the source tokens, including EOS, and $y_1, y_2, \dots$ the target tokens. In this lesson, $x_j$ is a token rather than its embedding. From here on, $c$ is a context vector rather than a cell state:

$$ h_j = \text{encoder}(x_j, h_{j-1}) \qquad c = h_n \qquad s_i = \text{decoder}(y_{i-1}, s_{i-1}) \qquad p(y_i \mid y_{<i}, x) = \operatorname{softmax}(W s_i) $$

| symbol | in code | meaning |
|---|---|---|
| $c$ | `model.encode(src, lengths)` | the context vector |
| $s_0$ | `model.start(context)` | the decoder's initial state; in seq2seq this is $c$ itself |
| $y_0$ | `BOS` | the decoder's first input |
| $y_{<i}$ | | all target tokens before $y_i$ |
| $s_i$, $W s_i$ | `model.step(context, state, tokens)` | one step: takes the previous token of each sentence in the batch; returns the logits for the next token, the new state, and `None` (other models return something there) |

In Cho's model, $c$ is a learned function of $h_n$, and the decoder also gets it at every step: $s_i = \text{decoder}(y_{i-1}, s_{i-1}, c)$.
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on "What does the decoder get from the encoder?" Those who choose 18 hidden states have reinvented attention; say so, and come back to it in lesson 06.
"""

# %% kind="quiz"
quiz("04", "two-ends")

# %% [markdown] kind="text" track="short"
r"""
## 2 · Greedy decoding

At each step the decoder returns a logit for every token of the vocabulary, and a softmax turns the logits into probabilities. Which token should it output? Lesson 01 described sampling, which picks one at random. For a translation we usually want the most probable one. {term:greedy decoding|Greedy decoding} picks the most probable token at every step, uses it as the next input, and never revises a choice. Decoding in which each input is the model's own previous output is called {term:autoregressive}.

Decoding ends when the model outputs EOS. A poorly trained model might never do that, so we also limit the length.
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** If `Scripted` generates nothing but the token 4, the calls are wrong. Check three things: EOS at the end of the source and in its length, the *new* state in each step, and the token that was just picked as the next input.
"""

# %% [markdown] kind="text" exercise="greedy_decode"
r"""
**Build the loop that generates a translation.** Work in four steps, and try each of them in a cell of its own.

1. Encode the source: its token ids followed by EOS, as a batch of one sentence. The length includes EOS.
2. Take the first step, from the initial state and with BOS as the input. Pick the token with the largest logit.
3. Take the second step, with the *new* state and the token you've just picked.
4. Turn this into a loop that ends at EOS or after `max_len` tokens.

Return the generated tokens as a list of Python integers (`.item()` converts a tensor), without BOS and EOS. If `max_len` is 0, the list is empty. To test your function, use `Scripted`, a model without weights that generates the tokens you give it: `Scripted([7, 8])` generates 7, 8 and EOS if it is called correctly, and nothing but the token 4 if it isn't. Then try `seq2seq.model`. In lesson 14, your function will run your own Transformer.
"""

# %% kind="exercise" exercise="greedy_decode" title="Greedy decoding" difficulty=3 importance=5 track="short"
from lessons.l04_encoder_decoder.solutions import greedy_decode

# %% kind="check" exercise="greedy_decode"
check("greedy_decode", greedy_decode)

# %% [markdown] kind="hints" exercise="greedy_decode"
r"""
### Where to start
Three things change from step to step: the state, the next input and the list of generated tokens. Set all three before the loop.

---
### Shapes
`encode` takes a tensor of shape (1, n) and a tensor with one length. `step` takes a tensor with one token, `torch.tensor([token])`. The logits have shape (1, vocabulary), and `logits[0].argmax().item()` is a Python integer.

---
### Step by step
1. Call `encode` with the source and EOS, and `start` for the initial state. The first token is BOS, and the list is empty.
2. While the list has fewer than `max_len` tokens, call `step` with the context vector, the state and the token. Keep the new state, and pick the most probable token.
3. If that token is EOS, leave the loop. Otherwise append it and use it as the next input.
"""

# %% [markdown] kind="text"
r"""
Now use your function with both models, and try a sentence of your own. The toy language is about people, animals, food, clothes and everyday things. `translations_of` returns the correct translations of almost every sentence in this language, and an empty set for any other text.
"""

# %% kind="example"
decode = yours("greedy_decode")
your_sentence = "the old fox sees two birds near the river"


def show_translations(text):
    rows = {
        name: to_text(decode(system.model, to_ids(text), max_len=40))
        for name, system in (("Cho", cho), ("seq2seq", seq2seq))
    }
    display(views.translations(text, rows, reference=translations_of(text)))


assert decode(Scripted([7, 8]), [5, 6], max_len=9) == [7, 8]
show_translations(your_sentence)
show_translations(generate(1, seed=4, length=(6, 8))[0].src_text)
KING = "the king sees the queen but the queen sees the boy and the boy sees the girl"
show_translations(KING)

# %% [markdown] kind="text"
r"""
Both models get the last sentence wrong, and seq2seq does so in an interesting way. Its output is *fluent* French, but not a translation: the English sentence mentions no cow, and nobody washes anything. The decoder works well as a language model, but it seems to have lost track of the source. Fluent output that the input doesn't support is now called *hallucination*.
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · Accuracy and sentence length

To evaluate translations, we use your function from lesson 00: {term:exact match}, the fraction of translations that are correct **word for word**. It is strict: a single wrong ending makes the whole sentence count as wrong. In a real language, where a sentence has many good translations, it would be unfair. In our toy language almost every sentence has a single correct translation, so exact match is fair and easy to interpret. Here it counts 100 test sentences of all lengths, translated by your loop:
"""

# %% kind="code"
exact_match = yours("exact_match")
some = splits(seed=0, sizes={"test": 100}).test
sources = [to_ids(pair.src_text) for pair in some]
outputs = [to_text(decode(seq2seq.model, source, max_len=40)) for source in sources]
print(f"exact match: {exact_match(outputs, [pair.tgt_text for pair in some]):.2f}")

# %% [markdown] kind="text" track="short"
r"""
Lesson 00 showed that long sentences are hard for both models. Where does the trouble begin? We now test them on 1,000 new sentences, grouped by length. Each model was trained three times with different random seeds. Almost all sentences of up to five words are translated correctly. The training sentences had up to 20 words, and more than a quarter of them had at least 16, so the models have seen many long sentences.
"""

# %% [markdown] kind="instructor"
r"""
**Ask for a few estimates aloud** and draw the two known points on the board. A straight line between them gives a little less than half; ask whether they expect more or less than that, and why.
"""

# %% kind="predict" hide_input=true
lengths = {"1–5": 3, "6–10": 8, "11–15": 13, "16–20": 18}  # groups and their middles


def exact_by_length(experiment, variant):
    """Exact match in each group, in percent, averaged over three seeds."""

    def exact(run, group):
        return 100 * run["scores"]["test"]["by_length"][group]["exact"]

    groups = [mean_over_seeds(experiment, partial(exact, group=g)) for g in lengths]
    return [by_variant[variant] for by_variant in groups]


curves = {
    "seq2seq": exact_by_length("toy_ladder", "seq2seq"),
    "Cho": exact_by_length("toy_ladder", "rnn_encoder_decoder"),
}
middles = list(lengths.values())
figure = views.panels(
    [views.Part("Exact match by length", middles, curves, "%", y_limits=(-3, 103))],
    x_name="words in the source",
    alt="Exact match by sentence length: both models fall from 100% to about 20%.",
)
predict("04", "middle-lengths", figure)

# %% [markdown] kind="text"
r"""
Both models translate nearly all sentences of up to five words, but only about one in five of those with 16 to 20 words. In this group, the three runs range from {result:min toy_ladder/seq2seq/scores/test/by_length/16–20/exact:.0p} to {result:max toy_ladder/seq2seq/scores/test/by_length/16–20/exact:.0%} for seq2seq and from {result:min toy_ladder/rnn_encoder_decoder/scores/test/by_length/16–20/exact:.0p} to {result:max toy_ladder/rnn_encoder_decoder/scores/test/by_length/16–20/exact:.0%} for Cho's model. The group has {result:toy_ladder/seq2seq/scores/test/by_length/16–20/n:.0f} sentences. Other sentences would give slightly different percentages: with 95% confidence, each of ours is within about {result:lesson_04/16–20 words/margin of error:.0p} points of the percentage for all sentences of this kind. This is its *margin of error*.

Do long sentences fail just because they have more words to get wrong? No. If each word were as easy as in the shortest group, seq2seq would still translate {result:lesson_04/16–20 words/exact match if words were equally hard:.0%} of the longest sentences correctly. So words are harder to get right in long sentences.

The two models differ in many ways: LSTM or GRU, reversed source or not, context vector used once or at every step. What they share is that all information about the source has to pass through one vector of fixed size, whether the sentence has three words or twenty. This is the {term:bottleneck}. Does it cause the drop? This figure can't tell us, because long sentences also have a more complicated structure. But if it does, a larger vector should help, and we'll test that in section 5.
"""

# %% [markdown] kind="text" exercise="breaking_sentence"
r"""
Short sentences can go wrong too.

**Find a sentence that seq2seq gets wrong.** It may have at most **eight** words (a question mark isn't a word) and must belong to the toy language, so that `translations_of` can translate it. The model gets about one such sentence in twenty wrong. Try candidates in a cell of your own with `show_translations("...")`. To get 200 sentence pairs as a starting point, call `generate(200, seed=1, length=(5, 8))`; each pair has a `src_text` and a `tgt_text`. Before each attempt, guess what the model will get wrong: the gender of a noun, an adjective, or who does what to whom?
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
### Let the computer search
Generate 200 pairs and loop over them. `seq2seq(pair.src_text).target` is the model's translation as text. Print the pairs for which it differs from `pair.tgt_text`. What do they have in common?

---
### Promising sentences
Try seven or eight words with two adjectives, plural nouns, *not* or *very*. Five words can be enough: a feminine noun, *is very*, and an adjective.
"""

# %% [markdown] kind="instructor"
r"""
**Collect the sentences (3 min).** Write the learners' sentences on the board and sort them: wrong gender, a noun replaced by a similar one (hens for goats, mice for birds), a missing clause. Ask which of these mistakes a dictionary would have prevented. Expected: the replaced nouns. A dictionary also lists the gender of a noun, but it doesn't make an adjective agree with it.

**If someone finds none:** "the soup is very hot" (5 words), "these hats are not beautiful", "the cows saw the very big letter".
"""

# %% [markdown] kind="text" contents="a linear probe that reads the source words from the context vector, and its control"
r"""
## 4 · What the context vector contains

How much of the source can be recovered from the context vector? Take 6,000 sentences and their context vectors, and fit a single matrix that turns a vector into a score for every word of the vocabulary: the score should be 1 for the words that occur in the sentence, at any position, and 0 for all others. This is a {term:linear probe}, as in lesson 02, this time fitted by linear regression.

We test the probe on other sentences. If a sentence has seven different words, we take the seven words with the highest scores and count how many of them are in the sentence. Try it with sentences of your own.
"""

# %% kind="example"
tokenizer = seq2seq.tokenizer
fit_texts, test_texts = make_texts()  # 6,000 sentences, and about 2,000 others
fit_words = words_in(tokenizer, fit_texts)  # 1 for words that occur, else 0
test_words = words_in(tokenizer, test_texts)


def fit_probe(model):
    """Fit a probe; returns a function from texts to the scores of all words."""
    vectors = context_vectors(model, tokenizer, fit_texts)
    probe = fit_readout(vectors, fit_words)  # (numbers in a vector + 1, vocabulary)
    return lambda texts: read_scores(probe, context_vectors(model, tokenizer, texts))


word_scores = fit_probe(seq2seq.model)
for text in ("the cat sleeps", "the old fox sees two birds near the river", KING):
    n_words = len(set(text.split()))
    print(text, "→", to_text(word_scores([text])[0].topk(n_words).indices))

# %% [markdown] kind="text"
r"""
The probe finds every word of the short sentence, but only some words of the longer ones. In the second sentence it misses *birds*, which seq2seq mistranslated in section 2, but also *sees*, *near* and *river*, which seq2seq got right.

A result like this needs a control, because a probe can succeed for reasons that have little to do with what the model has learned. We use two. The first ignores the context vector and always picks the most frequent words of the language. The second fits a new probe to an encoder with the same architecture but **random weights**, which has never been trained.
"""

# %% [markdown] kind="instructor"
r"""
**Ask (2 min)** what a probe on random weights should find. Most say nothing. Afterwards: "What did the training of the encoder achieve, then?" The probe can't say.

**They say:** "The probe shows what the decoder uses." **Answer:** It shows what is linearly readable.
"""

# %% kind="predict" hide_input=true
def percent_found(scores):
    """The percentage of the words that are found, for each group of lengths."""
    found = fraction_found(scores, test_words)
    return [100 * group["mean"] for group in by_length(found, test_texts).values()]


torch.manual_seed(0)
by_frequency = percent_found(fit_words.mean(dim=0).expand_as(test_words))
parts = []
for name, model in (("seq2seq", seq2seq.model), ("Cho", cho.model)):
    untrained = type(model)(model.config)  # the same architecture, random weights
    curves = {
        "trained": percent_found(fit_probe(model)(test_texts)),
        "untrained": percent_found(fit_probe(untrained)(test_texts)),
        "most frequent words": by_frequency,
    }
    title = f"Words found: {name}"
    parts.append(views.Part(title, middles, curves, "%", y_limits=(-3, 103)))
figure = views.panels(
    parts, x_name="words in the source",
    alt="Words found by linear probes in both models, by length, with two controls.",
)
predict("04", "random-encoder", figure)

# %% [markdown] kind="text"
r"""
Averaged over three runs of seq2seq, the probe finds {result:bottleneck_readout/seq2seq/readout/trained/3–5/mean:.0%} of the words in the shortest sentences and {result:bottleneck_readout/seq2seq/readout/trained/16–20/mean:.0%} in the longest, while the most frequent words alone give {result:bottleneck_readout/seq2seq/readout/most frequent words/3–5/mean:.0%} and {result:bottleneck_readout/seq2seq/readout/most frequent words/16–20/mean:.0%}. The 95% {term:confidence interval|confidence intervals} over sentences are within two points of these numbers. So a good part of the source can be read from the context vector, but the longer the sentence, the smaller that part.

The control with random weights holds a surprise. There the probe finds {result:bottleneck_readout/seq2seq/readout/untrained/3–5/mean:.0%} and {result:bottleneck_readout/seq2seq/readout/untrained/16–20/mean:.0%}, at least as many as with the trained encoder. Even a recurrent network with random weights mixes every word into its state, and a linear map can partly undo the mixing. So the probe doesn't show that training taught the encoder to store words, and the decline with length appears without training too. Cho's model, whose vector has only {result:lesson_04/numbers in the context vector/rnn_encoder_decoder:.0f} numbers, behaves differently: there, training raises the fraction at 16 to 20 words from {result:bottleneck_readout/rnn_encoder_decoder/readout/untrained/16–20/mean:.0%} to {result:bottleneck_readout/rnn_encoder_decoder/readout/trained/16–20/mean:.0%}.

A probe can also miss information that is there: it is linear, and the decoder isn't. Seq2seq translates nearly all of the shortest sentences correctly, although the probe misses about one word in eight. A linear probe shows what can be read from a vector *linearly*. It shows neither everything that the vector contains nor what the decoder uses.
"""

# %% [markdown] kind="text" track="short"
r"""
## 5 · A larger context vector

If the context vector is too small, we can make it larger. We trained seq2seq with hidden sizes from 32 to 512, three runs each, on the same 20,000 sentences. The **hidden size** is the number of values in the hidden state of each layer, and the model you've been using has 100. The largest one has {result:lesson_04/hidden size 512/million parameters:.1f} million parameters, {result:lesson_04/hidden size 512/times the parameters:.0f} times as many.
"""

# %% [markdown] kind="instructor"
r"""
**They say:** "Just use a bigger state" (M03). **Answer:** The last row of the next table has {result:lesson_04/hidden size 512/times the parameters:.0f} times the parameters, and {result:state_size/512/scores/test/by_length/16–20/exact:.0%} at 16 to 20 words.
"""

# %% kind="predict" hide_input=true
sizes = ("32", "64", "128", "256", "512")
percentages = [exact_by_length("state_size", size) for size in sizes]
figure = views.heatmap(
    torch.tensor(percentages) / 100, rows=sizes, columns=list(lengths),
    row_name="hidden size", column_name="words in the source",
    title="Exact match by hidden size",
    alt="Exact match for hidden sizes from 32 to 512 and 1–5 to 16–20 words.",
)
predict("04", "bigger-state", figure)

# %% [markdown] kind="text"
r"""
A larger hidden size helps a lot, and the drop starts at longer sentences. But it doesn't disappear, and each improvement costs more than the one before:

| hidden size | parameters | exact match, 16–20 words | range of the three runs |
|---|---|---|---|
| 64 | {result:state_size/64/parameters:,.0f} | {result:state_size/64/scores/test/by_length/16–20/exact:.0%} | {result:min state_size/64/scores/test/by_length/16–20/exact:.0p} to {result:max state_size/64/scores/test/by_length/16–20/exact:.0%} |
| 128 | {result:state_size/128/parameters:,.0f} | {result:state_size/128/scores/test/by_length/16–20/exact:.0%} | {result:min state_size/128/scores/test/by_length/16–20/exact:.0p} to {result:max state_size/128/scores/test/by_length/16–20/exact:.0%} |
| 256 | {result:state_size/256/parameters:,.0f} | {result:state_size/256/scores/test/by_length/16–20/exact:.0%} | {result:min state_size/256/scores/test/by_length/16–20/exact:.0p} to {result:max state_size/256/scores/test/by_length/16–20/exact:.0%} |
| 512 | {result:state_size/512/parameters:,.0f} | {result:state_size/512/scores/test/by_length/16–20/exact:.0%} | {result:min state_size/512/scores/test/by_length/16–20/exact:.0p} to {result:max state_size/512/scores/test/by_length/16–20/exact:.0%} |

The whole network grows with the hidden size, so the table can't separate the effect of the larger vector from that of the additional parameters.
The probe of section 4 gives a hint. In encoders with random weights, whose parameters haven't learned anything, it finds {result:bottleneck_readout/seq2seq, hidden 64/readout/untrained/16–20/mean:.0%} of the words in sentences of 16 to 20 words with a hidden size of 64 and {result:bottleneck_readout/seq2seq, hidden 512/readout/untrained/16–20/mean:.0%} with 512. So more words can be read from a larger vector, even before training. <!-- core -->
"""

# %% [markdown] kind="text" track="short"
r"""
## 6 · Teacher forcing

How were these models trained? During training, the correct translation is known. At each position the decoder gets the **correct** previous words, whatever it would have predicted itself, and has to predict the next word. This is called {term:teacher forcing}. Even if the model would have generated *la*, its next input is *le*. An early mistake therefore doesn't spoil the rest of the sentence, and the model can learn from every position of the target. The loss is the cross-entropy from lesson 01, averaged over the target positions.

The target is used twice, as the decoder's input and as the expected output. The input is {term:shifted target|shifted} by one position, so the decoder never sees the word it has to predict:

| position | 1 | 2 | 3 | 4 |
|---|---|---|---|---|
| decoder input | BOS | le | chat | dort |
| expected output | le | chat | dort | EOS |

At {term:inference}, when we use the trained model, there is no correct translation to rely on, so the decoder gets its own previous words. A mistake becomes part of the input for all the words that follow, and the decoder was never trained to continue a beginning that doesn't fit the source. This mismatch between training and inference is called {term:exposure bias}.
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** The decoder's input is BOS and the target, so there is one more prediction than there are target words.

| they say | misconception | answer |
|---|---|---|
| "using the target as input is cheating" | M27 | It is shifted: the decoder never sees the word it has to predict. |
| "the decoder learns word by word" | M26 | With teacher forcing, every position contributes to the loss of the same step. |
"""

# %% [markdown] kind="text" exercise="forced_words"
r"""
**Implement teacher forcing.** Which token does the model predict at each position, given the correct previous words? You don't need a loop: `model.decode(context, inputs)` runs the decoder on all input tokens in one call; inside, it still goes step by step. It takes a tensor of shape (1, n) and returns a pair: the logits, of shape (1, n, vocabulary), and `None`. `source` and `target` are lists of token ids without BOS and EOS. The target can be empty. Return a list of Python integers.
"""

# %% kind="exercise" exercise="forced_words" title="Teacher forcing" difficulty=2 importance=5 track="core"
def forced_words(model, source, target):
    """Token ids of source and target  ->  a list, the most likely token at each step.

    It has one more token than the target: a perfect model predicts EOS at the end.
    """
    # solution
    lengths = torch.tensor([len(source) + 1])
    context = model.encode(torch.tensor([[*source, EOS]]), lengths)
    logits, _ = model.decode(context, torch.tensor([[BOS, *target]]))
    return logits[0].argmax(dim=-1).tolist()
    # end solution

# %% kind="check" exercise="forced_words"
check("forced_words", forced_words)

# %% [markdown] kind="hints" exercise="forced_words"
r"""
### Look at the table
The row *decoder input* goes in. If the model makes no mistake, the row *expected output* comes out.

---
### Step by step
1. Encode the source with EOS, as in greedy decoding.
2. Call `decode` with BOS followed by the target.
3. Pick the token with the largest logit at each position: `argmax(dim=-1)`, then `tolist()`.
"""

# %% [markdown] kind="text" contents="a seq2seq model that you train in about half a minute, and three translations while it learns"
r"""
## 7 · Train a translator

Here is a complete training run, which takes about half a minute on a CPU. The model is a small seq2seq with one layer and a hidden size of 100, and the training data are about 6,000 sentences of three to five words. The loop is the one from lesson 01, with teacher forcing in the middle: `batch.tgt_in` and `batch.tgt_out` are the two rows of the table in section 6. The sentences of a batch are {term:padding|padded} to the same length, and `ignore_index=PAD` leaves the padding out of the loss. The cell also shows the translations of three sentences that aren't in the training data, before the first step and while the model learns.

> **Before you run it:** after 100 of the 500 steps, will the translations be random words, the beginnings of correct translations, or fluent French that means something else?
"""

# %% [markdown] kind="instructor"
r"""
**While it trains** (about half a minute), let someone read the translations aloud as they appear, and ask after each line: "Does it depend on the source yet?" At first the output hardly depends on it; then comes French that means something else.
"""

# %% kind="code"
UNSEEN = ("the cat sleeps", "the king sees the queen", "the soup is hot")


def show_progress(step, model, films):
    for text, rows in films.items():
        rows[f"step {step}"] = to_text(decode(model, to_ids(text), max_len=10))
        film = views.translations(text, rows, reference=translations_of(text))
        display(film, display_id=text, update=step > 0)

# %% kind="train" ignore_output=true
films = {text: {} for text in UNSEEN}  # the translations so far, by step
model = small_seq2seq(seed=0)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
with torch.enable_grad():
    for step, batch in enumerate(short_batches(n_steps=500, without=UNSEEN)):
        if step in (0, 50, 100, 200, 300):
            show_progress(step, model, films)
        context = model.encode(batch.src, batch.src_lengths)
        logits, _ = model.decode(context, batch.tgt_in)  # teacher forcing
        loss = F.cross_entropy(
            logits.flatten(0, 1), batch.tgt_out.flatten(), ignore_index=PAD
        )  # all positions of all sentences in one list
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
show_progress(500, model, films)

# %% kind="code" ignore_output=true
n_correct = 0
for pair in held_out_pairs():
    output = decode(model, to_ids(pair.src_text), max_len=10)
    n_correct += output == to_ids(pair.tgt_text)
print(f"{n_correct} of {len(held_out_pairs())} unseen sentences translated correctly")
assert n_correct > 250, "Too few: was the training stopped early?"

# %% [markdown] kind="text"
r"""
At first the output hardly depends on the source. Then, in our runs, the model generated plausible French for quite a while before it learned to translate: around step 100, *the cat sleeps* became a French sentence with a different meaning. A plausible reason is that the decoder can learn which words are frequent and which follow each other from the French sentences alone, while the meaning of the source reaches it only through the context vector.
"""

# %% [markdown] kind="text" contents="how much a model's own mistakes harm its translations, and whether they explain section 3"
r"""
## 8 · Do mistakes cause mistakes?

With teacher forcing, each prediction is based on correct previous words. At inference, it is based on the model's own words. How much does that hurt?

In test sentences of 16 to 20 words, seq2seq gets about one position in ten wrong with teacher forcing. The next cell decodes 30 of these sentences autoregressively and compares the outputs with the correct translations position by position, including EOS.
"""

# %% kind="estimate"
test = splits().test  # 1,000 sentence pairs; this takes a few seconds


def sentences_of(group, n_most=30):
    """Source and target ids of the first test sentences in a group of lengths."""
    low, high = map(int, group.split("–"))
    pairs = [pair for pair in test if low <= pair.length <= high][:n_most]
    return [(to_ids(pair.src_text), to_ids(pair.tgt_text)) for pair in pairs]


def percent_wrong():
    n_right = n_positions = 0
    for source, target in sentences_of("16–20"):
        output = [*decode(seq2seq.model, source, max_len=40), EOS]
        expected = [*target, EOS]
        n_right += sum(a == b for a, b in zip(output, expected, strict=False))
        n_positions += len(expected)
    return 100 - 100 * n_right / n_positions


estimate("04", "free-mistakes", percent_wrong)

# %% [markdown] kind="text"
r"""
Over all {result:lesson_04/16–20 words/sentences:.0f} test sentences of this length, {result:lesson_04/16–20 words/wrong when forced:.0%} of the positions are wrong with teacher forcing and {result:lesson_04/16–20 words/wrong when free:.0%} with autoregressive decoding. Part of the increase is due to the way we count, because a single missing word shifts everything that follows. But even if we count only the smallest number of words that have to be inserted, deleted or replaced, the error rate is {result:lesson_04/16–20 words/edits when free:.0%}. Only the decoder's input differs between the two measurements, so mistakes do cause further mistakes.

Does that explain the drop in section 3? That figure counts sentences **without any mistake**, decoded autoregressively. Imagine that every wrong word were corrected immediately, as in teacher forcing. In how many sentences would the model get *every* position right?
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min)** before the figure. "Every wrong word is corrected at once. Does that make more sentences free of mistakes?" Most say yes. Expected, after some thought: until the first mistake, the inputs are the same in both cases, so the same sentences are free of mistakes.

**They say:** "Exposure bias causes the drop." **Answer:** With teacher forcing, just as many sentences have a mistake.
"""

# %% kind="predict"
forced = yours("forced_words")


def without_mistakes(group):
    """The fraction of sentences without a mistake: teacher forcing, autoregressive."""
    pairs = sentences_of(group)
    model = seq2seq.model
    n_forced = sum(forced(model, *pair) == pair[1] + [EOS] for pair in pairs)
    n_free = sum(decode(model, pair[0], max_len=40) == pair[1] for pair in pairs)
    return n_forced / len(pairs), n_free / len(pairs)


fractions = [without_mistakes(group) for group in lengths]
table = views.heatmap(
    torch.tensor(fractions).T, rows=["teacher forcing", "autoregressive"],
    columns=list(lengths), title="Sentences without a mistake",
    row_name="", column_name="words in the source",
    alt="Sentences without a mistake by length, teacher-forced and autoregressive.",
)
predict("04", "forced-exact", table)

# %% [markdown] kind="text"
r"""
The two rows are identical, and they have to be. Up to its first mistake, the model's own words *are* the correct words, so it gets the same inputs in both cases. If it makes no mistake with teacher forcing, it makes none without. Exposure bias makes a wrong translation worse, but it can't turn a correct one into a wrong one. The first mistake does that, and only correct words precede it. Its cause must be something else: the context vector, the decoder's own state, or something that the model never learned.

The best-known attempt to reduce exposure bias is {term:scheduled sampling} (Bengio et al., 2015), which replaces some of the decoder's inputs in training with its own predictions. In our runs exact match doesn't gain: {result:min scheduled_sampling/10%/scores/test/exact:.0p} to {result:max scheduled_sampling/10%/scores/test/exact:.0%} with 10% of the inputs replaced, {result:min scheduled_sampling/25%/scores/test/exact:.0p} to {result:max scheduled_sampling/25%/scores/test/exact:.0%} with 25%, and {result:min scheduled_sampling/0%/scores/test/exact:.0p} to {result:max scheduled_sampling/0%/scores/test/exact:.0%} without it. With 10% there is no clear difference; 25% is worse. Its authors used it for captioning, parsing and speech recognition, with scores that give credit for partly correct outputs.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on "The loss on the test set … is very low."

**They say:** "The loss is low, so it translates well" (M28). **Answer:** That loss was measured with the correct previous words.
"""

# %% kind="quiz"
quiz("04", "closing")

# %% [markdown] kind="instructor"
r"""
**Wrap up (2 min).** Ask for one sentence: "What would have to change so that sentence length matters less?" Write the proposals down. Usually at least one of them is to keep more than the last state, which is lesson 06.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | meaning |
|---|---|
| encoder, decoder | one network processes the source, another generates the target |
| context vector | the encoder's last state, all the decoder knows about the source |
| BOS, EOS | the decoder's first input, and the end of a sentence |
| greedy decoding | pick the most probable token, use it as the next input, stop at EOS |
| exact match | the fraction of translations that are correct word for word |
| bottleneck | one vector of fixed size for a sentence of any length |
| linear probe | a linear model that predicts a property from another model's vectors | <!-- core -->
| teacher forcing | in training, the decoder gets the correct previous words; at inference, its own |
| exposure bias | the mismatch between training and inference |

- Two different models from 2014 translate nearly all sentences of up to five words, but only one in five of those with 16 to 20.
- The longer the sentence, the smaller the fraction of its words that a linear probe can read from the context vector. <!-- core -->
- A larger hidden size helps with longer sentences, at a high cost, but the drop doesn't disappear.
- Exposure bias makes wrong translations worse, but it isn't the cause of the first mistake. <!-- core -->

**Still missing.** These models leave two problems unsolved.

1. **Selecting words:** to generate *rivière*, the decoder mostly needs one English word, *river*. But it can't go back to that word; it has to recover it from a vector in which all the words of the sentence are mixed.
2. {term:long-range dependency|Long-range dependencies}: information that is needed late has to survive all the steps in between, in the encoder and in the decoder.

[Lesson 05](05_distance_between_words.ipynb) is about the second problem: how many steps separate two words that depend on each other? [Lesson 06](06_bahdanau_attention.ipynb) addresses the first.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Sutskever, Vinyals and Le, *Sequence to Sequence Learning with Neural Networks* (2014), sections 2 and 3.3. [arXiv 1409.3215](https://arxiv.org/abs/1409.3215)
- Cho et al., *Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine Translation* (2014), section 2. [arXiv 1406.1078](https://arxiv.org/abs/1406.1078)
- Cho, van Merriënboer, Bahdanau and Bengio, *On the Properties of Neural Machine Translation: Encoder-Decoder Approaches* (2014), which shows the drop for real sentences. [arXiv 1409.1259](https://arxiv.org/abs/1409.1259)
"""
