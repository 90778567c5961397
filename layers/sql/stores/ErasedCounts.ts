/**
 * Counts the rows that an erasure has removed or overwritten, by table. Private to this room.
 */
export class ErasedCounts {
  readonly #rows = new Map<string, number>()

  add(table: string, rows: number): void {
    if (rows > 0) this.#rows.set(table, (this.#rows.get(table) ?? 0) + rows)
  }

  get all(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#rows].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  }
}
