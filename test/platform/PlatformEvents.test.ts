import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import {
  platform_events,
  readPlatformEvent,
  subjectOf
} from "../../src/spectral/platform/contracts/PlatformEvent.ts"
import type { PlatformTopic } from "../../src/spectral/platform/contracts/PlatformEvent.ts"
import * as Events from "./Events.ts"

const topics = Object.keys(platform_events) as ReadonlyArray<PlatformTopic>
const payloads: Readonly<Record<PlatformTopic, object>> = {
  "scan.completed": Events.scanCompleted,
  "verdict.issued": Events.verdictIssued,
  "approval.required": Events.approvalRequired,
  "supervisor.recommendation.issued": Events.recommendationIssued
}

const refused = (topic: PlatformTopic, changed: object) =>
  Effect.flip(readPlatformEvent(topic, { ...payloads[topic], ...changed }))

/** Each member's name at any depth of a schema's JSON Schema. */
const namesIn = (value: unknown): ReadonlyArray<string> => {
  if (typeof value !== "object" || value === null) return []
  const own =
    "properties" in value && typeof value.properties === "object" && value.properties !== null
      ? Object.keys(value.properties)
      : []
  return [...own, ...Object.values(value).flatMap(namesIn)]
}

describe("events of the platform", () => {
  it.effect("are read back as they were written, also through JSON", () =>
    Effect.gen(function* () {
      for (const topic of topics) {
        const wire: unknown = JSON.parse(JSON.stringify(payloads[topic]))
        assert.deepEqual(yield* readPlatformEvent(topic, wire), payloads[topic])
      }
    })
  )

  it.effect("SA-19 a recommendation is ACTIVE, PLATEAU, FRONTIER or NO_DATA and nothing else", () =>
    Effect.gen(function* () {
      const topic = "supervisor.recommendation.issued"
      for (const mode_classification of ["ACTIVE", "PLATEAU", "FRONTIER", "NO_DATA"]) {
        yield* readPlatformEvent(topic, { ...Events.recommendationIssued, mode_classification })
      }
      for (const mode_classification of ["STALLED", "active", "", null, 1]) {
        const error = yield* refused(topic, { mode_classification })
        assert.strictEqual(error.field, "payload.mode_classification")
      }
    })
  )

  it("SA-49 no event has a member for the state of an agent", () => {
    const state =
      /agent|conversation|thread|\brun\b|run_|memory|task|message|prompt|transcript|tool|call|checkpoint|session|step|token/
    for (const topic of topics) {
      const { definitions, schema } = Schema.toJsonSchemaDocument(platform_events[topic])
      const names = namesIn({ schema, definitions })
      assert.isAbove(names.length, 5, topic)
      assert.deepEqual(
        names.filter((name) => state.test(name)),
        [],
        topic
      )
    }
  })

  it.effect("SA-49 an event with a member that its schema does not have is refused", () =>
    Effect.gen(function* () {
      for (const topic of topics) {
        const error = yield* refused(topic, { conversation_id: "c-1" })
        assert.strictEqual(error.field, "payload.conversation_id")
      }
    })
  )

  it.effect("ids, texts, numbers and lists have bounds", () =>
    Effect.gen(function* () {
      const long = "x".repeat(2_001)
      const wrong: ReadonlyArray<readonly [PlatformTopic, object, string]> = [
        ["scan.completed", { scan_id: "Scan 1" }, "scan_id"],
        ["scan.completed", { scan_id: "a".repeat(65) }, "scan_id"],
        ["scan.completed", { score: 1.1 }, "score"],
        ["scan.completed", { traces: -1 }, "traces"],
        ["scan.completed", { completed_at: 8_640_000_000_000_001 }, "completed_at"],
        ["verdict.issued", { summary: long }, "summary"],
        ["verdict.issued", { summary: " " }, "summary"],
        ["verdict.issued", { outcome: "maybe" }, "outcome"],
        ["verdict.issued", { autonomy_mode: "none" }, "autonomy_mode"],
        ["verdict.issued", { scores: Array(51).fill(Events.verdictIssued.scores[0]) }, "scores"],
        ["approval.required", { changes: 1.5 }, "changes"],
        ["approval.required", { risk: "none" }, "risk"],
        ["supervisor.recommendation.issued", { evidence: Array(21).fill("s") }, "evidence"],
        ["supervisor.recommendation.issued", { evidence: null }, "evidence"]
      ]
      for (const [topic, changed, field] of wrong) {
        assert.strictEqual((yield* refused(topic, changed)).field, `payload.${field}`)
      }
      for (const payload of [undefined, null, "text", [], 1]) {
        assert.strictEqual(
          (yield* Effect.flip(readPlatformEvent("scan.completed", payload))).field,
          "payload"
        )
      }
    })
  )

  it.effect("a verdict in observe_only names no change set", () =>
    Effect.gen(function* () {
      const observed = { autonomy_mode: "observe_only" }
      assert.strictEqual((yield* refused("verdict.issued", observed)).field, "payload.changeset_id")
      const { changeset_id, ...without } = Events.verdictIssued
      assert.isDefined(changeset_id)
      yield* readPlatformEvent("verdict.issued", { ...without, ...observed })
    })
  )

  it("a verdict has the subject of its scan, and no other event has", () => {
    const subjects = [
      subjectOf({ topic: "scan.completed", payload: Events.scanCompleted }),
      subjectOf({ topic: "verdict.issued", payload: Events.verdictIssued }),
      subjectOf({ topic: "approval.required", payload: Events.approvalRequired }),
      subjectOf({ topic: "supervisor.recommendation.issued", payload: Events.recommendationIssued })
    ]
    assert.deepEqual(subjects, [
      "scan/scan-7",
      "scan/scan-7",
      "changeset/change-3",
      "cycle/cycle-2"
    ])
  })
})
