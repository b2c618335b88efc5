# Lesson 09 · the source. Edit this file, then run `python3 -m course_lib build 09`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 09 · Self-attention

**The question:** what happens when the words of a sentence attend to each other?

About {minutes} minutes. You need scaled attention and the three projections from [lesson 08](08_query_key_value.ipynb), and the translator with attention from [lesson 06](06_bahdanau_attention.ipynb).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **say** what each of three earlier systems added on the way to self-attention; <!-- core -->
2. **build** a self-attention layer, and run it with the matrices of a trained Transformer;
3. **find** by intervention which words a translation hangs on;
4. **write a test** that tells whether a layer sees the order of its words; <!-- core -->
5. **explain** why a heat map alone is no explanation.
"""

# %% kind="setup"
import itertools

import torch

from course_lib import views
from course_lib.formatting import fixed
from course_lib.teaching import check, estimate, explain, predict, quiz, start_lesson
from course_lib.teaching import yours
from course_lib.text import BOS, EOS, TEST_SIZES, splits
from course_lib.translation import load_shipped
from lessons.l09_self_attention import (
    HEADS, CloseAWord, decode_states, equal_weights, listen, listen_alone,
    source_states, take_apart, translate_alone,
)

start_lesson("self_attention", seed=9)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("09", "recall")

# %% [markdown] kind="text" contents="an LSTM that attends to all its earlier states, and what it learned to attend to"
r"""
## 1 · A tape instead of one card

In lesson 06 one sentence looked at another: the French side at the English words. But why should a sentence not look at *itself*? Three systems took that step before the Transformer did, each a part of the way.

The first began with the LSTM of lesson 03. Its past is one card, the state, written over at every word. Cheng, Dong and Lapata (2016) pinned every card to the wall: the state of each word is kept on a {term:memory tape}. A new word scores all of them (additively, as in lesson 06), and with its weights blends the old hidden states into one, and the old memory cells too. From there on it is an LSTM cell, with the blends where the last state used to be. This is {term:LSTMN}, a long short-term memory *network*: an LSTM that looks back at all its earlier states.

**By hand.** Three words have left the memories 2, 6 and 4. The fourth gives them the weights ½, ¼ and ¼. Its cell starts from ½ · 2 + ¼ · 6 + ¼ · 4 = 3.5; an LSTM would start from 4, the last one, whatever the word.

Ours has learned to guess the next French word. Where does each word look on the tape?
"""

# %% kind="predict"
lstmn = load_shipped("lstmn_lm")
french = "le chat a bu l' eau parce qu' il avait soif"
ids = torch.tensor([[BOS, *lstmn.tokenizer.encode(french)]])
with torch.no_grad():
    _, tape_weights = lstmn.model.eval().say(ids, with_weights=True)
row_names = ["<s>", *french.split()]
figure = views.heatmap(
    tape_weights[0, 0, 0], rows=row_names, columns=row_names, numbers=False,
    title="LSTMN: which earlier words each word builds on",
    row_name="the word just read", column_name="on the tape",
    alt="Weights of an LSTMN over the words of a French sentence read so far.",
)
predict("09", "tape-neighbour", figure)

# %% [markdown] kind="text" contents="memory networks, whose second look-up asks with what the first one found"
r"""
Mostly the neighbour, where an LSTM's state comes from anyway. But there are four leaps: *bu* goes back over *a* to *chat*, as if for who drank; *l'* goes to *a*, and *avait* to *parce*. And *il*, which is the cat, leaps to the wrong noun: *eau*. Did it pay? Perplexity on our French: {result:toy_language_models/lstmn_lm/scores/test/perplexity:.2f} with the tape, {result:toy_language_models/lstm_lm/scores/test/perplexity:.2f} for a plain LSTM of the same size. Here, no.

One thing stayed: the weights at a word need the blend of the word before, which needed its weights. So the tape is written word after word, like every recurrent network.

## 2 · Read, then read again

Here is a story: *Mary has the milk. Mary is in the kitchen. John is in the garden.* Where is the milk? No sentence says so. You look twice: first for the milk, and find Mary; then for Mary.

One look-up in a memory is a {term:memory read}. Memory networks that learn all of this end to end (Sukhbaatar, Szlam, Weston and Fergus, 2015) read several times: what comes back is **added to the query**, and the next read asks with the sum. (Their answer is made of context and query; ours of the context alone, and without matrices.)
"""

# %% kind="code"
soft_lookup = yours("soft_lookup")  # (query, keys, values)

# %% [markdown] kind="text" exercise="read_twice"
r"""
Write it for two reads. `soft_lookup(query, keys, values)` is your look-up of lesson 08: it returns a context and its weights. Everything has the same width here, so that a context can be added to a query. Return the **second** context (the answer) and the weights of both reads.
"""

# %% kind="exercise" exercise="read_twice" title="Read twice" difficulty=2 importance=3 track="stretch"
def read_twice(query, keys, values):
    """query (d,), keys (n, d), values (n, d)

    ->  answer (d,), weights of the first read (n,), of the second (n,)
    """
    # solution
    context, first = soft_lookup(query, keys, values)
    answer, second = soft_lookup(query + context, keys, values)
    return answer, first, second
    # end solution

# %% kind="check" exercise="read_twice"
check("read_twice", read_twice)

# %% [markdown] kind="hints" exercise="read_twice"
r"""
### A nudge
Two calls of the same look-up. Only the query differs.

---
### Step by step
1. Look up with `query`: a context and the first weights.
2. Look up with `query + context`: the answer and the second weights.
3. Return all three, the answer first.
"""

# %% kind="example"
things = ["milk", "Mary", "John", "kitchen", "garden"]
milk, mary, john, kitchen, garden = torch.eye(5)  # a one-hot vector for each
facts = ["Mary has the milk", "Mary is in the kitchen", "John is in the garden"]
story_keys = torch.stack([milk, mary, john])  # the key of each fact
story_values = 8 * torch.stack([mary, kitchen, garden])  # and its value
# 4 and 8: far enough from 0 that the softmax is sharp

answer, first, second = yours("read_twice")(4 * milk, story_keys, story_values)
for i, fact in enumerate(facts):
    weights = f"first read {fixed(first[i], 2)}   second read {fixed(second[i], 2)}"
    print(f"{fact:24} {weights}")
print("the milk is near:", things[answer.argmax()])

# %% [markdown] kind="text" contents="four learned queries that summarise a sentence, and where they look"
r"""
One read would have answered "Mary". Remember this: what a word has looked up in one round, it can use to ask in the next. It is why Transformers stack their attentions (lesson 13).

## 3 · A sentence in four looks

Who asks, when there is no decoder? Lin and others (2017) let a sentence be read by a bidirectional LSTM and put a few **learned queries** before its states, the same for every sentence. Each gives one weighted view of the whole, and the views side by side are the {term:structured self-attentive embedding}.

Ours has four such views, and one task: to say which pronoun the French sentence will need. On its test sentences it is right {result:lesson_09/pronouns classified correctly in 1,000:.0f} times in 1,000. Where does it look, for *thirsty* and for *cold*?
"""

# %% kind="see"
thirsty = "the cat drank the water because it was thirsty"
cold = "the cat drank the water because it was cold"
encoder = load_shipped("self_attentive")


@torch.no_grad()
def views_of(sentence):
    """The weights of the four views, (4, words)."""
    ids = torch.tensor([[*encoder.tokenizer.encode(sentence), EOS]])
    return encoder.model.eval().encode(ids, torch.tensor([ids.shape[1]]))[1][0]


views.heatmap(
    torch.cat([views_of(thirsty), views_of(cold)]),
    rows=[f"{name}, view {i}" for name in ("thirsty", "cold") for i in range(1, 5)],
    columns=[*thirsty.split()[:-1], "thirsty / cold", "</s>"],
    title="Four learned queries look at a sentence",
    row_name="sentence and view", column_name="English words",
)

# %% kind="quiz"
quiz("09", "views")

# %% [markdown] kind="text"
r"""
Only view 4 moves, from *cat* to *it*, and none looks at *thirsty* or *cold*: the LSTM has carried what they say to other places. So the words still do not look at *each other*, and an LSTM reads them one by one. One step is left, and it is the boldest: drop the LSTM.
"""

# %% [markdown] kind="text" track="short"
r"""
## 4 · Every word asks

In lesson 06 the French side attended to the English words. Now let each word ask, and let each word be asked, all in one sentence: that is {term:self-attention}. Take a meeting. Everybody writes on a card what they would like to know (a query), what they know about (a key), and what they have to say (a value). Then everybody at once reads all key cards and goes home with a blend of what was said, everybody with their own blend.

No word waits for another, and any two are one step apart.

**By hand.** Two words, one number each: $x = 0$ and $1.05$, and let all three matrices be 1 (so $d_k = 1$). The second word asks with 1.05 and scores $1.05 \cdot 0 = 0$ for the first and $1.05 \cdot 1.05 \approx 1.1$ for itself. You know these scores: weights ¼ and ¾. Its output is ¾ · 1.05 ≈ 0.79. The first asks with 0, so all its scores are 0, and it gets half of each: 0.53.
"""

# %% [markdown] kind="formula"
r"""
$$ Q = X W_Q \qquad K = X W_K \qquad V = X W_V \qquad\quad \text{outputs} = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V $$

| symbol | name in code | shape | in our Transformer |
|---|---|---|---|
| $X$ | `x` | (words, d_model) | 10 × 64 (9 words and `</s>`) |
| $W_Q, W_K$ | `w_q`, `w_k` | (d_model, d_k) | 64 × 16 |
| $W_V$ | `w_v` | (d_model, d_v) | 64 × 16 |
| softmax(…) | `weights` | (words, words) | 10 × 10 |
| outputs: the contexts, one for each word | `outputs` | (words, d_v) | 10 × 16 |

The formula is that of lesson 08. What is new stands on the left: **one** $X$ makes all three.
"""

# %% kind="diagram" hide_input=true
PARTS = {
    "words x": (0, 1), "queries": (1, 0), "keys": (1, 1), "values": (1, 2),
    "scores": (2, 0.5), "weights": (3, 0.5), "outputs": (4, 1),
}
ARROWS = [
    ("words x", "queries"), ("words x", "keys"), ("words x", "values"),
    ("queries", "scores"), ("keys", "scores"), ("scores", "weights"),
    ("weights", "outputs"), ("values", "outputs"),
]
views.diagram(
    PARTS, ARROWS, lit=("words x", "queries", "keys", "values"), title="Self-attention"
)

# %% kind="code"
# (x, w_q, w_k, w_v) -> queries, keys, values, scaled scores
project_qkv = yours("project_qkv")
# (queries, keys, values) -> context, weights
scaled_attention = yours("scaled_attention")

# %% [markdown] kind="text" exercise="self_attention"
r"""
**Build the layer**, with one thing more. Later you will want to *close* a word: it still has a query, but no word can attend to it, not even itself. So there is a fifth argument, `is_open`, with a `True` for each word that may be attended to; at least one word is open. The simplest way to close a word is to take its key and its value away before attending: `keys[is_open]` keeps the rows where `is_open` is true.

Then the weights have fewer columns than there are words. Give them back their place: `weights` shall be (n, n), with 0 in the columns of closed words. You may use `project_qkv` and `scaled_attention` of lesson 08 (the cell above fetches them), or write it anew.
"""

# %% kind="exercise" exercise="self_attention" title="A self-attention layer" difficulty=3 importance=5 track="short"
def self_attention(x, w_q, w_k, w_v, is_open):
    """x (n, d_model), w_q and w_k (d_model, d_k), w_v (d_model, d_v), is_open (n,)

    ->  outputs (n, d_v), weights (n, n)
    """
    # solution
    queries, keys, values, _ = project_qkv(x, w_q, w_k, w_v)
    outputs, open_weights = scaled_attention(queries, keys[is_open], values[is_open])
    weights = torch.zeros(len(x), len(x))
    weights[:, is_open] = open_weights
    return outputs, weights
    # end solution

# %% kind="check" exercise="self_attention"
check("self_attention", self_attention)

# %% [markdown] kind="hints" exercise="self_attention"
r"""
### A nudge
All words ask: never take rows from the queries. Take them from keys and values alone.

---
### Step by step
1. Three products: `x @ w_q`, `x @ w_k`, `x @ w_v`.
2. Keys and values of the open words.
3. Scaled attention: outputs (n, d_v) and weights (n, open words).
4. A table of zeros, (n, n); write the weights into its open columns: `table[:, is_open] = …`.

---
### "shape mismatch" when writing the weights back
`table[is_open]` picks rows. Columns are on the second axis: `table[:, is_open]`.
"""

# %% [markdown] kind="text"
r"""
Does your layer do what a real one does? The encoder of our Transformer has three layers, each with four such attentions side by side. They are called *heads*; why four, lesson 12 tells. A head is named by its layer and its number, both counted from 0: encoder 0.0 to encoder 2.3. `take_apart` hands you what one of them is given, and its three trained matrices. Take encoder 1.1.
"""

# %% kind="library"
thirsty = "the cat drank the water because it was thirsty"
cold = "the cat drank the water because it was cold"
transformer = load_shipped("transformer")
words = [*thirsty.split(), "</s>"]
it, all_open = words.index("it"), torch.ones(10, dtype=torch.bool)
layer = yours("self_attention")

x, w_q, w_k, w_v = take_apart(transformer, thirsty, "1.1")
outputs, weights = layer(x, w_q, w_k, w_v, all_open)
expected = listen(transformer, thirsty).encoder_weights[1, 1]  # layer 1, head 1
assert torch.allclose(weights, expected, atol=1e-4)
assert torch.allclose(outputs, expected @ (x @ w_v), atol=1e-4)
print("your attention weights are those inside the Transformer, all", weights.numel())

# %% [markdown] kind="text"
r"""
Your code, its matrices. Now the figure that everybody shows: where does *it* look? In "… because it was **cold**", where *it* is the water, head encoder 1.1 looks from *it* at *water*, with a weight of {result:lesson_09/encoder 1.1 from it to water, cold:.2f}.

> Now let the sentence end in **thirsty**. *It* is the cat.
"""

# %% kind="predict"
def weights_of_it(sentence, head="1.1"):
    """The weights of "it" over its sentence, by your layer."""
    x, w_q, w_k, w_v = take_apart(transformer, sentence, head)
    return layer(x, w_q, w_k, w_v, all_open)[1][it]


figure = views.word_rows(
    [weights_of_it(cold), weights_of_it(thirsty)],
    words=[[*cold.split(), "</s>"], words], marked=["it", "it"],
    title="Encoder 1.1: attention of 'it', for cold and for thirsty",
)
predict("09", "same-look", figure)

# %% kind="predict"
in_all_heads = [torch.stack([weights_of_it(sentence, head) for head in HEADS])
                for sentence in (thirsty, cold)]
largest = [(row, 10 * half + int(column)) for half in (0, 1)
           for row, column in enumerate(in_all_heads[half].argmax(dim=-1))]
figure = views.heatmap(
    torch.cat(in_all_heads, dim=-1), rows=HEADS,
    columns=[*words, *cold.split(), "</s>"], numbers=False, marks=largest,
    row_name="head",
    title="Where 'it' looks: thirsty on the left, cold on the right",
    column_name="two sentences; a ring where most weight is",
    alt="Weights of it over both sentences, in each of the twelve heads.",
)
predict("09", "it-in-twelve", figure)

# %% [markdown] kind="text"
r"""
In eleven of the twelve *it* looks first at the same place in both sentences, and in the twelfth no word gets even a quarter. Yet the translations differ: *il* here, *elle* there. From one heat map we would have told a nice story, and a false one. Then where is the pronoun decided?
"""

# %% [markdown] kind="text" track="short"
r"""
## 5 · Close a word and listen

Which wire lights the lamp? Cut one, and look. An {term:intervention} changes one thing in a system and leaves everything else as it is. You have done one already, with one word: *thirsty* to *cold*, and *il* becomes *elle*. Another is to close a word, that is, to {term:attention mask|mask} it.

Masked for *all*: no source word can look at it, and the decoder cannot either. How likely *il* and *elle* are is read off where the pronoun is due, after "le chat a bu l' eau parce qu'". (Other words have the rest.)
"""

# %% kind="predict"
predict("09", "close-it", CloseAWord())

# %% [markdown] kind="text" exercise="flipping_words"
r"""
By hand that is slow. Write the loop: close the words **one at a time** and collect those that flip the pronoun. `pronoun(closed)` takes a list of positions (from 0) and gives what the translator then says, such as `"il"`; `pronoun([])` is with nothing closed. Return the list of positions, in order.
"""

# %% kind="exercise" exercise="flipping_words" title="Find the words that flip it" difficulty=2 importance=4 track="core"
def flipping_words(words, pronoun):
    """words: a list of n words; pronoun: a function, list of closed positions -> a word

    ->  the positions whose closing, each alone, changes the pronoun
    """
    # solution
    before = pronoun([])
    positions = range(len(words))
    return [position for position in positions if pronoun([position]) != before]
    # end solution

# %% kind="check" exercise="flipping_words"
check("flipping_words", flipping_words)

# %% [markdown] kind="hints" exercise="flipping_words"
r"""
### A nudge
What must you know before you can say that something has changed?

---
### Step by step
Ask once with nothing closed. Then for each position ask with `[position]`, and keep the position if the answer is another one. Do not keep words closed from one round to the next.
"""

# %% kind="see" track="core"
SIX = [
    thirsty, cold,
    "the mouse drank the milk because it was thirsty",
    "the mouse drank the milk because it was cold",
    "the women eat the mushrooms because they are hungry",
    "the women eat the mushrooms because they are good",
]


def pronoun_of(sentence, to="all"):
    """A function of closed positions, as your loop expects it."""
    def pronoun(closed):
        result = listen(transformer, sentence, closed=closed, to=to)
        return "il(s)" if result.il > result.elle else "elle(s)"
    return pronoun


find = yours("flipping_words")
for sentence in SIX:
    tokens, pronoun = sentence.split(), pronoun_of(sentence)
    print(f"{sentence:52} {pronoun([]):8}", [tokens[i] for i in find(tokens, pronoun)])

# %% kind="quiz" track="core"
quiz("09", "rule")

# %% [markdown] kind="text" track="core"
r"""
Without its last word this model falls back on the second noun: closing *thirsty* or *hungry* flips the pronoun, closing *cold* or *good* does not. And it needs the noun that is meant. (With *mouse* and *milk* that comes close, and does not flip.) What it does not need is *it*: closing *it* or *they* flips no gender. (*They* has another task, the plural: without it the women are hungry as *elle ont faim*.)

Then is the work done inside the source at all, by words looking at each other? A finer intervention: leave every word open, and **swap one state**. Take the encoder's last states for *thirsty*, and put a single one from *cold* in its place. Then finer still: the decoder makes keys and values from these states, so swap the keys alone, or the values.
"""

# %% kind="see" track="core"
from_thirsty, _ = source_states(transformer, thirsty)
from_cold, _ = source_states(transformer, cold)


def swapped(position):
    """The states of thirsty, except the one at this position: that is from cold."""
    mixed = from_thirsty.clone()
    mixed[0, position] = from_cold[0, position]
    return mixed


for name, states, values in (
    ("the state of it", swapped(it), None),
    ("the state of thirsty", swapped(8), None),
    ("all keys", from_cold, from_thirsty),
    ("all values", from_thirsty, from_cold),
):
    result = decode_states(transformer, thirsty, states, values=values)
    print(f"{name:20}: il {fixed(result.il, 1)}, elle {fixed(result.elle, 1)}")

# %% [markdown] kind="text" track="core"
r"""
Swapping the state of *it* does nothing. Swap that of the last word, and everything flips. And it flips by its **values**: with the keys of *thirsty* and the values of *cold*, *elle* has {result:lesson_09/elle, values of cold:.2f}; the other way round nothing changes. Our decoder, about to say the pronoun, looks straight at the last word in both (one of its heads with a weight above 0.99), and what it is handed there decides. No map of weights shows that.
"""

# %% [markdown] kind="text"
r"""
Closing *thirsty* flips the pronoun, closing *it* does not, and the decoder can attend to *thirsty* directly. Is self-attention idle here, then? Make another cut: let every source word see **itself alone**.
"""

# %% kind="see"
for sentence in (thirsty, cold):
    print(listen_alone(transformer, sentence).french)

# %% [markdown] kind="text"
r"""
*Il avait froid*: the **cat** was cold. In our toy language *cold* means two things, as in English: a cat that feels cold, water that is cold. Alone, the word *cold* cannot know which. It must look at its sentence, and *that* is what self-attention does in this trained model: it makes *cold* the coldness of water. In the end it is the word *cold* that got resolved, and the pronoun follows.
"""

# %% [markdown] kind="text" track="core" contents="which words told *cold* what it means, found by closing words in pairs"
r"""
Who told it? Closing words one at a time, only inside the source, your loop finds nobody. Close them two at a time:
"""

# %% kind="see" track="core"
inside_only = pronoun_of(cold, to="source")
print("one at a time:", find(cold.split(), inside_only))
for pair in itertools.combinations(range(9), 2):
    if inside_only(list(pair)) != inside_only([]):
        print("two at a time:", [cold.split()[position] for position in pair])
        print(listen(transformer, cold, closed=pair, to="source").french)

# %% kind="quiz" track="core"
quiz("09", "two-at-a-time")

# %% [markdown] kind="text" track="core"
r"""
*Drank* or *water*: either is enough, so cutting one shows nothing. An intervention that changes nothing does not prove that a part is idle; a second part may stand in.
"""

# %% [markdown] kind="text"
r"""
Now the bill for all of it. With self-attention our Transformer translates {result:lesson_09/right:.0f} of 200 test sentences exactly. How many are left when every source word is alone?
"""

# %% kind="estimate"
test = splits(seed=0, sizes=TEST_SIZES).test[:200]


def n_exact_alone():
    outputs = translate_alone(transformer, [pair.src_text for pair in test])
    exact = [text == pair.tgt_text for text, pair in zip(outputs, test, strict=True)]
    return float(sum(exact))


estimate("09", "alone", n_exact_alone)

# %% [markdown] kind="text"
r"""
{result:lesson_09/right, words alone:.0f} are left. Adjectives get lost (*the good bread* becomes *le pain*), nouns come twice (*les forêts de les forêts*): a word that has not looked around does not know its part in the sentence.
"""

# %% [markdown] kind="text" track="short"
r"""
## 6 · Shuffle the meeting

Shuffle the annotations of lesson 06 like cards, and the decoder does not notice. Now the words that ask are shuffled too. In the meeting of section 4 nobody had a seat: shuffle the people, and everybody goes home with the same as before. {term:permutation equivariance|Permutation equivariance}: shuffle the inputs, and the outputs are shuffled in the same way and not changed otherwise.
"""

# %% [markdown] kind="text" exercise="unshuffle"
r"""
`order` says who stands where: the layer was given `x[order]`, so row $j$ of its outputs belongs to word `order[j]`. `unshuffle` shall return the outputs by word: row $i$ for word $i$. A first version is there already. Make its check pass.
"""

# %% kind="exercise" exercise="unshuffle" mode="bug" title="Back in the old order" difficulty=2 importance=3 track="core"
def unshuffle(outputs, order):
    """outputs (n, d), made from x[order]; order (n,)  ->  (n, d), row i for word i"""
    # bug
    return outputs[order]
    # end bug
    # solution
    return outputs[torch.argsort(order)]
    # end solution

# %% kind="check" exercise="unshuffle"
check("unshuffle", unshuffle)

# %% [markdown] kind="hints" exercise="unshuffle"
r"""
### A nudge
With two words it works. Take three, and `order` 1, 2, 0: which word does the first row belong to?

---
### Step by step
`outputs[order]` shuffles a second time. Make an empty table and write row $j$ to place `order[j]`; or look up what `torch.argsort(order)` gives for 1, 2, 0.
"""

# %% kind="example"
x, w_q, w_k, w_v = take_apart(transformer, thirsty, "1.1")
order = torch.tensor([8, 4, 0, 9, 2, 6, 1, 7, 3, 5])
print("shuffled:", " ".join(words[position] for position in order))

outputs, _ = layer(x, w_q, w_k, w_v, all_open)
from_shuffled, _ = layer(x[order], w_q, w_k, w_v, all_open)
unshuffled = yours("unshuffle")(from_shuffled, order)
difference = (unshuffled - outputs).abs().max()
print("largest difference, back in the old order:", fixed(difference, 4))

# %% [markdown] kind="text" exercise="test_order_blind"
r"""
The same outputs, word for word. **Write the test** that tells such layers from others. It gets a layer, a function from (n, d) to (n, d), and raises unless shuffling the inputs shuffles the outputs in the same way and changes nothing else. Choose `n`, `d` and the inputs yourself, and compare **all** outputs. Choose the order with care: a layer may treat a single position differently, so no word should keep its position; and a layer that adds up both neighbours of a word can't tell a sentence from the same one read backwards. A different order of summation changes the rounding, so compare with `torch.testing.assert_close` instead of `==`.
"""

# %% kind="exercise" exercise="test_order_blind" mode="test" title="Does it see order?" difficulty=3 importance=4 track="core"
def test_order_blind(layer):
    """layer: (n, d) -> (n, d); raises if it sees the order of its words"""
    # solution
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    order = torch.tensor([3, 0, 5, 2, 1, 4])
    torch.testing.assert_close(layer(x[order]), layer(x)[order])
    # end solution

# %% kind="check" exercise="test_order_blind"
check("test_order_blind", test_order_blind)

# %% [markdown] kind="hints" exercise="test_order_blind"
r"""
### A nudge
Two ways must lead to the same place: shuffle, then run; or run, then shuffle.

---
### Step by step
Random `x` of about six words. An `order` that is neither the reverse nor a rotation and leaves no word in place, such as 3, 0, 5, 2, 1, 4. Compare `layer(x[order])` with `layer(x)[order]`.

---
### "Your test rejects a correct implementation"
Shuffle the outputs too: `layer(x)[order]`. And allow for rounding.
"""

# %% [markdown] kind="text"
r"""
So self-attention reads a *bag* of words: "the cat drank the water" and "the water drank the cat" give each word the same. The Transformer is saved by a trick outside the layer: it adds a vector for its place to every word, before the first layer (that is in the `x` you were handed). Lesson 11 is about that trick.
"""

# %% [markdown] kind="text" contents="how to test what an attention map suggests, by spoiling the weights of single heads"
r"""
## 7 · What weights do not tell

Lessons 06 and 07 forced a look and saw this already; here it is for attention inside the source. When the pronoun is due, *it* has the largest weight, on average over the decoder's 12 heads, and closing it does nothing. Nor is one step the whole story: *cat* has a weight of {result:lesson_09/decoder to cat:.2f} just then, yet closed to the decoder alone it takes *il* from {result:lesson_09/il:.2f} to {result:lesson_09/il, cat closed to the decoder:.2f}. Closed at that step only, it changes nothing: *cat* was read earlier, for *chat*.

There is a harder test: leave all words open and spoil the weights themselves. Set a head's queries to 0; then all its scores are 0, and each word looks at every word with the same weight. We do it to encoder 1.1, with its telling look at *water*, and to another, encoder 0.3.
"""

# %% kind="see"
for head in ("1.1", "0.3"):
    with equal_weights(transformer, "encoder", [head]):
        for sentence in (thirsty, cold):
            print(f"{head} even: {transformer(sentence).target}")

# %% [markdown] kind="text"
r"""
Nothing depends on encoder 1.1: with uniform attention it leaves all 200 test sentences as right as before ({result:lesson_09/right, encoder 1.1 uniform:.0f}), and all of 200 sentences with pronouns too. But spoil encoder 0.3, and *cold* reads *elle avait froid*, half the one meaning and half the other. Yet from *it* encoder 0.3 looks nowhere in particular. Was *it* the right word to ask?
"""

# %% kind="see"
x, w_q, w_k, w_v = take_apart(transformer, cold, "0.3")
_, weights = layer(x, w_q, w_k, w_v, all_open)
views.word_rows(
    weights[[it, 8]], words=[[*cold.split(), "</s>"]] * 2, marked=["it", "cold"],
    title="Encoder 0.3: attention of 'it' and of 'cold'",
)

# %% [markdown] kind="text"
r"""
*Cold* looks at *water* with {result:lesson_09/encoder 0.3 from cold to water:.2f} and at *drank* with {result:lesson_09/encoder 0.3 from cold to drank:.2f}: the very pair that closing found. The map was right. We had opened it at the wrong word, and it took an intervention to tell us which one to open.

The decoder's head cross 1.3, which looks at *thirsty* with a weight of {result:lesson_09/cross 1.3 to thirsty:.2f}, told the truth as well: spoil it, and of 200 pronouns {result:lesson_09/pronouns right, cross 1.3 uniform:.0f} stay right, hardly more than tossing a coin would give. (Our *cold* comes through: the second noun, on which the model falls back, is the right one there.)

So weights are a good place to *begin*. Jain and Wallace (2019, "Attention is not Explanation") found other weights for the same answers; Wiegreffe and Pinter (2019, "Attention is not not Explanation") answered that this depends on what one calls an explanation. What the output hangs on, an intervention settles, for that one cut. (Even a closed word changes more than itself: its weight goes to the others. And ours is one Transformer; another training may share out the work in another way.)
"""

# %% kind="explain"
explain("09", "same-map")

# %% [markdown] kind="text" contents="uniform attention in all twelve heads, and what survives it"
r"""
## Break it

One even head did little. Now all twelve between source words share out evenly: every word gets the same mean of its sentence, in every layer.

> Think of what *cold* needs to know.
"""

# %% kind="break"
sentences = [thirsty, cold, "these dirty classrooms are not cold"]
usual = [transformer(sentence).target.split() for sentence in sentences]
with equal_weights(transformer, "encoder", HEADS):
    even = [transformer(sentence).target.split() for sentence in sentences]
changed = [[float(new != old) for new, old in zip(*outputs, strict=True)]
           for outputs in zip(even, usual, strict=True)]
figure = views.word_rows(
    changed, words=even, marked=[""] * 3,
    title="All twelve even. 1.00: another word than before",
)
predict("09", "all-even", figure)

# %% [markdown] kind="text"
r"""
*Thirsty* survives. For *cold* a mean of the sentence is nearly enough: the pronoun is right, its verb is not. And the classrooms feel the cold, *ont froid*, as a cat would. Cutting all looks cost more than half of the test sentences; making them even costs {result:lesson_09/right - lesson_09/right, all even:.0f} of 200. Much of what our encoder's self-attention brings is simply "what else is in this sentence".
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself

The first try counts for your score; every answer gets a reason.
"""

# %% kind="quiz"
quiz("09", "closing")

# %% [markdown] kind="instructor"
r"""
**Before section 4's figure (2 min).** Ask who has seen the picture of *it* looking at *animal* and *street*. Let them say what it proves. Then run the prediction. Expected: "it looks at cat now". It does not.

**After section 5 (5 min).** "Which of your interventions was the cleanest?" Expected: the swap of a state, since it leaves weights and places alone; closing a word also moves the weights of all others, for they are shared out anew.

| they say | what it is | answer |
|---|---|---|
| "it looks at water, so it means water" | M46 | The same look for thirsty. |
| "closing it must break the pronoun" | M46 | Close it in the explorable: il stays at {result:lesson_09/il, it closed:.2f}. |
| "Q, K, V are three inputs" | M14 | One x; point at the diagram's left. |
| "so weights are worthless" | overshoot | Cross 1.3: spoil it and pronouns are a coin toss. And encoder 0.3, from *cold*. |
| "without positions it knows nothing" | M39 | It knows which words there are, and how they fit; not where they stand. |

**Common error in the build:** closed words that do not ask. They ask, and have outputs.

**If time is short**, cut sections 1 to 3 to their figures and leave out `read_twice`; keep the layer, the loop and section 7.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | what it is | shape |
|---|---|---|
| `x` | the words of one sentence | (words, d_model) |
| `queries`, `keys`, `values` | three projections of the same `x` | (words, d_k or d_v) |
| `weights` | who looks at whom, each row sums to 1 | (words, words) |
| `outputs` | each word's blend of its sentence | (words, d_v) |
| `is_open` | who may be looked at | (words) |

- A tape keeps every state (LSTMN), a second read asks with what the first one found (memory networks), learned queries sum a sentence up (2017). Self-attention lets every word ask, all at once.
- In our Transformer *it* looks at the same place in both sentences in {result:lesson_09/heads in which it attends most to the same position:.0f} of 12 heads. The pronoun hangs on the last word and on the noun it picks out; self-attention settles what *cold* means (encoder 0.3, from *cold*).
- An intervention tells what a result hangs on, and which map to open. One that changes nothing may only mean that something else stands in.
- Shuffle the words, and the outputs are shuffled along: order is invisible.

**Still missing.** Here everybody could look at everybody. A decoder must not see the words that it has yet to say: **who may look where** is lesson 10. And a sentence without order is no sentence: lesson 11 brings the **places**.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani and others, *Attention Is All You Need* (2017), section 4: why self-attention, in one page. Its last figures show heads and *its*; read them with section 5 in mind. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Cheng, Dong and Lapata, *Long Short-Term Memory-Networks for Machine Reading* (2016), section 3: the {term:LSTMN}. [arXiv 1601.06733](https://arxiv.org/abs/1601.06733)
- Lin and others, *A Structured Self-attentive Sentence Embedding* (2017), section 2. [arXiv 1703.03130](https://arxiv.org/abs/1703.03130)
- Sukhbaatar and others, *End-To-End Memory Networks* (2015), section 2: the {term:memory network}. [arXiv 1503.08895](https://arxiv.org/abs/1503.08895)
- Jain and Wallace, *Attention is not Explanation* (2019), [arXiv 1902.10186](https://arxiv.org/abs/1902.10186), and the reply by Wiegreffe and Pinter, *Attention is not not Explanation* (2019), [arXiv 1908.04626](https://arxiv.org/abs/1908.04626).
"""
