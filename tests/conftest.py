"""Hypothesis: the same examples in every run, and time for a compilation."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
