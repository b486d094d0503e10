"""Plays that try to harm what runs them, as texts."""

from __future__ import annotations

from tests.integration.host_plays import odd_play

GOOD = odd_play("return 'well'")

IN_A_ROW = b"""
import re, time
from runtime import play

def verdict(row):
    if row["n"] == 2:
        %s
    return row["n"]

@play("odd")
async def odd(ctx, input):
    rows = [{"n": n} for n in range(4)]
    return await ctx.map("leads", rows, key="n").step("email", verdict).run(description="x")
"""
LOOPS_IN_A_ROW = IN_A_ROW % b"while True: pass"
SLEEPS_IN_A_ROW = IN_A_ROW % b"time.sleep(1000)"
MATCHES_IN_A_ROW = IN_A_ROW % b're.match(r"(a|a)*b", "a" * 60)'
EXITS_IN_A_ROW = IN_A_ROW.replace(b"import re", b"import os, re") % b"os._exit(7)"

LOOPS = odd_play("while True: pass")
LOOPS_WHILE_IT_LOADS = b"from runtime import play\nwhile True: pass\n" + odd_play("return 1")
SUMS = odd_play("return sum(range(10**13))")
PRINTS = odd_play("while True: print('x' * 100)")
ALLOCATES = odd_play("held = []", "while True: held.append(b'x' * 10**7)")
ALLOCATES_AT_ONCE = odd_play("return len(bytearray(10**11))")
FORKS = odd_play(
    "while True:",
    "    try: os.fork()",
    "    except OSError: pass",
)
SWALLOWS = odd_play(
    "import asyncio",
    "while True:",
    "    try: await asyncio.sleep(3600)",
    "    except BaseException: pass",
)
BLOCKS_A_THREAD = odd_play("import asyncio", "await asyncio.to_thread(time.sleep, 3600)")
LEAVES_A_DAEMON = odd_play(
    "import ctypes",
    "if os.fork() == 0:",
    "    os.setsid()",
    "    if os.fork() == 0:",
    "        ctypes.CDLL(None).prctl(15, b'odd-daemon', 0, 0, 0)",
    "        os.close(0), os.close(1), os.close(2)",
    "        while True: time.sleep(1)",
    "    os._exit(0)",
    "os.wait()",
    "return 1",
)
KILLS_ITS_PARENT = odd_play("os.kill(os.getppid(), signal.SIGKILL)", "time.sleep(0.2)", "return 1")

PROBES = b"""
import ctypes, os, signal, socket
from runtime import play

def read(path):
    with open(path, "rb") as file:
        return len(file.read())

def write(path):
    with open(path, "wb") as file:
        return file.write(b"x")

def fill_scratch():
    with open("/tmp/much", "wb") as file:
        for _ in range(100):
            file.write(b"x" * 2**20)

def connect(family, kind, address):
    with socket.socket(family, kind) as one:
        one.settimeout(2)
        one.connect(address)
        one.send(b"x")

def ptrace(pid):
    if ctypes.CDLL(None, use_errno=True).ptrace(16, pid, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")

def probed(what, *given):
    try:
        what(*given)
    except Exception as error:
        return type(error).__name__
    return "done"

@play("odd")
async def odd(ctx, input):
    tcp, unix = (socket.AF_INET, socket.SOCK_STREAM), (socket.AF_UNIX, socket.SOCK_STREAM)
    return {
        "secret": probed(read, input["secret"]),
        "file": probed(read, input["file"]),
        "environment": probed(read, f"/proc/{input['worker']}/environ"),
        "memory": probed(read, f"/proc/{input['worker']}/mem"),
        "write beside": probed(write, input["file"] + "2"),
        "write library": probed(write, os.__file__ + "2"),
        "tcp": probed(connect, *tcp, ("127.0.0.1", input["port"])),
        "udp": probed(connect, socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", input["port"])),
        "unix": probed(connect, *unix, input["socket"]),
        "abstract": probed(connect, *unix, "\\0" + input["abstract"]),
        "signal": probed(os.kill, input["worker"], 0),
        "ptrace": probed(ptrace, input["worker"]),
        "scratch": probed(write, "/tmp/mine"),
        "much scratch": probed(fill_scratch),
        "core": __import__("resource").getrlimit(__import__("resource").RLIMIT_CORE)[0],
        "user": os.getuid(),
        "processes": probed(os.listdir, "/proc") == "done"
            and len([name for name in os.listdir("/proc") if name.isdigit()]),
        "rights": ctypes.CDLL(None).prctl(39, 0, 0, 0, 0),
    }
"""
