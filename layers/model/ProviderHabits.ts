/**
 * What a provider's wire and client need beside the request, which differs from provider to provider.
 */
import type { SharedV4ProviderOptions } from "@ai-sdk/provider"

/** What a provider wants of every request. */
export interface ProviderHabits {
  /** Sent with every turn; what an agent's settings say goes first. */
  readonly options?: SharedV4ProviderOptions | undefined
  /** Sent with the turns of an agent that asks for an effort of reasoning, after those above. */
  readonly reasoning_options?: SharedV4ProviderOptions | undefined
  /** True = tools that were called have to be declared, also where the turn may use none. */
  readonly declares_past_tools?: boolean | undefined
  /** Does the wire have a form for files of this media type? Absent = for all. */
  readonly takes?: ((media_type: string) => boolean) | undefined
  /** The same in the result of a call. Absent = for none: they follow the results in a message of their own. */
  readonly takes_in_results?: ((media_type: string) => boolean) | undefined
  /** True = files that the model made go back to it with the turn that they are of. */
  readonly takes_back_files?: boolean | undefined
  /** Which of the tools that the provider ran go back to it, as calls with results, with the turn that they are of. Absent = none. */
  readonly takes_back_ran?: ((tool: string) => boolean) | undefined
  /** True = what the provider ran goes back as the items of its answer; our own fetch puts them into the request. */
  readonly takes_back_items?: boolean | undefined
  /** Marks a part up to which the provider keeps the prompt, where it has to be told. */
  readonly break_point?: SharedV4ProviderOptions | undefined
}
