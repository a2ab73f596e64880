"""A folder of traces in the browser: `tradefair view DIR`, on this machine only."""

from tradefair.evaluation.viewer.app import viewer_app
from tradefair.evaluation.viewer.folder import Folder

__all__ = ["Folder", "viewer_app"]
