"""Checksums of folders, to tell what was damaged after it was written."""

import hashlib
import json
from pathlib import Path

from structdep_parser.files import write_whole


class Checksums:
    """Those of `folder`/NAME, kept in the file `path`, for names that were `added`.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = write_whole(Path(folder) / "states" / "1" / "a.txt", "one")
        ...     checksums = Checksums(Path(folder) / "states.json", Path(folder) / "states")
        ...     checksums.add("1")
        ...     before = checksums.is_damaged("1")
        ...     _ = write_whole(file, "two")
        ...     before, checksums.is_damaged("1")
        (False, True)
    """

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.folder = path, folder

    def add(self, name: str) -> None:
        """Note what is there now."""
        self._write(self._read() | {name: _checksum(self.folder / name)})

    def forget(self, name: str) -> None:
        """Before it is written anew; and those that are not there any more."""
        kept = {other: own for other, own in self._read().items() if other != name and (self.folder / other).is_dir()}
        self._write(kept)

    def is_damaged(self, name: str) -> bool:
        """Whether it is not as it was when it was added."""
        noted = self._read().get(name)
        return noted is not None and _checksum(self.folder / name) != noted

    def _read(self) -> dict[str, str]:
        if not self.path.is_file():
            return {}
        try:
            found: dict[str, str] = json.loads(self.path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{self.path} is damaged ({error}): delete it") from None
        return found

    def _write(self, checksums: dict[str, str]) -> None:
        write_whole(self.path, json.dumps(checksums, indent=1) + "\n")


def _checksum(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(str(path.relative_to(folder)).encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
