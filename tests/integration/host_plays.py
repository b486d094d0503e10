"""Plays whose authors are up to something, as texts."""

from __future__ import annotations

HEAD = """
import os, sys, time, signal
from runtime import play

@play("odd")
async def odd(ctx, input):
"""


def odd_play(*lines: str) -> bytes:
    """Give a play with these lines as its function."""
    return (HEAD + "".join(f"    {line}\n" for line in lines)).encode()


LOOKS_AROUND = odd_play(
    "found = {}",
    "for fd in os.listdir('/proc/self/fd'):",
    "    try:",
    "        found[fd] = os.readlink(f'/proc/self/fd/{fd}')",
    "    except OSError:",
    "        pass",
    "return {'environment': dict(os.environ), 'descriptors': found, 'arguments': sys.orig_argv,",
    "        'session': os.getsid(0) == os.getpid()}",
)
PRINTS = odd_play(
    "print('first line')",
    "print('to stderr', file=sys.stderr)",
    "print('x' * 5000)",
    "for n in range(3000): print(n)",
    "return 1",
)
WRITES_RUBBISH = odd_play(
    "os.write(int(sys.argv[1]), b'rubbish' * 10)",
    "time.sleep(30)",
)
ASKS_FOR_NO_PORT = odd_play(
    "import json",
    "told = json.dumps({'id': 10**6, 'port': 'secrets', 'method': 'read', 'args': []}).encode()",
    "os.write(int(sys.argv[1]), len(told).to_bytes(4, 'big') + told)",
    "time.sleep(30)",
)
CLOSES_ITS_PIPE = odd_play("os.close(int(sys.argv[1]))", "time.sleep(30)")
EXITS = odd_play("os._exit(7)")
KILLS_ITSELF = odd_play("os.kill(os.getpid(), signal.SIGKILL)")
NEVER_ENDS = odd_play("while True: time.sleep(0.01)")
RAISES = odd_play("raise ValueError('no such thing')")
WAITS = odd_play("import asyncio", "await asyncio.sleep(3600)")
