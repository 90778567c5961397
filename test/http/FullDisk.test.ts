/** A service whose disk is full: it says so, loses nothing that it acknowledged, and goes on once there is room. */
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { cpSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import type { Scope } from "effect"
import { Effect } from "effect"
import type { TestContext } from "vitest"
import { start } from "../../layers/compose/NodeService.ts"
import type { NodeService } from "../../layers/compose/NodeService.ts"
import { layer, text } from "../../layers/model/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/index.ts"
import * as Homes from "../process/Homes.ts"
import type { SmallDisk } from "../process/SmallDisk.ts"
import { small } from "../process/SmallDisk.ts"

/** Runs a test on a small file system with a prepared directory `db`, or notes that it could not. */
const onSmall = <E, R>(
  context: TestContext,
  test: (disk: SmallDisk) => Effect.Effect<void, E, R | Scope.Scope>
) =>
  Effect.gen(function* () {
    const disk = yield* small(120)
    if (disk === undefined) {
      context.task.meta.notes = ["full and read-only disks: this user may not mount a file system"]
      return
    }
    cpSync((yield* Homes.directory).directory, join(disk.path, "db"), { recursive: true })
    yield* test(disk)
  }).pipe(Effect.scoped)

const opened = (directory: string) =>
  Effect.acquireRelease(
    Effect.promise(() =>
      start({
        agents: [AgentSpec.make({ name: "shop", instructions: "Help." })],
        model: layer(() => text("hello")),
        store: { directory },
        http: { port: 0, tokens: [] }
      })
    ),
    (service) => Effect.promise(() => service.stop())
  )

const readiness = async (service: NodeService) => (await fetch(`${service.url}/ready`)).status

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
  "a full disk refuses messages and is not ready; what was accepted ends once there is room",
  (context) =>
    onSmall(
      context,
      Effect.fnUntraced(function* ({ fill, free, path }) {
        const service = yield* opened(join(path, "db"))
        yield* Effect.promise(async () => {
          assert.strictEqual(await readiness(service), 200)
          fill(3_000_000)
          assert.strictEqual(await readiness(service), 503)
          const { error, runs } = await untilRefused(service)
          assert.propertyVal(error, "_tag", "StoreError")
          assert.include(String(error), "53100")
          assert.isNotEmpty(runs)
          free()
          assert.strictEqual(await readiness(service), 200)
          for (const run of runs) {
            assert.strictEqual((await service.result(run)).status, "complete", run)
          }
          assert.strictEqual(
            (await service.ask({ agent: "shop", text: "again" })).status,
            "complete"
          )
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
      Effect.fnUntraced(function* ({ path }) {
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
