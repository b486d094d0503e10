"""The engine's ports on PostgreSQL: psycopg, COPY and arrays, no ORM.

Everything here writes for one participant of one run and is fenced (``fencing``). It knows tables,
not plays: what a step means, and when it is asked, is the engine's.
"""

from plays.stores.connections import open_pool
from plays.stores.fencing import Participant, RunWriter
from plays.stores.receipts import PostgresReceipts
from plays.stores.records import PostgresRecords
from plays.stores.rows import PostgresRows
from plays.stores.signals import PostgresSignals

__all__ = [
    "Participant",
    "PostgresReceipts",
    "PostgresRecords",
    "PostgresRows",
    "PostgresSignals",
    "RunWriter",
    "open_pool",
]
