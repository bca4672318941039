"""How many streams a target serves at a time: the limits, what was decided, and what was learned."""

from swath.throttle.throttle import Decision, LaneStatus, PatternStatus, TargetStatus, status, stream, trace

__all__ = ["Decision", "LaneStatus", "PatternStatus", "TargetStatus", "status", "stream", "trace"]
