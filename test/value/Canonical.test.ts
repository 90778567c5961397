import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { Digest } from "effect/crypto"
import { approvalDigest, digestOf, proposalDigest } from "../../layers/runtime/tool/CallDigests.ts"
import { canonical, isSameJson } from "../../src/value/Canonical.ts"
import { callId, RunId, Tenant } from "../../src/value/Ids.ts"
import { FrameId } from "../../src/value/Ids.ts"

/** The same value with the keys of every object in another order. */
const shuffled = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shuffled)
  if (value === null || typeof value !== "object") return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, member]) => [key, shuffled(member)] as const)
      .reverse()
  )
}

describe("canonical JSON", () => {
  it.effect.prop(
    "parses to the same value, and is the same text in any order of keys",
    { value: Schema.Json },
    ({ value }) =>
      Effect.sync(() => {
        const text = canonical(value)
        assert.deepStrictEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)))
        assert.strictEqual(canonical(shuffled(value)), text)
        assert.strictEqual(canonical(JSON.parse(text)), text)
      })
  )

  it.effect.prop(
    "two values are the same JSON exactly where their texts are",
    { value: Schema.Json, other: Schema.Json },
    ({ other, value }) =>
      Effect.sync(() => {
        const pairs = [
          [value, other],
          [value, shuffled(value)],
          [
            { a: value, b: [other] },
            { b: [other], a: value }
          ],
          [{ a: value }, { a: value, b: undefined }],
          [{ a: value, b: undefined }, { a: value }],
          [{ a: value }, { a: value, b: other }],
          [{ a: value, b: other }, { a: value }],
          [
            { a: value, b: 1 },
            { a: value, c: 1 }
          ],
          [[value], [value, other]],
          [
            [undefined, value],
            [null, value]
          ]
        ] as const
        for (const [a, b] of pairs) {
          assert.strictEqual(isSameJson(a, b), canonical(a) === canonical(b))
        }
      })
  )

  it("sorts keys by code unit, at every depth, and keeps lists as they are", () => {
    assert.strictEqual(
      canonical({ b: [3, 1, { z: 1, a: null }], a: "é\n", B: true, "10": 1, "9": 2 }),
      '{"10":1,"9":2,"B":true,"a":"é\\n","b":[3,1,{"a":null,"z":1}]}'
    )
  })

  it("leaves out undefined members, as JSON does", () => {
    assert.strictEqual(canonical({ a: undefined, b: [undefined] }), '{"b":[null]}')
  })

  it("refuses values that JSON cannot represent", () => {
    for (const value of [Number.NaN, Infinity, 1n, () => 1, Symbol("x"), { a: Number.NaN }]) {
      assert.throws(() => canonical(value), RangeError)
    }
  })
})

describe("the digests of a call", () => {
  const run = RunId.make("01a20120-47ed-76fe-8de4-72391d0fc9e6")
  const call = callId(FrameId.make("0"), 1, 0)
  const proposal = {
    tenant: Tenant.make("acme"),
    tool: "operations.replay_dlq_event@1",
    arguments: { event_id: "e", reason: "r" },
    policy_version: "1"
  }

  it.effect("are SHA-256 over canonical JSON, in lower-case hex", () =>
    Effect.gen(function* () {
      const digest = yield* Digest.Digest
      assert.strictEqual(
        yield* digestOf(digest, { b: 1, a: "x" }),
        // printf '{"a":"x","b":1}' | sha256sum
        "cdab067e9f3beb32d1252cfd63e492592fecbf591b0d08cadb24bb17f3864246"
      )
    }).pipe(Effect.provide(NodeCrypto.layerDigest))
  )

  it.effect("differ wherever a part differs that a person decides on", () =>
    Effect.gen(function* () {
      const digest = yield* Digest.Digest
      const all = yield* Effect.all([
        approvalDigest(digest, proposal, run, call),
        approvalDigest(digest, { ...proposal, tenant: Tenant.make("other") }, run, call),
        approvalDigest(digest, { ...proposal, tool: "operations.replay_dlq_event@2" }, run, call),
        approvalDigest(
          digest,
          { ...proposal, arguments: { event_id: "e", reason: "s" } },
          run,
          call
        ),
        approvalDigest(digest, { ...proposal, policy_version: "2" }, run, call),
        approvalDigest(digest, proposal, run, callId(FrameId.make("0"), 1, 1)),
        proposalDigest(digest, proposal)
      ])
      assert.strictEqual(new Set(all).size, all.length)
      const reordered = { ...proposal, arguments: { reason: "r", event_id: "e" } }
      assert.strictEqual(yield* approvalDigest(digest, reordered, run, call), all[0])
    }).pipe(Effect.provide(NodeCrypto.layerDigest))
  )
})
