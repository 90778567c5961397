/** Workflows of the reference platform, in memory: variants with revisions, queried, committed and run. */
import { Schema } from "effect"
import type { Json } from "../../../src/value/Canonical.ts"
import type { WorkflowRevision } from "../../../src/call/ToolConfig.ts"
import { valueAt } from "../../../src/call/BodyPath.ts"
import type { JsonObject } from "../../../src/call/BodyPath.ts"
import { nestingOf } from "../../../src/run/Nesting.ts"
import type { Asked, Route } from "./Route.ts"
import { Id, Members, route } from "./Route.ts"
import { ok, problem } from "./Wire.ts"

/** A workflow with its one variant, and the first revision of that. */
export interface Seed {
  readonly id: string
  readonly slug: string
  readonly name: string
  readonly variant: string
  readonly revision: string
  readonly data: JsonObject
  /** Absent = it cannot be run. */
  readonly input_schema?: JsonObject
  /** Runs it in another system. Absent = it summarizes its input. */
  readonly run?: (inputs: JsonObject, asked: Asked) => Promise<Ran>
}

/** What running a workflow gave. */
export interface Ran {
  readonly outputs: Json
  /** What it spent on models (`layers/calls/DirectCall.ts`). Absent = nothing. */
  readonly usage?: Json
}

export interface Revision {
  readonly id: string
  readonly variant: string
  readonly version: number
  readonly message: string
  readonly data: JsonObject
}

interface Workflow extends Seed {
  /** Absent = nobody has described it. */
  readonly description?: string

  /** Oldest first; never empty. */
  readonly revisions: Array<Revision>
}

const revisions_max = 10_000
const page_max = 100
const words_default = 8

const QueryBody = Schema.Struct({
  workflow: Schema.optionalKey(Members),
  workflow_refs: Schema.optionalKey(
    Schema.Array(Schema.Struct({ id: Schema.optionalKey(Id), slug: Schema.optionalKey(Id) })).check(
      Schema.isMaxLength(page_max)
    )
  ),
  include_archived: Schema.optionalKey(Schema.Boolean),
  windowing: Schema.optionalKey(
    Schema.Struct({
      limit: Schema.optionalKey(
        Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: page_max }))
      ),
      order: Schema.optionalKey(Schema.Literals(["ascending", "descending"])),
      next: Schema.optionalKey(Id)
    })
  )
})
type QueryBody = typeof QueryBody.Type

const CommitBody = Schema.Struct({
  workflow_revision: Schema.Struct({
    workflow_variant_id: Id,
    expected_revision_id: Schema.optionalKey(Id),
    message: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1_000))),
    data: Schema.optionalKey(Members)
  })
})

const InvokeBody = Schema.Struct({
  references: Schema.Struct({ workflow_revision: Schema.Struct({ id: Id }) }),
  data: Schema.Struct({ inputs: Members })
})

const last = ({ revisions }: Workflow): Revision => revisions.at(-1) as Revision

const shown = ({ data, id, message, variant, version }: Revision) => ({
  id,
  workflow_variant_id: variant,
  version,
  message,
  data
})

const listed = (workflow: Workflow) => ({
  id: workflow.id,
  slug: workflow.slug,
  name: workflow.name,
  ...(workflow.description === undefined ? undefined : { description: workflow.description }),
  flags: { is_archived: false },
  latest_revision: shown(last(workflow))
})

/** Has the value each of these members, to any depth? */
const holds = (value: Json | undefined, members: Json): boolean =>
  typeof members === "object" && members !== null && !Array.isArray(members)
    ? typeof value === "object" &&
      value !== null &&
      !Array.isArray(value) &&
      Object.entries(members).every(
        ([name, each]) => Object.hasOwn(value, name) && holds((value as JsonObject)[name], each)
      )
    : JSON.stringify(value) === JSON.stringify(members)

const pageOf = (all: ReadonlyArray<Workflow>, query: QueryBody) => {
  const { workflow, workflow_refs, windowing = {} } = query
  const found = all.filter(
    (each) =>
      (workflow_refs === undefined ||
        workflow_refs.some(
          ({ id = each.id, slug = each.slug }) => id === each.id && slug === each.slug
        )) &&
      (workflow === undefined || holds(listed(each), workflow))
  )
  if (windowing.order !== "ascending") found.reverse()
  const from = found.findIndex(({ id }) => id === windowing.next) + 1
  const page = found.slice(from, from + (windowing.limit ?? page_max))
  const isLast = from + page.length >= found.length
  return {
    count: page.length,
    workflows: page.map(listed),
    ...(isLast ? undefined : { windowing: { next: page.at(-1)?.id ?? null } })
  }
}

/** What running a revision gives: as many first words of the text as its data says. */
const outputsOf = ({ data }: Revision, inputs: JsonObject): JsonObject => {
  const words = typeof data["words"] === "number" ? data["words"] : words_default
  const text = typeof inputs["text"] === "string" ? inputs["text"] : ""
  return { summary: text.split(/\s+/).slice(0, words).join(" ") }
}

export interface Workflows {
  readonly routes: ReadonlyArray<Route>
  /** The id of a variant's latest revision. */
  readonly latest: (variant: string) => string | undefined
  /** A variant's latest revision. */
  readonly current: (variant: string) => Revision | undefined
  /** Runs a revision of a stored variant, whose data may have been changed. */
  readonly run: (revision: Revision, inputs: JsonObject, asked: Asked) => Promise<Ran>
  /** What a reference such as `workflow.environment.production.summarize` stands for now. */
  readonly reference: (identity: string) => WorkflowRevision | undefined
}

type Find = (variant: string) => Workflow | undefined

const commit = (variantOf: Find): Route =>
  route(
    "POST",
    "/api/workflows/revisions/commit",
    CommitBody,
    ({ workflow_revision: { data, expected_revision_id, message = "", workflow_variant_id } }) => {
      const workflow = variantOf(workflow_variant_id)
      if (workflow === undefined) return problem(404, "there is no such workflow variant")
      const before = last(workflow)
      if (expected_revision_id !== undefined && expected_revision_id !== before.id) {
        return problem(
          409,
          `the variant has another latest revision ("${before.message}"): read it, and propose the change again`
        )
      }
      if (workflow.revisions.length >= revisions_max) {
        return problem(507, "the variant has too many revisions")
      }
      const { variant } = workflow
      const version = before.version + 1
      const id = `${variant}-r${version}`
      const made: Revision = { id, variant, version, message, data: data ?? before.data }
      workflow.revisions.push(made)
      return ok({ count: 1, workflow_revision: shown(made) })
    }
  )

const ranOf = async (
  workflow: Workflow,
  revision: Revision,
  inputs: JsonObject,
  asked: Asked
): Promise<Ran> =>
  workflow.run === undefined
    ? { outputs: outputsOf(revision, inputs) }
    : await workflow.run(inputs, asked)

/** How deep workflows may start one another here, whatever the runs' own bounds are. */
const nested_depth_max = 8

const invoke = (all: ReadonlyArray<Workflow>): Route =>
  route("POST", "/api/workflows/invoke", InvokeBody, async ({ data, references }, asked) => {
    const { baggage, trace_id } = asked
    const nesting = nestingOf(baggage)
    if (nesting._tag === "Failure") return problem(400, nesting.failure)
    if ((nesting.success?.depth ?? 0) > nested_depth_max) {
      return problem(403, `workflows may start one another ${nested_depth_max} deep`)
    }
    const { id } = references.workflow_revision
    const workflow = all.find(({ revisions }) => revisions.some((each) => each.id === id))
    const revision = workflow?.revisions.find((each) => each.id === id)
    if (workflow?.input_schema === undefined || revision === undefined) {
      return problem(404, "there is no such revision that can be run")
    }
    const { outputs, usage } = await ranOf(workflow, revision, data.inputs, asked)
    return ok({ data: { outputs }, trace_id, ...(usage === undefined ? undefined : { usage }) })
  })

const RenameBody = Schema.Struct({
  workflow: Schema.Struct({
    id: Id,
    name: Schema.String.check(Schema.isPattern(/\S/), Schema.isMaxLength(120)),
    description: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(300)))
  })
})

const rename = (all: Array<Workflow>): Route =>
  route("PUT", "/api/workflows/{workflow_id}", RenameBody, ({ workflow }, { params }) => {
    const at = all.findIndex(({ id }) => id === params["workflow_id"])
    const found = all[at]
    if (found === undefined) return problem(404, "there is no such workflow")
    if (workflow.id !== found.id) return problem(422, "the body names another workflow")
    all[at] = { ...found, ...workflow }
    return ok({ count: 1, workflow: listed(all[at]) })
  })

/** What is asked of a host with each question: which run asks, and for which deployment. */
const asking = {
  ...Object.fromEntries(
    ["call", "conversation", "principal", "run", "tenant", "trace_id"].map(
      (name) => [name, Schema.optionalKey(Id)] as const
    )
  ),
  identity: Members
}
const ContextBody = Schema.Struct(asking)
const ReferenceBody = Schema.Struct({ ...asking, reference: Id })

const firstOf = ({ data, revision, variant }: Seed): Revision => ({
  id: revision,
  variant,
  version: 1,
  message: "Made.",
  data
})

const referenced = /^workflow\.(?:environment\.production|variant)\.([^.]+)$/

export const make = (seeds: ReadonlyArray<Seed>): Workflows => {
  const all = seeds.map((seed): Workflow => ({ ...seed, revisions: [firstOf(seed)] }))
  const variantOf: Find = (variant) => all.find((each) => each.variant === variant)
  const latest: Workflows["latest"] = (variant) => {
    const workflow = variantOf(variant)
    return workflow === undefined ? undefined : last(workflow).id
  }
  const reference: Workflows["reference"] = (identity) => {
    const slug = referenced.exec(identity)?.[1]
    const workflow = all.find((each) => each.slug === slug)
    return workflow?.input_schema === undefined
      ? undefined
      : { revision: last(workflow).id, input_schema: workflow.input_schema }
  }
  return {
    routes: [
      route("POST", "/api/workflows/query", QueryBody, (body) => ok(pageOf(all, body))),
      commit(variantOf),
      invoke(all),
      rename(all),
      route("POST", "/api/runs/context", ContextBody, ({ identity }) => {
        const id = valueAt(identity, ["workflow", "variant", "id"])
        const revision = typeof id === "string" ? latest(id) : undefined
        return ok({ workflow: revision === undefined ? {} : { latest_revision_id: revision } })
      }),
      route("POST", "/api/workflows/revisions/resolve", ReferenceBody, (asked) => {
        const found = reference(asked.reference)
        return found === undefined
          ? problem(404, "there is no such workflow")
          : ok({ revision: found.revision, input_schema: found.input_schema })
      })
    ],
    latest,
    current: (variant) => {
      const workflow = variantOf(variant)
      return workflow === undefined ? undefined : last(workflow)
    },
    run: (revision, inputs, asked) => {
      const workflow = variantOf(revision.variant)
      return workflow === undefined
        ? Promise.reject(new Error("there is no such variant"))
        : ranOf(workflow, revision, inputs, asked)
    },
    reference
  }
}
