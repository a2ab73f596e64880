# The names of the package: `tradefair.evaluation.report` loads from here, type checkers read it.
from .build import Report as Report
from .build import build_report as build_report
from .build import episode_page as episode_page
from .page import html_page as html_page
from .page_data import EpisodePage as EpisodePage
from .page_data import PageData as PageData
