"""Every mean that a lesson quotes from data/results, and every number that it quotes from its own cells.

A row of means: the lesson, the experiment, the way to the number in a run, how it is printed, what is told of
each variant (the mean over its seeds), and the sentences that tell it. The commands are in the README there.
A row of what is printed: the lines, which nbval runs again and compares, and the sentences that quote them.
"""

from __future__ import annotations

from statistics import mean

import pytest

from tests.lessons.told import Told, seeds

PERPLEXITY = ("scores", "test", "perplexity")
PRONOUNS = ("scores", "coreference", "pronouns")
LINKS = ("scores", "test", "alignment_error")
TEST = ("scores", "test", "exact")
GREEDY, BEAM = ("scores", "test", "greedy"), ("scores", "test", "beam")


def words(group: str, split: str = "long") -> tuple[str, ...]:
    return ("scores", split, "by_length", group, "exact")


OLD, NEW, FAR = words("16–20", "test"), words("21–30"), words("31–40")
LM, LADDER = "toy_language_models", "toy_ladder"

TOLD = {
    "start_here": [
        (
            *(LADDER, PRONOUNS, ".0%", {"seq2seq": "87%", "bahdanau": "96%", "transformer": "100%"}),
            "Over 400 such sentences and three trainings each, the network of 2014 gets 87% of the pronouns",
            "that of 2015 96%, that of 2017 all of them, and all three are of about the same size",
        ),
        (LADDER, ("scores", "coreference", "n"), ".0f", {"seq2seq": "400", "transformer": "400"}),
    ],
    "guessing_the_next_word": [
        (
            *(LM, PERPLEXITY, ".1f", {"ngram_lm": "12.4", "mlp_lm": "9.3", "rnn_lm": "8.1"}),
            *("12.4, 9.3, 8.1. Is the comparison fair", "12.4 → 9.3 → 8.1"),
            "n-gram near 12, MLP near 9, RNN near 8",
        ),
    ],
    "recurrent_networks": [
        (
            *(LM, PERPLEXITY, ".1f", {"rnn_lm": "8.1", "mlp_lm": "9.3"}),
            "an RNN had 8.1 and the network with a window 9.3; these 200 are a little easier",
        ),
        ("recall", ("gradient", "fresh", "1"), ".1g", {"rnn_lm": "0.09"}, "0.09 at the word one step back,"),
        ("recall", ("gradient", "fresh", "10"), ".1g", {"rnn_lm": "0.0002"}, "0.0002 at ten steps and"),
        ("recall", ("gradient", "fresh", "20"), ".1g", {"rnn_lm": "2e-07"}, "0.0000002 at twenty"),
        ("recall_one_distance", ("right", "10"), ".0%", {"rnn_lm": "73%"}, "(73% at 10 is a mean"),
    ],
    "lstm_and_gru": [
        (
            *(LM, PERPLEXITY, ".1f", {"rnn_lm": "8.1", "lstm_lm": "7.6", "gru_lm": "7.6"}),
            "perplexity 8.1 for the plain RNN, 7.6 for the LSTM, 7.6 for the GRU",
            "7.5 with the right step (7.6 over all 1,000)",
        ),
        (
            *("recall_forget_bias", ("right", "50"), ".0%"),
            {"bias 1": "9%", "bias 3": "100%", "bias 5": "100%"},
            "with a forget bias of 1 it has 9% right, with 3 it has 100%, with 5 it has 100%",
        ),
        ("recall_forget_bias", ("n_steps",), "", {"bias 1": "400", "bias 3": "400", "bias 5": "400"}),
        ("recall_one_distance", ("n_steps",), "", dict.fromkeys(("rnn_lm", "lstm_lm", "gru_lm"), "1000")),
        ("recall", ("n_steps",), "", dict.fromkeys(("rnn_lm", "lstm_lm", "gru_lm"), "4000")),
    ],
    "encoder_decoder": [
        (LADDER, OLD, ".1%", {"seq2seq": "21.5%"}, "Eighteen: one in five.", "one in five at 16 to 20"),
        (
            *("state_size", OLD, ".0%", {"512": "81%", "256": "71%"}),
            "get 81% of the sentences with 16 to 20",
        ),
        ("state_size", NEW, ".0%", {"512": "15%"}, "it is 15%"),
        ("state_size", FAR, ".0%", {"512": "0%"}),
        (
            *("source_order", TEST, ".1%", {"reversed": "66.4%", "in order": "64.4%"}),
            *("66.4%, in order", "in order 64.4%"),
        ),
        ("source_order", OLD, ".0%", {"reversed": "22%"}, "it is 22% against 17%"),
        (LADDER, NEW, ".0%", {"transformer": "22%"}, "gets only 22% of these"),
    ],
    "distance_between_words": [
        (
            *(LADDER, TEST, ".1%", {"rctm": "23.9%", "seq2seq": "66.4%", "convs2s": "96.5%"}),
            *("RCTM gets 23.9% of the test", "seq2seq 66.4%", "It gets 96.5% here"),
        ),
        (LADDER, PRONOUNS, ".0%", {"rctm": "51%"}, "51% of the pronouns"),
        (
            *("state_size", TEST, ".0%", {"32": "13%"}),
            "cut down to 32 numbers a state (128 in all, and fewer parameters) gets 13%, less than RCTM",
        ),
    ],
    "bahdanau_attention": [
        (
            *(LADDER, OLD, ".0%", {"seq2seq": "22%", "bahdanau": "95%"}),
            *("it is 95% where it was 22%", "Nine in ten"),
        ),
        (LADDER, NEW, ".0%", {"bahdanau": "90%", "transformer": "22%"}, "the Transformer 22% (lesson 04)"),
        (LADDER, NEW, ".1%", {"seq2seq": "0.4%"}, "Seq2seq gets 0.4% of them right"),
        (LADDER, LINKS, ".2f", {"bahdanau": "0.06"}, "the right translation, it is 0.06"),
    ],
    "score_functions": [
        (
            *(LADDER, TEST, ".0%"),
            {"luong_general": "85%", "luong_location": "93%", "bahdanau": "98%", "luong_dot": "94%"},
            *("which has 94%", "one sentence in seven wrong"),
        ),
        (
            *(LADDER, LINKS, ".2f", {"luong_general": "0.10", "luong_location": "0.52", "bahdanau": "0.06"}),
            *("an error of 0.52 with 93% right; general 0.10 with 85%", "an error of 0.06"),
        ),
        ("encoder_direction", TEST, ".0%", {"from the start": "94%", "from the end": "97%"}),
        (
            *("encoder_direction", LINKS, ".2f", {"from the start": "0.22", "from the end": "0.06"}),
            "falls from 0.22 to 0.06, and 97% of the sentences are right in place of 94%",
        ),
    ],
    "query_key_value": [
        (
            *(LM, PERPLEXITY, ".1f", {"lstm_lm": "7.6", "attention_lm": "8.0", "key_value_lm": "8.3"}),
            "a perplexity of 7.6 on our toy French; with attention 8.0, with key and value split 8.3",
        ),
        (
            *("key_and_value", ("right",), ".0%", {"width 2, one matrix": "15%"}),
            "(15% is below choosing among the four",
        ),
    ],
    "self_attention": [
        (
            *(LM, PERPLEXITY, ".2f", {"lstmn_lm": "7.75", "lstm_lm": "7.61"}),
            "7.75 with the tape, 7.61 for a plain LSTM",
        ),
        (
            *("toy_sentence_encoder", ("scores", "test", "right", "all"), ".1%", {"self_attentive": "99.9%"}),
            "right 999 times in 1,000",
        ),
    ],
    "masks": [
        ("leak", TEST, ".0%", {"leaky": "0%"}),
        ("leak", ("scores", "test", "n"), ".0f", {"leaky": "1000"}),
        (
            *("leak", ("history", -1, "loss"), ".2f", {"leaky": "0.08", "sound": "0.07"}),
            "0.08 on validation where the sound one has 0.07",
        ),
    ],
    "positions": [
        (
            *("positions", words("1–5", "test"), ".0%", {"none": "97%"}),
            *("97% right at up to five", "At up to five words 97% were right"),
        ),
        (
            *("positions", TEST, ".1%", {"sinusoidal": "98.5%", "none": "48.8%"}),
            "both sides 98.5% of the test sentences are right, with positions on neither 48.8%",
        ),
        (
            *("position_sides", TEST, ".1%", {"source only": "97.9%", "target only": "49.1%"}),
            "Source alone has 97.9%, target alone 49.1%",
        ),
        (
            *("positions", NEW, ".0%", {"rotary": "32%", "sinusoidal": "22%", "learned": "5%"}),
            "32% at 21 to 30 words, sinusoids 22%, learned 5%",
            "the recurrent network has 90% right, rotary 32%, sinusoids 22%",
        ),
        (LADDER, NEW, ".0%", {"bahdanau": "90%"}),
        (LADDER, FAR, ".0%", {"bahdanau": "24%"}, "The recurrent network has 90% and 24%", "still has 24%"),
        (
            *(LADDER, NEW, ".1%", {"rnn_encoder_decoder": "0.4%", "seq2seq": "0.4%"}),
            "without attention (lesson 04) it is at 0.4%",
        ),
        (
            *(LADDER, OLD, ".0%"),
            {"luong_dot": "88%", "luong_general": "74%", "luong_concat": "96%"}
            | {"luong_local_m": "73%", "luong_location": "88%"},
        ),
        (
            *(LADDER, NEW, ".0%"),
            {"luong_dot": "52%", "luong_general": "31%", "luong_concat": "76%"}
            | {"luong_local_m": "40%", "luong_location": "2%"},
            *("88% to 52% (*dot*)", "74% to 31% (*general*)", "96% to 76% (*concat*)"),
            *("goes from 73% to 40%", "*location* goes from 88% to 2%"),
        ),
        (
            *("positions", ("parameters",), ",.0f"),
            {"none": "392,360", "sinusoidal": "392,360", "learned": "400,552"},
            *("392,360 parameters", "8,192"),
        ),
        ("position_sides", ("parameters",), ",.0f", {"source only": "392,360", "target only": "392,360"}),
    ],
    "many_heads": [("heads", TEST, ".1%", {"1": "96.7%"}, "96.7% with one head, 97.8 to 98.5%")],
    "the_block": [
        (
            *("block", TEST, ".1%"),
            {"RMSNorm": "98.0%", "SwiGLU": "98.2%", "as it is": "98.5%", "no norm": "97.8%"},
            *("98.0 and 98.2% against 98.5", "97.8%"),
        ),
        ("block", TEST, ".0%", {"no residual path": "0%"}),
        (
            *("block", ("likeness", -1), ".2f"),
            {"no residual path": "1.00", "as it is": "0.02", "no norm": "0.11"},
        ),
        ("block_causes", TEST, ".1%", {"attention only, 7 layers": "98.2%"}),
    ],
    "decoding": [
        ("multi30k_ladder", GREEDY, ".2f", {"transformer": "41.34"}),
        ("multi30k_ladder", BEAM, ".2f", {"transformer": "42.36"}),
    ],
}


@pytest.mark.parametrize("topic", TOLD)
def test_means_are_as_told(topic):
    lesson = Told(topic)
    for experiment, path, form, told, *texts in TOLD[topic]:
        found = {variant: f"{mean(seeds(experiment, variant, *path)):{form}}" for variant in told}
        assert found == told, experiment
        lesson.says(*texts)


PRINTED = {
    "recurrent_networks": [
        (["perplexity 7.9"], "these 200 are a little easier"),
        (
            ["le chat dort parce qu' il 0.81", "la souris dort parce qu' il 0.46"],
            "*il* gets 0.81 after the cat (masculine) and 0.46 after the mouse",
        ),
        (["dormi hier parce qu' il 0.82", "dormi hier parce qu' il 0.39"], "it is 0.82 and 0.39"),
        (["le chat a bu l' eau parce qu' il 0.57 elle 0.43", "il 0.53 elle 0.47"], "It gets 0.47"),
        (["u = 3 (a memory) 0.031", "u = 0.9 passes on 0.57, u = 3 (a memory) 2.7e-08"],),
    ],
    "lstm_and_gru": [
        (
            ["qu' → il 54%, elle 45%"],
            "54% to 45%, much as the plain RNN of lesson 02 did (0.57 and 0.43)",
        ),
        (["half-life, middle one of 104: 0.9 steps", "cells below 2.2 steps: 79"],),
    ],
    "bahdanau_attention": [
        (["at il: because 0.04, it 0.07, was 0.14, thirsty 0.46, </s> 0.30"], "*thirsty* (0.46)"),
        (
            ["the elle cat chat drank elle the elle water elle because elle it il was il thirsty il </s> il"],
            "the words before have nothing",
        ),
        (["the le matin parce qu'", "water le eau a bu l' eau", "because le parce qu'", "thirsty le avait"],),
    ],
    "score_functions": [
        (["general, forced onto 'the': 81 of 92 right concat, forced onto 'the': 25 of 92 right"],),
        (["dot 0 550 69 85 general 0 620 26 58"], "dot and general never miss to the left"),
        (["location 45 308 309 42"],),
    ],
    "self_attention": [
        (["because it was thirsty il(s) ['cat', 'thirsty'] the cat", "it was cold elle(s) ['water']"],),
        (["the mouse drank the milk because it was cold il(s) []"], "comes close, and does not flip"),
        (["hungry elle(s) ['women', 'hungry'] the women eat the mushrooms", "good il(s) ['mushrooms']"],),
        (["parce qu' il avait soif le chat a bu l' eau parce qu' il avait froid"],),
        (["one at a time: [] two at a time: ['drank', 'water']"],),
    ],
    "masks": [
        (
            [
                "sound: read at once 7.65, word by word 7.65",
                "leaky: read at once 1.00, word by word 38,146,967",
            ],
        )
    ],
    "positions": [
        (["no source positions: the cat sees the dog -> le chien voit le chat"], "le chien voit le chat"),
        (["no target positions: the cat sees the dog -> le chat voit le chien"],),
    ],
    "many_heads": [
        (["without encoder 2.1: 100% right", "without cross 1.3: 53% right without decoder 2.1: 48% right"],),
        (["encoder 1: 0.0 one by one, 0.0 together", "decoder 0: 0.0 one by one, 0.9 together"],),
        (["cross 0: 0.2 one by one, 2.4 together"],),
    ],
    "the_block": [
        (["pre-norm: likeness 0.42 after 3, 0.63 after 6, 0.79 after 12", "1.00 after 12"],),
        (["healthy: 392,360 parameters, exact 99, 98, 99%, likeness 0.02", "exact 95, 19, 83%"],),
        (["exact 94, 95, 94%, likeness 0.05", "exact 95, 95, 97%"],),
    ],
    "the_transformer": [
        (["C: first at 'source words', by 3; right 0 of 40"], "C lets the words in without the root"),
        (["well: nowhere; right 39 of 40", "right 34 of 40", "right 5 of 40", "by 0.7; right 39 of 40"],),
        (["E: first at 'target words', by 7; right 0 of 40 l' eau a bu"], "E begins with EOS"),
        (["encoder 0 (3, 10, 64) 1.7 on encoder 1 (3, 10, 64) 2.3 on encoder 2 (3, 10, 64) 2.8 on memory"],),
        (["decoder 2 (3, 12, 64) 12.0 on last norm (3, 12, 64) 1.2 on"],),
        (["six blocks on each side 44,138,496", "63,082,496", "44,140,544"], "2,048"),
        (["The young queen sees three old horses near the bridge. → la jeune reine voit trois vieux"],),
        (["right word for word: 29"],),
    ],
    "decoding": [
        (["row of the word it says: alignment error 0.09 row of the word it reads: alignment error 0.91"],),
        (["1 73 43.5 68.3 0.995 68 47 2 83 47.1 71.3 0.981 77 38 5 81 46.5 71.7 0.966 95 26"],),
        (["20 81 47.0 72.7 0.947 109 16"],),
        (["cache for one word: 1,536 bytes; the 2017 base model: 24,576 1,024 words of that: 24 MiB"],),
        (["without the mask: 70 of 100 right"], "costs 29 sentences"),
    ],
    "what_it_costs": [
        (["averaged: nothing 98.5% right"], "98.5% are right with four"),
        (["keys 64.0% averaged: values 74.5%"], "keys cost a third", "values a quarter"),
        (["averaged: both 19.5%"], "both four in five"),
        (["linear attention: 8% of 16 pairs found"], "close to guessing, 6%"),
        (["another table: 100% of 16 pairs"], "finds everything"),
        (["sums, φ less its mean: 88% of 16"], "sums find most"),
        (["6,291,456 FLOPs of 268,435,456 one part in 43"],),
    ],
    "the_museum": [
        (["first or level: {'bahdanau': 11, 'transformer': 9, 'luong_concat': 6, 'lstmn_deep': 6,"],),
        (
            [
                "21 to 30 words bahdanau level: - 31",
                "alignment error bahdanau level: -",
                "rate convs2s level: -",
            ],
        ),
        (["(A) 1 head -0.9 +0.0 open", "(A) 16 heads +0.0 -0.9 no", "(B) d_k 16 -0.7 -0.9 no"],),
        (["(C) 6 layers - -0.3 no", "(D) no dropout -1.2 -4.4 no"],),
        (["9 of 15"], "Nine of fifteen"),
    ],
}


@pytest.mark.parametrize("topic", PRINTED)
def test_what_is_printed_is_what_is_told(topic):
    lesson = Told(topic)
    for lines, *texts in PRINTED[topic]:
        lesson.prints(*lines)
        lesson.says(*texts)
