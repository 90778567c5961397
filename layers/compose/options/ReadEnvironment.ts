/**
 * The environment as it is when a service starts. Effect reads it once a process, so a second service of the process would get
 * the address and key of the first.
 */
import { ConfigProvider, Effect, Layer } from "effect"
import type { Context } from "effect"

/** Reads the environment anew, unless the caller has a `ConfigProvider` of its own. */
export const readEnvironment = (): Layer.Layer<never> =>
  Layer.unwrap(
    Effect.contextWith((context: Context.Context<never>) =>
      Effect.succeed(
        context.mapUnsafe.has(ConfigProvider.ConfigProvider.key)
          ? Layer.empty
          : ConfigProvider.layer(ConfigProvider.fromEnv())
      )
    )
  )
