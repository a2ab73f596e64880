"""One self-contained HTML page about one or several traces: `build_report(paths)` gives its bytes."""

from tradefair.evaluation.report.build import Report, build_report, episode_page
from tradefair.evaluation.report.model import EpisodePage, PageData
from tradefair.evaluation.report.page import html_page

__all__ = ["EpisodePage", "PageData", "Report", "build_report", "episode_page", "html_page"]
