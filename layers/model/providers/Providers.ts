/**
 * Loads providers by name. A provider's client is loaded only when it is chosen, so a process without a live model does not pay
 * for it, and a service installs only the package that it uses.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import { Effect, Redacted } from "effect"
import type { ModelError } from "../../../services/ModelGateway.ts"
import type { ModelProvider } from "./AiSdkModelGateway.ts"
import { chatFetch, geminiFetch, wireFetch } from "../wire/ChatWire.ts"
import { compatible_key, convertUsage, metadataExtractor } from "../wire/CompatibleAnswer.ts"
import { loadPeer } from "./LoadPeer.ts"
import type { ModelConfig, ProviderName } from "./ModelConfig.ts"
import type { ProviderHabits } from "../wire/ProviderHabits.ts"
import { servesAsIs } from "../wire/ProviderHabits.ts"

/** The settings of a client. `apiKey` is never absent, because the client would otherwise look for one in the environment. */
interface Settings {
  readonly baseURL: string
  readonly apiKey: string
  readonly fetch: typeof fetch
}

interface Wire {
  readonly client: (
    settings: Settings,
    keyed: boolean
  ) => Effect.Effect<ModelProvider["model"], ModelError>
  readonly fetch: typeof fetch
  readonly habits?: ProviderHabits
}

/** The client knows reasoning models by their names, and drops the effort for any other name, such as a deployment's. */
const reasoning_options = { openai: { forceReasoning: true } }

const isImage = (media_type: string): boolean => media_type.startsWith("image/")
const isUsualImage = (media_type: string): boolean =>
  ["image/png", "image/jpeg", "image/gif", "image/webp"].includes(media_type)
const isPdf = (media_type: string): boolean => media_type === "application/pdf"
const isText = (media_type: string): boolean => media_type.startsWith("text/")
const isChatAudio = (media_type: string): boolean =>
  ["audio/wav", "audio/mpeg", "audio/mp3"].includes(media_type)

/** Which media types each wire format supports. Whether a particular model accepts them is up to the provider. */
const takes = {
  "openai-compatible": (media_type) =>
    isImage(media_type) ||
    isPdf(media_type) ||
    isChatAudio(media_type) ||
    isText(media_type) ||
    media_type.startsWith("video/"),
  openai: (media_type) => isUsualImage(media_type) || isPdf(media_type) || isChatAudio(media_type),
  "openai-responses": (media_type) => isUsualImage(media_type) || isPdf(media_type),
  anthropic: (media_type) =>
    isUsualImage(media_type) || isPdf(media_type) || media_type === "text/plain",
  google: () => true
} as const satisfies Readonly<Record<ProviderName, ProviderHabits["takes"]>>

/** The documents of Bedrock's Converse; it takes images and videos besides. */
const bedrock_documents: ReadonlySet<string> = new Set([
  "application/pdf",
  "application/msword",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  "application/vnd.ms-excel",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  "text/csv",
  "text/html",
  "text/markdown",
  "text/plain"
])

/** Of packages of their own. Cohere's would send any other file as a text of base64, and xAI's has a form for its address. */
const packaged_takes: Readonly<Record<string, NonNullable<ProviderHabits["takes"]>>> = {
  "amazon-bedrock": (media_type) =>
    isUsualImage(media_type) ||
    media_type.startsWith("video/") ||
    bedrock_documents.has(media_type),
  "mistral.chat": (media_type) => isUsualImage(media_type) || isPdf(media_type),
  "cohere.chat": isUsualImage,
  "xai.responses": isUsualImage
}

const wires: Readonly<Record<ProviderName, Wire>> = {
  "openai-compatible": {
    fetch: chatFetch,
    habits: { serves_as_is: true, takes: takes["openai-compatible"] },
    client: (settings, keyed) =>
      Effect.map(
        loadPeer("@ai-sdk/openai-compatible", () => import("@ai-sdk/openai-compatible")),
        ({ createOpenAICompatible }) => {
          const { apiKey, ...rest } = settings
          const client = createOpenAICompatible({
            name: compatible_key,
            includeUsage: true,
            metadataExtractor,
            convertUsage,
            supportsStructuredOutputs: true,
            ...rest,
            ...(keyed ? { apiKey } : undefined)
          })
          return (id) => client.chatModel(id)
        }
      )
  },
  openai: {
    fetch: chatFetch,
    habits: { reasoning_options, takes: takes.openai },
    client: (settings) =>
      Effect.map(
        loadPeer("@ai-sdk/openai", () => import("@ai-sdk/openai")),
        ({ createOpenAI }) => {
          const client = createOpenAI(settings)
          return (id) => client.chat(id)
        }
      )
  },
  "openai-responses": {
    fetch: wireFetch,
    // The journal stores the conversation. State at the provider would expire, and is outside our control.
    habits: {
      options: { openai: { store: false } },
      takes_back_items: true,
      reasoning_options,
      takes: takes["openai-responses"],
      takes_in_results: takes["openai-responses"]
    },
    client: (settings) =>
      Effect.map(
        loadPeer("@ai-sdk/openai", () => import("@ai-sdk/openai")),
        ({ createOpenAI }) => {
          const client = createOpenAI(settings)
          return (id) => client.responses(id)
        }
      )
  },
  anthropic: {
    fetch: wireFetch,
    habits: {
      declares_past_tools: true,
      takes_back_ran: () => true,
      takes: takes.anthropic,
      takes_in_results: (media_type) => isUsualImage(media_type) || isPdf(media_type),
      break_point: { anthropic: { cacheControl: { type: "ephemeral" } } }
    },
    client: (settings) =>
      Effect.map(
        loadPeer("@ai-sdk/anthropic", () => import("@ai-sdk/anthropic")),
        ({ createAnthropic }) => {
          const client = createAnthropic(settings)
          return (id) => client.messages(id)
        }
      )
  },
  google: {
    fetch: geminiFetch,
    habits: {
      takes: takes.google,
      takes_in_results: takes.google,
      takes_back_files: true,
      takes_back_ran: () => true
    },
    client: (settings) =>
      Effect.map(
        loadPeer("@ai-sdk/google", () => import("@ai-sdk/google")),
        ({ createGoogle }) => {
          const client = createGoogle(settings)
          return (id) => client.chat(id)
        }
      )
  }
}

const keyHeaders = ["authorization", "x-api-key", "x-goog-api-key"]

const keyless =
  (inner: typeof fetch): typeof fetch =>
  (input, init) => {
    const headers = new Headers(init?.headers)
    for (const name of keyHeaders) headers.delete(name)
    return inner(input, { ...init, headers })
  }

/** Matches ids that clients make up: all of them use 16 letters and digits. */
export const made_up_ids = /^[0-9A-Za-z]{16}$/

/** Matches the models at Bedrock that cache a prompt up to a mark. The mark of the instructions comes after the tools. */
const keepsAtBedrock = /anthropic\.claude|amazon\.nova/
const kept_at_bedrock: ProviderHabits = {
  break_point: { bedrock: { cachePoint: { type: "default" } } }
}

/** OpenAI's own client sends back searches by itself, and xAI's sends back nothing that the provider ran. */
const byClient = (habits: ProviderHabits): ProviderHabits => ({
  ...habits,
  takes_back_items: false,
  takes_back_ran: (tool) => tool === "web_search"
})

/** By the names that models report, such as `openai.responses`. `ours` = this module made the client, with our own fetch. */
export const habitsOf = (
  { modelId, provider }: Pick<LanguageModelV4, "modelId" | "provider">,
  ours = false
): ProviderHabits => {
  if (provider === "openai.responses" || provider === "azure.responses") {
    const habits = wires["openai-responses"].habits ?? {}
    return ours ? habits : byClient(habits)
  }
  if (provider === "openai.chat" || provider === "azure.chat") return wires.openai.habits ?? {}
  const takes = Object.hasOwn(packaged_takes, provider) ? packaged_takes[provider] : undefined
  if (provider === "xai.responses") {
    return { options: { xai: { store: false } }, takes_back_items: ours, takes }
  }
  if (provider === "amazon-bedrock") {
    return keepsAtBedrock.test(modelId) ? { ...kept_at_bedrock, takes } : { takes }
  }
  if (provider.startsWith("google.")) return wires.google.habits ?? {}
  if (provider.includes("anthropic")) return wires.anthropic.habits ?? {}
  return servesAsIs(provider) || provider.startsWith(compatible_key)
    ? { serves_as_is: true, takes }
    : { takes }
}

/** The provider that the configuration names. Fails with kind `configuration` where its package is not installed. */
export const load = (config: ModelConfig): Effect.Effect<ModelProvider, ModelError> => {
  const { base_url, model } = config
  const key = config.api_key === undefined ? undefined : Redacted.value(config.api_key)
  const wire = wires[config.provider]
  const settings: Settings = {
    baseURL: base_url,
    apiKey: key ?? "none",
    fetch: key === undefined ? keyless(wire.fetch) : wire.fetch
  }
  return Effect.map(wire.client(settings, key !== undefined), (client) => ({
    model: client,
    model_default: model,
    made_up_ids,
    secrets: [...(key === undefined ? [] : [key]), new URL(base_url).host],
    keyed: key !== undefined,
    stream: config.stream,
    ...wire.habits
  }))
}
