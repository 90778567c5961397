/**
 * The configuration of one Slack workspace: its tenant, and the principals of its users.
 */
import { Context, Schema } from "effect"
import type { Redacted } from "effect"
import type { Tenant } from "../../../src/value/Ids.ts"
import { ChannelName } from "../../../src/conversation/ChannelBinding.ts"
import type { Principal } from "../../../src/principal/Principal.ts"

export const slack = ChannelName.make("slack")

export interface SlackUser {
  /** The user's id in Slack, such as `U012AB3CD`. */
  readonly user: string
  /** The principal that the user acts as. Its roles decide what the user may do. */
  readonly principal: Principal
}

export class SlackConfig extends Context.Service<
  SlackConfig,
  {
    /** The bot's token, with the scopes `chat:write` and those of the events. */
    readonly token: Redacted.Redacted
    /** The app's signing secret: it shows that a request comes from Slack. */
    readonly signing_secret: Redacted.Redacted
    /** The workspace's id, such as `T012AB3CD`; requests of another one are refused. */
    readonly team: string
    readonly tenant: Tenant
    /** The users who may act. All others may read but not act. */
    readonly people: ReadonlyArray<SlackUser>
    /** Absent = `https://slack.com/api`. */
    readonly api_url?: string | undefined
    /** How long one answer of Slack may take, in ms; absent = 10,000. */
    readonly timeout_ms?: number | undefined
    /**
     * The greatest number of messages and clicks of one user in a minute, at least 1; absent = 300. Further ones are refused
     * with 429.
     */
    readonly user_per_minute?: number | undefined
    /** The same limit for all users together; absent = 1,200. */
    readonly team_per_minute?: number | undefined
    /** Address ranges that may be reached although they are not public, such as `127.0.0.0/8`. Absent = none. */
    readonly allow_ranges?: ReadonlyArray<string> | undefined
  }
>()("troupe/layers/channel/SlackConfig") {}

/** The configuration is invalid. */
export class SlackMisconfigured extends Schema.TaggedError<SlackMisconfigured>()(
  "SlackMisconfigured",
  { field: Schema.String, message: Schema.String }
) {}
