import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Layer } from "effect"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import { RunId } from "../../src/value/Ids.ts"
import { asks, ends } from "./Script.ts"
import type { Who } from "./Service.ts"
import { ask, layer, listen } from "./Service.ts"

/** The ephemeral stores' layer also has the state that they share, though its type does not say so. */
const withStore = layer as unknown as Layer.Layer<
  Layer.Success<typeof layer> | EphemeralStore.EphemeralStore
>

/** A run that waits for a person and whose third event is gone; and what its rows were. */
const broken = Effect.gen(function* () {
  const sent = yield* ask("/v1/messages", {
    as: "olga",
    json: { agent: "operations", text: "replay it" }
  })
  const run = RunId.make(sent.json.run_id)
  const approval = yield* asks({ run, conversation: sent.json.conversation_id as string })
  const { entries } = (yield* EphemeralStore.EphemeralStore).runs.get(run)!
  const [lost] = entries.splice(2, 1)
  return { run, approval, fix: Effect.sync(() => entries.splice(2, 0, lost!)) }
})

const statuses = (run: RunId, as: Who) =>
  Effect.forEach(
    [
      ["/v1/quarantine"],
      [`/v1/quarantine/${run}/events`],
      [`/v1/quarantine/${run}/release`, "POST"]
    ] as const,
    ([path, method = "GET"]) => ask(path, { as, method })
  ).pipe(Effect.map((answers) => answers.map(({ status }) => status)))

/** A run that is over. */
const over = Effect.fnUntraced(function* (path: string) {
  const { json } = yield* ask(path, { as: "olga", json: { agent: "operations", text: "hi" } })
  const said = { run: RunId.make(json.run_id), conversation: json.conversation_id as string }
  yield* ends(said)
  return said
})

describe("a run in quarantine", () => {
  it.live(
    "that was over ends its conversation's stream, which resumes with the runs behind it",
    () =>
      Effect.gen(function* () {
        const { conversation, run } = yield* over("/v1/messages")
        yield* over(`/v1/conversations/${conversation}/messages`)
        const { runs } = yield* EphemeralStore.EphemeralStore
        runs.get(run)!.entries.splice(2, 1)
        const path = `/v1/conversations/${conversation}/events`
        const stream = yield* listen(path, { as: "vera" })
        const told = yield* stream.take(3)
        assert.deepStrictEqual(
          told.map(({ event, id }) => [event, id]),
          [
            ["run_accepted", "1.0"],
            ["run_claimed", "1.1"],
            ["error", "1.2"]
          ]
        )
        yield* stream.rest
        const again = yield* listen(path, { as: "vera", headers: { "last-event-id": "1.2" } })
        const [first, ...rest] = yield* again.take(4)
        assert.deepStrictEqual([first?.event, first?.id], ["run_accepted", "2.0"])
        assert.strictEqual(rest.at(-1)?.event, "run_ended")
      }).pipe(Effect.scoped, Effect.provide(withStore))
  )

  it.live("is refused with 409, listed for operators of its tenant, read raw and released", () =>
    Effect.gen(function* () {
      const { approval, fix, run } = yield* broken
      const decide = () =>
        ask(`/v1/approvals/${approval}/decision`, { as: "ada", json: { decision: "approve" } })
      const refused = yield* decide()
      assert.strictEqual(refused.status, 409)
      assert.include(refused.json.type, "run-quarantined")
      for (const [path, json] of [
        [`/v1/runs/${run}`],
        [`/v1/runs/${run}/events`],
        [`/v1/runs/${run}/cancel`, { reason: "x" }]
      ] as const) {
        const answer = yield* ask(path, { as: "olga", ...(json && { json }) })
        assert.strictEqual(answer.status, 409, path)
      }
      for (const path of ["/health", "/ready"]) {
        assert.strictEqual((yield* ask(path, {})).status, 200)
      }
      const metrics = yield* ask("/metrics", { as: "vera" })
      assert.include(metrics.text, `troupe_runs_quarantined_total{reason="gap"}`)

      const list = yield* ask("/v1/quarantine", { as: "olga" })
      assert.strictEqual(list.json.items.length, 1)
      assert.deepInclude(list.json.items[0], { run_id: run, reason: "gap", seq: 2, waiting: 0 })
      const rows = yield* ask(`/v1/quarantine/${run}/events?limit=2`, { as: "olga" })
      assert.deepStrictEqual(
        rows.json.items.map(({ seq, type }: { seq: number; type: string }) => [seq, type]),
        [
          [0, "RunAccepted"],
          [1, "RunClaimed"]
        ]
      )
      const more = yield* ask(`/v1/quarantine/${run}/events?after=${rows.json.next_after}`, {
        as: "olga"
      })
      assert.strictEqual(more.json.items[0].seq, 3)

      assert.deepStrictEqual(yield* statuses(run, "ada"), [403, 403, 403])
      assert.deepStrictEqual(yield* statuses(run, "stranger"), [200, 404, 404])
      assert.deepStrictEqual((yield* ask("/v1/quarantine", { as: "stranger" })).json.items, [])

      for (const after of ["-7", "-2", "1.5", "2147483647"]) {
        const answer = yield* ask(`/v1/quarantine/${run}/events?after=${after}`, { as: "olga" })
        assert.strictEqual(answer.status, 400, after)
      }
      const release = () => ask(`/v1/quarantine/${run}/release`, { as: "olga", method: "POST" })
      assert.strictEqual((yield* release()).status, 409)
      yield* fix
      assert.strictEqual((yield* release()).status, 204)
      assert.strictEqual((yield* decide()).status, 200)
      assert.deepStrictEqual((yield* ask("/v1/quarantine", { as: "olga" })).json.items, [])
      const gone = yield* ask(`/v1/quarantine/${run}/events`, { as: "olga" })
      assert.strictEqual(gone.status, 404)
      assert.strictEqual(gone.json.type, "urn:troupe:problem:not-in-quarantine")
    }).pipe(Effect.provide(withStore))
  )
})
