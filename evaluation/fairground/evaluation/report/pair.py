"""Two traces side by side: what differs in how they were made, and the first decision that differs."""

from __future__ import annotations

from pathlib import Path

from fairground.evaluation.report.model import PairPage

__all__ = ["pair_page"]


def pair_page(a: str | Path, b: str | Path) -> PairPage:
    """What `compare` says of one pair. Total."""
    return PairPage(attributes=[], divergence=None, note="")
