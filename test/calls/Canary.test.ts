/** What is seen of a run whose tools meet secrets, hosts and errors: model, journal, spans, logs and metrics. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { calls, call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as HttpRequestTool from "../../layers/calls/HttpRequestTool.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { policyOf } from "../../src/permission/Policy.ts"
import { answers, authorization, canaries, host, tools } from "./Canaries.ts"
import { names, web } from "./Web.ts"

/** A collector of telemetry on this machine, with the texts that it was sent. */
const collector = Effect.acquireRelease(
  Effect.callback<{ readonly posted: Array<string>; readonly url: string; end: () => void }>(
    (resume) => {
      const posted: Array<string> = []
      const server = createServer((request, response) => {
        let body = ""
        request.on("data", (chunk: Buffer) => (body += chunk.toString()))
        request.on("end", () => {
          posted.push(body)
          response.end()
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        const end = () => void server.close()
        resume(Effect.succeed({ posted, url: `http://127.0.0.1:${port}`, end }))
      })
    }
  ),
  ({ end }) => Effect.sync(end)
)

const all = tools.map((tool) => String((tool as { readonly name?: string }).name))

/** One run that calls each of the tools, and a page with the credentials of its origin. */
const run = async (port: number, telemetry: string) => {
  const { resolve } = names({ [host]: ["127.0.0.1"] })
  const origin = `http://127.0.0.1:${port}`
  const requests: Array<ModelRequest> = []
  const model = layer((request) => {
    requests.push(request)
    if (requests.length > 1) return text("done")
    return calls([
      ...all.map((name) => call(name, {})),
      call("http_request", { url: `${origin}/page` })
    ])
  })
  const troupe = await start({
    agents: [
      AgentSpec.make({
        name: AgentName.make("keeper"),
        instructions: "Keep.",
        tools: [...all, "http_request"],
        capabilities: ["net.fetch"]
      })
    ],
    tools: [
      HttpRequestTool.tools({
        ports: [port],
        allow_ranges: ["127.0.0.1/32"],
        credentials: { [origin]: { authorization } }
      })
    ],
    toolConfigs: {
      tools,
      callback: {
        endpoint: `http://${host}:${port}/api/tools/call`,
        authorization: Redacted.make(authorization)
      },
      references: () => ({ revision: "r1", input_schema: { type: "object" } }),
      resolve,
      secrets: { TOKEN: Redacted.make("canary-token") }
    },
    policy: policyOf({ mode: "allow" }),
    telemetry: { endpoint: telemetry, protocol: "http/json" },
    model
  })
  const answer = await troupe.ask({ agent: "keeper", text: "go" })
  const events: Array<RunEvent> = []
  for await (const item of troupe.watch(answer.run)) {
    if (item._tag === "Event") events.push(item.entry.event)
    if (item._tag === "CaughtUp") break
  }
  await troupe.stop()
  return { answer, events, requests }
}

describe("a run whose tools meet secrets", () => {
  it.live(
    "AG-11 AG-41 shows none of them, no host and no upstream's body, in anything it says",
    () =>
      Effect.gen(function* () {
        const { posted, url } = yield* collector
        const server = yield* web((request, response) => {
          const {
            body,
            headers = {},
            status = 200
          } = answers(`${host}:${server.port}`)[request.url]!
          response.writeHead(status, { "content-type": "application/json", ...headers }).end(body)
        })
        const { answer, events, requests } = yield* Effect.promise(() => run(server.port, url))
        const sent = server.seen.map((each) => each.url).sort()
        assert.deepStrictEqual(sent, Object.keys(answers("")).sort())
        for (const each of server.seen)
          assert.strictEqual(each.headers["authorization"], authorization)
        const settled = events.filter(({ _tag }) => _tag === "CallSettled")
        assert.lengthOf(settled, tools.length + 1)
        // What a dispatch was bound to is journaled on purpose: where a call goes is the approver's to know.
        const journal = events.map((event) =>
          event._tag === "CallDispatched" ? { ...event, target: undefined } : event
        )
        const model = JSON.stringify(requests)
        assert.include(model, "is not known at [host]/api/x")
        assert.include(posted.join("\n"), "execute_tool")
        for (const [where, what] of Object.entries({
          model,
          journal: JSON.stringify(journal),
          answer: JSON.stringify(answer),
          telemetry: posted.join("\n")
        })) {
          for (const canary of [...canaries, host]) assert.notInclude(what, canary, where)
        }
      }).pipe(Effect.scoped)
  )
})
