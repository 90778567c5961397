/**
 * The secrets in the contexts of runs, in the memory of the process that took their messages, and nowhere else. Where that
 * process stops they are gone: calls that need them fail, until the message is sent again under its idempotency key.
 */
import type { RunId } from "../../../src/value/Ids.ts"
import type { RunContext } from "../../../src/run/RunContext.ts"

/** How many runs may have secrets; one more takes the place of the oldest. */
const runs_max = 10_000

/** The secrets of one run: the members of its context, and every text in them, as it was sent and as tools are told it. */
export interface KeptSecrets {
  readonly members: RunContext
  readonly texts: ReadonlyArray<string>
}

export class RunSecrets {
  readonly #known = new Map<RunId, KeptSecrets>()

  keep(run: RunId, secrets: KeptSecrets): void {
    this.#known.delete(run)
    this.#known.set(run, secrets)
    if (this.#known.size <= runs_max) return
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest)
      return
    }
  }

  of(run: RunId): KeptSecrets | undefined {
    return this.#known.size === 0 ? undefined : this.#known.get(run)
  }

  drop(run: RunId): void {
    if (this.#known.size > 0) this.#known.delete(run)
  }
}
