/**
 * A promise where code from outside was to give a value at once. Nobody waits for it, so that its rejection would end the process.
 */

/** Nothing, where the value is no promise. */
export const ignoreRejection = (value: unknown): void => {
  void Promise.resolve(value).catch(() => undefined)
}
