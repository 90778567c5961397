/** What a database brings, loaded once it is used: the stores over it, and what looks at it. */
export * as ServerChecks from "../../sql/examination/ServerChecks.ts"
export * as SqlStores from "../../sql/stores/SqlStores.ts"
