"""Tasks of a tradefair server as task folders of Harbor: `python -m tradefair_harbor OUT`."""

from tradefair_harbor.export import export

__all__ = ["export"]
