/**
 * How much memory the runs at work in this process take, by estimate and in bytes: what they keep (their states and
 * conversations), and what their work in flight uses (prompts, and results that are not durable yet). A run is taken up while half
 * of it is free, and work is started while there is room. What finds none waits in its tenant's line, and the lines take turns. No
 * tenant takes more than half of the whole.
 *
 * Where states alone take more than their half, a run that waits for room and has nothing in flight leaves the process (`mustLeave`):
 * it is in the journal, and is taken up again when there is room. The oldest run stays, so that one always goes on.
 */
import type { Tenant } from "../../../src/value/Ids.ts"

/** Of a tool that has returned nothing yet. */
const unknown_units = 500_000
const units_min = 4_096
const tools_max = 10_000

/**
 * How large the results of each tool are expected to be, in UTF-16 units: the largest of late, which is forgotten slowly. A tool
 * that has returned nothing yet counts for much, so that a crowd of first calls does not fill the memory.
 */
class ExpectedUnits {
  readonly #byTool = new Map<string, number>()

  of(tool: string): number {
    return this.#byTool.get(tool) ?? unknown_units
  }

  saw(tool: string, given: number): void {
    const units = Math.max(given, units_min)
    const known = this.#byTool.get(tool)
    if (known === units) return
    if (known === undefined && this.#byTool.size >= tools_max) this.#byTool.clear()
    const next = known === undefined || units > known ? units : known - (known - units) / 16
    this.#byTool.set(tool, next < units + 1 ? units : next)
  }
}

/** What a run at work takes beside its texts: fiber, queue and maps. */
const run_bytes = 10_000
/** For the answer of a model. */
const answer_bytes = 32_768
/** A text may have two bytes for each unit. */
const bytes_per_unit = 2
/** A result is there as a value, as JSON, in its event, and in the statement that stores it. */
const copies_of_result = 4
/** A file is there in base64, which has a third more, and in the request. */
const copies_of_file = 3
/** Below that a runtime could run next to nothing. */
export const memory_bytes_min = 8_000_000
/** Tenants of which nothing is counted, and that are kept: one that comes and goes with each run would be made anew each time. */
const empty_max = 1_000

interface Account {
  readonly tenant: Tenant
  kept: number
  used: number
  runs: number
  /** Those that wait for room, in the order of their arrival. */
  readonly waiting: Set<RunShare>
}

/** Who waits for room. */
interface Waiter {
  wake(): void
}

export class RunMemory {
  readonly bytes_max: number
  readonly expected = new ExpectedUnits()
  readonly #accounts = new Map<Tenant, Account>()
  /** Those in which somebody waits; who was served last is last. */
  readonly #lines = new Set<Account>()
  /** The oldest first. */
  readonly #runs = new Set<RunShare>()
  #kept = 0
  #used = 0
  /** Tenants of which runs were left in the store because they had taken their part, and whether any was because all was taken. */
  readonly #left = new Set<Tenant>()
  #hasLeft = false
  #isServing = false
  /** Called when there is room again for runs that were left in the store. */
  onRoom: (() => void) | undefined

  constructor(bytes_max: number) {
    this.bytes_max = Math.max(bytes_max, memory_bytes_min)
  }

  /** No tenant takes more, and so no run does. */
  get tenant_max(): number {
    return this.bytes_max / 2
  }

  /** What is taken, in bytes. */
  get bytes(): number {
    return this.#kept + this.#used
  }

  /** Runs at work. */
  get runs(): number {
    return this.#runs.size
  }

  /** May a further run of the tenant be taken up? */
  hasRoom(tenant: Tenant): boolean {
    const account = this.#accounts.get(tenant)
    return (
      this.bytes < this.bytes_max / 2 &&
      (account === undefined || account.kept + account.used < this.tenant_max / 2)
    )
  }

  /** A run of the tenant was left in the store, to be found when there is room. */
  leftOne(tenant: Tenant): void {
    if (this.bytes >= this.bytes_max / 2) this.#hasLeft = true
    else this.#left.add(tenant)
  }

  /** A run is taken up. */
  join(tenant: Tenant): RunShare {
    let account = this.#accounts.get(tenant)
    if (account === undefined) {
      account = { tenant, kept: 0, used: 0, runs: 0, waiting: new Set() }
      this.#accounts.set(tenant, account)
    }
    account.runs++
    const share = new RunShare(this, account)
    this.#runs.add(share)
    share.keep(0)
    return share
  }

  // The rest is for `RunShare`.

  count(account: Account, kept: number, used: number): void {
    account.kept += kept
    account.used += used
    this.#kept += kept
    this.#used += used
  }

  fits(account: Account, bytes: number): boolean {
    return (
      this.bytes + bytes <= this.bytes_max && account.kept + account.used + bytes <= this.tenant_max
    )
  }

  await(share: RunShare, account: Account): void {
    account.waiting.add(share)
    this.#lines.add(account)
  }

  /** Somebody of the account waits no longer. */
  served(account: Account): void {
    this.#lines.delete(account)
    if (account.waiting.size > 0) this.#lines.add(account)
  }

  isToLeave(share: RunShare, account: Account): boolean {
    const [oldest] = this.#runs
    if (share === oldest) return false
    if (this.#kept > this.bytes_max / 2) return true
    return account.kept > this.tenant_max / 2 && share !== this.#oldestOf(account)
  }

  #oldestOf(account: Account): RunShare | undefined {
    for (const share of this.#runs) if (share.account === account) return share
    return undefined
  }

  /** Something was given back. Whoever is woken may give something back in turn: that is looked at in the same loop. */
  serve(by: Account): void {
    if (this.#isServing) return
    this.#isServing = true
    for (const account of this.#lines) {
      const [next] = account.waiting
      // The account is added anew behind the others, and so comes once more in this loop.
      if (next !== undefined && this.fits(account, next.needed)) next.grant()
    }
    this.#isServing = false
    // Well below the bound, so that a search in the store finds room for many.
    const isForAll = this.#hasLeft && this.bytes < (this.bytes_max * 3) / 8
    if (!isForAll && !(this.#left.has(by.tenant) && by.kept + by.used < this.tenant_max / 4)) return
    this.#hasLeft = false
    this.#left.clear()
    this.onRoom?.()
  }

  left(share: RunShare, account: Account): void {
    this.#runs.delete(share)
    account.runs--
    if (account.runs === 0 && this.#accounts.size > empty_max) this.#accounts.delete(account.tenant)
    this.serve(account)
  }
}

/** What one run takes. */
export class RunShare {
  readonly account: Account
  readonly #memory: RunMemory
  #kept = 0
  #used = 0
  #granted = 0
  #waiter: Waiter | undefined
  /** What it waits for, in bytes. */
  needed = 0

  constructor(memory: RunMemory, account: Account) {
    this.#memory = memory
    this.account = account
  }

  /** It keeps so many UTF-16 units from here on. */
  keep(units: number): void {
    const kept = run_bytes + units * bytes_per_unit
    if (kept === this.#kept) return
    this.#memory.count(this.account, kept - this.#kept, 0)
    this.#kept = kept
  }

  get kept(): number {
    return this.#kept
  }

  /** The most that it may take. */
  get bytes_max(): number {
    return this.#memory.tenant_max
  }

  /**
   * The bytes that a turn of its model needs: the request has what it keeps once more, and its files in base64 and in JSON. Files are
   * no reason to refuse a run: a prompt has at most 20 MB of them.
   */
  turnBytes(file_bytes: number): number {
    const files = Math.min(file_bytes * copies_of_file, this.#memory.tenant_max / 4)
    return this.#kept + answer_bytes + files
  }

  /** The bytes that a call of the tool needs. */
  callBytes(tool: string): number {
    const bytes = this.#memory.expected.of(tool) * copies_of_result
    return Math.min(bytes, this.#memory.tenant_max / 4)
  }

  /** The bytes of a result until it is durable. */
  resultBytes(tool: string, units: number): number {
    this.#memory.expected.saw(tool, units)
    return units * copies_of_result
  }

  /** Takes so many bytes for work, if there is room and nobody of the tenant waits before it. */
  take(bytes: number): boolean {
    const { waiting } = this.account
    const granted = this.#granted
    if (granted > 0) this.use(-granted)
    this.#granted = 0
    const [first] = waiting
    const isNext = granted > 0 || first === undefined || first === this
    if (!isNext || !this.#memory.fits(this.account, bytes)) return false
    if (first === this) this.#leaveLine()
    this.use(bytes)
    return true
  }

  /** Counts what is there already. */
  use(bytes: number): void {
    this.#used += bytes
    this.#memory.count(this.account, 0, bytes)
  }

  give(bytes: number): void {
    if (bytes === 0) return
    this.use(-bytes)
    this.#memory.serve(this.account)
  }

  /** Wakes the waiter once, when there is room for so many bytes: they are kept for its next `take`. */
  await(bytes: number, waiter: Waiter): void {
    this.needed = bytes
    this.#waiter = waiter
    this.#memory.await(this, this.account)
  }

  /** It waits for nothing any more. */
  withdraw(): void {
    if (this.#granted === 0 && this.#waiter === undefined) return
    this.#waiter = undefined
    this.#leaveLine()
    const granted = this.#granted
    this.#granted = 0
    this.give(granted)
  }

  /** Would it wait even where it is alone? */
  isBeyond(bytes: number): boolean {
    return this.#kept + bytes > this.#memory.tenant_max
  }

  /** Is it to leave, where it waits and has nothing in flight? */
  get mustLeave(): boolean {
    return this.#memory.isToLeave(this, this.account)
  }

  grant(): void {
    this.#granted = this.needed
    this.use(this.needed)
    this.#leaveLine()
    this.#waiter?.wake()
  }

  /** The run is over, or leaves the process. */
  leave(): void {
    this.#waiter = undefined
    this.#granted = 0
    this.#leaveLine()
    this.#memory.count(this.account, -this.#kept, -this.#used)
    this.#kept = 0
    this.#used = 0
    this.#memory.left(this, this.account)
  }

  #leaveLine(): void {
    if (this.account.waiting.delete(this)) this.#memory.served(this.account)
  }
}
