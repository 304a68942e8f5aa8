"""Capabilities: what a model can do, so that a family can say what it needs."""

from __future__ import annotations

MEANING = {
    "token_logprobs": "log-probabilities of tokens at any position",
    "prompt_logprobs": "log-probabilities of a text",
    "choice_logprobs": "log-probabilities of given words",
    "top_logprobs": "the likeliest tokens",
    "text": "text",
    "chat": "answers to chat messages",
    "embeddings": "embeddings",
    "attention": "attention weights",
    "gradients": "gradients",
    "classes": "labels of texts",
    "tokens": "tokens of a text",
    "answers": "a choice among given answers",
}
"""Each capability in words. `classes`: by a head of its own, or after fine-tuning. `tokens`: it has a tokenizer."""
EVERY = frozenset(MEANING)
OF_KIND = {
    "masked": EVERY - {"chat"},
    "causal": EVERY - {"chat", "token_logprobs"},
    "encoder": frozenset({"embeddings", "tokens"}),
    "static": frozenset({"embeddings"}),
    "classifier": frozenset({"classes", "tokens", "gradients"}),
    "choice_head": frozenset({"answers", "tokens", "gradients"}),
}
"""Capabilities of models of a kind, as far as they are known before loading."""
KIND_IN_WORDS = {
    "masked": "a masked language model",
    "causal": "a causal language model",
    "encoder": "an encoder",
    "static": "a file of static vectors",
    "classifier": "a classifier",
    "choice_head": "a model with a multiple-choice head",
}
