-- The answers to the questions of schemas/workloads/flights.sase, from the ingested events: by joins
-- and subqueries, without trends. Each view has the rows of the query of its name: the columns are
-- the group, the start of the window, and values of RETURN by their names; COUNT(*) is `trends`.

CREATE TEMP VIEW flight AS
SELECT event_id AS id, event_type AS kind, event_time AS t, carrier, origin, dest, tailnum, flight,
       dep_delay, arr_delay, air_time, visib, precip
FROM events;

-- The windows that end in the hours of the run, with their events.
CREATE TEMP MACRO inside(span, step) AS TABLE
SELECT flight.*, start AS window_start
FROM flight, range(TIMESTAMPTZ '2013-02-06 00:00:00+00', TIMESTAMPTZ '2013-02-10 00:00:00+00', step) AS slot(start)
WHERE t >= start AND t < start + span
  AND start + span > TIMESTAMPTZ '2013-02-08 00:00:00+00'
  AND start + span <= TIMESTAMPTZ '2013-02-10 00:00:00+00';

-- ---- one aircraft, later and later

-- Pairs of late departures of an aircraft, the second later than the first in time and delay.
CREATE TEMP MACRO later_and_later(span, step) AS TABLE
SELECT a.window_start, a.carrier, a.tailnum, a.id AS first, b.id AS second, b.t,
       a.dep_delay AS first_delay, b.dep_delay AS second_delay
FROM inside(span, step) a JOIN inside(span, step) b USING (window_start, carrier, tailnum)
WHERE a.kind = 'Departure' AND b.kind = 'Departure' AND a.t < b.t
  AND a.dep_delay > 0 AND a.dep_delay < b.dep_delay;

-- Each of their departures once.
CREATE TEMP MACRO delayed(span, step) AS TABLE
SELECT window_start, carrier, tailnum, first AS id, first_delay AS delay FROM later_and_later(span, step)
UNION
SELECT window_start, carrier, tailnum, second, second_delay FROM later_and_later(span, step);

CREATE TEMP VIEW sql_growing_delays AS
SELECT carrier, window_start, count(DISTINCT tailnum) AS aircraft, count(*) AS flights, max(delay) AS latest
FROM delayed(INTERVAL 1 day, INTERVAL 6 hours) GROUP BY ALL;

CREATE TEMP VIEW sql_growing_delay_minutes AS
SELECT carrier, window_start, count(*) AS flights, sum(delay) AS minutes, avg(delay) AS mean_delay,
       (SELECT max(second_delay - first_delay) FROM later_and_later(INTERVAL 12 hours, INTERVAL 3 hours) pair
        WHERE pair.carrier = d.carrier AND pair.window_start = d.window_start) AS gained
FROM delayed(INTERVAL 12 hours, INTERVAL 3 hours) d GROUP BY carrier, window_start;

CREATE TEMP VIEW sql_growing_delays_then_cancelled AS
WITH trio AS (
  SELECT pair.*, c.id AS cancellation
  FROM later_and_later(INTERVAL 1 day, INTERVAL 6 hours) pair
  JOIN inside(INTERVAL 1 day, INTERVAL 6 hours) c USING (window_start, carrier, tailnum)
  WHERE c.kind = 'Cancellation' AND c.t > pair.t)
SELECT carrier, window_start, count(DISTINCT cancellation) AS cancelled,
       (SELECT count(DISTINCT id) FROM (SELECT unnest([first, second]) AS id, window_start AS w, carrier AS c FROM trio)
        WHERE w = trio.window_start AND c = trio.carrier) AS flights,
       max(second_delay) AS latest
FROM trio GROUP BY carrier, window_start;

-- ---- one airport, delays building up

CREATE TEMP MACRO building_up(span, step) AS TABLE
SELECT a.window_start, a.origin, a.id AS first, b.id AS second, a.t AS first_t, b.t AS second_t,
       a.dep_delay AS first_delay, b.dep_delay AS second_delay
FROM inside(span, step) a JOIN inside(span, step) b USING (window_start, origin)
WHERE a.kind = 'Departure' AND b.kind = 'Departure' AND a.t < b.t
  AND a.dep_delay >= 60 AND a.dep_delay < b.dep_delay;

CREATE TEMP VIEW sql_cascade_to_cancellation AS
WITH trio AS (
  SELECT pair.*, c.id AS cancellation
  FROM building_up(INTERVAL 2 hours, INTERVAL 30 minutes) pair
  JOIN inside(INTERVAL 2 hours, INTERVAL 30 minutes) c USING (window_start, origin)
  WHERE c.kind = 'Cancellation' AND c.t > pair.second_t)
SELECT origin, window_start, count(DISTINCT cancellation) AS cancelled, len(list_distinct(list(first) || list(second))) AS departures,
       max(second_delay) AS latest
FROM trio GROUP BY ALL;

CREATE TEMP VIEW sql_cascades AS
WITH RECURSIVE chain AS (
  SELECT window_start, origin, second, second_t, second_delay, 2 AS length FROM building_up(INTERVAL 1 hour, INTERVAL 1 hour)
  UNION ALL
  SELECT chain.window_start, chain.origin, d.id, d.t, d.dep_delay, length + 1
  FROM chain JOIN inside(INTERVAL 1 hour, INTERVAL 1 hour) d USING (window_start, origin)
  WHERE d.kind = 'Departure' AND d.t > chain.second_t AND d.dep_delay > chain.second_delay),
member AS (
  SELECT window_start, origin, first AS id, first_delay AS delay FROM building_up(INTERVAL 1 hour, INTERVAL 1 hour)
  UNION
  SELECT window_start, origin, second, second_delay FROM building_up(INTERVAL 1 hour, INTERVAL 1 hour))
SELECT origin, window_start, count(*) AS departures, avg(delay) AS mean_delay, max(delay) AS latest,
       (SELECT count(*) FROM chain
        WHERE chain.origin = member.origin AND chain.window_start = member.window_start) AS trends,
       (SELECT max(length) FROM chain
        WHERE chain.origin = member.origin AND chain.window_start = member.window_start) AS longest
FROM member GROUP BY origin, window_start;

CREATE TEMP VIEW sql_cascade_after_cancellation AS
WITH trio AS (
  SELECT pair.*, c.id AS cancellation
  FROM building_up(INTERVAL 2 hours, INTERVAL 1 hour) pair
  JOIN inside(INTERVAL 2 hours, INTERVAL 1 hour) c USING (window_start, origin)
  WHERE c.kind = 'Cancellation' AND c.t < pair.first_t),
member AS (
  SELECT window_start, origin, first AS id, first_delay AS delay FROM trio
  UNION
  SELECT window_start, origin, second, second_delay FROM trio)
SELECT origin, window_start, count(*) AS departures,
       (SELECT count(DISTINCT cancellation) FROM trio
        WHERE trio.origin = member.origin AND trio.window_start = member.window_start) AS cancelled,
       avg(delay) AS mean_delay, max(delay) AS latest
FROM member GROUP BY origin, window_start;

-- ---- weather

CREATE TEMP MACRO worse(span, step) AS TABLE
SELECT a.window_start, a.origin, b.t, b.visib AS lowest, greatest(a.precip, b.precip) AS rain
FROM inside(span, step) a JOIN inside(span, step) b USING (window_start, origin)
WHERE a.kind = 'Weather' AND b.kind = 'Weather' AND a.t < b.t AND a.visib < 10 AND a.visib > b.visib;

CREATE TEMP VIEW sql_departures_in_worsening_visibility AS
WITH hit AS (
  SELECT d.window_start, d.origin, d.id, d.dep_delay, min(lowest) AS lowest
  FROM worse(INTERVAL 6 hours, INTERVAL 1 hour) w JOIN inside(INTERVAL 6 hours, INTERVAL 1 hour) d USING (window_start, origin)
  WHERE d.kind = 'Departure' AND d.t > w.t GROUP BY ALL)
SELECT origin, window_start, count(*) AS departures, avg(dep_delay) AS mean_delay, min(lowest) AS visibility
FROM hit GROUP BY ALL;

CREATE TEMP VIEW sql_cancellations_in_worsening_visibility AS
SELECT c.origin, c.window_start, count(DISTINCT c.id) AS cancelled, min(lowest) AS visibility, max(rain) AS rain
FROM worse(INTERVAL 4 hours, INTERVAL 2 hours) w JOIN inside(INTERVAL 4 hours, INTERVAL 2 hours) c USING (window_start, origin)
WHERE c.kind = 'Cancellation' AND c.t > w.t GROUP BY ALL;

-- ---- one aircraft, leg by leg

CREATE TEMP VIEW sql_late_landed_late_again AS
WITH again AS (
  SELECT DISTINCT d2.window_start, d2.tailnum, d2.id, d2.dep_delay
  FROM inside(INTERVAL 12 hours, INTERVAL 1 hour) d1
  JOIN inside(INTERVAL 12 hours, INTERVAL 1 hour) a USING (window_start, tailnum)
  JOIN inside(INTERVAL 12 hours, INTERVAL 1 hour) d2 USING (window_start, tailnum)
  WHERE d1.kind = 'Departure' AND a.kind = 'Arrival' AND d2.kind = 'Departure' AND d1.t < a.t AND a.t < d2.t
    AND d1.dep_delay > 15 AND a.arr_delay > 15 AND d2.dep_delay > 15)
SELECT window_start, count(DISTINCT tailnum) AS aircraft, count(*) AS flights, avg(dep_delay) AS mean_delay, max(dep_delay) AS latest
FROM again GROUP BY ALL;

CREATE TEMP VIEW sql_late_all_day AS
WITH again AS (
  SELECT DISTINCT a2.window_start, a2.tailnum, a2.id, a2.arr_delay
  FROM inside(INTERVAL 1 day, INTERVAL 6 hours) d1
  JOIN inside(INTERVAL 1 day, INTERVAL 6 hours) a1 USING (window_start, tailnum)
  JOIN inside(INTERVAL 1 day, INTERVAL 6 hours) d2 USING (window_start, tailnum)
  JOIN inside(INTERVAL 1 day, INTERVAL 6 hours) a2 USING (window_start, tailnum)
  WHERE d1.kind = 'Departure' AND a1.kind = 'Arrival' AND d2.kind = 'Departure' AND a2.kind = 'Arrival'
    AND d1.t < a1.t AND a1.t < d2.t AND d2.t < a2.t
    AND d1.dep_delay > 15 AND a1.arr_delay > 15 AND d2.dep_delay > 15 AND a2.arr_delay > 15)
SELECT window_start, count(DISTINCT tailnum) AS aircraft, count(*) AS landings, sum(arr_delay) AS minutes, max(arr_delay) AS latest
FROM again GROUP BY ALL;

CREATE TEMP VIEW sql_late_then_cancelled AS
SELECT window_start, count(DISTINCT c.id) AS cancelled, count(DISTINCT tailnum) AS aircraft, max(a.arr_delay) AS latest
FROM inside(INTERVAL 1 day, INTERVAL 12 hours) d
JOIN inside(INTERVAL 1 day, INTERVAL 12 hours) a USING (window_start, tailnum)
JOIN inside(INTERVAL 1 day, INTERVAL 12 hours) c USING (window_start, tailnum)
WHERE d.kind = 'Departure' AND a.kind = 'Arrival' AND c.kind = 'Cancellation' AND d.t < a.t AND a.t < c.t
  AND d.dep_delay > 15 AND a.arr_delay > 15
GROUP BY ALL;

-- ---- one route, after a cancellation

CREATE TEMP VIEW sql_next_chance AS
WITH pair AS (
  SELECT window_start, carrier, c.id AS cancellation, d.id, d.dep_delay
  FROM inside(INTERVAL 6 hours, INTERVAL 1 hour) c
  JOIN inside(INTERVAL 6 hours, INTERVAL 1 hour) d USING (window_start, carrier, origin, dest)
  WHERE c.kind = 'Cancellation' AND d.kind = 'Departure' AND c.t < d.t),
chance AS (SELECT DISTINCT window_start, carrier, id, dep_delay FROM pair)
SELECT carrier, window_start,
       (SELECT count(DISTINCT cancellation) FROM pair
        WHERE pair.carrier = chance.carrier AND pair.window_start = chance.window_start) AS cancelled,
       count(*) AS later, avg(dep_delay) AS mean_delay, max(dep_delay) AS latest
FROM chance GROUP BY carrier, window_start;

CREATE TEMP VIEW sql_next_chance_after_two AS
WITH trio AS (
  SELECT window_start, carrier, a.id AS first, b.id AS second, d.id, d.dep_delay
  FROM inside(INTERVAL 12 hours, INTERVAL 3 hours) a
  JOIN inside(INTERVAL 12 hours, INTERVAL 3 hours) b USING (window_start, carrier, origin, dest)
  JOIN inside(INTERVAL 12 hours, INTERVAL 3 hours) d USING (window_start, carrier, origin, dest)
  WHERE a.kind = 'Cancellation' AND b.kind = 'Cancellation' AND d.kind = 'Departure' AND a.t < b.t AND b.t < d.t),
chance AS (SELECT DISTINCT window_start, carrier, id, dep_delay FROM trio)
SELECT carrier, window_start,
       (SELECT len(list_distinct(list(first) || list(second))) FROM trio
        WHERE trio.carrier = chance.carrier AND trio.window_start = chance.window_start) AS cancelled,
       count(*) AS later, avg(dep_delay) AS mean_delay, max(dep_delay) AS latest
FROM chance GROUP BY carrier, window_start;

-- ---- rotations

CREATE TEMP VIEW sql_rotations_losing_time AS
WITH leg AS (
  SELECT window_start, carrier, tailnum, d.id, d.t AS left_at, d.dep_delay, a.id AS landing, a.t AS landed, a.arr_delay, a.air_time
  FROM inside(INTERVAL 1 day, INTERVAL 12 hours) d
  JOIN inside(INTERVAL 1 day, INTERVAL 12 hours) a USING (window_start, carrier, tailnum, flight)
  WHERE d.kind = 'Departure' AND a.kind = 'Arrival' AND d.t < a.t),
lost AS (
  SELECT unnest([x, y]) AS one
  FROM leg x JOIN leg y USING (window_start, carrier, tailnum)
  WHERE x.landed < y.left_at AND x.arr_delay < y.dep_delay),
landing AS (
  SELECT DISTINCT one.window_start, one.carrier, one.tailnum, one.landing AS id, one.air_time, one.arr_delay FROM lost)
SELECT carrier, window_start, count(DISTINCT tailnum) AS aircraft,
       (SELECT count(DISTINCT one.id) FROM lost
        WHERE one.carrier = landing.carrier AND one.window_start = landing.window_start) AS legs,
       sum(air_time) AS air_minutes, max(arr_delay) AS latest
FROM landing GROUP BY carrier, window_start;

-- ---- a carrier's whole day

-- Departures at one time are never in the same run: each time has one of them, or none.
CREATE TEMP VIEW sql_departure_runs AS
WITH moment AS (
  SELECT carrier, origin, window_start, t, 1 + count(*) AS ways
  FROM inside(INTERVAL 1 day, INTERVAL 1 day) WHERE kind = 'Departure' GROUP BY ALL)
SELECT carrier, origin, window_start, count(*) AS departures, count(*) FILTER (dep_delay > 15) AS late,
       100 * count(*) FILTER (dep_delay > 15) / count(*) AS late_percent, avg(dep_delay) AS mean_delay,
       (SELECT list_reduce(list(ways::HUGEINT), LAMBDA x, y : x * y) - 1 FROM moment
        WHERE moment.carrier = d.carrier AND moment.origin = d.origin AND moment.window_start = d.window_start) AS trends
FROM inside(INTERVAL 1 day, INTERVAL 1 day) d WHERE kind = 'Departure' GROUP BY carrier, origin, window_start;

CREATE TEMP VIEW sql_recovery_runs AS
WITH event AS (SELECT * FROM inside(INTERVAL 12 hours, INTERVAL 6 hours)),
recovered AS (
  SELECT * FROM event d WHERE kind = 'Departure' AND EXISTS (
    SELECT 1 FROM event c WHERE c.kind = 'Cancellation' AND c.window_start = d.window_start
      AND c.carrier = d.carrier AND c.origin = d.origin AND c.t < d.t)),
moment AS (SELECT carrier, origin, window_start, t, 1 + count(*) AS ways FROM recovered GROUP BY ALL),
cancellation AS (
  SELECT c.window_start, c.carrier, c.origin, c.id, list_reduce(list(ways::HUGEINT), LAMBDA x, y : x * y) - 1 AS runs
  FROM event c JOIN moment USING (window_start, carrier, origin)
  WHERE c.kind = 'Cancellation' AND moment.t > c.t GROUP BY ALL)
SELECT carrier, origin, window_start, count(*) AS departures,
       (SELECT count(*) FROM cancellation c
        WHERE c.carrier = d.carrier AND c.origin = d.origin AND c.window_start = d.window_start) AS cancelled,
       100 * count(*) FILTER (dep_delay > 15) / count(*) AS late_percent, avg(dep_delay) AS mean_delay,
       (SELECT sum(runs) FROM cancellation c
        WHERE c.carrier = d.carrier AND c.origin = d.origin AND c.window_start = d.window_start) AS trends
FROM recovered d GROUP BY carrier, origin, window_start;

-- ---- what did not happen, what could have, and what came next

CREATE TEMP VIEW sql_left_twice AS
WITH event AS (SELECT * FROM inside(INTERVAL 12 hours, INTERVAL 6 hours))
SELECT carrier, window_start, count(DISTINCT tailnum) AS aircraft, count(DISTINCT d2.id) AS flights
FROM event d1 JOIN event d2 USING (window_start, carrier, tailnum)
WHERE d1.kind = 'Departure' AND d2.kind = 'Departure' AND d1.t < d2.t AND NOT EXISTS (
  SELECT 1 FROM event a WHERE a.kind = 'Arrival' AND a.window_start = d1.window_start
    AND a.carrier = d1.carrier AND a.tailnum = d1.tailnum AND a.t > d1.t AND a.t < d2.t)
GROUP BY ALL;

CREATE TEMP VIEW sql_late_landing_passed_on AS
SELECT carrier, window_start, count(DISTINCT a.id) AS landings,
       count(DISTINCT b.id) FILTER (b.kind = 'Departure') AS departures,
       count(DISTINCT b.id) FILTER (b.kind = 'Cancellation') AS cancelled, max(b.dep_delay) AS latest
FROM inside(INTERVAL 12 hours, INTERVAL 3 hours) a
JOIN inside(INTERVAL 12 hours, INTERVAL 3 hours) b USING (window_start, carrier, tailnum)
WHERE a.kind = 'Arrival' AND a.arr_delay > 60 AND a.t < b.t
  AND (b.kind = 'Cancellation' OR b.kind = 'Departure' AND b.dep_delay > 15)
GROUP BY ALL;

CREATE TEMP VIEW sql_first_chance AS
WITH pair AS (
  SELECT window_start, carrier, c.id AS cancellation, c.t AS cancelled_at, d.t AS departure
  FROM inside(INTERVAL 12 hours, INTERVAL 6 hours) c
  JOIN inside(INTERVAL 12 hours, INTERVAL 6 hours) d USING (window_start, carrier, origin, dest)
  WHERE c.kind = 'Cancellation' AND d.kind = 'Departure' AND c.t < d.t
    AND extract(hour FROM c.t) BETWEEN 11 AND 23),
chance AS (
  SELECT *, epoch_us(departure) - epoch_us(cancelled_at) AS micros FROM pair
  QUALIFY departure = min(departure) OVER (PARTITION BY window_start, cancellation))
SELECT carrier, window_start, count(DISTINCT cancellation) AS cancelled,
       round_even(sum(micros)::DECIMAL(38, 6) / count(*), 0)::BIGINT AS wait,
       max(micros) AS longest, max(departure) AS last
FROM chance GROUP BY ALL;

-- Events at one time are not between others; a run of late departures has at least three times.
CREATE TEMP VIEW sql_unbroken_lateness AS
WITH moment AS (
  SELECT *, dense_rank() OVER (PARTITION BY window_start, origin ORDER BY t) AS place
  FROM inside(INTERVAL 2 hours, INTERVAL 2 hours)),
late AS (
  SELECT *, place - dense_rank() OVER (PARTITION BY window_start, origin ORDER BY place) AS run
  FROM moment WHERE kind = 'Departure' AND dep_delay > 15),
long AS (
  SELECT window_start, origin, run, count(DISTINCT place) AS length FROM late GROUP BY ALL HAVING length >= 3)
SELECT origin, window_start, count(*) AS flights, sum(dep_delay) AS minutes, max(length) AS longest
FROM late JOIN long USING (window_start, origin, run) GROUP BY ALL;

-- ---- schemas/workloads/flights_cancellations.sase

CREATE TEMP VIEW sql_cancellation_runs AS
WITH moment AS (
  SELECT origin, window_start, t, count(*) AS number
  FROM inside(INTERVAL 1 hour, INTERVAL 1 hour) WHERE kind = 'Cancellation' GROUP BY ALL)
SELECT origin, window_start, sum(number) AS cancelled,
       list_reduce(list((1 + number)::HUGEINT), LAMBDA x, y : x * y) - 1 AS trends
FROM moment GROUP BY ALL;

CREATE TEMP VIEW sql_departures_after_cancellation AS
WITH pair AS (
  SELECT window_start, origin, carrier, c.id AS cancellation, d.id, d.dep_delay
  FROM inside(INTERVAL 1 hour, INTERVAL 30 minutes) c
  JOIN inside(INTERVAL 1 hour, INTERVAL 30 minutes) d USING (window_start, origin, carrier)
  WHERE c.kind = 'Cancellation' AND d.kind = 'Departure' AND c.t < d.t),
departure AS (SELECT DISTINCT window_start, origin, carrier, id, dep_delay FROM pair)
SELECT origin, carrier, window_start, count(*) AS departures,
       (SELECT count(DISTINCT cancellation) FROM pair
        WHERE pair.origin = d.origin AND pair.carrier = d.carrier AND pair.window_start = d.window_start) AS cancelled,
       avg(dep_delay) AS mean_delay
FROM departure d GROUP BY origin, carrier, window_start;
