# Lesson 03 · the source. Edit this file, then run `python3 -m course_lib build 03`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 03 · LSTM and GRU

**The question:** what do gates fix in a recurrent network, and what remains broken?

About {minutes} minutes. You need lesson 02: the hidden state, unrolling, and the gradient that shrinks with every step back.
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **compute** one step of an LSTM by hand, and **write** it so that it equals torch's; <!-- core -->
2. **predict** from a forget bias how long a cell remembers, and **hit** it; <!-- core -->
3. **design** a cell that holds what it was told for 40 steps and lets new things in; <!-- core -->
4. **explain** why being able to remember is not yet learning to;
5. **say** what gates do not repair.
"""

# %% kind="setup"
import math

import torch
from torch import nn
from torch.nn import functional as F

from course_lib import views
from course_lib.formatting import fixed, significant
from course_lib.results import mean_over_seeds
from course_lib.teaching import check, estimate, explain, predict, quiz, start_lesson
from course_lib.teaching import yours
from course_lib.text import BOS, EOS, TEST_SIZES, splits
from course_lib.translation import load_shipped
from lessons.l03_lstm_and_gru import GateMixer, recall

start_lesson("lstm_and_gru", seed=3)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("03", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · A notebook instead of a whiteboard

A plain RNN has one state, and every step makes all of it anew: times a matrix, plus the word, through a tanh. Think of a whiteboard that is wiped at every word and written again from memory. After fifty copies little is left of the first line. The gradient, on its way back, passes through all the same copies.

How would you keep a phone number through a long talk? You would not copy it at every word. You would write it into a notebook, and leave it there. So Hochreiter and Schmidhuber (1997) gave the network a second state besides the hidden one, a row of numbers. Each number of this second state is a {term:memory cell}: it is only *kept* and *added to*, never multiplied by a matrix. (*The cell*, without more, is the whole row. Code also calls a function a cell, as in `nn.LSTMCell`: that is *one LSTM step*.) Around it stand gates. A {term:gate} is a number between 0 and 1 that says how much may pass: 0 is shut, 1 is open, 0.25 lets a quarter through.

- The **forget gate** says how much of the cell stays. (An unlucky name: 1 means *forget nothing*. It came later; Gers, Schmidhuber and Cummins, 2000.)
- The **input gate** says how much of the new content is added. This content, the **candidate**, lies between −1 and 1.
- The **output gate** says how much of the cell is shown to the rest of the network, as the hidden state.

**By hand.** The cell holds 0.8. Forget gate 0.5, input gate 0.5, candidate −0.4. The new cell is 0.5 · 0.8 + 0.5 · (−0.4) = 0.2.

Nobody sets the gates. The network computes them at every step from the word and the hidden state: a score, as ever, then the {term:sigmoid} σ, which squeezes any number into the range from 0 to 1: σ(−5) = 0.007, σ(0) = 0.5, σ(1) = 0.73, σ(5) = 0.993. Cells and gates together are an {term:LSTM}, a *long short-term memory*: a short-term memory that lasts long.

Follow the lit road in the drawing: from one cell to the next there is no matrix and no tanh.
"""

# %% kind="diagram" hide_input=true
PARTS = {
    "x, h": (0, 1), "old cell": (0, 3),
    "input": (1, 0), "candidate": (1, 1), "forget": (1, 2), "output": (1, 3.9),
    "write": (2, 0.5), "keep": (2, 2.5), "cell": (3, 1.5), "new hidden": (4, 2.7),
}
ARROWS = [
    ("x, h", "input"), ("x, h", "candidate"), ("x, h", "forget"), ("x, h", "output"),
    ("input", "write"), ("candidate", "write"), ("forget", "keep"),
    ("old cell", "keep"), ("write", "cell"), ("keep", "cell"),
    ("cell", "new hidden"), ("output", "new hidden"),
]
NOTES = {
    "x, h": "word, hidden", "input": "σ", "candidate": "tanh", "forget": "σ",
    "output": "σ", "write": "×", "keep": "×", "cell": "+", "new hidden": "tanh, ×",
}
ALT = "One step of an LSTM. Word and hidden state make three gates and a candidate. "


def draw_step(*lit, title, alt):
    options = {"lit": lit, "notes": NOTES, "title": title, "alt": ALT + alt}
    return views.diagram(PARTS, ARROWS, **options)


draw_step("old cell", "keep", "cell", title="The road of the cell: keep and add",
          alt="Lit: the old cell is kept in part, and added to.")

# %% kind="quiz"
quiz("03", "one-step")

# %% [markdown] kind="text" track="short"
r"""
## 2 · How long does it hold?

Shut the input gate and watch. With a forget gate of 0.9, one step leaves 0.9 of what was in the cell, two steps 0.81, three 0.73. After seven steps 0.48 is left: less than half. The number of steps until half is left is the cell's {term:half-life}, as for a radioactive sample.

What sets the gate? Its score is a sum over the word, the hidden state and a constant. The constant, the {term:forget bias}, decides when word and state have nothing to say. A bias of 0 leaves the gate at ½. That is a poor start for a memory, so it is usual to start at 1, which opens the gate to 0.73. (Gers and others began with positive biases in 2000; Józefowicz and others measured in 2015 how much it helps.)

How long does a cell remember with a bias of 1? Commit to a guess. Then turn the knobs yourself, and try the goals.
"""

# %% kind="predict"
predict("03", "bias-one", GateMixer())

# %% [markdown] kind="formula" track="core"
r"""
You need no table for this. With nothing written, the cell after $n$ steps is $f^n$ times what it was, where $f = \sigma(b)$ is the gate. Half is left when

$$ f^{\,n} = \tfrac{1}{2} \qquad\Longleftrightarrow\qquad n \ln f = \ln \tfrac12 \qquad\Longleftrightarrow\qquad n = \frac{\ln 2}{-\ln f} $$

| symbol | meaning | here |
|---|---|---|
| $b$ | forget bias | any number |
| $f = \sigma(b) = 1/(1 + e^{-b})$ | forget gate | between 0 and 1 |
| $n$ | half-life, in steps | need not be whole |
"""

# %% [markdown] kind="text" exercise="half_life"
r"""
From the bias to the half-life: first the gate, then the formula. `math.exp` and `math.log` (the natural logarithm) are all you need.
"""

# %% kind="exercise" exercise="half_life" title="From a bias to a half-life" difficulty=1 importance=4 track="core"
def half_life(forget_bias):
    """forget_bias, a number  ->  after how many steps half is left, a number"""
    # solution
    gate = 1 / (1 + math.exp(-forget_bias))
    return math.log(2) / -math.log(gate)
    # end solution

# %% kind="check" exercise="half_life"
check("half_life", half_life)

# %% [markdown] kind="hints" exercise="half_life"
r"""
### A nudge
Two lines. The first turns the bias into a gate between 0 and 1.

---
### Step by step
`gate` is one over one plus $e^{-b}$. Then $\ln 2$ divided by minus the logarithm of the gate. With a bias of 0 the answer must be 1.
"""

# %% kind="see" track="core"
steps_to_half = yours("half_life")

for bias in (0.0, 1.0, 2.0, 3.0):
    print(f"forget bias {bias}: half-life {fixed(steps_to_half(bias), 1)} steps")

# %% [markdown] kind="text" track="core"
r"""
Now predict something nobody has shown you. A forget bias of **5**: how many steps? Work it out with your function in a cell of your own, or in your head (each unit of bias multiplies the half-life by nearly the same factor). When you have committed, `measure` takes torch's own `nn.LSTMCell`, sets that bias and every other weight to 0, puts a 1 into the cell, and counts the steps for which at least half is left.
"""

# %% kind="estimate" track="core"
def measure():
    torch_cell = nn.LSTMCell(input_size=1, hidden_size=1)
    with torch.no_grad():
        for weight in torch_cell.parameters():
            weight.zero_()
        torch_cell.bias_ih[1] = 5.0  # input, forget, candidate, output: the second
        hidden, cell, steps = torch.zeros(1, 1), torch.ones(1, 1), -1
        while cell.item() >= 0.5:
            hidden, cell = torch_cell(torch.zeros(1, 1), (hidden, cell))
            steps += 1
    return steps


estimate("03", "bias-five", measure)

# %% [markdown] kind="text" track="core"
r"""
{result:lesson_03/half-life/5:.0f} from the formula, {result:lesson_03/steps in torch's cell/5:.0f} in torch's cell. From {result:lesson_03/half-life/0:.1f} step to {result:lesson_03/half-life/5:.0f}, by one constant.
"""

# %% [markdown] kind="text"
r"""
**The forget gate acts on the gradient, too.** Along the cell, one step multiplies by the forget gate $f$ and adds something. So a nudge to the cell now moves the cell $n$ steps later by $f^n$ times as much, and that is the gradient along this road. Unlike in the RNN there is no matrix and no slope of a tanh on this road, only the gates' product. (There are side roads: the gates are computed from the hidden state, through matrices. They can add to the gradient, and even make it grow, so clipping stays in the training loop.) Here it is by autograd, over 100 steps.
"""

# %% kind="example"
for gate in (0.5, 0.9, 0.99, 0.999):
    start = torch.tensor(0.3, requires_grad=True)
    cell = start
    for _ in range(100):
        cell = gate * cell + 0.1  # keep, and write a little
    cell.backward()
    print(f"forget gate {gate}: gradient after 100 steps {significant(start.grad, 2)}")

# %% [markdown] kind="text"
r"""
So it is not true that an LSTM does away with vanishing gradients, as one often reads. It puts a knob on them. Only a gate of exactly 1 would lose nothing. (That was the LSTM of 1997, which had no forget gate; it could not empty its cells either.)
"""

# %% [markdown] kind="instructor"
r"""
**Ask the room (2 min)** before the estimate: "Bias 3 gives {result:lesson_03/half-life/3:.0f} steps. What does 5 give?" Common answers: 24 (a straight line through
2 and 3), 28 (doubling). For large biases $-\ln\sigma(b) \approx e^{-b}$, so each unit multiplies by $e = 2.7$: 14 · 2.7 · 2.7 ≈ 104.

**Common errors in `half_life`:** 1/(1 − f), which is the mean time, 1.44 half-lives; a forgotten minus.
"""

# %% [markdown] kind="formula" track="short"
r"""
## 3 · Build one LSTM step

Four scores from the same word $x$ and the same old hidden state $h$, each with weights of its own; three become gates, one the candidate. Then the cell, then what is shown of it:

$$ \begin{aligned}
i &= \sigma(W_i x + U_i h + b_i) & f &= \sigma(W_f x + U_f h + b_f) \\
g &= \tanh(W_g x + U_g h + b_g) & o &= \sigma(W_o x + U_o h + b_o) \\
c' &= f \odot c + i \odot g & h' &= o \odot \tanh(c')
\end{aligned} $$

($\odot$ multiplies number by number.) Every cell of the row has gates of its own, so some can hold while others are rewritten. The four matrices lie stacked in one, **in torch's order: input, forget, candidate, output.** Torch's two biases are added up into one, as in lesson 02.

| symbol | variable | shape |
|---|---|---|
| $x$ | `x` | (batch, input) |
| $h$, $c$ | `hidden`, `cell` | (batch, width) each |
| $W$, $U$ | `w_x`, `w_h` | (4 · width, input), (4 · width, width) |
| $b$ | `b` | (4 · width) |
"""

# %% kind="diagram" hide_input=true track="core"
draw_step("input", "candidate", "forget", "output",
          title="Steps 1 and 2: four scores, four boxes",
          alt="Lit: input gate, candidate, forget gate, output gate.")

# %% [markdown] kind="text" exercise="lstm_cell"
r"""
Build it in four steps, and print shapes on the way if you are in doubt.

1. **Scores.** One line for all four: (batch, 4 · width).
2. **Gates and candidate.** Cut the scores into four blocks (`scores.chunk(4, dim=-1)`) and squash each: `torch.sigmoid` or `torch.tanh`.
3. **Cell.** Keep and write.
4. **Hidden state.** Show the new cell.

Your step will then be compared with torch's, and after that it will run a trained language model.
"""

# %% kind="exercise" exercise="lstm_cell" title="One LSTM step" difficulty=3 importance=5 track="core"
def lstm_cell(x, hidden, cell, w_x, w_h, b):
    """x (batch, input), hidden and cell (batch, width), w_x (4 width, input),
    w_h (4 width, width), b (4 width)  ->  new_hidden, new_cell (batch, width) each
    """
    # solution
    scores = x @ w_x.T + hidden @ w_h.T + b
    write, forget, candidate, show = scores.chunk(4, dim=-1)
    kept = torch.sigmoid(forget) * cell
    new_cell = kept + torch.sigmoid(write) * torch.tanh(candidate)
    new_hidden = torch.sigmoid(show) * torch.tanh(new_cell)
    return new_hidden, new_cell
    # end solution

# %% kind="check" exercise="lstm_cell"
check("lstm_cell", lstm_cell)

# %% [markdown] kind="hints" exercise="lstm_cell"
r"""
### A nudge
`x` is (batch, input) and `w_x` is (4 · width, input). What must be turned round so that `x` times `w_x` works? The same for `hidden` and `w_h`.

---
### Step by step
1. `x` times the transpose of `w_x`, plus `hidden` times the transpose of `w_h`, plus `b`.
2. Blocks one, two and four go through a sigmoid; block three, the candidate, through a tanh.
3. Forget gate times the old cell, plus input gate times candidate.
4. Output gate times the tanh of the **new** cell. Hand back the hidden state first, then the cell; the cell itself is not squashed.

---
### Which block is which?
The blocks come in the order input, forget, candidate, output.
"""

# %% kind="library" track="core"
my_cell = yours("lstm_cell")
theirs = nn.LSTMCell(input_size=7, hidden_size=5)

x, hidden, cell = torch.randn(3, 7), torch.randn(3, 5), torch.randn(3, 5)
b = theirs.bias_ih + theirs.bias_hh
ours = my_cell(x, hidden, cell, theirs.weight_ih, theirs.weight_hh, b)
torch.testing.assert_close(ours, theirs(x, (hidden, cell)))
print("the same as torch.nn.LSTMCell, hidden state and cell")

# %% [markdown] kind="text" track="core"
r"""
**Now let it run a trained model.** The course ships an LSTM language model that was trained on our toy French: words become vectors of 64 numbers, 104 cells read them, and a table turns the hidden state into scores for {result:toy_language_models/lstm_lm/config/vocab_size:.0f} words, English and French. We take its weights, put your step where torch's was, and compare what the two say.
"""

# %% kind="train" name="trained model" track="core"
lstm_lm = load_shipped("lstm_lm")
model, layer = lstm_lm.model.eval(), lstm_lm.model.recurrent.layers[0][0]
w_x, w_h = layer.weight_ih_l0.detach(), layer.weight_hh_l0.detach()
b = (layer.bias_ih_l0 + layer.bias_hh_l0).detach()
text = "le chat a bu l' eau parce qu' il avait soif"
tokens = torch.tensor([BOS, *lstm_lm.tokenizer.encode(text)])

with torch.no_grad():
    hidden = cell = torch.zeros(1, 104)
    states = []
    for word in model.words.target(tokens):
        hidden, cell = my_cell(word[None], hidden, cell, w_x, w_h, b)
        states.append(hidden)
    logits = model.words.logits(model.to_embed(torch.cat(states)))
    torch.testing.assert_close(logits, model(tokens[None])[0], atol=1e-3, rtol=1e-3)

probabilities, best = logits.softmax(dim=-1).topk(2)
for position, word in enumerate(["(start)", *text.split()]):
    names = [lstm_lm.tokenizer.decode([int(i)]) or "(end)" for i in best[position]]
    first, second = [fixed(100 * p, 0) for p in probabilities[position]]
    print(f"{word:>8} → {names[0]} {first}%, {names[1]} {second}%")

# %% [markdown] kind="text" track="core"
r"""
Every probability is the same as with torch's layer (else the `assert` would have stopped us). Read a few lines. After *bu* it wants an article, after *parce* it is sure of *qu'*. After *qu'* it wavers between *il* and *elle*, {printed:trained model/qu' →} to {printed:trained model/qu' →/2}, much as the plain RNN of lesson 02 did ({result:lesson_03/RNN/il:.2f} and {result:lesson_03/RNN/elle:.2f}): it has read no English, so it cannot know who is meant.

Now look inside. Training was free to choose every gate at every word. When it began, the forget biases were 1: a half-life of {result:lesson_03/half-life/1:.1f} steps. Which half-lives did it choose? For each of the 104 cells we take the forget gates over this sentence, twelve steps in all. (Gates multiply, so we average their logarithms: 0.9 and then 0.4 act like 0.6 twice, for both make 0.36.) Read no meaning into one cell: in another sentence it may let go.
"""

# %% kind="estimate" track="core"
with torch.no_grad():
    words = model.words.target(tokens)
    hidden_before = torch.cat([torch.zeros(1, 104), torch.cat(states)[:-1]])
    scores = words @ w_x.T + hidden_before @ w_h.T + b
forget_gates = torch.sigmoid(scores[:, 104:208])  # the second of four blocks
half_lives = math.log(2) / -forget_gates.log().mean(dim=0)


def measure():
    return half_lives.max().item()


estimate("03", "longest-half-life", measure)

# %% kind="see" track="core"
order = half_lives.argsort(descending=True)
chosen = [*order[:4].tolist(), *order[-4:].tolist()]
print("half-life, middle one of 104:", fixed(half_lives.median(), 1), "steps")
print("cells below 2.2 steps:", int((half_lives < 2.2).sum()))

views.heatmap(
    forget_gates[:, chosen].T, rows=[fixed(half_lives[i], 1) for i in chosen],
    columns=["(start)", *text.split()], row_name="half-life of a cell, steps",
    column_name="word just read", digits=1,
    title="Forget gates: the four slowest and the four fastest cells",
    alt="Forget gates of eight cells of the trained LSTM over one sentence: "
    "four near 1 at most words, four near 0.",
)

# %% [markdown] kind="text" track="core"
r"""
A division of labour that nobody asked for. Most cells became *shorter* than where they began: half of them forget half within one word. On this sentence a handful have half-lives of nine steps and more. (Over 200 sentences the slowest has a half-life of about six.) And look at the fast ones: they are not simply leaky. Three of the four keep everything just after *le*, two of them after *l'* too, and drop it at most other words. That is what a gate can do and a fixed decay cannot: it chooses the moment.
"""

# %% kind="quiz" track="core"
quiz("03", "gates-at-work")

# %% [markdown] kind="text" contents="choose the weights of a cell that remembers over any given distance"
r"""
## 4 · Design a memory for lag 40

Now you set the weights. One cell reads two numbers at every step: a **mark**, 0 or 1, and a **sign**, +1 or −1. Where the mark is 1, the sign is to be remembered. Where it is 0, the sign is noise, to be ignored. Five numbers decide:

$$ \text{forget} = \sigma(\texttt{forget\_bias} + \texttt{forget\_mark} \cdot \text{mark}) \qquad \text{input} = \sigma(\texttt{write\_bias} + \texttt{write\_mark} \cdot \text{mark}) $$
$$ \text{candidate} = \tanh(\texttt{new\_sign} \cdot \text{sign}) $$
"""

# %% kind="diagram" hide_input=true
draw_step("forget", "input", title="Two gates to set: when to keep, when to write",
          alt="Lit: forget gate and input gate.")

# %% [markdown] kind="text" exercise="design_memory"
r"""
Choose the five numbers for any `lag`, 40 among them, such that

- a marked sign gets in: at least half of it is in the cell;
- more than half of that is still there `lag` steps later, and less than half after four times as many, so that old notes fade;
- the noise stays out: `lag` unmarked signs in a row add up to at most 0.1, even in the worst case, where all are +1;
- a second marked sign takes the place of the first.
"""

# %% kind="exercise" exercise="design_memory" title="A memory for a given lag" difficulty=3 importance=4 track="core"
def design_memory(lag):
    """lag, in steps  ->  a dictionary with the five numbers; many answers are right"""
    # solution
    gate = 0.5 ** (1 / (2 * lag))  # a half-life of twice the lag
    return {
        "forget_bias": math.log(gate / (1 - gate)),  # the sigmoid, turned round
        "forget_mark": -20.0,  # a mark empties the cell
        "write_bias": -10.0,  # shut
        "write_mark": 20.0,  # and opened by a mark
        "new_sign": 5.0,
    }
    # end solution

# %% kind="check" exercise="design_memory"
check("design_memory", design_memory)

# %% [markdown] kind="hints" exercise="design_memory"
r"""
### A nudge
Four of the numbers are switches: large and positive for open, large and negative for shut. Only `forget_bias` hangs on the lag. Choose a half-life between one and four times the lag.

---
### From the half-life to the bias
If half is to be left after $n$ steps, one step must leave $f = 0.5^{1/n}$. And if $f = \sigma(b)$, then $b = \ln\frac{f}{1 - f}$.

---
### Step by step
Between marks (mark 0): forget gate near 1 by the formula above, input gate shut by a strongly negative `write_bias`. At a mark: `write_mark` more than makes up for it, and `forget_mark` pulls the forget gate to 0, so that the old sign goes. `new_sign` around 5.
"""

# %% kind="see"
design = yours("design_memory")(40)
generator = torch.Generator().manual_seed(4)
signs, marks = torch.randn(91, generator=generator).sign(), torch.zeros(91)
marks[[0, 50]], signs[[0, 50]] = 1.0, torch.tensor([1.0, -1.0])


def values_of(design):
    w_mark = [design["write_mark"], design["forget_mark"], 0.0, 0.0]
    w_sign = [0.0, 0.0, design["new_sign"], 0.0]
    b = torch.tensor([design["write_bias"], design["forget_bias"], 0.0, 9.0])
    w = torch.tensor([w_mark, w_sign]).T  # (4, 2): one cell, two inputs
    hidden, cell, values = torch.zeros(1, 1), torch.zeros(1, 1), []
    for step in torch.stack([marks, signs], dim=1):
        hidden, cell = my_cell(step[None], hidden, cell, w, torch.zeros(4, 1), b)
        values.append(cell.item())
    return values


# Yours, and yours with the input gate left ajar: 0.27 open between the marks.
leaky = design | {"write_bias": -1.0, "write_mark": 3.0}
views.lines(
    range(91), {"input gate ajar": values_of(leaky), "your design": values_of(design)},
    x_name="step", y_name="cell", title="Marked: +1 at step 0, −1 at 50; noise between",
    alt="Your cell: 1, sinking slowly, at step 50 to −1. The leaky one wanders about.",
)

# %% kind="explain"
explain("03", "two-roads")

# %% [markdown] kind="formula" track="short"
r"""
## 5 · The GRU: one state, two gates

Cho and others (2014) asked how much of this is needed. Their {term:GRU|gated recurrent unit, GRU}, has no separate cell and no output gate. The state is its own notebook, and one gate does two jobs: what is not kept is replaced.

$$ \begin{aligned}
r &= \sigma(W_r x + b_r + U_r h + b'_r) & z &= \sigma(W_z x + b_z + U_z h + b'_z) \\
n &= \tanh\big(W_n x + b_n + r \odot (U_n h + b'_n)\big) & h' &= (1 - z) \odot n + z \odot h
\end{aligned} $$

The **update gate** $z$ blends: 1 keeps the old state, 0 takes the candidate $n$. The **reset gate** $r$ says how much of the old state the candidate may see. Three blocks, **in torch's order: reset, update, candidate**, and here the two biases $b$ and $b'$ cannot be added up, for $r$ comes between them.

Beware of papers and libraries: they disagree. Chung and others (2014) and Bahdanau and others (2015) turn the blend round, $z$ for the new. And in Cho's paper the reset gate comes *before* the product, $U_n (r \odot h)$. These are other networks: weights trained for one do not fit the other. Torch, and this course, do it as above.
"""

# %% [markdown] kind="text" exercise="gru_cell"
r"""
Somebody has written a first version. Does it do what the formula says? Make its check pass; then it can run torch's weights.
"""

# %% kind="exercise" exercise="gru_cell" mode="bug" title="One GRU step" difficulty=3 importance=4 track="core"
def gru_cell(x, hidden, w_x, w_h, b_x, b_h):
    """x (batch, input), hidden (batch, width), w_x (3 width, input),
    w_h (3 width, width), b_x and b_h (3 width)  ->  new hidden (batch, width)
    """
    # bug
    reset_x, keep_x, new_x = (x @ w_x.T + b_x).chunk(3, dim=-1)
    w_reset, w_keep, w_new = w_h.chunk(3)
    b_reset, b_keep, b_new = b_h.chunk(3)
    reset = torch.sigmoid(reset_x + hidden @ w_reset.T + b_reset)
    keep = torch.sigmoid(keep_x + hidden @ w_keep.T + b_keep)
    new = torch.tanh(new_x + (reset * hidden) @ w_new.T + b_new)
    return (1 - keep) * new + keep * hidden
    # end bug
    # solution
    reset_x, keep_x, new_x = (x @ w_x.T + b_x).chunk(3, dim=-1)
    reset_h, keep_h, new_h = (hidden @ w_h.T + b_h).chunk(3, dim=-1)
    reset = torch.sigmoid(reset_x + reset_h)
    keep = torch.sigmoid(keep_x + keep_h)
    new = torch.tanh(new_x + reset * new_h)
    return (1 - keep) * new + keep * hidden
    # end solution

# %% kind="check" exercise="gru_cell"
check("gru_cell", gru_cell)

# %% [markdown] kind="hints" exercise="gru_cell"
r"""
### A nudge
Hold every line against the formula, symbol by symbol. Both gates and the blend are right. That leaves one line.

---
### Step by step
In the formula $r$ multiplies the whole bracket $U_n h + b'_n$: the product and its bias. In the code it multiplies something else.
"""

# %% [markdown] kind="text" track="short"
r"""
**Is the smaller one worse?** On our toy French, three trainings each, with about 120,000 weights each: perplexity {result:toy_language_models/rnn_lm/scores/test/perplexity:.1f} for the plain RNN, {result:toy_language_models/lstm_lm/scores/test/perplexity:.1f} for the LSTM, {result:toy_language_models/gru_lm/scores/test/perplexity:.1f} for the GRU. Gates help; which kind makes no difference here. These sentences are short, though. So let us ask for distance.

## 6 · Recall against distance

A test of memory, recorded beforehand: one of ten symbols is shown, others follow, then it is asked for, and guessing is right in 10% of cases. Four systems: a plain RNN, an LSTM and a GRU of width 64 each, and, as a promise, a small network with *attention*, which can look back at every word directly (how, lessons 06 to 14 will tell). Three trainings each.

Every batch of the training has a distance of its own, anything from 1 to 100. Keep in mind that the LSTM starts with forget biases of 1.
"""

# %% kind="predict" hide_input=true
SYSTEMS = {
    "transformer_lm": "attention", "gru_lm": "GRU", "lstm_lm": "LSTM", "rnn_lm": "RNN"
}
DISTANCES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100)
TRAINED, UP_TO_50 = (1, 2, 5, 10, 20, 50, 100), DISTANCES[:11]


def curves(experiment, distances, measure):
    """For each system the mean over its seeds, at every distance."""
    rows = [
        mean_over_seeds(experiment, lambda run, d=str(d): measure(run, d))
        for d in distances
    ]
    return {name: [row[key] for row in rows] for key, name in SYSTEMS.items()}


accuracy = "right answers, %"
mixed = curves("recall", DISTANCES, lambda run, d: 100 * run["right"][d])
untrained = curves("recall", UP_TO_50, lambda run, d: run["gradient"]["fresh"][d])
axes = {"log_x": True, "y_limits": (0, 106)}
all_mixed = views.Part("Trained on all distances", DISTANCES, mixed, accuracy, **axes)
gradients = views.Part("Gradient before training", UP_TO_50, untrained, log_y=True)
alt = "Right answers over distances of 1 to 100, and the gradient over 1 to 50."
figure = views.panels([all_mixed, gradients], x_name="distance", alt=alt)
predict("03", "mixed-distances", figure)

# %% [markdown] kind="text"
r"""
The gates did it: {result:recall/lstm_lm/right/100:.0%} over 100 steps. The RNN stays near 20% at any distance but the shortest, as if it had made out which half of the ten symbols it was, and no more.

On the right is how much gradient reaches a word before any training, a straight line on this scale where it shrinks by the same factor at every step. At a distance of 50 the RNN has less than a trillionth left of what it has at 1, the GRU less than a billionth. The LSTM, with its forget bias of 1, does far better, and still loses all but a ten-thousandth. (Along the cell alone it would be less still, $0.73^{50}$ or a ten-millionth. But some gates stand further open, and there is a second road back, through the hidden state: most of what arrives comes that way.) Attention loses nothing: it looks at the word directly.
"""

# %% [markdown] kind="text" track="core" contents="why the same LSTM fails when trained on one long distance alone"
r"""
Now the same systems again, each trained **on one distance alone**, anew for each. They can hold 100 steps; you have just seen it. So:
"""

# %% kind="predict" track="core"
alone = curves("recall_one_distance", TRAINED, lambda run, d: 100 * run["right"][d])
on_one = views.Part("Trained on one alone", TRAINED, alone, accuracy, **axes)
alt = "Right answers over distances of 1 to 100, trained on all or on one alone."
figure = views.panels([all_mixed, on_one], x_name="distance", alt=alt)
predict("03", "fifty-alone", figure)

# %% [markdown] kind="text" track="core"
r"""
At chance, 10%. The same LSTM that holds 100 steps does not *learn* 50 when nothing shorter is there to learn from, not in {result:recall_one_distance/lstm_lm/n_steps:,.0f} steps and not in {result:recall_alone_longer/lstm_lm/n_steps:,.0f} (recorded as `recall_alone_longer`). **The memory is there, but nothing leads to it.** To learn that a cell must hold on, the network needs a gradient from the answer back to the symbol, and with a half-life of {result:lesson_03/half-life/1:.1f} steps hardly any arrives. With short distances in the mixture, the likely story goes, it first learns those, and once its gates hold for five steps, ten are within reach.

You know the knob. A small LSTM, lag 40 alone, run live: once with the usual forget bias of 1, once with the bias from **your design**. Same start, same data.
"""

# %% kind="train" name="lag 40" track="core"
clip = yours("clip_gradients")  # of lesson 02


def learn_lag_40(forget_bias, steps=120, width=32):
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(1)
    words, out = nn.Embedding(16, 16), nn.Linear(width, 16)
    lstm = nn.LSTM(16, width, batch_first=True)
    with torch.no_grad():
        lstm.bias_ih_l0[width : 2 * width] = forget_bias
        lstm.bias_hh_l0[width : 2 * width] = 0.0
    weights = [*words.parameters(), *lstm.parameters(), *out.parameters()]
    optimizer = torch.optim.Adam(weights, lr=0.01)
    losses = []
    for _ in range(steps):
        task = recall(generator, batch_size=32, distance=40, vocab_size=16)
        states, _ = lstm(words(task.tokens))
        loss = F.cross_entropy(out(states[:, -1]), task.targets[:, -1])
        optimizer.zero_grad()
        loss.backward()
        for i, gradient in enumerate(clip([weight.grad for weight in weights], 1.0)):
            weights[i].grad = gradient
        optimizer.step()
        losses.append(loss.item())
    return torch.tensor(losses)

# %% kind="predict" ignore_output=true hide_input=true track="core"
losses = {
    "bias 1": learn_lag_40(1.0), "your bias": learn_lag_40(design["forget_bias"])
}
figure = views.lines(
    range(5, 121, 5), {name: run.view(24, 5).mean(1) for name, run in losses.items()},
    x_name="training step", y_name="loss, mean of 5 steps",
    title="Lag 40 alone, with two forget biases",
)
predict("03", "your-bias", figure)

# %% [markdown] kind="text" track="core"
r"""
A loss of 2.3 is $\ln 10$: guessing among ten. With your bias it begins to fall within 60 steps. The record says the same of the larger LSTM at distance 50 alone, three trainings of {result:recall_forget_bias/bias 1/n_steps:,.0f} steps each: with a forget bias of 1 it has {result:recall_forget_bias/bias 1/right/50:.0%} right, with 3 it has {result:recall_forget_bias/bias 3/right/50:.0%}, with 5 it has {result:recall_forget_bias/bias 5/right/50:.0%}. (So it was not for want of training that it failed above: there it had {result:recall_one_distance/lstm_lm/n_steps:,.0f} steps.) One constant, worked out on paper, decides between nothing and everything. (It is no free lunch: you had to know the lag. And a cell that starts by keeping everything must learn to forget.)
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (4 min)** between the two predictions: "The LSTM holds 100 steps. Could it have been trained on 50 alone?" Most say
yes. Ask afterwards for the difference between *being able to* and *being led to*. Link to lesson 02: the hand-wired RNN that remembers 200 steps.

If somebody asks about the RNN's flat 20%: it is what one bit is worth. Who knows in which half of the ten symbols the answer lies guesses rightly one time in five. In one such network that we trained again and looked into, the
symbols fell into two heaps, and the heap was held for 100 steps: a switch like the wired one of lesson 02, and no second one.

**Common error:** reading the right panel as memory. It is about an untrained network, and about learning.

**If time is short**, cut section 5's exercise (show the repaired line) and the counter; keep the design and both predictions of section 6.
"""

# %% [markdown] kind="text" track="short"
r"""
## 7 · What gates do not repair

- **One state of fixed size.** A network with 104 cells holds 104 numbers, after five words or after fifty. What comes in must push something out, and the cell has to decide what to keep *before* it knows what will be asked.
- **Every step between.** Two words 50 apart are still joined by 50 steps, each of which may lose something. The gates make the road smooth; they do not make it short.
- **Strictly one after the other.** The gates of step 50 need the hidden state of step 49. More processors do not help, as you saw in lesson 02.
"""

# %% [markdown] kind="text" exercise="counter_weights"
r"""
**The same idea somewhere else: a counter.** This exercise shows what the additive road can do that a blend cannot. A cell reads symbols 0, 1, 2, …, one at a time, each as a row of zeros with a single 1 at its place. Choose weights so that the cell holds *how often one given symbol has been read*. The hidden state plays no part (`w_h` is 0), so there are two tensors to make: `w_x` (4, n_symbols), whose rows are input, forget, candidate and output, and `b` (4). After 200 symbols the count may be off by 0.25, no more.
"""

# %% kind="exercise" exercise="counter_weights" mode="transfer" title="A cell that counts" difficulty=3 importance=2 track="stretch"
def counter_weights(symbol, n_symbols):
    """symbol, n_symbols whole numbers  ->  w_x (4, n_symbols), b (4,)"""
    # solution
    w_x = torch.zeros(4, n_symbols)
    w_x[2, symbol] = 20.0  # the candidate: 1 for the symbol, 0 for all others
    b = torch.tensor([20.0, 20.0, 0.0, 20.0])  # always write, never forget
    return w_x, b
    # end solution

# %% kind="check" exercise="counter_weights"
check("counter_weights", counter_weights)

# %% [markdown] kind="hints" exercise="counter_weights"
r"""
### A nudge
What must the forget gate be, so that nothing of the count is lost? What must be added when the symbol comes, and what when another comes?

---
### Step by step
Column `symbol` of `w_x` is what the symbol adds to the four scores. Large biases open the forget and the input gate for good; only the candidate looks at the symbol.
"""

# %% kind="see" track="stretch"
w_x, b = (torch.as_tensor(part) for part in yours("counter_weights")(5, 27))
letters = "the cell counts every e that it reads"  # e is letter 5, a space is 0
rows = F.one_hot(torch.tensor([ord(letter) % 32 for letter in letters]), 27).float()
hidden, cell, values = torch.zeros(1, 1), torch.zeros(1, 1), []
for row in rows:
    hidden, cell = my_cell(row[None], hidden, cell, w_x, torch.zeros(4, 1), b)
    values.append(cell.item())

assert losses["bias 1"][-20:].mean() > 2.2 and losses["your bias"][-20:].mean() < 1.5
views.lines(
    range(1, len(letters) + 1), {"cell": values}, x_name="letter", y_name="cell",
    title=f"One LSTM cell counts the e in '{letters}'",
    alt="A staircase: the cell rises by 1 at each e, to 6, and stays level between.",
)

# %% [markdown] kind="text" track="core"
r"""
A GRU cannot hold a count like this: its new state is a blend of the old one and a candidate between −1 and 1, so it never leaves that range. It could count in tiny steps only, and training does not find that. (Weiss, Goldberg and Yahav showed in 2018 that trained LSTMs count like this, and that GRUs do not.)
"""

# %% [markdown] kind="text" contents="two wrong GRU steps that run without an error, and what they cost"
r"""
## Break it

Three ways to write a GRU step, one set of trained weights: the shipped GRU language model. One step is yours. One has the reset gate before the product, as Cho's paper has it. One blends the other way round, as Chung's. All run without an error, and all shapes fit.

> **Before you run it:** perplexity on 200 test sentences is {printed:GRU steps/right: perplexity} with the right step ({result:toy_language_models/gru_lm/scores/test/perplexity:.1f} over all 1,000). What with the other two? (The vocabulary has {result:toy_language_models/gru_lm/config/vocab_size:.0f} words.)
"""

# %% kind="break" name="wrong GRU steps"
def reset_first(x, h, w_x, w_h, b_x, b_h):
    r_x, z_x, n_x = (x @ w_x.T + b_x).chunk(3, dim=-1)
    r_h, z_h, _ = (h @ w_h.T + b_h).chunk(3, dim=-1)
    r, z, k = torch.sigmoid(r_x + r_h), torch.sigmoid(z_x + z_h), h.shape[-1]
    n = torch.tanh(n_x + (r * h) @ w_h[2 * k :].T + b_h[2 * k :])
    return (1 - z) * n + z * h


def swapped_blend(x, h, w_x, w_h, b_x, b_h):
    r_x, z_x, n_x = (x @ w_x.T + b_x).chunk(3, dim=-1)
    r_h, z_h, n_h = (h @ w_h.T + b_h).chunk(3, dim=-1)
    z = torch.sigmoid(z_x + z_h)
    return z * torch.tanh(n_x + torch.sigmoid(r_x + r_h) * n_h) + (1 - z) * h

# %% kind="break" name="GRU steps"
gru_lm = load_shipped("gru_lm")
model, layer = gru_lm.model.eval(), gru_lm.model.recurrent.layers[0][0]
weights = [weight.detach() for weight in layer.parameters()]  # w_x, w_h, b_x, b_h
texts = [pair.tgt_text for pair in splits(sizes=TEST_SIZES).test[:200]]
measure = yours("perplexity")  # of lesson 01


@torch.no_grad()
def perplexity_with(cell):
    probabilities = []
    for ids in map(gru_lm.tokenizer.encode, texts):
        hidden, states = torch.zeros(1, 120), []
        for word in model.words.target(torch.tensor([BOS, *ids])):
            hidden = cell(word[None], hidden, *weights)
            states.append(hidden)
        logits = model.words.logits(model.to_embed(torch.cat(states)))
        right = torch.tensor([*ids, EOS])
        probabilities.append(logits.softmax(dim=-1)[range(len(right)), right])
    return measure(torch.cat(probabilities))


cells = {"right": yours("gru_cell"), "reset first": reset_first}
cells["turned"] = swapped_blend
for name, cell in cells.items():
    print(f"{name:>11}: perplexity {fixed(perplexity_with(cell), 1)}")

# %% [markdown] kind="text"
r"""
{printed:GRU steps/reset first: perplexity} is worse than the plain RNN, yet it looks like a model that was merely trained badly: nobody would suspect the step. That is what makes such a bug expensive. When you load weights that somebody else trained, compare a few outputs with theirs, number by number, as you did with torch's.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself

The first try counts for your score; you may try again as often as you like.
"""

# %% kind="quiz"
quiz("03", "closing")

# %% [markdown] kind="summary"
r"""
## What you have now

| name | what it is | shape |
|---|---|---|
| cell | a second state, a row of memory cells: only kept and added to | (batch, width) |
| gate | a share between 0 and 1, from a sigmoid | (batch, width) |
| forget bias | sets the forget gate when nothing else does | (width) |
| half-life | steps until half is left: $\ln 2 / (-\ln f)$ | a number |
| LSTM | input, forget and output gate, candidate, cell | 4 blocks of weights |
| GRU | reset and update gate, candidate, no separate cell | 3 blocks of weights |

- Along the cell both memory and gradient shrink by the product of the forget gates. Bias 0, 1, 2, 3, 5: half-lives {result:lesson_03/half-life/0:.1f}, {result:lesson_03/half-life/1:.1f}, {result:lesson_03/half-life/2:.1f}, {result:lesson_03/half-life/3:.1f}, {result:lesson_03/half-life/5:.0f}.
- Being able to hold is not being led to it: at distance 50 alone LSTM and GRU stay at chance; a larger forget bias frees the LSTM.
- An LSTM's cell can hold a count, however large; a GRU's state stays between −1 and 1.

**Still missing.** All that was read must fit into one state of fixed size, one step after the other. What if a whole sentence has to pass through such a state, to come out in another language? That is [lesson 04](04_encoder_decoder.ipynb).
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Hochreiter and Schmidhuber, *Long Short-Term Memory* (1997), Neural Computation 9(8), sections 2 to 4: the constant error carousel, which is our cell with a forget gate of 1.
- Gers, Schmidhuber and Cummins, *Learning to Forget* (2000), Neural Computation 12(10): the forget gate, and its bias.
- Cho and others, [*Learning Phrase Representations using RNN Encoder-Decoder*](https://arxiv.org/abs/1406.1078) (2014), section 2.3: the GRU.
- Józefowicz, Zaremba and Sutskever, *An Empirical Exploration of Recurrent Network Architectures* (2015): thousands of cells tried, and a forget bias of 1.
- Christopher Olah, *Understanding LSTM Networks* (2015): the same cell in drawings. [colah.github.io](https://colah.github.io/posts/2015-08-Understanding-LSTMs/)
"""
