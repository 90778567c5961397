/** The commonest mistakes of people who come from LangGraph.js. */
import * as z from "zod"
import type { Mistake } from "./Mistake.ts"
import { call, declaring, named, refund, starting, streamed, tooling } from "./Mistake.ts"

const schema = z.object({ order: z.string() })
const execute = () => Promise.resolve("paid back")
const message = { agent: "shop", text: "Pay it back" }
const id = "0b9c1f7e-7c1e-4f3a-9d3b-0a1b2c3d4e5f"
const olga = { id: "olga", tenant: "default", roles: ["operator"] }

export const langGraph: ReadonlyArray<Mistake> = [
  [
    "the function before the options",
    () => tooling(execute, { name: "refund", description: "Pays.", schema }),
    'tool "refund", field "options": they stand behind the function. Write tool({ namespace, name, side_effects, input }, (args, call) => ...).'
  ],
  [
    "schema of a tool",
    () => tooling({ ...named, schema }, execute),
    'tool "refund", field "schema": it is `input` here.'
  ],
  [
    "llm of an agent",
    () => declaring({ llm: {} }),
    'agent "shop": llm is `model` of start: a text provider/model, or a model object of an AI SDK package'
  ],
  [
    "prompt of an agent",
    () => declaring({ prompt: "Be brief." }),
    'agent "shop": prompt is `instructions` here'
  ],
  [
    "a list of tools as they are",
    () => declaring({ tools: [refund] }),
    'agent "shop": tools[0] is a tool object: write its name here and give the object to start({ tools })'
  ],
  [
    "stateSchema",
    () => declaring({ stateSchema: schema }),
    'agent "shop": stateSchema is `context` of `agent`, a schema of what each message passes'
  ],
  [
    "checkpointer of an agent",
    () => declaring({ checkpointer: {} }),
    'agent "shop": checkpointer is `store` of start: "ephemeral", { directory } or { postgres }'
  ],
  [
    "responseFormat",
    () => declaring({ responseFormat: schema }),
    'agent "shop": responseFormat is `answer` of a message: ask({ agent, text, answer: schema })'
  ],
  [
    "middleware",
    () => declaring({ middleware: [] }),
    'agent "shop": middleware is `guards` of `agent` or of start for texts, and `permission` or `policy` for calls'
  ],
  [
    "interruptBefore",
    () => declaring({ interruptBefore: ["tools"] }),
    'agent "shop": interruptBefore: a tool asks a person by its `side_effects` or its `permission`, or by `policy` of start'
  ],
  [
    "checkpointer of a start",
    () => starting({ checkpointer: {} }),
    'start: checkpointer is `store` here: "ephemeral", { directory } or { postgres }'
  ],
  [
    "a store as a text",
    () => starting({ store: "postgres://localhost/app" }),
    'start: store: Expected "ephemeral", { directory: a text that is not empty } or { postgres: a URL that begins with postgres:// or postgresql://, connections_max?: 5 to 500, statement_timeout_ms? and answer_timeout_ms?: 100 to 3,600,000 }'
  ],
  [
    "a client of a model",
    () => starting({ model: { model: "gpt-5", invoke: execute } }),
    "start: model: Expected a text provider/model, a model object of an AI SDK package (specification v4), a list of 1 to 64 of these, or a Layer"
  ],
  [
    "messages without an agent",
    (troupe) => call(troupe, "ask", { messages: [{ role: "user", content: "Hi" }] }),
    "message.messages is one `text` here, the new one: the conversation has those before it"
  ],
  [
    "configurable behind a message",
    (troupe) => call(troupe, "ask", message, { configurable: { thread_id: "1" } }),
    "by.configurable: here stands who asks, { id, tenant, roles }; options are the third argument"
  ],
  [
    "thread_id",
    (troupe) => call(troupe, "ask", { ...message, thread_id: "1" }),
    "message.thread_id is `conversation` here"
  ],
  [
    "recursionLimit",
    (troupe) => call(troupe, "ask", { ...message, recursionLimit: 50 }),
    "message.recursionLimit is `limits: RunLimits.make({ steps_max })` of the agent"
  ],
  [
    "streamMode",
    (troupe) => streamed(troupe, message, olga, { streamMode: "messages" }),
    "following.streamMode: leave it out: each part of a stream says its `type`"
  ],
  [
    "resume",
    (troupe) => call(troupe, "decide", id, { resume: true }, olga),
    'payload: Expected an object whose decision is "approve", "deny" with a reason, "request_revision" with a note, or "modify" with arguments; or one of the type Decision, with _tag'
  ],
  [
    "a thread in place of a run",
    (troupe) => call(troupe, "result", "thread-1", olga),
    "run: Expected the id of a run, as `send` gives it: a lower-case UUID"
  ]
]
