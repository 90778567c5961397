/**
 * Several processes on one PostgreSQL under random kills: services, a worker of the queue and the server itself are
 * killed, stopped and cut off while people go on sending, deciding and settling. When that is over, every run has to end
 * within a bound: what stays open waits for a wake-up that is lost.
 */
import { PgClient } from "@effect/sql-pg"
import { Deferred, Effect, Exit, Redacted } from "effect"
import type { Scope } from "effect"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import type { PostgresServer } from "../sql/PostgresServer.ts"
import * as PostgresServers from "../sql/PostgresServer.ts"
import type { Child, Refused } from "./Child.ts"
import * as Children from "./Child.ts"
import { Crowd, judged, randomOf, tools } from "./Crowd.ts"
import * as Homes from "./Homes.ts"
import * as Judge from "./Judge.ts"
import type { ToolName, WorkerConfig } from "./Plan.ts"
import * as Service from "./Service.ts"
import type { SmallDisk } from "./SmallDisk.ts"
import { small } from "./SmallDisk.ts"

export interface Siege {
  readonly seed: number
  /** How long processes are killed, in ms. */
  readonly load_ms: number
  /** Services at the same time. */
  readonly services: number
  /** Runs that are kept open at the same time. */
  readonly runs: number
  /** How long after the load every run may take to its end, in ms. */
  readonly end_ms_max: number
  readonly config?: Partial<WorkerConfig>
  /** The server stands still, its disk is full where one can be mounted, and clocks of services are wrong. Absent = false. */
  readonly hard?: boolean
  /** Told of what is done. */
  readonly report?: (line: string) => void
}

export interface Outcome {
  readonly done: Readonly<Record<string, number>>
  readonly runs: number
  readonly events: number
  readonly effects: number
  readonly settled: number
  /** Of a service, after everything has ended. */
  readonly resident_mb: number
  /** From the end of the load until the last run had ended. */
  readonly ended_ms: number
}

/** Room for a server under load, in MB. */
const disk_mega = 600

const mixture: ReadonlyArray<ToolName> = [...tools, "row", "far", "sure", "row", "far"]

/** The default, and some to spare: only wakeups, sweeps and gone owners are to move what waits. */
const timers = { park_ms: 600_000, lease_ms: 15_000, sweep_ms: 1_000, relay_ms: 5_000 }

/** A place for one process: who is in it, and a new one whenever that is gone. */
interface Slot<A> {
  current: A | undefined
  readonly live: Effect.Effect<void, never, Scope.Scope>
}

const slot = <A extends { readonly child: Child }>(
  start: Effect.Effect<A, never, Scope.Scope>,
  isOver: () => boolean
): Slot<A> => {
  const it: Slot<A> = {
    current: undefined,
    live: Effect.asVoid(
      Effect.forkScoped(
        Effect.scoped(
          Effect.gen(function* () {
            const who = yield* start
            it.current = who
            yield* Effect.ensuring(
              who.child.gone,
              Effect.sync(() => void (it.current = undefined))
            )
          })
        ).pipe(
          // The server was away at its start.
          Effect.catchCause(() => Effect.sleep(500)),
          Effect.repeat({ while: () => !isOver() })
        )
      )
    )
  }
  return it
}

/** The server, and the disk that it has for itself; undefined = it shares the machine's. */
interface Ground {
  readonly server: PostgresServer
  readonly disk: SmallDisk | undefined
}

const ground = Effect.fnUntraced(function* ({ hard = false, report }: Siege) {
  const disk = hard ? yield* small(disk_mega) : undefined
  if (hard && disk === undefined) report?.("no disk is filled: this user may not mount one")
  const server = yield* Effect.acquireRelease(
    Effect.promise(() =>
      disk === undefined
        ? PostgresServers.launch()
        : PostgresServers.launchIn(disk.path, "max_wal_size=128MB")
    ),
    (each) => Effect.promise(() => each.stop())
  )
  return { disk, server }
})

class Field {
  readonly url: string
  readonly #server: PostgresServer
  readonly #random: (below: number) => number
  readonly services: ReadonlyArray<Slot<Service.Service>>
  readonly worker: Slot<{ readonly child: Child }>
  readonly done: Record<string, number> = {}
  readonly #report: (line: string) => void
  readonly #disk: SmallDisk | undefined
  readonly #isHard: boolean

  constructor(
    { disk, server }: Ground,
    options: Siege,
    counter: string,
    random: (below: number) => number,
    isOver: () => boolean
  ) {
    this.#server = server
    this.#random = random
    this.#report = options.report ?? (() => {})
    this.#disk = disk
    this.#isHard = options.hard === true
    this.url = EmbeddedPostgres.urlOf(String(server.port), "postgres")
    const config = {
      store: { postgres: this.url },
      counter,
      model_ms: 10,
      remote: true,
      ...timers,
      ...options.config
    }
    this.services = Array.from({ length: options.services }, () =>
      slot(Service.start(config), isOver)
    )
    this.worker = slot(
      Effect.gen({ self: this }, function* () {
        const child = yield* Children.start("test/process/toolworker.ts", [this.url, counter])
        yield* child.heard((it) => it.notice === "ready")
        return { child }
      }),
      isOver
    )
  }

  #count(what: string) {
    this.done[what] = (this.done[what] ?? 0) + 1
    this.#report(what)
  }

  /** One of the services that are up; undefined where none is. */
  live(): Service.Service | undefined {
    const up = this.services.flatMap(({ current }) => (current === undefined ? [] : [current]))
    return up[this.#random(up.length)]
  }

  /** kill -9, or a stop that ends in a kill or not. */
  readonly #strike = (name: string, child: Child | undefined) =>
    Effect.gen({ self: this }, function* () {
      if (child === undefined) return
      const how = this.#random(10)
      if (how < 7) {
        this.#count(`${name} killed`)
        return yield* child.kill
      }
      this.#count(`${name} stopped`)
      yield* child.signal("SIGSTOP")
      yield* Effect.sleep(200 + this.#random(6_000))
      if (how === 9) {
        this.#count(`${name} killed while it was stopped`)
        return yield* child.kill
      }
      yield* child.signal("SIGCONT")
    })

  readonly #crash = Effect.gen({ self: this as Field }, function* () {
    this.#count("server killed")
    yield* Effect.promise(() => this.#server.crash())
    yield* Effect.sleep(this.#random(2_000))
    yield* Effect.promise(() => this.#server.start())
  })

  readonly #stand = Effect.gen({ self: this as Field }, function* () {
    this.#count("server stood still")
    this.#server.pause()
    yield* Effect.sleep(500 + this.#random(15_000))
    this.#server.resume()
  })

  /** A server whose log cannot be written stops by itself; it comes back once there is room. */
  readonly #fillDisk = Effect.gen({ self: this as Field }, function* () {
    if (this.#disk === undefined) return
    this.#count("disk full")
    this.#disk.fill(this.#random(500_000))
    yield* Effect.sleep(500 + this.#random(6_000))
    this.#disk.free()
    if (this.#server.isUp()) return
    this.#count("server stopped on a full disk")
    yield* Effect.promise(() => this.#server.start())
  })

  readonly #skew = Effect.gen({ self: this as Field }, function* () {
    const service = this.live()
    if (service === undefined) return
    this.#count("clock wrong")
    yield* Effect.ignore(service.skew(this.#random(1_200_000) - 600_000))
  })

  /** What happens at one moment of the load. */
  readonly blow = Effect.suspend(() => {
    const hard = this.#isHard ? this.#random(100) : 100
    if (hard < 10) return this.#stand
    if (hard < 20) return this.#fillDisk
    if (hard < 45) return this.#skew
    const what = this.#random(100)
    if (what < 60) return this.#strike("service", this.live()?.child)
    if (what < 85) return this.#strike("worker", this.worker.current?.child)
    if (what < 95) {
      this.#count("sessions cut")
      return Effect.ignoreCause(Homes.cut(this.url))
    }
    return this.#crash
  })
}

/** What the database says of runs that have not ended. */
const recorded = (url: string, runs: ReadonlyArray<string>) =>
  Effect.flatMap(PgClient.PgClient, (sql) =>
    Effect.all([
      sql.unsafe(
        `SELECT r.run_id, r.status, r.epoch, r.length, d.owner, d.ordinal,
           (SELECT p.expires_at > clock_timestamp() FROM troupe.processes p WHERE p.owner = d.owner) AS lives
         FROM troupe.runs r JOIN troupe.run_details d ON d.run_id = r.run_id WHERE r.run_id = ANY($1::uuid[])`,
        [runs]
      ),
      sql.unsafe(`SELECT id, tool, status, deliveries, owner, due_at::float8, begun, expires_at::float8, result, error
         FROM troupe.tool_messages WHERE status = 0`),
      sql.unsafe(`SELECT owner, guarded, expires_at FROM troupe.processes`)
    ])
  ).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })))

/** Everything that is known of what stayed open, as text. */
const found = Effect.fnUntraced(function* (field: Field, open: ReadonlyArray<string>) {
  const service = field.live()
  const parts: Array<unknown> = [yield* Effect.exit(recorded(field.url, open))]
  for (const { current } of field.services) {
    if (current === undefined) continue
    const actors = yield* Effect.exit(current.actors)
    parts.push(Exit.isSuccess(actors) ? actors.value : String(actors.cause))
    parts.push(current.child.text().slice(-6_000))
  }
  if (service !== undefined) {
    const journals = yield* Effect.exit(service.journals(open.slice(0, 5)))
    parts.push(Exit.isSuccess(journals) ? journals.value : String(journals.cause))
  }
  parts.push(field.worker.current?.child.text().slice(-3_000))
  return parts
    .map((part) => (typeof part === "string" ? part : JSON.stringify(part, undefined, 1)))
    .join("\n")
})

/** One round of what people do; whoever does not answer is asked again another time. */
const people = (field: Field, crowd: Crowd, runs: number, keep: number) =>
  Effect.suspend(() => {
    const service = field.live()
    if (service === undefined) return Effect.sleep(100)
    return Effect.gen(function* () {
      yield* crowd.send(service, runs)
      yield* crowd.settle(service, yield* crowd.look(service))
      yield* crowd.decide(service, keep)
    }).pipe(Effect.timeoutOption(5_000), Effect.ignoreCause, Effect.andThen(Effect.sleep(50)))
  })

/** Until every run has ended; dies with what is known of those that have not. */
const quiet = Effect.fnUntraced(function* (field: Field, crowd: Crowd, siege: Siege) {
  const began = performance.now()
  const rest = () => crowd.open.size + crowd.unanswered().length
  while (rest() > 0) {
    yield* people(field, crowd, 0, 0)
    if (performance.now() - began < siege.end_ms_max) continue
    const open = [...crowd.open]
    const said = yield* found(field, open)
    return yield* Effect.die(
      new Error(
        `ended by its time limit of ${siege.end_ms_max} ms after the load, with ${open.length} runs open: ${said}`
      )
    )
  }
  return Math.round(performance.now() - began)
})

/** Dies, with what is known, where a run stays open or a promise was broken. */
export const siege = (options: Siege): Effect.Effect<Outcome, Refused, Scope.Scope> =>
  Effect.gen(function* () {
    const random = randomOf(options.seed)
    const judge = yield* Judge.slow(40)
    let isOver = false
    const field = new Field(yield* ground(options), options, judge.url, random, () => isOver)
    const crowd = new Crowd(judge, randomOf(options.seed + 1), mixture)
    for (const each of [...field.services, field.worker]) yield* each.live
    const over = yield* Deferred.make<void>()
    yield* Effect.forkScoped(
      Effect.raceFirst(Effect.forever(people(field, crowd, options.runs, 3)), Deferred.await(over))
    )
    const until = performance.now() + options.load_ms
    while (performance.now() < until) {
      yield* Effect.sleep(200 + random(1_500))
      yield* field.blow
    }
    yield* Deferred.succeed(over, undefined)
    // Somebody sets the clocks right: a call whose sender's clock stays minutes behind has expired before a worker sees it.
    for (const { current } of field.services) {
      if (current !== undefined) yield* Effect.ignore(current.skew(0))
    }
    const ended_ms = yield* quiet(field, crowd, options)
    const service = yield* Service.until(
      Effect.sync(() => field.live()),
      (each) => each !== undefined
    )
    options.report?.(`${crowd.runs.size} runs have ended after ${ended_ms} ms`)
    const events = yield* judged(crowd, service!, judge)
    isOver = true
    return {
      done: field.done,
      runs: crowd.runs.size,
      events,
      effects: judge.seen().length,
      settled: crowd.settled,
      resident_mb: yield* service!.memory,
      ended_ms
    }
  })
