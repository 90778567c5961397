/** A service whose disk is full: it says so, loses nothing that it acknowledged, and goes on once there is room. */
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { cpSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import type { Scope } from "effect"
import { Effect } from "effect"
import type { TestContext } from "vitest"
import { start } from "../../layers/compose/entries/Embed.ts"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import type { Store } from "../../layers/compose/options/ServiceOptions.ts"
import { layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/index.ts"
import { either } from "../Long.ts"
import * as Homes from "../process/Homes.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import * as PostgresServer from "../sql/PostgresServer.ts"
import type { SmallDisk } from "../process/SmallDisk.ts"
import { small } from "../process/SmallDisk.ts"

/** Runs a test on a small file system, or notes that it could not. */
const onSmall = <E, R>(
  context: TestContext,
  mega: number,
  test: (disk: SmallDisk) => Effect.Effect<void, E, R | Scope.Scope>
) =>
  Effect.gen(function* () {
    const disk = yield* small(mega)
    if (disk === undefined) {
      context.task.meta.notes = ["full and read-only disks: this user may not mount a file system"]
      return
    }
    yield* test(disk)
  }).pipe(Effect.scoped)

const mega = 2 ** 20
/** How often the disk becomes full. */
const disks_full = either(2, 10)

/** Longer than the free space is taken for unchanged. */
const pause = () => new Promise((wait) => setTimeout(wait, 20))

/** A prepared directory on it. */
const prepared = Effect.fnUntraced(function* (path: string) {
  const to = join(path, "db")
  cpSync((yield* Homes.directory).directory, to, { recursive: true })
  return to
})

const opened = (store: Store) =>
  Effect.acquireRelease(
    Effect.promise(() =>
      start({
        agents: [AgentSpec.make({ name: "shop", instructions: "Help." })],
        model: layer(() => text("hello")),
        store,
        http: { port: 0, tokens: [] }
      })
    ),
    (service) => Effect.promise(() => service.stop())
  )

const readiness = async (service: NodeService) => (await fetch(`${service.url}/ready`)).status

const said = async (service: NodeService) => (await fetch(`${service.url}/ready`)).text()

/** Sends messages, which nothing compresses, until one is refused; the runs of those that were not, and the refusal. */
const untilRefused = async (service: NodeService) => {
  const runs: Array<string> = []
  for (let n = 0; n < 2_000; n++) {
    try {
      const message = { agent: "shop", text: randomBytes(15_000).toString("base64") }
      runs.push((await service.send(message)).run)
    } catch (error) {
      return { runs, error }
    }
  }
  throw new Error("nothing was refused")
}

it.live(
  "a full disk refuses every message while it is not ready; what was accepted ends once there is room",
  (context) =>
    onSmall(
      context,
      160,
      Effect.fnUntraced(function* ({ fill, free, path }) {
        const service = yield* opened({ directory: yield* prepared(path) })
        yield* Effect.promise(async () => {
          // Whatever is left: what `/ready` says is what a message is told.
          for (
            let left = 31 * mega, n = 0;
            n < disks_full;
            n++, left = (left * 7_919) % (31 * mega)
          ) {
            assert.strictEqual(await readiness(service), 200)
            const accepted = await service.send({ agent: "shop", text: "before" })
            fill(left)
            await pause()
            assert.strictEqual(await readiness(service), 503)
            const { error, runs } = await untilRefused(service)
            assert.propertyVal(error, "_tag", "StoreError")
            assert.include(String(error), "53100")
            assert.deepStrictEqual(runs, [])
            const health = await fetch(`${service.url}/health`)
            assert.strictEqual(health.status, 200)
            free()
            await pause()
            assert.strictEqual(await readiness(service), 200)
            assert.strictEqual((await service.result(accepted.run)).status, "complete")
            const again = await service.ask({ agent: "shop", text: "again" })
            assert.strictEqual(again.status, "complete")
          }
        })
      })
    ),
  120_000
)

it.live(
  "a full disk of a server is the same: ready no more at the first refusal, and again by itself",
  (context) =>
    onSmall(
      context,
      300,
      Effect.fnUntraced(function* ({ fill, free, path }) {
        const server = yield* Effect.acquireRelease(
          Effect.promise(() => PostgresServer.launchIn(path, "max_wal_size=64MB")),
          (each) => Effect.promise(() => each.stop())
        )
        const postgres = EmbeddedPostgres.urlOf(String(server.port), "postgres")
        const service = yield* opened({ postgres })
        yield* Effect.promise(async () => {
          assert.strictEqual(await readiness(service), 200)
          fill(3_000_000)
          const { error, runs } = await untilRefused(service)
          assert.propertyVal(error, "_tag", "StoreError")
          assert.include(String(error), "53100")
          assert.isNotEmpty(runs)
          assert.include(await said(service), "PostgreSQL cannot write: its disk is full (53100).")
          // Small changes fit into what is there; there is no room all the same.
          await new Promise((wait) => setTimeout(wait, 1_100))
          assert.strictEqual(await readiness(service), 503)
          free()
          while ((await readiness(service)) !== 200) {
            await new Promise((wait) => setTimeout(wait, 100))
          }
          for (const run of runs) {
            assert.strictEqual((await service.result(run)).status, "complete", run)
          }
          assert.strictEqual(
            (await service.ask({ agent: "shop", text: "again" })).status,
            "complete"
          )
          assert.isTrue(server.isUp())
        })
      })
    ),
  120_000
)

it.live(
  "a read-only disk refuses the start, by its name and code",
  (context) =>
    onSmall(
      context,
      120,
      Effect.fnUntraced(function* ({ path }) {
        yield* prepared(path)
        execFileSync("mount", ["-o", "remount,ro", path])
        for (const name of ["db", "new"]) {
          const directory = join(path, name)
          const error: unknown = yield* Effect.promise(() =>
            start({ agents: [], model: layer([]), store: { directory } }).then(
              () => undefined,
              (error: unknown) => error
            )
          )
          assert.propertyVal(error, "_tag", "DirectoryUnusable")
          assert.strictEqual(
            String((error as Error).message),
            `${directory} cannot be used as a data directory: EROFS.`
          )
        }
      })
    ),
  120_000
)
