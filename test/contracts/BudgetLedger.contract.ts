/** Budgets: reserved all or none, never beyond their amount, settled with the event of the call, void when the run is over. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { BudgetLine, BudgetSettlement } from "../../services/BudgetLedger.ts"
import { BudgetLedger } from "../../services/BudgetLedger.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import type { RunPorts } from "../../services/Stores.ts"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import type { TaskStore } from "../../services/TaskStore.ts"
import type { BudgetAccount } from "../../src/cost/Budget.ts"
import type { RunId, Tenant } from "../../src/value/Ids.ts"
import * as Samples from "./Samples.ts"

type Needs = BudgetLedger | RunPorts | SubjectErasure | TaskStore

const account = (tenant: Tenant, given: Partial<BudgetAccount> = {}): BudgetAccount => ({
  tenant,
  budget: "daily",
  scope: "customer",
  unit: "calls",
  holder: "zoë \u0000",
  starts_at: 0,
  ...given
})

const line = (of: BudgetAccount, max = "3", amount = "1"): BudgetLine => ({
  account: of,
  amount,
  max
})

const reserve = (run: RunId, place: string, ...lines: ReadonlyArray<BudgetLine>) =>
  BudgetLedger.use((ledger) => ledger.reserve({ run, place, lines }))

const use = (tenant: Tenant, now = 1) =>
  Effect.map(
    BudgetLedger.use((ledger) => ledger.list({ tenant, now, limit: 100 })),
    (found) =>
      found.map(({ budget, holder, reserved, spent }) => [budget, holder, spent, reserved] as const)
  )

const settle = (
  begun: Samples.Begun,
  settled: BudgetSettlement["settled"],
  charged: BudgetSettlement["charged"] = []
) =>
  RunJournal.use((journal) =>
    journal.append({ ...begun.next(Samples.modelTurned(1, 1)), took: { settled, charged } })
  )

const reserving = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a budget gives no more than its amount, however many ask at once", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const begun = yield* Effect.forEach(Array.from({ length: 8 }), () =>
        Samples.begin({ tenant })
      )
      const answers = yield* Effect.forEach(
        begun,
        ({ run }) => reserve(run, "turn 1", line(account(tenant))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(answers.filter((each) => each === undefined).length, 3)
      for (const refused of answers.flatMap((each) => each ?? [])) {
        assert.deepStrictEqual(refused, { line: 0, spent: "0", reserved: "3" })
      }
      assert.deepStrictEqual(yield* use(tenant), [["daily", "zoë \u0000", "0", "3"]])
    })
  )

  it.effect("a call under two budgets reserves in both, or in none", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const { run } = yield* Samples.begin({ tenant })
      const month = account(tenant, { budget: "monthly", scope: "tenant", holder: "" })
      const refused = yield* reserve(run, "turn 1", line(account(tenant)), line(month, "0"))
      assert.deepInclude(refused, { line: 1, spent: "0", reserved: "0" })
      for (const [, , spent, reserved] of yield* use(tenant)) {
        assert.deepStrictEqual([spent, reserved], ["0", "0"])
      }
      assert.isUndefined(yield* reserve(run, "turn 1", line(account(tenant)), line(month)))
      assert.deepStrictEqual(yield* use(tenant), [
        ["daily", "zoë \u0000", "0", "1"],
        ["monthly", "", "0", "1"]
      ])
    })
  )

  it.effect("the same call that is tried again has one reservation", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const { run } = yield* Samples.begin({ tenant })
      for (let tries = 0; tries < 5; tries++) {
        assert.isUndefined(yield* reserve(run, "turn 1", line(account(tenant), "1")))
      }
      assert.deepInclude(yield* reserve(run, "turn 2", line(account(tenant), "1")), {
        reserved: "1"
      })
    })
  )

  it.effect("another holder, period or tenant has an amount of its own", () =>
    Effect.gen(function* () {
      const [tenant, other] = [Samples.tenant(), Samples.tenant()]
      const { run } = yield* Samples.begin({ tenant })
      const each = [
        account(tenant),
        account(tenant, { holder: "yves" }),
        account(tenant, { starts_at: 10, ends_at: 20 }),
        account(other)
      ]
      for (const [place, of] of each.entries()) {
        assert.isUndefined(yield* reserve(run, `turn ${place}`, line(of, "1")))
      }
      assert.strictEqual((yield* use(tenant)).length, 3)
      assert.strictEqual((yield* use(tenant, 20)).length, 2)
      assert.strictEqual((yield* use(other)).length, 1)
    })
  )
}

const settling = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("the append of its event settles a reservation by its unit, exactly", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const begun = yield* Samples.begin({ tenant })
      const of = (budget: string, unit: BudgetAccount["unit"]) => account(tenant, { budget, unit })
      const lines = [of("a", "calls"), of("b", "tokens"), of("c", "cost"), of("d", "cost")]
      yield* reserve(begun.run, "turn 1", ...lines.map((each) => line(each, "1000", "500")))
      yield* settle(begun, [{ place: "turn 1", calls: 1, tokens: 120, cost: "0.1" }])
      assert.deepStrictEqual(
        (yield* use(tenant)).map(([, , spent, reserved]) => [spent, reserved]),
        [
          ["1", "0"],
          ["120", "0"],
          ["0.1", "0"],
          ["0.1", "0"]
        ]
      )
      const left = { ...line(of("c", "cost"), "1000", "999.9") }
      assert.isUndefined(yield* reserve(begun.run, "turn 2", left))
      assert.deepInclude(
        yield* reserve(begun.run, "turn 3", line(of("c", "cost"), "1000", "0.000000000000000001")),
        { spent: "0.1", reserved: "999.9" }
      )
    })
  )

  it.effect("what is not known of a call counts as all that was reserved", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const begun = yield* Samples.begin({ tenant })
      const tokens = account(tenant, { unit: "tokens" })
      yield* reserve(begun.run, "turn 1", line(tokens, "1000", "500"))
      yield* settle(begun, [{ place: "turn 1", calls: 1 }])
      assert.deepStrictEqual(yield* use(tenant), [["daily", "zoë \u0000", "500", "0"]])
    })
  )

  it.effect("what a refused append took is not settled", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const begun = yield* Samples.begin({ tenant })
      yield* reserve(begun.run, "turn 1", line(account(tenant)))
      const fence = { ...begun.fence, length: begun.fence.length + 1 }
      const stale: Samples.Begun = {
        ...begun,
        next: (...events) => ({ ...begun.next(...events), fence })
      }
      yield* Effect.flip(settle(stale, [{ place: "turn 1", calls: 1 }]))
      assert.deepStrictEqual(yield* use(tenant), [["daily", "zoë \u0000", "0", "1"]])
    })
  )

  it.effect("what a tool took counts without a reservation", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const begun = yield* Samples.begin({ tenant })
      yield* reserve(begun.run, "turn 1", line(account(tenant)))
      const charged = [{ place: "event 3", account: account(tenant), amount: "2" }]
      yield* settle(begun, [{ place: "turn 1", calls: 1 }], charged)
      assert.deepInclude(yield* reserve(begun.run, "turn 2", line(account(tenant))), {
        spent: "3",
        reserved: "0"
      })
    })
  )

  it.effect("what no event has settled is void when its run is over", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const [first, second] = [yield* Samples.begin({ tenant }), yield* Samples.begin({ tenant })]
      yield* reserve(first.run, "turn 1", line(account(tenant), "1"))
      assert.isDefined(yield* reserve(second.run, "turn 1", line(account(tenant), "1")))
      yield* Samples.end(first)
      assert.deepStrictEqual(yield* use(tenant), [["daily", "zoë \u0000", "0", "0"]])
      assert.isUndefined(yield* reserve(second.run, "turn 1", line(account(tenant), "1")))
    })
  )

  it.effect("an erasure removes what a customer has used, and nobody else's", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const { run } = yield* Samples.begin({ tenant })
      const [gone, kept] = [Samples.unique("zoë"), Samples.unique("yves")]
      yield* reserve(run, "turn 1", line(account(tenant, { holder: gone })))
      yield* reserve(run, "turn 2", line(account(tenant, { holder: kept })))
      yield* reserve(run, "turn 3", line(account(tenant, { scope: "agent", holder: "clerk" })))
      yield* SubjectErasure.use((erasure) => erasure.erase({ tenant, subject: gone, by: "root" }))
      assert.sameMembers(
        (yield* use(tenant)).map(([, holder]) => holder),
        ["clerk", kept]
      )
    })
  )
}

const deleting = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a deletion of a conversation removes what it has used, and nobody else's", () =>
    Effect.gen(function* () {
      const [tenant, foreign] = [Samples.tenant(), Samples.tenant()]
      const { task } = yield* Samples.finish({ tenant })
      const { conversation: holder } = task
      const { run } = yield* Samples.begin({ tenant })
      const of = (given: Partial<BudgetAccount>) => line(account(tenant, given))
      yield* reserve(run, "turn 1", of({ scope: "conversation", holder, budget: "thread" }))
      yield* reserve(run, "turn 2", of({ scope: "conversation", holder: "other" }))
      // A customer may be called like a conversation.
      yield* reserve(run, "turn 3", of({ holder }))
      const abroad = account(foreign, { scope: "conversation", holder })
      yield* reserve(run, "turn 4", line(abroad))
      yield* SubjectErasure.use((erasure) =>
        erasure.eraseConversation({ tenant, conversation: holder, by: "root" })
      )
      assert.sameDeepMembers(
        (yield* use(tenant)).map(([budget, whose]) => [budget, whose]),
        [
          ["daily", "other"],
          ["daily", holder]
        ]
      )
      assert.lengthOf(yield* use(foreign), 1)
    })
  )
}

export const budgetLedgerTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  reserving(it)
  settling(it)
  deleting(it)
}
