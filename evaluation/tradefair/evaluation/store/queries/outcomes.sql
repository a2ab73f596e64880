-- Conduct of every seat: calls, refusals, lapses, and how the episode went. One row per (episode, seat).
-- A seat that never called has a row of zeros; an episode that is still open has the end reason 'unfinished'.
WITH called AS (
    SELECT episode, seat,
           COUNT(*) AS calls,
           SUM(CASE WHEN status <> 'ok' THEN 1 ELSE 0 END) AS refused,
           SUM(CASE WHEN kind = 'action' AND status = 'ok' THEN 1 ELSE 0 END) AS actions
    FROM calls
    GROUP BY episode, seat
),
lapsed AS (
    SELECT episode, seat, COUNT(*) AS lapses
    FROM lapses
    GROUP BY episode, seat
)
SELECT s.episode, s.seat, s.role, s.label, e.market, e.scenario, e.end_reason, e.rounds,
       COALESCE(c.calls, 0) AS calls,
       COALESCE(c.refused, 0) AS refused,
       COALESCE(c.actions, 0) AS actions,
       COALESCE(l.lapses, 0) AS lapses
FROM seats s
JOIN episodes e ON e.episode = s.episode
LEFT JOIN called c ON c.episode = s.episode AND c.seat = s.seat
LEFT JOIN lapsed l ON l.episode = s.episode AND l.seat = s.seat
