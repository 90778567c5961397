/**
 * Each operation over HTTP and by its method: as each kind of principal, with inputs that fit and inputs that do not. There are two
 * services that were started alike, one for each surface, and both give the same.
 */
import { Effect, Result, Schema } from "effect"
import { setTimeout } from "node:timers/promises"
import type { Input, Name } from "./Inputs.ts"
import { cases, its_conversation, its_question, its_run, none } from "./Inputs.ts"
import { isDeepStrictEqual } from "node:util"
import { assert, describe, it } from "vitest"
import { start } from "../../layers/compose/entries/Embed.ts"
import { createClient, TroupeError } from "../../layers/compose/entries/Client.ts"
import { call, scripted, text } from "../../layers/compose/entries/Testing.ts"
import { operations } from "../../layers/service/ServiceOperations.ts"
import type { Served } from "../../layers/service/Served.ts"
import { service_principal } from "../../layers/compose/promises/ServicePrincipal.ts"
import type { problemOf } from "../../layers/http/boundary/Problems.ts"
import type { PortError } from "../../layers/service/PortError.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { tool } from "../../src/index.ts"
import { originOfCall } from "../../src/memory/MemoryRow.ts"
import type { Operation } from "../../src/operation/Operation.ts"
import { argumentsOf } from "../../src/operation/Operation.ts"
import { TroupeApi } from "../../src/operation/TroupeApi.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { Principal } from "../../src/principal/Principal.ts"
import type { DeclaredRoles } from "../../src/principal/Rights.ts"
import { isLimitedToOwn, principalIn, rightRefusal } from "../../src/principal/Rights.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"

const person = (id: string, tenant: string, ...roles: ReadonlyArray<Role>) =>
  new Principal({ id, tenant: Tenant.make(tenant), roles })

/** Beside the common ones. */
const roles = {
  auditor: { inspect: "all", follow: "all", decide: "named", stopTools: "all", issueTokens: "all" },
  releaser: { decide: "all", redeliver: "all", readNotices: "own" }
} as const
const declared: DeclaredRoles = new Map(Object.entries(roles))

const admin = person("admin", "acme", "admin")
const carl = person("carl", "acme", "customer")
const people: ReadonlyArray<Principal> = [
  admin,
  person("olga", "acme", "operator"),
  person("ada", "acme", "approver"),
  person("vera", "acme", "viewer"),
  person("pia", "acme", "publisher"),
  carl,
  person("carla", "acme", "customer"),
  person("nemo", "acme"),
  person("eve", "globex", "admin"),
  person("cora", "globex", "customer"),
  principalIn(declared, person("audrey", "acme", "auditor")),
  principalIn(declared, person("rita", "globex", "viewer", "releaser"))
]
const tokenOf = ({ id }: Principal) => `token-of-${id}-0123456789`

const shop = AgentSpec.make({
  name: AgentName.make("shop"),
  instructions: "Help.",
  tools: ["refund", "read", "note"]
})
const note = tool(
  {
    namespace: "shop",
    name: "note",
    side_effects: "write",
    permission: "allow",
    input: Schema.Struct({ text: Schema.String }),
    dependencies: [AgentMemory]
  },
  ({ text }, made) =>
    AgentMemory.use((memory) =>
      memory.remember({ text, tier: "persistent" }, originOfCall(made, "tool"))
    ).pipe(Effect.as("noted"), Effect.orDie)
)
const tools = (["external", "read"] as const).map((side_effects) =>
  tool(
    {
      namespace: "shop",
      name: side_effects === "read" ? "read" : "refund",
      description: "About an order.",
      side_effects,
      // What is reached "if named" is reached.
      approvers: ["viewer", "approver", "operator", "customer", "auditor"],
      input: Schema.Struct({ order: Schema.String })
    },
    () => Promise.resolve("done")
  )
)

/** A service in which a run of `acme` has ended. */
const started = async () => {
  const troupe = await start({
    agents: [shop],
    roles,
    tools: [...tools, note],
    observe: { record: true },
    customer_agents: ["shop"],
    model: scripted(({ transcript: [first, ...more] }) =>
      first?.role === "user" && first.text === "refund" && more.length === 0
        ? call("refund", { order: "7" })
        : more.length === 0
          ? call("note", { text: "The store opens at nine" })
          : text("Good morning.")
    ),
    telemetry: false,
    http: {
      tokens: people.map((who) => ({ token: tokenOf(who), principal: who })),
      settings: { requests_principal_per_minute: 10_000, requests_tenant_per_minute: 10_000 }
    }
  })
  const { conversation, run } = await troupe.ask({ agent: "shop", text: "hello" }, carl)
  while ((await troupe.records(run, {}, admin)).length === 0) await setTimeout(5)
  const asked = await troupe.ask({ agent: "shop", text: "refund" }, admin)
  if (asked.status !== "awaiting_approval") throw new Error(asked.status)
  return {
    troupe,
    its: {
      [its_run]: run,
      [its_conversation]: conversation,
      [its_question]: asked.approvals[0]!.id
    }
  }
}
type Started = Awaited<ReturnType<typeof started>>

/** The statuses that every request may get. */
type Common = 400 | 401 | 403 | 413 | 415 | 429 | 500 | 503
type StatusOf<E> = E extends PortError ? ReturnType<typeof problemOf<E>>["status"] : "no problem"
type DeclaredBy<O> = O extends { readonly problems: ReadonlyArray<infer Status> } ? Status : never
/** The statuses of an operation's errors that it does not declare. */
type Misfit<S> =
  S extends Served<infer O, infer E, infer _R>
    ? Exclude<StatusOf<E>, Common | DeclaredBy<O>>
    : "no operation"
type Misfits = {
  readonly [N in Name as [Misfit<(typeof operations)[N]>] extends [never] ? never : N]: Misfit<
    (typeof operations)[N]
  >
}

const isOf = (value: unknown): boolean =>
  [its_run, its_conversation, its_question].some((each) => each === value)

interface Outcome {
  /** The tag of the error, as far as both surfaces say it. */
  readonly error?: string
  readonly value?: unknown
}

/** Ids, times and keys differ between two services. */
const comparable = (value: unknown): unknown =>
  JSON.parse(
    (JSON.stringify(value) ?? "null")
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "an id")
      .replaceAll(/(troupe_)?[0-9a-f]{32,}|whsec_[A-Za-z0-9+/=]{44}/g, "a key")
      .replaceAll(/\b1[0-9]{12}([0-9]{6})?\b/g, "1")
      .replaceAll(/"duration_ms":[0-9]+/g, '"duration_ms":0')
  )

const filled = (input: Input, { its }: Started): Input =>
  Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, its[value as keyof typeof its] ?? value])
  )

const byMethod = async (
  on: Started,
  name: Name,
  given: Input,
  by: Principal | undefined
): Promise<Outcome> => {
  const args = argumentsOf(operations[name].operation, filled(given, on), by)
  const method = on.troupe[name] as (...args: ReadonlyArray<unknown>) => Promise<unknown>
  try {
    return { value: comparable((await method(...Result.getOrThrow(args))) ?? null) }
  } catch (error) {
    return { error: (error as { readonly _tag: string })._tag }
  }
}

/** What a problem is called where the boundary refuses, before an effect does. */
const refused: Readonly<Record<string, string>> = {
  forbidden: "NotEntitled",
  "invalid-request": "InvalidInput",
  "not-in-quarantine": "RunNotQuarantined"
}
const tagOf = (type: string): string => {
  const name = type.replace("urn:troupe:problem:", "")
  return (
    refused[name] ?? name.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase())
  )
}

const overHttp = async (
  on: Started,
  name: Name,
  given: Input,
  by: Principal | undefined
): Promise<Outcome> => {
  const { gives, method, params, path, payload }: Operation = operations[name].operation
  const input = filled(given, on)
  const inPath = Object.keys(params?.fields ?? {})
  const rest = Object.entries(input).filter(([key]) => !inPath.includes(key))
  const at = inPath.reduce((all, key) => all.replace(`:${key}`, String(input[key])), path as string)
  const query =
    payload === undefined
      ? new URLSearchParams(rest.map(([key, value]): [string, string] => [key, String(value)]))
      : ""
  // An event is the body itself.
  const isEvent = name === "publish"
  const type = isEvent ? "application/cloudevents+json" : "application/json"
  const response = await on.troupe.handler(
    new Request(`http://localhost${at}${query.toString() === "" ? "" : `?${query.toString()}`}`, {
      method,
      headers: {
        ...(by === undefined ? undefined : { authorization: `Bearer ${tokenOf(by)}` }),
        ...(payload === undefined ? undefined : { "content-type": type })
      },
      ...(payload === undefined
        ? undefined
        : { body: JSON.stringify(isEvent ? input["event"] : Object.fromEntries(rest)) })
    })
  )
  const body = await response.text()
  const json: unknown = body === "" ? null : JSON.parse(body)
  if (!response.ok) return { error: tagOf((json as { readonly type: string }).type) }
  return { value: comparable(gives === undefined ? json : (json as Input)[gives]) }
}

/** The same by the client of the API, whose ids are checked before they are sent. */
const byClient = async (on: Started, name: Name, given: Input, by: Principal): Promise<Outcome> => {
  const client = createClient({
    url: "http://localhost",
    token: tokenOf(by),
    fetch: (url, init) => on.troupe.handler(new Request(url, init))
  })
  const { gives, success }: Operation = operations[name].operation
  const args = Result.getOrThrow(argumentsOf(operations[name].operation, filled(given, on), by))
  const method = client[name] as (...args: ReadonlyArray<unknown>) => Promise<unknown>
  try {
    const found = await method(...args.filter((each) => each !== by))
    const value = success === undefined ? null : found
    return { value: comparable(gives === undefined ? value : (value as Input)[gives]) }
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error
    const { _tag, problem } = error
    return { error: problem === undefined ? _tag : tagOf(problem.type) }
  }
}

describe("an operation", () => {
  it("gives the same by the client as over HTTP", async () => {
    const [one, two] = await Promise.all([started(), started()])
    const differ: Array<unknown> = []
    let compared = 0
    for (const [name, inputs] of Object.entries(cases) as ReadonlyArray<
      [Name, (typeof cases)[Name]]
    >) {
      for (const [given] of inputs) {
        // The client gives each fork a key, by which its conversation is named.
        const input = name === "fork" ? { ...given, idempotency_key: "key-1" } : given
        for (const by of [admin, carl]) {
          const asked = await overHttp(one, name, input, by)
          const called = await byClient(two, name, input, by)
          if (!isDeepStrictEqual(called, asked))
            differ.push({ name, input, by: by.id, called, asked })
          compared++
        }
      }
    }
    await Promise.all([one.troupe.stop(), two.troupe.stop()])
    assert.deepStrictEqual(differ, [])
    assert.isAtLeast(compared, 100)
  }, 60_000)

  it("gives the same over HTTP and by its method, to everybody", async () => {
    const [one, two] = await Promise.all([started(), started()])
    const differ: Array<unknown> = []
    const unexpected: Array<unknown> = []
    let compared = 0
    for (const [name, inputs] of Object.entries(cases) as ReadonlyArray<
      [Name, (typeof cases)[Name]]
    >) {
      for (const [input, gives] of inputs) {
        for (const by of people) {
          const called = await byMethod(one, name, input, by)
          const asked = await overHttp(two, name, input, by)
          const at = { name, input, by: `${by.id} of ${by.tenant}` }
          if (!isDeepStrictEqual(called, asked)) differ.push({ ...at, called, asked })
          const isRefused = called.error === "NotEntitled"
          // Who is of another tenant, or is another customer, gets nothing for the ids of these.
          const isForeign = by.tenant !== admin.tenant || by.id === "carla"
          const isTheirs = isForeign && Object.values(input).some((each) => isOf(each))
          if (isTheirs && called.error === undefined && !isDeepStrictEqual(called.value, []))
            unexpected.push({ ...at, called })
          const lacks =
            rightRefusal(by, operations[name].operation.right) !== undefined ||
            // A member that customers may not set.
            ("metadata" in input && gives === "value" && isLimitedToOwn(by, "send")) ||
            // Not only its own.
            (name === "cancelRuns" && gives === "value" && isLimitedToOwn(by, "cancel")) ||
            // Whose budgets a customer may not ask for.
            (name === "budgets" && "customer" in input && isLimitedToOwn(by, "follow"))
          if (isRefused !== lacks || (by === admin && gives !== (called.error ?? "value")))
            unexpected.push({ ...at, called })
          compared++
        }
      }
    }
    await Promise.all([one.troupe.stop(), two.troupe.stop()])
    assert.deepStrictEqual(differ, [])
    assert.deepStrictEqual(unexpected, [])
    assert.isAtLeast(compared, 300)
  }, 60_000)

  it("names a wrong argument of its method, and a wrong member by its part of the request", async () => {
    const { troupe } = await started()
    const fieldOf = (promise: Promise<unknown>) =>
      promise.then(
        () => "none",
        ({ field }: { readonly field?: string }) => field
      )
    assert.deepStrictEqual(
      await Promise.all([
        fieldOf(troupe.revokeToken("x", admin)),
        fieldOf(troupe.replayDeadLetter(none, "", admin)),
        fieldOf(troupe.tokens({ limit: 0 }, admin)),
        fieldOf(troupe.createToken({ name: "n", roles: [] }, admin)),
        fieldOf(troupe.createToken(null as never, admin)),
        fieldOf(troupe.stopTools(true, undefined as never))
      ]),
      ["id", "reason", "query.limit", "payload.roles", "payload", "by"]
    )
    await troupe.stop()
  })

  it("asks who it is: HTTP for a token, a method unless it reads for the service", async () => {
    const [one, two] = await Promise.all([started(), started()])
    for (const [name, [[input]]] of Object.entries(cases) as unknown as ReadonlyArray<
      [Name, readonly [(typeof cases)[Name][number]]]
    >) {
      assert.deepStrictEqual(await overHttp(one, name, input, undefined), { error: "Unauthorized" })
      const isRead = operations[name].operation.method === "GET"
      assert.deepStrictEqual(
        await byMethod(one, name, input, undefined),
        isRead ? await byMethod(two, name, input, service_principal) : { error: "InvalidInput" },
        name
      )
    }
    await Promise.all([one.troupe.stop(), two.troupe.stop()])
  })

  it("is on both surfaces, but for what is listed here", () => {
    const derived = Object.values(operations).map(
      ({ operation }) => `${operation.method} ${operation.path}`
    )
    // Their methods have types of their own: `send`, `ask` and `stream`; `watch`.
    const written = [
      "POST /v1/messages",
      "POST /v1/conversations/:id/messages",
      "GET /v1/conversations/:id/events"
    ]
    const alone: Readonly<Record<string, string>> = {
      "POST /v1/files": "a message of `send` brings its bytes itself",
      "GET /health": "whoever has the process knows that it lives",
      "GET /ready": "`start` resolves when it is"
    }
    // Those of the reference application.
    const groups = Object.values(TroupeApi.groups).filter(
      ({ identifier }) => !["records", "drafts"].includes(identifier)
    )
    const declared = groups.flatMap(({ endpoints }) =>
      Object.values(endpoints as Record<string, { method: string; path: string }>).map(
        ({ method, path }) => `${method} ${path}`
      )
    )
    assert.sameMembers([...derived, ...written, ...Object.keys(alone)], declared)
    assert.sameMembers(Object.keys(cases), Object.keys(operations))
  })

  it("fails with nothing that its route does not declare", () => {
    // The compiler finds the misfits: the type has a member for each.
    const misfits: Misfits = {}
    assert.isEmpty(misfits)
  })
})
