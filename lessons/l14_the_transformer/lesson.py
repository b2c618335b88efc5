# Lesson 14 · the source. Edit this file, then run `python3 -m course_lib build 14`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 14 · The full Transformer

**The question:** how do all the parts fit together in a Transformer?

About {minutes} minutes. You need the block from [lesson 13](13_the_block.ipynb), heads from [lesson 12](12_many_heads.ipynb), positions from [lesson 11](11_positions.ipynb), masks from [lesson 10](10_masks.ipynb) and greedy decoding from [lesson 04](04_encoder_decoder.ipynb). You will assemble a Transformer from your own functions, and it will translate a sentence that you type.
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **assemble** a Transformer from its parts, and load trained weights into it by name;
2. **distinguish** the three uses of attention by their queries, keys and masks;
3. **find** the first stage at which two networks differ;
4. **diagnose** mistakes that change no shape and raise no error; <!-- core -->
5. **write** a Transformer from an empty file, as torch modules. <!-- core -->
"""

# %% [markdown] kind="instructor"
r"""
**Open with (2 min)** "Where is the knowledge, in the file or in your code?" Expected: in neither alone. Come back to it in section 6 with: "How would you notice that `w_key` and `w_query` were swapped?" In self-attention, the scores would be transposed, so the first difference would be at encoder 0.

**If time is short,** leave out sections 7 and 9, and give section 8 as homework. Lesson 15 then trains the learners' functions, or the library's.
"""

# %% kind="setup" name="setup"
import torch
from IPython.display import display

from course_lib import views
from course_lib.formatting import fixed, significant
from course_lib.models.own_file import own_file_path, start_own_file
from course_lib.teaching import check, estimate, predict, quiz, start_lesson
from course_lib.teaching import count_own_calls, yours
from course_lib.text import make_batch, splits, translations_of
from course_lib.translation import clean_text, load_shipped
from lessons.l14_the_transformer import XRay, by_parts, key_picture

start_lesson("the_transformer", seed=14)

# %% [markdown] kind="text" track="short"
r"""
This is everything you will build, with the numbers of the model that you will load. Follow one line from the bottom to the top: a token becomes 64 numbers, and every attention and feed-forward layer reads them and adds to them. Lines of the source end in the memory, lines of the target in predictions. The two heads in magenta decide between *il* and *elle*; in lesson 12, no other head turned the pronoun in more than one of 200 sentences.
"""

# %% kind="picture" name="key picture" hide_input=true track="short"
key_picture.draw()

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("14", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · A file of weights

A trained translator is stored in a file. The file contains no code, only a {term:state dict}: tensors with names. Let's open it.
"""

# %% kind="code" name="file"
shipped = load_shipped("transformer")
weights = {name: w.detach() for name, w in shipped.model.state_dict().items()}


def show(names):
    for name in names:
        print(f"{name:<52}{tuple(weights[name].shape)}")


others = tuple(f"{side}coder.blocks.{i}" for side in ("en", "de") for i in (1, 2))
show(name for name in weights if not name.startswith(others))
total = sum(w.numel() for w in weights.values())
print(f"… and four more blocks: {len(weights)} tensors, {total:,} numbers")

# %% [markdown] kind="text"
r"""
These {printed:file/tensors} numbers can translate if the right code uses them. You have been writing that code since lesson 04. We use the functions of lesson 13 rather than the modules, because every stage is then visible.

The **Transformer** (Vaswani et al., 2017) processes the source once, with a stack of encoder blocks. The output of this stack is the {term:encoder memory|memory}, one vector for each source token. A second stack, the decoder, processes the target so far, attends to the memory in every block, and computes the logits of the next token.

The names and shapes don't tell you everything. This table lists what else you need to know about our model, next to the base model of the paper:

| | the paper's base model | our file |
|---|---|---|
| d_model, heads, d_ff | 512, 8, 2048 | 64, 4, 256 |
| blocks on each side | 6 | 3 |
| norm | post-norm | pre-norm, and one more norm after each stack |
| output layer | shared embedding matrix | the same, with a bias for each token |
| positions | sinusoids, added | the same |
| biases in attention | none in the formulas | none |
"""

# %% kind="code" name="parts of"
def parts_of(weights, prefix):
    """The weights whose names start with the prefix, under the rest of their names."""
    start = prefix + "."
    return {n[len(start) :]: w for n, w in weights.items() if n.startswith(start)}


print(list(parts_of(weights, "encoder.blocks.0"))[:3])

# %% [markdown] kind="text" track="short"
r"""
`parts_of` gives the weights of one block the names that your `encoder_block` expects.

## 2 · Embeddings

In this model, **one** embedding matrix, `words.output.weight`, is used three times: for source tokens, for target tokens, and for the logits, each of which is a dot product with a row. This is called {term:weight tying} (Press and Wolf, 2017).

On the way in, the rows are multiplied by $\sqrt{d_{\text{model}}}$, and then the positional encodings $p_i$ are added:

$$ x_i = \sqrt{d_{\text{model}}}\; E[w_i] + p_i $$

This is called {term:embedding scaling}. The paper doesn't give a reason. A plausible one is that the two uses need different sizes. In the output layer, large entries would give large logits, and the softmax would be almost certain before anything is learned. In the input, the embeddings should be at least as large as the positional encodings.

**By hand.** If d_model is 4, the square root is 2. For the row (1, 2, 3, 4) at position 0, whose encoding is (0, 1, 0, 1), the result is 2 · (1, 2, 3, 4) + (0, 1, 0, 1) = (2, 5, 6, 9).
"""

# %% kind="code" name="size"
def size(numbers):
    """The root mean square."""
    return numbers.square().mean().sqrt()


table, sinusoids = weights["words.output.weight"], yours("sinusoids")
print("rows of the embedding matrix:", fixed(size(table), 2))
print("positional encodings:        ", fixed(size(sinusoids(20, 64)), 2))

# %% [markdown] kind="instructor"
r"""
**They say:** "√d_model cancels √d_k" (M09). **Answer:** They are for two different problems: the size of embeddings and the spread of scores.
"""

# %% [markdown] kind="text" exercise="embed"
r"""
Multiplied by √64 = 8, the rows are larger than the positional encodings. **Write `embed`** for any d_model and sentences of any length. `sinusoids(n, d_model)` returns the encodings of positions 0 to n − 1, of shape (n, d_model).
"""

# %% kind="exercise" exercise="embed" title="Embeddings with positions" difficulty=1 importance=5 track="short"
def embed(tokens, table):
    """tokens (batch, n), table (vocab, d_model)  ->  (batch, n, d_model)"""
    # solution
    n, d_model = tokens.shape[1], table.shape[1]
    return table[tokens] * d_model**0.5 + sinusoids(n, d_model)
    # end solution

# %% kind="check" exercise="embed"
check("embed", embed)

# %% [markdown] kind="hints" exercise="embed"
r"""
### Where to start
Indexing with a tensor of token ids selects a row for each of them: `table[tokens]` has the shape (batch, n, d_model).

---
### Step by step
Both sizes are in the shapes: n in that of `tokens`, d_model in that of `table`. Multiply the rows by the square root first, and add the positions afterwards.
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · The encoder

From now on, the lesson uses **your** functions where they passed their checks, and the library's otherwise.
"""

# %% kind="code" name="parts"
embed = yours("embed")
encoder_block, layer_norm = yours("encoder_block"), yours("layer_norm")
many_heads, feed_forward = yours("many_heads"), yours("feed_forward")

# %% [markdown] kind="instructor"
r"""
**Stuck?** Almost always a name: print `list(parts_of(weights, "encoder.blocks.0"))`. Learners who get a wrong memory have often forgotten the last norm, or used block 0 three times.
"""

# %% [markdown] kind="text" exercise="encode_source"
r"""
**Build the encoder.** Embed the tokens with `words.output.weight`. Then apply the first `n_layers` blocks, `encoder.blocks.0`, `encoder.blocks.1` and so on, each with its own weights. (`n_layers` is the number of blocks, which torch and the papers call layers.) Finally, apply the last norm, with `encoder.last_norm.weight` and `encoder.last_norm.bias`.

The functions from lesson 13 are `encoder_block(x, parts, n_heads, mask)` and `layer_norm(x, weight, bias)`. `mask` hides the padding of the source, in every block. Return only the memory.
"""

# %% kind="exercise" exercise="encode_source" title="The encoder" difficulty=2 importance=5 track="short"
from lessons.l14_the_transformer.solutions import encode_source

# %% kind="check" exercise="encode_source"
check("encode_source", encode_source)

# %% [markdown] kind="hints" exercise="encode_source"
r"""
### Where to start
There are three steps: `embed`, a loop over the blocks, and one norm. The prefix of block `i` is `f"encoder.blocks.{i}"`.

---
### Step by step
In the loop: `x = encoder_block(x, parts_of(weights, …), n_heads, mask)`. After the loop, call `layer_norm` once, with `weights["encoder.last_norm.weight"]` and the bias.
"""

# %% [markdown] kind="text" track="short"
r"""
Why a *last* norm? With pre-norm, each layer adds its output to $x$, and this running sum, the *residual stream*, is never normalised itself, so its numbers grow from block to block. Section 6 shows by how much. The last norm brings them back to a size of about 1.

## 4 · The decoder

A decoder block has three layers instead of two. First, target tokens attend to target tokens. Then, in cross-attention, they attend to the memory, which is the decoder's only source of information about the input sentence. The last layer is the feed-forward network.
"""

# %% [markdown] kind="instructor"
r"""
**Vote** before the exercise, because the mask is where most go wrong.

**They say:** "Cross-attention needs a causal mask" (M25). **Answer:** The whole source is known before the first target token.
"""

# %% kind="quiz"
quiz("14", "masks")

# %% kind="picture" hide_input=true
key_picture.draw_block("decoder")

# %% [markdown] kind="instructor"
r"""
**Stuck?** Three questions: where do the queries come from, where do the keys and values come from, which mask? The causal mask has to be created here, and the memory isn't normalised again.

**They say:** "All blocks share the source's keys" (M18). **Answer:** `cross.w_key` is in the file three times.
"""

# %% [markdown] kind="text" exercise="decoder_block"
r"""
**Build the decoder block.** `parts` is what `parts_of(weights, "decoder.blocks.0")` returns. There are three steps, each of the form `x + layer(norm(x))`. Two helpers are given: `normed(x, name)` applies the norm of the layer with that name, and `attend(x, source, name, mask)` is multi-head attention with that layer's matrices. Queries are computed from `x`, keys and values from `source`.

1. **Self-attention**, `"attention"`. It is causal, so create a mask of shape (m, m): entry (i, j) is True where position i may attend to position j.
2. **Cross-attention**, `"cross"`. The queries come from the normalised `x`; the keys and values come from `memory`, which isn't normalised again. The mask is `mask`.
3. **Feed-forward network**, `"feed_forward"`: `feed_forward(x, w_in, b_in, w_out, b_out)` from lesson 13, with `parts["feed_forward.inner.weight"]` and so on.
"""

# %% kind="exercise" exercise="decoder_block" title="The decoder block" difficulty=3 importance=5 track="short"
from lessons.l14_the_transformer.solutions import decoder_block

# %% kind="check" exercise="decoder_block"
check("decoder_block", decoder_block)

# %% [markdown] kind="hints" exercise="decoder_block"
r"""
### Where to start
In self-attention, queries, keys and values all come from the same normalised tensor. Compute it once, and pass it to `attend` twice.

---
### Step by step
1. `queries = normed(x, "attention")`; add `attend(queries, queries, "attention", causal)` to `x`. The causal mask is that of lesson 10; `torch.ones(m, m, dtype=torch.bool, device=x.device).tril()` creates it with the right type and on the right device.
2. Add `attend(normed(x, "cross"), …, "cross", mask)`. What is its source?
3. Add `feed_forward(normed(x, "feed_forward"), …)`.

---
### The worked example is right, but other cases aren't
In the worked example, there is one token on each side, so masks don't matter. Check the causal mask, where keys and values come from, and which norm is used in which step.
"""

# %% kind="code"
decoder_block = yours("decoder_block")

# %% [markdown] kind="text" exercise="decode_logits"
r"""
The decoder's stack is given, because it is like the encoder's, with the memory as an input of every block. **Write the rest:** apply the last norm, `decoder.last_norm`, and then compute, at every position, a logit for each token of the vocabulary. The logit is the dot product of the normalised vector with the token's row of the embedding matrix, plus the token's entry of `words.output.bias`. Return the logits as they are, without a softmax.
"""

# %% kind="exercise" exercise="decode_logits" title="The logits" difficulty=1 importance=5 track="short"
def decode_logits(target, memory, weights, n_heads, n_layers, mask=None):
    """target (batch, m) token ids, memory (batch, n, d_model)

    ->  logits (batch, m, vocab) of the token after each
    """
    table = weights["words.output.weight"]
    x = embed(target, table)
    for i in range(n_layers):
        parts = parts_of(weights, f"decoder.blocks.{i}")
        x = decoder_block(x, memory, parts, n_heads, mask)
    # solution
    last = parts_of(weights, "decoder.last_norm")
    x = layer_norm(x, last["weight"], last["bias"])
    return x @ table.T + weights["words.output.bias"]
    # end solution

# %% kind="check" exercise="decode_logits"
check("decode_logits", decode_logits)

# %% [markdown] kind="hints" exercise="decode_logits"
r"""
### Where to start
`x` has the shape (batch, m, d_model) and the embedding matrix (vocab, d_model). Which product has the shape (batch, m, vocab)?

---
### Step by step
Apply `layer_norm` with `decoder.last_norm.weight` and `decoder.last_norm.bias`. Then multiply by the transposed embedding matrix and add the bias.
"""

# %% [markdown] kind="text" track="short"
r"""
## 5 · Your Transformer translates

All the parts are there. `greedy_decode` from lesson 04 generates a sentence with any model that has the methods `encode`, `start` and `step`. The next cell gives your Transformer these methods. `greedy_decode` knows lengths but no masks, so this `encode` computes the mask itself and returns it with the memory.
In section 8, the mask is an argument instead. <!-- core -->
The decoder keeps no state except the tokens so far, and it processes all of them again for each new token. Lesson 16 avoids that.
"""

# %% kind="code"
encode_source, decode_logits = yours("encode_source"), yours("decode_logits")
greedy_decode = yours("greedy_decode")


class MyTransformer:
    """What greedy_decode needs, computed by your functions."""

    def encode(self, source, lengths):
        mask = (source != 0)[:, None, None]  # (1, 1, 1, n): False at padding
        return encode_source(source, weights, 4, 3, mask), mask

    def start(self, encoded):
        return torch.zeros(1, 0, dtype=torch.long)  # no tokens yet

    def step(self, encoded, target, tokens):
        target = torch.cat([target, tokens[:, None]], dim=1)
        memory, mask = encoded
        logits = decode_logits(target, memory, weights, 4, 3, mask)
        return logits[:, -1], target, None

# %% kind="code" hide_input=true
numbers_of = shipped.tokenizer.encode


def translate(english):
    plain = clean_text(english, shipped.tokenizer)  # lower case, no full stop
    if unknown := shipped.tokenizer.unknown(plain):
        print("The model doesn't know:", *unknown)
    with torch.no_grad():
        french_ids = greedy_decode(MyTransformer(), numbers_of(plain), 40)
    return shipped.tokenizer.decode(french_ids)

# %% kind="code" name="names" hide_input=true
NAMES = """greedy_decode masked_attention sinusoids split_heads join_heads many_heads
layer_norm feed_forward encoder_block
embed encode_source decoder_block decode_logits"""

# %% [markdown] kind="text"
r"""
**Now type a sentence of your own** into `MY_SENTENCE`, with at most twenty words. The model knows about {result:lesson_14/English words, to the nearest ten:.0f} English words: people, animals, food, things in the house and garden, and common verbs and adjectives. If it doesn't know a word, the cell says so.
"""

# %% [markdown] kind="instructor"
r"""
**Together (5 min).** Wait until everyone is here, then let everyone run the cell at the same time, each with a sentence of their own. Learners who haven't solved an exercise use the library's function, and their Transformer works too.
"""

# %% kind="see" name="speaks"
MY_SENTENCE = "The young queen sees three old horses near the bridge."

french, at_work = count_own_calls(lambda: translate(MY_SENTENCE))
plain = clean_text(MY_SENTENCE, shipped.tokenizer)
display(views.translations(
    plain, {"your Transformer": french}, reference=translations_of(plain)
))
functions = NAMES.split()
own = [name for name in functions if name in at_work]
print(f"{len(own)} of the {len(functions)} functions are yours, and were called:", *own)

# %% [markdown] kind="text"
r"""
**If all of them are yours, your own code has translated this sentence**, from the token ids to the French words. You have built a Transformer.

Now look inside while it works. Type a sentence, and click a box, or walk through all of them with the play button: you see the vectors that leave it, and the weights of each head with their words. Choose *your functions*, and every part that you wrote has a ✓; a dashed part is the library's. *Your file* and the networks A to F are for sections 7 and 8. Whichever you choose, the target is the library's translation, so that all of them can be compared. <!-- core -->
"""

# %% kind="predict" name="x-ray"
predict("14", "largest-numbers", XRay())

# %% [markdown] kind="text" track="short"
r"""
## 6 · Stage by stage

Suppose the output had been nonsense. Where would you look? Many mistakes in a network raise no error, because all shapes fit. So don't look only at the output: **compare every stage** with that of a correct network, here the library's, and find the first one that differs. The numbers don't have to be identical, because rounding depends on the order of operations. We allow a difference of 0.001.
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min).** "Your Transformer outputs nonsense, without an error. What do you do first?" Expected: compare intermediate results with those of a correct network, from the front. Looking at the output alone doesn't tell you where to search.
"""

# %% [markdown] kind="text" exercise="first_difference"
r"""
**Write `first_difference`.** `mine` and `theirs` are dictionaries from the names of the stages to tensors, in the order of computation. Return the name of the first stage at which at least one number differs by more than `tolerance`, or `"nowhere"`. A NaN always counts as a difference, even if both networks have it.
"""

# %% kind="exercise" exercise="first_difference" title="The first difference" difficulty=2 importance=4 track="short"
from lessons.l14_the_transformer.solutions import first_difference

# %% kind="check" exercise="first_difference"
check("first_difference", first_difference)

# %% [markdown] kind="hints" exercise="first_difference"
r"""
### Where to start
Go through the stages in order, and compute the largest absolute difference at each. What does Python return for `float("nan") > 0.1`?

---
### Step by step
`gap = (mine[stage] - theirs[stage]).abs().max()`. Every comparison with `nan` is False, so return the name if **not** `gap <= tolerance`. After the loop, return `"nowhere"`.
"""

# %% kind="code" name="stages" hide_input=true
first_difference = yours("first_difference")
thirsty = "the cat drank the water because it was thirsty"
texts = {
    thirsty: "le chat a bu l' eau parce qu' il avait soif",
    "the cat sleeps": "le chat dort",
}
batch = make_batch([*map(numbers_of, texts)], [*map(numbers_of, texts.values())])
mask = (batch.src != 0)[:, None, None]  # (batch, 1, 1, n): the padding of the source
sizes = {"n_heads": 4, "n_layers": 3, "mask": mask}
theirs = by_parts.stages(batch.src, batch.tgt_in, weights, **sizes)

x = embed(batch.src, table)
mine = {"source embeddings": x}
for i in range(3):
    x = encoder_block(x, parts_of(weights, f"encoder.blocks.{i}"), 4, mask)
    mine[f"encoder {i}"] = x
memory = mine["memory"] = encode_source(batch.src, weights, 4, 3, mask)
x = mine["target embeddings"] = embed(batch.tgt_in, table)
for i in range(3):
    parts = parts_of(weights, f"decoder.blocks.{i}")
    x = mine[f"decoder {i}"] = decoder_block(x, memory, parts, 4, mask)
last = parts_of(weights, "decoder.last_norm")
mine["last norm"] = layer_norm(x, last["weight"], last["bias"])
mine["logits"] = decode_logits(batch.tgt_in, memory, weights, 4, 3, mask)

# %% kind="code" name="compared"
for stage, numbers in mine.items():
    shape, root = str(tuple(numbers.shape)), fixed(size(numbers), 1)
    at = first_difference({stage: numbers}, {stage: theirs[stage]}, 1e-3)
    result = "same" if at == "nowhere" else "DIFFERENT"
    print(f"{stage:<19}{shape:<14}{root:>5}  {result}")
print("first difference:", first_difference(mine, theirs, 1e-3))

# %% [markdown] kind="text"
r"""
These are the stages of your Transformer for two sentences in one batch. The third column is the root mean square. It grows from block to block, and the last norm of each stack brings it back to about 1.
"""

# %% [markdown] kind="text" track="core" contents="six assembled Transformers, each with one silent mistake, and a quiz"
r"""
## 7 · Six Transformers with one mistake each

Six people have assembled this Transformer, each with one mistake, and loaded the same weights. None of them raises an error. The next cell uses `first_difference` to find the first wrong stage. Then each network translates *the cat drank the water because it was thirsty* alone, and 40 test sentences of different lengths in one batch.

> **Before you run it:** what kind of mistake wouldn't you notice in the translations at all?
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min)** before the cell runs: the question above. Expected: mistakes that change the numbers only a little, or only in a batch.

**They say:** "It translates, so it is right." **Answer:** So do networks D and F, which have a mistake.
"""

# %% kind="break" name="faults" hide_input=true
test_pairs = splits(seed=0, sizes={"test": 40}).test
ids = [(numbers_of(pair.src_text), numbers_of(pair.tgt_text)) for pair in test_pairs]
exam = make_batch(*zip(*ids, strict=True))


def translations(source, wiring):
    mask = (source != 0)[:, None, None]
    tokens = by_parts.translate(source, weights, n_heads=4, n_layers=3, max_len=30,
                                mask=mask, wiring=wiring)
    return [shipped.tokenizer.decode(row).strip() for row in tokens.tolist()]


results, rows = {}, {}
for name, wiring in {"correct": by_parts.RIGHT, **by_parts.FAULTY}.items():
    states = by_parts.stages(batch.src, batch.tgt_in, weights, **sizes, wiring=wiring)
    where = stage = first_difference(states, theirs, 1e-3)
    if stage != "nowhere":
        gap = (states[stage] - theirs[stage]).abs().max()
        where = f"first difference at {stage!r}, up to {significant(gap, 1)}"
    answers = translations(exam.src, wiring)
    right = sum(a == p.tgt_text for a, p in zip(answers, test_pairs, strict=True))
    results[name] = stage, right
    print(f"{name}: {where}; {right} of 40 translations correct")
    rows[name] = translations(batch.src[:1], wiring)[0]
views.translations(thirsty, rows, reference=translations_of(thirsty))

# %% [markdown] kind="instructor"
r"""
**Vote** on network A. Ask what a sentence alone doesn't contain: padding.
"""

# %% kind="quiz"
quiz("14", "diagnosis")

# %% [markdown] kind="text"
r"""
The other mistakes: B leaves out both last norms, C doesn't scale the embeddings, E starts the target with EOS instead of BOS, and the norms of F have an ε of 0.001 instead of 0.00001, which changes encoder 0 by at most {result:lesson_14/gap of F:.1g}. D and F translate as well as the correct network, so only the stages reveal their mistakes. Open all six with the X-ray of section 5: it marks the first wrong box. A, which doesn't hide the padding, is correct as long as it translates a sentence alone.
"""

# %% [markdown] kind="instructor"
r"""
**Section 8 takes an hour or more.** It can be a session of its own, or homework. Insist on a check after every class. If someone is stuck, ask which stage the verdict names and what is computed between that stage and the one before.
"""

# %% [markdown] kind="text" track="core" contents="the exercise that this course leads up to: a Transformer from an empty file"
r"""
## 8 · From an empty file

So far, the lesson gave you the signatures, and the weights came from a file. **Now write the whole Transformer yourself, in a file of its own, as torch modules** that create and initialise their own weights. Lesson 15 trains exactly this file.
"""

# %% kind="code"
print(start_own_file())

# %% [markdown] kind="text" exercise="my_transformer"
r"""
Open [my_transformer.py](../notebooks/my_transformer.py) and drag its tab to the right half of the window, so that you see the file beside this notebook. The file needs only `math`, `torch` and `torch.nn`, and it has to define this class:

| | |
|---|---|
| `Transformer(vocab_size, d_model=64, n_heads=4, d_ff=256, n_layers=3, dropout=0.1)` | a subclass of `nn.Module` |
| `encode(source, mask)` | token ids (batch, src), mask (batch, 1, 1, src) → memory |
| `decode(target, memory, mask)` | token ids (batch, tgt), memory, the same mask → logits (batch, tgt, vocab) |
| `forward(source, target)` | token ids → logits; token 0 is padding |

- **Names and shapes** of the parameters are those of section 1, so that the trained weights fit. Run `show(weights)` to see all of them (if you come from the short notebook, run the cells of section 1 first).
- **Modules:** `MultiHead`, `FeedForward`, `Residual` and `EncoderBlock` are those of lesson 13. Write them again from memory, or copy yours; in `MultiHead`, write out the attention, because the file can't call `many_heads`. The decoder block, the two stacks, the embeddings and the whole model are new; the names of their classes are up to you.
- **Dropout** is applied to the sum of embeddings and positions, and to the output of each layer in a block, before it is added.
- **Initialisation:** Xavier for the matrices in the blocks, as in lesson 13; the embedding matrix from a normal distribution with standard deviation $1/\sqrt{d_{\text{model}}}$; all biases 0.
- **Any input:** other sizes, sentences of up to 100 tokens, and any device. If you create a tensor in `forward`, use the device of the tokens, as in `torch.arange(n, device=source.device)`.

Save the file and run the check **after every class**. It runs the file again each time and tells you what is right so far. The classes of lesson 13 are checked one by one, and your own classes together, once there is a `Transformer`.
"""

# %% kind="exercise" exercise="my_transformer" mode="file" lines=48 title="A Transformer from an empty file" difficulty=5 importance=5 track="core"
own_path = own_file_path()
# solution
from lessons.l14_the_transformer import reference_text

start_own_file(reference_text())
# end solution

# %% kind="check" exercise="my_transformer"
check("my_transformer", own_path)

# %% [markdown] kind="hints" exercise="my_transformer"
r"""
### A skeleton
Run `from lessons.l14_the_transformer import SKELETON` and `start_own_file(SKELETON)` in a new cell. This writes all classes and methods into the file, without their bodies, unless you have already written something yourself.

---
### Embeddings: which attributes?
The names `words.output.weight` and `words.output.bias` come from `self.words`, a module with `self.output = nn.Linear(d_model, vocab_size)`. There is no `nn.Embedding`: the rows for the tokens are `self.output.weight[tokens]`. Most code writes `nn.Embedding` and ties it with `self.output.weight = self.embedding.weight`, and uses `nn.Linear(d_model, d_model, bias=False)` for $W_Q$. We use other names so that the trained weights fit.

---
### Embeddings: the positions
For positions 0 to n − 1 and the even numbers 0, 2, 4, … below d_model, the angle is position / 10000^(even / d_model). Compute all angles at once, (n, d_model / 2), by broadcasting a column and a row. `torch.stack([sin, cos], dim=-1).flatten(-2)` makes them alternate.

---
### MultiHead: from matrices to heads
`x @ self.w_query.T` has the shape (batch, n, d_model). Split the last axis into (n_heads, d_k) and swap the axes of positions and heads. Do the same with `source` for keys and values. Then use the formula from lesson 08, with the mask from lesson 10.

---
### MultiHead: back to one vector for each token
The context has the shape (batch, heads, n, d_k). Swap the axes back, flatten the last two, and multiply by `self.w_output.T`.

---
### DecoderBlock
It is an `EncoderBlock` with `cross` and `around_cross` in the middle. The `lambda` for cross-attention gets the normalised `x` and uses `memory` from outside. The causal mask is `torch.ones(m, m, dtype=torch.bool, device=x.device).tril()`.

---
### Encoder and decoder
`self.blocks = nn.ModuleList(EncoderBlock(…) for _ in range(n_layers))` and `self.last_norm = nn.LayerNorm(d_model)`. The decoder is the same with decoder blocks, and passes `memory` to each of them.

---
### The whole model
`encode` is the embeddings, dropout and the encoder. `decode` is the same with the decoder, followed by `self.words.output`. `forward` computes the mask, `(source != 0)[:, None, None]`, and calls both.

---
### A complete solution
[reference_transformer.py](../lessons/l14_the_transformer/reference_transformer.py) is the course's own version, with the classes of the skeleton. It's most useful when yours has passed: compare the two, class by class.
"""

# %% [markdown] kind="text" track="core" contents="torch's own Transformer, the parameters of the paper's model, and attention weights of three heads"
r"""
## 9 · In torch and in the paper

`nn.Transformer` is torch's reference implementation. It keeps the three matrices for queries, keys and values in one tensor and calls the norms `norm1`, `norm2` and `norm3`. Its attention has biases, which we set to 0. In training mode, it also applies dropout to the attention weights and inside the feed-forward network; our model doesn't, and neither does the paper's text, so the two agree only without dropout. It contains no embeddings and no output layer. `by_parts.to_torch` copies the weights into it, name by name. Remember that True means *hidden* in its masks.
"""

# %% kind="library"
reference = by_parts.to_torch(weights, n_heads=4, n_layers=3)
source, target = embed(batch.src, table), embed(batch.tgt_in, table)
m = target.shape[1]
later = ~torch.ones(m, m, dtype=torch.bool, device=target.device).tril()
padding = ~mask[:, 0, 0]
with torch.no_grad():
    states = reference(
        source, target, tgt_mask=later,
        src_key_padding_mask=padding, memory_key_padding_mask=padding,
    )
logits = states @ table.T + weights["words.output.bias"]
assert torch.allclose(logits, mine["logits"], atol=1e-3)
print("your Transformer and torch's: the same logits", tuple(logits.shape))

# %% kind="estimate" track="stretch"
d_model, d_ff, vocab = 512, 2048, 37_000
attention = 4 * d_model**2  # no biases, as in the paper's formulas
ffn = 2 * d_model * d_ff + d_ff + d_model
norm = 2 * d_model
base = {
    "attention": 6 * (1 + 2) * attention,
    "feed-forward networks": 6 * 2 * ffn,
    "norms": 6 * (2 + 3) * norm,
    "embedding matrix": vocab * d_model,
}
estimate("14", "full-base-count", lambda: sum(base.values()))

# %% kind="see" name="count" track="stretch"
for part, n in base.items():
    print(f"{part:<22}{n:>12,}")
print(f"{'all':<22}{sum(base.values()):>12,}")

# %% [markdown] kind="text" track="core"
r"""
In the paper's base model, the feed-forward networks have the most parameters: {result:lesson_14/parameters/feed-forward:.1f} of {result:lesson_14/parameters/all:.0f} million. Attention and the embedding matrix have {result:lesson_14/parameters/attention:.1f} million each.
"""

# %% [markdown] kind="text" track="stretch"
r"""
**Weight tying** saves two embedding matrices: with three of them, the model would have {result:lesson_14/parameters/all, three matrices:.0f} million parameters, and more than half of them would be embeddings. The paper reports 65 million, without details. The biases of torch's attention would add {result:lesson_14/parameters/attention biases of torch, exactly:,.0f}.

Finally, here is one head for each use of attention in the trained model. Encoder 0.3 is the head of lesson 09 in which *cold* attends to its noun; decoder 2.1 and cross 1.3 are the two heads of lesson 12 that change the pronoun when their output is replaced. In cross 1.3, each row is labelled with the token that is predicted there.
"""

# %% kind="see" name="maps" hide_input=true track="stretch"
with torch.no_grad():
    found = shipped.model.attention_weights(batch.src, batch.src_lengths, batch.tgt_in)
english, french_words = (text.split() for text in next(iter(texts.items())))
labels = {
    "encoder 0.3": ([*english, "EOS"], [*english, "EOS"]),
    "decoder 2.1": (["BOS", *french_words], ["BOS", *french_words]),
    "cross 1.3": ([*french_words, "EOS"], [*english, "EOS"]),
}
for name, (rows, columns) in labels.items():
    use, block, head = name.replace(".", " ").split()
    display(views.heatmap(
        found[use][0, int(block), int(head)], rows=rows, columns=columns, numbers=False,
        title=name, alt=f"Attention weights of {name}, one row per query",
    ))

# %% [markdown] kind="text" track="stretch"
r"""
At the step that predicts *il*, cross 1.3 gives {result:lesson_14/attention/il to thirsty:.0%} of its attention to *thirsty*. In decoder 2.1, all attention weights above the diagonal are 0, because of the causal mask. The other two maps have no such triangle.
"""

# %% [markdown] kind="text" track="core"
r"""
You have come from a recurrent network with a single context vector to the Transformer, and you can now read the papers and the documentation of PyTorch. [From this course to the papers and PyTorch](../docs/papers_and_pytorch.md) lists what they call the things you have built, and where their conventions differ from ours. Keep it open when you read *Attention Is All You Need*.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on "Six decoder blocks attend to the same source sentence. What do they share?"
"""

# %% kind="quiz"
quiz("14", "closing")

# %% [markdown] kind="instructor"
r"""
**Wrap up (3 min).** Let the group name the lesson that each box of the figure in section 5 comes from. Then ask again: file or code?
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | meaning | shape |
|---|---|---|
| `embed` | √d_model · row + position | (batch, n, d_model) |
| `encode_source` | embeddings, blocks, last norm: the memory | (batch, n, d_model) |
| `decoder_block` | self-attention, cross-attention, feed-forward network | (batch, m, d_model) |
| `decode_logits` | embeddings, blocks, last norm, logits | (batch, m, vocab) |
| `first_difference` | the first stage at which two networks differ | a name |
| `my_transformer.py` | a Transformer as torch modules | | <!-- core -->

- All three uses of attention are the same function. They differ in where the queries, the keys and values, and the mask come from.
- One embedding matrix serves source, target and output.
- Trained weights are tensors with names; the code defines what they mean. Mistakes in the code are often silent, so compare stages, not translations.

**Still missing.** These weights came already trained. In [lesson 15](15_training_a_translator.ipynb), you train a Transformer yourself.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani et al., *Attention Is All You Need* (2017), sections 3.1 to 3.4 and table 3. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Press and Wolf, *Using the Output Embedding to Improve Language Models* (2017). [arXiv 1608.05859](https://arxiv.org/abs/1608.05859)
- Rush, Huang et al., *The Annotated Transformer* (2018, 2022), the paper line by line, in code. [nlp.seas.harvard.edu](https://nlp.seas.harvard.edu/annotated-transformer/)
"""
