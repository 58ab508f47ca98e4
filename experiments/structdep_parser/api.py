"""The parser in Python: load a trained one, parse with it, train another, save it.

Example:
    >>> import structdep_parser as sp
    >>> parser = sp.load("runs/got-mst2-mean-field-nll-1")  # doctest: +SKIP
    >>> [tree] = parser.parse([["ik", "im", "in", "garda"]])  # doctest: +SKIP
    >>> tree.heads.tolist(), tree.relations  # doctest: +SKIP
    ([4, 4, 4, 0], ('nsubj', 'cop', 'case', 'root'))
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from structdep_parser.config import Config
from structdep_parser.data import named_files
from structdep_parser.data.conllu import Sentence, of_words
from structdep_parser.data.held_out import TENTH
from structdep_parser.data.sentence_rows import NoFeatures
from structdep_parser.data.streams import contradiction, groups
from structdep_parser.data.treebank import Treebank
from structdep_parser.parsed import Parsed
from structdep_parser.parsers.decoding import Decoding
from structdep_parser.parsers.registry import check
from structdep_parser.parsers.trained_model import TrainedModel, models_in
from structdep_parser.parsers.trained_parser import GIB, JointParser, TrainedParser
from structdep_parser.training.loggers import Logger

Words = Sequence[str]
KnownHeads = Sequence[int | None]
"""The head of each word, None where it is to be found."""
Files = str | Path | Sequence[str | Path] | Mapping[str, str | Path | Sequence[str | Path]]
"""One file or several, or those of each treebank by its name."""


class Parser:
    """One trained model, or several that parse together; made by `load` and `train`.

    Args:
        models: by name.
        memory: GiB that the charts of a batch may take; a sentence that would take more is parsed by a cheaper exact
            system with the same scores.
        warn: called with a message if the trees are not those of the parser's own system; default: `warnings.warn`.
    """

    def __init__(
        self, models: Mapping[str, TrainedModel], memory: float = 4.0, warn: Callable[[str], None] | None = None
    ) -> None:
        if not memory >= 0:
            raise ValueError(f"memory {memory}: expected a number of GiB, 0 or more")
        self.models, self.memory, self.warn = dict(models), memory * GIB, warn or warnings.warn
        self._parsers: dict[bool | None, TrainedParser | JointParser] = {}

    @property
    def config(self) -> Config:
        """Of the first model."""
        return next(iter(self.models.values())).config

    def parse(self, sentences: Iterable[Words | Sentence], **options: Any) -> list[Parsed]:
        """The trees of sentences, as a list; see `stream`."""
        given = list(sentences)
        known = (isinstance(sentence, Sentence) and (sentence.heads >= 0).any() for sentence in given)
        if options.get("constraints") is True and not any(known):
            self.warn('constraints=True, but no sentence has a known head: read_conllu(path, "partial") reads them')
        return list(self.stream(given, **options))

    def stream(
        self,
        sentences: Iterable[Words | Sentence],
        *,
        constraints: bool | Iterable[KnownHeads] = False,
        single_root: bool | None = None,
        treebank: str | None = None,
        **options: Any,
    ) -> Iterator[Parsed]:
        """The trees of sentences, one after the other, in groups of some 40,000 words.

        Args:
            sentences: each a sequence of words, or a `Sentence` of `read_conllu`.
            constraints: the known heads of each sentence; True for those that `Sentence`s have.
            single_root: whether one word alone depends on the root; default: as in training.
            treebank: the name of the treebank whose vector all words have, where the model was trained on several;
                default: the first one that it was trained on.
            options: `decode` ("argmax", or "mbr" for minimum Bayes risk), `k_best` trees, `probabilities` and `tags`
                (True to compute them), `beam` (the width, of parsers that take one transition at a time).

        Raises:
            ValueError: the parser cannot do what is asked for, or a sentence is wrong.

        Example:
            >>> parser = load("runs/got-mst-nll-1")  # doctest: +SKIP
            >>> for tree in parser.stream(read_conllu("in.conllu"), probabilities=True):  # doctest: +SKIP
            ...     print(tree.to_conllu(), end="")
        """
        decoding = self.check(constraints=bool(constraints), treebank=treebank, **options)
        known = None if isinstance(constraints, bool) else constraints
        parser = self._parser(single_root)
        named = _sentences(sentences, known)
        if treebank is not None:
            named = (replace(sentence, treebank=treebank) for sentence in named)
        for group in groups(named, _refuse):
            for sentence in group if decoding.known else ():
                if told := contradiction(sentence):
                    raise ValueError(told)
            for sentence, trees in zip(group, parser(group, decoding), strict=True):
                yield Parsed(sentence, tuple(trees), decoding.k_best > 1)

    def lacking(self, sentence: Sentence) -> str:
        """Why a sentence cannot be read, if it cannot: a file of features has none of its words."""
        try:
            for model in self.models.values():
                if model.features:
                    model.features.rows(sentence)
        except NoFeatures as error:
            return str(error)
        return ""

    def check(
        self,
        *,
        decode: str = "argmax",
        k_best: int = 1,
        constraints: bool = False,
        probabilities: bool = False,
        tags: bool = False,
        beam: int = 1,
        single_root: bool | None = None,
        treebank: str | None = None,
    ) -> Decoding:
        """What is asked for; ValueError where this parser cannot do it."""
        decoding = Decoding(decode, probabilities, beam, k_best, constraints, tags)
        for model in self.models.values():
            check(model.config, decoding)
            if treebank is not None:
                model.vocabulary.treebank(treebank)
        return decoding

    def save(self, folder: str | Path) -> None:
        """Write the model into a folder, for `load` on any machine; several models get a folder each inside it.

        These have the names of the folders that the models are from, with numbers in front where names repeat.
        """
        names = [Path(name).name for name in self.models]
        for number, (name, model) in enumerate(zip(names, self.models.values(), strict=True), start=1):
            own = name if names.count(name) == 1 else f"{number}-{name}"
            model.save(Path(folder, own) if len(names) > 1 else Path(folder))

    def _parser(self, single_root: bool | None) -> TrainedParser | JointParser:
        if single_root not in self._parsers:
            models = {
                name: model
                if single_root is None
                else replace(model, config=replace(model.config, single_root=single_root))
                for name, model in self.models.items()
            }
            (one, *others) = models.values()
            parser = (
                JointParser(models, self.memory, self.warn) if others else TrainedParser(one, self.memory, self.warn)
            )
            self._parsers[single_root] = parser
        return self._parsers[single_root]


def load(
    *folders: str | Path,
    memory: float = 4.0,
    warn: Callable[[str], None] | None = None,
    vectors: str | Path | None = None,
    features_file: str | Path | None = None,
) -> Parser:
    """The parser in a folder: of a finished run, or a copy of its `model/`. Several parse together.

    `vectors` and `features_file` replace the files that the parser was trained with: the word vectors may have moved,
    and features are of the sentences to parse.

    Raises:
        FileNotFoundError: a folder has no model.
        ValueError: a model is damaged, or of another version.
    """
    models = models_in([Path(folder) for folder in folders])
    files = {"vectors": vectors, "features_file": features_file}
    given: dict[str, Any] = {name: str(path) for name, path in files.items() if path is not None}
    if given:
        models = {name: replace(model, config=replace(model.config, **given)) for name, model in models.items()}
    return Parser(models, memory, warn)


def train(
    train: Files,
    dev: Files = (),
    test: Files = (),
    *,
    folder: str | Path,
    config: Config | None = None,
    logger: Logger | None = None,
    held_out: str = TENTH,
    **choices: Any,
) -> Parser:
    """Train a parser on CoNLL-U files; the same call resumes an interrupted run, and loads a finished one.

    Args:
        train: files to train on; several treebanks as `{"got": FILES, "hu": FILES}`, so that each has a vector, which
            is an input of its words. Then `dev` and `test` are given in the same way, with the same names.
        dev: files that choose the best epoch; without any, every tenth sentence of `train` is kept for that.
        held_out: without `dev`, which sentences of `train` are kept: "2/5" for the second of every five; "none" to
            train on all of them, and take the last epoch.
        test: files that are evaluated at the end.
        folder: of the run: its log, checkpoints, predicted trees, reports, and the model.
        config: all choices; default: `Config()`, with as many epochs as suit the number of words.
        logger: told the figures of each epoch, and finished when training ends.
        choices: fields of `Config`, such as `parser="mst"`, `loss="nll"`, `epochs=30`.

    Example:
        >>> import structdep_parser as sp
        >>> parser = sp.train("train.conllu", "dev.conllu", folder="runs/mine", parser="mst")  # doctest: +SKIP
    """
    from structdep_parser.training.experiment import Experiment

    treebank = Treebank.of_files(_files(train), _files(dev), _files(test))
    if held_out != TENTH:
        treebank = treebank.with_held_out(held_out)
    if unknown := choices.keys() - asdict(Config()).keys():
        raise TypeError(
            f"train has no choice {', '.join(sorted(unknown))}: expected fields of Config, such as epochs=10"
        )
    chosen = {"lang": treebank.lang, **choices}
    made = replace(config, **chosen) if config else Config(**chosen)
    if made.members > 1:
        raise ValueError(f"members={made.members}: train one parser for each seed, and load them together")
    if config is None and "epochs" not in chosen:
        made = made.sized_for(treebank.words())
    experiment = Experiment(made, treebank, folder)
    experiment.train(logger=logger)
    experiment.report()
    return load(folder)


def _files(files: Files) -> named_files.Files:
    return {name: _paths(own) for name, own in files.items()} if isinstance(files, Mapping) else _paths(files)


def _paths(files: str | Path | Sequence[str | Path]) -> list[Path]:
    return [Path(files)] if isinstance(files, str | Path) else [Path(file) for file in files]


def _sentences(given: Iterable[Words | Sentence], known: Iterable[KnownHeads] | None) -> Iterator[Sentence]:
    heads, number = None if known is None else iter(known), 0
    for number, sentence in enumerate(given, start=1):
        own = None if heads is None else next(heads, None)
        if heads is not None and own is None:
            raise ValueError(f"sentence {number} has no constraints: write one list for each sentence")
        if isinstance(sentence, str):
            raise ValueError(f"sentence {number} is text, {sentence!r}, expected a sequence of words: write .split()")
        if isinstance(sentence, Sentence):
            if own is not None:
                raise ValueError(f"{sentence.where}: known heads are those of the sentence: write constraints=True")
            yield sentence
        else:
            yield of_words(sentence, number, own)
    if heads is not None and next(heads, None) is not None:
        raise ValueError(f"there are constraints for more than {number} sentences: write one list for each sentence")


def _refuse(error: ValueError) -> None:
    raise error
