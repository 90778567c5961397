/** A2A's own client against the service: what it is shown, what it may answer, and where it goes on. */
import { generateKeyPairSync, verify as verifyBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Message, StreamResponse, Task } from "@a2a-js/sdk"
import { AgentCard, Role, TaskState, verifyAgentCardSignature } from "@a2a-js/sdk"
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory
} from "@a2a-js/sdk/client"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { canonical } from "../../src/value/Canonical.ts"
import { either } from "../Long.ts"
import type { Shop, Who } from "./WireScene.ts"
import { held, picture, prompts, ran, shop, tokens } from "./WireScene.ts"

const keys = generateKeyPairSync("ec", { namedCurve: "P-256" })
const card_key = {
  kid: "cards-1",
  pem: keys.privateKey.export({ type: "pkcs8", format: "pem" }) as string
}

let troupe: Shop
const stores = {
  "in memory": () => "ephemeral",
  "on PGlite": () => ({ directory: mkdtempSync(join(tmpdir(), "troupe-a2a-")) })
}

/** The client of an agent, with the token of this person. */
const clientOf = (who: Who, agent = "clerk") => {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers)
    headers.set("authorization", `Bearer ${tokens[who]}`)
    return fetch(input, { ...init, headers })
  }
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
      transports: [new JsonRpcTransportFactory({ fetchImpl })]
    })
  )
  return factory.createFromUrl(`${troupe.url}/wires/a2a/${agent}/`)
}
type Client = Awaited<ReturnType<typeof clientOf>>

type Parts = Message["parts"]
const none = { metadata: undefined, filename: "", mediaType: "" }
const textPart = (value: string): Parts[number] => ({
  ...none,
  content: { $case: "text", value }
})
const dataPart = (value: unknown): Parts[number] => ({
  ...none,
  content: { $case: "data", value }
})

const request = (parts: Parts, more: Partial<Message> = {}) => ({
  tenant: "",
  metadata: undefined,
  configuration: undefined,
  message: {
    messageId: crypto.randomUUID(),
    contextId: "",
    taskId: "",
    role: Role.ROLE_USER,
    parts,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...more
  }
})
const one = (id: string) => ({ tenant: "", id })

const said = async (client: Client, text: string, more: Partial<Message> = {}) =>
  (await client.sendMessage(request([textPart(text)], more))) as Task

const answered = async (client: Client, { id, contextId }: Task, data: object) =>
  (await client.sendMessage(request([dataPart(data)], { taskId: id, contextId }))) as Task

const listed = (client: Client, more: object = {}) =>
  client.listTasks({ tenant: "", contextId: "", pageToken: "", status: 0, ...more } as never)

const all = async (events: AsyncIterable<StreamResponse>) => {
  const found: Array<NonNullable<StreamResponse["payload"]>> = []
  for await (const { payload } of events) if (payload !== undefined) found.push(payload)
  return found
}

/** The task with which a stream begins. */
const firstOf = async (events: AsyncGenerator<StreamResponse, void>): Promise<Task> => {
  const { value } = await events.next()
  return taskIn(value?.payload)
}
const taskIn = (payload: StreamResponse["payload"]): Task => {
  if (payload?.$case !== "task") throw new Error("It is no task.")
  return payload.value
}

const valueOf = ({ content }: Parts[number]): unknown => content?.value
const textOf = ({ artifacts }: Pick<Task, "artifacts">): string =>
  artifacts.flatMap(({ parts }) => parts.map(valueOf)).join("")
const stateOf = ({ status }: Task): string => TaskState[status?.state ?? -1]!
const questionsOf = ({ status }: Task) =>
  (status?.message?.parts ?? []).flatMap(({ content }) =>
    content?.$case === "data" ? [content.value] : []
  )
const questionOf = (task: Task) => {
  assert.strictEqual(stateOf(task), "TASK_STATE_INPUT_REQUIRED")
  return questionsOf(task)[0]
}

const refusalOf = async (running: Promise<unknown>) => {
  try {
    await running
  } catch (error) {
    const { cause } = error as { readonly cause?: unknown }
    return (cause ?? error) as { readonly name: string; readonly envelopeCode: number }
  }
  throw new Error("It was not refused.")
}

describe.each(Object.entries(stores).slice(0, either(1, 2)))("a client of A2A %s", (_, storeOf) => {
  const store = storeOf()
  beforeAll(async () => {
    const http = { port: 0, settings: { wires: ["a2a"], card_key } }
    troupe = await shop({ store, http } as never)
  }, 60_000)
  afterAll(async () => {
    await troupe.stop()
    if (typeof store === "object") rmSync(store.directory, { recursive: true })
  })

  it("reads a card that is signed, of an agent whose owner it may ask", async () => {
    const url = `${troupe.url}/wires/a2a/clerk`
    const headers = { authorization: `Bearer ${tokens.carl}` }
    const card = await (await fetch(`${url}/.well-known/agent-card.json`, { headers })).json()
    assert.deepStrictEqual(AgentCard.toJSON(AgentCard.fromJSON(card)), card)
    assert.deepInclude(card, { name: "clerk", description: "Helps with orders." })
    assert.deepStrictEqual(card.capabilities, { streaming: true, pushNotifications: false })
    assert.strictEqual(card.supportedInterfaces[0].url, url)
    // Neither tools nor specialists are told.
    for (const word of ["refund", "expert", "Help."]) assert.notInclude(JSON.stringify(card), word)
    const verify = verifyAgentCardSignature((kid) => {
      assert.strictEqual(kid, "cards-1")
      return Promise.resolve(keys.publicKey)
    })
    await verify(card)
    const { signatures, ...signed } = card
    const [{ protected: header, signature }] = signatures
    const payload = Buffer.from(canonical(signed)).toString("base64url")
    const isSigned = verifyBytes(
      "sha256",
      Buffer.from(`${header}.${payload}`),
      { key: keys.publicKey, dsaEncoding: "ieee-p1363" },
      Buffer.from(signature, "base64url")
    )
    assert.isTrue(isSigned)
    const { debug } = console
    console.debug = () => {}
    for (const member of Object.keys(signed)) {
      const changed = { ...card, [member]: undefined }
      assert.include(String(await refusalOf(verify(changed))), "No valid signatures", member)
    }
    console.debug = debug
  })

  it("is told a text as it is written, in one artifact, and goes on with its context", async () => {
    const client = await clientOf("carl")
    const text = "hello, how are you today, and what is the news of my order?"
    const events = await all(client.sendMessageStream(request([textPart(text)])))
    const kinds = events.map(({ $case }) => $case)
    assert.strictEqual(kinds[0], "task")
    assert.isAbove(kinds.filter((kind) => kind === "artifactUpdate").length, 4)
    const last = events.at(-1)
    assert.strictEqual(
      last?.$case === "statusUpdate" && last.value.status?.state,
      TaskState.TASK_STATE_COMPLETED
    )
    const { contextId, id } = taskIn(events[0])
    assert.match(contextId, /^carl:[0-9a-f]{32}$/)
    const task = await client.getTask(one(id))
    assert.deepStrictEqual(
      [stateOf(task), textOf(task)],
      ["TASK_STATE_COMPLETED", `You said: ${text}`]
    )
    const [message] = task.history
    assert.deepStrictEqual(message?.parts.map(valueOf), [text])
    const next = await said(client, "and now?", { contextId })
    assert.strictEqual(next.contextId, contextId)
    assert.notStrictEqual(next.id, id)
    assert.strictEqual(textOf(next), "You said: and now?")
  })

  it("is shown neither calls nor thoughts nor what specialists say", async () => {
    const client = await clientOf("ada")
    const events = await all(client.sendMessageStream(request([textPart("ask about 7")])))
    const told = JSON.stringify(events)
    assert.include(told, "Done with ask about 7.")
    for (const word of ["expert", "thought", "look", "depot"]) assert.notInclude(told, word)
    const broken = await said(client, "broken 1003")
    assert.strictEqual(textOf(broken), "Done with broken 1003.")
  })

  it("approves a call, which then runs once", async () => {
    ran.length = 0
    const client = await clientOf("olga")
    const asked = await said(client, "refund 1004")
    const { approval, digest, ...question } = questionOf(asked)
    assert.deepInclude(question, { tool: "refund", arguments: { order: "1004" } })
    assert.deepStrictEqual(question.decisions, ["approve", "deny", "modify"])
    assert.include(valueOf(asked.status!.message!.parts[0]!), "Pays back")
    assert.deepStrictEqual(ran, [])
    const done = await answered(client, asked, { approval, digest, decision: "approve" })
    assert.deepStrictEqual([done.id, textOf(done)], [asked.id, "Done with refund 1004."])
    // Once more: it is told the same, and nothing runs again.
    assert.deepStrictEqual(await answered(client, asked, { approval, decision: "approve" }), done)
    assert.deepStrictEqual(ran, ["refund 1004"])
  })

  it("denies a call with a reason, which the model reads, and approves one with other arguments", async () => {
    ran.length = 0
    const client = await clientOf("olga")
    const denied = await said(client, "refund 1005")
    const { approval } = questionOf(denied)
    await answered(client, denied, { approval, decision: "deny", reason: "paid before" })
    assert.include(prompts.at(-1), "paid before")
    const changed = await said(client, "refund 1007")
    const edited = { decision: "modify", arguments: { order: "1008" } }
    await answered(client, changed, { approval: questionOf(changed).approval, ...edited })
    assert.deepStrictEqual(ran, ["refund 1008"])
  })

  it("answers two questions at once, and a second question of the same task", async () => {
    ran.length = 0
    const client = await clientOf("olga")
    const both = await said(client, "both 1015")
    const [first, second] = questionsOf(both)
    const parts = [
      dataPart({ approval: first.approval, decision: "deny" }),
      dataPart({ approval: second.approval, decision: "approve" })
    ]
    const done = (await client.sendMessage(request(parts, { taskId: both.id }))) as Task
    assert.strictEqual(textOf(done), "Done with both 1015.")
    const twice = await said(client, "twice 1009")
    const one = questionOf(twice).approval
    const again = await answered(client, twice, { approval: one, decision: "approve" })
    const other = questionOf(again).approval
    assert.notStrictEqual(other, one)
    const end = await answered(client, twice, { approval: other, decision: "approve" })
    assert.deepStrictEqual([end.id, stateOf(end)], [twice.id, "TASK_STATE_COMPLETED"])
    assert.deepStrictEqual(ran, ["refund 1015-b", "refund 1009-1", "refund 1009-2"])
  })

  it("decides as a customer what is its own to decide, without what customers do not see", async () => {
    ran.length = 0
    const client = await clientOf("carl")
    const asked = await said(client, "refund 1014")
    const question = questionOf(asked)
    assert.doesNotHaveAnyKeys(question, ["digest", "arguments"])
    assert.deepStrictEqual(question.decisions, ["approve", "deny"])
    await answered(client, asked, { approval: question.approval, decision: "approve" })
    assert.deepStrictEqual(ran, ["refund 1014"])
  })

  it("sends a new message with free text, which waits behind the question and decides nothing", async () => {
    ran.length = 0
    const client = await clientOf("olga")
    const asked = await said(client, "refund 1018")
    const { contextId, id: taskId } = asked
    const yes = await said(client, "yes", { taskId, contextId })
    assert.notStrictEqual(yes.id, taskId)
    assert.deepStrictEqual([yes.contextId, stateOf(yes)], [asked.contextId, "TASK_STATE_SUBMITTED"])
    assert.strictEqual(stateOf(await client.getTask(one(taskId))), "TASK_STATE_INPUT_REQUIRED")
    assert.deepStrictEqual(ran, [])
    await client.cancelTask({ ...one(taskId), metadata: undefined })
  })

  it("follows a task through a question that somebody else decides", async () => {
    ran.length = 0
    const client = await clientOf("olga")
    const asked = await said(client, "refund 1019")
    const events = client.resubscribeTask(one(asked.id))
    assert.deepStrictEqual(await firstOf(events), asked)
    const rest = all(events)
    const ada = { id: "ada", tenant: "default", roles: ["approver"] } as const
    await troupe.decide(questionOf(asked).approval, { decision: "approve" }, ada)
    const last = (await rest).at(-1)
    assert.deepStrictEqual(
      last?.$case === "statusUpdate" && last.value.status?.state,
      TaskState.TASK_STATE_COMPLETED
    )
    assert.deepStrictEqual(ran, ["refund 1019"])
    const { envelopeCode } = await refusalOf(all(client.resubscribeTask(one(asked.id))))
    assert.strictEqual(envelopeCode, -32_004)
  })

  it("cancels a task, and nothing by going away", async () => {
    const client = await clientOf("olga")
    const asked = await said(client, "refund 1010")
    const cancel = (id: string) => client.cancelTask({ ...one(id), metadata: undefined })
    const cancelled = await cancel(asked.id)
    assert.deepStrictEqual(
      [stateOf(cancelled), textOf(cancelled)],
      ["TASK_STATE_CANCELED", "One moment."]
    )
    assert.deepStrictEqual(await cancel(asked.id), cancelled)
    assert.strictEqual((await troupe.run(asked.id)).status, "cancelled")
    const { promise, resolve } = Promise.withResolvers<void>()
    held.promise = promise
    const controller = new AbortController()
    const events = client.sendMessageStream(request([textPart("hold 1021")]), {
      signal: controller.signal
    })
    const { id } = await firstOf(events)
    controller.abort()
    await events.return(undefined)
    assert.strictEqual((await troupe.run(id)).status, "processing")
    resolve()
    assert.strictEqual((await troupe.result(id)).status, "complete")
    assert.strictEqual((await refusalOf(cancel(id))).name, "TaskNotCancelableError")
  })

  it("begins one task for a message that is posted twice, and waits for none if it likes", async () => {
    const client = await clientOf("ada")
    const twice = request([textPart("look 1011")])
    const configuration = { acceptedOutputModes: [], taskPushNotificationConfig: undefined }
    const first = (await client.sendMessage({
      ...twice,
      configuration: { ...configuration, returnImmediately: true, historyLength: 0 }
    })) as Task
    assert.deepStrictEqual(first.history, [])
    const second = (await client.sendMessage(twice)) as Task
    assert.strictEqual(second.id, first.id)
    assert.strictEqual(textOf(second), "Done with look 1011.")
    const other = { ...twice, message: { ...twice.message, parts: [textPart("look 1012")] } }
    assert.include(String(await refusalOf(client.sendMessage(other))), "message.messageId")
    // The same id of another client is another message.
    const theirs = (await (await clientOf("olga")).sendMessage(twice)) as Task
    assert.notStrictEqual(theirs.id, first.id)
    assert.notStrictEqual(theirs.contextId, first.contextId)
  })

  it("lists its own tasks by pages, contexts and states", async () => {
    const client = await clientOf("cora")
    const empty = await listed(client)
    assert.deepStrictEqual(
      [empty.tasks, empty.nextPageToken, empty.totalSize, empty.pageSize],
      [[], "", 0, 50]
    )
    const first = await said(client, "one")
    const { contextId } = first
    const second = await said(client, "two", { contextId })
    const asked = await said(client, "refund 1")
    const page = await listed(client, { pageSize: 2, includeArtifacts: true })
    assert.deepStrictEqual(
      page.tasks.map(({ id }) => id),
      [asked.id, second.id]
    )
    assert.deepStrictEqual(page.tasks.map(textOf), ["One moment.", "You said: two"])
    assert.deepStrictEqual([page.totalSize, page.pageSize], [3, 2])
    const rest = await listed(client, { pageSize: 2, pageToken: page.nextPageToken })
    assert.deepStrictEqual(
      [rest.tasks.map(({ id }) => id), rest.totalSize, rest.nextPageToken],
      [[first.id], 3, ""]
    )
    assert.deepStrictEqual(rest.tasks[0]?.artifacts, [])
    const idsOf = async (more: object) => (await listed(client, more)).tasks.map(({ id }) => id)
    assert.deepStrictEqual(await idsOf({ contextId }), [second.id, first.id])
    assert.deepStrictEqual(await idsOf({ status: TaskState.TASK_STATE_INPUT_REQUIRED }), [asked.id])
    assert.deepStrictEqual(await idsOf({ status: TaskState.TASK_STATE_WORKING }), [])
    const after = { statusTimestampAfter: second.status?.timestamp }
    assert.deepStrictEqual(await idsOf(after), [asked.id, second.id])
    // Tasks of others are none of its own, for staff too.
    assert.deepStrictEqual((await listed(await clientOf("otto"))).tasks, [])
    const olga = await listed(await clientOf("olga"), { contextId })
    assert.deepStrictEqual(olga.tasks, [])
  })

  it("takes files, and gives those of answers", async () => {
    const client = await clientOf("carl")
    const raw = { $case: "raw", value: Buffer.from(picture.data, "base64") } as const
    const task = (await client.sendMessage(
      request([
        textPart("draw 1019"),
        { ...none, content: raw, mediaType: "image/png", filename: "mine.png" }
      ])
    )) as Task
    assert.include(prompts.at(-1), "mine.png")
    const [, file] = task.artifacts[0]!.parts
    assert.deepInclude(file, { mediaType: "image/png", filename: "point.png" })
    const headers = { authorization: `Bearer ${tokens.carl}` }
    const got = await fetch(String(valueOf(file!)), { headers })
    assert.strictEqual(Buffer.from(await got.arrayBuffer()).toString("base64"), picture.data)
  })

  it("reads a typed answer as data", async () => {
    const answer_schema = { type: "object", properties: { order: { type: "string" } } }
    const sent = await fetch(`${troupe.url}/v1/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${tokens.olga}`, "content-type": "application/json" },
      body: JSON.stringify({ agent: "clerk", text: '{"order":"7"}', answer_schema })
    })
    const { task_id: run } = await sent.json()
    await troupe.result(run)
    const task = await (await clientOf("olga")).getTask(one(run))
    assert.deepStrictEqual(
      task.artifacts[0]?.parts.map(({ content, mediaType }) => [content, mediaType]),
      [[{ $case: "data", value: { order: "7" } }, "application/json"]]
    )
  })
})
