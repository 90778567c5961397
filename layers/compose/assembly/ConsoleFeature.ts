/** The console as a feature: its pages beside the API, and the table of its sessions. Loaded only where it is asked for. */
import { Effect, Layer } from "effect"
import type { Redacted } from "effect"
import { pages } from "../../console/Console.ts"
import type { IdentityProvider } from "../../console/IdentityProvider.ts"
import { makeIdentityProvider } from "../../console/IdentityProvider.ts"
import type { OpenIdOptions } from "../../console/OpenIdOptions.ts"
import { providerPages } from "../../console/ProviderRoutes.ts"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import { parameterOf, recordLists } from "../../console/RecordLists.ts"
import { recordRoutes } from "../../console/RecordRoutes.ts"
import { signInLink } from "../../console/Sessions.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import type { AddedGroup } from "../../service/AddedGroups.ts"
import { AddedGroups } from "../../service/AddedGroups.ts"
import * as StoredConsoleSessions from "../../stores/StoredConsoleSessions.ts"
import type { AddedPage } from "../../http/boundary/AddedPages.ts"
import { AddedPages } from "../../http/boundary/AddedPages.ts"
import type { ConsoleSettings } from "../options/CheckedConsole.ts"
import type { AnyFeature } from "../options/Feature.ts"

const path_default = "/console"

/** The pages as the server around them has them, under the path of these settings: also of the records of other features. */
const pagesAt = (
  path: ConsoleSettings["path"],
  provider: IdentityProvider | undefined,
  groups: ReadonlyArray<AddedGroup>
): ReadonlyArray<AddedPage> => {
  const lists = recordLists(groups)
  const records = lists.map(({ item, name, path, served }) => ({
    name,
    path,
    right: served.operation.right,
    id: item && parameterOf(item)
  }))
  const provided = provider === undefined ? [] : providerPages(provider)
  return [...pages, ...recordRoutes(lists), ...provided].map((page) => ({
    method: page.method,
    path: `${path}${page.path.slice(path_default.length)}`,
    answer: (surface) => page.answer({ ...surface, path, provider, records })
  }))
}

/** The provider, whose client is loaded. It is asked for nothing yet. Fails if the client is not installed. */
const providerOf = Effect.fnUntraced(function* (options: OpenIdOptions) {
  const client = yield* Effect.tryPromise({
    try: () => import("openid-client"),
    catch: () => {
      const reason = "it needs a package: npm install openid-client"
      return new InvalidInput({ field: "console.openid", reason })
    }
  })
  return yield* makeIdentityProvider(client, options)
})

/** Fails where the settings need a package that is not installed. */
export const consoleFeature = Effect.fnUntraced(function* ({ openid, path }: ConsoleSettings) {
  const provider = openid === undefined ? undefined : yield* providerOf(openid)
  const added: AnyFeature = {
    name: "console",
    groups: [],
    tools: [],
    deliveries: [],
    events: { handlers: {}, topics: [] },
    tables: [StoredConsoleSessions.sessions],
    migrations: StoredConsoleSessions.migrations,
    layer: Layer.merge(
      StoredConsoleSessions.layer,
      Layer.effect(
        AddedPages,
        Effect.map(AddedGroups, (groups) => pagesAt(path, provider, groups))
      )
    ),
    over: Layer.empty
  }
  return added
})

/**
 * The path of a link that signs in once, within an hour, with a token of this tenant. Over the layer of a start with `console: true`,
 * which has the services that it needs: types do not say those of features.
 */
export const signInPath = (tenant: Tenant, token: Redacted.Redacted) =>
  Effect.map(signInLink(tenant, token), (link) => path_default + link) as Effect.Effect<
    string,
    Effect.Error<ReturnType<typeof signInLink>>
  >
