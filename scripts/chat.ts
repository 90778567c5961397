/**
 * Talks with an agent in the terminal, over the HTTP API and nothing else.
 */
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { ApiClient, ApiError, resolveEndpoint } from "./chat/ApiClient.ts"
import { commandAgain } from "./chat/ChatCommand.ts"
import { talkInteractively } from "./chat/Interactive.ts"
import { namedAgent, parseArguments, Session } from "./chat/Session.ts"
import type { Pause, Run, Verdict } from "./chat/Session.ts"
import type { Payload } from "./chat/View.ts"
import { oneLine, View } from "./chat/View.ts"
import { optionalText, runCommandLine, toggle } from "./command/CommandLine.ts"

const flags = {
  agent: Flag.String("agent").pipe(
    Flag.withMetavar("NAME"),
    Flag.withDescription("the agent to talk with (operations); world is that of the first world"),
    Flag.withDefault("operations")
  ),
  conversation: optionalText(
    "conversation",
    "ID",
    "continue a conversation, or begin one of this name"
  ),
  message: optionalText(
    "message",
    "TEXT",
    "send one message, follow it until it ends or waits for approval, and leave"
  ),
  pending: toggle("pending", "list what waits for approval: id, tool, agent, arguments, run"),
  approve: optionalText("approve", "ID", "approve, and follow the run"),
  deny: optionalText("deny", "ID", "deny; --reason says why"),
  revise: optionalText("revise", "ID", "ask for another proposal; --reason says which"),
  modify: optionalText("modify", "ID", "approve with the arguments of --arguments"),
  reason: optionalText("reason", "TEXT", "for --deny and --revise"),
  arguments: optionalText("arguments", "JSON", "for --modify"),
  url: optionalText("url", "URL", "the service's address"),
  token: optionalText("token", "TOKEN", "a token of the service")
}
type Flags = Command.Command.Config.Infer<typeof flags>

const description = `Talks with an agent of a running service. In a clone: npm run chat -- [flags]

  A customer's token talks, and sees what customers see: --agent names an agent that speaks with customers.

  The service is found by --url and --token; else TROUPE_URL and TROUPE_TOKEN; else the files url and token in the
  directory TROUPE_DATA; else those in .troupe.

  Leaving, with Ctrl-C too, stops nothing: the run goes on. Exit code: 0; 1 when the run failed or the service refused; 2
  when the command line cannot be read.`

const howToAnswer = (chat: string, { correlation_id: id }: Payload): string =>
  [
    "    answer it with one of",
    `      ${chat} --approve ${id}`,
    `      ${chat} --deny ${id} --reason "..."`,
    `      ${chat} --revise ${id} --reason "..."`,
    `      ${chat} --modify ${id} --arguments '{...}'`
  ].join("\n")

/** Says where a run stands to someone who will not be asked, and gives the exit code. */
const report = (session: Session, run: Run, pause: Pause): number => {
  if (pause.how === "asked") {
    for (const question of pause.questions) {
      session.view.question(question)
      session.view.line(howToAnswer(session.command, question))
    }
  }
  if (pause.how === "unknown") session.view.line("  ! an operator must say what became of the call")
  if (pause.how === "client") session.view.line("  · another client of the conversation answers it")
  if (pause.how === "waits") {
    session.view.line(
      `    read on with: ${session.command} --agent ${run.agent} --conversation ${run.conversation}`
    )
  }
  session.view.line(`\nconversation ${session.conversation}\nrun ${run.id}`)
  return pause.how === "ended" && pause.status !== "complete" ? 1 : 0
}

/** The decision that the flags ask for, if they do. */
const verdictOf = (flags: Flags): readonly [string, Verdict] | undefined => {
  const reason = flags.reason ?? ""
  if (flags.approve !== undefined) return [flags.approve, { decision: "approve" }]
  if (flags.deny !== undefined) {
    return [
      flags.deny,
      { decision: "deny", reason: reason === "" ? "no reason was given" : reason }
    ]
  }
  if (flags.revise !== undefined) {
    if (reason === "") throw new ApiError("--revise needs --reason: what should be different?")
    return [flags.revise, { decision: "request_revision", note: reason }]
  }
  if (flags.modify !== undefined) {
    return [flags.modify, { decision: "modify", arguments: parseArguments(flags.arguments ?? "") }]
  }
  return undefined
}

const decideOnce = async (session: Session, id: string, verdict: Verdict): Promise<number> => {
  const approval = await session.approval(id)
  const before = await session.run(approval.run_id)
  await session.recall(before, before.length)
  await session.decide(id, verdict)
  session.conversation = before.conversation
  return report(session, before, (await session.follow(before, before.length)).pause)
}

const listPending = async (session: Session): Promise<number> => {
  for (const { id, payload, run_id } of await session.pending()) {
    const { agent_name, args_summary, tool_name } = payload
    session.view.line(
      [id, tool_name, agent_name, args_summary, run_id].map((text) => oneLine(text)).join("\t")
    )
  }
  return 0
}

const talk = async (flags: Flags): Promise<number> => {
  const view = new View((text) => process.stdout.write(text))
  const client = new ApiClient(() => resolveEndpoint(flags))
  const session = new Session(client, view, commandAgain(flags), flags.conversation)
  if (flags.pending) return listPending(session)
  const verdict = verdictOf(flags)
  if (verdict !== undefined) return decideOnce(session, ...verdict)
  const agent = await namedAgent(client, flags.agent, (text) => view.line(text))
  if (flags.message === undefined) return talkInteractively(session, agent)
  const run = await session.send(agent, flags.message, false)
  return report(session, run, (await session.follow(run, 0)).pause)
}

const main = async (flags: Flags): Promise<void> => {
  try {
    process.exitCode = await talk(flags)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    console.error(error.message)
    process.exitCode = 1
  }
}

const chat = Command.make("chat", flags, (values) => Effect.promise(() => main(values))).pipe(
  Command.withDescription(description)
)

await Effect.runPromise(runCommandLine(chat))
