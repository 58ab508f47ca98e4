"""The direction in which a sentence is written: that of most of its letters."""

from collections import Counter
from collections.abc import Iterable
from unicodedata import bidirectional

RIGHT_TO_LEFT = ("R", "AL")
"""Unicode's classes of letters that are written right to left: those of Hebrew, and of Arabic and Syriac."""
MARK = "\u200e"
"""Unicode's left-to-right mark: keeps what follows a word in its own direction from joining it."""


def is_right_to_left(forms: Iterable[str]) -> bool:
    """Whether most letters of these words are written right to left; digits and punctuation have no say.

    Example:
        >>> is_right_to_left(["שלום", "(3)"]), is_right_to_left(["ik", "im"]), is_right_to_left(["3"])
        (True, False, False)
    """
    classes = Counter(bidirectional(character) for form in forms for character in form)
    return sum(classes[name] for name in RIGHT_TO_LEFT) > classes["L"]
