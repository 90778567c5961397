/**
 * 200 open consoles, each at the page of a run that it follows, with 200 events a second in the service, beside as many plain event
 * streams of the same runs' conversations: the CPU and the memory of the process that serves them.
 */
import { bounds } from "./Bounds.ts"
import type { Row } from "./Row.ts"
import { absolute, interleave, ratio, sample } from "./Row.ts"
import { withPostgres } from "./Server.ts"

export const row: Row = {
  name: "followers",
  lines: async ({ rounds = 2 }) => {
    const { consoles, none, streams } = await withPostgres((url) =>
      interleave(rounds, ["none", "streams", "consoles"], (kind) =>
        sample("followers", "ours", [kind, url])
      )
    )
    const row = "200 open consoles, PostgreSQL, 200 events a second"
    const about = (unit: string) => ({ row, unit, against: "200 event streams", bound: undefined })
    return [
      ratio({ ...about("CPU ms a second"), bound: bounds.followers }, consoles, streams, "cpu_ms"),
      ratio(
        { ...about("CPU ms a second, beside nobody"), against: "the runs alone" },
        consoles,
        none,
        "cpu_ms"
      ),
      ratio(about("MB of heap that they take"), consoles, streams, "open_mb"),
      absolute(
        { ...about("heap after 20 s, against before"), bound: bounds.followersHeap },
        consoles,
        "grown"
      ),
      absolute(about("heap when they are gone, against before"), consoles, "left"),
      absolute(about("MB of RSS"), consoles, "rss_mb")
    ]
  }
}
