"""Many episodes of one seat, stepped together in this process; the runner does the work."""

from tradefair.contract import ToolAnswer as ToolAnswer
from tradefair.contract import ToolCall as ToolCall
from tradefair.evaluation.judge.reward import Reward as Reward
from tradefair.runner.play.batch import Batch as Batch
from tradefair.runner.play.batch import batch as batch
