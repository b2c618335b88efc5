# Lesson 16 · the source. Edit this file, then run `python3 -m course_lib build 16`; the notebook is made from it.

# %% [markdown] kind="title" minutes=0.5
r"""
# 16 · Decoding and measuring

**The question:** how does a trained model write a sentence, and how do we know that it is good?

About {minutes} minutes. You need greedy decoding from [lesson 04](04_encoder_decoder.ipynb), multi-head attention from [lesson 12](12_many_heads.ipynb), and the whole Transformer from lesson 14.
"""

# %% [markdown] kind="goals" minutes=0.5
r"""
After this lesson you can

1. **open** a translator while it works, and **close** a word to see what depended on it;
2. **find** a bug in a beam search, and **say** when a wider beam is worse;
3. **write** BLEU, equal to the tool that papers use, and **show** what it cannot see;
4. **write** attention with a cache, **drive** the trained decoder with it, and **count** the work it saves.
"""

# %% kind="setup" minutes=0.5
import math
import time
from unittest.mock import patch

import torch
from sacrebleu.metrics import BLEU

from course_lib import views
from course_lib.explore import BeamTree, LiveTranslator
from course_lib.formatting import fixed
from course_lib.layers.multi_head import MultiHead
from course_lib.models.transformer import TransformerConfig
from course_lib.teaching import check, estimate, explain, predict, quiz
from course_lib.teaching import start_lesson, yours
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS, EOS, PAD, UNK
from course_lib.text.toy.splits import splits
from course_lib.translation.alignment_error import error_rate, links_from
from course_lib.translation.recompute import Recompute
from course_lib.translation.shipped import load_shipped
from course_lib.translation.translate import translate

start_lesson("decoding", seed=16)

# %% [markdown] kind="text" minutes=0.5
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall" minutes=1.5
quiz("16", "recall")

# %% [markdown] kind="text" minutes=1
r"""
## 1 · The live translator

Everything you have built is in one picture now. The trained model reads your sentence, and at each **step** gives every word of its vocabulary a chance to come next. The likeliest is said, read in again, and so on until it says `</s>`: greedy decoding, lesson 04.

You may type any sentence. The vocabulary is small (cats, women, gardens, about 680 words with the French ones); a word it does not know is named, and read as `<unk>`. Capitals and a full stop do no harm.

**A word in [brackets] is closed.** It stays in its place, but a mask hides it from every attention, that of the other English words and that of the decoder. Lesson 09 did this with *thirsty*.

Here is *The old woman sees a small dog in the garden.* Close **dog**. The decoder has said *la vieille femme voit un petit*, and now it needs a noun that nobody can see. What will it say?
"""

# %% kind="diagram" minutes=0.2 hide_input=true
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

# %% kind="predict" minutes=4
predict("16", "dec-close-dog", LiveTranslator())

# %% [markdown] kind="text" minutes=1
r"""
*Un petit jardin dans le jardin*, with a chance of 0.92. It does not stop, and it does not hesitate. The place asks for a noun, one noun is in sight, and that one is taken, with a strong weight on *garden* to prove it. Close *a*, and *un* becomes *le*: what is hidden is filled in from what is usual.

So closing a word tells you what the translation **depended** on, and a chance of 0.92 tells you nothing about being right.

Try RCTM (lesson 05), the oldest system of this course, on the same sentence. It has no attention and no map, and from *woman* on it makes up a fluent sentence of its own.

**May the map be read as "this word comes from that word"?** Not without asking. There is even a choice to make: step *t* reads word *t* − 1 and says word *t*. Does its row belong to the word it says, or to the word it reads? In some large models the second reading fits better (Chen and others, 2020). The toy language comes with true alignments, so measure.
"""

# %% kind="see" minutes=0.7
rctm, transformer = load_shipped("rctm"), load_shipped("transformer")
model = transformer.model.eval()
rctm.model.eval()
encode = transformer.tokenizer.encode
pairs = splits(seed=0, sizes={"test": 100}).test

batch = make_batch(
    [encode(pair.src_text) for pair in pairs], [encode(pair.tgt_text) for pair in pairs]
)
with torch.no_grad():
    memory = model.encode(batch.src, batch.src_lengths)
    _, weights = model.decode(memory, batch.tgt_in, with_weights=True)
mean = weights.mean(dim=(1, 2))  # over layers and heads: (100, target, source)

for name, reading in (("says", False), ("reads", True)):
    links = [
        links_from(table, n_source=len(p.src), n_target=len(p.tgt), reading=reading)
        for table, p in zip(mean, pairs, strict=True)
    ]
    wrong = error_rate(links, [set(pair.links) for pair in pairs])
    print(f"row of the word it {name}: alignment error {fixed(wrong, 2)}")

# %% [markdown] kind="text" minutes=0.5
r"""
In *our* model a row belongs to the word that the step **says**: error below 0.1, and 0.9 for the other reading. In another model it may be the other way round. Measure, then say.

One more thing about all these numbers: nobody taught this model word by word. In training the whole target went in at once, with a causal mask (lesson 10). Only now, when the words are not there yet, does it go step by step.
"""

# %% kind="quiz" minutes=1.5
quiz("16", "live")

# %% [markdown] kind="text" minutes=1.5
r"""
## 2 · More than one beginning

Greedy decoding takes back nothing. That can go wrong. A tiny language of six sentences:

| first word | second word | chance of the sentence |
|---|---|---|
| **the** 0.6 | cat 0.4, dog 0.35, bird 0.25 | the cat: 0.6 · 0.4 = **0.24** |
| **a** 0.4 | cat 0.9, dog 0.1 | a cat: 0.4 · 0.9 = **0.36** |

Greedy says *the*, for 0.6 is more than 0.4, and ends with 0.24. The likeliest sentence begins with the less likely word. Like a hiker who always takes the steepest path up: he comes to a top, not to *the* top.

{term:beam search|Beam search} is a compromise. Keep the best $k$ beginnings open, each called a {term:hypothesis}; let every one go on with every word; of all these keep the best $k$ again. The number $k$ is the {term:beam width}, and $k = 1$ is greedy.

"Best" means the largest product of chances. Products of many small numbers vanish, so one adds logarithms instead (lesson 01): $\log 0.24 = -1.427$ and $\log 0.36 = -1.022$. **Nearer to 0 is better**, and the sum can only fall from word to word.

**So wider is better?** A finished sentence is one that has said `</s>`. Language **B** in the explorable is French: *le chat dort* is its best translation, with a sum of −2.339. It could also say `</s>` at once, an empty translation, which has a chance of 0.12.

$k = 1$, greedy, says *le chat dort*. Now $k = 5$, nothing else changed. What is the answer? Look at the tree afterwards: blue is kept open, grey was looked at and dropped.
"""

# %% kind="predict" minutes=4
predict("16", "dec-wide-beam", BeamTree())

# %% [markdown] kind="formula" minutes=1.5
r"""
The wide beam found what it was sent for: the sentence with the largest sum. $\log 0.12 = -2.120$ beats −2.339. The narrow beam never saw it, for at the first step the end was only the fourth best. **The search was not at fault; the goal was.** A sum of logarithms falls with every word, so it prefers short sentences.

The usual repair is a {term:length penalty}: rank finished sentences not by their sum but by

$$ \text{score} = \frac{\log p(\text{sentence})}{\left(\frac{5 + L}{6}\right)^{\alpha}} $$

| symbol | in words | here |
|---|---|---|
| $L$ | length, `</s>` counted | 4 for *le chat dort*, 1 for nothing |
| $\alpha$ | how much length is forgiven | 0: the bare sum; 0.6 and 1 are common |

With $\alpha = 1$: $-2.339 / 1.5 = -1.559$ against $-2.120 / 1$, and the sentence is back. (The form is that of Wu and others, 2016.)
"""

# %% [markdown] kind="text" minutes=1 exercise="grow"
r"""
Now on a trained system. One step of a beam is a function: open hypotheses go in, the best `width` continuations come out. Each hypothesis has its sum, its words, and the decoder's **state** after reading them (an RNN's hidden state, a Transformer's cache).

`step(state, word)` reads one word and returns two things: a dictionary with the log-probability of every next word, and the new state. A first version is there. Make its check pass.
"""

# %% kind="exercise" exercise="grow" mode="bug" title="One step of a beam" difficulty=3 importance=4 minutes=5 track="core"
def grow(sums, sentences, states, step, width):
    """sums, sentences (lists of words), states: one of each for a hypothesis.

    step(state, word)  ->  {next word: log-probability}, new state
    ->  three lists: sums, sentences, states of the best `width`, best first
    """
    # bug
    candidates, new_states = [], []
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, new_state = step(state, sentence[-1])
        new_states.append(new_state)
        for word, log_prob in log_probs.items():
            candidates.append((total + log_prob, [*sentence, word]))
    best = sorted(candidates, key=lambda found: found[0], reverse=True)[:width]
    sums = [total for total, _ in best]
    sentences = [sentence for _, sentence in best]
    return sums, sentences, new_states[:width]
    # end bug
    # solution
    found = []
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, new_state = step(state, sentence[-1])
        for word, log_prob in log_probs.items():
            found.append((total + log_prob, [*sentence, word], new_state))
    found.sort(key=lambda one: one[0], reverse=True)
    best = found[:width]
    return tuple([one[i] for one in best] for i in range(3))
    # end solution

# %% kind="check" exercise="grow"
check("grow", grow)

# %% [markdown] kind="hints" exercise="grow"
r"""
### A nudge
Which three things must belong to the same hypothesis when they come out? Work through the case by hand, with `["the"]` and `["a"]`: who are the parents of the two that stay?

---
### Where
The sums and the sentences are right. The states stand in the order of the *parents*. After the ranking, the first one kept may be a child of the last parent.

---
### The recipe
Put the new state into the candidate, beside its sum and its sentence. Then sorting moves all three together.
"""

# %% [markdown] kind="text" minutes=0.5
r"""
This bug raises no error and spares greedy decoding: with one hypothesis there is nothing to mix up. With two, a sentence goes on from the memory of its rival. Translations get a little worse, and one says "beam search does not help us".

The rest of the search is given: it calls your `grow`, moves what has ended to a list, and ranks that list with the length penalty.
"""

# %% kind="code" minutes=0.5
grow = yours("grow")


def beam(step, state, width, alpha=0.0, longest=40):
    """The tokens of the best finished sentence."""
    sums, sentences, states, finished = [0.0], [[BOS]], [state], []
    for length in range(1, longest + 1):
        # twice as many: up to `width` may have ended, and `width` shall go on
        grown = grow(sums, sentences, states, step, 2 * width)
        found = list(zip(*grown, strict=True))
        ended = [one for one in found[:width] if one[1][-1] == EOS]
        finished += [(one[0] / ((5 + length) / 6) ** alpha, one[1]) for one in ended]
        going = [one for one in found if one[1][-1] != EOS][:width]
        if len(finished) >= width or not going:
            break
        sums, sentences, states = map(list, zip(*going, strict=True))
    return max(finished)[1][1:-1]

# %% kind="see" minutes=0.7
def speaker(system, sentence):
    """`step` for one source, offering the 12 likeliest tokens; and the first state."""
    batch = make_batch([system.tokenizer.encode(sentence)], [[]])
    memory = system.model.encode(batch.src, batch.src_lengths)

    def step(state, token):
        logits, state, _ = system.model.step(memory, state, torch.tensor([token]))
        log_probs = logits[0].log_softmax(dim=-1)
        log_probs[[PAD, UNK, BOS]] = -math.inf  # no words
        best = log_probs.topk(12)
        pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return dict(pairs), state

    return step, system.model.start(memory)


cow = "the cow drank the milk because it was thirsty"
for sentence in ("a man runs", cow, "the aunt wore the clean dress"):
    for width in (1, 5):
        with torch.no_grad():
            tokens = beam(*speaker(rctm, sentence), width)
        spoken = rctm.tokenizer.decode(tokens)
        (theirs,) = translate([sentence], rctm.model, rctm.tokenizer, beam=width)
        assert spoken == theirs.target
        print(f"k = {width}: {spoken}")

# %% [markdown] kind="text" minutes=1
r"""
RCTM again, and your beam agrees with the library's. Greedy turned *a man* into *une sœur* and the thirsty cow into hot milk: the first word was a little likelier, and there was no way back. With five beginnings open, both come out right. The third sentence went the other way: greedy had *la robe propre*, right, and the beam prefers *la belle robe*. A likelier sentence, by the model's own opinion, is not always the better one.

How often does it matter? Count over 100 test sentences, with RCTM: how many are exactly right, and how many came out **shorter** than the reference. Widths 1, 2, 5 and 20, without and with a length penalty.
"""

# %% kind="code" minutes=0.5
texts, golds = [p.src_text for p in pairs], [p.tgt_text for p in pairs]
WIDTHS, ALPHAS = (1, 2, 5, 20), (0.0, 1.0)


def outputs(system, width, alpha):
    found = translate(
        texts, system.model, system.tokenizer, beam=width, length_penalty=alpha
    )
    return [one.target for one in found]


def too_short(said):
    both = zip(said, golds, strict=True)
    return sum(len(ours.split()) < len(right.split()) for ours, right in both)


said = {(k, alpha): outputs(rctm, k, alpha) for k in WIDTHS for alpha in ALPHAS}
exact = {
    key: sum(ours == right for ours, right in zip(found, golds, strict=True))
    for key, found in said.items()
}

# %% kind="predict" minutes=1.5
curves = {
    f"α = {alpha:g}": [too_short(said[k, alpha]) for k in WIDTHS] for alpha in ALPHAS
}
figure = views.lines(
    WIDTHS, curves, x_name="beam width", y_name="too short, of 100",
    title="RCTM: translations that are shorter than the reference",
)
predict("16", "dec-short", figure)

# %% kind="see" minutes=0.5
for alpha in ALPHAS:
    right = [exact[k, alpha] for k in WIDTHS]
    print(f"α = {alpha:g}: exact at widths 1, 2, 5, 20:", right)
one, five = outputs(transformer, 1, 0), outputs(transformer, 5, 0)
differ = sum(a != b for a, b in zip(one, five, strict=True))
print(f"Transformer: greedy and width 5 differ in {differ} of 100 sentences")

# %% [markdown] kind="text" minutes=1.5
r"""
The wider the beam, the more comes out short: 20 sentences, then 25, 31, 37. The length penalty holds half of that back. And not one sentence more is right. (A hundred are few. Over 300 a beam of 5 brings RCTM from 24% to 27%, and Cho's system of lesson 04 from 67% to 69%.)

The Transformer is so sure of itself that beam and greedy say the same, over 300 sentences too. On this language it has nothing to gain.

On real captions (Multi30k, `multi30k_ladder`, width 5, three seeds on one H200) every one of 14 systems gains: 0.6 to 2.0 points of BLEU, the score of the next section; the Transformer 1.0, from 41.3 to 42.4. There $\alpha$ was chosen on the validation set, from 0 to 2. For Bahdanau's system about half a point lies between the best and the worst; for the Transformer more than a point, and it likes the largest.

That too wide is worse has been found on large systems as well (Koehn and Knowles, 2017). Stahlberg and Byrne (2019) searched *exactly*: for more than half of their sentences, the likeliest translation of all was the empty one.
"""

# %% kind="quiz" minutes=1.5
quiz("16", "beam")

# %% [markdown] kind="text" minutes=1.5
r"""
## 3 · How good is it?

So far a translation was right or wrong, word for word. That is harsh: *le chat noir dort* for *le petit chat noir dort* counts as nothing. {term:BLEU score|BLEU} (Papineni and others, 2002) gives part of the points. It asks: **which groups of one, two, three and four words does the reference have, too?** A group of $n$ words is an $n$-gram (lesson 01).

**By hand.** Two sentences, with one reference each:

| | said | reference |
|---|---|---|
| 1 | le chat noir dort dans le jardin | le **petit** chat noir dort dans le jardin |
| 2 | la femme ne voit pas le chien | la femme ne voit pas le chien |

Words: 7 + 7 were said, all 14 are in their references: 14/14. Pairs: 6 + 6 were said, and *le chat* is not in the first reference: 11/12. Threes: 9/10, fours: 7/8. Such a share is the {term:n-gram precision} $p_n$. Note that **all sentences are added up first**, and then divided.

*Le le le le* must not score. So a group counts at most as often as the reference has it: the count is **clipped**.
"""

# %% kind="diagram" minutes=0.2 hide_input=true
views.diagram(PARTS, ARROWS, lit=("translation", "reference", "BLEU"), title=NAME)

# %% kind="exercise" exercise="clipped_matches" title="Count the shared groups" difficulty=2 importance=4 minutes=5 track="core"
def clipped_matches(said, reference, n):
    """said, reference: lists of words

    ->  two whole numbers: how many groups of n words in `said` the reference has,
        too (clipped), and how many groups of n words `said` has
    """
    # solution
    ours = [tuple(said[i : i + n]) for i in range(len(said) - n + 1)]
    theirs = [tuple(reference[i : i + n]) for i in range(len(reference) - n + 1)]
    hits = sum(min(ours.count(group), theirs.count(group)) for group in set(ours))
    return hits, len(ours)
    # end solution

# %% kind="check" exercise="clipped_matches"
check("clipped_matches", clipped_matches)

# %% [markdown] kind="hints" exercise="clipped_matches"
r"""
### A nudge
First make the list of groups of a sentence. A sentence of 7 words has 7 pairs less one. What of a sentence with fewer than n words?

---
### The recipe
1. `tuple(said[i : i + n])` for every `i` from 0 to `len(said) - n`; the same for the reference.
2. For each **different** group: the smaller of the two counts. Add them up.
3. Return the sum and the number of groups said.
"""

# %% [markdown] kind="formula" minutes=1.5
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

**Write it.** Both arguments are lists of sentences, each a list of words. Use `clipped_matches(said, reference, n)`. If nothing matches for some $n$, BLEU is 0.
"""

# %% kind="code" minutes=0.5
clipped_matches = yours("clipped_matches")

# %% kind="exercise" exercise="bleu_score" title="BLEU" difficulty=3 importance=5 minutes=10 track="core"
def bleu_score(translations, references):
    """translations, references: lists of lists of words  ->  a number, 0 to 100"""
    # solution
    pairs = list(zip(translations, references, strict=True))
    logs = 0.0
    for n in (1, 2, 3, 4):
        counts = [clipped_matches(said, right, n) for said, right in pairs]
        hits = sum(count[0] for count in counts)
        total = sum(count[1] for count in counts)
        if hits == 0:
            return 0.0
        logs += math.log(hits / total) / 4
    c = sum(len(said) for said, _ in pairs)
    r = sum(len(right) for _, right in pairs)
    return 100 * math.exp(logs + min(0.0, 1 - r / c))
    # end solution

# %% kind="check" exercise="bleu_score"
check("bleu_score", bleu_score)

# %% [markdown] kind="hints" exercise="bleu_score"
r"""
### A nudge
Two loops: over n = 1 to 4, and inside it over the sentences. What is added up inside, and what is divided after?

---
### The recipe
1. For each n: add up the matches of all sentences and the totals of all sentences. No match at all: return 0.0.
2. Add `math.log(matches / total) / 4`.
3. `c` and `r` are the lengths, all sentences together. The penalty's logarithm is `min(0, 1 - r / c)`.
4. `100 * math.exp(...)` of the sum of both.
"""

# %% kind="library" minutes=0.5
bleu_score = yours("bleu_score")
# no tokeniser: our words are split already
sacre = BLEU(tokenize="none", smooth_method="none", force=True)


def words(sentences):
    return [sentence.split() for sentence in sentences]


for k in WIDTHS:
    ours = bleu_score(words(said[k, 0.0]), words(golds))
    theirs = sacre.corpus_score(said[k, 0.0], [golds]).score
    assert abs(ours - theirs) < 1e-6
    told = f"BLEU {fixed(ours, 1)}, sacreBLEU {fixed(theirs, 1)}"
    print(f"RCTM, k = {k}: {told}, exact {exact[k, 0.0]} of 100")

# %% [markdown] kind="text" minutes=1
r"""
Equal to sacreBLEU (Post, 2018), the tool that papers use. And look: not a quarter of the sentences is right, and BLEU says 45. It sees a gain from the beam that exact match does not see: a few more words are right, in sentences that stay wrong. In the record (`toy_ladder`, 1,000 test sentences, three seeds) RCTM has 24% exact and a BLEU of 45, seq2seq 66% and 80, the Transformer 98% and 99.7. BLEU is **no percentage of anything that is right**; what it is good for is comparing systems on the same test.

**What it cannot see.** The reference is *la femme ne voit pas le petit chien dans le jardin*: the woman does not see the small dog in the garden. Three translations:

- *wrong animal*: … le petit **chat** …
- *other verb*: la femme **n' aperçoit** pas … (does not notice; just as good)
- *not left out*: la femme **voit** le petit chien … (the opposite)

Which one gets the highest BLEU?
"""

# %% kind="predict" minutes=1.5
right = "la femme ne voit pas le petit chien dans le jardin"
trials = {
    "wrong animal": right.replace("chien", "chat"),
    "other verb": right.replace("ne voit", "n' aperçoit"),
    "not left out": right.replace("ne voit pas", "voit"),
}
heights = [bleu_score(words([trial]), words([right])) for trial in trials.values()]
figure = views.bars(
    heights, labels=list(trials), name="BLEU", high=100, digits=1,
    title="One reference, three translations",
)
predict("16", "dec-bleu-blind", figure)

# %% kind="see" minutes=0.7
ours = "Le chat n'a pas bu l'eau, parce qu'elle était froide."
reference = "Le chat n'a pas bu l'eau parce qu'elle était trop froide."
for tokenize in ("none", "13a", "intl", "char"):
    metric = BLEU(tokenize=tokenize, smooth_method="none", force=True)
    score = metric.corpus_score([ours], [[reference]]).score
    print(f"{tokenize:>5}: {fixed(score, 1)}")

# %% [markdown] kind="text" minutes=1
r"""
BLEU compares letters on paper. A wrong animal costs one word; a good verb costs two, since the reference happens to have another. (With thousands of sentences much of this averages out. With one it does not.)

And the last cell: **one** translation, **one** reference, four ways to cut the text into words, and BLEU from 49 to 84. Numbers from different tokenisers cannot be compared. That is why sacreBLEU prints a signature with every score, and why you should, too.
"""

# %% kind="quiz" minutes=1.5
quiz("16", "bleu")

# %% [markdown] kind="text" minutes=1.5
r"""
## 4 · Do not compute it twice

At every step the decoder reads one new word. What about the old ones? A beginner's loop runs the whole sentence through the decoder again, each time one word longer, and uses only the last row.

Look at what self-attention needs at step $t$: **one** query, that of the new word; and the keys and values of **all** words so far. Does the key of an old word change when a new one comes? The causal mask says no: a word never looks ahead (lesson 10), so in every layer its vector stays what it was. Its key and value can be kept. That is the {term:KV cache}.

The queries? That of word 3 was used once, when word 3 asked. Nobody asks again. **Keys and values are kept, queries are not.**

And the source: its keys and values for cross-attention are the same at every step. They are made once, before the first word.
"""

# %% kind="diagram" minutes=0.2 hide_input=true
views.diagram(PARTS, ARROWS, lit=("decoder step", "cache"), title=NAME)

# %% kind="estimate" minutes=1.5
split_heads, join_heads = yours("split_heads"), yours("join_heads")
multi_head, many_heads = yours("multi_head"), yours("many_heads")


def counted(system, memory, n):
    """For how many words each decoder layer makes keys and values, to say n words."""
    made, project = [], MultiHead.project

    def watched(part, inputs):
        made.append(inputs.shape[1])
        return project(part, inputs)

    with torch.no_grad(), patch.object(MultiHead, "project", watched):
        state = system.start(memory)
        for _ in range(n):
            _, state, _ = system.step(memory, state, torch.tensor([BOS]))
    return sum(made) // 3


with torch.no_grad():
    source = make_batch([encode("the cat sleeps")], [[]])
    memory = model.encode(source.src, source.src_lengths)
estimate("16", "dec-projections", lambda: counted(Recompute(model), memory, 60))

# %% [markdown] kind="text" minutes=1.5 exercise="cached_attention"
r"""
$1 + 2 + … + T = T(T+1)/2$ against $T$: for 100 words 5,050 against 100. (Lesson 17 counts all of it; attention's own scores still grow with the square.)

**Build it** from three parts of lesson 12: `split_heads`, `multi_head`, `join_heads`. `x` is the new word alone. `past` is a pair, keys and values of the words before it, already cut into heads; at the first step they hold 0 words. Matrices stand to the right, as in lesson 12.

Make the new word's query, key and value; append key and value to the past; let the query look at all of them; join, and mix with `w_o`. Return the output **and the new pair**, which is the past of the next step. Do not change what you were given: make new tensors.
"""

# %% kind="exercise" exercise="cached_attention" title="Attention with a cache" difficulty=4 importance=5 minutes=15 track="core"
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
    context, _ = multi_head(query, keys, values, with_weights=True)
    return join_heads(context) @ w_o, (keys, values)
    # end solution

# %% kind="check" exercise="cached_attention"
check("cached_attention", cached_attention)

# %% [markdown] kind="hints" exercise="cached_attention"
r"""
### A nudge
It is `many_heads` of lesson 12 with one difference: keys and values come from two places. Which axis counts the words?

---
### The recipe
1. Three products with `x`, each split: (batch, n_heads, 1, d_k).
2. `torch.cat([past[0], key], dim=2)`, old first; the same for values.
3. `multi_head(query, keys, values, with_weights=True)`. No mask: all that is there may be seen.
4. Join, times `w_o`. Return it with the pair `(keys, values)`.

---
### "Why is there no causal mask?"
A mask hides what comes later. Nothing later is in the cache.
"""

# %% [markdown] kind="text" minutes=0.5
r"""
Now the trained decoder, with **your** attention in it. Everything else in this cell is what lesson 14 built: norms, residual connections, cross-attention, feed-forward.
"""

# %% kind="code" minutes=0.5
assert counted(model, memory, 60) == 60  # with its cache
cached_attention = yours("cached_attention")


@torch.no_grad()
def my_step(memory, caches, token):
    """Read one token: the logits of the next. `caches` holds a pair for each layer."""
    x = model.words.target(torch.tensor([[token]]))
    x = model.target_positions.add(x, first=caches[0][0].shape[2])
    for layer, block in enumerate(model.decoder.blocks):
        part = block.attention
        matrices = (part.w_query.T, part.w_key.T, part.w_value.T, part.w_output.T)
        normed = block.around_attention.before(x)
        heard, caches[layer] = cached_attention(normed, caches[layer], *matrices, 4)
        x = block.around_attention.after(x, heard)
        query = block.cross.project_query(block.around_cross.before(x))
        keys, values = memory["keys"][:, layer], memory["values"][:, layer]
        heard, _ = block.cross.look(query, keys, values, may_look=memory["may_look"])
        x = block.around_cross.after(x, heard)
        x = block.around_feed_forward(x, block.feed_forward)
    return model.words.logits(model.decoder.last_norm(x))[0, 0]

# %% kind="see" minutes=0.7
def empty_caches():
    return [(torch.zeros(1, 4, 0, 16), torch.zeros(1, 4, 0, 16)) for _ in range(3)]


@torch.no_grad()
def my_translation(sentence, caches, compare=True):
    batch = make_batch([encode(sentence)], [[]])
    memory, said = model.encode(batch.src, batch.src_lengths), [BOS]
    while said[-1] != EOS and len(said) < 40:
        logits = my_step(memory, caches, said[-1])
        if compare:
            whole, _ = model.decode(memory, torch.tensor([said]))  # all of it again
            assert torch.allclose(logits, whole[0, -1], atol=1e-4)
        said.append(int(logits.argmax()))
    return transformer.tokenizer.decode(said[1:])


for sentence in (cow, "the old woman sees a small dog in the garden"):
    mine = my_translation(sentence, empty_caches())
    assert mine == transformer(sentence).target
    print(mine)

# %% [markdown] kind="text" minutes=1 exercise="test_cache"
r"""
The same logits at every step, and the same words. A cache is **no approximation**.

It is, however, a place where bugs hide: a wrong cache still gives fluent sentences. **Write the test.** It gets somebody's cached attention. Feed it a few words one by one, handing the returned pair on, and compare each output with what `many_heads` of lesson 12 makes of the same words without any cache: word *t* asks, words 0 to *t* are looked at.
"""

# %% kind="exercise" exercise="test_cache" mode="test" title="Test a cache" difficulty=3 importance=4 minutes=6 track="core"
def test_cache(cached):
    """Takes a function like cached_attention; raises if it is wrong."""
    # solution
    x = torch.randn(1, 5, 8)
    matrices = torch.randn(4, 8, 8)
    past = (torch.zeros(1, 2, 0, 4), torch.zeros(1, 2, 0, 4))
    for t in range(5):
        output, past = cached(x[:, t : t + 1], past, *matrices, 2)
        whole, _ = many_heads(x[:, t : t + 1], x[:, : t + 1], *matrices, 2)
        assert torch.allclose(output, whole, atol=1e-4)
    # end solution

# %% kind="check" exercise="test_cache"
check("test_cache", test_cache)

# %% [markdown] kind="hints" exercise="test_cache"
r"""
### A nudge
One step is not enough: some of the wrong ones are right as long as the cache is empty.

---
### The recipe
1. `x` of shape (1, 5, 8), four matrices of (8, 8), two heads. An empty past: `torch.zeros(1, 2, 0, 4)`, twice.
2. For t = 0 to 4: `output, past = cached(x[:, t : t + 1], past, w_q, w_k, w_v, w_o, 2)`.
3. `many_heads(x[:, t : t + 1], x[:, : t + 1], w_q, w_k, w_v, w_o, 2)` returns the output and the weights. Assert that the outputs are close.
"""

# %% [markdown] kind="text" minutes=0.5
r"""
**Does it pay?** The same 60 words with cache and without, side by side on your machine. (In the record `bench_decoding_cpu.txt`, 64 words, on 2 cores: 2.6 times for this small model, 7.3 times for one of Multi30k's size.)

**The price is memory**: 2 · layers · d_model numbers for every word, of every sentence, of every hypothesis in the beam. Each hypothesis has a cache of its own, and when the ranking shuffles them, the caches must move along. You have repaired what happens otherwise.
"""

# %% kind="code" minutes=0.5 ignore_output=true
def seconds(system):
    begun = time.perf_counter()
    with torch.no_grad():
        state = system.start(memory)
        for _ in range(60):
            _, state, _ = system.step(memory, state, torch.tensor([BOS]))
    return time.perf_counter() - begun


rounds = [(seconds(Recompute(model)), seconds(model)) for _ in range(3)]
print(f"{min(a for a, _ in rounds) / min(b for _, b in rounds):.1f} times faster")

# %% kind="see" minutes=0.7
with torch.no_grad():
    _, state, _ = model.step(memory, model.start(memory), torch.tensor([BOS]))
ours = sum(part.numel() * part.element_size() for part in state.values())
paper = 2 * 6 * 512 * 4
assert ours == 2 * 3 * 64 * 4
print("keys of one word: layers, heads, words, d_k =", tuple(state["keys"].shape[1:]))
print(f"cache for one word: {ours:,} bytes; the 2017 base model: {paper:,}")
print(f"1,024 words of that: {1024 * paper // 2**20} MiB")

# %% kind="explain" minutes=2.5
explain("16", "dec-why-cache")

# %% [markdown] kind="text" minutes=1
r"""
## Break it

**One.** Two sentences after another, and the caches are not emptied in between.

**Two.** "When I decode without a cache, nothing later exists. So I may drop the causal mask." True for the *last* word, in the *first* layer.

> **Before you run it:** what does the second sentence become? And of 100 sentences translated without the mask, how many are right? (With it, 99.)
"""

# %% kind="break" minutes=1.5
caches = empty_caches()
print("first sentence:     ", my_translation("the cat sleeps", caches, compare=False))
print("second, same caches:", my_translation(cow, caches, compare=False))
print("second, empty ones: ", my_translation(cow, empty_caches()))

with patch.object(TransformerConfig, "hidden_ahead", lambda self, n, device: {}):
    found = translate(texts, Recompute(model), transformer.tokenizer)
same = sum(one.target == gold for one, gold in zip(found, golds, strict=True))
print(f"without the mask: {same} of 100 right")

# %% [markdown] kind="text" minutes=1
r"""
The first is the bug of every first server that answers two people at once. The cow's sentence goes on where the cat's had ended, fluently, and the cow is now *il*, like *le chat*. No error, and part of one reader's text in the answer to another.

The second costs 29 sentences in a hundred. In layer 1 the last word's output is the same with and without a mask. But the *earlier* words now see later ones, so their vectors differ from those in training; and in layer 2 the last word looks at these. The same mask that keeps training honest is what makes the cache exact.

## Check yourself

The first try counts for your score; every answer gets a reason.
"""

# %% kind="quiz" minutes=3
quiz("16", "closing")

# %% [markdown] kind="instructor"
r"""
**The bet before the live translator (3 min).** Show the sentence on the projector, close *dog*, and let people say what comes. Many say "it stops" or "unk". Then *un petit jardin dans le jardin*. Ask: "how sure is it?" and open the step: 0.92. Follow-up: let the room call out words to close; *woman* gives *le vieux chien*.

**Ask the room.** "Your beam of 50 finds better sentences, by its own score, and users complain that half is missing. Who is wrong?" Expected: the score. Then α, and why 0.6 and not 5.

| they say | what it is | answer |
|---|---|---|
| "wider can only be better" | M45 | Language B: k = 4 says nothing. |
| "BLEU 45, so nearly half is right" | M48 | RCTM: 24% exact. |
| "the cache keeps queries, too" | M44 | Who would ask with them? |
| "no future at inference, so no mask" | M24 | Break it, two. |
| "the map shows why" | M46 | Close the word it looks at, and see. |

**If time is short**, leave out the tokeniser cell and `test_cache`; keep both explorables and the cache.
"""

# %% [markdown] kind="summary" minutes=1
r"""
## What you have now

| name | what it is | number to remember |
|---|---|---|
| beam width $k$ | hypotheses kept open | 1 is greedy; 4 or 5 is usual |
| length penalty $\alpha$ | forgives length in the ranking | 0 prefers short |
| BLEU | brevity penalty · geometric mean of $p_1 … p_4$ | no percentage of right sentences |
| KV cache | keys and values of the words so far | $T$ projections in place of $T(T+1)/2$ |

- Closing a word shows what a translation depended on. The decoder fills the gap with what is in sight, and is sure of it.
- Beam search finds likelier sentences. Likelier is not better, and without a length penalty it is shorter.
- BLEU adds up counts over a corpus, then divides. Same test, same tokeniser, or no comparison.
- A cache changes no number. It rests on the causal mask.

**Still missing.** The cache saves projections; the scores still grow with the square of the length. Lesson 17 asks what it all costs.
"""

# %% [markdown] kind="reading" minutes=0.5
r"""
## Reading

- Papineni and others, *BLEU: a Method for Automatic Evaluation of Machine Translation* (2002). [ACL P02-1040](https://aclanthology.org/P02-1040)
- Post, *A Call for Clarity in Reporting BLEU Scores* (2018). [arXiv 1804.08771](https://arxiv.org/abs/1804.08771)
- Wu and others, *Google's Neural Machine Translation System* (2016), section 7: the length penalty. [arXiv 1609.08144](https://arxiv.org/abs/1609.08144)
- Koehn and Knowles, *Six Challenges for Neural Machine Translation* (2017), section 3.6. [arXiv 1706.03872](https://arxiv.org/abs/1706.03872)
- Stahlberg and Byrne, *On NMT Search Errors and Model Errors: Cat Got Your Tongue?* (2019). [arXiv 1908.10090](https://arxiv.org/abs/1908.10090)
- `course_lib/translation/beam.py` and `live.py`: the course's own.
"""
