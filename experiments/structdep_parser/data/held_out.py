"""Which training sentences are kept for development, and not trained on, where there are no files of dev."""

import re

TENTH, NONE = "10/10", "none"
"""By default, every tenth sentence; or no sentence."""


def kept(held_out: str, sentences: int) -> range:
    """The places of the sentences that are kept, out of as many.

    Args:
        held_out: I/K for the I-th of every K sentences, or "none".
        sentences: their number.

    Raises:
        ValueError: text of another form.

    Example:
        >>> [*kept("10/10", 25)], [*kept("1/3", 5)], [*kept("none", 5)]
        ([9, 19], [0, 3], [])
    """
    if held_out == NONE:
        return range(0)
    numbers = re.fullmatch(r"(\d+)/(\d+)", held_out)
    number, of = map(int, numbers.groups()) if numbers else (0, 0)
    if not 1 <= number <= of or of < 2:
        raise ValueError(
            f"--held-out {held_out}: expected I/K for the I-th of every K training sentences, such as 10/10, or none"
        )
    return range(number - 1, sentences, of)


def told(held_out: str, trained: int, dev: int) -> str:
    """What became of the training sentences.

    Example:
        >>> print(told("10/10", 135, 15))
        no dev set: 15 training sentences, one of every 10, are kept for dev and not trained on (--held-out 10/10)
        >>> print(told("none", 150, 0))
        no dev set: all 150 sentences are trained on, and the last epoch is taken (--held-out none)
    """
    if held_out == NONE:
        return f"no dev set: all {trained} sentences are trained on, and the last epoch is taken (--held-out none)"
    share = f"{dev} training sentences, one of every {held_out.split('/')[1]}"
    return f"no dev set: {share}, are kept for dev and not trained on (--held-out {held_out})"
