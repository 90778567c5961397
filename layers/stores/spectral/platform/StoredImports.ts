/**
 * Imports records in one transaction with the events that announce them, and counts records.
 */
import { Effect } from "effect"
import type { Outbox } from "../../../../services/Outbox.ts"
import type { Rows } from "../../../../services/Rows.ts"
import type { RecordCounter } from "../../../../services/spectral/platform/RecordCounter.ts"
import type { RecordImporter } from "../../../../services/spectral/platform/RecordImporter.ts"
import { readRecords } from "../../../../services/spectral/platform/RecordImporter.ts"
import { ChangeRefused } from "../../../../src/spectral/platform/contracts/RecordErrors.ts"
import type { SystemCard } from "../../../../src/spectral/platform/contracts/SystemCard.ts"
import { messageOf, unlinkedFailure } from "../../../../src/spectral/platform/PlatformRecords.ts"
import type { PlatformRecords } from "../../../../src/spectral/platform/PlatformRecords.ts"
import { sumOf } from "../../../../src/spectral/platform/RecordTools.ts"
import { canonical } from "../../../../src/value/Canonical.ts"
import type { Tenant } from "../../../../src/value/Ids.ts"
import { tableRows } from "../../TypedRows.ts"
import * as Tables from "./PlatformTables.ts"

type Driver = Rows["Service"]

/** Writes what is configured; what people decided of it stays as it is. */
const configured = Effect.fnUntraced(function* (
  driver: Driver,
  tenant: Tenant,
  { changesets, frameworks, workspace }: PlatformRecords
) {
  if (workspace !== undefined)
    yield* tableRows(driver, Tables.workspaces).add([{ tenant, workspace }])
  yield* tableRows(driver, Tables.frameworks).add(
    frameworks.map((framework) => ({ tenant, framework_id: framework.framework_id, framework }))
  )
  yield* tableRows(driver, Tables.changesets).add(
    changesets.map(({ changeset, state }) => {
      const { changeset_id, proposed_at } = changeset
      return { tenant, changeset_id, status: state.status, proposed_at, changeset, state }
    })
  )
})

/** A card that was published from a draft is people's: what is found does not write over it. */
const keepCards = Effect.fnUntraced(function* (
  driver: Driver,
  tenant: Tenant,
  cards: ReadonlyArray<SystemCard>
) {
  const rows = tableRows(driver, Tables.systems)
  yield* rows.add(
    cards.map((card) => ({
      tenant,
      system_id: card.system_id,
      card,
      revision: 1,
      published: false
    }))
  )
  // They are read after that: another import may have added the same card meanwhile.
  const of = ["in", cards.map(({ system_id }) => system_id)] as const
  const order = ["system_id"]
  const known = yield* rows.all({ where: { tenant, system_id: of }, order, lock: "wait" })
  const before = new Map(known.map((row) => [row.system_id, row]))
  for (const card of cards) {
    const { system_id } = card
    const row = before.get(system_id)
    if (row === undefined || row.published || canonical(row.card) === canonical(card)) continue
    yield* rows.set({ where: { tenant, system_id } }, { card, revision: row.revision + 1 })
  }
})

/** Writes what an evaluation found. */
const found = Effect.fnUntraced(function* (
  driver: Driver,
  tenant: Tenant,
  { clusters, errors, failures, scans }: PlatformRecords
) {
  yield* tableRows(driver, Tables.scans).add(
    scans.map((record) => {
      const { scan_id, started_at, status } = record.scan
      return { tenant, scan_id, status, started_at, record }
    }),
    ["status", "started_at", "record"]
  )
  yield* tableRows(driver, Tables.clusters).add(
    clusters.map((cluster) => {
      const { cluster_id, last_seen_at, severity } = cluster
      const triage = { status: "new" } as const
      return { tenant, cluster_id, severity, last_seen_at, cluster, status: triage.status, triage }
    }),
    ["severity", "last_seen_at", "cluster"]
  )
  yield* tableRows(driver, Tables.failures).add(
    failures.map((failure) => {
      const { cluster_id, failure_id, occurred_at } = failure
      return { tenant, failure_id, cluster_id, occurred_at, failure }
    })
  )
  yield* tableRows(driver, Tables.errors).add(
    errors.map((error) => {
      const { at, error_id, scan_id, source } = error
      return { tenant, error_id, at, source, scan_id, error }
    })
  )
})

export const importer = (driver: Driver, outbox: Outbox["Service"]): RecordImporter["Service"] => {
  const clusters = tableRows(driver, Tables.clusterIds)
  const write = Effect.fnUntraced(function* (tenant: Tenant, records: PlatformRecords) {
    const named = [...new Set(records.failures.map(({ cluster_id }) => cluster_id))]
    const rows = yield* clusters.all({ where: { tenant, cluster_id: ["in", named] } })
    const known = new Set(rows.map(({ cluster_id }) => cluster_id))
    const unlinked = unlinkedFailure(records, (id) => known.has(id))
    if (unlinked !== undefined) return yield* new ChangeRefused({ message: unlinked })
    yield* configured(driver, tenant, records)
    yield* keepCards(driver, tenant, records.systems)
    yield* found(driver, tenant, records)
    return yield* outbox.enqueue(records.events.map((event) => messageOf(tenant, event)))
  }, driver.transaction)
  return {
    record: (tenant, given) =>
      Effect.asVoid(Effect.flatMap(readRecords(given), (records) => write(tenant, records)))
  }
}

export const counter = (driver: Driver): RecordCounter["Service"] => ({
  counts: Effect.fnUntraced(function* (tenant) {
    const query = { where: { tenant } }
    const scans = yield* tableRows(driver, Tables.scans).counts(query, ["status"])
    const changesets = yield* tableRows(driver, Tables.changesets).counts(query, ["status"])
    const drafts = yield* tableRows(driver, Tables.drafts).counts(query, ["status"])
    const clusters = yield* tableRows(driver, Tables.clusters).counts(query, ["status", "severity"])
    return sumOf([
      ...scans.map((row) => ({ kind: "scan" as const, ...row })),
      ...changesets.map((row) => ({ kind: "changeset" as const, ...row })),
      ...drafts.map((row) => ({ kind: "draft" as const, ...row })),
      ...clusters.map((row) => ({ kind: "cluster" as const, ...row }))
    ])
  })
})
