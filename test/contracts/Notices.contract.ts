/** The channels of conversations, and what people were told. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import {
  answered_topic,
  asked_topic,
  ChannelBindings,
  settled_topic
} from "../../services/ChannelBindings.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import type {
  DigestItem,
  NewNotices,
  NoticeRecipient,
  QuestionPost
} from "../../services/Notices.ts"
import { Notices } from "../../services/Notices.ts"
import { Outbox } from "../../services/Outbox.ts"
import type { Append } from "../../services/RunJournal.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import type { RunPorts } from "../../services/Stores.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { BindingTarget } from "../../src/conversation/ChannelBinding.ts"
import { ChannelName, in_app } from "../../src/conversation/ChannelBinding.ts"
import type { NoticeContent } from "../../src/delivery/Notice.ts"
import { noPreferences } from "../../src/delivery/Notice.ts"
import type { NewOutboxMessage } from "../../src/delivery/OutboxMessage.ts"
import type { ApprovalId, Tenant } from "../../src/value/Ids.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import * as Samples from "./Samples.ts"

type Needs = ChannelBindings | ConversationStore | Notices | Outbox | RunPorts | TaskStore

const slack = ChannelName.make("slack")
const email = ChannelName.make("email")
const olga: BindingTarget = { channel: in_app, address: "olga", recipient: "olga" }
const room: BindingTarget = { channel: slack, address: "C1", recipient: "olga" }

const bind = (tenant: Tenant, conversation: ConversationId, target: BindingTarget) =>
  ChannelBindings.use((bindings) => bindings.bind(tenant, conversation, target))

const accepted = Effect.fnUntraced(function* () {
  const tenant = Samples.tenant()
  const { task } = yield* TaskStore.use((tasks) => tasks.accept(Samples.newTask({ tenant })))
  return task
})

/** What is claimed of a topic for this tenant. */
const announced = Effect.fnUntraced(function* (tenant: Tenant, ...topics: ReadonlyArray<string>) {
  const outbox = yield* Outbox
  const claim = { owner: Samples.unique("relay"), topics, limit: 500, lease_ms: 60_000 }
  return (yield* outbox.claim(claim)).filter((message) => message.tenant === tenant)
})

const bindingTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("SA-38 a conversation is bound to several channels, each once, in their order", () =>
    Effect.gen(function* () {
      const bindings = yield* ChannelBindings
      const { conversation, tenant } = yield* accepted()
      yield* bind(tenant, conversation, olga)
      yield* bind(tenant, conversation, room)
      yield* bind(tenant, conversation, { ...room, address: "C2" })
      yield* bind(tenant, conversation, room)
      const of = yield* bindings.of(tenant, conversation)
      assert.deepStrictEqual(of, [
        { tenant, conversation, ...olga },
        { tenant, conversation, ...room },
        { tenant, conversation, ...room, address: "C2" }
      ])
      assert.deepStrictEqual(yield* bindings.of(Samples.tenant(), conversation), [])
      assert.isTrue(yield* bindings.unbind(tenant, conversation, slack, "C1"))
      assert.isFalse(yield* bindings.unbind(tenant, conversation, slack, "C1"))
      assert.lengthOf(yield* bindings.of(tenant, conversation), 2)
    })
  )

  it.effect("an unknown conversation, that of another tenant, and a 17th place are refused", () =>
    Effect.gen(function* () {
      const { conversation, tenant } = yield* accepted()
      const none = bind(tenant, ConversationId.make("nobody"), olga)
      assert.strictEqual((yield* Effect.flip(none))._tag, "ConversationNotFound")
      const foreign = bind(Samples.tenant(), conversation, olga)
      assert.strictEqual((yield* Effect.flip(foreign))._tag, "ConversationNotFound")
      for (let i = 0; i < 16; i++) yield* bind(tenant, conversation, { ...room, address: `C${i}` })
      const more = bind(tenant, conversation, { ...room, address: "C16" })
      assert.strictEqual((yield* Effect.flip(more))._tag, "BindingsFull")
      yield* bind(tenant, conversation, room)
    })
  )

  it.effect("a thread belongs to one conversation of one tenant, and is named once", () =>
    Effect.gen(function* () {
      const bindings = yield* ChannelBindings
      const { conversation, tenant } = yield* accepted()
      yield* bind(tenant, conversation, room)
      const [binding] = yield* bindings.of(tenant, conversation)
      assert.isTrue(yield* bindings.setThread(binding!, "17.1"))
      assert.isFalse(yield* bindings.setThread(binding!, "17.2"))
      const found = yield* bindings.byThread(tenant, slack, "C1", "17.1")
      assert.deepStrictEqual(found, { ...binding!, thread: "17.1" })
      assert.isUndefined(yield* bindings.byThread(tenant, slack, "C2", "17.1"))
      assert.isUndefined(yield* bindings.byThread(tenant, email, "C1", "17.1"))
      assert.isUndefined(yield* bindings.byThread(Samples.tenant(), slack, "C1", "17.1"))
      const request = Samples.newTask({ tenant })
      yield* TaskStore.use((tasks) => tasks.accept(request))
      yield* bind(tenant, request.conversation, room)
      const [other] = yield* bindings.of(tenant, request.conversation)
      assert.isFalse(yield* bindings.setThread(other!, "17.1"))
      assert.isTrue(yield* bindings.setThread(other!, "17.3"))
    })
  )
}

const postOf = (tenant: Tenant, approval: ApprovalId, post: string): QuestionPost => ({
  tenant,
  approval,
  channel: slack,
  address: "C1",
  recipient: "olga",
  post
})

/** The append without its first event, which was appended before. */
const after = (append: Append): Append => ({
  ...append,
  fence: { ...append.fence, length: append.fence.length + 1 },
  events: append.events.slice(1)
})

const announcementTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("SA-38 a bound conversation announces its agent's answer", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const { next, task } = yield* Samples.begin({ tenant }, [Samples.modelTurned(1)])
      yield* bind(tenant, task.conversation, olga)
      yield* RunJournal.use((journal) => journal.append(next(Samples.runEnded())))
      const [message, ...more] = yield* announced(tenant, answered_topic, asked_topic)
      assert.deepStrictEqual(more, [])
      const { conversation } = task
      assert.deepInclude(message, { topic: answered_topic, key: `conversation/${conversation}` })
      assert.deepStrictEqual(message?.payload, { conversation, seq: 1 })
    })
  )

  it.effect("a bound conversation announces each question of its runs", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const { next, task } = yield* Samples.begin({ tenant }, [Samples.modelTurned(1, 1)])
      yield* bind(tenant, task.conversation, room)
      const question = Samples.approvalRequested()
      yield* RunJournal.use((journal) => journal.append(next(question)))
      const [message, ...more] = yield* announced(tenant, answered_topic, asked_topic)
      assert.deepStrictEqual(more, [])
      const { conversation } = task
      assert.deepInclude(message, { topic: asked_topic, key: `conversation/${conversation}` })
      assert.deepStrictEqual(message?.payload, { conversation, approval: question.approval })
    })
  )

  it.effect(
    "the end of a question is announced once, also where it stands in a channel alone",
    () =>
      Effect.gen(function* () {
        const journal = yield* RunJournal
        for (const isBound of [true, false]) {
          const tenant = Samples.tenant()
          const { next, task } = yield* Samples.begin({ tenant }, [Samples.modelTurned(1, 1)])
          const question = Samples.approvalRequested()
          const { approval, call } = question
          yield* journal.append(next(question))
          if (isBound) yield* bind(tenant, task.conversation, room)
          else yield* Notices.use((notices) => notices.posted(postOf(tenant, approval, "1")))
          const closed = { _tag: "ApprovalClosed", call, approval, how: "cancelled" } as const
          yield* journal.append(after(next(question, closed)))
          const [message, ...more] = yield* announced(tenant, settled_topic)
          assert.deepStrictEqual(more, [])
          const { conversation } = task
          assert.deepInclude(message, { key: `conversation/${conversation}` })
          assert.deepStrictEqual(message?.payload, { conversation, approval })
        }
      })
  )

  it.effect("what is said and asked in a conversation without bindings is not announced", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const tenant = Samples.tenant()
      yield* Samples.finish({ tenant })
      const { next } = yield* Samples.begin({ tenant }, [Samples.modelTurned(1, 1)])
      const question = Samples.approvalRequested()
      const { approval, call } = question
      yield* journal.append(next(question))
      const closed = { _tag: "ApprovalClosed", call, approval, how: "expired" } as const
      yield* journal.append(after(next(question, closed)))
      const topics = [answered_topic, asked_topic, settled_topic]
      assert.deepStrictEqual(yield* announced(tenant, ...topics), [])
    })
  )
}

const content = (text: string): NoticeContent => ({
  kind: "answer",
  conversation: ConversationId.make("c-1"),
  agent: Samples.operations,
  text
})

const told = (recipient: string, given: Partial<NoticeRecipient> = {}): NoticeRecipient => ({
  recipient,
  messages: [],
  digest: [],
  ...given
})

const message = (tenant: Tenant, topic: string): NewOutboxMessage => ({
  id: Samples.messageId(),
  tenant,
  key: Samples.unique("key"),
  topic,
  payload: { to: "C1" }
})

const record = (notices: NewNotices) => Notices.use((all) => all.record(notices))

const noticeTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("SA-39 a copy is written with its messages to channels, once for each person", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const topic = Samples.unique("topic")
      const about = "answer/c-1/1"
      const one = { tenant, about, content: content("hello \0 🚀"), recipients: [told("olga")] }
      const two = [
        told("olga", { messages: [message(tenant, topic)] }),
        told("vera", { messages: [message(tenant, topic)] })
      ]
      assert.strictEqual(yield* record(one), 1)
      assert.strictEqual(yield* record({ ...one, recipients: two }), 1)
      assert.strictEqual(yield* record({ ...one, recipients: two }), 0)
      assert.lengthOf(yield* announced(tenant, topic), 1)
      const notices = yield* Notices
      const [copy, ...more] = yield* notices.list({ tenant, recipient: "vera", limit: 10 })
      assert.deepInclude(copy, { tenant, recipient: "vera", text: "hello \0 🚀", kind: "answer" })
      assert.deepStrictEqual(more, [])
    })
  )

  it.effect("a person's list has keyset pages, newest first, and only the person's own", () =>
    Effect.gen(function* () {
      const notices = yield* Notices
      const tenant = Samples.tenant()
      for (let i = 0; i < 5; i++) {
        const recipients = [told("olga"), told("vera")]
        yield* record({ tenant, about: `a/${i}`, content: content(`${i}`), recipients })
      }
      const page = { tenant, recipient: "olga", limit: 2 }
      const first = yield* notices.list(page)
      const second = yield* notices.list({ ...page, after: first[1]!.id })
      const third = yield* notices.list({ ...page, after: second[1]!.id })
      assert.deepStrictEqual(
        [first, second, third].map((each) => each.map(({ text }) => text)),
        [["4", "3"], ["2", "1"], ["0"]]
      )
      const others = yield* notices.list({ tenant, recipient: "vera", limit: 10 })
      assert.deepStrictEqual(yield* notices.list({ ...page, after: others[0]!.id }), [])
      assert.deepStrictEqual(yield* notices.list({ ...page, tenant: Samples.tenant() }), [])
    })
  )

  it.effect("a person reads its own notices, each once", () =>
    Effect.gen(function* () {
      const notices = yield* Notices
      const tenant = Samples.tenant()
      for (const about of ["a", "b"]) {
        yield* record({ tenant, about, content: content(about), recipients: [told("olga")] })
      }
      const ids = (yield* notices.list({ tenant, recipient: "olga", limit: 10 })).map(
        ({ id }) => id
      )
      assert.strictEqual(yield* notices.unread(tenant, "olga"), 2)
      assert.strictEqual(yield* notices.read(tenant, "vera", ids), 0)
      assert.strictEqual(yield* notices.read(Samples.tenant(), "olga", ids), 0)
      assert.strictEqual(yield* notices.read(tenant, "olga", [ids[0]!, ids[0]!]), 1)
      assert.strictEqual(yield* notices.read(tenant, "olga", ids), 1)
      assert.strictEqual(yield* notices.unread(tenant, "olga"), 0)
      const page = { tenant, recipient: "olga", limit: 10 }
      assert.deepStrictEqual(yield* notices.list({ ...page, unread: true }), [])
      assert.isTrue((yield* notices.list(page)).every(({ read_at }) => read_at !== undefined))
    })
  )

  it.effect("preferences are a person's of one tenant, and replaced as a whole", () =>
    Effect.gen(function* () {
      const notices = yield* Notices
      const tenant = Samples.tenant()
      assert.deepStrictEqual(yield* notices.preferences(tenant, "olga"), noPreferences)
      yield* notices.prefer(tenant, "olga", { channels: { [slack]: "off", [email]: "digest" } })
      yield* notices.prefer(tenant, "olga", { channels: { [email]: "digest" } })
      assert.deepStrictEqual(yield* notices.preferences(tenant, "olga"), {
        channels: { [email]: "digest" }
      })
      assert.deepStrictEqual(yield* notices.preferences(tenant, "vera"), noPreferences)
      const other = yield* notices.preferences(Samples.tenant(), "olga")
      assert.deepStrictEqual(other, noPreferences)
    })
  )

  it.effect("what waits for one address is told in one message, and nothing of it twice", () =>
    Effect.gen(function* () {
      const notices = yield* Notices
      const tenant = Samples.tenant()
      const item = (address: string, text: string): DigestItem => ({
        tenant,
        channel: email,
        address,
        recipient: "olga",
        content: content(text)
      })
      for (const [address, text] of [
        ["a@x", "1"],
        ["b@x", "2"],
        ["a@x", "3"]
      ] as const) {
        const digest = [item(address, text)]
        yield* record({
          tenant,
          about: text,
          content: content(text),
          recipients: [told("olga", { digest })]
        })
      }
      const topic = Samples.unique("topic")
      const given: Array<ReadonlyArray<DigestItem>> = []
      const take = notices.digest(Number.MAX_SAFE_INTEGER, 100, (items) => {
        given.push(items)
        return message(tenant, topic)
      })
      assert.isFalse(yield* notices.digest(0, 100, () => message(tenant, topic)))
      while (yield* take) continue
      const mine = given.filter(([first]) => first!.tenant === tenant)
      assert.deepStrictEqual(
        mine.map((items) => items.map(({ address, content: { text } }) => [address, text])),
        [
          [
            ["a@x", "1"],
            ["a@x", "3"]
          ],
          [["b@x", "2"]]
        ]
      )
      assert.lengthOf(yield* announced(tenant, topic), given.length === 0 ? 0 : mine.length)
    })
  )

  it.effect("old notices are forgotten, oldest first", () =>
    Effect.gen(function* () {
      const notices = yield* Notices
      const tenant = Samples.tenant()
      yield* record({ tenant, about: "a", content: content("a"), recipients: [told("olga")] })
      assert.strictEqual(yield* notices.forget(0, 10), 0)
      const { approval } = Samples.approvalRequested()
      yield* notices.posted(postOf(tenant, approval, "1"))
      while ((yield* notices.forget(Number.MAX_SAFE_INTEGER, 5_000)) > 0) continue
      assert.isFalse(yield* notices.settle(tenant, approval, () => message(tenant, "t")))
      assert.deepStrictEqual(yield* notices.list({ tenant, recipient: "olga", limit: 10 }), [])
    })
  )
}

const postTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("each post of a question is told of once, in the transaction that takes it", () =>
    Effect.gen(function* () {
      const notices = yield* Notices
      const tenant = Samples.tenant()
      const { approval } = Samples.approvalRequested()
      const topic = Samples.unique("topic")
      for (const post of ["1 \0", "2"]) yield* notices.posted(postOf(tenant, approval, post))
      const taken: Array<QuestionPost> = []
      const settle = (of: Tenant, how = topic) =>
        notices.settle(of, approval, (post) => {
          taken.push(post)
          if (how === "") throw new Error("it fails")
          return message(tenant, how)
        })
      assert.isFalse(yield* settle(Samples.tenant()))
      // What fails gives the post back.
      yield* Effect.exit(settle(tenant, ""))
      assert.isTrue(yield* settle(tenant))
      assert.isTrue(yield* settle(tenant))
      assert.isFalse(yield* settle(tenant))
      assert.deepStrictEqual(
        taken.map(({ post }) => post),
        ["1 \0", "1 \0", "2"]
      )
      assert.deepInclude(taken[1], postOf(tenant, approval, "1 \0"))
      assert.lengthOf(yield* announced(tenant, topic), 2)
    })
  )

  it.effect("the copies of a question are replaced together, and nothing else is", () =>
    Effect.gen(function* () {
      const notices = yield* Notices
      const tenant = Samples.tenant()
      const recipients = [told("olga"), told("vera")]
      for (const about of ["q/1", "q/2"]) {
        yield* record({ tenant, about, content: content(about), recipients })
      }
      yield* notices.replace(Samples.tenant(), "q/1", content("foreign"))
      yield* notices.replace(tenant, "q/1", { ...content("it is over"), kind: "settled" })
      for (const recipient of ["olga", "vera"]) {
        const copies = yield* notices.list({ tenant, recipient, limit: 10 })
        assert.deepStrictEqual(
          copies.map(({ kind, text }) => [kind, text]),
          [
            ["answer", "q/2"],
            ["settled", "it is over"]
          ]
        )
      }
    })
  )
}

export const channelTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  bindingTests(it)
  announcementTests(it)
  noticeTests(it)
  postTests(it)
}
