/**
 * What the reference platform has beside workflows and triggers, in memory: a gateway to actions of third parties (which are made
 * up and reach nobody) and to the handlers, annotations and the names of sessions.
 */
import { Schema } from "effect"
import type { Json } from "../../../src/value/Canonical.ts"
import { isJsonObject } from "../../../src/call/BodyPath.ts"
import type { JsonObject } from "../../../src/call/BodyPath.ts"
import { bounds_result, readJson } from "../../../src/value/BoundedJson.ts"
import type { Known } from "./Discovery.ts"
import { DiscoverBody, discovered } from "./Discovery.ts"
import type { Handler } from "./Handlers.ts"
import type { Route } from "./Route.ts"
import { Id, Members, route } from "./Route.ts"
import type { Reply } from "./Wire.ts"
import { ok, problem } from "./Wire.ts"

/** The most of each kind that are kept. */
const kept_max = 10_000

const actions: ReadonlyArray<Known> = [
  {
    provider: "composio",
    integration: "github",
    name: "create_issue",
    connection: "my-gh",
    description: "Opens an issue in a repository."
  },
  {
    provider: "composio",
    integration: "slack",
    name: "send_message",
    description: "Sends a message to a channel."
  }
]

const CallBody = Schema.Struct({
  data: Schema.Struct({
    id: Id,
    type: Schema.Literal("function"),
    function: Schema.Struct({ name: Id, arguments: Schema.Union([Schema.String, Members]) })
  })
})

const AnnotationBody = Schema.Struct({
  annotation: Schema.Struct({
    references: Schema.Struct({ evaluator: Schema.Struct({ slug: Id }) }),
    data: Schema.Struct({ outputs: Members }),
    links: Schema.Struct({ invocation: Schema.Struct({ trace_id: Id, span_id: Id }) })
  })
})

const HeaderBody = Schema.Struct({
  name: Schema.String.check(Schema.isPattern(/\S/), Schema.isMaxLength(120)),
  description: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(300)))
})

const discover = route("POST", "/api/tools/discover", DiscoverBody, (body) =>
  discovered(body, actions, "action")
)

const called = (id: string, isError: boolean, content: Json): Reply =>
  ok({
    call: {
      id,
      data: { content: typeof content === "string" ? content : JSON.stringify(content) },
      status: { code: isError ? "STATUS_CODE_ERROR" : "STATUS_CODE_OK" }
    }
  })

const argumentsOf = (given: string | JsonObject): JsonObject | undefined => {
  if (typeof given !== "string") return given
  const read = readJson(given, bounds_result)
  return read._tag === "Success" && isJsonObject(read.success) ? read.success : undefined
}

/** The gateway: what its action says is in a 200, also where it failed. */
const gateway = (issues: Array<string>, handlers: ReadonlyMap<string, Handler>) =>
  route("POST", "/api/tools/call", CallBody, async ({ data }, asked) => {
    const handler = handlers.get(data.function.name)
    if (handler !== undefined) {
      const handled = await handler(argumentsOf(data.function.arguments), asked)
      return handled._tag === "Value"
        ? called(data.id, false, handled.value)
        : called(data.id, true, { code: handled.code, message: handled.message })
    }
    const found = actions.find(
      ({ connection, integration, name, provider }) =>
        connection !== undefined &&
        data.function.name === `tools.${provider}.${integration}.${name}.${connection}`
    )
    if (/^(?:workflow|tools\.agenta)\./.test(data.function.name)) {
      return problem(404, "the gateway has no workflows and no endpoints of the platform")
    }
    const args = argumentsOf(data.function.arguments)
    if (found === undefined) return called(data.id, true, "there is no such connected action")
    const title = args?.["title"]
    if (typeof title !== "string" || title.trim() === "") {
      return called(data.id, true, "an issue needs a title")
    }
    if (issues.length >= kept_max) return problem(507, "there are too many issues")
    issues.push(title)
    return called(data.id, false, { issue: { number: issues.length, title } })
  })

const annotate = () => {
  let count = 0
  return route("POST", "/api/annotations/", AnnotationBody, ({ annotation }) => {
    count++
    return ok({ count: 1, annotation: { id: `annotation-${count}`, ...annotation } })
  })
}

const rename = route("POST", "/api/sessions/streams/header", HeaderBody, (header, { query }) => {
  const session_id = query.get("session_id") ?? ""
  return session_id === "" ? problem(422, "session_id is missing") : ok({ session_id, ...header })
})

export const routes = (handlers: ReadonlyMap<string, Handler>): ReadonlyArray<Route> => [
  discover,
  gateway([], handlers),
  annotate(),
  rename
]
