/** The commonest mistakes of people who come from Mastra. */
import * as z from "zod"
import type { Mistake } from "./Mistake.ts"
import { call, declaring, named, refund, shop, starting, streamed, tooling } from "./Mistake.ts"

const schema = z.object({ order: z.string() })
const execute = () => Promise.resolve("paid back")
const message = { agent: "shop", text: "Pay it back" }

/** As a class of the other library is. */
class Memory {
  readonly lastMessages = 10
}

export const mastra: ReadonlyArray<Mistake> = [
  [
    "agents of a start as an object",
    () => starting({ agents: { shop } }),
    "start: agents is an object: write a list, [shop]"
  ],
  [
    "a name of several words",
    () => declaring({ id: "shop", name: "Shop Agent" }),
    'agent "Shop Agent": id is `name` here'
  ],
  ["id of an agent", () => declaring({ id: "shop" }), 'agent "shop": id is `name` here'],
  [
    "id of a tool",
    () => tooling({ id: "refund", description: "Pays.", inputSchema: schema, execute }),
    'tool "(without a name)", field "id": it is `name` here, beside a `namespace`.'
  ],
  [
    "requireApproval",
    () => tooling({ ...named, requireApproval: true }, execute),
    'tool "refund", field "requireApproval": it is `needs_approval: true` here, or `permission` as a function of the arguments.'
  ],
  [
    "a tool without what it changes",
    () => tooling({ namespace: "shop", name: "refund", input: schema }, execute),
    'tool "refund", field "side_effects": it is missing. Write none, read, write or external.'
  ],
  [
    "memory as an object of a class",
    () => declaring({ memory: new Memory() }),
    'agent "shop": memory.lastMessages: memory is `MemorySpec.make({ anchor })` here; a conversation keeps its messages without it'
  ],
  [
    "agents of an agent",
    () => declaring({ agents: { shop } }),
    'agent "shop": agents is `specialists` here, a list of their names'
  ],
  [
    "workflows of an agent",
    () => declaring({ workflows: {} }),
    'agent "shop": workflows is `graphs` of start'
  ],
  [
    "inputProcessors",
    () => declaring({ inputProcessors: [] }),
    'agent "shop": inputProcessors is `guards` of `agent` or of start, which judge texts'
  ],
  [
    "instructions as a message",
    () => declaring({ instructions: { role: "system", content: "Help." } }),
    'agent "shop": instructions is a message: write its text here'
  ],
  [
    "a tool that the start is not given",
    () =>
      starting({
        agents: [{ name: "shop", instructions: "Help.", tools: ["refnud"] }],
        tools: [refund]
      }),
    'agent "shop", field "tools": tool "refnud" not found in registry. Did you mean "refund"?'
  ],
  [
    "storage",
    () => starting({ storage: {} }),
    'start: storage is `store` here: "ephemeral", { directory } or { postgres }'
  ],
  [
    "logger",
    () => starting({ logger: {} }),
    "start: logger: leave it out: logs go to the console, and with `telemetry` to a collector"
  ],
  [
    "a text to a stream",
    (troupe) => streamed(troupe, "Pay it back"),
    'message is a text: write { agent: "shop", text: "..." }'
  ],
  [
    "memory behind a message",
    (troupe) => call(troupe, "ask", message, { memory: { thread: "t", resource: "r" } }),
    "by.memory: here stands who asks, { id, tenant, roles }; options are the third argument"
  ],
  [
    "threadId and resourceId",
    (troupe) => call(troupe, "ask", { ...message, threadId: "t", resourceId: "r" }),
    "message.threadId is `conversation` here"
  ],
  [
    "structuredOutput",
    (troupe) => call(troupe, "ask", { ...message, structuredOutput: { schema } }),
    "message.structuredOutput is `answer` here, the schema itself"
  ],
  [
    "requestContext",
    (troupe) => call(troupe, "ask", { ...message, requestContext: {} }),
    "message.requestContext is `context` here"
  ],
  [
    "an object in place of the question's id",
    (troupe) =>
      call(
        troupe,
        "decide",
        { runId: "r", toolCallId: "c" },
        { decision: "approve" },
        { id: "olga", tenant: "default", roles: ["operator"] }
      ),
    "id: Expected the id of a question, as `pending` lists it: a lower-case UUID"
  ]
]
