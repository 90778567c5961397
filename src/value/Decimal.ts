/**
 * Exact decimals as text, for money: a binary float cannot hold a tenth of a cent.
 */
import { BigDecimal, Schema } from "effect"

/** At most 18 digits before the point and 18 behind it, without sign and exponent: `0.15`, `12`, `0.000000075`. */
export const Decimal = Schema.String.check(
  Schema.isPattern(/^(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?$/, {
    expected:
      'a decimal as text, for example "0.15": digits, at most 18 behind the point, no sign and no exponent'
  })
)

/** The number of a `Decimal`. Throws on any other text. */
export const parseDecimal = (text: string): BigDecimal.BigDecimal =>
  BigDecimal.fromStringUnsafe(text)

/** The number as text, without an exponent and without trailing zeros of the fraction. */
export const decimalText = (number: BigDecimal.BigDecimal): string => {
  const { scale, value } = BigDecimal.normalize(number)
  if (scale <= 0) return (value * 10n ** BigInt(-scale)).toString()
  const digits = value.toString().padStart(scale + 1, "0")
  return `${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}
