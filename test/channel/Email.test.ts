/** E-mail over a real SMTP server, and channels beside each other: preferences, digests, and one that fails. */
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Layer, Schema } from "effect"
import { SMTPServer } from "smtp-server"
import * as EmailChannel from "../../layers/channel/EmailChannel.ts"
import * as LocalEventIntake from "../../layers/channel/LocalEventIntake.ts"
import * as Channels from "../../layers/compose/assembly/Channels.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { sendDigests } from "../../layers/channel/NotificationService.ts"
import * as PooledRandom from "../../layers/compose/assembly/PooledRandom.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ChannelBindings } from "../../services/ChannelBindings.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { DeliveryFailed } from "../../services/DeliveryHandlers.ts"
import { Outbox } from "../../services/Outbox.ts"
import { ChannelName } from "../../src/conversation/ChannelBinding.ts"
import { AgentName, ConversationId, MessageId } from "../../src/value/Ids.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { eventually } from "../contracts/Contract.ts"
import * as S from "./Service.ts"

const email = ChannelName.make("email")
const slack = ChannelName.make("slack")
const mailbox = { channel: email, address: "olga@example.com", recipient: "olga" } as const
const room = { channel: slack, address: "C1", recipient: "olga" } as const

const apply = tool(
  {
    namespace: "test",
    name: "apply",
    description: "Applies a change set.",
    side_effects: "external",
    input: Schema.Struct({ id: Schema.String })
  },
  async () => "applied"
)

interface Mail {
  readonly from: string
  readonly to: ReadonlyArray<string>
  readonly text: string
}

interface MailServer {
  readonly port: number
  readonly mails: ReadonlyArray<Mail>
  /** The refusals to come: SMTP's status of each next message. */
  readonly refuse: (...statuses: ReadonlyArray<number>) => void
}

/** Takes every message, and keeps what it was. */
const mailServer = Effect.gen(function* () {
  const mails: Array<Mail> = []
  const refusals: Array<number> = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS", "AUTH"],
    logger: false,
    onData: (stream, session, done) => {
      let whole = ""
      stream.setEncoding("utf8").on("data", (piece: string) => (whole += piece))
      stream.on("end", () => {
        const status = refusals.shift()
        if (status !== undefined) {
          done(Object.assign(new Error("not now"), { responseCode: status }))
          return
        }
        const { mailFrom, rcptTo } = session.envelope
        mails.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          text: whole
        })
        done()
      })
    }
  })
  const port = yield* Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<number>((done) => {
          const listening = server.listen(0, "127.0.0.1", () =>
            done((listening.address() as AddressInfo).port)
          )
        })
    ),
    () => Effect.promise(() => new Promise<void>((done) => server.close(() => done())))
  )
  const made: MailServer = { port, mails, refuse: (...more) => void refusals.push(...more) }
  return made
})

const adapterOf = ({ port }: Pick<MailServer, "port">) =>
  EmailChannel.adapter.pipe(
    Effect.provideService(EmailChannel.EmailConfig, {
      host: "127.0.0.1",
      port,
      plain: true,
      from: "Troupe <troupe@example.com>",
      timeout_ms: 1_000
    })
  )

const mailed = ({ mails }: MailServer, count: number) =>
  eventually(
    Effect.sync(() => mails),
    (all) => all.length >= count
  )

const told = (count: number) =>
  eventually(S.ask("/v1/notices", { as: "olga" }), ({ json }) => json.items.length >= count)

const letters = eventually(
  S.ask("/v1/dead-letters", { as: "olga" }),
  ({ json }) => json.items.length > 0
)

const content = {
  kind: "answer",
  conversation: ConversationId.make("c-1"),
  agent: AgentName.make("spectral"),
  text: "hello"
} as const

const message = {
  id: MessageId.make("00000000-0000-4000-8000-000000000001"),
  tenant: S.acme,
  key: "k",
  key_seq: 1,
  topic: "channel.email",
  payload: null,
  attempts: 1,
  created_at: 0,
  replayed: false
}

const withMail = <A, E>(
  use: (mail: MailServer) => Effect.Effect<A, E, Layer.Success<ReturnType<typeof S.service>>>,
  given: S.Given = {}
) =>
  Effect.scoped(
    Effect.flatMap(mailServer, (mail) =>
      Effect.provide(
        use(mail),
        S.service({ bindings: [mailbox], adapters: [adapterOf(mail)], ...given })
      )
    )
  )

const verdict = (id: string) =>
  S.publish(S.event("verdict.issued", S.verdict({ verdict_id: id }), { id }))

const headerOf = (mail: Mail | undefined, name: string): string | undefined =>
  new RegExp(`^${name}: (.*)$`, "im").exec(mail?.text ?? "")?.[1]?.trim()

describe("e-mail", () => {
  it.live("what an agent says is mailed, once, in the thread of its conversation", () =>
    withMail((mail) =>
      Effect.gen(function* () {
        yield* verdict("e-1")
        yield* mailed(mail, 1)
        yield* verdict("e-2")
        const [first, second] = yield* mailed(mail, 2)
        assert.deepInclude(first, { from: "troupe@example.com", to: ["olga@example.com"] })
        assert.strictEqual(headerOf(first, "subject"), "From spectral: understood")
        assert.strictEqual(headerOf(first, "auto-submitted"), "auto-generated")
        assert.match(headerOf(first, "message-id") ?? "", /^<[0-9a-f-]{36}@example\.com>$/)
        assert.strictEqual(headerOf(first, "references"), headerOf(second, "references"))
        assert.notStrictEqual(headerOf(first, "message-id"), headerOf(second, "message-id"))
      })
    )
  )

  it.live("a server that refuses for now is asked again; one that refuses for good is not", () =>
    withMail((mail) =>
      Effect.gen(function* () {
        mail.refuse(451, 421)
        yield* verdict("e-1")
        yield* mailed(mail, 1)
        mail.refuse(550)
        yield* verdict("e-2")
        const { json } = yield* letters
        assert.deepInclude(json.items[0], { handler_name: "channel.email", attempts: 1 })
        assert.include(json.items[0].failures[0].error, "550")
        assert.lengthOf(mail.mails, 1)
        yield* told(2)
      })
    )
  )

  it.live("no text of an agent adds a header, a receiver or a second message", () =>
    withMail(
      (mail) =>
        Effect.gen(function* () {
          yield* verdict("e-1")
          const [first, ...more] = yield* mailed(mail, 1)
          assert.deepStrictEqual(more, [])
          assert.deepStrictEqual(first?.to, ["olga@example.com"])
          const [head = ""] = first?.text.split("\r\n\r\n", 1) ?? []
          assert.notMatch(head, /^(?:bcc|x-evil):/im)
          // The line that would end the message is one of its text.
          assert.include(first?.text, "\r\n.\r\nMAIL FROM:<evil@example.com>")
        }),
      {
        model: [
          text(
            "Hello\r\nBcc: evil@example.com\r\nX-Evil: 1\r\n.\r\nMAIL FROM:<evil@example.com>\r\n"
          )
        ]
      }
    )
  )

  it.live("an address that is no single mailbox is refused before anything is sent", () =>
    Effect.gen(function* () {
      const mail = yield* mailServer
      const adapter = yield* adapterOf(mail)
      for (const address of [
        "olga",
        "a@x.com,b@x.com",
        "a@x.com b@x.com",
        "<a@x.com>",
        "Olga <a@x.com>",
        "a@x.com\nBcc: b@x.com",
        "@x.com",
        "a@",
        "a@x_.com"
      ]) {
        const outgoing = { address, recipient: "olga", contents: [content] }
        const error = yield* Effect.flip(adapter.deliver(outgoing, message))
        assert.strictEqual(error._tag, "DeliveryRefused", address)
      }
      assert.lengthOf(mail.mails, 0)
    }).pipe(Effect.scoped)
  )

  it.live(
    "a customer is told that a person is asked, and neither what nor with which arguments",
    () =>
      withMail(
        (mail) =>
          Effect.gen(function* () {
            const agents = yield* AgentRuntime
            const bindings = yield* ChannelBindings
            const send = (by: string, role: Role, to?: ConversationId) =>
              agents.send(
                { agent: S.spectral().name, conversation: to, text: "Help" },
                S.principal(by, [role])
              )
            const { conversation } = (yield* send("carl", "customer")).task
            yield* eventually(
              ConversationStore.use((all) => all.messages(S.acme, conversation, -1, 10)),
              (all) => all.length === 2
            )
            const carls = {
              channel: email,
              address: "carl@example.com",
              recipient: "carl"
            } as const
            for (const target of [mailbox, carls]) {
              yield* bindings.bind(S.acme, conversation, target)
            }
            // Also where somebody of the staff has written in between.
            yield* send("olga", "operator", conversation)
            const mails = yield* mailed(mail, 2)
            const to = (address: string) => mails.find((each) => each.to.includes(address))?.text
            assert.include(to("olga@example.com"), "private-1")
            assert.include(to("olga@example.com"), "Decide it in the application")
            assert.include(to("carl@example.com"), "A person is asked to decide.")
            for (const part of ["private-1", "apply", "Decide it"]) {
              assert.notInclude(to("carl@example.com"), part)
            }
          }),
        {
          bindings: [],
          tools: [apply],
          model: [text("Hello."), call("apply", { id: "private-1" }), text("It is applied.")]
        }
      )
  )

  it.live(
    "a server that is away fails, and the text of the failure names neither host nor port",
    () =>
      Effect.gen(function* () {
        const { port } = yield* Effect.scoped(mailServer)
        const adapter = yield* adapterOf({ port })
        const outgoing = { address: "olga@example.com", recipient: "olga", contents: [content] }
        const error = yield* Effect.flip(adapter.deliver(outgoing, message))
        assert.strictEqual(error._tag, "DeliveryFailed")
        assert.notInclude(error.message, "127.0.0.1")
        assert.notInclude(error.message, String(port))
      })
  )
})

const prefer = (channels: Record<string, string>) =>
  S.ask("/v1/notices/preferences", { as: "olga", method: "PUT", json: { channels } })

describe("several channels", () => {
  it.live(
    "SA-39 Slack fails, and the e-mail is sent; the copy was written first, the failure is kept",
    () =>
      Effect.gen(function* () {
        let tries = 0
        const failing = Effect.succeed({
          name: slack,
          deliver: () =>
            Effect.suspend(() => {
              tries++
              return new DeliveryFailed({ message: "Slack is away" })
            })
        })
        const mail = yield* mailServer
        yield* Effect.gen(function* () {
          yield* verdict("e-1")
          yield* mailed(mail, 1)
          yield* told(1)
          const { json } = yield* letters
          assert.deepInclude(json.items[0], { handler_name: "channel.slack", attempts: 5 })
          assert.strictEqual(json.items[0].failures.at(-1).error, "Slack is away")
          assert.strictEqual(tries, 5)
          assert.lengthOf(mail.mails, 1)
        }).pipe(
          Effect.provide(
            S.service({ bindings: [room, mailbox], adapters: [failing, adapterOf(mail)] })
          )
        )
      }).pipe(Effect.scoped)
  )

  it.live(
    "SA-39 a channel that hangs delays no other, and the next message of the other neither",
    () =>
      Effect.gen(function* () {
        const began = yield* Deferred.make<void>()
        const hanging = Effect.succeed({
          name: slack,
          deliver: () => Effect.andThen(Deferred.succeed(began, undefined), Effect.never)
        })
        const mail = yield* mailServer
        yield* Effect.gen(function* () {
          yield* verdict("e-1")
          yield* Deferred.await(began)
          yield* mailed(mail, 1)
          yield* verdict("e-2")
          yield* mailed(mail, 2)
          yield* told(2)
        }).pipe(
          Effect.provide(
            S.service({
              bindings: [room, mailbox],
              adapters: [hanging, adapterOf(mail)],
              relay: { stop_ms: 1 }
            })
          )
        )
      }).pipe(Effect.scoped)
  )

  it.live("a channel that is away is tried again later each time, by what its failures say", () =>
    Effect.gen(function* () {
      const failing = Effect.succeed({
        name: slack,
        deliver: () => Effect.fail(new DeliveryFailed({ message: "Slack is away" }))
      })
      const [handlers] = Channels.make({ adapters: [failing] }).deliveries
      const byTopic = new Map((yield* handlers!).map(([topic, handler]) => [topic, handler]))
      const handler = byTopic.get("channel.slack")!
      const waits = yield* Effect.forEach([1, 2, 3, 4, 5], (attempts) =>
        Effect.flip(
          handler({
            ...message,
            attempts,
            payload: { address: "C1", recipient: "olga", contents: [content] }
          })
        )
      )
      assert.deepStrictEqual(
        waits.map((error) => "retry_after_ms" in error && error.retry_after_ms),
        [15_000, 60_000, 240_000, 900_000, 900_000]
      )
    }).pipe(Effect.provide(Layer.merge(Stores.ephemeral, LocalEventIntake.none)))
  )

  it.live("a channel that is off is not told; the copy is written", () =>
    withMail((mail) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* prefer({ email: "off" })).status, 204)
        const { json } = yield* S.ask("/v1/notices/preferences", { as: "olga" })
        assert.deepStrictEqual(json, { channels: { email: "off" } })
        yield* verdict("e-1")
        yield* told(1)
        yield* prefer({})
        yield* verdict("e-2")
        yield* mailed(mail, 1)
        yield* told(2)
        // Nothing is on its way any more.
        yield* eventually(
          Outbox.use(({ depth }) => depth),
          (depth) => depth === 0
        )
        assert.lengthOf(mail.mails, 1)
        assert.strictEqual((yield* prefer({ email: "sometimes" })).status, 400)
        assert.strictEqual((yield* prefer({ "E-Mail!": "off" })).status, 400)
      })
    )
  )

  it.live(
    "a digest tells in one e-mail what waited, without a question that was answered since",
    () =>
      Effect.gen(function* () {
        const mail = yield* mailServer
        yield* Effect.gen(function* () {
          yield* prefer({ email: "digest" })
          yield* verdict("e-1")
          yield* told(1)
          yield* verdict("e-2")
          const { json } = yield* told(2)
          const { approval } = json.items.find((each: { kind: string }) => each.kind === "question")
          yield* S.ask(`/v1/approvals/${approval}/decision`, {
            as: "olga",
            json: { decision: "approve" }
          })
          yield* told(3)
          assert.lengthOf(mail.mails, 0)
          const now = yield* Clock.currentTimeMillis
          yield* Effect.provide(sendDigests(now + 1), PooledRandom.layer)
          const [digest, ...more] = yield* mailed(mail, 1)
          assert.deepStrictEqual(more, [])
          assert.strictEqual(headerOf(digest, "subject"), "2 messages")
          assert.lengthOf(digest?.text.match(/understood/g) ?? [], 2)
          assert.notInclude(digest?.text, "private-1")
          yield* Effect.provide(sendDigests(now + 1), PooledRandom.layer)
        }).pipe(
          Effect.provide(
            S.service(
              {
                bindings: [mailbox],
                adapters: [adapterOf(mail)],
                tools: [apply],
                model: [text("understood"), call("apply", { id: "private-1" }), text("understood")]
              },
              S.durable
            )
          )
        )
      }).pipe(Effect.scoped)
  )

  it.live("a channel that this process does not have is not told, and nothing waits for it", () =>
    Effect.gen(function* () {
      yield* verdict("e-1")
      yield* told(1)
      const outbox = yield* Outbox
      yield* eventually(outbox.depth, (depth) => depth === 0)
    }).pipe(Effect.provide(S.service({ bindings: [S.olga, room] })))
  )
})
