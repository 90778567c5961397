/**
 * Parts of statements that read events. A row of `troupe.run_pairs` has one event, or two that were appended together
 * (`migrations/0001_runs.ts`). The view `troupe.run_events` has a row for each event, but reads the whole run for any part of
 * it.
 */

/** The one or two events of the row `e`, each as a JSON array of its time and the event. */
const timed_events = `'[' || e.at || ',' || e.payload || ']' || coalesce(',[' || e.at || ',' || e.next || ']', '')`

/** The events of the rows `e` with their times, as one JSON text, in order. */
export const events_text = `'[' || string_agg(${timed_events}, ',' ORDER BY e.seq) || ']'`

/** The number of bytes of the events of the rows `e`. */
export const events_bytes = `sum(octet_length(e.payload) + coalesce(octet_length(e.next), 0))`

/**
 * The events of a run from `from` up to, but not including, `to`, each a row of seq, at, type and payload. `run`, `from` and `to`
 * are SQL expressions. The row before `from` is read too, because it may have the event at `from`.
 */
export const eventsOf = (run: string, from: string, to: string): string =>
  `(SELECT x.seq, p.at, coalesce(x.type, troupe.event_type(x.payload)) AS type, x.payload FROM troupe.run_pairs p
    CROSS JOIN LATERAL (VALUES (p.seq, p.type, p.payload), (p.seq + 1, NULL, p.next)) AS x(seq, type, payload)
    WHERE p.run_id = ${run} AND p.seq >= ${from} - 1 AND p.seq < ${to}
      AND x.seq >= ${from} AND x.seq < ${to} AND x.payload IS NOT NULL)`

/** Whether the run `row`, which has the columns `run_id` and `length`, has its task and all of its events. */
export const isWhole = (row: string): string =>
  `(EXISTS (SELECT FROM troupe.agent_tasks t WHERE t.id = ${row}.run_id) AND ${row}.length = (
    SELECT count(*) FROM troupe.run_pairs e CROSS JOIN LATERAL (VALUES (e.seq, e.payload), (e.seq + 1, e.next)) AS x(seq, payload)
    WHERE e.run_id = ${row}.run_id AND x.seq < ${row}.length AND x.payload IS NOT NULL))`
