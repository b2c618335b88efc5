# Lesson 13 · the source. Edit this file, then run `python3 -m course_lib build 13`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 13 · The Transformer block

**The question:** what does attention need around it so that many layers can be trained?

About {minutes} minutes. You need multi-head attention from [lesson 12](12_many_heads.ipynb), masks from [lesson 10](10_masks.ipynb), the variance of a sum from [lesson 08](08_query_key_value.ipynb) and the vanishing gradient from [lesson 02](02_recurrent_networks.ipynb).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **explain** what happens to the words when attention layers are stacked, and what a residual connection changes;
2. **write** layer normalisation, the feed-forward network and a block that works in a trained translator;
3. **derive** how large initial weights should be;
4. **write** the block as an `nn.Module` with parameters, dropout and initialisation of its own;
5. **compare** pre-norm and post-norm at several depths and with two initial scales. <!-- core -->
"""

# %% [markdown] kind="instructor"
r"""
**Open with (2 min)** two numbers, 0 and 8. "Each becomes ¾ of itself plus ¼ of the other. And again. And again." Learners call out the results: 2 and 6, 3 and 5, 3.5 and 4.5. "What is left after 24 layers?" That's what stacked averages do.

**If time is short,** leave out section 8 and the paragraph on BatchNorm. Keep both versions of the block.
"""

# %% kind="setup"
import json

import torch
from torch import nn

from course_lib import views
from course_lib.formatting import fixed
from course_lib.layers import Block
from course_lib.runtime import data_path
from course_lib.teaching import check, predict, quiz, start_lesson, yours
from course_lib.text import make_batch
from course_lib.translation import load_shipped
from lessons.l13_the_block import in_place_of, key_picture, word_similarity

start_lesson("the_block", seed=13)

# %% [markdown] kind="text"
r"""
This is the encoder of our trained Transformer at work. Attention is one of two kinds of layers in it, and neither of them replaces a word's vector: its output is added.
"""

# %% kind="picture" name="key picture" hide_input=true
key_picture.draw()

# %% kind="picture" name="here" hide_input=true track="short"
views.transformer_map(
    "block", "The encoder is three of these blocks. You will build one."
)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("13", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · What happens if you stack attention layers?

A Transformer stacks attention layers, so that later ones can use what earlier ones have found. What does that do to the words?

Each output of attention is a weighted **average** of values, and averages are closer together than the original numbers. **By hand:** take two words whose vectors have one number each, 0 and 8. If each becomes ¾ of itself plus ¼ of the other, they are 2 and 6 after one layer, then 3 and 5: the difference halves every time.

As a measure, we average the {term:cosine similarity} of all pairs of words: their dot product, divided by both lengths. It is 1 if two vectors point in the same direction, and 0 if they are orthogonal.

A Transformer repeats a {term:Transformer block|block} of two *layers*: attention and a feed-forward network (section 4). Papers call these {term:sub-layer|sub-layers}, and their "12 layers" are usually 12 blocks. In the name of a head, such as encoder 1.3, the first number counts blocks. The figure compares blocks in which each layer $f$ turns $x$ into $f(x)$ with blocks that compute $x + f(x)$. Both have random weights and layer normalisation (section 3).
"""

# %% [markdown] kind="instructor"
r"""
**Bet before the figure (2 min).** "Two blocks with random weights, without residual connections: how similar are the words?" Most people guess between 0.3 and 0.6. The answer is {result:lesson_13/similarity/no residual, 2 blocks:.2f}.

**They say:** "Residual connections are for very deep networks" (M41). **Answer:** Two blocks are enough: the similarity is {result:lesson_13/similarity/no residual, 2 blocks:.2f}.
"""

# %% kind="predict" hide_input=true
@torch.no_grad()
def mean_similarity(n_blocks=12, scale=1.0, **options):
    """The similarity of words after every block, mean of three seeds."""
    by_seed = []
    for seed in range(3):
        torch.manual_seed(seed)
        x = torch.randn(8, 8, 64)  # 8 sentences of 8 random words
        by_block = [word_similarity(x)]
        for _ in range(n_blocks):
            block = Block(d_model=64, n_heads=4, d_ff=256, **options)
            block.scale_outputs(scale)  # a factor of 1 changes nothing
            x, _, _ = block(x)
            by_block.append(word_similarity(x))
        by_seed.append(torch.stack(by_block))
    return torch.stack(by_seed).mean(dim=0)


curves = {"x + f(x)": mean_similarity(), "f(x)": mean_similarity(residual=False)}
figure = views.lines(
    range(13), curves, x_name="after block", y_name="mean similarity of two words",
    title="Similarity of words before training",
    alt="Two curves over 12 blocks: similarity with and without adding the input.",
)
predict("13", "block-alike", figure)

# %% [markdown] kind="text"
r"""
Without the addition, all words are nearly identical after two blocks. This is called {term:rank collapse}; Dong et al. (2021) proved it for attention alone. Most of this is due to attention: with two attention layers alone, the similarity is {result:lesson_13/similarity/no residual, attention only, 2 layers:.2f}; with two feed-forward networks alone, it is {result:lesson_13/similarity/no residual, feed-forward only, 2 layers:.2f}. With the addition, the words become similar much more slowly. Training doesn't undo the damage: in three runs without the addition, **no** test sentence was translated correctly. After the last of three blocks, the similarity was {result:block/no residual path/likeness/-1:.2f} without the addition and {result:block/as it is/likeness/-1:.2f} with it.
"""

# %% [markdown] kind="text" track="short"
r"""
## 2 · Residual connections

The sum $x + f(x)$ is called a {term:residual connection}, or skip connection (He et al., 2016). The layer no longer replaces a word's vector; it only has to learn a change.

The sum also helps in the backward pass. **By hand:** suppose that each of three layers multiplies its input by ½. Without residual connections, ½ · ½ · ½ = ⅛ of the gradient reaches the first layer; it vanishes with depth, as in lesson 02. With residual connections, the derivative of each layer is 1 + ½, and (3/2)³ = 3.375 times the gradient arrives.

Now the gradient grows instead, and so does the signal, because every layer adds to it. In blocks with random weights, the size of the words (the root mean square of their components) grows from 1 to about {result:lesson_13/size without norm/12 blocks:,.0f} in 12 blocks and {result:lesson_13/size without norm/24 blocks:,.0f} in 24. Three such blocks can be trained; with 12, all three of our runs diverged. One remedy is a normalisation layer, or *norm* for short (not the length of a vector). With the norm from the next section, the size after 24 blocks is about {result:lesson_13/size with norm/24 blocks:.0f}.
"""

# %% kind="picture" hide_input=true
key_picture.draw("residual")

# %% [markdown] kind="text" track="short"
r"""
## 3 · Layer normalisation

{term:layer normalisation|Layer normalisation} (Ba et al., 2016) takes the vector of **one word**, subtracts the mean of its components and divides by their standard deviation.

**By hand.** The word (0, 1, 2, 3) has mean 1.5, so the deviations are −1.5, −0.5, 0.5 and 1.5. The variance is the mean of their squares, (2.25 + 0.25 + 0.25 + 2.25) / 4 = 1.25, and its square root is 1.118. The result is (−1.34, −0.45, 0.45, 1.34). The word (0, 10, 20, 30) gives the same result.

$$ y = \frac{x - \text{mean}(x)}{\sqrt{\text{variance}(x) + \epsilon}} \cdot w + b $$

A small $\epsilon$ (0.00001) avoids a division by 0 if all components are equal. The scale $w$ and the shift $b$ are learned, one number per component, so the network can choose another mean and size.
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** "Which numbers does one mean belong to?" One word's components, so `dim=-1` with `keepdim=True`. If the check fails only for large means, the variance was computed as the mean of squares minus the square of the mean.
"""

# %% [markdown] kind="text" exercise="layer_norm"
r"""
Write it with means, squares and square roots. Normalise every word by itself, over the last axis; there can be any number of axes in front. `keepdim=True` keeps an averaged axis, with length 1. The result must be right even if the mean of a word is large, around 1000.
"""

# %% kind="exercise" exercise="layer_norm" title="Layer normalisation" difficulty=2 importance=5 track="short"
from lessons.l13_the_block.solutions import layer_norm

# %% kind="check" exercise="layer_norm"
check("layer_norm", layer_norm)

# %% [markdown] kind="hints" exercise="layer_norm"
r"""
### Where to start
First compute the deviations, `x` minus its mean over the last axis. You need them twice: for the variance and for the result.

---
### Step by step
1. The deviations are `x` minus the mean, with `dim=-1` and `keepdim=True`.
2. The variance is the mean of the squared deviations. `x.var()` divides by n − 1, which isn't what we want here.
3. Divide the deviations by the square root of the variance plus `eps`. Then multiply by `weight` and add `bias`.
"""

# %% [markdown] kind="text" track="core" contents="batch normalisation, exercise 2 · Test a norm"
r"""
**Why not normalise over the batch?** The older {term:batch normalisation} (Ioffe and Szegedy, 2015) normalises each *component* over all words of the batch. So during training, the result for a word depends on the other sentences, on the padding and, in a decoder, even on later words, which is a leak (lesson 10). At inference, averages that were stored during training replace those of the batch, so the network computes something slightly different. With BatchNorm, our translator reached {result:min block/BatchNorm/scores/test/exact:.1p} to {result:max block/BatchNorm/scores/test/exact:.1%} instead of {result:min block/as it is/scores/test/exact:.1p} to {result:max block/as it is/scores/test/exact:.1%} (three seeds each).
"""

# %% [markdown] kind="instructor"
r"""
**Vote.**

**They say:** "LayerNorm averages over the sentence" (M40). **Answer:** Change one word: the results of the others stay the same.
"""

# %% kind="quiz" track="core"
quiz("13", "which-norm")

# %% [markdown] kind="text" exercise="test_norm"
r"""
**Write the test.** You are given someone else's `norm(x, weight, bias, eps)`. Raise an exception if it isn't layer normalisation, for any reason you can think of: the wrong axis, the wrong variance, a missing `eps`, `weight` or `bias`. An implementation may be wrong for one word or one component only.
"""

# %% kind="exercise" exercise="test_norm" mode="test" title="Test a norm" difficulty=2 importance=2 track="stretch"
def test_norm(norm):
    """Takes a function like layer_norm; raises an exception if it is wrong."""
    # solution
    first = [[0.0, 1.0, 2.0], [10.0, 20.0, 50.0]]
    x = torch.tensor([first, [[1.0, 1.0, 1.0], [4.0, 0.0, 1.0]]])
    weight, bias = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.0, 1.0, -1.0])
    expected = nn.functional.layer_norm(x, (3,), weight, bias, 0.5)
    torch.testing.assert_close(norm(x, weight, bias, 0.5), expected)
    # end solution

# %% kind="check" exercise="test_norm"
check("test_norm", test_norm)

# %% [markdown] kind="hints" exercise="test_norm"
r"""
### Where to start
Use words of very different size. If a norm averages over the wrong axis, the small ones become tiny.

---
### Step by step
Take two sentences of two words each, a `weight` that isn't all ones and a `bias` that isn't all zeros. A large `eps`, such as 0.5, shows whether it is used. Let torch compute the expected result, and compare with `torch.testing.assert_close`.
"""

# %% [markdown] kind="text" track="short"
r"""
## 4 · The feed-forward network

Attention moves information between words, but for given attention weights, its output is a linear function of the values. The second layer of a block adds a nonlinearity. The {term:feed-forward network} widens each word (from 64 to {term:d_ff} = 256 components in our model), applies an activation function and narrows it again. It processes each word separately, with the same weights.

$$ \text{FFN}(x) = W_{\text{out}} \max(0,\; W_{\text{in}}\, x + b_{\text{in}}) + b_{\text{out}} $$

The activation function $\max(0, \cdot)$ is called {term:ReLU}. Without it, the two linear layers would be equivalent to a single one. In the formula, $x$ is a column; in code, words are rows, and the matrices have the shape (out, in).
"""

# %% [markdown] kind="instructor"
r"""
**They say:** "The feed-forward network mixes words" (M35). **Answer:** Shuffle the words: its outputs are shuffled in the same way.
"""

# %% kind="exercise" exercise="feed_forward" title="The feed-forward network" difficulty=1 importance=4 track="short"
from lessons.l13_the_block.solutions import feed_forward

# %% kind="check" exercise="feed_forward"
check("feed_forward", feed_forward)

# %% [markdown] kind="hints" exercise="feed_forward"
r"""
### Where to start
First compute the hidden layer, including its bias and the ReLU. Then compute the output from it.

---
### Step by step
A matrix of shape (out, in) is applied to rows with `x @ w.T`, or with `nn.functional.linear(x, w, b)`. `torch.relu` comes after the first bias and before the second matrix.
"""

# %% kind="quiz" track="core" contents="a quiz question, and what happens without this network"
quiz("13", "feed-forward")

# %% [markdown] kind="text" track="core"
r"""
**Is it needed?** Without the feed-forward network, three blocks translated {result:min block/attention only/scores/test/exact:.1p} to {result:max block/attention only/scores/test/exact:.1%} of the test sentences correctly, compared with {result:min block/as it is/scores/test/exact:.1p} to {result:max block/as it is/scores/test/exact:.1%} for the complete model (three seeds each). But this model has only half as many parameters. With about as many, attention alone reached {result:min block_causes/attention only, 7 layers/scores/test/exact:.1p} to {result:max block_causes/attention only, 7 layers/scores/test/exact:.1%} with seven blocks, and {result:min initialisation/attention only, 3 wide layers/scores/test/exact:.1p} to {result:max initialisation/attention only, 3 wide layers/scores/test/exact:.1%} with three wider ones (d_model = 96). So most of the gap came from the missing parameters; what remains is no clear difference.
"""

# %% [markdown] kind="text" track="short"
r"""
## 5 · The block

Each of the two layers gets a norm and a residual connection. With {term:pre-norm}, the norm comes **before** the layer: $x + f(\text{norm}(x))$. The Transformer of 2017 normalises after the addition, $\text{norm}(x + f(x))$, which is called {term:post-norm}. We use pre-norm.
"""

# %% kind="picture" hide_input=true
key_picture.draw("norm")

# %% kind="code"
layer_norm, feed_forward = yours("layer_norm"), yours("feed_forward")
many_heads = yours("many_heads")

transformer = load_shipped("transformer")
model = transformer.model.eval()
# state_dict() returns all weights of a model, by name
for name, numbers in model.encoder.blocks[0].state_dict().items():
    print(f"{name:<34}{tuple(numbers.shape)}")

# %% [markdown] kind="instructor"
r"""
**Stuck?** Draw one block of the picture above on the board. The usual mistakes are adding the *normalised* words instead of `x`, and normalising the keys but not the queries.
"""

# %% [markdown] kind="text" exercise="encoder_block"
r"""
These are the parameters of a trained translator's first block. **Write the block that uses them.** `parts` is a dictionary with these names; the first lines look them up. The first layer is `many_heads(x, source, w_q, w_k, w_v, w_o, n_heads, mask)` from lesson 12. In self-attention, `x` and `source` are both the normalised words. It returns the output and the attention weights; you need the output. The second layer is `feed_forward(x, w_in, b_in, w_out, b_out)`, the formula of section 4; `inner` contains its matrix and bias *in*, `outer` its matrix and bias *out*.
"""

# %% kind="exercise" exercise="encoder_block" title="The block as a function" difficulty=2 importance=5 track="short"
from lessons.l13_the_block.solutions import encoder_block

# %% kind="check" exercise="encoder_block"
check("encoder_block", encoder_block)

# %% [markdown] kind="hints" exercise="encoder_block"
r"""
### Where to start
There are four steps: normalise, add the output of the attention to `x`, normalise again, add the output of the feed-forward network. Keep the normalised words in a separate variable, because you still need `x`.

---
### Step by step
1. The first normalised words are `norm(x, "around_attention")`.
2. Call `many_heads` with them twice, then `*four`, `n_heads` and `mask`. Add its first result to `x`.
3. Do the same with `feed_forward`, the other norm, and the new `x`.
"""

# %% [markdown] kind="text" track="short"
r"""
**Dropout.** Training adds one more step: $x + \text{dropout}(f(\text{norm}(x)))$. {term:dropout|Dropout} (Srivastava et al., 2014) sets each component of a layer's output to 0 with probability $p$ and divides the others by $1 - p$.

**By hand:** with $p = ½$, the output (2, 4) becomes (4, 8), (4, 0), (0, 8) or (0, 0), each with probability ¼. The average is (2, 4) again. The network can't rely on a single component: dropout is a form of {term:regularisation}. It pays off when a model can memorise its training data, but our toy task doesn't show a benefit: {result:min recipe/as it is/scores/test/exact:.1p} to {result:max recipe/as it is/scores/test/exact:.1%} correct with it, {result:min recipe/no dropout/scores/test/exact:.1p} to {result:max recipe/no dropout/scores/test/exact:.1%} without (three seeds each). It is off at inference, so your function doesn't need it.
"""

# %% [markdown] kind="text" track="short"
r"""
## 6 · Initialisation

So far, the weights came from a file. What numbers does training start with? If all weights were equal, all units of a layer would get the same gradient and stay equal, so {term:initialisation} uses random numbers. But how large should they be?

**By hand.** Each output of a linear layer is a sum of $n$ products $w_i x_i$. Suppose that all these numbers are independent with mean 0, the $x_i$ with variance 1 and the $w_i$ with variance $v$. Then each product has variance $v$, and the sum has variance $n v$ (lesson 08). For $n = 64$ and $v = 1$, the standard deviation grows from 1 to 8.
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min).** "We want the numbers to stay the same size from layer to layer. How large should the weights be?" Expected: the sum of $n$ products has $n$ times the variance, so each weight gets a variance of $1/n$. Follow-up: what if they are twice as large, and there are 24 layers?
"""

# %% kind="quiz"
quiz("13", "initial-size")

# %% [markdown] kind="text"
r"""
The variance stays the same if $n v = 1$, so the weights need a standard deviation of $1/\sqrt{n}$, here ⅛. With larger weights the signal grows exponentially with depth; with smaller ones it vanishes.

In the backward pass, the same argument applies to the gradient, with sums over the layer's *outputs*. {term:Xavier initialisation} (Glorot and Bengio, 2010) is a compromise: the variance is $2 / (n_{\text{in}} + n_{\text{out}})$. `nn.init.xavier_uniform_(tensor)` fills a tensor with such numbers in place, and `nn.init.zeros_(tensor)` with zeros, which is common for biases.

ReLU sets about half of the values to 0, which halves the mean square, so the next layer needs twice the variance, $2/n$ (He et al., 2015). In a block, the norm in front of each layer fixes the size of its input, so what matters most is how much each layer *adds*.
"""

# %% [markdown] kind="text" track="short"
r"""
## 7 · The block as a module

Your function gets its weights from outside. For training, something has to create them, pass them to the optimiser, save them, and keep track of whether dropout is on. In PyTorch, an {term:nn.Module} does this. Here is the multi-head attention from lesson 12 as a module.
"""

# %% kind="code"
class MultiHead(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.w_query = nn.Parameter(torch.empty(d_model, d_model))
        self.w_key = nn.Parameter(torch.empty(d_model, d_model))
        self.w_value = nn.Parameter(torch.empty(d_model, d_model))
        self.w_output = nn.Parameter(torch.empty(d_model, d_model))
        for matrix in self.parameters():
            nn.init.xavier_uniform_(matrix)

    def forward(self, x, source, mask=None):
        matrices = (self.w_query, self.w_key, self.w_value, self.w_output)
        return many_heads(x, source, *matrices, self.n_heads, mask)[0]


attention, words = MultiHead(d_model=64, n_heads=4), torch.randn(2, 9, 64)
print(tuple(attention(words, words).shape), list(attention.state_dict()))

# %% [markdown] kind="text"
r"""
- `super().__init__()` must come first.
- `nn.Parameter` marks a tensor as trainable. A parameter that you assign to `self` is *registered*: it appears in `parameters()`, which you pass to the optimiser, and in `state_dict()`, the {term:state dict} that you save. A plain tensor is in neither.
- A module that you assign to `self` is registered too, and the names are joined: after `self.attention = MultiHead(…)`, there is a parameter `attention.w_query`. Modules in a Python list aren't registered; use `nn.ModuleList`.
- `to(device)` moves parameters and *buffers*, which are saved but not trained (`self.register_buffer(name, tensor)`), but no plain tensors.
- `forward` defines the computation. Call the module itself, `attention(x, x)`, not `forward`.
- `load_state_dict(…)` copies saved weights into the module; all names and shapes have to match.
- `train()` and `eval()` switch between training mode and {term:evaluation mode}, in the module and all modules inside it.

Ready-made modules are `nn.Linear(n_in, n_out)` with `weight` (out, in) and `bias`, `nn.LayerNorm(d_model)` with `weight` and `bias`, and `nn.Dropout(p)`, which is active in training mode only.
"""

# %% [markdown] kind="instructor"
r"""
**Before the first module (3 min),** let learners say for each line of `MultiHead` what would break without it. Ask especially about `super().__init__()` and `nn.Parameter`.
"""

# %% [markdown] kind="text" exercise="FeedForward"
r"""
**Write the feed-forward network of section 4 as a module.** It contains two of torch's linear layers, called `inner` and `outer`. Initialise their weights with Xavier initialisation and their biases with zeros; the default weights of `nn.Linear` have a variance of only $1/(3 n_{\text{in}})$.
"""

# %% kind="exercise" exercise="FeedForward" title="The feed-forward network as a module" difficulty=2 importance=5 track="short"
from lessons.l13_the_block.solutions import FeedForward

# %% kind="check" exercise="FeedForward"
check("FeedForward", FeedForward)

# %% [markdown] kind="hints" exercise="FeedForward"
r"""
### Where to start
After `super().__init__()`, assign the two linear layers to `self`. In `forward`, call them like functions.

---
### Step by step
`nn.Linear(d_model, d_ff)` maps from width d_model to width d_ff. Its matrix is `self.inner.weight` and its bias `self.inner.bias`; pass them to the functions from section 6.
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** A mismatch in `load_state_dict` lists the missing names: compare them with the attributes. The `lambda` takes the *normalised* words and passes them to the attention twice.
"""

# %% [markdown] kind="text" exercise="EncoderBlock"
r"""
**Write the block as a module.** `Residual` contains a layer norm called `norm` and a dropout module called `dropout`. Its `forward` gets `x` and a `layer`, which is any function of one tensor, and applies norm, layer, dropout and residual connection, as in section 5.

`EncoderBlock` has four attributes, named as in the trained model: `attention` is a `MultiHead`, `feed_forward` a `FeedForward`, and `around_attention` and `around_feed_forward` are `Residual`s. Attention needs several arguments, so pass its `Residual` a `lambda`.
"""

# %% kind="exercise" exercise="EncoderBlock" title="The block as a module" difficulty=3 importance=5 track="short"
FeedForward = yours("FeedForward")


class Residual(nn.Module):
    def __init__(self, d_model, dropout):
        # solution
        super().__init__()
        self.norm, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)
        # end solution

    def forward(self, x, layer):
        # solution
        return x + self.dropout(layer(self.norm(x)))
        # end solution


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout):
        # solution
        super().__init__()
        self.attention = MultiHead(d_model, n_heads)
        self.around_attention = Residual(d_model, dropout)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.around_feed_forward = Residual(d_model, dropout)
        # end solution

    def forward(self, x, mask=None):
        # solution
        x = self.around_attention(x, lambda x: self.attention(x, x, mask))
        return self.around_feed_forward(x, self.feed_forward)
        # end solution

# %% kind="check" exercise="EncoderBlock"
check("EncoderBlock", EncoderBlock)

# %% [markdown] kind="hints" exercise="EncoderBlock"
r"""
### Where to start
`Residual` is one line of arithmetic: normalise `x`, call `layer`, apply dropout, add `x`. Each of the block's two layers needs a `Residual` of its own, because each has its own norm.

---
### Calling attention
`lambda x: self.attention(x, x, mask)` is a function that gets the normalised words and calls the attention with them. The feed-forward module already takes a single tensor, so you can pass it as it is.

---
### The check says that names are missing
The names of the parameters come from your attributes. Compare the ones in the verdict with those that section 5 printed.
"""

# %% [markdown] kind="text"
r"""
Does your module compute the same as your function? We load the trained weights into it and compare, in training mode, where dropout is on, and in evaluation mode. Then **your** blocks replace those in the encoder of the trained translator. Lesson 14 first assembles a Transformer from your functions, stage by stage. In section 8 of the full lesson, you write it again from such modules.
"""

# %% kind="see"
EncoderBlock, encoder_block = yours("EncoderBlock"), yours("encoder_block")
own = [EncoderBlock(64, n_heads=4, d_ff=256, dropout=0.1) for _ in model.encoder.blocks]
for block, trained in zip(own, model.encoder.blocks, strict=True):
    block.load_state_dict(trained.state_dict())  # an error unless all names match

with torch.no_grad():
    expected = encoder_block(words, block.state_dict(), 4)
    for mode in ("train", "eval"):
        difference = (block.train(mode == "train")(words) - expected).abs().max()
        print(f"{mode} mode: largest difference {fixed(difference, 3)}")

with in_place_of(model.encoder.blocks, own):
    print(transformer("the old cat sleeps because it is tired").target)

# %% [markdown] kind="text" contents="depth, post-norm and the initial scale, with recorded runs; RMSNorm and SwiGLU"
r"""
## 8 · Depth, norms and initialisation

With post-norm (section 5), the sum itself, called the *residual stream*, passes through every norm. Does it matter? With 1 to 3 blocks there is no clear difference on the test set; with 2 blocks, post-norm gets fewer of the pronoun sentences right ({result:min depth/2 layers, post-norm/scores/coreference/exact:.0p} to {result:max depth/2 layers, post-norm/scores/coreference/exact:.0%} instead of {result:min depth/2 layers, pre-norm/scores/coreference/exact:.0p} to {result:max depth/2 layers, pre-norm/scores/coreference/exact:.0%}). With 12 blocks, pre-norm reaches {result:depth/12 layers, pre-norm/scores/test/exact:.0%}, and post-norm {result:depth/12 layers, post-norm/scores/test/exact:.0%}, with every seed. A third of the learning rate didn't help within our 4,000 steps, even with a longer {term:learning-rate warm-up|warm-up}, during which the learning rate rises from 0: at most {result:max block_causes/12 layers, post-norm, rate 0.001, warm-up 2000/scores/test/exact:.1%} of the sentences were right.

Is post-norm to blame? All these runs started with Xavier initialisation, which is large for residual connections. **By hand:** 12 blocks have 24 layers. Suppose that each output has variance 1, like $x$, and is independent of it. With pre-norm, the sum ends with variance 1 + 24 = 25, and $x$ contributes a 25th. With post-norm, every norm divides the sum by √2, so $x$'s share of the variance halves 24 times: $2^{-24}$, practically nothing. If we multiply the last matrix of each layer (`w_output` and `outer`) by $1/\sqrt{24}$ before training, each output has variance 1/24, and the shares are ½ and $(1 + 1/24)^{-24} \approx 0.38$. This is **scaling by depth**: the factor for $L$ blocks is $1/\sqrt{2L}$, as in GPT-2 (Radford et al., 2019), a pre-norm decoder. Our decoder blocks have three layers, but get the same factor.

We trained models with 3, 6 and 12 blocks, both placements of the norm, and a factor of 1 or $1/\sqrt{2L}$, with three seeds each and everything else the same.
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (4 min).** "The 2017 Transformer is post-norm with 6 blocks. Why did it train?" Expected: a warm-up of 4,000 steps, a smaller learning rate, much longer training, and perhaps its initial scale. Follow-up: which experiment would tell these apart?
"""

# %% kind="predict" hide_input=true
exact = {}
for experiment in ("depth", "initialisation"):
    file = data_path("results", f"{experiment}.json")
    for run in json.loads(file.read_text(encoding="utf-8"))["runs"]:
        exact.setdefault(run["variant"], []).append(run["scores"]["test"]["exact"])

ends = {"1": "", "1/√(2L)": ", scale by depth"}
counts = (3, 6, 12)
means = {
    f"{norm}, factor {scale}": [
        sum(exact[f"{n} layers, {norm}{end}"]) / 3 for n in counts
    ]
    for norm in ("pre-norm", "post-norm") for scale, end in ends.items()
}
figure = views.heatmap(
    list(means.values()), rows=list(means), columns=counts, row_name="",
    column_name="blocks", title="Fraction of correct translations (mean of 3 seeds)",
    alt="Correct translations by depth, norm placement and initial scale.",
)
predict("13", "block-scale", figure)

# %% [markdown] kind="instructor"
r"""
**They say:** "Post-norm can't be trained with 12 layers." **Answer:** Look at the last row of the figure.
"""

# %% [markdown] kind="text"
r"""
With the smaller factor, twelve post-norm blocks reach {result:min initialisation/12 layers, post-norm, scale by depth/scores/test/exact:.1p} to {result:max initialisation/12 layers, post-norm, scale by depth/scores/test/exact:.1%}; a factor of 0.1 works too. For pre-norm, the factor changed the mean by less than a point at every depth. With 24 post-norm blocks, all runs failed with a factor of 1; with the smaller factor, the results were {result:each initialisation/24 layers, post-norm, scale by depth/scores/test/exact:.0%}; with a third of the learning rate as well, {result:each initialisation/24 layers, post-norm, scale by depth, rate 0.001/scores/test/exact:.0%}. So deep post-norm models can be trained, but they were more sensitive to the initial scale.

One clue is the similarity of words before training:
"""

# %% kind="see" name="by_scale"
for name, options in {"pre-norm": {}, "post-norm": {"pre_norm": False}}.items():
    for factor, scale in {"1": 1, "1/√24": 24**-0.5}.items():
        value = fixed(mean_similarity(scale=scale, **options)[-1], 2)
        print(f"{name}, factor {factor}: similarity {value} after 12 blocks")

# %% [markdown] kind="text"
r"""
The similarity depends on the initial scale for **both** placements. Of these four, only post-norm with a factor of 1 starts with words that are all the same, and it is the one that fails. Little of each word is left: the cosine between input and output is {result:lesson_13/cosine after 12 blocks/post-norm:.2f} (pre-norm: {result:lesson_13/cosine after 12 blocks/pre-norm:.2f}).

So rank collapse fits the results, but it can't be the whole story; the details are folded below.

<details><summary>Is rank collapse the cause?</summary>

With dropout on, as in training, the similarity starts at {result:lesson_13/similarity/post-norm, dropout, 12 blocks:.2f}. With dropout off, the validation loss of the failed runs is {result:min depth/12 layers, post-norm/history/-1/loss:.1f} to {result:max depth/12 layers, post-norm/history/-1/loss:.1f}, worse than uniform guessing (ln 680 ≈ 6.5), although their training loss fell to about {result:depth/12 layers, post-norm/history/-1/train_loss:.1f}. As a control, we trained three models **without** dropout, which failed too: {result:max initialisation/12 layers, post-norm, scale 1, no dropout/scores/test/exact:.0%} correct, a similarity of {result:min initialisation/12 layers, post-norm, scale 1, no dropout/likeness/-1:.2f} after training, and a validation loss of {result:min initialisation/12 layers, post-norm, scale 1, no dropout/history/-1/loss:.1f} to {result:max initialisation/12 layers, post-norm, scale 1, no dropout/history/-1/loss:.1f} (word frequencies alone give {result:lesson_13/unigram loss:.1f}). So dropout accounts for a loss worse than guessing, but not for the failure.

The control fits rank collapse, but doesn't prove it. Xiong et al. (2020) blame large gradients near the output, and Liu et al. (2020) found that layers with a large share of the sum amplify every change of their weights; the factor affects both. And one run with 24 blocks and the smaller factor failed too, although the similarity before training is only {result:lesson_13/similarity/post-norm, scaled by depth, 24 blocks:.1f}.
</details>

<details><summary>What about BERT?</summary>

BERT (Devlin et al., 2019) has 12 or 24 post-norm blocks. Its initial weights have a standard deviation of 0.02; Xavier's would be $\sqrt{2/(768 + 768)} \approx 0.036$ for its attention matrices, but 0.023 for its feed-forward network (768 to 3072). Its learning rate rises to 0.0001 in 10,000 steps, and it is trained for a million. Our runs don't show which of these choices it needs: our models are small, and we stopped after 4,000 steps, although only one of the nine failed 12-block runs with dropout still had a falling validation loss.
</details>

**Later variants.** Most open language models since LLaMA (2023) use pre-norm with two changes. On our task, with three blocks, they make no clear difference:

| variant | what changes | correct translations (three seeds) |
|---|---|---|
| LayerNorm, ReLU | | {result:min block/as it is/scores/test/exact:.1p} to {result:max block/as it is/scores/test/exact:.1%} |
| {term:RMSNorm} | divides by the root mean square; no mean, no shift | {result:min block/RMSNorm/scores/test/exact:.1p} to {result:max block/RMSNorm/scores/test/exact:.1%} |
| {term:SwiGLU} | a gate instead of ReLU: $W_{\text{out}}(\text{silu}(W_{\text{gate}}x) \odot W_{\text{in}}x)$ | {result:min block/SwiGLU/scores/test/exact:.1p} to {result:max block/SwiGLU/scores/test/exact:.1%} |
"""

# %% [markdown] kind="text" contents="translating with dropout still on"
r"""
## 9 · Break it

> **Before you run it:** someone forgot `model.eval()` before translating, so dropout is still on. Will there be an error, a wrong translation, or something else?
"""

# %% kind="break" hide_input=true
sentence = "the old cat sleeps because it is tired"
encode = transformer.tokenizer.encode
batch = make_batch([encode(sentence)], [encode(transformer(sentence).target)])


@torch.no_grad()
def score():
    """The probability of the translation; whether each word is the most likely one."""
    logits, _ = model.decode(model.encode(batch.src, batch.src_lengths), batch.tgt_in)
    probabilities = logits.softmax(dim=-1).gather(-1, batch.tgt_out[..., None])
    same_words = torch.equal(logits.argmax(dim=-1), batch.tgt_out)
    return probabilities.prod().item(), same_words


torch.manual_seed(13)
for mode in ("train", "eval"):
    model.train(mode == "train")
    scores = [score() for _ in range(5)]
    assert (len(set(scores)) > 1) == (mode == "train")
    probabilities = ", ".join(fixed(probability, 2) for probability, _ in scores)
    same = "the same words" if all(same for _, same in scores) else "other words"
    print(f"{mode} mode: {same}, with probability {probabilities}")

# %% [markdown] kind="text"
r"""
There is no error, and the words are the same. But the same sentence gets a different probability each time, lower than in evaluation mode in all five calls. **If a model gives different answers to the same question, look for a missing `eval()`.**
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on `self.scale = torch.ones(64)`. No error, no training, not saved: the kind of mistake that only a check finds.
"""

# %% kind="quiz"
quiz("13", "closing")

# %% [markdown] kind="instructor"
r"""
**Wrap up (2 min).** Cover the picture and let learners draw one block of it from memory. Then ask of each part: "What happens without it?"
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | meaning | shape |
|---|---|---|
| residual connection | $x + f(x)$; with pre-norm, $x + f(\text{norm}(x))$ | (batch, n, d_model) |
| `layer_norm` | normalises each word by itself | (batch, n, d_model) |
| `feed_forward`, `FeedForward` | linear, ReLU, linear, for each word by itself | d_model → d_ff → d_model |
| `encoder_block`, `EncoderBlock` | both layers, each with norm and residual connection | (batch, n, d_model) |

- Attention averages. Without residual connections, two blocks with random weights make all words nearly identical.
- Residual connections keep signal and gradient from vanishing; norms limit the signal's size.
- Weights start with a standard deviation of about $1/\sqrt{n}$, which preserves the variance.
- LayerNorm depends on one word only; {term:batch normalisation|BatchNorm} depends on the whole batch. <!-- core -->
- With 12 blocks, whether post-norm could be trained depended on the initial scale; pre-norm worked with every scale we tried. <!-- core -->

**Still missing.** There is no decoder yet that attends to the source, and nothing around the blocks. In [lesson 14](14_the_transformer.ipynb) you put all your parts together.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Vaswani et al., *Attention Is All You Need* (2017), sections 3.1 and 3.3. [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)
- Xiong et al., *On Layer Normalization in the Transformer Architecture* (2020). [arXiv 2002.04745](https://arxiv.org/abs/2002.04745) <!-- core -->
- Liu et al., *Understanding the Difficulty of Training Transformers* (2020). [arXiv 2004.08249](https://arxiv.org/abs/2004.08249) <!-- core -->
- Wang et al., *DeepNet: Scaling Transformers to 1,000 Layers* (2022), with post-norm. [arXiv 2203.00555](https://arxiv.org/abs/2203.00555) <!-- core -->
- Dong et al., *Attention Is Not All You Need: Pure Attention Loses Rank Doubly Exponentially with Depth* (2021). [arXiv 2103.03404](https://arxiv.org/abs/2103.03404) <!-- core -->
- PyTorch tutorials, *Build the Neural Network*: another introduction to `nn.Module`.
"""
