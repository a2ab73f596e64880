"""The base class of records that are compared, printed and read again."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A frozen record that refuses unknown keys: a name that is misspelt must not silently be missing somewhere."""

    model_config = ConfigDict(frozen=True, extra="forbid")
