"""What a run is: numbers that make no parser are told, and one run has one configuration."""

from pathlib import Path

import pytest

from structdep_parser.cli import train as train_command
from structdep_parser.config import COUNTS, RULES, Config, usual_epochs
from structdep_parser.data.conllu import read
from structdep_parser.data.demo_treebank import write_demo_treebank


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("states=7", "an even number, half for each direction"),
        ("states=0", "an even number"),
        ("words_per_batch=0", "1 or more"),
        ("graft=1.5", "a share, from 0 to 1"),
        ("input_dropout=1", "a share, from 0 to less than 1"),
        ("learning_rate=0", "a number above 0"),
        ("learning_rate=nan", "a number above 0"),
        ("clip=inf", "a number above 0"),
        ("weight_decay=-1", "0 or more"),
    ],
)
def test_numbers_that_make_no_parser_are_told(setting: str, expected: str) -> None:
    name = setting.split("=")[0]
    with pytest.raises(ValueError, match=rf"{name}=\S+: expected {expected}"):
        Config().set([setting])


def test_a_seed_fits_the_generator() -> None:
    with pytest.raises(ValueError, match="seed=4294967296: expected a whole number from 0 to 4294967295"):
        Config(seed=2**32)


@pytest.mark.parametrize("name", COUNTS.split())
def test_counts_are_of_something(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}=0: expected 1 or more"):
        Config(**{name: 0})


def test_all_numbers_have_a_rule() -> None:
    numbers = {name for name, value in vars(Config()).items() if type(value) in (int, float)}
    assert numbers == {name for names, *_ in RULES for name in names.split()}


def config_of(*options: str) -> Config:
    return train_command.config(train_command.parser().parse_args(["--lang", "got", *options]))


def test_a_folder_to_start_from_has_one_name() -> None:
    chosen = [["--init-from", start] for start in ("runs/a", "runs/a/", "./runs//a")]
    assert len({config_of(*start) for start in chosen}) == 1
    assert config_of().init_from == ""


def test_epochs_follow_the_number_of_words_where_none_are_asked_for(tmp_path: Path) -> None:
    treebank = write_demo_treebank(tmp_path)
    assert treebank.words() == sum(map(len, read(treebank.train)))
    for asked, epochs in (([], usual_epochs(treebank.words())), (["--epochs", "7"], 7), (["--set", "epochs=8"], 8)):
        options = train_command.parser().parse_args(["--lang", "demo", *asked])
        assert train_command.fitted(train_command.config(options), options, treebank).epochs == epochs


def test_the_defaults_are_the_recipe_of_the_most_accurate_parser() -> None:
    """The first row of the means in docs/parser/accuracy.md."""
    recipe = ["layers=3", "tag_weight=0.6", "tag_features=256", "graft=0.35", "max_shapes=3"]
    written = ["--parser", "mst2-mean-field", "--loss", "nll", "--epochs", "40", "--set", *recipe]
    assert config_of() == config_of(*written) == Config(lang="got")
    assert [Config(parser=name).loss for name in ("mst", "mh4-hybrid", "greedy-mh4")] == ["nll", "hinge", "hinge"]
    assert config_of("--parser", "mst", "--loss", "hinge").loss == "hinge"
