/**
 * Whether a time in ISO 8601 exists: `Date.parse` takes February 30 for March 2.
 */
export const isExistingTime = (text: string): boolean => {
  const date = text.slice(0, 10)
  const day = new Date(`${date}T00:00:00Z`)
  return (
    !Number.isNaN(Date.parse(text)) &&
    !Number.isNaN(day.getTime()) &&
    day.toISOString().startsWith(date)
  )
}
