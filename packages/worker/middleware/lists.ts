// Validates lists of texts in middleware options when the middleware is created: a string resembles a list, and would
// be accepted until the first request. Called by all files of this folder.

/**
 * Validates one list.
 *
 * @param option the name of the option for the message, such as `auth: exclude`.
 * @param of describes the content of the list, with an example.
 * @throws TypeError that describes valid values.
 */
export function checkTexts(option: string, of: string, value: unknown): void {
  if (!Array.isArray(value) || value.some((item) => typeof item !== 'string'))
    throw new TypeError(`${option} is a list of ${of}`);
}
