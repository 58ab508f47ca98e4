"""The transition systems of the literature, each as its paper writes it."""

from __future__ import annotations

from structdep.transitions.arrays import Array
from structdep.transitions.configuration import NONE, Configuration
from structdep.transitions.notation import Transition, TransitionSystem

SHIFT = Transition("shift", "σ | b0 β ⊢ σ b0 | β")
LA = Transition("la", "σ s0 | b0 β ⊢ σ | b0 β, b0 → s0")
RA = Transition("ra", "σ s1 s0 | β ⊢ σ s1 | β, s1 → s0")
ONTO_S0 = Transition("la", "σ s1 s0 | β ⊢ σ s0 | β, s0 → s1")


def arc_standard(swap: bool = False) -> TransitionSystem:
    """Arc-standard: projective trees; with `swap`, all trees.

    Args:
        swap: whether there is a transition that exchanges two nodes.

    Returns:
        A transition system.

    References:
        Nivre 2004, Incrementality in deterministic dependency parsing. Nivre 2009, Non-projective dependency parsing in
        expected linear time (swap).

    Example:
        >>> print(arc_standard(swap=True))
        arc_standard_swap: from ([0], [1..n]), at most n(n+1) transitions
          shift  σ | b0 β ⊢ σ b0 | β
          swap   σ s1 s0 | β ⊢ σ s0 | s1 β
          la     σ s1 s0 | β ⊢ σ s0 | β, s0 → s1
          ra     σ s1 s0 | β ⊢ σ s1 | β, s1 → s0
    """
    if not swap:
        return TransitionSystem("arc_standard", (SHIFT, ONTO_S0, RA), trees="projective")
    swapping = Transition("swap", "σ s1 s0 | β ⊢ σ s0 | s1 β")
    return TransitionSystem("arc_standard_swap", (SHIFT, swapping, ONTO_S0, RA), trees="all")


def arc_hybrid(swap: bool = False) -> TransitionSystem:
    """Arc-hybrid: projective trees; with `swap`, all trees with one arc from the root.

    Args:
        swap: whether there is a transition that exchanges two nodes. The root is then the last node of the buffer.

    Returns:
        A transition system.

    References:
        Kuhlmann, Gómez-Rodríguez and Satta 2011, Dynamic programming algorithms for transition-based dependency
        parsers. De Lhoneux, Stymne and Nivre 2017, Arc-hybrid non-projective dependency parsing with a static-dynamic
        oracle (swap).

    Example:
        >>> print(arc_hybrid(swap=True))
        arc_hybrid_swap: from ([], [1..n, 0]), at most n(n+1) transitions
          shift  σ | b0 β ⊢ σ b0 | β
          swap   σ s0 | b0 b1 β ⊢ σ | b0 s0 b1 β
          la     σ s0 | b0 β ⊢ σ | b0 β, b0 → s0, if s0 is alone or b0 a word
          ra     σ s1 s0 | β ⊢ σ s1 | β, s1 → s0
    """
    if not swap:
        return TransitionSystem("arc_hybrid", (SHIFT, LA, RA), trees="projective")
    swapping = Transition("swap", "σ s0 | b0 b1 β ⊢ σ | b0 s0 b1 β")
    left = Transition(LA.name, LA.rule, s0_is_alone_or_b0_a_word)
    return TransitionSystem("arc_hybrid_swap", (SHIFT, swapping, left, RA), root_last=True, trees="single-root")


def arc_eager() -> TransitionSystem:
    """Arc-eager: projective trees. Conditions exclude the runs that do not end in a tree.

    A word that is shifted gets its head from the buffer. Therefore the last word is not shifted, and it stays in the
    buffer until all other words have heads.

    Returns:
        A transition system.

    References:
        Nivre 2003, An efficient algorithm for projective dependency parsing.

    Example:
        >>> print(arc_eager())
        arc_eager: from ([0], [1..n]), at most 2n transitions
          shift   σ | b0 β ⊢ σ b0 | β, if b0 is not the last
          reduce  σ s0 | β ⊢ σ | β
          la      σ s0 | b0 β ⊢ σ | b0 β, b0 → s0
          ra      σ s0 | b0 β ⊢ σ s0 b0 | β, s0 → b0, if b0 is not the last or all others have heads
    """
    transitions = (
        Transition(SHIFT.name, SHIFT.rule, b0_is_not_the_last),
        Transition("reduce", "σ s0 | β ⊢ σ | β"),
        LA,
        Transition("ra", "σ s0 | b0 β ⊢ σ s0 b0 | β, s0 → b0", b0_is_not_the_last_or_all_others_have_heads),
    )
    return TransitionSystem("arc_eager", transitions, trees="projective")


def mh4() -> TransitionSystem:
    """MH_4: mildly non-projective trees, the trees of the chart `charts.mhk(4)` and some more.

    Returns:
        A transition system.

    References:
        Gómez-Rodríguez, Shi and Lee 2018, Global transition-based non-projective dependency parsing.

    Example:
        >>> print(mh4())
        mh4: from ([0], [1..n]), at most 2n transitions
          shift  σ | b0 β ⊢ σ b0 | β
          la     σ s0 | b0 β ⊢ σ | b0 β, b0 → s0
          ra     σ s1 s0 | β ⊢ σ s1 | β, s1 → s0
          la'    σ s1 s0 | β ⊢ σ s0 | β, s0 → s1
          ra'    σ s2 s1 s0 | β ⊢ σ s2 s0 | β, s2 → s1
          la2    σ s1 s0 | b0 β ⊢ σ s0 | b0 β, b0 → s1
          ra2    σ s2 s1 s0 | β ⊢ σ s2 s1 | β, s2 → s0
    """
    others = (
        Transition("la'", ONTO_S0.rule),
        Transition("ra'", "σ s2 s1 s0 | β ⊢ σ s2 s0 | β, s2 → s1"),
        Transition("la2", "σ s1 s0 | b0 β ⊢ σ s0 | b0 β, b0 → s1"),
        Transition("ra2", "σ s2 s1 s0 | β ⊢ σ s2 s1 | β, s2 → s0"),
    )
    return TransitionSystem("mh4", (SHIFT, LA, RA, *others), trees="MH_4")


def s0_is_alone_or_b0_a_word(configuration: Configuration) -> Array:
    """So that the root gets one dependent."""
    return (configuration.stacked == 1) | (configuration.features.b0 != 0)


def b0_is_not_the_last(configuration: Configuration) -> Array:
    """So that a word that is shifted has one behind it, to be its head."""
    return configuration.buffered > 1


def b0_is_not_the_last_or_all_others_have_heads(configuration: Configuration) -> Array:
    """So that the last word stays in the buffer as long as one on the stack needs it."""
    return (configuration.buffered > 1) | (without_head(configuration).sum(-1) == 0)


def without_head(configuration: Configuration) -> Array:
    """Which slots of the stack hold words without head: bool `[*batch, n+1]`."""
    xp = configuration.stack.__array_namespace__()
    heads = xp.take_along_axis(configuration.heads, configuration.stack, axis=-1)
    is_word = (xp.arange(heads.shape[-1]) < configuration.stacked[..., None]) & (configuration.stack > 0)
    return is_word & (heads == NONE)
