"""Runs on a small treebank: training learns, resumes, repeats itself, and leaves what it says."""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from flax import nnx
from training_cases import TINY, experiment, losses, small_treebank

import demo
from structdep.testing import derivation_scores
from structdep.transitions import mh4, static_oracle
from structdep.trees import is_projective
from structdep_parser.arrays import named
from structdep_parser.choices import LOSSES
from structdep_parser.cli import train as train_command
from structdep_parser.config import Config
from structdep_parser.data.corpus import nearest_trees
from structdep_parser.data.lines import one_a_line
from structdep_parser.data.treebank import Treebank, read
from structdep_parser.data.vocabulary import Vocabulary
from structdep_parser.evaluation.report import Report
from structdep_parser.evaluation.scores import evaluate
from structdep_parser.nn.compiled import Compiled, cache_programs
from structdep_parser.nn.encoder import BiLSTM
from structdep_parser.parsers.chart_parsers import ChartParser
from structdep_parser.parsers.charts import CHARTS
from structdep_parser.parsers.decoding import Decoding
from structdep_parser.parsers.prediction import Predictions
from structdep_parser.parsers.trained_model import TrainedModel
from structdep_parser.parsers.transition_targets import Exploration
from structdep_parser.training.experiment import Experiment
from structdep_parser.training.run_treebank import check_source
from structdep_parser.training.runs import Run
from structdep_parser.training.step import State


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Treebank:
    return small_treebank(tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("part"))


@pytest.fixture(scope="module")
def finished(treebank: Treebank, tmp_path_factory: pytest.TempPathFactory) -> tuple[Experiment, Report]:
    """A whole run, with its report."""
    made = experiment(treebank, tmp_path_factory.mktemp("runs") / "finished")
    made.train()
    return made, made.report()


def without_times(log: list[dict[str, float]]) -> list[dict[str, float]]:
    return [{name: entry[name] for name in ("epoch", "step", "loss", "uas", "las")} for entry in log]


def last_state(made: Experiment) -> list[np.ndarray]:
    _, state = made.run.last(made.trainer.start())
    return [np.asarray(leaf) for leaf in jax.tree.leaves(state)]


SLOW = [(parser, loss) for parser in ("mh4", "1ec1", "1ec", "mh4-hybrid-arcs") for loss in LOSSES]
SLOW += [
    ("mh4-two", "hinge"),
    ("eisner2", "hinge"),
    ("eisner2-grandparents", "hinge"),
    *((parser, "nll") for parser in ("mh4-two", "mh4-hybrid", "arc-eager")),
]
TRAINED = [
    pytest.param(parser, loss, marks=[pytest.mark.slow] * ((parser, loss) in SLOW))
    for parser in CHARTS
    for loss in LOSSES
    if (parser, loss) != ("mst2-greedy", "nll")
]


@pytest.mark.parametrize(("parser", "loss"), TRAINED)
def test_a_few_steps_lower_the_loss(parser: str, loss: str, treebank: Treebank, tmp_path: Path) -> None:
    found = losses(treebank, tmp_path, replace(TINY, parser=parser, loss=loss))
    assert np.isfinite(found).all() and found[-1] < 0.85 * found[0]


def test_training_learns(finished: tuple[Experiment, Report]) -> None:
    log = finished[0].run.log()
    assert [entry["epoch"] for entry in log] == [1, 2, 3]
    assert log[-1]["loss"] < 0.9 * log[0]["loss"] and all(0 < entry["uas"] <= 100 for entry in log)
    assert all(entry["sentences_per_second"] > 0 and entry["minutes"] > 0 for entry in log)


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not(
    treebank: Treebank, tmp_path: Path, finished: tuple[Experiment, Report]
) -> None:
    for _ in range(TINY.epochs):
        experiment(treebank, tmp_path / "run").train(minutes=0)
    resumed = experiment(treebank, tmp_path / "run")
    assert without_times(resumed.run.log()) == without_times(finished[0].run.log())
    for here, there in zip(last_state(resumed), last_state(finished[0]), strict=True):
        np.testing.assert_array_equal(here, there)


def test_a_log_line_without_its_checkpoint_is_written_anew(treebank: Treebank, tmp_path: Path) -> None:
    killed = experiment(treebank, tmp_path / "run")
    killed.train(minutes=0)
    killed.run._write_log([*killed.run.log(), killed.run.log()[0] | {"epoch": 2}])
    part = killed.run.checkpoints / ".2.safetensors.a1b2"
    part.write_bytes(b"half of it")
    experiment(treebank, tmp_path / "run").train(minutes=0)
    assert [entry["epoch"] for entry in killed.run.log()] == [1, 2] and not part.exists()


def test_same_seed_same_result_other_seed_other(
    treebank: Treebank, tmp_path: Path, finished: tuple[Experiment, Report]
) -> None:
    again = experiment(treebank, tmp_path / "again")
    other = experiment(treebank, tmp_path / "other", replace(TINY, seed=2))
    again.train(minutes=0)
    other.train(minutes=0)
    first = without_times(finished[0].run.log())[0]
    assert without_times(again.run.log()) == [first] != without_times(other.run.log())


def test_a_run_begins_with_what_another_has_learned(
    treebank: Treebank, finished: tuple[Experiment, Report], tmp_path: Path
) -> None:
    folder = finished[0].run.folder
    learned = named(TrainedModel.load(folder).weights)
    config = replace(TINY, parser="mh3", init_from=str(folder), seed=2)
    begun = named(experiment(treebank, tmp_path / "begun", config).trainer.start().parameters)
    fresh = named(experiment(treebank, tmp_path / "fresh", replace(config, init_from="")).trainer.start().parameters)
    for name, array in begun.items():
        assert (array == (fresh if name.startswith("['scorer']") else learned)[name]).all()
    with pytest.raises(ValueError, match=r"other words, tags or relations: .* same treebank, with min_count=2"):
        experiment(treebank, tmp_path / "words", replace(config, min_count=9))
    with pytest.raises(ValueError, match=f"its encoder has other sizes: write --set states={TINY.states}"):
        experiment(treebank, tmp_path / "sizes", replace(config, states=2 * TINY.states))
    with pytest.raises(ValueError, match=r"encoder has no \['encoder'\]\['layers'\].* of this shape: give both runs"):
        experiment(treebank, tmp_path / "tags", replace(config, layers=2))
    with pytest.raises(
        ValueError, match=r"that run is about other 12ab, this one about .*: give one of the same files"
    ):
        check_source(replace(config, treebank="other 12ab"), treebank, "runs/other")
    gone = replace(finished[0].config, init_from=str(tmp_path / "gone"))
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*gone"):
        experiment(treebank, tmp_path / "new", gone)
    shutil.copytree(folder, tmp_path / "copy")
    gone.write(tmp_path / "copy" / "config.json")
    goes_on = experiment(treebank, tmp_path / "copy", gone)
    assert goes_on.run.last(goes_on.trainer.start())[0] == finished[0].config.epochs


@pytest.mark.parametrize("parser", ["eisner", "mh4", "1ec1", "1ec", "mh4-hybrid-arcs"])
def test_parsers_of_arcs_begin_with_the_arcs_of_another(parser: str) -> None:
    learned, own = (_shapes(name) for name in ("mst", parser))
    assert learned.items() <= own.items()


def _shapes(parser: str) -> dict[str, tuple[int, ...]]:
    """Those of the arrays of its scorer, by their names."""
    scorer = ChartParser(CHARTS[parser], "hinge").scorer(TINY, rngs=nnx.Rngs(0))
    return {name: array.shape for name, array in named(nnx.state(scorer)).items()}


def test_a_folder_holds_one_configuration(treebank: Treebank, finished: tuple[Experiment, Report]) -> None:
    folder = finished[0].run.folder
    with pytest.raises(
        ValueError, match=r"holds a run with seed=1, states=32, but this command has seed=9, .*: write --name"
    ):
        experiment(treebank, folder, replace(TINY, seed=9, states=64))
    with pytest.raises(
        ValueError, match=r"a run on demo-ud-train.conllu \w*, but this command has --train demo-ud-dev"
    ):
        experiment(replace(treebank, train=treebank.dev), folder)
    assert replace(Config.read(folder / "config.json"), treebank="") == TINY


def test_what_was_damaged_is_refused_by_name(
    treebank: Treebank, tmp_path: Path, finished: tuple[Experiment, Report]
) -> None:
    """One bit of the weights suffices. Trees to train on are found anew, and without a checkpoint, so is all."""
    folder = tmp_path / "run"
    shutil.copytree(finished[0].run.folder, folder)
    run, log = Run(folder, finished[0].config), (folder / "log.jsonl").read_bytes()
    for name in ("trees.npz", "log.jsonl"):
        (folder / name).write_bytes((folder / name).read_bytes()[:-9])
    assert run.trees() is None
    with pytest.raises(ValueError, match=r"log\.jsonl is damaged"):
        run.log()
    weights = folder / "checkpoints" / "3.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:-1000] + bytes([content[-1000] ^ 1]) + content[-999:])
    (folder / "log.jsonl").unlink()
    with pytest.raises(ValueError, match=r"log\.jsonl has no line of epoch 3, which was saved: delete checkpoints/"):
        Run(folder, finished[0].config).last(finished[0].trainer.start())
    (folder / "log.jsonl").write_bytes(log)
    with pytest.raises(
        ValueError, match=r"3\.safetensors is damaged: its checksum is another\): delete it, and the same"
    ):
        Run(folder, finished[0].config).last(finished[0].trainer.start())
    weights.write_bytes(b"")
    with pytest.raises(
        ValueError, match=r"the checkpoint .*checkpoints/3\.safetensors cannot be read \(.*\): delete it"
    ):
        Run(folder, finished[0].config).last(finished[0].trainer.start())
    shutil.rmtree(folder / "checkpoints")
    (folder / "checkpoints" / "3").mkdir(parents=True)
    with pytest.raises(
        ValueError, match=r"3 is a checkpoint of an earlier version: delete checkpoints/, .*model/ still"
    ):
        Run(folder, finished[0].config).last(finished[0].trainer.start())
    shutil.rmtree(folder / "checkpoints")
    assert Run(folder, finished[0].config).last(finished[0].trainer.start())[0] == 0


def test_a_best_epoch_that_is_lost_is_not_another(tmp_path: Path, finished: tuple[Experiment, Report]) -> None:
    run, state = Run(tmp_path, finished[0].config), finished[0].trainer.start()
    for epoch, uas in enumerate((90.0, 80.0, 85.0), start=1):
        run.save(epoch, state, {"minutes": 1.0, "loss": 1.0, "uas": uas, "las": uas})
    assert run.best(state)[0] == 1
    assert sorted(path.name for path in run.checkpoints.iterdir()) == ["1.safetensors", "3.safetensors"]
    (run.checkpoints / "1.safetensors").unlink()
    with pytest.raises(ValueError, match="checkpoints lacks epoch 1, the best of the log: delete checkpoints/"):
        Run(tmp_path, finished[0].config).best(state)


def test_two_processes_do_not_train_one_run(tmp_path: Path, finished: tuple[Experiment, Report]) -> None:
    with Run(tmp_path, TINY).alone():
        with Run(tmp_path / "other", TINY).alone():
            pass
        with (
            pytest.raises(ValueError, match=rf"another process trains {tmp_path}: wait until it ends, or write --name"),
            Run(tmp_path, TINY).alone(),
        ):
            pass
    with Run(tmp_path, TINY).alone():
        pass


def test_a_full_disk_is_told(
    tmp_path: Path, finished: tuple[Experiment, Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, state = Run(tmp_path, finished[0].config), finished[0].trainer.start()
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1000))
    with pytest.raises(
        OSError, match=r"checkpoints/1\.safetensors cannot be written \(0\.0 MB are free .* takes 1\.\d\): when"
    ):
        run.save(1, state, {"minutes": 1.0, "loss": 1.0, "uas": 50.0, "las": 50.0})
    monkeypatch.undo()
    assert Run(tmp_path, finished[0].config).last(state)[0] == 0 and run.log() == []


def test_the_best_epoch_is_reported(finished: tuple[Experiment, Report]) -> None:
    made, report = finished
    best = max(made.run.log(), key=lambda entry: entry["uas"])
    assert made.run.log()[report.training.best_epoch - 1]["uas"] == best["uas"]
    assert 100 * report.evaluations["dev"].all.uas == pytest.approx(best["uas"])


def test_predicted_files_keep_everything_else(treebank: Treebank, finished: tuple[Experiment, Report]) -> None:
    made, report = finished
    for split in ("dev", "test"):
        gold, predicted = getattr(treebank, split), made.run.folder / f"{split}.conllu"
        pairs = list(zip(*(path.read_text(encoding="utf-8").splitlines() for path in (gold, predicted)), strict=True))
        words = [(one.split("\t"), other.split("\t")) for one, other in pairs if re.match(r"\d+\t", one)]
        assert all(one == other for one, other in pairs if not re.match(r"\d+\t", one))
        assert all(one[:6] + one[8:] == other[:6] + other[8:] for one, other in words)
        assert any("-" in one.split("\t")[0] for one, _ in pairs) and any(one.startswith("#") for one, _ in pairs)
        right = sum(one[6] == other[6] for one, other in words)
        assert report.evaluations[split].all.uas_correct == right and len(read(predicted)) == 15


def test_decoding_by_risk_and_with_confidence(
    treebank: Treebank, finished: tuple[Experiment, Report], tmp_path: Path
) -> None:
    """The probabilities in the file are those of its arcs; the tree of least risk has more of them to be expected."""
    folder = tmp_path / "run"
    shutil.copytree(finished[0].run.folder, folder)
    before = (folder / "report.md").read_bytes()
    made = experiment(treebank, folder)
    risk = made.report(Decoding("mbr", confidence=True))
    assert (folder / "report.md").read_bytes() == before and (folder / "test-mbr.conllu").is_file()
    best = made.report(Decoding(confidence=True))
    sums = {}
    for ending, report in (("", best), ("-mbr", risk)):
        found = read(folder / f"dev{ending}.conllu")
        misc = [[dict(re.findall(r"(\w+Prob)=([^|]+)", word)) for word in sentence.misc] for sentence in found]
        arcs = np.array([float(word["ArcProb"]) for words in misc for word in words])
        trees = [float(first["TreeProb"]) for first, *_ in misc]
        starts = np.cumsum([0, *map(len, misc)])[:-1]
        assert len(trees) == 15 and (0 <= arcs).all() and (arcs <= 1).all() and max(trees) <= 1
        assert all(tree <= least + 1e-4 for tree, least in zip(trees, np.minimum.reduceat(arcs, starts), strict=True))
        calibration = report.calibrations["dev"]
        assert calibration.words.sum() == len(arcs)
        np.testing.assert_allclose(np.nansum(calibration.words * calibration.probability), arcs.sum(), rtol=1e-3)
        assert f"error: {100 * calibration.error:.2f} %" in (folder / f"report{ending}.md").read_text(encoding="utf-8")
        assert (folder / f"calibration{ending}.svg").read_text(encoding="utf-8").startswith("<?xml")
        sums[ending] = arcs.sum()
    assert sums["-mbr"] >= sums[""] - 1e-2


@pytest.mark.parametrize("parser", ["eisner", "mh3", pytest.param("mh4-hybrid", marks=pytest.mark.slow)])
def test_probabilities_of_decoded_trees(parser: str) -> None:
    """Against all trees: exp(log-probability), and marginals."""
    rng, (batch, words) = np.random.default_rng(3), (2, 3)
    pairs = CHARTS[parser].pairs
    size = words + (1 if parser == "eisner" else 2)
    tables = {
        name: rng.normal(size=(batch, size, size)).astype(np.float32) for names in pairs.values() for name in names
    }
    lengths = np.array([3, 2], np.int32)
    (decoded,) = ChartParser(CHARTS[parser], "nll", one_root=False).decoder()(
        tables, lengths, Decoding(confidence=True)
    )
    assert decoded.arcs is not None and decoded.trees is not None
    for row, length in enumerate(lengths.tolist()):
        scored = list(derivation_scores(CHARTS[parser].once, length, {n: t[row] for n, t in tables.items()}))
        totals = np.array([total for *_, total in scored])
        p = np.exp(totals - np.logaddexp.reduce(totals))
        heads = np.array([heads for _, heads, _ in scored])
        assert decoded.heads[row, :length].tolist() == heads[p.argmax()].tolist()
        np.testing.assert_allclose(decoded.trees[row], p.max(), rtol=1e-4)
        arcs = (p[:, None] * (heads == heads[p.argmax()])).sum(0)
        np.testing.assert_allclose(decoded.arcs[row, :length], arcs, rtol=1e-4)


def test_reports_say_what_was_measured(finished: tuple[Experiment, Report]) -> None:
    made, report = finished
    values = json.loads((made.run.folder / "report.json").read_text(encoding="utf-8"))
    assert values["results"]["test"]["groups"]["all"]["uas"] == 100 * report.evaluations["test"].all.uas
    assert values["seconds"]["training"]["compiling"] > 0 and values["seconds"]["evaluation"]["compiling"] > 0
    assert values["seconds"]["test"]["scoring"] > 0 and values["seconds"]["test"]["decoding"] > 0
    text = (made.run.folder / "report.md").read_text(encoding="utf-8")
    assert f"| all | {report.evaluations['dev'].all.total} | {100 * report.evaluations['dev'].all.uas:.2f} |" in text


def test_reports_tell_how_well_tags_are_predicted(finished: tuple[Experiment, Report]) -> None:
    for split in ("dev", "test"):
        found = finished[1].evaluations[split].tags
        assert list(found) == ["UPOS", "XPOS and features"] and found["UPOS"] >= found["XPOS and features"] > 5
        assert f"Right tags, UPOS: {found['UPOS']:.2f} %." in finished[1].to_markdown()


@pytest.mark.slow
def test_parsers_build_on_tags(treebank: Treebank, finished: tuple[Experiment, Report], tmp_path: Path) -> None:
    """What tags are predicted from is beside the states of the first layer, and learned."""
    config = replace(TINY, tags="stack", layers=2, tag_features=6)
    made = experiment(treebank, tmp_path / "run", config)
    before = made.trainer.parameters["encoder"]["tag_features"]["kernel"][...].copy()
    assert before.shape == (TINY.states, 6)
    made.train()
    _, state = made.run.last(made.trainer.start())
    assert abs(state.parameters["encoder"]["tag_features"]["kernel"][...] - before).max() > 1e-3
    assert made.report().evaluations["dev"].tags["UPOS"] > 20


def test_building_on_tags_needs_a_layer_above(treebank: Treebank, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="needs a layer above that of tags, but layers is 1: write 2"):
        experiment(treebank, tmp_path / "run", replace(TINY, tags="stack"))


@pytest.mark.slow
def test_tags_may_be_left_out(treebank: Treebank, finished: tuple[Experiment, Report], tmp_path: Path) -> None:
    """The model then lacks their layers alone."""
    without = experiment(treebank, tmp_path / "run", replace(TINY, tags="off", epochs=1))
    kept, all_ = (set(made.trainer.parameters) for made in (without, finished[0]))
    assert all_ - kept == {"tag_scorer"} and kept < all_
    without.train()
    report = without.report()
    assert report.evaluations["dev"].tags == {} and "Right tags" not in report.to_markdown()


def test_evaluation_counts_by_gold_arc(treebank: Treebank) -> None:
    sentences = read(treebank.dev)
    flat = evaluate(sentences, Predictions([0 * s.heads for s in sentences], [("root",) * len(s) for s in sentences]))
    groups, words = flat.groups, sum(map(len, sentences))
    assert groups["root"].las == 1 and flat.all.uas_correct == groups["root"].total and flat.exact == 0
    assert groups["crossing"].total + groups["not crossing"].total == flat.all.total == words
    assert sum(groups[name].total for name in groups if name.startswith("length")) == words - groups["root"].total
    perfect = evaluate(sentences, Predictions([s.heads for s in sentences], [s.deprels for s in sentences]))
    assert perfect.exact == len(sentences) and all(c.las == 1 for c in perfect.groups.values() if c.total)


def test_nearest_trees_are_the_sentences_own_within_the_class(treebank: Treebank) -> None:
    sentences = read(treebank.train)
    vocabulary = Vocabulary.of(sentences)
    projective = nearest_trees(sentences, vocabulary, CHARTS["eisner"].arcs)
    for sentence, tree in zip(sentences, projective, strict=True):
        assert is_projective(tree) and (is_projective(sentence.heads) == (tree == sentence.heads).all())
    mh4 = nearest_trees(sentences, vocabulary, CHARTS["mh4-two"].arcs)
    assert all((tree == sentence.heads).all() for sentence, tree in zip(sentences, mh4, strict=True))


def test_lstm_states_do_not_depend_on_padding() -> None:
    layer = BiLSTM(3, 8, 0.0, rngs=nnx.Rngs(0))
    x, lengths = jax.random.normal(jax.random.key(0), (2, 5, 3)), np.array([5, 3])
    longer = np.pad(x, ((0, 0), (0, 2), (0, 0)), constant_values=7.0)
    states, again = layer(x, one_a_line(lengths, 5), None), layer(longer, one_a_line(lengths, 7), None)
    np.testing.assert_allclose(states, again[:, :5], atol=1e-6)
    np.testing.assert_allclose(states[1, :3], layer(x[1:, :3], one_a_line(lengths[1:], 3), None)[0], atol=1e-6)


@pytest.mark.parametrize("rngs", [None, nnx.Rngs(1)])
def test_sequences_in_a_line_do_not_see_each_other(rngs: nnx.Rngs | None) -> None:
    """Nor do their gradients; each has a mask of dropout of its own, the same at all places."""
    layer = BiLSTM(3, 8, 0.5 if rngs else 0.0, rngs=nnx.Rngs(0))
    x, start = jax.random.normal(jax.random.key(0), (2, 6, 3)), np.array([[0, 0, 2, 2, 2, 5], [6, 6, 6, 6, 10, 10]])

    def states(x: jax.Array) -> jax.Array:
        return layer(x, start, rngs and nnx.Rngs(1))

    seen = jax.jacobian(lambda x: states(x).sum(-1))(x)
    for place in np.ndindex(start.shape):
        assert (np.abs(seen[place]).sum(-1) > 0).tolist() == (start == start[place]).tolist()
    if rngs is None:
        np.testing.assert_allclose(states(x)[0, 2:5], layer(x[:1, 2:5], np.zeros((1, 3), int), None)[0], atol=1e-6)


def test_programs_are_not_kept_where_nobody_has_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without HOME, of a user who has no entry in the password file."""

    def unknown(user: int) -> None:
        raise KeyError(user)

    before = jax.config.jax_compilation_cache_dir
    for variable in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    jax.config.update("jax_compilation_cache_dir", None)
    try:
        cache_programs()
        assert jax.config.jax_compilation_cache_dir is None
    finally:
        jax.config.update("jax_compilation_cache_dir", before)


def test_functions_are_compiled_once_a_shape() -> None:
    double = Compiled(lambda x: 2 * x)
    for size in (2, 3, 2, 3):
        assert double(np.ones(size)).shape == (size,)
    assert len(double.programs) == 2 and double.seconds > 0 and double.spent > 0


def test_functions_are_compiled_once_for_what_is_static() -> None:
    """The same arrays with room for other numbers of steps."""
    gold, room = static_oracle(mh4()).gold([2, 0]), Compiled(lambda target: np.zeros(target.steps))
    assert [room(Exploration(gold, steps)).shape for steps in (4, 5, 4)] == [(4,), (5,), (4,)]
    assert len(room.programs) == 2


def test_demo_trains_both_parsers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = replace(TINY, epochs=1, words_per_batch=1000)
    assert demo.main(["--runs", str(tmp_path)], config, ("eisner", "mh3")) == 0
    printed = capsys.readouterr().out
    epochs = [line for line in printed.splitlines() if line.startswith("epoch   1/1") and "dev UAS" in line]
    assert "crossing arcs" in printed and len(epochs) == 2
    assert (tmp_path / "demo" / "mh3" / "report.md").is_file()
    assert demo.main(["--runs", str(tmp_path)], replace(config, epochs=2), ("eisner",)) == 1
    assert "demo.py: " in (told := capsys.readouterr().err) and "epochs=1, but this command has epochs=2" in told


@pytest.fixture
def small_defaults(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The command line with a model that trains in seconds."""
    monkeypatch.setattr(train_command, "Config", lambda **chosen: replace(TINY, layers=2, **chosen))
    yield


def test_command_line_trains_and_resumes(
    small_defaults: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["--lang", "demo", "--parser", "eisner", "--epochs", "2", "--runs", str(tmp_path), "--name", "short"]
    told: list[int] = []
    module = ModuleType("stand_in")
    vars(module).update(init=lambda **_: None, log=lambda values, step: told.append(step), finish=lambda: None)
    monkeypatch.setitem(sys.modules, "stand_in", module)
    assert train_command.main([*command, "--minutes", "0", "--logger", "stand_in"]) == 0
    assert len(told) == 1 and capsys.readouterr().out.startswith("structdep train: eisner; loading JAX\n")
    assert train_command.main(command) == 0
    assert "resuming after epoch 1 of 2" in capsys.readouterr().out
    assert train_command.main(command) == 0 and "finished already" in (printed := capsys.readouterr().out)
    assert [entry["epoch"] for entry in map(json.loads, (tmp_path / "short" / "log.jsonl").open())] == [1, 2]
    assert "Exact match" in printed
    assert train_command.main([*command, "--seed", "3"]) == 1
    assert "holds a run with seed=1, but this command has seed=3: write --name" in capsys.readouterr().err
    assert train_command.main([*command, "--set", "graft=0.5", "states=64"]) == 1
    assert "states=32, graft=0.15, but this command has states=64, graft=0.5" in capsys.readouterr().err


def test_command_line_trains_greedily_and_evaluates_a_beam(
    small_defaults: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--lang", "demo", "--parser", "greedy-mh3", "--positions", "3", "--epochs", "1", "--runs", str(tmp_path)]
    assert train_command.main(command) == 0
    folder = tmp_path / "demo-greedy-mh3-positions3-hinge-1"
    before = (folder / "report.md").read_bytes()
    assert train_command.main([*command, "--beam", "2"]) == 0
    assert (folder / "report.md").read_bytes() == before and (folder / "report-beam2.md").is_file()
    assert "argmax, beam 2" in capsys.readouterr().out
    assert len(read(folder / "dev-beam2.conllu")) == len(read(folder / "dev.conllu"))
    assert train_command.main([*command, "--confidence"]) == 1
    assert "--confidence: that takes a search of all trees" in capsys.readouterr().err


def test_pseudo_projective_trees_are_decoded(treebank: Treebank, tmp_path: Path) -> None:
    """What is learned is projective, with marked relations; what is predicted has crossing arcs, and none of them."""
    made = experiment(treebank, tmp_path, replace(TINY, pseudo_projective="head", epochs=25))
    assert all(is_projective(sentence.heads) for sentence in made.corpus.splits["train"])
    assert any("|" in deprel for deprel in made.corpus.vocabulary.deprels)
    made.train()
    made.report()
    predicted = read(tmp_path / "dev.conllu")
    assert not any("|" in deprel for sentence in predicted for deprel in sentence.deprels)
    assert not all(is_projective(sentence.heads) for sentence in predicted)


def test_command_line_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = ["--runs", str(tmp_path / "runs")]
    assert train_command.main(["--lang", "got", "--treebanks", str(tmp_path), *runs]) == 1
    assert "looked for got-ud-train.conllu" in capsys.readouterr().err
    assert train_command.main(["--lang", "got", "--download", *runs]) == 1
    assert "write --ud-version, such as 2.0" in capsys.readouterr().err
    assert train_command.main(["--lang", "got", "--set", "parser=2", *runs]) == 1
    assert "--set parser=2: expected NAME=NUMBER, such as layers=2" in capsys.readouterr().err
    assert train_command.main(["--lang", "demo", "--processes", "2", "--process", "1", *runs]) == 1
    assert "--processes and --process number processes that meet: write --coordinator" in capsys.readouterr().err
    assert train_command.main(["--lang", "demo", "--members", "2", "--coordinator", "localhost:1", *runs]) == 1
    assert "--members with --coordinator or --distributed: train each parser by itself" in capsys.readouterr().err
    for wrong in (["--parser", "mh5"], ["--loss", "mse"]):
        with pytest.raises(SystemExit):
            train_command.main([*wrong, "--lang", "got"])
    assert train_command.main(runs) == 1
    assert "no treebank: write --lang CODE, or --train FILE for files of your own" in capsys.readouterr().err
    assert train_command.main(["--lang", "got", "--dev", "a.conllu", *runs]) == 1
    assert "--dev and --test belong to files of your own: write --train FILE" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_help_tells_where_treebanks_are_looked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        train_command.main(["--help"])
    text = capsys.readouterr().out
    assert exit_.value.code == 0 and "$STRUCTDEP_TREEBANKS" in text and "mh4-hybrid" in text


def test_a_state_is_a_pytree(finished: tuple[Experiment, Report]) -> None:
    state = finished[0].trainer.start()
    assert isinstance(jax.tree.map(lambda leaf: leaf, state), State)


def test_programs_do_not_depend_on_seeds_epochs_and_learning_rates(
    treebank: Treebank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a run with others finds them in the cache."""
    texts: list[list[str]] = []
    for number, config in enumerate((TINY, replace(TINY, seed=2, epochs=7, learning_rate=1e-3, warm_up=0.3))):
        trainer = experiment(treebank, tmp_path / str(number), config).trainer
        found: list[str] = []

        def lowered(program: Compiled, *arguments: Any, found: list[str] = found) -> Any:
            found.append(program.jitted.lower(*arguments).as_text())
            return program(*arguments)

        for program in trainer.step.programs:
            monkeypatch.setattr(program, "dispatch", partial(lowered, program))
        texts.append(found)
        trainer.advance(trainer.start(), trainer.material(0)[0][0], trainer.targets)
    assert texts[0] == texts[1] and len(texts[0]) == 4
