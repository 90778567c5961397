/**
 * The session of an embedded database in a directory. Before each statement it asks whether the disk has space for it; while the
 * disk has none, the engine itself refuses what writes and answers what reads.
 */
import type { PGlite, Results } from "@electric-sql/pglite"
import type { DirectorySpace } from "./DirectorySpace.ts"
import type { EngineWatchdog } from "./EngineWatchdog.ts"
import { endProcess } from "./EngineWatchdog.ts"

export interface Session {
  readonly query: <Row>(
    sql: string,
    params: ReadonlyArray<unknown>,
    rowMode: "object" | "array"
  ) => Promise<Results<Row>>
}

/** The bytes of parameters; a text counts its characters. */
const bytesOf = (value: unknown): number => {
  if (typeof value === "string") return value.length
  if (value instanceof Uint8Array) return value.byteLength
  if (!Array.isArray(value)) return 0
  let bytes = 0
  for (const each of value) bytes += bytesOf(each)
  return bytes
}

/** Smaller statements are not counted: the space that is kept free is more than they take. */
const counted_bytes_min = 2 ** 20

/** The error of a disk that is full, as the engine reports it. */
const full = (reason: string): Error =>
  Object.assign(new Error(reason), { code: "53100", severity: "ERROR" })

const read_only = "25006"

const memberOf = (error: unknown, name: "code" | "severity"): unknown =>
  error instanceof Error && name in error ? (error as unknown as Record<string, unknown>)[name] : ""

/** After a panic the engine never answers again, or answers nothing but errors. */
const endIfPanicked = (error: unknown): void => {
  if (memberOf(error, "severity") !== "PANIC") return
  endProcess(`the embedded database has failed for good: ${(error as Error).message}`)
}

/** What ends something needs hardly any space, and frees what it holds. */
const isEnd = (sql: string): boolean =>
  sql === "COMMIT" || sql.startsWith("ROLLBACK") || sql.startsWith("RELEASE")

class DirectorySession implements Session {
  readonly #pg: PGlite
  readonly #space: DirectorySpace
  readonly #watchdog: EngineWatchdog
  /** Whether the engine refuses what writes. */
  #isReadOnly = false
  /** The open transaction: whether it may write. It keeps the mode in which it began. */
  #transaction: "reads" | "writes" | undefined

  constructor(pg: PGlite, space: DirectorySpace, watchdog: EngineWatchdog) {
    this.#pg = pg
    this.#space = space
    this.#watchdog = watchdog
  }

  /** Nearly all statements go straight on: what this adds to them is a look at the clock. */
  query<Row>(
    sql: string,
    params: ReadonlyArray<unknown>,
    rowMode: "object" | "array"
  ): Promise<Results<Row>> {
    if (isEnd(sql)) {
      if (sql === "COMMIT" || sql === "ROLLBACK") this.#transaction = undefined
    } else {
      if (this.#transaction === undefined && this.#isChanged()) {
        return this.#adapt().then(() => this.#checked(sql, params, rowMode))
      }
      return this.#checked(sql, params, rowMode)
    }
    return this.#run(sql, params, rowMode)
  }

  #checked<Row>(
    sql: string,
    params: ReadonlyArray<unknown>,
    rowMode: "object" | "array"
  ): Promise<Results<Row>> {
    const reason = this.#refusal(params)
    return reason === undefined ? this.#run(sql, params, rowMode) : Promise.reject(full(reason))
  }

  #run<Row>(
    sql: string,
    params: ReadonlyArray<unknown>,
    rowMode: "object" | "array"
  ): Promise<Results<Row>> {
    this.#watchdog.turn()
    return this.#pg.query<Row>(sql, [...params], { rowMode }).then(
      (result) => {
        this.#ended()
        if (sql.startsWith("BEGIN")) this.#transaction = this.#isReadOnly ? "reads" : "writes"
        return result
      },
      (error: unknown) => {
        this.#ended()
        endIfPanicked(error)
        if (!this.#isReadOnly || memberOf(error, "code") !== read_only) throw error
        throw full(this.#space.refusal() ?? "the disk of the store was full a moment ago")
      }
    )
  }

  #ended(): void {
    this.#space.settled()
    this.#watchdog.turn()
  }

  async #execute(sql: string): Promise<void> {
    this.#watchdog.turn()
    try {
      await this.#pg.exec(sql)
    } finally {
      this.#ended()
    }
  }

  #isChanged(): boolean {
    return (
      this.#space.wantsCheckpoint() || (this.#space.refusal() !== undefined) !== this.#isReadOnly
    )
  }

  /** Makes the engine's mode the one that the disk allows. Outside a transaction. */
  async #adapt(): Promise<void> {
    if (this.#space.wantsCheckpoint()) {
      // One that fails is made again by the upkeep.
      await this.#execute("CHECKPOINT").catch(endIfPanicked)
      this.#space.keepReserve()
    }
    const isReadOnly = this.#space.refusal() !== undefined
    const mode = isReadOnly ? "on" : "off"
    await this.#execute(`SET default_transaction_read_only = ${mode}`)
    this.#isReadOnly = isReadOnly
  }

  /** Why a statement is refused before the engine sees it; undefined if it is not. */
  #refusal(params: ReadonlyArray<unknown>): string | undefined {
    if (this.#isReadOnly || this.#transaction === "writes") {
      const reason = this.#space.exhausted()
      if (reason !== undefined) return reason
      const low = this.#transaction === "writes" ? this.#space.refusal() : undefined
      if (low !== undefined) return low
    }
    const bytes = bytesOf(params)
    return bytes < counted_bytes_min ? undefined : this.#space.tooLarge(bytes)
  }
}

export const make = (pg: PGlite, space: DirectorySpace, watchdog: EngineWatchdog): Session =>
  new DirectorySession(pg, space, watchdog)
