/** What must not be seen of a run with direct calls: secrets and hosts, and a platform that quotes them in every answer. */
import type { ToolConfig } from "../../src/call/ToolConfig.ts"

export const authorization = "ApiKey canary-authorization"
export const host = "canary-host.internal.example"
/** None may be seen; those of the upstream's bodies and of the scripts' streams too. */
export const canaries = ["canary-authorization", "canary-token", "canary-body", "canary-stream"]

export const direct = (name: string): ToolConfig => ({
  kind: "callback",
  name,
  call: { method: "POST", path: `/api/${name}` }
})
const code = (name: string, script: string): ToolConfig => ({
  type: "code",
  name,
  secrets: ["TOKEN"],
  script
})
export const tools: ReadonlyArray<ToolConfig> = [
  direct("echo"),
  direct("detail"),
  direct("nested"),
  direct("html"),
  direct("moved"),
  { type: "gateway", integration: "github", action: "star", connection: "gh", name: "star" },
  { type: "reference", slug: "summarize", name: "summarize" },
  code("gives", "export default () => ({ got: process.env.TOKEN })"),
  code("throws", "export default () => { throw new Error(process.env.TOKEN) }"),
  code(
    "refuses",
    'export default () => { throw Object.assign(new Error("no " + process.env.TOKEN), { name: "ToolUserError" }) }'
  ),
  code(
    "prints",
    'export default () => { console.log("canary-stream", process.env.TOKEN); console.error("canary-stream"); process.exit(3) }'
  )
]

interface Answer {
  readonly status?: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Quotes what it was sent and where it runs, in each place of an answer. */
export const answers = (at: string): Readonly<Record<string, Answer>> => ({
  "/api/echo": { body: JSON.stringify({ sent: { [authorization]: authorization } }) },
  "/api/detail": {
    status: 422,
    body: JSON.stringify({ detail: `canary-authorization is not known at http://${at}/api/x` })
  },
  "/api/nested": {
    status: 500,
    body: JSON.stringify({
      detail: [{ key: authorization, url: `${host}/y` }],
      trace: "canary-body"
    })
  },
  "/api/html": { status: 503, body: `<html>canary-body ${authorization} ${at}</html>` },
  "/api/moved": {
    status: 307,
    body: "canary-body",
    headers: { location: `http://${at}/canary-body` }
  },
  "/api/tools/call": {
    body: JSON.stringify({
      call: {
        data: { content: `no ${authorization} at http://${at}/z` },
        status: { code: "STATUS_CODE_ERROR" }
      }
    })
  },
  "/api/workflows/invoke": { status: 503, body: JSON.stringify({ error: "canary-body", host }) },
  "/page": { body: `you are ${authorization}`, headers: { etag: `"canary-authorization"` } }
})
