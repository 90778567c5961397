/** The tables of the reference application. */
import type { Table } from "../../../services/Rows.ts"
import * as FeatureTables from "../engine/FeatureTables.ts"
import { statements as platform } from "./migrations/0001_platform.ts"
import { statements as worlds } from "./migrations/0001_worlds.ts"

/** Makes these tables, which are all that the migrations make. */
export const layerOf = (tables: ReadonlyArray<Pick<Table, "erased" | "name">>) =>
  FeatureTables.layer({
    feature: "spectral",
    migrations: { "0001_spectral": [...worlds, ...platform] },
    tables: FeatureTables.erasedIn(tables)
  })
