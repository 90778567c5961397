/** Which agent the terminal client talks with. */
import { assert, describe, it } from "vitest"
import { Schema } from "effect"
import { namedAgent } from "../../scripts/chat/Session.ts"
import { ApiClient } from "../../scripts/chat/ApiClient.ts"

/** A client that is given these agents, and counts how often it asks. */
const clientOf = (items: ReadonlyArray<object>) => {
  let asked = 0
  const call: ApiClient["call"] = async (path, answer) => {
    asked++
    assert.strictEqual(path, "/v1/agents")
    return Schema.decodeUnknownSync(answer)({ items })
  }
  return { call, asked: () => asked }
}

const operations = { name: "operations", kind: "operations" }
const worlds = ["credit", "advertising"].map((id) => ({ name: `world-${id}`, kind: "world" }))

describe("the name of an agent to talk with", () => {
  it("world is the agent of the first world, and says so", async () => {
    const said: Array<string> = []
    const client = clientOf([operations, ...worlds])
    const agent = await namedAgent(client, "world", (text) => void said.push(text))
    assert.strictEqual(agent, "world-advertising")
    assert.lengthOf(said, 1)
    assert.include(said[0], "world-advertising; there are also world-credit")
  })

  it("any other is taken as it is, without a question", async () => {
    const client = clientOf(worlds)
    for (const name of ["operations", "world-credit", "nobody"]) {
      assert.strictEqual(await namedAgent(client, name, assert.fail), name)
    }
    assert.strictEqual(client.asked(), 0)
  })

  it("world stays where there is an agent of that name, or no world", async () => {
    for (const items of [[...worlds, { name: "world" }], [operations]]) {
      assert.strictEqual(await namedAgent(clientOf(items), "world", assert.fail), "world")
    }
  })
})
