/** Texts made from a seed: in several scripts, with marks, numbers and edits, and canonical texts to compare them with. */

/** Numbers from 0 to 1 that follow from the seed. */
export const numbers = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

const words =
  "refund order after thirty days customer prefers tea coffee Invoice 1003 1004 is not paid Größe café naïve Straße ΩMEGA λόγος " +
  "Москва заказ оплачен 東京 注文 שלום don't re-send x_y foo-bar 3.14 A b C°"
const vocabulary = words.split(" ")
const marks = [" ", " ", " ", ", ", ". ", "; ", "\n", " - ", " (", ") ", "\t", ': "', '" ']

const pick = <A>(random: () => number, from: ReadonlyArray<A>): A =>
  from[Math.floor(random() * from.length)]!

/** A text of up to `words_max` words. */
export const textOf = (random: () => number, words_max: number): string => {
  const count = 1 + Math.floor(random() * words_max)
  return Array.from({ length: count }, () => pick(random, vocabulary) + pick(random, marks)).join(
    ""
  )
}

/** The text with some words left out, put in or replaced: from the same text to another one. */
export const edited = (random: () => number, text: string): string => {
  const share = random()
  return text
    .split(" ")
    .flatMap((word) => {
      if (random() > share) return [word]
      return [[], [word, pick(random, vocabulary)], [pick(random, vocabulary)]][
        Math.floor(random() * 3)
      ]!
    })
    .join(" ")
}

export const canonicals: ReadonlyArray<string> = [
  "Rule 7: no refund is paid later than thirty days after the order, whoever asks for it.",
  "A customer who prefers to pay by invoice gets one, unless the last order is not paid.",
  "Заказ оплачен, если деньги получены. Заказ не оплачен, если их нет.",
  "Die Größe der Straße bestimmt den Preis der Lieferung; sie ist vorher zu messen.",
  "Never resend."
]

/** As many texts: free ones, edited canonical ones, and canonical ones as passages of longer texts. */
export const corpus = (seed: number, count: number): ReadonlyArray<string> => {
  const random = numbers(seed)
  return Array.from({ length: count }, (_, i) => {
    if (i % 3 === 0) return textOf(random, 40)
    const near = edited(random, pick(random, canonicals))
    return i % 3 === 1 ? near : `${textOf(random, 60)} ${near} ${textOf(random, 30)}`
  }).filter((text) => text.trim() !== "")
}
