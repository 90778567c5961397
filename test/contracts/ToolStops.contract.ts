/** Tenants whose tools are stopped. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { ToolStops } from "../../services/ToolStops.ts"
import * as Samples from "./Samples.ts"

export const toolStopsTests = (it: Vitest.MethodsNonLive<ToolStops>): void => {
  it.effect(
    "AG-62 a tenant's tools are stopped until they are started, each of them by itself",
    () =>
      Effect.gen(function* () {
        const stops = yield* ToolStops
        const [a, b] = [Samples.tenant(), Samples.tenant()]
        // Others may have stopped theirs in the same store.
        const stopped = Effect.map(stops.tenants, (all) =>
          all.filter((each) => [a, b].includes(each))
        )
        assert.deepStrictEqual(yield* stopped, [])
        yield* stops.set(a, false, 1)
        yield* stops.set(a, true, 2)
        yield* stops.set(a, true, 3)
        assert.deepStrictEqual(yield* stopped, [a])
        yield* stops.set(b, true, 4)
        assert.sameMembers([...(yield* stopped)], [a, b])
        yield* stops.set(a, false, 5)
        assert.deepStrictEqual(yield* stopped, [b])
        yield* stops.set(b, false, 6)
        assert.deepStrictEqual(yield* stopped, [])
      })
  )
}
