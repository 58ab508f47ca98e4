"""Treebanks of Universal Dependencies, from the public repository of a language and the tag of a release."""

import hashlib
import re
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from structdep_parser.choices import SPLITS
from structdep_parser.data.treebank import Treebank, in_folder
from structdep_parser.files import write_whole

PUBLIC = "https://raw.githubusercontent.com/UniversalDependencies"
SUMS = "SHA256SUMS"
REPOSITORIES = {
    "ar_padt": "UD_Arabic-PADT",
    "bg_btb": "UD_Bulgarian-BTB",
    "ca_ancora": "UD_Catalan-AnCora",
    "cs_pdt": "UD_Czech-PDT",
    "cu_proiel": "UD_Old_Church_Slavonic-PROIEL",
    "da_ddt": "UD_Danish-DDT",
    "de_gsd": "UD_German-GSD",
    "el_gdt": "UD_Greek-GDT",
    "en_ewt": "UD_English-EWT",
    "es_ancora": "UD_Spanish-AnCora",
    "eu_bdt": "UD_Basque-BDT",
    "fa_seraji": "UD_Persian-Seraji",
    "fi_tdt": "UD_Finnish-TDT",
    "fr_gsd": "UD_French-GSD",
    "got_proiel": "UD_Gothic-PROIEL",
    "grc_perseus": "UD_Ancient_Greek-Perseus",
    "grc_proiel": "UD_Ancient_Greek-PROIEL",
    "he_htb": "UD_Hebrew-HTB",
    "hi_hdtb": "UD_Hindi-HDTB",
    "hr_set": "UD_Croatian-SET",
    "hu_szeged": "UD_Hungarian-Szeged",
    "id_gsd": "UD_Indonesian-GSD",
    "it_isdt": "UD_Italian-ISDT",
    "ja_gsd": "UD_Japanese-GSD",
    "ko_kaist": "UD_Korean-Kaist",
    "la_ittb": "UD_Latin-ITTB",
    "la_proiel": "UD_Latin-PROIEL",
    "lv_lvtb": "UD_Latvian-LVTB",
    "nl_alpino": "UD_Dutch-Alpino",
    "pl_pdb": "UD_Polish-PDB",
    "pt_bosque": "UD_Portuguese-Bosque",
    "ro_rrt": "UD_Romanian-RRT",
    "sl_ssj": "UD_Slovenian-SSJ",
    "sv_talbanken": "UD_Swedish-Talbanken",
    "uk_iu": "UD_Ukrainian-IU",
    "ur_udtb": "UD_Urdu-UDTB",
    "vi_vtb": "UD_Vietnamese-VTB",
}


def download(
    lang: str,
    version: str,
    into: str | Path = "data",
    repository: str | None = None,
    manifest: str | Path | None = None,
    base_url: str = PUBLIC,
) -> Treebank:
    """The treebank `lang` of UD release `version` ("2.0"), fetched once to `into`/r2.0/UD_Language-Treebank/.

    `repository` (UD_Language-Treebank) is needed for codes that are not in `REPOSITORIES`. The checksums of the first
    download are kept beside the files as SHA256SUMS and hold from then on; `manifest`, a file of lines as `sha256sum`
    writes them, must hold too. Either all files are written or none; where one is missing, all are fetched again.

    Raises ValueError for an unknown or ambiguous code and for wrong checksums, FileNotFoundError where the release
    lacks the treebank, ConnectionError without a network.
    """
    repository = repository or _repository(lang)
    folder = Path(into) / f"r{version}" / repository
    kept = folder / SUMS
    sums = _sums(kept) if kept.is_file() else {}
    contents = {name: (folder / name).read_bytes() for name in sums if (folder / name).is_file()}
    is_whole = contents.keys() == sums.keys() and all(
        any(f"-{split}." in name for name in sums) for split in SPLITS[:2]
    )
    if not is_whole:
        contents = _fetch_treebank(f"{base_url}/{repository}/r{version}", _codes(lang, repository))
    _check({name: content for name, content in contents.items() if name in sums}, sums, kept)
    if manifest is not None:
        _check(contents, _sums(Path(manifest)), Path(manifest))
    if not is_whole:
        _keep(contents, folder)
    return in_folder(lang, folder, min(contents).split("-")[0])


def _repository(lang: str) -> str:
    fitting = {code: name for code, name in REPOSITORIES.items() if lang in (code, code.split("_")[0])}
    if len(fitting) == 1:
        return next(iter(fitting.values()))
    if fitting:
        raise ValueError(f"{lang!r} has several treebanks: write one of {', '.join(fitting)}")
    raise ValueError(
        f"no repository known for {lang!r} (known: {', '.join(REPOSITORIES)}); write --repository UD_Language-Treebank"
    )


def _codes(lang: str, repository: str) -> tuple[str, str]:
    """What the files' names may begin with: language and treebank, or, in old releases, the language alone."""
    language = lang.split("_")[0]
    return f"{language}_{repository.rsplit('-', 1)[-1].lower()}", language


def _fetch_treebank(url: str, codes: tuple[str, str]) -> dict[str, bytes]:
    """The contents of the files by name, under the first code that the release has."""
    for code in codes:
        names = [f"{code}-ud-{split}.conllu" for split in SPLITS]
        contents = {name: content for name in names if (content := _fetch(f"{url}/{name}")) is not None}
        if set(names[:2]) <= set(contents):
            return contents
    tried = " or ".join(f"{code}-ud-train.conllu" for code in codes)
    raise FileNotFoundError(
        f"no {tried}, with its dev file, at {url}/: is the version a UD release (2.0, 2.5, ...) "
        "that has this treebank, in one training file?"
    )


def _fetch(url: str) -> bytes | None:
    """What is at `url`; None where there is nothing."""
    try:
        with urlopen(url, timeout=60) as response:
            content: bytes = response.read()
            return content
    except HTTPError as error:
        if error.code == 404:
            return None
        raise ConnectionError(f"{url}: the server answers {error.code} {error.reason}") from error
    except (OSError, HTTPException) as error:
        raise ConnectionError(
            f"{url} cannot be reached ({error}). Without a network, get the treebank by other means and "
            "write --treebanks DIR, a folder that holds it at any depth."
        ) from error


def _sums(path: Path) -> dict[str, str]:
    """Checksums by file name, from lines as `sha256sum` writes them."""
    lines = [line for line in path.read_text(encoding="utf-8", errors="replace").split("\n") if line.strip()]
    found = [re.fullmatch(r"([0-9a-fA-F]{64})[ \t]+\*?([^\r]+)\r?", line) for line in lines]
    if None in found:
        line = lines[found.index(None)]
        raise ValueError(f"{path}: expected lines of a SHA-256 and a file name, as sha256sum writes them, got {line!r}")
    return {Path(match[2]).name: match[1].lower() for match in found if match}


def _check(contents: dict[str, bytes], sums: dict[str, str], source: Path) -> None:
    for name, content in contents.items():
        found = hashlib.sha256(content).hexdigest()
        if sums.get(name) != found:
            raise ValueError(
                f"{name} has the SHA-256 {found}, but {source} says {sums.get(name, 'nothing about it')}; "
                f"delete the file to fetch it again, the folder with {SUMS} if the release has changed, "
                "or correct the manifest"
            )


def _keep(contents: dict[str, bytes], folder: Path) -> None:
    """Write the training file after the others and the checksums last, so that what can be found is whole."""
    for name, content in sorted(contents.items(), key=lambda item: "-train" in item[0]):
        write_whole(folder / name, content)
    lines = (f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in contents.items())
    write_whole(folder / SUMS, "".join(lines))
