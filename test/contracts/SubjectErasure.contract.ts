/** Erasures of a subject: from every store of its tenant, in no other rows, once for all, and never below a run under way. */
import { createHash } from "node:crypto"
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import { BlobStore } from "../../services/BlobStore.ts"
import { CallRecords } from "../../services/CallRecords.ts"
import { ChannelBindings } from "../../services/ChannelBindings.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { LoopStore } from "../../services/semstreams/LoopStore.ts"
import { MemoryStore } from "../../services/MemoryStore.ts"
import { Notices } from "../../services/Notices.ts"
import { Outbox } from "../../services/Outbox.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import type { Stores } from "../../services/Stores.ts"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import type { NewTask } from "../../services/TaskStore.ts"
import { ChannelName } from "../../src/conversation/ChannelBinding.ts"
import type { RunId, Tenant } from "../../src/value/Ids.ts"
import { callId, ConversationId, rootFrame } from "../../src/value/Ids.ts"
import type { NewMemoryRow } from "../../src/memory/MemoryRow.ts"
import { isErased } from "../../src/replay/Erased.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { fold } from "../../src/run/RunFold.ts"
import * as Samples from "./Samples.ts"

const olga = `olga "Ü\\nal"`
export const canary = `Zürich "Qua\\rtz" 東京-4711`

/** What the model asked for, a person changed, and a tool answered, all with the canary; of one result it is in two parts. */
const said = (text: string): ReadonlyArray<RunEvent> => {
  const [first, second] = [callId(rootFrame, 1, 0), callId(rootFrame, 1, 1)]
  const asked = Samples.approvalRequested(first, {
    arguments: { to: text, n: 7 },
    digest: "ab".repeat(32)
  })
  const turn = Samples.modelTurned(1, 2, rootFrame, `I look for ${text}`)
  const [one, two] = turn.calls
  const half = text.length / 2
  return [
    {
      ...turn,
      calls: [
        { ...one!, arguments: { [text]: [text] } },
        { ...two!, arguments: null, malformed: `{"to":${text}` }
      ],
      reasoning: [{ text, provider: { signature: text } }],
      parts: [{ of: "text", units: 12, provider: { text } }],
      origin: "openai/gpt",
      sources: [{ url: `https://example.com/${text}`, title: text }]
    },
    asked,
    {
      _tag: "ApprovalDecided",
      call: first,
      approval: asked.approval,
      decision: { _tag: "Modify", arguments: { to: text }, note: text },
      by: "paul",
      digest: "cd".repeat(32)
    },
    Samples.callSettled(first, {
      _tag: "Value",
      json: JSON.stringify({ a: text.slice(0, half), b: text.slice(half), c: text })
    }),
    Samples.callSettled(second, { _tag: "Denied", by: "paul", reason: text }),
    Samples.modelTurned(2, 0, rootFrame, `found ${text}`)
  ]
}

/** A run that is over, of this message. */
const finished = Effect.fnUntraced(function* (
  given: Partial<NewTask>,
  events: ReadonlyArray<RunEvent>,
  text: string
) {
  const journal = yield* RunJournal
  const begun = yield* Samples.begin(given, events)
  yield* journal.append(begun.next(Samples.runEnded({ text })))
  return begun
})

const digestOf = (text: string) => createHash("sha256").update(text).digest("hex")

/** A call of a tool that a worker has run. */
const sendCall = Effect.fnUntraced(function* (tenant: Tenant, run: RunId, text: string) {
  const queue = yield* ToolQueue
  const id = Samples.unique("call")
  const tool = Samples.unique("shop.refund@")
  const payload = { id, name: "refund", arguments: { text }, loop_id: run }
  yield* queue.send({ id, tool, tenant, expires_at: 4_000_000_000_000, payload })
  const owner = Samples.unique("worker")
  yield* queue.claim({ owner, tools: [tool], limit: 1, lease_ms: 60_000 })
  yield* queue.publish(id, { call_id: id, content: text })
  yield* queue.acknowledge(id, owner)
})

const memoryOf = (tenant: Tenant, run: RunId, text: string): NewMemoryRow => ({
  tenant,
  agent: Samples.operations,
  tier: "persistent",
  anchor: "a",
  place: "workspace/a",
  session: "elsewhere",
  typology: "semantic",
  text,
  at,
  provenance: { source: "tool_call", author: "model", run }
})

const slack = ChannelName.make("slack")
const at = 1_700_000_000_000

/** What stands beside a run in the other stores. */
const recordAll = Effect.fnUntraced(function* (
  { conversation, id: run, tenant }: NewTask,
  who: string,
  text: string
) {
  const label = { digest: digestOf(text), media_type: "text/plain", name: "n" } as const
  const bytes = new TextEncoder().encode(text)
  const blobs = yield* BlobStore
  yield* blobs.put(tenant, label, bytes, { run, conversation, as: "message" }, 1_000_000)
  yield* blobs.put(tenant, label, bytes, { uploaded_by: who }, 1_000_000)
  yield* (yield* CallRecords).store([
    {
      key: `${run}/0/1.0.1`,
      tenant,
      run_id: run,
      call_id: callId(rootFrame, 1, 0),
      trace_id: "0".repeat(32),
      agent_name: "operations",
      tool_name: "t",
      arguments: { text },
      started_at: at,
      ended_at: at,
      duration_ms: 1
    }
  ])
  yield* (yield* LoopStore).put(tenant, `note of ${run}`, JSON.stringify({ text }))
  const bindings = yield* ChannelBindings
  yield* bindings.bind(tenant, conversation, { channel: slack, address: "C1", recipient: who })
  const content = {
    kind: "answer",
    conversation,
    agent: Samples.operations,
    text,
    run_id: run
  } as const
  const message = Samples.outboxMessage({
    tenant,
    key: `conversation/${conversation}`,
    payload: { text }
  })
  const dead = Samples.outboxMessage({ tenant, payload: { run, text } })
  yield* (yield* Notices).posted({
    tenant,
    approval: Samples.approvalRequested().approval,
    channel: slack,
    address: "C1",
    recipient: who,
    post: "C1 17.1"
  })
  yield* (yield* Notices).record({
    tenant,
    about: `answer/${run}`,
    content,
    recipients: [
      {
        recipient: who,
        messages: [message, dead],
        digest: [{ tenant, channel: slack, address: "C1", recipient: who, content }]
      }
    ]
  })
  const outbox = yield* Outbox
  const claim = { owner: Samples.unique("relay"), topics: [dead.topic], limit: 1, lease_ms: 60_000 }
  yield* outbox.claim(claim)
  assert.isTrue(yield* outbox.failed(dead.id, claim.owner, `no ${text}`, undefined))
  yield* sendCall(tenant, run, text)
  yield* (yield* MemoryStore).add(memoryOf(tenant, run, text))
})

/** A person's run with the text in every store. */
export const lived = Effect.fnUntraced(function* (
  tenant: Tenant,
  by: string,
  text: string,
  more: Partial<NewTask> = {}
) {
  const key = Samples.unique("key")
  const given = { tenant, by, message: `I am at ${text}`, idempotency_key: key, ...more }
  const asked = { context: { order: text }, ...given }
  const { run, task } = yield* finished(asked, said(text), `It was ${text}`)
  yield* recordAll(task, by, text)
  return { run, task, key }
})

export const erase = (tenant: Tenant, subject: string) =>
  SubjectErasure.use((erasure) => erasure.erase({ tenant, subject, by: "adam" }))

/** All that is left of a run in the stores. */
export const left = Effect.fnUntraced(function* ({ conversation, id: run, tenant }: NewTask) {
  const { entries, head } = yield* Samples.snapshot(run)
  const list = { tenant, limit: 100 }
  const approvals = yield* (yield* ApprovalRecords).list({ ...list, run_id: run })
  return {
    entries,
    head,
    task: yield* (yield* TaskStore).get(run),
    conversation: yield* (yield* ConversationStore).get(tenant, conversation),
    messages: yield* (yield* ConversationStore).messages(tenant, conversation, -1, 100),
    approvals,
    records: yield* (yield* CallRecords).ofRun(tenant, run, 100),
    bindings: yield* (yield* ChannelBindings).of(tenant, conversation),
    loop: yield* (yield* LoopStore).get(tenant, `note of ${run}`)
  }
})

const erased_tables = (
  "agent_tasks approvals blob_uses call_records channel_bindings conversation_messages conversations dead_letters " +
  "digest_items loop_records memory_rows notices outbox question_posts run_events tool_messages"
).split(" ")

const everywhere = Effect.fnUntraced(function* () {
  const tenant = Samples.tenant()
  const posted = "a".repeat(64)
  const isFound = Effect.map(
    TaskStore.use((tasks) => tasks.posted(tenant, posted, 1)),
    (found) => found.length > 0
  )
  const mine = yield* lived(tenant, olga, canary, { posted })
  assert.isTrue(yield* isFound)
  const paul = yield* lived(tenant, "paul", "Paul's text")
  const foreign = yield* lived(Samples.tenant(), olga, canary)
  const others = [yield* left(paul.task), yield* left(foreign.task)]
  const { head: before } = yield* left(mine.task)
  const report = yield* erase(tenant, olga)
  assert.deepStrictEqual(report.found, [])
  // What was posted is not to be guessed from its digest.
  assert.isFalse(yield* isFound)
  assert.deepStrictEqual(report.waiting, [])
  assert.include(report.remains.at(-1), "archives, logs, traces")
  assert.sameMembers(Object.keys(report.erased), erased_tables)
  // The journal stays as it was, but for its texts.
  const { entries, head, messages, task, ...beside } = yield* left(mine.task)
  assert.deepStrictEqual(head, before)
  assert.isTrue(isErased(beside.conversation?.begun_by))
  assert.deepInclude(beside, { approvals: [], records: [], bindings: [], loop: undefined })
  const { ended, frames } = fold(entries.map(({ event }) => event))
  assert.strictEqual(ended?.reason, "complete")
  assert.isTrue(isErased(ended?.text))
  assert.lengthOf(frames.get(rootFrame)?.transcript ?? [], 5)
  for (const { content } of messages) assert.isTrue(isErased(content))
  assert.isTrue(isErased(task?.message) && isErased(task?.by))
  const replayed = yield* Effect.flip(Replay.replay(mine.run))
  assert.deepInclude(replayed, { _tag: "RunErased", run_id: mine.run })
  // Nothing of it stands in any other column of any table.
  const again = yield* erase(tenant, canary)
  assert.deepStrictEqual([again.found, again.erased], [[], {}])
  const half = yield* erase(tenant, canary.slice(canary.length / 2))
  assert.deepStrictEqual([half.found, half.erased], [[], {}])
  assert.deepStrictEqual((yield* erase(tenant, olga)).erased, {})
  assert.deepStrictEqual([yield* left(paul.task), yield* left(foreign.task)], others)
  // The message may be sent again: its key is as new.
  const resent = Samples.newTask({
    ...mine.task,
    id: Samples.runId(),
    message_id: Samples.messageId()
  })
  const { created } = yield* TaskStore.use((tasks) => tasks.accept(resent))
  assert.isTrue(created)
})

const named = Effect.fnUntraced(function* () {
  const tenant = Samples.tenant()
  const who = "o.unal"
  // Of others: one that names the subject, one that waits with its name, and one with a longer word.
  const paul = yield* lived(tenant, "paul", `so says O Unal`)
  const longer = yield* lived(tenant, "rita", "no unalike text")
  const open = yield* Samples.begin({ tenant, by: "rita", message: "ask o unal" }, [])
  const key = ConversationId.make(`talk:${who}:1`)
  const task = { conversation: key, address: { agent: Samples.operations, key } }
  const { task: mine } = yield* lived(tenant, "rita", "of nobody", task)
  const untouched = yield* left(longer.task)
  const report = yield* erase(tenant, who)
  assert.deepStrictEqual(report.waiting, [open.run])
  assert.deepStrictEqual(
    report.found.map(({ table }) => table).filter((table) => !open_tables.includes(table)),
    []
  )
  assert.deepStrictEqual(yield* left(longer.task), untouched)
  // What names the subject is erased, and the rest of another's run is not.
  const { entries } = yield* left(paul.task)
  const texts = JSON.stringify(entries)
  assert.notMatch(texts, /unal/i)
  assert.include(texts, '"by":"paul"')
  // A conversation that is named after the subject has another name.
  const renamed = yield* TaskStore.use((tasks) => tasks.get(mine.id))
  assert.match(String(renamed?.conversation), /^erased:[0-9a-f]{32}$/)
  assert.strictEqual(renamed?.address.key, renamed?.conversation)
  assert.isUndefined(yield* (yield* ConversationStore).get(tenant, key))
  yield* Samples.end(open)
  const later = yield* erase(tenant, who)
  assert.deepStrictEqual([later.waiting, later.found], [[], []])
  const records = yield* SubjectErasure.use((erasure) => erasure.list({ tenant, limit: 10 }))
  assert.deepStrictEqual(
    records.map(({ by, id }) => [id, by]),
    [
      [later.id, "adam"],
      [report.id, "adam"]
    ]
  )
  assert.notInclude(JSON.stringify(records), "nal")
})

/** Where the run that is under way still has the name. */
const open_tables = ["run_events", "agent_tasks", "conversation_messages"]

const refused = Effect.fnUntraced(function* () {
  const tenant = Samples.tenant()
  const { task } = yield* lived(tenant, olga, canary)
  const before = yield* left(task)
  // Another's run in the same conversation counts too: its process has what was said before it in memory.
  const { address, conversation } = task
  const open = yield* Samples.begin({ tenant, by: "paul", address, conversation })
  const error = yield* Effect.flip(erase(tenant, olga))
  assert.deepInclude(error, { _tag: "SubjectIsActive", runs: [open.run] })
  const after = yield* left(task)
  assert.deepStrictEqual([after.entries, after.records], [before.entries, before.records])
  yield* Samples.end(open)
  const told: Array<unknown> = []
  yield* SubjectErasure.use((erasure) => erasure.onErased((erased) => void told.push(erased)))
  assert.deepStrictEqual((yield* erase(tenant, olga)).found, [])
  assert.deepInclude(told, { tenant, conversation })
})

const interrupted = Effect.fnUntraced(function* () {
  const tenant = Samples.tenant()
  const lives = [yield* lived(tenant, olga, canary), yield* lived(tenant, olga, canary)]
  const broken = yield* Effect.exit(
    Effect.scoped(
      SubjectErasure.use((erasure) =>
        Effect.andThen(
          erasure.onErased(() => {
            throw new Error("the process ends behind the first conversation")
          }),
          erasure.erase({ tenant, subject: olga, by: "adam" })
        )
      )
    )
  )
  assert.isTrue(Exit.isFailure(broken))
  const again = yield* erase(tenant, olga)
  assert.deepStrictEqual([again.found, again.waiting], [[], []])
  for (const { task } of lives) {
    const { messages, records } = yield* left(task)
    assert.deepStrictEqual(records, [])
    for (const { content } of messages) assert.isTrue(isErased(content))
  }
  assert.deepStrictEqual((yield* erase(tenant, canary)).found, [])
})

/** Also of the erasure that somebody asks for of themselves. */
const askers = Effect.fnUntraced(function* () {
  const [tenant, other] = [Samples.tenant(), Samples.tenant()]
  const erasure = yield* SubjectErasure
  yield* erasure.erase({ tenant, subject: "somebody", by: olga })
  yield* erasure.erase({ tenant, subject: "somebody", by: "adam" })
  yield* erasure.erase({ tenant: other, subject: "somebody", by: olga })
  const report = yield* erasure.erase({ tenant, subject: olga, by: olga })
  assert.deepInclude(report, { by: olga, erased: { erasures: 2 }, found: [] })
  const [own, second, first] = yield* erasure.list({ tenant, limit: 10 })
  assert.isTrue(isErased(own?.by))
  assert.isTrue(isErased(first?.by))
  assert.deepInclude(own!, { id: report.id, erased: { erasures: 2 } })
  assert.strictEqual(own?.ended_at, report.ended_at)
  assert.strictEqual(second?.by, "adam")
  assert.strictEqual((yield* erasure.list({ tenant: other, limit: 10 }))[0]?.by, olga)
})

export const subjectErasureTests = (it: Vitest.MethodsNonLive<LoopStore | Stores>): void => {
  it.effect(
    "an erasure leaves nothing of a subject's runs in any store, nothing of others changes, and twice is as once",
    everywhere
  )
  it.effect("a subject is not erased while a run of its conversations is under way", () =>
    Effect.scoped(refused())
  )
  it.effect("what names a subject is erased from runs of others, when they are over", named)
  it.effect("an erasure that did not come to its end is done by doing it again", interrupted)
  it.effect("who asked for erasures is erased from their records", askers)
}
