/** The table of roles, row by row: in the facade and over HTTP. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { operations } from "../../layers/service/ServiceOperations.ts"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { Principal } from "../../src/principal/Principal.ts"
import type { Reach, Right, RightName } from "../../src/principal/Rights.ts"
import { rights } from "../../src/principal/Rights.ts"
import { byHand } from "../readmes/Tables.ts"
import type { Who } from "./Service.ts"
import { ask, layerOfSpectral as layer } from "./Service.ts"

const none = "00000000-0000-4000-8000-000000000000"
const names = Object.keys(rights) as ReadonlyArray<RightName>
const ranks = ["viewer", "approver", "operator", "customer", "publisher"] as const

const reachOf = (right: Right, role: Role | undefined): Reach | undefined =>
  role === undefined ? undefined : role === "admin" ? "all" : right[role]

/**
 * Members of the facade without a principal: they are for the program that runs the process; the API that it mounts asks for
 * tokens of its own.
 */
const open: ReadonlyArray<keyof NodeService> = [
  "of",
  "stop",
  "stopAllTools",
  "url",
  "nodeListener",
  "handler"
]

type Use = (troupe: NodeService, by: Principal) => Promise<unknown>

const message = { agent: "shop", text: "hello" }
const first = async (items: AsyncIterable<unknown>) => {
  for await (const _ of items) return
}

/** The methods that no operation declares, by their right. */
const methods: Readonly<Partial<Record<RightName, Readonly<Record<string, Use>>>>> = {
  send: {
    send: (troupe, by) => troupe.send(message, by),
    ask: (troupe, by) => troupe.ask(message, by),
    stream: (troupe, by) => first(troupe.stream(message, by))
  },
  follow: {
    watch: (troupe, by) => first(troupe.watch(none, undefined, by)),
    result: (troupe, by) => troupe.result(none, by)
  },
  inspect: {
    pending: (troupe, by) => troupe.pending(by)
  }
}

type Request = readonly [path: string, json?: unknown, method?: string]

/** Requests for what no operation of every service declares, each list with the right that it needs. */
const requests: ReadonlyArray<readonly [Right, ...ReadonlyArray<Request>]> = [
  [
    rights.send,
    ["/v1/messages", { agent: "spectral", text: "hello" }],
    ["/v1/conversations/somebody/messages", { agent: "spectral", text: "hello" }]
  ],
  [
    rights.follow,
    ["/v1/conversations/nobody/events"],
    [`/v1/conversations/nobody/files/${"0".repeat(64)}`]
  ],
  [
    rights.inspect,
    ["/v1/scans"],
    ["/v1/scans/nothing"],
    ["/v1/failure-clusters"],
    ["/v1/failure-clusters/nothing/failures"],
    ["/v1/changesets"],
    ["/v1/changesets/nothing"],
    ["/metrics"]
  ],
  // Rights of a feature.
  [
    { approver: "all", operator: "all" },
    ["/v1/changesets/nothing/review", { decision: "approved" }]
  ],
  [
    { operator: "all" },
    ["/v1/drafts"],
    ["/v1/drafts/draft-9"],
    ["/v1/drafts/draft-9/publish", { target_id: "tone", based_on: 1, reason: "agreed" }],
    ["/v1/drafts/draft-9/withdraw", { reason: "old" }]
  ]
]

const shop = AgentSpec.make({ name: AgentName.make("shop"), instructions: "Help." })

describe("what each role may do", () => {
  it("every method of the facade is an operation, or is listed here", async () => {
    const troupe = await start({ agents: [shop], model: scripted([]) })
    await troupe.stop()
    const ofRights = Object.entries(methods).map(([right, uses]) => [right, Object.keys(uses)])
    assert.deepStrictEqual(Object.fromEntries(ofRights), byHand)
    const listed = Object.values(byHand).flat()
    assert.sameMembers([...Object.keys(operations), ...listed, ...open], Object.keys(troupe))
  })

  it("the facade allows what the table says, and nothing without a role", async () => {
    const troupe = await start({
      agents: [shop],
      model: scripted(() => text("hello")),
      customer_agents: ["shop"]
    })
    try {
      for (const role of [...ranks, "admin", undefined] as const) {
        const roles = role === undefined ? [] : [role]
        const by = new Principal({ id: role ?? "nobody", tenant: Tenant.make("default"), roles })
        for (const right of names) {
          for (const [method, use] of Object.entries(methods[right] ?? {})) {
            const tag = await use(troupe, by).then(
              () => "done",
              (error: { readonly _tag: string }) => error._tag
            )
            const isRefused = tag === "NotEntitled"
            assert.strictEqual(
              isRefused,
              reachOf(rights[right], role) === undefined,
              `${role} ${method}`
            )
            assert.notInclude(["InvalidInput", undefined], tag, `${role} ${method}`)
          }
        }
      }
    } finally {
      await troupe.stop()
    }
  })

  it.live("HTTP allows what the table says, and nothing without a role", () =>
    Effect.gen(function* () {
      const people: ReadonlyArray<readonly [Who, Role | undefined]> = [
        ["vera", "viewer"],
        ["ada", "approver"],
        ["olga", "operator"],
        ["carl", "customer"],
        ["pia", "publisher"],
        ["admin", "admin"],
        ["nemo", undefined]
      ]
      for (const [as, role] of people) {
        for (const [right, ...asked] of requests) {
          for (const [path, json, method] of asked) {
            const { status, text } = yield* ask(path, {
              as,
              ...(json === undefined ? undefined : { json }),
              ...(method === undefined ? undefined : { method })
            })
            const isRefused = status === 403
            const what = `${role} ${path} ${text}`
            assert.strictEqual(isRefused, reachOf(right, role) === undefined, what)
            assert.notInclude([400, 401, 405, 500], status, what)
          }
        }
      }
    }).pipe(Effect.provide(layer))
  )
})
