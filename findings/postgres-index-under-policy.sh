#!/usr/bin/env bash
# An index on a column of an enum or of numeric under row level security, in PostgreSQL 18.6 (PGlite 0.5.16).
# One would guess that the type of an indexed column does not matter: the planner finds a rare value by the index, and then
# checks the policy on the rows found.
# Seen: so it is for text, int and uuid. For an enum and for numeric the whole table is read, without a warning, by those whom
# the policy binds; the owner, who tries the statement by hand, sees the index used. A condition may go before a policy only if
# its function is marked leakproof. Those of text and int are; enum_eq and numeric_eq are not. A column of text with a check
# constraint in place of the enum keeps its index.
# Source: src/include/catalog/pg_proc.dat of PostgreSQL (enum_eq, numeric_eq: no proleakproof) and
# restriction_is_securely_promotable of src/backend/optimizer/util/restrictinfo.c. The docs explain leakproof, and list no types.
# Output, 2026-11-29:
#   word = 'waiting'  owner: Index Scan  under the policy: Index Scan
#   n = 7             owner: Index Scan  under the policy: Index Scan
#   state = 'waiting' owner: Index Scan  under the policy: Seq Scan
#   price = 7         owner: Index Scan  under the policy: Seq Scan
#   guess: Index Scan, each time
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(@electric-sql/pglite@0.5.16)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { PGlite } from "@electric-sql/pglite"

const db = await PGlite.create()
await db.exec(`create type state as enum ('waiting', 'done');
  create table task (tenant text, state state, word text, n int, price numeric);
  insert into task
    select 't' || i % 3, w::state, w, i, i
    from generate_series(1, 30000) i, lateral (select case when i % 10000 = 0 then 'waiting' else 'done' end) as words(w);
  create index on task (state);
  create index on task (word);
  create index on task (n);
  create index on task (price);
  analyze task;
  alter table task enable row level security;
  create policy own on task using (tenant = current_setting('app.tenant'));
  create role app;
  grant select on task to app;
  set app.tenant = 't1'`)
const scan = async (role, condition) => {
  await db.exec(`set role ${role}`)
  const { rows } = await db.query(`explain (format json) select * from task where ${condition}`)
  return rows[0]["QUERY PLAN"][0].Plan["Node Type"]
}
const seen = []
for (const condition of ["word = 'waiting'", "n = 7", "state = 'waiting'", "price = 7"]) {
  const owner = await scan("postgres", condition)
  const bound = await scan("app", condition)
  console.log(`${condition.padEnd(17)} owner: ${owner}  under the policy: ${bound}`)
  seen.push(owner, bound)
}
await db.close()

console.log("guess: Index Scan, each time")
const index = "Index Scan"
if (seen.join() !== [index, index, index, index, index, "Seq Scan", index, "Seq Scan"].join()) {
  console.error("No longer so: an enum and numeric keep their index under a policy, or another type loses it.")
  process.exit(1)
}
END
node look.mjs
