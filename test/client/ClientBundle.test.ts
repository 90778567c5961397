/** What a page downloads of the client, and that its routes are those of the operations. */
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { Schema } from "effect"
import { build } from "esbuild"
import { assert, describe, it } from "vitest"
import { problemOf } from "../../layers/http/boundary/Problems.ts"
import { problemError } from "../../layers/http/client/TroupeError.ts"
import { routes } from "../../layers/http/client/MethodRoutes.ts"
import { operations } from "../../layers/service/ServiceOperations.ts"
import type { Operation } from "../../src/operation/Operation.ts"
import { placesOf } from "../../src/operation/Operation.ts"
import { error_status } from "../../src/operation/ErrorStatus.ts"

const entry = fileURLToPath(new URL("../../layers/compose/entries/Client.ts", import.meta.url))

describe("the client", () => {
  it("has less than 15 kB for a page, compressed, and nothing of effect or of Node", async () => {
    const { metafile, outputFiles } = await build({
      entryPoints: [entry],
      bundle: true,
      format: "esm",
      platform: "browser",
      minify: true,
      write: false,
      metafile: true
    })
    const { length } = gzipSync(outputFiles[0]!.contents)
    assert.isBelow(length, 15_000)
    const inputs = Object.keys(metafile.inputs)
    assert.deepStrictEqual(
      inputs.filter(
        (path) => !/^(?:layers\/(?:http\/client|compose\/entries)|src\/run)\//.test(path)
      ),
      []
    )
    assert.isAtLeast(inputs.length, 5)
  })

  it("has the routes of all operations, but for those that it has by hand", () => {
    const declared = Object.entries(operations)
      .filter(([name]) => !["file", "publish"].includes(name))
      .map(([name, { operation }]: [string, { readonly operation: Operation }]) => [
        name,
        [operation.method, operation.path, ...placesOf(operation).filter((place) => place !== "by")]
      ])
    assert.deepStrictEqual(Object.fromEntries(Object.entries(routes)), Object.fromEntries(declared))
  })

  it("has a query where an operation has one, and a body where it has a payload", () => {
    for (const [name, { operation }] of Object.entries(operations)) {
      const { method, payload, query }: Operation = operation
      const isRead = method === "GET" || method === "DELETE"
      assert.isFalse(isRead && payload !== undefined, name)
      assert.isFalse(!isRead && query !== undefined, name)
    }
  })

  it("takes an answer for what its type says: JSON has every output as it is", () => {
    for (const [name, { operation }] of Object.entries(operations)) {
      const { success }: Operation = operation
      if (success === undefined || name === "file") continue
      const codec = Schema.toCodecJson(success)
      assert.deepStrictEqual(
        Schema.toJsonSchemaDocument(Schema.toEncoded(codec)),
        Schema.toJsonSchemaDocument(Schema.toEncoded(success)),
        name
      )
    }
  })

  it("names errors as the methods of a service do, but for four", () => {
    const others: Record<string, string> = {
      JournalError: "StoreUnavailable",
      StoreError: "StoreUnavailable",
      NotForCustomers: "Forbidden",
      RunNotQuarantined: "NotInQuarantine"
    }
    for (const tag of Object.keys(error_status)) {
      // Its sentence may need members; its name does not.
      const given = new Proxy(
        { _tag: tag, message: "M" },
        { get: (of, name) => Reflect.get(of, name) ?? [] }
      )
      const error = problemError(problemOf(given as never))
      assert.strictEqual(error?._tag, others[tag] ?? tag)
    }
  })
})
