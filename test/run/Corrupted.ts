/** The paths of every member of a value, and the value with one of them of another kind. */
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null

const another = (value: unknown): unknown => (typeof value === "string" ? 5 : "another kind")

/**
 * The same value again and again, each time with one member, at any depth, of another kind; with the path of it. What is
 * in a member named in `open` may be anything.
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
