/**
 * The times until which providers have asked not to be asked again, by model. An attempt before it would be refused, and some
 * providers lengthen the wait of who asks all the same. Private to this room.
 */
import { ModelError } from "../../../services/ModelGateway.ts"

/** Names of models come from agents; beyond this many, the one that ends first is forgotten. */
const bans_max = 1_000

export class ProviderBans {
  readonly #until = new Map<string, number>()

  /** The provider asked for a wait. A shorter one than that in force changes nothing. `now` in ms. */
  set(name: string, retry_after_ms: number, now: number): void {
    const until = now + retry_after_ms
    if (until <= (this.#until.get(name) ?? now)) return
    this.#until.set(name, until)
    if (this.#until.size <= bans_max) return
    const [first] = [...this.#until].reduce((least, each) => (each[1] < least[1] ? each : least))
    this.#until.delete(first)
  }

  /** How long the model must not be asked, in ms; 0 = it may be. */
  leftMs(name: string, now: number): number {
    const left = (this.#until.get(name) ?? now) - now
    if (left <= 0) this.#until.delete(name)
    return Math.max(0, left)
  }
}

/** The error in place of a request. */
export const banned = (name: string, retry_after_ms: number): ModelError =>
  new ModelError({
    kind: "transient",
    reason: "retry_later",
    message: `the provider of ${name} asked to be left alone for ${Math.ceil(retry_after_ms / 1_000)} s more`,
    retry_after_ms
  })
