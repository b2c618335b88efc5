# Lesson 05 · the source. Edit this file, then run `python3 -m course_lib build 05`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 05 · The distance between words

**The question:** how many steps does information need to travel between two words that depend on each other?

About {minutes} minutes. You need the gradient (lesson 01), what a recurrent network does to it (lesson 02), and the encoder-decoder with its one vector ([lesson 04](04_encoder_decoder.ipynb)).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **write** a convolution over words, and **compute** how far a stack of them sees; <!-- core -->
2. **count** the hops between two words in a recurrent network, a convolution and attention;
3. **design** the cheapest stack that hears 40 words; <!-- core -->
4. **measure** how well a far word is heard, and **say** why seeing a word is not hearing it; <!-- core -->
5. **name** five wishes by which the next lesson will be measured.
"""

# %% kind="setup"
import torch
from torch.nn import functional as F

from course_lib import views
from course_lib.teaching import check, estimate, explain, predict, quiz, start_lesson
from course_lib.teaching import yours
from course_lib.text import splits
from course_lib.translation import load_shipped, translate
from lessons.l05_distance_between_words import PathRace

start_lesson("distance_between_words", seed=5)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

From memory, before you read on.
"""

# %% kind="recall"
quiz("05", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · A window that slides

A recurrent network reads like somebody listening to a phone call: word after word, and all that was said must fit into what is remembered. There is another way to read. Cut a slit into a card, three words wide, lay it on the line, and slide it along. At every stop you see three neighbours at once. No stop needs to wait for another: thirty people with thirty cards would be done in a moment.

That is a {term:convolution}: the same small computation at every window of neighbouring words. What it computes with is the {term:kernel}: one number for every place of the window (one matrix, if the words are vectors). How many words the window shows is its *width*.

**By hand.** Four words, one number each: 1, 0, 2, 3. The kernel is (1, 2, 3), so its width is 3. Two windows fit.

- First window (1, 0, 2): 1 · **1** + 0 · **2** + 2 · **3** = 7.
- Second window (0, 2, 3): 0 · **1** + 2 · **2** + 3 · **3** = 13.

Four words and width 3 give 4 − 3 + 1 = 2 outputs. The kernel was the same both times: a convolution does not care *where* in the sentence something stands.
"""

# %% [markdown] kind="formula" track="core"
r"""
Words are vectors, of course. Then each place $j$ of the window has a matrix $K_j$, and the output is a vector too:

$$ y_t \;=\; \sum_{j=0}^{k-1} x_{t+j}\, K_j \qquad\qquad t = 0, \dots, n-k $$

| symbol | name in code | shape |
|---|---|---|
| $x_t$ | `words[t]` | (n, channels) for all |
| $K_j$ | `kernel[j]` | (width, channels, out) for all |
| $y_t$ | `outputs[t]` | (n − width + 1, out) for all |

(*Channels* are the numbers of one word's vector. Mathematicians turn the kernel round before they slide it; nobody does so in networks, and neither do we.)
"""

# %% [markdown] kind="text" exercise="convolve_words"
r"""
**Build it.** A loop over the places of the window is enough; each place handles *all* windows at once, with one matrix product.
"""

# %% kind="exercise" exercise="convolve_words" title="A convolution over words" difficulty=3 importance=5 track="core"
def convolve_words(words, kernel):
    """words (n, channels), kernel (width, channels, out)  ->  (n - width + 1, out)"""
    # solution
    n_windows = len(words) - len(kernel) + 1
    outputs = 0
    for offset in range(len(kernel)):
        outputs = outputs + words[offset : offset + n_windows] @ kernel[offset]
    return outputs
    # end solution

# %% kind="check" exercise="convolve_words"
check("convolve_words", convolve_words)

# %% [markdown] kind="hints" exercise="convolve_words"
r"""
### A nudge
How many windows fit? Which words stand at the *first* place of all the windows? Which at the second?

---
### Step by step
1. The number of windows is n − width + 1.
2. For place 0 take that many words from the start, for place 1 as many from one word later, and so on.
3. Multiply each of these slices with the matrix of its place, and add them up.

---
### "The size of tensor a must match the size of tensor b"
Then the slices are not equally long. Each one must hold exactly as many words as there are windows.
"""

# %% kind="library" track="core"
convolve = yours("convolve_words")
generator = torch.Generator().manual_seed(5)
words = torch.randn(9, 4, generator=generator)
kernel = torch.randn(3, 4, 6, generator=generator)

# torch wants the channels before the words, and the kernel as (out, channels, width)
from_torch = F.conv1d(words.T, kernel.permute(2, 1, 0)).T
torch.testing.assert_close(convolve(words, kernel), from_torch)
print("9 words, width 3:", len(from_torch), "outputs, the same as torch's")

# %% [markdown] kind="text" track="core"
r"""
What is a window good for? It finds *patterns of neighbours*. Describe each word by three numbers (article, adjective, noun) and wire a kernel by hand that asks for the three in a row. Its output is the number of places that fit: 3 means found.
"""

# %% kind="see" track="core"
sentence = "the small cat drank the cold water because the dog was big".split()
kinds = [{"the", "a"}, {"small", "cold", "big"}, {"cat", "water", "dog"}]
features = torch.tensor([[float(word in kind) for kind in kinds] for word in sentence])

pattern = torch.eye(3)[:, :, None]  # one offset for each: article, adjective, noun
n_matches = convolve(features, pattern)[:, 0]
views.bars(
    n_matches, labels=sentence[:-2], name="places that fit", high=3, digits=0,
    title="Article, adjective, noun? (each bar: the window that begins here)",
    alt="Three places fit in “the small cat” and “the cold water”, else one or none.",
)

# %% kind="diagram" hide_input=true track="core"
PARTS = {
    "English words": (0, 0), "windows": (1, 0), "stack": (2, 0),
    "one vector": (3, 0), "decoder": (4, 0), "French": (5, 0),
}
ARROWS = list(zip(list(PARTS), list(PARTS)[1:], strict=False))
TITLE = "A translator that reads by convolution"
views.diagram(PARTS, ARROWS, lit="windows", title=TITLE)

# %% kind="quiz" track="core"
quiz("05", "windows")

# %% [markdown] kind="text" track="short"
r"""
## 2 · How far does it see?

A window of three words cannot join *cat* and *it*, five words apart. So we stack: a second convolution slides over the *outputs* of the first. Each of its three inputs has seen three words, and they overlap, so together they have seen five. The words that one output depends on are its {term:receptive field}. One more layer, seven. Each layer adds its width minus one.

Must a window show neighbours? Spread its places out: width 3 with every *second* word, or every *ninth*. The step from one place of the window to the next is its {term:dilation}; dilation 1 is the plain window, and a larger one leaves gaps. A layer then adds (width − 1) · dilation words, for the same price.
"""

# %% [markdown] kind="text" exercise="receptive_field"
r"""
Write it layer by layer: a list with the receptive field after the first layer, after the second, and so on.
"""

# %% kind="exercise" exercise="receptive_field" title="The receptive field, layer by layer" difficulty=2 importance=4 track="core"
def receptive_field(widths, dilations):
    """Two lists, one entry per layer  ->  a list: the receptive field after each layer

    It spans everything from the first word to the last, skipped words included.
    """
    # solution
    field, fields = 1, []
    for width, dilation in zip(widths, dilations, strict=True):
        field += (width - 1) * dilation
        fields.append(field)
    return fields
    # end solution

# %% kind="check" exercise="receptive_field"
check("receptive_field", receptive_field)

# %% [markdown] kind="hints" exercise="receptive_field"
r"""
### A nudge
Before the first layer a word sees one word: itself. What does each layer add?

---
### Step by step
Start with 1. For every layer add (width − 1) · dilation, and note down where you are.
"""

# %% kind="see" track="core"
fields = yours("receptive_field")
print("width 3, dilation 1, 1, 1, 1: ", fields([3, 3, 3, 3], [1, 1, 1, 1]))
print("width 3, dilation 1, 2, 4, 8: ", fields([3, 3, 3, 3], [1, 2, 4, 8]))
print("width 3, dilation 1, 3, 9, 27:", fields([3, 3, 3, 3], [1, 3, 9, 27]))

# %% [markdown] kind="text" track="core"
r"""
Without gaps the view grows by the same amount with every layer. With gaps that triple, it triples. And nothing is left out: in the third line the first layer joins three neighbours, the second three such groups of three, the third three groups of nine.
"""

# %% kind="quiz" track="core"
quiz("05", "field")

# %% [markdown] kind="text" track="short"
r"""
## 3 · Hops

Now compare the ways to read. Whatever the last word is to know of the first must be handed on: from state to state in a recurrent network, from layer to layer in a stack of convolutions. Each time it is multiplied by a matrix, squashed, and mixed with everything else. Call each handing-on a {term:hop}; the number of hops between two words is their {term:path length|path length}.

To count alike for all, let every window *end* with its word: it shows that word and those before it. Then one layer of width 3 carries a word at most two places on. (If its word stood in the *middle* of the window, the middle output would be the one that hears of first and last word, after just as many layers.)

You know one more reader from lesson 00: *attention*, which looks at any word directly. How it decides where to look is for lesson 06; what it costs in hops you can guess now. Once you have guessed, the picture goes to 32 words; then set *dilation* to *with*.
"""

# %% kind="predict"
predict("05", "hops-at-32", PathRace())

# %% [markdown] kind="text"
r"""
| at 32 words | hops | in general, n words |
|---|---|---|
| recurrent network | 31 | n − 1 |
| convolution, width 3 | 16 | (n − 1) / 2, rounded up |
| the same with gaps 1, 3, 9, 27 | 4 | log₃ n, rounded up |
| attention | 1 | 1 |

(The small ring in the picture is a layer that hands the word on without moving it: 31 = 1 + 3 + **0** + 27.)

Two different things get better at once, so keep them apart. **Hops** say how often something is handed on: that is about *hearing*. **Steps** say what must wait for what: that is about *time*. A stack of 16 layers over 32 words has 16 steps, since in each layer all windows are computed at the same time. And all of it is about reading. A translation is still *written* word by word, by every system of this course.
"""

# %% kind="quiz"
quiz("05", "hops")

# %% [markdown] kind="text" contents="designing a stack that reaches 40 words with the fewest matrices"
r"""
## 4 · The cheapest stack that hears 40 words

Few hops are worth something. What do they cost? Every place of a kernel is a matrix, so a layer of width $k$ costs $k$ matrices, whatever its dilation, and a stack the **sum** of its widths. A way from a word to the output is a choice of one place in every layer: so a stack has as many ways as the **product** of its widths, and hears at most so many words.
"""

# %% [markdown] kind="text" exercise="cheapest_cnn"
r"""
You may choose the number of layers, each width and each dilation. Find the design that costs the fewest matrices, such that **each** of the last `n_words` words has at least one way to the output. (Seeing the 40th word back and skipping the 17th does not count.)

On paper first: which dilations let two layers of width 2 hear four words in a row? And three layers eight? Then write it for any number of words: a search over widths is fine.
"""

# %% kind="exercise" exercise="cheapest_cnn" title="The cheapest stack" difficulty=3 importance=4 track="core"
def cheapest_cnn(n_words):
    """A number of words  ->  widths, dilations: two lists, one entry per layer"""
    # solution
    def best_widths(n):
        if n <= 1:
            return []
        designs = [[k, *best_widths(-(-n // k))] for k in range(2, min(n, 7) + 1)]
        return min(designs, key=sum)

    widths, dilations = best_widths(n_words), []
    for layer in range(len(widths)):
        dilations.append(1 if layer == 0 else dilations[-1] * widths[layer - 1])
    return widths, dilations
    # end solution

# %% kind="check" exercise="cheapest_cnn"
check("cheapest_cnn", cheapest_cnn)

# %% [markdown] kind="hints" exercise="cheapest_cnn"
r"""
### A nudge
Two layers of widths 3 and 4 have 3 · 4 = 12 ways. Which dilations make all 12 end at different words, without a hole?

---
### Step by step
1. Dilations that waste nothing: 1 for the first layer; for each further one the product of all widths below it. (Like the digits of a number: ones, tens, hundreds.)
2. So look for whole numbers with product at least `n_words` and the smallest sum. Try all combinations of widths from 2 to 7 with up to five layers (`itertools.combinations_with_replacement`), or let a function call itself: choose the first width $k$, then the rest must cover $n / k$ words, rounded up.

---
### "It hears all 40 words and costs 12"
You are close: 3 · 3 · 3 · 3 = 81 is more than needed. Which product lies just above 40?
"""

# %% kind="see"
widths, dilations = yours("cheapest_cnn")(40)
designs = {"one layer of width 40": [40], "20 layers of width 3": [3] * 20}
designs[f"{len(widths)} layers with gaps"] = widths
for name, design in designs.items():
    n_parameters = sum(design) * 64 * 64  # with 64 channels, every matrix is 64 by 64
    print(f"{name:22} {sum(design):>3} matrices, {n_parameters:>7,} numbers to learn")

# %% [markdown] kind="text" contents="why a word inside the receptive field may hardly count, measured with gradients"
r"""
Gaps make a far word cheap: eleven matrices where the plain stack needs sixty. (A recurrent layer has just two, for any length. Its price is the hops.)

## 5 · Seen is not heard

Is a word that is *seen* also *heard*? Count the ways. Two plain layers of width 3 see five words. The first word has **one** way to the output: the first place in both layers. The second has two, the middle one three:

| word | 1 | 2 | 3 | 4 | 5 |
|---|---|---|---|---|---|
| ways to the output | 1 | 2 | 3 | 2 | 1 |

With more layers the middle gets more and more of them. Sixteen layers see 33 words; of all {result:lesson_05/16 plain layers/million ways:.0f} million ways the middle word has {result:lesson_05/16 plain layers/million ways of the middle word:.0f} million, the first word still has one.

How strongly is a word heard? Lesson 02 gave us the tool: the length of the gradient from the output back to that word. It says how much the output moves when the word is nudged. (The output is a vector, and a gradient needs one number: so the vector's numbers are added up with random weights, `direction` in the code.) We measure at random starting numbers, as on the first day of training, at the last output, and average over 64 random sentences.
"""

# %% kind="code" name="influence"
def random_stack(dilations, channels=32, width=3):
    """Layers of convolution and tanh; at random, so that vectors keep their size."""
    generator = torch.Generator().manual_seed(0)
    shape, scale = (channels, channels, width), (channels * width) ** -0.5
    kernels = [scale * torch.randn(shape, generator=generator) for _ in dilations]

    def network(words):
        for kernel, dilation in zip(kernels, dilations, strict=True):
            padded = F.pad(words.mT, ((width - 1) * dilation, 0))  # .mT: words last
            words = torch.tanh(F.conv1d(padded, kernel, dilation=dilation)).mT
        return words

    return network


def influence(network, n=33, channels=32):
    """The length of the gradient from the last output to each word."""
    generator = torch.Generator().manual_seed(1)
    words = torch.randn(64, n, channels, generator=generator, requires_grad=True)
    direction = torch.randn(64, channels, generator=generator)
    (network(words)[:, -1] * direction).sum().backward()
    return words.grad.norm(dim=-1).mean(dim=0)

# %% kind="estimate"
def largest_over_first():
    influences = influence(random_stack([1] * 16))
    return (influences.max() / influences[0]).item()


estimate("05", "loudest-over-first", largest_over_first)

# %% [markdown] kind="text"
r"""
Now the same for plain stacks of 4, 8 and 16 layers, for four layers with gaps 1, 3, 9, 27, and for a plain recurrent layer: your reader of lesson 02, with the weights that torch starts from. Each curve is divided by its largest point; less than a millionth is drawn as a millionth.
"""

# %% kind="predict"
torch.manual_seed(5)
rnn, read_sequence = torch.nn.RNN(32, 32), yours("read_sequence")
with torch.no_grad():
    bias = rnn.bias_ih_l0 + rnn.bias_hh_l0
weights = [rnn.weight_ih_l0, rnn.weight_hh_l0, bias]
networks = {
    "4 layers": random_stack([1] * 4),
    "8 layers": random_stack([1] * 8),
    "16 layers": random_stack([1] * 16),
    "4 with gaps": random_stack([1, 3, 9, 27]),
    "plain RNN": lambda words: read_sequence(words, torch.zeros(64, 32), *weights),
}
influences = {name: influence(network) for name, network in networks.items()}
relative = {
    name: (row / row.max()).clamp(min=1e-6) for name, row in influences.items()
}
figure = views.lines(
    range(1, 34), relative, log_y=True,
    x_name="word (33 is the last)", y_name="influence",
    title="How well each word is heard",
    alt="Five curves, one for each reader: the influence of each of 33 words.",
)
predict("05", "who-is-heard", figure)

# %% [markdown] kind="text"
r"""
The plain stacks are hills. Four layers do not see the first word at all; sixteen see it and hear it about two thousand times more weakly than the middle. (The root of five million is {result:lesson_05/16 plain layers/root of the ways of the middle word:,.0f}. Random ways partly cancel, as in 100 coin tosses heads and tails differ by about 10: what counts is the root of their number.) The *last* word fares no better than the first: it too has one way only. The plain recurrent layer hears the last words and loses the first. The stack with gaps is flat: every word has one way.

So a word is lost by many hops, and by ways that are shared out unfairly. But gates can hold a word over many hops, as lesson 03 showed. The next picture sets an LSTM beside the plain RNN. With the usual forget bias of 1 it hears the first word about a thousandth as well as the loudest. With the bias that your design gives for 32 steps, no word is heard less than a quarter as well: the price of a hop is set by the gates, and each of the 32 must stay open.
"""

# %% kind="see"
torch.manual_seed(5)
lstm = torch.nn.LSTM(32, 32, batch_first=True)
designed = float(yours("design_memory")(32)["forget_bias"])  # of lesson 03
compared = {"plain RNN": relative["plain RNN"]}
for name, bias in {"LSTM, bias 1": 1.0, "LSTM, your bias": designed}.items():
    with torch.no_grad():
        lstm.bias_ih_l0[32:64], lstm.bias_hh_l0[32:64] = bias, 0.0
    row = influence(lambda words: lstm(words)[0])
    compared[name] = row / row.max()
views.lines(
    range(1, 34), compared, x_name="word (33 is the last)", y_name="influence",
    title="The same 32 hops, without gates and with them", log_y=True,
    alt="The plain RNN falls below a millionth, the LSTM with bias 1 to a thousandth; "
    "with the designed bias it stays above a quarter.",
)

# %% [markdown] kind="text" track="stretch"
r"""
**Does it matter for learning?** All this is the start of training, and training may mend it, if it gets going. A task: 32 random symbols out of four, name the **first** one. Blind guessing is right one time in four.
"""

# %% kind="train" name="learn" ignore_output=true track="stretch"
def learn_to_name(position, dilations, steps=150, channels=16, rate=3e-3):
    """Trains a stack to name one of 32 symbols; the accuracy of the last 30 steps."""
    generator = torch.Generator().manual_seed(0)
    embedding = torch.randn(4, channels, generator=generator)
    scale = (5 / 3) / (3 * channels) ** 0.5  # 5/3 makes up for what tanh takes away
    shape = (channels, channels, 3)
    kernels = [scale * torch.randn(shape, generator=generator) for _ in dilations]
    classifier = torch.zeros(channels, 4)
    parameters = [part.requires_grad_() for part in (embedding, classifier, *kernels)]
    optimizer, accuracies = torch.optim.Adam(parameters, lr=rate), []
    for _ in range(steps):
        symbols = torch.randint(4, (32, 32), generator=generator)
        hidden = F.pad(embedding[symbols].mT, (2 * sum(dilations) - 31, 0))
        for kernel, dilation in zip(kernels, dilations, strict=True):
            hidden = torch.tanh(F.conv1d(hidden, kernel, dilation=dilation))
        logits, target = hidden[:, :, -1] @ classifier, symbols[:, position]
        optimizer.zero_grad()
        F.cross_entropy(logits, target).backward()
        optimizer.step()
        accuracies.append((logits.argmax(dim=1) == target).float().mean().item())
    return sum(accuracies[-30:]) / 30

# %% kind="train" ignore_output=true track="stretch"
plain, dilated = learn_to_name(0, [1] * 16), learn_to_name(0, [1, 3, 9, 27])
print(f"16 plain layers: {plain:.0%} right     4 layers with gaps: {dilated:.0%} right")
assert plain < 0.4 < 0.9 < dilated

# %% [markdown] kind="text" track="stretch"
r"""
The plain stack does not get off the ground, though it sees the word. Asked for a symbol from the *middle*, the same stack learns it (in twice as many steps; try `position=15`). All places are 16 hops away here, so it is not the hops as such: what the ends lack is ways. (Deep stacks of convolutions can be trained; most of those that are have a path around each layer, which lesson 13 builds.)
"""

# %% kind="explain"
explain("05", "sees-but-hears")

# %% [markdown] kind="text" contents="a translator of 2013 that folds a sentence, and the words it loses"
r"""
## 6 · RCTM: convolutions squeeze, a recurrence writes

In 2013, a year before the encoder-decoders of lesson 04, Kalchbrenner and Blunsom built a translator of this kind, the *recurrent continuous translation model*, RCTM. Its encoder **folds** the sentence: a convolution of width 2, then one of width 3 over what is left, then 4, until one vector remains. Seven words become 6, then 4, then 1. Nothing is filled up with zeros, so each layer makes the row shorter. One difference to section 1: each number of a word's vector has its own kernel, so the {result:lesson_05/numbers in the summary/rctm:.0f} numbers never mix in the fold. (This is the authors' model I; their model II stops folding earlier and keeps several vectors.) From that vector a plain recurrent network writes the translation. The authors let it choose among the translations that another system proposed; ours must translate alone.

Ours has the same number of parameters as the seq2seq of lesson 04, and the same training. The comparison is not a clean one, though: RCTM's vector has {result:lesson_05/numbers in the summary/rctm:.0f} numbers, where seq2seq hands over four times as many, its kernels mix no numbers, and its decoder is a plain recurrent network. So do not ask which is better, but *which words get lost*.
"""

# %% kind="diagram" hide_input=true
notes = {"stack": "2, 3, 4, …", "one vector": "96 numbers", "decoder": "recurrent"}
views.diagram(PARTS, ARROWS, lit=("stack", "one vector"), notes=notes, title=TITLE)

# %% kind="example"
rctm, seq2seq = load_shipped("rctm"), load_shipped("seq2seq")
decode = yours("greedy_decode")  # of lesson 04: it drives any translator


def translation(system, text):
    words = decode(system.model, system.tokenizer.encode(text), 40)
    return system.tokenizer.decode(words)


for text in (
    "the cat drank the water because it was thirsty",
    "the cat drank the water because it was cold",
    "a goat eats the bread because it is hungry",
    "three black horses eat the apples in the box because they are hungry",
):
    print(text)
    print("    RCTM    ", translation(rctm, text))
    print("    seq2seq ", translation(seq2seq, text))

# %% [markdown] kind="text"
r"""
Over all lengths RCTM gets {result:toy_ladder/rctm/scores/test/exact:.1%} of the test sentences exactly right, seq2seq {result:toy_ladder/seq2seq/scores/test/exact:.1%}. Look at what is lost: the horses eat bread from a table instead of apples in a box. Does it matter *where* a word stands? Take the 200 pairs of sentences that differ in their **last word alone** (*thirsty* or *cold*), so that *it* is somebody else. Translate both, and count the pairs whose two translations are *the same to the letter*: there the last word made no difference. To compare, change the **animal** instead, further to the front.
"""

# %% kind="code" name="twins"
ANIMALS = "cat dog horse bird rabbit wolf fox cow mouse goat frog hen".split()
pairs = splits(sizes={"coreference": 400}).coreference
sources = [pair.src_text for pair in pairs]
other_last_word = list(zip(sources[::2], sources[1::2], strict=True))
next_animal = dict(zip(ANIMALS, ANIMALS[1:] + ANIMALS[:1], strict=True))
other_animal = []
for text in sources[::2]:
    words = text.split()
    positions = [position for position, word in enumerate(words) if word in next_animal]
    if positions:
        words[positions[0]] = next_animal[words[positions[0]]]
        other_animal.append((text, " ".join(words)))


def percent_identical(system, twins):
    """The percentage of twins whose two translations are the same."""
    texts = [text for pair in twins for text in pair]
    targets = [t.target for t in translate(texts, system.model, system.tokenizer)]
    same = [a == b for a, b in zip(targets[::2], targets[1::2], strict=True)]
    return 100 * sum(same) / len(same)

# %% kind="predict" ignore_output=true
percentages = [
    percent_identical(system, twins)
    for system in (rctm, seq2seq) for twins in (other_last_word, other_animal)
]
labels = ["RCTM, last word", "RCTM, animal", "seq2seq, last word", "seq2seq, animal"]
figure = views.bars(
    percentages, labels=labels, high=100, digits=0, name="same translation, %",
    title="Two sentences, one word changed: how often the same French?",
    alt=". ".join(f"{a}: {b:.0f}%" for a, b in zip(labels, percentages, strict=True)),
)
predict("05", "twins", figure)

# %% [markdown] kind="text"
r"""
In most pairs RCTM does not notice that the last word has changed, and it always notices the animal. You may have seen it in the goat above: *hungry* became *il est bon*, it is good. So *it* becomes *il* or *elle* by habit: over three trainings {result:toy_ladder/rctm/scores/coreference/pronouns:.0%} of the pronouns are right, and a coin has 50%.

Is it the ways again? Half: in a fold the ends have few and the middle many, and training has mended the left end, not the right one. By the gradient, as in section 5, the trained RCTM hears the last word, on which all hangs, about a third as well as the loudest.

So this encoder treats places unequally, and pays for it just where it matters. That squeezing by convolution is worse *as such* the pairs do not show: a seq2seq cut down to 32 numbers a state (128 in all, and fewer parameters) gets {result:state_size/32/scores/test/exact:.0%}, less than RCTM. And convolution itself is no dead end: {term:ConvS2S} (Gehring and others, 2017) reads with stacks of it and does *not* squeeze. It gets {result:toy_ladder/convs2s/scores/test/exact:.1%} here, with attention between reader and writer.
"""

# %% [markdown] kind="text" contents="how a convolution predicts the next word without seeing it"
r"""
## 7 · When a convolution writes

A network that *writes* guesses the next word from the words so far. If a convolution does that, each window must end with its word: what comes after is what it has to guess. There shall be as many outputs as words, so zeros stand before the sentence where the first windows reach out of it.
"""

# %% [markdown] kind="text" exercise="look_back"
r"""
Somebody has written a first version. Does it do what its docstring says? Make its check pass.
"""

# %% kind="exercise" exercise="look_back" mode="bug" title="As many outputs as words" difficulty=2 importance=4 track="core"
def look_back(words, kernel):
    """words (n, channels), kernel (width, channels, out)  ->  (n, out)

    Output t depends on words t - width + 1 to t; kernel[-1] belongs to word t.
    """
    # bug
    n, width = len(words), len(kernel)
    left = (width - 1) // 2
    padded = torch.nn.functional.pad(words, (0, 0, left, width - 1 - left))
    return sum(padded[j : j + n] @ kernel[j] for j in range(width))
    # end bug
    # solution
    n, width = len(words), len(kernel)
    padded = torch.nn.functional.pad(words, (0, 0, width - 1, 0))
    return sum(padded[j : j + n] @ kernel[j] for j in range(width))
    # end solution

# %% kind="check" exercise="look_back"
check("look_back", look_back)

# %% [markdown] kind="hints" exercise="look_back"
r"""
### A nudge
Take width 3 and write down which words the first window holds. `pad(words, (0, 0, a, b))` puts `a` rows of zeros before the words and `b` behind them.

---
### Step by step
The shape is right and the sum is right; the windows stand in the wrong place. How many zeros does the first window need in front, if its *last* place is to show the first word?
"""

# %% [markdown] kind="text" exercise="test_looks_back"
r"""
A wrong place for the zeros raises no error, and a network trained with it looks wonderful: it copies the answer from the future. (Lesson 10 shows how that ends.) So write a test that catches it, and any other wrong `look_back` too. Some of those that the check tries are wrong for one width, one position or one channel only, so use several widths and channels, and compare every output. Correct implementations, however they are written, must pass.
"""

# %% kind="exercise" exercise="test_looks_back" mode="test" title="Write the test" difficulty=3 importance=3 track="stretch"
def test_looks_back(convolution):
    """Takes a function like look_back; raises if it is wrong."""
    # solution
    for width in (2, 3):
        words, kernel = torch.randn(6, 4), torch.randn(width, 4, 5)
        expected = torch.zeros(6, 5)
        for t in range(6):
            for back in range(min(width, t + 1)):
                expected[t] += words[t - back] @ kernel[width - 1 - back]
        torch.testing.assert_close(convolution(words, kernel), expected)
    # end solution

# %% kind="check" exercise="test_looks_back"
check("test_looks_back", test_looks_back)

# %% [markdown] kind="hints" exercise="test_looks_back"
r"""
### A nudge
Take random words and a random kernel. Which words does output t depend on, and which matrix does each of them meet? And is one width enough?

---
### Step by step
Six words with four channels, a kernel of width 3 with five output channels. In a loop over t, add up the word `back` positions earlier times the matrix `back` positions before the last, as long as there is such a word. Compare all outputs with `torch.testing.assert_close`. Do the same with width 2.
"""

# %% [markdown] kind="text" contents="a stack that reaches 43 words and skips many of them"
r"""
## Break it

Here is a stack of three layers, nine matrices. Its receptive field is {printed:holes/receptive field:} words, better than asked for in section 4.

> **Before you run it:** widths 3, 3, 3 and dilations 1, 5, 15. How many of the {printed:holes/receptive field:} words does it hear?
"""

# %% kind="break" name="holes"
print("receptive field:", fields([3, 3, 3], [1, 5, 15])[-1])
row = influence(random_stack([1, 5, 15]), n=43)
print("words heard:    ", int((row > 0).sum()))
print("one mark a word:", "".join("█" if size > 0 else "·" for size in row))

# %% [markdown] kind="text"
r"""
Three layers of width 3 have 27 ways, so they can never hear more than 27 words, however far they reach. The receptive field says how far the farthest word lies, not whether all between are heard. Dilations that grow faster than the widths leave holes. No shape and no error tells; the gradient does.
"""

# %% [markdown] kind="text" track="short"
r"""
## Five wishes

Whatever is to cure the bottleneck of lesson 04 should grant these. Lesson 06 will be measured by them.

| | the wish | why |
|---|---|---|
| ☐ | **more information:** more than one vector for a whole sentence | exact match falls with length, in 04 |
| ☐ | **short distance:** few hops between any two words | 31 hops: a plain network loses the first word, gates must be set to hold it |
| ☐ | **equal treatment:** no place is worse off than another | a plain recurrent network favours the last words, a plain stack of convolutions the middle ones |
| ☐ | **emphasis:** the sentence decides which words count most | a kernel gives a place its share, whatever word stands there |
| ☐ | **looking both ways:** a word may need what comes after it | whether *the* is *le* or *la* hangs on the noun behind it |
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself
"""

# %% kind="quiz"
quiz("05", "closing")

# %% [markdown] kind="instructor"
r"""
**Before the racetrack (2 min).** Have the room pass a whispered sentence along a row of eight people, then have everybody hear it at once. Ask: what got lost, and where? Expected: words changed, most of them in the middle of the chain. Follow-up: which of the two is a recurrent network? What would a convolution be? (Groups of three whisper to the next row.)

**Section 4 on a board (15 min).** Let pairs write their designs with cost; collect the cheapest. Expected path: 20 layers of 3 (cost 60) → one layer of 40 (40) → doubling gaps (12) → threes (12) → 5·3·3, 4·4·3, 3·3·3·2 or 2·2·2·5 (11). Somebody will offer width 2 with dilation 39, cost 2: ask who hears the 17th word.

**Learners will say / one-line answer**

| they say | answer |
|---|---|
| "sixteen layers see it, so they know it" | Look at the hill: two thousand times weaker. |
| "attention is one hop, so it translates in one step" (M43) | One hop to *read*; writing is word by word. |
| "RCTM fails because convolutions are bad" | ConvS2S: {result:toy_ladder/convs2s/scores/test/exact:.1%}. It does not squeeze. |
| "the receptive field is the product of the widths" | Only with gaps that just fit. |

**If time is short**, cut section 7 and the training cell of section 5; keep the racetrack, the design and the pairs.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | what it is |
|---|---|
| convolution, kernel | the same small sum of products at every window of neighbours |
| receptive field | the words an output can depend on: each layer adds (width − 1) · dilation |
| dilation | the step between the places of a window |
| hop, path length | one handing-on; how many lie between two words |

- From the first of 32 words to the last: 31 hops in a recurrent network, 16 in a plain convolution, 4 with gaps, 1 with attention.
- Seen is not heard. In a plain stack of 16 layers the ends have one way each, and are heard about two thousand times more weakly than the middle.
- RCTM folds a sentence into one vector; in most pairs it does not notice the last word.
- Five wishes for lesson 06: more information, short distance, equal treatment, emphasis, looking both ways.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Kalchbrenner and Blunsom, *Recurrent Continuous Translation Models* (2013), section 3: how convolutions fold a sentence into one vector, with a drawing. [ACL D13-1176](https://aclanthology.org/D13-1176/)
- Luo and others, *Understanding the Effective Receptive Field in Deep Convolutional Neural Networks* (2016): why the middle of a receptive field counts most, derived and measured in pictures. [arXiv 1701.04128](https://arxiv.org/abs/1701.04128)
- Vaswani and others, *Attention Is All You Need* (2017), section 4 and its table 1: path lengths side by side. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
"""
