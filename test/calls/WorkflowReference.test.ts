/** Workflows of a platform as tools: their revision is that of the run, and a decision holds for it alone. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, calls, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { ToolConfig, WorkflowRevision } from "../../src/call/ToolConfig.ts"
import { revision_place } from "../../src/call/ToolConfig.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { configured, endpointOf, platform, runBody } from "./Platform.ts"
import type { Seen, Web } from "./Web.ts"

const boss = new Principal({ id: "boss", tenant: Tenant.make("default"), roles: ["approver"] })
const summarize: ToolConfig = {
  type: "reference",
  ref_by: "environment",
  slug: "summarize",
  environment: "production"
}
/** Inputs whose schema has definitions of its own. */
const input_schema = {
  type: "object",
  properties: { city: { $ref: "#/$defs/City" } },
  required: ["city"],
  $defs: { City: { type: "string", minLength: 1 } }
}
const answer = { body: '{"data":{"outputs":{"sky":"blue"}},"trace_id":"t1","secret":"x"}' }
const bodiesOf = (seen: ReadonlyArray<Seen>) =>
  seen.map(
    ({ body }) => JSON.parse(body) as { readonly references: unknown; readonly data: unknown }
  )
const revision = (id: string) => ({ workflow_revision: { id } })

const agent = AgentSpec.make({
  name: AgentName.make("keeper"),
  instructions: "",
  tools: ["summarize"]
})

/** Calls the workflow so often in its first turn, each time with other inputs. */
const model = (times: number) =>
  layer(({ transcript }) => {
    if (transcript.at(-1)?.role === "tool") return text("done")
    const turns = Array.from({ length: times }, (_, i) => call("summarize", { city: `Paris ${i}` }))
    return calls(turns)
  })

/** A runtime whose agent has the workflow as a tool; `now` is the revision that is deployed. */
const keeper = (
  web: Pick<Web, "port">,
  now: () => string,
  { config = summarize, times = 1 }: { readonly times?: number; readonly config?: ToolConfig } = {}
) =>
  start({
    agents: [agent],
    toolConfigs: {
      tools: [config],
      callback: { endpoint: endpointOf(web) },
      references: (): WorkflowRevision => ({ revision: now(), input_schema })
    },
    model: model(times)
  })

describe("a workflow as a tool", () => {
  it.live("AG-43 AG-44 posts its inputs, and returns the outputs with the trace", () =>
    Effect.gen(function* () {
      const web = yield* platform(() => answer)
      const asked: Array<string> = []
      const [tool] = yield* configured(web, [summarize], {
        references: (identity) => {
          asked.push(identity)
          return Promise.resolve({ revision: "rev_1", input_schema })
        }
      })
      assert.deepStrictEqual(tool?.spec.input_schema, input_schema)
      const value = yield* runBody(tool, { city: "Paris" })
      assert.deepStrictEqual(value, { outputs: { sky: "blue" }, trace_id: "t1" })
      assert.deepStrictEqual(bodiesOf(web.seen), [
        { data: { inputs: { city: "Paris" } }, references: revision("rev_1") }
      ])
      assert.strictEqual(web.seen[0]?.url, "/api/workflows/invoke")
      assert.deepStrictEqual(new Set(asked), new Set(["workflow.environment.production.summarize"]))
    })
  )

  it.live(
    "AG-42 has one revision in a run, and in the next run the one that is deployed then",
    () =>
      Effect.gen(function* () {
        const web = yield* platform(() => answer)
        let deployed = 0
        yield* Effect.promise(async () => {
          const config: ToolConfig = { ...summarize, permission: "allow" }
          // Every question would see another revision.
          const troupe = await keeper(web, () => `rev_${deployed++}`, { times: 2, config })
          try {
            for (const message of ["first", "second"]) {
              await troupe.ask({ agent: "keeper", text: message })
            }
          } finally {
            await troupe.stop()
          }
        })
        const sent = bodiesOf(web.seen).map(({ references }) => references)
        assert.deepStrictEqual(sent, ["rev_1", "rev_1", "rev_2", "rev_2"].map(revision))
      })
  )

  it.live("AG-42 runs the revision that the approver read in the whole run, and journals it", () =>
    Effect.gen(function* () {
      const web = yield* platform(() => answer)
      const [made] = yield* configured(web, [summarize], {
        references: () => ({ revision: "rev_0", input_schema })
      })
      // What a process finds that takes the run over after a deployment.
      let deployed = "rev_1"
      const fillIn = () => Effect.sync(() => ({ [revision_place]: deployed }))
      yield* Effect.promise(async () => {
        const troupe = await start({
          agents: [agent],
          tools: [Effect.succeed([{ ...made!, fillIn }])],
          model: layer(({ transcript }) =>
            transcript.filter(({ role }) => role === "tool").length === 2
              ? text("done")
              : call("summarize", { city: `Paris ${transcript.length}` })
          )
        })
        const { run } = await troupe.ask({ agent: "keeper", text: "go" })
        for (const status of ["awaiting_approval", "complete"]) {
          const [question] = await troupe.pending(boss)
          const shown = question?.payload.effect_description ?? ""
          assert.include(shown, `Filled in: ${revision_place}: "rev_1". Runs workflow.`)
          deployed = "rev_2"
          await troupe.decide(question!.id, { _tag: "Approve" }, boss)
          assert.strictEqual((await troupe.result(run)).status, status)
        }
        assert.deepStrictEqual(
          bodiesOf(web.seen).map(({ references }) => references),
          [revision("rev_1"), revision("rev_1")]
        )
        const journaled = []
        for await (const item of troupe.watch(run)) {
          if (item._tag !== "Event" || item.entry.event._tag !== "CallDispatched") continue
          journaled.push(item.entry.event.filled?.values)
        }
        const filled = { [revision_place]: "rev_1" }
        assert.deepStrictEqual(journaled, [filled, filled])
        await troupe.stop()
      })
    })
  )

  it.live("AG-42 fails the call when its revision cannot be had, before a person is asked", () =>
    Effect.gen(function* () {
      const web = yield* platform(() => answer)
      yield* Effect.promise(async () => {
        let isStarted = false
        const troupe = await keeper(web, () => {
          if (isStarted) throw new Error("the platform at 10.0.0.4 is down")
          isStarted = true
          return "rev_1"
        })
        const { status } = await troupe.ask({ agent: "keeper", text: "go" })
        assert.strictEqual(status, "complete")
        assert.lengthOf(await troupe.pending(boss), 0)
        await troupe.stop()
      })
      assert.lengthOf(web.seen, 0)
      const missing = yield* Effect.flip(
        configured(web, [summarize], { references: () => undefined })
      )
      assert.deepInclude(missing, { _tag: "ToolConfigRefused", reason: "NotOffered" })
    })
  )
})
