/**
 * Guards: functions of an application that judge the texts of runs, such as a moderation model or a list of patterns.
 *
 * ```ts
 * const cards = Guard.make({
 *   name: "cards",
 *   on: ["message", "answer"],
 *   judge: ({ text }) =>
 *     /\b\d{16}\b/.test(text)
 *       ? { verdict: "change", text: text.replaceAll(/\b\d{16}\b/g, "[card]"), reason: "a card's number" }
 *       : { verdict: "pass" }
 * })
 * await start({ agents: [shop], guards: [cards], model })     // of all agents, or of those that the guard names
 * const shop = agent({ name: "shop", instructions, guards: [cards] })     // of this agent alone
 * ```
 */
import type { Effect } from "effect"
import { Result, Schema } from "effect"
import { InvalidInput, throwInvalidInputInMake } from "../schema/InvalidInput.ts"
import { Role } from "../principal/Principal.ts"
import type { Roles } from "../principal/Principal.ts"
import { GuardedText, GuardMode } from "../run/GuardVerdict.ts"
import { AgentName } from "../value/Ids.ts"
import type { CallId, ConversationId, FrameId, RunId, Tenant } from "../value/Ids.ts"
import { between, defaulted } from "../value/Bounds.ts"
import { truncateUnits } from "../value/CutText.ts"

/** The guards of a start, and those that judge the texts of one agent. */
export const guards_max = 16
/** The longest text that a guard judges or gives, in UTF-16 units. A longer one is refused as if its guard had failed. */
export const guarded_units_max = 1_000_000
/** A longer reason is cut, in UTF-16 units. */
const reason_units_max = 1_000

/** A text, and whose it is. */
export interface Subject {
  /** What kind of text it is: what the run is told, a result, or an answer. */
  readonly on: GuardedText
  /** Whole, with what guards before this one have changed. At most 1,000,000 UTF-16 units; without files. */
  readonly text: string
  /** Whose run it is. */
  readonly tenant: Tenant
  /** The id of the run. */
  readonly run: RunId
  /** The id of its conversation. */
  readonly conversation: ConversationId
  /** The agent that reads or says it. */
  readonly agent: AgentName
  /** The principal whose message began the run. */
  readonly principal: string
  /** The roles that this principal had when it sent the message. Empty where they are not known. */
  readonly roles: Roles
  /** `0` = the run's own agent; otherwise a specialist's frame. */
  readonly frame: FrameId
  /** The turn that is the text, or the first one that is shown it, from 1. */
  readonly step: number
  /** Of a result: its call. */
  readonly call?: CallId
  /** Of a result: the name of its tool. */
  readonly tool?: string
  /** Aborts when the guard's time is over, or nobody needs its verdict any more. */
  readonly signal: AbortSignal
}

const reason = Schema.String

/** What a guard gives. More members than these are ignored. */
export const Verdict = Schema.Union([
  Schema.Struct({
    /** The text is left as it is. */
    verdict: Schema.Literal("pass"),
    /** Why, for the journal; a longer one than 1,000 UTF-16 units is cut. */
    reason: Schema.optionalKey(reason)
  }),
  /** `text` takes the place of the text: not blank, at most 1,000,000 UTF-16 units. */
  Schema.Struct({
    /** Another text takes its place. */
    verdict: Schema.Literal("change"),
    /** The text that takes its place: not blank, at most 1,000,000 UTF-16 units. */
    text: Schema.String.check(Schema.isPattern(/\S/), Schema.isMaxLength(guarded_units_max)),
    /** Why, for the journal; a longer one than 1,000 UTF-16 units is cut. */
    reason: Schema.optionalKey(reason)
  }),
  /** The sender reads the reason, or the model where a result or a specialist's text is refused. */
  Schema.Struct({
    /** Nobody is given the text. */
    verdict: Schema.Literal("refuse"),
    /** Why: the sender reads it, or the model. A longer one than 1,000 UTF-16 units is cut. */
    reason
  }),
  /** A person decides, who reads the reason: it passes, passes as they change it, or is refused. */
  Schema.Struct({
    /** A person decides. */
    verdict: Schema.Literal("ask"),
    /** Why: that person reads it. A longer one than 1,000 UTF-16 units is cut. */
    reason
  })
])
export type Verdict = typeof Verdict.Type

const decode = Schema.decodeUnknownResult(Verdict)

/** The verdict with a reason within its bound. Throws where it is none, and what a getter of it throws. */
export const readVerdict = (given: unknown): Verdict => {
  const read = decode(given)
  if (Result.isFailure(read)) throw new TypeError("what the guard gave is no verdict")
  const { success: verdict } = read
  return verdict.reason === undefined
    ? verdict
    : { ...verdict, reason: truncateUnits(verdict.reason, reason_units_max).toWellFormed() }
}

const Settings = Schema.Struct({
  /** In the journal and in lists: a lower-case letter and up to 63 of them, digits, `_` or `-`. */
  name: Schema.String.check(
    Schema.isPattern(/^[a-z][a-z0-9_-]{0,63}$/, {
      description: "lower case, at most 64 characters"
    })
  ),
  /** Which texts it judges. */
  on: Schema.Array(GuardedText).check(Schema.isMinLength(1), Schema.isMaxLength(3)),
  /** `observe` journals what it says and changes nothing. Absent = `enforce`. */
  mode: defaulted(GuardMode, "enforce" as const),
  /** How long it may take for one text, in ms, 1 to 600,000. Absent = 10,000. */
  timeout_ms: defaulted(between(1, 600_000), 10_000),
  /**
   * The roles whose holders decide when it asks, at most 16; not `customer`, who may have to be kept from the text. Absent = all
   * that may decide.
   */
  approvers: defaulted(
    Schema.Array(Role).check(
      Schema.isMaxLength(16),
      Schema.makeFilter(
        (roles: ReadonlyArray<string>) => !roles.includes("customer") || "customers cannot decide"
      )
    ),
    []
  ),
  /** The agents whose texts it judges, 1 to 1,000. Absent = all of the start. */
  agents: Schema.optionalKey(
    Schema.Array(AgentName).check(Schema.isMinLength(1), Schema.isMaxLength(1_000))
  )
})
throwInvalidInputInMake(Settings, "guard")

type Given = Parameters<typeof Settings.make>[0]

/** What a guard judges, how long it may take, and the function that judges. */
export interface Options extends Given {
  /**
   * Judges one text: gives a verdict, a promise of one or an Effect. It is called again for the same text only if the process dies
   * before the verdict is durable. One that throws, takes longer than `timeout_ms` or gives something else refuses the text
   * (`GUARD_FAILED`), or passes it with `observe`.
   */
  readonly judge: (
    subject: Subject
  ) => Verdict | PromiseLike<Verdict> | Effect.Effect<Verdict, unknown>
}

const made: unique symbol = Symbol("troupe/agent/Guard")

/** A guard as `make` gives it, for the option `guards` of a start. */
export interface Guard extends Schema.Schema.Type<typeof Settings> {
  readonly [made]: true
  /** The function that judges a text. */
  readonly judge: Options["judge"]
}

/** Declares a guard, as the head of this file shows. Throws `InvalidInput` if a member does not fit its type. */
export const make = ({ judge, ...settings }: Options): Guard => {
  const checked = Settings.make(settings)
  if (typeof judge !== "function") {
    throw new InvalidInput({ field: "judge", reason: "Expected a function of a text" })
  }
  return { ...checked, judge, [made]: true }
}

/** Was it made by `make`? */
export const isGuard = (given: unknown): given is Guard =>
  typeof given === "object" && given !== null && made in given

/** What is wrong with the guards of one agent: the member, and what to write instead. Undefined = nothing. */
export const ownGuardsProblem = (
  given: unknown
): readonly [field: string, reason: string] | undefined => {
  if (!Array.isArray(given))
    return ["guards", "Expected a list of guards, as `Guard.make` makes them"]
  const guards: ReadonlyArray<unknown> = given
  if (guards.length > guards_max) return ["guards", `Expected at most ${guards_max} guards`]
  for (const [at, guard] of guards.entries()) {
    if (!isGuard(guard)) return [`guards.${at}`, "Expected a guard, as `Guard.make` makes it"]
    if (guard.agents !== undefined) {
      return [`guards.${at}.agents`, "leave it out: a guard of an agent judges its texts alone"]
    }
    if (guards.findIndex((each) => isGuard(each) && each.name === guard.name) !== at) {
      return [`guards.${at}.name`, `two guards have the name "${guard.name}"`]
    }
  }
  return undefined
}
