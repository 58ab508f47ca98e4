"""The sentences that structdep parse is given: those that are wrong are refused one by one."""

from collections.abc import Callable, Iterable, Iterator

from structdep_parser.console import failed
from structdep_parser.data.conllu import Refuse, Sentence, from_text, stream
from structdep_parser.data.relations import is_root
from structdep_parser.data.shapes import ladder

SOURCE = "standard input"
WORDS_AT_ONCE = 40_000
"""Words that are read before they are parsed: enough to fill batches."""
LONGEST = ladder()[-1].words


class Refusal:
    """What becomes of sentences that are wrong: each is told and left out, or the first is an error."""

    def __init__(self, program: str, strict: bool) -> None:
        self.program, self.strict, self.status = program, strict, 0

    def __call__(self, error: ValueError) -> None:
        if self.strict:
            raise error
        self.status = failed(self.program, f"{error}: left out")


def read(source: Iterable[bytes], text: bool, known: bool, refuse: Refuse, name: str = SOURCE) -> Iterator[Sentence]:
    """The sentences of text, or of CoNLL-U with or without known heads, but for those that are refused."""
    if text:
        return from_text(source, name, refuse)
    if not known:
        return stream(source, name, "none", refuse)
    return without(contradiction, stream(source, name, "partial", refuse), refuse)


def without(problem: Callable[[Sentence], str], sentences: Iterable[Sentence], refuse: Refuse) -> Iterator[Sentence]:
    """The sentences that have no such problem."""
    for sentence in sentences:
        if told := problem(sentence):
            refuse(ValueError(told))
        else:
            yield sentence


def contradiction(sentence: Sentence) -> str:
    """What is wrong with known relations beside known heads, if anything is: only `root` belongs to the head 0."""
    for word, (head, deprel) in enumerate(zip(sentence.heads.tolist(), sentence.deprels, strict=True)):
        if head >= 0 and deprel != "_" and is_root(deprel) != (head == 0):
            return (
                f"{sentence.at(word)}: HEAD {head} with DEPREL {deprel}, but root is the relation where HEAD is 0, and "
                "nowhere else; write _ for one of them"
            )
    return ""


def too_long(sentence: Sentence) -> str:
    if len(sentence) <= LONGEST:
        return ""
    return (
        f"{sentence.where} has {len(sentence)} words, and {LONGEST} are the most that can be parsed: split it (with "
        "--text each line is a sentence)"
    )


def groups(sentences: Iterable[Sentence], refuse: Refuse) -> Iterator[list[Sentence]]:
    """Runs of sentences with about `WORDS_AT_ONCE` words each; what was read before an error comes before the error."""
    group: list[Sentence] = []
    words = 0
    try:
        for sentence in without(too_long, sentences, refuse):
            group.append(sentence)
            words += len(sentence)
            if words >= WORDS_AT_ONCE:
                yield group
                group, words = [], 0
    except ValueError:
        yield from [group] * bool(group)
        raise
    yield from [group] * bool(group)
