/**
 * Which paths the API is served under. It stands apart, so that options are checked without loading the API.
 */

/** What a part of a path may hold: no slash of either kind, encoded or not, nothing that ends it, no dots alone. */
export const part =
  "(?!(?:\\.|%2[Ee])+(?:/|$))(?:[A-Za-z0-9._~!$&'()*+,=:@-]|%(?!2[Ff]|5[Cc])[0-9A-Fa-f]{2})+"

const one_or_more = new RegExp(`^(?:/${part})+$`)
const base_max = 200

/** Whether it begins with a slash, ends without one and has one spelling. */
export const isMountPath = (path: string): boolean =>
  path.length <= base_max && one_or_more.test(path)
