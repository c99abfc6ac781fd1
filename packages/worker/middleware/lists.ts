// Lists of texts among the options of middleware, checked where it is made: a text has most of what a list has, and
// would be taken for one until the first request. Called by all of this folder.

/**
 * Checks one.
 *
 * @param option such as `auth: exclude`.
 * @param of what it lists, with an example.
 * @throws TypeError that says what to write.
 */
export function checkTexts(option: string, of: string, value: unknown): void {
  if (!Array.isArray(value) || value.some((item) => typeof item !== 'string'))
    throw new TypeError(`${option} is a list of ${of}`);
}
