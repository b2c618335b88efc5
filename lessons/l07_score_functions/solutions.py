"""The solution of lesson 07: its notebook shows it, and the check compares answers with it."""

import torch


def count_articles(pairs, predict, positions):
    """Sentence pairs, a model, the positions to attend to  ->  n_right, n_articles"""
    # solution
    n_right = n_articles = 0
    for pair in pairs:
        forced = positions(pair)

        def change(step, weights, forced=forced):
            if step in forced:
                weights = torch.zeros_like(weights)
                weights[forced[step]] = 1
            return weights

        words = predict(pair, change)
        n_right += sum(words[step] == pair.tgt[step] for step in forced)
        n_articles += len(forced)
    return n_right, n_articles
    # end solution
