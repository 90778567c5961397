import { assert, describe, it } from "@effect/vitest"
import { callMessageOf } from "../../layers/runtime/queue/QueueReply.ts"
import type { ToolDelivery } from "../../services/ToolQueue.ts"

const of = (payload: unknown) =>
  callMessageOf({ id: "c", tool: "shop/refund", payload } as unknown as ToolDelivery)

describe("a delivery read as a call", () => {
  it("is the value that was judged, where its queue gives another one at the second look", () => {
    let looks = 0
    const shifting = {
      id: "c",
      name: "any",
      get arguments() {
        return ++looks === 1 ? { order: "1003" } : { order: "1004" }
      }
    }
    assert.deepStrictEqual(of(shifting)?.arguments, { order: "1003" })
    assert.strictEqual(looks, 1)
  })

  it("is none where JSON cannot say it, and its name is that of its route", () => {
    assert.isUndefined(of({ id: "c", name: "any", arguments: { n: Infinity } }))
    assert.isUndefined(of({ id: "another", name: "any", arguments: {} }))
    assert.strictEqual(of({ id: "c", name: "any", arguments: {} })?.name, "shop/refund")
  })
})
