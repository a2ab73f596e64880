"""A log that Inspect writes, `.eval` or `.json`: two samples, a sub-agent, refused calls and refused arguments."""

import shutil
import sys
import tempfile
from pathlib import Path

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.agent import as_tool, react
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import generate, system_message, use_tools
from inspect_ai.tool import ToolError, tool


@tool
def add():
    async def execute(x: int, y: int):
        """Add.

        Args:
            x: first
            y: second
        """
        return f"{x + y} " + "for sure " * 300

    return execute


@tool
def refuse():
    async def execute(why: str):
        """Refuse.

        Args:
            why: a reason
        """
        raise ToolError(f"refused: {why}")

    return execute


def told(output):
    # Counted here: the library would fetch a tokenizer.
    output.usage = ModelUsage(input_tokens=9, output_tokens=3, total_tokens=12)
    return output


def call(name, **arguments):
    return told(ModelOutput.for_tool_call("mockllm/model", name, arguments))


def model(outputs):
    return get_model("mockllm/model", custom_outputs=outputs, memoize=False)


helper = react(name="helper", description="helps", tools=[add()], model=model([
    call("add", x=5, y=5), call("submit", answer="10")] * 2))  # fmt: skip
outputs = [
    call("add", x=1, y=2),
    call("refuse", why="no"),
    call("helper", input="add 5 and 5"),
    call("add", x="zz", y=2),
    told(ModelOutput.from_content("mockllm/model", "The answer is 3")),
]
target = Path(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    task = Task(
        dataset=[Sample(id="q 1/a", input="1+2", target="3"), Sample(id="q2", input="again", target="4")],
        solver=[system_message("be good"), use_tools(add(), refuse(), as_tool(helper)), generate()],
        scorer=match(),
    )
    form = target.suffix.removeprefix(".")
    log = evaluate(task, model=model(outputs * 2), log_dir=folder, log_format=form, max_samples=1, display="none")[0]
    assert log.status == "success", log.error
    shutil.move(next(Path(folder).glob(f"*.{form}")), target)
