# Lesson 16 · the source. Edit this file, then run `python3 -m course_lib build 16`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 16 · Decoding and measuring

**The question:** how does a trained model write a sentence, and how do we know whether it's good?

About {minutes} minutes. You need greedy decoding from [lesson 04](04_encoder_decoder.ipynb), multi-head attention from [lesson 12](12_many_heads.ipynb), and the whole Transformer from [lesson 14](14_the_transformer.ipynb).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **open** a translator while it works, and **close** a word to see what depended on it; <!-- core -->
2. **follow** a beam search step by step, and **weigh** what a wider beam gains and loses;
3. **write** {term:BLEU}, equal to the tool that papers use, and **show** what it cannot see; <!-- core -->
4. **write** attention with a cache, **drive** the trained decoder with it, and **count** the work it saves. <!-- core -->
"""

# %% kind="setup"
import math
import time
from unittest.mock import Mock, patch

import torch
from sacrebleu.metrics import BLEU

from course_lib import views
from course_lib.formatting import fixed
from course_lib.layers import MultiHead
from course_lib.models import TransformerConfig
from course_lib.teaching import check, estimate, explain, predict, quiz, start_lesson
from course_lib.teaching import yours
from course_lib.text import BOS, EOS, PAD, UNK, make_batch, splits
from course_lib.translation import error_rate, links_from, load_shipped, translate
from lessons.l16_decoding import BeamTree, LiveTranslator, Recompute

start_lesson("decoding", seed=16)

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("16", "recall")

# %% [markdown] kind="text" contents="translate sentences of your own, and hide words to see what matters"
r"""
## 1 · The live translator

Everything you have built is in one picture now. The trained model reads your sentence, and at each **step** gives every word of its vocabulary a chance to come next. The likeliest is said, read in again, and so on until it says `</s>`: greedy decoding, lesson 04.

You may type any sentence. The vocabulary is small (cats, women, gardens, about {result:lesson_16/vocabulary:.0f} words with the French ones); a word it does not know is named, and read as `<unk>`. Capitals and a full stop do no harm.

**A word in [brackets] is closed.** It stays in its place, but a mask hides it from every attention, that of the other English words and that of the decoder. Lesson 09 did this with *thirsty*.

Here is *The old woman sees a small dog in the garden.* Close **dog**. The decoder has said *la vieille femme voit un petit*, and now it needs a noun that nobody can see. What will it say?
"""

# %% kind="diagram" hide_input=true
PARTS = {
    "source": (0, 0), "encoder": (1, 0), "decoder step": (2, 0), "chances": (3, 0),
    "search": (4, 0), "translation": (5, 0), "cache": (2, 1), "next word": (4, 1),
    "reference": (5, 1), "BLEU": (6, 0.5),
}
ARROWS = [
    ("source", "encoder"), ("encoder", "decoder step"), ("decoder step", "chances"),
    ("chances", "search"), ("search", "next word"), ("cache", "decoder step"),
    ("search", "translation"), ("translation", "BLEU"), ("reference", "BLEU"),
]
NAME = "From a source to a number"
views.diagram(PARTS, ARROWS, lit=("decoder step", "chances"), title=NAME)

# %% kind="predict"
predict("16", "dec-close-dog", LiveTranslator())

# %% [markdown] kind="text"
r"""
*Un petit jardin dans le jardin*, with a chance of {result:lesson_16/closed/dog:.2f}. Does the word really come from *garden*? Change it and see: with *in the kitchen* it says *une petite cuisine dans la cuisine*, and article and adjective agree two words ahead.

{result:lesson_16/closed/dog:.2f} is this model's ordinary sureness: with nothing closed it says 0.90 to 0.96 at almost every step. (It was trained to leave a little to the others: label smoothing, lesson 15.) So it is as sure of the wrong word as of a right one.

That is not a law. Close *small* or *old*, and it is left out. Close *garden*, and it gropes: *dans le chien*, at {result:lesson_16/closed/garden:.2f}. Close the words one by one: you see what the translation **depended** on. How sure it is does not tell whether it is right.

Try RCTM, the oldest translator of this course, on the same sentence. It reduces a sentence to one vector with convolutions and generates the translation with a plain recurrent network ([lesson 18](18_the_museum.ipynb)). It has no attention and therefore no map, and from *sees* on it makes up a fluent sentence of its own.

**May the map be read as "this word comes from that word"?** Not without asking. There is even a choice to make: step *t* reads word *t* − 1 and says word *t*. Does its row belong to the word it says, or to the word it reads? In some Transformers the second reading fits better (Chen and others, 2020). The toy language comes with true alignments, so measure.
"""

# %% kind="see"
rctm, transformer = load_shipped("rctm"), load_shipped("transformer")
model = transformer.model.eval()
rctm.model.eval()
encode = transformer.tokenizer.encode
pairs = splits(seed=0, sizes={"test": 300}).test

batch = make_batch(
    [encode(p.src_text) for p in pairs[:100]], [encode(p.tgt_text) for p in pairs[:100]]
)
with torch.no_grad():
    memory = model.encode(batch.src, batch.src_lengths)
    _, weights = model.decode(memory, batch.tgt_in, with_weights=True)
maps = weights.mean(dim=(1, 2))  # over layers and heads: (100, target, source)

for name, reading in (("says", False), ("reads", True)):
    links = [
        links_from(weights, n_source=len(p.src), n_target=len(p.tgt), reading=reading)
        for weights, p in zip(maps, pairs[:100], strict=True)
    ]
    error = error_rate(links, [set(pair.links) for pair in pairs[:100]])
    print(f"row of the word it {name}: alignment error {fixed(error, 2)}")

# %% [markdown] kind="text"
r"""
In *our* model a row belongs to the word that the step **says**: error below 0.1, and {result:lesson_16/alignment error/read:.1f} for the other reading. In another model it may be the other way round. Measure, then say.
"""

# %% kind="quiz"
quiz("16", "live")

# %% [markdown] kind="text" track="short"
r"""
## 2 · More than one beginning

{term:greedy decoding|Greedy decoding} takes back nothing. That can go wrong. Language **A**, of five sentences:

| first word | second word | chance of the sentence |
|---|---|---|
| **the** 0.6 | cat 0.4, dog 0.35, bird 0.25 | the cat: 0.6 · 0.4 = **0.24** |
| **a** 0.4 | cat 0.9, dog 0.1 | a cat: 0.4 · 0.9 = **0.36** |

Greedy says *the*, for 0.6 is more than 0.4, and ends with 0.24. The likeliest sentence begins with the less likely word. Like a hiker who always takes the steepest path up: he comes to a top, not to *the* top.

{term:beam search|Beam search} keeps the best $k$ beginnings open, lets every one go on with every word, and of all these keeps the best $k$ again. Such a beginning is called a {term:hypothesis}. The number $k$ is the {term:beam width}, and $k = 1$ is greedy.

"Best" means the largest product of chances. Products of many small numbers vanish, so one adds logarithms instead (lesson 01): $\log 0.24 = -1.427$ and $\log 0.36 = -1.022$. **Nearer to 0 is better**, and the sum can only fall from word to word.

A finished sentence is one that has said `</s>`. Language **B** in the explorable is French: *le chat dort* is the best full sentence, with a sum of −2.339. At the first step five tokens may come, with chances of 0.41, 0.25, 0.16, 0.12 and 0.06.

$k = 1$, greedy, says *le chat dort*. Now $k = 5$, nothing else changed. What is the answer? Look at the tree afterwards: it shows the chance of each word; kept is what has the largest **product** from the start.
"""

# %% kind="predict"
predict("16", "dec-wide-beam", BeamTree())

# %% [markdown] kind="formula"
r"""
The wide beam found what it was sent for: the sentence with the largest sum. $\log 0.12 = -2.120$ beats −2.339. The narrow beam never saw it, for at the first step other words were likelier. **The search was not at fault; the goal was.** A sum of logarithms falls with every word, so it prefers short sentences.

The usual repair is a {term:length penalty}: rank finished sentences not by their sum but by

$$ \text{score} = \frac{\log p(\text{sentence})}{\left(\frac{5 + L}{6}\right)^{\alpha}} $$

| symbol | in words | here |
|---|---|---|
| $L$ | length, `</s>` counted | 4 for *le chat dort*, 1 for nothing |
| $\alpha$ | how much length is forgiven (not lesson 06's weights) | 0: the bare sum; 0.6 and 1 are common |

With $\alpha = 1$: $-2.339 / 1.5 = -1.559$ against $-2.120 / 1$, and the sentence is back. (The form is that of Wu and others, 2016.)
"""

# %% [markdown] kind="text" exercise="grow"
r"""
Now on a trained system. One step of a beam is a function: open hypotheses go in, the best `width` continuations come out (or all, if there are fewer). Each hypothesis has its sum, its words, and the decoder's **state** after reading them (an RNN's hidden state; for a Transformer see section 4).

`step(state, word)` reads one word and returns two things: a dictionary with the log-probability of every next word, and the new state. A first version is there. Make its check pass.
"""

# %% kind="exercise" exercise="grow" mode="bug" title="One step of a beam" difficulty=3 importance=4 track="core"
def grow(sums, sentences, states, step, width):
    """sums, sentences (lists of words), states: one of each for a hypothesis.

    step(state, word)  ->  {next word: log-probability}, new state
    ->  three lists: sums, sentences, states of the best `width`, best first
    """
    # bug
    candidates, new_states = [], []
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, new_state = step(state, sentence[-1])
        for word, log_prob in log_probs.items():
            candidates.append((total + log_prob, [*sentence, word]))
            new_states.append(new_state)
    best = sorted(candidates, key=lambda candidate: candidate[0], reverse=True)[:width]
    sums = [total for total, _ in best]
    sentences = [sentence for _, sentence in best]
    return sums, sentences, new_states[:width]
    # end bug
    # solution
    candidates = []
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, new_state = step(state, sentence[-1])
        for word, log_prob in log_probs.items():
            candidates.append((total + log_prob, [*sentence, word], new_state))
    candidates.sort(key=lambda candidate: candidate[0], reverse=True)
    best = candidates[:width]
    return tuple([candidate[i] for candidate in best] for i in range(3))
    # end solution

# %% kind="check" exercise="grow"
check("grow", grow)

# %% [markdown] kind="hints" exercise="grow"
r"""
### A nudge
Which three things must belong to the same hypothesis when they come out? Work through the case by hand, with `["the"]` and `["a"]`: who are the parents of the two that stay?

---
### Where
The sums and the sentences are right. The states stand in the order in which they were *made*. After the ranking, the first one kept may be a child of the last parent.

---
### Step by step
Put the new state into the candidate, beside its sum and its sentence. Then sorting moves all three together.
"""

# %% [markdown] kind="text" track="core"
r"""
This bug raises no error, and it spares greedy decoding: with one hypothesis there is nothing to mix up. With more, a sentence goes on from the memory of its rival. RCTM, $k = 5$, {result:lesson_16/misplaced states/sentences:.0f} test sentences: {result:lesson_16/misplaced states/changed:.0f} come out otherwise, and {result:lesson_16/misplaced states/right with the bug:.0f} are right with the bug and without. Neither that count nor BLEU (section 3) tells you that something is wrong.

The rest of the search is given: it calls your `grow`, moves what has ended to a list, and ranks that list with the length penalty.
"""

# %% kind="code" name="beam" track="core"
grow = yours("grow")


def beam(step, state, width, alpha=0.0, longest=40):
    """The tokens of the best finished sentence."""
    sums, sentences, states, finished = [0.0], [[BOS]], [state], []
    for length in range(1, longest + 1):
        # twice as many: up to `width` may have ended, and `width` stay open
        grown = grow(sums, sentences, states, step, 2 * width)
        candidates = list(zip(*grown, strict=True))
        penalty = ((5 + length) / 6) ** alpha
        for total, sentence, _ in candidates[:width]:
            if sentence[-1] == EOS:
                finished.append((total / penalty, sentence))
        still_open = [c for c in candidates if c[1][-1] != EOS][:width]
        if len(finished) >= width or not still_open:
            break
        sums, sentences, states = map(list, zip(*still_open, strict=True))
    cut_off = (-math.inf, [*sentences[0], EOS])  # nothing has ended
    return max(finished, default=cut_off)[1][1:-1]

# %% kind="see" name="two widths" track="core"
def step_function(system, sentence):
    """`step` for one source, for its 12 likeliest tokens; and the first state."""
    batch = make_batch([system.tokenizer.encode(sentence)], [[]])
    memory = system.model.encode(batch.src, batch.src_lengths)

    def step(state, token):
        logits, state, _ = system.model.step(memory, state, torch.tensor([token]))
        log_probs = logits[0].log_softmax(dim=-1)
        log_probs[[PAD, UNK, BOS]] = -math.inf  # no words
        values, tokens = log_probs.topk(12)
        return dict(zip(tokens.tolist(), values.tolist(), strict=True)), state

    return step, system.model.start(memory)


cow = "the cow drank the milk because it was thirsty"
for sentence in ("a man runs", cow, "the aunt wore the clean dress"):
    for width in (1, 5):
        with torch.no_grad():
            tokens = beam(*step_function(rctm, sentence), width)
        output = rctm.tokenizer.decode(tokens)
        inputs = ([sentence], rctm.model, rctm.tokenizer)
        (expected,) = translate(*inputs, beam=width, length_penalty=0.0)
        assert output == expected.target, f"the library's output: {expected.target}"
        print(f"k = {width}: {output}")

# %% [markdown] kind="text" track="core"
r"""
RCTM again, and your beam agrees with the library's. Greedy turned *a man* into *une sœur* (*une* had {result:lesson_16/rival words/une:.2f}, *un* {result:lesson_16/rival words/un:.2f}) and the thirsty cow into hot milk (*il* {result:lesson_16/rival words/il:.2f}, *elle* {result:lesson_16/rival words/elle:.2f}): one word was a little likelier, and there was no way back. With five beginnings open, both come out right. The third sentence went the other way: greedy had *la robe propre*, right, and the beam prefers *la belle robe*. A likelier sentence, by the model's own opinion, is not always the better one.

How often does it matter? For that we need a score, the next section.
"""

# %% kind="quiz"
quiz("16", "beam")

# %% [markdown] kind="text" contents="write BLEU, the standard score for translations, and find its blind spots"
r"""
## 3 · How good is it?

So far a translation was right or wrong, word for word. That is harsh: *le chat noir dort* for *le petit chat noir dort* counts as nothing. And the loss of training does not tell either: it is measured after *right* words (teacher forcing, lesson 04), while a decoder reads its own. In lesson 15 the run whose target was not shifted had the lowest loss of all, and nothing right. So decode, then score.

{term:BLEU score|BLEU} (Papineni and others, 2002) gives part of the points: it counts **which groups of one, two, three and four words the reference has, too.** A group of $n$ words is an $n$-gram (lesson 01).

**By hand.** Two sentences, with one reference each:

| | said | reference |
|---|---|---|
| 1 | le chat noir dort dans le jardin | le **petit** chat noir dort dans le jardin |
| 2 | la femme ne voit pas le chien | la femme ne voit pas le chien |

Words: 7 + 7 were said, all 14 are in their references: 14/14. Pairs: 6 + 6 were said, and *le chat* is not in the first reference: 11/12. Threes: 9/10, fours: 7/8. The {term:n-gram precision} $p_n$ is this share: of all groups of $n$ words that were said, those that the reference has. Note that **all sentences are added up first**, and then divided.

*Le le le le* must not score. So a group counts at most as often as the reference has it: the count is **clipped**.
"""

# %% kind="diagram" hide_input=true
views.diagram(PARTS, ARROWS, lit=("translation", "reference", "BLEU"), title=NAME)

# %% kind="example"
def clipped_matches(output, reference, n):
    """Lists of words -> clipped matches of n-grams, number of n-grams in the output"""
    ours = [tuple(output[i : i + n]) for i in range(len(output) - n + 1)]
    theirs = [tuple(reference[i : i + n]) for i in range(len(reference) - n + 1)]
    matches = sum(min(ours.count(gram), theirs.count(gram)) for gram in set(ours))
    return matches, len(ours)


def words(sentences):
    return [sentence.split() for sentence in sentences]


output, reference = words(["le le le chat", "le chat dort sur le lit"])
for n in (1, 2, 3, 4):
    print(f"groups of {n}: {clipped_matches(output, reference, n)}")

# %% [markdown] kind="formula"
r"""
**Together.** Precision alone has a hole: say only what you are sure of, and all precisions are 1. So there is a {term:brevity penalty}. With $c$ words said and $r$ words in the references,

$$ \text{BLEU} = 100 \cdot \underbrace{\min\left(1,\; e^{\,1 - r/c}\right)}_{\text{brevity penalty}} \cdot \;\sqrt[4]{p_1\, p_2\, p_3\, p_4} $$

| symbol | in words | our two sentences |
|---|---|---|
| $p_1 … p_4$ | precisions, over the whole corpus | 14/14, 11/12, 9/10, 7/8 |
| fourth root | geometric mean: one 0 makes all 0 | 0.922 |
| $c$, $r$ | words said, words in the references | 14 and 15: penalty $e^{1 - 15/14} = 0.931$ |
| BLEU | | 85.8 |

In code the root is `exp` of the mean of the four logarithms.

**Write it.** Both arguments are lists of sentences, each a list of words. Use `clipped_matches(output, reference, n)` from above. If nothing matches for some $n$, or there are no $n$-grams at all, BLEU is 0.
"""

# %% kind="exercise" exercise="bleu_score" title="BLEU" difficulty=3 importance=5 track="core"
def bleu_score(translations, references):
    """translations, references: lists of lists of words  ->  a number, 0 to 100"""
    # solution
    pairs = list(zip(translations, references, strict=True))
    logs = 0.0
    for n in (1, 2, 3, 4):
        counts = [clipped_matches(output, reference, n) for output, reference in pairs]
        matches = sum(count[0] for count in counts)
        total = sum(count[1] for count in counts)
        if matches == 0:
            return 0.0
        logs += math.log(matches / total) / 4
    c = sum(len(output) for output, _ in pairs)
    r = sum(len(reference) for _, reference in pairs)
    return 100 * math.exp(logs + min(0.0, 1 - r / c))
    # end solution

# %% kind="check" exercise="bleu_score"
check("bleu_score", bleu_score)

# %% [markdown] kind="hints" exercise="bleu_score"
r"""
### A nudge
Two loops: over n = 1 to 4, and inside it over the sentences. What is added up inside, and what is divided after?

---
### Step by step
1. For each n: add up the matches of all sentences and the totals of all sentences. No match at all: return 0.0.
2. Add `math.log(matches / total) / 4`.
3. `c` and `r` are the lengths, all sentences together. The penalty's logarithm is `min(0, 1 - r / c)`.
4. `100 * math.exp(...)` of the sum of both.
"""

# %% kind="library"
bleu_score = yours("bleu_score")
# our words are split already, and a precision of 0 must stay 0
sacre = BLEU(tokenize="none", smooth_method="none", force=True)
texts, golds = [p.src_text for p in pairs], [p.tgt_text for p in pairs]


def outputs(system, width):
    """All test sentences with a beam of this width, α = 0."""
    inputs = (texts, system.model, system.tokenizer)
    return [t.target for t in translate(*inputs, beam=width, length_penalty=0.0)]


print(" k  exact  BLEU    p1  brevity  too short  too long")
for k in (1, 2, 5, 20):
    translations = outputs(rctm, k)
    ours = bleu_score(words(translations), words(golds))
    theirs = sacre.corpus_score(translations, [golds])
    assert abs(ours - theirs.score) < 1e-6, f"sacreBLEU: {theirs.score}, yours: {ours}"
    compared = list(zip(translations, golds, strict=True))
    exact = sum(a == b for a, b in compared)
    longer = [len(a.split()) - len(b.split()) for a, b in compared]
    short, long = sum(n < 0 for n in longer), sum(n > 0 for n in longer)
    p1, brevity = fixed(theirs.precisions[0], 1), fixed(theirs.bp, 3)
    bleu = f"{fixed(ours, 1)}  {p1}  {brevity:>7}"
    print(f"{k:2}  {exact:5}  {bleu}  {short:9}  {long:8}")

# %% [markdown] kind="text"
r"""
RCTM, 300 sentences, without a length penalty; and your BLEU equals that of sacreBLEU (Post, 2018), the tool that papers use.

**What a wider beam does.** Two beginnings in place of one: both scores gain. After that hardly anything. The words get better ($p_1$ rises), the sentences get shorter (at 20 many more are too short and fewer too long; with $\alpha = 1$ it is {result:lesson_16/beam with penalty/too short:.0f} in place of {result:lesson_16/beam/20/too short:.0f}), and the brevity penalty takes back what the words have won. The Transformer is so sure of itself here that beam and greedy say the same.

On real captions (Multi30k, width 5, $\alpha$ chosen on the validation set) all of our {result:lesson_16/beam on captions/systems:.0f} systems gain, {result:lesson_16/beam on captions/least:.1f} to {result:lesson_16/beam on captions/most:.1f} points; the Transformer goes from {result:multi30k_ladder/transformer/scores/test/greedy:.2f} to {result:multi30k_ladder/transformer/scores/test/beam:.2f}. On large systems a beam that is too wide does harm (Koehn and Knowles, 2017). Stahlberg and Byrne (2019) searched *exactly*: for more than half of their sentences, the likeliest translation of all was the empty one.

**What BLEU is not.** A quarter of the sentences is right, and BLEU says {result:lesson_16/beam/20/BLEU:.0f}. It is **no percentage of anything that is right**, and a gain of a point on 300 sentences may be chance. It is good for comparing systems on the same test.

**What it cannot see.** The reference is *la femme ne voit pas le petit chien dans le jardin*: the woman does not see the small dog in the garden. Three translations:

- *wrong animal*: … le petit **chat** …
- *other verb*: la femme **n' aperçoit** pas … (does not notice; just as good)
- *the opposite*: la femme ne voit **que** le petit chien … (sees nothing but the dog)

Which one gets the lowest BLEU?
"""

# %% kind="predict"
gold = "la femme ne voit pas le petit chien dans le jardin"
altered = {
    "wrong animal": gold.replace("chien", "chat"),
    "other verb": gold.replace("ne voit", "n' aperçoit"),
    "the opposite": gold.replace("voit pas", "voit que"),
}
scores = [bleu_score(words([text]), words([gold])) for text in altered.values()]
figure = views.bars(
    scores, labels=list(altered), name="BLEU", high=100, digits=1,
    title="One reference, three translations",
)
predict("16", "dec-bleu-blind", figure)

# %% [markdown] kind="text"
r"""
BLEU compares words on paper. A wrong animal costs one word, and so does the opposite; a good verb costs two, since the reference happens to have another. (With thousands of sentences, or with several references, much of this averages out.)

And it depends on how a text is cut into words: *Le chat n'a pas bu l'eau, parce qu'elle était froide*, scored against the same without the comma and with *trop froide*, gets {result:lesson_16/BLEU/cut at spaces:.0f} when it is cut at spaces and {result:lesson_16/BLEU/cut into letters:.0f} when it is cut into letters. So sacreBLEU gives a **signature** with every score: tokeniser, case, smoothing. Print it, too.
"""

# %% kind="quiz"
quiz("16", "bleu")

# %% [markdown] kind="text" track="short"
r"""
## 4 · Do not compute it twice

At every step the decoder reads one new word. What about the old ones? The loop of lesson 14 runs the whole sentence through the decoder again, each time one word longer, and uses only the last row.

Look at what self-attention needs at step $t$: **one** query, that of the new word; and the keys and values of **all** words so far. Does the key of an old word change when a new one comes? The causal mask says no: a word never looks ahead (lesson 10), so in every layer its vector stays what it was. The {term:KV cache} keeps the key and the value of every word so far, in each layer.

The queries? That of word 3 was used once, when word 3 asked. Nobody asks again. **Keys and values are kept, queries are not.**

And the source: its keys and values for cross-attention are the same at every step. They are made once, before the first word.
"""

# %% kind="estimate"
transformer = load_shipped("transformer")
model, encode = transformer.model.eval(), transformer.tokenizer.encode


def count_projections(system, memory, n):
    """For how many words each layer computes keys and values, to output n words."""
    projected, project = [], MultiHead.project

    def counting(layer, inputs):
        projected.append(inputs.shape[1])
        return project(layer, inputs)

    with torch.no_grad(), patch.object(MultiHead, "project", counting):
        state = system.start(memory)
        for _ in range(n):
            _, state, _ = system.step(memory, state, torch.tensor([BOS]))
    return sum(projected) // 3


with torch.no_grad():
    source = make_batch([encode("the cat sleeps")], [[]])
    memory = model.encode(source.src, source.src_lengths)
recompute = Recompute(model)
estimate("16", "dec-projections", lambda: count_projections(recompute, memory, 60))

# %% [markdown] kind="text"
r"""
$1 + 2 + … + T = T(T+1)/2$ against $T$: for 100 words 5,050 against 100. The feed-forward layers and the cross-attention of all old words are spared as well. (Lesson 17 counts all of it.)

**The price is memory**: 2 · layers · d_model numbers for every word, of every sentence, of every hypothesis in the beam. Each hypothesis has a cache of its own, and when the ranking shuffles the hypotheses, the caches must move along.
"""

# %% kind="diagram" hide_input=true track="core"
views.diagram(PARTS, ARROWS, lit=("decoder step", "cache"), title=NAME)

# %% kind="code" track="core"
split_heads, join_heads = yours("split_heads"), yours("join_heads")
scaled_attention = yours("scaled_attention")  # (queries, keys, values)

# %% [markdown] kind="text" exercise="cached_attention"
r"""
**Build it** from three functions that you have written: `split_heads` and `join_heads` (lesson 12), and `scaled_attention` (lesson 08). `x` is the new word alone. `past` is a pair, keys and values of the words before it, already cut into heads; at the first step they hold 0 words. Here the matrices have the shape (in, out), so the query is `x @ w_q`. `scaled_attention(queries, keys, values)` returns the context **and** the attention weights.

Make the new word's query, key and value; append key and value to the past; let the query look at all of them; join, and mix with `w_o`. Return the output **and the new pair**, which is the past of the next step. Do not change what you were given: make new tensors.
"""

# %% kind="exercise" exercise="cached_attention" title="Attention with a cache" difficulty=4 importance=5 track="core"
def cached_attention(x, past, w_q, w_k, w_v, w_o, n_heads):
    """x (batch, 1, d_model); past: keys, values, each (batch, n_heads, t, d_k)

    w_q, w_k, w_v, w_o (d_model, d_model)
    ->  output (batch, 1, d_model), (keys, values), each (batch, n_heads, t + 1, d_k)
    """
    # solution
    query = split_heads(x @ w_q, n_heads=n_heads)
    key = split_heads(x @ w_k, n_heads=n_heads)
    value = split_heads(x @ w_v, n_heads=n_heads)
    keys = torch.cat([past[0], key], dim=2)
    values = torch.cat([past[1], value], dim=2)
    context, _ = scaled_attention(query, keys, values)
    return join_heads(context) @ w_o, (keys, values)
    # end solution

# %% kind="check" exercise="cached_attention"
check("cached_attention", cached_attention)

# %% [markdown] kind="hints" exercise="cached_attention"
r"""
### A nudge
It is `many_heads` of lesson 12 with one difference: keys and values come from two places. Which axis counts the words?

---
### Step by step
1. Three products with `x`, each split: (batch, n_heads, 1, d_k).
2. `torch.cat([past[0], key], dim=2)`, old first; the same for values.
3. `scaled_attention(query, keys, values)`. No mask is needed, because the query may attend to everything in the cache.
4. Join, times `w_o`. Return it with the pair `(keys, values)`.

---
### "Why is there no causal mask?"
A mask hides what comes later. Nothing later is in the cache.
"""

# %% [markdown] kind="text" track="core"
r"""
Now the trained decoder, with **your** attention in it. The rest is the block of lessons 13 and 14, in the library's names.
"""

# %% kind="code" track="core"
cached_attention = yours("cached_attention")


@torch.no_grad()
def my_step(memory, caches, token):
    """Read one token: the logits of the next. `caches` holds a pair for each layer."""
    x = model.words.target(torch.tensor([[token]]))
    x = model.target_positions.add(x, first=caches[0][0].shape[2])
    for layer, block in enumerate(model.decoder.blocks):
        own = block.attention  # 1. the words so far
        matrices = (own.w_query.T, own.w_key.T, own.w_value.T, own.w_output.T)
        normed = block.around_attention.before(x)
        context, caches[layer] = cached_attention(normed, caches[layer], *matrices, 4)
        x = block.around_attention.after(x, context)
        # 2. the source
        query = block.cross.project_query(block.around_cross.before(x))
        keys, values = memory["keys"][:, layer], memory["values"][:, layer]
        context, _ = block.cross.attend(query, keys, values, mask=memory["mask"])
        x = block.around_cross.after(x, context)
        # 3. feed-forward
        x = block.around_feed_forward(x, block.feed_forward)
    return model.words.logits(model.decoder.last_norm(x))[0, 0]

# %% kind="see" track="core"
def empty_caches():
    return [(torch.zeros(1, 4, 0, 16), torch.zeros(1, 4, 0, 16)) for _ in range(3)]


@torch.no_grad()
def my_translation(sentence, caches, compare=True):
    batch = make_batch([encode(sentence)], [[]])
    memory, tokens = model.encode(batch.src, batch.src_lengths), [BOS]
    while tokens[-1] != EOS and len(tokens) < 40:
        logits = my_step(memory, caches, tokens[-1])
        if compare:
            expected, _ = model.decode(memory, torch.tensor([tokens]))  # recomputed
            assert torch.allclose(logits, expected[0, -1], atol=1e-4)
        tokens.append(int(logits.argmax()))
    return transformer.tokenizer.decode(tokens[1:])


for sentence in (cow, "the old woman sees a small dog in the garden"):
    mine = my_translation(sentence, empty_caches())
    assert mine == transformer(sentence).target
    print(mine)

# %% [markdown] kind="text" track="core"
r"""
The same logits at every step, up to rounding, and the same words. A cache is **no approximation**. (The cell compares every step with a decoder that computes all of it again. Do that with every cache you write: a wrong one still gives fluent sentences.)

**Does it pay?** 60 words with your cache and without any. The factor depends on your machine, and on what else it does. (In the record `bench_decoding_cpu.txt`, on 2 cores, with the library's cache: {result:lesson_16/cache speed-up/toy:.1f} times for this small model, {result:lesson_16/cache speed-up/multi30k:.1f} times for one of Multi30k's size. On a machine with 16 cores and an H200, which this cell does not use, it said {result:lesson_16/cache speed-up/16 cores, earlier:.1f} in one run and {result:lesson_16/cache speed-up/16 cores, later:.1f} in another: `gpu/lessons.txt`. Most likely the fixed price of every call of torch weighs more there than the small products that are saved; lesson 17 comes back to that price.)
"""

# %% kind="code" ignore_output=true track="core"
def without_cache():
    state = Recompute(model).start(memory)
    for _ in range(60):
        _, state, _ = Recompute(model).step(memory, state, torch.tensor([BOS]))


def with_cache():
    caches = empty_caches()
    for _ in range(60):
        my_step(memory, caches, BOS)


def seconds(decode):
    start = time.perf_counter()
    with torch.no_grad():
        decode()
    return time.perf_counter() - start


slow, fast = (min(seconds(f) for _ in range(3)) for f in (without_cache, with_cache))
print(f"{slow / fast:.1f} times faster")
counted = Mock(side_effect=cached_attention)
with patch("__main__.cached_attention", counted):
    with_cache()
assert sum(call.args[0].shape[1] for call in counted.mock_calls) == 3 * 60  # 3 layers

# %% kind="see" track="core"
with torch.no_grad():
    _, state, _ = model.step(memory, model.start(memory), torch.tensor([BOS]))
ours = sum(tensor.nbytes for tensor in state.values())
paper = 2 * 6 * 512 * 4
assert ours == 2 * 3 * 64 * 4
print("keys of one word: layers, heads, words, d_k =", tuple(state["keys"].shape[1:]))
print(f"cache for one word: {ours:,} bytes; the 2017 base model: {paper:,}")
print(f"1,024 words of that: {1024 * paper // 2**20} MiB")

# %% kind="explain" track="core"
explain("16", "dec-why-cache")

# %% [markdown] kind="text" contents="a cache that is never emptied, and decoding without the causal mask"
r"""
## Break it

**One.** Two sentences after another, and the caches are not emptied in between.

**Two.** "When I decode without a cache, nothing later exists. So I may drop the causal mask."

> **Before you run it:** what does the second sentence become? And of 100 sentences translated without the mask, how many are right? (With it, {result:lesson_16/causal mask/with:.0f}.)
"""

# %% kind="break"
for first in ("the cat sleeps", "the woman sleeps"):
    caches = empty_caches()
    print("first sentence:     ", my_translation(first, caches, compare=False))
    print("second, same caches:", my_translation(cow, caches, compare=False))
print("second, empty ones: ", my_translation(cow, empty_caches()))

with patch.object(TransformerConfig, "causal_arguments", lambda self, n, device: {}):
    unmasked = translate(texts[:100], Recompute(model), transformer.tokenizer)
right = sum(a.target == b for a, b in zip(unmasked, golds[:100], strict=True))
print(f"without the mask: {right} of 100 right")

# %% [markdown] kind="text"
r"""
The first is the classic bug of a server that answers two people in turn. The cow's sentence goes on where the cat's had ended, fluently, and the cow is now *il*, like *le chat*; after *la femme* she is *elle*. No error, and something of one reader's text decides a word in the answer to another.

The second costs {result:lesson_16/causal mask/with - lesson_16/causal mask/without:.0f} sentences in a hundred. In the first layer the last word's output is the same with and without a mask. But the *earlier* words now see later ones, so their vectors differ from those in training; and in the second layer the last word looks at these. The same mask that keeps training honest is what makes the cache exact.
"""

# %% [markdown] kind="text" track="short"
r"""
## Check yourself

The first try counts for your score; every answer gets a reason.
"""

# %% kind="quiz"
quiz("16", "closing")

# %% [markdown] kind="instructor"
r"""
**The bet before the live translator (3 min).** Show the sentence on the projector, close *dog*, and let people say what comes. Many say "it stops" or "unk". Then *un petit jardin dans le jardin*. Ask: "how sure is it?" and open the step: {result:lesson_16/closed/dog:.2f}. Follow-up: write *kitchen* for *garden*; then let the room call out words to close: *woman* gives *le vieux chien*, *small* is left out.

**Ask the room.** "Your beam of 50 finds better sentences, by its own score, and users complain that half is missing. Who is wrong?" Expected: the score. Then α, and why 0.6 and not 5.

| they say | what it is | answer |
|---|---|---|
| "wider can only be better" | M45 | Language B: k = 4 says nothing. |
| "BLEU {result:lesson_16/beam/20/BLEU:.0f}, so nearly half is right" | M48 | RCTM: a quarter is exact. |
| "the cache keeps queries, too" | M44 | Who would ask with them? |
| "no future at inference, so no mask" | M24 | Break it, two. |
| "the map shows why" | M46 | Close the word it looks at, and see. |

**If time is short**, leave out the alignment cell and the bytes; keep both explorables and the cache.
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | what it is | number to remember |
|---|---|---|
| beam width $k$ | hypotheses kept open | 1 is greedy; 4 or 5 is usual |
| length penalty $\alpha$ | forgives length in the ranking | 0 prefers short |
| {term:BLEU} | {term:brevity penalty} · geometric mean of $p_1 … p_4$ | no percentage of right sentences |
| KV cache | keys and values of the words so far | $T$ projections in place of $T(T+1)/2$ |

- Closing a word shows what a translation depended on. What is hidden is replaced or left out; how sure the model is does not tell whether it is right.
- Beam search finds likelier sentences. Likelier is not always better, and without a length penalty it is shorter.
- BLEU adds up counts over a corpus, then divides. Same test, same tokeniser, or no comparison.
- A cache changes no number beyond rounding. It rests on the causal mask.

**Still missing.** With a cache the work on old words is spared; but each new word still looks at all of them, so the scores grow with the square of the length. Lesson 17 asks what it all costs.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Papineni and others, *BLEU: a Method for Automatic Evaluation of Machine Translation* (2002). [ACL P02-1040](https://aclanthology.org/P02-1040)
- Post, *A Call for Clarity in Reporting BLEU Scores* (2018). [arXiv 1804.08771](https://arxiv.org/abs/1804.08771)
- Wu and others, *Google's Neural Machine Translation System* (2016), section 7: the length penalty. [arXiv 1609.08144](https://arxiv.org/abs/1609.08144)
- Koehn and Knowles, *Six Challenges for Neural Machine Translation* (2017), section 3.6. [arXiv 1706.03872](https://arxiv.org/abs/1706.03872)
- Stahlberg and Byrne, *On NMT Search Errors and Model Errors: Cat Got Your Tongue?* (2019). [arXiv 1908.10090](https://arxiv.org/abs/1908.10090)
- Chen and others, *Accurate Word Alignment Induction from Neural Machine Translation* (2020): the row of the word that is read. [arXiv 2004.14837](https://arxiv.org/abs/2004.14837)
- After BLEU: Koehn (2004) on whether a gain is chance; chrF counts letters, COMET asks a trained model.
- `course_lib/translation/search.py` and `lessons/l16_decoding/live_translator.py`: the course's own.
"""
