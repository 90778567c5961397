/** The commonest mistakes of people who come from OpenAI Agents. */
import * as z from "zod"
import type { Mistake } from "./Mistake.ts"
import { call, declaring, named, shop, streamed, tooling } from "./Mistake.ts"

const schema = z.object({ order: z.string() })
const execute = () => Promise.resolve("paid back")
const message = { agent: "shop", text: "Pay it back" }
const id = "0b9c1f7e-7c1e-4f3a-9d3b-0a1b2c3d4e5f"
const olga = { id: "olga", tenant: "default", roles: ["operator"] }

export const openAiAgents: ReadonlyArray<Mistake> = [
  [
    "a name with capitals",
    () => declaring({ name: "Support Agent" }),
    'agent "Support Agent": name: Expected a name such as order-desk: a lower-case letter and up to 63 of them, digits, _ or -'
  ],
  [
    "parameters and execute",
    () => tooling({ name: "refund", description: "Pays.", parameters: schema, execute }),
    'tool "refund", field "parameters": it is `input` here.'
  ],
  [
    "parameters",
    () => tooling({ ...named, parameters: schema }, execute),
    'tool "refund", field "parameters": it is `input` here.'
  ],
  [
    "strict",
    () => tooling({ ...named, strict: true }, execute),
    'tool "refund", field "strict": leave it out: arguments have to fit `input`.'
  ],
  [
    "needsApproval as a function",
    () => tooling({ ...named, needsApproval: () => Promise.resolve(true) }, execute),
    'tool "refund", field "needsApproval": it is `needs_approval: true` here, or `permission` as a function of the arguments.'
  ],
  [
    "errorFunction",
    () => tooling({ ...named, errorFunction: null }, execute),
    'tool "refund", field "errorFunction": leave it out: the model is told of an error; `ToolUserError` says what.'
  ],
  [
    "handoffs to agents as they are",
    () => declaring({ handoffs: [shop] }),
    'agent "shop": handoffs[0] is an agent object: write its name here and give the object to start({ agents })'
  ],
  [
    "handoffDescription",
    () => declaring({ handoffDescription: "Pays orders back." }),
    'agent "shop": handoffDescription is `description` here'
  ],
  [
    "outputType",
    () => declaring({ outputType: schema }),
    'agent "shop": outputType is `answer` of a message: ask({ agent, text, answer: schema })'
  ],
  [
    "modelSettings",
    () => declaring({ modelSettings: { temperature: 0.2 } }),
    'agent "shop": modelSettings is `model_settings` here'
  ],
  [
    "maxTokens of the settings",
    () => declaring({ model_settings: { maxTokens: 100 } }),
    'agent "shop": model_settings.maxTokens is `max_output_tokens` here'
  ],
  [
    "inputGuardrails",
    () => declaring({ inputGuardrails: [] }),
    'agent "shop": inputGuardrails is `guards` of `agent` or of start, which judge texts'
  ],
  [
    "mcpServers",
    () => declaring({ mcpServers: [] }),
    'agent "shop": mcpServers is `mcp` of start, and its tools are in `tools` by their names'
  ],
  [
    "an agent without instructions",
    () => declaring({ instructions: undefined }),
    'agent "shop": instructions is missing'
  ],
  [
    "an agent and a text",
    (troupe) => call(troupe, "ask", shop, "Pay it back"),
    'message is an agent: write { agent: "shop", text: "..." }'
  ],
  [
    "input",
    (troupe) => call(troupe, "ask", { agent: shop, input: "Pay it back" }),
    "message.input is `text` here"
  ],
  [
    "options in place of who asks",
    (troupe) => streamed(troupe, message, { stream: true, maxTurns: 5 }),
    "by.stream: here stands who asks, { id, tenant, roles }; options are the third argument"
  ],
  [
    "session",
    (troupe) => call(troupe, "ask", { ...message, session: {} }),
    "message.session is `conversation` here, an id"
  ],
  [
    "a text of items",
    (troupe) => call(troupe, "ask", { agent: "shop", text: [{ role: "user", content: "Hi" }] }),
    "message.text is a list of messages: write the text of the new one; the conversation has those before it"
  ],
  [
    "a decision as a text",
    (troupe) => call(troupe, "decide", id, "approve", olga),
    'payload: Expected an object whose decision is "approve", "deny" with a reason, "request_revision" with a note, or "modify" with arguments; or one of the type Decision, with _tag'
  ]
]
