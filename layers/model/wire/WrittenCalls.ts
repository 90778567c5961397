/**
 * Calls that a model wrote into its text, in the form that its training taught it, where its server did not read them: a tag with
 * JSON or with parameters (Hermes, Qwen), JSON alone or Python (Llama), a marker with JSON (Mistral). A call of a text is no more
 * than any other call: it names one of the turn's tools, and is judged as all calls are.
 */
import { Result } from "effect"
import type { ModelTool } from "../../../services/ModelGateway.ts"
import { readJson } from "../../../src/value/BoundedJson.ts"
import { isObject } from "../../../src/value/PlainObject.ts"
import type { WrittenCall } from "./PythonCalls.ts"
import { pythonCalls } from "./PythonCalls.ts"

/** The forms: `<tool_call>`, JSON or Python alone, and `[TOOL_CALLS]`. */
export type CallForm = "tag" | "bare" | "marker"

/** Models by their names that write calls so, if their server has no parser for them. */
const known: ReadonlyArray<readonly [RegExp, CallForm]> = [
  [/hermes|qwen|qwq/i, "tag"],
  [/llama/i, "bare"],
  [/mi[sx]tral|ministral|magistral|devstral|codestral/i, "marker"]
]

/** The form that the model is known for; undefined = none. */
export const formOf = (model: string): CallForm | undefined =>
  known.find(([name]) => name.test(model))?.[1]

/** Either the calls and the text without them, or the reason why what looks like calls cannot be read. */
export type Written =
  | { readonly calls: ReadonlyArray<WrittenCall>; readonly text: string }
  | { readonly unreadable: string }

type Tools = ReadonlyMap<string, ModelTool>

const jsonOf = (text: string): unknown => Result.getOrUndefined(readJson(text.trim()))

/** The call that a value stands for, whose arguments have one of two names; undefined = it is none, or of no tool of the turn. */
const callOf = (value: unknown, tools: Tools): WrittenCall | undefined => {
  if (!isObject(value)) return undefined
  const inner = isObject(value["function"]) ? value["function"] : value
  const name = inner["name"] ?? inner["function"]
  const given = inner["arguments"] ?? inner["parameters"] ?? {}
  return typeof name === "string" && tools.has(name)
    ? { name, input: typeof given === "string" ? given : JSON.stringify(given) }
    : undefined
}

const allOf = (values: ReadonlyArray<unknown>, tools: Tools): Array<WrittenCall> | undefined => {
  const calls = values.flatMap((value) => callOf(value, tools) ?? [])
  return calls.length > 0 && calls.length === values.length ? calls : undefined
}

const parameter = /<parameter=([^>\s]+)>\n?([\s\S]*?)\n?(?:<\/parameter>|(?=<parameter=)|$)/g

/** A parameter is a text, and JSON where its tool's schema asks for no text. */
const parametersOf = (text: string, tool: ModelTool): string => {
  const properties = tool.input_schema["properties"]
  const members = [...text.matchAll(parameter)].map(([, name = "", said = ""]) => {
    const schema = isObject(properties) ? properties[name] : undefined
    const isText = isObject(schema) && schema["type"] === "string"
    return [name, isText ? said : (jsonOf(said) ?? said)] as const
  })
  return JSON.stringify(Object.fromEntries(members))
}

const inTag = (text: string, tools: Tools): WrittenCall | undefined => {
  const inside = text.trim()
  const [begin, name] = /^<function=([^>\s]+)>/.exec(inside) ?? []
  if (begin === undefined || name === undefined) return callOf(jsonOf(inside), tools)
  const tool = tools.get(name)
  const said = inside.slice(begin.length).replace(/<\/function>$/, "")
  return tool === undefined ? undefined : { name, input: parametersOf(said, tool) }
}

/** A last tag may lack its end: the model stopped there. */
const tag = /<tool_call>([\s\S]*?)(?:<\/tool_call>|(?=<tool_call>)|$)/g

const tagged = (text: string, tools: Tools): Written => {
  const calls: Array<WrittenCall> = []
  for (const [whole, inside = ""] of text.matchAll(tag)) {
    const call = inTag(inside, tools)
    if (call === undefined) return { unreadable: whole }
    calls.push(call)
  }
  return { calls, text: text.replace(tag, "").trim() }
}

const named = /^\s*([A-Za-z0-9_.-]+)\s*(?:\[CALL_ID\][^[{]*)?(?:\[ARGS\])?\s*(\{[\s\S]*\})\s*$/

const marked = (text: string, tools: Tools): Written => {
  const calls: Array<WrittenCall> = []
  for (const piece of text.split("[TOOL_CALLS]").slice(1)) {
    const [, name, input] = named.exec(piece) ?? []
    const value = name === undefined ? jsonOf(piece) : { name, arguments: jsonOf(input ?? "") }
    const found =
      isObject(value) && value["arguments"] === undefined
        ? undefined
        : allOf(Array.isArray(value) ? value : [value], tools)
    if (found === undefined) return { unreadable: text }
    calls.push(...found)
  }
  return { calls, text: "" }
}

const python_tag = /^\s*<\|python_tag\|>/

/** Without the mark, a text that is no call is an answer: a JSON answer begins alike. */
const bareCalls = (text: string, tools: Tools): Written => {
  const bare = text.replace(python_tag, "").replace(/<\|eo[tm]_id\|>\s*$/, "")
  const whole = jsonOf(bare)
  const values =
    whole === undefined
      ? bare.split(/;\s*(?=\{)/).map(jsonOf)
      : Array.isArray(whole)
        ? whole
        : [whole]
  const calls = allOf(values, tools) ?? pythonCalls(bare, (name) => tools.has(name))
  if (calls !== undefined) return { calls, text: "" }
  return bare === text ? { calls: [], text } : { unreadable: text }
}

const readers: Readonly<Record<CallForm, (text: string, tools: Tools) => Written>> = {
  tag: tagged,
  bare: bareCalls,
  marker: marked
}

/** The calls in a text of this form, from its first mark on. */
export const readCalls = (form: CallForm, text: string, tools: Tools): Written =>
  readers[form](text, tools)

/** What begins a call. The `begin` of a text alone may be one too, if it looks so. */
export const marks: Readonly<Record<CallForm, { readonly mark: string; readonly begin?: RegExp }>> =
  {
    tag: { mark: "<tool_call>" },
    marker: { mark: "[TOOL_CALLS]" },
    bare: {
      mark: "<|python_tag|>",
      begin:
        /^\s*(?:\{\s*"(?:name|type|function)"\s*:|\[\s*(?:\{\s*"(?:name|type)"|[A-Za-z_][\w.]*\())/
    }
  }
