"""Fit the weights of `clio.text.linear_model` to examples by stochastic gradient descent.

The rate of each weight falls with the sum of its squared gradients (AdaGrad: Duchi, Hazan and Singer 2011).
"""

import math
from collections.abc import Sequence

import numpy as np

from clio.text.linear_model import BUCKETS, STEP

RATE, DECAY, FIRST_SQUARE = 0.5, 1e-6, 1e-2


def fit(features: Sequence[Sequence[int]], allowed: np.ndarray, importance: Sequence[float], epochs: int = 10) -> bytes:
    """Return the weights as `LinearModel` reads them; the same for the same examples.

    Args:
        features: the features of each example.
        allowed: by example and output, 1.0 where the output may hold, else 0.0. Where several may, the sum of their
            probabilities is maximized.
        importance: weight of each example.
        epochs: how often each example is used.
    """
    rows = [np.array(one) for one in features]
    if allowed.shape[1] == 2:
        positive = _fit_one(rows, allowed[:, 1].tolist(), importance, epochs)
        return _pack(np.stack([-positive, positive], 1))
    weights = np.zeros((BUCKETS, allowed.shape[1]))
    squares = np.full_like(weights, FIRST_SQUARE)
    random = np.random.default_rng(0)
    for _ in range(epochs):
        for number in random.permutation(len(rows)):
            row = rows[number]
            value = 1 / np.sqrt(len(row))
            logits = weights[row].sum(0) * value
            powers = np.exp(logits - logits.max())
            probabilities = powers / powers.sum()
            target = probabilities * allowed[number]
            target = target / target.sum() if target.sum() > 0 else allowed[number] / allowed[number].sum()
            gradient = (probabilities - target) * importance[number] * value + DECAY * weights[row]
            squares[row] += gradient**2
            weights[row] -= RATE * gradient / np.sqrt(squares[row])
    return _pack(weights)


def _fit_one(
    rows: Sequence[np.ndarray], targets: Sequence[float], importance: Sequence[float], epochs: int
) -> np.ndarray:
    """Return the weights of the second of two outputs; those of the first are their negatives, which saves time."""
    weights = np.zeros(BUCKETS)
    squares = np.full_like(weights, FIRST_SQUARE)
    random = np.random.default_rng(0)
    for _ in range(epochs):
        order: list[int] = random.permutation(len(rows)).tolist()
        for number in order:
            row = rows[number]
            value = 1 / math.sqrt(len(row))
            mine = weights[row]
            probability = 1 / (1 + math.exp(min(-2 * float(mine.sum()) * value, 500.0)))
            gradient = (probability - targets[number]) * importance[number] * value + DECAY * mine
            total = squares[row] + gradient * gradient
            squares[row] = total
            weights[row] = mine - RATE * gradient / np.sqrt(total)
    return weights


def _pack(weights: np.ndarray) -> bytes:
    return np.clip(np.rint(weights / STEP), -127, 127).astype(np.int8).tobytes()
