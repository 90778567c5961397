/** The command line that reaches a service again, for a person to copy. */

/** Where a service puts its data that is told nothing else. */
export const data_default = ".troupe"

const quoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

/** `data` is the service's directory. A token is never in it. */
export const chatCommand = (data: string, url?: string): string =>
  [
    ...(data === data_default ? [] : [`TROUPE_DATA=${quoted(data)}`]),
    "npm run chat --",
    ...(url === undefined ? [] : [`--url ${quoted(url)}`])
  ].join(" ")

/** The same for a chat that was started with these flags and this environment. */
export const commandAgain = ({ url }: { readonly url?: string | undefined }): string =>
  chatCommand(process.env["TROUPE_DATA"] || data_default, url)
