"""Where a scenario's customers and businesses come from: its content, the seed, or a folder of the user's (section 11).

The data of a folder is written into the scenario when that is loaded, and so into the manifest of every trace: what
was played can be verified where the folder is not.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from tradefair.contract.errors import ScenarioError
from tradefair.contract.scenario import build_scenario
from tradefair.marketplace.data.designs import design_catalogue
from tradefair.marketplace.data.generator import generate
from tradefair.marketplace.data.loader import load_folder
from tradefair.marketplace.model import Catalogue, MarketplaceScenario


def catalogue_of(scenario: MarketplaceScenario, seed: int) -> Catalogue:
    """Everybody in this episode. ScenarioError when the data of a folder was not there to be written in. Pure."""
    if scenario.catalogue is not None:
        return scenario.catalogue
    if scenario.data.source == "design":
        return design_catalogue(scenario.data, seed)
    if scenario.data.source == "generated":
        return generate(scenario.data, seed)
    raise ScenarioError(
        f"{scenario.id}: the data {scenario.data.path} was not found: name the folder that holds it with --data DIR, "
        "or with the variable TRADEFAIR_DATA"
    )


def lacks_data(scenario: MarketplaceScenario) -> bool:
    """Whether the data of a folder was not there to be written in."""
    return scenario.data.source == "folder" and scenario.catalogue is None


def with_data(scenario: MarketplaceScenario, root: str) -> MarketplaceScenario:
    """The scenario with the data that it names below the folder `root` in it; as it is where there is none.

    ScenarioError names every malformed file with its field.
    """
    if not lacks_data(scenario):
        return scenario
    folder = folder_of(root, scenario.data.path)
    if folder is None:
        return scenario
    catalogue = load_folder(str(folder)).model_dump(mode="json")
    content = {**scenario.model_dump(mode="json"), "catalogue": catalogue}
    return build_scenario(MarketplaceScenario, content, source=scenario.id)


def folder_of(root: str, path: str) -> Path | None:
    """Where below `root` the data set `marketplace/mexican_3_9` lies: `root` may name any folder on the way to it.

    One of its name that holds no customers is it too where there is no other: what it lacks is for the loader to say.
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
    """What may not be looked at counts: reading it says why not."""
    try:
        return path.is_dir()
    except OSError:
        return True
