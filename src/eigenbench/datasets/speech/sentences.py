"""Sentences of plain English words, for a synthesiser to say."""

from __future__ import annotations

import random

_WORDS = {
    "the": "the a this that each another our their your his her every",
    "adjective": """
        old young bright heavy yellow quiet strange thin smooth early broken curious large purple gentle wild
        loose narrow honest sharp clever frozen useful cheap rough famous lazy golden loud healthy
    """,
    "noun": """
        garden voyage teacher measure window church bottle feather judge kitchen treasure uncle machine
        thunder village yard leather engine shoulder oven youth picture cushion fish boy hammer ship cloth
        mouth dog valley queen jungle choice house bird rope pleasure coat path moon toy beach wheel usher
    """,
    "verb": """
        watched carried found pushed measured joined followed shook bought pulled chose covered moved
        enjoyed changed mixed gathered threw missed noticed crushed avoided loved judged washed heard
    """,
    "preposition": "near under behind without beyond across around beside above through before against",
    "adverb": """
        slowly usually together never yesterday rarely always here outside early softly twice again
        anyway loudly perhaps
    """,
    "lead": "however now perhaps usually meanwhile sometimes somehow therefore tomorrow suddenly",
}
_CHOICES = {kind: words.split() for kind, words in _WORDS.items()}
_PATTERNS = (
    "the adjective noun verb the noun preposition the noun",
    "the noun preposition the adjective noun adverb verb the noun",
    "lead the noun verb the adjective noun",
    "the adjective noun verb and verb the noun adverb",
    "adverb the noun verb the adjective adjective noun preposition the noun",
)


def sentence(draws: random.Random) -> str:
    """Return a sentence of five to ten words.

    Examples
    --------
    >>> import random
    >>> len(sentence(random.Random(0)).split()) >= 5
    True
    """
    pattern = draws.choice(_PATTERNS).split()
    words = [draws.choice(_CHOICES[word]) if word in _CHOICES else word for word in pattern]
    return " ".join(words).capitalize() + "."
