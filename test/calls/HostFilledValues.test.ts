/** What a host fills in for a direct call: asked for once, journaled, shown, and sent as it was shown. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope } from "effect"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { ToolConfig } from "../../src/call/ToolConfig.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { durable } from "../process/Homes.ts"
import type { Reply } from "./Platform.ts"
import { endpointOf, platform } from "./Platform.ts"
import type { Web } from "./Web.ts"

const boss = new Principal({ id: "boss", tenant: Tenant.make("default"), roles: ["approver"] })
const place = "revision.expected_id"
const commit: ToolConfig = {
  name: "commit",
  kind: "callback",
  description: "Commits.",
  input_schema: { type: "object", properties: { text: { type: "string" } } },
  call: {
    method: "POST",
    path: "/api/commit",
    context: { [place]: "$ctx.workflow.latest_revision_id", trace: "$ctx.trace.trace_id" }
  }
}

interface Host {
  readonly web: Web
  /** How often the host was asked. */
  asked: number
  /** What it says from now on. */
  latest: string | undefined
  /** So many of the next requests fail, and meanwhile another revision comes. */
  failing: number
}

const hosted = Effect.gen(function* () {
  const host = { asked: 0, latest: "r1" as string | undefined, failing: 0 }
  const web = yield* platform((): Reply => {
    if (host.failing-- <= 0) return { body: "{}" }
    host.latest = "r2"
    return { status: 503 }
  })
  return Object.assign(host, { web }) satisfies Host
})

const options = (host: Host, config: ToolConfig): Options => ({
  agents: [
    AgentSpec.make({ name: AgentName.make("a"), instructions: "Commit.", tools: ["commit"] })
  ],
  toolConfigs: {
    tools: [config],
    callback: { endpoint: endpointOf(host.web) },
    context: () => {
      host.asked++
      return { workflow: host.latest === undefined ? {} : { latest_revision_id: host.latest } }
    }
  },
  model: layer(({ transcript }) => {
    const done = transcript.find(({ role }) => role === "tool")
    return done === undefined ? call("commit", { text: "x" }) : text(JSON.stringify(done))
  })
})

const using = <A>(given: Options, use: (troupe: NodeService) => Promise<A>): Effect.Effect<A> =>
  Effect.promise(async () => {
    const troupe = await start(given)
    try {
      return await use(troupe)
    } finally {
      await troupe.stop()
    }
  })

const ask = (troupe: NodeService) => troupe.ask({ agent: "a", text: "commit" })

const eventsOf = async (troupe: NodeService, run: string): Promise<ReadonlyArray<RunEvent>> => {
  const events: Array<RunEvent> = []
  for await (const item of troupe.watch(run)) {
    if (item._tag === "Event") events.push(item.entry.event)
    if (item._tag === "CaughtUp") break
  }
  return events
}

/** What the events of this kind say was filled in. */
const filledBy = (events: ReadonlyArray<RunEvent>, tag: "ApprovalRequested" | "CallDispatched") =>
  events.flatMap((event) => (event._tag === tag ? [event.filled?.values] : []))

const expectedIds = ({ web }: Host) =>
  web.seen.map(
    ({ body }) => (JSON.parse(body) as { revision: { expected_id: string } }).revision.expected_id
  )

const live = (title: string, test: (host: Host) => Effect.Effect<unknown, unknown, Scope.Scope>) =>
  it.live(title, () => Effect.flatMap(hosted, test))

describe("what a host fills in for a direct call", () => {
  live(
    "AG-29 is shown, journaled and sent as it was when the person was asked, also after a restart",
    (host) =>
      Effect.gen(function* () {
        const given = { ...options(host, commit), store: yield* durable }
        const run = yield* using(given, async (troupe) => {
          const { run, status } = await ask(troupe)
          assert.strictEqual(status, "awaiting_approval")
          const [question] = await troupe.pending(boss)
          assert.include(question!.payload.effect_description, `Filled in: ${place}: "r1".`)
          return run
        })
        host.latest = "r2"
        yield* using(given, async (troupe) => {
          const [question] = await troupe.pending(boss)
          await troupe.decide(question!.id, { _tag: "Approve" }, boss)
          assert.strictEqual((await troupe.result(run)).status, "complete")
          const events = await eventsOf(troupe, run)
          assert.deepStrictEqual(filledBy(events, "ApprovalRequested"), [{ [place]: "r1" }])
          assert.deepStrictEqual(filledBy(events, "CallDispatched"), [{ [place]: "r1" }])
        })
        assert.deepStrictEqual(expectedIds(host), ["r1"])
        assert.strictEqual(host.asked, 1)
      })
  )

  live(
    "AG-29 is asked for anew, and shown again, where the tool has another target by now",
    (host) =>
      Effect.gen(function* () {
        const store = yield* durable
        const run = yield* using({ ...options(host, commit), store }, async (troupe) => {
          return (await ask(troupe)).run
        })
        host.latest = "r2"
        const fixed = { ...commit, call: { ...commit.call, body: { kind: "draft" } } } as ToolConfig
        yield* using({ ...options(host, fixed), store }, async (troupe) => {
          const [shown] = await troupe.pending(boss)
          await troupe.decide(shown!.id, { _tag: "Approve" }, boss)
          let [again] = await troupe.pending(boss)
          while (again === undefined || again.id === shown!.id) [again] = await troupe.pending(boss)
          assert.include(again.payload.effect_description, `Filled in: ${place}: "r2".`)
          assert.lengthOf(host.web.seen, 0)
          await troupe.decide(again.id, { _tag: "Approve" }, boss)
          assert.strictEqual((await troupe.result(run)).status, "complete")
          const events = await eventsOf(troupe, run)
          assert.deepStrictEqual(filledBy(events, "CallDispatched"), [{ [place]: "r2" }])
        })
        assert.deepStrictEqual(expectedIds(host), ["r2"])
      })
  )

  live("AG-29 stays what was shown where the person changes the arguments", (host) =>
    using(options(host, commit), async (troupe) => {
      const { run } = await ask(troupe)
      host.latest = "r2"
      const [question] = await troupe.pending(boss)
      await troupe.decide(question!.id, { _tag: "Modify", arguments: { text: "y" } }, boss)
      assert.strictEqual((await troupe.result(run)).status, "complete")
      assert.deepStrictEqual(expectedIds(host), ["r1"])
      assert.include(host.web.seen[0]!.body, '"text":"y"')
      assert.strictEqual(host.asked, 1)
    })
  )

  live(
    "AG-29 is journaled with the dispatch of a call that needs no person, and sent again unchanged",
    (host) =>
      using(
        options(host, {
          ...commit,
          permission: "allow",
          idempotent: true,
          retry: { max_attempts: 3, backoff_initial_ms: 1, backoff_max_ms: 1 }
        }),
        async (troupe) => {
          const { run } = await ask(troupe)
          await troupe.result(run)
          const events = await eventsOf(troupe, run)
          assert.deepStrictEqual(filledBy(events, "CallDispatched"), [{ [place]: "r1" }])
          assert.strictEqual(host.asked, 1)
          assert.deepStrictEqual(expectedIds(host), ["r1"])
        }
      )
  )

  for (const permission of ["ask", "allow"] as const) {
    live(
      `AG-18 is missed before anybody is asked and anything is dispatched: ${permission}`,
      (host) =>
        using(
          options({ ...host, latest: undefined }, { ...commit, permission }),
          async (troupe) => {
            const { run } = await ask(troupe)
            assert.include((await troupe.result(run)).text, "MISSING_RUN_CONTEXT")
            const tags = (await eventsOf(troupe, run)).map(({ _tag }) => _tag)
            assert.notInclude(tags, "ApprovalRequested")
            assert.notInclude(tags, "CallDispatched")
            assert.lengthOf(host.web.seen, 0)
          }
        )
    )
  }

  live("AG-29 is asked for by each call anew", (host) =>
    using(options(host, commit), async (troupe) => {
      const digests = new Set<unknown>()
      for (const latest of ["r1", "r2"]) {
        host.latest = latest
        const { run } = await ask(troupe)
        const [question] = await troupe.pending(boss)
        await troupe.decide(question!.id, { _tag: "Approve" }, boss)
        await troupe.result(run)
        for (const event of await eventsOf(troupe, run)) {
          if (event._tag === "ApprovalRequested") digests.add(event.tool_digest)
        }
      }
      // What a decision is bound to: one for each value.
      assert.strictEqual(digests.size, 2)
      assert.deepStrictEqual(expectedIds(host), ["r1", "r2"])
      assert.strictEqual(host.asked, 2)
    })
  )

  live("AG-29 is asked for once where the action was authorised in advance", (host) =>
    using(options(host, commit), async (troupe) => {
      const admin = new Principal({ id: "ada", tenant: Tenant.make("default"), roles: ["admin"] })
      await troupe.authorize({ agent: "a", action: "commit" }, admin)
      const { run } = await ask(troupe)
      assert.strictEqual((await troupe.result(run)).status, "complete")
      const events = await eventsOf(troupe, run)
      assert.deepStrictEqual(filledBy(events, "ApprovalRequested"), [])
      assert.deepStrictEqual(filledBy(events, "CallDispatched"), [{ [place]: "r1" }])
      assert.strictEqual(host.asked, 1)
    })
  )
})
