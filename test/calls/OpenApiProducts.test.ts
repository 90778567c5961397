/** OpenAPI documents of three products, as their npm packages ship them. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { parse } from "yaml"
import * as OpenApiImport from "../../layers/calls/OpenApiImport.ts"
import { memberOf } from "../../src/call/BodyPath.ts"
import { configured, platform, runBody } from "./Platform.ts"

const require = createRequire(import.meta.url)
const read = (file: string): string => readFileSync(file, "utf8")
const figma = read(require.resolve("@figma/rest-api-spec/openapi/openapi.yaml"))
const directus = read(
  join(dirname(require.resolve("@directus/specs/package.json")), "dist/openapi.json")
)
const rclone = read(require.resolve("rclone-openapi/openapi.json"))

/** The ids of all operations. */
const idsOf = (document: unknown): ReadonlyArray<string> =>
  Object.values(memberOf(document, "paths") ?? {}).flatMap((item) =>
    Object.values(item as object).flatMap((operation) => {
      const id = memberOf(operation, "operationId")
      return typeof id === "string" ? [id] : []
    })
  )

const toolsOf = (operations: ReadonlyArray<{ readonly op: string }>) =>
  operations.map(({ op }) => ({ type: "platform" as const, op }))

describe("the OpenAPI document of", () => {
  it.live("Figma (3.1, YAML) is imported whole, and an operation of it is called", () =>
    Effect.gen(function* () {
      const ids = idsOf(parse(figma))
      const operations = yield* OpenApiImport.operations(figma, ids, { base_path: "/api" })
      assert.lengthOf(operations, 54)
      const web = yield* platform(() => ({ body: '{"id":"9"}' }))
      const tools = yield* configured(web, toolsOf(operations), { operations, profile: "extended" })
      assert.lengthOf(tools, 54)
      const called = (name: string) => tools.find(({ spec }) => spec.name === name)
      assert.strictEqual(called("getImages")?.spec.side_effects, "read")
      assert.strictEqual(called("postComment")?.spec.side_effects, "external")
      const comment = { file_key: "f/1", message: "Larger.", client_meta: { x: 1, y: 2 } }
      assert.deepStrictEqual(yield* runBody(called("postComment"), comment), { id: "9" })
      yield* runBody(called("getImages"), { file_key: "k", ids: "1:2,1:3", scale: 0.5 })
      assert.deepStrictEqual(
        web.seen.map(({ body, method, url }) => [method, url, body]),
        [
          [
            "POST",
            "/api/v1/files/f%2F1/comments",
            '{"message":"Larger.","client_meta":{"x":1,"y":2}}'
          ],
          ["GET", "/api/v1/images/k?ids=1%3A2%2C1%3A3&scale=0.5", ""]
        ]
      )
    })
  )

  it.live("rclone (3.1) is imported whole, and an operation of it is called", () =>
    Effect.gen(function* () {
      const ids = idsOf(JSON.parse(rclone))
      const operations = yield* OpenApiImport.operations(rclone, ids, { base_path: "/api" })
      assert.lengthOf(operations, 101)
      const web = yield* platform()
      const tools = yield* configured(web, toolsOf(operations), { operations })
      const [copy] = tools.filter(({ spec }) => spec.name === "operationsCopyfile")
      assert.strictEqual(copy?.spec.side_effects, "external")
      const args = { srcFs: "a:", srcRemote: "x", dstFs: "b:", dstRemote: "y" }
      yield* runBody(copy, args)
      assert.deepInclude(web.seen[0], {
        url: "/api/operations/copyfile",
        body: JSON.stringify(args)
      })
    })
  )

  it.effect("Directus (3.0) gives what can be a tool, and says of all else why it cannot", () =>
    Effect.gen(function* () {
      const document: unknown = JSON.parse(directus)
      const why: Record<string, number> = {}
      const good: Array<string> = []
      for (const id of idsOf(document)) {
        const one = yield* Effect.result(OpenApiImport.operations(document, [id]))
        if (Result.isSuccess(one)) good.push(id)
        else why[one.failure.reason] = (why[one.failure.reason] ?? 0) + 1
      }
      assert.deepStrictEqual(why, { InvalidDocument: 1 })
      const operations = yield* OpenApiImport.operations(directus, good, { base_path: "/api" })
      assert.lengthOf(operations, 135)
      const more = { operations, profile: "full" } as const
      assert.lengthOf(yield* configured({ port: 1 }, toolsOf(operations), more), 135)
    })
  )
})
