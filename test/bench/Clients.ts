/**
 * Clients in a closed loop: each sends its next message when the one before has ended.
 */
import { setTimeout as sleep } from "node:timers/promises"

export interface Window {
  readonly clients: number
  /**
   * How long is measured, in ms, once the first message of each client has ended; longer, until as many again have ended.
   */
  readonly window_ms: number
  readonly begin: () => void | Promise<void>
  readonly end: () => void | Promise<void>
}

/** Runs them for one window; back when the messages on their way have ended. */
export const inWindow = async (
  { begin, clients, end, window_ms }: Window,
  once: (client: number) => Promise<void>
): Promise<void> => {
  let starting = clients
  let ended = 0
  const over = new AbortController()
  const { promise: steady, resolve: allStarted } = Promise.withResolvers<void>()
  const all = Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      await once(client)
      if (--starting === 0) allStarted()
      for (; !over.signal.aborted; ended++) await once(client)
    })
  )
  try {
    await Promise.race([steady, all])
    await begin()
    const enough = ended + clients
    const isShort = () => ended < enough
    do await Promise.race([sleep(window_ms), all])
    while (isShort())
    await end()
  } finally {
    over.abort()
  }
  await all
}
