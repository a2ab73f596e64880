"""The command `sweep`."""

from __future__ import annotations

from tradefair.cli.options import grouped
from tradefair.cli.terminal import print_json, say
from tradefair.evaluation.report.outputs import Output, write
from tradefair.runner.sweep_flags import AsJson, How, PlanName


@grouped
def sweep_plan(plan: PlanName, how: How, as_json: AsJson = False, output: Output = None) -> int:
    """Play every episode of a plan, one trace each; -o: seeds by arms as a figure, with the verdict on them.

    Stopped or killed, the same command goes on: episodes that are done are not played again, failed ones are. Several
    commands may play one plan into one folder at the same time. Exit code 3 when episodes failed.
    """
    # Imported here: what plays takes long to import.
    from tradefair.runner.sweep_of_plan import play_plan
    from tradefair.runner.sweep_show import print_sweep

    done = play_plan(plan, how)
    if as_json:
        print_json(done.to_json())
    else:
        print_sweep(done)
    if output is not None:
        # Imported here: it needs the evaluators, and everything has been played by now.
        from tradefair.runner.sweep_figure import sweep_page

        say(f"{output}: {write(sweep_page(done, plan), output)}")
    return done.exit_code
