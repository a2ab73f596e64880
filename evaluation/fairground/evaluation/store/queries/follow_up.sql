-- After each look at an object: the next accepted action of the same seat on it, within $rounds rounds (0: the same one).
-- One row per (episode, seat, seq, object). verdict: 'followed'; 'none' when the whole window was played without one;
-- 'open' when the episode was over, or had got no further, before the window was. next_seq is 0 and waited -1 unless
-- followed. Looks at no object in particular are left out: nothing could follow them.
WITH touched AS (
    SELECT episode, seat, object, seq, round, tool, CASE WHEN kind = 'action' THEN 1 ELSE 0 END AS acts
    FROM objects
    WHERE status = 'ok' AND kind IN ('read', 'analysis', 'action') AND object <> '*'
),
answered AS (
    SELECT episode, seat, object, seq, round, tool, acts,
           MIN(CASE WHEN acts = 1 THEN seq END) OVER later AS next_seq,
           MIN(CASE WHEN acts = 1 THEN round END) OVER later AS next_round
    FROM touched
    WINDOW later AS (PARTITION BY episode, seat, object ORDER BY seq DESC ROWS UNBOUNDED PRECEDING)
)
SELECT a.episode, a.seat, a.seq, a.object, a.round, a.tool,
       CASE WHEN a.next_round <= a.round + $rounds THEN 'followed'
            WHEN a.round + $rounds > e.rounds THEN 'open'
            ELSE 'none' END AS verdict,
       CASE WHEN a.next_round <= a.round + $rounds THEN a.next_seq ELSE 0 END AS next_seq,
       CASE WHEN a.next_round <= a.round + $rounds THEN a.next_round - a.round ELSE -1 END AS waited
FROM answered a
JOIN episodes e ON e.episode = a.episode
WHERE a.acts = 0
