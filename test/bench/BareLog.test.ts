import { assert, describe, it } from "@effect/vitest"

// Read by every module of the bench when it is loaded.
process.env["TROUPE_BENCH"] = "brief"
const BareAgent = await import("../../scripts/bench/BareAgent.ts")
const BareLog = await import("../../scripts/bench/BareLog.ts")
const BareReader = await import("../../scripts/bench/BareReader.ts")
const { newDatabase } = await import("../../scripts/bench/NewDatabase.ts")
const { agent, startReader } = await import("../../scripts/bench/Reader.ts")
const { killed, sample } = await import("../../scripts/bench/Row.ts")

type Query = Awaited<ReturnType<typeof BareLog.connect>>["query"]
type Durable = Awaited<ReturnType<typeof newDatabase>>

const script = { steps: 2 }

/** Two messages in one conversation, each to its end. */
const talk = async (store: Durable): Promise<void> => {
  const troupe = await startReader(script, store)
  const first = await troupe.ask({ agent: agent.name, text: "read" })
  await troupe.ask({ agent: agent.name, text: "read", conversation: first.conversation })
  await troupe.stop()
}

const talkBare = async (query: Query): Promise<void> => {
  const send = BareAgent.make({ model: BareReader.model(script), log: BareLog.make(query) })
  const to = BareAgent.conversation()
  for (let n = 0; n < 2; n++) {
    for await (const _ of BareAgent.watch(await send("read", to)));
  }
}

/** How many rows a table has, and in how many of them each column is filled in. */
const filled = async (query: Query, schema: string, table: string) => {
  const columns = await query(
    `SELECT column_name AS name FROM information_schema.columns
     WHERE table_schema = 'troupe' AND table_name = $1 ORDER BY 1`,
    [table]
  )
  const counts = columns.map(({ name }) => `count(${String(name)})::int4 AS ${String(name)}`)
  const [row] = await query(
    `SELECT count(*)::int4 AS rows, ${counts.join(", ")} FROM ${schema}.${table}`
  )
  return row
}

/** Heads of runs and types of events, in an order that does not depend on ids. */
const heads = (query: Query, schema: string) =>
  query(
    `SELECT r.epoch, r.length, r.status, d.ordinal, d.open, c.tasks, c.messages,
       (SELECT string_agg(troupe.event_type(e.payload) || coalesce('+' || troupe.event_type(e.next), ''), ' ' ORDER BY e.seq)
        FROM ${schema}.run_pairs e WHERE e.run_id = r.run_id) AS events
     FROM ${schema}.runs r JOIN ${schema}.run_details d ON d.run_id = r.run_id
       JOIN ${schema}.conversations c ON c.id = d.conversation AND c.tenant = d.tenant
     ORDER BY events, ordinal`
  )

describe("the lower bound with a store", () => {
  it(
    "leaves the rows that the runtime leaves: messages, steps, answers and claims",
    { timeout: 120_000 },
    async () => {
      const store = await newDatabase("pglite")
      const at = [JSON.stringify(store)]
      await killed("answers", "park", at)
      await sample("answers", "answer", at)
      await talk(store)
      await sample("answers", "parkBare", at)
      await sample("answers", "answerBare", at)
      const { close, query } = await BareLog.connect(store)
      await talkBare(query)
      for (const table of BareLog.tables) {
        const ours = await filled(query, "troupe", table)
        assert.isAbove(Number(ours?.["rows"]), 0, table)
        assert.deepStrictEqual(await filled(query, "bare", table), ours, table)
      }
      assert.deepStrictEqual(await heads(query, "bare"), await heads(query, "troupe"))
      await close()
    }
  )
})
