/** Fields of an endpoint that a model does not see, and fields that nobody supplies. */
import { assert, describe, it } from "@effect/vitest"
import type { BodyPath, JsonObject } from "../../src/call/BodyPath.ts"
import { strippedSchema } from "../../src/call/SchemaStrip.ts"
import type { Suppliers } from "../../src/call/RequestSchema.ts"
import { showsPath, unsuppliedFields } from "../../src/call/RequestSchema.ts"

const text: JsonObject = { type: "string" }
const object = (properties: JsonObject, required: ReadonlyArray<string> = []): JsonObject => ({
  type: "object",
  properties,
  ...(required.length === 0 ? undefined : { required })
})

const revision = object({ variant_id: text, message: text }, ["variant_id", "message"])
const endpoint = object({ revision, dry_run: { type: "boolean" } }, ["revision"])

const lacking = (given: Partial<Suppliers>, request = endpoint) =>
  unsuppliedFields(request, { model: endpoint, args_into: [], set: [], ...given })

describe("a field that is filled in by others", () => {
  it("AG-26 is taken out of a schema behind a reference, and of each branch of a union", () => {
    const referred: JsonObject = {
      ...object({ revision: { $ref: "#/$defs/Revision" }, other: { $ref: "#/$defs/Revision" } }),
      $defs: { Revision: revision }
    }
    const shown = strippedSchema(referred, [["revision", "variant_id"]])
    assert.isFalse(showsPath(shown, ["revision", "variant_id"]))
    assert.isTrue(showsPath(shown, ["revision", "message"]))
    // Another place that refers to the same schema keeps its field.
    assert.isTrue(showsPath(shown, ["other", "variant_id"]))

    for (const keyword of ["allOf", "anyOf", "oneOf"]) {
      const union: JsonObject = { type: "object", [keyword]: [revision, object({ tag: text })] }
      const left = strippedSchema(union, [["variant_id"]])
      assert.notInclude(JSON.stringify(left), "variant_id")
      assert.include(JSON.stringify(left), "message")
    }
  })

  it("AG-27 leaves an object that a model can still give members of", () => {
    const open: JsonObject = { ...object({ id: text }), additionalProperties: text }
    assert.deepStrictEqual(strippedSchema(object({ labels: open }), [["labels", "id"]]), {
      type: "object",
      properties: { labels: { type: "object", properties: {}, additionalProperties: text } }
    })
  })

  it("ends at a reference that leads to itself, and at one that leads nowhere", () => {
    for (const $ref of ["#/$defs/A", "#/$defs/none", "https://example.org/schema", "#/"]) {
      const loop: JsonObject = { ...object({ a: { $ref } }), $defs: { A: { $ref: "#/$defs/A" } } }
      assert.isTrue(showsPath(strippedSchema(loop, [["a", "b"]]), ["a"]), $ref)
    }
  })
})

describe("a field that an endpoint requires", () => {
  it("AG-28 is named when the model, the fixed body and the context all leave it out", () => {
    assert.deepStrictEqual(lacking({}), [])
    const model = strippedSchema(endpoint, [["revision", "variant_id"]])
    assert.deepStrictEqual(lacking({ model }), ["revision.variant_id"])
    assert.deepStrictEqual(lacking({ model, set: [["revision", "variant_id"]] }), [])
    assert.deepStrictEqual(lacking({ model: object({}), set: [["revision"]] }), [])
    assert.deepStrictEqual(lacking({ model: object({}) }), ["revision"])
    // Who sets one member does not answer for the others.
    assert.deepStrictEqual(lacking({ model: object({}), set: [["revision", "variant_id"]] }), [
      "revision.message"
    ])
  })

  it("AG-28 is not supplied by a model that may leave it out", () => {
    const model = object({ revision: object({ variant_id: text, message: text }, ["message"]) }, [
      "revision"
    ])
    assert.deepStrictEqual(lacking({ model }), ["revision.variant_id"])
  })

  it("AG-28 is looked for where the arguments are placed, and in what allOf adds", () => {
    const args_into: BodyPath = ["data", "inputs"]
    const inputs = object({ city: text }, ["city"])
    const request = object({ data: object({ inputs }, ["inputs"]), kind: text }, ["data", "kind"])
    assert.deepStrictEqual(lacking({ model: inputs, args_into }, request), ["kind"])
    assert.deepStrictEqual(lacking({ model: object({}), args_into, set: [["kind"]] }, request), [
      "data.inputs.city"
    ])
    const both: JsonObject = { allOf: [endpoint, object({ kind: text }, ["kind"])] }
    assert.deepStrictEqual(lacking({ model: endpoint }, both), ["kind"])
  })
})
