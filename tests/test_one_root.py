"""Trees with one root, and `root` as the relation of it alone: in all that is written, whatever was learned."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray
from training_cases import TINY, experiment, random_model, small_treebank
from ud_rules import check_accepted

import structdep as sd
from structdep.trees import is_tree
from structdep_parser.arrays import named
from structdep_parser.cli import ensemble, parse
from structdep_parser.cli import train as train_command
from structdep_parser.config import Config
from structdep_parser.data.conllu import Sentence, read, stream
from structdep_parser.data.corpus import nearest_trees
from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.data.relations import is_root
from structdep_parser.data.vocabulary import Vocabulary
from structdep_parser.parsers.charts import CHARTS
from structdep_parser.parsers.decoding import Decoding
from structdep_parser.parsers.one_root import k_best, log_partition, with_arcs
from structdep_parser.parsers.trained_model import TrainedModel
from structdep_parser.parsers.tree_losses import LOSSES

KNOWN = """\
# sent_id = known-1
1\tak\t_\t_\t_\t_\t0\troot\t_\t_
2\tlukarnastathin\t_\t_\t_\t_\t_\t_\t_\t_
3\tjah\t_\t_\t_\t_\t_\t_\t_\t_
4\tliuteith\t_\t_\t_\t_\t_\t_\t_\t_

# sent_id = known-2
1\tjah\t_\t_\t_\t_\t0\t_\t_\t_
2\tqath\t_\t_\t_\t_\t1\t_\t_\t_
3\tdu\t_\t_\t_\t_\t_\troot\t_\t_
4\tim\t_\t_\t_\t_\t_\t_\t_\t_

"""


@pytest.fixture(scope="module")
def sentences(tmp_path_factory: pytest.TempPathFactory) -> list[Sentence]:
    return read(write_demo_treebank(tmp_path_factory.mktemp("treebank")).dev)[:20]


def as_bytes(sentences: Sequence[Sentence]) -> bytes:
    return "".join("".join(f"{line}\n" for line in (*s.lines, "")) for s in sentences).encode()


def parsed(folders: Sequence[Path], content: bytes, *options: str) -> list[list[list[str]]]:
    sink = io.BytesIO()
    assert parse.main([*map(str, folders), *options], io.BytesIO(content), sink) == 0
    return check_accepted(sink.getvalue())


def with_roots_everywhere(model: TrainedModel) -> TrainedModel:
    """One that has learned that every word is `root`."""
    names = np.array([is_root(name) for name in model.vocabulary.deprels])
    weights = model.weights
    biaffine = weights["labeler"]["biaffine"]["weights"]
    biaffine[...] = biaffine[...].at[:, -1, -1].add(jnp.where(names, 1e3, 0))
    return replace(model, arrays=named(weights))


slow = pytest.mark.slow
PARSERS = ("eisner", "mst2-mean-field", "mst2-greedy", "mh3", "greedy-mh3", "swap-standard")
SLOW = (
    "mst",
    "eisner2",
    "eisner2-grandparents",
    "mh4",
    "1ec1",
    "1ec",
    "arc-eager",
    "mh4-hybrid",
    "greedy-mh4",
    "greedy-eager",
    "swap-hybrid",
)


@pytest.mark.parametrize("parser", [*PARSERS, *(pytest.param(parser, marks=slow) for parser in SLOW)])
def test_every_parser_writes_what_is_accepted(parser: str, sentences: list[Sentence], tmp_path: Path) -> None:
    with_roots_everywhere(random_model(replace(TINY, parser=parser), sentences)).save(tmp_path)
    found = parsed([tmp_path], as_bytes(sentences))
    assert len(found) == len(sentences)


OPTIONS = {
    "MBR": ("--decode", "mbr", "--confidence"),
    "k-best": ("--k-best", "3"),
    "constraints": ("--constraints",),
    "k-best constraints": ("--constraints", "--k-best", "2"),
    "MBR constraints": ("--constraints", "--decode", "mbr"),
    "asked for": ("--single-root",),
}
FAST = ("constraints", "k-best constraints", "MBR constraints")


@pytest.mark.parametrize("options", [*FAST, *(pytest.param(name, marks=slow) for name in OPTIONS if name not in FAST)])
@pytest.mark.parametrize("parser", ["eisner", pytest.param("mst", marks=slow), pytest.param("mh3", marks=slow)])
def test_every_decoding_writes_what_is_accepted(
    parser: str, options: str, sentences: list[Sentence], tmp_path: Path
) -> None:
    with_roots_everywhere(random_model(replace(TINY, parser=parser), sentences)).save(tmp_path)
    first, *_ = parsed([tmp_path], KNOWN.encode(), *OPTIONS[options])
    if "--constraints" in OPTIONS[options]:
        assert first[0][6:8] == ["0", "root"]


@pytest.mark.parametrize("parsers", [("mst", "eisner"), ("mst", "greedy-mh3")])
def test_ensembles_write_what_is_accepted(parsers: Sequence[str], sentences: list[Sentence], tmp_path: Path) -> None:
    small_treebank(tmp_path, tmp_path, "xyz")
    runs = [tmp_path / parser for parser in parsers]
    for run, parser in zip(runs, parsers, strict=True):
        with_roots_everywhere(random_model(replace(TINY, parser=parser, lang="xyz"), sentences)).save(run / "model")
    assert len(parsed(runs, KNOWN.encode())) == 2
    command = [*map(str, runs), "--treebanks", str(tmp_path), "--out", str(tmp_path / "out"), "--by", "votes"]
    assert ensemble.main(command) == 0
    assert len(check_accepted((tmp_path / "out" / "dev.conllu").read_bytes())) == 15


@pytest.mark.parametrize("config", [TINY, replace(TINY, pseudo_projective="head")])
def test_runs_write_what_is_accepted(config: Config, tmp_path: Path) -> None:
    made = experiment(small_treebank(tmp_path, tmp_path), tmp_path / "run", replace(config, epochs=1))
    made.train()
    made.report()
    for split in ("dev", "test"):
        assert len(check_accepted((tmp_path / "run" / f"{split}.conllu").read_bytes())) == 15
    if not config.pseudo_projective:
        made.report(Decoding("mbr"))
        check_accepted((tmp_path / "run" / "dev-mbr.conllu").read_bytes())


@pytest.mark.parametrize("only", ["root", "nsubj", "_"])
def test_vocabularies_without_what_fits(only: str, sentences: list[Sentence], tmp_path: Path) -> None:
    """Also those of earlier versions, which have nothing added."""
    model = random_model(TINY, [replace(s, deprels=(only,) * len(s)) for s in sentences])
    assert set(model.vocabulary.deprels) == {only if only != "_" else "root", "root" if only == "nsubj" else "dep"} | {
        "root"
    }
    old = replace(model.vocabulary, deprels=("_", only) if only != "_" else ("_", "x"))
    weights = random_model(TINY, [replace(s, deprels=("a", "root") + ("a",) * (len(s) - 2)) for s in sentences]).weights
    for own in (model, TrainedModel(TINY, old, named(weights))):
        own.save(tmp_path)
        parsed([tmp_path], KNOWN.encode())


def test_several_roots_where_they_are_asked_for(sentences: list[Sentence], tmp_path: Path) -> None:
    """As a model was trained, or as the option says; a model of earlier versions does not say."""
    model = random_model(replace(TINY, parser="mst", single_root=False), sentences)
    arcs = model.weights["scorer"]["biaffines"][0]["weights"]
    arcs[...] = jnp.zeros_like(arcs[...])
    replace(model, arrays=named(model.weights)).save(tmp_path)
    sink = io.BytesIO()
    assert parse.main([str(tmp_path)], io.BytesIO(as_bytes(sentences)), sink) == 0
    assert any((s.heads == 0).sum() > 1 for s in stream(io.BytesIO(sink.getvalue()), "out"))
    parsed([tmp_path], as_bytes(sentences), "--single-root")
    assert train_command.config(train_command.parser().parse_args(["--lang", "got"])).single_root
    chosen = train_command.config(train_command.parser().parse_args(["--lang", "got", "--no-single-root"]))
    assert not chosen.single_root and "any-roots" in chosen.name


LENGTHS = jnp.array([5, 3, 1])
GOLD = jnp.array([[2, 0, 2, 3, 4], [0, 1, 2, 0, 0], [0, 0, 0, 0, 0]])
charts = pytest.mark.parametrize("name", ["mst", "eisner", "mh3"])


def tables_of(name: str, scale: float = 3.0) -> dict[str, jax.Array]:
    rng, names = np.random.default_rng(5), CHARTS[name].tables
    size = 6 if "arc" in names else 7
    return {table: jnp.asarray(scale * rng.normal(size=(3, size, size)), jnp.float32) for table in names}


Listed = tuple[NDArray[np.int64], NDArray[np.float32]]


def listed(name: str, tables: dict[str, jax.Array]) -> Iterator[Listed]:
    """Of each sentence, the class's trees with one root, and their scores."""
    trees = sd.TreeDistribution(CHARTS[name].once, tables, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        every = sd.trees.all_trees(length, True)
        padded = jnp.zeros((len(every), 3, 5), int).at[:].set(GOLD).at[:, row, :length].set(every)
        scores = np.asarray(trees.score(padded))[:, row]
        yield every[np.isfinite(scores)], scores[np.isfinite(scores)]


@charts
@pytest.mark.parametrize("scale", [0.1, 30.0])
def test_sums_over_trees_with_one_root(name: str, scale: float) -> None:
    tables = with_arcs(tables_of(name, scale))
    value, pull = jax.vjp(lambda s: log_partition(CHARTS[name].once, s, LENGTHS, None, True), tables)
    marginals = np.asarray(pull(jnp.ones(3))[0]["arc"])
    for row, (trees, scores) in enumerate(listed(name, tables)):
        total = np.logaddexp.reduce(scores)
        np.testing.assert_allclose(value[row], total, rtol=1e-5, atol=1e-4)
        for head in range(trees.shape[1] + 1):
            expected = np.exp(scores - total) @ (trees == head)
            np.testing.assert_allclose(marginals[row, head, 1 : trees.shape[1] + 1], expected, atol=2e-4)


@charts
def test_no_tree_with_one_root_has_several_known(name: str) -> None:
    known = jnp.array([[0, -1, 0, -1, -1], [0, -1, -1, 0, 0], [0, 0, 0, 0, 0]])
    found = log_partition(CHARTS[name].once, tables_of(name), LENGTHS, known, True)
    assert np.isneginf(found).tolist() == [True, False, False]


@charts
def test_the_k_best_with_one_root(name: str) -> None:
    tables = with_arcs(tables_of(name))
    found = np.asarray(k_best(4, sd.TreeDistribution(CHARTS[name].once, tables, LENGTHS), True))
    for row, (trees, scores) in enumerate(listed(name, tables)):
        best = trees[np.argsort(-scores)[:4]]
        np.testing.assert_array_equal(found[: len(best), row, : trees.shape[1]], best)
        assert (found[len(best) :, row, : trees.shape[1]] == -1).all()


@charts
@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_are_of_trees_with_one_root_that_have_what_is_known(name: str, loss: str, is_whole: bool) -> None:
    """Against all trees."""
    chart, tables = CHARTS[name], tables_of(name)
    gold = GOLD if is_whole else GOLD.at[0, 1:4].set(-1)
    system = chart.best if loss == "hinge" else chart.once
    value, slope = jax.value_and_grad(lambda s: LOSSES[loss](system, True, is_whole, s, gold, LENGTHS).sum())(tables)
    expected = 0.0
    for heads, (every, scores) in zip(np.asarray(gold), listed(name, tables), strict=True):
        own = heads[: every.shape[1]]
        has_known = ((own < 0) | (every == own)).all(-1)
        if loss == "nll":
            expected += np.logaddexp.reduce(scores) - np.logaddexp.reduce(scores[has_known])
        else:
            cost = ((own >= 0) & (every != own)).sum(-1)
            expected += (scores + cost).max() - scores[has_known].max()
    np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-4)
    assert all(np.isfinite(own).all() for own in slope.values())


def test_trees_to_learn_have_one_root(sentences: list[Sentence]) -> None:
    flat = [replace(s, heads=0 * s.heads) for s in sentences]
    vocabulary = Vocabulary.of(sentences)
    for name in ("mst", "eisner"):
        assert all(is_tree(h, single_root=True) for h in nearest_trees(flat, vocabulary, CHARTS[name].arcs, True))
    assert all((h == 0).all() for h in nearest_trees(flat, vocabulary, CHARTS["mst"].arcs, False))
