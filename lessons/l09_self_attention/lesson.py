# Lesson 09 · the source. Edit this file, then run `python3 -m course_lib build 09`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 09 · Self-attention

**The question:** what happens when the words of a sentence attend to each other?

About {minutes} minutes. You need scaled dot-product attention and the three projections from [lesson 08](08_query_key_value.ipynb).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **compute** the self-attention of three words by hand, and **build** a self-attention layer;
2. **explain** why self-attention ignores word order, and what an attention map can and can't show;
3. **test** with interventions which words a translation depends on;
4. **locate** information in a trained Transformer with {term:activation patching}; <!-- core -->
5. **compare** self-attention with four systems that came before it. <!-- core -->
"""

# %% [markdown] kind="instructor"
r"""
**Open with (2 min)** "What does *bank* mean?" Wait for the counter-question: "In which sentence?" Then: "So which words would you look at?" The lesson lets each word do this.

**If time is short,** leave out section 8 and the exercise `flipping_words`. Keep the layer, the predictions and section 7.
"""

# %% kind="setup"
import torch
from IPython.display import display

from course_lib import views
from course_lib.formatting import fixed
from course_lib.teaching import check, estimate, predict, quiz, start_lesson, yours
from course_lib.text import TEST_SIZES, splits, translations_of
from course_lib.translation import load_shipped
from lessons.l09_self_attention import (
    CloseAWord, decode_states, key_picture, masked_translation, minimal_pairs,
    source_states, take_apart, translate_isolated, uniform_attention,
)

start_lesson("self_attention", seed=9)

# %% [markdown] kind="text"
r"""
The two articles in *the white cats see the small dog* are the same word, but French needs *les* for one and *le* for the other. In one head of our translator, each *the* attends most to its noun. Does the translation need this? Section 5 shows how to test it. Read the picture from top to bottom: each word in blue attends to all the words in orange, and the thicker the line, the larger the attention weight.
"""

# %% kind="picture" name="key picture" hide_input=true
key_picture.draw()

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("09", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · Three words in two dimensions

The word *bank* is ambiguous, but in *the river bank* its meaning is clear. We'd like to give *bank* a new vector that takes its sentence into account.

Let's describe each word with two numbers, one for water and one for money: *the* and *and* are (0, 0), *river* is (3, 0), and *bank* is (1, 1). The new vector of *bank* is a weighted average of all vectors in the sentence. How should we choose the weights?

1. **Equal weights.** In *the river bank*, the mean is about (1.3, 0.3). This contains some water, but all three words get the same vector.
2. **Fixed weights.** Half of *bank* plus half of the previous word is (2, 0.5). But in *river and bank*, the previous word is *and*.
3. **Weights computed from the words.** The dot products of *bank* with *the*, *river* and *bank* are 0, 3 and 2. A softmax turns these scores into attention weights of about 0.04, 0.71 and 0.26, so *bank* becomes $0.04\,(0, 0) + 0.71\,(3, 0) + 0.26\,(1, 1) \approx (2.4, 0.3)$.

> **Before you run the cell:** which vector will *bank* get from the third method in *river and bank*, and in *the money bank* if *money* is (0, 3)?
"""

# %% kind="example"
vectors = {"the": (0.0, 0.0), "and": (0.0, 0.0), "bank": (1.0, 1.0),
           "river": (3.0, 0.0), "money": (0.0, 3.0)}

print("new vector of bank:  equal, fixed, computed weights")
for sentence in ("the river bank", "river and bank", "the money bank"):
    x = torch.tensor([vectors[word] for word in sentence.split()])  # (3 words, 2)
    attention_weights = torch.softmax(x @ x.T, dim=-1)  # a row for each word
    computed = attention_weights @ x
    rows = (x.mean(dim=0), (x[1] + x[2]) / 2, computed[2])  # "bank" is the last word
    print(f"{sentence:20}", *(fixed(row, 2) for row in rows))

# %% [markdown] kind="text"
r"""
With weights computed from the words, as in lesson 08, *bank* gets the same vector in the first two sentences, and *money* moves it towards the other meaning. This is {term:self-attention}: every word of a sequence attends to all words of the same sequence, including itself.

The single product `x @ x.T` contains all scores, so no word has to wait for another. And any two words are one hop apart, which meets the remaining requirement of lesson 05, short distance.
"""

# %% kind="quiz" track="core" contents="a question about the three words"
quiz("09", "three-words")

# %% [markdown] kind="text" track="short"
r"""
## 2 · A self-attention layer

Comparing the words directly makes the scores symmetric, so we use the three learned matrices of lesson 08 to compute a query, a key and a value for each word. In self-attention, all three come from **one** input, $X$.
"""

# %% [markdown] kind="formula"
r"""
$$ Q = X W_Q^\top \qquad K = X W_K^\top \qquad V = X W_V^\top \qquad\quad \text{outputs} = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V $$
"""

# %% [markdown] kind="formula" track="core" contents="a table of the shapes"
r"""
| symbol | in code | shape | in our Transformer |
|---|---|---|---|
| $X$ | `x` | (words, d_model) | 10 × 64 (nine words and `</s>`) |
| $W_Q, W_K$ | `w_q`, `w_k` | (d_k, d_model) | 16 × 64 |
| $W_V$ | `w_v` | (d_v, d_model) | 16 × 64 |
| softmax(…) | `weights` | (words, words) | 10 × 10 |
| outputs | `outputs` | (words, d_v) | 10 × 16 |
"""

# %% kind="code"
# (queries, keys, values) -> context vectors, attention weights
scaled_attention = yours("scaled_attention")

# %% [markdown] kind="instructor"
r"""
**Common error in the exercise:** masked words lose their queries. They should keep their queries and outputs. **Stuck** with a shape mismatch? `weights[is_open]` selects rows, `weights[:, is_open]` selects columns.

**They say:** "Q, K and V are three inputs" (M14). **Answer:** There is one input, x. Point to the formula above.
"""

# %% [markdown] kind="text" exercise="self_attention"
r"""
**Build the layer.** The weight matrices have torch's orientation, (out, in).

Section 5 hides individual words from all the others, which is called {term:attention mask|masking}. To see how that works, your layer gets a fifth input, `is_open`, a Boolean tensor that is False for masked words. No word attends to a masked word, not even the masked word itself. But a masked word still has a query and an output. To mask words, you can leave out their keys and values: `keys[is_open]` keeps the rows where `is_open` is True. At least one word is open.

Return the outputs and the attention weights. The latter always have shape (n, n), with zeros in the columns of masked words. You can use `scaled_attention`.
"""

# %% kind="exercise" exercise="self_attention" title="A self-attention layer" difficulty=3 importance=5 track="short"
def self_attention(x, w_q, w_k, w_v, is_open):
    """x (n, d_model), w_q and w_k (d_k, d_model), w_v (d_v, d_model), is_open (n,)

    ->  outputs (n, d_v), weights (n, n)
    """
    # solution
    queries, keys, values = x @ w_q.T, x @ w_k.T, x @ w_v.T
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
Every word has a query, masked or not. Only keys and values lose rows.

---
### Step by step
1. Compute queries, keys and values: multiply `x` by the transpose of each matrix.
2. Keep the keys and values of the open words.
3. Apply scaled attention. The outputs have shape (n, d_v), the attention weights (n, number of open words).
4. Create an (n, n) tensor of zeros and write the attention weights into its open columns: `table[:, is_open] = …`.

---
### "shape mismatch" when you write the attention weights into the zeros
`table[is_open]` selects rows. To select columns, index the second axis: `table[:, is_open]`.
"""

# %% [markdown] kind="text" track="core" contents="a comparison of your layer with one inside a trained Transformer"
r"""
**Your layer inside a Transformer.** Does your layer do what a real one does? The encoder of our trained Transformer has three layers, and each contains four such attention computations in parallel, called {term:attention head|attention heads}. We name a head by its layer and its number, both counted from 0, so the twelve heads are encoder 0.0 to encoder 2.3. `take_apart` returns the input of a head and its three trained matrices. Let's try encoder 1.1. The last line masks *it* and prints the attention weights of *thirsty*.
"""

# %% kind="library" track="core"
thirsty = "the cat drank the water because it was thirsty"
cold = "the cat drank the water because it was cold"
transformer = load_shipped("transformer")
words = [*thirsty.split(), "</s>"]
it, all_open = words.index("it"), torch.ones(10, dtype=torch.bool)
layer = yours("self_attention")

x, w_q, w_k, w_v = take_apart(transformer, thirsty, "1.1")
outputs, weights = layer(x, w_q, w_k, w_v, all_open)
expected = masked_translation(transformer, thirsty).encoder_weights[1, 1]
assert torch.allclose(weights, expected, atol=1e-4)
print(f"All {weights.numel()} attention weights match those inside the Transformer.")
print(fixed(layer(x, w_q, w_k, w_v, torch.arange(10) != it)[1][8], 2))

# %% [markdown] kind="instructor"
r"""
**They say:** "Without positions it knows nothing" (M39). **Answer:** It knows which words occur and how they relate, but not where they are.
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · Self-attention ignores word order

Why did *bank* get the same vector in *the river bank* and in *river and bank*? With *the* and *and* both (0, 0), only the order of the vectors differs. But a score depends on two vectors alone, and a sum doesn't depend on the order of its terms. If you shuffle the inputs, the outputs are shuffled in the same way and otherwise unchanged. This is called {term:permutation equivariance}.

So the layer itself can't distinguish *the cat drank the water* from *the water drank the cat*. Lesson 11 adds positions.
"""

# %% kind="example" track="core" contents="a test with shuffled words"
order = torch.tensor([8, 4, 0, 9, 2, 6, 1, 7, 3, 5])
print("shuffled:", " ".join(words[position] for position in order))

from_shuffled, _ = layer(x[order], w_q, w_k, w_v, all_open)
difference = (from_shuffled - outputs[order]).abs().max()
print("largest difference between the two outputs of a word:", fixed(difference, 4))

# %% [markdown] kind="text" contents="the attention weights of a pronoun in two sentences, in one head of a trained Transformer"
r"""
## 4 · What does *it* attend to?

A popular kind of figure shows the attention weights of a pronoun. In "The cat drank the water because it was **cold**", *it* refers to the water, and in head encoder 1.1 of our Transformer, *it* does attend mostly to *water*, with an attention weight of {result:lesson_09/encoder 1.1 from it to water, cold:.2f}. The head seems to have found out what the pronoun refers to.

Now let the sentence end in **thirsty**, so that *it* refers to the cat. The translation changes accordingly, from *elle* (l'eau) to *il* (le chat).
"""

# %% [markdown] kind="instructor"
r"""
**Before the figure (2 min).** Ask who has seen the figure in which *it* attends to *animal* or *street*, and what it proves. Then make the prediction together. Most people expect *it* to attend to *cat* now.

**They say:** "It attends to water, so it means water" (M46). **Answer:** It does so for *thirsty* too.
"""

# %% kind="predict" hide_input=true
def weights_of_it(sentence):
    """The attention weights of "it" in encoder 1.1, computed by your layer."""
    x, w_q, w_k, w_v = take_apart(transformer, sentence, "1.1")
    return layer(x, w_q, w_k, w_v, all_open)[1][it]


figure = views.word_rows(
    [weights_of_it(cold), weights_of_it(thirsty)],
    words=[[*cold.split(), "</s>"], words], marked=["it", "it"],
    title="Encoder 1.1: attention weights of 'it'",
)
predict("09", "same-look", figure)

# %% [markdown] kind="text"
r"""
The head attends to *water* either way. If we had seen only the first attention map, we would have believed a plausible but false story. The other eleven heads of the encoder don't help either: on average over 100 such pairs, *it* or *they* attends most to the same position in both sentences in {result:lesson_09/mean number of heads in which it attends most to the same position:.1f} of the 12 heads.

Still, the model translates both sentences correctly, so the difference must be somewhere else.
"""

# %% [markdown] kind="text" track="short"
r"""
## 5 · Change something and observe

In *the cat drank the water because it was thirsty*, our Transformer translates *it* as *il* (le chat). If the sentence ends in *cold*, it chooses *elle* (l'eau). What does the pronoun depend on? We change one thing, keep everything else the same, and observe the output. This is an {term:intervention}, like forcing the attention in lesson 06.

**Mask a word.** If a word is masked for *all*, neither the source words nor the decoder can attend to it. The left panel shows the {term:cross-attention}: how much the decoder attends to each source word at the pronoun, averaged over 12 {term:attention head|attention heads}. Heads are attention computations that run in parallel, four in each of the decoder's three layers; lesson 12 is about them. The middle panel shows what the source word *it* attends to in each head of the encoder. In 1.2, the layer is 1 and the head is 2, both counted from 0.
"""

# %% [markdown] kind="instructor"
r"""
**They say:** "Masking *it* must break the pronoun" (M46). **Answer:** Mask it in the explorable: the probability of *il* is {result:lesson_09/il, it masked:.2f}.
"""

# %% kind="predict"
predict("09", "close-it", CloseAWord())

# %% [markdown] kind="text"
r"""
When it generated *il*, the decoder of lesson 06 attended most to *thirsty*. The Transformer's decoder attends most to *it*, with a mean attention weight of {result:lesson_09/decoder to it:.2f}, but hardly needs this word. Masking the English pronoun changes the French one's gender in only {result:lesson_09/flips in 200, it masked:.0f} of 200 such test sentences. Masking the last word changes it in {result:lesson_09/flips in 200, last word masked:.0f}: exactly those in which the pronoun refers to the first noun.

**Isolate every word.** Does the pronoun need self-attention at all? The decoder can attend to *thirsty* or *cold* directly. So let's allow each word in the encoder to attend only to **itself**.
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min)** before the cell runs. "Each word of the source may attend only to itself. What will go wrong?" Expected: anything that needs two words of the source, such as agreement or a word with two meanings. What still works may surprise: the decoder can attend to every word directly.
"""

# %% kind="example"
transformer = load_shipped("transformer")
for last_word in ("thirsty", "cold"):
    sentence = f"the cat drank the water because it was {last_word}"
    [isolated] = translate_isolated(transformer, [sentence])
    rows = {"complete": transformer(sentence).target, "isolated": isolated}
    display(views.translations(sentence, rows, reference=translations_of(sentence)))

# %% [markdown] kind="text"
r"""
The first translation is unchanged. The second one now means that the **cat** was cold. A plausible reason is that *cold* has two meanings, which French keeps apart: *avoir froid* (feel cold) and *être froid* (be cold). If so, *hot* should have the same problem, and words with one meaning shouldn't. In a test set of {result:lesson_09/pronouns right:.0f} sentences with pronouns, the complete model gets every pronoun right. With isolated words, it is right in {result:lesson_09/two meanings: pronouns right, isolated:.0f} of the {result:lesson_09/two meanings: sentences:.0f} that end in *cold* or *hot*, and in {result:lesson_09/one meaning: pronouns right, isolated:.0f} of the other {result:lesson_09/one meaning: sentences:.0f}. So in this model, self-attention helps to disambiguate words.
"""

# %% [markdown] kind="text" track="core" contents="ordinary sentences with isolated words, exercise 2 · Find the words that change the pronoun, and activation patching"
r"""
What about ordinary test sentences? The complete model translates {result:lesson_09/right:.0f} of 200 correctly.
"""

# %% kind="estimate" track="core"
test = splits(seed=0, sizes=TEST_SIZES).test[:200]


def n_exact_isolated():
    outputs = translate_isolated(transformer, [pair.src_text for pair in test])
    exact = [text == pair.tgt_text for text, pair in zip(outputs, test, strict=True)]
    return float(sum(exact))


estimate("09", "alone", n_exact_isolated)

# %% [markdown] kind="text" exercise="flipping_words"
r"""
Which words does the pronoun depend on, then? Masking every word by hand is tedious. **Write the loop:** mask the words **one at a time** and collect the positions that change the pronoun. The function `pronoun(masked)` takes a list of positions, counted from 0, masks the words there and returns the pronoun in the translation, such as `"il"`. `pronoun([])` masks nothing, and any pronoun other than the one it returns counts as a change. Return the collected positions as a list in increasing order; it is empty if no word changes the pronoun.
"""

# %% kind="exercise" exercise="flipping_words" title="Find the words that change the pronoun" difficulty=2 importance=4 track="core"
from lessons.l09_self_attention.solutions import flipping_words

# %% kind="check" exercise="flipping_words"
check("flipping_words", flipping_words)

# %% [markdown] kind="hints" exercise="flipping_words"
r"""
### A nudge
Which pronoun do you have to compare with to see a change?

---
### Step by step
Call `pronoun` once with an empty list. Then call it with `[position]` for each position, and keep the position if the pronoun differs. Each call masks a single word.
"""

# %% kind="see" track="core"
sentences = [
    thirsty, cold,
    "the mouse drank the milk because it was thirsty",
    "the mouse drank the milk because it was cold",
    "the women eat the mushrooms because they are hungry",
    "the women eat the mushrooms because they are good",
]
find = yours("flipping_words")

for sentence in sentences:
    def pronoun(masked, sentence=sentence):
        result = masked_translation(transformer, sentence, masked=masked)
        return "il(s)" if result.il > result.elle else "elle(s)"

    tokens = sentence.split()
    found = [tokens[i] for i in find(tokens, pronoun)]
    print(f"{sentence:52} {pronoun([]):8} changed by {found}")

# %% kind="quiz" track="core"
quiz("09", "rule")

# %% [markdown] kind="text" track="core"
r"""
When the last word is masked, this model seems to fall back on the second noun. That would explain why, in the 200 test sentences, masking it changed the gender exactly when the pronoun referred to the first noun.

**Patch an activation.** Masking is a coarse intervention, since the attention that the masked word would have received goes to other words. A more precise one leaves all words in place. Run the encoder on both sentences. Then take its outputs for the sentence with *thirsty*, replace **one** of the ten vectors with the vector at the same position in the other run, and let the decoder translate. This is {term:activation patching}: an internal activation from one run is copied into another. If the output changes, it depends on information that this vector carries.

The sentences have the same first eight words. But self-attention has mixed information from all words, so all ten vectors may differ.
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min)** before the prediction. "Eight of ten words are the same in both sentences. Why could their vectors differ?" Expected: self-attention has mixed in the last word. Then let everyone predict which vector decides.
"""

# %% kind="predict" track="core"
from_thirsty = source_states(transformer, thirsty)  # (10, 64)
from_cold = source_states(transformer, cold)


def elle_after_patching(position):
    """The probability of "elle" when one vector is copied from the other run."""
    states = from_thirsty.clone()
    states[position] = from_cold[position]
    return decode_states(transformer, thirsty, states).elle


probabilities = torch.tensor([elle_after_patching(i) for i in range(10)])
figure = views.word_rows(
    [probabilities], words=[words], marked=[""],
    title="Probability of 'elle' after patching one vector from 'cold'",
)
predict("09", "patch-which", figure)

# %% [markdown] kind="text" track="core"
r"""
Copying the vector of the last word turns *il* into *elle*. Copying that of *it* changes next to nothing. Does this hold for other sentences too? The next cell repeats the experiment with ten pairs of test sentences that differ only in their last word.
"""

# %% kind="see" track="core"
n_changed = {"pronoun": 0, "last word": 0}
for first, second in minimal_pairs(10):
    states = source_states(transformer, first.src_text)
    other_states = source_states(transformer, second.src_text)
    before = decode_states(transformer, first.src_text, states)
    pronoun_position = first.antecedents[0][0]
    positions = {"pronoun": pronoun_position, "last word": len(first.src) - 1}
    for name, position in positions.items():
        patched = states.clone()
        patched[position] = other_states[position]
        after = decode_states(transformer, first.src_text, patched)
        n_changed[name] += (after.il > after.elle) != (before.il > before.elle)

for name, n in n_changed.items():
    print(f"patching the {name}: the gender changes in {n} of 10 sentences")

# %% [markdown] kind="text" track="core"
r"""
With 100 pairs, patched in both directions, the vector of the last word changes the gender in {result:lesson_09/flips in 200, last word patched:.0f} of 200 cases, and the vector of *it* or *they* in {result:lesson_09/flips in 200, it patched:.0f}. So in this model, the encoder's output at the last word carries the information that decides the pronoun.
"""

# %% [markdown] kind="instructor"
r"""
**Discuss (5 min).** "Which intervention was the cleanest?" Expected: activation patching, because it leaves all words and all attention masks in place. Masking a word also changes the attention weights of the others.
"""

# %% [markdown] kind="text" contents="heads whose attention is made uniform, and what *cold* attends to"
r"""
## 6 · Change a single head

The last intervention makes the attention of one head **uniform**. If we set the queries of a head to 0, all its scores are 0, and every word attends to all words equally. This is {term:uniform attention}, the equal weights of section 1. We'll try encoder 1.1, in which *it* attends to *water*, and encoder 0.3, in which *it* attends to nothing in particular.

> **Before you run the cell:** which of the two heads will matter more?
"""

# %% kind="see"
for sentence in (thirsty, cold):
    rows = {}
    for head in ("1.1", "0.3"):
        with uniform_attention(transformer, "encoder", [head]):
            rows[f"encoder {head} uniform"] = transformer(sentence).target
    display(views.translations(sentence, rows, reference=translations_of(sentence)))

# %% [markdown] kind="text"
r"""
In encoder 1.1, the head with the convincing attention map, uniform attention makes no difference here. The model still translates {result:lesson_09/right, encoder 1.1 uniform:.0f} of the 200 test sentences correctly, as before, and {result:lesson_09/coreference right, encoder 1.1 uniform:.0f} of 200 with pronouns.

With uniform attention in encoder 0.3, *it was cold* becomes *elle avait froid*: the pronoun is right for the water, but *avait froid* means that somebody felt cold. So this head has something to do with *cold*. Perhaps we have been looking at the wrong word. Let's compare the attention weights of *it* with those of *cold*.
"""

# %% kind="see" hide_input=true
x, w_q, w_k, w_v = take_apart(transformer, cold, "0.3")
_, weights = layer(x, w_q, w_k, w_v, all_open)
views.word_rows(
    weights[[it, 8]], words=[[*cold.split(), "</s>"]] * 2, marked=["it", "cold"],
    title="Encoder 0.3: attention weights of 'it' and of 'cold'",
)

# %% [markdown] kind="text"
r"""
*Cold* attends to *water* with an attention weight of {result:lesson_09/encoder 0.3 from cold to water:.2f} and to *drank* with {result:lesson_09/encoder 0.3 from cold to drank:.2f}. So the attention map does contain the answer, but in a row that we looked at only because of the intervention.

In {result:lesson_09/cold: encoder 0.3 attends most to the noun:.0f} of the {result:lesson_09/cold: sentences:.0f} test sentences of this kind that end in *cold*, this word attends most to the noun that it describes. With uniform attention in this head, {result:lesson_09/cold: right, encoder 0.3 uniform:.0f} of the {result:lesson_09/cold: right:.0f} correct translations stay correct.
"""

# %% [markdown] kind="instructor"
r"""
**Vote.** "The head isn't used in these sentences" is tempting. Ask: "How would the model have to be built so that two parts can do the same job?"
"""

# %% kind="quiz"
quiz("09", "one-head")

# %% [markdown] kind="instructor"
r"""
**They say:** "So attention weights are useless." **Answer:** Show cross 1.3 below and, in the full lesson, the row of *cold* in encoder 0.3.
"""

# %% [markdown] kind="text" track="short"
r"""
## 7 · An attention map alone is no explanation

An attention weight is a factor in a weighted sum of values. It doesn't show what a value contains, or whether the rest of the model uses it.

But attention maps aren't useless. One cross-attention head gives *thirsty* an attention weight of {result:lesson_09/cross 1.3 to thirsty:.2f} at the pronoun. With {term:uniform attention} in this head, only {result:lesson_09/pronouns right, cross 1.3 uniform:.0f} of 200 pronouns are right, hardly better than guessing. So attention weights can suggest an explanation, and an intervention can test it.

Interventions have limits too. If a change has no effect, another part may have compensated for it. And we have tested only one Transformer.
"""

# %% [markdown] kind="text" track="core" contents="two papers on whether attention weights explain a prediction"
r"""
Researchers disagree about how much attention weights explain. Jain and Wallace (2019) found, mainly in recurrent text classifiers, very different attention weights that lead to almost the same predictions. Wiegreffe and Pinter (2019) replied that it depends on what you expect from an explanation.
"""

# %% [markdown] kind="text" contents="four systems with attention that came before the Transformer, and what is still sequential in each"
r"""
## 8 · Before the Transformer

The Transformer (2017) didn't invent self-attention. Its authors cite several earlier models with self-attention, among them the last three in this table. They also cite {term:memory network|memory networks}, which attend in several rounds instead of passing a state from word to word.

| system | what attends to what | what is still sequential | what it is used for |
|---|---|---|---|
| End-to-end {term:memory network} ([Sukhbaatar et al., 2015](https://arxiv.org/abs/1503.08895)) | A question attends to stored sentences, several times. Each result is added to the query for the next round. | the rounds | answering questions that need several facts |
| {term:LSTMN} ([Cheng, Dong and Lapata, 2016](https://arxiv.org/abs/1601.06733)) | Each word attends to the LSTM states of all earlier words. | every word | language modelling and classifying sentiment |
| {term:decomposable attention} ([Parikh et al., 2016](https://arxiv.org/abs/1606.01933)) | The words of two sentences attend to each other and, in one version, to the words of their own sentence. | nothing | deciding whether one sentence follows from another, with few parameters |
| {term:structured self-attention} ([Lin et al., 2017](https://arxiv.org/abs/1703.03130)) | A few learned queries, the same for every sentence, attend to the states of a bidirectional LSTM. | the LSTM | classifying sentences |

We trained two of them on our toy language, three runs each. As a language model, the LSTMN has a perplexity of {result:min toy_language_models/lstmn_lm/scores/test/perplexity:.2f} to {result:max toy_language_models/lstmn_lm/scores/test/perplexity:.2f}, slightly worse than that of a plain LSTM with about as many parameters ({result:min toy_language_models/lstm_lm/scores/test/perplexity:.2f} to {result:max toy_language_models/lstm_lm/scores/test/perplexity:.2f}). In the paper, it beat the LSTM on English newspaper text. As the encoder and decoder of a toy translator, it gets {result:min toy_ladder/lstmn_deep/scores/test/exact:.0p} to {result:max toy_ladder/lstmn_deep/scores/test/exact:.0%} of the test sentences right. Structured self-attention had to predict which pronoun the French sentence needs. Of the {result:lesson_09/sentences that need a pronoun:.0f} test sentences that need one, it gets {result:lesson_09/pronouns classified correctly, worst run:.0f} to {result:lesson_09/pronouns classified correctly, best run:.0f} right.

Decomposable attention comes closest to what you have built, since one version attends within a sentence without any recurrence. According to its authors, the Transformer was the first sequence-to-sequence model to rely entirely on self-attention, without recurrence or convolutions.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on "*bank* attends to *river* with an attention weight of 0.9. What would show that the translation depends on this?" Twenty similar maps are still maps. Ask what each option *changes* in the model.
"""

# %% kind="quiz"
quiz("09", "closing")

# %% [markdown] kind="instructor"
r"""
**Wrap up (2 min).** Each pair completes: "If I see a large attention weight, I next …" Good answers name a change and what they would observe.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | meaning | shape |
|---|---|---|
| `queries`, `keys`, `values` | three projections of the words of one sentence | (words, d_k or d_v) |
| `weights` | how much each word (row) attends to each word (column) | (words, words) |

- Every word attends to all words of its sentence, with weights computed from the words.
- Self-attention is permutation equivariant: on its own, it ignores word order.
- An attention map alone is no explanation: our decoder attends most to *it*, but relies more on the last word.

**Still missing.** A decoder mustn't attend to words that it has to predict. [Lesson 10](10_masks.ipynb) shows how masks prevent that, and [lesson 11](11_positions.ipynb) is about word order.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani et al., *Attention Is All You Need* (2017), section 4, “Why Self-Attention”. How would you test what the last figures suggest about the word *its*? [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Parikh et al., *A Decomposable Attention Model for Natural Language Inference* (2016), section 3. [arXiv 1606.01933](https://arxiv.org/abs/1606.01933) <!-- core -->
- Jain and Wallace, *Attention is not Explanation* (2019), [arXiv 1902.10186](https://arxiv.org/abs/1902.10186), and Wiegreffe and Pinter, *Attention is not not Explanation* (2019), [arXiv 1908.04626](https://arxiv.org/abs/1908.04626).
"""
