"""How far training is: a bar on a terminal, elsewhere a line now and then, also while programs are compiled."""

import time
from threading import Event, Thread
from typing import NamedTuple

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bars

PAUSE = 30.0
"""Seconds between two lines."""


class Done(NamedTuple):
    """What is done of an epoch: words of how many, and the loss so far."""

    epoch: int
    words: int
    of: int
    loss: float


class Progress:
    """Tells what is done, while it is entered.

    Args:
        console: where.
        epoch: the first that is trained now.
        epochs: the last epoch.
        minutes: those of training before now, which are added to those from now on.
    """

    def __init__(self, console: Console, epoch: int, epochs: int, minutes: float) -> None:
        self.console, self.epochs, self.start = console, epochs, time.perf_counter() - 60 * minutes
        texts = (TextColumn("{task.description}", markup=False), BarColumn())
        self.bars = Bars(*texts, console=console, transient=True, disable=not console.is_terminal)
        self.bar, self.ended = self.bars.add_task("", total=None), Event()
        self.say(epoch, "compiling")

    def __enter__(self) -> "Progress":
        self.bars.start()
        if not self.console.is_terminal:
            Thread(target=self._tell_now_and_then, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.bars.stop()

    @property
    def minutes(self) -> float:
        """Those of training, in all calls."""
        return (time.perf_counter() - self.start) / 60

    def line(self, epoch: int, text: str) -> str:
        return f"epoch {epoch:3d}/{self.epochs}  {self.minutes:5.1f} min  {text}"

    def show(self, done: Done) -> None:
        """Have the bar, and the next line, tell what is done."""
        self.say(done.epoch, f"{done.words:,} of {done.of:,} words  loss {done.loss:.3f}", done.words, done.of)

    def say(self, epoch: int, text: str, words: int = 0, of: int | None = None) -> None:
        """The same for work whose words are not counted."""
        self.epoch, self.told = epoch, text
        self.bars.update(self.bar, completed=words, total=of, description=self.line(epoch, text))

    def _tell_now_and_then(self) -> None:
        while not self.ended.wait(PAUSE):
            self.console.print(self.line(self.epoch, self.told))
