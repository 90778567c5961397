/**
 * A conversation held by a person: messages, and an answer to every question on the way.
 */
import { createInterface } from "node:readline"
import type { Interface } from "node:readline"
import { Schema } from "effect"
import { ApiError } from "./ApiClient.ts"
import type { Run, Session, Verdict } from "./Session.ts"
import { parseArguments } from "./Session.ts"
import { oneLine } from "./View.ts"

/** Lines from a person or from a pipe. A pipe is faster than an agent: what comes before it is asked for is kept. */
class Prompter {
  readonly #lines: Interface
  readonly #kept: Array<string> = []
  #waiting: ((line: string | undefined) => void) | undefined
  #closed = false

  /**
   * `left` is called when a person goes away, whatever is going on: closes the terminal, or what reads the output. At the
   * end of a pipe with lines nobody goes.
   */
  constructor(left: () => void) {
    this.#lines = createInterface({ input: process.stdin, output: process.stdout })
    this.#lines.on("line", (line) => {
      const give = this.#waiting
      this.#waiting = undefined
      if (give === undefined) this.#kept.push(line)
      else give(line)
    })
    this.#lines.on("close", () => {
      this.#closed = true
      if (process.stdin.isTTY) return left()
      this.#waiting?.(undefined)
    })
    // Questions that nobody sees must not be answered by the lines that come next.
    process.stdout.once("error", left)
  }

  /** The next line, trimmed; undefined when there are no more. */
  async ask(prompt: string): Promise<string | undefined> {
    const kept = this.#kept.shift()
    if (kept !== undefined) return kept.trim()
    if (this.#closed) return undefined
    this.#lines.setPrompt(prompt)
    this.#lines.prompt()
    const line = await new Promise<string | undefined>((resolve) => {
      this.#waiting = resolve
    })
    return line?.trim()
  }
}

/** What a person typed, as a decision; undefined if it is none. */
const verdictOf = async (
  letter: string,
  said: (prompt: string) => Promise<string>
): Promise<Verdict | undefined> => {
  switch (letter.toLowerCase()) {
    case "a":
      return { decision: "approve" }
    case "d":
      return { decision: "deny", reason: (await said("why")) || "no reason was given" }
    case "r": {
      const note = await said("what should be different")
      return note === "" ? undefined : { decision: "request_revision", note }
    }
    case "m":
      return { decision: "modify", arguments: parseArguments(await said("arguments (JSON)")) }
    default:
      return undefined
  }
}

/** Asks until there is an answer; undefined leaves the question open. */
const askPerson = async (session: Session, lines: Prompter): Promise<Verdict | undefined> => {
  for (;;) {
    const answer = await lines.ask("  [a]pprove [d]eny [r]evise [m]odify [l]ater: ")
    if (answer === undefined || answer.toLowerCase() === "l") return undefined
    const [letter = "", ...words] = answer.split(" ")
    const text = words.join(" ").trim()
    const said = async (prompt: string) => text || ((await lines.ask(`  ${prompt}: `)) ?? "")
    try {
      const verdict = await verdictOf(letter, said)
      if (verdict !== undefined) return verdict
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      session.view.line(`  ! ${error.message}`)
    }
  }
}

/** Follows a run to its end, asking the person wherever one is needed. */
const accompany = async (session: Session, lines: Prompter, run: Run): Promise<void> => {
  let seen = 0
  for (;;) {
    const { pause, shown } = await session.follow(run, seen)
    seen = shown
    if (pause.how === "waits") continue
    if (pause.how !== "asked") return session.view.line(`  · run ${run.id}`)
    for (const question of pause.questions) {
      session.view.question(question)
      const verdict = await askPerson(session, lines)
      if (verdict === undefined) {
        session.view.line(`  · it waits; \`${session.command} --pending\` lists what does`)
        return session.view.line(`  · run ${run.id}`)
      }
      try {
        await session.decide(question.correlation_id, verdict)
      } catch (error) {
        // Someone else decided first, or the person may not decide this: the run continues, or asks again.
        if (!(error instanceof ApiError)) throw error
        session.view.line(`  ! ${error.message}`)
      }
    }
  }
}

/** Shows what was said before, and takes up a run that is still on its way. */
const resume = async (session: Session, lines: Prompter, agent: string): Promise<void> => {
  if (session.conversation === undefined) return
  const messages = await session.messages()
  for (const { content, role } of messages) {
    session.view.line(`${role === "user" ? "> " : ""}${oneLine(content, 2_000)}`)
  }
  const run = await session.unfinished(messages, agent)
  if (run !== undefined) await accompany(session, lines, run)
}

/** Until the person leaves; gives the exit code. */
export const talkInteractively = async (session: Session, agent: string): Promise<number> => {
  const bye = () =>
    session.view.line(
      session.conversation === undefined
        ? "\nbye"
        : `\nbye; go on with: ${session.command} --agent ${agent} --conversation ${session.conversation}`
    )
  await session.client.call("/v1/conversations?limit=1", Schema.Unknown)
  const lines = new Prompter(() => {
    bye()
    process.exit(0)
  })
  await resume(session, lines, agent)
  session.view.line(
    `Talking with ${agent}. Ctrl-C leaves and stops nothing: what was begun goes on.`
  )
  for (;;) {
    const text = await lines.ask("> ")
    if (text === undefined) break
    if (text === "") continue
    try {
      await accompany(session, lines, await session.send(agent, text, true))
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      session.view.line(`  ! ${error.message}`)
    }
  }
  bye()
  return 0
}
