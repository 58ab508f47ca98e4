"""Words of two files with the same characters, aligned where their tokens differ.

The alignment is that of the CoNLL 2018 shared task: words that are no parts of multiword tokens are aligned where they
span the same characters; the words of overlapping multiword tokens by their longest common subsequence of forms.

Zeman, D. et al. 2018. CoNLL 2018 Shared Task: Multilingual Parsing from Raw Text to Universal Dependencies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import category

from structdep_parser.data.conllu import Sentence
from structdep_parser.data.conllu_checks import RANGE, WORD, columns_of

Span = tuple[int, int]
"""The first of a file's characters without spaces, and the one behind the last."""


@dataclass(frozen=True)
class Word:
    """A syntactic word, the characters of its token, and where its sentence begins in the list of words."""

    form: str
    span: Span
    is_part: bool
    """Whether its token is a multiword token."""


@dataclass(frozen=True)
class Tokens:
    """The characters of a file without spaces, the spans of its sentences and tokens, and its words."""

    characters: str
    sentences: list[Span]
    tokens: list[Span]
    words: list[Word]

    @classmethod
    def of(cls, sentences: Sequence[Sentence]) -> "Tokens":
        characters: list[str] = []
        spans: list[Span] = []
        tokens: list[Span] = []
        words: list[Word] = []
        end = 0
        for sentence in sentences:
            start, last = end, 0
            rows = (columns_of(line.removesuffix("\r")) for line in sentence.lines if not line.startswith("#"))
            for number, form, *_ in rows:
                multiword = RANGE.fullmatch(number)
                if not multiword and not WORD.fullmatch(number):
                    continue
                is_part = not multiword and int(number) <= last
                if not is_part:
                    visible = "".join(character for character in form if category(character) != "Zs")
                    characters.append(visible)
                    tokens.append((end, end := end + len(visible)))
                if multiword:
                    last = int(multiword[2])
                else:
                    words.append(Word(form, tokens[-1], is_part))
            spans.append((start, end))
        return cls("".join(characters), spans, tokens, words)


def of_same_text(gold: Sequence[Sentence], system: Sequence[Sentence]) -> tuple[Tokens, Tokens]:
    """The tokens of both files; ValueError if their texts differ."""
    there, here = Tokens.of(gold), Tokens.of(system)
    if there.characters == here.characters:
        return there, here
    pairs = zip(there.characters, here.characters, strict=False)
    shorter = min(len(there.characters), len(here.characters))
    place = next((place for place, (one, other) in enumerate(pairs) if one != other), shorter)
    raise ValueError(
        f"the texts differ: the gold file has {_text_at(place, gold, there)}, the other file has "
        f"{_text_at(place, system, here)}; does one file lack a sentence, or have several trees of one (--k-best)?"
    )


def _text_at(place: int, sentences: Sequence[Sentence], tokens: Tokens) -> str:
    """The characters from this place on, and their sentence."""
    pairs = zip(sentences, tokens.sentences, strict=True)
    sentence = next((sentence for sentence, (_, end) in pairs if place < end), None)
    return f"{tokens.characters[place : place + 20]!r} in {sentence.where}" if sentence else "its end there"


def align(gold: Sequence[Word], system: Sequence[Word]) -> list[tuple[int, int]]:
    """The places of aligned words in both lists.

    Example:
        >>> whole = [Word("im", (0, 2), False)]
        >>> parts = [Word("i", (0, 2), True), Word("m", (0, 2), True)]
        >>> align(whole, whole), align(parts, parts), align(whole, parts)
        ([(0, 0)], [(0, 0), (1, 1)], [])
    """
    pairs: list[tuple[int, int]] = []
    g = s = 0
    while g < len(gold) and s < len(system):
        if gold[g].is_part or system[s].is_part:
            (first_g, g), (first_s, s) = _block(gold, system, g, s)
            forms = [[word.form.lower() for word in words] for words in (gold[first_g:g], system[first_s:s])]
            pairs += [(first_g + one, first_s + other) for one, other in _common(*forms)]
        elif gold[g].span == system[s].span:
            pairs.append((g, s))
            g, s = g + 1, s + 1
        elif gold[g].span[0] <= system[s].span[0]:
            g += 1
        else:
            s += 1
    return pairs


def _block(gold: Sequence[Word], system: Sequence[Word], g: int, s: int) -> tuple[Span, Span]:
    """The words in both lists, from g and s on, that overlap with a run of overlapping multiword tokens."""
    if gold[g].is_part:
        end = gold[g].span[1]
        s += not system[s].is_part and system[s].span[0] < gold[g].span[0]
    else:
        end = system[s].span[1]
        g += not gold[g].is_part and gold[g].span[0] < system[s].span[0]
    first_g, first_s = g, s
    while not (_is_behind(gold, g, end) and _is_behind(system, s, end)):
        if g < len(gold) and (s >= len(system) or gold[g].span[0] <= system[s].span[0]):
            word, g = gold[g], g + 1
        else:
            word, s = system[s], s + 1
        end = max(end, word.span[1]) if word.is_part else end
    return (first_g, g), (first_s, s)


def _is_behind(words: Sequence[Word], place: int, end: int) -> bool:
    """Whether a word is behind the characters of a block, or the last word is."""
    if place >= len(words):
        return True
    return words[place].span[0] >= end if words[place].is_part else words[place].span[1] > end


def _common(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """The places of a longest common subsequence."""
    longest = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i in reversed(range(len(one))):
        for j in reversed(range(len(other))):
            same = one[i] == other[j]
            longest[i][j] = 1 + longest[i + 1][j + 1] if same else max(longest[i + 1][j], longest[i][j + 1])
    pairs, i, j = [], 0, 0
    while i < len(one) and j < len(other):
        if one[i] == other[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif longest[i + 1][j] >= longest[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs
