/**
 * The second argument of a tool's body. One object a call; what few bodies ask for is made when they do.
 */
import { Effect } from "effect"
import type { Spend } from "../../../src/cost/Spending.ts"
import type { CallContext, GovernedContext } from "../../../src/tool/GovernedTool.ts"
import type { SpendingMeter } from "./CallSpending.ts"
import type { CallHost } from "./CallHost.ts"

/** What bodies of a tool may ask and tell beyond their call. */
export interface Around {
  readonly meter: SpendingMeter
  /** Would the gate let the tool run with these arguments, without a question? */
  readonly permits: (host: CallHost, args: unknown) => boolean
}

const contextOf = (
  host: CallHost,
  key: string | undefined,
  over_at: number | undefined,
  around: Around
): CallContext => {
  const { accepted, run } = host
  const { approved_by, id } = host.call()
  return {
    run,
    call: id,
    tenant: accepted.tenant,
    trace_id: accepted.trace_id,
    principal: accepted.by,
    approved_by,
    key,
    permits: (args) => around.permits(host, args),
    ...(over_at === undefined ? undefined : { over_at })
  }
}

export class HandlerContext implements GovernedContext {
  readonly #host: CallHost
  readonly #around: Around
  readonly #key: string | undefined
  readonly #over_at: number | undefined
  #call: CallContext | undefined

  constructor(host: CallHost, key: string | undefined, around: Around, over_at?: number) {
    this.#host = host
    this.#around = around
    this.#key = key
    this.#over_at = over_at
  }

  get call(): CallContext {
    return (this.#call ??= contextOf(this.#host, this.#key, this.#over_at, this.#around))
  }

  get toolCallId(): string {
    return this.call.call
  }

  get show(): (result: unknown) => void {
    const host = this.#host
    return (result) => host.show(result)
  }

  get preliminary(): (result: unknown) => Effect.Effect<void> {
    const host = this.#host
    return (result) => Effect.sync(() => host.show(result))
  }

  get spent(): Spend {
    const host = this.#host
    const { meter } = this.#around
    return (spent) => meter(host, spent)
  }
}
