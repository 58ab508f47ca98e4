"""Downloading a treebank, from a server on this machine."""

import hashlib
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from structdep_parser.data.download import SUMS, download
from structdep_parser.data.treebank import find_treebank, read

TEXT = "1\tmomisa\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
REPOSITORY = "UD_Gothic-PROIEL"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def public(tmp_path: Path) -> Path:
    """What the server has: r2.0 without a test file and with old names, r2.5 with all three and new names."""
    files = {"r2.0": ("got", ("train", "dev")), "r2.5": ("got_proiel", ("train", "dev", "test"))}
    for tag, (code, splits) in files.items():
        folder = tmp_path / "public" / REPOSITORY / tag
        folder.mkdir(parents=True)
        for split in splits:
            (folder / f"{code}-ud-{split}.conllu").write_text(f"# split = {split}\n{TEXT}")
    return tmp_path / "public"


@pytest.fixture
def url(public: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(public)))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_named_release_is_fetched_and_then_found(tmp_path: Path, public: Path, url: str) -> None:
    old, new = (download("got", version, tmp_path / "data", base_url=url) for version in ("2.0", "2.5"))
    assert old.train == tmp_path / "data" / "r2.0" / REPOSITORY / "got-ud-train.conllu" and old.test is None
    assert new.test is not None and new.test.name == "got_proiel-ud-test.conllu"
    assert new.dev.read_bytes() == (public / REPOSITORY / "r2.5" / new.dev.name).read_bytes()
    assert len(read(new.train)) == 1
    assert find_treebank("got", tmp_path / "data", "2.5") == new


def test_a_second_download_needs_no_network_and_checks_the_sums(tmp_path: Path, url: str) -> None:
    first = download("got", "2.5", tmp_path, base_url=url)
    assert download("got", "2.5", tmp_path, base_url="http://127.0.0.1:9") == first
    sums = (first.train.parent / SUMS).read_text()
    assert f"{hashlib.sha256(first.train.read_bytes()).hexdigest()}  {first.train.name}\n" in sums
    first.train.write_text(TEXT)
    with pytest.raises(ValueError, match=rf"got_proiel-ud-train\.conllu has the SHA-256 .* but .*{SUMS} says"):
        download("got", "2.5", tmp_path, base_url=url)


def test_what_is_missing_is_fetched_again(tmp_path: Path, url: str) -> None:
    first = download("got", "2.5", tmp_path, base_url=url)
    sums, text = first.train.parent / SUMS, first.train.read_text()
    lines = sums.read_text().splitlines(keepends=True)
    for kept in ("".join(lines), "".join(line for line in lines if "-train" not in line), ""):
        first.train.unlink()
        sums.write_text(kept)
        assert download("got", "2.5", tmp_path, base_url=url) == first
        assert first.train.read_text() == text and sorted(sums.read_text().splitlines(keepends=True)) == sorted(lines)
    sums.write_text("garbage\n")
    with pytest.raises(ValueError, match=rf"{SUMS}: expected lines of a SHA-256 and a file name.* got 'garbage'"):
        download("got", "2.5", tmp_path, base_url=url)


def test_a_manifest_must_hold(tmp_path: Path, public: Path, url: str) -> None:
    files = sorted((public / REPOSITORY / "r2.0").iterdir())
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()} *UD_Gothic/{file.name}\n" for file in files]
    manifest = tmp_path / "manifest"
    for text in ("".join(lines[:1]), f"{'0' * 64}  got-ud-train.conllu\n{lines[0]}"):
        manifest.write_text(text)
        with pytest.raises(ValueError, match=r"got-ud-train\.conllu has the SHA-256 .* but .*manifest says"):
            download("got", "2.0", tmp_path / "data", manifest=manifest, base_url=url)
        assert not (tmp_path / "data").exists()
    manifest.write_text("".join(lines))
    assert download("got", "2.0", tmp_path / "data", manifest=manifest, base_url=url).dev.is_file()


def test_nothing_is_written_where_the_release_lacks_the_treebank(tmp_path: Path, public: Path, url: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"no got_proiel-ud-train\.conllu or got-ud-train\.conllu.*r3\.0"):
        download("got", "3.0", tmp_path / "data", base_url=url)
    (public / REPOSITORY / "r2.5" / "got_proiel-ud-dev.conllu").unlink()
    with pytest.raises(FileNotFoundError, match=r"r2\.5"):
        download("got", "2.5", tmp_path / "data", base_url=url)
    assert not (tmp_path / "data").exists()


def test_without_a_network_the_error_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError, match=r"cannot be reached .*--treebanks DIR"):
        download("got", "2.0", tmp_path, base_url="http://127.0.0.1:9")


def test_codes_that_name_no_single_repository(tmp_path: Path, public: Path, url: str) -> None:
    with pytest.raises(ValueError, match="'grc' has several treebanks: write one of grc_perseus, grc_proiel"):
        download("grc", "2.0", tmp_path, base_url=url)
    with pytest.raises(ValueError, match=r"no repository known for 'xx'.*--repository"):
        download("xx", "2.0", tmp_path, base_url=url)
    (public / REPOSITORY).rename(public / "UD_Unknown-XTB")
    for file in sorted((public / "UD_Unknown-XTB" / "r2.5").iterdir()):
        file.rename(file.with_name(file.name.replace("got_proiel", "xx_xtb")))
    found = download("xx", "2.5", tmp_path, repository="UD_Unknown-XTB", base_url=url)
    assert found.train.name == "xx_xtb-ud-train.conllu"
