"""Where the figures of a run go besides its log.jsonl: a class of one's own, or a module such as trackio or wandb."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from types import ModuleType
from typing import Protocol

from structdep_parser.config import Config
from structdep_parser.imported import imported


class Logger(Protocol):
    """Told the figures of a run after each epoch."""

    def log(self, values: Mapping[str, float], step: int) -> None:
        """`values` are epoch, minutes, sentences_per_second, loss, and UAS and LAS of dev; `step` counts batches."""

    def finish(self) -> None:
        """Called once, when training ends or fails."""


class ModuleLogger:
    """A logger that calls `init`, `log` and `finish` of a module."""

    def __init__(self, module: ModuleType, config: Config) -> None:
        self.module = module
        module.init(project="structdep", name=config.name, config=asdict(config))

    def log(self, values: Mapping[str, float], step: int) -> None:
        self.module.log(dict(values), step=step)

    def finish(self) -> None:
        self.module.finish()


def logger_named(name: str) -> Callable[[Config], Logger]:
    """What makes the logger of a run: MODULE:CLASS, a class that is called with the configuration, or MODULE.

    Raises:
        ValueError: it cannot be imported, or the module lacks `init`, `log` or `finish`.
    """
    told = "MODULE:CLASS, or a MODULE with init, log and finish, such as trackio or wandb"
    found = imported("--logger", name, told)
    if ":" in name:
        made: Callable[[Config], Logger] = found
        return made
    if missing := [part for part in ("init", "log", "finish") if not hasattr(found, part)]:
        raise ValueError(f"--logger {name}: expected {told}: it has no {' and no '.join(missing)}")
    return lambda config: ModuleLogger(found, config)
