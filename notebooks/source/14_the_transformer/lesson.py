# Lesson 14 · the source. Edit this file, then run `python3 -m course_lib build 14`; the notebook is made from it.

# %% [markdown] kind="title" minutes=0.5
r"""
# 14 · The full Transformer

**The question:** how do all the parts make one Transformer?

About {minutes} minutes. You need the block from [lesson 13](13_the_block.ipynb), heads from [lesson 12](12_many_heads.ipynb), positions from [lesson 11](11_positions.ipynb), masks from [lesson 10](10_masks.ipynb), and greedy decoding from [lesson 04](04_encoder_decoder.ipynb). Today nothing new is invented. Everything is put together, and at the end **your own code translates**.
"""

# %% [markdown] kind="goals" minutes=0.5
r"""
After this lesson you can

1. **build** encoder, decoder and output from your own parts, and **load** trained weights into them by name;
2. **tell** the three uses of attention apart: who asks, who answers, what is hidden;
3. **find** the first stage at which two networks part, and **diagnose** the mistake behind it;
4. **account** for every parameter of the paper's models, and say what a shared word table saves;
5. **show** that your Transformer and torch's are the same function.
"""

# %% kind="setup" minutes=0.5
import torch

from course_lib import views
from course_lib.explore import ParameterLedger, ThreeUses
from course_lib.formatting import fixed, significant
from course_lib.teaching import check, estimate, explain, predict, quiz
from course_lib.teaching import start_lesson, yours
from course_lib.text.batch import make_batch
from course_lib.text.toy.splits import splits
from course_lib.translation import by_parts
from course_lib.translation.shipped import load_shipped

start_lesson("the_transformer", seed=14)

# %% [markdown] kind="text" minutes=0.5
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall" minutes=2
quiz("14", "recall")

# %% [markdown] kind="text" minutes=0.5
r"""
## 1 · A box of numbers

Somebody has trained a translator and sends you a file. There is no code in it, only numbers with names. Let us open it.
"""

# %% kind="code" minutes=1
shipped = load_shipped("transformer")
weights = {name: w.detach() for name, w in shipped.model.state_dict().items()}

others = ("encoder.blocks.1", "encoder.blocks.2", "decoder.blocks")
for name, numbers in weights.items():
    if not name.startswith(others):
        print(f"{name:<52}{tuple(numbers.shape)}")
total = sum(numbers.numel() for numbers in weights.values())
print(f"… and five more blocks: {len(weights)} tensors, {total:,} numbers")

# %% kind="diagram" minutes=0.5 hide_input=true
PARTS = {
    "source": (0, 0), "words in": (1, 0), "encoder × 3": (2, 0), "memory": (3, 0),
    "so far": (2, 1), "words in ": (3, 1), "decoder × 3": (4, 0.5),
    "last norm": (5, 0.5), "logits": (6, 0.5),
}
ARROWS = [("source", "words in"), ("words in", "encoder × 3")]
ARROWS += [("encoder × 3", "memory"), ("memory", "decoder × 3")]
ARROWS += [("so far", "words in "), ("words in ", "decoder × 3")]
ARROWS += [("decoder × 3", "last norm"), ("last norm", "logits")]
LAMPS = {"source words": ["words in"], "encoder 2": ["encoder × 3"]}
LAMPS |= {"memory": ["memory"], "target words": ["words in "]}
LAMPS |= {"decoder 2": ["decoder × 3"], "logits": ["last norm", "logits"]}
views.diagram(PARTS, ARROWS, title="The plan: all parts are still dark")

# %% [markdown] kind="text" minutes=1
r"""
These 392,360 numbers can translate. What is missing is the *code* that knows what to do with them, and that is what you have been writing since lesson 08. Above is the plan.

The **Transformer** (Vaswani and others, 2017) reads the source once, in a stack of encoder blocks. What comes out is the {term:encoder memory|memory}: one vector for each source word. A second stack, the decoder, reads the target so far, looks at the memory in every block, and scores the next word.

Our file is not the paper's model in all things. Whoever loads weights must know such differences; the numbers do not tell.

| | the paper's base model | our file |
|---|---|---|
| width, heads, inner width | 512, 8, 2048 | 64, 4, 256 |
| blocks on each side | 6 | 3 |
| norm | after each addition | before each layer, and a last one after each stack |
| output | shared word table | shared word table, and a bias for each word |
| positions | sinusoids, added | the same |
"""

# %% [markdown] kind="text" minutes=0.5 exercise="parts_of"
r"""
First, order in the box. Your `encoder_block` wants a table like `{"attention.w_query": …}`, but the file says `encoder.blocks.0.attention.w_query`. **Write `parts_of`**: all entries whose name begins with the prefix and a dot, under what is left of their names. `parts_of(weights, "encoder.blocks.0")` is then what the block wants.
"""

# %% kind="exercise" exercise="parts_of" title="The weights of one part" difficulty=1 importance=3 minutes=3 track="core"
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
### The recipe
Let `start = prefix + "."`. Keep the names that begin with `start`, and cut its length off each.
"""

# %% [markdown] kind="text" minutes=1
r"""
## 2 · Words come in

A word is a number, its row in the table `words.output.weight`. In this model **one** table serves three times: it makes vectors of source words, vectors of target words, and at the end it scores the next word (a dot product with every row). Such {term:tied embeddings} are in the paper, too; Press and Wolf proposed them in 2017.

The two jobs want different sizes. As a scorer, a row must be small: the dot product of two vectors of 64 numbers adds 64 products, and large rows would make every choice dead certain from the start. As an input, a word's numbers should not be drowned by the position that is added to them, whose numbers lie between −1 and 1. So the table is kept small, and the rows are multiplied by $\sqrt{d_{\text{model}}}$ on their way in:

$$ x_i = \sqrt{d_{\text{model}}}\; E[w_i] + p_i $$

**By hand.** Width 4, so the root is 2. The row (1, 2, 3, 4) at position 0, which is (0, 1, 0, 1): 2 · (1, 2, 3, 4) + (0, 1, 0, 1) = (2, 5, 6, 9).
"""

# %% kind="see" minutes=1
def size(numbers):
    """The root of the mean square."""
    return numbers.square().mean().sqrt()


table = weights["words.output.weight"]
sinusoids = yours("sinusoids")
print("a row of the table: ", fixed(size(table), 2))
print("times the root of 64:", fixed(size(table) * 8, 2))
print("a position:          ", fixed(size(sinusoids(20, 64)), 2))

# %% [markdown] kind="text" minutes=0.5 exercise="embed"
r"""
In the trained table the numbers of a row are about a fifth as large as those of a position; times 8, the word leads. A first version of `embed` is there already. Make its check pass.
"""

# %% kind="exercise" exercise="embed" mode="bug" title="Words in" difficulty=2 importance=5 minutes=4 track="core"
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
### The recipe
The brackets: only the word is multiplied by the root. The position is added afterwards, as it is.
"""

# %% [markdown] kind="text" minutes=1.5
r"""
## 3 · The encoder

**Build the encoder.** Words in, with the table `words.output.weight`; then the blocks `encoder.blocks.0`, `encoder.blocks.1` and so on, `n_layers` of them, each with its own parts; then the last norm, `encoder.last_norm.weight` and `.bias`.

Yours from lesson 13: `encoder_block(x, parts, n_heads, may_look)` and `layer_norm(x, weight=…, bias=…)`. `may_look` hides the padding of the source from every block. From here on the lesson takes **your** parts where they passed their checks, else the library's, and says which.
"""

# %% kind="code" minutes=0.5
parts_of, embed = yours("parts_of"), yours("embed")
encoder_block, layer_norm = yours("encoder_block"), yours("layer_norm")
many_heads, feed_forward = yours("many_heads"), yours("feed_forward")
pre_norm = yours("pre_norm")

# %% kind="exercise" exercise="encode_source" title="The encoder" difficulty=3 importance=5 minutes=8 track="core"
def encode_source(source, weights, n_heads, n_layers, may_look=None):
    """source (batch, n) numbers of words, may_look (batch, 1, 1, n) or None

    ->  memory (batch, n, d_model)
    """
    # solution
    x = embed(source, weights["words.output.weight"])
    for layer in range(n_layers):
        block = parts_of(weights, f"encoder.blocks.{layer}")
        x = encoder_block(x, block, n_heads, may_look)
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
### The recipe
In the loop: `x = encoder_block(x, parts_of(weights, …), n_heads, may_look)`. After the loop, once: `layer_norm(x, weight=weights["encoder.last_norm.weight"], bias=…)`.
"""

# %% [markdown] kind="text" minutes=1
r"""
Why a *last* norm? With pre-norm the path itself is never normalised (lesson 13), so the sum that leaves the stack has grown. Whoever reads it next expects words of ordinary size.

## 4 · The decoder looks three ways

Three uses of attention, and they differ in nothing but who asks, who answers, and what is hidden:

| use | asks | answers | hidden |
|---|---|---|---|
| encoder | source words | source words | padding |
| decoder | target words | target words | what comes later |
| across: **cross-attention** | target words | the memory | padding of the source |

The first lets *it* find out what it means. The second keeps track of what has been said. The third is what Bahdanau had (lesson 06), now in every block. And it is the only place at which the two languages meet.
"""

# %% kind="diagram" minutes=0.5 hide_input=true
INSIDE = {
    "x": (0, 0), "its own past": (1, 0), "across": (2, 0), "feed-forward": (3, 0),
    "new x": (4, 0), "memory": (2, 1),
}
FLOW = [("x", "its own past"), ("its own past", "across"), ("across", "feed-forward")]
FLOW += [("feed-forward", "new x"), ("memory", "across")]
NOTES = {"its own past": "x + …", "across": "x + …", "feed-forward": "x + …"}
views.diagram(INSIDE, FLOW, lit="across", notes=NOTES, title="One block of the decoder")

# %% kind="explain" minutes=3
explain("14", "full-no-causal-across")

# %% [markdown] kind="text" minutes=1 exercise="decoder_block"
r"""
**Build the decoder's block.** `parts` is what `parts_of(weights, "decoder.blocks.0")` gives. Three steps, each `x + layer(norm(x))`:

1. **its own past:** `attention.w_query` and so on, norm `around_attention.norm`. Causal: make the mask yourself, (m, m), True where word i may look at word j, that is j ≤ i.
2. **across:** `cross.w_query` and so on, norm `around_cross.norm`. The normalised words ask; keys and values come from `memory`, just as it is. The mask is `may_look`.
3. **feed-forward:** as in lesson 13, norm `around_feed_forward.norm`.

`many_heads(x, source, w_q, w_k, w_v, w_o, n_heads, may_look)` returns two things and wants its matrices as `.T`; `feed_forward(x, w_in=…, b_in=…, w_out=…, b_out=…)` wants them as they are. You may use `pre_norm(x, layer, norm=…)` or write the sums yourself.
"""

# %% kind="exercise" exercise="decoder_block" title="The decoder's block" difficulty=4 importance=5 minutes=15 track="core"
def decoder_block(x, memory, parts, n_heads, may_look=None):
    """x (batch, m, d_model), memory (batch, n, d_model)

    may_look (batch, 1, 1, n) or None: which words of the memory  ->  like x
    """
    # solution
    def seen(x, name):
        w, b = (parts[f"around_{name}.norm.{kind}"] for kind in ("weight", "bias"))
        return layer_norm(x, weight=w, bias=b)

    def look(x, source, name, mask):
        kinds = ("query", "key", "value", "output")
        matrices = [parts[f"{name}.w_{kind}"].T for kind in kinds]
        return many_heads(x, source, *matrices, n_heads, mask)[0]

    m = x.shape[1]
    back = torch.ones(m, m).tril() == 1
    asking = seen(x, "attention")
    x = x + look(asking, asking, "attention", back)
    x = x + look(seen(x, "cross"), memory, "cross", may_look)
    inner, outer = (f"feed_forward.{name}" for name in ("inner", "outer"))
    return x + feed_forward(
        seen(x, "feed_forward"), w_in=parts[f"{inner}.weight"],
        b_in=parts[f"{inner}.bias"], w_out=parts[f"{outer}.weight"],
        b_out=parts[f"{outer}.bias"],
    )
    # end solution

# %% kind="check" exercise="decoder_block"
check("decoder_block", decoder_block)

# %% [markdown] kind="hints" exercise="decoder_block"
r"""
### A nudge
Two little functions inside help: one that normalises `x` with the norm of a given name, one that looks from `x` at a source with the matrices of a given name and a mask.

---
### The recipe
1. `asking = norm of x`; `x = x + many_heads(asking, asking, …, n_heads, back)[0]` with `back = torch.ones(m, m).tril() == 1`.
2. `x = x + many_heads(norm of x, memory, cross …, n_heads, may_look)[0]`.
3. `x = x + feed_forward(norm of x, …)`.

---
### "Right by hand, wrong elsewhere"
The example has one word on each side, so masks and order do nothing there. Look at the causal mask, at where keys and values come from, and at which norm stands where.
"""

# %% [markdown] kind="text" minutes=0.5 exercise="test_decoder"
r"""
A decoder that peeks trains wonderfully and fails in use (lesson 10). **Write the test that would catch it,** and a decoder that cannot see the source. You get somebody's `block(x, memory)`, its weights already inside; x is (batch, m, 8), memory (batch, n, 8). *Change one thing and see what may move:* a later word of the target must not touch an earlier output, and every word of the memory may touch the first one.
"""

# %% kind="exercise" exercise="test_decoder" mode="test" title="Write the test" difficulty=3 importance=4 minutes=6 track="core"
def test_decoder(block):
    """Takes a function block(x, memory); raises if it looks where it must not."""
    # solution
    x, memory = torch.randn(1, 4, 8), torch.randn(1, 5, 8)
    before = block(x, memory)
    for place in range(1, 4):
        later = x.clone()
        later[:, place] = torch.randn(8)
        after = block(later, memory)
        assert torch.allclose(before[:, :place], after[:, :place], atol=1e-5)
    changed = memory.clone()
    changed[:, -1] += 1.0
    first = block(x, changed)[:, 0]
    assert not torch.allclose(before[:, 0], first, atol=1e-5)
    # end solution

# %% kind="check" exercise="test_decoder"
check("test_decoder", test_decoder)

# %% [markdown] kind="hints" exercise="test_decoder"
r"""
### A nudge
Call the block twice: once as it is, once with the last target word changed. Which outputs must be the same? Then change the last word of the memory. Which output must *not* be the same?

---
### The recipe
`x.clone()`, put `torch.randn(8)` in one place, compare `[:, :place]` of both results with `torch.allclose(…, atol=1e-5)`. For the memory: `assert not torch.allclose(…)` for the output of the first word.

---
### "It lets peeking through, and I did change a word"
Did you add the same number to the whole word? Layer normalisation subtracts the mean (lesson 13), so nobody after it can notice. Change the word's numbers differently.
"""

# %% [markdown] kind="text" minutes=1
r"""
**The last piece:** the decoder from words to logits. Words in, with the same table; the blocks `decoder.blocks.0` and so on; the last norm, `decoder.last_norm`; then the score of each word: its dot product with every row of the table, plus `words.output.bias`. No softmax: logits are scores.
"""

# %% kind="code" minutes=0.5
decoder_block = yours("decoder_block")

# %% kind="exercise" exercise="decode_logits" title="From words to logits" difficulty=3 importance=5 minutes=7 track="core"
def decode_logits(target, memory, weights, n_heads, n_layers, may_look=None):
    """target (batch, m) numbers of words, memory (batch, n, d_model)

    ->  logits (batch, m, vocab): scores for the word after each
    """
    # solution
    words = weights["words.output.weight"]
    x = embed(target, words)
    for layer in range(n_layers):
        parts = parts_of(weights, f"decoder.blocks.{layer}")
        x = decoder_block(x, memory, parts, n_heads, may_look)
    last = parts_of(weights, "decoder.last_norm")
    x = layer_norm(x, weight=last["weight"], bias=last["bias"])
    return x @ words.T + weights["words.output.bias"]
    # end solution

# %% kind="check" exercise="decode_logits"
check("decode_logits", decode_logits)

# %% [markdown] kind="hints" exercise="decode_logits"
r"""
### A nudge
It is the encoder over again, with other names, the memory in every block, and one product at the end.

---
### The recipe
`embed(target, table)`, the loop with `decoder_block(x, memory, parts, n_heads, may_look)`, the decoder's own last norm, then `x @ table.T + bias`.
"""

# %% [markdown] kind="text" minutes=1.5
r"""
## 5 · The lights go on

Now the trained numbers run through your functions. If the translation were nonsense, where would you begin? A network fails silently: every shape fits. So do not look at the end. **Compare stage by stage** with a network that is right (the library's, `by_parts.stages` below), and find the first stage that differs. Not to the last bit: sums taken in another order round differently, so let a thousandth pass.

**Write the finder.** `mine` and `theirs` are tables {name of a stage: tensor}, in the order of computation. Return the name of the first stage at which some number is off by more than `tolerance`, or the word `"nowhere"`. A `nan` counts as a difference.
"""

# %% kind="exercise" exercise="first_difference" title="The first difference" difficulty=2 importance=4 minutes=5 track="core"
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
### The recipe
`gap = (mine[stage] - theirs[stage]).abs().max()`; return the name if **not** `gap <= tolerance`. Every comparison with `nan` is False, so this way round it is caught. After the loop: `return "nowhere"`.
"""

# %% kind="code" minutes=1
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
masks = yours("translator_masks")(
    batch.src_lengths, batch.tgt_lengths, batch.src.shape[1], batch.tgt_in.shape[1]
)
may_look = masks[0][:, None]  # (batch, 1, 1, n): the padding of the source
print("source", tuple(batch.src.shape), "may_look", tuple(may_look.shape))

# %% kind="see" minutes=2
x = embed(batch.src, table)
mine = {"source words": x}
for i in range(3):
    x = encoder_block(x, parts_of(weights, f"encoder.blocks.{i}"), 4, may_look)
    mine[f"encoder {i}"] = x
memory = mine["memory"] = encode_source(batch.src, weights, 4, 3, may_look)
x = mine["target words"] = embed(batch.tgt_in, table)
for i in range(3):
    parts = parts_of(weights, f"decoder.blocks.{i}")
    x = mine[f"decoder {i}"] = decoder_block(x, memory, parts, 4, may_look)
mine["logits"] = decode_logits(batch.tgt_in, memory, weights, 4, 3, may_look)

sizes = {"n_heads": 4, "n_layers": 3, "may_look": may_look}
theirs = by_parts.stages(batch.src, batch.tgt_in, weights, **sizes)
theirs = {stage: theirs[stage] for stage in mine}
lit = ["source", "so far"]
for stage, numbers in mine.items():
    alone = first_difference({stage: numbers}, {stage: theirs[stage]}, 1e-3)
    lamp = "on" if alone == "nowhere" else "OFF"
    print(f"{stage:<14}{tuple(numbers.shape)!s:<16}{lamp}")
    lit += LAMPS.get(stage, []) if lamp == "on" else []
print("first difference:", first_difference(mine, theirs, 1e-3))
views.diagram(PARTS, ARROWS, lit=lit, title="Each part that agrees is lit")

# %% [markdown] kind="text" minutes=1
r"""
## 6 · It speaks

One thing is left: saying a sentence, word by word. Your `greedy_decode` of lesson 04 does that, with any model that can `encode`, `start` and `step`. A small class puts your Transformer into that form. It keeps no state but the words said so far, and reads them all again for each new one (lesson 17 says what that costs).

Then the cell below it calls the roll: every part, from the lesson in which you wrote it. And then it speaks. No library model from here on: your loop, your encoder, your decoder, and 392,360 numbers.
"""

# %% kind="code" minutes=1
class MyTransformer:
    """What greedy_decode asks of a model, answered by your functions."""

    def encode(self, source, lengths):
        seen = (torch.arange(source.shape[1]) < lengths[:, None])[:, None, None]
        return encode_source(source, weights, 4, 3, seen), seen

    def decode(self, memory, target):
        states, seen = memory
        return decode_logits(target, states, weights, 4, 3, seen), None

    def start(self, memory):
        return torch.zeros(1, 0, dtype=torch.long)  # nothing said yet

    def step(self, memory, said, tokens):
        said = torch.cat([said, tokens[:, None]], dim=1)
        logits, _ = self.decode(memory, said)
        return logits[:, -1], said, None

# %% kind="see" minutes=1.5
ROAD = (
    "greedy_decode scaled_attention masked_attention translator_masks angles sinusoids "
    "split_heads join_heads multi_head many_heads layer_norm feed_forward pre_norm "
    "encoder_block parts_of embed encode_source decoder_block decode_logits"
).split()
found = {name: yours(name) for name in ROAD}
own = [name for name, function in found.items() if function.__module__ == "my_road"]
print(f"\n{len(own)} of {len(ROAD)} parts are yours.\n")


def translate(english):
    with torch.no_grad():
        said = found["greedy_decode"](MyTransformer(), numbers_of(english), 40)
    return shipped.tokenizer.decode(said)


for english in (thirsty, cold):
    print(english)
    print("   →", translate(english), "\n")
    assert translate(english) == french[english]

# %% [markdown] kind="text" minutes=1
r"""
*Il avait soif*: the cat. *Elle était froide*: the water. One English word at the very end decides over a French word before it, and your code gets it right. You have built a Transformer.

Type sentences of your own, in small letters and without a full stop. It knows 680 words of a small world: *the cat, the dog, the girl, the river, sees, eats, sleeps, old, red, because, and, near …* Below it also gets thirty sentences that it was not trained on; your system and the shipped one.
"""

# %% kind="see" minutes=2
for english in (
    "the old dog sees two birds near the river",
    "the girl eats the bread because it is good",
    "the dogs sleep near the house",
):
    print(english, "→", translate(english))

unseen = splits(seed=0, sizes={"test": 30}).test
said = [translate(pair.src_text) for pair in unseen]
theirs_said = [shipped(pair.src_text).target for pair in unseen]
right = sum(a == pair.tgt_text for a, pair in zip(said, unseen, strict=True))
print("the same as the shipped system on all 30:", said == theirs_said)
print(f"word for word right: {right} of 30")

# %% [markdown] kind="text" minutes=1
r"""
**The same as torch's?** `nn.Transformer` is what most people use. It keeps the three matrices of a look in one, gives each look biases (0 here), and numbers the norms. `by_parts.as_torchs` copies your weights into it, name by name. Then both must say the same. Mind the masks: for torch's modules True means *hidden*.
"""

# %% kind="library" minutes=1
torchs = by_parts.as_torchs(weights, n_heads=4, n_layers=3)
print(type(torchs).__module__, type(torchs).__name__)

source, target = embed(batch.src, table), embed(batch.tgt_in, table)
ahead = torch.ones(target.shape[1], target.shape[1]).triu(1) == 1
hidden = ~may_look[:, 0, 0]
with torch.no_grad():
    out = torchs(
        source, target, tgt_mask=ahead,
        src_key_padding_mask=hidden, memory_key_padding_mask=hidden,
    )
logits = out @ table.T + weights["words.output.bias"]
assert torch.allclose(logits, mine["logits"], atol=1e-3)
print("your Transformer and torch's: the same logits", tuple(logits.shape))

# %% kind="quiz" minutes=3
quiz("14", "three-uses")

# %% [markdown] kind="text" minutes=0.5
r"""
## 7 · Three uses in one sentence

Back to the trained translator and its three uses of attention, each with a picture: the mean weights of the last layer. Three controls take something away from **all** of them: numbers from each head's queries and keys ($d_k$, 16 when trained; the rest is set to 0), heads from each layer, and sight by a mask. Watch the entropy (lesson 12: 0 bits is one word, 3.3 bits are ten words alike) and what it says.

> **Before it opens:** every source word sees **only itself** in the encoder. Decoder and cross-attention are as trained. What becomes of the pair?
"""

# %% kind="predict" minutes=5
predict("14", "full-each-alone", ThreeUses())

# %% [markdown] kind="text" minutes=1
r"""
*Il avait froid*: **he** felt cold. That is a possible translation; only in our little world cats that drink are thirsty, and it is water that is cold. Without the first use, nobody has told *it* what it stands for, and the decoder falls back on the cat.

Narrower keys do not break it at once. At $d_k$ = 12 both sentences survive, at 8 the adjective loses its gender (*froid* for *froide*), below that words are lost. All the while the entropies climb towards "all alike", first across, where the trained weights were sharpest. It was trained with 16; a model *trained* with fewer may do well, and that is another question (rows (B) of the paper's table 3 ask it). And heads are not alike: with three of the four *both* are wrong, with two *thirsty* comes out right again. Half a network says what it likes (lesson 12).
"""

# %% [markdown] kind="text" minutes=0.5
r"""
## 8 · Where the parameters are

Ours has 392,360. The paper's base model: width 512, 8 heads, inner width 2048, six blocks on each side, and a shared table of about 37,000 words. Estimate before you count: how many?
"""

# %% kind="estimate" minutes=2
def count(module):
    return sum(numbers.numel() for numbers in module.parameters())


with torch.device("meta"):  # shapes without memory: nothing is allocated
    reads = torch.nn.TransformerEncoderLayer(512, 8, 2048)
    says = torch.nn.TransformerDecoderLayer(512, 8, 2048)
    words = torch.nn.Embedding(37_000, 512)

base = 6 * (count(reads) + count(says)) + count(words)
estimate("14", "full-base-count", lambda: base)

# %% kind="predict" minutes=4
predict("14", "full-largest-part", ParameterLedger())

# %% [markdown] kind="text" minutes=2.5
r"""
| torch's own, $d_{\text{model}}$ 512 | parameters |
|---|---|
| one multi-head attention | 1,050,624 |
| one feed-forward layer | 2,099,712 |
| one encoder block | 3,152,384 |
| one decoder block | 4,204,032 |
| six of each | 44,138,496 |
| `nn.Transformer()` | 44,140,544 |
| six of each, and one table of 37,000 words | 63,082,496 |

Most are in the feed-forward layers, with 25.2 million; all attention together has 18.9, hardly less than the one table of words. **What tying saves:** with three tables the base model would have 101 million, 37.9 million more, and more than half of all would be words. In the big model, whose blocks are four times as large, the tables weigh less.

`nn.Transformer()` has 2,048 parameters more than its twelve blocks: two last norms, which the paper has not. And it has **no words at all**: whoever uses it brings tables and output along. The paper says 65 million for the base model, we count 63.1; it does not say what it counted. (For the big one it says 213, and we count 214.2.)

What grows with the length of a sentence is not among the parameters: it is the tables of scores, across (batch, heads, target, source).

## Break it

A clinic again. Six people assembled this Transformer, each with one mistake, and each loaded the same weights. Nothing raises an error. Your `first_difference` finds the stage, and then each translates: *… because it was thirsty*, alone, and 40 test sentences of different lengths in one batch.

> **Before you run it:** which mistakes of your own today would have gone unnoticed if you had only read the translations?
"""

# %% kind="break" minutes=2
heard = splits(seed=0, sizes={"test": 40}).test
pairs = [(numbers_of(pair.src_text), numbers_of(pair.tgt_text)) for pair in heard]
exam = make_batch(*zip(*pairs, strict=True))
open_to = (exam.src != 0)[:, None, None]


def words_said(source, seen, habits):
    said = by_parts.say(source, weights, n_heads=4, n_layers=3, max_len=30,
                        may_look=seen, habits=habits)
    return [shipped.tokenizer.decode(row).strip() for row in said.tolist()]


for patient, habits in by_parts.PATIENTS.items():
    sick = by_parts.stages(batch.src, batch.tgt_in, weights, **sizes, habits=habits)
    stage = first_difference(sick, theirs, 1e-3)
    gap = (sick[stage] - theirs[stage]).abs().max()
    answers = words_said(exam.src, open_to, habits)
    right = sum(a == p.tgt_text for a, p in zip(answers, heard, strict=True))
    told = f"first at {stage!r}, by {significant(gap, 1)}"
    print(f"{patient}: {told}; right {right} of 40")
    print("  ", words_said(batch.src[:1], may_look[:1], habits)[0])

# %% kind="quiz" minutes=5
quiz("14", "clinic")

# %% [markdown] kind="text" minutes=1
r"""
Look at D and F again: they translate as before, and only the stages tell. That is why one compares stages, not sentences. And A, which reads padding, is right on the pair *alone*; it fails in company (lesson 13: ask alone and in company).

## Check yourself

The first try counts for your score; every answer gets a reason.
"""

# %% kind="quiz" minutes=4
quiz("14", "closing")

# %% [markdown] kind="instructor"
r"""
**Make it an occasion.** Let everybody reach section 6 before anyone runs the cell that speaks; run it together. Read the list "… of 19 parts are yours" aloud. Who lacks a part has the library's, and it works just as well: nobody is left behind.

**Ask the room.** "The numbers came in a file. Where is the knowledge, in the file or in your code?" Expected: neither alone. Then: "and how would you notice that you had loaded `w_key` and `w_query` swapped?" (In self-attention the scores are transposed: first difference at encoder 0.)

| they say | what it is | answer |
|---|---|---|
| "cross-attention needs a causal mask" | M25 | The source is there from the start; hide it, and *la chat* comes out. |
| "all blocks share the source's keys" | M18 | `cross.w_key` is in the file three times. |
| "√d_model undoes √d_k" | M09 | Two roots, two problems: sizes of words, spread of scores. |
| "attention is most of the model" | – | The ledger: feed-forward 25.2 of 63 million. |
| "it translates, so it is right" | – | Patients D and F. |

**If time is short**, leave out the equality with torch and the ledger's table; keep the build, the lights, the moment, the clinic.
"""

# %% [markdown] kind="summary" minutes=1
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
- Feed-forward layers hold the most parameters, then words, then attention. Tying saves two tables.
- Compare stages, not sentences.

**Still missing.** Somebody else trained these numbers. Lesson 15 trains them.
"""

# %% [markdown] kind="reading" minutes=0.5
r"""
## Reading

- Vaswani and others, *Attention Is All You Need* (2017), sections 3.1 to 3.4, and table 3. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Press and Wolf, *Using the Output Embedding to Improve Language Models* (2017). [arXiv 1608.05859](https://arxiv.org/abs/1608.05859)
- Rush, Huang and others, *The Annotated Transformer* (2018, 2022): the paper line by line, in code. [nlp.seas.harvard.edu](https://nlp.seas.harvard.edu/annotated-transformer/)
- `course_lib/models/transformer.py` and `course_lib/translation/by_parts.py`: the course's own.
"""
