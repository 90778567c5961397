/** A platform on loopback, and runtimes whose configured tools call it. */
import type { ServerResponse } from "node:http"
import { Effect } from "effect"
import type { Scope } from "effect"
import type { Options } from "../../layers/calls/ConfiguredTools.ts"
import * as ConfiguredTools from "../../layers/calls/ConfiguredTools.ts"
import { handlerEffect } from "../../layers/runtime/tool/HandlerEffect.ts"
import * as HostPlatform from "./host/HostPlatform.ts"
import type { ToolConfig } from "../../src/call/ToolConfig.ts"
import type { CallContext, GovernedTool } from "../../src/tool/GovernedTool.ts"
import { contextOf } from "../tool/CallContexts.ts"
import type { Seen, Web } from "./Web.ts"
import { web } from "./Web.ts"

export interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** The reference platform, which stores the variant `own-variant` and lets in who has the authorization. */
export const hostPlatform = (authorization: string) =>
  HostPlatform.start({
    authorization,
    workflows: [
      {
        id: "own-workflow",
        slug: "own",
        name: "The own workflow",
        variant: "own-variant",
        revision: "revision-own",
        data: {}
      }
    ]
  })

/** For answers that no sound platform gives: answers each request with what `answer` gives; 200 and `{}` where that is nothing. */
export const platform = (
  answer: (request: Seen) => Reply | undefined = () => undefined
): Effect.Effect<Web, never, Scope.Scope> =>
  web((request: Seen, response: ServerResponse) => {
    const { body = "{}", headers = {}, status = 200 } = answer(request) ?? {}
    response.writeHead(status, { "content-type": "application/json", ...headers })
    response.end(body)
  })

export const endpointOf = ({ port }: Pick<Web, "port">): string =>
  `http://127.0.0.1:${port}/api/tools/call`

/** The configured tools over a platform. */
export const configured = (
  at: Pick<Web, "port">,
  tools: ReadonlyArray<ToolConfig>,
  more: Partial<Options> = {}
) => ConfiguredTools.tools({ tools, callback: { endpoint: endpointOf(at) }, ...more })

/** A call as the gate makes it. */
export const call = (more: Partial<CallContext> = {}) =>
  contextOf({
    run: "00000000-0000-4000-8000-000000000000" as CallContext["run"],
    call: "0/1.0" as CallContext["call"],
    conversation: "conversation-own" as CallContext["conversation"],
    tenant: "acme" as CallContext["tenant"],
    trace_id: "0af7651916cd43dd8448eb211c80319c",
    principal: "alice",
    ...more
  })

/** Runs a tool's body on arguments that its input takes. */
export const runBody = (
  tool: GovernedTool | undefined,
  args: unknown,
  more: Partial<CallContext> = {}
): Effect.Effect<unknown, unknown> =>
  Effect.gen(function* () {
    if (tool === undefined) return yield* Effect.die(new Error("there is no such tool"))
    const decoded = yield* tool.decode(args)
    return yield* Effect.provideContext(
      handlerEffect(tool.handler, decoded, call(more)),
      tool.services
    )
  })
