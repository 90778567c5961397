/**
 * What is said of a member that an object does not have. People who know another library write its names first, so the table says
 * what each is called here.
 */
import { suggestNames } from "../value/Nearest.ts"
import { truncateUnits } from "../value/CutText.ts"

/** The start of the message for a member that the object does not have. */
export const excess_message = "there is no such member"

const limits = "`limits: RunLimits.make({ steps_max })`"
const steps = `it is ${limits} of the agent`
const answer = "it is `answer` of a message: ask({ agent, text, answer: schema })"
const ask =
  "a tool asks a person by its `side_effects` or its `permission`, or by `policy` of start"
const guard = "it is `guards` of `agent` or of start, which judge texts"
const stores = 'it is `store` of start: "ephemeral", { directory } or { postgres }'
const kept = 'it is `store` here: "ephemeral", { directory } or { postgres }'
const settings = "it is in `model_settings` here"
const graphs = "it is `graphs` of start"
const who = "who asks is the second argument: { id, tenant, roles }"
const acting = "it is `via` here: the principal is the user, and `via` is who acts for it"
const branch = "it is `replaces` here: the run of the message that this one stands in place of"
const onward = "a run is followed on by stream({ run, after: cursor })"
const asker = "whose they are is said by who asks, in code the last argument"
const delegation = 'it is a role here: roles: { web: { actFor: { customer: ["send"] } } }'
const place = "the conversation is the first argument, its id"
const titled = "it is `title` of `agent`, a function of the first message"
const approval = "it is `needs_approval: true` here, or `permission` as a function of the arguments"
const body = "it is the second argument: tool(options, (args, call) => ...)"

type Cures = Readonly<Record<string, string>>

/**
 * By members that only one kind of object has: what names of other libraries are there. A cure is the name here, or a sentence.
 * `*` is for any name.
 */
const peer_names: Readonly<Record<string, Cures>> = {
  // A tool.
  side_effects: {
    inputSchema: "input",
    parameters: "input",
    schema: "input",
    outputSchema: "output",
    id: "it is `name` here, beside a `namespace`",
    execute: body,
    func: body,
    needsApproval: approval,
    requireApproval: approval,
    strict: "leave it out: arguments have to fit `input`",
    errorFunction: "leave it out: the model is told of an error; `ToolUserError` says what"
  },
  // An agent.
  specialists: {
    id: "name",
    system: "instructions",
    systemPrompt: "instructions",
    prompt: "instructions",
    handoffDescription: "description",
    agents: "it is `specialists` here, a list of their names",
    llm: "it is `model` of start: a text provider/model, or a model object of an AI SDK package",
    modelSettings: "model_settings",
    temperature: settings,
    maxOutputTokens: settings,
    maxTokens: settings,
    toolChoice: settings,
    stopWhen: `it is ${limits} here`,
    maxSteps: `it is ${limits} here`,
    maxTurns: `it is ${limits} here`,
    recursionLimit: `it is ${limits} here`,
    output: answer,
    outputType: answer,
    responseFormat: answer,
    structuredOutput: answer,
    checkpointer: stores,
    storage: stores,
    stateSchema: "it is `context` of `agent`, a schema of what each message passes",
    contextSchema: "it is `context` of `agent`, a schema of what each message passes",
    requestContextSchema: "it is `context` of `agent`, a schema of what each message passes",
    guards: "it is `guards` of `agent`, which takes functions, or of start",
    middleware:
      "it is `guards` of `agent` or of start for texts, and `permission` or `policy` for calls",
    inputGuardrails: guard,
    outputGuardrails: guard,
    inputProcessors: guard,
    outputProcessors: guard,
    interruptBefore: ask,
    interruptOn: ask,
    toolApproval: ask,
    title: titled,
    generateTitle: titled,
    mcpServers: "it is `mcp` of start, and its tools are in `tools` by their names",
    workflows: graphs
  },
  // The settings of an agent's model.
  provider_options: {
    maxTokens: "max_output_tokens",
    maxOutputTokens: "max_output_tokens",
    toolChoice: "tool_choice",
    providerOptions: "provider_options",
    reasoning: "reasoning_effort"
  },
  // A message.
  idempotency_key: {
    prompt: "text",
    input: "text",
    query: "text",
    content: "text",
    message: "text",
    role: "leave it out: a message is what its sender says",
    messages: "it is one `text` here, the new one: the conversation has those before it",
    threadId: "conversation",
    thread_id: "conversation",
    thread: "conversation",
    session: "it is `conversation` here, an id",
    sessionId: "conversation",
    id: "conversation",
    chatId: "conversation",
    previousResponseId: "conversation",
    trigger: branch,
    regenerate: branch,
    messageId: branch,
    parentId: branch,
    parentMessageId: branch,
    checkpoint_id: branch,
    runId: onward,
    run_id: onward,
    after: onward,
    cursor: onward,
    lastEventId: onward,
    title: "it is set by `changeConversation`, or by `title` of `agent`",
    trace_id: "traceparent",
    traceId: "traceparent",
    memory: "its thread is `conversation` here, an id",
    configurable: "its `thread_id` is `conversation` here",
    resourceId: who,
    resource: who,
    userId: who,
    user: who,
    customer: who,
    tenant: who,
    onBehalfOf: acting,
    requestContext: "context",
    runtimeContext: "context",
    experimental_context: "context",
    files: "parts",
    attachments: "parts",
    images: "parts",
    output: "it is `answer` here, the schema itself",
    outputType: "it is `answer` here, the schema itself",
    schema: "it is `answer` here, the schema itself",
    structuredOutput: "it is `answer` here, the schema itself",
    responseFormat: "it is `answer` here, the schema itself",
    system: "it is `instructions` of the agent",
    instructions: "it is `instructions` of the agent",
    tools: "it is `tools` of the agent",
    model: "it is `model` of start or of the agent",
    stopWhen: steps,
    maxSteps: steps,
    maxTurns: steps,
    recursionLimit: steps,
    abortSignal: "it is `signal` of the third argument: { signal }",
    signal: "it is in the third argument: { signal }",
    stream: "leave it out, and call `stream`"
  },
  // The options of a start.
  customer_agents: {
    agent: "it is `agents` here, a list",
    storage: kept,
    checkpointer: kept,
    saver: kept,
    db: kept,
    database: kept,
    connectionString: kept,
    limits: "it is `limits` of an agent",
    stopWhen: steps,
    maxSteps: steps,
    maxTurns: steps,
    recursionLimit: steps,
    pricing: "prices",
    customers: "customer_agents",
    actFor: delegation,
    onBehalfOf: delegation,
    title: titled,
    generateTitle: titled,
    processors: guard,
    guardrails: guard,
    inputGuardrails: guard,
    outputGuardrails: guard,
    tracing: "telemetry",
    observability: "telemetry",
    auth: "it is `tokens` of `http`",
    tokens: "it is `tokens` of `http`",
    port: "it is `port` of `http`",
    memory: "it is `memory` of an agent; what is kept is in `store`",
    logger: "leave it out: logs go to the console, and with `telemetry` to a collector",
    apiKey: "leave it out: it is read of the environment, or given to the model object",
    mcpServers: "it is `mcp` here: { servers, allow }",
    workflows: graphs,
    server: "http"
  },
  // A budget.
  time_zone: {
    amount: "it is `cost`, `tokens` or `calls` here",
    limit: "it is `cost`, `tokens` or `calls` here",
    max: "it is `cost`, `tokens` or `calls` here",
    usd: "cost",
    cost_max: "cost",
    currency: "it is in `prices` of start",
    requests: "calls",
    turns: "calls",
    messages: "calls",
    per: "scope",
    window: "period",
    interval: "period"
  },
  // A foreign history.
  "format messages": {
    thread: place,
    threadId: place,
    conversation: place,
    user: "customer",
    userId: "customer",
    resourceId: "customer"
  },
  // A page of a list.
  "limit after": {
    id: "here stands the query; who asks is the argument behind it",
    tenant: "here stands the query; who asks is the argument behind it",
    cursor: "after",
    page: "it is `after` here: the cursor, seq or id of the last of the page before",
    offset: "it is `after` here: the cursor, seq or id of the last of the page before",
    perPage: "limit",
    pageSize: "limit",
    take: "limit",
    user: asker,
    userId: asker,
    customer: asker,
    resourceId: asker
  },
  "limit after search": { q: "search", query: "search", title: "search" },
  // A file of a message.
  media_type: { mediaType: "media_type", mimeType: "media_type" },
  // What an agent remembers.
  anchor: {
    "*": "memory is `MemorySpec.make({ anchor })` here; a conversation keeps its messages without it"
  },
  // Options of a wait or a loop.
  signal: {
    abortSignal: "signal",
    timeout: "timeout_ms",
    streamMode: "leave it out: each part of a stream says its `type`"
  },
  // Who asks.
  "id tenant roles": {
    via: "who acts for somebody acts itself: there is one step and no chain",
    role: "it is `roles` here, a list",
    userId: "id",
    user: "id",
    tenantId: "tenant",
    onBehalfOf: acting,
    on_behalf_of: acting,
    actor: acting,
    act: acting,
    "*": "here stands who asks, { id, tenant, roles }; options are the third argument"
  }
}

/** What an author writes in a message: a start's methods and the store have further names. */
const message_members = [
  "agent",
  "text",
  "parts",
  "conversation",
  "replaces",
  "idempotency_key",
  "answer",
  "context",
  "metadata",
  "traceparent",
  "tracestate",
  "baggage"
]

const cureOf = (name: string, known: ReadonlyArray<string>): string | undefined => {
  for (const [members, cures] of Object.entries(peer_names)) {
    if (!members.split(" ").every((member) => known.includes(member))) continue
    const cure = Object.hasOwn(cures, name) ? cures[name] : cures["*"]
    if (cure !== undefined) return cure.includes(" ") ? cure : `it is \`${cure}\` here`
  }
  return undefined
}

/** What is said of a member that is none of the known ones: its name here, one that is near, or at most 20 of the known. */
export const unknownMember = (name: string, known: ReadonlyArray<string>): string => {
  const isMessage = ["text", "idempotency_key"].every((member) => known.includes(member))
  const meant = isMessage ? message_members : known
  return cureOf(name, known) ?? `${excess_message}.${suggestNames(truncateUnits(name, 64), meant)}`
}
