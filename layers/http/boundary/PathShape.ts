/**
 * The shape of the paths under which the API can be mounted. It is a file of its own, so that options can be checked without
 * loading the API.
 */

/**
 * A part of a path: it contains no slash of either kind, encoded or not, and nothing that ends the path, and it does not consist
 * of dots alone.
 */
export const part =
  "(?!(?:\\.|%2[Ee])+(?:/|$))(?:[A-Za-z0-9._~!$&'()*+,=:@-]|%(?!2[Ff]|5[Cc])[0-9A-Fa-f]{2})+"

const one_or_more = new RegExp(`^(?:/${part})+$`)
const base_max = 200

/** Whether the path begins with a slash, does not end with one, and has only one spelling. */
export const isMountPath = (path: string): boolean =>
  path.length <= base_max && one_or_more.test(path)
