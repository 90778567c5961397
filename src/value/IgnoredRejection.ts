/**
 * Handles a promise that foreign code returned where it should have returned a plain value. Nobody waits for it, so its
 * rejection would otherwise end the process.
 */

/** Ignores the rejection if the value is a promise; any other value is left alone. */
export const ignoreRejection = (value: unknown): void => {
  void Promise.resolve(value).catch(() => undefined)
}
