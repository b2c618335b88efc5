# Lesson 16 · the source. Edit this file, then run `python3 -m course_lib build 16`; the notebook is made from it.

# %% [markdown] kind="title"
r"""
# 16 · Decoding and measuring

**The question:** how does a trained model generate a sentence, and how do we measure whether it's good?

About {minutes} minutes. You need greedy decoding from [lesson 04](04_encoder_decoder.ipynb), multi-head attention from [lesson 12](12_many_heads.ipynb) and the Transformer from [lesson 14](14_the_transformer.ipynb).
"""

# %% [markdown] kind="goals"
r"""
After this lesson you can

1. **explain** beam search, and what changes with the beam width;
2. **choose** between beam search, sampling and minimum-Bayes-risk decoding; <!-- core -->
3. **compute** {term:BLEU}, and say what it can't see; <!-- core -->
4. **decide** with a paired bootstrap whether a difference could be due to the choice of test sentences;
5. **explain** what a KV cache stores and why it changes no output.
"""

# %% [markdown] kind="instructor"
r"""
**Open with (2 min)** the small language of section 1 on the board, without the last column. "Which sentence is the most probable?" Those who start with *the* have decoded greedily.

**If time is short,** leave out section 7 first (stretch), then section 2. Let everyone run the code cells of section 2 all the same, because section 5 uses the sentence that its last one defines. Keep the bootstrap and the cache.
"""

# %% kind="setup"
import math
from unittest.mock import patch

import torch
from IPython.display import display
from sacrebleu.metrics import BLEU

from course_lib import views
from course_lib.formatting import fixed
from course_lib.layers import MultiHead
from course_lib.teaching import check, estimate, predict, quiz, start_lesson, yours
from course_lib.text import BOS, EOS, PAD, UNK, make_batch, splits, translations_of
from course_lib.translation import bleu_of_rows, bleu_rows, load_shipped, translate
from lessons.l16_decoding import BeamTree, LiveTranslator, Recompute, key_picture

start_lesson("decoding", seed=16)

# %% [markdown] kind="text"
r"""
Seq2seq from lesson 04 translates a sentence, and at each step the search keeps three unfinished translations instead of one. We chose a sentence in which that helps. The numbers are logarithms of probabilities: the nearer to 0, the more probable.
"""

# %% kind="picture" name="key picture" hide_input=true
key_picture.draw()

# %% [markdown] kind="text" track="short"
r"""
## Warm up

Answer from memory.
"""

# %% kind="recall"
quiz("16", "recall")

# %% [markdown] kind="text" track="short"
r"""
## 1 · Beam search

{term:greedy decoding|Greedy decoding} takes the most probable word at each step and never revises it. That can miss the most probable sentence. Take a language of five sentences:

| first word | second word | probability of the sentence |
|---|---|---|
| **the** 0.6 | cat 0.4, dog 0.35, bird 0.25 | the cat: 0.6 · 0.4 = **0.24** |
| **a** 0.4 | cat 0.9, dog 0.1 | a cat: 0.4 · 0.9 = **0.36** |

Greedy decoding starts with *the*, because 0.6 is more than 0.4, and ends with a probability of 0.24. The most probable sentence, *a cat*, starts with the less probable word.

{term:beam search|Beam search} keeps the $k$ most probable partial sentences. At each step, it extends each of them by every word and keeps the best $k$ of all these extensions. A partial or finished sentence in this search is called a {term:hypothesis}, and $k$ is the {term:beam width}. With $k = 1$, beam search is greedy decoding. In practice, the hypotheses are compared by their {term:log-probability}: the product of many small probabilities becomes a sum of logarithms. Every term is negative or 0, so the sum nearest to 0 is the best, and no further word can raise it.
"""

# %% [markdown] kind="text" track="core" contents="a search tree, a prediction about wide beams, and the length penalty"
r"""
The tree below shows this language as **A**, and a second one, **B**. Each number is the probability of a word, given the words before it. A sentence ends with `</s>`, and the table lists the finished sentences. In language B, greedy decoding finds *le chat dort* (the cat sleeps), with a log-probability of −2.339. At the first step, five tokens are possible, with probabilities 0.41, 0.25, 0.16, 0.12 and 0.06.
"""

# %% [markdown] kind="instructor"
r"""
**They say:** "A wider beam can only be better" (M45). **Answer:** In language B, $k = 4$ outputs the empty sentence.
"""

# %% kind="predict" track="core"
predict("16", "dec-wide-beam", BeamTree())

# %% [markdown] kind="formula" track="core"
r"""
The wide beam finds the sentence with the highest log-probability. Unfortunately, that is the empty sentence: $\log 0.12 = -2.120$ is more than −2.339. A narrow beam drops it at the first step. So the search works, but the most probable sentence isn't what we want. Each further word divides the probability among more sentences, so a single long one gets little, and a short one that the model doesn't quite rule out can win. A common remedy is a {term:length penalty} (Wu et al., 2016), which ranks finished sentences by

$$ \text{score} = \frac{\log p(\text{sentence})}{\left(\frac{5 + L}{6}\right)^{\alpha}} $$

$L$ is the length including `</s>`: 4 for *le chat dort* and 1 for the empty sentence. With $\alpha = 0$, the score is the log-probability itself; 0.6 and 1 are common. With $\alpha = 1$, the scores are $-2.339 / 1.5 = -1.559$ and $-2.120$, so the full sentence wins.

Now let's decode with a trained system, seq2seq from lesson 04, with $k = 1$ and $k = 5$.
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (4 min).** "A beam of 50 finds more probable sentences, and users complain that half of the text is missing. What is wrong, the search or the objective?" Expected: not the search. The most probable sentence is a poor objective, and the model gives the empty sentence too much probability. Then discuss α, and why 0.6 and not 5.
"""

# %% kind="see" name="two widths" track="core" hide_input=true
seq2seq = load_shipped("seq2seq")
SENTENCES = (
    "a fat wolf in front of the dirty castle looks for the little hen",
    "the sister bought some oranges on the tables because she was very hungry",
    "the mother buys the horses in a castle because they are beautiful",
)


def outputs_of(system, sentences, k=1, alpha=0.0):
    options = {"beam": k, "length_penalty": alpha}
    found = translate(sentences, system.model, system.tokenizer, **options)
    return [output.target for output in found]


for sentence in SENTENCES:
    rows = {f"k = {k}": outputs_of(seq2seq, [sentence], k)[0] for k in (1, 5)}
    display(views.translations(sentence, rows, reference=translations_of(sentence)))

# %% [markdown] kind="text" track="core"
r"""
Greedy decoding lets the wolf eat the hen (*mange*) instead of looking for it (*cherche*), and turns the oranges into dresses (*robes*). Beam search gets both right. In the third sentence it's the other way round: with $k = 5$, the beautiful horses become feminine (*elles*), like the mother. A more probable translation isn't always better. We picked these three sentences; section 4 compares the two methods on a whole test set.
"""

# %% [markdown] kind="text" contents="temperature, top-p sampling and minimum-Bayes-risk decoding, and what they are used for"
r"""
## 2 · Sampling and minimum-Bayes-risk decoding

Instead of searching for the most probable sentence, we can use {term:sampling}: draw each word at random from the model's probability distribution, as in lesson 01. The {term:temperature} $T$ controls how random that is: the higher, the more random. With {term:top-p sampling} (Holtzman et al., 2020), words are drawn only from the smallest set of most probable words whose probabilities add up to at least $p$, for example 0.9.

Samples differ from each other, which is useful for dialogue, stories, several drafts to choose from, or additional training data. In {term:minimum-Bayes-risk decoding} (MBR; for neural translation: Eikema and Aziz, 2020), we draw many of them and output the one that is most similar to all the others on average. The similarity can be any translation metric. Here it's a simple one: twice the number of words that two sentences share, divided by the number of words in both. Each word counts once, and order doesn't matter. The hidden cell defines `sample` and `mbr`, and the next one translates one sentence with several settings.

> **Before you read on:** over {result:lesson_16/sampling/sentences:.0f} sentences, which of these is most often right: one sample, the MBR choice from 16 samples, or greedy decoding?
"""

# %% kind="code" name="sampling" hide_input=true
@torch.no_grad()
def sample(system, sentence, n, temperature=1.0, top_p=1.0, seed=0):
    torch.manual_seed(seed)
    batch = make_batch([system.tokenizer.encode(sentence)] * n, [[]] * n)
    memory = system.model.encode(batch.src, batch.src_lengths)
    state, tokens = system.model.start(memory), torch.full((n, 1), BOS)
    while tokens.shape[1] < 30 and not (tokens == EOS).any(dim=1).all():
        logits, state, _ = system.model.step(memory, state, tokens[:, -1])
        logits[:, [PAD, UNK, BOS]] = -math.inf  # never generated
        probs, order = (logits / temperature).softmax(dim=-1).sort(descending=True)
        probs[probs.cumsum(dim=-1) - probs >= top_p] = 0.0
        drawn = order.gather(1, probs.multinomial(1))
        tokens = torch.cat([tokens, drawn], dim=1)
    rows = [row[1 : [*row, EOS].index(EOS)] for row in tokens.tolist()]
    return [system.tokenizer.decode(row) for row in rows]


def mbr(candidates):
    bags = [set(candidate.split()) for candidate in candidates]

    def total_similarity(candidate):
        words = set(candidate.split())
        return sum(2 * len(words & bag) / max(len(words) + len(bag), 1) for bag in bags)

    return max(candidates, key=total_similarity)

# %% kind="see" ignore_output=true
cow = "the cow drank the milk because it was thirsty"
seq2seq.model.eval()
rows = {}
for t, p in ((0.5, 1.0), (1.0, 1.0), (1.0, 0.9), (2.0, 1.0)):
    first, second = sample(seq2seq, cow, 2, temperature=t, top_p=p)
    rows |= {f"T = {t}, p = {p}": first, f"T = {t}, p = {p}, again": second}
samples = sample(seq2seq, cow, 16)
rows["MBR, 16 samples"] = mbr(samples)
assert len(set(samples)) > 1
views.translations(cow, rows, reference=translations_of(cow))

# %% [markdown] kind="text"
r"""
We repeated this with {result:lesson_16/sampling/sentences:.0f} test sentences and $T = 1$. A single sample is right {result:lesson_16/sampling/one sample:.0f} times, or {result:lesson_16/sampling/one sample, top-p:.0f} times with $p = 0.9$; the MBR choice is right {result:lesson_16/sampling/MBR:.0f} times, greedy decoding {result:lesson_16/sampling/greedy:.0f} times and beam search ($k = 5$) {result:lesson_16/sampling/beam:.0f} times. MBR is right much more often than a single sample, plausibly because random errors differ from sample to sample. With this simple similarity, MBR is still worse than greedy decoding here. With a trained metric such as COMET (section 3), MBR is used in strong translation systems.
"""

# %% [markdown] kind="text" contents="BLEU, the standard score for translations, as an exercise, and what it can't see"
r"""
## 3 · BLEU

So far, a translation was either right or wrong. That's harsh: *le chat noir dort* for *le petit chat noir dort* counts as little as nonsense. {term:BLEU score|BLEU} (Papineni et al., 2002) gives partial credit. It counts how many n-grams of one to four words also occur in a correct translation, the **reference** (there can be several; we have one).

| | output | reference |
|---|---|---|
| 1 | le chat noir dort dans le jardin | le **petit** chat noir dort dans le jardin |
| 2 | la femme ne voit pas le chien | la femme ne voit pas le chien |

**By hand.** The outputs have 7 + 7 words, and all 14 occur in their references: $p_1 = 14/14$. They have 6 + 6 pairs of consecutive words, and only *le chat* isn't in its reference: $p_2 = 11/12$. Likewise, $p_3 = 9/10$ and $p_4 = 7/8$. These fractions are called {term:n-gram precision|n-gram precisions}. The counts of all sentences are **added up first**, then divided. To keep *le le le le* from scoring well, counts are **clipped**: an n-gram counts at most as often as it occurs in the reference.
"""

# %% kind="example"
def clipped_matches(output, reference, n):
    """Lists of words  ->  clipped matches, number of n-grams in the output"""
    ours = [tuple(output[i : i + n]) for i in range(len(output) - n + 1)]
    theirs = [tuple(reference[i : i + n]) for i in range(len(reference) - n + 1)]
    matches = sum(min(ours.count(gram), theirs.count(gram)) for gram in set(ours))
    return matches, len(ours)


print(clipped_matches("le le le chat".split(), "le chat dort sur le lit".split(), 1))

# %% [markdown] kind="instructor"
r"""
**Stuck?** The counts of all sentences are added first, then divided. A BLEU that is too high usually lacks the brevity penalty; one that is slightly off averages sentences.
"""

# %% [markdown] kind="formula" exercise="bleu_score"
r"""
With precision alone, a system could output only the words it is sure of. So there is a {term:brevity penalty}. With $c$ words in all outputs and $r$ words in all references,

$$ \text{BLEU} = 100 \cdot \underbrace{\min\left(1,\; e^{\,1 - r/c}\right)}_{\text{brevity penalty}} \cdot \;\sqrt[4]{p_1\, p_2\, p_3\, p_4} $$

In our example, $c = 14$ and $r = 15$. The penalty is $e^{1 - 15/14} = 0.931$, the fourth root is 0.922, and BLEU is 85.8. In code, the root is `exp` of the mean of the four logarithms.

**Write it.** Both arguments are lists of sentences, each a list of words. Use `clipped_matches(output, reference, n)`. If nothing matches for some $n$, or there are no $n$-grams at all, return 0.0.
"""

# %% kind="exercise" exercise="bleu_score" title="BLEU" difficulty=3 importance=5 track="core"
from lessons.l16_decoding.solutions import bleu_score

# %% kind="check" exercise="bleu_score"
check("bleu_score", bleu_score)

# %% [markdown] kind="hints" exercise="bleu_score"
r"""
### Where to start
You need two loops: one over n = 1 to 4, and inside it one over the sentences. What is added up in the inner loop, and what is divided after it?

---
### Step by step
1. For each n, add up the matches of all sentences and the totals of all sentences. If there is no match at all, return 0.0.
2. Collect `math.log(matches / total)`; their mean is the logarithm of the fourth root.
3. `c` and `r` are the total numbers of words in the translations and in the references. The logarithm of the penalty is `min(0, 1 - r / c)`.
4. Return `100 * math.exp(...)` of the sum of both.
"""

# %% kind="library" name="widths"
bleu_score, exact_match = yours("bleu_score"), yours("exact_match")
# the text is already split into words, and a precision of 0 stays 0
sacre = BLEU(tokenize="none", smooth_method="none", force=True)
pairs = splits(seed=0, sizes={"test": 300}).test
texts, golds = [p.src_text for p in pairs], [p.tgt_text for p in pairs]
gold_words = [gold.split() for gold in golds]
translated = {k: outputs_of(seq2seq, texts, k) for k in (1, 2, 5, 20)}
print(" k  correct  BLEU  brevity penalty")
for k, outputs in translated.items():
    ours = bleu_score([output.split() for output in outputs], gold_words)
    theirs = sacre.corpus_score(outputs, [golds])
    assert abs(ours - theirs.score) < 1e-6, f"sacreBLEU: {theirs.score}, yours: {ours}"
    correct = round(len(golds) * exact_match(outputs, golds))
    print(f"{k:2}  {correct:7}  {fixed(ours, 1)}  {fixed(theirs.bp, 3):>15}")

# %% [markdown] kind="text"
r"""
Your BLEU equals that of sacreBLEU, the tool that papers use. Up to $k = 5$, wider beams score higher. At $k = 20$, the output as a whole gets too short, and the brevity penalty lowers BLEU again. With a length penalty ($\alpha = 1$ and $k = 20$), the brevity penalty is {result:lesson_16/beam with penalty/brevity penalty:.3f} and BLEU is {result:lesson_16/beam with penalty/BLEU:.1f}. On {result:lesson_16/new sentences/sentences:,.0f} other test sentences, we found the same pattern for $k$ = 1, 5 and 20. Large systems show it too: Stahlberg and Byrne (2019) searched *exactly*, and for more than half of their sentences, the most probable translation was the empty one.

**What BLEU can't see.** Take the reference *la femme ne voit pas le petit chien dans le jardin*, "the woman doesn't see the small dog in the garden". With the wrong animal (*chat* for *chien*), BLEU is {result:lesson_16/BLEU/wrong animal:.1f}. If *pas* becomes *que*, the sentence says that she sees nothing *but* the dog, and BLEU is {result:lesson_16/BLEU/the opposite:.1f}. A correct paraphrase, *n' aperçoit* (notices) for *ne voit*, scores only {result:lesson_16/BLEU/other verb:.1f}, because two words differ. So BLEU isn't a percentage of correct sentences or words. It's useful for comparing systems on the same test set.

**Can two BLEU scores be compared?** BLEU also depends on how the text is split into tokens: *Le chat n'a pas bu l'eau, parce qu'elle était froide.*, with the reference *Le chat n'a pas bu l'eau parce qu'elle était trop froide.*, scores {result:lesson_16/BLEU/cut at spaces:.0f} if it's split at spaces and {result:lesson_16/BLEU/cut into letters:.0f} if it's split into letters. sacreBLEU therefore reports the settings with each score, as a {term:BLEU signature} like `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp`. Two BLEU scores are comparable only if their signatures agree.

Two other metrics are common: {term:chrF} (Popović, 2015) counts character n-grams, so that a word with a wrong ending gets partial credit, and {term:COMET} (Rei et al., 2020) is a trained network that rates a translation, given the source and a reference.
"""

# %% [markdown] kind="instructor"
r"""
**Vote.**

**They say:** "BLEU is {result:lesson_16/beam/1/BLEU:.0f}, so {result:lesson_16/beam/1/BLEU:.0f}% is right" (M48). **Answer:** Two thirds of the sentences are exactly right.
"""

# %% kind="quiz"
quiz("16", "bleu")

# %% [markdown] kind="text" track="short"
r"""
## 4 · Is the difference real?

System A translates {result:lesson_16/beam/5/right:.0f} of 300 test sentences correctly, and system B {result:lesson_16/beam/1/right:.0f}. Is A better, or would other sentences have reversed the order? A {term:paired bootstrap} estimates this without new sentences:

1. Draw 300 sentences from the test set **with replacement**: some occur twice or more, others not at all.
2. Score both systems on **these same** sentences, and note the difference.
3. Repeat this 1,000 times. Sort the differences, and cut off the smallest 2.5% and the largest 2.5%. The remaining range is a 95% {term:confidence interval}.

If the interval excludes 0, the difference is unlikely to be due to the choice of test sentences. If it contains 0, there is **no clear difference**, which doesn't mean that the systems are equally good. *Paired* means that both systems get the same sample: an easy sample helps both, so this kind of variation cancels out. Training again with another random seed isn't covered: the interval compares these trained models.
"""

# %% [markdown] kind="instructor"
r"""
**Stuck?** Draw the rows once per sample and use them for *both* systems. Two calls of `torch.randint` in one sample make the bootstrap unpaired.
"""

# %% [markdown] kind="text" exercise="paired_bootstrap"
r"""
**By hand.** Take two sentences, of which A gets the first right and B neither: `one = [1, 0]`, `other = [0, 0]`. A sample is (1, 1), (1, 2), (2, 1) or (2, 2), and the differences of the means are 1, 0.5, 0.5 and 0. Each of the extremes occurs in a quarter of the samples, so the interval goes from 0 to 1. It contains 0: two sentences decide nothing.

**Write it.** `one` and `other` have an entry for each sentence: 0 or 1, or a row of counts. `score` turns the drawn entries of one system into a number. Return the two ends of the interval, `low` and `high`, as floats. Use a generator with the given seed, `torch.Generator().manual_seed(seed)`, so that the result can be reproduced. `torch.randint(n, (n,), generator=generator)` draws `n` indices from 0 to n − 1 with replacement, and `tensor.quantile(0.025)` is the value below which 2.5% of the numbers lie.
"""

# %% kind="exercise" exercise="paired_bootstrap" title="The paired bootstrap" difficulty=2 importance=5 track="core"
from lessons.l16_decoding.solutions import paired_bootstrap

# %% kind="check" exercise="paired_bootstrap"
check("paired_bootstrap", paired_bootstrap)

# %% [markdown] kind="hints" exercise="paired_bootstrap"
r"""
### Where to start
Write one round first: draw the indices once, and use them for both tensors, `one[rows]` and `other[rows]`.

---
### Step by step
1. Make the generator before the loop. If you make it in the loop, every round draws the same sample.
2. In each of the `n_samples` rounds, draw as many indices as there are sentences, and append the difference of the two scores to a list.
3. Turn the list into a tensor and return its quantiles 0.025 and 0.975 as floats.
"""

# %% [markdown] kind="text" track="core"
r"""
Now let's compare real systems. For BLEU, each sentence becomes a row of six counts, from which the BLEU of any set of sentences can be computed: `bleu_rows` and `bleu_of_rows` in `course_lib/translation/corpus_bleu.py`.

> **Before you run it:** seq2seq has {result:lesson_16/beam/1/right:.0f} correct translations with greedy decoding and {result:lesson_16/beam/5/right:.0f} with $k = 5$. The system with Bahdanau's attention (lesson 06) has {result:lesson_16/attention systems/bahdanau:.0f} and the Transformer {result:lesson_16/attention systems/transformer:.0f}. Which intervals will contain 0? And what if the two systems get different samples?
"""

# %% [markdown] kind="instructor"
r"""
**Think, pair, share (3 min)** before the cell runs. Write {result:lesson_16/beam/5/right:.0f} and {result:lesson_16/beam/1/right:.0f} of 300 on the board, and {result:lesson_16/attention systems/transformer:.0f} and {result:lesson_16/attention systems/bahdanau:.0f}. Ask: "Which difference would you publish?" Then ask what an easy sample does to *one* system's score and to the *difference*. Expected: an easy sample helps both systems, so pairing removes that part of the variation.

**They say:** "The interval contains 0, so they are equal" (M53). **Answer:** There is no clear difference: a real one could be too small for 300 sentences.
"""

# %% kind="see" name="intervals" track="core"
paired_bootstrap = yours("paired_bootstrap")
transformer, bahdanau = load_shipped("transformer"), load_shipped("bahdanau")
beam, greedy = translated[5], translated[1]
others = [outputs_of(system, texts) for system in (transformer, bahdanau)]


def is_correct(outputs):
    return torch.tensor([float(a == b) for a, b in zip(outputs, golds, strict=True)])


def show(name, one, other, score=torch.mean, factor=100):
    low, high = paired_bootstrap(one, other, score)
    print(f"{name}: {fixed(factor * low, 1)} to {fixed(factor * high, 1)}")


show("k = 5 minus k = 1, % correct", is_correct(beam), is_correct(greedy))
# shuffled: the same index is now another sentence for each system
shuffled = torch.randperm(300, generator=torch.Generator().manual_seed(0))
show("the same, not paired", is_correct(beam), is_correct(greedy)[shuffled])
rows = [bleu_rows([o.split() for o in part], gold_words) for part in (beam, greedy)]
show("k = 5 minus k = 1, BLEU", *rows, bleu_of_rows, 1)
show("Transformer minus Bahdanau, % correct", *map(is_correct, others))

# %% [markdown] kind="text" track="core"
r"""
Beam search is better than greedy decoding for this one seq2seq model: the interval excludes 0, for correct sentences and for BLEU. We confirmed this on {result:lesson_16/new sentences/sentences:,.0f} other test sentences, where it is better by {result:lesson_16/new sentences/k = 5 minus k = 1/low:.1p} to {result:lesson_16/new sentences/k = 5 minus k = 1/high:.1p} percentage points. Without pairing, the interval is much wider, and the same difference isn't clear. There is no clear difference between the Transformer and Bahdanau's system, with one run each.

A 95% interval misses the true difference, the one over all sentences of this kind, about one time in twenty, and more often if you choose the comparison after seeing the results. That's why we used new sentences to confirm ours. Lessons 18 and 19 use your function again.
"""

# %% [markdown] kind="text" track="short"
r"""
## 5 · The KV cache

The decoder gets one new token at a time. At every step, the loop in lesson 14 runs all tokens so far through the decoder again, and uses only the last position. Most of that work is repeated.

At step $t$, self-attention needs **one** query, the new token's, and the keys and values of **all** tokens so far. Do the keys and values of earlier tokens change when a new one arrives? No. Because of the causal mask (lesson 10), a token never attends to later ones, so its vector stays the same in every layer. A {term:KV cache} therefore stores the key and the value of each token so far, in every layer. Old queries aren't stored, because each query is used only once, at its own step. The keys and values for cross-attention come from the source, so they are computed once, before the first step.

With a cache, the outputs are the same up to rounding. The cost is memory: 2 · layers · d_model numbers per token and hypothesis. When beam search reorders its hypotheses, their caches must be reordered too.
"""

# %% [markdown] kind="instructor"
r"""
**Let everyone compute** 1 + 2 + 3 for three tokens before they estimate 60.

**They say:** "The cache also stores queries" (M44). **Answer:** At which later step would an old query be used?
"""

# %% kind="estimate" track="core" hide_input=true
model = transformer.model.eval()
encode = transformer.tokenizer.encode
with torch.no_grad():
    source = make_batch([encode("the cat sleeps")], [[]])
    memory = model.encode(source.src, source.src_lengths)


def count_projections(n=60):
    """For how many tokens one layer computes keys and values, to output n tokens."""
    projected, project, system = [], MultiHead.project, Recompute(model)

    def counting(layer, inputs):
        projected.append(inputs.shape[1])
        return project(layer, inputs)

    with torch.no_grad(), patch.object(MultiHead, "project", counting):
        state = system.start(memory)
        for _ in range(n):
            _, state, _ = system.step(memory, state, torch.tensor([BOS]))
    return sum(projected) // 3


estimate("16", "dec-projections", count_projections)

# %% kind="code" track="core"
split_heads, join_heads = yours("split_heads"), yours("join_heads")
scaled_attention = yours("scaled_attention")

# %% [markdown] kind="instructor"
r"""
**Stuck?** Only the new token is projected. `torch.cat` appends along the axis of tokens, the third one (`dim=2`).
"""

# %% [markdown] kind="text" exercise="cached_attention"
r"""
**Write attention with a cache**, using three of your functions: `split_heads` and `join_heads` (lesson 12), and `scaled_attention` (lesson 08), which returns the context vectors **and** the attention weights. `x` is the new token alone. `past` is a pair with the keys and the values of the earlier tokens, already split into heads; at the first step, it contains 0 tokens. The matrices have the shape (out, in), as always.

Compute the new token's query, key and value. Append the key and the value to those in `past`, let the query attend to all of them, join the heads and apply `w_o`. Return the output and the new pair, which is the `past` of the next step. Make new tensors instead of changing the inputs.
"""

# %% kind="exercise" exercise="cached_attention" title="Attention with a cache" difficulty=3 importance=5 track="core"
from lessons.l16_decoding.solutions import cached_attention

# %% kind="check" exercise="cached_attention"
check("cached_attention", cached_attention)

# %% [markdown] kind="hints" exercise="cached_attention"
r"""
### Where to start
It's `many_heads` from lesson 12 with one difference: most keys and values come from `past`. Which axis counts the tokens?

---
### Step by step
1. Compute three projections of `x`, such as `x @ w_q.T`, and split each into heads: (batch, n_heads, 1, d_k).
2. `torch.cat([past[0], key], dim=2)` appends the new key; do the same for the values.
3. Call `scaled_attention(query, keys, values)`, join the heads of the context and multiply by `w_o.T`.

---
### Why is there no causal mask?
A causal mask hides later tokens, and the cache doesn't contain any.
"""

# %% [markdown] kind="text" track="core"
r"""
Now the trained decoder runs with **your** attention. The hidden cell defines `my_step`, which processes one token. Each of the three layers uses your function for self-attention, and the library's cross-attention and feed-forward network. The next cell compares its logits with those of a decoder without a cache.
"""

# %% kind="code" track="core" hide_input=true
cached_attention = yours("cached_attention")


@torch.no_grad()
def my_step(memory, caches, token):
    """The logits after one more token; `caches` has keys and values for each layer."""
    x = model.words.target(torch.tensor([[token]]))
    x = model.target_positions.add(x, first=caches[0][0].shape[2])
    for layer, block in enumerate(model.decoder.blocks):
        own = block.attention  # 1. self-attention
        matrices = (own.w_query, own.w_key, own.w_value, own.w_output)
        normed = block.around_attention.before(x)
        context, caches[layer] = cached_attention(normed, caches[layer], *matrices, 4)
        x = block.around_attention.after(x, context)
        # 2. cross-attention
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
            expected, _ = model.decode(memory, torch.tensor([tokens]))  # no cache
            assert torch.allclose(logits, expected[0, -1], atol=1e-4)
        tokens.append(int(logits.argmax()))
    return transformer.tokenizer.decode(tokens[1:])


rows = {"with your cache": my_translation(cow, empty_caches())}
views.translations(cow, rows, reference=translations_of(cow))

# %% [markdown] kind="text" track="core"
r"""
At every step, the logits are the same up to rounding. Make this comparison for every cache you write, because a wrong cache can still produce fluent sentences. How much faster decoding gets depends on the machine, the model and the length. On one computer with two cores, for sentences of 64 words, we recorded a factor of {result:lesson_16/cache speed-up/toy:.1f} for a model of this size and {result:lesson_16/cache speed-up/multi30k:.1f} for a larger one.
"""

# %% [markdown] kind="text" contents="a cache that isn't emptied between two sentences"
r"""
## 6 · Break it

Suppose a server translates two sentences, one after the other, and doesn't empty the caches in between.

> **Before you run it:** what happens to the second sentence?
"""

# %% [markdown] kind="instructor"
r"""
**Ask for bets** before the cell runs: an error, nonsense, or something worse?

**They say:** "No future at inference, so no mask" (M24). **Answer:** The text after this cell has the numbers.
"""

# %% kind="break"
rows = {"empty caches": my_translation(cow, empty_caches())}
for first in ("the cat sleeps", "the woman sleeps"):
    caches = empty_caches()
    my_translation(first, caches, compare=False)
    rows[f"after “{first}”"] = my_translation(cow, caches, compare=False)
views.translations(cow, rows, reference=translations_of(cow))

# %% [markdown] kind="text"
r"""
There is no error, and the output is fluent French. But it continues where the first sentence ended, and half of the second one is missing. The pronoun for the cow is *il* after the sentence about the cat, and *elle* after the one about the woman. So one user's text has changed a word in another user's translation. In a real service, that would be a serious data breach.

**Is the causal mask needed without a cache?** Yes. If the whole prefix is computed again without the mask, *earlier* positions attend to later ones, so their vectors change, and from the second layer on, the last position attends to these vectors. Without the mask, {result:lesson_16/causal mask/without:.0f} of 100 sentences are right instead of {result:lesson_16/causal mask/with:.0f}.
"""

# %% [markdown] kind="text" track="stretch" contents="one step of beam search as a bug to find, and a live translator in which you can mask words"
r"""
## 7 · One step of beam search, and a live translator

One step of beam search takes open hypotheses and returns the best `width` extensions, or all of them if there are fewer. Each hypothesis has its sum of log-probabilities, its words and the decoder's state. `step(state, word)` feeds one word to the decoder and returns a dictionary with the log-probability of each next word, and the new state.
"""

# %% [markdown] kind="text" exercise="grow" track="stretch"
r"""
Here is a first version with a bug. Make it pass its check.
"""

# %% kind="exercise" exercise="grow" mode="bug" title="One step of beam search" difficulty=3 importance=4 track="stretch" minutes=12 because="a reader expects 20 minutes for all of the stretch"
from lessons.l16_decoding.solutions import grow

# %% kind="check" exercise="grow"
check("grow", grow)

# %% [markdown] kind="hints" exercise="grow"
r"""
### Where to start
Which three things must belong to the same hypothesis in the output? Work through the example by hand, with `["the"]` and `["a"]`: which of the two do the kept hypotheses extend?

---
### Where is the bug?
The sums and the sentences are right. The states are in the order in which they were created, not in the order of the ranking.

---
### Step by step
Put the new state into the candidate, together with its sum and its sentence. Then all three are sorted together.
"""

# %% [markdown] kind="text" track="stretch"
r"""
This bug raises no error, and greedy decoding isn't affected, because it has only one hypothesis.

The live translator shows the decoder's probabilities and attention weights at each step. You can type any sentence with words from the toy language. A word in [brackets] is masked: no position can attend to it.
"""

# %% kind="predict" track="stretch"
predict("16", "dec-close-dog", LiveTranslator())

# %% [markdown] kind="text" track="short"
r"""
## Check yourself
"""

# %% [markdown] kind="instructor"
r"""
**Vote** on the interval from −0.4 to 1.1. Ask those who say "equally good" what they would need to see to be sure.
"""

# %% kind="quiz"
quiz("16", "closing")

# %% [markdown] kind="instructor"
r"""
**Wrap up (2 min).** Three sentences to complete: "A wider beam finds …, but …", "An interval that contains 0 means …", "A cache changes …, but not …".
"""

# %% [markdown] kind="summary"
r"""
## What you have now

| name | meaning | remember |
|---|---|---|
| beam width $k$ | hypotheses that are kept | $k = 1$ is greedy decoding; 4 or 5 is usual |
| length penalty $\alpha$ | favours longer sentences in the ranking | $\alpha = 0$: short ones have an advantage | <!-- core -->
| {term:BLEU} | {term:brevity penalty} · geometric mean of $p_1 … p_4$ | not a percentage | <!-- core -->
| paired bootstrap | interval of a difference, from resampled sentences | same sample for both systems |
| KV cache | keys and values of the tokens so far | for $n$ tokens, $n$ projections instead of $n(n+1)/2$ |

- Beam search finds more probable sentences, which aren't always better ones: log-probability favours short sentences.
- MBR decoding outputs the sample that is most similar to the others. <!-- core -->
- In section 4, A is the seq2seq model of lesson 04 with beam search ($k = 5$), and B the same model with greedy decoding. The interval of A − B is {result:lesson_16/greedy and beam/low:.1p} to {result:lesson_16/greedy and beam/high:.1p} percentage points, so A is better. An interval that contains 0 means *no clear difference*, not *equal*.
- A KV cache doesn't change the output. It relies on the causal mask.
- Between two sentences, the cache must be emptied. <!-- core -->

**Still missing.** With a cache, each new token still attends to all earlier ones. [Lesson 17](17_what_it_costs.ipynb) asks what that costs.
"""

# %% [markdown] kind="reading"
r"""
## Reading

- Koehn, *Statistical Significance Tests for Machine Translation Evaluation* (2004): the paired bootstrap. Koehn counts in how many samples A is better; we report the interval of the difference. [ACL W04-3250](https://aclanthology.org/W04-3250)
- Papineni et al., *BLEU: a Method for Automatic Evaluation of Machine Translation* (2002). [ACL P02-1040](https://aclanthology.org/P02-1040) <!-- core -->
- Post, *A Call for Clarity in Reporting BLEU Scores* (2018). [arXiv 1804.08771](https://arxiv.org/abs/1804.08771) <!-- core -->
- Wu et al., *Google's Neural Machine Translation System* (2016), section 7: the length penalty. [arXiv 1609.08144](https://arxiv.org/abs/1609.08144) <!-- core -->
- Stahlberg and Byrne, *On NMT Search Errors and Model Errors: Cat Got Your Tongue?* (2019). [arXiv 1908.10090](https://arxiv.org/abs/1908.10090) <!-- core -->
- Freitag et al., *High Quality Rather than High Model Probability: Minimum Bayes Risk Decoding with Neural Metrics* (2022). [arXiv 2111.09388](https://arxiv.org/abs/2111.09388) <!-- core -->
- Holtzman et al., *The Curious Case of Neural Text Degeneration* (2020): top-p sampling. [arXiv 1904.09751](https://arxiv.org/abs/1904.09751) <!-- core -->
- Eikema and Aziz, *Is MAP Decoding All You Need?* (2020). [arXiv 2005.10283](https://arxiv.org/abs/2005.10283) <!-- core -->
- Popović, *chrF* (2015), [ACL W15-3049](https://aclanthology.org/W15-3049); Rei et al., *COMET* (2020), [arXiv 2009.09025](https://arxiv.org/abs/2009.09025) <!-- core -->
- `course_lib/translation/search.py`, beam search as this course's systems use it. <!-- core -->
"""
