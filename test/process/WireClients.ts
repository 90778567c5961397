/** Clients of wires that outlive the service: each says something, goes on with what it was told, and answers a question. */
import { HttpAgent } from "@ag-ui/client"
import type { StreamResponse, Task } from "@a2a-js/sdk"
import { Role, TaskState } from "@a2a-js/sdk"
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory
} from "@a2a-js/sdk/client"
import { Chat } from "@ai-sdk/react"
import { Client as McpClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai"
import OpenAI from "openai"

/** Sends to the service, wherever it is by now, with the token. */
export type Send = typeof fetch

/** A client of an agent. Each promise fails where the service is gone. */
export interface WireClient {
  /** What it has been told of the answer. */
  readonly said: () => string
  readonly say: (text: string) => Promise<unknown>
  /** Goes on with the run, until it waits for an answer. */
  readonly resume: () => Promise<unknown>
  /** Approves, and follows the run to its end. */
  readonly approve: () => Promise<unknown>
}

const base = "http://service/wires"

const uiMessages = (send: Send): WireClient => {
  const chat = new Chat({
    transport: new DefaultChatTransport({ api: `${base}/ui-messages/shop`, fetch: send }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses
  })
  const parts = () => {
    const messages = chat.messages.filter(({ role }) => role === "assistant")
    if (messages.length > 1) throw new Error("The run has two messages.")
    return messages[0]?.parts ?? []
  }
  const idle = async () => {
    while (chat.status === "submitted" || chat.status === "streaming") {
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    if (chat.error !== undefined) throw chat.error
  }
  const question = () =>
    parts().flatMap((part) =>
      part.type === "dynamic-tool" && part.approval !== undefined ? [part.approval.id] : []
    )[0] ?? ""
  return {
    said: () =>
      parts()
        .flatMap((part) => (part.type === "text" ? [part.text] : []))
        .join(" "),
    say: async (text) => {
      await chat.sendMessage({ text })
      await idle()
    },
    resume: async () => {
      await chat.resumeStream()
      await idle()
    },
    approve: async () => {
      await chat.addToolApprovalResponse({ id: question(), approved: true })
      await new Promise((resolve) => setTimeout(resolve, 0))
      await idle()
    }
  }
}

/** The body of a response, which ends where its connection breaks: this client does not catch such an error. */
const endingOf = async (response: Response): Promise<Response> => {
  const reader = response.body!.getReader()
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const next = await reader.read().catch(() => ({ done: true as const, value: undefined }))
      if (next.done) controller.close()
      else controller.enqueue(next.value)
    }
  })
  return new Response(body, response)
}

const agUi = (send: Send): WireClient => {
  const agent = new HttpAgent({
    url: `${base}/ag-ui/shop`,
    fetch: async (input, init) => endingOf(await send(input, init))
  })
  const run = () => agent.runAgent({ runId: "said" })
  return {
    said: () =>
      agent.messages
        .flatMap(({ content, role }) => (role === "assistant" ? [String(content)] : []))
        .join(" "),
    say: (content) => {
      agent.addMessage({ id: "1", role: "user", content })
      return run()
    },
    resume: run,
    approve: () =>
      agent.runAgent({
        resume: agent.pendingInterrupts.map(({ id }) => ({
          interruptId: id,
          status: "resolved" as const,
          payload: { approved: true }
        }))
      })
  }
}

const responses = (send: Send): WireClient => {
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: "-", fetch: send, maxRetries: 0 })
  const seen = { text: "", number: -1, id: "", question: "" }
  type Events = AsyncIterable<OpenAI.Responses.ResponseStreamEvent>
  const follow = async (events: Events) => {
    let isOver = false
    for await (const event of events) {
      seen.number = event.sequence_number
      if (event.type === "response.created") seen.id = event.response.id
      if (event.type === "response.output_text.delta") seen.text += event.delta
      if (
        event.type === "response.output_item.done" &&
        event.item.type === "mcp_approval_request"
      ) {
        seen.question = event.item.id
      }
      isOver ||= event.type === "response.completed"
    }
    if (!isOver) throw new Error("The answer broke off.")
  }
  const stream = true as const
  return {
    said: () => seen.text,
    say: async (input) => follow(await client.responses.create({ model: "shop", input, stream })),
    resume: async () =>
      follow(await client.responses.retrieve(seen.id, { stream, starting_after: seen.number })),
    approve: async () => {
      const input = [
        {
          type: "mcp_approval_response" as const,
          approval_request_id: seen.question,
          approve: true
        }
      ]
      seen.text += " "
      const given = { model: "shop", previous_response_id: seen.id, input, stream }
      await follow(await client.responses.create(given))
    }
  }
}

const a2a = (send: Send): WireClient => {
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      cardResolver: new DefaultAgentCardResolver({ fetchImpl: send }),
      transports: [new JsonRpcTransportFactory({ fetchImpl: send })]
    })
  )
  const client = factory.createFromUrl(`${base}/a2a/shop/`)
  const none = { metadata: undefined, filename: "", mediaType: "" }
  const seen = { text: "", id: "", contextId: "", approval: "", state: 0 }
  const take = ({ id, contextId, status, artifacts }: Task) => {
    const [artifact] = artifacts
    const text = artifact?.parts.map(({ content }) => String(content?.value)).join("")
    Object.assign(seen, { id, contextId, state: status?.state, ...(text && { text }) })
    const questions = status?.message?.parts ?? []
    const data = questions.find(({ content }) => content?.$case === "data")
    seen.approval = data?.content?.value.approval
  }
  const follow = async (events: AsyncIterable<StreamResponse>) => {
    for await (const { payload } of events) {
      if (payload?.$case === "task") take(payload.value)
      if (payload?.$case === "artifactUpdate") {
        const { append, artifact } = payload.value
        const text = artifact?.parts.map(({ content }) => String(content?.value)).join("") ?? ""
        seen.text = append ? seen.text + text : text
      }
      if (payload?.$case === "statusUpdate") {
        take({ ...payload.value, id: seen.id, artifacts: [], history: [] })
        if (seen.state === TaskState.TASK_STATE_INPUT_REQUIRED) return
      }
    }
    if (seen.state < TaskState.TASK_STATE_COMPLETED) throw new Error("The answer broke off.")
  }
  const messageOf = (
    content: { $case: "text"; value: string } | { $case: "data"; value: object }
  ) => ({
    tenant: "",
    metadata: undefined,
    configuration: undefined,
    message: {
      messageId: crypto.randomUUID(),
      role: Role.ROLE_USER,
      parts: [{ ...none, content }],
      taskId: seen.id,
      contextId: seen.contextId,
      metadata: undefined,
      extensions: [],
      referenceTaskIds: []
    }
  })
  return {
    said: () => seen.text,
    say: async (value) =>
      follow((await client).sendMessageStream(messageOf({ $case: "text", value }))),
    resume: async () => follow((await client).resubscribeTask({ tenant: "", id: seen.id })),
    approve: async () => {
      const before = seen.text
      const value = { approval: seen.approval, decision: "approve" }
      await follow((await client).sendMessageStream(messageOf({ $case: "data", value })))
      const task = await (await client).getTask({ tenant: "", id: seen.id })
      take(task)
      // The answer stands in place of what was said before.
      seen.text = `${before} ${seen.text}`
    }
  }
}

/** What it is told comes at the end of each call. */
const mcp = (send: Send): WireClient => {
  const client = new McpClient({ name: "host", version: "1" })
  const transport = new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { fetch: send })
  const connected = client.connect(transport)
  const seen = { text: "", message: "", run: "", approval: "" }
  const call = async (name: string, input: Record<string, unknown>) => {
    await connected
    const { structuredContent } = await client.callTool({ name, arguments: input })
    const { run, text, waiting_for } = structuredContent as {
      readonly run: string
      readonly text: string
      readonly waiting_for: ReadonlyArray<{ readonly approval: string }>
    }
    const approval = waiting_for[0]?.approval ?? ""
    Object.assign(seen, { run, approval, text: `${seen.text} ${text}`.trim() })
  }
  const ask = () => call("ask_shop", { message: seen.message, idempotency_key: "1" })
  return {
    said: () => seen.text,
    say: (message) => {
      seen.message = message
      return ask()
    },
    resume: ask,
    approve: async () => {
      // No tool decides.
      const decided = await send(`http://service/v1/approvals/${seen.approval}/decision`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ decision: "approve" })
      })
      if (!decided.ok) throw new Error(await decided.text())
      await call("run_result", { run: seen.run })
    }
  }
}

export const wire_clients = { a2a, "ag-ui": agUi, mcp, responses, "ui-messages": uiMessages }
