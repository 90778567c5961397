import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { forEachEntry } from "../../services/RunReader.ts"
import { eventUnits, heldUnitsOf } from "../../src/run/HeldUnits.ts"
import type { JournalEntry, RunEvent } from "../../src/run/RunEvent.ts"
import { emptyState } from "../../src/run/RunState.ts"
import { evolve } from "../../src/run/RunFold.ts"
import * as Samples from "../contracts/Samples.ts"

const result = (units: number): RunEvent =>
  Samples.callSettled(Samples.firstCall, { _tag: "Value", json: "x".repeat(units) })

describe("the units of events", () => {
  it("are at least those of their texts, wherever those are", () => {
    const text = "x".repeat(10_000)
    for (const event of [
      { ...Samples.runAccepted(Samples.newTask({ message: text })) },
      Samples.modelTurned(1, 0, undefined, text),
      { ...Samples.modelTurned(1, 1), calls: [{ ...Samples.proposedCall(), arguments: { text } }] },
      { ...Samples.modelTurned(1), reasoning: [{ text }] },
      result(10_000),
      Samples.approvalRequested(undefined, { arguments: { deep: [{ text }] } }),
      Samples.runEnded({ text })
    ] as ReadonlyArray<RunEvent>) {
      assert.isAtLeast(eventUnits(event), 10_000, event._tag)
      assert.isBelow(eventUnits(event), 20_000, event._tag)
    }
  })

  it("of a long result are those of the model's copy, where the state keeps no more", () => {
    assert.isAbove(eventUnits(result(1_000_000)), 1_000_000)
    assert.isBelow(heldUnitsOf(result(1_000_000)), 40_000)
    assert.isAbove(heldUnitsOf({ ...result(1_000_000), stop: true } as RunEvent), 1_000_000)
  })

  it("of a state grow with each event", () => {
    const state = emptyState()
    const seen: Array<number> = []
    for (const event of [
      Samples.runAccepted(Samples.newTask()),
      Samples.modelTurned(1, 1),
      result(5_000)
    ] as ReadonlyArray<RunEvent>) {
      evolve(state, event)
      seen.push(state.units)
    }
    assert.deepStrictEqual(
      seen,
      seen.toSorted((a, b) => a - b)
    )
    assert.isAbove(seen[2]!, seen[1]! + 5_000)
  })
})

describe("the entries of a run", () => {
  const limitsOf = (units: number, count: number) =>
    Effect.gen(function* () {
      const entries: ReadonlyArray<JournalEntry> = Array.from({ length: count }, (_, seq) => ({
        seq,
        at: 0,
        event: result(units)
      }))
      const limits: Array<number> = []
      let visited = 0
      const read = (_: unknown, from: number, limit: number) => {
        limits.push(limit)
        return Effect.succeed(entries.slice(from, from + limit))
      }
      yield* forEachEntry({ read }, Samples.runId(), 100, () => visited++)
      assert.strictEqual(visited, count)
      return limits
    })

  it.effect("are read in larger pages where they are short, and in smaller ones where long", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* limitsOf(10, 200), [16, 32, 64, 100])
      assert.deepStrictEqual(yield* limitsOf(1_000_000, 30), [16, 8, 4, 2, 1])
      assert.deepStrictEqual(yield* limitsOf(10, 3), [16])
    })
  )
})
