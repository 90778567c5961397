/** A runtime here, workers in processes of their own, on one PostgreSQL; kill -9 in the middle of a body. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { remote } from "../../layers/runtime/queue/RemoteTool.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { RunPorts } from "../../services/Stores.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { eventually } from "../contracts/Contract.ts"
import * as H from "../runtime/Harness.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import * as Process from "../sql/Process.ts"
import * as Declared from "./Declared.ts"

const home = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "troupe-queue-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const runtime = (url: string, name: string) =>
  Runtime.layer({
    agents: [AgentSpec.make({ name: H.agentName, instructions: "", tools: [`t.${name}@1`] })],
    tools: [...Declared.all, Declared.asked].map(remote)
  }).pipe(
    Layer.provide(
      ScriptedModelGateway.layer([
        ScriptedModelGateway.call(name),
        ScriptedModelGateway.text("Done.")
      ])
    ),
    Layer.provideMerge(Stores.postgres(Redacted.make(url)))
  )

/** Kills a worker in the middle of the tool's body and starts another; gives the call's outcome and the lines of the file. */
const killed = Effect.fnUntraced(function* (
  name: string,
  wait: (run: RunId) => Effect.Effect<unknown, unknown, AgentRuntime | RunPorts>,
  found = "unknown"
) {
  const url = yield* EmbeddedPostgres.migrated
  const file = join(yield* home, "begun")
  const begun = Effect.sync(() => {
    try {
      return readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line !== "")
    } catch {
      return []
    }
  })
  return yield* Effect.gen(function* () {
    const first = yield* Process.run("test/queue/worker.ts", url, file, "hang")
    yield* first.printed(1)
    const run = yield* H.send("go")
    yield* eventually(begun, (lines) => lines.length === 1)
    yield* first.kill
    const second = yield* Process.run("test/queue/worker.ts", url, file, "end", found)
    yield* second.printed(1)
    yield* wait(run)
    return { events: yield* H.events(run), lines: yield* begun }
  }).pipe(Effect.provide(runtime(url, name)))
})

for (const { name } of [Declared.look, Declared.repeatable]) {
  it.live(
    `SM-30 a worker killed in the body of "${name}" is taken over by another, and the run has one result`,
    () =>
      Effect.gen(function* () {
        const { events, lines } = yield* killed(name, (run) => H.ended(run))
        assert.deepStrictEqual(H.outcome(events), { _tag: "Value", json: `"done"` })
        assert.strictEqual(H.settled(events).length, 1)
        assert.deepStrictEqual(
          lines.map((line) => line.split(" ")[0]),
          ["hang", "end"]
        )
        assert.strictEqual(new Set(lines.map((line) => line.split(" ")[1])).size, 1)
      }),
    60_000
  )
}

it.live(
  "SM-30 a worker killed in the body of a write that cannot be repeated leaves it unknown, and it is not done twice",
  () =>
    Effect.gen(function* () {
      const { events, lines } = yield* killed("once", (run) => H.happened(run, "CallUnknown"))
      assert.strictEqual(H.settled(events).length, 0)
      assert.strictEqual(lines.length, 1)
    }),
  60_000
)

for (const [found, says, json, acts] of [
  ["happened", "its result is the call's, and it is not done twice", `"found"`, ["hang", "asked"]],
  ["not", "it is done", `"done"`, ["hang", "asked", "end"]]
] as const) {
  it.live(
    `after a worker is killed in the body of a write, another worker reconciles it: ${says}`,
    () =>
      Effect.gen(function* () {
        const { events, lines } = yield* killed("asked", (run) => H.ended(run), found)
        assert.deepStrictEqual(H.outcome(events), { _tag: "Value", json })
        assert.deepStrictEqual(
          lines.map((line) => line.split(" ")[0]),
          [...acts]
        )
        assert.strictEqual(new Set(lines.map((line) => line.split(" ")[1])).size, 1)
        const dispatched = events.find((event) => event._tag === "CallDispatched")
        assert.strictEqual(lines[0], `hang ${dispatched!.key}`)
      }),
    60_000
  )
}

it.live(
  "a write of a killed worker that its tool cannot reconcile is unknown to the run",
  () =>
    Effect.gen(function* () {
      const { events, lines } = yield* killed("asked", (run) => H.happened(run, "CallUnknown"))
      assert.strictEqual(H.settled(events).length, 0)
      assert.deepStrictEqual(
        lines.map((line) => line.split(" ")[0]),
        ["hang", "asked"]
      )
    }),
  60_000
)

it.live(
  "a runtime lists the offer of a worker in another process, as unavailable once that is killed",
  () =>
    Effect.gen(function* () {
      const url = yield* EmbeddedPostgres.migrated
      const file = join(yield* home, "begun")
      const service = yield* Effect.acquireRelease(
        Effect.promise(() =>
          start({ agents: [], model: ScriptedModelGateway.layer([]), store: { postgres: url } })
        ),
        ({ stop }) => Effect.promise(stop)
      )
      const listed = (available: boolean) =>
        ["again", "asked", "look", "once"].map((name) => ({
          name,
          description: "",
          provider: "shop",
          available
        }))
      assert.deepStrictEqual(yield* Effect.promise(() => service.workerTools()), [])
      const worker = yield* Process.run("test/queue/worker.ts", url, file, "end")
      yield* worker.printed(1)
      assert.deepStrictEqual(yield* Effect.promise(() => service.workerTools()), listed(true))
      yield* worker.kill
      yield* eventually(
        Effect.promise(() => service.workerTools()),
        ([first]) => first?.available === false
      )
      assert.deepStrictEqual(yield* Effect.promise(() => service.workerTools()), listed(false))
    }),
  60_000
)
