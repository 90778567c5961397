/**
 * Numbers and texts of an MCP server come as they are: in structured content digit by digit, whatever the official client makes
 * of them, and elsewhere they stop nothing.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { resultText } from "../../src/conversation/Transcript.ts"
import { isKept, numbers, illFormed } from "../entry/NumberCorpus.ts"
import * as S from "./Servers.ts"
import { at, small } from "./SmallServer.ts"

const all = `[${numbers.join(",")}]`
const expected = `[${numbers
  .map((number) => (isKept(number) ? JSON.stringify(JSON.parse(number)) : number))
  .join(",")}]`
const structured = `{"all":${all},"texts":${JSON.stringify(illFormed)}}`
const said = `{"all":${expected},"texts":${JSON.stringify(illFormed)}}`

const tool = {
  inputSchema: {
    type: "object",
    properties: { n: { type: "number", maximum: 2 ** 63 } }
  },
  outputSchema: {
    type: "object",
    properties: { all: { type: "array", items: { type: "number" } } },
    required: ["all"]
  }
}

describe.each(["json", "events"] as const)("an answer of a server as %s", (form) => {
  const answered = small(
    (_, response, { id }) => {
      const text = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"structuredContent":${structured}}}`
      const type = form === "json" ? "application/json" : "text/event-stream"
      response.writeHead(200, { "content-type": type })
      response.end(form === "json" ? text : `event: message\ndata: ${text}\n\n`)
    },
    {
      tool,
      instead: (_, response, body) => {
        const { id, method } = JSON.parse(body || "{}") as { id?: unknown; method?: string }
        if (method !== "tools/list") return false
        // The text has the digits that a schema of 64-bit integers has.
        const listed = { jsonrpc: "2.0", id, result: { tools: [{ name: "look", ...tool }] } }
        response.writeHead(200, { "content-type": "application/json" })
        response.end(JSON.stringify(listed).replace("9223372036854776000", "9223372036854775807"))
        return true
      }
    }
  )

  it.live("has the numbers that it was sent with, and fits the schema of numbers", () =>
    Effect.gen(function* () {
      const { port } = yield* answered
      const value = yield* S.callBody("web.look@1").pipe(Effect.provide(S.importing(at(port))))
      assert.strictEqual(JSON.stringify(value), said)
      const outcome = { _tag: "Value", json: JSON.stringify(value) } as const
      const shown = resultText({
        role: "tool",
        call: "0/1.0" as never,
        model_id: "x",
        name: "look",
        outcome
      })
      assert.include(shown, "9007199254740993")
    }).pipe(Effect.scoped)
  )
})
