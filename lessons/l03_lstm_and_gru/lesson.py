# Lesson 03 · the source. Edit this file, then run `python3 -m course_lib build 03`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 03 · LSTM and GRU

**The question:** what do gates improve in a recurrent network, and which problems remain?

About {minutes} minutes. You need [lesson 02](02_recurrent_networks.ipynb): the hidden state, unrolling, and gradients that shrink with every step back.
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **explain** what the forget gate does to the signal on the way forward and to the gradient on the way back;
2. **name** the problems of recurrent networks that gates don't solve;
3. **write** one step of an LSTM and check it against torch's; <!-- core -->
4. **predict** from a forget bias how long a cell state lasts, and **choose** a bias for a given distance; <!-- core -->
5. **compare** training on one distance with training on many. <!-- core -->
"""

# %% [markdown] kind="instructor"
r"""
**Open with (3 min)** the last question of lesson 02: "What if the old state weren't multiplied by a matrix, but only added to?" Expected: nothing is lost any more, but nothing can be removed either, and the state keeps growing. So something has to decide what to keep and what to add: gates.

**If time is short,** skip the cell that runs the language model with `lstm_cell`, and the curriculum; keep both predictions of section 7.
"""

# %% kind="setup"
import math

import torch
from torch import nn
from torch.nn import functional as F

from course_lib import views
from course_lib.formatting import fixed
from course_lib.results import mean_over_seeds
from course_lib.teaching import check, estimate, predict, quiz, start_lesson, yours
from course_lib.text import BOS
from course_lib.translation import load_shipped
from lessons.l03_lstm_and_gru import GateMixer, key_picture, recall, unrolled_cell

start_lesson("lstm_and_gru", seed=3)

# %% [markdown] kind="text"
r"""
This is one step of a trained LSTM, a recurrent network with a second state, the *cell state*. It has just read *chat* (cat). Follow one number of the cell state from left to right: the thicker its line, the further it is from 0.
"""

# %% kind="picture" name="key picture" hide_input=true
key_picture.draw()

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("03", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · A second state, controlled by gates

A plain RNN recomputes its whole hidden state at every step: it multiplies the old state by a matrix, adds the input and applies tanh. Whatever the network remembers of an early word has to survive all of these transformations, and the gradient has to pass through all of them on its way back.

Hochreiter and Schmidhuber (1997) added a second state vector, the {term:cell state}. In their version, each step only adds something to it. Today its components are also scaled, but nothing else is done to them. Gates control both operations. A {term:gate} is a vector of numbers between 0 and 1 that is multiplied by another vector, component by component: 1 lets a component pass unchanged, 0 blocks it, and 0.25 lets a quarter of it through.

- The {term:forget gate} scales the old cell state. Gers et al. added it in 2000. The name is misleading, because a forget gate of 1 forgets nothing.
- The **input gate** scales the new content, called the **candidate**, before it is added. The candidate is between −1 and 1.
- The **output gate** controls how much of the cell state the rest of the network gets to see. The result is the hidden state.

**An example.** A component of the cell state is 0.8, its forget gate is 0.5, its input gate is 0.5 and its candidate is −0.4. The new cell state is 0.5 · 0.8 + 0.5 · (−0.4) = 0.2.

At every step, the network computes the gates from the input and the hidden state, with linear layers followed by the {term:sigmoid} function σ, which maps any number into the range from 0 to 1: σ(−5) = 0.007, σ(0) = 0.5, σ(1) = 0.73, σ(5) = 0.993. A recurrent network of this kind is called an {term:LSTM}, short for *long short-term memory*.

On the path from the old cell state to the new one, highlighted below, there is a product with the forget gate and a sum, but no matrix and no tanh.
"""

# %% kind="picture" name="path of the cell state" hide_input=true
key_picture.draw("cell state")

# %% [markdown] kind="instructor"
r"""
**Vote** on the question about 30 steps with open forget gates. The tempting answer adds the hidden state. Ask which gate comes between the two states: the output gate, and it can change at every step.
"""

# %% kind="quiz"
quiz("03", "one-step")

# %% [markdown] kind="text" track="short"
r"""
## 2 · How long does a cell state last?

Suppose that the input gate is 0, so nothing is added. With a forget gate of 0.9, 90% of the cell state is left after one step, 81% after two steps and 73% after three. After seven steps, 48% is left, less than half. The number of steps until half is left is called the {term:half-life}, a term borrowed from radioactive decay.

The forget gate is the sigmoid of a sum of three terms: one depends on the input, one on the hidden state, and the third is a constant, the {term:forget bias}. If the first two are 0, the bias alone determines the gate. A bias of 0 gives a gate of 0.5, which halves the cell state at every step. That's why many implementations start with a bias of 1, where the gate is 0.73.
"""

# %% kind="predict" track="core"
predict("03", "bias-one", GateMixer())

# %% [markdown] kind="formula" track="core"
r"""
Move the sliders and try to reach the goals. You can also compute the half-life. If nothing is added, $n$ steps multiply the cell state by $f^n$, where $f = \sigma(b) = 1/(1 + e^{-b})$ is the forget gate for the forget bias $b$. Half is left when

$$ f^{\,n} = \tfrac{1}{2} \qquad\Longleftrightarrow\qquad n \ln f = \ln \tfrac12 \qquad\Longleftrightarrow\qquad n = \frac{\ln 2}{-\ln f} $$

The half-life $n$ needn't be a whole number.
"""

# %% [markdown] kind="instructor"
r"""
**Common errors in `half_life`:** 1/(1 − f), which is the mean lifetime, about 1.44 half-lives for large biases; a missing minus sign.
"""

# %% [markdown] kind="text" exercise="half_life"
r"""
Compute the half-life for a given forget bias, a Python number. Don't round the result. `math.exp` and `math.log`, the natural logarithm, are all you need.
"""

# %% kind="exercise" exercise="half_life" title="From a bias to a half-life" difficulty=1 importance=4 track="core"
def half_life(forget_bias):
    """forget_bias: a number  ->  the half-life in steps, a number"""
    # solution
    gate = 1 / (1 + math.exp(-forget_bias))
    return math.log(2) / -math.log(gate)
    # end solution

# %% kind="check" exercise="half_life"
check("half_life", half_life)

# %% [markdown] kind="hints" exercise="half_life"
r"""
### A first hint
Two lines are enough. The first computes the gate, a number between 0 and 1.

---
### Step by step
The gate is 1 divided by $1 + e^{-b}$. Then divide $\ln 2$ by minus the logarithm of the gate. For a bias of 0, the result must be 1.
"""

# %% kind="code" track="core"
steps_to_half = yours("half_life")

for bias in (0.0, 1.0, 2.0, 3.0):
    print(f"forget bias {bias}: half-life {fixed(steps_to_half(bias), 1)} steps")

# %% [markdown] kind="text" track="core"
r"""
Does the formula hold for a real LSTM? Estimate the half-life for a forget bias of **5**, with your function in a new cell or in your head: for large biases, each additional unit multiplies the half-life by almost the same factor. After your estimate, `measure` sets the forget bias of torch's `nn.LSTMCell` to 5 and all other parameters to 0, so the candidate is 0 and nothing is added. It starts with a cell state of 1 and counts the steps after which at least half is left.
"""

# %% [markdown] kind="instructor"
r"""
**Ask the group (2 min)** before the estimate: "A bias of 3 gives {result:lesson_03/half-life/3:.0f} steps. What does 5 give?" Common answers are 24 (in proportion to the bias), 28 (doubling) and 32 (a straight line through the values for 2 and 3). For large biases $-\ln\sigma(b) \approx e^{-b}$, so each unit multiplies the half-life by $e = 2.7$: 14 · 2.7 · 2.7 ≈ 104.
"""

# %% kind="estimate" track="core"
def measure():
    torch_cell = nn.LSTMCell(input_size=1, hidden_size=1)
    with torch.no_grad():
        for weight in torch_cell.parameters():
            weight.zero_()
        torch_cell.bias_ih[1] = 5.0  # the order is input, forget, cell, output
        hidden, cell, steps = torch.zeros(1, 1), torch.ones(1, 1), -1
        while cell.item() >= 0.5:
            hidden, cell = torch_cell(torch.zeros(1, 1), (hidden, cell))
            steps += 1
    return steps


estimate("03", "bias-five", measure)

# %% [markdown] kind="text" track="core"
r"""
The formula predicts {result:lesson_03/half-life/5:.0f} steps, and in torch's LSTM cell we count {result:lesson_03/steps in torch's cell/5:.0f}. Changing one constant from 0 to 5 lengthens the half-life from {result:lesson_03/half-life/0:.0f} step to {result:lesson_03/half-life/5:.0f}.
"""

# %% [markdown] kind="text"
r"""
**The gradient shrinks at the same rate.** Along the path of the cell state, each step multiplies by the forget gate $f$ and adds something. If the cell state changes a little now, the cell state $n$ steps later changes by $f^n$ times as much, and this factor is the gradient along the path. So an LSTM doesn't eliminate vanishing gradients, although you'll often read that it does. Its forget gates control how fast gradients vanish, and only a gate of exactly 1 loses nothing. There are other paths back, through the hidden state and its weight matrices. Along them, gradients can also grow, so LSTMs are still trained with gradient clipping.
"""

# %% [markdown] kind="instructor"
r"""
**They say:** "LSTMs have no vanishing gradients" (M01). **Answer:** They control how fast gradients vanish. With forget gates of 0.9, 0.003% is left after 100 steps.
"""

# %% [markdown] kind="formula" track="short"
r"""
## 3 · One LSTM step

From the input $x$ and the old hidden state $h$, the LSTM computes four vectors of *pre-activations*, each with its own weights. Three of them become gates and one becomes the candidate $g$. They determine the new cell state $c'$, and from it the new hidden state $h'$:

$$ \begin{aligned}
i &= \sigma(W_i x + U_i h + b_i) & f &= \sigma(W_f x + U_f h + b_f) \\
g &= \tanh(W_g x + U_g h + b_g) & o &= \sigma(W_o x + U_o h + b_o) \\
c' &= f \odot c + i \odot g & h' &= o \odot \tanh(c')
\end{aligned} $$

Here $\odot$ is the {term:elementwise product}: every component of the cell state has its own gates, so some components can be kept while others are replaced.
"""

# %% [markdown] kind="formula" track="core"
r"""
torch stacks the four weight matrices into one, in the order **input, forget, cell, output**. Its documentation calls the candidate $g$ the *cell gate*. torch also has two bias vectors, `bias_ih` and `bias_hh`; our `b` is their sum.

| symbol | variable | in torch | shape |
|---|---|---|---|
| $x$ | `x` | `input` | (batch, input_size) |
| $h$, $c$ | `hidden`, `cell` | `h_0`, `c_0` | (batch, hidden_size) |
| $W$ | `w_x` (`w_in` in lesson 02) | `weight_ih` | (4 · hidden_size, input_size) |
| $U$ | `w_h` (`w_rec` in lesson 02) | `weight_hh` | (4 · hidden_size, hidden_size) |
| $b$ | `b` | `bias_ih + bias_hh` | (4 · hidden_size) |
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** Two questions solve most problems: "Which of the four parts gets a tanh?" (the third, the candidate) and "Which cell state does the hidden state see?" (the new one). If the values are wrong but the shapes are right, the order of the four parts is usually the reason.
"""

# %% [markdown] kind="text" exercise="lstm_cell"
r"""
Write one LSTM step in four parts:

1. Compute all four vectors of pre-activations at once, with shape (batch, 4 · hidden_size).
2. Split them into four parts with `sums.chunk(4, dim=-1)`, and apply `torch.sigmoid` or `torch.tanh` to each.
3. Compute the new cell state.
4. Compute the new hidden state from the new cell state.

Return the new hidden state and the new cell state, in this order. Later in this lesson your function will run a trained language model.
"""

# %% kind="exercise" exercise="lstm_cell" title="One LSTM step" difficulty=3 importance=5 track="core"
from lessons.l03_lstm_and_gru.solutions import lstm_cell

# %% kind="check" exercise="lstm_cell"
check("lstm_cell", lstm_cell)

# %% [markdown] kind="hints" exercise="lstm_cell"
r"""
### A first hint
`x` is (batch, input_size) and `w_x` is (4 · hidden_size, input_size). Which of the two do you have to transpose to multiply them? The same applies to `hidden` and `w_h`.

---
### Step by step
1. Add three terms: `x` times the transpose of `w_x`, `hidden` times the transpose of `w_h`, and `b`.
2. Apply the sigmoid to the first, second and fourth part, and tanh to the third, the candidate.
3. Multiply the forget gate by the old cell state and the input gate by the candidate, and add the two.
4. Multiply the output gate by the tanh of the **new** cell state. Return the cell state itself without tanh.
"""

# %% kind="library" track="core"
my_cell = yours("lstm_cell")
theirs = nn.LSTMCell(input_size=7, hidden_size=5)

x, hidden, cell = torch.randn(3, 7), torch.randn(3, 5), torch.randn(3, 5)
b = theirs.bias_ih + theirs.bias_hh
ours = my_cell(x, hidden, cell, theirs.weight_ih, theirs.weight_hh, b)
torch.testing.assert_close(ours, theirs(x, (hidden, cell)))
print("the same hidden state and cell state as torch.nn.LSTMCell")

# %% [markdown] kind="formula" track="short"
r"""
## 4 · The GRU: one state and two gates

Cho et al. (2014) simplified the LSTM. Their {term:GRU}, or *gated recurrent unit*, has no separate cell state and no output gate. A single gate decides how much of the old state is kept and how much is replaced. Without biases, torch computes

$$ \begin{aligned}
r &= \sigma(W_r x + U_r h) & z &= \sigma(W_z x + U_z h) \\
n &= \tanh\big(W_n x + r \odot (U_n h)\big) & h' &= (1 - z) \odot n + z \odot h
\end{aligned} $$

The {term:update gate} $z$ mixes the old state with the candidate, which is called $n$ here, as in torch: 1 keeps the old state, 0 replaces it. The **reset gate** $r$ controls how much of the old state enters the candidate. Definitions differ slightly. Cho's reset gate acts before the matrix, $U_n (r \odot h)$, and Bahdanau's paper, the subject of lesson 06, swaps $z$ and $1 - z$. This course uses torch's version.
"""

# %% kind="library" track="core" contents="the GRU step in code, compared with torch's"
def gru_cell(x, hidden, w_x, w_h, b_x, b_h):
    """One GRU step with torch's two biases; the parts are reset, update, new."""
    r_x, z_x, n_x = (x @ w_x.T + b_x).chunk(3, dim=-1)
    r_h, z_h, n_h = (hidden @ w_h.T + b_h).chunk(3, dim=-1)
    r, z = torch.sigmoid(r_x + r_h), torch.sigmoid(z_x + z_h)
    n = torch.tanh(n_x + r * n_h)  # r also scales the bias of n_h
    return (1 - z) * n + z * hidden


theirs = nn.GRUCell(input_size=7, hidden_size=5)
weights = [theirs.weight_ih, theirs.weight_hh, theirs.bias_ih, theirs.bias_hh]
torch.testing.assert_close(gru_cell(x, hidden, *weights), theirs(x, hidden))
print("the same hidden state as torch.nn.GRUCell")

# %% [markdown] kind="text" track="short"
r"""
## 5 · A sentence that the RNN got wrong

In lesson 02, an RNN language model had to continue *la souris a bu l' eau parce qu'* (“the mouse drank the water because”). Both nouns are feminine, so the right pronoun is *elle*. The RNN gave *elle* only {result:lesson_03/elle/rnn_lm/souris:.2f}, about as much as after *le chat a bu l' eau parce qu'* ({result:lesson_03/elle/rnn_lm/chat:.2f}), where the first noun is masculine. The course also ships an LSTM and a GRU language model, trained on the same sentences, with about the same number of parameters.
"""

# %% kind="predict" hide_input=true name="mouse"
SENTENCE = "la souris a bu l' eau parce qu'"


@torch.no_grad()
def probability_of_elle(name):
    shipped = load_shipped(name)
    tokens = torch.tensor([[BOS, *shipped.tokenizer.encode(SENTENCE)]])
    probabilities = shipped.model.eval()(tokens)[0, -1].softmax(dim=-1)
    return probabilities[shipped.tokenizer.encode("elle")[0]]


NAMES = ("rnn_lm", "lstm_lm", "gru_lm")
figure = views.bars(
    [probability_of_elle(name) for name in NAMES], labels=["RNN", "LSTM", "GRU"],
    high=1.0, name="probability", title="Probability of “elle”",
)
predict("03", "mouse-again", figure)

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (4 min)** before you read on. "Does this figure show that LSTMs are better at pronouns? What would convince you?" Expected: more sentences, several seeds, and a test in which the last noun doesn't give the gender away. The table below has all three, and the GRU turns out to depend on the seed.
"""

# %% [markdown] kind="text" track="short"
r"""
This looks like a clear win for the LSTM, but one sentence and one random seed prove little. So we tested {result:pronoun_probe/rnn_lm/pronouns/with one correct pronoun:,.0f} beginnings like this one, in which both nouns have the same gender, with three seeds per network:

| network | mean probability of the right pronoun | increase for *elle* if the subject is feminine |
|---|---|---|
| RNN | {result:each pronoun_probe/rnn_lm/pronouns/probability/mean:.2f} | {result:each pronoun_probe/rnn_lm/pronouns/moved by the subject:.2f} |
| GRU | {result:each pronoun_probe/gru_lm/pronouns/probability/mean:.2f} | {result:each pronoun_probe/gru_lm/pronouns/moved by the subject:.2f} |
| LSTM | {result:each pronoun_probe/lstm_lm/pronouns/probability/mean:.2f} | {result:each pronoun_probe/lstm_lm/pronouns/moved by the subject:.2f} |

Both columns compare only *il* and *elle*. As lesson 02 mentioned, the mouse isn't typical: the RNNs prefer the right pronoun in most of these sentences. The last noun always has the right gender there, so they don't need to remember the subject. The last column is a fairer test: it compares feminine with masculine subjects, followed by the same words. Every LSTM is better than every RNN in both columns, and the RNNs' predictions hardly depend on the subject. The GRUs vary with the seed, and the one in the figure is the worst of the three.
"""

# %% [markdown] kind="text" track="short"
r"""
How does this LSTM remember the subject? The picture follows the number of its cell state that matters most for the choice between *il* and *elle*, with the gates that the trained network computes at each word.
"""

# %% kind="picture" name="unrolled cell" hide_input=true track="short"
unrolled_cell.draw()

# %% [markdown] kind="text" track="core" contents="confidence intervals, perplexities, and the same prediction with your own LSTM step"
r"""
The last column of the table includes beginnings whose nouns differ in gender, {result:pronoun_probe/rnn_lm/pronouns/beginnings:,.0f} in all. For the probability, the 95% intervals, computed by resampling the subjects, end at {result:max pronoun_probe/rnn_lm/pronouns/probability/high:.2f} for the best RNN and begin at {result:min pronoun_probe/lstm_lm/pronouns/probability/low:.2f} for the worst LSTM. On all words of the test sentences, both gated networks are better, with three seeds each: the perplexities are {result:min toy_language_models/rnn_lm/scores/test/perplexity:.2f} to {result:max toy_language_models/rnn_lm/scores/test/perplexity:.2f} for the RNNs, {result:min toy_language_models/lstm_lm/scores/test/perplexity:.2f} to {result:max toy_language_models/lstm_lm/scores/test/perplexity:.2f} for the LSTMs and {result:min toy_language_models/gru_lm/scores/test/perplexity:.2f} to {result:max toy_language_models/gru_lm/scores/test/perplexity:.2f} for the GRUs.

Your own LSTM step can make the prediction about the mouse. We take the weights of the shipped LSTM language model, which has a cell state of 104 numbers, and run your `lstm_cell` word by word.
"""

# %% kind="library" name="trained model" track="core"
lstm_lm = load_shipped("lstm_lm")
model, layer = lstm_lm.model.eval(), lstm_lm.model.recurrent.layers[0][0]
tokens = torch.tensor([BOS, *lstm_lm.tokenizer.encode(SENTENCE)])

with torch.no_grad():
    w_x, w_h = layer.weight_ih_l0, layer.weight_hh_l0
    b = layer.bias_ih_l0 + layer.bias_hh_l0
    hidden = cell = torch.zeros(1, 104)
    for word in model.words.target(tokens):
        hidden, cell = my_cell(word[None], hidden, cell, w_x, w_h, b)
    logits = model.words.logits(model.to_embed(hidden))
    expected = model(tokens[None])[:, -1]
torch.testing.assert_close(logits, expected, atol=1e-3, rtol=1e-3)

probabilities = logits.softmax(dim=-1)[0]
for word in ("il", "elle"):
    [token] = lstm_lm.tokenizer.encode(word)
    print(f"{word:<4} {fixed(probabilities[token], 2)}")

# %% [markdown] kind="text" track="short"
r"""
## 6 · Recall over distance

Sentences are short, so let's test longer distances directly. In this task, a network sees one of ten symbols, then other symbols, and finally has to output the first one. Guessing gives an accuracy of 10%. We trained an RNN, an LSTM and a GRU, each with a hidden state of 64 numbers and with three random seeds. Each training batch has a random distance between 1 and 100 steps. The forget bias of the LSTM starts at 1.
"""

# %% kind="predict" hide_input=true
SYSTEMS = {"gru_lm": "GRU", "lstm_lm": "LSTM", "rnn_lm": "RNN"}
DISTANCES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100)
TRAINED = (1, 2, 5, 10, 20, 50, 100)


def accuracies(experiment, distances):
    """For each system, the mean accuracy over its seeds at every distance."""
    rows = [
        mean_over_seeds(experiment, lambda run, d=str(d): 100 * run["right"][d])
        for d in distances
    ]
    return {name: [row[key] for row in rows] for key, name in SYSTEMS.items()}


axes = {"log_x": True, "y_limits": (0, 106)}
mixed, name = accuracies("recall", DISTANCES), "accuracy, %"
all_mixed = views.Part("Trained on all distances", DISTANCES, mixed, name, **axes)
alt = (
    "Accuracy over distances 1 to 100. LSTM and GRU: always 100%. RNN: below 50% even "
    "at a distance of 1, and about 20% from 5 on."
)
figure = views.panels([all_mixed], x_name="distance, steps", alt=alt)
predict("03", "mixed-distances", figure)

# %% [markdown] kind="text"
r"""
With gates, every run solves the task: at a distance of 100, each LSTM and each GRU has an accuracy of {result:min recall/lstm_lm/right/100:.0%}. The RNNs reach only {result:min recall/rnn_lm/right/100:.0p} to {result:max recall/rnn_lm/right/100:.0%}. But they already fail at a distance of 1, with {result:min recall/rnn_lm/right/1:.0p} to {result:max recall/rnn_lm/right/1:.0%}, although RNNs that are trained on a distance of 5 alone all reach {result:min recall_one_distance/rnn_lm/right/5:.0%} there. So the figure shows what each network *learned* from the mixture of distances, not how long a plain RNN could keep a symbol.
"""

# %% [markdown] kind="text" track="core" contents="why the same LSTM fails when it is trained on one long distance alone, and two ways to help it"
r"""
## 7 · Training on one distance

Now we train new networks **on a single distance**, for {result:recall_one_distance/lstm_lm/n_steps:,.0f} steps instead of {result:recall/lstm_lm/n_steps:,.0f}, and test them on the same distance. The architecture and the {term:initialisation} stay the same. You have just seen that this LSTM can remember a symbol for 100 steps.
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (4 min)** before the prediction: "The LSTM can remember a symbol for 100 steps. Can it be trained on 50 alone?" Most say yes. Afterwards, ask for the difference between *can remember* and *learns to remember*, and for a link to lesson 02.
"""

# %% kind="predict" hide_input=true track="core"
alone = accuracies("recall_one_distance", TRAINED)
on_one = views.Part("Trained on one distance", TRAINED, alone, "accuracy, %", **axes)
alt = (
    "Accuracy over distances of 1 to 100. Trained on one distance alone, RNN, GRU "
    "and LSTM fall to 10% at a distance of 20 or 50."
)
figure = views.panels([all_mixed, on_one], x_name="distance, steps", alt=alt)
predict("03", "fifty-alone", figure)

# %% [markdown] kind="text" track="core"
r"""
At a distance of 50, all LSTMs and GRUs stay at chance. Four times as many training steps don't help the LSTM, which reaches {result:each recall_alone_longer/lstm_lm/right/50:.0%}. As in lesson 02, a network may be *able* to remember something and yet not *learn* to.

To see what an untrained LSTM starts from, we change the first symbol and look at the last hidden state, 40 steps later. *Forward* is how much the last hidden state changes. *Backward* is the size of its gradient with respect to the first symbol's embedding.
"""

# %% kind="code" track="core" name="new LSTM"
def new_lstm(forget_bias, seed, size=32):
    torch.manual_seed(seed)
    words, out = nn.Embedding(16, 16), nn.Linear(size, 16)
    lstm = nn.LSTM(16, size, batch_first=True)
    with torch.no_grad():
        lstm.bias_ih_l0[size : 2 * size] = forget_bias
        lstm.bias_hh_l0[size : 2 * size] = 0.0
    return words, lstm, out

# %% [markdown] kind="instructor"
r"""
**Common error:** taking the printed forward and backward numbers for properties of a trained network. They describe a new one, before any training.
"""

# %% kind="code" track="core" name="directions"
generator = torch.Generator().manual_seed(0)
tokens = recall(generator, batch_size=32, distance=40, vocab_size=16).tokens
other = tokens.clone()
other[:, 1] = 6 + (tokens[:, 1] - 5) % 10  # another one of the symbols 6 to 15

for bias in (1.0, 3.0, 5.0):
    words, lstm, _ = new_lstm(bias, seed=0)
    embedded = words(tokens).detach().requires_grad_()
    last = lstm(embedded)[0][:, -1]
    changed = lstm(words(other))[0][:, -1]
    forward = (changed - last).detach().norm(dim=-1).mean()
    (gradient,) = torch.autograd.grad(last.sum(), embedded)
    backward = gradient[:, 1].norm(dim=-1).mean()
    print(f"bias {bias}: forward {fixed(forward, 4)}, backward {fixed(backward, 4)}")

# %% [markdown] kind="text" track="core"
r"""
With a bias of 1, hardly anything arrives in either direction. Along the cell state, the signal and the gradient are multiplied by the same forget gates, and $0.73^{40}$ is about three millionths; the printed numbers also include the paths through the hidden state. So at first the output hardly depends on the symbol, and the gradient that should change this is tiny as well. A larger forget bias helps in both directions.

It's tempting to blame the small gradient alone, but its size at the start doesn't decide the outcome by itself. In the runs with one distance, a GRU learned distance 20 although its gradient there started at only {result:min recall_one_distance/gru_lm/gradient/fresh/20:.1e}. An LSTM failed at distance 50 with a slightly larger one, {result:max recall_one_distance/lstm_lm/gradient/fresh/50:.1e}.
"""

# %% [markdown] kind="instructor"
r"""
**"So the small gradient was the reason?"** The forget bias changes the forward signal and the gradient together, so this experiment can't separate the two.

**Stuck in the exercise?** Go backwards in two steps: first the gate whose power `steps` is ½, then the bias whose sigmoid is that gate.
"""

# %% [markdown] kind="text" exercise="bias_for"
r"""
**Design your own forget bias.** Your function `half_life` maps a bias to a half-life. Now write its inverse: return the forget bias, a Python number, for which the half-life is exactly `steps`. You can assume that `steps` is a number greater than 1; it needn't be whole. Don't round the result.
"""

# %% kind="exercise" exercise="bias_for" title="From a half-life to a bias" difficulty=2 importance=4 track="core"
from lessons.l03_lstm_and_gru.solutions import bias_for

# %% kind="check" exercise="bias_for"
check("bias_for", bias_for)

# %% [markdown] kind="hints" exercise="bias_for"
r"""
### A first hint
Go backwards in two steps: from the half-life to the gate $f$, then from the gate to the bias $b$. Check your result with `half_life`.

---
### From the half-life to the gate
Half is left after $n$ steps, so $f^n = \tfrac12$. Solve this for $f$.

---
### From the gate to the bias
$f = 1/(1 + e^{-b})$ means that $e^{-b} = 1/f - 1 = (1 - f)/f$. Take the logarithm and mind the sign.
"""

# %% [markdown] kind="text" track="core"
r"""
Now train a small LSTM on a distance of 40 alone, with three random seeds: first with a forget bias of 1, then with yours. The training loop is that of lessons 01 and 02, so its code is collapsed. We suggest a half-life of 80 steps, twice the distance.
"""

# %% kind="train" name="lag 40" hide_input=true track="core"
def learn_lag_40(forget_bias, seed, distances):
    """Train on these distances; the losses, and the accuracy at distance 40."""
    words, lstm, out = new_lstm(forget_bias, seed)
    weights = [*words.parameters(), *lstm.parameters(), *out.parameters()]
    optimizer = torch.optim.Adam(weights, lr=0.01)
    generator = torch.Generator().manual_seed(seed)
    losses = []
    for distance in distances:
        task = recall(generator, batch_size=32, distance=distance, vocab_size=16)
        states, _ = lstm(words(task.tokens))
        loss = F.cross_entropy(out(states[:, -1]), task.targets[:, -1])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        losses.append(loss.item())
    test = recall(generator, batch_size=500, distance=40, vocab_size=16)
    with torch.no_grad():
        answers = out(lstm(words(test.tokens))[0][:, -1]).argmax(dim=-1)
    right = (answers == test.targets[:, -1]).float().mean()
    return torch.tensor(losses), right.item()

# %% kind="code" track="core"
my_half_life = 80  # change it if you like
my_bias = yours("bias_for")(my_half_life)
print("your forget bias:", fixed(my_bias, 2))

# %% [markdown] kind="instructor"
r"""
**While it trains** (six runs), ask: "Where does the loss start, and why?" Expected: near ln 10 = 2.3, because the network guesses among ten symbols.
"""

# %% kind="predict" ignore_output=true hide_input=true track="core"
curves, at_40 = {}, {}
for name, bias in (("bias 1", 1.0), ("your bias", my_bias)):
    runs = [learn_lag_40(bias, seed, [40] * 300) for seed in range(3)]
    at_40[name] = [accuracy for _, accuracy in runs]
    mean_losses = torch.stack([losses for losses, _ in runs]).mean(dim=0)
    curves[name] = mean_losses.view(30, 10).mean(dim=1)

figure = views.lines(
    range(10, 301, 10), curves, x_name="training step", y_name="loss",
    title="Distance 40 alone, mean of three seeds",
)
predict("03", "your-bias", figure)

# %% [markdown] kind="text" track="core"
r"""
A loss of 2.3, or $\ln 10$, corresponds to guessing among the ten symbols. With a bias of 1, the loss stays there. With your bias, it falls. We made the same comparison for the larger LSTM at distance 50, with three seeds and {result:recall_forget_bias/bias 1/n_steps:,.0f} training steps: a bias of 1 gives {result:each recall_forget_bias/bias 1/right/50:.0%}, and a bias of 3 or 5 gives {result:min recall_forget_bias/bias 3/right/50:.0%} with every seed. But choosing a large bias takes some knowledge of the distance, and a network that starts by keeping everything has to learn to forget.

There is a second remedy, which leaves the bias at 1: start with short distances and make them longer during training. Training on easy cases first is called {term:curriculum learning} (Bengio et al., 2009). Here the distance grows from 1 to 40 within the first 200 of the 300 steps.
"""

# %% [markdown] kind="instructor"
r"""
**While it trains,** ask what the curriculum and the mixture of section 6 have in common. Expected: both contain short distances.
"""

# %% kind="train" name="curriculum" ignore_output=true track="core"
growing = [min(40, 1 + step // 5) for step in range(300)]
at_40["bias 1, curriculum"] = [learn_lag_40(1.0, seed, growing)[1] for seed in range(3)]

for name, accuracies_at_40 in at_40.items():
    print(f"{name:<18}", *(f"{100 * accuracy:4.0f}%" for accuracy in accuracies_at_40))
assert max(at_40["bias 1"]) < 0.2 and min(at_40["bias 1, curriculum"]) > 0.8

# %% [markdown] kind="text" track="core"
r"""
The numbers are the accuracies at distance 40 for the three seeds. With a curriculum, the same LSTM learns the task from the same initialisation in the same number of steps. In section 6 the distances came in random order, but short ones were among them. A plausible reason for the success there is that the mixture works like a curriculum: the network learns short distances first, and these make longer ones easier to learn.
"""

# %% [markdown] kind="text" track="short"
r"""
## 8 · What gates don't solve

- **The state has a fixed size.** The LSTM of section 5 has a cell state of 104 numbers, whether the text has five words or fifty. It has to decide what to keep *before* it knows what will be needed.
- **The path is as long as before.** Two words that are 50 positions apart are still connected by 50 steps, and each step can lose something. With gates, each step loses less, but there are as many steps as before.
- **The steps are sequential.** The gates of step 50 depend on the hidden state of step 49, so the steps can't be computed in parallel.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on "Trained on distance 50 alone …" (full lesson) or "Which properties of an RNN does an LSTM share?" (short track). In the first, "With so small a gradient, no recurrent network can learn" sounds right. Section 7 has a counterexample: the GRU at distance 20.
"""

# %% kind="quiz"
quiz("03", "closing")

# %% [markdown] kind="instructor"
r"""
**Wrap up (2 min).** Each pair names one problem that gates solve and one that they don't. Collect the second kind on the board: fixed size, long path, sequential steps. Keep the list for lessons 04 to 06.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | meaning | shape |
|---|---|---|
| cell state | a second state that is only scaled and added to | (batch, hidden_size) |
| LSTM | input, forget and output gates, candidate, cell state | 4 sets of weights |
| GRU | reset and update gates, candidate, no separate cell state | 3 sets of weights |

- Along the cell state, both the signal and the gradient are multiplied by the forget gates.
- A forget bias of 1 means a half-life of {result:lesson_03/half-life/1:.1f} steps, a bias of 5 means {result:lesson_03/half-life/5:.0f}. <!-- core -->
- An LSTM that can remember something for 100 steps may still fail to learn to do so. In our experiments, a larger forget bias or a {term:curriculum learning|curriculum} helped. <!-- core -->

**Still missing.** Everything the network remembers has to fit into one state of fixed size. What happens if a whole sentence has to pass through such a state in order to be translated? That is the subject of [lesson 04](04_encoder_decoder.ipynb).
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Christopher Olah, [*Understanding LSTM Networks*](https://colah.github.io/posts/2015-08-Understanding-LSTMs/) (2015): the LSTM step in diagrams.
- Cho et al., [*Learning Phrase Representations using RNN Encoder-Decoder*](https://arxiv.org/abs/1406.1078) (2014), section 2.3: the GRU.
- Hochreiter and Schmidhuber, *Long Short-Term Memory* (1997), sections 2 to 4: the original LSTM, without a forget gate. <!-- core -->
- Gers, Schmidhuber and Cummins, *Learning to Forget* (2000): how the forget gate and its bias were added. <!-- core -->
- Bengio, Louradour, Collobert and Weston, *Curriculum Learning* (2009): training on easy examples first. <!-- core -->
"""
