/**
 * Shows a run as lines of a terminal: text as it is streamed, and one line for each call and result.
 */
import { Schema } from "effect"
import type { CustomerEvent } from "../../src/conversation/CustomerView.ts"
import { callId } from "../../src/value/Ids.ts"
import type { Source } from "../../src/run/ProviderWork.ts"
import type { FinishReason, Outcome, ProposedCall, RunEvent } from "../../src/run/RunEvent.ts"

interface Delta {
  readonly turn: string
  readonly offset: number
  readonly kind: "text" | "reasoning"
  readonly text: string
}

/** What a person is shown of a question. */
export const Payload = Schema.Struct({
  tool_name: Schema.String,
  agent_name: Schema.String,
  args_summary: Schema.String,
  effect_description: Schema.String,
  correlation_id: Schema.String
})
export type Payload = typeof Payload.Type

const line_max = 160

/** One line, cut. Control characters of a model or a tool never reach the terminal. */
export const oneLine = (text: string, max = line_max): string => {
  const flat = clean(text).replace(/\s+/g, " ").trim()
  return flat.length > max ? `${flat.slice(0, max - 1)}…` : flat
}

/** Without escape sequences and control characters, which could move the cursor or repaint what was shown. */
const clean = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "")

const outcomeLine = (outcome: Outcome): string => {
  switch (outcome._tag) {
    case "Value":
      return outcome.json
    case "Failed":
      return `failed: ${outcome.error.message} (${outcome.error.class})`
    case "Denied":
      return `denied by ${outcome.by}: ${outcome.reason}`
    case "Revised":
      return `${outcome.by} asks for another proposal: ${outcome.note}`
    case "Expired":
      return "nobody answered in time"
    case "Cancelled":
      return "cancelled"
    case "Unknown":
      return "started, and nobody knows whether it took effect"
  }
}

/** The reason is a name; where the event says more, that is what a person needs. */
const stoppingLine = (event: Extract<RunEvent, { readonly _tag: "RunStopping" }>): string =>
  "message" in event && typeof event.message === "string"
    ? `${event.reason}: ${event.message}`
    : event.reason

const decisions = {
  Approve: "approved",
  Deny: "denied",
  RequestRevision: "sent back for revision",
  Modify: "approved with other arguments"
}

const cutLine = (finish: FinishReason): string => {
  switch (finish) {
    case "length":
      return "the answer was cut at the limit of its length"
    case "refusal":
      return "the model refused"
    case "content_filter":
      return "the provider filtered the answer"
    default:
      return "the provider did not say that the answer is whole"
  }
}

const sourceLine = ({ document, title, url }: Source): string =>
  oneLine([title, url ?? document].filter((each) => each !== undefined).join(", "), 600)

export class View {
  readonly #write: (text: string) => void
  readonly #calls = new Map<string, ProposedCall>()
  readonly #questions = new Map<string, Payload>()
  #turn = ""
  #shown = ""

  constructor(write: (text: string) => void) {
    this.#write = write
  }

  line(text: string): void {
    this.#endText()
    this.#write(`${text}\n`)
  }

  /**
   * A piece that was shown before, after a reconnect, is not shown again. Specialists may speak at once, so that their texts are
   * shown when they are whole.
   */
  delta({ kind, offset, text, turn }: Delta): void {
    if (kind !== "text" || !/^0\/\d+$/.test(turn)) return
    if (turn !== this.#turn) {
      this.#endText()
      this.#turn = turn
    }
    this.#show(this.#shown.slice(0, offset) + text)
  }

  /** What later events refer to: calls and questions. */
  remember(event: RunEvent): void {
    if (event._tag === "ApprovalRequested") this.#questions.set(event.approval, event.payload)
    if (event._tag !== "ModelTurned") return
    event.calls.forEach((call, index) => {
      this.#calls.set(callId(event.frame, event.step, index), call)
    })
  }

  event(event: RunEvent): void {
    this.remember(event)
    switch (event._tag) {
      case "ModelTurned":
        return this.#turned(event)
      case "FrameOpened":
        return this.line(`  · asks ${event.agent}: ${oneLine(event.input)}`)
      case "HandedOff":
        return this.line(`  · ${event.to} goes on with the conversation`)
      case "ApprovalDecided":
        return this.line(
          `  · ${decisions[event.decision._tag]} by ${oneLine(event.by)}${this.#asked(event.approval)}`
        )
      case "ApprovalClosed":
        return this.line(`  · the question is ${event.how}`)
      case "CallDispatched":
        if (event.authorized === undefined) return
        return this.line(
          `  · ${this.#name(event.call)} asks nobody: ${oneLine(event.authorized.by)} authorised it in advance`
        )
      case "ClientRequested":
        return this.client(event.payload)
      case "CallUnknown":
        return this.line(
          `  ! ${this.#name(event.call)} was started and nobody knows whether it took effect: an operator must settle it (call ${event.call})`
        )
      case "CallReopened":
        return this.line(`  · ${event.by} lets ${this.#name(event.call)} run again`)
      case "CallSettled":
        return this.line(`  ← ${this.#name(event.call)}: ${oneLine(outcomeLine(event.outcome))}`)
      case "RunStopping":
        return this.line(`  · stopping: ${oneLine(stoppingLine(event), 600)}`)
      case "RunEnded":
        this.#endText()
        if (event.status !== "complete") this.line(`  ! ${event.status}: ${oneLine(event.reason)}`)
        else if (event.finish !== undefined) this.line(`  ! ${cutLine(event.finish)}`)
        for (const each of event.sources ?? []) this.line(`  · source: ${sourceLine(each)}`)
        return
      default:
        return
    }
  }

  /** The same of what a customer is shown. */
  customerEvent(event: CustomerEvent): void {
    switch (event._tag) {
      case "ModelTurned":
        return this.#turned({ ...event, finish: event.finish ?? "stop" })
      case "ApprovalRequested":
        if ("payload" in event) return
        return this.line("  · a person of the service is asked, and the answer waits for them")
      case "ApprovalDecided":
        return this.line("  · they have answered")
      case "ApprovalClosed":
        return this.line("  · they are asked no more")
      case "ClientRequested":
        return this.line("  · your client is asked for the result of a call")
      case "CallSettled":
        return this.line(`  · ${oneLine(event.outcome.error.message, 600)}`)
      case "RunStopping":
        return this.line("  · stopping")
      case "RunEnded":
        return this.event(event)
      default:
        return
    }
  }

  question(payload: Payload): void {
    this.line("")
    this.line(
      `  ? ${oneLine(payload.agent_name)} asks for approval of ${oneLine(payload.tool_name)}`
    )
    this.line(`    effect:    ${oneLine(payload.effect_description, 600)}`)
    this.line(`    arguments: ${oneLine(payload.args_summary, 600)}`)
    this.line(`    approval:  ${payload.correlation_id}`)
  }

  /** This client has no tools of its own: another one of the conversation answers. */
  client(payload: Payload): void {
    this.line(
      `  ? ${oneLine(payload.agent_name)} waits for the client's result of ${oneLine(payload.tool_name)}`
    )
    this.line(`    arguments: ${oneLine(payload.args_summary, 600)}`)
    this.line(`    answer:    POST /v1/client-calls/${payload.correlation_id}/result`)
  }

  #asked(approval: string): string {
    const asked = this.#questions.get(approval)
    return asked === undefined
      ? ""
      : `: ${oneLine(asked.tool_name)} ${oneLine(asked.args_summary, 600)}`
  }

  #name(call: string): string {
    return oneLine(this.#calls.get(call)?.name ?? call)
  }

  #turned(event: Extract<RunEvent, { readonly _tag: "ModelTurned" }>): void {
    const turn = `${event.frame}/${event.step}`
    if (turn !== this.#turn) this.#endText()
    if (event.text !== "") {
      this.#turn = turn
      this.#show(event.text)
    }
    this.#endText()
    for (const { arguments: args, name } of event.ran ?? []) {
      this.line(`  ⇢ the provider ran ${oneLine(name)} ${oneLine(args)}`)
    }
    for (const { arguments: args, name } of event.calls) {
      this.line(`  → ${oneLine(name)} ${oneLine(JSON.stringify(args))}`)
    }
  }

  #show(whole: string): void {
    if (this.#shown.startsWith(whole)) return
    const added = whole.startsWith(this.#shown) ? whole.slice(this.#shown.length) : `\n${whole}`
    this.#shown = whole
    this.#write(clean(added))
  }

  #endText(): void {
    if (this.#shown !== "") this.#write("\n")
    this.#shown = ""
    this.#turn = ""
  }
}
