"""Text as people are to see it, whatever characters are in it."""

import re
from html import escape

UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
"""Control characters but for line feeds, separators of lines, overrides of direction, and what is no character.

Terminals obey them, XML does not allow most of them.
"""


def visible(text: str) -> str:
    """The text with escapes in the place of characters that would not be seen.

    Example:
        >>> print(visible("pa\\x07ge\\u2028\\u202e"))
        pa\\x07ge\\u2028\\u202e
    """
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def xml(text: str) -> str:
    """The text as content, or the value of an attribute, of XML and HTML.

    Example:
        >>> print(xml("<b> & \\x00"))
        &lt;b&gt; &amp; \\x00
    """
    return escape(visible(text))
