"""The number of streams that a target serves at a time: limits, decisions, and learned numbers."""

from swath.throttle.throttle import Decision, LaneStatus, PatternStatus, TargetStatus, status, stream, trace

__all__ = ["Decision", "LaneStatus", "PatternStatus", "TargetStatus", "status", "stream", "trace"]
