"""Where a scenario's customers and businesses come from: its content, the seed, or a folder of the user's (section 11).

The data of a folder is written into the scenario when that is loaded, and so into the manifest of every trace: what
was played can be verified where the folder is not.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from tradefair.contract import ScenarioError
from tradefair.contract.scenario import build_scenario
from tradefair.marketplace.data.loader import load_folder
from tradefair.marketplace.model import Catalogue, MarketplaceScenario


def catalogue_of(scenario: MarketplaceScenario, seed: int) -> Catalogue:
    """All customers and businesses of this episode. Pure: it reads no folder.

    ScenarioError when the scenario names a folder whose data was not found when the scenario was loaded.
    """
    if scenario.catalogue is not None:
        return scenario.catalogue
    # Imported here: a trace that holds its catalogue is evaluated where the generator is not.
    from tradefair.marketplace.data.designs import design_catalogue
    from tradefair.marketplace.data.generator import generate

    if scenario.data.source == "design":
        return design_catalogue(scenario.data, seed)
    if scenario.data.source == "generated":
        return generate(scenario.data, seed)
    raise ScenarioError(
        f"{scenario.id}: the data {scenario.data.path} was not found: name the folder that holds it with --data DIR, "
        "or with the variable TRADEFAIR_DATA"
    )


def lacks_data(scenario: MarketplaceScenario) -> bool:
    """Whether the scenario names a folder and its data is not in the scenario."""
    return scenario.data.source == "folder" and scenario.catalogue is None


def with_data(scenario: MarketplaceScenario, root: str) -> MarketplaceScenario:
    """The scenario with the data of its folder below `root` in it; unchanged where there is no such folder.

    ScenarioError names every malformed file with its field.
    """
    # A missing folder is no error here: such a scenario loads and lists, and says what to set when it is played.
    if not lacks_data(scenario):
        return scenario
    folder = folder_of(root, scenario.data.path)
    if folder is None:
        return scenario
    catalogue = load_folder(str(folder)).model_dump(mode="json")
    # Content of the scenario, not a file next to it: re-execution needs no folder.
    content = {**scenario.model_dump(mode="json"), "catalogue": catalogue}
    return build_scenario(MarketplaceScenario, content, source=scenario.id)


def folder_of(root: str, path: str) -> Path | None:
    """The folder of a data set such as `marketplace/mexican_3_9`; `root` may name any folder on the way to it.

    A folder of that name without customers counts if there is no other: what it lacks is for the loader to say. None
    where there is none, or `root` is empty.
    """
    if not root:
        return None
    base = Path(root).absolute()
    parts = PurePosixPath(path).parts
    # base may end in the first parts of path: …/data, …/data/marketplace and …/data/marketplace/mexican_3_9.
    ways = [n for n in range(len(parts) + 1) if not n or base.parts[-n:] == parts[:n]]
    folders = [folder for known in ways if _is_folder(folder := base.joinpath(*parts[known:]))]
    return next((folder for folder in folders if _is_folder(folder / "customers")), folders[0] if folders else None)


def _is_folder(path: Path) -> bool:
    """Whether there is a folder. One that may not be looked at counts: the attempt to read it says why not."""
    try:
        return path.is_dir()
    except OSError:
        return True
