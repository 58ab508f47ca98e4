"""Output files that are written whole or not at all."""

import os
import tempfile
from pathlib import Path


def write_whole(path: str | Path, content: str | bytes) -> Path:
    """Write `content` (text as UTF-8) to `path`, making its folder; readers see the old file or the new, never a part.

    An OSError names the file that could not be written.

    Example:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_whole(Path(folder) / "new" / "a.txt", "þata").read_text(encoding="utf-8")
        'þata'
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, content.encode("utf-8") if isinstance(content, str) else content)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    return path


def _write(path: Path, content: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # else a machine that stops may keep the new name, but not the content
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
