# Lesson 14 · the source. Edit this file, then run `python3 -m course_lib build 14`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 14 · The full Transformer

**The question:** how do all the parts fit together in a Transformer?

About {minutes} minutes. You need the block from [lesson 13](13_the_block.ipynb), heads from [lesson 12](12_many_heads.ipynb), positions from [lesson 11](11_positions.ipynb), masks from [lesson 10](10_masks.ipynb), and greedy decoding from [lesson 04](04_encoder_decoder.ipynb). Today nothing new is invented. Everything is put together, and at the end **your own code translates**.
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **build** encoder, decoder and output from your own parts, and **load** trained weights into them by name;
2. **tell** the three uses of attention apart: who asks, who answers, what is hidden;
3. **find** the first stage at which two networks part, and **diagnose** the mistake behind it;
4. **account** for every parameter of the paper's models, and say what a shared word table saves; <!-- core -->
5. **show** that your Transformer and torch's are the same function.
"""

# %% kind="setup" name="setup"
import textwrap

import torch

from course_lib import views
from course_lib.formatting import fixed, significant
from course_lib.teaching import check, estimate, explain, predict, quiz, start_lesson
from course_lib.teaching import count_own_calls, yours
from course_lib.text import make_batch, splits
from course_lib.translation import load_shipped, clean_text
from lessons.l14_the_transformer import ParameterLedger, ThreeUses, by_parts

start_lesson("the_transformer", seed=14)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("14", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · A box of numbers

Somebody has trained a translator and sends you a file. There is no code in it, only numbers with names. Let us open it.
"""

# %% kind="code" name="file"
shipped = load_shipped("transformer")
weights = {name: w.detach() for name, w in shipped.model.state_dict().items()}

others = tuple(f"{side}coder.blocks.{i}" for side in ("en", "de") for i in (1, 2))
for name, numbers in weights.items():
    if not name.startswith(others):
        print(f"{name:<52}{tuple(numbers.shape)}")
total = sum(numbers.numel() for numbers in weights.values())
print(f"… and four more blocks: {len(weights)} tensors, {total:,} numbers")

# %% kind="diagram" name="plan" hide_input=true
PARTS = {
    "source": (0, 0), "words in": (1, 0), "encoder × 3": (2, 0), "last norm": (3, 0),
    "memory": (4, 0), "so far": (3, 1), "words in ": (4, 1), "decoder × 3": (5, 0.5),
    "last norm ": (6, 0.5), "logits": (7, 0.5),
}
ARROWS = [("source", "words in"), ("words in", "encoder × 3")]
ARROWS += [("encoder × 3", "last norm"), ("last norm", "memory")]
ARROWS += [("memory", "decoder × 3")]
ARROWS += [("so far", "words in "), ("words in ", "decoder × 3")]
ARROWS += [("decoder × 3", "last norm "), ("last norm ", "logits")]
PARTS_OF_STAGE = {"source words": ["words in"], "encoder 2": ["encoder × 3"]}
PARTS_OF_STAGE |= {"memory": ["last norm", "memory"], "target words": ["words in "]}
PARTS_OF_STAGE |= {"decoder 2": ["decoder × 3"], "last norm": ["last norm "]}
PARTS_OF_STAGE |= {"logits": ["logits"]}
views.diagram(PARTS, ARROWS, title="The plan: all parts are still dark")

# %% [markdown] kind="text"
r"""
These {printed:file/tensors} numbers can translate. What is missing is the *code* that knows what to do with them, and that is what you have been writing since lesson 08. Above is the plan.

The **Transformer** (Vaswani and others, 2017) reads the source once, in a stack of encoder blocks. What comes out is the {term:encoder memory|memory}: one vector for each source word. A second stack, the decoder, reads the target so far, looks at the memory in every block, and scores the next word.

Our file is not the paper's model in all things. Whoever loads weights must know such differences; the numbers do not tell. (*Weights* are the learned numbers here, as in lesson 01. The weights of attention are computed anew for every sentence, and are in no file.)

| | the paper's base model | our file |
|---|---|---|
| width, heads, inner width | 512, 8, 2048 | 64, 4, 256 |
| blocks on each side | 6 | 3 |
| norm | after each addition | before each layer, and a last one after each stack |
| output | shared word table | shared word table, and a bias for each word |
| positions | sinusoids, added | the same |
| attention | it speaks of no biases; torch has them | no biases |
| ε of the norm | not said | 0.00001 |
"""

# %% [markdown] kind="text" exercise="parts_of"
r"""
First, order in the box. Your `encoder_block` wants a table like `{"attention.w_query": …}`, but the file says `encoder.blocks.0.attention.w_query`. **Write `parts_of`.** It returns a dictionary of all tensors whose name begins with the prefix and a dot, each under the rest of its name; if there are none, the dictionary is empty. `parts_of(weights, "encoder.blocks.0")` is then what the block expects.
"""

# %% kind="exercise" exercise="parts_of" title="The weights of one part" difficulty=1 importance=3 track="core"
def parts_of(weights, prefix):
    """{long name: tensor}, "encoder.blocks.0"  ->  {short name: tensor}"""
    # solution
    start = prefix + "."
    return {
        name[len(start) :]: numbers
        for name, numbers in weights.items()
        if name.startswith(start)
    }
    # end solution

# %% kind="check" exercise="parts_of"
check("parts_of", parts_of)

# %% [markdown] kind="hints" exercise="parts_of"
r"""
### A nudge
`name.startswith(…)` and a slice of the name. Think of a model with twelve blocks: what else begins with `encoder.blocks.1`?

---
### Step by step
Let `start = prefix + "."`. Keep the names that begin with `start`, and cut its length off each.
"""

# %% [markdown] kind="text" track="short"
r"""
## 2 · Words come in

A word is a number, its row in the table `words.output.weight`. In this model **one** table serves three times: it makes vectors of source words, vectors of target words, and at the end it scores the next word (a dot product with every row). Such {term:tied embeddings} are in the paper, too; Press and Wolf proposed them in 2017.

The rows are multiplied by $\sqrt{d_{\text{model}}}$ on their way in. The paper does not say why; one reading is that the two jobs want different sizes. A scorer's rows must be small at the start, or the sum of 64 products is large and the softmax all but certain before anything is learned. As an input, a word should not be drowned by its position, whose numbers lie between −1 and 1:

$$ x_i = \sqrt{d_{\text{model}}}\; E[w_i] + p_i $$

**By hand.** Width 4, so the root is 2. The row (1, 2, 3, 4) at position 0, which is (0, 1, 0, 1): 2 · (1, 2, 3, 4) + (0, 1, 0, 1) = (2, 5, 6, 9).
"""

# %% kind="see" name="size"
def size(numbers):
    """The root of the mean square."""
    return numbers.square().mean().sqrt()


table = weights["words.output.weight"]
sinusoids = yours("sinusoids")
print("a row of the table: ", fixed(size(table), 2))
print("times the root of 64:", fixed(size(table) * 8, 2))
print("a position:          ", fixed(size(sinusoids(20, 64)), 2))

# %% [markdown] kind="text" exercise="embed"
r"""
In the trained table the numbers of a row are about a fifth as large as those of a position; times 8, the word leads. A first version of `embed` is there already, but it's wrong. Fix it, so that it works for sentences of any length.
"""

# %% kind="exercise" exercise="embed" mode="bug" title="Words in" difficulty=2 importance=5 track="short"
def embed(tokens, table):
    """tokens (batch, n), table (vocab, d_model)  ->  (batch, n, d_model)"""
    # bug
    n, d_model = tokens.shape[1], table.shape[1]
    return (table[tokens] + sinusoids(n, d_model)) * d_model**0.5
    # end bug
    # solution
    n, d_model = tokens.shape[1], table.shape[1]
    return table[tokens] * d_model**0.5 + sinusoids(n, d_model)
    # end solution

# %% kind="check" exercise="embed"
check("embed", embed)

# %% [markdown] kind="hints" exercise="embed"
r"""
### A nudge
Follow the example by hand through the code: row (1, 2, 3, 4), position (0, 1, 0, 1). What is added when, and what is multiplied?

---
### Step by step
The brackets: only the word is multiplied by the root. The position is added afterwards, as it is.
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · The encoder

From here on the lesson takes **your** parts where they passed their checks, else the library's, and says which.
"""

# %% kind="code" name="parts"
parts_of, embed = yours("parts_of"), yours("embed")
encoder_block, layer_norm = yours("encoder_block"), yours("layer_norm")
many_heads, feed_forward = yours("many_heads"), yours("feed_forward")

# %% [markdown] kind="text" exercise="encode_source"
r"""
**Build the encoder.** First the words are embedded with the table `words.output.weight`. Then come the first `n_layers` blocks, `encoder.blocks.0`, `encoder.blocks.1` and so on, each with its own weights, and finally the last norm, `encoder.last_norm.weight` and `.bias`.

`parts_of(weights, "encoder.blocks.0")` returns the weights of block 0, under the names that the block expects. Yours from lesson 13: `encoder_block(x, parts, n_heads, mask)` and `layer_norm(x, weight=…, bias=…)`. `mask` hides the padding of the source in every block. Return the memory only.
"""

# %% kind="exercise" exercise="encode_source" title="The encoder" difficulty=3 importance=5 track="short"
def encode_source(source, weights, n_heads, n_layers, mask=None):
    """source (batch, n) numbers of words, mask (batch, 1, 1, n) or None

    ->  memory (batch, n, d_model)
    """
    # solution
    x = embed(source, weights["words.output.weight"])
    for layer in range(n_layers):
        block = parts_of(weights, f"encoder.blocks.{layer}")
        x = encoder_block(x, block, n_heads, mask)
    last = parts_of(weights, "encoder.last_norm")
    return layer_norm(x, weight=last["weight"], bias=last["bias"])
    # end solution

# %% kind="check" exercise="encode_source"
check("encode_source", encode_source)

# %% [markdown] kind="hints" exercise="encode_source"
r"""
### A nudge
Three steps: `embed`, a loop over the layers, one norm. The name of a layer's part is `f"encoder.blocks.{layer}"`.

---
### Step by step
In the loop: `x = encoder_block(x, parts_of(weights, …), n_heads, mask)`. After the loop, once: `layer_norm(x, weight=weights["encoder.last_norm.weight"], bias=…)`.
"""

# %% [markdown] kind="text"
r"""
Why a *last* norm? With pre-norm the path itself is never normalised (lesson 13), so the sum that leaves the stack has grown (section 5 prints by how much). Whoever reads it next expects words of ordinary size.
"""

# %% [markdown] kind="text" track="short"
r"""
## 4 · The decoder looks three ways

Three uses of attention, and they differ in nothing but who asks, who answers, and what is hidden:

| use | asks | answers | hidden |
|---|---|---|---|
| encoder | source words | source words | padding |
| decoder | target words | target words | what comes later, and with it the padding at the end |
| across: **cross-attention** | target words | the memory | padding of the source |

The first lets a word find out what it means here; in lesson 09, *cold* became the coldness of water. The second keeps track of what has been said. The third is what Bahdanau had (lesson 06), now in every block, and the only way by which the target hears of the source.
"""

# %% kind="diagram" hide_input=true
INSIDE = {
    "x": (0, 0), "its own past": (1, 0), "across": (2, 0), "feed-forward": (3, 0),
    "new x": (4, 0), "memory": (2, 1),
}
FLOW = [("x", "its own past"), ("its own past", "across"), ("across", "feed-forward")]
FLOW += [("feed-forward", "new x"), ("memory", "across")]
NOTES = {"its own past": "x + …", "across": "x + …", "feed-forward": "x + …"}
views.diagram(INSIDE, FLOW, lit="across", notes=NOTES, title="One block of the decoder")

# %% kind="explain" track="core" contents="an explanation in your own words"
explain("14", "full-two-masks-more")

# %% [markdown] kind="text" exercise="decoder_block"
r"""
**Build the decoder's block.** `parts` is what `parts_of(weights, "decoder.blocks.0")` gives. Three steps, each `x + layer(norm(x))`; the norms are there already, as `normed(x, "attention")` and so on:

1. **its own past:** `attention.w_query` and so on. Causal: make the mask yourself, (m, m), True where word i may attend to word j, that is where j ≤ i.
2. **across:** `cross.w_query` and so on. The queries come from the normalised words; keys and values come from `memory` as it is, without another norm. The mask is `mask`.
3. **feed-forward:** as in lesson 13, with `feed_forward.inner.weight` and so on.

`many_heads(x, source, w_q, w_k, w_v, w_o, n_heads, mask)` returns two things and wants its matrices as `.T`; `feed_forward(x, w_in=…, b_in=…, w_out=…, b_out=…)` wants them as they are.
"""

# %% kind="exercise" exercise="decoder_block" title="The decoder's block" difficulty=4 importance=5 track="short"
def decoder_block(x, memory, parts, n_heads, mask=None):
    """x (batch, m, d_model), memory (batch, n, d_model)

    mask (batch, 1, 1, n) or None: which words of the memory  ->  like x
    """
    def normed(x, name):
        w, b = (parts[f"around_{name}.norm.{kind}"] for kind in ("weight", "bias"))
        return layer_norm(x, weight=w, bias=b)

    # solution
    def attend(x, source, name, mask):
        kinds = ("query", "key", "value", "output")
        matrices = [parts[f"{name}.w_{kind}"].T for kind in kinds]
        return many_heads(x, source, *matrices, n_heads, mask)[0]

    m = x.shape[1]
    causal = torch.ones(m, m).tril() == 1
    queries = normed(x, "attention")
    x = x + attend(queries, queries, "attention", causal)
    x = x + attend(normed(x, "cross"), memory, "cross", mask)
    inner, outer = (f"feed_forward.{name}" for name in ("inner", "outer"))
    return x + feed_forward(
        normed(x, "feed_forward"), w_in=parts[f"{inner}.weight"],
        b_in=parts[f"{inner}.bias"], w_out=parts[f"{outer}.weight"],
        b_out=parts[f"{outer}.bias"],
    )
    # end solution

# %% kind="check" exercise="decoder_block"
check("decoder_block", decoder_block)

# %% [markdown] kind="hints" exercise="decoder_block"
r"""
### A nudge
A little function inside helps: one that looks from `x` at a source, with the matrices of a given name and a mask. Only the keys and values of the second look come from elsewhere.

---
### Step by step
1. `queries = normed(x, "attention")`; `x = x + many_heads(queries, queries, …, n_heads, causal)[0]` with `causal = torch.ones(m, m).tril() == 1`.
2. `x = x + many_heads(normed(x, "cross"), memory, …, n_heads, mask)[0]`, with the matrices of `cross`.
3. `x = x + feed_forward(normed(x, "feed_forward"), …)`.

---
### "Differs from the reference solution"
The example has one word on each side, so masks and order do nothing there. Look at the causal mask, at `.T`, at where keys and values come from, and at which norm stands where.
"""

# %% [markdown] kind="text" exercise="test_decoder" track="stretch"
r"""
A decoder that peeks trains wonderfully and fails in use (lesson 10). **Write the test that would catch it,** and a decoder that cannot see the source. You get somebody's `block(x, memory)`, its weights already inside; x is (batch, m, 8), memory (batch, n, 8). *Change one thing and see what moves:* a later word of the target must not touch an earlier output, and every word of the memory must touch the first one. Put new random numbers into a word; the same number added to all of them is gone after the norm (lesson 13).
"""

# %% kind="exercise" exercise="test_decoder" mode="test" title="Write the test" difficulty=3 importance=4 track="stretch"
def test_decoder(block):
    """Takes a function block(x, memory); raises if it looks where it must not."""
    # solution
    x, memory = torch.randn(1, 4, 8), torch.randn(1, 5, 8)
    before = block(x, memory)
    for position in range(1, 4):
        later = x.clone()
        later[:, position] = torch.randn(8)
        after = block(later, memory)
        assert torch.allclose(before[:, :position], after[:, :position], atol=1e-5)
    for position in range(5):
        changed = memory.clone()
        changed[:, position] = torch.randn(8)
        first = block(x, changed)[:, 0]
        assert not torch.allclose(before[:, 0], first, atol=1e-5)
    # end solution

# %% kind="check" exercise="test_decoder"
check("test_decoder", test_decoder)

# %% [markdown] kind="hints" exercise="test_decoder"
r"""
### A nudge
Call the block twice: once as it is, once with the last target word changed. Which outputs must be the same? Then change a word of the memory. Which output must *not* be the same?

---
### Step by step
`x.clone()`, put `torch.randn(8)` in one position, compare `[:, :position]` of both results with `torch.allclose(…, atol=1e-5)`. For the memory: `assert not torch.allclose(…)` for the output of the first word.
"""

# %% kind="code"
decoder_block = yours("decoder_block")

# %% [markdown] kind="text" exercise="decode_logits"
r"""
The decoder's stack is the encoder's over again, with the memory in every block, so it is there already. **Write the end:** first the last norm, `decoder.last_norm`; then, at every position, a score for each word of the vocabulary: the dot product with its row of the table, plus its entry of `words.output.bias`. Don't apply a softmax: logits are unnormalised scores.
"""

# %% kind="exercise" exercise="decode_logits" title="From words to logits" difficulty=2 importance=5 track="short"
def decode_logits(target, memory, weights, n_heads, n_layers, mask=None):
    """target (batch, m) numbers of words, memory (batch, n, d_model)

    ->  logits (batch, m, vocab): scores for the word after each
    """
    words = weights["words.output.weight"]
    x = embed(target, words)
    for layer in range(n_layers):
        parts = parts_of(weights, f"decoder.blocks.{layer}")
        x = decoder_block(x, memory, parts, n_heads, mask)
    # solution
    last = parts_of(weights, "decoder.last_norm")
    x = layer_norm(x, weight=last["weight"], bias=last["bias"])
    return x @ words.T + weights["words.output.bias"]
    # end solution

# %% kind="check" exercise="decode_logits"
check("decode_logits", decode_logits)

# %% [markdown] kind="hints" exercise="decode_logits"
r"""
### A nudge
`x` is (batch, m, d_model), the table (vocab, d_model). Which product gives (batch, m, vocab)?

---
### Step by step
`layer_norm` with `decoder.last_norm.weight` and `.bias`, then `x @ words.T + weights["words.output.bias"]`.
"""

# %% [markdown] kind="text" track="short"
r"""
## 5 · The lights go on

Now the trained numbers run through your functions. If the translation were nonsense, where would you begin? A network fails silently: every shape fits. So do not look at the end. **Compare stage by stage** with a network that is right (the library's, `by_parts.stages` below), and find the first stage that differs. Not to the last bit: sums taken in another order round differently, so let a thousandth pass.
"""

# %% [markdown] kind="text" exercise="first_difference"
r"""
**Write the finder.** `mine` and `theirs` are tables {name of a stage: tensor}, in the order of computation. Return the name of the first stage at which at least one number is off by more than `tolerance`, or the word `"nowhere"`. A `nan` always counts as a difference, even if both networks have it.
"""

# %% kind="exercise" exercise="first_difference" title="The first difference" difficulty=2 importance=4 track="short"
def first_difference(mine, theirs, tolerance):
    """{stage: tensor}, {stage: tensor}, a number  ->  name of a stage, or "nowhere" """
    # solution
    for stage in theirs:
        gap = (mine[stage] - theirs[stage]).abs().max()
        if not gap <= tolerance:
            return stage
    return "nowhere"
    # end solution

# %% kind="check" exercise="first_difference"
check("first_difference", first_difference)

# %% [markdown] kind="hints" exercise="first_difference"
r"""
### A nudge
Go through the stages in order; at each, the largest difference without its sign. What does Python say to `float("nan") > 0.1`?

---
### Step by step
`gap = (mine[stage] - theirs[stage]).abs().max()`; return the name if **not** `gap <= tolerance`. Every comparison with `nan` is False, so this way round it is caught. After the loop: `return "nowhere"`.
"""

# %% kind="code" name="batch"
thirsty = "the cat drank the water because it was thirsty"
cold = "the cat drank the water because it was cold"
french = {
    thirsty: "le chat a bu l' eau parce qu' il avait soif",
    cold: "le chat a bu l' eau parce qu' elle était froide",
    "the cat sleeps": "le chat dort",
}
encode_source, decode_logits = yours("encode_source"), yours("decode_logits")
first_difference = yours("first_difference")
numbers_of = shipped.tokenizer.encode
batch = make_batch([*map(numbers_of, french)], [*map(numbers_of, french.values())])
translator_masks = yours("translator_masks")
masks = translator_masks(
    batch.src_lengths, batch.tgt_lengths, batch.src.shape[1], batch.tgt_in.shape[1]
)
mask = masks[0][:, None]  # (batch, 1, 1, n): the padding of the source
print("source", tuple(batch.src.shape), "mask", tuple(mask.shape))

# %% kind="see" name="stages"
x = embed(batch.src, table)
mine = {"source words": x}
for i in range(3):
    x = encoder_block(x, parts_of(weights, f"encoder.blocks.{i}"), 4, mask)
    mine[f"encoder {i}"] = x
memory = mine["memory"] = encode_source(batch.src, weights, 4, 3, mask)
x = mine["target words"] = embed(batch.tgt_in, table)
for i in range(3):
    parts = parts_of(weights, f"decoder.blocks.{i}")
    x = mine[f"decoder {i}"] = decoder_block(x, memory, parts, 4, mask)
last = parts_of(weights, "decoder.last_norm")
mine["last norm"] = layer_norm(x, weight=last["weight"], bias=last["bias"])
mine["logits"] = decode_logits(batch.tgt_in, memory, weights, 4, 3, mask)

sizes = {"n_heads": 4, "n_layers": 3, "mask": mask}
theirs = by_parts.stages(batch.src, batch.tgt_in, weights, **sizes)
lit = ["source", "so far"]
for stage, numbers in mine.items():
    at = first_difference({stage: numbers}, {stage: theirs[stage]}, 1e-3)
    agrees = at == "nowhere"
    shape, mean_size = str(tuple(numbers.shape)), fixed(size(numbers), 1)
    print(f"{stage:<14}{shape:<15}{mean_size:>5}  {'on' if agrees else 'OFF'}")
    lit += PARTS_OF_STAGE.get(stage, []) if agrees else []
print("first difference:", first_difference(mine, theirs, 1e-3))
views.diagram(PARTS, ARROWS, lit=lit, title="Each part that agrees is lit")

# %% [markdown] kind="text"
r"""
Look at the sizes: without a norm, words grow from block to block, and each last norm brings them back to about 1.
"""

# %% [markdown] kind="text" contents="six assembled Transformers, each with one silent mistake, and a quiz"
r"""
## Break it

All lamps are lit; now see some go out. Six people assembled this Transformer, each with one mistake, and loaded the same weights. Nothing raises an error. Your finder finds the stage; then each translates *… because it was thirsty*, alone, and 40 test sentences of different lengths in one batch. The first line is a healthy one.

> **Before you run it:** what kind of mistake would nobody notice from the translations?
"""

# %% kind="break" name="faults"
test_pairs = splits(seed=0, sizes={"test": 40}).test
texts = [(numbers_of(pair.src_text), numbers_of(pair.tgt_text)) for pair in test_pairs]
exam = make_batch(*zip(*texts, strict=True))
exam_mask = (exam.src != 0)[:, None, None]


def translations(source, mask, wiring):
    words = by_parts.translate(source, weights, n_heads=4, n_layers=3, max_len=30,
                               mask=mask, wiring=wiring)
    return [shipped.tokenizer.decode(row).strip() for row in words.tolist()]


results = {}
for name, wiring in {"well": by_parts.RIGHT, **by_parts.FAULTY}.items():
    states = by_parts.stages(batch.src, batch.tgt_in, weights, **sizes, wiring=wiring)
    where = stage = first_difference(states, theirs, 1e-3)
    if stage != "nowhere":
        gap = (states[stage] - theirs[stage]).abs().max()
        where = f"first at {stage!r}, by {significant(gap, 1)}"
    answers = translations(exam.src, exam_mask, wiring)
    right = sum(a == p.tgt_text for a, p in zip(answers, test_pairs, strict=True))
    results[name] = stage, right
    print(f"{name}: {where}; right {right} of 40")
    print("  ", translations(batch.src[:1], mask[:1], wiring)[0])

# %% kind="quiz"
quiz("14", "diagnosis")

# %% [markdown] kind="text"
r"""
C and E are easy: C lets the words in without the root, E begins with EOS in place of BOS. But look at D and F again: they translate as well as the healthy one, and only the stages tell. That is why one compares stages, not sentences. And A, which reads padding, is right *alone*; it fails in company, as in the last quiz of lesson 13.
"""

# %% [markdown] kind="text" contents="where the parameters of the paper's base model are, and what tying saves"
r"""
## 6 · Where the parameters are

Ours has {printed:file/tensors}. The paper's base model: width 512, 8 heads, inner width 2048, six blocks on each side, and a shared table of about 37,000 words. Estimate before you count: how many?
"""

# %% kind="estimate"
def count(*modules):
    return sum(numbers.numel() for module in modules for numbers in module.parameters())


with torch.device("meta"):  # shapes alone: no memory is taken
    encoder_layer = torch.nn.TransformerEncoderLayer(512, 8, 2048)
    decoder_layer = torch.nn.TransformerDecoderLayer(512, 8, 2048)
    words = torch.nn.Embedding(37_000, 512)
    without_words = torch.nn.Transformer(batch_first=True)

blocks = 6 * (count(encoder_layer) + count(decoder_layer))
base = blocks + count(words)
estimate("14", "full-base-count", lambda: base)

# %% kind="predict"
predict("14", "full-largest-part", ParameterLedger())

# %% kind="see"
one_layer = encoder_layer.linear1, encoder_layer.linear2
print(f"one multi-head attention    {count(encoder_layer.self_attn):>12,}")
print(f"one feed-forward layer      {count(*one_layer):>12,}")
print(f"six blocks on each side     {blocks:>12,}")
print(f"and one table of words      {base:>12,}")
print(f"torch's nn.Transformer()    {count(without_words):>12,}")

# %% [markdown] kind="text"
r"""
Most are in the feed-forward layers, {result:lesson_14/parameters/feed-forward:.1f} million; all attention together and the one table of words have {result:lesson_14/parameters/attention:.1f} each. **What tying saves:** with three tables the base model would have {result:lesson_14/parameters/all, three tables:.0f} million, and more than half of all would be words. (The paper says 65 million, not what it counted.)

`nn.Transformer()` has two last norms more than the paper, {result:lesson_14/parameters/last norms of torch, exactly:,.0f} numbers, and **no words at all**: whoever uses it brings tables and output along.
"""

# %% [markdown] kind="text" contents="maps of all three uses of attention, and controls that take heads away"
r"""
## 7 · Three uses in one sentence

Back to the trained translator: below, each use of attention has a map, the mean of the last layer's heads. Rows ask, columns answer; across, a row is the word *about to be said*. One row of each: *it* asks mostly *water* and *was* ({result:lesson_14/weights/it to water:.2f} each). The decoder, having read *soif*, looks back at *parce* ({result:lesson_14/weights/soif to parce:.2f}). About to say *chat*, it looks across at *cat* alone ({result:lesson_14/weights/chat to cat:.2f}); about to say *il*, at *it* and *because* ({result:lesson_14/weights/il to it:.2f}, {result:lesson_14/weights/il to because:.2f}).

The controls take something away in every layer of all three: numbers from each head's queries and keys ($d_k$, 16 when trained; the rest is set to 0, and scores are still divided by √16), heads, and sight by a mask.

> **Before it opens:** in every layer one of the four heads is ablated: head 0 everywhere, or 1, 2 or 3. What becomes of the pair?
"""

# %% kind="predict"
predict("14", "full-one-head-less", ThreeUses())

# %% [markdown] kind="text"
r"""
Without head 0 or head 2 both sentences survive, and even without both. Without head 1 *cold* is wrong, without head 3 *both*. Two heads are enough here, if they are the right two. Lesson 12 found which heads matter: in cross 1.3 and encoder 0.3 it is head 3, in decoder 2.1 head 1.

Narrower keys: at $d_k$ = 10 both survive, at 8 the adjective loses its gender (*froid* for *froide*), at 6 the cat is lost. The weights get flatter meanwhile, but that is not what breaks it most. Divide all scores by 4 instead: the weights are flatter than at $d_k$ = 4, and all that is lost is the gender in *cold*. It was trained with 16; a model *trained* with fewer is another question.

And where source words see only themselves, *was cold* becomes *felt cold* (lesson 09): not for the cat alone, but for all of {result:lesson_14/felt cold/drinkers:.0f} drinkers with {result:lesson_14/felt cold/drinks:.0f} drinks.
"""

# %% [markdown] kind="text" track="short"
r"""
## 8 · It speaks

One thing is left: saying a sentence, word by word. Your `greedy_decode` of lesson 04 does that, with any model that can `encode`, `start` and `step`. A small class puts your Transformer into that form. It keeps no state but the words said so far, and reads them all again for each new one (lesson 16 counts what that costs).
"""

# %% kind="code"
class MyTransformer:
    """What greedy_decode asks of a model, answered by your functions."""

    def encode(self, source, lengths):
        n = source.shape[1]
        mask = translator_masks(lengths, lengths, n, n)[0][:, None]
        return encode_source(source, weights, 4, 3, mask), mask

    def decode(self, memory, target):
        states, mask = memory
        return decode_logits(target, states, weights, 4, 3, mask), None

    def start(self, memory):
        return torch.zeros(1, 0, dtype=torch.long)  # no word yet

    def step(self, memory, target, tokens):
        target = torch.cat([target, tokens[:, None]], dim=1)
        logits, _ = self.decode(memory, target)
        return logits[:, -1], target, None

# %% [markdown] kind="text"
r"""
Which words does it know? About {result:lesson_14/English words, to the nearest ten:.0f} English ones; the next cell shows some. Then **put a sentence of your own into `MY_SENTENCE`**, of those words and no longer than twenty. Nobody has translated it before. The roll below lights every part of yours that was at work, by the lesson in which you wrote it. Run it.
"""

# %% kind="see"
unseen = splits(seed=0, sizes={"test": 30}).test
english_words = sorted({word for pair in unseen for word in pair.src})
print(textwrap.fill(" ".join(english_words), 84))

greedy_decode = yours("greedy_decode")


def translate(english):
    plain = clean_text(english, shipped.tokenizer)  # small letters, no full stop
    if unknown := shipped.tokenizer.unknown(plain):
        print("It does not know:", *unknown)
    with torch.no_grad():
        french_ids = greedy_decode(MyTransformer(), numbers_of(plain), 40)
    return shipped.tokenizer.decode(french_ids)

# %% kind="see" name="speaks"
MY_SENTENCE = "The young queen sees three old horses near the bridge."

NAMES = """greedy_decode
masked_attention translator_masks
angles sinusoids
split_heads join_heads multi_head many_heads
layer_norm feed_forward pre_norm encoder_block
parts_of embed encode_source decoder_block decode_logits"""
PLACED = {
    name: (x, y)
    for x, line in enumerate(NAMES.splitlines())
    for y, name in enumerate(line.split())
}
french_now, at_work = count_own_calls(lambda: translate(MY_SENTENCE))
print(MY_SENTENCE, "\n   →", french_now, "\n")
for english in (thirsty, cold):
    print(english, "\n   →", translate(english), "\n")
own, n = [name for name in PLACED if name in at_work], len(PLACED)
others = "" if len(own) == n else " The others: idle, or the library's."
print(f"{len(own)} of {n} parts were at work, and yours.{others}")
views.diagram(PLACED, [], lit=own, title="Your parts at work, lessons 04 and 10 to 14")

# %% [markdown] kind="text"
r"""
*Il avait soif*: the cat. *Elle était froide*: the water. The last English word decides between *il* and *elle*, which French says two words before the end. **If all lamps are lit, every one of those steps ran through code that you wrote.** You have built a Transformer. (Where one is dark, your code did not need it, or the library stood in; the part can still be written.)

**And it is the Transformer.** `nn.Transformer` is what most people use. It keeps the matrices for queries, keys and values in one, has biases there (0 here), and calls its norms `norm1`, `norm2`, `norm3`. `by_parts.to_torch` copies the weights into it, name by name. Then both must say the same. Mind the masks: for torch's modules True means *hidden*.
"""

# %% kind="library"
answers = [translate(pair.src_text) for pair in unseen]
right = sum(a == pair.tgt_text for a, pair in zip(answers, unseen, strict=True))
print(f"30 sentences it was not trained on, right word for word: {right}")

reference = by_parts.to_torch(weights, n_heads=4, n_layers=3)
source, target = embed(batch.src, table), embed(batch.tgt_in, table)
later = torch.ones(target.shape[1], target.shape[1]).triu(1) == 1
padding = ~mask[:, 0, 0]
with torch.no_grad():
    out = reference(
        source, target, tgt_mask=later,
        src_key_padding_mask=padding, memory_key_padding_mask=padding,
    )
logits = out @ table.T + weights["words.output.bias"]
assert torch.allclose(logits, mine["logits"], atol=1e-3)
print("your Transformer and torch's: the same logits", tuple(logits.shape))

# %% [markdown] kind="text" track="short"
r"""
## Check yourself

The first try counts for your score; every answer gets a reason.
"""

# %% kind="quiz"
quiz("14", "closing")

# %% [markdown] kind="instructor"
r"""
**Make it an occasion.** Let everybody reach section 8 before anyone runs the cell that speaks; run it together, each with a sentence of their own. Who lacks a part has the library's, and it speaks just as well: nobody is left behind. (Where `many_heads` or `encoder_block` is missing, the library's brings its own insides, so several lamps are dark.)

**Ask the room.** "The numbers came in a file. Where is the knowledge, in the file or in your code?" Expected: neither alone. Then: "and how would you notice that you had loaded `w_key` and `w_query` swapped?" (In self-attention the scores are transposed: first difference at encoder 0.)

| they say | what it is | answer |
|---|---|---|
| "cross-attention needs a causal mask" | M25 | The source is there from the start; hide it, and *la chat* comes out. |
| "all blocks share the source's keys" | M18 | `cross.w_key` is in the file three times. |
| "√d_model undoes √d_k" | M09 | Two roots, two problems: sizes of words, spread of scores. |
| "attention is most of the model" | – | The ledger: feed-forward {result:lesson_14/parameters/feed-forward:.1f} of {result:lesson_14/parameters/all:.0f} million. |
| "it translates, so it is right" | – | Patients D and F. |

**If time is short**, leave out section 6 and the test; keep the build, the lights, the clinic, the moment.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | what it is | shape |
|---|---|---|
| `embed` | √d_model · row + position | (batch, n, d_model) |
| `encode_source` | words in, blocks, last norm: the memory | (batch, n, d_model) |
| `decoder_block` | its own past, across, feed-forward | (batch, m, d_model) |
| `decode_logits` | words in, blocks, last norm, table | (batch, m, vocab) |
| `first_difference` | where two networks part | a name |

- Three uses of attention, one function: who asks, who answers, what is hidden.
- One table for words in and words out; its rows are multiplied by √d_model on the way in.
- Weights are numbers with names. What they mean is in the code, and a difference in the code is silent.
- In the base model feed-forward layers hold the most parameters; words and attention about as many as each other. Tying saves two tables.
- Compare stages, not sentences.

**Still missing.** Somebody else trained these numbers. Lesson 15 trains them.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani and others, *Attention Is All You Need* (2017), sections 3.1 to 3.4, and table 3. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Press and Wolf, *Using the Output Embedding to Improve Language Models* (2017). [arXiv 1608.05859](https://arxiv.org/abs/1608.05859)
- Rush, Huang and others, *The Annotated Transformer* (2018, 2022): the paper line by line, in code. [nlp.seas.harvard.edu](https://nlp.seas.harvard.edu/annotated-transformer/)
- `course_lib/models/transformer.py` and `lessons/l14_the_transformer/by_parts.py`: the course's own.
"""
