"""The ledger's SQL: one statement that judges and claims, one that settles, whatever the number of calls.

Order of locks, in every transaction: usage rows by run, then ledger rows by key. The usage row is locked
by a statement of its own before the claim, because only a statement that begins after the lock is held sees
what the transaction before it committed. Ledger rows that only answer are not locked.

Plans are made once per connection, perhaps while the ledger is empty. So that they stay right when it has
grown, sequential scans are off on the gateway's connections, and joins with many calls name their keys
(``= ANY``), which keeps an index condition whatever kind of join is chosen.
"""

from __future__ import annotations

LOCK_USAGE_OF_RUN = """
SELECT 1 FROM plays_runusage
WHERE run_id = (SELECT coalesce(root_id, id) FROM plays_run WHERE id = %(run)s)
FOR UPDATE
"""

CLAIM = """
WITH asked AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(asked)s::json) AS a(
        n int, key text, input jsonb, is_step bool, tool text, provider text, is_repeatable bool,
        price numeric, hit_life float8, miss_life float8, lasts float8
    )
), run AS MATERIALIZED (
    SELECT r.id, r.workspace_id, r.status, r.requested, p.epoch, o.id AS root_id, o.limits,
           greatest(r.fresh_after, o.fresh_after, %(fresh_after)s::timestamptz) AS fresh_after,
           coalesce(r.started_at, statement_timestamp()) AS started_at,
           coalesce(r.status = 'running' AND r.requested = 'none' AND p.epoch = %(epoch)s, false)
               AS may_call,
           u.tool_calls, u.retries, u.waterfall_steps,
           u.credits_reserved + u.credits_spent AS credits
    FROM plays_run r
    JOIN plays_run o ON o.id = coalesce(r.root_id, r.id)
    JOIN plays_runusage u ON u.run_id = o.id
    LEFT JOIN plays_runparticipant p ON p.run_id = r.id AND p.role = 'engine'
    WHERE r.id = %(run)s
), found AS MATERIALIZED (
    SELECT a.*, c.status AS old_status, c.claim AS old_claim, c.attempts AS old_attempts,
           c.reserved AS old_reserved, c.result, c.finished_at, c.claimed_until,
           coalesce(theirs.root_id, theirs.id) AS their_root,
           coalesce(coalesce(theirs.root_id, theirs.id) = run.root_id, false) AS is_own,
           c.key IS NOT NULL
               AND (c.workspace_id <> run.workspace_id OR c.tool <> a.tool OR c.input <> a.input)
               AS is_other,
           CASE c.status WHEN 'completed' THEN a.hit_life WHEN 'no_result' THEN a.miss_life END AS life
    FROM run
    CROSS JOIN asked a
    LEFT JOIN plays_toolcall c ON c.key = a.key AND c.key = ANY(%(keys)s)
    LEFT JOIN plays_run theirs ON theirs.id = c.run_id
), looked AS MATERIALIZED (
    SELECT f.*,
           f.is_own AND f.old_status = 'failed' AND f.old_attempts > 0 AS is_retry,
           CASE
               WHEN NOT run.may_call THEN 'stopped'
               WHEN f.is_other THEN 'other'
               WHEN f.old_status IN ('completed', 'no_result') AND (
                   f.is_own
                   OR (run.fresh_after IS NULL OR f.finished_at >= run.fresh_after)
                   AND (
                       f.life IS NULL
                       OR f.life > 0
                       AND f.finished_at + f.life * interval '1 second' > run.started_at
                   )
               ) THEN 'answer'
               WHEN f.old_status = 'claimed' AND f.claimed_until > statement_timestamp() THEN 'busy'
               WHEN f.old_status = 'claimed' AND NOT f.is_repeatable THEN 'doubt'
               WHEN f.old_status = 'in_doubt' THEN 'doubt'
               ELSE 'claim'
           END AS word
    FROM found f CROSS JOIN run
), limits AS MATERIALIZED (
    SELECT (limits->>'max_tool_call_count')::numeric AS calls,
           coalesce((limits->>'max_tool_calls_per_row')::numeric, 0) AS calls_per_row,
           (limits->>'max_retry_count')::numeric AS retries,
           coalesce((limits->>'max_retries_per_row')::numeric, 0) AS retries_per_row,
           (limits->>'max_waterfall_step_executions')::numeric AS steps,
           (limits->>'max_credits')::numeric AS credits
    FROM run
), need AS MATERIALIZED (
    SELECT count(*) AS calls, count(*) FILTER (WHERE is_retry) AS retries
    FROM looked WHERE word = 'claim'
), sealed AS MATERIALIZED (
    SELECT CASE
        WHEN run.tool_calls + need.calls > limits.calls
            OR run.retries + need.retries > limits.retries
        THEN (
            SELECT coalesce(sum(f.total), 0) FROM plays_mapframe f
            WHERE f.is_sealed AND f.run_id IN (
                SELECT run.root_id UNION ALL SELECT id FROM plays_run WHERE root_id = run.root_id
            )
        )
        ELSE 0
    END AS total
    FROM run CROSS JOIN need CROSS JOIN limits
), room AS MATERIALIZED (
    SELECT l.calls + l.calls_per_row * s.total - run.tool_calls AS calls,
           l.retries + l.retries_per_row * s.total - run.retries AS retries,
           l.steps - run.waterfall_steps AS steps,
           l.credits - run.credits AS credits
    FROM run CROSS JOIN limits l CROSS JOIN sealed s
), counted AS (
    SELECT l.*,
           l.is_step AND NOT l.is_retry AS is_new_step,
           l.price - CASE WHEN l.is_own AND l.old_status = 'claimed' THEN l.old_reserved ELSE 0 END
               AS reserve
    FROM looked l
), summed AS (
    SELECT c.*,
           count(*) FILTER (WHERE word = 'claim') OVER w AS calls_so_far,
           count(*) FILTER (WHERE word = 'claim' AND is_retry) OVER w AS retries_so_far,
           count(*) FILTER (WHERE word = 'claim' AND is_new_step) OVER w AS steps_so_far,
           sum(reserve) FILTER (WHERE word = 'claim') OVER w AS credits_so_far
    FROM counted c WINDOW w AS (ORDER BY n)
), decided AS MATERIALIZED (
    SELECT s.*,
           CASE
               WHEN s.word <> 'claim' THEN NULL
               WHEN s.calls_so_far > room.calls THEN 'max_tool_call_count'
               WHEN s.is_retry AND s.retries_so_far > room.retries THEN 'max_retry_count'
               WHEN s.is_new_step AND s.steps_so_far > room.steps
                   THEN 'max_waterfall_step_executions'
               WHEN s.reserve > 0 AND s.credits_so_far > room.credits THEN 'max_credits'
           END AS refused_by
    FROM summed s CROSS JOIN room
), admitted AS MATERIALIZED (
    SELECT * FROM decided WHERE word = 'claim' AND refused_by IS NULL ORDER BY key
), first_claims AS (
    INSERT INTO plays_toolcall (
        key, workspace_id, run_id, tool, provider, input, status, claim, claimed_until,
        attempts, credits, reserved, batch_size, created_at, started_at
    )
    SELECT a.key, run.workspace_id, run.id, a.tool, a.provider, a.input, 'claimed', %(claim)s::uuid,
           statement_timestamp() + a.lasts * interval '1 second',
           1, 0, a.price, 1, statement_timestamp(), statement_timestamp()
    FROM admitted a CROSS JOIN run
    WHERE a.old_status IS NULL
    ORDER BY a.key
    ON CONFLICT (key) DO NOTHING
    RETURNING key, attempts
), later_claims AS (
    UPDATE plays_toolcall c
    SET run_id = run.id, status = 'claimed', claim = %(claim)s::uuid,
        claimed_until = statement_timestamp() + a.lasts * interval '1 second',
        attempts = c.attempts + 1, reserved = a.price, started_at = statement_timestamp()
    FROM admitted a CROSS JOIN run
    WHERE a.old_status IS NOT NULL AND c.key = a.key
        AND c.status = a.old_status AND c.attempts = a.old_attempts
        AND c.claim IS NOT DISTINCT FROM a.old_claim
    RETURNING c.key, c.attempts
), claimed AS (
    SELECT * FROM first_claims UNION ALL SELECT * FROM later_claims
), doubted AS (
    UPDATE plays_toolcall c
    SET status = 'in_doubt', claimed_until = NULL, finished_at = statement_timestamp()
    FROM decided d
    WHERE c.key = d.key AND d.word = 'doubt' AND c.status = 'claimed'
        AND c.claim IS NOT DISTINCT FROM d.old_claim
), reserved AS (
    UPDATE plays_runusage u
    SET tool_calls = u.tool_calls + t.calls, retries = u.retries + t.retries,
        waterfall_steps = u.waterfall_steps + t.steps,
        credits_reserved = u.credits_reserved + t.credits
    FROM (
        SELECT count(*) AS calls, count(*) FILTER (WHERE d.is_retry) AS retries,
               count(*) FILTER (WHERE d.is_new_step) AS steps, coalesce(sum(d.reserve), 0) AS credits
        FROM claimed JOIN decided d USING (key)
    ) t CROSS JOIN run
    WHERE u.run_id = run.root_id AND t.calls > 0
)
SELECT run.root_id::text, run.status, run.requested, run.epoch, run.may_call, s.total AS rows,
       CASE WHEN bool_or(d.refused_by IS NOT NULL) THEN run.limits END AS limits,
       json_agg(json_build_array(
           d.word, d.refused_by, c.attempts, d.is_retry, d.is_new_step, d.old_status,
           CASE WHEN d.word = 'answer' THEN d.result END
       ) ORDER BY d.n) AS verdicts,
       json_agg(json_build_array(d.their_root, d.old_reserved)) FILTER (
           WHERE c.key IS NOT NULL AND d.old_status = 'claimed' AND NOT d.is_own
       ) AS left_behind
FROM run
CROSS JOIN sealed s
CROSS JOIN decided d
LEFT JOIN claimed c ON c.key = d.key
GROUP BY run.root_id, run.status, run.requested, run.epoch, run.may_call, s.total, run.limits
"""

LOCK_USAGES = """
SELECT 1 FROM plays_runusage WHERE run_id = ANY(%(roots)s::uuid[]) ORDER BY run_id FOR UPDATE
"""

SETTLE = """
WITH done AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(done)s::json) AS d(
        key text, claim uuid, root_id uuid, status text, result jsonb, error jsonb,
        credits numeric, reserved numeric, calls_back int, retries_back int, steps_back int,
        requests int, latency_ms int, batch_size int
    )
), settled AS (
    UPDATE plays_toolcall c
    SET status = d.status, result = d.result, error = d.error, credits = d.credits, reserved = 0,
        claim = NULL, claimed_until = NULL, attempts = c.attempts - d.calls_back,
        latency_ms = d.latency_ms, batch_size = d.batch_size, finished_at = statement_timestamp()
    FROM done d
    WHERE c.key = ANY(%(keys)s) AND c.key = d.key AND c.claim = d.claim AND c.status = 'claimed'
    RETURNING c.key, d.claim
), spent AS (
    UPDATE plays_runusage u
    SET credits_reserved = u.credits_reserved - t.reserved,
        credits_spent = u.credits_spent + t.credits,
        tool_calls = u.tool_calls - t.calls_back, retries = u.retries - t.retries_back,
        waterfall_steps = u.waterfall_steps - t.steps_back, requests = u.requests + t.requests
    FROM (
        SELECT d.root_id, sum(d.reserved) AS reserved, sum(d.credits) AS credits,
               sum(d.calls_back) AS calls_back, sum(d.retries_back) AS retries_back,
               sum(d.steps_back) AS steps_back, sum(d.requests) AS requests
        FROM done d JOIN settled USING (key, claim) GROUP BY d.root_id
    ) t
    WHERE u.run_id = t.root_id
)
SELECT key, claim::text FROM settled
"""

EXTEND = """
UPDATE plays_toolcall
SET claimed_until = greatest(claimed_until, statement_timestamp() + %(lasts)s * interval '1 second')
WHERE key = ANY(%(keys)s::text[]) AND claim = %(claim)s::uuid AND status = 'claimed'
RETURNING key
"""

RELEASE_LEFT_BEHIND = """
UPDATE plays_runusage SET credits_reserved = credits_reserved - %(credits)s WHERE run_id = %(root)s
"""

POLICIES = """
SELECT provider, tool, is_enabled, windows, concurrency, batch_size, linger_seconds, price,
       hit_life_seconds, miss_life_seconds
FROM plays_toolpolicy
"""
