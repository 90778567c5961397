/**
 * Rate limits of what people do in Slack: each user, and the workspace as a whole, in this process. Only what would reach an
 * agent or a question is counted, and only of users that are somebody here, so that there are few counts to keep.
 */
import { Duration, Effect } from "effect"
import { RateLimiter } from "effect/persistence"
import type { IngressAnswer } from "../../../services/ChannelIngress.ts"
import { SlackConfig } from "./SlackConfig.ts"

/** As for people who use the HTTP API. */
const user_per_minute = 300
const team_per_minute = 1_200

/** Slack sends an event again after a failure, the last time some minutes later. */
const refused = (whose: string, limit: number, wait: Duration.Duration): IngressAnswer => {
  const retry_after_s = Math.max(1, Math.ceil(Duration.toMillis(wait) / 1_000))
  return {
    status: 429,
    retry_after_s,
    body: `at most ${limit} messages and clicks a minute are taken ${whose}; try again in ${retry_after_s} s`
  }
}

/** Counts what a user does; gives the refusal where it is too much. Buckets refill evenly and hold one minute's tokens. */
export type SlackCount = (user: string) => Effect.Effect<IngressAnswer | undefined>

export const makeSlackCount: Effect.Effect<
  SlackCount,
  never,
  SlackConfig | RateLimiter.RateLimiter
> = Effect.gen(function* () {
  const limiter = yield* RateLimiter.RateLimiter
  const config = yield* SlackConfig
  const bucket = (key: string, whose: string, limit: number) =>
    limiter.consume({ algorithm: "token-bucket", window: "1 minute", limit, key }).pipe(
      Effect.as(undefined),
      Effect.catch(({ reason }) =>
        // A store in memory always answers.
        reason._tag === "RateLimitExceeded"
          ? Effect.succeed(refused(whose, limit, reason.retryAfter))
          : Effect.die(reason)
      )
    )
  const ofUser = config.user_per_minute ?? user_per_minute
  const ofTeam = config.team_per_minute ?? team_per_minute
  return Effect.fnUntraced(function* (user) {
    const refusal = yield* bucket(`user ${user}`, "from one user", ofUser)
    return refusal ?? (yield* bucket("team", "from one workspace", ofTeam))
  })
})
