/**
 * `troupe token`: makes, lists and revokes tokens of the HTTP API in the store, also where no service runs.
 */
import * as NodeCrypto from "@effect/platform-node-shared/NodeCrypto"
import { Effect, Layer, Result, Schema } from "effect"
import type { Digest } from "effect/crypto"
import { SecureRandom } from "effect/crypto"
import { Argument, Command, Flag } from "effect/cli"
import type * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { methodOf } from "../../layers/compose/promises/DerivedMethods.ts"
import * as Tokens from "../../layers/service/TokenEffects.ts"
import { TokenId } from "../../src/value/Ids.ts"
import type { AccessToken } from "../../src/permission/AccessToken.ts"
import { everyItem } from "../../src/value/Pages.ts"
import { DeclaredRoles, declaredRoles, unknownRole } from "../../src/principal/Rights.ts"
import { common_roles, roles_max } from "../../src/principal/Principal.ts"
import { oneLine } from "../chat/View.ts"
import { loadApp } from "../command/AppModule.ts"
import { optionalText, unreadableCommand, wholeNumber } from "../command/CommandLine.ts"
import type { Place } from "./Operator.ts"
import { operator, place } from "./Operator.ts"
import { endWith, overStore, say, where } from "./Stored.ts"

const day_ms = 86_400_000
const page_max = 500
const days_max = 366

const crypto = Layer.merge(NodeCrypto.layerDigest, SecureRandom.layerWebCrypto)

/** Does something in the store that the command names. Sets the exit code 1 where it fails. */
const inStore = <E>(
  { data, tenant }: Place,
  does: (
    by: ReturnType<typeof operator>
  ) => Effect.Effect<void, E, Stores.Stores | Digest.Digest | SecureRandom.SecureRandom>
) => {
  const work = Effect.provide(
    Effect.suspend(() => does(operator(tenant))),
    crypto
  )
  return endWith(Effect.as(overStore(data, work), 0), "not done")
}

const date = (at: number) => new Date(at).toISOString().replace(/\.\d+Z$/, "Z")

const stateOf = ({ expires_at, last_used_at, revoked_at, revoked_by }: AccessToken): string => {
  if (revoked_at !== undefined) return `revoked ${date(revoked_at)} by ${oneLine(revoked_by ?? "")}`
  const ends = expires_at <= Date.now() ? "expired" : "expires"
  const used = last_used_at === undefined ? "not used" : `used ${date(last_used_at)}`
  return `${ends} ${date(expires_at)}, ${used}`
}

const lineOf = (token: AccessToken): string =>
  [
    token.id,
    oneLine(token.name),
    `${oneLine(token.principal)} (${token.roles.join(", ")})`,
    stateOf(token)
  ].join("  ")

/** The roles that a module declares. */
const rolesIn = (app: string | undefined) =>
  app === undefined
    ? Effect.succeed<DeclaredRoles>(new Map())
    : Effect.flatMap(loadApp(app), ({ roles = {} }) => declaredRoles(roles, "roles"))

const create = Command.make(
  "create",
  {
    ...place,
    name: Argument.String("name").pipe(
      Argument.withMetavar("NAME"),
      Argument.withDescription("what it is for, as lists show it")
    ),
    roles: Flag.String("role").pipe(
      Flag.withMetavar("ROLE"),
      Flag.withDescription(
        `what its bearer may do: ${common_roles.join(", ")}, or a role of --app; given several times for several roles`
      ),
      Flag.between(1, roles_max)
    ),
    app: optionalText("app", "FILE", "a module whose export `roles` declares roles"),
    principal: optionalText("principal", "ID", "whom it stands for (its name)"),
    days: wholeNumber("days", 1, "how long it holds, to 366 (90)").pipe(
      Flag.filter(
        (days) => days <= days_max,
        () => `a token holds ${days_max} days at most`
      ),
      Flag.withDefault(90)
    )
  },
  Effect.fnUntraced(function* ({ app, days, name, principal, roles, ...rest }) {
    const read = yield* Effect.result(rolesIn(app))
    if (Result.isFailure(read)) return yield* endWith(Effect.fail(read.failure), "not done")
    const unknown = unknownRole(roles, read.success)
    if (unknown !== undefined) {
      return yield* unreadableCommand(["troupe", "token", "create"], unknown[1])
    }
    const wanted = { name, roles, principal: principal ?? name, holds_ms: days * day_ms }
    yield* inStore(
      rest,
      Effect.fnUntraced(
        function* (by) {
          const made = yield* methodOf(Tokens.create)(wanted, by)
          const text = `${made.token}\n\nShown this once. ${lineOf(made)}`
          yield* say(rest.json ? JSON.stringify(made) : text)
        },
        Effect.provideService(DeclaredRoles, read.success)
      )
    )
  })
).pipe(Command.withDescription("Makes a token and prints it once; the store keeps its SHA-256."))

const list = Command.make("list", place, (given) =>
  inStore(
    given,
    Effect.fnUntraced(function* (by) {
      const found = yield* everyItem(page_max, (last: AccessToken | undefined) =>
        methodOf(Tokens.list)({ limit: page_max, ...(last && { after: last.id }) }, by)
      )
      const lines = found.length === 0 ? "no tokens" : found.map(lineOf).join("\n")
      yield* say(given.json ? JSON.stringify(found) : lines)
    })
  )
).pipe(Command.withDescription("Lists the tokens of a tenant, newest first, without their texts."))

const revoke = Command.make(
  "revoke",
  {
    ...place,
    id: Argument.String("id").pipe(
      Argument.filterMap(
        (text) => Schema.decodeUnknownOption(TokenId)(text.toLowerCase()),
        (text) => `"${text}" is no id of a token: troupe token list shows them`
      ),
      Argument.withMetavar("ID"),
      Argument.withDescription("the token's id, as the list shows it")
    )
  },
  ({ id, ...rest }) =>
    inStore(
      rest,
      Effect.fnUntraced(function* (by) {
        const revoked = yield* methodOf(Tokens.revoke)(id, by)
        yield* say(rest.json ? JSON.stringify(revoked) : lineOf(revoked))
      })
    )
).pipe(Command.withDescription("Revokes a token: from then on no process takes it."))

export const tokenCommand = Command.make("token").pipe(
  Command.withDescription(
    `Makes, lists and revokes tokens of the HTTP API, in the store of a service. A PostgreSQL server may have services
  running over it; a directory may not: there an admin uses /v1/tokens.

${where}`
  ),
  Command.withShortDescription("makes, lists and revokes tokens of the HTTP API"),
  Command.withSubcommands([create, list, revoke])
)
