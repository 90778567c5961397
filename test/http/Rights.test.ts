/** The table of roles, row by row: in the facade and over HTTP. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { Principal } from "../../src/principal/Principal.ts"
import type { Reach, RightName } from "../../src/principal/Rights.ts"
import { rights } from "../../src/principal/Rights.ts"
import type { Who } from "./Service.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { ask, layerOfSpectral as layer } from "./Service.ts"

const none = "00000000-0000-4000-8000-000000000000"
const names = Object.keys(rights) as ReadonlyArray<RightName>
const ranks = ["viewer", "approver", "operator", "customer", "publisher"] as const

const reachOf = (right: RightName, role: Role | undefined): Reach | undefined =>
  role === undefined ? undefined : role === "admin" ? "all" : rights[right].reach[role]

/**
 * Members of the facade without a principal: they are for the program that runs the process; the API that it mounts asks for
 * tokens of its own.
 */
const open: ReadonlyArray<keyof NodeService> = [
  "stop",
  "stopAllTools",
  "workerTools",
  "mcpServers",
  "url",
  "nodeListener",
  "handler"
]

type Use = (troupe: NodeService, by: Principal) => Promise<unknown>

const message = { agent: "shop", text: "hello" }
const event = {
  specversion: "1.0",
  id: "e-1",
  source: "/platform",
  type: "nothing.of.ours",
  time: "2026-01-01T00:00:00Z",
  data: {}
} as const
const place = { channel: "in_app", address: "olga", recipient: "olga" }
const first = async (items: AsyncIterable<unknown>) => {
  for await (const _ of items) return
}

const methods: Readonly<Record<string, Use>> = {
  send: (troupe, by) => troupe.send(message, by),
  ask: (troupe, by) => troupe.ask(message, by),
  watch: (troupe, by) => first(troupe.watch(none, undefined, by)),
  stream: (troupe, by) => first(troupe.stream(message, by)),
  result: (troupe, by) => troupe.result(none, by),
  runs: (troupe, by) => troupe.runs({}, by),
  conversations: (troupe, by) => troupe.conversations({}, by),
  messages: (troupe, by) => troupe.messages("nobody", {}, by),
  file: (troupe, by) => troupe.file("nobody", "0".repeat(64), by),
  costs: (troupe, by) => troupe.costs({}, by),
  deadLetters: (troupe, by) => troupe.deadLetters({}, by),
  replayDeadLetter: (troupe, by) => troupe.replayDeadLetter(none, "again", by),
  discardDeadLetter: (troupe, by) => troupe.discardDeadLetter(none, "old", by),
  pending: (troupe, by) => troupe.pending(by),
  unknown: (troupe, by) => troupe.unknown(by),
  unhosted: (troupe, by) => troupe.unhosted(by),
  records: (troupe, by) => troupe.records(none, by),
  decide: (troupe, by) => troupe.decide(none, { decision: "approve" }, by),
  authorize: (troupe, by) => troupe.authorize({ agent: "shop", action: "refund" }, by),
  authorizations: (troupe, by) => troupe.authorizations({}, by),
  revokeAuthorization: (troupe, by) => troupe.revokeAuthorization(none, by),
  clientCalls: (troupe, by) => troupe.clientCalls("nobody", by),
  answerClientCall: (troupe, by) => troupe.answerClientCall(none, { result: 1 }, by),
  cancel: (troupe, by) => troupe.cancel(none, by, "enough"),
  settle: (troupe, by) => troupe.settle(none, "0/1.0", { _tag: "RunAgain" }, by),
  agents: (troupe, by) => troupe.agents(by),
  approvals: (troupe, by) => troupe.approvals({}, by),
  approval: (troupe, by) => troupe.approval(none, by),
  deadLetter: (troupe, by) => troupe.deadLetter(none, by),
  run: (troupe, by) => troupe.run(none, by),
  runEvents: (troupe, by) => troupe.runEvents(none, {}, by),
  toolsStopped: (troupe, by) => troupe.toolsStopped(by),
  stopTools: (troupe, by) => troupe.stopTools(false, by),
  quarantined: (troupe, by) => troupe.quarantined({}, by),
  rawEvents: (troupe, by) => troupe.rawEvents(none, {}, by),
  releaseRun: (troupe, by) => troupe.releaseRun(none, by),
  memories: (troupe, by) => troupe.memories({ agent: "shop", conversation: "c-1" }, by),
  undoMemory: (troupe, by) => troupe.undoMemory({ agent: "shop", conversation: "c-1" }, none, by),
  eraseMemories: (troupe, by) => troupe.eraseMemories("nobody", by),
  erase: (troupe, by) => troupe.erase({ subject: "nobody" }, by),
  erasures: (troupe, by) => troupe.erasures({}, by),
  registerText: (troupe, by) => troupe.registerText({ name: "law", text: "the text of it" }, by),
  publish: (troupe, by) => troupe.publish(event, by),
  bind: (troupe, by) => troupe.bind("nobody", place, by),
  unbind: (troupe, by) => troupe.unbind("nobody", "slack", "C1", by),
  bindings: (troupe, by) => troupe.bindings("nobody", by),
  notices: (troupe, by) => troupe.notices({}, by),
  readNotices: (troupe, by) => troupe.readNotices([none], by),
  preferences: (troupe, by) => troupe.preferences(by),
  prefer: (troupe, by) => troupe.prefer({ channels: {} }, by),
  createToken: (troupe, by) => troupe.createToken({ name: "n", roles: ["viewer"] }, by),
  tokens: (troupe, by) => troupe.tokens({}, by),
  revokeToken: (troupe, by) => troupe.revokeToken(none, by),
  acceptMcpTool: (troupe, by) => troupe.acceptMcpTool("files", "read", "abc", by)
}

type Request = readonly [path: string, json?: unknown, method?: string]

const requests: Readonly<Record<RightName, ReadonlyArray<Request>>> = {
  send: [
    ["/v1/messages", { agent: "spectral", text: "hello" }],
    ["/v1/conversations/somebody/messages", { agent: "spectral", text: "hello" }]
  ],
  follow: [
    ["/v1/conversations"],
    ["/v1/conversations/nobody"],
    ["/v1/conversations/nobody/events"]
  ],
  inspect: [
    ["/v1/runs"],
    [`/v1/runs/${none}`],
    [`/v1/runs/${none}/events`],
    ["/v1/approvals"],
    [`/v1/approvals/${none}`],
    ["/v1/costs"],
    ["/v1/unhosted"],
    ["/v1/agents"],
    ["/v1/dead-letters"],
    ["/v1/scans"],
    ["/v1/scans/nothing"],
    ["/v1/failure-clusters"],
    ["/v1/failure-clusters/nothing/failures"],
    ["/v1/changesets"],
    ["/v1/changesets/nothing"],
    ["/v1/kill-switch"],
    ["/metrics"]
  ],
  decide: [[`/v1/approvals/${none}/decision`, { decision: "approve" }]],
  authorize: [
    ["/v1/authorizations"],
    ["/v1/authorizations", { agent: "nobody", action: "refund" }],
    [`/v1/authorizations/${none}/revoke`, undefined, "POST"]
  ],
  answer: [
    ["/v1/conversations/nobody/client-calls"],
    [`/v1/client-calls/${none}/result`, { result: 1 }]
  ],
  cancel: [[`/v1/runs/${none}/cancel`, { reason: "enough" }]],
  settle: [[`/v1/runs/${none}/settle`, { call: "0/1.0", outcome: "run_again" }]],
  stopTools: [["/v1/kill-switch", { on: false }, "PUT"]],
  review: [["/v1/changesets/nothing/review", { decision: "approved" }]],
  author: [
    ["/v1/drafts"],
    ["/v1/drafts/draft-9"],
    ["/v1/drafts/draft-9/publish", { target_id: "tone", based_on: 1, reason: "agreed" }],
    ["/v1/drafts/draft-9/withdraw", { reason: "old" }]
  ],
  repair: [
    ["/v1/quarantine"],
    [`/v1/quarantine/${none}/events`],
    [`/v1/quarantine/${none}/release`, undefined, "POST"]
  ],
  curate: [],
  redeliver: [
    [`/v1/dead-letters/${none}/replay`, { reason: "mended" }],
    [`/v1/dead-letters/${none}/discard`, { reason: "old" }]
  ],
  publish: [["/v1/events", event]],
  bind: [
    ["/v1/conversations/nobody/bindings"],
    ["/v1/conversations/nobody/bindings", place],
    ["/v1/conversations/nobody/bindings?channel=slack&address=C1", undefined, "DELETE"]
  ],
  readNotices: [
    ["/v1/notices"],
    ["/v1/notices/read", { ids: [none] }],
    ["/v1/notices/preferences"],
    ["/v1/notices/preferences", { channels: {} }, "PUT"]
  ],
  erase: [["/v1/erasures"], ["/v1/erasures", { subject: "nobody" }]],
  issueTokens: [
    ["/v1/tokens"],
    ["/v1/tokens", { name: "n", roles: ["viewer"] }],
    [`/v1/tokens/${none}`, undefined, "DELETE"]
  ],
  acceptMcpTool: []
}

/** A tool that names every role: what is reached "if named" is reached. */
const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    side_effects: "external",
    approvers: ["viewer", "approver", "operator", "customer"],
    input: Schema.Struct({ n: Schema.Int })
  },
  ({ n }) => n
)
const shop = AgentSpec.make({
  name: AgentName.make("shop"),
  instructions: "Help.",
  tools: ["refund"]
})

describe("what each role may do", () => {
  it("every method of the facade is in the table, or takes no principal", async () => {
    const troupe = await start({ agents: [shop], tools: [refund], model: scripted([]) })
    await troupe.stop()
    const listed = names.flatMap((right) => rights[right].embed)
    assert.deepStrictEqual([...listed, ...open].sort(), Object.keys(troupe).sort())
    assert.deepStrictEqual([...listed].sort(), Object.keys(methods).sort())
  })

  it("the facade allows what the table says, and nothing without a role", async () => {
    const troupe = await start({
      agents: [shop],
      tools: [refund],
      model: scripted(() => text("hello")),
      customer_agents: ["shop"]
    })
    try {
      for (const role of [...ranks, "admin", undefined] as const) {
        const roles = role === undefined ? [] : [role]
        const by = new Principal({ id: role ?? "nobody", tenant: Tenant.make("default"), roles })
        for (const right of names) {
          for (const method of rights[right].embed) {
            const tag = await methods[method]!(troupe, by).then(
              () => "done",
              (error: { readonly _tag: string }) => error._tag
            )
            const isRefused = tag === "NotEntitled"
            assert.strictEqual(isRefused, reachOf(right, role) === undefined, `${role} ${method}`)
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
        for (const right of names) {
          for (const [path, json, method] of requests[right]) {
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
