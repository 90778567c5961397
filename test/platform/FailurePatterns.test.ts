/** What failure clusters have in common, as a pure function of them. */
import { assert, describe, it } from "vitest"
import { Schema } from "effect"
import type { FailureCluster } from "../../src/spectral/platform/contracts/FailureCluster.ts"
import { distilledPatterns, FailurePattern } from "../../src/spectral/platform/FailurePatterns.ts"
import { sample } from "./Records.ts"

const [known] = sample.clusters as [FailureCluster]

interface Given {
  readonly id: string
  readonly title?: string
  readonly rubric?: string
  readonly severity?: FailureCluster["severity"]
  readonly system?: string
  readonly failures: number
  readonly terms?: ReadonlyArray<string>
  readonly example?: string
}

const cluster = (given: Given): FailureCluster =>
  ({
    ...known,
    cluster_id: given.id,
    title: given.title ?? "Invents deadlines",
    rubric_id: given.rubric ?? "groundedness",
    severity: given.severity ?? "medium",
    system_id: given.system ?? "support-bot",
    snapshot: {
      ...known.snapshot,
      failures: given.failures,
      terms: given.terms ?? [],
      example: given.example ?? `Example of ${given.id}`
    }
  }) as FailureCluster

const some = [
  cluster({ id: "a", failures: 4, severity: "high", terms: ["days", "deadline"] }),
  cluster({
    id: "b",
    failures: 9,
    system: "loan-bot",
    terms: ["rate", "deadline"],
    severity: "critical"
  }),
  cluster({ id: "c", failures: 4, terms: ["fee"], rubric: "tone" }),
  cluster({ id: "d", failures: 4, title: "No source", severity: "high" }),
  cluster({ id: "e", failures: 4, title: "Another" }),
  cluster({ id: "f", failures: 0, title: "Gone" })
]

describe("the patterns of failure clusters", () => {
  it("are clusters of one title and rubric, with sums, the worst severity and examples", () => {
    const { clusters, failures, more, patterns } = distilledPatterns(some, 10)
    assert.deepEqual([clusters, failures, more], [6, 25, false])
    assert.deepEqual<unknown>(patterns[0], {
      title: "Invents deadlines",
      rubric_id: "groundedness",
      severity: "critical",
      clusters: 2,
      cluster_ids: ["b", "a"],
      systems: ["loan-bot", "support-bot"],
      failures: 13,
      share: 0.52,
      terms: ["deadline", "rate", "days"],
      examples: ["Example of b", "Example of a"],
      summary:
        "Known failure, critical: Invents deadlines (groundedness, 13 failures when last looked at)"
    })
    assert.deepEqual(
      patterns.map(({ failures, rubric_id, title }) => `${failures} ${rubric_id} ${title}`),
      [
        "13 groundedness Invents deadlines",
        "4 groundedness No source",
        "4 groundedness Another",
        "4 tone Invents deadlines",
        "0 groundedness Gone"
      ]
    )
  })

  it("are the same in whatever order the clusters come, and as many as are asked for", () => {
    const expected = distilledPatterns(some, 2)
    assert.deepEqual([expected.patterns.length, expected.more], [2, true])
    for (let i = 0; i < some.length; i++) {
      const turned = [...some.slice(i), ...some.slice(0, i)]
      assert.deepEqual(distilledPatterns(turned, 2), expected)
      assert.deepEqual(distilledPatterns(turned.toReversed(), 2), expected)
    }
    assert.deepEqual(distilledPatterns([], 2), {
      clusters: 0,
      failures: 0,
      patterns: [],
      more: false
    })
    assert.strictEqual(distilledPatterns(some.slice(5), 2).patterns[0]?.share, 0)
  })

  it("are bounded in ids, terms, examples and texts, which are cut between characters", () => {
    const long = "😀".repeat(500)
    const many = Array.from({ length: 40 }, (_, i) =>
      cluster({
        id: `c-${i}`,
        failures: 40 - i,
        system: `s-${i}`,
        title: "😀".repeat(100),
        terms: Array.from({ length: 20 }, (__, n) => `${i}-${n}`),
        example: long
      })
    )
    const [pattern] = distilledPatterns(many, 5).patterns
    Schema.encodeSync(FailurePattern)(pattern!)
    const { cluster_ids, clusters, examples, summary, systems, terms } = pattern!
    assert.deepEqual([clusters, cluster_ids.length, systems.length, terms.length], [40, 5, 5, 5])
    assert.lengthOf(examples, 1)
    assert.isAtMost(examples[0]!.length, 200)
    assert.isAtMost(summary.length, 400)
    assert.isTrue(examples[0]!.isWellFormed() && summary.isWellFormed())
  })
})
