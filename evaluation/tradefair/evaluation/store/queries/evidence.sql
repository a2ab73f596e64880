-- For each accepted action that should rest on evidence: how much of it its seat had looked at before, in the window
-- and about the object that each need names. One row per (episode, seat, seq, object); object is '' where the needs are
-- about no object. An action none of whose needs exists yet has no row, so that no share is 0/0.
-- reach: rounds of the window, the open one included; 0 = the whole episode, -1 = since the last closure of any kind.
-- The earliest look of a window decides: there was one before the action if and only if the earliest was before it.
WITH RECURSIVE steps (step) AS (
    SELECT 0
    UNION ALL
    SELECT step + 1 FROM steps WHERE step + 1 < (SELECT MAX(reach) FROM needs)
),
windows AS (
    SELECT DISTINCT category, reach FROM needs
),
looks AS (
    SELECT o.episode, o.seat, o.object, w.category, w.reach,
           CASE w.reach WHEN 0 THEN 0 WHEN -1 THEN o.revision ELSE o.round + t.step END AS slot,
           MIN(o.seq) AS seq
    FROM objects o
    JOIN gives g ON g.market = o.market AND g.tool = o.tool
    JOIN windows w ON w.category = g.category
    JOIN steps t ON t.step = 0 OR t.step < w.reach
    WHERE o.status = 'ok' AND o.kind IN ('read', 'analysis')
    GROUP BY o.episode, o.seat, o.object, w.category, w.reach,
             CASE w.reach WHEN 0 THEN 0 WHEN -1 THEN o.revision ELSE o.round + t.step END
),
looks_at_anything AS (
    SELECT episode, seat, category, reach, slot, MIN(seq) AS seq
    FROM looks
    WHERE EXISTS (SELECT 1 FROM needs WHERE path = '')
    GROUP BY episode, seat, category, reach, slot
),
asked AS (
    SELECT o.episode, o.seat, o.seq, o.round, o.tool, n.need, n.category, n.reach,
           CASE WHEN n.path = '' THEN '' ELSE o.object END AS object,
           CASE n.reach WHEN 0 THEN 0 WHEN -1 THEN o.revision ELSE o.round END AS slot
    FROM objects o
    JOIN seats s ON s.episode = o.episode AND s.seat = o.seat
    JOIN needs n ON n.episode = o.episode AND n.tool = o.tool AND n.role = s.role AND (n.path = '' OR n.path = o.path)
    WHERE o.status = 'ok' AND o.kind = 'action' AND o.round >= n.from_round
),
answered AS (
    SELECT a.episode, a.seat, a.seq, a.round, a.tool, a.object, a.need,
           MAX(CASE WHEN one.seq < a.seq OR every.seq < a.seq OR (a.object = '' AND free.seq < a.seq)
               THEN 1 ELSE 0 END) AS met
    FROM asked a
    LEFT JOIN looks one
        ON one.episode = a.episode AND one.seat = a.seat AND one.category = a.category AND one.reach = a.reach
        AND one.slot = a.slot AND one.object = a.object
    LEFT JOIN looks every
        ON every.object = '*' AND every.episode = a.episode AND every.seat = a.seat AND every.category = a.category
        AND every.reach = a.reach AND every.slot = a.slot
    LEFT JOIN looks_at_anything free
        ON free.episode = a.episode AND free.seat = a.seat AND free.category = a.category AND free.reach = a.reach
        AND free.slot = a.slot
    GROUP BY a.episode, a.seat, a.seq, a.round, a.tool, a.object, a.need
)
SELECT episode, seat, seq, object, round, tool,
       COUNT(*) AS needs,
       SUM(met) AS met,
       1.0 * SUM(met) / COUNT(*) AS share
FROM answered
GROUP BY episode, seat, seq, object, round, tool
