"""How thorough property tests are: the slow group tries more examples than the fast one."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("fast", max_examples=40, deadline=None)
settings.load_profile("fast")
