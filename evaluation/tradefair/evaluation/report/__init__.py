"""One self-contained HTML page about one or several traces: `build_report(paths)` gives its bytes."""

from tradefair.evaluation.report.build import Report, build_report, episode_page
from tradefair.evaluation.report.page import html_page
from tradefair.evaluation.report.page_data import EpisodePage, PageData

__all__ = ["EpisodePage", "PageData", "Report", "build_report", "episode_page", "html_page"]
