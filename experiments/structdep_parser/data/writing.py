"""Writing predicted trees into sentences of CoNLL-U, of which all else stays."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from structdep_parser.data.conllu import Sentence
from structdep_parser.data.conllu_checks import columns_of, words_of
from structdep_parser.files import write_whole


def write_predictions(
    path: str | Path,
    sentences: Sequence[Sentence],
    heads: Sequence[ArrayLike],
    deprels: Sequence[Sequence[str]],
    misc: Sequence[Sequence[Mapping[str, str]]] | None = None,
) -> None:
    """Write `sentences` with these heads and relations as CoNLL-U, and with entries `misc` in the last column.

    Comments, multiword tokens, empty nodes and all other columns stay. `heads[s]`, `deprels[s]` and `misc[s]` have one
    entry a word of `sentences[s]`. Raises ValueError where they do not fit; then, or when anything fails, nothing is
    written.
    """
    entries = [None] * len(sentences) if misc is None else misc
    text = "".join(starmap(with_tree, zip(sentences, heads, deprels, entries, strict=True)))
    write_whole(path, text)


def with_tree(
    sentence: Sentence,
    heads: ArrayLike,
    deprels: Iterable[str],
    misc: Sequence[Mapping[str, str]] | None = None,
    comments: Sequence[str] = (),
    tags: Sequence[Sequence[str]] | None = None,
) -> str:
    """The sentence as CoNLL-U with this tree, with more comments behind its own; see `write_predictions`.

    `tags` are UPOS, XPOS, FEATS and LEMMA of all words, to write as well.
    """
    misc = [{}] * len(sentence) if misc is None else misc
    heads, deprels = np.asarray(heads), list(deprels)
    n = len(sentence)
    if heads.shape != (n,) or len(deprels) != n or len(misc) != n:
        came = f"heads {heads.shape}, {len(deprels)} relations and {len(misc)} entries of MISC"
        raise ValueError(f"{sentence.where}: {n} words, but {came}")
    if heads.min() < 0 or heads.max() > n:
        raise ValueError(f"{sentence.where}: heads {heads.tolist()} are not all in 0..{n}")
    lines = list(sentence.lines)
    words = [()] * n if tags is None else list(zip(*tags, strict=True))
    for (place, _), *predicted in zip(words_of(lines), heads.tolist(), deprels, misc, words, strict=True):
        lines[place] = _relinked(lines[place], *predicted)
    own, rows = ([line for line in lines if line.startswith("#") == is_comment] for is_comment in (True, False))
    end = "\r" if rows[-1].endswith("\r") else ""
    written = (*own, *(comment + end for comment in comments), *rows, end)
    return "".join(f"{line}\n" for line in written)


def _relinked(line: str, head: int, deprel: str, misc: Mapping[str, str], tags: Sequence[str]) -> str:
    end = "\r" if line.endswith("\r") else ""
    *columns, last = columns_of(line.removesuffix("\r"))
    columns[6:8] = str(head), deprel
    if tags:
        columns[3], columns[4], columns[5], columns[2] = tags
    if misc:
        kept = [entry for entry in last.split("|") if entry != "_" and entry.split("=")[0] not in misc]
        last = "|".join([*kept, *(f"{name}={value}" for name, value in misc.items())])
    return "\t".join([*columns, last]) + end
