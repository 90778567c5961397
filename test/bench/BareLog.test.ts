/** The lower bound writes the rows that the runtime writes: what is compared is the same work for the same promises. */
import { assert, describe, it } from "@effect/vitest"
import { answerAll, answerAllBare, askAll, askAllBare, startChanger } from "./AnswersVariants.ts"
import * as BareAgent from "./BareAgent.ts"
import type { Durable, Query } from "./BareLog.ts"
import * as BareLog from "./BareLog.ts"
import * as BareReader from "./BareReader.ts"
import { newDatabase } from "./NewDatabase.ts"
import { agent, startReader } from "./Reader.ts"

const runs = 5
const script = { steps: 2 }

/** Questions that the process which asked them leaves open, and the next one answers. */
const questioned = async (store: Durable): Promise<void> => {
  const asking = await startChanger(store)
  await askAll(asking, runs)
  await asking.stop()
  const answering = await startChanger(store)
  await answerAll(answering, runs)
  await answering.stop()
}

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
       (SELECT count(*)::int4 FROM ${schema}.run_pairs e WHERE e.run_id = r.run_id
          AND concat(e.payload, e.next) LIKE concat('%"epoch":', r.epoch, ',"owner":"', d.owner, '"%')) AS claims_of_owner,
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
      await questioned(store)
      await talk(store)
      const { close, query } = await BareLog.connect(store)
      await askAllBare(query, runs)
      await answerAllBare(query, runs)
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
