import { assert, describe, it } from "@effect/vitest"
import { sampleRecords } from "../../scripts/sample/SampleRecords.ts"
import { sampleWorlds } from "../../scripts/sample/SampleWorlds.ts"

const until = Date.UTC(2026, 10, 23, 15)
const day_ms = 86_400_000

describe("the sample records", () => {
  const records = sampleRecords(1, until)

  it("are the same for one seed and day, and others for another seed or day", () => {
    assert.deepEqual(sampleRecords(1, until + 3_600_000), records)
    assert.notDeepEqual(sampleRecords(2, until).failures, records.failures)
    assert.notDeepEqual(sampleRecords(1, until + day_ms).scans, records.scans)
  })

  it("are weeks of scans and several thousand failures, none of them in the future", () => {
    assert.isAtLeast(records.scans.length, 100)
    assert.isAtLeast(records.failures.length, 3_000)
    assert.isAtLeast(records.clusters.length, 15)
    const outcomes = new Set(records.scans.flatMap(({ verdict }) => verdict?.outcome ?? []))
    assert.sameMembers([...outcomes], ["pass", "warn", "fail"])
    assert.isTrue(records.scans.some(({ scan }) => scan.status === "failed"))
    const moments = [
      ...records.scans.map(({ scan }) => scan.ended_at ?? 0),
      ...records.failures.map(({ occurred_at }) => occurred_at),
      ...records.changesets.map(({ changeset }) => changeset.proposed_at)
    ]
    assert.isBelow(Math.max(...moments), until)
  })

  it("agree with each other: a scan's failures are linked, and each belongs to a cluster", () => {
    const linked = new Map<string, number>()
    for (const { scan_id } of records.failures) {
      linked.set(scan_id, (linked.get(scan_id) ?? 0) + 1)
    }
    for (const { scan } of records.scans) {
      assert.strictEqual(scan.failures, linked.get(scan.scan_id) ?? 0, scan.scan_id)
    }
    const clusters = new Set(records.clusters.map(({ cluster_id }) => cluster_id))
    for (const { cluster_id } of records.failures) assert.isTrue(clusters.has(cluster_id))
    const frameworks = new Set(records.frameworks.map(({ framework_id }) => framework_id))
    for (const { scan } of records.scans) assert.isTrue(frameworks.has(scan.framework_id))
  })

  it("name worlds that npm start publishes", () => {
    const worlds = sampleWorlds().map(({ world }) => world.world_id)
    for (const { world_id } of records.frameworks) assert.include(worlds, world_id)
  })
})
