/**
 * A run as a task of A2A 1.0: its state, what people are asked, and its answer as an artifact. The artifact has what the run's own
 * agent says in the current turn, and at the end the answer. Calls, thoughts and what specialists say are not shown.
 */
import { Result } from "effect"
import type { AgentTask } from "../delivery/AgentTask.ts"
import type { WaitingQuestion } from "../run/QueuedBehind.ts"
import type { ApprovalId } from "../value/Ids.ts"
import { rootFrame } from "../value/Ids.ts"
import { defined } from "../value/PlainObject.ts"
import type { A2aState, Members } from "./A2aShapes.ts"
import { dataPart, partOf } from "./A2aShapes.ts"
import type { RunStep } from "./RunView.ts"
import { askedText, unsettled } from "./WireShapes.ts"

type Step<Tag extends RunStep["_tag"]> = Extract<RunStep, { readonly _tag: Tag }>

interface Options {
  readonly task: AgentTask
  /** The URL of a file by its digest. */
  readonly fileAt: (digest: string) => string
  /** Whether the message that began the task is told. */
  readonly hasHistory: boolean
  /** Members of the request that nobody reads. */
  readonly ignored?: ReadonlyArray<string>
}

/** The last event before a step: its number in the run's journal, from 0 on, and when it was journaled. */
interface Place {
  readonly seq: number
  readonly at: number
}

const ends = {
  complete: "TASK_STATE_COMPLETED",
  failed: "TASK_STATE_FAILED",
  cancelled: "TASK_STATE_CANCELED"
} as const satisfies Record<Step<"Ended">["status"], A2aState>

export class A2aTask {
  readonly #options: Options
  readonly #asked = new Map<ApprovalId, Step<"Asked">>()
  #status: Members & { readonly state: A2aState }
  /** The questions for which it waits. */
  #waiting: ReadonlyArray<WaitingQuestion> = []
  /** What was said in the current turn, in the last one that said something and has ended, and what the client has of it. */
  #text = ""
  #said = ""
  #told = ""
  #answer: Members | undefined

  constructor(options: Options) {
    this.#options = options
    this.#status = this.#statusOf("TASK_STATE_SUBMITTED", options.task.created_at)
  }

  get state(): A2aState {
    return this.#status.state
  }

  /** When it came to its state, in ms since 1970. */
  get changed_at(): number {
    return Date.parse(String(this.#status["timestamp"]))
  }

  /** As it is now. */
  get task(): Members {
    const { fileAt, hasHistory, ignored = [], task } = this.#options
    const { message, parts = [] } = task
    const said = message === "" ? [] : [{ text: message }]
    const artifact = this.#answer ?? (this.#text === "" ? undefined : artifactOf(this.#text))
    return {
      id: task.id,
      contextId: task.conversation,
      status: this.#status,
      ...(artifact && { artifacts: [artifact] }),
      ...(hasHistory && {
        history: [
          this.#message("said", "ROLE_USER", [
            ...said,
            ...parts.map((part) => partOf(part, fileAt))
          ])
        ]
      }),
      ...(ignored.length > 0 && { metadata: { troupe: { ignored } } })
    }
  }

  /** Its run has begun, or goes on behind a wait. */
  working(place: Place): ReadonlyArray<Members> {
    return this.#become("TASK_STATE_WORKING", place)
  }

  /** What the next step changes. */
  next(step: RunStep, place: Place): ReadonlyArray<Members> {
    switch (step._tag) {
      case "Queued":
        return this.#become("TASK_STATE_SUBMITTED", place, [
          { text: "An earlier message of the conversation waits for people." }
        ])
      case "Parked":
        return this.#parked(step, place)
      case "Ended":
        return this.#ended(step, place)
      default:
    }
    if (step._tag === "Asked") this.#asked.set(step.approval, step)
    return "frame" in step && step.frame === rootFrame ? this.#turn(step) : []
  }

  #message(name: string, role: "ROLE_USER" | "ROLE_AGENT", parts: ReadonlyArray<Members>): Members {
    const { conversation: contextId, id: taskId } = this.#options.task
    return { messageId: `${taskId}:${name}`, contextId, taskId, role, parts }
  }

  #statusOf(state: A2aState, at: number, message?: Members) {
    return { state, ...defined({ message }), timestamp: new Date(at).toISOString() }
  }

  #become(state: A2aState, { at, seq }: Place, parts: ReadonlyArray<Members> = []) {
    const { conversation: contextId, created_at, id: taskId } = this.#options.task
    const message = parts.length === 0 ? undefined : this.#message(String(seq), "ROLE_AGENT", parts)
    const status = this.#statusOf(state, at === 0 ? created_at : at, message)
    this.#status = status
    return [{ statusUpdate: { taskId, contextId, status } }]
  }

  #artifact(artifact: Members, more?: Members): Members {
    const { conversation: contextId, id: taskId } = this.#options.task
    return { artifactUpdate: { taskId, contextId, artifact, ...more } }
  }

  #turn(step: RunStep): ReadonlyArray<Members> {
    switch (step._tag) {
      case "TurnBegun":
      case "TurnRestarted":
        this.#text = ""
        return []
      case "Text": {
        // Another text stands in place of the one before.
        const isMore = this.#text !== ""
        this.#text += step.text
        this.#told = this.#text
        return [this.#artifact(artifactOf(step.text), isMore ? { append: true } : undefined)]
      }
      case "TurnEnded":
        if (this.#text !== "") this.#said = this.#text
        return this.#left()
      default:
        return []
    }
  }

  #parked({ questions }: Step<"Parked">, place: Place): ReadonlyArray<Members> {
    const isSame =
      this.state === "TASK_STATE_INPUT_REQUIRED" &&
      questions.length === this.#waiting.length &&
      questions.every(({ call, approval = call }, at) => {
        const { call: known_call, approval: known = known_call } = this.#waiting[at] ?? {}
        return approval === known
      })
    if (isSame) return []
    this.#waiting = questions
    const parts = questions.flatMap((question) => this.#question(question))
    return this.#become(
      "TASK_STATE_INPUT_REQUIRED",
      place,
      parts.length === 0 ? [{ text: "Somebody has to decide first." }] : parts
    )
  }

  /** A question in words, and as what an answer names. */
  #question({ approval }: WaitingQuestion): ReadonlyArray<Members> {
    if (approval === undefined) return [{ text: unsettled }]
    const asked = this.#asked.get(approval)
    if (asked === undefined) return []
    const { arguments: args, digest, expires_at, payload } = asked
    const text = askedText(payload)
    const decisions = ["approve", "deny", ...(args === undefined ? [] : ["modify"])]
    return [
      { text },
      dataPart({
        approval,
        tool: payload.tool_name,
        summary: payload.args_summary,
        decisions,
        ...defined({
          arguments: args,
          digest,
          expires_at: expires_at === undefined ? undefined : new Date(expires_at).toISOString()
        })
      })
    ]
  }

  #ended(step: Step<"Ended">, place: Place): ReadonlyArray<Members> {
    const { reason, status, text } = step
    const told = status === "complete" ? "" : text || reason
    const answer = status === "complete" ? this.#answered(step) : this.#left()
    return [...answer, ...this.#become(ends[status], place, told === "" ? [] : [{ text: told }])]
  }

  /** The whole answer, in place of its pieces. */
  #answered({ files = [], sources = [], text }: Step<"Ended">): ReadonlyArray<Members> {
    const { fileAt, task } = this.#options
    const data =
      task.answer_schema === undefined
        ? undefined
        : Result.getOrUndefined(Result.try((): unknown => JSON.parse(text)))
    const said = text === "" ? [] : [{ text }]
    const parts = [
      ...(data === undefined ? said : [dataPart(data)]),
      ...files.map((file) => partOf(file, fileAt))
    ]
    if (parts.length === 0) return this.#left("")
    const metadata = sources.length === 0 ? undefined : { troupe: { sources } }
    this.#answer = { artifactId: artifact_id, parts, ...defined({ metadata }) }
    return [this.#artifact(this.#answer, { lastChunk: true })]
  }

  /** Takes a text in place of what the client has: that of a turn that was broken off is void. */
  #left(text = this.#said): ReadonlyArray<Members> {
    const isSame = this.#told === text
    this.#text = text
    this.#told = text
    return isSame ? [] : [this.#artifact(artifactOf(text))]
  }
}

const artifact_id = "answer"

const artifactOf = (text: string): Members => ({ artifactId: artifact_id, parts: [{ text }] })
