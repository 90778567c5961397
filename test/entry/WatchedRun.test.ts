/** The watch of one run: its own events, and nothing of the runs before and after it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import { AgentName, AgentSpec, tool } from "../../src/index.ts"

const look = tool(
  {
    namespace: "shop",
    name: "look",
    description: "Looks.",
    side_effects: "read",
    input: Schema.Struct({})
  },
  () => "seen"
)
const shop = AgentSpec.make({
  name: AgentName.make("shop"),
  instructions: "Sell.",
  tools: ["look"]
})

/** Each turn takes a while, so that a watch begins before its run ends. Looks first where the message says so. */
const model = Layer.succeed(ModelGateway, {
  turn: ({ step, transcript }) => {
    const [first] = transcript
    const looks = step === 1 && first?.role === "user" && first.text === "look"
    const calls = looks ? [{ model_id: "a", name: "look", arguments: {} }] : []
    const finish = looks ? ("tool_calls" as const) : ("stop" as const)
    return Effect.as(Effect.sleep(20), { text: looks ? "" : "ok", calls, finish })
  }
})

const withTroupe = async (use: (troupe: NodeService) => Promise<void>) => {
  const troupe = await start({ agents: [shop], tools: [look], model })
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

/** What is watched, up to the end of the watch: `ordinal.seq` of each event. */
const watched = async (
  troupe: NodeService,
  run: string,
  after?: { readonly ordinal: number; readonly seq: number }
) => {
  const seen: Array<string> = []
  for await (const item of troupe.watch(run, after)) {
    if (item._tag === "CaughtUp") seen.push(`caught up at ${item.ordinal}.${item.seq}`)
    if (item._tag === "Event") seen.push(`${item.ordinal}.${item.entry.seq}`)
  }
  return seen
}

const conversation = "c-1"
const say = (troupe: NodeService, text: string) =>
  troupe.send({ agent: "shop", text, conversation })

describe("the watch of a run", () => {
  it("ends with the run, whose events come as they happen", () =>
    withTroupe(async (troupe) => {
      const { run } = await say(troupe, "one")
      const seen = await watched(troupe, run)
      assert.deepStrictEqual(seen, ["1.0", "1.1", "caught up at 1.1", "1.2", "1.3"])
    }))

  it("has nothing of the runs before it, from wherever it begins", () =>
    withTroupe(async (troupe) => {
      await troupe.result((await say(troupe, "one")).run)
      const { run } = await say(troupe, "two")
      const seen = await watched(troupe, run, { ordinal: 0, seq: -1 })
      assert.deepStrictEqual(
        seen.filter((each) => !each.startsWith("caught up")),
        ["2.0", "2.1", "2.2", "2.3"]
      )
    }))

  it("waits for the runs before it, and shows none of what they do meanwhile", () =>
    withTroupe(async (troupe) => {
      await say(troupe, "look")
      const { run } = await say(troupe, "two")
      const seen = await watched(troupe, run, { ordinal: 0, seq: -1 })
      assert.deepStrictEqual(
        seen.filter((each) => !each.startsWith("caught up")),
        ["2.0", "2.1", "2.2", "2.3"]
      )
    }))

  it("that had ended before is caught up behind its last event, and shows no later run", () =>
    withTroupe(async (troupe) => {
      const { run } = await say(troupe, "one")
      await troupe.result(run)
      await troupe.result((await say(troupe, "two")).run)
      const seen = await watched(troupe, run)
      assert.deepStrictEqual(seen, ["1.0", "1.1", "1.2", "1.3", "caught up at 1.3"])
    }))

  it("that had ended before is given from a cursor on, and is caught up where that is its end", () =>
    withTroupe(async (troupe) => {
      const { run } = await say(troupe, "one")
      await troupe.result(run)
      const from = (seq: number) => watched(troupe, run, { ordinal: 1, seq })
      assert.deepStrictEqual(await from(1), ["1.2", "1.3", "caught up at 1.3"])
      assert.deepStrictEqual(await from(3), ["caught up at 1.3"])
    }))
})
