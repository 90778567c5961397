/** What is seen of a run whose tools meet secrets, hosts and errors: model, journal, spans, logs and metrics. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { start } from "../../layers/compose/NodeService.ts"
import { calls, call, layer, text } from "../../layers/model/ScriptedModelGateway.ts"
import * as HttpRequestTool from "../../layers/calls/HttpRequestTool.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { ToolConfig } from "../../src/call/ToolConfig.ts"
import { AgentName } from "../../src/Ids.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { policyOf } from "../../src/permission/Policy.ts"
import { names, web } from "./Web.ts"

const authorization = "ApiKey canary-authorization"
const host = "canary-host.internal.example"
/** None may be seen; those of the upstream's bodies and of the scripts' streams too. */
const canaries = ["canary-authorization", "canary-token", "canary-body", "canary-stream"]

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

const direct = (name: string): ToolConfig => ({
  kind: "callback",
  name,
  call: { method: "POST", path: `/api/${name}` }
})
const code = (name: string, script: string): ToolConfig => ({
  type: "code",
  name,
  secrets: ["TOKEN"],
  script
})
const tools: ReadonlyArray<ToolConfig> = [
  direct("echo"),
  direct("detail"),
  direct("nested"),
  direct("html"),
  direct("moved"),
  { type: "gateway", integration: "github", action: "star", connection: "gh", name: "star" },
  { type: "reference", slug: "summarize", name: "summarize" },
  code("gives", "export default () => ({ got: process.env.TOKEN })"),
  code("throws", "export default () => { throw new Error(process.env.TOKEN) }"),
  code(
    "prints",
    'export default () => { console.log("canary-stream", process.env.TOKEN); console.error("canary-stream"); process.exit(3) }'
  )
]

interface Answer {
  readonly status?: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Quotes what it was sent and where it runs, in each place of an answer. */
const answers = (at: string): Readonly<Record<string, Answer>> => ({
  "/api/echo": { body: JSON.stringify({ sent: { [authorization]: authorization } }) },
  "/api/detail": {
    status: 422,
    body: JSON.stringify({ detail: `canary-authorization is not known at http://${at}/api/x` })
  },
  "/api/nested": {
    status: 500,
    body: JSON.stringify({
      detail: [{ key: authorization, url: `${host}/y` }],
      trace: "canary-body"
    })
  },
  "/api/html": { status: 502, body: `<html>canary-body ${authorization} ${at}</html>` },
  "/api/moved": {
    status: 307,
    body: "canary-body",
    headers: { location: `http://${at}/canary-body` }
  },
  "/api/tools/call": {
    body: JSON.stringify({
      call: {
        data: { content: `no ${authorization} at http://${at}/z` },
        status: { code: "STATUS_CODE_ERROR" }
      }
    })
  },
  "/api/workflows/invoke": { status: 503, body: JSON.stringify({ error: "canary-body", host }) },
  "/page": { body: `you are ${authorization}`, headers: { etag: `"canary-authorization"` } }
})

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
