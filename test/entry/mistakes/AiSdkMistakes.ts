/** The commonest mistakes of people who come from the AI SDK. */
import * as z from "zod"
import type { Mistake } from "./Mistake.ts"
import { call, declaring, named, refund, starting, streamed, tooling } from "./Mistake.ts"

const schema = z.object({ order: z.string() })
const execute = () => Promise.resolve("paid back")
/** What `openai("gpt-5")` of an older package is. */
const client = { specificationVersion: "v2", provider: "openai", modelId: "gpt-5" }
const messages = [{ role: "user", content: "Pay it back" }]
const id = "0b9c1f7e-7c1e-4f3a-9d3b-0a1b2c3d4e5f"
const message = { agent: "shop", text: "Pay it back" }

export const aiSdk: ReadonlyArray<Mistake> = [
  [
    "a tool without a name",
    () => tooling({ description: "Pays.", inputSchema: schema, execute }),
    'tool "(without a name)", field "inputSchema": it is `input` here.'
  ],
  [
    "inputSchema",
    () => tooling({ ...named, inputSchema: schema }, execute),
    'tool "refund", field "inputSchema": it is `input` here.'
  ],
  [
    "execute among the options",
    () => tooling({ ...named, input: schema, execute }),
    'tool "refund", field "execute": it is the second argument: tool(options, (args, call) => ...).'
  ],
  [
    "outputSchema",
    () => tooling({ ...named, outputSchema: schema }, execute),
    'tool "refund", field "outputSchema": it is `output` here.'
  ],
  [
    "needsApproval",
    () => tooling({ ...named, needsApproval: true }, execute),
    'tool "refund", field "needsApproval": it is `needs_approval: true` here, or `permission` as a function of the arguments.'
  ],
  [
    "system of an agent",
    () => declaring({ system: "Be brief." }),
    'agent "shop": system is `instructions` here'
  ],
  [
    "tools as an object of tools",
    () => declaring({ tools: { refund } }),
    'agent "shop": tools.refund is a tool object: write its name here and give the object to start({ tools })'
  ],
  [
    "a model object of an agent",
    () => declaring({ model: client }),
    'agent "shop": model is a model object: give it to start({ model }), and leave this out or write a name here'
  ],
  [
    "stopWhen",
    () => declaring({ stopWhen: () => true }),
    'agent "shop": stopWhen is `limits: RunLimits.make({ steps_max })` here'
  ],
  [
    "temperature of an agent",
    () => declaring({ temperature: 0.2 }),
    'agent "shop": temperature is in `model_settings` here'
  ],
  ["an agent without a name", () => declaring({ name: undefined }), "agent: name is missing"],
  [
    "tools of a start as an object",
    () => starting({ tools: { refund } }),
    "start: tools is an object: write a list, [refund]"
  ],
  [
    "a model without its provider",
    () => starting({ model: "gpt-5" }),
    "start: model: Expected a text provider/model, a model object of an AI SDK package (specification v4), a list of 1 to 64 of these, or a Layer"
  ],
  [
    "a text in place of a message",
    (troupe) => call(troupe, "ask", "Pay it back"),
    'message is a text: write { agent: "shop", text: "..." }'
  ],
  [
    "prompt",
    (troupe) => call(troupe, "ask", { agent: "shop", prompt: "Pay it back" }),
    "message.prompt is `text` here"
  ],
  [
    "messages",
    (troupe) => streamed(troupe, { agent: "shop", messages }),
    "message.messages is one `text` here, the new one: the conversation has those before it"
  ],
  [
    "abortSignal",
    (troupe) => streamed(troupe, { ...message, abortSignal: new AbortController().signal }),
    "message.abortSignal is `signal` of the third argument: { signal }"
  ],
  [
    "output",
    (troupe) => call(troupe, "ask", { ...message, output: { schema } }),
    "message.output is `answer` here, the schema itself"
  ],
  [
    "a file with mediaType",
    (troupe) =>
      call(troupe, "ask", {
        ...message,
        parts: [{ type: "file", mediaType: "text/plain", data: "aGk=" }]
      }),
    "message.parts[0].mediaType is `media_type` here"
  ],
  [
    "approved",
    (troupe) =>
      call(
        troupe,
        "decide",
        id,
        { approved: true },
        { id: "olga", tenant: "default", roles: ["operator"] }
      ),
    'payload: Expected an object whose decision is "approve", "deny" with a reason, "request_revision" with a note, or "modify" with arguments; or one of the type Decision, with _tag'
  ]
]
