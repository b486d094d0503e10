"""The play process' side of the pipe to its host: the ports over frames, and the process' ``main``.

The process is trusted with nothing. It knows no database, key or token; all that it can do is to
ask the host, which checks every message. What travels is described in ``runtime.ports``; frames
are those of ``runtime.wire``:

    process -> host   {"isolation", "lacking"} or {"refused"}            once, before the engine
    host -> process   {"start": {"form", "source", "input", "now", "patience"}}     once, first
    process -> host   {"id", "port", "method", "args": [...]}            any number, at once
    process -> host   {"drop": id}                                       nobody waits for it now
    host -> process   {"id", "ok": value}                                in any order
                      {"id", "error": {"kind", "message"}}
    host -> process   {"ping": number}                                   again and again
    process -> host   {"pong": number}                                   from the event loop; 0 once, first
    process -> host   {"blocked": place}                                 when the loop does not turn
    process -> host   {"finish": RunOutcome, "peak_rss": bytes}          once, last
"""

from runtime.remote.pipe import Pipe
from runtime.remote.ports import RemotePorts

__all__ = ["Pipe", "RemotePorts"]
