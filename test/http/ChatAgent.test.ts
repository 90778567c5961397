/** Which agent the terminal client talks with. */
import { assert, describe, it } from "vitest"
import { Schema } from "effect"
import { namedAgent } from "../../scripts/chat/Session.ts"
import { ApiClient, ApiError } from "../../scripts/chat/ApiClient.ts"

/** A client that is given these agents. */
const clientOf = (items: ReadonlyArray<object>) => {
  const call: ApiClient["call"] = async (path, answer) => {
    assert.strictEqual(path, "/v1/agents")
    return Schema.decodeUnknownSync(answer)({ items })
  }
  return { call }
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

  it("any other is that of an agent, of this kind too", async () => {
    const client = clientOf([operations, { name: "world" }, ...worlds])
    for (const name of ["operations", "world-credit", "world"]) {
      assert.strictEqual(await namedAgent(client, name, assert.fail), name)
    }
  })

  it("is refused where there is none, with those that there are", async () => {
    const refusals = [
      ["nobody", [operations, ...worlds], "operations, world-credit, world-advertising."],
      ["Operations", [operations], "operations."],
      ["world", [operations], "operations."]
    ] as const
    for (const [name, items, names] of refusals) {
      const refused = await namedAgent(clientOf(items), name, assert.fail).catch(
        (error: unknown) => error
      )
      assert.instanceOf(refused, ApiError)
      assert.strictEqual(refused.message, `There is no agent "${name}". There is: ${names}`)
    }
  })

  it("is left to the service where its agents are not told, and nothing else is", async () => {
    const refusing = (status?: number) => ({
      call: () => Promise.reject(new ApiError("refused", status))
    })
    assert.strictEqual(await namedAgent(refusing(403), "shop", assert.fail), "shop")
    for (const status of [undefined, 401, 500]) {
      const refused = await namedAgent(refusing(status), "shop", assert.fail).catch(() => "refused")
      assert.strictEqual(refused, "refused")
    }
  })
})
