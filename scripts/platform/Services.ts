/**
 * What the reference platform has beside workflows, in memory: a gateway to actions of third parties (which are made up and
 * reach nobody), annotations, schedules and the names of sessions.
 */
import { Schema } from "effect"
import type { Json } from "../../src/Canonical.ts"
import { isJsonObject } from "../../src/call/BodyPath.ts"
import type { JsonObject } from "../../src/call/BodyPath.ts"
import { bounds_result, readJson } from "../../src/entry/BoundedJson.ts"
import type { Route } from "./Route.ts"
import { Id, Members, route } from "./Route.ts"
import type { Reply } from "./Wire.ts"
import { ok, problem } from "./Wire.ts"

/** The most of each kind that are kept. */
const kept_max = 10_000

interface Action {
  readonly provider: string
  readonly integration: string
  readonly action: string
  /** Absent = nobody has connected it. */
  readonly connection?: string
  readonly description: string
}

const actions: ReadonlyArray<Action> = [
  {
    provider: "composio",
    integration: "github",
    action: "create_issue",
    connection: "my-gh",
    description: "Opens an issue in a repository."
  },
  {
    provider: "composio",
    integration: "slack",
    action: "send_message",
    description: "Sends a message to a channel."
  }
]

const DiscoverBody = Schema.Struct({
  use_cases: Schema.Array(Schema.String.check(Schema.isMinLength(1))).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(50)
  ),
  provider: Schema.optionalKey(Id),
  limit_alternatives: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 }))
  )
})

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

const ScheduleBody = Schema.Struct({
  schedule: Schema.Struct({
    name: Id,
    description: Schema.optionalKey(Schema.String),
    data: Schema.Struct({
      event_key: Id,
      schedule: Schema.String.check(
        Schema.isPattern(/^\S+(?: \S+){4}$/, { description: "five fields of cron" })
      ),
      inputs_fields: Schema.optionalKey(Members),
      references: Schema.Struct({ workflow_variant: Schema.Struct({ id: Id }) })
    })
  })
})

const HeaderBody = Schema.Struct({
  name: Schema.String.check(Schema.isPattern(/\S/), Schema.isMaxLength(200)),
  description: Schema.optionalKey(Schema.String)
})

const Nothing = Schema.Struct({})

const wordsOf = (text: string): ReadonlyArray<string> =>
  text.toLowerCase().match(/[a-z]{3,}/g) ?? []

/** How many words of a use case an action has. */
const fits = (use_case: string, { action, description, integration }: Action): number => {
  const known = new Set(wordsOf(`${integration} ${action} ${description}`))
  return wordsOf(use_case).filter((word) => known.has(word)).length
}

const discover = route(
  "POST",
  "/api/tools/discover",
  DiscoverBody,
  ({ limit_alternatives = 3, provider = "composio", use_cases }) => {
    const results = use_cases.map((use_case) => {
      const matches = actions
        .filter((each) => each.provider === provider && fits(use_case, each) > 0)
        .sort((a, b) => fits(use_case, b) - fits(use_case, a))
        .slice(0, limit_alternatives + 1)
        .map(({ connection, ...action }) => ({ ...action, connected: connection !== undefined }))
      return { use_case, matches }
    })
    return ok({ count: results.length, results })
  }
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
const gateway = (issues: Array<string>) =>
  route("POST", "/api/tools/call", CallBody, ({ data }) => {
    const found = actions.find(
      ({ action, connection, integration, provider }) =>
        connection !== undefined &&
        data.function.name === `tools.${provider}.${integration}.${action}.${connection}`
    )
    if (/^(?:workflow|tools\.agenta)\./.test(data.function.name)) {
      return problem(404, "the gateway has no workflows and no operations of the platform")
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

const noSchedule = problem(404, "there is no such schedule")

const schedules = (): ReadonlyArray<Route> => {
  const kept = new Map<string, JsonObject>()
  let made = 0
  return [
    route("POST", "/api/triggers/schedules/", ScheduleBody, ({ schedule }) => {
      if (kept.size >= kept_max) return problem(507, "there are too many schedules")
      const id = `schedule-${++made}`
      const whole: JsonObject = { id, ...schedule, is_active: true }
      kept.set(id, whole)
      return ok({ count: 1, schedule: whole })
    }),
    route("DELETE", "/api/triggers/schedules/{id}", Nothing, (_, { params: { id = "" } }) =>
      kept.delete(id) ? ok({ count: 1 }) : noSchedule
    ),
    route("POST", "/api/triggers/schedules/{id}/stop", Nothing, (_, { params: { id = "" } }) => {
      const found = kept.get(id)
      if (found === undefined) return noSchedule
      const stopped = { ...found, is_active: false }
      kept.set(id, stopped)
      return ok({ count: 1, schedule: stopped })
    })
  ]
}

const rename = route("POST", "/api/sessions/streams/header", HeaderBody, (header, { query }) => {
  const session_id = query.get("session_id") ?? ""
  return session_id === "" ? problem(422, "session_id is missing") : ok({ session_id, ...header })
})

export const routes = (): ReadonlyArray<Route> => [
  discover,
  gateway([]),
  annotate(),
  ...schedules(),
  rename
]
