/** The picture of agents: each box once, each line where an agent may turn to another, whatever they are called. */
import { assert, describe, it } from "vitest"
import { agent } from "troupe"
import { start } from "troupe/embed"
import { scripted } from "troupe/testing"
import type { GraphAgent } from "../../layers/console/AgentGraph.ts"
import { agentGraph } from "../../layers/console/AgentGraph.ts"
import { documentOf, element } from "../../layers/console/Html.ts"
import { http, signedIn, tokenOf } from "./ConsoleScene.ts"

const of = (
  name: string,
  specialists: ReadonlyArray<string> = [],
  handoffs: ReadonlyArray<string> = []
): GraphAgent => ({ name, specialists, handoffs })

const drawn = (agents: ReadonlyArray<GraphAgent>) => {
  const svg = documentOf(element("div", {}, agentGraph(agents)))
  const boxes = [...svg.matchAll(/<rect x="(\d+)" y="(\d+)"[^>]* class="box"/g)]
  // The legend has one of each.
  const edges = (kind: string) => svg.split(`class="edge ${kind}"`).length - 2
  return {
    svg,
    columns: boxes.map(([, x]) => Number(x)),
    places: new Set(boxes.map(([, x, y]) => `${x} ${y}`)),
    asks: edges("asks"),
    hands: edges("hands")
  }
}

describe("the picture of agents", () => {
  it("has who asks left of whom it asks, each box at its own place", () => {
    const { asks, columns, hands, places } = drawn([
      of("top", ["left", "right", "deep"]),
      of("left", ["deep"]),
      of("right", [], ["top"]),
      of("deep")
    ])
    const [top = 0, left = 0, right = 0, deep = 0] = columns
    assert.isBelow(top, left)
    assert.strictEqual(left, right)
    assert.isBelow(left, deep)
    assert.strictEqual(places.size, 4)
    assert.deepStrictEqual([asks, hands], [4, 1])
  })

  it("has agents that only turn to one another or to themselves, and ignores unknown ones", () => {
    const { asks, hands, places } = drawn([
      of("a", [], ["b"]),
      of("b", [], ["a", "b"]),
      of("c", ["gone"]),
      of("d", ["e"]),
      of("e", ["d"])
    ])
    assert.strictEqual(places.size, 5)
    assert.deepStrictEqual([asks, hands], [2, 2])
  })

  it("is none where no agent turns to another, and draws 100 of many", () => {
    assert.isFalse(agentGraph([of("a"), of("b")]))
    assert.isFalse(agentGraph([]))
    const many = Array.from({ length: 120 }, (_, at) => of(`a${at}`, [`a${at + 1}`]))
    const { places, svg } = drawn(many)
    assert.strictEqual(places.size, 100)
    assert.include(svg, "The first 100 of 120 are drawn.")
  })

  it("leads to each agent, whose limits and version stand there and in the API", async () => {
    const limits = { steps_max: 7, tokens_max: 9_000, on_breach: "ask" } as const
    const troupe = await start({
      agents: [
        agent({ name: "desk", instructions: "Help.", handoffs: ["clerk"], limits }),
        agent({ name: "clerk", instructions: "Work." })
      ],
      model: scripted([]),
      http
    })
    try {
      const vera = await signedIn(troupe, "vera")
      const { text } = await vera.get("/console/agents")
      assert.include(text, 'href="#agent-clerk" aria-label="clerk"')
      assert.include(text, 'aria-label="desk; hands over to clerk"')
      assert.include(text, 'id="agent-clerk"')
      assert.include(text, "7 turns, 1,000 calls, 9,000 tokens, then a person is asked")
      const desk = (await troupe.agents()).find(({ name }) => name === "desk")
      assert.deepStrictEqual<unknown>(desk?.handoffs, ["clerk"])
      assert.include(text, `title="${desk?.version}"`)
      const headers = { authorization: `Bearer ${tokenOf("vera")}` }
      const api = await (await fetch(`${troupe.url}/v1/agents`, { headers })).text()
      assert.include(api, `"version":"${desk?.version}"`)
      assert.include(api, `"steps_max":7`)
    } finally {
      await troupe.stop()
    }
  })
})
