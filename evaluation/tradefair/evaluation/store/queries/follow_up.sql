-- After each look at an object: the next accepted action of the same seat on it, if it came within $rounds rounds
-- (0: in the same one). One row per (episode, seat, seq, object). verdict: 'followed'; 'none' when the whole window was
-- played without one; 'open' when the episode ended, or has got no further, before the window did. next_seq is 0 and
-- waited -1 unless followed. Looks at no object in particular are left out: nothing could follow them.
-- The next action is the one whose predecessor on the object came before the look; no look has two of them.
WITH RECURSIVE steps (step) AS (
    SELECT 0
    UNION ALL
    SELECT step + 1 FROM steps WHERE step < $rounds
),
acted AS (
    SELECT episode, seat, object, seq, round,
           LAG(seq, 1, 0) OVER (PARTITION BY episode, seat, object ORDER BY seq) AS previous_seq
    FROM objects
    WHERE status = 'ok' AND kind = 'action' AND object <> '*'
),
answers AS (
    SELECT a.episode, a.seat, a.object, a.seq, a.previous_seq, t.step, a.round - t.step AS look_round
    FROM acted a
    CROSS JOIN steps t
)
SELECT o.episode, o.seat, o.seq, o.object, o.round, o.tool,
       CASE WHEN a.seq IS NOT NULL THEN 'followed'
            WHEN o.round + $rounds > e.rounds THEN 'open'
            ELSE 'none' END AS verdict,
       COALESCE(a.seq, 0) AS next_seq,
       COALESCE(a.step, -1) AS waited
FROM objects o
JOIN episodes e ON e.episode = o.episode
LEFT JOIN answers a
    ON a.episode = o.episode AND a.seat = o.seat AND a.object = o.object AND a.look_round = o.round
    AND a.seq > o.seq AND a.previous_seq < o.seq
WHERE o.status = 'ok' AND o.kind IN ('read', 'analysis') AND o.object <> '*'
