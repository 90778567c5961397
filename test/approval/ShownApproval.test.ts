/** What of a question people are shown, and where two that should be the same are not. */
import { assert, describe, it } from "@effect/vitest"
import type { ShownApproval } from "../../src/approval/ShownApproval.ts"
import { askedOf, differencesOf, shownOf } from "../../src/approval/ShownApproval.ts"
import { ApprovalId, CallId, RunId, Tenant } from "../../src/Ids.ts"

const id = ApprovalId.make("6f9619ff-8b86-4011-b42d-00c04fc964ff")

const shown: Required<ShownApproval> = {
  id,
  tenant: Tenant.make("acme"),
  run_id: RunId.make("6f9619ff-8b86-4011-b42d-00c04fc964fe"),
  call: CallId.make("0/1.0"),
  payload: {
    tool_name: "pay",
    agent_name: "teller",
    args_summary: "n: 1",
    effect_description: "Pays.",
    correlation_id: id
  },
  tool_key: "shop.pay@1",
  arguments: { n: 1, to: "bob" },
  digest: "d",
  policy_version: "1",
  approvers: ["operator"],
  expires_at: 1_000
}

/** Each member as somebody might have changed it. */
const changed: ShownApproval = {
  ...shown,
  id: ApprovalId.make("6f9619ff-8b86-4011-b42d-00c04fc964fd"),
  tenant: Tenant.make("other"),
  run_id: RunId.make("6f9619ff-8b86-4011-b42d-00c04fc964fc"),
  call: CallId.make("0/1.1"),
  payload: { ...shown.payload, args_summary: "n: 2" },
  tool_key: "shop.pay@2",
  arguments: { n: 1, to: "eve" },
  digest: "e",
  policy_version: "2",
  approvers: [],
  expires_at: 1_001
}

const names = Object.keys(shown).sort()

describe("what a person is shown of a question", () => {
  it("is all of it, and nothing that came beside", () => {
    const more = { ...shown, status: "pending", requested_at: 5, decided_by: "eve" }
    assert.deepStrictEqual(shownOf(more), shown)
    const { expires_at, ...forEver } = shown
    assert.deepStrictEqual(shownOf(forEver), forEver)
    assert.notProperty(shownOf(forEver), "expires_at")
    assert.isDefined(expires_at)
  })

  it("is the same of the event that asks", () => {
    const { id: approval, run_id, tenant, ...request } = shown
    const event = { ...request, approval, proposal: "p", tool_digest: "t" }
    assert.deepStrictEqual(askedOf(run_id, tenant, event), shown)
  })

  it("differs where one member does, and only there, whichever of the two was changed", () => {
    assert.deepStrictEqual(differencesOf(shown, structuredClone(shown)), [])
    for (const name of names) {
      const other = { ...shown, [name]: changed[name as keyof ShownApproval] }
      assert.deepStrictEqual(differencesOf(shown, other), [name])
      assert.deepStrictEqual(differencesOf(other, shown), [name])
    }
    assert.deepStrictEqual(differencesOf(shown, changed), names)
  })

  it("differs where one of them never expires, and not by the order of arguments", () => {
    const { expires_at: _, ...forEver } = shown
    assert.deepStrictEqual(differencesOf(shown, forEver), ["expires_at"])
    assert.deepStrictEqual(differencesOf(forEver, shown), ["expires_at"])
    assert.deepStrictEqual(differencesOf(forEver, { ...forEver }), [])
    assert.deepStrictEqual(differencesOf(shown, { ...shown, arguments: { to: "bob", n: 1 } }), [])
  })
})
