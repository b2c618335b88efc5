# Lesson 02 · the source. Edit this file, then run `python3 -m course_lib build 02`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 02 · Recurrent networks

**The question:** how can a network process a sentence word by word, and how long can it remember what came before?

About {minutes} minutes. You need [lesson 01](01_guessing_the_next_word.ipynb): embeddings, linear layers, the loss, gradients and the training loop.
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **write** a recurrent network that computes the same states as `torch.nn.RNN`, and **run** a trained language model with it;
2. **distinguish** what a hidden state contains from what the prediction uses;
3. **choose** weights by hand that store a signal for 200 time steps; <!-- core -->
4. **compute** how much a gradient shrinks or grows on its way back through time;
5. **explain** what happens to gradients over many steps, and what gradient clipping can and can't fix.
"""

# %% [markdown] kind="instructor"
r"""
**Open with (3 min)** an index card. "I'll read you a sentence word by word. You may keep one small card, and after each word you may rewrite it. What do you write?" Expected: who did what, perhaps the tense, and never the whole sentence. The card is the hidden state: its size is fixed, and what isn't on it is lost.

**If time is short,** skip the plot of the loss in section 4 and the explanation in section 5. Keep the exercise in section 3 and the predictions in sections 2 and 4.
"""

# %% kind="setup"
import torch
from torch.nn import functional as F

from course_lib import views
from course_lib.formatting import fixed
from course_lib.teaching import check, explain, predict, quiz, start_lesson
from course_lib.teaching import yours
from course_lib.text import BOS
from course_lib.translation import load_shipped
from lessons.l02_recurrent_networks import (
    GradientTelephone, accuracy_with_the_same_middle, held_out_accuracy, key_picture,
    last_states, make_beginnings,
)

start_lesson("recurrent_networks", seed=2)

# %% [markdown] kind="text"
r"""
A trained recurrent network reads a French sentence, *the cat drank the water because it was thirsty*. Follow it from left to right: each word changes the state, and from the state alone comes a probability for every possible next word.
"""

# %% kind="picture" name="key picture" hide_input=true
key_picture.draw()

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("02", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · A state that changes with every word

The MLP of lesson 01 predicts the next word from the last four and can't see anything earlier. A larger window needs more weights, and there will always be a longer sentence.

A {term:recurrent neural network} (RNN) has no window. It processes a text word by word and keeps a vector, its {term:hidden state}, or *state* for short. After each word, it computes a new state from the old one and the word's embedding. The state never grows, so whatever the network needs later has to fit into it.

**By hand, with a state of one number.** Let the new state be half of the old one plus the input. We start from 0, and the inputs are 1, 0 and 0. Then the states are 0.5 · 0 + 1 = **1**, 0.5 · 1 + 0 = **0.5** and 0.5 · 0.5 + 0 = **0.25**. At the end, the first input still has an effect, but only a quarter of the original one. Keep an eye on that factor of 0.5.

**From numbers to vectors.** In a real RNN, inputs and states are vectors, and the factor becomes a matrix. As in lesson 01, the product of a matrix and a vector contains the dot product of each *row* with the vector. A matrix with three rows and two columns, of shape (3, 2), turns two numbers into three:

$$ \begin{pmatrix} 1 & 2 \\ 0 & 1 \\ 3 & 0 \end{pmatrix} \begin{pmatrix} 4 \\ 5 \end{pmatrix} = \begin{pmatrix} 1 \cdot 4 + 2 \cdot 5 \\ 0 \cdot 4 + 1 \cdot 5 \\ 3 \cdot 4 + 0 \cdot 5 \end{pmatrix} = \begin{pmatrix} 14 \\ 5 \\ 12 \end{pmatrix} $$

The {term:matrix multiplication|matrix product} `A @ B` does this for several vectors at once: its entry in row $i$ and column $j$ is the dot product of row $i$ of `A` with **column** $j$ of `B`. In torch, vectors are usually the rows of a matrix `X`. To multiply each of them by `W`, we write `X @ W.T`, where `.T` swaps the rows and columns of `W`.
"""

# %% kind="example"
W = torch.tensor([[1.0, 2.0], [0.0, 1.0], [3.0, 0.0]])  # (3, 2)
X = torch.tensor([[4.0, 5.0], [1.0, 0.0]])  # two vectors of two numbers

print("W @ X[0]  ", fixed(W @ X[0], 0))
print("X[0] @ W.T", fixed(X[0] @ W.T, 0))
print("X @ W.T, the products for both vectors:")
print(fixed(X @ W.T, 0))

# %% [markdown] kind="formula"
r"""
Our network goes back to Elman (1990). Each step multiplies the input by one matrix and the old state by another, adds both products and a bias, and applies an activation function, here tanh:

$$ h_t = \tanh\left(W x_t + U h_{t-1} + b\right) $$

| symbol | name in code | shape | meaning |
|---|---|---|---|
| $x_t$ | `inputs[..., t - 1, :]` | (input) | the embedding of word $t$; Python counts from 0 |
| $h_t$ | `states[..., t - 1, :]` | (hidden) | the state after word $t$ |
| $h_0$ | `start` | (hidden) | the state before the first word, often zeros |
| $W$ | `w_in` | (hidden, input) | the input weights |
| $U$ | `w_rec` | (hidden, hidden) | the recurrent weights |
| $b$ | `bias` | (hidden) | the bias |

Remember that $\tanh$ hardly changes small numbers ($\tanh 0.1 = 0.0997$), while large ones end up close to 1 ($\tanh 3 = 0.995$).

Every step uses the **same** $W$, $U$ and $b$. Because of this {term:weight sharing}, the number of weights doesn't depend on the length of the text. Drawing the loop as a chain, with one link per word, is called {term:unrolling}. The chain below starts from $h_0 = 0$, which isn't drawn.
"""

# %% kind="picture" name="unrolled" hide_input=true
key_picture.draw("state")

# %% kind="quiz" track="core" contents="a short quiz"
quiz("02", "hidden-state")

# %% [markdown] kind="instructor"
r"""
**Stuck?** "My RNN works, but not with batches" means that an axis is counted from the front. `inputs[..., step, :]` and `torch.stack(states, dim=-2)` count from the end. With vectors as rows, write `x @ w_in.T`, not `w_in @ x`.
"""

# %% [markdown] kind="text" exercise="read_sequence"
r"""
**Build it.** Process the words in order: compute each new state from the word and the old state, collect the states in a list, and combine them with `torch.stack`, which joins tensors along a new axis. Don't modify the tensors you are given. The input may be a single sentence of shape (n, input) or a batch of sentences with any number of axes in front, (…, n, input). If you count the axes from the end, the same code handles both: `inputs[..., 0, :]` is the first word of every sentence.

Work in small steps, each in a cell of its own: a single step for one sentence, then the loop, then the stacked states, then two sentences at once.
"""

# %% kind="exercise" exercise="read_sequence" title="Run an RNN over a sequence" difficulty=3 importance=5 track="short"
from lessons.l02_recurrent_networks.solutions import read_sequence

# %% kind="check" exercise="read_sequence"
check("read_sequence", read_sequence)

# %% [markdown] kind="hints" exercise="read_sequence"
r"""
### A nudge
You need one variable that carries the state from one iteration of the loop to the next, and one list that collects the states.

---
### Step by step
1. Start with `state = start` and an empty list.
2. In each step, take the word `inputs[..., step, :]`. The new state is the tanh of a sum of three terms. Append it to the list.
3. `torch.stack(states, dim=-2)` joins the states along a new axis, in the same position as the axis of words in `inputs`.

---
### It works for one sentence, but not for a batch
There are two likely causes. You may have counted an axis from the front: the words are on axis −2, however many axes come before it. Or you may have written `w_in @ word`, which expects a single vector. Like `X @ W.T` above, `word @ w_in.T` works for any number of vectors.
"""

# %% [markdown] kind="text" track="short"
r"""
## 2 · What a trained RNN uses, and what its state contains

`rnn_lm` is an RNN language model for our toy French, with a state of 216 numbers. Its perplexity is {result:toy_language_models/rnn_lm/scores/test/perplexity:.1f}; that of the larger MLP in section 7 of lesson 01 was {result:toy_language_models/mlp_lm/scores/test/perplexity:.1f}. Below, your function computes its states, and an assertion checks that `torch.nn.RNN` gets the same ones.

Consider the beginning *la souris dort parce qu'* (the mouse is sleeping because). *La souris* is feminine, so the right pronoun is *elle* (she). After *le chat* (the cat), which is masculine, it's *il* (he). Does the prediction depend on the gender too?
"""

# %% kind="see" name="pronouns"
run_rnn, shipped = yours("read_sequence"), load_shipped("rnn_lm")
model, rnn = shipped.model.eval(), shipped.model.recurrent.layers[0][0]
bias = rnn.bias_ih_l0 + rnn.bias_hh_l0  # torch stores two; only their sum matters
IL, ELLE = shipped.tokenizer.encode("il elle")


@torch.no_grad()
def next_word(text):
    """The probability that each word in the vocabulary comes next."""
    words = torch.tensor([BOS, *shipped.tokenizer.encode(text)])  # BOS: sentence start
    inputs, start = model.words.target(words), torch.zeros(216)
    states = run_rnn(inputs, start, rnn.weight_ih_l0, rnn.weight_hh_l0, bias)
    torch.testing.assert_close(states, rnn(inputs)[0])  # the same as torch's
    return model.words.logits(model.to_embed(states[-1])).softmax(dim=-1)


for middle in ("dort", "a souvent dormi hier", "a bu l' eau"):
    for noun in ("le chat", "la souris"):
        text = f"{noun} {middle} parce qu'"
        probabilities = next_word(text)
        il, elle = fixed(probabilities[IL], 2), fixed(probabilities[ELLE], 2)
        print(f"{text:<42} il {il}   elle {elle}")

# %% [markdown] kind="text"
r"""
Three words after the noun, the prediction depends on it: *il* gets {printed:pronouns/le chat dort parce qu'} after the cat and {printed:pronouns/la souris dort parce qu'} after the mouse. Even so, the RNN prefers the wrong pronoun for the mouse: *elle* gets only {printed:pronouns/la souris dort parce qu'/2}. After six words (literally *has often slept yesterday because*) the prediction still depends on the noun: *il* gets {printed:pronouns/le chat a souvent} and {printed:pronouns/la souris a souvent}.

In the last two sentences (*drank the water because*), one of the six words is a second noun, *eau*, which is feminine. In the sentence about the mouse, both nouns are feminine, so *il* can't be right. Yet *elle* gets just {printed:pronouns/la souris a bu/2}, and the probabilities are almost the same in the sentence about the cat. The prediction hardly depends on the gender of the subject any more. Distance can't be the only reason, because it was the same in the previous two sentences.

Does the state still contain the gender? The predictions can't tell us.
"""

# %% [markdown] kind="text" track="core" contents="a linear probe, trained on the states"
r"""
So we train another, much simpler model to find out: a linear classifier that takes the state of the RNN as its input and predicts the gender of the subject. The RNN itself stays unchanged.

The data are {result:pronoun_probe/rnn_lm/pronouns/beginnings:,.0f} beginnings such as *le garçon a mangé la pomme parce qu'* (the boy ate the apple because). In each, a subject is combined with a *middle*: a verb and an object that also occur with subjects of the other gender. In the first test, there is one classifier for each middle. It is trained on four fifths of the subjects and tested on the rest, so it has never seen the nouns it is tested on. In the second test, a single classifier for all sentences is tested on middles that it has never seen.
"""

# %% [markdown] kind="instructor"
r"""
**Ask for a show of hands** before the figure. Those who expect 50% have a good reason: the prediction hardly depends on the gender.

**They say:** "The probe finds the gender, so the network uses it." **Answer:** The predictions are nearly the same for both genders. The probe only shows that the information is there.
"""

# %% kind="predict" hide_input=true track="core"
beginnings = make_beginnings()
texts = [beginning.text for beginning in beginnings]
feminine = torch.tensor([beginning.feminine for beginning in beginnings])
middles = [beginning.middle for beginning in beginnings]
states = last_states(model, shipped.tokenizer, texts)  # (sentences, 216)

new_nouns = accuracy_with_the_same_middle(states, feminine, beginnings).nanmean()
new_middles = held_out_accuracy(states, feminine, middles).mean()
figure = views.bars(
    [100 * new_nouns, 100 * new_middles], labels=["unseen nouns", "unseen middles"],
    name="correct, %", digits=0, high=100, title="Gender read from the state",
)
predict("02", "gender-probe", figure)

# %% [markdown] kind="text"
r"""
A linear classifier that is trained to read some property from the states of another network is called a {term:linear probe}. We probed three RNNs, trained with different seeds, for the gender of the subject after *parce qu'*. For nouns that the probe had never seen, its accuracy was {result:each pronoun_probe/rnn_lm/pronouns/probe/one middle/mean:.1%}. So the state still contains the gender, but the prediction hardly uses it. If we compare only *il* and *elle*, a feminine subject instead of a masculine one raises the probability of *elle* by just {result:pronoun_probe/rnn_lm/pronouns/moved by the subject:.2f} on average. A feminine *object* raises it by {result:pronoun_probe/rnn_lm/pronouns/moved by the object:.2f}: the prediction follows the last noun. If both nouns have the same gender, this makes the right pronoun more likely in {result:min pronoun_probe/rnn_lm/pronouns/right/mean:.0p} to {result:max pronoun_probe/rnn_lm/pronouns/right/mean:.0%} of cases, so our sentence about the mouse isn't typical.

A probe shows that information is present and that a linear function can read it. It doesn't show that the network uses it.
"""

# %% [markdown] kind="text" track="core" contents="a control, and a single probe for all sentences"
r"""
Two details complete the picture. As a control, we gave each noun a random label instead of its gender. Over twenty such labellings, probes are right in {result:pronoun_probe/rnn_lm/pronouns/probe/one middle, random labels/mean:.0%} of cases, which is no better than guessing. And a single probe for all sentences is right in only {result:pronoun_probe/rnn_lm/pronouns/probe/new middles/mean:.0%} of cases on unseen middles, which suggests that the state encodes the gender differently after different words. That may be why the prediction doesn't use it: the output layer, too, applies the same linear function to every state.
"""

# %% [markdown] kind="text" track="short"
r"""
## 3 · Weights chosen by hand

How long could a recurrent network remember? Take the smallest one: its state is a single number, it has three weights, $h_t = \tanh(w\,x_t + u\,h_{t-1} + b)$, and it starts from 0. Its first input is a signal, +1 or −1, followed by 199 inputs of noise. Can the last state still reveal what the signal was? Nothing is trained here: we choose the three weights by hand.
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** Learners who get stuck usually keep `u` below 1, because they think of it as a decay factor. Suggest `u` = 3 with `w` = 1, and let the check complain about overwriting next.
"""

# %% [markdown] kind="text" exercise="wire_memory"
r"""
**Choose the three numbers yourself** so that the network meets these requirements:

- The first input is a signal, +1 or −1. After 200 quiet steps (input 0), the state still has the sign of the signal, and it is at least 0.5 away from 0.
- The same is true if the 199 inputs after the signal are noise between −0.3 and 0.3, even if all of it pushes in the wrong direction.
- A *new*, opposite signal after 100 quiet steps overwrites the old one: 100 quiet steps later, the state has the sign of the new signal, and it is again at least 0.5 away from 0.

Many answers are correct. Try some numbers with a loop in a cell of your own first. The check tells you which requirement isn't met yet.
"""

# %% kind="exercise" exercise="wire_memory" title="Store a signal for 200 steps" difficulty=3 importance=5 track="core"
from lessons.l02_recurrent_networks.solutions import wire_memory

# %% kind="check" exercise="wire_memory"
check("wire_memory", wire_memory)

# %% [markdown] kind="hints" exercise="wire_memory"
r"""
### A nudge
Leave out the noise at first: set `w` = 1 and `b` = 0, and try `u` = 0.5, 1, 2 and 3 over 200 quiet steps. If `u` is too small, every state fades. If it is large enough, there are two states that sustain themselves, one positive and one negative.

---
### Step by step
1. Set `b` = 0, so that neither sign is favoured.
2. Choose `u` well above 1. The state then settles where $h = \tanh(u\,h)$: near 0.96 for `u` = 2, near 0.995 for `u` = 3.
3. A new signal contributes `w`, and the old state contributes almost `u` with the opposite sign. So `w` has to be a little larger than `u`.
4. The noise contributes up to 0.3 · `w`. If it changes the sign of the state, increase `u` and `w` together.
"""

# %% kind="see" hide_input=true
w, u, b = (float(number) for number in yours("wire_memory")())
weights = [torch.tensor([[w]]), torch.tensor([[u]]), torch.tensor([b])]
generator = torch.Generator().manual_seed(0)
noise = 0.6 * torch.rand(199, 1, generator=generator) - 0.3

curves = {}
for name, signal in (("signal +1", 1.0), ("signal −1", -1.0)):
    inputs = torch.cat([torch.tensor([[signal]]), noise])
    curves[name] = run_rnn(inputs, torch.zeros(1), *weights)[:, 0]

views.lines(
    range(1, 201), curves, x_name="time step", y_name="state",
    title="A state of one number: one signal, then 199 steps of noise",
)

# %% [markdown] kind="text" track="short"
r"""
The state keeps the sign of the signal. Take our numbers: with `w` = 3.5, `u` = 3 and `b` = 0, a state near 1 becomes $\tanh(3 \cdot 1) \approx 0.995$ after a quiet step, then $\tanh(3 \cdot 0.995) \approx 0.995$, and so on for ever. The factor `u` pushes the state away from 0, tanh keeps it below 1, and the noise is too weak to move it to the other side. So a recurrent network can remember something for 200 steps or for 200,000.

## 4 · Can training find these weights?

Now we train the same network on the same task. Two more weights turn the last state into an answer: was the signal +1 or −1? We train twenty networks with random initial weights between −1 and 1, using the loop of lesson 01: 100 training steps, each with 32 new sequences. You don't need to read the code closely; all we vary is the length of the sequences.
"""

# %% kind="train" name="tiny training" minutes=1.5 because="the text says that it need not be read closely"
def train_tiny(length, networks=20, steps=100, rate=0.05, batch=32, seed=0):
    """Train many networks with a state of one number; return the accuracy of each."""
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
        return (v * state + c) * signal  # positive where the answer is correct

    for _ in range(steps):
        loss = F.softplus(-margins(batch)).mean(dim=1).sum()  # cross-entropy
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        return (margins(500) > 0).float().mean(dim=1)

# %% [markdown] kind="instructor"
r"""
**While it trains,** collect bets for the lengths 5, 10 and 20 as well, and ask what would change if the networks were trained longer.
"""

# %% kind="predict" hide_input=true ignore_output=true
lengths = (2, 5, 10, 20, 200)
learned = [int((train_tiny(length) > 0.95).sum()) for length in lengths]
assert learned[0] >= 18 and learned[-1] <= 3
figure = views.bars(
    learned, labels=[f"length {n}" for n in lengths], high=20, digits=0,
    name="networks", title="How many of 20 networks learn to remember",
)
predict("02", "trained-memory", figure)

# %% [markdown] kind="text"
r"""
With sequences of length 2 all twenty networks learn the task, with length 5 more than half, and with length 10 fewer. With length 200 **none** does. We repeated this with three seeds, and {result:lesson_02/learned at length 200/as above/total:.0f} of {result:lesson_02/learned at length 200/networks:.0f} networks learned length 200. With twice the learning rate, {result:lesson_02/learned at length 200/rate × 2/total:.0f} of them did, with ten times as many training steps {result:lesson_02/learned at length 200/steps × 10/total:.0f}, and with both {result:lesson_02/learned at length 200/both/total:.0f}. Section 3 showed that suitable weights exist. Most runs don't find them.
"""

# %% [markdown] kind="text" track="core" contents="a larger network, and a plot of the loss against u"
r"""
A larger network has the same difficulty. We trained RNNs with a state of 64 numbers for {result:recall_one_distance/rnn_lm/n_steps:,.0f} steps to recall one of ten symbols. At a distance of 5 steps, all three seeds reach an accuracy of {result:min recall_one_distance/rnn_lm/right/5:.0%}. At 10 steps they reach {result:each recall_one_distance/rnn_lm/right/10:.0%}, and at 20 steps at most {result:max recall_one_distance/rnn_lm/right/20:.0%}, close to the 10% of guessing.

What is the obstacle? Let's plot the loss against the recurrent weight `u`. The other weights are fixed: `w` = 1, `b` = 0, and the logit of the answer +1 is three times the last state.
"""

# %% kind="see" name="loss for u" track="core"
def loss_for(u, length, n=1000):
    """The mean loss over n random sequences, for each value of u."""
    generator = torch.Generator().manual_seed(0)
    signal = 2.0 * torch.randint(2, (n,), generator=generator) - 1
    noise = 0.6 * torch.rand(length - 1, n, generator=generator) - 0.3
    state = torch.zeros(len(u), n)
    for inputs in (signal, *noise):
        state = torch.tanh(inputs + u[:, None] * state)
    return F.softplus(-3 * state * signal).mean(dim=1)


u_values = torch.linspace(0, 2, 121)
curves = {f"length {n}": loss_for(u_values, n) for n in (2, 20, 200)}
views.lines(
    u_values, curves, x_name="recurrent weight u", y_name="loss",
    title="The loss against u, for three sequence lengths",
    alt="With length 2 the loss falls steadily from u = 0 on. With length 200 it is "
    "nearly flat at first, rises from u = 0.8 on, and drops steeply at u = 1.3.",
)

# %% [markdown] kind="text" track="core"
r"""
With length 2, the loss falls steadily as `u` grows, so gradient descent finds a large `u` from any starting point in the plot. With length 200 there is a plateau: the loss is nearly flat, then it even rises before it drops off a steep edge. A run that starts on the plateau has almost no gradient to follow, and on the slope before the edge, gradient descent moves `u` back.
"""

# %% [markdown] kind="instructor"
r"""
**Ask the room (2 min).** "The network with weights chosen by hand and the trained ones have the same form. So what exactly fails?" Expected: the network can store the signal; training doesn't find the weights. Let them say it before section 5 does.

Somebody may suggest more training steps. That helps a few networks (ten times the steps: {result:lesson_02/learned at length 200/steps × 10/total:.0f} of {result:lesson_02/learned at length 200/networks:.0f}; with twice the learning rate as well: {result:lesson_02/learned at length 200/both/total:.0f}), and slow progress is exactly what a tiny gradient looks like from the outside.

**Vote** on the question below. "A single number is too small a state" is the answer to discuss: by hand, a single number was enough.
"""

# %% kind="quiz"
quiz("02", "can-and-learn")

# %% [markdown] kind="formula" track="short"
r"""
## 5 · Backpropagation through time

To train the network, we need to know how the loss depends on the early steps. So we ask: if $h_1$ changes a little, how much does $h_T$ change?

Take a network whose state is one number again. By the {term:chain rule}, each step multiplies a small change by one factor: `u` times the derivative of tanh. Where tanh has the output $h$, its derivative is $1 - h^2$: it is 1 at $h = 0$, but only 0.01 at $h = 0.995$. Over several steps, the factors are multiplied; $\prod$ stands for their product:

$$ \frac{\partial h_T}{\partial h_1} \;=\; \prod_{t=2}^{T} u\,(1 - h_t^2) $$

The inputs enter this formula only through the states. **On paper:** let `u` = 2, and suppose that the states are 0.5, 0.6 and 0.8. There are two steps, so there are two factors: $2 \cdot (1 - 0.36) = 1.28$ and $2 \cdot (1 - 0.64) = 0.72$. Their product is 0.92, so a small change in the first state reaches the last one almost in full.

Gradients take the same path in the opposite direction. They start at the loss, at the end of the unrolled chain, and every step back multiplies them by the factor of that step. This is {term:backpropagation through time} (BPTT). Since all steps share the weight `u`, the gradient of `u` is the sum of the contributions of all steps.

What counts is the product of the factors. If it gets closer to 0 with every step back, the contributions of early steps become tiny: this is the {term:vanishing gradients|vanishing gradient} problem. If the product grows exponentially, so do the contributions: these are {term:exploding gradients}.

The explorable below shows how fast this happens in a network with an eight-number state. Its matrix multiplies the length of every vector, its {term:norm}, by a factor that you can set. *Linear* means that there is no activation function, so only this factor counts.
"""

# %% [markdown] kind="instructor"
r"""
**Help with the prediction:** 0.9 to the power of 7 is about ½. So the gradient halves every seven steps, and 50 steps are about seven halvings.
"""

# %% kind="predict"
predict("02", "nine-tenths", GradientTelephone())

# %% [markdown] kind="text"
r"""
Try the goals below the figure. Without an activation function, only a factor of exactly 1 preserves the gradient over many steps. The derivative of tanh is at most 1, so tanh can only shrink it further. The {term:sigmoid}, a similar function with outputs between 0 and 1, has a derivative of at most ¼, so it shrinks the gradient much faster.

In section 4, every network started with `u` between −1 and 1, so every factor was between −1 and 1, and even 0.9 leaves less than a billionth after 199 steps. This is true in both directions: the signal hardly affects the last state, and the gradient hardly reaches the first steps. If small initial values were the only obstacle, larger ones should solve the problem. So we drew `u` from 2 to 4 and changed nothing else. Now {result:lesson_02/learned at length 200/u from 2 to 4/total:.0f} of {result:lesson_02/learned at length 200/networks:.0f} networks learned length 200, instead of {result:lesson_02/learned at length 200/as above/total:.0f}. Most still fail, so there are other obstacles too.

With the weights chosen by hand, the signal does affect the last state. Yet at $h = 0.995$ and `u` = 3 the factor is only about 0.03, so the gradient vanishes there too. The state withstands noise because small changes die out, and gradients describe small changes. Bengio, Simard and Frasconi proved in 1994 that gradients vanish whenever a recurrent network stores information in stable states that withstand noise.
"""

# %% [markdown] kind="text" track="core" contents="Jacobians, an explanation in your own words, and an optional exercise"
r"""
**With a state of many numbers**, a change in *one* of them affects *all* components of the next state. The factor of a step is then a matrix of derivatives, its {term:Jacobian}: the entry in row $i$ and column $j$ is the derivative of component $i$ of the new state with respect to component $j$ of the old one. For our network, the Jacobian is $U$ with row $i$ multiplied by $1 - h_i^2$, the derivative of its own tanh. The factors of several steps are combined by the matrix product.
"""

# %% [markdown] kind="instructor"
r"""
**Before they write,** ask for the two numbers that contradict the friend: with the weights chosen by hand, the state stays at 0.995, while each step multiplies the gradient by 0.03.

**They say:** "The gradient vanishes, so the network forgets" (M02). **Answer:** With the weights chosen by hand, the gradient vanishes and the state lasts. Running and learning are different things.
"""

# %% kind="explain" track="core"
explain("02", "forgets-or-cannot-learn")

# %% [markdown] kind="text" track="stretch"
r"""
**If you have time**, let's measure the Jacobian of a step with a two-number state. We change one component of the old state by 0.01 and divide the change in the new state by 0.01.
"""

# %% kind="example" track="stretch"
w_rec = torch.tensor([[0.5, 1.0], [-1.0, 0.8]])
old = torch.tensor([0.2, -0.4])
new = torch.tanh(w_rec @ old)

columns = []
for j in (0, 1):
    changed = old.clone()
    changed[j] += 0.01
    columns.append((torch.tanh(w_rec @ changed) - new) / 0.01)

print("derivatives of tanh, 1 − h²:", fixed(1 - new**2, 2))
print("w_rec:")
print(fixed(w_rec, 2))
print("measured Jacobian:")
print(fixed(torch.stack(columns, dim=1), 2))

# %% [markdown] kind="text" exercise="product_of_jacobians"
r"""
Compare the two matrices: the first row of `w_rec` is multiplied by the first derivative, and the second row by the second one.

The Jacobian of two steps is the matrix product `later @ earlier`. A change in component $j$ reaches component $i$ through every component in between, and the dot product of a row and a column adds up these contributions.

**Multiply them.** Given the states $h_1 … h_n$ of one sequence and the matrix `w_rec`, return the Jacobian of $h_n$ with respect to $h_1$: the product of the Jacobians of all steps in between, with the last step on the left. With a single state there are no steps, and the result is the identity matrix, which has ones on its diagonal and zeros elsewhere.
"""

# %% kind="exercise" exercise="product_of_jacobians" title="Multiply the Jacobians" difficulty=3 importance=3 track="stretch"
from lessons.l02_recurrent_networks.solutions import product_of_jacobians

# %% kind="check" exercise="product_of_jacobians"
check("product_of_jacobians", product_of_jacobians)

# %% [markdown] kind="hints" exercise="product_of_jacobians"
r"""
### A nudge
Between `n` states there are `n − 1` steps. With no steps, a change arrives unchanged, so start from `torch.eye(len(w_rec))`.

---
### Step by step
For each state except the first, the derivatives are `1 - state**2`, and each of them multiplies one *row* of `w_rec`. `derivatives[:, None]` has the shape (hidden, 1), so `derivatives[:, None] * w_rec` multiplies row $i$ by derivative $i$. Multiply the result, with `@`, by the product so far.
"""

# %% kind="library" track="stretch"
generator = torch.Generator().manual_seed(2)
w_rec = 0.5 * torch.randn(6, 6, generator=generator)
inputs = torch.randn(20, 6, generator=generator)


def last_state(first):
    """The state 20 steps after `first`; the input weights are the identity matrix."""
    return run_rnn(inputs, first, torch.eye(6), w_rec, torch.zeros(6))[-1]


first = torch.zeros(6)
states = run_rnn(inputs, first, torch.eye(6), w_rec, torch.zeros(6))
product = yours("product_of_jacobians")(torch.stack([first, *states]), w_rec)
automatic = torch.autograd.functional.jacobian(last_state, first)
torch.testing.assert_close(product, automatic, rtol=1e-3, atol=1e-7)
print("the product of 20 Jacobians equals the one computed by autograd")

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (4 min).** "Could we choose the initial weights so that every factor is exactly 1?" Expected: in the linear network an orthogonal matrix does it, as in the explorable at factor 1. But tanh still shrinks the gradient, and training moves the matrix away from it. Follow-up: what if the old state weren't multiplied at all, but added to? That is lesson 03.
"""

# %% [markdown] kind="text" track="short"
r"""
## 6 · Exploding gradients and long texts

A single update with a gradient a thousand times too large can destroy what a network has learned. The usual remedy is {term:gradient clipping} (Pascanu, Mikolov and Bengio, 2013). Put the gradients of all weights into one long vector and compute its norm, the square root of the sum of all squares. If the norm exceeds a limit, multiply all gradients by limit / norm: the update gets shorter, but keeps its direction. Smaller gradients aren't changed, so clipping doesn't help against vanishing gradients. In torch, call `torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)` before each optimiser step.
"""

# %% kind="example" track="core" contents="clipping in code, a question, and truncated BPTT"
torch.manual_seed(0)
rnn = torch.nn.RNN(8, 32, batch_first=True)
with torch.no_grad():
    rnn.weight_hh_l0 *= 4  # large recurrent weights: gradients explode

states, last = rnn(0.1 * torch.randn(16, 30, 8))
last.square().mean().backward()
norm = torch.nn.utils.clip_grad_norm_(rnn.parameters(), max_norm=1.0)
clipped = torch.cat([weight.grad.flatten() for weight in rnn.parameters()]).norm()
print(f"norm before clipping: {fixed(norm, 0)}, after clipping: {fixed(clipped, 0)}")

# %% [markdown] kind="instructor"
r"""
**They say:** "Clipping solves the gradient problem." **Answer:** It shortens gradients that are too long. It can't lengthen those that have vanished.
"""

# %% kind="quiz" track="core"
quiz("02", "clipping")

# %% [markdown] kind="text" track="core"
r"""
**Truncation.** BPTT has to store all states until the backward pass, which becomes expensive for long texts. **Truncated BPTT** cuts the text into chunks of, say, 50 words. The last state of a chunk becomes the first state of the next one, but its gradient stops there; in torch, `state.detach()` passes on the numbers and cuts the path for gradients. The state can still carry information across the boundary, but no gradient crosses it, so the network isn't trained to keep what only a later chunk needs.
"""

# %% [markdown] kind="text"
r"""
**Sequential computation.** To compute $h_{100}$ you need $h_{99}$, and for that $h_{98}$. A tanh RNN has to take these steps one after another, however many processors there are. *Linear* recurrences, without tanh, can be computed in parallel, and some recent models make use of that.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on the question about $\partial h_{200} / \partial h_1$. "Close to 1, because the signal is passed on" is the mistake that this lesson is about.
"""

# %% kind="quiz"
quiz("02", "closing")

# %% [markdown] kind="instructor"
r"""
**Wrap up (4 min).** Think, pair, share: "Which two problems will a better recurrent network still have?" Expected: a state of fixed size, and steps that have to wait for each other. Lesson 03 ends with these.

| they say | misconception | a short answer |
|---|---|---|
| "just use a larger state" | M03 | With the weights chosen by hand, a single number is enough to store the signal. |
| "a GPU makes it fast" | | It makes each step fast, but the steps still have to wait for each other. |
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | meaning | shape |
|---|---|---|
| hidden state $h_t$ | everything the network carries from one word to the next | (hidden) |
| $W$, $U$, $b$ | the weights, shared by all steps | (hidden, input), (hidden, hidden), (hidden) |
| factor $u\,(1 - h^2)$ | what one step back multiplies the gradient by, for a state of one number | a number |
| {term:Jacobian} | the same for a state of many numbers | (hidden, hidden) | <!-- core -->

- The state may contain more than the prediction uses. After a second noun, our RNN's predictions hardly depend on the subject's gender, but a linear probe can still read it from the state.
- An RNN **can** remember: three numbers chosen by hand store a signal for 200 steps. Training rarely **finds** such weights.
- In BPTT, every step back multiplies the gradient by a factor. After 50 steps, a factor of 0.9 leaves 0.5% of it, and a factor of 1.1 makes it 117 times as large. Clipping helps against exploding gradients, but not against vanishing ones.

**Still missing.** Repeated multiplication makes gradients vanish or explode. It would help to have a path on which the old state is kept, and new information is added to it. Lesson 03 builds one.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Elman, *Finding Structure in Time* (1990): what a small recurrent network learns about language by predicting the next word. [doi.org](https://doi.org/10.1207/s15516709cog1402_1)
- Bengio, Simard and Frasconi, *Learning Long-Term Dependencies with Gradient Descent is Difficult* (1994): the trade-off between a robust state and a usable gradient. [doi.org](https://doi.org/10.1109/72.279181)
- Pascanu, Mikolov and Bengio, *On the difficulty of training recurrent neural networks* (2013), sections 2 and 3: vanishing and exploding gradients, and clipping. [arXiv 1211.5063](https://arxiv.org/abs/1211.5063)
"""
