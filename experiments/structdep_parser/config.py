"""What a run is: every choice that its result depends on, with the reason for each value."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from math import inf
from pathlib import Path
from typing import Any

from structdep_parser.choices import LIKELIHOOD, Scheme, Tags
from structdep_parser.files import write_whole

SIZE, EPOCHS = 35_000, 40
"""Words of a training set, and the epochs that suit it."""
EARLIER = {"features": "positions", "start": "init_from"}
"""Names in files of earlier versions, and what they are called now."""


@dataclass(frozen=True)
class Config:
    """The configuration of a run, kept as config.json in its folder.

    The defaults are the recipe of the most accurate single parser in docs/parser/accuracy.md.

    Example:
        >>> Config(lang="got").name
        'got-mst2-mean-field-nll-1'
        >>> Config(lang="got", parser="eisner").name
        'got-eisner-hinge-1'
        >>> Config(lang="got", parser="swap-hybrid", positions=3, oracle="static").name
        'got-swap-hybrid-positions3-static-hinge-1'
        >>> Config(lang="got", parser="mh3", tags="off").name
        'got-mh3-tags-off-hinge-1'
        >>> Config(lang="got", parser="mst", members=4).name
        'got-mst-members4-nll-1'
        >>> Config(seed=2).differences(Config(epochs=9))
        ['seed: 2, not 1', 'epochs: 40, not 9']
    """

    lang: str = "demo"
    parser: str = "mst2-mean-field"
    loss: str = ""  # filled in where none is given: nll for parsers of LIKELIHOOD, hinge for others
    positions: int | None = None  # of a configuration whose vectors a transition parser sees
    oracle: str | None = None  # for these too: dynamic where there is one, unless static is asked for
    seed: int = 1
    members: int = 1  # parsers that are trained apart, each of a seed of its own, and parse together
    pseudo_projective: Scheme | None = None  # the scheme of relations, for parsers of projective trees
    single_root: bool = True  # of trees that are learned and found: UD's rule
    tags: Tags = "stack"  # learned beside the trees, from the same vectors, or from those of a layer below
    init_from: str = ""  # the folder of a run whose weights training starts from, where their shapes agree
    vectors: str = ""  # a file of word vectors, which are inputs beside the words' own
    features_file: str = ""  # a file of any model's features of each sentence, as inputs
    feature_width: int = 0  # of these: filled in when the run begins
    feature_checksum: str = ""  # of those of the words that are trained on: filled in, too
    encoder_layer: str = ""  # a class in place of the BiLSTM, such as my_module:MyLayer
    treebank: str = ""  # its training file and checksum: filled in when the run begins, to tell versions apart

    min_count: int = 2  # forms seen once share a vector, which dropped words train too; the rest have one of their own
    word_vectors: int = 128  # few, because a treebank of 35,000 words trains no more
    treebank_vectors: int = 12  # of each treebank, where several with names are trained on together
    character_vectors: int = 64  # what a letter needs to tell prefixes and endings
    character_states: int = 128  # both directions; inflection is in the form, so as much as the word's own vector
    states: int = 384  # both directions, a layer; wider gains nothing on small treebanks and costs its square
    layers: int = 3  # the first finds what is near and predicts tags, the others relate it
    word_dropout: float = 0.2  # words taken for unknown, so that the characters have to tell
    graft: float = 0.35  # the share of subtrees that give way to others of their kind
    input_dropout: float = 0.33  # on word and character vectors, as in deep biaffine parsers
    state_dropout: float = 0.33  # between layers, one mask a sentence
    recurrent_dropout: float = 0.2  # within layers, one mask a sentence: small treebanks overfit within ten epochs

    scorer_features: int = 256  # of each role (head, dependent, or s1, s0, b0)
    part_features: int = 64  # of each word of a second-order part; their cost is cubic in the length
    labeler_features: int = 64  # of each role; relations need less than attachment
    tag_features: int = 256  # of each word, which the second layer sees where the parser builds on tags
    tag_weight: float = 0.6  # of each tagset, and of lemmas: they are a help for the encoder, not the aim

    epochs: int = EPOCHS  # after these the learning rate is zero; the command fits them to the treebank's size
    sized: bool = field(default=False, compare=False)  # whether the epochs are those that suit the treebank's size
    words_per_batch: int = 250  # few: what counts is the number of steps, and a step costs less than in proportion
    max_shapes: int = 3  # each costs a compilation, about ten seconds for MH_4
    learning_rate: float = 3e-3  # high for Adam, and with small batches better than 2e-3 with large ones
    warm_up: float = 0.05  # of all steps; a hinge loss starts with large steps in random directions
    beta2: float = 0.95  # a short memory for the second moment suits few steps
    weight_decay: float = 1e-4  # decoupled, small: dropout does most
    clip: float = 5.0  # of the gradient's norm
    average: float = 0.998  # decay of the moving average of the weights, which is what is evaluated

    def __post_init__(self) -> None:
        """Raises ValueError for numbers that make no parser, or no training."""
        if not self.loss:
            object.__setattr__(self, "loss", "nll" if self.parser in LIKELIHOOD else "hinge")
        for names, is_sound, expected in RULES:
            for name in names.split():
                if not is_sound(value := getattr(self, name)):
                    raise ValueError(f"{name}={value}: expected {expected}")

    @property
    def choices(self) -> tuple[str, ...]:
        """The parser with all that was chosen of it, and the loss."""
        positions = self.positions and f"positions{self.positions}"
        tags = None if self.tags == "stack" else f"tags-{self.tags}"
        members = f"members{self.members}" if self.members > 1 else None
        warm = "warm" if self.init_from else None
        roots = None if self.single_root else "any-roots"
        inputs = ("vectors" if self.vectors else None, "features" if self.features_file else None)
        layer = self.encoder_layer.rpartition(":")[-1]
        trees = self.parser, positions, self.oracle, self.pseudo_projective, roots
        chosen = *trees, *inputs, layer, tags, members, warm, self.loss
        return tuple(str(value) for value in chosen if value)

    @property
    def alone(self) -> bool:
        """Whether each sentence is read in a line of its own: a layer of the user's takes a line for a sentence."""
        return bool(self.encoder_layer)

    @property
    def name(self) -> str:
        """The run's folder where none is named."""
        return "-".join([self.lang, *self.choices, str(self.seed)])

    def differences(self, other: "Config") -> list[str]:
        """The values that are not the same in `other`."""
        return [f"{name}: {own}, not {there}" for name, (own, there) in self.changes(other).items()]

    def changes(self, other: "Config") -> dict[str, tuple[str, str]]:
        """The names of values that are not the same in `other`, with both values."""
        there, own = asdict(other), asdict(self)
        compared = [each.name for each in fields(self) if each.compare]
        return {name: (_shown(own[name]), _shown(there[name])) for name in compared if own[name] != there[name]}

    def set(self, settings: Iterable[str]) -> "Config":
        """With other numbers, each written as on a command line, but for those with options of their own.

        Raises:
            ValueError: what is no NAME=NUMBER of a name that has a number.

        Example:
            >>> Config().set(["graft=0", "layers=2"]).differences(Config())
            ['layers: 2, not 3', 'graft: 0.0, not 0.35']
            >>> Config().set(["layers=many"])  # doctest: +ELLIPSIS
            Traceback (most recent call last):
            ValueError: --set layers=many: expected a whole number, such as layers=3
        """
        numbers = {name: value for name, value in asdict(self).items() if type(value) in (int, float)}
        numbers = {name: value for name, value in numbers.items() if name not in ("seed", "members", "feature_width")}
        found: dict[str, Any] = {}
        for setting in settings:
            name, _, value = setting.partition("=")
            if name not in numbers:
                raise ValueError(
                    f"--set {setting}: expected NAME=NUMBER, such as layers=2, the names being {', '.join(numbers)}"
                )
            try:
                found[name] = type(numbers[name])(value)
            except ValueError:
                kind = "a whole number" if isinstance(numbers[name], int) else "a number"
                raise ValueError(f"--set {setting}: expected {kind}, such as {name}={numbers[name]}") from None
        return replace(self, **found)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Config":
        """From a dictionary, also that of an earlier version, with its names.

        Example:
            >>> Config.of({"parser": "greedy-mh4", "features": 3}).positions
            3
        """
        return cls(**{EARLIER.get(name, name): value for name, value in values.items()})

    def sized_for(self, words: int) -> "Config":
        """With as many epochs as suit a training set of this many words."""
        return replace(self, epochs=usual_epochs(words), sized=True)

    def write(self, path: Path) -> None:
        write_whole(path, json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def read(cls, path: Path) -> "Config":
        """The configuration in a file; ValueError where that is damaged, or has other names."""
        try:
            return cls.of(json.loads(path.read_text(encoding="utf-8")))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path} cannot be read: {error}") from None

    @property
    def seeds(self) -> range:
        """Those of its members, m of each seed, so that runs share none.

        Example:
            >>> list(Config(seed=3, members=4).seeds)
            [9, 10, 11, 12]
        """
        last = self.seed * self.members
        return range(last - self.members + 1, last + 1)


def usual_epochs(words: int) -> int:
    """How many epochs suit a training set of this many words.

    As many words in all as 40 epochs of 35,000, for smaller sets; for larger ones more, with the root of their size.

    Example:
        >>> [usual_epochs(words) for words in (1_000, 20_000, 35_000, 1_500_000)]
        [100, 70, 40, 6]
    """
    times = SIZE / max(words, 1)
    return min(max(round(EPOCHS * (times if times > 1 else times**0.5)), 5), 100)


def _shown(value: Any) -> str:
    return "none" if value in ("", None) else str(value)


COUNTS = """
    members min_count word_vectors treebank_vectors character_vectors layers scorer_features part_features
    labeler_features tag_features epochs words_per_batch max_shapes
"""
RULES: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    (COUNTS, lambda value: value >= 1, "1 or more"),
    ("states character_states", lambda value: value >= 2 and value % 2 == 0, "an even number, half for each direction"),
    ("word_dropout graft warm_up", lambda value: 0 <= value <= 1, "a share, from 0 to 1"),
    (
        "input_dropout state_dropout recurrent_dropout beta2 average",
        lambda value: 0 <= value < 1,
        "a share, from 0 to less than 1",
    ),
    ("learning_rate clip", lambda value: 0 < value < inf, "a number above 0"),
    ("tag_weight weight_decay", lambda value: 0 <= value < inf, "0 or more"),
    ("feature_width", lambda value: value >= 0, "0 or more"),
    ("seed", lambda value: 0 <= value < 2**32, "a whole number from 0 to 4294967295"),
)
"""What numbers have to be."""


def member_folders(run: Path) -> list[Path]:
    """The folders of a run's members, be they there or not; none where it trains one parser, or is none."""
    path = run / "config.json"
    config = Config.read(path) if path.is_file() else Config()
    return [run / f"seed-{seed}" for seed in config.seeds if config.members > 1]
