/** Slack: what is told there, what people do there, and what is refused. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as SlackChannel from "../../layers/channel/slack/SlackChannel.ts"
import * as SlackIngress from "../../layers/channel/slack/SlackIngress.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { ChannelBindings } from "../../services/ChannelBindings.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { Outbox } from "../../services/Outbox.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { eventually } from "../contracts/Contract.ts"
import * as S from "./Service.ts"
import {
  applied,
  asking,
  channel,
  configOf,
  letters,
  people,
  posted,
  question,
  room,
  scan,
  sent,
  told,
  withSlack
} from "./SlackService.ts"
import { clicked, form, fromSlack, said, secret, slackServer, token } from "./SlackServer.ts"

describe("Slack", () => {
  it.live(
    "SA-38 a reply reaches every channel; the thread is the conversation, in both directions",
    () =>
      withSlack(
        (slack) =>
          Effect.gen(function* () {
            yield* S.publish(S.event("verdict.issued", S.verdict()))
            const [first] = yield* posted(slack, 1)
            assert.strictEqual(first?.method, "chat.postMessage")
            assert.deepInclude(first?.body, { channel: "C1", text: "answer 1" })
            assert.isUndefined(first?.body.thread_ts)
            yield* told(1)
            const thread_ts = "1700000000.000001"
            const bound = yield* eventually(
              ChannelBindings.use((all) => all.byThread(S.acme, channel, "C1", thread_ts)),
              (found) => found !== undefined
            )
            assert.strictEqual(bound?.conversation, scan)
            const body = said("What does &lt;b&gt; mean?", { thread_ts })
            const answers = yield* Effect.forEach([body, body, body], (each) => fromSlack(each))
            assert.deepStrictEqual(
              answers.map(({ status }) => status),
              [200, 200, 200]
            )
            const [, second] = yield* posted(slack, 2)
            assert.deepInclude(second?.body, { channel: "C1", text: "answer 2", thread_ts })
            assert.strictEqual((yield* told(2)).json.items[0].text, "answer 2")
            const messages = yield* ConversationStore.use((all) =>
              all.messages(S.acme, scan, -1, 10)
            )
            const heard = messages.filter(({ channel_origin }) => channel_origin === "slack")
            assert.deepStrictEqual(
              heard.map(({ content, role }) => [role, content]),
              [
                ["user", "What does <b> mean?"],
                ["assistant", "answer 2"]
              ]
            )
            const tasks = yield* TaskStore.use((all) => all.ofConversation(S.acme, scan, 0, 10))
            assert.deepStrictEqual(
              tasks.map(({ by }) => by),
              ["platform", "olga"]
            )
          }),
        { model: [text("answer 1"), text("answer 2")] }
      )
  )

  it.live("SA-29 a button in Slack and HTTP take the same decision, and of both one wins", () =>
    withSlack(
      (slack) =>
        Effect.gen(function* () {
          applied.length = 0
          yield* S.publish(S.event("verdict.issued", S.verdict()))
          const [asked] = yield* posted(slack, 1)
          const [pending] = yield* question
          const actions = asked?.body.blocks.at(-1)
          assert.deepStrictEqual(
            actions.elements.map((each: { readonly action_id: string; readonly value: string }) => [
              each.action_id,
              each.value
            ]),
            [
              ["troupe.approve", pending!.id],
              ["troupe.deny", pending!.id]
            ]
          )
          const click = clicked("troupe.approve", pending!.id)
          assert.strictEqual((yield* fromSlack(click, { headers: form })).status, 200)
          yield* eventually(
            Effect.sync(() => applied),
            (all) => all.length > 0
          )
          assert.deepStrictEqual(applied, ["cs-1"])
          const path = `/v1/approvals/${pending!.id}`
          const { json } = yield* S.ask(path, { as: "olga" })
          assert.deepInclude(json, { status: "decided", decided_by: "olga" })
          assert.deepStrictEqual(json.decision, { _tag: "Approve" })
          const late = yield* S.ask(`${path}/decision`, {
            as: "olga",
            json: { decision: "approve" }
          })
          assert.strictEqual(late.status, 409)
          yield* fromSlack(click, { headers: form })
          const [refusal] = yield* sent(slack, "chat.postEphemeral")
          assert.include(refusal?.text, "Nothing was decided")
          assert.deepStrictEqual(applied, ["cs-1"])
        }),
      asking
    )
  )

  it.live(
    "SA-29 who is nobody here, who lacks the role and who is of another team does not decide",
    () =>
      withSlack(
        (slack) =>
          Effect.gen(function* () {
            applied.length = 0
            yield* S.publish(S.event("verdict.issued", S.verdict()))
            const [pending] = yield* question
            const click = (user: string, given: Record<string, unknown> = {}) =>
              fromSlack(clicked("troupe.approve", pending!.id, user, given), { headers: form })
            assert.strictEqual((yield* click("U-NOBODY")).status, 200)
            assert.strictEqual((yield* click("U-VERA")).status, 200)
            assert.strictEqual((yield* click("U-OLGA", { team: { id: "T2" } })).status, 401)
            assert.strictEqual((yield* click("__proto__")).status, 200)
            const open = yield* S.ask(`/v1/approvals/${pending!.id}`, { as: "olga" })
            assert.strictEqual(open.json.status, "pending")
            assert.deepStrictEqual(applied, [])
            const denied = clicked("troupe.deny", pending!.id)
            yield* fromSlack(denied, { headers: form })
            const settled = yield* S.ask(`/v1/approvals/${pending!.id}`, { as: "olga" })
            assert.deepInclude(settled.json.decision, { _tag: "Deny" })
            assert.include(slack.posted.map(({ method }) => method).join(), "chat.postEphemeral")
          }),
        asking
      )
  )

  it.live("a forged, replayed or altered request does nothing", () =>
    withSlack((slack) =>
      Effect.gen(function* () {
        yield* S.publish(S.event("verdict.issued", S.verdict()))
        yield* posted(slack, 1)
        yield* eventually(
          ChannelBindings.use((all) => all.byThread(S.acme, channel, "C1", "1700000000.000001")),
          (found) => found !== undefined
        )
        const body = said("do it", { thread_ts: "1700000000.000001" })
        const now = Math.floor(Date.now() / 1_000)
        const refused = [
          { key: "another secret" },
          { at: now - 301 },
          { at: now + 400 },
          { sent: body.replace("do it", "do no") },
          { headers: { "x-slack-signature": "" } },
          { headers: { "x-slack-signature": `v0=${"0".repeat(64)}` } },
          { headers: { "x-slack-signature": "é".repeat(67) } },
          { headers: { "x-slack-request-timestamp": "NaN" } },
          { headers: { "x-slack-request-timestamp": "1e9" } },
          { headers: { "x-slack-request-timestamp": "9".repeat(400) } }
        ]
        for (const options of refused) {
          const { status } = yield* Effect.catchDefect(fromSlack(body, options), () =>
            // A header that is no header never leaves the client.
            Effect.succeed({ status: 401 })
          )
          assert.strictEqual(status, 401, JSON.stringify(options))
        }
        const tasks = yield* TaskStore.use((all) => all.ofConversation(S.acme, scan, 0, 10))
        assert.lengthOf(tasks, 1)
        const big = yield* fromSlack("x".repeat(1_000_001))
        assert.strictEqual(big.status, 413)
        assert.strictEqual((yield* fromSlack("{")).status, 400)
        assert.strictEqual((yield* fromSlack("[".repeat(200))).status, 400)
        assert.strictEqual((yield* fromSlack("null")).status, 200)
        const none = yield* S.ask("/v1/channels/pigeon", { body: "{}" })
        assert.strictEqual(none.status, 404)
      })
    )
  )

  it.live("url_verification is answered with its challenge, and only where it is signed", () =>
    withSlack(() =>
      Effect.gen(function* () {
        const body = JSON.stringify({
          type: "url_verification",
          token: "x",
          challenge: "3eZbrw1aB"
        })
        assert.deepStrictEqual(yield* fromSlack(body), { status: 200, text: "3eZbrw1aB" })
        assert.strictEqual((yield* fromSlack(body, { key: "no" })).status, 401)
      })
    )
  )

  it.live("messages of bots, edits, strangers and other threads are nobody's", () =>
    withSlack((slack) =>
      Effect.gen(function* () {
        yield* S.publish(S.event("verdict.issued", S.verdict()))
        yield* posted(slack, 1)
        const thread_ts = "1700000000.000001"
        yield* eventually(
          ChannelBindings.use((all) => all.byThread(S.acme, channel, "C1", thread_ts)),
          (found) => found !== undefined
        )
        const ignored = [
          { thread_ts, bot_id: "B1" },
          { thread_ts, subtype: "message_changed" },
          { thread_ts, user: "U-NOBODY" },
          // A viewer may not send.
          { thread_ts, user: "U-VERA" },
          { thread_ts, user: undefined },
          { thread_ts, channel: "C2" },
          { thread_ts: "9.9" },
          {}
        ]
        for (const [index, given] of ignored.entries()) {
          const answer = yield* fromSlack(said("hello", given, `Ev-${index}`))
          assert.strictEqual(answer.status, 200)
        }
        // A person's, which Slack marks.
        for (const subtype of ["thread_broadcast", "file_share", "me_message"]) {
          yield* fromSlack(said(subtype, { thread_ts, subtype }, `Ev-${subtype}`))
        }
        const foreign = said("hello", { thread_ts }).replace('"T1"', '"T2"')
        assert.strictEqual((yield* fromSlack(foreign)).status, 401)
        const tasks = yield* TaskStore.use((all) => all.ofConversation(S.acme, scan, 0, 10))
        assert.deepStrictEqual(
          tasks.slice(1).map(({ message }) => message),
          ["thread_broadcast", "file_share", "me_message"]
        )
        // Of all of these one is somebody here, who is told.
        const told = slack.posted.filter(({ method }) => method === "chat.postEphemeral")
        assert.lengthOf(told, 1)
        assert.deepInclude(told[0]?.body, { channel: "C1", user: "U-VERA", thread_ts })
        assert.match(told[0]?.body.text, /^Your message was not taken: [^.]+\.$/)
      })
    )
  )

  it.live("an error that passes, silence and a broken answer are tried again", () =>
    withSlack((slack) =>
      Effect.gen(function* () {
        slack.next(
          { json: { ok: false, error: "internal_error" } },
          { silent: true },
          { status: 503, json: {} },
          { json: "no object" }
        )
        yield* S.publish(S.event("verdict.issued", S.verdict()))
        const [message] = yield* posted(slack, 1)
        assert.deepInclude(message?.body, { text: "understood" })
      })
    )
  )

  it.live("Retry-After is waited for, up to a quarter of an hour", () =>
    withSlack((slack) =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const json = { ok: false, error: "ratelimited" }
        slack.next({ status: 429, headers: { "retry-after": "999999" }, json })
        const before = Date.now()
        yield* S.publish(S.event("verdict.issued", S.verdict()))
        const due = yield* eventually(
          outbox.nextDueAt({ topics: ["channel.slack"] }),
          (at) => at !== undefined && at >= before + 900_000
        )
        assert.isBelow(due ?? 0, before + 999_999_000)
        assert.lengthOf(slack.posted, 0)
      })
    )
  )

  it.live("an error that no other try changes is a dead letter at once, and names no secret", () =>
    withSlack((slack) =>
      Effect.gen(function* () {
        slack.next({ json: { ok: false, error: "channel_not_found" } })
        yield* S.publish(S.event("verdict.issued", S.verdict()))
        const { json, text: whole } = yield* letters
        assert.deepInclude(json.items[0], { handler_name: "channel.slack", attempts: 1 })
        assert.include(json.items[0].failures[0].error, "channel_not_found")
        for (const secretText of [token, secret, slack.url]) assert.notInclude(whole, secretText)
        yield* told(1)
      })
    )
  )

  it.live("what an agent says cannot mention, link or outgrow a message", () =>
    withSlack(
      (slack) =>
        Effect.gen(function* () {
          yield* S.publish(S.event("verdict.issued", S.verdict()))
          const [message] = yield* posted(slack, 1)
          const texts: ReadonlyArray<string> = message?.body.blocks.map(
            (block: { readonly text: { readonly text: string } }) => block.text.text
          )
          assert.isTrue(texts.every((each) => each.length > 0 && each.length <= 3_000))
          assert.isAtMost(texts.length, 50)
          assert.notInclude(texts.join(""), "<!channel>")
          assert.include(texts.join(""), "&lt;!channel&gt;")
        }),
      { model: () => text(`<!channel> ${"<&>🚀".repeat(2_000)}`) }
    )
  )

  it.live("messages and clicks are bounded a minute, for each user and for all of them", () =>
    Effect.gen(function* () {
      const slack = yield* slackServer
      const bob = { user: "U-BOB", principal: S.principal("bob", ["operator"]) }
      const config = configOf(slack, [...people, bob], { user_per_minute: 2, team_per_minute: 3 })
      const over = S.service(
        { bindings: [room], adapters: [SlackChannel.adapter.pipe(Effect.provide(config))] },
        Stores.ephemeral,
        SlackIngress.layer.pipe(Layer.provide(config))
      )
      yield* Effect.gen(function* () {
        yield* S.publish(S.event("verdict.issued", S.verdict()))
        yield* posted(slack, 1)
        const thread_ts = "1700000000.000001"
        yield* eventually(
          ChannelBindings.use((all) => all.byThread(S.acme, channel, "C1", thread_ts)),
          (found) => found !== undefined
        )
        let event = 0
        const say = (user: string, given: Record<string, unknown> = { thread_ts }) =>
          fromSlack(said("more", { user, ...given }, `Ev-limit-${event++}`))
        const click = (user: string) =>
          fromSlack(clicked("troupe.approve", "018f0000-0000-7000-8000-000000000000", user), {
            headers: form
          })
        // What reaches no agent is not counted.
        for (const user of ["U-NOBODY", "U-NOBODY", "U-OLGA", "U-OLGA"]) yield* say(user, {})
        assert.strictEqual((yield* say("U-OLGA")).status, 200)
        assert.strictEqual((yield* click("U-OLGA")).status, 200)
        const third = yield* say("U-OLGA")
        assert.deepInclude(third, { status: 429 })
        assert.match(third.text, /^at most 2 messages and clicks a minute are taken from one user/)
        // Of two a minute there is another one in half of it.
        const [, seconds = ""] = /try again in (\d+) s$/.exec(third.text) ?? []
        assert.isAbove(Number(seconds), 20)
        assert.strictEqual(third.retry_after, seconds)
        assert.strictEqual((yield* click("U-OLGA")).status, 429)
        assert.strictEqual((yield* say("U-BOB")).status, 200)
        const all = yield* say("U-BOB")
        assert.strictEqual(all.status, 429)
        assert.include(
          all.text,
          "at most 3 messages and clicks a minute are taken from one workspace"
        )
        // Nothing of a refused message is kept.
        const tasks = yield* TaskStore.use((stored) => stored.ofConversation(S.acme, scan, 0, 10))
        assert.deepStrictEqual(
          tasks.map(({ by }) => by),
          ["platform", "olga", "bob"]
        )
      }).pipe(Effect.provide(over))
      for (const [field, limit] of [
        ["user_per_minute", 0],
        ["team_per_minute", 1.5]
      ] as const) {
        const wrong = SlackIngress.layer.pipe(
          Layer.provide(configOf(slack, people, { [field]: limit }))
        )
        const start = Effect.provide(Effect.void, S.service({}, Stores.ephemeral, wrong))
        assert.deepInclude(yield* Effect.flip(start), { _tag: "SlackMisconfigured", field })
      }
    }).pipe(Effect.scoped)
  )

  it.live(
    "a signing secret that is empty stops the start, because anybody could sign with it",
    () =>
      Effect.gen(function* () {
        const slack = yield* slackServer
        for (const empty of ["", " \n"]) {
          const config = Layer.effect(
            SlackChannel.SlackConfig,
            Effect.map(SlackChannel.SlackConfig, (given) => ({
              ...given,
              signing_secret: Redacted.make(empty)
            }))
          ).pipe(Layer.provide(configOf(slack)))
          const start = Effect.provide(
            Effect.void,
            S.service({}, Stores.ephemeral, SlackIngress.layer.pipe(Layer.provide(config)))
          )
          const error = yield* Effect.flip(start)
          assert.deepInclude(error, { _tag: "SlackMisconfigured", field: "signing_secret" })
        }
      }).pipe(Effect.scoped)
  )

  it.live("a principal of another tenant in the list of people stops the start", () =>
    Effect.gen(function* () {
      const slack = yield* slackServer
      const stranger = { user: "U-X", principal: S.principal("x", ["admin"], Tenant.make("other")) }
      const config = configOf(slack, [...people, stranger])
      const start = Effect.provide(
        Effect.void,
        S.service({}, Stores.ephemeral, SlackIngress.layer.pipe(Layer.provide(config)))
      )
      const error = yield* Effect.flip(start)
      assert.deepInclude(error, { _tag: "SlackMisconfigured", field: "people.2.principal" })
    }).pipe(Effect.scoped)
  )
})
