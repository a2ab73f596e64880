# The names of the package: `tradefair.frameworks.models` loads from here, type checkers read it.
from .endpoint import ModelEndpoint as ModelEndpoint
from .endpoint import parse_model as parse_model
from .faults import Faults as Faults
from .serving import open_chat_model as open_chat_model
