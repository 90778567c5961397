/**
 * Providers that need only a name and the environment: Azure, Vertex, Bedrock, Mistral, Cohere and xAI. Each uses its AI SDK
 * package, an optional peer, with the values of its variables. A provider that needs more, such as a source of tokens, is
 * configured by a model object instead.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import { Effect, Redacted } from "effect"
import { ModelError } from "../../../services/ModelGateway.ts"
import { defined } from "../../../src/value/PlainObject.ts"
import { chatFetch, geminiFetch, wireFetch } from "../wire/ChatWire.ts"
import { loadPeer } from "./LoadPeer.ts"

type Values = Readonly<Record<string, string | undefined>>

interface Packaged {
  /** The name that OpenTelemetry's conventions have for it. */
  readonly semantic: string
  /** Lists of variables. All variables of at least one list have to be set. */
  readonly needs: ReadonlyArray<ReadonlyArray<string>>
  readonly may: ReadonlyArray<string>
  readonly client: (values: Values) => Effect.Effect<(id: string) => LanguageModelV4, ModelError>
}

/** Whether an API version is a date. Such versions belong to Azure's URLs by deployment, which have only chat completions. */
const isDated = (version: string | undefined): boolean => /^\d{4}-/.test(version ?? "")

const azure: Packaged = {
  semantic: "azure.ai.openai",
  needs: [
    ["AZURE_API_KEY", "AZURE_RESOURCE_NAME"],
    ["AZURE_API_KEY", "AZURE_BASE_URL"]
  ],
  may: ["AZURE_API_VERSION"],
  client: (values) =>
    Effect.map(
      loadPeer("@ai-sdk/azure", () => import("@ai-sdk/azure")),
      ({ createAzure }) => {
        const apiVersion = values["AZURE_API_VERSION"]
        const useDeploymentBasedUrls = isDated(apiVersion)
        const client = createAzure({
          ...defined({
            apiKey: values["AZURE_API_KEY"],
            resourceName: values["AZURE_RESOURCE_NAME"],
            baseURL: values["AZURE_BASE_URL"],
            apiVersion
          }),
          useDeploymentBasedUrls,
          fetch: useDeploymentBasedUrls ? chatFetch : wireFetch
        })
        return (id) => (useDeploymentBasedUrls ? client.chat(id) : client.responses(id))
      }
    )
}

const vertex: Packaged = {
  semantic: "gcp.vertex_ai",
  needs: [["GOOGLE_VERTEX_API_KEY"], ["GOOGLE_VERTEX_PROJECT", "GOOGLE_VERTEX_LOCATION"]],
  may: ["GOOGLE_VERTEX_BASE_URL"],
  client: (values) =>
    Effect.map(
      loadPeer("@ai-sdk/google-vertex", () => import("@ai-sdk/google-vertex")),
      ({ createGoogleVertex }) =>
        createGoogleVertex({
          ...defined({
            apiKey: values["GOOGLE_VERTEX_API_KEY"],
            project: values["GOOGLE_VERTEX_PROJECT"],
            location: values["GOOGLE_VERTEX_LOCATION"],
            baseURL: values["GOOGLE_VERTEX_BASE_URL"]
          }),
          fetch: geminiFetch
        })
    )
}

const bedrock: Packaged = {
  semantic: "aws.bedrock",
  needs: [
    ["AWS_REGION", "AWS_BEARER_TOKEN_BEDROCK"],
    ["AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
  ],
  may: ["AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"],
  client: (values) =>
    Effect.map(
      loadPeer("@ai-sdk/amazon-bedrock", () => import("@ai-sdk/amazon-bedrock")),
      ({ createAmazonBedrock }) =>
        createAmazonBedrock({
          ...defined({
            region: values["AWS_REGION"],
            apiKey: values["AWS_BEARER_TOKEN_BEDROCK"],
            accessKeyId: values["AWS_ACCESS_KEY_ID"],
            secretAccessKey: values["AWS_SECRET_ACCESS_KEY"],
            sessionToken: values["AWS_SESSION_TOKEN"],
            baseURL: values["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"]
          }),
          fetch: wireFetch
        })
    )
}

interface Keyed {
  readonly apiKey?: string
  readonly baseURL?: string
  readonly fetch: typeof fetch
}

/** A provider whose variables are a key and perhaps a URL. */
const keyed = <A>(
  semantic: string,
  prefix: string,
  name: string,
  load: () => Promise<A>,
  client: (module: A, options: Keyed) => (id: string) => LanguageModelV4
): Packaged => {
  const [key, url] = [`${prefix}_API_KEY`, `${prefix}_BASE_URL`]
  return {
    semantic,
    needs: [[key]],
    may: [url],
    client: (values) =>
      Effect.map(loadPeer(name, load), (module) =>
        // A client would take an undefined option for a value.
        client(module, {
          ...defined({ apiKey: values[key], baseURL: values[url] }),
          fetch: wireFetch
        })
      )
  }
}

const mistral = keyed(
  "mistral_ai",
  "MISTRAL",
  "@ai-sdk/mistral",
  () => import("@ai-sdk/mistral"),
  ({ createMistral }, options) => {
    const client = createMistral(options)
    return (id) => client.chat(id)
  }
)

const cohere = keyed(
  "cohere",
  "COHERE",
  "@ai-sdk/cohere",
  () => import("@ai-sdk/cohere"),
  ({ createCohere }, options) => createCohere(options)
)

const xai = keyed(
  "x_ai",
  "XAI",
  "@ai-sdk/xai",
  () => import("@ai-sdk/xai"),
  ({ createXai }, options) => {
    const client = createXai(options)
    return (id) => client.responses(id)
  }
)

const providers: { readonly [prefix: string]: Packaged } = {
  azure,
  vertex,
  bedrock,
  mistral,
  cohere,
  xai
}

/** The providers' names, which precede the slash in a model's name. */
export const packagedNames: ReadonlyArray<string> = Object.keys(providers)

export interface PackagedModel {
  readonly semantic: string
  readonly model: string
  readonly client: (id: string) => LanguageModelV4
  /** Texts that errors must not show. */
  readonly secrets: ReadonlyArray<string>
}

type Read = (name: string) => Effect.Effect<Redacted.Redacted<string> | undefined, ModelError>

/** Whether a variable's value is a secret. The others say where the provider is. */
const isSecret = (name: string): boolean => /KEY|TOKEN/.test(name)

/** Undefined = another provider. Fails where a variable that it needs is not set, or its package is not installed. */
export const packaged = Effect.fnUntraced(function* (
  prefix: string,
  model: string,
  read: Read
): Effect.fn.Return<PackagedModel | undefined, ModelError> {
  const provider = Object.hasOwn(providers, prefix) ? providers[prefix] : undefined
  if (provider === undefined) return undefined
  const values: Record<string, string | undefined> = {}
  for (const name of new Set([...provider.needs.flat(), ...provider.may])) {
    const value = yield* read(name)
    values[name] = value === undefined ? undefined : Redacted.value(value)
  }
  const complete = provider.needs.find((names) => names.every((each) => values[each] !== undefined))
  if (complete === undefined) {
    const wanted = provider.needs.map((names) => names.join(" and "))
    return yield* new ModelError({
      kind: "configuration",
      message: `${prefix} needs ${wanted.join(", or ")} in the environment; for any other way in, give the model as an object of its AI SDK package`
    })
  }
  // One way in at a time: a client may prefer a variable of another way.
  for (const name of provider.needs.flat()) if (!complete.includes(name)) values[name] = undefined
  const secrets = Object.entries(values).flatMap(([name, value]) =>
    value !== undefined && isSecret(name) ? [value] : []
  )
  return { semantic: provider.semantic, model, client: yield* provider.client(values), secrets }
})
