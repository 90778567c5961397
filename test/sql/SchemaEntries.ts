/** What a database has in the schema of the runtime, one text each, for comparisons. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Tables, columns, indexes, constraints, policies, views, triggers and functions. */
export const schemaEntries = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql.unsafe<{ readonly entry: string }>(
    `SELECT concat_ws(' ', c.relname, c.relkind, c.reloptions::text, c.relrowsecurity) AS entry FROM pg_class c
       JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'troupe' AND c.relkind IN ('r', 'S')
     UNION ALL SELECT concat_ws(' ', a.attrelid::regclass, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
         a.attidentity, a.attcollation::regcollation, pg_get_expr(d.adbin, d.adrelid))
       FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
         LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
       WHERE n.nspname = 'troupe' AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
     UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'troupe'
     UNION ALL SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(k.oid)) FROM pg_constraint k
       JOIN pg_namespace n ON n.oid = k.connamespace WHERE n.nspname = 'troupe'
     UNION ALL SELECT concat_ws(' ', tablename, policyname, permissive, roles, cmd, qual, with_check) FROM pg_policies WHERE schemaname = 'troupe'
     UNION ALL SELECT viewname || ' ' || definition FROM pg_views WHERE schemaname = 'troupe'
     UNION ALL SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
       JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'troupe' AND NOT t.tgisinternal
     UNION ALL SELECT pg_get_functiondef(p.oid) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'troupe'
     UNION ALL SELECT nspname FROM pg_namespace WHERE nspname ~ '^troupe'
     ORDER BY 1`
  )
  return rows.map(({ entry }) => entry)
})
