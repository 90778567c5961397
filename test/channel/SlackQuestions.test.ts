/** Questions in Slack that end: by a click, a form, or elsewhere. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { ChannelAdapter } from "../../layers/channel/NotificationService.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { ChannelBindings, settled_topic } from "../../services/ChannelBindings.ts"
import { Outbox } from "../../services/Outbox.ts"
import { ChannelName } from "../../src/conversation/ChannelBinding.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { eventually } from "../contracts/Contract.ts"
import * as S from "./Service.ts"
import type { SlackServer } from "./SlackServer.ts"
import { clicked, form, fromSlack, submitted } from "./SlackServer.ts"
import { applied, asking, channel, question, room, scan, sent, withSlack } from "./SlackService.ts"

interface Block {
  readonly type: string
  readonly text?: { readonly text: string }
}

const textIn = ({ blocks }: { readonly blocks: ReadonlyArray<Block> }): string =>
  blocks.map((block) => block.text?.text ?? "").join("")

const types = ({ blocks }: { readonly blocks: ReadonlyArray<Block> }) => blocks.map((b) => b.type)

/** The question, its message, and its record. */
const asked = Effect.fnUntraced(function* (slack: SlackServer) {
  applied.length = 0
  yield* S.publish(S.event("verdict.issued", S.verdict()))
  const [message] = yield* sent(slack, "chat.postMessage")
  const [record] = yield* question
  assert.deepStrictEqual(types(message), ["section", "actions"])
  return { id: record!.id, run: record!.run_id }
})

/** The last change of the message, once it has this text. */
const changed = (slack: SlackServer, expected: string) =>
  Effect.gen(function* () {
    const updates = yield* eventually(sent(slack, "chat.update"), (all) =>
      all.some((each) => textIn(each).includes(expected))
    )
    const last = updates.at(-1)
    assert.deepInclude(last, { channel: "C1", ts: "1700000000.000001" })
    assert.deepStrictEqual(types(last), ["section"])
    return textIn(last)
  })

const decide = (id: string, json: unknown) =>
  S.ask(`/v1/approvals/${id}/decision`, { as: "olga", json })

const shown = "spectral asks to run apply. Applies a change set."

const hasty = tool(
  {
    namespace: "test",
    name: "apply",
    description: "Applies a change set.",
    side_effects: "external",
    approval_expires_ms: 3_000,
    input: Schema.Struct({ id: Schema.String })
  },
  async () => "applied"
)

describe("a question in Slack", () => {
  it.live("a decision over HTTP leaves no button, and who took it, why and about what", () =>
    withSlack(
      (slack) =>
        Effect.gen(function* () {
          const { id } = yield* asked(slack)
          yield* decide(id, { decision: "deny", reason: "Not <today>." })
          const whole = yield* changed(slack, "Denied by olga")
          assert.include(whole, "Denied by olga: Not &lt;today&gt;.\n")
          assert.include(whole, shown)
          assert.include(whole, 'id: "cs-1"')
          // The copy in the application has changed too: it is the same notice.
          const { json } = yield* eventually(S.ask("/v1/notices", { as: "olga" }), (answer) =>
            answer.json.items.some((each: { readonly kind: string }) => each.kind === "settled")
          )
          const mine = json.items.filter((each: { approval?: string }) => each.approval === id)
          assert.lengthOf(mine, 1)
          assert.include(mine[0].text, "Denied by olga: Not <today>.")
        }),
      asking
    )
  )

  it.live(
    "a run that is cancelled, and a conversation that is bound no more, leave no button",
    () =>
      withSlack(
        (slack) =>
          Effect.gen(function* () {
            const { run } = yield* asked(slack)
            yield* ChannelBindings.use((all) => all.unbind(S.acme, scan, channel, room.address))
            const json = { reason: "The customer left." }
            yield* S.ask(`/v1/runs/${run}/cancel`, { as: "olga", json })
            const whole = yield* changed(slack, "Closed")
            assert.include(whole, "Closed, because its run was stopped by olga: The customer left.")
            assert.include(whole, shown)
          }),
        asking
      )
  )

  it.live("a question whose time is over leaves no button", () =>
    withSlack(
      (slack) =>
        Effect.gen(function* () {
          yield* asked(slack)
          assert.include(yield* changed(slack, "Expired"), "Expired: nobody decided in time.")
        }),
      { ...asking, tools: [hasty] }
    )
  )

  it.live("other arguments are shown as the first ones were: without secrets", () =>
    withSlack(
      (slack) =>
        Effect.gen(function* () {
          const { id } = yield* asked(slack)
          yield* decide(id, {
            decision: "modify",
            arguments: { id: "cs-2 password=hunter2hunter2" }
          })
          const whole = yield* changed(slack, "Approved by olga with other arguments")
          assert.include(whole, "cs-2")
          assert.notInclude(whole, "hunter2")
        }),
      asking
    )
  )

  it.live("a message that Slack lost the name of is changed by a click on it", () =>
    withSlack(
      (slack) =>
        Effect.gen(function* () {
          const { id } = yield* asked(slack)
          yield* decide(id, { decision: "approve" })
          yield* changed(slack, "Approved by olga.")
          const message = { ts: "9.9", thread_ts: "9.1" }
          yield* fromSlack(clicked("troupe.approve", id, "U-OLGA", { message }), { headers: form })
          const updates = yield* sent(slack, "chat.update", 2)
          assert.deepInclude(updates.at(-1), { channel: "C1", ts: "9.9" })
          assert.include(textIn(updates.at(-1)), shown)
          // Who clicked is told in the thread of the question.
          const [told] = yield* sent(slack, "chat.postEphemeral")
          assert.deepInclude(told, { channel: "C1", user: "U-OLGA", thread_ts: "9.1" })
          assert.deepStrictEqual(applied, ["cs-1"])
        }),
      asking
    )
  )

  it.live("a message that somebody deleted is no failure", () =>
    withSlack(
      (slack) =>
        Effect.gen(function* () {
          const { id } = yield* asked(slack)
          slack.next({ json: { ok: false, error: "message_not_found" } })
          yield* decide(id, { decision: "deny", reason: "no" })
          // The answer of the run comes behind it.
          yield* sent(slack, "chat.postMessage", 2)
          assert.deepStrictEqual((yield* S.ask("/v1/dead-letters", { as: "olga" })).json.items, [])
        }),
      asking
    )
  )
})

describe("a reason in Slack", () => {
  it.live("Deny asks for it, and what is written is the reason of the decision", () =>
    withSlack(
      (slack) =>
        Effect.gen(function* () {
          const { id } = yield* asked(slack)
          const click = clicked("troupe.deny", id, "U-OLGA", { trigger_id: "13.37" })
          assert.strictEqual((yield* fromSlack(click, { headers: form })).status, 200)
          const [{ trigger_id, view }] = yield* sent(slack, "views.open")
          assert.strictEqual(trigger_id, "13.37")
          assert.include(textIn(view), shown)
          assert.strictEqual(
            (yield* S.ask(`/v1/approvals/${id}`, { as: "olga" })).json.status,
            "pending"
          )
          const send = (reason: string | null, user = "U-OLGA", given = {}) =>
            fromSlack(submitted(view, reason, user, given), { headers: form })
          // Who may not decide is told in the form, and decides nothing.
          for (const user of ["U-NOBODY", "U-VERA"]) {
            const { status, text: body } = yield* send("no", user)
            assert.strictEqual(status, 200)
            assert.strictEqual(JSON.parse(body).response_action, "errors", user)
          }
          assert.strictEqual((yield* send("no", "U-OLGA", { team: { id: "T2" } })).status, 401)
          const forged = { ...view, private_metadata: '{"approval":"x"}' }
          const { text: refusal } = yield* fromSlack(submitted(forged, "no"), { headers: form })
          assert.strictEqual(JSON.parse(refusal).response_action, "errors")
          assert.deepStrictEqual(yield* send("Too dear."), { status: 200, text: "" })
          const { json } = yield* S.ask(`/v1/approvals/${id}`, { as: "olga" })
          assert.deepStrictEqual(json.decision, { _tag: "Deny", reason: "Too dear." })
          yield* changed(slack, "Denied by olga: Too dear.")
          const late = JSON.parse((yield* send("Again.")).text)
          assert.include(late.errors.reason, "Nothing was decided")
          assert.deepStrictEqual(applied, [])
        }),
      asking
    )
  )

  it.live("an empty form denies too; a question that is settled, or no form, decides nothing", () =>
    withSlack(
      (slack) =>
        Effect.gen(function* () {
          const { id } = yield* asked(slack)
          const click = clicked("troupe.deny", id, "U-OLGA", { trigger_id: "13.37" })
          slack.next({ json: { ok: false, error: "expired_trigger_id" } })
          yield* fromSlack(click, { headers: form })
          const [told] = yield* sent(slack, "chat.postEphemeral")
          assert.include(told.text, "Slack did not open the form")
          yield* fromSlack(click, { headers: form })
          const [{ view }] = yield* sent(slack, "views.open")
          yield* fromSlack(submitted(view, null), { headers: form })
          yield* changed(slack, "Denied by olga: Denied in Slack by U-OLGA.")
          yield* fromSlack(click, { headers: form })
          const ephemerals = yield* sent(slack, "chat.postEphemeral", 2)
          assert.include(ephemerals.at(-1).text, "Nothing was decided")
          assert.lengthOf(yield* sent(slack, "views.open"), 1)
        }),
      asking
    )
  )
})

const pigeon = ChannelName.make("pigeon")

describe("a channel of one's own", () => {
  it.live("is told of an end that came before it gave the name of the question's message", () => {
    const delivered: Array<string> = []
    let desk: ApprovalDesk["Service"] | undefined
    let outbox: Outbox["Service"] | undefined
    const deliver: ChannelAdapter["deliver"] = ({ contents: [content], post }) =>
      Effect.gen(function* () {
        delivered.push(`${content?.kind} ${post}`)
        if (content?.kind !== "question" || content.approval === undefined) return
        const denial = { decision: "deny", reason: "no" } as const
        yield* Effect.orDie(
          desk!.decide(content.approval, denial, S.principal("olga", ["operator"]))
        )
        // Its end is announced, and the announcement is dealt with.
        yield* Effect.orDie(
          eventually(outbox!.nextDueAt({ topics: [settled_topic] }), (due) => due === undefined)
        )
        return "p-1"
      })
    const adapter = Effect.succeed({ name: pigeon, deliver })
    const bindings = [{ channel: pigeon, address: "roof", recipient: "olga" }]
    return Effect.gen(function* () {
      desk = yield* ApprovalDesk
      outbox = yield* Outbox
      yield* S.publish(S.event("verdict.issued", S.verdict()))
      yield* eventually(
        Effect.sync(() => delivered),
        (all) => all.length >= 3
      )
      assert.sameMembers(delivered, ["question undefined", "settled p-1", "answer undefined"])
    }).pipe(Effect.provide(S.service({ ...asking, bindings, adapters: [adapter] })), Effect.scoped)
  })
})
