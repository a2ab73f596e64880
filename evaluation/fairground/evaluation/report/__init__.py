"""One self-contained HTML page about one or several traces: `build_report(paths)` gives its bytes."""

from fairground.evaluation.report.build import Report, build_report, episode_page
from fairground.evaluation.report.model import EpisodePage, PageData
from fairground.evaluation.report.page import html_page

__all__ = ["EpisodePage", "PageData", "Report", "build_report", "episode_page", "html_page"]
