-- A call that was refused although the seat's last call of the same tool with the same arguments had been refused too,
-- and nothing had closed between. One row per (episode, seat, seq).
WITH compared AS (
    SELECT episode, seat, seq, round, revision, tool, status, error_code,
           LAG(seq, 1, 0) OVER same AS previous_seq,
           LAG(status, 1, 'ok') OVER same AS previous_status,
           LAG(revision, 1, -1) OVER same AS previous_revision
    FROM calls
    WINDOW same AS (PARTITION BY episode, seat, tool, arguments_digest ORDER BY seq)
)
SELECT episode, seat, seq, previous_seq, round, tool, status, error_code
FROM compared
WHERE status IN ('rejected', 'invalid', 'denied')
  AND previous_status IN ('rejected', 'invalid', 'denied')
  AND previous_revision = revision
