/** A service whose conversations are bound to a channel of a Slack that the tests play, and what it posts there. */
import { Effect, Layer, Redacted, Schema } from "effect"
import * as SlackChannel from "../../layers/channel/slack/SlackChannel.ts"
import * as SlackIngress from "../../layers/channel/slack/SlackIngress.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { ChannelName } from "../../src/conversation/ChannelBinding.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { eventually } from "../contracts/Contract.ts"
import * as S from "./Service.ts"
import type { SlackServer } from "./SlackServer.ts"
import { secret, slackServer, token } from "./SlackServer.ts"

export const channel = ChannelName.make("slack")
export const room = { channel, address: "C1", recipient: "olga" } as const
export const scan = ConversationId.make("event~scan:s-1")

export const people = [
  { user: "U-OLGA", principal: S.principal("olga", ["operator"]) },
  { user: "U-VERA", principal: S.principal("vera", ["viewer"]) }
]

export const configOf = (
  { url }: SlackServer,
  users: ReadonlyArray<SlackChannel.SlackUser> = people,
  limits: { readonly user_per_minute?: number; readonly team_per_minute?: number } = {}
) =>
  Layer.succeed(SlackChannel.SlackConfig, {
    token: Redacted.make(token),
    signing_secret: Redacted.make(secret),
    team: "T1",
    tenant: S.acme,
    people: users,
    api_url: url,
    timeout_ms: 1_000,
    allow_ranges: ["127.0.0.0/8"],
    ...limits
  })

export const applied: Array<string> = []
export const apply = tool(
  {
    namespace: "test",
    name: "apply",
    description: "Applies a change set.",
    side_effects: "external",
    input: Schema.Struct({ id: Schema.String })
  },
  async ({ id }) => {
    applied.push(id)
    return "applied"
  }
)

/** A service whose conversations are bound to a channel of this Slack and to the application. */
export const service = (slack: SlackServer, given: S.Given = {}) =>
  S.service(
    {
      bindings: [S.olga, room],
      adapters: [SlackChannel.adapter.pipe(Effect.provide(configOf(slack)))],
      ...given
    },
    Stores.ephemeral,
    SlackIngress.layer.pipe(Layer.provide(configOf(slack)))
  )

export const withSlack = <A, E>(
  use: (slack: SlackServer) => Effect.Effect<A, E, Layer.Success<ReturnType<typeof service>>>,
  given: S.Given = {}
) =>
  Effect.scoped(
    Effect.flatMap(slackServer, (slack) => Effect.provide(use(slack), service(slack, given)))
  )

export const posted = (slack: SlackServer, count: number) =>
  eventually(
    Effect.sync(() => slack.posted),
    (all) => all.length >= count
  )

/** The bodies of the calls of one method, once there are so many. */
export const sent = (slack: SlackServer, method: string, count = 1) =>
  Effect.map(
    eventually(
      Effect.sync(() => slack.posted.filter((each) => each.method === method)),
      (all) => all.length >= count
    ),
    (all) => all.map(({ body }) => body)
  )

export const told = (count: number) =>
  eventually(S.ask("/v1/notices", { as: "olga" }), ({ json }) => json.items.length >= count)

export const letters = eventually(
  S.ask("/v1/dead-letters", { as: "olga" }),
  ({ json }) => json.items.length > 0
)

export const asking = {
  model: [call("apply", { id: "cs-1" }), text("It is applied.")],
  tools: [apply]
}

export const question = eventually(
  ApprovalDesk.use((desk) => desk.pending(S.principal("olga", ["operator"]), 10)),
  (all) => all.length > 0
)
