/** A secret in the context of a run, which tools throw, return and show in every way: nothing that is seen of the run has it. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Cause, Effect, Redacted, Schema } from "effect"
import { afterEach, assert, describe, it, vi } from "vitest"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, calls, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { ToolTerminalError, ToolTransientError, ToolUserError } from "../../src/error/ToolError.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const secret = 'hunter2/of "olga" & ñ+7'
const login = "swordfish-of-olga"
const pin = "Zq9x"
const account = 900_125_003_777

/** What gives the secrets away, whole or in an encoding: as it is, in hex, and in base64 at each of three offsets. */
const traces = [
  "hunter2",
  "68756e74657232",
  "aHVudGVyM",
  "h1bnRlcjI",
  "odW50ZXIy",
  "swordfish",
  pin,
  String(account)
]

const Context = Schema.Struct({
  token: Schema.RedactedFromValue(Schema.String),
  pin: Schema.optionalKey(Schema.RedactedFromValue(Schema.String)),
  account: Schema.optionalKey(Schema.RedactedFromValue(Schema.FiniteFromString)),
  login: Schema.optionalKey(
    Schema.Struct({
      kind: Schema.String,
      password: Schema.RedactedFromValue(Schema.Trim)
    })
  )
})
const context = {
  token: secret,
  pin,
  account: String(account),
  login: { kind: "basic", password: ` ${login}\n` }
}

const base64 = (value: string) => Buffer.from(value).toString("base64")
type Known = { readonly token: string; readonly rest: string }
type Leak = (known: Known, call: { readonly show: (value: unknown) => void }) => unknown

/** Somebody watches the run. What is shown of a call reaches only those who watch already. */
const watching = Promise.withResolvers<void>()

const failing = (error: unknown): never => {
  throw error
}

/** How each tool gives a secret away; its name is the tool's. */
const reads: Readonly<Record<string, Leak>> = {
  throws: ({ token }) => failing(new Error(`401 for ${token}`)),
  throws_text: ({ token }) => failing(`401 for ${token}`),
  throws_object: ({ token }) => failing({ toString: () => token }),
  throws_cause: ({ token }) => failing(new Error("no", { cause: new TypeError(token) })),
  throws_named: ({ token }) => failing(Object.assign(new Error("no"), { name: token })),
  rejects: ({ token }) => Promise.reject(new Error(JSON.stringify({ token }))),
  refuses: ({ token }) =>
    failing(new ToolUserError({ message: `no ${encodeURIComponent(token)}` })),
  fails: ({ token }) => Effect.fail(new ToolTerminalError({ message: base64(`olga:${token}`) })),
  dies: ({ token }) => Effect.die(new Error(token)),
  gives: ({ rest, token }) => ({ [token]: [token, { rest }] }),
  gives_json: ({ rest, token }) => JSON.stringify({ inner: JSON.stringify({ token, rest }) }),
  gives_url: ({ token }) => `https://h/?${new URLSearchParams({ token }).toString()}`,
  gives_lower: ({ token }) =>
    encodeURIComponent(token).replace(/%../g, (escape) => escape.toLowerCase()),
  gives_base64: ({ token }) => ["", "a", "ab"].map((before) => base64(`${before}${token}.`)),
  gives_base64url: ({ token }) => Buffer.from(`>>${token}`).toString("base64url"),
  gives_hex: ({ token }) => Buffer.from(token).toString("hex"),
  gives_html: ({ token }) => `<b>${token.replaceAll("&", "&amp;").replaceAll('"', "&quot;")}</b>`,
  gives_number: () => ({ account, text: `of ${account}`, pin: `pin: ${pin}.` }),
  shows: async ({ token }, { show }) => {
    await watching.promise
    show({ token, rest: [token] })
    return "shown"
  },
  spans: ({ token }) =>
    Effect.fail(new ToolUserError({ message: token })).pipe(
      Effect.withSpan(`asks ${token}`, { attributes: { token, list: [token] } })
    ),
  logs: ({ token }) =>
    Effect.as(Effect.logError("told", token, { token }, new Error(token)), "logged"),
  logs_cause: ({ token }) =>
    Effect.as(Effect.logError("told", Cause.die(new Error(token))), "logged")
}

const readContext = (given: typeof Context.Type): Known => ({
  token: Redacted.value(given.token),
  rest: given.login === undefined ? "" : Redacted.value(given.login.password)
})

const leaking = (name: string, leak: Leak, more: object = { side_effects: "read" as const }) =>
  tool(
    {
      namespace: "w",
      name,
      description: "It is told a secret.",
      context: Context,
      input: Schema.Struct({}),
      output: Schema.Json,
      permission: "allow",
      ...(more as { readonly side_effects: "read" })
    },
    (_, given) => leak(readContext(given.context), given) as never
  )

/** A schema whose refusal quotes what it refuses. */
const Quoting = Schema.String.check(Schema.makeFilter((given) => `not ${given}`))

const others = [
  leaking("writes", reads["throws"]!, { side_effects: "write" }),
  leaking("pays", reads["gives"]!, { side_effects: "external" }),
  leaking("retries", ({ token }) => failing(new ToolTransientError({ message: token })), {
    side_effects: "read",
    retry: {
      max_attempts: 2,
      backoff_initial_ms: 1,
      backoff_max_ms: 1,
      retry_on_kinds: ["external"]
    }
  }),
  leaking("checks", () => "never", {
    side_effects: "read",
    precondition: (_: unknown, given: { readonly context: typeof Context.Type }) =>
      failing(new ToolUserError({ message: readContext(given.context).token }))
  }),
  leaking("unfit", ({ token }) => token, { side_effects: "read", output: Quoting })
]
const names = [...Object.keys(reads), "writes", "pays", "retries", "checks", "unfit"]

/** The texts that a collector of telemetry was sent. */
const collector = async () => {
  const posted: Array<string> = []
  const server = createServer((request, response) => {
    request.on("data", (chunk: Buffer) => posted.push(chunk.toString()))
    request.on("end", () => response.end())
  })
  await new Promise<void>((resume) => void server.listen(0, "127.0.0.1", resume))
  const { port } = server.address() as AddressInfo
  return { posted, url: `http://127.0.0.1:${port}`, end: () => server.close() }
}

/** Everything that is printed from now on. */
const printed = () => {
  const lines: Array<string> = []
  const keep = (...args: ReadonlyArray<unknown>) => {
    lines.push(args.map((each) => (typeof each === "string" ? each : JSON.stringify(each))).join())
  }
  for (const method of ["log", "error", "warn", "info", "debug"] as const) {
    vi.spyOn(console, method).mockImplementation(keep)
  }
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, "write").mockImplementation((chunk) => (keep(String(chunk)), true))
  }
  return lines
}

const watched = async (troupe: NodeService, run: string) => {
  const seen: Array<unknown> = []
  for await (const item of troupe.watch(run)) {
    if (item._tag === "CaughtUp") watching.resolve()
    seen.push(item)
  }
  return seen
}

const service = (requests: Array<unknown>, more: object = {}) =>
  start({
    agents: [AgentSpec.make({ name: "keeper", instructions: "Keep.", tools: names })],
    tools: [...Object.entries(reads).map(([name, leak]) => leaking(name, leak)), ...others],
    model: layer((request) => {
      requests.push(request)
      return requests.length > 1 ? text("done") : calls(names.map((name) => call(name, {})))
    }),
    observe: { record: true },
    ...more
  })

afterEach(() => void vi.restoreAllMocks())

describe("a secret in a run's context", () => {
  it("is in nothing that is seen of the run, whatever its tools do with it", async () => {
    const { end, posted, url } = await collector()
    const requests: Array<unknown> = []
    const lines = printed()
    const troupe = await service(requests, {
      telemetry: { endpoint: url, protocol: "http/json" }
    })
    const { run } = await troupe.send({ agent: "keeper", text: "go", context })
    const feed = watched(troupe, run)
    await troupe.result(run)
    const seen = {
      feed: JSON.stringify(await feed),
      records: JSON.stringify(await troupe.records(run)),
      model: JSON.stringify(requests)
    }
    await troupe.stop()
    end()
    vi.restoreAllMocks()
    const all = { ...seen, log: lines.join("\n"), spans: posted.join("\n") }
    for (const [where, said] of Object.entries(all)) {
      for (const trace of traces) {
        const at = said.indexOf(trace)
        assert.isBelow(
          at,
          0,
          `${where} has ${trace}: ${said.slice(Math.max(0, at - 200), at + 60)}`
        )
      }
    }
    // Each of them said something, and what is left of it stands.
    for (const name of names) assert.include(seen.model, `"${name}"`)
    assert.include(seen.model, "[secret]")
    assert.include(seen.feed, "[secret]")
    assert.include(seen.feed, '"_tag":"Output"')
    assert.include(all.log, "401 for [secret]")
    assert.include(all.spans, "asks [secret]")
  })
})
