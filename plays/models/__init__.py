"""The product's tables, one module per concern."""

from plays.models.access import Membership, Role, Workspace
from plays.models.durable import Boundary, CheckpointEntry, EarlyAnswer, LateAnswer, Receipt
from plays.models.gateway import GovernanceProfile, ToolCall, ToolPolicy
from plays.models.grid import LoadingRow, MapFrame, RowState, RowStatus, row_id
from plays.models.play import Play, Revision
from plays.models.run import (
    ChildUsage,
    LogLine,
    Run,
    RunParticipant,
    RunRequest,
    RunStatus,
    RunUsage,
    TraceStep,
)
from plays.models.upload import Upload, UploadChunk

__all__ = [
    "Boundary",
    "CheckpointEntry",
    "ChildUsage",
    "EarlyAnswer",
    "GovernanceProfile",
    "LateAnswer",
    "LoadingRow",
    "LogLine",
    "MapFrame",
    "Membership",
    "Play",
    "Receipt",
    "Revision",
    "Role",
    "RowState",
    "RowStatus",
    "Run",
    "RunParticipant",
    "RunRequest",
    "RunStatus",
    "RunUsage",
    "ToolCall",
    "ToolPolicy",
    "TraceStep",
    "Upload",
    "UploadChunk",
    "Workspace",
    "row_id",
]
