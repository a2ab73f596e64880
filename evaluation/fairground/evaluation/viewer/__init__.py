"""A folder of traces in the browser: `fairground view DIR`, on this machine only."""

from fairground.evaluation.viewer.app import viewer_app
from fairground.evaluation.viewer.folder import Folder

__all__ = ["Folder", "viewer_app"]
