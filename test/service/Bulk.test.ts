/** Bulks over HTTP and by method, on each store: what is counted is acted on, each item as by the operation for one item. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope } from "effect"
import { vi } from "vitest"
import { callId, rootFrame, RunId } from "../../src/value/Ids.ts"
import * as Homes from "../process/Homes.ts"
import { anna, bank, letterId, postOffice, shop, tokenOf } from "../console/ConsoleScene.ts"

type Options = Parameters<typeof shop>[0]
type Service = Awaited<ReturnType<typeof shop>>

interface Told {
  readonly count: number
  readonly until: number
  readonly items: ReadonlyArray<{ readonly id?: string | undefined; readonly outcome: string }>
  readonly next_after?: string
}

const ask = async ({ url }: Service, as: string, path: string, body?: object) => {
  const response = await fetch(`${url}/v1/bulk${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${tokenOf(as)}`,
      ...(body === undefined ? undefined : { "content-type": "application/json" })
    },
    ...(body === undefined ? undefined : { body: JSON.stringify(body) })
  })
  const json = (await response.json()) as Told
  return { status: response.status, json }
}

/** The count, once it is this: what came in the very millisecond of a count is not part of it. */
const counting = (troupe: Service, path: string, count: number) =>
  vi.waitFor(
    async () => {
      const { json } = await ask(troupe, "vera", path)
      assert.deepStrictEqual<unknown>(json, { count, until: json.until })
      return json.until
    },
    { timeout: 20_000 }
  )

/** All steps, each of at most so many. */
const steps = async (troupe: Service, path: string, body: object) => {
  const all: Array<Told["items"][number]> = []
  const sizes: Array<number> = []
  for (let after: string | undefined; ;) {
    const { json, status } = await ask(troupe, "olga", path, { ...body, ...(after && { after }) })
    assert.strictEqual(status, 200, JSON.stringify(json))
    all.push(...json.items)
    sizes.push(json.items.length)
    after = json.next_after
    if (after === undefined) return { all, sizes }
  }
}

const stores: ReadonlyArray<
  readonly [
    name: string,
    home: Effect.Effect<Effect.Success<Homes.Home> | undefined, unknown, Scope.Scope>
  ]
> = [["memory", Effect.succeed(undefined)], ...Homes.some]

/** On every store, with a service that stops at the end. */
const onStores = <A extends { readonly troupe: Service }>(
  name: string,
  open: (more: Options) => Promise<A>,
  use: (of: A) => Promise<void>
) => {
  for (const [store, home] of stores) {
    it.live(
      `${name} (${store})`,
      () =>
        Effect.gen(function* () {
          const given = yield* home
          const of = yield* Effect.acquireRelease(
            Effect.promise(() => open(given === undefined ? {} : { store: given })),
            ({ troupe }) => Effect.promise(() => troupe.stop())
          )
          yield* Effect.promise(() => use(of))
        }).pipe(Effect.scoped) as Effect.Effect<void, unknown>,
      120_000
    )
  }
}

const asked = async (troupe: Service) => {
  const { run } = await troupe.ask({ agent: "refunds", text: "Refund order 1003." }, anna)
  return run
}

const cancelled = async (troupe: Service, run: string) =>
  (await troupe.runEvents(run, { limit: 500 }, anna)).flatMap(({ event }) =>
    event._tag === "RunStopping" ? [[event.by, event.reason]] : []
  )

describe("a bulk cancel", () => {
  onStores(
    "cancels the runs that were counted, in steps, each with who and why, and no later one",
    async (more) => ({ troupe: await shop(more) }),
    async ({ troupe }) => {
      const runs: Array<string> = []
      for (let n = 0; n < 5; n++) runs.push(await asked(troupe))
      const [oldest] = runs
      await counting(troupe, "/runs?status=processing", 0)
      await counting(troupe, "/runs?agent=billing", 0)
      await counting(troupe, "/runs?waiting=unknown", 0)
      const until = await counting(troupe, "/runs?agent=refunds", 5)
      const late = await asked(troupe)
      const reason = '=cmd|"/c calc"!A0 <b>\u202enow</b>'
      const body = { agent: "refunds", until, reason, limit: 2 }
      const first = await ask(troupe, "olga", "/runs/cancel", body)
      assert.deepStrictEqual<unknown>(first.json, {
        items: [4, 3].map((n) => ({ id: runs[n], outcome: "done" })),
        next_after: runs[3]
      })
      // Somebody is faster with another one, and the step is sent again from its beginning.
      await troupe.cancel(oldest!, anna, "not needed")
      const { all, sizes } = await steps(troupe, "/runs/cancel", body)
      assert.deepStrictEqual(
        all,
        [2, 1].map((n) => ({ id: runs[n], outcome: "done" }))
      )
      assert.deepStrictEqual(sizes, [2])
      for (const run of runs) {
        assert.strictEqual((await troupe.run(run, anna)).status, "cancelled")
        assert.deepStrictEqual(await cancelled(troupe, run), [
          run === oldest ? ["anna", "not needed"] : ["olga", reason]
        ])
      }
      assert.strictEqual((await troupe.run(late, anna)).status, "awaiting_approval")
      assert.deepStrictEqual((await steps(troupe, "/runs/cancel", body)).all, [])
      const { count, until: later } = await troupe.countRuns({}, anna)
      assert.strictEqual(count, 1)
      const step = await troupe.cancelRuns({ until: later, reason: "enough" }, anna)
      assert.deepStrictEqual(step, { items: [{ id: RunId.make(late), outcome: "done" }] })
    }
  )

  onStores(
    "is done once where two people do it at once",
    async (more) => ({ troupe: await shop(more) }),
    async ({ troupe }) => {
      const runs: Array<string> = []
      for (let n = 0; n < 6; n++) runs.push(await asked(troupe))
      const until = await counting(troupe, "/runs", 6)
      const body = { until, reason: "enough" }
      const both = await Promise.all([1, 2].map(() => ask(troupe, "olga", "/runs/cancel", body)))
      const items = both.flatMap(({ json }) => json.items)
      for (const run of runs) {
        const became = items.filter(({ id }) => id === run).map(({ outcome }) => outcome)
        assert.include(
          [["done"], ["done", "skipped"], ["skipped", "done"]].map(String),
          String(became)
        )
        assert.lengthOf(await cancelled(troupe, run), 1)
      }
    }
  )

  it("is refused for who may not cancel all, and finds nothing of another tenant", async () => {
    const troupe = await shop()
    const run = await asked(troupe)
    const until = await counting(troupe, "/runs", 1)
    for (const path of ["/runs", "/dead-letters", "/unknown-calls"]) {
      for (const as of ["ada", "feed"]) {
        assert.strictEqual((await ask(troupe, as, path)).status, 403, `${as} ${path}`)
      }
      const { json } = await ask(troupe, "other", path)
      assert.strictEqual(json.count, 0)
    }
    const bodies = {
      "/runs/cancel": { until, reason: "mine" },
      "/dead-letters/replay": { until, reason: "mine" },
      "/dead-letters/discard": { until, reason: "mine" },
      "/unknown-calls/settle": { until, outcome: "run_again" }
    }
    for (const [path, body] of Object.entries(bodies)) {
      for (const as of ["vera", "boss", "ada", "feed"]) {
        assert.strictEqual((await ask(troupe, as, path, body)).status, 403, `${as} ${path}`)
      }
      const { json } = await ask(troupe, "other", path, body)
      assert.deepStrictEqual<unknown>(json, { items: [] })
    }
    const after = (await ask(troupe, "other", "/runs/cancel", { until, reason: "x", after: run }))
      .json
    assert.deepStrictEqual<unknown>(after, { items: [] })
    assert.strictEqual((await troupe.run(run, anna)).status, "awaiting_approval")
    await troupe.stop()
  })
})

describe("a bulk of dead letters", () => {
  const orders = Array.from({ length: 5 }, (_, order) => ({ order }))

  onStores(
    "sends those again that match, each once under its own id, and gives others up",
    (more) => postOffice(orders, more),
    async ({ receiver, troupe }) => {
      await counting(troupe, "/dead-letters", 5)
      await counting(troupe, "/dead-letters?key=order-4", 1)
      await counting(troupe, "/dead-letters?error=refused", 5)
      await counting(troupe, "/dead-letters?error=efused", 0)
      await counting(troupe, "/dead-letters?handler_name=other", 0)
      const until = await counting(troupe, "/dead-letters?key=order-4", 1)
      const given = { until, reason: "it is no order", key: "order-4" }
      const { all: discarded } = await steps(troupe, "/dead-letters/discard", given)
      assert.deepStrictEqual<unknown>(discarded, [{ event_id: letterId(4), outcome: "done" }])
      receiver.open = true
      const error = "refused: <"
      const { all, sizes } = await steps(troupe, "/dead-letters/replay", {
        until,
        error,
        reason: "the receiver is back",
        limit: 3
      })
      assert.sameDeepMembers(
        all,
        [0, 1, 2, 3].map((n) => ({ event_id: letterId(n), outcome: "done" }))
      )
      assert.deepStrictEqual(sizes, [3, 1])
      await vi.waitFor(() => assert.lengthOf(receiver.took, 4))
      assert.sameMembers(receiver.took, [0, 1, 2, 3].map(letterId))
      for (let n = 0; n < 5; n++) {
        const letter = await troupe.deadLetter(letterId(n), anna)
        assert.deepInclude(
          letter,
          n === 4
            ? { status: "discarded", resolved_by: "olga", resolved_reason: "it is no order" }
            : { status: "replayed", resolved_by: "olga", resolved_reason: "the receiver is back" }
        )
      }
      const again = await steps(troupe, "/dead-letters/replay", { until, reason: "once more" })
      assert.deepStrictEqual(again.all, [])
    }
  )

  onStores(
    "leaves a letter alone that was sent again and came back since the count",
    (more) => postOffice(orders.slice(0, 1), more),
    async ({ receiver, troupe }) => {
      const until = await counting(troupe, "/dead-letters", 1)
      const body = { until, reason: "perhaps now" }
      assert.lengthOf((await steps(troupe, "/dead-letters/replay", body)).all, 1)
      await vi.waitFor(() => assert.strictEqual(receiver.refused, 2), { timeout: 10_000 })
      await counting(troupe, "/dead-letters", 1)
      assert.deepStrictEqual((await steps(troupe, "/dead-letters/replay", body)).all, [])
      assert.strictEqual(receiver.refused, 2)
    }
  )
})

describe("a bulk settlement", () => {
  onStores(
    "says the same of each call that matches, the oldest first",
    (more) => bank(more),
    async ({ ask: pay, attempts, troupe }) => {
      const runs: Array<string> = []
      for (const invoice of ["1", "2", "3", "4"]) runs.push(await pay(invoice))
      await counting(troupe, "/unknown-calls?tool=refund", 0)
      await counting(troupe, "/unknown-calls?agent=other", 0)
      const until = await counting(troupe, "/unknown-calls?tool=pay&agent=clerk", 4)
      const outcome = { failed: "the bank has no such order" }
      const body = { until, tool: "pay", outcome, limit: 2 }
      const first = await ask(troupe, "olga", "/unknown-calls/settle", body)
      const call = callId(rootFrame, 1, 0)
      const done = (run: string | undefined) => ({ run_id: run, call, outcome: "done" })
      assert.deepStrictEqual(first.json.items, [done(runs[0]), done(runs[1])])
      const after = first.json.next_after
      await troupe.settle(runs[2]!, call, { _tag: "Succeeded", json: '"paid"' }, anna)
      const rest = await ask(troupe, "olga", "/unknown-calls/settle", {
        ...body,
        outcome: "run_again",
        after
      })
      assert.deepStrictEqual<unknown>(rest.json, { items: [done(runs[3])] })
      for (const run of runs) {
        assert.strictEqual((await troupe.result(run, anna)).status, "complete")
      }
      assert.sameMembers(attempts, ["1", "2", "3", "4", "4"])
      const settled = (await troupe.runEvents(runs[0]!, {}, anna)).flatMap(({ event }) =>
        event._tag === "CallSettled" ? [event] : []
      )
      assert.deepInclude(settled[0], { call, by: "olga" })
      assert.include(JSON.stringify(settled), outcome.failed)
    }
  )
})
