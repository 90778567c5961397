/**
 * Six weeks of a made-up workspace: daily scans of three systems, some thousand failures in clusters, what was changed and what went
 * wrong. The same for the same seed and day, on every machine. `test/calls/host` is something else: a host platform whose
 * endpoints agents call directly.
 */
import { Schema } from "effect"
import { PlatformRecords } from "../../src/spectral/platform/PlatformRecords.ts"
import { randomFrom } from "./SeededRandom.ts"
import outlines from "./outlines.json" with { type: "json" }

const day_ms = 86_400_000
const days = 42
/** Days between two changes of a system. */
const cycle_days = 14

/**
 * A system: what it is for, by what it is judged, and in which ways it fails. At the end of each cycle something is changed.
 */
type Outline = (typeof outlines)["systems"][number]
/**
 * One failure cluster. `rate` is how many of 100 evaluated traces fail so at the beginning; `relief` by how much each change makes
 * it rarer, 0 to 1, and below 0 more frequent. A `#` of the excerpt is a number.
 */
type Weakness = Outline["weaknesses"][number]

type Encoded = typeof PlatformRecords.Encoded
type Mutable<A> = {
  -readonly [K in keyof A]: A[K] extends ReadonlyArray<infer I> ? Array<I> : A[K]
}

interface Making {
  readonly random: () => number
  /** Midnight of the first day. */
  readonly from: number
  readonly records: Mutable<Required<Encoded>>
}

const between = ({ random }: Making, least: number, most: number): number =>
  least + Math.floor(random() * (most - least + 1))

const hexOf = ({ random }: Making, digits: number): string =>
  Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join("")

const dateOf = (at: number): string => new Date(at).toISOString().slice(0, 10).replaceAll("-", "")

const round = (share: number): number => Math.round(share * 1_000) / 1_000

const clusterId = ({ system }: Outline, { id }: Weakness): string => `${system}-${id}`

/** How many traces of a scan fail in this way: what the rate says, more or less. */
const failuresOf = (making: Making, weakness: Weakness, traces: number, cycle: number): number => {
  const rate = (weakness.rate / 100) * (1 - weakness.relief) ** cycle
  return Math.round(rate * traces * (0.5 + making.random()))
}

interface Found {
  readonly weakness: Weakness
  readonly count: number
}

const addFailures = (
  making: Making,
  outline: Outline,
  scan_id: string,
  at: number,
  found: ReadonlyArray<Found>
): void => {
  for (const { count, weakness } of found) {
    for (let n = 0; n < count; n++) {
      making.records.failures.push({
        failure_id: `failure-${making.records.failures.length + 1}`,
        cluster_id: clusterId(outline, weakness),
        scan_id,
        trace_id: hexOf(making, 32),
        occurred_at: at - between(making, 0, day_ms),
        score: round(making.random() * 0.5),
        excerpt: weakness.excerpt.replaceAll("#", () => String(between(making, 41, 98_765)))
      })
    }
  }
}

type ScanRecord = Encoded["scans"][number]

const scoresOf = (
  { rubrics }: Outline,
  traces: number,
  found: ReadonlyArray<Found>
): ScanRecord["scores"] =>
  rubrics.map(({ id: rubric_id, threshold }) => {
    const missed = found
      .filter(({ weakness }) => weakness.rubric === rubric_id)
      .reduce((total, { count }) => total + count, 0)
    return { rubric_id, threshold, score: round(1 - missed / traces), samples: traces }
  })

const verdictOf = (
  scan_id: string,
  scores: ScanRecord["scores"],
  issued_at: number
): NonNullable<ScanRecord["verdict"]> => {
  const missed = scores.filter(({ score, threshold }) => score < threshold)
  const isFar = missed.some(({ score, threshold }) => score < threshold - 0.015)
  const names = missed.map(({ rubric_id, score }) => `${rubric_id} (${score})`).join(", ")
  return {
    verdict_id: `verdict-${scan_id}`,
    outcome: missed.length === 0 ? "pass" : isFar ? "fail" : "warn",
    summary:
      missed.length === 0 ? "Every rubric is at its threshold or above it." : `Too low: ${names}.`,
    issued_at
  }
}

/** Why a scan fails, and the error that comes with it. */
const breakdowns = [
  [
    "ingestion_stopped",
    "Traces were refused while the scan ran.",
    "ingestion",
    "credential_refused",
    "The ingestion key was refused."
  ],
  [
    "evaluator_timeout",
    "The evaluation of 60 traces took too long.",
    "evaluation",
    "evaluator_timeout",
    "No answer of the evaluating model within 120 s."
  ],
  ["no_traces", "No trace came in the last day.", "ingestion", "silence", "No trace for 24 hours."]
] as const

const addBreakdown = (making: Making, scan: ScanRecord["scan"]): void => {
  const [code, message, source, errorCode, errorText] =
    breakdowns[between(making, 0, 2)] ?? breakdowns[0]
  const { errors, scans } = making.records
  scans.push({
    scan: { ...scan, status: "failed", traces: 0, failure: { code, message } },
    scores: []
  })
  errors.push({
    error_id: `error-${errors.length + 1}`,
    at: scan.started_at + 30_000,
    source,
    code: errorCode,
    message: errorText,
    count: between(making, 1, 40),
    scan_id: scan.scan_id
  })
}

/** One day of one system. */
const addScan = (making: Making, outline: Outline, day: number): void => {
  const at = making.from + day * day_ms + between(making, 3_600_000, 7_200_000)
  const cycle = Math.floor(day / cycle_days)
  const scan_id = `${outline.system}-${dateOf(at)}`
  const scan = {
    scan_id,
    cycle_id: `${outline.system}-cycle-${cycle + 1}`,
    system_id: outline.system,
    framework_id: outline.framework,
    framework_version: 1,
    trigger: day % cycle_days === 0 ? ("deployment" as const) : ("schedule" as const),
    status: "completed" as const,
    started_at: at,
    ended_at: at + between(making, 120_000, 900_000),
    traces: between(making, 380, 520),
    failures: 0
  }
  if (making.random() < 0.04) return addBreakdown(making, scan)
  const found = outline.weaknesses.map((weakness) => ({
    weakness,
    count: failuresOf(making, weakness, scan.traces, cycle)
  }))
  const failures = found.reduce((total, { count }) => total + count, 0)
  const scores = scoresOf(outline, scan.traces, found)
  addFailures(making, outline, scan_id, at, found)
  making.records.scans.push({
    scan: { ...scan, failures },
    verdict: verdictOf(scan_id, scores, scan.ended_at + 60_000),
    scores
  })
}

/** The clusters of a system, as its last failures show them. */
const addClusters = ({ records }: Making, outline: Outline): void => {
  const scans = new Map(records.scans.map(({ scan }) => [scan.scan_id, scan]))
  for (const weakness of outline.weaknesses) {
    const cluster_id = clusterId(outline, weakness)
    const own = records.failures.filter((failure) => failure.cluster_id === cluster_id)
    const last = own.at(-1)
    const scan = last === undefined ? undefined : scans.get(last.scan_id)
    if (last === undefined || scan === undefined) continue
    const moments = own.map(({ occurred_at }) => occurred_at)
    const failures = own.filter(({ scan_id }) => scan_id === scan.scan_id).length
    records.clusters.push({
      cluster_id,
      system_id: outline.system,
      rubric_id: weakness.rubric,
      severity: weakness.severity as Encoded["clusters"][number]["severity"],
      title: weakness.title,
      first_seen_at: Math.min(...moments),
      last_seen_at: Math.max(...moments),
      snapshot: {
        taken_at: scan.ended_at ?? scan.started_at,
        scan_id: scan.scan_id,
        failures,
        share: round(failures / scan.failures),
        terms: weakness.terms,
        example: last.excerpt
      }
    })
  }
}

/** A change at the end of each cycle: those of cycles that are over were applied, of the last two one waits for its review. */
const addChanges = ({ from, records }: Making, outline: Outline): void => {
  for (const [n, { after, before, setting, title }] of outline.changes.entries()) {
    const proposed_at = from + ((n + 1) * cycle_days - 2) * day_ms
    const last = records.scans.findLast(
      ({ scan }) =>
        scan.system_id === outline.system &&
        scan.started_at < proposed_at &&
        scan.status === "completed"
    )
    if (last === undefined) continue
    const isOpen = n === outline.changes.length - 1
    const reviewed = { by: "reviewer", at: proposed_at + 3_600_000, note: "" }
    records.changesets.push({
      changeset: {
        changeset_id: `${outline.system}-change-${n + 1}`,
        scan_id: last.scan.scan_id,
        cycle_id: last.scan.cycle_id,
        system_id: outline.system,
        title,
        rationale: `${last.verdict?.summary ?? ""} The largest cluster of the cycle asks for it.`,
        risk: n === 0 ? "low" : "medium",
        changes: [{ setting, before, after }],
        proposed_at
      },
      state: isOpen
        ? outline.system === "support-bot"
          ? { status: "approved", reviewed }
          : { status: "proposed" }
        : { status: "applied", reviewed, applied: { by: "reviewer", at: proposed_at + day_ms } }
    })
  }
}

const addSystem = ({ from, records }: Making, outline: Outline): void => {
  records.systems.push({
    system_id: outline.system,
    name: outline.name,
    purpose: outline.purpose,
    owner: outline.owner,
    framework_id: outline.framework,
    parts: outline.parts,
    limits: outline.limits,
    updated_at: from
  })
  records.frameworks.push({
    framework_id: outline.framework,
    name: `${outline.name}: framework`,
    version: 1,
    world_id: outline.world,
    rubrics: outline.rubrics.map(({ criterion, id, threshold }) => ({
      rubric_id: id,
      name: id,
      description: `Whether ${outline.name} fulfils: ${criterion}`,
      criteria: [criterion],
      threshold,
      enabled: true
    })),
    revisions: [
      {
        version: 1,
        at: from,
        by: "framework-owner",
        reason: "The first version, for the first scan.",
        sources: [`the world ${outline.world}, version 1`]
      }
    ]
  })
}

const read = Schema.decodeUnknownSync(PlatformRecords)

/** Records up to the day of `until` (ms since 1970), the same for every moment of that day (UTC). */
export const sampleRecords = (seed: number, until: number): PlatformRecords => {
  const from = Math.floor(until / day_ms) * day_ms - days * day_ms
  const making: Making = {
    random: randomFrom(seed),
    from,
    records: {
      workspace: {
        name: "Example Bank",
        onboarding: {
          workspace_created: from - 3 * day_ms,
          traces_received: from - 2 * day_ms,
          framework_chosen: from - day_ms,
          system_card_written: from,
          first_scan_completed: from + 7_200_000
        },
        traces_url: "https://ingest.spectral.example/v1/traces",
        last_trace_at: from + days * day_ms,
        version: 1,
        configuration: {
          autonomy_mode: "propose",
          scan_schedule: "daily",
          sample_share: 0.25
        }
      },
      frameworks: [],
      systems: [],
      scans: [],
      changesets: [],
      clusters: [],
      failures: [],
      errors: [],
      events: []
    }
  }
  for (const outline of outlines.systems) addSystem(making, outline)
  for (let day = 0; day < days; day++) {
    for (const outline of outlines.systems) addScan(making, outline, day)
  }
  for (const outline of outlines.systems) {
    addClusters(making, outline)
    addChanges(making, outline)
  }
  return read(making.records)
}
