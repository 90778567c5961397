/** Events over real HTTP: conversations, tasks, memories, and refusals that leave nothing behind. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { MemoryStore } from "../../services/MemoryStore.ts"
import { Outbox } from "../../services/Outbox.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { ConversationId, MessageId } from "../../src/value/Ids.ts"
import { eventually } from "../contracts/Contract.ts"
import * as S from "./Service.ts"

const notices = (as: S.Who = "olga", query = "") => S.ask(`/v1/notices${query}`, { as })

const told = (count: number, as: S.Who = "olga") =>
  eventually(notices(as), ({ json }) => json.items.length >= count)

const of = (id: string) => {
  const conversation = ConversationId.make(id)
  return Effect.all({
    conversation: ConversationStore.use((store) => store.get(S.acme, conversation)),
    messages: ConversationStore.use((store) => store.messages(S.acme, conversation, -1, 500)),
    tasks: TaskStore.use((tasks) => tasks.ofConversation(S.acme, conversation, 0, 500))
  })
}

const scan = "event~scan:s-1"
/** Opens when the model may answer. */
const gate = Deferred.makeUnsafe<void>()

/** Without a run: what was written at once. */
const untold = { mailbox_max: 500, bindings: [] }

for (const [where, stores] of S.stores) {
  describe(`events over HTTP (${where})`, () => {
    it.live(
      "SA-17 a verdict begins a system's conversation, and its agent's answer is in the application",
      () =>
        Effect.gen(function* () {
          const answer = yield* S.publish(S.event("verdict.issued", S.verdict()))
          assert.strictEqual(answer.status, 202, answer.text)
          const { conversation_id, received, task_id } = answer.json
          assert.strictEqual(received, "new")
          assert.strictEqual(conversation_id, scan)
          const { json } = yield* told(1)
          assert.strictEqual(json.unread, 1)
          assert.deepInclude(json.items[0], {
            kind: "answer",
            conversation: scan,
            agent: "spectral",
            recipient: "olga",
            text: "understood",
            run_id: task_id
          })
          const { conversation, messages, tasks } = yield* of(scan)
          assert.deepInclude(conversation, { initiated_by: "system", trigger_event_id: "e-1" })
          assert.deepStrictEqual(
            messages.map(({ channel_origin, role }) => [role, channel_origin]),
            [
              ["system", "event"],
              ["assistant", "event"]
            ]
          )
          assert.deepStrictEqual(
            tasks.map(({ id }) => id),
            [task_id]
          )
          const marked = yield* S.ask("/v1/notices/read", {
            as: "olga",
            json: { ids: [json.items[0].id] }
          })
          assert.deepStrictEqual(marked.json, { marked: 1 })
          assert.strictEqual((yield* notices("olga", "?unread=true")).json.items.length, 0)
          assert.strictEqual((yield* notices("vera")).json.items.length, 0)
        }).pipe(Effect.provide(S.service({}, stores)))
    )

    it.live(
      "SA-20 SA-22 redelivered and reordered events queue one task each, in one conversation",
      () =>
        Effect.gen(function* () {
          const first = S.event("verdict.issued", S.verdict(), { id: "e-1" })
          const second = S.event(
            "verdict.issued",
            S.verdict({ verdict_id: "v-2", outcome: "pass" }),
            {
              id: "e-2",
              time: new Date(Date.now() - 60_000).toISOString()
            }
          )
          const answers = yield* Effect.forEach(
            [second, first, second, first, first, second],
            (event) => S.publish(event)
          )
          assert.deepStrictEqual(
            answers.map(({ json }) => json.received),
            ["new", "new", "known", "known", "known", "known"]
          )
          assert.strictEqual(new Set(answers.map(({ json }) => json.task_id)).size, 2)
          const { messages, tasks } = yield* of(scan)
          assert.lengthOf(tasks, 2)
          assert.lengthOf(
            messages.filter(({ role }) => role === "system"),
            2
          )
          const list = yield* S.ask("/v1/conversations", { as: "olga" })
          assert.lengthOf(list.json.items, 1)
        }).pipe(Effect.provide(S.service(untold, stores)))
    )

    it.live("SA-22 an event that is sent thirty times at once queues one task", () =>
      Effect.gen(function* () {
        const event = S.event("verdict.issued", S.verdict())
        const answers = yield* Effect.forEach(
          Array.from({ length: 30 }, () => event),
          (each) => S.publish(each),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [202])
        assert.lengthOf(
          answers.filter(({ json }) => json.received === "new"),
          1
        )
        assert.lengthOf((yield* of(scan)).tasks, 1)
      }).pipe(Effect.provide(S.service(untold, stores)))
    )

    it.live("what is refused leaves nothing behind, and is not remembered", () =>
      Effect.gen(function* () {
        const ok = S.event("verdict.issued", S.verdict())
        const { data: _data, ...dataless } = ok
        const { time: _time, ...timeless } = ok
        const old = new Date(Date.now() - 40 * 86_400_000).toISOString()
        const ahead = new Date(Date.now() + 2 * 3_600_000).toISOString()
        const refused: ReadonlyArray<readonly [number, string, unknown]> = [
          [422, "event-type-unknown", { ...ok, type: "verdict.issue" }],
          [422, "event-type-unknown", { ...ok, type: "__proto__" }],
          [422, "event-out-of-time", { ...ok, time: old }],
          [422, "event-out-of-time", { ...ok, time: ahead }],
          [400, "invalid-input", { ...ok, specversion: "0.3" }],
          [400, "invalid-input", { ...ok, id: "" }],
          [400, "invalid-input", { ...ok, id: "a\u0000b" }],
          [400, "invalid-input", { ...ok, id: "x".repeat(201) }],
          [400, "invalid-input", { ...ok, time: "yesterday" }],
          [400, "invalid-input", { ...ok, time: "2026-02-31T25:00:00Z" }],
          [400, "invalid-input", { ...ok, data_base64: "e30=" }],
          [400, "invalid-input", { ...ok, datacontenttype: "text/plain" }],
          [400, "invalid-input", dataless],
          [400, "invalid-input", timeless],
          [400, "invalid-input", { ...ok, data: S.verdict({ outcome: "maybe" }) }],
          [400, "invalid-input", { ...ok, data: S.verdict({ tenant: "other" }) }],
          [400, "invalid-input", { ...ok, data: [] }],
          [400, "invalid-input", [ok]],
          [400, "invalid-input", "text"],
          [400, "invalid-input", null]
        ]
        for (const [status, name, event] of refused) {
          const answer = yield* S.publish(event)
          assert.strictEqual(answer.status, status, `${JSON.stringify(event)}\n${answer.text}`)
          assert.strictEqual(answer.json.type, `urn:troupe:problem:${name}`)
        }
        const empty = yield* S.ask("/v1/events", {
          as: "platform",
          headers: S.structured,
          body: ""
        })
        assert.strictEqual(empty.json.detail, "The body is empty: a JSON object is needed.")
        const list = yield* S.ask("/v1/conversations", { as: "olga" })
        assert.deepStrictEqual(list.json.items, [])
        assert.strictEqual((yield* S.publish(ok)).json.received, "new")
      }).pipe(Effect.provide(S.service(untold, stores)))
    )
  })
}

describe("events over HTTP", () => {
  it.live("an event in binary mode is the same event as in structured mode", () =>
    Effect.gen(function* () {
      const time = new Date().toISOString()
      const headers = {
        "ce-specversion": "1.0",
        "ce-id": "e%C3%A9-1",
        "ce-source": "/platform",
        "ce-type": "verdict.issued",
        "ce-time": time,
        "ce-traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
      }
      const sent = yield* S.ask("/v1/events", { as: "platform", json: S.verdict(), headers })
      assert.strictEqual(sent.status, 202, sent.text)
      const event = S.event("verdict.issued", S.verdict(), { id: "eé-1", time, anyextension: "x" })
      assert.deepStrictEqual((yield* S.publish(event)).json, { ...sent.json, received: "known" })
    }).pipe(Effect.provide(S.service(untold)))
  )

  it.live(
    "SA-18 SA-19 a change set and a recommendation each have a conversation of their own",
    () =>
      Effect.gen(function* () {
        const review = {
          changeset_id: "cs-1",
          scan_id: "s-1",
          cycle_id: "c-1",
          system_id: "shop",
          title: "Shorter answers",
          rationale: "They are too long.",
          changes: 2,
          risk: "low",
          requested_at: 1_790_000_000_000
        }
        const advice = {
          recommendation_id: "r-1",
          cycle_id: "c-1",
          system_id: "shop",
          mode_classification: "PLATEAU",
          recommendation: "Try another model.",
          evidence: ["s-1"],
          issued_at: 1_790_000_000_000
        }
        const first = yield* S.publish(S.event("approval.required", review, { id: "e-1" }))
        assert.strictEqual(first.json.conversation_id, "event~changeset:cs-1", first.text)
        const [prompt] = (yield* of("event~changeset:cs-1")).tasks
        assert.match(
          prompt?.message ?? "",
          /^Change set cs-1 \(2 changes, risk low\) waits for a review\./
        )
        assert.include(prompt?.message, "Ask the customer to review it")
        assert.include(prompt?.message, '"title":"Shorter answers"')
        const type = "supervisor.recommendation.issued"
        const second = yield* S.publish(S.event(type, advice, { id: "e-2" }))
        assert.strictEqual(second.json.conversation_id, "event~cycle:c-1", second.text)
        const [told] = (yield* of("event~cycle:c-1")).tasks
        assert.include(told?.message, "could be tried next. Tell the customer what it recommends")
        const fifth = { ...advice, mode_classification: "SLEEPING" }
        const refused = yield* S.publish(S.event(type, fifth, { id: "e-3" }))
        assert.strictEqual(refused.status, 400)
        assert.include(refused.json.detail, "event.data.mode_classification")
      }).pipe(Effect.provide(S.service(untold)))
  )

  it.live("SA-37 a scan and a person's feedback are remembered once, by the path of events", () =>
    Effect.gen(function* () {
      const scan = {
        scan_id: "s-1",
        cycle_id: "c-1",
        system_id: "shop",
        framework_id: "f-1",
        status: "completed",
        traces: 20,
        failures: 3,
        score: 0.85,
        completed_at: 1_790_000_000_000
      }
      const feedback = { about: "scan/s-1", comment: "That was right.", rating: "good", by: "cora" }
      const events = [
        S.event("scan.completed", scan, { id: "e-1" }),
        S.event("feedback.received", feedback, { id: "e-2" })
      ]
      for (const event of [...events, ...events]) {
        const { json, status, text } = yield* S.publish(event)
        assert.strictEqual(status, 202, text)
        assert.isUndefined(json.task_id)
      }
      const agent = S.spectral().name
      const scope = { tenant: S.acme, agent, tier: "persistent", anchor: "workspace/acme" } as const
      const rows = yield* MemoryStore.use((store) => store.list(scope, { limit: 10 }))
      assert.deepStrictEqual(
        rows.map(({ provenance, seen, subject, text, typology }) => ({
          provenance,
          seen,
          subject,
          text,
          typology
        })),
        [
          {
            provenance: { source: "event_handler", author: "event" },
            seen: 1,
            subject: "cora",
            text: "Feedback (good) on scan/s-1: That was right.",
            typology: "episodic"
          },
          {
            provenance: { source: "event_handler", author: "event" },
            seen: 1,
            subject: undefined,
            text: "Scan s-1 of system shop (framework f-1, cycle c-1) evaluated 20 traces: 3 failed a rubric, and the score is 0.85.",
            typology: "episodic"
          }
        ]
      )
      const list = yield* S.ask("/v1/conversations", { as: "olga" })
      assert.deepStrictEqual(list.json.items, [])
    }).pipe(Effect.provide(S.service(untold)))
  )

  it.live(
    "SA-21 SA-49 the platform's own events arrive by the outbox, each once, and agents emit none",
    () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const id = MessageId.make(crypto.randomUUID())
        const topic = "verdict.issued"
        const message = { id, tenant: S.acme, key: "scan/s-1", topic, payload: S.verdict() }
        yield* outbox.enqueue([message])
        yield* told(1)
        // As after a crash between the delivery and its report.
        yield* outbox.enqueue([message])
        const wrong = {
          ...message,
          id: MessageId.make(crypto.randomUUID()),
          payload: { no: "verdict" }
        }
        yield* outbox.enqueue([wrong])
        const letters = yield* eventually(
          S.ask("/v1/dead-letters", { as: "olga" }),
          ({ json }) => json.items.length > 0
        )
        assert.deepInclude(letters.json.items[0], { event_id: wrong.id, attempts: 1 })
        const { conversation, tasks } = yield* of(scan)
        assert.strictEqual(conversation?.trigger_event_id, id)
        assert.lengthOf(tasks, 1)
        // The run wrote no event, of which there would be a conversation, a dead letter or a message that waits.
        const listed = yield* S.ask("/v1/conversations", { as: "olga" })
        assert.deepStrictEqual(
          listed.json.items.map((each: { readonly id: string }) => each.id),
          [scan]
        )
        for (const { event_id } of letters.json.items) assert.include([id, wrong.id], event_id)
        assert.strictEqual(yield* outbox.depth, 0)
      }).pipe(Effect.provide(S.service()))
  )

  it.live("binary mode without its attributes, or with one twice, is refused", () =>
    Effect.gen(function* () {
      const none = yield* S.ask("/v1/events", { as: "platform", json: S.verdict() })
      assert.deepInclude(none.json, { status: 400, type: "urn:troupe:problem:invalid-input" })
      const json = S.verdict()
      const batch = { "content-type": "application/cloudevents-batch+json" }
      const many = yield* S.ask("/v1/events", { as: "platform", json, headers: batch })
      assert.strictEqual(many.status, 415)
      const charset = { "content-type": "application/cloudevents+json; charset=utf-16" }
      assert.strictEqual(
        (yield* S.ask("/v1/events", { as: "platform", json, headers: charset })).status,
        415
      )
    }).pipe(Effect.provide(S.service(untold)))
  )

  it.live("the same source and id with another content is refused", () =>
    Effect.gen(function* () {
      const event = S.event("verdict.issued", S.verdict())
      yield* S.publish(event)
      const other = { ...event, data: S.verdict({ outcome: "pass" }) }
      const answer = yield* S.publish(other)
      assert.deepInclude(answer.json, { status: 409, type: "urn:troupe:problem:event-conflict" })
      assert.lengthOf((yield* of(scan)).tasks, 1)
    }).pipe(Effect.provide(S.service(untold)))
  )

  it.live("an event needs the right to publish, and stays in the tenant of its token", () =>
    Effect.gen(function* () {
      const event = S.event("verdict.issued", S.verdict())
      for (const as of ["vera", "carl"] as const) {
        assert.strictEqual((yield* S.publish(event, as)).status, 403)
      }
      const nobody = yield* S.ask("/v1/events", { json: event, headers: S.structured })
      assert.strictEqual(nobody.status, 401)
      assert.strictEqual((yield* S.publish(event, "stranger")).status, 202)
      assert.isUndefined((yield* of(scan)).conversation)
      assert.strictEqual((yield* S.publish(event)).json.received, "new")
      for (const path of ["/v1/conversations", "/v1/runs", "/v1/notices", "/v1/approvals"]) {
        assert.strictEqual((yield* S.ask(path, { as: "platform" })).status, 403, path)
      }
      const message = { agent: "spectral", text: "hello" }
      const sent = yield* S.ask("/v1/messages", { as: "platform", json: message })
      assert.strictEqual(sent.status, 403)
    }).pipe(Effect.provide(S.service(untold)))
  )

  it.live("a body that is too large, too deep or no JSON is refused", () =>
    Effect.gen(function* () {
      const send = (body: string) =>
        S.ask("/v1/events", { as: "platform", body, headers: S.structured })
      assert.strictEqual((yield* send(" ".repeat(2_000_001))).status, 413)
      assert.strictEqual((yield* send("[".repeat(1_000))).status, 413)
      assert.strictEqual((yield* send("{")).status, 400)
      assert.strictEqual((yield* send("")).status, 400)
      assert.strictEqual((yield* send('{"id":"a","id":"b"}')).status, 400)
    }).pipe(Effect.provide(S.service(untold)))
  )

  it.live("a full mailbox refuses an event, which is taken when there is room", () =>
    Effect.gen(function* () {
      const at = (id: string) => S.event("verdict.issued", S.verdict({ verdict_id: id }), { id })
      assert.strictEqual((yield* S.publish(at("a"))).status, 202)
      assert.strictEqual((yield* S.publish(at("b"))).status, 202)
      const third = at("c")
      const full = yield* S.publish(third)
      assert.deepInclude(full.json, { status: 429, type: "urn:troupe:problem:mailbox-full" })
      assert.lengthOf((yield* of(scan)).tasks, 2)
      yield* Deferred.succeed(gate, undefined)
      yield* eventually(S.publish(third), ({ json }) => json.received === "new")
      assert.strictEqual((yield* S.publish(third)).json.received, "known")
    }).pipe(
      Effect.provide(
        S.service({
          bindings: [],
          mailbox_max: 2,
          model: () => Effect.as(Deferred.await(gate), ScriptedModelGateway.text("later"))
        })
      )
    )
  )
})
