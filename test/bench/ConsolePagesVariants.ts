/**
 * The variant of the row of the console: one run that is over and one that waits are written by the service, and copied by
 * statements. Pages and bare statements take turns.
 */
import { Agent, get as requested } from "node:http"
import type { IncomingMessage } from "node:http"
import { text as textOf } from "node:stream/consumers"
import { Effect, ManagedRuntime, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { agent, Principal, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import { median } from "./Row.ts"
import type { Sample } from "./Row.ts"
import { sized } from "./Work.ts"

const runs_count = sized(60, 100_000)
const questions_count = sized(60, 10_000)
const pages_a_round = sized(3, 200)
const tenant = "default"
const token = `token-${"x".repeat(32)}`
const olga = new Principal({ id: "olga", tenant, roles: ["operator"] })

const look = tool(
  { namespace: "bench", name: "look", description: "Looks.", side_effects: "read" },
  () => "order 1003 is on its way"
)
const pay = tool(
  { namespace: "bench", name: "pay", description: "Pays.", side_effects: "external" },
  () => "paid"
)
const clerk = agent({ name: "clerk", instructions: "Help.", tools: ["look", "pay"] })

/** Three reads and an answer, which are ten events; or a question. */
const model = scripted(({ step, transcript: [first] }) =>
  first?.role === "user" && first.text === "pay"
    ? call("pay")
    : step <= 3
      ? call("look")
      : text("It is on its way.")
)

const service = (url: string) =>
  start({
    agents: [clerk],
    tools: [look, pay],
    model,
    store: { postgres: url },
    http: {
      port: 0,
      console: true,
      tokens: [{ token, principal: olga }],
      // As many as a round makes.
      settings: {
        requests_principal_per_minute: 1_000_000,
        requests_tenant_per_minute: 1_000_000
      }
    }
  })

const columnsOf = (table: string) =>
  Effect.map(
    SqlClient.SqlClient.use((sql) =>
      sql.unsafe<{ readonly column_name: string }>(
        `SELECT column_name FROM information_schema.columns WHERE table_schema = 'troupe' AND table_name = $1::text
           AND is_identity = 'NO' AND is_generated = 'NEVER'`,
        [table]
      )
    ),
    (rows) => rows.map(({ column_name }) => column_name)
  )

/** Copies what a run has in a table, for each new id. `own`: what is another value in each copy. */
const copied = Effect.fnUntraced(function* (
  table: string,
  where: string,
  own: Readonly<Record<string, string>>
) {
  const sql = yield* SqlClient.SqlClient
  const columns = yield* columnsOf(table)
  const values = columns.map((name) => own[name] ?? `t.${name}`)
  yield* sql.unsafe(
    `INSERT INTO troupe.${table} (${columns.join()}) SELECT ${values.join()} FROM troupe.${table} t CROSS JOIN bench_ids i WHERE ${where}`
  )
})

/** Copies a run and its conversation so many times. */
const multiply = Effect.fnUntraced(function* (run: string, conversation: string, count: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("DROP TABLE IF EXISTS bench_ids")
  yield* sql.unsafe(
    `CREATE TABLE bench_ids AS SELECT gen_random_uuid() AS run_id, 'c-' || gen_random_uuid() AS conversation, n
     FROM generate_series(1, ${count}) AS n`
  )
  const of_run = `t.run_id = '${run}'`
  const of_conversation = `t.conversation = '${conversation}'`
  const at = (name: string) => `t.${name} - i.n * 1000`
  const place = { conversation: "i.conversation", address_key: "i.conversation" }
  yield* copied("conversations", `t.id = '${conversation}'`, {
    ...place,
    id: "i.conversation",
    active_at: at("active_at")
  })
  yield* copied("conversation_messages", of_conversation, { ...place, run_id: "i.run_id" })
  yield* copied("agent_tasks", `t.id = '${run}'`, {
    ...place,
    id: "i.run_id",
    message_id: "gen_random_uuid()",
    created_at: at("created_at")
  })
  yield* copied("runs", of_run, { run_id: "i.run_id" })
  yield* copied("run_details", of_run, { ...place, run_id: "i.run_id" })
  yield* copied("run_pairs", of_run, { run_id: "i.run_id" })
  yield* copied("approvals", of_run, { id: "gen_random_uuid()", run_id: "i.run_id" })
})

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const from = performance.now()
  await work()
  return performance.now() - from
}

const agentOfClient = new Agent({ keepAlive: true })

/** Signs in, and gives what gets a page. The client is in the process of the service, so it does no more than it has to. */
const signedIn = async (base: string) => {
  const body = new URLSearchParams({ form_key: "none", token })
  const answer = await fetch(`${base}/console/sign-in`, {
    method: "POST",
    body,
    redirect: "manual"
  })
  const cookie = answer.headers.getSetCookie()[0]?.split(";", 1)[0] ?? ""
  return async (path: string) => {
    const page = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { agent: agentOfClient, headers: { cookie } }
      requested(`${base}/console${path}`, options, resolve).once("error", reject)
    })
    const html = await textOf(page)
    if (page.statusCode !== 200 || !html.endsWith("</html>")) {
      throw new Error(`${path}: ${page.statusCode}`)
    }
  }
}

const p99 = (all: ReadonlyArray<number>): number =>
  all.toSorted((a, b) => a - b)[Math.floor(all.length * 0.99)] ?? Infinity

const bare_runs = `SELECT t.id, t.agent, t.by, t.message, t.status, t.created_at, r.status AS state FROM troupe.agent_tasks t
  JOIN troupe.runs r ON r.run_id = t.id WHERE t.tenant = $1::text ORDER BY t.created_at DESC, t.id DESC LIMIT 51`
const bare_inbox = `SELECT a.id, a.payload, t.message, t.by FROM troupe.approvals a JOIN troupe.agent_tasks t ON t.id = a.run_id
  WHERE a.tenant = $1::text AND a.status = 0 ORDER BY a.position LIMIT 51`

/** The pages that are measured. */
const pathsOf = (
  over: { readonly run: string; readonly conversation: string },
  question: string
) => [
  "",
  "/inbox",
  `/inbox/${question}`,
  "/runs",
  "/runs?status=awaiting_approval",
  `/runs/${over.run}`,
  "/conversations",
  `/conversations/${over.conversation}`,
  "/decisions",
  "/unknown",
  "/dead-letters",
  "/policy",
  "/tools",
  "/agents",
  "/costs"
]

export const postgres = async (url: string, rounds: string) => {
  const troupe = await service(url)
  const beside = ManagedRuntime.make(Postgres.layer({ url: Redacted.make(url) }))
  const query = <A>(effect: Effect.Effect<A, unknown, SqlClient.SqlClient>) =>
    beside.runPromise(effect)
  const over = await troupe.ask({ agent: "clerk", text: "where is it?" }, olga)
  await troupe.result(over.run)
  const waits = await troupe.ask({ agent: "clerk", text: "pay" }, olga)
  const [asked] = await troupe.approvals({ status: "pending" }, olga)
  await query(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* multiply(waits.run, waits.conversation, questions_count)
      yield* multiply(over.run, over.conversation, runs_count)
      yield* sql.unsafe("DROP TABLE bench_ids")
      yield* sql.unsafe("VACUUM ANALYZE")
    })
  )
  const get = await signedIn(troupe.url ?? "")
  const paths = pathsOf(over, asked?.id ?? "")
  const named = paths.map((path) => path.replace(/[0-9a-f-]{36}|c-.*/, "one") || "/")
  /** As its page finds it: after all other pages. */
  const bare = (text: string) =>
    query(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const from = performance.now()
        yield* sql.unsafe(text, [tenant])
        return performance.now() - from
      })
    )
  const round = async (): Promise<Sample> => {
    const times = new Map<string, Array<number>>(paths.map((path) => [path, []]))
    const [runs, inbox] = [new Array<number>(), new Array<number>()]
    for (let n = 0; n < pages_a_round; n++) {
      for (const path of paths) times.get(path)?.push(await timed(() => get(path)))
      runs.push(await bare(bare_runs))
      inbox.push(await bare(bare_inbox))
    }
    const worst = paths.map((path) => p99(times.get(path) ?? []))
    return {
      ...Object.fromEntries(named.map((name, at) => [name, worst[at] ?? Infinity])),
      slowest: Math.max(...worst),
      runs_ms: median(times.get("/runs") ?? []),
      bare_runs_ms: median(runs),
      inbox_ms: median(times.get("/inbox") ?? []),
      bare_inbox_ms: median(inbox)
    }
  }
  // Plans and compiled code.
  await round()
  const samples: Array<Sample> = []
  for (let n = 0; n < Number(rounds); n++) samples.push(await round())
  await beside.dispose()
  await troupe.stop()
  return { paths: named, samples }
}
