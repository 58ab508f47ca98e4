"""Engines: what fills charts."""
