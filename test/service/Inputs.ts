/** Inputs of each operation, for both of its surfaces. */
import type { operations } from "../../layers/service/ServiceOperations.ts"

export const none = "00000000-0000-4000-8000-000000000000"
/** These stand for the run of the service that is asked, and its conversation. */
export const its_run = "the run"
export const its_conversation = "the conversation"
/** A question of another run. */
export const its_question = "the question"

const history = { format: "chat-completions", messages: [{ role: "user", content: "hi" }] }

const event = {
  specversion: "1.0",
  id: "e-1",
  source: "/platform",
  type: "nothing.of.ours",
  time: "2026-01-01T00:00:00Z",
  data: {}
}

export type Name = keyof typeof operations
export type Input = Readonly<Record<string, unknown>>

/** Inputs of each operation, and what an admin gets for them: a value, or the tag of an error. */
export const cases: Readonly<Record<Name, ReadonlyArray<readonly [input: Input, gives: string]>>> =
  {
    costs: [
      [{ by: "agent" }, "value"],
      [{ from: 2, to: 1 }, "InvalidInput"],
      [{ limit: 501 }, "InvalidInput"]
    ],
    budgets: [
      [{}, "value"],
      [{ conversation: its_conversation, customer: "nobody" }, "value"],
      [{ conversation: "nowhere" }, "ConversationNotFound"],
      [{ budget: "No name" }, "InvalidInput"]
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
    countRuns: [
      [{}, "value"],
      [{ status: "pending", agent: "nobody" }, "value"],
      [{ status: "complete" }, "InvalidInput"],
      [{ created_from: 2, created_to: 1 }, "InvalidInput"],
      [{ limit: 5 }, "InvalidInput"]
    ],
    cancelRuns: [
      [{ agent: "nobody", until: 9, reason: "enough" }, "value"],
      [{ reason: "enough" }, "InvalidInput"],
      [{ until: 9 }, "InvalidInput"],
      [{ until: 9, reason: "" }, "InvalidInput"],
      [{ until: 9, reason: "x".repeat(4_001) }, "InvalidInput"],
      [{ until: 9, reason: "enough", limit: 501 }, "InvalidInput"],
      [{ until: 9, reason: "enough", status: "failed" }, "InvalidInput"],
      [{ until: 9, reason: "enough", after: "x" }, "InvalidInput"]
    ],
    countDeadLetters: [
      [{ error: "503", key: "order-1" }, "value"],
      [{ status: "discarded" }, "InvalidInput"]
    ],
    replayDeadLetters: [
      [{ until: 9, reason: "again" }, "value"],
      [{ until: 9, reason: "again", after: none }, "value"],
      [{ until: 9, reason: "" }, "InvalidInput"]
    ],
    discardDeadLetters: [
      [{ until: 9, reason: "old" }, "value"],
      [{ until: -1, reason: "old" }, "InvalidInput"]
    ],
    countUnknown: [
      [{ tool: "pay" }, "value"],
      [{ agent: "No name" }, "InvalidInput"]
    ],
    settleCalls: [
      [{ until: 9, outcome: "run_again" }, "value"],
      [{ until: 9, outcome: { failed: "lost" }, after: `5:${none}:0/1.0` }, "value"],
      [{ until: 9, outcome: { failed: "" } }, "InvalidInput"],
      [{ until: 9, outcome: "run_again", after: "5" }, "InvalidInput"],
      [{ until: 9 }, "InvalidInput"]
    ],
    erase: [
      [{ subject: "nobody" }, "value"],
      [{ subject: "" }, "InvalidInput"]
    ],
    erasures: [
      [{ limit: 5 }, "value"],
      [{ limit: 0 }, "InvalidInput"]
    ],
    toolsStopped: [[{}, "value"]],
    processes: [[{}, "value"]],
    checks: [[{}, "value"]],
    deliveries: [[{}, "value"]],
    settings: [[{}, "value"]],
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
    createWebhook: [
      [{ url: "https://hooks.example/" }, "value"],
      [{ url: "https://hooks.example/", types: ["run.*"], filter: { agents: ["shop"] } }, "value"],
      [{ url: "http://hooks.example/" }, "InvalidInput"],
      [{ url: "https://192.168.0.1/" }, "InvalidInput"],
      [{ url: "https://hooks.example/", types: ["run.ended"] }, "InvalidInput"],
      [{ url: "https://hooks.example/", filter: { colour: "red" } }, "InvalidInput"],
      [{ url: "https://hooks.example/", tenant: "globex" }, "InvalidInput"]
    ],
    webhooks: [[{}, "value"]],
    webhook: [
      [{ id: none }, "WebhookNotFound"],
      [{ id: "x" }, "InvalidInput"]
    ],
    changeWebhook: [
      [{ id: none, url: "https://hooks.example/" }, "WebhookNotFound"],
      [{ id: none, url: "https://10.0.0.1/" }, "InvalidInput"],
      [{ id: none, enabled: false }, "InvalidInput"]
    ],
    deleteWebhook: [[{ id: none }, "WebhookNotFound"]],
    rotateWebhookSecret: [
      [{ id: none }, "WebhookNotFound"],
      [{ id: none, overlap_ms: -1 }, "InvalidInput"]
    ],
    webhookDeliveries: [
      [{ id: none, status: "failed", limit: 5 }, "WebhookNotFound"],
      [{ id: none, status: "lost" }, "InvalidInput"]
    ],
    resendWebhookDelivery: [[{ id: none, delivery: none }, "WebhookNotFound"]],
    resendFailedWebhookDeliveries: [
      [{ id: none, since: 1 }, "WebhookNotFound"],
      [{ id: none }, "InvalidInput"],
      [{ id: none, since: 1, limit: 501 }, "InvalidInput"]
    ],
    approvals: [
      [{ status: "pending" }, "value"],
      [{ status: "lost" }, "InvalidInput"],
      [{ order: "newest", limit: 5 }, "value"],
      [{ order: "random" }, "InvalidInput"],
      [{ tool: "no such tool", agent: "shop", decided_by: "nobody", decision: "deny" }, "value"],
      [{ decision: "perhaps" }, "InvalidInput"],
      [{ requested_from: 1, requested_to: 2 }, "value"],
      [{ requested_from: 2, requested_to: 1 }, "InvalidInput"]
    ],
    approvalInsights: [
      [{ by: "person", requested_from: 1 }, "value"],
      [{ by: "colour" }, "InvalidInput"],
      [{ requested_from: 2, requested_to: 1 }, "InvalidInput"]
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
      [{ search: "no such word" }, "value"],
      [{ limit: -1 }, "InvalidInput"],
      [{ after: "none" }, "InvalidInput"],
      [{ search: " " }, "InvalidInput"],
      [{ search: "a b c d e f g h i" }, "InvalidInput"]
    ],
    changeConversation: [
      [{ id: its_conversation, title: "Order 1003" }, "value"],
      [{ id: its_conversation, metadata: { plan: "gold" } }, "value"],
      [{ id: its_conversation, title: "a\nb" }, "InvalidInput"],
      [{ id: its_conversation, title: "\u202eevil" }, "InvalidInput"],
      [{ id: its_conversation, title: " " }, "InvalidInput"],
      [{ id: its_conversation, title: "a".repeat(201) }, "InvalidInput"],
      [{ id: its_conversation, metadata: { "a b": "c" } }, "InvalidInput"],
      [{ id: its_conversation, metadata: { a: "b".repeat(501) } }, "InvalidInput"],
      [{ id: "nobody", title: "a" }, "ConversationNotFound"]
    ],
    importHistory: [
      [{ id: "imported", agent: "nobody", ...history }, "AgentNotFound"],
      [{ id: "imported", agent: "shop", format: "chat-completions", messages: [] }, "InvalidInput"]
    ],
    deleteConversation: [
      [{ id: "nobody" }, "ConversationNotFound"],
      [{ id: its_run }, "ConversationNotFound"]
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
    tools: [[{}, "value"]],
    policy: [[{}, "value"]],
    tryPolicy: [
      [{ limit: 5 }, "value"],
      [{ policy: { mode: "ask" } }, "value"],
      [{ policy: { mode: "sometimes" } }, "InvalidInput"],
      [{ created_from: 2, created_to: 1 }, "InvalidInput"]
    ],
    toolTimes: [
      [{ by: "day", from: 8_000_000_000_000_000 }, "value"],
      [{ by: "hour" }, "InvalidInput"],
      [{ from: -1 }, "InvalidInput"]
    ],
    workerTools: [[{}, "value"]],
    mcpServers: [[{}, "value"]],
    acceptMcpTool: [
      [{ server: "files", tool: "read", hash: "abc" }, "McpToolNotFound"],
      [{ server: "files", tool: "read", hash: "" }, "InvalidInput"]
    ],
    file: [
      [{ id: its_conversation, digest: "0".repeat(64) }, "FileNotFound"],
      [{ id: "nobody", digest: "0".repeat(64) }, "ConversationNotFound"],
      [{ id: its_conversation, digest: "x" }, "InvalidInput"]
    ],
    publish: [
      [{ event }, "EventTypeUnknown"],
      [{ event: { ...event, time: "today" } }, "InvalidInput"]
    ],
    fork: [
      [{ id: its_run, step: "0/1" }, "value"],
      [{ id: its_run, step: "0/9" }, "InvalidInput"],
      [{ id: its_run, policy: { mode: "sometimes" } }, "InvalidInput"],
      [{ id: none }, "RunNotFound"]
    ],
    comparison: [
      [{ id: its_run, of: its_run }, "value"],
      [{ id: its_run, of: none }, "RunNotFound"],
      [{ id: its_run }, "InvalidInput"],
      [{ id: none }, "RunNotFound"]
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
