/**
 * A conversation as the messages that a client of the AI SDK holds after it has followed it: what its own reducer makes of the chunks of
 * `UiMessages`, with a person's message before each run's.
 */
import { isFile } from "../conversation/Part.ts"
import type { FeedItem } from "../run/FeedItem.ts"
import { eventUnits } from "../run/HeldUnits.ts"
import type { RunAccepted } from "../run/RunEvent.ts"
import type { ConversationId, RunId } from "../value/Ids.ts"
import { isRunId } from "../value/Ids.ts"
import { defined } from "../value/PlainObject.ts"
import type { UiChunk } from "./UiMessages.ts"
import { UiMessages } from "./UiMessages.ts"
import type { RunStep } from "./RunView.ts"
import { RunView } from "./RunView.ts"

/** The most runs whose messages are kept, and the most UTF-16 units of them: the newest. */
export const history_runs_max = 100
export const history_units_max = 8_000_000

type Members = Record<string, unknown>

/** A message in the SDK's form. */
export interface UiMessage {
  readonly id: string
  readonly role: "user" | "assistant"
  readonly metadata?: Readonly<Members>
  readonly parts: ReadonlyArray<Readonly<Members>>
}

/** The id of the message of a person that a run answers. */
export const saidId = (run: RunId): string => `${run}:message`

/** The run that answers the message with this id; undefined = the id is a client's own. */
export const runOfSaid = (id: string): RunId | undefined => {
  const [run, ...rest] = id.split(":")
  return rest.join(":") === "message" && isRunId(run) ? run : undefined
}

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const merged = (base: Members, more: Members): Members => {
  const all: Members = { ...base }
  for (const [name, value] of Object.entries(more)) {
    const before = all[name]
    all[name] = isMembers(before) && isMembers(value) ? merged(before, value) : value
  }
  return all
}

/** Members of a tool part that a chunk sets, in the SDK's names. */
const outputs: Readonly<Record<string, string>> = {
  "tool-output-available": "output-available",
  "tool-output-error": "output-error"
}

/** Makes a message of its chunks. */
class MessageMaker {
  readonly #id: string
  #metadata: Members = {}
  readonly #parts: Array<Members> = []
  readonly #open = new Map<string, Members>()

  constructor(id: string) {
    this.#id = id
  }

  get message(): UiMessage {
    return { id: this.#id, role: "assistant", metadata: this.#metadata, parts: this.#parts }
  }

  #tool(is: (part: Members) => boolean): Members | undefined {
    return this.#parts.findLast((part) => part["type"] === "dynamic-tool" && is(part))
  }

  #begin(kind: "text" | "reasoning", id: string): void {
    const part = {
      type: kind,
      ...(kind === "reasoning" ? { id } : undefined),
      text: "",
      state: "streaming"
    }
    this.#open.set(`${kind} ${id}`, part)
    this.#parts.push(part)
  }

  /** Whether it was a chunk of a text. */
  #text(type: string, chunk: UiChunk): boolean {
    const [, kind, what] = /^(text|reasoning)-(start|delta|end)$/.exec(type) ?? []
    if (kind !== "text" && kind !== "reasoning") return false
    const id = String(chunk["id"])
    if (what === "start") this.#begin(kind, id)
    const part = this.#open.get(`${kind} ${id}`)
    if (part === undefined) return true
    if (what === "delta") part["text"] = `${String(part["text"])}${String(chunk["delta"])}`
    if (what === "end") part["state"] = "done"
    return true
  }

  #called(chunk: UiChunk): void {
    const { dynamic: _dynamic, type: _type, ...members } = chunk
    const known = this.#tool((part) => part["toolCallId"] === chunk["toolCallId"])
    const set = { ...members, state: "input-available" }
    if (known === undefined) this.#parts.push({ type: "dynamic-tool", ...set })
    else Object.assign(known, set)
  }

  #of(type: string, chunk: UiChunk): void {
    const part =
      type === "tool-approval-response"
        ? this.#tool(
            ({ approval }) => isMembers(approval) && approval["id"] === chunk["approvalId"]
          )
        : this.#tool(({ toolCallId }) => toolCallId === chunk["toolCallId"])
    if (part === undefined) return
    const state = outputs[type]
    if (state !== undefined) {
      for (const name of ["output", "errorText", "preliminary"]) delete part[name]
      const { errorText, output, preliminary } = chunk
      Object.assign(part, { state }, defined({ errorText, output, preliminary }))
      return
    }
    if (type === "tool-output-denied") {
      part["state"] = "output-denied"
    } else if (type === "tool-approval-request") {
      const { approvalDescriptor: descriptor, approvalId: id, reason: requestReason } = chunk
      part["state"] = "approval-requested"
      part["approval"] = { id, descriptor, requestReason }
    } else if (type === "tool-approval-response") {
      const { approved, reason } = chunk
      part["state"] = "approval-responded"
      part["approval"] = { ...(part["approval"] as Members), approved, ...defined({ reason }) }
    }
  }

  add(chunk: UiChunk): void {
    const { type } = chunk
    if (this.#text(type, chunk)) return
    switch (type) {
      case "start":
      case "message-metadata": {
        const more = chunk["messageMetadata"]
        if (isMembers(more)) this.#metadata = merged(this.#metadata, more)
        return
      }
      case "start-step":
        this.#parts.push({ type: "step-start" })
        return
      case "reset-step": {
        const begun = this.#parts.findLastIndex((part) => part["type"] === "step-start")
        this.#parts.length = begun + 1
        return
      }
      case "file":
      case "source-url":
        this.#parts.push({ ...chunk })
        return
      case "tool-input-available":
        return this.#called(chunk)
      default:
        this.#of(type, chunk)
    }
  }
}

interface Run {
  readonly ordinal: number
  readonly view: RunView
  readonly texts: UiMessages
  readonly maker: MessageMaker
  readonly said: UiMessage
  /** How it waits, unless more comes. */
  paused: { readonly step: RunStep; readonly cursor: string } | undefined
  units: number
}

interface Options {
  readonly conversation: ConversationId
  readonly isCustomer: boolean
  /** The address of a file by its digest. */
  readonly fileAt: (digest: string) => string
}

export class UiHistory {
  readonly #options: Options
  /** Those of the current branch, oldest first. */
  readonly #runs: Array<Run> = []
  #units = 0

  constructor(options: Options) {
    this.#options = options
  }

  /** Takes the next item of the conversation's feed. `cursor`: where it is resumed from behind it. */
  add(item: FeedItem, cursor: string): void {
    if (item._tag !== "Event") return
    const { entry, ordinal, run } = item
    if (entry.event._tag === "RunAccepted") this.#begin(run, ordinal, entry.event)
    const known = this.#runs.find((each) => each.ordinal === ordinal)
    if (known === undefined) return
    this.#count(known, eventUnits(entry.event))
    for (const step of known.view.next(item)) {
      known.paused = step._tag === "Parked" ? { step, cursor } : undefined
      if (step._tag !== "Parked") this.#addAll(known, known.texts.next(step, cursor))
    }
  }

  /** The messages up to here, the oldest first. */
  get messages(): ReadonlyArray<UiMessage> {
    return this.#runs.flatMap((run) => {
      const { maker, paused, said, texts } = run
      run.paused = undefined
      if (paused !== undefined) this.#addAll(run, texts.next(paused.step, paused.cursor))
      return [said, maker.message]
    })
  }

  #count(run: Run, units: number): void {
    run.units += units
    this.#units += units
    while (this.#runs.length > history_runs_max || this.#units > history_units_max) {
      const [oldest] = this.#runs
      if (oldest === undefined || oldest === run) return
      this.#runs.shift()
      this.#units -= oldest.units
    }
  }

  #addAll(run: Run, chunks: ReadonlyArray<UiChunk>): void {
    for (const chunk of chunks) run.maker.add(chunk)
  }

  #begin(run: RunId, ordinal: number, accepted: RunAccepted): void {
    const { branch, message } = accepted
    const kept = branch?.after ?? ordinal
    while ((this.#runs.at(-1)?.ordinal ?? 0) > kept) {
      this.#units -= this.#runs.pop()?.units ?? 0
    }
    const { conversation, fileAt, isCustomer } = this.#options
    const texts = new UiMessages({ run, conversation, fileAt })
    const maker = new MessageMaker(run)
    maker.add(texts.start)
    const parts = (accepted.parts ?? []).map((part) =>
      isFile(part)
        ? {
            type: "file",
            mediaType: part.media_type,
            url: fileAt(part.digest),
            ...defined({ filename: part.name })
          }
        : { type: "text", text: part.text }
    )
    const text = message === "" ? [] : [{ type: "text", text: message }]
    const said: UiMessage = { id: saidId(run), role: "user", parts: [...text, ...parts] }
    this.#runs.push({
      ordinal,
      view: new RunView(run, isCustomer),
      texts,
      maker,
      said,
      paused: undefined,
      units: 0
    })
  }
}
