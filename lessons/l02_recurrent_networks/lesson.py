# Lesson 02 · the source. Edit this file, then run `python3 -m course_lib build 02`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 02 · Recurrent networks

**The question:** how can a network process a sentence word by word and remember what it has read, and why is that hard to learn?

About {minutes} minutes. You need [lesson 01](01_guessing_the_next_word.ipynb): word vectors, a layer, loss, gradient, learning rate and the training loop. `a @ b` multiplies matrices, and `.T` swaps a matrix's rows and columns.
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **write** a recurrent network, equal to torch's, and **drive** a trained one with it;
2. **wire** a memory by hand that lasts 200 steps; <!-- core -->
3. **compute** how much of a gradient arrives many steps back, and **match** it with autograd;
4. **test** over how many steps trained networks remember, and **explain** the result;
5. **say** what clipping repairs, what it does not, and what a long text costs.
"""

# %% kind="setup"
import time

import torch
from torch.nn import functional as F

from course_lib import views
from course_lib.formatting import fixed, significant
from course_lib.results import mean_over_seeds
from course_lib.teaching import check, estimate, explain, predict, quiz, start_lesson
from course_lib.teaching import yours
from course_lib.text import BOS, EOS, TEST_SIZES, splits
from course_lib.translation import load_shipped
from lessons.l02_recurrent_networks import GradientTelephone

start_lesson("recurrent_networks", seed=2)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("02", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · One card, rewritten at every word

A model with a window guesses the next word from the last few. What stood before the window does not exist for it. A larger window helps, but each place in it needs weights of its own, and some sentence is always longer.

Now read the way you read a crime novel with a single index card. After every word you rewrite the card: from what stood on it, and from the word. The card never grows. Whatever the last page needs must still stand on it. In a network the card is a vector that is rewritten at every word: the {term:hidden state}, or *state* for short. A network that makes each new state out of the old one and the next word is a {term:recurrent network}.

**By hand, with a card of one number.** Take half of the old state and add the word:

| word | new state |
|---|---|
| 1 | 0.5 · 0 + 1 = **1** |
| 0 | 0.5 · 1 + 0 = **0.5** |
| 0 | 0.5 · 0.5 + 0 = **0.25** |

Two steps later the 1 is still there, but only a quarter of it. Keep an eye on that factor.
"""

# %% [markdown] kind="formula"
r"""
With vectors in place of numbers, and a squashing at the end:

$$ h_t = \tanh\left(W x_t + U h_{t-1} + b\right) $$

| symbol | name in code | shape | what it is |
|---|---|---|---|
| $x_t$ | `inputs[..., t - 1, :]` | (input) | the vector of word $t$ (Python counts from 0; `...` stands for any axes before) |
| $h_t$ | `states[..., t - 1, :]` | (hidden) | the state after word $t$ |
| $h_0$ | `start` | (hidden) | the state before the first word, mostly zeros |
| $W$ | `w_in` | (hidden, input) | how a word is written on the card |
| $U$ | `w_rec` | (hidden, hidden) | how the old card is copied to the new one |
| $b$ | `bias` | (hidden) | added at every step |

$\tanh$ squashes any number to between −1 and 1: small numbers pass almost unchanged ($\tanh 0.1 = 0.0997$), large ones are flattened ($\tanh 3 = 0.995$). Elman described a network of this kind in 1990.

$W$, $U$ and $b$ carry no $t$: the **same** weights are used at every step ({term:weight sharing}). So the number of weights does not depend on the length of the text. Drawn step after step the loop becomes a chain, and this is called {term:unrolling} it.
"""

# %% kind="diagram" hide_input=true
PARTS = {
    "h₀": (0, 0), "h₁": (1, 0), "h₂": (2, 0), "h₃": (3, 0), "loss": (4, 0),
    "x₁": (1, 1), "x₂": (2, 1), "x₃": (3, 1),
}
ARROWS = [
    ("h₀", "h₁"), ("h₁", "h₂"), ("h₂", "h₃"), ("h₃", "loss"),
    ("x₁", "h₁"), ("x₂", "h₂"), ("x₃", "h₃"),
]
SHARED = {"h₁": "W, U, b", "h₂": "W, U, b", "h₃": "W, U, b"}
views.diagram(
    PARTS, ARROWS, lit=("h₁", "h₂", "h₃"), notes=SHARED,
    title="One network, unrolled: three times the same W, U, b",
)

# %% kind="quiz"
quiz("02", "one-card")

# %% [markdown] kind="text" exercise="read_sequence"
r"""
**Build it.** Process the words in order: compute each new state from the word and the old state, and return all the states. Leave the tensors you are given unchanged. The input may be a single sentence, (n, input), or many sentences at once, (…, n, input); if you count the axes from the end, the same code handles both.

Take it in small steps, and try each one in a cell of its own: one step for one sentence; then the loop; then the stacked states; then two sentences at once. A row of numbers `x` of shape (…, input) times $W$ is `x @ w_in.T`, since `w_in` has a row for each number of the *result*. (Torch keeps its weights that way.) You will use this function in a moment to drive a trained network.
"""

# %% kind="exercise" exercise="read_sequence" title="Read with a state" difficulty=3 importance=5 track="short"
def read_sequence(inputs, start, w_in, w_rec, bias):
    """inputs (..., n, input), start (..., hidden), w_in (hidden, input),
    w_rec (hidden, hidden), bias (hidden,)

    ->  states (..., n, hidden), one for each word
    """
    # solution
    state, states = start, []
    for step in range(inputs.shape[-2]):
        word = inputs[..., step, :]
        state = torch.tanh(word @ w_in.T + state @ w_rec.T + bias)
        states.append(state)
    return torch.stack(states, dim=-2)
    # end solution

# %% kind="check" exercise="read_sequence"
check("read_sequence", read_sequence)

# %% [markdown] kind="hints" exercise="read_sequence"
r"""
### A nudge
You need one variable that survives from one turn of the loop to the next, and one list that grows.

---
### Step by step
1. Begin with `state = start` and an empty list.
2. For each step: take the word, `inputs[..., step, :]`; the new state is the tanh of three things added; append it.
3. `torch.stack(list, dim=-2)` puts the states side by side, along the axis where the words were.

---
### "It passes alone, but not with many sentences"
Then an axis is counted from the front. The words are along axis −2, whatever stands before it.
"""

# %% kind="library"
reader = yours("read_sequence")
torch.manual_seed(0)
rnn = torch.nn.RNN(input_size=4, hidden_size=6, batch_first=True)
sentences = torch.randn(2, 5, 4)
with torch.no_grad():
    theirs, last = rnn(sentences)
    both_biases = rnn.bias_ih_l0 + rnn.bias_hh_l0  # torch has two where one would do
    ours = reader(
        sentences, torch.zeros(2, 6), rnn.weight_ih_l0, rnn.weight_hh_l0, both_biases
    )

torch.testing.assert_close(ours, theirs)
print("the same states as torch.nn.RNN:", tuple(ours.shape))

# %% [markdown] kind="text"
r"""
**Now a trained one.** `rnn_lm` is a recurrent language model for our toy French, with a state of 216 numbers. Your loop reads, its weights do the rest, and the `perplexity` of lesson 01 measures it on 200 new sentences. (Over all 1,000 sentences of lesson 01 an RNN had {result:toy_language_models/rnn_lm/scores/test/perplexity:.1f} and the network with a window {result:toy_language_models/mlp_lm/scores/test/perplexity:.1f}; these 200 are a little easier.) Then a question to it. The sentence "la souris dort parce qu'" (the mouse sleeps because) goes on with *il* (he) or *elle* (she), and which one depends on the noun. Change the noun and see whether the guess moves.
"""

# %% kind="see"
shipped = load_shipped("rnn_lm")
model, layer = shipped.model.eval(), shipped.model.recurrent.layers[0][0]
WEIGHTS = [layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0 + layer.bias_hh_l0]
IL, ELLE = shipped.tokenizer.encode("il elle")


@torch.no_grad()
def next_words(text):
    """After each word, the probability of every word of the vocabulary to come next."""
    words = torch.tensor([[BOS, *shipped.tokenizer.encode(text)]])  # BOS says "begin"
    states = reader(model.words.target(words), torch.zeros(1, 216), *WEIGHTS)
    return model.words.logits(model.to_embed(states[0])).softmax(dim=-1)


measure, probabilities = yours("perplexity"), []
for pair in splits(sizes=TEST_SIZES).test[:200]:
    right = torch.tensor([*shipped.tokenizer.encode(pair.tgt_text), EOS])
    probabilities.append(next_words(pair.tgt_text)[range(len(right)), right])
print("perplexity", fixed(measure(torch.cat(probabilities)), 1))

# %% kind="see" name="pronouns"
ENDS = ("dort parce qu'", "a souvent dormi hier parce qu'", "a bu l' eau parce qu'")
for end in ENDS:
    for noun in ("le chat", "la souris"):
        next_word = next_words(f"{noun} {end}")[-1]
        pronouns = f"il {fixed(next_word[IL], 2)}   elle {fixed(next_word[ELLE], 2)}"
        print(f"{noun + ' ' + end:<42} {pronouns}")

# %% [markdown] kind="text"
r"""
Three words after the noun the network still knows something of it: *il* gets {printed:pronouns/le chat dort parce qu'} after the cat (masculine) and {printed:pronouns/la souris dort parce qu'} after the mouse (feminine). After six words (has often slept yesterday because) it is {printed:pronouns/le chat a souvent} and {printed:pronouns/la souris a souvent}. The last two sentences also have six words after the noun, but one of them is a second noun, *eau* (water), which is feminine. In the mouse's sentence *elle* is now the only right answer. It gets {printed:pronouns/la souris a bu/2}, and the cat's sentence looks almost the same: the first noun has left hardly a trace. So the distance alone was not it. What came in between wrote over it.

Is the card too small? Or has nobody taught the network to keep the noun? Look at the smallest network there is.
"""

# %% [markdown] kind="text" track="short"
r"""
## 2 · A memory wired by hand

The smallest network has a state of one number and three weights, $h_t = \tanh(w\,x_t + u\,h_{t-1} + b)$, and starts from 0. A signal comes, +1 or −1, and then 199 inputs of noise. Can the state still say which signal it was? Nothing is trained here: the three weights are chosen by hand.
"""

# %% [markdown] kind="text" exercise="wire_memory"
r"""
**Choose the three numbers yourself** so that it does this:

- The first input is a signal, +1 or −1. After 200 quiet steps (input 0) the state still has the sign of the signal, and its size is at least 0.5.
- The same is true if the 199 inputs after the signal are noise between −0.3 and 0.3, even if all of it pushes in the wrong direction.
- A *new*, opposite signal after 100 quiet steps overwrites the old one: 100 quiet steps later the state has the new sign, again with a size of at least 0.5.

Many answers are right. Try some numbers with a loop in a cell of your own first. The check says which requirement isn't met yet.
"""

# %% kind="exercise" exercise="wire_memory" title="Wire a memory of 200 steps" difficulty=3 importance=5 track="core"
def wire_memory():
    """->  w, u, b: three numbers of your choice"""
    # solution
    return 3.5, 3.0, 0.0
    # end solution

# %% kind="check" exercise="wire_memory"
check("wire_memory", wire_memory)

# %% [markdown] kind="hints" exercise="wire_memory"
r"""
### A nudge
Forget the noise at first: `w` = 1, `b` = 0, and try `u` = 0.5, 1, 2, 3 over 200 quiet steps. Below some `u` every state fades. Above it two states hold themselves up, one positive and one negative.

---
### Step by step
1. `b` = 0, so that neither side is favoured.
2. `u` well above 1: the state then settles where $h = \tanh(u\,h)$, near 0.96 for `u` = 2, near 0.995 for `u` = 3.
3. A new signal comes in as `w` and has nearly `u` against it: so `w` a little above `u`.
4. Noise comes in as 0.3 · `w`. If it wins, raise `u` and `w` together.
"""

# %% kind="see"
w, u, b = (float(number) for number in yours("wire_memory")())
generator = torch.Generator().manual_seed(0)
noise = 0.6 * torch.rand(200, 1, generator=generator) - 0.3
weights = [torch.tensor([[w]]), torch.tensor([[u]]), torch.tensor([b])]

curves = {}
for name, signal in (("signal +1", 1.0), ("signal −1", -1.0)):
    inputs = torch.cat([torch.tensor([[signal]]), noise[1:]])
    curves[name] = reader(inputs, torch.zeros(1), *weights)[:, 0]

views.lines(
    range(1, 201), curves, x_name="step", y_name="state",
    title="One number, wired by hand: 200 steps of noise after one signal",
)

# %% [markdown] kind="text" track="short"
r"""
It remembers. With `w` = 3.5, `u` = 3 and `b` = 0, as in our solution, a state near 1 becomes $\tanh(3) \approx 0.995$ at the next step, and so on for ever: the tanh pulls it down, `u` pulls it up again, and the two hold each other. So a recurrent network can keep something for 200 steps, or for 200,000. Three right numbers are enough.

## 3 · Now let training find them

Same network, same task: one signal, then noise, and at the end the question which signal it was. Twenty networks, each with its own random start (all weights between −1 and 1), trained with the loop of lesson 01: 100 steps of training, each on 32 fresh texts. Two more weights turn the last state into an answer. You need not read the cell closely. The length of the texts is all that we vary.
"""

# %% kind="train" name="tiny training" minutes=1.5 because="the text says that it need not be read closely"
def train_tiny(length, networks=20, steps=100, rate=0.05, batch=32, seed=0):
    """Train networks of one number side by side; the accuracy of each."""
    generator = torch.Generator().manual_seed(seed)
    initial = 2 * torch.rand(5, networks, 1, generator=generator) - 1
    w, u, b, v, c = weights = [part.requires_grad_() for part in initial.unbind()]
    optimizer = torch.optim.Adam(weights, lr=rate)

    def margins(n):
        signal = 2.0 * torch.randint(2, (n,), generator=generator) - 1
        noise = 0.6 * torch.rand(length - 1, n, generator=generator) - 0.3
        inputs, state = torch.cat([signal[None], noise]), torch.zeros(networks, n)
        for from_input in (w * inputs[:, None] + b).unbind():
            state = torch.tanh(from_input + u * state)
        return (v * state + c) * signal  # above 0 where the answer is right

    for _ in range(steps):
        loss = F.softplus(-margins(batch)).mean(dim=1).sum()  # cross-entropy
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        return (margins(500) > 0).float().mean(dim=1)

# %% kind="predict" ignore_output=true
lengths = (2, 5, 10, 20, 200)
learned = [int((train_tiny(length) > 0.95).sum()) for length in lengths]
figure = views.bars(
    learned, labels=lengths, high=20, digits=0, name="networks of 20",
    title="Trained: how many of 20 networks learned to remember, by length",
)
predict("02", "trained-memory", figure)

# %% [markdown] kind="text"
r"""
At a length of 2 all twenty learn it, at 5 more than half, at 10 fewer. At 200 **not one** does. We ran it with three sets of starts: none of sixty. With twice the learning rate two of sixty do, with ten times as many steps of training six, with both about twenty. A solution exists, as section 2 showed, and most trainings do not find it.
"""

# %% [markdown] kind="text" track="core" contents="a larger network that has to recall one of ten symbols"
r"""
Is that only because the network is so tiny? Here is a larger test, run beforehand. A symbol out of ten is shown, then others, then it is asked for. The networks have 64 numbers of state, 1,000 steps of training and three starts for each distance. Guessing is right one time in ten. Beside the recurrent network stands one with attention, which you will build from lesson 06 on.
"""

# %% kind="predict" track="core"
distances = (1, 2, 5, 10, 20, 50, 100)
accuracies = [
    mean_over_seeds("recall_one_distance", lambda run, d=str(d): 100 * run["right"][d])
    for d in distances
]
names = {"recurrent": "rnn_lm", "attention": "transformer_lm"}
figure = views.lines(
    distances, {name: [row[key] for row in accuracies] for name, key in names.items()},
    x_name="steps between showing and asking", y_name="right answers, %", log_x=True,
    title="Trained anew on each distance (mean of three starts)",
)
assert learned[0] >= 18 and learned[-1] <= 3  # as in the figure above
predict("02", "recall-distance", figure)

# %% [markdown] kind="text" track="core"
r"""
Up to 5 steps it always learns, at 10 with two starts of three, at 20 never. ({result:recall_one_distance/rnn_lm/right/10:.0%} at 10 is a mean of {result:each recall_one_distance/rnn_lm/right/10:.0p}. Such averages hide what happened.)
"""

# %% kind="quiz"
quiz("02", "can-and-learn")

# %% [markdown] kind="instructor"
r"""
**Ask the room (2 min).** "The hand-wired network and the trained one have the same form. So what exactly fails?" Expected: not the running, but the finding.
Let them say it before section 4 does. If somebody says "not enough steps of training": true for a few starts (ten times the steps: six of sixty; at twice the rate as well: about twenty), and exactly what a tiny gradient looks like from outside.

The wiring exercise: who gets stuck usually keeps `u` below 1, by habit from decay factors. Send them to `u` = 3 with `w` = 1, and let the check complain about overwriting next.
"""

# %% [markdown] kind="text" track="short"
r"""
## 4 · A message that goes back

Training asks of every weight: had you been a little different, how would the loss be? For the signal at step 1 this means: nudge $h_1$ a little, and see what arrives at $h_T$. Let us do just that, with a network of one number, $h_t = \tanh(u\,h_{t-1})$.
"""

# %% kind="example"
def sensitivity(u, first, steps, nudge=0.001):
    """How far the last state moves, per unit of a nudge to the first."""
    ends = []
    for state in (first, first + nudge):
        state = torch.tensor(state, dtype=torch.float64)
        for _ in range(steps):
            state = torch.tanh(u * state)
        ends.append(state)
    return (ends[1] - ends[0]) / nudge


for steps in (1, 2, 3, 4, 5):
    fading = significant(sensitivity(0.9, 0.1, steps), 2)
    wired = significant(sensitivity(3.0, 0.99, steps), 2)
    print(f"step {steps}: u = 0.9 passes on {fading:>4}, u = 3 (a memory) {wired}")

# %% [markdown] kind="formula"
r"""
One step multiplies a nudge by one factor: `u`, times the slope of the tanh at that place. The slope of the tanh where it gives $h$ is $1 - h^2$: it is 1 at $h = 0$, and 0.01 at $h = 0.995$. Many steps multiply many factors:

$$ \frac{\partial h_T}{\partial h_1} \;=\; \prod_{t=2}^{T} u\,(1 - h_t^2) $$

Inputs would change the states, but not this formula. **On paper:** `u` = 2, and with inputs that we do not show the states run 0.5, 0.6, 0.8. Two steps, so two factors: $2 \cdot (1 - 0.36) = 1.28$ and $2 \cdot (1 - 0.64) = 0.72$. The product is 0.92: a nudge arrives nearly whole.

The gradient goes the same way in the other direction. It starts at the loss, at the end of the chain, and each step back multiplies it by that step's factor. Computing gradients along the unrolled chain is called {term:backpropagation through time}. Since the weights are shared, what all steps say about `u` is added up in the end.

Where the factors are mostly below 1, hardly anything of the gradient arrives: the {term:vanishing gradient}. Where they are mostly above 1, it grows without bound: the {term:exploding gradient}. And look at the wired memory above: it holds its state *because* the tanh is flat there, and through something flat no nudge passes. (Bengio, Simard and Frasconi proved in 1994 that it must be so.)
"""

# %% kind="diagram" hide_input=true
BACK = [(end, start) for start, end in ARROWS if start[0] == "h" and start != "h₀"]
FACTORS = {"h₁": "arrives", "h₂": "× factor", "h₃": "× factor", "loss": "starts as 1"}
views.diagram(
    {"loss": (0, 0), "h₃": (1, 0), "h₂": (2, 0), "h₁": (3, 0)}, BACK,
    lit="h₁", notes=FACTORS, title="The gradient's way back: one factor a step",
)

# %% [markdown] kind="text"
r"""
How fast does it go? The next picture is a network of eight numbers. Its matrix multiplies every length by one factor, which you set. The *activation* is the squashing: *linear* has none, so only the factor counts. Commit to a guess first.
"""

# %% kind="predict"
predict("02", "nine-tenths", GradientTelephone())

# %% [markdown] kind="text"
r"""
Try the goals. Only a factor of exactly 1 gets through unharmed, and the tanh, whose slope is at most 1, can only take away from it. The third kind, the [sigmoid of lesson 03](03_lstm_and_gru.ipynb), squashes to between 0 and 1 and has a slope of at most ¼: that alone leaves less than a millionth after ten steps.

So this is why the networks of section 3 did not learn: their weights begin between −1 and 1, so the factor of every step is below 1, and at 200 steps the first signal has almost no say in the gradient.
"""

# %% [markdown] kind="text" track="core"
r"""
With a state of many numbers a nudge to *one* of them moves *all* of them. So the factor of a step is a table of slopes, its {term:Jacobian}: row $i$, column $j$ says how far number $i$ of the new state moves per nudge of number $j$ of the old one. For our network it is $U$ with each row multiplied by the slope of its own tanh. Two numbers, to see it:
"""

# %% kind="example" track="core"
w_rec = torch.tensor([[0.5, 1.0], [-1.0, 0.8]])
old = torch.tensor([0.2, -0.4])
new = torch.tanh(w_rec @ old)

columns = []
for j in (0, 1):
    nudged = old.clone()
    nudged[j] += 0.01
    columns.append((torch.tanh(w_rec @ nudged) - new) / 0.01)

print("slopes of the tanh, 1 − h²:", fixed(1 - new**2, 2))
print("w_rec:")
print(fixed(w_rec, 2))
print("measured by nudging each number in turn:")
print(fixed(torch.stack(columns, dim=1), 2))

# %% [markdown] kind="text" exercise="product_of_jacobians"
r"""
Compare the two tables: row 1 shrank by the first slope, row 2 by the second.

Two steps in a row make one table again, their **matrix product**, `later @ earlier`. Its number in row $i$, column $j$ is the dot product of row $i$ of the later table with column $j$ of the earlier one, for a nudge to number $j$ gets to number $i$ through every number in between:

$$ \begin{pmatrix} 1 & 2 \\ 0 & 1 \end{pmatrix} \begin{pmatrix} 3 & 0 \\ 1 & 2 \end{pmatrix} = \begin{pmatrix} 1 \cdot 3 + 2 \cdot 1 & 1 \cdot 0 + 2 \cdot 2 \\ 0 \cdot 3 + 1 \cdot 1 & 0 \cdot 0 + 1 \cdot 2 \end{pmatrix} = \begin{pmatrix} 5 & 4 \\ 1 & 2 \end{pmatrix} $$

**Multiply them.** Given the states $h_1 … h_n$ of one text and the matrix, return the Jacobian of $h_n$ with respect to $h_1$: the product of the Jacobians of all steps in between, with the last step on the left. If there is only one state, there are no steps, and the result is the identity matrix.
"""

# %% kind="exercise" exercise="product_of_jacobians" title="Multiply the Jacobians" difficulty=3 importance=4 track="core"
def product_of_jacobians(states, w_rec):
    """states (n, hidden), w_rec (hidden, hidden)

    ->  jacobian (hidden, hidden): how the last state moves with the first
    """
    # solution
    jacobian = torch.eye(len(w_rec))
    for state in states[1:]:
        one_step = (1 - state**2)[:, None] * w_rec
        jacobian = one_step @ jacobian
    return jacobian
    # end solution

# %% kind="check" exercise="product_of_jacobians"
check("product_of_jacobians", product_of_jacobians)

# %% [markdown] kind="hints" exercise="product_of_jacobians"
r"""
### A nudge
From `n` states there are `n − 1` steps. With no step at all a nudge arrives as it is: begin with `torch.eye(len(w_rec))`.

---
### Step by step
For each state but the first: the slopes are `1 - state**2`. Each multiplies one *row* of `w_rec`. `slopes[:, None]` stands them upright, (hidden, 1), one beside each row: `slopes[:, None] * w_rec`. Then the step, `@`, what you have so far.
"""

# %% kind="see" track="core"
jacobian_of = yours("product_of_jacobians")
generator = torch.Generator().manual_seed(2)
random_matrix = torch.randn(32, 32, generator=generator) / 32**0.5  # see below
words = 0.1 * torch.randn(51, 32, generator=generator)
no_bias, zero_state = torch.zeros(32), torch.zeros(32)
lags, curves = (1, 2, 5, 10, 20, 30, 40, 50), {}
for scale in (0.5, 1.0, 2.0):
    matrix = scale * random_matrix
    states = reader(words, zero_state, torch.eye(32), matrix, no_bias)
    products = {lag: jacobian_of(states[50 - lag :], matrix) for lag in lags}
    curves[f"U × {scale:g}"] = [products[lag].norm() / 32**0.5 for lag in lags]

    first = states[40].clone().requires_grad_()  # and autograd's own, over ten steps
    last = reader(words[41:], first, torch.eye(32), matrix, no_bias)[-1]
    (gradient,) = torch.autograd.grad(last[0], first)  # of the one by the other
    torch.testing.assert_close(gradient, products[10][0], rtol=1e-3, atol=1e-7)

print("row 1 of the product is autograd's gradient, for all three matrices")
views.lines(
    lags, curves, x_name="steps back", y_name="what arrives of 1", log_y=True,
    title="How much arrives: a random network of 32 numbers, three sizes of U",
    alt="Over 50 steps, U × 0.5 falls below 1e-14, U × 1 stays near 1, "
    "U × 2 rises above 1000.",
)

# %% [markdown] kind="text" track="core"
r"""
Each number of the new state is a sum of 32 random products. Divided by √32, as in the code, the matrix leaves a vector about as long as it was: this is U × 1. With half of it less than a trillionth of a nudge arrives after 50 steps; with twice as much it arrives more than a thousand times as large. (Torch's own start for an RNN is about U × 0.6: it vanishes.)

The larger networks of section 3, with ten symbols, show the same. Before training, the length of their gradient is {result:recall/rnn_lm/gradient/fresh/1:.2f} at the word one step back, {result:recall/rnn_lm/gradient/fresh/10:.4f} at ten steps and {result:recall/rnn_lm/gradient/fresh/20:.7f} at twenty: just where the learning ended.
"""

# %% kind="explain" track="core"
explain("02", "forgets-or-cannot-learn")

# %% [markdown] kind="text" track="short"
r"""
## 5 · When it explodes

A vanished gradient is silent. An exploded one is loud: one step of training with a gradient a thousand times too long throws all weights far away, and what was learned is gone. There is a simple guard, {term:clipping}, which shortens a gradient that is too long (Pascanu, Mikolov and Bengio, 2013). Put all gradients of all weights into one long vector. If its length (the root of the sum of all squares, its *norm*) is above a limit, multiply the whole of it by one number so that it has just that length. The direction stays, only the step gets shorter. A gradient below the limit is left alone.
"""

# %% [markdown] kind="text" exercise="clip_gradients"
r"""
Somebody has written it down. Does it do what the text says? Make its check pass.
"""

# %% kind="exercise" exercise="clip_gradients" mode="bug" title="Clip the gradients" difficulty=2 importance=4 track="core"
def clip_gradients(gradients, limit):
    """gradients: a list of tensors of any shapes; limit: a number

    ->  a new list; all numbers together have a norm of at most limit
    """
    # bug
    return [gradient.clamp(-limit, limit) for gradient in gradients]
    # end bug
    # solution
    squares = sum(gradient.square().sum() for gradient in gradients)
    factor = limit / squares.sqrt().clamp(min=limit)
    return [gradient * factor for gradient in gradients]
    # end solution

# %% kind="check" exercise="clip_gradients"
check("clip_gradients", clip_gradients)

# %% [markdown] kind="hints" exercise="clip_gradients"
r"""
### A nudge
Take the gradients (3) and (4) and the limit 1, on paper. What does the first version make of them? In which direction does each point, before and after?

---
### Step by step
1. Square all numbers of all tensors, add them up, take the root: the norm.
2. One factor for all: limit / norm if the norm is above the limit, else 1.
"""

# %% kind="see" track="core"
clip = yours("clip_gradients")
matrix = (2.0 * random_matrix).requires_grad_()
loss = reader(words, zero_state, torch.eye(32), matrix, no_bias)[-1].square().sum()
(exploded,) = torch.autograd.grad(loss, matrix)
(shorter,) = clip([exploded], 1.0)
clamped = exploded.clamp(-1.0, 1.0)  # each number by itself

for name, gradient in (("clipped", shorter), ("each number cut", clamped)):
    cosine = F.cosine_similarity(gradient.flatten(), exploded.flatten(), dim=0)
    norm = fixed(gradient.norm(), 1)
    print(f"{name:<16} norm {norm:>5}, same direction: {fixed(cosine, 2)}")
assert exploded.norm() > 1000

# %% [markdown] kind="text" track="core"
r"""
(1.00 is the very same direction, 0 a right angle.) Cutting each number by itself leaves a long step in another direction. That variant exists too, and works in practice, but it is not what was described, and the limit means something else in it.

Note what clipping does **not** do. It shortens what is too long. It cannot bring back what has vanished: a hundred times nothing is nothing.
"""

# %% [markdown] kind="text" track="short"
r"""
## 6 · One word after the other

What does reading cost in time? Take 3,200 words, read once as one long text, and once as 8 texts of 400 words side by side: then each turn of your loop takes one word of all eight. It is the same number of words and of multiplications. Estimate, then your own function is timed on your machine.
"""

# %% kind="estimate" ignore_output=true
def seconds(texts, length, hidden=64):
    """The time to read the texts, the best of three."""
    generator = torch.Generator().manual_seed(0)
    words = torch.randn(texts, length, hidden, generator=generator)
    matrix = torch.randn(hidden, hidden, generator=generator) / 8
    times = []
    for _ in range(3):
        start = time.perf_counter()
        with torch.no_grad():
            reader(words, words[:, 0], matrix, matrix, matrix[0])
        times.append(time.perf_counter() - start)
    return min(times)


estimate("02", "one-long-text", lambda: seconds(1, 3200) / seconds(8, 400))

# %% [markdown] kind="text"
r"""
For us the one long text took 4 to 8 times as long. The time follows the number of steps **in a row**, hardly the number of words: $h_{100}$ needs $h_{99}$, which needs $h_{98}$, on a graphics card too. Remember this when lesson 09 reads all words of a sentence at once.
"""

# %% [markdown] kind="text" exercise="test_reader"
r"""
**If you have time: write the test.** Somebody hands you *their* `read_sequence`. Write a function that calls it with inputs of your choice and raises if it is wrong. One sentence is enough; several at once need not be tested. The most dangerous readers give the right shape, and states between −1 and 1.
"""

# %% kind="exercise" exercise="test_reader" mode="test" title="Test somebody's reader" difficulty=3 importance=3 track="stretch"
def test_reader(reader):
    """Takes a function like read_sequence; raises if it is wrong."""
    # solution
    torch.manual_seed(1)
    inputs, (start, bias) = torch.randn(4, 2), torch.randn(2, 3)
    w_in, w_rec = torch.randn(3, 2), torch.randn(3, 3)
    states = reader(inputs, start, w_in, w_rec, bias)
    expected = start
    for i in range(4):
        expected = torch.tanh(w_in @ inputs[i] + w_rec @ expected + bias)
        torch.testing.assert_close(states[i], expected)
    # end solution

# %% kind="check" exercise="test_reader"
check("test_reader", test_reader)

# %% [markdown] kind="hints" exercise="test_reader"
r"""
### A nudge
A start of zeros hides a reader that ignores `start`. One word hides a reader that carries nothing over. A matrix like `torch.eye` hides one that has turned it on its side.

---
### Step by step
Random inputs of different sizes, at least three words, a start and a bias that are not zero. Compute the states by the formula, one by one, and compare each with `torch.testing.assert_close`.
"""

# %% [markdown] kind="text" contents="a well-meant line of code whose damage no test of outputs can find"
r"""
## Break it

A well-meant line: `.detach()` hands on a state's numbers, but cuts the way back for gradients. (People add it to save memory, for autograd keeps every step of the chain until the end.)

> **Before you run it:** which will differ from the right reader, the states, the gradient at the first word, or both?
"""

# %% kind="break"
def detached_reader(inputs, state, w_in, w_rec, bias):
    states = []
    for word in inputs.unbind(dim=-2):
        state = torch.tanh(word @ w_in.T + state.detach() @ w_rec.T + bias)
        states.append(state)
    return torch.stack(states, dim=-2)


for name, read in (("right", reader), ("with .detach()", detached_reader)):
    short = words[:6].clone().requires_grad_()
    last = read(short, zero_state, torch.eye(32), random_matrix, no_bias)[-1]
    gradient = torch.autograd.grad(last.sum(), short)[0]
    first_norm, last_norm = (significant(gradient[i].norm(), 2) for i in (0, 5))
    print(f"{name:<15} last state {fixed(last[:3], 2)}")
    print(f"{'':<15} gradient at the first word {first_norm}, at the last {last_norm}")

try:
    yours("test_reader")(detached_reader)
    print("the test of the last exercise lets it through")
except AssertionError:
    print("the test of the last exercise catches it: it looks at gradients")

# %% [markdown] kind="text"
r"""
The states agree. No test of outputs can find it, and the loss still falls, for the last word does learn. No step is told to keep something for later; what survives does so by luck. (The check of `read_sequence` compares gradients too, and would have caught it.) Done on purpose, say every 50 steps, it has a name, *truncated* backpropagation through time, and is how long texts are trained.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself

The first try counts for your score; you may try again as often as you like, and every answer gets a reason.
"""

# %% kind="quiz"
quiz("02", "closing")

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (4 min).** "Could we choose the start so that every factor is exactly 1?" Expected: a matrix that only turns (an orthogonal one) does it for the linear network, see the
explorable at factor 1. The tanh still takes its share, and training moves the matrix away from it. Follow-up: what if the old state were not multiplied at all, but added to? That is lesson 03.

**Learners will say / what it is / one-line answer**

| they say | what it is | answer |
|---|---|---|
| "the gradient vanishes, so the network forgets" | M02 | The wired one has a gradient of 0 and forgets nothing. Running and learning are two things. |
| "clipping solves the gradient problem" | half of it | It shortens; it cannot lengthen. |
| "my reader works, only batches fail" | axes from the front | Count from the back. |
| "just use a larger state" | M03 | More numbers, the same factors. In `recall` 64 numbers hold one bit. |
| "a GPU makes it fast" | | Each step, yes. The row of steps, no. |

**If time is short**, cut section 6's estimate and the test exercise; keep the wiring and the two predictions of section 3.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | what it is | shape |
|---|---|---|
| state $h_t$ | all the network keeps of what it has read | (hidden) |
| $W$, $U$, $b$ | shared by all steps | (hidden, input), (hidden, hidden), (hidden) |
| one step's {term:Jacobian} | rows of $U$ times the slopes $1 - h^2$ | (hidden, hidden) |
| product of Jacobians | what a nudge, or a gradient, becomes over many steps | (hidden, hidden) |
| norm | the length of all gradients together; clipping limits it | a number |

- A recurrent network reads texts of any length with one set of weights, and keeps all it knows in one state.
- It **can** remember: three numbers set by hand hold a signal for 200 steps. It rarely **learns** to: of sixty trained on that task none did, with ten times the steps six, and with ten symbols a distance of 10 was the limit.
- The reason is a product. A factor of 0.9 leaves 0.5% after 50 steps, a factor of 1.1 makes it 117 times as large.
- Clipping tames the second case and does nothing for the first.
- The steps wait for each other, so a longer text takes longer on any machine.

**Still missing.** Every step multiplies what was there, and whatever is multiplied often enough is gone or too large. The wish is a path on which *nothing* is multiplied away: where the old is kept as it is, and the new is only added. Lesson 03 lays it.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Bengio, Simard and Frasconi, *Learning Long-Term Dependencies with Gradient Descent is Difficult* (1994): the wired switch of section 2, and the proof that it costs the gradient.
- Pascanu, Mikolov and Bengio, *On the difficulty of training recurrent neural networks* (2013), sections 2 and 3: both failures, and clipping. [arXiv 1211.5063](https://arxiv.org/abs/1211.5063)
- Elman, *Finding Structure in Time* (1990): what a small recurrent network finds in language by guessing the next word.
"""
