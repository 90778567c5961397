import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ApprovalId } from "../../src/value/Ids.ts"
import { CallId, RunId } from "../../src/value/Ids.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import * as H from "../runtime/Harness.ts"
import { deadLetter, letter } from "./DeadLetter.ts"
import { asks, calls, ends, Script, turns } from "./Script.ts"
import type { Who } from "./Service.ts"
import { ask, layer } from "./Service.ts"

/** The first call of a run's first turn. */
const call = CallId.make("0/1.0")

const say = Effect.fnUntraced(function* (text: string, as: Who = "olga", agent = "operations") {
  const answer = yield* ask("/v1/messages", { as, json: { agent, text } })
  assert.strictEqual(answer.status, 202, answer.text)
  return {
    run: RunId.make(answer.json.run_id),
    conversation: answer.json.conversation_id as string
  }
})

/** A run that waits for a decision. */
const waiting = Effect.gen(function* () {
  const said = yield* say("replay it")
  return { ...said, approval: yield* asks(said) }
})

const decide = (approval: ApprovalId, as: Who, json: unknown) =>
  ask(`/v1/approvals/${approval}/decision`, { as, json })

describe("POST /v1/messages", () => {
  it.live("answers 202 with the task and the address of its run", () =>
    Effect.gen(function* () {
      const answer = yield* ask("/v1/messages", {
        as: "olga",
        json: { agent: "operations", text: "What is stuck?" }
      })
      assert.strictEqual(answer.status, 202)
      assert.strictEqual(answer.json.task_id, answer.json.run_id)
      assert.strictEqual(answer.json.ordinal, 1)
      assert.strictEqual(answer.json.status, "pending")
      assert.strictEqual(answer.headers.get("location"), `/v1/runs/${answer.json.run_id}`)
      const run = yield* ask(answer.headers.get("location")!, { as: "vera" })
      assert.strictEqual(run.json.message, "What is stuck?")
      assert.strictEqual(run.json.by, "olga")
      const again = yield* ask(`/v1/conversations/${answer.json.conversation_id}/messages`, {
        as: "olga",
        json: { agent: "operations", text: "And now?" }
      })
      assert.strictEqual(again.json.ordinal, 2)
    }).pipe(Effect.provide(layer))
  )

  it.live(
    "returns the same task for the same key and message, and refuses another message under that key",
    () =>
      Effect.gen(function* () {
        for (const path of ["/v1/messages", "/v1/conversations/c1/messages"]) {
          const key = { "idempotency-key": `order 7 ${path}` }
          const json = { agent: "operations", text: "once" }
          const first = yield* ask(path, { as: "olga", json, headers: key })
          const second = yield* ask(path, { as: "olga", json, headers: key })
          assert.strictEqual(first.status, 202, first.text)
          assert.strictEqual(second.status, 202, second.text)
          assert.strictEqual(second.json.task_id, first.json.task_id)
          assert.strictEqual(second.json.conversation_id, first.json.conversation_id)
          const other = yield* ask(path, {
            as: "olga",
            json: { agent: "operations", text: "twice" },
            headers: key
          })
          assert.strictEqual(other.status, 422)
          assert.strictEqual(other.json.type, "urn:troupe:problem:idempotency-conflict")
          const stranger = yield* ask("/v1/messages", { as: "stranger", json, headers: key })
          assert.strictEqual(stranger.status, 202)
          assert.notStrictEqual(stranger.json.task_id, first.json.task_id)
        }
      }).pipe(Effect.provide(layer))
  )
})

describe("conversations and runs", () => {
  it.live("are listed in pages without a duplicate or a gap", () =>
    Effect.gen(function* () {
      const first = yield* say("one")
      const { conversation, run } = first
      yield* ends(first)
      for (const text of ["two", "three"]) {
        yield* ask(`/v1/conversations/${conversation}/messages`, {
          as: "olga",
          json: { agent: "operations", text }
        })
      }
      const contents: Array<string> = []
      let after: number | undefined = -1
      while (after !== undefined) {
        const page: { json: { messages: Array<{ content: string }>; next_after?: number } } =
          yield* ask(`/v1/conversations/${conversation}?limit=2&after=${after}`, { as: "vera" })
        contents.push(...page.json.messages.map((each) => each.content))
        after = page.json.next_after
      }
      assert.deepStrictEqual(contents, ["one", "Done.", "two", "three"])

      const seqs: Array<number> = []
      let from: number | undefined = -1
      while (from !== undefined) {
        const page: { json: { items: Array<{ seq: number }>; next_after?: number } } = yield* ask(
          `/v1/runs/${run}/events?limit=3&after=${from}`,
          { as: "vera" }
        )
        seqs.push(...page.json.items.map((each) => each.seq))
        from = page.json.next_after
      }
      assert.deepStrictEqual(seqs, [0, 1, 2, 3])
      const list = yield* ask("/v1/conversations", { as: "vera" })
      assert.deepStrictEqual(
        list.json.items.map((each: { id: string }) => each.id),
        [conversation]
      )
    }).pipe(Effect.provide(layer))
  )

  it.live("a page is limited by its bytes too, and the next page continues after it", () =>
    Effect.gen(function* () {
      const said = yield* say("a long story")
      const { run } = said
      const script = yield* Script
      const long = { ...calls("look", { n: 1 }), text: "x".repeat(3_000_000) }
      for (let step = 0; step < 3; step++) yield* script.turn(run, long)
      yield* ends(said)
      const all = (yield* H.events(run)).length
      const first = yield* ask(`/v1/runs/${run}/events?limit=500`, { as: "vera" })
      const items: Array<{ event: RunEvent }> = first.json.items
      assert.strictEqual(items.filter(({ event }) => event._tag === "ModelTurned").length, 3)
      assert.strictEqual(items.at(-1)?.event._tag, "ModelTurned")
      assert.strictEqual(first.json.next_after, items.length - 1)
      const path = `/v1/runs/${run}/events?limit=500&after=${first.json.next_after}`
      const second = yield* ask(path, { as: "vera" })
      assert.strictEqual(second.json.items.length, all - items.length)
      assert.notProperty(second.json, "next_after")
    }).pipe(Effect.provide(layer))
  )

  it.live("a run shows its open question while it waits, and its outcome after it has ended", () =>
    Effect.gen(function* () {
      const { approval, run } = yield* waiting
      const asking = yield* ask(`/v1/runs/${run}`, { as: "vera" })
      assert.strictEqual(asking.json.status, "awaiting_approval")
      assert.strictEqual(asking.json.task_status, "processing")
      assert.strictEqual(asking.json.steps, 1)
      assert.strictEqual(asking.json.pending_approvals[0].call, call)
      assert.strictEqual(asking.json.pending_approvals[0].payload.correlation_id, approval)
      const other = yield* say("another")
      yield* ends(other)
      const over = yield* ask(`/v1/runs/${other.run}`, { as: "vera" })
      assert.strictEqual(over.json.status, "complete")
      assert.strictEqual(over.json.text, "Done.")
    }).pipe(Effect.provide(layer))
  )

  it.live("a cancel closes the run's question once, and keeps who cancelled and why", () =>
    Effect.gen(function* () {
      const { approval, run } = yield* waiting
      const json = { reason: "not today" }
      assert.strictEqual((yield* ask(`/v1/runs/${run}/cancel`, { as: "olga", json })).status, 204)
      const after = yield* ask(`/v1/runs/${run}`, { as: "vera" })
      assert.strictEqual(after.json.status, "cancelled")
      assert.deepStrictEqual(after.json.pending_approvals, [])
      const record = yield* ask(`/v1/approvals/${approval}`, { as: "vera" })
      assert.strictEqual(record.json.status, "cancelled")
      const again = yield* ask(`/v1/runs/${run}/cancel`, { as: "olga", json })
      assert.strictEqual(again.status, 409)
      assert.strictEqual(again.json.type, "urn:troupe:problem:run-is-over")
      const events = yield* ask(`/v1/runs/${run}/events`, { as: "vera" })
      const stopping = events.json.items.find(
        (each: { event: RunEvent }) => each.event._tag === "RunStopping"
      )
      assert.strictEqual(stopping.event.by, "olga")
      assert.strictEqual(stopping.event.reason, "not today")
    }).pipe(Effect.provide(layer))
  )

  it.live(
    "an operator settles an unknown call as succeeded, failed or to be run again, and only once",
    () =>
      Effect.gen(function* () {
        for (const [outcome, tag] of [
          [{ succeeded: { sent: [1, null] } }, "CallSettled"],
          [{ failed: "it never arrived" }, "CallSettled"],
          ["run_again", "CallReopened"]
        ] as const) {
          const said = yield* say("send it")
          const { run } = said
          yield* turns(said, calls("send", { n: 7 }), "CallUnknown")
          const before = yield* ask(`/v1/runs/${run}`, { as: "vera" })
          assert.deepStrictEqual(before.json.unknown_calls, [
            { call, tool: "send", arguments: { n: 7 } }
          ])
          const json = { call, outcome }
          const first = yield* ask(`/v1/runs/${run}/settle`, { as: "olga", json })
          assert.strictEqual(first.status, 204, first.text)
          const second = yield* ask(`/v1/runs/${run}/settle`, { as: "olga", json })
          assert.strictEqual(second.status, 409)
          assert.strictEqual(second.json.type, "urn:troupe:problem:call-not-unknown")
          const { json: events } = yield* ask(`/v1/runs/${run}/events`, { as: "vera" })
          const settled = events.items.find((each: { event: RunEvent }) => each.event._tag === tag)
          assert.strictEqual(settled.event.by, "olga")
        }
      }).pipe(Effect.provide(layer))
  )
})

describe("approvals", () => {
  it.live("ST-27 show exactly the five members of their payload while the run waits", () =>
    Effect.gen(function* () {
      yield* waiting
      const list = yield* ask("/v1/approvals", { as: "ada" })
      assert.strictEqual(list.json.items.length, 1)
      assert.sameMembers(Object.keys(list.json.items[0].payload), [
        "tool_name",
        "agent_name",
        "args_summary",
        "effect_description",
        "correlation_id"
      ])
      const done = yield* ask("/v1/approvals?status=decided", { as: "ada" })
      assert.deepStrictEqual(done.json.items, [])
    }).pipe(Effect.provide(layer))
  )

  it.live("are decided once, and each decision records who made it", () =>
    Effect.gen(function* () {
      for (const [json, decision] of [
        [{ decision: "approve" }, { _tag: "Approve" }],
        [
          { decision: "deny", reason: "no" },
          { _tag: "Deny", reason: "no" }
        ],
        [
          { decision: "request_revision", note: "smaller" },
          { _tag: "RequestRevision", note: "smaller" }
        ],
        [
          { decision: "modify", arguments: { event_id: "f", reason: "s" } },
          { _tag: "Modify", arguments: { event_id: "f", reason: "s" } }
        ]
      ] as const) {
        yield* Effect.gen(function* () {
          const { approval } = yield* waiting
          const answer = yield* decide(approval, "ada", json)
          assert.strictEqual(answer.status, 200, answer.text)
          assert.strictEqual(answer.json.status, "decided")
          assert.deepStrictEqual(answer.json.decision, decision)
          assert.strictEqual(answer.json.decided_by, "ada")
          assert.strictEqual((yield* decide(approval, "ada", json)).status, 409)
        }).pipe(Effect.provide(layer))
      }
    })
  )

  it.live(
    "ST-33 a decision on an unknown, settled or expired approval is refused with its reason and changes nothing",
    () =>
      Effect.gen(function* () {
        const nobody = "11111111-1111-4111-8111-111111111111" as ApprovalId
        const unknown = yield* decide(nobody, "ada", { decision: "approve" })
        assert.strictEqual(unknown.status, 404)
        assert.strictEqual(unknown.json.type, "urn:troupe:problem:approval-not-found")

        const { approval, conversation, run } = yield* waiting
        yield* decide(approval, "ada", { decision: "deny", reason: "no" })
        yield* H.happened(run, "CallSettled", 1, conversation)
        const before = yield* ask(`/v1/runs/${run}/events`, { as: "vera" })
        const settled = yield* decide(approval, "olga", { decision: "approve" })
        assert.strictEqual(settled.status, 409)
        assert.strictEqual(settled.json.type, "urn:troupe:problem:approval-settled")
        const after = yield* ask(`/v1/runs/${run}/events`, { as: "vera" })
        assert.deepStrictEqual(after.json, before.json)
      }).pipe(Effect.provide(layer))
  )

  it.live(
    "ST-33 a decision after the expiry is answered with 410, the first time and every time",
    () =>
      Effect.gen(function* () {
        const said = yield* say("replay it")
        const { conversation, run } = said
        const approval = yield* asks(said, calls("hurried", { event_id: "e", reason: "r" }))
        yield* H.happened(run, "ApprovalClosed", 1, conversation)
        for (const _ of [1, 2]) {
          const late = yield* decide(approval, "ada", { decision: "approve" })
          assert.strictEqual(late.status, 410)
          assert.strictEqual(late.json.type, "urn:troupe:problem:approval-expired")
        }
        const { json } = yield* ask(`/v1/runs/${run}/events`, { as: "vera" })
        const tags = json.items.map((each: { event: RunEvent }) => each.event._tag)
        assert.notInclude(tags, "ApprovalDecided")
      }).pipe(Effect.provide(layer))
  )

  it.live("of 16 decisions at once one is accepted and 15 are answered with a conflict", () =>
    Effect.gen(function* () {
      const { approval } = yield* waiting
      const answers = yield* Effect.all(
        Array.from({ length: 16 }, (_, i) =>
          decide(
            approval,
            "ada",
            i % 2 === 0 ? { decision: "approve" } : { decision: "deny", reason: "no" }
          )
        ),
        { concurrency: 16 }
      )
      const statuses = answers.map(({ status }) => status)
      assert.strictEqual(statuses.filter((status) => status === 200).length, 1)
      assert.strictEqual(statuses.filter((status) => status === 409).length, 15)
    }).pipe(Effect.provide(layer))
  )

  it.live(
    "SM-21 a body with the approver's name, or with any other unknown member, is refused",
    () =>
      Effect.gen(function* () {
        const { approval } = yield* waiting
        for (const more of [{ approved_by: "boss" }, { by: "boss" }, { reason: "why" }]) {
          const answer = yield* decide(approval, "ada", { decision: "approve", ...more })
          assert.strictEqual(answer.status, 400)
          assert.deepStrictEqual(answer.json.errors[0].path, ["payload", Object.keys(more)[0]])
        }
        for (const wrong of [
          { decision: "deny" },
          { decision: "deny", reason: "" },
          { decision: "request_revision" },
          { decision: "modify" },
          { decision: "modify", arguments: [] },
          { decision: "perhaps" },
          {},
          [],
          "approve"
        ]) {
          assert.strictEqual(
            (yield* decide(approval, "ada", wrong)).status,
            400,
            JSON.stringify(wrong)
          )
        }
        const record = yield* ask(`/v1/approvals/${approval}`, { as: "vera" })
        assert.strictEqual(record.json.status, "pending")
      }).pipe(Effect.provide(layer))
  )
})

describe("roles and tenants", () => {
  const statuses = (as: Who, asks: ReadonlyArray<readonly [string, unknown?]>) =>
    Effect.forEach(asks, ([path, json]) =>
      Effect.map(ask(path, json === undefined ? { as } : { as, json }), ({ status }) => status)
    )

  it.live("each role may use its own routes and no others", () =>
    Effect.gen(function* () {
      const { approval, run } = yield* waiting
      const reads = ["/v1/conversations", `/v1/runs/${run}`, "/v1/approvals", "/v1/dead-letters"]
      const acts: ReadonlyArray<readonly [string, unknown]> = [
        ["/v1/messages", { agent: "operations", text: "x" }],
        [`/v1/runs/${run}/cancel`, { reason: "x" }],
        [`/v1/runs/${run}/settle`, { call, outcome: "run_again" }],
        [`/v1/dead-letters/${run}/replay`, { reason: "x" }],
        [`/v1/dead-letters/${run}/discard`, { reason: "x" }]
      ]
      for (const who of ["vera", "ada", "olga", "admin"] as const) {
        assert.deepStrictEqual(
          yield* statuses(
            who,
            reads.map((path) => [path])
          ),
          [200, 200, 200, 200]
        )
      }
      for (const who of ["vera", "ada"] as const) {
        assert.deepStrictEqual(yield* statuses(who, acts), [403, 403, 403, 403, 403])
      }
      const viewer = yield* decide(approval, "vera", { decision: "approve" })
      assert.strictEqual(viewer.status, 403)
      assert.strictEqual(viewer.json.type, "urn:troupe:problem:not-entitled")
      assert.strictEqual((yield* decide(approval, "ada", { decision: "approve" })).status, 200)
      assert.deepStrictEqual(yield* statuses("olga", acts), [202, 204, 409, 404, 404])
    }).pipe(Effect.provide(layer))
  )

  it.live("a customer may write to one agent, and reads only conversations with it", () =>
    Effect.gen(function* () {
      const own = yield* say("help me", "carl", "spectral")
      const internal = yield* say("what is stuck?")
      const refused = yield* ask("/v1/messages", {
        as: "carl",
        json: { agent: "operations", text: "x" }
      })
      assert.strictEqual(refused.status, 403)
      assert.deepStrictEqual(
        yield* statuses("carl", [
          [`/v1/conversations/${own.conversation}`],
          [`/v1/conversations/${internal.conversation}`],
          [`/v1/conversations/${internal.conversation}/events`],
          [`/v1/runs/${own.run}`],
          [`/v1/runs/${own.run}/events`],
          [`/v1/runs/${own.run}/cancel`, { reason: "x" }],
          ["/v1/approvals"],
          ["/v1/agents"],
          ["/v1/dead-letters"],
          [`/v1/approvals/${own.run}/decision`, { decision: "approve" }]
        ]),
        [200, 404, 404, 403, 403, 204, 403, 403, 403, 404]
      )
      const list = yield* ask("/v1/conversations", { as: "carl" })
      assert.deepStrictEqual(
        list.json.items.map((each: { id: string }) => each.id),
        [own.conversation]
      )
    }).pipe(Effect.provide(layer))
  )

  it.live("nothing of another tenant can be found, listed or changed", () =>
    Effect.gen(function* () {
      const { approval, conversation, run } = yield* waiting
      yield* deadLetter
      assert.deepStrictEqual(
        yield* statuses("stranger", [
          [`/v1/conversations/${conversation}`],
          [`/v1/conversations/${conversation}/events`],
          [`/v1/runs/${run}`],
          [`/v1/runs/${run}/events`],
          [`/v1/runs/${run}/cancel`, { reason: "x" }],
          [`/v1/runs/${run}/settle`, { call, outcome: "run_again" }],
          [`/v1/approvals/${approval}`],
          [`/v1/approvals/${approval}/decision`, { decision: "approve" }],
          [`/v1/dead-letters/${letter}`],
          [`/v1/dead-letters/${letter}/replay`, { reason: "x" }],
          [`/v1/dead-letters/${letter}/discard`, { reason: "x" }]
        ]),
        [404, 404, 404, 404, 404, 404, 404, 404, 404, 404, 404]
      )
      for (const path of ["/v1/conversations", "/v1/approvals", "/v1/dead-letters"]) {
        assert.deepStrictEqual((yield* ask(path, { as: "stranger" })).json.items, [])
      }
      const agents = yield* ask("/v1/agents", { as: "stranger" })
      assert.isTrue(
        agents.json.items.every((each: { actors: Array<unknown> }) => each.actors.length === 0)
      )
      // Under the same id the stranger's tenant begins a conversation of its own.
      const own = yield* ask(`/v1/conversations/${conversation}/messages`, {
        as: "stranger",
        json: { agent: "operations", text: "let me in" }
      })
      assert.deepInclude(own.json, { conversation_id: conversation, ordinal: 1 })
      assert.strictEqual(
        (yield* ask(`/v1/conversations/${conversation}`, { as: "vera" })).json.messages.length,
        1
      )
      assert.strictEqual(
        (yield* ask(`/v1/runs/${run}`, { as: "vera" })).json.status,
        "awaiting_approval"
      )
    }).pipe(Effect.provide(layer))
  )
})

describe("agents", () => {
  it.live("are listed with the tenant's actors", () =>
    Effect.gen(function* () {
      const { conversation } = yield* say("hello")
      const { json } = yield* ask("/v1/agents", { as: "vera" })
      assert.deepStrictEqual(
        json.items.map((each: { name: string }) => each.name),
        ["operations", "spectral"]
      )
      assert.strictEqual(json.items[0].actors[0].key, conversation)
      assert.deepStrictEqual(json.items[1].actors, [])
    }).pipe(Effect.provide(layer))
  )
})
