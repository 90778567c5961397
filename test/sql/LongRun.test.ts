/** A run of over 10,000 events on PGlite: written, read in pages, watched from its middle, and taken up by a new process. */
import { createHash } from "node:crypto"
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope, Stream } from "effect"
import { HttpServer } from "effect/http"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { call, calls, scripted, text } from "../../layers/compose/entries/Testing.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { FeedItem } from "../../src/run/FeedItem.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, ConversationId, Tenant } from "../../src/value/Ids.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import type { JournalEntry } from "../../src/run/RunEvent.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import * as Homes from "../process/Homes.ts"

const turns = 100
const calls_per_turn = 101
const token = "a-token-for-olga"
const tenant = Tenant.make("acme")
const olga = new Principal({ id: "olga", tenant, roles: ["admin"] })
const conversation = ConversationId.make("long")

const look = tool({ namespace: "long", name: "look", side_effects: "read" }, () => "seen")
const change = tool({ namespace: "long", name: "change", side_effects: "write" }, () => "changed")
const agent = AgentSpec.make({
  name: AgentName.make("long"),
  instructions: "Look often, then change.",
  tools: ["look", "change"],
  limits: RunLimits.make({ steps_max: 1_000, calls_max: 100_000, calls_parallel_max: 256 })
})

const model = scripted(({ step, transcript }) => {
  const last = transcript.at(-1)
  if (last?.role === "tool" && last.name === "change") return text("It is changed.")
  return step > turns
    ? call("change")
    : calls(Array.from({ length: calls_per_turn }, () => call("look")))
})

/** A process over the directory, until its scope closes. */
const boot = (directory: string) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
    const sha256 = createHash("sha256").update(token).digest("hex")
    const app = Server.layer({
      listen: { port: 0 },
      credentials: [{ sha256, principal: olga }]
    }).pipe(
      Layer.provideMerge(Runtime.layer({ agents: [agent], tools: [look, change] })),
      Layer.provide(model),
      Layer.provideMerge(Stores.directory(directory))
    )
    const context = yield* Layer.buildWithMemoMap(app, Layer.makeMemoMapUnsafe(), scope)
    return { context, stop: Scope.close(scope, Exit.void) }
  })

const seqs = (entries: ReadonlyArray<JournalEntry>) => entries.map(({ seq }) => seq)
const upTo = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

/** The run's events as pages over HTTP, and how many pages there were. */
const history = Effect.fnUntraced(function* (run: RunId) {
  const { address } = yield* HttpServer.HttpServer
  const url = HttpServer.formatAddress(address)
  const headers = { authorization: `Bearer ${token}` }
  const entries: Array<JournalEntry> = []
  let after = -1
  let pages = 0
  for (;;) {
    const page = yield* Effect.promise(async () => {
      const response = await fetch(`${url}/v1/runs/${run}/events?limit=500&after=${after}`, {
        headers
      })
      assert.strictEqual(response.status, 200)
      return (await response.json()) as {
        readonly items: ReadonlyArray<JournalEntry>
        readonly next_after?: number
      }
    })
    pages++
    entries.push(...page.items)
    if (page.next_after === undefined) return { entries, pages }
    after = page.next_after
  }
})

type Event = Extract<FeedItem, { readonly _tag: "Event" }>

/** Numbers of the events that a watcher behind `seq` gets, up to the first that is the last, or until it has caught up. */
const watched = (seq: number, isLast?: (item: Event) => boolean) =>
  AgentRuntime.use((runtime) =>
    runtime.watch(conversation, { ordinal: 1, seq }, olga).pipe(
      Stream.takeUntil((item) =>
        item._tag === "Event" ? isLast?.(item) === true : item._tag === "CaughtUp" && !isLast
      ),
      Stream.runCollect,
      Effect.map((items) =>
        items.flatMap((item) => (item._tag === "Event" ? [item.entry.seq] : []))
      )
    )
  )

it.live(
  "a run of over 10,000 events is read in pages, watched from its middle, and goes on in a new process",
  () =>
    Effect.gen(function* () {
      const { directory } = yield* Homes.directory
      const first = yield* boot(directory)
      const { parked, run } = yield* Effect.gen(function* () {
        const runtime = yield* AgentRuntime
        const { task } = yield* runtime.send(
          { agent: agent.name, conversation, text: "Begin" },
          olga
        )
        const seen = yield* watched(-1, ({ entry }) => entry.event._tag === "ApprovalRequested")
        assert.deepStrictEqual(seen, upTo(0, seen.length))
        assert.isAbove(seen.length, 10_000)
        return { run: task.id, parked: seen.length }
      }).pipe(Effect.provideContext(first.context))
      yield* first.stop

      const second = yield* boot(directory)
      yield* Effect.gen(function* () {
        assert.deepStrictEqual(yield* watched(5_000), upTo(5_001, parked))
        const desk = yield* ApprovalDesk
        const [question] = yield* desk.pending(olga, 10)
        yield* desk.decide(question!.id, { _tag: "Approve" }, olga)
        yield* watched(parked - 1, ({ entry }) => entry.event._tag === "RunEnded")
        const { entries, pages } = yield* history(run)
        assert.deepStrictEqual(seqs(entries), upTo(0, entries.length))
        assert.strictEqual(pages, Math.ceil(entries.length / 500))
        const last = entries.at(-1)?.event
        assert.deepInclude(last, { _tag: "RunEnded", status: "complete", text: "It is changed." })
        const results = entries.filter(({ event }) => event._tag === "CallSettled")
        assert.strictEqual(results.length, turns * calls_per_turn + 1)
      }).pipe(Effect.provideContext(second.context))
    }),
  120_000
)
