/** Webhooks and what is delivered to them: of their tenant alone, each event once, bounded, and disabled when they fail for long. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { Outbox } from "../../services/Outbox.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import type { RunPorts } from "../../services/Stores.ts"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import type { TaskStore } from "../../services/TaskStore.ts"
import { webhook_event_topic, webhook_send_topic, Webhooks } from "../../services/Webhooks.ts"
import type {
  StoredWebhookSettings,
  WebhookAttempt,
  WebhookDelivery,
  WebhookNews
} from "../../src/delivery/Webhook.ts"
import { attempts_kept, disabling, WebhookId, webhooks_max } from "../../src/delivery/Webhook.ts"
import { ConversationId, MessageId, RunId } from "../../src/value/Ids.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import * as Samples from "./Samples.ts"

interface Refusal {
  readonly _tag: string
  readonly id?: string
}

type Needs = Outbox | RunPorts | SubjectErasure | TaskStore | Webhooks

const settings: StoredWebhookSettings = {
  url: "https://hooks.example/?key=1",
  created_by: "ada\0",
  created_at: 1_000
}

let made = 0
const made_at = 1_000
const secret = () => `whsec_${++made}-${randomUUID()}`

const added = Effect.fnUntraced(function* (tenant: Tenant, more?: Partial<StoredWebhookSettings>) {
  const id = WebhookId.make(randomUUID())
  const text = secret()
  const webhooks = yield* Webhooks
  const webhook = yield* webhooks.add({ tenant, id }, { ...settings, ...more }, text)
  return { id, text, webhook, name: { tenant, id } }
})

const newsOf = (more?: Partial<WebhookNews["data"]>): WebhookNews => {
  const run = RunId.make(randomUUID())
  return {
    type: "run.failed",
    subject: run,
    data: { run, conversation: ConversationId.make("c-1"), status: "failed", ...more }
  }
}

const told = (tenant: Tenant, news = newsOf(), event = MessageId.make(randomUUID()), at = 5_000) =>
  Webhooks.use((webhooks) => webhooks.deliver({ tenant, event, news, at }))

/** What is claimed of these topics for this tenant, and is delivered with that. */
const claimed = Effect.fnUntraced(function* (tenant: Tenant, ...topics: ReadonlyArray<string>) {
  const outbox = yield* Outbox
  const found: Array<unknown> = []
  for (;;) {
    const owner = Samples.unique("relay")
    const all = yield* outbox.claim({ owner, topics, limit: 500, lease_ms: 60_000 })
    if (all.length === 0) return found
    for (const message of all) {
      yield* outbox.delivered(message.id, owner)
      if (message.tenant === tenant) found.push(message.payload)
    }
  }
})

const listed = (tenant: Tenant, webhook: WebhookId) =>
  Webhooks.use((webhooks) => webhooks.deliveries({ tenant, webhook, limit: 500 }))

const attempt = (more?: Partial<WebhookAttempt>): WebhookAttempt => ({ at: 6_000, ms: 7, ...more })
const failed = (at: number) => attempt({ at, status: 500, error: "status" })

const managementTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect(
    "a webhook is found, changed and removed in its tenant alone, and shows no secret",
    () =>
      Effect.gen(function* () {
        const webhooks = yield* Webhooks
        const [tenant, other] = [Samples.tenant(), Samples.tenant()]
        const { name, text, webhook } = yield* added(tenant)
        const second = yield* added(tenant, { types: ["run.*"], filter: { statuses: ["failed"] } })
        const theirs = yield* added(other)
        assert.deepStrictEqual(webhook, {
          id: name.id,
          ...settings,
          enabled: true,
          secrets: [{ made_at }]
        })
        const all = yield* webhooks.list(tenant, 2_000)
        assert.deepStrictEqual(all, [second.webhook, webhook])
        assert.deepStrictEqual(yield* webhooks.get(name, 2_000), webhook)
        assert.notInclude(JSON.stringify(all), text)

        const stranger = { tenant: other, id: name.id }
        const change = {
          settings: { url: "https://evil.example/" },
          enabled: true,
          by: "eve",
          now: 3
        }
        for (const refused of [
          webhooks.get(stranger, 2_000),
          webhooks.change(stranger, change),
          webhooks.rotate(stranger, secret(), 1, 2),
          webhooks.remove(stranger),
          webhooks.resendFailed(stranger, 0, 9)
        ]) {
          const error = yield* Effect.flip(refused as Effect.Effect<unknown, Refusal>)
          assert.deepInclude(error, { _tag: "WebhookNotFound", id: name.id })
        }
        assert.deepStrictEqual(yield* webhooks.list(tenant, 2_000), all)
        const changed = yield* webhooks.change(name, { ...change, by: "ada" })
        assert.deepStrictEqual(changed, { ...webhook, url: "https://evil.example/" })
        yield* webhooks.remove(name)
        assert.deepStrictEqual(yield* webhooks.list(tenant, 2_000), [second.webhook])
        assert.deepStrictEqual(yield* webhooks.list(other, 2_000), [theirs.webhook])
      })
  )

  it.effect("a tenant has a bound of webhooks, and a webhook one of secrets", () =>
    Effect.gen(function* () {
      const webhooks = yield* Webhooks
      const tenant = Samples.tenant()
      const { name } = yield* added(tenant)
      for (let n = 1; n < webhooks_max; n++) yield* added(tenant)
      assert.deepInclude(yield* Effect.flip(added(tenant)), { _tag: "TooManyWebhooks" })
      yield* added(Samples.tenant())

      const rotated = (now: number, ends_at: number) =>
        Effect.map(webhooks.rotate(name, secret(), now, ends_at), ({ secrets }) => secrets)
      assert.deepStrictEqual(yield* rotated(2_000, 9_000), [
        { made_at: 2_000 },
        { made_at, ends_at: 9_000 }
      ])
      yield* rotated(3_000, 9_000)
      // One that is replaced anew ends no later than it would have.
      assert.deepStrictEqual(yield* rotated(4_000, 8_000), [
        { made_at: 4_000 },
        { made_at: 3_000, ends_at: 8_000 },
        { made_at: 2_000, ends_at: 8_000 },
        { made_at, ends_at: 8_000 }
      ])
      const refused = yield* Effect.flip(webhooks.rotate(name, secret(), 5_000, 9_000))
      assert.deepInclude(refused, { _tag: "TooManySecrets" })
      const { secrets } = yield* webhooks.get(name, 8_000)
      assert.deepStrictEqual(secrets, [{ made_at: 4_000 }])
      assert.deepStrictEqual(yield* rotated(5_000, 5_000), [{ made_at: 5_000 }])
    })
  )
}

const deliveryTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("an event is one delivery for each webhook that wants it, with one message", () =>
    Effect.gen(function* () {
      const [tenant, other] = [Samples.tenant(), Samples.tenant()]
      const wanting = yield* added(tenant, {
        types: ["run.*"],
        filter: { conversations: ["c-1"], statuses: ["failed"] }
      })
      const others = [
        yield* added(tenant, { types: ["run.complete"] }),
        yield* added(tenant, { filter: { conversations: ["c-2"] } }),
        yield* added(tenant, { filter: { statuses: ["complete"] } }),
        yield* added(tenant, { filter: { agents: [Samples.operations] } }),
        yield* added(other)
      ]
      const event = MessageId.make(randomUUID())
      const news = newsOf()
      yield* told(tenant, news, event)
      yield* told(tenant, news, event)
      const [delivery, ...more] = yield* listed(tenant, wanting.id)
      assert.lengthOf(more, 0)
      const { sequence, ...rest } = delivery!
      assert.deepStrictEqual(rest, {
        id: rest.id,
        webhook: wanting.id,
        event,
        ...news,
        status: "waiting",
        attempts: [],
        created_at: 5_000
      })
      assert.deepStrictEqual(yield* claimed(tenant, webhook_send_topic), [{ delivery: rest.id }])
      for (const { id, name } of others) {
        assert.deepStrictEqual(yield* listed(name.tenant, id), [])
      }
      assert.deepStrictEqual(yield* listed(other, wanting.id), [])
      const webhooks = yield* Webhooks
      const secrets = [wanting.text]
      const due = { position: sequence, event, news, created_at: 5_000, url: settings.url, secrets }
      assert.deepStrictEqual(yield* webhooks.due(tenant, rest.id, 6_000), due)
      assert.isUndefined(yield* webhooks.due(other, rest.id, 6_000))
      const newer = secret()
      yield* webhooks.rotate(wanting.name, newer, 6_000, 7_000)
      const signing = (now: number) =>
        Effect.map(webhooks.due(tenant, rest.id, now), (found) => found?.secrets)
      assert.deepStrictEqual(yield* signing(6_500), [newer, wanting.text])
      assert.deepStrictEqual(yield* signing(7_000), [newer])
    })
  )

  it.effect("attempts are listed, and what was delivered or failed is resent once", () =>
    Effect.gen(function* () {
      const webhooks = yield* Webhooks
      const tenant = Samples.tenant()
      const { id, name } = yield* added(tenant)
      yield* told(tenant)
      const [{ id: delivery }] = (yield* listed(tenant, id)) as readonly [WebhookDelivery]
      yield* claimed(tenant, webhook_send_topic)
      for (let n = 1; n <= attempts_kept + 1; n++) {
        yield* webhooks.attempted(
          tenant,
          delivery,
          failed(n),
          n > attempts_kept ? "failed" : "waiting"
        )
      }
      // It does not wait any more.
      yield* webhooks.attempted(tenant, delivery, attempt(), "delivered")
      const [after] = yield* listed(tenant, id)
      assert.strictEqual(after?.status, "failed")
      assert.deepStrictEqual(
        after?.attempts.map(({ at }) => at),
        Array.from({ length: attempts_kept }, (_, n) => n + 2)
      )
      const other = Samples.tenant()
      const foreign = yield* added(other)
      for (const [webhook, tag] of [
        [{ tenant: other, id }, "WebhookNotFound"],
        [foreign.name, "WebhookDeliveryNotFound"]
      ] as const) {
        const error = yield* Effect.flip(webhooks.resend(webhook, delivery))
        assert.strictEqual(error._tag, tag)
      }
      assert.strictEqual((yield* webhooks.resend(name, delivery)).status, "waiting")
      const twice = yield* Effect.flip(webhooks.resend(name, delivery))
      assert.strictEqual(twice._tag, "WebhookDeliveryWaits")
      assert.deepStrictEqual(yield* claimed(tenant, webhook_send_topic), [{ delivery }])
      yield* webhooks.attempted(tenant, delivery, attempt({ status: 204 }), "delivered")
      assert.isUndefined((yield* webhooks.get(name, 9_000)).failing)
      yield* webhooks.resend(name, delivery)
      assert.deepStrictEqual(yield* claimed(tenant, webhook_send_topic), [{ delivery }])
    })
  )

  it.effect("what has failed since a moment is resent, oldest first and so many at most", () =>
    Effect.gen(function* () {
      const webhooks = yield* Webhooks
      const tenant = Samples.tenant()
      const { id, name } = yield* added(tenant)
      for (const at of [100, 200, 300, 400]) {
        yield* told(tenant, newsOf(), MessageId.make(randomUUID()), at)
      }
      const all = (yield* listed(tenant, id)).toReversed()
      for (const { created_at, id } of all) {
        const status = created_at === 300 ? "delivered" : "failed"
        const { error, ...kept } = failed(created_at)
        yield* webhooks.attempted(
          tenant,
          id,
          status === "failed" ? { ...kept, error: error! } : kept,
          status
        )
      }
      yield* claimed(tenant, webhook_send_topic)
      assert.strictEqual(yield* webhooks.resendFailed(name, 200, 1), 1)
      assert.deepStrictEqual(yield* claimed(tenant, webhook_send_topic), [{ delivery: all[1]!.id }])
      assert.strictEqual(yield* webhooks.resendFailed(name, 200, 500), 1)
      assert.strictEqual(yield* webhooks.resendFailed(name, 200, 500), 0)
      assert.deepStrictEqual(yield* claimed(tenant, webhook_send_topic), [{ delivery: all[3]!.id }])
      const page = { tenant, webhook: id, limit: 1 }
      const waiting = yield* webhooks.deliveries({ ...page, status: "waiting" })
      assert.deepStrictEqual(
        waiting.map((each) => each.id),
        [all[3]!.id]
      )
      const next = yield* webhooks.deliveries({ ...page, status: "waiting", after: all[3]!.id })
      assert.deepStrictEqual(
        next.map((each) => each.id),
        [all[1]!.id]
      )
      yield* webhooks.forget(300, 500)
      assert.deepStrictEqual(
        (yield* listed(tenant, id)).map(({ created_at }) => created_at),
        [400, 300]
      )
    })
  )
}

const endTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("one that fails for long is disabled, and the others of its tenant are told", () =>
    Effect.gen(function* () {
      const webhooks = yield* Webhooks
      const tenant = Samples.tenant()
      const { id, name } = yield* added(tenant)
      yield* told(tenant)
      yield* told(tenant)
      const [first, second] = yield* listed(tenant, id)
      yield* claimed(tenant, webhook_send_topic, webhook_event_topic)
      const fail = (at: number) => webhooks.attempted(tenant, first!.id, failed(at), "waiting")
      for (let n = 2; n < disabling.attempts; n++) assert.isUndefined(yield* fail(n - 1))
      const late = disabling.after_ms + 1
      // Long enough, but one attempt too few; then but for one success.
      assert.isUndefined(yield* fail(late))
      yield* webhooks.attempted(tenant, second!.id, attempt({ status: 200 }), "delivered")
      assert.isUndefined(yield* fail(late))
      assert.deepStrictEqual((yield* webhooks.get(name, late)).failing, {
        since: late,
        attempts: 1
      })
      for (let n = 1; n < disabling.attempts; n++) {
        assert.isUndefined(yield* fail(late + n))
      }
      const end = late + disabling.after_ms
      assert.strictEqual(yield* fail(end), id)
      const { disabled, enabled } = yield* webhooks.get(name, end)
      assert.deepStrictEqual([enabled, disabled], [false, { at: end + 7, reason: "failing" }])
      assert.deepStrictEqual(yield* claimed(tenant, webhook_event_topic), [
        { type: "webhook.disabled", webhook: id, reason: "failing" }
      ])
      const [delivery] = yield* listed(tenant, id)
      assert.include(delivery!, { status: "failed", reason: "disabled" })
      assert.isUndefined(yield* webhooks.due(tenant, first!.id, end))
      yield* told(tenant)
      assert.lengthOf(yield* listed(tenant, id), 2)
      for (const refused of [
        webhooks.resend(name, first!.id),
        webhooks.resendFailed(name, 0, 9)
      ] as ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>>) {
        assert.strictEqual((yield* Effect.flip(refused))._tag, "WebhookIsDisabled")
      }
      const { url } = settings
      const again = { settings: { url }, enabled: true, by: "ada", now: end }
      assert.deepStrictEqual(yield* webhooks.change(name, again), {
        id,
        ...settings,
        enabled: true,
        secrets: [{ made_at }]
      })
      assert.strictEqual(yield* webhooks.resendFailed(name, 0, 9), 1)
    })
  )

  it.effect("one whose receiver is gone, or that somebody disables, is disabled at once", () =>
    Effect.gen(function* () {
      const webhooks = yield* Webhooks
      const tenant = Samples.tenant()
      const gone = yield* added(tenant)
      yield* told(tenant)
      const [delivery] = yield* listed(tenant, gone.id)
      const answered = attempt({ status: 410, error: "status" })
      const disabled = webhooks.attempted(tenant, delivery!.id, answered, "failed")
      assert.strictEqual(yield* disabled, gone.id)
      assert.strictEqual((yield* webhooks.get(gone.name, 9_000)).disabled?.reason, "gone")

      const asked = yield* added(tenant)
      yield* told(tenant)
      const change = { settings: { url: settings.url }, enabled: false, by: "ada\0", now: 9_000 }
      const off = yield* webhooks.change(asked.name, change)
      assert.deepStrictEqual(off.disabled, { at: 9_000, reason: "asked", by: "ada\0" })
      assert.deepStrictEqual(yield* webhooks.change(asked.name, { ...change, by: "eve" }), off)
      const [waited] = yield* listed(tenant, asked.id)
      assert.include(waited!, { status: "failed", reason: "disabled" })
      yield* webhooks.remove(asked.name)
      assert.deepStrictEqual(yield* listed(tenant, asked.id), [])
      assert.isUndefined(yield* webhooks.due(tenant, waited!.id, 9_000))
    })
  )

  it.effect("an erasure removes deliveries that name somebody, and marks what a webhook says", () =>
    Effect.gen(function* () {
      const webhooks = yield* Webhooks
      const { erase } = yield* SubjectErasure
      const tenant = Samples.tenant()
      const subject = Samples.unique("Zoe")
      const conversation = ConversationId.make(`order~${subject}`)
      const { id, name } = yield* added(tenant, {
        url: `https://hooks.example/${subject}`,
        description: `for ${subject}`,
        created_by: subject,
        filter: { conversations: [conversation, "c-1"] }
      })
      yield* told(tenant, newsOf({ conversation }))
      yield* told(tenant)
      const { erased } = yield* erase({ tenant, subject, by: "root" })
      assert.deepInclude(erased, { webhook_deliveries: 1, webhooks: 1 })
      assert.lengthOf(yield* listed(tenant, id), 1)
      const after = yield* webhooks.get(name, 9_000)
      assert.notInclude(JSON.stringify(after).toLowerCase(), subject.toLowerCase())
      assert.strictEqual(after.filter?.conversations?.[1], "c-1")
    })
  )
}

const newsTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a question and its end are news, in the order of its run", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const tenant = Samples.tenant()
      yield* added(tenant)
      const { next, task } = yield* Samples.begin({ tenant }, [Samples.modelTurned(1, 1)])
      const question = Samples.approvalRequested()
      const { approval, call } = question
      yield* journal.append(next(question))
      const closed = { _tag: "ApprovalClosed", call, approval, how: "expired" } as const
      const { events, fence, ...rest } = next(question, closed)
      const length = fence.length + 1
      yield* journal.append({ ...rest, events: events.slice(1), fence: { ...fence, length } })
      // The end waits for the question, however many relays there are.
      const outbox = yield* Outbox
      const owner = Samples.unique("relay")
      const claim = { owner, topics: [webhook_event_topic], limit: 500, lease_ms: 60_000 }
      const first = (yield* outbox.claim(claim)).filter((message) => message.tenant === tenant)
      assert.lengthOf(first, 1)
      yield* outbox.release([owner])
      assert.deepStrictEqual(yield* claimed(tenant, webhook_event_topic), [
        { type: "approval.requested", run: task.id, approval },
        { type: "approval.settled", run: task.id, approval }
      ])
    })
  )

  it.effect("the end of a run is news where its tenant has an enabled webhook", () =>
    Effect.gen(function* () {
      const webhooks = yield* Webhooks
      const tenant = Samples.tenant()
      const ended = Effect.fnUntraced(function* () {
        const begun = yield* Samples.begin({ tenant })
        yield* Samples.end(begun)
        return begun.task.id
      })
      yield* ended()
      assert.deepStrictEqual(yield* claimed(tenant, webhook_event_topic), [])
      const { name } = yield* added(tenant)
      const run = yield* ended()
      assert.deepStrictEqual(yield* claimed(tenant, webhook_event_topic), [
        { type: "run.complete", run }
      ])
      for (const status of ["failed", "cancelled"] as const) {
        const { task } = yield* Samples.finish({ tenant }, { status, reason: "enough" })
        assert.deepStrictEqual(yield* claimed(tenant, webhook_event_topic), [
          { type: `run.${status}`, run: task.id }
        ])
      }
      const change = { settings: { url: settings.url }, enabled: false, by: "ada", now: 9_000 }
      yield* webhooks.change(name, change)
      yield* ended()
      assert.deepStrictEqual(yield* claimed(tenant, webhook_event_topic), [])
    })
  )
}

export const webhooksTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  managementTests(it)
  deliveryTests(it)
  endTests(it)
  newsTests(it)
}
