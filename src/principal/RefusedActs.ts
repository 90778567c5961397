/**
 * The log of refusals to principals for whom somebody else acts, such as the backend of a user. The user may not know why, and the
 * answer does not say it; the log of the service does.
 */
import { Effect } from "effect"
import { cutText } from "../value/CutText.ts"
import { logText } from "../value/InvisibleText.ts"
import { isObject } from "../value/PlainObject.ts"
import { hiddenReason } from "./HiddenReason.ts"
import type { Principal } from "./Principal.ts"
import type { AnyRight } from "./Rights.ts"

const text_max = 500

const textOf = (value: unknown): string => logText(cutText(String(value), text_max))

/** Is it a refusal, or does it say that there is no such thing? */
const isRefusal = ({ _tag }: { readonly _tag?: unknown }): boolean =>
  typeof _tag === "string" && /^(?:NotEntitled|NotForCustomers|.*NotFound)$/.test(_tag)

/** A refusal passes several places, and is logged once. */
const logged = new WeakSet<object>()

/** Logs why a right is refused, where somebody acts for the principal. */
export const logRefusedAct = (
  by: Principal,
  right: AnyRight,
  error: unknown
): Effect.Effect<void> => {
  if (by.via === undefined || !isObject(error) || !isRefusal(error) || logged.has(error)) {
    return Effect.void
  }
  logged.add(error)
  const { _tag, message } = error as { readonly _tag: string; readonly message?: unknown }
  return Effect.annotateLogs(Effect.logInfo("what somebody asks for another is refused"), {
    // A feature's own right has no name.
    ...(typeof right === "string" && { right }),
    tenant: by.tenant,
    principal: textOf(by.id),
    via: textOf(by.via.id),
    error: _tag,
    reason: textOf(hiddenReason(error) ?? message)
  })
}

/** The effect, whose refusals are logged so. */
export const loggingRefusals = <A, E, R>(
  by: Principal,
  right: AnyRight,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  by.via === undefined
    ? effect
    : Effect.tapError(effect, (error) => logRefusedAct(by, right, error))
