/** Rows of tables: what a query finds, what is written and undone, on every driver alike. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Cell, Row, RowQuery, Table } from "../../services/Rows.ts"
import { Rows } from "../../services/Rows.ts"
import * as Samples from "./Samples.ts"

const table: Table = {
  name: "platform_errors",
  key: ["tenant", "error_id"],
  columns: {
    tenant: "text",
    error_id: "text",
    at: "int8",
    source: "int2",
    scan_id: "text",
    error: "text"
  },
  group: ["tenant", "source"]
}

const rowOf = (tenant: string, error_id: string, at: number, scan_id: Cell = null): Row => ({
  tenant,
  error_id,
  at,
  source: at % 2,
  scan_id,
  error: `"${error_id}"`
})

/** Four rows of a new tenant, of which two have the same time, and one of another with the same key. */
const filled = Effect.gen(function* () {
  const rows = yield* Rows
  const [tenant, other] = [Samples.tenant(), Samples.tenant()]
  const all = [rowOf(tenant, "b", 1), rowOf(tenant, "a", 1, "s"), rowOf(tenant, "d", 3, "t")]
  assert.strictEqual(yield* rows.add(table, [...all, rowOf(tenant, "c", 2)], []), 4)
  yield* rows.add(table, [rowOf(other, "a", 9)], [])
  const ids = (query: Partial<RowQuery>) =>
    Effect.map(
      rows.list(table, { order: ["at", "error_id"], ...query, where: { tenant, ...query.where } }),
      (found) => found.map((row) => row["error_id"]).join("")
    )
  return { ids, rows, tenant, other }
})

const readTests = (it: Vitest.MethodsNonLive<Rows>): void => {
  it.effect("a query gives the rows that pass its tests, in its order", () =>
    Effect.gen(function* () {
      const { ids } = yield* filled
      assert.strictEqual(yield* ids({}), "abcd")
      assert.strictEqual(yield* ids({ descends: true }), "dcba")
      assert.strictEqual(yield* ids({ order: ["-at", "error_id"] }), "dcab")
      assert.strictEqual(yield* ids({ where: { at: ["<", 2] } }), "ab")
      assert.strictEqual(yield* ids({ where: { at: [">=", 2], source: 0 } }), "c")
      assert.strictEqual(yield* ids({ where: { error_id: [">", "b"] } }), "cd")
      assert.strictEqual(yield* ids({ where: { error_id: ["in", ["d", "a", "x"]] } }), "ad")
      assert.strictEqual(yield* ids({ where: { scan_id: null } }), "bc")
      assert.strictEqual(yield* ids({ where: { scan_id: ["not", null] } }), "ad")
      assert.strictEqual(yield* ids({ where: { scan_id: [">", "s"], at: undefined } }), "d")
      assert.strictEqual(yield* ids({ or: [{ at: 3 }, { scan_id: "s" }] }), "ad")
      assert.strictEqual(yield* ids({ or: [] }), "")
    })
  )

  it.effect("a page begins behind a row, of which there must be one", () =>
    Effect.gen(function* () {
      const { ids, other, tenant } = yield* filled
      const behind = (error_id: string, query: Partial<RowQuery> = {}) =>
        ids({ after: { tenant, error_id }, ...query })
      assert.strictEqual(yield* behind("a"), "bcd")
      assert.strictEqual(yield* behind("b", { limit: 1 }), "c")
      assert.strictEqual(yield* behind("b", { descends: true }), "a")
      assert.strictEqual(yield* behind("d", { order: ["-at", "error_id"], skip: 1 }), "ab")
      assert.strictEqual(yield* behind("x"), "")
      assert.strictEqual(yield* ids({ after: { tenant: other, error_id: "d" } }), "")
      assert.strictEqual(yield* ids({ skip: 1, limit: 2 }), "bc")
      assert.strictEqual(yield* ids({ limit: 0 }), "")
    })
  )

  it.effect("rows are counted by their cells", () =>
    Effect.gen(function* () {
      const { rows, tenant } = yield* filled
      const counted = yield* rows.count(table, { where: { tenant } }, ["source"])
      assert.sameDeepMembers(
        counted.map(({ count, source }) => [source, count]),
        [
          [1, 3],
          [0, 1]
        ]
      )
      const times = yield* rows.count(table, { where: { tenant } }, ["at"])
      assert.sameDeepMembers(
        times.map(({ at, count }) => [at, count]),
        [
          [1, 2],
          [2, 1],
          [3, 1]
        ]
      )
      const some = { where: { tenant, at: [">", 1] as const } }
      assert.deepEqual(yield* rows.count(table, some, []), [{ count: 2 }])
      assert.deepEqual(yield* rows.count(table, { where: { tenant }, limit: 3 }, []), [
        { count: 3 }
      ])
      assert.deepEqual(yield* rows.count(table, { where: { tenant: "nobody" } }, []), [
        { count: 0 }
      ])
    })
  )
}

const writeTests = (it: Vitest.MethodsNonLive<Rows>): void => {
  it.effect("a row that is there stays, but for the columns that follow", () =>
    Effect.gen(function* () {
      const { rows, tenant } = yield* filled
      const next = { ...rowOf(tenant, "a", 7), error: "2" }
      const where = { tenant, error_id: "a" }
      const added = yield* rows.add(table, [next, rowOf(tenant, "e", 5)], [])
      assert.strictEqual(added, 1)
      assert.deepEqual(yield* rows.list(table, { where }), [rowOf(tenant, "a", 1, "s")])
      assert.strictEqual(yield* rows.add(table, [next], ["at", "error"]), 1)
      const followed = { ...rowOf(tenant, "a", 1, "s"), at: 7, error: "2" }
      assert.deepEqual(yield* rows.list(table, { where }), [followed])
      assert.strictEqual(yield* rows.add(table, [], []), 0)
    })
  )

  it.effect("cells are changed, and rows removed, where a query says", () =>
    Effect.gen(function* () {
      const { ids, other, rows, tenant } = yield* filled
      const early = { where: { tenant }, or: [{ at: 2 }, { scan_id: "s" }] }
      assert.strictEqual(yield* rows.set(table, early, { scan_id: null, at: 8 }), 2)
      assert.strictEqual(yield* ids({ where: { at: 8, scan_id: null } }), "ac")
      assert.strictEqual(yield* rows.set(table, { where: { tenant, at: 77 } }, { at: 1 }), 0)
      // Also into another group.
      assert.strictEqual(yield* rows.set(table, { where: { tenant, source: 0 } }, { source: 1 }), 1)
      assert.strictEqual(yield* ids({ where: { source: 0 } }), "")
      assert.strictEqual(yield* ids({ where: { source: 1 } }), "bdac")
      const newest = { where: { tenant }, order: ["error_id"], descends: true, limit: 1 }
      assert.strictEqual(yield* rows.set(table, newest, { scan_id: "newest" }), 1)
      assert.strictEqual(yield* ids({ where: { scan_id: "newest" } }), "d")
      const oldest = { where: { tenant }, order: ["at", "error_id"], limit: 2 }
      assert.strictEqual(yield* rows.remove(table, oldest), 2)
      assert.strictEqual(yield* ids({}), "ac")
      const rest = { where: { tenant }, order: ["at", "error_id"], descends: true, skip: 1 }
      assert.strictEqual(yield* rows.remove(table, rest), 1)
      assert.strictEqual(yield* ids({}), "c")
      assert.strictEqual(yield* rows.remove(table, { where: { tenant } }), 1)
      assert.lengthOf(yield* rows.list(table, { where: { tenant: other } }), 1)
    })
  )

  it.effect("nothing stays of a transaction that fails, and what was before it does", () =>
    Effect.gen(function* () {
      const { ids, rows, tenant } = yield* filled
      const change = Effect.gen(function* () {
        yield* rows.alone(`rows ${tenant}`)
        yield* rows.add(table, [rowOf(tenant, "e", 5)], [])
        yield* rows.set(table, { where: { tenant, error_id: "a" } }, { at: 9, source: 0 })
        yield* rows.remove(table, { where: { tenant, error_id: ["in", ["b", "e"]] } })
        const locked = { where: { tenant, error_id: "a" }, lock: "wait" } as const
        assert.lengthOf(yield* rows.list(table, locked), 1)
        assert.include(yield* ids({}), "a")
        assert.notInclude(yield* ids({}), "e")
      })
      const failing = rows.transaction(Effect.andThen(change, Effect.fail("no" as const)))
      assert.strictEqual(yield* Effect.flip(failing), "no")
      assert.strictEqual(yield* ids({}), "abcd")
      assert.strictEqual(yield* ids({ where: { source: 0 } }), "c")
      // A part that fails goes alone; a whole that fails takes its parts along.
      const caught = rows.transaction(
        Effect.andThen(
          rows.remove(table, { where: { tenant, error_id: "d" } }),
          Effect.ignore(failing)
        )
      )
      yield* caught
      assert.strictEqual(yield* ids({}), "abc")
      const part = rows.transaction(rows.remove(table, { where: { tenant } }))
      yield* Effect.flip(rows.transaction(Effect.andThen(part, Effect.fail("no" as const))))
      assert.strictEqual(yield* ids({}), "abc")
    })
  )
}

export const rowsTests = (it: Vitest.MethodsNonLive<Rows>): void => {
  readTests(it)
  writeTests(it)
}
