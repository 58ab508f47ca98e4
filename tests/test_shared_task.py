"""All metrics of CoNLL 2018, by hand: files with other tokens, words and sentences than the gold file."""

import json
from pathlib import Path

import pytest

from structdep_parser.cli import evaluate
from structdep_parser.data.conllu import Sentence, read, stream
from structdep_parser.evaluation.alignment import Word, align
from structdep_parser.evaluation.on_gold_words import on_gold_words
from structdep_parser.evaluation.shared_task import shared_task_scores

GOLD = """\
1-2\tdel\t_\t_\t_\t_\t_\t_\t_\t_
1\tde\tde\tADP\tE\t_\t3\tcase\t_\t_
2\tel\tel\tDET\tD\tGender=Masc|Typo=Yes\t3\tdet\t_\t_
3\tmar azul\t_\tNOUN\tN\t_\t4\tobl:loc\t_\t_
4\tveo\tver\tVERB\tV\t_\t0\troot\t_\t_
5\t.\t.\tPUNCT\tP\t_\t4\tpunct\t_\t_
"""
WHOLE = """\
1\tdel\tdel\tADP\tE\t_\t2\tcase\t_\t_
2\tmarazul\tx\tNOUN\tN\t_\t3\tobl\t_\t_
3\tveo\tver\tNOUN\tV\t_\t0\troot\t_\t_

1\t.\t.\tPUNCT\tP\t_\t0\troot\t_\t_
"""
PROJECTIVE = """\
1\tel\tel\tDET\tD\t_\t2\tdet\t_\t_
2\tmar\tmar\tNOUN\tN\t_\t0\troot\t_\t_
"""


def sentences(text: str) -> list[Sentence]:
    return list(stream(text.encode().splitlines(keepends=True), "text"))


def test_a_file_has_all_of_itself() -> None:
    scores = shared_task_scores(sentences(GOLD), sentences(GOLD))
    assert {score.f1 for score in scores.values()} == {100.0}
    assert [scores[name].gold for name in ("Tokens", "Sentences", "Words", "CLAS")] == [4, 1, 5, 2]


def test_other_words_and_sentences_by_hand() -> None:
    """Three words are aligned; the head of none but two is the same."""
    scores = shared_task_scores(sentences(GOLD), sentences(WHOLE))
    counts = {name: (score.right, score.gold, score.system, score.aligned) for name, score in scores.items()}
    assert counts["Tokens"] == (4, 4, 4, None) and counts["Sentences"] == (0, 1, 2, None)
    assert counts["Words"] == (3, 5, 4, 3) and counts["UPOS"] == (2, 5, 4, 3)
    assert counts["Lemmas"] == (3, 5, 4, 3), "a gold lemma _ is right"
    assert counts["UAS"] == counts["LAS"] == (2, 5, 4, 3)
    assert counts["CLAS"] == counts["BLEX"] == (2, 2, 3, 2)
    assert counts["MLAS"] == (0, 2, 3, 2), "a tag is wrong, and functional words of the other are lost"
    assert scores["UAS"].aligned_accuracy == pytest.approx(200 / 3)


def test_trees_of_other_words_are_told_by_gold_words() -> None:
    """The first two gold words are aligned with none, and the others with words of two sentences."""
    found = on_gold_words(sentences(GOLD), sentences(WHOLE))
    assert found.heads[0].tolist() == [-1, -1, 4, 0, 0] and found.deprels == [("_", "_", "obl", "root", "root")]
    lost = on_gold_words(sentences(WHOLE), sentences(GOLD))
    assert [heads.tolist() for heads in lost.heads] == [[-1, 3, 0], [-1]]
    for sentence, same in ((GOLD, [3, 3, 4, 0, 4]), (WHOLE, [2, 3, 0])):
        assert on_gold_words(sentences(sentence), sentences(sentence)).heads[0].tolist() == same


def test_features_that_are_not_universal_do_not_count() -> None:
    scores = shared_task_scores(sentences(GOLD), sentences(GOLD.replace("|Typo=Yes", "")))
    assert scores["UFeats"].f1 == 100
    assert shared_task_scores(sentences(GOLD), sentences(GOLD.replace("Masc", "Fem")))["UFeats"].right == 4


def test_words_of_overlapping_tokens_are_aligned_by_their_forms() -> None:
    gold = [Word("a", (0, 3), True), Word("b", (0, 3), True), Word("c", (3, 4), False), Word("d", (4, 5), False)]
    system = [Word("B", (0, 2), False), Word("x", (2, 4), True), Word("c", (2, 4), True), Word("d", (4, 5), False)]
    assert align(gold, system) == [(1, 0), (2, 2), (3, 3)]


def test_other_texts_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gold").write_text(GOLD, encoding="utf-8")
    (tmp_path / "other").write_text(GOLD.replace("veo", "vea"), encoding="utf-8")
    assert evaluate.main([str(tmp_path / "other"), str(tmp_path / "gold")]) == 1
    told = capsys.readouterr().err
    assert f"the gold file has 'o.' in {tmp_path / 'gold'}, line 1, sentence 1" in told
    assert f"the other file has 'a.' in {tmp_path / 'other'}, line 1, sentence 1" in told
    (tmp_path / "other").write_text(f"{GOLD}\n{GOLD}", encoding="utf-8")
    assert evaluate.main([str(tmp_path / "other"), str(tmp_path / "gold")]) == 1
    assert "the gold file has its end there" in capsys.readouterr().err


def test_tables_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("gold", GOLD), ("system", GOLD.replace("\t4\tpunct", "\t3\tpunct"))):
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = [str(tmp_path / "system"), str(tmp_path / "gold")]
    assert len(read(files[0])) == 1
    assert evaluate.main([*files, "--by", "kind"]) == 0
    printed = capsys.readouterr().out
    assert "| UAS | 80.00 | 80.00 | 80.00 | 80.00 |" in printed
    assert "| all | 5 | 80.00 | 80.00 |" in printed and "| without punctuation | 4 | 100.00 | 100.00 |" in printed
    assert evaluate.main([*files, "--by", "relation"]) == 0
    assert "| punct | 1 | 0.00 | 0.00 |" in capsys.readouterr().out
    (tmp_path / "system").write_text(WHOLE, encoding="utf-8")
    assert evaluate.main([*files, "--by", "kind"]) == 0
    assert "| all | 5 | 40.00 | 20.00 |" in capsys.readouterr().out
    (tmp_path / "system").write_text(GOLD.replace("\t4\tpunct", "\t3\tpunct"), encoding="utf-8")
    assert evaluate.main([*files, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["LAS"]["f1"] == 80
    assert evaluate.main([*files, "--json", "--by", "relation"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["LAS"]["f1"] == 80 and found["relation"]["punct"] == {"words": 1, "uas": 0, "las": 0}
    assert evaluate.main([*files, "--json", "--by", "kind"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"]["all"] == {"words": 5, "uas": 80, "las": 80}
    for name, text in (("gold", PROJECTIVE), ("system", PROJECTIVE)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert evaluate.main([*files, "--json", "--by", "kind"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"]["crossing"] == {"words": 0, "uas": None, "las": None}
