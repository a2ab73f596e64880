"""What a price or an order should rest on, and which products a look was about (retail page, sections 5 and 10).

The tools declare categories and scopes, evaluation reads them: this module holds what both need.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from tradefair.contract import EvidenceMap, Need

# The version of the map below, as the specification names it (10).
EVIDENCE_VERSION = "paper-text-1"

RECENCY_DAYS: Mapping[str, int] = {"sales": 30, "supplier_price": 7, "quality": 90}
"""A read with an `end_date` that lies more days before today gives nothing of this category."""


class EvidenceScene(NamedTuple):
    """Where the manager stood when it looked, by product id: what scopes beyond the arguments depend on.

    `ordered_from` names the products ever ordered from a supplier, the visible past included.
    """

    shelf: Collection[str]
    ordered_from: Mapping[str, Collection[str]]


def needs(argument: str, *categories: str, when: Callable[[Any], bool] | None = None) -> tuple[Need, ...]:
    """One need per category, on the same day and for the same product."""
    return tuple(Need(any_of=(category,), window="round", object_arg=argument, when=when) for category in categories)


def _has_feedback(scenario: Any) -> bool:
    """Feedback is enabled."""
    return bool(scenario.feedback.enabled)


EVIDENCE_MAP: EvidenceMap = {
    "place_order": (
        *needs("lines.product_id", "inventory", "sales", "supplier_price"),
        # Without feedback no tool shows quality, so nothing could be read before an order.
        *needs("lines.product_id", "quality", when=_has_feedback),
    ),
    "modify_product_price": needs("product_id", "price", "cost", "inventory", "sales"),
}


# --- scopes: (arguments, scene) -> product ids, None = every product ------------------------------------------------


def shelf_scope(arguments: Mapping[str, Any], scene: EvidenceScene) -> Collection[str]:
    """The products on the shelf."""
    return scene.shelf


def named_or_all(arguments: Mapping[str, Any], scene: EvidenceScene) -> Collection[str] | None:
    """The products named in `product_ids`, every product without."""
    return arguments.get("product_ids")


def supplier_scope(arguments: Mapping[str, Any], scene: EvidenceScene) -> Collection[str]:
    """The products named in `product_ids`, else every product ordered from `supplier_id`."""
    named = arguments.get("product_ids")
    return scene.ordered_from.get(arguments["supplier_id"], ()) if named is None else named
