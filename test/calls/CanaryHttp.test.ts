/**
 * What is seen over HTTP of a run whose tools meet secrets, hosts and errors: every answer, event, problem document, metric and
 * log line.
 */
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Layer, Logger, Redacted, References } from "effect"
import { HttpApi } from "effect/http-api"
import * as CodeTool from "../../layers/builtin/CodeTool.ts"
import * as ConfiguredTools from "../../layers/calls/ConfiguredTools.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as TokenCredentials from "../../layers/runtime/directory/TokenCredentials.ts"
import * as HttpService from "../../layers/http/server/HttpService.ts"
import * as HttpSettings from "../../layers/http/boundary/HttpSettings.ts"
import * as NodeServer from "../../layers/http/server/NodeServer.ts"
import {
  call,
  calls,
  layer as scripted,
  text
} from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { TroupeApi } from "../../src/operation/TroupeApi.ts"
import type { ToolConfig } from "../../src/call/ToolConfig.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { policyOf } from "../../src/permission/Policy.ts"
import type { Answer, SseEvent, Who } from "../http/Service.ts"
import { ask, credentials, listen } from "../http/Service.ts"
import { answers, authorization, canaries, direct, host, tools } from "./Canaries.ts"
import { names, web } from "./Web.ts"

const isCode = (config: ToolConfig) => "type" in config && config.type === "code"
const called: ReadonlyArray<ToolConfig> = [
  ...tools.filter((config) => !isCode(config)),
  { ...direct("asked"), permission: "ask" },
  direct("lost")
]
const outcomes = ["asked", "lost", "unauthorized", "bound"]
const all = [...tools.map((tool) => String((tool as { readonly name?: string }).name)), ...outcomes]

const keeper = AgentSpec.make({
  name: AgentName.make("keeper"),
  instructions: "Keep.",
  tools: all
})

/** A host's function that fails with what nobody may read. */
const fails = (): never => {
  throw new Error(`canary-token of ${authorization} at https://${host}/canary-body`)
}

/** The server, with every line that it logs at any level. */
const service = (port: number, lines: Array<string>) => {
  const callback = { endpoint: `http://${host}:${port}/api/tools/call` }
  const { resolve } = names({ [host]: ["127.0.0.1"] })
  const bound = { method: "POST", path: "/api/bound", context: { id: "$ctx.session.id" } } as const
  const families = [
    ConfiguredTools.tools({
      tools: called,
      callback: { ...callback, authorization: Redacted.make(authorization) },
      references: () => ({ revision: "r1", input_schema: { type: "object" } }),
      resolve
    }),
    ConfiguredTools.tools({
      tools: [direct("unauthorized")],
      callback: { ...callback, authorization: fails },
      resolve
    }),
    ConfiguredTools.tools({
      tools: [{ kind: "callback", name: "bound", call: bound }],
      callback,
      context: fails,
      resolve
    }),
    CodeTool.tools({
      tools: tools.filter(isCode),
      secrets: { TOKEN: Redacted.make("canary-token") }
    })
  ]
  const model = scripted(({ transcript }) =>
    transcript.some(({ role }) => role === "tool")
      ? text("done")
      : calls(all.map((name) => call(name, {})))
  )
  const logger = Logger.make(({ cause, fiber, message }) => {
    const annotations = fiber.getRef(References.CurrentLogAnnotations)
    lines.push(`${JSON.stringify(message)} ${JSON.stringify(annotations)} ${Cause.pretty(cause)}`)
  })
  return HttpService.layer.pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        Runtime.layer({ agents: [keeper], tools: families, policy: policyOf({ mode: "allow" }) }),
        TokenCredentials.layer(credentials)
      ).pipe(
        Layer.provideMerge(Layer.mergeAll(model, Stores.ephemeral, NodeCrypto.layer)),
        Layer.orDie
      )
    ),
    Layer.provideMerge(Layer.orDie(NodeServer.layer({ port: 0 }))),
    Layer.provide(
      Layer.succeed(HttpSettings.HttpSettings, {
        ...HttpSettings.defaults,
        customer_agents: [keeper.name]
      })
    ),
    Layer.provideMerge(
      Layer.mergeAll(
        Logger.layer([logger]),
        Layer.succeed(References.MinimumLogLevel, "All" as const)
      )
    )
  )
}

/** Every page of the API that has no id in its path, and those beside it. */
const pages = (): ReadonlyArray<string> => {
  const found = ["/openapi.json", "/docs", "/metrics"]
  HttpApi.reflect(TroupeApi, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint: { method, path } }) => {
      if (method === "GET" && !path.includes(":")) found.push(path)
    }
  })
  return found
}

/** Asks again until the answer fits. */
const until = Effect.fnUntraced(function* (
  path: string,
  as: Who,
  fits: (answer: Answer) => boolean
) {
  for (;;) {
    const answer = yield* ask(path, { as })
    if (fits(answer)) return answer
    yield* Effect.sleep("20 millis")
  }
})

/** The members of a JSON value whose texts contain a word. */
const membersWith = (value: unknown, word: string, name = ""): ReadonlyArray<string> => {
  if (typeof value === "string") return value.includes(word) ? [name] : []
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([key, member]) =>
    membersWith(member, word, Array.isArray(value) ? name : key)
  )
}

interface Seen {
  readonly where: string
  readonly who: Who | undefined
  readonly text: string
  readonly json: unknown
}

/** Follows one run to its end as every kind of person, and gives all that they were shown. */
const follow = Effect.gen(function* () {
  const seen: Array<Seen> = []
  const look = Effect.fnUntraced(function* (
    path: string,
    as?: Who,
    options: { readonly json?: unknown } = {}
  ) {
    const answer = yield* ask(path, { ...options, as })
    const headers = JSON.stringify([...answer.headers])
    seen.push({ where: path, who: as, text: `${headers} ${answer.text}`, json: answer.json })
    return answer
  })
  const sent = yield* look("/v1/messages", "carl", { json: { agent: "keeper", text: "go" } })
  assert.strictEqual(sent.status, 202, sent.text)
  const conversation = `/v1/conversations/${sent.json.conversation_id}`
  const run = `/v1/runs/${sent.json.task_id}`
  const staff = yield* listen(`${conversation}/events`, { as: "olga" })
  const customer = yield* listen(`${conversation}/events`, { as: "carl" })
  const { json } = yield* until("/v1/approvals", "ada", (answer) => answer.json.items.length > 0)
  const approval = `/v1/approvals/${json.items[0].id}`
  yield* look("/v1/approvals", "ada")
  yield* look(approval, "ada")
  const decided = yield* look(`${approval}/decision`, "ada", { json: { decision: "approve" } })
  assert.strictEqual(decided.status, 200, decided.text)
  yield* until(run, "olga", (answer) => answer.json.unknown_calls?.length > 0)
  yield* look("/v1/runs?waiting=unknown", "olga")
  const { unknown_calls } = (yield* look(run, "olga")).json
  assert.lengthOf(unknown_calls, 1)
  const settlement = { call: unknown_calls[0].call, outcome: { failed: "nobody knows" } }
  yield* look(`${run}/settle`, "olga", { json: settlement })
  yield* until(run, "olga", (answer) => answer.json.status === "complete")
  // Everybody looks at everything, also where they may not; and what is asked for again or wrongly is a problem.
  for (const who of ["vera", "ada", "olga", "admin", "carl", undefined] as const) {
    for (const page of [...pages(), conversation, run, `${run}/events`, approval]) {
      yield* look(page, who)
    }
    yield* look(`${approval}/decision`, who, { json: { decision: "approve" } })
    yield* look(`${run}/settle`, who, { json: settlement })
    yield* look(`${run}/settle`, who, { json: { call: "nowhere" } })
    yield* look("/v1/messages", who, { json: { agent: "keeper", text: 5 } })
  }
  for (const [who, stream] of [
    ["olga", staff],
    ["carl", customer]
  ] as const) {
    let event: SseEvent
    do {
      event = yield* stream.next
      const where = `${conversation}/events`
      seen.push({ where, who, text: JSON.stringify(event), json: event })
    } while (!JSON.stringify(event.data).includes("RunEnded"))
  }
  return { run, seen }
})

describe("a run whose tools meet secrets, over HTTP", () => {
  it.live(
    "AG-11 AG-41 shows none of them and no upstream's body to anybody, and where calls go to staff alone",
    () =>
      Effect.gen(function* () {
        const lines: Array<string> = []
        const server = yield* web((request, response) => {
          if (request.url === "/api/lost") return void response.destroy()
          const at = `${host}:${server.port}`
          const answer = request.url === "/api/asked" ? "/api/nested" : request.url
          const { body, headers = {}, status = 200 } = answers(at)[answer]!
          response.writeHead(status, { "content-type": "application/json", ...headers }).end(body)
        })
        const { run, seen } = yield* Effect.provide(follow, service(server.port, lines))
        const sent = new Set(server.seen.map(({ url }) => url))
        assert.isTrue(sent.has("/api/asked") && sent.has("/api/lost") && sent.has("/api/detail"))
        assert.isFalse(sent.has("/api/unauthorized") || sent.has("/api/bound"))

        const events = seen.find((each) => each.where === `${run}/events` && each.who === "olga")
        assert.include(events?.text, "is not known at [host]/api/x")
        assert.include(events?.text, "NO_AUTHORIZATION")
        assert.include(events?.text, "MISSING_RUN_CONTEXT")
        assert.include(seen.map((each) => each.text).join(), "application/problem+json")
        assert.isAbove(lines.length, 0)
        for (const canary of canaries) {
          for (const { text: said, where, who } of seen) {
            assert.notInclude(said, canary, `${where} for ${who}`)
          }
          assert.notInclude(lines.join("\n"), canary, "a log line")
        }

        // Who decides and who operates reads where a call goes, in the two members that are for that, and nowhere else.
        const places = new Set<string>()
        for (const { json, text: said, where, who } of seen) {
          if (who === "carl" || who === undefined)
            assert.notInclude(said, host, `${where} for ${who}`)
          const members = membersWith(json, host)
          if (members.length === 0) assert.notInclude(said, host, `${where} for ${who}`)
          for (const member of members) places.add(member)
        }
        assert.deepStrictEqual([...places].toSorted(), ["effect_description", "target"])
        assert.notInclude(lines.join("\n"), host, "a log line")
      }).pipe(Effect.scoped),
    60_000
  )
})
