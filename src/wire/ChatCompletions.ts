/**
 * A run in the form of Chat Completions, which knows texts alone: calls are made here, and are not shown. A question ends the answer with a
 * sentence that names it and where it is decided.
 */
import type { RunId } from "../value/Ids.ts"
import { rootFrame } from "../value/Ids.ts"
import type { AgentName } from "../value/Ids.ts"
import type { RunStep } from "./RunView.ts"

type Members = Readonly<Record<string, unknown>>

interface Options {
  readonly run: RunId
  readonly agent: AgentName
  /** When the message was accepted, in ms since 1970. */
  readonly created_at: number
  /** Where a question is decided. */
  readonly placeOf: (approval: string) => string
  /** Whether the stream ends with what was used. */
  readonly hasUsage: boolean
}

const finishes: Readonly<Record<string, string>> = {
  length: "length",
  content_filter: "content_filter",
  refusal: "content_filter"
}

/** The answer to a message behind one that waits. */
export const queued = "This waits for a person's answer to an earlier question."

export class ChatCompletions {
  readonly #options: Options
  readonly #usage = { prompt: 0, completion: 0 }
  #text = ""
  /** How much of the text was said before the turn in progress. */
  #before = 0
  #finish = "stop"
  readonly #questions: Array<string> = []

  constructor(options: Options) {
    this.#options = options
  }

  #chunk(delta: Members, finish: string | null = null): Members {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }]
    return { ...this.#head("chat.completion.chunk"), choices }
  }

  #head(object: string): Members {
    const { agent, created_at, run } = this.#options
    return {
      id: `chatcmpl-${run}`,
      object,
      created: Math.floor(created_at / 1_000),
      model: agent,
      system_fingerprint: null
    }
  }

  get #used(): Members {
    const { completion, prompt } = this.#usage
    return {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion
    }
  }

  get first(): Members {
    return this.#chunk({ role: "assistant", content: "" })
  }

  /** The whole answer. */
  get completion(): Members {
    const message = { role: "assistant", content: this.#text, refusal: null }
    const choices = [{ index: 0, message, logprobs: null, finish_reason: this.#finish }]
    return { ...this.#head("chat.completion"), choices, usage: this.#used }
  }

  /** The chunks behind the last step. */
  get last(): ReadonlyArray<Members> {
    const usage = { ...this.#head("chat.completion.chunk"), choices: [], usage: this.#used }
    return [this.#chunk({}, this.#finish), ...(this.#options.hasUsage ? [usage] : [])]
  }

  #say(content: string): ReadonlyArray<Members> {
    if (content === "") return []
    this.#text += content
    return [this.#chunk({ content })]
  }

  /** The chunks of the next step. */
  next(step: RunStep): ReadonlyArray<Members> {
    switch (step._tag) {
      case "TurnBegun":
        if (step.frame !== rootFrame) return []
        this.#before = this.#text.length
        return []
      case "Text":
        if (step.frame !== rootFrame) return []
        return this.#say(
          this.#text.length === this.#before && this.#before > 0 ? `\n\n${step.text}` : step.text
        )
      case "TurnRestarted":
        // What was said cannot be taken back: what is said instead follows it.
        if (step.frame === rootFrame) this.#before = this.#text.length
        return []
      case "TurnEnded":
        this.#usage.prompt += step.usage?.input_tokens ?? 0
        this.#usage.completion += step.usage?.output_tokens ?? 0
        return []
      case "Asked": {
        const { approval, payload } = step
        const place = this.#options.placeOf(approval)
        this.#questions.push(`${payload.tool_name} (${payload.args_summary}), decided at ${place}`)
        return []
      }
      case "Queued":
      case "Parked":
        return this.#say(this.textAt(step).slice(this.#text.length))
      case "Ended":
        return this.#ended(step)
      default:
        return []
    }
  }

  /** The whole text so far. */
  get text(): string {
    return this.#text
  }

  /** The whole text of an answer that ends where the run waits. */
  textAt({ _tag }: Pick<Extract<RunStep, { _tag: "Parked" | "Queued" }>, "_tag">): string {
    const asked = this.#questions.length === 0 ? "" : `: ${this.#questions.join("; ")}`
    return this.#with(_tag === "Queued" ? queued : `This waits for a person${asked}.`)
  }

  #with(sentence: string): string {
    return this.#text === "" ? sentence : `${this.#text}\n\n${sentence}`
  }

  #pause(sentence: string): ReadonlyArray<Members> {
    return this.#say(this.#with(sentence).slice(this.#text.length))
  }

  #ended({ finish, reason, status, text, unsaid }: Extract<RunStep, { _tag: "Ended" }>) {
    if (status === "complete") {
      this.#finish = finishes[finish ?? ""] ?? "stop"
      return unsaid === "" ? [] : this.#pause(unsaid)
    }
    const why =
      status === "cancelled"
        ? "This was cancelled."
        : text === ""
          ? `This failed: ${reason}.`
          : text
    return this.#pause(why)
  }
}
