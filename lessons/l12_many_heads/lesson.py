# Lesson 12 · the source. Edit this file, then run `python3 -m course_lib build 12`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 12 · Multi-head attention

**The question:** why attend several times in parallel, and what does it cost?

About {minutes} minutes. You need scaled attention from [lesson 08](08_query_key_value.ipynb), self-attention from [lesson 09](09_self_attention.ipynb) and masks from [lesson 10](10_masks.ipynb).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **explain** what several attention heads can do that a single one can't;
2. **write** multi-head attention, and **use** it in a trained translator;
3. **recognise** a bug that mixes up words without raising an error;
4. **test** what a head contributes, with ablations and activation patching; <!-- core -->
5. **compute** which costs grow with the number of heads.
"""

# %% [markdown] kind="instructor"
r"""
**Open with (2 min)** the two averages of section 1 on the board: values 4 and 10, attention weights ½ and ½. "Which sentence was it: *the cat drank the water* or *the water drank the cat*?" Nobody can tell. "How could you?" Expected: other weights, or two averages.

**If time is short,** leave out section 6. Keep the prediction and both patching cells.
"""

# %% kind="setup"
import json
from unittest.mock import patch

import torch
from IPython.display import display

from course_lib import views
from course_lib.runtime import data_path
from course_lib.teaching import check, predict, quiz, start_lesson, yours
from course_lib.text import TEST_SIZES, splits, translations_of
from course_lib.translation import ablated, head_names, load_shipped, translate
from lessons.l12_many_heads import HeadSwitches, key_picture, translate_with
from lessons.l12_many_heads import head_outputs, minimal_batches, predict_pronouns

start_lesson("many_heads", seed=12)

# %% [markdown] kind="text"
r"""
This is the attention layer of encoder block 1 in our trained Transformer. It computes attention four times at once. The row of *it* is outlined on its way from the query to the output.
"""

# %% kind="picture" name="key picture" hide_input=true
key_picture.draw()

# %% kind="picture" name="here" hide_input=true track="short"
views.transformer_map(
    "attention", "All nine attention layers have four heads. You will open one."
)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("12", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · One head computes one average

*The cat drank the water.* To understand *drank*, a model needs to know **who** drank and **what** was drunk. If *drank* attends to both nouns with a single row of attention weights, the result is a single average.

**By hand.** Let the values be single numbers: 4 for *cat* and 10 for *water*. With attention weights of ½ and ½, the context is ½ · 4 + ½ · 10 = 7. In *the water drank the cat*, it is ½ · 10 + ½ · 4 = 7 as well, so the average doesn't show who did what. With ⅓ for the first noun and ⅔ for the second, the contexts are 8 and 6. They differ now, but you can't recover both words from a single number.

Now let *drank* attend **twice**, with separate attention weights: once to the noun before the verb, and once to the noun after it. The contexts are (4, 10) for the first sentence and (10, 4) for the second, so both words can be recovered.

Each of these parallel computations is called an {term:attention head} and has its own queries, keys and values. Together, they are called {term:multi-head attention}. The authors of the Transformer give a similar reason for it: it lets the model "jointly attend to information from different representation subspaces at different positions", and with a single head, "averaging inhibits this".
"""

# %% [markdown] kind="text" track="core" contents="how a single head could keep two words apart"
r"""
Still, one head could in principle keep the two words apart. Values are vectors, so an earlier layer could write subjects and objects into different components, and the average would then show both. Section 6 measures how much a single head costs in practice.
"""

# %% [markdown] kind="text" track="short"
r"""
## 2 · Split, attend, concatenate

Where do the heads' queries, keys and values come from? We compute them at the full width of the model, as in lesson 08, and then **split** each vector into slices, one for each head. With d_model = 64 and four heads (the paper writes $h = 4$; from here on, $h$ is the number of heads, not a hidden state), each head gets $d_k = 64 / 4 = 16$ numbers of every query, key and value. It attends with its own slices, the paper's "subspaces". Then the results of all heads are **concatenated**, and one more matrix, the {term:output projection} $W_O$, combines them.

$$ \text{head}_i = \text{Attention}\big(X W_Q^{(i)\top},\; X W_K^{(i)\top},\; X W_V^{(i)\top}\big) \qquad\qquad \text{output} = [\,\text{head}_0, \dots, \text{head}_{h-1}\,]\; W_O^\top $$

$W_Q^{(i)}$ consists of the rows of $W_Q$ that belong to head $i$, from row $i \cdot d_k$ to row $(i + 1) \cdot d_k - 1$. The same holds for $W_K$ and $W_V$, since here $d_v = d_k$. In $W_O$, a head has *columns* instead: the columns with the same numbers multiply its result.
"""

# %% kind="picture" hide_input=true track="core" contents="a picture"
key_picture.draw("split")

# %% [markdown] kind="instructor"
r"""
**They say:** "`view` does the same as `transpose`" (M34). **Answer:** Let them print `arange(12)` split into two heads.

**Stuck?** Reshape to (…, n, heads, d_k) first: this splits each word. Then swap two axes. One `reshape` to the final shape never moves a number.
"""

# %% [markdown] kind="text" exercise="split_heads"
r"""
Let's start with the split. Take two words, `1 2 3 4` and `5 6 7 8`, and two heads. Head 0 gets `1 2` and `5 6`, and head 1 gets `3 4` and `7 8`. So each head gets a slice of **every word**. There can be any number of batch axes in front, or none, and d_model is a multiple of `n_heads`.

Here is a first version, which has a bug. Fix it. `x.transpose(i, j)` returns `x` with two of its axes swapped.
"""

# %% kind="exercise" exercise="split_heads" mode="bug" title="Split vectors into heads" difficulty=2 importance=5 track="short"
from lessons.l12_many_heads.solutions import split_heads

# %% kind="check" exercise="split_heads"
check("split_heads", split_heads)

# %% [markdown] kind="hints" exercise="split_heads"
r"""
### Where to start
Print `split_heads(torch.arange(12.0).reshape(1, 3, 4), 2)`. The words are `0 1 2 3`, `4 5 6 7` and `8 9 10 11`. Which rows does head 0 have? Which should it have?

---
### What goes wrong
`reshape` keeps the numbers in the order in which they are stored, word after word, and only changes the sizes of the axes. It can split the last axis in two. But it can't put the heads in front of the words, because that changes the order of the numbers.

---
### Step by step
First split the last axis in two, so that the shape is (..., n, n_heads, d_model / n_heads). Then swap two axes with `transpose(-3, -2)`.
"""

# %% [markdown] kind="text" exercise="test_split"
r"""
The first version returned the right shape. **Write a test that reveals its bug.** Your function gets an implementation of `split_heads`, calls it with inputs of your choice and raises an exception if the result is wrong. It must accept correct implementations. Some wrong ones get only a single head, word or sentence wrong. So use at least two of each, check every number, and choose numbers that show where they come from.
"""

# %% kind="exercise" exercise="test_split" mode="test" title="Write the test" difficulty=2 importance=3 track="stretch"
def test_split(split):
    """Takes an implementation of split_heads; raises an exception if it is wrong."""
    # solution
    words = torch.arange(120.0).reshape(2, 5, 12)
    heads = split(words, 3)
    for number in range(3):
        columns = words[:, :, 4 * number : 4 * number + 4]
        assert torch.equal(heads[:, number], columns)
    # end solution

# %% kind="check" exercise="test_split"
check("test_split", test_split)

# %% [markdown] kind="hints" exercise="test_split"
r"""
### Where to start
`torch.arange(120.0).reshape(2, 5, 12)` contains two sentences of five words, and all numbers are different. Which of them belong to head 1 of three?

---
### Step by step
Head `i` must contain the columns from `i * size` to `(i + 1) * size - 1` of every word. Compare each head with that slice, for all sentences and all words.
"""

# %% kind="picture" hide_input=true
key_picture.draw("join")

# %% [markdown] kind="text" exercise="join_heads"
r"""
Now write the inverse: for each word, concatenate the slices of all heads, head 0 first. Again, there can be any number of batch axes in front, and they stay as they are.
"""

# %% kind="exercise" exercise="join_heads" title="Concatenate the heads" difficulty=1 importance=5 track="short"
from lessons.l12_many_heads.solutions import join_heads

# %% kind="check" exercise="join_heads"
check("join_heads", join_heads)

# %% [markdown] kind="hints" exercise="join_heads"
r"""
### Where to start
Reverse the two steps of the split: first swap two axes, then merge two axes.

---
### Step by step
Swap heads and words. Then the last two axes are (n_heads, size), and `.flatten(-2)` merges them.
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · The whole layer

After the split, the heads are just another axis in front of the words. Your attention functions from lessons 08 and 10 accept any number of axes there, so they compute all heads at once, without a loop. The next cell fetches them.
"""

# %% kind="code"
split_heads, join_heads = yours("split_heads"), yours("join_heads")
scaled_attention = yours("scaled_attention")  # (queries, keys, values)
masked_attention = yours("masked_attention")  # (queries, keys, values, mask)

# %% [markdown] kind="instructor"
r"""
**Stuck?** Write five words on the board: project, split, attend, concatenate, project. If the attention function complains about the mask, ask which of the two functions accepts None.
"""

# %% [markdown] kind="text" exercise="many_heads"
r"""
**Build multi-head attention** from these four functions. The queries are computed from `x`, the keys and values from `source`. In self-attention, both are the same tensor.

The four matrices are (d_model, d_model), with torch's orientation (out, in) as in lesson 08. `mask` is None or a Boolean tensor that broadcasts to (batch, heads, m, n): its shape is (m, n), (batch, 1, m, n) or (batch, 1, 1, n). As in lesson 10, `True` means that a query may attend to a key, and every query may attend to at least one.

Return the output and the attention weights of all heads. It helps to print the shape after each step.
"""

# %% kind="exercise" exercise="many_heads" title="Multi-head attention" difficulty=4 importance=5 track="short"
from lessons.l12_many_heads.solutions import many_heads

# %% kind="check" exercise="many_heads"
check("many_heads", many_heads)

# %% [markdown] kind="hints" exercise="many_heads"
r"""
### Where to start
There are five steps: project, split, attend, concatenate, project. Since the matrices have the shape (out, in), multiply by their transposes: `x @ w_q.T`.

---
### Which attention function?
`scaled_attention` has no parameter for a mask, and `masked_attention` doesn't accept None. So choose between them with `if mask is None`. Both return the context and the attention weights.

---
### Step by step
1. Multiply `x` by the transpose of `w_q`, and split the result into heads. Do the same with `source` and `w_k`, and with `source` and `w_v`.
2. Pass queries, keys and values to one of the two attention functions.
3. Concatenate the heads of the context, and multiply by the transpose of `w_o`. Return the result together with the attention weights.
"""

# %% [markdown] kind="text" track="core" contents="a comparison with `nn.MultiheadAttention`"
r"""
PyTorch's version is `nn.MultiheadAttention`. It stores $W_Q$, $W_K$ and $W_V$ in a single matrix, stacked vertically. By default, it returns the mean of the attention weights over all heads.
"""

# %% kind="library" track="core"
attention = yours("many_heads")
x, source = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
w_q, w_k, w_v, w_o = torch.randn(4, 12, 12) / 12**0.5

module = torch.nn.MultiheadAttention(12, num_heads=3, bias=False, batch_first=True)
with torch.no_grad():
    module.in_proj_weight.copy_(torch.cat([w_q, w_k, w_v]))
    module.out_proj.weight.copy_(w_o)
    expected, expected_weights = module(x, source, source, average_attn_weights=False)
output, weights = attention(x, source, w_q, w_k, w_v, w_o, 3)

assert torch.allclose(output, expected, atol=1e-5)
assert torch.allclose(weights, expected_weights, atol=1e-5)
print("the same output and the same attention weights as nn.MultiheadAttention")

# %% [markdown] kind="text" track="short"
r"""
Now put it to work. `translate_with` runs our trained Transformer with `many_heads` in all nine of its attention layers: three in the encoder and six in the decoder, where three compute self-attention and three cross-attention.
"""

# %% kind="see"
transformer = load_shipped("transformer")
thirsty = "the cat drank the water because it was thirsty"
cold = "the cat drank the water because it was cold"

attention = yours("many_heads")
for sentence in (thirsty, cold):
    translation = translate_with(transformer, attention, sentence)
    assert translation == transformer(sentence).target
    rows = {"many_heads": translation}
    display(views.translations(sentence, rows, reference=translations_of(sentence)))

# %% [markdown] kind="text" track="short"
r"""
The original model gives the same translations. Lesson 00 asked how a network works out what *it* refers to. Lesson 09 gave the first half of an answer for this model: the last word decides. The second half is how its information reaches the pronoun.
Section 5 follows it from head to head. <!-- core -->
"""

# %% [markdown] kind="text" track="short"
r"""
## 4 · What do heads cost?

The width of the model stays the same, and the heads divide it among themselves. What does it cost to have more of them?
"""

# %% [markdown] kind="instructor"
r"""
**Vote.** Let those who choose "all three" write out the shape of $W_Q$ for 1 and for 8 heads.

**They say:** "8 heads cost 8 times as much" (M32). **Answer:** h · d_k = d_model. Only the number of scores and attention weights grows.
"""

# %% kind="quiz"
quiz("12", "cost")

# %% [markdown] kind="text"
r"""
For the scores of $n$ words, each head computes $n^2$ dot products of $d_k$ numbers. All $h$ heads together need $h \cdot n^2 \cdot d_k = n^2 \cdot d_\text{model}$ multiplications, because $h \cdot d_k$ is the width of the model.

But each dot product gives one score, so there are $h \cdot n^2$ scores and as many attention weights. They have to be stored, and each goes through the softmax. With more heads, each one is also narrower: with 64 heads in a model of width 512, each key has only 8 numbers.
"""

# %% [markdown] kind="text" contents="which heads a trained translator needs, how two of them decide between *il* and *elle*, and heads that replace each other"
r"""
## 5 · What do the heads of our translator do?

Our translator has four heads in each of its nine attention layers, 36 in all. They are named as in lesson 09: cross 0.2 is head 2 in layer 0 of the cross-attention, both counted from 0. Which of them does the translator use? An {term:ablation} removes a part of a trained model and measures what changes. Here we set a head's columns of $W_O$ to 0: its attention weights stay the same, but its output is no longer used. This is called *zero ablation*. It can give later layers inputs unlike any in training; replacing the output with its mean (*mean ablation*) or patching it, as below, is gentler.

The figure has three panels:

- **Heads:** the {term:attention entropy} of each head, $-\sum_j \alpha_j \log_2 \alpha_j$ bits, averaged over the queries. It is 0 if one key gets all the attention, and 3.3 for ten equal attention weights.
- **Output:** the translation, and the probability of each correct word.
- **Attention:** the attention weights of one cross-attention head.

Predict first, then try to reach the goals. You can ablate heads one at a time, or several together in order of importance: the increase in the loss on other sentences when only that head is ablated.
"""

# %% [markdown] kind="instructor"
r"""
**Before the explorable (2 min).** Let everyone write down a number from 0 to 36. Then ablate cross 1.3 live. Follow-up: "So 35 heads are useless?" Wait until someone asks what happens if several are removed *together*.
"""

# %% kind="predict"
predict("12", "heads-bet", HeadSwitches())

# %% [markdown] kind="text"
r"""
Only one head changes the first translation when it is ablated alone: without cross 1.3, the pronoun becomes *elle*. Its low entropy doesn't set it apart: other heads of cross 1 have just as little. In the sentence with *cold*, the pronoun changes without decoder 2.1, and also without encoder 0.3. In lesson 09, uniform attention in encoder 0.3 left the pronoun alone and changed only the words after it: the two interventions aren't the same. A head with uniform attention still passes on an average; an ablated head passes on nothing.

In three models with different random seeds, {result:lesson_12/spared/least:.0f} to {result:lesson_12/spared/most:.0f} of the 36 heads can be ablated one at a time, and the accuracy of the translations falls by less than two percentage points. But in each model there is a head without which only {result:lesson_12/percent of pronouns without the most needed head/seed 0:.0f}%, {result:lesson_12/percent of pronouns without the most needed head/seed 1:.0f}% or {result:lesson_12/percent of pronouns without the most needed head/seed 2:.0f}% of the pronouns are right, instead of 100%.

**Do cross 1.3 and decoder 2.1 work together?** When the model predicts the pronoun, cross 1.3 attends to *thirsty* or *cold*. Decoder 2.1, one layer later, attends to the position at which the decoder predicted the noun that the pronoun refers to. Perhaps the second head uses the result of the first to find the noun. {term:activation patching|Activation patching} (lesson 09) can test this. We take 50 pairs of sentences that differ only in the last word, such as *thirsty* and *cold*. For each of the 100 sentences, we replace the output of **one** head with its output for the other sentence of the pair. Both runs get the same French words before the pronoun. As a control, we also patch each of the other heads.

> **Before you run it:** in how many of the 100 sentences will the pronoun change if we patch cross 1.3? And if we patch another head?
"""

# %% [markdown] kind="instructor"
r"""
**While it runs** (36 heads, 100 sentences), ask why we patch the other heads too. Expected: as a control. If patching *any* head changed the pronoun, the result would say nothing about these two.
"""

# %% kind="see" name="patching"
model = transformer.model
sentences, partners = minimal_batches(50)  # partners: the other sentences of the pairs
own_outputs = head_outputs(model, sentences)
other_outputs = head_outputs(model, partners)
before = predict_pronouns(model, sentences)


def n_changed(patches):
    """How many pronouns change if the outputs of these heads are replaced."""
    return (predict_pronouns(model, sentences, patches) != before).sum().item()


changed = {name: n_changed({name: other_outputs[name]}) for name in head_names(model)}
for name in ("cross 1.3", "decoder 2.1"):
    print(f"{name} patched: {changed.pop(name)} of {len(before)} pronouns change")
print(f"any of the other {len(changed)} heads patched: at most {max(changed.values())}")

# %% [markdown] kind="text"
r"""
Patching either head changes every pronoun, and patching any other head changes none. But do the two form a chain, or does each of them affect the pronoun in its own way? Let's patch cross 1.3 again, and this time *hold* one head of the last layer: it keeps the output that it had before the patch. If the effect of cross 1.3 goes through that head, it should disappear.
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min)** before the second patching cell. "Both heads change every pronoun. Does one of them work through the other?" Ask for an experiment before you show it. Expected: patch the first and keep the second fixed. A control is needed too: holding any other head shouldn't matter.
"""

# %% kind="see" name="chain"
patched = {"cross 1.3": other_outputs["cross 1.3"]}
for name in head_names(model):
    if name.startswith(("decoder 2", "cross 2")):
        n = n_changed(patched | {name: own_outputs[name]})
        print(f"cross 1.3 patched, {name} held: {n} of {len(before)} pronouns change")

# %% [markdown] kind="text"
r"""
Only when decoder 2.1 is held does the pronoun stay the same. So in this model, cross 1.3 affects the choice of the pronoun through decoder 2.1. We repeated this with {result:lesson_12/patching/sentences:.0f} other sentences. The pronoun changes in {result:lesson_12/patching/cross 1.3:.0f} of them with cross 1.3 patched, in {result:lesson_12/patching/decoder 2.1:.0f} with decoder 2.1, in at most {result:lesson_12/patching/most of the other heads:.0f} with any other head, and in {result:lesson_12/patching/cross 1.3 with decoder 2.1 held:.0f} with cross 1.3 patched and decoder 2.1 held. Patching cross 1.3 also makes decoder 2.1 attend most to the *other* noun, in {result:lesson_12/patching/decoder 2.1 attends to the other noun:.0f} of the sentences.

This doesn't show that the two heads do nothing else, or that other models work this way: we patched one model, with one kind of sentence.

**Is a head useless if the model can do without it?** Let's ablate the four heads of a layer, first singly and then together.
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min).** "Ablating a head changes nothing. Give two explanations." Expected: the head does nothing useful, or the rest of the model can replace it. Follow-up: which experiment tells them apart? Ablate several heads together.

| they say | misconception | answer |
|---|---|---|
| "each head has its job" | M33 | Most heads can be ablated alone, but those of decoder 0 are needed together. |
| "it can be ablated, so it is useless" | M33 | In decoder 0, ablating one head causes hardly any errors, but ablating all four causes many. |
"""

# %% kind="see" name="together"
test, tokenizer = splits(seed=0, sizes=TEST_SIZES).test[:200], transformer.tokenizer


def n_correct(heads):
    with ablated(model, heads):
        outputs = translate([pair.src_text for pair in test], model, tokenizer)
    pairs = zip(outputs, test, strict=True)
    return sum(output.target == pair.tgt_text for output, pair in pairs)


print(f"all heads: {n_correct([])} of {len(test)} translations are correct")
for layer_name in ("encoder 2", "decoder 0"):
    four = [f"{layer_name}.{head}" for head in range(4)]
    singly = min(n_correct([head]) for head in four)
    together = n_correct(four)
    print(f"{layer_name}: without one head at least {singly}, without all {together}")

# %% [markdown] kind="text"
r"""
One at a time, no head of these two layers seems to matter. Together, the heads of decoder 0 do, which suggests that they can replace one another. The heads of encoder 2 matter little even together, at least in this model and for these sentences. So an ablation without effect shows that the *rest* of the model can do without the head. It doesn't show that the head does nothing.
"""

# %% [markdown] kind="instructor"
r"""
**Vote.** "B attends to the output of A" says more than the experiment: it shows *that* the effect goes through B, not how.
"""

# %% kind="quiz"
quiz("12", "ablation")

# %% [markdown] kind="text" contents="1 to 16 heads, trained with three seeds each, and the paper's own comparison"
r"""
## 6 · How many heads?

We trained the translator with 1, 2, 4, 8 and 16 heads, with three random seeds each. The width is 64 in all of them, so they have the same number of parameters. With 16 heads, each key has only 4 numbers. We count correct translations in the test set, and in sentences that are nested more deeply than any in the training set.
"""

# %% kind="predict" hide_input=true
counts = (1, 2, 4, 8, 16)
stored = data_path("results", "heads.json").read_text(encoding="utf-8")
scores = {(r["variant"], r["seed"]): r["scores"] for r in json.loads(stored)["runs"]}
parts, alt = [], "Correct translations, three seeds."
for title, split in {"Test set": "test", "Deeper nesting": "depth"}.items():
    curves = {}  # one for each seed
    for seed in range(3):
        exact = [scores[str(count), seed][split]["exact"] for count in counts]
        curves[f"seed {seed}"] = [100 * fraction for fraction in exact]
    y_name = "correct translations, %"
    parts.append(views.Part(title, counts, curves, y_name, log_x=True))
    one = [curve[0] for curve in curves.values()]
    more = [percent for curve in curves.values() for percent in curve[1:]]
    alt += f" {title}: {min(one):.0f} to {max(one):.0f}% with one head,"
    alt += f" {min(more):.0f} to {max(more):.0f}% with more."

figure = views.panels(parts, x_name="heads: 1, 2, 4, 8, 16", alt=alt)
predict("12", "heads-how-many", figure)

# %% [markdown] kind="text"
r"""
One head is worse on the test set, by {result:lesson_12/exact, several heads/mean - heads/1/scores/test/exact:.1p} percentage points ({result:heads/1/scores/test/exact:.1%} of the translations are correct, compared with {result:lesson_12/exact, several heads/mean:.1%}). But it is close: the best run with one head has {result:max heads/1/scores/test/exact:.1%}, and the worst with more {result:lesson_12/exact, several heads/least:.1%}. With deeper nesting, the runs overlap: {result:min heads/1/scores/depth/exact:.0p} to {result:max heads/1/scores/depth/exact:.0%} with one head, {result:lesson_12/depth, several heads/least:.0p} to {result:lesson_12/depth, several heads/most:.0%} with more. Between 2, 4, 8 and 16 heads there is no clear difference on the test set; with deeper nesting, 16 heads are slightly better than 2. The alignment error (lesson 06), averaged over the heads, does change with their number, from {result:heads/4/scores/test/alignment_error:.2f} with 4 heads to {result:heads/16/scores/test/alignment_error:.2f} with 16. One head is enough for most pronouns: it gets {result:lesson_12/pronouns, one head/least:.0p} to {result:lesson_12/pronouns, one head/most:.0%} of them right.

The Transformer paper reports a similar experiment (table 3, rows A), but not how much the results vary between seeds. A single head is 0.9 BLEU worse than the best setting, and 32 heads are worse than 16. {term:BLEU} is a translation score (lesson 16). In our runs on photo captions (Multi30k), one head reaches {result:min ablation/(A) 1 head/scores/test/greedy:.1f} to {result:max ablation/(A) 1 head/scores/test/greedy:.1f} BLEU, four heads {result:min ablation/base/scores/test/greedy:.1f} to {result:max ablation/base/scores/test/greedy:.1f} and 16 heads {result:min ablation/(A) 16 heads/scores/test/greedy:.1f} to {result:max ablation/(A) 16 heads/scores/test/greedy:.1f}.
"""

# %% [markdown] kind="text" contents="the first version of `split_heads` in the trained translator"
r"""
## 7 · Break it

Let's put the first version of `split_heads` into the **trained** translator. All shapes are right.

> **Before you run it:** do you expect an error, a slightly worse translation, or nonsense?
"""

# %% kind="break"
def first_version(features, *, n_heads):
    *batch, n, d_model = features.shape
    return features.reshape(*batch, n_heads, n, d_model // n_heads)


numbers = torch.arange(12.0).view(3, 4)
print("the rows of head 0:", first_version(numbers, n_heads=2)[0].tolist())
with patch("course_lib.layers.multi_head.split_heads", first_version):
    rows = {"first version": transformer(thirsty).target}
views.translations(thirsty, rows, reference=translations_of(thirsty))

# %% [markdown] kind="text"
r"""
There is no error, and the output is nonsense. In the small example, head 0 gets one and a half words instead of a slice of all three. Training with this split from the start wouldn't be safe either. In a decoder, a row that the causal mask leaves visible can then contain numbers of later words, which is a {term:leak} as in lesson 10, although the mask is correct.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on "What would change without the output projection?"
"""

# %% kind="quiz"
quiz("12", "closing")

# %% [markdown] kind="instructor"
r"""
**Wrap up (2 min).** Go back to the question of lesson 00: "How does our model choose between *il* and *elle*?" Let one learner tell the whole story, from *thirsty* through cross 1.3 and decoder 2.1 to the pronoun. Then ask what it doesn't show: other models, other sentences.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | meaning | shape |
|---|---|---|
| $h$ | number of heads; $h \cdot d_k$ = d_model | |
| queries, keys, values after the split | a slice of every word for each head | (batch, h, n, d_k) |
| attention weights | one matrix for each head | (batch, h, m, n) |
| output projection, $W_O$ | combines the concatenated heads | (d_model, d_model) |

- One head computes one average. Several heads can attend to different words and keep the results apart.
- With a fixed width, more heads need no more parameters or multiplications, only more scores and attention weights.
- To split heads, first split the last axis, then swap two axes. A single `reshape` mixes up words without an error.
- Heads that seem unnecessary when each is {term:ablation|ablated} alone can be necessary together. <!-- core -->
- Activation patching can show whether one head has its effect through another. <!-- core -->
- Lesson 00 asked how a network works out what *it* refers to. In our model, a head of the cross-attention (cross 1.3) attends to the last word. It affects the pronoun through a head of the next layer (decoder 2.1), which attends to the noun that the pronoun refers to.

**Still missing.** Attention moves information between words, but nothing here processes a single word on its own. [Lesson 13](13_the_block.ipynb) adds that and the other parts of a {term:Transformer block}.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani et al., *Attention Is All You Need* (2017), section 3.2.2, and rows (A) of table 3. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Michel, Levy and Neubig, *Are Sixteen Heads Really Better than One?* (2019): ablations of single heads in larger models. [arXiv 1905.10650](https://arxiv.org/abs/1905.10650) <!-- core -->
- Voita et al., *Analyzing Multi-Head Self-Attention: Specialized Heads Do the Heavy Lifting, the Rest Can Be Pruned* (2019). [arXiv 1905.09418](https://arxiv.org/abs/1905.09418) <!-- core -->
- `course_lib/layers/multi_head.py`, multi-head attention as this course's models use it.
"""
