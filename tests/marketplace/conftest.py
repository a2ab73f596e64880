from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.sample import sample

from tradefair.marketplace.model import Amenity, Business, Catalogue, Customer, MenuItem, Want

CUSTOMER = """\
id: customer_0001
name: Ada
request: Two tacos, please
menu_features:
  Taco: 3.5
  Agua Fresca: 4.00
amenity_features:
- Patio
"""
BUSINESS = """\
id: business_0001
name: Casa
description: A kitchen
rating: 1.0
progenitor_customer: customer_0001
menu_features:
  taco: 3.25
  Agua Fresca: 5
  Flan: 2.99
amenity_features:
  Patio: true
  Music: false
min_price_factor: 0.78
"""


@pytest.fixture(scope="session")
def published() -> Callable[[str], Path]:
    """The folder of a published data set, by name."""

    return lambda name: sample(f"marketplace/{name}")


@pytest.fixture
def data_set(tmp_path: Path) -> Callable[..., Path]:
    """`data_set({path: text})`: a folder with one customer and one business, some files changed or added."""

    def made(changed: Mapping[str, str | bytes] | None = None) -> Path:
        files: dict[str, str | bytes] = {"customers/customer_0001.yaml": CUSTOMER, "businesses/b.yaml": BUSINESS}
        for name, text in {**files, **(changed or {})}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path

    return made


@pytest.fixture(scope="session")
def catalogue() -> Callable[..., Catalogue]:
    """`catalogue(wants, menus, amenities, patios, floors)`: one customer and a business per menu, prices in cents."""

    def made(
        wants: Mapping[str, int], *menus: Mapping[str, int], patios: tuple[bool, ...] = (), floor_bp: int = 8_000
    ) -> Catalogue:
        customer = Customer(
            id="c",
            name="Ada",
            request="Food",
            wants=tuple(Want(item=item, mean_cents=mean) for item, mean in wants.items()),
            amenities=("Patio",),
        )
        businesses = tuple(
            Business(
                id=f"b{place}",
                name=f"Casa {place}",
                description="",
                rating_bp=10_000,
                menu=tuple(MenuItem(item=item, price_cents=price) for item, price in menu.items()),
                amenities=(Amenity(name="patio", offered=patios[place] if patios else True),),
                floor_bp=floor_bp,
            )
            for place, menu in enumerate(menus)
        )
        return Catalogue(customers=(customer,), businesses=businesses)

    return made
