/**
 * A process of its own that is spoken to over IPC, and killed when the scope closes, however the test ends.
 */
import { spawn, spawnSync } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { closeSync, constants, mkdtempSync, openSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Deferred, Effect, Schema } from "effect"
import type { Scope } from "effect"
import { flags, runnable } from "./Bundle.ts"
import type { Notice, Reply } from "./Plan.ts"

/** The process refused, by the tag of its error, or was gone (`Gone`): then nobody knows whether it did what was asked. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", { reason: Schema.String }) {}

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Child {
  readonly pid: number
  /** What it has printed so far, on both streams. */
  readonly text: () => string
  readonly ask: (request: object) => Effect.Effect<unknown, Refused>
  readonly tell: (message: object) => Effect.Effect<void>
  /** Waits for a notice that fits, and takes it; dies with what was printed when the process ends before. */
  readonly heard: (fits: (notice: Notice) => boolean) => Effect.Effect<Notice>
  /** Waits for something to be printed. */
  readonly printed: (text: string | RegExp) => Effect.Effect<void>
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
  readonly ended: Effect.Effect<Ended>
  /** The same, however long that takes. */
  readonly gone: Effect.Effect<Ended>
  /** kill -9, and gone. */
  readonly kill: Effect.Effect<void>
}

const wait_ms = 90_000
/** Of what it has printed, the end. */
const text_units_max = 4_000_000
const root = join(import.meta.dirname, "../..")
const exitOf = (child: ChildProcess): Effect.Effect<Ended> =>
  Effect.callback<Ended>((resume) => {
    const end = () => resume(Effect.succeed({ code: child.exitCode, signal: child.signalCode }))
    if (child.exitCode !== null || child.signalCode !== null) return end()
    child.once("exit", end)
  })

const killed = (child: ChildProcess) =>
  Effect.andThen(
    Effect.sync(() => child.kill("SIGKILL")),
    exitOf(child)
  )

const isReply = (message: unknown): message is Reply =>
  typeof message === "object" && message !== null && "id" in message

/** What the child has said, and who waits for it to say something. */
class Ear {
  readonly #child: ChildProcess
  readonly #what: string
  readonly #wakeups = new Set<() => void>()
  readonly #asked = new Map<number, Deferred.Deferred<unknown, Refused>>()
  readonly #notices: Array<Notice> = []
  #next = 0
  text = ""

  constructor(what: string, child: ChildProcess) {
    this.#what = what
    this.#child = child
    const hear = (chunk: Buffer) => {
      this.text = (this.text + chunk.toString()).slice(-text_units_max)
      this.#wake()
    }
    child.stdout?.on("data", hear)
    child.stderr?.on("data", hear)
    child.on("message", (message) => this.#message(message))
    child.once("exit", () => {
      for (const deferred of this.#asked.values()) {
        Deferred.doneUnsafe(deferred, Effect.fail(new Refused({ reason: "Gone" })))
      }
      this.#wake()
    })
  }

  #wake() {
    for (const wakeup of this.#wakeups) wakeup()
  }

  #message(message: unknown) {
    if (!isReply(message)) {
      this.#notices.push(message as Notice)
      return this.#wake()
    }
    const deferred = this.#asked.get(message.id)
    this.#asked.delete(message.id)
    if (deferred === undefined) return
    Deferred.doneUnsafe(
      deferred,
      "error" in message
        ? Effect.fail(new Refused({ reason: message.error }))
        : Effect.succeed(message.answer)
    )
  }

  ask(request: object): Effect.Effect<unknown, Refused> {
    return Effect.suspend(() => {
      if (!this.#child.connected) return Effect.fail(new Refused({ reason: "Gone" }))
      const id = this.#next++
      const deferred = Deferred.makeUnsafe<unknown, Refused>()
      this.#asked.set(id, deferred)
      this.#child.send({ id, ...request }, () => {})
      return this.#bounded(Deferred.await(deferred), `an answer to ${JSON.stringify(request)}`)
    })
  }

  take(fits: (notice: Notice) => boolean): Notice | undefined {
    const at = this.#notices.findIndex(fits)
    return at < 0 ? undefined : this.#notices.splice(at, 1)[0]
  }

  /** Until `look` has something to say; asked again whenever the child has said something. */
  until<A>(look: () => A | undefined, what: string): Effect.Effect<A> {
    return Effect.suspend(() => {
      const done = Deferred.makeUnsafe<A>()
      const wakeup = (): void => {
        const found = look()
        const { exitCode, signalCode } = this.#child
        if (found !== undefined) {
          Deferred.doneUnsafe(done, Effect.succeed(found))
        } else if (exitCode !== null || signalCode !== null) {
          const how = `${this.#what} ended (${exitCode ?? signalCode}) before ${what}`
          Deferred.doneUnsafe(done, Effect.die(new Error(`${how}: ${this.text}`)))
        }
      }
      this.#wakeups.add(wakeup)
      wakeup()
      return this.#bounded(Deferred.await(done), what).pipe(
        Effect.ensuring(Effect.sync(() => this.#wakeups.delete(wakeup)))
      )
    })
  }

  #bounded<A, E>(effect: Effect.Effect<A, E>, what: string): Effect.Effect<A, E> {
    return Effect.timeoutOrElse(effect, {
      duration: wait_ms,
      orElse: () =>
        Effect.die(new Error(`${this.#what} did not come to ${what}: ${this.text.slice(-4_000)}`))
    })
  }
}

const contains = (text: string, what: string | RegExp): boolean =>
  typeof what === "string" ? text.includes(what) : what.test(text)

interface Streams {
  /** "pipe" = stays open and says nothing; "ignore" is at its end. */
  readonly stdin?: "ignore" | "pipe"
  /** A file descriptor, or a pipe that is read. */
  readonly stdout?: number | "pipe"
  /** How many files it may open. Absent = as many as this process. */
  readonly files_max?: number
}

/** The end of a pipe that is written to, when who reads its other end has gone. */
export const unread: Effect.Effect<number, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = mkdtempSync(join(tmpdir(), "troupe-pipe-"))
    const path = join(folder, "pipe")
    const { status } = spawnSync("mkfifo", [path])
    if (status !== 0) throw new Error("mkfifo made no pipe")
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const writer = openSync(path, constants.O_WRONLY)
    closeSync(reader)
    rmSync(folder, { recursive: true })
    return writer
  }),
  (writer) => Effect.sync(() => closeSync(writer))
)

/** A command and its arguments, in the shell's own process where it sets a limit. */
const limited = (
  files_max: number | undefined,
  [command = "", ...args]: ReadonlyArray<string>
): [command: string, args: ReadonlyArray<string>] =>
  files_max === undefined
    ? [command, args]
    : ["sh", ["-c", `ulimit -n ${files_max}; exec "$0" "$@"`, command, ...args]]

/** `script` is a path from the repository's root; `form` gives what to start for it. */
export const start = (
  script: string,
  args: ReadonlyArray<string>,
  env: NodeJS.ProcessEnv = {},
  form = runnable,
  { files_max, stdin = "ignore", stdout = "pipe" }: Streams = {}
): Effect.Effect<Child, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { compiled, file } = yield* form(script)
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(...limited(files_max, [process.execPath, ...flags, file, ...args]), {
          cwd: root,
          env: { ...process.env, NODE_COMPILE_CACHE: compiled, ...env },
          stdio: [stdin, stdout, "pipe", "ipc"]
        })
      ),
      killed
    )
    const ear = new Ear(script, child)
    return {
      pid: child.pid!,
      text: () => ear.text,
      ask: (request) => ear.ask(request),
      tell: (message) => Effect.sync(() => child.send(message, () => {})),
      heard: (fits) => ear.until(() => ear.take(fits), `a notice like ${fits.toString()}`),
      printed: (what) =>
        Effect.asVoid(
          ear.until(() => (contains(ear.text, what) ? true : undefined), `printing ${what}`)
        ),
      signal: (signal) => Effect.sync(() => child.kill(signal)),
      ended: Effect.timeoutOrElse(exitOf(child), {
        duration: wait_ms,
        orElse: () => Effect.die(new Error(`${script} did not end: ${ear.text.slice(-4_000)}`))
      }),
      gone: exitOf(child),
      kill: Effect.asVoid(killed(child))
    }
  })
