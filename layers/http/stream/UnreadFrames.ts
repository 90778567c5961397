/**
 * Bounds the text that readers of event streams have not taken yet. A frame stays in memory until its reader takes it, and frames
 * may have megabytes. All unread frames of the process share one bound; beyond it the connection whose frame has waited longest
 * is closed, and its client resumes from its cursor.
 */

/** Frames of at most this many UTF-16 units are not counted, because every connection buffers as much. */
export const small_units = 16_384

/** The account of one reader. */
export interface Account {
  /** Counts the units of the large frame that the reader has to take next; 0 = it has taken the frame. */
  readonly hold: (units: number) => void
  readonly close: () => void
}

export interface Unread {
  /** `cut` closes the reader's connection. */
  readonly open: (cut: () => void) => Account
}

/** `units_max`: the bound on all readers together, in UTF-16 units. The reader of the newest frame is never cut off. */
export const makeUnread = (units_max: number): Unread => {
  /** Accounts with a frame, the oldest frame first. */
  const holding = new Map<Account, { readonly units: number; readonly cut: () => void }>()
  let all = 0
  const drop = (account: Account): (() => void) | undefined => {
    const held = holding.get(account)
    if (held === undefined) return undefined
    holding.delete(account)
    all -= held.units
    return held.cut
  }
  return {
    open: (cut) => {
      const account: Account = {
        hold: (units) => {
          drop(account)
          if (units === 0) return
          holding.set(account, { units, cut })
          all += units
          for (const other of holding.keys()) {
            if (all <= units_max || other === account) return
            drop(other)?.()
          }
        },
        close: () => void drop(account)
      }
      return account
    }
  }
}
