# Lesson 05 · the source. Edit this file, then run `python3 -m course_lib build 05`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 05 · The distance between words

**The question:** how many steps separate two words that depend on each other, and why does it matter?

About {minutes} minutes. You need recurrent networks ([lesson 02](02_recurrent_networks.ipynb)) and the encoder-decoder ([lesson 04](04_encoder_decoder.ipynb)).
Section 4 also uses gradients (lesson 01). <!-- core -->
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **describe** what a convolution computes, and how stacking and dilation widen the receptive field;
2. **implement** a convolution; <!-- core -->
3. **count** the hops between two words in a recurrent network and in a stack of convolutions;
4. **measure** how much each word influences an output; <!-- core -->
5. **list** five requirements for a better encoder.
"""

# %% [markdown] kind="instructor"
r"""
**Open with (2 min)** a whispered sentence. Eight people in a row pass it on, then everyone hears it directly. Ask what got lost and where. Which of the two resembles a recurrent network? What would a stack of convolutions look like? Expected: groups of three, each of which passes what it heard on to the next row.

**If time is short,** leave out the exercise and show the comparison with torch instead. Keep the prediction about hops and the influence curves.
"""

# %% kind="setup"
import torch
from torch.nn import functional as F

from course_lib.teaching import check, predict, quiz, start_lesson, yours
from lessons.l05_distance_between_words import (
    PathRace, draw_stacks, key_picture, landscape, random_lstm, random_rnn,
    random_stack,
)

start_lesson("distance_between_words", seed=5)

# %% [markdown] kind="text"
r"""
To translate *it* into French, a network has to know about *cat*. In three kinds of network, that takes paths of different length. Each *hop* passes information on, from one state or layer to the next.
"""

# %% kind="picture" name="key picture" hide_input=true
key_picture.draw()

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer these from memory before you read on.
"""

# %% kind="recall"
quiz("05", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · Windows of neighbouring words

In *the cat drank the water because it was thirsty*, the French word for *it* depends on *cat*, five words earlier. The encoder of lesson 04 has to carry *cat* through every step in between, and in longer sentences there are many more. Are there networks with shorter paths?

A recurrent network processes one word at a time. A {term:convolution} instead computes each output from a *window* of neighbouring words, with the same weights for every window. No window has to wait for another, so all outputs can be computed in parallel. The weights are called the {term:kernel}: one weight for each position of the window or, if words are vectors, one matrix for each position. The number of words in the window is the kernel's *width* (`kernel_size` in PyTorch).
"""

# %% [markdown] kind="text" track="core" contents="an example by hand, padding, exercise 1 · A convolution over words"
r"""
**By hand.** Take four words, each represented by a single number: 1, 0, 2, 3. With the kernel (1, 2, 3), two windows fit:

- The first window is (1, 0, 2), and its output is 1 · **1** + 0 · **2** + 2 · **3** = 7.
- The second window is (0, 2, 3), and its output is 0 · **1** + 2 · **2** + 3 · **3** = 13.

To get one output per word, we can pad the sentence with zeros. In a {term:causal convolution}, the zeros all come *before* the sentence, so the window of each word ends with that word: (0, 0, **1**), (0, 1, **0**), (1, 0, **2**), (0, 2, **3**). No output depends on a later word, which is what we need when a network predicts the next word. The figures in this lesson show causal convolutions.
"""

# %% [markdown] kind="formula" track="core"
r"""
When words are vectors, each position $j$ of the window has its own matrix $K_j$, and the output is a vector too. Here, unlike in lesson 02, we count from 0, as in code:

$$ y_t \;=\; \sum_{j=0}^{k-1} K_j\, x_{t+j} \qquad\qquad t = 0, \dots, n-k $$

| symbol | in code | shape |
|---|---|---|
| $x_t$ | `words[t]` | (channels,) |
| $K_j$ | `kernel[:, :, j]` | (out, channels) |
| $y_t$ | `outputs[t]` | (out,) |

The components of a word's vector are called *channels*. The kernel holds all $k$ matrices in one tensor of shape (out, channels, width), the layout that PyTorch uses.
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** Loop over the positions of the window, not over the windows. `words[j : j + n_windows]` contains the word at position $j$ of *every* window. A result that is transposed or has the wrong width usually needs `.T` on the kernel.
"""

# %% [markdown] kind="text" exercise="convolve"
r"""
Implement this formula, using only the windows that fit entirely within the sentence. You can assume that the sentence has at least as many words as the window. Return a tensor with one row for each window. You need only one loop, over the positions of the window: for each position, you can process all windows at once.
"""

# %% kind="exercise" exercise="convolve" title="A convolution over words" difficulty=3 importance=5 track="core"
from lessons.l05_distance_between_words.solutions import convolve

# %% kind="check" exercise="convolve"
check("convolve", convolve)

# %% [markdown] kind="hints" exercise="convolve"
r"""
### Which words?
How many windows fit? Which words are at the *first* position of these windows, and which are at the second?

---
### Step by step
1. The width is the size of the kernel's last axis, and there are n − width + 1 windows.
2. For position 0, take that many words from the start of the sentence. For position 1, start one word later, and so on.
3. Multiply each of these slices by the matrix of its position, and add up the results.

---
### If the shapes don't match
The words are the rows of a slice, and the matrix has shape (out, channels). So the slice has to be multiplied by the *transposed* matrix. If the addition fails, check that every slice contains exactly as many words as there are windows.
"""

# %% kind="library" track="core"
generator = torch.Generator().manual_seed(5)
words = torch.randn(9, 4, generator=generator)
kernel = torch.randn(6, 4, 3, generator=generator)

from_torch = F.conv1d(words.T, kernel).T  # torch expects (channels, words)
torch.testing.assert_close(yours("convolve")(words, kernel), from_torch)
print("9 words, width 3:", len(from_torch), "outputs, the same as torch's")

# %% [markdown] kind="text" track="short"
r"""
## 2 · Receptive field and dilation

A window of three words is too narrow to contain both *cat* and *it*. To connect words that are further apart, we can stack convolutions: the second layer slides its window over the *outputs* of the first. Each of its three inputs depends on a window of three words. These windows overlap, so together they cover five words. The words that an output depends on are its {term:receptive field}. Every further layer of width 3 adds two words to it; in general, a layer adds its width minus one.

A window doesn't have to contain *adjacent* positions: it can also take every second or third one. The step from one position of the window to the next is called its {term:dilation}, so an ordinary window has dilation 1. A layer extends the receptive field by (width − 1) · dilation positions, and a larger dilation needs no extra weights. For example, three layers of width 3 with dilations 1, 3 and 9 cover 1 + 2 + 6 + 18 = 27 words.
"""

# %% kind="see" track="core" contents="two stacks, drawn, and a question about receptive fields"
draw_stacks(
    {"Dilation 1 in both layers": [1, 1], "Dilation 1, then 3": [1, 3]}, n_words=9
)

# %% [markdown] kind="text" track="core"
r"""
The lines show how information reaches the last output. Without dilation, its receptive field covers five words. With dilation 1 in the first layer and 3 in the second, it covers nine words without skipping any. If the dilation grows too fast from layer to layer, some words in between are skipped.
"""

# %% [markdown] kind="instructor"
r"""
**They say:** "The receptive field is the product of the widths." **Answer:** Only if each dilation is the product of the widths below it.
"""

# %% kind="quiz" track="core"
quiz("05", "field")

# %% [markdown] kind="text" track="short"
r"""
## 3 · Counting hops

For the last output to depend on the first word, information has to be passed on: from one hidden state to the next in a recurrent network, or from one layer to the next in a stack of convolutions. We call each of these steps a {term:hop}. The number of hops between two words is their {term:path length}.

In a {term:causal convolution}, the window of each word ends with that word. With width 3, it also contains the two words before it, so information moves at most two positions forward per layer.
"""

# %% [markdown] kind="text" track="short"
r"""
In a plain RNN or a convolution, every hop multiplies a vector by a weight matrix, mixes the result with information about other words and applies a nonlinearity. An LSTM's cell state is only scaled and added to. How many hops does it take to get from the first word of a sentence to the last?
"""

# %% [markdown] kind="instructor"
r"""
**Let everyone draw (3 min)** a causal convolution of width 3 for eight words and count how far one layer reaches: two positions. Learners who answer 11 have divided by 3 instead of 2.
"""

# %% kind="predict" track="short"
predict("05", "hops-at-32", PathRace())

# %% [markdown] kind="text" track="short"
r"""
| network | hops across 32 words | across $n$ words |
|---|---|---|
| recurrent network | 31 | $n - 1$ |
| convolutions of width 3 | 16 | $(n - 1) / 2$, rounded up |
| convolutions of width 3, dilations 1, 3, 9, … | 4 | $\log_3 n$, rounded up |

Convolutions also save time: all windows of a layer can be computed in parallel, so four layers take only four sequential steps.
"""

# %% [markdown] kind="text" contents="how strongly each word influences the output, measured with gradients"
r"""
## 4 · How much influence does a word have?

The receptive field tells us whether a word *can* affect an output. It doesn't tell us how much. To measure that, we use gradients, as in lesson 02. By the **influence** of a word we mean the norm of the gradient of the last output with respect to that word's vector: it tells us how much the output can change if the vector changes a little. PyTorch computes gradients of single numbers, so the code first takes the dot product of the output and a random vector.
"""

# %% kind="code" name="influence"
def influence(network, n_words=33):
    """The gradient norm of each word, averaged over 64 random sentences."""
    generator = torch.Generator().manual_seed(1)
    words = torch.randn(64, n_words, 32, generator=generator, requires_grad=True)
    direction = torch.randn(64, 32, generator=generator)
    (network(words)[:, -1] * direction).sum().backward()
    return words.grad.norm(dim=-1).mean(dim=0)

# %% [markdown] kind="text"
r"""
We compare four networks on sentences of 33 words. All of them have random weights, as they would before training:

- 16 convolutional layers without dilation;
- four convolutional layers with dilations 1, 3, 9 and 27;
- a plain RNN;
- an LSTM whose forget gates are set close to 1 (a bias of 4 gives $\sigma(4) \approx 0.98$), so that it keeps most of its cell state at every step.

Each curve is the average over three random seeds, divided by its maximum.
"""

# %% kind="code" name="networks"
networks = {
    "16 layers": [random_stack([1] * 16, seed) for seed in range(3)],
    "4 dilated layers": [random_stack([1, 3, 9, 27], seed) for seed in range(3)],
    "RNN": [random_rnn(seed) for seed in range(3)],
    "LSTM": [random_lstm(seed, forget_bias=4.0) for seed in range(3)],
}
influences = {
    name: torch.stack([influence(network) for network in three])
    for name, three in networks.items()
}

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min)** before the prediction. "All words are in the receptive field. Does each of them matter equally?" Expected: no. Long paths could lose something, and some words have more paths than others. Most people forget the second reason, which turns out to explain the 16 layers.
"""

# %% kind="predict" hide_input=true
means = {name: rows.mean(dim=0) for name, rows in influences.items()}
curves = {name: row / row.max() for name, row in means.items()}
predict("05", "who-is-heard", landscape.draw(curves))

# %% [markdown] kind="instructor"
r"""
**On the board (5 min).** Draw the left stack of section 2 and count the paths together: 1, 2, 3, 2, 1. Have learners predict the row for three layers before they meet it in the quiz (1, 3, 6, 7, 6, 3, 1).

| they say | answer |
|---|---|
| "The 16 layers see the word, so they can use it." | The first word has one path, the middle word {result:lesson_05/16 layers/million paths of the middle word:.1f} million. Look at the curve. |
| "Long paths always lose information." | The LSTM's path is as long as the RNN's. What counts is how much each hop preserves. |
"""

# %% [markdown] kind="text"
r"""
All 33 words are in every network's receptive field, but in two of the networks, their influence differs by orders of magnitude.

- **RNN.** The further back a word is, the longer its path. With torch's initial weights, each hop shrinks the gradient, so almost nothing is left for the early words. This is the vanishing gradient of lesson 02.
- **LSTM.** The paths are as long as in the RNN, and yet every word keeps a good part of its influence. So a long path isn't harmful in itself: what counts is how much each hop preserves.
- **16 layers.** Every word is exactly 16 hops away, so path length can't explain the peak in the middle. A better candidate is the *number* of paths. You can count them in the left-hand figure of section 2: the words at positions 4 to 8 have 1, 2, 3, 2 and 1 paths to the output. In 16 layers, there are {result:lesson_05/16 layers/million paths of the middle word:.1f} million from the middle word, but still only one from the first and one from the last.
- **4 dilated layers.** Every word has one path of four hops, and the curve is nearly flat.

If the number of paths is the reason, we can predict the height of the peak. With random weights, the contributions of many paths partly cancel, so their sum should grow only like the square root of their number: $\sqrt{{result:lesson_05/16 layers/million paths of the middle word:.1f} \text{ million}} \approx {result:lesson_05/16 layers/root of the paths of the middle word:,.0f}$. Here is the measured ratio of the largest influence to that of the first word, for each seed:
"""

# %% kind="see" name="ratios"
for seed, row in enumerate(influences["16 layers"]):
    ratio = (row.max() / row[0]).item()
    print(f"seed {seed}: {round(ratio, -2):,.0f}")

# %% [markdown] kind="text"
r"""
All three are within a factor of 1.5 of the prediction, although it ignores the tanh in each layer. This supports the explanation. A word inside the receptive field may still have almost no influence. Training can change these curves, but it relies on gradients, and at first the gradient for such a word is tiny.
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (4 min)** before you show the table. "What would the ideal encoder do?" Collect requirements and sort them into the five rows. Someone usually mentions "look at the important words", which is the fourth.

**They say:** "Dilated convolutions solve everything." **Answer:** Their weights are fixed: they can't depend on what a word means.
"""

# %% [markdown] kind="text" track="short"
r"""
## 5 · Five requirements

What do we want from an architecture that solves the problems of lesson 04? Here are five requirements. Lesson 06 meets most of them.

| | requirement | why |
|---|---|---|
| ☐ | **More information:** more than one vector for a whole sentence | with one vector, accuracy drops as sentences get longer (lesson 04) |
| ☐ | **Short distance:** few hops between any two words, ideally one | each hop can lose something, and the hops of a recurrent network have to wait for each other |
| ☐ | **Equal treatment:** no position is at a disadvantage | in a recurrent network, the first words have the longest path to the final state |
| ☐ | **Emphasis:** the sentence itself decides which words matter most | a kernel's weights depend on the position in the window, not on the word |
| ☐ | **Looking both ways:** each word can use what comes after it | whether *the* becomes *le* or *la* depends on the noun that follows |
"""

# %% [markdown] kind="text" track="short"
r"""
A stack of dilated convolutions can come close to four of the five. It computes one vector per word, its paths are short and equally long for every position, and if each window is centred on its word, it looks both ways. What it lacks is the fourth, emphasis: a trained kernel has the same weights for every sentence.

## Check yourself
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on the encoder with two RNNs. "Looking both ways" is tempting, but each of the two final states comes from a network that processes the sentence in one direction only.
"""

# %% kind="quiz"
quiz("05", "closing")

# %% [markdown] kind="instructor"
r"""
**Wrap up (2 min).** Leave the five requirements on the board. At the end of lesson 06, learners tick the ones that attention meets.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | what it is |
|---|---|
| convolution, kernel | the same weighted sum for every window of neighbours, and its weights |
| receptive field | the words that an output depends on; each layer extends it by (width − 1) · dilation | <!-- core -->
| hop, path length | one step that passes information on; the number of hops between two words |
| influence | the norm of the gradient of an output with respect to a word | <!-- core -->

- A word inside the receptive field can still have almost no influence: with 16 layers, the most influential word had {printed:ratios/seed 0:} to {printed:ratios/seed 1:} times as much as the first. <!-- core -->

**Still missing.** No network so far meets all five requirements. The decoders of lesson 04 still get a single vector, and they can't go back to the words they need. Lesson 06 changes both.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Van den Oord et al., *WaveNet: A Generative Model for Raw Audio* (2016), section 2.1: stacks of dilated causal convolutions. [arXiv 1609.03499](https://arxiv.org/abs/1609.03499)
- Luo et al., *Understanding the Effective Receptive Field in Deep Convolutional Neural Networks* (2016): the influence curves of section 4, derived and measured. [arXiv 1701.04128](https://arxiv.org/abs/1701.04128) <!-- core -->
"""
