/**
 * Processes of their own that host different agents on one PostgreSQL, killed and replaced as while a new version is
 * rolled out: nothing fails because the wrong one took it, and what nobody hosts waits.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope } from "effect"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import type { Child, Refused } from "./Child.ts"
import * as Children from "./Child.ts"
import type { HostConfig, HostRequest } from "./host.ts"
import { until } from "./Service.ts"

const messages = 30

interface Host {
  readonly child: Child
  readonly ask: (agent: string, n: number, text?: string) => Effect.Effect<unknown, Refused>
  readonly send: (
    agent: string,
    n: number,
    text: string
  ) => Effect.Effect<ReadonlyArray<string>, Refused>
  readonly results: (runs: ReadonlyArray<string>) => Effect.Effect<unknown, Refused>
  readonly cancel: (run: string) => Effect.Effect<unknown, Refused>
  readonly unhosted: Effect.Effect<ReadonlyArray<readonly [agent: string, count: number]>, Refused>
}

const host = (config: HostConfig): Effect.Effect<Host, never, Scope.Scope> =>
  Effect.gen(function* () {
    const child = yield* Children.start("test/process/host.ts", [JSON.stringify(config)])
    yield* child.heard((it) => it.notice === "ready")
    const ask = <A>(request: HostRequest) => child.ask(request) as Effect.Effect<A, Refused>
    return {
      child,
      ask: (agent, n, text = "hello") => ask({ op: "ask", agent, text, n }),
      send: (agent, n, text) => ask({ op: "send", agent, text, n }),
      results: (runs) => ask({ op: "results", runs }),
      cancel: (run) => ask({ op: "cancel", run }),
      unhosted: ask({ op: "unhosted" })
    }
  })

const completes = (agent: string, n = messages) =>
  Array.from({ length: n }, () => `complete of ${agent}`)

const lists = (of: Host, ...expected: Array<readonly [agent: string, count: number]>) =>
  until(of.unhosted, (all) => JSON.stringify(all) === JSON.stringify(expected))

const warning = "work waits for an agent that no living process hosts"

it.live(
  "processes of different agents complete what is theirs, and one that is killed and replaced by another leaves its own waiting",
  () =>
    Effect.gen(function* () {
      const postgres = yield* EmbeddedPostgres.migrated
      const common = { common: null }
      const a: HostConfig = { postgres, agents: { a: null, ...common }, holds: true }
      const [one, two] = yield* Effect.all(
        [host(a), host({ postgres, agents: { b: null, ...common }, holds: false })],
        { concurrency: 2 }
      )
      const answers = yield* Effect.all(
        [
          one.ask("a", messages),
          two.ask("b", messages),
          one.ask("common", messages),
          two.ask("common", messages)
        ],
        { concurrency: 4 }
      )
      assert.deepStrictEqual(answers, [
        completes("a"),
        completes("b"),
        completes("common"),
        completes("common")
      ])
      assert.strictEqual((yield* Effect.flip(two.ask("a", 1))).reason, "AgentNotFound")
      // What the one has of both agents when it dies: some of it begun, some of it perhaps not.
      const [ofA, ofBoth] = [
        yield* one.send("a", 10, "hold"),
        yield* one.send("common", 10, "hold")
      ]
      yield* one.child.heard((it) => it.notice === "reached" && it.tag === "a")
      yield* one.child.kill
      const three = yield* host({ postgres, agents: { c: null, ...common }, holds: false })
      assert.deepStrictEqual(yield* three.ask("c", messages), completes("c"))
      assert.deepStrictEqual(yield* two.results(ofBoth), completes("common", 10))
      for (const each of [two, three]) yield* lists(each, ["a", 10])
      yield* two.child.printed(warning)
      const four = yield* host({ ...a, holds: false })
      assert.deepStrictEqual(yield* four.results(ofA), completes("a", 10))
      for (const each of [two, three]) yield* lists(each)
    }),
  180_000
)

it.live(
  "a run whose specialist is at work in a process that is killed waits for one that hosts both, and the rest goes on",
  () =>
    Effect.gen(function* () {
      const postgres = yield* EmbeddedPostgres.migrated
      const both = { boss: "scan", scan: null }
      const first = yield* host({ postgres, agents: both, holds: true })
      const runs = yield* first.send("boss", 2, "delegate")
      for (let i = 0; i < 2; i++) {
        yield* first.child.heard((it) => it.notice === "reached" && it.tag === "look")
      }
      yield* first.child.kill
      const next = yield* host({ postgres, agents: { boss: null }, holds: false })
      yield* lists(next, ["scan", 2])
      assert.deepStrictEqual(yield* next.ask("boss", messages), completes("boss"))
      yield* lists(next, ["scan", 2])
      yield* next.cancel(runs[0]!)
      assert.deepStrictEqual(yield* next.results([runs[0]!]), ["cancelled "])
      const again = yield* host({ postgres, agents: both, holds: false })
      assert.deepStrictEqual(yield* again.results([runs[1]!]), completes("boss", 1))
      yield* lists(next)
    }),
  180_000
)
