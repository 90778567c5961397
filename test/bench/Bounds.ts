/**
 * What each row of the bench promises, what it aims at, and what was measured last. The table of the README is made from it, and
 * rows have no other bounds.
 */

export interface Bound {
  /** What is measured, and beside what: its line in the README. */
  readonly work: string
  readonly kind: "at most" | "at least"
  /** Kept by every release: the command fails where it is not. Absent = a figure to be read beside others. */
  readonly promise?: number
  /** What would be better still; nothing fails without it. Absent = the promise is all there is to wish for. */
  readonly ambition?: number
  /** Behind the numbers: `x` = times the other side. */
  readonly unit: "x" | " ms" | " B" | " MB" | ""
  /** On two shared virtual cores, for each engine that `work` names; `*` = of a single round. */
  readonly measured: ReadonlyArray<string>
}

const most = { kind: "at most", unit: "x" } as const
const least = { kind: "at least", unit: "x" } as const

export const bounds = {
  step: {
    ...most,
    work: "step of the loop alone, against a bare Effect loop",
    promise: 4,
    ambition: 3,
    measured: ["3.9x (3.7x to 4.3x)"]
  },
  send: {
    ...most,
    work: "step through `send`, watched, runs of 10, against the same agent in JavaScript",
    promise: 15,
    ambition: 8,
    measured: ["6.5x (6.3x to 6.7x)"]
  },
  remembering: {
    ...most,
    work: "the same of an agent that remembers, against the same agent with such a memory",
    promise: 15,
    ambition: 8,
    measured: ["4.8x (4.6x to 5.1x)"]
  },
  remembered: {
    ...most,
    work: "that against the agent in JavaScript that remembers nothing",
    measured: ["19x (26 us)"]
  },
  sendShort: { ...most, work: "step through `send` in runs of 1", measured: ["20x"] },
  sendLong: { ...most, work: "step through `send` in runs of 100", measured: ["5.7x"] },
  sendFan: {
    ...most,
    work: "call among 100 in one turn, through `send`",
    promise: 12,
    ambition: 5,
    measured: ["3.9x (3.8x to 4.0x)"]
  },
  governed: {
    ...most,
    work: "a message with one call under a budget and a guard of every text, against one without",
    promise: 2.5,
    ambition: 1.15,
    measured: ["1.8x (120 us)"]
  },
  sendCrowd: {
    ...most,
    work: "1,000 runs of 10 steps at once through `send`, 5 ms model",
    promise: 4,
    ambition: 2,
    measured: ["2.8x (2.8x to 3.2x)"]
  },
  concurrent: {
    ...most,
    work: "1,000 runs of 10 steps at once, 5 ms model, the loop alone",
    promise: 2,
    ambition: 1.5,
    measured: ["1.6x *"]
  },
  lag: {
    ...most,
    work: "the same, event-loop lag",
    promise: 3,
    ambition: 2,
    measured: ["0.6x *"]
  },
  fan: {
    ...most,
    work: "one turn of 100 calls, each, the loop alone",
    promise: 4,
    ambition: 2,
    measured: ["3.3x (3.3x to 3.4x)"]
  },
  fanWide: {
    ...most,
    work: "one turn of 1,000 calls, each, the loop alone",
    promise: 4,
    measured: ["3.7x (3.6x to 3.9x)"]
  },
  history: {
    ...most,
    work: "step at history 1,000 against 10",
    promise: 1.3,
    ambition: 1.1,
    measured: ["1.2x"]
  },
  sendDurable: {
    ...least,
    work: "durable step through `send`, 64 runs of 10, against a hand-written group commit: PostgreSQL, PGlite",
    promise: 0.4,
    ambition: 0.7,
    measured: ["0.54x (0.51x to 0.55x)", "0.54x (0.49x to 0.58x)"]
  },
  sendBytes: {
    ...most,
    work: "bytes of log a step of the same, PostgreSQL",
    promise: 1.6,
    ambition: 1.3,
    measured: ["1.01x"]
  },
  http: {
    ...least,
    work: "HTTP messages a second, one call each, 64 conversations: PostgreSQL",
    promise: 0.4,
    ambition: 0.75,
    measured: ["0.49x (0.49x to 0.50x, 1,923)"]
  },
  httpPglite: {
    ...least,
    work: "the same on PGlite",
    promise: 0.3,
    ambition: 0.5,
    measured: ["0.46x (0.41x to 0.49x, 1,477)"]
  },
  durable: {
    ...least,
    work: "durable append alone, 64 runs, against a hand-written group commit: PostgreSQL, PGlite",
    promise: 0.5,
    ambition: 0.7,
    measured: ["0.64x to 0.68x", "0.64x to 0.66x"]
  },
  durableOne: {
    ...least,
    work: "durable append alone, 1 run, against one INSERT a step: PostgreSQL",
    promise: 0.6,
    ambition: 0.75,
    measured: ["0.81x to 0.88x"]
  },
  durableOnePglite: {
    ...least,
    work: "the same on PGlite",
    promise: 0.4,
    ambition: 0.75,
    measured: ["0.62x to 0.64x"]
  },
  bytes: {
    ...most,
    work: "bytes of log a step, both engines, history 10 and 1,000",
    promise: 1.5,
    ambition: 1.3,
    measured: ["1.15x"]
  },
  bytesFlat: {
    ...most,
    work: "the same at history 1,000 against 10",
    promise: 1.1,
    measured: ["0.95x (0.91x to 1.29x)"]
  },
  answers: {
    ...most,
    work: "1,000 answers after kill -9, its lease left, each to its end: PostgreSQL, PGlite",
    promise: 3,
    ambition: 1.5,
    measured: ["2.8x (2.5x to 3.1x, 0.6 s)", "1.7x (1.5x to 1.9x, 0.9 s)"]
  },
  resume: {
    ...most,
    work: "an entry of each of 1,000 runs that wait, after kill -9: PostgreSQL, PGlite",
    promise: 2,
    ambition: 1.5,
    measured: ["0.7x (0.2x to 1.3x)", "0.2x"]
  },
  recoveryFirst: {
    ...most,
    unit: " ms",
    work: "10,000 runs at work, after kill -9, PostgreSQL: the first turn",
    promise: 2_000,
    measured: ["600 ms *"]
  },
  recoveryLast: {
    ...most,
    unit: " ms",
    work: "the same, the last end",
    promise: 30_000,
    measured: ["2,600 ms *"]
  },
  recoveryBusy: {
    ...most,
    unit: " ms",
    work: "the same, CPU of the thread between two timers",
    promise: 200,
    measured: ["30 ms *"]
  },
  recoveryLag: { ...most, unit: " ms", work: "the same, a timer late", measured: ["38 ms *"] },
  recoveryOthers: {
    ...most,
    unit: " ms",
    work: "the same, the slowest message of others",
    promise: 2_000,
    measured: ["93 ms *"]
  },
  memoryHeap: {
    ...most,
    unit: " MB",
    work: "200 runs at once with 1.2 MB of results each, in a heap of 256 MB, the most of it: in memory, PGlite",
    promise: 256,
    measured: ["175 MB *", "250 MB *"]
  },
  memoryLeft: {
    ...most,
    unit: "",
    work: "the same, runs that are not complete",
    promise: 0,
    measured: ["0 *", "0 *"]
  },
  resident: {
    ...most,
    work: "RSS in the last tenth of 50,000 messages, against that in the first: in memory, PGlite, PostgreSQL",
    promise: 1.1,
    ambition: 1,
    measured: ["1.05x (372 MB) *", "1.00x (633 MB) *", "1.01x (353 MB) *"]
  },
  disk: {
    ...most,
    work: "tables and indexes after 100,000 runs of 10 steps, against the bytes of their events: PGlite, PostgreSQL",
    promise: 2,
    ambition: 1.5,
    measured: ["1.90x (802 MB) *", "1.90x *"]
  },
  diskShort: {
    ...most,
    work: "the same after 100,000 runs of 1 step",
    measured: ["3.2x (390 MB) *", "3.1x (387 MB) *"]
  },
  waiting: {
    ...most,
    unit: " B",
    work: "heap of a run through `send`, 2 s after its question: in memory, PGlite",
    promise: 4_000,
    ambition: 1_000,
    measured: ["3,400 B *", "500 B *"]
  },
  parked: {
    ...most,
    unit: " B",
    work: "a parked run of 100,000, evicted",
    promise: 400,
    ambition: 200,
    measured: ["192 B *"]
  },
  parkedResident: {
    ...most,
    unit: " B",
    work: "a parked run, resident",
    promise: 10_000,
    measured: ["4,700 B *"]
  },
  recall: {
    ...most,
    unit: " ms",
    work: "recall of memories, 100,000 rows of a workspace, PostgreSQL, 99th percentile",
    promise: 10,
    ambition: 5,
    measured: ["8 ms *"]
  },
  console: {
    ...most,
    unit: " ms",
    work: "a page of the console at 100,000 runs, 1,000,000 events and 10,000 questions, PostgreSQL, 99th percentile of the slowest",
    promise: 150,
    ambition: 50,
    measured: ["21 ms (94 ms beside much other work)"]
  },
  consoleRuns: {
    ...most,
    work: "the same, a page of runs, against its statement, median",
    promise: 10,
    ambition: 3,
    measured: ["4.9x (4.7x to 5.1x)"]
  },
  consoleInbox: {
    ...most,
    work: "the same, the inbox, against its statement, median",
    promise: 15,
    ambition: 3,
    measured: ["8.3x (8.1x to 8.6x)"]
  },
  followers: {
    ...most,
    work: "200 open consoles of 20 runs with 200 events a second, against as many event streams, CPU of the service: PostgreSQL",
    promise: 2.5,
    ambition: 1.3,
    measured: ["1.3x (1.2x to 1.4x)"]
  },
  followersHeap: {
    ...most,
    work: "the same, heap after 20 s, against before",
    promise: 1.5,
    measured: ["1.02x (1.02x to 1.03x)"]
  },
  wires: {
    ...most,
    work: "1,000 watched runs over a wire, against as many event streams, CPU of the service: UI messages; responses",
    promise: 1.5,
    measured: ["0.96x (0.83x to 1.1x)", "1.0x (1.0x to 1.0x)"]
  },
  resolve: {
    ...most,
    unit: " ms",
    work: "resolve of 100 configured tools; a catalogue of 1,000 operations",
    promise: 50,
    ambition: 20,
    measured: ["12 ms *", "7 ms *"]
  },
  resolveFirst: {
    ...most,
    unit: " ms",
    work: "the same, the first of a process",
    promise: 50,
    ambition: 20,
    measured: ["40 ms *", "18 ms *"]
  },
  body: {
    ...most,
    work: "body of a direct call, against a merge written by hand",
    promise: 2,
    ambition: 1.2,
    measured: ["1.4x *"]
  },
  import: {
    ...most,
    work: "import of `troupe/embed`, as it is built, against import of `effect`",
    promise: 1,
    ambition: 0.7,
    measured: ["0.6x *"]
  },
  leftNothing: {
    ...most,
    unit: "",
    work: "left of 100,000 runs, and of 10,000 steps: fibers, timers, listeners",
    promise: 0,
    measured: ["0 *"]
  },
  leftMaps: { ...most, unit: "", work: "the same, maps and sets", promise: 20, measured: ["0 *"] },
  leftOfRun: {
    ...most,
    unit: " B",
    work: "the same, heap of a run",
    promise: 20,
    measured: ["-8 B *"]
  },
  leftOfStep: {
    ...most,
    unit: " B",
    work: "the same, heap of a step",
    promise: 100,
    measured: ["49 B *"]
  }
} as const satisfies Readonly<Record<string, Bound>>

const number = (value: number): string => value.toLocaleString("en-US")

const shown = ({ kind, unit }: Bound, value: number | undefined): string =>
  value === undefined ? "" : `${kind === "at most" ? "<=" : ">="} ${number(value)}${unit}`

/** The number that a measured text begins with. */
const read = (text: string): number => parseFloat(text.replaceAll(",", ""))

const isWithin = ({ kind, measured }: Bound, most: number | undefined): boolean =>
  most !== undefined &&
  measured.length > 0 &&
  measured.map(read).every((value) => (kind === "at most" ? value <= most : value >= most))

/** The lines of the README's table, without its head: the last cell says what the figures keep. */
export const boundRows = (): ReadonlyArray<ReadonlyArray<string>> =>
  Object.values<Bound>(bounds).map((bound) => {
    const { ambition, measured, promise, work } = bound
    const isKept = isWithin(bound, promise)
    const kept = isWithin(bound, ambition) ? "both" : isKept ? "the promise" : ""
    return [work, measured.join(", "), shown(bound, promise), shown(bound, ambition), kept]
  })
