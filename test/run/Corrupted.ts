/** The paths of all members of a value, and the value with one of them replaced by another type. */
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null

const another = (value: unknown): unknown => (typeof value === "string" ? 5 : "another kind")

/**
 * One copy of the value per member, at any depth, with that member replaced by another type; with its path. Members below one
 * that is named in `open` may be anything and are left alone.
 */
export const corrupted = (
  value: unknown,
  open: ReadonlyArray<string> = []
): ReadonlyArray<readonly [string, unknown]> =>
  !isObject(value)
    ? []
    : Object.entries(value).flatMap(([key, member]) => {
        if (open.includes(key)) return []
        const withMember = (other: unknown) =>
          Array.isArray(value) ? value.with(Number(key), other) : { ...value, [key]: other }
        return [
          [key, withMember(another(member))] as const,
          ...corrupted(member, open).map(
            ([path, other]) => [`${key}.${path}`, withMember(other)] as const
          )
        ]
      })
