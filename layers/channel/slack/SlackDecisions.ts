/**
 * Decisions that people take in Slack: by the buttons of a question, and with a reason by the form that "Deny" opens
 * (https://docs.slack.dev/surfaces/modals). Either takes the same decision as `POST /v1/approvals/{id}/decision`.
 */
import { Effect, Option, Result, Schema } from "effect"
import type { ApprovalDesk, DecisionError } from "../../../services/ApprovalDesk.ts"
import type { IngressAnswer } from "../../../services/ChannelIngress.ts"
import type { AnyDecision, Approval } from "../../../src/approval/Approval.ts"
import { Reason } from "../../../src/approval/Approval.ts"
import { questionText, settledText } from "../../../src/delivery/QuestionText.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { readJson } from "../../../src/value/BoundedJson.ts"
import { ApprovalId } from "../../../src/value/Ids.ts"
import type { SlackCall } from "./SlackApi.ts"
import { approve_action, deny_action, denialForm, messageOf, sentenceOf } from "./SlackApi.ts"

/** Counts what a user does; gives the refusal where it is too much. Buckets refill evenly and hold one minute's tokens. */
export type SlackCount = (user: string) => Effect.Effect<IngressAnswer | undefined>

interface Surface {
  readonly call: SlackCall
  readonly count: SlackCount
  readonly desk: ApprovalDesk["Service"]
  readonly people: ReadonlyMap<string, Principal>
}

/** The time limit for messages that are sent in addition to the answer, for which Slack waits 3 s. */
const courtesy_ms = 1_500

/** Shows a response to the person who clicks or writes. Failures are ignored, because nothing depends on it. */
export const courtesy = <E>(call: Effect.Effect<unknown, E>): Effect.Effect<void> =>
  Effect.ignore(Effect.timeoutOption(call, courtesy_ms))

export const done: IngressAnswer = { status: 200, body: "" }

export const Name = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))

const Clicked = Schema.Struct({
  type: Schema.Literal("block_actions"),
  team: Schema.Struct({ id: Name }),
  user: Schema.Struct({ id: Name }),
  channel: Schema.Struct({ id: Name }),
  message: Schema.Struct({ ts: Name, thread_ts: Schema.optionalKey(Name) }),
  /** Opens a form, once and within 3 s. */
  trigger_id: Schema.optionalKey(Name),
  actions: Schema.Array(Schema.Struct({ action_id: Name, value: Schema.optionalKey(Name) })).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(25)
  )
})
type Clicked = typeof Clicked.Type

const Submitted = Schema.Struct({
  type: Schema.Literal("view_submission"),
  team: Schema.Struct({ id: Name }),
  user: Schema.Struct({ id: Name }),
  view: Schema.Struct({
    callback_id: Schema.Literal(deny_action),
    private_metadata: Schema.String.check(Schema.isMaxLength(3_000)),
    state: Schema.Struct({
      values: Schema.Struct({
        reason: Schema.Struct({
          reason: Schema.Struct({ value: Schema.optionalKey(Schema.NullOr(Schema.String)) })
        })
      })
    })
  })
})
type Submitted = typeof Submitted.Type

/** Of which question a form is, and where that stands. Slack gives it back as it is. */
const Origin = Schema.Struct({ approval: ApprovalId, channel: Name, ts: Name })
type Origin = typeof Origin.Type

const decodeInteraction = Schema.decodeUnknownOption(Schema.Union([Clicked, Submitted]))
const decodeOrigin = Schema.decodeUnknownOption(Origin)
const isApprovalId = Schema.is(ApprovalId)
const isReason = Schema.is(Reason)

/** Shows in the message how its question ended, also where nobody else knows that the message is there. */
const showEnd = ({ call, desk }: Surface, { approval, channel, ts }: Origin, by: Principal) => {
  const change = (message: ReturnType<typeof messageOf>) =>
    call("chat.update", { channel, ts, ...message })
  return courtesy(
    desk.get(approval, by).pipe(
      Effect.flatMap((record) =>
        record.status === "pending"
          ? Effect.void
          : change(messageOf([{ kind: "settled", text: settledText(record) }]))
      ),
      Effect.catchTag("ApprovalNotFound", () => change(sentenceOf("This question is gone.")))
    )
  )
}

const unsure = "Nobody knows whether it was decided. Try again."

const problemOf = (error: DecisionError): string =>
  error._tag === "StoreError" || error._tag === "JournalError"
    ? unsure
    : `Nothing was decided: ${error.message.replace(/\.$/, "")}.`

/** Decides, shows the end, and gives what is wrong, if something is. */
const decide = (surface: Surface, origin: Origin, decision: AnyDecision, by: Principal) =>
  surface.desk.decide(origin.approval, decision, by).pipe(
    Effect.as(undefined),
    Effect.catch((error) => Effect.succeed(problemOf(error))),
    Effect.tap((problem) => (problem === unsure ? Effect.void : showEnd(surface, origin, by)))
  )

/** Who clicks "Deny" is asked why. A question that is not open any more, or that nobody may read here, is refused at once. */
const askWhy = Effect.fnUntraced(function* (
  { call, desk }: Surface,
  origin: Origin,
  trigger_id: string,
  by: Principal
) {
  const found = yield* Effect.result(desk.get(origin.approval, by))
  if (Result.isFailure(found)) return problemOf(found.failure)
  const record: Approval = found.success
  if (record.status !== "pending") return `Nothing was decided: it is ${record.status}.`
  const view = denialForm(questionText(record), JSON.stringify(origin))
  const opened = yield* Effect.option(
    Effect.timeoutOption(call("views.open", { trigger_id, view }), courtesy_ms)
  )
  return Option.isSome(Option.flatten(opened))
    ? undefined
    : "Nothing was decided: Slack did not open the form. Try again."
})

const clicked = Effect.fnUntraced(function* (surface: Surface, click: Clicked) {
  const { call, count, people } = surface
  const { channel, message, trigger_id, user } = click
  const [{ action_id, value }] = click.actions as unknown as readonly [Clicked["actions"][0] & {}]
  const { thread_ts, ts } = message
  // Slack shows these only in a thread that has a message already.
  const place = { channel: channel.id, user: user.id, ...(thread_ts && { thread_ts }) }
  const tell = (text: string) =>
    courtesy(call("chat.postEphemeral", { ...place, ...sentenceOf(text) }))
  if (action_id !== approve_action && action_id !== deny_action) return done
  if (!isApprovalId(value)) return done
  const by = people.get(user.id)
  if (by === undefined) {
    yield* Effect.logWarning("a user of Slack who is nobody here tried to decide")
    yield* tell("You may not decide this: nobody said who you are here.")
    return done
  }
  const refusal = yield* count(user.id)
  if (refusal !== undefined) return refusal
  const origin: Origin = { approval: value, channel: channel.id, ts }
  const problem =
    action_id === approve_action
      ? yield* decide(surface, origin, { decision: "approve" }, by)
      : trigger_id === undefined
        ? yield* decide(surface, origin, denial(user.id, ""), by)
        : yield* askWhy(surface, origin, trigger_id, by)
  if (problem !== undefined) yield* tell(problem)
  return done
})

/** Slack's form allows less than the longest reason. */
const denial = (user: string, given: string): AnyDecision => {
  const reason = given.trim()
  return {
    decision: "deny",
    reason: isReason(reason) ? reason : `Denied in Slack by ${user}.`
  }
}

/** What the form shows below its field. */
const refusedIn = (problem: string): IngressAnswer => ({
  status: 200,
  type: "application/json",
  body: JSON.stringify({ response_action: "errors", errors: { reason: problem } })
})

const submitted = Effect.fnUntraced(function* (surface: Surface, { user, view }: Submitted) {
  const json = Option.flatMap(Result.getSuccess(readJson(view.private_metadata)), decodeOrigin)
  const by = surface.people.get(user.id)
  if (Option.isNone(json) || by === undefined) {
    return refusedIn("You may not decide this: nobody said who you are here.")
  }
  const refusal = yield* surface.count(user.id)
  if (refusal !== undefined) return refusedIn(`Nothing was decided: ${refusal.body}.`)
  const { value } = view.state.values.reason.reason
  const problem = yield* decide(surface, json.value, denial(user.id, value ?? ""), by)
  return problem === undefined ? done : refusedIn(problem)
})

/** Takes a click or a form; anything else that people do is nothing to us. Undefined = it is of another workspace. */
export const takeInteraction = Effect.fnUntraced(function* (
  surface: Surface,
  team: string,
  payload: unknown
) {
  const interaction = Option.getOrUndefined(decodeInteraction(payload))
  if (interaction === undefined) return done
  if (interaction.team.id !== team) return undefined
  return yield* interaction.type === "block_actions"
    ? clicked(surface, interaction)
    : submitted(surface, interaction)
})
