/**
 * Workflows that are stored on the platform, as tools. A workflow is chosen by variant or by environment. It is resolved to one
 * revision, which the fixed body of its calls names.
 */
import { Result, Schema } from "effect"
import { readJsonValue } from "../value/BoundedJson.ts"
import { issueText } from "../schema/SchemaIssues.ts"
import type { CallDescriptor } from "./CallDescriptor.ts"
import { WrittenSchema } from "./CallDescriptor.ts"
import type { ReferenceTool } from "./ToolConfig.ts"

/** `workflow.variant.{slug}[.{version}]` or `workflow.environment.{environment}.{slug}`. */
export const referenceIdentity = ({
  environment,
  ref_by = "variant",
  slug,
  version
}: ReferenceTool): string =>
  ref_by === "environment"
    ? `workflow.environment.${environment ?? ""}.${slug}`
    : `workflow.variant.${slug}${version === undefined ? "" : `.${version}`}`

export const referenceName = ({ name, slug }: ReferenceTool): string => name ?? slug

/** The id of the one revision that is run. */
const RevisionId = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500))
export const isRevisionId = Schema.is(RevisionId)

/** The platform's answer about a reference. */
const WorkflowRevision = Schema.Struct({
  revision: RevisionId,
  /** JSON Schema of the workflow's own inputs. */
  input_schema: WrittenSchema,
  description: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(4_000)))
})
export interface WorkflowRevision extends Schema.Schema.Type<typeof WorkflowRevision> {}

const decode = Schema.decodeUnknownResult(WorkflowRevision)

/** Decodes a copy of a host's answer about a reference. Fails with a sentence. */
export const decodeWorkflowRevision = (value: unknown): Result.Result<WorkflowRevision, string> => {
  const read = readJsonValue(value)
  return Result.isFailure(read)
    ? Result.fail(read.failure.message)
    : Result.mapError(decode(read.success), issueText)
}

/** The path of the body's field that names the revision. */
export const revision_place = "references.workflow_revision.id"

/** The request that runs a revision: the arguments are its inputs. */
export const invocationOf = (revision: string): CallDescriptor => ({
  method: "POST",
  path: "/api/workflows/invoke",
  body: { references: { workflow_revision: { id: revision } } },
  args_into: "data.inputs"
})
