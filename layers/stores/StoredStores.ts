/**
 * All stores that are written once, over the rows of one driver.
 */
import { Layer } from "effect"
import type { AccessTokens } from "../../services/AccessTokens.ts"
import type { McpPins } from "../../services/McpPins.ts"
import type { Rows } from "../../services/Rows.ts"
import * as StoredAccessTokens from "./StoredAccessTokens.ts"
import * as StoredMcpPins from "./StoredMcpPins.ts"

export const layer: Layer.Layer<AccessTokens | McpPins, never, Rows> = Layer.mergeAll(
  StoredAccessTokens.layer,
  StoredMcpPins.layer
)
