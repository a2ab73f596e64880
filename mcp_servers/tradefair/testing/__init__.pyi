# The promised names of the kit: `tradefair.testing` loads from here, type checkers read it.
from .bench import Bench as Bench
from .bench import Failure as Failure
from .bench import bundled_scenarios as bundled_scenarios
from .client import OpenSeat as OpenSeat
from .client import open_seat as open_seat
from .kit import CHECKS as CHECKS
from .kit import check_market as check_market
from .market_copy import new_market as new_market
from .playthrough import Playthrough as Playthrough
from .playthrough import Service as Service
from .playthrough import play_scripted as play_scripted
from .playthrough import policy_maker as policy_maker
from .snapshot import schema_snapshot as schema_snapshot
from .snapshot import snapshot_bytes as snapshot_bytes
