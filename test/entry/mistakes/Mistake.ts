/** What somebody who knows another library writes first, and the message that comes of it. */
import type { AgentOptions } from "../../../src/agent/DeclaredAgent.ts"
import { agent } from "../../../src/agent/DeclaredAgent.ts"
import type { DeclaredTool } from "../../../src/tool/DeclaredTool.ts"
import { tool } from "../../../src/tool/DeclaredTool.ts"
import { start } from "../../../layers/compose/entries/Embed.ts"
import type { NodeService } from "../../../layers/compose/promises/NodeService.ts"
import type { Options } from "../../../layers/compose/options/ServiceOptions.ts"
import { scripted, text } from "../../../layers/model/tape/ScriptedModelGateway.ts"

/** What was written, the attempt, and the whole message of its error. */
export type Mistake = readonly [
  what: string,
  attempt: (troupe: NodeService) => unknown,
  message: string
]

/** Types are cast, because most mistakes do not compile. */
const any = <A>(value: unknown) => value as A

const model = scripted(() => text("hello"))

/** A tool and an agent without a mistake, as those of the other library would be. */
export const refund = tool(
  { namespace: "shop", name: "refund", side_effects: "external" },
  () => "paid back"
)
export const shop = agent({ name: "shop", instructions: "Help." })

/** A start with these options beside the needed ones. */
export const starting = (options: object) =>
  start({ agents: [shop], model, ...any<Partial<Options>>(options) })

/** A start with an agent of these members beside the needed ones. */
export const declaring = (members: object) =>
  starting({
    tools: [refund],
    agents: [agent(any<AgentOptions<never>>({ name: "shop", instructions: "Help.", ...members }))]
  })

/** A start with a tool of these options. */
export const tooling = (...args: ReadonlyArray<unknown>) =>
  starting({
    tools: [
      any<(...args: ReadonlyArray<unknown>) => DeclaredTool<never, never, never>>(tool)(...args)
    ]
  })

/** What a tool needs. */
export const named = { namespace: "shop", name: "refund", side_effects: "external" }

/** The first part of what a method gives, if it is a stream. */
const first = (stream: AsyncIterable<unknown>) => stream[Symbol.asyncIterator]().next()

/** A method with any arguments. */
export const call = (
  troupe: NodeService,
  method: keyof NodeService,
  ...args: ReadonlyArray<unknown>
) => any<(...args: ReadonlyArray<unknown>) => Promise<unknown>>(troupe[method])(...args)

/** A stream with any arguments, until its first part. */
export const streamed = (troupe: NodeService, ...args: ReadonlyArray<unknown>) =>
  first(any<(...args: ReadonlyArray<unknown>) => AsyncIterable<unknown>>(troupe.stream)(...args))
