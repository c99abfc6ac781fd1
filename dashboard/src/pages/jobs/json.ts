// Parses typed JSON.

/** Parses JSON. @example parseJson('{') // { isJson: false, problem: '...' } */
export function parseJson(
  text: string,
): { readonly isJson: true; readonly value: unknown } | { readonly isJson: false; readonly problem: string } {
  try {
    return { isJson: true, value: JSON.parse(text) as unknown };
  } catch (error) {
    return { isJson: false, problem: (error as Error).message };
  }
}
