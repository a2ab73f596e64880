"""Every command of the console script: its name, its help line, and where it lives. Nothing is imported here."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple


class Command(NamedTuple):
    """One command. `target` is `module:name` below `tradefair`: a typed function, or a Typer group.

    `direct` names a function that is asked first, without a parser: from the arguments to an exit code, or to None.
    """

    name: str
    group: str
    help: str
    target: str
    direct: str = ""

    def load(self) -> Any:
        """The function or group itself. The package that does the work is imported here and not before.

        Raises TradefairError where this installation lacks it.
        """
        return load_named(self.target)

    def at_once(self, arguments: Sequence[str]) -> int | None:
        """Carry out what needs no parser of options; None for all else, and where `load` says what lacks."""
        try:
            return _named(self.direct)(arguments) if self.direct else None
        except ModuleNotFoundError as error:
            if str(error.name).startswith("tradefair."):
                return None
            raise


def load_named(target: str) -> Any:
    """What `module:name` names below `tradefair`. Raises TradefairError for a module that this installation lacks."""
    try:
        return _named(target)
    except ModuleNotFoundError as error:
        # A library that is missing is another fault: its own error says more.
        if not str(error.name).startswith("tradefair."):
            raise
        # Here: help imports nothing.
        from tradefair.contract import ScenarioError

        raise ScenarioError(f"this installation has no {error.name}; the released package has it") from error


def _named(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(import_module(f"tradefair.{module}"), name)


# Some of these lie in the room of one market. They are text, not imports: `--help` must stay fast, and a market is
# loaded by the command that needs it and by no other.
COMMANDS: tuple[Command, ...] = (
    Command("demo", "Play", "Play, score and check one episode; no key.", "runner.commands.demo_command:demo"),
    Command("play", "Play", "Play an episode here: agents and scripted seats.", "runner.commands.play_command:play"),
    Command(
        "sweep", "Play", "Play every episode of a plan; rank who played.", "runner.commands.sweep_command:sweep_plan"
    ),
    Command("seeds", "Play", "Seeds that nobody knows before the games.", "runner.commands.seeds_command:seeds"),
    Command("fork", "Play", "Redo a decision on the same luck.", "runner.commands.fork_command:fork"),
    Command("serve", "Play", "Serve one seat of one episode over stdio.", "host.commands.serving_commands:serve"),
    Command("host", "Play", "Host episodes, or tasks, over HTTP.", "runner.commands.host_command:host"),
    Command("control", "Play", "Make, watch and end a host's episodes.", "host.commands.control_commands:control"),
    Command("connect", "Play", "Connect a stdio client to a hosted seat.", "host.commands.serving_commands:connect"),
    Command("config", "Play", "Print a client's configuration for a seat.", "host.commands.config_command:config"),
    Command("tasks", "Play", "The tasks that are trained on, and their seeds.", "runner.commands.tasks_command:show"),
    Command("gateway", "Play", "Serve a model endpoint; record, replay.", "runner.commands.gateway_command:gateway"),
    Command(
        "list", "Look", "Every market in short; a folder's traces.", "evaluation.commands.list_command:list_traces"
    ),
    Command(
        "show", "Look", "What is installed, by kind.", "runner.commands.show_command:show", "catalog.looking:at_once"
    ),
    Command("new-market", "Build", "Start a market of your own.", "testing.new_market_command:new_market"),
    Command("check", "Build", "Test a market, or a scenario file.", "testing.check_command:check"),
    Command("evaluate", "Audit", "Economic outcomes of traces.", "runner.commands.evaluate_command:evaluate"),
    Command("verify", "Audit", "Check hash chains and re-execute traces.", "evaluation.commands.audit_commands:verify"),
    Command("sign", "Audit", "Vouch for the seals of traces.", "evaluation.commands.audit_commands:sign"),
    Command("gate", "Audit", "Has a change made an agent worse?", "runner.commands.gate_command:gate"),
    Command("compare", "Audit", "Two agents on the same luck.", "evaluation.commands.compare_command:compare"),
    Command("rate", "Audit", "Leaderboards of who played.", "runner.commands.rate_command:rate"),
    Command("arena", "Audit", "Boards of checked entries.", "evaluation.commands.arena_command:arena"),
    Command("report", "Audit", "One self-contained HTML page.", "runner.commands.report_command:report"),
    Command("view", "Audit", "A folder of traces in the browser.", "runner.commands.view_command:view"),
    Command("site", "Audit", "A folder of traces as a web site.", "runner.commands.site_command:site"),
    Command("trace", "Audit", "Ask one trace questions.", "evaluation.commands.trace_command:trace"),
    Command("export", "Audit", "Write traces in other formats.", "evaluation.foreign.export_command:export"),
    Command("audit", "Audit", "Hold any agent against what it should know.", "evaluation.foreign.audit_command:audit"),
    Command(
        "import",
        "Audit",
        "Turn what any agent has logged into traces.",
        "evaluation.foreign.import_command:import_logs",
    ),
    Command(
        "record",
        "Audit",
        "Record an agent and any MCP server.",
        "recording.record_command:record",
        "recording.direct:record",
    ),
    Command("lab collusion", "Studies", "Signs of collusion.", "runner.commands.collusion_command:collusion"),
    Command(
        "lab experiment",
        "Studies",
        "Bias and planted texts.",
        "evaluation.markets.marketplace.experiments.experiment_command:experiment",
    ),
    Command(
        "lab population",
        "Studies",
        "What profit of retailers goes with.",
        "evaluation.markets.supply_chain.population_command:population",
    ),
)
"""All commands by group, in the order of `--help`; what concerns one study has a name of two words, `lab collusion`."""


def command_named(name: str) -> Command | None:
    """The command called `name`, if there is one.

    Names of studies have two words, such as `lab collusion`.
    """
    return next((command for command in COMMANDS if command.name == name), None)
