/**
 * Each operation over HTTP and by its method: as each kind of principal, with inputs that fit and inputs that do not. There are two
 * services that were started alike, one for each surface, and both give the same.
 */
import { Effect, Schema } from "effect"
import { setTimeout } from "node:timers/promises"
import { isDeepStrictEqual } from "node:util"
import { assert, describe, it } from "vitest"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, scripted, text } from "../../layers/compose/entries/Testing.ts"
import { operations } from "../../layers/service/ServiceOperations.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { tool } from "../../src/index.ts"
import { originOfCall } from "../../src/memory/MemoryOrigin.ts"
import type { Operation } from "../../src/operation/Operation.ts"
import { placesOf } from "../../src/operation/Operation.ts"
import { TroupeApi } from "../../src/operation/TroupeApi.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { rightRefusal } from "../../src/principal/Rights.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"

const none = "00000000-0000-4000-8000-000000000000"
/** These stand for the run of the service that is asked, and its conversation. */
const its_run = "the run"
const its_conversation = "the conversation"
/** A question of another run. */
const its_question = "the question"

type Name = keyof typeof operations
type Input = Readonly<Record<string, unknown>>

/** Inputs of each operation, and what an admin gets for them: a value, or the tag of an error. */
const cases: Readonly<Record<Name, ReadonlyArray<readonly [input: Input, gives: string]>>> = {
  costs: [
    [{ by: "agent" }, "value"],
    [{ from: 2, to: 1 }, "InvalidInput"],
    [{ limit: 501 }, "InvalidInput"]
  ],
  deadLetters: [
    [{}, "value"],
    [{ after: "x" }, "InvalidInput"],
    [{ colour: "red" }, "InvalidInput"]
  ],
  deadLetter: [
    [{ event_id: none }, "DeadLetterNotFound"],
    [{ event_id: "x" }, "InvalidInput"]
  ],
  replayDeadLetter: [
    [{ event_id: none, reason: "again" }, "DeadLetterNotFound"],
    [{ event_id: none, reason: "" }, "InvalidInput"]
  ],
  discardDeadLetter: [[{ event_id: none, reason: "old" }, "DeadLetterNotFound"]],
  erase: [
    [{ subject: "nobody" }, "value"],
    [{ subject: "" }, "InvalidInput"]
  ],
  erasures: [
    [{ limit: 5 }, "value"],
    [{ limit: 0 }, "InvalidInput"]
  ],
  toolsStopped: [[{}, "value"]],
  stopTools: [
    [{ on: true }, "value"],
    [{ on: "no" }, "InvalidInput"]
  ],
  quarantined: [
    [{}, "value"],
    [{ after: "x" }, "InvalidInput"]
  ],
  rawEvents: [
    [{ id: none }, "RunNotFound"],
    [{ id: its_run }, "RunNotQuarantined"],
    [{ id: none, after: -2 }, "InvalidInput"]
  ],
  releaseRun: [
    [{ id: none }, "RunNotFound"],
    [{ id: "x" }, "InvalidInput"]
  ],
  runs: [
    [{ limit: 5 }, "value"],
    [{ status: "lost" }, "InvalidInput"]
  ],
  run: [
    [{ id: its_run }, "value"],
    [{ id: none }, "RunNotFound"]
  ],
  runEvents: [
    [{ id: its_run, limit: 2 }, "value"],
    [{ id: its_run, after: 2 }, "value"],
    [{ id: none }, "RunNotFound"]
  ],
  createToken: [
    [{ name: "n", roles: ["viewer"] }, "value"],
    [{ name: "n", roles: [] }, "InvalidInput"],
    [{ name: "n", roles: ["viewer"], tenant: "globex" }, "InvalidInput"]
  ],
  tokens: [[{ limit: 5 }, "value"]],
  revokeToken: [[{ id: none }, "TokenNotFound"]],
  approvals: [
    [{ status: "pending" }, "value"],
    [{ status: "lost" }, "InvalidInput"]
  ],
  approval: [[{ id: none }, "ApprovalNotFound"]],
  clientCalls: [
    [{ id: its_run }, "ConversationNotFound"],
    [{ id: its_conversation }, "value"]
  ],
  answerClientCall: [
    [{ id: none, result: { at: 1 } }, "ApprovalNotFound"],
    [{ id: none, error: "" }, "InvalidInput"],
    [{ id: none, result: 1, error: "x" }, "InvalidInput"]
  ],
  conversations: [
    [{ limit: 5 }, "value"],
    [{ limit: -1 }, "InvalidInput"]
  ],
  messages: [
    [{ id: its_conversation, limit: 1 }, "value"],
    [{ id: its_conversation, after: 0 }, "value"],
    [{ id: "nobody" }, "ConversationNotFound"]
  ],
  agents: [[{}, "value"]],
  unhosted: [[{}, "value"]],
  authorize: [
    [{ agent: "shop", action: "refund" }, "value"],
    [{ agent: "shop", action: "refund", uses_max: 0 }, "InvalidInput"],
    [{ agent: "nobody", action: "refund" }, "AgentNotFound"],
    [{ agent: "shop", action: "read" }, "AuthorizationRefused"]
  ],
  authorizations: [
    [{ all: true, limit: 5 }, "value"],
    [{ all: "yes" }, "InvalidInput"]
  ],
  revokeAuthorization: [[{ id: none }, "AuthorizationNotFound"]],
  bind: [
    [
      { id: "nobody", channel: "in_app", address: "olga", recipient: "olga" },
      "ConversationNotFound"
    ],
    [{ id: "nobody", channel: "", address: "olga", recipient: "olga" }, "InvalidInput"]
  ],
  unbind: [[{ id: "nobody", channel: "slack", address: "C1" }, "ConversationNotFound"]],
  bindings: [[{ id: "nobody" }, "ConversationNotFound"]],
  notices: [
    [{ unread: true }, "value"],
    [{ after: 7 }, "InvalidInput"]
  ],
  readNotices: [
    [{ ids: [none] }, "value"],
    [{ ids: [] }, "InvalidInput"]
  ],
  preferences: [[{}, "value"]],
  prefer: [
    [{ channels: { slack: "off" } }, "value"],
    [{ channels: { slack: "sometimes" } }, "InvalidInput"]
  ],
  records: [
    [{ id: its_run }, "value"],
    [{ id: its_run, limit: 0 }, "InvalidInput"],
    [{ id: none }, "RunNotFound"]
  ],
  unknown: [[{}, "value"]],
  memories: [
    [{ agent: "shop", conversation: its_conversation, limit: 5 }, "value"],
    [{ agent: "shop", conversation: its_conversation, all: true }, "value"],
    [{ agent: "nobody", conversation: its_conversation }, "AgentNotFound"],
    [{ agent: "shop" }, "InvalidInput"]
  ],
  undoMemory: [
    [{ agent: "shop", conversation: its_conversation, id: none }, "MemoryRefused"],
    [{ agent: "nobody", conversation: its_conversation, id: none }, "AgentNotFound"],
    [{ agent: "shop", conversation: its_conversation, id: "x" }, "InvalidInput"]
  ],
  eraseMemories: [
    [{ subject: "nobody" }, "value"],
    [{ subject: "" }, "InvalidInput"]
  ],
  registerText: [
    [{ name: "law", text: "the text of it" }, "value"],
    [{ name: "law", text: "..." }, "InvalidInput"]
  ],
  workerTools: [[{}, "value"]],
  mcpServers: [[{}, "value"]],
  acceptMcpTool: [
    [{ server: "files", tool: "read", hash: "abc" }, "McpToolNotFound"],
    [{ server: "files", tool: "read", hash: "" }, "InvalidInput"]
  ],
  // What they set free goes on at once, so that these are the last.
  settle: [
    [{ id: none, call: "0/1.0", outcome: "run_again" }, "RunNotFound"],
    [{ id: its_run, call: "0/1.0", outcome: { succeeded: 1 } }, "RunIsOver"],
    [{ id: its_run, call: "0/1.0", outcome: "twice" }, "InvalidInput"]
  ],
  cancel: [
    [{ id: its_run, reason: "enough" }, "RunIsOver"],
    [{ id: none, reason: "enough" }, "RunNotFound"],
    [{ id: none, reason: "" }, "InvalidInput"]
  ],
  decide: [
    [{ id: none, decision: "approve" }, "ApprovalNotFound"],
    [{ id: its_question, decision: "deny" }, "InvalidInput"],
    [{ id: its_question, decision: "deny", reason: "fraud" }, "value"]
  ]
}

const person = (id: string, tenant: string, ...roles: ReadonlyArray<Role>) =>
  new Principal({ id, tenant: Tenant.make(tenant), roles })

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
  person("cora", "globex", "customer")
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
      approvers: ["viewer", "approver", "operator", "customer"],
      input: Schema.Struct({ order: Schema.String })
    },
    () => Promise.resolve("done")
  )
)

/** A service in which a run of `acme` has ended. */
const started = async () => {
  const troupe = await start({
    agents: [shop],
    tools: [...tools, note],
    record: true,
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
      .replaceAll(/(troupe_)?[0-9a-f]{32,}/g, "a key")
      .replaceAll(/\b1[0-9]{12}([0-9]{6})?\b/g, "1")
      .replaceAll(/"duration_ms":[0-9]+/g, '"duration_ms":0')
  )

const filled = (input: Input, { its }: Started): Input =>
  Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, its[value as keyof typeof its] ?? value])
  )

const byMethod = async (on: Started, name: Name, given: Input, by: Principal): Promise<Outcome> => {
  const places = placesOf(operations[name].operation)
  const input = filled(given, on)
  const rest = Object.fromEntries(Object.entries(input).filter(([key]) => !places.includes(key)))
  const taken: Input = { ...input, input: rest, by }
  const method = on.troupe[name] as (...args: ReadonlyArray<unknown>) => Promise<unknown>
  try {
    return {
      value: comparable((await method(...places.map((each) => taken[each]))) ?? null)
    }
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

const overHttp = async (on: Started, name: Name, given: Input, by: Principal): Promise<Outcome> => {
  const { gives, method, params, path, payload }: Operation = operations[name].operation
  const input = filled(given, on)
  const inPath = Object.keys(params?.fields ?? {})
  const rest = Object.entries(input).filter(([key]) => !inPath.includes(key))
  const at = inPath.reduce((all, key) => all.replace(`:${key}`, String(input[key])), path as string)
  const query =
    payload === undefined
      ? new URLSearchParams(rest.map(([key, value]): [string, string] => [key, String(value)]))
      : ""
  const response = await on.troupe.handler(
    new Request(`http://localhost${at}${query.toString() === "" ? "" : `?${query.toString()}`}`, {
      method,
      headers: {
        authorization: `Bearer ${tokenOf(by)}`,
        ...(payload === undefined ? undefined : { "content-type": "application/json" })
      },
      ...(payload === undefined ? undefined : { body: JSON.stringify(Object.fromEntries(rest)) })
    })
  )
  const body = await response.text()
  const json: unknown = body === "" ? null : JSON.parse(body)
  if (!response.ok) return { error: tagOf((json as { readonly type: string }).type) }
  return { value: comparable(gives === undefined ? json : (json as Input)[gives]) }
}

describe("an operation", () => {
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
          const lacks = rightRefusal(by, operations[name].operation.right) !== undefined
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

  it("of a derived group has a method, and each method has a case here", () => {
    const derived = new Set(
      Object.values(operations).map(({ operation }) => `${operation.method} ${operation.path}`)
    )
    const by_hand = "records drafts events files health".split(" ")
    const declared = Object.values(TroupeApi.groups)
      .filter(({ identifier }) => !by_hand.includes(identifier))
      .flatMap(({ endpoints }) =>
        Object.values(endpoints as Record<string, { method: string; path: string }>).map(
          ({ method, path }) => `${method} ${path}`
        )
      )
    // They stream, or are about a header.
    const streams = [
      "POST /v1/messages",
      "POST /v1/conversations/:id/messages",
      "GET /v1/conversations/:id/events"
    ]
    assert.sameMembers([...derived, ...streams], declared)
    assert.sameMembers(Object.keys(cases), Object.keys(operations))
  })
})
