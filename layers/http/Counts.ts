/**
 * How many each owner has, by its key; an owner without any takes no memory.
 */
export class Counts {
  readonly #counts = new Map<string, number>()

  /** Owners that have any. */
  get size(): number {
    return this.#counts.size
  }

  of(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  add(key: string, by: 1 | -1): void {
    const count = this.of(key) + by
    if (count > 0) this.#counts.set(key, count)
    else this.#counts.delete(key)
  }
}
