"""The solutions of lesson 01: its notebook shows them, and the checks compare answers with them."""

import torch


def count_next(sentences, n):
    """Lists of words, and n  ->  {context of n - 1 tokens: {next word: how often}}"""
    counts = {}
    for words in sentences:
        # solution
        row = ["<s>"] * (n - 1) + words + ["</s>"]
        # end solution
        for i in range(n - 1, len(row)):
            context = tuple(row[i - n + 1 : i])
            after = counts.setdefault(context, {})
            after[row[i]] = after.get(row[i], 0) + 1
    return counts


def gradient_step(embeddings, weight, word, target, rate):
    """embeddings and weight (words, width); word and target are indices; rate a number

    ->  new embeddings, new weight, loss before the step
    """
    # solution
    x = embeddings[word]
    probabilities = torch.softmax(weight @ x, dim=0)
    error = probabilities.clone()
    error[target] -= 1
    new_weight = weight - rate * torch.outer(error, x)
    new_embeddings = embeddings.clone()
    new_embeddings[word] = x - rate * (weight.T @ error)
    return new_embeddings, new_weight, -torch.log(probabilities[target])
    # end solution


def perplexity(probabilities):
    """probabilities (words,) of the words that came next, all above 0  ->  a number"""
    # solution
    losses = -torch.log(probabilities)
    return torch.exp(losses.mean())
    # end solution


def sample_next(probabilities, u):
    """probabilities (words,), u from 0 to just below 1  ->  index of a word"""
    # solution
    total = 0.0
    for index, probability in enumerate(probabilities):
        total += float(probability)
        if u < total:
            return index
    return len(probabilities) - 1
    # end solution
