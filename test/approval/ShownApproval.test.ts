/** What of a question people are shown, and where two that should be the same are not. */
import { assert, describe, it } from "@effect/vitest"
import type { Approval } from "../../src/approval/Approval.ts"
import type { ShownApproval } from "../../src/approval/ShownApproval.ts"
import {
  differencesOf,
  marksOf,
  shownByRequest,
  shownOf
} from "../../src/approval/ShownApproval.ts"
import { ApprovalId, CallId, RunId, Tenant } from "../../src/value/Ids.ts"

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
  expires_at: 1_000,
  client: { output_schema: { type: "string" } }
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
  expires_at: 1_001,
  client: {}
}

const names = Object.keys(shown).sort()

describe("what a person is shown of a question", () => {
  it("has every member that is shown, and no other", () => {
    const more = { ...shown, status: "pending", requested_at: 5, decided_by: "eve" }
    assert.deepStrictEqual(shownOf(more), shown)
    const { expires_at, ...forEver } = shown
    assert.deepStrictEqual(shownOf(forEver), forEver)
    assert.notProperty(shownOf(forEver), "expires_at")
    assert.isDefined(expires_at)
  })

  it("is the same from the event that asks", () => {
    const { id: approval, run_id, tenant, ...request } = shown
    const event = { ...request, approval, proposal: "p", tool_digest: "t" }
    assert.deepStrictEqual(shownByRequest(run_id, tenant, event), shown)
  })

  it("differs in exactly the members that were changed, in the record or in the event", () => {
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

describe("a question in a list", () => {
  const { id: approval, run_id, tenant, ...request } = shown
  const requested = { ...request, approval, proposal: "p", tool_digest: "t", shown_digest: "s" }
  const record = {
    ...shown,
    shown_digest: "s",
    requested_at: 1,
    status: "pending"
  } as const satisfies Approval
  const marks = (more: Partial<Approval>, run: object) =>
    marksOf(
      { ...record, ...more } as Approval,
      { tenant, quarantined: false, requested, ...run } as never
    )

  it("has no mark where it equals what its run asked", () => {
    assert.deepStrictEqual(marks({}, {}), {})
    assert.deepStrictEqual(marks({ run_id, arguments: { to: "bob", n: 1 } }, {}), {})
  })

  it("is marked as altered where a member or its digest was changed, or its run did not ask it", () => {
    for (const name of names) {
      if (name === "run_id" || name === "tenant") continue
      const more = { [name]: changed[name as keyof ShownApproval] }
      assert.deepStrictEqual(marks(more, {}), { altered: true }, name)
    }
    assert.deepStrictEqual(marks({ tenant: changed.tenant }, {}), { altered: true })
    assert.deepStrictEqual(marks({ shown_digest: "other" }, {}), { altered: true })
    assert.deepStrictEqual(marks({}, { requested: { ...requested, shown_digest: "other" } }), {
      altered: true
    })
    assert.deepStrictEqual(marks({}, { requested: undefined }), { altered: true })
  })

  it("is marked as quarantined, and nothing else, while it is pending and its run is in quarantine", () => {
    assert.deepStrictEqual(marks({ digest: "other" }, { quarantined: true }), { quarantined: true })
    assert.deepStrictEqual(marks({}, { quarantined: true, requested: undefined }), {
      quarantined: true
    })
    for (const status of ["decided", "expired", "cancelled"] as const) {
      assert.deepStrictEqual(marks({ status, digest: "other" }, {}), {})
      assert.deepStrictEqual(marks({ status }, { quarantined: true }), {})
    }
  })
})
