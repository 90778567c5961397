/**
 * The routes of the operations, as a client needs them: by the names of their methods. The compiler checks each against its
 * declaration, so that a client knows them without the schemas.
 */
import type * as AgentOperations from "../../../src/operation/AgentOperations.ts"
import type * as ApprovalOperations from "../../../src/operation/ApprovalOperations.ts"
import type * as AuthorizationOperations from "../../../src/operation/AuthorizationOperations.ts"
import type * as BulkOperations from "../../../src/operation/BulkOperations.ts"
import type * as ClientCallOperations from "../../../src/operation/ClientCallOperations.ts"
import type * as ConversationOperations from "../../../src/operation/ConversationOperations.ts"
import type * as CostOperations from "../../../src/operation/CostOperations.ts"
import type * as DeadLetterOperations from "../../../src/operation/DeadLetterOperations.ts"
import type * as ErasureOperations from "../../../src/operation/ErasureOperations.ts"
import type * as KillSwitchOperations from "../../../src/operation/KillSwitchOperations.ts"
import type * as MemoryOperations from "../../../src/operation/MemoryOperations.ts"
import type * as NoticeOperations from "../../../src/operation/NoticeOperations.ts"
import type { Operation } from "../../../src/operation/Operation.ts"
import type * as QuarantineOperations from "../../../src/operation/QuarantineOperations.ts"
import type * as RunOperations from "../../../src/operation/RunOperations.ts"
import type * as StandingOperations from "../../../src/operation/StandingOperations.ts"
import type * as TokenOperations from "../../../src/operation/TokenOperations.ts"
import type * as ToolOperations from "../../../src/operation/ToolOperations.ts"
import type * as WebhookOperations from "../../../src/operation/WebhookOperations.ts"
import type { CallOptions } from "./Connection.ts"

type ValuesOf<Group> = Group[keyof Group]
type Each =
  | ValuesOf<typeof AgentOperations>
  | ValuesOf<typeof ApprovalOperations>
  | ValuesOf<typeof AuthorizationOperations>
  | ValuesOf<typeof BulkOperations>
  | ValuesOf<typeof ClientCallOperations>
  | ValuesOf<typeof ConversationOperations>
  | ValuesOf<typeof CostOperations>
  | ValuesOf<typeof DeadLetterOperations>
  | ValuesOf<typeof ErasureOperations>
  | ValuesOf<typeof KillSwitchOperations>
  | ValuesOf<typeof MemoryOperations>
  | ValuesOf<typeof NoticeOperations>
  | ValuesOf<typeof QuarantineOperations>
  | ValuesOf<typeof RunOperations>
  | ValuesOf<typeof StandingOperations>
  | ValuesOf<typeof TokenOperations>
  | ValuesOf<typeof ToolOperations>
  | ValuesOf<typeof WebhookOperations>
type Declared = Extract<Each, Operation>
type Operations = { readonly [O in Declared as O["name"]]: O }

type EncodedOf<S> = S extends { readonly Encoded: infer T } ? T : unknown
type Part<O, Name extends string> = O extends { readonly [K in Name]: infer S }
  ? EncodedOf<S>
  : unknown
/** All members of a request, as they are in JSON. */
type Input<O> = Part<O, "params"> & Part<O, "query"> & Part<O, "payload">

type WithoutBy<A> = A extends readonly [infer First, ...infer Rest]
  ? First extends "by"
    ? WithoutBy<Rest>
    : readonly [First, ...WithoutBy<Rest>]
  : readonly []
/** The members that are given one by one. */
type Named<O> = O extends { readonly args: infer A } ? WithoutBy<A> : readonly []
type RestOf<G, Name> = G extends unknown
  ? { readonly [K in keyof G as K extends Name ? never : K]: G[K] }
  : never
type Rest<O> = RestOf<Input<O>, Named<O>[number]>
type HasRest<O> = Rest<O> extends infer R ? (R extends unknown ? keyof R : never) : never
/** What a method takes, by name; `input` = the other members as one object. */
type Places<O> = "input" extends Named<O>[number]
  ? Named<O>
  : [HasRest<O>] extends [never]
    ? Named<O>
    : readonly [...Extract<Named<O>, ReadonlyArray<unknown>>, "input"]

type Placed<O, P> = {
  readonly [At in keyof P]: P[At] extends "input"
    ? Rest<O>
    : P[At] extends keyof Input<O>
      ? Input<O>[P[At]]
      : never
}
/** A filter that may be empty may be left out. */
type Trailing<A> = A extends readonly [...infer Head, infer Last]
  ? {} extends Last
    ? [...Head, input?: Last, options?: CallOptions]
    : [...A, options?: CallOptions]
  : [options?: CallOptions]

/** What the method of an operation takes: as that of a started service, but for who asks, with options in its place. */
export type MethodArguments<O> = Trailing<Placed<O, Places<O>>>

/** The answer in JSON. A page comes whole, with its `next_after`. */
type AnswerOf<O> = O extends { readonly success: infer S } ? EncodedOf<S> : void

/** The methods that follow from the operations. */
export type RouteMethods = {
  readonly [Name in keyof Operations]: (
    ...args: MethodArguments<Operations[Name]>
  ) => Promise<AnswerOf<Operations[Name]>>
}

type Route<O> = O extends Operation
  ? readonly [method: O["method"], path: O["path"], ...Extract<Places<O>, ReadonlyArray<unknown>>]
  : never

/** The method and the path of each, and what its method takes, in this order. */
export const routes: { readonly [Name in keyof Operations]: Route<Operations[Name]> } = {
  acceptMcpTool: ["POST", "/v1/mcp-servers/accept", "server", "tool", "hash"],
  agents: ["GET", "/v1/agents"],
  answerClientCall: ["POST", "/v1/client-calls/:id/result", "id", "input"],
  approval: ["GET", "/v1/approvals/:id", "id"],
  approvalInsights: ["GET", "/v1/approval-insights", "input"],
  approvals: ["GET", "/v1/approvals", "input"],
  authorizations: ["GET", "/v1/authorizations", "input"],
  authorize: ["POST", "/v1/authorizations", "input"],
  bind: ["POST", "/v1/conversations/:id/bindings", "id", "input"],
  bindings: ["GET", "/v1/conversations/:id/bindings", "id"],
  budgets: ["GET", "/v1/budgets", "input"],
  cancel: ["POST", "/v1/runs/:id/cancel", "id", "reason"],
  cancelRuns: ["POST", "/v1/bulk/runs/cancel", "input"],
  changeConversation: ["PUT", "/v1/conversations/:id", "id", "input"],
  changeWebhook: ["PUT", "/v1/webhooks/:id", "id", "input"],
  checks: ["GET", "/v1/checks"],
  clientCalls: ["GET", "/v1/conversations/:id/client-calls", "id"],
  comparison: ["GET", "/v1/runs/:id/comparison", "id", "input"],
  conversations: ["GET", "/v1/conversations", "input"],
  costs: ["GET", "/v1/costs", "input"],
  countDeadLetters: ["GET", "/v1/bulk/dead-letters", "input"],
  countRuns: ["GET", "/v1/bulk/runs", "input"],
  countUnknown: ["GET", "/v1/bulk/unknown-calls", "input"],
  createToken: ["POST", "/v1/tokens", "input"],
  createWebhook: ["POST", "/v1/webhooks", "input"],
  deadLetter: ["GET", "/v1/dead-letters/:event_id", "event_id"],
  deadLetters: ["GET", "/v1/dead-letters", "input"],
  decide: ["POST", "/v1/approvals/:id/decision", "id", "input"],
  deleteConversation: ["DELETE", "/v1/conversations/:id", "id"],
  deleteWebhook: ["DELETE", "/v1/webhooks/:id", "id"],
  deliveries: ["GET", "/v1/deliveries"],
  discardDeadLetter: ["POST", "/v1/dead-letters/:event_id/discard", "event_id", "reason"],
  discardDeadLetters: ["POST", "/v1/bulk/dead-letters/discard", "input"],
  erase: ["POST", "/v1/erasures", "input"],
  eraseMemories: ["POST", "/v1/memories/erase", "subject"],
  erasures: ["GET", "/v1/erasures", "input"],
  fork: ["POST", "/v1/runs/:id/fork", "id", "input"],
  importHistory: ["POST", "/v1/conversations/:id/history", "id", "input"],
  mcpServers: ["GET", "/v1/mcp-servers"],
  memories: ["GET", "/v1/memories", "input"],
  messages: ["GET", "/v1/conversations/:id", "id", "input"],
  notices: ["GET", "/v1/notices", "input"],
  policy: ["GET", "/v1/policy"],
  prefer: ["PUT", "/v1/notices/preferences", "input"],
  preferences: ["GET", "/v1/notices/preferences"],
  processes: ["GET", "/v1/processes"],
  quarantined: ["GET", "/v1/quarantine", "input"],
  rawEvents: ["GET", "/v1/quarantine/:id/events", "id", "input"],
  readNotices: ["POST", "/v1/notices/read", "ids"],
  records: ["GET", "/v1/runs/:id/records", "id", "input"],
  registerText: ["PUT", "/v1/memories/texts", "input"],
  releaseRun: ["POST", "/v1/quarantine/:id/release", "id"],
  replayDeadLetter: ["POST", "/v1/dead-letters/:event_id/replay", "event_id", "reason"],
  replayDeadLetters: ["POST", "/v1/bulk/dead-letters/replay", "input"],
  resendFailedWebhookDeliveries: ["POST", "/v1/webhooks/:id/resend", "id", "input"],
  resendWebhookDelivery: ["POST", "/v1/webhooks/:id/deliveries/:delivery/resend", "id", "delivery"],
  revokeAuthorization: ["POST", "/v1/authorizations/:id/revoke", "id"],
  revokeToken: ["DELETE", "/v1/tokens/:id", "id"],
  rotateWebhookSecret: ["POST", "/v1/webhooks/:id/rotate", "id", "input"],
  run: ["GET", "/v1/runs/:id", "id"],
  runEvents: ["GET", "/v1/runs/:id/events", "id", "input"],
  runs: ["GET", "/v1/runs", "input"],
  settings: ["GET", "/v1/settings"],
  settle: ["POST", "/v1/runs/:id/settle", "id", "call", "outcome"],
  settleCalls: ["POST", "/v1/bulk/unknown-calls/settle", "input"],
  stopTools: ["PUT", "/v1/kill-switch", "on"],
  tokens: ["GET", "/v1/tokens", "input"],
  toolTimes: ["GET", "/v1/tool-times", "input"],
  tools: ["GET", "/v1/tools"],
  toolsStopped: ["GET", "/v1/kill-switch"],
  tryPolicy: ["POST", "/v1/policy/trial", "input"],
  unbind: ["DELETE", "/v1/conversations/:id/bindings", "id", "channel", "address"],
  undoMemory: ["POST", "/v1/memories/:id/undo", "input", "id"],
  unhosted: ["GET", "/v1/unhosted"],
  unknown: ["GET", "/v1/unknown-calls"],
  webhook: ["GET", "/v1/webhooks/:id", "id"],
  webhookDeliveries: ["GET", "/v1/webhooks/:id/deliveries", "id", "input"],
  webhooks: ["GET", "/v1/webhooks"],
  workerTools: ["GET", "/v1/worker-tools"]
}
