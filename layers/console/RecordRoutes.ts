/** The routes of the records that features bring. */
import { Effect, Result, Schema } from "effect"
import type { InvalidInput } from "../../src/schema/InvalidInput.ts"
import { inputReader } from "../../src/schema/InvalidInput.ts"
import type { Operation } from "../../src/operation/Operation.ts"
import { rightRefusal } from "../../src/principal/Rights.ts"
import { bounds_result, readJson } from "../../src/value/BoundedJson.ts"
import { isObject } from "../../src/value/PlainObject.ts"
import type { Cell } from "../../src/value/Csv.ts"
import type { AnyServed } from "../service/Served.ts"
import { apiLine, jsonFile } from "./ApiLine.ts"
import type { ArgumentPart } from "./ArgumentFields.ts"
import { argumentParts, argumentsIn, fieldsIn } from "./ArgumentFields.ts"
import { csvFile, rowsOf } from "./ListFiles.ts"
import type { RecordAct, RecordItem, RecordList } from "./RecordLists.ts"
import type { ShownAct } from "./RecordPages.ts"
import { filled, recordListPage, recordPage, valueAt } from "./RecordPages.ts"
import type { Rejected } from "./Shell.ts"
import type { Asked, Page, Surface } from "./SignedPages.ts"
import {
  decoded,
  doneOr,
  html,
  nothingHere,
  page_max,
  queryOf,
  signedPage,
  to
} from "./SignedPages.ts"
import { isoOf } from "./Words.ts"

type Given = Readonly<Record<string, unknown>>

/** A part of an address, as the API reads it. */
const readPart = (schema: Schema.Top | undefined, given: Given) =>
  schema === undefined
    ? Effect.succeed({})
    : (decoded(
        Schema.toCodecStringTree(schema) as unknown as Schema.Codec<Given, Given>,
        given,
        nothingHere
      ) as Effect.Effect<Given, unknown>)

const performed = (served: AnyServed, input: Given, { view }: Asked) =>
  served.perform(Effect.succeed(input as never), view.principal)

const asJson = ({ success }: Operation, value: unknown): Effect.Effect<unknown> =>
  success === undefined
    ? Effect.succeed(value)
    : (Effect.orDie(
        Schema.encodeUnknownEffect(Schema.toCodecJson(success))(value)
      ) as Effect.Effect<unknown>)

/** What an address of a list asks for. */
const listQuery = Effect.fnUntraced(function* (asked: Asked, list: RecordList) {
  const { operation } = list.served
  const params = yield* readPart(operation.params, asked.params)
  const names = list.filters.map(({ name }) => name)
  const { after, ...chosen } = queryOf(asked, [...names, "after"])
  const limit = Math.min(page_max, list.rows_max ?? 0)
  const given = {
    ...chosen,
    ...(after === undefined ? undefined : { after }),
    ...(limit > 0 ? { limit: String(limit) } : undefined)
  }
  const query = yield* readPart(operation.query, given)
  return { chosen, given, params, query }
})

interface Listing {
  readonly items: ReadonlyArray<unknown>
  readonly next_after?: string
}

/** A page of a list as JSON, whatever its operation gives. */
const pageOf = (list: RecordList, input: Given, asked: Asked) =>
  performed(list.served, input, asked).pipe(
    Effect.flatMap((page) => asJson(list.served.operation, page)),
    Effect.map((json): Listing => {
      const { items, next_after } = isObject(json) ? json : {}
      return {
        items: Array.isArray(items) ? items : [],
        ...(next_after === undefined ? undefined : { next_after: String(next_after) })
      }
    })
  )

const listed = (list: RecordList) =>
  signedPage(
    Effect.fnUntraced(function* (asked: Asked) {
      const { chosen, given, params, query } = yield* listQuery(asked, list)
      const found = yield* pageOf(list, { ...query, ...params }, asked)
      return recordListPage(asked.view, list, {
        ...found,
        chosen,
        params: asked.params,
        line: apiLine(asked, list.served.operation, { ...given, ...texts(asked.params) })
      })
    })
  )

const texts = (params: Asked["params"]): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, value ?? ""]))

const nameOf = ({ path }: RecordList): string => path.split("/").at(-1) ?? ""

const json = (list: RecordList) =>
  signedPage(
    Effect.fnUntraced(function* (asked: Asked) {
      const { params, query } = yield* listQuery(asked, list)
      const found = yield* performed(list.served, { ...query, ...params }, asked)
      const { success } = list.served.operation
      return yield* jsonFile(success as Schema.Codec<unknown, unknown>, found, nameOf(list))
    })
  )

const csvCell = (value: unknown, isMoment: boolean): Cell => {
  if (typeof value === "number" && isMoment) return isoOf(value)
  return typeof value === "string" || typeof value === "number" ? value : String(value ?? "")
}

const csv = (list: RecordList) =>
  signedPage(
    Effect.fnUntraced(function* (asked: Asked) {
      const { params, query } = yield* listQuery(asked, list)
      const { after, ...others } = { after: undefined, ...query }
      const found = yield* rowsOf(
        (next: unknown) =>
          Effect.flatMap(
            readPart(list.served.operation.query, next === undefined ? {} : { after: next }),
            (more) => pageOf(list, { ...others, ...more, ...params }, asked)
          ),
        (item) => [
          list.leaves.map(({ kind, path }) => csvCell(valueAt(item, path), kind === "moment"))
        ],
        after as string | undefined
      )
      const header = list.leaves.map(({ path }) => path.join("."))
      return csvFile(nameOf(list), header, found)
    })
  )

/** The fields of an act under names of its own. A member that the record has under the same name stands in its field. */
const fieldsOf = ({ schema, served }: RecordAct, record: unknown) => {
  if (schema === undefined || !isObject(schema)) return undefined
  const { properties } = schema
  const known = isObject(record)
    ? Object.keys(isObject(properties) ? properties : {}).flatMap((name) =>
        Object.hasOwn(record, name) ? [[name, record[name]]] : []
      )
    : []
  const own = (part: ArgumentPart): ArgumentPart => {
    if (part.kind === "group") return { ...part, fields: part.fields.map(own) }
    const name = `${served.operation.name}:${part.name}`
    return part.isRequired && part.kind !== "choice" && part.state === "absent"
      ? { ...part, name, state: "value", states: ["value"] }
      : { ...part, name }
  }
  return argumentParts(schema, Object.fromEntries(known))?.map(own)
}

const recordOf = Effect.fnUntraced(function* ({ served }: RecordItem, asked: Asked) {
  const { operation } = served
  const params = yield* readPart(operation.params, asked.params)
  const found = yield* performed(served, params, asked)
  return yield* asJson(operation, found)
})

const mayPerform = ({ view }: Asked, { operation }: AnyServed): boolean =>
  rightRefusal(view.principal, operation.right) === undefined

const shownActs = (item: RecordItem, record: unknown, asked: Asked): ReadonlyArray<ShownAct> =>
  item.acts.flatMap((act) =>
    mayPerform(asked, act.served) ? [{ act, parts: fieldsOf(act, record) }] : []
  )

const recordWith = Effect.fnUntraced(function* (
  list: RecordList,
  item: RecordItem,
  asked: Asked,
  rejected?: Rejected
) {
  const record = yield* recordOf(item, asked)
  const { params, view } = asked
  return recordPage(view, list, {
    record,
    params,
    rejected,
    acts: shownActs(item, record, asked),
    lists: item.lists.filter(({ served }) => mayPerform(asked, served)),
    own: view.path + (filled(itemPath(list, item), params) ?? ""),
    line: apiLine(asked, item.served.operation, texts(params))
  })
})

const itemPath = (list: RecordList, { served }: RecordItem): string =>
  `${list.path}/${served.operation.path.split("/").at(-1) ?? ""}`

/** What a form of an act has sent; or why it cannot be read. */
const payloadOf = (
  { fields }: Asked,
  { act, parts }: ShownAct
): Result.Result<unknown, Omit<Rejected, "typed">> => {
  if (act.schema === undefined) return Result.succeed({})
  if (parts === undefined) {
    return Result.mapError(readJson(fields["json"] ?? "", bounds_result), ({ message }) => ({
      message: `It is not JSON that can be read: ${message}.`
    }))
  }
  return Result.mapError(argumentsIn(parts, fields), (problems) => ({
    message: "Some fields cannot be read. Nothing was changed.",
    places: Object.fromEntries(problems.map(({ message, name }) => [name, message]))
  }))
}

const placeOf = ({ field, reason }: InvalidInput, { parts = [] }: ShownAct) => {
  const found = fieldsIn(parts).find(({ path }) => `${field}.`.startsWith(`${path.join(".")}.`))
  return found === undefined ? {} : { [found.name]: reason }
}

const acted = (list: RecordList, item: RecordItem) => (surface: Surface) =>
  signedPage(
    Effect.fnUntraced(function* (asked: Asked) {
      const { fields, view } = asked
      const wanted = item.acts.find(({ served }) => served.operation.name === fields["act"])
      if (wanted === undefined) return yield* decoded(Schema.Never, undefined, nothingHere)
      const { operation } = wanted.served
      const refusal = rightRefusal(view.principal, operation.right)
      if (refusal !== undefined) return yield* Effect.fail(refusal)
      const shown = { act: wanted, parts: fieldsOf(wanted, yield* recordOf(item, asked)) }
      const again = (rejected: Omit<Rejected, "typed">, status: number) =>
        Effect.map(recordWith(list, item, asked, { ...rejected, typed: fields }), (page) =>
          html(page, status)
        )
      const payload = payloadOf(asked, shown)
      if (Result.isFailure(payload)) return yield* again(payload.failure, 422)
      const params = yield* readPart(operation.params, asked.params)
      const read =
        operation.payload === undefined
          ? Result.succeed({})
          : yield* Effect.result(
              inputReader(Schema.toCodecJson(operation.payload) as never)(payload.success, "")
            )
      if (Result.isFailure(read)) {
        const { failure } = read as { readonly failure: InvalidInput }
        return yield* again({ message: failure.message, places: placeOf(failure, shown) }, 422)
      }
      const own = view.path + (filled(itemPath(list, item), asked.params) ?? "")
      return yield* doneOr(
        surface,
        Effect.as(
          performed(wanted.served, { ...(read.success as Given), ...params }, asked),
          to(operation.method === "DELETE" ? view.path + list.path : own)
        ),
        (message, status) => again({ message }, status)
      )
    })
  )(surface)

/** The routes of a list, of its items, and of the lists that belong to one of them. */
const routesOf = (list: RecordList): ReadonlyArray<Page> => {
  const path = `/console${list.path}` as const
  const { item } = list
  const own: ReadonlyArray<Page> = [
    { method: "GET", path, answer: listed(list) },
    { method: "GET", path: `${path}.csv`, answer: csv(list) },
    { method: "GET", path: `${path}.json`, answer: json(list) }
  ]
  if (item === undefined) return own
  const one = `/console${itemPath(list, item)}` as const
  return [
    ...own,
    {
      method: "GET",
      path: one,
      answer: signedPage((asked) => recordWith(list, item, asked))
    },
    ...(item.acts.length === 0
      ? []
      : [{ method: "POST" as const, path: one, answer: acted(list, item) }]),
    ...item.lists.flatMap(routesOf)
  ]
}

/** The pages of these lists. */
export const recordRoutes = (lists: ReadonlyArray<RecordList>): ReadonlyArray<Page> =>
  lists.flatMap(routesOf)
