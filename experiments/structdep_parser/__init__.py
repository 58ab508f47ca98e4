"""A dependency parser for treebanks in CoNLL-U, on top of structdep: `load`, `train`, `Parser`; `read_conllu`.

Names are imported when they are first used, since JAX takes a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structdep_parser.api import Parser as Parser
    from structdep_parser.api import load as load
    from structdep_parser.api import train as train
    from structdep_parser.config import Config as Config
    from structdep_parser.data.conllu import Sentence as Sentence
    from structdep_parser.data.conllu import read_conllu as read_conllu
    from structdep_parser.data.conllu import read_text as read_text
    from structdep_parser.parsed import Parsed as Parsed
    from structdep_parser.training.loggers import Logger as Logger

PUBLIC = {
    "Config": "config",
    "Logger": "training.loggers",
    "Parsed": "parsed",
    "Parser": "api",
    "Sentence": "data.conllu",
    "load": "api",
    "read_conllu": "data.conllu",
    "read_text": "data.conllu",
    "train": "api",
}
"""The public names, and the modules that they are in."""


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"structdep_parser has no {name!r}; it has {', '.join(PUBLIC)}")
    return getattr(import_module(f"structdep_parser.{PUBLIC[name]}"), name)


def __dir__() -> list[str]:
    return list(PUBLIC)
