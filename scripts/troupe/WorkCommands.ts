/**
 * `troupe runs`, `decide`, `settle` and `erase`: what people do about work, in a store whose service does not run, or beside the
 * services of a server. What a decision or a settlement sets free goes on in a service that hosts its agent.
 */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { RunStatus } from "../../src/run/RunState.ts"
import { oneLine } from "../chat/View.ts"
import { optionalText, toggle, unreadableCommand, wholeNumber } from "../command/CommandLine.ts"
import { during } from "../command/Progress.ts"
import { inStore, place } from "./Operator.ts"
import { where } from "./Stored.ts"

export const described =
  (text: string) =>
  <Name extends string, Input, Shared, E, R>(command: Command.Command<Name, Input, Shared, E, R>) =>
    command.pipe(
      Command.withDescription(
        `${text}\n\n${where}\n  A directory may not be in use; services may run over a server.`
      ),
      Command.withShortDescription(text)
    )

const questionOf = (id: string, tool: string, summary: string) =>
  `    asks     ${id}  ${oneLine(tool)} ${oneLine(summary)}`

const runs = Command.make(
  "runs",
  {
    ...place,
    status: Flag.Literals("status", RunStatus.literals).pipe(
      Flag.withDescription("only these"),
      Flag.optional
    ),
    limit: wholeNumber("limit", 1, "at most so many, to 500 (50)").pipe(Flag.withDefault(50))
  },
  ({ limit, status, ...rest }) =>
    inStore(
      rest,
      (troupe, by) =>
        Effect.gen(function* () {
          const found = yield* troupe.runs(
            {
              limit,
              ...Option.match(status, { onNone: () => ({}), onSome: (status) => ({ status }) })
            },
            by
          )
          const pending = yield* troupe.pending(by)
          return found.map((run) => ({
            ...run,
            questions: pending.filter(({ run_id }) => run_id === run.id)
          }))
        }),
      (found) =>
        found.length === 0
          ? "no runs"
          : found
              .flatMap(({ agent, created_at, id, questions, status, unknown_calls }) => [
                `${id}  ${status.padEnd(17)} ${new Date(created_at).toISOString()}  ${agent}`,
                ...questions.map(({ id, payload }) =>
                  questionOf(id, payload.tool_name, payload.args_summary)
                ),
                ...unknown_calls.map(({ call, tool }) => `    unknown  ${call}  ${oneLine(tool)}`)
              ])
              .join("\n")
    )
).pipe(
  described(
    "Lists the runs of a tenant, newest first, with their open questions and the calls whose outcome is unknown."
  )
)

const reasonFlag = optionalText("reason", "TEXT", "why; the model reads it")

const text = (name: string, description: string) =>
  Argument.String(name).pipe(
    Argument.withMetavar(name.toUpperCase()),
    Argument.withDescription(description)
  )

const decisions = {
  approve: (note: string | undefined) =>
    ({ _tag: "Approve", ...(note === undefined ? undefined : { note }) }) as const,
  deny: (reason = "denied") => ({ _tag: "Deny", reason }) as const,
  revise: (note = "propose it again") => ({ _tag: "RequestRevision", note }) as const
}

const decide = Command.make(
  "decide",
  {
    ...place,
    question: text("question", "its id, as troupe runs shows it"),
    decision: Argument.Literals("decision", ["approve", "deny", "revise"]).pipe(
      Argument.withMetavar("approve|deny|revise")
    ),
    reason: reasonFlag
  },
  ({ decision, question, reason, ...rest }) =>
    inStore(
      rest,
      (troupe, by) => troupe.decide(question, decisions[decision](reason), by),
      () => `${question}: ${decision}`
    )
).pipe(described("Answers an open question of a run."))

const settlements = {
  succeeded: (value = "null") => ({ _tag: "Succeeded", json: value }) as const,
  failed: (message = "an operator settled it as failed") => ({ _tag: "Failed", message }) as const,
  again: () => ({ _tag: "RunAgain" }) as const
}

const settle = Command.make(
  "settle",
  {
    ...place,
    run: text("run", "the run"),
    call: text("call", "the call, as troupe runs shows it"),
    outcome: Argument.Literals("outcome", ["succeeded", "failed", "again"]).pipe(
      Argument.withMetavar("succeeded|failed|again")
    ),
    value: optionalText(
      "value",
      "TEXT",
      "the result as JSON (null) of a call that succeeded, or why it failed"
    )
  },
  ({ call, outcome, run, value, ...rest }) =>
    inStore(
      rest,
      (troupe, by) => troupe.settle(run, call, settlements[outcome](value), by),
      () => `${run} ${call}: ${outcome}`
    )
).pipe(described("Says what became of a call whose outcome is unknown."))

const erase = Command.make(
  "erase",
  {
    ...place,
    subject: text("subject", "the name or id to remove from everything that the tenant has"),
    yes: toggle("yes", "do it: what is erased cannot be brought back")
  },
  ({ subject, yes, ...rest }) =>
    yes
      ? inStore(
          rest,
          (troupe, by) => during("erasing", {}, () => troupe.erase({ subject }, by)),
          ({ erased, found, id, remains, waiting }) =>
            [
              `erasure ${id}`,
              ...Object.entries(erased).map(([what, count]) => `  erased   ${what} ${count}`),
              ...found
                .filter(({ rows }) => rows > 0)
                .map(({ rows, table }) => `  left in  ${table} ${rows}`),
              ...waiting.map(
                (run) => `  waits    ${run}, which has not ended: erase again when it has`
              ),
              ...remains.map((where) => `  may have it still: ${where}`)
            ].join("\n")
        )
      : unreadableCommand(["troupe", "erase"], "what is erased cannot be brought back: add --yes")
).pipe(described("Erases a subject from a tenant's data, and says what remains."))

export const workCommands = [runs, decide, settle, erase] as const
