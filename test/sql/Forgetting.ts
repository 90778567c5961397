/**
 * Statements that have lost their comparisons of tenants, as whoever writes the next one may forget them: what keeps tenants apart
 * then is row security alone.
 */
import { assert } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { SqlClient, Statement } from "effect/sql"
import type { Tenant } from "../../src/value/Ids.ts"

/** `t.tenant = $1::text`, also as the index of conversations has it. */
const comparison = /(?:\b\w+\.)?tenant(?: \|\| '')? = (\$\d+)(?:::text)?/g

/** The statement without them. */
export const comparingNone = (text: string): string =>
  text.replaceAll(comparison, "$1::text IS NOT NULL")

/** Runs the effect so that its statements compare no tenant. */
export const forgetfully = Effect.provideService(Statement.CurrentTransformer, (statement, sql) =>
  Effect.sync(() => {
    const [text, params] = statement.compile()
    return sql.unsafe(comparingNone(text), params)
  })
)

const ofTables = (change: "ENABLE" | "DISABLE") =>
  SqlClient.SqlClient.use((sql) =>
    sql.unsafe(`DO $$ DECLARE t text; BEGIN
      FOR t IN SELECT c.relname FROM pg_class c JOIN pg_policies p ON p.schemaname = 'troupe' AND p.tablename = c.relname
        WHERE c.relnamespace = 'troupe'::regnamespace LOOP
        EXECUTE format('ALTER TABLE troupe.%I ${change} ROW LEVEL SECURITY', t);
      END LOOP; END $$`)
  )

/** Runs the effect while no table has row security. */
export const withoutRowSecurity = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    ofTables("DISABLE"),
    () => effect,
    () => Effect.orDie(ofTables("ENABLE"))
  )

/** Whether there is something: undefined, an empty list and a failure are nothing. */
const isFound = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isSuccess(exit) &&
  exit.value !== undefined &&
  !(Array.isArray(exit.value) && exit.value.length === 0)

/** Asserts that each read, which compares no tenants, finds what is its tenant's, and of the other one only without row security. */
export const keptApart = Effect.fnUntraced(function* <R>(
  reads: Readonly<Record<string, (tenant: Tenant) => Effect.Effect<unknown, unknown, R>>>,
  { other, tenant }: { readonly tenant: Tenant; readonly other: Tenant }
) {
  for (const [name, read] of Object.entries(reads)) {
    const found = (reader: Tenant) => Effect.map(Effect.exit(forgetfully(read(reader))), isFound)
    assert.isFalse(yield* found(other), name)
    assert.isTrue(yield* found(tenant), name)
    assert.isTrue(yield* withoutRowSecurity(found(other)), name)
  }
})
