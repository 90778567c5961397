/** What becomes of a call: it is sent to its body, and has one result. */
import { Schema } from "effect"
import { ResultFile } from "../conversation/Part.ts"
import { Spending } from "../cost/Spending.ts"
import { ToolFailure } from "../error/ToolError.ts"
import type { ToolErrorClass, ToolErrorKind } from "../error/ToolError.ts"
import { Authorized } from "../permission/Authorization.ts"
import { Who } from "../principal/Principal.ts"
import { OnLoss } from "../tool/ToolSpec.ts"
import { Permission } from "../tool/SideEffects.ts"
import { CallId, RunId } from "../value/Ids.ts"
import { CheckedJson, CheckedJsonRecord } from "../value/JsonObject.ts"

/** The one result of a call. `Value.json` is the whole encoded result as JSON text; the model gets a copy of at most 32,768 bytes. */
export const Outcome = Schema.Union([
  Schema.TaggedStruct("Value", {
    /** The whole encoded result, as JSON text. */
    json: Schema.String
  }),
  Schema.TaggedStruct("Failed", {
    /** Why it failed. */
    error: ToolFailure
  }),
  Schema.TaggedStruct("Denied", {
    /** Who denied it: a person or the policy. */
    by: Schema.String,
    /** Why: the model reads it. */
    reason: Schema.String
  }),
  Schema.TaggedStruct("Revised", {
    /** The person who asks for another call. */
    by: Schema.String,
    /** What should be different: the model reads it. */
    note: Schema.String
  }),
  Schema.TaggedStruct("Expired", {}),
  Schema.TaggedStruct("Cancelled", {}),
  Schema.TaggedStruct("Unknown", {})
])
export type Outcome = typeof Outcome.Type

/** The call that a side effect happened for, and when it was dispatched, in ms since 1970. Absent = in this run. */
export class Repeats extends Schema.Opaque<Repeats>()(
  Schema.Struct({
    /** The run of that call. */
    run: RunId,
    /** The call. */
    call: CallId,
    /** When it was dispatched. */
    at: Schema.optionalKey(Schema.Int)
  })
) {}

/** A key that an operator has freed: of which call, by whom and when, in ms since 1970. */
export class FreedKey extends Schema.Opaque<FreedKey>()(
  Schema.Struct({
    /** The run of the call that held the key. */
    run: RunId,
    /** The call that held it. */
    call: CallId,
    /** The operator. */
    by: Schema.String,
    /** Who acted for it. Absent = it acted itself. */
    via: Who.fields.via,
    /** When it was freed. */
    at: Schema.Int
  })
) {}

/** When the body began and ended, in ms since 1970, for `ToolCallMetadata`. */
const times = {
  /** When the body began, in ms since 1970. Absent = it did not. */
  started_at: Schema.optionalKey(Schema.Int),
  /** When the body ended, in ms since 1970. Absent = it did not. */
  ended_at: Schema.optionalKey(Schema.Int)
} as const

/** What the host filled in for a call, by the place in its request, and the key of the tool for which it was asked. */
export class HostValues extends Schema.Opaque<HostValues>()(
  Schema.Struct({
    /** The key of the tool. */
    tool: Schema.String,
    /** The values, by their places in the request. */
    values: CheckedJsonRecord
  })
) {}

/** A call is sent to its body: from here on its side effect may have happened. */
export class CallDispatched extends Schema.Opaque<CallDispatched>()(
  Schema.TaggedStruct("CallDispatched", {
    /** The call. */
    call: CallId,
    /** Derived from run, frame and ordinal; the same at every attempt. */
    key: Schema.String,
    /** The owner that sends it. */
    epoch: Schema.Int,
    /** Pinned here: the decider is pure, and the registry may change. */
    on_loss: OnLoss,
    /**
     * The registry key of its tool, where it may be sent again or reconciled: only this version of the tool may do so.
     * Absent = neither, or an earlier release dispatched it.
     */
    tool: Schema.optionalKey(Schema.String),
    /** With `ask`, in ms since 1970: the body is over then, and its tool does not reconcile it before. */
    over_at: Schema.optionalKey(Schema.Int),
    /**
     * `queue`: sent to a worker by the tool queue, which runs each key once; a second dispatch reads the result from the queue.
     * Absent = the body ran in the runtime, or an earlier release dispatched it.
     */
    via: Schema.optionalKey(Schema.Literal("queue")),
    /** What it is bound to beside its arguments: the endpoint of a direct call, its fixed body, the tokens of its bound fields. */
    target: Schema.optionalKey(CheckedJson),
    /** What its host filled in for it. Absent = nothing. */
    filled: Schema.optionalKey(HostValues),
    /** What its workspace had authorised in advance, so that no person was asked. Absent = a person was, or nobody had to be. */
    authorized: Schema.optionalKey(Authorized),
    /** Its key was held by a call whose outcome nobody knows. Absent = by none. */
    freed: Schema.optionalKey(FreedKey)
  })
) {}

export class CallUnknown extends Schema.Opaque<CallUnknown>()(
  Schema.TaggedStruct("CallUnknown", {
    /** The call. */
    call: CallId,
    /** The tool's name as the model called it, for lists, which do not fold the run. */
    tool: Schema.optionalKey(Schema.String),
    /** What its body has spent on models. Absent = nothing. */
    spent: Schema.optionalKey(Spending)
  })
) {}

/** An operator orders an unknown call to run again, through the whole gate. */
export class CallReopened extends Schema.Opaque<CallReopened>()(
  Schema.TaggedStruct("CallReopened", {
    /** The call. */
    call: CallId,
    /** The operator. */
    by: Schema.String,
    /** Who acted for it. Absent = it acted itself. */
    via: Who.fields.via
  })
) {}

/** A call has its result. */
export class CallSettled extends Schema.Opaque<CallSettled>()(
  Schema.TaggedStruct("CallSettled", {
    /** The call. */
    call: CallId,
    /** Its one result. */
    outcome: Outcome,
    /** The person who settled it. Absent = no person did. */
    by: Schema.optionalKey(Schema.String),
    /** Who acted for it. Absent = it acted itself. */
    via: Who.fields.via,
    /** The answer of its tool's or policy's permission of each call. Absent = it is the same for every call, or was not asked. */
    permission: Schema.optionalKey(Permission),
    /** Its body did not run: this is the result of an earlier call, of this run or another, that was the same side effect. */
    repeats: Schema.optionalKey(Repeats),
    /** Its body did not run: this is the result of that call of the run from which this one was forked. */
    recorded: Schema.optionalKey(CallId),
    /** Its value is its frame's answer. Pinned here: the fold is pure. */
    stop: Schema.optionalKey(Schema.Literal(true)),
    /** The model reads the texts in its value unescaped, for they are whole texts, such as a file's. Pinned like `stop`. */
    texts: Schema.optionalKey(Schema.Literal(true)),
    /** Files that its body attached to its value. Absent = none. */
    files: Schema.optionalKey(Schema.Array(ResultFile)),
    /** What its body has spent on models, also where it failed. Absent = nothing. */
    spent: Schema.optionalKey(Spending),
    ...times
  })
) {}

/** The error class and kind of outcomes without a failure of their own. Cancelled counts as a timeout: its caller interrupted it. */
const refusals = {
  Denied: { class: "ToolPolicyError", kind: "permission" },
  Revised: { class: "ToolPolicyError", kind: "permission" },
  Expired: { class: "ToolPolicyError", kind: "permission" },
  Cancelled: { class: "ToolTransientError", kind: "timeout" },
  Unknown: { class: "ToolTerminalError", kind: "unknown" }
} as const

const errorOf = (outcome: Outcome): Pick<ToolFailure, "class" | "kind"> | undefined =>
  outcome._tag === "Value"
    ? undefined
    : outcome._tag === "Failed"
      ? outcome.error
      : refusals[outcome._tag]

/** The stored name of the error class of a settled call, or null on success. */
export const errorClassOf = (outcome: Outcome): ToolErrorClass | null =>
  errorOf(outcome)?.class ?? null

/** The error kind of SemStreams of a settled call, or null on success. */
export const errorKindOf = (outcome: Outcome): ToolErrorKind | null =>
  errorOf(outcome)?.kind ?? null
