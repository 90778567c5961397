/**
 * What readers of event streams have not read yet, in this process: a frame that its reader does not take is kept until it
 * does, and frames may be of megabytes. Together they have a bound; beyond it whoever has left its frame the longest is
 * cut off, and comes back to its place by its cursor.
 */

/** A frame of at most this many units counts for nothing: as much waits in any connection. */
export const small_units = 16_384

/** One reader's. */
export interface Account {
  /** Units of the frame that it is to take, which is not small; 0 = it has taken it. */
  readonly hold: (units: number) => void
  readonly close: () => void
}

export interface Unread {
  /** `cut` ends the reader's connection. */
  readonly open: (cut: () => void) => Account
}

/** `units_max`: of all readers together, in UTF-16 units; the last one to be given a frame is never cut off for it. */
export const makeUnread = (units_max: number): Unread => {
  /** In the order in which they were given what they hold. */
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
