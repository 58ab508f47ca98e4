"""The grammar and the lexicon of the demonstration treebank: an invented language with gender agreement."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

GENDERS = {"Fem": "a", "Masc": "o", "Neut": "u"}
Phrase = list["Word"]


@dataclass(eq=False)
class Word:
    """A word and its place in the tree; `joined` ones are written together with the next, `elided` ones not at all."""

    form: str
    lemma: str
    upos: str
    feats: str = "_"
    head: "Word | None" = None
    deprel: str = "root"
    joined: bool = False
    elided: bool = False

    def under(self, head: "Word", deprel: str) -> "Word":
        self.head, self.deprel = head, deprel
        return self


def _stems(rng: np.random.Generator, count: int, syllables: int = 2) -> tuple[str, ...]:
    onsets, vowels, codas = list("bdfgklmnprstvz"), list("aeiou"), list("lnrst")
    made: dict[str, None] = {}
    while len(made) < count:
        parts = [rng.choice(onsets) + rng.choice(vowels) for _ in range(syllables - 1)]
        made["".join(parts) + rng.choice(onsets) + rng.choice(vowels) + rng.choice(codas)] = None
    return tuple(made)


@dataclass(frozen=True)
class Lexicon:
    """Stems of the open classes; verbs by what they take: nothing, an object, a clause, or both."""

    nouns: tuple[str, ...]
    adjectives: tuple[str, ...]
    participles: tuple[str, ...]
    adverbs: tuple[str, ...]
    verbs: dict[str, tuple[str, ...]] = field(hash=False)

    @classmethod
    def invented(cls, rng: np.random.Generator) -> "Lexicon":
        stems = iter(_stems(rng, 92))
        nouns, adjectives, participles, adverbs, *verbs = (
            tuple(islice(stems, count)) for count in (30, 12, 10, 8, 8, 8, 8, 8)
        )
        kinds = ("nothing", "object", "clause", "both")
        return cls(nouns, adjectives, participles, adverbs, dict(zip(kinds, verbs, strict=True)))


class Grammar:
    """Makes random clauses; every phrase comes as its words in order, with heads set inside the phrase."""

    def __init__(self, lexicon: Lexicon, rng: np.random.Generator) -> None:
        self.lexicon, self.rng = lexicon, rng

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def pick(self, entries: Sequence[str]) -> str:
        return entries[int(self.rng.integers(len(entries)))]

    def genders(self) -> list[str]:
        """The three genders in random order."""
        return [str(gender) for gender in self.rng.permutation(list(GENDERS))]

    def sentence(self) -> Phrase:
        """A main clause."""
        kinds = (self.intransitive, self.transitive, self.reported_clause, self.told_clause, self.gapping)
        return kinds[int(self.rng.choice(len(kinds), p=(0.08, 0.56, 0.23, 0.11, 0.02)))]()

    def intransitive(self) -> Phrase:
        """Subject (modifier) verb (oblique)."""
        verb, subject = self.verb("nothing"), self.noun_phrase("Nom")
        modifier = self.modifier(subject[-1]) if self.chance(0.5) else []
        return [*link(subject, verb, "nsubj"), *modifier, verb, *self.oblique(verb, self.genders()[0], 0.7)]

    def transitive(self) -> Phrase:
        """Subject verb object (oblique) (modifier of the noun it agrees with), or with the object in front."""
        first, second, third = self.genders()
        verb = self.verb("object")
        subject = link(self.noun_phrase("Nom", first), verb, "nsubj")
        obj = link(self.noun_phrase("Acc", second), verb, "obj")
        oblique = self.oblique(verb, third, 0.45)
        if self.chance(0.15):
            return [*obj, *subject, verb, *oblique]
        *far, near = [phrase[-1] for phrase in (subject, obj, oblique) if phrase]
        noun = near if self.chance(0.5) else far[int(self.rng.integers(len(far)))]
        modifier = self.modifier(noun) if self.chance(0.85) else []
        return [*subject, verb, *obj, *oblique, *modifier]

    def reported_clause(self) -> Phrase:
        """Subject verb [that subject verb object], or with the inner verb's object in front of everything."""
        inner = self.verb("object")
        obj = link(self.noun_phrase("Acc"), inner, "obj")
        if self.chance(0.5):
            return [*obj, *self.embedding("clause", inner, [])]
        return self.embedding("clause", inner, obj)

    def told_clause(self) -> Phrase:
        """Subject verb object [that subject verb], or with the object, which is the outer verb's, in front."""
        inner = self.verb("nothing")
        words = self.embedding("both", inner, self.oblique(inner, self.genders()[0], 0.3))
        outer = next(word for word in words if word.head is None)
        obj = link(self.noun_phrase("Acc"), outer, "obj")
        place = 0 if self.chance(0.5) else words.index(outer) + 1
        return [*words[:place], *obj, *words[place:]]

    def embedding(self, kind: str, inner: Word, rest: Phrase) -> Phrase:
        """Subject, verb of this kind, and the clause of `inner`, which `rest` ends."""
        outer, mark = self.verb(kind), Word("ke", "ke", "SCONJ").under(inner, "mark")
        subject = link(self.noun_phrase("Nom"), outer, "nsubj")
        inner_subject = link(self.noun_phrase("Nom"), inner, "nsubj")
        return [*subject, outer, mark, *inner_subject, inner.under(outer, "ccomp"), *rest]

    def gapping(self) -> Phrase:
        """Subject verb object, and subject (the same verb, elided) object."""
        verb = self.verb("object")
        first = [*link(self.noun_phrase("Nom"), verb, "nsubj"), verb, *link(self.noun_phrase("Acc"), verb, "obj")]
        subject, obj = link(self.noun_phrase("Nom"), verb, "conj"), self.noun_phrase("Acc")
        conjunction = Word("ji", "ji", "CCONJ").under(subject[-1], "cc")
        gap = Word(verb.form, verb.lemma, "VERB", verb.feats, elided=True).under(verb, "conj")
        return [*first, conjunction, *subject, gap, *link(obj, subject[-1], "orphan")]

    def noun_phrase(self, case: str, gender: str = "") -> Phrase:
        """(Determiner) (adjective) noun, agreeing in gender; the noun is the head and the last word."""
        gender = gender or self.genders()[0]
        feats, vowel = f"Case={case}|Gender={gender}", GENDERS[gender]
        stem = _stems(self.rng, 1, 3)[0] if self.chance(0.08) else self.pick(self.lexicon.nouns)
        noun = Word(stem + vowel + ("m" if case == "Acc" else ""), stem + vowel, "NOUN", feats)
        determiner = Word("t" + vowel, "ta", "DET", f"Gender={gender}").under(noun, "det")
        stem = self.pick(self.lexicon.adjectives)
        adjective = Word(stem + vowel, stem + "a", "ADJ", f"Gender={gender}").under(noun, "amod")
        return [determiner] * self.chance(0.45) + [adjective] * self.chance(0.35) + [noun]

    def oblique(self, verb: Word, gender: str, probability: float) -> Phrase:
        """Adposition and noun phrase, or nothing; the adposition may melt into a determiner."""
        if not self.chance(probability):
            return []
        phrase = link(self.noun_phrase("Obl", gender), verb, "obl")
        form = self.pick(("ni", "su", "pel"))
        melts = phrase[0].upos == "DET" and self.chance(0.4)
        return [Word(form, form, "ADP", joined=melts).under(phrase[-1], "case"), *phrase]

    def modifier(self, noun: Word) -> Phrase:
        """A participle that agrees with `noun`, and perhaps its adverb."""
        stem, gender = self.pick(self.lexicon.participles), noun.feats.rsplit("=", 1)[1]
        participle = Word(f"{stem}end{GENDERS[gender]}", stem + "i", "VERB", f"Gender={gender}|VerbForm=Part")
        form = self.pick(self.lexicon.adverbs) + "e"
        adverb = Word(form, form, "ADV").under(participle, "advmod")
        return [participle.under(noun, "acl")] + [adverb] * self.chance(0.3)

    def verb(self, kind: str) -> Word:
        stem = self.pick(self.lexicon.verbs[kind])
        return Word(stem + "is", stem + "i", "VERB", "VerbForm=Fin")


def link(phrase: Phrase, head: Word, deprel: str) -> Phrase:
    """Attach a noun phrase (by its noun, the last word) to `head`."""
    phrase[-1].under(head, deprel)
    return phrase
