/**
 * The maps that the ephemeral implementations of the platform's ports share: one set for each workspace.
 */
import { Context, Effect, Layer } from "effect"
import { record_page_max } from "../../../../services/spectral/platform/contracts/RecordPage.ts"
import type { RecordPage } from "../../../../services/spectral/platform/contracts/RecordPage.ts"
import type { Tenant } from "../../../../src/value/Ids.ts"
import type { ChangesetRecord } from "../../../../src/spectral/platform/contracts/Changeset.ts"
import type {
  ClusterRecord,
  LinkedFailure
} from "../../../../src/spectral/platform/contracts/FailureCluster.ts"
import { RecordNotFound } from "../../../../src/spectral/platform/contracts/RecordErrors.ts"
import type { ScanRecord } from "../../../../src/spectral/platform/contracts/Scan.ts"
import type { Draft } from "../../../../src/spectral/platform/contracts/Draft.ts"
import type { Framework } from "../../../../src/spectral/platform/Framework.ts"
import type { SystemCard } from "../../../../src/spectral/platform/contracts/SystemCard.ts"
import type { Workspace, WorkspaceError } from "../../../../src/spectral/platform/Workspace.ts"
import type { WorldVersionPublished } from "../../../../src/spectral/worlds/contracts/WorldVersionPublished.ts"

/** A card with its revision. A card that people `published` from a draft is not overwritten by an imported one. */
interface KnownCard {
  readonly card: SystemCard
  readonly revision: number
  readonly published: boolean
}

/** The records of one workspace, by their ids. */
export interface WorkspaceMaps {
  workspace: Workspace | undefined
  readonly frameworks: Map<string, Framework>
  readonly systems: Map<string, KnownCard>
  readonly scans: Map<string, ScanRecord>
  readonly changesets: Map<string, ChangesetRecord>
  readonly clusters: Map<string, ClusterRecord>
  readonly failures: Map<string, LinkedFailure>
  readonly errors: Map<string, WorkspaceError>
  readonly worlds: Map<string, WorldVersionPublished>
  readonly drafts: Map<string, Draft>
}

const emptyMaps = (): WorkspaceMaps => ({
  workspace: undefined,
  frameworks: new Map(),
  systems: new Map(),
  scans: new Map(),
  changesets: new Map(),
  clusters: new Map(),
  failures: new Map(),
  errors: new Map(),
  worlds: new Map(),
  drafts: new Map()
})

export class PlatformMaps extends Context.Service<
  PlatformMaps,
  {
    /** The maps of the tenant, for writing; they are created if necessary. */
    readonly getOrCreate: (tenant: Tenant) => WorkspaceMaps
    /** The maps of the tenant, for reading. Where it has none, the maps are empty and are not kept. */
    readonly of: (tenant: Tenant) => WorkspaceMaps
  }
>()("troupe/layers/ephemeral/PlatformMaps") {}

export const layer: Layer.Layer<PlatformMaps> = Layer.sync(PlatformMaps, () => {
  const all = new Map<Tenant, WorkspaceMaps>()
  return {
    getOrCreate: (tenant) => {
      let maps = all.get(tenant)
      if (maps === undefined) all.set(tenant, (maps = emptyMaps()))
      return maps
    },
    of: (tenant) => all.get(tenant) ?? emptyMaps()
  }
})

type Kind = RecordNotFound["kind"]

export const orNotFound = <A>(
  record: A | undefined,
  kind: Kind,
  id: string
): Effect.Effect<A, RecordNotFound> =>
  record === undefined
    ? Effect.fail(new RecordNotFound({ kind, id: id.slice(0, 200) }))
    : Effect.succeed(record)

/** A record's place in its list: numbers ascending, then the id, ascending unless `descends`. */
export interface Place {
  readonly numbers: ReadonlyArray<number>
  readonly id: string
  readonly descends: boolean
}

const compare = (a: Place, b: Place): number => {
  for (const [i, number] of a.numbers.entries()) {
    const difference = number - (b.numbers[i] ?? 0)
    if (difference !== 0) return difference
  }
  if (a.id === b.id) return 0
  return a.id < b.id === a.descends ? 1 : -1
}

/** A page of the matching records after the record `after`; empty if that record is unknown. */
export const pageOf = <A>(
  records: ReadonlyMap<string, A>,
  { after, limit }: RecordPage,
  placeOf: (record: A) => Place,
  matches: (record: A) => boolean
): ReadonlyArray<A> => {
  const last = after === undefined ? undefined : records.get(after)
  if (after !== undefined && last === undefined) return []
  const from = last === undefined ? undefined : placeOf(last)
  return [...records.values()]
    .filter(
      (record) => matches(record) && (from === undefined || compare(placeOf(record), from) > 0)
    )
    .toSorted((a, b) => compare(placeOf(a), placeOf(b)))
    .slice(0, Math.min(Math.max(limit, 0), record_page_max))
}
