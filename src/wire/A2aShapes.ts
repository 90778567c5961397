/** Objects of the Agent2Agent protocol (A2A) 1.0 in its JSON, its errors, and the card of an agent. */
import type { AgentSpec } from "../agent/AgentSpec.ts"
import type { Part } from "../conversation/Part.ts"
import type { Problem } from "../operation/Problem.ts"
import { defined } from "../value/PlainObject.ts"
import type { RpcRefusal } from "./JsonRpc.ts"
import { rpc_codes } from "./JsonRpc.ts"

export type Members = Readonly<Record<string, unknown>>

export const a2a_states = [
  "TASK_STATE_SUBMITTED",
  "TASK_STATE_WORKING",
  "TASK_STATE_INPUT_REQUIRED",
  "TASK_STATE_COMPLETED",
  "TASK_STATE_FAILED",
  "TASK_STATE_CANCELED"
] as const
export type A2aState = (typeof a2a_states)[number]

const json_type = "application/json"

export const dataPart = (data: unknown): Members => ({ data, mediaType: json_type })

/** A part of a message or an answer. `fileAt`: the URL of a file by its digest. */
export const partOf = (part: Part, fileAt: (digest: string) => string): Members =>
  part.type === "text"
    ? { text: part.text }
    : {
        url: fileAt(part.digest),
        mediaType: part.media_type,
        ...defined({ filename: part.name })
      }

/** The errors of the protocol (1.0, section 5.4): its code, and the reason that its details have. */
export const a2a_errors = {
  task: [-32_001, "TASK_NOT_FOUND"],
  over: [-32_002, "TASK_NOT_CANCELABLE"],
  push: [-32_003, "PUSH_NOTIFICATION_NOT_SUPPORTED"],
  unsupported: [-32_004, "UNSUPPORTED_OPERATION"],
  content: [-32_005, "CONTENT_TYPE_NOT_SUPPORTED"],
  version: [-32_009, "VERSION_NOT_SUPPORTED"]
} as const

/** Of what the protocol has no code for: the first one that a server may take for itself (JSON-RPC 2.0, section 5.1). */
export const own_code = -32_000

const infoOf = (reason: string, domain: string, metadata?: Record<string, string>): Members => ({
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  reason,
  domain,
  ...defined({ metadata })
})

/** An error of the protocol. Its clients read such errors only from answers with the status 200. */
export const a2aError = (
  which: keyof typeof a2a_errors,
  message: string,
  metadata?: Record<string, string>
): RpcRefusal => {
  const [code, reason] = a2a_errors[which]
  return { status: 200, code, message, data: [infoOf(reason, "a2a-protocol.org", metadata)] }
}

/** A member of the parameters that does not fit; `path`: where it is in them. */
export const wrongParam = (
  path: ReadonlyArray<string | number>,
  description: string
): RpcRefusal => {
  const field = path.join(".")
  return {
    status: 200,
    code: rpc_codes.params,
    message: field === "" ? description : `${field}: ${description}`,
    data: [
      {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        fieldViolations: [{ field, description }]
      }
    ]
  }
}

export const missingTask = a2aError("task", "There is no such task here that the caller may use.")

/** The details of a problem of the service. */
export const detailsOf = ({ type }: Problem): ReadonlyArray<Members> => {
  const name = type.slice(type.lastIndexOf(":") + 1)
  return [infoOf(name.replaceAll("-", "_").toUpperCase(), "troupe")]
}

/** A refusal of the service, of a request that was understood. */
export const refusalOf = (problem: Problem): RpcRefusal => {
  const { detail, errors, status } = problem
  const [issue] = errors ?? []
  if (issue !== undefined) return wrongParam(issue.path.slice(1), issue.message)
  if (status === 404) return missingTask
  if (status === 400 || status === 422) return wrongParam([], detail)
  return { status, code: own_code, message: detail, data: detailsOf(problem) }
}

/**
 * The card of an agent, without signatures; `url`: where it is served. No required member is empty, and the requirement names the right
 * that a token needs: verifiers do not agree on whether what is empty is signed.
 */
export const a2aCard = (
  { description: given, kind, name }: Pick<AgentSpec, "description" | "kind" | "name">,
  url: string
): Members => {
  const description = given === "" ? `The agent ${name}.` : given
  const modes = ["text/plain", json_type]
  return {
    name,
    description,
    version: "1",
    supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    capabilities: { streaming: true, pushNotifications: false },
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
    securityRequirements: [{ schemes: { bearer: { list: ["send"] } } }],
    defaultInputModes: [...modes, "application/octet-stream"],
    defaultOutputModes: modes,
    skills: [{ id: name, name, description, tags: [kind?.name ?? "agent"] }]
  }
}
