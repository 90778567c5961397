import * as fs from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Layer, Scope } from "effect"
import { HttpServer } from "effect/http"
import * as OperationsTools from "../../layers/spectral/agents/OperationsTools.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { defaults, RuntimeConfig } from "../../layers/runtime/actor/RuntimeConfig.ts"
import { View } from "../../scripts/chat/View.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { Outbox } from "../../services/Outbox.ts"
import { OutboxReader } from "../../services/OutboxReader.ts"
import { operations as forOperators } from "../../src/spectral/agents/Operations.ts"
import { MessageId, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { bundled } from "../process/Bundle.ts"

/** Without its kind, which is never for customers: here one talks with it. */
const { kind: _, ...operations } = forOperators

const tenant = Tenant.make("acme")
const letter = MessageId.make("22222222-2222-4222-8222-222222222222")
const token = "the-token"
const credentials = [
  {
    sha256: createHash("sha256").update(token).digest("hex"),
    principal: new Principal({ id: "olga", tenant, roles: ["operator", "approver"] })
  },
  {
    sha256: createHash("sha256").update("carls-token").digest("hex"),
    principal: new Principal({ id: "carl", tenant, roles: ["customer"] })
  }
]

/** A model that lists the dead letters, proposes a replay, and reports its outcome. */
const turn = ({ transcript }: ModelRequest) => {
  const last = transcript.at(-1)!
  if (last.role === "user") {
    return ScriptedModelGateway.call("list_dlq_events", {}, { text: "Let me look." })
  }
  if (last.role !== "tool") return undefined
  if (last.name === "list_dlq_events") {
    return ScriptedModelGateway.call(
      "replay_dlq_event",
      { event_id: letter, reason: "the receiver is back" },
      { text: "One event is stuck." }
    )
  }
  return ScriptedModelGateway.text(
    last.outcome._tag === "Value" ? "It was sent again." : "Then it stays where it is."
  )
}

const deadLetter = Effect.gen(function* () {
  const outbox = yield* Outbox
  yield* outbox.enqueue([
    { id: letter, tenant, key: "order-7", topic: "webhook.deliver", payload: { order: 7 } }
  ])
  yield* outbox.claim({ owner: "t", topics: ["webhook.deliver"], limit: 1, lease_ms: 10_000 })
  yield* outbox.failed(letter, "t", "refused by the receiver", undefined)
})

interface House {
  readonly directory: string
  /** Replaces the service by another one at another port, over the same stores. */
  readonly restart: Effect.Effect<void>
  readonly stop: Effect.Effect<void>
  readonly stores: Context.Context<Stores.Stores>
}

/** The real runtime, Operations Agent and socket; only the model is scripted. */
const house = Effect.fnUntraced(function* (script: ScriptedModelGateway.Script = turn) {
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "troupe-chat-"))),
    (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
  )
  fs.mkdirSync(path.join(directory, ".troupe"))
  fs.writeFileSync(path.join(directory, ".troupe/token"), `${token}\n`)
  const stores = yield* Layer.build(Stores.ephemeral)
  yield* Effect.provideContext(deadLetter, stores)
  const layer = Server.layer({
    listen: { port: 0 },
    credentials,
    settings: { customer_agents: [operations.name] }
  }).pipe(
    Layer.provide(Runtime.layer({ agents: [operations], tools: [OperationsTools.tools] })),
    Layer.provide(ScriptedModelGateway.layer(script)),
    Layer.provide(Layer.succeedContext(stores)),
    Layer.provide(Layer.succeed(RuntimeConfig, { ...defaults, drain_ms: 50 }))
  )
  const begin = Effect.gen(function* () {
    const scope = yield* Scope.make()
    const context = yield* Layer.buildWithScope(Layer.fresh(layer), scope)
    const { address } = Context.get(context, HttpServer.HttpServer)
    fs.writeFileSync(path.join(directory, ".troupe/url"), `${HttpServer.formatAddress(address)}\n`)
    return scope
  }).pipe(Effect.orDie)
  let scope = yield* begin
  yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
  const stop = Effect.suspend(() => Scope.close(scope, Exit.void))
  const restart = Effect.gen(function* () {
    yield* stop
    scope = yield* begin
  })
  const made: House = { directory, restart, stop, stores }
  return made
})

interface Chat {
  readonly says: (text: string) => void
  /** Waits until the output holds this. */
  readonly shows: (part: string) => Effect.Effect<void>
  readonly ends: Effect.Effect<{ readonly code: number | null; readonly out: string }>
}

const chat = (directory: string, ...args: ReadonlyArray<string>): Effect.Effect<Chat> =>
  chatWith({}, directory, ...args)

const chatWith = (
  extra: NodeJS.ProcessEnv,
  directory: string,
  ...args: ReadonlyArray<string>
): Effect.Effect<Chat> =>
  Effect.map(bundled("scripts/chat.ts"), ({ compiled, file }) => {
    const { TROUPE_DATA: _, TROUPE_TOKEN: __, TROUPE_URL: ___, ...kept } = process.env
    const env = { ...kept, NODE_COMPILE_CACHE: compiled, ...extra }
    const child = spawn(process.execPath, [file, ...args], { cwd: directory, env })
    let out = ""
    const listeners = new Set<() => void>()
    const more = (chunk: Buffer) => {
      out += chunk.toString()
      for (const listener of listeners) listener()
    }
    child.stdout.on("data", more)
    child.stderr.on("data", more)
    const closed = new Promise<number | null>((resolve) => child.on("close", resolve))
    return {
      says: (text) => child.stdin.write(text),
      shows: (part) =>
        Effect.callback<void>((resume) => {
          const look = () => {
            if (!out.includes(part)) return
            listeners.delete(look)
            resume(Effect.void)
          }
          listeners.add(look)
          look()
        }),
      ends: Effect.promise(async () => {
        child.stdin.end()
        return { code: await closed, out }
      })
    }
  })

const runs = (directory: string, ...args: ReadonlyArray<string>) =>
  Effect.flatMap(chat(directory, ...args), ({ ends }) => ends)

const statusOf = (stores: Context.Context<Stores.Stores>) =>
  Context.get(stores, OutboxReader).deadLetter(tenant, letter)

/** The run's journal, over HTTP. */
const eventsOf = (directory: string, run: string) =>
  Effect.promise(async () => {
    const url = fs.readFileSync(path.join(directory, ".troupe/url"), "utf8").trim()
    const response = await fetch(`${url}/v1/runs/${run}/events`, {
      headers: { authorization: `Bearer ${token}` }
    })
    return (await response.json()) as { readonly items: ReadonlyArray<unknown> }
  })

const runIn = (out: string): string => /\brun ([0-9a-f-]{36})/.exec(out)![1]!

const approvalIn = (out: string): string => /approval: +([0-9a-f-]{36})/.exec(out)![1]!

describe("the chat client", () => {
  it.live(
    "sends one message, prints each call and its result, and prints how to answer the question",
    () =>
      Effect.gen(function* () {
        const { directory, stores } = yield* house()
        const asked = yield* runs(directory, "--message", "What is stuck?")
        assert.strictEqual(asked.code, 0, asked.out)
        assert.include(asked.out, "Let me look.\n")
        assert.include(asked.out, "→ list_dlq_events {}\n")
        assert.match(asked.out, /← list_dlq_events: \{"events":\[\{.*\n/)
        assert.include(asked.out, "operations asks for approval of replay_dlq_event")
        const id = approvalIn(asked.out)
        const run = runIn(asked.out)
        assert.isNotEmpty((yield* eventsOf(directory, run)).items)
        assert.include(asked.out, `npm run chat -- --approve ${id}`)
        assert.strictEqual((yield* statusOf(stores)).status, "dead")

        const pending = yield* runs(directory, "--pending")
        assert.strictEqual(pending.code, 0)
        assert.deepStrictEqual(pending.out.trim().split("\t").slice(0, 3), [
          id,
          "replay_dlq_event",
          "operations"
        ])
        assert.strictEqual(pending.out.trim().split("\t").at(-1), run)

        const approved = yield* runs(directory, "--approve", id)
        assert.strictEqual(approved.code, 0, approved.out)
        assert.include(approved.out, "approved by olga: replay_dlq_event")
        assert.include(approved.out, letter)
        assert.include(approved.out, "← replay_dlq_event: ")
        assert.notInclude(approved.out, "→", "what was shown before is not shown again")
        assert.include(approved.out, "It was sent again.")
        assert.include(approved.out, `\nrun ${run}\n`)
        const { resolved_by, resolved_reason, status } = yield* statusOf(stores)
        assert.deepStrictEqual(
          [status, resolved_by, resolved_reason],
          ["replayed", "olga", "the receiver is back"]
        )

        const again = yield* runs(directory, "--approve", id)
        assert.strictEqual(again.code, 1)
        assert.include(again.out, "settled")
        assert.strictEqual((yield* runs(directory, "--pending")).out, "")
      })
  )

  it.live("denies a question with a reason, and the event is not sent again", () =>
    Effect.gen(function* () {
      const { directory, stores } = yield* house()
      const id = approvalIn((yield* runs(directory, "--message", "What is stuck?")).out)
      const denied = yield* runs(directory, "--deny", id, "--reason", "not on a Friday")
      assert.strictEqual(denied.code, 0, denied.out)
      assert.include(denied.out, "denied by olga: not on a Friday")
      assert.include(denied.out, "Then it stays where it is.")
      assert.strictEqual((yield* statusOf(stores)).status, "dead")
    })
  )

  it.live("says what a message waits behind, and goes on when that is decided", () =>
    Effect.gen(function* () {
      const { directory } = yield* house()
      const there = ["--conversation", "c-1", "--message"]
      const first = yield* runs(directory, ...there, "What is stuck?")
      const second = yield* chat(directory, ...there, "And now?")
      yield* second.shows(`waits behind run ${runIn(first.out)}, which waits for a person: npm run`)
      yield* runs(directory, "--approve", approvalIn(first.out))
      assert.include((yield* second.ends).out, "asks for approval of replay_dlq_event")
    })
  )

  it.live("takes messages and answers to questions in one conversation", () =>
    Effect.gen(function* () {
      const { directory, stores } = yield* house()
      const talk = yield* chat(directory)
      yield* talk.shows("> ")
      talk.says("What is stuck?\n")
      yield* talk.shows("[a]pprove")
      talk.says("x\nr\n\nm {oops\na\n")
      yield* talk.shows("It was sent again.")
      talk.says("And now?\nd it went through\n")
      yield* talk.shows("Then it stays")
      const { code, out } = yield* talk.ends
      assert.strictEqual(code, 0, out)
      assert.include(out, "The arguments are not JSON.")
      assert.match(out, /bye; go on with: npm run chat -- --agent \S+ --conversation \S+/)
      assert.strictEqual((yield* statusOf(stores)).status, "replayed")
    }).pipe(Effect.timeout("20 seconds"))
  )

  it.live(
    "shows a customer the texts and that a person is asked, and nothing of tools and staff",
    () =>
      Effect.gen(function* () {
        const { directory } = yield* house()
        const carl = { TROUPE_TOKEN: "carls-token" }
        const once = yield* (yield* chatWith(carl, directory, "--message", "What is stuck?")).ends
        assert.strictEqual(once.code, 0, once.out)
        assert.include(once.out, "Let me look.\n")
        assert.include(once.out, "a person of the service is asked")
        const [, conversation] = /--conversation (\S+)/.exec(once.out)!
        const talk = yield* chatWith(carl, directory, "--conversation", conversation!)
        yield* talk.shows("a person of the service is asked")
        const [[approval] = []] = (yield* runs(directory, "--pending")).out
          .split("\n")
          .map((line) => line.split("\t"))
        yield* runs(directory, "--approve", approval!)
        yield* talk.shows("It was sent again.")
        yield* talk.shows("Talking with operations")
        const { code, out } = yield* talk.ends
        assert.strictEqual(code, 0, out)
        assert.strictEqual(out.split("One event is stuck.").length, 2, out)
        for (const secret of ["list_dlq_events", "replay_dlq_event", "olga", "undefined", letter]) {
          assert.notInclude(once.out + out, secret)
        }
        const refused = yield* (yield* chatWith(carl, directory, "--pending")).ends
        assert.strictEqual(refused.code, 1)
        assert.match(refused.out, /^Not allowed\. /)
      }).pipe(Effect.timeout("20 seconds"))
  )

  it.live("shows a customer that a call failed and that a run was stopped", () =>
    Effect.sync(() => {
      let out = ""
      const view = new View((text) => (out += text))
      const failed = { _tag: "Failed", error: { message: "There is no order 7." } } as const
      view.customerEvent({ _tag: "CallSettled", outcome: failed })
      view.customerEvent({ _tag: "ApprovalClosed" })
      view.customerEvent({ _tag: "RunStopping", status: "cancelled" })
      view.customerEvent({ _tag: "RunEnded", status: "cancelled", reason: "cancelled", text: "" })
      assert.notInclude(out, "undefined")
      assert.include(out, "There is no order 7.")
      assert.include(out, "! cancelled")
    })
  )

  it.live("begins a conversation that does not exist with its first message", () =>
    Effect.gen(function* () {
      const { directory, stores } = yield* house()
      const talk = yield* chat(directory, "--conversation", "walk")
      talk.says("What is stuck?\n")
      yield* talk.shows("[a]pprove")
      talk.says("a\n")
      yield* talk.shows("It was sent again.")
      const { code, out } = yield* talk.ends
      assert.strictEqual(code, 0, out)
      assert.notInclude(out, "not found")
      assert.include(out, "bye; go on with: npm run chat -- --agent operations --conversation walk")
      assert.isNotEmpty((yield* eventsOf(directory, runIn(out))).items)
      assert.strictEqual((yield* statusOf(stores)).status, "replayed")
      const again = yield* chat(directory, "--conversation", "walk")
      yield* again.shows("It was sent again.")
      assert.strictEqual((yield* again.ends).code, 0)
    }).pipe(Effect.timeout("20 seconds"))
  )

  it.live("finds the service by TROUPE_DATA, and first by TROUPE_URL and TROUPE_TOKEN", () =>
    Effect.gen(function* () {
      const { directory } = yield* house()
      const TROUPE_DATA = path.join(directory, ".troupe")
      const elsewhere = path.join(directory, "elsewhere")
      fs.mkdirSync(elsewhere)
      const found = yield* chatWith({ TROUPE_DATA }, elsewhere, "--pending")
      assert.deepStrictEqual(yield* found.ends, { code: 0, out: "" })
      const wrong = yield* chatWith({ TROUPE_DATA, TROUPE_TOKEN: "no" }, elsewhere, "--pending")
      assert.include((yield* wrong.ends).out, "A valid token is needed.")
      const nothing = yield* chatWith({ TROUPE_DATA: elsewhere }, directory, "--pending")
      assert.include((yield* nothing.ends).out, `There is none in ${elsewhere}`)
    }).pipe(Effect.timeout("20 seconds"))
  )

  it.live(
    "ST-04 answers a question after the client and the service were restarted, in the same run",
    () =>
      Effect.gen(function* () {
        const { directory, restart, stores } = yield* house()
        const talk = yield* chat(directory)
        talk.says("What is stuck?\n")
        yield* talk.shows("[a]pprove")
        const { out } = yield* talk.ends
        assert.include(out, "it waits")
        const conversation = /--conversation (\S+)/.exec(out)![1]!
        yield* restart
        const back = yield* chat(directory, "--conversation", conversation)
        yield* back.shows("[a]pprove")
        back.says("a\n")
        yield* back.shows("It was sent again.")
        assert.strictEqual((yield* back.ends).code, 0)
        assert.strictEqual((yield* statusOf(stores)).status, "replayed")
      }).pipe(Effect.timeout("20 seconds"))
  )

  it.live("finds a service that restarted at another port, and prints nothing twice", () =>
    Effect.gen(function* () {
      const open = yield* Deferred.make<void>()
      const { directory, restart } = yield* house((request) => {
        const said = turn(request)
        return request.transcript.at(-1)!.role === "tool" && said !== undefined
          ? Effect.as(Deferred.await(open), said)
          : said
      })
      const talk = yield* chat(directory)
      talk.says("What is stuck?\n")
      yield* talk.shows("← list_dlq_events")
      yield* restart
      yield* talk.shows("The connection is lost; trying again.")
      yield* Deferred.succeed(open, undefined)
      yield* talk.shows("[a]pprove")
      talk.says("a\n")
      yield* talk.shows("It was sent again.")
      const { code, out } = yield* talk.ends
      assert.strictEqual(code, 0, out)
      const once = ["Let me look.", "→ list_dlq_events", "One event is stuck.", "sent again."]
      for (const each of once) {
        assert.strictEqual(out.split(each).length, 2, out)
      }
    }).pipe(Effect.timeout("20 seconds"))
  )

  it.live(
    "prints at once that the service does not answer, and sends the message once it does",
    () =>
      Effect.gen(function* () {
        const { directory, restart, stop } = yield* house()
        const talk = yield* chat(directory)
        yield* talk.shows("Talking with operations")
        yield* stop
        talk.says("What is stuck?\n")
        yield* talk.shows("! Nobody answers at http://")
        yield* restart
        yield* talk.shows("[a]pprove")
        const { code, out } = yield* talk.ends
        assert.strictEqual(code, 0, out)
        assert.strictEqual(out.split("Nobody answers").length, 2, out)
        assert.strictEqual(out.split("Let me look.").length, 2, out)
      }).pipe(Effect.timeout("20 seconds"))
  )

  it.live(
    "prints one line where the address belongs to another service, or the connection is closed",
    () =>
      Effect.gen(function* () {
        const { directory } = yield* house()
        const url = yield* Effect.acquireRelease(
          Effect.promise(async () => {
            const server = createServer((request, response) => {
              if (request.url?.includes("approvals") === true) {
                response.end('{"items":7}')
              } else {
                response.writeHead(200, { "content-length": "100" })
                response.write("{", () => response.destroy())
              }
            })
            await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
            return server
          }),
          (server) => Effect.sync(() => server.close())
        ).pipe(Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`))
        const other = yield* runs(directory, "--pending", "--url", url)
        const cut = yield* runs(directory, "--message", "x", "--url", url)
        assert.deepStrictEqual(
          [other, cut],
          [
            { code: 1, out: `What answers at ${url} is not this service.\n` },
            { code: 1, out: "The connection was lost before the answer was whole.\n" }
          ]
        )
      }).pipe(Effect.scoped, Effect.timeout("20 seconds"))
  )

  it("prints why a run is being stopped in one line without control characters", () => {
    let out = ""
    const view = new View((text) => (out += text))
    const stopping = { _tag: "RunStopping", status: "failed", by: "runtime" } as const
    view.event({
      ...stopping,
      reason: "model_transient",
      message: "429:\u001b[2J\nslow"
    } as RunEvent)
    view.event({ ...stopping, reason: "steps_max" })
    assert.strictEqual(
      out,
      "  · stopping: model_transient: 429:[2J slow\n  · stopping: steps_max\n"
    )
  })

  it.live(
    "prints one sentence where there is no service, no address, no valid token or no such agent",
    () =>
      Effect.gen(function* () {
        const { directory } = yield* house()
        const nowhere = yield* runs(directory, "--message", "x", "--url", "http://127.0.0.1:9")
        assert.strictEqual(nowhere.code, 1)
        assert.include(nowhere.out, "Nobody answers at http://127.0.0.1:9.")
        const refused = yield* runs(directory, "--message", "x", "--token", "wrong")
        assert.strictEqual(refused.code, 1)
        assert.include(refused.out, "A valid token is needed.")
        const nobody = yield* runs(directory, "--message", "x", "--agent", "nobody")
        assert.strictEqual(nobody.code, 1)
        assert.include(nobody.out, `There is no agent "nobody". There is: operations.`)
        const talking = yield* runs(directory, "--agent", "nobody")
        assert.strictEqual(talking.code, 1)
        assert.strictEqual(talking.out, `There is no agent "nobody". There is: operations.\n`)
        const lost = yield* runs(os.tmpdir(), "--message", "x")
        assert.strictEqual(lost.code, 1)
        assert.include(lost.out, "There is no address to use.")
        const flag = yield* runs(directory, "--wat")
        assert.strictEqual(flag.code, 2)
        for (const { out } of [nowhere, refused, nobody, lost, flag]) {
          assert.notMatch(out, /\n\s+at /)
        }
      })
  )
})
