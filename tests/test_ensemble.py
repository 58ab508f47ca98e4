"""Several parsers as one."""

import shutil
from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from training_cases import TINY, random_model, score_tables, small_treebank

import structdep as sd
from structdep_parser.cli import ensemble
from structdep_parser.config import member_folders
from structdep_parser.data.conllu import Sentence, read
from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.parsers.ensemble import Ensemble, Member
from structdep_parser.parsers.trained_model import TrainedModel

MST = replace(TINY, parser="mst")


@pytest.fixture(scope="module")
def sentences(tmp_path_factory: pytest.TempPathFactory) -> list[Sentence]:
    return read(write_demo_treebank(tmp_path_factory.mktemp("treebank")).dev)


@pytest.fixture(scope="module")
def models(sentences: list[Sentence]) -> list[TrainedModel]:
    return [random_model(MST, sentences, seed) for seed in (1, 2)]


@pytest.mark.slow
@pytest.mark.parametrize("by", ["scores", "marginals"])
def test_what_is_summed_is_searched(by: str, models: list[TrainedModel], sentences: list[Sentence]) -> None:
    few = sentences[:6]
    made = Ensemble([Member(name, model) for name, model in zip("ab", models, strict=True)], [by], None)
    together, alone = made.beside_members(few)
    assert all(map(np.array_equal, made(few).heads, together.heads))
    tables = [dict(score_tables(model, few)) for model in models]
    arcs = [jnp.stack([own[place]["arc"] for place in range(len(few))]) for own in tables]
    everything, lengths = sd.spanning.all_trees(), jnp.array([len(sentence) for sentence in few])
    if by == "marginals":
        arcs = [sd.marginals(everything, own, lengths, semiring=sd.SingleRoot(sd.LogSum)) for own in arcs]
    best = sd.inside(everything, arcs[0] + arcs[1], lengths, sd.SingleRoot(sd.MaxPlus))
    for place, heads in enumerate(together.heads):
        summed, words = np.asarray(arcs[0] + arcs[1])[place], np.arange(1, len(heads) + 1)
        assert summed[heads, words].sum() == pytest.approx(float(best[place]), abs=1e-3)
        assert len(together.deprels[place]) == len(heads)
    assert any((together.heads[p] != alone[name].heads[p]).any() for p in range(6) for name in "ab")


def cells(lines: list[str]) -> dict[str, list[str]]:
    """Of a table's rows, by the first."""
    return {row[1]: row[2:] for line in lines if len(row := [cell.strip() for cell in line.split("|")]) > 2}


def test_a_majority_wins_and_the_gain_is_told(
    models: list[TrainedModel], sentences: list[Sentence], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A parser that is there twice has more votes than one without probabilities; weights and ways can be its own."""
    small_treebank(tmp_path, tmp_path, "xyz")
    one = replace(models[0], config=replace(MST, lang="xyz"))
    greedy = random_model(replace(one.config, parser="greedy-mh3", positions=2), sentences)
    for name, model in (("one", one), ("two", greedy), ("three", one)):
        model.save(tmp_path / name / "model")
    runs = [*(str(tmp_path / name) for name in ("one", "two", "three")), "--treebanks", str(tmp_path)]
    assert ensemble.main([*runs, "--by", "votes"]) == 0
    folder = tmp_path / "xyz-ensemble-votes-mst"
    rows = cells(capsys.readouterr().out.splitlines())
    assert rows["3 parsers by votes, trees of mst"][0] == rows["one"][0] == rows["three"][0]
    best = max(float(rows[name][0]) for name in ("one", "two"))
    assert float(rows["gain over the best"][0]) == pytest.approx(float(rows["one"][0]) - best, abs=0.02)
    assert (folder / "report.md").read_text(encoding="utf-8").startswith("# 3 parsers by votes, trees of mst")
    assert len(read(folder / "dev.conllu")) == 15 and (folder / "test.conllu").is_file()
    weighted = [*runs, "--by", "votes", "--weights", "1", "2.5", "1"]
    assert ensemble.main(weighted) == 1
    assert f"{folder} holds what other runs, ways or weights gave: write --out" in capsys.readouterr().err
    assert ensemble.main([*runs, "--by", "votes"]) == 0
    capsys.readouterr()
    assert ensemble.main([*weighted, "--out", str(tmp_path / "weighted")]) == 0
    outweighed = capsys.readouterr().out.splitlines()
    assert cells(outweighed)["3 parsers by votes, trees of mst"][0] == rows["two"][0]
    assert ensemble.main([*runs, "--by", "marginals", "votes", "votes"]) == 0
    capsys.readouterr()
    assert (tmp_path / "xyz-ensemble-marginals-votes-mst" / "dev.conllu").is_file()
    for ways in (["votes"] * 2, ["votes", "votes", "scores"]):
        assert ensemble.main([*runs, "--by", *ways]) == 1
        assert f"--by {' '.join(ways)}: 3 parsers take one way for all" in capsys.readouterr().err
    assert ensemble.main([*runs, "--weights", "1", "0.5"]) == 1
    assert "--weights 1 0.5: 3 parsers take 3 numbers above 0" in capsys.readouterr().err
    assert ensemble.main([*runs, "--weights", "1", "nan", "1"]) == 1 and "above 0" in capsys.readouterr().err
    assert ensemble.main([*runs, "--by", "scores"]) == 1
    assert "--by scores takes parsers of one kind, not greedy-mh3, mst" in capsys.readouterr().err
    assert ensemble.main(runs[:1]) == 1 and ensemble.main([*runs[:1], str(tmp_path)]) == 1
    assert "takes two runs or more" in (told := capsys.readouterr().err) and "holds runs: give one of them" in told
    together = [str(tmp_path / "members"), *runs[2:], "--out", str(tmp_path / "out")]
    replace(one.config, members=2, seed=5).write(tmp_path / "members" / "config.json")
    shutil.move(tmp_path / "one", tmp_path / "members" / "seed-9")
    assert ensemble.main(together) == 1 and f"no folder {tmp_path / 'members' / 'seed-10'}" in capsys.readouterr().err
    shutil.move(tmp_path / "two", tmp_path / "members" / "seed-10")
    assert [folder.name for folder in member_folders(tmp_path / "members")] == ["seed-9", "seed-10"]
    assert ensemble.main(together) == 0
    assert {"seed-9", "seed-10", "three"} < cells(capsys.readouterr().out.splitlines()).keys()
    with pytest.raises(FileNotFoundError, match=r"has several parsers: give that of one of them, such as .*seed-"):
        TrainedModel.load(tmp_path / "members")


def test_runs_on_other_treebanks_are_no_ensemble(
    models: list[TrainedModel], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for code, model in zip(("xyz", "abc"), models, strict=True):
        small_treebank(tmp_path, tmp_path, code)
        replace(model, config=replace(MST, lang=code)).save(tmp_path / code / "model")
    assert ensemble.main([*(str(tmp_path / code) for code in ("xyz", "abc")), "--treebanks", str(tmp_path)]) == 1
    assert "xyz was trained on --train xyz-ud-train.conllu --dev xyz-ud-dev.conllu, but abc on --train abc" in (
        capsys.readouterr().err
    )


def test_what_cannot_be_summed_is_refused(models: list[TrainedModel], sentences: list[Sentence]) -> None:
    greedy = random_model(replace(TINY, parser="greedy-mh3", positions=2), sentences)
    lifted = random_model(replace(TINY, pseudo_projective="head"), sentences)
    others = random_model(MST, [replace(s, deprels=("x",) * len(s)) for s in sentences])
    with pytest.raises(ValueError, match="lifted is pseudo-projective"):
        Member("lifted", lifted)
    with pytest.raises(ValueError, match="do not know the same relations"):
        Ensemble([Member("a", models[0]), Member("b", others)], ["votes"], None)
    with pytest.raises(ValueError, match="takes parsers with charts, not greedy-mh3: write --by votes"):
        Ensemble([Member(name, greedy) for name in "ab"], ["scores"], None)
    steps = random_model(replace(TINY, parser="mh3"), sentences)
    with pytest.raises(ValueError, match="--trees mst: the chart of mst lacks some scores of mh3"):
        Ensemble([Member(name, steps) for name in "ab"], ["scores"], "mst")
