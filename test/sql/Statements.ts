/**
 * What a client sends to its database, as its spans tell: each statement, and the BEGIN and COMMIT around several.
 */
import { Layer, Tracer } from "effect"

export interface Statements {
  /** The texts of what was sent since the last `reset`, in the order in which it was sent. */
  readonly sent: ReadonlyArray<string>
  /** Transactions among them: each statement outside of one is its own. */
  readonly commits: number
  readonly reset: () => void
  /** For everything that is to be counted. */
  readonly layer: Layer.Layer<never>
}

export const make = (): Statements => {
  let sent: Array<string> = []
  // Those of an open transaction are known by their parent.
  let within = 0
  let transactions = 0
  const span = (options: ConstructorParameters<typeof Tracer.NativeSpan>[0]) => {
    const made = new Tracer.NativeSpan(options)
    const isInside = options.parent._tag === "Some" && isTransaction(options.parent.value)
    const { attribute, event } = made
    made.attribute = (key, value) => {
      if (key === "db.query.text") {
        sent.push(String(value))
        if (isInside) within++
      }
      attribute.call(made, key, value)
    }
    made.event = (name, at, attributes) => {
      if (name === "effect.sql.transaction.commit") {
        sent.push("BEGIN", "COMMIT")
        transactions++
      } else if (name === "effect.sql.transaction.savepoint") {
        sent.push("SAVEPOINT", "RELEASE SAVEPOINT")
      }
      event.call(made, name, at, attributes)
    }
    return made
  }
  const isTransaction = (parent: Tracer.AnySpan): boolean =>
    parent._tag === "Span" && parent.name === "sql.transaction"
  return {
    get sent() {
      return sent
    },
    get commits() {
      const marks = sent.filter((text) => /^(BEGIN|COMMIT|SAVEPOINT|RELEASE)/.test(text)).length
      return sent.length - marks - within + transactions
    },
    reset: () => {
      sent = []
      within = 0
      transactions = 0
    },
    layer: Layer.succeed(Tracer.Tracer, Tracer.make({ span }))
  }
}
