"""`make chaos`: kill everything, again and again, and compare with runs that nobody disturbed.

    python -m tests.chaos [--seed N] [--small]

Exit status 1 where an output, a count, the ledger or a price differs, where a paid call was
repeated, or where a run is stuck. The installation is kept then, with its logs, for a look.
"""

from __future__ import annotations

import argparse
import shutil
import sys

from tests.chaos import stage as staging

SHARES = {False: 1.0, True: 0.5}


def main() -> int:
    """Run the series and print the table; give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--small", action="store_true", help="each kind of fault once or twice")
    told = parser.parse_args()
    home = staging.prepare_environment()
    with staging.servers(home) as servers:
        _set_up_django()
        is_good = _series(home, servers, told)
    if is_good:
        shutil.rmtree(home.path)
    else:
        print(f"Logs and database are kept in {home.path}.")
    return 0 if is_good else 1


def _set_up_django() -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", interactive=False, verbosity=0)


def _series(home: staging.Home, servers: tuple[object, object], told: argparse.Namespace) -> bool:
    from tests.chaos.faults import FULL, SMALL
    from tests.chaos.report import report
    from tests.chaos.series import Series, calm_side

    plan = SMALL if told.small else FULL
    with staging.stage(home, *servers) as stage:
        series = Series(stage, plan, told.seed, SHARES[told.small])
        if not told.small:
            series.arena.long_outages |= {"PostgreSQL", "Valkey"}
        print(f"seed {told.seed}: {sum(plan.values())} blows", flush=True)
        series.run()
        stage.start_provider(staging.QUICK_MS)
        found = report(series, calm_side(stage, list(series.disturbed.runs)))
        print("\n".join(found.lines()), flush=True)
    return found.is_good


if __name__ == "__main__":
    sys.exit(main())
