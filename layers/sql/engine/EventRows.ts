/**
 * Parts of statements that read events: a row of `troupe.run_pairs` has one, or two that were appended together
 * (`migrations/0016_pairs.ts`). The view `troupe.run_events` has a row for each, but reads all of a run for any part of it.
 */

/** The events of the row `e`, each with its time. They stand in the order of its rows. */
const timed_events = `'[' || e.at || ',' || e.payload || ']' || coalesce(',[' || e.at || ',' || e.next || ']', '')`

/** Of rows `e`: their events with their times, as one JSON text. */
export const events_text = `'[' || string_agg(${timed_events}, ',' ORDER BY e.seq) || ']'`

/** Of rows `e`: the bytes of their events. */
export const events_bytes = `sum(octet_length(e.payload) + coalesce(octet_length(e.next), 0))`

/**
 * The events of a run from `from` up to and without `to`, each a row of seq, at, type and payload. `run`, `from` and `to` are
 * expressions in SQL. The row before `from` may have the event at `from`.
 */
export const eventsOf = (run: string, from: string, to: string): string =>
  `(SELECT x.seq, p.at, coalesce(x.type, troupe.event_type(x.payload)) AS type, x.payload FROM troupe.run_pairs p
    CROSS JOIN LATERAL (VALUES (p.seq, p.type, p.payload), (p.seq + 1, NULL, p.next)) AS x(seq, type, payload)
    WHERE p.run_id = ${run} AND p.seq >= ${from} - 1 AND p.seq < ${to}
      AND x.seq >= ${from} AND x.seq < ${to} AND x.payload IS NOT NULL)`

/** Whether the run $row, which has a length, has its task and all of its events. */
export const isWhole = (row: string): string =>
  `(EXISTS (SELECT FROM troupe.agent_tasks t WHERE t.id = ${row}.run_id) AND ${row}.length = (
    SELECT count(*) FROM troupe.run_pairs e CROSS JOIN LATERAL (VALUES (e.seq, e.payload), (e.seq + 1, e.next)) AS x(seq, payload)
    WHERE e.run_id = ${row}.run_id AND x.seq < ${row}.length AND x.payload IS NOT NULL))`
