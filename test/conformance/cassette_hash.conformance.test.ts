import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Digest } from "effect/crypto"
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { digestOf } from "../../layers/runtime/tool/CallDigests.ts"
import { Cassette, CassetteEntries } from "../../src/replay/Cassette.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord } from "./Vectors.ts"

type Recorded = readonly [tool: string, args: unknown, result: unknown]

const isRecorded = (value: unknown): value is Recorded =>
  Array.isArray(value) && value.length === 3 && typeof value[0] === "string"

const hashOf = Effect.fnUntraced(function* (value: unknown) {
  return yield* digestOf(yield* Digest.Digest, value)
})

const recorded = Effect.fnUntraced(function* (all: ReadonlyArray<Recorded>) {
  const cassette = new Cassette()
  for (const [tool, args, result] of all) {
    cassette.record(tool, yield* hashOf(args), result as never)
  }
  return cassette
})

const driven = (rows: string, run: Effect.Effect<void, unknown, Digest.Digest>): Driven => ({
  rows,
  run: Effect.provide(run, NodeCrypto.layerDigest)
})

const reload = (cassette: Cassette) =>
  Effect.map(
    Schema.decodeUnknownEffect(Schema.fromJsonString(CassetteEntries))(
      JSON.stringify(cassette.entries)
    ),
    (entries) => Cassette.of(entries)
  )

conformance("cassette_hash", ({ expect, input }): Driven => {
  if (typeof expect === "string") {
    return driven(
      "SG-23",
      Effect.gen(function* () {
        assert.strictEqual(yield* hashOf(input), expect)
      })
    )
  }
  const all =
    isRecord(input) && isRecorded(input.record)
      ? [input.record]
      : isRecord(input) && Array.isArray(input.record2) && input.record2.every(isRecorded)
        ? input.record2
        : undefined
  if (all === undefined || !isRecord(input)) return undefined
  const { get } = input
  if (Array.isArray(get) && typeof get[0] === "string") {
    return driven(
      "SG-23",
      Effect.gen(function* () {
        const cassette = yield* recorded(all)
        const hash = yield* hashOf(get[1])
        // A replay takes the results of equal calls in their order, and then the newest again.
        const given = all.map(() => cassette.take(get[0] as string, hash))
        assert.deepEqual(given.at(-1) ?? null, expect)
      })
    )
  }
  const [tool, args] = all.at(-1)!
  if (input.mutateFirstGet === true && hasShape(expect, ["secondGet"])) {
    return driven(
      "SG-25",
      Effect.gen(function* () {
        const cassette = yield* recorded(all)
        const hash = yield* hashOf(args)
        const first = cassette.take(tool, hash) as Record<string, unknown>
        for (const name of Object.keys(first)) first[name] = "changed"
        assert.deepEqual(cassette.take(tool, hash), expect.secondGet)
      })
    )
  }
  if (input.roundTrip === true) {
    return driven(
      "SG-24",
      Effect.gen(function* () {
        const cassette = yield* recorded(all)
        const again = yield* reload(cassette)
        assert.hasAllKeys(cassette.entries[0], ["tool_id", "args_hash", "result"])
        assert.deepEqual(again.entries, cassette.entries)
        assert.deepEqual(again.take(tool, yield* hashOf(args)), expect)
      })
    )
  }
  return undefined
})
