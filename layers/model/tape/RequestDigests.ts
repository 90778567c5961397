/**
 * Digests of everything on which a model's answer depends. Two requests with the same digests are the same request. Run ids,
 * times and the agent's name are not included.
 */
import { Effect } from "effect"
import { Digest } from "effect/crypto"
import { canonical } from "../../../src/value/Canonical.ts"
import type { TranscriptEntry } from "../../../src/conversation/Transcript.ts"
import type { ModelRequest, ModelTool } from "../../../services/ModelGateway.ts"
import type { InputDigests } from "./CassetteTape.ts"

export interface RequestDigest {
  readonly inputs: InputDigests
  /** The digest of all inputs together. */
  readonly input_hash: string
  /** The digest of what the model is shown, without the model's name and settings. */
  readonly prompt_hash: string
}

interface Chain {
  entries: number
  last: TranscriptEntry | undefined
  hash: string
}

const encoder = new TextEncoder()

/** Digests requests. If a transcript has grown, only the new entries are digested. */
export class RequestDigests {
  readonly #digest: Digest.Digest["Service"]
  /** Hides texts that must not be in a recording. This happens before digesting, so a replay computes the same digests. */
  readonly #hide: (text: string) => string
  readonly #chains = new WeakMap<ReadonlyArray<TranscriptEntry>, Chain>()
  readonly #tools = new WeakMap<ReadonlyArray<ModelTool>, string>()

  constructor(digest: Digest.Digest["Service"], hide: (text: string) => string) {
    this.#digest = digest
    this.#hide = hide
  }

  /** SHA-256 of canonical JSON, in lower-case hex. */
  of(value: unknown): Effect.Effect<string> {
    return Effect.suspend(() =>
      this.#digest.digestHex(Digest.sha256, encoder.encode(this.#hide(canonical(value))))
    )
  }

  #ofTools = Effect.fnUntraced(function* (this: RequestDigests, tools: ReadonlyArray<ModelTool>) {
    const known = this.#tools.get(tools)
    if (known !== undefined) return known
    const hash = yield* this.of(tools)
    this.#tools.set(tools, hash)
    return hash
  })

  #ofTranscript = Effect.fnUntraced(function* (
    this: RequestDigests,
    transcript: ReadonlyArray<TranscriptEntry>
  ) {
    const known = this.#chains.get(transcript)
    const chain: Chain =
      known === undefined || transcript[known.entries - 1] !== known.last
        ? { entries: 0, last: undefined, hash: "" }
        : { ...known }
    for (const entry of transcript.slice(chain.entries)) {
      chain.last = entry
      chain.hash = yield* this.of([chain.hash, entry])
      chain.entries++
    }
    this.#chains.set(transcript, chain)
    return chain.hash
  })

  request = Effect.fnUntraced(function* (this: RequestDigests, request: ModelRequest) {
    const inputs: InputDigests = {
      model: yield* this.of(request.model ?? null),
      system: yield* this.of(request.system),
      // Those of agents without any stay the digests that they were.
      settings: yield* this.of(
        request.provider_tools === undefined
          ? (request.settings ?? null)
          : [request.settings ?? null, request.provider_tools]
      ),
      tools: yield* this.#ofTools(request.tools),
      history: yield* this.#ofTranscript(request.history),
      transcript: yield* this.#ofTranscript(request.transcript)
    }
    const { history, system, tools, transcript } = inputs
    const digest: RequestDigest = {
      inputs,
      input_hash: yield* this.of(inputs),
      prompt_hash: yield* this.of({ history, system, tools, transcript })
    }
    return digest
  })
}
