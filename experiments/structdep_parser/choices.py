"""Names that command lines and configurations choose from; this module imports nothing that takes time."""

from typing import Literal, get_args

CHART_PARSERS = (
    "mst",
    "mst2-mean-field",
    "mst2-greedy",
    "eisner",
    "eisner2",
    "eisner2-grandparents",
    "arc-eager",
    "mh3",
    "mh4",
    "1ec1",
    "1ec",
    "mh4-two",
    "mh4-hybrid",
    "mh4-hybrid-arcs",
)
"""Parsers that search all trees of a class."""
GREEDY_PARSERS = ("greedy-mh4", "greedy-mh3", "greedy-eager", "swap-hybrid", "swap-standard")
"""Parsers that take one transition after the other."""
PARSERS = (*CHART_PARSERS, *GREEDY_PARSERS)
LOSSES = ("hinge", "nll")
LIKELIHOOD = ("mst", "mst2-mean-field")
"""Parsers whose default loss is nll, as sums over all trees are cheap; for others it is hinge."""
POSITIONS = {2: ("s0", "b0"), 3: ("s1", "s0", "b0"), 4: ("s2", "s1", "s0", "b0")}
"""The positions of a configuration whose vectors a transition parser sees, by their number."""
ORACLES = ("static", "dynamic")
Scheme = Literal["head", "path", "head+path"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)
"""How pseudo-projective relations encode the head of a lifted word."""
Tags = Literal["off", "on", "stack"]
TAGS: tuple[Tags, ...] = get_args(Tags)
"""Whether tags, features and lemmas are learned, and whether the parser builds on their prediction."""
DECODERS = ("argmax", "mbr")
WAYS = ("marginals", "votes", "scores")
"""What an ensemble sums."""
SPLITS = ("train", "dev", "test")
TREEBANKS_VARIABLE = "STRUCTDEP_TREEBANKS"
"""The environment variable that names the folder of treebanks."""
