/** What of a tool queue waits or runs, as operators count it. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { NewToolMessage } from "../../services/ToolQueue.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import * as Samples from "./Samples.ts"

const tenant = Samples.tenant()

const message = (more: Partial<NewToolMessage> = {}): NewToolMessage => ({
  id: Samples.unique("call"),
  tool: Samples.unique("shop.print@"),
  tenant,
  expires_at: 4_000_000_000_000,
  payload: {},
  ...more
})

export const waitingCallsTests = (it: Vitest.MethodsNonLive<ToolQueue>): void => {
  it.effect("calls that wait or run are counted by tool, of one tenant", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const [tool, other, none] = [message().tool, message().tool, message().tool]
      const tools = [tool, other, none, tool]
      const of = (whose = tenant) => queue.queued(whose, tools)
      assert.deepStrictEqual(yield* of(), [])
      const before = Date.now()
      const first = message({ tool })
      yield* queue.send(first)
      for (const tool of [first.tool, first.tool, other]) yield* queue.send(message({ tool }))
      yield* queue.send(message({ tool, tenant: Samples.tenant() }))
      const owner = Samples.unique("owner")
      yield* queue.claim({ owner, tools: [other], limit: 10, lease_ms: 60_000 })
      const [one, two] = [...(yield* of())].sort((a, b) => b.waiting - a.waiting)
      assert.deepInclude(one, { tool, waiting: 3, claimed: 0 })
      assert.isAtLeast(one?.due_at ?? 0, before)
      assert.deepStrictEqual(two, { tool: other, waiting: 0, claimed: 1, due_at: undefined })
      assert.deepStrictEqual(yield* queue.queued(tenant, [none]), [])
      assert.deepStrictEqual(yield* queue.queued(tenant, []), [])
      assert.deepStrictEqual(yield* of(Samples.tenant()), [])
      yield* queue.withdraw(first.id)
      assert.deepInclude((yield* queue.queued(tenant, [tool]))[0], { waiting: 2 })
    })
  )

  it.effect("of more than 1,000 calls 1,001 are counted", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const { tool } = message()
      yield* Effect.forEach(
        Array.from({ length: 1_010 }, () => message({ tool })),
        (each) => queue.send(each),
        { concurrency: 20, discard: true }
      )
      assert.deepInclude((yield* queue.queued(tenant, [tool]))[0], { waiting: 1_001, claimed: 0 })
    })
  )
}
