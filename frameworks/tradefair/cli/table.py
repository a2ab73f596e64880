"""Every command of the console script: its name, its help line, and where it lives. Nothing is imported here."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["COMMANDS", "Command", "command_named"]


class Command(NamedTuple):
    """One command. `target` is `module:name` of a typed function, or of a Typer group with commands of its own."""

    name: str
    group: str
    help: str
    target: str


COMMANDS: tuple[Command, ...] = (
    Command("play", "Play", "Play an episode here: agents and scripted seats.", "tradefair.runner.commands:play"),
    Command("sweep", "Play", "Play every episode of a plan; resumable.", "tradefair.runner.sweep_commands:sweep_plan"),
    Command("tournament", "Play", "A sweep, and its ranking.", "tradefair.runner.tournament_commands:tournament"),
    Command("fork", "Play", "Redo a decision on the same luck.", "tradefair.runner.fork_command:fork"),
    Command("exploit", "Play", "What deviating would gain a seat.", "tradefair.runner.exploit_command:exploit"),
    Command("serve", "Play", "Serve one seat of one episode over stdio.", "tradefair.host.commands:serve"),
    Command("host", "Play", "Host episodes over HTTP, one token per seat.", "tradefair.host.commands:host"),
    Command("control", "Play", "Make, watch and end a host's episodes.", "tradefair.host.control_commands:control"),
    Command("connect", "Play", "Connect a stdio client to a hosted seat.", "tradefair.host.commands:connect"),
    Command("config", "Play", "Print a client's configuration for a seat.", "tradefair.host.commands:config"),
    Command("gateway", "Play", "Serve a model endpoint; record, replay.", "tradefair.runner.gateway_command:gateway"),
    Command("evaluate", "Audit", "Economic outcomes of traces.", "tradefair.evaluation.commands:evaluate"),
    Command("verify", "Audit", "Check hash chains and re-execute traces.", "tradefair.evaluation.commands:verify"),
    Command("collusion", "Audit", "Signs of collusion.", "tradefair.evaluation.collusion.commands:collusion"),
    Command("compare", "Audit", "Two agents on the same luck.", "tradefair.evaluation.compare.commands:compare"),
    Command("experiment", "Audit", "Bias and planted texts.", "tradefair.evaluation.experiments.commands:experiment"),
    Command("language", "Audit", "What slogans are worth.", "tradefair.evaluation.language.commands:language"),
    Command("rate", "Audit", "Leaderboards of who played.", "tradefair.evaluation.ratings.commands:rate"),
    Command("import", "Audit", "Turn foreign logs into traces.", "tradefair.evaluation.commands:import_logs"),
    Command("references", "Audit", "Tables that csa rests on.", "tradefair.runner.reference_tables:references"),
    Command("report", "Audit", "One self-contained HTML page.", "tradefair.evaluation.report.commands:report"),
    Command("view", "Audit", "A folder of traces in the browser.", "tradefair.evaluation.viewer.commands:view"),
    Command("trace", "Audit", "Ask one trace questions.", "tradefair.evaluation.store.commands:trace"),
    Command("export", "Audit", "Write traces in other formats.", "tradefair.evaluation.export.commands:export"),
    Command("analyst", "Audit", "A model's opinion of talk and play.", "tradefair.runner.analyst.commands:analyst"),
    Command("markets", "Look", "The installed markets.", "tradefair.catalog.commands:markets"),
    Command("scenarios", "Look", "List, show and check scenarios.", "tradefair.catalog.commands:scenarios"),
    Command("plans", "Look", "The plans of sweeps and tournaments.", "tradefair.runner.sweep_commands:plans"),
    Command("tools", "Look", "The tools of a market.", "tradefair.catalog.commands:tools"),
    Command("draw-agent", "Look", "One of our agent graphs.", "tradefair.frameworks.commands:draw_agent"),
    Command("policies", "Look", "The scripted seats of a market.", "tradefair.catalog.commands:policies"),
)


def command_named(name: str) -> Command | None:
    """The command called `name`, if there is one."""
    return next((command for command in COMMANDS if command.name == name), None)
