-- The same look with the same arguments and the same answer, $times times or more, with no accepted action of the seat
-- between. One row per (episode, seat, first_seq); refused looks and looks without an answer on record do not count.
WITH placed AS (
    SELECT episode, seat, seq, round, tool, kind, status, arguments_digest, result_digest,
           SUM(CASE WHEN kind = 'action' AND status = 'ok' THEN 1 ELSE 0 END)
               OVER (PARTITION BY episode, seat ORDER BY seq ROWS UNBOUNDED PRECEDING) AS stretch
    FROM calls
)
SELECT episode, seat, MIN(seq) AS first_seq, MAX(seq) AS last_seq, tool,
       MIN(round) AS first_round, MAX(round) AS last_round, COUNT(*) AS times
FROM placed
WHERE kind IN ('read', 'analysis') AND status = 'ok' AND result_digest <> ''
GROUP BY episode, seat, stretch, tool, arguments_digest, result_digest
HAVING COUNT(*) >= $times
