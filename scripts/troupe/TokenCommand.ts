/**
 * `troupe token`: makes, lists and revokes tokens of the HTTP API in the store, also where no service runs.
 */
import { Effect, Result, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { TokenId } from "../../src/value/Ids.ts"
import type { AccessToken } from "../../src/permission/AccessToken.ts"
import { everyItem } from "../../src/value/Pages.ts"
import type { DeclaredRoles } from "../../src/principal/Rights.ts"
import { declaredRoles, unknownRole } from "../../src/principal/Rights.ts"
import { common_roles, roles_max } from "../../src/principal/Principal.ts"
import { oneLine } from "../chat/View.ts"
import { loadApp } from "../command/AppModule.ts"
import { optionalText, unreadableCommand, wholeNumber } from "../command/CommandLine.ts"
import { inStore, place } from "./Operator.ts"
import { endWith, where } from "./Stored.ts"

const day_ms = 86_400_000
const page_max = 500
const days_max = 366

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
      (troupe, by) => troupe.createToken(wanted, by),
      (made) => `${made.token}\n\nShown this once. ${lineOf(made)}`,
      Effect.succeed({ roles: Object.fromEntries(read.success) })
    )
  })
).pipe(Command.withDescription("Makes a token and prints it once; the store keeps its SHA-256."))

const list = Command.make("list", place, (given) =>
  inStore(
    given,
    (troupe, by) =>
      everyItem(page_max, (last: AccessToken | undefined) =>
        troupe.tokens({ limit: page_max, ...(last && { after: last.id }) }, by)
      ),
    (found) => (found.length === 0 ? "no tokens" : found.map(lineOf).join("\n"))
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
  ({ id, ...rest }) => inStore(rest, (troupe, by) => troupe.revokeToken(id, by), lineOf)
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
