"""`heapq` for the sandbox: binary min-heaps in plain lists. `merge` answers a list, as there are no generators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["heapify", "heappop", "heappush", "heappushpop", "heapreplace", "merge", "nlargest", "nsmallest"]


def _rise(heap: list[Any], place: int) -> None:
    """Move the item at `place` up until its parent is not greater."""
    item = heap[place]
    while place > 0:
        parent = (place - 1) // 2
        if not item < heap[parent]:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = item


def _sink(heap: list[Any], place: int) -> None:
    """Move the item at `place` down until no child is less."""
    item = heap[place]
    size = len(heap)
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if not heap[child] < item:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = item


def heapify(heap: list[Any]) -> None:
    """Turn a list into a heap, in place."""
    for place in range(len(heap) // 2 - 1, -1, -1):
        _sink(heap, place)


def heappush(heap: list[Any], item: Any) -> None:
    """Add `item`."""
    heap.append(item)
    _rise(heap, len(heap) - 1)


def heappop(heap: list[Any]) -> Any:
    """Remove and return the least item; IndexError when there is none."""
    last = heap.pop()
    return heapreplace(heap, last) if heap else last


def heapreplace(heap: list[Any], item: Any) -> Any:
    """Return the least item and put `item` in its place."""
    least = heap[0]
    heap[0] = item
    _sink(heap, 0)
    return least


def heappushpop(heap: list[Any], item: Any) -> Any:
    """Add `item`, then remove and return the least."""
    return heapreplace(heap, item) if heap and heap[0] < item else item


def nlargest(n: int, iterable: Iterable[Any], key: Callable[[Any], Any] | None = None) -> list[Any]:
    """The `n` greatest items, greatest first."""
    return sorted(iterable, key=key, reverse=True)[: max(n, 0)]


def nsmallest(n: int, iterable: Iterable[Any], key: Callable[[Any], Any] | None = None) -> list[Any]:
    """The `n` least items, least first."""
    return sorted(iterable, key=key)[: max(n, 0)]


def merge(*iterables: Iterable[Any], key: Callable[[Any], Any] | None = None, reverse: bool = False) -> list[Any]:
    """All items of sorted inputs in one sorted list."""
    items: list[Any] = []
    for iterable in iterables:
        items.extend(iterable)
    return sorted(items, key=key, reverse=reverse)
