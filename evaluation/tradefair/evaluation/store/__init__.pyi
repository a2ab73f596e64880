# The names of the package: `tradefair.evaluation.store` loads from here, type checkers read it.
from .in_sqlite import TraceTables as TraceTables
from .queries import QUERIES as QUERIES
from .queries import Answer as Answer
from .queries import Query as Query
from .queries import query_named as query_named
from .rows import gather as gather
from .tables import SCHEMA_VERSION as SCHEMA_VERSION
from .tables import TABLES as TABLES
