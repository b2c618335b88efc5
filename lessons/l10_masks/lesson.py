# Lesson 10 · the source. Edit this file, then run `python3 -m course_lib build 10`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 10 · Masks

**The question:** which positions must a model not attend to, and how do we make sure that it doesn't?

About {minutes} minutes. You need scaled attention from [lesson 08](08_query_key_value.ipynb), self-attention from [lesson 09](09_self_attention.ipynb) and the training loop from [lesson 01](01_guessing_the_next_word.ipynb).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **decide** which positions have to be masked in an encoder, in a decoder and in cross-attention;
2. **write** attention with a mask, including the case of a query that may attend to nothing;
3. **distinguish** correct masking from methods that look similar, by the row sums and by the attention weights of masked keys;
4. **test** whether a mask is correct, and **name** checks that aren't enough;
5. **explain** why a causal mask makes it possible to train on all positions of a sentence in parallel.
"""

# %% [markdown] kind="instructor"
r"""
**Open with (2 min)** a table on the board: rows are queries, columns are keys, four words and two paddings. "Which cells should be forbidden?" Expected: the columns of the padding. Someone usually crosses out their rows too; let them compare with the first picture. Section 3 says why these rows stay.

**If time is short,** leave out the exercise of section 3 and the second half of section 5. Keep the leak in section 2.
"""

# %% kind="setup"
import math

import torch
from torch.nn import functional as F

from course_lib import views
from course_lib.formatting import fixed
from course_lib.teaching import check, explain, predict, quiz, start_lesson, yours
from course_lib.text import BOS, EOS, PAD
from course_lib.translation import load_shipped
from lessons.l10_masks import MaskPainter, key_picture, toy_rows, train

start_lesson("masks", seed=10)

# %% [markdown] kind="text"
r"""
Two kinds of positions must stay hidden: padding, which only fills up the batch, and later words, which a language model has to predict. In each grid, the rows attend to the columns. Blue is the attention of a head that was trained with a causal mask, and cells with a slash are masked.
"""

# %% kind="picture" name="key picture" hide_input=true
key_picture.draw()

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("10", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · Masking the padding

A batch is a rectangular tensor, but sentences differ in length. Short sentences are therefore extended with a special token, `<pad>`. This is called {term:padding}. The padding token has an embedding like any other token, so it also has a key and a value, and attention treats it like a word.

**By hand.** Take a sentence of two words in a batch of width four, and suppose that all four scores are 0. Then each position gets an attention weight of ¼, and half of the context vector comes from padding. We want the attention weights ½, ½, 0, 0, as if the padding weren't there.

In lesson 09 we hid a word from all the others by removing its key and its value. That works only if every query has to ignore the same words. Here, the positions to ignore differ from sentence to sentence. So we use an {term:attention mask}, a matrix with a row for each query and a column for each key, like the scores. In this course, `True` means that the query **may attend** to the key.

How do we turn scores and a mask into such attention weights? Here are four methods:

- **× 0 before:** multiply the masked scores by 0, before the softmax.
- **0 after:** set the masked attention weights to 0, after the softmax.
- **0 after, renormalised:** the same, and then divide each row by its sum.
- **−∞ before:** set the masked scores to $-\infty$, before the softmax.

Below you can try all four on a trained language model. The scores and attention weights belong to one of the four heads of its first layer. The bars on the right show the probability of the correct next word if the mask is applied in the same way in every head and layer. The mask *padding* hides the padding, *causal* hides all later positions, and *fully masked row* hides every key from the query *bu*. Make your prediction first, then try to reach the three goals.
"""

# %% [markdown] kind="instructor"
r"""
**Ask for a show of hands,** then let learners try all four methods and write down for each: do the rows sum to 1, do masked words get 0?

| they say | misconception | answer |
|---|---|---|
| "multiply the scores by 0" | M19 | Explorable, × 0 before: the rows sum to 1, but masked positions get attention. |
| "set the attention weights to 0 afterwards" | M20 | Look at the row sums. |
| "without a mask it sees the answer, so why is it worse?" | – | This model was trained with a causal mask. A plausible reason is that it has never learned to use later words. |
"""

# %% kind="predict"
predict("10", "times-zero", MaskPainter())

# %% [markdown] kind="text"
r"""
| method | does each row sum to 1? | do masked keys get an attention weight of 0? | perplexity |
|---|---|---|---|
| × 0 before | yes | **no** | {result:lesson_10/perplexity/x 0 before:.1f} |
| 0 after | **no** | yes | {result:lesson_10/perplexity/0 after:.1f} |
| 0 after, renormalised | yes | yes | {result:lesson_10/perplexity/renormalised:.1f} |
| −∞ before | yes | yes | {result:lesson_10/perplexity/-inf before:.1f} |

The last column is the perplexity of this model on {result:lesson_10/sentences:.0f} test sentences, with a causal mask applied by each of the four methods. The model was trained with the last method.

Multiplying by 0 is a mistake that is easy to overlook: all shapes are right and the rows sum to 1. But since $e^0 = 1$, a score of 0 still gets attention, and more than a negative score does. In these sentences, masked words get {result:lesson_10/attention on masked words, x 0 before:.0%} of the attention, averaged over all heads.

So we set masked scores to $-\infty$ before the softmax, because $e^{-\infty} = 0$. Renormalising is equivalent on paper but fragile in practice: the masked scores still take part in the softmax, and if one of them is much higher than the others, all visible attention weights round to 0.

Both methods fail if *all* keys of a query are masked, for example in an empty sentence, which consists of padding only. The softmax of nothing but $-\infty$ is $0/0$, which is **NaN** (not a number). In the mask painter, a single such row turns every prediction into NaN, because in the next layer all words attend to that position. A safe remedy is to give such a row finite scores before the softmax, and to set its attention weights to 0 afterwards.
"""

# %% kind="picture" hide_input=true track="core" contents="the padding mask, with the attention of a trained head"
key_picture.draw("padding")

# %% [markdown] kind="instructor"
r"""
**Stuck?** Solve it without fully masked rows first. For those: let the row attend to everything before the softmax, and set its attention weights to 0 afterwards. If the mask works the wrong way round, a `~` is missing.
"""

# %% [markdown] kind="text" exercise="masked_attention"
r"""
**Add a mask to scaled attention.** `mask` is a Boolean tensor with the shape of the scores, or one that broadcasts to it, such as (m, n) or (batch, 1, n). Three tools: `scores.masked_fill(where, value)` returns a copy of the scores with `value` wherever `where` is True, `~mask` swaps True and False, and `-math.inf` is $-\infty$.

A masked key gets an attention weight of exactly 0, however high its score is. A query that may attend to no key at all gets attention weights of 0 and a context vector of 0, without any NaN in the outputs or in the gradients.
"""

# %% kind="exercise" exercise="masked_attention" title="Attention with a mask" difficulty=3 importance=5 track="short"
from lessons.l10_masks.solutions import masked_attention

# %% kind="check" exercise="masked_attention"
check("masked_attention", masked_attention)

# %% [markdown] kind="hints" exercise="masked_attention"
r"""
### Where to start
Ignore the fully masked rows at first. Compute the scores as in lesson 08, replace them with `-math.inf` wherever the query may *not* attend, apply the softmax, and compute the weighted sum of the values.

---
### Fully masked rows
`mask.any(dim=-1, keepdim=True)` is True for the queries that may attend to at least one key. For the others, change the mask before the softmax so that they may attend to every key. After the softmax, set their attention weights to 0.

---
### Can't I just replace the NaN afterwards?
If you use `masked_fill`, `weights.nan_to_num(0.0)` passes the check too, because no gradient flows through the scores that were filled in. But it also hides every other NaN that your network might ever produce.
"""

# %% [markdown] kind="text" track="short"
r"""
## 2 · Masking the future

A language model predicts the next word. With self-attention, a single forward pass over a sentence gives a prediction at every position: position $i$ predicts word $i + 1$. As in lesson 04, this is {term:teacher forcing} with a {term:shifted target}.

But now the answer is part of the input. Word $i + 1$ is the next input token, so position $i$ must not attend to it. A {term:causal mask} lets each position attend to itself and to earlier positions, but never to later ones. Likewise, in a causal convolution (lesson 05), the window of each word ends with that word.
"""

# %% kind="picture" hide_input=true
key_picture.draw("causal")

# %% [markdown] kind="text"
r"""
Here is a very small language model. It has an embedding for each word and one attention layer, **yours**. Three details belong to later lessons, and you can ignore them here: a table of `positions` (11), the sum `x + context` (13), and the second use of the embedding matrix, for the logits (14). The file `lessons/l10_masks/small_language_model.py` trains the model with the loop from lesson 01, on about two thousand short French sentences of the toy language. No padding mask is needed: all padding comes after the words, so the causal mask hides it from them, and the loss ignores the predictions for padding.
"""

# %% kind="code" name="model"
tokenizer = load_shipped("transformer").tokenizer
N = 16  # input positions; longer sentences are left out
train_rows, test_rows = toy_rows(tokenizer, N)  # (sentences, N + 1)
attention = yours("masked_attention")


def logits_of(model, ids, mask):
    """Token ids (batch, n)  ->  logits (batch, n, vocabulary)."""
    x = model["embedding"][ids] + model["positions"][: ids.shape[1]]
    queries, keys, values = (x @ model[name].T for name in ("w_q", "w_k", "w_v"))
    context, _ = attention(queries, keys, values, mask)
    return (x + context) @ model["embedding"].T


def loss_of(model, sentences, mask):
    """The cross-entropy of the next word, without the padding."""
    logits = logits_of(model, sentences[:, :-1], mask)
    targets = sentences[:, 1:]  # shifted by one position
    # torch expects the vocabulary on the second axis
    return F.cross_entropy(logits.mT, targets, ignore_index=PAD)

# %% [markdown] kind="text"
r"""
A colleague has written a mask for this model. The next cell trains the model with it and prints the perplexity on unseen sentences. For comparison, models trained on 20,000 sentences and tested on sentences of all lengths reach perplexities of about {result:toy_language_models/ngram_lm/scores/test/perplexity:.0f} (n-gram model) and {result:toy_language_models/gru_lm/scores/test/perplexity:.0f} (GRU).
"""

# %% [markdown] kind="instructor"
r"""
**Let them believe the first perplexity (5 min).** While it trains, say nothing about the mask. Then show the perplexity near 1 and ask: "Who would publish this?" Only after that let the model generate. Expected objection: "But the test set is clean!" Answer: the test set is, but the mask isn't.
"""

# %% kind="train" ignore_output=true hide_input=true
def first_mask(n):
    """The colleague's mask."""
    return torch.ones(n, n).tril(diagonal=1) == 1


first = train(loss_of, train_rows, first_mask)
with torch.no_grad():
    perplexity = loss_of(first, test_rows, first_mask(N)).exp()
print("perplexity on unseen sentences:", fixed(perplexity, 2))
assert perplexity < 1.5

# %% [markdown] kind="instructor"
r"""
**Vote.** "Good French" is the natural answer. Don't resolve it: the next cell does.
"""

# %% kind="quiz"
quiz("10", "too-good")

# %% [markdown] kind="text"
r"""
Now the model generates French from three beginnings, with greedy decoding: it gets the words so far, and its most probable next word is appended.
"""

# %% kind="see" name="writes" ignore_output=true hide_input=true
BEGINNINGS = ("le", "la souris", "les chats noirs")


@torch.no_grad()
def write(model, mask, beginning, max_length=12):
    """Continue a sentence with greedy decoding."""
    ids = [BOS, *tokenizer.encode(beginning)]
    while ids[-1] != EOS and len(ids) <= max_length:
        logits = logits_of(model, torch.tensor([ids]), mask(len(ids)))
        ids.append(logits[0, -1].argmax().item())
    return tokenizer.decode(ids[1:])


for beginning in BEGINNINGS:
    print(write(first, first_mask, beginning))

# %% [markdown] kind="instructor"
r"""
**Stuck?** Print `training_mask(3)` and read row 0 aloud: "The first position may attend to …"
"""

# %% [markdown] kind="text" exercise="training_mask"
r"""
The perplexity is nearly perfect, but none of these lines is a sentence. Here is the function that made the mask. Find the bug and fix it.
"""

# %% kind="exercise" exercise="training_mask" mode="bug" title="The training mask" difficulty=2 importance=5 track="short"
def training_mask(n):
    """n positions  ->  a Boolean mask (n, n): rows are queries, columns are keys"""
    # bug
    return torch.ones(n, n).tril(diagonal=1) == 1
    # end bug
    # solution
    return torch.ones(n, n).tril() == 1
    # end solution

# %% kind="check" exercise="training_mask"
check("training_mask", training_mask)

# %% [markdown] kind="hints" exercise="training_mask"
r"""
### Where to start
`tril` keeps a matrix up to one of its diagonals and sets everything above it to 0. Print `training_mask(4)`. The input at position 0 is BOS, and the first word is predicted there. Which positions does row 0 allow?

---
### Step by step
The input at position $i$ is word $i$, and the model predicts word $i + 1$ there. So row $i$ should be True in columns 0 to $i$ and False in all others.
"""

# %% [markdown] kind="instructor"
r"""
**While it trains,** ask whether the perplexity will be better or worse, and by how much. Worse is right, and it is the good news.
"""

# %% kind="train" ignore_output=true
mask = yours("training_mask")
second = train(loss_of, train_rows, mask)
with torch.no_grad():
    perplexity = loss_of(second, test_rows, mask(N)).exp()
print("perplexity on unseen sentences:", fixed(perplexity, 0))
for beginning in BEGINNINGS:
    print(write(second, mask, beginning))
assert 8 < perplexity < 60

# %% [markdown] kind="text"
r"""
The perplexity is much worse, but the output begins to look like French. The two models differ only in the mask: the first mask let each position attend to the word that it had to predict. Such a flaw is called a {term:leak}.

What has the first model learned? If it has learned to copy the next word from its input, it should be able to “predict” words that are impossible to predict. So we give both models sequences of **random** words.

> **Before you run it:** what percentage of the random words will each model predict correctly?
"""

# %% kind="see" name="noise" ignore_output=true
words = train_rows[train_rows > EOS].unique()  # without the special tokens
generator = torch.Generator().manual_seed(10)
noise = words[torch.randint(len(words), (200, N), generator=generator)]

for name, model, its_mask in (("first", first, first_mask), ("second", second, mask)):
    with torch.no_grad():
        predicted = logits_of(model, noise, its_mask(N)).argmax(dim=-1)
    fraction = (predicted[:, :-1] == noise[:, 1:]).float().mean()
    print(f"{name} model: {fixed(100 * fraction, 0)}% of the random words predicted")
    assert (fraction > 0.7) == (model is first)

# %% [markdown] kind="text"
r"""
The first model has learned to **copy the next word**. In three runs with other random seeds, such a model also “predicted” about nine in ten random words, and one with a correct mask almost none. In generation, there is no next word to copy yet, and in all our runs the leaky model mostly repeated the words it already had.

A clean test set doesn't protect you from this, because the model processes it with the same faulty mask. Two things do: letting the model generate text, and testing the mask directly. Change all words after position $i$, and compare the predictions at position $i$. With a correct causal mask, they can't change.
"""

# %% [markdown] kind="text" track="core" contents="the same leak in a larger language model and in a translator, where the loss doesn't reveal it"
r"""
We also trained a larger Transformer language model both ways, in three runs each. When it processes a sentence all at once, its perplexity on test sentences is {result:min leak_language_model/sound/scores/test/perplexity:.2f} to {result:max leak_language_model/sound/scores/test/perplexity:.2f} with a correct mask and {result:min leak_language_model/leaky/scores/test/perplexity:.3f} to {result:max leak_language_model/leaky/scores/test/perplexity:.3f} with the leak. When it processes the same sentences word by word, as in generation, nothing changes for the correct models, but the leaky ones have perplexities above **ten million**. A model that assigns the same probability to all 680 words of the vocabulary has a perplexity of 680. So the leaky models aren't just uncertain: they are confident and wrong.

A leak *can* make a loss too good to be true, but it doesn't have to. With the same leak in a **translator**, the validation loss is {result:leak/leaky/history/-1/loss:.2f}, compared with {result:leak/sound/history/-1/loss:.2f} for the correct model (means of three runs). Yet when it generates, the leaky translator gets none of 1,000 test sentences right. Unlike the language models, both translators were trained with {term:label smoothing} (lesson 15), which discourages a model from giving any word a probability much above 90%. So even a model that copies the next word doesn't get close to a loss of 0, and the leak doesn't show. The correct translator's loss is low as well, probably because the source sentence makes the next French word nearly certain anyway.
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (4 min)** before the table. "A translator uses attention in three places. Which cells do you forbid in each?" Expected: padding in all three, later positions in the decoder's self-attention only. Compare with the table from the start.

| they say | misconception | answer |
|---|---|---|
| "mask the rows of the padding too" | M21 | Then these queries may attend to nothing, and the plain softmax gives NaN. Mask columns. |
| "cross-attention needs a causal mask" | M25 | The whole source is known before the first target word. |
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · The masks of a translator

A Transformer that translates (lesson 14) uses attention in three ways, with these masks:

| attention | queries | keys and values | what is masked |
|---|---|---|---|
| encoder self-attention | source | source | source padding |
| decoder self-attention | target | target | target padding **and** later positions |
| cross-attention | target | source | source padding |

In {term:cross-attention}, the queries come from the target, and the keys and values from the source. This is the attention of lesson 06 with the formula of lesson 08. It needs no causal mask, because the whole source is known before the first target word is generated.

A {term:padding mask} hides padding as **keys**, never as queries. What a padding position itself attends to doesn't matter: no word attends to it, and the loss ignores its prediction. Two masks are combined with `&`, since a query may attend to a key only if both masks allow it.
"""

# %% kind="picture" hide_input=true
key_picture.draw("both")

# %% [markdown] kind="text"
r"""
A mask doesn't need the full shape of the scores, as long as it {term:broadcasting|broadcasts} to it: the shapes are compared from the last axis backwards, and an axis that is missing or has size 1 is repeated.

| mask | shape | is the same for |
|---|---|---|
| padding mask | (batch, 1, keys) | all queries of a sentence |
| causal mask | (n, n) | all sentences of the batch |
| both, combined with `&` | (batch, n, n) | – |

With several heads (lesson 12), the scores have the shape (batch, heads, queries, keys). A causal mask (n, n) still fits. A padding mask needs one more axis of size 1, for the heads: (batch, 1, 1, keys). <!-- core -->
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on cross-attention: "Only to the first three words" is the mistake to discuss.
"""

# %% kind="quiz"
quiz("10", "which-mask")

# %% [markdown] kind="text" exercise="translator_masks"
r"""
**Write the decoder's mask.** The masks of the encoder and of cross-attention are given. Compute the decoder's, and return all three. `src_lengths` and `tgt_lengths` are tensors with one integer per sentence, `n_src` and `n_tgt` are the widths of the padded batch, and the padding comes after the words. Comparing a tensor of shape (b, 1) with one of shape (n,) gives a tensor of shape (b, n).
"""

# %% kind="exercise" exercise="translator_masks" title="The masks of a translator" difficulty=2 importance=4 track="core"
from lessons.l10_masks.solutions import translator_masks

# %% kind="check" exercise="translator_masks"
check("translator_masks", translator_masks)

# %% [markdown] kind="hints" exercise="translator_masks"
r"""
### Where to start
The decoder's mask combines two masks: a padding mask of shape (b, 1, n_tgt), made like the one for the source, and a causal mask of shape (n_tgt, n_tgt).

---
### Step by step
1. Compare `torch.arange(n_tgt)` with the target lengths. The result, (b, n_tgt), is True for words. Insert an axis of size 1 in the middle.
2. Make a causal mask: rows are queries, columns are keys, and it is True where column ≤ row. You can write it as in `training_mask`.
3. Combine both with `&`. Broadcasting gives (b, n_tgt, n_tgt).
"""

# %% [markdown] kind="text" track="short"
r"""
## 4 · All positions in one forward pass

Instead of masking the future, we could leave it out of the input: one forward pass over the first word, one over the first two words, and so on. A single pass over the whole sentence with a causal mask gives the same predictions, because the one at position $i$ depends only on the words up to $i$.

In training, the whole sentence is known, so a single forward pass with a causal mask trains the model on all positions in parallel. In generation, the next words don't exist yet, so the model has to work word by word. Lesson 16 makes that cheaper.
"""

# %% kind="tensor" track="core" contents="a cell that compares both ways"
sentence = test_rows[:1, :N]
with torch.no_grad():
    at_once = logits_of(second, sentence, mask(N))[0]
    one_by_one = torch.stack(
        [logits_of(second, sentence[:, : i + 1], mask(i + 1))[0, -1] for i in range(N)]
    )
assert torch.allclose(at_once, one_by_one, atol=1e-4)
print(f"one forward pass with a causal mask = {N} passes without the future")

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min),** then everyone writes. Expected: each output depends only on words that are known in training, so no position waits for another. In a recurrent network, each state needs the one before.
"""

# %% kind="explain" track="core" contents="explain the difference from a recurrent network in your own words"
explain("10", "at-once")

# %% [markdown] kind="text" track="short"
r"""
## 5 · Masks in PyTorch

Not all code interprets masks the way we do. Even within PyTorch, `True` means opposite things in different functions:

| in PyTorch | argument | `True` means that the query |
|---|---|---|
| `F.scaled_dot_product_attention` | `attn_mask` | **may** attend to the key, as in this course |
| `nn.MultiheadAttention` | `attn_mask` | may **not** attend to the key |
| | `key_padding_mask`, (batch, keys) | may **not** attend to the key: it is padding |

The masks of `nn.Transformer` follow the convention of `nn.MultiheadAttention`. A mask of floating-point numbers is always added to the scores.
"""

# %% [markdown] kind="text" track="core" contents="additive masks, −1e9, and our mask passed to `nn.MultiheadAttention` unchanged"
r"""
You will meet two more ways of masking:

- **Additive masks.** Instead of replacing scores, we can add a matrix of floating-point numbers to them: 0 where the query may attend, and $-\infty$ where it may not. The result is the same. Such a matrix is called an {term:additive mask}.
- **−1e9.** Some code uses a very negative number such as −1e9 instead of $-\infty$. It avoids NaN in a fully masked row, but the query of that row then attends to all its masked keys equally, and no error reveals it. It also doesn't work in 16-bit floating point (float16), whose range ends at ±65,504.

> **Before you run it:** we pass our causal mask to `nn.MultiheadAttention` unchanged. To which positions can each query attend now? What will the last row contain?
"""

# %% [markdown] kind="instructor"
r"""
**They say:** "`True` means the same everywhere" (M22). **Answer:** The table above says otherwise. Print the attention weights of a small example.
"""

# %% kind="break" track="core"
torch.manual_seed(10)
layer = torch.nn.MultiheadAttention(embed_dim=8, num_heads=1, batch_first=True)
x = torch.randn(1, 4, 8)
with torch.no_grad():
    for name, attn_mask in (("our mask", mask(4)), ("inverted", ~mask(4))):
        context, weights = layer(x, x, x, attn_mask=attn_mask)
        print(name)
        for row in weights[0]:
            print("   ", fixed(row, 2))

# %% [markdown] kind="text" track="core"
r"""
With our mask, each word attends only to *later* words, and the last one to nothing, so its row is NaN. There is no error message. Whenever you pass a mask to somebody else's code, print the attention weights for a small example first.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on "Which of these can reveal a leak?" A loss that is slightly lower, or that keeps falling, proves nothing.
"""

# %% kind="quiz"
quiz("10", "closing")

# %% [markdown] kind="instructor"
r"""
**Wrap up (2 min).** "You inherit a language model with a wonderful test loss. What do you do first?" Expected: let it generate, then change later words and compare the predictions at earlier positions.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | meaning | shape |
|---|---|---|
| attention mask | True where a query may attend to a key | (queries, keys), or broadcastable to it |
| padding mask | masks the keys that are padding | (batch, 1, keys) |
| causal mask | masks all later positions | (n, n) |
| {term:additive mask} | 0 or −∞, added to the scores | (queries, keys) | <!-- core -->
| leak | a flaw that shows the model what it has to predict | |

- Masked scores are set to −∞ before the softmax. Then the rows sum to 1, and masked keys get an attention weight of exactly 0.
- A query that may attend to nothing needs special care: attention weights of 0 instead of NaN.
- With a leak, the loss can be excellent and the model useless. A clean test set doesn't reveal it; letting the model generate does.
- With a causal mask, one forward pass gives the predictions at all positions of a sentence. Cross-attention needs no causal mask.

**Still missing.** Attention compares a query and a key in the same way wherever they are. How can a model use the order of the words? [Lesson 11](11_positions.ipynb) is about positions.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani et al., *Attention Is All You Need* (2017), section 3.2.3. The third point explains the decoder's mask. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- The PyTorch documentation of `scaled_dot_product_attention` and of `nn.MultiheadAttention`. Compare what they say about `attn_mask`.
- `course_lib/layers/masks.py`, the masks of this course on one page.
"""
