import { assert } from "@effect/vitest"
import { Effect, Exit, Result } from "effect"
import type { Options } from "../../layers/calls/GuardedFetch.ts"
import * as GuardedFetch from "../../layers/calls/GuardedFetch.ts"
import { isGlobalAddress, parseAddressRange } from "../../src/network/Address.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord } from "./Vectors.ts"

/** The cases allow the carriers' shared range, which is blocked by default and opened by configuration. */
const shared = "100.64.0.0/10"
const profile: Options = { allow_ranges: [shared] }
const range = Result.getOrThrow(parseAddressRange(shared))

const judged = (url: string, expect: Readonly<Record<string, unknown>>, options: Options = {}) =>
  Effect.gen(function* () {
    const guard = yield* GuardedFetch.make("vector", { ...profile, ...options })
    const exit = yield* Effect.exit(guard.admit(url))
    assert.strictEqual(Exit.isFailure(exit), expect.blocked)
    if (typeof expect.reason === "string") assert.include(String(exit), expect.reason)
  })

const hostOf = (address: string) => (address.includes(":") ? `[${address}]` : address)

conformance("ssrf_ip_ranges", ({ expect, input }): Driven => {
  if (!isRecord(expect) || typeof expect.blocked !== "boolean") return undefined
  const rows = "AG-05 AG-06"
  if (typeof input === "string") {
    return {
      rows,
      run: Effect.andThen(
        judged(`https://${hostOf(input)}/`, expect),
        Effect.sync(() => {
          assert.strictEqual(isGlobalAddress(input, [range]), !expect.blocked)
          if (/^100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\./.test(input)) {
            assert.isFalse(isGlobalAddress(input))
          }
        })
      )
    }
  }
  if (hasShape(input, ["urlHost"])) {
    return { rows, run: judged(`http://${String(input.urlHost)}/`, expect) }
  }
  if (hasShape(input, ["resolvesTo"])) {
    const { resolvesTo } = input
    return {
      rows,
      run: judged("https://host.example/", expect, {
        resolve: () =>
          Array.isArray(resolvesTo)
            ? Promise.resolve(resolvesTo)
            : Promise.reject(new Error("ENOTFOUND"))
      })
    }
  }
  return undefined
})
